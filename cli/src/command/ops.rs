//! `kprof ops`: writes the same reports as TT-Metal's own scripts, in the same folders.

use super::written::cancel_on_signals;
use crate::{
    args::OpsArgs,
    derived_logs::{self, check_replaceable},
    failure::{Failure, OrFail, failure, make_folder, note, same_file},
    file_kind::RECORDING,
    folders::note_simulations,
    input::{filter_for, joined, open_run},
    json::Lost,
    numbers::counted,
    output::print,
    progress::Busy,
};
use host_reader::{
    analysis::lost_line,
    export::{CancelFlag, Destination, HiddenLaunches, write_atomically},
    log::write_device_log,
    recording::{
        DEVICE_LOG, DEVICE_PERF_REPORT, Recording, device_captures,
        host_ops::{OP_MESSAGES, OP_TIMES},
        is_capture,
    },
    report::{
        DeviceAnalyses, DeviceData, HostFiles, OpsOptions, OpsReport, Problem, ProgramAnalyses,
        ReportFiles,
    },
    sync::write_sync_info,
    zone_names::write_zone_log,
};
use serde::Serialize;
use std::{
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
};

const TRACY_FILE: &str = "tracy_profile_log_host.tracy";
const ZONE_LOG: &str = "zone_src_locations.log";
const SYNC_INFO: &str = "sync_device_info.csv";

/// Reads the input files, joins their data and writes the reports.
pub(crate) fn run(args: &OpsArgs) -> Result<ExitCode, Failure> {
    note_simulations(&args.file);
    let mut options = options(args)?;
    let mut files = Files { cancel: cancel_on_signals()?, written: Vec::new() };
    let source = Source::from_path(&args.file)?;
    if !args.perf_report && !matches!(source, Source::Capture(_)) {
        options.files = ReportFiles::OpsAndCores;
    }
    if args.force_perf_report {
        source.require_perf_report()?;
    }
    let artifacts = args.output.clone().unwrap_or_else(|| source.artifacts());
    let logs = artifacts.join(".logs");
    let busy = || Busy::new(format!("reporting on {}", args.file.display()));
    let memory = args.memory.packed();
    let report = match &source {
        Source::Capture(path) => {
            check_logs(&logs)?;
            make_folder(&logs)?;
            report_capture(path, args, &options, &logs, &mut files)?
        }
        Source::Logs { folder, .. } => {
            let _busy = busy();
            OpsReport::from_folder(folder, &options, &memory)
        }
        Source::DeviceLog(path) => {
            let _busy = busy();
            OpsReport::from_device_log(path, &options, &memory)
        }
    };
    memory.check().or_fail_at(&args.file)?;
    let is_empty = !report.has_device_data && report.host_op_count == 0;
    if is_empty && !args.allow_empty {
        return Err(nothing_to_report(&args.file, &report));
    }
    let names = Names::new(args, &artifacts);
    make_folder(&names.folder)?;
    files.write(&names.file("ops_perf_results"), report.ops_csv.as_bytes())?;
    if let Some(csv) = &report.per_core_csv {
        let path = names.file("per_core_op_to_op_times");
        files.write(&path, csv.as_bytes())?;
        if csv.lines().nth(1).is_none() {
            note!(
                "kprof: {} has no row: on no core, the end of one op's kernels and the start of the next \
                 one's are known",
                path.display()
            );
        }
    }
    if let Some(csv) = &report.device_perf_csv {
        make_folder(&logs)?;
        files.write(&logs.join(DEVICE_PERF_REPORT), csv.as_bytes())?;
    }
    if !args.no_copies {
        for original in source.originals(&logs) {
            files.copy(&original, &names.folder)?;
        }
    }
    print_report(&report, &files, args)
}

/// Returns the error for an input with neither device data nor host ops.
fn nothing_to_report(path: &Path, report: &OpsReport) -> Failure {
    let found = report.problems.kept().first().map_or_else(String::new, |problem| {
        let problem = problem.to_string();
        format!(": {}", problem.strip_suffix("; ops have no durations then").unwrap_or(&problem))
    });
    let expected = match path.is_dir() {
        true => "expected a device log or a host's ops in the folder",
        false => "expected a device log, a capture or a folder of logs at",
    };
    let failure = failure!("{expected} {}, found none{found}", path.display());
    if path.is_dir() { failure } else { RECORDING.instead(path, failure) }
}

/// Returns an error if a log would be replaced that was neither made by a simulation nor derived
/// from a capture.
///
/// # Errors
/// The error is one sentence that names the file.
fn check_logs(logs: &Path) -> Result<(), Failure> {
    let log = logs.join(DEVICE_LOG);
    if log.exists() {
        return check_replaceable(&log);
    }
    let others = [ZONE_LOG, SYNC_INFO, DEVICE_PERF_REPORT, OP_MESSAGES, OP_TIMES]
        .map(|name| logs.join(name));
    others.iter().try_for_each(|path| check_replaceable(path))
}

fn options(args: &OpsArgs) -> Result<OpsOptions, Failure> {
    let analyses = match &args.analyses {
        None => ProgramAnalyses::default(),
        Some(path) => {
            let text = std::fs::read_to_string(path).or_fail_at(path)?;
            let analyses = ProgramAnalyses::from_json(&text);
            analyses.or_fail_at(path)?
        }
    };
    let device_data = match (args.force_legacy_device_logs, args.force_perf_report) {
        (true, _) => DeviceData::DeviceLog,
        (_, true) => DeviceData::PerfReport,
        _ => DeviceData::Best,
    };
    let names = args.device_analysis_types.iter().map(String::as_str);
    let device_analyses = DeviceAnalyses::from_names(names);
    let device_analyses = device_analyses.map_err(|error| failure!("{error}"))?;
    Ok(OpsOptions {
        is_exact: args.upstream_exact,
        files: ReportFiles::All,
        device_data,
        is_device_only: args.device_only,
        analyses,
        device_analyses,
        analyzes_noc: args.analyze_noc_traces,
        filter: joined(&args.filters),
    })
}

/// Input of the report.
enum Source {
    Logs { folder: PathBuf, artifacts: PathBuf },
    DeviceLog(PathBuf),
    Capture(PathBuf),
}

impl Source {
    fn from_path(path: &Path) -> Result<Self, Failure> {
        if is_capture(path) {
            return Ok(Self::Capture(path.to_owned()));
        }
        match &device_captures(path)[..] {
            [] => {}
            [capture] => return Ok(Self::Capture(capture.clone())),
            [first, ..] => {
                return Err(failure!(
                    "expected captures of one process in {}, found several; name one, such as {}",
                    path.display(),
                    first.display()
                ));
            }
        }
        if path.is_file() {
            return Ok(Self::DeviceLog(path.to_owned()));
        }
        let inner = path.join(".logs");
        if inner.is_dir() {
            return Ok(Self::Logs { folder: inner, artifacts: path.to_owned() });
        }
        if path.is_dir() {
            let is_logs = path.file_name().is_some_and(|name| name == ".logs");
            let artifacts = if is_logs { parent(path) } else { path.to_owned() };
            return Ok(Self::Logs { folder: path.to_owned(), artifacts });
        }
        Err(failure!(
            "expected a folder of logs, a device log or a capture at {}, found nothing; \
             `kprof ops --help` lists the possible inputs",
            path.display()
        ))
    }

    /// Checks that a perf report exists next to the logs.
    ///
    /// # Errors
    /// If there is no perf report. A single device log or capture never has a perf report.
    fn require_perf_report(&self) -> Result<(), Failure> {
        let (Self::Logs { folder: shown, .. } | Self::DeviceLog(shown) | Self::Capture(shown)) =
            self;
        let is_there =
            matches!(self, Self::Logs { folder, .. } if folder.join(DEVICE_PERF_REPORT).is_file());
        if is_there {
            return Ok(());
        }
        Err(failure!(
            "expected {DEVICE_PERF_REPORT} in a folder of logs for --force-perf-report, found none in \
             {}; omit the option to take durations from {DEVICE_LOG}",
            shown.display()
        ))
    }

    /// Returns TT-Metal's artifacts folder that contains the input.
    fn artifacts(&self) -> PathBuf {
        match self {
            Self::Logs { artifacts, .. } => artifacts.clone(),
            Self::DeviceLog(path) | Self::Capture(path) => {
                let folder = parent(path);
                let is_logs = folder.file_name().is_some_and(|name| name == ".logs");
                if is_logs { parent(&folder) } else { folder }
            }
        }
    }

    /// Returns the files that are copied unchanged into the report's folder.
    fn originals(&self, logs: &Path) -> Vec<PathBuf> {
        let candidates = match self {
            Self::Logs { folder, .. } => vec![folder.join(DEVICE_LOG), folder.join(TRACY_FILE)],
            Self::DeviceLog(path) => vec![path.clone()],
            Self::Capture(_) => vec![logs.join(DEVICE_LOG)],
        };
        candidates.into_iter().filter(|path| path.is_file()).collect()
    }
}

fn parent(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_owned()
}

/// Folder of a report's files, and the suffix of their names.
struct Names {
    folder: PathBuf,
    suffix: String,
}

impl Names {
    fn new(args: &OpsArgs, artifacts: &Path) -> Self {
        let mut names = Self { folder: artifacts.join("reports"), suffix: String::new() };
        let date = args.date.then(|| chrono::Local::now().format("%Y_%m_%d_%H_%M_%S").to_string());
        for part in args.name_append.iter().chain(&date) {
            names.folder.push(part);
            names.suffix = format!("{}_{part}", names.suffix);
        }
        names
    }

    fn file(&self, stem: &str) -> PathBuf {
        self.folder.join(format!("{stem}{}.csv", self.suffix))
    }
}

/// Writes the logs of one run of a capture, and builds the report of this run.
fn report_capture(
    path: &Path,
    args: &OpsArgs,
    options: &OpsOptions,
    logs: &Path,
    files: &mut Files,
) -> Result<OpsReport, Failure> {
    let run = open_run(path, args.run)?;
    let _busy = Busy::new(format!("reporting on {}", path.display()));
    let log = logs.join(DEVICE_LOG);
    files.write_by(&log, |mut out| write_device_log(&run.readout, &mut out).map(|_| ()))?;
    derived_logs::note(&log, &run.readout)?;
    files.write_by(&logs.join(ZONE_LOG), |mut out| {
        write_zone_log(&run.readout.zones, &mut out).map(|_| ())
    })?;
    if run.samples.ping_count() > 0 {
        files.write_by(&logs.join(SYNC_INFO), |out| {
            write_sync_info(&run.samples, out).map(|_| ())
        })?;
    }
    let host = HostFiles::from_recording(&run);
    if !host.is_empty() {
        files.write_by(&logs.join(OP_MESSAGES), |mut out| host.write_messages(&mut out))?;
        files.write_by(&logs.join(OP_TIMES), |out| host.write_times(out))?;
    }
    filter_for(&run, &args.filters)?;
    let run = if options.is_device_only { Recording::from_readout(run.readout) } else { run };
    Ok(OpsReport::from_recording(&run, options))
}

/// Writer of the report's files; a failure leaves no partial file.
struct Files {
    cancel: CancelFlag,
    written: Vec<PathBuf>,
}

impl Files {
    fn write(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        self.write_by(path, |out| out.write_all(bytes))
    }

    fn write_by(
        &mut self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        write_atomically(&Destination::File(path.to_owned()), &self.cancel, write).or_fail()?;
        self.written.push(path.to_owned());
        Ok(())
    }

    /// Copies a file into a folder, unless the file is already in it.
    fn copy(&mut self, original: &Path, folder: &Path) -> Result<(), Failure> {
        let Some(name) = original.file_name() else { return Ok(()) };
        let copy = folder.join(name);
        if same_file(original, &copy) {
            return Ok(());
        }
        let mut file = File::open(original).or_fail_at(original)?;
        self.write_by(&copy, |out| io::copy(&mut file, out).map(|_| ()))
    }
}

/// Summary of the written files, for output.
#[derive(Serialize)]
struct Told<'report> {
    files: Vec<String>,
    rows: u64,
    host_ops: u64,
    device_ops: u64,
    problem_count: u64,
    problems: &'report [Problem],
    /// Records missing from the device data.
    lost: Lost,
    /// Sentence about the source of the NoC figures; null if the report has no NoC figures.
    noc_events: Option<&'report str>,
    /// Counts of the data that `--filter` removed.
    filtered_out: &'report HiddenLaunches,
}

fn print_report(report: &OpsReport, files: &Files, args: &OpsArgs) -> Result<ExitCode, Failure> {
    let problems = report.problems.kept();
    let told = Told {
        files: files.written.iter().map(|path| path.display().to_string()).collect(),
        rows: report.row_count,
        host_ops: report.host_op_count,
        device_ops: report.device_op_count,
        problem_count: report.problems.count(),
        problems,
        lost: Lost::new(&report.losses, &[]),
        noc_events: report.noc_events.as_deref(),
        filtered_out: &report.hidden,
    };
    print(args.json.then_some(&told), |out| {
        let rows = counted(told.rows, "row", "rows");
        let host = counted(told.host_ops, "host op", "host ops");
        let device = counted(told.device_ops, "launch", "launches");
        writeln!(out, "{rows} of {host} and {device} on the device")?;
        let hidden = told.filtered_out;
        if !hidden.is_empty() {
            let launches = counted(hidden.launch_count, "launch", "launches");
            let lanes = counted(hidden.lane_count, "lane", "lanes");
            writeln!(out, "Filtered out: {launches}, {lanes}")?;
        }
        let lines = told.noc_events.into_iter().chain(told.files.iter().map(String::as_str));
        lines.into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
        writeln!(out, "{}", lost_line(&report.losses))
    })?;
    let unkept = told.problem_count - problems.len() as u64;
    if !args.json {
        problems.iter().for_each(|problem| note!("kprof: {problem}"));
        if unkept > 0 {
            note!("kprof: and {}", counted(unkept, "more problem", "more problems"));
        }
    }
    let has_problems = told.problem_count > 0 || report.losses.has_failures();
    let is_failed = args.fail_on_problems && has_problems;
    Ok(if is_failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}
