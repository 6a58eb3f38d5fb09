//! The host side of the device profiler: read, decode, pair, synchronise, analyse, export.

#![forbid(unsafe_code)]

pub mod anomaly;
pub mod lane;
pub mod ledger;
pub mod mesh;
pub mod names;
pub mod readout;
