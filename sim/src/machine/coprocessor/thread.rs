//! A thread of the coprocessor: its frontend, and the gate that its instructions pass in order.

use super::{
    frontend::Frontend,
    instruction::{Instruction, condition, kind, op},
    semaphores::SemaphoreWait,
};

/// Number of units for which threads wait.
const UNIT_COUNT: usize = 7;

/// State of a thread.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) frontend: Frontend,
    /// The instruction at the gate, and the cycle at which it came there.
    pub(super) head: Option<(Instruction, u64)>,
    /// When the instruction at the gate may pass.
    pub(super) due: Due,
    /// True if the frontend has nothing for the gate.
    pub(super) is_starved: bool,
    /// Earliest cycle at which the gate takes its next instruction.
    pub(super) next_at: u64,
    pub(super) wait: Option<Wait>,
    /// For each unit, the cycle from which it does nothing for this thread.
    pub(super) idle_from: [u64; UNIT_COUNT],
}

/// What is known about the time at which an instruction passes a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Not before this cycle.
    At(u64),
    /// It depends on what another thread or a RISC does.
    Unknown,
}

/// A wait that `STALLWAIT` or `SEMWAIT` has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// Kinds of instructions that do not pass before the condition is met.
    blocked: u32,
    pub(super) awaits: WaitFor,
    /// Cycle at which the condition was met, if that is known.
    pub(super) met_at: Option<u64>,
}

/// Condition of a wait.
#[derive(Clone, Copy, Debug)]
pub(super) enum WaitFor {
    Semaphores(SemaphoreWait),
    /// Conditions of units and sources, as bits.
    Units(u32),
}

impl WaitFor {
    /// Returns true if the condition depends only on what threads share, and so can pass by.
    pub(super) const fn is_shared(self) -> bool {
        match self {
            Self::Semaphores(_) => true,
            Self::Units(mask) => mask & !condition::OF_SOURCES == 0,
        }
    }
}

impl Thread {
    pub(super) fn new(is_free: bool) -> Self {
        Self {
            frontend: Frontend::new(is_free),
            head: None,
            due: Due::Unknown,
            is_starved: true,
            next_at: 0,
            wait: None,
            idle_from: [0; UNIT_COUNT],
        }
    }

    /// Takes the instruction from the gate, and forgets the wait that it has outlasted.
    pub(super) fn pass(&mut self, instruction: Instruction) {
        self.head = None;
        if self.wait.is_some_and(|wait| wait.blocks(instruction)) {
            self.wait = None;
        }
    }

    /// Notes that a unit works for this thread until a cycle.
    pub(super) fn occupy(&mut self, unit: usize, end: u64) {
        self.idle_from[unit] = self.idle_from[unit].max(end);
    }

    /// Returns the cycle at which all instructions that have passed the gate are over.
    pub(super) fn done_at(&self) -> u64 {
        self.idle_from.iter().copied().fold(self.next_at, u64::max)
    }
}

impl Wait {
    /// Returns the wait of a `STALLWAIT` or `SEMWAIT`; without a mask, it blocks the matrix unit.
    pub(super) const fn of(instruction: Instruction, awaits: WaitFor) -> Self {
        let blocked = instruction.field(15, 9);
        Self {
            blocked: if blocked == 0 { kind::MATRIX as u32 } else { blocked },
            awaits,
            met_at: None,
        }
    }

    /// Returns the same wait, whose condition was met at a cycle.
    pub(super) const fn met(self, cycle: u64) -> Self {
        Self { met_at: Some(cycle), ..self }
    }

    /// Returns true if the wait holds an instruction back.
    pub(super) fn blocks(self, instruction: Instruction) -> bool {
        match instruction.opcode() {
            // A `NOP` waits if everything is blocked.
            op::NOP => self.blocked == u32::from(kind::ALL),
            _ => u32::from(instruction.properties().kinds) & self.blocked != 0,
        }
    }
}
