//! First bytes of a file, and the kind that they show.

use super::{FileKind, Unread};
use host_reader::perf::OpsCsvFormat;
use std::borrow::Cow;

/// First bytes of a file, as text and as a line of titles.
pub(super) struct Head<'a> {
    bytes: &'a [u8],
    text: Cow<'a, str>,
}

/// Beginnings of binary files.
///
/// # Compatibility
/// Tracy's files begin with `tlZ` or `tr`, then a packet type. The others are the magic numbers of
/// RFC 1952, RFC 8878, PKWARE's APPNOTE, Apache Parquet, SQLite and the System V ABI.
const MAGICS: [(&[u8], Unread); 10] = [
    (b"tlZ\x04", Unread::TracyFile),
    (b"tr\xFDP", Unread::TracyFile),
    (b"tracy\0", Unread::TracyFile),
    (b"\x1F\x8B", Unread::Gzip),
    (b"\x28\xB5\x2F\xFD", Unread::Zstandard),
    (b"PK\x03\x04", Unread::Zip),
    (b"PAR1", Unread::Parquet),
    (b"SQLite format 3\0", Unread::Sqlite),
    (b"\x7FELF", Unread::Elf),
    (b"\xFF\xFE", Unread::Utf16),
];

/// Tables of which one line of titles is enough to tell them, by titles that occur together only
/// there.
///
/// # Compatibility
/// Titles of `tt-perf-report` 1.4.1, `process_ops_logs.py`, Tracy's csvexport, also in TT-Metal's
/// fork, `tt_metal_profiler.cpp`, the profiler of tt-llk's tests, and the example of TT-Metal's
/// real-time profiler.
const TABLES: [(&[&str], Unread); 9] = [
    (&["Total %", "OP Code", "Device Time"], Unread::PerfReport),
    (&["Total % [%]", "Op Code", "Op Count"], Unread::PerfSummary),
    (&["device ID", "op2op ID"], Unread::CoreTimes),
    (&["name", "src_file", "src_line", "ns_since_start"], Unread::HostTimes),
    (&["name", "src_file", "src_line", "total_ns", "counts"], Unread::TracyZones),
    (&["program_id", "start_timestamp", "end_timestamp"], Unread::RealtimeRecords),
    (&["MessageName;total_ns"], Unread::HostMessages),
    (&["device id", "host_tracy", "tracy_ratio"], Unread::SyncInfo),
    (&["RISC", "marker", "id", "type", "timestamp"], Unread::LlkZones),
];

/// Titles by which a table of ops is known although it lacks `OP CODE`.
const OF_OPS: [&str; 6] = [
    "OP TYPE",
    "GLOBAL CALL COUNT",
    "ATTRIBUTES",
    "HOST START TS",
    "DEVICE FW DURATION [ns]",
    "DEVICE KERNEL DURATION [ns]",
];

impl<'a> Head<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        // Spreadsheets write a byte order mark.
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        Self { bytes, text: String::from_utf8_lossy(bytes) }
    }

    pub(super) fn kind(&self) -> FileKind {
        self.binary().map_or_else(|| self.of_text(), FileKind::Unread)
    }

    fn binary(&self) -> Option<Unread> {
        let magic = MAGICS.iter().find(|(magic, _)| self.bytes.starts_with(magic));
        if let Some((_, kind)) = magic {
            return Some(*kind);
        }
        if self.bytes.starts_with(b"\xFE\xFF") {
            return Some(Unread::Utf16);
        }
        self.bytes.contains(&0).then_some(Unread::OtherBytes)
    }

    fn of_text(&self) -> FileKind {
        let text = self.text.trim_start();
        let lines = text.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let Some(first) = lines.next() else { return FileKind::Unread(Unread::Empty) };
        let second = lines.next().unwrap_or("");
        if is_chip_line(first) {
            return FileKind::DeviceLog;
        }
        if is_noc_trace(text) {
            return FileKind::NocTrace;
        }
        table_of_ops(first).unwrap_or_else(|| {
            FileKind::Unread(of_titles(first).unwrap_or_else(|| of_words(text, [first, second])))
        })
    }
}

/// Returns the kind of a table of ops.
fn table_of_ops(titles: &str) -> Option<FileKind> {
    OpsCsvFormat::from_titles(cells(titles, ',')).map(|format| match format {
        OpsCsvFormat::Device => FileKind::DeviceOpsCsv,
        _ => FileKind::OpsCsv,
    })
}

/// Returns the kind of a table that no command reads, by its titles.
fn of_titles(first: &str) -> Option<Unread> {
    let titles: Vec<&str> = cells(first, ',').collect();
    let has_all = |wanted: &[&str]| wanted.iter().all(|title| titles.contains(title));
    if has_all(&["PCIe slot", "core_x", "core_y"]) {
        return Some(Unread::LogWithoutChip);
    }
    if is_log_line(&titles) {
        return Some(Unread::LogWithoutTitles);
    }
    // Which means it has depends on the test.
    if titles.contains(&"marker") && titles.iter().any(|title| title.starts_with("mean(")) {
        return Some(Unread::LlkPerf);
    }
    if let Some((_, kind)) = TABLES.iter().find(|(wanted, _)| has_all(wanted)) {
        return Some(*kind);
    }
    if OF_OPS.iter().filter(|title| titles.contains(title)).count() > 1 {
        return Some(Unread::OpsCsvWithoutNames);
    }
    let has_other = |separator: char| {
        let titles: Vec<&str> = cells(first, separator).collect();
        titles.contains(&"PCIe slot")
            || (titles.len() > 1 && OpsCsvFormat::from_titles(titles).is_some())
    };
    if [';', '\t', '|'].into_iter().any(has_other) {
        return Some(Unread::OtherSeparator);
    }
    None
}

/// Returns the kind of a text that has no known titles.
fn of_words(text: &str, first_lines: [&str; 2]) -> Unread {
    let has = |part: &str| text.contains(part);
    match text.get(..1) {
        Some("<") if has("<svg") && !has("<html") => return Unread::Svg,
        Some("<") if has("<html") || has("<!doctype html") || has("<!DOCTYPE html") => {
            return Unread::Page;
        }
        Some("{" | "[") if has("speedscope.app") => return Unread::Speedscope,
        Some("{" | "[") if has("\"traceEvents\"") || has("\"ph\"") => return Unread::ChromeTrace,
        Some("{" | "[") if is_realtime_records(text) => return Unread::RealtimeRecords,
        Some("{" | "[") => return Unread::Json,
        _ => {}
    }
    if has("'#pragma message: ") && has(",KERNEL_PROFILER") {
        return Unread::ZoneLog;
    }
    if has("harvesting:") && has("arch:") {
        return Unread::ClusterDescriptor;
    }
    // A table has as many commas in its second line as in its first.
    match first_lines.map(|line| line.matches(',').count()) {
        [first, second] if first > 0 && first == second => Unread::OtherCsv,
        _ => Unread::OtherText,
    }
}

/// Returns the cells of a line, without blanks and quotes around them.
fn cells(line: &str, separator: char) -> impl Iterator<Item = &str> {
    line.split(separator).map(|cell| cell.trim().trim_matches('"'))
}

/// Returns true for the first line of a device log, in both of its forms.
fn is_chip_line(line: &str) -> bool {
    line.starts_with("ARCH:") || line.starts_with("Chip clock is at ")
}

/// Returns true for a line of a device log: chip, core, RISC, id, time.
fn is_log_line(cells: &[&str]) -> bool {
    let [chip, x, y, risc, id, time, ..] = cells else { return false };
    let is_number = |cell: &&str| cell.parse::<u64>().is_ok();
    const RISCS: [&str; 4] = ["BRISC", "NCRISC", "TRISC", "ERISC"];
    [chip, x, y, id, time].into_iter().all(is_number)
        && RISCS.iter().any(|name| risc.starts_with(name))
}

/// Returns true if a text has the keys of the records of TT-Metal's real-time profiler.
fn is_realtime_records(text: &str) -> bool {
    ["program_id", "start_timestamp", "end_timestamp"]
        .iter()
        .all(|key| text.contains(&format!("\"{key}\"")))
}

/// Returns true if a text begins a noc_trace file: a list of NoC events, of TT-Metal or of tt-npe.
fn is_noc_trace(text: &str) -> bool {
    let list = text.strip_prefix('[').map(str::trim_start);
    let is_list = list.is_some_and(|rest| rest.starts_with('{'));
    is_list
        && ["\"proc\"", "\"timestamp\""].iter().all(|key| text.contains(key))
        && ["\"run_host_id\"", "\"sx\""].iter().any(|key| text.contains(key))
}
