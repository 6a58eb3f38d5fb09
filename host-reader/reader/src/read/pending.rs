//! Runs that wait in L1 until another launch pushes them.

use super::{
    plan::{CoreRead, LaneRead},
    session::Session,
};
use crate::{anomaly::AnomalyKind, decode::CaptureMode, mesh::AccessError};
use wire::{Generation, marker::EMPTY_HEADER, run::ID_LL, vector};

/// Returns true if a RISC's L1 vector contains a run that was not pushed.
///
/// This project's runtime clears the end word (the number of words in the vector) after pushing the
/// run. TT-Metal's runtime has only one flag for the whole core, which states whether the last
/// launch has been pushed. In trace-only mode the last launch is never pushed.
pub(super) fn is_pending(core: &CoreRead, risc_index: usize, mode: CaptureMode) -> bool {
    waiting_words(core, risc_index, mode) != 0
}

/// Returns the number of words in a RISC's L1 vector that were not pushed, as reported by the
/// device.
pub(super) fn waiting_words(core: &CoreRead, risc_index: usize, mode: CaptureMode) -> u32 {
    let may_wait = core.control.is_ours() || mode.keeps_in_l1() || core.control.is_under_way();
    if !may_wait {
        0
    } else if core.control.is_ours() && mode == CaptureMode::Accumulate {
        core.control.accumulated_end(risc_index)
    } else {
        core.control.device_end(risc_index)
    }
}

/// Clears the end words of L1 vectors after their accumulated runs were read, on a core that runs
/// this project's runtime.
///
/// The next launch then begins with empty vectors. No vector is cleared if one vector could not be
/// read, or if a launch is running. During a launch, the runtime uses its own copy of the end word.
pub(super) fn take_accumulated(session: &mut Session<'_>, core: &CoreRead) {
    if core.control.is_under_way() || core.lanes.iter().any(|lane| lane.pending_error.is_some()) {
        return;
    }
    let before = core.control.risc_words(core.control.layout.device_end);
    let mut ends = before;
    for lane in core.lanes.iter().filter(|lane| lane.pending.is_some()) {
        if let Some(end) = ends.get_mut(lane.risc_index) {
            *end = 0;
        }
    }
    if ends != before {
        session.write_control(&core.core, core.control.layout.device_end, &ends);
    }
}

/// Reads all runs of a core that wait in L1; `pieces` contains the words of the core's DRAM lanes.
pub(super) fn read_runs(
    session: &mut Session<'_>,
    core: &mut CoreRead,
    generation: &Generation,
    pieces: &[Vec<u32>],
) {
    let mut lanes = std::mem::take(&mut core.lanes);
    for lane in &mut lanes {
        if !is_pending(core, lane.risc_index, session.options.mode) {
            continue;
        }
        let run = read_run(session, core, lane, generation).map(|run| {
            let run = run?;
            let pushed = lane.words(pieces);
            let begins = run.get(..vector::FIRST_OPTIONAL).unwrap_or(&run);
            let is_pushed = pushed.ends_with(&run) || pushed.ends_with(begins);
            // A run that was already pushed counts as read too, but its words are not returned
            // twice.
            Some(if is_pushed { Vec::new() } else { run })
        });
        match run {
            Ok(None) => {}
            Ok(run) => lane.pending = run,
            Err(error) => lane.pending_error = Some(error),
        }
    }
    core.lanes = lanes;
}

/// Returns the run that waits in L1, converted to the layout of a pushed run; `None` if the run is
/// not complete yet.
fn read_run(
    session: &mut Session<'_>,
    core: &CoreRead,
    lane: &LaneRead,
    generation: &Generation,
) -> Result<Option<Vec<u32>>, AccessError> {
    let said = waiting_words(core, lane.risc_index, session.options.mode) as usize;
    let position = core.control.layout.device_end.saturating_add(lane.risc_index);
    if !(vector::FIRST_OPTIONAL..=vector::VECTOR_WORDS).contains(&said) {
        session.note(AnomalyKind::ImplausibleControlWord, Some(lane.id), position, || {
            format!("{said} words are said to wait in a vector of {}", vector::VECTOR_WORDS)
        });
    }
    let count = said.clamp(vector::FIRST_OPTIONAL, vector::VECTOR_WORDS) & !1;
    let mut words = vec![0; count];
    if let Err(error) = session.read_vector(&core.core, lane.risc_index, 0, &mut words) {
        session.note(AnomalyKind::UnreadableCore, Some(lane.id), position, || error.to_string());
        return Err(error);
    }
    let is_trace_only = session.options.mode == CaptureMode::TraceOnly;
    if is_trace_only && words.first() == Some(&EMPTY_HEADER) {
        return Ok(None); // The zone around this replay is not complete.
    }
    stamp(&mut words, core, lane.risc_index, generation);
    Ok(Some(words))
}

/// Overwrites the first words of `words` with the run header that a push would have written.
pub(super) fn stamp(
    words: &mut [u32],
    core: &CoreRead,
    risc_index: usize,
    generation: &Generation,
) {
    let packing = generation.id_packing;
    let Some([high, low, id]) = words.first_chunk_mut::<ID_LL>() else { return };
    let trace_counter = packing.trace_counter(*id);
    let times_begun = packing.generation_field(packing.generation(*id));
    let risc_index = u32::try_from(risc_index).unwrap_or(0);
    *id = packing.pack(risc_index, core.core.flat_id, trace_counter) | times_begun;
    (*high, *low) = (0, 0);
}
