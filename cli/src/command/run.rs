//! `kprof run`: a workload on the simulator, read as a host would read a real mesh.

use crate::{
    args::RunArgs, failure::Failure, json::Source, output::Findings, progress::Progress,
    tables::counted,
};
use host_reader::{
    ProfilerOptions, ReadOptions,
    analysis::TileOrigins,
    init_device_profiler,
    log::write_device_log_file,
    names::{ZoneSource, ZoneTable},
    read::Reader,
    readout::Readout,
    sync::{ClockSampler, SyncOptions},
};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    mesh::SimulatedMesh,
    workload::{Plan, Workload, WorkloadOptions},
};
use std::{
    error::Error,
    path::{Path, PathBuf},
    process::ExitCode,
};

/// Launches that are carried out between two steps of the progress bar.
const LAUNCHES_PER_STEP: usize = 64;

/// Runs, reads, writes the log and shows the tables.
pub(crate) fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let workload = Workload::named(&args.workload).map_err(sentence)?;
    let config = config(args, workload)?;
    let worker_cores = config.chips.first().map(|chip| chip.worker_core_count);
    let mut mesh = SimulatedMesh::new(&config).map_err(sentence)?;
    let options = WorkloadOptions { ops: args.ops, seed: args.seed, ..WorkloadOptions::default() };
    let plan = workload.plan(&mesh, &options);
    let log = log_path(&args.output)?;
    let readout = execute(&mut mesh, &plan, &config)?;
    write_device_log_file(&log, &readout).map_err(sentence)?;
    let source = Source {
        arch: &args.arch,
        devices: config.chips.len(),
        worker_cores,
        launches: plan.launch_count() as u64 * config.chips.len() as u64,
    };
    let code = Findings::new(readout, &TileOrigins::default()).show(
        &title(args, workload, &source),
        &source,
        args.show,
    )?;
    if !args.show.json {
        println!("\nDevice log: {}", log.display());
    }
    Ok(code)
}

fn sentence(error: impl Error + 'static) -> Failure {
    Failure::from_error(&error)
}

fn config(args: &RunArgs, workload: &Workload) -> Result<MeshConfig, Failure> {
    let arch = Arch::from_name(&args.arch).ok_or_else(|| unknown_arch(&args.arch))?;
    let mut chip = ChipConfig::new(arch);
    if let Some(count) = args.cores {
        chip = chip.with_worker_core_count(count);
    }
    let count = args.op_support_count.unwrap_or(workload.program_support_count);
    let mut config = MeshConfig::new(args.seed)
        .with_program_support_count(count)
        .with_sums(args.enable_sum_profiling);
    for _ in 0..args.devices {
        config = config.with_chip(chip.clone());
    }
    Ok(config)
}

fn unknown_arch(name: &str) -> Failure {
    let known: Vec<_> = Arch::ALL.iter().map(|arch| arch.facts().name).collect();
    Failure::Sentence(format!(
        "there is no architecture `{name}`; choose from {}",
        known.join(", ")
    ))
}

/// The log's path, with its folder made before any work is done.
fn log_path(output: &Path) -> Result<PathBuf, Failure> {
    let folder = output.join(".logs");
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::Sentence(format!("cannot make the output folder {}: {error}", folder.display()))
    })?;
    Ok(folder.join("profile_log_device.csv"))
}

fn execute(mesh: &mut SimulatedMesh, plan: &Plan, config: &MeshConfig) -> Result<Readout, Failure> {
    let options = ProfilerOptions {
        program_support_count: config.program_support_count,
        sums_enabled: config.sums_enabled,
        ..ProfilerOptions::default()
    };
    for rule in &plan.rules {
        mesh.add_shared_rule(rule);
    }
    init_device_profiler(mesh, &options).map_err(sentence)?;
    let mut sampler = ClockSampler::new(SyncOptions::default());
    sampler.open(mesh);
    let progress = Progress::new("launches", plan.launch_count() as u64);
    let mut reader = Reader::new(ReadOptions::default());
    let mut readout = Readout::default();
    let mut launched = 0;
    for (index, phase) in plan.phases.iter().enumerate() {
        for launches in phase.launches.chunks(LAUNCHES_PER_STEP) {
            launches.iter().for_each(|launch| mesh.enqueue_everywhere(launch));
            mesh.run_to_completion();
            launched += launches.len();
            progress.set(launched as u64);
        }
        reader.options_mut().last_read = index + 1 == plan.phases.len();
        readout.append(reader.read(mesh).map_err(sentence)?);
    }
    sampler.close(mesh);
    readout.zones = zone_names();
    // A log has one clock per chip, so its times are those of the chip's first tile.
    sampler.clock().tile_origins(&readout).align(&mut readout);
    Ok(readout)
}

/// Names of the zones that native kernels have opened.
fn zone_names() -> ZoneTable {
    let mut zones = ZoneTable::new();
    for text in sim::native::registered_zones() {
        if let Some(source) = ZoneSource::from_text(&text) {
            zones.add(source.id(), source);
        }
    }
    zones
}

fn title(args: &RunArgs, workload: &Workload, source: &Source<'_>) -> String {
    format!(
        "{} on {}: {} of {}, {}, seed {}",
        workload.name,
        source.arch,
        counted(source.devices as u64, "chip", "chips"),
        counted(source.worker_cores.unwrap_or(0).into(), "worker core", "worker cores"),
        counted(source.launches, "launch", "launches"),
        args.seed,
    )
}
