//! Arrows from the start of an op to its first kernel on each core.
//!
//! On each core of an op, one arrow ends at the kernel that starts first. Arrows to every RISC
//! would hide the slices below the arrows.

use super::{
    Trace, TraceDevice, TraceItems, TraceOp, TraceRun,
    trace::{
        first_kernels::{Arrow, CoreArrows},
        place::{LanePosition, PlacedLane},
    },
};

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

    /// Returns the indices of those runs of a lane, or of a part of it, at whose kernel an arrow ends,
    /// in ascending order.
    pub(super) fn arrow_runs<'t>(&'t self, placed: &PlacedLane<'t, '_>) -> &'t [usize] {
        let LanePosition { device_index, lane_index, .. } = placed.place;
        placed.arrow_runs.unwrap_or_else(|| self.lane_arrows(device_index, lane_index))
    }

    /// Returns the id of the arrow that ends at a run of a lane, or of a part of it.
    pub(super) const fn id_of(&self, placed: &PlacedLane<'_, '_>, run: usize) -> u64 {
        let LanePosition { device_index, lane_index, .. } = placed.place;
        self.id(device_index, lane_index, placed.first_run + run)
    }

    /// Returns a function that finds the arrow ids of an op, for a chip whose ops are asked for in
    /// ascending order.
    pub(super) fn of_ops<'t>(
        &'t self,
        items: TraceItems<'t, '_>,
        device_index: usize,
    ) -> impl FnMut(u32, &TraceOp<'_>) -> Vec<u64> + 't {
        let mut packed = items.packed().map(|packed| packed.op_arrows(device_index));
        move |number, op| match &mut packed {
            None => self.ids(device_index, &op.runs),
            Some(op_arrows) => {
                let arrows = op_arrows(number).into_iter();
                arrows.map(|arrow| self.id(device_index, arrow.lane, arrow.run)).collect()
            }
        }
    }

    fn lane_arrows(&self, device_index: usize, lane_index: usize) -> &[usize] {
        let runs = self.runs.get(device_index).and_then(|lanes| lanes.get(lane_index));
        runs.map_or(&[], Vec::as_slice)
    }

    /// Returns the arrow ids of an op's runs. Runs without an arrow are skipped.
    fn ids(&self, device_index: usize, runs: &[TraceRun]) -> Vec<u64> {
        runs.iter()
            .filter(|run| self.lane_arrows(device_index, run.lane).binary_search(&run.run).is_ok())
            .map(|run| self.id(device_index, run.lane, run.run))
            .collect()
    }

    /// Returns an arrow id that is unique for this run of this lane, and never 0.
    const fn id(&self, device_index: usize, lane_index: usize, run: usize) -> u64 {
        let device = (self.first_device + device_index + 1) as u64;
        (device << 48) | ((lane_index as u64) << 28) | run as u64
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
