//! Last block of a core's work. The times at which the engines (unpacker, matrix engine, packer)
//! finish this block show how long the matrix engine needs for one block.

use crate::{
    op::CoreRun,
    risc_wait::{is_barrier, kernel_cycles},
};
use analysis::RunSync;
use std::collections::BTreeMap;
use wire::{Risc, wait::SignalKind};

/// Minimum number of blocks for which the last block is representative of all blocks.
const FEWEST_BLOCKS: u64 = 8;
/// Minimum number of pops from a buffer that are necessary to compute the time between blocks.
const FEWEST_POPS: u64 = 4;

/// Times at which the engines of one core finish the last block.
///
/// The RISC of each engine ends its kernel when its engine ends. If the matrix engine has waited
/// for the last block, it ends later than the unpacker by the time that it needs for one block. If
/// the matrix engine limits the speed, it still has the previous block to process, so it ends later
/// than the unpacker by almost twice that time.
///
/// A step is the time from one block to the next. If the matrix engine has to wait for the packer,
/// both halves of the destination register are full. The packer then ends two steps after the
/// matrix engine has started its last block. So the time that the matrix engine needs for one block
/// is at most `to_math`, and at most two steps minus `to_packer`.
pub(crate) struct LastBlock {
    blocks: f64,
    /// Cycles from the first start to the last end of the core's kernels.
    window: f64,
    /// Length of a step at the end of the kernel, divided by the length of a step in the part of
    /// the kernel in which all waits were recorded.
    ///
    /// The ratio is below 1 if records were lost: once the record buffer is full, the RISCs spend
    /// no time on writing records.
    late_part: f64,
    /// Cycles from the unpacker's end to the matrix engine's end.
    pub(crate) to_math: f64,
    /// Cycles from the matrix engine's end to the packer's end.
    pub(crate) to_packer: f64,
}

impl LastBlock {
    pub(crate) fn from_core(core: &[CoreRun<'_>], records_percent: f64) -> Option<Self> {
        let [unpacker, math, packer] = [Risc::Trisc0, Risc::Trisc1, Risc::Trisc2]
            .map(|risc| core.iter().find(|run| run.lane.risc == risc));
        let unpacker = unpacker?;
        let (unpacked, computed) = (unpacker.kernel_end?, math?.kernel_end?);
        let to_math = computed.checked_sub(unpacked)?;
        let packed = packer.and_then(|run| run.kernel_end).unwrap_or(computed);
        let (first, last) = kernel_window(core)?;
        let window = last.checked_sub(first).filter(|&cycles| cycles > 0)?;
        let is_whole = unpacker.evidence.kernel().is_some_and(|(_, end)| end == unpacked);
        Some(Self {
            blocks: block_count(core)?,
            late_part: if is_whole { 1.0 } else { 1.0 - records_percent / 100.0 },
            window: window as f64,
            to_math: to_math as f64,
            to_packer: packed.saturating_sub(computed) as f64,
        })
    }

    /// Returns the cycles from one block to the next. Filling and draining the pipeline together
    /// count as one and a half blocks.
    pub(crate) fn step(&self) -> f64 {
        self.window / (self.blocks + 1.5) * self.late_part
    }

    fn window_percent(&self, cycles_of_block: f64) -> f64 {
        (cycles_of_block * self.blocks / self.window * 100.0).clamp(0.0, 100.0)
    }

    /// Returns the percentage of the core's time in which the math works.
    pub(crate) fn math_percent(&self) -> f64 {
        let held_up = 2.0 * self.step() - self.to_packer;
        let work = self.to_math.min(held_up);
        if work >= self.step() { 100.0 } else { self.window_percent(work.max(0.0)) }
    }

    /// Returns the percentage of the core's time between the filling and the draining of the
    /// pipeline. The first block fills the pipeline, and the last block drains it.
    pub(crate) fn steady_percent(&self) -> f64 {
        self.window_percent(self.window / (self.blocks + 1.5))
    }
}

/// Returns the first start and the last end of a core's kernels. The last end may be after the
/// period that the runs' evidence covers.
pub(crate) fn kernel_window(core: &[CoreRun<'_>]) -> Option<(u64, u64)> {
    let start = core.iter().filter_map(|run| run.evidence.kernel()).map(|(start, _)| start).min();
    start.zip(core.iter().filter_map(|run| run.kernel_end).max())
}

/// Scales `cycles`, a sum over the part of a RISC's kernel in which waits are known, to the whole
/// kernel.
pub(crate) fn whole_kernel_cycles(run: &CoreRun<'_>, cycles: u64) -> u64 {
    let Some(((start, _), end)) = run.evidence.kernel().zip(run.kernel_end) else { return 0 };
    let (whole, known) = (end.saturating_sub(start), kernel_cycles(run.evidence));
    let scaled = u128::from(cycles).saturating_mul(whole.into()).checked_div(known.into());
    scaled.and_then(|scaled| u64::try_from(scaled).ok()).unwrap_or(cycles)
}

/// Estimates the number of blocks that a core's unpacker processed in its whole kernel.
///
/// With recorded signals, the number follows from the rate of pops in the part of the kernel whose
/// signals are known. Otherwise, it is the largest number of recorded waits for one buffer or
/// semaphore. Waits that do not block are not recorded, so this number may be too small. If there
/// are more waits at a NoC barrier, but at most 1.5 times as many, their number is used instead.
fn block_count(core: &[CoreRun<'_>]) -> Option<f64> {
    let unpacker = core.iter().find(|run| run.lane.risc == Risc::Trisc0)?;
    if let Some(cycles) = unpacker.evidence.sync().and_then(pop_cycles) {
        let whole = whole_kernel_cycles(unpacker, kernel_cycles(unpacker.evidence));
        return Some(whole as f64 / cycles);
    }
    let syncs = core.iter().filter_map(|run| run.evidence.sync());
    let (barriers, others): (Vec<_>, Vec<_>) =
        syncs.flat_map(RunSync::sums).partition(|((kind, _), _)| is_barrier(*kind));
    let blocked = others.iter().map(|(_, blocked)| blocked.waits).max().unwrap_or(0);
    // A core with two barriers per block has twice as many waits at barriers.
    let most = blocked.saturating_add(blocked / 2);
    let barriers = barriers.iter().map(|(_, blocked)| blocked.waits);
    let blocks = barriers.filter(|&count| count <= most).fold(blocked, u64::max);
    (blocks >= FEWEST_BLOCKS).then(|| whole_kernel_cycles(unpacker, blocks) as f64)
}

/// Returns the mean number of cycles between two pops of the buffer that was popped most often.
fn pop_cycles(sync: &RunSync) -> Option<f64> {
    let mut pops: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
    for at in sync.signals.iter().filter(|at| at.kind == SignalKind::CbPop) {
        let (count, _, last) = pops.entry(at.signal.to_data()).or_insert((0, at.time, at.time));
        (*count, *last) = (count.saturating_add(1), at.time);
    }
    let (count, first, last) = pops.into_values().max()?;
    let cycles = last.checked_sub(first).filter(|&cycles| cycles > 0)?;
    (count >= FEWEST_POPS).then(|| cycles as f64 / count.saturating_sub(1) as f64)
}
