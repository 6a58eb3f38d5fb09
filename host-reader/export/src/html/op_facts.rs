//! Every op's figures, for the page, column by column.

use super::facts::risc_number;
use crate::{Trace, TraceDevice, TraceNames, TraceOp};
use analysis::{Doubt, RiscKernels};
use serde::Serialize;
use std::collections::BTreeMap;
use wire::Risc;

/// The ops of all chips, those of a chip together and by start.
#[derive(Default, Serialize)]
pub(super) struct OpFacts<'a> {
    /// Index of the chip.
    device: Vec<usize>,
    /// Name that the host gave; empty if none.
    name: Vec<&'a str>,
    /// The program without its chip.
    program: Vec<u32>,
    trace_id: Vec<Option<u64>>,
    trace_replay: Vec<Option<u64>>,
    launch: Vec<u64>,
    /// None of an op that had the whole chip.
    sub_device: Vec<Option<u8>>,
    row: Vec<u32>,
    /// From the chip's first cycle.
    start_cycles: Vec<u64>,
    /// As far as it is drawn, which is no duration where that is in doubt.
    duration_cycles: Vec<u64>,
    start_ns: Vec<u64>,
    end_ns: Vec<u64>,
    /// First kernel start to last kernel end; none without a kernel.
    kernel_cycles: Vec<Option<u64>>,
    /// Kernels over all cores by the RISC's number: BRISC, NCRISC, TRISC 0 to 2, ERISC, and where a
    /// Quasar ran the op, its processors.
    risc_kernel_cycles: Vec<Vec<Option<u64>>>,
    /// Cores with any record.
    core_count: Vec<u64>,
    /// Kernels of single cores: shortest, middle, longest.
    core_kernel_cycles: Vec<(u64, u64, u64)>,
    /// From the first to the last core's kernel start.
    skew_cycles: Vec<Option<u64>>,
    /// From the end of the previous op's kernel; none of a chip's first op.
    gap_cycles: Vec<Option<u64>>,
    /// Waits of all RISCs for the host, in the debug dump; none if none was recorded.
    stall_cycles: Vec<Option<u64>>,
    /// Cores whose firmware did not end.
    unfinished_cores: Vec<u64>,
    time_matched_cores: Vec<u64>,
    is_spread_implausible: Vec<bool>,
    /// Reasons why figures are empty, which the next two point to.
    doubt_labels: Vec<&'static str>,
    /// Number of the reason that launches may be missing before an op.
    lost_launches_doubt: Option<usize>,
    duration_doubt: Vec<Option<usize>>,
    gap_doubt: Vec<Option<usize>>,
    lost_records: Vec<u64>,
}

impl<'a> OpFacts<'a> {
    pub(super) fn new(trace: &Trace<'a>) -> Self {
        let doubt_labels = Doubt::ALL.map(Doubt::label).to_vec();
        let lost_launches_doubt = doubt_index(Some(Doubt::LostLaunches));
        let mut facts = Self { doubt_labels, lost_launches_doubt, ..Self::default() };
        for (device_index, device) in trace.devices.iter().enumerate() {
            let first_cycle = device.clock.first_cycle();
            let lost = lost_by_op(device);
            for (index, (op, lost_records)) in device.ops.iter().zip(lost).enumerate() {
                let gap = op.figures.op_to_op_latency_cycles.filter(|_| index > 0);
                facts.gap_cycles.push(gap);
                facts.device.push(device_index);
                facts.start_cycles.push(op.start_cycle.saturating_sub(first_cycle));
                facts.lost_records.push(lost_records);
                facts.add_names(op);
                facts.add_figures(op);
                facts.risc_kernel_cycles.push(risc_kernels(&trace.names, device, op));
            }
        }
        facts
    }

    fn add_names(&mut self, op: &TraceOp<'a>) {
        self.name.push(op.name().unwrap_or_default());
        self.program.push(op.base_id());
        self.trace_id.push(op.figures.trace_id);
        self.trace_replay.push(op.figures.trace_replay);
        self.launch.push(op.figures.launch);
        self.sub_device.push(op.figures.sub_device_id);
        self.row.push(op.row);
    }

    fn add_figures(&mut self, op: &TraceOp<'_>) {
        let figures = &op.figures;
        let core = &figures.core_kernel;
        self.duration_cycles.push(op.end_cycle.saturating_sub(op.start_cycle));
        self.start_ns.push(op.start_ns);
        self.end_ns.push(op.end_ns);
        self.kernel_cycles.push(figures.kernel.map(|span| span.duration_cycles));
        self.core_count.push(figures.recorded_core_count);
        self.core_kernel_cycles.push((core.min_cycles, core.median_cycles, core.max_cycles));
        self.skew_cycles.push(figures.kernel_first_to_last_start_cycles);
        self.stall_cycles.push(figures.stall.map(|stall| stall.cycles));
        self.unfinished_cores.push(figures.unfinished_core_count);
        self.time_matched_cores.push(figures.time_matched_core_count);
        self.is_spread_implausible.push(figures.is_spread_implausible);
        self.duration_doubt.push(doubt_index(figures.duration_doubt));
        self.gap_doubt.push(doubt_index(figures.latency_doubt));
    }
}

/// Kernels of an op over all cores, by the RISC's number.
fn risc_kernels(
    names: &TraceNames<'_>,
    device: &TraceDevice<'_>,
    op: &TraceOp<'_>,
) -> Vec<Option<u64>> {
    let RiscKernels { brisc, ncrisc, trisc0, trisc1, trisc2, erisc, .. } = op.figures.risc_kernels;
    let riscs = [brisc, ncrisc, trisc0, trisc1, trisc2, erisc];
    let mut kernels: Vec<_> =
        riscs.into_iter().map(|span| span.map(|span| span.duration_cycles)).collect();
    if op.figures.risc_kernels.is_of_quasar() {
        kernels.resize(Risc::ALL.len(), None);
        for (risc, (start, end)) in quasar_kernels(names, device, op) {
            if let Some(cycles) = kernels.get_mut(risc_number(risc)) {
                *cycles = end.checked_sub(start);
            }
        }
    }
    kernels
}

/// First start and last end of the kernels of each of a Quasar's processors.
///
/// Processors that move data, and those that compute, have none where their figure together is in
/// doubt.
fn quasar_kernels(
    names: &TraceNames<'_>,
    device: &TraceDevice<'_>,
    op: &TraceOp<'_>,
) -> BTreeMap<Risc, (u64, u64)> {
    let figures = &op.figures.risc_kernels;
    let mut spans: BTreeMap<Risc, (u64, u64)> = BTreeMap::new();
    for run in &op.runs {
        let Some(lane) = device.lanes.get(run.lane).filter(|lane| lane.id.risc.is_quasar()) else {
            continue;
        };
        let together =
            if lane.id.risc.moves_data() { figures.quasar_dm } else { figures.quasar_trisc };
        let zone = lane.run_kernels.get(run.run).copied().flatten();
        let zone = zone.and_then(|zone| lane.zones.get(zone as usize));
        let is_kernel = |name| names.get(name).is_some_and(|name| name.is_kernel);
        if let (Some(zone), Some(_)) = (zone.filter(|zone| is_kernel(zone.name)), together) {
            let span = spans.entry(lane.id.risc).or_insert((zone.start_cycle, zone.end_cycle));
            *span = (span.0.min(zone.start_cycle), span.1.max(zone.end_cycle));
        }
    }
    spans
}

/// Place of a reason among the labels.
fn doubt_index(doubt: Option<Doubt>) -> Option<usize> {
    doubt.and_then(|doubt| Doubt::ALL.into_iter().position(|other| other == doubt))
}

/// Records lost of each op of a chip. A loss belongs to a program, so that it counts for
/// the last of its launches.
fn lost_by_op(device: &TraceDevice<'_>) -> Vec<u64> {
    let mut lost = vec![0_u64; device.ops.len()];
    let programs = device.ops.iter().map(|op| op.figures.run_host_id);
    let last_launch: BTreeMap<u32, usize> = programs.zip(0..).collect();
    for loss in device.lanes.iter().flat_map(|lane| &lane.losses) {
        let op = loss.program.and_then(|program| last_launch.get(&program.0));
        if let Some(&op) = op {
            lost[op] = lost[op].saturating_add(loss.totals.record_count());
        }
    }
    lost
}
