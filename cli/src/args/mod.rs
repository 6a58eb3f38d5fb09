//! Options and help text, one struct per command.

mod chip;
mod counters;
mod run;
mod show;
#[cfg(test)]
mod tests;
mod tracy_view;
mod write;

use crate::command::{
    diff::DiffArgs, explain::ExplainArgs, lines::LinesArgs, mcp::McpArgs, memory::MemoryArgs,
    perf::PerfArgs, programs::ProgramsArgs, record::RecordArgs,
};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

pub(crate) use chip::{AttachArgs, ChipArgs, ReadArgs, StreamArgs};
pub(crate) use counters::{CounterChoice, parse_choice};
pub(crate) use run::{
    Backend, CaptureArgs, DispatchCoreKind, LinesOf, RelayMemory, RunArgs, SdkArgs, Waits,
    WorkloadArgs,
};
pub(crate) use run::{DEFAULT_STREAM_POLICY, READ_PERIOD_NS, duration_ns, stream_policy};
pub(crate) use show::{
    CheckArgs, InfoArgs, NocArgs, OpOrder, ReportArgs, SchemaArgs, ShowArgs, SqlEngine,
};
pub(crate) use tracy_view::TracyViewArgs;
pub(crate) use write::{CompactArgs, ExportArgs, ExportTarget, MergeArgs, OpsArgs, ServeArgs};

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
    // Look at recordings.
    Report(ReportArgs),
    Explain(ExplainArgs),
    Perf(PerfArgs),
    Diff(DiffArgs),
    Lines(LinesArgs),
    Memory(MemoryArgs),
    Programs(ProgramsArgs),
    Noc(NocArgs),
    Info(InfoArgs),
    Check(CheckArgs),
    Schema(SchemaArgs),
    Mcp(McpArgs),
    // Record programs on chips.
    Record(RecordArgs),
    Read(ReadArgs),
    Attach(AttachArgs),
    // Simulate chips.
    Run(RunArgs),
    Capture(CaptureArgs),
    Sdk(SdkArgs),
    // Exchange recordings with other programs.
    Export(ExportArgs),
    Ops(OpsArgs),
    Merge(MergeArgs),
    Compact(CompactArgs),
    Serve(ServeArgs),
    // Set up kprof itself.
    Completions(CompletionsArgs),
    Man(ManArgs),
    /// Run the library of Tenstorrent's simulator on behalf of the parent process.
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
