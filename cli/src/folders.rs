//! Default folders that commands read and write.

use crate::failure::note;
use host_reader::{
    environment::artifacts_folder,
    recording::{device_captures, device_log, newest_ops_csv},
};
use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

/// Default folder for logs of simulations. It differs from the folder of TT-Metal's measurements.
const SIMULATION_FOLDER: &str = "generated/kprof";

/// Returns the folder of measurements, to which TT-Metal writes.
pub(crate) fn measurements() -> PathBuf {
    artifacts_folder(|name| std::env::var_os(name))
}

/// Returns the folder for logs of simulations.
///
/// It differs from the folder of measurements, unless the user specifies one folder for both.
pub(crate) fn simulations() -> PathBuf {
    let named = std::env::var_os("TT_METAL_PROFILER_DIR").filter(|name| !name.is_empty());
    named.map_or_else(|| SIMULATION_FOLDER.into(), PathBuf::from)
}

/// Returns the folder to which the newest recording was written, by a program or by a simulation.
/// Without any recording, returns the folder of measurements.
pub(crate) fn newest_recording() -> PathBuf {
    let measurements = measurements();
    let simulations = simulations();
    if recorded_at(&simulations) > recorded_at(&measurements) { simulations } else { measurements }
}

/// Says which folder is read, if it is the one of simulations, which may be there by default.
pub(crate) fn note_simulations(input: &Path) {
    if input == simulations() && input != measurements() {
        note!("kprof: reading {}", input.display());
    }
}

/// Returns the time at which the newest file of a recording in a folder was written.
fn recorded_at(folder: &Path) -> Option<SystemTime> {
    let log = device_log(folder);
    let files = device_captures(folder).into_iter().chain(log).chain(newest_ops_csv(folder));
    files.filter_map(|file| file.metadata().ok()?.modified().ok()).max()
}
