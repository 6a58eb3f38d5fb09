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
    op::{CoreRun, OpView},
    risc_wait::{blocked_cycles, is_barrier, kernel_cycles, percent, sums_of},
    semaphore::semaphore_cycles,
    signals::Signals,
    sync::SignalAt,
    threshold::{KNOWN_MARGIN, MARGIN, PACING, UNPACK_WAIT},
};
use wire::{
    Risc,
    wait::{Signal, SignalKind, WaitKind},
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
        self.margin_at_least >= KNOWN_MARGIN.value
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

    /// Returns true if no stage is ahead of the next one.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
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
    let mover = |stage, risc: Option<Risc>| {
        let risc = risc?;
        let CoreSums { window, kernel, peers, undecided, barriers, other_cores, in_turn } =
            sums_over_cores(view, signals, risc);
        // Of the whole time: a reader that is done early was not in use until the end.
        let used = kernel.saturating_sub(peers);
        (kernel > 0).then(|| StageUse {
            stage,
            risc,
            at_least_percent: percent(used.saturating_sub(undecided), window),
            at_most_percent: percent(used, window),
            barrier_percent: percent(barriers, kernel),
            other_cores_percent: percent(other_cores, kernel),
            in_turn_percent: percent(in_turn, window),
        })
    };
    let reader = mover(Stage::Reader, roles.reader);
    let writer = mover(Stage::Writer, roles.writer);
    let used = |of: Option<StageUse>| of.map_or(0.0, |of| of.at_most_percent);
    let math = math_use(view, used(reader), used(writer));
    let is_math_known = math.is_some_and(|math| math.is_known);
    let stages: Vec<_> =
        [reader, math.map(|math| math.used), writer].into_iter().flatten().collect();
    let (pacer, margin_at_least, margin_at_most) = ahead(&stages)?;
    Some(Pace {
        pacer,
        margin_at_least,
        margin_at_most,
        gain_at_most_percent: gain_at_most(&stages, pacer, margin_at_most),
        unpack_wait_percent: kind_percent(view, Risc::Trisc0, WaitKind::CB_WAIT),
        pack_wait_percent: kind_percent(view, Risc::Trisc2, WaitKind::CB_RESERVE),
        is_math_known,
        stages,
    })
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
fn gain_at_most(stages: &[StageUse], pacer: Stage, margin: f64) -> f64 {
    let of_pacer = stages.iter().find(|of| of.stage == pacer);
    of_pacer.map_or(margin, |of| (margin + of.in_turn_percent).min(of.at_most_percent))
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
}

/// First start and last end of a core's kernels, however much of them is known.
fn window_of(core: &[CoreRun<'_>]) -> Option<(u64, u64)> {
    let start = core.iter().filter_map(|run| run.evidence.kernel).map(|(start, _)| start).min();
    start.zip(core.iter().filter_map(|run| run.kernel_end).max())
}

/// A sum over the known part of a RISC's kernel, taken for all of it.
fn of_whole_kernel(run: &CoreRun<'_>, cycles: u64) -> u64 {
    let Some(((start, _), end)) = run.evidence.kernel.zip(run.kernel_end) else { return 0 };
    let (whole, known) = (end.saturating_sub(start), kernel_cycles(run.evidence));
    let scaled = u128::from(cycles).saturating_mul(whole.into()).checked_div(known.into());
    scaled.and_then(|scaled| u64::try_from(scaled).ok()).unwrap_or(cycles)
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
            ] {
                *sum = sum.saturating_add(of_whole_kernel(run, more));
            }
        }
    }
    sums
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
}

/// Use of the math: at least the time in which neither unpacker nor packer waits, or that the
/// engine was counted; all of the time if nobody else sets the pace. Where the reader does, blocks
/// come one by one, and what the last one takes is measured. Behind a writer that is slower than
/// the reader blocks queue up, which tells nothing.
fn math_use(view: &OpView<'_>, reader: f64, writer: f64) -> Option<MathUse> {
    let unpack = kind_percent(view, Risc::Trisc0, WaitKind::CB_WAIT);
    let pack = kind_percent(view, Risc::Trisc2, WaitKind::CB_RESERVE);
    if unpack.is_none() && pack.is_none() {
        return None;
    }
    let idle = unpack.unwrap_or(0.0) + pack.unwrap_or(0.0);
    let floor = (100.0 - idle).max(0.0).max(view.fpu_percent.unwrap_or(0.0).min(100.0));
    let is_only_pacer = reader.max(writer) < PACING.value;
    let is_queued = writer > reader + KNOWN_MARGIN.value;
    let is_hungry = unpack.is_some_and(|percent| percent >= UNPACK_WAIT.value) && !is_queued;
    let cores = view.cores().filter(|_| is_hungry);
    let measured: Vec<f64> = cores.filter_map(block_percent).collect();
    let measured = median(measured).map(|percent| percent.clamp(floor, 100.0));
    // What the last block takes is at least the math's own part of it. If that is too little to
    // set the pace, stages take turns, or the engine goes on behind its kernel's end.
    let (least, most) = match measured {
        Some(percent) if is_only_pacer && percent < PACING.value => (percent, 100.0),
        _ if is_only_pacer => (100.0, 100.0),
        Some(percent) => (percent, percent),
        None => (floor, 100.0),
    };
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
    let is_known = least >= most || floor >= 100.0 - KNOWN_MARGIN.value;
    Some(MathUse { used, is_known })
}

/// Fewest blocks of which one's share can be taken for all.
const FEWEST_BLOCKS: u64 = 8;

/// Share of one core's time in which the math is in use, in percent: what it needs for the last
/// block, as often as there are blocks. Unpacker and math end their kernels with their engines.
fn block_percent(core: &[CoreRun<'_>]) -> Option<f64> {
    let run = |risc| core.iter().find(|run| run.lane.risc == risc);
    let unpacker = run(Risc::Trisc0)?;
    let (unpacked, computed) = (unpacker.kernel_end?, run(Risc::Trisc1)?.kernel_end?);
    let (first, last) = window_of(core)?;
    let of_block = computed.checked_sub(unpacked)?;
    let cycles = of_whole_kernel(unpacker, of_block.saturating_mul(block_count(core)?));
    let used = ratio(cycles, last.saturating_sub(first));
    Some((used * 100.0).clamp(0.0, 100.0))
}

/// Blocks that a core worked on, as far as its waits tell: those of the RISC with most of them.
pub(crate) fn step_count(core: &[CoreRun<'_>]) -> u64 {
    let syncs = core.iter().filter_map(|run| run.evidence.sync());
    syncs.flat_map(sums_of).map(|(_, blocked)| blocked.waits).max().unwrap_or(0)
}

/// Blocks that the unpacker of a core took: pushes of its buffer where signals were recorded, else
/// waits for the buffer that somebody waited for most often.
fn block_count(core: &[CoreRun<'_>]) -> Option<u64> {
    let unpack = core.iter().find(|run| run.lane.risc == Risc::Trisc0)?.evidence.sync()?;
    let sums = sums_of(unpack);
    let of_tiles = sums.iter().filter(|((kind, _), _)| *kind == WaitKind::CB_WAIT);
    let (&(_, key), _) = of_tiles.max_by_key(|(_, blocked)| blocked.waits)?;
    let syncs = || core.iter().filter_map(|run| run.evidence.sync());
    let is_push = |signal: &&SignalAt| {
        signal.kind == SignalKind::CbPush && signal.signal == Signal::Local { key: key.into() }
    };
    let pushes = syncs().flat_map(|sync| &sync.signals).filter(is_push).count() as u64;
    let waits = syncs().flat_map(sums_of).filter(|((kind, _), _)| !is_barrier(*kind));
    let waits = waits.map(|(_, blocked)| blocked.waits).max().unwrap_or(0);
    Some(if pushes > 0 { pushes } else { waits }).filter(|&blocks| blocks >= FEWEST_BLOCKS)
}

#[expect(clippy::cast_precision_loss, reason = "a share is shown")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// The value in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let upper = *values.get(count / 2)?;
    let lower = *values.get(count.saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}
