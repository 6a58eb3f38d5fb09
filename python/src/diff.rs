//! Comparison of recordings.

use crate::{recording::PyRecording, value_error};
use host_reader::diff::{Diff, DiffOptions, Measurements};
use pyo3::{exceptions::PyValueError, prelude::*};

/// Compares recordings of two builds, and returns JSON. If a build has several recordings, each
/// recording counts as one repetition.
#[pyfunction]
#[pyo3(signature = (before, after, confidence=0.95))]
pub(crate) fn diff(
    py: Python<'_>,
    before: Vec<PyRef<'_, PyRecording>>,
    after: Vec<PyRef<'_, PyRecording>>,
    confidence: f64,
) -> PyResult<String> {
    if !(confidence > 0.0 && confidence < 1.0) {
        let text = format!("expected a confidence between 0 and 1, found {confidence}");
        return Err(PyValueError::new_err(text));
    }
    let [before, after] = [before, after]
        .map(|side| side.iter().map(|recording| recording.recording.clone()).collect::<Vec<_>>());
    py.detach(|| {
        let [before, after] = [before, after].map(|side| {
            let recordings = side.iter().map(|recording| Measurements::from_recording(recording));
            Measurements::from_recordings(recordings)
        });
        let diff = Diff::new(&before, &after, DiffOptions { confidence });
        serde_json::to_string(&diff).map_err(|error| value_error(&error))
    })
}
