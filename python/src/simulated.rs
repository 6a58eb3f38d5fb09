//! Simulated chips, and reading them.

use crate::{host::Host, recording::PyRecording, value_error};
use host_reader::{
    ProfilerOptions, ReadOptions,
    capture::{CaptureWriter, MeshRecorder, OpMetadata},
    init_device_profiler,
    names::ZoneTable,
    recording::Recording,
};
use pyo3::{exceptions::PyValueError, prelude::*};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    mesh::SimulatedMesh as Chips,
    workload::{Phase, Workload, WorkloadOptions},
};
use std::{collections::BTreeSet, path::PathBuf};
use wire::RunHostId;

/// Simulated chips with a workload; every read carries out the next part of it.
#[pyclass(module = "kprof")]
pub(crate) struct SimulatedMesh {
    chips: Chips,
    /// Parts that have not run yet, the next one last.
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
    #[pyo3(signature = (workload="matmul", *, arch="wormhole_b0", chips=1, seed=0, ops=None))]
    fn new(workload: &str, arch: &str, chips: u32, seed: u64, ops: Option<u32>) -> PyResult<Self> {
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
        Ok(Self { chips: mesh, phases: plan.phases, ops, title: workload.to_owned() })
    }

    /// Number of parts that have not run yet.
    #[getter]
    fn pending_phases(&self) -> usize {
        self.phases.len()
    }
}

/// Names of the programs, by chip and run host id.
fn names_of(phases: &[Phase], chips: u32) -> Vec<OpMetadata> {
    let launches = phases.iter().flat_map(|phase| &phase.launches);
    let named: BTreeSet<(u32, &str)> =
        launches.map(|launch| (launch.program_id, launch.program.name())).collect();
    let named = named.into_iter().filter(|&(id, _)| id != 0);
    let ops = named.flat_map(|(base, name)| {
        (0..chips).map(move |chip_id| OpMetadata {
            chip_id,
            run_host_id: RunHostId::encode(base, chip_id),
            fields: vec![(OpMetadata::NAME.to_owned(), name.to_owned())],
        })
    });
    ops.collect()
}

/// Runs what is left of the mesh's workload, reads the mesh after each part, and gives all of it;
/// with `capture`, into a new capture as well. Events of `host` come along.
#[pyfunction]
#[pyo3(signature = (mesh, capture=None, host=None))]
pub(crate) fn read_device_profiler(
    py: Python<'_>,
    mesh: &mut SimulatedMesh,
    capture: Option<PathBuf>,
    host: Option<&Host>,
) -> PyResult<PyRecording> {
    let writer = capture.map(CaptureWriter::create).transpose();
    let writer = writer.map_err(|error| value_error(&error))?;
    let recorder = host.map(|host| host.recorder.clone());
    py.detach(|| {
        let mut reads = MeshRecorder::new(ReadOptions::default(), writer);
        reads.add_ops(mesh.ops.clone()).map_err(|error| value_error(&error))?;
        reads.open_clocks(&mut mesh.chips);
        loop {
            if let Some(phase) = mesh.phases.pop() {
                mesh.chips.enqueue_phase(&phase);
                mesh.chips.run_to_completion();
            }
            let zones = ZoneTable::of_texts(mesh.chips.zone_texts());
            let options = reads.options_mut();
            options.zones = zones.map_err(|error| value_error(&error))?;
            options.last_read = mesh.phases.is_empty();
            reads.read(&mut mesh.chips).map_err(|error| value_error(&error))?;
            if mesh.phases.is_empty() {
                break;
            }
        }
        reads.close_clocks(&mut mesh.chips).map_err(|error| value_error(&error))?;
        if let Some(recorder) = &recorder {
            reads.add_host(recorder).map_err(|error| value_error(&error))?;
        }
        let run = reads.finish().map_err(|error| value_error(&error))?;
        Ok(PyRecording::new(Recording::of_captured_run(run), mesh.title.clone()))
    })
}
