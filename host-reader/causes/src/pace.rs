//! Pace of an op: the use of reader, math and writer, and the stage that sets the pace (the pacer).
//!
//! A data-movement RISC is idle while it waits for other RISCs, so the use of its stage is the time
//! in which it does not wait. The unpacking TRISC runs ahead of the math. The unpacking TRISC's
//! waits are therefore only an upper bound of the time in which the math has no input: with a
//! reader exactly as fast as the math, the unpacker waits 69 % of the time, but the math always has
//! input. The use of the math is measured at the last block instead: the time from the end of the
//! unpacker to the end of the math is the time that the math takes for one block.
//!
//! Waits for semaphores that other cores signal count as use of the stage, because the stage then
//! waits for data from another core, not for a stage of its own core. If only sums of waits were
//! recorded, it is unknown which RISC signals a semaphore. The use of the stage then has a lower
//! and an upper bound.

use crate::{
    counter_shares::fpu_percent,
    math_use::{LastBlocks, kind_percent, math_use},
    mover_use::{has_unmeasured_records, mover_use, records_percent, without_records},
    op::OpView,
    roles::Roles,
    signals::Signals,
    stage::{Engine, Stage, StageUse},
    threshold::{KNOWN_MARGIN, MARGIN, PACING, TURNS},
};
use wire::{Risc, wait::WaitKind};

/// Use of an op's stages, and the stage that sets the pace.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Pace {
    /// Use of each stage that has a kernel.
    pub stages: Vec<StageUse>,
    /// Stage with the highest use.
    pub pacer: Stage,
    /// Minimum lead of the pacer's use over the use of the next busiest stage, in percentage
    /// points. Negative if another stage may have a higher use.
    pub margin_at_least: f64,
    /// Maximum lead of the pacer's use over the use of the next busiest stage, in percentage
    /// points.
    pub margin_at_most: f64,
    /// Upper bound of the gain from speeding up the pacer, in percent of the op's time.
    pub gain_at_most_percent: f64,
    /// Percentage of the unpacker's time in which it waits for tiles; `None` if the unpacker has no
    /// kernel.
    pub unpack_wait_percent: Option<f64>,
    /// Percentage of the packer's time in which it waits for space; `None` if the packer has no
    /// kernel.
    pub pack_wait_percent: Option<f64>,
    /// True if the use of the math was measured by its last block or a counter, instead of derived
    /// from waits alone.
    pub is_math_known: bool,
    /// True if the use of the math is not measured. It is then assumed to be 100 %, because neither
    /// reader nor writer is busy enough to set the pace.
    pub is_math_assumed: bool,
    /// True if individual waits were recorded but the cost of a record is unknown. The time for
    /// writing records then counts as use.
    pub has_unmeasured_records: bool,
    /// Slowest engine, if the math sets the pace; `None` if another stage does, or if the recording
    /// cannot distinguish the engines.
    pub engine: Option<Engine>,
    /// Last blocks of the cores; `None` if they were not measured.
    #[serde(skip)]
    pub(crate) last_blocks: Option<LastBlocks>,
}

impl Pace {
    /// Returns the use of a stage.
    #[must_use]
    pub fn stage(&self, stage: Stage) -> Option<&StageUse> {
        self.stages.iter().find(|of| of.stage == stage)
    }

    /// Returns true if the pacer is certain: no other stage may have the same use.
    ///
    /// If the use of the math is known only from waits, a reader or a writer is also certain if the
    /// RISCs that signal semaphores are known and the upper bound of its lead reaches the threshold
    /// `pace-margin`. In simulated pipelines, every stage with such a lead was the bottleneck.
    #[must_use]
    pub fn is_certain(&self) -> bool {
        let is_ahead = self.margin_at_least >= KNOWN_MARGIN.value;
        (is_ahead && !self.is_held_by_others())
            || self.is_slowest_at_the_end()
            || (!self.is_math_known
                && !self.is_open_by_semaphores()
                && self.margin_at_most >= MARGIN.value
                && self.pacer != Stage::Math)
    }

    /// Returns true if the pacer is undecided because the RISCs that signal semaphores are unknown.
    #[must_use]
    pub fn is_open_by_semaphores(&self) -> bool {
        let movers = self.stages.iter().filter(|of| of.stage != Stage::Math);
        movers.map(|of| of.at_most_percent - of.at_least_percent).fold(0.0, f64::max)
            >= KNOWN_MARGIN.value
    }

    /// Returns true if no stage is known to be busy enough to set the pace: the lower bound of each
    /// stage's use is below the threshold `pacing-use`.
    #[must_use]
    pub fn is_in_turn(&self) -> bool {
        self.stages.iter().all(|of| of.at_least_percent < PACING.value)
    }

    /// Returns true if no stage is clearly the busiest, and the stages do not take turns.
    #[must_use]
    pub fn is_balanced(&self) -> bool {
        self.is_level() && self.turns_percent() < TURNS.value
    }

    /// Returns true if two stages take turns, and letting both work at the same time would gain
    /// more than making one of them faster.
    #[must_use]
    pub fn takes_turns(&self) -> bool {
        let is_open = self.is_open_by_semaphores();
        let turns = self.turns_percent();
        let is_most = turns >= self.margin_at_most || self.is_level() || self.is_held_by_others();
        !is_open && turns >= TURNS.value && is_most
    }

    /// Returns the percentage of the time in which every stage waits for another one; 0 if unknown.
    ///
    /// The time in which the pipeline fills and drains does not count.
    #[must_use]
    pub fn turns_percent(&self) -> f64 {
        let used = self.stage(self.pacer).map_or(100.0, |of| of.at_most_percent);
        self.last_blocks.map_or(0.0, |last| (last.steady_percent - used).max(0.0))
    }

    /// Returns true if the other stages wait for the pacer at the last blocks, and the upper bound
    /// of the pacer's lead is large enough to distinguish the pacer from the next busiest stage.
    fn is_slowest_at_the_end(&self) -> bool {
        let is_slowest = self.last_blocks.is_some_and(|last| last.slowest == self.pacer);
        is_slowest && !self.is_open_by_semaphores() && self.margin_at_most >= KNOWN_MARGIN.value
    }

    /// Returns the stage that takes turns with the math, if any two stages take turns.
    pub(crate) fn in_turn_with(&self) -> Stage {
        match self.last_blocks {
            Some(LastBlocks { slowest: Stage::Writer, .. }) => Stage::Writer,
            _ => Stage::Reader,
        }
    }

    /// Returns true if the pacer waits for two other stages that take turns.
    fn is_held_by_others(&self) -> bool {
        let is_outside = self.pacer != Stage::Math && self.pacer != self.in_turn_with();
        is_outside && self.turns_percent() >= TURNS.value
    }

    fn is_level(&self) -> bool {
        self.margin_at_most < KNOWN_MARGIN.value
    }

    /// Returns the upper bound of the gain from speeding up only the slowest engine, in percent of
    /// the op's time.
    ///
    /// If the unpacker or the packer is the slowest engine, the gain is at most its lead over the
    /// math, which is known from the last blocks.
    pub(crate) fn gain_at_engine_percent(&self) -> f64 {
        let lead = self.last_blocks.and_then(|last| match self.engine? {
            Engine::Unpacker => Some(last.starved_percent),
            Engine::Packer => Some(last.held_up_percent),
            Engine::Math => None,
        });
        lead.map_or(self.gain_at_most_percent, |lead| lead.min(self.gain_at_most_percent))
    }
}

/// Returns the pace of an op with waits.
pub(crate) fn pace_of(view: &OpView<'_>, signals: &Signals<'_>) -> Option<Pace> {
    if !view.has_waits() {
        return None;
    }
    let roles = Roles::from_view(view);
    let movers = [(Stage::Reader, roles.reader), (Stage::Writer, roles.writer)];
    let movers = movers.map(|(stage, risc)| mover_use(view, signals, stage, risc?));
    let is_only_pacer =
        movers.iter().flatten().all(|mover| mover.used.at_most_percent < PACING.value);
    let math = math_use(view, is_only_pacer, records_percent(movers));
    let is_math_known = math.is_some_and(|math| math.is_known);
    let stages = without_records(movers, math.map(|math| math.used));
    let (pacer, margin_at_least, margin_at_most) = ahead(&stages)?;
    let last_blocks = math.and_then(|math| math.last_blocks);
    let steady_percent = last_blocks.map_or(0.0, |last| last.steady_percent);
    let engine = (pacer == Stage::Math).then(|| slowest_engine(view, last_blocks)).flatten();
    Some(Pace {
        engine,
        pacer,
        margin_at_least,
        margin_at_most,
        gain_at_most_percent: gain_at_most(&stages, pacer, margin_at_most, steady_percent),
        unpack_wait_percent: kind_percent(view, Risc::Trisc0, WaitKind::CB_WAIT),
        pack_wait_percent: kind_percent(view, Risc::Trisc2, WaitKind::CB_RESERVE),
        is_math_known,
        is_math_assumed: math.is_some_and(|math| math.is_assumed),
        has_unmeasured_records: has_unmeasured_records(view),
        last_blocks,
        stages,
    })
}

/// Returns the slowest of a core's engines.
///
/// If the math waits for the unpacker at the end of an op, the time from the unpacker's end to the
/// math's end is the math's time for one block. This time is shorter than a step, which is the time
/// from one block to the next. If the packer lags behind the math, the time from the math's end to
/// the packer's end is longer than a step. If the matrix engine's counter shows that the math works
/// all the time, the math itself is the slowest engine.
fn slowest_engine(view: &OpView<'_>, last_blocks: Option<LastBlocks>) -> Option<Engine> {
    if fpu_percent(view.counter_shares).is_some_and(|percent| percent >= PACING.value) {
        return Some(Engine::Math);
    }
    let LastBlocks { starved_percent, held_up_percent, .. } = last_blocks?;
    let margin = KNOWN_MARGIN.value;
    // An engine whose RISC waits for a data-movement RISC is held up by it, so the engine does not
    // set the pace.
    let is_busy = |risc, kind| {
        kind_percent(view, risc, kind).is_none_or(|percent| percent <= 100.0 - PACING.value)
    };
    let is_unpacker_busy = is_busy(Risc::Trisc0, WaitKind::CB_WAIT);
    let is_packer_busy = is_busy(Risc::Trisc2, WaitKind::CB_RESERVE);
    match (starved_percent, held_up_percent) {
        (starved, held_up) if held_up >= margin && held_up > starved => {
            is_packer_busy.then_some(Engine::Packer)
        }
        (starved, _) if starved >= margin => is_unpacker_busy.then_some(Engine::Unpacker),
        (starved, held_up) if starved <= -margin && held_up <= -margin => Some(Engine::Math),
        _ => None,
    }
}

/// Returns the stage with the highest use, with its minimum and maximum lead over the next busiest
/// stage.
fn ahead(stages: &[StageUse]) -> Option<(Stage, f64, f64)> {
    if stages.len() < 2 {
        return None;
    }
    let first = stages.iter().max_by(|one, other| {
        let [one, other] = [one, other].map(|of| (of.at_least_percent + of.at_most_percent) / 2.0);
        one.total_cmp(&other)
    })?;
    let others = stages.iter().filter(|of| of.stage != first.stage);
    let most = others.clone().map(|of| of.at_most_percent).fold(0.0, f64::max);
    let least = others.map(|of| of.at_least_percent).fold(0.0, f64::max);
    Some((first.stage, first.at_least_percent - most, first.at_most_percent - least))
}

/// Returns the share of the time that could be gained at the pacer: its lead over the next busiest
/// stage, but at most its own use.
///
/// The pacer and its neighbour may take turns, for example because their buffer holds only one
/// block. Then they do not work at the same time, so the op becomes shorter by all of the time that
/// the pacer saves. The neighbour's part of each turn is therefore added to the lead.
fn gain_at_most(stages: &[StageUse], pacer: Stage, margin: f64, steady_percent: f64) -> f64 {
    let pacer_use = stages.iter().find(|of| of.stage == pacer);
    pacer_use.map_or(margin, |of| {
        let in_turn = of.in_turn_percent.max(steady_percent - of.at_most_percent);
        (margin + in_turn).min(of.at_most_percent)
    })
}
