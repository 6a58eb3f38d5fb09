//! Trait with the two calls that a back end (an interface to a chip) must implement.

/// Coordinates of a tile on NoC 1.
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

/// A back end's message about a failed access.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AccessFailure(pub String);

/// Result of an access over a chip's NoC.
pub type NocResult = Result<(), AccessFailure>;

/// Host access to the NoC of one chip.
///
/// An implementation must neither halt a processor of the chip nor move data by DMA.
pub trait ChipAccess {
    /// Reads bytes from a tile's address space.
    ///
    /// # Errors
    /// If the chip cannot be reached.
    fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult;

    /// Writes bytes to a tile's address space.
    ///
    /// # Errors
    /// The errors of [`ChipAccess::noc_read`].
    fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult;

    /// Returns where the RISCs stand in the launches that are open, as JSON.
    ///
    /// # Errors
    /// If the chip cannot be reached, or if it is none that kprof's own simulator simulates: nothing
    /// else was tried. A real chip would tell over its debug bus.
    fn standing(&self) -> Result<String, AccessFailure> {
        Err(AccessFailure(
            "expected a chip of kprof's own simulator, found another one; where the RISCs of a real \
             chip stand could be read over its debug bus, which kprof has not tried"
                .to_owned(),
        ))
    }

    /// Writes the tables that the program's environment requests, as at the end of the program, which
    /// must follow. Chips without such tables do nothing.
    ///
    /// # Errors
    /// If the chip cannot be reached.
    fn write_tables(&self) -> NocResult {
        Ok(())
    }
}

impl<A: ChipAccess + ?Sized> ChipAccess for Box<A> {
    fn noc_read(&self, noc: u8, tile: NocTile, address: u64, bytes: &mut [u8]) -> NocResult {
        (**self).noc_read(noc, tile, address, bytes)
    }

    fn noc_write(&self, noc: u8, tile: NocTile, address: u64, bytes: &[u8]) -> NocResult {
        (**self).noc_write(noc, tile, address, bytes)
    }

    fn standing(&self) -> Result<String, AccessFailure> {
        (**self).standing()
    }

    fn write_tables(&self) -> NocResult {
        (**self).write_tables()
    }
}
