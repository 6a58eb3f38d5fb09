//! Cycles of source lines, as shown on a page.

/// Source lines of a program on a chip, with their cycles in all launches and on all cores.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramSource {
    /// Number of the chip.
    pub chip_id: u32,
    /// Number of the program.
    pub program: u32,
    /// True if the numbers are samples of program counters, and no cycles.
    pub is_sampled: bool,
    /// Cycles of all RISCs, including those of lines that are not in `lines`.
    pub total_cycles: u64,
    /// Cycles of the firmware, whose lines are not in `lines`.
    pub firmware_cycles: u64,
    /// Lines with the most cycles.
    pub lines: Vec<SourceLine>,
    /// Number of lines that are left out because they have fewer cycles, and their cycles.
    pub left_out: (u64, u64),
}

/// A source line in the code of one RISC, or a function without known lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLine {
    /// The RISC.
    pub risc: String,
    /// What the code belongs to: `kernel`, `profiler` or `unknown`.
    pub code: String,
    /// Function; its address if it has no name.
    pub function: String,
    /// Source file.
    pub file: Option<String>,
    /// Line in the file.
    pub line: Option<u32>,
    /// Text of the line.
    pub text: Option<String>,
    /// Number of executed instructions; 0 if lines were sampled.
    pub instructions: u64,
    /// Cycles, or samples.
    pub cycles: u64,
    /// What most of the cycles were spent on, or waited for.
    pub cause: String,
}
