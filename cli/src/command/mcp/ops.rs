//! Ops: launches of a run, or rows of an ops CSV.

use super::{
    arguments::OpsArguments,
    loaded::{Figures, RunFigures},
    table::{Table, table},
};
use crate::failure::{Failure, OrFail, failure};
use host_reader::{
    export::TraceFilter,
    perf::{PerfReport, RowKind},
    tables::{OpRow, Ops},
};
use wire::RunHostId;

const NOT_IN_FILE: &str = "not in the file";

/// Maximum number of bytes in a filter. Filters are limited because error messages quote them.
const LONGEST_FILTER: usize = 400;

/// Returns the table of the ops in a run or in an ops CSV.
///
/// # Errors
/// If the filter or the column to sort by is invalid.
pub(super) fn table<'a>(figures: &'a Figures, asked: &OpsArguments) -> Result<Table<'a>, Failure> {
    let filter = filter_of(asked.filter.as_deref(), &["device", "op"])?;
    let table = match figures {
        Figures::Run(run) => launches(run, &filter),
        Figures::OpsCsv(report) => rows(report, &filter),
    };
    table.sorted(asked.sort.as_deref(), asked.order)
}

/// Parses a filter that may only have terms with these keys. Without a text, the filter selects
/// everything.
pub(super) fn filter_of(text: Option<&str>, keys: &[&str]) -> Result<TraceFilter, Failure> {
    let Some(text) = text else { return Ok(TraceFilter::default()) };
    if text.len() > LONGEST_FILTER {
        return Err(failure!(
            "expected a filter of at most {LONGEST_FILTER} bytes, found {}; use fewer terms",
            text.len()
        ));
    }
    let filter: TraceFilter = text.parse().or_fail()?;
    match filter.keys_besides(keys).first() {
        None => Ok(filter),
        Some(key) => Err(failure!(
            "expected a filter with terms of {}, found {key}; use one of these keys",
            keys.join(", ")
        )),
    }
}

fn launches<'a>(run: &'a RunFigures, filter: &TraceFilter) -> Table<'a> {
    let ops = run.report.ops.ops().filter(|op| {
        let program = RunHostId(op.run_host_id).base();
        filter.selects_device(op.chip_id) && filter.selects_op(program, run.names.op_texts(op).name)
    });
    Table::from_items::<Ops, _>(ops, |op, take| take(&OpRow::new(op, run.names.op_texts(op))))
}

fn rows<'a>(report: &'a PerfReport, filter: &TraceFilter) -> Table<'a> {
    let rows: Vec<_> = report
        .rows
        .iter()
        .filter(|row| {
            let device = row.device.and_then(|device| u32::try_from(device).ok());
            let program = row.global_call_count.parse().unwrap_or(0);
            (filter.is_empty() || row.kind != RowKind::Signpost)
                && device.is_none_or(|device| filter.selects_device(device))
                && filter.selects_op(program, Some(&row.raw_op_code))
        })
        .collect();
    table!(rows, |row| {
        "row" => row.id,
        "kind" => row.kind,
        "name" => row.raw_op_code,
        "device" or NOT_IN_FILE => row.device,
        "device_time_us" or "missing or impossible in the file" => row.device_time_us,
        "op_to_op_gap_us" or NOT_IN_FILE => row.op_to_op_gap_us,
        "core_count" or NOT_IN_FILE => row.core_count,
        "total_percent" or "no duration" => row.total_percent,
        "bound" or "no model of this op" => row.bound,
        "dram_percent" or "no model of this op" => row.dram_percent,
        "is_dram_lower_bound" => row.is_dram_lower_bound(),
        "flops_percent" or "no model of this op" => row.flops_percent,
        "math_fidelity" => row.math_fidelity,
        "call" => row.global_call_count,
    })
}
