//! Frames: what a relay pushes into its ring in DRAM, one for each core and visit.
//!
//! ```text
//! word  0 .. 7    8 .. 71                            72 ..                          last
//!      +---------+----------------------------------+------------------------------+----------+
//!      | header  | control vector of the producer   | cells of each RISC, in turn  | sequence |
//!      +---------+----------------------------------+------------------------------+----------+
//! ```
//!
//! The control vector is as the relay has read it, but for the words [`stream::words::READ`]: they hold
//! the number of the first cell of each RISC. The word [`stream::words::WRITTEN`] of a RISC is the number
//! behind its last cell. The NoC moves 16 bytes at a time between memories of cores, so the cells of a
//! RISC begin with an even number and end before one: [`CellSpan`].
//!
//! A frame is a multiple of [`ALIGN_BYTES`] long, and never crosses the end of its ring. Where the next
//! one does not fit, a filler ([`FILLER`]) takes the rest: it has a header only.
//!
//! # What is checked
//! The CRC-32 of the header covers the header, and so the sum of all control words that a host uses. The
//! sequence number is the frame's last word, too: NoC writes land in order, so a torn frame lacks it. The
//! cells have no checksum: it would cost a relay more than reading them.

use crate::{
    risc::RISCS_PER_CORE,
    stream::{
        self, CELL_WORDS, RING_CELLS,
        words::{LAUNCHES, READ, TOLD, TRACE_COUNT},
    },
};
use core::ops::Range;

/// `KF` and the version of the format.
pub const MAGIC: u32 = 0x4B46_1000;
/// Bytes of which the length of every frame is a multiple: what DRAM of a Blackhole is read by.
pub const ALIGN_BYTES: u32 = 64;
/// Words of a header.
pub const HEADER_WORDS: usize = 8;
/// Words of the control vector in a frame.
pub const CONTROL_WORDS: usize = 64;
/// The first word of cells.
pub const FIRST_CELL_WORD: usize = HEADER_WORDS + CONTROL_WORDS;
/// The producer of a frame without cells, which takes the rest of a ring.
pub const FILLER: u32 = u32::MAX;
/// The most bytes of a frame.
#[expect(clippy::cast_possible_truncation, reason = "some thousand")]
pub const FRAME_BYTES_MAX: u32 = {
    let cells = RISCS_PER_CORE * (RING_CELLS + 2) * CELL_WORDS;
    ((FIRST_CELL_WORD + cells + 1) * 4).next_multiple_of(ALIGN_BYTES as usize) as u32
};

/// Words of a header.
pub mod header {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// Number of the frame, from 1 on.
    pub const SEQUENCE: usize = 1;
    /// Bytes of the frame.
    pub const BYTES: usize = 2;
    /// The producer, as its relay was told: NoC-0 column, and row from bit 16 on; or
    /// [`FILLER`](super::FILLER).
    pub const PRODUCER: usize = 3;
    /// Bits 0 to 31 of the relay's clock when it has read the control vector.
    pub const TIME_LOW: usize = 4;
    /// Bits 32 to 63.
    pub const TIME_HIGH: usize = 5;
    /// Sum of the control words in [`SUMMED`](super::SUMMED), modulo 2^32.
    pub const SUM: usize = 6;
    /// [`crc32`](super::crc32) of the words before.
    pub const CRC: usize = 7;
}

/// The control words that the sum of a header covers: all that are used to attribute cells.
pub const SUMMED: [Range<usize>; 3] =
    [TOLD..TRACE_COUNT + 1, LAUNCHES..LAUNCHES + 1, READ..READ + RISCS_PER_CORE];

/// The cells of a RISC in a frame.
///
/// ```
/// use wire::frame::CellSpan;
/// let span = CellSpan { first: 501, count: 8 };
/// assert_eq!((span.skipped(), span.read_first(), span.read_count()), (1, 500, 10));
/// assert_eq!(span.parts(), [(244, 10), (0, 0)]);
/// assert_eq!(CellSpan { first: 510, count: 4 }.parts(), [(254, 2), (0, 2)]);
/// assert_eq!(CellSpan { first: 3, count: 0 }.read_count(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSpan {
    /// Number of the first cell.
    pub first: u32,
    /// How many there are, at most [`RING_CELLS`].
    pub count: u32,
}

impl CellSpan {
    /// Cells in front of the first one that are in the frame, too: 0 or 1.
    #[must_use]
    #[inline(always)]
    pub const fn skipped(self) -> u32 {
        self.first & 1
    }

    /// Number of the first cell in the frame.
    #[must_use]
    #[inline(always)]
    pub const fn read_first(self) -> u32 {
        self.first & !1
    }

    /// How many cells the frame has.
    #[must_use]
    #[inline(always)]
    pub const fn read_count(self) -> u32 {
        if self.count == 0 {
            return 0;
        }
        (self.skipped().wrapping_add(self.count).wrapping_add(1)) & !1
    }

    /// Place in the ring and number of cells of both parts; the second one begins the ring.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "256")]
    pub const fn parts(self) -> [(u32, u32); 2] {
        let place = self.read_first() % RING_CELLS as u32;
        let to_end = RING_CELLS as u32 - place;
        let count = self.read_count();
        if count <= to_end {
            [(place, count), (0, 0)]
        } else {
            [(place, to_end), (0, count.wrapping_sub(to_end))]
        }
    }
}

/// Returns the sum of the control words in [`SUMMED`], modulo 2^32; words that are missing count as 0.
///
/// ```
/// let mut words = [0; 64];
/// (words[13], words[14], words[45], words[51], words[63]) = (1 << 20, 1, 20, 300, u32::MAX);
/// assert_eq!(wire::frame::sum(&words), 320);
/// ```
#[must_use]
pub fn sum(control: &[u32]) -> u32 {
    let words = SUMMED.into_iter().filter_map(|range| control.get(range));
    words.flatten().fold(0, |sum, &word| sum.wrapping_add(word))
}

/// Returns the CRC-32 of words, least significant byte first.
///
/// # Compatibility
/// The CRC of ISO 3309, as in zip and in Ethernet frames.
///
/// ```
/// let words = [u32::from_le_bytes(*b"1234"), u32::from_le_bytes(*b"5678")];
/// assert_eq!(wire::frame::crc32(&words), 0x9AE0_DAAF);
/// ```
#[must_use]
pub fn crc32(words: &[u32]) -> u32 {
    let added = |index| CRC_TABLE.get(index).copied().unwrap_or(0);
    !words.iter().fold(u32::MAX, |crc, &word| crc_step(crc, word, added))
}

/// Entries of the table of a CRC: for each number of bytes that follow a byte in its word, what each
/// value of the byte adds to the CRC.
pub const CRC_ENTRIES: usize = 4 * 256;

/// Takes another word into a CRC that is not inverted yet, given the entries of the table.
#[inline(always)]
pub fn crc_step(crc: u32, word: u32, mut entry: impl FnMut(usize) -> u32) -> u32 {
    let [a, b, c, d] = (crc ^ word).to_le_bytes();
    let [a, b, c, d] = [(3, a), (2, b), (1, c), (0, d)]
        .map(|(following, byte): (usize, u8)| entry(following << 8 | byte as usize));
    a ^ b ^ c ^ d
}

/// Returns an entry of the table, given the one 256 entries before it; the first 256 follow from their
/// own indices.
#[must_use]
#[inline(always)]
pub const fn next_crc_entry(entry: u32) -> u32 {
    const POLYNOMIAL: u32 = 0xEDB8_8320;
    let (mut crc, mut bit) = (entry, 0);
    while bit < 8 {
        crc = crc >> 1 ^ (crc & 1).wrapping_neg() & POLYNOMIAL;
        bit += 1;
    }
    crc
}

static CRC_TABLE: [u32; CRC_ENTRIES] = {
    let mut table = [0; CRC_ENTRIES];
    let mut index = 0;
    while index < CRC_ENTRIES {
        #[expect(clippy::cast_possible_truncation, reason = "256 bytes")]
        let before = if index < 256 { index as u32 } else { table[index - 256] };
        table[index] = next_crc_entry(before);
        index += 1;
    }
    table
};

const _: () = assert!(stream::words::WRITTEN + RISCS_PER_CORE <= TRACE_COUNT);

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
    use std::vec::Vec;

    #[test]
    fn sizes_are_those_of_the_documentation() {
        assert_eq!((HEADER_WORDS, FIRST_CELL_WORD), (8, 72));
        // 72 words, five rings with a cell more at both ends, the sequence number.
        assert_eq!(FRAME_BYTES_MAX, 10_624);
        assert_eq!(SUMMED, [14..46, 51..52, 59..64]);
    }

    /// The CRC bit by bit.
    fn slow_crc(words: &[u32]) -> u32 {
        let mut crc = u32::MAX;
        for bit in words.iter().flat_map(|word| (0..32).map(move |bit| word >> bit & 1)) {
            let is_odd = (crc ^ bit) & 1 != 0;
            crc = crc >> 1 ^ if is_odd { 0xEDB8_8320 } else { 0 };
        }
        !crc
    }

    proptest! {
        #[test]
        fn a_crc_of_words_is_that_of_their_bits(words in proptest::collection::vec(any::<u32>(), 0..10)) {
            prop_assert_eq!(crc32(&words), slow_crc(&words));
        }

        #[test]
        fn a_span_has_its_cells_in_whole_pairs(first: u32, count in 0_u32..=256) {
            let span = CellSpan { first, count };
            let numbers = span.read_first()..;
            let places: Vec<u32> = span
                .parts()
                .into_iter()
                .flat_map(|(place, count)| place..place + count)
                .collect();
            prop_assert_eq!(places.len(), span.read_count() as usize);
            for (index, place) in (0..).zip(&places) {
                prop_assert_eq!(*place, numbers.start.wrapping_add(index) % 256);
            }
            for (place, count) in span.parts() {
                prop_assert!(place.is_multiple_of(2) && count.is_multiple_of(2));
            }
            let end = span.skipped() + count;
            let read = span.read_count();
            let is_enough = if count == 0 { read == 0 } else { (end..end + 2).contains(&read) };
            prop_assert!(is_enough);
        }
    }
}
