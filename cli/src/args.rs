//! Options and help text, one struct per command.

use crate::command::{diff::DiffArgs, perf::PerfArgs};
use clap::{Args, Parser, Subcommand, ValueEnum};
use host_reader::export::{ExportFormat, TraceFilter, UnknownFormat};
use std::{num::NonZeroUsize, path::PathBuf, str::FromStr};

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
    /// Write a log or capture as a trace for Perfetto, Tracy, Chrome, speedscope or flame graphs.
    Export(ExportArgs),
    /// Show what each op of an ops CSV cost, what bounds it, and what can be tried.
    Perf(PerfArgs),
    /// Compare two recordings: which ops and zones became slower or faster.
    Diff(DiffArgs),
    /// Write tt-metal's reports, ops_perf_results.csv and its companions.
    Ops(OpsArgs),
    /// Give a log or capture to a Tracy viewer that connects.
    Serve(ServeArgs),
    /// Say what is in a capture.
    Info(InfoArgs),
    /// Check every byte of a capture and name what is damaged.
    Check(CheckArgs),
    /// Write the completions for a shell to standard output.
    Completions(CompletionsArgs),
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
  kprof report matmul.kprof --filter op=3..9,risc=brisc,zone!=*-FW
  kprof report log.csv --json | jq '.zones[0]'
  zstdcat log.csv.zst | kprof report -")]
pub(crate) struct ReportArgs {
    /// The device log, of any version since 2024, or the capture; its content decides. - is a
    /// device log from standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Which launches, lanes and zones to show, in the terms of `kprof export --help`; may be
    /// given again to add terms. Launches are shown or left out as a whole.
    #[arg(long = "filter", value_name = "TERMS")]
    pub(crate) filters: Vec<TraceFilter>,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Write a log or capture as a trace for a viewer, or as a report to look at.
///
/// Chips, cores and RISCs become nested tracks with their zones; ops become a track of their
/// own with arrows to their kernels. Values, events and sums are marks with arguments. Losses
/// are marks at the place where they happened, and zones without an end are flagged.
///
/// The report is one HTML page that needs no network: ops, core grid, timeline, zones, gaps,
/// losses, clocks.
///
/// The file gets its name only once it is whole: on an error, a full disk or an interrupt
/// nothing is left under it, and what it held before stays.
#[derive(Args, Debug)]
#[command(after_long_help = "Filters:
  Terms with a comma between them; values of one key widen, other keys narrow,
  != leaves out. Ranges hold both ends, either may be left out.

    device=0            chips by number: 0, 0..3, 2..
    core=1-1..4-8       cores by NoC-0 x-y, one or a rectangle of them
    risc=brisc,trisc*   BRISC, NCRISC, TRISC_0 to TRISC_2, ERISC; * and ? stand for others
    op=3..9             programs by number, range, or name if the host gave one: op=Matmul*
    zone=Load*          zones, events, values and sums by name; a comma is written \\,
    signpost=a..b       from the first signpost a to the next b, as the host set them; either
                        may be left out
    time=10us..1.5ms    since the start of the trace, in ns, us, ms or s

  What a filter hides is counted in the trace and in what is printed.

Examples:
  kprof export generated/profiler/.logs
  kprof export generated/profiler/.logs -o report.html
  kprof export matmul.kprof -o matmul.pftrace --filter op=3..9,zone!=*-FW
  kprof export matmul.kprof -o matmul.tracy
  kprof export profile_log_device.csv --format folded -o - | flamegraph.pl > cycles.svg
  kprof export twice.kprof --run 2 -o second.speedscope.json
  kprof export matmul.kprof --format parquet -o dataset --host node-3

Exit code 0 if the trace is written, 2 if not.")]
pub(crate) struct ExportArgs {
    /// A profile_log_device.csv, a capture, or a folder that tt-metal leaves its logs in; - is a
    /// device log from standard input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// perfetto, tracy, chrome, speedscope, folded, html or parquet. The name of the output tells
    /// it if not given, and perfetto is written without either.
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) format: Option<ExportTarget>,
    /// The file to write; - for standard output. FILE's name with the format's ending, in the
    /// current folder, if not given. Of parquet the folder of the dataset, `dataset` if not
    /// given.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Which part to write, such as `device=0,risc=BRISC,op=3..9`; may be given again to
    /// add terms. `--help` tells all keys.
    #[arg(long = "filter", value_name = "TERMS")]
    pub(crate) filters: Vec<TraceFilter>,
    /// Which run of a capture that holds several, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// Of parquet: the machine whose chips recorded.
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub(crate) host: String,
    /// Of parquet: the name of the recording in the dataset; if not given, FILE's name and a
    /// number made of when the recording began.
    #[arg(long, value_name = "NAME")]
    pub(crate) recording: Option<String>,
    /// Print one JSON object about what was written instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write tt-metal's reports: ops_perf_results.csv, per_core_op_to_op_times.csv and
/// cpp_device_perf_report.csv.
///
/// Does what tt-metal's process_ops_logs.py does, in its folders: the ops that the host
/// announced (tracy_ops_data.csv, tracy_ops_times.csv, or a capture) joined with what the
/// device recorded (profile_log_device.csv, or cpp_device_perf_report.csv). Without a host the
/// report is of the device alone. What is missing or broken is listed with file, line and
/// column, and the rest is written. Known mistakes of tt-metal's scripts are put right unless
/// --upstream-exact is given; nothing is ever deleted from reports/.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof ops                                    reports on generated/profiler
  kprof ops generated/profiler -n matmul --date
  kprof ops run.kprof -o artifacts             also writes the logs of the capture
  kprof ops artifacts --upstream-exact -n exact
  kprof ops run.kprof --filter op=Matmul*,device=0
  kprof ops --device-only profile_log_device.csv -o out

Output, in OUT:
  reports/[NAME/][DATE/]ops_perf_results[_NAME][_DATE].csv
  reports/[NAME/][DATE/]per_core_op_to_op_times[_NAME][_DATE].csv   without a host
  reports/[NAME/][DATE/]profile_log_device.csv                      a copy
  .logs/cpp_device_perf_report.csv                                  of captures, and with --perf-report
  .logs/profile_log_device.csv, .logs/zone_src_locations.log,
  .logs/sync_device_info.csv                                        of captures

Exit code 0 if the reports are written, 1 if --fail-on-problems is given and there are some,
2 if nothing can be written.")]
pub(crate) struct OpsArgs {
    /// A folder with .logs in it, a folder of logs, a profile_log_device.csv, or a capture.
    #[arg(
        value_name = "FILE",
        env = "TT_METAL_PROFILER_DIR",
        default_value = "generated/profiler"
    )]
    pub(crate) file: PathBuf,
    /// The artifacts folder to write to: that of FILE if not given.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// A folder in reports/, and part of the names of the files in it.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name_append: Option<String>,
    /// Put the date and time into folder and names, too.
    #[arg(long)]
    pub(crate) date: bool,
    /// Leave out what the host recorded.
    #[arg(long)]
    pub(crate) device_only: bool,
    /// Take durations from profile_log_device.csv even where cpp_device_perf_report.csv would
    /// be taken.
    #[arg(long)]
    pub(crate) force_legacy_device_logs: bool,
    /// Take durations from cpp_device_perf_report.csv even where there is a device log.
    #[arg(long, conflicts_with = "force_legacy_device_logs")]
    pub(crate) force_perf_report: bool,
    /// The durations of the device perf report, in the form of tt-metal's
    /// cpp_device_analyses.json; the usual ones if not given.
    #[arg(long, value_name = "JSON")]
    pub(crate) analyses: Option<PathBuf>,
    /// Write .logs/cpp_device_perf_report.csv, also over one that is there.
    #[arg(long)]
    pub(crate) perf_report: bool,
    /// Do not copy the device log into the report's folder.
    #[arg(long)]
    pub(crate) no_copies: bool,
    /// Repeat the known mistakes of tt-metal's scripts, to compare with their reports.
    #[arg(long)]
    pub(crate) upstream_exact: bool,
    /// Which launches to report on, in the terms of `kprof export --help`: by device, core,
    /// RISC, op, time or, of captures, signposts; may be given again to add terms. Of durations
    /// in cpp_device_perf_report.csv and with --upstream-exact it is not possible.
    #[arg(
        long = "filter",
        value_name = "TERMS",
        conflicts_with_all = ["upstream_exact", "force_perf_report"]
    )]
    pub(crate) filters: Vec<TraceFilter>,
    /// Which run of a capture that holds several, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// Exit with code 1 if anything was missing or broken.
    #[arg(long)]
    pub(crate) fail_on_problems: bool,
    /// Print one JSON object about what was written instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A format of one file, or a dataset of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportTarget {
    /// A file.
    File(ExportFormat),
    /// A folder of Parquet files.
    Parquet,
}

impl FromStr for ExportTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "parquet" {
            return Ok(Self::Parquet);
        }
        let format = text.parse().map(Self::File);
        format.map_err(|error: UnknownFormat| format!("{error}, parquet"))
    }
}

/// Write the completions for a shell to standard output.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof completions bash > ~/.local/share/bash-completion/completions/kprof
  kprof completions zsh > ~/.zfunc/_kprof
  kprof completions fish > ~/.config/fish/completions/kprof.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Give a log or capture to a Tracy viewer that connects.
///
/// Stock viewers and capture tools of Tracy 0.11 to 0.14 are served, each in its own version of
/// the protocol, and so is Tenstorrent's fork. Cores are GPU contexts and RISCs their lanes;
/// ops are a thread; events, values, sums and losses are messages.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof serve --tracy matmul.kprof
  kprof serve --tracy generated/profiler/.logs --filter op=3..9
  kprof serve --tracy matmul.kprof --fork --listen 127.0.0.1:9000
  kprof serve --tracy matmul.kprof --once & tracy-capture -o matmul.tracy

Without --once viewers are served one after the other until the program is interrupted.
Exit code 0 if the viewer took everything, 2 if not.")]
pub(crate) struct ServeArgs {
    /// Speak Tracy's protocol; the only one so far.
    #[arg(long, required = true)]
    pub(crate) tracy: bool,
    /// A profile_log_device.csv, a capture, or a folder that tt-metal leaves its logs in.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8086")]
    pub(crate) listen: String,
    /// Expect viewers of Tenstorrent's fork: it gave numbers 66 and 76 to protocols of its own.
    #[arg(long)]
    pub(crate) fork: bool,
    /// End after the first viewer.
    #[arg(long)]
    pub(crate) once: bool,
    /// Which part to give, as for `kprof export`; may be given again to add terms.
    #[arg(long = "filter", value_name = "TERMS")]
    pub(crate) filters: Vec<TraceFilter>,
    /// Which run of a capture that holds several, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
}

/// Say what is in a capture.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof info matmul.kprof
  kprof info matmul.kprof --json | jq '.reads[0]'")]
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
#[command(after_help = "Examples:
  kprof check matmul.kprof
  kprof check matmul.kprof --json | jq '.problems[]'")]
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
    /// Subtract from zones what their own probes and those within cost, as a calibration
    /// kernel measured it in the same run; ops are shown as recorded.
    #[arg(long)]
    pub(crate) subtract_probe_cost: bool,
    /// Exit with code 1 if anything was lost that was not left out on purpose (validate off).
    #[arg(long)]
    pub(crate) fail_on_loss: bool,
}
