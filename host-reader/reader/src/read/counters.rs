//! Losses since the previous read, computed from the loss counters of a core of our runtime.
//!
//! No reader resets the counters while a core is in use, so the loss is the difference between two
//! values of a counter. Each difference is added to the ledger once, in the lane of the RISC that
//! counted the loss.

use super::{
    control::ControlVector,
    plan::{CoreRead, LaneRead},
    session::Session,
};
use crate::{
    decode::{CaptureMode, LaneLoss, MissingRuns},
    lane::LaneId,
    ledger::{LossCause, LossTotals, ProgramSpan, UncountedSource},
};
use wire::{
    control::ext,
    loss::{LossCounts, LossKind},
    risc::RISCS_PER_CORE,
    vector,
};

/// The counters of one RISC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RiscCounters {
    pub(super) lost: LossCounts,
    pub(super) refused_runs: u32,
    pub(super) refused_markers: u32,
    pub(super) late_runs: u32,
}

/// The counters of one core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) riscs: [RiscCounters; RISCS_PER_CORE],
    pub(super) timed_out_pushes: u32,
    pub(super) idle_launches: u32,
}

impl RiscCounters {
    fn from_control(control: &ControlVector, risc_index: usize) -> Self {
        let word = |first: usize| control.word(first.saturating_add(risc_index));
        let [zones, data, events] = LossKind::ALL.map(|kind| word(kind.control_word()));
        Self {
            lost: LossCounts { zones, data, events },
            refused_runs: word(ext::REFUSED_RUNS),
            refused_markers: word(ext::REFUSED_MARKERS),
            late_runs: ext::late_runs(risc_index).map_or(0, |index| control.word(index)),
        }
    }

    const fn since(self, earlier: Self) -> Self {
        Self {
            lost: self.lost.since(earlier.lost),
            refused_runs: self.refused_runs.wrapping_sub(earlier.refused_runs),
            refused_markers: self.refused_markers.wrapping_sub(earlier.refused_markers),
            late_runs: self.late_runs.wrapping_sub(earlier.late_runs),
        }
    }

    /// Returns true if records are missing for a cause other than a full L1 vector.
    const fn has_lost_runs(&self) -> bool {
        self.refused_runs != 0 || self.refused_markers != 0 || self.late_runs != 0
    }
}

impl Counters {
    /// Returns the counters of a core; all are 0 if the runtime has none.
    pub(super) fn from_control(control: &ControlVector) -> Self {
        if !control.is_ours() {
            return Self::default();
        }
        Self {
            riscs: std::array::from_fn(|risc_index| {
                RiscCounters::from_control(control, risc_index)
            }),
            timed_out_pushes: control.word(ext::TIMED_OUT_PUSHES),
            idle_launches: control.word(ext::IDLE_LAUNCHES),
        }
    }

    /// Returns the differences from an earlier reading of the counters.
    pub(super) fn since(self, earlier: Self) -> Self {
        let mut riscs = self.riscs;
        for (now, earlier) in riscs.iter_mut().zip(earlier.riscs) {
            *now = now.since(earlier);
        }
        Self {
            riscs,
            timed_out_pushes: self.timed_out_pushes.wrapping_sub(earlier.timed_out_pushes),
            idle_launches: self.idle_launches.wrapping_sub(earlier.idle_launches),
        }
    }
}

/// Adds the runs that a core has lost as a whole to the ledger, and stores the L1 losses of each
/// RISC in its lane.
///
/// The L1 losses are added to the ledger later, when the lane's runs are known.
#[expect(clippy::indexing_slicing, reason = "the index counts the lanes of the core")]
pub(super) fn record(session: &mut Session<'_>, core: &mut CoreRead) {
    if !core.control.is_ours() {
        if core.has_activity() {
            session.losses.note_uncounted(UncountedSource::ForeignRuntime);
        }
        return;
    }
    let Some(earlier) = core.memory.counters else { return add_unknown(session, core) };
    let new = Counters::from_control(&core.control).since(earlier);
    let refused = refused_programs(session, core);
    let launches = core.control.run_counter().wrapping_sub(core.memory.run_counter);
    let is_accumulated = session.options.mode == CaptureMode::Accumulate;
    let is_of_one_launch = launches == 1 && !core.control.is_under_way() && !is_accumulated;
    // The lost records may belong to launches that still wait in L1.
    let are_others_in_l1 = is_accumulated && !session.options.last_read;
    let is_under_way = core.control.is_under_way();
    for index in 0..core.lanes.len() {
        let LaneRead { id, risc_index, .. } = core.lanes[index];
        let Some(counted) = new.riscs.get(risc_index).copied() else { continue };
        add_refused(session, core, id, &counted, (new.timed_out_pushes, refused));
        add_late(session, id, counted.late_runs);
        core.lanes[index].loss = LaneLoss {
            counts: counted.lost,
            is_of_one_launch,
            has_other_launches: counted.has_lost_runs() || is_under_way || are_others_in_l1,
            others: refused.filter(|_| counted.refused_runs != 0),
            launches_of_full_lane: None,
            missing: missing_runs(core, index, &counted, &new),
        };
    }
    add_idle(session, core, new.idle_launches);
}

/// Returns the position of missing runs among the runs of a lane; `None` if no runs are missing.
///
/// A lane only refuses a run if there is no room. So a refused run is later than every run that
/// began while the lane still had room for the refused run. The counters give the maximum size of a
/// refused run: twelve words, plus all refused pairs of words, minus at least one pair for each
/// other refused run.
fn missing_runs(
    core: &CoreRead,
    index: usize,
    counted: &RiscCounters,
    new: &Counters,
) -> Option<MissingRuns> {
    let lane = core.lanes.get(index)?;
    let is_late = counted.late_runs != 0 || new.timed_out_pushes != 0;
    let others = u64::from(counted.refused_runs).saturating_sub(1);
    let pairs = u64::from(counted.refused_markers).saturating_sub(others);
    match (counted.has_lost_runs(), is_late) {
        (false, _) => None,
        (true, true) => Some(MissingRuns::Anywhere),
        (true, false) => {
            let words = pairs.saturating_mul(2).saturating_add(vector::FIRST_OPTIONAL as u64);
            Some(lane.full_for(words, core.memory.room_end(&core.control, lane)))
        }
    }
}

/// Adds the loss of runs that did not completely fit in DRAM.
fn add_refused(
    session: &mut Session<'_>,
    core: &CoreRead,
    lane: LaneId,
    counted: &RiscCounters,
    (timed_out_pushes, programs): (u32, Option<ProgramSpan>),
) {
    let RiscCounters { refused_runs, refused_markers, .. } = *counted;
    let is_accumulated = session.options.mode == CaptureMode::Accumulate;
    if refused_runs == 0 && refused_markers == 0 {
        return;
    }
    let cause = if core.control.word(core.control.layout.dram_address) == 0 {
        LossCause::NeverArrived
    } else if timed_out_pushes != 0 && (is_accumulated || refused_runs <= timed_out_pushes) {
        // A push that times out contains a whole launch, with one run per RISC. In accumulate mode,
        // such a push contains several launches.
        LossCause::PushTimedOut
    } else {
        LossCause::DramFull
    };
    // A single program is stored in the key of the loss; several programs are stored as a span.
    let program = programs.filter(|span| span.first == span.last).map(|span| span.first);
    let totals = LossTotals {
        unknown_markers: refused_markers.into(),
        runs: refused_runs.into(),
        programs: if program.is_some() { None } else { programs },
        ..LossTotals::default()
    };
    session.lose_in_windows(lane, cause, program, totals);
}

/// Adds the loss of runs that were not published when the pushing RISC stopped waiting.
fn add_late(session: &mut Session<'_>, lane: LaneId, late_runs: u32) {
    if late_runs != 0 {
        let runs = u64::from(late_runs);
        let totals = LossTotals { runs, ..LossTotals::at_least_markers(runs) };
        session.lose_in_windows(lane, LossCause::NotPublished, None, totals);
    }
}

/// Adds the loss of launches that ran no kernel on the core.
///
/// In such a launch the firmware runs only on the first RISC and records one zone. The device
/// counts these launches, but does not record their programs.
fn add_idle(session: &mut Session<'_>, core: &mut CoreRead, idle_launches: u32) {
    core.idle_launches = idle_launches;
    let Some(lane) = core.lanes.first().filter(|_| idle_launches != 0) else { return };
    let zones = u64::from(idle_launches);
    let totals = LossTotals { zones, runs: zones, ..LossTotals::default() };
    session.lose(lane.id, LossCause::ValidateOff, None, totals);
}

/// Adds a loss of unknown size for each RISC that has counted losses, since it is unknown how many
/// of them are new.
fn add_unknown(session: &mut Session<'_>, core: &CoreRead) {
    let counters = Counters::from_control(&core.control);
    for lane in &core.lanes {
        let Some(counted) = counters.riscs.get(lane.risc_index) else { continue };
        let unknown = LossTotals::at_least_markers(0);
        if !counted.lost.is_zero() {
            session.lose(lane.id, LossCause::L1Full, None, unknown);
        }
        if counted.has_lost_runs() {
            session.lose(lane.id, LossCause::DramFull, None, unknown);
        }
    }
}

/// Returns the programs of the first and the last run that the lanes have refused since the core
/// last released its lanes.
fn refused_programs(session: &Session<'_>, core: &CoreRead) -> Option<ProgramSpan> {
    let chip_id = core.lanes.first()?.id.chip_id;
    let program = |index| session.options.host_ids.run_host_id(core.control.word(index), chip_id);
    let (first, last) = (ext::FIRST_REFUSED_PROGRAM, ext::LAST_REFUSED_PROGRAM);
    Some(ProgramSpan { first: program(first), last: program(last) })
}

/// Returns how many runs of a RISC did not completely fit in DRAM since the previous read.
///
/// The result is 0 if unknown.
pub(super) fn refused_runs(core: &CoreRead, risc_index: usize) -> u32 {
    let Some(earlier) = core.memory.counters.filter(|_| core.control.is_ours()) else { return 0 };
    let new = Counters::from_control(&core.control).since(earlier);
    new.riscs.get(risc_index).map_or(0, |counted| counted.refused_runs)
}
