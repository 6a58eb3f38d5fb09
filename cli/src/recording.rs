//! Recording of a mesh's data and clocks. The recording can also be written to a capture.

use crate::failure::{Failure, OrFail, failure};
use host_reader::{
    ReadOptions,
    capture::{CaptureError, CaptureWriter, MeshRecorder, OpMetadata},
    export::tracy::LiveView,
    mesh::Mesh,
    names::ZoneTable,
    recording,
};
use std::{io::ErrorKind, path::PathBuf};

/// The capture to write.
pub(crate) struct CaptureTarget {
    pub(crate) path: PathBuf,
    /// True if the recording is appended to an existing capture.
    pub(crate) append: bool,
    /// True if this run repeats the capture's last run to read other hardware counters.
    pub(crate) is_counter_pass: bool,
}

impl CaptureTarget {
    /// Creates the capture, or opens it for appending.
    fn writer(&self) -> Result<CaptureWriter, Failure> {
        let writer = if self.append && self.path.exists() {
            CaptureWriter::append_to(&self.path)
        } else {
            CaptureWriter::create(&self.path)
        };
        writer.map_err(|error| match error {
            CaptureError::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists => {
                failure!(
                    "the capture {} exists; append to it with --append, or name another file",
                    self.path.display()
                )
            }
            error => Failure::from_file(&self.path, &error),
        })
    }
}

/// A recorder of a mesh, and the Tracy viewers that show its data.
pub(crate) struct Recording {
    pub(crate) recorder: MeshRecorder,
    /// Tracy viewers that receive the records of each read.
    pub(crate) view: Option<LiveView>,
}

impl Recording {
    /// Begins a recording. If `target` is given, also creates the capture.
    pub(crate) fn new(
        options: ReadOptions,
        target: Option<&CaptureTarget>,
        ops: Vec<OpMetadata>,
    ) -> Result<Self, Failure> {
        let writer = target.map(CaptureTarget::writer).transpose()?;
        let mut recorder = MeshRecorder::new(options, writer);
        if target.is_some_and(|target| target.is_counter_pass) {
            recorder = recorder.for_more_counters();
        }
        recorder.add_ops(ops).or_fail()?;
        Ok(Self { recorder, view: None })
    }

    /// Reads the records since the last read.
    pub(crate) fn read(
        &mut self,
        mesh: &mut dyn Mesh,
        zones: ZoneTable,
        is_last: bool,
    ) -> Result<(), Failure> {
        let Self { recorder, view } = self;
        let options = recorder.options_mut();
        (options.zones, options.last_read) = (zones, is_last);
        let read = match view {
            Some(view) => recorder.read_live(mesh, |part| view.add(part)),
            None => recorder.read(mesh),
        };
        read.or_fail()
    }

    /// Adds names of ops that were not known at the beginning.
    pub(crate) fn add_ops(&mut self, ops: Vec<OpMetadata>) -> Result<(), Failure> {
        if ops.is_empty() { Ok(()) } else { self.recorder.add_ops(ops).or_fail() }
    }

    /// Ends the capture. Returns the recording and the Tracy viewers. In the recording, all times
    /// of a chip are on one clock.
    ///
    /// Also sends data about the whole recording to the viewers.
    pub(crate) fn finish(self) -> Result<(recording::Recording, Option<LiveView>), Failure> {
        let run = self.recorder.finish().or_fail()?;
        let recording = recording::Recording::from_captured_run(run);
        if let Some(view) = &self.view {
            view.finish(&recording);
        }
        Ok((recording, self.view))
    }
}
