//! How many cycles instructions take.
//!
//! A [`Meter`] is told of every instruction in program order and says when it starts and when its
//! memory request reaches the device. It never changes what an instruction computes. The rules are
//! in [`pipeline`], their numbers in [`rules`].

pub(super) mod calendar;
pub(super) mod pipeline;
mod predictor;
pub(super) mod rules;
#[cfg(test)]
mod silicon;
mod store_queue;

use super::bus::{Region, Width};
use super::decode::Op;
use calendar::Calendar;

/// Chip generation whose baby RISCs are modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arch {
    /// Wormhole B0: in-order completion.
    Wormhole,
    /// Blackhole A0: out-of-order completion, merging store queue.
    Blackhole,
}

/// Whether instructions cost what they cost on a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timing {
    /// Every instruction takes one cycle.
    Off,
    /// The pipeline of a chip generation is modelled.
    On(Arch),
}

/// A data access, as far as timing needs to know it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) address: u32,
    pub(super) width: Width,
    pub(super) region: Region,
}

/// Operands of a divide or remainder, which decide how long it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    pub(super) dividend: u32,
    pub(super) divisor: u32,
    pub(super) is_signed: bool,
}

/// When a memory instruction moves; computed before the access, committed after it succeeded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Cycle in which the instruction enters the integer unit.
    pub(super) entry: u64,
    /// Cycle in which it enters the load/store unit.
    pub(super) issue: u64,
    /// Cycle in which the device processes the request.
    pub(super) access: u64,
}

/// Counts cycles of instructions given in program order.
pub(super) trait Meter {
    /// Earliest cycle in which the next instruction can start.
    fn now(&self) -> u64;
    /// Cycle in which the last instruction started.
    fn started(&self) -> u64;
    /// Lets time pass without instructions.
    fn advance_to(&mut self, cycle: u64);
    /// Branches and jumps that went another way than predicted.
    fn mispredict_count(&self) -> u64;

    fn arithmetic(&mut self, op: Op);
    fn multiply(&mut self, op: Op);
    fn divide(&mut self, op: Op, operands: Division);
    fn branch(&mut self, op: Op, pc: u32, is_taken: bool);
    fn jump_register(&mut self, op: Op, pc: u32, target: u32);

    fn plan_load(&self, op: Op, access: Access) -> Slot;
    fn commit_load(&mut self, op: Op, access: Access, slot: Slot, port: &mut Calendar);
    fn plan_store(&mut self, op: Op, access: Access, port: &mut Calendar) -> Slot;
    fn commit_store(&mut self, op: Op, access: Access, slot: Slot, port: &mut Calendar);
}

/// One cycle per instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct OneEach {
    now: u64,
}

impl OneEach {
    #[inline(always)]
    fn slot(&self) -> Slot {
        Slot { entry: self.now, issue: self.now, access: self.now }
    }
}

impl Meter for OneEach {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.now
    }
    fn started(&self) -> u64 {
        self.now.saturating_sub(1)
    }
    fn advance_to(&mut self, cycle: u64) {
        self.now = self.now.max(cycle);
    }
    fn mispredict_count(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn arithmetic(&mut self, _: Op) {
        self.now += 1;
    }
    #[inline(always)]
    fn multiply(&mut self, _: Op) {
        self.now += 1;
    }
    #[inline(always)]
    fn divide(&mut self, _: Op, _: Division) {
        self.now += 1;
    }
    #[inline(always)]
    fn branch(&mut self, _: Op, _: u32, _: bool) {
        self.now += 1;
    }
    #[inline(always)]
    fn jump_register(&mut self, _: Op, _: u32, _: u32) {
        self.now += 1;
    }
    #[inline(always)]
    fn plan_load(&self, _: Op, _: Access) -> Slot {
        self.slot()
    }
    #[inline(always)]
    fn commit_load(&mut self, _: Op, _: Access, _: Slot, _: &mut Calendar) {
        self.now += 1;
    }
    #[inline(always)]
    fn plan_store(&mut self, _: Op, _: Access, _: &mut Calendar) -> Slot {
        self.slot()
    }
    #[inline(always)]
    fn commit_store(&mut self, _: Op, _: Access, _: Slot, _: &mut Calendar) {
        self.now += 1;
    }
}
