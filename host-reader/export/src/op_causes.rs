//! Causes of slowness of each op of a trace.

use super::{Trace, TraceDevice};
use causes::OpCauses;
use std::collections::{BTreeMap, VecDeque};

/// Returns the causes of each op of a chip, in the order of the chip's ops; `None` for an op whose
/// causes are unknown.
///
/// The ops of the chip are matched with the explained ops by program and launch number. A replayed
/// op has the same numbers in each replay of its device trace, so replays are matched by their
/// order.
pub(super) fn causes_of_ops<'t>(
    trace: &'t Trace<'_>,
    device: &TraceDevice<'_>,
) -> Vec<Option<&'t OpCauses>> {
    let chip_id = device.chip.chip_id;
    let mut known: BTreeMap<(u32, u64), VecDeque<&OpCauses>> = BTreeMap::new();
    let all = trace.explanation.iter().flat_map(|explanation| &explanation.ops);
    for op in all.filter(|op| op.chip_id == chip_id) {
        known.entry((op.run_host_id, op.launch)).or_default().push_back(op);
    }
    device
        .ops
        .iter()
        .map(|op| known.get_mut(&(op.figures.run_host_id, op.figures.launch))?.pop_front())
        .collect()
}

/// Returns the names of a chip's ops, in order.
///
/// A name comes from the host, or from the ops CSV that describes the launch.
pub(super) fn names_of_ops<'t>(
    trace: &'t Trace<'_>,
    device: &TraceDevice<'t>,
) -> Vec<Option<&'t str>> {
    let causes = causes_of_ops(trace, device).into_iter();
    let ops = device.ops.iter().zip(causes);
    ops.map(|(op, causes)| op.name().or_else(|| causes?.name.as_deref())).collect()
}
