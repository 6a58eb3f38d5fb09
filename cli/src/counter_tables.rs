//! Tables of hardware counters: metrics over cores with their limits, and the counters.

use crate::{
    layout::write_columns,
    numbers::{counted, grouped},
    op_names::OpNames,
    tables::program_label,
    terminal::{Style, styled},
};
use host_reader::{
    analysis::{Launch, Op},
    counters::{CounterTotal, Limit, MetricSummary, counters_of},
    readout::Readout,
    tables::Objects,
};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

/// The counters of all launches that have counters.
#[derive(Default)]
pub(crate) struct CounterFindings(Vec<OpCounters>);

/// The counters of one launch, with its op.
struct OpCounters {
    op: Op,
    metrics: Vec<MetricSummary>,
    totals: Vec<CounterTotal>,
    problems: Vec<(String, u64)>,
}

impl CounterFindings {
    /// Computes the metrics of every launch.
    pub(crate) fn new(readout: &Readout, launches: &[Launch]) -> Self {
        let blackholes: BTreeSet<u32> = readout
            .devices
            .iter()
            .filter(|device| device.chip.arch.contains("blackhole"))
            .map(|device| device.chip.chip_id)
            .collect();
        Self(
            counters_of(readout, launches)
                .into_iter()
                .filter_map(|counters| {
                    let op = launches.get(counters.launch)?.op.clone();
                    let problems = counters.problems.iter();
                    Some(OpCounters {
                        metrics: counters
                            .counters
                            .summaries(blackholes.contains(&op.chip_id))
                            .collect(),
                        totals: counters.totals(),
                        problems: problems
                            .map(|(problem, count)| (problem.to_string(), *count))
                            .collect(),
                        op,
                    })
                })
                .collect(),
        )
    }

    /// Writes the metrics, their limits and the counters.
    pub(crate) fn write(
        &self,
        names: &OpNames,
        rows: usize,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        self.write_metrics(names, rows, out)?;
        self.write_counters(rows, out)?;
        let mut problems: BTreeMap<&str, u64> = BTreeMap::new();
        for (problem, count) in self.0.iter().flat_map(|op| &op.problems) {
            *problems.entry(problem).or_default() += count;
        }
        for (problem, count) in problems {
            let count = counted(count, "hardware counter", "hardware counters");
            let line = format!("{count} could not be read: {problem}");
            writeln!(out, "{}", styled(&line, Style::Doubtful))?;
        }
        Ok(())
    }

    fn write_metrics(
        &self,
        names: &OpNames,
        rows: usize,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        let all: Vec<_> =
            self.0.iter().flat_map(|op| op.metrics.iter().map(move |one| (op, one))).collect();
        if all.is_empty() {
            return Ok(());
        }
        let limits = Limits::new(all.iter().map(|(_, summary)| *summary));
        writeln!(out, "\n{}\n", styled("Metrics of hardware counters, over cores", Style::Bold))?;
        write_columns!(&all, rows, out, |(op, summary)| {
            let [chip, program, name, launch] = op_cells(&op.op, names);
            let [min, median, max, mean] = summary.values().map(|value| format!("{value:.3}"));
            "chip" => chip,
            "program" => program,
            "op" => name,
            "launch" => launch,
            "metric" => summary.metric.label(),
            "unit" => summary.metric.unit(),
            "cores" => summary.core_count,
            "min" => min,
            "median" => median,
            "max" => max,
            "mean" => mean,
            "blind to" => limits.letters(summary),
        })?;
        limits.write(out)
    }

    fn write_counters(&self, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
        let all: Vec<_> =
            self.0.iter().flat_map(|op| op.totals.iter().map(move |one| (op, one))).collect();
        if all.is_empty() {
            return Ok(());
        }
        writeln!(out, "\n{}\n", styled("Hardware counters, events on a core", Style::Bold))?;
        write_columns!(&all, rows, out, |(op, total)| {
            let extremes = total.counts.as_ref().map(|counts| [counts.min, counts.max]);
            let [min, max] = extremes.map_or_else(
                || [(); 2].map(|()| NOT_OBSERVABLE.to_owned()),
                |all| all.map(grouped),
            );
            let [chip, program, _, launch] = op_cells(&op.op, &OpNames::default());
            "chip" => chip,
            "program" => program,
            "launch" => launch,
            "counter" => total.name,
            "group" => total.group.map_or("-", |group| group.label()),
            "read" => grouped(total.sample_count),
            "min" => min,
            "max" => max,
            "of cycles" => cycles_text(total.cycles),
        })
    }

    /// Returns metrics, limits and counters for JSON.
    pub(crate) fn document(&self) -> Vec<OpRow<'_>> {
        self.0.iter().map(OpRow::new).collect()
    }
}

const NOT_OBSERVABLE: &str = "not observable";

fn op_cells(op: &Op, names: &OpNames) -> [String; 4] {
    [
        op.chip_id.to_string(),
        program_label(op.run_host_id, op.trace_id.zip(op.trace_replay)),
        names.op_name(op).unwrap_or_default().to_owned(),
        op.launch.to_string(),
    ]
}

fn cycles_text(cycles: Option<(u64, u64)>) -> String {
    match cycles {
        None => "unknown".to_owned(),
        Some((min, max)) if min == max => grouped(min),
        Some((min, max)) => format!("{}..{}", grouped(min), grouped(max)),
    }
}

/// Limits of the shown metrics. Tables refer to each limit by a letter.
struct Limits(Vec<Limit>);

impl Limits {
    fn new<'a>(summaries: impl Iterator<Item = &'a MetricSummary>) -> Self {
        let limits: BTreeSet<Limit> =
            summaries.flat_map(|summary| summary.metric.limits()).collect();
        Self(limits.into_iter().collect())
    }

    fn letters(&self, summary: &MetricSummary) -> String {
        let own = summary.metric.limits();
        let letters = self.0.iter().zip('a'..).filter(|(limit, _)| own.contains(limit));
        letters.map(|(_, letter)| letter).collect()
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "\nBlind to:")?;
        for (limit, letter) in self.0.iter().zip('a'..) {
            writeln!(out, "  {letter}  {}", limit.label())?;
        }
        Ok(())
    }
}

/// The counters of a launch.
#[derive(Serialize)]
pub(crate) struct OpRow<'a> {
    chip_id: u32,
    run_host_id: u32,
    trace_id: Option<u64>,
    trace_replay: Option<u64>,
    launch: u64,
    metrics: Objects<&'a MetricSummary>,
    counters: Objects<&'a CounterTotal>,
    problems: BTreeMap<&'a str, u64>,
}

impl<'a> OpRow<'a> {
    fn new(counters: &'a OpCounters) -> Self {
        let problems = counters.problems.iter();
        Self {
            chip_id: counters.op.chip_id,
            run_host_id: counters.op.run_host_id,
            trace_id: counters.op.trace_id,
            trace_replay: counters.op.trace_replay,
            launch: counters.op.launch,
            metrics: metrics(&counters.metrics),
            counters: totals(&counters.totals),
            problems: problems.map(|(problem, count)| (problem.as_str(), *count)).collect(),
        }
    }
}

fn metrics(summaries: &[MetricSummary]) -> Objects<&MetricSummary> {
    Objects::new(
        summaries,
        [
            ("metric", |summary| summary.metric.label().into()),
            ("unit", |summary| summary.metric.unit().into()),
            ("cores", |summary| summary.core_count.into()),
            ("min", |summary| summary.min.into()),
            ("median", |summary| summary.median.into()),
            ("max", |summary| summary.max.into()),
            ("mean", |summary| summary.mean.into()),
            ("cannot_see", |summary| {
                summary.metric.limits().into_iter().map(Limit::label).collect()
            }),
        ],
    )
}

fn totals(totals: &[CounterTotal]) -> Objects<&CounterTotal> {
    Objects::new(
        totals,
        [
            ("counter", |total| (*total.name).into()),
            ("group", |total| total.group.map(|group| group.label()).into()),
            ("samples", |total| total.sample_count.into()),
            ("min", |total| total.counts.map(|counts| counts.min).into()),
            ("max", |total| total.counts.map(|counts| counts.max).into()),
            ("total", |total| total.counts.map(|counts| counts.total).into()),
            ("min_cycles", |total| total.cycles.map(|(min, _)| min).into()),
            ("max_cycles", |total| total.cycles.map(|(_, max)| max).into()),
        ],
    )
}
