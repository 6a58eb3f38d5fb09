//! The phases of a launch: firmware zones, program id, begin and end.
//!
//! ```text
//! RISC that pushes for the core             the others
//! -----------------------------             ----------
//! main zone opens: ring emptied
//!   fixed slots of all vectors emptied
//!   lanes taken back, if the host
//!   has read all of them
//! validate, program id
//! starts the others ----------------------> main zone opens: ring emptied
//! kernel zone                               kernel zone
//!                                           main zone closes: publishes its end
//! main zone closes: publishes,
//!   waits for the others, within a bound,
//!   pushes all that is published
//! ```
//!
//! In trace-only mode, a trace replay takes the role of a launch: [`crate::trace`]. In accumulate
//! mode, one push transfers several launches: [`crate::accumulate`].

use crate::{
    accumulate, flush,
    lane::{self, CONSUMED, CONTROL, DEVICE_END, HOST_END, PACKING},
    port::{ClockWords, Port},
    stall,
    state::{FIRST_OPTIONAL_BYTES, OPTIONAL_BYTES, State, TOTALS_BYTES, offset},
};
use wire::{
    Header, PacketKind, ZoneId,
    control::ext,
    dram::SUM_COUNT,
    marker,
    risc::RISCS_PER_CORE,
    run::{ID_LH, ID_LL},
    vector::{self, VECTOR_BYTES},
};

/// One of the two zones that have fixed slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The firmware's zone, from [`State::begin`] to [`State::finish`].
    Main,
    /// The kernel's zone.
    MainChild,
}

impl Scope {
    /// Returns the offset in a vector of the zone's start marker.
    pub(crate) const fn start(self) -> u32 {
        match self {
            Self::Main => offset(vector::MAIN_START),
            Self::MainChild => offset(vector::CHILD_START),
        }
    }

    /// Returns the offset in a vector of the zone's end marker.
    pub(crate) const fn end(self) -> u32 {
        const _: () = assert!(vector::MAIN_END == vector::MAIN_START + marker::MARKER_WORDS);
        const _: () = assert!(vector::CHILD_END == vector::CHILD_START + marker::MARKER_WORDS);
        self.start() + offset(marker::MARKER_WORDS)
    }
}

impl State {
    /// Begins a launch and empties this RISC's L1 vector. On the RISC that pushes for the core,
    /// also prepares the vectors of the other RISCs.
    #[inline(always)]
    pub fn begin<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.risc_index() == 0 {
            self.begin_core(port);
        } else {
            self.begin_own(port);
        }
    }

    /// Begins a launch on a RISC that does not push for its core.
    #[inline(always)]
    pub(crate) fn begin_own<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.is_streaming() {
            return self.begin_stream(port);
        }
        let run = accumulate::own_run(port);
        self.begin_ring(port, run);
    }

    /// Frees the words after the fixed slots of this RISC's run at the beginning of a launch, and
    /// clears the sums. `vector` is the address of the run.
    #[inline(always)]
    fn begin_ring<P: Port + ?Sized>(&mut self, port: &mut P, vector: u32) {
        self.set_next(vector + FIRST_OPTIONAL_BYTES);
        let totals = if port.sums_enabled() { TOTALS_BYTES } else { 0 };
        let mut room = OPTIONAL_BYTES - totals;
        if port.is_accumulating() {
            room -= vector.wrapping_sub(port.own_vector()).cast_signed();
        }
        if port.is_non_dropping() {
            room -= stall::STALL_BYTES;
            port.store(vector + stall::IN_VAIN, 0);
        }
        self.set_room(room);
        if port.sums_enabled() {
            for accumulator in 0..SUM_COUNT {
                self.set_sum(accumulator, 0);
                self.set_sum_header(accumulator, 0);
            }
        }
    }

    /// Begins a launch on the RISC that pushes for its core.
    ///
    /// If the host has read everything, the core starts again at the beginning of all of its lanes.
    /// If the host does not report what it has read, the lanes fill up until the host zeroes the
    /// control vector.
    #[inline(always)]
    pub(crate) fn begin_core<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.is_streaming() {
            return self.begin_stream(port);
        }
        let control = port.opaque(port.control_place(0));
        let runs = port.load(control + offset(CONTROL.run_counter));
        let seen_runs = port.load(control + offset(ext::SEEN_RUNS));
        port.store(control + offset(CONTROL.profiler_done), 0);
        if port.is_accumulating() {
            // Runs that are still in L1 belong to the generation of lanes in which they were
            // recorded.
            if runs == seen_runs && accumulate::is_empty(port) {
                self.take_lanes_back(port);
            }
            self.begin_runs(port);
            return self.begin_own(port);
        }
        self.begin_ring(port, control + CONTROL_BYTES);
        empty_all_slots(port, control + CONTROL_BYTES);
        if runs == seen_runs {
            self.take_lanes_back(port);
        }
    }

    /// Empties the core's DRAM lanes, and increments their generation.
    ///
    /// The generation is written last. A host that reads meanwhile finds either the old ends of the
    /// lanes, up to which it has already read, or the new ends, which are lower. In both cases it
    /// reads no new words. If the generation were written first, the host would take the words up
    /// to the old ends for words of the new generation.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_lanes_back<P: Port + ?Sized>(&mut self, port: &mut P) {
        let control = port.opaque(port.control_place(0));
        port.store(control + offset(ext::SIGNATURE), ext::SIGNATURE_VALUE);
        port.store(control + offset(CONTROL.dropped_zones), 0);
        port.store(control + offset(ext::FIRST_REFUSED_PROGRAM), 0);
        port.store(control + offset(ext::LAST_REFUSED_PROGRAM), 0);
        if port.is_non_dropping() {
            port.store(control + offset(ext::STALLED_IN_VAIN), 0);
        }
        if let Some(place) = port.noc_coordinates() {
            port.store(control + offset(CONTROL.noc_x), place.x);
            port.store(control + offset(CONTROL.noc_y), place.y);
        }
        for risc_index in 0..port.risc_count() {
            let core = port.control_place(risc_index);
            port.store(core + HOST_END, 0);
            port.store(core + CONSUMED, 0);
        }
        lane::add(port, control + offset(ext::GENERATION), 1);
        self.stamp_ids(port);
    }

    /// Writes the first three ID words of each vector.
    fn stamp_ids<P: Port + ?Sized>(&self, port: &mut P) {
        let id = self.id_word(port);
        for risc_index in 0..port.risc_count() {
            let vector = port.vector_place(risc_index);
            port.store(vector, 0);
            port.store(vector + 4, 0);
            port.store(vector + offset(ID_LH), id + lane::index_word(risc_index));
        }
    }

    /// Returns the third ID word of the vector of RISC 0.
    #[inline(always)]
    pub(crate) fn id_word<P: Port + ?Sized>(&self, port: &mut P) -> u32 {
        let control = port.opaque(port.control_place(0));
        let flat_id = port.load(control + offset(CONTROL.flat_id));
        let generation = port.load(control + offset(ext::GENERATION));
        PACKING.pack(0, flat_id, self.trace_count()) | PACKING.generation_field(generation)
    }

    /// Ends a launch: each RISC publishes its records, and one RISC pushes all of them to DRAM.
    ///
    /// A launch that ran no kernel on this core only increments a counter.
    #[inline(always)]
    pub fn finish<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.risc_index() == 0 { self.finish_core(port) } else { self.finish_own(port) }
    }

    /// Ends a launch on a RISC that does not push for its core.
    ///
    /// Publishes nothing if the RISC that pushes no longer waits: that RISC has then counted these
    /// records as a late run.
    #[inline(always)]
    pub(crate) fn finish_own<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.is_streaming() {
            return self.finish_stream(port);
        }
        port.forget_cached();
        if port.control(CONTROL.profiler_done) == 0 {
            let _ = self.publish(port);
        }
    }

    /// Ends a launch on the RISC that pushes for its core.
    #[inline(always)]
    pub(crate) fn finish_core<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.is_streaming() {
            return self.finish_stream(port);
        }
        let control = port.opaque(port.control_place(0));
        if port.load(control + offset(CONTROL.profiler_done)) != 0 {
            if port.is_accumulating() {
                accumulate::forget_launch(port);
            }
            return lane::add(port, control + offset(ext::IDLE_LAUNCHES), 1);
        }
        let words = self.publish(port);
        if port.is_accumulating() {
            return accumulate::end_launch(self, port);
        }
        Self::push_published(port, control, words);
    }

    /// Publishes the records in this RISC's vector, including totals of sums; returns their length
    /// in words.
    #[inline(always)]
    fn publish<P: Port + ?Sized>(&mut self, port: &mut P) -> u32 {
        let mut next = self.next();
        if port.sums_enabled() {
            for accumulator in 0..SUM_COUNT {
                let header = self.sum_header(accumulator);
                if header != 0 {
                    port.store(next, header);
                    port.store(next + 4, self.sum(accumulator));
                    next += offset(marker::MARKER_WORDS);
                }
            }
        }
        let words = next.wrapping_sub(port.own_vector()) >> 2;
        flush::pad(port, next, words);
        if port.is_accumulating() {
            accumulate::publish(port, flush::padded(words));
            return words;
        }
        port.store(port.own_place() + DEVICE_END, words);
        words
    }

    /// Sets which RISCs run a kernel on this core in this launch, with one bit per RISC. If no bit
    /// is set, the launch is counted, but its records are not pushed.
    #[inline(always)]
    pub fn validate<P: Port + ?Sized>(port: &mut P, enables: u32) {
        port.set_control(ext::SCRATCH, enables);
        port.set_control(CONTROL.profiler_done, u32::from(enables == 0));
    }

    /// Sets the program id of this launch for all RISCs of the core.
    #[inline(always)]
    pub fn set_counter<P: Port + ?Sized>(port: &mut P, program_id: u32) {
        if port.is_trace_only() {
            return;
        }
        for risc_index in 0..port.risc_count() {
            let run = accumulate::run_of(port, risc_index);
            port.store(run + offset(ID_LL), program_id);
        }
    }

    /// Initialises the profiler when the firmware boots.
    #[inline(always)]
    pub fn init_profiler<P: Port + ?Sized>(&mut self, port: &mut P) {
        self.set_trace_count(0);
        if port.is_trace_only() {
            self.begin(port);
        }
    }

    /// Counts a trace replay. The ID words of the following launches contain the count.
    #[inline(always)]
    pub fn increment_trace_count<P: Port + ?Sized>(&mut self, port: &mut P) {
        if !port.is_trace_only() {
            self.set_trace_count(self.trace_count().wrapping_add(1));
            // In these modes, each launch writes the ID words of its own runs, and earlier runs
            // must keep their count.
            if !port.is_accumulating() && !port.is_streaming() {
                self.stamp_ids(port);
            }
        }
    }

    /// Adds the cycles since `started`, which is a low word of the clock, to an accumulator.
    ///
    /// The total gets the name of the last zone that used the accumulator.
    #[inline(always)]
    pub fn add_to_sum<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        accumulator: usize,
        id: ZoneId,
        started: u32,
    ) {
        let sum = self.sum(accumulator);
        let now = port.now_low();
        // This subtraction is made while the clock's load is in flight.
        let sum_less_start = port.opaque(sum.wrapping_sub(started));
        self.set_sum(accumulator, sum_less_start.wrapping_add(now));
        if port.is_streaming() {
            return self.name_streamed_sum(accumulator, id);
        }
        self.set_sum_header(accumulator, Header::prefix(PacketKind::ZoneTotal, id));
    }
}

/// Argument of [`device_validate_profiler!`](crate::device_validate_profiler): the enable bits of a
/// launch, or a `bool` that says whether this RISC runs a kernel.
pub trait LaunchEnables: Copy {
    /// Returns true if at least one RISC is enabled.
    fn are_any(self) -> bool;

    /// Writes the enable bits to the control vector.
    fn validate<P: Port + ?Sized>(self, port: &mut P);
}

impl LaunchEnables for u32 {
    #[inline(always)]
    fn are_any(self) -> bool {
        self != 0
    }

    #[inline(always)]
    fn validate<P: Port + ?Sized>(self, port: &mut P) {
        State::validate(port, self);
    }
}

impl LaunchEnables for bool {
    #[inline(always)]
    fn are_any(self) -> bool {
        self
    }

    /// Adds this RISC to the launch's enable bits if `self` is true. If `self` is false, marks the
    /// whole launch as one that ran no kernel.
    #[inline(always)]
    fn validate<P: Port + ?Sized>(self, port: &mut P) {
        if self {
            let enables = port.load(port.control_place(0) + offset(ext::SCRATCH));
            port.set_control(ext::SCRATCH, enables | 1 << port.risc_index());
        }
        port.set_control(CONTROL.profiler_done, u32::from(!self));
    }
}

/// Opens a zone that has fixed slots.
#[inline(always)]
pub(crate) fn open_scope<P: Port + ?Sized>(port: &mut P, scope: Scope, id: ZoneId) {
    if port.is_trace_only() {
        return crate::trace::open(port, scope, id);
    }
    let place = accumulate::own_run(port) + scope.start();
    mark(port, place, Header::prefix(PacketKind::ZoneStart, id));
}

/// Closes a zone that has fixed slots.
#[inline(always)]
pub(crate) fn close_scope<P: Port + ?Sized>(port: &mut P, scope: Scope, id: ZoneId) {
    if port.is_trace_only() {
        return crate::trace::close(port, scope, id);
    }
    let place = accumulate::own_run(port) + scope.end();
    mark(port, place, Header::prefix(PacketKind::ZoneEnd, id));
}

/// Writes a marker with the current time to the address `place`.
#[inline(always)]
pub(crate) fn mark<P: Port + ?Sized>(port: &mut P, place: u32, prefix: u32) {
    let ClockWords { high, low } = port.now();
    port.store(place, prefix | (high & marker::TIME_HIGH_MASK));
    port.store(place + 4, low);
}

/// Empties the fixed slots of all the core's vectors, which begin at the address `vector`.
#[inline(always)]
fn empty_all_slots<P: Port + ?Sized>(port: &mut P, vector: u32) {
    const _: () = assert!(RISCS_PER_CORE == 5 && 2 * VECTOR_BYTES == 4096);
    // A store reaches 2 KiB to either side of its base address, so that one address register serves
    // two vectors.
    let first = port.opaque(vector + REACH);
    empty_slots(port, first - REACH);
    if port.opaque(lane::index_word(port.risc_count()) - 1) == 0 {
        return;
    }
    let step = port.opaque(TWO_VECTORS);
    empty_slots(port, first - REACH + VECTOR);
    let second = port.opaque(first + step);
    empty_slots(port, second - REACH);
    empty_slots(port, second - REACH + VECTOR);
    let third = port.opaque(second + step);
    empty_slots(port, third - REACH);
}

/// Empties the fixed slots of one vector.
#[inline(always)]
pub(crate) fn empty_slots<P: Port + ?Sized>(port: &mut P, vector: u32) {
    empty_slot(port, vector + Scope::Main.start());
    empty_slot(port, vector + Scope::Main.end());
    empty_slot(port, vector + Scope::MainChild.start());
    empty_slot(port, vector + Scope::MainChild.end());
}

#[inline(always)]
fn empty_slot<P: Port + ?Sized>(port: &mut P, place: u32) {
    port.store(place, marker::EMPTY_HEADER);
    if port.empties_both_words() {
        port.store(place + 4, marker::EMPTY_HEADER);
    }
}

const CONTROL_BYTES: u32 = offset(CONTROL.word_count);
#[expect(clippy::cast_possible_truncation, reason = "2 KiB")]
const VECTOR: u32 = VECTOR_BYTES as u32;
const TWO_VECTORS: u32 = 2 * VECTOR;
/// Distance in bytes from the first of two adjacent vectors to a base address from which stores
/// reach the fixed slots of both vectors.
const REACH: u32 = VECTOR;
