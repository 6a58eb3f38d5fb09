//! Events that a Python program records of itself: zones, messages, signposts.

use crate::value_error;
use host_reader::{
    capture::CaptureWriter,
    host::{HostRecorder, HostSource, HostZoneGuard},
};
use pyo3::prelude::*;
use std::{cell::RefCell, path::PathBuf, sync::Arc};

thread_local! {
    /// Open zones of this thread, the innermost last.
    static OPEN: RefCell<Vec<HostZoneGuard>> = const { RefCell::new(Vec::new()) };
}

/// A recorder of the program's own events.
#[pyclass(module = "kprof", frozen)]
pub(crate) struct Host {
    pub(crate) recorder: HostRecorder,
}

fn source(name: &str, function: &str, file: &str, line: u32) -> Arc<HostSource> {
    Arc::new(HostSource {
        name: name.to_owned().into(),
        function: function.to_owned().into(),
        file: file.to_owned().into(),
        line,
    })
}

#[pymethods]
impl Host {
    #[new]
    fn new() -> Self {
        Self { recorder: HostRecorder::default() }
    }

    /// Begins a zone of the calling thread.
    fn begin_zone(&self, name: &str, function: &str, file: &str, line: u32) {
        let guard = self.recorder.zone_of(source(name, function, file, line));
        OPEN.with_borrow_mut(|open| open.push(guard));
    }

    /// Ends the innermost zone of the calling thread, with a text if there is one; returns false
    /// if none is open.
    #[pyo3(signature = (text=None))]
    fn end_zone(&self, text: Option<&str>) -> bool {
        let guard = OPEN.with_borrow_mut(Vec::pop);
        let Some(mut guard) = guard else { return false };
        if let Some(text) = text {
            guard.text(text);
        }
        true
    }

    /// Records a message.
    fn message(&self, text: &str, file: &str, line: u32) {
        self.recorder.message_of(source("", "", file, line), text);
    }

    /// Records a signpost.
    #[pyo3(signature = (header, message=None))]
    fn signpost(&self, header: &str, message: Option<&str>) {
        self.recorder.signpost(header, message);
    }

    /// Takes everything out of the recorder and writes it into a new capture.
    fn save(&self, path: PathBuf) -> PyResult<u64> {
        let mut writer = CaptureWriter::create(path).map_err(|error| value_error(&error))?;
        let recording = writer.append_recorder(&self.recorder);
        let recording = recording.map_err(|error| value_error(&error))?;
        writer.finish().map_err(|error| value_error(&error))?;
        Ok(recording.event_count())
    }
}
