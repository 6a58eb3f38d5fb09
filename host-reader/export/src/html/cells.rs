//! Figures of single ops as packed columns: the times of each core and RISC, and the host's
//! metadata.
//!
//! For each op, the following parts are stored in this order:
//!
//! | part | content |
//! |---|---|
//! | cores | number of cores |
//! | for each core | index of the core, as the difference from the previous core's index |
//! | | bit mask of the RISCs that ran a kernel |
//! | | start of the first kernel, in cycles since the op's start |
//! | for each RISC in the mask | start of the kernel, in cycles since the core's first kernel |
//! | | duration of the kernel, in cycles |
//! | metadata | number of fields, then key and value of each field |
//! | zones | number of pairs of name and RISC |
//! | for each pair | name, RISC, number of whole and of open zones, cycles and own cycles of whole zones |
//! | | cycles of the longest |
//! | | cycles that open zones leave unknown, plus one; 0 if nothing limits them |
//! | | lane and index of the longest |
//!
//! A kernel without a recorded end has no duration, so its RISC is not in the mask.

use super::{named_zones::NamedZones, op_zones::OpZones, packed::PackedColumns};
use crate::{TraceDevice, TraceNames, TraceOp, TraceZone};
use std::collections::BTreeMap;

/// Number of ops in one block of the page.
pub(super) const OPS_PER_BLOCK: usize = 256;

/// The kernel of each RISC of a core whose time is known, by RISC number.
pub(super) type CoreKernels<'t> = BTreeMap<usize, &'t TraceZone>;

/// Packs ops of a chip, given the zones of each op and the core index of each lane.
pub(super) fn pack_ops(
    (device, names): (&TraceDevice<'_>, &TraceNames<'_>),
    ops: &[TraceOp<'_>],
    zones: &[OpZones],
    core_of_lane: &[usize],
) -> PackedColumns {
    let mut columns = PackedColumns::default();
    for (op, zones) in ops.iter().zip(zones) {
        let cores = cores_of((device, names), op, core_of_lane);
        columns.count(cores.len());
        let mut latest_core = 0;
        for (core, kernels) in cores {
            columns.count(core - latest_core);
            latest_core = core;
            add_core(&mut columns, &kernels, op.start_cycle);
        }
        add_fields(&mut columns, op);
        add_zones(&mut columns, zones);
    }
    columns
}

fn add_core(columns: &mut PackedColumns, kernels: &CoreKernels<'_>, op_start: u64) {
    let mask = kernels.keys().fold(0, |mask, &risc| mask | (1_u64 << risc));
    let first = first_start(kernels).unwrap_or(op_start);
    columns.number(mask);
    columns.signed(first.cast_signed().wrapping_sub(op_start.cast_signed()));
    for kernel in kernels.values() {
        columns.number(kernel.start_cycle - first);
        columns.number(kernel.duration_cycles);
    }
}

fn add_fields(columns: &mut PackedColumns, op: &TraceOp<'_>) {
    let fields = op.metadata.map_or(&[][..], |metadata| &metadata.fields);
    columns.count(fields.len());
    for (key, value) in fields {
        columns.text(key);
        columns.text(value);
    }
}

fn add_zones(columns: &mut PackedColumns, zones: &OpZones) {
    columns.count(zones.len());
    for (&(risc, name), NamedZones { sum, unknown_cycles }) in zones {
        columns.count(name);
        columns.count(risc);
        let longest_cycles = sum.longest.map_or(0, |(cycles, _)| cycles);
        let figures =
            [sum.count, sum.open_count, sum.total_cycles, sum.self_cycles, longest_cycles];
        figures.into_iter().for_each(|figure| columns.number(figure));
        columns.number(unknown_cycles.map_or(0, |cycles| cycles.saturating_add(1)));
        let (lane, zone) = sum.place().unwrap_or_default();
        columns.count(lane);
        columns.count(zone);
    }
}

/// Returns the start of the core's earliest kernel.
pub(super) fn first_start(kernels: &CoreKernels<'_>) -> Option<u64> {
    kernels.values().map(|kernel| kernel.start_cycle).min()
}

/// Returns the kernels of an op, by core index.
pub(super) fn cores_of<'t>(
    (device, names): (&'t TraceDevice<'_>, &TraceNames<'_>),
    op: &TraceOp<'_>,
    core_of_lane: &[usize],
) -> BTreeMap<usize, CoreKernels<'t>> {
    let mut cores: BTreeMap<usize, CoreKernels<'t>> = BTreeMap::new();
    for run in &op.runs {
        let (Some(lane), Some(&core)) = (device.lanes.get(run.lane), core_of_lane.get(run.lane))
        else {
            continue;
        };
        if let Some(kernel) = lane.timed_kernel(run.run, names) {
            cores.entry(core).or_default().insert(lane.id.risc as usize, kernel);
        }
    }
    cores
}
