//! Buffers that a host allocates and frees for its ops.
//!
//! Each op reads the output of the previous op and writes an output of its own, in L1 or in DRAM.
//! The weights stay allocated. An output is freed when the next op is enqueued.

use crate::random::Stream;

/// Memory that a buffer is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BufferMemory {
    /// The DRAM banks.
    Dram,
    /// L1 of the worker cores.
    L1,
}

/// The host's allocation or release of one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferChange {
    /// Memory that the buffer is in.
    pub memory: BufferMemory,
    /// Index of the buffer in the run.
    pub buffer: u64,
    /// Size of the buffer in bytes, over all banks.
    pub byte_count: u64,
    /// True for an allocation, false for a release.
    pub is_allocated: bool,
}

/// Returns the allocations and releases that the host makes while it enqueues op `index`, in order.
///
/// ```
/// use sim::workload::{BufferChange, buffer_changes};
/// let outputs = |index| buffer_changes(7, index).into_iter().map(|change| change.is_allocated);
/// // The first op allocates weights and an output. Any other op allocates an output and frees one.
/// assert!(outputs(0).eq([true, true]));
/// assert!(outputs(1).eq([true, false]));
/// let [_, output] = buffer_changes(7, 0)[..] else { panic!("two buffers") };
/// assert_eq!(buffer_changes(7, 1)[1], BufferChange { is_allocated: false, ..output });
/// ```
#[must_use]
pub fn buffer_changes(seed: u64, index: u64) -> Vec<BufferChange> {
    let weights = BufferChange {
        memory: BufferMemory::Dram,
        buffer: 0,
        byte_count: 64 << 20,
        is_allocated: true,
    };
    let output = output_of(seed, index);
    match index.checked_sub(1) {
        None => vec![weights, output],
        Some(before) => {
            vec![output, BufferChange { is_allocated: false, ..output_of(seed, before) }]
        }
    }
}

fn output_of(seed: u64, index: u64) -> BufferChange {
    let mut random = Stream::new(seed, &[BUFFER_STREAM, index]);
    let memory = if random.chance(600_000) { BufferMemory::L1 } else { BufferMemory::Dram };
    let tiles = random.between(1, 4096);
    BufferChange { memory, buffer: index + 1, byte_count: tiles * TILE_BYTES, is_allocated: true }
}

/// Size in bytes of a tile: 32 by 32 elements of two bytes.
const TILE_BYTES: u64 = 2048;
const BUFFER_STREAM: u64 = 0xB0F;
