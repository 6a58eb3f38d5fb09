//! Recording of a run: reads of a mesh, clocks of the mesh, and data from the host.

use super::{
    CaptureError, CaptureWriter, CapturedRun, OpMetadata, record::RunCapture, section::Payload,
    sync::MeshSamples,
};
use host_events::{HostRecorder, HostRecording};
use reader::{
    clock::PingBurst,
    lane::LaneId,
    ledger::LossTotals,
    mesh::Mesh,
    probe_cost::ProbeCosts,
    read::{LiveRead, ReadError, ReadOptions, Reader},
    readout::{DeviceReadout, Readout},
    recorded_options::RecordedOptions,
    simulated_time::SimulatedTime,
    stream::lanes_of_batches,
};
use std::collections::BTreeSet;

/// Reason why part of a run was not recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The mesh cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The capture cannot be written. Data that was read is kept in memory.
    #[error(transparent)]
    Capture(#[from] CaptureError),
}

/// Recorder that reads a mesh and the mesh's clocks, and optionally writes a capture.
///
/// ```
/// use recording::capture::MeshRecorder;
/// use reader::{ReadOptions, mesh::MeshImage};
/// let mut mesh = MeshImage { devices: Vec::new() };
/// let mut recorder = MeshRecorder::new(ReadOptions::default(), None);
/// recorder.open_clocks(&mut mesh);
/// let error = recorder.read(&mut mesh).unwrap_err();
/// assert!(error.to_string().starts_with("there is no core to read"));
/// assert_eq!(recorder.finish()?.readout.record_count(), 0);
/// # Ok::<(), recording::capture::CaptureError>(())
/// ```
#[derive(Debug)]
pub struct MeshRecorder {
    reader: Reader,
    capture: Option<RunCapture>,
    /// All measurements of the mesh's clocks so far.
    samples: MeshSamples,
    readout: Readout,
    ops: Vec<OpMetadata>,
    host: Vec<HostRecording>,
    /// True if the recorder does not keep in memory the streamed records that `read_live` reads.
    leaves_streamed: bool,
    /// Lanes that have streamed records.
    streamed: BTreeSet<LaneId>,
    /// Host time, in ns, at which `read_live` last measured the clocks; `None` if not measured yet.
    clocks_measured_ns: Option<u64>,
}

/// New records of one read, including records of launches that are still running.
#[derive(Debug)]
pub struct LivePart {
    /// The new records of streamed lanes, the losses and anomalies of this read, and the clock
    /// samples so far. A zone of a running launch is included if the zone has ended.
    pub run: CapturedRun,
    /// Number of new records of lanes that are not streamed. These records are only in the
    /// recording.
    pub other_record_count: u64,
}

impl MeshRecorder {
    /// Creates a recorder. `capture` is the capture that the recorder writes, if any.
    #[must_use]
    pub fn new(options: ReadOptions, capture: Option<CaptureWriter>) -> Self {
        Self {
            reader: Reader::new(options),
            capture: capture.map(RunCapture::new),
            samples: MeshSamples::default(),
            readout: Readout::default(),
            ops: Vec::new(),
            host: Vec::new(),
            leaves_streamed: false,
            streamed: BTreeSet::new(),
            clocks_measured_ns: None,
        }
    }

    /// Marks the following reads as reads of a repeated run. The run is repeated in order to record
    /// other hardware counters.
    ///
    /// When the capture is loaded, the previous run and the repeated run become one run.
    #[must_use]
    pub const fn for_more_counters(mut self) -> Self {
        if let Some(capture) = &mut self.capture {
            capture.is_counter_pass = true;
        }
        self
    }

    /// Makes the recorder discard the streamed records that [`MeshRecorder::read_live`] reads,
    /// instead of keeping them in memory.
    ///
    /// Such records only go to the capture and to the `visit` function of the read. The recorder's
    /// memory therefore does not grow with their number, and the run that [`MeshRecorder::finish`]
    /// returns does not contain these records.
    ///
    /// The capture contains all records, and can be loaded like any other capture.
    #[must_use]
    pub const fn leaving_streamed_records(mut self) -> Self {
        self.leaves_streamed = true;
        self
    }

    /// Returns the options of the next read.
    pub const fn options_mut(&mut self) -> &mut ReadOptions {
        self.reader.options_mut()
    }

    /// Returns the number of records that streaming RISCs lost before the first read; see
    /// [`Reader::earlier_losses`].
    #[must_use]
    pub const fn earlier_losses(&self) -> LossTotals {
        self.reader.earlier_losses()
    }

    /// Returns everything read so far. Times are on the tiles' own clocks.
    #[must_use]
    pub const fn readout(&self) -> &Readout {
        &self.readout
    }

    /// Adds metadata of ops.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn add_ops(&mut self, ops: Vec<OpMetadata>) -> Result<(), CaptureError> {
        let written = self.append(&ops);
        self.ops.extend(ops);
        written
    }

    /// Measures the clocks of a mesh with an initialised profiler, before the first read.
    pub fn open_clocks<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        if let Some(capture) = &mut self.capture {
            // If this fails, the first read tries again and reports any error.
            let _ = capture.capture_host_clock(mesh);
        }
        self.samples.open(mesh);
    }

    /// Measures the clocks again, after the last read.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn close_clocks<M: Mesh + ?Sized>(&mut self, mesh: &mut M) -> Result<(), CaptureError> {
        self.samples.close(mesh);
        self.capture_samples()
    }

    /// Adds readings of a tile's clock that were made without this recorder.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn add_clock_readings(&mut self, burst: PingBurst) -> Result<(), CaptureError> {
        self.samples.add_burst(burst);
        self.capture_samples()
    }

    /// Reads everything recorded since the last read.
    ///
    /// # Errors
    /// If nothing can be read, or if the capture cannot be written. In the latter case, the data
    /// that was read is kept.
    pub fn read<M: Mesh + ?Sized>(&mut self, mesh: &mut M) -> Result<(), RecordError> {
        self.read_and(mesh, |_, _, _| ())
    }

    /// Reads like [`MeshRecorder::read`], and passes only the data of this read to `visit`.
    ///
    /// Also measures the reference clocks again. The run passed to `visit` contains the clock
    /// samples so far, but no data from the host.
    ///
    /// ```
    /// use recording::capture::MeshRecorder;
    /// use reader::{ReadOptions, mesh::MeshImage};
    /// let mut mesh = MeshImage { devices: Vec::new() };
    /// let mut recorder = MeshRecorder::new(ReadOptions::default(), None);
    /// // Nothing is shown of a mesh that cannot be read.
    /// assert!(recorder.read_part(&mut mesh, |part| panic!("{part:?}")).is_err());
    /// ```
    ///
    /// # Errors
    /// The errors of [`MeshRecorder::read`].
    pub fn read_part<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
        visit: impl FnOnce(CapturedRun),
    ) -> Result<(), RecordError> {
        self.read_and(mesh, |mesh, readout, samples| {
            // Relating the clocks of the tiles requires measurements before and after the records.
            samples.refresh(mesh);
            let (readout, samples) = (readout.clone(), samples.clone());
            visit(CapturedRun::from_parts(readout, samples, Vec::new(), Vec::new()));
        })
    }

    fn read_and<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
        visit: impl FnOnce(&mut M, &Readout, &mut MeshSamples),
    ) -> Result<(), RecordError> {
        let reader = &mut self.reader;
        let (readout, captured) = match &mut self.capture {
            None => (reader.read(mesh), Ok(())),
            Some(capture) => capture.read(reader, mesh, |reader, mesh| reader.read(mesh)),
        };
        let readout = readout?;
        visit(mesh, &readout, &mut self.samples);
        self.readout.append(readout);
        captured?;
        Ok(self.capture_samples()?)
    }

    /// Reads like [`MeshRecorder::read`], and passes the new records of streamed lanes to `visit`,
    /// including records of launches that are still running.
    ///
    /// Also measures the reference clocks again, at most once a second.
    ///
    /// ```
    /// use recording::capture::MeshRecorder;
    /// use reader::{ReadOptions, mesh::MeshImage};
    /// let mut mesh = MeshImage { devices: Vec::new() };
    /// let mut recorder = MeshRecorder::new(ReadOptions::default(), None);
    /// // Nothing is shown of a mesh that cannot be read.
    /// assert!(recorder.read_live(&mut mesh, |part| panic!("{part:?}")).is_err());
    /// ```
    ///
    /// # Errors
    /// The errors of [`MeshRecorder::read`].
    pub fn read_live<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
        visit: impl FnOnce(LivePart),
    ) -> Result<(), RecordError> {
        let (reader, leaves_streamed) = (&mut self.reader, self.leaves_streamed);
        let (read, captured) = match &mut self.capture {
            None => (live_read(reader, mesh, leaves_streamed), Ok(())),
            Some(capture) => {
                capture.read(reader, mesh, |reader, mesh| live_read(reader, mesh, leaves_streamed))
            }
        };
        let read = read?;
        self.measure_clocks_in_time(mesh);
        visit(self.live_part(&read));
        self.readout.append(read.readout);
        captured?;
        Ok(self.capture_samples()?)
    }

    /// Measures the reference clocks if the last measurement for a live part is at least a second
    /// old.
    fn measure_clocks_in_time<M: Mesh + ?Sized>(&mut self, mesh: &mut M) {
        const INTERVAL_NS: u64 = 1_000_000_000;
        let now_ns = mesh.device(0).map_or(0, |device| device.host_time_ns());
        let last_ns = self.clocks_measured_ns;
        if last_ns.is_none_or(|last_ns| now_ns.saturating_sub(last_ns) >= INTERVAL_NS) {
            self.samples.refresh(mesh);
            self.clocks_measured_ns = Some(now_ns);
        }
    }

    fn live_part(&mut self, read: &LiveRead) -> LivePart {
        self.streamed.extend(read.batches.iter().map(|batch| batch.lane));
        let others = read.readout.lanes().filter(|lane| !self.streamed.contains(&lane.id));
        let other_record_count = others.map(|lane| lane.record_count() as u64).sum();
        let mut lanes = lanes_of_batches(&read.batches);
        let devices = read.readout.devices.iter().map(|device| {
            let chip_id = device.chip.chip_id;
            let own = lanes.extract_if(.., |lane| lane.id.chip_id == chip_id).collect();
            DeviceReadout { chip: device.chip.clone(), lanes: own, ..*device }
        });
        let readout = Readout {
            devices: devices.collect(),
            zones: read.readout.zones.clone(),
            losses: read.readout.losses.clone(),
            anomalies: read.readout.anomalies.clone(),
            ..Readout::default()
        };
        let samples = self.samples.clone();
        let run = CapturedRun::from_parts(readout, samples, Vec::new(), Vec::new());
        LivePart { run, other_record_count }
    }

    /// Returns true if markers may be lost within `launches` more launches unless the mesh is read.
    ///
    /// See [`Reader::about_to_overflow`]. The words read for this are not captured.
    ///
    /// # Errors
    /// If no control vector can be read.
    pub fn about_to_overflow<M: Mesh + ?Sized>(
        &mut self,
        mesh: &mut M,
        launches: u32,
    ) -> Result<bool, ReadError> {
        self.reader.about_to_overflow(mesh, launches)
    }

    /// Adds the costs of probes, as measured on the mesh.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn add_probe_costs(&mut self, costs: ProbeCosts) -> Result<(), CaptureError> {
        let written = self.append(&costs);
        self.readout.probe_costs.merge(costs);
        written
    }

    /// Adds the statement that the times of the mesh are simulated.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn add_simulated_time(&mut self, simulated: SimulatedTime) -> Result<(), CaptureError> {
        let written = self.append(&simulated);
        self.readout.add_simulated(Some(simulated));
        written
    }

    /// Adds the options of the profiler with which the recording is made.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn add_options(&mut self, options: RecordedOptions) -> Result<(), CaptureError> {
        let written = self.append(&options);
        self.readout.add_options(options);
        written
    }

    /// Moves all events and ops from a host recorder into the run.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn add_host(&mut self, recorder: &HostRecorder) -> Result<(), CaptureError> {
        let mut recording = match &mut self.capture {
            Some(capture) => capture.writer.append_recorder(recorder)?,
            None => recorder.take(),
        };
        self.ops.append(&mut recording.ops);
        self.host.push(recording);
        Ok(())
    }

    /// Marks the end of the capture and returns the run.
    ///
    /// If there was no final read, for example because the chip stopped answering, the run also
    /// contains the streamed records of launches that had not ended.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn finish(self) -> Result<CapturedRun, CaptureError> {
        let Self { mut reader, capture, samples, mut readout, ops, host, .. } = self;
        reader.add_running_launches(&mut readout);
        capture.map_or(Ok(()), RunCapture::finish)?;
        Ok(CapturedRun::from_parts(readout, samples, ops, host))
    }

    fn append<'file>(&mut self, payload: &impl Payload<'file>) -> Result<(), CaptureError> {
        self.capture.as_mut().map_or(Ok(()), |capture| capture.writer.append(payload))
    }

    /// Writes the new clock samples to the capture, so that they are not lost if the process is
    /// killed.
    ///
    /// Does nothing before the first read, because the section that begins this read also begins
    /// the run in the capture. Samples before this section would belong to the previous run.
    fn capture_samples(&mut self) -> Result<(), CaptureError> {
        let capture = self.capture.as_mut();
        capture.map_or(Ok(()), |capture| capture.append_new_samples(&self.samples))
    }
}

fn live_read<M: Mesh + ?Sized>(
    reader: &mut Reader,
    mesh: &mut M,
    leaves_streamed: bool,
) -> Result<LiveRead, ReadError> {
    if leaves_streamed { reader.read_live(mesh) } else { reader.read_with_batches(mesh) }
}
