//! The ops report of a recording that is written to a dataset.

use crate::failure::{Failure, OrFail};
use host_reader::{
    export::TraceFilter,
    packed_bytes::PackedMemory,
    recording::{PackedRecording, Recording, host_ops::OP_MESSAGES, logs_folder},
    report::{OpsOptions, OpsReport, ReportFiles},
};
use std::path::Path;

/// Builds the ops report of a recording, including the host's messages in the recording's folder.
pub(super) fn ops_report(path: &Path, run: &Recording, filter: TraceFilter) -> OpsReport {
    let options = OpsOptions { files: ReportFiles::Ops, filter, ..OpsOptions::default() };
    match logs_folder(path, OP_MESSAGES) {
        Some(logs) => OpsReport::from_folder(&logs, &options, &PackedMemory::unlimited()),
        None => OpsReport::from_recording(run, &options),
    }
}

/// Builds the ops report of a packed log, including the host's messages in the log's folder.
pub(super) fn packed_ops_report(
    path: &Path,
    packed: &PackedRecording,
) -> Result<OpsReport, Failure> {
    let Some(logs) = logs_folder(path, OP_MESSAGES) else {
        return OpsReport::from_packed(packed).or_fail();
    };
    // The report on a folder does not take zone names from other files.
    let options = OpsOptions { files: ReportFiles::Ops, ..OpsOptions::default() };
    let memory = packed.lanes.memory();
    let report = OpsReport::from_folder(&logs, &options, memory);
    memory.check().or_fail()?;
    Ok(report)
}
