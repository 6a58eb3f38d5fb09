//! `lines`: where the cycles of kernels went in their code.

use crate::{Column, Table};
use statrs::function::gamma::gamma_lr;
use std::borrow::Cow;

/// Table of instructions with their executions and cycles.
pub struct Lines;

/// Counts of one instruction of one program on one RISC, for one awaited object or outside of
/// waits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineRow {
    /// Number of the chip.
    pub chip_id: u32,
    /// NoC-0 coordinates of the core; `None` if the counts are sums over several cores.
    pub core: Option<(u32, u32)>,
    /// Number of cores whose counts are summed.
    pub cores: u32,
    /// Id of the program, with the chip encoded in it.
    pub run_host_id: u32,
    /// Name of the op or program.
    pub op: Option<String>,
    /// Number of launches whose counts are summed.
    pub launches: u64,
    /// The RISC.
    pub risc: String,
    /// What the code belongs to: `kernel`, `firmware`, `profiler` or `unknown`.
    pub code: String,
    /// ELF file of the code.
    pub elf: Option<String>,
    /// Address of the instruction in its ELF file; the executed address if there is no file.
    pub address: u32,
    /// The instruction.
    pub instruction: u32,
    /// Innermost function, also an inlined one.
    pub function: Option<String>,
    /// Source file of the instruction.
    pub file: Option<String>,
    /// Line in `file`.
    pub line: Option<u32>,
    /// Text of the line when the table was made.
    pub source_text: Option<String>,
    /// Functions around `function` in which it was inlined, innermost first, as
    /// `FUNCTION at FILE:LINE` with the place of the call, separated by ` < `.
    pub inlined_into: Option<String>,
    /// Object that the RISC waited for.
    pub waits_for: Option<String>,
    /// Samples of the instruction; `None` if its executions and cycles were counted exactly. A sampled
    /// row has no executions and cycles: the fields below are 0.
    pub samples: Option<LineSamples>,
    /// Number of executions.
    pub instructions: u64,
    /// Cycles on the core with the fewest, the median core, and the core with the most.
    pub core_cycles: [u64; 3],
    /// Cycles by reason, in the order of the columns.
    pub cycles: [u64; REASONS],
}

/// Samples of an instruction that a chip took of its own program counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineSamples {
    /// Number of samples.
    pub count: u64,
    /// Those in which the instruction waited for its operands or for the one before it.
    pub waiting: u64,
    /// Those in which the RISC had no instruction to decode: it fetched this one, or this branch or jump
    /// may have been predicted wrongly.
    pub empty: u64,
    /// Samples of the RISC in all launches of the program, also in other code.
    pub of_risc: u64,
    /// Number of independent samples that `of_risc` is worth for the share of the row's line: samples
    /// in one wait are not independent.
    pub effective: u64,
}

/// A share of samples, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SampleShare {
    /// The share, from 0 to 1.
    pub share: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
}

impl SampleShare {
    /// Returns the share `count / of`, with the interval of Wilson's score for `effective` independent
    /// samples; `None` without samples.
    ///
    /// Only what was sampled has a share, and most lines that are executed seldom were not. So the lower
    /// end is no larger than that of a number of samples of which it is known that it is not 0.
    ///
    /// ```
    /// // Newcombe 1998, table I: 81 of 263 is from 0.2553 to 0.3662.
    /// let found = tables::SampleShare::new(81, 263, 263).ok_or("no samples")?;
    /// assert_eq!(format!("{:.4} {:.4}", found.low, found.high), "0.2553 0.3662");
    /// # Ok::<(), &str>(())
    /// ```
    #[must_use]
    pub fn new(count: u64, of: u64, effective: u64) -> Option<Self> {
        if of == 0 || effective == 0 || count > of {
            return None;
        }
        let (share, n) = (count as f64 / of as f64, effective as f64);
        let z2 = NORMAL_QUANTILE * NORMAL_QUANTILE;
        let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
        let spread = (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
        let half = NORMAL_QUANTILE / (1.0 + z2 / n) * spread;
        let (low, high) = ((middle - half).max(0.0), (middle + half).min(1.0));
        let low = low.min(least_expected(share * n) / n);
        Some(Self { share, low, high })
    }
}

/// Returns the smallest expected number with which a Poisson-distributed number that is not 0 is at least
/// `found` in 2.5 % of cases.
fn least_expected(found: f64) -> f64 {
    if found <= 1.0 {
        return 0.0;
    }
    if found > SURE {
        return found;
    }
    let probability = |expected: f64| gamma_lr(found, expected) / -f64::exp_m1(-expected);
    let (mut low, mut high) = (0.0, found);
    for _ in 0..BISECTIONS {
        let middle = 0.5 * (low + high);
        if probability(middle) < 0.025 { low = middle } else { high = middle }
    }
    low
}

/// A number above which it makes no difference whether it is known not to be 0.
const SURE: f64 = 50.0;
/// Number of times that an interval is halved, which is more exact than any output.
const BISECTIONS: u32 = 40;

/// The 97.5 % quantile of the normal distribution.
pub const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

impl LineSamples {
    /// Returns the share of the RISC's samples.
    #[must_use]
    pub fn share(&self) -> Option<SampleShare> {
        SampleShare::new(self.count, self.of_risc, self.effective)
    }
}

/// Number of reasons for cycles.
pub const REASONS: usize = 10;

impl LineRow {
    /// Returns the number of the program, which is the same on all chips.
    ///
    /// ```
    /// let row = tables::LineRow { run_host_id: 5 << 10 | 3, ..Default::default() };
    /// assert_eq!(row.program(), 5);
    /// ```
    #[must_use]
    pub fn program(&self) -> u32 {
        wire::RunHostId(self.run_host_id).base()
    }

    /// Returns the number by which lines are compared: the samples of a sampled row, the cycles of an
    /// exact one. A table has rows of one kind only.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.samples.map_or_else(|| self.total_cycles(), |samples| samples.count)
    }

    /// Returns a number of an exact row; `None` for a sampled one.
    const fn exact(&self, number: u64) -> Option<u64> {
        match self.samples {
            None => Some(number),
            Some(_) => None,
        }
    }

    fn share(&self) -> Option<SampleShare> {
        self.samples.as_ref().and_then(LineSamples::share)
    }

    /// Returns the cycles of all reasons.
    ///
    /// ```
    /// let row = tables::LineRow { cycles: [3, 0, 0, 7, 0, 0, 0, 0, 0, 0], ..Default::default() };
    /// assert_eq!(row.total_cycles(), 10);
    /// ```
    #[must_use]
    pub fn total_cycles(&self) -> u64 {
        self.cycles.iter().sum()
    }
}

fn text(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_deref().map(Cow::Borrowed)
}

type LineColumn = Column<Lines>;

const EXACT: &str = "counted exactly, by the simulator";
const SAMPLED: &str = "sampled: only shares of time are known";
const NO_DEBUG_INFO: &str = "no debug information for this address";

impl Table for Lines {
    type Row<'a> = LineRow;
    const NAME: &'static str = "lines";
    const ROW: &'static str =
        "one instruction of one program on one RISC, in waits for one object or outside of waits";
    const PARTITIONS: &'static [&'static str] = &[];
    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        LineColumn::small("chip_id", super::CHIP_ID, |row| row.chip_id),
        LineColumn::optional_small("core_x", super::CORE_X, "summed over cores", |row| row.core.map(|core| core.0)),
        LineColumn::optional_small("core_y", super::CORE_Y, "summed over cores", |row| row.core.map(|core| core.1)),
        LineColumn::number("core_count", "number of cores whose counts are summed", |row| row.cores.into()),
        LineColumn::small("run_host_id", super::RUN_HOST_ID, |row| row.run_host_id),
        LineColumn::optional_text("op_name", "name of the op or program", "the host gave no name", |row| text(&row.op)),
        LineColumn::number("launches", "number of launches whose counts are summed", |row| row.launches),
        LineColumn::text("risc", super::RISC, |row| row.risc.as_str().into()),
        LineColumn::text("code", "kernel, firmware, profiler (the profiler's own code) or unknown", |row| row.code.as_str().into()),
        LineColumn::optional_text("elf", "ELF file of the code", super::UNKNOWN, |row| text(&row.elf)),
        LineColumn::number("address", "address in the ELF file; without a file, the executed address", |row| row.address.into()),
        LineColumn::small("instruction", "the instruction's 32 bits", |row| row.instruction),
        LineColumn::optional_text("function", "innermost function, also an inlined one", "no symbol for this address", |row| text(&row.function)),
        LineColumn::optional_text("file", super::FILE, NO_DEBUG_INFO, |row| text(&row.file)),
        LineColumn::optional_small("line", super::LINE, NO_DEBUG_INFO, |row| row.line),
        LineColumn::optional_text("source_text", "text of the source line when the table was made", "no debug information, no source file, or one that was changed after the code was compiled", |row| text(&row.source_text)),
        LineColumn::optional_text("inlined_into", "functions into which the function is inlined, innermost first, each with the file and line of the call", "not inlined", |row| text(&row.inlined_into)),
        LineColumn::optional_text("waits_for", "object that a polling loop waits for: a kind of wait with its key, `wall clock`, or a mailbox, word of L1 or register with its address", "not in a polling loop", |row| text(&row.waits_for)),
        LineColumn::optional_number("samples", "samples of the instruction that the chip took of its own program counters", EXACT, |row| row.samples.map(|of| of.count)),
        LineColumn::optional_number("waiting_samples", "samples in which the instruction waited for its operands or for the one before it", EXACT, |row| row.samples.map(|of| of.waiting)),
        LineColumn::optional_number("empty_samples", "samples in which the RISC had no instruction to decode: it fetched this one, or this branch or jump may have been predicted wrongly", EXACT, |row| row.samples.map(|of| of.empty)),
        LineColumn::optional_number("risc_samples", "samples of the RISC in all launches of the program, also in other code", EXACT, |row| row.samples.map(|of| of.of_risc)),
        LineColumn::optional_number("effective_samples", "number of independent samples that `risc_samples` is worth for the share of the row's line; samples in one wait are not independent", EXACT, |row| row.samples.map(|of| of.effective)),
        LineColumn::optional_real("sample_share", "`samples` divided by `risc_samples`: estimated share of the RISC's time", EXACT, |row| row.share().map(|of| of.share)),
        LineColumn::optional_real("sample_share_low", "lower end of the share's 95 % interval (Wilson's score for `effective_samples`)", EXACT, |row| row.share().map(|of| of.low)),
        LineColumn::optional_real("sample_share_high", "upper end of the share's 95 % interval (Wilson's score for `effective_samples`)", EXACT, |row| row.share().map(|of| of.high)),
        LineColumn::optional_number("instructions", "number of executions", SAMPLED, |row| row.exact(row.instructions)),
        LineColumn::optional_number("total_cycles", "sum of the cycles of all reasons", SAMPLED, |row| row.exact(row.total_cycles())),
        LineColumn::optional_number("min_core_cycles", "cycles on the core with the fewest", SAMPLED, |row| row.exact(row.core_cycles[0])),
        LineColumn::optional_number("median_core_cycles", "median of the cores' cycles", SAMPLED, |row| row.exact(row.core_cycles[1])),
        LineColumn::optional_number("max_core_cycles", "cycles on the core with the most", SAMPLED, |row| row.exact(row.core_cycles[2])),
        LineColumn::optional_number("issue_cycles", "one cycle for each execution", SAMPLED, |row| row.exact(row.cycles[0])),
        LineColumn::optional_number("arithmetic_cycles", "waiting for a division, multiplication or other result", SAMPLED, |row| row.exact(row.cycles[1])),
        LineColumn::optional_number("private_load_cycles", "waiting for a value from private RAM", SAMPLED, |row| row.exact(row.cycles[2])),
        LineColumn::optional_number("l1_load_cycles", "waiting for a value from L1", SAMPLED, |row| row.exact(row.cycles[3])),
        LineColumn::optional_number("register_load_cycles", "waiting for a value from a register, such as a NoC status", SAMPLED, |row| row.exact(row.cycles[4])),
        LineColumn::optional_number("store_cycles", "waiting for the store queue", SAMPLED, |row| row.exact(row.cycles[5])),
        LineColumn::optional_number("branch_cycles", "lost by a mispredicted branch or jump", SAMPLED, |row| row.exact(row.cycles[6])),
        LineColumn::optional_number("fetch_cycles", "waiting for instructions that were not in the instruction cache", SAMPLED, |row| row.exact(row.cycles[7])),
        LineColumn::optional_number("l1_port_cycles", "waiting for a port or bank of L1 that another access took", SAMPLED, |row| row.exact(row.cycles[8])),
        LineColumn::optional_number("stopped_cycles", "executing nothing: a device was busy, or a waiting loop was interrupted within a round", SAMPLED, |row| row.exact(row.cycles[9])),
    ];
}
