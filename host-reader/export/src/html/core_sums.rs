//! Time of each core over all ops, for the core grid.

use super::cells::{self, CoreKernels};
use crate::{TraceDevice, TraceNames};
use rayon::prelude::*;
use serde::Serialize;
use wire::Risc;

/// Sums over the ops of a chip. Each vector has one entry for each core, in the order in which the
/// cores occur among the chip's lanes.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct DeviceSums {
    /// Number of ops that ran a kernel on each core.
    ops: Vec<u64>,
    /// Cycles from the first kernel start to the last kernel end on each core, summed over the ops.
    kernel_cycles: Vec<u64>,
    /// Kernel cycles on each core, by RISC number.
    risc_cycles: Vec<[u64; Risc::ALL.len()]>,
    /// For each core, the delay of its first kernel, in cycles, summed over the ops. The delay is
    /// measured from the op's first kernel start on any core.
    late_cycles: Vec<u64>,
    /// Number of lost records on each core, except those omitted on purpose.
    lost_records: Vec<u64>,
}

impl DeviceSums {
    pub(super) fn new(device: &TraceDevice<'_>, names: &TraceNames<'_>) -> Self {
        let core_of_lane = device.core_of_lane();
        let core_count = core_of_lane.last().map_or(0, |last| last + 1);
        let op_sums = device.ops.par_iter().fold(
            || Self::zeros(core_count),
            |mut sums, op| {
                let cores = cells::cores_of((device, names), op, &core_of_lane);
                let first = cores.values().filter_map(cells::first_start).min();
                for (&core, kernels) in &cores {
                    sums.record(core, kernels, first.unwrap_or(0));
                }
                sums
            },
        );
        let mut sums = op_sums.reduce(|| Self::zeros(core_count), Self::plus);
        for (lane, &core) in device.lanes.iter().zip(&core_of_lane) {
            let lost = lane.losses.iter().filter(|loss| !loss.cause.is_intended());
            let lost = lost.map(|loss| loss.totals.record_count());
            sums.lost_records[core] = lost.fold(sums.lost_records[core], u64::saturating_add);
        }
        sums
    }

    fn zeros(core_count: usize) -> Self {
        Self {
            ops: vec![0; core_count],
            kernel_cycles: vec![0; core_count],
            risc_cycles: vec![[0; Risc::ALL.len()]; core_count],
            late_cycles: vec![0; core_count],
            lost_records: vec![0; core_count],
        }
    }

    fn record(&mut self, core: usize, kernels: &CoreKernels<'_>, first_start: u64) {
        let start = cells::first_start(kernels).unwrap_or(first_start);
        let ends = kernels
            .values()
            .map(|kernel| kernel.start_cycle.saturating_add(kernel.duration_cycles));
        add(&mut self.ops[core], 1);
        add(&mut self.kernel_cycles[core], ends.max().unwrap_or(start) - start);
        add(&mut self.late_cycles[core], start - first_start);
        for (&risc, kernel) in kernels {
            add(&mut self.risc_cycles[core][risc], kernel.duration_cycles);
        }
    }

    fn plus(mut self, other: Self) -> Self {
        add_each(&mut self.ops, &other.ops);
        add_each(&mut self.kernel_cycles, &other.kernel_cycles);
        add_each(&mut self.late_cycles, &other.late_cycles);
        add_each(self.risc_cycles.as_flattened_mut(), other.risc_cycles.as_flattened());
        self
    }
}

fn add_each(sums: &mut [u64], addends: &[u64]) {
    sums.iter_mut().zip(addends).for_each(|(sum, &addend)| add(sum, addend));
}

const fn add(sum: &mut u64, cycles: u64) {
    *sum = sum.saturating_add(cycles);
}
