//! Reads of L1 over the NoC, which delay loads and stores of RISCs.
//!
//! The NoC has its own ports of L1, but each bank of L1 serves only one access of 16 bytes per
//! cycle. If the NoC reads the bank that a load or store needs, the load or store is therefore made
//! one cycle later.
//!
//! # Compatibility
//! Banks and ports: tt-isa-documentation, `WormholeB0/TensixTile/L1.md`. It is not documented which
//! addresses share a bank; the model assigns consecutive blocks of 16 bytes to consecutive banks.
//! On a chip, the NoC may also have to wait for a RISC's store; the model neglects this.

use std::collections::VecDeque;

/// Number of bytes that a bank serves per cycle.
const BLOCK_BYTES: u32 = 16;
const BANK_COUNT: u32 = 16;
/// Maximum number of reads that are remembered.
const READS_MAX: usize = 64;

/// Recent and future reads over the NoC.
#[derive(Clone, Debug, Default)]
pub(crate) struct NocReads {
    reads: VecDeque<NocRead>,
    /// First cycle after the end of all reads.
    until: u64,
}

/// A read of consecutive addresses of L1 over the NoC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NocRead {
    /// Cycle in which the first bytes are read.
    pub(crate) cycle: u64,
    /// First address.
    pub(crate) address: u32,
    /// Number of bytes.
    pub(crate) byte_count: u32,
    /// Number of bytes that each access reads.
    pub(crate) cycle_bytes: u32,
    /// Cycles from one access of this read to the next: 1, or more if the
    /// reader accepts less than one access per cycle.
    pub(crate) step_cycles: u32,
}

impl NocRead {
    const fn end(&self) -> u64 {
        self.cycle + self.byte_count.div_ceil(self.cycle_bytes) as u64 * self.step_cycles as u64
    }

    /// Returns true if the read occupies a bank in a cycle.
    fn takes(&self, bank: u32, cycle: u64) -> bool {
        if !(self.cycle..self.end()).contains(&cycle) {
            return false;
        }
        let (passed, step) = (cycle - self.cycle, u64::from(self.step_cycles));
        if !passed.is_multiple_of(step) {
            return false;
        }
        let per_cycle = self.cycle_bytes / BLOCK_BYTES;
        let passed = u32::try_from(passed / step).unwrap_or(0) * per_cycle;
        let first = self.address / BLOCK_BYTES + passed;
        bank.wrapping_sub(first) % BANK_COUNT < per_cycle
    }
}

impl NocReads {
    /// Adds a read.
    pub(crate) fn add(&mut self, read: NocRead) {
        self.until = self.until.max(read.end());
        if self.reads.len() == READS_MAX {
            self.reads.pop_front();
        }
        self.reads.push_back(read);
    }

    /// Returns the first cycle at or after `cycle` in which the NoC does not read the bank of an
    /// address.
    #[inline]
    pub(in super::super) fn free_from(&self, address: u32, cycle: u64) -> u64 {
        if cycle >= self.until { cycle } else { self.search(address, cycle) }
    }

    fn search(&self, address: u32, mut cycle: u64) -> u64 {
        let bank = address / BLOCK_BYTES;
        while self.reads.iter().any(|read| read.takes(bank, cycle)) {
            cycle += 1;
        }
        cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bank_is_taken_in_the_cycle_in_which_its_bytes_are_read() {
        let mut reads = NocReads::default();
        // 64 blocks, two per cycle, starting at bank 2: banks 2 and 3, then 4 and 5, and so on.
        reads.add(NocRead {
            cycle: 100,
            address: 0x1020,
            byte_count: 1024,
            cycle_bytes: 32,
            step_cycles: 1,
        });
        let free = |bank: u32, cycle| reads.free_from(0x4000 + 16 * bank, cycle);
        assert_eq!([free(2, 99), free(2, 100), free(2, 101)], [99, 101, 101]);
        assert_eq!([free(3, 100), free(4, 100), free(4, 101)], [101, 100, 102]);
        assert_eq!([free(2, 108), free(1, 131), free(2, 132), free(1, 132)], [109, 132, 132, 132]);
    }

    #[test]
    fn reads_that_follow_each_other_add_up() {
        let mut reads = NocReads::default();
        for cycle in [100, 101, 102] {
            reads.add(NocRead {
                cycle,
                address: 0,
                byte_count: 16,
                cycle_bytes: 64,
                step_cycles: 1,
            });
        }
        assert_eq!([reads.free_from(3, 100), reads.free_from(16 * 4, 100)], [103, 100]);
    }

    #[test]
    fn a_slow_reader_takes_a_bank_now_and_then() {
        let mut reads = NocReads::default();
        // Three blocks from bank 1 on, one every ten cycles.
        let (cycle_bytes, step_cycles) = (16, 10);
        reads.add(NocRead { cycle: 100, address: 0x10, byte_count: 48, cycle_bytes, step_cycles });
        let free = |bank: u32, cycle| reads.free_from(16 * bank, cycle);
        assert_eq!([free(1, 100), free(1, 101), free(2, 100)], [101, 101, 100]);
        assert_eq!([free(2, 110), free(3, 110), free(3, 120), free(4, 130)], [111, 110, 121, 130]);
    }
}
