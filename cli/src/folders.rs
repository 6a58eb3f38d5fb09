//! Default folders that commands read and write.

use host_reader::environment::artifacts_folder;
use std::path::PathBuf;

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
