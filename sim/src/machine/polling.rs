//! Detection of harts that poll memory.
//!
//! The registers and the pc of such a hart return to earlier values, and meanwhile the hart has
//! stored nothing and has accessed only memory. So it repeats the same loop until one of the words
//! that it reads changes, and it need not be executed until then.

use super::{HartState, run::Run};
use crate::{
    riscv::{Hart, INSTRUCTION_RAM_BASE, LOCAL_RAM_BASE, Pause},
    tile::Tile,
};

/// The words that a hart polls, with their last values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Watched {
    words: Vec<(u32, u32)>,
    /// True if the loop also reads registers of the tile.
    pub(crate) has_registers: bool,
}

/// Memory access of an instruction that has no other effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// No access, or a load from private RAM.
    None,
    Store,
    LoadL1(u32),
    LoadRegister(u32),
}

impl Watched {
    /// Records the access of an instruction in a loop; returns `None` if the loop can end without a
    /// change of memory, or polls more than `words_max` words.
    pub(crate) fn note(&mut self, access: Access, tile: &Tile, words_max: usize) -> Option<()> {
        match access {
            Access::None | Access::Store => {}
            // A clock advances by itself.
            Access::LoadRegister(0xFFB1_21F0..=0xFFB1_21F8) => return None,
            Access::LoadRegister(_) => self.has_registers = true,
            Access::LoadL1(address) => {
                let word = (address & !3, tile.load(u64::from(address & !3)));
                if !self.words.contains(&word) {
                    self.words.push(word);
                }
            }
        }
        (self.words.len() <= words_max).then_some(())
    }

    /// Returns true if a polled word has changed.
    pub(crate) fn has_changed(&self, tile: &Tile) -> bool {
        self.words.iter().any(|&(address, value)| tile.load(address.into()) != value)
    }
}

/// Returns the memory access of a hart's next instruction; `None` if the instruction may have
/// another effect.
pub(crate) fn next_access(hart: &Hart, tile: &Tile, instruction_ram: &[u8]) -> Option<Access> {
    let pc = hart.pc();
    let word = if pc >= INSTRUCTION_RAM_BASE {
        let first = (pc - INSTRUCTION_RAM_BASE) as usize;
        u32::from_le_bytes(*instruction_ram.get(first..)?.first_chunk()?)
    } else {
        tile.load(pc.into())
    };
    match word & 0x7F {
        OPCODE_LOAD => {
            let base = hart.register((word >> 15 & 31) as usize);
            let address = base.wrapping_add_signed(word.cast_signed() >> 20);
            Some(if u64::from(address) < tile.l1.size_bytes() {
                Access::LoadL1(address)
            } else if (LOCAL_RAM_BASE..LOCAL_RAM_END).contains(&address) {
                Access::None
            } else {
                Access::LoadRegister(address & !3)
            })
        }
        OPCODE_STORE => Some(Access::Store),
        OPCODE_FENCE | OPCODE_IMMEDIATE | OPCODE_AUIPC | OPCODE_REGISTER | OPCODE_LUI
        | OPCODE_BRANCH | OPCODE_JALR | OPCODE_JAL => Some(Access::None),
        // Also accepts reads of control and status registers by setting no bits, as in
        // `invalidate_l1_cache`.
        _ => None,
    }
}

impl Run<'_> {
    /// Suspends a hart that polls memory, because only a change of memory can let it continue.
    pub(super) fn park_if_polling(&mut self, index: usize) {
        if self.machine.processors[index].state == HartState::Running
            && let Some(watched) = self.polled_words(index)
        {
            self.machine.processors[index].state = HartState::Polling(watched);
        }
    }

    /// Executes one round of a polling loop and returns the polled words; returns `None` if the
    /// hart does anything other than poll.
    fn polled_words(&mut self, index: usize) -> Option<Watched> {
        let hart = &self.machine.processors[index].hart;
        let start = (hart.pc(), *hart.registers());
        let mut watched = Watched::default();
        for _ in 0..INSTRUCTIONS_MAX {
            let hart = &self.machine.processors[index].hart;
            // Code outside L1 belongs to a kernel, and kernels do not wait forever.
            let access = next_access(hart, &self.stage.tile, &[])?;
            if matches!(access, Access::Store | Access::LoadRegister(_)) {
                return None;
            }
            watched.note(access, &self.stage.tile, WORDS_MAX)?;
            let until = hart.cycle() + 1;
            let Ok(Pause::Cycle) = self.execute(index, until) else { return None };
            let hart = &self.machine.processors[index].hart;
            if (hart.pc(), *hart.registers()) == start {
                return Some(watched);
            }
        }
        None
    }
}

/// Maximum number of words that firmware polls in one loop.
const WORDS_MAX: usize = 8;
/// Maximum number of instructions in a polling loop.
const INSTRUCTIONS_MAX: usize = 64;
/// First address after the largest private RAM.
const LOCAL_RAM_END: u32 = LOCAL_RAM_BASE + 0x2000;

const OPCODE_LOAD: u32 = 0x03;
const OPCODE_FENCE: u32 = 0x0F;
const OPCODE_IMMEDIATE: u32 = 0x13;
const OPCODE_AUIPC: u32 = 0x17;
const OPCODE_STORE: u32 = 0x23;
const OPCODE_REGISTER: u32 = 0x33;
const OPCODE_LUI: u32 = 0x37;
const OPCODE_BRANCH: u32 = 0x63;
const OPCODE_JALR: u32 = 0x67;
const OPCODE_JAL: u32 = 0x6F;
