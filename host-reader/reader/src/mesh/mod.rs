//! Traits for host access to a mesh of chips. They are this crate's only interface to hardware.
//!
//! A back end (simulator, capture file, kernel driver) implements [`Mesh`] and [`Device`]; all
//! other code in this crate uses these traits. This module does not interpret the words that it
//! transfers.

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

impl Noc0Coord {
    /// Unpacks a coordinate from a word: the column is in the low half, the row in the high half.
    pub(crate) fn from_word(word: u32) -> Self {
        let [x, y] = [word & 0xFFFF, word >> 16].map(|half| u16::try_from(half).unwrap_or(0));
        Self { x, y }
    }
}

impl std::fmt::Display for Noc0Coord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({},{})", self.x, self.y)
    }
}

/// A coordinate in the grid of usable cores of one kind. Columns and rows are counted from 0;
/// harvested columns and rows are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogicalCoord {
    /// Column.
    pub x: u16,
    /// Row.
    pub y: u16,
}

/// A core that can be profiled, with the addresses of its profiler memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreDescription {
    /// Coordinate on the NoC-0 grid; identifies the core in all calls of [`Device`].
    pub noc0: Noc0Coord,
    /// Coordinate in the grid of cores of the same kind.
    pub logical: LogicalCoord,
    /// Kind of the core.
    pub kind: CoreKind,
    /// Index of the core on its chip, with cores ordered by NoC-0 x, then y.
    pub flat_id: u32,
    /// L1 byte address of the control vector.
    pub control_address: u64,
    /// L1 byte address of the first RISC's vector; the other vectors follow without gaps.
    pub vector_address: u64,
}

/// The DRAM that a chip reserves for profiling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramDescription {
    /// Number of DRAM banks over which the lanes of the cores are distributed.
    pub bank_count: u32,
    /// Byte address of the profiler region, the same in every bank.
    pub region_address: u64,
    /// Bytes reserved for the region in each bank.
    pub region_bytes: u64,
}

/// Description of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceDescription {
    /// Number of the chip in its mesh.
    pub chip_id: u32,
    /// Lower-case name of the architecture, such as `wormhole_b0`.
    pub arch: String,
    /// Clock frequency of the tiles, in MHz.
    pub aiclk_mhz: u32,
    /// Number of worker cores, as printed in the first line of a device log.
    pub max_compute_cores: u32,
    /// All cores that can be profiled, ordered by `flat_id`.
    pub cores: Vec<CoreDescription>,
    /// DRAM to which cores push their markers.
    pub dram: DramDescription,
}

impl DeviceDescription {
    /// Returns the layout of this chip's lanes in DRAM.
    ///
    /// # Errors
    /// If the chip has no cores or no banks, or if the layout needs more than 4 GiB per bank.
    pub fn geometry(
        &self,
        program_support_count: u32,
        sums_enabled: bool,
    ) -> Result<DramGeometry, GeometryError> {
        let core_count =
            self.cores.iter().map(|core| core.flat_id.saturating_add(1)).max().unwrap_or(0);
        DramGeometry::new(program_support_count, sums_enabled, core_count, self.dram.bank_count)
    }
}

/// Error of an access to a chip.
///
/// Capture files store a code for each variant, so a new variant needs a new code.
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
    /// The range exceeds the memory.
    #[error("chip {chip_id}, {memory}: {word_count} words at {address:#x} lie outside of it")]
    OutOfRange {
        /// The chip.
        chip_id: u32,
        /// The memory, such as `L1 of core (1,1)` or `DRAM bank 3`.
        memory: String,
        /// Byte address of the first word.
        address: u64,
        /// Number of requested words.
        word_count: usize,
    },
    /// The chip does not answer.
    #[error("chip {chip_id} does not answer: {reason}")]
    Unreachable {
        /// The chip.
        chip_id: u32,
        /// The cause, if the back end knows it.
        reason: String,
    },
    /// The requested words are lost; a repeated access will fail too.
    #[error("chip {chip_id}: {reason}")]
    Gone {
        /// The chip.
        chip_id: u32,
        /// The reason why the words are lost.
        reason: String,
    },
}

/// Result of an access to a chip.
pub type AccessResult = Result<(), AccessError>;

impl AccessError {
    /// Returns true if a repeated access will fail too.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Gone { .. })
    }
}

/// Returns the error for a read of the host's memory through a back end that has no access to it.
#[must_use]
pub fn no_host_memory(chip_id: u32) -> AccessError {
    let reason = "this back end has no access to the host's memory that the chip writes".into();
    AccessError::Gone { chip_id, reason }
}

/// One of two reads for [`Device::read_l1_pair`].
#[derive(Debug)]
pub struct L1Read<'a> {
    /// The core.
    pub core: Noc0Coord,
    /// Byte address of the first word.
    pub address: u64,
    /// Buffer for the words that are read.
    pub words: &'a mut [u32],
}

/// Access of the host to one chip. Every call takes time on the host and on the chip.
pub trait Device {
    /// Returns the description of the chip.
    fn description(&self) -> &DeviceDescription;

    /// Reads words from a core's L1, in address order.
    ///
    /// # Errors
    /// If there is no such core, the range exceeds its L1, or the chip does not answer.
    fn read_l1(&mut self, core: Noc0Coord, address: u64, words: &mut [u32]) -> AccessResult;

    /// Reads two ranges of L1. A back end that can read two ranges at the same time overrides this
    /// method. For example, a DMA engine can read the first range while the processor reads the
    /// second range.
    ///
    /// # Errors
    /// The same as for [`Device::read_l1`], separately for each range.
    fn read_l1_pair(&mut self, reads: [L1Read<'_>; 2]) -> [AccessResult; 2] {
        reads.map(|read| self.read_l1(read.core, read.address, read.words))
    }

    /// Writes words to a core's L1, in address order.
    ///
    /// # Errors
    /// The same as for [`Device::read_l1`].
    fn write_l1(&mut self, core: Noc0Coord, address: u64, words: &[u32]) -> AccessResult;

    /// Reads words from a DRAM bank.
    ///
    /// # Errors
    /// If there is no such bank, the range exceeds the bank, or the chip does not answer.
    fn read_dram(&mut self, bank: u32, address: u64, words: &mut [u32]) -> AccessResult;

    /// Reads words from the part of the host's memory to which the chip can write. Addresses are
    /// offsets from the first byte that the chip can write.
    ///
    /// A back end needs this method only if a relay writes to the host's memory. (A relay is a core
    /// that forwards the records of other cores.) The default implementation returns an error. An
    /// implementation must return all words that the chip had written before the caller's last read
    /// of L1 on this chip.
    ///
    /// # Errors
    /// If the range exceeds the host's memory, or the back end has no access to this memory.
    fn read_host_memory(&mut self, address: u64, words: &mut [u32]) -> AccessResult {
        let _ = (address, words);
        Err(no_host_memory(self.description().chip_id))
    }

    /// Reads a tile's 64-bit wall clock.
    ///
    /// # Errors
    /// If there is no such core or the chip does not answer.
    fn read_wall_clock(&mut self, core: Noc0Coord) -> Result<u64, AccessError>;

    /// Returns the time of the host's monotonic clock in nanoseconds, for clock samples.
    fn host_time_ns(&mut self) -> u64;

    /// Waits on the host for `duration_ns`. Sleeps, unless the back end has a simulated clock.
    fn wait_ns(&mut self, duration_ns: u64) {
        std::thread::sleep(std::time::Duration::from_nanos(duration_ns));
    }
}

/// Two cores of different chips that can exchange messages directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChipLink {
    /// Index of the sending chip in the mesh.
    pub sender: usize,
    /// The sending core. The sender's times are read from this core's wall clock.
    pub sender_core: Noc0Coord,
    /// Index of the echoing chip in the mesh.
    pub receiver: usize,
    /// The echoing core. The receiver's times are read from this core's wall clock.
    pub receiver_core: Noc0Coord,
}

/// A set of chips that are read together.
pub trait Mesh {
    /// Returns the number of chips.
    fn device_count(&self) -> usize;

    /// Returns the chip with this index, below [`Mesh::device_count`].
    fn device(&mut self, index: usize) -> Option<&mut dyn Device>;

    /// Returns the pairs of cores for [`Mesh::exchange`]; none by default.
    fn links(&self) -> Vec<ChipLink> {
        Vec::new()
    }

    /// Sends a message over a link and back. Returns the readings that both cores took of their
    /// wall clocks.
    ///
    /// # Errors
    /// If there is no such link or one of its chips does not answer.
    fn exchange(&mut self, link: &ChipLink) -> Result<EthernetPing, AccessError> {
        let chip_id = self.device(link.sender).map_or(0, |device| device.description().chip_id);
        let reason = format!("there is no link from core {}", link.sender_core);
        Err(AccessError::Unreachable { chip_id, reason })
    }
}
