//! Messages with which the simulated host reports traces, in the format of TT-Metal.

use crate::{
    failure::note,
    host_zones::{HostZones, TRACES},
};
use host_reader::{
    host::{TraceMessage, TraceStep},
    mesh::Mesh,
};
use sim::{
    config::MeshConfig,
    program::Launch,
    workload::{Phase, Plan},
};
use std::collections::{BTreeMap, BTreeSet};

/// Prints a note if the run records nothing, because it records only replays of traces and the plan
/// replays no trace.
pub(super) fn note_missing_replays(config: &MeshConfig, plan: &Plan) {
    if config.modes.is_trace_only && !plan.replays_traces() {
        note!(
            "kprof: trace-only mode records only replays of traces, and this workload has none; \
             --workload trace-replay does"
        );
    }
}

/// Reports each trace of a plan with its programs.
pub(super) fn report_traces<M: Mesh + ?Sized>(host: &HostZones, mesh: &mut M, plan: &Plan) {
    let mut traces: BTreeMap<u64, BTreeSet<u32>> = BTreeMap::new();
    for launch in plan.phases.iter().flat_map(|phase| &phase.launches) {
        if let Some(trace_id) = launch.trace_id {
            traces.entry(trace_id).or_default().insert(launch.program_id);
        }
    }
    for (trace_id, programs) in traces {
        let programs = programs.into_iter().map(|id| TraceStep::EnqueueProgram(id.into()));
        let steps = std::iter::once(TraceStep::Begin).chain(programs).chain([TraceStep::End]);
        steps.for_each(|step| report(host, mesh, step, trace_id));
    }
}

/// Reports the trace replays of a phase. Call this before the replays run.
pub(super) fn report_replays<M: Mesh + ?Sized>(host: &HostZones, mesh: &mut M, phase: &Phase) {
    let begun = phase.launches.iter().filter(|launch: &&Launch| launch.begins_trace_replay);
    begun
        .filter_map(|launch| launch.trace_id)
        .for_each(|trace_id| report(host, mesh, TraceStep::Replay, trace_id));
}

fn report<M: Mesh + ?Sized>(host: &HostZones, mesh: &mut M, step: TraceStep, trace_id: u64) {
    for index in 0..mesh.device_count() {
        let Some(device) = mesh.device(index) else { continue };
        let chip_id = device.description().chip_id.into();
        host.message(mesh, &TRACES, &TraceMessage { step, chip_id, trace_id }.to_string());
    }
}
