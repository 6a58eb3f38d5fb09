//! Reading a mesh with its clocks, and optionally into a capture.

use crate::{failure::Failure, tracy_view::TracyView};
use host_reader::{
    ReadOptions,
    capture::{Capture, CaptureError, CaptureWriter, MeshRecorder, OpMetadata},
    host::HostRecorder,
    ledger::LossTotals,
    mesh::Mesh,
    names::ZoneTable,
    probe_cost::ProbeCosts,
    recording,
};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The capture to write.
pub(crate) struct CaptureTarget {
    pub(crate) path: PathBuf,
    /// True if an existing capture is continued.
    pub(crate) append: bool,
    /// True if this run repeats the capture's last run for other hardware counters.
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
        writer.map_err(|error| self.refusal(&error))
    }

    fn refusal(&self, error: &CaptureError) -> Failure {
        match error {
            CaptureError::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists => {
                Failure::Sentence(format!(
                    "the capture {} exists; go on with it by --append or name another file",
                    self.path.display()
                ))
            }
            _ => Failure::from_file(&self.path, error),
        }
    }
}

/// Opens a capture; an error names the file.
pub(crate) fn open(path: &Path) -> Result<Capture, Failure> {
    Capture::open(path).map_err(|error| Failure::from_file(path, &error))
}

/// A reader of a mesh and of its clocks.
pub(crate) struct Recording {
    recorder: MeshRecorder,
    /// Viewers that receive the records of each read.
    view: Option<TracyView>,
}

impl Recording {
    /// Begins a recording by sampling the clocks of an initialised mesh.
    pub(crate) fn begin(
        mesh: &mut dyn Mesh,
        options: ReadOptions,
        target: Option<&CaptureTarget>,
        ops: Vec<OpMetadata>,
    ) -> Result<Self, Failure> {
        let mut recording = Self::begin_without_clocks(options, target, ops)?;
        recording.recorder.open_clocks(mesh);
        Ok(recording)
    }

    /// Begins a recording of chips whose tiles all have the same clock.
    pub(crate) fn begin_without_clocks(
        options: ReadOptions,
        target: Option<&CaptureTarget>,
        ops: Vec<OpMetadata>,
    ) -> Result<Self, Failure> {
        let writer = target.map(CaptureTarget::writer).transpose()?;
        let mut recorder = MeshRecorder::new(options, writer);
        if target.is_some_and(|target| target.is_counter_pass) {
            recorder = recorder.for_more_counters();
        }
        recorder.add_ops(ops).map_err(|error| Failure::from_error(&error))?;
        Ok(Self { recorder, view: None })
    }

    /// Also sends the records of each read to viewers.
    pub(crate) fn show_in(&mut self, view: Option<TracyView>) {
        self.view = view;
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
        read.map_err(|error| Failure::from_error(&error))
    }

    /// Adds names of ops that were not known at the beginning.
    pub(crate) fn add_ops(&mut self, ops: Vec<OpMetadata>) -> Result<(), Failure> {
        if ops.is_empty() {
            return Ok(());
        }
        self.recorder.add_ops(ops).map_err(|error| Failure::from_error(&error))
    }

    /// Returns what streaming RISCs had lost before the first read, if another reader had read their
    /// rings.
    pub(crate) const fn earlier_losses(&self) -> LossTotals {
        self.recorder.earlier_losses()
    }

    /// Returns the number of records read so far.
    pub(crate) fn record_count(&self) -> usize {
        self.recorder.readout().record_count()
    }

    /// Samples the clocks again, after the last read.
    pub(crate) fn close(&mut self, mesh: &mut dyn Mesh) -> Result<(), Failure> {
        self.recorder.close_clocks(mesh).map_err(|error| Failure::from_error(&error))
    }

    /// Adds the cost of probes on the mesh.
    pub(crate) fn add_probe_costs(&mut self, costs: ProbeCosts) -> Result<(), Failure> {
        self.recorder.add_probe_costs(costs).map_err(|error| Failure::from_error(&error))
    }

    /// Adds the host's own events to the capture.
    pub(crate) fn capture_host(&mut self, recorder: &HostRecorder) -> Result<(), Failure> {
        self.recorder.add_host(recorder).map_err(|error| Failure::from_error(&error))
    }

    /// Marks the end of the capture; returns the recording, with one clock per chip, and the
    /// viewers.
    ///
    /// Sends the viewers the data that concerns the whole recording.
    pub(crate) fn finish(self) -> Result<(recording::Recording, Option<TracyView>), Failure> {
        let run = self.recorder.finish().map_err(|error| Failure::from_error(&error))?;
        let recording = recording::Recording::from_captured_run(run);
        if let Some(view) = &self.view {
            view.finish(&recording);
        }
        Ok((recording, self.view))
    }
}
