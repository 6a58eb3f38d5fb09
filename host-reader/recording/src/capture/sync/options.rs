//! Options for sampling and fitting a mesh's clocks.

use reader::{
    clock::{Resolution, Sensitivity},
    mesh::CoreSelection,
};

/// Options for which clocks are read, and how often.
///
/// ```
/// use recording::capture::sync::SyncOptions;
/// let quick = SyncOptions { spread_pings: 64, spacing_ns: 1_000_000, ..SyncOptions::default() };
/// assert_eq!(quick.tile_pings, 16);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncOptions {
    /// Cores whose clocks are measured. The first worker of each chip is the reference of the chip.
    pub cores: CoreSelection,
    /// Number of pings of each reference for sampling at even intervals.
    pub spread_pings: u32,
    /// Host time between two pings at even intervals, in nanoseconds.
    pub spacing_ns: u64,
    /// Number of pings of each reference in a burst.
    pub burst_pings: u32,
    /// Number of pings of every other tile, each time the tiles are measured.
    pub tile_pings: u32,
    /// Number of messages over each link, each time the links are measured.
    pub link_pings: u32,
    /// Options for fitting the samples.
    pub fit: FitOptions,
}

impl Default for SyncOptions {
    /// Returns options for 249 pings of each reference over a second, like TT-Metal, and 16 pings
    /// of each other tile.
    fn default() -> Self {
        Self {
            cores: CoreSelection::all(),
            spread_pings: 249,
            spacing_ns: 4_000_000,
            burst_pings: 32,
            tile_pings: 16,
            link_pings: 64,
            fit: FitOptions::default(),
        }
    }
}

/// Options for fitting samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// Evidence required for a frequency step.
    ///
    /// The default detects steps of 5 ppm. A step that is missed makes bounds wrong, while a
    /// superfluous step only makes bounds wider.
    pub sensitivity: Sensitivity,
    /// Resolution of the host's and the chips' clocks.
    pub resolution: Resolution,
    /// Number of clock bits in a marker.
    pub stamp_bits: u32,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            sensitivity: Sensitivity::FloorCalibrated,
            resolution: Resolution::HOST_NANOSECONDS,
            stamp_bits: 44,
        }
    }
}
