//! Arrival of a launch's GO message at a core, and the core's report on the launch.

use crate::{noc, program::KernelContext, random::Stream, truth::LaunchTruth};
use wire::Risc;

/// Returns the cycle at which a core receives the GO message that leaves the dispatcher at `cycle`.
pub(super) fn arrival_cycle(context: &KernelContext, cycle: u64) -> u64 {
    let coord = context.place.coord;
    let path = [
        GO_STREAM,
        u64::from(context.chip_id),
        u64::from(coord.x),
        u64::from(coord.y),
        context.launch_index,
    ];
    let mut random = Stream::new(context.seed, &path);
    cycle + u64::from(coord.x + coord.y) * noc::HOP_CYCLES + random.below(GO_JITTER_CYCLES)
}

/// Report on a launch from one core.
pub(crate) struct LaunchReport {
    /// Cycle at which the dispatcher received the core's done signal.
    pub(crate) done_cycle: u64,
    /// Cycle at which every RISC of the core was idle again.
    pub(crate) free_cycle: u64,
    /// True if no kernel ran on this core.
    pub(crate) is_idle: bool,
    pub(crate) launches: Vec<(Risc, LaunchTruth)>,
}

const GO_STREAM: u64 = 0xF1;
const GO_JITTER_CYCLES: u64 = 60;
