//! Causes of slowness in a recording.

#![allow(unsafe_code, reason = "functions that C calls take pointers")]

use crate::{
    arguments::{Out, shared},
    recording::{KprofRecording, KprofText},
    status::{KprofStatus, guard},
};

/// Writes a JSON text with the causes of slowness to `json`. `kprof explain --json` prints the same
/// text. The text belongs to the recording.
///
/// # Safety
/// `recording` must be null or a recording that is not freed, and `json` must point to memory for a
/// text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn kprof_recording_explain_json(
    recording: *const KprofRecording,
    json: *mut KprofText,
) -> KprofStatus {
    guard(|| {
        // SAFETY: the caller passes null or a recording that is not freed.
        let recording = unsafe { shared(recording, "recording") }?;
        // SAFETY: the caller passes a pointer to memory for a text.
        let out = unsafe { Out::new(json, "json") }?;
        out.set(KprofText::from_text(recording.explanation_json()?));
        Ok(())
    })
}
