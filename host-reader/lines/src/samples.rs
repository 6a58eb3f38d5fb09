//! Sampled program counters: which instruction a sample belongs to, and rows of the table `lines`.

use crate::{Frame, code_file::CodePlace, sums::CodeFacts};
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tables::{LineRow, LineSamples, NORMAL_QUANTILE};

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
    /// For pairs of instructions, as indices in `instructions`, of which the first is not larger: the
    /// sum over all series of the product of their numbers of samples.
    pub products: Vec<(usize, usize, u64)>,
    /// Number of series of samples.
    pub series: u64,
}

/// What a chip's library has sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SampledChips {
    /// Fewest and most cycles from one sample to the next; they differ from series to series.
    pub every_cycles: (u32, u32),
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
///
/// If there is none in the decode stage, the one behind the recent one is being fetched; `next` is what
/// the next sample shows, if it was taken so soon that it tells where the RISC went. A branch may also
/// have been predicted wrongly. What is behind a jump to an address in a register is not known without
/// `next`, and the time is the jump's.
///
/// ```
/// use lines::{SampledState, charged_address};
/// // div a0, a0, a1; addi a2, a2, 1
/// let code = [0x02B5_4533, 0x0016_0613];
/// let word = |address: u32| code.get(address as usize / 4).copied();
/// assert_eq!(charged_address(word, (4, SampledState::Waits), None), 0);
/// assert_eq!(charged_address(word, (4, SampledState::Enters), None), 4);
/// ```
#[must_use]
pub fn charged_address(
    word: impl Fn(u32) -> Option<u32>,
    (address, state): (u32, SampledState),
    next: Option<u32>,
) -> u32 {
    if state == SampledState::Empty {
        return fetched_address(word, address, next).unwrap_or(address);
    }
    let before = |count: u32| address.checked_sub(4 * count).and_then(&word);
    let Some((own, previous)) = word(address).zip(before(1)) else { return address };
    // A load waits for the device that it reads, or for a store to the same place.
    let is_load_behind_store = opcode(own) == LOAD && opcode(previous) == STORE;
    // What follows a jump was not executed before the sample's instruction.
    if is_load_behind_store || state != SampledState::Waits || is_jump(previous) {
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

/// Returns the address of the instruction that is fetched behind the one at an address; `None` if it is
/// not known, or if the RISC more likely waits because of that one.
fn fetched_address(
    word: impl Fn(u32) -> Option<u32>,
    address: u32,
    next: Option<u32>,
) -> Option<u32> {
    let own = word(address)?;
    let behind = address.wrapping_add(4);
    let found = match opcode(own) {
        JAL => address.wrapping_add(jump_offset(own)),
        JALR => return next,
        BRANCH => {
            let target = address.wrapping_add(branch_offset(own));
            // What is in the branch's own block was fetched with it, and the code of a loop before.
            let is_fetched = |at: u32| at / BLOCK_BYTES != address / BLOCK_BYTES && at > address;
            let may_be = |at: u32| {
                let is_near = |next: u32| next.wrapping_sub(at) < NEAR_BYTES;
                is_fetched(at) && next.is_none_or(is_near)
            };
            match (may_be(target), may_be(behind)) {
                (true, false) => target,
                (false, true) => behind,
                _ => return None,
            }
        }
        _ => behind,
    };
    word(found).map(|_| found)
}

/// Number of bytes of code that are fetched at once.
///
/// tt-isa-documentation, `WormholeB0/TensixTile/BabyRISCV/InstructionCache.md`.
const BLOCK_BYTES: u32 = 16;
/// Number of bytes of code that may be executed until the next sample.
const NEAR_BYTES: u32 = 64;
const LOAD: u32 = 0x03;
const STORE: u32 = 0x23;
const JAL: u32 = 0x6F;
const JALR: u32 = 0x67;
const BRANCH: u32 = 0x63;

/// Returns the bits of a word from `first` on.
const fn bits(word: u32, first: u32, count: u32) -> u32 {
    word >> first & ((1 << count) - 1)
}

/// Returns a number of `count` bits with its sign.
const fn signed(number: u32, count: u32) -> u32 {
    ((number << (32 - count)).cast_signed() >> (32 - count)).cast_unsigned()
}

/// Returns the distance of a `jal`: the format J of the RISC-V specification.
const fn jump_offset(word: u32) -> u32 {
    let parts = bits(word, 21, 10) << 1 | bits(word, 20, 1) << 11 | bits(word, 12, 8) << 12;
    signed(parts | bits(word, 31, 1) << 20, 21)
}

/// Returns the distance of a branch: the format B of the RISC-V specification.
const fn branch_offset(word: u32) -> u32 {
    let parts = bits(word, 8, 4) << 1 | bits(word, 25, 6) << 5 | bits(word, 7, 1) << 11;
    signed(parts | bits(word, 31, 1) << 12, 13)
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
    matches!(opcode(word), JAL | JALR)
}

/// Returns true if the result of an instruction comes later than that of an addition, other than by
/// keeping the integer unit busy: of loads, reads of control registers, and multiplications.
const fn is_late(word: u32) -> bool {
    let is_multiply = opcode(word) == 0x33 && word >> 25 == 1 && word >> 14 & 1 == 0;
    matches!(opcode(word), LOAD | 0x73) || is_multiply
}

/// Returns the register that an instruction writes.
const fn result(word: u32) -> Option<u32> {
    let register = word >> 7 & 31;
    match opcode(word) {
        // Stores and branches.
        STORE | BRANCH => None,
        _ if register == 0 => None,
        _ => Some(register),
    }
}

/// Returns the registers that an instruction reads.
fn operands(word: u32) -> Vec<u32> {
    let (first, second) = (word >> 15 & 31, word >> 20 & 31);
    let read = match opcode(word) {
        0x37 | 0x17 | JAL => vec![],
        0x33 | STORE | BRANCH => vec![first, second],
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
/// assert_eq!(found.instructions[0].count, 2);
/// assert_eq!(found.products, [(0, 0, 4), (0, 1, 2), (1, 1, 1)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct SampleSums {
    index: BTreeMap<(String, Option<String>, u32, u32), usize>,
    instructions: Vec<SampledInstruction>,
    products: HashMap<(usize, usize), u64>,
    series: u64,
}

impl SampleSums {
    /// Adds a series of samples: what the code is, the number of the kernel, the address, the
    /// instruction, and its state.
    pub fn add<'a>(
        &mut self,
        series: impl IntoIterator<Item = (&'a str, Option<&'a str>, u32, u32, SampledState)>,
    ) {
        let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
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
            *counts.entry(index).or_default() += 1;
        }
        self.series += u64::from(!counts.is_empty());
        for (&one, &count) in &counts {
            for (&other, &of_other) in counts.range(one..) {
                *self.products.entry((one, other)).or_default() += count * of_other;
            }
        }
    }

    /// Returns the sums.
    #[must_use]
    pub fn finish(self) -> SampledProgram {
        let mut products: Vec<_> =
            self.products.into_iter().map(|((one, other), sum)| (one, other, sum)).collect();
        products.sort_unstable();
        SampledProgram {
            instructions: self.instructions,
            products,
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
    /// An error is one sentence: the file has products of instructions that it does not have.
    ///
    /// # Errors
    /// If a product has no instruction.
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
        let mut spreads = vec![Spread::default(); lines.len()];
        let mut of_series = 0.0;
        for &(one, other, sum) in &self.products {
            let [first, second] = [one, other].map(|index| line_of.get(index).copied());
            let (first, second) = first.zip(second).ok_or_else(|| {
                format!(
                    "expected products of {} sampled instructions, found one of another",
                    line_of.len()
                )
            })?;
            // A product of two instructions is there once, and belongs to both.
            let times = if one == other { 1.0 } else { 2.0 };
            let product = sum as f64;
            of_series += times * product;
            if first == second {
                spreads[first].with_own += times * product;
            }
            spreads[first].with_all += product;
            if one != other {
                spreads[second].with_all += product;
            }
        }
        let effective: Vec<u64> = counts
            .iter()
            .zip(&spreads)
            .map(|(&count, spread)| {
                effective_samples((count, of_risc), (spread, of_series), self.series)
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

/// Sums over the series of the products of two numbers of samples.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    /// Squares of the line's own number of samples.
    with_own: f64,
    /// The line's number, and that of all samples of the series.
    with_all: f64,
}

/// Largest number of independent samples that the samples of a line are worth. What a sample shows has an
/// error of its own, which more samples do not reduce.
///
/// Measured on the simulated chips, where the exact shares are known: `docs/lines.md`.
pub(crate) const EFFECTIVE_MAX: u64 = 2000;

/// Returns the number of independent samples that `total` samples are worth for the share `count` of
/// them. `of_series` is the sum of the squares of the numbers of samples of each series.
///
/// Samples of one series depend on each other, series do not. So the variance of the share is that of a
/// ratio of sums over `m` series, `m / (m - 1) * sum((count - share * total)^2) / total^2`, with the
/// numbers of each series in the inner sum. With few series, this variance is uncertain itself:
/// the quantile of Student's distribution takes the place of that of the normal one.
#[expect(clippy::cast_possible_truncation, reason = "at most the number of samples")]
fn effective_samples(
    (count, total): (u64, u64),
    (spread, of_series): (&Spread, f64),
    series: u64,
) -> u64 {
    let share = count as f64 / total.max(1) as f64;
    if series < 2 {
        return 1;
    }
    let m = series as f64;
    let squares = spread.with_own - 2.0 * share * spread.with_all + share * share * of_series;
    let variance = m / (m - 1.0) * squares / (total as f64 * total as f64);
    let independent = share * (1.0 - share) / variance;
    // Series that all have the same share do not tell more than as many independent samples; a line
    // with all samples tells nothing about how these depend on each other.
    let most = if count == total { m } else { total as f64 };
    let independent = if independent.is_finite() { independent.clamp(0.0, most) } else { most };
    let Ok(student) = StudentsT::new(0.0, 1.0, m - 1.0) else { return 1 };
    let ratio = NORMAL_QUANTILE / student.inverse_cdf(0.975);
    ((independent * ratio * ratio) as u64).clamp(1, EFFECTIVE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_line;

    /// Words from the RISC-V specification's formats, at addresses from 0 on.
    fn charged(words: &[u32], address: u32) -> u32 {
        let word = |address: u32| words.get(address as usize / 4).copied();
        charged_address(word, (address, SampledState::Waits), None)
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
        assert_eq!(charged(&[NOP, STORE_A0, LOAD_A0], 8), 8);
        // The load is too old, or its value is replaced.
        assert_eq!(charged(&[LOAD_A0, SET_A0, USE_A0], 8), 4);
        let old = [&[LOAD_A0][..], &[NOP; 8], &[USE_A0]].concat();
        assert_eq!(charged(&old, 36), 32);
    }

    #[test]
    fn where_nothing_is_decoded_the_next_instruction_is_fetched() {
        let empty_at = |words: &[u32], address: u32, next: Option<u32>| {
            let word = |address: u32| words.get(address as usize / 4).copied();
            charged_address(word, (address, SampledState::Empty), next)
        };
        let empty = |words: &[u32], next| empty_at(words, 0, next);
        assert_eq!([empty(&[NOP, NOP], None), empty(&[NOP], None)], [4, 0]);
        // A jump by 16 bytes, and one out of the code.
        assert_eq!(empty(&[JUMP, NOP, NOP, NOP, NOP], None), 16);
        assert_eq!(empty(&[JUMP, NOP], None), 0);
        // jal x0, -8
        assert_eq!(empty_at(&[NOP, NOP, NOP, 0xFF9F_F06F], 12, None), 4);
        // ret
        assert_eq!(empty(&[0x0000_8067, NOP], None), 0);
        assert_eq!(empty(&[0x0000_8067, NOP], Some(0x7654)), 0x7654);
        // A loop's branch, bnez a0, -4, is predicted wrongly.
        assert_eq!(empty_at(&[NOP, 0xFE05_1EE3, NOP], 4, None), 4);
        // beq a0, a5, 16 at the beginning and at the end of a block.
        let mut code = [NOP; 12];
        (code[0], code[3]) = (0x00F5_0863, 0x00F5_0863);
        assert_eq!(empty(&code, None), 16);
        assert_eq!([empty(&code, Some(16)), empty(&code, Some(4))], [16, 0]);
        assert_eq!([Some(32), Some(20), None].map(|next| empty_at(&code, 12, next)), [12, 16, 12]);
    }

    #[test]
    fn nothing_is_known_of_what_was_before_a_jump_and_before_the_code() {
        assert_eq!(charged(&[JUMP, USE_A0], 4), 4);
        assert_eq!(charged(&[USE_A0], 0), 0);
        assert_eq!(charged(&[USE_A0], 0x1000), 0x1000);
    }

    /// A sequence that is in a line or not, and whose next sample depends on the one before.
    struct Chain {
        state: u64,
        stay: [f64; 2],
        is_in: bool,
    }

    impl Chain {
        fn random(&mut self) -> f64 {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            (self.state >> 11) as f64 / (1_u64 << 53) as f64
        }

        /// Begins at a time of its own.
        fn begin(&mut self) {
            let leaves = self.stay.map(|stay| 1.0 - stay);
            self.is_in = self.random() < leaves[0] / (leaves[0] + leaves[1]);
        }

        fn next(&mut self) -> bool {
            let stays = self.random() < self.stay[usize::from(self.is_in)];
            self.is_in = stays == self.is_in;
            self.is_in
        }
    }

    fn line_address(is_in: bool) -> u32 {
        if is_in { 0 } else { 4 }
    }

    /// Returns the part of many recordings in which the interval of a share holds the truth.
    fn held(stay: [f64; 2], (series, length): (usize, usize)) -> f64 {
        let truth = (1.0 - stay[0]) / (2.0 - stay[0] - stay[1]);
        let mut chain = Chain { state: 0x1234_5678_9ABC_DEF0, stay, is_in: false };
        let (mut held, mut all) = (0.0, 0.0);
        for _ in 0..1000 {
            let mut sums = SampleSums::default();
            for _ in 0..series {
                chain.begin();
                sums.add((0..length).map(|_| {
                    ("kernel", Some("7"), line_address(chain.next()), NOP, SampledState::Enters)
                }));
            }
            let rows = sums.finish().rows(place_of).unwrap();
            for row in rows.iter().filter(|row| row.address == 0) {
                let share = row.samples.unwrap().share().unwrap();
                held += f64::from(u8::from(share.low <= truth && truth <= share.high));
                all += 1.0;
            }
        }
        held / all
    }

    fn place_of(one: &SampledInstruction) -> SampledPlace {
        SampledPlace {
            facts: CodeFacts { code: "kernel", ..CodeFacts::default() },
            address: one.address,
        }
    }

    #[test]
    fn intervals_hold_the_truth_of_dependent_samples_of_common_and_rare_lines() {
        let chains = [[0.5, 0.5], [0.9, 0.9], [0.98, 0.8], [0.9999, 0.0], [0.9999, 0.9]];
        for stay in chains {
            for size in [(5, 20), (40, 50), (200, 10)] {
                let part = held(stay, size);
                assert!(part >= 0.93, "{stay:?}, {size:?}: {part}");
            }
        }
    }

    #[test]
    fn a_single_series_tells_nothing_of_the_spread() {
        let mut sums = SampleSums::default();
        let sample = |address| ("kernel", Some("7"), address, NOP, SampledState::Enters);
        sums.add([0, 4].repeat(50).into_iter().map(sample));
        let rows = sums.finish().rows(place_of).unwrap();
        assert!(rows.iter().all(|row| row.samples.unwrap().effective == 1));
    }

    /// Of 40,000 independent samples, one half is in each line.
    #[test]
    fn an_interval_is_as_long_as_the_error_of_what_a_sample_shows() {
        let mut chain = Chain { state: 1, stay: [0.5; 2], is_in: false };
        let mut sums = SampleSums::default();
        for _ in 0..400 {
            let samples = (0..100).map(|_| line_address(chain.next()));
            let kernel = |address| ("kernel", Some("7"), address, NOP, SampledState::Enters);
            sums.add(samples.map(kernel));
        }
        let rows = sums.finish().rows(place_of).unwrap();
        assert_eq!(rows.len(), 2);
        let other_program = rows.iter().map(|row| LineRow { run_host_id: 9, ..row.clone() });
        let both: Vec<_> = rows.iter().cloned().chain(other_program).collect();
        for rows in [rows, both] {
            for one in by_line(&rows) {
                let share = one.samples.unwrap().share().unwrap();
                // 2 * 1.96 standard deviations of 2,000 samples, which are 0.01118 each.
                let length = share.high - share.low;
                assert!((0.0437..0.0439).contains(&length), "{length}");
            }
        }
    }

    #[test]
    fn rows_have_the_samples_of_their_line_and_a_damaged_file_is_told() {
        let mut sums = SampleSums::default();
        let sample = |address| ("kernel", Some("7"), address, NOP, SampledState::Enters);
        sums.add([sample(0), sample(4), sample(4), sample(8)]);
        let mut program = sums.finish();
        let rows = program.rows(place_of).unwrap();
        let found: Vec<_> = rows.iter().map(|row| row.samples.unwrap().count).collect();
        assert_eq!(found, [1, 2, 1]);
        assert!(rows.iter().all(|row| row.samples.unwrap().of_risc == 4));
        program.products.push((0, 9, 1));
        let error = program.rows(place_of).unwrap_err();
        assert_eq!(error, "expected products of 3 sampled instructions, found one of another");
    }
}
