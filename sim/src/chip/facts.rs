//! Constants of one simulated chip, shared by all modules.

use crate::{
    arch::{
        Arch, TileCoord,
        floorplan::{CorePlace, Floorplan},
        translation::Translation,
    },
    modes::KernelModes,
};
use std::sync::Arc;
use wire::{CoreKind, control::ControlLayout};

/// Constants of one chip in a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChipFacts {
    /// Number of the chip in its mesh.
    pub chip_id: u32,
    /// Architecture.
    pub arch: Arch,
    /// Modes of the chip's kernels and firmware.
    pub modes: KernelModes,
    /// Length in words of one RISC's record buffer in DRAM, as compiled into kernels.
    pub lane_words: u32,
    /// Bytes reserved for the profiler in each DRAM bank.
    pub region_bytes: u64,
    /// Seed of the simulation.
    pub seed: u64,
    /// The chip's cores.
    pub plan: Arc<Floorplan>,
    /// Coordinate translation on the chip's NoCs.
    pub translation: Translation,
    /// The tile through which RISCs access the host's memory; `None` without a host.
    pub host_tile: Option<TileCoord>,
    /// Number of relays that write to the host's memory; they share the bandwidth of the PCIe link.
    pub host_writers: u32,
}

/// Returns the tile that gives access to the host's memory.
pub(crate) const fn host_tile(arch: Arch) -> TileCoord {
    match arch {
        Arch::WormholeB0 => TileCoord { x: 0, y: 3 },
        Arch::Blackhole => TileCoord { x: 2, y: 0 },
    }
}

/// Returns the address at which the host's memory begins in the address space of the PCIe tile.
///
/// # Compatibility
/// tt-isa-documentation, `WormholeB0/PCIExpressTile/README.md`; tt-metal, `NOC_XY_PCIE_ENCODING`.
pub(crate) const fn host_window(arch: Arch) -> u64 {
    match arch {
        Arch::WormholeB0 => 0x8_0000_0000,
        Arch::Blackhole => 1 << 60,
    }
}

/// Receiver of the NoC requests to a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A core with L1 and registers.
    Core(CorePlace),
    /// A tile through which other tiles access DRAM.
    Dram {
        /// Index of the tile's DRAM group.
        group: usize,
    },
    /// The tile that gives access to the host's memory.
    Host,
}

impl ChipFacts {
    /// Returns the L1 addresses of the control vector and of BRISC's record buffer on a core of
    /// this kind.
    #[must_use]
    pub fn profiler_addresses(&self, kind: CoreKind) -> (u64, u64) {
        match &self.modes.firmware {
            Some(set) if kind == CoreKind::Tensix => {
                (set.control_address().into(), set.vector_address().into())
            }
            _ => {
                let control = self.arch.facts().control_address(kind);
                (control, control + ControlLayout::WORDS64.size_bytes() as u64)
            }
        }
    }

    /// Returns true if `word_count` words at `address` are within a DRAM bank.
    #[must_use]
    pub const fn bank_holds(&self, address: u64, word_count: usize) -> bool {
        let end = address.saturating_add(4 * word_count as u64);
        address.is_multiple_of(4) && end <= self.arch.facts().bank_bytes
    }

    /// Returns the endpoint at a tile; `None` if the model has no endpoint there.
    #[must_use]
    pub fn endpoint(&self, tile: TileCoord) -> Option<Endpoint> {
        let cores = self.plan.cores();
        if let Ok(index) = cores.binary_search_by_key(&tile, |place| place.coord) {
            return Some(Endpoint::Core(cores[index]));
        }
        if self.host_tile == Some(tile) {
            return Some(Endpoint::Host);
        }
        let groups = self.arch.facts().dram_groups;
        let group = groups.iter().position(|tiles| tiles.contains(&tile))?;
        Some(Endpoint::Dram { group })
    }

    /// Returns the DRAM bank and the address within that bank for an address of a DRAM tile.
    #[must_use]
    pub fn bank_at(&self, tile: TileCoord, address: u64) -> Option<(u32, u64)> {
        let facts = self.arch.facts();
        let Some(Endpoint::Dram { group }) = self.endpoint(tile) else { return None };
        let banks_per_group = u64::from(facts.bank_count) / facts.dram_groups.len() as u64;
        let index_in_group = address / facts.bank_bytes;
        let bank = group as u64 * banks_per_group + index_in_group;
        let is_inside = index_in_group < banks_per_group;
        is_inside.then_some((u32::try_from(bank).ok()?, address % facts.bank_bytes))
    }
}
