//! Text about launches that had not ended when they were read.

use crate::{
    numbers::{counted, grouped},
    terminal::{LONGEST_NAME, Style, printable, styled},
};
use host_reader::analysis::{OpenZones, Unfinished};
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

/// Returns a line with the number of runs that had not ended, and a line for each open zone; nothing
/// if every run had ended.
pub(crate) fn unfinished_lines(unfinished: &Unfinished) -> Vec<String> {
    if unfinished.is_empty() {
        return Vec::new();
    }
    let runs = counted(unfinished.running_count(), "run", "runs");
    let ended = match unfinished.ended_count {
        0 => String::new(),
        ended => format!(" ({} of their launches had)", grouped(ended)),
    };
    let first = format!("Unfinished: {runs} had not ended{ended}; kept is what they had recorded");
    let zones = unfinished.open_zones.iter().map(|zones| {
        let OpenZones { name, risc_count, first_start_cycle } = zones;
        let riscs = counted(*risc_count, "RISC", "RISCs");
        let name = if name.is_empty() { "without a name" } else { &**name };
        let (name, since) = (printable(name, LONGEST_NAME), grouped(*first_start_cycle));
        format!("in zone {name}: {riscs}, the first since cycle {since}")
    });
    std::iter::once(first).chain(zones).collect()
}
