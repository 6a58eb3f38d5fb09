//! Fill levels of the lanes, computed from control vectors.
//!
//! A poll only reads control vectors, not markers, so it is cheap. The space that a launch needs is
//! estimated from the launches so far.

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

/// Result of polling the control vectors of a mesh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Fill levels of the lanes.
    pub watermarks: Watermarks,
    /// Anomalies: unreadable cores and implausible control words.
    pub anomalies: AnomalyLog,
    /// Number of words read from the chips.
    pub words_read: u64,
}

/// Sets the time since the previous read for every lane of a core.
pub(super) fn add_time(marks: &mut Watermarks, core: &CoreRead, fill_of: impl Fn(LaneId) -> Fill) {
    for lane in &core.lanes {
        let elapsed = core.read_at.zip(fill_of(lane.id).read_at);
        if let Some(mark) = marks.lane_mut(lane.id) {
            mark.elapsed_cycles = elapsed.and_then(|(now, before)| now.checked_sub(before));
        }
    }
}

/// State of a lane's fill level between two reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fill {
    /// The tile's clock at the last read.
    read_at: Option<u64>,
    /// Maximum number of words per launch so far: the first element is from reads, the second from
    /// polls.
    words_per_launch: [u32; 2],
}

impl Fill {
    /// Returns the fill level of a lane, before any words of the lane are read.
    ///
    /// In accumulate mode, the device counts pushes (transfers of records from L1 to DRAM) instead
    /// of launches. Until a read has counted the launches, each push is assumed to contain one
    /// launch.
    fn watermark(&self, core: &CoreRead, lane: &LaneRead, mode: CaptureMode) -> LaneWatermark {
        let control = &core.control;
        // Every read resets the control vector of TT-Metal's runtime, so the number of launches
        // starts at 0.
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

    /// After a poll, updates the estimate of words per launch, both in `self` and in `mark`.
    pub(super) fn look(&mut self, mark: &mut LaneWatermark) {
        self.words_per_launch[1] = self.words_per_launch[1].max(mark.words_per_launch);
        mark.words_per_launch = self.words_per_launch[1];
    }

    /// Updates the estimate of words per launch in accumulate mode, after a read has counted the
    /// launches. Returns the new estimate.
    pub(super) fn count(&mut self, words_per_launch: u32) -> u32 {
        self.words_per_launch = [self.words_per_launch[0].max(words_per_launch); 2];
        self.words_per_launch[0]
    }

    /// Updates the state after a read.
    pub(super) fn read(&mut self, core: &CoreRead, words_per_launch: u32) {
        let read_at = core.read_at.or(self.read_at);
        let words_per_launch =
            [self.words_per_launch[0].max(words_per_launch), self.words_per_launch[1]];
        *self = Self { read_at, words_per_launch };
    }
}

/// Returns the number of words of a lane that are in use: the RISC cannot write to them until a
/// host has read the lane.
///
/// Before a wrap, up to the size of one run may stay unused at the end of the lane. A lane only
/// wraps if the RISC's run fits in the part of the lane that was read.
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

/// Returns the watermarks of cores whose control vectors have been read.
pub(super) fn core_watermarks(
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

/// Counts the launches that were pushed in accumulate mode, using the decoded `lanes`, and stores
/// the counts in `marks`.
///
/// Returns the average number of words per launch for each lane.
pub(super) fn count_accumulated(
    marks: &mut Watermarks,
    cores: &[CoreRead],
    lanes: &[Lane],
    zones: &ZoneTable,
) -> Vec<(LaneId, u32)> {
    let roles = RoleTable::from_names(zones);
    let lanes: BTreeMap<LaneId, &Lane> = lanes.iter().map(|lane| (lane.id, lane)).collect();
    let mut averages = Vec::new();
    for core in cores {
        let counts = core.lanes.iter().filter_map(|lane| {
            Some(pushed_launches(lanes.get(&lane.id)?, lane, core.control.is_ours(), &roles))
        });
        let Some(launches) = counts.max().filter(|&launches| launches > 0) else { continue };
        for lane in &core.lanes {
            let Some(mark) = marks.lane_mut(lane.id) else { continue };
            mark.pushed_launches = launches;
            averages.push((lane.id, mark.pushed_words.div_ceil(launches)));
        }
    }
    averages
}

/// Returns the number of launches among the pushed words of a lane.
///
/// Runs that were read from L1 come after the pushed words and are not counted.
///
/// A run of this project's runtime contains either one launch, or only the zone that measures a
/// push. The zone of a push belongs to no program. A run of TT-Metal's runtime contains several
/// launches, each with a firmware zone.
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
            head.kind() == PacketKind::ZoneStart && roles.role(head.zone()).is_firmware()
        };
        heads.iter().filter(is_launch).count().max(1)
    };
    let runs = lane.runs.iter().enumerate().filter(|(_, run)| pushed.contains(&run.origin));
    let launches: usize = runs.map(launches_of).sum();
    u32::try_from(launches).unwrap_or(u32::MAX)
}

impl Look {
    /// Adds the watermarks, anomalies and word count of a session. The session must have read
    /// nothing but control vectors.
    pub(super) fn add(&mut self, session: Session<'_>) {
        self.watermarks.merge(session.watermarks);
        self.anomalies.merge(session.anomalies);
        self.words_read = self.words_read.saturating_add(session.words_read);
    }
}
