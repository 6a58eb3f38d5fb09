//! What a recording lacks, in sentences: lost records, launches that had not ended, figures that ops
//! lack, and anomalies.
//!
//! Every output shows these sentences, so that no two outputs say one fact in two ways.

use super::{
    Doubt, KindCount, Op, OpenZones, Unfinished, ZoneStatistics,
    words::{counted, grouped},
};
use reader::ledger::{LossCause, LossLedger, LossTotals, LostKind, UncountedSource};
use std::collections::BTreeSet;

/// Causes whose records are omitted on purpose, and how a sentence calls them.
const OMITTED: [(LossCause, &str); 2] = [
    (LossCause::ValidateOff, "omitted, because no kernel ran"),
    (LossCause::Skipped, "omitted, as the policy of the stream allows"),
];

/// The line about losses of an ops CSV.
pub const LOST_OF_OPS_CSV: &str = "Lost: unknown; an ops CSV does not contain losses";

/// Returns one line about all losses. If some record sources do not count their losses, the line
/// also says why more records may be missing.
///
/// Records that are omitted on purpose are mentioned but are not losses.
///
/// ```
/// use analysis::lost_line;
/// use reader::ledger::{LossLedger, UncountedSource};
/// let mut losses = LossLedger::default();
/// assert_eq!(lost_line(&losses), "Lost: nothing");
/// losses.note_uncounted(UncountedSource::TtMetalLog);
/// assert_eq!(lost_line(&losses), "Lost: unknown; TT-Metal's logs do not record losses");
/// ```
#[must_use]
pub fn lost_line(losses: &LossLedger) -> String {
    let mut line = match losses.is_intended() {
        true => "Lost: nothing".to_owned(),
        false => format!("Lost: {}", describe(&losses.unintended_total())),
    };
    let uncounted: Vec<_> = losses.uncounted().map(UncountedSource::label).collect();
    if !uncounted.is_empty() {
        let reasons = uncounted.join("; ");
        line = match losses.is_intended() {
            true => format!("Lost: unknown; {reasons}"),
            false => format!("{line}; more may be lost: {reasons}"),
        };
    }
    for (cause, why) in OMITTED {
        let omitted = losses.by_cause(cause);
        if omitted != LossTotals::default() {
            line.push_str(&format!("; {why}: {}", describe(&omitted)));
        }
    }
    line
}

/// Returns numbers of lost records as text, such as `64 zones, 3 events`.
fn describe(totals: &LossTotals) -> String {
    totals.in_words(|kind, count| match kind {
        LostKind::Zones => counted(count, "zone", "zones"),
        LostKind::Data => counted(count, "data", "data"),
        LostKind::Events => counted(count, "event", "events"),
        LostKind::Sums => counted(count, "sum", "sums"),
        LostKind::UnknownMarkers => {
            counted(count, "marker of unknown kind", "markers of unknown kind")
        }
    })
}

impl Unfinished {
    /// Returns a line with the number of runs that had not ended, and a line for each open zone;
    /// nothing if every run had ended. `shown` makes the untrusted name of a zone fit for display.
    #[must_use]
    pub fn lines(&self, shown: impl Fn(&str) -> String) -> Vec<String> {
        if self.is_empty() {
            return Vec::new();
        }
        let runs = counted(self.running_count(), "run", "runs");
        let ended = match self.ended_count {
            0 => String::new(),
            ended => format!(" ({} of their launches had)", grouped(ended)),
        };
        let kept = match self.unknown_count {
            0 => "recorded",
            unknown if unknown == self.running_count() => "streamed",
            _ => "recorded or streamed",
        };
        let first =
            format!("Unfinished: {runs} had not ended{ended}; kept is what they had {kept}");
        let zones = self.open_zones.iter().map(|zones| {
            let OpenZones { name, risc_count, first_start_cycle } = zones;
            let riscs = counted(*risc_count, "RISC", "RISCs");
            let name = if name.is_empty() { "without a name" } else { &**name };
            let (name, since) = (shown(name), grouped(*first_start_cycle));
            format!("in zone {name}: {riscs}, the first since cycle {since}")
        });
        let unknown = (self.unknown_count > 0).then(|| {
            let riscs = counted(self.unknown_count, "RISC", "RISCs");
            format!("in unknown zones: {riscs}, because a zone is streamed when it ends")
        });
        std::iter::once(first).chain(zones).chain(unknown).collect()
    }
}

/// Returns a line with the number of zones without a name, and where names are; `None` if every zone
/// has one.
///
/// ```
/// use analysis::nameless_line;
/// assert_eq!(nameless_line(&[]), None);
/// ```
#[must_use]
pub fn nameless_line(zones: &[ZoneStatistics]) -> Option<String> {
    let is_nameless = |zone: &&ZoneStatistics| {
        zone.name.is_empty() || *zone.name == format!("id {}", zone.marker_id)
    };
    let nameless = zones.iter().filter(is_nameless);
    let ids: BTreeSet<u32> = nameless.map(|zone| zone.marker_id).collect();
    (!ids.is_empty()).then(|| {
        let zones = counted(ids.len() as u64, "zone has", "zones have");
        format!(
            "{zones} no name: the recording has no text for the id, so lengths of ops may be unknown. A \
             build of TT-Metal prints the texts, and TT-Metal keeps them in zone_src_locations.log: \
             --names of kprof run --firmware, read and attach takes them"
        )
    })
}

/// Numbers of ops without a duration and of ops without a latency, each by reason.
///
/// ```
/// use analysis::{Doubt, DoubtCounts, Op};
/// let mut counts = DoubtCounts::default();
/// counts.add(&Op { latency_doubt: Some(Doubt::LostLaunches), ..Op::default() });
/// let expected = "1 op without a time since the previous op: launches before the op may be missing";
/// assert_eq!(counts.lines(), [expected]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct DoubtCounts([[u64; Doubt::ALL.len()]; 2]);

impl DoubtCounts {
    /// Counts an op.
    pub fn add(&mut self, op: &Op) {
        for (counts, found) in self.0.iter_mut().zip([op.duration_doubt, op.latency_doubt]) {
            let counts = counts.iter_mut().zip(Doubt::ALL);
            counts
                .filter(|(_, doubt)| found == Some(*doubt))
                .for_each(|(count, _)| *count = count.saturating_add(1));
        }
    }

    /// Returns a line for each figure that ops lack, and each reason.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let figures = ["without durations", "without a time since the previous op"];
        let all = figures.into_iter().zip(&self.0);
        let all = all.flat_map(|(figure, counts)| {
            Doubt::ALL.into_iter().zip(counts).filter(|(_, count)| **count > 0).map(
                move |(doubt, count)| {
                    let ops = counted(*count, "op", "ops");
                    format!("{ops} {figure}: {}", doubt.label())
                },
            )
        });
        all.collect()
    }
}

/// Returns a line with the number of anomalies or repairs of each kind; `None` if there are none.
///
/// ```
/// use analysis::{KindCount, kinds_line};
/// let kind = |kind, count| KindCount { kind, count };
/// let line = kinds_line("Anomalies", &[kind("torn run", 1), kind("end without start", 2_000)]);
/// assert_eq!(line.unwrap(), "Anomalies: torn run, 2,000 × end without start");
/// ```
#[must_use]
pub fn kinds_line(title: &str, counts: &[KindCount]) -> Option<String> {
    let kinds = counts.iter().map(|kind| match kind.count {
        1 => kind.kind.to_owned(),
        count => format!("{} × {}", grouped(count), kind.kind),
    });
    let kinds: Vec<_> = kinds.collect();
    (!kinds.is_empty()).then(|| format!("{title}: {}", kinds.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{lane::LaneId, ledger::LossKey, mesh::Noc0Coord};
    use wire::Risc;

    #[test]
    fn a_loss_without_counts_is_not_shown_as_nothing() {
        let totals = LossTotals { is_lower_bound: true, ..LossTotals::default() };
        assert_eq!(describe(&totals), "an unknown number of records");
    }

    #[test]
    fn launches_without_a_kernel_are_no_losses_but_are_named() {
        let mut losses = LossLedger::default();
        let lane = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
        let key = |cause| LossKey { lane, program: None, cause };
        losses.record(key(LossCause::ValidateOff), lost_zones(3));
        let left_out = "omitted, because no kernel ran: 3 zones";
        assert_eq!(lost_line(&losses), format!("Lost: nothing; {left_out}"));
        losses.record(key(LossCause::L1Full), lost_zones(2));
        assert_eq!(lost_line(&losses), format!("Lost: 2 zones; {left_out}"));
        losses.record(key(LossCause::Skipped), lost_zones(7));
        let skipped = "omitted, as the policy of the stream allows: 7 zones";
        assert_eq!(lost_line(&losses), format!("Lost: 2 zones; {left_out}; {skipped}"));
    }

    #[test]
    fn every_cause_that_is_intended_is_called_omitted() {
        for cause in LossCause::ALL {
            let is_named = OMITTED.iter().any(|&(named, _)| named == cause);
            assert_eq!(is_named, cause.is_intended(), "{cause:?}");
        }
    }

    fn lost_zones(zones: u64) -> LossTotals {
        LossTotals { zones, ..LossTotals::default() }
    }
}
