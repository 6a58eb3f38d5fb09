//! Table of ops grouped by a column, and the option that chooses the column.

use crate::{
    failure::{Failure, failure},
    layout::{table, write_table},
    numbers::{counted, decimal, grouped},
    terminal::{LONGEST_NAME, printable},
};
use host_reader::perf::{ColumnGroup, OpsByColumn, module_parts, peak_share_text};
use std::{
    io::{self, Write},
    sync::Arc,
};

/// Maximum number of columns that the sentence on a missing one names.
const NAMED_TITLES: usize = 20;

/// Returns the sentence for a column that a file does not have.
pub(crate) fn no_such_column(asked: &str, titles: &[Arc<str>], file: &str) -> Failure {
    let named = titles.iter().take(NAMED_TITLES).map(|title| printable(title, LONGEST_NAME));
    let named = named.collect::<Vec<_>>().join(", ");
    let others = match titles.len().checked_sub(NAMED_TITLES).filter(|rest| *rest > 0) {
        _ if titles.is_empty() => "no op has it".to_owned(),
        None => format!("its columns are {named}"),
        Some(rest) => format!("its columns are {named} and {rest} more"),
    };
    let hint = match asked.to_uppercase().as_str() {
        "MODULE" | "FUNCTION" | "LOCATION" => {
            "; `kprof record` of a Python program keeps the calls of its ops"
        }
        "SIGNPOST" | "SIGNPOSTS" => "; no signpost precedes an op that is shown",
        _ => "",
    };
    let asked = printable(asked, LONGEST_NAME);
    failure!("expected a column of {file} to group by, found {asked}; {others}{hint}")
}

/// Writes a row for each group: its ops, their times, and their shares of peaks.
pub(crate) fn write_by_column(
    by: &OpsByColumn,
    rows: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let iterations = match (by.iteration_count, &by.no_iterations) {
        (Some(count), _) => format!("; per iteration: mean of {count}"),
        (None, Some(why)) => format!("; no time per iteration: {why}"),
        (None, None) => String::new(),
    };
    writeln!(out, "\nOps by {}{iterations}\n", printable(&by.column, LONGEST_NAME))?;
    let has_iterations = by.iteration_count.is_some();
    let mut titles = vec!["name", "ops", "device us", "%"];
    titles.extend(has_iterations.then_some("us per iteration"));
    titles.extend(["host us", "FLOPs %", "DRAM %"]);
    let mut shown = table(&titles);
    for group in by.groups.iter().take(rows) {
        let name = format!("{}{}", "  ".repeat(group.depth), name_of(group, by));
        shown.add_row(cells(&name, group, has_iterations));
    }
    shown.add_row(cells("all", &by.total, has_iterations));
    write_table(&mut shown, by.groups.len(), rows, out)?;
    write_missing(by, out)
}

/// Returns the name of a group: the last part of a path, an op code, or a whole cell.
fn name_of(group: &ColumnGroup, by: &OpsByColumn) -> String {
    match &group.op {
        Some(op) => printable(op, LONGEST_NAME),
        None => value_name(group.value.as_deref(), group.depth, &by.column),
    }
}

/// Returns the last part of a path, a whole cell, or a text for blank cells of a column.
pub(crate) fn value_name(value: Option<&str>, depth: usize, column: &str) -> String {
    let name = match value {
        Some(path) if depth > 0 => module_parts(path).last().unwrap_or(path),
        Some(value) => value,
        None => return format!("({} unknown)", printable(&column.to_lowercase(), LONGEST_NAME)),
    };
    if name.chars().count() <= LONGEST_NAME || !name.contains('/') {
        return printable(name, LONGEST_NAME);
    }
    // The end of a location has the file and the line.
    let start = name.char_indices().rev().nth(LONGEST_NAME.saturating_sub(2));
    let end = start.and_then(|(start, _)| name.get(start..)).unwrap_or(name);
    printable(&format!("…{end}"), LONGEST_NAME)
}

/// Returns a share of a peak rate.
fn share(percent: Option<f64>, is_lower_bound: bool) -> String {
    percent.map_or_else(|| decimal(None), |of| peak_share_text(of, is_lower_bound, ""))
}

fn cells(name: &str, group: &ColumnGroup, has_iterations: bool) -> Vec<String> {
    let microseconds = |us: Option<f64>| us.map_or_else(|| "-".to_owned(), |us| format!("{us:.3}"));
    let is_timed = group.untimed_count < group.op_count;
    let mut cells = vec![
        name.to_owned(),
        grouped(group.op_count),
        microseconds(is_timed.then_some(group.device_time_us)),
        decimal(group.percent.filter(|_| is_timed)),
    ];
    cells.extend(has_iterations.then(|| microseconds(group.device_time_per_iteration_us)));
    cells.extend([
        microseconds(group.host_time_us),
        share(group.flops_percent, false),
        share(group.dram_percent, group.is_dram_lower_bound),
    ]);
    cells
}

/// Writes how many ops each figure leaves out.
fn write_missing(by: &OpsByColumn, out: &mut impl Write) -> io::Result<()> {
    let total = &by.total;
    let blank: u64 = by
        .groups
        .iter()
        .filter(|group| group.value.is_none() && group.depth == 0)
        .map(|group| group.op_count)
        .sum();
    let missing = [
        (blank, format!("no {}", by.column.to_lowercase())),
        (total.untimed_count, "no device time".to_owned()),
        (total.without_host_time_count, "no host time".to_owned()),
        (total.without_flops_count, "no FLOPs %".to_owned()),
        (total.without_dram_count, "no DRAM %".to_owned()),
        (by.outside_iterations_count, "no iteration".to_owned()),
    ];
    let missing = missing.iter().filter(|(count, _)| *count > 0);
    let missing: Vec<_> =
        missing.map(|(count, what)| format!("{what}: {}", grouped(*count))).collect();
    if !missing.is_empty() {
        writeln!(out, "Of {}: {}", counted(total.op_count, "op", "ops"), missing.join(", "))?;
    }
    if by.host_op_count > 0 {
        writeln!(out, "Left out: {} of the host", counted(by.host_op_count, "op", "ops"))?;
    }
    Ok(())
}
