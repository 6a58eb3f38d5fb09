//! `lines`: where the cycles of kernels went in their code.

use crate::{Column, Table};
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
    /// Number of executions.
    pub instructions: u64,
    /// Cycles on the core with the fewest, the median core, and the core with the most.
    pub core_cycles: [u64; 3],
    /// Cycles by reason, in the order of the columns.
    pub cycles: [u64; REASONS],
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
        LineColumn::number("instructions", "number of executions", |row| row.instructions),
        LineColumn::number("total_cycles", "sum of the cycles of all reasons", |row| row.total_cycles()),
        LineColumn::number("min_core_cycles", "cycles on the core with the fewest", |row| row.core_cycles[0]),
        LineColumn::number("median_core_cycles", "median of the cores' cycles", |row| row.core_cycles[1]),
        LineColumn::number("max_core_cycles", "cycles on the core with the most", |row| row.core_cycles[2]),
        LineColumn::number("issue_cycles", "one cycle for each execution", |row| row.cycles[0]),
        LineColumn::number("arithmetic_cycles", "waiting for a division, multiplication or other result", |row| row.cycles[1]),
        LineColumn::number("private_load_cycles", "waiting for a value from private RAM", |row| row.cycles[2]),
        LineColumn::number("l1_load_cycles", "waiting for a value from L1", |row| row.cycles[3]),
        LineColumn::number("register_load_cycles", "waiting for a value from a register, such as a NoC status", |row| row.cycles[4]),
        LineColumn::number("store_cycles", "waiting for the store queue", |row| row.cycles[5]),
        LineColumn::number("branch_cycles", "lost by a mispredicted branch or jump", |row| row.cycles[6]),
        LineColumn::number("fetch_cycles", "waiting for instructions that were not in the instruction cache", |row| row.cycles[7]),
        LineColumn::number("l1_port_cycles", "waiting for a port or bank of L1 that another access took", |row| row.cycles[8]),
        LineColumn::number("stopped_cycles", "executing nothing: a device was busy, or the simulator skipped rounds of a waiting loop", |row| row.cycles[9]),
    ];
}
