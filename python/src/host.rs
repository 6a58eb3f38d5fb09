//! Events that a Python program records: zones, messages, signposts.

use crate::{arguments::word, value_error};
use host_reader::{
    capture::CaptureWriter,
    host::{HostColor, HostRecorder, HostSource, HostZoneGuard},
};
use pyo3::prelude::*;
use std::{cell::RefCell, path::PathBuf, sync::Arc};

thread_local! {
    /// Open zones of this thread. The innermost zone is the last element.
    static OPEN: RefCell<Vec<HostZoneGuard>> = const { RefCell::new(Vec::new()) };
}

/// Recorder for events of the Python program.
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

/// Converts a colour from 0xRRGGBB.
fn color(rgb: Option<&Bound<'_, PyAny>>) -> PyResult<Option<HostColor>> {
    let Some(rgb) = rgb else { return Ok(None) };
    Ok(HostColor::from_rgb(word("a colour 0xRRGGBB", rgb, 0..=0xFF_FFFF)?))
}

#[pymethods]
impl Host {
    #[new]
    fn new() -> Self {
        Self { recorder: HostRecorder::default() }
    }

    /// Begins a zone of the calling thread.
    fn begin_zone(
        &self,
        name: &str,
        function: &str,
        file: &str,
        line: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let line = word("a line", line, 0..=u32::MAX)?;
        let guard = self.recorder.zone_of(source(name, function, file, line));
        OPEN.with_borrow_mut(|open| open.push(guard));
        Ok(())
    }

    /// Ends the innermost zone of the calling thread, with optional text and colour; returns false
    /// if no zone is open.
    #[pyo3(signature = (text=None, rgb=None))]
    fn end_zone(&self, text: Option<&str>, rgb: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        let color = color(rgb)?;
        let guard = OPEN.with_borrow_mut(Vec::pop);
        let Some(mut guard) = guard else { return Ok(false) };
        if let Some(text) = text {
            guard.text(text);
        }
        if let Some(color) = color {
            guard.color(color);
        }
        Ok(true)
    }

    /// Records a message.
    #[pyo3(signature = (text, file, line, rgb=None))]
    fn message(
        &self,
        text: &str,
        file: &str,
        line: u32,
        rgb: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let source = source("", "", file, line);
        self.recorder.message_of(source, text, color(rgb)?);
        Ok(())
    }

    /// Records a signpost.
    #[pyo3(signature = (header, message=None, rgb=None))]
    fn signpost(
        &self,
        header: &str,
        message: Option<&str>,
        rgb: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        self.recorder.signpost(header, message, color(rgb)?);
        Ok(())
    }

    /// Moves all events out of the recorder into a new capture. Returns the number of events.
    fn save(&self, path: PathBuf) -> PyResult<u64> {
        let mut writer = CaptureWriter::create(path).map_err(|error| value_error(&error))?;
        let recording = writer.append_recorder(&self.recorder);
        let recording = recording.map_err(|error| value_error(&error))?;
        writer.finish().map_err(|error| value_error(&error))?;
        Ok(recording.event_count())
    }
}
