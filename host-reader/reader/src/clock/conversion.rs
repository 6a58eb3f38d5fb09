//! Conversion of a chip's cycles to host time.

use super::{ClockError, PiecewiseClock};

/// An instant on the host's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostTime {
    /// Whole nanoseconds of the host clock, rounded down.
    pub ns: i64,
    /// Fraction of a nanosecond to add to `ns`, in `0..1`.
    pub fraction_ns: f64,
    /// Maximum error of the time, in nanoseconds.
    pub bound_ns: f64,
}

/// Conversion to host time. The clock must map cycles to nanoseconds of the host's clock.
impl PiecewiseClock {
    /// Converts a counter value to a host time, which includes its maximum error.
    ///
    /// ```
    /// use reader::clock::*;
    /// let pings = [(0, 5_000_000_350, 780), (1_000_000_000, 6_000_000_350, 1_000_000_780)]
    ///     .map(|(host_send_ns, device_cycles, host_receive_ns)| TwoWayPing {
    ///         host_send_ns, device_cycles, host_receive_ns,
    ///     });
    /// let fit = CorridorFit::fit(&pings, Resolution::HOST_NANOSECONDS)?;
    /// let clock = PiecewiseClock::constant(fit.line().clone()).expect("a clock rises");
    /// let time = clock.to_host_ns(5_500_000_350);
    /// assert_eq!(time.ns, 500_000_389);
    /// assert!(time.bound_ns < 400.0);
    /// # Ok::<(), ClockError>(())
    /// ```
    pub fn to_host_ns(&self, cycles: u64) -> HostTime {
        let (ns, fraction_ns) = self.at(cycles);
        HostTime { ns, fraction_ns, bound_ns: self.bound_at(cycles) }
    }

    /// Returns the frequency at a counter value, in GHz.
    pub fn frequency_ghz(&self, cycles: u64) -> f64 {
        self.line_at(cycles).line().slope().recip()
    }

    /// Converts `cycles` to host times, rounded to whole nanoseconds, and writes them into
    /// `host_ns`.
    ///
    /// Returns the maximum error of all written values, including the error of rounding.
    ///
    /// # Errors
    ///
    /// [`ClockError::LengthMismatch`] unless both slices have the same length.
    pub fn convert(&self, cycles: &[u64], host_ns: &mut [i64]) -> Result<f64, ClockError> {
        let (input, output) = (cycles.len(), host_ns.len());
        if input != output {
            return Err(ClockError::LengthMismatch { input, output });
        }
        let Some((first, last)) = range(cycles) else { return Ok(0.0) };
        match self.only_line() {
            Some(line) if line.reaches(first) && line.reaches(last) => {
                fill(host_ns, cycles, |cycles| line.nearest_within_reach(cycles));
            }
            _ => fill(host_ns, cycles, |cycles| self.line_at(cycles).line().nearest(cycles)),
        }
        Ok(self.bound_over(first, last) + 0.5)
    }
}

/// Returns the earliest and the latest counter value; `None` if there are no values.
///
/// Values are compared by their distance from the first value, so the counter may wrap between two
/// values.
fn range(cycles: &[u64]) -> Option<(u64, u64)> {
    let &base = cycles.first()?;
    let distances = cycles.iter().map(|&cycles| cycles.wrapping_sub(base).cast_signed());
    let (first, last) = distances.fold((0, 0), |(low, high), d| (d.min(low), d.max(high)));
    Some((base.wrapping_add_signed(first), base.wrapping_add_signed(last)))
}

fn fill(host_ns: &mut [i64], cycles: &[u64], convert: impl Fn(u64) -> i64) {
    for (value, &cycles) in host_ns.iter_mut().zip(cycles) {
        *value = convert(cycles);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{BoundedLine, ErrorBound, Line, Split};
    use proptest::prelude::*;

    fn bounded(anchor: u64, ns: i64, slope: f64, bound_ns: f64) -> BoundedLine {
        let line = Line::through(anchor, ns, 0.0, slope).unwrap();
        BoundedLine::new(line, ErrorBound::constant(bound_ns))
    }

    fn constant(slope: f64) -> PiecewiseClock {
        PiecewiseClock::constant(bounded(0, 7000, slope, 40.0)).unwrap()
    }

    /// Returns a clock with 1.6 ns per cycle up to cycle 1000, then 0.8 ns per cycle.
    fn stepped() -> PiecewiseClock {
        let split = Split { cycles: 1000, earliest_cycles: 1000, latest_cycles: 1000 };
        let lines = vec![bounded(0, 7000, 1.6, 40.0), bounded(1000, 8600, 0.8, 40.0)];
        PiecewiseClock::new(lines, vec![split]).unwrap()
    }

    #[test]
    fn each_cycle_has_its_time_and_its_frequency() {
        let clock = stepped();
        let times = [500, 1100].map(|cycles| clock.to_host_ns(cycles));
        assert_eq!(times.map(|time| time.ns), [7800, 8680]);
        assert!(
            times.iter().all(|time| time.fraction_ns < 1e-9 && (time.bound_ns - 40.0).abs() < 1e-6)
        );
        assert_eq!([500, 1100].map(|cycles| clock.frequency_ghz(cycles)), [0.625, 1.25]);
    }

    #[test]
    fn slices_of_different_length_are_refused() {
        let error = stepped().convert(&[1, 2], &mut [0]).unwrap_err();
        assert_eq!(error, ClockError::LengthMismatch { input: 2, output: 1 });
    }

    #[test]
    fn nothing_to_convert_is_fine() {
        assert_eq!(stepped().convert(&[], &mut []), Ok(0.0));
    }

    proptest! {
        #[test]
        fn columns_equal_single_conversions(
            cycles in prop::collection::vec(0u64..3000, 1..50), is_constant in any::<bool>(),
        ) {
            let clock = if is_constant { constant(1.6) } else { stepped() };
            let mut whole = vec![0; cycles.len()];
            let bound = clock.convert(&cycles, &mut whole).unwrap();
            for (index, &cycles) in cycles.iter().enumerate() {
                let time = clock.to_host_ns(cycles);
                let exact = (time.ns - 6000) as f64 + time.fraction_ns;
                prop_assert!((whole[index] as f64 - 6000.0 - exact).abs() <= 0.5);
                prop_assert!(time.bound_ns + 0.5 <= bound);
            }
        }

        #[test]
        fn conversion_of_a_constant_clock_keeps_the_order(
            cycles in any::<u64>(), step in 0u64..1 << 50,
        ) {
            let line = bounded(cycles, 0, 0.7407, 1.0);
            let clock = PiecewiseClock::constant(line).unwrap();
            let (first, last) =
                (clock.to_host_ns(cycles), clock.to_host_ns(cycles.wrapping_add(step)));
            prop_assert!((first.ns, first.fraction_ns) <= (last.ns, last.fraction_ns));
        }
    }
}
