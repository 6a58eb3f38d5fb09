//! Encoding of commands for dispatch kernels, shared with their object code.
//!
//! The first word of the data is the number of commands. Each command begins with a head word,
//! which contains the command's number, the type of its further data, and that data. The arrival
//! time follows and then, if later, the earliest completion time. Times are in cycles since the
//! queue was opened. If a time is at least [`LONG_CYCLES`] after the previous time, the word before
//! it is the number of [`LONG_CYCLES`] intervals to wait first, and all later times are relative to
//! the end of those intervals.

/// Mask of the command's number in a head.
pub const NUMBER_MASK: u32 = 0xFF;
/// Number of the first bit, in the head word, of the type of the further data; type 0 means no
/// data.
pub const SORT_SHIFT: u32 = 8;
/// Mask of the type of the further data, to be applied after a shift by [`SORT_SHIFT`].
pub const SORT_MASK: u32 = 0xF;
/// Flag in a head: a number of [`LONG_CYCLES`] intervals precedes the arrival time.
pub const HAS_LONG_ARRIVAL: u32 = 1 << 12;
/// Flag in a head: the command has an earliest completion time.
pub const HAS_DONE: u32 = 1 << 13;
/// Flag in a head: a number of [`LONG_CYCLES`] intervals precedes the earliest completion time.
pub const HAS_LONG_DONE: u32 = 1 << 14;
/// Number of the first bit of a command's further data in the head word.
pub const DATA_SHIFT: u32 = 16;
/// Cycles of one interval of a long wait.
///
/// The value is small enough for a simulator to execute the loop. It is not a power of two, so this
/// simulator can recognise and skip the loop.
pub const LONG_CYCLES: u32 = 0x0180_0000;
