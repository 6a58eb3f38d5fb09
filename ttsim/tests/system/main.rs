//! Programs on ttsim, compared with the same on our own simulator.
//!
//! `KPROF_TTSIM_WH` and `KPROF_TTSIM_BH` name the libraries of a Wormhole and of a Blackhole;
//! without them a test says in one line that it was skipped. They are on no registry, so that
//! is no failure.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[path = "../../../tests/system/accounting.rs"]
#[allow(dead_code, reason = "the tests of the whole system need more of it")]
mod accounting;
mod refusals;
mod scripts;
mod support;
mod tt_metal;
mod waits;
mod workloads;
