//! Pace of an op: how much of its time reader, math and writer are in use, and who sets it.
//!
//! A RISC that moves data is idle while it waits for others. The TRISC that unpacks runs ahead
//! of the math, so that its wait is only an upper bound of the time in which the math starves: a
//! reader exactly as fast as the math makes it wait 69 % and starves nothing. How long the math
//! takes for one block is told by the last one: from the end of the unpacker to that of the math.
//!
//! A RISC that waits for another core's semaphore hands on what comes from there: its stage does
//! not wait for a stage of its own core. Who signals a semaphore is not known from sums alone; then
//! the use lies between both.

use crate::{
    last_block::{LastBlock, of_whole_kernel, window_of},
    op::{CoreRun, OpView},
    risc_wait::{blocked_cycles, kernel_cycles, percent, sums_of},
    semaphore::semaphore_cycles,
    signals::Signals,
    threshold::{KNOWN_MARGIN, MARGIN, PACING, TURNS},
};
use wire::{
    Risc,
    wait::{SignalKind, WaitKind},
};

/// Stage of an op's pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The RISC that fills buffers for the math.
    Reader,
    /// Unpacker, matrix engine and packer.
    Math,
    /// The RISC that empties buffers behind the math.
    Writer,
}

impl Stage {
    /// The name in sentences.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Math => "math",
            Self::Writer => "writer",
        }
    }
}

/// Use of one stage: the share of time in which it does not wait for another one.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct StageUse {
    /// The stage.
    pub stage: Stage,
    /// Its RISC; of the math the one that does the arithmetic.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: Risc,
    /// At least this share.
    pub at_least_percent: f64,
    /// At most this share.
    pub at_most_percent: f64,
    /// Share of its time at barriers of the NoC.
    pub barrier_percent: f64,
    /// Share of its time at semaphores that other cores signal.
    pub other_cores_percent: f64,
    /// Share of time in which it waits for another stage after its first wait: its neighbours'
    /// work that does not overlap its own.
    #[serde(skip)]
    pub(crate) in_turn_percent: f64,
}

/// Stages of an op, and the one that sets its pace.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Pace {
    /// The stages with a kernel.
    pub stages: Vec<StageUse>,
    /// The stage in use most.
    pub pacer: Stage,
    /// Use of it before that of the next one, at least, in points: below 0 if another may be
    /// in use more.
    pub margin_at_least: f64,
    /// The same, at most.
    pub margin_at_most: f64,
    /// Share of the op's time that could be gained at the pacer, at most.
    pub gain_at_most_percent: f64,
    /// Share of its time in which the unpacker waits for tiles; `None` without one.
    pub unpack_wait_percent: Option<f64>,
    /// Share of its time in which the packer waits for room; `None` without one.
    pub pack_wait_percent: Option<f64>,
    /// True if the use of the math comes from a measurement of one block's way or from a counter,
    /// not from waits alone.
    pub is_math_known: bool,
    /// True if single waits were recorded and nobody measured what a record takes: it counts as use.
    pub has_unmeasured_records: bool,
    /// The last blocks beside it; `None` if they were not measured.
    #[serde(skip)]
    pub(crate) last_blocks: Option<LastBlocks>,
}

impl Pace {
    /// Use of a stage.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<&StageUse> {
        self.stages.iter().find(|of| of.stage == stage)
    }

    /// Returns true if the pacer is certain: no other stage may be in use as much, or by waits
    /// alone it is ahead by the margin that never failed.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        let is_ahead = self.margin_at_least >= KNOWN_MARGIN.value;
        (is_ahead && !self.is_held_by_others())
            || self.is_slowest_at_the_end()
            || (!self.is_math_known
                && !self.is_open_by_semaphores()
                && self.margin_at_most >= MARGIN.value
                && self.is_fed_or_starved())
    }

    /// Returns true if semaphores, of which nobody knows who signals them, leave the pacer open.
    #[must_use]
    pub fn is_open_by_semaphores(&self) -> bool {
        let range = |of: &StageUse| of.at_most_percent - of.at_least_percent;
        let movers = self.stages.iter().filter(|of| of.stage != Stage::Math);
        movers.map(range).fold(0.0, f64::max) >= KNOWN_MARGIN.value
    }

    /// Returns true if no stage is seen in use for long enough to set the pace.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        self.stages.iter().all(|of| of.at_least_percent < PACING.value)
    }

    /// Returns true if no stage is ahead of the next one, and none waits for another at each block.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        self.is_level() && self.turns_percent() < TURNS.value
    }

    /// Returns true if two stages take turns, and more is to be gained by that than at one stage.
    #[must_use]
    pub fn takes_turns(&self) -> bool {
        let is_open = self.is_open_by_semaphores();
        let turns = self.turns_percent();
        let is_most = turns >= self.margin_at_most || self.is_level() || self.is_held_by_others();
        !is_open && turns >= TURNS.value && is_most
    }

    /// Share of the time in which each stage waits for another one, start and end aside; 0 if that is
    /// not known.
    #[must_use]
    pub fn turns_percent(&self) -> f64 {
        let used = self.stage(self.pacer).map_or(100.0, |of| of.at_most_percent);
        self.last_blocks.map_or(0.0, |last| (last.steady_percent - used).max(0.0))
    }

    /// Returns true if the last blocks wait for the stage in use most, which may be ahead.
    fn is_slowest_at_the_end(&self) -> bool {
        let is_slowest = self.last_blocks.is_some_and(|last| last.slowest == self.pacer);
        is_slowest && !self.is_open_by_semaphores() && self.margin_at_most >= KNOWN_MARGIN.value
    }

    /// The stage with which the math takes turns, if two do.
    pub(crate) fn in_turn_with(&self) -> Stage {
        match self.last_blocks {
            Some(LastBlocks { slowest: Stage::Writer, .. }) => Stage::Writer,
            _ => Stage::Reader,
        }
    }

    /// Returns true if the stage in use most waits for two others that take turns.
    fn is_held_by_others(&self) -> bool {
        let is_outside = self.pacer != Stage::Math && self.pacer != self.in_turn_with();
        is_outside && self.turns_percent() >= TURNS.value
    }

    fn is_level(&self) -> bool {
        self.margin_at_most < KNOWN_MARGIN.value
    }

    fn is_fed_or_starved(&self) -> bool {
        self.pacer != Stage::Math
    }
}

/// The pace of an op with waits.
pub(crate) fn pace_of(view: &OpView<'_>, signals: &Signals<'_>) -> Option<Pace> {
    if !view.has_waits() {
        return None;
    }
    let roles = Roles::of(view);
    let sums = |risc: Option<Risc>| Some(sums_over_cores(view, signals, risc?));
    let movers = [(Stage::Reader, roles.reader), (Stage::Writer, roles.writer)];
    let movers = movers.map(|(stage, risc)| mover_use(stage, risc?, &sums(risc)?));
    let used = |of: Option<MoverUse>| of.map_or(0.0, |of| of.used.at_most_percent);
    let is_only_pacer = used(movers[0]).max(used(movers[1])) < PACING.value;
    let math = math_use(view, is_only_pacer, records_percent(movers));
    let is_math_known = math.is_some_and(|math| math.is_known);
    let stages = without_records(movers, math.map(|math| math.used));
    let (pacer, margin_at_least, margin_at_most) = ahead(&stages)?;
    let last_blocks = math.and_then(|math| math.last_blocks);
    let steady_percent = last_blocks.map_or(0.0, |last| last.steady_percent);
    Some(Pace {
        pacer,
        margin_at_least,
        margin_at_most,
        gain_at_most_percent: gain_at_most(&stages, pacer, margin_at_most, steady_percent),
        unpack_wait_percent: kind_percent(view, Risc::Trisc0, WaitKind::CB_WAIT),
        pack_wait_percent: kind_percent(view, Risc::Trisc2, WaitKind::CB_RESERVE),
        is_math_known,
        has_unmeasured_records: has_unmeasured_records(view),
        last_blocks,
        stages,
    })
}

/// Use of a stage that moves data, and the part of it that records of single waits took.
#[derive(Clone, Copy)]
struct MoverUse {
    used: StageUse,
    records_percent: f64,
}

fn mover_use(stage: Stage, risc: Risc, sums: &CoreSums) -> Option<MoverUse> {
    let CoreSums { window, kernel, peers, undecided, barriers, other_cores, in_turn, records } =
        *sums;
    // Of the whole time: a reader that is done early was not in use until the end.
    let used = kernel.saturating_sub(peers);
    let used = StageUse {
        stage,
        risc,
        at_least_percent: percent(used.saturating_sub(undecided), window),
        at_most_percent: percent(used, window),
        barrier_percent: percent(barriers, kernel),
        other_cores_percent: percent(other_cores, kernel),
        in_turn_percent: percent(in_turn, window),
    };
    (kernel > 0).then(|| MoverUse { used, records_percent: percent(records.min(kernel), window) })
}

/// Share of the time that records of single waits took of the mover that sets the pace, if one does.
fn records_percent(movers: [Option<MoverUse>; 2]) -> f64 {
    let pacing = movers.into_iter().flatten();
    let pacing = pacing.filter(|of| of.used.at_most_percent >= 100.0 - TURNS.value);
    pacing.map(|of| of.records_percent).fold(0.0, f64::max)
}

/// The stages' use as it would be without records of single waits. What the records of the stage
/// in use most took, all have waited for, and the op was longer by it.
fn without_records(movers: [Option<MoverUse>; 2], math: Option<StageUse>) -> Vec<StageUse> {
    let most = movers
        .into_iter()
        .flatten()
        .max_by(|one, other| one.used.at_most_percent.total_cmp(&other.used.at_most_percent));
    let math_percent = math.map_or(0.0, |math| math.at_least_percent);
    let pacing = most.filter(|most| most.used.at_most_percent > math_percent);
    let rest = 100.0 - pacing.map_or(0.0, |of| of.records_percent);
    let scaled = |percent: f64| (percent * 100.0 / rest.max(1.0)).clamp(0.0, 100.0);
    let mover = |of: MoverUse| StageUse {
        at_least_percent: scaled(of.used.at_least_percent - of.records_percent),
        at_most_percent: scaled(of.used.at_most_percent - of.records_percent),
        in_turn_percent: scaled(of.used.in_turn_percent),
        ..of.used
    };
    let math = math.map(|math| StageUse {
        at_least_percent: scaled(math.at_least_percent),
        at_most_percent: scaled(math.at_most_percent),
        in_turn_percent: scaled(math.in_turn_percent),
        ..math
    });
    let [reader, writer] = movers.map(|of| of.map(mover));
    [reader, math, writer].into_iter().flatten().collect()
}

/// The stage in use most, and by how much at least and at most before the next one.
fn ahead(stages: &[StageUse]) -> Option<(Stage, f64, f64)> {
    if stages.len() < 2 {
        return None;
    }
    let middle = |of: &StageUse| (of.at_least_percent + of.at_most_percent) / 2.0;
    let first = stages.iter().max_by(|one, other| middle(one).total_cmp(&middle(other)))?;
    let others = || stages.iter().filter(|of| of.stage != first.stage);
    let most = others().map(|of| of.at_most_percent).fold(0.0, f64::max);
    let least = others().map(|of| of.at_least_percent).fold(0.0, f64::max);
    Some((first.stage, first.at_least_percent - most, first.at_most_percent - least))
}

/// Share of the time that could be gained at the pacer: its lead over the next stage. Where a
/// stage and its neighbour take turns, as over a buffer of one block, the neighbour's part of each
/// turn goes on beside what comes next once the pacer is quick. No more can be gained than its use.
fn gain_at_most(stages: &[StageUse], pacer: Stage, margin: f64, steady_percent: f64) -> f64 {
    let of_pacer = stages.iter().find(|of| of.stage == pacer);
    of_pacer.map_or(margin, |of| {
        let in_turn = of.in_turn_percent.max(steady_percent - of.at_most_percent);
        (margin + in_turn).min(of.at_most_percent)
    })
}

/// Which RISCs read and write, as far as their waits and signals tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) reader: Option<Risc>,
    pub(crate) writer: Option<Risc>,
}

impl Roles {
    pub(crate) fn of(view: &OpView<'_>) -> Self {
        let movers: Vec<Risc> = [Risc::Brisc, Risc::Ncrisc]
            .into_iter()
            .filter(|risc| {
                view.runs.iter().any(|run| run.lane.risc == *risc && run.evidence.kernel.is_some())
            })
            .collect();
        let sides: Vec<(Risc, Side)> =
            movers.iter().map(|&risc| (risc, Side::of(view, risc))).collect();
        let only = |is: fn(&Side) -> bool| {
            let mut found = sides.iter().filter(|(_, side)| is(side)).map(|(risc, _)| *risc);
            found.next().filter(|_| found.next().is_none())
        };
        let (reader, writer) = (only(Side::is_reader), only(Side::is_writer));
        // A RISC that never waits leaves no record: the other one's role gives its own.
        let silent = only(Side::is_silent).filter(|_| movers.len() == 2);
        Self {
            reader: reader.or_else(|| silent.filter(|_| writer.is_some())),
            writer: writer.or_else(|| silent.filter(|_| reader.is_some())),
        }
    }
}

/// Side of the math on which a RISC works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Side {
    fills: bool,
    empties: bool,
}

impl Side {
    fn of(view: &OpView<'_>, risc: Risc) -> Self {
        let mut side = Self::default();
        let runs = view.runs.iter().filter(|run| run.lane.risc == risc);
        for sync in runs.filter_map(|run| run.evidence.sync()) {
            let kinds = sync.totals.iter().map(|total| total.kind);
            for kind in kinds.chain(sync.waits.iter().map(|wait| wait.kind)) {
                side.fills |= kind == WaitKind::CB_RESERVE || kind == WaitKind::NOC_READ_BARRIER;
                side.empties |=
                    [WaitKind::CB_WAIT, WaitKind::NOC_WRITE_BARRIER, WaitKind::NOC_WRITE_FLUSH]
                        .contains(&kind);
            }
            for signal in &sync.signals {
                side.fills |= signal.kind == SignalKind::CbPush;
                side.empties |= signal.kind == SignalKind::CbPop;
            }
        }
        side
    }

    const fn is_reader(&self) -> bool {
        self.fills && !self.empties
    }

    const fn is_writer(&self) -> bool {
        self.empties && !self.fills
    }

    const fn is_silent(&self) -> bool {
        !self.fills && !self.empties
    }
}

/// Cycles of one RISC over all cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CoreSums {
    /// From the first start of any kernel of the core to the last end.
    window: u64,
    /// Kernels of the RISC.
    kernel: u64,
    /// Blocked by other RISCs of the core.
    peers: u64,
    /// Blocked by RISCs of this core or another one.
    undecided: u64,
    /// At barriers.
    barriers: u64,
    /// Blocked by RISCs of other cores.
    other_cores: u64,
    /// Blocked by other RISCs of the core but for the first time, which fills the pipeline.
    in_turn: u64,
    /// Spent on records of single waits and signals.
    records: u64,
}

fn sums_over_cores(view: &OpView<'_>, signals: &Signals<'_>, risc: Risc) -> CoreSums {
    let mut sums = CoreSums::default();
    for core in view.cores() {
        let window = window_of(core).map_or(0, |(start, end)| end.saturating_sub(start));
        for run in core.iter().filter(|run| run.lane.risc == risc) {
            let (by_peers, by_noc) = blocked_cycles(run.evidence);
            let semaphores = semaphore_cycles(run, signals);
            let at_others = semaphores.other_core.saturating_add(semaphores.unknown);
            let peers = by_peers.saturating_sub(at_others);
            sums.window = sums.window.saturating_add(window);
            for (sum, more) in [
                (&mut sums.kernel, kernel_cycles(run.evidence)),
                (&mut sums.peers, peers),
                (&mut sums.in_turn, behind_the_first(run, peers)),
                (&mut sums.undecided, semaphores.unknown),
                (&mut sums.barriers, by_noc),
                (&mut sums.other_cores, semaphores.other_core),
                (&mut sums.records, record_cycles(view, run)),
            ] {
                *sum = sum.saturating_add(of_whole_kernel(run, more));
            }
        }
    }
    sums
}

/// Cycles that a run has spent on records of single waits and signals, as its RISC's probes were
/// measured; 0 if they were not, which [`Pace::has_unmeasured_records`] says.
fn record_cycles(view: &OpView<'_>, run: &CoreRun<'_>) -> u64 {
    let measured = view.costs.of(run.lane.chip_id, run.lane.risc);
    let (Some(sync), Some(cost)) = (run.evidence.sync(), measured) else { return 0 };
    let of = |count: usize, cycles: u64| (count as u64).saturating_mul(cycles);
    let waits = of(sync.waits.len(), cost.wide_data_cycles);
    waits.saturating_add(of(sync.signals.len(), cost.data_cycles))
}

/// Returns true if single waits were recorded, and nobody measured what a record takes.
fn has_unmeasured_records(view: &OpView<'_>) -> bool {
    view.runs.iter().any(|run| {
        let has_waits = run.evidence.sync().is_some_and(|sync| !sync.waits.is_empty());
        has_waits && view.costs.of(run.lane.chip_id, run.lane.risc).is_none()
    })
}

/// The part of a run's blocked cycles that is not that of the first wait for a buffer, by the mean.
fn behind_the_first(run: &CoreRun<'_>, cycles: u64) -> u64 {
    let sums = run.evidence.sync().map(sums_of).unwrap_or_default();
    let is_buffer = |kind| kind == WaitKind::CB_WAIT || kind == WaitKind::CB_RESERVE;
    let waits = sums.iter().filter(|((kind, _), _)| is_buffer(*kind)).map(|(_, of)| of.waits);
    let waits = waits.fold(0, u64::saturating_add);
    cycles.saturating_sub(cycles.checked_div(waits).unwrap_or(cycles))
}

/// Share of a RISC's kernels in waits of one kind.
fn kind_percent(view: &OpView<'_>, risc: Risc, kind: WaitKind) -> Option<f64> {
    let (mut kernel, mut blocked) = (0_u64, 0_u64);
    for run in view.runs.iter().filter(|run| run.lane.risc == risc) {
        kernel = kernel.saturating_add(kernel_cycles(run.evidence));
        let sums = run.evidence.sync().map(sums_of).unwrap_or_default();
        let of_kind = sums.into_iter().filter(|((of, _), _)| *of == kind);
        blocked = of_kind.fold(blocked, |sum, (_, more)| sum.saturating_add(more.cycles));
    }
    (kernel > 0).then(|| percent(blocked, kernel))
}

#[derive(Clone, Copy)]
struct MathUse {
    used: StageUse,
    is_known: bool,
    last_blocks: Option<LastBlocks>,
}

/// The last blocks of an op's cores, in the middle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LastBlocks {
    /// Share of the time in which neither the first block fills the pipeline nor the last one
    /// empties it.
    steady_percent: f64,
    /// The stage that the others wait for at the end: the writer where the packer is held up, the
    /// reader where the math has waited for its last block.
    slowest: Stage,
}

/// Use of the math: as its last block tells, or else at least the time in which neither unpacker nor
/// packer waits, or that the engine was counted, and all of the time if nobody else sets the pace.
fn math_use(view: &OpView<'_>, is_only_pacer: bool, records_percent: f64) -> Option<MathUse> {
    let unpack = kind_percent(view, Risc::Trisc0, WaitKind::CB_WAIT);
    let pack = kind_percent(view, Risc::Trisc2, WaitKind::CB_RESERVE);
    if unpack.is_none() && pack.is_none() {
        return None;
    }
    let idle = unpack.unwrap_or(0.0) + pack.unwrap_or(0.0);
    let floor = (100.0 - idle).max(0.0).max(view.fpu_percent.unwrap_or(0.0).min(100.0));
    let last = view.cores().filter_map(|core| LastBlock::of(core, records_percent));
    let last: Vec<LastBlock> = last.collect();
    let of_cores = |value: fn(&LastBlock) -> f64| median(last.iter().map(value).collect());
    let measured = middle_half(last.iter().map(LastBlock::math_percent).collect());
    let (least, most) = match measured {
        Some(range) => range.map(|percent| percent.clamp(floor, 100.0)).into(),
        None if is_only_pacer => (100.0, 100.0),
        None => (floor, 100.0),
    };
    let held_up = of_cores(|last| last.to_packer - last.step());
    let starved = of_cores(|last| last.step() - last.to_math);
    let slowest = match (held_up, starved) {
        (Some(0.0..), _) => Stage::Writer,
        (_, Some(0.0..)) => Stage::Reader,
        _ => Stage::Math,
    };
    let last_blocks = of_cores(LastBlock::steady_percent)
        .map(|steady_percent| LastBlocks { steady_percent, slowest });
    let used = StageUse {
        stage: Stage::Math,
        risc: Risc::Trisc1,
        at_least_percent: least,
        at_most_percent: most,
        barrier_percent: 0.0,
        other_cores_percent: 0.0,
        in_turn_percent: 0.0,
    };
    // Math that waits for nothing is in use, measured or not.
    let is_known = measured.is_some() || least >= most || floor >= 100.0 - KNOWN_MARGIN.value;
    Some(MathUse { used, is_known, last_blocks })
}

/// Blocks that a core worked on, as far as its waits tell: those of the RISC with most of them.
pub(crate) fn step_count(core: &[CoreRun<'_>]) -> u64 {
    let syncs = core.iter().filter_map(|run| run.evidence.sync());
    syncs.flat_map(sums_of).map(|(_, blocked)| blocked.waits).max().unwrap_or(0)
}

/// The value in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let upper = *values.get(count / 2)?;
    let lower = *values.get(count.saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}

/// The least and the largest value of the middle half.
fn middle_half(mut values: Vec<f64>) -> Option<[f64; 2]> {
    values.sort_by(f64::total_cmp);
    let quarter = values.len().checked_sub(1)? / 4;
    let most = values.len().checked_sub(quarter.saturating_add(1))?;
    Some([*values.get(quarter)?, *values.get(most)?])
}
