//! The coprocessor's configuration: two banks of words, and words of each thread.
//!
//! # Compatibility
//! tt-isa-documentation, `TensixTile/TensixCoprocessor/BackendConfiguration.md`; places of the fields
//! as in tt-metal's `cfg_defines.h`.

use super::{THREAD_COUNT, instruction::Instruction, instruction::op};
use crate::arch::Arch;

/// Number of words of each thread that are kept.
const THREAD_WORDS: usize = 64;
/// Index, counted from the start of a bank, of a configuration word. A write to this word sets the
/// words that belong only to this bank to 0.
const STATE_RESET_WORD: usize = 4;
/// Index of the thread's word that selects its bank.
const BANK_WORD: usize = 0;

/// Words of the configuration.
#[derive(Clone, Debug)]
pub(super) struct Configuration {
    /// Words of the two banks, one bank after the other.
    words: Vec<u32>,
    threads: [[u16; THREAD_WORDS]; THREAD_COUNT],
    layout: &'static Layout,
}

/// Places of words on a chip. Indices count from the start of a bank, or of a thread's words.
#[derive(Debug)]
struct Layout {
    bank_words: usize,
    /// First word that has the same value in both banks.
    first_global: usize,
    /// `RISCV_IC_INVALIDATE`.
    cache: usize,
    /// `THCON_SEC0_REG0_TileDescriptor`: the first word of unpacker 0, and of the scalar unit's
    /// configuration.
    unpacker: usize,
    /// Distance from unpacker 0's words to those of unpacker 1.
    unpacker_stride: usize,
    /// Bit of `Pack_L1_Acc`.
    accumulate_bit: u32,
    /// `CLR_DVALID_SrcA_Disable` of a thread.
    keep_sources: usize,
}

static WORMHOLE: Layout = Layout {
    bank_words: 188,
    first_global: 152,
    cache: 157,
    unpacker: 52,
    unpacker_stride: 40,
    accumulate_bit: 21,
    keep_sources: 5,
};

static BLACKHOLE: Layout = Layout {
    bank_words: 224,
    first_global: 180,
    cache: 185,
    unpacker: 64,
    unpacker_stride: 48,
    accumulate_bit: 19,
    keep_sources: 7,
};

/// Distances from an unpacker's tile descriptor to other words of its section.
mod distance {
    /// `REG1`, with the packers' formats in its third word.
    pub(super) const PACKERS: usize = 6;
    pub(super) const PACKERS_SECOND: usize = 7;
    /// `REG2`, with the throttle mode.
    pub(super) const MODE: usize = 8;
    /// `REG7`, with the formats of the contexts.
    pub(super) const CONTEXTS: usize = 28;
}

/// Size of one datum in bits, by the code of its format.
///
/// # Compatibility
/// tt-isa-documentation, `UNPACR_Regular.md`; codes as in tt-metal's `DataFormat`.
const DATUM_BITS: [u64; 16] = [32, 16, 8, 4, 32, 16, 8, 4, 32, 16, 8, 2, 8, 8, 8, 2];

impl Configuration {
    pub(super) fn new(arch: Arch) -> Self {
        let layout = match arch {
            Arch::WormholeB0 => &WORMHOLE,
            Arch::Blackhole => &BLACKHOLE,
        };
        let words = vec![0; 2 * layout.bank_words];
        Self { words, threads: [[0; THREAD_WORDS]; THREAD_COUNT], layout }
    }

    /// Returns a word, as a RISC reads it.
    pub(super) fn word(&self, word: usize) -> u32 {
        self.words.get(word).copied().unwrap_or(0)
    }

    /// Returns true if a write to a word empties instruction caches.
    pub(super) const fn is_cache_control(&self, word: usize) -> bool {
        word % self.layout.bank_words == self.layout.cache
    }

    /// Writes a word.
    pub(super) fn set(&mut self, word: usize, value: u32) {
        let Layout { bank_words, first_global, .. } = *self.layout;
        let (bank, index) = (word / bank_words, word % bank_words);
        if index == STATE_RESET_WORD {
            let first = bank * bank_words;
            self.words[first..first + first_global].fill(0);
        } else if index >= first_global {
            self.words[index] = value;
            self.words[bank_words + index] = value;
        } else {
            self.words[word] = value;
        }
    }

    /// Executes an instruction that writes the configuration; `gprs` are the registers of its
    /// thread.
    pub(super) fn execute(&mut self, thread: usize, instruction: Instruction, gprs: &[u32]) {
        let gpr = |index: usize| gprs.get(index).copied().unwrap_or(0);
        match instruction.opcode() {
            op::SETC16 => {
                let index = instruction.field(16, 8) as usize;
                if let Some(word) = self.threads[thread].get_mut(index) {
                    *word = (instruction.0 & 0xFFFF) as u16;
                }
            }
            op::WRCFG => {
                let (first, register) = (instruction.field(0, 11), instruction.field(16, 6));
                let is_wide = instruction.bit(15);
                for index in 0..if is_wide { 4 } else { 1 } {
                    let aligned = |of: u32| if is_wide { of & !3 } else { of };
                    let word = aligned(first) + index;
                    self.set_of(thread, word as usize, gpr((aligned(register) + index) as usize));
                }
            }
            opcode @ op::RMWCIB0..=op::RMWCIB3 => {
                let shift = 8 * u32::from(opcode - op::RMWCIB0);
                let (word, mask) = (instruction.field(0, 8), instruction.field(16, 8) << shift);
                let value = instruction.field(8, 8) << shift;
                let before = self.of(thread, word as usize);
                self.set_of(thread, word as usize, before & !mask | value & mask);
            }
            // Whole words to the scalar unit's configuration.
            op::REG2FLOP if instruction.field(20, 2) == 0 && instruction.field(22, 2) == 1 => {
                let word = self.layout.unpacker + instruction.field(6, 10) as usize;
                self.set_of(thread, word, gpr(instruction.field(0, 6) as usize));
            }
            _ => {}
        }
    }

    /// Returns a word of the bank that a thread uses.
    fn of(&self, thread: usize, index: usize) -> u32 {
        self.word(self.bank(thread) * self.layout.bank_words + index)
    }

    fn set_of(&mut self, thread: usize, index: usize, value: u32) {
        if index < self.layout.bank_words {
            self.set(self.bank(thread) * self.layout.bank_words + index, value);
        }
    }

    const fn bank(&self, thread: usize) -> usize {
        (self.threads[thread][BANK_WORD] & 1) as usize
    }

    /// Returns the sources whose banks the matrix unit keeps when instructions of a thread turn to
    /// the other bank.
    pub(super) const fn kept_sources(&self, thread: usize) -> u8 {
        (self.threads[thread][self.layout.keep_sources] & 3) as u8
    }

    /// Returns the bits of a datum that an unpacker reads from L1, and the bytes that it reads in a
    /// cycle if it is alone. `context` is the context of the instruction, if it names one.
    pub(super) fn unpacked(
        &self,
        thread: usize,
        unpacker: usize,
        context: Option<u32>,
    ) -> (u64, u64) {
        let first = self.layout.unpacker + unpacker * self.layout.unpacker_stride;
        let mode = self.of(thread, first + distance::MODE);
        let format = match context {
            Some(context) if mode >> 14 & 1 != 0 => {
                let word = first + distance::CONTEXTS + (context & 3) as usize;
                self.of(thread, word) >> if context < 4 { 16 } else { 24 }
            }
            _ => self.of(thread, first),
        } & 0xF;
        let bits = DATUM_BITS[format as usize];
        // Formats of two bits are always read slowly.
        let rate = if bits == 2 { 16 } else { 16 << (mode >> 4 & 3).min(2) };
        (bits, rate)
    }

    /// Returns the bits of a datum that the packers write to L1, and true if they add it to what is
    /// there.
    pub(super) fn packed(&self, thread: usize) -> (u64, bool) {
        let first = self.layout.unpacker;
        let format = self.of(thread, first + distance::PACKERS) >> 4 & 0xF;
        let adds = self.of(thread, first + distance::PACKERS_SECOND) >> self.layout.accumulate_bit;
        (DATUM_BITS[format as usize], adds & 1 != 0)
    }
}
