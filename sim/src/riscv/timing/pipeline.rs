//! The pipeline of a baby RISC, instruction by instruction.
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
//! Wormhole: a result is readable by the very next instruction as it enters the load/store unit,
//! otherwise only from its leave on; every instruction waits for room in the store queue.
//! Blackhole: a result is readable as soon as it exists; a place in the retire queue is taken at
//! entry; only stores wait for the store queue.
//!
//! Not modelled: instruction cache misses, L1 bank conflicts (the bank mapping is not documented),
//! the 0.2 cycles that Blackhole silicon needs beyond 5 per L1 store, Blackhole's loss of
//! forwarding when several queued results go to one register, and its L0 data cache (off in
//! TT-Metal).

use std::marker::PhantomData;

use super::calendar::Calendar;
use super::predictor::Predictor;
use super::rules::{
    REMOTE_LOADS_IN_FLIGHT, RETIRE_QUEUE_LENGTH, Rules, WIDE_ACCESS_CYCLES, divide_cycles,
    one_way_cycles,
};
use super::store_queue::StoreQueue;
use super::{Access, Division, Meter, Slot};
use crate::riscv::bus::Region;
use crate::riscv::decode::{Op, SINK, SLOT_COUNT};

/// State of one hart's pipeline under the rules of an architecture.
#[derive(Clone, Debug)]
pub(in super::super) struct Pipeline<R> {
    next_entry: u64,
    last_entry: u64,
    last_leave: u64,
    /// Register whose value the next instruction gets from the integer unit (Wormhole).
    forwarded: u8,
    /// From when on each register is readable, forwarding from the integer unit aside.
    readable: [u64; SLOT_COUNT],
    /// When the last eight instructions leave, oldest at `oldest_leave`.
    leaves: [u64; RETIRE_QUEUE_LENGTH],
    oldest_leave: usize,
    /// When the last four remote loads get their responses, oldest at `oldest_response`.
    responses: [u64; REMOTE_LOADS_IN_FLIGHT],
    oldest_response: usize,
    stores: StoreQueue,
    predictor: Predictor,
    rules: PhantomData<R>,
}

impl<R: Rules> Default for Pipeline<R> {
    fn default() -> Self {
        Self {
            next_entry: 0,
            last_entry: 0,
            last_leave: 0,
            forwarded: SINK,
            readable: [0; SLOT_COUNT],
            leaves: [0; RETIRE_QUEUE_LENGTH],
            oldest_leave: 0,
            responses: [0; REMOTE_LOADS_IN_FLIGHT],
            oldest_response: 0,
            stores: StoreQueue::default(),
            predictor: Predictor::default(),
            rules: PhantomData,
        }
    }
}

impl<R: Rules> Pipeline<R> {
    #[inline(always)]
    fn readable_from(&self, register: u8) -> u64 {
        self.readable[usize::from(register) % SLOT_COUNT]
    }

    /// First cycle in which the instruction can enter the integer unit.
    #[inline(always)]
    fn entry(&self, op: Op) -> u64 {
        let (first, second) = (self.readable_from(op.rs1), self.readable_from(op.rs2));
        if R::COMPLETES_OUT_OF_ORDER {
            return self.next_entry.max(first).max(second).max(self.retire_room_from());
        }
        // What the previous instruction forwards can be read in this one cycle, or later on with
        // everything else; if another operand makes the instruction wait, the cycle is missed.
        let first_now = if op.rs1 == self.forwarded { 0 } else { first };
        let second_now = if op.rs2 == self.forwarded { 0 } else { second };
        if first_now.max(second_now) <= self.next_entry {
            self.next_entry
        } else {
            self.next_entry.max(first).max(second)
        }
    }

    #[inline(always)]
    fn retire_room_from(&self) -> u64 {
        self.leaves[self.oldest_leave % RETIRE_QUEUE_LENGTH]
    }

    /// First cycle from `cycle` on in which any instruction can leave the integer unit.
    #[inline(always)]
    fn unblocked(&self, cycle: u64) -> u64 {
        if R::COMPLETES_OUT_OF_ORDER {
            cycle
        } else {
            cycle.max(self.retire_room_from()).max(self.stores.room_from())
        }
    }

    /// Books an instruction that passes its result on at `result`.
    #[inline(always)]
    fn retire(&mut self, op: Op, slot: Slot, result: u64) {
        let rd = usize::from(op.rd) % SLOT_COUNT;
        if R::COMPLETES_OUT_OF_ORDER {
            self.last_leave = result.max(self.last_leave) + 1;
            self.readable[rd] = result;
        } else {
            self.last_leave = result.max(self.last_leave + 1);
            self.readable[rd] = self.last_leave;
        }
        self.leaves[self.oldest_leave % RETIRE_QUEUE_LENGTH] = self.last_leave;
        self.oldest_leave = (self.oldest_leave + 1) % RETIRE_QUEUE_LENGTH;
        self.last_entry = slot.entry;
        self.next_entry = slot.issue;
    }

    /// Books an instruction of the integer unit.
    #[inline(always)]
    fn compute(&mut self, op: Op, occupancy_cycles: u64, latency_cycles: u64) {
        let entry = self.entry(op);
        let issue = self.unblocked(entry + occupancy_cycles);
        let result = if R::COMPLETES_OUT_OF_ORDER { entry + latency_cycles } else { issue + 1 };
        self.retire(op, Slot { entry, issue, access: issue }, result);
        self.forwarded = op.rd;
    }

    #[inline(always)]
    fn bubble(&mut self) {
        self.next_entry += R::MISPREDICT_CYCLES;
        self.forwarded = SINK;
    }
}

impl<R: Rules> Meter for Pipeline<R> {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.next_entry
    }

    fn started(&self) -> u64 {
        self.last_entry
    }

    fn advance_to(&mut self, cycle: u64) {
        if cycle > self.next_entry {
            self.next_entry = cycle;
            self.forwarded = SINK;
        }
    }

    fn mispredict_count(&self) -> u64 {
        self.predictor.mispredict_count
    }

    #[inline(always)]
    fn arithmetic(&mut self, op: Op) {
        self.compute(op, 1, 1);
    }

    #[inline(always)]
    fn multiply(&mut self, op: Op) {
        self.compute(op, R::MULTIPLY_OCCUPANCY_CYCLES, R::MULTIPLY_LATENCY_CYCLES);
    }

    #[inline(always)]
    fn divide(&mut self, op: Op, operands: Division) {
        let occupancy_cycles = divide_cycles(operands);
        self.compute(op, occupancy_cycles, occupancy_cycles);
    }

    #[inline(always)]
    fn branch(&mut self, op: Op, pc: u32, is_taken: bool) {
        self.compute(op, 1, 1);
        if self.predictor.branch(pc, op.immediate <= pc, is_taken) {
            self.bubble();
        }
    }

    #[inline(always)]
    fn jump_register(&mut self, op: Op, pc: u32, target: u32) {
        self.compute(op, 1, 1);
        if self.predictor.jump(pc, target) {
            self.bubble();
        }
    }

    #[inline(always)]
    fn plan_load(&self, op: Op, access: Access) -> Slot {
        let entry = self.entry(op);
        let mut issue = self.unblocked(entry + 1);
        if access.region != Region::LocalRam {
            issue = issue.max(self.responses[self.oldest_response % REMOTE_LOADS_IN_FLIGHT]);
        }
        issue = if R::COMPLETES_OUT_OF_ORDER {
            self.stores.after_overlap(access, issue)
        } else {
            self.stores.after_same_address(access.address, issue)
        };
        let access = issue + one_way_cycles(R::load_latency_cycles(access.region));
        Slot { entry, issue, access }
    }

    #[inline(always)]
    fn commit_load(&mut self, op: Op, access: Access, slot: Slot, port: &mut Calendar) {
        let mut slot = slot;
        if R::COMPLETES_OUT_OF_ORDER && self.stores.overlaps_open(access) {
            self.stores.close(slot.issue, port);
            slot.issue = self.stores.after_overlap(access, slot.issue);
        }
        let mut result = slot.issue - 1 + R::load_latency_cycles(access.region);
        if access.region == Region::L1 {
            result += port.reserve(slot.issue, WIDE_ACCESS_CYCLES) - slot.issue;
        }
        if access.region != Region::LocalRam {
            self.responses[self.oldest_response % REMOTE_LOADS_IN_FLIGHT] = result;
            self.oldest_response = (self.oldest_response + 1) % REMOTE_LOADS_IN_FLIGHT;
        }
        self.retire(op, slot, result);
        self.forwarded = SINK;
    }

    #[inline(always)]
    fn plan_store(&mut self, op: Op, access: Access, port: &mut Calendar) -> Slot {
        let entry = self.entry(op);
        let mut issue = self.unblocked(entry + 1);
        if R::COMPLETES_OUT_OF_ORDER && !self.stores.can_merge(access, issue) {
            self.stores.close(issue, port);
            issue = issue.max(self.stores.room_from());
        }
        let one_way = one_way_cycles(R::load_latency_cycles(access.region));
        Slot { entry, issue, access: self.stores.next_emission(issue) + one_way }
    }

    #[inline(always)]
    fn commit_store(&mut self, op: Op, access: Access, slot: Slot, port: &mut Calendar) {
        if R::COMPLETES_OUT_OF_ORDER && access.region == Region::L1 {
            self.stores.merge_or_open(access, slot.issue, port);
        } else {
            self.stores.push(access, slot.issue, port);
        }
        self.retire(op, slot, slot.issue + 1);
        self.forwarded = SINK;
    }
}
