//! Runs of RISCs whose records lack the replay that the other RISCs of their core name.
//!
//! # Compatibility
//! TT-Metal #33430: in some versions, the records of NCRISC have no trace id.

use super::figures::LaneRun;
use reader::mesh::Noc0Coord;

/// Gives the runs of one program that name no replay the replay that ran at that time on another RISC of
/// their core, and sorts the runs by replay, lane and index. `runs` must be sorted so.
///
/// A program that ran outside of traces, too, keeps these runs: nothing else ran on the core then.
pub(super) fn adopt_replays(runs: &mut [LaneRun]) {
    let is_replay = |run: &&LaneRun| run.key.trace.is_some();
    if runs.first().is_none_or(|run| run.key.trace.is_some())
        || !runs.iter().any(|run| is_replay(&run))
    {
        return;
    }
    let mut replays: Vec<LaneRun> = runs.iter().filter(is_replay).copied().collect();
    let place = |core: Noc0Coord, start: u64| (core, start);
    replays.sort_by_key(|run| place(run.lane.core, run.bounds.0));
    for run in runs.iter_mut().filter(|run| run.key.trace.is_none()) {
        let middle = u64::midpoint(run.bounds.0, run.bounds.1);
        let after = replays
            .partition_point(|of| place(of.lane.core, of.bounds.0) <= place(run.lane.core, middle));
        // The RISCs of a core begin one after the other, so the latest begin may be too late.
        let before = replays.get(..after).unwrap_or_default().iter().rev();
        let around = before
            .take_while(|of| of.lane.core == run.lane.core)
            .take(RISCS_OF_CORE)
            .find(|of| of.lane != run.lane && middle <= of.bounds.1);
        if let Some(replay) = around {
            run.key = replay.key;
        }
    }
    runs.sort_by_key(|run| (run.key, run.lane, run.index));
}

/// Most RISCs of a core that name a replay, each with one run at a time.
const RISCS_OF_CORE: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{LaneExtents, OpKey};
    use reader::lane::{LaneId, TraceReplay};
    use wire::Risc;

    fn run(risc: Risc, x: u16, index: usize, bounds: (u64, u64), replay: Option<u64>) -> LaneRun {
        let trace = replay.map(|counter| TraceReplay { trace_id: 1, counter });
        LaneRun {
            key: OpKey { program: 5, trace },
            lane: LaneId { chip_id: 0, core: Noc0Coord { x, y: 1 }, risc },
            index,
            bounds,
            extents: LaneExtents::default(),
            has_zones: true,
            is_dispatch: false,
            sub_device_id: None,
        }
    }

    fn replays_of(runs: &[LaneRun]) -> Vec<(Risc, usize, Option<u64>)> {
        runs.iter()
            .map(|run| (run.lane.risc, run.index, run.key.trace.map(|of| of.counter)))
            .collect()
    }

    #[test]
    fn runs_take_the_replay_that_ran_on_their_core_at_that_time() {
        let (brisc, ncrisc) = (Risc::Brisc, Risc::Ncrisc);
        let mut runs = vec![
            run(ncrisc, 1, 0, (110, 180), None),
            run(ncrisc, 1, 1, (310, 380), None),
            // Outside of traces, and on another core at the time of a replay.
            run(ncrisc, 1, 2, (510, 580), None),
            run(ncrisc, 2, 0, (110, 180), None),
            run(brisc, 1, 0, (100, 200), Some(1)),
            run(brisc, 1, 1, (300, 400), Some(2)),
        ];
        adopt_replays(&mut runs);
        let expected = [
            (ncrisc, 2, None),
            (ncrisc, 0, None),
            (brisc, 0, Some(1)),
            (ncrisc, 0, Some(1)),
            (brisc, 1, Some(2)),
            (ncrisc, 1, Some(2)),
        ];
        assert_eq!(replays_of(&runs), expected);
    }
}
