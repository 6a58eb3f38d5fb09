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
    flush::GUARANTEED_WORDS,
    lane::{
        self, CONTROL, DEVICE_END, HOST_END, LOSS_LOG_WORDS, LOST_LAUNCHES, SEEN_END, SEEN_LOST,
    },
    port::{ClockWords, Port},
    state::{State, Sum, UNUSED_SUMS, bytes, offset},
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
    /// Place of the zone's start in a vector.
    pub(crate) const fn start(self) -> u32 {
        match self {
            Self::Main => offset(vector::MAIN_START),
            Self::MainChild => offset(vector::CHILD_START),
        }
    }

    /// Place of the zone's end in a vector.
    pub(crate) const fn end(self) -> u32 {
        const _: () = assert!(vector::MAIN_END == vector::MAIN_START + marker::MARKER_WORDS);
        const _: () = assert!(vector::CHILD_END == vector::CHILD_START + marker::MARKER_WORDS);
        self.start() + offset(marker::MARKER_WORDS)
    }
}

impl State {
    /// Opens a fixed zone; the main one begins the launch.
    ///
    /// Where the launch is not recorded, the zone is counted as lost.
    #[inline(always)]
    pub fn open_scope<P: Port + ?Sized>(&mut self, port: &mut P, scope: Scope, id: ZoneId) {
        if port.is_trace_only() {
            return crate::trace::open(port, scope, id);
        }
        if scope == Scope::Main {
            self.init(port);
        }
        self.mark(port, scope.start(), Header::prefix(PacketKind::ZoneStart, id));
    }

    /// Closes a fixed zone; the main one ends the launch.
    #[inline(always)]
    pub fn close_scope<P: Port + ?Sized>(&mut self, port: &mut P, scope: Scope, id: ZoneId) {
        if port.is_trace_only() {
            return crate::trace::close(port, scope, id);
        }
        self.mark(port, scope.end(), Header::prefix(PacketKind::ZoneEnd, id));
        if scope == Scope::Main {
            self.finish(port);
        }
    }

    /// Writes a marker into a fixed slot of this RISC's vector; where the launch is not
    /// recorded, counts the zone that it begins, if any, as lost.
    #[inline(never)]
    pub(crate) fn mark<P: Port + ?Sized>(&mut self, port: &mut P, slot: u32, prefix: u32) {
        const IS_END: u32 = Header::prefix(PacketKind::ZoneEnd, ZoneId(0)) ^ marker::EMPTY_HEADER;
        if self.is_recording() {
            mark(port, self.vector + slot, prefix);
        } else if prefix & IS_END == 0 {
            // At most two a launch: nothing that has to be kept from overflowing.
            let lost = &mut self.lost[LossKind::Zone as usize];
            *lost = lost.wrapping_add(1);
        }
    }

    /// Begins a launch with empty buffers.
    ///
    /// If its lane is full, the fixed zones alone are recorded, to be counted. Nothing is if its
    /// vector still holds a run that could not be pushed; what is lost then counts with the RISC's
    /// next run.
    #[inline(always)]
    pub fn init<P: Port + ?Sized>(&mut self, port: &mut P) {
        // Two functions, since neither has to save registers.
        self.read_lanes(port);
        self.begin_run(port);
    }

    /// Takes over what the host says about this core; the aggregating RISC prepares all lanes.
    #[inline(never)]
    fn read_lanes<P: Port + ?Sized>(&mut self, port: &mut P) {
        self.lanes.read(port);
        if lane::is_aggregator(port) {
            self.prepare_lanes(port);
        }
    }

    /// Empties the vector and stamps it with the launch's ids.
    #[inline(never)]
    fn begin_run<P: Port + ?Sized>(&mut self, port: &mut P) {
        let risc_index = port.risc_index();
        if risc_index == 0 {
            // Only now: runs that have waited for their push are gone.
            let flat_id = port.control(CONTROL.flat_id);
            let id_word = lane::id_word(flat_id, self.trace_count);
            port.set_control(ext::LAUNCH_ID_LH, id_word);
            port.set_control(CONTROL.profiler_done, 0);
        }
        let (core, vector) = (port.control_place(risc_index), port.vector_place(risc_index));
        self.empty(port, vector);
        if port.sums_enabled() {
            self.sums = UNUSED_SUMS;
        }
        if port.load(core + DEVICE_END) != 0 || port.is_trace_only() {
            return self.close_room();
        }
        self.vector = vector;
        clear_run(port, vector);
        let id_word = port.control(ext::LAUNCH_ID_LH);
        port.store(vector + offset(ID_LH), id_word.wrapping_add(lane::index_word(risc_index)));
        let program_id = port.control(ext::LAUNCH_ID_LL);
        port.store(vector + offset(ID_LL), program_id);
        let guaranteed_end = port.load(core + HOST_END).wrapping_add(GUARANTEED_WORDS);
        if port.load(core + LOST_LAUNCHES) != 0 || guaranteed_end > self.lanes.words {
            self.close_room();
        }
    }

    /// Ends a launch: every RISC publishes, the aggregating one pushes.
    ///
    /// A launch that ran no kernel here is counted, and what it lost is forgotten.
    #[inline(never)]
    pub fn finish<P: Port + ?Sized>(&mut self, port: &mut P) {
        let risc_index = port.risc_index();
        let done = port.control(CONTROL.profiler_done);
        // 0 on the RISC that has to push; asked once, since what lies between two questions may
        // otherwise be compiled twice.
        let others = lane::index_word(risc_index) | done;
        if risc_index == 0 && done != 0 {
            let discarded = port.control(ext::DISCARDED_LAUNCHES);
            port.set_control(ext::DISCARDED_LAUNCHES, discarded.wrapping_add(1));
            self.forget_losses(port);
        } else if self.is_recording() {
            self.append_sums(port);
            self.publish(port, port.control_place(risc_index));
            self.forget_losses(port);
        }
        self.close_room();
        self.vector = 0;
        if others == 0 {
            self.push_published(port);
        }
    }

    /// Says that this RISC's vector is ready to be pushed. `core` is the place of the RISC's first
    /// control word.
    #[inline(always)]
    fn publish<P: Port + ?Sized>(&mut self, port: &mut P, core: u32) {
        let vector = self.vector;
        self.leave_losses(port, core, vector);
        let words = self.pad(port, vector);
        port.store(core + DEVICE_END, words);
    }

    #[inline(always)]
    fn forget_losses<P: Port + ?Sized>(&mut self, port: &P) {
        let kinds = if port.sums_enabled() { self.lost.len() } else { LossKind::Sum as usize };
        for count in &mut self.lost[..kinds] {
            *count = 0;
        }
    }

    /// Says whether a kernel runs on this core in this launch; if not, the launch leaves
    /// nothing behind but a count.
    pub fn validate<P: Port + ?Sized>(port: &mut P, is_valid: bool) {
        port.set_control(CONTROL.profiler_done, u32::from(!is_valid));
    }

    /// Sets the program id of this launch, which the other RISCs of the core take over when their
    /// main zones open.
    ///
    /// A vector that waits for its push belongs to an earlier launch and keeps its id.
    #[inline(always)]
    pub fn set_counter<P: Port + ?Sized>(&self, port: &mut P, program_id: u32) {
        if port.is_trace_only() {
            return;
        }
        port.set_control(ext::LAUNCH_ID_LL, program_id);
        if self.is_recording() {
            port.store(self.vector + offset(ID_LL), program_id);
        }
    }

    /// The firmware's boot.
    pub fn init_profiler<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.is_trace_only() {
            self.init(port);
        }
    }

    /// Counts a trace replay; the ID words of the launches that follow carry the count.
    #[inline(always)]
    pub fn increment_trace_count<P: Port + ?Sized>(&mut self, port: &mut P) {
        if !port.is_trace_only() {
            self.trace_count = self.trace_count.wrapping_add(1);
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
        self.sums = UNUSED_SUMS;
    }

    /// What the aggregating RISC does to all lanes before a launch.
    #[inline(always)]
    pub(crate) fn prepare_lanes<P: Port + ?Sized>(&mut self, port: &mut P) {
        // A host that resets a core zeroes these words.
        port.set_control(ext::SIGNATURE, ext::SIGNATURE_VALUE);
        if let Some(place) = port.noc_coordinates() {
            port.set_control(CONTROL.noc_x, place.x);
            port.set_control(CONTROL.noc_y, place.y);
        }
        let mut pending = 0;
        let mut bit = 1;
        let mut core = port.control_place(0);
        let mut left = port.risc_count();
        loop {
            rewind_if_read(port, core, bit);
            pending |= port.load(core + DEVICE_END);
            core += 4;
            bit <<= 1;
            left -= 1;
            if left == 0 {
                break;
            }
        }
        if pending != 0 {
            self.push_published(port);
        }
    }
}

/// Cycles between two readings of the clock.
#[must_use]
pub fn cycles_since(started: ClockWords, now: ClockWords) -> u64 {
    let [started, now] = [started, now].map(|words| Cycles::from_words(words.high, words.low));
    now.wrapping_since(started, u64::BITS)
}

/// Writes a marker.
#[inline(always)]
pub(crate) fn mark<P: Port + ?Sized>(port: &mut P, place: u32, prefix: u32) {
    let now = port.now();
    port.store(place, prefix | (now.high & marker::TIME_HIGH_MASK));
    port.store(place + 4, now.low);
}

/// Empties the fixed slots of a vector for a new run, both words of each, as upstream does.
#[inline(always)]
pub(crate) fn clear_run<P: Port + ?Sized>(port: &mut P, vector: u32) {
    let mut place = vector + offset(vector::FIRST_OPTIONAL);
    loop {
        place -= 4;
        port.store(place, marker::EMPTY_HEADER);
        if place == vector + offset(vector::MAIN_START) {
            break;
        }
    }
}

/// Gives a lane back to the device once the host has read all of it.
#[inline(always)]
fn rewind_if_read<P: Port + ?Sized>(port: &mut P, core: u32, bit: u32) {
    if port.load(core + SEEN_END) != port.load(core + HOST_END)
        || port.load(core + SEEN_LOST) != port.load(core + LOST_LAUNCHES)
    {
        return;
    }
    port.store(core + HOST_END, 0);
    port.store(core + LOST_LAUNCHES, 0);
    port.store(core + LOSS_LOG_WORDS, 0);
    port.store(core + SEEN_END, 0);
    port.store(core + SEEN_LOST, 0);
    let dropped = port.control(CONTROL.dropped_zones);
    port.set_control(CONTROL.dropped_zones, dropped & !bit);
}
