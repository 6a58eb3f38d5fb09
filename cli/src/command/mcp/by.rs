//! Ops grouped by a column, such as the module of the model that called them.

use super::{
    arguments::ByArguments,
    loaded::{Figures, Loaded, Part},
    table::{Table, table},
};
use crate::{by_column::no_such_column, failure::Failure};
use host_reader::{
    diff::ColumnDiff,
    perf::{ColumnGroup, OpsByColumn, PerfReport, ops_by_column},
};

/// Column that is meant if the client names none.
const MODULE: &str = "module";
/// Column with the name of the host's signpost before each op.
const SIGNPOST: &str = "signpost";

const BLANK: &str = "the column is blank for these ops, or all ops of a path";
const NO_TIME: &str = "no op of the group has a device time";
const NO_ITERATION: &str =
    "no op of the group is part of an iteration; see iterations_unknown_because";
const NOT_OF_HOST: &str = "the host's time is unknown; the host calls no op of a trace";
const NO_MODEL: &str = "no model of these ops";
const ONE_SIDE: &str = "one recording has no such group, or no time of it";

/// Returns the groups of a run's or file's ops.
///
/// # Errors
/// If the ops have no such column, or the column to sort by is unknown.
pub(super) fn table(part: &Part, asked: &ByArguments) -> Result<Table<'static>, Failure> {
    let by = groups(part, asked.column.as_deref())?;
    let OpsByColumn { column, iteration_count, outside_iterations_count, host_op_count, .. } = &by;
    let no_iterations = by.no_iterations.as_deref();
    let notes = [
        ("column", (**column).into()),
        ("iteration_count", (*iteration_count).into()),
        ("iterations_unknown_because", no_iterations.into()),
        ("ops_outside_of_iterations", (*outside_iterations_count).into()),
        ("ops_of_the_host", (*host_op_count).into()),
        ("op_count", by.total.op_count.into()),
        ("untimed_op_count", by.total.untimed_count.into()),
        ("device_time_us", by.total.device_time_us.into()),
    ];
    let is_wanted = |group: &ColumnGroup| {
        let name = group.value.as_deref().unwrap_or_default();
        asked.name.as_ref().is_none_or(|wanted| name.contains(wanted))
    };
    let groups: Vec<ColumnGroup> = by.groups.into_iter().filter(is_wanted).collect();
    let table = table!(groups, |group| {
        let is_timed = group.untimed_count < group.op_count;
        "name" or BLANK => group.value,
        "op" or "ops of all op codes" => group.op,
        "depth" => group.depth,
        "op_count" => group.op_count,
        "untimed_op_count" => group.untimed_count,
        "device_time_us" or NO_TIME => is_timed.then_some(group.device_time_us),
        "percent" or NO_TIME => group.percent.filter(|_| is_timed),
        "device_time_per_iteration_us" or NO_ITERATION => group.device_time_per_iteration_us,
        "ops_per_iteration" or NO_ITERATION => group.ops_per_iteration,
        "host_time_us" or NOT_OF_HOST => group.host_time_us,
        "flops_percent" or NO_MODEL => group.flops_percent,
        "dram_percent" or NO_MODEL => group.dram_percent,
        "is_dram_lower_bound" => group.is_dram_lower_bound,
    });
    let table = notes
        .into_iter()
        .fold(table, |table, (name, value): (_, serde_json::Value)| table.with_note(name, value));
    table.sorted(asked.sort.as_deref(), asked.order)
}

/// Compares the groups of two recordings, each with all of its runs.
///
/// # Errors
/// If the ops of either have no such column.
pub(super) fn changes(
    a: &Loaded,
    b: &Loaded,
    column: Option<&str>,
) -> Result<Table<'static>, Failure> {
    let of = |side: &Loaded| {
        let parts = side.parts.iter().map(|part| groups(part, column));
        parts.collect::<Result<Vec<_>, Failure>>()
    };
    let diff = ColumnDiff::new(&of(a)?, &of(b)?);
    let column = (*diff.column).to_owned();
    let untimed = [diff.a_untimed_count, diff.b_untimed_count];
    let is_per_iteration = diff.is_per_iteration;
    Ok(table!(diff.changes, |change| {
        "name" or BLANK => change.value,
        "depth" => change.depth,
        "a_op_count" => change.a_op_count,
        "b_op_count" => change.b_op_count,
        "a_ns" or "baseline a has no such group, or no time of it" => change.a_ns,
        "b_ns" or "recording b has no such group, or no time of it" => change.b_ns,
        "change_ns" or ONE_SIDE => change.change_ns,
        "ratio" or ONE_SIDE => change.ratio,
    })
    .with_note("column", column)
    .with_note("is_per_iteration", is_per_iteration)
    .with_note("a_untimed_op_count", untimed[0])
    .with_note("b_untimed_op_count", untimed[1]))
}

fn groups(part: &Part, column: Option<&str>) -> Result<OpsByColumn, Failure> {
    let asked = column.unwrap_or(MODULE);
    let report: Option<&PerfReport> = match &part.figures {
        Figures::OpsCsv(report) => Some(report),
        Figures::Run(_) => part.described.as_deref(),
    };
    let found = report.and_then(|report| {
        let column = report.column(asked)?;
        // A column of TT-Metal's is not kept; the name of the signpost before each op is.
        let is_kept = report.rows.iter().any(|row| row.other(&column).is_some());
        is_kept.then(|| ops_by_column(&report.rows, &column))
    });
    found.ok_or_else(|| {
        let mut titles = report.map(PerfReport::other_columns).unwrap_or_default();
        titles.extend(report.and_then(|report| report.column(SIGNPOST)));
        no_such_column(asked, &titles, &part.title)
    })
}
