//! A server for Tracy's clients: it takes what an instrumented program sends.
//!
//! TT-Metal's hosts are instrumented with Tracy. [`TracyClient::connect`] finds out which version
//! the program speaks, [`TracyClient::record`] takes everything until the program ends, is killed
//! or the recording is stopped. Whatever happened, a [`TracyRecording`] comes of it, which says
//! how it ended and counts what it lacks.
//!
//! | question | open |
//! |---|---|
//! | how is a program recorded? | [`TracyClient`] |
//! | what was recorded? | [`TracyRecording`] |
//! | how does it get into a capture? | [`TracyRecording::to_host_recording`] |
//! | how does it get into TT-Metal's scripts? | [`write_op_times`], [`write_op_messages`] |
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
//! Protocols 66 to 82 of Tracy, 66, 76, 79 and 83 of Tenstorrent's fork; what each item means is in
//! Tracy's `server/TracyWorker.cpp`.

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
pub mod protocol;
mod queries;
mod recording;
mod session;
mod texts;
mod threads;
mod times;
mod topic;

pub use client::{RecordOptions, TracyClient};
pub use csv_out::{write_op_messages, write_op_times};
pub use error::TracyError;
pub use recording::{
    Damage, DeviceZone, FrameSeries, PlotFormat, ProgramFacts, RecordingEnd, StackFunction,
    TracyCrash, TracyDevice, TracyLocation, TracyMessage, TracyPlot, TracyRecording, TracyThread,
    TracyZone, ZoneExtra,
};
