//! Lanes whose words have been read and are still to be decoded.

use super::{DecodedLane, LaneContext, LaneDecoder, LaneState};
use crate::lane::Lane;

/// The words of one lane, yet to be decoded.
#[derive(Clone, Debug)]
pub struct UndecodedLane<'words> {
    /// Whose words they are, and how they are to be taken.
    pub context: LaneContext,
    /// Where decoding goes on from.
    pub state: LaneState,
    /// Words, each piece with the word of the lane at which it begins.
    pub pieces: Vec<(u64, &'words [u32])>,
}

/// From how many words on lanes are decoded on several threads.
const PARALLEL_WORDS: usize = 1 << 16;

impl UndecodedLane<'_> {
    /// Decodes it into the memory of a lane whose records are not needed any more.
    pub(crate) fn decode(self, memory: Lane) -> (DecodedLane, LaneState) {
        let mut decoder = LaneDecoder::with_memory(&self.context, self.state, memory);
        for (first_word, words) in self.pieces {
            decoder.feed(words, first_word);
        }
        decoder.finish()
    }

    /// Whether these lanes are worth several threads.
    pub(crate) fn are_many_words(lanes: &[Self]) -> bool {
        let words = lanes.iter().flat_map(|lane| &lane.pieces).map(|(_, words)| words.len());
        words.sum::<usize>() > PARALLEL_WORDS
    }
}
