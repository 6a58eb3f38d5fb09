//! Encoding of commands for dispatch kernels, shared with their object code.
//!
//! The first word is the number of commands. Each command has a head: its number, the type of its
//! further data, and that data. The arrival time follows and, if different, the earliest completion
//! time. Times are cycles since the queue was opened. If a time is [`LONG_CYCLES`] or more after
//! the previous time, the word before it is the number of [`LONG_CYCLES`] intervals to wait first.
//! All later times count from the end of those intervals.

/// Mask of the command's number in a head.
pub const NUMBER_MASK: u32 = 0xFF;
/// First bit of the type of the further data; type 0 means that there is none.
pub const SORT_SHIFT: u32 = 8;
/// Mask of the further data's type.
pub const SORT_MASK: u32 = 0xF;
/// Flag in a head: a word with a count of [`LONG_CYCLES`] precedes the arrival time.
pub const HAS_LONG_ARRIVAL: u32 = 1 << 12;
/// Flag in a head: the command has an earliest completion time.
pub const HAS_DONE: u32 = 1 << 13;
/// Flag in a head: a word with a count of [`LONG_CYCLES`] precedes the earliest completion time.
pub const HAS_LONG_DONE: u32 = 1 << 14;
/// First bit of the further data in a head.
pub const DATA_SHIFT: u32 = 16;
/// Cycles of one interval in long waits.
///
/// The value is small enough to be executed. It is not a power of two, so the simulator can
/// recognise and skip the loop that waits for it.
pub const LONG_CYCLES: u32 = 0x0180_0000;
