//! Clock synchronisation: reads the clocks of chips and converts chip times to host times.
//!
//! The mathematics is in [`reader::clock`]. This module determines which tiles are read, when and
//! how often. It stores the samples, and combines the fits of tiles and chips into the clock of a
//! mesh.
//!
//! # Which file answers which question
//!
//! | question | item |
//! |---|---|
//! | how do I sample clocks before, while and after kernels run? | [`MeshSamples::open`] |
//! | what was measured? | [`MeshSamples`] |
//! | what time did a marker have? | [`MeshClock`] |
//! | what could not be fitted? | [`SyncProblem`] |
//! | how are samples written as TT-Metal's synchronisation file? | [`write_sync_info`] |
//!
//! # The schedule
//!
//! All tiles of a chip have the same frequency, but their counters start at different times. So one
//! slope (the frequency) is fitted for each chip, and one origin (the start time of the counter)
//! for each tile. The slope comes from one reference tile per chip, pinged in bursts. The tiles'
//! origins come from a few pings of every tile at the beginning and at the end of a run. A ping
//! reads the tile's wall clock between two readings of the host's clock. It does not launch a
//! kernel.
//!
//! # Several chips
//!
//! Pings from one host relate every chip to the host's clock and thereby to all other chips. If the
//! mesh has links, chips are also related directly. One chip is the root. Of all paths from a chip
//! to the root, the path with the smallest error bound is used. The other paths are used to check
//! this path.

mod device_info;
mod fit;
mod mesh_clock;
mod ping;
mod problem;
mod sampler;
mod samples;

pub use device_info::write_sync_info;
pub use mesh_clock::{ChipFit, ClockSource, MeshClock};
pub use ping::ping;
pub use problem::SyncProblem;
pub use samples::{LinkBurst, MeshSamples};

#[cfg(test)]
mod tests;
