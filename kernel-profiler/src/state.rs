//! The runtime's state on one RISC: its write position, its free room, and its sums.
//!
//! The runtime keeps no other state. On a Tensix core, the state is in TT-Metal's variables, which
//! Rust and C++ share (`tensix`); in native builds, it is in fields of [`State`].
//!
//! | variable | meaning |
//! |---|---|
//! | next | address of the next free word of this RISC's vector, see [`crate::port::Memory`] |
//! | room | bytes left for records, without the room reserved for ends of open zones and totals of sums |
//! | sums | cycles of each accumulator, modulo 2^32 |
//! | sum headers | first word of each total, 0 while the accumulator is unused |
//! | waits | totals of the kernel's waits, see [`crate::wait`]; this variable is part of the kernel itself if the kernel is linked as object code |
//! | trace count | trace replays so far, counted only by the RISC that pushes for the core |
//!
//! All zeros are a valid state: no record fits, and every record is counted as lost. In any other
//! state, `next + room + 8 * open zones`, plus 16 if sums are recorded, is the end of the vector.

#[cfg(all(feature = "enabled", target_arch = "riscv32"))]
pub use crate::tensix::State;
#[cfg(not(target_arch = "riscv32"))]
use crate::wait::WaitTotals;
use wire::{dram::SUM_COUNT, marker::MARKER_WORDS, vector};

/// The runtime's state on one RISC.
#[cfg(not(target_arch = "riscv32"))]
#[derive(Clone, Debug, Default)]
pub struct State {
    next: u32,
    room: i32,
    sums: [u32; SUM_COUNT],
    sum_headers: [u32; SUM_COUNT],
    trace_count: u32,
    waits: WaitTotals,
}

#[cfg(not(target_arch = "riscv32"))]
impl State {
    /// Creates the state before the first launch.
    #[must_use]
    pub const fn new() -> Self {
        let (sums, sum_headers) = ([0; SUM_COUNT], [0; SUM_COUNT]);
        Self { next: 0, room: 0, sums, sum_headers, trace_count: 0, waits: WaitTotals::new() }
    }

    pub(crate) const fn next(&self) -> u32 {
        self.next
    }

    pub(crate) const fn set_next(&mut self, place: u32) {
        self.next = place;
    }

    pub(crate) const fn room(&self) -> i32 {
        self.room
    }

    pub(crate) const fn set_room(&mut self, bytes: i32) {
        self.room = bytes;
    }

    pub(crate) const fn sum(&self, accumulator: usize) -> u32 {
        self.sums[accumulator]
    }

    pub(crate) const fn set_sum(&mut self, accumulator: usize, cycles: u32) {
        self.sums[accumulator] = cycles;
    }

    pub(crate) const fn sum_header(&self, accumulator: usize) -> u32 {
        self.sum_headers[accumulator]
    }

    pub(crate) const fn set_sum_header(&mut self, accumulator: usize, header: u32) {
        self.sum_headers[accumulator] = header;
    }

    pub(crate) const fn waits(&mut self) -> &mut WaitTotals {
        &mut self.waits
    }

    pub(crate) const fn trace_count(&self) -> u32 {
        self.trace_count
    }

    pub(crate) const fn set_trace_count(&mut self, count: u32) {
        self.trace_count = count;
    }
}

/// Number of bytes in a vector before its first optional word.
pub(crate) const FIRST_OPTIONAL_BYTES: u32 = offset(vector::FIRST_OPTIONAL);

/// Number of bytes in a vector for optional markers.
pub(crate) const OPTIONAL_BYTES: i32 = bytes(vector::VECTOR_WORDS - vector::FIRST_OPTIONAL);

/// Number of bytes that a launch reserves for the totals of its sums.
pub(crate) const TOTALS_BYTES: i32 = bytes(SUM_COUNT * MARKER_WORDS);

/// Converts a number of words, at most the size of a vector, to bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "asserted to fit a vector"
)]
pub(crate) const fn bytes(words: usize) -> i32 {
    assert!(words <= vector::VECTOR_WORDS);
    (words * 4) as i32
}

/// Converts a number of words, at most the size of a vector, to the type of the control words.
#[expect(clippy::cast_possible_truncation, reason = "asserted to fit a vector")]
pub(crate) const fn word_count(words: usize) -> u32 {
    assert!(words <= vector::VECTOR_WORDS);
    words as u32
}

/// Returns the offset in bytes of a word within a vector, to be added to an address.
#[inline(always)]
pub(crate) const fn offset(words: usize) -> u32 {
    word_count(words) * 4
}
