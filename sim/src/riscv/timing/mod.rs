//! Timing of instructions in cycles.
//!
//! A [`Meter`] receives every instruction in program order. It computes when the instruction starts
//! and when its memory request reaches the device. It never changes the result of an instruction.
//! The rules are in [`pipeline`], and their constants in [`rules`].

pub(super) mod calendar;
pub(crate) mod noc_reads;
pub(super) mod pipeline;
mod predictor;
pub(super) mod rules;
#[cfg(test)]
#[path = "../../../tests/unit/silicon.rs"]
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

/// Timing model of instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timing {
    /// Every instruction takes one cycle.
    Off,
    /// The modelled pipeline of a chip generation.
    On(Arch),
}

/// The timing-relevant part of a data access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) address: u32,
    pub(super) width: Width,
    pub(super) region: Region,
}

/// Operands of a divide or remainder, which determine its duration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Division {
    pub(super) dividend: u32,
    pub(super) divisor: u32,
    pub(super) is_signed: bool,
}

/// Times of a memory instruction, computed before the access and committed after the access
/// succeeds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Cycle in which the instruction enters the integer unit.
    pub(super) entry: u64,
    /// Cycle in which the instruction enters the load/store unit.
    pub(super) issue: u64,
    /// Cycle in which the device processes the request.
    pub(super) access: u64,
}

/// Counts the cycles of instructions, which are reported in program order.
///
/// State that changes with every instruction is in the `Beat`. The run loop keeps the `Beat` in
/// registers and writes it back when it leaves the loop.
pub(super) trait Meter {
    type Beat: Copy;

    fn beat(&self) -> Self::Beat;
    fn set_beat(&mut self, beat: Self::Beat);
    /// Returns the earliest cycle in which the next instruction can start.
    fn now(beat: &Self::Beat) -> u64;
    /// Returns the number of instructions so far.
    fn instruction_count(beat: &Self::Beat) -> u64;
    /// Returns the cycle in which the last instruction started.
    fn started(&self, beat: &Self::Beat) -> u64;
    /// Lets time pass without executing instructions.
    fn advance_to(&mut self, cycle: u64);
    /// Returns the number of mispredicted branches and jumps.
    fn mispredict_count(&self) -> u64;

    fn arithmetic(&mut self, beat: &mut Self::Beat, op: &Op);
    fn multiply(&mut self, beat: &mut Self::Beat, op: &Op);
    fn divide(&mut self, beat: &mut Self::Beat, op: &Op, operands: Division);
    fn branch(&mut self, beat: &mut Self::Beat, op: &Op, pc: u32, is_taken: bool);
    fn jump_register(&mut self, beat: &mut Self::Beat, op: &Op, pc: u32, target: u32);

    fn plan_load(&self, beat: &Self::Beat, op: &Op, access: Access) -> Slot;
    fn commit_load(
        &mut self,
        beat: &mut Self::Beat,
        op: &Op,
        request: (Access, Slot),
        port: &mut Calendar,
    );
    fn plan_store(
        &mut self,
        beat: &Self::Beat,
        op: &Op,
        access: Access,
        port: &mut Calendar,
    ) -> Slot;
    fn commit_store(
        &mut self,
        beat: &mut Self::Beat,
        op: &Op,
        request: (Access, Slot),
        port: &mut Calendar,
    );
}

/// A meter that counts one cycle per instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct OneEach {
    beat: OneEachBeat,
}

/// State of [`OneEach`]. Cycle and instruction count differ only by the time without instructions.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OneEachBeat {
    now: u64,
    idle_cycles: u64,
}

impl OneEachBeat {
    #[inline(always)]
    fn slot(&self) -> Slot {
        Slot { entry: self.now, issue: self.now, access: self.now }
    }
}

impl Meter for OneEach {
    type Beat = OneEachBeat;

    fn beat(&self) -> OneEachBeat {
        self.beat
    }
    fn set_beat(&mut self, beat: OneEachBeat) {
        self.beat = beat;
    }
    #[inline(always)]
    fn now(beat: &OneEachBeat) -> u64 {
        beat.now
    }
    #[inline(always)]
    fn instruction_count(beat: &OneEachBeat) -> u64 {
        beat.now - beat.idle_cycles
    }
    fn started(&self, beat: &OneEachBeat) -> u64 {
        beat.now.saturating_sub(1)
    }
    fn advance_to(&mut self, cycle: u64) {
        let idle_cycles = cycle.saturating_sub(self.beat.now);
        self.beat.now += idle_cycles;
        self.beat.idle_cycles += idle_cycles;
    }
    fn mispredict_count(&self) -> u64 {
        0
    }
    #[inline(always)]
    fn arithmetic(&mut self, beat: &mut OneEachBeat, _: &Op) {
        beat.now += 1;
    }
    #[inline(always)]
    fn multiply(&mut self, beat: &mut OneEachBeat, _: &Op) {
        beat.now += 1;
    }
    #[inline(always)]
    fn divide(&mut self, beat: &mut OneEachBeat, _: &Op, _: Division) {
        beat.now += 1;
    }
    #[inline(always)]
    fn branch(&mut self, beat: &mut OneEachBeat, _: &Op, _: u32, _: bool) {
        beat.now += 1;
    }
    #[inline(always)]
    fn jump_register(&mut self, beat: &mut OneEachBeat, _: &Op, _: u32, _: u32) {
        beat.now += 1;
    }
    #[inline(always)]
    fn plan_load(&self, beat: &OneEachBeat, _: &Op, _: Access) -> Slot {
        beat.slot()
    }
    #[inline(always)]
    fn commit_load(&mut self, beat: &mut OneEachBeat, _: &Op, _: (Access, Slot), _: &mut Calendar) {
        beat.now += 1;
    }
    #[inline(always)]
    fn plan_store(&mut self, beat: &OneEachBeat, _: &Op, _: Access, _: &mut Calendar) -> Slot {
        beat.slot()
    }
    #[inline(always)]
    fn commit_store(
        &mut self,
        beat: &mut OneEachBeat,
        _: &Op,
        _: (Access, Slot),
        _: &mut Calendar,
    ) {
        beat.now += 1;
    }
}
