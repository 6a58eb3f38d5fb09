//! The kernel of each op that starts first on a core.

use super::TraceLane;
use std::collections::HashMap;

/// Arrow from an op to the kernel that starts first on one of its cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arrow {
    /// Index in [`super::TraceDevice::ops`].
    pub(crate) op: u32,
    /// Index in [`super::TraceDevice::lanes`].
    pub(crate) lane: usize,
    /// Index in [`TraceLane::runs`].
    pub(crate) run: usize,
}

/// First kernel of each op on one core, collected lane by lane.
#[derive(Debug, Default)]
pub(crate) struct CoreArrows(HashMap<u32, (u64, usize, usize)>);

impl CoreArrows {
    /// Adds the kernels in `lane`, which is one of the core's lanes or a part of it. The first run
    /// in `lane` has the index `first_run` among all runs of the complete lane.
    pub(crate) fn add_lane(
        &mut self,
        (lane_index, first_run): (usize, usize),
        lane: &TraceLane<'_>,
    ) {
        for (run, op) in lane.run_ops.iter().enumerate() {
            let Some((op, kernel)) = op.zip(lane.kernel(run)) else { continue };
            let kernel = (kernel.start_cycle, lane_index, first_run + run);
            let first = self.0.entry(op).or_insert(kernel);
            *first = kernel.min(*first);
        }
    }

    /// Returns the arrows, sorted by op.
    pub(crate) fn into_arrows(self) -> Vec<Arrow> {
        let mut arrows: Vec<_> =
            self.0.into_iter().map(|(op, (_, lane, run))| Arrow { op, lane, run }).collect();
        arrows.sort_unstable();
        arrows
    }
}
