//! The commands of kprof, one file each.

mod backend;
mod callers;
mod capture;
mod check;
mod completions;
mod dataset;
mod device_log;
pub(crate) mod diff;
pub(crate) mod explain;
mod explain_limits;
mod explain_lines;
mod export;
mod export_source;
mod info;
mod kernel_cache;
pub(crate) mod lines;
mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
mod noc;
mod ops;
mod ops_page;
pub(crate) mod perf;
pub(crate) mod programs;
pub(crate) mod read;
pub(crate) mod record;
mod report;
mod run;
mod run_buffers;
mod run_counters;
mod run_lines;
mod run_mesh;
mod run_names;
mod run_outputs;
mod run_session;
mod run_settings;
mod run_traces;
mod run_work;
mod schema;
mod sdk;
mod serve;
mod standing;
mod table_file;
#[cfg(feature = "ttsim")]
mod ttsim_child;
mod written;

use crate::{
    args::{Cli, Command},
    failure::Failure,
};
use std::process::ExitCode;

/// Runs the requested command. The exit code is 0 if the command succeeds and returns no exit code.
pub(crate) fn dispatch(cli: Cli) -> Result<ExitCode, Failure> {
    let done = match cli.command {
        None => return run::run(&cli.run),
        Some(Command::Run(args)) => return run::run(&args),
        Some(Command::Capture(args)) => return capture::run(&args),
        Some(Command::Noc(args)) => return noc::run(&args),
        Some(Command::Ops(args)) => return ops::run(&args),
        Some(Command::Check(args)) => return check::run(&args),
        Some(Command::Report(args)) => return report::run(&args),
        Some(Command::Record(args)) => return record::run(&args),
        Some(Command::Read(args)) => return read::read(&args),
        Some(Command::Attach(args)) => return read::attach(&args),
        Some(Command::Diff(args)) => return diff::run(&args),
        Some(Command::Merge(args)) => return dataset::merge(&args),
        Some(Command::Explain(args)) => return explain::run(&args),
        Some(Command::Programs(args)) => return programs::run(&args),
        Some(Command::Serve(args)) => return serve::run(&args),
        Some(Command::Sdk(args)) => sdk::run(&args),
        Some(Command::Info(args)) => info::run(&args),
        Some(Command::Lines(args)) => lines::run(&args),
        Some(Command::Memory(args)) => memory::run(&args),
        Some(Command::Schema(args)) => schema::run(&args),
        Some(Command::Export(args)) => export::run(&args),
        Some(Command::Completions(args)) => completions::run(&args),
        Some(Command::Man(args)) => man::run(&args),
        Some(Command::Perf(args)) => perf::run(&args),
        Some(Command::Compact(args)) => dataset::compact(&args),
        Some(Command::Mcp(args)) => mcp::run(&args),
        #[cfg(feature = "ttsim")]
        Some(Command::TtsimChild(args)) => ttsim_child::run(&args),
    };
    done.map(|()| ExitCode::SUCCESS)
}
