//! Holes in a lane: positions where runs may be missing, and runs that are cut off.
//!
//! A hole is stored as a run number, because the decoder may still correct the times of runs. After
//! decoding, each hole is converted to a [window](LossWindow) of time.

use super::MissingRuns;
use crate::{lane::Lane, ledger::LossWindow};
use std::collections::BTreeSet;

/// Positions where runs may be missing or cut off, for one read of one lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Holes {
    /// Time of the last record of the previous read; 0 if none.
    last_time: u64,
    /// Positions of missing runs. A position is the number of decoded runs before the missing runs.
    missing: BTreeSet<usize>,
    /// Numbers, counted from 1, of the runs that are cut off.
    cut: BTreeSet<usize>,
    /// Position of the runs that the device discarded because the lane was full. The hole extends
    /// from this position to the time of the read.
    refused: Option<MissingRuns>,
}

impl Holes {
    /// Returns an empty set of holes; `last_time` is the time of the last record in the previous
    /// read.
    pub(super) fn after(last_time: u64) -> Self {
        Self { last_time, ..Self::default() }
    }

    /// Notes that runs may be missing after run number `run_count`, counted from 1; 0 means the
    /// beginning of the read.
    pub(super) fn add_missing_runs(&mut self, run_count: usize) {
        self.missing.insert(run_count);
    }

    /// Notes that run number `run_count`, counted from 1, may have lost the start or end of a zone.
    pub(super) fn add_cut_run(&mut self, run_count: usize) {
        self.cut.insert(run_count);
    }

    /// Notes that the device discarded runs because the lane was full.
    pub(super) fn add_refused_runs(&mut self, missing: MissingRuns) {
        self.refused = Some(missing);
    }

    /// Returns the windows of time in which runs may be missing or cut off. `read_at` is the tile's
    /// clock after the read.
    pub(super) fn windows(&self, lane: &Lane, read_at: Option<u64>) -> Vec<LossWindow> {
        let times_of = |run: usize| lane.times.get(lane.run_records(run)).unwrap_or(&[]).iter();
        let end_of = |run: usize| times_of(run).max().copied();
        let start_of = |run: usize| times_of(run).min().copied();
        let last = Some(self.last_time).filter(|&time| time > 0);
        let before = |run_count: usize| (0..run_count).rev().find_map(end_of).or(last);
        let after = |run_count: usize| (run_count..lane.runs.len()).find_map(start_of);
        let missing = self.missing.iter().map(|&count| LossWindow {
            after: before(count),
            before: after(count).or(read_at),
            may_cut_launches: false,
        });
        let cut = self.cut.iter().map(|&count| LossWindow {
            after: count.checked_sub(1).and_then(start_of).or(last),
            before: count.checked_sub(1).and_then(end_of).or(read_at),
            may_cut_launches: true,
        });
        let refused = self.refused.map(|missing| {
            let fitting = match missing {
                MissingRuns::Anywhere => 0,
                MissingRuns::BehindWord(word) => {
                    lane.runs.iter().take_while(|run| run.origin <= word).count()
                }
            };
            LossWindow { after: before(fitting), before: read_at, may_cut_launches: false }
        });
        missing.chain(cut).chain(refused).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        lane::{LaneId, RecordHead, Run, ZoneIndex},
        mesh::Noc0Coord,
    };
    use wire::{PacketKind, Risc, RunHostId};

    /// Returns a lane with three runs of 20 words, which begin at 100, 300 and 500 and last 90
    /// cycles.
    fn lane() -> Lane {
        let core = Noc0Coord { x: 1, y: 1 };
        let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
        for run in 0..3_u32 {
            let (first_record, origin) = (lane.record_count(), u64::from(run) * 20);
            let program = RunHostId(run);
            lane.runs.push(Run {
                program,
                trace_counter: 0,
                trace: None,
                first_record,
                origin,
                is_unfinished: false,
            });
            let start = 100 + 200 * u64::from(run);
            lane.push(RecordHead::new(PacketKind::ZoneStart, ZoneIndex(7)), start, &[]);
            lane.push(RecordHead::new(PacketKind::ZoneEnd, ZoneIndex(7)), start + 90, &[]);
        }
        lane
    }

    fn windows(add: impl Fn(&mut Holes)) -> Vec<(Option<u64>, Option<u64>, bool)> {
        let mut holes = Holes::after(40);
        add(&mut holes);
        let windows = holes.windows(&lane(), Some(900));
        windows.iter().map(|w| (w.after, w.before, w.may_cut_launches)).collect()
    }

    #[test]
    fn missing_runs_lie_between_their_neighbours() {
        let of = |count| windows(|holes| holes.add_missing_runs(count));
        assert_eq!(of(0), [(Some(40), Some(100), false)]);
        assert_eq!(of(1), [(Some(190), Some(300), false)]);
        assert_eq!(of(3), [(Some(590), Some(900), false)]);
    }

    #[test]
    fn a_cut_run_is_a_window_of_its_own() {
        assert_eq!(windows(|holes| holes.add_cut_run(2)), [(Some(300), Some(390), true)]);
    }

    #[test]
    fn what_a_full_lane_refused_came_after_all_that_left_it_room() {
        let of = |missing| windows(|holes| holes.add_refused_runs(missing));
        assert_eq!(of(MissingRuns::Anywhere), [(Some(40), Some(900), false)]);
        assert_eq!(of(MissingRuns::BehindWord(0)), [(Some(190), Some(900), false)]);
        assert_eq!(of(MissingRuns::BehindWord(39)), [(Some(390), Some(900), false)]);
        assert_eq!(of(MissingRuns::BehindWord(40)), [(Some(590), Some(900), false)]);
    }
}
