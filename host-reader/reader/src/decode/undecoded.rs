//! Lanes whose words have been read and are still to be decoded.

use super::{DecodedLane, LaneContext, LaneDecoder, LaneLoss, LaneState};
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
    /// The lane's losses, as the device counted them.
    pub loss: LaneLoss,
}

/// From how many words on lanes are decoded on several threads.
const PARALLEL_WORDS: usize = 1 << 16;

impl UndecodedLane<'_> {
    /// Decodes it into the memory of a lane whose records are not needed any more.
    pub(crate) fn decode(&self, memory: Lane) -> (DecodedLane, LaneState) {
        let mut decoder = LaneDecoder::with_memory(&self.context, self.state.clone(), memory);
        for &(first_word, words) in &self.pieces {
            decoder.feed(words, first_word);
        }
        decoder.lose_counted(&self.loss);
        decoder.finish()
    }

    /// Returns true if these lanes have enough words for several threads.
    pub(crate) fn are_many_words(lanes: &[Self]) -> bool {
        let words = lanes.iter().flat_map(|lane| &lane.pieces).map(|(_, words)| words.len());
        words.sum::<usize>() > PARALLEL_WORDS
    }
}
