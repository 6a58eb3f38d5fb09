//! Encoding of commands for dispatch kernels, shared with their object code.
//!
//! The first word is the number of commands. Each command has a head: its number, the type of its
//! further data, and that data. Then follow its arrival time and, if different, the earliest time
//! at which it can be done. Times are cycles since the queue was opened. If a time is later than
//! the previous time by more than [`LONG_CYCLES`], a word before it gives the number of whole
//! [`LONG_CYCLES`] that pass first, and all further times count from their end.

/// Mask of the command's number in a head.
pub const NUMBER_MASK: u32 = 0xFF;
/// First bit of the type of further data; type 0 means no further data.
pub const SORT_SHIFT: u32 = 8;
/// Mask of that type.
pub const SORT_MASK: u32 = 0xF;
/// Bit of a head: a word of multiples precedes the arrival time.
pub const HAS_LONG_ARRIVAL: u32 = 1 << 12;
/// Bit of a head: the command has an earliest time at which it can be done.
pub const HAS_DONE: u32 = 1 << 13;
/// Bit of a head: a word of multiples precedes that time.
pub const HAS_LONG_DONE: u32 = 1 << 14;
/// First bit of further data.
pub const DATA_SHIFT: u32 = 16;
/// Unit of the words of multiples, in cycles.
///
/// The value is small enough to be executed. It is not a power of two, so that the simulator can
/// skip the loop that waits for it.
pub const LONG_CYCLES: u32 = 0x0180_0000;
