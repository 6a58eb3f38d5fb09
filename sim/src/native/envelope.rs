//! Words of an envelope that all RISCs of a core write, in the order of their times.
//!
//! Native kernels of a launch run one after the other, each on a time line of its own. In
//! trace-only mode they speak to each other through a status word, and each end takes the place of
//! the one before. Here a RISC sees the status of its own time, and an earlier end never takes the
//! place of a later one, as if they ran at once.

use std::collections::BTreeMap;
use wire::{marker::MARKER_WORDS, vector};

/// History of the words in one launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Envelope {
    /// Status words by the cycle from which they stand.
    statuses: BTreeMap<u64, u32>,
    /// When each word of an end was last written.
    ends: BTreeMap<usize, u64>,
}

impl Envelope {
    /// Returns the status at a cycle; `None` if nobody has written it by then.
    pub(crate) fn status_at(&self, cycle: u64) -> Option<u32> {
        self.statuses.range(..=cycle).next_back().map(|(_, status)| *status)
    }

    /// Notes a status; returns the one that stands at last.
    pub(crate) fn set_status(&mut self, cycle: u64, before: u32, status: u32) -> u32 {
        if self.statuses.is_empty() {
            self.statuses.insert(0, before);
        }
        self.statuses.insert(cycle, status);
        self.statuses.values().next_back().copied().unwrap_or(status)
    }

    /// Returns true if a word of a vector may be written at a cycle: ends only by who is last.
    pub(crate) fn takes(&mut self, index: usize, cycle: u64) -> bool {
        let mut ends = [vector::MAIN_END, vector::CHILD_END].into_iter();
        if !ends.any(|end| (end..end + MARKER_WORDS).contains(&index)) {
            return true;
        }
        let last = self.ends.entry(index).or_default();
        let is_last = cycle >= *last;
        *last = (*last).max(cycle);
        is_last
    }
}
