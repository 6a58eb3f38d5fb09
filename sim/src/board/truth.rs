//! Recording of the harts' stores to a range of L1, for comparison with a profiler's records.

use crate::tile::Tile;
use std::ops::Range;

/// A store of a hart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampedStore {
    /// NoC-0 column of the core.
    pub x: u16,
    /// NoC-0 row of the core.
    pub y: u16,
    /// Index of the RISC in its core.
    pub risc_index: usize,
    /// Wall clock of the tile when the store was issued, in cycles.
    pub time_cycles: u64,
    /// L1 address that is written.
    pub address: u64,
    /// The stored word. A store of one or two bytes sets only the low 8 or 16 bits; the other bits
    /// have no meaning.
    pub value: u32,
}

/// Records the watched stores of the harts of one tile.
#[derive(Clone, Debug, Default)]
pub(super) struct StoreWatch {
    addresses: Range<u32>,
    stores: Vec<StampedStore>,
}

impl StoreWatch {
    pub(super) fn begin(&mut self, addresses: Range<u32>) {
        self.addresses = addresses;
    }

    #[inline]
    pub(super) fn note(&mut self, tile: &Tile, risc_index: usize, store: (u64, u32), cycle: u64) {
        let (address, value) = store;
        if u32::try_from(address).is_ok_and(|address| self.addresses.contains(&address)) {
            let (x, y) = (tile.place.coord.x, tile.place.coord.y);
            let time_cycles = tile.clock.value(cycle).0;
            self.stores.push(StampedStore { x, y, risc_index, time_cycles, address, value });
        }
    }

    pub(super) fn take(&mut self) -> Vec<StampedStore> {
        std::mem::take(&mut self.stores)
    }
}
