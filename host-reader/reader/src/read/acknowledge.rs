//! Acknowledgement: after a read, the host tells the device what it has read. So no word is read
//! twice and no word is lost.

use super::{
    control::ControlVector,
    dram,
    plan::{CoreRead, LaneRead, LaneWords},
    session::Session,
};
use crate::{
    anomaly::AnomalyKind,
    ledger::{LossCause, LossTotals},
};
use wire::{LaneEnd, control::ext};

/// Acknowledges a read to a core that runs this project's runtime. Returns the number of finished
/// launches that were read, if this number was written to the core.
///
/// Writes two values, unless the core already has them: the number of words read from each lane,
/// and the number of launches that were read completely. If a lane could not be read, the lane's
/// words stay unread, and the number of launches is not written.
pub(super) fn acknowledge(session: &mut Session<'_>, core: &CoreRead) -> Option<u32> {
    // The read positions must be written before the number of launches: after the device has
    // received this number, it reuses the lanes and clears the read positions.
    write_consumed(session, core);
    let is_whole = core.lanes.iter().all(LaneRead::is_taken);
    let run_counter = core.control.run_counter();
    if !is_whole || run_counter == core.control.word(ext::SEEN_RUNS) {
        return None;
    }
    session.write_control(&core.core, ext::SEEN_RUNS, &[run_counter]);
    Some(run_counter)
}

/// Writes the read position of each lane, if the core's lanes wrap.
fn write_consumed(session: &mut Session<'_>, core: &CoreRead) {
    if !core.control.has_turning_lanes() {
        return;
    }
    let before = core.control.risc_words(ext::CONSUMED);
    let mut consumed = before;
    for lane in core.lanes.iter().filter(|lane| lane.is_taken()) {
        if let Some(word) = consumed.get_mut(lane.risc_index) {
            *word = lane.end.end;
        }
    }
    if consumed != before {
        session.write_control(&core.core, ext::CONSUMED, &consumed);
    }
}

/// Resets the control vector of a core that runs TT-Metal's runtime. Before the reset, reads the
/// words that were pushed during this read.
pub(super) fn reset(session: &mut Session<'_>, core: &mut CoreRead, pieces: &[Vec<u32>]) {
    const ATTEMPTS: usize = 3;
    if !core.has_activity() {
        return;
    }
    for _ in 0..ATTEMPTS {
        if !take_raced_words(session, core, pieces) {
            break;
        }
    }
    let late = fresh_control(session, core).unwrap_or_else(|| core.control.clone());
    let is_whole = core.lanes.iter().all(LaneRead::is_taken);
    if !is_whole {
        return reset_taken_lanes(session, core);
    }
    for lane in &core.lanes {
        let end = late.host_end(lane.risc_index).min(lane.lane_words);
        lose_overwritten(session, lane, end);
    }
    let words = late.after_reset();
    session.write_control(
        &core.core,
        0,
        words.get(..core.control.layout.word_count).unwrap_or(&words),
    );
}

/// Clears the end words of the lanes that were read: the control words with the number of pushed
/// words. Lanes that could not be read keep their end words for a later read.
fn reset_taken_lanes(session: &mut Session<'_>, core: &CoreRead) {
    for lane in core.lanes.iter().filter(|lane| lane.words.is_some()) {
        session.write_control(
            &core.core,
            core.control.layout.host_end.saturating_add(lane.risc_index),
            &[0],
        );
    }
}

fn lose_overwritten(session: &mut Session<'_>, lane: &LaneRead, end: u32) {
    let read = lane.end.end;
    if end > read {
        session.note(AnomalyKind::MissingRun, Some(lane.id), read as usize, || {
            format!("words up to {end} were pushed while the core was being reset")
        });
        session.lose_words(lane.id, LossCause::HostOverwritten, end.saturating_sub(read));
    }
}

/// Reads the words pushed since the control vector was read; returns true if there were any.
fn take_raced_words(session: &mut Session<'_>, core: &mut CoreRead, pieces: &[Vec<u32>]) -> bool {
    let Some(fresh) = fresh_control(session, core) else { return false };
    let mut has_raced = false;
    for lane in &mut core.lanes {
        let end = fresh.host_end(lane.risc_index).min(lane.lane_words);
        let has_address = fresh.word(fresh.layout.dram_address) != 0;
        let is_whole = match lane.words {
            None => lane.unread() == 0,
            Some(LaneWords::Gone) => false,
            Some(LaneWords::InPiece { .. } | LaneWords::Own(_)) => true,
        };
        if end <= lane.end.end || !has_address || !is_whole {
            continue;
        }
        if let Ok(more) = dram::read_range(session, lane, lane.end.end..end, Vec::new()) {
            let mut words = lane.words(pieces).to_vec();
            words.extend(more);
            lane.words = Some(LaneWords::Own(words));
            lane.end = LaneEnd { end, turned_at: None };
            has_raced = true;
        }
    }
    core.control = fresh;
    has_raced
}

fn fresh_control(session: &mut Session<'_>, core: &CoreRead) -> Option<ControlVector> {
    let layout = core.control.layout;
    let words = session.read_control_vector(&core.core, layout.word_count).ok()?;
    Some(ControlVector { words, layout })
}

/// Reports each lane for which the core's control vector states that records were dropped.
///
/// For TT-Metal's runtime, which does not count its losses, also adds a minimum loss to the ledger.
///
/// The first RISC takes part in every launch. Its number of missing runs therefore follows from the
/// number of launches.
pub(super) fn report_dropped(session: &mut Session<'_>, core: &mut CoreRead) {
    for lane in &mut core.lanes {
        if !core.control.has_dropped(lane.risc_index) {
            continue;
        }
        log::warn!(
            "Profiler DRAM buffers were full, markers were dropped! device {}, worker core {}, {}, \
             Risc {},  bufferEndIndex = {}. Please either decrease the number of ops being \
             profiled or run read device profiler more often",
            lane.id.chip_id,
            lane.id.core.x,
            lane.id.core.y,
            lane.id.risc,
            core.control.host_end(lane.risc_index),
        );
        if core.control.is_ours() {
            continue;
        }
        lane.loss.missing = Some(lane.full_for(u64::MAX, None));
        if lane.risc_index == 0 {
            lane.loss.launches_of_full_lane = Some(core.control.run_counter());
        } else {
            session.lose_in_windows(
                lane.id,
                LossCause::DramFull,
                None,
                LossTotals::at_least_markers(1),
            );
        }
    }
}
