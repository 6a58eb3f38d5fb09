//! The chip that ttsim simulates, as a device for a host reader.
//!
//! # Model
//! - Time passes on the chip only when the host accesses the chip. Each access advances the chip by
//!   [`ACCESS_CLOCKS`] clocks unless configured otherwise, so the chip makes progress while a host
//!   polls it.
//! - All tiles have the same clock. Each RISC executes one instruction per clock, so cycle counts
//!   from ttsim have no meaning.

use crate::{
    protocol::Tile,
    simulator::{Simulator, TtsimError},
};
use reader::mesh::{
    AccessError, AccessResult, CoreDescription, Device, DeviceDescription, Memory, Mesh, Noc0Coord,
    WordRange,
};
use sim::arch::{Arch, WALL_CLOCK_HIGH, WALL_CLOCK_LOW, translation::Translation};

/// Default number of clocks by which each host access advances the chip.
pub const ACCESS_CLOCKS: u32 = 100;

/// A chip that ttsim simulates, as a device for a host reader.
#[derive(Debug)]
pub struct TtsimDevice {
    pub(crate) simulator: Simulator,
    description: DeviceDescription,
    arch: Arch,
    access_clocks: u32,
}

impl TtsimDevice {
    /// Creates a device from a simulator and the description of its chip.
    #[must_use]
    pub const fn new(simulator: Simulator, description: DeviceDescription) -> Self {
        let (arch, access_clocks) = (simulator.arch(), ACCESS_CLOCKS);
        Self { simulator, description, arch, access_clocks }
    }

    /// Returns the simulator.
    pub const fn simulator(&mut self) -> &mut Simulator {
        &mut self.simulator
    }

    /// Sets the number of clocks by which each access advances the chip; at least 1 is used.
    pub const fn set_access_clocks(&mut self, clocks: u32) {
        self.access_clocks = if clocks == 0 { 1 } else { clocks };
    }

    /// Converts a duration in nanoseconds to clocks of the chip.
    pub(crate) fn clocks(&self, duration_ns: u64) -> u64 {
        duration_ns.saturating_mul(self.description.aiclk_mhz.into()) / 1000
    }

    fn core(&self, coord: Noc0Coord) -> Option<&CoreDescription> {
        self.description.cores.iter().find(|core| core.noc0 == coord)
    }

    fn range(&self, memory: Memory, address: u64, word_count: usize) -> WordRange {
        WordRange { chip_id: self.description.chip_id, memory, address, word_count }
    }

    /// Returns the tile of a core; an error if the range of words is not within the core's L1.
    fn l1(&self, coord: Noc0Coord, address: u64, word_count: usize) -> Result<Tile, AccessError> {
        let range = self.range(Memory::L1(coord), address, word_count);
        let core = self.core(coord).ok_or_else(|| range.nowhere())?;
        range.first_word_below(self.arch.facts().l1_bytes(core.kind))?;
        Ok(tile(coord))
    }

    fn lost(&self, error: &TtsimError) -> AccessError {
        let chip_id = self.description.chip_id;
        AccessError::Unreachable { chip_id, reason: error.to_string() }
    }
}

impl Device for TtsimDevice {
    fn description(&self) -> &DeviceDescription {
        &self.description
    }

    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult {
        let tile = self.l1(core, address, words.len())?;
        let read = self.simulator.advance(self.access_clocks);
        let read = read.and_then(|()| self.simulator.read_words(tile, address, words));
        read.map_err(|error| self.lost(&error))
    }

    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult {
        let tile = self.l1(core, address, words.len())?;
        let written = self.simulator.advance(self.access_clocks);
        let written = written.and_then(|()| self.simulator.write_words(tile, address, words));
        written.map_err(|error| self.lost(&error))
    }

    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult {
        let range = self.range(Memory::Dram(bank), address, words.len());
        let (tile, offset) = bank_place(self.arch, bank).ok_or_else(|| range.outside())?;
        range.first_word_below(self.arch.facts().bank_bytes)?;
        let read = self.simulator.advance(self.access_clocks);
        let read = read.and_then(|()| self.simulator.read_words(tile, offset + address, words));
        read.map_err(|error| self.lost(&error))
    }

    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError> {
        let range = self.range(Memory::WallClock(core), 0, 2);
        self.core(core).ok_or_else(|| range.nowhere())?;
        let mut halves = [0; 2];
        let read = self.simulator.advance(self.access_clocks).and_then(|()| {
            // The chip does not advance between the two reads.
            let (low, high) = halves.split_at_mut(1);
            self.simulator.read_words(tile(core), WALL_CLOCK_LOW.into(), low)?;
            self.simulator.read_words(tile(core), WALL_CLOCK_HIGH.into(), high)
        });
        read.map_err(|error| self.lost(&error))?;
        Ok(u64::from(halves[0]) | u64::from(halves[1]) << 32)
    }

    fn host_time_ns(&mut self) -> u64 {
        self.simulator.clock().saturating_mul(1000) / u64::from(self.description.aiclk_mhz.max(1))
    }

    fn wait_ns(&mut self, duration_ns: u64) {
        let clocks = self.clocks(duration_ns);
        // If ttsim refuses something meanwhile, the next access reports it.
        let _ = self.simulator.advance(u32::try_from(clocks).unwrap_or(u32::MAX));
    }
}

/// The mesh has one chip, since the library simulates one chip.
impl Mesh for TtsimDevice {
    fn device_count(&self) -> usize {
        1
    }

    fn device(&mut self, index: usize) -> Option<&mut dyn Device> {
        (index == 0).then_some(self as &mut dyn Device)
    }
}

/// Returns a core's tile.
pub(crate) fn tile(coord: Noc0Coord) -> Tile {
    let [x, y] = [coord.x, coord.y].map(|part| u8::try_from(part).unwrap_or(u8::MAX));
    Tile { x, y }
}

/// Returns the tile of a DRAM bank and the start address of the bank in that tile. Host windows and
/// NoC command buffers use these tile coordinates.
fn bank_place(arch: Arch, bank: u32) -> Option<(Tile, u64)> {
    let facts = arch.facts();
    let (x, y) = Translation::new(arch, &[]).dram(0, facts.bank_tile(bank)?)?;
    Some((tile(Noc0Coord { x, y }), facts.bank_offset(bank)))
}
