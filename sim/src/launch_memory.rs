//! Ranges of L1 that launches use, as launch messages and the kernels' configuration say.

use crate::arch::TileCoord;
use wire::Risc;

/// What a range of L1 is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum L1Use {
    /// A circular buffer of this core, with its number.
    CircularBuffer(u32),
    /// A circular buffer that another core fills, with its number.
    RemoteCircularBuffer(u32),
    /// The kernel of a RISC.
    Kernel(Risc),
    /// Arguments, semaphores and configuration of circular buffers, in front of the kernels.
    Configuration,
    /// Memory of the profiler.
    Profiler,
}

/// A range of L1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct L1Range {
    /// First address.
    pub start: u32,
    /// Size in bytes.
    pub size_bytes: u32,
    /// What it is used for.
    pub usage: L1Use,
    /// Number and size in bytes of the pages of a circular buffer.
    pub pages: Option<(u32, u32)>,
}

/// Launches of one program on one core, all with the same ranges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchMemory {
    /// NoC-0 coordinates of the core.
    pub core: TileCoord,
    /// The host's id of the program.
    pub program_id: u32,
    /// Number of launches.
    pub launches: u64,
    /// The ranges, by address.
    pub ranges: Vec<L1Range>,
}
