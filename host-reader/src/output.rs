//! All kinds of files to which a recording can be written, by name.

use crate::{
    export::{
        CancelFlag, Destination, ExportFormat, Trace, TraceFilter, WriteError, write_atomically,
    },
    log::write_device_log,
    noc_events::{NocLanes, NocPrograms, NocTraces, ProgramTrace, TraceNotes, TraceOptions},
    recording::{Recording, logs_folder},
    report::{OpsOptions, OpsReport},
    sync::write_sync_info,
    zone_names::write_zone_log,
};
use std::{borrow::Borrow, fmt, io, path::Path, str::FromStr};

/// A kind of file or folder to which a recording can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// A trace for a viewer, or an HTML page.
    Trace(ExportFormat),
    /// TT-Metal's `profile_log_device.csv`.
    DeviceLog,
    /// TT-Metal's `ops_perf_results.csv`.
    Ops,
    /// TT-Metal's `cpp_device_perf_report.csv`.
    DevicePerf,
    /// TT-Metal's `zone_src_locations.log`.
    ZoneLog,
    /// TT-Metal's `sync_device_info.csv`.
    SyncInfo,
    /// A folder of TT-Metal's `noc_trace_*.json` and `cluster_coordinates.json`.
    NocTraces,
    /// A folder of Parquet files.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Reason why an output was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputError {
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The folder could not be created.
    #[error("cannot make the folder {folder}: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The recording has no data for this output.
    #[error("expected {expected} in the recording, found none; nothing was written")]
    Empty {
        /// Description of the missing data.
        expected: &'static str,
    },
}

/// Error for an unknown output name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no output `{found}`; choose from {}", labels())]
pub struct UnknownOutput {
    found: String,
}

/// Error for a path whose ending belongs to no output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an output, or a path that ends in one of {}; found {found}", endings().join(", ")
)]
pub struct UnknownEnding {
    found: String,
}

/// Returns the endings of all outputs that are files.
fn endings() -> Vec<&'static str> {
    Output::all().flat_map(|output| output.endings().iter().copied()).collect()
}

/// Returns the names of all outputs in one line.
fn labels() -> String {
    Output::all().map(Output::label).collect::<Vec<_>>().join(", ")
}

impl Output {
    /// Outputs other than traces.
    const OTHERS: &'static [Self] = &[
        Self::DeviceLog,
        Self::Ops,
        Self::DevicePerf,
        Self::ZoneLog,
        Self::SyncInfo,
        Self::NocTraces,
        #[cfg(feature = "parquet")]
        Self::Parquet,
    ];

    /// Returns every output, traces first.
    pub fn all() -> impl Iterator<Item = Self> {
        ExportFormat::ALL.iter().copied().map(Self::Trace).chain(Self::OTHERS.iter().copied())
    }

    /// Returns the name of the output.
    ///
    /// ```
    /// use host_reader::output::Output;
    /// assert!(Output::all().all(|output| output.label().parse() == Ok(output)));
    /// let error = "csv".parse::<Output>().unwrap_err();
    /// assert!(error.to_string().starts_with("there is no output `csv`; choose from perfetto, "));
    /// ```
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Trace(format) => format.label(),
            Self::DeviceLog => "device-log",
            Self::Ops => "ops",
            Self::DevicePerf => "device-perf",
            Self::ZoneLog => "zone-log",
            Self::SyncInfo => "sync-info",
            Self::NocTraces => "noc-traces",
            #[cfg(feature = "parquet")]
            Self::Parquet => "parquet",
        }
    }

    /// Returns the endings of file names by which the output is recognised, the default first;
    /// empty for folders.
    #[must_use]
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Trace(format) => format.endings(),
            Self::DeviceLog => &["profile_log_device.csv"],
            Self::Ops => &["ops_perf_results.csv"],
            Self::DevicePerf => &["cpp_device_perf_report.csv"],
            Self::ZoneLog => &["zone_src_locations.log"],
            Self::SyncInfo => &["sync_device_info.csv"],
            Self::NocTraces => &[],
            #[cfg(feature = "parquet")]
            Self::Parquet => &[],
        }
    }

    /// Returns the output whose ending a path has.
    ///
    /// ```
    /// use host_reader::output::Output;
    /// use std::path::Path;
    /// let output = |path| Output::from_path(Path::new(path));
    /// assert_eq!(output("logs/profile_log_device.csv"), Ok(Output::DeviceLog));
    /// assert_eq!(output("run.folded.txt").map(Output::label), Ok("folded"));
    /// let error = output("run.csv").unwrap_err().to_string();
    /// assert!(error.starts_with("expected an output, or a path that ends in one of .pftrace, "));
    /// ```
    ///
    /// # Errors
    /// If no output has the ending.
    pub fn from_path(path: &Path) -> Result<Self, UnknownEnding> {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let lower = name.to_ascii_lowercase();
        let with_endings =
            Self::all().flat_map(|output| output.endings().iter().map(move |end| (end, output)));
        let fitting = with_endings.filter(|(end, _)| lower.ends_with(**end));
        let longest = fitting.max_by_key(|(end, _)| end.len());
        longest.map(|(_, output)| output).ok_or_else(|| UnknownEnding { found: name.into_owned() })
    }

    /// Writes a recording to a path.
    ///
    /// A file gets its final name only after it is complete. `filter` selects the contents of
    /// traces and reports. The times in a report are the same as in a trace with the same filter.
    ///
    /// `title` is the name of the recording in traces and datasets.
    ///
    /// # Errors
    /// If the path cannot be written, or the recording has no data for this output.
    pub fn write(
        self,
        recording: &Recording,
        title: &str,
        filter: &TraceFilter,
        path: &Path,
    ) -> Result<(), OutputError> {
        match self {
            Self::Trace(format) => write_trace(recording, title, filter, format, path),
            Self::DeviceLog => {
                whole(path, |mut out| write_device_log(&recording.readout, &mut out).map(drop))
            }
            Self::ZoneLog => {
                whole(path, |mut out| write_zone_log(&recording.readout.zones, &mut out).map(drop))
            }
            Self::SyncInfo if recording.samples.ping_count() == 0 => {
                Err(OutputError::Empty { expected: "clock samples" })
            }
            Self::SyncInfo => whole(path, |out| write_sync_info(&recording.samples, out).map(drop)),
            Self::Ops => {
                whole(path, |out| out.write_all(report(recording, filter).ops_csv.as_bytes()))
            }
            Self::DevicePerf => {
                let csv = report(recording, filter).device_perf_csv;
                let csv = csv.ok_or(OutputError::Empty { expected: "launches of a chip" })?;
                whole(path, |out| out.write_all(csv.as_bytes()))
            }
            Self::NocTraces => write_noc_traces(recording, path),
            #[cfg(feature = "parquet")]
            Self::Parquet => write_dataset(recording, title, filter, path),
        }
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.label())
    }
}

impl FromStr for Output {
    type Err = UnknownOutput;

    fn from_str(text: &str) -> Result<Self, UnknownOutput> {
        let found = Self::all().find(|output| output.label() == text);
        found.ok_or_else(|| UnknownOutput { found: text.to_owned() })
    }
}

fn report(recording: &Recording, filter: &TraceFilter) -> OpsReport {
    let options = OpsOptions { filter: filter.clone(), ..OpsOptions::default() };
    OpsReport::from_recording(recording, &options)
}

fn whole(
    path: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), OutputError> {
    let to = Destination::File(path.to_owned());
    write_atomically(&to, &CancelFlag::default(), write).map_err(OutputError::from)
}

fn write_trace(
    recording: &Recording,
    title: &str,
    filter: &TraceFilter,
    format: ExportFormat,
    path: &Path,
) -> Result<(), OutputError> {
    let mut trace = Trace::new(recording, filter);
    title.clone_into(&mut trace.title);
    trace.memory = memory_of(recording, filter);
    format.add_causes(&mut trace, recording);
    whole(path, |out| format.write(&trace, out, &mut |_| {}))
}

/// Returns what memory held during the ops that a filter selects, as far as the recording itself has it:
/// launch messages are in a file beside a capture.
#[must_use]
pub fn memory_of(
    recording: &Recording,
    filter: &TraceFilter,
) -> Option<crate::export::TraceMemory> {
    crate::export::TraceMemory::new(crate::op_memory::usage_of(recording, Vec::new()), filter)
}

fn write_noc_traces(recording: &Recording, folder: &Path) -> Result<(), OutputError> {
    let names = recording.op_names();
    let lanes = NocLanes::from_readout(&recording.readout);
    let programs = NocPrograms::new(&lanes, &recording.readout, &TraceOptions::default());
    if programs.is_empty() {
        let (traces, _) = recording.noc_events_beside();
        if traces.is_empty() {
            return Err(OutputError::Empty { expected: "NoC events" });
        }
        return write_noc_folder(folder, traces, None).map(drop);
    }
    let mut notes = TraceNotes::default();
    write_noc_folder(
        folder,
        programs.traces(|chip_id, program| names.get(&(chip_id, program)).copied(), &mut notes),
        None,
    )
    .map(drop)
}

/// Writes TT-Metal's `noc_trace_*.json` files, replacing existing files. Returns the number of
/// files.
///
/// Also writes two files with data that is not part of a recording. Existing files are not changed.
///
/// - `cluster_coordinates.json` has the positions of the chips in the cluster. The file is copied
///   from the folder of `input`. If that folder has no such file, the positions are written as
///   unknown.
/// - `topology.json` has the connections between chips. The file is copied from the folder of
///   `input`. If that folder has no such file, no file is written.
///
/// # Errors
/// If a file cannot be written.
pub fn write_noc_folder(
    folder: &Path,
    traces: impl IntoIterator<Item = impl Borrow<ProgramTrace>>,
    input: Option<&Path>,
) -> Result<u64, OutputError> {
    std::fs::create_dir_all(folder)
        .map_err(|source| OutputError::Folder { folder: folder.display().to_string(), source })?;
    let mut file_count = 0_u64;
    for trace in traces {
        let trace = trace.borrow();
        write_noc_file(&folder.join(trace.file_name()), trace)?;
        file_count = file_count.saturating_add(1);
    }
    let unknown = Some(NocTraces::UNKNOWN_CLUSTER.as_bytes());
    for (name, otherwise) in [(NocTraces::CLUSTER_FILE, unknown), (NocTraces::TOPOLOGY_FILE, None)]
    {
        let file = folder.join(name);
        if file.exists() {
            continue;
        }
        let known = input.and_then(|input| {
            let beside = if input.is_dir() { input } else { input.parent()? };
            std::fs::read(logs_folder(beside, name)?.join(name)).ok()
        });
        if let Some(text) = known.or_else(|| otherwise.map(Into::into)) {
            whole(&file, |out| out.write_all(&text))?;
        }
    }
    Ok(file_count)
}

/// Writes the `noc_trace_*.json` of one program, replacing an existing file.
///
/// # Errors
/// If the file cannot be written.
pub fn write_noc_file(file: &Path, trace: &ProgramTrace) -> Result<(), OutputError> {
    whole(file, |out| out.write_all(trace.to_json().as_bytes()))
}

#[cfg(feature = "parquet")]
fn write_dataset(
    recording: &Recording,
    title: &str,
    filter: &TraceFilter,
    folder: &Path,
) -> Result<(), OutputError> {
    let trace = Trace::new(recording, filter);
    let name = match title {
        "" => trace.recording_id(),
        title => format!("{title}-{}", trace.recording_id()),
    };
    let labels = crate::export::DatasetLabels {
        date: None,
        run: name.clone(),
        file: format!("local {name}"),
        has_one_recording: true,
    };
    let files = crate::export::ParquetDataset::new(&folder.into(), labels, &CancelFlag::default());
    // The name is never empty, so this error does not occur.
    let mut files = files.map_err(|_| OutputError::Empty { expected: "a name" })?;
    let key = crate::tables::RecordingKey { host: "local", recording: &name };
    let report = report(recording, filter);
    let usage = crate::op_memory::usage_of(recording, Vec::new());
    files.add(&crate::export::AddedRecording {
        key,
        machine: None,
        trace: &trace,
        ops_csv: Some(&*report.ops_csv),
        memory: Some(crate::export::OpMemory { usage: &usage, filter }),
    })?;
    files.finish()?;
    Ok(())
}
