//! Circular buffers, semaphores and compute engines of one core, between native kernels that wait
//! for each other, and increments of other cores' semaphores.
//!
//! Such kernels are [`SteppedKernel`](crate::program::SteppedKernel)s: the firmware runs those of a core in turns. When tiles or
//! room become available is known once the kernel that provides them has come that far, and a
//! kernel that asks for more says [`Progress::Waiting`](crate::program::Progress::Waiting) and is asked again. So the order of the
//! simulation decides nothing.
//!
//! # Run-ahead
//!
//! TRISC 0 and TRISC 2 hand their work to the unpacker and the packer, which do it when they can:
//! a buffer's tiles are gone, or there, only then, while the RISC has gone on to poll for the
//! next ones. TRISC 1 polls nothing. So the truth has two sides: [`WaitTruth`], for how long a
//! RISC has polled, and [`StarvationTruth`], for how long the math engine had nothing to do.
//!
//! ```text
//! reader -> buffer -> TRISC 0 : unpacker -> math engine -> packer : TRISC 2 -> buffer -> writer
//!                     two contexts   two banks of sources   two halves of the destination
//! ```
//!
//! # Compatibility
//! `cb_wait_front` and its siblings in tt-metal's `dataflow_api.h`; `llk_io_unpack.h` and
//! `llk_io_pack.h`, whose pops and pushes are queued behind the engine's work.

use super::{
    exchange::Increment,
    stage::{self, Stage, cost},
};
use crate::{
    arch::TileCoord,
    chip::ChipFacts,
    noc,
    program::KernelContext,
    random::Stream,
    truth::{ReleaseTruth, StarvationTruth, WaitTruth},
};
use kernel_profiler::{device_blocked_wait, device_signal, wait::WaitRecords};
use std::collections::{BTreeMap, BTreeSet};
use wire::{
    risc::RISCS_PER_CORE,
    wait::{Signal, WaitKind},
};

/// A queue of tiles between two RISCs.
#[derive(Clone, Debug, Default)]
struct CircularBuffer {
    capacity: u64,
    /// Cycle at which each tile became available, in their order.
    pushed_at: Vec<u64>,
    /// Cycle at which the room of each tile became available.
    popped_at: Vec<u64>,
    /// Tiles for which the consumer has waited and which it has used.
    taken: u64,
    /// Tiles for which the producer has reserved room and which it has filled.
    filled: u64,
}

/// Objects by which the kernels of a core are coupled in one launch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dataflow {
    buffers: BTreeMap<u32, CircularBuffer>,
    /// Increments of each semaphore, by their arrival.
    semaphores: BTreeMap<u32, Vec<Increment>>,
    /// When an increment by a RISC last reached each tile: they do not overtake each other.
    last_increments: BTreeMap<(usize, TileCoord), u64>,
    unpacked_at: Vec<u64>,
    computed_at: Vec<u64>,
    packed_at: Vec<u64>,
    pub(crate) starvation: StarvationTruth,
    pub(crate) waits: [Vec<WaitTruth>; RISCS_PER_CORE],
    /// Signals of each RISC.
    pub(crate) signal_counts: [u64; RISCS_PER_CORE],
    /// Waits and signals of each RISC of which some lies in a window.
    windowed_counts: [u64; RISCS_PER_CORE],
}

/// Cycles from one poll to the next.
///
/// # Compatibility
/// A load of a stream register, a comparison and a branch; Blackhole's `fence` beside it.
const POLL_CYCLES: u64 = 12;

/// Cycles in which a RISC hands a tile to its engine.
const ISSUE_CYCLES: u64 = 30;

/// Tiles that a RISC may be ahead of its engine.
const AHEAD_MAX: usize = 2;

/// Says how many tiles a buffer has room for; it does not block before.
///
/// # Panics
/// Outside of a kernel.
pub fn set_capacity(buffer: u32, tiles: u64) {
    stage::with(|stage| stage.dataflow.buffer(buffer).capacity = tiles.max(1));
}

/// Waits for `tiles` tiles; false if the producer has to go on first.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn wait_front(buffer: u32, tiles: u64) -> bool {
    let available = stage::with(|stage| {
        let buffer = stage.dataflow.buffer(buffer);
        nth(&buffer.pushed_at, buffer.taken + tiles)
    });
    wait(WaitKind::CB_WAIT, buffer, available)
}

/// Waits for room for `tiles` tiles; false if the consumer has to go on first.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn reserve_back(buffer: u32, tiles: u64) -> bool {
    let available = stage::with(|stage| {
        let buffer = stage.dataflow.buffer(buffer);
        let needed = (buffer.filled + tiles).saturating_sub(buffer.capacity);
        nth(&buffer.popped_at, needed)
    });
    wait(WaitKind::CB_RESERVE, buffer, available)
}

/// Makes `tiles` tiles available to the consumer, now.
///
/// # Panics
/// Outside of a kernel.
pub fn push_back(buffer: u32, tiles: u64) {
    stage::with(|stage| {
        let now = stage.now();
        stage.dataflow.push(buffer, tiles, now);
        stage.count_signal();
    });
    device_signal!(CB_PUSH, buffer);
    stage::with(Stage::note_signal);
}

/// Gives the room of `tiles` tiles back to the producer, now.
///
/// # Panics
/// Outside of a kernel.
pub fn pop_front(buffer: u32, tiles: u64) {
    stage::with(|stage| {
        let now = stage.now();
        stage.dataflow.pop(buffer, tiles, now);
        stage.count_signal();
    });
    device_signal!(CB_POP, buffer);
    stage::with(Stage::note_signal);
}

/// Increments a semaphore of the tile, now.
///
/// # Panics
/// Outside of a kernel.
pub fn increment(semaphore: u32) {
    stage::with(|stage| {
        let arrived = stage.now();
        let KernelContext { place, risc, .. } = *stage.context();
        let increment = Increment { arrived, sent: stage.wall_clock(), core: place.coord, risc };
        stage.dataflow.add_increment(semaphore, increment);
        stage.count_signal();
    });
    device_signal!(SEM_SET, semaphore);
    stage::with(Stage::note_signal);
}

/// Increments a semaphore of another tile over the RISC's NoC.
///
/// # Panics
/// Outside of a kernel, on a RISC without a NoC, and if the tile is no core.
pub fn increment_at(tile: TileCoord, semaphore: u32) {
    let key = stage::with(|stage| {
        stage.send_increments(&[tile], semaphore);
        let (x, y) = stage.coordinates_of(tile);
        x << 36 | y << 42
    });
    signal_remote(key | u64::from(semaphore));
}

/// Increments a semaphore of the worker tiles in a rectangle, of which these are all, in one
/// request.
///
/// # Panics
/// As [`increment_at`].
pub fn increment_all(tiles: &[TileCoord], semaphore: u32) {
    let key = stage::with(|stage| {
        stage.send_increments(tiles, semaphore);
        let places = || tiles.iter().map(|&tile| stage.coordinates_of(tile));
        let [mut start, mut end] = [(u64::MAX, u64::MAX), (0, 0)];
        for (x, y) in places() {
            start = (start.0.min(x), start.1.min(y));
            end = (end.0.max(x), end.1.max(y));
        }
        // NoC 1 leads left and up: there a rectangle begins at its last corner.
        if stage.context().noc() == Some(1) {
            std::mem::swap(&mut start, &mut end);
        }
        end.0 << 36 | end.1 << 42 | start.0 << 48 | start.1 << 54
    });
    signal_remote(key | u64::from(semaphore));
}

/// Records an increment at a NoC address.
///
/// # Compatibility
/// `NOC_XY_ADDR` and `NOC_MULTICAST_ADDR` of `noc_parameters.h`.
fn signal_remote(address: u64) {
    let noc = stage::with(|stage| stage.context().noc().unwrap_or(0));
    device_signal!(SEM_SET_REMOTE, Signal::Remote { noc, address }.to_data());
    stage::with(Stage::note_signal);
}

/// Waits until a semaphore has been incremented `count` times; false if the kernel that increments
/// it has to go on first.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn wait_min(semaphore: u32, count: u64) -> bool {
    let increment = stage::with(|stage| {
        stage.receive_increments();
        let increments = stage.dataflow.semaphores.entry(semaphore).or_default();
        match count.checked_sub(1) {
            None => Some(None),
            Some(index) => usize::try_from(index).ok().and_then(|i| increments.get(i)).map(Some),
        }
        .map(|increment| increment.copied())
    });
    let Some(increment) = increment else { return false };
    let available = Some(increment.map_or(0, |increment| increment.arrived));
    let released_by =
        increment.map(|Increment { core, risc, sent, .. }| ReleaseTruth { core, risc, sent });
    wait_for(WaitKind::SEM_WAIT, semaphore, available, released_by)
}

/// Waits at a barrier of a NoC, `cycles` cycles after which everything has arrived.
///
/// # Panics
/// Outside of a kernel.
pub fn barrier(kind: WaitKind, noc: u32, cycles: u64) {
    let arrival = stage::with(|stage| stage.now() + cycles);
    let is_known = wait(kind, noc, Some(arrival));
    debug_assert!(is_known, "its end is given");
}

/// Hands a tile to the unpacker, which takes it out of the buffer when it is done; false if the
/// math engine has to go on first.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn unpack(buffer: u32, cycles: u64) -> bool {
    let is_known = stage::with(|stage| {
        let tile = stage.dataflow.unpacked_at.len();
        let Some(bank_free) = nth_before(&stage.dataflow.computed_at, tile, AHEAD_MAX) else {
            return false;
        };
        let queue_free = before(&stage.dataflow.unpacked_at, tile, AHEAD_MAX);
        let issued = stage.hand_over(queue_free);
        let engine_free = before(&stage.dataflow.unpacked_at, tile, 1);
        let done = issued.max(engine_free).max(bank_free) + cycles;
        stage.dataflow.unpacked_at.push(done);
        stage.dataflow.pop(buffer, 1, done);
        stage.count_signal();
        true
    });
    if is_known {
        device_signal!(CB_POP, buffer);
        stage::with(Stage::note_signal);
    }
    is_known
}

/// Hands a tile to the math engine; false if the unpacker or the packer has to go on first.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn compute(cycles: u64) -> bool {
    stage::with(|stage| {
        let flow = &stage.dataflow;
        let tile = flow.computed_at.len();
        let packed = nth_before(&flow.packed_at, tile, AHEAD_MAX);
        let (Some(&source), Some(destination)) = (flow.unpacked_at.get(tile), packed) else {
            return false;
        };
        let queue_free = before(&flow.computed_at, tile, AHEAD_MAX);
        let engine_free = before(&flow.computed_at, tile, 1);
        let issued = stage.hand_over(queue_free);
        let ready = issued.max(engine_free);
        let begin = ready.max(source).max(destination);
        let truth = &mut stage.dataflow.starvation;
        let starved = source.saturating_sub(ready.max(destination));
        if tile == 0 {
            truth.fill_cycles = starved;
        } else {
            truth.starved_cycles += starved;
            truth.stalled_cycles += destination.saturating_sub(ready.max(source));
        }
        truth.busy_cycles += cycles;
        stage.dataflow.computed_at.push(begin + cycles);
        true
    })
}

/// Hands a tile to the packer, which makes it available in the buffer when it is done; false if
/// the math engine has to go on first.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn pack(buffer: u32, cycles: u64) -> bool {
    let is_known = stage::with(|stage| {
        let flow = &stage.dataflow;
        let tile = flow.packed_at.len();
        let Some(&computed) = flow.computed_at.get(tile) else { return false };
        let queue_free = before(&flow.packed_at, tile, AHEAD_MAX);
        let engine_free = before(&flow.packed_at, tile, 1);
        let issued = stage.hand_over(queue_free);
        let done = issued.max(engine_free).max(computed) + cycles;
        stage.dataflow.packed_at.push(done);
        stage.dataflow.push(buffer, 1, done);
        stage.count_signal();
        true
    });
    if is_known {
        device_signal!(CB_PUSH, buffer);
        stage::with(Stage::note_signal);
    }
    is_known
}

/// Waits until the engines have done all that was handed to them: the end of a compute kernel.
/// False if an engine has to go on first.
///
/// # Panics
/// Outside of a kernel.
#[must_use]
pub fn drain(context: &KernelContext, tiles: usize) -> bool {
    stage::with(|stage| {
        let flow = &stage.dataflow;
        let engine = match context.risc {
            wire::Risc::Trisc0 => &flow.unpacked_at,
            wire::Risc::Trisc1 => &flow.computed_at,
            _ => &flow.packed_at,
        };
        let Some(done) = nth(engine, tiles as u64) else { return false };
        stage.wait_until(context.risc.index(), done);
        true
    })
}

/// Waits until something is available, which it is from a cycle on, if that is known.
fn wait(kind: WaitKind, key: u32, available: Option<u64>) -> bool {
    wait_for(kind, key, available, None)
}

/// As [`wait`], for what somebody is known to make available.
fn wait_for(
    kind: WaitKind,
    key: u32,
    available: Option<u64>,
    released_by: Option<ReleaseTruth>,
) -> bool {
    let Some(available) = available else { return false };
    let asked = stage::with(|stage| {
        let asked = stage.now();
        stage.spin(cost::L1_LOAD);
        asked
    });
    if available <= asked {
        return true;
    }
    match kind {
        WaitKind::CB_WAIT => poll(device_blocked_wait!(CB_WAIT, key), available).end(),
        WaitKind::CB_RESERVE => poll(device_blocked_wait!(CB_RESERVE, key), available).end(),
        WaitKind::SEM_WAIT => poll(device_blocked_wait!(SEM_WAIT, key), available).end(),
        WaitKind::NOC_READ_BARRIER => {
            poll(device_blocked_wait!(NOC_READ_BARRIER, key), available).end();
        }
        WaitKind::NOC_WRITE_BARRIER => {
            poll(device_blocked_wait!(NOC_WRITE_BARRIER, key), available).end();
        }
        WaitKind::NOC_ATOMIC_BARRIER => {
            poll(device_blocked_wait!(NOC_ATOMIC_BARRIER, key), available).end();
        }
        WaitKind::NOC_FULL_BARRIER => {
            poll(device_blocked_wait!(NOC_FULL_BARRIER, key), available).end();
        }
        WaitKind::NOC_WRITE_FLUSH => {
            poll(device_blocked_wait!(NOC_WRITE_FLUSH, key), available).end();
        }
        WaitKind(other) => panic!("a simulated kernel waited for kind {other}, which no chip has"),
    }
    stage::with(|stage| stage.note_wait((kind, key), (asked, available), released_by));
    true
}

/// Polls until a cycle, while a wait is open.
fn poll<W>(open: W, available: u64) -> W {
    stage::with(|stage| {
        let missing = available.saturating_sub(stage.now());
        stage.spin(missing.div_ceil(POLL_CYCLES).max(1) * POLL_CYCLES);
    });
    open
}

/// The cycle of the `count`-th entry, counted from 1; 0 for none. `None` if it is not known.
fn nth(cycles: &[u64], count: u64) -> Option<u64> {
    match count.checked_sub(1) {
        None => Some(0),
        Some(index) => cycles.get(usize::try_from(index).ok()?).copied(),
    }
}

/// The cycle of the entry that is `distance` before `index`, 0 if there is none; `None` if it is
/// not known.
fn nth_before(cycles: &[u64], index: usize, distance: usize) -> Option<u64> {
    index.checked_sub(distance).map_or(Some(0), |index| cycles.get(index).copied())
}

/// As [`nth_before`] among entries that are known.
fn before(cycles: &[u64], index: usize, distance: usize) -> u64 {
    nth_before(cycles, index, distance).unwrap_or(0)
}

impl Dataflow {
    fn buffer(&mut self, number: u32) -> &mut CircularBuffer {
        let new = || CircularBuffer { capacity: u64::MAX, ..CircularBuffer::default() };
        self.buffers.entry(number).or_insert_with(new)
    }

    /// Adds an increment of a semaphore behind those that arrived before.
    fn add_increment(&mut self, semaphore: u32, increment: Increment) {
        let increments = self.semaphores.entry(semaphore).or_default();
        let at = increments.partition_point(|other| other.arrived <= increment.arrived);
        increments.insert(at, increment);
    }

    fn push(&mut self, buffer: u32, tiles: u64, cycle: u64) {
        let buffer = self.buffer(buffer);
        buffer.filled += tiles;
        (0..tiles).for_each(|_| buffer.pushed_at.push(cycle));
    }

    fn pop(&mut self, buffer: u32, tiles: u64, cycle: u64) {
        let buffer = self.buffer(buffer);
        buffer.taken += tiles;
        (0..tiles).for_each(|_| buffer.popped_at.push(cycle));
    }

    /// Records of a RISC's waits and signals.
    pub(crate) fn record_count(&self, risc_index: usize, chip: &ChipFacts) -> u64 {
        let waits = &self.waits[risc_index];
        let objects: BTreeSet<_> = waits.iter().map(|wait| (wait.kind, wait.key)).collect();
        let totals = objects.len() as u64;
        match chip.modes.wait_records {
            WaitRecords::Off => 0,
            WaitRecords::Totals => totals,
            WaitRecords::Events if chip.modes.sync_windows.is_some() => {
                totals + self.windowed_counts[risc_index]
            }
            WaitRecords::Events => totals + waits.len() as u64 + self.signal_counts[risc_index],
        }
    }
}

impl Stage {
    /// The cycle at which the RISC that runs now is.
    fn now(&self) -> u64 {
        self.cycle_of(self.context().risc.index())
    }

    /// Lets the RISC that runs now wait for its engine's queue and hand a tile over.
    fn hand_over(&mut self, queue_free: u64) -> u64 {
        let risc_index = self.context().risc.index();
        self.wait_until(risc_index, queue_free);
        self.advance(risc_index, ISSUE_CYCLES);
        self.cycle_of(risc_index)
    }

    fn count_signal(&mut self) {
        let risc_index = self.context().risc.index();
        self.dataflow.signal_counts[risc_index] += 1;
    }

    fn note_wait(
        &mut self,
        (kind, key): (WaitKind, u32),
        (asked, available): (u64, u64),
        released_by: Option<ReleaseTruth>,
    ) {
        let KernelContext { risc, launch_index, program_id, .. } = *self.context();
        let begin = self.tile.clock.value(asked);
        let cycles = available - asked;
        let truth = WaitTruth { launch_index, program_id, kind, key, begin, cycles, released_by };
        self.dataflow.waits[risc.index()].push(truth);
        // It read the clock when the wait began and ended, and a third time for the record.
        let [recorded, ended, began] = self.clock_reads(risc.index());
        self.note_in_window(recorded.saturating_sub(ended.saturating_sub(began)), recorded);
    }

    /// Counts a signal that was recorded, for which the RISC has just read the clock.
    fn note_signal(&mut self) {
        let [recorded, ..] = self.clock_reads(self.context().risc.index());
        self.note_in_window(recorded, recorded);
    }

    /// Counts what went on from one cycle to another if a window was open meanwhile.
    fn note_in_window(&mut self, from: u64, to: u64) {
        let Some(windows) = self.chip.modes.sync_windows else { return };
        let period = u64::from(windows.period());
        let from = self.tile.clock.value(from).0;
        let since_opened = from % period;
        let is_open = since_opened < u64::from(windows.length());
        let opens_meanwhile = self.tile.clock.value(to).0 - from >= period - since_opened;
        let risc_index = self.context().risc.index();
        self.dataflow.windowed_counts[risc_index] += u64::from(is_open || opens_meanwhile);
    }

    /// Coordinates by which kernels name a core's tile.
    fn coordinates_of(&self, tile: TileCoord) -> (u64, u64) {
        let place = self.chip.translation.logical(tile);
        let (x, y) = place.unwrap_or_else(|| panic!("no kernel can name {tile:?}"));
        (x.into(), y.into())
    }

    /// Sends increments of a semaphore to other cores, all at once.
    fn send_increments(&mut self, tiles: &[TileCoord], semaphore: u32) {
        let KernelContext { chip_id, place, risc, launch_index, seed, .. } = *self.context();
        let Some(noc) = self.context().noc() else { panic!("{risc} has no NoC") };
        self.advance(risc.index(), cost::PUSH);
        let (now, sent) = (self.now(), self.wall_clock());
        let number = self.dataflow.signal_counts[risc.index()];
        for &tile in tiles {
            let facts = self.chip.arch.facts();
            let way = [chip_id.into(), place.coord.x.into(), place.coord.y.into()];
            let place_of =
                [risc.index() as u64, launch_index, number, tile.x.into(), tile.y.into()];
            let path: Vec<u64> = way.into_iter().chain(place_of).collect();
            let mut random = Stream::new(seed, &path);
            let ends = (place.coord, tile);
            let latency = noc::write_latency(facts, noc.into(), ends, 4, &mut random);
            let last = self.dataflow.last_increments.entry((risc.index(), tile)).or_default();
            *last = (now + latency.landing_cycles).max(*last + 1);
            let increment = Increment { arrived: *last, sent, core: place.coord, risc };
            match &self.seat {
                Some(seat) => seat.send(tile, semaphore, increment),
                None => panic!("{risc} signals another core in a program that couples none"),
            }
        }
        self.count_signal();
    }

    /// Takes the increments that other cores have sent.
    fn receive_increments(&mut self) {
        let Some(seat) = &self.seat else { return };
        for (semaphore, increments) in seat.receive() {
            for increment in increments {
                self.dataflow.add_increment(semaphore, increment);
            }
        }
    }

    /// Lets other cores go on until one has signalled this one; false if none will.
    pub(crate) fn wait_for_other_cores(&mut self) -> bool {
        let goes_on = self.seat.as_ref().is_some_and(super::exchange::Seat::wait_for_signal);
        // What nobody here waits for must not let the core go on again and again.
        self.receive_increments();
        goes_on
    }
}
