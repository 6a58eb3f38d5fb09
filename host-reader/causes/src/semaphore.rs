//! Time blocked at semaphores, grouped by the RISC that signals the semaphore.

use crate::{
    op::{CoreRun, OpView},
    risc_wait::{cycle_percent, kernel_cycles},
    signals::Signals,
};
use reader::lane::LaneId;
use std::collections::{BTreeMap, BTreeSet};
use wire::{Risc, wait::WaitKind};

/// RISC that signals a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct SignalingRisc {
    /// Column and row of the RISC's core on the NoC-0 grid.
    pub core: (u16, u16),
    /// RISC of that core.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: Risc,
}

/// Waits in an op for one semaphore and one signaling RISC.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct SemaphoreWait {
    /// L1 address of the semaphore in the waiting cores.
    pub key: u32,
    /// RISC whose signal the cores waited for; `None` if it cannot be decided or was not recorded.
    pub by: Option<SignalingRisc>,
    /// Number of cores that waited.
    pub core_count: u64,
    /// Number of waits that blocked.
    pub waits: u64,
    /// Blocked cycles, summed over the cores.
    pub cycles: u64,
    /// Blocked cycles in percent of the waiting kernels' time.
    pub kernel_percent: f64,
}

/// Returns two numbers of cycles: the cycles that a run waited for semaphore signals of other
/// cores, and the cycles that it waited for semaphore signals of RISCs that cannot be determined.
pub(crate) fn semaphore_cycles(run: &CoreRun<'_>, signals: &Signals<'_>) -> (u64, u64) {
    let (mut other_core, mut unknown) = (0_u64, 0_u64);
    for (_, by, (cycles, _)) in run_waits(run, signals) {
        match by {
            Some(by) if by.core == run.lane.core => {}
            Some(_) => other_core = other_core.saturating_add(cycles),
            None => unknown = unknown.saturating_add(cycles),
        }
    }
    (other_core, unknown)
}

/// Returns a run's waits at semaphores, grouped by the semaphore's L1 address and the lane that
/// ended the wait. Each group has its blocked cycles and its number of waits.
fn run_waits(run: &CoreRun<'_>, signals: &Signals<'_>) -> Vec<(u32, Option<LaneId>, (u64, u64))> {
    let Some(sync) = run.evidence.sync() else { return Vec::new() };
    let mut found: BTreeMap<(u32, Option<LaneId>), (u64, u64)> = BTreeMap::new();
    let mut single: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for wait in sync.waits.iter().filter(|wait| wait.kind == WaitKind::SEM_WAIT) {
        let by = signals.releaser(run.lane, wait).map(|(by, _)| by);
        let cycles = wait.end.saturating_sub(wait.start);
        let sums = [found.entry((wait.key, by)).or_default(), single.entry(wait.key).or_default()];
        for sum in sums {
            *sum = (sum.0.saturating_add(cycles), sum.1.saturating_add(1));
        }
    }
    // The sums include waits that were not recorded individually.
    for ((kind, key), blocked) in sync.sums() {
        if kind != WaitKind::SEM_WAIT {
            continue;
        }
        let (cycles, waits) = single.get(&key).copied().unwrap_or_default();
        let rest = (blocked.cycles.saturating_sub(cycles), blocked.waits.saturating_sub(waits));
        if rest.1 > 0 {
            let sum = found.entry((key, None)).or_default();
            *sum = (sum.0.saturating_add(rest.0), sum.1.saturating_add(rest.1));
        }
    }
    found.into_iter().map(|((key, by), sum)| (key, by, sum)).collect()
}

/// Returns the waits of an op at semaphores, sorted by descending cycles.
pub(crate) fn semaphore_waits(view: &OpView<'_>, signals: &Signals<'_>) -> Vec<SemaphoreWait> {
    #[derive(Default)]
    struct Sum {
        cores: BTreeSet<(u16, u16)>,
        waits: u64,
        cycles: u64,
        kernels: u64,
    }
    let mut sums: BTreeMap<(u32, Option<SignalingRisc>), Sum> = BTreeMap::new();
    for run in &view.runs {
        for (key, by, (cycles, waits)) in run_waits(run, signals) {
            let core = |lane: LaneId| (lane.core.x, lane.core.y);
            let by = by.map(|lane| SignalingRisc { core: core(lane), risc: lane.risc });
            let sum = sums.entry((key, by)).or_default();
            sum.cores.insert(core(run.lane));
            sum.waits = sum.waits.saturating_add(waits);
            sum.cycles = sum.cycles.saturating_add(cycles);
            sum.kernels = sum.kernels.saturating_add(kernel_cycles(run.evidence));
        }
    }
    let waits = sums.into_iter().map(|((key, by), sum)| SemaphoreWait {
        key,
        by,
        core_count: sum.cores.len() as u64,
        waits: sum.waits,
        cycles: sum.cycles,
        kernel_percent: cycle_percent(sum.cycles, sum.kernels),
    });
    let mut waits: Vec<_> = waits.collect();
    waits.sort_by_key(|wait| std::cmp::Reverse(wait.cycles));
    waits
}
