//! Options of commands that read real chips.

use super::{ShowArgs, TracyViewArgs, duration_ns};
use clap::Args;
use std::path::PathBuf;

/// Read the device profiler of a chip once, while a program uses the chip.
///
/// The addresses of the profiler's words are taken from the debug information in the ELF files of
/// the running firmware: those given by --elf or, by default, those of the builds that environment
/// variables name. Nothing is written to the chip unless --write is given. An Ethernet core is read
/// only if its control vector can be identified. Chips that are connected only over Ethernet are
/// not read.
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

/// Read the device profiler of the chips of a running program: once or, with --stream, repeatedly.
///
/// Finds the firmware by the program's open files, Inspector, build cache and copy of TT-Metal. Ops
/// get the names in the Inspector's log if the program runs with
/// TT_METAL_INSPECTOR_LOG_RUNTIME_ENTRIES=1. A program on kprof's simulated chip must be started
/// with KPROF_CHIP_SOCKET, the path of a socket for its chip: docs/chips.md.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof attach 4711
  kprof attach 4711 --chip 0 -o now.kprof
  kprof attach --stream 4711 -o long.kprof
  kprof attach --stream --for 10s --tracy 4711
  kprof attach --where 4711
  kprof attach --elf build/firmware/brisc/brisc.elf

Exit code: as for kprof read.")]
pub(crate) struct AttachArgs {
    /// Process id of the program.
    #[arg(value_name = "PID", required_unless_present = "elf")]
    pub(crate) pid: Option<u32>,
    /// Show where each RISC stands in the launches that are open: function, file and line, whether it
    /// moves, its open zone, and what it polls. For programs on kprof's simulated chip, which
    /// advances by 4,096 cycles for it; --where was not tried on a real chip.
    #[arg(long = "where", conflicts_with_all = ["stream", "write", "output"])]
    pub(crate) stands: bool,
    #[command(flatten)]
    pub(crate) stream: StreamArgs,
    #[command(flatten)]
    pub(crate) view: TracyViewArgs,
    #[command(flatten)]
    pub(crate) chip: ChipArgs,
}

/// Repeated reads of a running program.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "While the program runs")]
pub(crate) struct StreamArgs {
    /// Read repeatedly until the program ends, the time given by --for is over, or Ctrl-C is
    /// pressed. This frees the space of the records that were read, in the rings of streamed
    /// records (docs/streaming.md) and in the lanes in DRAM. To do so, kprof writes control
    /// vectors, as with --write, and nothing else.
    #[arg(long)]
    pub(crate) stream: bool,
    /// Time from the beginning of a read to the beginning of the next read, such as 100us, 2ms or
    /// 1s. Default: 1ms. If a read takes longer, the next read begins at once.
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration_ns,
        requires = "stream"
    )]
    pub(crate) read_every: Option<u64>,
    /// Time after which the reads end, such as 10s.
    #[arg(long = "for", value_name = "DURATION", value_parser = duration_ns, requires = "stream")]
    pub(crate) limit: Option<u64>,
}

/// Chips to read, and facts about their firmware and program.
#[derive(Args, Debug)]
pub(crate) struct ChipArgs {
    /// Number of the chip, as in /dev/tenstorrent. Default: all.
    #[arg(long, value_name = "N")]
    pub(crate) chip: Option<usize>,
    /// The running firmware: brisc.elf, or the folder that contains brisc/brisc.elf.
    #[arg(long, value_name = "FILE")]
    pub(crate) elf: Option<PathBuf>,
    /// Folder of the Inspector's log, for names of ops. Default: the folder of the program's
    /// Inspector.
    #[arg(long, value_name = "DIR")]
    pub(crate) inspector: Option<PathBuf>,
    /// Folder of TT-Metal's logs, for names of zones. Default: .logs in TT_METAL_PROFILER_DIR, or
    /// else in generated/profiler of TT_METAL_HOME or of the current folder, if it exists.
    #[arg(long, value_name = "DIR")]
    pub(crate) names: Option<PathBuf>,
    /// Tell the chip which words were read, so that the chip can overwrite them. The program's own
    /// reads then lack these records.
    #[arg(long)]
    pub(crate) write: bool,
    /// Number of programs the DRAM buffers can hold, as set when the program was started.
    #[arg(long, value_name = "N")]
    pub(crate) op_support_count: Option<u32>,
    /// The program also records sum zones.
    #[arg(long)]
    pub(crate) enable_sum_profiling: bool,
    /// Capture to which every word that was read is written.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) show: ShowArgs,
}
