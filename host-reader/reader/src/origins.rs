//! Offsets between the clocks of the tiles of a chip.

use crate::{lane::LaneId, mesh::Noc0Coord, readout::Readout};
use std::collections::BTreeMap;

/// Offset of each tile's counter from its chip's reference counter, for cross-core metrics.
///
/// The tiles of a chip have the same frequency but start their counters at different instants. A
/// tile without an entry has offset 0. The default has no entries: like TT-Metal, it assumes that
/// all counters started together.
///
/// ```
/// use reader::{mesh::Noc0Coord, origins::TileOrigins};
/// let tile = Noc0Coord { x: 11, y: 2 };
/// let mut origins = TileOrigins::default();
/// origins.set(0, tile, 1_000);
/// assert_eq!(origins.aligned(0, tile, 1_234), 234);
/// assert_eq!(origins.aligned(1, tile, 1_234), 1_234);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TileOrigins {
    offsets: BTreeMap<(u32, Noc0Coord), i64>,
}

impl TileOrigins {
    /// Sets the offset of the tile's counter: the tile's counter minus the chip's reference
    /// counter.
    pub fn set(&mut self, chip_id: u32, core: Noc0Coord, offset_cycles: i64) {
        self.offsets.insert((chip_id, core), offset_cycles);
    }

    /// Returns the offset of the tile's counter: the tile's counter minus the chip's reference
    /// counter.
    #[must_use]
    pub fn offset_cycles(&self, chip_id: u32, core: Noc0Coord) -> i64 {
        self.offsets.get(&(chip_id, core)).copied().unwrap_or(0)
    }

    /// Converts all times of a readout to the reference clock of their chip.
    ///
    /// Use this method for logs and other formats with one clock per chip. Call it only once for a
    /// readout.
    pub fn align(&self, readout: &mut Readout) {
        for lane in readout.devices.iter_mut().flat_map(|device| &mut device.lanes) {
            let LaneId { chip_id, core, .. } = lane.id;
            for time in &mut lane.times {
                *time = self.aligned(chip_id, core, *time);
            }
        }
        readout.losses.move_windows(|lane, time| self.aligned(lane.chip_id, lane.core, time));
    }

    /// Converts a time of the tile's counter to the reference clock of its chip.
    #[must_use]
    pub fn aligned(&self, chip_id: u32, core: Noc0Coord, time_cycles: u64) -> u64 {
        Self::shifted(self.offset_cycles(chip_id, core), time_cycles)
    }

    /// Converts a time of a tile's counter to the reference clock, given the tile's
    /// [offset](Self::offset_cycles).
    #[must_use]
    pub const fn shifted(offset_cycles: i64, time_cycles: u64) -> u64 {
        if offset_cycles < 0 {
            time_cycles.saturating_add(offset_cycles.unsigned_abs())
        } else {
            time_cycles.saturating_sub(offset_cycles.unsigned_abs())
        }
    }
}
