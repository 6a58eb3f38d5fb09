//! `kprof read` and `kprof attach`: reading a real chip while another program uses it.

use crate::{
    args::{AttachArgs, ReadArgs},
    failure::Failure,
};
use std::process::ExitCode;

#[cfg(feature = "chip")]
mod chip;

/// Reads chips; information about their program comes from the environment.
pub(crate) fn read(args: &ReadArgs) -> Result<ExitCode, Failure> {
    #[cfg(feature = "chip")]
    return chip::read(&args.chip);
    #[cfg(not(feature = "chip"))]
    Err(missing(&args.chip))
}

/// Reads the chips of a running program.
pub(crate) fn attach(args: &AttachArgs) -> Result<ExitCode, Failure> {
    #[cfg(feature = "chip")]
    return chip::attach(args.pid, &args.chip);
    #[cfg(not(feature = "chip"))]
    Err(missing(&args.chip))
}

#[cfg(not(feature = "chip"))]
fn missing(_: &crate::args::ChipArgs) -> Failure {
    Failure::Sentence(
        "this kprof was built without access to chips; build it with `cargo build -p kprof \
         --features chip`"
            .to_owned(),
    )
}
