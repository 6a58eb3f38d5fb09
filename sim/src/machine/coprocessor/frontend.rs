//! The frontend of a thread up to its gate: FIFOs, the macro expander and the replay expander.
//!
//! # Compatibility
//! tt-isa-documentation, `TensixTile/TensixCoprocessor`: `MOPExpander.md`, `REPLAY.md`, and the sizes
//! of the FIFOs in `Diagrams/Out/TensixFrontend.svg`.

use super::instruction::{Instruction, op};
use std::collections::VecDeque;

/// Instructions that fit into the FIFO before the macro expander, for each thread.
const MACRO_FIFO: [usize; 3] = [32, 16, 16];
/// Instructions that fit into the FIFOs before the replay expander and the gate.
const LATER_FIFOS: usize = 8 + 2;
/// Cycles from a RISC's push until an instruction can leave an idle frontend. Fitted to the rows
/// "burst of n .ttinsn ADDDMAREG, then a wait" of `sim/tests/silicon`.
const TRANSIT_CYCLES: u64 = 2;
const REPLAY_ENTRIES: usize = 32;

/// Words that configure the macro expander.
pub(super) type MacroConfig = [u32; 9];

/// State of a thread's frontend.
#[derive(Clone, Debug, Default)]
pub(super) struct Frontend {
    /// Pushed instructions, and the cycles of their arrival.
    pushed: VecDeque<(u64, Instruction)>,
    pub(super) macro_config: MacroConfig,
    mask_high: u32,
    expansion: Option<Expansion>,
    replay: Replay,
    /// Earliest cycle at which the macro expander can put its next instruction out.
    next_at: u64,
    /// True if the macro expander's last instruction came from a macro.
    was_macro: bool,
    /// True if expansion takes no time.
    is_free: bool,
}

/// State of the replay expander.
#[derive(Clone, Debug, Default)]
struct Replay {
    entries: [Instruction; REPLAY_ENTRIES],
    index: usize,
    left: u32,
    mode: Mode,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Idle,
    Playing,
    Recording {
        is_executed: bool,
    },
}

impl Frontend {
    pub(super) fn new(is_free: bool) -> Self {
        Self { is_free, ..Self::default() }
    }

    /// Accepts an instruction; returns false if the FIFOs are full.
    pub(super) fn push(&mut self, thread: usize, instruction: Instruction, cycle: u64) -> bool {
        if self.pushed.len() >= MACRO_FIFO[thread] && !self.has_room(thread) {
            return false;
        }
        self.pushed.push_back((cycle, instruction));
        true
    }

    /// Returns true if a FIFO has room, although the first one would be full if the others held
    /// nothing.
    fn has_room(&self, thread: usize) -> bool {
        if self.expansion.is_some() {
            return false;
        }
        // What comes before the first macro has left the first FIFO.
        // What is at the gate is not among the pushed instructions any more.
        let ahead = self.pushed.iter().take(LATER_FIFOS - 1);
        let ahead = ahead.take_while(|(_, instruction)| instruction.opcode() != op::MOP).count();
        self.pushed.len() < MACRO_FIFO[thread] + ahead
    }

    /// Returns true if no instruction waits here.
    pub(super) fn is_empty(&self) -> bool {
        self.pushed.is_empty() && self.expansion.is_none() && self.replay.mode != Mode::Playing
    }

    /// Returns true if no macro waits or is being expanded.
    pub(super) fn has_expanded(&self) -> bool {
        self.expanding_count() == 0
            && !self.pushed.iter().any(|(_, instruction)| instruction.opcode() == op::MOP)
    }

    /// Returns how many instructions of the current macro have not left the expander at least.
    pub(super) fn expanding_count(&self) -> u64 {
        let left = self.expansion.as_ref().map_or(0, Expansion::left);
        left.saturating_sub(LATER_FIFOS as u64)
    }

    /// Removes and returns the next instruction for the gate, and the cycle at which it is there;
    /// `None` if none has been pushed.
    pub(super) fn next(&mut self) -> Option<(Instruction, u64)> {
        loop {
            if self.replay.mode == Mode::Playing {
                let instruction = self.replay.play();
                return Some((instruction, self.beat(0)));
            }
            let (instruction, cycle) = self.expand()?;
            if let Mode::Recording { is_executed } = self.replay.mode {
                self.replay.record(instruction);
                if is_executed {
                    return Some((instruction, cycle));
                }
            } else if instruction.opcode() == op::REPLAY {
                self.replay.begin(instruction);
                // The first instruction that is played takes this one's place.
                if self.replay.mode == Mode::Playing {
                    return Some((self.replay.play(), cycle));
                }
            } else {
                return Some((instruction, cycle));
            }
        }
    }

    /// Returns the next instruction of the macro expander, and its cycle.
    fn expand(&mut self) -> Option<(Instruction, u64)> {
        loop {
            if let Some(expansion) = &mut self.expansion {
                match expansion.next() {
                    Some(instruction) => {
                        self.was_macro = true;
                        return Some((instruction, self.beat(0)));
                    }
                    None => self.expansion = None,
                }
            }
            let (arrival, instruction) = self.pushed.pop_front()?;
            match instruction.opcode() {
                op::MOP_CFG => self.mask_high = instruction.field(0, 16),
                op::MOP => {
                    let mask = self.mask_high << 16 | instruction.field(0, 16);
                    self.expansion = Some(Expansion::new(instruction, mask, self.macro_config));
                    self.next_at = self.next_at.max(arrival + TRANSIT_CYCLES);
                }
                _ => {
                    // After a macro, the expander pauses for a cycle.
                    let pauses = std::mem::take(&mut self.was_macro) && !self.is_free;
                    self.next_at += u64::from(pauses);
                    return Some((instruction, self.beat(arrival)));
                }
            }
        }
    }

    /// Returns the cycle at which the next instruction leaves, and counts it.
    fn beat(&mut self, arrival: u64) -> u64 {
        if self.is_free {
            self.next_at = self.next_at.max(arrival);
            return self.next_at;
        }
        let cycle = self.next_at.max(arrival + TRANSIT_CYCLES);
        self.next_at = cycle + 1;
        cycle
    }
}

impl Replay {
    fn begin(&mut self, instruction: Instruction) {
        self.index = instruction.field(14, 5) as usize;
        self.left = match instruction.field(4, 6) {
            0 => 64,
            count => count,
        };
        self.mode = match instruction.bit(0) {
            true => Mode::Recording { is_executed: instruction.bit(1) },
            false => Mode::Playing,
        };
    }

    fn play(&mut self) -> Instruction {
        let instruction = self.entries[self.index % REPLAY_ENTRIES];
        self.step();
        instruction
    }

    fn record(&mut self, instruction: Instruction) {
        self.entries[self.index % REPLAY_ENTRIES] = instruction;
        self.step();
    }

    const fn step(&mut self) {
        self.index += 1;
        self.left -= 1;
        if self.left == 0 {
            self.mode = Mode::Idle;
        }
    }
}

/// Progress of the expansion of a macro.
#[derive(Clone, Debug)]
enum Expansion {
    Mask(MaskLoop),
    Nested(NestedLoops),
}

/// Loop whose rounds a mask selects: template 0.
#[derive(Clone, Debug)]
struct MaskLoop {
    config: MacroConfig,
    mask: u32,
    rounds_left: u32,
    /// Next instruction of the round.
    step: usize,
}

/// Two nested loops: template 1.
#[derive(Clone, Debug)]
struct NestedLoops {
    config: MacroConfig,
    outer_left: u32,
    inner_count: u32,
    inner_left: u32,
    place: Place,
    /// The instruction of the next round of the inner loop.
    body: u32,
    /// Bits in which the two instructions that alternate in the inner loop differ.
    flip: u32,
}

/// Place in a round of the outer loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Start,
    Inner,
    FirstEnd,
    SecondEnd,
}

const OUTER_COUNT: usize = 0;
/// The count of the inner loop, or flags of the loop with a mask.
const INNER_COUNT: usize = 1;
const START: usize = 2;
const FIRST_END: usize = 3;
const SECOND_END: usize = 4;
const BODY: usize = 5;
const SECOND_BODY: usize = 6;
const LAST_OF_ALL: usize = 7;
const LAST_OF_ROUND: usize = 8;

impl Expansion {
    fn new(instruction: Instruction, mask: u32, config: MacroConfig) -> Self {
        if !instruction.bit(23) {
            let rounds_left = instruction.field(16, 7) + 1;
            return Self::Mask(MaskLoop { config, mask, rounds_left, step: 0 });
        }
        let is_nop = |index: usize| Instruction(config[index]).is_nop();
        let alternates = !is_nop(SECOND_BODY);
        let inner_count = (config[INNER_COUNT] & 0x7F) << u32::from(alternates);
        let mut outer_left = config[OUTER_COUNT] & 0x7F;
        if outer_left == 1 && is_nop(START) && inner_count == 0 && !is_nop(FIRST_END) {
            // As the hardware does.
            outer_left += 128;
        }
        Self::Nested(NestedLoops {
            config,
            outer_left,
            inner_count,
            inner_left: inner_count,
            place: Place::Start,
            body: config[BODY],
            flip: if alternates { config[BODY] ^ config[SECOND_BODY] } else { 0 },
        })
    }

    fn next(&mut self) -> Option<Instruction> {
        match self {
            Self::Mask(expansion) => expansion.next(),
            Self::Nested(expansion) => expansion.next(),
        }
    }

    /// Returns the number of instructions that are left, without those of replays; those at the
    /// ends of a round are not counted.
    fn left(&self) -> u64 {
        match self {
            Self::Mask(expansion) => u64::from(expansion.rounds_left),
            Self::Nested(NestedLoops { outer_left, inner_count, inner_left, .. }) => {
                let later = u64::from(outer_left.saturating_sub(1));
                later * u64::from(*inner_count) + u64::from(*inner_left)
            }
        }
    }
}

impl MaskLoop {
    fn next(&mut self) -> Option<Instruction> {
        // Words of a round: one or four instructions and the second unpacker's, or what replaces them
        // where the mask says so.
        let flags = self.config[1];
        let (has_second, has_four) = (flags & 1 != 0, flags & 2 != 0);
        let words: &[usize] = match (self.mask & 1 != 0, has_four, has_second) {
            (true, _, false) => &[7],
            (true, _, true) => &[7, 8],
            (false, false, false) => &[3],
            (false, false, true) => &[3, 2],
            (false, true, false) => &[3, 4, 5, 6],
            (false, true, true) => &[3, 4, 5, 6, 2],
        };
        if self.rounds_left == 0 {
            return None;
        }
        let word = self.config[words[self.step]];
        self.step += 1;
        if self.step == words.len() {
            (self.step, self.mask, self.rounds_left) = (0, self.mask >> 1, self.rounds_left - 1);
        }
        Some(Instruction(word))
    }
}

impl NestedLoops {
    fn next(&mut self) -> Option<Instruction> {
        while self.outer_left > 0 {
            let word = match self.place {
                Place::Start => {
                    (self.place, self.inner_left) = (Place::Inner, self.inner_count);
                    self.config[START]
                }
                Place::Inner if self.inner_left == 0 => {
                    self.place = Place::FirstEnd;
                    continue;
                }
                Place::Inner => {
                    self.inner_left -= 1;
                    let body = self.body;
                    self.body ^= self.flip;
                    return Some(Instruction(match (self.inner_left, self.outer_left) {
                        (0, 1) => self.config[LAST_OF_ALL],
                        (0, _) => self.config[LAST_OF_ROUND],
                        _ => body,
                    }));
                }
                Place::FirstEnd => {
                    let has_end = !Instruction(self.config[FIRST_END]).is_nop();
                    self.place = if has_end { Place::SecondEnd } else { Place::Start };
                    self.outer_left -= u32::from(!has_end);
                    self.config[FIRST_END]
                }
                Place::SecondEnd => {
                    (self.place, self.outer_left) = (Place::Start, self.outer_left - 1);
                    self.config[SECOND_END]
                }
            };
            if !Instruction(word).is_nop() {
                return Some(Instruction(word));
            }
        }
        None
    }
}
