//! Text about launches that had not ended when they were read.

use crate::{
    numbers::counted,
    terminal::{LONGEST_NAME, Style, printable, styled},
};
use host_reader::analysis::Unfinished;
use std::io::Write;

/// Writes the counts as lines of text, at most `rows` zones.
pub(crate) fn write_unfinished(
    unfinished: &Unfinished,
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let lines = unfinished_lines(unfinished);
    let Some((first, zones)) = lines.split_first() else { return Ok(()) };
    writeln!(out, "{}", styled(first, Style::Doubtful))?;
    zones.iter().take(rows).try_for_each(|line| writeln!(out, "  {line}"))?;
    if let hidden @ 1.. = zones.len().saturating_sub(rows) {
        let zones = counted(hidden as u64, "more zone", "more zones");
        writeln!(out, "  {zones}; --rows 0 shows all")?;
    }
    Ok(())
}

/// Returns the lines of the counts, with names that are fit for a terminal.
pub(crate) fn unfinished_lines(unfinished: &Unfinished) -> Vec<String> {
    unfinished.lines(|name| printable(name, LONGEST_NAME))
}
