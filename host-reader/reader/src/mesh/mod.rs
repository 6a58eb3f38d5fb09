//! Traits for a host's access to a mesh of chips: the only interface to hardware.
//!
//! A back end (simulator, capture file, kernel driver) implements [`Mesh`] and
//! [`Device`]; everything else in this crate uses them. This module does not interpret the
//! words.

mod image;
mod memory;
mod selection;

pub use image::{DeviceImage, MeshImage};
pub use memory::{Memory, WordRange};
pub use selection::CoreSelection;

use crate::clock::EthernetPing;
use wire::{
    CoreKind,
    dram::{DramGeometry, GeometryError},
};

/// A coordinate on a chip's NoC-0 grid, as printed in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Noc0Coord {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
}

impl std::fmt::Display for Noc0Coord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({},{})", self.x, self.y)
    }
}

/// A coordinate in the grid of usable worker cores, counted from 0 without harvested rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalCoord {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
}

/// A core that can be profiled, and where its profiler memory lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreDescription {
    /// Coordinate on the NoC-0 grid; identifies the core in every call.
    pub noc0: Noc0Coord,
    /// Coordinate among cores of the same kind.
    pub logical: LogicalCoord,
    /// Kind of the core.
    pub kind: CoreKind,
    /// Number of the core on its chip: cores ordered by NoC-0 x, then y.
    pub flat_id: u32,
    /// L1 byte address of the control vector.
    pub control_address: u64,
    /// L1 byte address of the first RISC's vector; the others follow without gaps.
    pub vector_address: u64,
}

/// The DRAM that a chip keeps for profiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramDescription {
    /// Banks over which the cores are dealt.
    pub bank_count: u32,
    /// Byte address of the profiler region, equal in every bank.
    pub region_address: u64,
    /// Bytes kept for the region in each bank.
    pub region_bytes: u64,
}

/// Description of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceDescription {
    /// Number of the chip in its mesh.
    pub chip_id: u32,
    /// Lower-case name of the architecture, such as `wormhole_b0`.
    pub arch: String,
    /// Clock of the tiles in MHz.
    pub aiclk_mhz: u32,
    /// Size of the worker grid, as printed in a device log's first line.
    pub max_compute_cores: u32,
    /// Every core that can be profiled, ordered by flat id.
    pub cores: Vec<CoreDescription>,
    /// Where markers are pushed to.
    pub dram: DramDescription,
}

impl DeviceDescription {
    /// Where the markers of this chip's cores lie in DRAM.
    ///
    /// # Errors
    /// If the chip has no cores or banks, or the count needs more than 4 GiB per bank.
    pub fn geometry(
        &self,
        program_support_count: u32,
        sums_enabled: bool,
    ) -> Result<DramGeometry, GeometryError> {
        let after_last = |core: &CoreDescription| core.flat_id.saturating_add(1);
        let core_count = self.cores.iter().map(after_last).max().unwrap_or(0);
        DramGeometry::new(program_support_count, sums_enabled, core_count, self.dram.bank_count)
    }
}

/// Why an access to a chip failed.
///
/// Captures assign a code to each of these; a new kind needs a new code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AccessError {
    /// There is no such core on this chip.
    #[error("chip {chip_id} has no core at {core}")]
    NoSuchCore {
        /// The chip.
        chip_id: u32,
        /// The requested coordinate.
        core: Noc0Coord,
    },
    /// The range leaves the memory that was named.
    #[error("chip {chip_id}, {memory}: {word_count} words at {address:#x} lie outside of it")]
    OutOfRange {
        /// The chip.
        chip_id: u32,
        /// Which memory, such as `L1 of core (1,1)` or `DRAM bank 3`.
        memory: String,
        /// First byte.
        address: u64,
        /// Words that were asked for.
        word_count: usize,
    },
    /// The chip does not answer.
    #[error("chip {chip_id} does not answer: {reason}")]
    Unreachable {
        /// The chip.
        chip_id: u32,
        /// The cause, as far as the back end knows it.
        reason: String,
    },
    /// The words are gone: asking again is of no use.
    #[error("chip {chip_id}: {reason}")]
    Gone {
        /// The chip.
        chip_id: u32,
        /// Fate of the words.
        reason: String,
    },
}

/// Answer of a chip to an access.
pub type AccessResult = Result<(), AccessError>;

impl AccessError {
    /// Returns true if the same access can never succeed.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Gone { .. })
    }
}

/// One chip, as its host sees it. Every call takes time on the host and on the chip.
pub trait Device {
    /// Returns the description of the chip.
    fn description(&self) -> &DeviceDescription;

    /// Reads words from a core's L1, in address order.
    ///
    /// # Errors
    /// If there is no such core, the range leaves its L1, or the chip does not answer.
    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult;

    /// Writes words to a core's L1, in address order.
    ///
    /// # Errors
    /// As [`Device::read_l1`].
    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult;

    /// Reads words from a DRAM bank.
    ///
    /// # Errors
    /// If there is no such bank, the range leaves it, or the chip does not answer.
    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult;

    /// Reads a tile's 64-bit wall clock.
    ///
    /// # Errors
    /// If there is no such core or the chip does not answer.
    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError>;

    /// The host's own monotonic clock in nanoseconds, for pings.
    fn host_time_ns(&mut self) -> u64;

    /// Lets the host do nothing for so long; sleeps unless the back end has a time of its own.
    fn wait_ns(&mut self, duration_ns: u64) {
        std::thread::sleep(std::time::Duration::from_nanos(duration_ns));
    }
}

/// Two cores of different chips that can exchange messages directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChipLink {
    /// Index of the chip that sends.
    pub sender: usize,
    /// The core that sends, and whose wall clock stamps it.
    pub sender_core: Noc0Coord,
    /// Index of the chip that echoes.
    pub receiver: usize,
    /// The core that echoes, and whose wall clock stamps it.
    pub receiver_core: Noc0Coord,
}

/// The chips that are read together.
pub trait Mesh {
    /// How many chips there are.
    fn device_count(&self) -> usize;

    /// The chip with this index, below [`Mesh::device_count`].
    fn device(&mut self, index: usize) -> Option<&mut dyn Device>;

    /// Pairs of cores between which [`Mesh::exchange`] works; none unless the back end has any.
    fn links(&self) -> Vec<ChipLink> {
        Vec::new()
    }

    /// Sends a message over a link and back, stamped with the wall clocks of both cores.
    ///
    /// # Errors
    /// If there is no such link or one of its chips does not answer.
    fn exchange(&mut self, link: &ChipLink) -> Result<EthernetPing, AccessError> {
        let chip_id = self.device(link.sender).map_or(0, |device| device.description().chip_id);
        let reason = format!("there is no link from core {}", link.sender_core);
        Err(AccessError::Unreachable { chip_id, reason })
    }
}
