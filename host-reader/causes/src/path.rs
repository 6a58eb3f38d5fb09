//! Critical path of an op. It is traced backwards from the last kernel end: from each wait to the
//! RISC that ended the wait.
//!
//! # Cost
//! O(E log E) for E waits and signals.

use crate::{
    op::OpView,
    risc_wait::{cycle_percent, is_barrier},
    signals::{Object, Signals},
};
use analysis::{Span, Wait};
use reader::lane::LaneId;
use std::collections::BTreeMap;
use wire::{Risc, wait::WaitKind};

/// Kind of a step of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StepKind {
    /// The op was being launched.
    Launch,
    /// A RISC worked.
    Busy,
    /// A RISC waited for the NoC.
    Barrier,
    /// Time from a signal to the end of the wait that the signal ended.
    Handoff,
    /// A RISC was blocked, but the RISC that ended the wait cannot be determined.
    Unknown,
}

/// One step of a critical path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct PathStep {
    /// Column and row of the core on the NoC-0 grid.
    pub core: (u16, u16),
    /// RISC of the core.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: Risc,
    /// Kind of the step.
    pub kind: StepKind,
    /// Start, in cycles of the chip's reference clock.
    pub start_cycle: u64,
    /// End, in cycles of the chip's reference clock.
    pub end_cycle: u64,
    /// Kind of the wait, and number or address of the object waited for, if the step is a wait or
    /// ends a wait.
    pub wait: Option<(&'static str, u32)>,
}

/// Sum of the steps of one RISC and one kind.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PathShare {
    /// Column and row of the core on the NoC-0 grid.
    pub core: (u16, u16),
    /// RISC of the core.
    #[serde(serialize_with = "reader::probe_cost::risc_label")]
    pub risc: Risc,
    /// Kind of the steps.
    pub kind: StepKind,
    /// Cycles of these steps on the path.
    pub cycles: u64,
    /// Share of the path in percent, which is the upper bound of the possible saving.
    pub percent: f64,
}

/// Critical path of one op.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CriticalPath {
    /// Cycles of the path, which runs from the first kernel start to the last kernel end. If
    /// individual waits were recorded only in windows, the path covers only these windows.
    pub cycles: u64,
    /// Shares by core, RISC and kind, sorted by descending size.
    pub shares: Vec<PathShare>,
    /// Number of waits on the path for which the RISC that ended the wait was determined.
    pub joined_count: u64,
    /// Number of waits on the path for which the RISC that ended the wait cannot be determined.
    pub unknown_count: u64,
    /// Steps in time order. Consecutive steps are adjacent, except between windows.
    #[serde(skip)]
    pub steps: Vec<PathStep>,
}

impl CriticalPath {
    /// Truncates the path at a cycle.
    fn until(mut self, end: u64) -> Self {
        self.steps.retain(|step| step.start_cycle < end);
        if let Some(last) = self.steps.last_mut() {
            last.end_cycle = last.end_cycle.min(end);
        }
        let cycles = self.steps.iter().map(|step| step.end_cycle.saturating_sub(step.start_cycle));
        self.cycles = cycles.fold(0, u64::saturating_add);
        self
    }

    /// Returns the percentage of the path that consists of waits whose ending RISC cannot be
    /// determined.
    #[must_use]
    pub fn unknown_percent(&self) -> f64 {
        let unknown = self.shares.iter().filter(|share| share.kind == StepKind::Unknown);
        unknown.map(|share| share.percent).sum()
    }
}

/// Finds the critical path of an op; `None` if no individual waits were recorded, or if the op's
/// end is unknown.
///
/// If the math sets the pace, it always has input. The unpacker then runs ahead of the math, so
/// only the unpacker's first wait delays the op. Waits of the math and the packer do not delay the
/// op. The path follows only waits that delay the op.
pub(crate) fn critical_path(
    view: &OpView<'_>,
    signals: &Signals<'_>,
    is_math_pacer: bool,
) -> Option<CriticalPath> {
    if view.has_timed_waits() { walked(view, signals, is_math_pacer) } else { None }
}

/// Divisor n: in the last 1/n of each window, the path is traced but its steps are not counted.
///
/// It is unknown which RISC determines the end of a window, so the path may start at the wrong
/// RISC. A few blocks before the end of the window, the paths from all RISCs are the same.
const SETTLING_PART: u64 = 4;

/// Finds the critical path of an op whose individual waits are known only in some parts. The result
/// is the concatenation of the parts' paths. In a part without waits, all RISCs work.
pub(crate) fn critical_path_of_parts(
    view: &OpView<'_>,
    parts: &[Span],
    is_math_pacer: bool,
) -> Option<CriticalPath> {
    let op_end = view.kernel?.end_cycle;
    let paths = parts.iter().filter_map(|span| {
        let part = (*span, view.within(span));
        let part = view.part_view(&part);
        let path = walked(&part, &Signals::from_view(&part), is_math_pacer)?;
        let tail = if span.end_cycle < op_end { span.duration_cycles / SETTLING_PART } else { 0 };
        Some(path.until(span.end_cycle.saturating_sub(tail)))
    });
    let mut whole = paths.reduce(|mut whole, path| {
        whole.cycles = whole.cycles.saturating_add(path.cycles);
        whole.joined_count = whole.joined_count.saturating_add(path.joined_count);
        whole.unknown_count = whole.unknown_count.saturating_add(path.unknown_count);
        whole.steps.extend(path.steps);
        whole
    })?;
    whole.shares = shares_of(&whole.steps, whole.cycles);
    Some(whole)
}

fn walked(view: &OpView<'_>, signals: &Signals<'_>, is_math_pacer: bool) -> Option<CriticalPath> {
    let kernel = view.kernel?;
    let tracks: BTreeMap<LaneId, Track<'_>> = view
        .runs
        .iter()
        .filter_map(|run| {
            let (start, end) = run.evidence.kernel()?;
            let waits = run.evidence.sync().map_or(&[][..], |sync| &sync.waits);
            let used = match run.lane.risc {
                Risc::Trisc0 if is_math_pacer => waits.len().min(1),
                Risc::Trisc1 | Risc::Trisc2 if is_math_pacer => 0,
                _ => waits.len(),
            };
            Some((run.lane, Track { start, end, waits, used }))
        })
        .collect();
    // If a RISC is blocked at the end of the part whose waits are known, it did not determine that
    // end.
    let is_blocked = |track: &Track<'_>| track.waits.last().is_some_and(|wait| wait.is_open);
    let (&last, _) = tracks.iter().max_by_key(|(_, track)| (track.end, !is_blocked(track)))?;
    let mut walk = Walk { tracks, signals, steps: Vec::new(), joined: 0, unknown: 0, block: None };
    walk.back_from(last, kernel.end_cycle, kernel.start_cycle);
    let mut steps = walk.steps;
    steps.reverse();
    Some(CriticalPath {
        cycles: kernel.duration_cycles,
        shares: shares_of(&steps, kernel.duration_cycles),
        joined_count: walk.joined,
        unknown_count: walk.unknown,
        steps,
    })
}

fn shares_of(steps: &[PathStep], whole: u64) -> Vec<PathShare> {
    let mut sums: BTreeMap<_, u64> = BTreeMap::new();
    for step in steps {
        let sum = sums.entry((step.core, step.risc, step.kind)).or_default();
        *sum = sum.saturating_add(step.end_cycle.saturating_sub(step.start_cycle));
    }
    let shares = sums.into_iter().map(|((core, risc, kind), cycles)| PathShare {
        core,
        risc,
        kind,
        cycles,
        percent: cycle_percent(cycles, whole),
    });
    let mut shares: Vec<_> = shares.collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.cycles));
    shares
}

/// Kernel and waits of one RISC. Waits are sorted by end; the waits from index `used` on have
/// already been traced.
struct Track<'a> {
    start: u64,
    end: u64,
    waits: &'a [Wait],
    used: usize,
}

impl Track<'_> {
    /// Returns the latest unused wait that ended at or before `by`, with its index. Waits for which
    /// `is_ahead` returns true are skipped.
    fn latest(&self, by: u64, is_ahead: impl Fn(&Wait) -> bool) -> Option<(usize, Wait)> {
        let left = self.waits.get(..self.used)?;
        let ended = left.get(..left.partition_point(|wait| wait.end <= by))?;
        let at = ended.iter().rposition(|wait| !is_ahead(wait))?;
        Some((at, *ended.get(at)?))
    }
}

struct Walk<'a> {
    tracks: BTreeMap<LaneId, Track<'a>>,
    signals: &'a Signals<'a>,
    steps: Vec<PathStep>,
    joined: u64,
    unknown: u64,
    /// Block of data that the path currently follows: number of its buffer, and number of earlier
    /// blocks that passed through the buffer. `None` if the block is unknown.
    block: Option<(u32, usize)>,
}

impl Walk<'_> {
    fn back_from(&mut self, last: LaneId, end: u64, begin: u64) {
        let (mut lane, mut time) = (last, end);
        while let Some(track) = self.tracks.get(&lane) {
            let start = track.start;
            let Some((waiter, wait)) = self.take_wait(lane, time) else {
                self.step(lane, StepKind::Busy, (start.min(time), time), None);
                self.step(lane, StepKind::Launch, (begin, start.min(time)), None);
                break;
            };
            self.step(lane, StepKind::Busy, (wait.end, time), None);
            let object = wait.kind.name().map(|kind| (kind, wait.key));
            lane = waiter;
            if is_barrier(wait.kind) {
                self.step(lane, StepKind::Barrier, (wait.start, wait.end), object);
                time = wait.start;
                continue;
            }
            match self.signals.releaser(lane, &wait).filter(|(by, at)| self.works_at(*by, *at)) {
                Some((by, at)) => {
                    self.joined = self.joined.saturating_add(1);
                    self.step(lane, StepKind::Handoff, (at, wait.end), object);
                    self.block = self.block_of(lane, &wait);
                    (lane, time) = (by, at);
                }
                None => {
                    self.unknown = self.unknown.saturating_add(1);
                    self.step(lane, StepKind::Unknown, (wait.start, wait.end), object);
                    time = wait.start;
                }
            }
        }
    }

    /// Returns the latest unused wait that ended at or before `by`, and the lane that waited. Marks
    /// the wait as used.
    ///
    /// The unpacker, math and packer of a core pass blocks on in hardware, without a record. The
    /// three RISCs are therefore treated as one lane: the path may lead from work of the packer to
    /// a wait of the unpacker.
    fn take_wait(&mut self, lane: LaneId, by: u64) -> Option<(LaneId, Wait)> {
        const TRISCS: [Risc; 3] = [Risc::Trisc0, Risc::Trisc1, Risc::Trisc2];
        let own = [lane.risc];
        let riscs = if TRISCS.contains(&lane.risc) { &TRISCS[..] } else { &own[..] };
        let lanes = riscs.iter().map(|&risc| LaneId { risc, ..lane });
        let latest = lanes.filter_map(|lane| {
            let (at, wait) =
                self.tracks.get(&lane)?.latest(by, |wait| self.is_ahead(lane, wait))?;
            Some((lane, at, wait))
        });
        let (waiter, at, wait) = latest.max_by_key(|(lane, _, wait)| (wait.end, *lane))?;
        // Each wait is taken only once, so the walk terminates.
        self.tracks.get_mut(&waiter)?.used = at;
        Some((waiter, wait))
    }

    /// Returns true if a packer waited for space for a block that comes after the block that the
    /// path follows.
    ///
    /// A packer polls for space as soon as its instruction queue has a free slot, long before the
    /// math needs the space.
    fn is_ahead(&self, lane: LaneId, wait: &Wait) -> bool {
        let Some((key, block)) = self.block.filter(|_| wait.kind == WaitKind::CB_RESERVE) else {
            return false;
        };
        let own = (lane.core, Object::Tiles(key.into()));
        let pushes = self.signals.times(own, lane);
        wait.key == key && pushes.partition_point(|given| given.sent < wait.end) > block
    }

    /// Returns the buffer of a wait for tiles, and the index of the block that the lane waited for.
    /// The index is the number of times that the lane had popped the buffer before the wait ended.
    fn block_of(&self, lane: LaneId, wait: &Wait) -> Option<(u32, usize)> {
        let own = (lane.core, Object::Room(wait.key.into()));
        let pops = self.signals.times(own, lane);
        let block = pops.partition_point(|given| given.sent < wait.end);
        (wait.kind == WaitKind::CB_WAIT && !pops.is_empty()).then_some((wait.key, block))
    }

    fn works_at(&self, lane: LaneId, time: u64) -> bool {
        self.tracks.get(&lane).is_some_and(|track| (track.start..=track.end).contains(&time))
    }

    fn step(
        &mut self,
        lane: LaneId,
        kind: StepKind,
        (start_cycle, end_cycle): (u64, u64),
        wait: Option<(&'static str, u32)>,
    ) {
        if start_cycle < end_cycle {
            let core = (lane.core.x, lane.core.y);
            self.steps.push(PathStep { core, risc: lane.risc, kind, start_cycle, end_cycle, wait });
        }
    }
}
