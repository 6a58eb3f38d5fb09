//! What L1 and DRAM held during the ops of a recording.

use crate::{
    memory::{CallPlace, CallPlaces, RecordedOp, Usage},
    recording::Recording,
    tables::MemoryRow,
};
use std::collections::HashMap;

/// Returns the memory during the ops of a recording. `launches` are rows of its launch messages; without
/// them, circular buffers are unknown.
///
/// ```
/// use host_reader::{op_memory::usage_of, recording::Recording};
/// // No host has recorded buffers.
/// assert!(usage_of(&Recording::default(), Vec::new()).ops.is_empty());
/// ```
#[must_use]
pub fn usage_of(recording: &Recording, launches: Vec<MemoryRow<'static>>) -> Usage {
    let names = recording.op_names();
    let mut texts: HashMap<(u32, u32), String> = HashMap::new();
    for (chip_id, id, text) in &recording.buffers.texts {
        texts.insert((*chip_id, id.0), text.clone());
    }
    let places: CallPlaces = recording
        .calls
        .by_name()
        .map(|(name, call)| {
            let module = call.module().map(str::to_owned);
            (name.to_owned(), CallPlace { module, location: call.location() })
        })
        .collect();
    let ops = recording.ops.iter().filter(|op| op.run_host_id.base() != 0);
    let ops = ops.map(|op| RecordedOp {
        chip_id: op.chip_id,
        run_host_id: op.run_host_id.0,
        name: names.get(&(op.chip_id, op.run_host_id)).map(|&name| name.to_owned()),
        place: CallPlace {
            module: op.texts().module.map(str::to_owned),
            location: op.texts().call_location.map(str::to_owned),
        },
        buffers: texts.remove(&(op.chip_id, op.run_host_id.0)),
    });
    Usage::new(ops.collect(), launches, &places)
}
