//! What L1 and DRAM held during the ops of a recording.

use super::{AddedRecording, WriteError, table_files::TableFiles};
use ::memory::Usage;
use ::tables::{Memory, MemoryRow};
use recording::TraceFilter;
use wire::RunHostId;

/// What memory held during the ops of a recording, and the ops that are wanted.
#[derive(Clone, Copy, Debug)]
pub struct OpMemory<'r> {
    /// Memory during all ops of the recording: what one op allocates, later ones have.
    pub usage: &'r Usage,
    /// Filter with terms for chips and ops. Other terms leave out no op, because an op that did not
    /// run, such as one of the capture of a trace, has no time and no cores.
    pub filter: &'r TraceFilter,
}

/// Adds the rows of ops by chip, in the order of their launches.
pub(super) fn add(
    files: &mut TableFiles<Memory>,
    &AddedRecording { key, memory, .. }: &AddedRecording<'_, '_>,
) -> Result<(), WriteError> {
    let Some(OpMemory { usage, filter }) = memory else { return Ok(()) };
    for (index, op) in usage.ops.iter().enumerate() {
        let base_id = RunHostId(op.run_host_id).base();
        if filter.selects_device(op.chip_id) && filter.selects_op(base_id, op.name.as_deref()) {
            for row in usage.rows(index, None) {
                files.add(&MemoryRow { recording: key, ..row })?;
            }
        }
    }
    Ok(())
}

impl AddedRecording<'_, '_> {
    /// Returns all warnings about the recording as keys with counts: those of the trace, and what is
    /// not known of the memory of all ops. Counts of zero are left out.
    #[must_use]
    pub fn doubts(&self) -> Vec<(String, u64)> {
        let mut doubts = self.trace.doubts();
        let usage = self.memory.map(|memory| memory.usage);
        // Without any op, the recording was made without memory.
        if let Some(usage) = usage.filter(|usage| !usage.ops.is_empty()) {
            let unknown = [
                ("ops_without_buffers", usage.op_without_buffers_count),
                ("ops_without_launch_messages", usage.op_without_launch_count),
                ("ops_with_unreadable_buffers", usage.unreadable_count),
                ("buffers_never_seen", usage.unknown_buffer_count),
            ];
            let unknown = unknown.into_iter().filter(|&(_, count)| count > 0);
            doubts.extend(unknown.map(|(what, count)| (what.to_owned(), count)));
        }
        doubts
    }
}
