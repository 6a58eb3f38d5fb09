//! The hot path of making a record: reserve room, read the clock, write words.
//!
//! Three rules make a marker cheap. Both clock words are loaded back to back, since two loads in
//! flight cost hardly more than one. All stores come after these loads. Closing a zone checks
//! nothing, because the room for its end was reserved when the zone was opened.
//!
//! If there is no room for a record, the record is not made; only a counter in the control vector
//! is incremented. There is one counter for each RISC and kind of record.

use crate::{
    port::{ClockWords, Port},
    state::{FIRST_OPTIONAL_BYTES, State, bytes, offset},
};
use wire::{Header, PacketKind, ZoneId, loss::LossKind, marker, vector};

/// Number of words of the L1 vector that a dispatch kernel's ordinary records must leave free: for
/// the next command's parent zone, a push zone and two metadata records.
///
/// # Compatibility
/// `DISPATCH_HEADROOM_SIZE` of `kernel_profiler.hpp`.
pub const DISPATCH_HEADROOM_WORDS: usize = 16;

/// Number of words of the L1 vector that a dispatch kernel's metadata records must leave free.
///
/// # Compatibility
/// `DISPATCH_META_DATA_UINT32_SIZE` of `kernel_profiler.hpp`.
pub const DISPATCH_METADATA_HEADROOM_WORDS: usize = 4;

impl State {
    /// Opens a zone: writes its start and reserves room for its end.
    ///
    /// Returns true if there was room. If there was none, the zone is counted as lost and must not
    /// be closed.
    #[inline(always)]
    #[must_use = "a zone that found no room must not be closed"]
    pub fn open_zone<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId) -> bool {
        const START: Reservation = Reservation {
            room: bytes(2 * marker::MARKER_WORDS),
            words: marker::MARKER_WORDS,
            headroom: DISPATCH_HEADROOM,
            is_zone: true,
        };
        let prefix = Header::prefix(PacketKind::ZoneStart, id);
        let place = self.reserve(port, START, prefix, LossKind::Zone);
        place.is_some()
    }

    /// Closes a zone for which [`State::open_zone`] has returned `true`.
    #[inline(always)]
    pub fn close_zone<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId) {
        self.append_marker(port, Header::prefix(PacketKind::ZoneEnd, id));
        if port.is_dispatch() {
            self.push_when_nearly_full(port);
        }
    }

    /// Records 64 bits of data.
    #[inline(always)]
    pub fn record_data<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId, data: u64) {
        const KIND: PacketKind = PacketKind::TimestampedData;
        if port.is_streaming() {
            let time = port.now_low();
            return self.stream_data(port, (KIND, id), [data, 0], time);
        }
        const DATA: Reservation = Reservation::new(KIND, METADATA_HEADROOM);
        let place = self.reserve(port, DATA, Header::prefix(KIND, id), LossKind::Data);
        if let Some(place) = place {
            write_data(port, place, data);
        }
    }

    /// Records 128 bits of data.
    #[inline(always)]
    pub fn record_data_16b<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId, data: [u64; 2]) {
        const KIND: PacketKind = PacketKind::TimestampedData16B;
        if port.is_streaming() {
            let time = port.now_low();
            return self.stream_data(port, (KIND, id), data, time);
        }
        const DATA: Reservation = Reservation::new(KIND, METADATA_HEADROOM);
        let place = self.reserve(port, DATA, Header::prefix(KIND, id), LossKind::Data);
        if let Some(place) = place {
            write_data(port, place, data[0]);
            write_data(port, place.wrapping_add(8), data[1]);
        }
    }

    /// Records 64 bits of data with a time that the caller has read earlier.
    pub(crate) fn record_data_at<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        id: ZoneId,
        data: u64,
        time: ClockWords,
    ) {
        const KIND: PacketKind = PacketKind::TimestampedData;
        if port.is_streaming() {
            return self.stream_data(port, (KIND, id), [data, 0], time.low);
        }
        if let Some(place) = self.append_at(port, KIND, id, time) {
            write_data(port, place, data);
        }
    }

    /// Records 128 bits of data with a time that the caller has read earlier.
    pub(crate) fn record_data_16b_at<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        id: ZoneId,
        data: [u64; 2],
        time: ClockWords,
    ) {
        const KIND: PacketKind = PacketKind::TimestampedData16B;
        if port.is_streaming() {
            return self.stream_data(port, (KIND, id), data, time.low);
        }
        if let Some(place) = self.append_at(port, KIND, id, time) {
            write_data(port, place, data[0]);
            write_data(port, place.wrapping_add(8), data[1]);
        }
    }

    /// Writes the marker of a data record with a given time; counts the record as lost if there is
    /// no room.
    ///
    /// Returns the address of the words after the marker, unless the record is lost.
    #[inline(always)]
    fn append_at<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        kind: PacketKind,
        id: ZoneId,
        time: ClockWords,
    ) -> Option<u32> {
        let words = kind.record_words();
        if !self.take(bytes(words), headroom(port, METADATA_HEADROOM)) {
            port.count_loss(LossKind::Data);
            return None;
        }
        let place = self.next();
        self.set_next(place.wrapping_add(offset(words)));
        write_marker(port, place, Header::prefix(kind, id), time);
        Some(place.wrapping_add(MARKER_BYTES))
    }

    /// Records an event.
    #[inline(always)]
    pub fn record_event<P: Port + ?Sized>(&mut self, port: &mut P, event: u16) {
        const KIND: PacketKind = PacketKind::TimestampedEvent;
        if port.is_streaming() {
            return self.stream_event(port, event);
        }
        const EVENT: Reservation = Reservation::new(KIND, DISPATCH_HEADROOM);
        let _ = self.reserve(port, EVENT, Header::prefix(KIND, ZoneId(event)), LossKind::Event);
    }

    /// Reserves room for a record and writes its marker; counts the record as lost if there is no
    /// room.
    ///
    /// Returns the address of the words after the marker, unless the record is lost.
    #[inline(always)]
    fn reserve<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        record: Reservation,
        prefix: u32,
        kind: LossKind,
    ) -> Option<u32> {
        self.make_room(port, record.room + headroom(port, record.headroom));
        // The check for room is made after the clock's loads are issued, so that it runs during
        // their latency. Loads from local RAM are issued before the clock's loads, because they
        // would otherwise wait for the clock.
        let (place, room) = (self.next(), self.room());
        let now = port.now();
        let left = room - record.room;
        if left < headroom(port, record.headroom) {
            // In trace-only mode there is no room for data or events, and no host expects any, so
            // none count as lost.
            if !port.is_trace_only() {
                port.count_loss(kind);
            }
            return None;
        }
        self.set_next(place.wrapping_add(offset(record.words)));
        self.set_room(left);
        if record.is_zone {
            write_marker(port, place, prefix, now);
        } else {
            let now = port.await_masked(now);
            port.store(place, prefix | now.high);
            port.store(place.wrapping_add(4), now.low);
        }
        Some(place.wrapping_add(MARKER_BYTES))
    }

    /// Returns true if an ordinary record of `words` words fits into the free room.
    #[must_use]
    pub fn has_room<P: Port + ?Sized>(&self, port: &P, words: u32) -> bool {
        let room = self.room() - headroom(port, DISPATCH_HEADROOM);
        // A streamed record reserves its room in the ring when it is written.
        port.is_streaming() || u32::try_from(room).is_ok_and(|room| room / 4 >= words)
    }

    /// Reserves `size` bytes if at least `headroom` bytes stay free afterwards. Otherwise returns
    /// false.
    #[inline(always)]
    pub(crate) fn take(&mut self, size: i32, headroom: i32) -> bool {
        let left = self.room() - size;
        if left < headroom {
            return false;
        }
        self.set_room(left);
        true
    }

    /// Appends a marker whose room has been reserved.
    #[inline(always)]
    pub(crate) fn append_marker<P: Port + ?Sized>(&mut self, port: &mut P, prefix: u32) {
        // This load comes first: a load from local RAM after the clock's loads would wait for them.
        let place = self.next();
        let now = port.now();
        self.set_next(place.wrapping_add(MARKER_BYTES));
        write_marker(port, place, prefix, now);
    }

    /// Appends two words whose room has been reserved.
    pub(crate) fn append_pair<P: Port + ?Sized>(&mut self, port: &mut P, [high, low]: [u32; 2]) {
        let place = self.next();
        self.set_next(place.wrapping_add(8));
        port.store(place, high);
        port.store(place.wrapping_add(4), low);
    }

    /// Frees all words after the vector's fixed slots, once these words have been pushed. The room
    /// for the ends of open zones stays reserved.
    pub(crate) fn empty<P: Port + ?Sized>(&mut self, port: &P) {
        let first = port.own_vector().wrapping_add(FIRST_OPTIONAL_BYTES);
        let freed = self.next().wrapping_sub(first).cast_signed();
        self.set_room(self.room() + freed);
        self.set_next(first);
    }

    /// Pushes the L1 vector of a dispatch kernel if only its headroom is free.
    fn push_when_nearly_full<P: Port + ?Sized>(&mut self, port: &mut P) {
        const NEARLY_FULL: i32 = bytes(vector::VECTOR_WORDS - DISPATCH_HEADROOM_WORDS);
        if self.next().wrapping_sub(port.own_vector()) >= NEARLY_FULL.cast_unsigned() {
            self.quick_push(port);
        }
    }
}

/// Room that a record needs in the vector.
#[derive(Clone, Copy)]
struct Reservation {
    /// Number of bytes to reserve, including those that are written later.
    room: i32,
    /// Number of words that are written now.
    words: usize,
    /// Number of bytes that must stay free if the record is made in a dispatch kernel.
    headroom: i32,
    /// True if an end marker will follow. The compiler then keeps in registers the values that both
    /// markers need.
    is_zone: bool,
}

impl Reservation {
    const fn new(kind: PacketKind, headroom: i32) -> Self {
        let words = kind.record_words();
        Self { room: bytes(words), words, headroom, is_zone: false }
    }
}

const MARKER_BYTES: u32 = offset(marker::MARKER_WORDS);
const DISPATCH_HEADROOM: i32 = bytes(DISPATCH_HEADROOM_WORDS);
const METADATA_HEADROOM: i32 = bytes(DISPATCH_METADATA_HEADROOM_WORDS);

/// Returns the number of bytes that a record must leave free: `in_dispatch` in a dispatch kernel,
/// else 0.
#[inline(always)]
fn headroom<P: Port + ?Sized>(port: &P, in_dispatch: i32) -> i32 {
    if port.is_dispatch() { in_dispatch } else { 0 }
}

/// Writes the two words of a marker.
#[inline(always)]
fn write_marker<P: Port + ?Sized>(port: &mut P, place: u32, prefix: u32, now: ClockWords) {
    let now = port.await_reading(now);
    port.store(place, prefix | (now.high & marker::TIME_HIGH_MASK));
    port.store(place.wrapping_add(4), now.low);
}

/// Writes 64 bits of data, high word first, as the format requires.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the two halves are what is written")]
fn write_data<P: Port + ?Sized>(port: &mut P, place: u32, data: u64) {
    port.store(place, (data >> 32) as u32);
    port.store(place.wrapping_add(4), data as u32);
}
