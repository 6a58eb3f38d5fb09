//! Host accesses to a chip, and the time at which each takes effect.
//!
//! Every access first starts the launches that are due before the access ends. Then each word is
//! read or written at its own time within the access.

use super::Chip;
use crate::{
    arch::TileCoord,
    clock::Picoseconds,
    fault::{FaultEffect, HostReadPoint},
    host::AccessTime,
    riscv::NocRead,
    tile::Tile,
};
use std::sync::Arc;

/// Reason for a failed host access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreached {
    /// The core does not exist.
    NoSuchCore,
    /// The address range exceeds the memory.
    OutOfRange,
    /// The chip stopped answering.
    Lost,
}

impl Chip {
    /// Reads L1 for the host.
    pub(crate) fn host_read_l1(
        &mut self,
        coord: TileCoord,
        address: u64,
        words: &mut [u32],
        time: AccessTime,
    ) -> Result<(), Unreached> {
        let index = self.reached_core(coord, time.end)?;
        self.take_banks(index, (address, words.len()), time);
        self.see(index, time);
        self.host_memory.note_read(self.clock.cycles_at(time.first));
        let tile = self.cores[index].tile();
        let is_inside = if tile.journal.is_empty() {
            tile.l1.read_words(address, words)
        } else {
            read_word_by_word(tile, address, words, |word| self.clock.cycles_at(time.word(word)))
        };
        if !is_inside {
            return Err(Unreached::OutOfRange);
        }
        self.change_host_read(index, address, words, time);
        Ok(())
    }

    /// Applies the delays that a host's read of a core's L1 causes to accesses by that core's
    /// RISCs. The delays are the same as if another tile read the same bytes over the NoC.
    ///
    /// The host reads block after block, at the rate of its PCIe accesses. Only launches whose
    /// kernels may wait for the host can be delayed: other launches have already been simulated to
    /// their end.
    fn take_banks(&mut self, index: usize, (address, word_count): (u64, usize), time: AccessTime) {
        let is_running = self.cores[index].stage_mut().is_some();
        let range = u32::try_from(address).ok().zip(u32::try_from(4 * word_count).ok());
        let Some((address, byte_count)) = range.filter(|_| is_running && self.keeps_pace()) else {
            return;
        };
        let cycle = self.clock.cycles_at(time.first);
        let block = (BLOCK_BYTES / 4) as usize;
        let steps = self.clock.cycles_at(time.word(block)).saturating_sub(cycle).max(1);
        let step_cycles = u32::try_from(steps).unwrap_or(u32::MAX);
        let read = NocRead { cycle, address, byte_count, cycle_bytes: BLOCK_BYTES, step_cycles };
        let chip = Arc::clone(&self.facts);
        self.cores[index].with_devices(&chip, |_, devices| devices.noc_reads.push(read));
    }

    /// Runs the chip up to the end of a host access to the core with this index.
    fn see(&mut self, index: usize, time: AccessTime) {
        self.begin_until(time.end, time.first);
        let first_cycle = self.clock.cycles_at(time.first);
        self.cores[index].tile_mut().journal.see_until(first_cycle);
    }

    /// Reads the host's memory to which relays write.
    pub(crate) fn read_host_memory(
        &mut self,
        address: u64,
        words: &mut [u32],
        time: AccessTime,
    ) -> Result<(), Unreached> {
        self.begin_until(time.end, time.first);
        let cycle = self.clock.cycles_at(time.first);
        let is_inside = self.host_memory.read(address, words, cycle);
        is_inside.then_some(()).ok_or(Unreached::OutOfRange)
    }

    fn change_host_read(
        &mut self,
        index: usize,
        address: u64,
        words: &mut [u32],
        time: AccessTime,
    ) {
        if self.rules.is_empty() {
            return;
        }
        let tile = self.cores[index].tile();
        let core = tile.place.coord;
        let read = HostReadPoint {
            chip_id: self.facts.chip_id,
            core,
            address,
            control_address: tile.control_word_address(0),
            stale_control: &tile.stale_control,
        };
        let rules = Arc::clone(&self.rules);
        if let Some(rule) = rules.change_host_read(&read, words, &mut self.host_random) {
            let effect = FaultEffect::HostReadChanged { address, word_count: words.len() };
            let cycle = self.clock.cycles_at(time.first);
            self.log(&rule, Some(core), cycle, effect);
        }
    }

    /// Writes L1 for the host.
    pub(crate) fn host_write_l1(
        &mut self,
        coord: TileCoord,
        address: u64,
        words: &[u32],
        time: AccessTime,
    ) -> Result<(), Unreached> {
        let index = self.reached_core(coord, time.end)?;
        // Kernels that wait for the host must not run past the time at which its write arrives.
        let seen = if self.keeps_pace() { AccessTime { end: time.first, ..time } } else { time };
        self.see(index, seen);
        let chip_cycle = self.clock.cycles_at(time.first);
        let tile = self.cores[index].tile_mut();
        let is_inside = tile.host_write(address, words, chip_cycle);
        is_inside.then_some(()).ok_or(Unreached::OutOfRange)
    }

    /// Reads DRAM for the host.
    pub(crate) fn host_read_dram(
        &mut self,
        bank: u32,
        address: u64,
        words: &mut [u32],
        time: AccessTime,
    ) -> Result<(), Unreached> {
        if self.is_lost_at(time.end) {
            return Err(Unreached::Lost);
        }
        if !self.dram.contains(bank, address, words.len()) {
            return Err(Unreached::OutOfRange);
        }
        self.begin_until(time.end, time.first);
        let mut first = 0;
        for chunk in words.chunks_mut(DRAM_CHUNK_WORDS) {
            self.dram.land_until(self.clock.cycles_at(time.word(first)));
            let chunk_address = address + 4 * first as u64;
            first += chunk.len();
            if !self.dram.read(bank, chunk_address, chunk) {
                return Err(Unreached::OutOfRange);
            }
        }
        Ok(())
    }

    /// Reads a tile's wall clock for the host. Both words are from one clock value, so they match.
    pub(crate) fn host_read_clock(
        &mut self,
        coord: TileCoord,
        time: AccessTime,
    ) -> Result<u64, Unreached> {
        let index = self.reached_core(coord, time.end)?;
        self.begin_until(time.end, time.first);
        let chip_cycle = self.clock.cycles_at(time.first);
        Ok(self.cores[index].tile().clock.value(chip_cycle).0)
    }

    fn reached_core(&self, coord: TileCoord, at: Picoseconds) -> Result<usize, Unreached> {
        if self.is_lost_at(at) {
            return Err(Unreached::Lost);
        }
        self.core_index(coord).ok_or(Unreached::NoSuchCore)
    }
}

/// Bytes that one bank of L1 serves in one access.
const BLOCK_BYTES: u32 = 16;
/// Number of DRAM words that a host read copies at once. Before each copy, the simulator applies
/// the writes that have reached the DRAM by then.
const DRAM_CHUNK_WORDS: usize = 64;

fn read_word_by_word(
    tile: &Tile,
    address: u64,
    words: &mut [u32],
    cycle_of_word: impl Fn(usize) -> u64,
) -> bool {
    if !tile.l1.contains(address, words.len()) {
        return false;
    }
    let mut is_inside = true;
    for (index, word) in words.iter_mut().enumerate() {
        let word = std::slice::from_mut(word);
        is_inside &= tile.host_read(address + 4 * index as u64, word, cycle_of_word(index));
    }
    is_inside
}
