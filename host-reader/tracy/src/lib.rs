//! A server for Tracy clients: records the data that an instrumented program sends.
//!
//! TT-Metal's hosts are instrumented with Tracy. [`TracyClient::connect`] determines the program's
//! protocol version. [`TracyClient::record`] records until the program exits or is killed, or until
//! the recording is stopped. In every case, the result is a [`TracyRecording`], which contains the
//! reason why the recording ended, and counts of missing data.
//!
//! | question | item |
//! |---|---|
//! | how is a program recorded? | [`TracyClient`] |
//! | what was recorded? | [`TracyRecording`] |
//! | how is a recording added to a capture? | [`TracyRecording::to_host_recording`] |
//! | how is a recording written for TT-Metal's scripts? | [`write_op_times`], [`write_op_messages`] |
//!
//! ```no_run
//! use std::sync::atomic::AtomicBool;
//! use tracy::{RecordOptions, TracyClient};
//! let client = TracyClient::connect("127.0.0.1:8086".parse()?)?;
//! let stop = AtomicBool::new(false);
//! let recording = client.record(&RecordOptions::default(), &stop);
//! println!("{} zones of {}", recording.zone_count(), recording.program.name);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Compatibility
//! This crate supports protocols 66 to 82 of Tracy, and 66, 76, 79 and 83 of Tenstorrent's fork.
//! Tracy's `server/TracyWorker.cpp` defines the meaning of each item.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from another program"
    )
)]

mod callstacks;
mod client;
mod csv_out;
mod devices;
mod error;
mod fields;
mod frames;
mod host;
#[cfg(test)]
mod hostile;
mod item;
mod locations;
mod memory;
mod named;
pub mod protocol;
mod queries;
mod recording;
mod session;
mod texts;
mod threads;
mod times;

pub use client::{RecordOptions, TracyClient};
pub use csv_out::{write_op_messages, write_op_times};
pub use error::TracyError;
pub use recording::{
    Damage, DeviceZone, FrameSeries, ProgramFacts, RecordingEnd, StackFunction, TracyCrash,
    TracyDevice, TracyLocation, TracyMessage, TracyPlot, TracyRecording, TracyThread, TracyZone,
    ZoneExtra,
};
