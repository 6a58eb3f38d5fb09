//! Page for an ops CSV: its ops with bounds and gaps, and the causes of their slowness.

use super::{
    cause_facts::CauseFacts,
    page::{OPS, write_facts},
};
use causes::{Explanation, OpCodeGroup};
use reports::perf::{Bound, OpReport, PerfReport, RowKind};
use serde::Serialize;
use std::io::{self, Write};

/// Questions that an ops CSV cannot answer, and the recording that answers each.
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
    ops: OpColumns<'a>,
    causes: CauseFacts<'a>,
    /// Ops by op code in the steady part.
    groups: &'a [OpCodeGroup],
    /// First and last op of the steady part; `None` if all ops are explained.
    steady: Option<(usize, usize)>,
    absent: [(&'static str, &'static str); ABSENT.len()],
    notes: &'a [String],
    problems: Vec<String>,
    problem_count: usize,
    skipped_line_count: u64,
    invalid_count: u64,
    dram_percent: Option<f64>,
    dram_gb_per_s: Option<f64>,
}

/// Rows of ops, column by column; unknown values are null.
#[derive(Serialize)]
struct OpColumns<'a> {
    id: Vec<u64>,
    name: Vec<&'a str>,
    call: Vec<&'a str>,
    device: Vec<Option<u64>>,
    is_host: Vec<bool>,
    time_ns: Vec<Option<f64>>,
    gap_ns: Vec<Option<f64>>,
    total_percent: Vec<Option<f64>>,
    core_count: Vec<Option<u64>>,
    bound: Vec<Option<&'static str>>,
    dram_percent: Vec<Option<f64>>,
    dram_gb_per_s: Vec<Option<f64>>,
    flops_percent: Vec<Option<f64>>,
    /// Minimum time for the op's shape.
    limit_ns: Vec<Option<f64>>,
    /// True if FLOPs determine the minimum time, false if DRAM bytes do.
    is_flops_limit: Vec<bool>,
    tflops: Vec<Option<f64>>,
    fidelity: Vec<&'a str>,
    category: Vec<Option<&'static str>>,
    source: Vec<&'a str>,
    advice: Vec<&'a [String]>,
}

impl<'a> OpColumns<'a> {
    fn new(rows: &[&'a OpReport]) -> Self {
        fn column<'a, T>(rows: &[&'a OpReport], of: impl Fn(&'a OpReport) -> T) -> Vec<T> {
            rows.iter().map(|row| of(row)).collect()
        }
        Self {
            id: column(rows, |row| row.id),
            name: column(rows, |row| row.op_code.as_str()),
            call: column(rows, |row| row.global_call_count.as_str()),
            device: column(rows, |row| row.device),
            is_host: column(rows, |row| row.kind == RowKind::Host),
            time_ns: column(rows, |row| rounded_ns(row.device_time_us)),
            gap_ns: column(rows, |row| rounded_ns(row.op_to_op_gap_us)),
            total_percent: column(rows, |row| row.total_percent),
            core_count: column(rows, |row| row.core_count),
            bound: column(rows, |row| row.bound.map(Bound::label)),
            dram_percent: column(rows, |row| row.dram_percent),
            dram_gb_per_s: column(rows, |row| row.dram_gb_per_s),
            flops_percent: column(rows, |row| row.flops_percent),
            limit_ns: column(rows, |row| rounded_ns(row.limit?.us())),
            is_flops_limit: column(rows, |row| {
                row.limit.is_some_and(|limit| limit.flops_us >= limit.dram_us)
            }),
            tflops: column(rows, |row| row.tflops),
            fidelity: column(rows, |row| row.math_fidelity.as_str()),
            category: column(rows, |row| row.category.map(|category| category.label())),
            source: column(rows, |row| row.source.as_str()),
            advice: column(rows, |row| row.advice.as_deref().unwrap_or(&[])),
        }
    }
}

/// Returns nanoseconds rounded to thousandths: no CSV has more digits.
fn rounded_ns(us: Option<f64>) -> Option<f64> {
    us.map(|us| (us * 1e6).round() / 1e3)
}

/// Writes a page about an ops CSV.
///
/// `report` is a report on each device, made with [`Explanation::report_options`]; `explanation`
/// explains that report.
///
/// ```
/// use causes::Explanation;
/// use reports::perf::{PerfReport, read_ops_csv};
/// let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\nSoftmax,tt_dnn_device,0,1500\n";
/// let csv = read_ops_csv(text.as_bytes(), "ops.csv")?;
/// let report = PerfReport::new(vec![csv], &Explanation::report_options())?;
/// let mut page = Vec::new();
/// export::write_ops_page("ops.csv", &report, &Explanation::from_perf_report(&report), &mut page)?;
/// assert!(String::from_utf8(page)?.contains(r#""time_ns":[1500.0]"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `out` fails.
pub fn write_ops_page(
    title: &str,
    report: &PerfReport,
    explanation: &Explanation,
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
        ops: OpColumns::new(&rows),
        causes: CauseFacts::from_explanation(explanation, |place| {
            (rows.iter().position(|row| Some(row.id) == place.row), None)
        }),
        groups: &explanation.groups,
        steady,
        absent: ABSENT,
        notes: &report.notes,
        problems: report.problems.iter().take(LISTED_PROBLEMS).map(ToString::to_string).collect(),
        problem_count: report.problems.len(),
        skipped_line_count: report.skipped_line_count,
        invalid_count: report.totals.invalid_duration_count,
        dram_percent: report.totals.dram_percent,
        dram_gb_per_s: report.totals.dram_gb_per_s,
    };
    OPS.write(title, out, |_, out| write_facts(&facts, out))
}
