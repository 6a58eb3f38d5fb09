//! Options of `kprof record`.

use crate::{
    args::{
        CounterChoice, DEFAULT_STREAM_POLICY, TracyViewArgs, Waits, duration_ns, parse_choice,
        stream_policy,
    },
    folders::measurements,
};
use clap::Args;
use sim::limits::LiftedLimits;
use std::path::PathBuf;
use ttnn::simulator::Simulator;
use wire::stream::Policy;

/// Run a program and record its host zones, its ops, and the profile of its chips.
///
/// kprof reads host data directly from the Tracy client in the program, so no capture tool is
/// needed. Clients of Tracy 0.11 to 0.14 are supported. Files go into OUT/.logs, with tt-metal's
/// names and next to tt-metal's own files. If the program crashes or is killed, the data recorded
/// until then is kept.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof record -- ./build/test_matmul
  kprof record -r -n resnet -- python3 resnet.py --batch 16
  kprof record -r -p -m pytest tests/test_model.py
  kprof record -r --simulate wormhole_b0 -- python3 model.py
  kprof record -r --stream --simulate blackhole -- python3 model.py
  kprof record --collect-noc-traces --sync-host-device -- ./run_layer

Exit code: the program's; after a signal, 128 plus the signal's number. With --check-exit-code, 4 if
the program failed. 2 if the program cannot be started or a file cannot be written.")]
pub(crate) struct RecordArgs {
    /// Artifacts folder. Logs of an earlier run are moved from its folder .logs to .logs.previous.
    /// Default: TT_METAL_PROFILER_DIR, else generated/profiler in TT_METAL_HOME or in the current
    /// folder.
    #[arg(
        short,
        long = "output-folder",
        value_name = "OUT",
        default_value_os_t = measurements(),
        hide_default_value = true
    )]
    pub(crate) output: PathBuf,
    /// Write the ops report after the run, as `kprof ops OUT` does.
    #[arg(short, long)]
    pub(crate) report: bool,
    /// Name of the report's folder, also part of its file names.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name_append: Option<String>,
    /// Also print the numbers of received Tracy items that are not stored, by kind.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Python: record only code between `enable()` and `disable()` of a `Profiler`.
    #[arg(short, long)]
    pub(crate) partial: bool,
    /// With -p: also record lines of Python. Else: count the cycles of kernels by line of their
    /// source, on the chip of --simulate; `kprof lines` shows them.
    #[arg(short, long)]
    pub(crate) lines: bool,
    /// Sample the program counters of kernels every N cycles, or up to an eighth less, by the debug
    /// daisychain of the chip of --simulate; N is 2 to 256, and `kprof lines` shows the lines.
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "256",
        value_parser = clap::value_parser!(u32).range(2..=256)
    )]
    pub(crate) sample: Option<u32>,
    /// Run COMMAND as a Python module.
    #[arg(short, long)]
    pub(crate) module: bool,
    /// Port of the Tracy client. Default: all ports that the program and its child processes open,
    /// so that all processes are recorded.
    #[arg(short = 't', long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Exit with code 4 if the program fails.
    #[arg(long)]
    pub(crate) check_exit_code: bool,
    /// Run kernels that do not compile with kprof's header, without profiling them.
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Do not keep the Python frames that call ops: files, lines, functions and modules of a model.
    #[arg(long)]
    pub(crate) no_calls: bool,
    /// Which waits for circular buffers, semaphores and NoC barriers are recorded; needs kprof's
    /// header.
    #[arg(long, value_enum, value_name = "RECORDS", default_value = "off")]
    pub(crate) waits: Waits,
    /// Stream records: each RISC writes them into a ring that is read while kernels run. Needs a
    /// ttnn from pip, and --simulate or a host with one chip. POLICY determines what a RISC does
    /// when its ring is full: drop, overwrite, block=CYCLES (wait for at most this time), or
    /// sample=N (keep one of N chunks). CYCLES and N are powers of two. Default: block=16777216.
    #[arg(
        long,
        value_name = "POLICY",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = DEFAULT_STREAM_POLICY,
        value_parser = stream_policy,
        conflicts_with = "profile_dispatch_cores"
    )]
    pub(crate) stream: Option<Policy>,
    /// Time from the beginning of a read of the rings to the beginning of the next read, such as
    /// 100us or 2ms. Default: 1ms.
    #[arg(long, value_name = "DURATION", value_parser = duration_ns, requires = "stream")]
    pub(crate) read_every: Option<u64>,
    #[command(flatten)]
    pub(crate) view: TracyViewArgs,
    /// Simulated chip to use instead of a real one: `wormhole_b0`, `blackhole`, one with the worker
    /// cores of a card as `wormhole_b0:64` (64, 72 or 80; `blackhole:120` to 140), one with the DRAM
    /// channels of a p100, too, as `blackhole:120:7`, two chips as
    /// `wormhole_b0*2`, or the path of a library with libttsim's entry points. If the library's folder has no soc_descriptor.yaml,
    /// put the architecture before the path, as in `wormhole_b0=libttsim.so`.
    #[arg(long, value_name = "CHIP")]
    pub(crate) simulate: Option<Simulator>,
    /// Simulate without some limits, to see what they cost: dram=free, noc=free, compute=free,
    /// caches=warm, or several of them separated by commas; with kprof's own chip of --simulate. See
    /// docs/silicon.md.
    #[arg(long, value_name = "LIMITS", requires = "simulate")]
    pub(crate) what_if: Option<LiftedLimits>,
    /// Do not run a program; report on the existing logs.
    #[arg(long)]
    pub(crate) process_logs_only: bool,
    /// Additional functions whose host time is summed for each op.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) child_functions: Vec<String>,
    /// Describe the recording as one JSON object, instead of as lines of text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    #[command(flatten)]
    pub(crate) unneeded: UnneededArgs,
    /// Print the options of this command for `python -m kprof`, one per line: short and long name,
    /// and whether a value is required.
    #[arg(long, hide = true)]
    pub(crate) list_options: bool,
    /// The program and its arguments.
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present_any = ["process_logs_only", "list_options"]
    )]
    pub(crate) command: Vec<String>,
}

impl RecordArgs {
    /// Returns true if lines of Python are recorded.
    pub(super) const fn python_lines(&self) -> bool {
        self.lines && self.partial
    }

    /// Returns true if cycles are counted by line of kernels.
    pub(super) const fn kernel_lines(&self) -> bool {
        self.lines && !self.partial
    }
}

/// Data that tt-metal records on the chips.
#[derive(Args, Debug)]
#[command(next_help_heading = "Records of the chips")]
pub(crate) struct DeviceArgs {
    /// Record nothing on the chips.
    #[arg(long)]
    pub(crate) no_device: bool,
    /// Number of programs the DRAM buffers can hold. Default: tt-metal's, 1000.
    #[arg(long, value_name = "N")]
    pub(crate) op_support_count: Option<u32>,
    /// Record the full description of an op at each of its launches, not only at the first launch.
    #[arg(long)]
    pub(crate) no_op_info_cache: bool,
    /// Also record dispatch cores.
    #[arg(long)]
    pub(crate) profile_dispatch_cores: bool,
    /// Also record sum zones.
    #[arg(long)]
    pub(crate) enable_sum_profiling: bool,
    /// Collect several launches in L1 before a push. Not with -r, since such a push has
    /// no figures of single ops.
    #[arg(long, conflicts_with = "report")]
    pub(crate) enable_accumulate_profiling: bool,
    /// Synchronise the chips' clocks with the host's clock.
    #[arg(long)]
    pub(crate) sync_host_device: bool,
    /// Record only replays of traces: one zone per replay and core, around the whole replay.
    #[arg(long)]
    pub(crate) device_trace_profiler: bool,
    /// Record allocations of L1 and DRAM.
    #[arg(long)]
    pub(crate) device_memory_profiler: bool,
    /// Read the chips' buffers while programs run.
    #[arg(
        long,
        conflicts_with_all = ["device_trace_profiler", "profile_dispatch_cores"]
    )]
    pub(crate) dump_device_data_mid_run: bool,
    /// Write no device log.
    #[arg(long)]
    pub(crate) disable_device_data_dump_to_files: bool,
    /// Do not send device zones to Tracy.
    #[arg(long)]
    pub(crate) disable_device_data_push_to_tracy: bool,
    /// Record NoC events and write noc_trace files.
    #[arg(long)]
    pub(crate) collect_noc_traces: bool,
    /// Groups of hardware counters: fpu, pack, unpack, instrn, l1_0 to l1_5, l1_client=N for the
    /// event N of a Quasar's L1 clients, or all groups that one run can read together.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = parse_choice)]
    pub(crate) profiler_capture_perf_counters: Vec<CounterChoice>,
    /// Allow groups of hardware counters that one run cannot read together. kprof does not repeat
    /// the program, so it refuses such groups, and names the runs that read them.
    #[arg(long)]
    pub(crate) perf_counter_multipass: bool,
    /// Switch off the analysis by tt-metal's own C++ code.
    #[arg(long)]
    pub(crate) no_runtime_analysis: bool,
}

/// Options of tt-metal's script that have no effect in kprof: they are accepted and ignored.
#[derive(Args, Debug)]
#[command(next_help_heading = "Accepted for compatibility, without effect")]
pub(crate) struct UnneededArgs {
    /// Folder of Tracy's tools, which are not needed.
    #[arg(long, value_name = "DIR")]
    pub(crate) tracy_tools_folder: Option<PathBuf>,
    /// Port of the web viewer; `kprof export -o report.html` writes a page instead.
    #[arg(long, value_name = "PORT")]
    pub(crate) web_app_port: Option<u16>,
    /// Start no capture tool; kprof reads the program's Tracy client itself.
    #[arg(long)]
    pub(crate) no_capture_tool: bool,
    /// Start no web viewer; kprof never starts one.
    #[arg(long)]
    pub(crate) no_web_server: bool,
    /// Analyses of tt-metal's older scripts to run; kprof always runs all of them.
    #[arg(short = 'a', long, value_name = "NAME")]
    pub(crate) device_analysis_types: Vec<String>,
}
