//! `kprof completions`: writes completion scripts for shells.

use crate::{
    args::{Cli, CompletionsArgs},
    failure::Failure,
};
use clap::CommandFactory;
use std::io::Write;

/// Writes the shell's script to standard output.
pub(crate) fn run(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kprof", &mut script);
    Ok(std::io::stdout().lock().write_all(&script)?)
}
