//! How full the lanes are, from control vectors.
//!
//! All of it comes from control vectors, so looking is cheap: no marker is read. What a
//! launch needs is learned from the launches so far.

use super::{
    counters, pending,
    plan::{CoreRead, LaneRead},
    session::Session,
};
use crate::{
    anomaly::AnomalyLog,
    decode::CaptureMode,
    lane::{Lane, LaneId, RecordHead, Run},
    names::ZoneTable,
    role::RoleTable,
    watermark::{LaneWatermark, VECTOR_WORDS, Watermarks},
};
use std::collections::BTreeMap;
use wire::{LaneEnd, PacketKind, control::ext, vector};

/// Result of a look at the control vectors of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// How full the lanes are.
    pub watermarks: Watermarks,
    /// Cores that could not be looked at, and control words that cannot be.
    pub anomalies: AnomalyLog,
    /// Words that were read from the chips.
    pub words_read: u64,
}

/// Adds for every lane of a core when it was read.
pub(super) fn add_time(marks: &mut Watermarks, core: &CoreRead, fill_of: impl Fn(LaneId) -> Fill) {
    for lane in &core.lanes {
        let elapsed = core.read_at.zip(fill_of(lane.id).read_at);
        if let Some(mark) = marks.of_lane_mut(lane.id) {
            mark.elapsed_cycles = elapsed.and_then(|(now, before)| now.checked_sub(before));
        }
    }
}

/// State that a reader keeps of how a lane fills up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fill {
    /// The tile's clock at the last read.
    read_at: Option<u64>,
    /// The most words per launch that a read found, and that a look found since.
    words_per_launch: [u32; 2],
}

impl Fill {
    /// How full a lane is, before anything of it is read.
    ///
    /// In accumulate mode the device counts pushes. Until a read has counted the launches in them,
    /// each push is taken for one.
    fn watermark(&self, core: &CoreRead, lane: &LaneRead, mode: CaptureMode) -> LaneWatermark {
        let control = &core.control;
        // Upstream's control vector is zeroed by every read.
        let launches_before = if control.is_ours() { core.memory.run_counter } else { 0 };
        let pushed_launches = control.run_counter().wrapping_sub(launches_before);
        let pushed_words = lane.unread();
        let average = pushed_words.div_ceil(pushed_launches.max(1));
        let words_per_launch = match self.words_per_launch[0] {
            known if mode == CaptureMode::Accumulate && known > 0 => known,
            known => known.max(average),
        };
        let is_handed_back = control.is_ours()
            && pushed_words == 0
            && control.run_counter() == control.word(ext::SEEN_RUNS);
        LaneWatermark {
            lane: lane.id,
            lane_words: lane.lane_words,
            used_words: if is_handed_back { 0 } else { used_words(core, lane) },
            waiting_words: pending::waiting_words(core, lane.risc_index, mode).min(VECTOR_WORDS),
            lost_launches: counters::refused_runs(core, lane.risc_index),
            pushed_words,
            pushed_launches,
            elapsed_cycles: None,
            words_per_launch,
        }
    }

    /// Learns from a look, after which the lane is as it was before.
    pub(super) fn look(&mut self, mark: &mut LaneWatermark) {
        self.words_per_launch[1] = self.words_per_launch[1].max(mark.words_per_launch);
        mark.words_per_launch = self.words_per_launch[1];
    }

    /// Learns what the launches of accumulate mode need on average, by a read that has counted them.
    pub(super) fn count(&mut self, words_per_launch: u32) -> u32 {
        self.words_per_launch = [self.words_per_launch[0].max(words_per_launch); 2];
        self.words_per_launch[0]
    }

    /// Learns from a read that has been acknowledged.
    pub(super) fn read(&mut self, core: &CoreRead, words_per_launch: u32) {
        let read_at = core.read_at.or(self.read_at);
        let words_per_launch =
            [self.words_per_launch[0].max(words_per_launch), self.words_per_launch[1]];
        *self = Self { read_at, words_per_launch };
    }
}

/// Words of a lane that its RISC cannot fill again before a host has read them.
///
/// A lane that turns may leave less than a run free at its end, and turns only if the run fits
/// into what was read.
fn used_words(core: &CoreRead, lane: &LaneRead) -> u32 {
    const LARGEST_RUN: u32 = VECTOR_WORDS.saturating_add(PUSH_ALIGN_WORDS);
    let LaneEnd { end, .. } = lane.end;
    let is_followed = lane.begin <= end;
    if !core.control.has_turning_lanes() || is_followed && lane.begin <= LARGEST_RUN {
        return end;
    }
    if is_followed {
        let left_free = lane.lane_words.saturating_sub(end).min(VECTOR_WORDS);
        return lane.unread().saturating_add(left_free);
    }
    let free = lane.begin.saturating_sub(end).saturating_sub(PUSH_ALIGN_WORDS);
    lane.lane_words.saturating_sub(free)
}

#[expect(clippy::cast_possible_truncation, reason = "four words")]
pub(super) const PUSH_ALIGN_WORDS: u32 = vector::PUSH_ALIGN_WORDS as u32;

/// The watermarks of cores whose control vectors have been read.
pub(super) fn of_cores(
    cores: &[CoreRead],
    mode: CaptureMode,
    mut fill: impl FnMut(LaneId) -> Fill,
) -> Watermarks {
    let mut marks = Watermarks::default();
    for core in cores.iter().filter(|core| core.control.word(core.control.layout.dram_address) != 0)
    {
        for lane in &core.lanes {
            marks.record(fill(lane.id).watermark(core, lane, mode));
        }
    }
    marks
}

/// Counts the launches that accumulate mode has pushed, now that the records of `lanes` were decoded;
/// gives back what a launch of each lane needs on average.
pub(super) fn count_accumulated(
    marks: &mut Watermarks,
    cores: &[CoreRead],
    lanes: &[Lane],
    zones: &ZoneTable,
) -> Vec<(LaneId, u32)> {
    let roles = RoleTable::of_names(zones);
    let lanes: BTreeMap<LaneId, &Lane> = lanes.iter().map(|lane| (lane.id, lane)).collect();
    let mut averages = Vec::new();
    for core in cores {
        let counts = core.lanes.iter().filter_map(|lane| {
            Some(pushed_launches(lanes.get(&lane.id)?, lane, core.control.is_ours(), &roles))
        });
        let Some(launches) = counts.max().filter(|&launches| launches > 0) else { continue };
        for lane in &core.lanes {
            let Some(mark) = marks.of_lane_mut(lane.id) else { continue };
            mark.pushed_launches = launches;
            averages.push((lane.id, mark.pushed_words.div_ceil(launches)));
        }
    }
    averages
}

/// Launches among the words of a lane that were pushed. What a read has taken from L1 is behind them.
///
/// A run of our runtime is a launch, or the zone of a push, which belongs to no program. One of
/// upstream's holds several launches, each with the zone of its firmware.
fn pushed_launches(lane: &Lane, read: &LaneRead, is_ours: bool, roles: &RoleTable) -> u32 {
    let begin = u64::from(read.begin);
    let pushed = begin..begin.saturating_add(read.unread().into());
    let launches_of = |(index, run): (usize, &Run)| {
        let heads = lane.heads.get(lane.run_records(index)).unwrap_or_default();
        if is_ours {
            let is_push = run.program.base() == 0
                && matches!(heads, [start, end] if start.zone() == end.zone());
            return usize::from(!is_push);
        }
        let is_launch = |head: &&RecordHead| {
            head.kind() == PacketKind::ZoneStart && roles.of(head.zone()).is_firmware()
        };
        heads.iter().filter(is_launch).count().max(1)
    };
    let runs = lane.runs.iter().enumerate().filter(|(_, run)| pushed.contains(&run.origin));
    let launches: usize = runs.map(launches_of).sum();
    u32::try_from(launches).unwrap_or(u32::MAX)
}

/// Returns the result of a session that only looked at control vectors.
pub(super) fn look_of(session: Session<'_>) -> Look {
    let Session { anomalies, watermarks, words_read, .. } = session;
    Look { watermarks, anomalies, words_read }
}

impl Look {
    /// Takes over what a look at another chip gave.
    pub(super) fn merge(&mut self, other: Self) {
        self.watermarks.extend(other.watermarks);
        self.anomalies.merge(other.anomalies);
        self.words_read = self.words_read.saturating_add(other.words_read);
    }
}
