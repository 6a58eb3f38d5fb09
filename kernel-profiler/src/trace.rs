//! Trace-only mode: one envelope per trace replay instead of runs per launch.
//!
//! All RISCs write into the vector of the aggregating one. A status word says how far the
//! envelope has come:
//!
//! ```text
//! replay begins --> FW_START --main opens--> KERNEL_START --a child opens--> ALL_ENDS
//! ```
//!
//! From then on every close writes the end anew, so the last one stays. Only the
//! aggregating RISC opens the main zone, so the status never goes back; that two RISCs
//! see `KERNEL_START` at once does no harm, since both then write the same status and
//! the kernel's start a few cycles apart.
//!
//! Zones, data and events are not recorded in this mode, and not counted as lost.

use crate::{
    lane::{self, CONTROL},
    launch::{self, Scope},
    port::Port,
    state::{State, word_count},
};
use wire::{
    Header, PacketKind, ZoneId,
    control::ext,
    marker,
    run::{ID_LH, ID_LL},
    vector,
};

/// The replay has begun, the main zone has not.
///
/// # Compatibility
/// This and the two below: trace flags of `kernel_profiler.hpp`.
pub const FW_START: u32 = 1 << 31;
/// The main zone has begun, no kernel has.
pub const KERNEL_START: u32 = 1 << 30;
/// A kernel has begun: every end counts.
pub const ALL_ENDS: u32 = 1 << 29;

impl State {
    /// Begins a replay: pushes the last one's envelope and opens a new one.
    ///
    /// Does nothing unless the port is in trace-only mode.
    pub fn init_trace_only<P: Port + ?Sized>(&mut self, port: &mut P) {
        if !port.is_trace_only() || !lane::is_aggregator(port) {
            return;
        }
        if self.trace_count > 0 {
            count_if_empty(port);
        }
        self.lanes.read(port);
        self.trace_count = self.trace_count.wrapping_add(1);
        self.prepare_lanes(port);
        for risc_index in 0..port.risc_count() {
            port.set_vector(risc_index, ID_LL, self.trace_count);
        }
        launch::clear_run(port, port.vector_place(ENVELOPE));
        port.set_vector(ENVELOPE, 1, 0);
        // The ID words of this mode have no trace count; the program id is the count.
        let flat_id = port.control(CONTROL.flat_id);
        port.set_vector(ENVELOPE, ID_LH, lane::PACKING.pack(0, flat_id, 0));
        port.set_control(STATUS, FW_START);
        port.set_vector(ENVELOPE, 0, marker::EMPTY_HEADER);
    }
}

/// Opens a fixed zone of the envelope, if it is its turn.
pub(crate) fn open<P: Port + ?Sized>(port: &mut P, scope: Scope, id: ZoneId) {
    let (turn, next) = match scope {
        Scope::Main if lane::is_aggregator(port) => (FW_START, KERNEL_START),
        Scope::Main => return,
        Scope::MainChild => (KERNEL_START, ALL_ENDS),
    };
    if port.control(STATUS) == turn {
        let place = port.vector_place(ENVELOPE) + scope.start();
        launch::mark(port, place, Header::prefix(PacketKind::ZoneStart, id));
        port.set_control(STATUS, next);
    }
}

/// Writes an end of the envelope, in place of the one before.
pub(crate) fn close<P: Port + ?Sized>(port: &mut P, scope: Scope, id: ZoneId) {
    let is_aggregator = lane::is_aggregator(port);
    if port.control(STATUS) == ALL_ENDS {
        let place = port.vector_place(ENVELOPE) + scope.end();
        launch::mark(port, place, Header::prefix(PacketKind::ZoneEnd, id));
        if is_aggregator {
            port.set_vector(ENVELOPE, 0, 0);
            port.set_control(CONTROL.device_end + ENVELOPE, word_count(vector::FIRST_OPTIONAL));
        }
    }
    if is_aggregator && scope == Scope::Main {
        port.set_control(CONTROL.profiler_done, 1);
    }
}

/// Counts an envelope that no kernel has completed.
fn count_if_empty<P: Port + ?Sized>(port: &mut P) {
    if port.vector(ENVELOPE, 0) != 0 {
        let discarded = port.control(ext::DISCARDED_LAUNCHES);
        port.set_control(ext::DISCARDED_LAUNCHES, discarded.saturating_add(1));
    }
}

const ENVELOPE: usize = 0;
const STATUS: usize = match CONTROL.trace_replay_status {
    Some(word) => word,
    None => panic!("the generation that is written has trace-only mode"),
};
