//! Map from a tile's cycles to host time and back. All other modules use this map.
//!
//! There is one clock per chip and one origin per tile. A [`TileClock`] is looked up once per lane
//! of markers. Converting a marker then takes one multiplication and one shift. Other modules
//! determine the clocks and origins.

use super::{ChipTree, ClockError, PiecewiseClock, Tile, TileOrigin};
use std::collections::BTreeMap;

/// An instant on the host's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostTime {
    /// Whole nanoseconds of the host clock, rounded down.
    pub ns: i64,
    /// Fraction of a nanosecond, in `0..1`.
    pub fraction_ns: f64,
    /// Maximum error of the time, in nanoseconds.
    pub bound_ns: f64,
}

/// An instant on a tile's counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DeviceTime {
    /// Whole cycles, rounded down.
    pub cycles: u64,
    /// Fraction of a cycle, in `0..1`.
    pub fraction_cycles: f64,
    /// Maximum error of the counter value, in cycles.
    pub bound_cycles: f64,
}

/// All clocks of a mesh, mapped to the host's clock.
///
/// # Examples
///
/// ```
/// use reader::clock::*;
/// let pings = [(0, 5_000_000_350, 780), (1_000_000_000, 6_000_000_350, 1_000_000_780)]
///     .map(|(host_send_ns, device_cycles, host_receive_ns)| TwoWayPing {
///         host_send_ns, device_cycles, host_receive_ns,
///     });
/// let fit = CorridorFit::fit(&pings, Resolution::HOST_NANOSECONDS)?;
/// let mut map = ClockMap::new();
/// map.insert_chip(0, PiecewiseClock::constant(fit.line().clone()).expect("a clock rises"));
/// let origin = TileOrigin::Offset { cycles: 1 << 40, bound_cycles: 0.0 };
/// assert!(map.insert_origin(Tile::new(0, 1, 2), origin));
///
/// let time = map.to_host_ns(Tile::new(0, 1, 2), (1 << 40) + 5_500_000_350).expect("known tile");
/// assert_eq!(time.ns, 500_000_389);
/// assert!(time.bound_ns < 400.0);
/// assert_eq!(map.to_host_ns(Tile::new(0, 9, 9), 0), None);
/// # Ok::<(), ClockError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClockMap {
    chips: BTreeMap<u32, ChipClock>,
}

/// The reference clock of a chip and the clocks of its tiles.
#[derive(Debug, Clone, PartialEq)]
struct ChipClock {
    reference: PiecewiseClock,
    tiles: BTreeMap<Tile, TileEntry>,
    other_tiles: Option<TileEntry>,
}

/// A tile's origin and the resulting clock of the tile.
#[derive(Debug, Clone, PartialEq)]
struct TileEntry {
    origin: TileOrigin,
    clock: PiecewiseClock,
}

impl ChipClock {
    fn entry(&self, origin: TileOrigin) -> Option<TileEntry> {
        let clock = origin.applied_to(&self.reference)?;
        Some(TileEntry { origin, clock })
    }
}

impl ClockMap {
    /// Returns a map without chips.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a map for the chips of a tree, given the clock of the tree's root.
    ///
    /// Each chip's bound is the root's bound plus the bounds of the edges on the path from the chip
    /// to the root.
    pub fn from_tree(root: &PiecewiseClock, tree: &ChipTree) -> Self {
        let mut map = Self::new();
        for (chip, to_root) in tree.chips() {
            if let Some(clock) = root.after(to_root) {
                map.insert_chip(chip, clock);
            }
        }
        map
    }

    /// Sets a chip's reference clock, which maps to nanoseconds of the host.
    ///
    /// Removes the chip's origins, since they were relative to the old clock.
    pub fn insert_chip(&mut self, chip: u32, reference: PiecewiseClock) {
        self.chips.insert(chip, ChipClock { reference, tiles: BTreeMap::new(), other_tiles: None });
    }

    /// Sets a tile's origin; returns `false` if its chip is unknown or the resulting clock cannot
    /// be represented.
    #[must_use = "a tile without an origin converts to nothing"]
    pub fn insert_origin(&mut self, tile: Tile, origin: TileOrigin) -> bool {
        let Some(chip) = self.chips.get_mut(&tile.chip) else { return false };
        let Some(entry) = chip.entry(origin) else { return false };
        chip.tiles.insert(tile, entry);
        true
    }

    /// Sets the origin for all tiles of a chip that have no origin of their own.
    ///
    /// Without a default, times of such tiles are not converted, because a wrong epoch causes
    /// errors of minutes rather than nanoseconds.
    #[must_use = "a tile without an origin converts to nothing"]
    pub fn insert_default_origin(&mut self, chip: u32, origin: TileOrigin) -> bool {
        let Some(chip) = self.chips.get_mut(&chip) else { return false };
        chip.other_tiles = chip.entry(origin);
        chip.other_tiles.is_some()
    }

    /// Iterates over the chips with a clock, in ascending order.
    pub fn chips(&self) -> impl Iterator<Item = u32> + '_ {
        self.chips.keys().copied()
    }

    /// Returns the tile's clock, or `None` if its chip or its origin is unknown.
    pub fn tile(&self, tile: Tile) -> Option<TileClock<'_>> {
        let chip = self.chips.get(&tile.chip)?;
        let entry = chip.tiles.get(&tile).or(chip.other_tiles.as_ref())?;
        Some(TileClock { origin: &entry.origin, clock: &entry.clock, reference: &chip.reference })
    }

    /// Converts one counter value to a host time with a maximum error.
    ///
    /// For more than a few values of one tile use [`Self::tile`].
    pub fn to_host_ns(&self, tile: Tile, cycles: u64) -> Option<HostTime> {
        Some(self.tile(tile)?.to_host_ns(cycles))
    }

    /// Converts a host time to a counter value of a tile, with a maximum error.
    pub fn to_device_cycles(&self, tile: Tile, host_ns: i64) -> Option<DeviceTime> {
        Some(self.tile(tile)?.to_device_cycles(host_ns))
    }
}

/// The clock of one tile.
#[derive(Debug, Clone, Copy)]
pub struct TileClock<'a> {
    origin: &'a TileOrigin,
    clock: &'a PiecewiseClock,
    reference: &'a PiecewiseClock,
}

impl TileClock<'_> {
    /// Converts a counter value to a host time with a maximum error.
    pub fn to_host_ns(&self, cycles: u64) -> HostTime {
        let (ns, fraction_ns) = self.clock.at(cycles);
        HostTime { ns, fraction_ns, bound_ns: self.clock.bound_at(cycles) }
    }

    /// Converts a host time to a counter value with a maximum error.
    pub fn to_device_cycles(&self, host_ns: i64) -> DeviceTime {
        let (cycles, fraction_cycles, bound_cycles) = self.clock.cycles_at(host_ns);
        DeviceTime { cycles, fraction_cycles, bound_cycles }
    }

    /// Returns the frequency at a counter value, in GHz.
    pub fn frequency_ghz(&self, cycles: u64) -> f64 {
        self.clock.line_at(cycles).line().slope().recip()
    }

    /// Writes host times, rounded to whole nanoseconds, into `host_ns`.
    ///
    /// Returns the maximum error of all values, including rounding.
    ///
    /// # Errors
    ///
    /// [`ClockError::LengthMismatch`] unless both slices have the same length.
    pub fn convert(&self, cycles: &[u64], host_ns: &mut [i64]) -> Result<f64, ClockError> {
        require_equal(cycles.len(), host_ns.len())?;
        let Some((first, last)) = range(cycles) else { return Ok(0.0) };
        match self.clock.only_line() {
            Some(line) if line.reaches(first) && line.reaches(last) => {
                fill(host_ns, cycles, |cycles| line.nearest_within_reach(cycles));
            }
            _ => fill(host_ns, cycles, |cycles| self.clock.line_at(cycles).line().nearest(cycles)),
        }
        Ok(self.clock.bound_over(first, last) + 0.5)
    }

    /// Writes host times since `epoch_ns`, with their fractions, into `host_ns`.
    ///
    /// Returns the maximum error of all values. Within an hour of the epoch, doubles are precise to
    /// a thousandth of a nanosecond.
    ///
    /// # Errors
    ///
    /// [`ClockError::LengthMismatch`] unless both slices have the same length.
    pub fn convert_since(
        &self,
        epoch_ns: i64,
        cycles: &[u64],
        host_ns: &mut [f64],
    ) -> Result<f64, ClockError> {
        require_equal(cycles.len(), host_ns.len())?;
        let Some((first, last)) = range(cycles) else { return Ok(0.0) };
        fill(host_ns, cycles, |cycles| {
            let (whole, fraction) = self.clock.at(cycles);
            whole.wrapping_sub(epoch_ns) as f64 + fraction
        });
        Ok(self.clock.bound_over(first, last))
    }

    /// Converts this tile's counter value to a reading of the chip's reference clock.
    ///
    /// Use this function to compare tiles of one chip. For the reference clock, an origin measured
    /// on the chip is exact, whereas host times have an error of up to half a round trip of a ping.
    pub fn to_reference_cycles(&self, cycles: u64) -> DeviceTime {
        match *self.origin {
            TileOrigin::Offset { cycles: offset, bound_cycles } => DeviceTime {
                cycles: cycles.wrapping_add_signed(offset.wrapping_neg()),
                fraction_cycles: 0.0,
                bound_cycles,
            },
            TileOrigin::Line(_) => self.reference_by_host(cycles),
        }
    }

    /// Converts a counter value via the host's clock, for a tile whose origin is a direct map to
    /// the host.
    fn reference_by_host(&self, cycles: u64) -> DeviceTime {
        let (ns, fraction_ns) = self.clock.at(cycles);
        let (whole, fraction, bound) = self.reference.cycles_at(ns);
        let slope = self.reference.line_at(whole).line().slope();
        let fraction = fraction + fraction_ns / slope;
        DeviceTime {
            cycles: whole.wrapping_add_signed(whole_part(fraction)),
            fraction_cycles: fraction - fraction.floor(),
            bound_cycles: bound + self.clock.bound_at(cycles) / slope,
        }
    }
}

/// Returns the earliest and the latest of some counter values.
///
/// Values are compared by their distance from the first value, so the counter may wrap between two
/// values.
fn range(cycles: &[u64]) -> Option<(u64, u64)> {
    let &base = cycles.first()?;
    let distances = cycles.iter().map(|&cycles| cycles.wrapping_sub(base).cast_signed());
    let (first, last) = distances.fold((0, 0), |(low, high), d| (d.min(low), d.max(high)));
    Some((base.wrapping_add_signed(first), base.wrapping_add_signed(last)))
}

fn fill<T>(values: &mut [T], cycles: &[u64], convert: impl Fn(u64) -> T) {
    for (value, &cycles) in values.iter_mut().zip(cycles) {
        *value = convert(cycles);
    }
}

fn require_equal(input: usize, output: usize) -> Result<(), ClockError> {
    if input == output { Ok(()) } else { Err(ClockError::LengthMismatch { input, output }) }
}

#[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is wanted")]
fn whole_part(value: f64) -> i64 {
    value.floor() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{BoundedLine, ErrorBound, Line, Split};
    use proptest::prelude::*;

    const NEAR: Tile = Tile::new(0, 1, 2);
    const FAR: Tile = Tile::new(0, 11, 2);
    const FAR_OFFSET: i64 = 15_000_000_000_000;

    fn bounded(anchor: u64, ns: i64, slope: f64, bound_ns: f64) -> BoundedLine {
        let line = Line::through(anchor, ns, 0.0, slope).unwrap();
        BoundedLine::new(line, ErrorBound::constant(bound_ns))
    }

    /// Returns a clock with 1.6 ns per cycle up to cycle 1000, then 0.8 ns per cycle.
    fn stepped() -> PiecewiseClock {
        let split = Split { cycles: 1000, earliest_cycles: 1000, latest_cycles: 1000 };
        let lines = vec![bounded(0, 7000, 1.6, 40.0), bounded(1000, 8600, 0.8, 40.0)];
        PiecewiseClock::new(lines, vec![split]).unwrap()
    }

    fn map(clock: PiecewiseClock) -> ClockMap {
        let mut map = ClockMap::new();
        map.insert_chip(0, clock);
        assert!(map.insert_origin(NEAR, TileOrigin::SHARED));
        let far = TileOrigin::Offset { cycles: FAR_OFFSET, bound_cycles: 2.0 };
        assert!(map.insert_origin(FAR, far));
        map
    }

    #[test]
    fn tiles_with_distant_epochs_agree_on_an_instant() {
        let map = map(stepped());
        let near = map.to_host_ns(NEAR, 500).unwrap();
        let far = map.to_host_ns(FAR, 500 + FAR_OFFSET.cast_unsigned()).unwrap();
        assert_eq!((near.ns, far.ns), (7800, 7800));
        assert!((far.bound_ns - near.bound_ns - 3.2).abs() < 1e-6);
    }

    #[test]
    fn unknown_tiles_and_chips_convert_to_nothing() {
        let mut map = map(stepped());
        assert_eq!(map.to_host_ns(Tile::new(0, 5, 5), 0), None);
        assert_eq!(map.to_device_cycles(Tile::new(1, 1, 2), 0), None);
        assert!(!map.insert_origin(Tile::new(1, 1, 2), TileOrigin::SHARED));
        assert!(map.insert_default_origin(0, TileOrigin::SHARED));
        assert!(map.to_host_ns(Tile::new(0, 5, 5), 0).is_some());
    }

    #[test]
    fn host_time_converts_back_to_the_tiles_own_cycles() {
        let map = map(stepped());
        let time = map.to_device_cycles(FAR, 8600 + 80).unwrap();
        let error = (time.cycles.cast_signed() - FAR_OFFSET - 1100) as f64 + time.fraction_cycles;
        assert!(error.abs() < 1e-6, "{error}");
        assert!((time.bound_cycles - (40.0 / 0.8 + 2.0)).abs() < 1e-3);
    }

    #[test]
    fn reference_cycles_of_an_offset_tile_are_exact() {
        let map = map(stepped());
        let time = map.tile(FAR).unwrap().to_reference_cycles(FAR_OFFSET.cast_unsigned() + 77);
        let expected = DeviceTime { cycles: 77, fraction_cycles: 0.0, bound_cycles: 2.0 };
        assert_eq!(time, expected);
    }

    #[test]
    fn reference_cycles_of_a_pinged_tile_go_over_the_host() {
        let mut map = map(PiecewiseClock::constant(bounded(0, 7000, 1.6, 40.0)).unwrap());
        let own = TileOrigin::Line(bounded(1 << 42, 7000, 1.6, 24.0));
        assert!(map.insert_origin(NEAR, own));
        let time = map.tile(NEAR).unwrap().to_reference_cycles((1 << 42) + 77);
        let error = time.cycles as f64 + time.fraction_cycles - 77.0;
        assert!(error.abs() < 1e-6, "{error}");
        assert!((time.bound_cycles - 40.0).abs() < 1e-3, "{}", time.bound_cycles);
    }

    #[test]
    fn slices_of_different_length_are_refused() {
        let map = map(stepped());
        let error = map.tile(NEAR).unwrap().convert(&[1, 2], &mut [0]).unwrap_err();
        assert_eq!(error, ClockError::LengthMismatch { input: 2, output: 1 });
    }

    #[test]
    fn nothing_to_convert_is_fine() {
        let map = map(stepped());
        assert!(map.tile(NEAR).unwrap().convert(&[], &mut []).is_ok());
    }

    proptest! {
        #[test]
        fn columns_equal_single_conversions(
            cycles in prop::collection::vec(0u64..3000, 1..50), is_constant in any::<bool>(),
        ) {
            let line = PiecewiseClock::constant(bounded(0, 7000, 1.6, 40.0)).unwrap();
            let map = map(if is_constant { line } else { stepped() });
            let tile = map.tile(FAR).unwrap();
            let cycles: Vec<u64> = cycles.iter().map(|c| c + FAR_OFFSET.cast_unsigned()).collect();
            let mut whole = vec![0; cycles.len()];
            let mut precise = vec![0.0; cycles.len()];
            let bound = tile.convert(&cycles, &mut whole).unwrap();
            prop_assert_eq!(tile.convert_since(6000, &cycles, &mut precise).unwrap() + 0.5, bound);
            for (index, &cycles) in cycles.iter().enumerate() {
                let time = tile.to_host_ns(cycles);
                let exact = (time.ns - 6000) as f64 + time.fraction_ns;
                prop_assert!((whole[index] as f64 - 6000.0 - exact).abs() <= 0.5);
                prop_assert_eq!(precise[index], exact);
                prop_assert!(time.bound_ns + 0.5 <= bound);
            }
        }

        #[test]
        fn conversion_of_a_constant_clock_keeps_the_order(
            cycles in any::<u64>(), step in 0u64..1 << 50,
        ) {
            let origin = TileOrigin::Offset { cycles: cycles.cast_signed(), bound_cycles: 0.0 };
            let mut map = map(PiecewiseClock::constant(bounded(0, 0, 0.7407, 1.0)).unwrap());
            prop_assert!(map.insert_origin(NEAR, origin));
            let at = |cycles| map.to_host_ns(NEAR, cycles).unwrap();
            let (first, last) = (at(cycles), at(cycles.wrapping_add(step)));
            prop_assert!((first.ns, first.fraction_ns) <= (last.ns, last.fraction_ns));
        }
    }
}
