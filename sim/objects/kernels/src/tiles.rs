//! A kernel that moves data tiles from one circular buffer to another. In a group of cores, one
//! core (the reader) can read tiles for the whole group; it then signals the tiles to the others.
//!
//! The counters of a buffer are in registers of a stream, as in tt-metal: the producer counts the
//! tiles that it has pushed, and the consumer counts the tiles that it has popped. After each
//! launch both counts are equal; the next launch continues to count from them. The semaphores are
//! words in L1, which the host clears before each launch.
//!
//! # Compatibility
//! `stream_io_map.h` and `noc_overlay_parameters.h` of both chips, for the registers.

use crate::{
    body::Environment,
    noc::{Initiator, Remote},
    registers::{IS_BLACKHOLE, read, write},
    risc::{Launch, wall_clock_low},
    script_body::{IS_WRITE, transfer},
    tile_words::{
        AHEAD, ASKED_SEMAPHORE, BARRIER, BUFFER_MASK, BYTES, CAPACITY, CYCLES, FIRST_SILENT_BUFFER,
        INPUT, JITTER, NO_BUFFER, NO_TILE, OTHERS, OUTPUT, READER, RECTANGLE, SEMAPHORES_END,
        SENT_SEMAPHORE, TILES, WORD_COUNT, WRITTEN_SEMAPHORE,
    },
};
use kernel_profiler::{device_signal, device_wait};
use wire::wait::Signal;

/// Pops tiles from the input buffer, works on each tile, and pushes it to the output buffer. Either
/// buffer may be missing. `tile_words` describes the words of the kernel's data.
pub(crate) fn pass_tiles(launch: &mut Launch) {
    let mut input = Buffer::new(launch.data(INPUT), Buffer::popped);
    let mut output = Buffer::new(launch.data(OUTPUT), Buffer::pushed);
    let (capacity, ahead) = (launch.data(CAPACITY), launch.data(AHEAD));
    let group = Group::from_launch(launch);
    for tile in 1..=launch.data(TILES) {
        if let Some(input) = &input {
            input.wait_for_tile();
        } else if ahead != 0 {
            wait_for_semaphore(WRITTEN_SEMAPHORE, (tile - 1).saturating_sub(ahead));
        }
        if let Some(output) = &output {
            output.wait_for_room(capacity);
        }
        if group.reader == NO_TILE {
            work(launch, tile, output.is_none());
        } else {
            group.ask(launch);
        }
        group.share(launch, tile);
        if let Some(input) = &mut input {
            input.pop();
        }
        if let Some(output) = &mut output {
            output.push();
        } else if ahead != 0 {
            write(WRITTEN_SEMAPHORE, tile);
            device_signal!(SEM_SET, WRITTEN_SEMAPHORE);
        }
    }
}

/// Transfers a tile and takes the configured cycles; the last ones are a wait at a NoC barrier.
#[inline(always)]
fn work(launch: &mut Launch, tile: u32, is_write: bool) {
    let (cycles, jitter) = (launch.data(CYCLES), launch.data(JITTER));
    let (bytes, barrier) = (launch.data(BYTES), launch.data(BARRIER));
    let form = if is_write { IS_WRITE } else { 0 };
    if bytes != 0 {
        transfer(launch, form | tile << 8, bytes);
    }
    let spread = cycles * jitter / 100;
    let drawn = launch.draw(spread + 1);
    let taken = cycles - spread / 2 + drawn;
    let waited = taken * barrier / 100;
    launch.spin(taken - waited);
    if waited != 0 {
        wait_at_barrier(launch, is_write, waited);
    }
}

/// Group of cores that share a reader, as seen by one of these cores.
struct Group {
    /// Coordinates of the core that reads for this core.
    reader: u32,
    /// Number of other cores for which this core reads.
    others: u32,
    rectangle: u32,
}

impl Group {
    fn from_launch(launch: &Launch) -> Self {
        let [reader, others, rectangle] = [READER, OTHERS, RECTANGLE].map(|of| launch.data(of));
        Self { reader, others, rectangle }
    }

    /// Signals to the group's reader that this core is ready for a tile.
    fn ask(&self, launch: &Launch) {
        increment(launch, self.reader, ASKED_SEMAPHORE);
    }

    /// Waits for the reader's signal. On the reader, waits for all requests, then sends the signal.
    fn share(&self, launch: &Launch, tile: u32) {
        if self.reader != NO_TILE {
            wait_for_semaphore(SENT_SEMAPHORE, tile);
        } else if self.others != 0 {
            wait_for_semaphore(ASKED_SEMAPHORE, tile * self.others);
            self.signal(launch, tile);
        }
    }

    fn signal(&self, launch: &Launch, tile: u32) {
        if self.rectangle == NO_TILE {
            for other in 0..self.others {
                let other = launch.data(WORD_COUNT as u32 + other);
                increment(launch, other, SENT_SEMAPHORE);
            }
        } else {
            write(SENT_COUNT, tile);
            let noc = Initiator::from_risc(launch.risc());
            let there = Remote { tile: self.rectangle, address: SENT_SEMAPHORE };
            noc.write_to_all(SENT_COUNT, there, 4);
            device_signal!(SEM_SET_REMOTE, remote(launch, there));
        }
    }
}

/// L1 word with a number of sent tiles, for the NoC to copy to the semaphores of several cores.
const SENT_COUNT: u32 = SEMAPHORES_END;

/// Increments a semaphore in another tile.
#[inline(never)]
fn increment(launch: &Launch, tile: u32, semaphore: u32) {
    let there = Remote { tile, address: semaphore };
    Initiator::from_risc(launch.risc()).increment(there);
    device_signal!(SEM_SET_REMOTE, remote(launch, there));
}

/// Returns the data of the record of a signal; `there` is the semaphore in one or more other tiles.
///
/// # Compatibility
/// `NOC_XY_ADDR` and `NOC_MULTICAST_ADDR` of `noc_parameters.h`.
fn remote(launch: &Launch, there: Remote) -> u64 {
    let noc = launch.noc().unwrap_or(0);
    let address = u64::from(there.tile) << 36 | u64::from(there.address);
    Signal::Remote { noc, address }.to_data()
}

/// Waits until a semaphore in the RISC's own tile is at least `value`.
#[inline(never)]
fn wait_for_semaphore(semaphore: u32, value: u32) {
    device_wait!(SEM_WAIT, semaphore, read(semaphore) >= value);
}

/// Waits until the NoC has answered all requests of one kind and `cycles` cycles have passed.
fn wait_at_barrier(launch: &Launch, is_write: bool, cycles: u32) {
    let noc = Initiator::from_risc(launch.risc());
    let number = launch.noc().map_or(0, u32::from);
    let sent = noc.sent(is_write);
    let start = wall_clock_low();
    // Each poll reads both counters, because the simulator detects waits by these reads.
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

/// A circular buffer as seen by its producer or its consumer.
struct Buffer {
    number: u32,
    /// Number of tiles that this core has pushed or popped.
    count: u32,
}

impl Buffer {
    /// Returns the buffer with this number and its current count; `None` for [`NO_BUFFER`].
    fn new(number: u32, count: fn(u32) -> u32) -> Option<Self> {
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
