//! Reading of simulated chips whenever Python requests a read, with figures of the programs that
//! each read covers.

use crate::{
    recording::PyRecording,
    simulated::{Reads, SimulatedMesh},
    value_error,
};
use host_reader::report::ProgramsPerfData;
use pyo3::{exceptions::PyValueError, prelude::*};
use std::path::PathBuf;

/// Reader that reads the chips of a simulated mesh on request.
#[pyclass(module = "kprof")]
pub(crate) struct MeshReader {
    /// Reads of the mesh so far; `None` once the reader is finished.
    reads: Option<Reads>,
    programs: ProgramsPerfData,
}

#[pymethods]
impl MeshReader {
    /// Creates a reader and measures the clocks.
    #[new]
    #[pyo3(signature = (mesh, capture=None))]
    fn new(py: Python<'_>, mesh: &SimulatedMesh, capture: Option<PathBuf>) -> PyResult<Self> {
        let reads = Some(Reads::begin(py, mesh, capture)?);
        Ok(Self { reads, programs: ProgramsPerfData::default() })
    }

    /// Runs the next part of the mesh's workload, then reads the mesh. Returns true if more parts
    /// of the workload follow.
    fn read(&mut self, py: Python<'_>, mesh: &mut SimulatedMesh) -> PyResult<bool> {
        let Self { reads, programs } = self;
        let reads = reads.as_mut().ok_or_else(finished)?;
        py.detach(|| {
            let has_more = mesh.run_phase();
            let read = reads.read(!has_more, Some(programs));
            read.map(|()| has_more).map_err(|error| value_error(&*error))
        })
    }

    /// Returns the figures of the programs in the latest read, or in all reads, as one JSON text.
    fn programs_json(&self, is_of_all: bool) -> PyResult<String> {
        let programs = if is_of_all { self.programs.all() } else { self.programs.latest() };
        serde_json::to_string(programs).map_err(|error| value_error(&error))
    }

    /// Measures the clocks again, and returns all data that was read.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyRecording> {
        let reads = self.reads.take().ok_or_else(finished)?;
        py.detach(|| reads.finish(None))
    }
}

fn finished() -> PyErr {
    PyValueError::new_err("expected an open reader, found a finished one")
}
