//! One launch with everything that is known of its causes.

use crate::{
    balance::{Balance, balance_of},
    evidence::{Evidence, RunEvidence},
    op_split::op_times,
    pace::{Pace, Stage, pace_of},
    path::{CriticalPath, critical_path},
    risc_wait::{RiscWait, risc_waits},
    time_class::{ClassTimes, TimeSplit},
};
use analysis::{Launch, Op, Span};
use noc_events::{Noc, RawCoord, TileMap};
use reader::{lane::LaneId, mesh::Noc0Coord, probe_cost::ProbeCosts};
use reports::perf::OpCategory;

/// One run of one lane in a launch.
pub(crate) struct CoreRun<'a> {
    pub(crate) lane: LaneId,
    pub(crate) evidence: &'a RunEvidence,
}

/// One launch, ready to be looked at.
pub(crate) struct OpView<'a> {
    pub(crate) launch: &'a Launch,
    pub(crate) name: Option<&'a str>,
    pub(crate) aiclk_mhz: u32,
    pub(crate) costs: &'a ProbeCosts,
    /// Tiles by the coordinates that kernels use; `None` if they are not known.
    pub(crate) tiles: Option<&'a TileMap>,
    /// Mean use of the matrix engine by its counter, in percent.
    pub(crate) fpu_percent: Option<f64>,
    /// The runs, by core and RISC.
    pub(crate) runs: Vec<CoreRun<'a>>,
}

impl<'a> OpView<'a> {
    pub(crate) fn new(
        launch: &'a Launch,
        evidence: &'a Evidence,
        (name, aiclk_mhz): (Option<&'a str>, u32),
        costs: &'a ProbeCosts,
    ) -> Self {
        let run = |run: &analysis::LaunchRun| {
            let evidence = evidence.run(run.lane, run.run)?;
            Some(CoreRun { lane: run.lane, evidence })
        };
        let mut runs: Vec<_> = launch.runs.iter().filter_map(run).collect();
        runs.sort_by_key(|run| run.lane);
        Self { launch, name, aiclk_mhz, costs, tiles: None, fpu_percent: None, runs }
    }

    /// The runs of each core.
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

    /// The tile and the L1 address that a NoC address means.
    ///
    /// # Compatibility
    /// `NOC_XY_ADDR` of tt-metal's `noc_parameters.h`: 36 bits of address, 6 of x, 6 of y.
    /// Bits above them belong to a multicast.
    pub(crate) fn remote(&self, noc: u8, address: u64) -> Option<(Noc0Coord, u64)> {
        if address >> 48 != 0 {
            return None;
        }
        let bits = |from: u32| i8::try_from(address >> from & 0x3F).ok();
        let coord = RawCoord { x: bits(36)?, y: bits(42)? };
        let noc = if noc == 0 { Noc::Noc0 } else { Noc::Noc1 };
        Some((self.tiles?.noc0(coord, noc)?, address & 0xF_FFFF_FFFF))
    }

    pub(crate) fn is_collective(&self) -> bool {
        self.name.is_some_and(|name| OpCategory::of(name) == OpCategory::Ccl)
    }
}

/// One launch of a program: where its time went, who set its length and its pace.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct OpCauses {
    /// Number of the chip.
    pub chip_id: u32,
    /// The program, encoded with its chip.
    pub run_host_id: u32,
    /// Which launch of this program and replay, from 1.
    pub launch: u64,
    /// Its name, as the host gave it.
    pub name: Option<String>,
    /// First kernel start to last kernel end; `None` with a doubt.
    pub kernel: Option<Span>,
    /// First firmware or kernel start, and last end, in cycles.
    pub window: (u64, u64),
    /// Idle time before it, in nanoseconds.
    pub gap_ns: Option<u64>,
    /// Its time by class, firmware included.
    pub time: TimeSplit,
    /// Its cores; `None` if it ran on one, or their times cannot be compared.
    pub balance: Option<Balance>,
    /// Blocked time of each RISC; empty if no wait was recorded.
    pub waits: Vec<RiscWait>,
    /// Use of reader, math and writer; `None` if no wait was recorded.
    pub pace: Option<Pace>,
    /// Its critical path; `None` if no single waits were recorded.
    pub critical_path: Option<CriticalPath>,
    /// Zones that set something up: their number and their share of the op, on the RISC with
    /// most of them.
    pub setup: Option<SetupShare>,
    #[serde(skip)]
    pub(crate) times: ClassTimes,
}

/// Share of an op in which a RISC reconfigures or initialises something.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SetupShare {
    /// The RISC with the largest share.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: wire::Risc,
    /// Its core.
    pub core: (u16, u16),
    /// One of the zones, by index.
    #[serde(skip)]
    pub(crate) zone: Option<reader::lane::ZoneIndex>,
    /// Zones on that RISC.
    pub count: u32,
    /// Their cycles.
    pub cycles: u64,
    /// Their share of the op's kernel time in percent.
    pub percent: f64,
}

impl OpCauses {
    pub(crate) fn new(view: &OpView<'_>) -> Self {
        let op = &view.launch.op;
        let window = window_of(view.launch);
        let pace = pace_of(view);
        let math = pace.as_ref().filter(|pace| pace.is_math_known);
        let math = math.and_then(|pace| Some(pace.stage(Stage::Math)?.at_least_percent));
        let is_math_pacer =
            pace.as_ref().is_some_and(|pace| pace.pacer == Stage::Math && pace.is_certain());
        let times = op_times(view, window, math);
        let kernel = op.kernel.or(op.trace_kernel);
        Self {
            chip_id: op.chip_id,
            run_host_id: op.run_host_id,
            launch: op.launch,
            name: view.name.map(str::to_owned),
            kernel,
            window,
            gap_ns: op.op_to_op_latency_ns,
            time: TimeSplit::new(&times, window.1.saturating_sub(window.0), view.aiclk_mhz),
            balance: balance_of(view),
            waits: risc_waits(view),
            pace,
            critical_path: critical_path(view, is_math_pacer),
            setup: kernel.and_then(|kernel| setup_share(view, kernel)),
            times,
        }
    }
}

/// First start and last end of what an op is known to have occupied.
fn window_of(launch: &Launch) -> (u64, u64) {
    let op: &Op = &launch.op;
    let spans = [op.firmware, op.trace_firmware, op.kernel, op.trace_kernel];
    let known = || spans.iter().flatten();
    let start = known().map(|span| span.start_cycle).min();
    let end = known().map(|span| span.end_cycle).max();
    match start.zip(end).filter(|_| op.duration_doubt.is_none()) {
        Some(window) => window,
        None => (launch.first_cycle, launch.last_cycle),
    }
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
        percent: crate::risc_wait::percent(setup.cycles, kernel.duration_cycles),
    })
}
