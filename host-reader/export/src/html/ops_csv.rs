//! Page for an ops CSV: the ops with their minimum times and gaps, and the reasons why the ops are
//! slow.

use super::{
    cause_facts::CauseFacts,
    comparison_facts::ComparisonFacts,
    page::{OPS, write_facts},
};
use crate::TraceComparison;
use analysis::LOST_OF_OPS_CSV;
use causes::{Explanation, OpCodeGroup};
use reports::perf::{Bound, LimitKind, OpReport, OpsByColumn, PerfReport, RowKind};
use serde::Serialize;
use std::io::{self, Write};
use tables::Arrays;

/// Questions that an ops CSV cannot answer, each with the kind of recording that can answer it.
const ABSENT: [(&str, &str); 5] = [
    (
        "Single cores and RISCs, balance of cores, zones",
        "a device log or capture: kprof export FOLDER -o page.html",
    ),
    ("When ops ran, side by side or one after another", "the same: its timeline"),
    ("Waits for buffers, semaphores and barriers", "a capture of kernels built with waits on"),
    ("NoC traffic, hardware counters of single cores", "a device log or capture with these on"),
    ("Lost records", "a capture: its ledger counts them; logs of TT-Metal do not"),
];

/// Maximum number of problems that the page lists; further problems are only counted.
const LISTED_PROBLEMS: usize = 100;

#[derive(Serialize)]
struct OpsPageFacts<'a> {
    exporter: &'static str,
    title: &'a str,
    arch: Option<&'a str>,
    worker_cores: Option<u64>,
    ops: Arrays<&'a OpReport>,
    causes: CauseFacts<'a>,
    /// Ops of the explained part of the CSV, grouped by op code.
    groups: &'a [OpCodeGroup],
    /// The same ops, grouped by the module that called them; `None` if the CSV names no modules.
    modules: Option<&'a OpsByColumn>,
    /// Indices of the first and last op of the model's last iteration, if only this iteration is
    /// explained; `None` if all ops are explained.
    steady: Option<(usize, usize)>,
    comparison: Option<ComparisonFacts<'a>>,
    absent: [(&'static str, &'static str); ABSENT.len()],
    /// Sentence about losses.
    lost: &'static str,
    notes: &'a [String],
    problems: Vec<String>,
    problem_count: usize,
    skipped_line_count: u64,
    invalid_count: u64,
    dram_percent: Option<f64>,
    is_dram_lower_bound: bool,
    dram_gb_per_s: Option<f64>,
}

/// Returns the values of each op, column by column; unknown values are null.
fn op_columns<'a>(rows: &[&'a OpReport]) -> Arrays<&'a OpReport> {
    Arrays::new(
        rows.iter().copied(),
        [
            ("id", |row| row.id.into()),
            ("name", |row| (*row.op_code).into()),
            ("call", |row| row.global_call_count.as_str().into()),
            ("device", |row| row.device.into()),
            ("is_host", |row| (row.kind == RowKind::Host).into()),
            ("time_ns", |row| rounded_ns(row.device_time_us).into()),
            ("gap_ns", |row| rounded_ns(row.op_to_op_gap_us).into()),
            ("total_percent", |row| row.total_percent.into()),
            ("core_count", |row| row.core_count.into()),
            ("bound", |row| row.bound.map(Bound::label).into()),
            ("dram_percent", |row| row.dram_percent.into()),
            ("is_dram_lower_bound", |row| row.is_dram_lower_bound().into()),
            ("dram_gb_per_s", |row| row.dram_gb_per_s.into()),
            ("flops_percent", |row| row.flops_percent.into()),
            // Minimum time for the op's shape.
            ("limit_ns", |row| row.limit.and_then(|limit| rounded_ns(limit.us())).into()),
            ("is_limit_exact", |row| {
                row.limit.is_some_and(|limit| limit.kind == LimitKind::Exact).into()
            }),
            // True if FLOPs determine the minimum time, false if DRAM bytes do.
            ("is_flops_limit", |row| {
                row.limit.is_some_and(|limit| limit.flops_us >= limit.dram_us).into()
            }),
            ("tflops", |row| row.tflops.into()),
            ("fidelity", |row| (*row.math_fidelity).into()),
            ("category", |row| row.category.map(|category| category.label()).into()),
            ("source", |row| (*row.source).into()),
            // Cells of columns that no report of TT-Metal has, such as the module of an op.
            ("others", |row| {
                let cells = row.others.iter().map(|(title, text)| format!("{title}: {text}"));
                cells.collect::<Vec<_>>().into()
            }),
            ("advice", |row| row.advice.clone().unwrap_or_default().into()),
        ],
    )
}

/// Converts microseconds to nanoseconds. The result is rounded to picoseconds, because no ops CSV
/// contains more precise times.
fn rounded_ns(us: Option<f64>) -> Option<f64> {
    us.map(|us| (us * 1e6).round() / 1e3)
}

/// Writes a page about an ops CSV.
///
/// `report` must have separate rows for each device, as with [`Explanation::report_options`].
/// `explanation` must be the explanation of that report. `comparison` is shown if it is given.
///
/// ```
/// use causes::Explanation;
/// use reports::perf::{PerfReport, read_ops_csv};
/// let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],MODULE\n\
///     Softmax,tt_dnn_device,0,1500,Model.head\n";
/// let csv = read_ops_csv(text.as_bytes(), "ops.csv")?;
/// let report = PerfReport::new(vec![csv], &Explanation::report_options())?;
/// let mut page = Vec::new();
/// let explanation = Explanation::from_perf_report(&report);
/// export::write_ops_page("ops.csv", &report, &explanation, None, &mut page)?;
/// let page = String::from_utf8(page)?;
/// assert!(page.contains(r#""time_ns":[1500.0]"#));
/// assert!(page.contains(r#""others":[["MODULE: Model.head"]]"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `out` fails.
pub fn write_ops_page(
    title: &str,
    report: &PerfReport,
    explanation: &Explanation,
    comparison: Option<&TraceComparison>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let rows = report.rows.iter().filter(|row| row.kind != RowKind::Signpost);
    let rows: Vec<&OpReport> = rows.collect();
    let steady = explanation.steady.as_ref().and_then(|steady| {
        let first = rows.iter().position(|row| Some(row.id) == steady.first_row)?;
        let last = rows.iter().position(|row| Some(row.id) == steady.last_row)?;
        Some((first, last))
    });
    let facts = OpsPageFacts {
        exporter: concat!("kprof ", env!("CARGO_PKG_VERSION")),
        title,
        arch: report.chip.arch.as_ref().map(|arch| arch.name.as_str()),
        worker_cores: report.chip.worker_core_count,
        ops: op_columns(&rows),
        causes: CauseFacts::from_explanation(explanation, |place| {
            (rows.iter().position(|row| Some(row.id) == place.row), None)
        }),
        groups: &explanation.groups,
        modules: explanation.by.as_ref(),
        steady,
        comparison: comparison.map(ComparisonFacts::new),
        absent: ABSENT,
        lost: LOST_OF_OPS_CSV,
        notes: &report.notes,
        problems: report.problems.iter().take(LISTED_PROBLEMS).map(ToString::to_string).collect(),
        problem_count: report.problems.len(),
        skipped_line_count: report.skipped_line_count,
        invalid_count: report.totals.invalid_duration_count,
        dram_percent: report.totals.dram_percent,
        is_dram_lower_bound: report.totals.is_dram_lower_bound,
        dram_gb_per_s: report.totals.dram_gb_per_s,
    };
    OPS.write(title, out, |_, out| write_facts(&facts, out))
}
