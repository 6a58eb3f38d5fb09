//! Words of a command for the kernels that dispatch, shared with their object code.
//!
//! The first word says how many commands there are. Each has a head, with its number, the sort of
//! its further data and that data; then the time at which it arrives, and, where that differs, the
//! time at which it can be done at the earliest. Times are cycles since the queue was opened. Where
//! one lies behind the time before by more than [`LONG_CYCLES`], a word in front of it says how many
//! times that passes first, and all further times count from then.

/// Bits of a head with the command's number.
pub const NUMBER_MASK: u32 = 0xFF;
/// First bit of the sort of further data, of which there is none for 0.
pub const SORT_SHIFT: u32 = 8;
/// Bits of that sort.
pub const SORT_MASK: u32 = 0xF;
/// Bit of a head: the time of arrival has a word in front of it.
pub const HAS_LONG_ARRIVAL: u32 = 1 << 12;
/// Bit of a head: the command has a time at which it can be done.
pub const HAS_DONE: u32 = 1 << 13;
/// Bit of a head: that time has a word in front of it.
pub const HAS_LONG_DONE: u32 = 1 << 14;
/// First bit of further data.
pub const DATA_SHIFT: u32 = 16;
/// Cycles of which a word counts how many times they pass: few enough to be executed, and no power
/// of two, so that the loop that waits for them is one that the simulator passes over.
pub const LONG_CYCLES: u32 = 0x0180_0000;
