//! A clock as a sequence of lines, one per interval of constant frequency.
//!
//! The exact cycle of a frequency change is unknown. The interval of cycles in which the change
//! happened is called a transition of the clock. Inside the transition the true clock follows one
//! of the two neighbouring lines, so the bound covers both lines. This module does not detect
//! frequency changes.

use super::{BoundedLine, Line};

/// Boundary between two lines of a clock, at a change of frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Split {
    /// First cycle at which the line after the split is used.
    pub cycles: u64,
    /// The frequency changed at this cycle or later.
    pub earliest_cycles: u64,
    /// The frequency changed at this cycle or earlier.
    pub latest_cycles: u64,
}

/// A map from a counter to another clock, made of one or several lines.
#[derive(Debug, Clone, PartialEq)]
pub struct PiecewiseClock {
    lines: Vec<BoundedLine>,
    inverses: Vec<BoundedLine>,
    splits: Vec<Split>,
}

impl PiecewiseClock {
    /// Returns a clock of constant frequency; `None` if the line cannot be inverted.
    pub fn constant(line: BoundedLine) -> Option<Self> {
        Self::new(vec![line], Vec::new())
    }

    /// Joins lines at splits.
    ///
    /// There must be one more line than splits, the splits must be in ascending order, each split's
    /// cycle must be between its earliest and its latest cycle, and every line must be invertible.
    /// Otherwise returns `None`.
    pub fn new(lines: Vec<BoundedLine>, splits: Vec<Split>) -> Option<Self> {
        let base = splits.first().map_or(0, |first| first.cycles);
        let ascending = splits.is_sorted_by_key(|s| signed(s.cycles, base));
        let in_transition = splits.iter().all(|s| {
            signed(s.earliest_cycles, s.cycles) <= 0 && signed(s.latest_cycles, s.cycles) >= 0
        });
        if lines.len() != splits.len() + 1 || !ascending || !in_transition {
            return None;
        }
        let inverses = lines.iter().map(BoundedLine::inverse).collect::<Option<_>>()?;
        Some(Self { lines, inverses, splits })
    }

    /// Returns the lines, ordered by time.
    pub fn lines(&self) -> &[BoundedLine] {
        &self.lines
    }

    /// Returns the line that applies at a cycle.
    pub fn line_at(&self, cycles: u64) -> &BoundedLine {
        &self.lines[self.index_at(cycles)]
    }

    /// Returns the value of the other clock at a cycle: whole units, rounded down, and the
    /// fraction.
    pub fn at(&self, cycles: u64) -> (i64, f64) {
        self.line_at(cycles).line().at(cycles)
    }

    /// Returns the maximum error of [`Self::at`], in units.
    pub fn bound_at(&self, cycles: u64) -> f64 {
        let index = self.index_at(cycles);
        let before = index.checked_sub(1).map(|split| self.transition_bound(cycles, split, split));
        let after =
            (index < self.splits.len()).then(|| self.transition_bound(cycles, index, index + 1));
        let own = self.lines[index].bound_at(cycles);
        own.max(before.unwrap_or(0.0)).max(after.unwrap_or(0.0))
    }

    /// Returns the largest bound in an inclusive range of cycles, in units.
    ///
    /// The bound is convex within each interval of constant frequency and within each transition.
    /// It is therefore sufficient to evaluate the ends of the range, and the ends of the intervals
    /// and transitions in the range.
    pub fn bound_over(&self, first_cycles: u64, last_cycles: u64) -> f64 {
        let is_inside =
            |&cycles: &u64| signed(cycles, first_cycles) >= 0 && signed(last_cycles, cycles) >= 0;
        let cuts = self.splits.iter().flat_map(|split| {
            let last_before = split.cycles.wrapping_sub(1);
            [split.cycles, last_before, split.earliest_cycles, split.latest_cycles]
        });
        [first_cycles, last_cycles]
            .into_iter()
            .chain(cuts.filter(is_inside))
            .map(|cycles| self.bound_at(cycles))
            .fold(0.0, f64::max)
    }

    /// Returns the cycle at which the other clock shows `units`: whole cycles, fraction and maximum
    /// error in cycles.
    pub fn cycles_at(&self, units: i64) -> (u64, f64, f64) {
        // If two lines do not meet at their split, both lines or neither may reach `units`. The
        // earlier line applies up to the split.
        let pieces = self.splits.iter().zip(&self.lines);
        let index =
            pieces.take_while(|(split, line)| line.line().at(split.cycles).0 <= units).count();
        let inverse = &self.inverses[index];
        let (cycles, rest) = inverse.line().at(units.cast_unsigned());
        let cycles = cycles.cast_unsigned();
        // Inside a transition, the bound is the line's own bound times a factor. The bound of the
        // inverse grows by the same factor.
        let factor = self.bound_at(cycles) / self.lines[index].bound_at(cycles);
        let bound = inverse.bound_at(units.cast_unsigned());
        (cycles, rest, if factor > 1.0 { bound * factor } else { bound })
    }

    /// Composes two maps: first `inner`, from another counter to this clock's counter, then this
    /// clock.
    pub fn after(&self, inner: &BoundedLine) -> Option<Self> {
        let back = inner.inverse()?;
        let lines = self.lines.iter().map(|line| inner.then(line)).collect::<Option<_>>()?;
        Self::new(
            lines,
            self.splits
                .iter()
                .map(|split| Split {
                    cycles: moved(&back, split.cycles, 0.0),
                    earliest_cycles: moved(&back, split.earliest_cycles, -1.0),
                    latest_cycles: moved(&back, split.latest_cycles, 1.0),
                })
                .collect(),
        )
    }

    pub(super) fn index_at(&self, cycles: u64) -> usize {
        // Usually there is only one line, so there are no splits to search.
        self.splits.partition_point(|split| signed(cycles, split.cycles) >= 0)
    }

    /// Returns the maximum error at a cycle inside the transition of `split`, if the true clock
    /// follows the line `other`; returns 0 outside the transition.
    fn transition_bound(&self, cycles: u64, split: usize, other: usize) -> f64 {
        let Split { earliest_cycles, latest_cycles, .. } = self.splits[split];
        if signed(cycles, earliest_cycles) < 0 || signed(cycles, latest_cycles) > 0 {
            return 0.0;
        }
        let other = &self.lines[other];
        let gap: f64 = self.line_at(cycles).line().minus(other.line(), cycles).abs();
        gap + other.bound_at(cycles)
    }

    /// Returns the line of a clock of constant frequency; `None` for a clock with several lines.
    pub(super) fn only_line(&self) -> Option<&Line> {
        match &self.lines[..] {
            [line] => Some(line.line()),
            _ => None,
        }
    }
}

/// Returns the signed difference of two counter values; correct for differences below 2^63 cycles.
fn signed(cycles: u64, base: u64) -> i64 {
    cycles.wrapping_sub(base).cast_signed()
}

/// Converts a cycle with `map`. Moves the result later (`sign` 1) or earlier (`sign` -1) by at
/// least its maximum error; with `sign` 0, the result is not moved.
#[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is wanted")]
fn moved(map: &BoundedLine, cycles: u64, sign: f64) -> u64 {
    let (whole, _) = map.line().at(cycles);
    let margin = if sign == 0.0 { 0 } else { (sign * (map.bound_at(cycles) + 1.0)) as i64 };
    whole.saturating_add(margin).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Deviation, ErrorBound};
    use proptest::prelude::*;

    fn bounded(anchor: u64, units: i64, slope: f64) -> BoundedLine {
        let corners = [(3.0, 1e-3), (-2.0, 2e-3), (1.0, -4e-3)]
            .map(|(at_anchor, per_cycle)| Deviation { at_anchor, per_cycle });
        let line = Line::through(anchor, units, 0.0, slope).unwrap();
        BoundedLine::new(line, ErrorBound::from_corners(corners.to_vec()))
    }

    /// Returns a clock with slopes 1, 1.5 and 1; the lines meet at the splits.
    fn clock(start: u64) -> PiecewiseClock {
        let at = |cycles: u64| start.wrapping_add(cycles);
        let split = |cycles, earliest, latest| Split {
            cycles: at(cycles),
            earliest_cycles: at(earliest),
            latest_cycles: at(latest),
        };
        PiecewiseClock::new(
            vec![
                bounded(at(0), 0, 1.0),
                bounded(at(1000), 1000, 1.5),
                bounded(at(2000), 2500, 1.0),
            ],
            vec![split(1000, 900, 1100), split(2000, 1900, 2050)],
        )
        .unwrap()
    }

    #[test]
    fn each_stretch_converts_by_its_own_line() {
        let clock = clock(u64::MAX - 1500);
        let at = |cycles: u64| clock.at((u64::MAX - 1500).wrapping_add(cycles)).0;
        assert_eq!(
            [at(999), at(1000), at(1500), at(2000), at(3000)],
            [999, 1000, 1750, 2500, 3500]
        );
    }

    #[test]
    fn inverse_finds_the_stretch() {
        let clock = clock(1 << 50);
        for cycles in [0, 999, 1002, 1500, 2000, 3000] {
            let cycles = (1 << 50) + cycles;
            let (units, fraction) = clock.at(cycles);
            let (found, rest, _) = clock.cycles_at(units);
            let slope = clock.line_at(cycles).line().slope();
            let error = signed(found, cycles) as f64 + rest + fraction / slope;
            assert!(error.abs() < 1e-9, "{cycles}: {error}");
        }
    }

    #[test]
    fn bound_in_a_transition_covers_the_neighbour() {
        let clock = clock(0);
        for cycles in [950, 1050] {
            let gap = clock.lines()[0].line().minus(clock.lines()[1].line(), cycles).abs();
            assert_eq!(gap, 25.0);
            assert!(clock.bound_at(cycles) >= gap);
        }
        assert!(clock.bound_at(899) < 5.0);
    }

    #[test]
    fn lines_and_splits_must_match() {
        let line = bounded(0, 0, 1.0);
        let late = Split { cycles: 10, earliest_cycles: 20, latest_cycles: 30 };
        assert_eq!(PiecewiseClock::new(vec![], vec![]), None);
        assert_eq!(PiecewiseClock::new(vec![line.clone(), line], vec![late]), None);
    }

    proptest! {
        #[test]
        fn bound_over_a_range_is_the_largest_in_it(first in 0u64..3000, length in 0u64..1500) {
            let clock = clock(0);
            let each = (first..=first + length).map(|cycles| clock.bound_at(cycles));
            let largest = each.fold(0.0, f64::max);
            prop_assert!((clock.bound_over(first, first + length) - largest).abs() < 1e-9);
        }
    }
}
