//! `kprof run`: a workload on the simulator, read as a host would read a real mesh.

use super::{
    backend::{self, Chips},
    kernels::{self, use_threads},
    own_kernels::{OwnKernels, read_firmware},
    run_buffers::HostBuffers,
    run_counters,
    run_outputs::Outputs,
    run_settings::Request,
    run_traces::{note_missing_replays, report_replays, report_traces},
};
use crate::{
    args::{Backend, DispatchCoreKind, RunArgs, ShowArgs, Waits, WorkloadArgs},
    failure::Failure,
    host_zones::{HostZones, READ_DEVICE_PROFILER, RUN_PROGRAMS, SYNCHRONISE_CLOCKS},
    json::{HostCounts, ReadCounts, Source},
    numbers::counted,
    output::Findings,
    progress::Progress,
    recording::{CaptureTarget, Recording},
};
use host_reader::{
    ReadOptions, Reader,
    capture::OpMetadata,
    counters::describe_counters,
    environment::Settings,
    init_device_profiler,
    names::ZoneTable,
    noc_events::describe_addresses,
    probe_cost::{ProbeCosts, measure_probe_costs},
    readout::Readout,
    recording::{self, SUB_DEVICE_ID, SUB_DEVICE_MANAGER_ID, SUB_DEVICE_WORKER_CORES},
    report::BufferPeaks,
    timeline::Timeline,
};
use sim::{
    arch::Arch,
    config::{CHIPS_MAX, ChipConfig, MeshConfig, SyncWindows, WaitRecords},
    dispatch::DispatchCores,
    machine::KernelKind,
    mesh::SimulatedMesh,
    program::{CoreSelection, Launch, SubDevice},
    workload::{Plan, Workload, WorkloadOptions},
};
use std::{
    collections::BTreeSet,
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
};
use wire::RunHostId;

/// Runs, reads, writes the log and shows the tables.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let outputs = Outputs { logs: Some(logs(&args.output)), capture: None };
    carry_out(&args.workload, &outputs, args.show)
}

/// Runs, reads, writes what is to be written and shows the tables.
pub(super) fn carry_out(
    args: &WorkloadArgs,
    outputs: &Outputs,
    show: ShowArgs,
) -> Result<ExitCode, Failure> {
    let Request { args, mut settings } = Request::new(args)?;
    let (args, files) = (&args, outputs.files(&settings));
    use_threads(args.threads)?;
    let arch = Arch::from_name(&args.arch).ok_or_else(|| unknown_arch(&args.arch))?;
    let work = Work::chosen(args, arch)?;
    let config = config(args, arch, &work)?;
    settings.program_support_count = Some(config.program_support_count);
    let mesh = SimulatedMesh::new(&config).map_err(sentence)?;
    let (worker_cores, reserved_cores) = core_counts(&mesh, &config);
    let options = WorkloadOptions {
        ops: args.ops,
        replays: args.replays,
        seed: args.seed,
        pipeline: args.pipeline.unwrap_or_default(),
        moves_tiles: args.collect_noc_traces,
        ..WorkloadOptions::default()
    };
    let plan = work.plan(&mesh, &options);
    let is_foreign = config.firmware.is_some();
    let config = with_kernels(config, args, &work, &plan)?;
    let passes = counter_passes(args, arch)?;
    files.check()?;
    note_missing_replays(&config, &plan);
    let config = config.with_counter_groups(passes.0);
    let mut mesh = backend::start(args, &config, &plan)?;
    files.make_folders()?;
    let is_timed = args.backend == Backend::Sim;
    if !is_timed {
        check_untimed(is_foreign, show)?;
    }
    // Kernels that measure probes belong to this project's own firmware.
    let is_calibrated = is_timed
        && !is_foreign
        && !config.is_trace_only
        && !config.is_accumulating
        && (files.capture().is_some() || show.subtract_probe_cost);
    let session = HostSession {
        capture: files.capture(),
        settings: &settings,
        is_calibrated,
        has_buffers: settings.buffer_usage,
        pause_ns: args.read_every,
    };
    let (mut recording, read_count) = execute(&mut *mesh, &plan, &config, &session)?;
    let later = execute_later_passes(args, &plan, (&config, &passes.1), &session)?;
    run_counters::add_later(&mut recording.readout, &later);
    describe_counters(&mut recording.readout);
    describe_addresses(&mut recording.readout);
    files.write(&recording)?;
    let failures = mesh.kernel_failures();
    let source = Source {
        arch: &args.arch,
        devices: config.chips.len(),
        worker_cores: Some(worker_cores),
        launches: launch_count(&plan, &config),
        kernels: Some(config.kernels.label()),
        execution_failures: &failures,
        reads: args.read_every.map(|pause_ns| ReadCounts { count: read_count, pause_ns }),
        host: HostCounts::default(),
    };
    let title = title(args, work.name(), reserved_cores, &source);
    let code = show_recording(recording, &title, &source, show)?;
    if !show.json {
        files.print();
    }
    // One file goes wrong in the same way on every core.
    let rows = if args.own.has_files() && show.rows != 0 { 1 } else { show.rows };
    Ok(if kernels::print_failures(&failures, rows) { ExitCode::from(2) } else { code })
}

/// Counts the worker cores of a chip, and its Tensix cores that dispatch instead.
fn core_counts(mesh: &SimulatedMesh, config: &MeshConfig) -> (u32, u32) {
    let workers = mesh.chip(0).map_or(0, |chip| chip.workers().count());
    let workers = u32::try_from(workers).unwrap_or(u32::MAX);
    let all = config.chips.first().map_or(0, |chip| chip.worker_core_count);
    (workers, all.saturating_sub(workers))
}

fn show_recording(
    recording: recording::Recording,
    title: &str,
    source: &Source<'_>,
    show: ShowArgs,
) -> Result<ExitCode, Failure> {
    let buffers = BufferPeaks::of_recording(&recording);
    Findings::new(recording.readout, show)?.with_buffers(buffers).show(title, source, show)
}

/// Refuses what a simulator without times cannot do.
fn check_untimed(is_foreign: bool, show: ShowArgs) -> Result<(), Failure> {
    if is_foreign {
        return Err(Failure::Sentence(
            "--firmware is for this program's own simulator; choose --backend sim".to_owned(),
        ));
    }
    if show.subtract_probe_cost {
        return Err(Failure::Sentence(
            "--subtract-probe-cost needs times, and ttsim has none; choose --backend sim"
                .to_owned(),
        ));
    }
    Ok(())
}

/// Chooses the kind of the kernels, and lets them wait for the host in the debug dump.
fn with_kernels(
    config: MeshConfig,
    args: &WorkloadArgs,
    work: &Work,
    plan: &Plan,
) -> Result<MeshConfig, Failure> {
    if config.firmware.is_some() {
        return Ok(config);
    }
    check_debug_dump(args, work, None)?;
    let kernels = kernels::choose(args.kernels, args.backend, plan)?;
    check_debug_dump(args, work, Some(kernels))?;
    let config = config.with_kernels(kernels);
    Ok(if args.noc_debug_dump { config.with_debug_dump() } else { config })
}

/// Refuses the debug dump where cores cannot wait for the host; `kernels` once they are chosen.
fn check_debug_dump(
    args: &WorkloadArgs,
    work: &Work,
    kernels: Option<KernelKind>,
) -> Result<(), Failure> {
    const DUMP: &str = "the debug dump (--noc-debug-dump, TT_METAL_NOC_DEBUG_DUMP)";
    let hindrance = if args.backend == Backend::Ttsim {
        "needs a host that reads while kernels run, which ttsim has not; choose --backend sim"
    } else if work.name() == PIPELINE {
        "has no code that records waits, as kernels of --workload pipeline do; choose another \
         workload"
    } else if kernels == Some(KernelKind::Native) {
        "needs kernels that wait for the host, which native ones cannot; choose --kernels riscv"
    } else {
        return Ok(());
    };
    if args.noc_debug_dump {
        return Err(Failure::Sentence(format!("{DUMP} {hindrance}")));
    }
    Ok(())
}

/// Returns the groups of hardware counters of the first run, and those of each later one.
fn counter_passes(args: &WorkloadArgs, arch: Arch) -> Result<(u32, Vec<u32>), Failure> {
    let mut masks = run_counters::masks(args, arch)?;
    let first = masks.remove(0);
    let has_counters = first != 0;
    if has_counters && args.backend != Backend::Sim {
        return Err(Failure::Sentence(
            "--profiler-capture-perf-counters needs counters that count, which ttsim lacks; choose \
             --backend sim"
                .to_owned(),
        ));
    }
    Ok((first, masks))
}

/// Runs the work once more for each further set of hardware counters, into the same capture.
fn execute_later_passes(
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
        ..*first
    };
    let mut later = Vec::with_capacity(masks.len());
    for &mask in masks {
        let config = config.clone().with_counter_groups(mask);
        let mut mesh = backend::start(args, &config, plan)?;
        later.push(execute(&mut *mesh, plan, &config, &session)?.0.readout);
    }
    Ok(later)
}

/// The work of a run: a built-in workload or the user's kernels.
enum Work {
    Workload(&'static Workload),
    Own(OwnKernels),
}

impl Work {
    /// The kernels that were given as files, else the workload.
    fn chosen(args: &WorkloadArgs, arch: Arch) -> Result<Self, Failure> {
        if let Some(kernels) = OwnKernels::read(args, arch)? {
            refuse_options_of_workloads(args, None)?;
            return Ok(Self::Own(kernels));
        }
        if args.own.firmware.is_some() {
            return Err(Failure::Sentence(
                "--firmware runs kernels that are linked against it; give one with --kernel or \
                 --kernel-ncrisc and so on"
                    .to_owned(),
            ));
        }
        if !args.own.kernel_args.is_empty() {
            return Err(Failure::Sentence(
                "--kernel-args are for kernels of your own; give one with --kernel or \
                 --kernel-ncrisc and so on"
                    .to_owned(),
            ));
        }
        let workload = Workload::named(&args.workload).map_err(sentence)?;
        refuse_options_of_workloads(args, Some(workload.name))?;
        Ok(Self::Workload(workload))
    }

    fn name(&self) -> &str {
        match self {
            Self::Workload(workload) => workload.name,
            Self::Own(kernels) => kernels.name(),
        }
    }

    fn program_support_count(&self) -> u32 {
        match self {
            Self::Workload(workload) => workload.program_support_count,
            Self::Own(_) => wire::dram::DEFAULT_PROGRAM_SUPPORT_COUNT,
        }
    }

    fn plan(&self, mesh: &SimulatedMesh, options: &WorkloadOptions) -> Plan {
        match self {
            Self::Workload(workload) => workload.plan(mesh, options),
            Self::Own(kernels) => kernels.plan(),
        }
    }
}

pub(super) fn sentence(error: impl Error + 'static) -> Failure {
    Failure::from_error(&error)
}

/// Refuses what only one workload takes, where another one or none is given.
fn refuse_options_of_workloads(args: &WorkloadArgs, given: Option<&str>) -> Result<(), Failure> {
    let options = [
        ("--pipeline", args.pipeline.is_some(), PIPELINE),
        ("--replays", args.replays.is_some(), TRACE_REPLAY),
    ];
    for (option, is_given, workload) in options {
        if is_given && given != Some(workload) {
            let found = given.map(|name| format!("--workload {name}"));
            let found = found.unwrap_or_else(|| "kernels of your own".to_owned());
            return Err(Failure::Sentence(format!(
                "{option} is for --workload {workload}, found {found}"
            )));
        }
    }
    Ok(())
}

/// The workload that `--pipeline` is for.
const PIPELINE: &str = "pipeline";

/// The workload that `--replays` is for.
const TRACE_REPLAY: &str = "trace-replay";

fn config(args: &WorkloadArgs, arch: Arch, work: &Work) -> Result<MeshConfig, Failure> {
    let mut chip = ChipConfig::new(arch);
    let whole = arch.facts().worker_core_counts.last().copied();
    let default_count = whole.filter(|_| args.backend == Backend::Ttsim);
    if let Some(count) = args.cores.or(default_count) {
        chip = chip.with_worker_core_count(count);
    }
    let count = args.op_support_count.unwrap_or(work.program_support_count());
    let mut config = MeshConfig::new(args.seed)
        .with_program_support_count(count)
        .with_sums(args.enable_sum_profiling)
        .with_wait_records(match args.waits {
            Waits::Off => WaitRecords::Off,
            Waits::Totals => WaitRecords::Totals,
            Waits::Events | Waits::Windows => WaitRecords::Events,
        });
    if args.waits == Waits::Windows {
        config = config.with_sync_windows(SyncWindows::DEFAULT);
    }
    if args.device_trace_profiler {
        config = config.with_trace_only();
    }
    if args.enable_accumulate_profiling {
        if args.own.has_files() {
            return Err(Failure::Sentence(
                "own kernels are linked against firmware that pushes each launch; leave out \
                 --enable-accumulate-profiling"
                    .to_owned(),
            ));
        }
        config = config.with_accumulation();
    }
    if let Some(kind) = args.profile_dispatch_cores {
        let cores = match kind {
            DispatchCoreKind::Worker => DispatchCores::Worker,
            DispatchCoreKind::Eth => DispatchCores::Ethernet,
        };
        config = config.with_dispatch_cores(cores).with_dispatch_profiling();
    }
    if args.devices > CHIPS_MAX {
        return Err(Failure::Sentence(format!(
            "expected at most {CHIPS_MAX} chips, which run host ids can number, found --devices {}",
            args.devices
        )));
    }
    for _ in 0..args.devices {
        config = config.with_chip(chip.clone());
    }
    if records_object_waits(args, work) {
        config = config.with_object_waits();
    }
    if let Some(cycle_limit) = args.own.cycle_limit {
        config = config.with_cycle_budget(cycle_limit);
    }
    if let Some(firmware) = read_firmware(args)? {
        config = config.with_firmware(&firmware);
    }
    Ok(config)
}

/// Returns true for object code that waits for other kernels and is to record that.
fn records_object_waits(args: &WorkloadArgs, work: &Work) -> bool {
    let has_waits = work.name() == PIPELINE && !matches!(args.waits, Waits::Off | Waits::Windows);
    let has_room =
        !args.enable_sum_profiling && !args.enable_accumulate_profiling && !args.noc_debug_dump;
    has_waits && has_room
}

fn unknown_arch(name: &str) -> Failure {
    let known: Vec<_> = Arch::ALL.iter().map(|arch| arch.facts().name).collect();
    Failure::Sentence(format!(
        "there is no architecture `{name}`; choose from {}",
        known.join(", ")
    ))
}

/// Folder of logs in an output folder.
pub(super) fn logs(output: &Path) -> PathBuf {
    output.join(".logs")
}

/// Recordings of the host besides the chips' own.
struct HostSession<'run> {
    /// Capture to write.
    capture: Option<&'run CaptureTarget>,
    /// Records that the chips make.
    settings: &'run Settings,
    /// True if the cost of probes is measured.
    is_calibrated: bool,
    /// True if allocations of buffers are recorded.
    has_buffers: bool,
    /// Pause between two reads while launches run.
    pause_ns: Option<u64>,
}

/// Runs and reads; returns what was read and in how many reads.
fn execute(
    mesh: &mut dyn Chips,
    plan: &Plan,
    config: &MeshConfig,
    session: &HostSession<'_>,
) -> Result<(recording::Recording, u64), Failure> {
    let HostSession { capture, settings, is_calibrated, has_buffers, pause_ns } = *session;
    init_device_profiler(mesh, &settings.profiler_options()).map_err(sentence)?;
    // Envelopes carry the number of their replay in place of a program.
    let is_counter_pass = capture.is_some_and(|capture| capture.is_counter_pass);
    let is_named = !config.is_trace_only && !is_counter_pass;
    let ops = if is_named { op_names(mesh, plan) } else { Vec::new() };
    let host = HostZones::new();
    let options = settings.read_options();
    let begun =
        host.zone(mesh, &SYNCHRONISE_CLOCKS, |mesh| Recording::begin(mesh, options, capture, ops));
    let mut recording = begun?;
    let progress = Progress::new("launches", launch_count(plan, config));
    let (mut launches_done, mut read_count) = (0, 0);
    report_traces(&host, mesh, plan);
    let mut buffers = HostBuffers::default();
    for (index, phase) in plan.phases.iter().enumerate() {
        if has_buffers {
            buffers.enqueue(&host, mesh, (phase, config.seed));
        }
        report_replays(&host, mesh, phase);
        let mut rest = phase.clone();
        if let Some(pause_ns) = pause_ns {
            mesh.begin_phase(&std::mem::take(&mut rest))?;
            read_count += read_meanwhile(mesh, &host, &mut recording, pause_ns)?;
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
        let names = zone_names(mesh)?;
        host.zone(mesh, &READ_DEVICE_PROFILER, |mesh| recording.read(mesh, names, is_last))?;
        read_count += 1;
        mesh.check()?;
    }
    host.zone(mesh, &SYNCHRONISE_CLOCKS, |mesh| recording.close(mesh))?;
    if is_calibrated {
        recording.add_probe_costs(calibrate(mesh, config)?)?;
    }
    recording.capture_host(host.recorder())?;
    Ok((recording.finish()?, read_count))
}

/// Reads while launches run, with a pause of simulated time before each read; returns how often.
fn read_meanwhile(
    mesh: &mut dyn Chips,
    host: &HostZones,
    recording: &mut Recording,
    pause_ns: u64,
) -> Result<u64, Failure> {
    let mut read_count = 0;
    while host.zone(mesh, &RUN_PROGRAMS, |mesh| mesh.run_for(pause_ns)) {
        let names = zone_names(mesh)?;
        host.zone(mesh, &READ_DEVICE_PROFILER, |mesh| recording.read(mesh, names, false))?;
        read_count += 1;
    }
    Ok(read_count)
}

/// Measures what probes cost on a mesh, by a launch and a read of their own.
fn calibrate(mesh: &mut dyn Chips, config: &MeshConfig) -> Result<ProbeCosts, Failure> {
    let plan = Workload::named("probe-cost").map_err(sentence)?;
    let blueprint = SimulatedMesh::new(config).map_err(sentence)?;
    let plan = plan.plan(&blueprint, &WorkloadOptions::default());
    for phase in &plan.phases {
        mesh.run_phase(phase, &mut || {})?;
    }
    let zones = zone_names(mesh)?;
    let mut reader = Reader::new(ReadOptions { zones, last_read: true, ..ReadOptions::default() });
    let readout = reader.read(mesh).map_err(sentence)?;
    measure_probe_costs(&readout, &Timeline::of_readout(&readout)).map_err(sentence)
}

/// Returns names and sub-devices of the programs, by chip and run host id.
fn op_names(mesh: &mut dyn Chips, plan: &Plan) -> Vec<OpMetadata> {
    let chips: Vec<u32> = (0..mesh.device_count())
        .filter_map(|index| Some(mesh.device(index)?.description().chip_id))
        .collect();
    let launches = plan.phases.iter().flat_map(|phase| &phase.launches);
    let sub_device = |launch: &Launch| Some((launch.sub_device?, core_count(&launch.cores)));
    let named: BTreeSet<(u32, &str, Option<UsedSubDevice>)> = launches
        .filter(|launch| launch.program_id != 0)
        .map(|launch| (launch.program_id, launch.program.name(), sub_device(launch)))
        .collect();
    let op = |chip_id, (base, name, sub_device): (u32, &str, Option<UsedSubDevice>)| {
        let mut fields = vec![(OpMetadata::NAME.to_owned(), name.to_owned())];
        if let Some((SubDevice { id, manager_id }, cores)) = sub_device {
            if let Some(cores) = cores {
                fields.push((SUB_DEVICE_WORKER_CORES.to_owned(), cores.to_string()));
            }
            fields.push((SUB_DEVICE_ID.to_owned(), id.to_string()));
            fields.push((SUB_DEVICE_MANAGER_ID.to_owned(), manager_id.to_string()));
        }
        OpMetadata { chip_id, run_host_id: RunHostId::encode(base, chip_id), fields: fields.into() }
    };
    chips.iter().flat_map(|&chip_id| named.iter().map(move |&named| op(chip_id, named))).collect()
}

/// Sub-device of a program, with the number of its cores where that is known.
type UsedSubDevice = (SubDevice, Option<usize>);

/// Cores of a sub-device, whose programs run on all of them; `None` unless they are listed.
const fn core_count(cores: &CoreSelection) -> Option<usize> {
    match cores {
        CoreSelection::At(coords) => Some(coords.len()),
        CoreSelection::AllTensix | CoreSelection::AllEthernet | CoreSelection::All => None,
    }
}

fn launch_count(plan: &Plan, config: &MeshConfig) -> u64 {
    plan.launch_count() as u64 * config.chips.len() as u64
}

fn zone_names(mesh: &dyn Chips) -> Result<ZoneTable, Failure> {
    ZoneTable::of_texts(mesh.zone_texts()).map_err(sentence)
}

fn title(args: &WorkloadArgs, name: &str, reserved_cores: u32, source: &Source<'_>) -> String {
    let reserved = match reserved_cores {
        0 => String::new(),
        count => format!(" and {count} for dispatch"),
    };
    format!(
        "{} on {}{}: {} of {}{reserved}, {}, {} kernels, seed {}",
        name,
        source.arch,
        if args.backend == Backend::Ttsim { " of ttsim" } else { "" },
        counted(source.devices as u64, "chip", "chips"),
        counted(source.worker_cores.unwrap_or(0).into(), "worker core", "worker cores"),
        counted(source.launches, "launch", "launches"),
        source.kernels.unwrap_or_default(),
        args.seed,
    )
}
