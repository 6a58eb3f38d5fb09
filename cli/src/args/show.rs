//! Options of commands that print what was recorded.

use crate::{
    folders::newest_recording, harvesting::Harvesting, layout::row_limit, memory::MemoryArgs,
};
use clap::{Args, ValueEnum};
use host_reader::export::TraceFilter;
use std::path::PathBuf;

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
    /// device log from standard input. Default: TT_METAL_PROFILER_DIR, else generated/profiler in
    /// TT_METAL_HOME or in the current folder, or generated/kprof if `kprof run` wrote a newer recording there.
    #[arg(
        value_name = "FILE",
        default_value_os_t = newest_recording(),
        hide_default_value = true
    )]
    pub(crate) file: PathBuf,
    /// Launches, lanes and zones to show, as filter terms, which `kprof export --help` lists;
    /// repeat to add terms. Launches are shown or hidden as a whole.
    #[arg(long = "filter", value_name = "TERMS")]
    pub(crate) filters: Vec<TraceFilter>,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
}

/// Show what kernels moved over the NoCs, and write tt-metal's noc_trace files.
///
/// Reads NoC events, which tt-metal records with TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1, and records
/// of memory locks. The tables show events by program, RISC and kind, the pairs of tiles between
/// which most bytes moved, the links over which most bytes moved, and how long kernels locked
/// memory. The device rounds sizes up to 32 bytes. A size above an event's maximum (8,160 bytes, or
/// 131,040 since tt-metal 0.81.1) counts as the maximum and is marked.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof noc generated/profiler
  kprof noc profile_log_device.csv -o noc_traces
  kprof noc noc_trace_dev0_ID1024.json
  kprof noc generated/profiler --utilization
  kprof noc generated/profiler --json | jq '.links[0]'

Exit code: 0 if there are NoC events, 1 if there are none, 2 if the input cannot be used.")]
pub(crate) struct NocArgs {
    /// Device log, capture, folder with tt-metal's logs or noc_trace files, or a noc_trace file.
    /// Default: TT_METAL_PROFILER_DIR, else generated/profiler in TT_METAL_HOME or in the current
    /// folder, or generated/kprof if `kprof run` wrote a newer recording there.
    #[arg(
        value_name = "FILE",
        default_value_os_t = newest_recording(),
        hide_default_value = true
    )]
    pub(crate) file: PathBuf,
    /// Folder for noc_trace_*.json, one for each program and chip, named as tt-metal names them.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Number of the run to read from a capture with several runs, from 1.
    #[arg(long, value_name = "N")]
    pub(crate) run: Option<usize>,
    /// Harvested rows (Wormhole) or columns (Blackhole) on NoC 0, such as 3,9 or none. The value
    /// applies to all chips; with a chip number in front, as in 1:3,9, to this chip. Default: taken
    /// from records, cluster_descriptor.yaml or noc_trace files next to the log.
    #[arg(long, value_name = "[CHIP:]LINES")]
    pub(crate) harvesting: Vec<Harvesting>,
    /// Architecture of the chips of noc_trace files, which do not name it: wormhole_b0 or blackhole. Default:
    /// taken from the file of the topology next to them.
    #[arg(long, value_name = "NAME")]
    pub(crate) arch: Option<String>,
    /// Show how busy links, DRAM and Ethernet were in each program, as computed by a model that
    /// follows the rules of tt-npe.
    #[arg(long)]
    pub(crate) utilization: bool,
    /// Maximum number of rows per table; 0 for all.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = row_limit)]
    pub(crate) rows: usize,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
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

/// Show the tables of all outputs: columns, types, units and the meaning of null.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof schema ops
  kprof schema --json | jq '.[] | select(.name == \"ops\").columns[].name'
  kprof schema --views duckdb --dataset merged/dataset > views.sql")]
pub(crate) struct SchemaArgs {
    /// Only this table.
    #[arg(value_name = "TABLE")]
    pub(crate) table: Option<String>,
    /// Print one JSON array instead of tables.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print SQL statements that create a view for each table of a dataset, for this engine.
    #[arg(long, value_name = "ENGINE", conflicts_with = "json")]
    pub(crate) views: Option<SqlEngine>,
    /// For --views: folder or URL of a dataset that `kprof export --format parquet` or `kprof
    /// merge` has written.
    #[arg(long, value_name = "DATASET", default_value = "dataset", requires = "views")]
    pub(crate) dataset: PathBuf,
}

/// Engine that reads a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SqlEngine {
    /// DuckDB.
    Duckdb,
    /// Apache Spark, from 3.5 on.
    Spark,
}

/// Check every byte of a capture and list the damage.
///
/// Exit code: 0 if all of it is usable, 1 if a part is damaged, 2 if the file is not a capture.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof check matmul.kprof
  kprof check matmul.kprof --json | jq '.problems[]'")]
pub(crate) struct CheckArgs {
    /// The capture.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object instead of lines of text.
    #[arg(long)]
    pub(crate) json: bool,
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

/// Heading of the options that control tables.
const TABLES: &str = "Tables";

/// Output options.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ShowArgs {
    /// Print JSON instead of tables: one object, or one line per run of a capture.
    #[arg(long, display_order = 5)]
    pub(crate) json: bool,
    /// Maximum number of rows per table; 0 for all.
    #[arg(
        help_heading = TABLES,
        long,
        value_name = "N",
        default_value_t = 20,
        value_parser = row_limit
    )]
    pub(crate) rows: usize,
    /// Order of the ops.
    #[arg(help_heading = TABLES, long, value_enum, value_name = "ORDER", default_value_t)]
    pub(crate) sort: OpOrder,
    /// Subtract the measured cost of the probes from zone durations; ops are shown as recorded.
    #[arg(help_heading = TABLES, long)]
    pub(crate) subtract_probe_cost: bool,
    /// Exit with code 1 if records were lost, other than those that an option gave up on purpose.
    #[arg(help_heading = TABLES, long)]
    pub(crate) fail_on_loss: bool,
}
