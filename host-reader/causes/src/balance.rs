//! Balance of work between an op's cores: the core that ended last, and the work of each core.

use crate::{op::OpView, risc_wait::step_count};

/// One core of an op.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct CoreTime {
    /// Column and row of the core on the NoC-0 grid.
    pub core: (u16, u16),
    /// Cycles from the first kernel start to the last kernel end.
    pub cycles: u64,
    /// Cycle of the last kernel end.
    pub end_cycle: u64,
    /// Number of steps of the core's work.
    ///
    /// A step is one of the kernel's own zones on the RISC that recorded the most such zones. For
    /// kernels without zones, a step is a wait for the object that the core waited for most often.
    pub step_count: u32,
}

/// Number of steps of the core that ended last, compared with the mean over all cores.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Steps {
    /// Number of steps of the core that ended last.
    pub of_last: u32,
    /// Mean number of steps over the cores.
    pub mean: f64,
}

/// Comparison of the cores of one op.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Balance {
    /// Core that ended last. Its end is the end of the op.
    pub last: CoreTime,
    /// Mean kernel time of all cores in cycles.
    pub mean_cycles: f64,
    /// Kernel time of the core that ended last, divided by the mean kernel time of the cores.
    pub ratio: f64,
    /// Steps of work; `None` if kernels have neither zones nor waits.
    pub steps: Option<Steps>,
    /// All cores by column and row, for drawing the grid of cores.
    #[serde(skip)]
    pub cores: Vec<CoreTime>,
}

/// Returns the balance of an op's cores; `None` if the kernel times of fewer than two cores are
/// known.
pub(crate) fn balance_of(view: &OpView<'_>) -> Option<Balance> {
    view.launch.op.kernel?;
    let cores: Vec<CoreTime> = view.cores().filter_map(core_time).collect();
    if cores.len() < 2 {
        return None;
    }
    let last = *cores.iter().max_by_key(|core| core.end_cycle)?;
    let mean_cycles = mean(cores.iter().map(|core| core.cycles));
    let mean_steps = mean(cores.iter().map(|core| u64::from(core.step_count)));
    let ratio = if mean_cycles > 0.0 { last.cycles as f64 / mean_cycles } else { 1.0 };
    let steps = (mean_steps > 0.0).then_some(Steps { of_last: last.step_count, mean: mean_steps });
    Some(Balance { last, mean_cycles, ratio, steps, cores })
}

fn core_time(core: &[crate::op::CoreRun<'_>]) -> Option<CoreTime> {
    let kernels = core.iter().filter_map(|run| run.evidence.kernel());
    let start = kernels.clone().map(|(start, _)| start).min()?;
    let end_cycle = kernels.map(|(_, end)| end).max()?;
    let at = core.first()?.lane.core;
    Some(CoreTime {
        core: (at.x, at.y),
        cycles: end_cycle.saturating_sub(start),
        end_cycle,
        step_count: match core.iter().map(|run| run.evidence.zone_count).max() {
            Some(zones @ 1..) => zones,
            _ => u32::try_from(step_count(core)).unwrap_or(u32::MAX),
        },
    })
}

fn mean(values: impl Iterator<Item = u64> + Clone) -> f64 {
    let count = values.clone().count();
    let sum: u128 = values.map(u128::from).sum();
    if count == 0 { 0.0 } else { sum as f64 / count as f64 }
}
