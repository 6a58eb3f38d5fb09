//! Launches that have not ended: their records are in L1, and no control word states how many.
//!
//! A kernel that hangs, or a core that was stopped, leaves its records in the vectors of its RISCs.
//! The last read returns them. The decoder finds out where the records end.
//!
//! The launch may still be running. A vector is therefore read twice, and only words that are equal
//! in both readings count. If the core has pushed records in the meantime, the vectors may belong
//! to a later launch than the words that were read from DRAM; they are then left to a later read.

use super::{
    control::ControlVector,
    plan::{CoreRead, LaneRead},
    session::Session,
};
use crate::{
    anomaly::AnomalyKind,
    decode::{CaptureMode, Unpushed},
    mesh::AccessError,
};
use wire::{Generation, Header, control::ext, run, vector};

/// The words of one RISC's vector during a launch, from the launch's run header on.
pub(super) struct UnpushedWords {
    words: Vec<u32>,
    is_published: bool,
}

impl UnpushedWords {
    /// Returns the words at the position that they would have if the lane were pushed now.
    pub(super) fn behind(&self, lane: &LaneRead) -> Unpushed<'_> {
        let pending_words = lane.pending.as_ref().map_or(0, Vec::len);
        let first_word = u64::from(lane.end.end).saturating_add(pending_words as u64);
        Unpushed { words: &self.words, first_word, is_published: self.is_published }
    }
}

/// Reads the records in L1 of a launch that has not ended on a core, if there is such a launch.
pub(super) fn read_launch(session: &mut Session<'_>, core: &mut CoreRead, generation: &Generation) {
    // In trace-only mode launches record nothing. In TT-Metal's debug dump, a RISC that waits for
    // its other buffer continues after this read.
    let is_recorded = session.options.mode != CaptureMode::TraceOnly && core.two_buffers.is_none();
    if !is_recorded || !core.control.is_under_way() || !has_begun(&core.control) {
        return;
    }
    let mut lanes = std::mem::take(&mut core.lanes);
    for lane in &mut lanes {
        let Some((begin, published_words)) = place_in_vector(session, core, lane) else { continue };
        match read_vector(session, core, lane, begin, published_words) {
            Ok(words) => lane.unpushed = words,
            // Captures that were written before L1 was read have no words of it, and the flag of
            // TT-Metal's runtime does not state whether a launch runs.
            Err(AccessError::Gone { .. }) if !core.control.is_ours() => {}
            Err(error) => {
                let position = core.control.layout.device_end.saturating_add(lane.risc_index);
                let text = error.to_string();
                session.note(AnomalyKind::UnreadableCore, Some(lane.id), position, || text);
                lane.pending_error = Some(error);
                lane.loss.has_other_launches = true;
            }
        }
    }
    if lanes.iter().all(|lane| lane.unpushed.is_none()) {
        core.lanes = lanes;
        return;
    }
    let is_same = fresh_control(session, core).is_some_and(|fresh| is_same_push(core, &fresh));
    let is_program_set = lanes.iter().any(has_kernel_begun);
    for lane in &mut lanes {
        if let Some(unpushed) = lane.unpushed.take_if(|_| is_same) {
            let mut words = stamped(unpushed.words, core, lane.risc_index, generation);
            if let Some(program) = words.get_mut(run::ID_LL).filter(|_| !is_program_set) {
                *program = 0;
            }
            lane.unpushed = Some(UnpushedWords { words, ..unpushed });
        } else if lane.unpushed.take().is_some() {
            session.note_unread(lane.id, 1);
            lane.loss.has_other_launches = true;
        }
    }
    core.lanes = lanes;
}

/// Returns true if a kernel has begun on a RISC, or a RISC that does not lead its core has begun the
/// launch.
///
/// The first RISC opens its firmware's zone, then stores the program's id, and then lets kernels begin.
/// Until one has begun, the id may be that of the launch before.
fn has_kernel_begun(lane: &LaneRead) -> bool {
    let Some(UnpushedWords { words, .. }) = &lane.unpushed else { return false };
    let has = |slot: usize| words.get(slot).is_some_and(|&word| !Header(word).is_empty());
    has(vector::CHILD_START) || lane.risc_index > 0 && has(vector::MAIN_START)
}

/// Returns true if a launch may have begun since a host set the core up.
///
/// # Compatibility
/// TT-Metal's firmware writes its NoC coordinates at the first launch after its host has reset the
/// control vector. Both coordinates are 0 on no core with a profiler.
fn has_begun(control: &ControlVector) -> bool {
    let layout = control.layout;
    let words = [layout.noc_x, layout.noc_y, layout.run_counter];
    control.is_ours() || words.into_iter().any(|index| control.word(index) != 0)
}

/// Returns the index in a RISC's vector at which the run of the launch begins, and the number of
/// words that the RISC has published of it; 0 if it has published nothing.
///
/// Returns `None` if the run was already read as one that waits to be pushed, or if the vector has
/// no room for a run.
fn place_in_vector(
    session: &Session<'_>,
    core: &CoreRead,
    lane: &LaneRead,
) -> Option<(usize, usize)> {
    /// Bits of the end word in accumulate mode that are 0 until the RISC publishes its run.
    const PUBLISHED_MASK: u32 = 0x7FFF_0000;
    let end = core.control.device_end(lane.risc_index);
    if core.control.is_ours() && session.options.mode == CaptureMode::Accumulate {
        let begin = core.control.accumulated_end(lane.risc_index) as usize;
        let has_room = begin.saturating_add(vector::FIRST_OPTIONAL) <= vector::VECTOR_WORDS;
        (end & PUBLISHED_MASK == 0 && has_room).then_some((begin, 0))
    } else {
        lane.pending.is_none().then_some((0, end as usize))
    }
}

/// Reads the words of a RISC's vector from the index `begin` on; `None` if the RISC has recorded
/// nothing in this launch, or if a launch begins in the meantime.
fn read_vector(
    session: &mut Session<'_>,
    core: &CoreRead,
    lane: &LaneRead,
    begin: usize,
    published_words: usize,
) -> Result<Option<UnpushedWords>, AccessError> {
    let mut slots = [0; vector::FIRST_OPTIONAL];
    session.read_vector(&core.core, lane.risc_index, begin, &mut slots)?;
    if !is_open(&slots) && published_words == 0 && !core.control.is_ours() {
        return Ok(None);
    }
    let mut first = vec![0; vector::VECTOR_WORDS.saturating_sub(begin)];
    let mut words = first.clone();
    for words in [&mut first, &mut words] {
        session.read_vector(&core.core, lane.risc_index, begin, words)?;
    }
    let same = first.iter().zip(&words).take_while(|(one, other)| one == other).count();
    if same < vector::FIRST_OPTIONAL {
        return Ok(None);
    }
    let is_published = (vector::FIRST_OPTIONAL..=same).contains(&published_words);
    words.truncate(if is_published { published_words } else { same });
    Ok(Some(UnpushedWords { words, is_published }))
}

/// Returns true if the firmware's zone has begun and has not ended, by the guaranteed slots of a
/// run.
fn is_open(slots: &[u32; vector::FIRST_OPTIONAL]) -> bool {
    let is_free = |slot: usize| slots.get(slot).is_some_and(|&word| Header(word).is_empty());
    !is_free(vector::MAIN_START) && is_free(vector::MAIN_END)
}

/// Returns true if the core has neither pushed anything nor ended its launch since its control
/// vector was read.
fn is_same_push(core: &CoreRead, fresh: &ControlVector) -> bool {
    let before = &core.control;
    let ends = |control: &ControlVector| control.risc_words(control.layout.host_end);
    fresh.is_under_way()
        && fresh.run_counter() == before.run_counter()
        && ends(fresh) == ends(before)
        && fresh.word(ext::GENERATION) == before.word(ext::GENERATION)
}

fn fresh_control(session: &mut Session<'_>, core: &CoreRead) -> Option<ControlVector> {
    let layout = core.control.layout;
    let words = session.read_control_vector(&core.core, layout.word_count).ok()?;
    Some(ControlVector { words, layout })
}

/// Returns the words with the run header that a push would have written.
fn stamped(
    mut words: Vec<u32>,
    core: &CoreRead,
    risc_index: usize,
    generation: &Generation,
) -> Vec<u32> {
    super::pending::stamp(&mut words, core, risc_index, generation);
    words
}
