//! The host side of the device profiler: read, decode, pair, synchronise, analyse, export.
//!
//! Every module re-exports a separate crate or a part of a crate. Without default features, only
//! the modules for reading are included.
//!
//! # Map
//!
//! | question | module |
//! |---|---|
//! | How is the profiler initialised on a mesh, and how are its records read? | [`init`], [`read`] |
//! | What can a host do to a chip? | [`mesh`] |
//! | What is the result of a read? | [`readout`], [`lane`], [`ledger`], [`anomaly`] |
//! | How do words become records? | [`decode`] |
//! | How are records streamed while kernels run? | [`stream`] |
//! | Which zone is id 30530? | [`names`], `zone_names` |
//! | Is a zone from firmware, a kernel, or the user? | [`role`] |
//! | When did a zone begin and end, and which zone encloses it? | [`timeline`] |
//! | Which replay of which trace did a launch belong to? | [`traces`] |
//! | How long did ops and zones take? | `analysis` |
//! | What is a column called, in which unit, and what does null mean? | `tables` |
//! | How long would ops and zones take without probes? | `probe_cost` |
//! | How is a report in tt-metal's format made? | `report` |
//! | What are the performance figures of the programs in the latest read? | `programs` |
//! | What do ops cost, and what bounds them? | `perf` |
//! | What became slower or faster between recordings? | `diff` |
//! | Why is a recording slow, and where is its time spent? | `causes` |
//! | Which cores moved how much data over the NoCs, and where to? | `noc_events` |
//! | What did the hardware counters count? | `counters` |
//! | What did L1 and DRAM hold while ops ran? | `memory`, `op_memory` |
//! | Which settings do TT-Metal's variables select? | `environment` |
//! | What did the host do during the recording? | `host` |
//! | What does a program with a Tracy client send? | `tracy` |
//! | Which host time corresponds to a device time? | `sync`, [`clock`] |
//! | How is `profile_log_device.csv` read and written? | `log` |
//! | How is a file for each viewer written? | `export` |
//! | Which files can a recording be written to? | `output` |
//! | How are the words of a read stored unchanged? | `capture` |
//! | How is an error with its causes put into one sentence? | [`sentence`] |
//!
//! Start with the example in the documentation of [`read_device_profiler`].

#![forbid(unsafe_code)]

#[cfg(feature = "environment")]
pub mod environment;
#[cfg(feature = "memory")]
pub mod op_memory;
#[cfg(feature = "outputs")]
pub mod output;
#[cfg(feature = "reports")]
pub mod programs;
pub mod sentence;

#[cfg(feature = "analysis")]
pub use ::analysis::{self, counters, noc_events, probe_cost};
#[cfg(feature = "causes")]
pub use ::causes;
#[cfg(feature = "export")]
pub use ::export;
#[cfg(feature = "host-events")]
pub use ::host_events::{
    self as host, host_frame_mark, host_message, host_plot, host_signpost, host_zone_scoped,
};
#[cfg(feature = "lines")]
pub use ::lines;
#[cfg(feature = "memory")]
pub use ::memory;
#[cfg(feature = "recording")]
pub use ::recording::{self, capture, capture::sync, device_log as log, whole_file, zone_names};
#[cfg(feature = "reports")]
pub use ::reports::{diff, perf, report};
#[cfg(feature = "tables")]
pub use ::tables;
#[cfg(feature = "tracy")]
pub use ::tracy;
pub use reader::{
    InitError, ProfilerOptions, ReadError, ReadOptions, Reader, anomaly, architecture, clock,
    decode, init, init_device_profiler, lane, ledger, mesh, names, origins, read,
    read_device_profiler, read_device_profiler_with, readout, recorded_options, role,
    simulated_time, timeline, traces, watermark,
};
#[cfg(feature = "recording")]
pub use reader::{packed_bytes, packed_items, packed_numbers};

/// Streamed lanes, which can be read while kernels run: their encoding, their records, and the
/// reads.
pub mod stream {
    pub use reader::{
        read::{Backpressure, LiveRead, LiveReader},
        stream::*,
    };
}
