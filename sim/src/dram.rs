//! DRAM banks, and the NoC writes that are in flight to them.

use crate::sparse_memory::SparseMemory;
use std::collections::BTreeMap;

/// A write to DRAM that has been issued and will be applied later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Cycle of the chip at which the words arrive in DRAM.
    pub chip_cycle: u64,
    /// Index of the target bank.
    pub bank: u32,
    /// Byte address in the bank, a multiple of 4.
    pub address: u64,
    /// The words to write.
    pub words: Vec<u32>,
}

/// The DRAM of one chip. Memory that has never been written takes no space and reads as zero.
///
/// ```
/// use sim::dram::{Dram, Landing};
/// let mut dram = Dram::new(12, 1 << 30);
/// dram.expect(Landing { chip_cycle: 100, bank: 3, address: 0x40, words: vec![7, 8] });
/// dram.land_until(99);
/// let mut words = [0; 2];
/// assert!(dram.read(3, 0x40, &mut words) && words == [0, 0]);
/// dram.land_until(100);
/// assert!(dram.read(3, 0x40, &mut words) && words == [7, 8]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dram {
    banks: Vec<SparseMemory<u32>>,
    bank_bytes: u64,
    in_flight: BTreeMap<(u64, u64), Landing>,
    issued_count: u64,
}

impl Dram {
    /// Creates banks filled with zeros.
    #[must_use]
    pub fn new(bank_count: u32, bank_bytes: u64) -> Self {
        let banks = vec![SparseMemory::default(); bank_count as usize];
        Self { banks, bank_bytes, in_flight: BTreeMap::new(), issued_count: 0 }
    }

    /// Returns true if the bank exists and contains `word_count` words from `address` on.
    #[must_use]
    pub fn contains(&self, bank: u32, address: u64, word_count: usize) -> bool {
        let bytes = (word_count as u64).saturating_mul(4);
        (bank as usize) < self.banks.len()
            && address.is_multiple_of(4)
            && address.saturating_add(bytes) <= self.bank_bytes
    }

    /// Adds a write that will be applied later. Writes with the same arrival cycle are applied in
    /// the order in which they were added.
    pub fn expect(&mut self, landing: Landing) {
        self.in_flight.insert((landing.chip_cycle, self.issued_count), landing);
        self.issued_count += 1;
    }

    /// Applies every write in flight that arrives at or before a cycle.
    pub fn land_until(&mut self, chip_cycle: u64) {
        while let Some(entry) = self.in_flight.first_entry() {
            if entry.key().0 > chip_cycle {
                return;
            }
            let landing = entry.remove();
            self.write(landing.bank, landing.address, &landing.words);
        }
    }

    /// Returns the cycle at which the last write in flight arrives; `None` if no write is in
    /// flight.
    #[must_use]
    pub fn quiet_from(&self) -> Option<u64> {
        self.in_flight.last_key_value().map(|(&(chip_cycle, _), _)| chip_cycle)
    }

    /// Reads words; returns `false` and copies nothing if the range exceeds the bank.
    #[must_use]
    pub fn read(&self, bank: u32, address: u64, words: &mut [u32]) -> bool {
        if !self.contains(bank, address, words.len()) {
            return false;
        }
        self.banks[bank as usize].read(address / 4, words);
        true
    }

    /// Reads words as of a future cycle: the current contents plus the writes that arrive by that
    /// cycle.
    #[must_use]
    pub fn read_at(&self, bank: u32, address: u64, words: &mut [u32], chip_cycle: u64) -> bool {
        if !self.read(bank, address, words) {
            return false;
        }
        let end = address + 4 * words.len() as u64;
        let landings = self.in_flight.range(..=(chip_cycle, u64::MAX));
        for landing in landings.map(|(_, landing)| landing).filter(|landing| landing.bank == bank) {
            let landing_end = landing.address.saturating_add(4 * landing.words.len() as u64);
            if landing.address >= end || landing_end <= address {
                continue;
            }
            for (at, &word) in (landing.address..).step_by(4).zip(&landing.words) {
                let index = at.wrapping_sub(address) / 4;
                if let Some(place) = usize::try_from(index).ok().and_then(|at| words.get_mut(at)) {
                    *place = word;
                }
            }
        }
        true
    }

    /// Writes words immediately; does nothing if the range exceeds the bank.
    pub fn write(&mut self, bank: u32, address: u64, words: &[u32]) {
        if !self.contains(bank, address, words.len()) {
            return;
        }
        self.banks[bank as usize].write(address / 4, words);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    #[test]
    fn writes_land_in_the_order_of_their_times() {
        let mut dram = Dram::new(1, 4096);
        let landing =
            |chip_cycle, word| Landing { chip_cycle, bank: 0, address: 0, words: vec![word] };
        for (cycle, word) in [(30, 3), (10, 1), (20, 2), (20, 9)] {
            dram.expect(landing(cycle, word));
        }
        assert_eq!(dram.quiet_from(), Some(30));
        let mut seen = Vec::new();
        for cycle in [9, 10, 20, 30] {
            dram.land_until(cycle);
            let mut word = [0];
            assert!(dram.read(0, 0, &mut word));
            seen.push(word[0]);
        }
        assert_eq!(seen, [0, 1, 9, 3]);
        assert_eq!(dram.quiet_from(), None);
    }

    #[test]
    fn what_will_have_landed_can_be_seen_before_it_has() {
        let mut dram = Dram::new(2, 4096);
        dram.write(1, 0x40, &[1, 2, 3, 4]);
        let landing = |chip_cycle, bank, address, words: &[u32]| Landing {
            chip_cycle,
            bank,
            address,
            words: words.to_vec(),
        };
        dram.expect(landing(20, 1, 0x48, &[8, 9]));
        dram.expect(landing(10, 1, 0x3C, &[5, 6]));
        dram.expect(landing(10, 0, 0x44, &[7]));
        let seen = |cycle| {
            let mut words = [0; 4];
            assert!(dram.read_at(1, 0x40, &mut words, cycle));
            words
        };
        assert_eq!([seen(9), seen(10), seen(20)], [[1, 2, 3, 4], [6, 2, 3, 4], [6, 2, 8, 9]]);
        assert!(!dram.read_at(2, 0, &mut [0], 9));
    }

    #[test]
    fn what_lies_outside_is_neither_read_nor_written() {
        let mut dram = Dram::new(2, 64);
        dram.write(2, 0, &[1]);
        dram.write(0, 64, &[1]);
        let mut words = [5; 2];
        for (bank, address) in [(2, 0), (0, 60), (0, 2), (0, u64::MAX - 3)] {
            assert!(!dram.read(bank, address, &mut words));
        }
        assert_eq!(words, [5; 2]);
        assert_eq!(dram, Dram::new(2, 64));
    }

    proptest! {
        #[test]
        fn reads_across_pages_equal_a_flat_memory(
            writes in proptest::collection::vec((0_usize..9000, 1_usize..5000), 0..8),
            from in 0_usize..9000, count in 0_usize..5000,
        ) {
            let mut dram = Dram::new(1, 4 * 16_384);
            let mut flat = vec![0_u32; 16_384];
            for (value, (start, length)) in (1..).zip(writes) {
                dram.write(0, 4 * start as u64, &vec![value; length]);
                flat[start..start + length].fill(value);
            }
            let mut words = vec![0; count];
            prop_assert!(dram.read(0, 4 * from as u64, &mut words));
            prop_assert_eq!(&words[..], &flat[from..from + count]);
        }
    }
}
