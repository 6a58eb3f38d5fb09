//! Launches of a readout as rows of a report, with figures computed by this project's own analysis.

use super::{
    available_cores::AvailableCores,
    counters::{CounterArch, CounterScale, OpCounters, add_grid_cells, add_known_metric_cells},
    device_op::{DeviceOp, DeviceOps},
    exact::SUMS,
    marks::KernelMarks,
    per_core::CoreMarks,
    perf_report::{LaunchFigures, ProgramAnalyses, QUASAR_KINDS},
    sheet::{EMPTY_BECAUSE, PROFILER_STALL},
};
use analysis::{Launch, Op, PackedLaunches, Span, cycles_to_ns};
use reader::{
    ledger::LossWindow,
    readout::{ChipSummary, Readout},
};
use std::collections::BTreeMap;

/// Ops of all launches. Each op is computed from its launch when it is read.
#[derive(Default)]
pub(super) struct MeasuredOps {
    pub(super) chips: Vec<ChipSummary>,
    /// Launches by chip and time.
    pub(super) launches: PackedLaunches,
    /// Figures of each launch; empty if no launch has figures.
    pub(super) figures: Vec<LaunchFigures>,
    pub(super) analyses: ProgramAnalyses,
    pub(super) available: AvailableCores,
}

impl MeasuredOps {
    pub(super) fn iter(&self) -> impl Iterator<Item = DeviceOp> {
        let mut quasar_ends = BTreeMap::new();
        let none = LaunchFigures::default();
        self.launches.iter().enumerate().map(move |(place, launch)| {
            let figures = self.figures.get(place).unwrap_or(&none);
            let chip = self.chips.iter().find(|chip| chip.chip_id == launch.op.chip_id);
            let mut op = device_op(&launch, figures, chip);
            op.set_number("AVAILABLE WORKER CORE COUNT", self.available.op_cores(&launch.op, chip));
            if let Some(chip) = chip.filter(|chip| chip.arch.contains("quasar")) {
                let launch_figures = (&launch, figures);
                add_quasar(&mut op, launch_figures, chip, (&self.analyses, &mut quasar_ends));
            }
            op
        })
    }
}

/// Ops of a report. They are computed from launches when they are read; once cells must be added to
/// them, all ops are stored in memory.
#[derive(Default)]
pub(super) struct Ops {
    /// Ops that are computed on demand; `None` if the ops are stored.
    made: Option<MeasuredOps>,
    held: DeviceOps,
}

impl From<MeasuredOps> for Ops {
    fn from(measured: MeasuredOps) -> Self {
        Self { made: Some(measured), held: DeviceOps::new() }
    }
}

impl From<DeviceOps> for Ops {
    fn from(held: DeviceOps) -> Self {
        Self { made: None, held }
    }
}

impl Ops {
    pub(super) fn count(&self) -> u64 {
        let held: u64 = self.held.values().map(|ops| ops.len() as u64).sum();
        self.made.as_ref().map_or(held, |measured| measured.launches.len() as u64)
    }

    /// Returns the ops by chip and time.
    pub(super) fn iter(&self) -> impl Iterator<Item = DeviceOp> {
        let made = self.made.iter().flat_map(MeasuredOps::iter);
        made.chain(self.held.values().flatten().cloned())
    }

    /// Returns the stored ops. If the ops were computed on demand, all of them are stored from now
    /// on.
    pub(super) fn held(&mut self) -> &mut DeviceOps {
        for op in self.made.take().iter().flat_map(MeasuredOps::iter) {
            self.held.entry(op.device_id).or_default().push(op);
        }
        &mut self.held
    }
}

/// Adds the durations and the latency for each kind of Quasar processor.
///
/// A latency is the time from the latest kernel end of all earlier ops to the op's first kernel
/// start, for kernels on this kind of processor. The latency is missing if these kernels
/// overlapped.
fn add_quasar(
    device: &mut DeviceOp,
    (Launch { op, .. }, figures): (&Launch, &LaunchFigures),
    chip: &ChipSummary,
    (analyses, ends): (&ProgramAnalyses, &mut BTreeMap<(u32, &'static str), u64>),
) {
    let ns = |cycles| cycles_to_ns(cycles, chip.aiclk_mhz);
    let span_of = |title| {
        let bounds = figures.bounds.get(analyses.position(title)?)?;
        bounds.span().filter(|_| op.duration_doubt.is_none())
    };
    for kind in QUASAR_KINDS {
        for title in [kind.kernel_duration, kind.firmware_duration] {
            let span = span_of(title);
            device.set_number(title, span.and_then(|(start, end)| ns(end.saturating_sub(start))));
        }
        let Some((start, end)) = span_of(kind.kernel_duration) else { continue };
        let last = ends.entry((op.chip_id, kind.latency)).or_insert(start);
        let latency = start.checked_sub(*last).filter(|_| op.latency_doubt.is_none());
        device.set_number(kind.latency, latency.and_then(ns));
        *last = end.max(*last);
    }
}

fn device_op(launch: &Launch, figures: &LaunchFigures, chip: Option<&ChipSummary>) -> DeviceOp {
    let op = &launch.op;
    let aiclk_mhz = chip.map_or(0, |chip| chip.aiclk_mhz);
    let mut device = DeviceOp {
        device_id: op.chip_id.into(),
        run_host_id: op.run_host_id.into(),
        trace_id: op.trace_id,
        session_id: op.trace_replay,
        begin_cycle: launch.first_cycle,
        doubt: op.duration_doubt,
        ..DeviceOp::default()
    };
    if let Some(chip) = chip {
        device.set("DEVICE ARCH", chip.arch.clone());
    }
    device.set_number("CORE COUNT", Some(op.core_count));
    device.set_number("SUB DEVICE ID", op.sub_device_id.map(u64::from));
    add_durations(&mut device, op);
    device.set_number(PROFILER_STALL, op.stall_ns);
    let doubts = [("durations", op.duration_doubt), ("latencies", op.latency_doubt)];
    let doubts = doubts.into_iter();
    let reasons = doubts.filter_map(|(what, doubt)| Some(format!("{what}: {}", doubt?.label())));
    let mut reasons: Vec<_> = reasons.collect();
    reasons.extend(add_counters(&mut device, op, (&figures.counters, chip)));
    if !reasons.is_empty() {
        device.set(EMPTY_BECAUSE, reasons.join("; "));
    }
    // TT-Metal's script writes the sum over the cores, though its documentation speaks of an average.
    for ((column, _, _), (cycles, cores)) in SUMS.into_iter().zip(figures.sums) {
        let cycles = u64::try_from(cycles).ok().filter(|_| cores > 0);
        device.set_number(column, cycles.and_then(|cycles| cycles_to_ns(cycles, aiclk_mhz)));
    }
    device
}

/// Adds the cells for the counters of an op, and returns the reasons for which some are left out.
fn add_counters(
    device: &mut DeviceOp,
    op: &Op,
    (counters, chip): (&OpCounters, Option<&ChipSummary>),
) -> Vec<String> {
    if counters.is_empty() {
        return Vec::new();
    }
    let kernel_cycles = op.kernel.map(|span| span.duration_cycles);
    let scale = CounterScale { kernel_cycles, ..scale_of(chip) };
    let mut counters = counters.clone();
    counters.set_kernel_cycles(kernel_cycles);
    let riscs = &op.risc_kernels;
    let computing = [riscs.trisc0, riscs.trisc1, riscs.trisc2, riscs.quasar_trisc];
    let moving = [riscs.brisc, riscs.ncrisc, riscs.quasar_dm];
    let has_any = |kernels: &[Option<Span>]| kernels.iter().any(Option::is_some);
    if op.duration_doubt.is_none() && has_any(&moving) && !has_any(&computing) {
        counters.note_no_compute_anywhere();
    }
    let reasons = add_known_metric_cells(&counters, &mut device.cells, scale);
    if reasons.is_empty() {
        // A mean over the grid has the counts of all cores.
        add_grid_cells(&counters, &mut device.cells, scale);
    }
    reasons.into_iter().map(|doubt| format!("hardware counters: {}", doubt.label())).collect()
}

fn scale_of(chip: Option<&ChipSummary>) -> CounterScale {
    CounterScale {
        arch: chip.and_then(|chip| CounterArch::from_name(&chip.arch)),
        max_compute_cores: chip.and_then(|chip| chip.max_compute_cores),
        kernel_cycles: None,
    }
}

fn add_durations(device: &mut DeviceOp, op: &Op) {
    let ns = |span: Option<Span>| span.and_then(|span| span.duration_ns);
    let cores = &op.core_kernel;
    let has_cores = cores.count > 0;
    let mean = cores
        .total_ns
        .and_then(|total| total.saturating_add(cores.count / 2).checked_div(cores.count));
    let riscs = &op.risc_kernels;
    for (column, number) in [
        ("DEVICE FW START CYCLE", op.firmware.map(|span| span.start_cycle)),
        ("DEVICE FW END CYCLE", op.firmware.map(|span| span.end_cycle)),
        ("OP TO OP LATENCY [ns]", op.op_to_op_latency_ns),
        ("OP TO OP LATENCY BR/NRISC START [ns]", op.data_movement_op_to_op_latency_ns),
        ("DEVICE FW DURATION [ns]", ns(op.firmware)),
        ("DEVICE KERNEL DURATION [ns]", ns(op.kernel)),
        ("DEVICE KERNEL DURATION DM START [ns]", ns(op.data_movement_kernel)),
        ("DEVICE KERNEL DURATION PER CORE MIN [ns]", cores.min_ns.filter(|_| has_cores)),
        ("DEVICE KERNEL DURATION PER CORE MAX [ns]", cores.max_ns.filter(|_| has_cores)),
        ("DEVICE KERNEL DURATION PER CORE AVG [ns]", mean),
        ("DEVICE KERNEL FIRST TO LAST START [ns]", op.kernel_first_to_last_start_ns),
        ("DEVICE BRISC KERNEL DURATION [ns]", ns(riscs.brisc)),
        ("DEVICE NCRISC KERNEL DURATION [ns]", ns(riscs.ncrisc)),
        ("DEVICE TRISC0 KERNEL DURATION [ns]", ns(riscs.trisc0)),
        ("DEVICE TRISC1 KERNEL DURATION [ns]", ns(riscs.trisc1)),
        ("DEVICE TRISC2 KERNEL DURATION [ns]", ns(riscs.trisc2)),
        ("DEVICE ERISC KERNEL DURATION [ns]", ns(riscs.erisc)),
    ] {
        device.set_number(column, number);
    }
}

/// Returns the kernel starts and ends of every core, by chip.
pub(super) fn measured_marks(
    readout: &Readout,
    marks: Vec<KernelMarks>,
) -> Vec<(u64, Vec<CoreMarks>)> {
    let mut by_chip = KernelMarks::by_core(marks);
    let devices = readout.devices.iter().map(|device| {
        let chip_id = device.chip.chip_id;
        let cores = by_chip.remove(&chip_id).unwrap_or_default().into_iter();
        let cores = cores.map(|(core, marks)| {
            let losses = readout.losses.windows();
            let losses = losses.filter(|(of, _)| (of.chip_id, of.core) == (chip_id, core));
            // A launch that a filter hides also separates two ops.
            let hidden = readout.hidden.iter();
            let hidden = hidden.filter(|of| of.chip_id == chip_id && of.cores.contains(&core));
            let hidden = hidden.map(|launch| LossWindow {
                after: Some(launch.first_cycle),
                before: Some(launch.last_cycle),
                may_cut_launches: false,
            });
            let seams = readout.seams.iter().filter(|seam| seam.chip_id == chip_id);
            let seams = seams.map(|seam| LossWindow {
                after: Some(seam.first_cycle),
                before: Some(seam.last_cycle),
                may_cut_launches: false,
            });
            let holes = losses.map(|(_, window)| *window).chain(hidden).chain(seams);
            CoreMarks { core, marks, holes: holes.collect() }
        });
        (chip_id.into(), cores.collect())
    });
    devices.collect()
}
