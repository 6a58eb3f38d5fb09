//! Lines of source, and functions, by their cycles on the simulator.

use super::{
    arguments::{LinesArguments, LinesPart},
    loaded::Loaded,
    table::{Table, table},
};
use crate::{
    command::lines::{is_sampled, main_reason},
    failure::Failure,
};
use host_reader::{
    lines::{LineDiff, LineSide, Ranked, by_function, by_line},
    tables::{LineRow, SampleShare},
};
use std::collections::BTreeMap;

const NO_LINE: &str = "no debug information, or a row of a function";
const NO_TEXT: &str = "no source that is older than the code, or a row of a function";
const NO_WAIT: &str = "less than half of the cycles are in waits for one object";
const NOT_THERE: &str = "this recording has no such line, or no debug information";
const EXACT: &str = "counted exactly, by the simulator";
const SAMPLED: &str = "sampled: only shares of time are known";
const NO_TABLE: &str = "no table of lines belongs to this recording; record it on the simulator \
                        with --lines or --sample";

/// Returns the lines or functions of a recording, with the most cycles first.
///
/// # Errors
/// If the table cannot be read, or the column to sort by is unknown.
pub(super) fn table(loaded: &Loaded, asked: &LinesArguments) -> Result<Table<'static>, Failure> {
    let Some(all) = loaded.lines.rows()? else {
        return ranked(Vec::new(), &BTreeMap::new())
            .with_note("reason", NO_TABLE)
            .sorted(None, asked.order);
    };
    let is_wanted = |row: &&LineRow| {
        let is_op = |op: &String| row.op.as_ref().is_some_and(|name| name.contains(op));
        asked.risc.as_ref().is_none_or(|risc| row.risc == *risc)
            && asked.op.as_ref().is_none_or(is_op)
    };
    let wanted: Vec<LineRow> = all.iter().filter(is_wanted).cloned().collect();
    // Shares of samples are those of one RISC: the RISCs are not sampled for the same time.
    let mut totals = BTreeMap::new();
    for row in &wanted {
        let of = row.samples.map(|_| row.risc.clone());
        let total = totals.entry(of).or_insert(0_u64);
        *total = total.saturating_add(row.weight());
    }
    let total: u64 = totals.values().fold(0, |sum, one| sum.saturating_add(*one));
    let rows = match asked.part {
        LinesPart::Lines => by_line(&wanted),
        LinesPart::Functions => by_function(&wanted),
    };
    let note = if is_sampled(&wanted) { "total_samples" } else { "total_cycles" };
    let table = ranked(rows, &totals).with_note(note, total);
    let table = match wanted.is_empty() {
        true => table.with_note("reason", "no row has this op and RISC"),
        false => table,
    };
    table.sorted(asked.sort.as_deref(), asked.order)
}

/// Cycles of all RISCs, or samples of each one.
type Totals = BTreeMap<Option<String>, u64>;

fn ranked(rows: Vec<Ranked>, totals: &Totals) -> Table<'static> {
    let rows: Vec<_> = rows
        .into_iter()
        .map(|one| {
            let total = totals.get(&one.samples.map(|_| one.risc.clone())).copied().unwrap_or(0);
            let percent = (total > 0).then(|| one.weight() as f64 * 100.0 / total as f64);
            let share = one
                .samples
                .and_then(|samples| SampleShare::new(samples.count, total, samples.effective));
            (percent, share, one)
        })
        .collect();
    table!(rows, |(percent, share, one)| {
        let (reason, reason_cycles) = main_reason(one);
        let exact = one.samples.is_none();
        "total_cycles" or SAMPLED => exact.then(|| one.total_cycles()),
        "samples" or EXACT => one.samples.map(|samples| samples.count),
        "percent" or "no cycles" => percent,
        "percent_low" or EXACT => share.map(|share| share.low * 100.0),
        "percent_high" or EXACT => share.map(|share| share.high * 100.0),
        "instructions" or SAMPLED => exact.then_some(one.instructions),
        "risc" => one.risc,
        "code" => one.code,
        "function" => one.function,
        "file" or NO_LINE => one.file,
        "line" or NO_LINE => one.line,
        "source_text" or NO_TEXT => one.source_text,
        "waits_for" or NO_WAIT => one.main_wait().map(|(object, _)| object),
        "main_reason" or SAMPLED => exact.then_some(reason),
        "main_reason_cycles" or SAMPLED => exact.then_some(reason_cycles),
    })
}

/// Returns the lines of two recordings, largest change first.
///
/// # Errors
/// If a table cannot be read.
pub(super) fn changes(a: &Loaded, b: &Loaded) -> Result<Table<'static>, Failure> {
    let both = a.lines.rows()?.zip(b.lines.rows()?);
    let exact = both.filter(|(a, b)| !is_sampled(a) && !is_sampled(b));
    let diff = exact.map(|(a, b)| LineDiff::new(a, b));
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
