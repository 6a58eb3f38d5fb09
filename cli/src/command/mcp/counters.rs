//! Hardware counters of launches, and the metrics computed from them.

use super::{
    arguments::{CountersArguments, CountersPart},
    loaded::Figures,
    table::{Table, table},
};
use crate::{counter_tables::OpCounters, failure::Failure};
use host_reader::counters::{Limit, MetricDoubt};
use wire::RunHostId;

const UNKNOWN: &str = "this counter cannot be observed";
const NO_CORE: &str = "the counters contradict each other on each core";
const NO_NAME: &str = "the host gave no name";

/// Returns the metrics or the counters of each launch, with the figures of `kprof report --json`.
///
/// # Errors
/// If the column to sort by is unknown.
pub(super) fn table<'a>(
    figures: &'a Figures,
    asked: &CountersArguments,
) -> Result<Table<'a>, Failure> {
    let Figures::Run(run) = figures else {
        let reason = "an ops CSV has no counters of launches; load the device log or capture";
        return empty().with_note("reason", reason).sorted(asked.sort.as_deref(), asked.order);
    };
    let name = |op: &OpCounters| run.names.program_name(op.chip_id, RunHostId(op.run_host_id));
    let has = |text: &Option<String>, of: &str| text.as_ref().is_none_or(|text| of.contains(text));
    let launches: Vec<(&OpCounters, Option<&str>)> =
        run.counters.document().iter().map(|op| (op, name(op))).collect();
    let is_wanted = |name: &Option<&str>| match name {
        Some(name) => has(&asked.op, name),
        None => asked.op.is_none(),
    };
    let has_none = launches.is_empty();
    let chosen = launches.into_iter().filter(|(_, name)| is_wanted(name));
    let table = match asked.part {
        CountersPart::Metrics => {
            let rows =
                chosen.flat_map(|(op, name)| op.metrics.iter().map(move |one| (op, name, one)));
            let rows: Vec<_> =
                rows.filter(|(.., one)| has(&asked.counter, one.metric.label())).collect();
            table!(rows, |(op, name, summary)| {
                let known = summary.statistics.as_ref();
                "chip_id" => op.chip_id,
                "run_host_id" => op.run_host_id,
                "op_name" or NO_NAME => name,
                "launch" => op.launch,
                "metric" => summary.metric.label(),
                "unit" => summary.metric.unit(),
                "core_count" => summary.core_count,
                "min" or NO_CORE => known.map(|known| known.min),
                "median" or NO_CORE => known.map(|known| known.median),
                "max" or NO_CORE => known.map(|known| known.max),
                "mean" or NO_CORE => known.map(|known| known.mean),
                "is_doubtful" => summary.doubt.is_some(),
                "doubt" or "the metric is not in doubt" => summary.doubt.map(MetricDoubt::label),
                "cannot_see" or "the metric sees all that it means" => cannot_see(&summary.metric.limits()),
            })
        }
        CountersPart::Counters => {
            let rows =
                chosen.flat_map(|(op, name)| op.totals.iter().map(move |one| (op, name, one)));
            let rows: Vec<_> = rows.filter(|(.., one)| has(&asked.counter, &one.name)).collect();
            table!(rows, |(op, name, total)| {
                let counts = total.counts.as_ref();
                "chip_id" => op.chip_id,
                "run_host_id" => op.run_host_id,
                "op_name" or NO_NAME => name,
                "launch" => op.launch,
                "counter" => *total.name,
                "group" or "unknown" => total.group.map(|group| group.label()),
                "sample_count" => total.sample_count,
                "usable_sample_count" => total.usable_sample_count,
                "min" or UNKNOWN => counts.map(|counts| counts.min),
                "max" or UNKNOWN => counts.map(|counts| counts.max),
                "total" or UNKNOWN => counts.map(|counts| counts.total),
                "min_cycles" or "unknown" => total.cycles.map(|(min, _)| min),
                "max_cycles" or "unknown" => total.cycles.map(|(_, max)| max),
            })
        }
    };
    let table = match has_none {
        true => table.with_note(
            "reason",
            "the recording has no hardware counters; record with --profiler-capture-perf-counters",
        ),
        false => table.with_note("unreadable_count", run.counters.problem_count()),
    };
    table.sorted(asked.sort.as_deref(), asked.order)
}

fn empty() -> Table<'static> {
    table!(Vec::<()>::new(), |()| {
        "chip_id" => (),
        "metric" => (),
    })
}

/// Returns what a metric does not see, or `None`.
fn cannot_see(limits: &[Limit]) -> Option<String> {
    let limits: Vec<_> = limits.iter().map(|limit| limit.label()).collect();
    (!limits.is_empty()).then(|| limits.join("; "))
}
