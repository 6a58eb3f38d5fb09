//! The clock of a mesh: aligns the times of each chip's tiles, and converts them to host time.

use super::{
    MeshSamples, SyncProblem,
    ping::{core_of, tile_of},
};
use reader::{
    clock::{ChipTree, PiecewiseClock, SteppedFit, Tile, TileOffset, extend_cycles},
    lane::{Lane, LaneId},
    mesh::Noc0Coord,
    origins::TileOrigins,
    readout::Readout,
};
use std::collections::BTreeMap;

/// Number of clock bits in a marker.
const STAMP_BITS: u32 = 44;

/// Clock of a chip, and how it was determined.
#[derive(Clone, Debug, PartialEq)]
pub struct ChipFit {
    /// Tile that defines the chip's clock.
    pub reference: Tile,
    /// Fit of the reference tile's pings, with frequency steps and rejected pings.
    pub fit: SteppedFit,
    /// Path from the chip's clock to the host's clock.
    pub source: ClockSource,
    /// Offsets of the tiles' counters from the reference tile's counter.
    pub offsets: BTreeMap<Tile, TileOffset>,
}

/// Path from a chip's clock to the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The chip's own pings relate its clock to the host's clock.
    HostPings,
    /// The path leads over the clock of another chip, because its error bound is smaller.
    OverChip {
        /// Next chip on the path.
        parent: u32,
    },
}

/// The clock of a mesh, with the measurements from which it was determined.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshClock {
    pub(super) clocks: BTreeMap<u32, PiecewiseClock>,
    pub(super) chips: BTreeMap<u32, ChipFit>,
    pub(super) tree: Option<ChipTree>,
    pub(super) problems: Vec<SyncProblem>,
    pub(super) samples: MeshSamples,
}

impl MeshClock {
    /// Returns the clock of each chip, ascending by chip id.
    pub fn chips(&self) -> impl Iterator<Item = (u32, &ChipFit)> {
        self.chips.iter().map(|(&chip_id, fit)| (chip_id, fit))
    }

    /// Returns the paths between the chips, and the result of checking the clocks around each loop.
    ///
    /// Returns `None` unless at least two chips have a constant frequency.
    #[must_use]
    pub const fn tree(&self) -> Option<&ChipTree> {
        self.tree.as_ref()
    }

    /// Returns all problems of the measurements and the fit.
    #[must_use]
    pub fn problems(&self) -> &[SyncProblem] {
        &self.problems
    }

    /// Returns the measurements, for example to store them in a capture or to fit them again.
    #[must_use]
    pub const fn samples(&self) -> &MeshSamples {
        &self.samples
    }

    /// Returns the offset of each core's clock. Subtract the offset from the core's times to
    /// compare cores.
    ///
    /// Cores with an unknown offset are omitted. A time minus its core's offset is a 64-bit time of
    /// the chip's reference clock, even if the markers contain only the low bits of the clock.
    #[must_use]
    pub fn tile_origins(&self, readout: &Readout) -> TileOrigins {
        let mut origins = TileOrigins::default();
        for lane in readout.lanes() {
            let LaneId { chip_id, core, .. } = lane.id;
            let offset = self.offset(chip_id, core);
            if let (Some(offset), Some(missing)) = (offset, self.missing_cycles(lane)) {
                let missing = missing.cast_signed();
                origins.set(chip_id, core, offset.cycles.wrapping_sub(missing));
            }
        }
        origins
    }

    /// Returns the offset of a tile's counter from its chip's reference counter.
    #[must_use]
    pub fn offset(&self, chip_id: u32, core: Noc0Coord) -> Option<TileOffset> {
        self.chips.get(&chip_id)?.offsets.get(&tile_of(chip_id, core)?).copied()
    }

    /// Returns all known offsets, ordered by chip and core.
    pub fn offsets(&self) -> impl Iterator<Item = (u32, Noc0Coord, TileOffset)> {
        let offsets = self.chips.values().flat_map(|chip| &chip.offsets);
        offsets.map(|(&tile, &offset)| (tile.chip, core_of(tile), offset))
    }

    /// Returns the clock of a chip's reference tile. Aligned times are readings of this clock.
    #[must_use]
    pub fn reference_clock(&self, chip_id: u32) -> Option<&PiecewiseClock> {
        self.clocks.get(&chip_id)
    }

    /// Returns the number of cycles to add to a lane's times to get full counter values.
    ///
    /// Markers contain only the low bits of the counter. The missing part is the same for all times
    /// of a lane, because the decoder has already extended the lane's times: they keep increasing
    /// when the low bits wrap around.
    fn missing_cycles(&self, lane: &Lane) -> Option<u64> {
        let near = self.samples.last_reading(tile_of(lane.id.chip_id, lane.id.core)?)?;
        let Some(&first) = lane.times.first() else { return Some(0) };
        let kept = first & (u64::MAX >> (64 - STAMP_BITS));
        Some(extend_cycles(kept, STAMP_BITS, near).wrapping_sub(first))
    }
}
