//! `kprof compact`: merges small files of a dataset into few large files.

use super::location::{delta_logs, location};
use crate::{
    args::CompactArgs,
    command::written::cancel_on_signals,
    failure::{Failure, OrFail},
    numbers::{counted, grouped},
    output::print,
    progress::Busy,
};
use host_reader::export::compact;
use std::io::Write;

/// Compacts the dataset, and prints the numbers of files and bytes before and after.
pub(crate) fn run(args: &CompactArgs) -> Result<(), Failure> {
    let busy = Busy::new(format!("compacting {}", args.dataset.display()));
    let logs = delta_logs(args.delta_log);
    let counts = compact(&location(&args.dataset)?, logs, &cancel_on_signals()?);
    drop(busy);
    let counts = counts.or_fail()?;
    print(args.json.then_some(&counts), |out| {
        writeln!(
            out,
            "{}: {} (before: {}), {} bytes (before: {})",
            args.dataset.display(),
            counted(counts.files, "file", "files"),
            grouped(counts.files_before),
            grouped(counts.bytes),
            grouped(counts.bytes_before),
        )
    })
}
