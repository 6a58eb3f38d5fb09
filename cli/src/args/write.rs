//! Options of commands that write files or serve viewers.

use crate::{folders::newest_recording, memory::MemoryArgs};
use chrono::NaiveDate;
use clap::Args;
use host_reader::export::{ExportFormat, TraceFilter, UnknownFormat};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;

/// Write a log or capture as a trace for Perfetto, Tracy, Chrome, speedscope or flame graphs, as an
/// HTML report, or as a Parquet dataset.
///
/// Chips, cores and RISCs become nested tracks with their zones; ops get their own track, with
/// arrows to their kernels. Values, events and sums are marks with arguments. Each loss is a
/// mark at the time of the loss; zones without an end are flagged.
///
/// The HTML report is one page that needs no network: ops, core grid, timeline, zones, gaps,
/// losses, clocks. For an ops CSV, the page has only what such a file contains: ops with their
/// bounds, gaps, causes.
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
  kprof export ops_perf_results.csv -o report.html
  kprof export matmul.kprof -o matmul.pftrace --filter op=3..9,zone!=*-FW
  kprof export matmul.kprof -o matmul.tracy
  kprof export profile_log_device.csv --format folded -o - | flamegraph.pl > cycles.svg
  kprof export twice.kprof --run 2 -o second.folded
  kprof export matmul.kprof --format parquet -o dataset --host node-3 --fleet-run train-17
  kprof export matmul.kprof -o profile_log_device.csv

Exit code: 0 if the trace was written, 2 otherwise.")]
pub(crate) struct ExportArgs {
    /// Device log, capture, or folder with tt-metal's logs; - reads a device log from standard
    /// input. For html, also an ops CSV.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[arg(short, long, value_name = "FORMAT", help = formats_help())]
    pub(crate) format: Option<ExportTarget>,
    /// File to write; - for standard output. Default: FILE's name with the format's extension, in
    /// the current folder. For parquet: the dataset's folder, by default `dataset`, or a URL such
    /// as s3://bucket/dataset. For noc-traces: the folder of the files, by default `noc_traces`, or
    /// the path of one file such as noc_trace_dev0_ID5.json.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Part to write, such as `device=0,risc=BRISC,op=3..9`; repeat to add terms. `--help`
    /// lists all keys.
    #[arg(long = "filter", value_name = "TERMS")]
    pub(crate) filters: Vec<TraceFilter>,
    /// Number of the run to export from a capture with several runs, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// For html: another recording, or another ops CSV. The page also shows which ops and zones are slower or faster in
    /// the other recording, as found by `kprof diff FILE OTHER`.
    #[arg(long, value_name = "OTHER", conflicts_with = "filters")]
    pub(crate) compare: Option<PathBuf>,
    /// For parquet: name of the host that owns the chips. Default: local.
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// For parquet: name of the recording in the dataset. Default: FILE's name and a number
    /// derived from the recording's start.
    #[arg(long, value_name = "NAME")]
    pub(crate) recording: Option<String>,
    /// For parquet: name of the fleet run, which is the same for all hosts that recorded one run.
    /// Default: the recording's name.
    #[arg(long, value_name = "NAME")]
    pub(crate) fleet_run: Option<String>,
    /// For parquet: day on which the recording began. Default: the day in a capture, else unknown.
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub(crate) date: Option<NaiveDate>,
    /// For parquet: give each table a Delta Lake log of its files. Later writes to the dataset
    /// continue these logs even if this option is not given.
    #[arg(long)]
    pub(crate) delta_log: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
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
///
/// NOC UTIL, MULTICAST NOC UTIL, DRAM BW UTIL, ETH BW UTIL and NPE CONG IMPACT have no values
/// without --analyze-noc-traces. The values are computed by a model of the NoCs that follows the
/// rules of tt-npe, the tool that computes these values for tt-metal. They include neither writes
/// with a transaction id, nor inline writes, nor updates of semaphores. The column EMPTY FIGURES
/// BECAUSE states why a launch has no values: fabric packets, unknown targets or sizes, lost
/// records. The column NOC FIGURES LACK states which bytes of a launch the values do not include.
/// kprof noc shows the bytes over each link.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof ops                                    reports on generated/profiler
  kprof ops generated/profiler -n matmul --date
  kprof ops run.kprof -o artifacts             also writes the logs of the capture
  kprof ops artifacts --upstream-exact -n exact
  kprof ops run.kprof --filter op=Matmul*,device=0
  kprof ops generated/profiler --analyze-noc-traces
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
    /// Folder with .logs in it, folder of logs, profile_log_device.csv, or capture. Default:
    /// TT_METAL_PROFILER_DIR, else generated/profiler in TT_METAL_HOME or in the current folder, or
    /// generated/kprof if `kprof run` wrote a newer recording there.
    #[arg(
        value_name = "FILE",
        default_value_os_t = newest_recording(),
        hide_default_value = true
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
    /// If there is nothing to report, write a report without rows. `kprof record` does so, too.
    #[arg(long, hide = true)]
    pub(crate) allow_empty: bool,
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
    /// File that defines the durations in the device perf report, in the format of tt-metal's
    /// cpp_device_analyses.json. Default: the definitions of tt-metal.
    #[arg(long, value_name = "JSON")]
    pub(crate) analyses: Option<PathBuf>,
    /// Write .logs/cpp_device_perf_report.csv, replacing an existing one.
    #[arg(long)]
    pub(crate) perf_report: bool,
    /// Fill the columns about the NoCs from noc_trace*.json, or else from the NoC events of the
    /// device log or capture.
    #[arg(long)]
    pub(crate) analyze_noc_traces: bool,
    /// Analysis of the device log to show, by the name that tt-metal gives it, such as
    /// device_kernel_duration; repeat for more. Default: all.
    #[arg(short = 'a', long = "device-analysis-types", value_name = "NAME")]
    pub(crate) device_analysis_types: Vec<String>,
    /// Do not copy the device log into the report's folder.
    #[arg(long)]
    pub(crate) no_copies: bool,
    /// Reproduce the known bugs of tt-metal's scripts, for comparison with their reports.
    #[arg(long)]
    pub(crate) upstream_exact: bool,
    /// Launches to report on, as filter terms, which `kprof export --help` lists: by device, core,
    /// RISC, op, time or, in captures, signposts. Repeat to add terms. Not available with
    /// cpp_device_perf_report.csv and with --upstream-exact.
    #[arg(
        long = "filter",
        value_name = "TERMS",
        conflicts_with_all = ["upstream_exact", "force_perf_report"]
    )]
    pub(crate) filters: Vec<TraceFilter>,
    /// Number of the run to report from a capture with several runs, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// Exit with code 1 if any input was missing or broken.
    #[arg(long)]
    pub(crate) fail_on_problems: bool,
    /// Describe the written files as one JSON object, instead of as lines of text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// Parses a name that becomes one component of a path. Rejects names that would lead out of the
/// folder.
fn parse_name(text: &str) -> Result<String, String> {
    let mut parts = Path::new(text).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) if name == text => Ok(text.to_owned()),
        _ => Err(format!("expected a name without folders, found `{text}`")),
    }
}

/// Export format: a single file, or a folder of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportTarget {
    /// A single file in this format.
    File(ExportFormat),
    /// A folder of Parquet files.
    Parquet,
    /// tt-metal's `profile_log_device.csv`.
    DeviceLog,
    /// tt-metal's `noc_trace_*.json`.
    NocTraces,
}

impl ExportTarget {
    /// Outputs that the command has besides the formats of a trace.
    const OTHERS: [(&'static str, Self, &'static str); 3] = [
        ("parquet", Self::Parquet, "a dataset for SQL engines"),
        ("device-log", Self::DeviceLog, "tt-metal's profile_log_device.csv"),
        ("noc-traces", Self::NocTraces, "tt-metal's noc_trace_*.json"),
    ];
}

/// Returns the help of `--format`: what each format is for.
fn formats_help() -> String {
    let formats = ExportFormat::ALL.iter().map(|format| (format.label(), format.help()));
    let others = ExportTarget::OTHERS.iter().map(|&(name, _, help)| (name, help));
    let told: Vec<_> =
        formats.chain(others).map(|(name, help)| format!("{name} ({help})")).collect();
    format!("{}. Default: inferred from the output name, else perfetto", told.join(", "))
}

impl FromStr for ExportTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(&(_, target, _)) = Self::OTHERS.iter().find(|(name, ..)| *name == text) {
            return Ok(target);
        }
        let others = Self::OTHERS.map(|(name, ..)| name).join(", ");
        let format = text.parse().map(Self::File);
        format.map_err(|error: UnknownFormat| format!("{error}, {others}"))
    }
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

Without --once, several viewers can connect at the same time, until the program is interrupted.
Exit code: 0 if the viewer received everything, 2 otherwise.")]
pub(crate) struct ServeArgs {
    /// Use Tracy's protocol. kprof supports no other protocol yet.
    #[arg(long, required = true)]
    pub(crate) tracy: bool,
    /// Device log, capture, or folder with tt-metal's logs.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Address and port to listen on; port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8086")]
    pub(crate) listen: String,
    /// Expect viewers of Tenstorrent's fork, which uses protocol numbers 66 and 76 differently.
    #[arg(long)]
    pub(crate) fork: bool,
    /// Exit after the first viewer.
    #[arg(long)]
    pub(crate) once: bool,
    /// Disconnect a viewer that receives no data for this time.
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
    /// Number of the run to serve from a capture with several runs, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
}

/// Merge the many small files of a dataset into a few large files.
///
/// Each host writes its own files into a dataset. This command merges files of the same table, day
/// and run that are smaller than 128 MiB; their rows stay unchanged. Do not query or write the
/// dataset while the command runs.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof compact dataset
  kprof compact merged/dataset --json")]
pub(crate) struct CompactArgs {
    /// Folder or URL of a dataset that `kprof export --format parquet` or `kprof merge` has
    /// written.
    #[arg(value_name = "DATASET")]
    pub(crate) dataset: PathBuf,
    /// Give each table a Delta Lake log of its files, if the dataset has no logs yet.
    #[arg(long)]
    pub(crate) delta_log: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// Merge recordings of many hosts: one ops report, one dataset, one trace and a table of skew.
///
/// Hosts are read one after the other. A host that cannot be read is reported and left out. The
/// starts of launches on different hosts are compared only if captures or --offsets relate the
/// hosts' clocks; durations are always compared.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof merge generated/profiler/ttrun           the folders rank0, rank1 and so on of tt-run
  kprof merge node-1=a.kprof node-2=b.kprof -o both
  kprof merge generated/profiler/ttrun --offsets offsets.csv
  kprof merge dataset                            the hosts of a dataset, using only their ops

Output, in OUT:
  ops_perf_results.csv   ops of all hosts, with the host in the first column
  rank_skew.csv          each launch: its fastest, slowest, earliest and latest host
  hosts.csv              each recording: offset of its host's clock, or why there is none
  trace.pftrace          all hosts in one Perfetto trace, each a process
  dataset/               as kprof export --format parquet writes it; rows of input datasets are not copied

Exit code: 0 if all hosts were merged, 1 if some were left out, 2 if none could be read.")]
pub(crate) struct MergeArgs {
    /// Capture, log, dataset, folder of logs, or folder that contains rank folders. A host is named
    /// after its file or folder unless NAME= precedes the input; hosts of a dataset keep their
    /// names.
    #[arg(value_name = "[NAME=]PATH", required = true)]
    pub(crate) inputs: Vec<std::ffi::OsString>,
    /// Folder to write to, or a URL such as s3://bucket/merged.
    #[arg(short, long, value_name = "OUT", default_value = "merged")]
    pub(crate) output: PathBuf,
    /// Give each table of the dataset a Delta Lake log of its files. Later writes to the dataset
    /// continue these logs even if this option is not given.
    #[arg(long)]
    pub(crate) delta_log: bool,
    /// Name of the fleet run to which the recordings belong. The dataset has a folder with this
    /// name.
    #[arg(long, value_name = "NAME", default_value = "merged")]
    pub(crate) fleet_run: String,
    /// CSV with the columns host, offset_ns (nanoseconds by which a common clock is ahead of the
    /// host's monotonic clock) and error_ns (maximum error of the offset). Default: the offsets
    /// that captures give. Hosts on one machine share its clock; other hosts share the time of day,
    /// within the error that its source states.
    #[arg(long, value_name = "FILE")]
    pub(crate) offsets: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}
