//! Recordings of the host, on their way into a capture.

use crate::capture::{CaptureError, CaptureWriter};
use host_events::{HostRecorder, HostRecording};

impl CaptureWriter {
    /// Takes everything that was recorded out of a recorder and appends it; returns what it
    /// was.
    ///
    /// Ops become sections of their own, beside those that others have written.
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
