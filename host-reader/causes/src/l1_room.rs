//! Room in L1 for the tensors that ops have in DRAM, by what memory held while the ops ran.

use crate::{
    explanation::Explanation, finding::percent, op_code_group::OpCodeGroup, threshold::GROUP_TIME,
};
use analysis::words::{counted, grouped};
use memory::{L1Room, Usage};
use std::collections::HashMap;

/// Maximum number of op codes that are looked at, those with the most time.
const MOST_OPS: usize = 3;

/// Tensors of an op code that lie in DRAM, and the room that L1 has for them in the launch with the least
/// room.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RoomInL1 {
    /// Op code.
    pub op: String,
    /// Share of the op code in the kernels' time.
    pub percent: f64,
    /// Chip of the launch.
    pub chip_id: u32,
    /// Id of the launched program, with the chip encoded in it.
    pub run_host_id: u32,
    /// Path of the module whose call launched it; `None` if unknown.
    pub module: Option<String>,
    /// File and line of the call that launched it; `None` if unknown.
    pub location: Option<String>,
    /// Number of tensors in DRAM.
    pub tensor_count: u64,
    /// Bytes that the tensors would take in each bank of L1.
    pub needed_bytes: u64,
    /// Largest range of L1 that is free on every core.
    pub largest_free_bytes: u64,
    /// What would be free without the tensors that no later op has; `None` if there are none.
    pub largest_free_if_freed_bytes: Option<u64>,
    /// Bytes of circular buffers on the fullest core; `None` if unknown.
    pub circular_buffer_bytes: Option<u64>,
    /// Bytes of tensors and other buffers in L1; `None` if unknown.
    pub buffer_bytes: Option<u64>,
    /// Bytes of tensors in L1 that no later op has.
    pub outlived_bytes: u64,
    /// Bytes of L1; `None` if unknown.
    pub l1_bytes: Option<u64>,
    /// True if the tensors would fit.
    pub has_room: bool,
    /// Number of launches of the op code in the explained part whose tensors in DRAM would not fit.
    pub full_launch_count: u64,
    /// Number of launches of the op code in the explained part.
    pub launch_count: u64,
    /// All of this in words.
    pub sentence: String,
}

/// Launches of an op code, each with the memory of its op if that is known.
pub(crate) struct GroupLaunches<'a> {
    usage: &'a Usage,
    /// Index of the op in [`Usage::ops`], and time of the kernels in nanoseconds.
    launches: Vec<(Option<usize>, f64)>,
}

impl<'a> GroupLaunches<'a> {
    /// Finds the launches of an op code among those that an explanation covers.
    fn new(explanation: &Explanation, group: &OpCodeGroup, usage: &'a Usage) -> Self {
        let numbers = usage.ops.iter().enumerate();
        let numbers: HashMap<(u32, u32), usize> =
            numbers.map(|(index, op)| ((op.chip_id, op.run_host_id), index)).collect();
        let covered = explanation.covered.iter().filter_map(|index| explanation.ops.get(*index));
        let own = covered.filter(|op| op.name.as_ref() == Some(&group.op));
        let launches = own.map(|op| {
            let ns = op.kernel.and_then(|kernel| kernel.duration_ns).unwrap_or(0);
            (numbers.get(&(op.chip_id, op.run_host_id)).copied(), ns as f64)
        });
        Self { usage, launches: launches.collect() }
    }

    pub(crate) fn count(&self) -> usize {
        self.launches.len()
    }

    /// Returns how many launches have a property of their op's memory, and these launches' share of
    /// the time of all.
    pub(crate) fn share(&self, has: impl Fn(usize) -> bool) -> (usize, f64) {
        let has = |op: &Option<usize>| op.is_some_and(&has);
        let own = self.launches.iter().filter(|(op, _)| has(op));
        let ns: f64 = own.clone().map(|(_, ns)| ns).sum();
        (own.count(), percent(ns, self.launches.iter().map(|(_, ns)| ns).sum()))
    }

    /// Returns the room of the launch with the least room for its tensors in DRAM; `None` if no launch has
    /// such tensors and a known room.
    pub(crate) fn least_room(&self) -> Option<(usize, L1Room<'a>, bool)> {
        let rooms = self.ops().filter_map(|op| {
            let room = self.usage.l1_room(op)?;
            let free = i128::from(room.largest_free_bytes?);
            let left = free.saturating_sub(room.needed_bytes().into());
            Some((left, op, room))
        });
        let (_, op, room) = rooms.min_by_key(|(left, ..)| *left)?;
        let has_room = room.has_room()?;
        Some((op, room, has_room))
    }

    /// Returns the bytes of circular buffers on a core, and the largest range that is free on cores which the
    /// op leaves idle, of the launch in which the latter has least in excess; `None` if both are unknown of
    /// all launches.
    pub(crate) fn least_idle_room(&self) -> Option<(u64, u64)> {
        let rooms = self.ops().filter_map(|op| self.usage.idle_core_room(op));
        rooms.min_by_key(|(needed, free)| i128::from(*free).saturating_sub((*needed).into()))
    }

    /// Returns true if the tensors that an op has in DRAM are known not to fit into L1.
    pub(crate) fn is_full(&self, op: usize) -> bool {
        self.usage.l1_room(op).is_some_and(|room| room.has_room() == Some(false))
    }

    /// Returns the indices of the ops in [`Usage::ops`], each once.
    fn ops(&self) -> impl Iterator<Item = usize> + use<> {
        let known = self.launches.iter().filter_map(|(op, _)| *op);
        known.collect::<std::collections::BTreeSet<usize>>().into_iter()
    }
}

/// Returns the launches of the longest op codes that take a large part of the kernels' time.
pub(crate) fn longest_groups<'e, 'u>(
    explanation: &'e Explanation,
    usage: &'u Usage,
) -> Vec<(&'e OpCodeGroup, GroupLaunches<'u>)> {
    let mut longest: Vec<&OpCodeGroup> = explanation.groups.iter().collect();
    longest.sort_by(|one, other| other.duration_ns.total_cmp(&one.duration_ns));
    let longest = longest.into_iter().take(MOST_OPS);
    let longest = longest.filter(|group| group.percent >= GROUP_TIME.value);
    longest.map(|group| (group, GroupLaunches::new(explanation, group, usage))).collect()
}

/// Returns whether the tensors that an op code has in DRAM would fit into L1. `None` if it has none, or if
/// its use of L1 is not wholly known.
pub(crate) fn room_of(group: &OpCodeGroup, launches: &GroupLaunches<'_>) -> Option<RoomInL1> {
    let (_, room, has_room) = launches.least_room()?;
    let largest_free_bytes = room.largest_free_bytes?;
    let (full_count, _) = launches.share(|op| launches.is_full(op));
    let full = (full_count, launches.count());
    let op = room.op;
    Some(RoomInL1 {
        op: group.op.clone(),
        percent: group.percent,
        chip_id: op.chip_id,
        run_host_id: op.run_host_id,
        module: op.place.module.clone(),
        location: op.place.location.clone(),
        tensor_count: tensor_count(&room),
        needed_bytes: room.needed_bytes(),
        largest_free_bytes,
        largest_free_if_freed_bytes: room.largest_free_if_freed_bytes,
        circular_buffer_bytes: op.l1.circular_buffer_bytes,
        buffer_bytes: op.l1.buffer_bytes,
        outlived_bytes: room.outlived_bytes,
        l1_bytes: op.l1.l1_bytes,
        has_room,
        full_launch_count: full_count as u64,
        launch_count: launches.count() as u64,
        sentence: sentence(group, &room, (largest_free_bytes, has_room), full),
    })
}

fn tensor_count(room: &L1Room<'_>) -> u64 {
    (room.tensors.len() as u64).saturating_add(room.unknown_count)
}

/// Returns what the tensors in DRAM would take, such as `2 tensors in DRAM, such as [32, 64] BFLOAT16 TILE,
/// would take 4,096 bytes of each L1 bank`.
pub(crate) fn needs(room: &L1Room<'_>) -> String {
    let count = tensor_count(room);
    let at_least = if room.unknown_count > 0 { "at least " } else { "" };
    let such_as = if count == 1 { "" } else { "such as " };
    let largest = room.tensors.first().map_or("", |tensor| tensor.content);
    format!(
        "{} in DRAM, {such_as}{largest}, would take {at_least}{} bytes of each L1 bank",
        counted(count, "tensor", "tensors"),
        grouped(room.needed_bytes()),
    )
}

/// Returns what is in L1 on the fullest core, such as `circular buffers 8,192, tensors 4,096, tt-metal
/// 105,824 of 1,499,136`.
pub(crate) fn contents(room: &L1Room<'_>) -> String {
    let l1 = room.l1();
    let parts = [
        (l1.circular_buffer_bytes, "circular buffers"),
        (l1.buffer_bytes, "tensors"),
        (l1.reserved_bytes, "tt-metal"),
    ];
    let parts = parts
        .into_iter()
        .filter_map(|(bytes, what)| bytes.map(|bytes| format!("{what} {}", grouped(bytes))));
    let whole = l1.l1_bytes.map_or_else(|| "an unknown size".to_owned(), grouped);
    format!("{} of {whole}", parts.collect::<Vec<_>>().join(", "))
}

fn sentence(
    group: &OpCodeGroup,
    room: &L1Room<'_>,
    (free, has_room): (u64, bool),
    (full, all): (usize, usize),
) -> String {
    let needs =
        format!("{}, {:.1} % of the kernels' time: {}", group.op, group.percent, needs(room));
    let free = format!("{} are free in one piece", grouped(free));
    if has_room {
        return format!("{needs}, and fit: {free} (memory_config=ttnn.L1_MEMORY_CONFIG)");
    }
    let outlived = match room.outlived_bytes {
        0 => String::new(),
        bytes => format!("; {} of the tensors' bytes are of no use to a later op", grouped(bytes)),
    };
    let count = match all {
        1 => String::new(),
        all => format!(" in {full} of {all} launches"),
    };
    format!("{needs}, and do not fit{count}: {free} ({}){outlived}", contents(room))
}
