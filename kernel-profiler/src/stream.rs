//! Streaming: each RISC's vector is a ring of cells, which is drained while kernels run.
//!
//! [`wire::stream`] documents the format. A zone is one cell of two words. The cell is written when
//! the zone ends; nothing is written when the zone begins. C++ and Rust share the variables of
//! [`crate::state`]. In this mode, three of them have another meaning:
//!
//! | variable | meaning |
//! |---|---|
//! | room | address of the end of the current chunk; 0 if the ring is full, and while no launch is recorded |
//! | next | address of the next cell; if the ring is full, a number that identifies the chunk that must be read to make room; while no launch is recorded, bits that describe the latest launch |
//! | sum headers | first word of each total, 0 while the accumulator is unused |
//!
//! All zeros are a valid state: every record is counted as lost.
//!
//! A chunk is begun only when all of its cells are free, so that one comparison decides whether
//! there is room and whether cells must be published. The first record that does not fit into a
//! chunk publishes the chunk.
//!
//! | question | file |
//! |---|---|
//! | what does a record write? | this file |
//! | what happens at the end of a chunk, and if the ring is full? | `stream/turn.rs` |
//! | how does a launch begin and end? | `stream/lane.rs` |
//!
//! # Order of cells
//! The time of a cell is never earlier than the time of the cell before it, because a record reads
//! the clock first and takes its cells afterwards.
//!
//! # Limits
//! The duration of a zone is computed from the clock's low word, so a duration of 2^32 cycles (3 to
//! 4 s) or more is recorded modulo 2^32. The durations of the launch's own zones have 64 bits.

mod lane;
mod turn;

use crate::{
    port::{ClockWords, Port, whole_time},
    state::{State, offset},
};
use wire::{
    PacketKind, ZoneId,
    loss::LossKind,
    stream::{CELL_WORDS, CHUNK_CELLS, CODE_SHIFT, Cell, Code, RING_CELLS, ZONE_CYCLES_MAX},
    vector::VECTOR_WORDS,
};

const CELL_BYTES: u32 = offset(CELL_WORDS);
const CHUNK_BYTES: u32 = offset(CELL_WORDS * CHUNK_CELLS);
const _: () = assert!(CELL_WORDS * RING_CELLS == VECTOR_WORDS);

/// Start time of a zone, if records are streamed. In builds that never stream, the value takes no
/// memory.
#[derive(Clone, Copy, Default)]
pub(crate) struct Begun<T> {
    #[cfg(any(feature = "stream", not(target_arch = "riscv32")))]
    time: T,
    #[cfg(not(any(feature = "stream", not(target_arch = "riscv32"))))]
    time: core::marker::PhantomData<T>,
}

impl<T: Copy + Default> Begun<T> {
    /// Reads the time by calling `time`, if records are streamed.
    #[inline(always)]
    pub(crate) fn now(is_streaming: bool, time: impl FnOnce() -> T) -> Self {
        #[cfg(any(feature = "stream", not(target_arch = "riscv32")))]
        return Self { time: if is_streaming { time() } else { T::default() } };
        #[cfg(not(any(feature = "stream", not(target_arch = "riscv32"))))]
        {
            let _ = (is_streaming, time);
            Self { time: core::marker::PhantomData }
        }
    }

    /// Returns the time that was read, or the default value if records are not streamed.
    #[inline(always)]
    pub(crate) fn time(self) -> T {
        #[cfg(any(feature = "stream", not(target_arch = "riscv32")))]
        return self.time;
        #[cfg(not(any(feature = "stream", not(target_arch = "riscv32"))))]
        T::default()
    }
}

/// Returns the first word of a cell with a code and a field.
const fn head(code: Code, field: u16) -> u32 {
    Cell::new(code, field, 0).head
}

/// Returns the first word of a cell with the total of a sum.
pub(crate) const fn total_head(id: ZoneId) -> u32 {
    head(Code::TOTAL, id.0)
}

impl State {
    fn limit(&self) -> u32 {
        self.room().cast_unsigned()
    }

    fn set_limit(&mut self, place: u32) {
        self.set_room(place.cast_signed());
    }

    /// Ends a zone; `begun` is the low word of the clock at its beginning.
    #[inline(always)]
    pub(crate) fn end_zone<P: Port + ?Sized>(&mut self, port: &mut P, id: ZoneId, begun: u32) {
        let (place, limit) = (self.next(), self.limit());
        let ended = port.now_low();
        let cycles = ended.wrapping_sub(begun);
        if place >= limit || cycles > ZONE_CYCLES_MAX || !Code(id.0).is_zone() {
            return self.write_zone_with_care(port, id, [cycles, 0], ended);
        }
        self.set_next(place.wrapping_add(CELL_BYTES));
        write_cell(port, place, head(Code(id.0), 0).wrapping_add(cycles), ended);
    }

    /// Ends a zone; `begun` is the time of its beginning.
    #[inline(never)]
    pub(crate) fn end_measured_zone<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        id: ZoneId,
        begun: ClockWords,
    ) {
        let ended = whole_time(port);
        let (low, is_borrowed) = ended.low.overflowing_sub(begun.low);
        let high = ended.high.wrapping_sub(begun.high).wrapping_sub(is_borrowed.into());
        self.write_zone_with_care(port, id, [low, high], ended.low);
    }

    /// Writes a zone with any id and any duration. `cycles` and `high_cycles` are the low and the
    /// high word of the duration in cycles; `ended` is the low word of the zone's end time.
    #[cold]
    #[inline(never)]
    fn write_zone_with_care<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        id: ZoneId,
        [cycles, high_cycles]: [u32; 2],
        ended: u32,
    ) {
        let is_short = Code(id.0).is_zone() && high_cycles == 0 && cycles <= ZONE_CYCLES_MAX;
        let Some(place) =
            self.take_cells(port, if is_short { 1 } else { 2 }, LossKind::Zone, ended)
        else {
            return;
        };
        if is_short {
            write_cell(port, place, head(Code(id.0), 0).wrapping_add(cycles), ended);
        } else {
            write_cell(port, place, head(Code::LONG_ZONE, id.0), ended);
            write_cell(port, place.wrapping_add(CELL_BYTES), cycles, high_cycles);
        }
    }

    /// Takes consecutive cells of one chunk for a record. Returns their address, or `None` if the
    /// record is lost.
    ///
    /// `time` is the low word of the record's time.
    #[inline(always)]
    fn take_cells<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        cells: u32,
        kind: LossKind,
        time: u32,
    ) -> Option<u32> {
        let place = self.next();
        let end = place.wrapping_add(cells.wrapping_mul(CELL_BYTES));
        if end <= self.limit() {
            self.set_next(end);
            return Some(place);
        }
        self.take_behind_chunk(port, cells, kind, time)
    }

    /// Writes a data record; `time` is the low word of its time. For 64 bits of data, only
    /// `values[0]` is used.
    #[inline(always)]
    pub(crate) fn stream_data<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        (kind, id): (PacketKind, ZoneId),
        values: [u64; 2],
        time: u32,
    ) {
        let is_wide = matches!(kind, PacketKind::TimestampedData16B);
        let (code, cells) = if is_wide { (Code::DATA_16B, 3) } else { (Code::DATA, 2) };
        if let Some(place) = self.take_cells(port, cells, LossKind::Data, time) {
            write_cell(port, place, head(code, id.0), time);
            write_bits(port, place.wrapping_add(CELL_BYTES), values[0]);
            if is_wide {
                write_bits(port, place.wrapping_add(2 * CELL_BYTES), values[1]);
            }
        }
    }

    /// Writes an event.
    #[inline(always)]
    pub(crate) fn stream_event<P: Port + ?Sized>(&mut self, port: &mut P, event: u16) {
        let time = port.now_low();
        if let Some(place) = self.take_cells(port, 1, LossKind::Event, time) {
            write_cell(port, place, head(Code::EVENT, 0) | u32::from(event), time);
        }
    }
}

#[inline(always)]
fn write_cell<P: Port + ?Sized>(port: &mut P, place: u32, head: u32, value: u32) {
    port.store(place, head);
    port.store(place.wrapping_add(4), value);
}

#[inline(always)]
fn write_bits<P: Port + ?Sized>(port: &mut P, place: u32, bits: u64) {
    let cell = Cell::from_bits(bits);
    write_cell(port, place, cell.head, cell.value);
}

const _: () = assert!(CODE_SHIFT == 16 && ZONE_CYCLES_MAX == u16::MAX as u32);
