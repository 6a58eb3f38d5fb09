//! Watermarks: how full the lanes are, and how soon one overflows.
//!
//! All of it comes from control vectors, so looking is cheap: no marker is read. What a
//! launch needs is learned from the launches so far.

use super::{
    plan::{CoreRead, LaneRead},
    session::Session,
};
use crate::{anomaly::AnomalyLog, lane::LaneId};
use std::collections::BTreeMap;
use wire::{loss::TRAILER_WORDS, vector};

/// How full one RISC's lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneWatermark {
    /// Whose lane.
    pub lane: LaneId,
    /// Words that the lane has in DRAM.
    pub lane_words: u32,
    /// Words of it that are filled and that the RISC cannot fill again before a host has read
    /// them; 0 in a lane that was read to its end, which the next launch begins anew.
    pub used_words: u32,
    /// Words of a finished run that wait in the RISC's L1 vector for the next launch.
    pub waiting_words: u32,
    /// Launches that found the lane full, and of which no host has read. The lane takes no
    /// more until it is read.
    pub lost_launches: u32,
    /// Words that were pushed since the read before.
    pub pushed_words: u32,
    /// Launches of the core that were pushed since the read before.
    pub pushed_launches: u32,
    /// Cycles of the tile's clock since the read before, where both have read it.
    pub elapsed_cycles: Option<u64>,
    /// Words that a launch needs: the most, on average between two looks, so far. 0 if
    /// nothing has been pushed yet.
    pub words_per_launch: u32,
}

/// Words beyond the average that a launch may need: a full vector, and the trailer that says
/// what it lost.
const LARGEST_PUSH_WORDS: u32 = VECTOR_WORDS + TRAILER_WORDS;
#[expect(clippy::cast_possible_truncation, reason = "a vector has 512 words")]
const VECTOR_WORDS: u32 = vector::VECTOR_WORDS as u32;

impl LaneWatermark {
    /// Words of DRAM that can still be filled.
    #[must_use]
    pub const fn free_words(&self) -> u32 {
        self.lane_words.saturating_sub(self.used_words)
    }

    /// Words of the L1 vector that nothing waits in.
    ///
    /// What a launch that is under way has recorded is known to its RISC alone.
    #[must_use]
    pub const fn free_l1_words(&self) -> u32 {
        VECTOR_WORDS.saturating_sub(self.waiting_words)
    }

    /// How many more launches the lane surely has room for, if they are like those so far;
    /// `None` if there was none yet.
    ///
    /// One launch among them may be larger by a whole L1 vector.
    #[must_use]
    pub const fn launches_left(&self) -> Option<u32> {
        if self.lost_launches > 0 {
            return Some(0);
        }
        let reserved = LARGEST_PUSH_WORDS + self.waiting_words;
        self.free_words().saturating_sub(reserved).checked_div(self.words_per_launch)
    }

    /// Words per second since the read before, on a tile clock of so many MHz.
    #[must_use]
    pub fn words_per_second(&self, aiclk_mhz: u32) -> Option<f64> {
        let cycles = self.elapsed_cycles.filter(|&cycles| cycles > 0)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let seconds = cycles as f64 / (f64::from(aiclk_mhz) * 1e6);
        Some(f64::from(self.pushed_words) / seconds)
    }

    /// Whether the lane may lose markers within so many more launches, and a read now would
    /// change that.
    #[must_use]
    pub const fn is_about_to_overflow(&self, launches: u32) -> bool {
        let has_room = match self.launches_left() {
            Some(left) => left >= launches,
            None => true,
        };
        !has_room && (self.used_words > 0 || self.lost_launches > 0)
    }
}

/// How full the lanes of a mesh are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watermarks {
    lanes: BTreeMap<LaneId, LaneWatermark>,
}

impl Watermarks {
    /// Every lane that anything was pushed to or waits for, by id.
    pub fn lanes(&self) -> impl Iterator<Item = &LaneWatermark> {
        self.lanes.values()
    }

    /// The lane with the smallest part of it free.
    #[must_use]
    pub fn fullest(&self) -> Option<&LaneWatermark> {
        let part = |lane: &LaneWatermark| {
            (u64::from(lane.used_words) << 32) / u64::from(lane.lane_words.max(1))
        };
        self.lanes().max_by_key(|lane| (lane.lost_launches > 0, part(lane)))
    }

    /// Whether a lane may lose markers within so many more launches, and a read now would
    /// change that.
    #[must_use]
    pub fn about_to_overflow(&self, launches: u32) -> bool {
        self.lanes().any(|lane| lane.is_about_to_overflow(launches))
    }

    /// Takes over the watermarks of a later read; of each lane, the fuller one stays.
    pub fn merge(&mut self, later: Self) {
        for (id, later) in later.lanes {
            let lane = self.lanes.entry(id).or_insert(later);
            if (later.lost_launches, later.used_words) > (lane.lost_launches, lane.used_words) {
                *lane = later;
            }
        }
    }

    /// The watermark of one lane, if anything was pushed to it or waits for it.
    #[must_use]
    pub fn of_lane(&self, id: LaneId) -> Option<&LaneWatermark> {
        self.lanes.get(&id)
    }

    pub(super) fn lanes_mut(&mut self) -> impl Iterator<Item = &mut LaneWatermark> {
        self.lanes.values_mut()
    }

    pub(super) fn enter(&mut self, lane: LaneWatermark) {
        if lane.used_words > 0 || lane.waiting_words > 0 || lane.lost_launches > 0 {
            self.lanes.insert(lane.lane, lane);
        }
    }

    /// Enters for every lane of a core when it was read.
    pub(super) fn enter_time(&mut self, core: &CoreRead, fill_of: impl Fn(LaneId) -> Fill) {
        for lane in &core.lanes {
            let elapsed = core.read_at.zip(fill_of(lane.id).read_at);
            if let Some(mark) = self.lanes.get_mut(&lane.id) {
                mark.elapsed_cycles = elapsed.and_then(|(now, before)| now.checked_sub(before));
            }
        }
    }
}

/// What a look at the control vectors of a mesh gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// How full the lanes are.
    pub watermarks: Watermarks,
    /// Cores that could not be looked at, and control words that cannot be.
    pub anomalies: AnomalyLog,
    /// Words that were read from the chips.
    pub words_read: u64,
}

/// What is remembered of how a lane fills up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fill {
    /// Words of the lane, as the last read left them.
    host_end: u32,
    /// Words of it that had been read by then.
    seen_end: u32,
    /// Finished launches of the core, as the last read left them.
    run_counter: u32,
    /// The tile's clock at the last read.
    read_at: Option<u64>,
    /// The most words per launch that a read found, and that a look found since.
    words_per_launch: [u32; 2],
}

impl Fill {
    /// How full a lane is, before anything of it is read.
    pub(super) fn watermark(&self, core: &CoreRead, lane: &LaneRead) -> LaneWatermark {
        let control = &core.control;
        let host_end = control.host_end(lane.risc_index).min(lane.lane_words);
        let seen_end = control.seen_end(lane.risc_index);
        let (lost, seen_lost) = control.lost_launches(lane.risc_index);
        let is_rewound = host_end < self.host_end || seen_end < self.seen_end;
        let pushed_words = if is_rewound { host_end } else { host_end - self.host_end };
        let runs = control.word(control.layout.run_counter);
        let pushed_launches = runs.checked_sub(self.run_counter).unwrap_or(runs);
        let average = pushed_words.div_ceil(pushed_launches.max(1));
        LaneWatermark {
            lane: lane.id,
            lane_words: lane.lane_words,
            used_words: if control.is_ours() && host_end == seen_end { 0 } else { host_end },
            waiting_words: waiting_words(core, lane),
            lost_launches: if lost == 0 { 0 } else { lost.saturating_sub(seen_lost) },
            pushed_words,
            pushed_launches,
            elapsed_cycles: None,
            words_per_launch: self.words_per_launch[0].max(average),
        }
    }

    /// Learns from a look, after which the lane is as it was before.
    pub(super) fn look(&mut self, mark: &mut LaneWatermark) {
        self.words_per_launch[1] = self.words_per_launch[1].max(mark.words_per_launch);
        mark.words_per_launch = self.words_per_launch[1];
    }

    /// Learns from a read that has been acknowledged.
    pub(super) fn read(&mut self, core: &CoreRead, lane: &LaneRead, words_per_launch: u32) {
        let control = &core.control;
        let is_taken = lane.unread() == 0 || lane.words.is_some();
        let host_end = control.host_end(lane.risc_index).min(lane.lane_words);
        let [host_end, seen_end, run_counter] = match (control.is_ours(), is_taken) {
            (true, true) => [host_end, host_end, control.word(control.layout.run_counter)],
            (true, false) => [self.host_end, self.seen_end, self.run_counter],
            // Upstream's control vector was zeroed.
            (false, _) => [0; 3],
        };
        let read_at = core.read_at.or(self.read_at);
        let words_per_launch =
            [self.words_per_launch[0].max(words_per_launch), self.words_per_launch[1]];
        *self = Self { host_end, seen_end, run_counter, read_at, words_per_launch };
    }
}

/// Words of a finished run in L1.
fn waiting_words(core: &CoreRead, lane: &LaneRead) -> u32 {
    let control = &core.control;
    let is_pushed = !control.is_ours() && control.word(control.layout.profiler_done) != 0;
    if is_pushed { 0 } else { control.device_end(lane.risc_index).min(VECTOR_WORDS) }
}

/// The watermarks of cores whose control vectors have been read.
pub(super) fn of_cores(cores: &[CoreRead], mut fill: impl FnMut(LaneId) -> Fill) -> Watermarks {
    let mut marks = Watermarks::default();
    for core in cores.iter().filter(|core| core.control.word(core.control.layout.dram_address) != 0)
    {
        for lane in &core.lanes {
            marks.enter(fill(lane.id).watermark(core, lane));
        }
    }
    marks
}

/// What a session of a look found.
pub(super) fn look_of(session: Session<'_>) -> Look {
    let Session { anomalies, watermarks, words_read, .. } = session;
    Look { watermarks, anomalies, words_read }
}

impl Look {
    /// Takes over what a look at another chip gave.
    pub(super) fn merge(&mut self, other: Self) {
        self.watermarks.lanes.extend(other.watermarks.lanes);
        self.anomalies.merge(other.anomalies);
        self.words_read += other.words_read;
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
        assert_eq!(mark(6_000).words_per_second(1_000), Some(500_000.0));
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
            read.enter(mark(used));
            marks.merge(read);
        }
        assert_eq!(marks.fullest().map(|lane| lane.used_words), Some(9_000));
        assert!(marks.about_to_overflow(30) && !marks.about_to_overflow(10));
    }
}
