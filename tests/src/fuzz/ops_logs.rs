//! Logs of TT-Metal's host and device as input of the ops report.

use super::numbers_of;
use host_reader::{
    packed_bytes::PackedMemory,
    report::{DeviceData, OpsOptions, OpsReport, ProgramAnalyses},
};
use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

/// Byte that separates the files.
const PART: u8 = 0x0C;

const FILES: [&str; 4] = [
    "tracy_ops_data.csv",
    "tracy_ops_times.csv",
    "profile_log_device.csv",
    "cpp_device_perf_report.csv",
];

/// Reads bytes as the files of a folder of logs, separated by form feeds.
///
/// The files are: messages of ops with their JSON, times of ops, the device log, the device's perf
/// report, and the JSON of analyses. The bytes also select the options.
///
/// # Panics
/// If a report has more rows than its inputs have lines.
pub fn ops_logs(data: &[u8]) {
    let mut parts = data.split(|&byte| byte == PART);
    let folder = Folder::new();
    for file in FILES {
        let Some(part) = parts.next() else { break };
        if !part.is_empty() {
            let written = std::fs::write(folder.0.join(file), part);
            written.unwrap_or_else(|error| panic!("the file cannot be written: {error}"));
        }
    }
    let analyses = parts.next().and_then(|part| std::str::from_utf8(part).ok());
    let analyses = analyses.and_then(|text| ProgramAnalyses::from_json(text).ok());
    let [choice, _] = numbers_of(data);
    let options = OpsOptions {
        is_exact: choice & 1 != 0,
        is_device_only: choice & 2 != 0,
        device_data: match choice >> 2 & 3 {
            0 | 1 => DeviceData::Best,
            2 => DeviceData::DeviceLog,
            _ => DeviceData::PerfReport,
        },
        analyses: analyses.unwrap_or_default(),
        ..OpsOptions::default()
    };
    let report = OpsReport::from_folder(&folder.0, &options, &PackedMemory::unlimited());
    let line_count = data.split(|&byte| byte == b'\n' || byte == b'\r').count() as u64;
    assert!(report.host_op_count <= line_count, "{} ops of the host", report.host_op_count);
    assert!(report.device_op_count <= line_count, "{} launches", report.device_op_count);
}

/// A folder that is deleted when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("kprof-ops-logs-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)
            .unwrap_or_else(|error| panic!("the folder cannot be made: {error}"));
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
