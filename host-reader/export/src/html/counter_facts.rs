//! Hardware counters for the page: the counters, the metrics computed from them, and what the
//! metrics do not measure.

use crate::{Trace, hardware_counters::counters_of_ops};
use analysis::counters::{CounterTotal, Limit, MetricDoubt, MetricSummary};
use serde::Serialize;
use serde_json::json;
use tables::Arrays;

/// Metrics and counters of all ops, column by column.
#[derive(Serialize)]
pub(super) struct CounterFacts {
    /// Labels of all limits. A limit is something that a metric does not measure.
    limits: [&'static str; Limit::ALL.len()],
    metrics: Arrays<(usize, MetricSummary)>,
    counters: Arrays<(usize, CounterTotal)>,
    /// Reasons why counters could not be read, each with the number of times it occurred.
    problems: Vec<(String, u64)>,
}

impl CounterFacts {
    pub(super) fn new(trace: &Trace<'_>) -> Self {
        let (mut summaries, mut totals) = (Vec::new(), Vec::new());
        let mut problems: Vec<(String, u64)> = Vec::new();
        let mut first_op = 0;
        for device in &trace.devices {
            let is_blackhole = device.chip.arch.contains("blackhole");
            for launch in counters_of_ops(device, &trace.names) {
                let op = first_op + launch.launch;
                let found = launch.counters.summaries(is_blackhole);
                summaries.extend(found.map(|summary| (op, summary)));
                totals.extend(launch.totals().into_iter().map(|total| (op, total)));
                for (problem, count) in &launch.problems {
                    let text = problem.to_string();
                    match problems.iter_mut().find(|(known, _)| *known == text) {
                        Some((_, sum)) => *sum += count,
                        None => problems.push((text, *count)),
                    }
                }
            }
            first_op += device.ops.len();
        }
        Self {
            limits: Limit::ALL.map(Limit::label),
            metrics: metrics(summaries),
            counters: counters(totals),
            problems,
        }
    }
}

/// Returns the metrics column by column, each with the index of its op among the ops of all chips.
fn metrics(summaries: Vec<(usize, MetricSummary)>) -> Arrays<(usize, MetricSummary)> {
    Arrays::new(
        summaries,
        [
            ("op", |(op, _)| (*op).into()),
            ("label", |(_, summary)| summary.metric.label().into()),
            ("unit", |(_, summary)| summary.metric.unit().into()),
            ("cores", |(_, summary)| summary.core_count.into()),
            // Minimum, median, maximum and mean over the cores; null if no core has a value.
            ("values", |(_, summary)| json!(summary.statistics.map(|of| of.values()))),
            ("doubt", |(_, summary)| summary.doubt.map(MetricDoubt::label).into()),
            // Indices of the metric's limits in `CounterFacts::limits`.
            ("limits", |(_, summary)| {
                let limits = summary.metric.limits().into_iter();
                let all = Limit::ALL.iter();
                limits.filter_map(|limit| all.clone().position(|other| *other == limit)).collect()
            }),
        ],
    )
}

fn counters(totals: Vec<(usize, CounterTotal)>) -> Arrays<(usize, CounterTotal)> {
    Arrays::new(
        totals,
        [
            ("op", |(op, _)| (*op).into()),
            ("name", |(_, total)| (*total.name).into()),
            ("group", |(_, total)| total.group.map(|group| group.label()).into()),
            ("samples", |(_, total)| total.sample_count.into()),
            ("usable_samples", |(_, total)| total.usable_sample_count.into()),
            // Minimum and maximum per core, and total over all cores; null if no reading is
            // meaningful.
            ("counts", |(_, total)| {
                json!(total.counts.map(|counts| [counts.min, counts.max, counts.total]))
            }),
            // Minimum and maximum of the cycles per core, if known.
            ("cycles", |(_, total)| json!(total.cycles)),
        ],
    )
}
