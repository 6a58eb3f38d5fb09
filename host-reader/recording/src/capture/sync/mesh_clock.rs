//! The clock of a mesh: what time on the host a marker of any tile had.

use super::{
    MeshSamples, SyncProblem,
    ping::{core_of, tile_of},
};
use reader::{
    clock::{ChipTree, ClockMap, SteppedFit, Tile, TileClock, extend_cycles},
    lane::{Lane, LaneId},
    mesh::Noc0Coord,
    origins::TileOrigins,
    readout::Readout,
};
use std::collections::BTreeMap;

/// How a chip's clock was found.
#[derive(Clone, Debug, PartialEq)]
pub struct ChipFit {
    /// The tile whose clock is the chip's clock.
    pub reference: Tile,
    /// The fit of its pings, with frequency steps and rejected pings.
    pub fit: SteppedFit,
    /// Path from the chip's clock to the host's.
    pub source: ClockSource,
    /// Offsets of the tiles' counters from the reference.
    pub offsets: BTreeMap<Tile, TileOffset>,
}

/// Path from a chip's clock to the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// Directly, by its own pings.
    HostPings,
    /// Over another chip, since that path has the smaller bound.
    OverChip {
        /// The next chip on the path.
        parent: u32,
    },
}

/// Offset of a tile's counter from its chip's reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileOffset {
    /// The difference, cycles.
    pub cycles: i64,
    /// Bound of its error, cycles.
    pub bound_cycles: f64,
}

/// A lane's times on the host's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneTimes {
    /// Whose times these are.
    pub lane: LaneId,
    /// One time per record, in nanoseconds.
    pub host_ns: Vec<i64>,
    /// How far each may be off, rounding included, in nanoseconds.
    pub bound_ns: f64,
}

/// The clock of a mesh, with the evidence it was made from.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshClock {
    pub(super) map: ClockMap,
    pub(super) chips: BTreeMap<u32, ChipFit>,
    pub(super) tree: Option<ChipTree>,
    pub(super) problems: Vec<SyncProblem>,
    pub(super) samples: MeshSamples,
    pub(super) stamp_bits: u32,
}

impl MeshClock {
    /// The map from every tile's full counter to host time.
    #[must_use]
    pub const fn map(&self) -> &ClockMap {
        &self.map
    }

    /// How the clock of each chip was found, ascending by chip.
    pub fn chips(&self) -> impl Iterator<Item = (u32, &ChipFit)> {
        self.chips.iter().map(|(&chip_id, fit)| (chip_id, fit))
    }

    /// The ways between the chips and the check of every loop; `None` without two chips of
    /// constant frequency.
    #[must_use]
    pub const fn tree(&self) -> Option<&ChipTree> {
        self.tree.as_ref()
    }

    /// Returns all problems of the measurements and the fit.
    #[must_use]
    pub fn problems(&self) -> &[SyncProblem] {
        &self.problems
    }

    /// Returns the measurements, for a capture or another fit.
    #[must_use]
    pub const fn samples(&self) -> &MeshSamples {
        &self.samples
    }

    /// Times of a lane on the host's clock; `None` if its tile has no clock.
    ///
    /// Markers keep only the low bits of the clock; the rest is that of the tile's last
    /// ping, right for two hours around it.
    #[must_use]
    pub fn lane_times(&self, lane: &Lane) -> Option<LaneTimes> {
        let clock = self.clock_of(lane.id.chip_id, lane.id.core)?;
        let missing = self.missing_cycles(lane)?;
        let cycles: Vec<u64> = lane.times.iter().map(|time| time.wrapping_add(missing)).collect();
        let mut host_ns = vec![0; cycles.len()];
        let bound_ns = clock.convert(&cycles, &mut host_ns).ok()?;
        Some(LaneTimes { lane: lane.id, host_ns, bound_ns })
    }

    /// Times of every lane of a readout, in its order; `None` where the tile has no clock.
    pub fn readout_times<'a>(
        &'a self,
        readout: &'a Readout,
    ) -> impl Iterator<Item = Option<LaneTimes>> + 'a {
        readout.lanes().map(|lane| self.lane_times(lane))
    }

    /// Returns the offsets to subtract from the times of each core of a readout, for figures over
    /// several cores.
    ///
    /// Cores whose offset is unknown are left out. The aligned times are full readings of
    /// the chip's reference, whichever bits the markers kept.
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

    /// Returns the offset of a tile's counter from its chip's reference.
    #[must_use]
    pub fn offset(&self, chip_id: u32, core: Noc0Coord) -> Option<TileOffset> {
        self.chips.get(&chip_id)?.offsets.get(&tile_of(chip_id, core)?).copied()
    }

    /// Every known offset, ordered by chip and core.
    pub fn offsets(&self) -> impl Iterator<Item = (u32, Noc0Coord, TileOffset)> {
        let offsets = self.chips.values().flat_map(|chip| &chip.offsets);
        offsets.map(|(&tile, &offset)| (tile.chip, core_of(tile), offset))
    }

    /// Puts problems of the measurement before those of the fit.
    pub(super) fn precede_problems(&mut self, problems: Vec<SyncProblem>) {
        self.problems.splice(0..0, problems);
    }

    /// The clock of a chip's reference tile, on whose counter aligned times are.
    #[must_use]
    pub fn reference_clock(&self, chip_id: u32) -> Option<TileClock<'_>> {
        self.map.tile(self.chips.get(&chip_id)?.reference)
    }

    fn clock_of(&self, chip_id: u32, core: Noc0Coord) -> Option<TileClock<'_>> {
        self.map.tile(tile_of(chip_id, core)?)
    }

    /// Returns the difference between the full counter and a lane's times. It is the same for all
    /// of them, since a lane counts on where its markers wrap.
    fn missing_cycles(&self, lane: &Lane) -> Option<u64> {
        let near = self.samples.last_reading(tile_of(lane.id.chip_id, lane.id.core)?)?;
        let Some(&first) = lane.times.first() else { return Some(0) };
        let kept = first & (u64::MAX >> 64_u32.saturating_sub(self.stamp_bits).min(63));
        Some(extend_cycles(kept, self.stamp_bits, near).wrapping_sub(first))
    }
}
