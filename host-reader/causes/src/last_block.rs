//! The last block of a core's work, whose way through its engines tells how long the math works on
//! one.

use crate::{
    op::CoreRun,
    risc_wait::{is_barrier, kernel_cycles},
};
use analysis::RunSync;
use std::collections::BTreeMap;
use wire::{Risc, wait::SignalKind};

/// Fewest blocks of which one's share can be taken for all.
const FEWEST_BLOCKS: u64 = 8;
/// Fewest pops that tell the time from one block to the next.
const FEWEST_POPS: u64 = 4;

/// The last block on its way through one core's engines. The RISCs of the engines end their kernels
/// with them.
///
/// Math that has waited for the block ends one block's work behind the unpacker; math that sets the
/// pace has another one before it, and ends almost two blocks' work behind. Both ends of its
/// destination are full where the packer is held up: then the packer ends two steps behind the start
/// of the math's last work. So neither distance is shorter than the math's own work, or leaves more
/// than that of two steps.
pub(crate) struct LastBlock {
    blocks: f64,
    /// Cycles of the core, from its first start to its last end.
    window: f64,
    /// Share of a step at the end that was left of it in the known part: a full ring takes no time.
    late_part: f64,
    /// From the unpacker's end to the math's.
    pub(crate) to_math: f64,
    /// From the math's end to the packer's.
    pub(crate) to_packer: f64,
}

impl LastBlock {
    pub(crate) fn of(core: &[CoreRun<'_>], records_percent: f64) -> Option<Self> {
        let run = |risc| core.iter().find(|run| run.lane.risc == risc);
        let end = |risc| run(risc)?.kernel_end;
        let unpacker = run(Risc::Trisc0)?;
        let (unpacked, computed) = (unpacker.kernel_end?, end(Risc::Trisc1)?);
        let to_math = computed.checked_sub(unpacked)?;
        let packed = end(Risc::Trisc2).unwrap_or(computed);
        let (first, last) = window_of(core)?;
        let window = last.checked_sub(first).filter(|&cycles| cycles > 0)?;
        let is_whole = unpacker.evidence.kernel.is_some_and(|(_, end)| end == unpacked);
        Some(Self {
            blocks: block_count(core)?,
            late_part: if is_whole { 1.0 } else { 1.0 - records_percent / 100.0 },
            window: as_share(window),
            to_math: as_share(to_math),
            to_packer: as_share(packed.saturating_sub(computed)),
        })
    }

    /// Cycles from one block to the next: those that fill and empty the pipeline stand for a block
    /// and a half.
    pub(crate) fn step(&self) -> f64 {
        self.window / (self.blocks + 1.5) * self.late_part
    }

    fn of_window(&self, cycles_of_block: f64) -> f64 {
        (cycles_of_block * self.blocks / self.window * 100.0).clamp(0.0, 100.0)
    }

    /// Share of the core's time in which the math is in use.
    pub(crate) fn math_percent(&self) -> f64 {
        let held_up = 2.0 * self.step() - self.to_packer;
        let work = self.to_math.min(held_up);
        if work >= self.step() { 100.0 } else { self.of_window(work.max(0.0)) }
    }

    /// Share of the core's time in which neither the first block fills the pipeline nor the last
    /// one empties it.
    pub(crate) fn steady_percent(&self) -> f64 {
        self.of_window(self.window / (self.blocks + 1.5))
    }
}

/// First start and last end of a core's kernels, however much of them is known.
pub(crate) fn window_of(core: &[CoreRun<'_>]) -> Option<(u64, u64)> {
    let start = core.iter().filter_map(|run| run.evidence.kernel).map(|(start, _)| start).min();
    start.zip(core.iter().filter_map(|run| run.kernel_end).max())
}

/// A sum over the known part of a RISC's kernel, taken for all of it.
pub(crate) fn of_whole_kernel(run: &CoreRun<'_>, cycles: u64) -> u64 {
    let Some(((start, _), end)) = run.evidence.kernel.zip(run.kernel_end) else { return 0 };
    let (whole, known) = (end.saturating_sub(start), kernel_cycles(run.evidence));
    let scaled = u128::from(cycles).saturating_mul(whole.into()).checked_div(known.into());
    scaled.and_then(|scaled| u64::try_from(scaled).ok()).unwrap_or(cycles)
}

/// Blocks that the unpacker of a core took in its whole kernel. Where signals were recorded, as many
/// as its pops in the known part have room for; else waits for the buffer that somebody waited for
/// most often, or for a barrier of about as many: not each wait for a buffer blocks.
fn block_count(core: &[CoreRun<'_>]) -> Option<f64> {
    let unpacker = core.iter().find(|run| run.lane.risc == Risc::Trisc0)?;
    if let Some(cycles) = unpacker.evidence.sync().and_then(pop_cycles) {
        let whole = of_whole_kernel(unpacker, kernel_cycles(unpacker.evidence));
        return Some(as_share(whole) / cycles);
    }
    let syncs = || core.iter().filter_map(|run| run.evidence.sync());
    let waits = |of_barriers: bool| {
        let of_kind = syncs().flat_map(RunSync::sums);
        let of_kind = of_kind.filter(move |((kind, _), _)| is_barrier(*kind) == of_barriers);
        of_kind.map(|(_, blocked)| blocked.waits)
    };
    let blocked = waits(false).max().unwrap_or(0);
    // Two barriers for each block are twice as many.
    let as_many = waits(true).filter(|&count| count <= blocked.saturating_add(blocked / 2));
    let blocks = as_many.fold(blocked, u64::max);
    (blocks >= FEWEST_BLOCKS).then(|| as_share(of_whole_kernel(unpacker, blocks)))
}

/// Cycles from one pop of a buffer to the next, of the buffer with most of them.
fn pop_cycles(sync: &RunSync) -> Option<f64> {
    let mut pops: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
    for at in sync.signals.iter().filter(|at| at.kind == SignalKind::CbPop) {
        let (count, _, last) = pops.entry(at.signal.to_data()).or_insert((0, at.time, at.time));
        (*count, *last) = (count.saturating_add(1), at.time);
    }
    let (count, first, last) = pops.into_values().max()?;
    let cycles = last.checked_sub(first).filter(|&cycles| cycles > 0)?;
    (count >= FEWEST_POPS).then(|| as_share(cycles) / as_share(count.saturating_sub(1)))
}

#[expect(clippy::cast_precision_loss, reason = "a share is shown")]
fn as_share(cycles: u64) -> f64 {
    cycles as f64
}
