//! Lanes whose words are read but not yet decoded.

use super::{DecodedLane, LaneContext, LaneDecoder, LaneLoss, LaneState, Unpushed};
use crate::lane::Lane;

/// The words of one lane, not yet decoded.
#[derive(Clone, Debug)]
pub struct UndecodedLane<'words> {
    /// The lane and the format of its words.
    pub context: LaneContext,
    /// State from which decoding continues.
    pub state: LaneState,
    /// Pieces of the lane's words, as (index, words). The index is the position of the piece's
    /// first word in the lane.
    pub pieces: Vec<(u64, &'words [u32])>,
    /// The words in L1 of a launch that has not ended, if they were read.
    pub unpushed: Option<Unpushed<'words>>,
    /// The lane's losses, from the device's counters.
    pub loss: LaneLoss,
}

/// Number of words above which lanes are decoded on several threads.
const PARALLEL_WORDS: usize = 1 << 16;

impl UndecodedLane<'_> {
    /// Decodes the words of this lane into the memory of a lane whose records are no longer needed.
    pub(crate) fn decode(&self, memory: Lane) -> (DecodedLane, LaneState) {
        let mut decoder = LaneDecoder::with_memory(&self.context, self.state.clone(), memory);
        for &(first_word, words) in &self.pieces {
            decoder.feed(words, first_word);
        }
        if let Some(unpushed) = &self.unpushed {
            decoder.feed_unpushed(unpushed);
        }
        decoder.lose_counted(&self.loss);
        decoder.finish()
    }

    /// Returns true if these lanes have enough words for decoding on several threads.
    pub(crate) fn are_many_words(lanes: &[Self]) -> bool {
        let words = lanes.iter().flat_map(|lane| &lane.pieces).map(|(_, words)| words.len());
        words.sum::<usize>() > PARALLEL_WORDS
    }
}
