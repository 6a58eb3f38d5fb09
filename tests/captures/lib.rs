//! Paths and contents of the sample captures in this folder, and generated folders like those that
//! TT-Metal writes.
//!
//! The functions panic if a capture is missing or unreadable.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a panic is a test's report")]

mod described_folder;

pub use described_folder::{
    DescribedOp, described_model, device_log_of, ops_csv_of, write_device_log, write_ops_csv,
};
use reader::readout::Readout;
use recording::device_log::read_device_log_file;
use std::path::{Path, PathBuf};

/// Returns the path of a capture, by its name in this folder.
#[must_use]
pub fn capture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Returns the path of a device log from the repository mesham/tt-sim.
#[must_use]
pub fn log_path(capture: &str) -> PathBuf {
    capture_path("mesham-tt-sim").join(capture).join("profile_log_device.csv")
}

/// Reads a device log from the repository mesham/tt-sim.
///
/// # Panics
/// If the log cannot be read.
#[must_use]
pub fn read_capture(capture: &str) -> Readout {
    read_device_log_file(log_path(capture)).unwrap()
}

/// Rebuilds the device log from which the rows of `mockDeviceLog.json` were taken.
///
/// # Panics
/// If the rows cannot be read.
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
