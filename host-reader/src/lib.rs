//! The host side of the device profiler: read, decode, pair, synchronise, analyse, export.
//!
//! # Map
//!
//! | question | module |
//! |---|---|
//! | How is a mesh prepared, and read? | [`init`], [`read`] |
//! | What can a host do to a chip? | [`mesh`] |
//! | What did a read give? | [`readout`], [`lane`], [`ledger`], [`anomaly`] |
//! | How do words become records? | [`decode`] |
//! | Which zone is id 30530? | [`names`], [`zone_names`] |
//! | When did a zone begin and end, and in which other? | [`timeline`] |
//! | How long did ops and zones take? | [`analysis`] |
//! | And without the probes themselves? | [`probe_cost`] |
//! | How is it reported as tt-metal does? | [`report`] |
//! | What do ops cost, and what bounds them? | [`perf`] |
//! | What became slower or faster? | [`diff`] |
//! | What did the host do meanwhile? | [`host`] |
//! | What time was it on the host? | [`sync`], [`clock`] |
//! | How is `profile_log_device.csv` read and written? | [`log`] |
//! | How does every viewer get its file? | [`export`] |
//! | How is a read kept, word for word? | [`capture`] |
//!
//! The first example to run stands at [`read_device_profiler`].

#![deny(unsafe_code)]

pub mod analysis;
pub mod anomaly;
pub mod capture;
pub mod clock;
pub mod decode;
pub mod diff;
pub mod export;
pub mod host;
pub mod init;
pub mod lane;
pub mod ledger;
pub mod log;
pub mod mesh;
pub mod names;
pub mod perf;
pub mod probe_cost;
pub mod read;
pub mod readout;
pub mod report;
pub mod sync;
pub mod timeline;
mod whole_file;
pub mod zone_names;

pub use init::{InitError, ProfilerOptions, init_device_profiler};
pub use read::{ReadError, ReadOptions, Reader, read_device_profiler, read_device_profiler_with};
