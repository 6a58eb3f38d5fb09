//! Folders that commands take where the user names none.

use host_reader::environment::artifacts_folder;
use std::path::PathBuf;

/// Folder of simulations: not the one in which tt-metal leaves its measurements.
const SIMULATION_FOLDER: &str = "generated/kprof";

/// Folder of measurements: where tt-metal leaves what it writes.
pub(crate) fn measurements() -> PathBuf {
    artifacts_folder(|name| std::env::var_os(name))
}

/// Folder of a simulation, which is not that of measurements unless the user names one for both.
pub(crate) fn simulations() -> PathBuf {
    let named = std::env::var_os("TT_METAL_PROFILER_DIR").filter(|name| !name.is_empty());
    named.map_or_else(|| SIMULATION_FOLDER.into(), PathBuf::from)
}
