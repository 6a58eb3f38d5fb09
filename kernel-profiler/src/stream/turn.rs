//! Transition from one chunk of cells to the next: publication, first cells, and the policy for a
//! full ring.
//!
//! | policy | if the ring is full |
//! |---|---|
//! | drop newest | records are counted as lost until a whole chunk is free; a cell then holds their number |
//! | overwrite oldest | does not occur: the runtime ignores what has been read |
//! | block | the RISC waits, up to a time limit, and records the wait as a zone; after a time-out it drops records, and does not wait again until something has been read |
//! | keep one of N | as in drop newest; of N chunks, N - 1 are not published but overwritten |

use super::{CELL_BYTES, CHUNK_BYTES, head, write_cell};
use crate::{
    port::{ClockWords, NEAR_END, Port, whole_time},
    stall::STALL_ZONE,
    state::{State, offset},
};
use wire::{
    loss::LossKind,
    stream::{
        CHUNK_CELLS, Cell, Code, LaunchCell, Policy, RING_CELLS, ToldLaunch, ZONE_CYCLES_MAX,
        words::{self, LAUNCHES, POLICY, PROGRAM, READ, SKIPPED, TOLD, TRACE_COUNT, WRITTEN},
    },
};

/// Minimum value of the state's variable `next` (see [`crate::stream`]) while a launch is recorded.
/// At other times, `next` is lower.
pub(super) const OPEN: u32 = 4;
/// Bit of `next` while no launch is recorded: records were lost, and no cell contains their number
/// yet.
pub(super) const CLOSED_WITH_LOSS: u32 = 1;
/// Bit of `next` while no launch is recorded: the latest launch runs no kernel on this core.
pub(super) const CLOSED_AS_IDLE: u32 = 2;

#[expect(clippy::cast_possible_truncation, reason = "8 and 256")]
pub(super) const CHUNK: u32 = CHUNK_CELLS as u32;
#[expect(clippy::cast_possible_truncation, reason = "8 and 256")]
const RING: u32 = RING_CELLS as u32;

/// Cell that is written at the beginning of a chunk, in addition to the cells of the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    Nothing,
    /// Cell with the number of lost records, written after the cells of the launch.
    Lost,
    /// Cell with the number of lost records, written before the cells of the launch.
    LostBefore,
    /// Cell with the number of skipped cells.
    Skipped,
}

/// A launch, as described by its cells in a ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    pub(super) number: u32,
    pub(super) program: u32,
    pub(super) replays: u32,
}

impl Launch {
    /// Reads the current launch from the control words in which the first RISC has announced it.
    pub(super) fn read<P: Port + ?Sized>(port: &mut P) -> Self {
        let words = port.control_place(0);
        let number = port.load(words + offset(LAUNCHES));
        let program = port.load(words + offset(PROGRAM));
        Self { number, program, replays: port.load(words + offset(TRACE_COUNT)) }
    }
}

/// Reads this RISC's word in the block of control words that begins at index `word`.
pub(super) fn own<P: Port + ?Sized>(port: &mut P, word: usize) -> u32 {
    let place = port.own_place() + offset(word);
    port.load(place)
}

/// Writes this RISC's word in the block of control words that begins at index `word`.
pub(super) fn set_own<P: Port + ?Sized>(port: &mut P, word: usize, value: u32) {
    let place = port.own_place() + offset(word);
    port.store(place, value);
}

/// Returns the address of the cell whose number is `number`.
pub(super) fn place_of<P: Port + ?Sized>(port: &P, number: u32) -> u32 {
    port.own_vector() + number % RING * CELL_BYTES
}

/// Returns true if there is no room for the chunk that begins with cell `first`, because the chunk
/// would overwrite unread cells. `read` is the number of cells that have been read.
pub(super) const fn is_full(first: u32, read: u32) -> bool {
    first.wrapping_add(CHUNK).wrapping_sub(read) > RING
}

/// Returns a number that identifies the chunk that must be read before there is room. The number
/// differs from every cell's address.
const fn blocking_chunk(read: u32) -> u32 {
    read | (CHUNK - 1)
}

#[expect(clippy::cast_possible_truncation, reason = "halves of words")]
const fn told(number: u32, high: u32) -> u32 {
    ToldLaunch { number: number as u16, has_ended: false, time_high: high as u16 }.to_word()
}

/// Returns the clock's high word at a time less than 2^32 cycles ago, given the time's low word.
fn high_word_at<P: Port + ?Sized>(port: &mut P, time: u32) -> u32 {
    let now = whole_time(port);
    now.high.wrapping_sub((now.low < time).into())
}

/// Writes the cells of the current launch, and publishes them. Returns the address after them.
///
/// The launch is marked as announced only after its cells are published, so that a reader that sees
/// the mark also finds the cells.
#[expect(clippy::cast_possible_truncation, reason = "halves of words")]
pub(super) fn write_launch<P: Port + ?Sized>(
    port: &mut P,
    place: u32,
    launch: Launch,
    time: ClockWords,
) -> u32 {
    write_cell(port, place, head(Code::LAUNCH, launch.number as u16), time.low);
    let cell = LaunchCell {
        program: launch.program,
        trace_counter: launch.replays as u16,
        time_high: time.high as u16,
    };
    let Cell { head, value } = cell.to_cell();
    write_cell(port, place + CELL_BYTES, head, value);
    let end = place + 2 * CELL_BYTES;
    publish(port, end);
    set_own(port, TOLD, told(launch.number, time.high));
    end
}

fn write_lost<P: Port + ?Sized>(port: &mut P, place: u32) -> u32 {
    let counts = LossKind::ALL.map(|kind| own(port, kind.control_word()));
    let lost = counts.into_iter().fold(0_u32, u32::wrapping_add);
    write_cell(port, place, head(Code::LOST, 0), lost);
    place + CELL_BYTES
}

/// Writes the first cells of a chunk or of a launch. Returns the address after them.
#[cold]
#[inline(never)]
pub(super) fn write_first_cells<P: Port + ?Sized>(
    port: &mut P,
    mut place: u32,
    first: First,
    time: u32,
) -> u32 {
    if first == First::LostBefore {
        place = write_lost(port, place);
    }
    let time = ClockWords { high: high_word_at(port, time), low: time };
    let launch = Launch::read(port);
    if own(port, TOLD) != told(launch.number, time.high) {
        place = write_launch(port, place, launch, time);
    }
    match first {
        First::Nothing | First::LostBefore => place,
        First::Lost => write_lost(port, place),
        First::Skipped => {
            let skipped = own(port, SKIPPED);
            write_cell(port, place, head(Code::SKIPPED, 0), skipped);
            place + CELL_BYTES
        }
    }
}

/// Publishes the cells before the address `place`.
///
/// Publishes nothing if more than one chunk of cells would be published. This happens after a host
/// has zeroed the control vector, and with it the number of published cells; the host would then
/// read cells that were never written.
pub(super) fn publish<P: Port + ?Sized>(port: &mut P, place: u32) {
    let written = own(port, WRITTEN);
    let number = place.wrapping_sub(port.own_vector()) / CELL_BYTES;
    let cells = number.wrapping_sub(written) % RING;
    if cells <= CHUNK {
        set_own(port, WRITTEN, written.wrapping_add(cells));
    }
}

/// Skips the chunk that ends at the address `end`, if the policy discards this chunk; returns true
/// if so. A chunk that is already partly published, as at the beginning of a launch, is kept.
fn skip_chunk<P: Port + ?Sized>(port: &mut P, end: u32, policy: u32) -> bool {
    let (written, skipped) = (own(port, WRITTEN), own(port, SKIPPED));
    let chunk = written.wrapping_add(skipped) / CHUNK;
    let others = (1_u32 << (policy >> Policy::KIND_BITS & 15)) - 1;
    let begin = place_of(port, written);
    if chunk & others == 0 || end.wrapping_sub(begin) != CHUNK_BYTES {
        return false;
    }
    set_own(port, SKIPPED, skipped.wrapping_add(CHUNK));
    true
}

/// Waits for at most 2^`cycles_log2` cycles until the chunk that begins with cell `first` is free.
///
/// Does not wait if the last wait timed out and nothing has been read since. Returns the number of
/// cells that have been read.
fn await_room<P: Port + ?Sized>(
    port: &mut P,
    first: u32,
    mut read: u32,
    (cycles_log2, begun): (u32, u32),
) -> u32 {
    if own(port, words::WAITED_IN_VAIN) == read.wrapping_add(1) {
        return read;
    }
    loop {
        port.forget_cached();
        read = own(port, READ);
        if !is_full(first, read) {
            return read;
        }
        if port.now_low().wrapping_sub(begun) >> (cycles_log2 & 31) != 0 {
            break;
        }
        port.rest();
    }
    set_own(port, words::WAITED_IN_VAIN, read.wrapping_add(1));
    read
}

/// Writes the zone of a wait that ends now. Returns the address after the zone.
fn write_stall<P: Port + ?Sized>(port: &mut P, place: u32, begun: u32) -> u32 {
    let ended = port.now_low();
    let cycles = ended.wrapping_sub(begun);
    if Code(STALL_ZONE.0).is_zone() && cycles <= ZONE_CYCLES_MAX {
        write_cell(port, place, head(Code(STALL_ZONE.0), 0) | cycles, ended);
        return place + CELL_BYTES;
    }
    write_cell(port, place, head(Code::LONG_ZONE, STALL_ZONE.0), ended);
    write_cell(port, place + CELL_BYTES, cycles, 0);
    place + 2 * CELL_BYTES
}

impl State {
    /// Begins the next chunk with its first cells, and takes the cells after them for a record.
    ///
    /// Returns the address of the record's cells; `None` if the ring is full.
    #[cold]
    #[inline(never)]
    pub(super) fn begin_chunk<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        cells: u32,
        first: First,
        time: u32,
    ) -> Option<u32> {
        let written = own(port, WRITTEN) & !(CHUNK - 1);
        let begin = place_of(port, written);
        let mut has_waited = false;
        if is_full(written, own(port, READ)) {
            port.forget_cached();
            let word = own(port, POLICY);
            let mut read = own(port, READ);
            let policy = Policy::from_word(word);
            if let Some(Policy::Block { cycles_log2 }) = policy
                && is_full(written, read)
            {
                has_waited = true;
                read = await_room(port, written, read, (cycles_log2.into(), time));
            }
            if policy != Some(Policy::OverwriteOldest) && is_full(written, read) {
                self.set_limit(0);
                // This is the value read above, because the host may have read more meanwhile.
                self.set_next(blocking_chunk(read));
                return None;
            }
        }
        let place = write_first_cells(port, begin, first, time);
        let mut next = place + cells * CELL_BYTES;
        if has_waited {
            next = write_stall(port, next, time);
        }
        self.set_limit(begin + CHUNK_BYTES);
        self.set_next(next);
        Some(place)
    }

    /// Takes cells for a record when the current chunk has no room for it; returns `None` if the
    /// record is lost.
    #[inline(never)]
    pub(super) fn take_behind_chunk<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        cells: u32,
        kind: LossKind,
        time: u32,
    ) -> Option<u32> {
        let (place, limit) = (self.next(), self.limit());
        if limit == 0 {
            return self.take_where_full(port, cells, kind, time);
        }
        if place < limit {
            port.store(place, head(Code::PADDING, 0));
        }
        let policy = own(port, POLICY);
        let mut first = First::Nothing;
        if matches!(Policy::from_word(policy), Some(Policy::KeepOneOf { .. }))
            && skip_chunk(port, limit, policy)
        {
            first = First::Skipped;
        } else {
            publish(port, limit);
        }
        let place = self.begin_chunk(port, cells, first, time);
        if place.is_none() {
            port.count_loss(kind);
        }
        place
    }

    /// Takes cells for a record when the ring was full before, or when no launch is recorded;
    /// returns `None` if the record is lost.
    fn take_where_full<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        cells: u32,
        kind: LossKind,
        time: u32,
    ) -> Option<u32> {
        let state = self.next();
        if state < OPEN {
            self.set_next(state | CLOSED_WITH_LOSS);
            port.count_loss(kind);
            return None;
        }
        port.forget_cached();
        let is_as_full = blocking_chunk(own(port, READ)) == state;
        let place =
            if is_as_full { None } else { self.begin_chunk(port, cells, First::Lost, time) };
        if place.is_none() {
            port.count_loss(kind);
        }
        place
    }
}

/// Returns true if the clock's low word may have wrapped after it was read and before the high word
/// was read. The high word may then be 1 too large.
pub(super) const fn may_be_torn(time: ClockWords) -> bool {
    time.low >= NEAR_END
}
