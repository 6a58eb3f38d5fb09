//! Watermarks: fill levels of the lanes, and estimates of when a lane overflows.

use crate::lane::LaneId;
use std::collections::BTreeMap;
use wire::vector;

/// Fill level of one RISC's lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneWatermark {
    /// The lane.
    pub lane: LaneId,
    /// Size of the lane in DRAM, in words.
    pub lane_words: u32,
    /// Number of filled words, which the RISC cannot reuse until a host has read them.
    ///
    /// The value is 0 if the host has read all data of the core, because the next launch then
    /// starts at the beginning of the lane.
    pub used_words: u32,
    /// Number of words of a finished run in the RISC's L1 vector, which the next launch will push.
    pub waiting_words: u32,
    /// Number of launches since the previous read for which the lane had no room.
    pub lost_launches: u32,
    /// Number of words pushed since the previous read.
    pub pushed_words: u32,
    /// Number of launches of the core that were pushed since the previous read.
    ///
    /// In accumulate mode, if only control vectors were read, this is the number of pushes.
    pub pushed_launches: u32,
    /// Cycles of the tile's clock since the previous read, if the clock was read in both reads.
    pub elapsed_cycles: Option<u64>,
    /// Estimated words per launch. The average is computed for each interval between two polls or
    /// reads, and the largest average is used.
    ///
    /// The value is 0 if nothing has been pushed yet.
    pub words_per_launch: u32,
}

/// Maximum number of words by which a launch is assumed to exceed the average: one full vector.
const LARGEST_PUSH_WORDS: u32 = VECTOR_WORDS;
#[expect(clippy::cast_possible_truncation, reason = "a vector has 512 words")]
pub(crate) const VECTOR_WORDS: u32 = vector::VECTOR_WORDS as u32;

impl LaneWatermark {
    /// Returns the number of free words of the lane in DRAM.
    #[must_use]
    pub const fn free_words(&self) -> u32 {
        self.lane_words.saturating_sub(self.used_words)
    }

    /// Returns the estimated number of launches for which the lane has room; `None` before the
    /// first launch.
    ///
    /// The estimate assumes that later launches need as much room as earlier launches, except that
    /// one launch may need a whole L1 vector in addition.
    #[must_use]
    pub const fn launches_left(&self) -> Option<u32> {
        if self.lost_launches > 0 {
            return Some(0);
        }
        let reserved = LARGEST_PUSH_WORDS.saturating_add(self.waiting_words);
        self.free_words().saturating_sub(reserved).checked_div(self.words_per_launch)
    }

    /// Returns true if the lane may lose markers within the next `launches` launches, and if a read
    /// now would prevent the loss.
    #[must_use]
    pub const fn is_about_to_overflow(&self, launches: u32) -> bool {
        let has_room = match self.launches_left() {
            Some(left) => left >= launches,
            None => true,
        };
        !has_room && (self.used_words > 0 || self.lost_launches > 0)
    }
}

/// Fill levels of all lanes of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    lanes: BTreeMap<LaneId, LaneWatermark>,
}

impl Watermarks {
    /// Iterates over the lanes with used words, waiting words or lost launches, ordered by id.
    pub fn lanes(&self) -> impl Iterator<Item = &LaneWatermark> {
        self.lanes.values()
    }

    /// Returns the fullest lane: a lane that lost launches, if any, otherwise the lane with the
    /// smallest fraction of free words.
    #[must_use]
    pub fn fullest(&self) -> Option<&LaneWatermark> {
        self.lanes().max_by_key(|lane| {
            let part =
                (u64::from(lane.used_words) << 32).checked_div(lane.lane_words.max(1).into());
            (lane.lost_launches > 0, part)
        })
    }

    /// Returns true if any lane may lose markers within the next `launches` launches, and if a read
    /// now would prevent the loss.
    #[must_use]
    pub fn about_to_overflow(&self, launches: u32) -> bool {
        self.lanes().any(|lane| lane.is_about_to_overflow(launches))
    }

    /// Adds the watermarks of a later read. For each lane, keeps the watermark with more lost
    /// launches, or with more used words if the lost launches are equal.
    pub fn merge(&mut self, later: Self) {
        for (id, later) in later.lanes {
            let lane = self.lanes.entry(id).or_insert(later);
            if (later.lost_launches, later.used_words) > (lane.lost_launches, lane.used_words) {
                *lane = later;
            }
        }
    }

    /// Returns the watermark of one lane, if the lane has used words, waiting words or lost
    /// launches.
    #[must_use]
    pub fn lane(&self, id: LaneId) -> Option<&LaneWatermark> {
        self.lanes.get(&id)
    }

    pub(crate) fn lane_mut(&mut self, id: LaneId) -> Option<&mut LaneWatermark> {
        self.lanes.get_mut(&id)
    }

    pub(crate) fn lanes_mut(&mut self) -> impl Iterator<Item = &mut LaneWatermark> {
        self.lanes.values_mut()
    }

    pub(crate) fn record(&mut self, lane: LaneWatermark) {
        if lane.used_words > 0 || lane.waiting_words > 0 || lane.lost_launches > 0 {
            self.lanes.insert(lane.lane, lane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::Noc0Coord;
    use wire::Risc;

    fn mark(used_words: u32) -> LaneWatermark {
        LaneWatermark {
            lane: LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc },
            lane_words: 12_000,
            used_words,
            waiting_words: 0,
            lost_launches: 0,
            pushed_words: 1_000,
            pushed_launches: 10,
            elapsed_cycles: Some(2_000_000),
            words_per_launch: 100,
        }
    }

    #[test]
    fn room_is_counted_in_launches_like_those_so_far_and_one_larger() {
        assert_eq!(mark(6_000).launches_left(), Some(54));
        assert_eq!(LaneWatermark { waiting_words: 100, ..mark(6_000) }.launches_left(), Some(53));
        assert!(mark(11_300).is_about_to_overflow(2) && !mark(11_300).is_about_to_overflow(1));
        assert_eq!(LaneWatermark { words_per_launch: 0, ..mark(0) }.launches_left(), None);
    }

    #[test]
    fn a_lane_that_a_read_would_not_help_asks_for_none() {
        let small = LaneWatermark { lane_words: 512, ..mark(0) };
        assert_eq!(small.launches_left(), Some(0));
        assert!(!small.is_about_to_overflow(1));
        assert!(LaneWatermark { lost_launches: 1, ..small }.is_about_to_overflow(1));
    }

    #[test]
    fn the_fuller_of_two_reads_stays() {
        let mut marks = Watermarks::default();
        for used in [500, 9_000, 200] {
            let mut read = Watermarks::default();
            read.record(mark(used));
            marks.merge(read);
        }
        assert_eq!(marks.fullest().map(|lane| lane.used_words), Some(9_000));
        assert!(marks.about_to_overflow(30) && !marks.about_to_overflow(10));
    }
}
