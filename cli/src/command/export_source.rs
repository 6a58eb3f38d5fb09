//! The source lines of a page: the table of lines that belongs to the recording, by program.

use super::lines::{cause, lines_of_recording};
use crate::failure::{Failure, note};
use host_reader::{
    export::{ProgramSource, SourceLine},
    lines::{Ranked, by_line},
    tables::LineRow,
};
use std::{collections::BTreeMap, path::Path};

/// Number of lines of a program that a page shows.
const LINES_MAX: usize = 1000;

/// Returns the lines of each program; empty if no table of lines belongs to the recording.
pub(super) fn of_recording(
    input: &Path,
    run: Option<usize>,
) -> Result<Vec<ProgramSource>, Failure> {
    let Some(rows) = lines_of_recording(input)? else { return Ok(Vec::new()) };
    if run.is_some() {
        note!("kprof: source lines are left out: the table of lines does not tell runs apart");
        return Ok(Vec::new());
    }
    let mut programs: BTreeMap<(u32, u32), Vec<LineRow>> = BTreeMap::new();
    for row in rows {
        programs.entry((row.chip_id, row.program())).or_default().push(row);
    }
    Ok(programs.into_iter().map(|(place, rows)| source(place, &rows)).collect())
}

fn source((chip_id, program): (u32, u32), rows: &[LineRow]) -> ProgramSource {
    let ranked = by_line(rows);
    let total_of = |lines: &[Ranked]| lines.iter().map(Ranked::weight).sum::<u64>();
    let total_cycles = total_of(&ranked);
    let (firmware, mut shown): (Vec<_>, Vec<_>) =
        ranked.into_iter().partition(|line| line.code == "firmware");
    let hidden = shown.split_off(shown.len().min(LINES_MAX));
    ProgramSource {
        chip_id,
        program,
        is_sampled: rows.iter().any(|row| row.samples.is_some()),
        total_cycles,
        firmware_cycles: total_of(&firmware),
        left_out: (hidden.len() as u64, total_of(&hidden)),
        lines: shown.into_iter().map(line).collect(),
    }
}

fn line(one: Ranked) -> SourceLine {
    SourceLine {
        cause: cause(&one),
        cycles: one.weight(),
        risc: one.risc,
        code: one.code,
        function: one.function,
        file: one.file,
        line: one.line,
        text: one.source_text,
        instructions: one.instructions,
    }
}
