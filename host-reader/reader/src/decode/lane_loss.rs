//! Losses that a device counts: of which launches they are, as far as the runs of a read show.
//!
//! A device counts what found no room in L1 over all launches. Only a run that filled its vector
//! can have lost anything, or one of several pushes: what is pushed while zones are open lacks
//! their ends, for which room was kept. So the program is known where there is one such run. A
//! foreign runtime counts nothing: there a vector that is full to the last word may have lost
//! records, which is said. Where its lane was full, its count of launches says how many are
//! missing.

use super::{CaptureMode, LaneDecoder};
use crate::ledger::{LossCause, LossKey, LossTotals, ProgramSpan};
use wire::{RunHostId, loss::LossCounts, vector};

/// Losses of one lane since the previous read, from the device's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneLoss {
    /// Records that found no room in L1.
    pub counts: LossCounts,
    /// True if exactly one launch was finished, and none has begun.
    pub is_of_one_launch: bool,
    /// True if launches whose runs are not in the lane may have lost some of it.
    pub has_other_launches: bool,
    /// Programs of the first and the last of these launches, where known.
    pub others: Option<ProgramSpan>,
    /// Launches that were finished, where the lane was full and refused runs are not counted.
    pub launches_of_full_lane: Option<u32>,
    /// Where runs may be missing, because the lane had no room for them or they came too late.
    pub missing: Option<MissingRuns>,
}

/// Where among the runs of a read others are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRuns {
    /// Before any of them, between two, or behind all.
    Anywhere,
    /// Behind those that begin at this word of the lane or before.
    BehindWord(u64),
}

impl LaneLoss {
    /// Returns true if nothing was lost.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.counts.is_zero() && self.launches_of_full_lane.is_none() && self.missing.is_none()
    }
}

/// Words from which on a run may have found no room: a vector without the largest record, the
/// end of a zone, and the totals whose room is kept.
const FULL_WORDS: usize = vector::VECTOR_WORDS - 12;

/// The runs of one read of a lane, counted as far as losses need it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunTally {
    launches: u64,
    span: Option<ProgramSpan>,
    full_launches: u64,
    full_program: Option<RunHostId>,
    is_last_full: bool,
    /// True if words were lost that may have been a run.
    pub(super) has_gap: bool,
}

impl RunTally {
    /// Takes in a push, which may continue the launch before it.
    fn record(&mut self, program: RunHostId, is_continued: bool, word_count: usize) {
        if !is_continued || self.launches == 0 {
            self.launches = self.launches.saturating_add(1);
            self.is_last_full = false;
        }
        self.span = ProgramSpan::joined(self.span, Some(ProgramSpan::of_launch(program)));
        if (is_continued || word_count >= FULL_WORDS) && !self.is_last_full {
            self.is_last_full = true;
            self.full_launches = self.full_launches.saturating_add(1);
            self.full_program = Some(program);
        }
    }

    /// The program that lost what was lost, if only one can have.
    ///
    /// In accumulate mode a run that fills its vector is not the only one that can.
    fn program(&self, loss: &LaneLoss, mode: CaptureMode) -> Option<RunHostId> {
        let spans = [self.span, loss.others];
        if loss.is_of_one_launch {
            return spans.into_iter().flatten().next().map(|span| span.last);
        }
        match (loss.has_other_launches || self.has_gap, self.full_launches, self.launches) {
            (true, ..) => None,
            (_, 1, _) if mode != CaptureMode::Accumulate => self.full_program,
            (_, _, 1) => self.span.map(|span| span.last),
            _ => None,
        }
    }
}

impl LaneDecoder<'_> {
    /// Counts a push of `word_count` words, and records its losses under a foreign runtime.
    pub(super) fn count_run(
        &mut self,
        program: Option<RunHostId>,
        is_continued: bool,
        word_count: usize,
    ) {
        let Some(program) = program else { return };
        self.runs.record(program, is_continued, word_count);
        let is_counted = self.context.lane_generation.is_some();
        let is_worker = self.context.mode == CaptureMode::Workers;
        if !is_counted && is_worker && word_count >= vector::VECTOR_WORDS {
            let lane = self.context.lane;
            let key = LossKey { lane, cause: LossCause::L1Full, program: Some(program) };
            self.losses.add_in_windows(key, LossTotals::at_least_markers(1));
        }
    }

    /// Adds what the device counted, once all runs are decoded.
    pub(crate) fn lose_counted(&mut self, loss: &LaneLoss) {
        let lane = self.context.lane;
        if let Some(missing) = loss.missing {
            self.holes.add_refused_runs(missing);
        }
        if let Some(launches) = loss.launches_of_full_lane {
            // Each launch leaves a marker at least.
            let runs = u64::from(launches).saturating_sub(self.runs.launches);
            let totals = LossTotals { runs, ..LossTotals::at_least_markers(runs.max(1)) };
            let key = LossKey { lane, cause: LossCause::DramFull, program: None };
            self.losses.add_in_windows(key, totals);
        }
        if loss.counts.is_zero() {
            return;
        }
        let program = self.runs.program(loss, self.context.mode);
        let span = ProgramSpan::joined(self.runs.span, loss.others);
        let programs = if program.is_some() { None } else { span };
        let key = LossKey { lane, cause: LossCause::L1Full, program };
        self.losses
            .add_in_windows(key, LossTotals { programs, ..LossTotals::of_counts(loss.counts) });
    }
}
