//! The ops report of a recording that goes into a dataset.

use host_reader::{
    export::TraceFilter,
    recording::{Recording, host_ops::OP_MESSAGES, logs_folder},
    report::{OpsOptions, OpsReport},
};
use std::path::Path;

/// Reports on a recording: on the folder that it is from, where the host left its messages.
pub(super) fn ops_report(path: &Path, run: &Recording, filter: TraceFilter) -> OpsReport {
    let options = OpsOptions { filter, ..OpsOptions::default() };
    match logs_folder(path, OP_MESSAGES) {
        Some(logs) => OpsReport::of_folder(&logs, &options),
        None => OpsReport::of_recording(run, &options),
    }
}
