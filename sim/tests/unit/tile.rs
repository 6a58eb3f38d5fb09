//! A tile with plain memory, and with registers that a test supplies.
//!
//! The parent module imports `Bus`, `Refusal`, `Region`, `StoreResult` and `Width`.

use super::{Bus, Refusal, Region, StoreResult, Width};

/// Memory of one RISC, and registers.
pub(crate) struct Tile<R> {
    pub(crate) l1: Vec<u8>,
    pub(crate) local: Vec<u8>,
    pub(crate) instruction_ram: Vec<u8>,
    pub(crate) registers: R,
}

/// Registers of a tile, implemented by a test.
pub(crate) trait Registers {
    fn load(&mut self, address: u32, width: Width, cycle: u64) -> Result<u32, Refusal>;

    /// Stores a word at a cycle; `l1` is the tile's L1.
    fn store(&mut self, l1: &[u8], address: u32, value: (Width, u32), cycle: u64) -> StoreResult;
}

impl<R: Registers> Bus for Tile<R> {
    fn l1(&self) -> &[u8] {
        &self.l1
    }
    fn l1_mut(&mut self) -> &mut [u8] {
        &mut self.l1
    }
    fn local_ram(&self) -> &[u8] {
        &self.local
    }
    fn local_ram_mut(&mut self) -> &mut [u8] {
        &mut self.local
    }
    fn instruction_ram(&self) -> &[u8] {
        &self.instruction_ram
    }
    fn region(&self, address: u32) -> Option<Region> {
        Region::in_tensix_tile(address)
    }
    fn mmio_load(&mut self, address: u32, width: Width, cycle: u64) -> Result<u32, Refusal> {
        self.registers.load(address, width, cycle)
    }
    fn mmio_store(&mut self, address: u32, width: Width, value: u32, cycle: u64) -> StoreResult {
        self.registers.store(&self.l1, address, (width, value), cycle)
    }
}
