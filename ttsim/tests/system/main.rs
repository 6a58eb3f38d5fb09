//! Programs on ttsim, compared with the same programs on our own simulator.
//!
//! `KPROF_TTSIM_WH` and `KPROF_TTSIM_BH` give the paths of the libraries for a Wormhole and a
//! Blackhole. Without them, a test reports in one line that it was skipped. The libraries are on no
//! registry, so a skipped test is not a failure.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../../../tests/system/accounting.rs"]
#[allow(dead_code, reason = "the tests of the whole system need more of it")]
mod accounting;
mod cells;
mod live;
#[path = "../../../sim/tests/tt_metal/package.rs"]
mod package;
mod refusals;
mod relays;
mod scripts;
#[path = "../../../tests/system/streamed.rs"]
#[allow(dead_code, reason = "the tests of the whole system need more of it")]
mod streamed;
mod streams;
mod support;
mod tt_metal;
mod waits;
mod workloads;
