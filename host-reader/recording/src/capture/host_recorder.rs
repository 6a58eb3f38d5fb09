//! Writing of host recordings to a capture.

use crate::capture::{CaptureError, CaptureWriter};
use host_events::{HostRecorder, HostRecording};

impl CaptureWriter {
    /// Moves the events out of a recorder, appends them to the capture and returns them.
    ///
    /// Ops are written to a section of their own. Op sections that other writers have appended stay
    /// in the capture.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn append_recorder(
        &mut self,
        recorder: &HostRecorder,
    ) -> Result<HostRecording, CaptureError> {
        let recording = recorder.take();
        if !recording.ops.is_empty() {
            self.append(&recording.ops)?;
        }
        if recording.has_more_than_ops() {
            self.append(&recording)?;
        }
        Ok(recording)
    }
}

#[cfg(test)]
mod tests;
