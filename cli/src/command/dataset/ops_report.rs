//! The ops report of a recording that is written to a dataset.

use crate::failure::{Failure, OrFail};
use host_reader::{
    export::TraceFilter,
    log::PackedLog,
    recording::{DEVICE_LOG, PackedRecording, Recording, host_ops::OP_MESSAGES, logs_folder},
    report::{OpsOptions, OpsReport},
};
use std::{path::Path, sync::Arc};

/// Builds the ops report of a recording, with the host's messages from its folder.
pub(super) fn ops_report(path: &Path, run: &Recording, filter: TraceFilter) -> OpsReport {
    let options = OpsOptions { filter, ..OpsOptions::default() };
    match logs_folder(path, OP_MESSAGES) {
        Some(logs) => OpsReport::from_folder(&logs, &options),
        None => OpsReport::from_recording(run, &options),
    }
}

/// Builds the ops report of a packed log, with the host's messages from its folder.
pub(super) fn packed_ops_report(
    path: &Path,
    packed: &PackedRecording,
) -> Result<OpsReport, Failure> {
    let Some(logs) = logs_folder(path, OP_MESSAGES) else {
        return Ok(OpsReport::from_packed(packed));
    };
    // A report on a folder does not use zone names from other files.
    let memory = Arc::clone(packed.lanes.memory());
    let Ok(log) = PackedLog::open_within(logs.join(DEVICE_LOG), &memory) else {
        return Ok(OpsReport::from_folder(&logs, &OpsOptions::default()));
    };
    let log = PackedRecording::new(log.into()).or_fail()?;
    Ok(OpsReport::from_packed_folder(&log, &logs))
}
