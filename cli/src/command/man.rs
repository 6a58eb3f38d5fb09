//! `kprof man`: generates manual pages from the help texts.

use crate::{
    args::{Cli, ManArgs},
    failure::{Failure, OrFail, make_folder},
};
use clap::CommandFactory;

/// Writes `kprof.1` and one page per command into the folder.
pub(crate) fn run(args: &ManArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    make_folder(folder)?;
    clap_mangen::generate_to(Cli::command(), folder).or_fail_at(folder)
}
