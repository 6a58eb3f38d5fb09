//! The part of the host's memory to which a chip writes, and the writes that are still on their way
//! to it.

use crate::dram::Dram;

/// Size in bytes of the host's memory to which a chip can write: one huge page.
pub(crate) const HOST_MEMORY_BYTES: u64 = 1 << 30;

/// A posted write to the host's memory: the chip does not wait for its completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PostedWrite {
    /// Cycle of the chip at which the PCIe controller has received the write.
    pub(crate) received_cycle: u64,
    /// First cycle of the chip at which a read of the host's memory returns the written words.
    pub(crate) landed_cycle: u64,
    /// Offset of the first byte in the host's memory, a multiple of 4.
    pub(crate) address: u64,
    pub(crate) words: Vec<u32>,
}

/// The huge page of host memory that one chip can access; writes may arrive out of order.
#[derive(Debug)]
pub(crate) struct HostHugePage {
    memory: Dram,
    in_flight: Vec<PostedWrite>,
    /// Cycle of the chip at which the host last read from the chip over PCIe.
    read_cycle: u64,
}

impl HostHugePage {
    pub(crate) fn new() -> Self {
        Self { memory: Dram::new(1, HOST_MEMORY_BYTES), in_flight: Vec::new(), read_cycle: 0 }
    }

    /// Adds writes that will arrive later.
    pub(crate) fn expect(&mut self, writes: impl Iterator<Item = PostedWrite>) {
        self.in_flight.extend(writes);
    }

    /// Records that the host has read from the chip at `chip_cycle`.
    ///
    /// All writes that the PCIe controller had received by then are in the host's memory, because
    /// the answer to a read does not overtake earlier writes.
    ///
    /// # Compatibility
    /// PCI Express: completions do not pass posted writes.
    pub(crate) fn note_read(&mut self, chip_cycle: u64) {
        self.read_cycle = self.read_cycle.max(chip_cycle);
    }

    /// Reads words at a cycle of the chip; returns `false` if the address range exceeds the memory.
    #[must_use]
    pub(crate) fn read(&mut self, address: u64, words: &mut [u32], chip_cycle: u64) -> bool {
        let read_cycle = self.read_cycle;
        let has_landed = |write: &mut PostedWrite| {
            write.landed_cycle <= chip_cycle || write.received_cycle <= read_cycle
        };
        for write in self.in_flight.extract_if(.., has_landed) {
            self.memory.write(0, write.address, &write.words);
        }
        self.memory.read(0, address, words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_seen_when_they_have_landed_or_before_the_answer_to_a_later_read() {
        let mut memory = HostHugePage::new();
        let write = |received_cycle, landed_cycle, address, word| PostedWrite {
            received_cycle,
            landed_cycle,
            address,
            words: vec![word],
        };
        memory
            .expect([write(10, 300, 0, 1), write(20, 200, 4, 2), write(30, 400, 8, 3)].into_iter());
        let seen = |memory: &mut HostHugePage, cycle| {
            let mut words = [0; 3];
            assert!(memory.read(0, &mut words, cycle));
            words
        };
        assert_eq!(seen(&mut memory, 199), [0, 0, 0]);
        assert_eq!(seen(&mut memory, 200), [0, 2, 0], "the second write has overtaken the first");
        memory.note_read(29);
        assert_eq!(seen(&mut memory, 250), [1, 2, 0]);
        memory.note_read(30);
        assert_eq!(seen(&mut memory, 251), [1, 2, 3]);
        assert!(!memory.read(HOST_MEMORY_BYTES - 4, &mut [0; 2], 500));
    }
}
