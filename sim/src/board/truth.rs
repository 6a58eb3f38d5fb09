//! Stores of harts into a range of L1, as they were made: what a profiler's records are compared with.

use crate::tile::Tile;
use std::ops::Range;

/// A store of a hart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StampedStore {
    /// NoC-0 column of the core.
    pub x: u16,
    /// NoC-0 row of the core.
    pub y: u16,
    /// Which RISC of its core.
    pub risc_index: usize,
    /// Wall clock of the tile when the store was entered, in cycles.
    pub time_cycles: u64,
    /// L1 address.
    pub address: u64,
    /// The word; of a narrower store, its low bits.
    pub value: u32,
}

/// Keeps the stores of a tile.
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
