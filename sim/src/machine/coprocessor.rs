//! The Tensix coprocessor as visible to RISCs. It accepts and counts instructions, stores registers
//! and configuration, and executes the instructions that RISCs may wait for.
//!
//! It computes no results. Instructions take effect when a RISC issues them; instructions that
//! unpack, compute or pack are only counted.
//!
//! # Compatibility
//! tt-isa-documentation, `TensixTile/TensixCoprocessor`: `SyncUnit.md`, `SETDMAREG.md`,
//! `STOREREG.md`, `BackendConfiguration.md`; opcodes as in tt-metal's `ckernel_ops.h`, and
//! `RISCV_IC_INVALIDATE` as in `cfg_defines.h`.

use crate::{arch::Arch, truth::IssuedInstructions};

/// Number of threads: one per TRISC.
pub(crate) const THREAD_COUNT: usize = 3;
/// Number of general-purpose registers of each thread.
pub(crate) const GPR_COUNT: usize = 64;
/// Number of semaphores that the threads share.
pub(crate) const SEMAPHORE_COUNT: usize = 8;

/// State of a tile's coprocessor.
#[derive(Clone, Debug)]
pub(crate) struct Coprocessor {
    issued: IssuedInstructions,
    has_computed: bool,
    gprs: [[u32; GPR_COUNT]; THREAD_COUNT],
    semaphores: [Semaphore; SEMAPHORE_COUNT],
    /// Words of the two configuration banks, one bank after the other.
    config: Vec<u32>,
    bank_words: usize,
    /// Index, counted from the start of a bank, of the first word that has the same value in both
    /// banks.
    first_global_word: usize,
    /// The same for the word `RISCV_IC_INVALIDATE`.
    cache_word: usize,
}

/// A counter that saturates at 0 and at its maximum.
#[derive(Clone, Copy, Debug)]
struct Semaphore {
    value: u32,
}

/// Effect on the tile of an instruction that the coprocessor has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    Nothing,
    /// A write to a register of the tile.
    Store {
        address: u32,
        value: u32,
    },
}

impl Coprocessor {
    pub(crate) fn new(arch: Arch) -> Self {
        let (bank_words, first_global_word, cache_word) = match arch {
            Arch::WormholeB0 => (188, 152, 157),
            Arch::Blackhole => (224, 180, 185),
        };
        Self {
            issued: IssuedInstructions::default(),
            has_computed: false,
            gprs: [[0; GPR_COUNT]; THREAD_COUNT],
            semaphores: [Semaphore { value: 0 }; SEMAPHORE_COUNT],
            config: vec![0; 2 * bank_words],
            bank_words,
            first_global_word,
            cache_word,
        }
    }

    /// Returns the numbers of instructions accepted so far.
    pub(crate) const fn issued(&self) -> IssuedInstructions {
        self.issued
    }

    /// Returns true if a thread has issued a macro or a pack instruction, as compute kernels do.
    pub(crate) const fn has_computed(&self) -> bool {
        self.has_computed
    }

    /// Accepts an instruction from a thread.
    pub(crate) fn push(&mut self, thread: usize, instruction: u32) -> Outgoing {
        self.issued.by_thread[thread] += 1;
        match instruction >> 24 {
            MVMUL..=DOTPV | ELWSUB | GMPOOL | GAPOOL => self.issued.fpu += 1,
            SFPLOAD..=SFPARECIP => self.issued.sfpu += 1,
            MOP | PACR => self.has_computed = true,
            SETDMAREG => self.set_register_half(thread, instruction),
            STOREREG => {
                let register = (instruction >> 18) as usize % GPR_COUNT;
                let address = REGISTERS_BASE + ((instruction & 0x3_FFFF) << 2);
                return Outgoing::Store { address, value: self.gprs[thread][register] };
            }
            SEMINIT => {
                let value = instruction >> 16 & SEMAPHORE_MAX;
                self.for_selected(instruction, |semaphore| semaphore.value = value);
            }
            SEMPOST => self.for_selected(instruction, Semaphore::post),
            SEMGET => self.for_selected(instruction, Semaphore::get),
            _ => {}
        }
        Outgoing::Nothing
    }

    /// Writes half of a register, if the instruction has an immediate value. The form without an
    /// immediate value is not modelled.
    fn set_register_half(&mut self, thread: usize, instruction: u32) {
        if instruction >> 7 & 1 != 0 {
            return;
        }
        let half = instruction & 0x7F;
        let payload = instruction >> 8 & 0xFFFF;
        let register = &mut self.gprs[thread][half as usize / 2];
        let shift = 16 * (half & 1);
        *register = *register & !(0xFFFF << shift) | payload << shift;
    }

    fn for_selected(&mut self, instruction: u32, mut action: impl FnMut(&mut Semaphore)) {
        let mask = instruction >> 2 & 0xFF;
        for (index, semaphore) in self.semaphores.iter_mut().enumerate() {
            if mask >> index & 1 != 0 {
                action(semaphore);
            }
        }
    }

    /// Returns the value of a general-purpose register of a thread.
    pub(crate) const fn gpr(&self, thread: usize, index: usize) -> u32 {
        self.gprs[thread][index]
    }

    pub(crate) const fn set_gpr(&mut self, thread: usize, index: usize, value: u32) {
        self.gprs[thread][index] = value;
    }

    pub(crate) const fn semaphore(&self, index: usize) -> u32 {
        self.semaphores[index].value
    }

    /// Handles a RISC's write to a semaphore: writing an even value increments the semaphore,
    /// writing an odd value decrements it.
    pub(crate) const fn write_semaphore(&mut self, index: usize, value: u32) {
        if value & 1 == 0 {
            self.semaphores[index].post();
        } else {
            self.semaphores[index].get();
        }
    }

    /// Returns a word of the configuration, as a RISC reads it.
    pub(crate) fn config(&self, word: usize) -> u32 {
        self.config.get(word).copied().unwrap_or(0)
    }

    /// Returns true if a write to a word of the configuration empties instruction caches.
    pub(crate) const fn is_cache_control(&self, word: usize) -> bool {
        word % self.bank_words == self.cache_word
    }

    /// Writes a word of the configuration.
    pub(crate) fn set_config(&mut self, word: usize, value: u32) {
        let (bank, index) = (word / self.bank_words, word % self.bank_words);
        if index == STATE_RESET_WORD {
            let first = bank * self.bank_words;
            self.config[first..first + self.first_global_word].fill(0);
        } else if index >= self.first_global_word {
            self.config[index] = value;
            self.config[self.bank_words + index] = value;
        } else {
            self.config[word] = value;
        }
    }
}

impl Semaphore {
    const fn post(&mut self) {
        if self.value < SEMAPHORE_MAX {
            self.value += 1;
        }
    }

    const fn get(&mut self) {
        self.value = self.value.saturating_sub(1);
    }
}

/// Opcode of `MVMUL`: the first of a range of FPU opcodes that ends with `DOTPV`, and also contains
/// `ELWMUL` and `ELWADD`.
const MVMUL: u32 = 0x26;
const DOTPV: u32 = 0x29;
const ELWSUB: u32 = 0x30;
const GMPOOL: u32 = 0x33;
const GAPOOL: u32 = 0x34;
/// Opcode of the macro instruction; most macros contain instructions that unpack, compute or pack.
const MOP: u32 = 0x01;
const PACR: u32 = 0x41;
const SETDMAREG: u32 = 0x45;
const STOREREG: u32 = 0x67;
/// First opcode of the SFPU's instructions. The next constant is the last one on a Blackhole; on a
/// Wormhole, the last one is 0x95.
const SFPLOAD: u32 = 0x70;
const SFPARECIP: u32 = 0x99;
const SEMINIT: u32 = 0xA3;
const SEMPOST: u32 = 0xA4;
const SEMGET: u32 = 0xA5;
const SEMAPHORE_MAX: u32 = 15;
/// Lowest address that `STOREREG` can write.
const REGISTERS_BASE: u32 = 0xFFB0_0000;
/// Index, counted from the start of a bank, of a configuration word. A write to this word sets the
/// words that belong only to this bank to 0.
const STATE_RESET_WORD: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_count_and_semaphores_follow_them() {
        let mut coprocessor = Coprocessor::new(Arch::WormholeB0);
        // In ttsim's layout: initialise semaphores 1 and 3 to 2, post semaphore 1, get semaphore 3.
        coprocessor.push(0, 0xA3 << 24 | 5 << 20 | 2 << 16 | 0b1010 << 2);
        coprocessor.push(1, 0xA4 << 24 | 0b10 << 2);
        coprocessor.push(1, 0xA5 << 24 | 0b1000 << 2);
        coprocessor.push(2, 0x0200_0000);
        let values: Vec<u32> = (0..4).map(|index| coprocessor.semaphore(index)).collect();
        assert_eq!(values, [0, 3, 0, 1]);
        assert_eq!(coprocessor.issued().by_thread, [1, 2, 1]);
        // MVMUL, ELWADD and GAPOOL; SFPMAD and SFPLUTFP32; an unpack and a clear, which count for
        // neither unit.
        for opcode in [0x26, 0x28, 0x34, 0x84, 0x95, 0x42, 0x10] {
            coprocessor.push(1, opcode << 24);
        }
        let issued = IssuedInstructions { by_thread: [1, 9, 1], fpu: 3, sfpu: 2 };
        assert_eq!(coprocessor.issued(), issued);
        coprocessor.write_semaphore(3, 1);
        coprocessor.write_semaphore(3, 1);
        coprocessor.write_semaphore(2, 0);
        assert_eq!((coprocessor.semaphore(3), coprocessor.semaphore(2)), (0, 1));
    }

    #[test]
    fn a_register_is_set_by_halves_and_stored_to_the_tile() {
        let mut coprocessor = Coprocessor::new(Arch::Blackhole);
        coprocessor.push(2, 0x45 << 24 | 0x1234 << 8 | 9);
        coprocessor.push(2, 0x45 << 24 | 0x0007 << 8 | 8);
        assert_eq!(coprocessor.gpr(2, 4), 0x1234_0007);
        let stored = coprocessor.push(2, 0x67 << 24 | 4 << 18 | (0x4_1028 >> 2));
        let expected = Outgoing::Store { address: 0xFFB4_1028, value: 0x1234_0007 };
        assert_eq!(stored, expected);
    }

    #[test]
    fn configuration_has_two_banks_and_a_part_that_both_share() {
        let mut coprocessor = Coprocessor::new(Arch::WormholeB0);
        coprocessor.set_config(10, 1);
        coprocessor.set_config(188 + 10, 2);
        coprocessor.set_config(188 + 157, 3);
        assert_eq!([10, 198, 157, 345].map(|word| coprocessor.config(word)), [1, 2, 3, 3]);
        coprocessor.set_config(4, 1);
        assert_eq!([10, 198, 157].map(|word| coprocessor.config(word)), [0, 2, 3]);
    }
}
