//! L1 in `kprof explain`: whether the tensors that the longest ops have in DRAM would fit into it.

use crate::{
    numbers::{counted, grouped},
    terminal::{LONGEST_NAME, printable},
};
use host_reader::{
    causes::OpCodeGroup,
    memory::{L1Room, Usage},
};
use serde::Serialize;

/// Maximum number of op codes that are looked at, those with the most time.
const MOST_OPS: usize = 3;
/// Least share of the kernels' time of an op code that is worth a sentence.
const LEAST_PERCENT: f64 = 10.0;

/// Tensors of an op code that lie in DRAM, and the room that L1 has for them.
#[derive(Debug, Serialize)]
pub(super) struct RoomInL1 {
    op: String,
    /// Share of the op code in the kernels' time.
    percent: f64,
    /// Launch with the least room: its chip and id.
    chip_id: u32,
    run_host_id: u32,
    tensor_count: u64,
    /// Bytes that the tensors would take in each bank of L1.
    needed_bytes: u64,
    /// Largest free piece of L1 on the fullest core.
    largest_free_bytes: u64,
    circular_buffer_bytes: Option<u64>,
    buffer_bytes: Option<u64>,
    outlived_bytes: u64,
    l1_bytes: Option<u64>,
    has_room: bool,
    pub(super) sentence: String,
}

/// Returns for the longest op codes of a recording whether their tensors in DRAM would fit into L1. Op
/// codes without tensors in DRAM, and those whose use of L1 is not wholly known, are left out.
pub(super) fn rooms(groups: &[OpCodeGroup], usage: &Usage) -> Vec<RoomInL1> {
    let mut longest: Vec<&OpCodeGroup> = groups.iter().collect();
    longest.sort_by(|one, other| other.duration_ns.total_cmp(&one.duration_ns));
    let longest = longest.into_iter().take(MOST_OPS);
    let longest = longest.filter(|group| group.percent >= LEAST_PERCENT);
    longest.filter_map(|group| room_of(group, usage)).collect()
}

fn room_of(group: &OpCodeGroup, usage: &Usage) -> Option<RoomInL1> {
    let own = (0..usage.ops.len())
        .filter(|index| usage.ops[*index].name.as_deref().is_some_and(|name| *name == *group.op));
    let rooms = own.filter_map(|index| usage.l1_room(index));
    let known = rooms.filter_map(|room| Some((room.l1().largest_free_bytes?, room)));
    let least =
        known.min_by_key(|(free, room)| i128::from(*free) - i128::from(room.needed_bytes()));
    let (largest_free_bytes, room) = least?;
    let has_room = room.has_room()?;
    let percent = group.percent;
    let sentence = sentence(&group.op, percent, &room, (largest_free_bytes, has_room));
    let L1Room { op, tensors, unknown_count, outlived_bytes } = &room;
    Some(RoomInL1 {
        op: group.op.to_string(),
        percent,
        chip_id: op.chip_id,
        run_host_id: op.run_host_id,
        tensor_count: tensors.len() as u64 + *unknown_count,
        needed_bytes: room.needed_bytes(),
        largest_free_bytes,
        circular_buffer_bytes: op.l1.circular_buffer_bytes,
        buffer_bytes: op.l1.buffer_bytes,
        outlived_bytes: *outlived_bytes,
        l1_bytes: op.l1.l1_bytes,
        has_room,
        sentence,
    })
}

fn sentence(op: &str, percent: f64, room: &L1Room<'_>, (free, has_room): (u64, bool)) -> String {
    let count = room.tensors.len() as u64 + room.unknown_count;
    let (largest, _) = room.tensors.first().copied().unwrap_or_default();
    let at_least = if room.unknown_count > 0 { "at least " } else { "" };
    let such_as = if count == 1 { "" } else { "such as " };
    let needs = format!(
        "{}, {percent:.1} % of the kernels' time: {} in DRAM, {such_as}{}, would take {at_least}{} bytes \
         of each L1 bank",
        printable(op, LONGEST_NAME),
        counted(count, "tensor", "tensors"),
        printable(largest, LONGEST_NAME),
        grouped(room.needed_bytes()),
    );
    let l1 = room.l1();
    if has_room {
        return format!(
            "{needs}, and fit: {} are free in one piece (memory_config=ttnn.L1_MEMORY_CONFIG)",
            grouped(free)
        );
    }
    let parts = [
        (l1.circular_buffer_bytes, "circular buffers"),
        (l1.buffer_bytes, "tensors"),
        (l1.reserved_bytes, "tt-metal"),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(bytes, what)| bytes.map(|bytes| format!("{what} {}", grouped(bytes))));
    let outlived = match room.outlived_bytes {
        0 => String::new(),
        bytes => format!("; {} of the tensors' bytes are of no use to a later op", grouped(bytes)),
    };
    format!(
        "{needs}, and do not fit: {} are free in one piece ({} of {}){outlived}",
        grouped(free),
        parts.collect::<Vec<_>>().join(", "),
        l1.l1_bytes.map_or_else(|| "an unknown size".to_owned(), grouped),
    )
}
