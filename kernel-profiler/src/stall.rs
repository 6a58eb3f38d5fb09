//! Debug dump: a RISC that finds its lane full waits until the host has read on.
//!
//! A wait ends when the lane has room; when the host has read all of it and there is still none,
//! since the lane is too small for the run; or after [`Port::stall_cycles`], and then no RISC waits again
//! before the host has read on. What finds no room is counted as ever. So a host that keeps up
//! loses nothing, and without one a kernel still ends.
//!
//! The zone `PROFILER-DRAM-STALL` shows each wait. It lies in the run that follows it, or in the
//! one that found no room; that of the launch's end lies behind the firmware's zone.
//!
//! # Compatibility
//! `DEVICE_DEBUG_DUMP` of `kernel_profiler.hpp`, which waits without a bound and shows nothing, and
//! whose host gives it another buffer instead of reading on.

use crate::{
    flush::{self, Published},
    lane::{self, CONSUMED, DEVICE_END, HOST_END, Lanes},
    names,
    port::{ClockWords, Port},
    state::{State, bytes, offset, word_count},
};
use wire::{
    Header, LaneEnd, PacketKind, ZoneId, control::ext, marker, risc::RISCS_PER_CORE, vector,
};

/// Bytes that a launch keeps for zones of stalls: of one within it, and of one at its end.
pub(crate) const STALL_BYTES: i32 = 2 * ZONE_BYTES;

/// Place, in a vector, of the word in which a RISC remembers a wait in vain until its launch ends:
/// behind the empty slot of the end of its firmware's zone.
pub(crate) const IN_VAIN: u32 = offset(vector::MAIN_END + 1);

/// Wait for the host.
pub(crate) struct Stall {
    started: ClockWords,
    ended: ClockWords,
    /// How far the host had read when it was looked for last.
    progress: u32,
    /// True if the bound was reached, or if an earlier wait was in vain.
    is_over: bool,
    has_waited: bool,
}

impl Stall {
    fn begin<P: Port + ?Sized>(port: &mut P) -> Self {
        let started = port.now();
        Self { started, ended: started, progress: 0, is_over: false, has_waited: false }
    }

    /// Goes on where a lane is full.
    fn go_on<P: Port + ?Sized>(&mut self, port: &mut P) {
        self.progress = host_progress(port);
        self.is_over = port.load(port.control_place(ext::STALLED_IN_VAIN)) == self.progress;
        if !self.is_over {
            self.has_waited = true;
            self.ended = port.now();
            let waited = self.ended.low.wrapping_sub(self.started.low);
            self.is_over = waited >= port.stall_cycles();
            port.rest();
        }
        port.forget_cached();
    }

    /// Puts the zone of this wait at a place.
    fn write<P: Port + ?Sized>(&self, port: &mut P, place: u32) {
        #[cfg(all(feature = "hosted", not(target_arch = "riscv32")))]
        names::STALL_SITE.register();
        let mut at = place;
        let ends = [(PacketKind::ZoneStart, self.started), (PacketKind::ZoneEnd, self.ended)];
        for (kind, time) in ends {
            port.store(at, Header::prefix(kind, STALL_ZONE) | (time.high & marker::TIME_HIGH_MASK));
            port.store(at + 4, time.low);
            at += offset(marker::MARKER_WORDS);
        }
    }
}

impl State {
    /// Waits until this RISC's lane takes what it has recorded so far; `None` if it does not, and
    /// then the zone of the wait is in the ring.
    #[cold]
    #[inline(never)]
    pub(crate) fn await_own_lane<P: Port + ?Sized>(&mut self, port: &mut P) -> Option<Stall> {
        port.forget_cached();
        let remembered = port.own_vector() + IN_VAIN;
        // Full in this launch, waited for in vain, and the host has not read on since.
        if port.load(remembered) == host_progress(port) {
            return None;
        }
        let mut stall = Stall::begin(port);
        let lanes = Lanes::of(port, port.control_place(0));
        let words = (self.next() - port.own_vector()) >> 2;
        let count = flush::padded(words) + flush::GUARANTEED_WORDS;
        let core = port.own_place();
        while !stall.is_over && is_full(port, &lanes, core, count) {
            stall.go_on(port);
        }
        if !stall.is_over {
            return Some(stall);
        }
        port.store(remembered, stall.progress);
        if port.risc_index() == 0 {
            port.store(port.control_place(ext::STALLED_IN_VAIN), stall.progress);
        }
        // Room for one is kept; the host may have come and left again.
        if self.room() >= 0 {
            self.record_stall(port, &stall);
        }
        None
    }

    /// Appends the zone of a wait, for which each launch keeps the room of one.
    pub(crate) fn record_stall<P: Port + ?Sized>(&mut self, port: &mut P, stall: &Stall) {
        if stall.has_waited {
            let place = self.next();
            stall.write(port, place);
            self.set_next(place + ZONE_BYTES.cast_unsigned());
            self.set_room(self.room() - ZONE_BYTES);
        }
    }

    /// Pushes, where nothing is to be dropped, if a number of bytes finds no room.
    #[inline(always)]
    pub(crate) fn make_room<P: Port + ?Sized>(&mut self, port: &mut P, size: i32) {
        if port.is_non_dropping() && self.room() < size {
            self.quick_push(port);
        }
    }
}

/// Waits until the lanes take the runs that have been published, and puts the zone of that into the
/// run of the aggregating RISC.
#[cold]
#[inline(never)]
pub(crate) fn await_lanes<P: Port + ?Sized>(
    port: &mut P,
    lanes: &Lanes,
    runs: &mut [Published; RISCS_PER_CORE],
) {
    const ZONE_WORDS: u32 = ZONE_BYTES.cast_unsigned() / 4;
    let mut stall = Stall::begin(port);
    let mut are_full = true;
    while are_full && !stall.is_over {
        are_full = false;
        let mut core = port.control_place(0);
        let mut of_zone = ZONE_WORDS;
        for run in &*runs {
            let words = run.words.wrapping_add(of_zone);
            are_full |= words != 0 && is_full(port, lanes, core, flush::padded(words));
            of_zone = 0;
            core += 4;
        }
        if are_full {
            stall.go_on(port);
        }
    }
    if stall.is_over {
        port.store(port.control_place(ext::STALLED_IN_VAIN), stall.progress);
    }
    let [own, ..] = runs;
    if stall.has_waited {
        let place = port.vector_place(0) + 4 * own.words;
        stall.write(port, place);
        own.words += ZONE_WORDS;
        flush::pad(port, place + 4 * ZONE_WORDS, own.words);
        let published = port.control_place(0) + DEVICE_END;
        port.store(published, own.words);
    }
}

/// Returns true if a lane has no room for a number of words although the host has not read all of
/// it, so that there may be some.
fn is_full<P: Port + ?Sized>(port: &mut P, lanes: &Lanes, core: u32, count: u32) -> bool {
    let end = port.load(core + HOST_END);
    let place = lanes.place(port, core, (end, count));
    let read_to = port.load(core + CONSUMED);
    place.end.is_none() && read_to != LaneEnd::from_word(end, lanes.words).end
}

/// How far the host has read in all lanes, as one number that is not 0.
fn host_progress<P: Port + ?Sized>(port: &mut P) -> u32 {
    let first = port.control_place(0) + CONSUMED;
    let places = (0..port.risc_count()).map(|risc_index| first + 4 * lane::index_word(risc_index));
    places.fold(1, |sum, place| port.load(place).wrapping_add(sum))
}

/// Zone of a wait for the host. No kernel emitted it, so that it counts as no loss.
pub(crate) const STALL_ZONE: ZoneId = ZoneId(names::zone_id(names::STALL));

const ZONE_BYTES: i32 = bytes(2 * marker::MARKER_WORDS);
const _: () = assert!(word_count(2 * marker::MARKER_WORDS) == 4);
