//! `kprof diff`: shows which ops and zones are slower or faster in one recording than in another.

use crate::{
    failure::{Failure, OrFail, failure, note},
    input::{joined, open_runs, retain},
    layout::{lines_of, row_limit, table},
    numbers::{counted, grouped},
    output::print,
    terminal::{LONGEST_NAME, printable},
    wrong_file::is_ops_csv,
};
use clap::Args;
use host_reader::{
    diff::{Certainty, Change, Diff, DiffOptions, MeasuredKind, Measurements, Side},
    export::{Recording as Run, TraceFilter},
    perf::{PerfOptions, PerfReport, RepetitionRule, read_ops_csv},
};
use serde::Serialize;
use std::{
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Compare two recordings: ops and zones that became slower or faster.
///
/// A and B are each an ops CSV, a device log, a capture, or a folder with a log. Ops and zones are
/// matched by name, source and order. The ratio is the geometric mean of the durations in B,
/// divided by the geometric mean of those in A. Its interval is Welch's t interval of the
/// difference between the mean logarithms of the durations. Repetitions are iterations of a model
/// or launches of a program. Significance is adjusted for the number of ops (Benjamini-Hochberg),
/// because among hundreds of ops, some seem to change by chance. An op with a single repetition has
/// a ratio without an interval.
///
/// Repetitions within one recording share their circumstances: the chip's temperature, the
/// placement in memory, the other programs. With --more-a and --more-b, each recording is one
/// repetition, and the intervals show how much another recording may differ.
///
/// Exit code: 0; 1 if --fail-above is exceeded; 2 if A or B cannot be read.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  What changed between two builds:
    kprof diff before/ops_perf_results.csv after/ops_perf_results.csv
  In CI, fail if an op or zone is slower by more than 5 percent:
    kprof diff main.kprof this.kprof --fail-above 5
  Only the zones of one kernel's reader:
    kprof diff a.kprof b.kprof --filter op=Matmul*,risc=ncrisc
  Several runs of each build, so that intervals include the variation between runs:
    kprof diff a1.kprof b1.kprof --more-a a2.kprof --more-a a3.kprof --more-b b2.kprof
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
    /// Exit with code 1 if an op or zone is slower by more than PCT percent, unless the change is
    /// known to be insignificant.
    #[arg(long, value_name = "PCT", value_parser = parse_threshold)]
    fail_above: Option<f64>,
    /// Confidence level of the intervals, in percent.
    #[arg(long, value_name = "PCT", default_value_t = 95.0, value_parser = parse_confidence)]
    confidence: f64,
    /// Launches, lanes and zones to compare, as filter terms; `kprof export --help` lists the
    /// terms. Repeat to add terms.
    #[arg(long = "filter", value_name = "TERMS")]
    filters: Vec<TraceFilter>,
    /// Also show insignificant changes.
    #[arg(long)]
    all: bool,
    /// Maximum number of rows per table; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = row_limit)]
    rows: usize,
    /// Instead of tables, print one JSON object with every op and zone.
    #[arg(long)]
    json: bool,
}

/// JSON output of the comparison.
#[derive(Serialize)]
struct Document<'a> {
    a: &'a Path,
    b: &'a Path,
    more_a: &'a [PathBuf],
    more_b: &'a [PathBuf],
    confidence_percent: f64,
    fail_above_percent: Option<f64>,
    failed_count: usize,
    changes: &'a [Change],
    in_a: &'a Side,
    in_b: &'a Side,
}

/// Compares the recordings and prints the result.
pub(crate) fn run(args: &DiffArgs) -> Result<ExitCode, Failure> {
    let sides = [
        Recording::open_all(&args.a, &args.more_a, &args.filters)?,
        Recording::open_all(&args.b, &args.more_b, &args.filters)?,
    ];
    let pools = sides.iter().flatten().any(Recording::has_no_iterations);
    let filter = joined(&args.filters);
    let [a, b] = sides.map(|recordings| {
        let measured = recordings.iter().map(|recording| recording.measurements(pools));
        let mut measurements = Measurements::from_recordings(measured);
        measurements
            .retain(|item| item.kind != MeasuredKind::Zone || filter.selects_zone(&item.name));
        measurements
    });
    let diff = Diff::new(&a, &b, DiffOptions { confidence: args.confidence / 100.0 });
    let is_failed =
        |change: &&Change| args.fail_above.is_some_and(|percent| change.is_slower_by(percent));
    let failed_count = diff.changes.iter().filter(is_failed).count();
    let document = args.json.then(|| Document {
        a: &args.a,
        b: &args.b,
        more_a: &args.more_a,
        more_b: &args.more_b,
        confidence_percent: args.confidence,
        fail_above_percent: args.fail_above,
        failed_count,
        changes: &diff.changes,
        in_a: &diff.a,
        in_b: &diff.b,
    });
    print(document, |out| show(args, &diff, failed_count, out))?;
    Ok(if failed_count > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Content of one input file of the comparison.
enum Recording {
    Ops(Box<PerfReport>),
    Runs(Vec<Run>),
}

impl Recording {
    fn open_all(
        first: &Path,
        more: &[PathBuf],
        filters: &[TraceFilter],
    ) -> Result<Vec<Self>, Failure> {
        let files = std::iter::once(first).chain(more.iter().map(PathBuf::as_path));
        files.map(|file| Self::open(file, filters)).collect()
    }

    fn open(path: &Path, filters: &[TraceFilter]) -> Result<Self, Failure> {
        if !is_ops_csv(path) {
            let mut runs = open_runs(path)?;
            for run in &mut runs {
                retain(run, filters)?;
            }
            return Ok(Self::Runs(runs));
        }
        if !filters.is_empty() {
            let path = path.display();
            return Err(failure!(
                "--filter is for device logs and captures; {path} is an ops CSV, for which \
                 `kprof perf` has a filter"
            ));
        }
        let file = File::open(path).or_fail_at(path)?;
        let csv = read_ops_csv(file, &path.display().to_string()).or_fail()?;
        let report = PerfReport::new(vec![csv], &PerfOptions::default()).or_fail_at(path)?;
        for problem in &report.problems {
            note!("kprof: {problem}");
        }
        Ok(Self::Ops(Box::new(report)))
    }

    /// Returns true for an ops CSV with only one iteration. Ops with the same name and source then
    /// count as repetitions.
    fn has_no_iterations(&self) -> bool {
        matches!(self, Self::Ops(report) if has_no_iterations(report))
    }

    fn measurements(&self, pools: bool) -> Measurements {
        let runs = match self {
            Self::Ops(report) => return Measurements::from_report(report, pools),
            Self::Runs(runs) => runs,
        };
        let mut all = Measurements::default();
        for run in runs {
            for source in run.readout.losses.uncounted().filter(|source| source.is_failure()) {
                note!("kprof: more records may be lost: {}", source.label());
            }
            all.append(Measurements::from_recording(run));
        }
        all
    }
}

/// Returns true if all rows of an ops CSV belong to one iteration.
pub(super) fn has_no_iterations(report: &PerfReport) -> bool {
    report.iterations.rule == RepetitionRule::SameProgram
}

fn show(
    args: &DiffArgs,
    diff: &Diff,
    failed_count: usize,
    out: &mut impl Write,
) -> std::io::Result<()> {
    let shown: Vec<&Change> =
        diff.changes.iter().filter(|change| args.all || change.is_noteworthy()).collect();
    let [significant, single, insignificant] =
        [Certainty::Significant, Certainty::SingleRepetition, Certainty::NotSignificant].map(
            |certainty| {
                let changes = diff.changes.iter();
                grouped(changes.filter(|change| change.certainty == certainty).count() as u64)
            },
        );
    writeln!(
        out,
        "{} in both: {} changed significantly, {} with a single repetition, {} without a \
         significant change at {} %",
        counted(diff.changes.len() as u64, "op or zone", "ops and zones"),
        significant,
        single,
        insignificant,
        args.confidence,
    )?;
    if !shown.is_empty() {
        write_changes(args, &shown, out)?;
    }
    write_advice(args, diff, out)?;
    write_side("A", args.rows, &diff.a, out)?;
    write_side("B", args.rows, &diff.b, out)?;
    if let Some(percent) = args.fail_above {
        let slower = counted(failed_count as u64, "op or zone is", "ops and zones are");
        writeln!(out, "\n{slower} slower by more than {percent} %")?;
    }
    Ok(())
}

fn write_changes(args: &DiffArgs, shown: &[&Change], out: &mut impl Write) -> std::io::Result<()> {
    let rows = args.rows;
    let mut changes = table(&[
        "kind", "where", "name", "source", "A ns", "B ns", "n A", "n B", "B/A", "interval", "p",
        "verdict",
    ]);
    for change in shown.iter().take(rows) {
        changes.add_row(cells(change));
    }
    writeln!(out)?;
    for line in lines_of(&mut changes) {
        writeln!(out, "{line}")?;
    }
    if shown.len() > rows {
        let rest = (shown.len() - rows) as u64;
        writeln!(out, "... and {}; --rows 0 shows all", counted(rest, "row", "rows"))?;
    }
    Ok(())
}

fn cells(change: &Change) -> [String; 12] {
    let interval =
        change.interval.map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:.4}-{high:.4}"));
    let p_value = change.adjusted_p_value.map_or_else(|| "-".to_owned(), |p| format!("{p:.2e}"));
    let verdict = match (change.certainty, change.ratio > 1.0) {
        (Certainty::Significant, true) => "slower",
        (Certainty::Significant, false) => "faster",
        (Certainty::SingleRepetition, _) => "single repetition",
        (Certainty::NotSignificant, _) => "",
    };
    [
        change.kind.label().to_owned(),
        printable(&change.place, LONGEST_NAME),
        printable(&change.name, LONGEST_NAME),
        shortened(&change.source),
        format!("{:.1}", change.a_geometric_mean_ns),
        format!("{:.1}", change.b_geometric_mean_ns),
        change.a_ns.count.to_string(),
        change.b_ns.count.to_string(),
        format!("{:.4}", change.ratio),
        interval,
        p_value,
        verdict.to_owned(),
    ]
}

/// If A or B is a single recording, prints what the comparison cannot show, and which options add
/// recordings.
fn write_advice(args: &DiffArgs, diff: &Diff, out: &mut impl Write) -> std::io::Result<()> {
    if !(args.more_a.is_empty() || args.more_b.is_empty()) || diff.changes.is_empty() {
        return Ok(());
    }
    let (which, options) = match (args.more_a.is_empty(), args.more_b.is_empty()) {
        (true, true) => ("of each side", "--more-a and --more-b"),
        (true, false) => ("of A", "--more-a"),
        _ => ("of B", "--more-b"),
    };
    writeln!(
        out,
        "\nOne recording {which} does not show how much recordings vary; {options} add others"
    )
}

/// Returns a source location of at most 40 characters. A longer location loses its beginning,
/// because its end contains file and line.
fn shortened(source: &str) -> String {
    const LONGEST: usize = 40;
    let count = source.chars().count();
    if count <= LONGEST {
        return printable(source, LONGEST);
    }
    let end: String = source.chars().skip(count - LONGEST + 1).collect();
    printable(&format!("…{end}"), LONGEST)
}

fn write_side(name: &str, rows: usize, side: &Side, out: &mut impl Write) -> std::io::Result<()> {
    let only = side.only_here.len();
    writeln!(
        out,
        "\nOnly in {name}: {} of {}",
        grouped(only as u64),
        grouped(side.item_count as u64)
    )?;
    for (kind, place, item, source) in side.only_here.iter().take(rows) {
        let (item, place) = (printable(item, LONGEST_NAME), printable(place, LONGEST_NAME));
        writeln!(out, "  {} {item} on {place} {}", kind.label(), shortened(source))?;
    }
    if only > rows {
        writeln!(out, "  ... and {} more", grouped((only - rows) as u64))?;
    }
    let skipped: Vec<_> = side
        .skipped
        .iter()
        .map(|(reason, count)| format!("{} {reason}", grouped(*count)))
        .collect();
    let skipped = if skipped.is_empty() { "nothing".to_owned() } else { skipped.join(", ") };
    writeln!(out, "Skipped in {name}: {skipped}")
}

/// Parses the threshold for slower ops, in percent.
fn parse_threshold(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|percent: &f64| percent.is_finite() && *percent >= 0.0);
    percent.ok_or_else(|| format!("expected a percentage of at least 0, found `{text}`"))
}

/// Parses a confidence level in percent.
pub(super) fn parse_confidence(text: &str) -> Result<f64, String> {
    let percent = text.parse().ok().filter(|&percent| percent > 0.0 && percent < 100.0);
    percent.ok_or_else(|| format!("expected a percentage between 0 and 100, found `{text}`"))
}
