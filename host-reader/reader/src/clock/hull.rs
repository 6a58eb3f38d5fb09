//! Convex hulls of the two walls of a corridor, in exact integer arithmetic.
//!
//! The upper wall consists of the upper ends of all brackets, the lower wall of the lower ends. A
//! line stays below all points of the upper wall if and only if it stays below the lower hull of
//! these points. A line stays above all points of the lower wall if and only if it stays above the
//! upper hull of these points. The fit therefore needs only a few hull corners.

use super::{Bracket, ClockError, Resolution};
use std::cmp::Ordering;

/// Limit of coordinates: if all coordinates are below 2^60, every cross product fits 128 bits.
const SPAN_LIMIT: u64 = 1 << 60;

/// The upper or lower end of a bracket, relative to the first bracket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Point {
    pub(super) x: i64,
    pub(super) y: i64,
}

/// Slope of the segment between two points, as an exact fraction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Slope {
    dy: i64,
    /// Always positive.
    dx: i64,
}

impl Slope {
    /// Returns the slope from `from` to `to`; `from` must be left of `to`.
    pub(super) fn between(from: Point, to: Point) -> Self {
        Self { dy: to.y - from.y, dx: to.x - from.x }
    }

    pub(super) fn compare(self, other: Self) -> Ordering {
        let mine = i128::from(self.dy) * i128::from(other.dx);
        mine.cmp(&(i128::from(other.dy) * i128::from(self.dx)))
    }

    pub(super) fn value(self) -> f64 {
        self.dy as f64 / self.dx as f64
    }

    /// Returns the vertical distance from `point` up to the line that has this slope and passes
    /// through the point `on`; negative if the line is below `point`.
    pub(super) fn height_above(self, on: Point, point: Point) -> f64 {
        let rise = i128::from(self.dy) * i128::from(point.x - on.x);
        let above = rise + i128::from(on.y - point.y) * i128::from(self.dx);
        above as f64 / self.dx as f64
    }
}

/// Convex hulls of the upper and of the lower bracket ends, each ordered from left to right.
pub(super) struct Walls {
    pub(super) base_cycles: u64,
    pub(super) base_units: i64,
    /// Lower convex hull of the upper ends of all brackets. Its slopes increase from left to right.
    pub(super) upper: Vec<Point>,
    /// Upper convex hull of the lower ends of all brackets. Its slopes decrease from left to right.
    pub(super) lower: Vec<Point>,
}

impl Walls {
    /// Widens the brackets by the resolution of the clocks and computes their hulls.
    pub(super) fn new(brackets: &[Bracket], resolution: Resolution) -> Result<Self, ClockError> {
        let Some(first) = brackets.first() else {
            return Err(ClockError::TooFewSamples { needed: 2, found: 0 });
        };
        let mut posts = Vec::with_capacity(brackets.len());
        for (index, bracket) in brackets.iter().enumerate() {
            posts.push(Post::new(bracket, first, resolution, index)?);
        }
        if !posts.is_sorted_by_key(|post| post.x) {
            posts.sort_by_key(|post| post.x);
        }
        let upper = lower_hull(posts.iter().map(|p| Point { x: p.x, y: p.upper }));
        // The upper hull of the lower wall is the mirrored lower hull of the mirrored points.
        let mirrored = lower_hull(posts.iter().map(|p| Point { x: p.x, y: -p.lower }));
        let lower = mirrored.into_iter().map(|p| Point { x: p.x, y: -p.y }).collect();
        Ok(Self { base_cycles: first.cycles, base_units: first.before, upper, lower })
    }
}

/// One bracket, widened by the resolution of the clocks. All values are relative to the first
/// bracket.
struct Post {
    x: i64,
    lower: i64,
    upper: i64,
}

impl Post {
    fn new(
        bracket: &Bracket,
        base: &Bracket,
        resolution: Resolution,
        index: usize,
    ) -> Result<Self, ClockError> {
        if bracket.after < bracket.before {
            return Err(ClockError::InvertedSample { index });
        }
        let lower = bracket.before.checked_sub(base.before);
        let lower = lower.and_then(|v| v.checked_sub(resolution.device_units.into()));
        let upper = bracket.after.checked_sub(base.before);
        let upper = upper.and_then(|v| v.checked_add(resolution.host_units.into()));
        let x = bracket.cycles.wrapping_sub(base.cycles).cast_signed();
        let [x, lower, upper] = [Some(x), lower, upper]
            .map(|value| value.filter(|v| v.unsigned_abs() < SPAN_LIMIT))
            .map(|value| value.ok_or(ClockError::SpanTooWide { index }));
        Ok(Self { x: x?, lower: lower?, upper: upper? })
    }
}

/// Returns the lower convex hull of points sorted by `x` (Andrew's monotone chain).
fn lower_hull(points: impl Iterator<Item = Point>) -> Vec<Point> {
    let mut hull: Vec<Point> = Vec::new();
    for point in points {
        if let Some(last) = hull.last()
            && last.x == point.x
        {
            if last.y <= point.y {
                continue;
            }
            hull.pop();
        }
        while let [.., before, last] = hull[..] {
            let turns_left =
                Slope::between(before, last).compare(Slope::between(before, point)).is_lt();
            if turns_left {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn hull_is_below_all_points_and_made_of_points(
            mut raw in prop::collection::vec((-50i64..50, -50i64..50), 1..40),
        ) {
            raw.sort_unstable_by_key(|p| p.0);
            let points: Vec<_> = raw.iter().map(|&(x, y)| Point { x, y }).collect();
            let hull = lower_hull(points.iter().copied());
            prop_assert!(hull.iter().all(|p| points.contains(p)));
            prop_assert!(hull.is_sorted_by(|a, b| a.x < b.x));
            for edge in hull.windows(2) {
                for &p in &points {
                    prop_assert!(Slope::between(edge[0], edge[1]).height_above(edge[0], p) <= 1e-9);
                }
            }
            for edges in hull.windows(3) {
                prop_assert!(Slope::between(edges[0], edges[1])
                    .compare(Slope::between(edges[1], edges[2])).is_lt());
            }
        }
    }
}
