//! Use of the math engine: measured from the times of the engine's last block, or estimated as a
//! range from the waits of the unpacker and the packer.

use crate::{
    counter_shares::fpu_percent,
    last_block::{LastBlock, kernel_window},
    middle::{median, middle_half},
    op::OpView,
    risc_wait::{blocked_cycles, cycle_percent, kernel_cycles},
    stage::{Stage, StageUse},
    threshold::{KNOWN_MARGIN, PACING},
};
use analysis::RunSync;
use wire::{Risc, wait::WaitKind};

#[derive(Clone, Copy)]
pub(crate) struct MathUse {
    pub(crate) used: StageUse,
    pub(crate) is_known: bool,
    /// True if the use is not measured: it follows from the low use of reader and writer.
    pub(crate) is_assumed: bool,
    pub(crate) last_blocks: Option<LastBlocks>,
}

/// Figures of the last block of each core, as medians over the cores of an op.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LastBlocks {
    /// Time between the filling and the draining of the pipeline, in percent of the core's time.
    pub(crate) steady_percent: f64,
    /// Stage that the other stages wait for at the end: the writer if the packer is held up, the
    /// reader if the math has waited for its last block, otherwise the math.
    pub(crate) slowest: Stage,
    /// Time that the math waited for its last block, in percent of the time from one block to the
    /// next. Negative if the unpacker waited for the math.
    pub(crate) starved_percent: f64,
    /// Time that the packer was held up at the end, in percent of the time from one block to the
    /// next. Negative if the packer waited for the math.
    pub(crate) held_up_percent: f64,
}

/// Returns the range of the math's use, measured by the last blocks if possible.
///
/// Otherwise, the upper bound is the longest time in which a kernel of the three engines runs and does
/// not wait, and the lower bound is the higher of two values: 100 %
/// minus the percentages of time that the unpacker and the packer wait, and the use that the
/// engine's hardware counter measured. If only the engines can set the pace, both bounds are 100 %. This is an
/// assumption, which needs engines that may have been in use all the time.
pub(crate) fn math_use(
    view: &OpView<'_>,
    is_only_pacer: bool,
    records_percent: f64,
) -> Option<MathUse> {
    let unpack = kind_percent(view, Risc::Trisc0, WaitKind::CB_WAIT);
    let pack = kind_percent(view, Risc::Trisc2, WaitKind::CB_RESERVE);
    if unpack.is_none() && pack.is_none() {
        return None;
    }
    let idle = unpack.unwrap_or(0.0) + pack.unwrap_or(0.0);
    let floor =
        (100.0 - idle).max(0.0).max(fpu_percent(view.counter_shares).unwrap_or(0.0).min(100.0));
    let last = view.cores().filter_map(|core| LastBlock::from_core(core, records_percent));
    let last: Vec<LastBlock> = last.collect();
    let measured = middle_half(last.iter().map(LastBlock::math_percent).collect());
    let is_assumed = measured.is_none() && is_only_pacer && may_be_busy(view, unpack);
    let (least, most) = match measured {
        Some(range) => range.map(|percent| percent.clamp(floor, 100.0)).into(),
        None if is_assumed => (100.0, 100.0),
        None => (floor, engines_at_most_percent(view).max(floor)),
    };
    let [steady, held_up, starved] = [
        LastBlock::steady_percent,
        |last: &LastBlock| (last.to_packer / last.step() - 1.0) * 100.0,
        |last: &LastBlock| (1.0 - last.to_math / last.step()) * 100.0,
    ]
    .map(|percent| median(last.iter().map(percent).collect()));
    let slowest = match (held_up, starved) {
        (Some(0.0..), _) => Stage::Writer,
        (_, Some(0.0..)) => Stage::Reader,
        _ => Stage::Math,
    };
    let medians = steady.zip(starved.zip(held_up));
    let last_blocks = medians.map(|(steady_percent, (starved_percent, held_up_percent))| {
        LastBlocks { steady_percent, slowest, starved_percent, held_up_percent }
    });
    let used = StageUse {
        stage: Stage::Math,
        risc: Risc::Trisc1,
        at_least_percent: least,
        at_most_percent: most,
        barrier_percent: 0.0,
        other_cores_percent: 0.0,
        in_turn_percent: 0.0,
    };
    // If neither the unpacker nor the packer waits, the math works all the time, even if its last
    // block was not measured.
    let is_known = measured.is_some() || least >= most || floor >= 100.0 - KNOWN_MARGIN.value;
    Some(MathUse { used, is_known, is_assumed, last_blocks })
}

/// Returns false if the engines cannot have been in use all the time: the RISC that issues the
/// arithmetic ended early, or the unpacker waited for tiles most of the time.
///
/// An engine is in use at most while its kernel runs and does not wait.
fn may_be_busy(view: &OpView<'_>, unpack_wait_percent: Option<f64>) -> bool {
    let (mut math, mut whole) = (0_u64, 0_u64);
    for core in view.cores() {
        let window = kernel_window(core).map_or(0, |(start, end)| end.saturating_sub(start));
        for run in core.iter().filter(|run| run.lane.risc == Risc::Trisc1) {
            math = math.saturating_add(kernel_cycles(run.evidence));
            whole = whole.saturating_add(window);
        }
    }
    let is_long = whole == 0 || cycle_percent(math, whole) >= PACING.value;
    let is_fed = unpack_wait_percent.is_none_or(|percent| percent <= MOST_STARVED);
    is_long && is_fed
}

/// Returns the longest time in which a kernel of the three engines runs and does not wait, in percent of
/// the time of the cores; 100 % if the kernel of one of them is unknown.
fn engines_at_most_percent(view: &OpView<'_>) -> f64 {
    let engines = [Risc::Trisc0, Risc::Trisc1, Risc::Trisc2];
    let percents = engines.map(|risc| {
        let (mut used, mut whole) = (0_u64, 0_u64);
        for core in view.cores() {
            let (start, end) = kernel_window(core)?;
            let run = core.iter().find(|run| run.lane.risc == risc)?;
            // Time in which waits are not known counts as use.
            let ((first, _), last) = run.evidence.kernel().zip(run.kernel_end)?;
            let (waited, _) = blocked_cycles(run.evidence);
            used = used.saturating_add(last.saturating_sub(first).saturating_sub(waited));
            whole = whole.saturating_add(end.saturating_sub(start));
        }
        (whole > 0).then(|| cycle_percent(used, whole))
    });
    percents.into_iter().map(|percent| percent.unwrap_or(100.0)).fold(0.0, f64::max)
}

/// Percentage of the unpacker's time from which it mostly waits for tiles.
const MOST_STARVED: f64 = 50.0;

/// Returns the percentage of a RISC's kernel time that the RISC spent in waits of one kind.
pub(crate) fn kind_percent(view: &OpView<'_>, risc: Risc, kind: WaitKind) -> Option<f64> {
    let (mut kernel, mut blocked) = (0_u64, 0_u64);
    for run in view.runs.iter().filter(|run| run.lane.risc == risc) {
        kernel = kernel.saturating_add(kernel_cycles(run.evidence));
        let sums = run.evidence.sync().map(RunSync::sums).unwrap_or_default();
        let waits = sums.into_iter().filter(|((of, _), _)| *of == kind);
        blocked = waits.fold(blocked, |sum, (_, more)| sum.saturating_add(more.cycles));
    }
    (kernel > 0).then(|| cycle_percent(blocked, kernel))
}
