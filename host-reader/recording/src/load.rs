//! Loads a device log, a capture, or the folder in which TT-Metal stores its logs.

use crate::{
    NocTraceFiles, Recording,
    capture::{Capture, CaptureError, FILE_MAGIC},
    derived_log::{Beside, Facts, beside},
    device_log::{LogError, PackedLanes, PackedLog},
    harvesting,
    host_ops::{HostOps, LaunchedPrograms},
    zone_names::{ZoneNames, ZoneNamesError},
};
use analysis::{Report, noc_events::NocLanes};
use reader::{
    from_lanes::{FromLanes, LanesContext},
    lane::{Lane, ZoneIndex},
    packed_bytes::{PackedError, PackedMemory},
    read::ReadError,
};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};
use wire::ZoneId;

/// Name of the device log in a folder of logs.
pub const DEVICE_LOG: &str = "profile_log_device.csv";
/// Prefix of the names of captures in a folder of logs. Each profiled process writes one capture.
///
/// The process number follows the prefix.
pub const DEVICE_CAPTURE_PREFIX: &str = "device-";

/// Loaded content of a file or folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Loaded {
    /// The runs of a capture (at least one), or the single run of a log.
    pub recordings: Vec<Recording>,
    /// Number of problems in a capture. The parts without problems were used.
    pub problem_count: u64,
}

/// Opened content of a file or folder. A device log is still packed.
#[derive(Debug)]
pub enum Opened {
    /// A device log.
    Log(Box<OpenedLog>),
    /// A capture.
    Capture(Loaded),
}

impl Opened {
    /// Unpacks a log.
    ///
    /// # Errors
    /// If records cannot be read back from the temporary file.
    pub fn into_loaded(self) -> Result<Loaded, PackedError> {
        match self {
            Self::Log(log) => {
                Ok(Loaded { recordings: vec![log.into_recording()?], problem_count: 0 })
            }
            Self::Capture(loaded) => Ok(loaded),
        }
    }
}

/// A device log, still packed, with the files found next to it.
#[derive(Debug)]
pub struct OpenedLog {
    /// Records of the chips.
    pub log: PackedLog,
    /// Ops that the host announced; empty if the log was opened without its folder.
    pub host: HostOps,
    /// TT-Metal's NoC traces in the log's folder.
    ///
    /// The coordinates in these traces show which rows or columns are harvested. If the log has no
    /// NoC events, the traces also provide the NoC events.
    pub noc_traces: Vec<PathBuf>,
    /// Newest ops CSV in the folder from which the log was opened.
    pub ops_csv: Option<PathBuf>,
    /// The log itself, if it has changed since a simulation wrote it with a note of its losses. They are
    /// then unknown.
    pub changed_log: Option<PathBuf>,
}

impl OpenedLog {
    /// Unpacks all lanes.
    ///
    /// # Errors
    /// If records cannot be read back from the temporary file.
    pub fn into_recording(self) -> Result<Recording, PackedError> {
        let files = self.noc_trace_files();
        let Self { log, host, noc_traces, ops_csv, .. } = self;
        let mut readout = log.into_readout()?;
        harvesting::add_traces(&mut readout, &noc_traces);
        let mut launched = LaunchedPrograms::default();
        if host.has_ops() {
            readout.lanes().for_each(|lane| launched.add(lane));
        }
        Ok(Recording { ops_csv, noc_traces: files, ..host.attach(readout, [launched]) })
    }

    /// Collects data from all lanes, in several parts of type `F`. Each thread unpacks one lane at
    /// a time. The returned recording has no lanes.
    ///
    /// # Errors
    /// If records cannot be read back from the temporary file.
    pub fn collect<F: FromLanes>(self) -> Result<(Recording, Vec<F>), PackedError> {
        let Collected { recording, parts, .. } = self.read(false)?;
        Ok((recording, parts))
    }

    /// Collects like [`Self::collect`], and keeps the lanes packed for further use.
    ///
    /// # Errors
    /// If records cannot be read back from the temporary file.
    pub fn collect_and_keep<F: FromLanes>(self) -> Result<Collected<F>, PackedError> {
        self.read(true)
    }

    fn read<F: FromLanes>(self, keeps_lanes: bool) -> Result<Collected<F>, PackedError> {
        let noc_traces = self.noc_trace_files();
        let Self { log: PackedLog { mut readout, mut lanes }, host, ops_csv, .. } = self;
        let (parts, anomalies) = {
            let context = F::Context::new(&readout, lanes.memory());
            let add = |(part, launched): &mut (F, LaunchedPrograms), lane: Lane| {
                part.add(&context, &lane);
                if host.has_ops() {
                    launched.add(&lane);
                }
            };
            if keeps_lanes { lanes.visit(add)? } else { lanes.unpack(add)? }
        };
        readout.anomalies.merge(anomalies);
        let (parts, launched): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        let recording = Recording { ops_csv, noc_traces, ..host.attach(readout, launched) };
        Ok(Collected { recording, lanes, parts })
    }

    /// Returns the paths of the NoC traces, and whether the log itself has NoC events.
    #[must_use]
    pub fn noc_trace_files(&self) -> NocTraceFiles {
        let repeat_log = self.log.lanes.has_marker(ZoneId::NOC_TRACING);
        NocTraceFiles { paths: self.noc_traces.clone(), repeat_log }
    }
}

/// Data collected from a log.
#[derive(Debug)]
pub struct Collected<F> {
    /// The recording, without lanes.
    pub recording: Recording,
    /// The lanes, still packed.
    pub lanes: PackedLanes,
    /// The collected data, in several parts, because several threads collected it.
    pub parts: Vec<F>,
}

impl OpenedLog {
    /// Adds what the note beside the log, which is at `path`, says of the run that wrote the log: that
    /// its times are simulated, and its losses. [`changed_log`](Self::changed_log) is set if the log
    /// has changed since.
    ///
    /// ```
    /// use recording::{OpenedLog, derived_log::write_note, device_log::PackedLog};
    /// use reader::{readout::Readout, simulated_time::SimulatedTime};
    /// let folder = tempfile::tempdir().unwrap();
    /// let path = folder.path().join("profile_log_device.csv");
    /// let title = "PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], \
    ///     data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data";
    /// std::fs::write(&path, format!("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n{title}\n")).unwrap();
    /// let simulated = Some(SimulatedTime::default());
    /// write_note(&path, &Readout { simulated, ..Readout::default() }).unwrap();
    /// let mut log = OpenedLog::from(PackedLog::open(&path).unwrap());
    /// log.add_note(&path);
    /// assert_eq!(log.log.readout.losses.uncounted().count(), 0);
    /// ```
    pub fn add_note(&mut self, path: &Path) {
        match beside(path) {
            Beside::Facts(facts) => {
                let Facts { simulated, losses } = *facts;
                self.log.readout.simulated = simulated;
                if let Some(losses) = losses {
                    self.log.readout.losses = losses;
                }
            }
            Beside::OfAnotherLog => self.changed_log = Some(path.to_owned()),
            Beside::Nothing => {}
        }
    }
}

impl From<PackedLog> for OpenedLog {
    fn from(log: PackedLog) -> Self {
        Self {
            log,
            host: HostOps::default(),
            noc_traces: Vec::new(),
            ops_csv: None,
            changed_log: None,
        }
    }
}

/// Computes the report of a log. Each thread unpacks one lane at a time.
///
/// The returned recording has no lanes.
///
/// ```
/// use recording::device_log::PackedLog;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
/// ";
/// let (recording, report) = recording::report_of_log(PackedLog::read(log.as_bytes(), "my log")?)?;
/// assert_eq!(report.zones[0].cycles.total_cycles, 60);
/// assert_eq!(recording.readout.record_count(), 0);
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
///
/// # Errors
/// If records beyond the memory limit cannot be written to the temporary file or read back from it.
pub fn report_of_log(log: impl Into<OpenedLog>) -> Result<(Recording, Report), PackedError> {
    let log = log.into();
    let memory = Arc::clone(log.log.lanes.memory());
    let (recording, figures) = log.collect()?;
    let report = Report::from_lanes(&recording.readout, figures, &memory);
    memory.check()?;
    Ok((recording, report))
}

/// Extracts the NoC events of a log. Each thread unpacks one lane at a time.
///
/// The returned recording has no lanes.
///
/// ```
/// use analysis::noc_events::{NocPrograms, TraceOptions};
/// use recording::device_log::PackedLog;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,12345,100,2270491512279307,1024,,TS_DATA
/// ";
/// let (recording, lanes) = recording::noc_of_log(PackedLog::read(log.as_bytes(), "my log")?)?;
/// let programs = NocPrograms::new(&lanes, &recording.readout, &TraceOptions::default());
/// assert_eq!(programs.traffic(|_, _| None).0.activities[0].event_count, 1);
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
///
/// # Errors
/// If records cannot be read back from the temporary file.
pub fn noc_of_log(log: impl Into<OpenedLog>) -> Result<(Recording, NocLanes), PackedError> {
    let (mut recording, parts) = log.into().collect()?;
    let lanes = NocLanes::from_parts(parts);
    let Recording { readout, noc_traces, .. } = &mut recording;
    harvesting::add_traces_beside(readout, &lanes, &noc_traces.paths);
    Ok((recording, lanes))
}

/// Reason why nothing could be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file is not a device log.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The file is not a readable capture.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The capture contains reads, but none of them can be decoded.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Records beyond the memory limit cannot be kept in the temporary file.
    #[error(transparent)]
    Packed(#[from] PackedError),
    /// The zone logs next to a device log cannot be read.
    #[error(transparent)]
    ZoneNames(#[from] ZoneNamesError),
    /// The folder has no device log.
    #[error(
        "expected {DEVICE_LOG} in the folder {} or in its .logs, found none{}",
        folder.display(),
        folders_below(folder)
    )]
    NoDeviceLog {
        /// The folder.
        folder: PathBuf,
    },
}

/// Names the folders directly in `folder` that have a device log, each of which is a run.
fn folders_below(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let logs = entries.map(|entry| entry.path()).filter(|path| device_log(path).is_some());
    let mut logs: Vec<PathBuf> = logs.collect();
    logs.sort();
    match logs.as_slice() {
        [] => String::new(),
        [only] => format!("; the folder {} has one", only.display()),
        [first, ..] => {
            format!("; {} folders in it have one, such as {}", logs.len(), first.display())
        }
    }
}

/// Loads the file or folder at the path. The content determines the type of a file.
///
/// In a folder, captures of profiled processes have priority over a log, because a log next to
/// captures was made from the captures and contains less data than the captures. If the device log
/// does not name a zone, its name comes from the zone logs in the same folder. Ops come from the
/// host's messages in the same folder. Harvested rows or columns come from a
/// `cluster_descriptor.yaml` or from TT-Metal's `noc_trace_*.json` in the log's folder. The losses of a
/// log that a simulation wrote are in the note beside it. If the log
/// has no NoC events, the NoC events of the `noc_trace_*.json` files are used.
///
/// ```
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,BRISC-FW,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,BRISC-FW,ZONE_END
/// ";
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("profile_log_device.csv"), log)?;
/// let loaded = recording::load(folder.path())?;
/// assert_eq!(loaded.recordings[0].readout.record_count(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If there is no such file, or if nothing can be read from the file. Damage within a capture is
/// not an error, but is counted.
pub fn load(path: &Path) -> Result<Loaded, LoadError> {
    Ok(open(path)?.into_loaded()?)
}

/// Opens the file or folder at the path, like [`load`], but keeps a device log packed.
///
/// # Errors
/// The errors of [`load`].
pub fn open(path: &Path) -> Result<Opened, LoadError> {
    open_within(path, &PackedMemory::unlimited())
}

/// Opens the file or folder at the path, with a memory limit.
///
/// If the records of a log exceed the limit of `memory`, further records go to the temporary file
/// of `memory`.
///
/// # Errors
/// The errors of [`load`], and errors of writing the temporary file.
pub fn open_within(path: &Path, memory: &Arc<PackedMemory>) -> Result<Opened, LoadError> {
    if path.is_dir() {
        return match &device_captures(path)[..] {
            [] => Ok(Opened::Log(Box::new(open_folder(path, memory)?))),
            captures => {
                let mut loaded = load_captures(captures)?;
                let ops_csv = newest_ops_csv(path);
                for recording in &mut loaded.recordings {
                    recording.ops_csv.clone_from(&ops_csv);
                }
                Ok(Opened::Capture(loaded))
            }
        };
    }
    if is_capture(path) {
        return Ok(Opened::Capture(load_capture(path)?));
    }
    let mut log = OpenedLog::from(PackedLog::open_within(path, memory)?);
    if path.is_file() {
        log.add_note(path);
        add_harvesting(&mut log, path.parent().unwrap_or(Path::new("")));
    }
    Ok(Opened::Log(Box::new(log)))
}

/// Adds the harvested rows or columns found in the files of the log's folder.
fn add_harvesting(log: &mut OpenedLog, folder: &Path) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    harvesting::add_descriptor(&mut log.log, folder);
    log.noc_traces = harvesting::noc_trace_files(folder);
}

/// Opens a device log from a stream, like [`open_within`]. `source` is the name of the stream in
/// error messages.
///
/// # Errors
/// If the stream is not a device log, or if the temporary file cannot be written.
pub fn open_log(
    log: impl Read,
    source: &str,
    memory: &Arc<PackedMemory>,
) -> Result<Opened, LoadError> {
    Ok(Opened::Log(Box::new(PackedLog::read_within(log, source, memory)?.into())))
}

/// Returns `folder` if it contains `file`, or the subfolder `.logs` of `folder` if this subfolder
/// contains `file`. Otherwise returns `None`.
#[must_use]
pub fn logs_folder(folder: &Path, file: &str) -> Option<PathBuf> {
    let candidates = [folder.to_owned(), folder.join(".logs")];
    candidates.into_iter().find(|logs| logs.join(file).exists())
}

/// Finds the newest ops CSV in a folder or in its subfolder `reports`. TT-Metal stores ops CSVs in
/// this subfolder.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// assert_eq!(recording::newest_ops_csv(folder.path()), None);
/// std::fs::create_dir_all(folder.path().join("reports/a"))?;
/// let path = folder.path().join("reports/a/ops_perf_results_a.csv");
/// std::fs::write(&path, "OP CODE\n")?;
/// assert_eq!(recording::newest_ops_csv(folder.path()), Some(path));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn newest_ops_csv(folder: &Path) -> Option<PathBuf> {
    newest_file(vec![folder.to_owned()], &folder.join("reports"), is_ops_csv)
}

/// Finds the newest copy of a device log in the subfolder `reports`, where TT-Metal puts it next to
/// the ops CSV.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// assert_eq!(recording::reported_device_log(folder.path()), None);
/// std::fs::create_dir_all(folder.path().join("reports/a"))?;
/// let path = folder.path().join("reports/a/profile_log_device.csv");
/// std::fs::write(&path, "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n")?;
/// assert_eq!(recording::reported_device_log(folder.path()), Some(path));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn reported_device_log(folder: &Path) -> Option<PathBuf> {
    let is_log = |path: &Path| path.file_name().is_some_and(|name| name == DEVICE_LOG);
    newest_file(Vec::new(), &folder.join("reports"), |path| is_log(path) && path.is_file())
}

/// Finds the device log of a folder.
///
/// It is in the folder, in its subfolder `.logs` or, if neither has one, a copy in its subfolder
/// `reports`. A copy counts only beside the newest ops CSV, if there is one: another is of another run.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let [old, new] = ["a", "b"].map(|name| folder.path().join("reports").join(name));
/// std::fs::create_dir_all(&old)?;
/// let copy = old.join("profile_log_device.csv");
/// std::fs::write(&copy, "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n")?;
/// assert_eq!(recording::device_log(folder.path()), Some(copy));
/// std::fs::create_dir_all(&new)?;
/// std::fs::write(new.join("ops_perf_results_b.csv"), "OP CODE\n")?;
/// assert_eq!(recording::device_log(folder.path()), None);
/// let log = folder.path().join("profile_log_device.csv");
/// std::fs::write(&log, "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n")?;
/// assert_eq!(recording::device_log(folder.path()), Some(log));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn device_log(folder: &Path) -> Option<PathBuf> {
    let own = logs_folder(folder, DEVICE_LOG).map(|logs| logs.join(DEVICE_LOG));
    own.or_else(|| {
        let csv = newest_ops_csv(folder);
        let is_beside = |log: &PathBuf| csv.as_ref().is_none_or(|csv| csv.parent() == log.parent());
        reported_device_log(folder).filter(is_beside)
    })
}

/// Finds the newest file in `folders`, in `reports` and in the folders below `reports`.
fn newest_file(
    mut folders: Vec<PathBuf>,
    reports: &Path,
    is_wanted: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    const DEPTH: usize = 3;
    folders.push(reports.to_owned());
    let mut found = Vec::new();
    for _ in 0..DEPTH {
        let entries = folders.iter().filter_map(|folder| folder.read_dir().ok());
        let paths: Vec<PathBuf> = entries.flatten().flatten().map(|entry| entry.path()).collect();
        found.extend(paths.iter().filter(|path| is_wanted(path)).cloned());
        let is_below =
            |path: &&PathBuf| path.is_dir() && path.starts_with(reports) && **path != reports;
        folders = paths.iter().filter(is_below).cloned().collect();
    }
    found.into_iter().max_by_key(|path| {
        (path.metadata().and_then(|metadata| metadata.modified()).ok(), path.clone())
    })
}

/// Name of the report that TT-Metal's host makes of a device log, and writes next to it.
pub const DEVICE_PERF_REPORT: &str = "cpp_device_perf_report.csv";

/// Finds TT-Metal's report on the device in a folder or in its `.logs`, else the newest copy of it in
/// the subfolder `reports`.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// assert_eq!(recording::device_perf_report(folder.path()), None);
/// let path = folder.path().join(recording::DEVICE_PERF_REPORT);
/// std::fs::write(&path, "GLOBAL CALL COUNT,DEVICE ARCH\n")?;
/// assert_eq!(recording::device_perf_report(folder.path()), Some(path.clone()));
/// let copy = folder.path().join("reports/a").join(recording::DEVICE_PERF_REPORT);
/// std::fs::create_dir_all(folder.path().join("reports/a"))?;
/// std::fs::rename(path, &copy)?;
/// assert_eq!(recording::device_perf_report(folder.path()), Some(copy));
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn device_perf_report(folder: &Path) -> Option<PathBuf> {
    let is_report = |path: &Path| path.file_name().is_some_and(|name| name == DEVICE_PERF_REPORT);
    logs_folder(folder, DEVICE_PERF_REPORT)
        .map(|logs| logs.join(DEVICE_PERF_REPORT))
        .or_else(|| newest_file(Vec::new(), &folder.join("reports"), is_report))
}

/// Returns the number of other ops CSVs in the folder of an ops CSV, such as the one that tt-mlir
/// writes without the ops of constants.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let [one, other] = ["", "_minus_const_eval"]
///     .map(|end| folder.path().join(format!("ops_perf_results{end}.csv")));
/// std::fs::write(&one, "OP CODE\n")?;
/// assert_eq!(recording::other_ops_csvs(&one), 0);
/// std::fs::write(&other, "OP CODE\n")?;
/// assert_eq!(recording::other_ops_csvs(&one), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn other_ops_csvs(path: &Path) -> usize {
    let entries = path.parent().and_then(|folder| folder.read_dir().ok());
    let paths = entries.into_iter().flatten().flatten().map(|entry| entry.path());
    paths.filter(|other| other != path && is_ops_csv(other)).count()
}

fn is_ops_csv(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("ops_perf_results") && name.ends_with(".csv") && path.is_file()
}

/// Finds the captures of profiled processes in a folder or in its `.logs`. They are sorted by name.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// assert!(recording::device_captures(folder.path()).is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
#[must_use]
pub fn device_captures(folder: &Path) -> Vec<PathBuf> {
    let folders = [folder.to_owned(), folder.join(".logs")];
    let entries = folders.iter().filter_map(|folder| folder.read_dir().ok()).flatten().flatten();
    let mut paths: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(DEVICE_CAPTURE_PREFIX))
        })
        .collect();
    paths.retain(|path| is_capture(path));
    paths.sort();
    paths
}

fn load_captures(paths: &[PathBuf]) -> Result<Loaded, LoadError> {
    let mut all = Loaded::default();
    for path in paths {
        let Loaded { recordings, problem_count } = load_capture(path)?;
        all.recordings.extend(recordings);
        all.problem_count = all.problem_count.saturating_add(problem_count);
    }
    Ok(all)
}

fn open_folder(folder: &Path, memory: &Arc<PackedMemory>) -> Result<OpenedLog, LoadError> {
    let path = device_log(folder);
    let Some((path, logs)) = path.as_deref().and_then(|path| Some((path, path.parent()?))) else {
        return Err(LoadError::NoDeviceLog { folder: folder.to_owned() });
    };
    let (log, host) =
        rayon::join(|| PackedLog::open_within(path, memory), || HostOps::from_folder(logs));
    let mut log = log?;
    name_unknown_zones(&mut log, logs)?;
    let ops_csv = newest_ops_csv(folder);
    let mut log = OpenedLog { host, ops_csv, ..log.into() };
    log.add_note(path);
    add_harvesting(&mut log, logs);
    Ok(log)
}

fn load_capture(path: &Path) -> Result<Loaded, LoadError> {
    let capture = Capture::open(path)?;
    let problem_count = capture.check().problems.len() as u64;
    let runs = capture.runs()?;
    Ok(Loaded { recordings: Recording::from_captured_runs(runs), problem_count })
}

/// Names the zones that have no name in the log. The names come from the zone logs in the same
/// folder.
fn name_unknown_zones(log: &mut PackedLog, logs: &Path) -> Result<(), ZoneNamesError> {
    let mut names = ZoneNames::new();
    names.add_log_folder(logs)?;
    let (table, anomalies) = names.finish();
    let zones = &mut log.readout.zones;
    let unknown: Vec<_> = table
        .places()
        .filter(|&(id, _)| zones.sources(ZoneIndex(id.0.into())).is_empty())
        .collect();
    for (id, source) in unknown {
        zones.add(id, source.clone());
    }
    log.lanes.add_anomalies(anomalies);
    Ok(())
}

/// Returns true if a file begins with the magic bytes of captures. Up to three of the eight bytes
/// may be damaged.
#[must_use]
pub fn is_capture(path: &Path) -> bool {
    // Only a plain file can be read again from its beginning; a pipe cannot.
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    let mut found = [0; FILE_MAGIC.len()];
    let is_read = File::open(path).and_then(|mut file| file.read_exact(&mut found)).is_ok();
    let equal = found.iter().zip(FILE_MAGIC).filter(|&(&found, expected)| found == expected);
    is_read && equal.count() > FILE_MAGIC.len() / 2
}
