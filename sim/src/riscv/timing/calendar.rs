//! Calendar of the cycles in which an access port of L1 is busy.
//!
//! Harts that share a port run one after another, each for a number of cycles, so their requests
//! are not added in order of time. The calendar therefore remembers the recent past: a hart that
//! runs later can use a gap between the requests of a hart that ran before.

use super::noc_reads::NocReads;

/// Number of cycles that the calendar covers.
const WINDOW_CYCLES: u64 = 1024;
const WORD_COUNT: usize = (WINDOW_CYCLES / 64) as usize;
/// Maximum cycles from the end of a reservation beyond the window to the end of the window, after
/// the window has moved to include the reservation.
const LOOKAHEAD_CYCLES: u64 = 256;

/// Busy cycles of one port, as one bit per cycle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Calendar {
    /// First cycle of the window, a multiple of 64.
    first: u64,
    /// Busy bits: bit `c % 64` of word `c / 64 % WORD_COUNT` belongs to cycle `c`.
    words: [u64; WORD_COUNT],
    /// First cycle after all busy cycles.
    idle_from: u64,
    /// Reads of L1 over the NoC; they occupy banks of L1 but not this port.
    pub(crate) noc_reads: NocReads,
}

impl Calendar {
    /// Reserves `length` (at most 8) consecutive free cycles at or after `from` for an access to an
    /// address; returns the first of them.
    #[inline]
    pub(super) fn reserve_at(&mut self, address: u32, from: u64, length: u32) -> u64 {
        let from = self.noc_reads.free_from(address, from);
        self.reserve(from, length)
    }

    /// Reserves `length` (at most 8) consecutive free cycles at or after `from`; returns the first
    /// of them.
    ///
    /// A request for cycles before the window is granted at once, because their busy bits are no
    /// longer stored.
    #[inline]
    fn reserve(&mut self, from: u64, length: u32) -> u64 {
        if from < self.first {
            return from;
        }
        let start = if from >= self.idle_from { from } else { self.gap(from, length) };
        self.occupy(start, length);
        start
    }

    /// Returns the start of the first `length` consecutive free cycles at or after `from`.
    fn gap(&self, mut from: u64, length: u32) -> u64 {
        while from < self.idle_from {
            let free = !self.bits(from);
            let runs = (1..length).fold(free, |runs, shift| runs & free >> shift);
            if runs != 0 {
                return from + u64::from(runs.trailing_zeros());
            }
            // A gap at the end of these 64 cycles may continue in the next ones, so the next search
            // begins at that gap.
            from += u64::from(65 - length);
        }
        from
    }

    /// Returns the busy bits of the 64 cycles that begin with `from`; cycles after the window are
    /// free.
    fn bits(&self, from: u64) -> u64 {
        let shift = from % 64;
        let low = self.word(from) >> shift;
        let high = self.word(from + 64);
        if shift == 0 { low } else { low | high << (64 - shift) }
    }

    fn word(&self, cycle: u64) -> u64 {
        let in_window = cycle < self.first + WINDOW_CYCLES;
        if in_window { self.words[slot(cycle)] } else { 0 }
    }

    #[inline]
    fn occupy(&mut self, start: u64, length: u32) {
        let end = start + u64::from(length);
        if end > self.first + WINDOW_CYCLES {
            self.move_window(end);
        }
        let mask = (1_u64 << length) - 1;
        let shift = start % 64;
        self.words[slot(start)] |= mask << shift;
        if shift + u64::from(length) > 64 {
            self.words[slot(end)] |= mask >> (64 - shift);
        }
        self.idle_from = self.idle_from.max(end);
    }

    #[cold]
    fn move_window(&mut self, end: u64) {
        let first = (end + LOOKAHEAD_CYCLES - WINDOW_CYCLES) / 64 * 64;
        let forgotten = ((first - self.first) / 64).min(WORD_COUNT as u64);
        for word in 0..forgotten {
            self.words[slot(self.first + word * 64)] = 0;
        }
        self.first = first;
    }
}

/// Returns the index in `words` of the word that contains a cycle's bit.
#[inline(always)]
fn slot(cycle: u64) -> usize {
    (cycle / 64 % WORD_COUNT as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_request_takes_the_first_gap_that_is_long_enough() {
        let mut port = Calendar::default();
        assert_eq!(port.reserve(10, 5), 10);
        assert_eq!(port.reserve(18, 5), 18);
        assert_eq!(port.reserve(10, 5), 23);
        assert_eq!(port.reserve(10, 1), 15);
        assert_eq!(port.reserve(0, 5), 0);
        assert_eq!(port.reserve(4, 3), 5);
    }

    #[test]
    fn a_request_from_before_the_window_is_granted_at_once() {
        let mut port = Calendar::default();
        assert_eq!(port.reserve(1_000_000, 5), 1_000_000);
        assert_eq!(port.reserve(10, 5), 10);
        assert_eq!(port.reserve(10, 5), 10);
    }

    /// Finds a gap by testing cycle by cycle in an ordered set.
    fn naive(busy: &mut BTreeSet<u64>, from: u64, length: u32) -> u64 {
        let mut start = from;
        while (start..start + u64::from(length)).any(|cycle| busy.contains(&cycle)) {
            start += 1;
        }
        busy.extend(start..start + u64::from(length));
        start
    }

    proptest! {
        #[test]
        fn grants_equal_a_search_cycle_by_cycle(
            requests in prop::collection::vec((0_u64..300, 1_u32..6), 1..80),
        ) {
            let mut port = Calendar::default();
            let mut busy = BTreeSet::new();
            for (index, (offset, length)) in requests.into_iter().enumerate() {
                let from = index as u64 * 40 + offset;
                prop_assert_eq!(port.reserve(from, length), naive(&mut busy, from, length));
            }
        }
    }
}
