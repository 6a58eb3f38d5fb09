//! The two calls that a back end has to offer.

/// A pair of coordinates as NoC 1 takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NocTile {
    /// Column.
    pub x: u8,
    /// Row.
    pub y: u8,
}

impl std::fmt::Display for NocTile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "({},{})", self.x, self.y)
    }
}

/// Sentence of a back end about an access that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AccessFailure(pub String);

/// Answer of a chip to an access over its NoC.
pub type NocResult = Result<(), AccessFailure>;

/// The network of one chip as a host reaches it.
///
/// There is no call that halts a processor, and none that moves data by DMA.
pub trait ChipAccess {
    /// Reads bytes behind a tile.
    ///
    /// # Errors
    /// If the chip cannot be reached.
    fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult;

    /// Writes bytes behind a tile.
    ///
    /// # Errors
    /// As [`ChipAccess::noc_read`].
    fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult;
}
