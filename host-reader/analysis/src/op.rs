//! Ops: duration and other figures of each launch of a program, over all cores of its chip.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "ends lie behind their starts: zones are paired so"
)]

use super::{
    distribution::CycleStatistics,
    doubt::{Doubt, Holes, RunBounds},
    figures::{Extent, Extents, KERNEL_GROUP_COUNT, LaneRun, OpKey, kernel_group},
    join::{CoreLaunch, join_runs},
    latency::{MissingLaunches, Timing, latency_pairs},
    own_zones::OwnTime,
    packed_launches::{ChipLaunches, JoinedLaunches},
    packed_runs::ChipRuns,
    replays::adopt_replays,
    run_numbers::RunNumbers,
    span::{Span, cycles_to_ns},
};
use rayon::prelude::*;
use reader::{
    lane::LaneId,
    packed_bytes::PackedMemory,
    readout::{ChipSummary, Readout},
};
use std::{collections::BTreeSet, sync::Arc};
use wire::Risc;

/// Kernel span of each RISC over all cores, from the first start to the last end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RiscKernels {
    /// BRISC.
    pub brisc: Option<Span>,
    /// NCRISC.
    pub ncrisc: Option<Span>,
    /// TRISC 0, unpack.
    pub trisc0: Option<Span>,
    /// TRISC 1, math.
    pub trisc1: Option<Span>,
    /// TRISC 2, pack.
    pub trisc2: Option<Span>,
    /// ERISC.
    pub erisc: Option<Span>,
    /// All data-movement processors of a Quasar.
    pub quasar_dm: Option<Span>,
    /// All TRISCs of all parts of a Quasar's cores.
    pub quasar_trisc: Option<Span>,
}

/// One launch of one program on one chip.
///
/// # Compatibility
/// `cpp_device_analyses.json` and `cpp_device_perf_report.csv`: spans go from the first start to
/// the last end of zones whose name contains `-FW` or `-KERNEL`, over all cores and RISCs.
///
/// TT-Metal combines all launches with one run host id in one row; here each launch has its own
/// row. A figure that would depend on missing records or incomparable clocks is `None` here, with
/// the reason in [`Op::duration_doubt`] or [`Op::latency_doubt`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Op {
    /// Number of the chip.
    pub chip_id: u32,
    /// Id of the program. The chip is encoded in the id.
    pub run_host_id: u32,
    /// Id of the replayed trace; `None` if the launch was not a replay.
    pub trace_id: Option<u64>,
    /// Number of the trace's replay, counted from 1.
    pub trace_replay: Option<u64>,
    /// Number of the launch among launches of the same program and replay, counted from 1.
    pub launch: u64,
    /// Sub-device that the op ran on; `None` if it had the whole chip.
    pub sub_device_id: Option<u8>,
    /// Number of cores with a firmware zone.
    pub core_count: u64,
    /// Number of cores with any record.
    pub recorded_core_count: u64,
    /// Number of cores on which the firmware zone of a RISC began but did not end.
    pub unfinished_core_count: u64,
    /// Number of cores whose runs were assigned to the launch by time, because these cores have
    /// fewer launches of the program than other cores.
    pub time_matched_core_count: u64,
    /// Span from the first firmware start to the last firmware end.
    pub firmware: Option<Span>,
    /// Span from the first kernel start to the last kernel end.
    pub kernel: Option<Span>,
    /// Span from the first start of a BRISC, NCRISC or ERISC kernel to the last end of any kernel.
    pub data_movement_kernel: Option<Span>,
    /// Firmware span on the aggregate lanes of trace-only mode. All RISCs of a core share such a
    /// lane, which has one zone around each trace replay.
    pub trace_firmware: Option<Span>,
    /// Kernel span on the same aggregate lanes as [`Self::trace_firmware`].
    pub trace_kernel: Option<Span>,
    /// Kernel span of each RISC.
    pub risc_kernels: RiscKernels,
    /// Cycles from the first to the last kernel start.
    pub kernel_first_to_last_start_cycles: Option<u64>,
    /// Nanoseconds from the first to the last kernel start.
    pub kernel_first_to_last_start_ns: Option<u64>,
    /// Statistics of the kernel durations of the cores. A core's kernel duration is from the first
    /// kernel start on the core to the last kernel end.
    pub core_kernel: CycleStatistics,
    /// True for the first op on its chip, whose latencies are 0, as in TT-Metal's tables.
    pub is_first_of_chip: bool,
    /// Cycles from the end of the previous op's kernel to the start of this op's kernel.
    pub op_to_op_latency_cycles: Option<u64>,
    /// Nanoseconds from the end of the previous op's kernel to the start of this op's kernel.
    pub op_to_op_latency_ns: Option<u64>,
    /// Cycles from the end of the previous op's kernel to this op's first data-movement start.
    pub data_movement_op_to_op_latency_cycles: Option<u64>,
    /// Nanoseconds from the end of the previous op's kernel to this op's first data-movement start.
    pub data_movement_op_to_op_latency_ns: Option<u64>,
    /// Time that RISCs waited for the host to read their records, summed over all RISCs. Such waits
    /// are recorded only in debug-dump mode. `None` if no wait was recorded or records are missing.
    pub stall: Option<OwnTime>,
    /// Duration of `stall` in nanoseconds.
    pub stall_ns: Option<u64>,
    /// True if the cores began so far apart that their clocks cannot share an epoch.
    ///
    /// Figures over several cores are then empty. Aligning the readout by its
    /// [`TileOrigins`](reader::origins::TileOrigins) makes them available.
    pub is_spread_implausible: bool,
    /// Reason why durations are empty although the op has records.
    pub duration_doubt: Option<Doubt>,
    /// Reason why the latencies are empty; `None` if they are empty because ops overlap.
    pub latency_doubt: Option<Doubt>,
}

impl RiscKernels {
    /// Returns true if processors of a Quasar ran kernels.
    #[must_use]
    pub const fn is_of_quasar(&self) -> bool {
        self.quasar_dm.is_some() || self.quasar_trisc.is_some()
    }

    /// Returns mutable references to the kernel spans of all groups of RISCs.
    pub(super) const fn groups_mut(&mut self) -> [&mut Option<Span>; KERNEL_GROUP_COUNT] {
        [
            &mut self.brisc,
            &mut self.ncrisc,
            &mut self.trisc0,
            &mut self.trisc1,
            &mut self.trisc2,
            &mut self.erisc,
            &mut self.quasar_dm,
            &mut self.quasar_trisc,
        ]
    }

    /// Creates the kernel spans from one span for each group of RISCs.
    pub(super) fn from_groups(spans: [Option<Span>; KERNEL_GROUP_COUNT]) -> Self {
        let [brisc, ncrisc, trisc0, trisc1, trisc2, erisc, quasar_dm, quasar_trisc] = spans;
        Self { brisc, ncrisc, trisc0, trisc1, trisc2, erisc, quasar_dm, quasar_trisc }
    }

    /// Clears the kernel spans of those groups of RISCs for which `is_empty` is true.
    fn empty(&mut self, is_empty: [bool; KERNEL_GROUP_COUNT]) {
        let groups = self.groups_mut().into_iter().zip(is_empty);
        groups.filter(|(_, is_empty)| *is_empty).for_each(|(kernel, _)| *kernel = None);
    }
}

impl Op {
    /// Clears the figures that cover several lanes, and stores `doubt` as the reason.
    const fn empty_spans(&mut self, doubt: Doubt) {
        (self.firmware, self.kernel, self.data_movement_kernel) = (None, None, None);
        self.kernel_first_to_last_start_cycles = None;
        self.kernel_first_to_last_start_ns = None;
        self.duration_doubt = Some(doubt);
    }

    /// Returns the longest kernel duration of a core divided by the mean kernel duration of the
    /// cores.
    ///
    /// The ratio is at least 1. It is `None` if no core ran a kernel, all kernels took 0 cycles,
    /// the sum of their durations is unknown, or the durations are in doubt.
    ///
    /// ```
    /// use analysis::{CycleStatistics, Op};
    /// let core_kernel = CycleStatistics::from_durations(&[100, 100, 400], 1000);
    /// assert_eq!(Op { core_kernel, ..Op::default() }.imbalance(), Some(2.0));
    /// assert_eq!(Op::default().imbalance(), None);
    /// ```
    #[must_use]
    pub fn imbalance(&self) -> Option<f64> {
        let cores = &self.core_kernel;
        // A saturated total is not a valid sum.
        let has_mean = cores.total_cycles > 0 && cores.total_cycles != u64::MAX;
        let is_known = has_mean && self.duration_doubt.is_none();
        is_known.then(|| cores.max_cycles as f64 / cores.mean_cycles())
    }

    /// Clears the latencies, because launches between this op and the previous one are hidden.
    pub fn hide_latencies(&mut self) {
        (self.op_to_op_latency_cycles, self.op_to_op_latency_ns) = (None, None);
        self.data_movement_op_to_op_latency_cycles = None;
        self.data_movement_op_to_op_latency_ns = None;
        self.latency_doubt.get_or_insert(Doubt::HiddenLaunches);
    }

    /// Clears the figures that compare times of several cores, because the cores' clocks disagree.
    fn empty_over_clocks(&mut self) {
        self.empty_spans(Doubt::ClocksDisagree);
        self.risc_kernels = RiscKernels::default();
        (self.trace_firmware, self.trace_kernel) = (None, None);
    }
}

/// Maximum cycles between the starts of two cores in one launch, if their clocks share an epoch. A
/// larger difference is plausible only if a core ran for at least as many cycles.
///
/// A launch reaches all cores within microseconds. Different epochs are 10^9 cycles or more apart.
pub const IMPLAUSIBLE_SKEW_CYCLES: u64 = 1_000_000;

/// Reference to one run of one lane, as part of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaunchRun {
    /// Lane of the run.
    pub lane: LaneId,
    /// Index of the run in [`reader::lane::Lane::runs`].
    pub run: usize,
}

/// An op with the runs that it was computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Figures of the launch.
    pub op: Op,
    /// Time of the earliest record, on the chip's reference clock.
    pub first_cycle: u64,
    /// Time of the latest record, on the chip's reference clock.
    pub last_cycle: u64,
    /// Runs sorted by core. The order within a core is not defined.
    pub runs: Vec<LaunchRun>,
}

/// Computes the launches of one chip with their runs, sorted by time, from the runs of its lanes.
/// `readout` contains the losses and the hidden launches.
pub(super) fn chip_launches(
    mut runs: ChipRuns,
    chip: &ChipSummary,
    readout: &Readout,
) -> Vec<Launch> {
    let before = MissingLaunches::new(chip.chip_id, readout, runs.dispatch_cores());
    let mut launches = Vec::new();
    join_chip(&mut runs, (chip, &before.holes), true, |joined| launches.extend(joined));
    launches.sort_by_key(|launch| launch.first_cycle);
    let timings: Vec<_> = launches.iter().map(Timing::new).collect();
    for (launch, latency) in launches.iter_mut().zip(latency_pairs(&timings, &before)) {
        latency.add_to(&mut launch.op, chip.aiclk_mhz);
    }
    launches
}

/// Like [`chip_launches`], but without runs, and packed in `memory`. If `numbers` is given, the
/// number of each run's launch is added to it.
pub(super) fn packed_chip_launches(
    mut runs: ChipRuns,
    chip: &ChipSummary,
    readout: &Readout,
    (memory, mut numbers): (&Arc<PackedMemory>, Option<&mut RunNumbers>),
) -> ChipLaunches {
    let before = MissingLaunches::new(chip.chip_id, readout, runs.dispatch_cores());
    let mut launches = JoinedLaunches::new(chip.chip_id, chip.aiclk_mhz, memory);
    join_chip(&mut runs, (chip, &before.holes), numbers.is_some(), |mut joined| {
        if let Some(numbers) = &mut numbers {
            numbers.take(launches.count(), &mut joined);
        }
        joined.iter_mut().for_each(|launch| launches.push(launch));
    });
    drop(runs);
    if let Some(numbers) = numbers {
        numbers.set_order(chip.chip_id, launches.first_cycles());
    }
    launches.sorted(&before)
}

/// Joins the runs of one chip into launches, program by program. Calls `take` with several launches
/// at a time.
fn join_chip(
    runs: &mut ChipRuns,
    (chip, holes): (&ChipSummary, &Holes<'_>),
    keeps_runs: bool,
    mut take: impl FnMut(Vec<Launch>) + Send,
) {
    let join_program = |runs: &[LaneRun]| {
        let mut launches = program_launches(runs, chip.aiclk_mhz);
        if !holes.is_empty() {
            let bounds = runs.iter().map(|run| ((run.lane, run.index), run.bounds));
            let bounds: RunBounds = bounds.collect();
            for launch in &mut launches {
                empty_over_holes(launch, &holes.riscs_of(launch, &bounds));
            }
        }
        if !keeps_runs {
            launches.iter_mut().for_each(|launch| launch.runs = Vec::new());
        }
        launches
    };
    let join_piece = |piece: &mut [LaneRun]| -> Vec<Launch> {
        let of_program = |one: &LaneRun, other: &LaneRun| one.key.program == other.key.program;
        piece.chunk_by_mut(of_program).for_each(adopt_replays);
        let programs: Vec<_> = piece.chunk_by(|one, other| one.key == other.key).collect();
        programs.into_par_iter().flat_map_iter(join_program).collect()
    };
    let mut pieces = runs.pieces();
    let mut next = pieces.next();
    while let Some(mut piece) = next {
        // One thread unpacks the next runs while the other threads join the current runs.
        let (after, joined) = rayon::join(|| pieces.next(), || join_piece(&mut piece));
        take(joined);
        next = after;
    }
}

/// Clears the figures that may be wrong because these RISCs lost records.
fn empty_over_holes(launch: &mut Launch, riscs: &BTreeSet<Risc>) {
    if riscs.is_empty() {
        return;
    }
    let op = &mut launch.op;
    let mut is_empty = [false; KERNEL_GROUP_COUNT];
    for group in riscs.iter().filter_map(|&risc| kernel_group(risc)) {
        if let Some(is_empty) = is_empty.get_mut(group) {
            *is_empty = true;
        }
    }
    op.risc_kernels.empty(is_empty);
    if riscs.contains(&Risc::TensixAggregate) {
        (op.trace_firmware, op.trace_kernel) = (None, None);
    }
    op.core_kernel = CycleStatistics::default();
    (op.stall, op.stall_ns) = (None, None);
    op.empty_spans(Doubt::LostRecords);
}

/// Computes the launches of one program and replay.
fn program_launches(runs: &[LaneRun], aiclk_mhz: u32) -> Vec<Launch> {
    let Some(first) = runs.first() else { return Vec::new() };
    let sub_device_id = runs.iter().find_map(|run| run.sub_device_id);
    let launches = join_runs(runs);
    let cores_by_launch = launches.chunk_by(|one, other| one.ordinal == other.ordinal);
    let launches = cores_by_launch.map(|cores| Launch {
        op: Op { sub_device_id, ..op_of(first.lane.chip_id, first.key, cores, aiclk_mhz) },
        first_cycle: cores.iter().map(|core| core.bounds.0).min().unwrap_or(0),
        last_cycle: cores.iter().map(|core| core.bounds.1).max().unwrap_or(0),
        runs: cores.iter().flat_map(|core| core.runs.iter().copied()).collect(),
    });
    launches.collect()
}

fn op_of(chip_id: u32, key: OpKey, cores: &[CoreLaunch], aiclk_mhz: u32) -> Op {
    let mut extents = Extents::default();
    for core in cores {
        extents.join(&core.extents);
    }
    let span =
        |extent: &Extent| extent.bounds().and_then(|(start, end)| Span::new(start, end, aiclk_mhz));
    let count = |is: fn(&CoreLaunch) -> bool| cores.iter().filter(|core| is(core)).count() as u64;
    let skew = first_to_last_start(&extents.kernel);
    let mut op = Op {
        chip_id,
        run_host_id: key.program,
        trace_id: key.trace.map(|trace| trace.trace_id),
        trace_replay: key.trace.map(|trace| trace.counter),
        launch: cores.first().map_or(0, |core| core.ordinal as u64 + 1),
        core_count: count(has_firmware),
        recorded_core_count: cores.len() as u64,
        unfinished_core_count: count(|core| core.extents.has_open_firmware),
        time_matched_core_count: count(|core| core.is_matched_by_time),
        firmware: span(&extents.firmware),
        kernel: span(&extents.kernel),
        data_movement_kernel: data_movement_span(&extents, aiclk_mhz),
        trace_firmware: span(&extents.trace_firmware),
        trace_kernel: span(&extents.trace_kernel),
        risc_kernels: RiscKernels::from_groups(extents.risc_kernels.map(|extent| span(&extent))),
        kernel_first_to_last_start_cycles: skew,
        kernel_first_to_last_start_ns: skew.and_then(|skew| cycles_to_ns(skew, aiclk_mhz)),
        core_kernel: core_kernel(cores, aiclk_mhz),
        stall: extents.stall,
        stall_ns: extents.stall.and_then(|stall| cycles_to_ns(stall.cycles, aiclk_mhz)),
        is_spread_implausible: is_spread_implausible(cores),
        ..Op::default()
    };
    empty_unfinished(&mut op, &extents);
    if op.is_spread_implausible {
        op.empty_over_clocks();
    }
    op
}

/// Clears the figures of kernels and firmware that are unfinished on at least one core.
fn empty_unfinished(op: &mut Op, extents: &Extents) {
    op.risc_kernels.empty(extents.open_kernels);
    if extents.has_open_kernel {
        (op.kernel, op.data_movement_kernel) = (None, None);
        op.core_kernel = CycleStatistics::default();
        op.duration_doubt = Some(Doubt::Unfinished);
    }
    if op.unfinished_core_count > 0 {
        op.firmware = None;
        op.duration_doubt = Some(Doubt::Unfinished);
    }
}

fn has_firmware(core: &CoreLaunch) -> bool {
    core.extents.firmware != Extent::default()
}

fn first_to_last_start(kernel: &Extent) -> Option<u64> {
    Some(kernel.last_start? - kernel.first_start?)
}

fn data_movement_span(extents: &Extents, aiclk_mhz: u32) -> Option<Span> {
    Span::new(extents.data_movement.first_start?, extents.kernel.last_end?, aiclk_mhz)
}

fn core_kernel(cores: &[CoreLaunch], aiclk_mhz: u32) -> CycleStatistics {
    let bounds = cores.iter().filter_map(|core| core.extents.kernel.bounds());
    let durations: Vec<_> = bounds.map(|(start, end)| end - start).collect();
    CycleStatistics::from_durations(&durations, aiclk_mhz)
}

fn is_spread_implausible(cores: &[CoreLaunch]) -> bool {
    let starts = cores.iter().map(|core| core.bounds.0);
    let lengths = cores.iter().map(|core| core.bounds.1.saturating_sub(core.bounds.0));
    let skew = starts.clone().max().unwrap_or(0) - starts.min().unwrap_or(0);
    skew > lengths.max().unwrap_or(0).max(IMPLAUSIBLE_SKEW_CYCLES)
}
