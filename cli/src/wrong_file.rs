//! Detects the kind of a file that was given to the wrong command, and suggests the right command.

use crate::failure::Failure;
use host_reader::recording::device_perf_report;
use std::{fs::File, io::Read, path::Path};

/// Number of bytes read to identify a file.
const HEAD_BYTES: u64 = 4096;

/// Kinds of files, identified by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileKind {
    /// `ops_perf_results*.csv` with op names, or the CSV in which TT-Metal's streaming profiler
    /// lists programs.
    OpsCsv,
    /// Ops of the device alone, without a column `OP CODE`: `cpp_device_perf_report.csv`, or
    /// `ops_perf_results*.csv` made only from a device log.
    DeviceOpsCsv,
    /// A Tracy recording.
    TracyFile,
    /// `profile_log_device.csv`.
    DeviceLog,
    /// `noc_trace_*.json`.
    NocTrace,
    Folder,
    Absent,
    Other,
}

impl FileKind {
    fn from_path(path: &Path) -> Self {
        if path.is_dir() {
            return Self::Folder;
        }
        if !path.exists() && path != Path::new("-") {
            return Self::Absent;
        }
        // Reading a pipe would consume its content before the command does.
        if !path.is_file() {
            return Self::Other;
        }
        let mut head = Vec::new();
        let is_read =
            File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
        if is_read.is_ok() { Self::from_head(&head) } else { Self::Other }
    }

    /// Identifies a file by its first bytes.
    ///
    /// # Compatibility
    /// Tracy's files begin with `tlZ` or `tr`, then a packet type. The headers of CSV files are
    /// those that TT-Metal's `process_ops_logs.py` and `profiler.cpp` write.
    fn from_head(head: &[u8]) -> Self {
        const TRACY: [&[u8]; 3] = [b"tlZ\x04", b"tr\xFDP", b"tracy\0"];
        if TRACY.iter().any(|magic| head.starts_with(magic)) {
            return Self::TracyFile;
        }
        if is_noc_trace(head) {
            return Self::NocTrace;
        }
        // Spreadsheets write a byte order mark and put titles in quotes.
        let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
        let line = String::from_utf8_lossy(head.split(|&byte| byte == b'\n').next().unwrap_or(&[]));
        let has =
            |title: &str| line.split(',').any(|column| column.trim().trim_matches('"') == title);
        if line.starts_with("ARCH: ") {
            Self::DeviceLog
        } else if has("OP CODE") || (has("GLOBAL CALL COUNT") && has("EXECUTION")) {
            Self::OpsCsv
        } else if has("GLOBAL CALL COUNT") && has("DEVICE ARCH") {
            Self::DeviceOpsCsv
        } else {
            Self::Other
        }
    }
}

/// Returns true if `head` begins a noc_trace file: a list of NoC events that TT-Metal writes for
/// each op.
fn is_noc_trace(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let is_list =
        text.trim_start().strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with('{'));
    is_list && ["\"run_host_id\"", "\"proc\"", "\"timestamp\""].iter().all(|key| text.contains(key))
}

/// Returns true if the file is a table of ops.
pub(crate) fn is_ops_csv(path: &Path) -> bool {
    matches!(FileKind::from_path(path), FileKind::OpsCsv | FileKind::DeviceOpsCsv)
}

/// Replaces the failure to read a recording by a hint to a command that can read the file. If no
/// command can read the file, returns the failure unchanged.
pub(crate) fn instead_of_recording(path: &Path, failure: Failure) -> Failure {
    let shown = path.display();
    let expected = "expected a device log, a capture or a folder with .logs";
    let sentence = match FileKind::from_path(path) {
        FileKind::OpsCsv => {
            format!(
                "{expected}, found an ops CSV, {shown}; `kprof perf {shown}` and `kprof explain {shown}` read it, \
                 `kprof export {shown} -o page.html` writes a page about it"
            )
        }
        FileKind::DeviceOpsCsv => format!(
            "{expected}, found a table of the ops on a device, {shown}; `kprof perf {shown}` and \
             `kprof explain {shown}` read it"
        ),
        FileKind::TracyFile => format!(
            "{expected}, found a recording of Tracy, {shown}; name the \
             profile_log_device.csv next to it"
        ),
        FileKind::NocTrace => format!(
            "{expected}, found a NoC trace of one op, {shown}; `kprof noc {shown}` shows its \
             traffic; for pages, Perfetto traces and tables, name the device log next to it, \
             which has the same events"
        ),
        FileKind::Absent => format!("{expected} at {shown}, found nothing there"),
        FileKind::Folder => match device_perf_report(path) {
            Some(report) => format!(
                "{expected}, found only TT-Metal's table of the ops on a device, {}; `kprof perf {shown}` \
                 and `kprof explain {shown}` read it",
                report.display()
            ),
            None => return failure,
        },
        FileKind::DeviceLog | FileKind::Other => return failure,
    };
    Failure::Sentence(sentence)
}

/// Replaces the failure to read an ops CSV by a hint to a command that can read the file. Without
/// such a command, returns the failure unchanged.
pub(crate) fn instead_of_ops_csv(path: &Path, failure: Failure) -> Failure {
    let shown = path.display();
    let expected = "expected an ops CSV with op names";
    let sentence = match FileKind::from_path(path) {
        FileKind::TracyFile => format!(
            "{expected}, found a recording of Tracy, {shown}; `kprof ops FOLDER` makes the ops \
             CSV from the folder with tt-metal's logs"
        ),
        FileKind::DeviceLog => format!(
            "{expected}, found a device log, {shown}; `kprof report {shown}` shows it, \
             `kprof ops` makes the ops CSV of its folder"
        ),
        FileKind::Folder => format!(
            "{expected}, found the folder {shown} without one; `kprof ops {shown}` makes it"
        ),
        FileKind::Absent => format!("{expected} at {shown}, found nothing there"),
        FileKind::OpsCsv | FileKind::DeviceOpsCsv | FileKind::NocTrace | FileKind::Other => {
            return failure;
        }
    };
    Failure::Sentence(sentence)
}

#[cfg(test)]
mod tests {
    use super::FileKind;

    #[test]
    fn files_are_told_apart_by_their_first_bytes() {
        for (head, kind) in [
            (&b"tlZ\x04\x13^"[..], FileKind::TracyFile),
            (b"tr\xFDP\0", FileKind::TracyFile),
            (b"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nx", FileKind::DeviceLog),
            (b"OP CODE,OP TYPE,GLOBAL CALL COUNT\n", FileKind::OpsCsv),
            (b"\xEF\xBB\xBFOP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ARCH\r\n", FileKind::OpsCsv),
            (b"\"GLOBAL CALL COUNT\",\"OP CODE\"\r\n", FileKind::OpsCsv),
            (b"\xEF\xBB\xBFARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nx", FileKind::DeviceLog),
            (b"GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,CORE COUNT\n1", FileKind::DeviceOpsCsv),
            (b"DEVICE ID,GLOBAL CALL COUNT,EXECUTION,CORE COUNT\n", FileKind::OpsCsv),
            (b"GLOBAL CALL COUNT,DEVICE ID,OP CODES\n", FileKind::Other),
            (
                b"[\n  {\n    \"proc\": \"BRISC\",\n    \"run_host_id\": 1024,\n    \"timestamp\": 7",
                FileKind::NocTrace,
            ),
            (b"[\n  {\n    \"proc\": \"BRISC\",\n    \"timestamp\": 7", FileKind::Other),
            (b"{\"proc\": 1, \"run_host_id\": 1024, \"timestamp\": 7}", FileKind::Other),
            (b"", FileKind::Other),
        ] {
            assert_eq!(FileKind::from_head(head), kind, "{}", String::from_utf8_lossy(head));
        }
    }
}
