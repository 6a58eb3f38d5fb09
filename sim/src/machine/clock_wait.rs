//! Skips most rounds of loops in which harts wait until the clock reaches a value.
//!
//! Such a hart repeatedly reads the low word of the wall clock until enough cycles have passed
//! since a start value. No other hart can change the value that this loop reads. Once all rounds
//! take the same time, only the last few are executed. For the skipped rounds, the hart and its
//! pipeline are advanced by as many cycles as executing the rounds would have taken.

use super::run::Run;
use crate::{
    arch::WALL_CLOCK_LOW,
    riscv::{Code, LOCAL_RAM_BASE, Op, Pause, SINK, decode},
};

/// A loop that reads a word, subtracts a start value, and repeats while the difference is below a
/// limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ClockLoop {
    head: u32,
    load: Op,
    /// Number of the register with the loaded word. The fields `distance` and `limit` are the
    /// numbers of the registers with the word's distance from the start value and with the limit.
    low: usize,
    distance: usize,
    limit: usize,
}

impl ClockLoop {
    /// Returns the loop that these instructions form: `lw` at `head`, `sub`, and `bltu` back to
    /// `head`.
    fn new(head: u32, words: [u32; 3]) -> Option<Self> {
        let mut ops = words
            .into_iter()
            .zip([head, head + 4, head + 8])
            .zip(CODES)
            .map(|((word, pc), code)| Some(decode(word, pc)).filter(|op| op.code == code));
        let (load, subtract, branch) = (ops.next()??, ops.next()??, ops.next()??);
        let is_linked = subtract.rs1 == load.rd && branch.rs1 == subtract.rd;
        let is_loop = is_linked && branch.immediate == head;
        let written = [load.rd, subtract.rd];
        let is_steady = ![load.rs1, subtract.rs2, branch.rs2, SINK]
            .iter()
            .any(|register| written.contains(register));
        let [low, distance, limit] = [load.rd, subtract.rd, branch.rs2].map(usize::from);
        (is_loop && is_steady).then_some(Self { head, load, low, distance, limit })
    }
}

/// Opcodes (low seven bits) of the loop's three instruction words.
const OPCODES: [u32; 3] = [0x03, 0x33, 0x63];
/// Instructions of the loop.
const CODES: [Code; 3] = [Code::LoadWord, Code::Subtract, Code::BranchLessUnsigned];

/// One round of a loop: the cycle at which it began and the clock value that it read.
#[derive(Clone, Copy)]
struct Round {
    begun_at: u64,
    low: u32,
}

impl Run<'_> {
    /// If the hart is in a loop that waits for a clock value, skips to the last rounds of the loop.
    pub(super) fn skip_clock_wait(&mut self, index: usize) {
        if self.machine.riscs.is_shown(index) {
            return;
        }
        let Some(found) = self.clock_loop(index) else { return };
        let hart = &self.machine.riscs.harts[index].hart;
        let missing = hart.register(found.limit).saturating_sub(hart.register(found.distance));
        if missing < LONG_WAIT_CYCLES || !self.is_wall_clock(index, found) {
            return;
        }
        let Some((period, last_low)) = self.steady_period(index, found) else { return };
        let hart = &self.machine.riscs.harts[index].hart;
        let passed = hart.register(found.distance);
        let missing = hart.register(found.limit).saturating_sub(passed);
        let within_limit = self.limit_end().saturating_sub(hart.cycle());
        let rounds = (u64::from(missing).min(within_limit) / period).saturating_sub(ROUNDS_LEFT);
        let cycles = rounds * period;
        let Ok(low_cycles) = u32::try_from(cycles) else { return };
        let hart = &mut self.machine.riscs.harts[index].hart;
        hart.move_on(cycles, (rounds, LOOP_INSTRUCTIONS));
        hart.set_register(found.low, last_low.wrapping_add(low_cycles));
        hart.set_register(found.distance, passed.wrapping_add(low_cycles));
    }

    /// Returns the wait loop that a hart is executing, if any.
    fn clock_loop(&self, index: usize) -> Option<ClockLoop> {
        let pc = self.machine.riscs.harts[index].hart.pc();
        if pc >= LOCAL_RAM_BASE {
            return None;
        }
        let word = |at: u32| self.stage.tile.load(at.into());
        let back = OPCODES.iter().zip([0, 4, 8]).find(|(opcode, _)| **opcode == word(pc) & 0x7F)?.1;
        let head = pc.checked_sub(back)?;
        let words = [word(head), word(head + 4), word(head + 8)];
        // This check avoids decoding, which would take longer than a short turn; most turns end
        // outside such a loop.
        if words.map(|word| word & 0x7F) != OPCODES {
            return None;
        }
        ClockLoop::new(head, words)
    }

    /// Returns true if the loop loads the low word of the wall clock.
    fn is_wall_clock(&self, index: usize, found: ClockLoop) -> bool {
        let base = self.machine.riscs.harts[index].hart.register(found.load.rs1.into());
        base.wrapping_add(found.load.immediate) == WALL_CLOCK_LOW
    }

    /// Executes rounds of a loop until several consecutive rounds take equally long; returns their
    /// duration in cycles and the clock value that the last round read. Returns `None` if the loop
    /// ends before that.
    fn steady_period(&mut self, index: usize, found: ClockLoop) -> Option<(u64, u32)> {
        while self.machine.riscs.harts[index].hart.pc() != found.head {
            self.step_in(index, found)?;
        }
        let mut last: Option<(u64, Round)> = None;
        let mut equal_rounds = 0;
        for _ in 0..ROUNDS_MAX {
            let begun_at = self.machine.riscs.harts[index].hart.cycle();
            for _ in 0..3 {
                self.step_in(index, found)?;
            }
            let hart = &self.machine.riscs.harts[index].hart;
            if hart.pc() != found.head {
                return None;
            }
            let period = hart.cycle() - begun_at;
            let round = Round { begun_at, low: hart.register(found.low) };
            let is_equal = last.is_some_and(|(before, earlier)| {
                before == period
                    && u64::from(round.low.wrapping_sub(earlier.low)) == period
                    && round.begun_at - earlier.begun_at == period
            });
            equal_rounds = if is_equal { equal_rounds + 1 } else { 0 };
            if equal_rounds == EQUAL_ROUNDS {
                return Some((period, round.low));
            }
            last = Some((period, round));
        }
        None
    }

    /// Executes one instruction of the loop; returns `None` if the hart leaves the loop or is
    /// interrupted.
    fn step_in(&mut self, index: usize, found: ClockLoop) -> Option<()> {
        let until = self.machine.riscs.harts[index].hart.cycle() + 1;
        let (Ok(Pause::Cycle), _) = self.machine.riscs.execute(index, self.stage, until) else {
            return None;
        };
        let pc = self.machine.riscs.harts[index].hart.pc();
        (pc.wrapping_sub(found.head) < LOOP_BYTES).then_some(())
    }
}

/// Minimum length in cycles of a wait whose rounds are skipped. Shorter waits are executed in full,
/// because a skip changes the times at which the harts' turns begin.
const LONG_WAIT_CYCLES: u32 = 16_384;
const LOOP_BYTES: u32 = 12;
const LOOP_INSTRUCTIONS: usize = 3;
/// Number of rounds at the end of a wait that are executed.
const ROUNDS_LEFT: u64 = 2;
/// Number of consecutive rounds of equal length after which the pipeline's state depends only on
/// the loop. The pipeline remembers eight instructions and four loads.
const EQUAL_ROUNDS: u32 = 4;
/// Maximum number of rounds within which a loop must become steady.
const ROUNDS_MAX: u32 = 16;
