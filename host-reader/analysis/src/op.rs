//! Ops: what each launch of a program took, over all cores of its chip.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "ends lie behind their starts: zones are paired so"
)]

use super::{
    distribution::CycleStatistics,
    doubt::{Doubt, Holes, RunBounds, open_kernels},
    figures::{Extent, Extents, KERNEL_GROUP_COUNT, LaneRun, OpKey, kernel_group, lane_runs},
    join::{CoreLaunch, join_runs},
    latency::{Before, Latency, latencies},
    own_zones::OwnTime,
    packed_runs::ChipRuns,
    span::{Span, cycles_to_ns},
};
use rayon::prelude::*;
use reader::{
    lane::LaneId,
    readout::{ChipSummary, DeviceReadout, Readout},
    role::RoleTable,
};
use std::collections::BTreeSet;
use wire::Risc;

/// Kernel spans of each RISC, over all cores: first start to last end.
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
    /// Processors of a Quasar that move data, all together.
    pub quasar_dm: Option<Span>,
    /// TRISCs of all parts of a Quasar's cores, all together.
    pub quasar_trisc: Option<Span>,
}

/// One launch of one program on one chip.
///
/// # Compatibility
/// `cpp_device_analyses.json` and `cpp_device_perf_report.csv`: spans go from the first
/// start to the last end of zones whose name contains `-FW` or `-KERNEL`, over all cores
/// and RISCs. Upstream puts all launches of one run host id into one row; here each has
/// its own. A figure over records that are missing, or over clocks that cannot be compared, is
/// `None` here, and [`Op::duration_doubt`] or [`Op::latency_doubt`] says why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Op {
    /// Number of the chip.
    pub chip_id: u32,
    /// The program, encoded with its chip.
    pub run_host_id: u32,
    /// The trace that was replayed, if any.
    pub trace_id: Option<u64>,
    /// Which replay of it, from 1.
    pub trace_replay: Option<u64>,
    /// Which launch of this program and replay, from 1.
    pub launch: u64,
    /// Sub-device that it ran on; `None` if it had the whole chip.
    pub sub_device_id: Option<u8>,
    /// Cores with a firmware zone.
    pub core_count: u64,
    /// Cores with any record.
    pub recorded_core_count: u64,
    /// Cores whose firmware zone began and did not end.
    pub unfinished_core_count: u64,
    /// Cores that have fewer launches of this program than others and were assigned by time.
    pub time_matched_core_count: u64,
    /// First firmware start to last firmware end.
    pub firmware: Option<Span>,
    /// First kernel start to last kernel end.
    pub kernel: Option<Span>,
    /// First start of a BRISC, NCRISC or ERISC kernel to the last end of any kernel.
    pub data_movement_kernel: Option<Span>,
    /// Firmware of aggregate lanes, which traces are recorded with.
    pub trace_firmware: Option<Span>,
    /// Kernels of aggregate lanes.
    pub trace_kernel: Option<Span>,
    /// Kernels of each RISC.
    pub risc_kernels: RiscKernels,
    /// First to last kernel start.
    pub kernel_first_to_last_start_cycles: Option<u64>,
    /// The same in nanoseconds.
    pub kernel_first_to_last_start_ns: Option<u64>,
    /// Kernel durations of single cores, first start to last end on each.
    pub core_kernel: CycleStatistics,
    /// True if no op ran before on its chip: its latencies are 0 then, as TT-Metal's tables have it.
    pub is_first_of_chip: bool,
    /// From the end of the previous op's kernel to the start of this one's.
    pub op_to_op_latency_cycles: Option<u64>,
    /// The same in nanoseconds.
    pub op_to_op_latency_ns: Option<u64>,
    /// From the end of the previous op's kernel to this one's first data-movement start.
    pub data_movement_op_to_op_latency_cycles: Option<u64>,
    /// The same in nanoseconds.
    pub data_movement_op_to_op_latency_ns: Option<u64>,
    /// Waits of its RISCs until the host had read their lanes, in the debug dump, added up over all
    /// of them; `None` if none was recorded or records are missing.
    pub stall: Option<OwnTime>,
    /// Their sum in nanoseconds.
    pub stall_ns: Option<u64>,
    /// True if the cores began so far apart that their clocks cannot share an epoch:
    /// there are no figures over several cores then until the readout is aligned by its
    /// [`TileOrigins`](reader::origins::TileOrigins).
    pub is_spread_implausible: bool,
    /// Why durations are empty that could be computed from the records.
    pub duration_doubt: Option<Doubt>,
    /// Why the latencies are empty, if the ops do not overlap.
    pub latency_doubt: Option<Doubt>,
}

impl RiscKernels {
    /// Returns true if processors of a Quasar ran kernels.
    #[must_use]
    pub const fn is_of_quasar(&self) -> bool {
        self.quasar_dm.is_some() || self.quasar_trisc.is_some()
    }

    /// The kernels of each group of RISCs.
    const fn groups_mut(&mut self) -> [&mut Option<Span>; KERNEL_GROUP_COUNT] {
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

    /// Takes out the kernels of groups of RISCs.
    fn empty(&mut self, is_empty: [bool; KERNEL_GROUP_COUNT]) {
        let groups = self.groups_mut().into_iter().zip(is_empty);
        groups.filter(|(_, is_empty)| *is_empty).for_each(|(kernel, _)| *kernel = None);
    }
}

impl Op {
    /// Takes out what goes over all lanes.
    const fn empty_spans(&mut self, doubt: Doubt) {
        (self.firmware, self.kernel, self.data_movement_kernel) = (None, None, None);
        self.kernel_first_to_last_start_cycles = None;
        self.kernel_first_to_last_start_ns = None;
        self.duration_doubt = Some(doubt);
    }

    /// Takes out the latencies: launches between this op and the one before are not shown.
    pub fn hide_latencies(&mut self) {
        (self.op_to_op_latency_cycles, self.op_to_op_latency_ns) = (None, None);
        self.data_movement_op_to_op_latency_cycles = None;
        self.data_movement_op_to_op_latency_ns = None;
        self.latency_doubt.get_or_insert(Doubt::HiddenLaunches);
    }

    /// Takes out what goes over clocks that cannot be compared.
    fn empty_over_clocks(&mut self) {
        self.empty_spans(Doubt::ClocksDisagree);
        self.risc_kernels = RiscKernels::default();
        (self.trace_firmware, self.trace_kernel) = (None, None);
    }
}

/// Cycles between the starts of two cores of one launch beyond which, if neither runs as
/// long, they cannot share an epoch.
///
/// A launch goes to all cores within microseconds; epochs
/// that differ do so by 10^9 cycles and more.
pub const IMPLAUSIBLE_SKEW_CYCLES: u64 = 1_000_000;

/// One run of one lane, as part of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaunchRun {
    /// Whose run.
    pub lane: LaneId,
    /// Index of the run in [`reader::lane::Lane::runs`].
    pub run: usize,
}

/// An op together with what it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// The figures.
    pub op: Op,
    /// Time of the earliest record, on the clock of the chip's reference.
    pub first_cycle: u64,
    /// Time of the latest record.
    pub last_cycle: u64,
    /// The runs, by core; those of one core in no particular order.
    pub runs: Vec<LaunchRun>,
}

/// The ops of all chips, by chip and time.
///
/// Times of different cores are compared as they are: a readout whose tiles have epochs of
/// their own is to be aligned by its [`TileOrigins`](reader::origins::TileOrigins) first. A
/// core that is missing from a launch just does not count.
#[must_use]
pub fn ops_of(readout: &Readout) -> Vec<Op> {
    launches_of(readout).into_iter().map(|launch| launch.op).collect()
}

/// The ops of all chips, by chip and time, each with its runs.
///
/// Every run that holds records belongs to exactly one launch, but those of kernels that dispatch
/// others, which belong to none.
#[must_use]
pub fn launches_of(readout: &Readout) -> Vec<Launch> {
    let roles = RoleTable::of_names(&readout.zones);
    let launches = |device: &DeviceReadout| {
        let lanes = device.lanes.par_iter().fold(ChipRuns::default, |mut runs, lane| {
            runs.add(lane.id, lane_runs(lane, &roles));
            runs
        });
        let runs = lanes.reduce(ChipRuns::default, |mut runs, other| {
            runs.merge(other);
            runs
        });
        chip_launches(runs, &device.chip, readout, RunsOfLaunches::Kept)
    };
    readout.devices.iter().flat_map(launches).collect()
}

/// Whether launches say which runs they were made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunsOfLaunches {
    /// Every run of every lane, 32 bytes each.
    Kept,
    /// Only figures are wanted.
    LeftOut,
}

/// The launches of one chip, by time, from the runs of its lanes; `readout` says what is lost and
/// what is hidden.
pub(super) fn chip_launches(
    mut runs: ChipRuns,
    chip: &ChipSummary,
    readout: &Readout,
    wanted: RunsOfLaunches,
) -> Vec<Launch> {
    let clock = chip.aiclk_mhz;
    let holes = Holes::of_chip(&readout.losses, chip.chip_id, runs.dispatch_cores());
    let hidden = readout.hidden.iter().filter(|launch| launch.chip_id == chip.chip_id);
    let hidden: Vec<_> = hidden.map(|launch| (launch.first_cycle, launch.last_cycle)).collect();
    let of_program = |runs: &[LaneRun]| {
        let mut launches = program_launches(runs, clock);
        if !holes.is_empty() {
            let bounds = runs.iter().map(|run| ((run.lane, run.index), run.bounds));
            let bounds: RunBounds = bounds.collect();
            for launch in &mut launches {
                empty_over_holes(launch, &holes.riscs_of(launch, &bounds));
            }
        }
        if wanted == RunsOfLaunches::LeftOut {
            launches.iter_mut().for_each(|launch| launch.runs = Vec::new());
        }
        launches
    };
    let mut launches = Vec::new();
    for piece in runs.pieces() {
        let programs: Vec<_> = piece.chunk_by(|one, other| one.key == other.key).collect();
        launches.par_extend(programs.into_par_iter().flat_map_iter(of_program));
    }
    launches.sort_by_key(|launch| launch.first_cycle);
    add_latencies(&mut launches, (&holes, &hidden), clock);
    launches
}

/// Takes out the figures of records that may be missing of these RISCs.
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

/// The launches of one program and replay.
fn program_launches(runs: &[LaneRun], aiclk_mhz: u32) -> Vec<Launch> {
    let Some(first) = runs.first() else { return Vec::new() };
    let sub_device_id = runs.iter().find_map(|run| run.sub_device_id);
    let launches = join_runs(runs);
    let of_launches = launches.chunk_by(|one, other| one.ordinal == other.ordinal);
    let launch = |cores: &[CoreLaunch]| Launch {
        op: Op { sub_device_id, ..op_of(first.lane.chip_id, first.key, cores, aiclk_mhz) },
        first_cycle: cores.iter().map(|core| core.bounds.0).min().unwrap_or(0),
        last_cycle: cores.iter().map(|core| core.bounds.1).max().unwrap_or(0),
        runs: cores.iter().flat_map(|core| core.runs.iter().copied()).collect(),
    };
    of_launches.map(launch).collect()
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
        sub_device_id: None,
        core_count: count(has_firmware),
        recorded_core_count: cores.len() as u64,
        unfinished_core_count: count(|core| core.extents.firmware.is_open()),
        time_matched_core_count: count(|core| core.is_matched_by_time),
        firmware: span(&extents.firmware),
        kernel: span(&extents.kernel),
        data_movement_kernel: data_movement_span(&extents, aiclk_mhz),
        trace_firmware: span(&extents.trace_firmware),
        trace_kernel: span(&extents.trace_kernel),
        risc_kernels: risc_kernels(extents.risc_kernels.map(|extent| span(&extent))),
        kernel_first_to_last_start_cycles: skew,
        kernel_first_to_last_start_ns: skew.and_then(|skew| cycles_to_ns(skew, aiclk_mhz)),
        core_kernel: core_kernel(cores, aiclk_mhz),
        is_first_of_chip: false,
        op_to_op_latency_cycles: None,
        op_to_op_latency_ns: None,
        data_movement_op_to_op_latency_cycles: None,
        data_movement_op_to_op_latency_ns: None,
        stall: extents.stall,
        stall_ns: extents.stall.and_then(|stall| cycles_to_ns(stall.cycles, aiclk_mhz)),
        is_spread_implausible: is_spread_implausible(cores),
        duration_doubt: None,
        latency_doubt: None,
    };
    empty_unfinished(&mut op, cores);
    if op.is_spread_implausible {
        op.empty_over_clocks();
    }
    op
}

/// Takes out the figures of kernels and firmware that did not end on every core.
fn empty_unfinished(op: &mut Op, cores: &[CoreLaunch]) {
    let open = open_kernels(cores);
    op.risc_kernels.empty(open);
    if open.contains(&true) || cores.iter().any(|core| core.extents.kernel.is_open()) {
        (op.kernel, op.data_movement_kernel) = (None, None);
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

fn risc_kernels(spans: [Option<Span>; KERNEL_GROUP_COUNT]) -> RiscKernels {
    let mut kernels = RiscKernels::default();
    kernels.groups_mut().into_iter().zip(spans).for_each(|(kernel, span)| *kernel = span);
    kernels
}

fn core_kernel(cores: &[CoreLaunch], aiclk_mhz: u32) -> CycleStatistics {
    let bounds = cores.iter().filter_map(|core| core.extents.kernel.bounds());
    let durations: Vec<_> = bounds.map(|(start, end)| end - start).collect();
    CycleStatistics::of(&durations, aiclk_mhz)
}

fn is_spread_implausible(cores: &[CoreLaunch]) -> bool {
    let starts = || cores.iter().map(|core| core.bounds.0);
    let lengths = cores.iter().map(|core| core.bounds.1.saturating_sub(core.bounds.0));
    let skew = starts().max().unwrap_or(0) - starts().min().unwrap_or(0);
    skew > lengths.max().unwrap_or(0).max(IMPLAUSIBLE_SKEW_CYCLES)
}

fn add_latencies(
    launches: &mut [Launch],
    (holes, hidden): (&Holes<'_>, &[(u64, u64)]),
    aiclk_mhz: u32,
) {
    let clocks_disagree = launches.iter().any(|launch| launch.op.is_spread_implausible);
    let before = Before { holes, hidden, clocks_disagree };
    let whole = latencies(launches, before, |op| op.kernel);
    let data_movement = latencies(launches, before, |op| op.data_movement_kernel);
    for ((launch, whole), data_movement) in launches.iter_mut().zip(whole).zip(data_movement) {
        let op = &mut launch.op;
        let ns = |cycles: Option<u64>| cycles.and_then(|cycles| cycles_to_ns(cycles, aiclk_mhz));
        op.is_first_of_chip = whole == Latency::First;
        op.op_to_op_latency_cycles = whole.cycles();
        op.op_to_op_latency_ns = ns(whole.cycles());
        op.data_movement_op_to_op_latency_cycles = data_movement.cycles();
        op.data_movement_op_to_op_latency_ns = ns(data_movement.cycles());
        op.latency_doubt = whole.doubt().or(data_movement.doubt());
    }
}
