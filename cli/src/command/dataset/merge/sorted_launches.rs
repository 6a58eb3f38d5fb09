//! Launches of one recording, sorted by key in limited memory.

use host_reader::{
    packed_bytes::PackedMemory,
    packed_items::PackedItems,
    packed_numbers::{push, push_optional, take, take_optional},
};
use std::{cmp::Reverse, collections::BinaryHeap, slice::Iter, sync::Arc};

/// Key of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LaunchKey {
    /// Base id of the program: the id without the number of the chip.
    pub(super) program: u32,
    pub(super) trace_id: Option<u64>,
    pub(super) trace_replay: Option<u64>,
    /// Number of the launch among the launches with the same program, trace and replay.
    pub(super) launch: u64,
}

/// A launch on all chips of a host.
///
/// Its start is the earliest start on any chip, and its duration is the longest duration on any
/// chip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct HostLaunch {
    pub(super) key: LaunchKey,
    /// Number of the op's name in the table of names; `None` if the host did not report a name.
    pub(super) name: Option<u32>,
    pub(super) duration_ns: Option<u64>,
    pub(super) start_ns: u64,
    /// Maximum error of the chips' times after conversion to the host's clock, in nanoseconds;
    /// `None` if unknown.
    pub(super) bound_ns: Option<f64>,
}

impl HostLaunch {
    /// Merges the same launch on another chip of the host into this launch.
    fn add(&mut self, other: &Self) {
        let durations = self.duration_ns.zip(other.duration_ns);
        self.duration_ns = durations.map(|(known, duration)| known.max(duration));
        self.start_ns = self.start_ns.min(other.start_ns);
        let bounds = self.bound_ns.zip(other.bound_ns);
        self.bound_ns = bounds.map(|(one, other)| one.max(other));
    }

    fn push(&self, bytes: &mut Vec<u8>) {
        let LaunchKey { program, trace_id, trace_replay, launch } = self.key;
        push(bytes, program.into());
        push_optional(bytes, trace_id);
        push_optional(bytes, trace_replay);
        push(bytes, launch);
        push_optional(bytes, self.name.map(u64::from));
        push_optional(bytes, self.duration_ns);
        push(bytes, self.start_ns);
        push_optional(bytes, self.bound_ns.map(f64::to_bits));
    }

    fn take(bytes: &mut Iter<'_, u8>) -> Self {
        let index = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Self {
            key: LaunchKey {
                program: index(take(bytes)),
                trace_id: take_optional(bytes),
                trace_replay: take_optional(bytes),
                launch: take(bytes),
            },
            name: take_optional(bytes).map(index),
            duration_ns: take_optional(bytes),
            start_ns: take(bytes),
            bound_ns: take_optional(bytes).map(f64::from_bits),
        }
    }
}

/// Launches of a recording, sorted in blocks that are merged at the end.
pub(super) struct SortedLaunches {
    memory: Arc<PackedMemory>,
    pieces: Vec<PackedItems>,
    unsorted: Vec<HostLaunch>,
}

/// Number of launches in one sorted block.
const PIECE_LAUNCHES: usize = 1 << 14;

impl SortedLaunches {
    pub(super) fn new(memory: &Arc<PackedMemory>) -> Self {
        let (pieces, unsorted) = (Vec::new(), Vec::new());
        Self { memory: Arc::clone(memory), pieces, unsorted }
    }

    pub(super) fn push(&mut self, launch: HostLaunch) {
        self.unsorted.push(launch);
        if self.unsorted.len() >= PIECE_LAUNCHES {
            self.end_piece();
        }
    }

    fn end_piece(&mut self) {
        let mut launches = std::mem::take(&mut self.unsorted);
        launches.sort_by_key(|launch| launch.key);
        let mut piece = PackedItems::new(&self.memory);
        launches.iter().for_each(|launch| _ = piece.push(|bytes| launch.push(bytes)));
        self.pieces.push(piece);
    }

    /// Returns the launches, sorted by key. Launches with the same key on several chips are merged
    /// into one launch, with the op name from the first chip.
    pub(super) fn merged(mut self) -> PackedItems {
        self.end_piece();
        let mut merged = PackedItems::new(&self.memory);
        let mut launches = by_key(&self.pieces).map(|(_, launch)| launch).peekable();
        while let Some(mut launch) = launches.next() {
            while let Some(same) = launches.next_if(|next| next.key == launch.key) {
                launch.add(&same);
            }
            merged.push(|bytes| launch.push(bytes));
        }
        merged
    }
}

/// Merges several sorted lists into one, sorted by key.
///
/// The result contains each launch with the index of the launch's list. Launches with the same key
/// keep the order of the lists.
pub(super) fn by_key<'a>(
    lists: impl IntoIterator<Item = &'a PackedItems>,
) -> impl Iterator<Item = (usize, HostLaunch)> {
    let lists = lists.into_iter().map(|list| list.iter(HostLaunch::take).peekable());
    let mut lists: Vec<_> = lists.collect();
    let first = lists.iter_mut().enumerate();
    let first = first.filter_map(|(index, list)| Some(Reverse((list.peek()?.key, index))));
    let mut nexts: BinaryHeap<_> = first.collect();
    std::iter::from_fn(move || {
        let Reverse((_, index)) = nexts.pop()?;
        let list = lists.get_mut(index)?;
        let launch = list.next()?;
        nexts.extend(list.peek().map(|next| Reverse((next.key, index))));
        Some((index, launch))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(program: u32, start_ns: u64) -> HostLaunch {
        let key = LaunchKey { program, launch: 1, ..LaunchKey::default() };
        let duration_ns = (!start_ns.is_multiple_of(3)).then_some(start_ns % 100);
        HostLaunch { key, start_ns, duration_ns, ..HostLaunch::default() }
    }

    #[test]
    fn launches_of_many_pieces_are_sorted_and_those_of_several_chips_joined() {
        let folder = tempfile::tempdir().unwrap();
        for limit_bytes in [0, u64::MAX] {
            let memory = PackedMemory::new(limit_bytes, folder.path());
            let mut sorted = SortedLaunches::new(&memory);
            // Programs are added in descending order, first all programs of chip 0, then all of
            // chip 1.
            let count = 3 * u32::try_from(PIECE_LAUNCHES).unwrap() / 2;
            for chip in 0..2_u64 {
                for program in (0..count).rev() {
                    sorted.push(launch(program, u64::from(program) * 7 + chip));
                }
            }
            let merged = sorted.merged();
            let found: Vec<_> = by_key([&merged]).map(|(_, launch)| launch).collect();
            assert_eq!(found.len(), count as usize);
            for (program, found) in (0..).zip(found) {
                let first = u64::from(program) * 7;
                // If a chip has no duration, the duration of the host is unknown.
                let is_known = !first.is_multiple_of(3) && !(first + 1).is_multiple_of(3);
                let longest = (first % 100).max((first + 1) % 100);
                let expected = HostLaunch {
                    duration_ns: is_known.then_some(longest),
                    ..launch(program, first)
                };
                assert_eq!(found, expected);
            }
            memory.check().unwrap();
            assert_eq!(memory.written_bytes() > 0, limit_bytes == 0);
        }
    }
}
