//! Reading a mesh with its clocks, and into a capture if that was asked for.

use crate::failure::Failure;
use host_reader::{
    ReadOptions,
    capture::{Capture, CaptureError, CaptureWriter, CapturingReader, OpMetadata},
    clock::Tile,
    host::HostRecorder,
    mesh::Mesh,
    names::ZoneTable,
    probe_cost::ProbeCosts,
    read::Reader,
    readout::Readout,
    sync::{ClockSampler, MeshSamples, SyncOptions},
};
use std::{
    collections::BTreeMap,
    io::ErrorKind,
    path::{Path, PathBuf},
};

/// The capture to write.
pub(crate) struct CaptureTarget {
    pub(crate) path: PathBuf,
    /// True if an existing capture is continued.
    pub(crate) append: bool,
}

impl CaptureTarget {
    /// Begins the capture, or goes on with it.
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
            _ => Failure::of_file(&self.path, error),
        }
    }
}

/// Opens a capture; a failure names the file.
pub(crate) fn open(path: &Path) -> Result<Capture, Failure> {
    Capture::open(path).map_err(|error| Failure::of_file(path, &error))
}

/// A reader of a mesh and of its clocks.
pub(crate) struct Recording {
    reader: MeshReader,
    sampler: ClockSampler,
    readout: Readout,
}

enum MeshReader {
    Plain(Box<Reader>),
    Capturing { reader: Box<CapturingReader>, captured: MeshSamples },
}

impl Recording {
    /// Begins: samples the clocks of a mesh whose profiler is initialised.
    pub(crate) fn begin(
        mesh: &mut dyn Mesh,
        target: Option<&CaptureTarget>,
        ops: &[OpMetadata],
    ) -> Result<Self, Failure> {
        let reader = match target {
            None => MeshReader::Plain(Reader::new(ReadOptions::default()).into()),
            Some(target) => {
                let mut writer = target.writer()?;
                writer.append(&ops.to_vec()).map_err(|error| Failure::from_error(&error))?;
                let reader = CapturingReader::new(ReadOptions::default(), writer);
                MeshReader::Capturing { reader: reader.into(), captured: MeshSamples::default() }
            }
        };
        let mut sampler = ClockSampler::new(SyncOptions::default());
        sampler.open(mesh);
        Ok(Self { reader, sampler, readout: Readout::default() })
    }

    /// Reads what was recorded since the last read.
    pub(crate) fn read(
        &mut self,
        mesh: &mut dyn Mesh,
        zones: ZoneTable,
        is_last: bool,
    ) -> Result<(), Failure> {
        let options = self.options_mut();
        (options.zones, options.last_read) = (zones, is_last);
        let readout = match &mut self.reader {
            MeshReader::Plain(reader) => reader.read(mesh),
            MeshReader::Capturing { reader, .. } => {
                let read = reader.read(mesh);
                read.capture.map_err(|error| Failure::from_error(&error))?;
                read.readout
            }
        };
        self.readout.append(readout.map_err(|error| Failure::from_error(&error))?);
        self.capture_samples()
    }

    /// Samples the clocks again, after the last read.
    pub(crate) fn close(&mut self, mesh: &mut dyn Mesh) -> Result<(), Failure> {
        self.sampler.close(mesh);
        self.capture_samples()
    }

    /// Adds what probes cost on the mesh.
    pub(crate) fn enter_probe_costs(&mut self, costs: ProbeCosts) -> Result<(), Failure> {
        if let MeshReader::Capturing { reader, .. } = &mut self.reader {
            let written = reader.writer_mut().append(&costs);
            written.map_err(|error| Failure::from_error(&error))?;
        }
        self.readout.probe_costs.merge(costs);
        Ok(())
    }

    /// Captures what the host recorded of itself.
    pub(crate) fn capture_host(&mut self, recorder: &HostRecorder) -> Result<(), Failure> {
        if let MeshReader::Capturing { reader, .. } = &mut self.reader {
            let written = reader.writer_mut().append_recorder(recorder);
            written.map_err(|error| Failure::from_error(&error))?;
        }
        Ok(())
    }

    /// Gives everything, on one clock per chip, and marks the end of the capture.
    pub(crate) fn finish(self) -> Result<Readout, Failure> {
        let Self { reader, sampler, mut readout } = self;
        if let MeshReader::Capturing { reader, .. } = reader {
            reader.finish().map_err(|error| Failure::from_error(&error))?;
        }
        align(&mut readout, sampler.samples());
        Ok(readout)
    }

    const fn options_mut(&mut self) -> &mut ReadOptions {
        match &mut self.reader {
            MeshReader::Plain(reader) => reader.options_mut(),
            MeshReader::Capturing { reader, .. } => reader.options_mut(),
        }
    }

    /// Captures the clock samples that are not captured yet, so that a run that is killed
    /// keeps those it had. They lie behind the first read, which begins their part of the file.
    fn capture_samples(&mut self) -> Result<(), Failure> {
        let MeshReader::Capturing { reader, captured } = &mut self.reader else { return Ok(()) };
        let samples = self.sampler.samples();
        let written = reader.writer_mut().append_clock_samples(&without(samples, captured));
        written.map_err(|error| Failure::from_error(&error))?;
        *captured = samples.clone();
        Ok(())
    }
}

/// Puts all times of a chip on the clock of its first tile, as a device log has them.
pub(crate) fn align(readout: &mut Readout, samples: &MeshSamples) {
    let clock = samples.fit(&SyncOptions::default().fit);
    clock.tile_origins(readout).align(readout);
}

/// The samples without their beginning.
fn without(samples: &MeshSamples, beginning: &MeshSamples) -> MeshSamples {
    let known: BTreeMap<Tile, usize> =
        beginning.bursts().map(|burst| (burst.tile, burst.pings.len())).collect();
    let known_links: BTreeMap<(Tile, Tile), usize> = beginning
        .link_bursts()
        .map(|burst| ((burst.sender, burst.receiver), burst.pings.len()))
        .collect();
    let mut rest = MeshSamples::default();
    for mut burst in samples.bursts() {
        burst.pings.drain(..known.get(&burst.tile).copied().unwrap_or(0));
        if !burst.pings.is_empty() {
            rest.add_burst(burst);
        }
    }
    for mut burst in samples.link_bursts() {
        let ends = (burst.sender, burst.receiver);
        burst.pings.drain(..known_links.get(&ends).copied().unwrap_or(0));
        if !burst.pings.is_empty() {
            rest.add_link_burst(burst);
        }
    }
    rest
}
