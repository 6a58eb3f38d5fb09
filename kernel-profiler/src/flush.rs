//! Getting markers from L1 to DRAM: at the end of a launch, or in the middle of one.
//!
//! The order is always the same: words leave L1, DRAM acknowledges them, and only then
//! do control words say that they are there.

use crate::{
    lane::{CONTROL, DEVICE_END, HOST_END, NEXT_END, VECTOR_BYTES},
    names,
    port::Port,
    state::{State, bytes, word_count},
};
use wire::{Header, PacketKind, ZoneId, control::ext, loss::TRAILER_WORDS, marker, vector};

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
        let first = port.control_place(0);
        let (mut core, mut vector, mut risc_index) = (first, port.vector_place(0), 0);
        loop {
            let words = port.load(core + DEVICE_END);
            let mut lane_end = 0;
            if words != 0 {
                lane_end = self.push_run(port, (core, vector, risc_index), words);
            }
            port.store(core + NEXT_END, lane_end);
            core += 4;
            vector += VECTOR_BYTES;
            risc_index += 1;
            if risc_index == port.risc_count() {
                break;
            }
        }
        port.wait_for_pushes();
        port.end_pushes();
        loop {
            core -= 4;
            let lane_end = port.load(core + NEXT_END);
            if lane_end != 0 {
                port.store(core + HOST_END, lane_end - HANDLED);
                port.store(core + DEVICE_END, 0);
            }
            if core == first {
                break;
            }
        }
        let runs = port.control(CONTROL.run_counter);
        port.set_control(CONTROL.run_counter, runs.wrapping_add(1));
        port.set_control(CONTROL.profiler_done, 1);
    }

    /// Pushes a run: all of it, or the guaranteed part, or nothing, whatever the lane can take.
    /// Returns [`HANDLED`] and the lane's new end. `core` and `vector` are the places of the
    /// RISC's first words.
    ///
    /// The usual case is that nothing was lost and all of it fits. Otherwise the losses go
    /// into a trailer behind the run, or into the loss log if there is no room for that.
    #[inline(always)]
    fn push_run<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        (core, vector, risc_index): (u32, u32, usize),
        words: u32,
    ) -> u32 {
        // The end comes from another RISC's hands; nonsense is brought back into the vector.
        let mut words = words.min(word_count(vector::VECTOR_WORDS)) & !(PUSH_ALIGN_WORDS - 1);
        let limit = self.lanes.limit(port, core);
        let mut end = port.load(core + HOST_END);
        let has_losses = port.load(vector) != 0 || end.wrapping_add(words) > limit;
        if has_losses {
            port.wait_for_pushes();
            words = self.take_losses(port, (vector, risc_index), words, (end, limit));
        }
        if end.wrapping_add(words) <= limit {
            self.send(port, vector, words, risc_index, end);
            end = end.wrapping_add(words);
            if !has_losses {
                return end.wrapping_add(HANDLED);
            }
            // A trailer belongs to the run before it.
            if end.wrapping_add(TRAILER_WORDS) <= limit {
                let trailer = port.control_place(ext::TRAILER);
                self.send(port, trailer, TRAILER_WORDS, risc_index, end);
                return end.wrapping_add(TRAILER_WORDS + HANDLED);
            }
        }
        self.log_launch(port, core, vector);
        end.wrapping_add(HANDLED)
    }

    /// Starts a write to a lane, from word `end` of it on.
    #[inline(never)]
    fn send<P: Port + ?Sized>(
        &self,
        port: &mut P,
        place: u32,
        words: u32,
        risc_index: usize,
        end: u32,
    ) {
        port.push(place, words, self.lanes.address(risc_index, end));
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
        let words = self.pad(port);
        let needed = words + GUARANTEED_WORDS + TRAILER_WORDS;
        if host_end.wrapping_add(needed) > self.lanes.limit(port, core) {
            return;
        }
        port.begin_pushes(self.lanes.bank);
        self.send(port, vector, words, risc_index, host_end);
        port.wait_for_pushes();
        port.end_pushes();
        port.store(core + HOST_END, host_end.wrapping_add(words));
        self.empty(vector);
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

const PUSH_ALIGN_WORDS: u32 = word_count(vector::PUSH_ALIGN_WORDS);
