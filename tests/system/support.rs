//! Runs a workload and reads it like a host runtime.

use crate::accounting::WAIT_FOR_HOST_ZONE;
use host_reader::{
    ProfilerOptions, ReadOptions, init_device_profiler, lane::ZoneIndex, names::ZoneTable,
    read::Reader, readout::Readout, timeline::Timeline,
};
use sim::{
    config::MeshConfig,
    fault::Rule,
    machine::ExecutionFailure,
    mesh::SimulatedMesh,
    program::{CoreSelection, Launch},
    truth::Truth,
    workload::{Phase, Plan, Workload, WorkloadOptions},
};
use std::sync::Arc;

/// Returns the first `count` worker cores of the first chip.
pub(crate) fn first_workers(mesh: &SimulatedMesh, count: usize) -> CoreSelection {
    let workers = mesh.chip(0).unwrap().workers().map(|place| place.coord);
    CoreSelection::At(workers.take(count).collect())
}

/// Results of a run: the readout and the ground truth.
pub(crate) struct Outcome {
    pub(crate) readout: Readout,
    pub(crate) timeline: Timeline,
    pub(crate) truth: Truth,
    /// Failures of object code.
    pub(crate) failures: Vec<ExecutionFailure>,
}

impl Outcome {
    /// Returns the cycles of each recorded wait for a host or a relay.
    pub(crate) fn wait_cycles(&self) -> Vec<u64> {
        let name = |zone: ZoneIndex| self.readout.zones.name(zone);
        let zones = self.timeline.lanes().flat_map(|lane| lane.zones.iter());
        let waits = zones.filter(|zone| name(zone.zone) == WAIT_FOR_HOST_ZONE);
        waits.map(|wait| wait.end_cycle - wait.start_cycle).collect()
    }
}

/// A mesh on which a workload is about to run.
pub(crate) struct Session {
    pub(crate) mesh: SimulatedMesh,
    pub(crate) plan: Plan,
}

impl Session {
    /// Creates the mesh, adds the faults and initialises the profiler.
    pub(crate) fn new(
        config: &MeshConfig,
        workload: &str,
        options: &WorkloadOptions,
        rules: Vec<Arc<dyn Rule>>,
    ) -> Self {
        let mut mesh = SimulatedMesh::new(config).unwrap();
        let plan = Workload::named(workload).unwrap().plan(&mesh, options);
        for rule in plan.rules.iter().chain(&rules) {
            mesh.add_shared_rule(rule);
        }
        let options = ProfilerOptions {
            program_support_count: config.program_support_count,
            sums_enabled: config.modes.sums_enabled,
            ..ProfilerOptions::default()
        };
        init_device_profiler(&mut mesh, &options).unwrap();
        Self { mesh, plan }
    }

    /// Runs every phase to completion, with a read after each.
    pub(crate) fn run(mut self) -> Outcome {
        let mut reader = Reader::new(ReadOptions::default());
        let mut readout = Readout::default();
        let phases = std::mem::take(&mut self.plan.phases);
        for (index, phase) in phases.iter().enumerate() {
            self.mesh.enqueue_phase(phase);
            self.mesh.run_to_completion();
            reader.options_mut().last_read = index + 1 == phases.len();
            readout.append(reader.read(&mut self.mesh).unwrap());
        }
        outcome(readout, &self.mesh)
    }
}

/// Runs launches on a new mesh with the profiler initialised, and reads nothing.
pub(crate) fn mesh_after(config: &MeshConfig, launches: Vec<Launch>) -> SimulatedMesh {
    let mut mesh = SimulatedMesh::new(config).unwrap();
    let options = ProfilerOptions {
        program_support_count: config.program_support_count,
        ..ProfilerOptions::default()
    };
    init_device_profiler(&mut mesh, &options).unwrap();
    mesh.enqueue_phase(&Phase { launches });
    mesh.run_to_completion();
    mesh
}

/// Runs a workload without faults or special options.
pub(crate) fn run(config: &MeshConfig, workload: &str, ops: Option<u32>) -> Outcome {
    let options = WorkloadOptions { ops, ..WorkloadOptions::default() };
    Session::new(config, workload, &options, Vec::new()).run()
}

/// Names and pairs the zones, and gets the simulator's ground truth.
pub(crate) fn outcome(mut readout: Readout, mesh: &SimulatedMesh) -> Outcome {
    readout.zones = ZoneTable::from_texts(mesh.zone_texts()).unwrap();
    let timeline = Timeline::from_readout(&readout);
    let failures = mesh.execution_failures().cloned().collect();
    Outcome { readout, timeline, truth: mesh.truth(), failures }
}
