//! Options and help text, one struct per command.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::{num::NonZeroUsize, path::PathBuf};

/// Profile kernels for Tenstorrent chips: where the cycles went, and exactly what was lost.
///
/// Without a command, `kprof run` is meant.
#[derive(Debug, Parser)]
#[command(name = "kprof", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a workload on the simulator, read the profiler, show the tables.
    Run(RunArgs),
    /// Run a workload as `run` does, and keep every word that was read in a capture.
    Capture(CaptureArgs),
    /// Show the same tables for an existing profile_log_device.csv or capture.
    Report(ReportArgs),
    /// Say what is in a capture.
    Info(InfoArgs),
    /// Check every byte of a capture and name what is damaged.
    Check(CheckArgs),
}

/// Run a workload on the simulator, read the profiler, show the tables.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof run --workload matmul --ops 5
  kprof run --arch blackhole --cores 130 --devices 2 --json
  kprof run --workload multi-op-overflow --fail-on-loss")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    /// Folder for artifacts; the log goes into its .logs folder.
    #[arg(
        short,
        long,
        value_name = "DIR",
        env = "TT_METAL_PROFILER_DIR",
        default_value = "generated/profiler"
    )]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Run a workload as `run` does, and keep every word that was read in a capture.
///
/// `kprof report` shows the same tables of the capture, at any time, decoded from the words.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof capture --workload matmul --ops 5 -o captures
  kprof capture --workload random --seed 7 -o random-7.kprof
  kprof capture --seed 8 -o random-7.kprof --append")]
pub(crate) struct CaptureArgs {
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    /// A file that ends in .kprof, or a folder: then the capture is WORKLOAD.kprof in it,
    /// and the log goes into its .logs folder.
    #[arg(
        short,
        long,
        value_name = "DIR|FILE",
        env = "TT_METAL_PROFILER_DIR",
        default_value = "generated/profiler"
    )]
    pub(crate) output: PathBuf,
    /// Go on with a capture that exists, instead of refusing it; `kprof report` shows each
    /// run by itself.
    #[arg(long)]
    pub(crate) append: bool,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// What runs, and on what.
#[derive(Args, Debug)]
pub(crate) struct WorkloadArgs {
    /// Architecture: wormhole_b0 or blackhole.
    #[arg(long, default_value = "wormhole_b0")]
    pub(crate) arch: String,
    /// Worker cores per chip, as harvesting leaves them: 64, 72, 80 or 120, 130, 140.
    /// 64 or 140 if not given.
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<u32>,
    /// Chips in the mesh.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) devices: u32,
    /// What to run; an unknown name lists the known ones.
    #[arg(long, value_name = "NAME", default_value = "matmul")]
    pub(crate) workload: String,
    /// Ops to launch, where the workload lets one choose.
    #[arg(long, value_name = "N")]
    pub(crate) ops: Option<u32>,
    /// Programs that the DRAM buffers are made for; small counts are raised to 43
    /// (32 with sums). The workload's own choice if not given, else 1000.
    #[arg(long, value_name = "N")]
    pub(crate) op_support_count: Option<u32>,
    /// Record sum zones, too.
    #[arg(long)]
    pub(crate) enable_sum_profiling: bool,
    /// Seed of everything that is random in the simulator.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// What kernels are made of. Object code if not given, where this program was built with it.
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kernels: Option<Kernels>,
    /// Threads that simulate and compute, one per processor if not given. The results are
    /// the same for any number.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
}

/// What kernels are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kernels {
    /// RV32IM object code, executed instruction by instruction with the chip's timing.
    Riscv,
    /// Rust functions of this program; faster, costs are estimates.
    Native,
}

/// Show the tables of an existing profile_log_device.csv or capture.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof report generated/profiler/.logs/profile_log_device.csv
  kprof report matmul.kprof
  kprof report log.csv --json | jq '.zones[0]'")]
pub(crate) struct ReportArgs {
    /// The device log, of any version since 2024, or the capture; its content decides.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Say what is in a capture.
#[derive(Args, Debug)]
pub(crate) struct InfoArgs {
    /// The capture.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Check every byte of a capture and name what is damaged.
///
/// Exit code 0 if all of it can be used, 1 if something cannot, 2 if it is no capture.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// The capture.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// How results are shown.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ShowArgs {
    /// Print one JSON object instead of tables; of a capture, one line for each run.
    #[arg(long)]
    pub(crate) json: bool,
    /// Rows shown of each table; 0 shows all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) rows: usize,
    /// Exit with code 1 if anything was lost.
    #[arg(long)]
    pub(crate) fail_on_loss: bool,
}
