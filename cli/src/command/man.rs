//! `kprof man`: manual pages made from the help texts.

use crate::{
    args::{Cli, ManArgs},
    failure::Failure,
};
use clap::CommandFactory;
use std::process::ExitCode;

/// Writes `kprof.1` and one page per command into the folder.
pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    let folder = &args.folder;
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder));
    written.map_err(|error| Failure::of_file(folder, &error))?;
    Ok(ExitCode::SUCCESS)
}
