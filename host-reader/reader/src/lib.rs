//! Reads and decodes the records of the device profiler.
//!
//! # Map
//!
//! | question | module |
//! |---|---|
//! | How is a mesh prepared, and read? | [`init`], [`read`] |
//! | What can a host do to a chip? | [`mesh`] |
//! | What does a read return? | [`readout`], [`lane`], [`ledger`], [`anomaly`] |
//! | How do words become records? | [`decode`]; for streamed lanes, [`stream`] |
//! | Which zone is id 30530? | [`names`] |
//! | How does each variant of an enum get a label? | [`labelled!`] |
//! | Is a zone a firmware zone, a kernel zone or a user's zone? | [`role`] |
//! | How are lanes processed one at a time, to save memory? | `from_lanes` |
//! | When did a zone begin and end, and in which other zone? | [`timeline`] |
//! | To which replay of which trace does a run belong? | [`traces`] |
//! | How far apart are the clocks of a chip's tiles? | [`origins`] |
//! | How many cycles does a probe itself take? | [`probe_cost`] |
//!
//! Start with the example in the documentation of [`read_device_profiler`].

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from outside"
    )
)]

pub mod anomaly;
pub mod architecture;
pub mod clock;
pub mod decode;
#[cfg(feature = "firmware-elf")]
pub mod firmware_elf;
#[cfg(feature = "packed-bytes")]
pub mod from_lanes;
pub mod init;
pub mod lane;
pub mod ledger;
pub mod mesh;
pub mod names;
pub mod origins;
#[cfg(feature = "packed-bytes")]
pub mod packed_bytes;
#[cfg(feature = "packed-bytes")]
pub mod packed_items;
pub mod packed_numbers;
pub mod probe_cost;
pub mod read;
pub mod readout;
pub mod recorded_options;
pub mod role;
pub mod simulated_time;
pub mod stream;
pub mod timeline;
pub mod traces;
pub mod watermark;

pub use init::{InitError, ProfilerOptions, init_device_profiler};
pub use read::{ReadError, ReadOptions, Reader, read_device_profiler, read_device_profiler_with};
pub use wire::labelled;
