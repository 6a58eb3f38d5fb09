//! Trace-only mode: instead of one run per launch, one envelope (start and end times) per trace
//! replay is recorded.
//!
//! An envelope holds the start and the end of the main zone, and the first start and the last end
//! of the kernels' zones. All RISCs write the envelope to the L1 vector of the RISC that pushes for
//! the core. A status word contains the envelope's stage:
//!
//! ```text
//! replay begins --> FW_START --main opens--> KERNEL_START --a child opens--> ALL_ENDS
//! ```
//!
//! In the stage `ALL_ENDS`, every closing zone overwrites the envelope's end, so that the last end
//! remains. Only the RISC that pushes opens the main zone, so the stage never goes back. If two
//! RISCs read `KERNEL_START` at the same time, both write the same stage, and their kernels' start
//! times differ by only a few cycles. This does no harm.
//!
//! In this mode, zones, data and events are neither recorded nor counted as lost.

use crate::{
    lane::{self, CONTROL, DEVICE_END, PACKING},
    launch::{self, Scope},
    port::Port,
    state::{State, offset, word_count},
};
use wire::{
    Header, PacketKind, ZoneId,
    control::ext,
    marker,
    run::{ID_LH, ID_LL},
    vector,
};

/// Stage: the replay has begun, but its main zone has not.
///
/// # Compatibility
/// This constant and the next two are the trace flags of `kernel_profiler.hpp`.
pub const FW_START: u32 = 1 << 31;
/// Stage: the main zone has begun, but no kernel has.
pub const KERNEL_START: u32 = 1 << 30;
/// Stage: a kernel has begun, and every zone that closes overwrites the recorded end of the replay.
pub const ALL_ENDS: u32 = 1 << 29;

impl State {
    /// Begins a replay: pushes the envelope (start and end times) of the previous replay, and opens
    /// a new one.
    ///
    /// Does nothing unless the port is in trace-only mode.
    pub fn init_trace_only<P: Port + ?Sized>(&mut self, port: &mut P) {
        if !port.is_trace_only() || port.risc_index() != 0 {
            return;
        }
        let control = port.control_place(0);
        if self.trace_count() > 0 {
            push_envelope(port);
        }
        let runs = port.load(control + offset(CONTROL.run_counter));
        if runs == port.load(control + offset(ext::SEEN_RUNS)) {
            self.take_lanes_back(port);
        }
        let replays = self.trace_count().wrapping_add(1);
        self.set_trace_count(replays);
        for risc_index in 0..port.risc_count() {
            port.store(port.vector_place(risc_index) + offset(ID_LL), replays);
        }
        let vector = port.vector_place(ENVELOPE);
        launch::empty_slots(port, vector);
        // In this mode, the ID words have no trace count, because the program id contains it.
        let flat_id = port.load(control + offset(CONTROL.flat_id));
        let generation = port.load(control + offset(ext::GENERATION));
        let id = PACKING.pack(0, flat_id, 0) | PACKING.generation_field(generation);
        port.store(vector + 4, 0);
        port.store(vector + offset(ID_LH), id);
        port.store(control + STATUS, FW_START);
        port.store(vector, marker::EMPTY_HEADER);
    }
}

/// Pushes the envelope (start and end times) of the previous replay. If no kernel ran in that
/// replay, pushes nothing and counts an idle launch.
fn push_envelope<P: Port + ?Sized>(port: &mut P) {
    let control = port.control_place(0);
    if port.load(port.vector_place(ENVELOPE)) != 0 {
        lane::add(port, control + offset(ext::IDLE_LAUNCHES), 1);
    }
    let words = port.load(control + DEVICE_END);
    if words != 0 {
        // In this mode, no other RISC publishes anything.
        port.store(control + offset(ext::SCRATCH), 0);
        State::push_published(port, control, words);
    }
}

/// Opens one of the two zones that are recorded per replay, if the status word allows it.
pub(crate) fn open<P: Port + ?Sized>(port: &mut P, scope: Scope, id: ZoneId) {
    let (turn, next) = match scope {
        Scope::Main if port.risc_index() == 0 => (FW_START, KERNEL_START),
        Scope::Main => return,
        Scope::MainChild => (KERNEL_START, ALL_ENDS),
    };
    let status = port.control_place(0) + STATUS;
    if port.load(status) == turn {
        let place = port.vector_place(ENVELOPE) + scope.start();
        launch::mark(port, place, Header::prefix(PacketKind::ZoneStart, id));
        port.store(status, next);
    }
}

/// Closes one of the two zones that are recorded per replay. The new end overwrites the zone's
/// previous end.
pub(crate) fn close<P: Port + ?Sized>(port: &mut P, scope: Scope, id: ZoneId) {
    let is_aggregator = port.risc_index() == 0;
    let control = port.control_place(0);
    if port.load(control + STATUS) == ALL_ENDS {
        let vector = port.vector_place(ENVELOPE);
        launch::mark(port, vector + scope.end(), Header::prefix(PacketKind::ZoneEnd, id));
        if is_aggregator {
            port.store(vector, 0);
            port.store(control + DEVICE_END, word_count(vector::FIRST_OPTIONAL));
        }
    }
    if is_aggregator && scope == Scope::Main {
        port.store(control + offset(CONTROL.profiler_done), 1);
    }
}

const ENVELOPE: usize = 0;
const STATUS: u32 = match CONTROL.trace_replay_status {
    Some(word) => offset(word),
    None => panic!("the generation that is written has trace-only mode"),
};
