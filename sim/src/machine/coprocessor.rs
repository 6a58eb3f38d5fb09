//! The Tensix coprocessor as visible to RISCs. It accepts and counts instructions, stores registers
//! and configuration, and executes the instructions that RISCs may wait for.
//!
//! It computes no results, and its units take no time: an instruction takes effect when a RISC issues
//! it, unless its thread waits for a semaphore. Instructions that unpack, compute or pack are only
//! counted, and wait for no data.
//!
//! # Compatibility
//! tt-isa-documentation, `TensixTile/TensixCoprocessor`: `SyncUnit.md`, `SETDMAREG.md`,
//! `STOREREG.md`, `BackendConfiguration.md`, `WaitGate.md`, `SEMWAIT.md`, and the
//! sizes of the FIFOs in `Diagrams/Out/TensixFrontend.svg`; opcodes as in tt-metal's `ckernel_ops.h`, and
//! `RISCV_IC_INVALIDATE` as in `cfg_defines.h`.

use crate::{arch::Arch, riscv::Refusal, truth::IssuedInstructions};
use std::collections::VecDeque;

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
    gates: [WaitGate; THREAD_COUNT],
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
    /// The value at which `SEMWAIT` finds the semaphore full.
    max: u32,
}

/// Last stage of a thread's frontend, which instructions leave in the order in which they came.
#[derive(Clone, Debug, Default)]
struct WaitGate {
    /// Instructions that a wait holds back.
    waiting: VecDeque<u32>,
    wait: Option<Wait>,
}

/// A wait for semaphores, which `SEMWAIT` has begun.
#[derive(Clone, Copy, Debug)]
struct Wait {
    /// Kinds of instructions that do not pass before the condition is met.
    blocked: u16,
    /// Semaphores of the condition, as bits.
    semaphores: u32,
    while_empty: bool,
    while_full: bool,
}

/// Effect on the tile of an instruction that the coprocessor has accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outgoing {
    Nothing,
    /// A write to a register of the tile.
    Store {
        /// The thread of the instruction.
        thread: usize,
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
            semaphores: [Semaphore { value: 0, max: 0 }; SEMAPHORE_COUNT],
            gates: Default::default(),
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

    /// Accepts an instruction from a thread, and returns the effects on the tile of all instructions
    /// that have now passed the thread's gate; the error is `Busy` if the FIFOs before it are full.
    pub(crate) fn push(
        &mut self,
        thread: usize,
        instruction: u32,
    ) -> Result<Vec<Outgoing>, Refusal> {
        let gate = &mut self.gates[thread];
        if gate.waiting.len() >= FIFO_INSTRUCTIONS[thread] {
            return Err(Refusal::Busy);
        }
        self.issued.by_thread[thread] += 1;
        gate.waiting.push_back(instruction);
        Ok(self.pass())
    }

    /// Returns true if no instruction of a thread waits.
    pub(crate) fn is_drained(&self, thread: usize) -> bool {
        self.gates[thread].waiting.is_empty()
    }

    /// Executes the instructions that can pass their gates.
    fn pass(&mut self) -> Vec<Outgoing> {
        let mut outgoing = Vec::new();
        // An instruction of one thread can end the wait of another one.
        while let Some((thread, instruction)) = self.take_passing() {
            match self.execute(thread, instruction) {
                Outgoing::Nothing => {}
                store @ Outgoing::Store { .. } => outgoing.push(store),
            }
        }
        outgoing
    }

    /// Removes and returns an instruction that can pass the gate of its thread.
    fn take_passing(&mut self) -> Option<(usize, u32)> {
        let semaphores = &self.semaphores;
        self.gates.iter_mut().enumerate().find_map(|(thread, gate)| {
            let instruction = *gate.waiting.front()?;
            gate.wait = gate.wait.filter(|wait| wait.holds(semaphores));
            let blocked = gate.wait.map_or(0, |wait| wait.blocked);
            if is_blocked(thread, instruction >> 24, blocked) {
                return None;
            }
            gate.waiting.pop_front();
            Some((thread, instruction))
        })
    }

    fn execute(&mut self, thread: usize, instruction: u32) -> Outgoing {
        match instruction >> 24 {
            MVMUL..=DOTPV | ELWSUB | GMPOOL | GAPOOL => self.issued.fpu += 1,
            SFPLOAD..=SFPARECIP => self.issued.sfpu += 1,
            MOP | PACR => self.has_computed = true,
            SETDMAREG => self.set_register_half(thread, instruction),
            STOREREG => {
                let register = (instruction >> 18) as usize % GPR_COUNT;
                let address = REGISTERS_BASE + ((instruction & 0x3_FFFF) << 2);
                return Outgoing::Store { thread, address, value: self.gprs[thread][register] };
            }
            SEMINIT => {
                let value = instruction >> 16 & SEMAPHORE_MAX;
                let max = instruction >> 20 & SEMAPHORE_MAX;
                self.for_selected(instruction, |semaphore| *semaphore = Semaphore { value, max });
            }
            // A later wait takes the place of an earlier one. Units are never busy, so a wait for
            // units ends at once.
            STALLWAIT => self.gates[thread].wait = None,
            SEMWAIT => self.gates[thread].wait = Some(Wait::of(instruction)),
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
    /// writing an odd value decrements it. Returns the effects of the instructions that waited for
    /// it.
    pub(crate) fn write_semaphore(&mut self, index: usize, value: u32) -> Vec<Outgoing> {
        if value & 1 == 0 {
            self.semaphores[index].post();
        } else {
            self.semaphores[index].get();
        }
        self.pass()
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

impl Wait {
    /// Returns the wait of a `SEMWAIT`; without a condition, it waits for units, which never are
    /// busy.
    const fn of(instruction: u32) -> Self {
        let blocked = (instruction >> 15 & 0x1FF) as u16;
        Self {
            blocked: if blocked == 0 { MATRIX } else { blocked },
            semaphores: instruction >> 2 & 0xFF,
            while_empty: instruction & 1 != 0,
            while_full: instruction & 2 != 0,
        }
    }

    /// Returns true as long as the condition is not met.
    fn holds(&self, semaphores: &[Semaphore; SEMAPHORE_COUNT]) -> bool {
        semaphores.iter().enumerate().any(|(index, semaphore)| {
            let is_meant = self.semaphores >> index & 1 != 0;
            let is_empty = self.while_empty && semaphore.value == 0;
            let is_full = self.while_full && semaphore.value >= semaphore.max;
            is_meant && (is_empty || is_full)
        })
    }
}

/// Returns true if a wait that blocks these kinds of instructions holds an instruction back.
///
/// What a macro or a replay contains is not known. It is taken for what threads use them for:
/// thread 0 unpacks, thread 1 computes, and thread 2 packs.
const fn is_blocked(thread: usize, opcode: u32, blocked: u16) -> bool {
    let kinds = match (opcode, thread) {
        (MOP | REPLAY, 0) => MISCELLANEOUS | UNPACK,
        (MOP | REPLAY, 1) => MATRIX | VECTOR,
        (MOP | REPLAY, _) => MISCELLANEOUS | PACK,
        // A `NOP` waits if everything is blocked.
        (0x02, _) => return blocked == ALL_KINDS,
        (0x05..=0x3F, _) => MATRIX,
        (0x40, _) => MISCELLANEOUS | MOVER,
        (PACR | 0x4A, _) => MISCELLANEOUS | PACK,
        (0x42 | 0x43, _) => MISCELLANEOUS | UNPACK,
        (0x44 | 0x50..=0x57 | 0x5E, _) => MISCELLANEOUS,
        (SETDMAREG..=0x49 | 0x58..=0x5D | 0x60..=0x68, _) => MISCELLANEOUS | SCALAR,
        (0x70..=0x9F, _) => VECTOR,
        (STALLWAIT, _) => ALL_KINDS,
        (0xA0..=0xA6, _) => SYNC,
        (0xB0..=0xB7, _) => CONFIGURATION,
        _ => 0,
    };
    kinds & blocked != 0
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
const STALLWAIT: u32 = 0xA2;
const SEMINIT: u32 = 0xA3;
const SEMPOST: u32 = 0xA4;
const SEMGET: u32 = 0xA5;
const SEMWAIT: u32 = 0xA6;
const SEMAPHORE_MAX: u32 = 15;
const REPLAY: u32 = 0x04;

/// Kinds of instructions in the mask of a wait: bits B0 to B8 of `STALLWAIT.md`.
const MISCELLANEOUS: u16 = 1;
const SYNC: u16 = 1 << 1;
const PACK: u16 = 1 << 2;
const UNPACK: u16 = 1 << 3;
const MOVER: u16 = 1 << 4;
const SCALAR: u16 = 1 << 5;
const MATRIX: u16 = 1 << 6;
const CONFIGURATION: u16 = 1 << 7;
const VECTOR: u16 = 1 << 8;
const ALL_KINDS: u16 = 0x1FF;

/// Instructions that fit into the FIFOs of each thread's frontend: before the macro expander, the
/// replay expander and the gate.
const FIFO_INSTRUCTIONS: [usize; THREAD_COUNT] = [32 + 8 + 2, 16 + 8 + 2, 16 + 8 + 2];
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
        coprocessor.push(0, 0xA3 << 24 | 5 << 20 | 2 << 16 | 0b1010 << 2).unwrap();
        coprocessor.push(1, 0xA4 << 24 | 0b10 << 2).unwrap();
        coprocessor.push(1, 0xA5 << 24 | 0b1000 << 2).unwrap();
        coprocessor.push(2, 0x0200_0000).unwrap();
        let values: Vec<u32> = (0..4).map(|index| coprocessor.semaphore(index)).collect();
        assert_eq!(values, [0, 3, 0, 1]);
        assert_eq!(coprocessor.issued().by_thread, [1, 2, 1]);
        // MVMUL, ELWADD and GAPOOL; SFPMAD and SFPLUTFP32; an unpack and a clear, which count for
        // neither unit.
        for opcode in [0x26, 0x28, 0x34, 0x84, 0x95, 0x42, 0x10] {
            coprocessor.push(1, opcode << 24).unwrap();
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
        coprocessor.push(2, 0x45 << 24 | 0x1234 << 8 | 9).unwrap();
        coprocessor.push(2, 0x45 << 24 | 0x0007 << 8 | 8).unwrap();
        assert_eq!(coprocessor.gpr(2, 4), 0x1234_0007);
        let stored = coprocessor.push(2, 0x67 << 24 | 4 << 18 | (0x4_1028 >> 2)).unwrap();
        let expected = Outgoing::Store { thread: 2, address: 0xFFB4_1028, value: 0x1234_0007 };
        assert_eq!(stored, [expected]);
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

    /// SEMWAIT of the kinds `blocked` while semaphores are empty (1) or full (2).
    fn semwait(blocked: u16, semaphores: u32, condition: u32) -> u32 {
        0xA6 << 24 | u32::from(blocked) << 15 | semaphores << 2 | condition
    }

    /// Thread 2 packs a tile when thread 1 has posted it, and takes it back; thread 1 is at most two
    /// tiles ahead.
    #[test]
    fn threads_wait_for_each_others_semaphores() {
        const TILE: u32 = 0b10;
        let (post, get) = (0xA4 << 24 | TILE << 2, 0xA5 << 24 | TILE << 2);
        let mut coprocessor = Coprocessor::new(Arch::Blackhole);
        coprocessor.push(1, 0xA3 << 24 | 2 << 20 | TILE << 2).unwrap();
        for instruction in [semwait(MISCELLANEOUS | SYNC | PACK, TILE, 1), 0x41 << 24, get] {
            coprocessor.push(2, instruction).unwrap();
        }
        assert!(!coprocessor.has_computed() && !coprocessor.is_drained(2));
        for _ in 0..4 {
            for instruction in [semwait(MATRIX | SYNC, TILE, 2), 0x26 << 24, post] {
                coprocessor.push(1, instruction).unwrap();
            }
        }
        // The first tile was packed; two more are ready; the fourth has no room.
        assert!(coprocessor.has_computed() && coprocessor.is_drained(2));
        assert_eq!((coprocessor.semaphore(1), coprocessor.is_drained(1)), (2, false));
        assert_eq!(coprocessor.issued().fpu, 3);
        coprocessor.push(2, get).unwrap();
        assert_eq!((coprocessor.semaphore(1), coprocessor.is_drained(1)), (2, true));
        assert_eq!(coprocessor.issued().fpu, 4);
        // A RISC takes the tiles.
        coprocessor.push(1, semwait(MATRIX | SYNC, TILE, 2)).unwrap();
        coprocessor.push(1, 0x26 << 24).unwrap();
        assert!(!coprocessor.is_drained(1));
        coprocessor.write_semaphore(1, 1);
        assert!(coprocessor.is_drained(1));
    }

    #[test]
    fn a_wait_holds_back_only_what_it_names_until_the_fifos_are_full() {
        let mut coprocessor = Coprocessor::new(Arch::WormholeB0);
        coprocessor.push(0, semwait(UNPACK, 1, 1)).unwrap();
        // An instruction of the matrix unit passes, and so does one of another thread.
        coprocessor.push(0, 0x26 << 24).unwrap();
        coprocessor.push(1, 0x42 << 24).unwrap();
        assert!(coprocessor.is_drained(0) && coprocessor.is_drained(1));
        for _ in 0..42 {
            coprocessor.push(0, 0x42 << 24).unwrap();
        }
        assert_eq!(coprocessor.push(0, 0x42 << 24), Err(Refusal::Busy));
        // Even what the wait does not name waits behind what it holds back.
        assert_eq!(coprocessor.issued().by_thread, [44, 1, 0]);
        coprocessor.write_semaphore(0, 0);
        assert!(coprocessor.is_drained(0));
        // A wait for units takes the place of a wait for semaphores.
        coprocessor.write_semaphore(0, 1);
        coprocessor.push(0, semwait(UNPACK, 1, 1)).unwrap();
        coprocessor.push(0, 0xA2 << 24 | u32::from(UNPACK) << 15 | 1).unwrap();
        assert!(!coprocessor.is_drained(0), "STALLWAIT is held back by every wait");
    }
}
