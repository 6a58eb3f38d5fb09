//! Coordinates of cores and DRAM banks, in the formats that firmware and kernels read.

use crate::{
    arch::{Arch, TileCoord},
    chip::facts::ChipFacts,
};

/// Returns a core's coordinates on a NoC in the format of the NoC's registers: one byte each.
pub(crate) fn own_coordinates(chip: &ChipFacts, noc: usize, tile: TileCoord) -> u32 {
    let (x, y) = match chip.arch {
        Arch::WormholeB0 => chip.translation.mirrored(noc, tile.x, tile.y),
        Arch::Blackhole => chip.translation.logical(tile).unwrap_or((tile.x, tile.y)),
    };
    u32::from(x) | u32::from(y) << 8
}

/// Returns a bank's coordinates on a NoC in the format of the NoC's request initiators.
///
/// # Compatibility
/// `dram_bank_to_noc_xy`.
pub(crate) fn bank_coordinates(chip: &ChipFacts, noc: u32, bank: u32) -> u16 {
    let tile = chip.arch.facts().bank_tile(bank);
    let place = tile.and_then(|tile| chip.translation.dram(noc as usize, tile));
    let (x, y) = place.unwrap_or((0, 0));
    let coordinates = x | y << 6;
    match chip.arch {
        Arch::WormholeB0 => coordinates << 4,
        Arch::Blackhole => coordinates,
    }
}

/// Returns the offset that a kernel adds to an address in a DRAM bank to get the address in the
/// bank's tile. The firmware has a table of the offsets.
pub(crate) fn bank_offset(arch: Arch, bank: u32) -> u32 {
    u32::try_from(arch.facts().bank_offset(bank)).unwrap_or(0)
}
