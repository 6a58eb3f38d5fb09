//! `kprof run`: runs a workload on the simulator, and reads the simulated chips like real ones.

use super::{
    backend::{self, KernelFailure},
    run_counters, run_mesh, run_names,
    run_outputs::Files,
    run_session::{Executed, HostSession, execute, execute_later_passes, launch_count},
    run_settings::{self, Request},
    run_traces::note_missing_replays,
    run_work::Work,
    standing::StandingRiscs,
};
use crate::{
    args::{Backend, RunArgs, ShowArgs, WorkloadArgs},
    failure::{Failure, OrFail, failure, note},
    json::{HostCounts, ReadCounts, Source},
    numbers::counted,
    output::Findings,
    recording::CaptureTarget,
    terminal::{LONGEST_NAME, printable},
    tracy_view::wait_for_viewers,
};
use host_reader::{
    analysis::OpenZone, counters::describe_counters, noc_events::describe_addresses,
    readout::Readout, tables::Rows,
};
use sim::{config::MeshConfig, mesh::SimulatedMesh, workload::WorkloadOptions};
use std::{num::NonZeroUsize, path::PathBuf, process::ExitCode};

/// Runs the workload, reads the mesh, writes the log and prints the tables.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    carry_out(&args.workload, Some(args.output.join(".logs")), None, args.show)
}

/// Runs the workload, reads the mesh, writes the requested files and prints the tables. `logs` is
/// the folder for logs; `None` if no logs are requested.
pub(super) fn carry_out(
    args: &WorkloadArgs,
    logs: Option<PathBuf>,
    capture: Option<CaptureTarget>,
    show: ShowArgs,
) -> Result<ExitCode, Failure> {
    let Request { args, mut settings } = Request::new(args)?;
    let (args, files) = (&args, Files::new(logs, capture, &settings, args.lines.is_some()));
    use_threads(args.threads)?;
    let arch = run_mesh::arch(args)?;
    let work = Work::chosen(args, arch)?;
    let config = run_mesh::config(args, arch, &work)?;
    settings.program_support_count = Some(config.program_support_count);
    let mesh = SimulatedMesh::new(&config).or_fail()?;
    let (worker_cores, reserved_cores) = run_mesh::core_counts(&mesh, &config);
    let plan = work.plan(&mesh, &workload_options(args));
    let is_foreign = config.modes.firmware.is_some();
    let config = run_mesh::with_kernels(config, args, &work)?;
    let passes = run_counters::passes(args, arch)?;
    files.check()?;
    note_missing_replays(&config, &plan);
    let counters = passes.1.iter().fold(passes.0, |all, mask| all | mask);
    let config = config.with_counter_groups(passes.0);
    let mut mesh = backend::start(args, &config, &plan)?;
    files.make_folders()?;
    let is_timed = is_timed(args.backend, &config, show)?;
    // The kernels that measure the cost of probes need kprof's own firmware.
    let is_calibrated = is_timed
        && !is_foreign
        && !config.modes.is_trace_only
        && !config.modes.is_accumulating
        && !config.modes.is_streaming
        && (files.capture.is_some() || show.subtract_probe_cost);
    let session = HostSession {
        capture: files.capture.as_ref(),
        settings: &settings,
        is_calibrated,
        simulated: is_timed.then(|| sim::limits::simulated_time(config.modes.lifted)),
        options: run_settings::recorded_options(args, &work, (&config, counters)),
        names: run_names::read(args)?,
        has_buffers: settings.buffer_usage,
        pause_ns: args.read_every,
        lines: args.lines,
        stream_policy: args.stream.unwrap_or_default(),
        view: Some((&args.view, work.name())),
    };
    let Executed { mut recording, read_count, lines, view } =
        execute(&mut *mesh, &plan, &config, &session)?;
    let later = execute_later_passes(args, &plan, (&config, &passes.1), &session)?;
    run_counters::add_later(&mut recording.readout, &later);
    describe_counters(&mut recording.readout);
    describe_addresses(&mut recording.readout);
    files.write(&recording, lines)?;
    let failures = failure_texts(&mesh.kernel_failures(), &recording.readout);
    let standing = StandingRiscs::of_run(&mesh.unfinished_launches(), &recording.readout);
    let source = Source {
        arch: &args.arch,
        devices: config.chips.len(),
        worker_cores: Some(worker_cores),
        launches: launch_count(&plan, &config),
        execution_failures: &failures,
        standing: (!standing.rows.is_empty()).then(|| Rows(standing.rows.clone())),
        reads: args.read_every.map(|pause_ns| ReadCounts { count: read_count, pause_ns }),
        host: HostCounts::default(),
    };
    let title = title(args, work.name(), reserved_cores, &source);
    let code = Findings::new(recording, show)?.show(&title, &source, show)?;
    if !show.json {
        files.print(&mut std::io::stdout().lock())?;
    }
    view.iter().for_each(wait_for_viewers);
    // A faulty kernel file fails in the same way on every core, so one failure suffices.
    let rows = if args.own.has_files() && show.rows < usize::MAX { 1 } else { show.rows };
    let left = mesh.launches_left();
    let has_failed = print_failures(&failures, left, rows);
    standing.tell_of_run(show, rows);
    Ok(if has_failed { ExitCode::from(2) } else { code })
}

fn workload_options(args: &WorkloadArgs) -> WorkloadOptions {
    WorkloadOptions {
        ops: args.ops,
        replays: args.replays,
        seed: args.seed,
        pipeline: args.pipeline.unwrap_or_default(),
        moves_tiles: args.collect_noc_traces,
        ..WorkloadOptions::default()
    }
}

/// Returns true if the back end simulates time. For ttsim, which has no timing, refuses options that
/// it does not support.
fn is_timed(backend: Backend, config: &MeshConfig, show: ShowArgs) -> Result<bool, Failure> {
    if backend == Backend::Sim {
        return Ok(true);
    }
    if config.modes.firmware.is_some() {
        return Err(failure!("--firmware is only for kprof's own simulator; choose --backend sim"));
    }
    if config.modes.has_lines {
        return Err(failure!(
            "--lines needs cycles, which ttsim does not simulate; choose --backend sim"
        ));
    }
    if config.kernel_grid.is_some() {
        return Err(failure!("--grid is only for kprof's own simulator; choose --backend sim"));
    }
    if show.subtract_probe_cost {
        return Err(failure!(
            "--subtract-probe-cost needs times, which ttsim does not simulate; choose --backend sim"
        ));
    }
    Ok(false)
}

fn title(args: &WorkloadArgs, name: &str, reserved_cores: u32, source: &Source<'_>) -> String {
    let reserved = match reserved_cores {
        0 => String::new(),
        count => format!(" and {count} for dispatch"),
    };
    let grid = args.grid.map(|grid| format!(", kernels on {}x{}", grid.columns, grid.rows));
    let grid = grid.unwrap_or_default();
    format!(
        "{} on {}{}: {} of {}{reserved}{grid}, {}, seed {}",
        name,
        source.arch,
        if args.backend == Backend::Ttsim { " of ttsim" } else { "" },
        counted(source.devices as u64, "chip", "chips"),
        counted(source.worker_cores.unwrap_or(0).into(), "worker core", "worker cores"),
        counted(source.launches, "launch", "launches"),
        args.seed,
    )
}

/// Sets the number of threads; without a number, each processor gets one thread.
fn use_threads(count: Option<NonZeroUsize>) -> Result<(), Failure> {
    let Some(count) = count else { return Ok(()) };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(count.get());
    pool.build_global()
        .map_err(|error| failure!("cannot start {count} threads: {error}; choose fewer"))
}

/// Returns one sentence for each failure: cause and place, and the zone in which the RISC was.
fn failure_texts(failures: &[KernelFailure], readout: &Readout) -> Vec<String> {
    let text =
        |KernelFailure { lane, text }: &KernelFailure| match OpenZone::of_lane(readout, *lane) {
            Some(OpenZone { name, start_cycle }) => {
                let name = if name.is_empty() { "without a name" } else { &*name };
                let name = printable(name, LONGEST_NAME);
                format!(
                    "{text}; its zone {name} is open since cycle {start_cycle} of the recording"
                )
            }
            None => text.clone(),
        };
    failures.iter().map(text).collect()
}

/// Prints at most `rows` failures of kernels, and how many launches did not run because of them;
/// returns true if there is at least one failure.
fn print_failures(failures: &[String], launches_left: u64, rows: usize) -> bool {
    for failure in failures.iter().take(rows) {
        note!("kprof: {failure}");
    }
    if failures.len() > rows {
        let hidden = counted((failures.len() - rows) as u64, "more failure", "more failures");
        note!("kprof: {hidden} of kernels, --rows 0 shows all");
    }
    if launches_left > 0 && !failures.is_empty() {
        let left = counted(launches_left, "launch", "launches");
        note!("kprof: after a failed launch, a chip begins no other; {left} did not run");
    }
    !failures.is_empty()
}
