//! `standing`: where the RISCs of a core stood when a launch did not end.

use crate::{Column, Table};
use std::borrow::Cow;

/// Table of RISCs in launches that did not end.
pub struct Standing;

/// A RISC in a launch that did not end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StandingRow {
    /// Number of the chip.
    pub chip_id: u32,
    /// NoC-0 coordinates of the core.
    pub core: (u32, u32),
    /// Id of the program, with the chip encoded in it.
    pub run_host_id: u32,
    /// Name of the op or program.
    pub op: Option<String>,
    /// Number of the launch on its chip, or of the launch of the program on its core.
    pub launch: u64,
    /// The RISC.
    pub risc: String,
    /// What the RISC does: a constant of this type.
    pub state: &'static str,
    /// True if nothing else is known to hinder the RISC; `None` if that is unknown.
    pub is_cause: Option<bool>,
    /// Why the RISC was stopped.
    pub reason: Option<String>,
    /// What the code belongs to: `kernel`, `firmware`, `profiler` or `unknown`.
    pub code: String,
    /// ELF file of the code.
    pub elf: Option<String>,
    /// Address of the instruction in its ELF file; the executed address if there is no file.
    pub address: u32,
    /// Innermost function, also an inlined one.
    pub function: Option<String>,
    /// Source file of the instruction.
    pub file: Option<String>,
    /// Line in `file`.
    pub line: Option<u32>,
    /// Functions around `function` in which it was inlined, as in the table `lines`.
    pub inlined_into: Option<String>,
    /// True if the RISC still executed instructions at different addresses.
    pub is_moving: Option<bool>,
    /// Objects that the RISC polled, named as in the table `lines`.
    pub waits_for: Option<String>,
    /// Address of the first of the polled words.
    pub polled_address: Option<u32>,
    /// Value of this word.
    pub polled_value: Option<u32>,
    /// RISCs of this core that stored to the word in this launch; empty if none did.
    pub signalled_by: Option<String>,
    /// RISCs of this core that wait for each other, this one first.
    pub circle: Option<String>,
    /// Innermost zone that was open.
    pub zone: Option<String>,
    /// Start of this zone.
    pub zone_start_cycle: Option<u64>,
    /// Other RISCs of this core whose kernels have code that stores to the word.
    pub code_to_signal: Option<String>,
}

impl StandingRow {
    /// State of a RISC whose kernel has ended.
    pub const ENDED: &'static str = "ended";
    /// State of a RISC that polls, or whose firmware waits for another RISC.
    pub const WAITS: &'static str = "waits";
    /// State of a RISC that executes other instructions.
    pub const RUNS: &'static str = "runs";
    /// State of a RISC that executes nothing more.
    pub const STOPPED: &'static str = "stopped";
}

fn text(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_deref().map(Cow::Borrowed)
}

type StandingColumn = Column<Standing>;

const NO_DEBUG_INFO: &str = "no debug information for this address";
const NO_POLL: &str = "polls nothing, or not seen to poll";
const NO_ZONE: &str = "no zone was open, or none was recorded";

impl Table for Standing {
    type Row<'a> = StandingRow;
    const NAME: &'static str = "standing";
    const ROW: &'static str = "one RISC of one core in a launch that did not end";
    const PARTITIONS: &'static [&'static str] = &[];
    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        StandingColumn::small("chip_id", super::CHIP_ID, |row| row.chip_id),
        StandingColumn::small("core_x", super::CORE_X, |row| row.core.0),
        StandingColumn::small("core_y", super::CORE_Y, |row| row.core.1),
        StandingColumn::small("run_host_id", super::RUN_HOST_ID, |row| row.run_host_id),
        StandingColumn::optional_text("op_name", "name of the op or program", "the host gave no name", |row| text(&row.op)),
        StandingColumn::number("launch", "number of the launch on its chip, or of the launch of the program on its core", |row| row.launch),
        StandingColumn::text("risc", super::RISC, |row| row.risc.as_str().into()),
        StandingColumn::text("state", "ended (its kernel has ended), waits (it polls, or its firmware waits for another RISC), runs (it executes other instructions) or stopped (it executes nothing more)", |row| row.state.into()),
        StandingColumn::optional_flag("is_cause", "true if no other RISC of the core is known to hinder it, or if it is in a circle of RISCs that wait for each other; false if another RISC hinders it, or if it has ended", "another RISC of the core does not end either, and nobody is known to signal what this one waits for", |row| row.is_cause),
        StandingColumn::optional_text("reason", "why the RISC was stopped", "it was not stopped", |row| text(&row.reason)),
        StandingColumn::text("code", "kernel, firmware, profiler (the profiler's own code) or unknown", |row| row.code.as_str().into()),
        StandingColumn::optional_text("elf", "ELF file of the code", super::UNKNOWN, |row| text(&row.elf)),
        StandingColumn::number("address", "address at which the RISC stands, in the ELF file; without a file, the executed address. Of a RISC that polls one word, it is that of the instruction that loads it", |row| row.address.into()),
        StandingColumn::optional_text("function", "innermost function, also an inlined one", "no symbol for this address", |row| text(&row.function)),
        StandingColumn::optional_text("file", super::FILE, NO_DEBUG_INFO, |row| text(&row.file)),
        StandingColumn::optional_small("line", super::LINE, NO_DEBUG_INFO, |row| row.line),
        StandingColumn::optional_text("inlined_into", "functions into which the function is inlined, innermost first, each with the file and line of the call", "not inlined", |row| text(&row.inlined_into)),
        StandingColumn::optional_flag("is_moving", "true if the RISC executed instructions at different addresses while it was looked at", "it was looked at once", |row| row.is_moving),
        StandingColumn::optional_text("waits_for", "objects that the RISC polls, separated by commas: a kind of wait with its key, `wall clock`, or a mailbox, word of L1 or register with its address; or the RISC for which its firmware waits", NO_POLL, |row| text(&row.waits_for)),
        StandingColumn::optional_small("polled_address", "address of the first of the polled words", NO_POLL, |row| row.polled_address),
        StandingColumn::optional_small("polled_value", "value of this word at the end", "polls nothing, or the word cannot be read", |row| row.polled_value),
        StandingColumn::optional_text("signalled_by", "RISCs of this core that stored to this word in this launch, separated by commas; empty if none did", "polls nothing, or stores to the word are not followed", |row| text(&row.signalled_by)),
        StandingColumn::optional_text("circle", "RISCs of this core that wait for each other, this one first, each for the next", "no circle is known", |row| text(&row.circle)),
        StandingColumn::optional_text("zone_name", "innermost zone that was open; empty if it has no name", NO_ZONE, |row| text(&row.zone)),
        StandingColumn::optional_number("zone_start_cycle", "start of this zone, on the recording's clock", NO_ZONE, |row| row.zone_start_cycle),
        StandingColumn::optional_text("code_to_signal", "other RISCs of this core whose kernels have code that stores to this word, separated by commas; addresses that are no constants in the code are not found", "polls nothing, or no other kernel is known to have such code", |row| text(&row.code_to_signal)),
    ];
}
