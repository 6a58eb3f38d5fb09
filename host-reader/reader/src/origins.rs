//! Offsets between the clocks of a chip's tiles.

use crate::{lane::LaneId, mesh::Noc0Coord, readout::Readout};
use std::collections::BTreeMap;

/// How far each tile's counter is ahead of its chip's reference, for cross-core figures.
///
/// Tiles of one chip tick alike but start their counters at different instants. A tile
/// that is missing counts as equal to the reference; the default, without any entry,
/// is what upstream assumes of all.
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
    /// Says that the tile's counter reads `offset_cycles` more than its chip's reference.
    pub fn set(&mut self, chip_id: u32, core: Noc0Coord, offset_cycles: i64) {
        self.offsets.insert((chip_id, core), offset_cycles);
    }

    /// How much more the tile's counter reads than its chip's reference.
    #[must_use]
    pub fn offset_cycles(&self, chip_id: u32, core: Noc0Coord) -> i64 {
        self.offsets.get(&(chip_id, core)).copied().unwrap_or(0)
    }

    /// Moves every time of a readout to the clock of its chip's reference.
    ///
    /// Logs and other formats that know one clock per chip need this; figures that are
    /// then made must not be given the origins again.
    pub fn align(&self, readout: &mut Readout) {
        for lane in readout.devices.iter_mut().flat_map(|device| &mut device.lanes) {
            let LaneId { chip_id, core, .. } = lane.id;
            for time in &mut lane.times {
                *time = self.aligned(chip_id, core, *time);
            }
        }
        readout.losses.move_windows(|lane, time| self.aligned(lane.chip_id, lane.core, time));
    }

    /// A time of the tile's counter on the clock of the chip's reference.
    #[must_use]
    pub fn aligned(&self, chip_id: u32, core: Noc0Coord, time_cycles: u64) -> u64 {
        Self::shifted(self.offset_cycles(chip_id, core), time_cycles)
    }

    /// A time of a tile whose [offset](Self::offset_cycles) has been looked up.
    #[must_use]
    pub const fn shifted(offset_cycles: i64, time_cycles: u64) -> u64 {
        if offset_cycles < 0 {
            time_cycles.saturating_add(offset_cycles.unsigned_abs())
        } else {
            time_cycles.saturating_sub(offset_cycles.unsigned_abs())
        }
    }
}
