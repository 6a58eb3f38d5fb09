//! The ops report of a recording that is written to a dataset.

use host_reader::{
    export::TraceFilter,
    recording::{Recording, host_ops::OP_MESSAGES, logs_folder},
    report::{OpsOptions, OpsReport},
};
use std::path::Path;

/// Builds the ops report of a recording, with the host's messages from its folder.
pub(super) fn ops_report(path: &Path, run: &Recording, filter: TraceFilter) -> OpsReport {
    let options = OpsOptions { filter, ..OpsOptions::default() };
    match logs_folder(path, OP_MESSAGES) {
        Some(logs) => OpsReport::from_folder(&logs, &options),
        None => OpsReport::from_recording(run, &options),
    }
}
