//! System tests: kernels on the simulator, read back by the host reader, compared with
//! what the simulator knows and with figures worked out by hand.

mod acceptance;
mod accounting;
mod clock;
mod names;
mod structure;
mod support;
mod truth;
