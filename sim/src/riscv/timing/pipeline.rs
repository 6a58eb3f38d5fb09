//! Model of a baby RISC's pipeline, instruction by instruction.
//!
//! For each instruction, in program order:
//!
//! ```text
//! entry  = first cycle with the integer unit free and both operands readable
//! issue  = entry + occupancy, later if the retire queue or the store queue is full,
//!          if a load overlaps a queued store, or if four remote loads are in flight
//! result = issue (arithmetic), issue - 1 + latency (loads)
//! leave  = result, but after the previous instruction's leave
//! next   = issue, plus a bubble after a mispredicted branch
//! ```
//!
//! Wormhole: the instruction directly after one that produces a result (the producer) can read the
//! result when the producer enters the load/store unit; later instructions can read it only from
//! the producer's `leave` on. Every instruction waits for room in the store queue. Blackhole: a
//! result is readable as soon as it exists. An instruction occupies an entry of the retire queue
//! from its `entry` on. Only stores wait for the store queue.
//!
//! Before its entry, an instruction may have to wait until it is fetched: see [`FetchUnit`].
//!
//! Not modelled: conflicts between RISCs for L1 banks, the 0.2 cycles beyond 5 that an L1 store
//! takes on silicon, Blackhole's loss of forwarding if several queued results go to one register, and
//! Blackhole's L0 data cache (off in TT-Metal).

use super::calendar::Calendar;
use super::fetch::{FetchUnit, line_of};
use super::predictor::Predictor;
use super::rules::{
    InstructionCache, REMOTE_LOADS_IN_FLIGHT, RETIRE_QUEUE_LENGTH, Rules, WIDE_ACCESS_CYCLES,
    divide_cycles, one_way_cycles,
};
use super::store_queue::StoreQueue;
use super::{Access, Division, Slot};
use crate::riscv::bus::Region;
use crate::riscv::decode::{Op, SINK, SLOT_COUNT};

/// State of one hart's pipeline.
///
/// It receives every instruction in program order, and computes when the instruction starts and
/// when its memory request reaches the device. It does not affect what an instruction computes. The
/// parameter `R` of its methods is the architecture's rules.
#[derive(Clone, Debug)]
pub(in super::super) struct Pipeline {
    pub(in super::super) beat: Beat,
    /// First cycle in which each register is readable. The integer unit may forward a value
    /// earlier.
    pub(super) readable: [u64; SLOT_COUNT],
    /// Cycles at which the last eight instructions leave the retire queue; the oldest is at index
    /// `count % 8`, where `count` is [`Beat::count`].
    pub(super) leaves: [u64; RETIRE_QUEUE_LENGTH],
    /// Cycles of the responses to the last four remote loads; the oldest is at `oldest_response`.
    pub(super) responses: [u64; REMOTE_LOADS_IN_FLIGHT],
    pub(super) oldest_response: usize,
    pub(super) stores: StoreQueue,
    predictor: Predictor,
    fetch: FetchUnit,
}

/// State that changes with every instruction. The run loop keeps this state in host
/// registers, and writes it back to the hart at the end of a run.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Beat {
    /// Earliest cycle in which the next instruction can start.
    pub(in super::super) next_entry: u64,
    pub(super) last_leave: u64,
    /// Register whose value the integer unit forwards to the next instruction (Wormhole).
    pub(super) forwarded: u8,
    /// Number of instructions so far. This number modulo the length of the retire queue is the
    /// index of the oldest entry of that queue.
    pub(in super::super) count: usize,
    /// Number of the line of the instruction cache from which the last instruction was fetched.
    pub(super) line: u32,
}

impl Pipeline {
    /// Returns an idle pipeline with an empty cache.
    pub(in super::super) fn new(cache: InstructionCache) -> Self {
        Self {
            beat: Beat { next_entry: 0, last_leave: 0, forwarded: SINK, count: 0, line: u32::MAX },
            readable: [0; SLOT_COUNT],
            leaves: [0; RETIRE_QUEUE_LENGTH],
            responses: [0; REMOTE_LOADS_IN_FLIGHT],
            oldest_response: 0,
            stores: StoreQueue::default(),
            predictor: Predictor::new(!cache.has_misses),
            fetch: FetchUnit::new(cache),
        }
    }
}

/// Returns the index in the retire queue of the next instruction's entry.
#[inline(always)]
fn retire_place(beat: &Beat) -> usize {
    beat.count % RETIRE_QUEUE_LENGTH
}

impl Pipeline {
    #[inline(always)]
    pub(super) fn readable_from(&self, register: u8) -> u64 {
        self.readable[usize::from(register)]
    }

    /// Returns the cycle of the response to the oldest of the last four remote loads.
    #[inline(always)]
    pub(super) fn oldest_response(&self) -> u64 {
        self.responses[self.oldest_response % REMOTE_LOADS_IN_FLIGHT]
    }

    /// Returns the first cycle in which the instruction can enter the integer unit.
    #[inline(always)]
    pub(super) fn entry<R: Rules>(&self, beat: &Beat, op: &Op) -> u64 {
        let (first, second) = (self.readable_from(op.rs1), self.readable_from(op.rs2));
        if R::COMPLETES_OUT_OF_ORDER {
            let readable = beat.next_entry.max(first).max(second);
            return readable.max(self.retire_room_from(beat));
        }
        // The result of the previous instruction can be forwarded only in this cycle; later, it is
        // readable from the instruction's `leave` on. An instruction that must wait for its other
        // operand misses the forwarding.
        let has_first = first <= beat.next_entry || op.rs1 == beat.forwarded;
        let has_second = second <= beat.next_entry || op.rs2 == beat.forwarded;
        if has_first && has_second {
            beat.next_entry
        } else {
            beat.next_entry.max(first).max(second)
        }
    }

    #[inline(always)]
    fn retire_room_from(&self, beat: &Beat) -> u64 {
        self.leaves[retire_place(beat)]
    }

    /// Returns the first cycle at or after `cycle` in which an instruction can leave the integer
    /// unit.
    #[inline(always)]
    pub(super) fn unblocked<R: Rules>(&self, beat: &Beat, cycle: u64) -> u64 {
        if R::COMPLETES_OUT_OF_ORDER {
            cycle
        } else {
            cycle.max(self.retire_room_from(beat)).max(self.stores.room_from())
        }
    }

    /// Adds an instruction to the retire queue; its result is available in cycle `result`.
    #[inline(always)]
    fn retire<R: Rules>(&mut self, beat: &mut Beat, op: &Op, issue: u64, result: u64) {
        let rd = usize::from(op.rd);
        if R::COMPLETES_OUT_OF_ORDER {
            beat.last_leave = result.max(beat.last_leave) + 1;
            self.readable[rd] = result;
        } else {
            beat.last_leave = result.max(beat.last_leave + 1);
            self.readable[rd] = beat.last_leave;
        }
        self.leaves[retire_place(beat)] = beat.last_leave;
        beat.count = beat.count.wrapping_add(1);
        beat.next_entry = issue;
    }

    /// Adds an instruction that needs only the integer unit.
    #[inline(always)]
    fn compute<R: Rules>(&mut self, beat: &mut Beat, op: &Op, occupancy: u64, latency: u64) {
        let entry = self.entry::<R>(beat, op);
        let issue = self.unblocked::<R>(beat, entry + occupancy);
        let result = if R::COMPLETES_OUT_OF_ORDER { entry + latency } else { issue + 1 };
        self.retire::<R>(beat, op, issue, result);
        beat.forwarded = op.rd;
    }

    /// Skips a loop without stores: adds `cycles` to all times of the pipeline, except the times of
    /// stores, because all stores have left before the loop begins.
    pub(in super::super) fn move_on(&mut self, cycles: u64) {
        self.beat.next_entry += cycles;
        self.beat.last_leave += cycles;
        let times = self.readable.iter_mut().chain(&mut self.leaves).chain(&mut self.responses);
        times.for_each(|time| *time += cycles);
    }

    #[inline(always)]
    fn bubble<R: Rules>(&mut self, beat: &mut Beat) {
        beat.next_entry += R::MISPREDICT_CYCLES;
        beat.forwarded = SINK;
        self.fetch.restarted_at = beat.next_entry;
    }

    /// Fetches the instruction at `pc`; returns true if it must wait, and can start only in the new
    /// [`Beat::next_entry`].
    #[inline(always)]
    pub(in super::super) fn fetch(&mut self, beat: &mut Beat, pc: u32) -> bool {
        let line = line_of(pc);
        line != beat.line && self.fetch.enter(beat, line)
    }

    /// Empties the instruction cache.
    pub(in super::super) fn invalidate_instructions(&mut self) {
        self.fetch.invalidate();
    }

    /// Returns the earliest cycle in which the next instruction can start.
    #[inline]
    pub(in super::super) fn now(&self) -> u64 {
        self.beat.next_entry
    }

    /// Advances the clock without executing instructions.
    pub(in super::super) fn advance_to(&mut self, cycle: u64) {
        if cycle > self.beat.next_entry {
            self.beat.next_entry = cycle;
            self.beat.forwarded = SINK;
        }
    }

    /// Returns the number of mispredicted branches and register jumps so far.
    pub(in super::super) fn mispredict_count(&self) -> u64 {
        self.predictor.mispredict_count
    }

    #[inline(always)]
    pub(in super::super) fn arithmetic<R: Rules>(&mut self, beat: &mut Beat, op: &Op) {
        self.compute::<R>(beat, op, 1, 1);
    }

    #[inline(always)]
    pub(in super::super) fn multiply<R: Rules>(&mut self, beat: &mut Beat, op: &Op) {
        self.compute::<R>(beat, op, R::MULTIPLY_OCCUPANCY_CYCLES, R::MULTIPLY_LATENCY_CYCLES);
    }

    #[inline(always)]
    pub(in super::super) fn divide<R: Rules>(
        &mut self,
        beat: &mut Beat,
        op: &Op,
        operands: Division,
    ) {
        let cycles = divide_cycles(operands);
        self.compute::<R>(beat, op, cycles, cycles);
    }

    #[inline(always)]
    pub(in super::super) fn branch<R: Rules>(
        &mut self,
        beat: &mut Beat,
        op: &Op,
        pc: u32,
        is_taken: bool,
    ) {
        self.compute::<R>(beat, op, 1, 1);
        if self.predictor.branch(pc, is_taken, R::PREDICTED_COUNT) {
            self.bubble::<R>(beat);
        }
    }

    #[inline(always)]
    pub(in super::super) fn jump<R: Rules>(
        &mut self,
        beat: &mut Beat,
        op: &Op,
        pc: u32,
        target: u32,
    ) {
        self.compute::<R>(beat, op, 1, 1);
        if self.predictor.jump(pc, target, R::PREDICTED_COUNT) {
            self.bubble::<R>(beat);
        }
    }

    #[inline(always)]
    pub(in super::super) fn plan_load<R: Rules>(
        &self,
        beat: &Beat,
        op: &Op,
        access: Access,
    ) -> Slot {
        let entry = self.entry::<R>(beat, op);
        let mut issue = self.unblocked::<R>(beat, entry + 1);
        if access.region != Region::LocalRam {
            issue = issue.max(self.oldest_response());
        }
        issue = if R::COMPLETES_OUT_OF_ORDER {
            self.stores.after_overlap(access, issue)
        } else {
            self.stores.after_same_address(access.address, issue)
        };
        let access = issue + one_way_cycles(R::load_latency_cycles(access.region));
        Slot { issue, access }
    }

    #[inline(always)]
    pub(in super::super) fn commit_load<R: Rules>(
        &mut self,
        beat: &mut Beat,
        op: &Op,
        (access, mut slot): (Access, Slot),
        port: &mut Calendar,
    ) {
        if R::COMPLETES_OUT_OF_ORDER && self.stores.overlaps_open(access) {
            self.stores.close(slot.issue, port);
            slot.issue = self.stores.after_overlap(access, slot.issue);
        }
        let mut result = slot.issue - 1 + R::load_latency_cycles(access.region);
        if access.region == Region::L1 {
            result += port.reserve_at(access.address, slot.issue, WIDE_ACCESS_CYCLES) - slot.issue;
        }
        if access.region != Region::LocalRam {
            self.responses[self.oldest_response % REMOTE_LOADS_IN_FLIGHT] = result;
            self.oldest_response = (self.oldest_response + 1) % REMOTE_LOADS_IN_FLIGHT;
        }
        self.retire::<R>(beat, op, slot.issue, result);
        beat.forwarded = SINK;
    }

    #[inline(always)]
    pub(in super::super) fn plan_store<R: Rules>(
        &mut self,
        beat: &Beat,
        op: &Op,
        access: Access,
        port: &mut Calendar,
    ) -> Slot {
        let entry = self.entry::<R>(beat, op);
        let mut issue = self.unblocked::<R>(beat, entry + 1);
        if R::COMPLETES_OUT_OF_ORDER && !self.stores.can_merge(access, issue) {
            self.stores.close(issue, port);
            issue = issue.max(self.stores.room_from());
        }
        let one_way = one_way_cycles(R::load_latency_cycles(access.region));
        Slot { issue, access: self.stores.next_emission(issue) + one_way }
    }

    #[inline(always)]
    pub(in super::super) fn commit_store<R: Rules>(
        &mut self,
        beat: &mut Beat,
        op: &Op,
        (access, slot): (Access, Slot),
        port: &mut Calendar,
    ) {
        if R::COMPLETES_OUT_OF_ORDER && access.region == Region::L1 {
            self.stores.merge_or_open(access, slot.issue, port);
        } else {
            self.stores.push(access, slot.issue, port);
        }
        self.retire::<R>(beat, op, slot.issue, slot.issue + 1);
        beat.forwarded = SINK;
    }
}
