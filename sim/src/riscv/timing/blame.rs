//! Reasons for the cycles that an instruction takes.
//!
//! The pipeline computes when instructions start; this module only observes it. The cycles of an
//! instruction are those from the first cycle in which it could start to the first cycle in which
//! the next instruction can. They are divided by the causes that the pipeline takes into account,
//! in the order in which the instruction meets them, so that the parts add up to the whole.

use super::pipeline::{Beat, Pipeline};
use super::rules::{REMOTE_LOADS_IN_FLIGHT, RETIRE_QUEUE_LENGTH, Rules};
use crate::riscv::bus::Region;
use crate::riscv::decode::{Op, SINK};

/// Cause of cycles in which a RISC does not start its next instruction.
///
/// An instruction that waits for a value stands at the place that uses the value, not at the place
/// that loads or computes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// The instruction is executed: one cycle for each instruction.
    Issue,
    /// A multiplication or division has not finished, or another result is not readable yet.
    Arithmetic,
    /// A value from the RISC's private RAM has not arrived.
    PrivateLoad,
    /// A value from L1 has not arrived.
    L1Load,
    /// A value from a register of the tile, such as a NoC status, has not arrived.
    RegisterLoad,
    /// The store queue is full, or a load waits for an earlier store.
    Store,
    /// A branch or a jump was mispredicted.
    Branch,
    /// The instruction was not in the instruction cache.
    Fetch,
    /// Another access took the port or the bank of L1.
    L1Port,
    /// The RISC executed nothing: a device was busy, or a loop that waits was interrupted within a round.
    Stopped,
}

impl Reason {
    /// Number of reasons.
    pub const COUNT: usize = 10;
}

/// State of a hart before an instruction, as far as its timing depends on it. Times that are not
/// later than `next_entry` delay nothing, and may be 0.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct Before {
    next_entry: u64,
    forwarded: u8,
    count: usize,
    operands: [u64; 2],
    retire_room: u64,
    store_room: u64,
    oldest_response: u64,
}

impl Before {
    fn new(pipeline: &Pipeline, beat: &Beat, op: &Op) -> Self {
        Self {
            next_entry: beat.next_entry,
            forwarded: beat.forwarded,
            count: beat.count,
            operands: [pipeline.readable_from(op.rs1), pipeline.readable_from(op.rs2)],
            retire_room: pipeline.leaves[beat.count % RETIRE_QUEUE_LENGTH],
            store_room: pipeline.stores.room_from(),
            oldest_response: pipeline.oldest_response(),
        }
    }
}

/// The state before the latest instruction that something may have delayed.
///
/// Most instructions wait for nothing. What the pipeline computes for them anyway tells so, and then
/// the state need not be kept.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Delayed(Before);

impl Delayed {
    /// Keeps the state before an instruction if something may delay it; returns the first cycle in
    /// which the instruction can start.
    #[inline(always)]
    pub(in super::super) fn look<R: Rules>(
        &mut self,
        (pipeline, beat): (&Pipeline, &Beat),
        (op, kind): (&Op, Kind),
    ) -> u64 {
        let start = beat.next_entry;
        let is_remote = matches!(kind, Kind::LoadL1 | Kind::LoadRegister);
        let may_wait = pipeline.entry::<R>(beat, op) != start
            || pipeline.unblocked::<R>(beat, start + 1) != start + 1
            || is_remote && pipeline.oldest_response() > start;
        if may_wait {
            self.keep(pipeline, beat, op);
        }
        start
    }

    #[inline(never)]
    fn keep(&mut self, pipeline: &Pipeline, beat: &Beat, op: &Op) {
        self.0 = Before::new(pipeline, beat, op);
    }

    /// Returns the state before instruction number `count`, which could start in cycle `next_entry`.
    fn before(&self, count: usize, next_entry: u64) -> Before {
        match self.0 {
            kept if (kept.count, kept.next_entry) == (count, next_entry) => kept,
            _ => Before { next_entry, count, ..Before::default() },
        }
    }
}

/// Cycles of one instruction by reason.
pub(in super::super) type Cycles = [u64; Reason::COUNT];

/// An instruction that was executed recently.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(in super::super) struct Executed {
    pub(in super::super) pc: u32,
    /// Low bits of the first cycle in which the next instruction could start.
    end: u32,
    /// Address that a load or store has accessed.
    pub(in super::super) address: u32,
    /// Register with the result.
    pub(in super::super) register: u8,
    pub(in super::super) operands: [u8; 2],
    pub(in super::super) kind: Kind,
    /// Cycles by which a conflict at L1 has delayed a load, at most 255.
    conflict: u8,
    /// True if the instruction took only the cycle of its issue.
    pub(in super::super) is_plain: bool,
}

impl Default for Executed {
    fn default() -> Self {
        let (register, operands, kind) = (SINK, [0; 2], Kind::Arithmetic);
        Self { pc: 0, end: 0, address: 0, register, operands, kind, conflict: 0, is_plain: true }
    }
}

impl Executed {
    /// Describes the instruction that was executed last.
    #[inline(always)]
    pub(in super::super) fn new<R: Rules>(
        (pc, op, kind): (u32, &Op, Kind),
        address: u32,
        (pipeline, beat): (&Pipeline, &Beat),
        is_plain: bool,
    ) -> Self {
        let mut conflict = 0;
        if kind == Kind::LoadL1 {
            let newest = pipeline.oldest_response + REMOTE_LOADS_IN_FLIGHT - 1;
            let result = pipeline.responses[newest % REMOTE_LOADS_IN_FLIGHT];
            let undisturbed = beat.next_entry - 1 + R::load_latency_cycles(Region::L1);
            conflict = (result.wrapping_sub(undisturbed).min(255) & 0xFF) as u8;
        }
        let end = (beat.next_entry & 0xFFFF_FFFF) as u32;
        let operands = [op.rs1, op.rs2];
        Self { pc, end, address, register: op.rd, operands, kind, conflict, is_plain }
    }

    const fn reason(&self) -> Reason {
        match self.kind {
            Kind::Arithmetic | Kind::Jump | Kind::Multiply | Kind::Divide | Kind::Branch => {
                Reason::Arithmetic
            }
            Kind::Store => Reason::Store,
            Kind::LoadPrivate => Reason::PrivateLoad,
            Kind::LoadL1 => Reason::L1Load,
            Kind::LoadRegister => Reason::RegisterLoad,
        }
    }

    /// Returns true if the instruction left the retire queue only because earlier ones had to leave
    /// first.
    fn is_behind<R: Rules>(&self, leave: u64) -> bool {
        let latency = match self.kind {
            Kind::Branch => return true,
            // A register's latency is at least that of most other results.
            Kind::LoadRegister => return false,
            Kind::LoadL1 => R::load_latency_cycles(Region::L1),
            _ => 2,
        };
        let ready = u64::from(self.end) + latency - 1 + u64::from(self.conflict);
        let leave = leave - u64::from(R::COMPLETES_OUT_OF_ORDER);
        // The difference of the low bits suffices: the times are close to each other.
        let late = (leave & 0xFFFF_FFFF).wrapping_sub(ready) & 0xFFFF_FFFF;
        late != 0 && late < 1 << 31
    }
}

/// Number of instructions that are remembered.
pub(in super::super) const RING: usize = 128;

/// The latest instructions by their number modulo [`RING`].
pub(in super::super) type Ring = [Executed; RING];

/// Adds up an instruction's cycles while its start moves to later cycles.
struct Split {
    at: u64,
    cycles: Cycles,
}

impl Split {
    fn until(&mut self, cycle: u64, reason: Reason) {
        if cycle > self.at {
            self.cycles[reason as usize] += cycle - self.at;
            self.at = cycle;
        }
    }
}

/// Divides the cycles of an instruction that took more than one, and that could start in cycle
/// `start`. `pipeline` and `beat` are the state after it; the ring has the instructions before it.
#[inline(never)]
pub(in super::super) fn split<R: Rules>(
    ring: &Ring,
    (delayed, start): (&Delayed, u64),
    (pipeline, beat): (&Pipeline, &Beat),
    (op, kind): (&Op, Kind),
) -> Cycles {
    let before = &delayed.before(beat.count.wrapping_sub(1), start);
    let end = beat.next_entry;
    let mut split = Split { at: before.next_entry, cycles: [0; Reason::COUNT] };
    wait_for_operands::<R>(&mut split, (ring, pipeline), before, op);
    if R::COMPLETES_OUT_OF_ORDER && before.retire_room > split.at {
        split.until(before.retire_room, retire_reason::<R>(ring, before));
    }
    split.until(split.at + 1, Reason::Issue);
    match kind {
        Kind::Multiply => {
            split.until(split.at + R::MULTIPLY_OCCUPANCY_CYCLES - 1, Reason::Arithmetic);
        }
        Kind::Divide => split.until(end, Reason::Arithmetic),
        _ => {}
    }
    if !R::COMPLETES_OUT_OF_ORDER {
        if before.retire_room > split.at {
            split.until(before.retire_room, retire_reason::<R>(ring, before));
        }
        split.until(before.store_room, Reason::Store);
    }
    match kind {
        Kind::LoadPrivate => split.until(end, Reason::Store),
        Kind::LoadL1 | Kind::LoadRegister => {
            if before.oldest_response > split.at {
                split.until(before.oldest_response, oldest_load(ring, before));
            }
            split.until(end, Reason::Store);
        }
        Kind::Store => split.until(end, Reason::Store),
        Kind::Branch | Kind::Jump => split.until(end, Reason::Branch),
        Kind::Arithmetic | Kind::Multiply | Kind::Divide => {}
    }
    debug_assert_eq!(split.at, end, "{op:?} has cycles without a reason");
    split.cycles
}

fn wait_for_operands<R: Rules>(
    split: &mut Split,
    (ring, pipeline): (&Ring, &Pipeline),
    before: &Before,
    op: &Op,
) {
    let registers = [op.rs1, op.rs2];
    let is_late = |index: usize| {
        let is_forwarded = !R::COMPLETES_OUT_OF_ORDER && registers[index] == before.forwarded;
        before.operands[index] > before.next_entry && !is_forwarded
    };
    if !is_late(0) && !is_late(1) {
        return;
    }
    let latest = usize::from(before.operands[1] > before.operands[0]);
    let (register, ready) = (registers[latest], before.operands[latest]);
    let newest = before.count.wrapping_sub(1);
    let writer = (0..RETIRE_QUEUE_LENGTH)
        .map(|back| newest.wrapping_sub(back))
        .find(|number| ring[number % RING].register == register);
    let Some(writer) = writer else { return split.until(ready, Reason::Arithmetic) };
    let cause = if R::COMPLETES_OUT_OF_ORDER {
        ring[writer % RING]
    } else {
        last_to_leave::<R>(ring, pipeline, before, writer)
    };
    // A value came later by the cycles of the conflict, so these are the last cycles.
    let conflict = u64::from(cause.conflict).min(ready - split.at);
    split.until(ready - conflict, cause.reason());
    split.until(ready, Reason::L1Port);
}

/// Returns what the instruction waits for whose place in the retire queue is needed.
fn retire_reason<R: Rules>(ring: &Ring, before: &Before) -> Reason {
    let oldest = before.count.wrapping_sub(RETIRE_QUEUE_LENGTH);
    let cause = ring[oldest % RING];
    if cause.is_behind::<R>(before.retire_room) {
        let earlier = (1..RETIRE_QUEUE_LENGTH).map(|back| ring[oldest.wrapping_sub(back) % RING]);
        let load = earlier
            .into_iter()
            .find(|one| matches!(one.kind, Kind::LoadPrivate | Kind::LoadL1 | Kind::LoadRegister));
        return load.unwrap_or(cause).reason();
    }
    cause.reason()
}

/// Returns the instruction because of which the instruction with the number `writer` left the retire
/// queue as late as it did.
fn last_to_leave<R: Rules>(
    ring: &Ring,
    pipeline: &Pipeline,
    before: &Before,
    writer: usize,
) -> Executed {
    let oldest = before.count.wrapping_sub(RETIRE_QUEUE_LENGTH);
    let mut number = writer;
    loop {
        let one = ring[number % RING];
        // The place of the oldest one has been taken by the instruction itself.
        let leave = match number == oldest {
            true => before.retire_room,
            false => pipeline.leaves[number % RETIRE_QUEUE_LENGTH],
        };
        if number == oldest || !one.is_behind::<R>(leave) {
            return one;
        }
        number = number.wrapping_sub(1);
    }
}

/// Returns what the oldest of the loads in flight waits for.
fn oldest_load(ring: &Ring, before: &Before) -> Reason {
    let newest = before.count.wrapping_sub(1);
    let loads = (0..RING)
        .map(|back| ring[newest.wrapping_sub(back) % RING])
        .filter(|one| matches!(one.kind, Kind::LoadL1 | Kind::LoadRegister));
    loads.take(REMOTE_LOADS_IN_FLIGHT).last().map_or(Reason::RegisterLoad, |one| one.reason())
}

/// What an instruction does, as far as its timing depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Kind {
    Arithmetic,
    /// A jump to an address in the instruction.
    Jump,
    Multiply,
    Divide,
    LoadPrivate,
    LoadL1,
    LoadRegister,
    Store,
    Branch,
}
