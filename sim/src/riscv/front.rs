//! L1 interface shared by the five RISCs of a tile: access ports, and detection of writes to
//! decoded code.

use std::ops::Range;

use super::bus::INSTRUCTION_RAM_BASE;
use super::timing::{calendar::Calendar, noc_reads::NocRead};

/// L1 interface that the harts of a tile share. There is one per tile; every run of the tile's
/// harts borrows it.
#[derive(Clone, Debug, Default)]
pub struct L1Front {
    ports: [Calendar; 2],
    pub(super) watch: CodeWatch,
}

/// Access port of L1, through which a RISC's loads and stores go.
///
/// Two RISCs that use the same port delay each other. On Blackhole silicon, a store by T0 takes
/// 5.97 cycles if T0 alone uses its port. If T1 and T2, which share a port, store at the same time,
/// each store takes 10.4 cycles.
///
/// # Compatibility
/// Port assignment: tt-isa-documentation `WormholeB0/TensixTile/L1.md` (diagram). Cycles:
/// mesham/tt-sim, `docs/bh_arch.md` 3.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum L1Port {
    /// RISC B, RISC NC and RISC T0.
    Port2,
    /// RISC T1 and RISC T2.
    Port3,
}

impl L1Front {
    /// Creates an L1 interface with idle ports and no decoded code.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reports that something other than a hart has written to these addresses of L1 or instruction
    /// RAM. Harts then decode the code there again.
    ///
    /// Stores by the tile's own harts need not be reported. The call is cheap if no code at these
    /// addresses has been decoded.
    pub fn invalidate(&mut self, written: Range<u32>) {
        self.watch.overwrite(written);
    }

    /// Reports a read of L1 over the NoC, which delays loads and stores to the same banks.
    pub(crate) fn note_noc_read(&mut self, read: NocRead) {
        for port in &mut self.ports {
            port.noc_reads.add(read);
        }
    }

    /// Returns true if a read over the NoC takes the bank of an address in a cycle.
    pub(crate) fn is_read(&self, address: u32, cycle: u64) -> bool {
        self.ports[0].noc_reads.free_from(address, cycle) != cycle
    }

    #[inline(always)]
    pub(super) fn port(&mut self, port: L1Port) -> &mut Calendar {
        &mut self.ports[port as usize & 1]
    }
}

/// The set of addresses of decoded words, used to detect stores that overwrite decoded code.
///
/// There is one bit per word: with a coarser bit, stores to data next to code would count as stores
/// to the code, as for the data of probes. A store to decoded
/// code clears the whole set: self-modifying code is rare, and further stores to the same address
/// then cost nothing until the code runs again.
#[derive(Clone, Debug, Default)]
pub(super) struct CodeWatch {
    l1: WatchedWords,
    instruction_ram: WatchedWords,
    epoch: u64,
}

impl CodeWatch {
    /// Returns a number that changes whenever decoded code is overwritten.
    #[inline(always)]
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Records that the word at `pc` has been decoded.
    pub(super) fn cover(&mut self, pc: u32) {
        match pc.checked_sub(INSTRUCTION_RAM_BASE) {
            Some(offset) => self.instruction_ram.insert(offset),
            None => self.l1.insert(pc),
        }
    }

    /// Handles a store to L1; returns true, and changes the epoch, if the store has overwritten
    /// decoded code.
    #[inline(always)]
    pub(super) fn stored(&mut self, address: u32) -> bool {
        self.l1.spans(address) && self.strike(address)
    }

    #[cold]
    fn strike(&mut self, address: u32) -> bool {
        let epoch = self.epoch;
        self.overwrite(address..address.saturating_add(1));
        self.epoch != epoch
    }

    fn overwrite(&mut self, written: Range<u32>) {
        let base = INSTRUCTION_RAM_BASE;
        let in_ram = written.start.saturating_sub(base)..written.end.saturating_sub(base);
        if self.l1.intersects(&written) || self.instruction_ram.intersects(&in_ram) {
            self.l1.clear();
            self.instruction_ram.clear();
            self.epoch += 1;
        }
    }
}

/// A set of words in memory, and the bounds of their addresses.
#[derive(Clone, Debug, Default)]
struct WatchedWords {
    bits: Vec<u64>,
    /// Lowest byte address in the set.
    low: u32,
    /// Number of bytes from `low` to the end of the highest word in the set; 0 if the set is empty.
    length: u32,
}

impl WatchedWords {
    #[inline(always)]
    fn spans(&self, address: u32) -> bool {
        address.wrapping_sub(self.low) < self.length
    }

    fn insert(&mut self, address: u32) {
        let word = address as usize / 4;
        if word / 64 >= self.bits.len() {
            self.bits.resize(word / 64 + 1, 0);
        }
        self.bits[word / 64] |= 1 << (word % 64);
        let end = if self.length == 0 { 0 } else { self.low + self.length };
        self.low = if self.length == 0 { address } else { self.low.min(address) };
        self.length = end.max((address | 3) + 1) - self.low;
    }

    fn intersects(&self, range: &Range<u32>) -> bool {
        let start = range.start.max(self.low);
        let end = range.end.min(self.low + self.length);
        start < end && (start / 4..end.div_ceil(4)).any(|word| self.contains(word))
    }

    fn contains(&self, word: u32) -> bool {
        let bits = self.bits.get(word as usize / 64).copied().unwrap_or(0);
        bits >> (word % 64) & 1 != 0
    }

    fn clear(&mut self) {
        self.bits.clear();
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_were_decoded_count_as_code() {
        let mut watch = CodeWatch::default();
        watch.cover(0x100);
        watch.cover(0x200);
        assert!(!watch.stored(0x104));
        assert!(!watch.stored(0x0FF));
        assert!(!watch.stored(0x204));
        assert!(watch.stored(0x203));
        assert!(!watch.stored(0x203), "a hit forgets what was decoded");
        assert_eq!(watch.epoch(), 1);
    }

    #[test]
    fn a_write_from_outside_counts_if_it_overlaps_decoded_code() {
        let mut front = L1Front::new();
        front.watch.cover(0x100);
        front.invalidate(0..0x100);
        front.invalidate(0x104..u32::MAX);
        assert_eq!(front.watch.epoch(), 0);
        front.invalidate(0x101..0x102);
        assert_eq!(front.watch.epoch(), 1);
        front.watch.cover(INSTRUCTION_RAM_BASE + 8);
        front.invalidate(8..12);
        assert_eq!(front.watch.epoch(), 1);
        front.invalidate(INSTRUCTION_RAM_BASE..INSTRUCTION_RAM_BASE + 0x4000);
        assert_eq!(front.watch.epoch(), 2);
    }
}
