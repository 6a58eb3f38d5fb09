//! Lines of source, and functions, by their cycles on the simulator.

use super::{
    arguments::{LinesArguments, LinesPart},
    loaded::Loaded,
    table::{Table, table},
};
use crate::{command::lines::main_reason, failure::Failure};
use host_reader::{
    lines::{LineDiff, LineSide, Ranked, by_function, by_line},
    tables::LineRow,
};

const NO_LINE: &str = "no debug information, or a row of a function";
const NO_TEXT: &str = "no source that is older than the code, or a row of a function";
const NO_WAIT: &str = "less than half of the cycles are in waits for one object";
const NOT_THERE: &str = "this recording has no such line, or no debug information";
const NO_TABLE: &str = "no table of lines belongs to this recording; record it on the simulator \
                        with --lines";

/// Returns the lines or functions of a recording, with the most cycles first.
///
/// # Errors
/// If the table cannot be read, or the column to sort by is unknown.
pub(super) fn table(loaded: &Loaded, asked: &LinesArguments) -> Result<Table<'static>, Failure> {
    let Some(all) = loaded.lines.rows()? else {
        return ranked(Vec::new(), 0).with_note("reason", NO_TABLE).sorted(None, asked.order);
    };
    let is_wanted = |row: &&LineRow| {
        let is_op = |op: &String| row.op.as_ref().is_some_and(|name| name.contains(op));
        asked.risc.as_ref().is_none_or(|risc| row.risc == *risc)
            && asked.op.as_ref().is_none_or(is_op)
    };
    let wanted: Vec<LineRow> = all.iter().filter(is_wanted).cloned().collect();
    let total = wanted.iter().map(LineRow::total_cycles).sum();
    let rows = match asked.part {
        LinesPart::Lines => by_line(&wanted),
        LinesPart::Functions => by_function(&wanted),
    };
    let table = ranked(rows, total).with_note("total_cycles", total);
    let table = match wanted.is_empty() {
        true => table.with_note("reason", "no row has this op and RISC"),
        false => table,
    };
    table.sorted(asked.sort.as_deref(), asked.order)
}

fn ranked(rows: Vec<Ranked>, total: u64) -> Table<'static> {
    let percent = |cycles: u64| (total > 0).then(|| cycles as f64 * 100.0 / total as f64);
    let rows: Vec<_> = rows.into_iter().map(|one| (percent(one.total_cycles()), one)).collect();
    table!(rows, |(percent, one)| {
        let (reason, reason_cycles) = main_reason(one);
        "total_cycles" => one.total_cycles(),
        "percent" or "no cycles" => percent,
        "instructions" => one.instructions,
        "risc" => one.risc,
        "code" => one.code,
        "function" => one.function,
        "file" or NO_LINE => one.file,
        "line" or NO_LINE => one.line,
        "source_text" or NO_TEXT => one.source_text,
        "waits_for" or NO_WAIT => one.main_wait().map(|(object, _)| object),
        "main_reason" => reason,
        "main_reason_cycles" => reason_cycles,
    })
}

/// Returns the lines of two recordings, largest change first.
///
/// # Errors
/// If a table cannot be read.
pub(super) fn changes(a: &Loaded, b: &Loaded) -> Result<Table<'static>, Failure> {
    let diff = a.lines.rows()?.zip(b.lines.rows()?).map(|(a, b)| LineDiff::new(a, b));
    let (changes, total) = diff.map_or_else(
        || (Vec::new(), None),
        |diff| (diff.changes, Some((diff.is_per_launch, diff.total_cycles))),
    );
    let table = table!(changes, |change| {
        let (a, b) = (change.a.as_ref(), change.b.as_ref());
        let text = |side: Option<&LineSide>| side.and_then(|side| side.source_text.clone());
        "change_cycles" => change.change_cycles(),
        "a_cycles" or NOT_THERE => a.map(|side| side.cycles),
        "b_cycles" or NOT_THERE => b.map(|side| side.cycles),
        "risc" => change.risc,
        "code" => change.code,
        "function" => change.function,
        "a_file" or NOT_THERE => a.and_then(|side| side.file.clone()),
        "a_line" or NOT_THERE => a.and_then(|side| side.line),
        "b_file" or NOT_THERE => b.and_then(|side| side.file.clone()),
        "b_line" or NOT_THERE => b.and_then(|side| side.line),
        "source_text" or NO_TEXT => text(b).or_else(|| text(a)),
    });
    Ok(match total {
        Some((is_per_launch, [a, b])) => table
            .with_note("a_line_cycles", a)
            .with_note("b_line_cycles", b)
            .with_note("is_per_launch", is_per_launch),
        None => table.with_note("reason", "only recordings that both have --lines are compared"),
    })
}
