//! CSV output of the report: one row for each op, and one row for each kind of op.

use super::{
    op::{OpReport, RowKind},
    report::PerfReport,
    stacked::{StackBy, StackedOps},
};
use recording::host_ops::value::float_text;
use std::{io::Write, sync::Arc};

/// Separator between two pieces of advice.
const BULLET: &str = " • ";

/// A column of the CSV of ops: the header, and a function that formats the cell of an op in this
/// column.
type OpColumn = (&'static str, fn(&OpReport, Missing) -> String);

const OP_COLUMNS: [OpColumn; 26] = [
    ("ID", |row, _| row.id.to_string()),
    ("Total %", |row, _| number(row.total_percent)),
    ("Bound", |row, _| row.bound.map_or("", super::Bound::label).to_owned()),
    ("OP Code", |row, _| row.op_code.to_string()),
    ("Device", |row, missing| whole(missing.device(row))),
    ("Device Time", |row, _| number(row.device_time_us)),
    ("Op-to-Op Gap", |row, _| number(row.op_to_op_gap_us)),
    ("Cores", |row, _| whole(row.core_count)),
    ("DRAM", |row, missing| number(missing.all_dram(row, row.dram_gb_per_s))),
    ("DRAM %", |row, missing| number(missing.all_dram(row, row.dram_percent))),
    ("FLOPs", |row, _| number(row.tflops)),
    ("FLOPs %", |row, _| number(row.flops_percent)),
    ("Math Fidelity", |row, _| row.math_fidelity.to_string()),
    ("Output Datatype", |row, missing| missing.datatype_or(&row.output_datatype)),
    ("Input 0 Datatype", |row, missing| missing.datatype_or(&row.input_datatypes[0])),
    ("Input 1 Datatype", |row, missing| missing.datatype_or(&row.input_datatypes[1])),
    ("DRAM Sharded", |row, _| if row.is_dram_sharded { "True" } else { "False" }.to_owned()),
    ("Input 0 Memory", |row, _| row.input_0_memory.as_deref().unwrap_or_default().to_owned()),
    ("Inner Dim Block Size", |row, _| whole(row.blocks.inner_block_tiles)),
    ("Output Subblock H", |row, _| whole(row.blocks.output_subblock_height_tiles)),
    ("Output Subblock W", |row, _| whole(row.blocks.output_subblock_width_tiles)),
    ("Global Call Count", call_count),
    ("Sub Device ID", |row, _| row.sub_device.as_deref().unwrap_or_default().to_owned()),
    ("Available Cores", |row, _| whole(row.available_core_count)),
    ("Op Category", |row, _| row.category.map_or("", super::OpCategory::label).to_owned()),
    ("Bound Analysis", |row, _| row.bound_analysis.label().to_owned()),
];

const ADVICE_COLUMN: OpColumn =
    ("Advice", |row, _| row.advice.as_ref().map_or_else(String::new, |items| items.join(BULLET)));

const RAW_OP_CODE_COLUMN: OpColumn = ("Raw OP Code", |row, _| row.raw_op_code.to_string());

/// Format of missing values.
#[derive(Clone, Copy)]
struct Missing {
    datatype: &'static str,
    /// True to write call numbers with decimals, such as `3.0`. tt-perf-report does this if a call
    /// number is missing in any row.
    are_call_counts_fractional: bool,
    is_upstream_exact: bool,
}

impl Missing {
    /// Returns the device of a row; tt-perf-report names the lowest device for the mean of several.
    fn device(self, row: &OpReport) -> Option<u64> {
        row.device.filter(|_| self.is_upstream_exact || row.mean_of_device_count.is_none())
    }

    /// Returns a figure of DRAM bytes if it counts all of them: a cell has no mark for a lower bound.
    fn all_dram(self, row: &OpReport, figure: Option<f64>) -> Option<f64> {
        figure.filter(|_| self.is_upstream_exact || !row.is_dram_lower_bound())
    }

    fn datatype_or(self, datatype: &Option<Arc<str>>) -> String {
        datatype.as_deref().unwrap_or(self.datatype).to_owned()
    }
}

/// Options for the CSV of ops: additional columns, and compatibility with tt-perf-report.
#[derive(Clone, Copy, Debug, Default)]
pub struct CsvOptions {
    /// True to add a column of advice.
    pub has_advice: bool,
    /// True to add a column of the original op codes.
    pub has_raw_op_codes: bool,
    /// True to write missing values as tt-perf-report 1.4.1 does.
    pub is_upstream_exact: bool,
}

/// Writes one row for each row of the report.
///
/// Cells that a spreadsheet would interpret as a formula begin with an apostrophe.
///
/// # Compatibility
/// The columns are those of `tt-perf-report --csv`, version 1.4.1, and behind them those that the
/// files have besides TT-Metal's; lines end in CR LF. With
/// `is_upstream_exact`, there are no others, missing types are `nan`, and call numbers have decimals
/// if any is missing.
///
/// # Errors
/// Returns the errors of the stream.
pub fn write_ops_csv(
    report: &PerfReport,
    options: CsvOptions,
    out: impl Write,
) -> std::io::Result<()> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    let mut columns = OP_COLUMNS.to_vec();
    columns.extend(options.has_advice.then_some(ADVICE_COLUMN));
    columns.extend(options.has_raw_op_codes.then_some(RAW_OP_CODE_COLUMN));
    let others = match options.is_upstream_exact {
        true => Vec::new(),
        false => report.other_columns(),
    };
    let titles = columns.iter().map(|(title, _)| *title);
    let titles = titles.chain(others.iter().map(|title| &**title));
    writer.write_record(titles).map_err(std::io::Error::other)?;
    let missing = Missing {
        datatype: if options.is_upstream_exact { "nan" } else { "" },
        are_call_counts_fractional: report.is_call_count_missing && options.is_upstream_exact,
        is_upstream_exact: options.is_upstream_exact,
    };
    for row in &report.rows {
        let cells = columns.iter().map(|(_, cell)| cell(row, missing));
        let others = others.iter().map(|title| row.other(title).map_or("", |text| text).to_owned());
        writer.write_record(cells.chain(others).map(without_formula)).map_err(io_error)?;
    }
    writer.flush()
}

fn io_error(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}

pub(super) fn whole(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, float_text)
}

fn call_count(row: &OpReport, missing: Missing) -> String {
    let text = row.global_call_count.trim();
    match super::cell::number(text) {
        Some(number) if missing.are_call_counts_fractional => float_text(number),
        None if missing.are_call_counts_fractional && super::cell::is_blank(text) => {
            "nan".to_owned()
        }
        _ => text.to_owned(),
    }
}

fn without_formula(cell: String) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{cell}") } else { cell }
}

/// Writes one row for each kind of op.
///
/// # Compatibility
/// The columns are those of `tt-perf-report --summary-file`, version 1.4.1, and behind them, if there
/// are such and unless `is_upstream_exact` is set, the number of ops without a duration. Numbers have
/// two decimals.
///
/// # Errors
/// Returns the errors of the stream.
pub fn write_stacked_csv(
    report: &PerfReport,
    stack_by: StackBy,
    out: impl Write,
) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let mut columns = stacked_columns(stack_by, report);
    if !report.is_upstream_exact && report.stacked.iter().any(|ops| ops.untimed_count > 0) {
        columns.push(("Ops Without Duration", "", |row| StackedCell::Count(row.untimed_count)));
    }
    writer.write_record(columns.iter().map(|&(title, unit, _)| match unit {
        "" => title.to_owned(),
        unit => format!("{title} [{unit}]"),
    }))?;
    for row in &report.stacked {
        let cells = columns.iter().map(|(_, _, cell)| match cell(row) {
            StackedCell::Text(text) => without_formula(text),
            StackedCell::Count(count) => count.to_string(),
            StackedCell::Figure(value) => {
                value.map_or_else(String::new, |value| format!("{value:.2}"))
            }
        });
        writer.write_record(cells).map_err(io_error)?;
    }
    writer.flush()
}

/// One cell of the summary.
pub(super) enum StackedCell {
    Text(String),
    Count(u64),
    Figure(Option<f64>),
}

/// A column of the summary: its header, its unit, and the function that returns its cell for a kind
/// of op.
pub(super) type StackedColumn = (&'static str, &'static str, fn(&StackedOps) -> StackedCell);

/// Returns the columns of the summary. tt-perf-report shows 0 for the time of ops without one.
pub(super) fn stacked_columns(stack_by: StackBy, report: &PerfReport) -> Vec<StackedColumn> {
    use StackedCell::{Count, Figure, Text};
    let share: fn(&StackedOps) -> StackedCell = match report.is_upstream_exact {
        true => |row| Figure(Some(row.total_percent.unwrap_or(0.0))),
        false => |row| Figure(row.total_percent),
    };
    let time: fn(&StackedOps) -> StackedCell = match report.is_upstream_exact {
        true => |row| Figure(Some(row.device_time_us.unwrap_or(0.0))),
        false => |row| Figure(row.device_time_us),
    };
    let mut columns: Vec<StackedColumn> =
        vec![("Total %", "%", share), ("Op Code", "", |row| Text(row.op_code.clone()))];
    if report.is_by_device {
        columns.push(("Device", "", |row| Text(whole(row.device))));
    }
    columns.push(("Device Time Sum", "μs", time));
    if !report.is_upstream_exact && report.stacked.iter().any(|ops| ops.host_time_us.is_some()) {
        columns.push(("Host Time Sum", "μs", |row| Figure(row.host_time_us)));
    }
    columns.push(("Op Count", "", |row| Count(row.op_count)));
    if stack_by != StackBy::Category {
        columns.push(("Op Category", "", |row| Text(row.category.to_owned())));
        columns.push(("Min FLOPs", "%", |row| Figure(row.min_flops_percent)));
        columns.push(("Max FLOPs", "%", |row| Figure(row.max_flops_percent)));
        columns.push(("Mean FLOPs", "%", |row| Figure(row.mean_flops_percent)));
        columns.push(("Std FLOPs", "%", |row| Figure(row.std_flops_percent)));
        columns.push(("Weighted Mean FLOPs", "%", |row| Figure(row.weighted_mean_flops_percent)));
    }
    columns
}

/// Returns the name of a row's op, marked if the row is a signpost.
pub(super) fn shown_op_code(row: &OpReport) -> String {
    match row.kind {
        RowKind::Signpost => format!("\u{1faa7} {}", row.raw_op_code),
        RowKind::Device | RowKind::Host => row.op_code.to_string(),
    }
}
