//! One launch with all evidence for its causes.

use crate::{
    balance::{Balance, balance_of},
    counter_shares::CounterShare,
    evidence::{Evidence, RunEvidence},
    kernel_zone::{BareZone, KernelZone, LongSum, kernel_zones, largest_zones},
    op_split::{counter_cycles, op_times},
    pace::{Pace, pace_of},
    path::{CriticalPath, critical_path, critical_path_of_parts},
    risc_wait::{RiscWait, cycle_percent, risc_waits},
    semaphore::{SemaphoreWait, semaphore_waits},
    signals::Signals,
    stage::Stage,
    time_class::{ClassTimes, TimeSplit},
    timeline::length,
    window::window_parts,
};
use analysis::{
    Doubt, Launch, Op, Span,
    noc_events::{Noc, RawCoord, TileMap},
};
use reader::{
    lane::{LaneId, ZoneIndex},
    mesh::Noc0Coord,
    probe_cost::ProbeCosts,
};
use reports::perf::OpCategory;
use std::collections::BTreeMap;
use wire::Risc;

/// One run of one lane in a launch.
pub(crate) struct CoreRun<'a> {
    pub(crate) lane: LaneId,
    pub(crate) evidence: &'a RunEvidence,
    /// Cycle at which the run's kernel ended, even if the evidence ends earlier.
    pub(crate) kernel_end: Option<u64>,
}

impl<'a> CoreRun<'a> {
    /// Returns the runs of a launch that have evidence, sorted by core and RISC.
    pub(crate) fn from_launch(launch: &Launch, evidence: &'a Evidence) -> Vec<Self> {
        let (mut at, mut runs) = (0, Vec::new());
        for run in &launch.runs {
            if let Some(evidence) = evidence.run(&mut at, run.lane, run.run) {
                let kernel_end = evidence.kernel().map(|(_, end)| end);
                runs.push(Self { lane: run.lane, evidence, kernel_end });
            }
        }
        runs.sort_by_key(|run| run.lane);
        runs
    }
}

/// One launch with the evidence needed for its analysis.
pub(crate) struct OpView<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) name: Option<&'a str>,
    pub(crate) aiclk_mhz: u32,
    pub(crate) costs: &'a ProbeCosts,
    /// Mapping of kernel coordinates to tiles; `None` if unknown.
    pub(crate) tiles: Option<&'a TileMap>,
    /// Bounds of the tiles' clock errors in cycles; `None` if all tiles share a clock.
    pub(crate) clock_bounds: Option<&'a BTreeMap<(u32, Noc0Coord), u64>>,
    /// Shares of the op's cycles that hardware counters measured.
    pub(crate) counter_shares: &'a [CounterShare],
    /// Span of the kernels of all cores, or only the part of that span for which there is evidence.
    pub(crate) kernel: Option<Span>,
    /// Runs, sorted by core and RISC.
    pub(crate) runs: Vec<CoreRun<'a>>,
}

impl<'a> OpView<'a> {
    /// Returns the part of the op in which all waits of all RISCs are known, and the evidence in
    /// this part. Returns `None` if this part is the whole op, or if no waits were recorded.
    ///
    /// Once a RISC's record buffer is full, its records of waits are lost.
    fn known_part(&self) -> Option<(Span, Vec<RunEvidence>)> {
        if !self.has_waits() {
            return None;
        }
        let until = self.runs.iter().filter_map(|run| run.evidence.known_until()).min()?;
        let kernel = self.kernel.filter(|kernel| until < kernel.end_cycle)?;
        let end = until.max(kernel.start_cycle);
        let span = Span::new(kernel.start_cycle, end, self.aiclk_mhz)?;
        Some((span, self.within(&span)))
    }

    /// Returns the span of all kernels and the sums of their waits. If the sums are incomplete,
    /// returns the last of `parts` and the evidence in that part.
    ///
    /// `parts` are the spans in which individual waits are known. If `parts` is empty, the returned
    /// span has no length.
    fn known_of_windows(&self, parts: &[Span]) -> Option<(Span, Vec<RunEvidence>)> {
        let kernel = self.kernel?;
        if self.runs.iter().all(|run| run.evidence.known_until().is_none()) {
            let sums = self.runs.iter().map(|run| run.evidence.sums_alone());
            return Some((kernel, sums.collect()));
        }
        let start = kernel.start_cycle;
        let part = parts.last().copied().or_else(|| Span::new(start, start, self.aiclk_mhz))?;
        Some((part, self.within(&part)))
    }

    pub(crate) fn within(&self, span: &Span) -> Vec<RunEvidence> {
        let evidence = self.runs.iter().map(|run| run.evidence);
        evidence.map(|of| of.within(span.start_cycle, span.end_cycle)).collect()
    }

    /// Returns the second half of a part.
    ///
    /// In the first half, the buffers are still filling. Every stage then runs as fast as it can,
    /// so the waits do not yet show which stage sets the pace.
    fn second_half(&self, span: &Span) -> Option<(Span, Vec<RunEvidence>)> {
        let middle = span.start_cycle.saturating_add(span.duration_cycles / 2);
        let half = Span::new(middle, span.end_cycle, self.aiclk_mhz)?;
        Some((half, self.within(&half)))
    }

    /// Returns a view of this op that is restricted to the evidence of a part.
    pub(crate) fn part_view<'b>(
        &'b self,
        (kernel, evidence): &'b (Span, Vec<RunEvidence>),
    ) -> OpView<'b> {
        let runs = self.runs.iter().zip(evidence);
        let runs = runs.map(|(run, evidence)| CoreRun { evidence, ..*run });
        OpView { kernel: Some(*kernel), runs: runs.collect(), ..*self }
    }

    /// Returns the runs grouped by core.
    pub(crate) fn cores(&self) -> impl Iterator<Item = &[CoreRun<'a>]> {
        self.runs.chunk_by(|one, other| one.lane.core == other.lane.core)
    }

    pub(crate) fn has_waits(&self) -> bool {
        self.runs.iter().any(|run| {
            run.evidence
                .sync()
                .is_some_and(|sync| !sync.waits.is_empty() || !sync.totals.is_empty())
        })
    }

    pub(crate) fn has_timed_waits(&self) -> bool {
        self.runs.iter().any(|run| run.evidence.sync().is_some_and(|sync| !sync.waits.is_empty()))
    }

    /// Decodes a NoC address into the tiles that it selects and the address within each tile. For a
    /// multicast, only the worker tiles of its rectangle are returned.
    ///
    /// # Compatibility
    /// `NOC_XY_ADDR` and `NOC_MULTICAST_ADDR` of tt-metal's `noc_parameters.h`: 36 bits of address,
    /// then x and y of 6 bits each. A multicast address has x and y of the rectangle's end,
    /// followed by x and y of its start. On NoC 1, the rectangle's end is the corner with the lower
    /// coordinates.
    pub(crate) fn remote(&self, noc: u8, address: u64) -> Option<(Vec<Noc0Coord>, u64)> {
        let tiles = self.tiles?;
        let (noc, local) = (noc_of(noc), address & 0xF_FFFF_FFFF);
        let end = coord_in(address >> 36)?;
        if address >> 48 == 0 {
            return Some((vec![tiles.noc0(end, noc)?], local));
        }
        let start = coord_in(address >> 48)?;
        if address >> 60 != 0 {
            return None;
        }
        let mut cores = Vec::new();
        for x in start.x.min(end.x)..=start.x.max(end.x) {
            for y in start.y.min(end.y)..=start.y.max(end.y) {
                let tile = tiles.noc0(RawCoord { x, y }, noc)?;
                cores.extend(tiles.is_tensix(tile).then_some(tile));
            }
        }
        Some((cores, local))
    }

    /// Returns the minimum cycles that a request takes from one tile to another.
    pub(crate) fn way_cycles(&self, noc: u8, from: Noc0Coord, to: Noc0Coord) -> u64 {
        self.tiles.map_or(0, |tiles| tiles.way_cycles(noc_of(noc), from, to))
    }

    /// Returns the bound of a tile's clock error in cycles; `None` if the error is not bounded.
    pub(crate) fn clock_bound(&self, core: Noc0Coord) -> Option<u64> {
        match self.clock_bounds {
            None => Some(0),
            Some(bounds) => bounds.get(&(self.launch.op.chip_id, core)).copied(),
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.launch.op.duration_doubt == Some(Doubt::Unfinished)
    }

    pub(crate) fn is_collective(&self) -> bool {
        is_collective(self.name)
    }
}

/// Returns true if an op with this name communicates with other chips.
fn is_collective(name: Option<&str>) -> bool {
    name.is_some_and(|name| OpCategory::from_op_code(name) == OpCategory::Ccl)
}

/// Decodes a coordinate of a NoC address from the lowest 12 bits: 6 bits of x, then 6 bits of y.
fn coord_in(bits: u64) -> Option<RawCoord> {
    let [x, y] = [bits, bits >> 6].map(|bits| i8::try_from(bits & 0x3F).ok());
    Some(RawCoord { x: x?, y: y? })
}

fn noc_of(number: u8) -> Noc {
    if number == 0 { Noc::Noc0 } else { Noc::Noc1 }
}

/// Causes of one launch: its time by class, the core that determined its length, and the stage that
/// set its pace.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct OpCauses {
    /// Number of the chip.
    pub chip_id: u32,
    /// Id of the program. The chip is part of the id.
    pub run_host_id: u32,
    /// Number of the launch among the launches of this program and replay, counted from 1.
    pub launch: u64,
    /// Op name reported by the host.
    pub name: Option<String>,
    /// Span from the first kernel start to the last kernel end; `None` if the start or the end is
    /// unknown or uncertain.
    pub kernel: Option<Span>,
    /// True if a kernel or firmware of the launch began and did not end.
    #[serde(skip)]
    pub(crate) is_open: bool,
    /// Where kernels without an end stand: RISC and innermost open zone, with the number of cores. Empty for a
    /// launch that has ended.
    #[serde(skip)]
    pub(crate) open_kernels: Vec<((Risc, Option<ZoneIndex>), u64)>,
    /// First start and last end of firmware or kernels, in cycles.
    pub window: (u64, u64),
    /// Idle time before the launch, in nanoseconds.
    pub gap_ns: Option<u64>,
    /// True if other launches may have run since the previous one, or if it is not known since when.
    #[serde(skip)]
    pub(crate) is_gap_doubted: bool,
    /// Time by class, including firmware.
    pub time: TimeSplit,
    /// Balance of the cores; `None` if only one core ran the op, or if the times of the cores are
    /// not comparable.
    pub balance: Option<Balance>,
    /// Percentage of the kernel time, counted from the start of the kernels, in which all waits are
    /// known; `None` if it is the whole time.
    ///
    /// The figures for waits, pace and critical path cover that part.
    pub known_percent: Option<f64>,
    /// Percentage of the kernel time that is covered by windows; `None` if individual waits and
    /// signals were recorded all the time or never.
    ///
    /// A window is a period in which individual waits and signals were recorded.
    ///
    /// The critical path covers these windows. Other figures are computed from sums.
    pub windows_percent: Option<f64>,
    /// Blocked time of each RISC; empty if no wait was recorded.
    pub waits: Vec<RiscWait>,
    /// Time blocked at semaphores, grouped by semaphore and by the RISC that signals it; longest
    /// first.
    pub semaphores: Vec<SemaphoreWait>,
    /// Use of reader, math and writer; `None` if no wait was recorded, or if runs of RISCs were
    /// lost.
    pub pace: Option<Pace>,
    /// Critical path; `None` if no individual waits were recorded, or if runs of RISCs were lost.
    pub critical_path: Option<CriticalPath>,
    /// Number of setup zones and their share of the op, on the RISC with the largest share.
    pub setup: Option<SetupShare>,
    /// Time within the kernels by class.
    /// Zone in the kernels that takes most of a RISC's time; `None` if no zone does.
    pub kernel_zone: Option<KernelZone>,
    /// Zones in the kernels of each RISC that take most of their time.
    #[serde(skip)]
    pub(crate) zones: Vec<KernelZone>,
    /// Zones of a launch without zones of kernels.
    #[serde(skip)]
    pub(crate) bare_zones: Vec<BareZone>,
    /// Sums of zones that are longer than their kernels.
    #[serde(skip)]
    pub(crate) long_sums: Vec<LongSum>,
    /// Time of the kernels of each kind of RISC, from the first start to the last end, in
    /// nanoseconds; without those of which the time is unknown.
    #[serde(skip)]
    pub(crate) riscs_ns: Vec<(Risc, f64)>,
    /// Time from the first core's kernel start to the last core's, in nanoseconds; `None` if unknown.
    #[serde(skip)]
    pub(crate) start_skew_ns: Option<f64>,
    #[serde(skip)]
    pub(crate) times: ClassTimes,
    /// Time of firmware before and after the kernels by class.
    #[serde(skip)]
    pub(crate) times_around: ClassTimes,
    /// True if firmware was recorded.
    #[serde(skip)]
    pub(crate) has_firmware: bool,
    /// Shares of the op's cycles that hardware counters measured.
    #[serde(skip)]
    pub(crate) counter_shares: Vec<CounterShare>,
    /// Number of hardware counter records, over all RISCs.
    #[serde(skip)]
    pub(crate) counter_count: u64,
    /// Time that the firmware spends writing the counters' records around the kernels; 0 if the
    /// clock's frequency is unknown.
    #[serde(skip)]
    pub(crate) counters_ns: f64,
    /// Number of the replay, if the launch belongs to a replayed trace.
    #[serde(skip)]
    pub(crate) replay: Option<u64>,
    /// True if each core recorded a single envelope zone for all its RISCs, as in trace-only mode.
    #[serde(skip)]
    pub(crate) is_envelope: bool,
}

/// Returns the share of the kernels' time that windows cover; `None` if it is the whole time, as of a short
/// op in one window.
fn windows_percent(parts: &[Span], kernel_cycles: u64) -> Option<f64> {
    let cycles = parts.iter().map(|span| span.duration_cycles);
    let percent = cycle_percent(cycles.fold(0, u64::saturating_add), kernel_cycles);
    (percent < 100.0).then_some(percent)
}

/// Share of an op's time in which a RISC reconfigures or initialises hardware.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SetupShare {
    /// RISC with the largest share.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: wire::Risc,
    /// Core of this RISC, as column and row on the NoC-0 grid.
    pub core: (u16, u16),
    /// Index of the name of one of the setup zones.
    #[serde(skip)]
    pub(crate) zone: Option<reader::lane::ZoneIndex>,
    /// Number of setup zones on that RISC.
    pub count: u32,
    /// Cycles of the setup zones on that RISC.
    pub cycles: u64,
    /// Cycles of the setup zones on that RISC, in percent of the op's kernel time.
    pub percent: f64,
}

impl OpCauses {
    /// Returns true if the op communicates with other chips.
    pub(crate) fn is_collective(&self) -> bool {
        is_collective(self.name.as_deref())
    }

    /// Returns true if zones of firmware or kernels show when the launch began and ended.
    pub(crate) const fn has_bounds(&self) -> bool {
        self.has_firmware || self.kernel.is_some()
    }

    pub(crate) fn new(view: &OpView<'_>) -> Self {
        let op = &view.launch.op;
        let window = op_window(view.launch);
        let windows = window_parts(view);
        let of_windows = |parts: &Vec<Span>| view.known_of_windows(parts);
        let part = windows.as_ref().map_or_else(|| view.known_part(), of_windows);
        let known = part.as_ref().map(|part| view.part_view(part));
        let known = known.as_ref().unwrap_or(view);
        let signals = Signals::from_view(known);
        let is_lossy = view.runs.iter().any(|run| run.evidence.known_until().is_some());
        let half = part.as_ref().filter(|_| is_lossy).and_then(|(span, _)| view.second_half(span));
        let half = half.as_ref().map(|half| view.part_view(half));
        // If a RISC's run is missing, a RISC that waited for it looks like a RISC that worked.
        let has_all_runs = op.duration_doubt != Some(Doubt::LostRecords);
        let pace = pace_of(half.as_ref().unwrap_or(known), &signals).filter(|_| has_all_runs);
        let math = pace.as_ref().filter(|pace| pace.is_math_known && !pace.is_math_assumed);
        let math = math.and_then(|pace| {
            let math = pace.stage(Stage::Math)?;
            Some(f64::midpoint(math.at_least_percent, math.at_most_percent))
        });
        let is_math_pacer =
            pace.as_ref().is_some_and(|pace| pace.pacer == Stage::Math && pace.is_certain());
        let [times, times_around] = op_times(known, window, math);
        let mut all_times = times;
        all_times.add_all(&times_around, 1.0);
        let kernel = op.kernel.or(op.trace_kernel);
        let kernel_cycles = op.kernel.map_or(0, |kernel| kernel.duration_cycles);
        let known_percent =
            part.as_ref().map(|(span, _)| cycle_percent(span.duration_cycles, kernel_cycles));
        let windows_percent =
            windows.as_deref().and_then(|parts| windows_percent(parts, kernel_cycles));
        let path = match &windows {
            None => critical_path(known, &signals, is_math_pacer),
            Some(parts) => critical_path_of_parts(view, parts, is_math_pacer),
        };
        let time = TimeSplit::new(&all_times, window.1.saturating_sub(window.0), view.aiclk_mhz);
        let zones = kernel_zones(view);
        Self {
            chip_id: op.chip_id,
            run_host_id: op.run_host_id,
            launch: op.launch,
            name: view.name.map(str::to_owned),
            kernel,
            is_open: view.is_open(),
            open_kernels: open_kernels(view),
            window,
            gap_ns: op.op_to_op_latency_ns,
            is_gap_doubted: is_gap_doubted(op),
            counters_ns: kernel.map_or(0.0, |kernel| counters_ns(view, kernel, &time)),
            time,
            balance: balance_of(view),
            known_percent: known_percent.filter(|_| windows.is_none() || is_lossy),
            windows_percent,
            waits: risc_waits(known),
            semaphores: semaphore_waits(known, &signals),
            pace,
            critical_path: path.filter(|_| has_all_runs),
            kernel_zone: largest_zones(&zones, &riscs_ns(view)).first().copied(),
            zones,
            bare_zones: BareZone::all(view),
            long_sums: LongSum::all(view),
            riscs_ns: riscs_ns(view),
            start_skew_ns: start_skew_ns(view),
            setup: kernel.and_then(|kernel| setup_share(view, kernel)),
            times,
            times_around,
            has_firmware: op.firmware.or(op.trace_firmware).is_some(),
            counter_shares: view.counter_shares.to_vec(),
            counter_count: counter_count(view),
            replay: view.launch.op.trace_replay,
            is_envelope: view.runs.iter().any(|run| run.lane.risc == Risc::TensixAggregate),
        }
    }
}

/// Returns true if it is not known how long a chip was idle before an op. One without an end may have a
/// known start, and a known gap before it.
const fn is_gap_doubted(op: &Op) -> bool {
    let is_unknown = op.duration_doubt.is_some() && op.op_to_op_latency_cycles.is_none();
    op.latency_doubt.is_some() || is_unknown
}

fn counters_ns(view: &OpView<'_>, kernel: Span, time: &TimeSplit) -> f64 {
    time.ns_of(counter_cycles(view, kernel)).unwrap_or(0.0)
}

fn counter_count(view: &OpView<'_>) -> u64 {
    let counts = view.runs.iter().filter_map(|run| run.evidence.counters());
    counts.fold(0, |sum, of| sum.saturating_add(of.count.into()))
}

/// Returns the first start and last end of an op, or the times of its first and last record if a
/// start or end is unknown or in doubt.
fn op_window(launch: &Launch) -> (u64, u64) {
    let op: &Op = &launch.op;
    let spans = [op.firmware, op.trace_firmware, op.kernel, op.trace_kernel];
    let start = spans.iter().flatten().map(|span| span.start_cycle).min();
    let end = spans.iter().flatten().map(|span| span.end_cycle).max();
    match start.zip(end).filter(|_| op.duration_doubt.is_none()) {
        Some(window) => window,
        None => (launch.first_cycle, launch.last_cycle),
    }
}

fn open_kernels(view: &OpView<'_>) -> Vec<((Risc, Option<ZoneIndex>), u64)> {
    let mut open: BTreeMap<(Risc, Option<ZoneIndex>), u64> = BTreeMap::new();
    if view.is_open() {
        for run in &view.runs {
            let zone = run.evidence.rare.as_ref().and_then(|rare| rare.open_kernel);
            if let Some(zone) = zone {
                let count = open.entry((run.lane.risc, zone)).or_default();
                *count = count.saturating_add(1);
            }
        }
    }
    open.into_iter().collect()
}

/// Returns the time from the first start to the last end of each RISC's kernels. Those of a Quasar are
/// numbered, and an op's figures have them together.
fn riscs_ns(view: &OpView<'_>) -> Vec<(Risc, f64)> {
    let riscs = view.launch.op.risc_kernels;
    let spans = [
        (Risc::Brisc, riscs.brisc),
        (Risc::Ncrisc, riscs.ncrisc),
        (Risc::Trisc0, riscs.trisc0),
        (Risc::Trisc1, riscs.trisc1),
        (Risc::Trisc2, riscs.trisc2),
    ];
    let known = spans.into_iter().filter_map(|(risc, span)| Some((risc, span?.duration_ns?)));
    let mut times: Vec<_> = known.map(|(risc, ns)| (risc, ns as f64)).collect();
    if riscs.is_of_quasar() && view.aiclk_mhz > 0 {
        let mut spans: BTreeMap<Risc, (u64, u64)> = BTreeMap::new();
        for run in view.runs.iter().filter(|run| run.lane.risc.is_quasar()) {
            let Some((start, end)) = run.evidence.kernel() else { continue };
            let span = spans.entry(run.lane.risc).or_insert((start, end));
            *span = (span.0.min(start), span.1.max(end));
        }
        let ns = |span| length(span) * 1000.0 / f64::from(view.aiclk_mhz);
        times.extend(spans.into_iter().map(|(risc, span)| (risc, ns(span))));
    }
    times
}

/// Returns the time from the first core's kernel start to the last core's; `None` for a single core,
/// or if starts are in doubt.
///
/// A core starts with its first RISC: the RISCs of a core may start apart on purpose.
fn start_skew_ns(view: &OpView<'_>) -> Option<f64> {
    if view.launch.op.duration_doubt.is_some() || view.aiclk_mhz == 0 {
        return None;
    }
    let starts = view.cores().map(|core| {
        core.iter().filter_map(|run| run.evidence.kernel()).map(|(start, _)| start).min()
    });
    let starts: Vec<u64> = starts.flatten().collect();
    let (first, last) = starts.iter().min().zip(starts.iter().max())?;
    let cycles = last.saturating_sub(*first) as f64;
    (starts.len() > 1).then(|| cycles * 1000.0 / f64::from(view.aiclk_mhz))
}

fn setup_share(view: &OpView<'_>, kernel: Span) -> Option<SetupShare> {
    let most = view.runs.iter().max_by_key(|run| run.evidence.setup().cycles)?;
    let setup = most.evidence.setup();
    (setup.count > 0).then(|| SetupShare {
        risc: most.lane.risc,
        core: (most.lane.core.x, most.lane.core.y),
        zone: setup.zone,
        count: setup.count,
        cycles: setup.cycles,
        percent: cycle_percent(setup.cycles, kernel.duration_cycles),
    })
}
