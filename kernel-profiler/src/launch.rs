//! The life of a launch: the firmware's zones, the program id, the start and the end.
//!
//! ```text
//! aggregating RISC                          the others
//! ----------------                          ----------
//! main zone opens: init
//!   lanes that the host has read: rewound
//!   late publications: pushed
//! validate, program id
//! starts the others ----------------------> main zone opens: init
//! kernel zone                               kernel zone
//!                                           main zone closes: finish publishes its end
//! main zone closes: finish publishes,
//!   pushes all that is published
//! ```
//!
//! Trace-only mode replaces the launch by the replay: [`crate::trace`].

use crate::{
    flush::{self, GUARANTEED_WORDS},
    lane::{self, CONTROL, Lanes},
    loss,
    port::{ClockWords, Port},
    state::{NOTHING_LOST, State, Sum, bytes},
};
use wire::{
    Cycles, Header, PacketKind, ZoneId,
    control::ext,
    loss::LossKind,
    marker,
    run::{ID_LH, ID_LL},
    vector,
};

/// One of the two zones with fixed places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The firmware's zone: begins with [`State::init`], ends with [`State::finish`].
    Main,
    /// The kernel's zone.
    MainChild,
}

impl Scope {
    /// Word of the zone's start.
    pub(crate) const fn start(self) -> usize {
        match self {
            Self::Main => vector::MAIN_START,
            Self::MainChild => vector::CHILD_START,
        }
    }

    /// Word of the zone's end.
    pub(crate) const fn end(self) -> usize {
        match self {
            Self::Main => vector::MAIN_END,
            Self::MainChild => vector::CHILD_END,
        }
    }
}

impl State {
    /// Opens a fixed zone; the main one begins the launch.
    pub fn open_scope<P: Port + ?Sized>(&mut self, port: &mut P, scope: Scope, id: ZoneId) {
        if port.is_trace_only() {
            return crate::trace::open(port, scope, id);
        }
        if scope == Scope::Main {
            self.init(port);
        }
        let risc_index = port.risc_index();
        mark(port, (risc_index, scope.start()), Header::prefix(PacketKind::ZoneStart, id));
    }

    /// Closes a fixed zone; the main one ends the launch.
    pub fn close_scope<P: Port + ?Sized>(&mut self, port: &mut P, scope: Scope, id: ZoneId) {
        if port.is_trace_only() {
            return crate::trace::close(port, scope, id);
        }
        let risc_index = port.risc_index();
        mark(port, (risc_index, scope.end()), Header::prefix(PacketKind::ZoneEnd, id));
        if scope == Scope::Main {
            self.finish(port);
        }
    }

    /// Begins a launch with empty buffers.
    pub fn init<P: Port + ?Sized>(&mut self, port: &mut P) {
        let risc_index = port.risc_index();
        if lane::is_aggregator(port) {
            self.prepare_lanes(port);
            port.set_control(CONTROL.profiler_done, 0);
        }
        if port.control(CONTROL.device_end + risc_index) != 0 {
            self.give_up_pending(port);
        }
        let host_end = port.control(CONTROL.host_end + risc_index);
        let is_full = Lanes::read(port).words_free(host_end) < GUARANTEED_WORDS
            || flush::is_lane_closed(port, risc_index);
        self.empty(port);
        if is_full || port.is_trace_only() {
            self.stop_recording();
        }
        self.sums = Self::new().sums;
        self.has_quick_pushed = false;
        clear_scopes(port, risc_index);
    }

    /// Ends a launch: every RISC publishes, the aggregating one pushes.
    pub fn finish<P: Port + ?Sized>(&mut self, port: &mut P) {
        let is_aggregator = lane::is_aggregator(port);
        if is_aggregator && port.control(CONTROL.profiler_done) != 0 {
            let discarded = port.control(ext::DISCARDED_LAUNCHES);
            port.set_control(ext::DISCARDED_LAUNCHES, discarded.saturating_add(1));
            self.lost = NOTHING_LOST;
            return self.stop_recording();
        }
        self.append_sums(port);
        let risc_index = port.risc_index();
        let words = self.pad(port);
        if !self.lost.is_zero() {
            loss::leave(port, risc_index, self.lost);
            self.lost = NOTHING_LOST;
        }
        self.stop_recording();
        port.set_control(CONTROL.device_end + risc_index, words);
        if is_aggregator && self.push_published(port) {
            count_run(port);
            port.set_control(CONTROL.profiler_done, 1);
        }
    }

    /// Says whether a kernel runs on this core in this launch; if not, the launch leaves
    /// nothing behind but a count.
    pub fn validate<P: Port + ?Sized>(port: &mut P, is_valid: bool) {
        port.set_control(CONTROL.profiler_done, u32::from(!is_valid));
    }

    /// Sets the program id of this launch for all RISCs of the core.
    ///
    /// A vector that waits for its push belongs to an earlier launch and keeps its id.
    pub fn set_counter<P: Port + ?Sized>(port: &mut P, program_id: u32) {
        if port.is_trace_only() {
            return;
        }
        for risc_index in 0..lane::risc_count(port) {
            if port.control(CONTROL.device_end + risc_index) == 0 {
                port.set_vector(risc_index, ID_LL, program_id);
            }
        }
    }

    /// The firmware's boot.
    pub fn init_profiler<P: Port + ?Sized>(&mut self, port: &mut P) {
        self.trace_count = 0;
        if port.is_trace_only() {
            self.init(port);
        }
    }

    /// Counts a trace replay; the ID words of the runs that follow carry the count.
    pub fn increment_trace_count<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.is_trace_only() {
            return;
        }
        self.trace_count = self.trace_count.wrapping_add(1);
        let flat_id = port.control(CONTROL.flat_id);
        for risc_index in 0..lane::risc_count(port) {
            if port.control(CONTROL.device_end + risc_index) == 0 {
                let id_word = lane::id_word(risc_index, flat_id, self.trace_count);
                port.set_vector(risc_index, ID_LH, id_word);
            }
        }
    }

    /// Adds the cycles since `started` to an accumulator.
    ///
    /// The first name in a launch owns the accumulator; the total of another name is lost
    /// and counted, once.
    pub fn add_to_sum(&mut self, accumulator: usize, id: ZoneId, cycles: u64) {
        let header = Header::prefix(PacketKind::ZoneTotal, id);
        let Some(sum) = self.sums.get_mut(accumulator) else { return };
        if sum.header == 0 {
            sum.header = header;
        }
        if sum.header == header {
            let cycles = u32::try_from(cycles).unwrap_or(u32::MAX);
            sum.cycles = sum.cycles.saturating_add(cycles);
        } else if !sum.is_contested {
            sum.is_contested = true;
            self.lose(LossKind::Sum);
        }
    }

    /// Appends the totals of the sum zones; dispatch headroom has no more use by now.
    fn append_sums<P: Port + ?Sized>(&mut self, port: &mut P) {
        const TOTAL: i32 = bytes(marker::MARKER_WORDS);
        if !port.sums_enabled() {
            return;
        }
        for Sum { header, cycles, .. } in self.sums {
            if header == 0 {
                continue;
            }
            if self.take(TOTAL, 0) {
                self.append_pair(port, [header, cycles]);
            } else {
                self.lose(LossKind::Sum);
            }
        }
        self.sums = Self::new().sums;
    }

    /// What the aggregating RISC does to all lanes before a launch.
    pub(crate) fn prepare_lanes<P: Port + ?Sized>(&self, port: &mut P) {
        if port.control(CONTROL.run_counter) == 0 {
            self.start_afresh(port);
        }
        let mut pending = 0;
        for risc_index in 0..lane::risc_count(port) {
            rewind_if_read(port, risc_index);
            pending |= port.control(CONTROL.device_end + risc_index);
        }
        let discarded = port.control(ext::DISCARDED_LAUNCHES);
        if discarded != 0 && port.control(ext::SEEN_DISCARDED) == discarded {
            port.set_control(ext::DISCARDED_LAUNCHES, 0);
            port.set_control(ext::SEEN_DISCARDED, 0);
        }
        if pending != 0 && self.push_published(port) {
            count_run(port);
        }
    }

    /// Introduces the core to a host that has zeroed its control vector.
    fn start_afresh<P: Port + ?Sized>(&self, port: &mut P) {
        port.set_control(ext::SIGNATURE, ext::SIGNATURE_VALUE);
        if let Some(place) = port.noc_coordinates() {
            port.set_control(CONTROL.noc_x, place.x);
            port.set_control(CONTROL.noc_y, place.y);
        }
        let flat_id = port.control(CONTROL.flat_id);
        for risc_index in 0..lane::risc_count(port) {
            if port.control(CONTROL.device_end + risc_index) == 0 {
                let id_word = lane::id_word(risc_index, flat_id, self.trace_count);
                lane::stamp_id(port, risc_index, id_word);
                port.set_vector(risc_index, ID_LL, 0);
            }
        }
    }

    /// Counts a run that was published but could not be pushed before its vector is needed
    /// again, and takes over the ids that passed it by.
    #[cold]
    fn give_up_pending<P: Port + ?Sized>(&mut self, port: &mut P) {
        let risc_index = port.risc_index();
        let words = port.control(CONTROL.device_end + risc_index) as usize;
        let words = words.min(vector::VECTOR_WORDS);
        self.lost = self
            .lost
            .saturating_add(loss::left_behind(port, risc_index))
            .saturating_add(loss::optional_records(port, risc_index, words));
        if !self.has_quick_pushed {
            self.lost = self.lost.saturating_add(loss::guaranteed_zones(port, risc_index));
        }
        port.set_control(CONTROL.device_end + risc_index, 0);
        let program_id = port.vector(AGGREGATOR, ID_LL);
        let trace_field = port.vector(AGGREGATOR, ID_LH) & lane::PACKING.trace_field();
        let flat_id = port.control(CONTROL.flat_id);
        lane::stamp_id(port, risc_index, lane::id_word(risc_index, flat_id, 0) | trace_field);
        port.set_vector(risc_index, ID_LL, program_id);
    }
}

/// Cycles between two readings of the clock.
#[must_use]
pub fn cycles_since(started: ClockWords, now: ClockWords) -> u64 {
    let [started, now] = [started, now].map(|words| Cycles::from_words(words.high, words.low));
    now.wrapping_since(started, u64::BITS)
}

/// Writes a marker into a fixed slot.
#[inline(always)]
pub(crate) fn mark<P: Port + ?Sized>(port: &mut P, at: (usize, usize), prefix: u32) {
    let now = port.now();
    let (risc_index, word) = at;
    port.set_vector(risc_index, word, prefix | (now.high & marker::TIME_HIGH_MASK));
    port.set_vector(risc_index, word + 1, now.low);
}

/// Empties the fixed slots of a RISC, both words of each, as upstream does.
pub(crate) fn clear_scopes<P: Port + ?Sized>(port: &mut P, risc_index: usize) {
    for word in vector::MAIN_START..vector::FIRST_OPTIONAL {
        port.set_vector(risc_index, word, marker::EMPTY_HEADER);
    }
}

/// Gives a lane back to the device once the host has read all of it.
fn rewind_if_read<P: Port + ?Sized>(port: &mut P, risc_index: usize) {
    let host_end = port.control(CONTROL.host_end + risc_index);
    let seen_end = port.control(ext::SEEN_END + risc_index);
    if seen_end != host_end {
        return;
    }
    let lost_launches = port.control(ext::LOST_LAUNCHES + risc_index);
    let seen_lost = port.control(ext::SEEN_LOST + risc_index);
    if seen_lost != lost_launches || host_end | lost_launches == 0 {
        return;
    }
    for word in
        [CONTROL.host_end, ext::LOST_LAUNCHES, ext::LOSS_LOG_WORDS, ext::SEEN_END, ext::SEEN_LOST]
    {
        port.set_control(word + risc_index, 0);
    }
    let dropped = port.control(CONTROL.dropped_zones);
    port.set_control(CONTROL.dropped_zones, dropped & !(1 << risc_index));
}

pub(crate) fn count_run<P: Port + ?Sized>(port: &mut P) {
    let runs = port.control(CONTROL.run_counter);
    port.set_control(CONTROL.run_counter, runs.wrapping_add(1).max(1));
}

const AGGREGATOR: usize = 0;
