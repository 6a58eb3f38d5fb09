//! Blocked time of each RISC, by the object that the RISC waited for.

use crate::{
    evidence::RunEvidence,
    finding::percent,
    op::{CoreRun, OpView},
};
use analysis::{Blocked, RunSync};
use std::collections::BTreeMap;
use wire::{
    Risc,
    wait::{WaitKind, WaitObject},
};

/// Sum of the waits for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct WaitSum {
    /// Kind of the wait, such as `CB_WAIT`.
    pub kind: &'static str,
    /// Index of the circular buffer, index of the NoC, or L1 address of the semaphore, depending on
    /// the kind.
    pub key: u32,
    /// Blocked cycles.
    pub cycles: u64,
    /// Number of waits that blocked.
    pub waits: u64,
}

impl WaitSum {
    /// Returns what the RISC waited for, in words.
    pub(crate) fn awaited(&self) -> String {
        let key = self.key;
        let kind = WaitKind::ALL.into_iter().find(|kind| kind.name() == Some(self.kind));
        let by_object = kind.and_then(|kind| Some((kind, kind.object()?)));
        match by_object {
            Some((WaitKind::CB_RESERVE, _)) => format!("room in circular buffer {key}"),
            Some((_, WaitObject::CircularBuffer)) => format!("data in circular buffer {key}"),
            Some((_, WaitObject::Semaphore)) => format!("semaphore {key:#x}"),
            Some((_, WaitObject::Noc)) => format!("NoC {key} ({})", self.kind),
            None => format!("{} {key}", self.kind),
        }
    }
}

/// Blocked time of one RISC type in one op, over all cores.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RiscWait {
    /// RISC.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: Risc,
    /// Number of cores with a kernel on this RISC.
    pub core_count: u64,
    /// Cycles of the RISC's kernels, summed over the cores.
    pub kernel_cycles_sum: u64,
    /// Percentage of the kernel cycles in which other RISCs blocked this RISC, at buffers and
    /// semaphores.
    pub blocked_percent: f64,
    /// Percentage of the kernel cycles in which this RISC waited for the NoC.
    pub barrier_percent: f64,
    /// Waits of the RISC, summed by the object waited for and sorted by descending cycles.
    pub sums: Vec<WaitSum>,
}

/// Estimates the number of blocks that a core processed: the largest number of waits for one
/// object.
pub(crate) fn step_count(core: &[CoreRun<'_>]) -> u64 {
    let syncs = core.iter().filter_map(|run| run.evidence.sync());
    syncs.flat_map(RunSync::sums).map(|(_, blocked)| blocked.waits).max().unwrap_or(0)
}

/// Returns true if the wait is for the NoC instead of another RISC.
pub(crate) fn is_barrier(kind: WaitKind) -> bool {
    kind.object() == Some(WaitObject::Noc)
}

/// Returns two sums for a run: the cycles in which other RISCs blocked it, and those in which it
/// waited for the NoC.
pub(crate) fn blocked_cycles(run: &RunEvidence) -> (u64, u64) {
    let Some(sync) = run.sync() else { return (0, 0) };
    sync.sums().into_iter().fold((0_u64, 0_u64), |(peers, noc), ((kind, _), blocked)| {
        if is_barrier(kind) {
            (peers, noc.saturating_add(blocked.cycles))
        } else {
            (peers.saturating_add(blocked.cycles), noc)
        }
    })
}

/// Returns the length of a run's kernel in cycles.
pub(crate) fn kernel_cycles(run: &RunEvidence) -> u64 {
    run.kernel().map_or(0, |(start, end)| end.saturating_sub(start))
}

/// Returns the blocked time of each RISC of an op; empty if no wait was recorded in the op.
pub(crate) fn risc_waits(op: &OpView<'_>) -> Vec<RiscWait> {
    if !op.has_waits() {
        return Vec::new();
    }
    let riscs = Risc::ALL.into_iter();
    riscs
        .filter_map(|risc| risc_wait(risc, op.runs.iter().filter(|run| run.lane.risc == risc)))
        .collect()
}

fn risc_wait<'a>(risc: Risc, runs: impl Iterator<Item = &'a CoreRun<'a>>) -> Option<RiscWait> {
    let mut sums: BTreeMap<(WaitKind, u32), Blocked> = BTreeMap::new();
    let (mut kernel, mut core_count) = (0_u64, 0_u64);
    let (mut peers, mut barriers) = (0_u64, 0_u64);
    for run in runs.filter(|run| run.evidence.kernel().is_some()) {
        core_count = core_count.saturating_add(1);
        kernel = kernel.saturating_add(kernel_cycles(run.evidence));
        let (by_peers, by_noc) = blocked_cycles(run.evidence);
        peers = peers.saturating_add(by_peers);
        barriers = barriers.saturating_add(by_noc);
        for (object, blocked) in run.evidence.sync().map(RunSync::sums).unwrap_or_default() {
            let sum = sums.entry(object).or_default();
            sum.cycles = sum.cycles.saturating_add(blocked.cycles);
            sum.waits = sum.waits.saturating_add(blocked.waits);
        }
    }
    let sums = sums.into_iter().filter_map(|((kind, key), Blocked { cycles, waits, .. })| {
        Some(WaitSum { kind: kind.name()?, key, cycles, waits })
    });
    let mut sums: Vec<_> = sums.collect();
    sums.sort_by_key(|sum| std::cmp::Reverse(sum.cycles));
    (core_count > 0).then(|| RiscWait {
        risc,
        core_count,
        kernel_cycles_sum: kernel,
        blocked_percent: cycle_percent(peers, kernel),
        barrier_percent: cycle_percent(barriers, kernel),
        sums,
    })
}

/// Returns `part` in percent of `whole`, at most 100; 0 if the whole is 0.
pub(crate) fn cycle_percent(part: u64, whole: u64) -> f64 {
    percent(part as f64, whole as f64).min(100.0)
}
