//! `kprof completions`: writes completion scripts for shells.

use crate::{
    args::{Cli, CompletionsArgs},
    failure::Failure,
};
use clap::CommandFactory;
use std::{io::Write, process::ExitCode};

/// Writes the shell's script to standard output.
pub(crate) fn run(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "kprof", &mut script);
    std::io::stdout().lock().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
