//! Detection of harts that poll memory, for any firmware.
//!
//! The registers and the pc of such a hart return to earlier values. Meanwhile, the hart has stored
//! nothing and has accessed only memory. So it repeats the same loop until one of the words that it
//! reads changes. Until then, it need not be executed.

use super::{HartState, run::Run};
use crate::{
    riscv::{INSTRUCTION_RAM_BASE, LOCAL_RAM_BASE, Pause},
    tile::Tile,
};

/// The words that a hart polls, with their last values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Polled {
    words: [(u32, u32); WORDS_MAX],
    count: usize,
}

impl Polled {
    const NONE: Self = Self { words: [(0, 0); WORDS_MAX], count: 0 };

    /// Adds a word; returns `None` if there are too many.
    fn with(mut self, address: u32, value: u32) -> Option<Self> {
        if !self.words[..self.count].contains(&(address, value)) {
            *self.words.get_mut(self.count)? = (address, value);
            self.count += 1;
        }
        Some(self)
    }

    /// Returns true if a polled word has changed.
    pub(super) fn has_changed(&self, tile: &Tile) -> bool {
        let words = &self.words[..self.count];
        words.iter().any(|&(address, value)| tile.load(address.into()) != value)
    }
}

/// Effect of an instruction on anything outside the hart.
enum Effect {
    None,
    Loads(u32),
    /// An effect that may differ the next time, or that is visible outside the hart.
    Other,
}

impl Run<'_> {
    /// Suspends a hart that only a change of memory can wake.
    pub(super) fn park_if_polling(&mut self, index: usize) {
        if self.machine.processors[index].state == HartState::Running
            && let Some(polled) = self.polled_words(index)
        {
            self.machine.processors[index].state = HartState::Polling(polled);
        }
    }

    /// Executes one round of a polling loop; returns `None` if the hart does anything other than
    /// poll.
    fn polled_words(&mut self, index: usize) -> Option<Polled> {
        let hart = &self.machine.processors[index].hart;
        let start = (hart.pc(), *hart.registers());
        let mut polled = Polled::NONE;
        for _ in 0..INSTRUCTIONS_MAX {
            match self.next_effect(index) {
                Effect::None => {}
                Effect::Loads(address) => {
                    let word_address = address & !3;
                    let value = self.stage.tile.load(word_address.into());
                    polled = polled.with(word_address, value)?;
                }
                Effect::Other => return None,
            }
            let until = self.machine.processors[index].hart.cycle() + 1;
            let Ok(Pause::Cycle) = self.execute(index, until) else { return None };
            let hart = &self.machine.processors[index].hart;
            if (hart.pc(), *hart.registers()) == start {
                return Some(polled);
            }
        }
        None
    }

    /// Returns the effect of a hart's next instruction.
    fn next_effect(&self, index: usize) -> Effect {
        let hart = &self.machine.processors[index].hart;
        let pc = hart.pc();
        // Code in a separate RAM belongs to a kernel, and kernels do not wait forever.
        if pc >= LOCAL_RAM_BASE {
            return Effect::Other;
        }
        let word = self.stage.tile.load(pc.into());
        match word & 0x7F {
            OPCODE_LOAD => {
                let base = hart.register((word >> 15 & 31) as usize);
                let address = base.wrapping_add_signed(word.cast_signed() >> 20);
                if u64::from(address) < self.stage.tile.l1.size_bytes() {
                    Effect::Loads(address)
                } else if (LOCAL_RAM_BASE..LOCAL_RAM_END).contains(&address) {
                    Effect::None
                } else {
                    Effect::Other
                }
            }
            OPCODE_FENCE | OPCODE_IMMEDIATE | OPCODE_AUIPC | OPCODE_REGISTER | OPCODE_LUI
            | OPCODE_BRANCH | OPCODE_JALR | OPCODE_JAL => Effect::None,
            _ => Effect::Other,
        }
    }
}

/// Maximum number of words that firmware polls in one loop.
const WORDS_MAX: usize = 8;
/// Maximum number of instructions in a polling loop.
const INSTRUCTIONS_MAX: usize = 64;
/// End address of the largest private RAM.
const LOCAL_RAM_END: u32 = LOCAL_RAM_BASE + 0x2000;
const _: () = assert!(LOCAL_RAM_END < INSTRUCTION_RAM_BASE);

const OPCODE_LOAD: u32 = 0x03;
const OPCODE_FENCE: u32 = 0x0F;
const OPCODE_IMMEDIATE: u32 = 0x13;
const OPCODE_AUIPC: u32 = 0x17;
const OPCODE_REGISTER: u32 = 0x33;
const OPCODE_LUI: u32 = 0x37;
const OPCODE_BRANCH: u32 = 0x63;
const OPCODE_JALR: u32 = 0x67;
const OPCODE_JAL: u32 = 0x6F;
