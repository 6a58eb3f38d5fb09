//! Options of commands that run kernels.

use super::{
    ShowArgs, TracyViewArgs,
    counters::{CounterChoice, parse_choice},
};
use crate::folders::simulations;
use clap::{Args, ValueEnum};
use sim::{config::KernelGrid, limits::LiftedLimits, workload::PipelineShape};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use wire::stream::Policy;

/// Heading of options for the simulated chips.
const CHIPS: &str = "Chips";

/// Heading of options for the work on the simulated chips.
const WORKLOAD: &str = "Workload";

/// Heading of options for the user's own kernels.
const OWN_KERNELS: &str = "Own kernels (docs/kernels.md)";

/// Heading of options that select the data to record.
const RECORDS: &str = "Records";

/// Options that conflict with `--noc-debug-dump` and `--stream`. The prebuilt kernels that support
/// these options do not let the host read their records while they run.
const NO_LIVE_READS: [&str; 6] = [
    "enable_sum_profiling",
    "enable_accumulate_profiling",
    "device_trace_profiler",
    "profile_dispatch_cores",
    "profiler_capture_perf_counters",
    "firmware",
];

/// Run a workload on the simulator and show the tables of its profile.
///
/// TT-Metal's variables set the defaults of these options: docs/variables.md.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof run --workload matmul --ops 5
  kprof run --arch blackhole --cores 130 --devices 2 --json
  kprof run --workload multi-op-overflow --fail-on-loss")]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    /// Folder for artifacts; the log goes into its .logs folder. An existing log is replaced only
    /// if a simulation wrote it. Default: TT_METAL_PROFILER_DIR, else generated/kprof.
    #[arg(
        display_order = 4,
        short,
        long,
        value_name = "DIR",
        default_value_os_t = simulations(),
        hide_default_value = true
    )]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Run a workload on the simulator and write every word that was read to a capture.
///
/// `kprof report` shows the same tables from the capture at any time, decoded from the words.
/// TT-Metal's variables set the defaults of these options: docs/variables.md.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof capture --workload matmul --ops 5 -o captures
  kprof capture --workload random --seed 7 -o random-7.kprof
  kprof capture --seed 8 -o random-7.kprof --append")]
pub(crate) struct CaptureArgs {
    #[command(flatten)]
    pub(crate) workload: WorkloadArgs,
    /// Capture to write: a file that ends in .kprof, or a folder. In a folder, the capture is
    /// WORKLOAD.kprof, and the log goes into .logs. Default: TT_METAL_PROFILER_DIR, else
    /// generated/kprof.
    #[arg(
        short,
        long,
        value_name = "DIR|FILE",
        default_value_os_t = simulations(),
        hide_default_value = true
    )]
    pub(crate) output: PathBuf,
    /// Append to an existing capture instead of refusing it; `kprof report` shows each run
    /// separately.
    #[arg(long)]
    pub(crate) append: bool,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}

/// Workload and simulated mesh.
#[derive(Args, Clone, Debug)]
pub(crate) struct WorkloadArgs {
    /// Architecture: wormhole_b0 or blackhole.
    #[arg(display_order = 2, long, default_value = "wormhole_b0")]
    pub(crate) arch: String,
    /// Worker cores per chip after harvesting: 64, 72 or 80 on Wormhole; 120, 130 or 140 on
    /// Blackhole. Default: 64 or 140.
    #[arg(help_heading = CHIPS, long, value_name = "N")]
    pub(crate) cores: Option<u32>,
    /// Run kernels only on a grid of worker cores, counted from the upper left, such as 4x2.
    /// Default: all worker cores.
    #[arg(help_heading = CHIPS, long, value_name = "COLUMNSxROWS")]
    pub(crate) grid: Option<KernelGrid>,
    /// Chips in the mesh.
    #[arg(help_heading = CHIPS, long, value_name = "N", default_value_t = 1)]
    pub(crate) devices: u32,
    /// Simulator of the chips.
    #[arg(help_heading = CHIPS, long, value_enum, value_name = "NAME", default_value_t)]
    pub(crate) backend: Backend,
    /// Simulate without some limits, to see what they cost: dram=free, noc=free, compute=free,
    /// caches=warm, or several of them separated by commas. See docs/silicon.md.
    #[arg(help_heading = CHIPS, long, value_name = "LIMITS")]
    pub(crate) what_if: Option<LiftedLimits>,
    /// Library of ttsim for this architecture, with --backend ttsim.
    #[arg(help_heading = CHIPS, long, value_name = "FILE")]
    pub(crate) ttsim_library: Option<PathBuf>,
    /// Workload to run; an unknown name lists the known ones.
    #[arg(display_order = 1, long, value_name = "NAME", default_value = "matmul")]
    pub(crate) workload: String,
    /// Number of ops to launch, if the workload allows a choice.
    #[arg(display_order = 3, long, value_name = "N")]
    pub(crate) ops: Option<u32>,
    /// Number of replays, if the workload replays a trace.
    #[arg(help_heading = WORKLOAD, long, value_name = "N")]
    pub(crate) replays: Option<u32>,
    /// Number of programs the DRAM buffers can hold, at least 43 (32 with sum zones); smaller
    /// counts are raised. Default: the workload's own, else 1000.
    #[arg(help_heading = RECORDS, long, value_name = "N")]
    pub(crate) op_support_count: Option<u32>,
    /// Also record sum zones.
    #[arg(help_heading = RECORDS, long)]
    pub(crate) enable_sum_profiling: bool,
    /// Collect several launches in L1 before a push. Not with sum zones or --waits.
    #[arg(help_heading = RECORDS, long, conflicts_with_all = ["enable_sum_profiling", "device_trace_profiler"])]
    pub(crate) enable_accumulate_profiling: bool,
    /// Record only replays of traces: one zone per replay and core, around the whole replay.
    #[arg(help_heading = RECORDS, long)]
    pub(crate) device_trace_profiler: bool,
    /// Also record the dispatch cores: the last row of worker cores, or Ethernet cores.
    #[arg(
        help_heading = RECORDS,
        long,
        value_enum,
        value_name = "KIND",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "worker",
        conflicts_with_all = ["device_trace_profiler", "enable_accumulate_profiling"]
    )]
    pub(crate) profile_dispatch_cores: Option<DispatchCoreKind>,
    /// Record allocations of L1 and DRAM by the host.
    #[arg(help_heading = RECORDS, long)]
    pub(crate) device_memory_profiler: bool,
    /// Record NoC events and write noc_trace files next to the log, or to
    /// TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH. The kernels of the workloads matmul
    /// and pipeline move tiles over the NoC only with this option.
    #[arg(help_heading = RECORDS, long)]
    pub(crate) collect_noc_traces: bool,
    /// Debug dump: a core whose DRAM buffer is full waits until the host has read the buffer, so no
    /// record is dropped unless the host needs more than a second. NoC events include addresses.
    /// With --collect-noc-traces, --read-every is 500ms and --op-support-count is 500 by default.
    #[arg(
        help_heading = RECORDS,
        long,
        conflicts_with_all = NO_LIVE_READS,
        conflicts_with = "kernel"
    )]
    pub(crate) noc_debug_dump: bool,
    /// Stream records: each RISC writes them into a ring that the host drains while kernels run.
    /// POLICY determines what a RISC does when its ring is full: block=CYCLES (wait for the host
    /// for at most this time), drop, overwrite, or sample=N (keep one of N chunks). CYCLES and N are
    /// powers of two. The default, block=16777216, loses nothing while the host reads; each wait is
    /// a zone, and the summary says what the waits cost. The host reads every --read-every (default
    /// 1ms).
    #[arg(
        help_heading = RECORDS,
        long,
        value_name = "POLICY",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_STREAM_POLICY,
        value_parser = stream_policy,
        conflicts_with_all = NO_LIVE_READS,
        conflicts_with = "noc_debug_dump"
    )]
    pub(crate) stream: Option<Policy>,
    /// Number of cores of each chip that gather streamed records over the NoC while kernels run.
    /// These cores run no kernels themselves. The host then reads DRAM instead of rings.
    #[arg(
        help_heading = RECORDS,
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        requires = "stream"
    )]
    pub(crate) relays: Option<u32>,
    /// Memory to which the cores of --relays write the gathered records: the chip's DRAM or, over
    /// PCIe, the host's memory.
    #[arg(
        help_heading = RECORDS,
        long,
        value_enum,
        value_name = "MEMORY",
        default_value_t,
        requires = "relays"
    )]
    pub(crate) relay_sink: RelayMemory,
    /// Groups of hardware counters to read in each launch: fpu, pack, unpack, instrn, l1_0 to l1_5,
    /// or all. Groups that one run cannot read together are read in several runs, and their
    /// counters are combined.
    #[arg(
        help_heading = RECORDS,
        long,
        value_name = "GROUPS",
        value_delimiter = ',',
        value_parser = parse_choice
    )]
    pub(crate) profiler_capture_perf_counters: Vec<CounterChoice>,
    /// Seed of the simulator's random numbers.
    #[arg(help_heading = CHIPS, long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Sizes and speeds of --workload pipeline, such as `reader=1200,compute=1000`. Cycles per
    /// tile: reader, unpack, compute, pack, writer. Tiles: tiles (per core), input and output
    /// (capacity of the buffers), ahead (lead of the reader over the writer). Percentages: barrier,
    /// straggler, jitter. Groups: group (number of cores that share one reader), unicast=1 (the
    /// reader signals the cores of its group one by one).
    #[arg(help_heading = WORKLOAD, long, value_name = "SHAPE")]
    pub(crate) pipeline: Option<PipelineShape>,
    /// Which waits for circular buffers, semaphores and NoC barriers are recorded. Your own kernels
    /// record those that they were compiled to record.
    #[arg(help_heading = RECORDS, long, value_enum, value_name = "RECORDS", default_value_t)]
    pub(crate) waits: Waits,
    /// Count instructions and cycles by line of source, and write the table `lines` next to the log
    /// or capture; `kprof lines` shows it. `cores` keeps the rows of each core apart.
    #[arg(
        help_heading = RECORDS,
        long,
        value_enum,
        value_name = "ROWS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "sums"
    )]
    pub(crate) lines: Option<LinesOf>,
    /// Also read the profiler while launches run. The value is the simulated time to wait before
    /// each read, such as 50us, 2ms or 1s. A read also takes time, about 1 ms for a chip. Default:
    /// read between the phases of a workload.
    #[arg(help_heading = RECORDS, long, value_name = "DURATION", value_parser = duration_ns)]
    pub(crate) read_every: Option<u64>,
    /// Number of simulator threads, which does not affect results. Default: one per processor.
    #[arg(help_heading = CHIPS, long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) view: TracyViewArgs,
    #[command(flatten)]
    pub(crate) own: OwnKernelArgs,
}

/// The user's own kernels, in place of a workload: see docs/kernels.md.
#[derive(Args, Clone, Debug)]
pub(crate) struct OwnKernelArgs {
    /// ELF file of a kernel for BRISC, linked with brisc.ld of `kprof sdk`. --ops sets the number
    /// of launches; default: 1.
    #[arg(help_heading = OWN_KERNELS, long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel: Option<PathBuf>,
    /// ELF file of a kernel for NCRISC.
    #[arg(help_heading = OWN_KERNELS, long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel_ncrisc: Option<PathBuf>,
    /// ELF file of a kernel for TRISC 0.
    #[arg(help_heading = OWN_KERNELS, long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel_trisc0: Option<PathBuf>,
    /// ELF file of a kernel for TRISC 1.
    #[arg(help_heading = OWN_KERNELS, long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel_trisc1: Option<PathBuf>,
    /// ELF file of a kernel for TRISC 2.
    #[arg(help_heading = OWN_KERNELS, long, value_name = "FILE", conflicts_with = "workload")]
    pub(crate) kernel_trisc2: Option<PathBuf>,
    /// Runtime arguments of every launch: 32-bit words, in decimal or, with 0x, in hexadecimal.
    #[arg(help_heading = OWN_KERNELS, long, value_name = "LIST", value_delimiter = ',', value_parser = word)]
    pub(crate) kernel_args: Vec<u32>,
    /// Firmware for the Tensix cores instead of kprof's own: a folder with brisc/brisc.elf and so
    /// on, as tt-metal builds it. Kernels are linked against this firmware.
    #[arg(help_heading = OWN_KERNELS, long, value_name = "DIR")]
    pub(crate) firmware: Option<PathBuf>,
    /// Names of zones that --firmware and its kernels record: the folder of TT-Metal's logs, or a
    /// file with the messages of the compiler, such as zone_src_locations.log. Default: .logs in
    /// TT_METAL_PROFILER_DIR, or else in generated/profiler of TT_METAL_HOME or of the current
    /// folder, if it exists.
    #[arg(help_heading = OWN_KERNELS, long, value_name = "PATH", requires = "firmware")]
    pub(crate) names: Option<PathBuf>,
    /// Number of cycles after which a launch is stopped. Default: 100 million.
    #[arg(help_heading = OWN_KERNELS, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) cycle_limit: Option<u64>,
}

impl OwnKernelArgs {
    /// Returns the kernel file of each processor: BRISC, NCRISC, TRISC 0, TRISC 1, TRISC 2.
    pub(crate) fn files(&self) -> [Option<&PathBuf>; 5] {
        let [kernel, ncrisc] = [&self.kernel, &self.kernel_ncrisc];
        [kernel, ncrisc, &self.kernel_trisc0, &self.kernel_trisc1, &self.kernel_trisc2]
            .map(Option::as_ref)
    }

    /// Returns true if the user gave a kernel file for at least one processor.
    pub(crate) fn has_files(&self) -> bool {
        self.files().iter().any(Option::is_some)
    }
}

/// Parses a 32-bit word in decimal or, with the prefix `0x`, in hexadecimal.
fn word(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|error| format!("expected a 32-bit word: {error}"))
}

/// Default policy of a streaming RISC: it waits for at most 2^24 cycles.
pub(crate) const DEFAULT_STREAM_POLICY: &str = "block=16777216";

/// Default time between two reads of the rings of streamed records, in nanoseconds.
pub(crate) const READ_PERIOD_NS: u64 = 1_000_000;

/// Parses a duration such as `50us`, of at least one nanosecond. Returns nanoseconds.
pub(crate) fn duration_ns(text: &str) -> Result<u64, String> {
    let units = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let parsed = units.into_iter().find_map(|(unit, ns)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(ns).filter(|&ns| ns > 0)
    });
    parsed.ok_or_else(|| {
        "expected a whole number with the unit ns, us, ms or s, such as 50us".to_owned()
    })
}

/// Parses the policy that a streaming RISC follows when its ring is full.
pub(crate) fn stream_policy(text: &str) -> Result<Policy, String> {
    let (name, parameter) = text.split_once('=').unwrap_or((text, ""));
    let policy = match (name, parameter) {
        ("drop", "") => Some(Policy::DropNewest),
        ("overwrite", "") => Some(Policy::OverwriteOldest),
        ("block", _) => exponent(parameter, 31).map(|cycles_log2| Policy::Block { cycles_log2 }),
        ("sample", _) => {
            exponent(parameter, 15).map(|chunks_log2| Policy::KeepOneOf { chunks_log2 })
        }
        _ => None,
    };
    policy.ok_or_else(|| {
        "expected drop, overwrite, block=CYCLES or sample=N, where CYCLES and N are powers of two, \
         such as block=1048576 or sample=8"
            .to_owned()
    })
}

/// Parses a power of two and returns the exponent. Returns `None` for any other number, and for an
/// exponent above `max`.
fn exponent(number: &str, max: u8) -> Option<u8> {
    let number: u64 = number.parse().ok()?;
    let exponent = u8::try_from(number.checked_ilog2()?).ok()?;
    (number.is_power_of_two() && exponent <= max).then_some(exponent)
}

/// Write linker scripts for your own kernels, one per processor.
///
/// A script defines all addresses that a kernel shares with the simulator's firmware, so kernels
/// are linked without other files. See docs/kernels.md.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof sdk sdk
  kprof sdk sdk --enable-sum-profiling
  kprof sdk streaming --stream
  kprof sdk sdk-waits --waits")]
pub(crate) struct SdkArgs {
    /// Folder for the scripts: wormhole_b0/brisc.ld and so on.
    #[arg(value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Write scripts for runs with --enable-sum-profiling.
    #[arg(long, conflicts_with = "stream")]
    pub(crate) enable_sum_profiling: bool,
    /// Write scripts for runs with --stream; compile the kernels with KERNEL_PROFILER_STREAM, or
    /// with the feature `stream` in Rust.
    #[arg(long)]
    pub(crate) stream: bool,
    /// Write scripts for kernels that record waits; compile the kernels with
    /// KERNEL_PROFILER_WAITS=1, or with the feature `waits` in Rust.
    #[arg(long, conflicts_with_all = ["stream", "enable_sum_profiling"])]
    pub(crate) waits: bool,
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

/// Cores that dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DispatchCoreKind {
    /// The last row of worker cores on Wormhole, the last column on Blackhole.
    Worker,
    /// Ethernet cores without a link.
    Eth,
}

/// Memory into which relay cores write the streamed records that they gather.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum RelayMemory {
    /// DRAM of the chip.
    #[default]
    Dram,
    /// The host's memory.
    Host,
}

/// Rows of the table `lines`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LinesOf {
    /// Sums over all cores.
    Sums,
    /// Rows of each core.
    Cores,
}

/// Which waits kernels record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Waits {
    /// No records.
    Off,
    /// Number and cycles of the waits that blocked, summed for each object that was waited for, and
    /// recorded at the end of the kernel.
    #[default]
    Totals,
    /// Also each wait that blocked, and each signal.
    Events,
    /// Like `events`, but single waits and signals are recorded only during 2^14 of every 2^17
    /// cycles. The totals cover all waits.
    Windows,
}
