//! Layout of tables on a terminal: columns, alignment, and omission of columns that do not fit.

use crate::{numbers::counted, terminal::width};
use comfy_table::{CellAlignment, ColumnConstraint, Table, presets};
use std::{io::Write, num::ParseIntError};

/// Returns an empty table with this header; columns of numbers are aligned to the right.
pub(crate) fn table(titles: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(titles.iter().copied());
    for (index, title) in titles.iter().enumerate() {
        let is_text = matches!(
            *title,
            "RISC"
                | "zone"
                | "sum zone"
                | "what"
                | "which one"
                | "limits"
                | "cause"
                | "programs"
                | "sections"
                | "architecture"
                | "kind"
                | "object"
                | "where"
                | "name"
                | "source"
                | "verdict"
                | "op"
                | "metric"
                | "unit"
                | "counter"
                | "group"
                | "blind to"
                | "NoC"
                | "from"
                | "to"
                | "direction"
                | "memory"
                | "module"
        );
        if let (false, Some(column)) = (is_text, table.column_mut(index)) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Writes a table with a row for each item. Each column has a title and an expression for its
/// cells.
///
/// The expressions may use variables that `let` statements before the first column define.
macro_rules! write_columns {
    ($items:expr, $rows:expr, $out:expr, |$item:pat_param| {
        $(let $name:pat_param = $value:expr;)*
        $($title:literal => $cell:expr,)*
    }) => {{
        let mut table = $crate::layout::table(&[$($title),*]);
        let items = IntoIterator::into_iter($items);
        let item_count = items.len();
        for $item in items.take($rows) {
            $(let $name = $value;)*
            table.add_row([$($cell.to_string()),*]);
        }
        $crate::layout::write_table(&mut table, item_count, $rows, $out)
    }};
}
pub(crate) use write_columns;

/// Parses the number of rows that `--rows` allows; 0 means all rows.
pub(crate) fn row_limit(text: &str) -> Result<usize, ParseIntError> {
    text.parse().map(|rows| if rows == 0 { usize::MAX } else { rows })
}

/// Titles of columns that are hidden if a table is too wide, in the order of hiding.
const DISPENSABLE: [&str; 18] = [
    "ERISC",
    "imbalance",
    "start skew",
    "source",
    "p",
    "n A",
    "n B",
    "TRISC0",
    "TRISC2",
    "TRISC1",
    "NCRISC",
    "BRISC",
    "p99",
    "min",
    "sums",
    "events",
    "FW",
    "runs",
];

/// Returns the lines of a table. If the table is wider than the terminal, some columns are hidden,
/// and the last line lists their titles.
pub(crate) fn lines_of(table: &mut Table) -> Vec<String> {
    let Some(width) = width() else { return trimmed_lines(table) };
    let mut shown = trimmed_lines(table);
    let mut left_out = Vec::new();
    for title in DISPENSABLE {
        if !shown.iter().any(|line| line.chars().count() > width) {
            break;
        }
        let header = table.header().map(|row| row.cell_iter().map(|cell| cell.content()));
        let position = header.and_then(|mut titles| titles.position(|found| found == title));
        if let Some(column) = position.and_then(|position| table.column_mut(position)) {
            column.set_constraint(ColumnConstraint::Hidden);
            left_out.push(title);
            shown = trimmed_lines(table);
        }
    }
    if !left_out.is_empty() {
        shown.push(format!(" without {}: {width} columns", left_out.join(", ")));
    }
    shown
}

fn trimmed_lines(table: &Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

/// Writes a table that contains at most `rows` of `row_count` rows, and the number of omitted rows.
pub(crate) fn write_table(
    table: &mut Table,
    row_count: usize,
    rows: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for line in lines_of(table) {
        writeln!(out, "{line}")?;
    }
    match row_count.checked_sub(rows) {
        Some(hidden) if hidden > 0 => {
            let more = counted(hidden as u64, "more row", "more rows");
            writeln!(out, " ... {more}, --rows 0 shows all")
        }
        _ => Ok(()),
    }
}
