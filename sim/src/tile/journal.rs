//! Journal of stores that have been simulated but are still in the host's future.
//!
//! A launch is simulated to its end, or to the end of a host access, so a tile's memory is ahead of
//! the host's time. The journal remembers the old values of overwritten words. If the host
//! reads at a time before some of these stores, the journal undoes them in the words that the host
//! receives.

/// Overwritten words, in the order of the stores.
///
/// Stores before the host's next access are not recorded, so the journal costs nothing during a run
/// that the host does not interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    seen_until: u64,
    entries: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    address: u64,
    before: u32,
    chip_cycle: u64,
}

impl Journal {
    /// Sets the cycle before which the host will not access the tile.
    pub fn see_until(&mut self, chip_cycle: u64) {
        self.seen_until = chip_cycle;
        self.entries.retain(|entry| entry.chip_cycle > chip_cycle);
    }

    /// Records that a store at a cycle has overwritten the value `before`.
    #[inline]
    pub fn record(&mut self, address: u64, before: u32, chip_cycle: u64) {
        if chip_cycle > self.seen_until {
            self.entries.push(Entry { address, before, chip_cycle });
        }
    }

    /// Gives `words`, which were read from `address`, the values that they had at `chip_cycle`, by
    /// undoing all later stores.
    pub fn take_back(&self, address: u64, words: &mut [u32], chip_cycle: u64) {
        for entry in self.entries.iter().rev().filter(|entry| entry.chip_cycle > chip_cycle) {
            let index = entry.address.wrapping_sub(address) / 4;
            if let Some(word) = usize::try_from(index).ok().and_then(|at| words.get_mut(at)) {
                *word = entry.before;
            }
        }
    }

    /// Writes a word at a past cycle, so that all later stores to the word stay in effect. Returns
    /// `false` if there is no later store; the caller must then write the word to memory.
    pub fn write_beneath(&mut self, address: u64, value: u32, chip_cycle: u64) -> bool {
        let first = self
            .entries
            .iter_mut()
            .find(|entry| entry.address == address && entry.chip_cycle > chip_cycle);
        first.map(|entry| entry.before = value).is_some()
    }

    /// Returns true if no store is in the host's future.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert_eq, proptest};
    use std::collections::BTreeMap;

    #[test]
    fn only_stores_that_the_host_has_not_seen_are_kept() {
        let mut journal = Journal::default();
        journal.see_until(u64::MAX);
        journal.record(0, 1, 100);
        assert!(journal.is_empty());
        journal.see_until(10);
        journal.record(0, 1, 10);
        assert!(journal.is_empty());
        journal.record(0, 2, 11);
        journal.record(0, 3, 15);
        journal.see_until(12);
        let mut words = [9];
        journal.take_back(0, &mut words, 12);
        assert_eq!(words, [3]);
        journal.see_until(15);
        assert!(journal.is_empty());
    }

    proptest! {
        #[test]
        fn every_moment_between_stores_can_be_seen_again(
            stores in proptest::collection::vec((0_u64..8, 1_u32..100, 0_u64..3), 0..60),
        ) {
            let mut journal = Journal::default();
            let mut memory = [0_u32; 8];
            let mut history = BTreeMap::from([(0_u64, memory)]);
            let mut cycle = 0;
            for (slot, value, step) in stores {
                cycle += step;
                let word = &mut memory[usize::try_from(slot).unwrap()];
                journal.record(0x40 + 4 * slot, *word, cycle);
                *word = value;
                history.insert(cycle, memory);
            }
            for at in 0..=cycle {
                let mut seen = memory;
                journal.take_back(0x40, &mut seen, at);
                let last = history.range(..=at).next_back().map(|(_, words)| *words);
                prop_assert_eq!(Some(seen), last);
            }
        }
    }
}
