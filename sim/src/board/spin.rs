//! Detection of loops that only poll memory.

use crate::{
    riscv::{Hart, INSTRUCTION_RAM_BASE, LOCAL_RAM_BASE},
    tile::Tile,
};

/// Maximum number of instructions in a polling loop.
pub(super) const INSTRUCTIONS_MAX: usize = 96;
/// Maximum number of words that a loop polls.
const WORDS_MAX: usize = 16;

/// The words that a hart polls, with their last values.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    words: Vec<(u32, u32)>,
    /// True if the loop also reads registers of the tile.
    pub(super) has_registers: bool,
}

/// Data that an instruction loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loaded {
    Nothing,
    L1(u32),
    Register(u32),
}

impl Watched {
    /// Adds an instruction's load; returns `None` if the loop can end without a change of memory.
    pub(super) fn note(&mut self, loaded: Loaded, tile: &Tile) -> Option<()> {
        match loaded {
            Loaded::Nothing => {}
            // A clock advances by itself.
            Loaded::Register(0xFFB1_21F0..=0xFFB1_21F8) => return None,
            Loaded::Register(_) => self.has_registers = true,
            Loaded::L1(address) => {
                let word = (address & !3, tile.load(u64::from(address & !3)));
                if !self.words.contains(&word) {
                    self.words.push(word);
                }
            }
        }
        (self.words.len() <= WORDS_MAX).then_some(())
    }

    /// Returns true if a word has changed.
    pub(super) fn has_changed(&self, tile: &Tile) -> bool {
        self.words.iter().any(|&(address, value)| tile.load(address.into()) != value)
    }
}

/// Returns what a hart's next instruction loads; `None` if the instruction may have an effect.
pub(super) fn loaded_address(hart: &Hart, tile: &Tile, instruction_ram: &[u8]) -> Option<Loaded> {
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
                Loaded::L1(address)
            } else if (LOCAL_RAM_BASE..LOCAL_RAM_END).contains(&address) {
                Loaded::Nothing
            } else {
                Loaded::Register(address & !3)
            })
        }
        // The caller compares private RAM before and after the loop, and detects other stores as
        // effects.
        OPCODE_STORE | OPCODE_FENCE | OPCODE_IMMEDIATE | OPCODE_AUIPC | OPCODE_REGISTER
        | OPCODE_LUI | OPCODE_BRANCH | OPCODE_JALR | OPCODE_JAL => Some(Loaded::Nothing),
        // Also accepts reads of control and status registers by setting no bits, as in
        // `invalidate_l1_cache`.
        _ => None,
    }
}

/// End address of the largest private RAM.
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
