//! A kernel that passes tiles on from one circular buffer to another.
//!
//! The counters of a buffer are in registers of a stream, as those of tt-metal's are: its producer
//! counts tiles that it has pushed, its consumer those that it has popped. A launch begins where the
//! one before has ended, with as many popped as pushed.
//!
//! # Compatibility
//! `stream_io_map.h` and `noc_overlay_parameters.h` of both chips, for the registers.

use crate::{
    body::Environment,
    noc::Initiator,
    registers::{IS_BLACKHOLE, read, write},
    risc::{Launch, wall_clock_low},
    script_body::{IS_WRITE, transfer},
    tile_words::{
        BARRIER, BUFFER_MASK, BYTES, CAPACITY, CYCLES, FIRST_SILENT_BUFFER, INPUT, JITTER,
        NO_BUFFER, OUTPUT, TILES,
    },
};
use kernel_profiler::{device_signal, device_wait};

/// Takes tiles from a buffer, works on each, and puts them into another; either may be missing.
/// The words of its data are those of `tile_words`.
pub(crate) fn pass_tiles(launch: &mut Launch) {
    let (cycles, jitter) = (launch.data(CYCLES), launch.data(JITTER));
    let mut input = Buffer::of(launch.data(INPUT), Buffer::popped);
    let mut output = Buffer::of(launch.data(OUTPUT), Buffer::pushed);
    let (capacity, bytes) = (launch.data(CAPACITY), launch.data(BYTES));
    let form = if output.is_some() { 0 } else { IS_WRITE };
    let barrier = launch.data(BARRIER);
    for tile in 1..=launch.data(TILES) {
        if let Some(input) = &input {
            input.wait_for_tile();
        }
        if let Some(output) = &output {
            output.wait_for_room(capacity);
        }
        if bytes != 0 {
            transfer(launch, form | tile << 8, bytes);
        }
        let spread = cycles * jitter / 100;
        let drawn = launch.draw(spread + 1);
        let taken = cycles - spread / 2 + drawn;
        let waited = taken * barrier / 100;
        launch.spin(taken - waited);
        if waited != 0 {
            wait_at_barrier(launch, form == IS_WRITE, waited);
        }
        if let Some(input) = &mut input {
            input.pop();
        }
        if let Some(output) = &mut output {
            output.push();
        }
    }
}

/// Waits until the NoC has answered everything, and for the time that a tile's data takes.
fn wait_at_barrier(launch: &Launch, is_write: bool, cycles: u32) {
    let noc = Initiator::of(launch.risc());
    let number = launch.noc().map_or(0, u32::from);
    let sent = noc.sent(is_write);
    let start = wall_clock_low();
    // Both are looked at in each poll, so that the bus sees each.
    let is_over = || {
        let has_answers = noc.answered(is_write) == sent;
        has_answers & (wall_clock_low().wrapping_sub(start) >= cycles)
    };
    if is_write {
        device_wait!(NOC_WRITE_BARRIER, number, is_over());
    } else {
        device_wait!(NOC_READ_BARRIER, number, is_over());
    }
}

/// A circular buffer as one of its two users sees it.
struct Buffer {
    number: u32,
    /// Tiles that this user has pushed or popped.
    count: u32,
}

impl Buffer {
    /// The buffer with a number, with what `count` says of it; none for [`NO_BUFFER`].
    fn of(number: u32, count: fn(u32) -> u32) -> Option<Self> {
        (number != NO_BUFFER).then(|| Self { number, count: count(number) })
    }

    fn pushed(number: u32) -> u32 {
        read(register(number, PUSHED))
    }

    fn popped(number: u32) -> u32 {
        read(register(number, POPPED))
    }

    #[inline(always)]
    fn has_tile(&self) -> bool {
        Self::pushed(self.number).wrapping_sub(self.count) & BUFFER_MASK != 0
    }

    #[inline(always)]
    fn has_room(&self, capacity: u32) -> bool {
        self.count.wrapping_sub(Self::popped(self.number)) & BUFFER_MASK < capacity
    }

    fn wait_for_tile(&self) {
        if self.number < FIRST_SILENT_BUFFER {
            device_wait!(CB_WAIT, self.number, self.has_tile());
        } else {
            while !self.has_tile() {}
        }
    }

    fn wait_for_room(&self, capacity: u32) {
        if self.number < FIRST_SILENT_BUFFER {
            device_wait!(CB_RESERVE, self.number, self.has_room(capacity));
        } else {
            while !self.has_room(capacity) {}
        }
    }

    fn pop(&mut self) {
        self.count = self.count.wrapping_add(1) & BUFFER_MASK;
        write(register(self.number, POPPED), self.count);
        if self.number < FIRST_SILENT_BUFFER {
            device_signal!(CB_POP, self.number);
        }
    }

    fn push(&mut self) {
        self.count = self.count.wrapping_add(1) & BUFFER_MASK;
        write(register(self.number, PUSHED), self.count);
        if self.number < FIRST_SILENT_BUFFER {
            device_signal!(CB_PUSH, self.number);
        }
    }
}

const STREAMS: u32 = 0xFFB4_0000;
const STREAM_BYTES: u32 = 0x1000;
const PUSHED: u32 = if IS_BLACKHOLE { 0x28 } else { 0x10 };
const POPPED: u32 = if IS_BLACKHOLE { 0x20 } else { 0x0C };

#[inline(always)]
const fn register(buffer: u32, offset: u32) -> u32 {
    STREAMS + STREAM_BYTES * buffer + offset
}
