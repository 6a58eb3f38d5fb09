//! Execution of a run on a mesh: launches, reads of the chips, and the host's recording.

use super::{
    backend::{self, Chips},
    run_buffers::HostBuffers,
    run_lines::LineCollector,
    run_traces::{report_replays, report_traces},
};
use crate::{
    args::{LinesOf, TracyViewArgs, WorkloadArgs},
    failure::{Failure, OrFail, note},
    host_zones::{HostZones, READ_DEVICE_PROFILER, RUN_PROGRAMS, SYNCHRONISE_CLOCKS},
    progress::Progress,
    recording::{CaptureTarget, Recording},
    tracy_view::begin_view,
};
use host_reader::{
    ProfilerOptions, ReadOptions, Reader,
    capture::OpMetadata,
    environment::Settings,
    export::tracy::LiveView,
    init_device_profiler,
    names::ZoneTable,
    probe_cost::{ProbeCosts, measure_probe_costs},
    readout::Readout,
    recorded_options::RecordedOptions,
    recording::{self, SUB_DEVICE_ID, SUB_DEVICE_MANAGER_ID, SUB_DEVICE_WORKER_CORES},
    simulated_time::SimulatedTime,
    timeline::Timeline,
};
use sim::{
    config::MeshConfig,
    mesh::SimulatedMesh,
    program::{CoreSelection, SubDevice},
    workload::{Plan, Workload, WorkloadOptions},
};
use std::collections::BTreeSet;
use wire::{RunHostId, stream::Policy};

/// Options for recording the host and the chips in a run.
pub(super) struct HostSession<'run> {
    /// Capture to write.
    pub(super) capture: Option<&'run CaptureTarget>,
    /// Settings that determine the chips' records.
    pub(super) settings: &'run Settings,
    /// True if the cost of probes is measured.
    pub(super) is_calibrated: bool,
    /// Statement about the chips' times; `None` if the back end does not simulate time.
    pub(super) simulated: Option<SimulatedTime>,
    /// Options of the profiler, which the capture keeps.
    pub(super) options: RecordedOptions,
    /// Names of zones of which the simulated object code has no text.
    pub(super) names: ZoneTable,
    /// True if allocations of buffers are recorded.
    pub(super) has_buffers: bool,
    /// Simulated time between two reads of running launches, in nanoseconds; `None` if chips are
    /// read only between launches.
    pub(super) pause_ns: Option<u64>,
    /// Rows of the table `lines`; `None` if it is not wanted.
    pub(super) lines: Option<LinesOf>,
    /// Policy of a streaming RISC when its ring is full.
    pub(super) stream_policy: Policy,
    /// Options for Tracy viewers, and the title that the viewers show.
    pub(super) view: Option<(&'run TracyViewArgs, &'run str)>,
}

/// Result of a run.
pub(super) struct Executed {
    pub(super) recording: recording::Recording,
    pub(super) read_count: u64,
    /// Counts of the executed instructions, if they are wanted.
    pub(super) lines: Option<LineCollector>,
    /// Tracy viewers that may still need data of the run.
    pub(super) view: Option<LiveView>,
}

/// Runs the plan and reads the mesh.
pub(super) fn execute(
    mesh: &mut dyn Chips,
    plan: &Plan,
    config: &MeshConfig,
    session: &HostSession<'_>,
) -> Result<Executed, Failure> {
    let HostSession { capture, settings, is_calibrated, has_buffers, pause_ns, .. } = *session;
    let stream_policy = session.stream_policy;
    let options = ProfilerOptions { stream_policy, ..settings.profiler_options() };
    init_device_profiler(mesh, &options).or_fail()?;
    // In trace-only mode, a launch's records have the number of a replay instead of a program id,
    // so names of programs do not apply.
    let is_counter_pass = capture.is_some_and(|capture| capture.is_counter_pass);
    let is_named = !config.modes.is_trace_only && !is_counter_pass;
    let ops = if is_named { op_names(mesh, plan) } else { Vec::new() };
    let host = HostZones::new();
    let options = settings.read_options();
    let mut recording = Recording::new(options, capture, ops)?;
    host.zone(mesh, &SYNCHRONISE_CLOCKS, |mesh| recording.recorder.open_clocks(mesh));
    if let Some((args, title)) = session.view {
        recording.view = begin_view(args, title, mesh)?;
    }
    let progress = Progress::new("launches", launch_count(plan, config));
    let (mut launches_done, mut read_count) = (0, 0);
    report_traces(&host, mesh, plan);
    let mut buffers = HostBuffers::default();
    let mut lines = session.lines.map(LineCollector::new);
    for (index, phase) in plan.phases.iter().enumerate() {
        if has_buffers {
            buffers.enqueue(&host, mesh, (phase, config.seed));
        }
        report_replays(&host, mesh, phase);
        let mut rest = phase.clone();
        if let Some(pause_ns) = pause_ns {
            mesh.begin_phase(&std::mem::take(&mut rest))?;
            read_count += read_meanwhile(mesh, &host, &mut recording, (session, pause_ns))?;
        }
        let ran = host.zone(mesh, &RUN_PROGRAMS, |mesh| {
            mesh.run_phase(&rest, &mut || {
                launches_done += 1;
                progress.set(launches_done);
            })
        });
        ran?;
        let is_last = index + 1 == plan.phases.len();
        if is_last {
            mesh.close_command_queues();
        }
        let names = zone_names(mesh, session)?;
        // What a failed launch has left in L1 is gone when its core runs the next launch.
        let reads_l1 = is_last || !mesh.kernel_failures().is_empty();
        host.zone(mesh, &READ_DEVICE_PROFILER, |mesh| recording.read(mesh, names, reads_l1))?;
        read_count += 1;
        mesh.check()?;
        if let Some(lines) = &mut lines {
            lines.add(mesh.take_lines());
        }
    }
    if let Some(simulated) = session.simulated.clone() {
        recording.recorder.add_simulated_time(simulated).or_fail()?;
    }
    recording.recorder.add_options(session.options.clone()).or_fail()?;
    let closed = host.zone(mesh, &SYNCHRONISE_CLOCKS, |mesh| recording.recorder.close_clocks(mesh));
    closed.or_fail()?;
    // Cores whose kernels have not ended run no calibration.
    let has_failed = !mesh.kernel_failures().is_empty();
    if is_calibrated && has_failed {
        note!("kprof: the cost of probes was not measured, because kernels failed");
    }
    if is_calibrated && !has_failed {
        recording.recorder.add_probe_costs(calibrate(mesh, config)?).or_fail()?;
    }
    recording.recorder.add_host(host.recorder()).or_fail()?;
    let (recording, view) = recording.finish()?;
    Ok(Executed { recording, read_count, lines, view })
}

/// Reads the chips while launches run, with `pause_ns` of simulated time before each read. Returns
/// the number of reads.
fn read_meanwhile(
    mesh: &mut dyn Chips,
    host: &HostZones,
    recording: &mut Recording,
    (session, pause_ns): (&HostSession<'_>, u64),
) -> Result<u64, Failure> {
    let mut read_count = 0;
    while host.zone(mesh, &RUN_PROGRAMS, |mesh| mesh.run_for(pause_ns))? {
        let names = zone_names(mesh, session)?;
        host.zone(mesh, &READ_DEVICE_PROFILER, |mesh| recording.read(mesh, names, false))?;
        read_count += 1;
    }
    Ok(read_count)
}

/// Measures the cost of probes on a mesh with the workload `probe-cost`.
fn calibrate(mesh: &mut dyn Chips, config: &MeshConfig) -> Result<ProbeCosts, Failure> {
    let plan = Workload::named("probe-cost").or_fail()?;
    let blueprint = SimulatedMesh::new(config).or_fail()?;
    let plan = plan.plan(&blueprint, &WorkloadOptions::default());
    for phase in &plan.phases {
        mesh.run_phase(phase, &mut || {})?;
    }
    let zones = ZoneTable::from_texts(mesh.zone_texts()).or_fail()?;
    let mut reader = Reader::new(ReadOptions { zones, last_read: true, ..ReadOptions::default() });
    let readout = reader.read(mesh).or_fail()?;
    measure_probe_costs(&readout, &Timeline::from_readout(&readout)).or_fail()
}

/// Returns the names and sub-devices of all planned programs, for each chip.
fn op_names(mesh: &mut dyn Chips, plan: &Plan) -> Vec<OpMetadata> {
    let chips: Vec<u32> = (0..mesh.device_count())
        .filter_map(|index| Some(mesh.device(index)?.description().chip_id))
        .collect();
    let launches = plan.phases.iter().flat_map(|phase| &phase.launches);
    let launches = launches.filter(|launch| launch.program_id != 0);
    let programs: BTreeSet<PlannedProgram<'_>> = launches
        .map(|launch| {
            let sub_device = launch.sub_device.map(|used| (used, core_count(&launch.cores)));
            (launch.program_id, launch.program.name(), sub_device)
        })
        .collect();
    let of_chip = |chip_id| programs.iter().map(move |program| metadata(program, chip_id));
    chips.into_iter().flat_map(of_chip).collect()
}

/// Data of a planned program for the metadata of its ops: base id, name, sub-device, and number of
/// cores of the sub-device if known.
type PlannedProgram<'plan> = (u32, &'plan str, Option<(SubDevice, Option<usize>)>);

fn metadata(&(base, name, sub_device): &PlannedProgram<'_>, chip_id: u32) -> OpMetadata {
    let mut fields = vec![(OpMetadata::NAME.to_owned(), name.to_owned())];
    if let Some((SubDevice { id, manager_id }, cores)) = sub_device {
        if let Some(cores) = cores {
            fields.push((SUB_DEVICE_WORKER_CORES.to_owned(), cores.to_string()));
        }
        fields.push((SUB_DEVICE_ID.to_owned(), id.to_string()));
        fields.push((SUB_DEVICE_MANAGER_ID.to_owned(), manager_id.to_string()));
    }
    let run_host_id = RunHostId::encode(base, chip_id);
    OpMetadata { chip_id, run_host_id, fields: fields.into() }
}

/// Returns the number of cores in a sub-device; `None` if `cores` does not list each core.
///
/// `cores` are the cores of one program. Every program uses all cores of its sub-device.
const fn core_count(cores: &CoreSelection) -> Option<usize> {
    match cores {
        CoreSelection::At(coords) => Some(coords.len()),
        CoreSelection::AllTensix | CoreSelection::AllEthernet | CoreSelection::All => None,
    }
}

/// Returns the number of launches of a plan, summed over all chips.
pub(super) fn launch_count(plan: &Plan, config: &MeshConfig) -> u64 {
    plan.launch_count() as u64 * config.chips.len() as u64
}

/// Returns the names of the zones in the object code, and those that the user gave.
fn zone_names(mesh: &dyn Chips, session: &HostSession<'_>) -> Result<ZoneTable, Failure> {
    let mut names = ZoneTable::from_texts(mesh.zone_texts()).or_fail()?;
    names.merge(&session.names);
    Ok(names)
}

/// Runs the plan again for each further set of hardware counters, and adds these runs to the same
/// capture.
pub(super) fn execute_later_passes(
    args: &WorkloadArgs,
    plan: &Plan,
    (config, masks): (&MeshConfig, &[u32]),
    first: &HostSession<'_>,
) -> Result<Vec<Readout>, Failure> {
    let capture = first.capture.map(|capture| CaptureTarget {
        path: capture.path.clone(),
        append: true,
        is_counter_pass: true,
    });
    let session = HostSession {
        capture: capture.as_ref(),
        is_calibrated: false,
        has_buffers: false,
        view: None,
        simulated: first.simulated.clone(),
        options: first.options.clone(),
        names: first.names.clone(),
        ..*first
    };
    let mut later = Vec::with_capacity(masks.len());
    for &mask in masks {
        let config = config.clone().with_counter_groups(mask);
        let mut mesh = backend::start(args, &config, plan)?;
        later.push(execute(&mut *mesh, plan, &config, &session)?.recording.readout);
    }
    Ok(later)
}
