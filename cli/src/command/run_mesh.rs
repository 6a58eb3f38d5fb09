//! Configuration of the mesh for `kprof run`, built from the options.

use super::run_work::{PIPELINE, Work};
use crate::{
    args::{Backend, DispatchCoreKind, RelayMemory, Waits, WorkloadArgs},
    failure::{Failure, OrFail, failure},
};
use sim::{
    arch::Arch,
    config::{CHIPS_MAX, ChipConfig, MeshConfig, RelaySink, WaitRecords},
    dispatch::DispatchCores,
    limits::LiftedLimits,
    mesh::SimulatedMesh,
    tt_metal::firmware::FirmwareSet,
};
use std::sync::Arc;

/// Returns the requested architecture.
pub(super) fn arch(args: &WorkloadArgs) -> Result<Arch, Failure> {
    Arch::from_name(&args.arch).ok_or_else(|| unknown_arch(&args.arch))
}

/// Returns the configuration of the mesh on which the work runs.
pub(super) fn config(args: &WorkloadArgs, arch: Arch, work: &Work) -> Result<MeshConfig, Failure> {
    let mut chip = ChipConfig::new(arch);
    let whole = arch.facts().worker_core_counts.last().copied();
    let default_count = whole.filter(|_| args.backend == Backend::Ttsim);
    if let Some(count) = args.cores.or(default_count) {
        chip = chip.with_worker_core_count(count);
    }
    let count = args.op_support_count.unwrap_or(work.program_support_count());
    let mut config = MeshConfig::new(args.seed)
        .with_program_support_count(count)
        .with_sums(args.enable_sum_profiling);
    config.kernel_grid = args.grid;
    config = config.with_lifted_limits(lifted_limits(args)?);
    if args.lines.is_some() {
        config = config.with_lines();
    }
    if work.is_own_with_waits() {
        config = config.with_wait_records(WaitRecords::Totals);
    } else if could_wait(args, work) {
        config = match args.waits {
            Waits::Off => config,
            Waits::Totals => config.with_wait_records(WaitRecords::Totals),
            Waits::Events => config.with_wait_records(WaitRecords::Events),
            Waits::Windows => config.with_sync_windows(),
        };
    }
    if args.device_trace_profiler {
        config = config.with_trace_only();
    }
    if args.enable_accumulate_profiling {
        if args.own.has_files() {
            return Err(failure!(
                "your own kernels need firmware that pushes each launch; omit \
                 --enable-accumulate-profiling"
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
        return Err(failure!(
            "expected at most {CHIPS_MAX} chips, the limit of run host ids, found --devices {}",
            args.devices
        ));
    }
    for _ in 0..args.devices {
        config = config.with_chip(chip.clone());
    }
    if args.own.has_files() {
        config = config.with_halt_at_failure();
    }
    if let Some(cycle_limit) = args.own.cycle_limit {
        config = config.with_cycle_limit(cycle_limit);
    }
    if let Some(folder) = &args.own.firmware {
        config = config.with_firmware(&Arc::new(FirmwareSet::open(folder).or_fail()?));
    }
    Ok(config)
}

/// Returns the limits of the timing model that the run lifts.
fn lifted_limits(args: &WorkloadArgs) -> Result<LiftedLimits, Failure> {
    if args.what_if.is_some() && args.backend == Backend::Ttsim {
        return Err(failure!(
            "--what-if lifts limits of kprof's own timing model; expected no --backend ttsim, which \
             has no times"
        ));
    }
    Ok(args.what_if.unwrap_or_default())
}

/// Configures the kernels for the debug dump or for streaming, if either is requested.
pub(super) fn with_kernels(
    config: MeshConfig,
    args: &WorkloadArgs,
    work: &Work,
) -> Result<MeshConfig, Failure> {
    if config.modes.firmware.is_some() {
        return Ok(config);
    }
    if args.noc_debug_dump {
        check_waits(work, "the debug dump (--noc-debug-dump, TT_METAL_NOC_DEBUG_DUMP)")?;
        return Ok(config.with_debug_dump());
    }
    if args.stream.is_some() {
        check_waits(work, "streaming (--stream)")?;
        let sink = match args.relay_sink {
            RelayMemory::Dram => RelaySink::Dram,
            RelayMemory::Host => RelaySink::HostMemory,
        };
        let relays = args.relays.unwrap_or(0);
        return Ok(config.with_streaming().with_relays(relays).with_relay_sink(sink));
    }
    Ok(config)
}

/// Returns an error if the kernels of `work` record waits, because no kernels are built that record
/// waits with the option `mode`.
fn check_waits(work: &Work, mode: &str) -> Result<(), Failure> {
    if work.name() != PIPELINE {
        return Ok(());
    }
    Err(failure!(
        "{mode} does not support workloads that record waits, such as --workload pipeline; choose \
         another workload"
    ))
}

/// Returns true if the kernels of `work` wait for each other, and the given options leave room in
/// the kernels for code that records waits.
pub(super) fn could_wait(args: &WorkloadArgs, work: &Work) -> bool {
    let has_room =
        !args.enable_sum_profiling && !args.enable_accumulate_profiling && !args.noc_debug_dump;
    let has_room = has_room && args.stream.is_none();
    work.name() == PIPELINE && has_room
}

fn unknown_arch(name: &str) -> Failure {
    let known: Vec<_> = Arch::ALL.iter().map(|arch| arch.facts().name).collect();
    failure!("there is no architecture `{name}`; choose from {}", known.join(", "))
}

/// Returns the number of worker cores of a chip, and the number of Tensix cores that are used for
/// dispatch.
pub(super) fn core_counts(mesh: &SimulatedMesh, config: &MeshConfig) -> (u32, u32) {
    let workers = mesh.chip(0).map_or(0, |chip| chip.compute_core_count());
    let workers = u32::try_from(workers).unwrap_or(u32::MAX);
    let all = config.chips.first().map_or(0, |chip| chip.worker_core_count);
    (workers, all.saturating_sub(workers).saturating_sub(config.relays))
}
