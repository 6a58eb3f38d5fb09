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
