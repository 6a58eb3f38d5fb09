//! Device logs: reading and writing of TT-Metal's `profile_log_device.csv`.
//!
//! | question | item |
//! |---|---|
//! | which files can be read? | [`read_device_log`] |
//! | how is a log read with little memory? | [`PackedLog`] |
//! | what is written, byte by byte? | [`write_device_log`] |
//!
//! Other tools write logs too, so an unreadable line is skipped, counted and reported with its
//! position. Only a file that is not a device log at all is an error. This module computes neither
//! pairs of zone starts and ends nor statistics.

#![cfg_attr(
    not(test),
    warn(
        clippy::arithmetic_side_effects,
        clippy::indexing_slicing,
        reason = "numbers come from a log"
    )
)]

mod assemble;
mod blocks;
mod chunk;
mod error;
mod fields;
mod header;
mod logical;
mod packed;
mod places;
#[cfg(test)]
#[path = "../../tests/unit/device_log/properties.rs"]
mod properties;
mod quoted;
mod read;
mod repeats;
mod row;
mod rows;
mod runs;
mod text;
mod unpack;
#[cfg(test)]
#[path = "../../tests/unit/device_log/variants.rs"]
mod variants;
mod wraps;
mod write;

pub use crate::whole_file::remove_unfinished_files;
pub use error::LogError;
pub use header::LogChip;
pub use read::{read_device_log, read_device_log_file};
pub use row::{LaunchKey, LogLine, MarkerSource};
pub use rows::walk_device_log;
pub use unpack::{PackedLanes, PackedLog};
pub use write::{LogWriteReport, write_device_log, write_device_log_file};
