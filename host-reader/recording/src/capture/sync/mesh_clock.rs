//! The clock of a mesh: converts the times of a tile's markers to host time.

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

/// Clock of a chip, and how it was determined.
#[derive(Clone, Debug, PartialEq)]
pub struct ChipFit {
    /// Tile that defines the chip's clock.
    pub reference: Tile,
    /// Fit of the chip's pings, with frequency steps and rejected pings.
    pub fit: SteppedFit,
    /// Path from the chip's clock to the host's clock.
    pub source: ClockSource,
    /// Offsets of the tiles' counters from the reference tile's counter.
    pub offsets: BTreeMap<Tile, TileOffset>,
}

/// Path from a chip's clock to the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// Direct, by the chip's own pings.
    HostPings,
    /// Through another chip, because that path has the smaller bound.
    OverChip {
        /// Next chip on the path.
        parent: u32,
    },
}

/// Offset of a tile's counter from the counter of its chip's reference tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileOffset {
    /// Tile counter minus reference counter, in cycles.
    pub cycles: i64,
    /// Maximum error of the offset, in cycles.
    pub bound_cycles: f64,
}

/// A lane's times on the host's clock.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneTimes {
    /// Lane of the records.
    pub lane: LaneId,
    /// One time per record, in nanoseconds.
    pub host_ns: Vec<i64>,
    /// Maximum error of each time, including rounding, in nanoseconds.
    pub bound_ns: f64,
}

/// The clock of a mesh, with the measurements from which it was determined.
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
    /// Returns the map from every tile's full counter to host time.
    #[must_use]
    pub const fn map(&self) -> &ClockMap {
        &self.map
    }

    /// Returns the clock of each chip, ascending by chip id.
    pub fn chips(&self) -> impl Iterator<Item = (u32, &ChipFit)> {
        self.chips.iter().map(|(&chip_id, fit)| (chip_id, fit))
    }

    /// Returns the paths between the chips and the checks of all loops.
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

    /// Returns the times of a lane on the host's clock; `None` if its tile has no clock.
    ///
    /// Markers contain only the low bits of the clock. The high bits come from the tile's last
    /// ping. They are correct for times up to two hours before or after that ping.
    #[must_use]
    pub fn lane_times(&self, lane: &Lane) -> Option<LaneTimes> {
        let clock = self.clock_of(lane.id.chip_id, lane.id.core)?;
        let missing = self.missing_cycles(lane)?;
        let cycles: Vec<u64> = lane.times.iter().map(|time| time.wrapping_add(missing)).collect();
        let mut host_ns = vec![0; cycles.len()];
        let bound_ns = clock.convert(&cycles, &mut host_ns).ok()?;
        Some(LaneTimes { lane: lane.id, host_ns, bound_ns })
    }

    /// Returns the times of every lane of a readout, in order; `None` for a lane whose tile has no
    /// clock.
    pub fn readout_times<'a>(
        &'a self,
        readout: &'a Readout,
    ) -> impl Iterator<Item = Option<LaneTimes>> + 'a {
        readout.lanes().map(|lane| self.lane_times(lane))
    }

    /// Returns the offset of each core. Subtract it from the core's times to compare cores.
    ///
    /// Cores with an unknown offset are omitted. Aligned times are full readings of the chip's
    /// reference clock, regardless of the number of clock bits in the markers.
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

    /// Inserts problems of the measurement before the problems of the fit.
    pub(super) fn precede_problems(&mut self, problems: Vec<SyncProblem>) {
        self.problems.splice(0..0, problems);
    }

    /// Returns the clock of a chip's reference tile, to which aligned times are converted.
    #[must_use]
    pub fn reference_clock(&self, chip_id: u32) -> Option<TileClock<'_>> {
        self.map.tile(self.chips.get(&chip_id)?.reference)
    }

    fn clock_of(&self, chip_id: u32, core: Noc0Coord) -> Option<TileClock<'_>> {
        self.map.tile(tile_of(chip_id, core)?)
    }

    /// Returns the difference between the full counter and a lane's times.
    ///
    /// The difference is the same for all times of a lane, because the times keep increasing when
    /// the clock bits of the markers wrap around.
    fn missing_cycles(&self, lane: &Lane) -> Option<u64> {
        let near = self.samples.last_reading(tile_of(lane.id.chip_id, lane.id.core)?)?;
        let Some(&first) = lane.times.first() else { return Some(0) };
        let kept = first & (u64::MAX >> 64_u32.saturating_sub(self.stamp_bits).min(63));
        Some(extend_cycles(kept, self.stamp_bits, near).wrapping_sub(first))
    }
}
