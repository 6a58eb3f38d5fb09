//! Offset of a tile's counter from its chip's reference clock.
//!
//! One clock drives all Tensix tiles of a chip, but the tiles' counters started at different
//! instants. A chip therefore has one slope, and each tile has its own origin. An origin comes from
//! exact counter differences (measured over the NoC), or from a burst of host pings and the chip's
//! slope.

use super::{
    BoundedLine, Bracket, ClockError, CorridorFit, Deviation, ErrorBound, Line, PiecewiseClock,
    Resolution,
    hull::{Slope, Walls},
};

/// The origin of one tile or clock domain.
#[derive(Debug, Clone, PartialEq)]
pub enum TileOrigin {
    /// Constant difference between the tile's counter and the chip's reference clock.
    Offset {
        /// Tile counter minus reference counter at the same instant, in cycles.
        cycles: i64,
        /// Maximum error of `cycles`, in cycles.
        bound_cycles: f64,
    },
    /// Direct map from the tile's counter to the host's clock.
    Line(BoundedLine),
}

impl TileOrigin {
    /// Origin of a tile with the same epoch as the reference clock.
    ///
    /// # Compatibility
    ///
    /// TT-Metal's classic profiler assumes this for all tiles of a chip. Measured offsets on
    /// silicon are 10^9 to 10^13 cycles.
    pub const SHARED: Self = Self::Offset { cycles: 0, bound_cycles: 0.0 };

    /// Computes a tile's direct map to the host from the tile's own pings and the chip's slope.
    ///
    /// The chip must have a constant frequency. The bound is valid for two reasons. The tile's true
    /// slope is the chip's slope, so it is in the chip's slope interval. The tile's true line
    /// passes all brackets of the tile.
    ///
    /// # Errors
    ///
    /// [`ClockError::Infeasible`] if the tile does not run at the chip's frequency;
    /// [`ClockError::TooFewSamples`] if there is no ping.
    pub fn from_pings<B: Copy + Into<Bracket>>(
        chip: &CorridorFit,
        pings: &[B],
        resolution: Resolution,
    ) -> Result<Self, ClockError> {
        let brackets: Vec<Bracket> = pings.iter().map(|&ping| ping.into()).collect();
        let room = OffsetRoom { walls: Walls::new(&brackets, resolution)? };
        let (lowest, highest) = chip.slope_interval();
        let slope = chip.line().line().slope();
        let mut slopes = vec![lowest, highest, slope];
        slopes.extend(room.edge_slopes().filter(|edge| (lowest..highest).contains(edge)));
        let rooms: Vec<_> = slopes.iter().map(|&slope| (slope, room.at(slope))).collect();
        let widest = rooms.iter().map(|(_, (low, high))| high - low).fold(f64::MIN, f64::max);
        if widest < 0.0 {
            return Err(ClockError::Infeasible { deficit_units: -widest, slope });
        }
        room.line(slope, &rooms).map(Self::Line)
    }

    /// Computes a tile's offset from the tile's pings and the chip's clock. The chip's clock may
    /// have frequency steps.
    ///
    /// The bound is wider than with [`Self::from_pings`], because it contains the chip's bound
    /// twice.
    ///
    /// # Errors
    ///
    /// [`ClockError::Infeasible`] if no offset is consistent with all pings;
    /// [`ClockError::TooFewSamples`] if there is no ping.
    pub fn offset_from_pings<B: Copy + Into<Bracket>>(
        chip: &PiecewiseClock,
        pings: &[B],
        resolution: Resolution,
    ) -> Result<Self, ClockError> {
        let mut offsets = pings.iter().map(|&ping| offset_interval(chip, ping.into(), resolution));
        let (base, low, high) =
            offsets.next().ok_or(ClockError::TooFewSamples { needed: 1, found: 0 })?;
        let (low, high) = offsets.fold((low, high), |(low, high), (other, its_low, its_high)| {
            let shift = other.wrapping_sub(base) as f64;
            (low.max(shift + its_low), high.min(shift + its_high))
        });
        if low > high {
            let slope = chip.lines()[0].line().slope();
            return Err(ClockError::Infeasible { deficit_units: (low - high) * slope, slope });
        }
        let middle = f64::midpoint(low, high);
        Ok(Self::Offset {
            cycles: base.wrapping_add(rounded(middle)),
            bound_cycles: (high - low) / 2.0 + (middle - middle.round()).abs(),
        })
    }

    /// Returns the tile's clock for a given chip clock.
    pub(super) fn applied_to(&self, chip: &PiecewiseClock) -> Option<PiecewiseClock> {
        match self {
            Self::Offset { cycles, bound_cycles } => {
                chip.with_counter_shifted(*cycles, *bound_cycles)
            }
            Self::Line(line) => PiecewiseClock::constant(line.clone()),
        }
    }
}

/// Possible offsets of a line with a given slope between the two walls.
struct OffsetRoom {
    walls: Walls,
}

impl OffsetRoom {
    fn at(&self, slope: f64) -> (f64, f64) {
        let offset = |p: &super::hull::Point| p.y as f64 - slope * p.x as f64;
        let low = self.walls.lower.iter().map(offset).fold(f64::MIN, f64::max);
        let high = self.walls.upper.iter().map(offset).fold(f64::MAX, f64::min);
        (low, high)
    }

    fn edge_slopes(&self) -> impl Iterator<Item = f64> + '_ {
        let edges = self.walls.lower.windows(2).chain(self.walls.upper.windows(2));
        edges.map(|edge| Slope::between(edge[0], edge[1]).value())
    }

    /// Returns the line in the middle of the interval at `slope`. The line's bound comes from its
    /// deviations from the corners of all `rooms`.
    fn line(&self, slope: f64, rooms: &[(f64, (f64, f64))]) -> Result<BoundedLine, ClockError> {
        let (low, high) = self.at(slope);
        let offset = f64::midpoint(low, high);
        let line = Line::through(self.walls.base_cycles, self.walls.base_units, offset, slope)
            .ok_or(ClockError::NotIncreasing { slope })?;
        let corners = rooms.iter().flat_map(|&(corner_slope, (low, high))| {
            [low, high].map(|corner| Deviation {
                at_anchor: corner - offset,
                per_cycle: corner_slope - slope,
            })
        });
        Ok(BoundedLine::new(line, ErrorBound::from_corners(corners.collect())))
    }
}

/// Returns the offsets that one ping allows: an integer base and an interval around it.
fn offset_interval(
    chip: &PiecewiseClock,
    ping: Bracket,
    resolution: Resolution,
) -> (i64, f64, f64) {
    let before = ping.before.saturating_sub(i64::from(resolution.device_units));
    let after = ping.after.saturating_add(i64::from(resolution.host_units));
    let (earliest, earliest_rest, earliest_bound) = chip.cycles_at(before);
    let (latest, latest_rest, latest_bound) = chip.cycles_at(after);
    let base = ping.cycles.wrapping_sub(latest).cast_signed();
    let width = latest.wrapping_sub(earliest).cast_signed() as f64;
    (base, -latest_rest - latest_bound, width - earliest_rest + earliest_bound)
}

#[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is wanted")]
fn rounded(value: f64) -> i64 {
    value.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{
        Sensitivity, SteppedFit, TwoWayPing,
        simulated::{Latency, Schedule, Seeded, TrueClock, pings},
    };

    const RESOLUTION: Resolution = Resolution::HOST_NANOSECONDS;

    fn burst(clock: &TrueClock, at_ns: f64, random: &mut Seeded) -> Vec<TwoWayPing> {
        let schedule = Schedule { first_ns: at_ns, spacing_ns: 1000.0, count: 12 };
        pings(clock, &Latency::MMIO, schedule, random)
    }

    #[test]
    fn twelve_pings_tie_a_tile_to_the_host_within_the_bound() {
        for seed in 0..100 {
            let mut random = Seeded::new(seed);
            let chip = TrueClock::random(&mut random);
            let tile = chip.clone().with_offset((random.bits() % 20_000_000_000_000) as i64);
            let samples = pings(&chip, &Latency::MMIO, Schedule::ONE_SECOND, &mut random);
            let fit = CorridorFit::fit(&samples, RESOLUTION).unwrap();
            let near = burst(&tile, 4e8, &mut random);
            let origin = TileOrigin::from_pings(&fit, &near, RESOLUTION).unwrap();
            let TileOrigin::Line(line) = origin else { panic!("pings give a line") };
            for at_ns in [0.0, 4e8, 1e9, 3e9] {
                let cycles = tile.reading_at(at_ns);
                let error = tile.error_ns(cycles, line.line().at(cycles));
                assert!(error.abs() <= line.bound_at(cycles), "seed {seed}: {error}");
            }
            assert!(line.bound_at(tile.reading_at(4e8)) < 600.0);
        }
    }

    #[test]
    fn offset_is_within_its_bound_across_a_frequency_step() {
        for seed in 0..50 {
            let mut random = Seeded::new(seed);
            let chip = TrueClock::random(&mut random).with_step(5e8, 30.0);
            let offset = -9_000_000_000_000;
            let tile = chip.clone().with_offset(offset);
            let samples = pings(&chip, &Latency::MMIO, Schedule::ONE_SECOND, &mut random);
            let fit = SteppedFit::fit(&samples, RESOLUTION, Sensitivity::default()).unwrap();
            let mut near = burst(&tile, 2e8, &mut random);
            near.extend(burst(&tile, 9e8, &mut random));
            let origin = TileOrigin::offset_from_pings(fit.clock(), &near, RESOLUTION).unwrap();
            let TileOrigin::Offset { cycles, bound_cycles } = origin else { panic!("no offset") };
            assert!((cycles - offset).abs() as f64 <= bound_cycles, "seed {seed}: {cycles}");
            assert!(bound_cycles < 1500.0, "seed {seed}: {bound_cycles}");
        }
    }

    #[test]
    fn tile_on_another_clock_is_refused() {
        let mut random = Seeded::new(3);
        let chip = TrueClock::random(&mut random);
        let samples = pings(&chip, &Latency::MMIO, Schedule::ONE_SECOND, &mut random);
        let fit = CorridorFit::fit(&samples, RESOLUTION).unwrap();
        let mut near = burst(&chip, 4e8, &mut random);
        let other = chip.with_step(4.1e8, 200.0);
        near.extend(burst(&other, 5e8, &mut random));
        let tied = TileOrigin::from_pings(&fit, &near, RESOLUTION);
        assert!(matches!(tied, Err(ClockError::Infeasible { .. })));
        let clock = PiecewiseClock::constant(fit.line().clone()).unwrap();
        let offset = TileOrigin::offset_from_pings(&clock, &near, RESOLUTION);
        assert!(matches!(offset, Err(ClockError::Infeasible { .. })));
    }

    #[test]
    fn no_ping_is_no_origin() {
        let line = BoundedLine::from_scale_and_shift(1.0, 0.0, 1.0).unwrap();
        let clock = PiecewiseClock::constant(line).unwrap();
        let none: [TwoWayPing; 0] = [];
        assert!(TileOrigin::offset_from_pings(&clock, &none, RESOLUTION).is_err());
    }
}
