//! Reading simulated chips in several reads, with figures of the programs in each read.

use crate::{
    recording::PyRecording,
    simulated::{SimulatedMesh, lock, zones_of},
    value_error,
};
use host_reader::{
    capture::MeshRecorder, programs::read_programs, recording::Recording, report::ProgramsPerfData,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use std::path::PathBuf;

/// Reader that reads on request.
#[pyclass(module = "kprof")]
pub(crate) struct MeshReader {
    /// `None` once the reader is finished.
    recorder: Option<MeshRecorder>,
    programs: ProgramsPerfData,
}

#[pymethods]
impl MeshReader {
    /// Creates a reader and measures the clocks.
    #[new]
    #[pyo3(signature = (mesh, capture=None))]
    fn new(py: Python<'_>, mesh: &SimulatedMesh, capture: Option<PathBuf>) -> PyResult<Self> {
        let mut recorder = mesh.recorder(capture)?;
        let chips = mesh.shared();
        py.detach(|| recorder.open_clocks(&mut *lock(&chips)));
        Ok(Self { recorder: Some(recorder), programs: ProgramsPerfData::default() })
    }

    /// Runs the next part of the mesh's workload and reads; returns false if it was the last part.
    fn read(&mut self, py: Python<'_>, mesh: &mut SimulatedMesh) -> PyResult<bool> {
        let Self { recorder, programs } = self;
        let recorder = recorder.as_mut().ok_or_else(finished)?;
        py.detach(|| {
            let has_more = mesh.run_phase();
            let chips = mesh.shared();
            let mut chips = lock(&chips);
            let options = recorder.options_mut();
            options.zones = zones_of(&chips).map_err(|error| value_error(&*error))?;
            options.last_read = !has_more;
            let read = read_programs(recorder, &mut *chips, programs);
            read.map_err(|error| value_error(&error))?;
            Ok(has_more)
        })
    }

    /// Returns the programs of the latest read, or of all reads, as one JSON text.
    fn programs_json(&self, is_of_all: bool) -> PyResult<String> {
        let programs = if is_of_all { self.programs.all() } else { self.programs.latest() };
        serde_json::to_string(programs).map_err(|error| value_error(&error))
    }

    /// Measures the clocks again, and returns all data that was read.
    fn finish(&mut self, py: Python<'_>, mesh: &SimulatedMesh) -> PyResult<PyRecording> {
        let mut recorder = self.recorder.take().ok_or_else(finished)?;
        let run = py.detach(|| {
            let chips = mesh.shared();
            let closed = recorder.close_clocks(&mut *lock(&chips));
            closed.map_err(|error| value_error(&error))?;
            recorder.finish().map_err(|error| value_error(&error))
        })?;
        Ok(PyRecording::new(Recording::from_captured_run(run), mesh.title().to_owned()))
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("expected a reader that reads, found one that is finished")
}
