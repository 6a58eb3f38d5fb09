//! The host side of the device profiler: read, decode, pair, synchronise, analyse, export.

#![deny(unsafe_code)]

/// What the recorded cycles say: durations per op, statistics per zone, and a summary.
pub mod analysis;
pub mod anomaly;
pub mod capture;
pub mod clock;
pub mod decode;
pub mod init;
pub mod lane;
pub mod ledger;
/// Device logs (`profile_log_device.csv`): read into a readout, written from one.
pub mod log;
pub mod mesh;
pub mod names;
pub mod read;
pub mod readout;
pub mod sync;
/// Zones paired from the records of each lane.
pub mod timeline;
mod whole_file;
pub mod zone_names;

pub use init::{InitError, ProfilerOptions, init_device_profiler};
pub use read::{
    ReadError, ReadOptions, Reader, read_device_profiler, read_device_profiler_with,
};
