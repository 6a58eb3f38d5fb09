//! A core for tests: five RISCs on one control vector, a NoC with maximum delay, and a decoder that
//! shares no code with the runtime.

#![expect(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests, as a whole")]

mod accumulated;
mod followed;
pub(crate) mod oracle;
mod properties;
mod relayed;
pub(crate) mod rig;
mod stalled;
mod streamed;
mod windows;

pub(crate) use oracle::{Kept, Run};
pub(crate) use rig::{Rig, TestRisc};

/// Returns the number of random cases: a third of `full`, unless `KPROF_FULL_SIZES` requests all.
fn case_count(full: u32) -> u32 {
    if std::env::var_os("KPROF_FULL_SIZES").is_some() { full } else { full / 3 }
}
