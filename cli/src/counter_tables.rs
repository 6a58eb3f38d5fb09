//! Tables of hardware counters: metrics over all cores, limitations of the metrics, and the
//! counters.

use crate::{
    layout::write_columns,
    numbers::{counted, grouped, optional},
    op_names::OpNames,
    tables::program_label,
    terminal::{Style, styled},
};
use host_reader::{
    analysis::Launch,
    counters::{CounterTotal, Limit, MetricDoubt, MetricSummary, counters_of},
    readout::Readout,
    tables::{Field, Objects},
};
use serde::{Serialize, Serializer};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
};
use wire::RunHostId;

/// Hardware counters and metrics of all launches that have hardware counters.
#[derive(Default)]
pub(crate) struct CounterFindings(Vec<OpCounters>);

/// Hardware counters and metrics of one launch.
#[derive(Serialize)]
pub(crate) struct OpCounters {
    pub(crate) chip_id: u32,
    pub(crate) run_host_id: u32,
    trace_id: Option<u64>,
    trace_replay: Option<u64>,
    pub(crate) launch: u64,
    /// Metrics over the cores of the launch.
    #[serde(serialize_with = "serialize_metrics")]
    pub(crate) metrics: Vec<MetricSummary>,
    /// Counts of each counter.
    #[serde(rename = "counters", serialize_with = "serialize_totals")]
    pub(crate) totals: Vec<CounterTotal>,
    problems: BTreeMap<String, u64>,
}

impl CounterFindings {
    /// Computes the metrics of every launch with hardware counters.
    pub(crate) fn new(readout: &Readout, launches: &[Launch]) -> Self {
        let blackholes: BTreeSet<u32> = readout
            .devices
            .iter()
            .filter(|device| device.chip.arch.contains("blackhole"))
            .map(|device| device.chip.chip_id)
            .collect();
        let counters = counters_of(readout, launches).into_iter().filter_map(|counters| {
            let op = &launches.get(counters.launch)?.op;
            let problems = counters.problems.iter();
            Some(OpCounters {
                chip_id: op.chip_id,
                run_host_id: op.run_host_id,
                trace_id: op.trace_id,
                trace_replay: op.trace_replay,
                launch: op.launch,
                metrics: counters.counters.summaries(blackholes.contains(&op.chip_id)).collect(),
                totals: counters.totals(),
                problems: problems.map(|(problem, count)| (problem.to_string(), *count)).collect(),
            })
        });
        Self(counters.collect())
    }

    /// Writes the metrics, the limits of the metrics, and the counters.
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
            let [chip, program, launch] = op.cells();
            let name = names.program_name(op.chip_id, RunHostId(op.run_host_id));
            let [min, median, max, mean] = summary.statistics.map_or_else(
                || [(); 4].map(|()| optional(None)),
                |known| known.values().map(|value| format!("{value:.3}")),
            );
            "chip" => chip,
            "program" => program,
            "op" => name.unwrap_or_default(),
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
        self.write_doubts(out)?;
        limits.write(out)
    }

    /// Writes which metrics are in doubt, why, and in which programs.
    fn write_doubts(&self, out: &mut impl Write) -> std::io::Result<()> {
        let mut doubts: BTreeMap<(MetricDoubt, BTreeSet<&str>), Vec<String>> = BTreeMap::new();
        for op in &self.0 {
            let mut of_op: BTreeMap<MetricDoubt, BTreeSet<&str>> = BTreeMap::new();
            for summary in &op.metrics {
                if let Some(doubt) = summary.doubt {
                    of_op.entry(doubt).or_default().insert(summary.metric.label());
                }
            }
            let [chip, program, launch] = op.cells();
            let place = format!("launch {launch} of program {program} on chip {chip}");
            of_op.into_iter().for_each(|key| doubts.entry(key).or_default().push(place.clone()));
        }
        for ((doubt, metrics), places) in doubts {
            let metrics: Vec<&str> = metrics.into_iter().collect();
            let others = places.len().saturating_sub(NAMED_PLACES) as u64;
            let mut named = places.into_iter().take(NAMED_PLACES).collect::<Vec<_>>().join(", ");
            if others > 0 {
                named =
                    format!("{named} and {}", counted(others, "other launch", "other launches"));
            }
            writeln!(out, "In doubt: {}: {} ({named})", metrics.join(", "), doubt.label())?;
        }
        Ok(())
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
            let [chip, program, launch] = op.cells();
            "chip" => chip,
            "program" => program,
            "launch" => launch,
            "counter" => total.name,
            "group" => total.group.map_or("-", |group| group.label()),
            "read" => match total.usable_sample_count {
                usable if usable == 0 || usable == total.sample_count => grouped(total.sample_count),
                usable => format!("{} of {} usable", grouped(usable), grouped(total.sample_count)),
            },
            "min" => min,
            "max" => max,
            "of cycles" => cycles_text(total.cycles),
        })
    }

    /// Returns the number of counters that could not be read.
    #[cfg(feature = "mcp")]
    pub(crate) fn problem_count(&self) -> u64 {
        self.0.iter().flat_map(|op| op.problems.values()).sum()
    }

    /// Returns the metrics and counters of each launch.
    pub(crate) fn document(&self) -> &[OpCounters] {
        &self.0
    }
}

/// Most launches that a sentence about doubts names.
const NAMED_PLACES: usize = 4;

const NOT_OBSERVABLE: &str = "not observable";

impl OpCounters {
    /// Returns the cells that identify the launch: chip, program and launch number.
    fn cells(&self) -> [String; 3] {
        let trace = self.trace_id.zip(self.trace_replay);
        let program = program_label(self.run_host_id, trace);
        [self.chip_id.to_string(), program, self.launch.to_string()]
    }
}

fn cycles_text(cycles: Option<(u64, u64)>) -> String {
    match cycles {
        None => "unknown".to_owned(),
        Some((min, max)) if min == max => grouped(min),
        Some((min, max)) => format!("{}..{}", grouped(min), grouped(max)),
    }
}

/// Limitations of the shown metrics, such as events that a metric does not count. Tables refer to
/// each limitation by a letter.
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

fn serialize_metrics<S: Serializer>(
    summaries: &[MetricSummary],
    out: S,
) -> Result<S::Ok, S::Error> {
    let fields: [Field<&MetricSummary>; 10] = [
        ("metric", |summary| summary.metric.label().into()),
        ("unit", |summary| summary.metric.unit().into()),
        ("cores", |summary| summary.core_count.into()),
        ("min", |summary| summary.statistics.map(|known| known.min).into()),
        ("median", |summary| summary.statistics.map(|known| known.median).into()),
        ("max", |summary| summary.statistics.map(|known| known.max).into()),
        ("mean", |summary| summary.statistics.map(|known| known.mean).into()),
        ("is_doubtful", |summary| summary.doubt.is_some().into()),
        ("doubt", |summary| summary.doubt.map(MetricDoubt::label).into()),
        ("cannot_see", |summary| summary.metric.limits().into_iter().map(Limit::label).collect()),
    ];
    Objects::new(summaries, fields).serialize(out)
}

fn serialize_totals<S: Serializer>(totals: &[CounterTotal], out: S) -> Result<S::Ok, S::Error> {
    let fields: [Field<&CounterTotal>; 9] = [
        ("counter", |total| (*total.name).into()),
        ("group", |total| total.group.map(|group| group.label()).into()),
        ("samples", |total| total.sample_count.into()),
        ("usable_samples", |total| total.usable_sample_count.into()),
        ("min", |total| total.counts.map(|counts| counts.min).into()),
        ("max", |total| total.counts.map(|counts| counts.max).into()),
        ("total", |total| total.counts.map(|counts| counts.total).into()),
        ("min_cycles", |total| total.cycles.map(|(min, _)| min).into()),
        ("max_cycles", |total| total.cycles.map(|(_, max)| max).into()),
    ];
    Objects::new(totals, fields).serialize(out)
}
