//! Use of the stages that move data, without the time spent writing records.

use crate::{
    last_block::{kernel_window, whole_kernel_cycles},
    op::{CoreRun, OpView},
    risc_wait::{blocked_cycles, cycle_percent, kernel_cycles},
    semaphore::semaphore_cycles,
    signals::Signals,
    stage::{Stage, StageUse},
    threshold::TURNS,
};
use analysis::RunSync;
use wire::{Risc, wait::WaitKind};

/// Use of a stage that moves data, and the share of its time that it spent writing records of
/// individual waits.
#[derive(Clone, Copy)]
pub(crate) struct MoverUse {
    pub(crate) used: StageUse,
    records_percent: f64,
}

pub(crate) fn mover_use(
    view: &OpView<'_>,
    signals: &Signals<'_>,
    stage: Stage,
    risc: Risc,
) -> Option<MoverUse> {
    let CoreSums { window, kernel, peers, undecided, barriers, other_cores, in_turn, records } =
        sums_over_cores(view, signals, risc);
    // The core's whole time is 100 %: a reader that has finished early is idle until the core's
    // end.
    let used = kernel.saturating_sub(peers);
    let used = StageUse {
        stage,
        risc,
        at_least_percent: cycle_percent(used.saturating_sub(undecided), window),
        at_most_percent: cycle_percent(used, window),
        barrier_percent: cycle_percent(barriers, kernel),
        other_cores_percent: cycle_percent(other_cores, kernel),
        in_turn_percent: cycle_percent(in_turn, window),
    };
    (kernel > 0)
        .then(|| MoverUse { used, records_percent: cycle_percent(records.min(kernel), window) })
}

/// Returns the percentage of the pace-setting stage's time that was spent writing records; 0 if
/// neither reader nor writer sets the pace.
pub(crate) fn records_percent(movers: [Option<MoverUse>; 2]) -> f64 {
    let pacing = movers.into_iter().flatten();
    let pacing = pacing.filter(|of| of.used.at_most_percent >= 100.0 - TURNS.value);
    pacing.map(|of| of.records_percent).fold(0.0, f64::max)
}

/// Returns the use of the stages without the cost of records of individual waits.
///
/// The other stages waited while the busiest stage wrote its records. Without records, the op would
/// have been shorter by that time.
pub(crate) fn without_records(
    movers: [Option<MoverUse>; 2],
    math: Option<StageUse>,
) -> Vec<StageUse> {
    let most = movers
        .into_iter()
        .flatten()
        .max_by(|one, other| one.used.at_most_percent.total_cmp(&other.used.at_most_percent));
    let math_percent = math.map_or(0.0, |math| math.at_least_percent);
    let pacing = most.filter(|most| most.used.at_most_percent > math_percent);
    let rest = 100.0 - pacing.map_or(0.0, |of| of.records_percent);
    let [reader, writer] = movers;
    let math = math.map(|used| MoverUse { used, records_percent: 0.0 });
    let stages = [reader, math, writer].into_iter().flatten();
    stages
        .map(|MoverUse { mut used, records_percent }| {
            used.at_least_percent -= records_percent;
            used.at_most_percent -= records_percent;
            for percent in
                [&mut used.at_least_percent, &mut used.at_most_percent, &mut used.in_turn_percent]
            {
                *percent = (*percent * 100.0 / rest.max(1.0)).clamp(0.0, 100.0);
            }
            used
        })
        .collect()
}

/// Cycles of one RISC type, summed over all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CoreSums {
    /// Cycles from the first kernel start to the last kernel end of the core.
    window: u64,
    /// Cycles of the RISC's kernels.
    kernel: u64,
    /// Cycles in which the RISC was blocked by other RISCs of its core.
    peers: u64,
    /// Cycles in which the RISC was blocked by RISCs that may belong to its own core or to another
    /// one.
    undecided: u64,
    /// Cycles in which the RISC waited at NoC barriers.
    barriers: u64,
    /// Cycles in which the RISC was blocked by RISCs of other cores.
    other_cores: u64,
    /// Like `peers`, but without the first wait, during which the pipeline fills.
    in_turn: u64,
    /// Cycles spent on records of individual waits and signals.
    records: u64,
}

fn sums_over_cores(view: &OpView<'_>, signals: &Signals<'_>, risc: Risc) -> CoreSums {
    let mut sums = CoreSums::default();
    for core in view.cores() {
        let window = kernel_window(core).map_or(0, |(start, end)| end.saturating_sub(start));
        for run in core.iter().filter(|run| run.lane.risc == risc) {
            let (by_peers, by_noc) = blocked_cycles(run.evidence);
            let (other_cores, undecided) = semaphore_cycles(run, signals);
            let peers = by_peers.saturating_sub(other_cores.saturating_add(undecided));
            sums.window = sums.window.saturating_add(window);
            for (sum, more) in [
                (&mut sums.kernel, kernel_cycles(run.evidence)),
                (&mut sums.peers, peers),
                (&mut sums.in_turn, behind_the_first(run, peers)),
                (&mut sums.undecided, undecided),
                (&mut sums.barriers, by_noc),
                (&mut sums.other_cores, other_cores),
                (&mut sums.records, record_cycles(view, run)),
            ] {
                *sum = sum.saturating_add(whole_kernel_cycles(run, more));
            }
        }
    }
    sums
}

/// Returns the cycles that a run spent writing records of individual waits and signals. The
/// measured cost of the RISC's probes is used; the result is 0 if that cost was not measured.
///
/// [`has_unmeasured_records`] returns true if a cost was not measured.
fn record_cycles(view: &OpView<'_>, run: &CoreRun<'_>) -> u64 {
    let measured = view.costs.cost(run.lane.chip_id, run.lane.risc);
    let (Some(sync), Some(cost)) = (run.evidence.sync(), measured) else { return 0 };
    let waits = cost.wide_data_cycles.saturating_mul(sync.waits.len() as u64);
    waits.saturating_add(cost.data_cycles.saturating_mul(sync.signals.len() as u64))
}

/// Returns true if individual waits were recorded but the cost of a record is unknown.
pub(crate) fn has_unmeasured_records(view: &OpView<'_>) -> bool {
    view.runs.iter().any(|run| {
        let has_waits = run.evidence.sync().is_some_and(|sync| !sync.waits.is_empty());
        has_waits && view.costs.cost(run.lane.chip_id, run.lane.risc).is_none()
    })
}

/// Returns a run's blocked cycles without the first wait for a buffer. The first wait is assumed to
/// have the mean length of all waits.
fn behind_the_first(run: &CoreRun<'_>, cycles: u64) -> u64 {
    let sums = run.evidence.sync().map(RunSync::sums).unwrap_or_default();
    let buffers = [WaitKind::CB_WAIT, WaitKind::CB_RESERVE];
    let waits = sums.iter().filter(|((kind, _), _)| buffers.contains(kind));
    let waits = waits.map(|(_, blocked)| blocked.waits).fold(0, u64::saturating_add);
    cycles.saturating_sub(cycles.checked_div(waits).unwrap_or(cycles))
}
