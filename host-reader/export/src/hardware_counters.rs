//! Hardware counters of each op of a chip.

use super::{TraceDevice, TraceNames};
use analysis::counters::{LaunchCounters, Sample};
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
    op_counters.into_values().collect()
}
