//! The end of a chunk, and the begin of the next one: what is published, what comes first in it, and
//! what happens where the ring is full.
//!
//! | policy | where the ring is full |
//! |---|---|
//! | drop newest | records are counted as lost until a whole chunk is free; a cell then says how many |
//! | overwrite oldest | it never is: what has been read is not looked at |
//! | block | the RISC waits, for a bounded time, and records that as the zone of a stall; when it has waited in vain it drops, and waits no more until something has been read |
//! | keep one of N | as drop newest; of N chunks N - 1 are not published but filled anew |

use super::{CELL_BYTES, CHUNK_BYTES, NEAR_END, head, whole_time, write_cell};
use crate::{
    port::{ClockWords, Port},
    stall::STALL_ZONE,
    state::{State, offset},
};
use wire::{
    ZoneId,
    loss::LossKind,
    stream::{
        CHUNK_CELLS, Cell, Code, LaunchCell, Policy, RING_CELLS, ToldLaunch, ZONE_CYCLES_MAX,
        words::{self, LAUNCHES, POLICY, PROGRAM, READ, SKIPPED, TOLD, TRACE_COUNT, WRITTEN},
    },
};

/// What `next` holds outside of launches is below this.
pub(super) const OPEN: u32 = 4;
/// Records were lost, and no cell says so yet.
pub(super) const CLOSED_WITH_LOSS: u32 = 1;
/// The launch runs no kernel here.
pub(super) const CLOSED_AS_IDLE: u32 = 2;

#[expect(clippy::cast_possible_truncation, reason = "8 and 256")]
pub(super) const CHUNK: u32 = CHUNK_CELLS as u32;
#[expect(clippy::cast_possible_truncation, reason = "8 and 256")]
const RING: u32 = RING_CELLS as u32;

/// What comes first in a chunk besides the launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    Nothing,
    /// How many records were lost, in this launch.
    Lost,
    /// The same, before this launch.
    LostBefore,
    /// How many cells were skipped.
    Skipped,
}

/// A launch as its cells tell of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    pub(super) number: u32,
    pub(super) program: u32,
    pub(super) replays: u32,
}

impl Launch {
    /// The launch that runs, as the first RISC has told the others.
    pub(super) fn read<P: Port + ?Sized>(port: &mut P) -> Self {
        let words = port.control_place(0);
        let number = port.load(words + offset(LAUNCHES));
        let program = port.load(words + offset(PROGRAM));
        Self { number, program, replays: port.load(words + offset(TRACE_COUNT)) }
    }
}

/// Reads a word of this RISC's.
pub(super) fn own<P: Port + ?Sized>(port: &mut P, word: usize) -> u32 {
    let place = port.own_place() + offset(word);
    port.load(place)
}

/// Writes a word of this RISC's.
pub(super) fn set_own<P: Port + ?Sized>(port: &mut P, word: usize, value: u32) {
    let place = port.own_place() + offset(word);
    port.store(place, value);
}

/// The place of a cell.
pub(super) fn place_of<P: Port + ?Sized>(port: &P, number: u32) -> u32 {
    port.own_vector() + number % RING * CELL_BYTES
}

/// Returns true if not all cells of the chunk are free that begins with cell `first`.
pub(super) const fn is_full(first: u32, read: u32) -> bool {
    first.wrapping_add(CHUNK).wrapping_sub(read) > RING
}

/// The chunk that has to be read before there is room: a number that is no place.
const fn blocking_chunk(read: u32) -> u32 {
    read | (CHUNK - 1)
}

#[expect(clippy::cast_possible_truncation, reason = "halves of words")]
const fn told(number: u32, high: u32) -> u32 {
    ToldLaunch { number: number as u16, has_ended: false, time_high: high as u16 }.to_word()
}

/// The clock's high word at a time that was its low word less than 2^32 cycles ago.
fn high_word_at<P: Port + ?Sized>(port: &mut P, time: u32) -> u32 {
    let now = whole_time(port);
    now.high.wrapping_sub((now.low < time).into())
}

/// Writes that a launch runs, publishes that and then says so: whoever finds that a launch is told finds
/// its cells published. Returns the place behind.
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

/// Writes what comes first in a chunk, or first of a launch; returns the place behind.
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

/// Publishes the cells before a place. Not if they do not lie behind those that are published: a
/// host has zeroed the control vector meanwhile, and what it would read is not what was written there.
pub(super) fn publish<P: Port + ?Sized>(port: &mut P, place: u32) {
    let written = own(port, WRITTEN);
    let number = place.wrapping_sub(port.own_vector()) / CELL_BYTES;
    let cells = number.wrapping_sub(written) % RING;
    if cells <= CHUNK {
        set_own(port, WRITTEN, written.wrapping_add(cells));
    }
}

/// Skips the chunk that ends at a place if the policy does not keep it. One of which a part is published,
/// as where a launch begins, is kept.
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

/// Waits until the chunk that begins with a cell is free, at most 2^`cycles_log2` cycles and not where
/// the last wait was in vain and nothing was read since. Returns how many cells had been read.
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

/// Writes the zone of a wait; returns the place behind.
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
    /// Begins the next chunk, with `first` and what the clock asks for, and takes cells behind that
    /// for a record of a time. Returns their place; `None` if the ring is full.
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
                // Of what was looked at: something may have been read since.
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

    /// Takes cells where the chunk has no room for them; `None` if the record is lost.
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

    /// As [`Self::take_behind_chunk`] where there was no room before, or no launch runs.
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

    /// Ends a zone where the chunk has no room for it.
    #[inline(never)]
    pub(super) fn end_zone_behind_chunk<P: Port + ?Sized>(
        &mut self,
        port: &mut P,
        id: ZoneId,
        cycles: u32,
        ended: u32,
    ) {
        self.write_zone_with_care(port, id, [cycles, 0], ended);
    }
}

/// Returns true if a high word read with a low one may be of the time behind.
pub(super) const fn may_be_torn(time: ClockWords) -> bool {
    time.low >= NEAR_END
}
