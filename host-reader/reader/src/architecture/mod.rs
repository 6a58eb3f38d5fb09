//! Constants of each architecture: grids, memories, clocks, addresses.
//!
//! Module [`floorplan`] determines which tiles of a particular chip remain after harvesting
//! (disabling whole rows or columns that have defective tiles).
//!
//! # Compatibility
//! The values come from `soc_descriptors/{wormhole_b0_80,blackhole_140}_arch.yaml`, the
//! architecture headers of tt-umd, and tt-isa-documentation.

#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "coordinates of grids that are constants"
)]

pub mod floorplan;
pub mod translation;

pub use crate::mesh::Noc0Coord as TileCoord;

use wire::CoreKind;

/// Address of the low word of a tile's wall clock; the same on both architectures, and on Tensix
/// and Ethernet tiles.
///
/// # Compatibility
/// `RISCV_DEBUG_REG_WALL_CLOCK_L` of `tensix.h`. A read of the low word has one side effect: the
/// tile stores a copy of the current high word. TT-Metal's own firmware reads the low word all the
/// time.
pub const WALL_CLOCK_LOW: u32 = 0xFFB1_21F0;
/// Address of the current high word of a tile's wall clock.
pub const WALL_CLOCK_HIGH: u32 = WALL_CLOCK_LOW + 4;
/// Address of the register that holds a tile's RISCs in reset.
///
/// # Compatibility
/// tt-isa-documentation, `TensixTile/SoftReset.md`.
pub const SOFT_RESET: u32 = 0xFFB1_21B0;

/// A family of chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    /// Wormhole B0.
    WormholeB0,
    /// Blackhole.
    Blackhole,
}

/// What is disabled (harvested) if a Tensix tile is defective: the tile's row or its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HarvestAxis {
    /// Whole rows.
    Rows,
    /// Whole columns.
    Columns,
}

/// All constants of an architecture.
#[derive(Debug)]
pub struct ArchFacts {
    /// Name of the architecture, as in the first line of a device log.
    pub name: &'static str,
    /// Number of columns and rows of the NoC grid.
    pub grid: (u16, u16),
    /// Columns with Tensix tiles.
    pub tensix_columns: &'static [u16],
    /// Rows with Tensix tiles.
    pub tensix_rows: &'static [u16],
    /// Whether a defective tile disables the tile's row or its column.
    pub harvest_axis: HarvestAxis,
    /// Rows or columns in the order of the bits of a harvest mask, lowest bit first.
    pub harvest_order: &'static [u16],
    /// Worker-core counts of the available products, in ascending order.
    pub worker_core_counts: &'static [u32],
    /// Ethernet tiles in channel order.
    pub ethernet: &'static [TileCoord],
    /// DRAM tiles; the tiles of one group share a memory.
    pub dram_groups: &'static [[TileCoord; 3]],
    /// Number of DRAM banks visible to software.
    pub bank_count: u32,
    /// Size of a DRAM bank, in bytes.
    pub bank_bytes: u64,
    /// Alignment of DRAM accesses, in bytes; also the size of the space that TT-Metal reserves at
    /// DRAM address 0 for memory barriers.
    pub dram_align_bytes: u64,
    /// Number of cores for which the profiler's DRAM region has space. Chips with and without
    /// harvested rows or columns have the same number.
    pub profiled_core_max: u32,
    /// Frequency of the tile clock under load, in MHz.
    pub aiclk_mhz: u32,
    /// L1 size of a Tensix tile, in bytes.
    pub tensix_l1_bytes: u64,
    /// L1 size of an Ethernet tile, in bytes.
    pub eth_l1_bytes: u64,
    /// Number of bytes that a NoC link transfers per cycle.
    pub noc_flit_bytes: u64,
    /// L1 address of the profiler's control vector on a Tensix tile.
    pub tensix_control_address: u64,
    /// L1 address of the profiler's control vector on an Ethernet tile whose link is connected.
    pub active_eth_control_address: u64,
    /// L1 address of the profiler's control vector on an Ethernet tile whose link is not connected.
    pub idle_eth_control_address: u64,
}

impl Arch {
    /// All architectures.
    pub const ALL: [Self; 2] = [Self::WormholeB0, Self::Blackhole];

    /// Returns the constants of this architecture.
    #[must_use]
    pub const fn facts(self) -> &'static ArchFacts {
        match self {
            Self::WormholeB0 => &WORMHOLE_B0,
            Self::Blackhole => &BLACKHOLE,
        }
    }

    /// Returns the architecture called `name`; `None` for an unknown name. Logs and options use
    /// these names.
    ///
    /// ```
    /// use reader::architecture::Arch;
    /// assert_eq!(Arch::from_name("blackhole"), Some(Arch::Blackhole));
    /// assert_eq!(Arch::from_name("grayskull"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|arch| arch.facts().name == name)
    }
}

impl std::fmt::Display for Arch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.facts().name)
    }
}

impl ArchFacts {
    /// Returns the L1 address of the profiler's control vector on a core of this kind.
    ///
    /// # Compatibility
    /// The Tensix addresses were obtained by compiling the mailbox structure of `dev_msgs.h` (June
    /// 2026). The Ethernet addresses are derived from the mailbox base in `dev_mem_map.h`. All of
    /// these addresses change whenever TT-Metal changes the mailbox structure. A reader must
    /// therefore use the addresses in the device's description instead.
    #[must_use]
    pub const fn control_address(&self, kind: CoreKind) -> u64 {
        match kind {
            CoreKind::Tensix => self.tensix_control_address,
            CoreKind::ActiveEth => self.active_eth_control_address,
            CoreKind::IdleEth => self.idle_eth_control_address,
        }
    }

    /// Returns the L1 size of a core of this kind, in bytes.
    #[must_use]
    pub const fn l1_bytes(&self, kind: CoreKind) -> u64 {
        match kind {
            CoreKind::Tensix => self.tensix_l1_bytes,
            CoreKind::ActiveEth | CoreKind::IdleEth => self.eth_l1_bytes,
        }
    }

    /// Returns the tile through which a DRAM bank is accessed; `None` beyond the last bank.
    ///
    /// A group of DRAM tiles has two banks on Wormhole and one bank on Blackhole.
    #[must_use]
    pub fn bank_tile(&self, bank: u32) -> Option<TileCoord> {
        let banks_per_group = self.banks_per_group();
        let group = self.dram_groups.get(bank as usize / banks_per_group)?;
        group.get(bank as usize % banks_per_group).copied()
    }

    /// Returns the start address of a DRAM bank in the address space of the bank's DRAM tile.
    ///
    /// Banks that share a group of DRAM tiles also share an address space.
    ///
    /// # Compatibility
    /// The start address equals `bank_to_dram_offset` in TT-Metal's firmware.
    #[must_use]
    pub const fn bank_offset(&self, bank: u32) -> u64 {
        (bank as usize % self.banks_per_group()) as u64 * self.bank_bytes
    }

    /// Returns two lists: the rows or columns with Tensix tiles that remain after harvesting, and
    /// the harvested rows or columns.
    fn tensix_lines(&self, axis: HarvestAxis, harvested: &[u16]) -> [Vec<u16>; 2] {
        let lines = match axis {
            HarvestAxis::Rows => self.tensix_rows,
            HarvestAxis::Columns => self.tensix_columns,
        };
        let is_cut = self.harvest_axis == axis;
        let (gone, left) = lines.iter().partition(|line| is_cut && harvested.contains(line));
        [left, gone]
    }

    const fn banks_per_group(&self) -> usize {
        let count = self.bank_count as usize / self.dram_groups.len();
        if count == 0 { 1 } else { count }
    }
}

const fn at(x: u16, y: u16) -> TileCoord {
    TileCoord { x, y }
}

const fn row_of<const N: usize>(xs: [u16; N], y: u16) -> [TileCoord; N] {
    let mut tiles = [at(0, y); N];
    let mut i = 0;
    while i < N {
        tiles[i].x = xs[i];
        i += 1;
    }
    tiles
}

const fn joined<const N: usize, const M: usize>(
    first: [TileCoord; N],
    second: [TileCoord; N],
) -> [TileCoord; M] {
    assert!(M == 2 * N);
    let mut tiles = [at(0, 0); M];
    let mut i = 0;
    while i < N {
        tiles[i] = first[i];
        tiles[N + i] = second[i];
        i += 1;
    }
    tiles
}

const WORMHOLE_ETH_COLUMNS: [u16; 8] = [9, 1, 8, 2, 7, 3, 6, 4];
const WORMHOLE_ETHERNET: [TileCoord; 16] =
    joined(row_of(WORMHOLE_ETH_COLUMNS, 0), row_of(WORMHOLE_ETH_COLUMNS, 6));

static WORMHOLE_B0: ArchFacts = ArchFacts {
    name: "wormhole_b0",
    grid: (10, 12),
    tensix_columns: &[1, 2, 3, 4, 6, 7, 8, 9],
    tensix_rows: &[1, 2, 3, 4, 5, 7, 8, 9, 10, 11],
    harvest_axis: HarvestAxis::Rows,
    harvest_order: &[11, 1, 10, 2, 9, 3, 8, 4, 7, 5],
    worker_core_counts: &[64, 72, 80],
    ethernet: &WORMHOLE_ETHERNET,
    dram_groups: &[
        [at(0, 0), at(0, 1), at(0, 11)],
        [at(0, 5), at(0, 6), at(0, 7)],
        [at(5, 0), at(5, 1), at(5, 11)],
        [at(5, 2), at(5, 9), at(5, 10)],
        [at(5, 3), at(5, 4), at(5, 8)],
        [at(5, 5), at(5, 6), at(5, 7)],
    ],
    bank_count: 12,
    bank_bytes: 1_073_741_824,
    dram_align_bytes: 32,
    profiled_core_max: 96,
    aiclk_mhz: 1000,
    tensix_l1_bytes: 1_499_136,
    eth_l1_bytes: 262_144,
    noc_flit_bytes: 32,
    tensix_control_address: 0xB00,
    active_eth_control_address: 0x3_E400,
    idle_eth_control_address: 0x26B0,
};

const BLACKHOLE_ETH_COLUMNS: [u16; 14] = [1, 16, 2, 15, 3, 14, 4, 13, 5, 12, 6, 11, 7, 10];
const BLACKHOLE_ETHERNET: [TileCoord; 14] = row_of(BLACKHOLE_ETH_COLUMNS, 1);

static BLACKHOLE: ArchFacts = ArchFacts {
    name: "blackhole",
    grid: (17, 12),
    tensix_columns: &[1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16],
    tensix_rows: &[2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    harvest_axis: HarvestAxis::Columns,
    harvest_order: &BLACKHOLE_ETH_COLUMNS,
    worker_core_counts: &[120, 130, 140],
    ethernet: &BLACKHOLE_ETHERNET,
    dram_groups: &[
        [at(0, 0), at(0, 1), at(0, 11)],
        [at(0, 2), at(0, 10), at(0, 3)],
        [at(0, 9), at(0, 4), at(0, 8)],
        [at(0, 5), at(0, 7), at(0, 6)],
        [at(9, 0), at(9, 1), at(9, 11)],
        [at(9, 2), at(9, 10), at(9, 3)],
        [at(9, 9), at(9, 4), at(9, 8)],
        [at(9, 5), at(9, 7), at(9, 6)],
    ],
    bank_count: 8,
    bank_bytes: 4_278_190_080,
    dram_align_bytes: 64,
    profiled_core_max: 154,
    aiclk_mhz: 1350,
    tensix_l1_bytes: 1_572_864,
    eth_l1_bytes: 524_288,
    noc_flit_bytes: 64,
    tensix_control_address: 0xB50,
    active_eth_control_address: 0x7B0,
    idle_eth_control_address: 0x7B0,
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use wire::{control::ControlLayout, vector::VECTOR_BYTES};

    #[test]
    fn kinds_of_tiles_never_share_a_place() {
        for arch in Arch::ALL {
            let facts = arch.facts();
            let tensix = facts
                .tensix_columns
                .iter()
                .flat_map(|&x| facts.tensix_rows.iter().map(move |&y| TileCoord { x, y }));
            let all: Vec<TileCoord> = tensix
                .chain(facts.ethernet.iter().copied())
                .chain(facts.dram_groups.iter().flatten().copied())
                .collect();
            let distinct: BTreeSet<_> = all.iter().collect();
            assert_eq!(distinct.len(), all.len(), "{arch}");
            assert!(all.iter().all(|tile| tile.x < facts.grid.0 && tile.y < facts.grid.1));
        }
    }

    #[test]
    fn counts_of_tiles_are_those_of_the_data_sheets() {
        for (arch, tensix, ethernet, dram) in
            [(Arch::WormholeB0, 80, 16, 18), (Arch::Blackhole, 140, 14, 24)]
        {
            let facts = arch.facts();
            assert_eq!(facts.tensix_columns.len() * facts.tensix_rows.len(), tensix);
            assert_eq!(facts.ethernet.len(), ethernet);
            assert_eq!(facts.dram_groups.len() * 3, dram);
            assert_eq!(facts.profiled_core_max as usize, tensix + ethernet);
        }
    }

    #[test]
    fn every_bank_has_a_tile_of_its_own() {
        for arch in Arch::ALL {
            let facts = arch.facts();
            let tiles: BTreeSet<_> = (0..facts.bank_count).map(|b| facts.bank_tile(b)).collect();
            assert!(!tiles.contains(&None));
            assert_eq!(tiles.len(), facts.bank_count as usize);
            assert_eq!(facts.bank_tile(facts.bank_count), None);
        }
    }

    #[test]
    fn the_profiler_memory_of_every_kind_of_core_lies_in_its_l1() {
        for arch in Arch::ALL {
            for kind in [CoreKind::Tensix, CoreKind::ActiveEth, CoreKind::IdleEth] {
                let facts = arch.facts();
                let address = facts.control_address(kind);
                let bytes = ControlLayout::WORDS64.size_bytes() + kind.risc_count() * VECTOR_BYTES;
                assert!(address.is_multiple_of(16));
                assert!(address + bytes as u64 <= facts.l1_bytes(kind));
            }
        }
    }
}
