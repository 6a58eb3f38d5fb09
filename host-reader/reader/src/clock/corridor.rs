//! The max-margin corridor fit: one line with a guaranteed error bound.
//!
//! A two-way ping limits the instant of a counter reading to the interval between two host times.
//! This interval is the bracket of the reading. In the (cycles, host time) plane each bracket is a
//! vertical segment, called a gate. The line that maps each counter value to its actual host time
//! is called the true line. It passes through all gates. If a ping is delayed, its gate only
//! becomes longer. The fit is the line whose vertical distance to the nearest gate end is largest.
//! This distance is called the margin.
//!
//! # The fit
//!
//! For a slope `b` let `w(b) = min(upper_i - b x_i) - max(lower_i - b x_i)` be the width of the
//! interval of possible offsets of a line with that slope. The minimum is attained at a corner of
//! the lower hull of the upper ends, and the maximum at a corner of the upper hull of the lower
//! ends. These two corners are called active. As `b` increases, an active corner changes exactly at
//! the slopes of hull edges. `w` is concave and piecewise linear with breaks at these slopes. So
//! one merge of the edges of both hulls, ordered by slope, evaluates all of `w` in linear time. The
//! derivative of `w` is `x_lower - x_upper`, the difference of the x coordinates of the active
//! corners. `w` is largest where the derivative changes its sign.
//!
//! # The bound
//!
//! The admissible lines `{(a, b): lower_i <= a + b x_i <= upper_i}` are a convex polygon. At a
//! given `x` the deviation of an admissible line from the fit is linear in `(a, b)`, so it is
//! largest at a corner of the polygon. Each corner corresponds to a break of `w` with `w >= 0` or
//! to one of the two zeros of `w`. The true line is in the polygon. So at any `x`, inside or far
//! outside the window of the samples, the deviation of the true line from the fit is at most the
//! largest deviation of the corners.
//!
//! The margin alone, which is half of the largest `w`, is *not* such a bound, although the
//! literature uses it as a bound. The distance from the fit to a gate end equals the margin only at
//! the few gates that limit the fit. The margin ([`CorridorFit::half_width`]) is a measure of the
//! fit's quality, but not an error bound.
//!
//! # Assumptions
//!
//! The bound holds under two conditions. The clocks must run at a constant ratio within the window
//! (otherwise most windows become infeasible, see module `steps`), and the host times must be
//! accurate to the given [`Resolution`]. The way to the chip and the way back (the legs of a ping)
//! need not take equally long. Because the difference of their durations is unknown, the bound
//! cannot be smaller than half a round trip. The actual error is usually a tenth of the bound.

use super::{
    BoundedLine, ClockError, Deviation, ErrorBound, EthernetPing, Line, TwoWayPing,
    hull::{Point, Slope, Walls},
};

/// A reading of a chip's counter, between two readings of another clock (the bracketing clock).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bracket {
    /// Value of the bracketing clock before the reading: host nanoseconds or sender cycles.
    pub before: i64,
    /// Value of the chip's counter, in cycles.
    pub cycles: u64,
    /// Value of the bracketing clock after the reading, in the same units as `before`.
    pub after: i64,
}

impl Bracket {
    /// Returns the two brackets of an Ethernet ping, in sender cycles.
    ///
    /// Both brackets begin at the sender's first stamp and end at the sender's second stamp. The
    /// message's arrival limits the fitted line from below, and the echo's departure limits the
    /// fitted line from above. So the receiver's response time does not widen the corridor.
    pub fn from_ethernet(ping: &EthernetPing) -> [Self; 2] {
        [ping.receiver_start_cycles, ping.receiver_end_cycles].map(|cycles| Self {
            before: ping.sender_start_cycles.cast_signed(),
            cycles,
            after: ping.sender_end_cycles.cast_signed(),
        })
    }
}

impl From<TwoWayPing> for Bracket {
    fn from(ping: TwoWayPing) -> Self {
        Self { before: ping.host_send_ns, cycles: ping.device_cycles, after: ping.host_receive_ns }
    }
}

/// Resolution of the two clocks, in units of the bracketing clock.
///
/// The chip's counter keeps a value for one cycle. So the counter may have reached the value in a
/// bracket up to one cycle earlier than `before`. If the bracketing clock rounds down, the actual
/// time at which `after` was read may be up to one tick later than `after`. Each bracket is
/// therefore widened by one cycle at its beginning and by one tick at its end, which keeps the
/// bound valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resolution {
    /// Duration of one tick of the bracketing clock, in units of that clock.
    pub host_units: u32,
    /// Duration of one cycle of the chip's counter, rounded up to whole units.
    pub device_units: u32,
}

impl Resolution {
    /// Resolution for a host clock that counts nanoseconds and a chip counter of at least 500 MHz.
    pub const HOST_NANOSECONDS: Self = Self { host_units: 1, device_units: 2 };

    /// Resolution for the counters of two chips that have nearly the same frequency.
    pub const CYCLES: Self = Self { host_units: 1, device_units: 2 };
}

/// The line with the largest margin: its distance to the nearest bracket end is as large as
/// possible.
#[derive(Debug, Clone, PartialEq)]
pub struct CorridorFit {
    line: BoundedLine,
    half_width: f64,
    slope_interval: (f64, f64),
    sample_count: usize,
}

impl CorridorFit {
    /// Fits a line to the samples, which may be in any order.
    ///
    /// # Errors
    ///
    /// [`ClockError::Infeasible`] if no line passes through all brackets: the frequency changed, or
    /// a sample is wrong. [`ClockError::NoBaseline`] if there are fewer than two different counter
    /// values. [`ClockError::NotIncreasing`] if the counter values are so close together that the
    /// best line does not rise.
    ///
    /// # Examples
    ///
    /// ```
    /// use reader::clock::{CorridorFit, Resolution, TwoWayPing};
    /// // 1 GHz, pings of 800 ns, the second one delayed by 5 us.
    /// let pings = [(0, 1_000_350, 800), (500_000, 1_500_400, 505_800), (1_000_000, 2_000_420, 1_000_800)]
    ///     .map(|(host_send_ns, device_cycles, host_receive_ns)| TwoWayPing {
    ///         host_send_ns, device_cycles, host_receive_ns,
    ///     });
    /// let fit = CorridorFit::fit(&pings, Resolution::HOST_NANOSECONDS)?;
    /// let (lowest, highest) = fit.slope_interval();
    /// assert!(lowest < 1.0 && 1.0 < highest);
    /// let (ns, _) = fit.line().line().at(1_500_400);
    /// assert!((ns - 500_050).abs() as f64 <= fit.line().bound_at(1_500_400));
    /// # Ok::<(), reader::clock::ClockError>(())
    /// ```
    pub fn fit<B: Copy + Into<Bracket>>(
        samples: &[B],
        resolution: Resolution,
    ) -> Result<Self, ClockError> {
        let brackets: Vec<Bracket> = samples.iter().map(|&sample| sample.into()).collect();
        let walls = Walls::new(&brackets, resolution)?;
        let sweep = Sweep::new(&walls)?;
        let Best { peak, pivot, above_pivot, slope, width } = sweep.best();
        if width < 0.0 {
            return Err(ClockError::Infeasible { deficit_units: -width, slope });
        }
        let anchor_cycles = walls.base_cycles.wrapping_add_signed(pivot.x);
        let anchor_units = walls.base_units.saturating_add(pivot.y);
        let line = Line::through(anchor_cycles, anchor_units, above_pivot, slope)
            .ok_or(ClockError::NotIncreasing { slope })?;
        let corners = sweep.polygon(peak);
        let [steepest, shallowest] =
            [corners[0], corners[1]].map(|(from, to)| Slope::between(from, to).value());
        let deviation = |(from, to): (Point, Point)| {
            let corner = Slope::between(from, to);
            let at_anchor = corner.height_above(from, pivot) - above_pivot;
            Deviation { at_anchor, per_cycle: corner.value() - slope }
        };
        let bound = ErrorBound::from_corners(corners.into_iter().map(deviation).collect());
        Ok(Self {
            line: BoundedLine::new(line, bound),
            half_width: width / 2.0,
            slope_interval: (shallowest, steepest),
            sample_count: brackets.len(),
        })
    }

    /// Returns the fitted line with its guaranteed bound.
    pub fn line(&self) -> &BoundedLine {
        &self.line
    }

    /// Returns the margin: the distance of the line to the nearest bracket end, in units of the
    /// bracketing clock.
    pub fn half_width(&self) -> f64 {
        self.half_width
    }

    /// Returns the smallest and the largest slope of all lines that pass through all brackets.
    pub fn slope_interval(&self) -> (f64, f64) {
        self.slope_interval
    }

    /// Returns the number of samples in the fit.
    pub fn sample_count(&self) -> usize {
        self.sample_count
    }
}

/// Returns true if one line passes through all brackets.
///
/// If all counter values are equal, the result is true if all brackets overlap. If a bracket is
/// malformed, the result is false.
pub(super) fn is_feasible(brackets: &[Bracket], resolution: Resolution) -> bool {
    match Walls::new(brackets, resolution) {
        Err(_) => false,
        Ok(walls) => match Sweep::new(&walls) {
            Ok(sweep) => sweep.best().width >= 0.0,
            Err(_) => walls.upper[0].y >= walls.lower[0].y,
        },
    }
}

/// All breaks of `w(b)` (see the module's documentation), and the active corners between breaks.
struct Sweep<'a> {
    walls: &'a Walls,
    breaks: Vec<Break>,
    /// Active corners, as (index in the upper hull, index in the lower hull): one pair before each
    /// break, and one pair after the last break.
    active: Vec<(usize, usize)>,
}

/// A slope at which the function `w` bends: the slope of a hull edge. At this slope, the active
/// corner moves from one end of the edge to the other end.
#[derive(Clone, Copy)]
struct Break {
    from: Point,
    to: Point,
    is_upper: bool,
}

impl Break {
    fn slope(&self) -> Slope {
        Slope::between(self.from, self.to)
    }
}

impl<'a> Sweep<'a> {
    fn new(walls: &'a Walls) -> Result<Self, ClockError> {
        if walls.upper.len() < 2 {
            return Err(ClockError::NoBaseline);
        }
        let mut sweep =
            Self { walls, breaks: Vec::new(), active: vec![(0, walls.lower.len() - 1)] };
        while let Some(next) = sweep.next_break() {
            let (upper, lower) = sweep.last_active();
            let after = if next.is_upper { (upper + 1, lower) } else { (upper, lower - 1) };
            sweep.breaks.push(next);
            sweep.active.push(after);
        }
        Ok(sweep)
    }

    fn last_active(&self) -> (usize, usize) {
        self.active[self.active.len() - 1]
    }

    /// Returns the edge with the next larger slope, out of the edges of both hulls.
    fn next_break(&self) -> Option<Break> {
        let (upper, lower) = self.last_active();
        let up = self.walls.upper.get(upper..upper + 2).map(|edge| edge_break(edge, true));
        let down = lower
            .checked_sub(1)
            .and_then(|before| self.walls.lower.get(before..=lower))
            .map(|edge| edge_break(edge, false));
        match (up, down) {
            (Some(up), Some(down)) if up.slope().compare(down.slope()).is_gt() => Some(down),
            (up, down) => up.or(down),
        }
    }

    fn corners(&self, stretch: usize) -> (Point, Point) {
        let (upper, lower) = self.active[stretch];
        (self.walls.upper[upper], self.walls.lower[lower])
    }

    /// Returns the fitted line, whose slope maximizes `w`.
    ///
    /// `w` has its maximum (the peak) at a break: the break at the beginning of the first interval
    /// in which `w` does not rise.
    fn best(&self) -> Best {
        // Both hulls have the same range of x, so `w` rises before the first break and falls after
        // the last. So at least one break precedes the interval that begins at the peak.
        let peak = (1..self.active.len()).find(|&stretch| {
            let (upper, lower) = self.corners(stretch);
            upper.x >= lower.x
        });
        let peak = peak.unwrap_or(self.breaks.len());
        let left = self.breaks[peak - 1];
        let (upper, lower) = self.corners(peak);
        if upper.x == lower.x {
            // Flat maximum: any slope up to the next break is equally good.
            let right = self.breaks.get(peak).unwrap_or(&left);
            let slope = f64::midpoint(left.slope().value(), right.slope().value());
            let width = (upper.y - lower.y) as f64;
            return Best { peak, pivot: lower, above_pivot: width / 2.0, slope, width };
        }
        let opposite = if left.is_upper { lower } else { upper };
        let height = left.slope().height_above(left.from, opposite);
        let width = if left.is_upper { height } else { -height };
        let slope = left.slope().value();
        Best { peak, pivot: opposite, above_pivot: height / 2.0, slope, width }
    }

    /// Returns the lines that correspond to the corners of the polygon of admissible lines. Each
    /// line is given by two of its points, ordered from left to right.
    ///
    /// The first line is the steepest, the second the shallowest.
    fn polygon(&self, peak: usize) -> Vec<(Point, Point)> {
        let last = (peak..self.breaks.len()).find(|&s| self.ends_before_next_break(s));
        let last = last.unwrap_or(self.breaks.len());
        let first = (1..peak).rev().find(|&s| self.starts_after_previous_break(s)).unwrap_or(0);
        let (upper_at_last, lower_at_last) = self.corners(last);
        let mut corners = vec![(lower_at_last, upper_at_last), self.corners(first)];
        corners.extend(self.breaks[first..last].iter().map(|edge| (edge.from, edge.to)));
        corners
    }

    /// Returns true if `w` falls to zero in interval `stretch`, at or before the break that ends
    /// the interval.
    fn ends_before_next_break(&self, stretch: usize) -> bool {
        let (upper, lower) = self.corners(stretch);
        upper.x > lower.x
            && Slope::between(lower, upper).compare(self.breaks[stretch].slope()).is_le()
    }

    /// Returns true if `w` rises from zero in interval `stretch`, at or after the break that begins
    /// the interval.
    fn starts_after_previous_break(&self, stretch: usize) -> bool {
        let (upper, lower) = self.corners(stretch);
        Slope::between(upper, lower).compare(self.breaks[stretch - 1].slope()).is_ge()
    }
}

fn edge_break(edge: &[Point], is_upper: bool) -> Break {
    Break { from: edge[0], to: edge[1], is_upper }
}

/// The peak of `w(b)` and the fitted line.
struct Best {
    /// Index of the interval between breaks that begins at the peak of `w`.
    peak: usize,
    /// Hull corner from which the height of the fitted line is measured: an active corner at the
    /// slope of the fitted line.
    pivot: Point,
    /// Height of the fitted line above `pivot`, in units of the bracketing clock.
    above_pivot: f64,
    slope: f64,
    width: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const EXACT: Resolution = Resolution { host_units: 0, device_units: 0 };

    fn bracket(before: i64, cycles: u64, after: i64) -> Bracket {
        Bracket { before, cycles, after }
    }

    fn value(line: &Line, cycles: u64) -> f64 {
        let (whole, fraction) = line.at(cycles);
        whole as f64 + fraction
    }

    /// Returns the width of the interval of possible offsets of lines with this slope, computed
    /// from all brackets.
    fn room(brackets: &[Bracket], slope: f64) -> f64 {
        let offset = |y: i64, b: &Bracket| y as f64 - slope * b.cycles as f64;
        let high = brackets.iter().map(|b| offset(b.after, b)).fold(f64::MAX, f64::min);
        let low = brackets.iter().map(|b| offset(b.before, b)).fold(f64::MIN, f64::max);
        high - low
    }

    /// Returns every line through two bracket ends. Each line is given by its slope and one of the
    /// two ends: (slope, cycles, value of the bracketing clock).
    fn lines_through_two_ends(brackets: &[Bracket]) -> Vec<(f64, f64, f64)> {
        let ends = brackets.iter().flat_map(|b| [(b.cycles, b.before), (b.cycles, b.after)]);
        let ends: Vec<(f64, f64)> = ends.map(|(x, y)| (x as f64, y as f64)).collect();
        let pairs = ends.iter().flat_map(|p| ends.iter().map(move |q| (p, q)));
        pairs
            .filter(|(p, q)| p.0 < q.0)
            .map(|(p, q)| ((q.1 - p.1) / (q.0 - p.0), p.0, p.1))
            .collect()
    }

    fn is_admissible(brackets: &[Bracket], slope: f64, x: f64, y: f64) -> bool {
        brackets.iter().all(|b| {
            let at = y + slope * (b.cycles as f64 - x);
            (b.before as f64 - 1e-9..=b.after as f64 + 1e-9).contains(&at)
        })
    }

    /// Generates ascending brackets of random length; any line through all of them rises.
    fn gates() -> impl Strategy<Value = Vec<Bracket>> {
        let gate = (0u64..40, 0i64..60, 0i64..60);
        prop::collection::vec(
            gate.prop_map(|(x, low, height)| {
                let trend = 1000 * x.cast_signed();
                bracket(trend + low, x, trend + low + height)
            }),
            2..12,
        )
    }

    proptest! {
        #[test]
        fn fit_has_the_largest_margin_of_all_lines(brackets in gates()) {
            let slopes = lines_through_two_ends(&brackets).into_iter().map(|line| line.0);
            let widest = slopes.map(|slope| room(&brackets, slope)).fold(f64::MIN, f64::max);
            match CorridorFit::fit(&brackets, EXACT) {
                Ok(fit) => prop_assert!((fit.half_width() - widest / 2.0).abs() < 1e-6),
                Err(ClockError::Infeasible { deficit_units, .. }) => {
                    prop_assert!((deficit_units + widest).abs() < 1e-6);
                }
                Err(error) => prop_assert_eq!(error, ClockError::NoBaseline),
            }
        }

        #[test]
        fn bound_is_the_largest_deviation_of_any_admissible_line(
            brackets in gates(), at in 0u64..200,
        ) {
            let Ok(fit) = CorridorFit::fit(&brackets, EXACT) else { return Ok(()) };
            let mut corners = lines_through_two_ends(&brackets);
            corners.retain(|&(slope, x, y)| is_admissible(&brackets, slope, x, y));
            let fitted = value(fit.line().line(), at);
            let largest = corners
                .iter()
                .map(|&(slope, x, y)| (y + slope * (at as f64 - x) - fitted).abs())
                .fold(0.0, f64::max);
            prop_assert!((fit.line().bound_at(at) - largest).abs() < 1e-6);
            let slopes = corners.iter().map(|line| line.0);
            let (lowest, highest) = fit.slope_interval();
            prop_assert!((slopes.clone().fold(f64::MAX, f64::min) - lowest).abs() < 1e-9);
            prop_assert!((slopes.fold(f64::MIN, f64::max) - highest).abs() < 1e-9);
        }

        #[test]
        fn any_words_give_a_fit_or_an_error(
            raw in prop::collection::vec((any::<i64>(), any::<u64>(), any::<i64>()), 0..20),
            host_units in any::<u32>(), device_units in any::<u32>(),
        ) {
            let brackets: Vec<_> = raw.into_iter().map(|(b, c, a)| bracket(b, c, a)).collect();
            let _ = CorridorFit::fit(&brackets, Resolution { host_units, device_units });
        }
    }

    #[test]
    fn half_the_margin_is_no_bound() {
        // The short bracket in the middle determines the margin; the long brackets allow many
        // slopes.
        let brackets = [bracket(-30, 0, 30), bracket(49, 50, 51), bracket(70, 100, 130)];
        let fit = CorridorFit::fit(&brackets, EXACT).unwrap();
        assert_eq!(fit.half_width(), 1.0);
        assert!((value(fit.line().line(), 100) - (50.0 + 1.5 * (100.0 - 50.0))).abs() > 20.0);
        assert!(fit.line().bound_at(100) >= 25.0);
    }

    #[test]
    fn delayed_pings_do_not_move_a_tight_fit() {
        let on_time = [bracket(0, 0, 10), bracket(1000, 1000, 1010), bracket(2000, 2000, 2010)];
        let late = [bracket(400, 700, 760), bracket(1400, 1405, 9000)];
        let alone = CorridorFit::fit(&on_time, EXACT).unwrap();
        let together = CorridorFit::fit(&[&on_time[..], &late].concat(), EXACT).unwrap();
        assert_eq!(alone.line().line(), together.line().line());
    }

    #[test]
    fn brackets_that_no_line_passes_are_reported_with_their_deficit() {
        let brackets = [bracket(0, 0, 0), bracket(1010, 1000, 1010), bracket(2000, 2000, 2000)];
        let error = CorridorFit::fit(&brackets, EXACT).unwrap_err();
        assert_eq!(error, ClockError::Infeasible { deficit_units: 10.0, slope: 1.0 });
    }

    #[test]
    fn malformed_samples_are_named() {
        let good = bracket(0, 0, 1);
        assert_eq!(fit_error(&[]), ClockError::TooFewSamples { needed: 2, found: 0 });
        assert_eq!(fit_error(&[good, good]), ClockError::NoBaseline);
        assert_eq!(fit_error(&[good, bracket(5, 1, 4)]), ClockError::InvertedSample { index: 1 });
        let far = bracket(5, 1 << 61, 6);
        assert_eq!(fit_error(&[good, far]), ClockError::SpanTooWide { index: 1 });
        let falling = bracket(-100, 10, -99);
        assert_eq!(fit_error(&[good, falling]), ClockError::NotIncreasing { slope: -10.0 });
    }

    fn fit_error(brackets: &[Bracket]) -> ClockError {
        CorridorFit::fit(brackets, EXACT).unwrap_err()
    }

    #[test]
    fn counter_that_wraps_at_64_bits_is_no_obstacle() {
        let start = u64::MAX - 499;
        let at = |ns: u64| bracket(ns.cast_signed(), start.wrapping_add(ns), ns.cast_signed());
        let fit = CorridorFit::fit(&[at(0), at(1000)], EXACT).unwrap();
        assert_eq!(fit.line().line().at(start.wrapping_add(700)), (700, 0.0));
    }

    #[test]
    fn both_ends_of_an_ethernet_ping_lie_in_the_senders_bracket() {
        let ping = EthernetPing {
            sender_start_cycles: 100,
            receiver_start_cycles: 7,
            receiver_end_cycles: 9,
            sender_end_cycles: 200,
        };
        assert_eq!(Bracket::from_ethernet(&ping), [bracket(100, 7, 200), bracket(100, 9, 200)]);
    }
}
