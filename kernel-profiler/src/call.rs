//! Probes as functions, for the feature `out-of-line`. Such functions keep the code at call sites
//! small.
//!
//! Callers pass an id already shifted to its position in a marker's header, so that a call site
//! loads it with a single instruction.

use crate::processor::with;
use wire::ZoneId;

/// Returns an id shifted to its position in a marker's header, as the functions of this module
/// expect.
#[inline(always)]
pub(crate) const fn shifted(id: u16) -> u32 {
    (id as u32) << ID_SHIFT
}

#[inline(never)]
pub(crate) fn open_zone(id: u32) -> bool {
    with(|state, port| state.open_zone(port, id_of(id)))
}

#[inline(never)]
pub(crate) fn close_zone(id: u32, is_recorded: bool) {
    if is_recorded {
        with(|state, port| state.close_zone(port, id_of(id)));
    }
}

#[inline(never)]
pub(crate) fn end_zone(id: u32, begun: u32) {
    with(|state, port| state.end_zone(port, id_of(id), begun));
}

#[inline(never)]
pub(crate) fn record_data(id: u32, data: u64) {
    with(|state, port| state.record_data(port, id_of(id), data));
}

#[inline(never)]
pub(crate) fn record_event(event: u16) {
    with(|state, port| state.record_event(port, event));
}

#[expect(clippy::cast_possible_truncation, reason = "made by `shifted`")]
const fn id_of(shifted: u32) -> ZoneId {
    ZoneId((shifted >> ID_SHIFT) as u16)
}

const ID_SHIFT: u32 = 12;
