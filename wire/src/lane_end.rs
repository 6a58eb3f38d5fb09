//! The control word that holds the end of a lane and shows whether the lane has wrapped around.
//!
//! ```text
//! 31 .. 17          16 .. 0
//! +-----------------+-------------+
//! | turned at, / 4  | end         |
//! +-----------------+-------------+
//! ```
//!
//! A lane is filled from its first word on. If a run does not fit after the end, and the host has
//! read more words at the beginning of the lane than the run needs, the run is written at the
//! beginning: the lane has turned (wrapped around). The field `turned at` keeps the lane's end from
//! before the turn. After the turn, the end stays below the first word that the host has not read.
//! So a read position beyond the end means that the host has not wrapped around yet; any other read
//! position means that it has.
//!
//! A lane that no host reads while it is filled never turns. The control word of such a lane holds
//! only the end.
//!
//! # Compatibility
//! TT-Metal's `HOST_BUFFER_END_INDEX`, which counts words. TT-Metal's host can read a lane that has
//! not turned (wrapped around).

use crate::vector::VECTOR_WORDS;

/// End of a lane, and whether the lane has wrapped around.
///
/// ```
/// use wire::LaneEnd;
/// let full = LaneEnd { end: 508, turned_at: None };
/// assert_eq!(full.to_word(), 508);
/// let turned = LaneEnd { end: 20, turned_at: Some(508) };
/// assert_eq!(turned.to_word(), 508 << 15 | 20);
/// assert_eq!(LaneEnd::from_word(turned.to_word(), 516), turned);
/// assert_eq!(turned.unread(300), [300..508, 0..20]);
/// assert_eq!(turned.unread(8), [0..0, 8..20]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LaneEnd {
    /// Index of the word after the newest run.
    pub end: u32,
    /// End of the lane before it turned (wrapped around); `None` if the lane has not turned.
    pub turned_at: Option<u32>,
}

impl LaneEnd {
    /// Size in words of the largest lane that can turn (wrap around to its beginning).
    pub const TURNING_LANE_WORDS_MAX: u32 = END_MASK - 2 * LARGEST_RUN;

    /// Decodes the control word of a lane whose size is `lane_words` words.
    #[must_use]
    pub const fn from_word(word: u32, lane_words: u32) -> Self {
        let mark = word >> MARK_SHIFT << 2;
        if lane_words > Self::TURNING_LANE_WORDS_MAX || mark == 0 {
            return Self { end: word, turned_at: None };
        }
        Self { end: word & END_MASK, turned_at: Some(mark) }
    }

    /// Returns the control word of a lane.
    #[must_use]
    pub const fn to_word(self) -> u32 {
        match self.turned_at {
            None => self.end,
            Some(mark) => mark >> 2 << MARK_SHIFT | self.end,
        }
    }

    /// Returns the ranges of words that a host with read position `read` has not read: first the
    /// words written before the lane turned, then the words written after the turn.
    #[must_use]
    pub const fn unread(self, read: u32) -> [core::ops::Range<u32>; 2] {
        match self.turned_at {
            Some(mark) if read > self.end => [read..mark, 0..self.end],
            _ => [0..0, read..self.end],
        }
    }
}

const MARK_SHIFT: u32 = 17;
const END_MASK: u32 = (1 << MARK_SHIFT) - 1;
#[expect(clippy::cast_possible_truncation, reason = "a vector has 512 words")]
const LARGEST_RUN: u32 = VECTOR_WORDS as u32;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert_eq, proptest};

    proptest! {
        #[test]
        fn words_survive(end in 0_u32..32_511, mark in 0_u32..32_511) {
            let (end, mark) = (end * 4, mark * 4);
            let lane = LaneEnd { end, turned_at: Some(mark).filter(|&mark| mark != 0) };
            let word = lane.to_word();
            prop_assert_eq!(LaneEnd::from_word(word, LaneEnd::TURNING_LANE_WORDS_MAX), lane);
            // The device must be able to add the length of a run (at most 512 words) without
            // overflow.
            prop_assert_eq!(word.checked_add(512).is_some(), true);
        }
    }

    #[test]
    fn a_lane_too_large_to_turn_has_an_end_alone() {
        let word = 508 << 15 | 20;
        let lane = LaneEnd::from_word(word, LaneEnd::TURNING_LANE_WORDS_MAX + 1);
        assert_eq!(lane, LaneEnd { end: word, turned_at: None });
    }
}
