//! Session of a program that uses an unmodified ttnn. The session reads copies of chip memory, and
//! stores the names of ops.

use crate::{host::Host, recording::PyRecording, value_error};
use host_reader::{
    ReadOptions,
    capture::{CaptureWriter, OpMetadata},
    export::tracy::{LiveView, LiveViewOptions, Program, ServeError, ServedViewer},
    mesh::{DeviceDescription, DramDescription, LogicalCoord, Noc0Coord},
    read::PeriodicThread,
    recorded_options::RecordedOptions,
    recording::Recording,
    zone_names::{NameAge, ZoneNames, ZoneNamesError},
};
use pyo3::{exceptions::PyValueError, prelude::*, types::PyBytes};
use sim::limits::LiftedLimits;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use ttnn::{
    ChipLink, ClockReading, CopiedChip, Session, SessionError, StreamLink, WorkerCore,
    launches::{LaunchEntry, LaunchLog, tensors},
    package::Package,
    simulator::is_own,
    tree::{Build, Tree, base_of, cache_folder},
};
use wire::{RunHostId, stream::Policy};

pub(crate) mod outside;

/// Chips of a program that uses an unmodified ttnn.
#[pyclass(module = "kprof")]
pub(crate) struct TtnnSession {
    session: SharedSession,
    /// Thread that reads the rings of streaming chips.
    reading: Option<PeriodicThread<SharedSession>>,
    names: ZoneNames,
    title: String,
    /// Tracy viewers of the running program.
    view: Option<Arc<Mutex<LiveView>>>,
}

/// Returns true if this process uses kprof's own simulator instead of a chip.
fn simulates_time() -> bool {
    let [library, forwarded] = ["TT_METAL_SIMULATOR", "KPROF_CHIP_LIBRARY"]
        .map(|name| std::env::var_os(name).map(PathBuf::from));
    library.is_some_and(|library| is_own(&library, forwarded.as_deref()))
}

/// The session; `None` once it is finished. The reading thread shares it.
type SharedSession = Arc<Mutex<Option<Session>>>;

/// A core: its NoC-0 coordinate, then its logical coordinate.
type Core = (u16, u16, u16, u16);

/// Metadata of an op: its chip, the id of its program, and pairs of a field's name and value.
type OpFacts = (u32, u32, Vec<(String, String)>);

#[pymethods]
impl TtnnSession {
    #[new]
    #[pyo3(signature = (title, capture=None, program_support_count=1000, sums=false))]
    fn new(
        title: String,
        capture: Option<PathBuf>,
        program_support_count: u32,
        sums: bool,
    ) -> PyResult<Self> {
        let writer = capture.map(CaptureWriter::create).transpose();
        let writer = writer.map_err(|error| value_error(&error))?;
        let options =
            ReadOptions { program_support_count, sums_enabled: sums, ..ReadOptions::default() };
        let mut session = Session::new(options, writer);
        if simulates_time() {
            let lifted = LiftedLimits::from_environment().map_err(|error| value_error(&error))?;
            let simulated = sim::limits::simulated_time(lifted);
            let told = session.recorder.add_simulated_time(simulated);
            told.map_err(|error| value_error(&error))?;
        }
        let session = Arc::new(Mutex::new(Some(session)));
        outside::remember(&session);
        Ok(Self { session, reading: None, names: ZoneNames::new(), title, view: None })
    }

    /// Adds options of the profiler with which the program is recorded: pairs of a name and a value.
    fn add_options(&mut self, py: Python<'_>, pairs: Vec<(String, String)>) -> PyResult<()> {
        let options = RecordedOptions::from_pairs(pairs);
        self.with_session(py, |session| Ok(session.recorder.add_options(options)?))
    }

    /// Adds a chip; returns its number in the session and the flat ids of its cores, with dispatch
    /// cores last.
    #[expect(clippy::too_many_arguments, reason = "the words of a chip's description")]
    #[pyo3(signature = (chip_id, arch, aiclk_mhz, cores, bank_count, region_address, region_bytes, dispatch_cores=vec![]))]
    fn add_chip(
        &mut self,
        py: Python<'_>,
        chip_id: u32,
        arch: String,
        aiclk_mhz: u32,
        cores: Vec<Core>,
        bank_count: u32,
        region_address: u64,
        region_bytes: u64,
        dispatch_cores: Vec<Core>,
    ) -> PyResult<(usize, Vec<u32>)> {
        let core = |&(x, y, logical_x, logical_y): &Core| WorkerCore {
            noc0: Noc0Coord { x, y },
            logical: LogicalCoord { x: logical_x, y: logical_y },
        };
        let cores: Vec<_> = cores.iter().map(core).collect();
        let dispatch_cores: Vec<_> = dispatch_cores.iter().map(core).collect();
        let description = DeviceDescription {
            chip_id,
            arch,
            aiclk_mhz,
            max_compute_cores: u32::try_from(cores.len()).unwrap_or(u32::MAX),
            cores: Vec::new(),
            dram: DramDescription { bank_count, region_address, region_bytes },
        };
        let chip = CopiedChip::new(description, &cores);
        let chip = chip.and_then(|chip| chip.with_dispatch_cores(&dispatch_cores));
        let chip = chip.map_err(|error| value_error(&error))?;
        let flat_ids = chip.flat_ids();
        Ok((self.with_session(py, |session| Ok(session.add_chip(chip)))?, flat_ids))
    }

    /// Starts a thread that reads the rings of a chip.
    ///
    /// `socket` is the socket at which the chip can be accessed. `control_address` is the L1
    /// address of the control vectors. `policy` is the control word that determines what a RISC
    /// does when its ring is full.
    fn stream_chip(
        &mut self,
        py: Python<'_>,
        chip: usize,
        socket: PathBuf,
        control_address: u64,
        policy: u32,
        read_every_ns: u64,
    ) -> PyResult<()> {
        let policy = Policy::from_word(policy).ok_or_else(|| {
            PyValueError::new_err(format!("expected a policy of full rings, found {policy}"))
        })?;
        let link = StreamLink { socket, control_address, policy };
        self.with_session(py, |session| session.stream_chip(chip, &link))?;
        if self.reading.is_none() {
            let period = Duration::from_nanos(read_every_ns);
            let session = Arc::clone(&self.session);
            let thread = PeriodicThread::start(period, session, |session, is_last| {
                if let (false, Some(session)) = (is_last, lock(session).as_mut()) {
                    session.read_meanwhile();
                }
            })?;
            self.reading = Some(thread);
        }
        Ok(())
    }

    /// Serves Tracy viewers while rings are read. Also waits for the first viewer if requested.
    /// Does nothing if viewers are already being served.
    fn serve_tracy(
        &mut self,
        py: Python<'_>,
        address: String,
        waits: bool,
        fork: bool,
        drop_after_s: u64,
    ) -> PyResult<()> {
        if self.view.is_some() {
            return Ok(());
        }
        let options = LiveViewOptions {
            address,
            title: self.title.clone(),
            program: if fork { Program::Fork } else { Program::Stock },
            patience: Duration::from_secs(drop_after_s),
        };
        let mut session = lock(&self.session);
        let open = session.as_mut().ok_or_else(finished)?;
        let view = LiveView::begin(options, open.streamed_mesh(), tell_viewer);
        let view = view.map_err(|error| value_error(&error))?;
        eprintln!("kprof: waiting for Tracy viewers on {}", view.address());
        let view = Arc::new(Mutex::new(view));
        let fed = Arc::clone(&view);
        open.visit_reads(move |part| lock_view(&fed).add(part));
        drop(session);
        while waits && !py.detach(|| lock_view(&view).wait_for_viewer(Duration::from_millis(200))) {
            py.check_signals()?;
        }
        self.view = Some(view);
        Ok(())
    }

    /// Reads rings until all launches have published their records. Call this method only while no
    /// launch is running.
    fn read_at_rest(&mut self, py: Python<'_>) -> PyResult<()> {
        self.with_session(py, |session| session.take_failure().map_or(Ok(()), Err))?;
        self.with_session(py, Session::read_at_rest)
    }

    /// Reads rings for the last time. Kernels that run later discard their records instead of
    /// waiting for a reader.
    fn end_streams(&mut self, py: Python<'_>) -> PyResult<()> {
        self.with_session(py, Session::end_streams)
    }

    /// Stores copies of a chip's control vectors and lanes.
    fn load(&mut self, py: Python<'_>, chip: usize, controls: &[u8], lanes: &[u8]) -> PyResult<()> {
        self.with_session(py, |session| {
            let chip = session.chip_mut(chip)?;
            chip.load_controls(&words(controls))?;
            Ok(chip.load_lanes(words(lanes))?)
        })
    }

    /// Reads the stored copies.
    fn read(&mut self, py: Python<'_>) -> PyResult<()> {
        self.with_session(py, Session::read)
    }

    /// Returns the control vectors to write back to a chip. If a core's control vector has not
    /// changed, all words of this vector are 0.
    fn acknowledgement<'py>(
        &mut self,
        py: Python<'py>,
        chip: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let words =
            self.with_session(py, |session| Ok(session.chip_mut(chip)?.acknowledgement()))?;
        Ok(PyBytes::new(py, bytemuck::cast_slice(&words)))
    }

    /// Adds clock readings. A reading is the x and y of a core on NoC 0, the host time in ns before
    /// the reading, the core's cycles, and the host time in ns after the reading.
    fn add_clocks(
        &mut self,
        py: Python<'_>,
        chip: usize,
        readings: Vec<(u16, u16, i64, u64, i64)>,
    ) -> PyResult<()> {
        let readings: Vec<_> = readings
            .into_iter()
            .map(|(x, y, before_ns, cycles, after_ns)| ClockReading {
                core: Noc0Coord { x, y },
                before_ns,
                cycles,
                after_ns,
            })
            .collect();
        self.with_session(py, |session| session.add_clocks(chip, &readings))
    }

    /// Adds metadata of ops: chip, id of the program, and fields.
    fn add_ops(&mut self, py: Python<'_>, ops: Vec<OpFacts>) -> PyResult<()> {
        let ops = ops
            .into_iter()
            .map(|(chip_id, program, fields)| OpMetadata {
                chip_id,
                run_host_id: RunHostId::encode(program, chip_id),
                fields: fields.into(),
            })
            .collect();
        self.with_session(py, |session| session.add_ops(ops))
    }

    /// Lets the chip be read from outside. `socket` is the socket at which this process serves the
    /// simulated chip, and `control_address` the L1 address of the control vectors.
    fn reach_chip(
        &mut self,
        py: Python<'_>,
        chip: usize,
        socket: PathBuf,
        control_address: u64,
    ) -> PyResult<()> {
        let link = ChipLink { socket, control_address };
        self.with_session(py, |session| {
            session.reach_chip(chip, link);
            Ok(())
        })
    }

    /// Reads the chips without a launch, because a launch of the program never ends. Returns the ids of
    /// the chips that cannot be reached.
    fn read_from_outside(&mut self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.with_session(py, Session::read_from_outside)
    }

    /// Adds the names of zones from a log that tt-metal writes when it compiles kernels. Returns
    /// the number of new names.
    fn add_zone_names(&mut self, path: PathBuf) -> PyResult<usize> {
        let added = add_zone_names(&mut self.names, &path)?;
        added.map_err(|error| value_error(&error))
    }

    /// Uses the added names in all further reads.
    fn use_zone_names(&mut self, py: Python<'_>) -> PyResult<()> {
        let (zones, _) = self.names.clone().finish();
        self.with_session(py, |session| {
            session.recorder.options_mut().zones = zones;
            Ok(())
        })
    }

    /// Adds the events that the program itself recorded.
    fn add_host(&mut self, py: Python<'_>, host: &Host) -> PyResult<()> {
        let recorder = &host.recorder;
        self.with_session(py, |session| Ok(session.recorder.add_host(recorder)?))
    }

    /// Returns the number of records read so far.
    #[getter]
    fn record_count(&mut self, py: Python<'_>) -> PyResult<usize> {
        self.with_session(py, |session| Ok(session.recorder.readout().record_count()))
    }

    /// Marks the end of the capture and returns all data that was read.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyRecording> {
        if let Some(reading) = self.reading.take() {
            // If the thread panicked, its message was printed, and the data that it had read is
            // kept.
            let _ = py.detach(|| reading.stop());
        }
        let session = lock(&self.session).take().ok_or_else(finished)?;
        let run = session.recorder.finish().map_err(|error| value_error(&error))?;
        let recording = Recording::from_captured_run(run);
        if let Some(view) = self.view.take() {
            let waiting = py.detach(|| {
                let view = lock_view(&view);
                view.finish(&recording);
                view.wait_for_viewers()
            });
            if let Some(pressure) = waiting {
                eprintln!(
                    "kprof: {} Tracy viewers have not received everything: {} zones are waiting",
                    pressure.viewer_count, pressure.waiting_zones
                );
            }
        }
        Ok(PyRecording::new(recording, self.title.clone()))
    }
}

/// Adds the names of zones from a log that tt-metal writes when it compiles kernels.
fn add_zone_names(
    names: &mut ZoneNames,
    path: &Path,
) -> std::io::Result<Result<usize, ZoneNamesError>> {
    let log = std::fs::read(path)?;
    let lines: Vec<_> = log
        .split(|&byte| byte == b'\n')
        .filter(|line| line.ends_with(b",KERNEL_PROFILER'"))
        .collect();
    let lines = lines.join(&b'\n');
    Ok(names.add_log(&path.to_string_lossy(), NameAge::AnyBuild, &*lines))
}

fn lock_view(view: &Mutex<LiveView>) -> MutexGuard<'_, LiveView> {
    view.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints how a viewer's connection ended.
fn tell_viewer(result: Result<ServedViewer, ServeError>) {
    match result {
        Err(error) => eprintln!("kprof: {error}"),
        Ok(served) => {
            let ServedViewer { peer, notes, .. } = served;
            if let Some(failure) = served.failure() {
                return eprintln!("kprof: {peer} {failure}");
            }
            let (zones, lanes) = (notes.zones, notes.lanes);
            eprintln!("kprof: {peer} received all kept data: {zones} zones on {lanes} lanes");
            for (what, count) in notes.doubts() {
                eprintln!("  {}: {count}", what.replace('_', " "));
            }
        }
    }
}

impl TtnnSession {
    /// Calls a function with the session. Other Python threads can run while the function runs.
    fn with_session<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Session) -> Result<T, SessionError> + Send,
    ) -> PyResult<T> {
        let session = &self.session;
        let result = py.detach(|| lock(session).as_mut().map(call));
        result.ok_or_else(finished)?.map_err(|error| value_error(&error))
    }
}

fn lock(session: &SharedSession) -> MutexGuard<'_, Option<Session>> {
    // A lock poisoned by a panic in a read is accepted, because the session keeps all data of
    // earlier reads.
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a root folder for tt-metal that contains kprof's header. Returns the variables that make
/// tt-metal use this folder.
#[pyfunction]
pub(crate) fn ttnn_environment(
    python: PathBuf,
    logs: PathBuf,
    program_support_count: u32,
    sums: bool,
) -> PyResult<Vec<(&'static str, OsString)>> {
    let package = Package::find(&python).map_err(|error| value_error(&error))?;
    let Some(package) = package else {
        return Err(PyValueError::new_err("expected the package ttnn, found none"));
    };
    let build = Build {
        header: &kernel_profiler::cpp_header::FILES,
        program_support_count,
        sums,
        dispatch_cores: false,
        defines: Vec::new(),
        keeps_going: false,
    };
    let tree =
        cache_folder().and_then(|cache| Tree::make(&cache, &package, &base_of(&package), &build));
    Ok(tree.map_err(|error| value_error(&error))?.variables(&logs))
}

/// Returns the little-endian words in the bytes of a memory copy.
fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|&word| u32::from_le_bytes(word)).collect()
}

fn finished() -> PyErr {
    PyValueError::new_err("expected an open session, found a finished one")
}

/// Reader of the Inspector's log of launches.
#[pyclass(module = "kprof")]
#[derive(Default)]
pub(crate) struct TtnnLaunchLog {
    log: LaunchLog,
}

/// A launch: program id, workload, name, input tensors as JSON, trace id, and the time of the log
/// entry in ns.
type Launch = (u32, Option<u64>, String, String, Option<u32>, u64);

#[pymethods]
impl TtnnLaunchLog {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds text that was appended to the log. Returns the launches that are now complete.
    fn add(&mut self, text: &str) -> Vec<Launch> {
        self.log.add(text);
        let entries = self.log.take().into_iter();
        let launch = entries.map(|entry| {
            let inputs = serde_json::Value::Array(tensors(&entry.parameters)).to_string();
            let LaunchEntry { runtime_id, workload_id, name, trace_id, time_ns, .. } = entry;
            (runtime_id, workload_id, name, inputs, trace_id, time_ns)
        });
        launch.collect()
    }

    /// Returns the number of entries that could not be read.
    #[getter]
    fn malformed_count(&self) -> u64 {
        self.log.malformed_count()
    }
}
