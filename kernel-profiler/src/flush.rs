//! Getting markers from L1 to DRAM: at the end of a launch, or in the middle of one.
//!
//! The order is always the same: words leave L1, DRAM acknowledges them, and only then
//! do control words say that they are there.

use crate::{
    lane::{self, CONTROL, Lanes},
    loss::{self, Trailer},
    names,
    port::{Port, PushDestination, PushSource},
    state::{State, bytes, word_count},
};
use wire::{
    Header, PacketKind, ZoneId, control::ext, loss::TRAILER_WORDS_MAX, marker,
    risc::RISCS_PER_CORE, run::ID_LH, vector,
};

/// Words of a run without optional markers.
pub(crate) const GUARANTEED_WORDS: u32 = word_count(vector::FIRST_OPTIONAL);

impl State {
    /// Pushes the vector of every RISC that has published one; returns whether that was
    /// possible.
    ///
    /// It is not while the NoC holds a linked transaction. Then everything stays as it is,
    /// for the next launch to push.
    pub(crate) fn push_published<P: Port + ?Sized>(&self, port: &mut P) -> bool {
        if port.is_linked() {
            return false;
        }
        let lanes = Lanes::read(port);
        let mut batch = Batch::new(port, lanes);
        let mut host_ends = [NOT_PUSHED; RISCS_PER_CORE];
        let mut dropped = 0;
        let count = lane::risc_count(batch.port);
        for (risc_index, end) in host_ends.iter_mut().enumerate().take(count) {
            let published = batch.port.control(CONTROL.device_end + risc_index);
            if published != 0 {
                let run = PublishedRun::read(batch.port, risc_index, published);
                let id_word = lane::id_word(risc_index, lanes.flat_id, self.trace_count);
                if let Some(whole) = run.push_whole(&mut batch, id_word) {
                    *end = whole;
                } else {
                    dropped |= run.push_with_losses(&mut batch, id_word, end);
                }
            }
        }
        let port = batch.finish();
        for (risc_index, end) in host_ends.into_iter().enumerate().take(count) {
            if end != NOT_PUSHED {
                port.set_control(CONTROL.host_end + risc_index, end);
                port.set_control(CONTROL.device_end + risc_index, 0);
            }
        }
        loss::set_dropped(port, dropped);
        true
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
        let recorded_words = self.cursor.wrapping_sub(port.own_place()) >> 2;
        let is_worthwhile = self.is_recording && recorded_words > GUARANTEED_WORDS;
        if !is_worthwhile || !port.can_quick_push() || port.is_linked() {
            return;
        }
        let started = port.now();
        let risc_index = port.risc_index();
        let lanes = Lanes::read(port);
        let host_end = port.control(CONTROL.host_end + risc_index);
        let words = self.pad(port);
        let needed = words + GUARANTEED_WORDS + TRAILER_WORDS_MAX;
        if lanes.words_free(host_end) < needed || is_lane_closed(port, risc_index) {
            return;
        }
        let trace_field = port.vector(risc_index, ID_LH) & lane::PACKING.trace_field();
        lane::stamp_id(port, risc_index, lane::id_word(risc_index, lanes.flat_id, 0) | trace_field);
        let mut batch = Batch::new(port, lanes);
        let place = lanes.place(risc_index, host_end);
        batch.push_rarely(PushSource::Vector { risc_index }, words, place);
        let port = batch.finish();
        port.set_control(CONTROL.host_end + risc_index, host_end.wrapping_add(words));
        self.empty(port);
        self.has_quick_pushed = true;
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

/// Whether a lane takes nothing more until the host has read it.
pub(crate) fn is_lane_closed<P: Port + ?Sized>(port: &mut P, risc_index: usize) -> bool {
    port.control(ext::LOST_LAUNCHES + risc_index) != 0
}

/// A lane's end that says that nothing was pushed; no pushed run ends at word 0.
const NOT_PUSHED: u32 = 0;

/// What a RISC has published and the aggregating RISC has not pushed yet.
#[derive(Clone, Copy)]
struct PublishedRun {
    risc_index: usize,
    words: u32,
    host_end: u32,
}

impl PublishedRun {
    /// Reads how long the run is. Its end comes from another RISC's hands, so that nonsense
    /// is brought back into the vector.
    #[inline(always)]
    fn read<P: Port + ?Sized>(port: &mut P, risc_index: usize, published: u32) -> Self {
        let aligned = published & !(word_count(vector::PUSH_ALIGN_WORDS) - 1);
        let words = aligned.clamp(GUARANTEED_WORDS, word_count(vector::VECTOR_WORDS));
        Self { risc_index, words, host_end: port.control(CONTROL.host_end + risc_index) }
    }

    /// The usual case: nothing was lost and all of it fits. Returns the lane's new end.
    #[inline(always)]
    fn push_whole<P: Port + ?Sized>(&self, batch: &mut Batch<'_, P>, id_word: u32) -> Option<u32> {
        let Self { risc_index, words, host_end } = *self;
        if words > batch.lanes.words_free(host_end)
            || loss::has_left(batch.port, risc_index)
            || is_lane_closed(batch.port, risc_index)
        {
            return None;
        }
        batch.port.set_vector(risc_index, ID_LH, id_word);
        batch.push(PushSource::Vector { risc_index }, words, self.place(&batch.lanes, host_end));
        Some(host_end.wrapping_add(words))
    }

    /// Pushes all, or the guaranteed part, or nothing: whatever the lane can take beside the
    /// trailer. Sets `end` if it pushes; returns the RISC's bit if DRAM was too full.
    #[cold]
    #[inline(never)]
    fn push_with_losses<P: Port + ?Sized>(
        self,
        batch: &mut Batch<'_, P>,
        id_word: u32,
        end: &mut u32,
    ) -> u32 {
        let Self { risc_index, mut words, host_end } = self;
        let mut trailer = Trailer::of_l1(loss::left_behind(batch.port, risc_index));
        lane::stamp_id(batch.port, risc_index, id_word);
        let is_closed = is_lane_closed(batch.port, risc_index);
        let free = if is_closed { 0 } else { batch.lanes.words_free(host_end) };
        let has_dropped = words.wrapping_add(trailer.words()) > free;
        if has_dropped {
            let optional = loss::optional_records(batch.port, risc_index, words as usize);
            trailer.dram_full = optional;
            words = GUARANTEED_WORDS;
            if words.wrapping_add(trailer.words()) > free {
                self.log(batch.port, &trailer);
                return 1 << risc_index;
            }
        }
        let place = self.place(&batch.lanes, host_end);
        batch.push_rarely(PushSource::Vector { risc_index }, words, place);
        *end = batch.push_trailer(&trailer, risc_index, host_end.wrapping_add(words));
        u32::from(has_dropped) << risc_index
    }

    fn place(&self, lanes: &Lanes, word: u32) -> PushDestination {
        lanes.place(self.risc_index, word)
    }

    /// Enters the run into the loss log, which takes the place of its markers.
    fn log<P: Port + ?Sized>(&self, port: &mut P, trailer: &Trailer) {
        let counts = trailer
            .l1_full
            .saturating_add(trailer.dram_full)
            .saturating_add(loss::guaranteed_zones(port, self.risc_index));
        loss::log_launch(port, self.risc_index, counts);
        port.set_control(CONTROL.device_end + self.risc_index, 0);
    }
}

/// A series of pushes that ends with one wait.
struct Batch<'a, P: Port + ?Sized> {
    port: &'a mut P,
    lanes: Lanes,
    has_begun: bool,
    is_staging_busy: bool,
}

impl<'a, P: Port + ?Sized> Batch<'a, P> {
    const fn new(port: &'a mut P, lanes: Lanes) -> Self {
        Self { port, lanes, has_begun: false, is_staging_busy: false }
    }

    #[inline(always)]
    fn push(&mut self, source: PushSource, words: u32, destination: PushDestination) {
        if !self.has_begun {
            self.begin();
        }
        self.port.push(source, words, destination);
    }

    /// As [`Batch::push`], where code should be small and not fast.
    #[inline(never)]
    fn push_rarely(&mut self, source: PushSource, words: u32, destination: PushDestination) {
        self.push(source, words, destination);
    }

    #[inline(never)]
    fn begin(&mut self) {
        self.port.begin_pushes();
        self.has_begun = true;
    }

    /// Pushes a trailer to the lane of a RISC from word `end` on; returns the lane's new end.
    fn push_trailer(&mut self, trailer: &Trailer, risc_index: usize, end: u32) -> u32 {
        let mut staging = Staging { risc_index, end, is_half_full: false };
        trailer.for_each_pair(|pair| self.stage(&mut staging, pair));
        staging.end
    }

    /// Stages a pair; every second one sends both on their way.
    #[inline(never)]
    fn stage(&mut self, staging: &mut Staging, [high, low]: [u32; 2]) {
        if core::mem::take(&mut self.is_staging_busy) {
            self.port.wait_for_pushes();
        }
        let word = if staging.is_half_full { ext::TRAILER + 2 } else { ext::TRAILER };
        self.port.set_control(word, high);
        self.port.set_control(word + 1, low);
        staging.is_half_full = !staging.is_half_full;
        if !staging.is_half_full {
            let place = self.lanes.place(staging.risc_index, staging.end);
            self.push_rarely(PushSource::Trailer, STAGED_WORDS, place);
            self.is_staging_busy = true;
            staging.end = staging.end.wrapping_add(STAGED_WORDS);
        }
    }

    /// Waits until all words are in DRAM.
    fn finish(self) -> &'a mut P {
        if self.has_begun {
            self.port.wait_for_pushes();
            self.port.end_pushes();
        }
        self.port
    }
}

/// Where a trailer goes, pair by pair.
struct Staging {
    risc_index: usize,
    end: u32,
    is_half_full: bool,
}

/// Words that are staged and pushed at once.
const STAGED_WORDS: u32 = word_count(vector::PUSH_ALIGN_WORDS);
