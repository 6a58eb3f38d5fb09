//! The captures of this folder: where they lie, and what they hold; and a folder as TT-Metal leaves it.
//!
//! A missing or unreadable capture ends the test that asked for it.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a panic is a test's report")]

mod described_folder;

pub use described_folder::{
    DescribedOp, described_model, device_log_of, ops_csv_of, write_device_log, write_ops_csv,
};
use reader::readout::Readout;
use recording::device_log::read_device_log_file;
use std::path::{Path, PathBuf};

/// The path of a capture, by its name in this folder.
#[must_use]
pub fn capture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The path of a device log from Mesham's runs.
#[must_use]
pub fn log_path(capture: &str) -> PathBuf {
    capture_path("mesham-tt-sim").join(capture).join("profile_log_device.csv")
}

/// Reads a device log from Mesham's runs.
///
/// # Panics
/// If it cannot be read.
#[must_use]
pub fn read_capture(capture: &str) -> Readout {
    read_device_log_file(log_path(capture)).unwrap()
}

/// The log that the lines of `mockDeviceLog.json` were taken from.
///
/// # Panics
/// If they cannot be read.
#[must_use]
pub fn log_of_json() -> String {
    let json = std::fs::read(capture_path("ttnn-visualizer/mockDeviceLog.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let titles = "PCIe slot, core_x, core_y, RISC processor type, timer_id, \
        time[cycles since reset], data, run ID, run host ID,  zone name, type, source line, \
        source file";
    let mut log = format!("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n{titles}\n");
    for row in json["deviceLog"]["data"].as_array().unwrap() {
        let cells = titles.split(',').map(|title| row[title.trim()].as_str().unwrap());
        log.push_str(&cells.collect::<Vec<_>>().join(","));
        log.push('\n');
    }
    log
}
