//! `kprof export`: converts a log or capture to a trace for a viewer, to a log or to a dataset.

use super::{
    dataset::Dataset,
    device_log, explain, export_source, memory, noc, ops_page,
    written::{Written, cancel_on_signals, refusal},
};
use crate::{
    args::{ExportArgs, ExportTarget},
    failure::{Failure, OrFail, failure, refuse_input_as_output},
    input::{self, Run, chosen_run, filter_for, joined, open_flat, open_run, open_runs},
    numbers::{counted, grouped},
    progress::{Busy, Progress},
};
use host_reader::{
    causes::{Explanation, Scope},
    diff::{Diff, DiffOptions, Measurements},
    export::{
        CancelFlag, Destination, ExportFormat, PackedCounts, PackedTrace, Recording, Trace,
        TraceComparison, TraceItems, TraceMemory,
        tracy::{TracyOptions, write_tracy_file},
        write_atomically,
    },
    op_memory::usage_of,
    recording::DEVICE_LOG,
    tables::MemoryRow,
};
use serde::Serialize;
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

/// Reads the input, builds the trace and writes it; a failure leaves no partial file.
pub(crate) fn run(args: &ExportArgs) -> Result<(), Failure> {
    let named = |is_name: fn(&Path) -> bool| {
        args.format.is_none() && args.output.as_deref().is_some_and(is_name)
    };
    let is_log = args.format == Some(ExportTarget::DeviceLog) || named(device_log::is_device_log);
    if is_log || args.format == Some(ExportTarget::NocTraces) || named(noc::export::is_trace_file) {
        refuse_options_of_datasets(args)?;
        if args.compare.is_some() {
            return Err(compare_is_of_html());
        }
        return if is_log { device_log::write(args) } else { noc::export::write(args) };
    }
    let target = target(args)?;
    if matches!(target, Target::File(..)) {
        refuse_options_of_datasets(args)?;
    }
    if let Target::File(_, Destination::File(output)) = &target {
        refuse_input_as_output(
            [Some(&args.file), args.compare.as_ref()].into_iter().flatten(),
            output,
        )?;
    }
    if let Target::File(format, destination) = &target
        && *format == ExportFormat::HTML
        && let Some(csv) = explain::ops_csv(&args.file)
    {
        return ops_page::write(args, &csv, destination);
    }
    if let (Some(_), false) = (&args.compare, target.is_page()) {
        return Err(compare_is_of_html());
    }
    let runs = if target.takes_packed() && joined(&args.filters).is_empty() {
        open_flat(&args.file, &[], &args.memory.packed())?
    } else {
        open_runs(&args.file)?.into_iter().map(|run| Run::Whole(Box::new(run))).collect()
    };
    let is_only_run = runs.len() == 1;
    let run = chosen_run(runs, &args.file, args.run)?;
    // Launch messages do not tell the runs of a capture apart.
    let launches = match is_only_run && target.shows_causes() {
        true => memory::launches_of(&args.file)?,
        false => Vec::new(),
    };
    let busy = Busy::new(format!("arranging {}", args.file.display()));
    match &run {
        Run::Packed(packed) => {
            let causes = match target.shows_causes() {
                true => {
                    let mut causes =
                        Explanation::from_packed_window(packed, Scope::BY_MODULE).or_fail()?;
                    causes.add_memory(&usage_of(&packed.recording, launches));
                    Some(causes)
                }
                false => None,
            };
            let trace = PackedTrace::new(packed).or_fail()?.described(title(&args.file), causes);
            let PackedCounts { zones, points, ops } = trace.counts();
            let counts = TraceCounts { zones, points, ops, ..TraceCounts::new(trace.trace()) };
            drop(busy);
            write(args, (&run, is_only_run), (&trace).into(), counts, &target)
        }
        Run::Whole(recording) => {
            let trace = whole_trace(args, recording, launches, &target)?;
            let counts = TraceCounts::new(&trace);
            drop(busy);
            write(args, (&run, is_only_run), (&trace).into(), counts, &target)
        }
    }
}

/// Returns the trace of a run whose lanes are in memory, with what a page shows besides. `launches` are its
/// launch messages.
fn whole_trace<'run>(
    args: &ExportArgs,
    recording: &'run Recording,
    launches: Vec<MemoryRow<'static>>,
    target: &Target,
) -> Result<Trace<'run>, Failure> {
    let mut trace = input::trace(recording, &args.filters)?;
    trace.title = title(&args.file);
    trace.comparison = comparison(args, recording)?;
    if target.is_page() {
        trace.source = export_source::of_recording(&args.file, args.run)?;
    }
    if target.shows_causes() {
        let usage = usage_of(recording, launches);
        let mut explanation = Explanation::from_recording_window(recording, Scope::BY_MODULE);
        explanation.add_memory(&usage);
        trace.explanation = Some(explanation);
        trace.memory = TraceMemory::new(usage, &filter_for(recording, &args.filters)?);
    }
    Ok(trace)
}

/// Writes the items of a run.
fn write(
    args: &ExportArgs,
    run: (&Run, bool),
    items: TraceItems<'_, '_>,
    counts: TraceCounts,
    target: &Target,
) -> Result<(), Failure> {
    let cancel = cancel_on_signals()?;
    match target {
        Target::File(format, destination) => {
            write_file(args, items, (*format, destination), counts, &cancel)
        }
        Target::Dataset(dataset) => dataset.write(items, run, &cancel, args.json),
    }
}

fn refuse_options_of_datasets(args: &ExportArgs) -> Result<(), Failure> {
    let sentence = if args.recording.is_some() {
        "--recording is only for --format parquet"
    } else if args.host.is_some() {
        "--host is only for --format parquet"
    } else if args.fleet_run.is_some() || args.date.is_some() {
        "--fleet-run and --date are only for --format parquet"
    } else if args.delta_log {
        "--delta-log is only for --format parquet"
    } else {
        return Ok(());
    };
    Err(failure!("{sentence}"))
}

fn compare_is_of_html() -> Failure {
    failure!("--compare is only for --format html; `kprof diff` compares in a terminal")
}

/// Returns a title for the input: the last component of its path, ignoring the usual names of log
/// files and log folders.
fn title(file: &Path) -> String {
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let usual = ["profile_log_device.csv", ".logs", "profiler", "generated"];
    let mut names = file.iter().rev().map(|name| name.to_string_lossy());
    names.find(|name| !usual.contains(&&**name)).map_or_else(String::new, Into::into)
}

/// Compares the run with the recording that `--compare` names, if the option is given.
fn comparison(args: &ExportArgs, run: &Recording) -> Result<Option<TraceComparison>, Failure> {
    let Some(other) = &args.compare else { return Ok(None) };
    let other_run = open_run(other, None)?;
    let [a, b] = [run, &other_run].map(Measurements::from_recording);
    let diff = Diff::new(&a, &b, DiffOptions::default());
    Ok(Some(TraceComparison { title: title(other), diff }))
}

/// The output of an export: format and destination.
enum Target {
    File(ExportFormat, Destination),
    Dataset(Dataset),
}

impl Target {
    /// Returns true if the output is an HTML page.
    fn is_page(&self) -> bool {
        matches!(self, Self::File(format, _) if *format == ExportFormat::HTML)
    }

    /// Returns true if the output can be written lane by lane.
    const fn takes_packed(&self) -> bool {
        match self {
            Self::File(format, _) => format.takes_packed(),
            Self::Dataset(_) => true,
        }
    }

    /// Returns true if the output shows the causes of slowness.
    const fn shows_causes(&self) -> bool {
        matches!(self, Self::File(format, _) if format.shows_causes())
    }
}

fn write_file(
    args: &ExportArgs,
    items: TraceItems<'_, '_>,
    (format, destination): (ExportFormat, &Destination),
    counts: TraceCounts,
    cancel: &CancelFlag,
) -> Result<(), Failure> {
    let trace = items.trace();
    let progress = Progress::new("lanes", trace.lane_count() as u64);
    let changes = write_atomically(destination, cancel, |out| {
        if format == ExportFormat::TRACY {
            let options = tracy_options(&args.file);
            return write_tracy_file(trace, &options, out).map(|notes| notes.doubts());
        }
        format.write(items, out, &mut |lanes| progress.set(lanes as u64)).map(|()| Vec::new())
    })
    .map_err(|error| refusal(&error))?;
    drop(progress);
    if *destination == Destination::Stdout {
        return Ok(());
    }
    let changes = changes.into_iter().map(|(what, count)| (what.to_owned(), count));
    let summary = counts.summary();
    let (output, format) = (destination.to_string(), format.label());
    let doubts = Some(trace.doubts().into_iter().chain(changes).collect());
    Written { output, format, counts, doubts }.print(args.json, &summary)
}

/// Returns the format and the destination. If one is not given, it is inferred from the other.
fn target(args: &ExportArgs) -> Result<Target, Failure> {
    let format = match args.format {
        Some(ExportTarget::Parquet) => return Ok(Target::Dataset(Dataset::new(args)?)),
        Some(ExportTarget::File(format)) => Some(format),
        Some(ExportTarget::DeviceLog | ExportTarget::NocTraces) | None => None,
    };
    let Some(output) = &args.output else {
        let format = format.unwrap_or(ExportFormat::PERFETTO);
        let is_file = !args.file.is_dir() && args.file != Path::new("-");
        let file_stem = args.file.file_stem().filter(|_| is_file);
        let mut name = file_stem.unwrap_or("profile_log_device".as_ref()).to_owned();
        name.push(format.endings().first().copied().unwrap_or_default());
        return Ok(Target::File(format, Destination::File(PathBuf::from(name))));
    };
    let destination = Destination::from(output.as_path());
    let format = format.or_else(|| ExportFormat::from_path(output));
    let format = format.ok_or_else(|| unknown_format(&destination))?;
    let is_terminal = destination == Destination::Stdout && std::io::stdout().is_terminal();
    if is_terminal && format.is_binary() {
        return Err(failure!(
            "a {format} trace is binary; expected a file or a pipe, found a terminal"
        ));
    }
    Ok(Target::File(format, destination))
}

fn unknown_format(destination: &Destination) -> Failure {
    let endings: Vec<_> =
        ExportFormat::ALL.iter().flat_map(|format| format.endings().first()).copied().collect();
    failure!(
        "expected --format, {DEVICE_LOG}, or a name that ends in {}; found {destination}",
        endings.join(", ")
    )
}

/// Returns the options of a Tracy trace: the file's name becomes the title, and the file's
/// modification time becomes the time of the recording.
pub(super) fn tracy_options(file: &Path) -> TracyOptions {
    let written = std::fs::metadata(file).and_then(|found| found.modified()).ok();
    let since_1970 = written.and_then(|written| written.duration_since(UNIX_EPOCH).ok());
    let name = std::path::absolute(file).ok();
    let name = name.as_deref().unwrap_or(file).file_name().unwrap_or(file.as_os_str());
    TracyOptions {
        title: name.to_string_lossy().into_owned(),
        recorded_at_s: since_1970.map_or(0, |since| since.as_secs()),
    }
}

/// Counts of the exported data.
#[derive(Serialize)]
struct TraceCounts {
    devices: usize,
    lanes: usize,
    zones: usize,
    points: usize,
    ops: usize,
}

impl TraceCounts {
    fn new(trace: &Trace<'_>) -> Self {
        Self {
            devices: trace.devices.len(),
            lanes: trace.lane_count(),
            zones: trace.zone_count(),
            points: trace.point_count(),
            ops: trace.devices.iter().map(|device| device.ops.len()).sum(),
        }
    }

    fn summary(&self) -> String {
        format!(
            "{}, {} events, values and sums, {} on {}",
            counted(self.zones as u64, "zone", "zones"),
            grouped(self.points as u64),
            counted(self.ops as u64, "op", "ops"),
            counted(self.lanes as u64, "lane", "lanes"),
        )
    }
}
