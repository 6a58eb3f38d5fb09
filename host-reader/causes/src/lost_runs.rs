//! Runs that may have lost records, derived from the loss ledger.

use reader::{
    lane::{Lane, LaneId},
    ledger::{LossCause, LossKey, LossLedger, LossTotals, LossWindow, ProgramSpan},
};
use std::{collections::HashMap, ops::Range};
use wire::RunHostId;

/// Losses of each lane, grouped by what identifies the affected launches: a program, a range of
/// launches or a time window.
#[derive(Debug, Default)]
pub(crate) struct LostRuns(HashMap<LaneId, LaneLosses>);

/// Losses of one lane.
#[derive(Debug, Default)]
struct LaneLosses {
    /// Programs of which any run may have lost records.
    programs: Vec<RunHostId>,
    /// Ranges of launches. Every run in a range may have lost records.
    spans: Vec<ProgramSpan>,
    /// Time windows in which runs were lost or truncated.
    windows: Vec<LossWindow>,
    /// True if any run of the lane may have lost records.
    is_anywhere: bool,
}

impl LostRuns {
    /// Collects the losses of a ledger that can contain records of waits or signals.
    pub(crate) fn of_waits(losses: &LossLedger) -> Self {
        Self::from_ledger(losses, may_hold_waits)
    }

    /// Collects the losses of a ledger that can contain zones or sums of zones.
    pub(crate) fn of_zones(losses: &LossLedger) -> Self {
        Self::from_ledger(losses, may_hold_zones)
    }

    /// Collects those losses of a ledger that `may_hold` selects.
    ///
    /// If whole launches of an unknown program were lost, the affected runs are those in the loss
    /// windows of the lane.
    fn from_ledger(losses: &LossLedger, may_hold: fn(&LossKey, &LossTotals) -> bool) -> Self {
        let mut lanes: HashMap<LaneId, LaneLosses> = HashMap::new();
        for (key, totals) in losses.entries().filter(|(key, totals)| may_hold(key, totals)) {
            let lane = lanes.entry(key.lane).or_default();
            match (key.program, totals.programs) {
                (Some(program), _) => lane.programs.push(program),
                (None, _) if key.cause.loses_launches() => {
                    let own = losses.windows().filter(|(of, _)| *of == key.lane);
                    lane.windows.extend(own.map(|(_, window)| *window));
                    lane.is_anywhere |= lane.windows.is_empty();
                }
                (None, Some(span)) => lane.spans.push(span),
                (None, None) => lane.is_anywhere = true,
            }
        }
        Self(lanes)
    }

    /// Returns a flag for each run of a lane: true if the run may have lost records. Empty if the
    /// lane has no losses.
    pub(crate) fn lane_flags(&self, lane: &Lane) -> Vec<bool> {
        let Some(losses) = self.0.get(&lane.id) else { return Vec::new() };
        let spans: Vec<Range<usize>> =
            losses.spans.iter().map(|span| runs_of_span(lane, *span)).collect();
        let has_lost = lane.runs.iter().enumerate().map(|(number, run)| {
            losses.is_anywhere
                || losses.programs.contains(&run.program)
                || spans.iter().any(|span| span.contains(&number))
                || losses.windows.iter().any(|window| touches(window, lane, number))
        });
        has_lost.collect()
    }
}

/// Waits and signals are recorded as data.
const fn may_hold_waits(_: &LossKey, totals: &LossTotals) -> bool {
    totals.data > 0 || totals.unknown_markers > 0 || totals.is_lower_bound
}

/// Firmware omits zones of runs without kernels, which no kernel has.
const fn may_hold_zones(key: &LossKey, totals: &LossTotals) -> bool {
    if matches!(key.cause, LossCause::ValidateOff) {
        return false;
    }
    totals.zones > 0 || totals.sums > 0 || totals.unknown_markers > 0 || totals.is_lower_bound
}

/// Returns the runs from the first to the last launch of a span.
///
/// If the lane has no run of the first program, the range starts at the lane's first run. If the
/// lane has no run of the last program, the range ends at the lane's last run. A first program
/// without a run may have been launched before the lane's first run, and a last program without a
/// run after the lane's last run.
fn runs_of_span(lane: &Lane, span: ProgramSpan) -> Range<usize> {
    let first = lane.runs.iter().position(|run| run.program == span.first);
    let last = lane.runs.iter().rposition(|run| run.program == span.last);
    let end = last.map_or(lane.runs.len(), |last| last.saturating_add(1));
    first.unwrap_or(0)..end
}

/// Returns true if a run overlaps a window.
fn touches(window: &LossWindow, lane: &Lane, run: usize) -> bool {
    let times = lane.times.get(lane.run_records(run)).unwrap_or(&[]);
    let bounds = times.iter().min().zip(times.iter().max());
    bounds.is_none_or(|(&first, &last)| window.touches(first, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reader::{
        lane::{RecordHead, Run, ZoneIndex},
        mesh::Noc0Coord,
    };
    use wire::{PacketKind, Risc};

    const LANE: LaneId = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };

    /// Returns a lane with runs of programs 1 to 6. Each run takes 100 cycles. The runs start at
    /// cycles 1000, 2000 and so on. Program 3 is launched again at the end.
    fn lane() -> Lane {
        let mut lane = Lane::new(LANE);
        for (number, program) in (1_u32..).zip([1, 2, 3, 4, 5, 6, 3]) {
            lane.runs.push(Run {
                program: RunHostId(program),
                trace_counter: 0,
                trace: None,
                first_record: lane.record_count(),
                origin: 0,
                is_unfinished: false,
            });
            let start = u64::from(number) * 1000;
            lane.push(RecordHead::new(PacketKind::ZoneStart, ZoneIndex(7)), start, &[]);
            lane.push(RecordHead::new(PacketKind::ZoneEnd, ZoneIndex(7)), start + 100, &[]);
        }
        lane
    }

    /// Returns the numbers, counted from 1, of the runs that may have lost records.
    fn lossy(add: impl Fn(&mut LossLedger)) -> Vec<usize> {
        let mut losses = LossLedger::default();
        add(&mut losses);
        let found = LostRuns::of_waits(&losses).lane_flags(&lane());
        let numbered = (1..).zip(found).filter(|(_, has_lost)| *has_lost);
        numbered.map(|(number, _)| number).collect()
    }

    #[test]
    fn lost_zones_are_of_runs_whose_waits_are_known() {
        let mut losses = LossLedger::default();
        let zones = LossTotals { zones: 9, ..LossTotals::default() };
        losses.record(key(LossCause::L1Full, Some(3)), zones);
        losses.record(key(LossCause::ValidateOff, Some(5)), zones);
        let flags = LostRuns::of_zones(&losses).lane_flags(&lane());
        assert_eq!(flags, [false, false, true, false, false, false, true], "5 is on purpose");
    }

    fn key(cause: LossCause, program: Option<u32>) -> LossKey {
        LossKey { lane: LANE, cause, program: program.map(RunHostId) }
    }

    const DATA: LossTotals = LossTotals {
        zones: 0,
        data: 3,
        events: 0,
        sums: 0,
        unknown_markers: 0,
        is_lower_bound: false,
        runs: 0,
        programs: None,
    };

    fn among(first: u32, last: u32) -> LossTotals {
        let (first, last) = (RunHostId(first), RunHostId(last));
        LossTotals { programs: Some(ProgramSpan { first, last }), ..DATA }
    }

    #[test]
    fn a_loss_of_a_program_is_of_each_of_its_runs() {
        let of = |totals| lossy(|losses| losses.record(key(LossCause::L1Full, Some(3)), totals));
        assert_eq!(of(DATA), [3, 7]);
        let zones = LossTotals { zones: 9, ..LossTotals::default() };
        assert!(of(zones).is_empty(), "whole zones are no waits that were counted");
    }

    #[test]
    fn a_loss_among_launches_spares_those_before_and_after() {
        let of = |totals| lossy(|losses| losses.record(key(LossCause::L1Full, None), totals));
        assert_eq!(of(among(2, 4)), [2, 3, 4]);
        assert_eq!(of(among(3, 3)), [3, 4, 5, 6, 7]);
        assert_eq!(of(among(5, 60)), [5, 6, 7], "the last one is not there");
        assert_eq!(of(among(50, 2)), [1, 2], "the first one is not there");
        assert_eq!(of(DATA), [1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_loss_of_launches_is_of_those_in_its_windows() {
        let of = |after: Option<u64>, before: Option<u64>| {
            lossy(|losses| {
                // The first and last launch of the span have no runs in the lane.
                losses.add_in_windows(key(LossCause::DramFull, None), among(22, 60));
                losses.note_window(LANE, LossWindow { after, before, may_cut_launches: false });
            })
        };
        assert_eq!(of(Some(4100), None), [5, 6, 7], "the fourth one ends at 4100");
        assert_eq!(of(Some(4099), Some(6000)), [4, 5]);
        assert_eq!(of(None, Some(2050)), [1, 2]);
        assert_eq!(of(None, None), [1, 2, 3, 4, 5, 6, 7]);
        let without = lossy(|losses| {
            losses.add_in_windows(key(LossCause::DramFull, None), among(22, 60));
        });
        assert_eq!(without.len(), 7, "nothing tells when");
    }

    #[test]
    fn losses_of_other_lanes_are_none_of_this_one() {
        let other = LaneId { risc: Risc::Ncrisc, ..LANE };
        let found = lossy(|losses| {
            losses.record(LossKey { lane: other, ..key(LossCause::L1Full, None) }, DATA);
            losses.note_window(LANE, LossWindow::ANY_TIME);
        });
        assert!(found.is_empty(), "{found:?}");
    }
}
