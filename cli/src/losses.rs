//! Losses for people: how much is missing, by cause, RISC and program, and what helps.

use crate::{
    layout::{table, write_table},
    numbers::{bounded, counted, grouped},
    terminal::{Style, styled},
};
use host_reader::{
    lane::LaneId,
    ledger::{LossCause, LossLedger, LossTotals, LostKind, UncountedSource},
    mesh::Noc0Coord,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};
use wire::{Risc, RunHostId};

/// Writes what is missing, in a line and by cause, and what helps against it.
pub(crate) fn write_losses(
    losses: &LossLedger,
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let style = match (losses.is_empty(), losses.uncounted().next()) {
        (true, None) => Style::Good,
        (true, Some(_)) => Style::Doubtful,
        (false, _) => Style::Bad,
    };
    writeln!(out, "{}", styled(&lost_line(losses), style))?;
    if losses.is_empty() {
        return Ok(());
    }
    writeln!(out)?;
    let groups = loss_groups(losses);
    let mut table = table(&[
        "cause", "chip", "RISC", "programs", "cores", "runs", "zones", "data", "events", "sums",
        "markers",
    ]);
    for (key, group) in groups.iter().take(rows) {
        table.add_row(group.cells(key));
    }
    write_table(&mut table, groups.len(), rows, out)?;
    write_remedies(losses, out)
}

/// Says what helps against each loss; not every one is helped by reading more often.
fn write_remedies(losses: &LossLedger, out: &mut impl Write) -> std::io::Result<()> {
    let mut causes: Vec<_> = losses.entries().map(|(key, _)| key.cause).collect();
    causes.sort_unstable();
    causes.dedup();
    for (cause, remedy) in causes.into_iter().filter_map(|cause| Some((cause, remedy(cause)?))) {
        writeln!(out, "{}: {remedy}", cause.label())?;
    }
    Ok(())
}

/// Hint at the option that helps against a loss, if there is one.
const fn remedy(cause: LossCause) -> Option<&'static str> {
    match cause {
        LossCause::L1Full => Some(
            "a launch records more than its RISC's L1 vector holds; record less in it, or push \
             within it. Reading more often does not help",
        ),
        LossCause::DramFull => {
            Some("read more often, or make room for more programs (--op-support-count)")
        }
        _ => None,
    }
}

/// Losses that differ only in core and program share a row.
type LossGroupKey = (LossCause, u32, Risc);

#[derive(Default)]
struct LossGroup {
    totals: LossTotals,
    cores: BTreeSet<Noc0Coord>,
    programs: BTreeSet<Option<u32>>,
    /// The first and the last of the launches among which those are that lost something.
    spans: BTreeSet<(u32, u32)>,
}

impl LossGroup {
    fn cells(&self, (cause, chip_id, risc): &LossGroupKey) -> Vec<String> {
        let totals = &self.totals;
        let counts =
            [totals.zones, totals.data, totals.events, totals.sums, totals.unknown_markers];
        let mut cells = vec![
            cause.label().to_owned(),
            chip_id.to_string(),
            risc.label().to_owned(),
            program_ranges(&self.programs, &self.spans),
            self.cores.len().to_string(),
            if totals.runs == 0 { String::new() } else { grouped(totals.runs) },
        ];
        cells.extend(counts.map(|count| bounded(count, totals.is_lower_bound)));
        cells
    }
}

fn loss_groups(losses: &LossLedger) -> BTreeMap<LossGroupKey, LossGroup> {
    let mut groups = BTreeMap::<LossGroupKey, LossGroup>::new();
    for (key, totals) in losses.entries() {
        let LaneId { chip_id, core, risc } = key.lane;
        let group = groups.entry((key.cause, chip_id, risc)).or_default();
        group.totals.add(*totals);
        group.cores.insert(core);
        match (key.program, totals.programs) {
            (None, Some(span)) => {
                group.spans.insert((span.first.base(), span.last.base()));
            }
            (program, _) => {
                group.programs.insert(program.map(RunHostId::base));
            }
        }
    }
    groups
}

/// Program ids as ranges, such as `1001..1400` or `5..1400 by 5`, and spans of launches of which
/// only some lost anything, such as `among 7..9`; at most three of them.
fn program_ranges(programs: &BTreeSet<Option<u32>>, spans: &BTreeSet<(u32, u32)>) -> String {
    const SHOWN: usize = 3;
    let known: Vec<u32> = programs.iter().copied().flatten().collect();
    let mut ranges = ranges_of(&known);
    ranges.extend(spans.iter().map(|(first, last)| format!("among {first}..{last}")));
    let hidden = ranges.len().saturating_sub(SHOWN);
    ranges.truncate(SHOWN);
    if hidden > 0 {
        ranges.push(format!("{hidden} more"));
    }
    if programs.contains(&None) {
        ranges.push("unknown".to_owned());
    }
    ranges.join(", ")
}

fn ranges_of(ids: &[u32]) -> Vec<String> {
    let mut ranges = Vec::new();
    let mut rest = ids;
    while let [first, after @ ..] = rest {
        let step = after.first().map_or(1, |second| second - first);
        let follows = rest.windows(2).take_while(|pair| pair[1] - pair[0] == step).count();
        // Two ids in a row are a range only if they are neighbours.
        let length = if follows > 1 || step == 1 { follows + 1 } else { 1 };
        let last = rest[length - 1];
        ranges.push(match (length, step) {
            (1, _) => first.to_string(),
            (_, 1) => format!("{first}..{last}"),
            _ => format!("{first}..{last} by {step}"),
        });
        rest = &rest[length..];
    }
    ranges
}

/// The losses as a whole, in a sentence; where more may be missing, it says why.
pub(crate) fn lost_line(losses: &LossLedger) -> String {
    let uncounted: Vec<_> = losses.uncounted().map(UncountedSource::label).collect();
    let uncounted = uncounted.join("; ");
    match (losses.is_empty(), uncounted.as_str()) {
        (true, "") => "Lost: nothing".to_owned(),
        (true, reason) => format!("Lost: unknown; {reason}"),
        (false, "") => format!("Lost: {}", describe(&losses.total())),
        (false, reason) => {
            format!("Lost: {}; more may be lost: {reason}", describe(&losses.total()))
        }
    }
}

/// A loss in words, such as `64 zones, 3 events`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_ids_are_shown_as_ranges() {
        let ids = |ids: &[u32]| ids.iter().copied().map(Some).collect();
        assert_eq!(program_ranges(&ids(&[1, 2, 3, 7]), &BTreeSet::new()), "1..3, 7");
        assert_eq!(program_ranges(&ids(&[5, 10, 15, 20]), &BTreeSet::new()), "5..20 by 5");
        assert_eq!(program_ranges(&ids(&[3, 9]), &BTreeSet::new()), "3, 9");
        assert_eq!(program_ranges(&ids(&[1, 4, 6, 9, 20]), &BTreeSet::new()), "1, 4, 6, 2 more");
        assert_eq!(program_ranges(&[None, Some(4)].into(), &BTreeSet::new()), "4, unknown");
    }

    #[test]
    fn a_loss_without_counts_is_not_shown_as_nothing() {
        let totals = LossTotals { is_lower_bound: true, ..LossTotals::default() };
        assert_eq!(describe(&totals), "an unknown number of records");
    }
}
