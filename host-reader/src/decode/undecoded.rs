//! Lanes whose words have been read and are still to be decoded.

use super::{DecodedLane, LaneContext, LaneDecoder, LaneState, Leaves};
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
    pub(crate) fn decode(&self, memory: Lane) -> (DecodedLane, LaneState) {
        self.fed(LaneDecoder::with_memory(&self.context, self.state.clone(), memory)).finish()
    }

    /// The same without the records of zones without zones inside, as far as possible.
    pub(crate) fn decode_leaving_out(
        &self,
        memory: Lane,
        mut leaves: Leaves,
    ) -> (DecodedLane, LaneState, Leaves) {
        leaves.clear();
        let decoder = LaneDecoder::with_memory(&self.context, self.state.clone(), memory);
        let mut decoder = self.fed(decoder.leaving_out(leaves));
        let leaves = decoder.take_left_out().unwrap_or_default();
        let (decoded, state) = decoder.finish();
        (decoded, state, leaves)
    }

    fn fed<'context>(&self, mut decoder: LaneDecoder<'context>) -> LaneDecoder<'context> {
        for &(first_word, words) in &self.pieces {
            decoder.feed(words, first_word);
        }
        decoder
    }

    /// Whether these lanes are worth several threads.
    pub(crate) fn are_many_words(lanes: &[Self]) -> bool {
        let words = lanes.iter().flat_map(|lane| &lane.pieces).map(|(_, words)| words.len());
        words.sum::<usize>() > PARALLEL_WORDS
    }
}
