//! How a mesh's clocks are sampled and fitted.

use reader::{
    clock::{Resolution, Sensitivity},
    mesh::CoreSelection,
};

/// How often which clocks are read.
///
/// ```
/// use recording::capture::sync::SyncOptions;
/// let quick = SyncOptions { spread_pings: 64, spacing_ns: 1_000_000, ..SyncOptions::default() };
/// assert_eq!(quick.tile_pings, 16);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncOptions {
    /// Cores whose clocks are tied; the first worker of each chip is its
    /// reference.
    pub cores: CoreSelection,
    /// Pings of each reference when the clocks are followed evenly.
    pub spread_pings: u32,
    /// Host time between two of them, in nanoseconds.
    pub spacing_ns: u64,
    /// Pings of each reference in a burst.
    pub burst_pings: u32,
    /// Pings of every other tile, each time the tiles are measured.
    pub tile_pings: u32,
    /// Messages over each link, each time the links are measured.
    pub link_pings: u32,
    /// How the samples are fitted.
    pub fit: FitOptions,
}

impl Default for SyncOptions {
    /// 249 pings over a second, as many as upstream takes, and 16 for each tile.
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

/// How samples are fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FitOptions {
    /// How sure a frequency step must be.
    ///
    /// The default finds steps of 5 ppm. A step that is overlooked makes bounds wrong, one
    /// too many only makes them wider.
    pub sensitivity: Sensitivity,
    /// How coarse the host's and the chips' clocks are.
    pub resolution: Resolution,
    /// Bits of the clock that a marker keeps.
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
