//! Hardware counters for the page: metrics over cores, the limits of the metrics, and the counters.

use crate::{Trace, hardware_counters::counters_of_ops};
use analysis::counters::{CounterTotal, LaunchCounters, Limit, MetricSummary};
use serde::Serialize;

/// Metrics and counters of all ops, column by column.
#[derive(Default, Serialize)]
pub(super) struct CounterFacts {
    /// Labels of all limits: what metrics cannot see.
    limits: Vec<&'static str>,
    metrics: MetricColumns,
    counters: CounterColumns,
    /// Reasons why counters could not be read, and the number of occurrences.
    problems: Vec<(String, u64)>,
}

#[derive(Default, Serialize)]
struct MetricColumns {
    /// Index of the op among the ops of all chips.
    op: Vec<usize>,
    label: Vec<&'static str>,
    unit: Vec<&'static str>,
    cores: Vec<usize>,
    /// Min, median, max, mean.
    values: Vec<[f64; 4]>,
    /// Indices into the labels of limits.
    limits: Vec<Vec<usize>>,
}

#[derive(Default, Serialize)]
struct CounterColumns {
    op: Vec<usize>,
    name: Vec<String>,
    group: Vec<Option<&'static str>>,
    samples: Vec<u64>,
    /// Minimum, maximum and total; `None` if nothing was counted.
    counts: Vec<Option<[u64; 3]>>,
    /// Minimum and maximum number of cycles, if known.
    cycles: Vec<Option<(u64, u64)>>,
}

impl CounterFacts {
    pub(super) fn new(trace: &Trace<'_>) -> Self {
        let mut facts = Self { limits: Limit::ALL.map(Limit::label).to_vec(), ..Self::default() };
        let mut first_op = 0;
        for device in &trace.devices {
            let is_blackhole = device.chip.arch.contains("blackhole");
            for launch in counters_of_ops(device, &trace.names) {
                facts.add(first_op + launch.launch, &launch, is_blackhole);
            }
            first_op += device.ops.len();
        }
        facts
    }

    fn add(&mut self, op: usize, launch: &LaunchCounters, is_blackhole: bool) {
        for summary in launch.counters.summaries(is_blackhole) {
            self.metrics.add(op, &summary);
        }
        for total in launch.totals() {
            self.counters.add(op, total);
        }
        for (problem, count) in &launch.problems {
            let text = problem.to_string();
            match self.problems.iter_mut().find(|(known, _)| *known == text) {
                Some((_, sum)) => *sum += count,
                None => self.problems.push((text, *count)),
            }
        }
    }
}

impl MetricColumns {
    fn add(&mut self, op: usize, summary: &MetricSummary) {
        let limits = summary.metric.limits();
        self.op.push(op);
        self.label.push(summary.metric.label());
        self.unit.push(summary.metric.unit());
        self.cores.push(summary.core_count);
        self.values.push(summary.values());
        self.limits.push(
            limits
                .iter()
                .filter_map(|limit| Limit::ALL.iter().position(|other| other == limit))
                .collect(),
        );
    }
}

impl CounterColumns {
    fn add(&mut self, op: usize, total: CounterTotal) {
        self.op.push(op);
        self.name.push(total.name.into_owned());
        self.group.push(total.group.map(|group| group.label()));
        self.samples.push(total.sample_count);
        self.counts.push(total.counts.map(|counts| [counts.min, counts.max, counts.total]));
        self.cycles.push(total.cycles);
    }
}
