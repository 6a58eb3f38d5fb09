//! Causes of slowness of each op of a trace.

use super::{Trace, TraceDevice, TraceOp};
use causes::OpCauses;
use std::{
    borrow::Borrow,
    collections::{BTreeMap, VecDeque},
};

/// Adds to each op of a chip its causes; `None` for an op whose causes are unknown.
///
/// The ops of the chip are matched with the explained ops by program and launch number. A replayed
/// op has the same numbers in each replay of its device trace, so replays are matched by their
/// order.
pub(super) fn with_causes<'t, 'a: 't, O: Borrow<TraceOp<'a>>>(
    trace: &'t Trace<'_>,
    chip_id: u32,
    ops: impl Iterator<Item = O>,
) -> impl Iterator<Item = (Option<&'t OpCauses>, O)> {
    let mut known: BTreeMap<(u32, u64), VecDeque<&OpCauses>> = BTreeMap::new();
    let all = trace.explanation.iter().flat_map(|explanation| &explanation.ops);
    for op in all.filter(|op| op.chip_id == chip_id) {
        known.entry((op.run_host_id, op.launch)).or_default().push_back(op);
    }
    ops.map(move |op| {
        let figures = &op.borrow().figures;
        let causes = known.get_mut(&(figures.run_host_id, figures.launch));
        (causes.and_then(VecDeque::pop_front), op)
    })
}

/// Returns the names of a chip's ops, in order.
///
/// A name comes from the host, or from the ops CSV that describes the launch.
pub(super) fn names_of_ops<'t>(
    trace: &'t Trace<'_>,
    device: &TraceDevice<'t>,
) -> Vec<Option<&'t str>> {
    let ops = with_causes(trace, device.chip.chip_id, device.ops.iter());
    ops.map(|(causes, op)| op.name().or_else(|| causes?.name.as_deref())).collect()
}
