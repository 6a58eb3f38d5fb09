//! A chip's clock as a piecewise linear function with few points. The page uses this function to
//! convert cycles to time.

use recording::DeviceClock;

/// Point of a clock: cycles since the chip's first cycle, and nanoseconds since the trace's origin.
pub(super) type Knot = (u64, u64);

/// Maximum error of a time interpolated between two knots.
const TOLERANCE_NS: u64 = 1;

/// Maximum number of times that an interval is halved.
const MAX_HALVINGS: u32 = 10;

/// Returns at least two knots. Linear interpolation between the knots is accurate to
/// `TOLERANCE_NS`.
pub(super) fn knots(clock: &DeviceClock<'_>) -> Vec<Knot> {
    let (first, last) = (clock.first_cycle(), clock.last_cycle());
    // The last knot must differ from the first one, even for a chip without records.
    let [begin, end] = [first, last.max(first.saturating_add(1))]
        .map(|cycle| (cycle - first, clock.time_ns(cycle)));
    let mut knots = vec![begin];
    refine(&mut knots, begin, end, MAX_HALVINGS, &|relative| clock.time_ns(first + relative));
    knots
}

fn refine(
    knots: &mut Vec<Knot>,
    begin: Knot,
    end: Knot,
    halvings_left: u32,
    time_ns: &dyn Fn(u64) -> u64,
) {
    let span = end.0 - begin.0;
    let is_straight = (1..4).all(|quarter| {
        let cycle = begin.0 + span / 4 * quarter;
        between(begin, end, cycle).abs_diff(time_ns(cycle)) <= TOLERANCE_NS
    });
    if is_straight || halvings_left == 0 || span < 8 {
        knots.push(end);
        return;
    }
    let middle = begin.0 + span / 2;
    let middle = (middle, time_ns(middle));
    refine(knots, begin, middle, halvings_left - 1, time_ns);
    refine(knots, middle, end, halvings_left - 1, time_ns);
}

/// Returns the time at a cycle, interpolated between two knots.
pub(super) fn between(begin: Knot, end: Knot, cycle: u64) -> u64 {
    let (cycles, span) = (u128::from(cycle - begin.0), u128::from(end.0 - begin.0).max(1));
    let ns = u128::from(end.1.saturating_sub(begin.1)) * cycles / span;
    begin.1.saturating_add(u64::try_from(ns).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_clock_needs_its_ends_only() {
        let mut knots = vec![(0, 0)];
        refine(&mut knots, (0, 0), (1_000_000, 740_741), MAX_HALVINGS, &|cycle| cycle * 100 / 135);
        assert_eq!(knots, [(0, 0), (1_000_000, 740_741)]);
    }

    #[test]
    fn a_step_of_the_frequency_is_found_to_within_the_tolerance() {
        let time =
            |cycle: u64| if cycle < 300_000 { cycle } else { 300_000 + (cycle - 300_000) * 2 };
        let (begin, end) = ((0, 0), (1 << 20, time(1 << 20)));
        let mut knots = vec![begin];
        refine(&mut knots, begin, end, MAX_HALVINGS, &time);
        // The frequency changes at one point. Each of ten halvings adds at most one knot before and
        // one after this point.
        assert!(knots.len() <= 2 * 10 + 2, "{}", knots.len());
        for cycle in (0..1 << 20).step_by(997) {
            let next = knots.partition_point(|knot| knot.0 <= cycle);
            let drawn = between(knots[next - 1], knots[next], cycle);
            assert!(drawn.abs_diff(time(cycle)) <= 600, "{cycle}: {drawn}");
        }
    }
}
