//! CSV output of the report: one row for each op, and one row for each kind of op.

use super::{
    number::shortest,
    op::{OpReport, RowKind},
    report::PerfReport,
    stacked::{StackBy, StackedOps},
};
use std::io::Write;

/// Separator between two pieces of advice.
const BULLET: &str = " • ";

const OP_TITLES: [&str; 26] = [
    "ID",
    "Total %",
    "Bound",
    "OP Code",
    "Device",
    "Device Time",
    "Op-to-Op Gap",
    "Cores",
    "DRAM",
    "DRAM %",
    "FLOPs",
    "FLOPs %",
    "Math Fidelity",
    "Output Datatype",
    "Input 0 Datatype",
    "Input 1 Datatype",
    "DRAM Sharded",
    "Input 0 Memory",
    "Inner Dim Block Size",
    "Output Subblock H",
    "Output Subblock W",
    "Global Call Count",
    "Sub Device ID",
    "Available Cores",
    "Op Category",
    "Bound Analysis",
];

/// Optional columns and compatibility of the CSV of ops.
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
/// `tt-perf-report --csv`, version 1.4.1: the same columns, and lines that end in CR LF. With
/// `is_upstream_exact`, missing types are `nan`, and call numbers are fractional if any is missing.
///
/// # Errors
/// Returns the errors of the stream.
pub fn write_ops_csv(
    report: &PerfReport,
    options: CsvOptions,
    out: impl Write,
) -> std::io::Result<()> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(out);
    let mut titles = OP_TITLES.to_vec();
    titles.extend(options.has_advice.then_some("Advice"));
    titles.extend(options.has_raw_op_codes.then_some("Raw OP Code"));
    writer.write_record(&titles).map_err(std::io::Error::other)?;
    for row in &report.rows {
        let mut cells = op_cells(row, report.is_call_count_missing, options);
        if options.has_advice {
            cells.push(row.advice.as_ref().map_or_else(String::new, |items| items.join(BULLET)));
        }
        if options.has_raw_op_codes {
            cells.push(row.raw_op_code.to_string());
        }
        let cells = cells.into_iter().map(without_formula);
        writer.write_record(cells).map_err(io_error)?;
    }
    writer.flush()
}

fn io_error(error: csv::Error) -> std::io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    }
}

fn op_cells(row: &OpReport, is_call_count_missing: bool, options: CsvOptions) -> Vec<String> {
    let missing = if options.is_upstream_exact { "nan" } else { "" };
    let [input_0, input_1] = &row.input_datatypes;
    let [output, input_0, input_1] = [&row.output_datatype, input_0, input_1]
        .map(|datatype| datatype.as_deref().unwrap_or(missing).to_owned());
    vec![
        row.id.to_string(),
        number(row.total_percent),
        row.bound.map_or("", super::Bound::label).to_owned(),
        row.op_code.to_string(),
        whole(row.device),
        number(row.device_time_us),
        number(row.op_to_op_gap_us),
        whole(row.core_count),
        number(row.dram_gb_per_s),
        number(row.dram_percent),
        number(row.tflops),
        number(row.flops_percent),
        row.math_fidelity.to_string(),
        output,
        input_0,
        input_1,
        if row.is_dram_sharded { "True" } else { "False" }.to_owned(),
        row.input_0_memory.as_deref().unwrap_or_default().to_owned(),
        whole(row.blocks.inner_block_tiles),
        whole(row.blocks.output_subblock_height_tiles),
        whole(row.blocks.output_subblock_width_tiles),
        call_count(row, is_call_count_missing && options.is_upstream_exact),
        row.sub_device.as_deref().unwrap_or_default().to_owned(),
        whole(row.available_core_count),
        row.category.map_or("", super::OpCategory::label).to_owned(),
        row.bound_analysis.label().to_owned(),
    ]
}

fn whole(value: Option<u64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, shortest)
}

fn call_count(row: &OpReport, is_fractional: bool) -> String {
    let text = row.global_call_count.trim();
    match super::cell::number(text) {
        Some(number) if is_fractional => shortest(number),
        None if is_fractional && super::cell::is_blank(text) => "nan".to_owned(),
        _ => text.to_owned(),
    }
}

fn without_formula(cell: String) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{cell}") } else { cell }
}

/// Writes one row for each kind of op.
///
/// # Compatibility
/// `tt-perf-report --summary-file`, version 1.4.1: the same columns, two decimals.
///
/// # Errors
/// Returns the errors of the stream.
pub fn write_stacked_csv(
    report: &PerfReport,
    stack_by: StackBy,
    out: impl Write,
) -> std::io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    let titles = stacked_titles(stack_by, report.is_by_device);
    writer.write_record(titles.iter().map(|(title, unit)| match *unit {
        "" => (*title).to_owned(),
        unit => format!("{title} [{unit}]"),
    }))?;
    for row in &report.stacked {
        let cells = stacked_cells(row, stack_by, report.is_by_device);
        writer
            .write_record(cells.into_iter().map(|cell| match cell {
                StackedCell::Text(text) => without_formula(text),
                StackedCell::Count(count) => count.to_string(),
                StackedCell::Figure(value) => {
                    value.map_or_else(String::new, |value| format!("{value:.2}"))
                }
            }))
            .map_err(io_error)?;
    }
    writer.flush()
}

/// One cell of the summary.
pub(super) enum StackedCell {
    Text(String),
    Count(u64),
    Figure(Option<f64>),
}

/// Returns the headers of the summary, each with its unit.
pub(super) fn stacked_titles(
    stack_by: StackBy,
    is_by_device: bool,
) -> Vec<(&'static str, &'static str)> {
    let mut titles = vec![("Total %", "%"), ("Op Code", "")];
    titles.extend(is_by_device.then_some(("Device", "")));
    titles.extend([("Device Time Sum", "μs"), ("Op Count", "")]);
    if stack_by != StackBy::Category {
        titles.extend([
            ("Op Category", ""),
            ("Min FLOPs", "%"),
            ("Max FLOPs", "%"),
            ("Mean FLOPs", "%"),
            ("Std FLOPs", "%"),
            ("Weighted Mean FLOPs", "%"),
        ]);
    }
    titles
}

/// Returns the cells of the summary in the order of its headers.
pub(super) fn stacked_cells(
    row: &StackedOps,
    stack_by: StackBy,
    is_by_device: bool,
) -> Vec<StackedCell> {
    let mut cells =
        vec![StackedCell::Figure(Some(row.total_percent)), StackedCell::Text(row.op_code.clone())];
    if is_by_device {
        let device = row.device.map_or_else(String::new, |device| device.to_string());
        cells.push(StackedCell::Text(device));
    }
    cells.push(StackedCell::Figure(Some(row.device_time_us)));
    cells.push(StackedCell::Count(row.op_count));
    if stack_by != StackBy::Category {
        cells.push(StackedCell::Text(row.category.to_owned()));
        cells.extend(
            [
                row.min_flops_percent,
                row.max_flops_percent,
                row.mean_flops_percent,
                row.std_flops_percent,
                row.weighted_mean_flops_percent,
            ]
            .map(StackedCell::Figure),
        );
    }
    cells
}

/// Returns the name of a row's op, marked if the row is a signpost.
pub(super) fn shown_op_code(row: &OpReport) -> String {
    match row.kind {
        RowKind::Signpost => format!("\u{1faa7} {}", row.raw_op_code),
        RowKind::Device | RowKind::Host => row.op_code.to_string(),
    }
}
