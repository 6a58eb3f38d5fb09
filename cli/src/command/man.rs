//! `kprof man`: manual pages from the help texts.

use crate::{
    args::{Cli, ManArgs},
    failure::{Failure, make_folder},
};
use clap::CommandFactory;
use std::process::ExitCode;

/// Writes `kprof.1` and one page per command into the folder.
pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    let folder = &args.folder;
    make_folder(folder)?;
    clap_mangen::generate_to(Cli::command(), folder)
        .map_err(|error| Failure::from_file(folder, &error))?;
    Ok(ExitCode::SUCCESS)
}
