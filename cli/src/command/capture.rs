//! `kprof capture`: a run with all raw words in a capture.

use super::{
    run::{carry_out, logs},
    run_outputs::Outputs,
};
use crate::{args::CaptureArgs, failure::Failure, recording::CaptureTarget};
use std::process::ExitCode;

/// Runs the work, reads the chips into a capture and shows the tables.
pub(crate) fn run(args: &CaptureArgs) -> Result<ExitCode, Failure> {
    let is_file = args.output.extension().is_some_and(|extension| extension == "kprof");
    let path = if is_file {
        args.output.clone()
    } else {
        args.output.join(format!("{}.kprof", args.workload.workload))
    };
    let outputs = Outputs {
        logs: (!is_file).then(|| logs(&args.output)),
        capture: Some(CaptureTarget { path, append: args.append, is_counter_pass: false }),
    };
    carry_out(&args.workload, &outputs, args.show)
}
