//! Clock synchronisation as a conversation: asking the chips, then saying what time it was.
//!
//! The mathematics is that of [`reader::clock`]. Here is which tile is asked, when and how often, what is
//! kept of the answers, and how the fits of tiles and chips become one clock of a mesh.
//!
//! # Which file answers which question
//!
//! | question | item |
//! |---|---|
//! | how do I get a clock in one call? | [`synchronise`] |
//! | how do I keep it good while kernels run? | [`ClockSampler`] |
//! | what was measured? | [`MeshSamples`] |
//! | what time did a marker have? | [`MeshClock`] |
//! | what could not be measured or fitted? | [`SyncProblem`] |
//! | how does upstream do it, and its file? | [`one_way_session`], [`SyncRecord`] |
//!
//! # The schedule
//!
//! Tiles of a chip tick alike but start at different instants, so a chip needs one slope
//! and every tile an origin. The slope comes from one reference tile per chip, pinged in
//! bursts or evenly; the origins from a few pings of every tile at open and at close. A
//! ping is a read of the tile's wall clock between two readings of the host's, nothing is
//! launched for it.
//!
//! # Several chips
//!
//! Pings of one host tie every chip to the host's clock and thereby to each other. Where
//! the mesh offers links, chips are also tied directly. Of all paths from a chip to the
//! root the one with the smallest bound is used, the others check it.

mod device_info;
mod fit;
mod mesh_clock;
mod one_way;
mod options;
mod ping;
mod problem;
mod record;
mod sampler;
mod samples;

pub use device_info::write_sync_info;
pub use mesh_clock::{ChipFit, ClockSource, LaneTimes, MeshClock, TileOffset};
pub use one_way::{OneWayError, OneWayOptions, OneWayResult, one_way_session};
pub use options::{FitOptions, SyncOptions};
pub use ping::ping;
pub use problem::SyncProblem;
pub use record::SyncRecord;
pub use sampler::{ClockSampler, synchronise};
pub use samples::{LinkBurst, MeshSamples};

#[cfg(test)]
mod tests;
