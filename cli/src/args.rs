//! Options and help text, one struct per command.

use crate::command::{
    diff::DiffArgs, explain::ExplainArgs, mcp::McpArgs, perf::PerfArgs, record::RecordArgs,
};
use clap::{Args, Parser, Subcommand, ValueEnum};
use host_reader::export::{ExportFormat, TraceFilter, UnknownFormat};
use sim::workload::PipelineShape;
use std::{
    num::NonZeroUsize,
    path::{Component, Path, PathBuf},
    str::FromStr,
};

/// Folder of simulations: not the one in which tt-metal leaves its measurements.
const SIMULATION_FOLDER: &str = "generated/kprof";

/// Profiler for kernels on Tenstorrent chips: where the cycles went, and what was lost.
///
/// With no command, `kprof run` is assumed.
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
    Run(RunArgs),
    Sdk(SdkArgs),
    Capture(CaptureArgs),
    Record(RecordArgs),
    Read(ReadArgs),
    Attach(AttachArgs),
    Report(ReportArgs),
    Explain(ExplainArgs),
    Export(ExportArgs),
    Perf(PerfArgs),
    Diff(DiffArgs),
    Merge(MergeArgs),
    Ops(OpsArgs),
    Noc(NocArgs),
    Serve(ServeArgs),
    Mcp(McpArgs),
    Info(InfoArgs),
    Check(CheckArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
    /// Run the library of Tenstorrent's simulator for the program that starts this one.
    #[cfg(feature = "ttsim")]
    #[command(name = TTSIM_CHILD, hide = true)]
    TtsimChild(TtsimChildArgs),
}

/// Name of the command that `kprof run --backend ttsim` starts.
#[cfg(feature = "ttsim")]
pub(crate) const TTSIM_CHILD: &str = "ttsim-child";

/// Run the library of Tenstorrent's simulator for the program that starts this one.
#[cfg(feature = "ttsim")]
#[derive(Args, Debug)]
pub(crate) struct TtsimChildArgs {
    /// The library.
    pub(crate) library: PathBuf,
}

/// Run a workload on the simulator and show the tables of its profile.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof run --workload matmul --ops 5
  kprof run --arch blackhole --cores 130 --devices 2 --json
  kprof run --workload multi-op-overflow --fail-on-loss")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    /// Folder for artifacts; the log goes into its .logs folder. A log that no simulation wrote
    /// is never replaced.
    #[arg(short, long, value_name = "DIR", default_value = SIMULATION_FOLDER)]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Run a workload on the simulator and keep every word that was read in a capture.
///
/// `kprof report` shows the same tables from the capture at any time, decoded from the words.
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
    #[arg(short, long, value_name = "DIR|FILE", default_value = SIMULATION_FOLDER)]
    pub(crate) output: PathBuf,
    /// Append to an existing capture instead of refusing it; `kprof report` shows each run
    /// separately.
    #[arg(long)]
    pub(crate) append: bool,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Workload and simulated mesh.
#[derive(Args, Debug)]
pub(crate) struct WorkloadArgs {
    /// Architecture: wormhole_b0 or blackhole.
    #[arg(long, default_value = "wormhole_b0")]
    pub(crate) arch: String,
    /// Worker cores per chip after harvesting: 64, 72, 80 on Wormhole, 120, 130, 140 on
    /// Blackhole. Default: 64 or 140.
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<u32>,
    /// Chips in the mesh.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) devices: u32,
    /// Simulator of the chips.
    #[arg(long, value_enum, value_name = "NAME", default_value_t)]
    pub(crate) backend: Backend,
    /// Library of ttsim for this architecture, with --backend ttsim.
    #[arg(long, value_name = "FILE")]
    pub(crate) ttsim_library: Option<PathBuf>,
    /// Workload to run; an unknown name lists the known ones.
    #[arg(long, value_name = "NAME", default_value = "matmul")]
    pub(crate) workload: String,
    /// Number of ops to launch, if the workload allows a choice.
    #[arg(long, value_name = "N")]
    pub(crate) ops: Option<u32>,
    /// Number of replays, if the workload replays a trace.
    #[arg(long, value_name = "N")]
    pub(crate) replays: Option<u32>,
    /// Number of programs the DRAM buffers can hold; small counts are raised to 43 (32 with
    /// sums). Default: the workload's own, else 1000.
    #[arg(long, value_name = "N")]
    pub(crate) op_support_count: Option<u32>,
    /// Also record sum zones.
    #[arg(long)]
    pub(crate) enable_sum_profiling: bool,
    /// Record only traces: one envelope per replay and core. Native kernels only.
    #[arg(long)]
    pub(crate) device_trace_profiler: bool,
    /// Record allocations of L1 and DRAM by the host.
    #[arg(long)]
    pub(crate) device_memory_profiler: bool,
    /// Seed of the simulator's random numbers.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Sizes and speeds of --workload pipeline, as in `reader=1200,compute=1000`: tiles, cycles of
    /// reader, unpack, compute, pack and writer for a tile, tiles of the buffers input and output,
    /// percent of barrier, straggler and jitter, tiles that the reader may be ahead.
    #[arg(long, value_name = "SHAPE", default_value = "", hide_default_value = true)]
    pub(crate) pipeline: PipelineShape,
    /// Records of waits for circular buffers, semaphores and NoC barriers.
    #[arg(long, value_enum, value_name = "RECORDS", default_value_t)]
    pub(crate) waits: Waits,
    /// Read while the launches run, too, after each stretch of simulated time, as in 50us, 2ms or
    /// 1s. Default: read between the phases of a workload.
    #[arg(long, value_name = "DURATION", value_parser = duration_ns)]
    pub(crate) read_every: Option<u64>,
    /// Kind of kernels. Default: object code, if this program was built with it.
    #[arg(long, value_enum, value_name = "KIND")]
    pub(crate) kernels: Option<Kernels>,
    /// Number of threads. Default: one per processor. Results do not depend on it.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) own: OwnKernelArgs,
}

/// The user's own kernels, in place of a workload: see docs/kernels.md.
#[derive(Args, Debug)]
#[command(next_help_heading = "Own kernels (docs/kernels.md)")]
pub(crate) struct OwnKernelArgs {
    /// ELF file of a kernel for BRISC, linked with brisc.ld of `kprof sdk`. --ops says how often
    /// it is launched; default: 1.
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel: Option<PathBuf>,
    /// ELF file of a kernel for NCRISC.
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel_ncrisc: Option<PathBuf>,
    /// ELF file of a kernel for TRISC 0.
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel_trisc0: Option<PathBuf>,
    /// ELF file of a kernel for TRISC 1.
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel_trisc1: Option<PathBuf>,
    /// ELF file of a kernel for TRISC 2.
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel_trisc2: Option<PathBuf>,
    /// Runtime arguments of every launch: words in decimal or with 0x.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = word)]
    pub(crate) kernel_args: Vec<u32>,
    /// Firmware for the Tensix cores instead of this program's: a folder with brisc/brisc.elf
    /// and so on, as tt-metal builds it. Kernels are linked against it.
    #[arg(long, value_name = "DIR")]
    pub(crate) firmware: Option<PathBuf>,
    /// Number of cycles after which a launch is stopped. Default: 100 million.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cycle_limit: Option<u64>,
}

impl OwnKernelArgs {
    /// The files by processor, in the order of their indices.
    pub(crate) fn files(&self) -> [Option<&PathBuf>; 5] {
        let [kernel, ncrisc] = [&self.kernel, &self.kernel_ncrisc];
        [kernel, ncrisc, &self.kernel_trisc0, &self.kernel_trisc1, &self.kernel_trisc2]
            .map(Option::as_ref)
    }

    /// Returns true if any file was given.
    pub(crate) fn has_files(&self) -> bool {
        self.files().iter().any(Option::is_some)
    }
}

/// A word, in decimal or with 0x.
fn word(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("expected a word of 32 bits: {error}"))
}

/// A time of at least a nanosecond, in nanoseconds.
fn duration_ns(text: &str) -> Result<u64, String> {
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let parsed = units.into_iter().find_map(|(unit, ns)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(ns).filter(|&ns| ns > 0)
    });
    parsed.ok_or_else(|| "expected a whole number and a unit of ns, us, ms, s: 50us".to_owned())
}

/// Write the linker scripts for kernels of your own, one per processor.
///
/// A script holds all addresses that a kernel shares with the simulator's firmware, so nothing
/// else has to be linked. See docs/kernels.md.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof sdk sdk
  kprof sdk sdk --enable-sum-profiling")]
pub(crate) struct SdkArgs {
    /// Folder for the scripts: wormhole_b0/brisc.ld and so on.
    #[arg(value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Scripts for runs with --enable-sum-profiling.
    #[arg(long)]
    pub(crate) enable_sum_profiling: bool,
}

/// Simulator of the chips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// This project's simulator.
    #[default]
    Sim,
    /// Tenstorrent's ttsim: one whole chip, functional, without timing. Needs a kprof built
    /// with --features ttsim.
    Ttsim,
}

/// Records of waits that kernels make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Waits {
    /// None.
    Off,
    /// Cycles and number of the waits that blocked, by object, at the kernel's end.
    #[default]
    Totals,
    /// Each wait that blocked and each signal, too.
    Events,
}

/// Kind of kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kernels {
    /// RV32IM object code, interpreted with the chip's timing.
    Riscv,
    /// Rust functions of this program: faster, with estimated costs.
    Native,
}

/// Show the tables of a device log or capture.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof report generated/profiler/.logs/profile_log_device.csv
  kprof report matmul.kprof
  kprof report matmul.kprof --filter op=3..9,risc=brisc,zone!=*-FW
  kprof report log.csv --json | jq '.zones[0]'
  zstdcat log.csv.zst | kprof report -")]
pub(crate) struct ReportArgs {
    /// Device log of any version since 2024, capture, or folder with tt-metal's logs; - reads a
    /// device log from standard input.
    #[arg(
        value_name = "FILE",
        env = "TT_METAL_PROFILER_DIR",
        default_value = "generated/profiler"
    )]
    pub(crate) file: PathBuf,
    /// Launches, lanes and zones to show, in the terms of `kprof export --help`; repeat to add
    /// terms. Launches are shown or hidden as a whole.
    #[arg(long = "filter", value_name = "TERMS")]
    pub(crate) filters: Vec<TraceFilter>,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Show what kernels moved over the NoCs, and write tt-metal's noc_trace files.
///
/// Reads NoC events, which tt-metal records with TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1, and locks of
/// memory. The tables show events by program, RISC and kind, the pairs of tiles that moved most, the
/// links that carried most, and for how long kernels held memory. Sizes are rounded up to 32 bytes on the device; what is larger than an event can
/// say, 8,160 bytes or 131,040 since tt-metal 0.81.1, is counted as that and marked.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof noc generated/profiler
  kprof noc profile_log_device.csv -o noc_traces
  kprof noc noc_trace_dev0_ID1024.json
  kprof noc generated/profiler --json | jq '.links[0]'

Exit code: 0 if there are NoC events, 1 if there are none, 2 if the input cannot be used.")]
pub(crate) struct NocArgs {
    /// Device log, capture, folder with tt-metal's logs, or a noc_trace file.
    #[arg(
        value_name = "FILE",
        env = "TT_METAL_PROFILER_DIR",
        default_value = "generated/profiler"
    )]
    pub(crate) file: PathBuf,
    /// Folder for noc_trace_*.json, one for each program and chip, named as tt-metal names them.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Number of the run, from 1, if a capture holds several.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// Maximum number of rows per table; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) rows: usize,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a log or capture as a trace for Perfetto, Tracy, Chrome, speedscope or flame graphs, as an
/// HTML report, or as a Parquet dataset.
///
/// Chips, cores and RISCs become nested tracks with their zones; ops get a track of their own
/// with arrows to their kernels. Values, events and sums are marks with arguments. Losses are
/// marks at the time they happened; zones without an end are flagged.
///
/// The HTML report is one page that needs no network: ops, core grid, timeline, zones, gaps,
/// losses, clocks.
///
/// The output appears under its name only when it is complete: an error, a full disk or an
/// interrupt leaves the previous file unchanged.
#[derive(Args, Debug)]
#[command(after_long_help = "Filters:
  Terms separated by commas. Several values of one key widen the selection, further keys
  narrow it, != excludes. Ranges include both ends; either end may be omitted.

    device=0            chips by number: 0, 0..3, 2..
    core=1-1..4-8       cores by NoC-0 x-y: one core or a rectangle
    risc=brisc,trisc*   BRISC, NCRISC, TRISC_0 to TRISC_2, ERISC; * and ? are wildcards
    op=3..9             programs by number, range, or the host's op name: op=Matmul*
    zone=Load*          zones, events, values and sums by name; a comma is written \\,
    signpost=a..b       from the host's first signpost a to the next b; either may be omitted
    time=10us..1.5ms    since the start of the trace, in ns, us, ms or s

  Hidden items are counted, in the trace and in the printed summary.

Examples:
  kprof export generated/profiler/.logs
  kprof export generated/profiler/.logs -o report.html
  kprof export matmul.kprof -o matmul.pftrace --filter op=3..9,zone!=*-FW
  kprof export matmul.kprof -o matmul.tracy
  kprof export profile_log_device.csv --format folded -o - | flamegraph.pl > cycles.svg
  kprof export twice.kprof --run 2 -o second.speedscope.json
  kprof export matmul.kprof --format parquet -o dataset --host node-3
  kprof export matmul.kprof -o profile_log_device.csv

Exit code: 0 if the trace was written, 2 otherwise.")]
pub(crate) struct ExportArgs {
    /// Device log, capture, or folder with tt-metal's logs; - reads a device log from standard
    /// input.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// perfetto, tracy, chrome, speedscope, folded, html, parquet or device-log. Default: inferred
    /// from the output name, else perfetto.
    #[arg(short, long, value_name = "FORMAT")]
    pub(crate) format: Option<ExportTarget>,
    /// File to write; - for standard output. Default: FILE's name with the format's extension,
    /// in the current folder. For parquet: the dataset's folder, by default `dataset`.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Part to write, such as `device=0,risc=BRISC,op=3..9`; repeat to add terms. `--help`
    /// lists all keys.
    #[arg(long = "filter", value_name = "TERMS")]
    pub(crate) filters: Vec<TraceFilter>,
    /// Number of the run, from 1, if a capture holds several.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// For html: recording to compare with; the page also shows which ops and zones are slower or
    /// faster there, as `kprof diff FILE OTHER` finds them.
    #[arg(long, value_name = "OTHER", conflicts_with = "filters")]
    pub(crate) compare: Option<PathBuf>,
    /// For parquet: name of the host that owns the chips.
    #[arg(long, value_name = "NAME", default_value = "local")]
    pub(crate) host: String,
    /// For parquet: name of the recording in the dataset. Default: FILE's name and a number
    /// derived from the recording's start.
    #[arg(long, value_name = "NAME")]
    pub(crate) recording: Option<String>,
    /// Print one JSON object that describes the output.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write tt-metal's reports: ops_perf_results.csv, per_core_op_to_op_times.csv and
/// cpp_device_perf_report.csv.
///
/// Does what tt-metal's process_ops_logs.py does, in the same folders: joins the host's ops
/// (tracy_ops_data.csv, tracy_ops_times.csv, or a capture) with the device's records
/// (profile_log_device.csv or cpp_device_perf_report.csv). Without host files the report covers
/// the device alone. Missing or broken input is listed with file, line and column; the rest is
/// written. Known bugs of tt-metal's scripts are fixed unless --upstream-exact is given.
/// Nothing is ever deleted from reports/.
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

Exit code: 0 if the reports were written, 1 if --fail-on-problems is given and there were
problems or losses, 2 if nothing could be written.")]
pub(crate) struct OpsArgs {
    /// Folder with .logs in it, folder of logs, profile_log_device.csv, or capture.
    #[arg(
        value_name = "FILE",
        env = "TT_METAL_PROFILER_DIR",
        default_value = "generated/profiler"
    )]
    pub(crate) file: PathBuf,
    /// Artifacts folder to write to. Default: the folder of FILE.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Name of a folder in reports/, also part of the file names.
    #[arg(short, long, value_name = "NAME", value_parser = parse_name)]
    pub(crate) name_append: Option<String>,
    /// Add date and time to the folder and file names.
    #[arg(long)]
    pub(crate) date: bool,
    /// Ignore the host's files.
    #[arg(long)]
    pub(crate) device_only: bool,
    /// Take durations from profile_log_device.csv even if cpp_device_perf_report.csv exists.
    #[arg(long)]
    pub(crate) force_legacy_device_logs: bool,
    /// Take durations from cpp_device_perf_report.csv even if a device log exists; an error if
    /// it is missing.
    #[arg(long, conflicts_with = "force_legacy_device_logs")]
    pub(crate) force_perf_report: bool,
    /// Durations of the device perf report, in the form of tt-metal's cpp_device_analyses.json.
    /// Default: tt-metal's own.
    #[arg(long, value_name = "JSON")]
    pub(crate) analyses: Option<PathBuf>,
    /// Write .logs/cpp_device_perf_report.csv, replacing an existing one.
    #[arg(long)]
    pub(crate) perf_report: bool,
    /// Do not copy the device log into the report's folder.
    #[arg(long)]
    pub(crate) no_copies: bool,
    /// Reproduce the known bugs of tt-metal's scripts, for comparison with their reports.
    #[arg(long)]
    pub(crate) upstream_exact: bool,
    /// Launches to report on, in the terms of `kprof export --help`: by device, core, RISC, op,
    /// time or, in captures, signposts; repeat to add terms. Not available with
    /// cpp_device_perf_report.csv and with --upstream-exact.
    #[arg(
        long = "filter",
        value_name = "TERMS",
        conflicts_with_all = ["upstream_exact", "force_perf_report"]
    )]
    pub(crate) filters: Vec<TraceFilter>,
    /// Number of the run, from 1, if a capture holds several.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// Exit with code 1 if any input was missing or broken.
    #[arg(long)]
    pub(crate) fail_on_problems: bool,
    /// Print one JSON object about what was written instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// A name that is one part of a path: it must not lead out of the folder it is put into.
fn parse_name(text: &str) -> Result<String, String> {
    let mut parts = Path::new(text).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) if name == text => Ok(text.to_owned()),
        _ => Err(format!("expected a name without folders, found `{text}`")),
    }
}

/// Export format: one file, or a dataset of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportTarget {
    /// A file.
    File(ExportFormat),
    /// A folder of Parquet files.
    Parquet,
    /// tt-metal's `profile_log_device.csv`.
    DeviceLog,
}

impl FromStr for ExportTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "parquet" {
            return Ok(Self::Parquet);
        }
        if text == "device-log" {
            return Ok(Self::DeviceLog);
        }
        let format = text.parse().map(Self::File);
        format.map_err(|error: UnknownFormat| format!("{error}, parquet, device-log"))
    }
}

/// Write shell completions to standard output.
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

/// Write the manual pages into a folder.
#[derive(Args, Debug)]
#[command(after_help = "Example:
  kprof man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Folder to write to.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

/// Serve a log or capture to a connecting Tracy viewer.
///
/// Serves stock viewers and capture tools of Tracy 0.11 to 0.14, each in its own protocol
/// version, and Tenstorrent's fork. Cores are GPU contexts with RISCs as lanes; ops are a
/// thread; events, values, sums and losses are messages.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof serve --tracy matmul.kprof
  kprof serve --tracy generated/profiler/.logs --filter op=3..9
  kprof serve --tracy matmul.kprof --fork --listen 127.0.0.1:9000
  kprof serve --tracy matmul.kprof --once & tracy-capture -o matmul.tracy

Without --once, viewers are served side by side until the program is interrupted.
Exit code: 0 if the viewer received everything, 2 otherwise.")]
pub(crate) struct ServeArgs {
    /// Speak Tracy's protocol; the only one so far.
    #[arg(long, required = true)]
    pub(crate) tracy: bool,
    /// Device log, capture, or folder with tt-metal's logs.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8086")]
    pub(crate) listen: String,
    /// Expect viewers of Tenstorrent's fork, which uses protocol numbers 66 and 76 differently.
    #[arg(long)]
    pub(crate) fork: bool,
    /// Exit after the first viewer.
    #[arg(long)]
    pub(crate) once: bool,
    /// Drop a viewer that takes nothing for so long.
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 60,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    pub(crate) drop_after: u64,
    /// Part to serve, as for `kprof export`; repeat to add terms.
    #[arg(long = "filter", value_name = "TERMS")]
    pub(crate) filters: Vec<TraceFilter>,
    /// Which run of a capture that holds several, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
}

/// Show what a capture contains.
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

/// Check every byte of a capture and list the damage.
///
/// Exit code: 0 if all of it is usable, 1 if some is not, 2 if the file is not a capture.
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

/// Read the device profiler of a chip once, beside the program that uses it.
///
/// Where the profiler's words lie is taken from the debug information of the running firmware:
/// from --elf, else from the builds that the environment names. Nothing is written unless --write
/// is given. Ethernet cores and chips behind another chip's Ethernet are not read.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof read
  kprof read --chip 1 --elf ~/.cache/tt-metal-cache/*/*/firmware -o now.kprof

Exit code: 0 if a chip was read, 1 if --fail-on-loss is given and records were lost, 2 if nothing
could be read.")]
pub(crate) struct ReadArgs {
    #[command(flatten)]
    pub(crate) chip: ChipArgs,
}

/// Read the device profiler of the chips of a running program once.
///
/// Finds the program's firmware through its open files, its Inspector, its cache of builds and its
/// copy of TT-Metal, and names ops as the Inspector's log does if the program runs with
/// TT_METAL_INSPECTOR_LOG_RUNTIME_ENTRIES=1.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof attach 4711
  kprof attach 4711 --chip 0 -o now.kprof
  kprof attach --elf build/firmware/brisc/brisc.elf

Exit code: as of kprof read.")]
pub(crate) struct AttachArgs {
    /// Number of the process.
    #[arg(value_name = "PID", required_unless_present = "elf")]
    pub(crate) pid: Option<u32>,
    #[command(flatten)]
    pub(crate) chip: ChipArgs,
}

/// Choice of the chip, and of what is known about it.
#[derive(Args, Debug)]
pub(crate) struct ChipArgs {
    /// Number of the chip, as in /dev/tenstorrent. Default: all.
    #[arg(long, value_name = "N")]
    pub(crate) chip: Option<usize>,
    /// The running firmware: brisc.elf, or the folder with brisc/brisc.elf in it.
    #[arg(long, value_name = "FILE")]
    pub(crate) elf: Option<PathBuf>,
    /// Folder of the Inspector's log, for names of ops. Default: the program's.
    #[arg(long, value_name = "DIR")]
    pub(crate) inspector: Option<PathBuf>,
    /// Folder of TT-Metal's logs, for names of zones. Default: generated/profiler/.logs, if it is
    /// there.
    #[arg(long, value_name = "DIR")]
    pub(crate) names: Option<PathBuf>,
    /// Tell the chip what was read, so that it can use its lanes anew. The program's own reads
    /// then miss what this one has taken.
    #[arg(long)]
    pub(crate) write: bool,
    /// Number of programs the DRAM buffers can hold, as the program was started with.
    #[arg(long, value_name = "N")]
    pub(crate) op_support_count: Option<u32>,
    /// The program also records sum zones.
    #[arg(long)]
    pub(crate) enable_sum_profiling: bool,
    /// Capture to keep every word in that was read.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Merge recordings of many hosts: one ops report, one dataset, one trace and a table of skew.
///
/// Hosts are read one after the other. One that cannot be read is named and left out. Without
/// --offsets, clocks of hosts are not related: durations are compared and starts are not.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof merge generated/profiler/ttrun           the folders rank0, rank1 and so on of tt-run
  kprof merge node-1=a.kprof node-2=b.kprof -o both
  kprof merge generated/profiler/ttrun --offsets offsets.csv

Output, in OUT:
  ops_perf_results.csv   the ops of all hosts, with the host in the first column
  rank_skew.csv          each launch: its fastest, slowest, earliest and latest host
  hosts.csv              each recording: offset of its host's clock, or why there is none
  trace.pftrace          all hosts in one Perfetto trace, each a process
  dataset/               as kprof export --format parquet writes it

Exit code: 0 if all hosts were merged, 1 if some were left out, 2 if none could be read.")]
pub(crate) struct MergeArgs {
    /// Folder with rank folders, capture, log or folder of logs; a host has the name of its file
    /// or folder unless NAME= stands before.
    #[arg(value_name = "[NAME=]PATH", required = true)]
    pub(crate) inputs: Vec<String>,
    /// Folder to write to.
    #[arg(short, long, value_name = "OUT", default_value = "merged")]
    pub(crate) output: PathBuf,
    /// CSV with the columns host, offset_ns and error_ns: nanoseconds that one common clock is
    /// ahead of the host's monotonic clock, and a bound of their error.
    #[arg(long, value_name = "FILE")]
    pub(crate) offsets: Option<PathBuf>,
}

/// Order of the ops in their table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OpOrder {
    /// By chip and start.
    #[default]
    Start,
    /// Longest kernel first.
    Time,
}

/// Output options.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ShowArgs {
    /// Print JSON instead of tables: one object, or one line per run of a capture.
    #[arg(long)]
    pub(crate) json: bool,
    /// Maximum number of rows per table; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) rows: usize,
    /// Order of the ops.
    #[arg(long, value_enum, value_name = "ORDER", default_value_t)]
    pub(crate) sort: OpOrder,
    /// Subtract the measured cost of the probes from zone durations; ops are shown as recorded.
    #[arg(long)]
    pub(crate) subtract_probe_cost: bool,
    /// Exit with code 1 on any unintended loss.
    #[arg(long)]
    pub(crate) fail_on_loss: bool,
}
