//! Telling the device what was read, so that nothing is read twice and nothing is lost.

use super::{
    control::{ControlVector, WORDS},
    dram,
    plan::{self, CoreRead, LaneWords},
    session::Session,
};
use crate::{
    anomaly::AnomalyKind,
    ledger::{LossCause, LossTotals},
};
use wire::control::ext;

/// Acknowledges a core of our runtime: the marks in the extension words.
///
/// Only marks that move are written. A mark that stands may belong to a lane that the device
/// is rewinding at this moment.
pub(super) fn acknowledge(session: &mut Session<'_>, core: &CoreRead) {
    let mut marks = Vec::new();
    for lane in core.lanes.iter().filter(|lane| lane.unread() == 0 || lane.words.is_some()) {
        let host_end = core.control.host_end(lane.risc_index);
        if host_end != 0 && host_end != core.control.seen_end(lane.risc_index) {
            marks.push((ext::SEEN_END + lane.risc_index, host_end));
        }
    }
    for lane in &core.lanes {
        marks.extend(lane.lost_read.map(|lost| (ext::SEEN_LOST + lane.risc_index, lost)));
    }
    if core.control.discarded_launches() != 0 {
        marks.push((ext::SEEN_DISCARDED, core.control.word(ext::DISCARDED_LAUNCHES)));
    }
    for lane in core.lanes.iter().filter(|lane| lane.pending.is_some()) {
        marks.push((core.control.layout.device_end + lane.risc_index, 0));
    }
    for block in marks.chunk_by(|a, b| a.0 + 1 == b.0) {
        let words: Vec<u32> = block.iter().map(|mark| mark.1).collect();
        session.write_control(&core.core, block[0].0, &words);
    }
}

/// Resets a core of upstream's runtime, once no push has raced the read any more.
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
    let is_whole = core.lanes.iter().all(|lane| lane.unread() == 0 || lane.words.is_some());
    if !is_whole {
        return reset_taken_lanes(session, core);
    }
    for lane in &core.lanes {
        let end = late.host_end(lane.risc_index).min(lane.lane_words);
        lose_overwritten(session, lane, end);
    }
    let words = late.after_reset();
    session.write_control(&core.core, 0, &words[..core.control.layout.word_count]);
}

/// Zeroes the ends of those lanes that were read; the others keep theirs for another try.
fn reset_taken_lanes(session: &mut Session<'_>, core: &CoreRead) {
    for lane in core.lanes.iter().filter(|lane| lane.words.is_some()) {
        session.write_control(&core.core, core.control.layout.host_end + lane.risc_index, &[0]);
    }
}

fn lose_overwritten(session: &mut Session<'_>, lane: &plan::LaneRead, end: u32) {
    if end > lane.end {
        session.note(AnomalyKind::MissingRun, Some(lane.id), lane.end as usize, || {
            format!("words up to {end} were pushed while the core was being reset")
        });
        session.lose_words(lane.id, LossCause::HostOverwritten, end - lane.end);
    }
}

/// Reads what has been pushed since the control vector was read; returns whether there was any.
fn take_raced_words(session: &mut Session<'_>, core: &mut CoreRead, pieces: &[Vec<u32>]) -> bool {
    let Some(fresh) = fresh_control(session, core) else { return false };
    let mut has_raced = false;
    for lane in &mut core.lanes {
        let end = fresh.host_end(lane.risc_index).min(lane.lane_words);
        let has_address = fresh.word(fresh.layout.dram_address) != 0;
        if end <= lane.end || !has_address || (lane.unread() > 0 && lane.words.is_none()) {
            continue;
        }
        if let Some(more) = dram::read_range(session, lane, lane.end..end, Vec::new()) {
            let mut words = lane.words(pieces).to_vec();
            words.extend(more);
            lane.words = Some(LaneWords::Own(words));
            lane.end = end;
            has_raced = true;
        }
    }
    core.control = fresh;
    has_raced
}

fn fresh_control(session: &mut Session<'_>, core: &CoreRead) -> Option<ControlVector> {
    let layout = core.control.layout;
    let words: [u32; WORDS] = plan::read_words(session, &core.core, layout.word_count).ok()?;
    Some(ControlVector { words, layout })
}

/// Says what the dropped bits of a core mean, in upstream's words, and enters the loss where
/// the runtime has no counts.
pub(super) fn report_dropped(session: &mut Session<'_>, core: &CoreRead) {
    for lane in &core.lanes {
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
        if !core.control.is_ours() {
            let totals =
                LossTotals { unknown_markers: 1, is_lower_bound: true, ..LossTotals::default() };
            session.lose(lane.id, LossCause::DramFull, None, totals);
        }
    }
}

/// Enters the launches that the core has discarded.
///
/// Such a launch runs no kernel, and its firmware runs on the first RISC alone and records one
/// zone. The device counts launches, not which programs they belong to.
pub(super) fn report_discarded(session: &mut Session<'_>, core: &CoreRead) {
    let zones = u64::from(core.control.discarded_launches());
    let Some(lane) = core.lanes.first().filter(|_| zones > 0) else { return };
    let totals = LossTotals { zones, ..LossTotals::default() };
    session.lose(lane.id, LossCause::ValidateOff, None, totals);
}
