//! Doubts: reasons why figures of ops are empty, such as missing records or incomparable clocks.
//!
//! A figure computed despite missing records would be wrong, but would look like any other figure.
//! Such a figure is therefore left empty, and the reason is stored with the op.

#![expect(clippy::indexing_slicing, reason = "indices and counts are those of lists in memory")]

use super::op::Launch;
use reader::{
    lane::LaneId,
    ledger::{LossLedger, LossWindow},
    mesh::Noc0Coord,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wire::Risc;

reader::labelled! {
    /// Reason why figures of an op are empty although the op has records.
    ///
    /// ```
    /// use analysis::Doubt;
    /// assert_eq!(Doubt::LostLaunches.label(), "launches before the op may be missing");
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[non_exhaustive]
    pub enum Doubt {
        /// Records are missing on lanes that took part in the launch, or that may have taken part.
        LostRecords = "records of some RISCs are lost",
        /// Kernels or firmware began but did not end.
        Unfinished = "the ends of some kernels are not recorded",
        /// The clocks of the cores do not share an epoch.
        ClocksDisagree = "clocks of the cores disagree",
        /// Launches may be missing between this op and the previous one.
        LostLaunches = "launches before the op may be missing",
        /// The end of the previous op is unknown.
        UnknownEndBefore = "the end of the previous op is unknown",
        /// A selection has removed launches between this op and the previous one.
        HiddenLaunches = "launches before the op are hidden by a filter",
        /// Launches of the profiler itself ran between this op and the previous one.
        ProfilerLaunches = "launches of the profiler itself ran before the op",
        /// The previous op is of another log, which was joined to this one's.
        JoinedLogs = "the op before is of another log in the same file",
    }
}

/// Times of the earliest and the latest record of each run. The key is the run's lane and index.
pub(super) type RunBounds = HashMap<(LaneId, usize), (u64, u64)>;

/// For each lane of one chip, the time windows in which launches may be missing.
#[derive(Clone, Debug, Default)]
pub(super) struct Holes<'ledger> {
    windows: BTreeMap<LaneId, Vec<&'ledger LossWindow>>,
}

impl<'ledger> Holes<'ledger> {
    /// Collects the time windows of one chip. Dispatch cores are left out, because they run no
    /// launches of ops.
    pub(super) fn from_chip(
        losses: &'ledger LossLedger,
        chip_id: u32,
        dispatch_cores: &BTreeSet<Noc0Coord>,
    ) -> Self {
        let mut windows = BTreeMap::<_, Vec<_>>::new();
        let is_of_ops =
            |lane: &LaneId| lane.chip_id == chip_id && !dispatch_cores.contains(&lane.core);
        for (lane, window) in losses.windows().filter(|(lane, _)| is_of_ops(lane)) {
            windows.entry(lane).or_default().push(window);
        }
        Self { windows }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.windows.is_empty()
    }

    /// Returns true if a launch may be missing between the two cycles.
    pub(super) fn touch(&self, from_cycle: u64, to_cycle: u64) -> bool {
        self.windows.values().flatten().any(|window| window.touches(from_cycle, to_cycle))
    }

    /// Returns the RISCs that may have lost records of this launch.
    pub(super) fn riscs_of(&self, launch: &Launch, bounds: &RunBounds) -> BTreeSet<Risc> {
        let (from, to) = (launch.first_cycle, launch.last_cycle);
        let touching: Vec<_> = self
            .windows
            .iter()
            .filter(|(_, windows)| windows.iter().any(|w| w.touches(from, to)))
            .collect();
        if touching.is_empty() {
            return BTreeSet::new();
        }
        let mut runs: Vec<_> = launch.runs.iter().map(|run| (run.lane, run.run)).collect();
        runs.sort_unstable();
        let mut riscs = BTreeSet::new();
        for (&lane, windows) in touching {
            let first = runs.partition_point(|&(of, _)| of < lane);
            let own: Vec<_> = runs[first..].iter().take_while(|&&(of, _)| of == lane).collect();
            let may_be_cut = |&&(_, run): &&(LaneId, usize)| {
                let bounds = bounds.get(&(lane, run));
                bounds.is_none_or(|&(start, end)| {
                    windows
                        .iter()
                        .filter(|w| w.may_cut_launches)
                        .any(|window| window.holds(start, end))
                })
            };
            // A lane without a run of this launch may have lost the whole run.
            if own.is_empty() || own.iter().any(may_be_cut) {
                riscs.insert(lane.risc);
            }
        }
        riscs
    }
}
