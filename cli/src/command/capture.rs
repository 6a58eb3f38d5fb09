//! `kprof capture`: runs a workload and stores all raw words read from the chips in a capture.

use super::run::carry_out;
use crate::{
    args::CaptureArgs,
    failure::{Failure, failure},
    recording::CaptureTarget,
};
use std::process::ExitCode;

/// Runs the workload, reads the chips into a capture and prints the tables.
pub(crate) fn run(args: &CaptureArgs) -> Result<ExitCode, Failure> {
    let CaptureArgs { workload, output, append, show } = args;
    let is_file = output.extension().is_some_and(|extension| extension == "kprof");
    let (path, logs) = match is_file {
        true => (output.clone(), None),
        false => (output.join(format!("{}.kprof", workload.workload)), Some(output.join(".logs"))),
    };
    if *append && workload.lines.is_some() {
        return Err(failure!(
            "--lines writes the table of one recording, so it cannot be used with --append; choose \
             another file with -o"
        ));
    }
    let capture = CaptureTarget { path, append: *append, is_counter_pass: false };
    carry_out(workload, logs, Some(capture), *show)
}
