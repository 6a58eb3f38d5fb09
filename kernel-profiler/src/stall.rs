//! Debug dump: a RISC whose DRAM lane is full waits until the host has read more of the lane.
//!
//! A wait ends when the lane has room. A wait also ends if the host has read the whole lane and the
//! run still does not fit, or after [`Port::stall_cycles`]. After such a time-out, no RISC of the
//! core waits again until the host has read more. Records for which there is no room are counted as
//! lost, as in other modes. A host that reads fast enough therefore loses nothing, and a kernel
//! ends even if no host reads.
//!
//! The zone `PROFILER-DRAM-STALL` shows each wait. This zone is recorded in the run after the wait,
//! or in the run that did not fit. The zone of a wait at the end of a launch follows the firmware's
//! zone.
//!
//! # Compatibility
//! `DEVICE_DEBUG_DUMP` of `kernel_profiler.hpp`, in which waits have no limit and are not recorded.
//! TT-Metal's host switches to another buffer instead of reporting what it has read.

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

/// Number of bytes that a launch reserves for the zones of two waits for the host: one wait within
/// the launch, and one at its end.
pub(crate) const STALL_BYTES: i32 = 2 * ZONE_BYTES;

/// Offset in a vector of the word that shows that a wait of the vector's RISC has timed out. The
/// word is valid until the RISC's launch ends.
///
/// The word is in the slot for the end marker of the firmware's zone. This slot is unused until the
/// launch ends.
pub(crate) const IN_VAIN: u32 = offset(vector::MAIN_END + 1);

/// A wait for the host.
pub(crate) struct Stall {
    started: ClockWords,
    ended: ClockWords,
    /// The host's progress at the last poll, as returned by [`host_progress`].
    progress: u32,
    /// True if this wait has reached its time limit, or if an earlier wait did so and the host has
    /// read nothing since.
    is_over: bool,
    has_waited: bool,
}

impl Stall {
    fn begin<P: Port + ?Sized>(port: &mut P) -> Self {
        let started = port.now();
        Self { started, ended: started, progress: 0, is_over: false, has_waited: false }
    }

    /// Polls the host's progress once, and then pauses for some cycles unless the wait is over.
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

    /// Writes this wait's zone to the address `place`.
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
    /// Waits until this RISC's lane has room for the records that the RISC has made so far.
    ///
    /// Returns `None` if the lane stays full; the vector then contains the zone of the wait.
    #[cold]
    #[inline(never)]
    pub(crate) fn await_own_lane<P: Port + ?Sized>(&mut self, port: &mut P) -> Option<Stall> {
        port.forget_cached();
        let remembered = port.own_vector() + IN_VAIN;
        // A wait in this launch has already timed out, and the host has not read anything since.
        if port.load(remembered) == host_progress(port) {
            return None;
        }
        let mut stall = Stall::begin(port);
        let lanes = Lanes::new(port, port.control_place(0));
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
        // Room for one zone of a wait is reserved, but it may already be used if the host has read
        // something since and then stopped again.
        if self.room() >= 0 {
            self.record_stall(port, &stall);
        }
        None
    }

    /// Appends the zone of a wait. The launch has reserved room for this zone.
    pub(crate) fn record_stall<P: Port + ?Sized>(&mut self, port: &mut P, stall: &Stall) {
        if stall.has_waited {
            let place = self.next();
            stall.write(port, place);
            self.set_next(place + ZONE_BYTES.cast_unsigned());
            self.set_room(self.room() - ZONE_BYTES);
        }
    }

    /// In the debug dump, pushes if `size` bytes do not fit.
    #[inline(always)]
    pub(crate) fn make_room<P: Port + ?Sized>(&mut self, port: &mut P, size: i32) {
        if port.is_non_dropping() && self.room() < size {
            self.quick_push(port);
        }
    }
}

/// Waits until the lanes have room for the published runs, and adds the zone of the wait to the run
/// of the RISC that pushes.
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

/// Returns true if a lane has no room for `count` words but may get room, because the host has not
/// read the whole lane.
fn is_full<P: Port + ?Sized>(port: &mut P, lanes: &Lanes, core: u32, count: u32) -> bool {
    let end = port.load(core + HOST_END);
    let place = lanes.place(port, core, (end, count));
    let read_to = port.load(core + CONSUMED);
    place.end.is_none() && read_to != LaneEnd::from_word(end, lanes.words).end
}

/// Returns a nonzero number that changes whenever the host has read more of any of the core's
/// lanes.
fn host_progress<P: Port + ?Sized>(port: &mut P) -> u32 {
    let first = port.control_place(0) + CONSUMED;
    let places = (0..port.risc_count()).map(|risc_index| first + 4 * lane::index_word(risc_index));
    places.fold(1, |sum, place| port.load(place).wrapping_add(sum))
}

/// Id of the zone of a wait for the host. If there is no room for this zone, it is not counted as
/// lost, since no kernel emitted it.
pub(crate) const STALL_ZONE: ZoneId = ZoneId(names::zone_id(names::STALL));

const ZONE_BYTES: i32 = bytes(2 * marker::MARKER_WORDS);
const _: () = assert!(word_count(2 * marker::MARKER_WORDS) == 4);
