//! Losses since the previous read, computed from the loss counters of a core that runs this
//! project's runtime.
//!
//! No reader resets the counters while a core is in use, so the loss is the difference between two
//! values of a counter. Each difference is added to the ledger once, in the lane of the RISC that
//! counted the loss.

use super::{
    control::word_of,
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
    vector,
};

/// Loss counts of one RISC.
#[derive(Clone, Copy, Debug)]
struct RiscCounts {
    lost: LossCounts,
    refused_runs: u32,
    refused_markers: u32,
    late_runs: u32,
}

impl RiscCounts {
    /// Collects the counts of a RISC. `count` returns the count in the control word at an index.
    fn new(risc_index: usize, count: impl Fn(usize) -> u32) -> Self {
        let risc_count = |first: usize| count(first.saturating_add(risc_index));
        let [zones, data, events] = LossKind::ALL.map(|kind| risc_count(kind.control_word()));
        Self {
            lost: LossCounts { zones, data, events },
            refused_runs: risc_count(ext::REFUSED_RUNS),
            refused_markers: risc_count(ext::REFUSED_MARKERS),
            late_runs: ext::late_runs(risc_index).map_or(0, count),
        }
    }

    /// Returns true if records are missing for a cause other than a full L1 vector.
    const fn has_lost_runs(&self) -> bool {
        self.refused_runs != 0 || self.refused_markers != 0 || self.late_runs != 0
    }
}

/// Adds to the ledger the runs that a core has lost completely, and stores the L1 losses of each
/// RISC in the RISC's lane.
///
/// The L1 losses are added to the ledger later, when the lane's runs are known.
pub(super) fn record(session: &mut Session<'_>, core: &mut CoreRead) {
    if !core.control.is_ours() {
        if core.has_activity() {
            session.losses.note_uncounted(UncountedSource::ForeignRuntime);
        }
        return;
    }
    let Some(before) = core.memory.words else { return add_unknown(session, core) };
    let now = core.control.words;
    let count = |index| word_of(&now, index).wrapping_sub(word_of(&before, index));
    let timed_out_pushes = count(ext::TIMED_OUT_PUSHES);
    let refused = refused_programs(session, core);
    let launches = core.control.run_counter().wrapping_sub(core.memory.run_counter);
    let is_accumulated = session.options.mode == CaptureMode::Accumulate;
    let is_of_one_launch = launches == 1 && !core.control.is_under_way() && !is_accumulated;
    // The lost records may belong to launches that still wait in L1.
    let are_others_in_l1 = is_accumulated && !session.options.last_read;
    // The last read also reads the launch in progress; see `unpushed`.
    let has_unread_launch = core.control.is_under_way() && !session.options.last_read;
    let mut lanes = std::mem::take(&mut core.lanes);
    for lane in &mut lanes {
        let counted = RiscCounts::new(lane.risc_index, count);
        add_refused(session, core, lane.id, &counted, (timed_out_pushes, refused));
        add_late(session, lane.id, counted.late_runs);
        lane.loss = LaneLoss {
            counts: counted.lost,
            is_of_one_launch,
            has_other_launches: counted.has_lost_runs() || has_unread_launch || are_others_in_l1,
            others: refused.filter(|_| counted.refused_runs != 0),
            launches_of_full_lane: None,
            missing: missing_runs(core, lane, &counted, timed_out_pushes),
        };
    }
    core.lanes = lanes;
    add_idle(session, core, count(ext::IDLE_LAUNCHES));
}

/// Returns the position of missing runs among the runs of a lane; `None` if no runs are missing.
///
/// If no push timed out, a run is refused only if it does not fit into the rest of its lane. So if
/// a run begins at a position at which the refused run would still have fit, the refused run came
/// later. The maximum size of a refused run follows from the counters: twelve words (header and
/// guaranteed slots), plus two words for each refused marker. At least one refused marker belongs
/// to each of the other refused runs, and is not counted.
fn missing_runs(
    core: &CoreRead,
    lane: &LaneRead,
    counted: &RiscCounts,
    timed_out_pushes: u32,
) -> Option<MissingRuns> {
    let is_late = counted.late_runs != 0 || timed_out_pushes != 0;
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

/// Adds the loss of refused runs: runs that did not completely fit into the lane.
fn add_refused(
    session: &mut Session<'_>,
    core: &CoreRead,
    lane: LaneId,
    counted: &RiscCounts,
    (timed_out_pushes, programs): (u32, Option<ProgramSpan>),
) {
    let RiscCounts { refused_runs, refused_markers, .. } = *counted;
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

/// Adds the loss of late runs: runs that were not complete in L1 when the RISC that pushes the
/// core's runs stopped waiting for them.
fn add_late(session: &mut Session<'_>, lane: LaneId, late_runs: u32) {
    if late_runs != 0 {
        let runs = u64::from(late_runs);
        let totals = LossTotals { runs, ..LossTotals::at_least_markers(runs) };
        session.lose_in_windows(lane, LossCause::NotPublished, None, totals);
    }
}

/// Adds the launches that ran no kernel on the core to the ledger.
///
/// In such a launch the firmware runs only on the first RISC and records one zone. The device
/// counts these launches, but does not store their programs.
fn add_idle(session: &mut Session<'_>, core: &mut CoreRead, idle_launches: u32) {
    core.idle_launches = idle_launches;
    let Some(lane) = core.lanes.first().filter(|_| idle_launches != 0) else { return };
    let zones = u64::from(idle_launches);
    let totals = LossTotals { zones, runs: zones, ..LossTotals::default() };
    session.lose(lane.id, LossCause::ValidateOff, None, totals);
}

/// Adds a loss of unknown size for each RISC that has counted losses. It is unknown how many of
/// these losses are new.
fn add_unknown(session: &mut Session<'_>, core: &CoreRead) {
    for lane in &core.lanes {
        let counted = RiscCounts::new(lane.risc_index, |index| core.control.word(index));
        let unknown = LossTotals::at_least_markers(0);
        if !counted.lost.is_zero() {
            session.lose(lane.id, LossCause::L1Full, None, unknown);
        }
        if counted.has_lost_runs() {
            session.lose(lane.id, LossCause::DramFull, None, unknown);
        }
    }
}

/// Returns the programs of the first and the last run that did not fit into the core's lanes since
/// the core last reset the lanes to empty.
fn refused_programs(session: &Session<'_>, core: &CoreRead) -> Option<ProgramSpan> {
    let chip_id = core.lanes.first()?.id.chip_id;
    let program = |index| session.options.host_ids.run_host_id(core.control.word(index), chip_id);
    let (first, last) = (ext::FIRST_REFUSED_PROGRAM, ext::LAST_REFUSED_PROGRAM);
    Some(ProgramSpan { first: program(first), last: program(last) })
}

/// Returns the number of a RISC's runs since the previous read that did not completely fit in DRAM.
///
/// The result is 0 if unknown.
pub(super) fn refused_runs(core: &CoreRead, risc_index: usize) -> u32 {
    let Some(before) = core.memory.words.filter(|_| core.control.is_ours()) else { return 0 };
    let index = ext::REFUSED_RUNS.saturating_add(risc_index);
    core.control.word(index).wrapping_sub(word_of(&before, index))
}
