//! Encoding of commands for dispatch kernels, shared with their object code.
//!
//! The first word of the data is the number of commands. Each command begins with a head word. The
//! word contains the command's number, and the type and value of the command's data. The arrival
//! time follows. If the earliest completion time is later than the arrival time, it is the next
//! word.
//!
//! Times are in cycles since a reference time. The first reference time is the opening of the
//! queue. If a time is [`LONG_CYCLES`] or more after the reference time, it has two words: the
//! number of whole [`LONG_CYCLES`] intervals, and the remaining cycles. The end of these intervals
//! is the reference time from then on.

/// Mask of the command's number in a head word.
pub const NUMBER_MASK: u32 = 0xFF;
/// Position in the head word of the lowest bit of the data's type; type 0 means no data.
pub const SORT_SHIFT: u32 = 8;
/// Mask of the data's type, to be applied after a shift by [`SORT_SHIFT`].
pub const SORT_MASK: u32 = 0xF;
/// Flag in a head word: the arrival time has two words.
pub const HAS_LONG_ARRIVAL: u32 = 1 << 12;
/// Flag in a head word: an earliest completion time follows the arrival time.
pub const HAS_DONE: u32 = 1 << 13;
/// Flag in a head word: the earliest completion time has two words.
pub const HAS_LONG_DONE: u32 = 1 << 14;
/// Position in the head word of the lowest bit of the data's value.
pub const DATA_SHIFT: u32 = 16;
/// Number of cycles in one interval of a long wait.
///
/// An interval is short enough for a simulator that executes all rounds of the wait loop. The value
/// is not a power of two: this keeps the compiled loop in the form that this simulator recognises
/// and skips.
pub const LONG_CYCLES: u32 = 0x0180_0000;
