//! Functions to which the macros expand. Each acts on the RISC that runs it.
//!
//! `disabled.rs` has functions with the same names that do nothing.

use crate::{
    call,
    guard::{MainGuard, SumGuard, WaitGuard, ZoneGuard},
    launch::LaunchEnables,
    port::Port,
    processor::{self, with},
    state::State,
    wait::WaitRecords,
};
use wire::{
    noc_event::{LocalNocEvent, NocEventKind},
    scoped_lock::LockEvent,
};

/// Opens a zone.
#[inline(always)]
pub fn open_zone<const ID: u16>() -> ZoneGuard<ID> {
    ZoneGuard::open()
}

/// Opens a zone if a condition holds.
#[inline(always)]
pub fn open_zone_if<const ID: u16>(is_active: impl FnOnce() -> bool) -> ZoneGuard<ID> {
    if is_active() { ZoneGuard::open() } else { ZoneGuard::unopened() }
}

/// A zone for which a macro asks for fixed slots. The zone's name determines whether this is the
/// zone of the launch or an ordinary zone in a kernel.
pub struct FixedZone<const ID: u16, const IS_MAIN: bool, const IS_OF_LAUNCH: bool>;

impl<const ID: u16, const IS_MAIN: bool> FixedZone<ID, IS_MAIN, true> {
    /// Opens a zone whose markers have fixed slots: a zone of the launch itself.
    #[inline(always)]
    pub fn open() -> MainGuard<ID, IS_MAIN> {
        MainGuard::open()
    }
}

impl<const ID: u16, const IS_MAIN: bool> FixedZone<ID, IS_MAIN, false> {
    /// Opens an ordinary zone, because only the launch's own zones have fixed slots.
    #[inline(always)]
    pub fn open() -> ZoneGuard<ID> {
        ZoneGuard::open()
    }
}

/// Opens a sum zone.
#[inline(always)]
pub fn open_sum<const ID: u16, const ACCUMULATOR: usize>() -> SumGuard<ID, ACCUMULATOR> {
    SumGuard::open()
}

/// Records 64 bits of data.
#[inline(always)]
pub fn record_data<const ID: u16>(data: impl FnOnce() -> u64) {
    let data = data();
    if cfg!(feature = "out-of-line") {
        return call::record_data(call::shifted(ID), data);
    }
    with(|state, port| state.record_data(port, wire::ZoneId(ID), data));
}

/// Records 128 bits of data.
#[inline(always)]
pub fn record_data_16b<const ID: u16>(data: impl FnOnce() -> [u64; 2]) {
    let data = data();
    with(|state, port| state.record_data_16b(port, wire::ZoneId(ID), data));
}

/// Records an event.
#[inline(always)]
pub fn record_event(event: impl FnOnce() -> u16) {
    let event = event();
    if cfg!(feature = "out-of-line") {
        return call::record_event(event);
    }
    with(|state, port| state.record_event(port, event));
}

/// Records the 64 bits of a NoC event, if the build records events of this kind.
#[inline(always)]
pub fn record_noc_event(kind: NocEventKind, event: impl FnOnce() -> u64) {
    if is_noc_event_recorded(kind) {
        let event = event();
        with(|state, port| state.record_noc_event(port, event));
    }
}

/// Records a NoC event within the chip, if the build records events of this kind.
///
/// The record includes the local and the remote address if `HAS_ADDRESSES` is true or if the build
/// always records addresses.
#[inline(always)]
pub fn record_local_noc_event<const HAS_ADDRESSES: bool>(
    kind: NocEventKind,
    event: impl FnOnce() -> (LocalNocEvent, [u32; 2]),
) {
    if is_noc_event_recorded(kind) {
        let (event, addresses) = event();
        if HAS_ADDRESSES || cfg!(feature = "noc-addresses") {
            with(|state, port| state.record_noc_event_with_addresses(port, event, addresses));
        } else {
            let event = event.pack();
            with(|state, port| state.record_noc_event(port, event));
        }
    }
}

/// Returns the low word of a NoC address, which is the address within a tile.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the coordinates stand above")]
pub const fn low_word(address: u64) -> u32 {
    address as u32
}

/// Records a lock event, if the build records lock events.
#[inline(always)]
pub fn record_lock_event(event: impl FnOnce() -> LockEvent) {
    if cfg!(feature = "scoped-locks") {
        let event = event();
        with(|state, port| state.record_lock_event(port, event));
    }
}

/// Starts hardware counters, if the build records them.
#[inline(always)]
pub fn start_perf_counters(groups: impl FnOnce() -> u32) {
    if cfg!(feature = "perf-counters") {
        let groups = groups();
        with(|_, port| State::start_perf_counters(port, groups));
    }
}

/// Stops hardware counters, if the build records them.
#[inline(always)]
pub fn stop_perf_counters(groups: impl FnOnce() -> u32) {
    if cfg!(feature = "perf-counters") {
        let groups = groups();
        with(|_, port| State::stop_perf_counters(port, groups));
    }
}

/// Reads and records hardware counters, if the build records them.
#[inline(always)]
pub fn read_perf_counters(groups: impl FnOnce() -> u32) {
    if cfg!(feature = "perf-counters") {
        let groups = groups();
        with(|state, port| state.read_perf_counters(port, groups));
    }
}

/// Begins a wait whose first poll was not successful.
#[inline(always)]
pub fn begin_wait<const KIND: u8, const ID: u16, const TOTAL_ID: u16>(
    key: impl FnOnce() -> u32,
) -> WaitGuard<KIND, ID, TOTAL_ID> {
    WaitGuard::begin(key())
}

/// Records a signal, if the port makes records of signals.
#[inline(always)]
pub fn record_signal<const ID: u16>(data: impl FnOnce() -> u64) {
    with(|state, port| {
        if Port::wait_records(port) == WaitRecords::Events {
            state.record_signal(port, wire::ZoneId(ID), data());
        }
    });
}

/// Returns true if the build records NoC events of a kind.
#[inline(always)]
const fn is_noc_event_recorded(kind: NocEventKind) -> bool {
    cfg!(feature = "noc-events-all") || (cfg!(feature = "noc-events") && !kind.is_debug_only())
}

/// Pushes if a linked transaction is about to begin on a command buffer and NoC events are
/// recorded.
#[inline(always)]
pub fn quick_push_if_linked_for_noc_events(linked: impl FnOnce() -> (u32, bool)) {
    if cfg!(feature = "noc-events") {
        let (command_buffer, is_to_be_linked) = linked();
        quick_push_if_linked(command_buffer, is_to_be_linked);
    }
}

/// Sets which RISCs run a kernel in this launch; see [`State::validate`].
#[inline(always)]
pub fn validate<E: LaunchEnables>(enables: impl FnOnce() -> E) {
    let enables = enables();
    with(|state, port| {
        if !Port::is_streaming(port) {
            enables.validate(port);
        } else if !enables.are_any() {
            state.leave_streamed_launch(port);
        }
    });
}

/// Sets the program id of this launch; see [`State::set_counter`].
#[inline(always)]
pub fn set_counter(program_id: impl FnOnce() -> u32) {
    let program_id = program_id();
    with(|state, port| {
        if Port::is_streaming(port) {
            state.begin_streamed_launch(port, program_id);
        } else {
            State::set_counter(port, program_id);
        }
    });
}

/// Initialises the profiler when the firmware boots; see [`State::init_profiler`].
#[inline(always)]
pub fn init_profiler() {
    with(|state, port| state.init_profiler(port));
}

/// Counts a trace replay; see [`State::increment_trace_count`].
#[inline(always)]
pub fn increment_trace_count() {
    with(|state, port| state.increment_trace_count(port));
}

/// Begins a trace replay in trace-only mode; see [`State::init_trace_only`].
#[inline(never)]
pub fn init_trace_only() {
    with(|state, port| state.init_trace_only(port));
}

/// Begins a launch on this RISC, as the opening of the main zone does.
#[inline(always)]
pub fn init() {
    processor::begin();
}

/// Ends a launch on this RISC, as the closing of the main zone does.
#[inline(always)]
pub fn finish() {
    processor::finish();
}

/// Pushes what this RISC has recorded so far; see [`State::quick_push`].
#[inline(never)]
pub fn quick_push() {
    with(|state, port| state.quick_push(port));
}

/// Pushes if a linked transaction is about to begin on `command_buffer`.
#[inline(never)]
pub fn quick_push_if_linked(command_buffer: u32, is_to_be_linked: bool) {
    with(|state, port| state.quick_push_if_linked(port, command_buffer, is_to_be_linked));
}

/// Pushes if a record of `words` words would not fit.
#[inline(always)]
pub fn flush_to_dram_if_full(words: u32) {
    with(|state, port| state.flush_to_dram_if_full(port, words));
}
