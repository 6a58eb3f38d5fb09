//! Hardware counters of each op of a chip.

use super::{TraceDevice, TraceNames};
use analysis::counters::{LaunchCounters, Sample};
use reader::mesh::Noc0Coord;
use std::collections::BTreeMap;
use wire::ZoneId;

/// Returns a flag for each name: true if samples of hardware counters have this name.
pub(super) fn counter_names(names: &TraceNames<'_>) -> Vec<bool> {
    let id = u32::from(ZoneId::PERF_COUNTER.0);
    names.as_slice().iter().map(|name| name.marker_id == id).collect()
}

/// Returns the counters of each op of a chip. Ops without counters are left out; `launch` in the
/// result is the index of the op.
pub(super) fn counters_of_ops(
    device: &TraceDevice<'_>,
    names: &TraceNames<'_>,
) -> Vec<LaunchCounters> {
    let is_counter = counter_names(names);
    if !is_counter.contains(&true) {
        return Vec::new();
    }
    let mut op_counters: BTreeMap<usize, LaunchCounters> = BTreeMap::new();
    for lane in &device.lanes {
        for point in &lane.points {
            if !is_counter.get(point.name.index()).copied().unwrap_or(false) {
                continue;
            }
            let Some(op) = lane.op(point.run).map(|op| op as usize) else { continue };
            let counters = op_counters.entry(op).or_default();
            counters.launch = op;
            counters.add(lane.id, point.cycle, Sample::decode(point.values, point.text));
        }
    }
    let computing = Computing::new(device, names);
    for (op, counters) in &mut op_counters {
        let kernel = device.ops.get(*op).and_then(|op| op.figures.kernel);
        counters.counters.set_kernel_cycles(kernel.map(|kernel| kernel.duration_cycles));
        for core in computing.cores_without(*op) {
            counters.counters.note_no_compute(core);
        }
    }
    op_counters.into_values().collect()
}

/// For each op, the cores on which its kernels ran, and whether any of them computes.
struct Computing {
    cores: BTreeMap<usize, BTreeMap<Noc0Coord, bool>>,
    /// True if kernels that compute were recorded at all. A recording without any may have left them out.
    is_recorded: bool,
}

impl Computing {
    fn new(device: &TraceDevice<'_>, names: &TraceNames<'_>) -> Self {
        let mut all = Self { cores: BTreeMap::new(), is_recorded: false };
        for lane in &device.lanes {
            for (run, op) in lane.run_ops.iter().enumerate() {
                let kernel = lane.kernel(run).and_then(|zone| names.get(zone.name));
                let Some(op) = op.filter(|_| kernel.is_some_and(|name| name.is_kernel)) else {
                    continue;
                };
                let cores = all.cores.entry(op as usize).or_default();
                *cores.entry(lane.id.core).or_default() |= lane.id.risc.computes();
                all.is_recorded |= lane.id.risc.computes();
            }
        }
        all
    }

    /// Returns the cores on which kernels of an op ran, but none that computes.
    fn cores_without(&self, op: usize) -> impl Iterator<Item = Noc0Coord> {
        let cores = self.cores.get(&op).filter(|_| self.is_recorded).into_iter().flatten();
        cores.filter(|(_, computes)| !**computes).map(|(core, _)| *core)
    }
}
