//! Getting markers from L1 to DRAM: at the end of a launch, or in the middle of one.
//!
//! The order is always the same: words leave L1, DRAM acknowledges them, and only then
//! do control words say that they are there.

use crate::{
    lane::{self, CONTROL, Lanes},
    loss::{self, Trailer},
    port::{Port, PushDestination, PushSource},
    state::{NOTHING_LOST, State, bytes, word_count},
};
use wire::{
    Header, PacketKind,
    control::ext,
    loss::{LossCounts, TRAILER_WORDS_MAX},
    marker,
    risc::RISCS_PER_CORE,
    run::ID_LH,
    vector,
};

/// Words of a run without optional markers.
pub(crate) const GUARANTEED_WORDS: u32 = word_count(vector::FIRST_OPTIONAL);

/// The text of the zone around a quick push.
pub(crate) const QUICK_PUSH_NAME: &str = crate::__zone_text!("PROFILER-NOC-QUICK-PUSH");

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
        let mut batch = Batch::new(port);
        let mut host_ends = [None; RISCS_PER_CORE];
        let mut dropped = 0;
        let count = lane::risc_count(batch.port);
        for (risc_index, host_end) in host_ends.iter_mut().enumerate().take(count) {
            let published = batch.port.control(CONTROL.device_end + risc_index);
            if published == 0 {
                continue;
            }
            let run = PublishedRun::read(batch.port, risc_index, published);
            lane::stamp_id(
                batch.port,
                risc_index,
                lane::id_word(risc_index, lanes.flat_id, self.trace_count),
            );
            let outcome = run.push(&mut batch, &lanes);
            dropped |= u32::from(outcome.has_dropped) << risc_index;
            *host_end = outcome.host_end;
        }
        let port = batch.finish();
        for (risc_index, host_end) in host_ends.into_iter().enumerate() {
            if let Some(host_end) = host_end {
                port.set_control(CONTROL.host_end + risc_index, host_end);
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
        let mut batch = Batch::new(port);
        batch.push(PushSource::Vector { risc_index }, words, lanes.place(risc_index, host_end));
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
    #[cfg_attr(
        target_arch = "riscv32",
        expect(unsafe_code, reason = "the name goes into an ELF section")
    )]
    fn record_quick_push<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        started: crate::port::ClockWords,
    ) {
        const ID: wire::ZoneId = wire::ZoneId(crate::names::zone_id(QUICK_PUSH_NAME));
        crate::__keep_name!(QUICK_PUSH_NAME);
        const ZONE: i32 = bytes(2 * marker::MARKER_WORDS);
        if !self.take(ZONE, 0) {
            return; // Only where hundreds of zones are open.
        }
        let start = Header::prefix(PacketKind::ZoneStart, ID);
        self.append_pair(port, [start | (started.high & marker::TIME_HIGH_MASK), started.low]);
        self.append_marker(port, Header::prefix(PacketKind::ZoneEnd, ID));
    }
}

/// Whether a lane takes nothing more until the host has read it.
pub(crate) fn is_lane_closed<P: Port + ?Sized>(port: &mut P, risc_index: usize) -> bool {
    port.control(ext::LOST_LAUNCHES + risc_index) != 0
}

/// What a RISC has published and the aggregating RISC has not pushed yet.
struct PublishedRun {
    risc_index: usize,
    words: u32,
    lost: LossCounts,
}

/// What became of a published run.
struct Outcome {
    /// The new end of the lane, `None` if nothing was pushed.
    host_end: Option<u32>,
    /// Whether DRAM was too full for some of it.
    has_dropped: bool,
}

impl PublishedRun {
    /// Reads what stands beside the vector. The end comes from another RISC's hands, so
    /// that nonsense is brought back into the vector.
    fn read<P: Port + ?Sized>(port: &mut P, risc_index: usize, published: u32) -> Self {
        let aligned = published & !(word_count(vector::PUSH_ALIGN_WORDS) - 1);
        let words = aligned.clamp(GUARANTEED_WORDS, word_count(vector::VECTOR_WORDS));
        Self { risc_index, words, lost: loss::left_behind(port, risc_index) }
    }

    /// Pushes all, or the guaranteed part, or nothing: whatever the lane can take.
    fn push<P: Port + ?Sized>(&self, batch: &mut Batch<'_, P>, lanes: &Lanes) -> Outcome {
        let risc_index = self.risc_index;
        let host_end = batch.port.control(CONTROL.host_end + risc_index);
        let mut free = lanes.words_free(host_end);
        if is_lane_closed(batch.port, risc_index) {
            free = 0;
        }
        let mut trailer = Trailer { l1_full: self.lost, dram_full: NOTHING_LOST };
        let mut words = self.words;
        let has_dropped = words.wrapping_add(trailer.words()) > free;
        if has_dropped {
            trailer.dram_full = self.optional_records(batch.port);
            words = GUARANTEED_WORDS;
            if words.wrapping_add(trailer.words()) > free {
                self.log(batch.port, trailer);
                return Outcome { host_end: None, has_dropped };
            }
        }
        batch.push(PushSource::Vector { risc_index }, words, lanes.place(risc_index, host_end));
        let end = batch.push_trailer(&trailer, lanes, (risc_index, host_end.wrapping_add(words)));
        Outcome { host_end: Some(end), has_dropped }
    }

    fn optional_records<P: Port + ?Sized>(&self, port: &mut P) -> LossCounts {
        loss::optional_records(port, self.risc_index, self.words as usize)
    }

    /// Enters the run into the loss log, which takes the place of its markers.
    fn log<P: Port + ?Sized>(&self, port: &mut P, trailer: Trailer) {
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
    has_begun: bool,
    is_staging_busy: bool,
}

impl<'a, P: Port + ?Sized> Batch<'a, P> {
    const fn new(port: &'a mut P) -> Self {
        Self { port, has_begun: false, is_staging_busy: false }
    }

    fn push(&mut self, source: PushSource, words: u32, destination: PushDestination) {
        if !self.has_begun {
            self.port.begin_pushes();
            self.has_begun = true;
        }
        self.port.push(source, words, destination);
    }

    /// Pushes a trailer to the lane of a RISC from a word on; returns the lane's new end.
    fn push_trailer(&mut self, trailer: &Trailer, lanes: &Lanes, at: (usize, u32)) -> u32 {
        let (risc_index, mut end) = at;
        trailer.for_each_push(|words| {
            if self.is_staging_busy {
                self.port.wait_for_pushes();
            }
            for (offset, word) in words.into_iter().enumerate() {
                self.port.set_control(ext::TRAILER + offset, word);
            }
            self.push(PushSource::Trailer, 4, lanes.place(risc_index, end));
            self.is_staging_busy = true;
            end = end.wrapping_add(4);
        });
        end
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
