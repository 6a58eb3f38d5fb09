//! Getting markers from L1 to DRAM: at the end of a launch, or in the middle of one.
//!
//! The order is always the same: words leave L1, DRAM acknowledges them, and only then
//! do control words say that they are there.

use crate::{
    lane::{self, CONTROL, DEVICE_END, HOST_END, NEXT_END},
    loss, names,
    port::Port,
    state::{State, bytes, offset, word_count},
};
use wire::{Header, PacketKind, ZoneId, loss::TRAILER_WORDS, marker, vector};

/// Words of a run without optional markers.
pub(crate) const GUARANTEED_WORDS: u32 = word_count(vector::FIRST_OPTIONAL);

impl State {
    /// Pushes the vector of every RISC that has published one.
    ///
    /// Not while the NoC holds a linked transaction. Then everything stays as it is, for the
    /// next launch to push.
    #[inline(never)]
    pub(crate) fn push_published<P: Port + ?Sized>(&mut self, port: &mut P) {
        if port.is_linked() {
            return;
        }
        port.begin_pushes(self.lanes.bank);
        let mut risc_index = 0;
        loop {
            self.push_run(port, risc_index);
            risc_index += 1;
            if risc_index == port.risc_count() {
                break;
            }
        }
        port.wait_for_pushes();
        let control = port.opaque(port.control_place(0));
        let mut core = control;
        let mut left = port.opaque(lane::index_word(port.risc_count()));
        loop {
            let lane_end = port.load(core + NEXT_END);
            if lane_end != 0 {
                port.store(core + HOST_END, lane_end - HANDLED);
                port.store(core + DEVICE_END, 0);
            }
            core += 4;
            left -= 1;
            if left == 0 {
                break;
            }
        }
        let runs = port.load(control + offset(CONTROL.run_counter));
        port.store(control + offset(CONTROL.run_counter), runs.wrapping_add(1));
        port.store(control + offset(CONTROL.profiler_done), 1);
    }

    /// Pushes the run of a RISC, if it has published one: all of it, or the guaranteed part, or
    /// nothing, whatever the lane can take. Leaves [`HANDLED`] and the lane's new end in
    /// [`wire::control::ext::NEXT_END`], or 0 without a run.
    ///
    /// A function of its own that calls none, so that it has most registers to itself and saves
    /// few.
    #[inline(never)]
    fn push_run<P: Port + ?Sized>(&mut self, port: &mut P, risc_index: usize) {
        let core = port.control_place(risc_index);
        let words = port.load(core + DEVICE_END);
        port.store(core + NEXT_END, 0);
        if words != 0 {
            // The end comes from another RISC's hands; nonsense stays near the vector.
            let lane_end = self.push_words(port, risc_index, words & WORDS_MASK);
            port.store(core + NEXT_END, lane_end.wrapping_add(HANDLED));
        }
    }

    /// Pushes a run of so many words; returns the lane's new end.
    ///
    /// The usual case is that nothing was lost and all of it fits. Otherwise the losses go
    /// into a trailer behind the run, or into the loss log if there is no room for both. The
    /// trailer is written over the run's optional part, once that has left.
    #[inline(always)]
    fn push_words<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        risc_index: usize,
        mut words: u32,
    ) -> u32 {
        let core = port.control_place(risc_index);
        let vector = port.opaque(port.vector_place(risc_index));
        let lane = port.opaque(self.lanes.address(risc_index, 0));
        let limit = self.lanes.limit(port, core);
        let mut end = port.load(core + HOST_END);
        let left = loss::left_behind(port, core, vector);
        // Of the trailer that follows; 0 where none does.
        let mut tag = 0;
        if left[0] | left[1] | left[2] != 0 || end.wrapping_add(words) > limit {
            (words, tag) = self.take_losses(port, (risc_index, vector), left, words, (end, limit));
            if words == 0 {
                self.log_launch(port, core, vector);
                return end;
            }
        }
        let mut place = vector;
        loop {
            port.push(place, words, lane.wrapping_add(end.wrapping_mul(4)));
            end = end.wrapping_add(words);
            if tag == 0 {
                return end;
            }
            port.wait_for_pushes();
            (place, words) = (vector + offset(vector::FIRST_OPTIONAL), TRAILER_WORDS);
            self.write_trailer(port, place, tag);
            tag = 0;
        }
    }

    /// Pushes what this RISC has recorded so far and starts a new run.
    ///
    /// Does nothing where a push is not possible: on a TRISC, while the NoC holds a linked
    /// transaction, when the lane could not take the end of the launch afterwards. The
    /// markers then stay, and the launch's end decides about them.
    ///
    /// The zone `PROFILER-NOC-QUICK-PUSH` shows what the push cost; it is the first record
    /// of the new run.
    #[cold]
    #[inline(never)]
    pub fn quick_push<P: Port + ?Sized>(&mut self, port: &mut P) {
        let risc_index = port.risc_index();
        let vector = port.vector_place(risc_index);
        let is_worthwhile = self.is_recording() && self.cursor > vector + GUARANTEED_WORDS * 4;
        if !is_worthwhile || !port.can_quick_push() || port.is_linked() {
            return;
        }
        let started = port.now();
        let core = port.control_place(risc_index);
        let host_end = port.load(core + HOST_END);
        let words = self.pad(port, vector);
        let needed = words + GUARANTEED_WORDS + TRAILER_WORDS;
        if host_end.wrapping_add(needed) > self.lanes.limit(port, core) {
            return;
        }
        port.store(vector, 0);
        port.store(vector + 4, 0);
        port.save_command_buffer();
        port.begin_pushes(self.lanes.bank);
        let lane = self.lanes.address(risc_index, host_end);
        port.push(vector, words, lane);
        port.wait_for_pushes();
        port.restore_command_buffer();
        port.store(core + HOST_END, host_end.wrapping_add(words));
        self.empty(port, vector);
        self.record_quick_push(port, started);
    }

    /// Pushes if the caller is about to begin a linked transaction on `command_buffer`,
    /// since no push is possible until that ends.
    pub fn quick_push_if_linked<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        command_buffer: u32,
        is_to_be_linked: bool,
    ) {
        if is_to_be_linked && !port.is_command_buffer_linked(command_buffer) {
            self.quick_push(port);
        }
    }

    /// Pushes if a record of `words` words does not fit.
    #[inline(always)]
    pub fn flush_to_dram_if_full<P: Port + ?Sized>(&mut self, port: &mut P, words: u32) {
        if !self.has_room(port, words) {
            self.quick_push(port);
        }
    }

    /// Puts the zone of a push, ended only now, at the start of the new run.
    fn record_quick_push<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        started: crate::port::ClockWords,
    ) {
        #[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
        names::QUICK_PUSH_SITE.register();
        const ZONE: i32 = bytes(2 * marker::MARKER_WORDS);
        if !self.take(ZONE, 0) {
            return; // Only where hundreds of zones are open.
        }
        let start = Header::prefix(PacketKind::ZoneStart, QUICK_PUSH_ZONE);
        self.append_pair(port, [start | (started.high & marker::TIME_HIGH_MASK), started.low]);
        self.append_marker(port, Header::prefix(PacketKind::ZoneEnd, QUICK_PUSH_ZONE));
    }
}

/// The runtime's own zone around a push within a launch. No kernel emitted it, so that it
/// counts as no loss.
pub(crate) const QUICK_PUSH_ZONE: ZoneId = ZoneId(names::zone_id(names::QUICK_PUSH));

/// Set in a lane's new end, a multiple of four, to say that the run is done with.
const HANDLED: u32 = 1;

/// Numbers of words that a run may have: multiples of the push alignment, up to the size of two
/// vectors less one, since a mask is smaller than a comparison.
const WORDS_MASK: u32 =
    (2 * word_count(vector::VECTOR_WORDS) - 1) & !(word_count(vector::PUSH_ALIGN_WORDS) - 1);
