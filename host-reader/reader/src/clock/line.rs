//! Lines that map cycles to another clock, and their maximum errors.
//!
//! A [`Line`] is `value(d) = value(anchor) + slope * (d - anchor)`. The difference `d - anchor` is
//! an integer and the slope is a binary fraction, so the product is exact in 128 bits. A counter at
//! 10^13 or 2^60 cycles therefore has the same sub-cycle accuracy as a counter that starts at zero.
//!
//! An [`ErrorBound`] is the maximum distance between a fitted line and the true line: the line that
//! maps each cycle to the actual value of the other clock. All lines consistent with the samples
//! form a convex polygon in the (offset, slope) plane. At a fixed cycle the deviation from the
//! fitted line is linear in (offset, slope), so its maximum is at a corner of the polygon. The
//! bound is the largest absolute deviation among the corners. As a function of the cycle, the bound
//! is convex, so in an interval of cycles it is largest at one end.
//!
//! This module does not fit lines to samples.

/// Relative margin that is added to a bound for rounding errors: 16 units in the last place.
const ROUNDING: f64 = 1.0 / (1u64 << 48) as f64;

/// Limit of slopes: at most 2^11 units per cycle, and at most 2^11 cycles per unit.
///
/// A double of at least 2^-11 is a multiple of 2^-63, because it has 53 significant bits. So 64
/// fraction bits represent every slope within the limits exactly.
const SLOPE_LIMIT: f64 = (1u64 << 11) as f64;

/// 2^64, the scale of fractions.
const FRACTION_SCALE: f64 = (1u128 << 64) as f64;

/// An ascending line from device cycles to units of another clock.
///
/// The units are nanoseconds if the other clock is the clock of the host, and cycles if it is the
/// clock of another chip.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line {
    anchor_cycles: u64,
    anchor_units: i64,
    slope: f64,
    /// Integer part of the slope; `fractional_slope` has the 64 fraction bits.
    whole_slope: i64,
    fractional_slope: u64,
    /// Fractional part of the value at the anchor, in multiples of 2^-64.
    anchor_fraction: u64,
}

impl Line {
    /// Returns the line that has the value `anchor_units + anchor_fraction` at `anchor_cycles`.
    ///
    /// `slope` is in units per cycle. `anchor_fraction` is in units and may be negative or larger
    /// than 1. Returns `None` if a number is not finite, if the slope is not between 2^-11 and
    /// 2^11, if the absolute value of `anchor_fraction` is 2^52 or more, or if the value at the
    /// anchor overflows.
    pub fn through(
        anchor_cycles: u64,
        anchor_units: i64,
        anchor_fraction: f64,
        slope: f64,
    ) -> Option<Self> {
        let is_small = anchor_fraction.abs() < (1u64 << 52) as f64;
        if !(is_clock_slope(slope) && is_small) {
            return None;
        }
        let (whole, anchor_fraction) = split(anchor_fraction);
        let (whole_slope, fractional_slope) = split(slope);
        Some(Self {
            anchor_cycles,
            anchor_units: anchor_units.checked_add(whole)?,
            slope,
            whole_slope,
            fractional_slope,
            anchor_fraction,
        })
    }

    /// Returns the slope, in units per cycle.
    pub fn slope(&self) -> f64 {
        self.slope
    }

    /// Returns the value at a cycle: whole units, rounded down, and the fraction in `0..1`.
    ///
    /// Saturates at the limits of `i64`.
    pub fn at(&self, cycles: u64) -> (i64, f64) {
        let (whole, fraction) = self.at_wide(cycles);
        (saturate(whole), fraction)
    }

    /// Returns the value at a cycle, rounded to the nearest whole unit.
    pub fn nearest(&self, cycles: u64) -> i64 {
        let (whole, rest) = self.exact_at(cycles);
        saturate(whole + i128::from(rest >> 63))
    }

    /// Returns true if a simple estimate shows that the value at a cycle fits `i64`.
    pub(super) fn reaches(&self, cycles: u64) -> bool {
        self.cycles_from_anchor(cycles).unsigned_abs() < 1 << 50
            && self.anchor_units.unsigned_abs() < 1 << 62
    }

    /// Computes [`Self::nearest`] faster, for a cycle for which [`Self::reaches`] is true.
    pub(super) fn nearest_within_reach(&self, cycles: u64) -> i64 {
        let distance = self.cycles_from_anchor(cycles);
        let product = i128::from(distance) * i128::from(self.fractional_slope)
            + i128::from(self.anchor_fraction)
            + (1 << 63);
        let whole = distance.wrapping_mul(self.whole_slope).wrapping_add(high_word(product));
        whole.wrapping_add(self.anchor_units)
    }

    /// Returns the inverse line: from units to cycles.
    ///
    /// Returns `None` if the value at the anchor is not a valid cycle.
    pub fn inverse(&self) -> Option<Self> {
        Self::through(
            self.anchor_units.cast_unsigned(),
            self.anchor_cycles.cast_signed(),
            -self.anchor_fraction() / self.slope,
            self.slope.recip(),
        )
    }

    /// Composes this line with `outer`. The input of `outer` is the output of this line.
    pub fn then(&self, outer: &Self) -> Option<Self> {
        let (whole, fraction) = outer.at(self.anchor_units.cast_unsigned());
        let fraction = fraction + outer.slope * self.anchor_fraction();
        Self::through(self.anchor_cycles, whole, fraction, self.slope * outer.slope)
    }

    /// Returns the line for a counter that is ahead of this line's counter by `offset_cycles`.
    pub fn with_counter_shifted(&self, offset_cycles: i64) -> Self {
        Self { anchor_cycles: self.anchor_cycles.wrapping_add_signed(offset_cycles), ..*self }
    }

    /// Returns the value of this line minus the value of `other` at a cycle, in units.
    pub fn minus(&self, other: &Self, cycles: u64) -> f64 {
        let (mine, my_fraction) = self.at_wide(cycles);
        let (its, its_fraction) = other.at_wide(cycles);
        (mine - its) as f64 + (my_fraction - its_fraction)
    }

    /// Returns the signed number of cycles from the anchor to `cycles`. Counter values may wrap, so
    /// all other methods use this method instead of subtracting them.
    pub(super) fn cycles_from_anchor(&self, cycles: u64) -> i64 {
        cycles.wrapping_sub(self.anchor_cycles).cast_signed()
    }

    fn anchor_fraction(&self) -> f64 {
        self.anchor_fraction as f64 / FRACTION_SCALE
    }

    fn at_wide(&self, cycles: u64) -> (i128, f64) {
        let (whole, rest) = self.exact_at(cycles);
        // A fraction within 2^-54 of one would round up to one.
        (whole, (rest as f64 / FRACTION_SCALE).min(1.0 - f64::EPSILON))
    }

    /// Returns the value at a cycle without rounding: whole units and 64 fraction bits.
    fn exact_at(&self, cycles: u64) -> (i128, u64) {
        let distance = i128::from(self.cycles_from_anchor(cycles));
        // The product of a 63-bit number and a 64-bit number, plus a fraction, is below 2^127.
        let product =
            distance * i128::from(self.fractional_slope) + i128::from(self.anchor_fraction);
        let whole = distance * i128::from(self.whole_slope) + (product >> 64);
        (whole + i128::from(self.anchor_units), low_word(product))
    }
}

/// Returns true if a clock can have this slope, in units per cycle.
pub(super) fn is_clock_slope(slope: f64) -> bool {
    (SLOPE_LIMIT.recip()..=SLOPE_LIMIT).contains(&slope)
}

/// Height above the fitted line of another line that passes through all samples.
///
/// The height is a linear function of the cycle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// Deviation at the anchor of the fitted line, in units.
    pub at_anchor: f64,
    /// Change of the deviation, in units per cycle.
    pub per_cycle: f64,
}

impl Deviation {
    fn at(&self, cycles_from_anchor: f64) -> f64 {
        self.at_anchor + self.per_cycle * cycles_from_anchor
    }
}

/// Maximum distance between a line and the true clock, as a function of the cycle.
///
/// If a line is composed of several fitted lines, the bound is the sum of their bounds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ErrorBound {
    constant: f64,
    parts: Vec<Vec<Deviation>>,
}

impl ErrorBound {
    /// Returns a bound of `units` at all cycles.
    pub fn constant(units: f64) -> Self {
        Self { constant: units, parts: Vec::new() }
    }

    /// Returns an infinite bound, for a line with an unknown error.
    pub fn unknown() -> Self {
        Self::constant(f64::INFINITY)
    }

    /// Returns the bound that equals, at each cycle, the largest absolute deviation of `corners`.
    pub fn from_corners(corners: Vec<Deviation>) -> Self {
        Self { constant: 0.0, parts: vec![corners] }
    }

    /// Returns the bound, in units, at this number of cycles from the line's anchor.
    fn at(&self, cycles_from_anchor: f64) -> f64 {
        self.constant + self.sum_of_largest(|corner| corner.at(cycles_from_anchor))
    }

    /// Returns the maximum error of the slope, in units per cycle.
    fn slope_bound(&self) -> f64 {
        self.sum_of_largest(|corner| corner.per_cycle)
    }

    /// Adds up, over all fitted lines, the largest absolute `value` among the corners of each line.
    fn sum_of_largest(&self, value: impl Fn(&Deviation) -> f64) -> f64 {
        let parts = self.parts.iter();
        parts.map(|corners| corners.iter().map(|c| value(c).abs()).fold(0.0, f64::max)).sum()
    }

    /// Returns the bound after applying `change` to each deviation and scaling the result by
    /// `factor`.
    fn mapped(&self, factor: f64, change: impl Fn(&Deviation) -> Deviation) -> Self {
        let scaled = |corner: &Deviation| {
            let Deviation { at_anchor, per_cycle } = change(corner);
            Deviation { at_anchor: at_anchor * factor, per_cycle: per_cycle * factor }
        };
        let parts = self.parts.iter().map(|part| part.iter().map(scaled).collect()).collect();
        Self { constant: self.constant * factor, parts }
    }

    fn plus(mut self, other: Self) -> Self {
        self.constant += other.constant;
        self.parts.extend(other.parts);
        self
    }
}

/// A line with its error bound.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundedLine {
    line: Line,
    bound: ErrorBound,
}

impl BoundedLine {
    /// Combines a line with its bound. The bound's deviations must be relative to the line's
    /// anchor.
    pub fn new(line: Line, bound: ErrorBound) -> Self {
        Self { line, bound }
    }

    /// Returns the map `units = scale * cycles + shift`, with a maximum error of `bound_units`.
    ///
    /// Returns `None` if `scale` is not a valid slope of a clock, or if `shift` is too large.
    ///
    /// # Compatibility
    ///
    /// TT-Metal stores its device-to-device maps as pairs of scale and shift (`profiler.cpp`,
    /// `setShift`). For the reverse direction, TT-Metal stores `-shift`, which is correct only for
    /// equal frequencies; the exact value is `-shift / scale`.
    pub fn from_scale_and_shift(scale: f64, shift: f64, bound_units: f64) -> Option<Self> {
        let line = Line::through(0, 0, shift, scale)?;
        Some(Self::new(line, ErrorBound::constant(bound_units)))
    }

    /// Returns the line without its bound.
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// Returns the maximum error of the line at this cycle, in units.
    pub fn bound_at(&self, cycles: u64) -> f64 {
        let distance = self.line.cycles_from_anchor(cycles) as f64;
        self.bound.at(distance) + ROUNDING * (1.0 + (self.line.slope * distance).abs())
    }

    /// Returns the inverse map, with its bound in cycles.
    pub fn inverse(&self) -> Option<Self> {
        let line = self.line.inverse()?;
        let slope = self.line.slope;
        // At the true cycle x the error is at most bound(x) units. The computed cycle may differ
        // from x, so the maximum error of the slope also contributes.
        let steepest = slope - self.bound.slope_bound();
        if steepest <= 0.0 {
            return Some(Self::new(line, ErrorBound::unknown()));
        }
        let to_new_anchor = -self.line.anchor_fraction() / slope;
        let bound = self.bound.mapped(steepest.recip(), |corner| Deviation {
            at_anchor: corner.at(to_new_anchor),
            per_cycle: corner.per_cycle / slope,
        });
        Some(Self::new(line, bound))
    }

    /// Composes this map with `outer`. The resulting bound is the sum of both bounds, in the units
    /// of `outer`.
    pub fn then(&self, outer: &Self) -> Option<Self> {
        let line = self.line.then(&outer.line)?;
        let inner = self.bound.mapped(outer.line.slope + outer.bound.slope_bound(), |c| *c);
        let from_outer_anchor =
            outer.line.cycles_from_anchor(self.line.anchor_units.cast_unsigned()) as f64
                + self.line.anchor_fraction();
        let moved = outer.bound.mapped(1.0, |corner| Deviation {
            at_anchor: corner.at(from_outer_anchor),
            per_cycle: corner.per_cycle * self.line.slope,
        });
        Some(Self::new(line, inner.plus(moved)))
    }

    /// Returns the map for a counter that is ahead of this map's counter by `offset_cycles`.
    ///
    /// `bound_cycles` is the maximum error of the offset.
    pub fn with_counter_shifted(&self, offset_cycles: i64, bound_cycles: f64) -> Self {
        let steepest = self.line.slope + self.bound.slope_bound();
        let mut bound = self.bound.clone();
        bound.constant += bound_cycles * steepest;
        Self::new(self.line.with_counter_shifted(offset_cycles), bound)
    }
}

/// Splits a number into its integer part, rounded down, and 64 fraction bits.
#[expect(clippy::cast_possible_truncation, reason = "callers keep it below 2^52")]
fn split(value: f64) -> (i64, u64) {
    let whole = value.floor();
    (whole as i64, low_word(((value - whole) * FRACTION_SCALE) as i128))
}

#[expect(clippy::cast_possible_truncation, reason = "the low word is what is asked for")]
fn low_word(value: i128) -> u64 {
    value as u64
}

fn high_word(value: i128) -> i64 {
    (value >> 64) as i64
}

#[expect(clippy::cast_possible_truncation, reason = "clamped just before")]
fn saturate(value: i128) -> i64 {
    value.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(anchor_cycles: u64, anchor_units: i64, fraction: f64, slope: f64) -> Line {
        Line::through(anchor_cycles, anchor_units, fraction, slope).unwrap()
    }

    /// Returns a line whose error polygon has two corners, with deviations of opposite sign.
    fn bounded(line: Line, at_anchor: f64, per_cycle: f64) -> BoundedLine {
        let corners = [1.0, -1.0]
            .map(|s| Deviation { at_anchor: s * at_anchor, per_cycle: s * per_cycle })
            .to_vec();
        BoundedLine::new(line, ErrorBound::from_corners(corners))
    }

    #[test]
    fn product_is_exact_however_far_from_the_anchor() {
        let clock = line(1 << 60, -5, 0.25, 0.75);
        assert_eq!(clock.at((1 << 60) + (1 << 55) + 1), ((3 << 53) - 4, 0.0));
        assert_eq!(clock.at((1 << 60) - 1), (-6, 0.5));
        assert_eq!(clock.nearest((1 << 60) - 1), -5);
    }

    #[test]
    fn nonsense_is_no_line() {
        for slope in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-4, 1e4] {
            assert_eq!(Line::through(0, 0, 0.0, slope), None, "{slope}");
        }
        for fraction in [f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(Line::through(0, 0, fraction, 1.0), None, "{fraction}");
        }
        assert_eq!(Line::through(0, i64::MAX, 2.0, 1.0), None);
    }

    #[test]
    fn values_saturate_at_the_ends() {
        let clock = line(0, i64::MAX - 1, 0.0, 2.0);
        assert_eq!(clock.at(1 << 40).0, i64::MAX);
        assert_eq!(clock.nearest(1 << 40), i64::MAX);
    }

    #[test]
    fn reverse_of_scale_and_shift_divides_the_shift_too() {
        let there = BoundedLine::from_scale_and_shift(1.25, 1000.0, 5.0).unwrap();
        let back = there.inverse().unwrap();
        assert_eq!(back.line().slope(), 0.8);
        let (whole, fraction) = back.line().at(0);
        assert!((whole as f64 + fraction - -800.0).abs() < 1e-9);
        assert!((back.bound_at(0) - 4.0).abs() < 1e-6);
    }

    proptest! {
        #[test]
        fn inverse_returns_to_the_cycle(
            anchor in any::<u64>(), units in -(1i64 << 62)..(1 << 62), fraction in 0.0..1.0f64,
            slope in 0.2..40.0f64, distance in -(1i64 << 44)..(1 << 44),
        ) {
            let there = line(anchor, units, fraction, slope);
            let cycles = anchor.wrapping_add_signed(distance);
            let (whole, rest) = there.at(cycles);
            let (back, back_rest) = there.inverse().unwrap().at(whole.cast_unsigned());
            let error = back.wrapping_sub(cycles.cast_signed()) as f64 + back_rest + rest / slope;
            prop_assert!(error.abs() < 0.02, "{error}");
            prop_assert!(!there.reaches(cycles)
                || there.nearest(cycles) == there.nearest_within_reach(cycles));
        }

        #[test]
        fn composition_equals_one_after_the_other(
            anchor in any::<u64>(), middle in 0i64..(1 << 61), outer_at in 0i64..1 << 40,
            inner_slope in 0.5..2.0f64, outer_slope in 0.5..2.0f64, distance in 0u64..1 << 40,
        ) {
            let inner = line(anchor, middle, 0.375, inner_slope);
            let outer = line(middle.cast_unsigned() + 12_345, outer_at, 0.5, outer_slope);
            let cycles = anchor.wrapping_add(distance);
            let (between, rest) = inner.at(cycles);
            let (whole, fraction) = outer.at(between.cast_unsigned());
            let (direct, direct_fraction) = inner.then(&outer).unwrap().at(cycles);
            let expected = fraction + outer_slope * rest;
            let error = (direct - whole) as f64 + direct_fraction - expected;
            prop_assert!(error.abs() < 0.005, "{error}");
        }

        #[test]
        fn bounds_survive_inversion_and_composition(
            at_anchor in 0.0..500.0f64, per_cycle in 0.0..1e-6f64, share in -1.0..1.0f64,
            outer_share in -1.0..1.0f64, distance in -2_000_000_000i64..2_000_000_000,
        ) {
            let cycles = 10_000_000_000u64.wrapping_add_signed(distance);
            let inner = bounded(line(10_000_000_000, 7_000_000, 0.5, 0.74), at_anchor, per_cycle);
            let outer = bounded(line(0, -9_000, 0.25, 1.35), at_anchor / 3.0, per_cycle);
            // The true lines are between the two corner lines. Their values are computed with
            // doubles.
            let inner_error = share * (at_anchor + per_cycle * distance as f64);
            let (whole, fraction) = inner.line().at(cycles);
            let true_whole = whole as f64 + fraction + inner_error;
            let outer_error = outer_share * (at_anchor / 3.0 + per_cycle * true_whole);
            let true_value = -8_999.75 + 1.35 * true_whole + outer_error;
            let both = inner.then(&outer).unwrap();
            let (value, rest) = both.line().at(cycles);
            let error = value as f64 + rest - true_value;
            prop_assert!(error.abs() <= both.bound_at(cycles) + 1e-4, "{error}");

            // When the true inner clock shows `shown`, the counter reads `cycles`.
            let shown = true_whole.floor();
            let whole_units = split(shown).0.cast_unsigned();
            let back = inner.inverse().unwrap();
            let (found, found_rest) = back.line().at(whole_units);
            let error = found as f64 + found_rest + (true_whole - shown) / 0.74 - cycles as f64;
            prop_assert!(error.abs() <= back.bound_at(whole_units) + 1e-4, "{error}");
        }
    }
}
