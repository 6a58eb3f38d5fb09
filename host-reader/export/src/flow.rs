//! Arrows from the begin of an op to its first kernel on each core.
//!
//! Each core of an op has one arrow, to the kernel that begins first on this core. An arrow for
//! each RISC would hide the slices below.

use super::{Trace, TraceDevice, TraceRun};
use std::collections::BTreeMap;

/// Runs at which arrows end.
pub(super) struct Arrows {
    /// Index of the first device, which makes arrow ids unique among the traces of one file.
    first_device: usize,
    /// Runs by device and lane, ascending.
    runs: Vec<Vec<Vec<usize>>>,
}

impl Arrows {
    /// Finds the first kernel of each op on each core.
    pub(super) fn new(trace: &Trace<'_>, first_device: usize) -> Self {
        Self { first_device, runs: trace.devices.iter().map(first_kernels).collect() }
    }

    /// Returns the runs of a lane at which an arrow ends, ascending.
    pub(super) fn lane_arrows(&self, device_index: usize, lane_index: usize) -> &[usize] {
        let runs = self.runs.get(device_index).and_then(|lanes| lanes.get(lane_index));
        runs.map_or(&[], Vec::as_slice)
    }

    /// Returns the arrow ids of an op's runs; runs without an arrow are skipped.
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

fn first_kernels(device: &TraceDevice<'_>) -> Vec<Vec<usize>> {
    let core_of_lane = device.core_of_lane();
    let mut runs = vec![Vec::new(); device.lanes.len()];
    for op in &device.ops {
        let mut first_of_core: BTreeMap<usize, (u64, TraceRun)> = BTreeMap::new();
        for &run in &op.runs {
            let (Some(&core), Some(start)) =
                (core_of_lane.get(run.lane), kernel_start(device, run))
            else {
                continue;
            };
            let first = first_of_core.entry(core).or_insert((start, run));
            *first = (start, run).min(*first);
        }
        for (_, run) in first_of_core.into_values() {
            if let Some(lane_runs) = runs.get_mut(run.lane) {
                lane_runs.push(run.run);
            }
        }
    }
    runs.iter_mut().for_each(|lane_runs| lane_runs.sort_unstable());
    runs
}

/// Returns the cycle at which a run's kernel begins.
fn kernel_start(device: &TraceDevice<'_>, run: TraceRun) -> Option<u64> {
    let lane = device.lanes.get(run.lane)?;
    let kernel = lane.run_kernels.get(run.run).copied().flatten()?;
    lane.zones.start_cycles().get(kernel as usize).copied()
}
