//! `kprof diff`: shows which ops and zones are slower or faster in one recording than in another.

mod gaps;
mod junit;
mod lines;
mod recording;
mod show;
mod verdict;

use self::{
    lines::{Lines, LinesOfBoth},
    show::{Shown, show},
    verdict::Verdict,
};
use super::explain_limits::cost_sentence;
use crate::{
    failure::{Failure, note},
    input::joined,
    layout::row_limit,
    memory::MemoryArgs,
    output::print,
};
use clap::{ArgGroup, Args};
use host_reader::{
    diff::{
        Change, ColumnDiff, Diff, DiffOptions, Elapsed, Gate, Group, LimitCost, Measurements,
        RepetitionCounts, Shortfall, Side, UncomparedIterations, ZoneTimes,
    },
    export::TraceFilter,
    perf::WindowOptions,
};
pub(super) use recording::Recording;
#[cfg(feature = "mcp")]
pub(super) use recording::by_device;
use serde::Serialize;
#[cfg(feature = "mcp")]
pub(super) use show::differing;
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
};

/// Compare two recordings: ops and zones that became slower or faster.
///
/// A and B are each an ops CSV, a device log, a capture, or a folder with a log. The sequences of ops
/// are aligned for each device: equal ops first, then ops of the same kind and shapes, then ops of
/// the same kind, so a moved tensor, a trace or another version leaves them comparable. A kind that
/// replaces another one with the same shapes is compared with it. Each pair says what else differs. Zones are matched by name and source. The ratio is the geometric mean of the durations in B,
/// divided by the geometric mean of those in A. Its interval is Welch's t interval of the
/// difference between the mean logarithms of the durations. Repetitions are iterations of a model
/// or launches of a program. A zone that does not run as often in a kernel run of B as in one of A is compared by
/// the sum of a run, and the table has both numbers. Significance is adjusted for the number of ops (Benjamini-Hochberg),
/// because among hundreds of ops, some seem to change by chance. An op with a single repetition has
/// a ratio without an interval.
///
/// Repetitions within one recording share their circumstances: the chip's temperature, the
/// placement in memory, the other programs. With --more-a and --more-b, each recording is one
/// repetition, and the intervals show how much another recording may differ.
///
/// If A and B were recorded with --lines, the lines of source whose cycles have changed are shown,
/// unless --filter or further recordings are given.
///
/// Exit code: 0; 1 if --fail-above or --fail-below is exceeded by an op, a zone, an iteration with the
/// gaps between its ops, the ops that only one of them has, or, where ops run side by side, the time in which any
/// op runs; if less than half of the time of A or of B was compared, if both show iterations that do not do the
/// same work, or if more than half of its ops have no duration (unless only zones have one); 2 if A or B cannot
/// be read.
#[derive(Args, Debug)]
#[command(group = ArgGroup::new("limits").args(["fail_above", "fail_below"]).multiple(true))]
#[command(after_help = "Examples:
  What changed between two builds:
    kprof diff before/ops_perf_results.csv after/ops_perf_results.csv
  In CI, fail if an op or zone is slower by more than 5 percent:
    kprof diff main.kprof this.kprof --fail-above 5
  The same, but a few cycles of a short op do not count, and what became much faster is a finding:
    kprof diff main.csv this.csv --fail-above 2 --fail-below 10 --and-cycles 30 --junit perf.xml
  Only the zones of one kernel's reader:
    kprof diff a.kprof b.kprof --filter op=Matmul*,risc=ncrisc
  Several runs of each build, so that intervals include the variation between runs:
    kprof diff a1.kprof b1.kprof --more-a a2.kprof --more-a a3.kprof --more-b b2.kprof
  Which layer of a model became slower, whatever its ops are called:
    kprof diff a.kprof b.kprof --by module
  Everything, with a confidence level of 99 percent:
    kprof diff a.csv b.csv --all --confidence 99
  The largest significant slowdown:
    kprof diff a.kprof b.kprof --json |
      jq '[.changes[] | select(.certainty == \"significant\")] | max_by(.ratio)'")]
pub(crate) struct DiffArgs {
    /// Baseline recording.
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Recording to compare with the baseline.
    #[arg(value_name = "B")]
    b: PathBuf,
    /// Another baseline recording; repeat for more. With several recordings, each is one
    /// repetition.
    #[arg(long, value_name = "FILE")]
    more_a: Vec<PathBuf>,
    /// Another recording to compare; repeat for more.
    #[arg(long, value_name = "FILE")]
    more_b: Vec<PathBuf>,
    /// Exit with code 1 if an op or zone is slower by more than PCT percent (5 is 5 %, 0.05 is 0.05 %), unless the change is
    /// known to be insignificant, if an iteration with the gaps between its ops is, if ops that only B has add more than PCT percent to the time of A,
    /// or if too little was compared: less than half of the time, more than half of the ops
    /// without a duration, or iterations that do not do the same work.
    #[arg(long, value_name = "PCT", value_parser = parse_threshold, allow_negative_numbers = true)]
    fail_above: Option<f64>,
    /// Exit with code 1 if an op or zone is faster by more than PCT percent, if an iteration with the gaps
    /// between its ops is, or if ops that only A has
    /// take more than PCT percent of its time: the baseline is out of date, or B has not run it all.
    #[arg(long, value_name = "PCT", value_parser = parse_threshold, allow_negative_numbers = true)]
    fail_below: Option<f64>,
    /// A change fails only if it is also larger than N cycles of the device.
    #[arg(long, value_name = "N", value_parser = parse_cycles, requires = "limits")]
    and_cycles: Option<f64>,
    /// Do not fail if an iteration takes longer only because of the time between its ops, in which the
    /// device waits for the host, or if iterations cannot be compared.
    #[arg(long, requires = "limits")]
    ignore_gaps: bool,
    /// Also write the verdict on each op and zone as JUnit XML.
    #[arg(long, value_name = "FILE", requires = "limits")]
    junit: Option<PathBuf>,
    /// Of ops CSVs, compare only what follows the first signpost with this name. Without it, all rows
    /// are compared.
    #[arg(long, value_name = "NAME")]
    start_signpost: Option<String>,
    /// Of ops CSVs, compare only what precedes the first signpost with this name.
    #[arg(long, value_name = "NAME")]
    end_signpost: Option<String>,
    /// Confidence level of the intervals, in percent.
    #[arg(long, value_name = "PCT", default_value_t = 95.0, value_parser = parse_confidence)]
    confidence: f64,
    /// Launches, lanes and zones to compare, as filter terms; `kprof export --help` lists the
    /// terms. Repeat to add terms. Of ops CSVs, devices and ops. If ops are chosen, the time between ops is not
    /// compared.
    #[arg(long = "filter", value_name = "TERMS")]
    filters: Vec<TraceFilter>,
    /// Also compare the times of groups of ops by a column of their report: module, function or
    /// location of their call in Python, or any other. Groups are compared although their ops have
    /// other names or numbers.
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Also show insignificant changes.
    #[arg(long)]
    all: bool,
    /// Maximum number of rows per table; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = row_limit)]
    rows: usize,
    #[command(flatten)]
    memory: MemoryArgs,
    /// Instead of tables, print one JSON object with every op and zone.
    #[arg(long)]
    json: bool,
}

/// A limit below this percentage may be meant as a fraction, since durations vary more.
const DOUBTFUL_PERCENT: f64 = 0.1;

/// JSON output of the comparison.
#[derive(Serialize)]
struct Document<'a> {
    a: &'a Path,
    b: &'a Path,
    more_a: &'a [PathBuf],
    more_b: &'a [PathBuf],
    confidence_percent: f64,
    fail_above_percent: Option<f64>,
    fail_below_percent: Option<f64>,
    and_cycles: Option<f64>,
    ignore_gaps: bool,
    failed_count: usize,
    /// Number of devices on which an iteration with its gaps exceeds the limits.
    failed_elapsed_count: usize,
    /// What ops that only one side has change, in words, if it exceeds the limits.
    unpaired_finding: Option<&'a str>,
    /// How the time that ops share changes, in words, if it exceeds the limits.
    overlap_finding: Option<&'a str>,
    too_little_compared: Option<Shortfall>,
    /// Absent if the duration of any op is unknown.
    total_change_ns: Option<f64>,
    /// Change of the ops that were compared.
    compared_change_ns: Option<f64>,
    op_pair_count: usize,
    /// How often A and B launch each op in a row, if they repeat the same ops another number of times.
    repetitions: Option<RepetitionCounts>,
    /// Time of an iteration with its gaps, for each device on which both sides show it.
    elapsed: &'a [Elapsed],
    /// The other devices, and why it is not compared there.
    uncompared_iterations: &'a [UncomparedIterations],
    groups: &'a [Group],
    /// Time of the compared zones by device and RISC.
    zone_times: &'a [ZoneTimes],
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a ColumnDiff>,
    /// Cost of limits that B has lifted, if both are simulations of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<&'a LimitCost>,
    changes: &'a [Change],
    /// Lines of source, if both sides were recorded with `--lines`.
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<&'a LinesOfBoth>,
    other_devices: &'a [(Arc<str>, Arc<str>)],
    /// Clocks of A and B in MHz, if they differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    clocks_mhz: Option<(u32, u32)>,
    is_alignment_bounded: bool,
    in_a: &'a Side,
    in_b: &'a Side,
}

impl DiffArgs {
    fn shown(&self) -> Shown {
        Shown {
            all: self.all,
            rows: self.rows,
            confidence: self.confidence,
            has_more: [&self.more_a, &self.more_b].map(|more| !more.is_empty()),
        }
    }
}

/// Compares the recordings and prints the result.
pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode, Failure> {
    let sides = [open_all(&args.a, &args.more_a, args)?, open_all(&args.b, &args.more_b, args)?];
    let by = args.by.as_deref().map(|by| column_diff(&sides, by)).transpose()?;
    let simulated = sides.each_ref().map(|side| match side.as_slice() {
        [recording] => recording.simulated(),
        _ => None,
    });
    let filter = joined(&args.filters);
    let [a, b] = sides.map(|recordings| measurements_of(&recordings, &filter));
    let (a, b) = (a?, b?);
    for percent in [args.fail_above, args.fail_below].into_iter().flatten() {
        if percent > 0.0 && percent < DOUBTFUL_PERCENT {
            note!(
                "kprof: the limit is {percent} %; for {} %, write {}",
                percent * 100.0,
                percent * 100.0
            );
        }
    }
    let diff = Diff::new(&a, &b, DiffOptions { confidence: args.confidence / 100.0 });
    let gate = Gate {
        above_percent: args.fail_above,
        below_percent: args.fail_below,
        cycles: args.and_cycles,
        ignores_gaps: args.ignore_gaps,
    };
    let verdict = Verdict::new(&diff, gate);
    let limits = LimitCost::new((simulated[0].as_ref(), simulated[1].as_ref()), &diff);
    if let Some(path) = &args.junit {
        junit::write(path, &diff, &verdict)?;
    }
    let lines = lines_of_both(args)?;
    let document = args.json.then(|| Document {
        a: &args.a,
        b: &args.b,
        more_a: &args.more_a,
        more_b: &args.more_b,
        confidence_percent: args.confidence,
        fail_above_percent: args.fail_above,
        fail_below_percent: args.fail_below,
        and_cycles: args.and_cycles,
        ignore_gaps: args.ignore_gaps,
        failed_count: verdict.findings.len(),
        failed_elapsed_count: verdict.elapsed.len(),
        unpaired_finding: verdict.unpaired.as_deref(),
        overlap_finding: verdict.overlap.as_deref(),
        too_little_compared: gate.shortfall(&diff),
        total_change_ns: diff.change_ns(),
        compared_change_ns: diff.compared_change_ns(),
        op_pair_count: diff.op_pair_count,
        repetitions: diff.repetitions,
        elapsed: &diff.elapsed,
        uncompared_iterations: &diff.uncompared_iterations,
        groups: &diff.groups,
        zone_times: &diff.zone_times,
        by: by.as_ref(),
        limits: limits.as_ref(),
        changes: &diff.changes,
        lines: lines.both(),
        other_devices: &diff.other_devices,
        clocks_mhz: diff.clocks_mhz(),
        is_alignment_bounded: diff.is_alignment_bounded,
        in_a: &diff.a,
        in_b: &diff.b,
    });
    let cost = limits.as_ref().map(cost_sentence);
    print(document, |out| {
        show(&args.shown(), &diff, (by.as_ref(), cost.as_deref(), &lines), &verdict, out)
    })?;
    Ok(if verdict.is_failed() { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Compares two recordings as the command does without further options.
pub(super) fn compared(files: [&Path; 2], memory: &MemoryArgs) -> Result<Diff, Failure> {
    let window = WindowOptions::between(None, None);
    let [a, b] = files.map(|file| {
        let recording = Recording::open(file, &[], (memory, None, &window))?;
        measurements_of(&[recording], &TraceFilter::default())
    });
    Ok(Diff::new(&a?, &b?, DiffOptions::default()))
}

/// Measures the recordings of a side.
fn measurements_of(
    recordings: &[Recording],
    filter: &TraceFilter,
) -> Result<Measurements, Failure> {
    let measured = recordings.iter().map(Recording::measurements);
    let measured: Vec<_> = measured.collect::<Result<_, Failure>>()?;
    let mut measurements = Measurements::from_recordings(measured);
    if filter.keys_besides(&[]).contains(&"op") {
        measurements.forget_gaps();
    }
    measurements.retain_zones(|zone| filter.selects_zone(&zone.name));
    Ok(measurements)
}

fn open_all(first: &Path, more: &[PathBuf], args: &DiffArgs) -> Result<Vec<Recording>, Failure> {
    let files = std::iter::once(first).chain(more.iter().map(PathBuf::as_path));
    let window =
        WindowOptions::between(args.start_signpost.as_deref(), args.end_signpost.as_deref());
    let open =
        |file| Recording::open(file, &args.filters, (&args.memory, args.by.as_deref(), &window));
    files.map(open).collect()
}

/// Compares lines of source, which several recordings of one side or a filter leave out.
fn lines_of_both(args: &DiffArgs) -> Result<Lines, Failure> {
    let is_whole = args.more_a.is_empty() && args.more_b.is_empty() && args.filters.is_empty();
    if is_whole { Lines::of(&args.a, &args.b) } else { Ok(Lines::Neither) }
}

/// Groups the ops of both sides by the column that a user means by `asked`.
fn column_diff(sides: &[Vec<Recording>; 2], asked: &str) -> Result<ColumnDiff, Failure> {
    let [a, b] = sides.each_ref().map(|side| {
        let groups: Result<Vec<_>, _> = side.iter().map(|file| file.by_column(asked)).collect();
        groups.map(|groups| groups.into_iter().flatten().collect::<Vec<_>>())
    });
    Ok(ColumnDiff::new(&a?, &b?))
}

/// Parses the threshold for slower ops, in percent.
fn parse_threshold(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| format!("expected a percentage of at least 0, found `{text}`"))
}

/// Parses a number of cycles.
fn parse_cycles(text: &str) -> Result<f64, String> {
    let cycles = text.parse().ok().filter(|cycles: &f64| cycles.is_finite() && *cycles >= 0.0);
    cycles.ok_or_else(|| format!("expected a number of cycles of at least 0, found `{text}`"))
}

/// Parses a confidence level in percent.
pub(super) fn parse_confidence(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|&percent| percent > 0.0 && percent < 100.0);
    percent.ok_or_else(|| format!("expected a percentage between 0 and 100, found `{text}`"))
}
