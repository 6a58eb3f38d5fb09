//! Child process that runs ttsim's library for `kprof run --backend ttsim`.

use crate::{
    args::TtsimChildArgs,
    failure::{Failure, failure},
};

/// Serves the requests of the parent process until it disconnects.
pub(crate) fn run(args: &TtsimChildArgs) -> Result<(), Failure> {
    ttsim::child::serve(&args.library).map_err(|error| failure!("{error}"))
}
