//! Detection of harts that poll memory.
//!
//! After each round of its loop, such a hart has the same registers and the same pc as before the
//! round, and it has changed nothing else. The hart therefore repeats the loop until one of the
//! words that it reads changes. Until then, the hart need not be executed.

use super::{
    bus::Station,
    devices::Devices,
    registers::{Effect, WALL_CLOCK_LATCHED},
    riscs::{Riscs, TileHart, Turn},
};
use crate::{
    arch::WALL_CLOCK_LOW,
    riscv::{Code, Hart, INSTRUCTION_RAM_BASE, LOCAL_RAM_BASE, Step, decode, decode_bits},
    tile::Tile,
};
use std::fmt;

/// The words that a hart polls, with their last values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watched {
    words: Vec<(u32, u32)>,
    /// Registers of the tile that the loop also reads; a value is `None` if a read may change what
    /// the register holds.
    registers: Vec<(u32, Option<u32>)>,
    /// Duration of one round of the loop.
    round_cycles: u64,
    /// Number of instructions of one round.
    pub(crate) round_instructions: usize,
    /// What the pipeline does in a round, if that is kept.
    stages: Option<RoundStages>,
}

/// What the pipeline does in each round of a polling loop.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct RoundStages {
    /// Instructions of the last round that was executed.
    pub(crate) steps: Vec<Step>,
    /// First cycle after this round in which its first instruction can be decoded again.
    pub(crate) decode_from: u64,
}

impl fmt::Debug for RoundStages {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} steps", self.steps.len())
    }
}

/// Memory access of an instruction that has no other effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// No access, or a load from private RAM.
    None,
    Store(u32),
    LoadL1(u32),
    LoadRegister(u32),
}

impl Watched {
    /// Adds the word that an instruction of a loop loads. Returns `None` if the loop reads the
    /// clock, which changes by itself, or if the loop polls more than `words_max` words.
    fn note(
        &mut self,
        access: Access,
        (tile, devices): (&Tile, &Devices),
        (risc_index, words_max): (usize, usize),
    ) -> Option<()> {
        match access {
            Access::None | Access::Store(_) => {}
            // The clock registers change by themselves.
            Access::LoadRegister(WALL_CLOCK_LOW..=WALL_CLOCK_LATCHED) => return None,
            Access::LoadRegister(address) => {
                if !self.registers.iter().any(|&(known, _)| known == address) {
                    self.registers.push((address, devices.polled(risc_index, address)));
                }
            }
            Access::LoadL1(address) => {
                let word = (address & !3, tile.load(u64::from(address & !3)));
                if !self.words.contains(&word) {
                    self.words.push(word);
                }
            }
        }
        (self.words.len() <= words_max).then_some(())
    }

    /// Returns true if the loop also reads registers of the tile.
    pub(crate) const fn has_registers(&self) -> bool {
        !self.registers.is_empty()
    }

    /// Returns true if the loop reads a register whose reads have this effect.
    pub(crate) fn polls(&self, effect: Effect, devices: &Devices) -> bool {
        self.registers.iter().any(|&(address, _)| devices.effect_at(address) == Some(effect))
    }

    /// Returns what the pipeline does in a round; `None` if it was not kept.
    pub(crate) const fn stages(&self) -> Option<&RoundStages> {
        self.stages.as_ref()
    }

    /// Returns the duration of a round.
    pub(crate) const fn round_cycles(&self) -> u64 {
        self.round_cycles
    }

    /// Returns the start of the round that runs at `cycle`, if one began at `start`.
    pub(crate) const fn round_at(&self, start: u64, cycle: u64) -> u64 {
        match cycle.saturating_sub(start).checked_div(self.round_cycles) {
            Some(rounds) => start + rounds * self.round_cycles,
            None => start,
        }
    }

    /// Returns the addresses of the polled words, also of registers.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u32> {
        self.words
            .iter()
            .map(|&(address, _)| address)
            .chain(self.registers.iter().map(|&(address, _)| address))
    }

    /// Returns true if a word that a RISC polls has changed, or may have.
    pub(crate) fn has_changed(&self, tile: &Tile, devices: &Devices, risc_index: usize) -> bool {
        let has_changed = |&(address, value): &(u32, Option<u32>)| {
            value.is_none() || devices.polled(risc_index, address) != value
        };
        self.words.iter().any(|&(address, value)| tile.load(address.into()) != value)
            || self.registers.iter().any(has_changed)
    }
}

/// Returns the memory access of a hart's next instruction; `None` if the instruction may do more
/// than access memory and change registers of the hart.
pub(crate) fn next_access(hart: &Hart, tile: &Tile, instruction_ram: &[u8]) -> Option<Access> {
    let pc = hart.pc();
    let word = if pc >= INSTRUCTION_RAM_BASE {
        let first = (pc - INSTRUCTION_RAM_BASE) as usize;
        u32::from_le_bytes(*instruction_ram.get(first..)?.first_chunk()?)
    } else {
        tile.load(pc.into())
    };
    let op = decode(word, pc);
    Some(match op.code {
        Code::LoadByte
        | Code::LoadHalf
        | Code::LoadWord
        | Code::LoadByteUnsigned
        | Code::LoadHalfUnsigned => {
            let address = hart.register(op.rs1.into()).wrapping_add(op.immediate);
            if u64::from(address) < tile.l1.size_bytes() {
                Access::LoadL1(address)
            } else if (LOCAL_RAM_BASE..LOCAL_RAM_END).contains(&address) {
                Access::None
            } else {
                Access::LoadRegister(address & !3)
            }
        }
        Code::StoreByte | Code::StoreHalf | Code::StoreWord => {
            Access::Store(hart.register(op.rs1.into()).wrapping_add(op.immediate))
        }
        Code::Illegal => decode_bits(word).map(|_| Access::None)?,
        Code::Undecoded
        | Code::EnvironmentCall
        | Code::Breakpoint
        | Code::ControlStatus
        | Code::PushTensix => return None,
        _ => Access::None,
    })
}

/// Limits within which a loop counts as a polling loop.
pub(crate) struct PollRules {
    /// Maximum number of instructions in a loop.
    pub(crate) instructions_max: usize,
    /// Maximum number of words that a loop polls.
    pub(crate) words_max: usize,
    /// Maximum duration of a round of a loop. A hart that does not poll is this far ahead of the
    /// others afterwards, and sees late what they do.
    pub(crate) cycles_max: u64,
    /// True if the code of a polling loop must be in L1, and the loop may only load, and only from
    /// L1 and private RAM.
    pub(crate) is_l1_only: bool,
}

impl Riscs {
    /// Executes one round of a polling loop and returns the polled words.
    ///
    /// # Errors
    /// If the hart does anything other than poll. The error is the result of the hart's last turn;
    /// it is empty if the instruction that violates the `rules` was not executed.
    pub(crate) fn poll<S: Station>(
        &mut self,
        index: usize,
        station: &mut S,
        rules: &PollRules,
    ) -> Result<Watched, Turn> {
        if !self.keeps_rounds {
            return self.execute_round(index, station, rules);
        }
        let was_shown = self.harts[index].hart.shows_stages();
        if !was_shown {
            self.harts[index].hart.show_stages(true);
        }
        let mut found = self.execute_round(index, station, rules);
        let hart = &mut self.harts[index].hart;
        let mut steps = Vec::new();
        let (_, decode_from) = hart.take_steps(&mut steps);
        if let Ok(watched) = &mut found {
            if was_shown {
                steps = self.devices.daisychain.last_steps(watched.round_instructions);
            }
            // Before it, the last instruction of the round before was decoded.
            if let Some(first) = steps.first_mut() {
                first.decoded = first.enters.min(decode_from.saturating_sub(watched.round_cycles));
            }
            watched.stages = Some(RoundStages { steps, decode_from });
        }
        if !was_shown {
            hart.show_stages(false);
        }
        found
    }

    fn execute_round<S: Station>(
        &mut self,
        index: usize,
        station: &mut S,
        rules: &PollRules,
    ) -> Result<Watched, Turn> {
        let hart = &self.harts[index].hart;
        let (start, first_cycle) = ((hart.pc(), *hart.registers()), hart.cycle());
        let first = hart.counters().instruction_count;
        let mut watched = Watched::default();
        // Copy of the private RAM before the loop's first store to it. Stores to other memory count
        // as effects.
        let mut ram = None;
        for _ in 0..rules.instructions_max {
            let TileHart { hart, local_ram, .. } = &self.harts[index];
            if hart.cycle() - first_cycle > rules.cycles_max {
                break;
            }
            let (tile, until) = (station.tile(), hart.cycle() + 1);
            let code: &[u8] = if rules.is_l1_only { &[] } else { &self.devices.instruction_ram };
            let access = next_access(hart, tile, code).filter(|access| {
                !rules.is_l1_only || matches!(access, Access::None | Access::LoadL1(_))
            });
            if matches!(access, Some(Access::Store(_))) {
                ram.get_or_insert_with(|| local_ram.clone());
            }
            if access
                .and_then(|access| {
                    let limits = (index, rules.words_max);
                    watched.note(access, (tile, &self.devices), limits)
                })
                .is_none()
            {
                return Err(Turn::default());
            }
            let executed = hart.counters().instruction_count;
            let turn = self.take_turn(index, station, until);
            if turn.has_effect || turn.is_interrupted {
                return Err(turn);
            }
            let TileHart { hart, local_ram, .. } = &self.harts[index];
            // The hart may only have waited until the instruction was fetched.
            let has_executed = hart.counters().instruction_count != executed;
            if has_executed && (hart.pc(), *hart.registers()) == start {
                let is_unchanged = ram.is_none_or(|ram| ram == *local_ram);
                watched.round_cycles = hart.cycle() - first_cycle;
                // A round has at most as many instructions as the rules allow.
                watched.round_instructions =
                    usize::try_from(hart.counters().instruction_count - first).unwrap_or(0);
                return if is_unchanged { Ok(watched) } else { Err(Turn::default()) };
            }
        }
        Err(Turn::default())
    }
}

/// First address after the largest private RAM.
const LOCAL_RAM_END: u32 = LOCAL_RAM_BASE + 0x2000;
