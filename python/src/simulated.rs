//! Simulated chips and their readout.

use crate::{
    arguments::{whole_number, word},
    host::Host,
    recording::PyRecording,
    value_error,
};
use host_reader::{
    ProfilerOptions, ReadOptions,
    capture::{CaptureWriter, MeshRecorder, OpMetadata},
    host::HostRecorder,
    init_device_profiler,
    names::ZoneTable,
    programs::read_programs,
    recording::Recording,
    report::ProgramsPerfData,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use sim::{
    arch::Arch,
    config::{CHIPS_MAX, ChipConfig, MeshConfig},
    limits::LiftedLimits,
    mesh::SimulatedMesh as Chips,
    workload::{Phase, Workload, WorkloadOptions},
};
use std::{
    collections::BTreeSet,
    error::Error,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use wire::RunHostId;

/// Chips that one thread runs while another reads them.
type SharedChips = Arc<Mutex<Chips>>;

/// Simulated time in nanoseconds after which another thread gets an opportunity to read the chips.
const STRETCH_NS: u64 = 20_000;

/// Locks chips. A lock poisoned by a panic is accepted, because the chips stay usable.
fn lock(chips: &Mutex<Chips>) -> MutexGuard<'_, Chips> {
    chips.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Simulated chips with a workload. Each read runs the next part of the workload.
#[pyclass(module = "kprof")]
pub(crate) struct SimulatedMesh {
    chips: SharedChips,
    /// Parts of the workload that have not run yet, in reverse order.
    phases: Vec<Phase>,
    ops: Vec<OpMetadata>,
    title: String,
}

/// Returns the names of the workloads.
#[pyfunction]
pub(crate) fn workloads() -> Vec<&'static str> {
    Workload::all().iter().map(|workload| workload.name).collect()
}

#[pymethods]
impl SimulatedMesh {
    #[new]
    #[pyo3(signature = (workload="matmul", *, arch="wormhole_b0", chips=None, seed=None, ops=None))]
    #[pyo3(
        text_signature = "(workload='matmul', *, arch='wormhole_b0', chips=1, seed=0, ops=None)"
    )]
    fn new(
        workload: &str,
        arch: &str,
        chips: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
        ops: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let chips = chips.map_or(Ok(1), |chips| word("chips", chips, 1..=CHIPS_MAX))?;
        let seed = seed.map_or(Ok(0), |seed| whole_number("seed", seed, 0..=u64::MAX))?;
        let ops = ops.map(|ops| word("ops", ops, 0..=RunHostId::BASE_MAX)).transpose()?;
        let known = Workload::named(workload).map_err(|error| value_error(&error))?;
        let arch = Arch::from_name(arch).ok_or_else(|| {
            PyValueError::new_err(format!(
                "there is no architecture `{arch}`; choose wormhole_b0 or blackhole"
            ))
        })?;
        let support_count = known.program_support_count;
        let mut config = MeshConfig::new(seed).with_program_support_count(support_count);
        for _ in 0..chips {
            config = config.with_chip(ChipConfig::new(arch));
        }
        let mut mesh = Chips::new(&config).map_err(|error| value_error(&error))?;
        let options = WorkloadOptions { ops, seed, ..WorkloadOptions::default() };
        let mut plan = known.plan(&mesh, &options);
        plan.rules.iter().for_each(|rule| mesh.add_shared_rule(rule));
        let options =
            ProfilerOptions { program_support_count: support_count, ..ProfilerOptions::default() };
        init_device_profiler(&mut mesh, &options).map_err(|error| value_error(&error))?;
        let ops = names_of(&plan.phases, chips);
        plan.phases.reverse();
        let chips = Arc::new(Mutex::new(mesh));
        Ok(Self { chips, phases: plan.phases, ops, title: workload.to_owned() })
    }

    /// Runs the rest of the workload in short stretches of time, so that a periodic reader can read
    /// between them.
    fn run(&mut self, py: Python<'_>) {
        py.detach(|| {
            while let Some(phase) = self.phases.pop() {
                lock(&self.chips).enqueue_phase(&phase);
                while self.run_for(STRETCH_NS) {
                    // Sleep without the lock, so that a waiting reader can take it.
                    std::thread::sleep(std::time::Duration::from_micros(20));
                }
            }
        });
    }

    /// Number of parts of the workload that have not run yet.
    #[getter]
    fn pending_phases(&self) -> usize {
        self.phases.len()
    }
}

impl SimulatedMesh {
    /// Simulates a span of time; returns false once all launches have ended.
    fn run_for(&self, duration_ns: u64) -> bool {
        let mut chips = lock(&self.chips);
        let has_more = chips.has_launches_to_run();
        if has_more {
            chips.wait_ns(duration_ns);
        } else {
            chips.run_to_completion();
        }
        has_more
    }

    /// Runs the next part of the workload; returns true if more parts follow.
    pub(crate) fn run_phase(&mut self) -> bool {
        if let Some(phase) = self.phases.pop() {
            let mut chips = lock(&self.chips);
            chips.enqueue_phase(&phase);
            chips.run_to_completion();
        }
        !self.phases.is_empty()
    }
}

/// Reads of simulated chips that form one recording.
pub(crate) struct Reads {
    recorder: MeshRecorder,
    chips: SharedChips,
    title: String,
}

impl Reads {
    /// Begins a recording, adds the names of the mesh's programs to it, and measures the clocks.
    pub(crate) fn begin(
        py: Python<'_>,
        mesh: &SimulatedMesh,
        capture: Option<PathBuf>,
    ) -> PyResult<Self> {
        let writer = capture.map(CaptureWriter::create).transpose();
        let writer = writer.map_err(|error| value_error(&error))?;
        let mut recorder = MeshRecorder::new(ReadOptions::default(), writer);
        recorder.add_ops(mesh.ops.clone()).map_err(|error| value_error(&error))?;
        let simulated = sim::limits::simulated_time(LiftedLimits::NONE);
        recorder.add_simulated_time(simulated).map_err(|error| value_error(&error))?;
        let (chips, title) = (Arc::clone(&mesh.chips), mesh.title.clone());
        py.detach(|| recorder.open_clocks(&mut *lock(&chips)));
        Ok(Self { recorder, chips, title })
    }

    /// Reads what the chips have recorded since the last read. Adds figures of the programs in this
    /// read to `programs`.
    pub(crate) fn read(
        &mut self,
        is_last: bool,
        programs: Option<&mut ProgramsPerfData>,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let mut chips = lock(&self.chips);
        let options = self.recorder.options_mut();
        options.zones = ZoneTable::from_texts(chips.zone_texts())?;
        options.last_read = is_last;
        match programs {
            None => self.recorder.read(&mut *chips)?,
            Some(programs) => read_programs(&mut self.recorder, &mut *chips, programs)?,
        }
        Ok(())
    }

    /// Measures the clocks again, and returns all data that was read, with the events of `host`.
    pub(crate) fn finish(self, host: Option<&HostRecorder>) -> PyResult<PyRecording> {
        let Self { mut recorder, chips, title } = self;
        recorder.close_clocks(&mut *lock(&chips)).map_err(|error| value_error(&error))?;
        if let Some(host) = host {
            recorder.add_host(host).map_err(|error| value_error(&error))?;
        }
        let run = recorder.finish().map_err(|error| value_error(&error))?;
        Ok(PyRecording::new(Recording::from_captured_run(run), title))
    }
}

/// Returns the names of the programs, by chip and program id.
fn names_of(phases: &[Phase], chips: u32) -> Vec<OpMetadata> {
    let launches = phases.iter().flat_map(|phase| &phase.launches);
    let named: BTreeSet<(u32, &str)> =
        launches.map(|launch| (launch.program_id, launch.program.name())).collect();
    let named = named.into_iter().filter(|&(id, _)| id != 0);
    let ops = named.flat_map(|(base, name)| {
        (0..chips).map(move |chip_id| OpMetadata {
            chip_id,
            run_host_id: RunHostId::encode(base, chip_id),
            fields: [(OpMetadata::NAME.to_owned(), name.to_owned())].into(),
        })
    });
    ops.collect()
}

/// Runs the rest of the mesh's workload, reads the mesh after each part, and returns the recording.
///
/// With `capture`, the data is also written to a new capture. Events of `host` are included.
#[pyfunction]
#[pyo3(signature = (mesh, capture=None, host=None))]
pub(crate) fn read_device_profiler(
    py: Python<'_>,
    mesh: &mut SimulatedMesh,
    capture: Option<PathBuf>,
    host: Option<&Host>,
) -> PyResult<PyRecording> {
    let mut reads = Reads::begin(py, mesh, capture)?;
    let recorder = host.map(|host| host.recorder.clone());
    py.detach(|| {
        let mut has_more = true;
        while has_more {
            has_more = mesh.run_phase();
            reads.read(!has_more, None).map_err(|error| value_error(&*error))?;
        }
        reads.finish(recorder.as_ref())
    })
}
