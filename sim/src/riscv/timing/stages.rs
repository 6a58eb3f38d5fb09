//! Which instruction is in which stage of a RISC's pipeline, and when.
//!
//! The debug daisychain shows these stages. A hart keeps them only while the daisychain shows it.
//!
//! # Compatibility
//! Stages: tt-isa-documentation `WormholeB0/TensixTile/BabyRISCV/MemoryOrdering.md`. An instruction is
//! in the decode stage from the cycle after the one before it has entered the integer unit, until it
//! enters the integer unit itself, which needs its operands. It then stays in the integer unit until
//! the retire-order queue and the store queue have room for it.

use super::blame::Kind;
use super::pipeline::{Beat, Pipeline};
use super::rules::{RETIRE_QUEUE_LENGTH, Rules};
use crate::riscv::decode::Op;
use crate::riscv::tally::{Observer, Tally, Target};

/// One instruction on its way through the pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Step {
    /// Address of the instruction.
    pub(crate) pc: u32,
    /// First cycle in the decode stage.
    pub(crate) decoded: u64,
    /// Cycle in which the instruction enters the integer unit; the last one in the decode stage.
    pub(crate) enters: u64,
    /// Cycle in which it enters the load/store unit.
    pub(crate) issue: u64,
    /// Last cycle in the retire-order queue.
    pub(crate) leave: u64,
    /// Address of the instruction that is executed next.
    pub(crate) next_pc: u32,
    /// The memory request of a load or store.
    pub(crate) request: Option<MemoryRequest>,
}

/// A request of the load/store unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryRequest {
    /// Cycle in which it is emitted.
    pub(crate) cycle: u64,
    pub(crate) address: u32,
    pub(crate) is_write: bool,
}

/// The instructions that a hart has executed since they were taken last.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Stages {
    steps: Vec<Step>,
    /// First cycle in which the next instruction can be in the decode stage.
    decode_from: u64,
    /// True if the next instruction was not in the decode stage while it waited.
    is_refilled: bool,
    mispredicts: u64,
    /// Number of the latest store, and the cycle in which it has entered the integer unit. While a
    /// device is busy, the store waits there, and is tried again.
    store: Option<(usize, u64)>,
}

impl Stages {
    /// Begins before the next instruction of a pipeline.
    pub(in super::super) fn new(pipeline: &Pipeline) -> Self {
        Self {
            decode_from: pipeline.now(),
            mispredicts: pipeline.mispredict_count(),
            ..Self::default()
        }
    }

    /// Says from which cycle on the next instruction can be decoded.
    pub(in super::super) const fn decode_from(&mut self, cycle: u64) {
        self.decode_from = cycle;
    }

    /// Returns the instruction that is decoded next, and from which cycle on; `pc` is executed next.
    pub(in super::super) fn next_decoded(&self, pipeline: &Pipeline, pc: u32) -> (u32, u64) {
        match self.store {
            Some((number, entered)) if number == pipeline.beat.count => {
                (pc.wrapping_add(4), entered + 1)
            }
            _ if self.is_refilled => (pc, pipeline.now()),
            _ => (pc, self.decode_from),
        }
    }

    /// Removes the instructions, and appends them to others.
    pub(in super::super) fn drain_to(&mut self, steps: &mut Vec<Step>) {
        steps.append(&mut self.steps);
    }
}

/// Keeps the stages of a hart, and counts its instructions if that is wanted, too.
pub(in super::super) struct Shown<'a> {
    tally: Option<&'a mut Tally>,
    stages: &'a mut Stages,
}

impl<'a> Shown<'a> {
    pub(in super::super) const fn new(
        tally: Option<&'a mut Tally>,
        stages: &'a mut Stages,
    ) -> Self {
        Self { tally, stages }
    }
}

impl Observer for Shown<'_> {
    const IS_ON: bool = true;
    /// First cycle in which the instruction can start, and the one in which it enters the integer
    /// unit.
    type Start = (u64, u64);

    fn enter(&mut self, pc: u32) {
        if let Some(mut tally) = self.tally.as_deref_mut() {
            tally.enter(pc);
        }
    }

    fn fetched(&mut self, pc: u32, cycles: u64) {
        if let Some(mut tally) = self.tally.as_deref_mut() {
            tally.fetched(pc, cycles);
        }
        self.stages.is_refilled = true;
    }

    fn before<R: Rules>(
        &mut self,
        machine: (&Pipeline, &Beat),
        instruction: (&Op, Kind),
    ) -> Self::Start {
        let (pipeline, beat) = machine;
        if let Some(mut tally) = self.tally.as_deref_mut() {
            tally.before::<R>(machine, instruction);
        }
        if std::mem::take(&mut self.stages.is_refilled) {
            self.stages.decode_from = beat.next_entry;
        }
        let enters = match self.stages.store {
            Some((number, entered)) if number == beat.count => entered,
            _ => pipeline.entry::<R>(beat, instruction.0),
        };
        if instruction.1 == Kind::Store {
            self.stages.store = Some((beat.count, enters));
        }
        (beat.next_entry, enters)
    }

    fn after<R: Rules>(
        &mut self,
        (start, enters): Self::Start,
        machine: (&Pipeline, &Beat),
        target: Target<'_>,
    ) {
        self.stages.note::<R>(enters, machine, &target);
        if let Some(mut tally) = self.tally.as_deref_mut() {
            tally.after::<R>(start, machine, target);
        }
    }

    fn leave(&mut self, pc: u32) {
        if let Some(mut tally) = self.tally.as_deref_mut() {
            tally.leave(pc);
        }
    }
}

impl Stages {
    fn note<R: Rules>(
        &mut self,
        enters: u64,
        (pipeline, beat): (&Pipeline, &Beat),
        &Target { kind, pc, address, .. }: &Target<'_>,
    ) {
        let mispredicts = pipeline.mispredict_count();
        let is_mispredicted = mispredicts != self.mispredicts;
        self.mispredicts = mispredicts;
        let bubble = if is_mispredicted { R::MISPREDICT_CYCLES } else { 0 };
        let issue = beat.next_entry - bubble;
        let leave = pipeline.leaves[beat.count.wrapping_sub(1) % RETIRE_QUEUE_LENGTH];
        let request = match kind {
            Kind::LoadL1 | Kind::LoadPrivate | Kind::LoadRegister => {
                Some(MemoryRequest { cycle: issue, address, is_write: false })
            }
            Kind::Store => {
                let cycle = pipeline.stores.last_emission();
                Some(MemoryRequest { cycle, address, is_write: true })
            }
            _ => None,
        };
        let is_jump = matches!(kind, Kind::Branch | Kind::Jump);
        self.steps.push(Step {
            pc,
            decoded: self.decode_from.min(enters),
            enters,
            issue,
            // A Blackhole's results are readable one cycle before.
            leave: leave - u64::from(R::COMPLETES_OUT_OF_ORDER),
            next_pc: if is_jump { address } else { pc.wrapping_add(4) },
            request,
        });
        self.decode_from = if is_mispredicted { beat.next_entry } else { enters + 1 };
    }
}
