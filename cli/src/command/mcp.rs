//! `kprof mcp`: answers questions of agents, over the Model Context Protocol.

use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;

#[cfg(feature = "mcp")]
mod arguments;
#[cfg(feature = "mcp")]
mod by;
#[cfg(feature = "mcp")]
mod causes;
#[cfg(feature = "mcp")]
mod changes;
#[cfg(feature = "mcp")]
mod counters;
#[cfg(feature = "mcp")]
mod lines;
#[cfg(feature = "mcp")]
mod loaded;
#[cfg(feature = "mcp")]
mod losses;
#[cfg(feature = "mcp")]
mod memory;
#[cfg(feature = "mcp")]
mod noc;
#[cfg(feature = "mcp")]
mod ops;
#[cfg(feature = "mcp")]
mod path;
#[cfg(feature = "mcp")]
mod programs;
#[cfg(feature = "mcp")]
mod provenance;
#[cfg(feature = "mcp")]
mod root;
#[cfg(feature = "mcp")]
mod server;
#[cfg(feature = "mcp")]
mod session;
#[cfg(feature = "mcp")]
mod table;
#[cfg(feature = "mcp")]
mod zones;

/// Answer an agent's questions about recordings, over the Model Context Protocol on standard input
/// and output.
///
/// Tools: load, recordings, ops, by, zones, noc, counters, lines, memory, programs, explain,
/// critical_path, losses, provenance, diff, more. Each answer is at most 4 kB of JSON, reports losses, and has a handle for
/// further rows. Files are only read. See docs/mcp.md.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  kprof mcp
  kprof mcp generated/profiler
  kprof mcp --root /data/recordings

The agent's client starts this command. Exit code: 0 after the client has disconnected; 2 if INPUT
cannot be used or no client connected.")]
pub(crate) struct McpArgs {
    /// Recording to load before the first question: device log, capture, folder with tt-metal's
    /// logs, or ops CSV.
    #[arg(value_name = "INPUT")]
    input: Option<PathBuf>,
    /// Folder that tools may read. Paths outside of it are refused, even through links.
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
}

/// Serves one client until it closes standard input.
pub(crate) fn run(args: &McpArgs) -> Result<(), Failure> {
    #[cfg(feature = "mcp")]
    return server::run(args.input.as_deref(), &args.root);
    #[cfg(not(feature = "mcp"))]
    Err(missing(args.input.as_ref(), &args.root))
}

#[cfg(not(feature = "mcp"))]
fn missing(_: Option<&PathBuf>, _: &std::path::Path) -> Failure {
    crate::failure::failure!(
        "this kprof was built without the Model Context Protocol; build it with `cargo build -p \
         kprof --features mcp`"
    )
}
