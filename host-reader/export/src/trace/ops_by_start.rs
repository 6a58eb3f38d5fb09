//! Ops of a packed chip, unpacked one after the other.

use super::{
    TraceOp,
    build::ProgramMetadata,
    op::{self, FreeRows},
};
use analysis::Launch;
use recording::DeviceClock;
use std::collections::BTreeMap;
use wire::RunHostId;

/// Returns a chip's ops in the order of [`super::TraceDevice::ops`], with their rows. Each op comes
/// with the index of its launch among the launches of the chip.
///
/// Launches must be sorted by their first cycle. An op never starts before its launch's first
/// cycle, so only a few unpacked ops must be buffered at a time.
pub(super) fn ops_by_start<'t, 'a: 't>(
    launches: impl Iterator<Item = Launch> + 't,
    metadata: &'t ProgramMetadata<'a>,
    clock: DeviceClock<'a>,
) -> impl Iterator<Item = (u32, TraceOp<'a>)> + 't {
    let mut launches = (0_u32..).zip(launches).peekable();
    // Ops that may have to come after ops of later launches, by sort key and index of their launch.
    let mut waiting: BTreeMap<(op::Order, u32), TraceOp<'a>> = BTreeMap::new();
    let mut rows = FreeRows::default();
    std::iter::from_fn(move || {
        loop {
            let next_cycle = launches.peek().map(|(_, next)| next.first_cycle);
            // The first waiting op is final if the next launches start later.
            if let Some(first) = waiting.first_entry()
                && next_cycle.is_none_or(|next_cycle| first.get().start_cycle < next_cycle)
            {
                let ((_, number), mut op) = first.remove_entry();
                op.row = rows.assign(op.start_cycle, op.end_cycle);
                return Some((number, op));
            }
            let (number, launch) = launches.next()?;
            let program = (launch.op.chip_id, RunHostId(launch.op.run_host_id));
            let op = TraceOp::new(launch, metadata.get(&program).copied(), &clock);
            waiting.insert((op::order(&op), number), op);
        }
    })
}
