//! Child process that runs ttsim's library for `kprof run --backend ttsim`.

use crate::{
    args::TtsimChildArgs,
    failure::{Failure, failure},
};
use std::process::ExitCode;

/// Serves the requests of the parent process until it disconnects.
pub(crate) fn run(args: &TtsimChildArgs) -> Result<ExitCode, Failure> {
    let served = ttsim::child::serve(&args.library);
    served.map(|()| ExitCode::SUCCESS).map_err(|error| failure!("{error}"))
}
