//! Thread that reads simulated chips while the chips run.

use crate::{
    host::Host,
    recording::PyRecording,
    simulated::{Reads, SimulatedMesh},
    value_error,
};
use host_reader::{host::HostRecorder, read::PeriodicThread};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
};
use std::{
    error::Error,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// All reads of the chips, and the error of the last read; the error is `None` if the last read
/// succeeded.
type PeriodicReads = (Reads, Option<Box<dyn Error + Send + Sync>>);

/// Counts of reads, shared with other threads.
#[derive(Default)]
struct Counts {
    reads: AtomicU64,
    failed: AtomicU64,
}

/// Thread that reads chips periodically until it is stopped.
#[pyclass(module = "kprof")]
pub(crate) struct PeriodicReader {
    thread: Option<PeriodicThread<PeriodicReads>>,
    counts: Arc<Counts>,
    host: Option<HostRecorder>,
}

#[pymethods]
impl PeriodicReader {
    /// Measures the clocks and starts reading; the first read begins at once.
    #[new]
    #[pyo3(signature = (mesh, period_s, capture=None, host=None))]
    fn new(
        py: Python<'_>,
        mesh: &SimulatedMesh,
        period_s: f64,
        capture: Option<PathBuf>,
        host: Option<&Host>,
    ) -> PyResult<Self> {
        let period = Duration::try_from_secs_f64(period_s).map_err(|error| {
            PyValueError::new_err(format!(
                "expected a period in seconds, found {period_s}: {error}"
            ))
        })?;
        let reads: PeriodicReads = (Reads::begin(py, mesh, capture)?, None);
        let counts = Arc::new(Counts::default());
        let thread_counts = Arc::clone(&counts);
        let thread = PeriodicThread::start(period, reads, move |(reads, failure), is_last| {
            *failure = reads.read(is_last, None).err();
            thread_counts.reads.fetch_add(1, Ordering::Relaxed);
            thread_counts.failed.fetch_add(failure.is_some().into(), Ordering::Relaxed);
        });
        let thread = Some(thread.map_err(|error| value_error(&error))?);
        let host = host.map(|host| host.recorder.clone());
        Ok(Self { thread, counts, host })
    }

    /// Number of reads until now, including failed reads.
    #[getter]
    fn read_count(&self) -> u64 {
        self.counts.reads.load(Ordering::Relaxed)
    }

    /// Number of failed reads. The read after a failed read tries again.
    #[getter]
    fn failed_read_count(&self) -> u64 {
        self.counts.failed.load(Ordering::Relaxed)
    }

    /// Reads the chips once more and stops, measures the clocks again, and returns all data that
    /// was read.
    fn stop(&mut self, py: Python<'_>) -> PyResult<PyRecording> {
        let Some(thread) = self.thread.take() else {
            return Err(PyValueError::new_err("expected a running reader, found a stopped one"));
        };
        let host = self.host.take();
        py.detach(|| {
            let (reads, failure) = thread
                .stop()
                .map_err(|_| PyRuntimeError::new_err("a bug in kprof ended the reading thread"))?;
            match failure {
                Some(failure) => Err(value_error(&*failure)),
                None => reads.finish(host.as_ref()),
            }
        })
    }
}
