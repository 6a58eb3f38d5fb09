//! One tile: its memory, its clock, and the host's view of both at a given time.
//!
//! A tile stores state and applies effects; other modules decide which code runs on it.

pub mod journal;
pub mod l1;

use crate::{
    arch::{ArchFacts, floorplan::CorePlace},
    clock::WallClock,
    random::Stream,
};
use journal::Journal;
use l1::L1;
use wire::{control::ControlLayout, vector::VECTOR_BYTES};

/// State of one tile.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Location and kind of the tile's core.
    pub place: CorePlace,
    /// Memory as the RISCs see it, including stores that the host cannot see yet.
    pub l1: L1,
    /// Wall clock registers.
    pub clock: WallClock,
    /// Journal of the stores that the host cannot see yet.
    pub journal: Journal,
    /// Chip cycle at which the host last wrote L1 of this tile.
    pub host_wrote_at: u64,
    /// Random numbers for the NoC latency of this tile's writes.
    pub noc_random: Stream,
    /// Random numbers for fault rules in this tile.
    pub fault_random: Stream,
    /// Cycle at which this tile's latest write to each DRAM bank lands. Writes from one tile to one
    /// bank never overtake each other.
    pub last_landing: Vec<u64>,
    /// Number of NoC requests that this tile has sent to other tiles.
    pub(crate) request_count: u64,
    /// Copy of the control vector (the words that host and profiler share), made when the latest
    /// launch began.
    pub stale_control: Vec<u32>,
    control_address: u64,
}

impl Tile {
    /// Creates a tile that has just left reset.
    #[must_use]
    pub fn new(facts: &ArchFacts, place: CorePlace, epoch: u64, seed: u64, chip_id: u32) -> Self {
        let (x, y) = (u64::from(place.coord.x), u64::from(place.coord.y));
        let stream = |purpose| Stream::new(seed, &[u64::from(chip_id), x, y, purpose]);
        Self {
            place,
            l1: L1::new(facts.l1_bytes(place.kind)),
            clock: WallClock::new(epoch),
            journal: Journal::default(),
            host_wrote_at: 0,
            noc_random: stream(1),
            fault_random: stream(2),
            last_landing: vec![0; facts.bank_count as usize],
            request_count: 0,
            stale_control: vec![0; ControlLayout::WORDS64.word_count],
            control_address: facts.control_address(place.kind),
        }
    }

    /// Sets the L1 address of the control vector (the words that host and profiler share), for
    /// firmware that does not use the default address.
    #[must_use]
    pub const fn with_control_address(mut self, control_address: u64) -> Self {
        self.control_address = control_address;
        self
    }

    /// Returns the L1 byte address of a word of the control vector.
    #[must_use]
    pub const fn control_word_address(&self, index: usize) -> u64 {
        self.control_address + 4 * index as u64
    }

    /// Returns the L1 byte address of a word of a RISC's record buffer.
    #[must_use]
    pub const fn vector_word_address(&self, risc_index: usize, index: usize) -> u64 {
        let first = self.control_address + ControlLayout::WORDS64.size_bytes() as u64;
        first + (risc_index * VECTOR_BYTES + 4 * index) as u64
    }

    /// Loads a word for a RISC of this tile.
    #[must_use]
    #[inline]
    pub fn load(&self, address: u64) -> u32 {
        self.l1.word(address)
    }

    /// Stores a word for a RISC of this tile at a chip cycle.
    #[inline]
    pub fn store(&mut self, address: u64, value: u32, chip_cycle: u64) {
        let before = self.l1.replace_word(address, value);
        self.journal.record(address, before, chip_cycle);
    }

    /// Reads words as the host sees them at a chip cycle; returns `false` if the range exceeds L1.
    #[must_use]
    pub fn host_read(&self, address: u64, words: &mut [u32], chip_cycle: u64) -> bool {
        let is_inside = self.l1.read_words(address, words);
        if is_inside {
            self.journal.take_back(address, words, chip_cycle);
        }
        is_inside
    }

    /// Writes words for the host at a chip cycle; returns `false` if the range exceeds L1.
    ///
    /// If the device has already overwritten a word at a later cycle, the device's value remains.
    pub fn host_write(&mut self, address: u64, words: &[u32], chip_cycle: u64) -> bool {
        if !self.l1.contains(address, words.len()) {
            return false;
        }
        self.host_wrote_at = chip_cycle;
        for (index, &word) in words.iter().enumerate() {
            let word_address = address + 4 * index as u64;
            if !self.journal.write_beneath(word_address, word, chip_cycle) {
                self.l1.replace_word(word_address, word);
            }
        }
        true
    }

    /// Returns the cycle at which a write of this tile that reaches a DRAM bank at `cycle` lands
    /// there: after all earlier writes of this tile to this bank.
    pub(crate) fn landing_cycle(&mut self, bank: u32, cycle: u64) -> u64 {
        let last = &mut self.last_landing[bank as usize];
        *last = cycle.max(*last + 1);
        *last
    }

    /// Saves a copy of the control vector, for fault rules that make the host read an old copy.
    pub fn remember_control(&mut self) {
        let is_inside = self.l1.read_words(self.control_address, &mut self.stale_control);
        debug_assert!(is_inside, "the profiler memory lies in L1");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{Arch, floorplan::Floorplan};

    fn tile() -> Tile {
        let plan = Floorplan::new(Arch::WormholeB0, &[], 0).unwrap();
        Tile::new(Arch::WormholeB0.facts(), plan.cores()[1], 0, 1, 0)
    }

    #[test]
    fn profiler_words_lie_behind_each_other() {
        let tile = tile();
        assert_eq!(tile.control_word_address(63) + 4, tile.vector_word_address(0, 0));
        assert_eq!(tile.vector_word_address(0, 511) + 4, tile.vector_word_address(1, 0));
    }

    #[test]
    fn writes_to_one_bank_land_in_their_order() {
        let mut tile = tile();
        let cycles = [100, 700, 200, 300].map(|cycle| tile.landing_cycle(3, cycle));
        assert_eq!(cycles, [100, 700, 701, 702]);
        assert_eq!(tile.landing_cycle(4, 200), 200);
    }

    #[test]
    fn the_host_sees_a_store_only_when_its_time_has_come() {
        let mut tile = tile();
        tile.store(0x100, 7, 50);
        tile.store(0x100, 8, 60);
        let seen = |cycle| {
            let mut word = [0];
            assert!(tile.host_read(0x100, &mut word, cycle));
            word[0]
        };
        assert_eq!((seen(49), seen(50), seen(59), seen(60)), (0, 7, 7, 8));
        assert_eq!(tile.load(0x100), 8);
    }

    #[test]
    fn a_host_write_does_not_undo_a_later_store_of_the_device() {
        let mut tile = tile();
        tile.store(0x100, 7, 50);
        assert!(tile.host_write(0x100, &[1, 2], 40));
        let mut words = [0; 2];
        assert!(tile.host_read(0x100, &mut words, 45));
        assert_eq!(words, [1, 2]);
        assert_eq!((tile.load(0x100), tile.load(0x104)), (7, 2));
        assert!(!tile.host_write(tile.l1.size_bytes(), &[1], 0));
    }
}
