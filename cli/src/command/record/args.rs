//! Options of `kprof record`.

use crate::{
    args::{TracyViewArgs, duration_ns, stream_policy},
    folders::measurements,
};
use clap::{Args, ValueEnum};
use host_reader::counters::CounterGroup;
use std::path::PathBuf;
use ttnn::simulator::Simulator;
use wire::stream::Policy;

/// Run a program and record what it does: its host zones, its chips' profile, its ops.
///
/// kprof itself is the server of the Tracy client inside the program: no capture tool is needed,
/// and every version of Tracy from 0.11 to 0.14 will do. Files go into OUT/.logs under tt-metal's
/// names, beside those that tt-metal writes there. What was recorded is kept also if the program
/// crashes or is killed.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof record -- ./build/test_matmul
  kprof record -r -n resnet -- python3 resnet.py --batch 16
  kprof record -r -p -m pytest tests/test_model.py
  kprof record -r --simulate wormhole_b0 -- python3 model.py
  kprof record -r --stream --simulate blackhole -- python3 model.py
  kprof record --collect-noc-traces --sync-host-device -- ./run_layer

Exit code: that of the program; 128 and its number for a signal. With --check-exit-code: 4 if the
program failed. 2 if the program cannot be started or a file not be written.")]
pub(crate) struct RecordArgs {
    /// Artifacts folder; logs of an earlier run in its .logs are moved to .logs.previous. Default:
    /// TT_METAL_PROFILER_DIR, else generated/profiler in TT_METAL_HOME or here.
    #[arg(
        short,
        long = "output-folder",
        value_name = "OUT",
        default_value_os_t = measurements(),
        hide_default_value = true
    )]
    pub(crate) output: PathBuf,
    /// Write the ops report afterwards, as `kprof ops OUT` does.
    #[arg(short, long)]
    pub(crate) report: bool,
    /// Name of the report's folder, also part of its file names.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) name_append: Option<String>,
    /// Say more about the recording.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Python: record only what `Profiler().enable()` encloses.
    #[arg(short, long)]
    pub(crate) partial: bool,
    /// Python: record lines, too; with -p.
    #[arg(short, long, requires = "partial")]
    pub(crate) lines: bool,
    /// The program is a Python module.
    #[arg(short, long)]
    pub(crate) module: bool,
    /// Port of the Tracy client. Default: any that the program and its children take, so that
    /// several processes are recorded.
    #[arg(short = 't', long, value_name = "PORT")]
    pub(crate) port: Option<u16>,
    /// Exit with code 4 if the program fails.
    #[arg(long)]
    pub(crate) check_exit_code: bool,
    /// Run kernels unprofiled that do not compile with kprof's header.
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// Records of waits for circular buffers, semaphores and NoC barriers, with kprof's header.
    #[arg(long, value_enum, default_value = "off")]
    pub(crate) waits: KernelWaits,
    /// Stream records, with kprof's header and --simulate: each RISC writes them into a ring that is
    /// read while kernels run. POLICY says what a RISC does when its ring is full: drop, overwrite,
    /// block=CYCLES (it waits so long at most), or sample=N, which keeps one chunk of N. Default:
    /// block=16777216.
    #[arg(
        long,
        value_name = "POLICY",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "block=16777216",
        value_parser = stream_policy,
        conflicts_with = "profile_dispatch_cores"
    )]
    pub(crate) stream: Option<Policy>,
    /// Time from the beginning of a read of the rings to the beginning of the next one, as in 100us
    /// or 2ms. Default: 1ms.
    #[arg(long, value_name = "DURATION", value_parser = duration_ns, requires = "stream")]
    pub(crate) read_every: Option<u64>,
    #[command(flatten)]
    pub(crate) view: TracyViewArgs,
    /// Simulated chip in place of a real one: `wormhole_b0`, `blackhole`, or a library with
    /// libttsim's entry points, with `ARCH=` before its path where no soc_descriptor.yaml lies
    /// beside it.
    #[arg(long, value_name = "CHIP")]
    pub(crate) simulate: Option<Simulator>,
    /// Do not run the program, only report on the logs that exist.
    #[arg(long)]
    pub(crate) process_logs_only: bool,
    /// Functions whose host time is added up per op.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) child_functions: Vec<String>,
    /// Print one JSON object about what was recorded instead of lines.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
    #[command(flatten)]
    pub(crate) unneeded: UnneededArgs,
    /// The program and its arguments.
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required_unless_present = "process_logs_only"
    )]
    pub(crate) command: Vec<String>,
}

/// Records of waits that kernels in C++ make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelWaits {
    /// None.
    #[default]
    Off,
    /// Cycles and number of the waits that blocked, by object, at the kernel's end.
    Totals,
    /// Each wait that blocked and each signal, too.
    Events,
}

impl KernelWaits {
    /// Returns the macro definition that makes kernels record these waits.
    pub(crate) const fn define(self) -> Option<&'static str> {
        match self {
            Self::Off => None,
            Self::Totals => Some("KERNEL_PROFILER_WAITS=1"),
            Self::Events => Some("PROFILE_SYNC_EVENTS=1"),
        }
    }
}

/// Data that tt-metal records on the chips.
#[derive(Args, Debug)]
#[command(next_help_heading = "On the chips")]
pub(crate) struct DeviceArgs {
    /// Record nothing on the chips.
    #[arg(long)]
    pub(crate) no_device: bool,
    /// Number of programs that the DRAM buffers hold. Default: tt-metal's, 1000.
    #[arg(long, value_name = "N")]
    pub(crate) op_support_count: Option<u32>,
    /// Give the full description of every op, not only of its first run.
    #[arg(long)]
    pub(crate) no_op_info_cache: bool,
    /// Record dispatch cores, too.
    #[arg(long)]
    pub(crate) profile_dispatch_cores: bool,
    /// Record sum zones.
    #[arg(long)]
    pub(crate) enable_sum_profiling: bool,
    /// Accumulate over launches. Not with -r: there are no figures of single ops.
    #[arg(long, conflicts_with = "report")]
    pub(crate) enable_accumulate_profiling: bool,
    /// Relate the chips' clocks to the host's.
    #[arg(long)]
    pub(crate) sync_host_device: bool,
    /// Record only traces.
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
    /// Groups of performance counters: fpu, pack, unpack, l1_0 to l1_5, instrn, or all of those
    /// that one run can read.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = counter_group)]
    pub(crate) profiler_capture_perf_counters: Vec<u32>,
    /// Leave the analysis of tt-metal's own C++ code out.
    #[arg(long)]
    pub(crate) no_runtime_analysis: bool,
}

/// Options of tt-metal's script that have nothing to do here: they are accepted and ignored.
#[derive(Args, Debug)]
#[command(next_help_heading = "Accepted for compatibility, without effect")]
pub(crate) struct UnneededArgs {
    /// Folder of Tracy's tools: none is needed.
    #[arg(long, value_name = "DIR")]
    pub(crate) tracy_tools_folder: Option<PathBuf>,
    /// Port of the web viewer: `kprof export -o report.html` needs none.
    #[arg(long, value_name = "PORT")]
    pub(crate) web_app_port: Option<u16>,
    /// No web viewer is started anyway.
    #[arg(long)]
    pub(crate) no_web_server: bool,
    /// Analyses of tt-metal's older scripts: all are made.
    #[arg(short = 'a', long, value_name = "NAME")]
    pub(crate) device_analysis_types: Vec<String>,
}

/// Parses a group of performance counters into tt-metal's bit mask.
fn counter_group(name: &str) -> Result<u32, String> {
    if name == "all" {
        return Ok(CounterGroup::one_run().iter().fold(0, |mask, group| mask | group.bit()));
    }
    let group: Result<CounterGroup, _> = name.parse();
    group.map(CounterGroup::bit).map_err(|error| format!("{error}; or all"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_the_bits_that_tt_metal_gives_them() {
        let mask =
            |names: &str| names.split(',').map(counter_group).map(Result::unwrap).sum::<u32>();
        assert_eq!((mask("fpu"), mask("instrn"), mask("l1_5")), (1, 32, 512));
        assert_eq!((mask("all"), mask("fpu,pack,unpack,l1,instrn")), (47, 47));
        assert!(counter_group("l2").unwrap_err().contains("l1_5, found `l2`; or all"));
    }
}
