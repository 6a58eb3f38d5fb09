//! Cycles of source lines for the page, by program.

use crate::{ProgramSource, SourceLine, Trace};
use serde::Serialize;
use tables::Arrays;

#[derive(Serialize)]
pub(super) struct SourceFacts<'a> {
    chip_id: u32,
    program: u32,
    is_sampled: bool,
    total_cycles: u64,
    firmware_cycles: u64,
    left_out: (u64, u64),
    lines: Arrays<&'a SourceLine>,
}

impl<'a> SourceFacts<'a> {
    /// Returns the programs of a trace; empty if no table of lines belongs to it.
    pub(super) fn of_programs(trace: &'a Trace<'a>) -> Vec<Self> {
        trace.source.iter().map(Self::new).collect()
    }

    fn new(program: &'a ProgramSource) -> Self {
        Self {
            chip_id: program.chip_id,
            program: program.program,
            is_sampled: program.is_sampled,
            total_cycles: program.total_cycles,
            firmware_cycles: program.firmware_cycles,
            left_out: program.left_out,
            lines: Arrays::new(
                &program.lines,
                [
                    ("risc", |line| line.risc.as_str().into()),
                    ("code", |line| line.code.as_str().into()),
                    ("function", |line| line.function.as_str().into()),
                    ("file", |line| line.file.as_deref().into()),
                    ("line", |line| line.line.into()),
                    ("text", |line| line.text.as_deref().into()),
                    ("instructions", |line| line.instructions.into()),
                    ("cycles", |line| line.cycles.into()),
                    ("cause", |line| line.cause.as_str().into()),
                ],
            ),
        }
    }
}
