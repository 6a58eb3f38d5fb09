//! `kprof explain`: explains slowness in at most ten sentences, and shows where the time went.

use super::{
    explain_limits::{costs, write_costs},
    explain_lines::{LineShare, lines_of},
    memory::launches_of,
    perf,
};
use crate::{
    by_column::{no_such_column, write_by_column},
    failure::{Failure, OrFail, failure, note},
    file_kind::{EXPLAINED, FileKind, has_records, is_ops_csv},
    folders::{newest_recording, note_simulations},
    input::{describe, joined, open_packed, retain, unpacked},
    layout::{row_limit, table, write_columns, write_table},
    memory::MemoryArgs,
    numbers::{counted, decimal, grouped, optional},
    output::{has_failed, print},
    progress::Busy,
    terminal::{LONGEST_NAME, Style, printable, styled},
};
use clap::Args;
use host_reader::{
    causes::{
        Explanation, Finding, GroupBound, NoCause, OpCodeGroup, Phase, Scope, TimeClass, TimeSplit,
        WaitEvidence, Window,
    },
    diff::LimitCost,
    export::TraceFilter,
    op_memory::usage_of,
    perf::{LimitKind, PerfOptions, PerfReport, WindowOptions, peak_share_text},
    readout::Readout,
    recording::{Opened, device_perf_report, newest_ops_csv},
};
use serde::Serialize;
use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Explain in at most ten sentences why a program is slow, and show where the time went.
///
/// Each sentence gives a figure, a location, the maximum gain, and what to try. Sentences with the
/// largest gain come first. docs/explain.md describes the rules, their thresholds and their limits.
/// The output also lists the questions that the recording cannot answer, and for each of them the
/// kind of recording that can.
///
/// Waits of kernels can be explained only from a capture with records of waits. Logs and ops CSVs
/// show only gaps between ops, cores that start or end late, short ops, and ops that take much
/// longer than their tensor shapes require. If ops repeat, the last iteration is explained.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof explain                                  generated/profiler
  kprof explain matmul.kprof --filter op=3..9
  kprof explain ops_perf_results_2026_01_30.csv
  kprof explain run.kprof --by module            which layer of the model takes the time
  kprof explain run.kprof --json | jq '.findings[0].sentence'

Exit code: 0; 1 if --fail-on-loss is given and records were lost; 2 if the input cannot be used.")]
pub(crate) struct ExplainArgs {
    /// Device log, capture, folder with tt-metal's logs, or ops CSV; - reads a device log from
    /// standard input. Default: TT_METAL_PROFILER_DIR, else generated/profiler in TT_METAL_HOME or
    /// in the current folder, or generated/kprof if `kprof run` wrote a newer recording there.
    #[arg(
        value_name = "INPUT",
        default_value_os_t = newest_recording(),
        hide_default_value = true
    )]
    input: PathBuf,
    /// Launches and lanes to explain, as filter terms, which `kprof export --help` lists; repeat to
    /// add terms.
    /// Ops CSVs take device and op only.
    #[arg(long = "filter", value_name = "TERMS")]
    filters: Vec<TraceFilter>,
    /// Maximum number of rows per table; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = row_limit)]
    rows: usize,
    /// Also show what limits of the chip cost, by a recording of the same program that was simulated
    /// without them (--what-if); repeat for more.
    #[arg(long, value_name = "FILE")]
    without: Vec<PathBuf>,
    /// Part to explain: the last iteration, or the whole recording.
    #[arg(long, value_name = "WINDOW", default_value = "steady")]
    window: WindowArg,
    /// Of an ops CSV, explain only what follows the first signpost with this name.
    #[arg(long, value_name = "NAME")]
    start_signpost: Option<String>,
    /// Of an ops CSV, explain only what precedes the first signpost with this name.
    #[arg(long, value_name = "NAME")]
    end_signpost: Option<String>,
    /// Also group the explained ops by a column of their report: module, function or location of
    /// their call in Python, or any other, such as LOC.
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// Print JSON instead of sentences: one object, or one line per run of a capture.
    #[arg(long)]
    json: bool,
    /// Exit with code 1 if records were lost, other than those that an option gave up on purpose.
    #[arg(long)]
    fail_on_loss: bool,
    #[command(flatten)]
    memory: MemoryArgs,
}

/// Part of a recording to explain.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum WindowArg {
    /// The last iteration, or the whole recording if nothing repeats, or if iterations have little of
    /// the kernels' time.
    Steady,
    /// The last iteration, whatever its part of the time.
    Last,
    /// The whole recording.
    All,
}

impl From<WindowArg> for Window {
    fn from(window: WindowArg) -> Self {
        match window {
            WindowArg::Steady => Self::Steady,
            WindowArg::Last => Self::Last,
            WindowArg::All => Self::All,
        }
    }
}

impl ExplainArgs {
    fn scope(&self) -> Scope<'_> {
        Scope { window: self.window.into(), by: self.by.as_deref() }
    }

    /// Returns the rows of an ops CSV that are explained.
    fn rows_between(&self) -> WindowOptions {
        let rows =
            WindowOptions::between(self.start_signpost.as_deref(), self.end_signpost.as_deref());
        // Signposts between them may mark iterations.
        WindowOptions { keeps_signposts: true, ..rows }
    }
}

/// Explanation of one run, and the input from which the run was read.
#[derive(Serialize)]
struct Document<'a> {
    input: String,
    /// Number of the run in the input; the first run has number 1.
    run: usize,
    title: &'a str,
    #[serde(flatten)]
    explanation: &'a Explanation,
    /// Lines that take a large part of kernels, if the simulator counted them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    lines: &'a [LineShare],
    /// Costs of limits, by simulations without them.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    limits: &'a [LimitCost],
}

/// What other files say of a recording.
#[derive(Clone, Copy)]
struct Others<'a> {
    lines: &'a [LineShare],
    limits: &'a [LimitCost],
}

/// Reads the input, explains it and prints the result.
pub(crate) fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    note_simulations(&args.input);
    let kind = FileKind::from_path(&args.input);
    if matches!(kind, FileKind::Unread(_) | FileKind::NocTrace | FileKind::Absent) {
        return Err(EXPLAINED.instead(&args.input, failure!("expected a recording")));
    }
    // One table for all runs of a capture.
    let lines = lines_of(&args.input)?;
    let limits = costs(&args.input, &args.without, (&args.filters, &args.memory))?;
    let others = Others { lines: &lines, limits: &limits };
    if let Some(csv) = ops_csv(&args.input) {
        let rows = args.rows_between();
        let report = report_csv_with(&csv, &args.filters, (args.by.as_deref(), &rows))?;
        for note in report.window_notes(&rows) {
            note!("kprof: {}: {note}", csv.display());
        }
        if report.totals.device_op_count == 0 && !rows.ignores_signposts {
            let between = [("after", &args.start_signpost), ("before", &args.end_signpost)];
            let between = between.iter().filter_map(|(side, name)| {
                Some(format!("{side} the signpost {}", name.as_deref()?))
            });
            return Err(failure!(
                "{}: expected ops {}, found none; kprof perf --ignore-signposts --print-signposts shows the \
                 signposts among all rows",
                csv.display(),
                between.collect::<Vec<_>>().join(" and ")
            ));
        }
        let name = csv.file_name().unwrap_or_default().to_string_lossy();
        let title = format!("{name}, {}", counted(report.totals.device_op_count, "op", "ops"));
        if let Some(asked) = args.by.as_deref().filter(|by| report.column(by).is_none()) {
            return Err(no_such_column(asked, &report.titles, &csv.display().to_string()));
        }
        show(args, (1, &title), &Explanation::from_perf_window(&report, args.scope()), others)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !args.rows_between().ignores_signposts {
        return Err(failure!(
            "--start-signpost and --end-signpost are for ops CSVs; of {}, --filter chooses what is explained",
            args.input.display()
        ));
    }
    let mut has_failures = false;
    let is_lost = |readout: &Readout, explanation: &Explanation| {
        let anomaly_count = readout.anomalies.anomaly_count();
        has_failed(&readout.losses, anomaly_count, &explanation.full_buffers)
    };
    match open_packed(&args.input, &args.memory.packed())? {
        Opened::Log(log) if joined(&args.filters).is_empty() => {
            let busy = Busy::new("looking for causes");
            let explained = Explanation::from_log_window(*log, args.scope());
            drop(busy);
            let (run, explanation) = explained.or_fail()?;
            show_run(args, 1, (&run.readout, others), &explanation)?;
            has_failures = args.fail_on_loss && is_lost(&run.readout, &explanation);
        }
        opened => {
            let runs = unpacked(opened)?.recordings;
            // Launch messages are of the whole process: they belong to the only run.
            let mut launches = if runs.len() == 1 { launches_of(&args.input)? } else { Vec::new() };
            for (number, mut run) in (1..).zip(runs) {
                retain(&mut run, &args.filters)?;
                let mut explanation = Explanation::from_recording_window(&run, args.scope());
                explanation.add_memory(&usage_of(&run, std::mem::take(&mut launches)));
                show_run(args, number, (&run.readout, others), &explanation)?;
                has_failures |= args.fail_on_loss && is_lost(&run.readout, &explanation);
            }
        }
    }
    Ok(if has_failures { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Returns the ops CSV at the path: the file itself or, in a folder without device logs or
/// captures, the newest ops CSV or TT-Metal's report on the device.
pub(super) fn ops_csv(path: &Path) -> Option<PathBuf> {
    if is_ops_csv(path) {
        return Some(path.to_owned());
    }
    if path.is_dir() && !has_records(path) {
        newest_ops_csv(path)
            .inspect(|csv| perf::note_others(csv))
            .or_else(|| device_perf_report(path))
    } else {
        None
    }
}

/// Reads an ops CSV, and returns the report from which causes are derived.
pub(super) fn report_csv(path: &Path, filters: &[TraceFilter]) -> Result<PerfReport, Failure> {
    report_csv_with(path, filters, (None, &WindowOptions::all_rows()))
}

fn report_csv_with(
    path: &Path,
    filters: &[TraceFilter],
    (by, window): (Option<&str>, &WindowOptions),
) -> Result<PerfReport, Failure> {
    let _busy = Busy::new(format!("reading {}", path.display()));
    let options = PerfOptions {
        filter: perf::filter(filters)?,
        window: window.clone(),
        ..Explanation::report_options()
    };
    PerfReport::new(vec![perf::open(path, by)?], &options).or_fail()
}

fn show_run(
    args: &ExplainArgs,
    number: usize,
    (readout, others): (&Readout, Others<'_>),
    explanation: &Explanation,
) -> Result<(), Failure> {
    let title = describe(readout);
    let launches = counted(explanation.ops.len() as u64, "launch", "launches");
    show(args, (number, &format!("{title}, {launches}")), explanation, others)
}

fn show(
    args: &ExplainArgs,
    (number, title): (usize, &str),
    explanation: &Explanation,
    Others { lines, limits }: Others<'_>,
) -> Result<(), Failure> {
    let input = args.input.display().to_string();
    if let Some(asked) = args.by.as_deref().filter(|_| explanation.by.is_none()) {
        return Err(no_such_column(asked, &[], &format!("the ops of {input}")));
    }
    let document = Document { input, run: number, title, explanation, lines, limits };
    print(args.json.then_some(document), |out| {
        if number > 1 {
            writeln!(out)?;
        }
        writeln!(out, "{}", styled(&printable(title, LONGEST_TITLE), Style::Bold))?;
        write_explanation(explanation, args.rows, out)?;
        write_costs(limits, args.rows, out)?;
        let sentences = explanation.l1_rooms.iter().map(|room| &*room.sentence);
        write_sentences(ROOMS_TITLE, sentences, args.rows, out)?;
        let sentences = lines.iter().map(|line| &*line.sentence);
        write_sentences(LINES_TITLE, sentences, args.rows, out)
    })
}

/// Maximum number of characters in a title.
const LONGEST_TITLE: usize = 200;
/// Maximum number of characters in a sentence, which may name several ops.
const LONGEST_SENTENCE: usize = 400;

fn write_explanation(
    explanation: &Explanation,
    rows: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out)?;
    if let Some(sentence) = &explanation.simulated {
        writeln!(out, "{}\n", printable(sentence, LONGEST_SENTENCE))?;
    }
    if let Some(sentence) = &explanation.window {
        writeln!(out, "{sentence}\n")?;
    }
    for sum in &explanation.time_sums {
        writeln!(out, "{sum}\n")?;
    }
    if let Some(sentence) = &explanation.described_by {
        writeln!(out, "{}\n", printable(sentence, LONGEST_SENTENCE))?;
    }
    if let Some(sentences) = &explanation.noc_events {
        writeln!(out, "{}.\n", printable(sentences, LONGEST_SENTENCE))?;
    }
    for sentence in [&explanation.counters, &explanation.kernels].into_iter().flatten() {
        writeln!(out, "{}\n", printable(sentence, LONGEST_SENTENCE))?;
    }
    for sentence in &explanation.unreplayed_traces {
        writeln!(out, "{sentence}\n")?;
    }
    if let Some(no_cause) = &explanation.no_cause {
        write_no_cause(no_cause, out)?;
    }
    for (number, finding) in (1..).zip(&explanation.findings) {
        write_finding((number, finding), &explanation.gain_text(finding), out)?;
    }
    if !explanation.untold.is_empty() {
        writeln!(out, "\nUnknown from this recording\n")?;
    }
    for untold in &explanation.untold {
        writeln!(out, "   {}: {}", untold.question, untold.reason)?;
        writeln!(out, "      record {}", untold.record_with)?;
    }
    if let Some(by) = &explanation.by {
        write_by_column(by, rows, out)?;
    }
    write_groups(&explanation.groups, rows, out)?;
    write_devices(explanation, rows, out)?;
    write_phases(&explanation.phases, rows, out)?;
    write_sync(explanation, out)?;
    let not_used = explanation.not_used.iter().map(String::as_str);
    write_sentences("Not used, or in doubt", not_used, rows, out)
}

/// Title of the sentences about the room of L1.
const ROOMS_TITLE: &str = "Room in L1 for the tensors that the longest ops have in DRAM";

/// Title of the sentences about lines of source.
const LINES_TITLE: &str = "Lines that take most of a RISC's kernels, of all recorded launches";

/// Writes sentences below a title; nothing if there are none.
fn write_sentences<'a>(
    title: &str,
    sentences: impl ExactSizeIterator<Item = &'a str>,
    rows: usize,
    out: &mut impl Write,
) -> io::Result<()> {
    let count = sentences.len();
    if count == 0 {
        return Ok(());
    }
    writeln!(out, "\n{title}\n")?;
    for sentence in sentences.take(rows) {
        writeln!(out, "   {}", printable(sentence, LONGEST_SENTENCE))?;
    }
    match count.saturating_sub(rows) {
        0 => Ok(()),
        more => writeln!(out, "   {} more, which --rows 0 shows", grouped(more as u64)),
    }
}

fn write_no_cause(no_cause: &NoCause, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", styled(&printable(&no_cause.sentence, LONGEST_SENTENCE), Style::Bold))?;
    for fact in &no_cause.measured {
        writeln!(out, "   measured: {}", printable(fact, LONGEST_SENTENCE))?;
    }
    if !no_cause.location.is_empty() {
        writeln!(out, "   where: {}", printable(&no_cause.location, LONGEST_SENTENCE))?;
    }
    writeln!(out, "   record next: {}", no_cause.record_next)
}

fn write_finding(
    (number, finding): (usize, &Finding),
    gain: &str,
    out: &mut impl Write,
) -> io::Result<()> {
    let sentence = printable(&finding.sentence, LONGEST_SENTENCE);
    writeln!(out, "{number}. {}", styled(&sentence, Style::Bold))?;
    for fact in &finding.why {
        writeln!(out, "   why: {}", printable(fact, LONGEST_SENTENCE))?;
    }
    if !finding.location.is_empty() {
        writeln!(out, "   where: {}", printable(&finding.location, LONGEST_SENTENCE))?;
    }
    writeln!(out, "   rests on: {}", finding.rests_on)?;
    writeln!(out, "   to gain: {gain}")?;
    writeln!(out, "   try: {}", finding.advice)
}

/// Writes a row for each op code: the time of its ops, and the limits that follow from their
/// shapes.
fn write_groups(groups: &[OpCodeGroup], rows: usize, out: &mut impl Write) -> io::Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nWhere the kernels' time went, and against which limit\n")?;
    // The NoC column is omitted unless NoC events were recorded.
    let has_noc = groups.iter().any(|group| group.noc_percent.is_some());
    let mut titles = vec!["op", "ops", "kernels ns", "%", "FLOPs %", "DRAM %"];
    titles.extend(has_noc.then_some("NoC %"));
    titles.extend(["bound", "limit ns", "x limit", "cores"]);
    let mut shown = table(&titles);
    for group in groups.iter().take(rows) {
        shown.add_row(group_cells(group, has_noc));
    }
    write_table(&mut shown, groups.len(), rows, out)?;
    let shown = || groups.iter().take(rows);
    let unknown = [
        ("FLOPs %", shown().any(|group| group.flops_percent.is_none())),
        (
            "DRAM %",
            shown().any(|group| group.dram_percent.or(group.dram_at_most_percent).is_none()),
        ),
        ("bound, limit", shown().any(|group| group.exact_limit_ns().is_none())),
    ];
    let unknown: Vec<&str> =
        unknown.iter().filter_map(|(title, is_unknown)| is_unknown.then_some(*title)).collect();
    if !unknown.is_empty() {
        writeln!(
            out,
            "- of {}: no model of the op, or none of all that it does",
            unknown.join(", ")
        )?;
    }
    Ok(())
}

/// Returns the cells of an op code's row in the order of the titles; a dash means unknown.
fn group_cells(group: &OpCodeGroup, has_noc: bool) -> Vec<String> {
    let mut cells = vec![
        printable(&group.op, LONGEST_NAME),
        grouped(group.op_count as u64),
        format!("{:.0}", group.duration_ns),
        format!("{:.1}", group.percent),
        decimal(group.flops_percent),
        dram_cell(group),
    ];
    let least = if group.is_noc_lower_bound { ">= " } else { "" };
    cells.extend(has_noc.then(|| format!("{least}{}", decimal(group.noc_percent))));
    let cores = match group.least_core_count.zip(group.most_core_count) {
        Some((least, most)) if least < most => Some(format!("{least} to {most}")),
        cores => cores.map(|(_, most)| most.to_string()),
    };
    let cores = match (cores, group.available_core_count) {
        (Some(cores), Some(available)) => format!("{cores} of {available}"),
        (cores, _) => cores.unwrap_or_else(|| "-".to_owned()),
    };
    cells.extend([
        group.bound.map_or("-", GroupBound::label).to_owned(),
        group.limit_ns.map_or_else(
            || "-".to_owned(),
            |ns| match group.limit_kind {
                LimitKind::LowerBound => format!(">= {ns:.0}"),
                LimitKind::Exact | LimitKind::Unknown => format!("{ns:.0}"),
            },
        ),
        decimal(group.exact_limit_ns().map(|ns| group.duration_ns / ns)),
        cores,
    ]);
    cells
}

/// Returns the share of the peak DRAM bandwidth, as a range if not all bytes are known.
fn dram_cell(group: &OpCodeGroup) -> String {
    let share = |percent: f64| peak_share_text(percent, false, "");
    match (group.dram_percent, group.dram_at_most_percent) {
        (Some(least), Some(most)) => match (share(least), share(most)) {
            (least, most) if least == most => least,
            (least, most) => format!("{least} to {most}"),
        },
        (None, Some(most)) => format!("<= {}", share(most)),
        (Some(least), None) => peak_share_text(least, group.is_dram_lower_bound, ""),
        (None, None) => decimal(None),
    }
}

fn write_devices(explanation: &Explanation, rows: usize, out: &mut impl Write) -> io::Result<()> {
    if explanation.devices.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nWhere the time of each chip went, in %\n")?;
    let titles = titles_with(&["chip", "total ns"]);
    let mut shown = table(&titles);
    for device in explanation.devices.iter().take(rows) {
        let mut row = vec![optional(device.chip_id.map(u64::from)), optional(device.time.total_ns)];
        row.extend(cells(&device.time));
        shown.add_row(row);
    }
    write_table(&mut shown, explanation.devices.len(), rows, out)?;
    let is_whole = explanation.devices.iter().any(|of| of.time.waits == WaitEvidence::None);
    if is_whole && !explanation.ops.is_empty() {
        let recorded = if explanation.has_noc_barriers {
            "only waits at NoC barriers were recorded; the time in which kernels are blocked, also there and"
        } else {
            "not recorded; the time in which kernels are blocked, also"
        };
        writeln!(
            out,
            "- of wait: {recorded} in zones around waits, counts as compute or movement"
        )?;
    }
    if explanation.devices.iter().all(|of| of.time.overlap.is_none()) {
        writeln!(
            out,
            "- of side by side: whether kernels compute while others of the op move data is in records of RISCs, \
             which are not there"
        )?;
    }
    Ok(())
}

fn titles_with(first: &[&'static str]) -> Vec<&'static str> {
    let classes = TimeClass::ALL.map(TimeClass::label);
    first.iter().copied().chain(classes).chain(["side by side"]).collect()
}

/// Returns the share of each class of time in percent, as table cells. If waits were not recorded,
/// the shares of waits are unknown.
fn cells(time: &TimeSplit) -> Vec<String> {
    let cell = |class| decimal(time.known_percent(class));
    let overlap = time.overlap.map_or_else(
        || "-".to_owned(),
        |overlap| match (overlap.at_least_percent, overlap.at_most_percent) {
            (least, most) if most - least < 0.05 => format!("{most:.1}"),
            (least, most) => format!("{least:.1} to {most:.1}"),
        },
    );
    TimeClass::ALL.into_iter().map(cell).chain([overlap]).collect()
}

fn write_phases(phases: &[Phase], rows: usize, out: &mut impl Write) -> io::Result<()> {
    if phases.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nPhases; kernels are summed over ops and chips\n")?;
    write_columns!(phases, rows, out, |phase| {
        let name = phase.path.last().map_or("", String::as_str);
        let indent = "  ".repeat(phase.path.len().saturating_sub(1));
        let first = phase.devices.first();
        let percent = |classes: &[TimeClass]| {
            decimal(first.map(|first| classes.iter().map(|&class| first.time.percent(class)).sum()))
        };
        "name" => format!("{indent}{}", printable(name, LONGEST_NAME)),
        "count" => grouped(phase.count),
        "host ns" => grouped(phase.host_ns),
        "ops" => grouped(phase.op_count),
        "kernels, summed ns" => grouped(phase.kernel_sum_over_devices_ns),
        "chip" => first.map_or_else(|| "-".to_owned(), |first| first.chip_id.to_string()),
        "busy %" => percent(&BUSY),
        "host late %" => percent(&[TimeClass::HostLate]),
    })
}

/// Classes of time in which the cores of a chip work or wait for each other.
const BUSY: [TimeClass; 4] =
    [TimeClass::Compute, TimeClass::DataMovement, TimeClass::Collective, TimeClass::Wait];

/// Writes the number of wait records, and the number of unusable records by reason.
fn write_sync(explanation: &Explanation, out: &mut impl Write) -> io::Result<()> {
    let sync = &explanation.sync;
    let unknown: u64 = sync.unknown_kinds.values().sum();
    let odd = [
        (unknown, "of unknown kinds"),
        (sync.malformed, "malformed"),
        (sync.without_cycles, "without cycles"),
        (sync.incomplete_zones, "incomplete zones"),
    ];
    let odd: Vec<_> = odd
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    if sync.has_waits() || !odd.is_empty() {
        let left =
            if odd.is_empty() { String::new() } else { format!("; not used: {}", odd.join(", ")) };
        writeln!(
            out,
            "\nWaits: {}, {}, {}{left}",
            counted(sync.totals, "sum", "sums"),
            counted(sync.waits, "single wait", "single waits"),
            counted(sync.signals, "signal", "signals")
        )?;
        for (kind, count) in &sync.unknown_kinds {
            writeln!(out, "   unknown kind {kind}: {}", grouped(*count))?;
        }
    }
    Ok(())
}
