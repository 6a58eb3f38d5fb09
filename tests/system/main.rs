//! System tests: kernels run on the simulator and are read by the host reader. The results are
//! compared with the simulator's truth and with figures calculated by hand.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod acceptance;
mod accounting;
mod accumulate;
mod clock;
mod counters;
mod crate_graph;
mod debug_dump;
mod dispatch;
mod drained_run;
mod draining;
mod failures;
mod figures;
mod fuzz;
mod hangs;
mod kprof_format;
mod modes;
mod module_circles;
mod names;
mod noc;
mod pace;
mod relays;
mod rings;
mod streamed;
mod streaming;
mod structure;
mod support;
mod truth;
mod unknown;
mod waits;
mod wording;
