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

/// Returns the number of random cases: in a plain run, a third of the gate's number.
/// `KPROF_GATE_SIZES` requests the gate's number elsewhere.
fn case_count(of_gate: u32) -> u32 {
    let is_ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
    let is_gate = is_ci || std::env::var_os("KPROF_GATE_SIZES").is_some();
    if is_gate { of_gate } else { of_gate / 3 }
}
