//! Arrows from the start of an op to its first kernel on each core.
//!
//! On each core of an op, one arrow ends at the kernel that starts first. Arrows to every RISC
//! would hide the slices below the arrows.

use super::{Trace, TraceDevice, TraceLane, TraceRun};
use std::collections::HashMap;

/// Arrows of a trace, from ops to kernels. An arrow is identified by the run of its kernel.
pub(super) struct Arrows {
    /// Index of the trace's first device among all devices in the exported file. It makes arrow ids
    /// unique if the file contains several traces.
    first_device: usize,
    /// For each device and lane, the indices of those runs whose kernel has an arrow, in ascending
    /// order.
    runs: Vec<Vec<Vec<usize>>>,
}

impl Arrows {
    /// Finds, for each op and core, the kernel that starts first.
    pub(super) fn new(trace: &Trace<'_>, first_device: usize) -> Self {
        Self { first_device, runs: trace.devices.iter().map(first_kernels).collect() }
    }

    /// Returns the indices of those runs of a lane at which an arrow ends, in ascending order.
    pub(super) fn lane_arrows(&self, device_index: usize, lane_index: usize) -> &[usize] {
        let runs = self.runs.get(device_index).and_then(|lanes| lanes.get(lane_index));
        runs.map_or(&[], Vec::as_slice)
    }

    /// Returns the arrow ids of an op's runs. Runs without an arrow are skipped.
    pub(super) fn ids(&self, device_index: usize, runs: &[TraceRun]) -> Vec<u64> {
        runs.iter()
            .filter(|run| self.lane_arrows(device_index, run.lane).binary_search(&run.run).is_ok())
            .map(|run| self.id(device_index, run.lane, run.run))
            .collect()
    }

    /// Returns an arrow id that is unique for this run of this lane, and never 0.
    pub(super) const fn id(&self, device_index: usize, lane_index: usize, run: usize) -> u64 {
        let device = (self.first_device + device_index + 1) as u64;
        (device << 48) | ((lane_index as u64) << 28) | run as u64
    }
}

/// Arrow from an op to the kernel that starts first on one of its cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Arrow {
    /// Index in [`TraceDevice::ops`].
    pub(super) op: u32,
    /// Index in [`TraceDevice::lanes`].
    pub(super) lane: usize,
    /// Index in [`TraceLane::runs`].
    pub(super) run: usize,
}

/// First kernel of each op on one core, collected lane by lane.
#[derive(Debug, Default)]
pub(super) struct CoreArrows(HashMap<u32, (u64, usize, usize)>);

impl CoreArrows {
    /// Adds the kernels in `lane`, which is one of the core's lanes or a part of it. The first run
    /// in `lane` has the index `first_run` among all runs of the complete lane.
    pub(super) fn add_lane(
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
    pub(super) fn into_arrows(self) -> Vec<Arrow> {
        let mut arrows: Vec<_> =
            self.0.into_iter().map(|(op, (_, lane, run))| Arrow { op, lane, run }).collect();
        arrows.sort_unstable();
        arrows
    }
}

/// Returns, for each lane, the indices of the runs at which an arrow ends, in ascending order.
fn first_kernels(device: &TraceDevice<'_>) -> Vec<Vec<usize>> {
    let mut runs = vec![Vec::new(); device.lanes.len()];
    let mut first_lane = 0;
    for lanes in device.cores() {
        let mut core = CoreArrows::default();
        for (index, lane) in (first_lane..).zip(lanes) {
            core.add_lane((index, 0), lane);
        }
        for Arrow { lane, run, .. } in core.into_arrows() {
            if let Some(lane_runs) = runs.get_mut(lane) {
                lane_runs.push(run);
            }
        }
        first_lane += lanes.len();
    }
    runs.iter_mut().for_each(|lane_runs| lane_runs.sort_unstable());
    runs
}
