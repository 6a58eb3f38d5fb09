//! Losses of a trace: missing records, each shown on the lane that lost them, at the time of the
//! loss.

use super::{TraceOp, run_end_cycle};
use reader::{
    lane::{Lane, LaneId},
    ledger::{LossCause, LossKey, LossTotals},
};
use recording::DeviceClock;
use std::{borrow::Borrow, collections::BTreeMap};
use tables::{LossRow, RecordingKey};
use wire::RunHostId;

/// Missing records of one lane, program and cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceLoss {
    /// Program that the records belong to; `None` if unknown.
    pub program: Option<RunHostId>,
    /// Cause of the loss.
    pub cause: LossCause,
    /// Number of missing records of each kind.
    pub totals: LossTotals,
    /// Cycle at which the loss is shown: the first one that is known of the following cycles.
    ///
    /// These are the end of the program's last run on this lane, the end of the program's op, the
    /// end of the lane, and the end of the chip's records.
    pub cycle: u64,
    /// Time at which the loss is shown, in nanoseconds since the trace's origin.
    pub time_ns: u64,
}

impl TraceLoss {
    /// Returns the loss as a row of the table `losses`. The row's host and recording are empty.
    pub(crate) fn row(&self, lane: LaneId) -> LossRow<'static> {
        LossRow {
            key: LossKey { lane, cause: self.cause, program: self.program },
            totals: self.totals,
            recording: RecordingKey::default(),
            time_ns: Some(i64::try_from(self.time_ns).unwrap_or(i64::MAX)),
        }
    }
}

/// Loss that has not been assigned a time yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct UnplacedLoss {
    pub(super) program: Option<RunHostId>,
    pub(super) cause: LossCause,
    pub(super) totals: LossTotals,
}

/// Returns, for each program of a chip, the latest end of its ops.
pub(super) fn program_ends<'a>(
    ops: impl IntoIterator<Item: Borrow<TraceOp<'a>>>,
) -> BTreeMap<u32, u64> {
    let mut ends = BTreeMap::new();
    for op in ops {
        let op = op.borrow();
        let end = ends.entry(op.figures.run_host_id).or_insert(op.end_cycle);
        *end = op.end_cycle.max(*end);
    }
    ends
}

/// Returns the losses of a lane with the times at which they are shown, sorted by time.
pub(super) fn place_losses(
    losses: &[UnplacedLoss],
    lane: Option<&Lane>,
    program_ends: &BTreeMap<u32, u64>,
    clock: &DeviceClock<'_>,
) -> Vec<TraceLoss> {
    if losses.is_empty() {
        return Vec::new();
    }
    let mut run_ends = BTreeMap::new();
    for (index, run) in lane.iter().flat_map(|lane| lane.runs.iter().enumerate()) {
        if let Some(end) = lane.and_then(|lane| run_end_cycle(lane, index)) {
            run_ends.insert(run.program.0, end);
        }
    }
    let lane_end = run_ends.values().copied().max().unwrap_or(clock.last_cycle());
    let mut placed: Vec<_> = losses
        .iter()
        .map(|loss| {
            let known = loss.program.and_then(|program| {
                run_ends.get(&program.0).or_else(|| program_ends.get(&program.0)).copied()
            });
            let cycle = known.unwrap_or(lane_end);
            let &UnplacedLoss { program, cause, totals } = loss;
            TraceLoss { program, cause, totals, cycle, time_ns: clock.time_ns(cycle) }
        })
        .collect();
    placed.sort_by_key(|loss| loss.cycle);
    placed
}
