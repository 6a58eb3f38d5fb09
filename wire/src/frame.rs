//! Frames: the units that a relay pushes into its ring in DRAM, one for each read of a core.
//!
//! ```text
//! word  0 .. 7    8 .. 71                            72 ..                          last
//!      +---------+----------------------------------+------------------------------+----------+
//!      | header  | control vector of the producer   | cells of each RISC, in turn  | sequence |
//!      +---------+----------------------------------+------------------------------+----------+
//! ```
//!
//! The control vector is a copy of the producer's, except that its words [`stream::words::READ`]
//! hold the number of each RISC's first cell in the frame. A RISC's word [`stream::words::WRITTEN`]
//! is 1 plus the number of the RISC's last cell in the frame. The NoC moves 16 bytes (two cells) at
//! a time between cores' memories, so a frame holds whole pairs of cells. If the cells to read
//! continue from the end of a RISC's ring to its start, the relay needs two read requests. If these
//! cells also fill more than half of the ring, the relay reads the whole ring with one request, and
//! the frame holds the whole ring ([`CellSpan`]).
//!
//! The length of a frame is a multiple of [`ALIGN_BYTES`], and a frame never crosses the end of its
//! ring. If the next frame does not fit, a filler takes up the rest of the ring. A filler
//! ([`FILLER`]) consists of a header only.
//!
//! # What is checked
//! The CRC-32 in the header covers the frame's sequence number, its length, and a sum of other
//! words: of the producer's label, the time, and all control words that a host uses. To compute a
//! CRC of all these words would take a relay longer than all its other work for the frame. The
//! sequence number is also the frame's last word: NoC writes arrive in order, so a torn frame lacks
//! this word. The cells have no checksum, because a checksum would take a relay longer than reading
//! the cells.

use crate::{
    risc::RISCS_PER_CORE,
    stream::{
        self, CELL_WORDS, RING_CELLS,
        words::{LAUNCHES, READ, TOLD, TRACE_COUNT},
    },
};
use core::ops::Range;

/// First word of a frame's header: the ASCII letters `KF` and the version of the format.
pub const MAGIC: u32 = 0x4B46_1000;
/// Alignment of frames in bytes: the unit in which a Blackhole's DRAM is read.
pub const ALIGN_BYTES: u32 = 64;
/// Size of a header in words.
pub const HEADER_WORDS: usize = 8;
/// Size of the control vector in a frame, in words.
pub const CONTROL_WORDS: usize = 64;
/// Index, in a frame, of the first word of the cells.
pub const FIRST_CELL_WORD: usize = HEADER_WORDS + CONTROL_WORDS;
/// Producer field of a filler, which is a frame without cells that takes up the rest of a ring.
pub const FILLER: u32 = u32::MAX;
/// Maximum size of a frame in bytes.
#[expect(clippy::cast_possible_truncation, reason = "some thousand")]
pub const FRAME_BYTES_MAX: u32 = {
    let cells = RISCS_PER_CORE * RING_CELLS * CELL_WORDS;
    ((FIRST_CELL_WORD + cells + 1) * 4).next_multiple_of(ALIGN_BYTES as usize) as u32
};

/// Indices of the words of a header.
pub mod header {
    /// Index of the word that holds the constant [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// Index of the word that holds the frame's sequence number, counted from 1.
    pub const SEQUENCE: usize = 1;
    /// Index of the word that holds the length of the frame in bytes.
    pub const BYTES: usize = 2;
    /// Index of the word that holds the producer's label from the relay's setup: NoC-0 column in
    /// bits 0 to 15, row in bits 16 to 31. In a filler, the word is [`FILLER`](super::FILLER).
    pub const PRODUCER: usize = 3;
    /// Index of the word that holds bits 0 to 31 of the relay's clock, read after the producer's
    /// control vector.
    pub const TIME_LOW: usize = 4;
    /// Index of the word that holds bits 32 to 63 of the relay's clock, read together with
    /// [`TIME_LOW`].
    pub const TIME_HIGH: usize = 5;
    /// Index of the word that holds the [`sum`](super::sum) of the header's words from [`PRODUCER`]
    /// to [`TIME_HIGH`], and of the control words.
    pub const SUM: usize = 6;
    /// Index of the word that holds the [`crc32`](super::crc32) of the words [`SEQUENCE`],
    /// [`BYTES`] and [`SUM`].
    pub const CRC: usize = 7;
}

/// Index ranges of the control words that the sum in a header includes: the words that the host
/// uses to attribute cells to RISCs and launches.
pub const SUMMED: [Range<usize>; 3] =
    [TOLD..TRACE_COUNT + 1, LAUNCHES..LAUNCHES + 1, READ..READ + RISCS_PER_CORE];

/// The cells of one RISC in a frame.
///
/// ```
/// use wire::frame::CellSpan;
/// let span = CellSpan { first: 501, count: 8 };
/// assert_eq!((span.first_in_frame(), span.count_in_frame()), (500, 10));
/// assert_eq!(span.parts(), [(244, 10), (0, 0)]);
/// // The cells go around the end of the ring.
/// assert_eq!(CellSpan { first: 510, count: 4 }.parts(), [(254, 2), (0, 2)]);
/// let most = CellSpan { first: 510, count: 200 };
/// assert_eq!((most.first_in_frame(), most.parts()), (256, [(0, 256), (0, 0)]));
/// assert_eq!(CellSpan { first: 3, count: 0 }.count_in_frame(), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSpan {
    /// Cell number of the first cell.
    pub first: u32,
    /// Number of cells, at most [`RING_CELLS`].
    pub count: u32,
}

impl CellSpan {
    /// Returns the size of the span in cells, after both ends are extended to whole pairs of cells.
    #[inline(always)]
    const fn paired_count(self) -> u32 {
        if self.count == 0 {
            return 0;
        }
        ((self.first & 1).wrapping_add(self.count).wrapping_add(1)) & !1
    }

    /// Returns the number of slots from the span's first pair of cells to the end of the ring.
    #[inline(always)]
    const fn slots_to_end(self) -> u32 {
        RING - (self.first & !1) % RING
    }

    /// Returns true if the frame holds the whole ring, in the order of its slots.
    #[must_use]
    #[inline(always)]
    pub const fn is_whole_ring(self) -> bool {
        self.paired_count() > self.slots_to_end() && self.paired_count() > RING / 2
    }

    /// Returns the number of the first cell in the frame. This number can be less than the number
    /// of the span's first cell.
    #[must_use]
    #[inline(always)]
    pub const fn first_in_frame(self) -> u32 {
        if self.is_whole_ring() { self.first & !(RING - 1) } else { self.first & !1 }
    }

    /// Returns the number of cells in the frame.
    #[must_use]
    #[inline(always)]
    pub const fn count_in_frame(self) -> u32 {
        if self.is_whole_ring() { RING } else { self.paired_count() }
    }

    /// Returns the parts of the ring that the frame copies, each as (first slot, number of cells).
    /// The second part begins at slot 0, and has no cells if the span does not pass the end of the
    /// ring.
    #[must_use]
    #[inline(always)]
    pub const fn parts(self) -> [(u32, u32); 2] {
        let (count, to_end) = (self.paired_count(), self.slots_to_end());
        if count <= to_end {
            [(RING - to_end, count), (0, 0)]
        } else if count > RING / 2 {
            [(0, RING), (0, 0)]
        } else {
            [(RING - to_end, to_end), (0, count - to_end)]
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "256")]
const RING: u32 = RING_CELLS as u32;

/// Returns the sum, modulo 2^32, of the header words from [`header::PRODUCER`] to
/// [`header::TIME_HIGH`] and of the control words in [`SUMMED`]. Missing words count as 0.
///
/// ```
/// let mut words = [0; 64];
/// (words[13], words[14], words[45], words[51], words[63]) = (1 << 20, 1, 20, 300, u32::MAX);
/// assert_eq!(wire::frame::sum(&[9, 9, 9, 1000, 2000, 3000, 9, 9], &words), 6320);
/// ```
#[must_use]
pub fn sum(header: &[u32; HEADER_WORDS], control: &[u32]) -> u32 {
    let words = SUMMED.into_iter().filter_map(|range| control.get(range)).flatten();
    let own = header.iter().take(header::SUM).skip(header::PRODUCER);
    own.chain(words).fold(0, |sum, &word| sum.wrapping_add(word))
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

/// Number of entries in the CRC table: 256 for each of the four bytes of a word. An entry is the
/// contribution of one value of that byte to the CRC.
pub const CRC_ENTRIES: usize = 4 * 256;

/// Returns the CRC after one more word, before the final inversion. `entry` returns an entry of the
/// CRC table.
#[inline(always)]
pub fn crc_step(crc: u32, word: u32, mut entry: impl FnMut(usize) -> u32) -> u32 {
    let [a, b, c, d] = (crc ^ word).to_le_bytes();
    let [a, b, c, d] = [(3, a), (2, b), (1, c), (0, d)]
        .map(|(following, byte): (usize, u8)| entry(following << 8 | byte as usize));
    a ^ b ^ c ^ d
}

/// Returns an entry of the table, given the entry 256 positions before it. Each of the first 256
/// entries is computed from its own index instead.
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
        // Header and control vector (72 words), five full rings, and the sequence number.
        assert_eq!(FRAME_BYTES_MAX, 10_560);
        assert_eq!(SUMMED, [14..46, 51..52, 59..64]);
    }

    /// Computes the CRC bit by bit.
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
            let places: Vec<u32> = span
                .parts()
                .into_iter()
                .flat_map(|(place, count)| place..place + count)
                .collect();
            prop_assert_eq!(places.len(), span.count_in_frame() as usize);
            for (place, count) in span.parts() {
                prop_assert!(place.is_multiple_of(2) && count.is_multiple_of(2));
            }
            // Each cell is in the slot given by its number, exactly once.
            for number in (0..count).map(|index| first.wrapping_add(index)) {
                let slots = places.iter().filter(|place| **place == number % 256);
                prop_assert_eq!(slots.count(), 1);
            }
            let first_in_frame = span.first_in_frame();
            prop_assert!(count == 0 || places[0] == first_in_frame % 256);
            let ends_beyond = (first & !1) % 256 + (first & 1) + count > 256;
            prop_assert_eq!(span.is_whole_ring(), ends_beyond && places.len() == 256);
            let in_pairs = (first & 1) + count;
            let is_enough = match count {
                0 => places.is_empty(),
                _ if ends_beyond && in_pairs > 128 => places.len() == 256,
                _ => (in_pairs..in_pairs + 2).contains(&u32::try_from(places.len()).unwrap()),
            };
            prop_assert!(is_enough, "{} of {in_pairs}", places.len());
        }
    }
}
