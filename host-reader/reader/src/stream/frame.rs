//! Parser for the frames that relays push into DRAM. A relay is a core that collects the cells of
//! other cores.
//!
//! Relays write frames to a ring buffer in DRAM. The words of this ring buffer are untrusted:
//! another process may have overwritten the ring buffer, a write may have been lost, or a frame may
//! be only partly written.

use super::CellWords;
use crate::mesh::Noc0Coord;
use wire::{
    frame::{
        ALIGN_BYTES, CONTROL_WORDS, CellSpan, FILLER, FIRST_CELL_WORD, FRAME_BYTES_MAX,
        HEADER_WORDS, MAGIC, crc32, header, sum,
    },
    risc::RISCS_PER_CORE,
    stream::{CELL_WORDS, RING_CELLS, words},
};

/// A frame: cells of one core, and the core's control vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) producer: Noc0Coord,
    pub(crate) control: [u32; CONTROL_WORDS],
    cells: &'a [u32],
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) sequence: u32,
    pub(crate) byte_count: u32,
    /// The core whose cells the frame contains; `None` for a filler.
    producer: Option<Noc0Coord>,
    sum: u32,
}

/// Reason why words are not a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameFault {
    #[error("the header of a frame is damaged")]
    Header,
    #[error("a frame is torn: it does not end with its number")]
    Torn,
    #[error("the control words or the header of a frame are damaged")]
    Control,
    #[error("the cells of a frame do not fit its length")]
    Length,
}

impl FrameHeader {
    /// Parses the header at the start of `words`; returns `None` if it is not valid.
    pub(crate) fn parse(words: &[u32]) -> Option<Self> {
        let words: &[u32; HEADER_WORDS] = words.first_chunk()?;
        let word = |index: usize| words.get(index).copied().unwrap_or(0);
        let covered = [header::SEQUENCE, header::BYTES, header::SUM].map(word);
        let (byte_count, producer) = (word(header::BYTES), word(header::PRODUCER));
        let is_filler = producer == FILLER;
        let longest = if is_filler { u32::MAX } else { FRAME_BYTES_MAX };
        let is_header = word(header::MAGIC) == MAGIC
            && word(header::CRC) == crc32(&covered)
            && (ALIGN_BYTES..=longest).contains(&byte_count)
            && byte_count.is_multiple_of(ALIGN_BYTES);
        is_header.then_some(Self {
            sequence: word(header::SEQUENCE),
            byte_count,
            producer: (!is_filler).then(|| Noc0Coord::from_word(producer)),
            sum: word(header::SUM),
        })
    }

    /// Parses the frame that has this header. `words` must contain all words of the frame. Returns
    /// `None` for a filler, which has no cells.
    pub(crate) fn frame<'a>(&self, words: &'a [u32]) -> Result<Option<Frame<'a>>, FrameFault> {
        let Some(producer) = self.producer else { return Ok(None) };
        if words.last() != Some(&self.sequence) {
            return Err(FrameFault::Torn);
        }
        let (header, rest) = words.split_first_chunk().ok_or(FrameFault::Length)?;
        let control: &[u32; CONTROL_WORDS] = rest.first_chunk().ok_or(FrameFault::Length)?;
        if sum(header, control) != self.sum {
            return Err(FrameFault::Control);
        }
        let cells = words.get(FIRST_CELL_WORD..).unwrap_or_default();
        let frame = Frame { producer, control: *control, cells };
        let spans = (0..RISCS_PER_CORE).map(|risc_index| frame.span(risc_index));
        let read = spans.clone().map(|span| span.count_in_frame() as usize).sum::<usize>();
        let has_room = read.saturating_mul(CELL_WORDS) < cells.len();
        let is_possible = spans.clone().all(|span| span.count as usize <= RING_CELLS);
        if is_possible && has_room { Ok(Some(frame)) } else { Err(FrameFault::Length) }
    }
}

impl Frame<'_> {
    fn span(&self, risc_index: usize) -> CellSpan {
        let word =
            |first: usize| self.control.get(first.saturating_add(risc_index)).copied().unwrap_or(0);
        let first = word(words::READ);
        CellSpan { first, count: word(words::WRITTEN).wrapping_sub(first) }
    }

    /// Returns the number of a RISC's first cell in this frame, and the RISC's cells.
    pub(crate) fn cells(&self, risc_index: usize) -> (u32, Vec<CellWords>) {
        let before = (0..risc_index).map(|before| self.span(before).count_in_frame() as usize);
        let span = self.span(risc_index);
        let (cells, _) = self.cells.as_chunks::<CELL_WORDS>();
        let cells = cells.get(before.sum::<usize>()..).unwrap_or_default();
        // If the frame contains the whole ring, slot 0 follows the last slot.
        let first = span.first.wrapping_sub(span.first_in_frame());
        let places = (0..span.count).map(|index| first.wrapping_add(index) as usize % RING_CELLS);
        (span.first, places.filter_map(|place| cells.get(place)).copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the words of a test frame. Follows the documentation of the format, and does not use
    /// the code that writes frames.
    fn words_of(sequence: u32, lanes: &[(u32, Vec<CellWords>); 5]) -> Vec<u32> {
        let mut words = vec![0x4B46_1000, sequence, 0, 0x0003_0002, 7, 8, 0, 0];
        let mut control: Vec<u32> = (0..64).map(|word| word * 0x0101).collect();
        for (risc, (first, cells)) in lanes.iter().enumerate() {
            control[59 + risc] = *first;
            control[24 + risc] = first.wrapping_add(u32::try_from(cells.len()).unwrap());
        }
        let used = control[14..46].iter().chain(&control[51..52]).chain(&control[59..64]);
        let used = used.chain(&words[3..6]).copied().collect::<Vec<u32>>();
        words[6] = used.iter().fold(0, |sum: u32, &word| sum.wrapping_add(word));
        words.extend(control);
        for (first, cells) in lanes.iter().filter(|(_, cells)| !cells.is_empty()) {
            let slot = *first as usize % 256;
            let in_front = slot % 2;
            if slot + cells.len() > 256 && in_front + cells.len() > 128 {
                let mut ring = vec![[0xDEAD, 0xBEEF]; 256];
                for (place, cell) in (slot..).zip(cells) {
                    ring[place % 256] = *cell;
                }
                words.extend(ring.into_flattened());
                continue;
            }
            let mut padded = vec![[0xDEAD, 0xBEEF]; in_front];
            padded.extend(cells);
            if !padded.len().is_multiple_of(2) {
                padded.push([0xAAAA, 0xBBBB]);
            }
            words.extend(padded.into_flattened());
        }
        words.push(0);
        words.resize(words.len().next_multiple_of(16), 0);
        *words.last_mut().unwrap() = sequence;
        words[2] = u32::try_from(4 * words.len()).unwrap();
        let mut crc = u32::MAX;
        for bit in [words[1], words[2], words[6]]
            .iter()
            .flat_map(|word| (0..32).map(move |bit| word >> bit & 1))
        {
            crc = crc >> 1 ^ if (crc ^ bit) & 1 != 0 { 0xEDB8_8320 } else { 0 };
        }
        words[7] = !crc;
        words
    }

    fn lanes() -> impl Strategy<Value = [(u32, Vec<CellWords>); 5]> {
        let lane = || (any::<u32>(), prop::collection::vec(any::<CellWords>(), 0..=256));
        prop::array::uniform5(lane())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_frame_holds_the_cells_of_each_risc(sequence: u32, lanes in lanes()) {
            let words = words_of(sequence, &lanes);
            let header = FrameHeader::parse(&words).unwrap();
            prop_assert_eq!((header.sequence, header.byte_count as usize), (sequence, words.len() * 4));
            let frame = header.frame(&words).unwrap().unwrap();
            prop_assert_eq!(frame.producer, Noc0Coord { x: 2, y: 3 });
            for (risc, lane) in lanes.into_iter().enumerate() {
                prop_assert_eq!(frame.cells(risc), lane);
            }
        }

        #[test]
        fn a_changed_word_is_noticed_unless_it_is_of_a_cell_or_not_used(
            lanes in lanes(), word: prop::sample::Index, bits in 1_u32..,
        ) {
            let mut words = words_of(9, &lanes);
            let index = word.index(words.len());
            words[index] ^= bits;
            let parsed = FrameHeader::parse(&words).map(|header| header.frame(&words).map(|frame| frame.is_some()));
            let is_used = index < 8
                || (22..54).contains(&index)
                || index == 59
                || (67..72).contains(&index)
                || index == words.len() - 1;
            prop_assert_eq!(parsed == Some(Ok(true)), !is_used, "{}", index);
        }

        #[test]
        fn any_words_are_parsed(mut words in prop::collection::vec(any::<u32>(), 0..200), byte_count: u32) {
            if words.len() > 8 {
                words[0] = 0x4B46_1000;
                words[2] = byte_count;
                words[7] = crc32(&[words[1], words[2], words[6]]);
            }
            if let Some(header) = FrameHeader::parse(&words) {
                let _ = header.frame(&words).map(|frame| frame.map(|frame| frame.cells(4)));
            }
        }
    }
}
