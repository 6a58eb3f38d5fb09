//! Offset of a tile's counter from its chip's reference clock.
//!
//! One clock drives all Tensix tiles of a chip, but the tiles' counters started at different
//! instants. The lines from the tiles' counters to host time therefore all have the same slope, but
//! each line has its own offset. The offset is computed from two inputs: a burst of pings from the
//! host to the tile, and the map from the chip's reference clock to host time.

use super::{Bracket, ClockError, PiecewiseClock, Resolution};

/// Offset of a tile's counter from the counter of its chip's reference tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TileOffset {
    /// Tile counter minus reference counter, in cycles.
    pub cycles: i64,
    /// Maximum error of the offset, in cycles.
    pub bound_cycles: f64,
}

impl TileOffset {
    /// Computes a tile's offset from the tile's pings and the chip's clock. The chip's clock may
    /// have frequency steps.
    ///
    /// # Errors
    ///
    /// [`ClockError::Infeasible`] if no offset is consistent with all pings;
    /// [`ClockError::TooFewSamples`] if there are no pings.
    pub fn from_pings<B: Copy + Into<Bracket>>(
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
        Ok(Self {
            cycles: base.wrapping_add(rounded(middle)),
            bound_cycles: (high - low) / 2.0 + (middle - middle.round()).abs(),
        })
    }
}

/// Returns the interval of offsets that one ping allows, as an integer base and the two ends
/// relative to the base.
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
        BoundedLine, CorridorFit, SteppedFit, TwoWayPing,
        simulated::{Latency, Schedule, Seeded, TrueClock, pings},
    };

    const RESOLUTION: Resolution = Resolution::HOST_NANOSECONDS;

    fn burst(clock: &TrueClock, at_ns: f64, random: &mut Seeded) -> Vec<TwoWayPing> {
        let schedule = Schedule { first_ns: at_ns, spacing_ns: 1000.0, count: 12 };
        pings(clock, &Latency::MMIO, schedule, random)
    }

    #[test]
    fn offset_is_within_its_bound_across_a_frequency_step() {
        for seed in 0..50 {
            let mut random = Seeded::new(seed);
            let chip = TrueClock::random(&mut random).with_step(5e8, 30.0);
            let offset = -9_000_000_000_000;
            let tile = chip.clone().with_offset(offset);
            let samples = pings(&chip, &Latency::MMIO, Schedule::ONE_SECOND, &mut random);
            let fit = SteppedFit::fit(&samples, RESOLUTION).unwrap();
            let mut near = burst(&tile, 2e8, &mut random);
            near.extend(burst(&tile, 9e8, &mut random));
            let found = TileOffset::from_pings(&fit.clock, &near, RESOLUTION).unwrap();
            let TileOffset { cycles, bound_cycles } = found;
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
        let clock = PiecewiseClock::constant(fit.line().clone()).unwrap();
        let offset = TileOffset::from_pings(&clock, &near, RESOLUTION);
        assert!(matches!(offset, Err(ClockError::Infeasible { .. })));
    }

    #[test]
    fn no_ping_is_no_offset() {
        let line = BoundedLine::from_scale_and_shift(1.0, 0.0, 1.0).unwrap();
        let clock = PiecewiseClock::constant(line).unwrap();
        let none: [TwoWayPing; 0] = [];
        assert!(TileOffset::from_pings(&clock, &none, RESOLUTION).is_err());
    }
}
