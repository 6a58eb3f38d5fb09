//! Kinds of files, told apart by their first bytes, and the commands that read each kind.

mod head;
#[cfg(test)]
mod tests;

use crate::failure::Failure;
use head::Head;
use host_reader::recording::{
    DEVICE_LOG, device_captures, device_log, device_perf_report, is_capture,
};
use std::{fs::File, io::Read, path::Path};

/// Name of standard input in messages.
pub(crate) const STANDARD_INPUT: &str = "standard input";

/// Number of bytes read to identify a file.
const HEAD_BYTES: u64 = 16 << 10;

/// Kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileKind {
    Capture,
    DeviceLog,
    /// `ops_perf_results*.csv` with op names, or the CSV in which TT-Metal's streaming profiler
    /// lists programs.
    OpsCsv,
    /// Ops of the device alone, without a column `OP CODE`: `cpp_device_perf_report.csv`, or
    /// `ops_perf_results*.csv` made only from a device log.
    DeviceOpsCsv,
    NocTrace,
    /// A file from which no command reads a recording.
    Unread(Unread),
    Folder,
    Absent,
    /// A pipe or device, whose content can be read only once.
    Stream,
}

/// Kind of a file from which no command reads a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// A device log whose first line is lost.
    LogWithoutChip,
    /// Lines of a device log whose first two lines are lost.
    LogWithoutTitles,
    /// A table of ops that has neither names of ops nor the columns of another such table.
    OpsCsvWithoutNames,
    /// A table of ops or a device log with another separator than a comma.
    OtherSeparator,
    /// The CSV of ops that tt-perf-report and `kprof perf --csv` write.
    PerfReport,
    /// The summary that tt-perf-report and `kprof perf --csv` write.
    PerfSummary,
    /// `per_core_op_to_op_times.csv`.
    CoreTimes,
    /// `tracy_ops_times.csv`.
    HostTimes,
    /// `tracy_ops_data.csv`.
    HostMessages,
    /// Statistics of zones of the host, as Tracy's csvexport writes them.
    TracyZones,
    /// Records of programs that the example of TT-Metal's real-time profiler writes, as CSV or JSON.
    RealtimeRecords,
    /// A CSV of tt-llk's performance tests.
    LlkPerf,
    /// A CSV of the zones that tt-llk's profiler has read.
    LlkZones,
    /// `sync_device_info.csv`.
    SyncInfo,
    /// `zone_src_locations.log`.
    ZoneLog,
    /// `cluster_descriptor.yaml`.
    ClusterDescriptor,
    TracyFile,
    ChromeTrace,
    Speedscope,
    Parquet,
    /// A page of `kprof export`, or any other page.
    Page,
    Svg,
    Gzip,
    Zstandard,
    Zip,
    Sqlite,
    Elf,
    Utf16,
    Json,
    OtherCsv,
    OtherText,
    OtherBytes,
    Empty,
}

impl Unread {
    /// All kinds.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 33] = [
        Self::LogWithoutChip,
        Self::LogWithoutTitles,
        Self::OpsCsvWithoutNames,
        Self::OtherSeparator,
        Self::PerfReport,
        Self::PerfSummary,
        Self::CoreTimes,
        Self::HostTimes,
        Self::HostMessages,
        Self::TracyZones,
        Self::RealtimeRecords,
        Self::LlkPerf,
        Self::LlkZones,
        Self::SyncInfo,
        Self::ZoneLog,
        Self::ClusterDescriptor,
        Self::TracyFile,
        Self::ChromeTrace,
        Self::Speedscope,
        Self::Parquet,
        Self::Page,
        Self::Svg,
        Self::Gzip,
        Self::Zstandard,
        Self::Zip,
        Self::Sqlite,
        Self::Elf,
        Self::Utf16,
        Self::Json,
        Self::OtherCsv,
        Self::OtherText,
        Self::OtherBytes,
        Self::Empty,
    ];

    /// Returns what the file is.
    const fn name(self) -> &'static str {
        match self {
            Self::LogWithoutChip => "a device log without its first line",
            Self::LogWithoutTitles => "lines of a device log without its first two lines",
            Self::OpsCsvWithoutNames => "a table of ops without the column `OP CODE`",
            Self::OtherSeparator => "a table whose cells are not separated by commas",
            Self::PerfReport => "the CSV that tt-perf-report and `kprof perf --csv` write",
            Self::PerfSummary => "the summary that tt-perf-report and `kprof perf --csv` write",
            Self::CoreTimes => "a table of the times between the ops of each core",
            Self::HostTimes => "the host's zones in time, as Tracy's csvexport writes them",
            Self::HostMessages => "the host's messages about ops",
            Self::TracyZones => "statistics of the host's zones by Tracy's csvexport",
            Self::RealtimeRecords => "records of programs by TT-Metal's real-time profiler",
            Self::LlkPerf => "the results of tt-llk's performance tests",
            Self::LlkZones => "the zones of tt-llk's profiler",
            Self::SyncInfo => "samples of clocks",
            Self::ZoneLog => "a list of the zones' names",
            Self::ClusterDescriptor => "a description of a cluster",
            Self::TracyFile => "a recording of Tracy",
            Self::ChromeTrace => "a trace for Chrome's and Perfetto's viewers",
            Self::Speedscope => "a profile for speedscope",
            Self::Parquet => "a Parquet file",
            Self::Page => "an HTML page",
            Self::Svg => "a picture (SVG)",
            Self::Gzip => "a file compressed by gzip",
            Self::Zstandard => "a file compressed by zstd",
            Self::Zip => "a ZIP archive",
            Self::Sqlite => "an SQLite database",
            Self::Elf => "a program or kernel (ELF)",
            Self::Utf16 => "text in UTF-16",
            Self::Json => "another JSON file",
            Self::OtherCsv => "another CSV",
            Self::OtherText => "other text",
            Self::OtherBytes => "other bytes",
            Self::Empty => "an empty file",
        }
    }

    /// Returns what to do instead of naming the file; empty if that depends on the command alone.
    const fn advice(self) -> &'static str {
        match self {
            Self::LogWithoutChip => {
                "restore the line `ARCH: <name>, CHIP_FREQ[MHz]: <number>` above the titles"
            }
            Self::LogWithoutTitles => {
                "restore the line `ARCH: <name>, CHIP_FREQ[MHz]: <number>` and the titles above them"
            }
            Self::OpsCsvWithoutNames => {
                "a table of ops tells them apart by names in the column `OP CODE` or, in TT-Metal's table \
                 of the device alone, by `GLOBAL CALL COUNT` with `DEVICE ARCH`; name the \
                 ops_perf_results*.csv from which it was cut, or a table that `kprof ops` makes of the \
                 run's logs"
            }
            Self::OtherSeparator => "save it with commas",
            Self::PerfReport | Self::PerfSummary => {
                "name the ops CSV from which it was made, ops_perf_results*.csv"
            }
            Self::CoreTimes => {
                "name the ops_perf_results*.csv or the profile_log_device.csv beside it"
            }
            Self::HostTimes => {
                "it has times of the host alone; beside a device log, as tracy_ops_times.csv, `kprof ops` \
                 reads it with the rest of the folder: name the folder, or the ops_perf_results*.csv of \
                 the same run"
            }
            Self::HostMessages => "name the folder, which `kprof ops` reads as a whole",
            Self::TracyZones => {
                "it has times of the host alone; name the profile_log_device.csv or the \
                 ops_perf_results*.csv of the same run"
            }
            Self::RealtimeRecords => {
                "it has the start and the end of each program, which kprof takes from the profiler \
                 itself: record the run with `kprof record`, or name its profile_log_device.csv"
            }
            Self::LlkPerf => {
                "it holds means of cycles, which kprof does not read; name the profile_log_device.csv of \
                 a run of the kernel in TT-Metal"
            }
            Self::LlkZones => {
                "it has neither chip nor clock, so kprof does not read it; name the profile_log_device.csv \
                 of a run of the kernel in TT-Metal"
            }
            Self::SyncInfo | Self::ZoneLog | Self::ClusterDescriptor => {
                "name the folder, or the profile_log_device.csv beside it"
            }
            Self::TracyFile => {
                "name the profile_log_device.csv next to it, or the folder with tt-metal's logs, of \
                 which `kprof ops FOLDER` makes the ops CSV"
            }
            Self::ChromeTrace | Self::Speedscope => "name the recording from which it was exported",
            Self::Parquet => {
                "name the recording from which it was exported, or open it with an SQL engine \
                 (`kprof schema --views duckdb`)"
            }
            Self::Page | Self::Svg => "open it in a browser",
            Self::Gzip => "unpack it, `gunzip -k`, or `tar xzf` if it is an archive of files",
            Self::Zstandard => "unpack it, `zstd -d`",
            Self::Zip => "unpack it, `unzip`",
            Self::Sqlite => "name the device log or the ops CSV of the same run",
            Self::Elf => "start it with `kprof record -- PROGRAM`, or name a recording",
            Self::Utf16 => "save it as UTF-8",
            Self::Json | Self::OtherCsv | Self::OtherText | Self::OtherBytes | Self::Empty => "",
        }
    }
}

/// Input of a command: what it expects, in words, the kinds that it reads, and where to find such a
/// file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    expected: &'static str,
    kinds: &'static [FileKind],
    advice: &'static str,
}

/// A recording: a device log, a capture or a folder.
pub(crate) const RECORDING: Input = Input {
    expected: "expected a device log, a capture or a folder with .logs",
    kinds: &[FileKind::DeviceLog, FileKind::Capture],
    advice: "name the profile_log_device.csv that a run with TT_METAL_DEVICE_PROFILER=1 writes when \
             the device is closed, or a capture of `kprof record`",
};

/// A recording, or a table of ops.
pub(crate) const EXPLAINED: Input = Input {
    expected: "expected a device log, a capture, an ops CSV or a folder with .logs",
    kinds: &[FileKind::DeviceLog, FileKind::Capture, FileKind::OpsCsv, FileKind::DeviceOpsCsv],
    advice: RECORDING.advice,
};

/// A table of ops.
pub(crate) const OPS: Input = Input {
    expected: "expected an ops CSV with op names",
    kinds: &[FileKind::OpsCsv, FileKind::DeviceOpsCsv],
    advice: "name the ops_perf_results*.csv that `kprof ops` or tt-metal's scripts make of a run's logs",
};

/// A capture.
pub(crate) const CAPTURE: Input = Input {
    expected: "expected a capture",
    kinds: &[FileKind::Capture],
    advice: "name a capture, as `kprof record` or `kprof capture` writes it",
};

/// A capture with the buffers of ops.
pub(crate) const MEMORY: Input = Input {
    expected: "expected a capture with buffers",
    kinds: &[FileKind::Capture],
    advice: "record one with `kprof record --device-memory-profiler`",
};

impl FileKind {
    /// Identifies the file at the path.
    pub(crate) fn from_path(path: &Path) -> Self {
        if path.is_dir() {
            return Self::Folder;
        }
        if path == Path::new("-") {
            return Self::Stream;
        }
        if !path.exists() {
            return Self::Absent;
        }
        // Reading a pipe would consume its content before the command does.
        if !path.is_file() {
            return Self::Stream;
        }
        // A capture is recognised even if some of its first bytes are damaged.
        if is_capture(path) {
            return Self::Capture;
        }
        let head = File::open(path).and_then(|mut file| head(&mut file));
        head.map_or(Self::Stream, |head| Self::from_head(&head))
    }

    /// Identifies a file by its first bytes.
    pub(crate) fn from_head(bytes: &[u8]) -> Self {
        Head::new(bytes).kind()
    }

    /// Returns what the file is, and what to do if a command does not read it.
    fn words(self, shown: &str) -> Option<(&'static str, String)> {
        let readers = match self {
            Self::Unread(kind) => {
                return Some((kind.name(), kind.advice().to_owned()));
            }
            Self::Capture => (
                "a capture",
                format!(
                    "`kprof report {shown}` and `kprof explain {shown}` read it, `kprof ops {shown}` makes \
                     the ops CSV"
                ),
            ),
            Self::DeviceLog => (
                "a device log",
                format!(
                    "`kprof report {shown}` and `kprof explain {shown}` read it, `kprof ops {shown}` makes \
                     the ops CSV"
                ),
            ),
            Self::OpsCsv => (
                "an ops CSV",
                format!(
                    "`kprof perf {shown}` and `kprof explain {shown}` read it, \
                     `kprof export {shown} -o page.html` writes a page about it"
                ),
            ),
            Self::DeviceOpsCsv => (
                "a table of the ops on a device",
                format!("`kprof perf {shown}` and `kprof explain {shown}` read it"),
            ),
            Self::NocTrace => (
                "a NoC trace of one op",
                format!(
                    "`kprof noc {shown}` shows its traffic; for pages, Perfetto traces and tables, \
                     name the device log next to it, which has the same events"
                ),
            ),
            Self::Folder | Self::Absent | Self::Stream => return None,
        };
        Some(readers)
    }
}

impl Input {
    /// Replaces the failure to read a path by a sentence that says what the path holds, and what
    /// reads it. If the command reads such files, returns the failure unchanged: it says where the
    /// content is wrong.
    pub(crate) fn instead(self, path: &Path, failure: Failure) -> Failure {
        let kind = FileKind::from_path(path);
        let (expected, shown) = (self.expected, path.display().to_string());
        if self.kinds.contains(&kind) {
            return failure;
        }
        Failure::Sentence(match (kind, kind.words(&shown)) {
            (_, Some((name, advice))) => self.sentence(name, &shown, &advice),
            (FileKind::Absent, None) => format!("{expected} at {shown}, found nothing there"),
            (FileKind::Folder, None) if self.kinds.contains(&FileKind::OpsCsv) => {
                match has_records(path) {
                    true => format!(
                        "{expected}, found the folder {shown} without one; `kprof ops {shown}` makes it"
                    ),
                    false => format!(
                        "{expected}, found the folder {shown} with neither ops_perf_results*.csv nor \
                     {DEVICE_LOG}; {}",
                        self.advice
                    ),
                }
            }
            (FileKind::Folder, None) if self.kinds.contains(&FileKind::DeviceLog) => {
                let Some(report) = device_perf_report(path) else { return failure };
                format!(
                    "{expected}, found only TT-Metal's table of the ops on a device, {}; `kprof perf \
                     {shown}` and `kprof explain {shown}` read it",
                    report.display()
                )
            }
            (FileKind::Folder, None) => {
                format!("{expected}, found the folder {shown}; name a file in it")
            }
            (_, None) => return failure,
        })
    }

    /// Replaces the failure to read a stream that begins with `head`.
    pub(crate) fn instead_of_stream(self, head: &[u8], failure: Failure) -> Failure {
        let kind = FileKind::from_head(head);
        if self.kinds.contains(&kind) {
            return failure;
        }
        let Some((name, advice)) = kind.words("FILE") else { return failure };
        let advice = match kind {
            FileKind::Unread(_) => advice,
            _ => format!("write it to a file: {advice}"),
        };
        Failure::Sentence(self.sentence(name, STANDARD_INPUT, &advice))
    }

    fn sentence(self, found: &str, shown: &str, advice: &str) -> String {
        let advice = if advice.is_empty() { self.advice } else { advice };
        format!("{}, found {found}, {shown}; {advice}", self.expected)
    }
}

/// Reads the first bytes of a stream, by which its kind is told.
pub(crate) fn head(input: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    input.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(head)
}

/// Returns true if a folder has device logs or captures.
pub(crate) fn has_records(path: &Path) -> bool {
    device_log(path).is_some() || !device_captures(path).is_empty()
}

/// Returns true if the file is a table of ops.
pub(crate) fn is_ops_csv(path: &Path) -> bool {
    matches!(FileKind::from_path(path), FileKind::OpsCsv | FileKind::DeviceOpsCsv)
}
