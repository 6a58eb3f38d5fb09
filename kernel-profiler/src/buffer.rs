//! The hot path: room is taken, the clock is read, words are written.
//!
//! Three rules make a marker cheap. Both clock words are loaded back to back, since two
//! loads in flight cost hardly more than one. All stores come after the loads. And a
//! close asks nothing: its words were set aside when its zone was opened.
//!
//! What happens when nothing fits is out of line, in [`crate::loss`].

use crate::{
    port::{ClockWords, Port},
    state::{CLOSED, FIRST_OPTIONAL_BYTES, OPTIONAL_BYTES, State, bytes, word_count},
};
use wire::{Header, PacketKind, ZoneId, loss::LossKind, marker, vector};

/// Words that a dispatch kernel keeps free: the next command's parent zone, a push zone
/// and two metadata records.
///
/// # Compatibility
/// `DISPATCH_HEADROOM_SIZE` of `kernel_profiler.hpp`.
pub const DISPATCH_HEADROOM_WORDS: usize = 16;

/// Words of that headroom that even metadata records leave.
///
/// # Compatibility
/// `DISPATCH_META_DATA_UINT32_SIZE` of `kernel_profiler.hpp`.
pub const DISPATCH_METADATA_HEADROOM_WORDS: usize = 4;

impl State {
    /// Opens a zone: writes its start and sets the words of its end aside.
    ///
    /// Returns whether there was room; if not, the zone is counted as lost and must not
    /// be closed.
    #[inline(always)]
    #[must_use = "a zone that found no room must not be closed"]
    pub fn open_zone<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId) -> bool {
        const START_AND_END: i32 = bytes(2 * marker::MARKER_WORDS);
        // What the clock's latency can hide comes behind its loads: the check for room. What
        // would wait for them comes before: the loads from local RAM.
        let (room, place) = (self.room, self.cursor);
        let now = port.now();
        let left = room - START_AND_END;
        if left < headroom(port, DISPATCH_HEADROOM) {
            self.lose(LossKind::Zone);
            return false;
        }
        self.room = left;
        self.cursor = place.wrapping_add(MARKER_BYTES);
        write_marker(port, place, Header::prefix(PacketKind::ZoneStart, id), now);
        true
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
        if !self.take(bytes(KIND.record_words()), headroom(port, METADATA_HEADROOM)) {
            return self.lose(LossKind::Data);
        }
        let place = self.append_header(port, Header::prefix(KIND, id), KIND.record_words());
        write_data(port, place, data);
    }

    /// Records 128 bits of data.
    #[inline(always)]
    pub fn record_data_16b<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId, data: [u64; 2]) {
        const KIND: PacketKind = PacketKind::TimestampedData16B;
        if !self.take(bytes(KIND.record_words()), headroom(port, METADATA_HEADROOM)) {
            return self.lose(LossKind::Data);
        }
        let place = self.append_header(port, Header::prefix(KIND, id), KIND.record_words());
        write_data(port, place, data[0]);
        write_data(port, place.wrapping_add(8), data[1]);
    }

    /// Records an event.
    #[inline(always)]
    pub fn record_event<P: Port + ?Sized>(&mut self, port: &mut P, event: u16) {
        const EVENT: i32 = bytes(marker::MARKER_WORDS);
        if !self.take(EVENT, headroom(port, DISPATCH_HEADROOM)) {
            return self.lose(LossKind::Event);
        }
        self.append_marker(port, Header::prefix(PacketKind::TimestampedEvent, ZoneId(event)));
    }

    /// Whether `words` more words of an ordinary record fit.
    #[must_use]
    pub fn has_room<P: Port + ?Sized>(&self, port: &P, words: u32) -> bool {
        let room = self.room - headroom(port, DISPATCH_HEADROOM);
        u32::try_from(room).is_ok_and(|room| room / 4 >= words)
    }

    /// Takes `size` bytes of room if afterwards `headroom` bytes are left.
    #[inline(always)]
    pub(crate) fn take(&mut self, size: i32, headroom: i32) -> bool {
        let left = self.room - size;
        if left < headroom {
            return false;
        }
        self.room = left;
        true
    }

    /// Appends a marker for which room has been taken.
    #[inline(always)]
    pub(crate) fn append_marker<P: Port + ?Sized>(&mut self, port: &mut P, prefix: u32) {
        self.append_header(port, prefix, marker::MARKER_WORDS);
    }

    /// Appends the marker of a record of `words` words; returns the place of what follows.
    #[inline(always)]
    fn append_header<P: Port + ?Sized>(&mut self, port: &mut P, prefix: u32, words: usize) -> u32 {
        // The cursor first: a load from local RAM behind those of the clock waits for them.
        let place = self.cursor;
        let now = port.now();
        self.cursor = place.wrapping_add(bytes(words).cast_unsigned());
        write_marker(port, place, prefix, now);
        place.wrapping_add(MARKER_BYTES)
    }

    /// Appends two words for which room has been taken.
    pub(crate) fn append_pair<P: Port + ?Sized>(&mut self, port: &mut P, [high, low]: [u32; 2]) {
        let place = self.cursor;
        self.cursor = place.wrapping_add(8);
        port.store(place, high);
        port.store(place.wrapping_add(4), low);
    }

    /// Fills up to a multiple of the push alignment; returns the words to push.
    ///
    /// The cursor stays, so that the end of an open zone takes the padding's place.
    #[inline(always)]
    pub(crate) fn pad<P: Port + ?Sized>(&self, port: &mut P, vector: u32) -> u32 {
        let place = self.cursor;
        let words = place.wrapping_sub(vector) >> 2;
        if words.is_multiple_of(PUSH_ALIGN_WORDS) {
            return words;
        }
        port.store(place, marker::EMPTY_HEADER);
        port.store(place.wrapping_add(4), 0);
        words.wrapping_add(2)
    }

    /// Empties the optional part; the ends of open zones keep their words.
    #[inline(always)]
    pub(crate) fn empty<P: Port + ?Sized>(&mut self, port: &P, vector: u32) {
        let first = vector.wrapping_add(FIRST_OPTIONAL_BYTES);
        let mut room = port.opaque(OPTIONAL_BYTES.cast_unsigned()).cast_signed();
        // Before the first launch no zone is open.
        if self.cursor != 0 {
            room = (self.room & !CLOSED) + self.cursor.wrapping_sub(first).cast_signed();
        }
        self.room = room;
        self.cursor = first;
    }

    /// Closes the room, so that every probe counts a loss.
    #[inline(always)]
    pub(crate) fn close_room(&mut self) {
        self.room |= CLOSED;
    }

    /// The rule of dispatch kernels: push once only the headroom is left.
    fn push_when_nearly_full<P: Port + ?Sized>(&mut self, port: &mut P) {
        const NEARLY_FULL: i32 = bytes(vector::VECTOR_WORDS - DISPATCH_HEADROOM_WORDS);
        if self.cursor.wrapping_sub(port.vector_place(port.risc_index()))
            >= NEARLY_FULL.cast_unsigned()
        {
            self.quick_push(port);
        }
    }
}

const MARKER_BYTES: u32 = word_count(marker::MARKER_WORDS) * 4;
const PUSH_ALIGN_WORDS: u32 = word_count(vector::PUSH_ALIGN_WORDS);
const DISPATCH_HEADROOM: i32 = bytes(DISPATCH_HEADROOM_WORDS);
const METADATA_HEADROOM: i32 = bytes(DISPATCH_METADATA_HEADROOM_WORDS);

/// Bytes that a record must leave free: none outside of dispatch kernels.
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

/// Writes data as the format has it, high word first.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "the two halves are what is written")]
fn write_data<P: Port + ?Sized>(port: &mut P, place: u32, data: u64) {
    port.store(place, (data >> 32) as u32);
    port.store(place.wrapping_add(4), data as u32);
}
