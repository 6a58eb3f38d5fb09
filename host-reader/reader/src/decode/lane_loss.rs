//! Finds the launches to which the losses counted by a device belong, if the runs of the same read
//! make this possible.
//!
//! The device counts the records for which L1 had no room, summed over all launches. Two kinds of
//! runs can have lost records: runs that filled their vector (the RISC's buffer in L1), and runs
//! sent in several pushes. While zones are open, the RISC reserves room in the vector for their
//! ends. A push at that time does not contain the ends, so it can be short although the vector had
//! no room for more records. If only one of the runs can have lost records, the program of the loss
//! is known.
//!
//! TT-Metal's runtime does not count losses. With this runtime a completely full vector may have
//! lost records, so a minimum loss is reported. If the lane was full, the runtime's count of
//! launches gives the number of missing runs.

use super::{CaptureMode, LaneDecoder};
use crate::ledger::{LossCause, LossKey, LossTotals, ProgramSpan};
use wire::{RunHostId, loss::LossCounts, vector};

/// Losses of one lane since the previous read, from the device's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneLoss {
    /// Number of records for which L1 had no room.
    pub counts: LossCounts,
    /// True if exactly one launch has finished since the previous read, and no other launch has
    /// begun.
    pub is_of_one_launch: bool,
    /// True if some of the lost records may belong to launches without a run in the lane.
    pub has_other_launches: bool,
    /// Programs of the first and the last launch without a run in the lane, if known.
    pub others: Option<ProgramSpan>,
    /// Number of finished launches, if the lane was full and the runtime does not count the runs
    /// that it discards for this reason.
    pub launches_of_full_lane: Option<u32>,
    /// Position of missing runs, if the lane was full or if the pushing RISC stopped waiting for
    /// runs of other RISCs.
    pub missing: Option<MissingRuns>,
}

/// Position of missing runs among the runs of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRuns {
    /// Anywhere: before, between or after the runs that were read.
    Anywhere,
    /// After the runs that begin at or before this word of the lane.
    BehindWord(u64),
}

impl LaneLoss {
    /// Returns true if nothing was lost.
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.counts.is_zero() && self.launches_of_full_lane.is_none() && self.missing.is_none()
    }
}

/// Minimum length, in words, of a run that may have lost records because its vector was full.
///
/// The value is the vector's size minus twelve words: six for the largest record, two for a zone's
/// end, and four that the RISC reserves for the totals of two sum zones.
const FULL_WORDS: usize = vector::VECTOR_WORDS - 12;

/// Statistics of the runs in one read of a lane, for assigning losses to programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RunTally {
    launches: u64,
    span: Option<ProgramSpan>,
    full_launches: u64,
    full_program: Option<RunHostId>,
    is_last_full: bool,
    /// True if words that were skipped may have contained a run.
    pub(super) has_gap: bool,
}

impl RunTally {
    /// Adds a push of `word_count` words. If `is_continued`, the push belongs to the previous
    /// launch.
    fn record(&mut self, program: RunHostId, is_continued: bool, word_count: usize) {
        if !is_continued || self.launches == 0 {
            self.launches = self.launches.saturating_add(1);
            self.is_last_full = false;
        }
        self.span = ProgramSpan::joined(self.span, Some(ProgramSpan::for_launch(program)));
        if (is_continued || word_count >= FULL_WORDS) && !self.is_last_full {
            self.is_last_full = true;
            self.full_launches = self.full_launches.saturating_add(1);
            self.full_program = Some(program);
        }
    }

    /// Returns the program to which the loss is assigned, if only one program can have lost
    /// records.
    ///
    /// In accumulate mode, a run need not fill its vector to have lost records.
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
    /// Counts a push of `word_count` words. If the runtime does not count losses and the push
    /// filled its vector, also adds a minimum loss.
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

    /// Adds the losses that the device counted. Call this method after all runs are decoded.
    pub(crate) fn lose_counted(&mut self, loss: &LaneLoss) {
        let lane = self.context.lane;
        if let Some(missing) = loss.missing {
            self.holes.add_refused_runs(missing);
        }
        if let Some(launches) = loss.launches_of_full_lane {
            // Each missing launch would have left at least one marker.
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
            .add_in_windows(key, LossTotals { programs, ..LossTotals::from_counts(loss.counts) });
    }
}
