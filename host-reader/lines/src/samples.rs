//! Sampled program counters: which instruction a sample belongs to, and rows of the table `lines`.

use crate::{Frame, code_file::CodePlace, sums::CodeFacts};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use tables::{LineRow, LineSamples};

/// Samples of one RISC in all launches of one program, as the chip's library writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledProgram {
    /// Number of the chip.
    pub chip_id: u32,
    /// The host's id of the program.
    pub run_host_id: u32,
    /// Name of the op or program, if it is known where the samples were taken.
    pub op: Option<String>,
    /// The RISC.
    pub risc: String,
    /// Cores whose samples are summed.
    pub cores: BTreeSet<(u32, u32)>,
    /// Number of launches of the program on the core with the most sampled launches.
    pub launches: u64,
    /// Sampled instructions.
    pub instructions: Vec<SampledInstruction>,
    /// Instructions of kernels at sampled addresses and shortly before: the number of the kernel, the
    /// address, and the instruction. They tell which file a kernel was loaded from.
    pub kernel_words: BTreeSet<(String, u32, u32)>,
    /// Pairs of consecutive samples with their number, as indices in `instructions`.
    pub pairs: Vec<(usize, usize, u64)>,
    /// Number of series of consecutive samples.
    pub series: u64,
}

/// What a chip's library has sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledChips {
    /// Cycles from one sample to the next.
    pub every_cycles: u32,
    /// The samples.
    pub programs: Vec<SampledProgram>,
    /// Series of samples that were begun.
    pub series: u64,
    /// Series that had not ended when their launch ended; their samples are used.
    pub unfinished_series: u64,
    /// Launches on a core whose daisychain something else used; they were not sampled.
    pub busy_launches: u64,
    /// Samples with impossible values: something else has written to their memory.
    pub damaged_samples: u64,
    /// Why a tile has refused to be sampled.
    pub refusal: Option<String>,
}

/// An instruction of a [`SampledProgram`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledInstruction {
    /// `kernel`, `firmware` or `unknown`.
    pub code: String,
    /// The host's number of the kernel.
    pub kernel: Option<String>,
    /// Address; an offset in a kernel.
    pub address: u32,
    /// The instruction.
    pub instruction: u32,
    /// Number of samples.
    pub count: u64,
    /// Samples in which it waited.
    pub waiting: u64,
    /// Samples in which the RISC had no instruction to decode.
    pub empty: u64,
}

/// State of the instruction in a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampledState {
    /// It enters the integer unit.
    Enters,
    /// It waits.
    Waits,
    /// The RISC has no instruction to decode.
    Empty,
}

/// Returns the address of the instruction to which a sample's time belongs, as exact counts see it.
///
/// `word` returns the instruction at an address; `None` outside of the code. A chip shows the
/// instruction in the decode stage. If it waits, either its operands are missing, or the instruction
/// before it has not left the integer unit: a division, or one that waits for room in the queues of the
/// load/store unit. Operands can only be missing if a load or a multiplication before it writes one.
/// If there is none in the decode stage, the one behind the recent one is being fetched, unless that one
/// is a branch or jump, which may have been predicted wrongly.
///
/// ```
/// use lines::{SampledState, charged_address};
/// // div a0, a0, a1; addi a2, a2, 1
/// let code = [0x02B5_4533, 0x0016_0613];
/// let word = |address: u32| code.get(address as usize / 4).copied();
/// assert_eq!(charged_address(word, 4, SampledState::Waits), 0);
/// assert_eq!(charged_address(word, 4, SampledState::Enters), 4);
/// ```
#[must_use]
pub fn charged_address(
    word: impl Fn(u32) -> Option<u32>,
    address: u32,
    state: SampledState,
) -> u32 {
    if state == SampledState::Empty {
        let next = address.checked_add(4).filter(|&next| word(next).is_some());
        let is_straight = word(address).is_some_and(|own| !is_jump(own) && opcode(own) != 0x63);
        return next.filter(|_| is_straight).unwrap_or(address);
    }
    let before = |count: u32| address.checked_sub(4 * count).and_then(&word);
    let Some((own, previous)) = word(address).zip(before(1)) else { return address };
    // What follows a jump was not executed before the sample's instruction.
    if state != SampledState::Waits || is_jump(previous) {
        return address;
    }
    // For each operand, the latest instruction that writes it counts.
    let mut operands = operands(own);
    for count in 1..=QUEUE_INSTRUCTIONS {
        let Some(word) = before(count).filter(|&word| !is_jump(word)) else { break };
        let Some(result) = result(word).filter(|result| operands.contains(result)) else {
            continue;
        };
        if is_late(word) {
            return address;
        }
        operands.retain(|&operand| operand != result);
    }
    address - 4
}

/// Maximum number of instructions in the retire-order queue.
///
/// tt-isa-documentation, `WormholeB0/TensixTile/BabyRISCV/MemoryOrdering.md`.
const QUEUE_INSTRUCTIONS: u32 = 8;

const fn opcode(word: u32) -> u32 {
    word & 0x7F
}

/// Returns true for `jal` and `jalr`.
const fn is_jump(word: u32) -> bool {
    matches!(opcode(word), 0x6F | 0x67)
}

/// Returns true if the result of an instruction comes later than that of an addition, other than by
/// keeping the integer unit busy: of loads, reads of control registers, and multiplications.
const fn is_late(word: u32) -> bool {
    let is_multiply = opcode(word) == 0x33 && word >> 25 == 1 && word >> 14 & 1 == 0;
    matches!(opcode(word), 0x03 | 0x73) || is_multiply
}

/// Returns the register that an instruction writes.
const fn result(word: u32) -> Option<u32> {
    let register = word >> 7 & 31;
    match opcode(word) {
        // Stores and branches.
        0x23 | 0x63 => None,
        _ if register == 0 => None,
        _ => Some(register),
    }
}

/// Returns the registers that an instruction reads.
fn operands(word: u32) -> Vec<u32> {
    let (first, second) = (word >> 15 & 31, word >> 20 & 31);
    let read = match opcode(word) {
        0x37 | 0x17 | 0x6F => vec![],
        0x33 | 0x23 | 0x63 => vec![first, second],
        _ => vec![first],
    };
    read.into_iter().filter(|&register| register != 0).collect()
}

/// Adds up the samples of one RISC of a program.
///
/// ```
/// use lines::{SampledState, SampleSums};
/// let mut sums = SampleSums::default();
/// let sample = |address| ("kernel", Some("7"), address, 0x13, SampledState::Enters);
/// sums.add([sample(4), sample(4), sample(8)]);
/// let found = sums.finish();
/// assert_eq!((found.instructions[0].count, found.pairs), (2, vec![(0, 0, 1), (0, 1, 1)]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct SampleSums {
    index: BTreeMap<(String, Option<String>, u32, u32), usize>,
    instructions: Vec<SampledInstruction>,
    pairs: BTreeMap<(usize, usize), u64>,
    series: u64,
}

impl SampleSums {
    /// Adds a series of consecutive samples: what the code is, the number of the kernel, the address,
    /// the instruction, and its state.
    pub fn add<'a>(
        &mut self,
        series: impl IntoIterator<Item = (&'a str, Option<&'a str>, u32, u32, SampledState)>,
    ) {
        let mut last = None;
        for (code, kernel, address, instruction, state) in series {
            let key = (code.to_owned(), kernel.map(str::to_owned), address, instruction);
            let next = self.instructions.len();
            let index = *self.index.entry(key).or_insert(next);
            if index == next {
                self.instructions.push(SampledInstruction {
                    code: code.to_owned(),
                    kernel: kernel.map(str::to_owned),
                    address,
                    instruction,
                    ..SampledInstruction::default()
                });
            }
            let found = &mut self.instructions[index];
            found.count += 1;
            found.waiting += u64::from(state == SampledState::Waits);
            found.empty += u64::from(state == SampledState::Empty);
            match last.replace(index) {
                Some(last) => *self.pairs.entry((last, index)).or_default() += 1,
                None => self.series += 1,
            }
        }
    }

    /// Returns the sums.
    #[must_use]
    pub fn finish(self) -> SampledProgram {
        SampledProgram {
            instructions: self.instructions,
            pairs: self.pairs.into_iter().map(|((a, b), count)| (a, b, count)).collect(),
            series: self.series,
            ..SampledProgram::default()
        }
    }
}

/// What is known about a sampled instruction.
#[derive(Clone, Debug, Default)]
pub struct SampledPlace {
    /// The code, its file, and the functions, file and line.
    pub facts: CodeFacts,
    /// Address in the file.
    pub address: u32,
}

impl SampledProgram {
    /// Returns rows of the table `lines`; `place` tells what is known about an instruction.
    ///
    /// An error is one sentence: the file says that there are pairs of instructions that it does not
    /// have.
    ///
    /// # Errors
    /// If a pair has no instruction.
    pub fn rows(
        &self,
        mut place: impl FnMut(&SampledInstruction) -> SampledPlace,
    ) -> Result<Vec<LineRow>, String> {
        let places: Vec<_> = self.instructions.iter().map(&mut place).collect();
        // Instructions of one line share their spread.
        let mut lines = BTreeMap::new();
        let line_of: Vec<usize> = places
            .iter()
            .map(|place| {
                let key = (place.facts.code, line_key(&place.facts.place, place.address));
                let next = lines.len();
                *lines.entry(key).or_insert(next)
            })
            .collect();
        let mut counts = vec![0_u64; lines.len()];
        for (one, &line) in self.instructions.iter().zip(&line_of) {
            counts[line] = counts[line].saturating_add(one.count);
        }
        let of_risc = counts.iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
        let mut changes = vec![0_u64; lines.len()];
        let mut pair_count = 0_u64;
        for &(from, to, count) in &self.pairs {
            let [from, to] = [from, to].map(|index| line_of.get(index).copied());
            let (from, to) = from.zip(to).ok_or_else(|| {
                format!(
                    "expected pairs of {} sampled instructions, found one of another",
                    line_of.len()
                )
            })?;
            pair_count = pair_count.saturating_add(count);
            if from != to {
                changes[from] = changes[from].saturating_add(count);
                changes[to] = changes[to].saturating_add(count);
            }
        }
        let effective: Vec<u64> = counts
            .iter()
            .zip(&changes)
            .map(|(&count, &changes)| {
                effective_samples((count, of_risc), (changes, pair_count), self.series)
            })
            .collect();
        let rows = self.instructions.iter().zip(places).zip(&line_of);
        let rows = rows.map(|((one, SampledPlace { facts, address }), &line)| {
            let CodeFacts { code, elf, place } = facts;
            let mut row = LineRow {
                chip_id: self.chip_id,
                cores: u32::try_from(self.cores.len()).unwrap_or(u32::MAX),
                run_host_id: self.run_host_id,
                op: self.op.clone(),
                launches: self.launches,
                risc: self.risc.clone(),
                code: code.to_owned(),
                elf,
                address,
                instruction: one.instruction,
                samples: Some(LineSamples {
                    count: one.count,
                    waiting: one.waiting,
                    empty: one.empty,
                    of_risc,
                    effective: effective[line],
                }),
                ..LineRow::default()
            };
            place.describe(&mut row);
            row
        });
        Ok(rows.collect())
    }
}

/// What tells the line of an instruction from others: as in [`crate::by_line`].
fn line_key(place: &CodePlace, address: u32) -> (Option<String>, Option<u32>, Option<String>) {
    let first: Option<&Frame> = place.frames.first();
    let function = place.frames.iter().find_map(|frame| frame.function.clone());
    let line = first.and_then(|frame| frame.line);
    let function = function.or_else(|| Some(format!("{address:#x}")));
    (first.and_then(|frame| frame.file.clone()), line, function)
}

/// Returns the number of independent samples that `total` samples are worth for the share `count` of
/// them, if consecutive samples entered or left this share `changes` times in `pairs` pairs.
///
/// A sequence that is in the line or not, and whose next sample depends only on the one before, has the
/// correlation `1 - r` between consecutive samples, where `r` is the number of changes divided by that
/// of independent samples, `2 p (1 - p) pairs`. The variance of its mean is `(2 - r) / r` times that of
/// independent samples.
fn effective_samples((count, total): (u64, u64), (changes, pairs): (u64, u64), series: u64) -> u64 {
    let share = count as f64 / total.max(1) as f64;
    let expected = 2.0 * share * (1.0 - share) * pairs as f64;
    let least = series.clamp(1, total.max(1));
    if expected <= 0.0 {
        // A line with all samples: nothing tells how they depend on each other.
        return least;
    }
    let ratio = (changes as f64 / expected).min(1.0);
    let effective = total as f64 * ratio / (2.0 - ratio);
    // The number of samples is far below 2^53.
    (effective as u64).clamp(1, total.max(1)).max(least.min(count.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words from the RISC-V specification's formats, at addresses from 0 on.
    fn charged(words: &[u32], address: u32) -> u32 {
        let word = |address: u32| words.get(address as usize / 4).copied();
        charged_address(word, address, SampledState::Waits)
    }

    const NOP: u32 = 0x0000_0013;
    /// lw a0, 0(a1)
    const LOAD_A0: u32 = 0x0005_A503;
    /// addi a2, a0, 1
    const USE_A0: u32 = 0x0015_0613;
    /// mul a0, a0, a1
    const MUL_A0: u32 = 0x02B5_0533;
    /// div a0, a0, a1
    const DIV_A0: u32 = 0x02B5_4533;
    /// sw a0, 0(a1)
    const STORE_A0: u32 = 0x00A5_A023;
    /// addi a0, x0, 5
    const SET_A0: u32 = 0x0050_0513;
    /// jal x0, 16
    const JUMP: u32 = 0x0100_006F;

    #[test]
    fn an_instruction_waits_for_the_load_or_product_that_it_uses() {
        assert_eq!(charged(&[LOAD_A0, USE_A0], 4), 4);
        assert_eq!(charged(&[LOAD_A0, NOP, NOP, STORE_A0], 12), 12);
        assert_eq!(charged(&[MUL_A0, USE_A0], 4), 4);
        // lw a0, 0(a1); addi a5, x0, 3; beq a0, a5, 16
        assert_eq!(charged(&[LOAD_A0, 0x0030_0793, 0x00F5_0863], 8), 8);
    }

    #[test]
    fn else_the_one_before_it_has_not_left_the_integer_unit() {
        assert_eq!(charged(&[DIV_A0, USE_A0], 4), 0);
        assert_eq!(charged(&[STORE_A0, STORE_A0, NOP], 8), 4);
        // The load is too old, or its value is replaced.
        assert_eq!(charged(&[LOAD_A0, SET_A0, USE_A0], 8), 4);
        let old = [&[LOAD_A0][..], &[NOP; 8], &[USE_A0]].concat();
        assert_eq!(charged(&old, 36), 32);
    }

    #[test]
    fn where_nothing_is_decoded_the_next_instruction_is_fetched() {
        let empty = |words: &[u32]| {
            let word = |address: u32| words.get(address as usize / 4).copied();
            charged_address(word, 0, SampledState::Empty)
        };
        assert_eq!(empty(&[NOP, NOP]), 4);
        // bnez a0, -4, and a jump: what is next is not known.
        assert_eq!([empty(&[0xFE05_1EE3, NOP]), empty(&[JUMP, NOP]), empty(&[NOP])], [0; 3]);
    }

    #[test]
    fn nothing_is_known_of_what_was_before_a_jump_and_before_the_code() {
        assert_eq!(charged(&[JUMP, USE_A0], 4), 4);
        assert_eq!(charged(&[USE_A0], 0), 0);
        assert_eq!(charged(&[USE_A0], 0x1000), 0x1000);
    }

    /// Mean and variance of the share in many sequences of a two-state chain.
    fn spread(stay: [f64; 2], length: u64) -> (f64, f64, u64) {
        let mut state = 0x1234_5678_9ABC_DEF0_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let (mut shares, mut effective) = (Vec::new(), 0);
        for _ in 0..400 {
            let (mut is_in, mut count, mut changes) = (random() < 0.5, 0, 0);
            for _ in 0..length {
                let next = if random() < stay[usize::from(is_in)] { is_in } else { !is_in };
                changes += u64::from(next != is_in);
                is_in = next;
                count += u64::from(is_in);
            }
            effective += effective_samples((count, length), (changes, length - 1), 1);
            shares.push(count as f64 / length as f64);
        }
        let mean = shares.iter().sum::<f64>() / 400.0;
        let variance = shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / 399.0;
        (mean, variance, effective / 400)
    }

    #[test]
    fn the_effective_number_predicts_the_spread_of_dependent_samples() {
        for stay in [[0.5, 0.5], [0.9, 0.9], [0.98, 0.8]] {
            let (mean, variance, effective) = spread(stay, 4000);
            let predicted = mean * (1.0 - mean) / effective as f64;
            let ratio = variance / predicted;
            assert!((0.75..1.33).contains(&ratio), "{stay:?}: {ratio}");
        }
    }

    #[test]
    fn rows_have_the_samples_of_their_line_and_a_damaged_file_is_told() {
        let mut sums = SampleSums::default();
        let sample = |address| ("kernel", Some("7"), address, NOP, SampledState::Enters);
        sums.add([sample(0), sample(4), sample(4), sample(8)]);
        let mut program = sums.finish();
        let place = |one: &SampledInstruction| SampledPlace {
            facts: CodeFacts { code: "kernel", ..CodeFacts::default() },
            address: one.address,
        };
        let rows = program.rows(place).unwrap();
        let found: Vec<_> = rows.iter().map(|row| row.samples.unwrap().count).collect();
        assert_eq!(found, [1, 2, 1]);
        assert!(rows.iter().all(|row| row.samples.unwrap().of_risc == 4));
        program.pairs.push((0, 9, 1));
        let error = program.rows(place).unwrap_err();
        assert_eq!(error, "expected pairs of 3 sampled instructions, found one of another");
    }
}
