//! Offset between a host's monotonic clock and the time of day, for relating the clocks of several
//! hosts.
//!
//! A reading of the time of day at the host's time `t_k` bounds the offset `day - host` to the
//! interval from `low_k` to `high_k`. At other times the interval is wider, because the host's
//! clock may have drifted. In the (host time, offset) plane, each reading therefore limits the
//! offset to a cone. The true offset is inside all cones.

/// Reading of the time of day between two readings of the host's monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DayReading {
    /// Host's clock before the reading, in nanoseconds.
    pub before_ns: u64,
    /// Time of day, in nanoseconds since the Unix epoch.
    pub day_ns: u64,
    /// Host's clock after the reading, in nanoseconds.
    pub after_ns: u64,
    /// Maximum error of the time of day, in nanoseconds; `None` if unknown.
    pub error_ns: Option<u64>,
}

/// Offset of the true time of day from a host's clock, valid within an interval of host time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayOffset {
    /// Time of day minus the host's clock, in nanoseconds.
    pub offset_ns: i64,
    /// Maximum error of the offset in the interval, in nanoseconds.
    pub error_ns: u64,
}

crate::labelled! {
    /// Reason why the offset between a host's clock and the time of day is unknown.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DayProblem {
        /// No reading states a maximum error.
        Unbounded = "the clock of its machine has no stated error, as NTP gives one",
        /// The readings contradict each other.
        WasSet = "the clock of its machine was set while it was recorded",
        /// The offset does not fit 64 bits.
        OutOfRange = "the clock of its machine is out of range",
    }
}

impl std::fmt::Display for DayProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.label())
    }
}

impl std::error::Error for DayProblem {}

/// Maximum drift of a host's clock, in parts per million.
///
/// # Compatibility
/// The value is that of `MAXFREQ` in Linux and in NTP's reference implementation.
const DRIFT_PPM: i128 = 500;

/// Bounds on the offset that follow from one reading, and the host times around the reading.
#[derive(Clone, Copy)]
struct Cone {
    before: i128,
    after: i128,
    low: i128,
    high: i128,
}

impl DayOffset {
    /// Computes an offset for the interval from `from_ns` to `to_ns` of the host's clock.
    ///
    /// # Errors
    /// If no reading states a maximum error, or if two readings contradict each other.
    ///
    /// ```
    /// use reader::clock::{DayOffset, DayReading};
    /// let reading = |before_ns| DayReading {
    ///     before_ns,
    ///     day_ns: before_ns + 5_000_000,
    ///     after_ns: before_ns + 100,
    ///     error_ns: Some(400),
    /// };
    /// let found = DayOffset::new(&[reading(0)], 0, 100)?;
    /// assert_eq!(found, DayOffset { offset_ns: 4_999_950, error_ns: 451 });
    /// // A second later the host's clock may have drifted by half a millisecond.
    /// assert_eq!(DayOffset::new(&[reading(0)], 0, 1_000_000_000)?.error_ns, 500_450);
    /// # Ok::<(), reader::clock::DayProblem>(())
    /// ```
    pub fn new(readings: &[DayReading], from_ns: u64, to_ns: u64) -> Result<Self, DayProblem> {
        let cones = narrowed(readings)?;
        let (first, last) = cones.first().zip(cones.last()).ok_or(DayProblem::Unbounded)?;
        let (from, to) = (i128::from(from_ns), i128::from(to_ns.max(from_ns)));
        let mut hull: Option<(i128, i128)> = None;
        let mut include = |(low, high): (i128, i128)| {
            let (lowest, highest) = hull.unwrap_or((low, high));
            hull = Some((lowest.min(low), highest.max(high)));
        };
        if from <= first.after {
            include(first.widened(drift(first.after - from)));
        }
        if to >= last.before {
            include(last.widened(drift(to - last.before)));
        }
        for pair in cones.windows(2) {
            let &[one, other] = pair else { continue };
            if one.before <= to && other.after >= from {
                include(one.between(&other));
            }
        }
        let (low, high) = hull.ok_or(DayProblem::Unbounded)?;
        let offset = (low + high).div_euclid(2);
        let error = (high - offset).max(offset - low);
        Ok(Self {
            offset_ns: i64::try_from(offset).map_err(|_| DayProblem::OutOfRange)?,
            error_ns: u64::try_from(error).map_err(|_| DayProblem::OutOfRange)?,
        })
    }
}

impl Cone {
    fn new(reading: &DayReading) -> Option<Self> {
        let error = i128::from(reading.error_ns?);
        let [before, day, after] =
            [reading.before_ns, reading.day_ns, reading.after_ns].map(i128::from);
        let (low, high) = (day - after - error, day - before + error);
        (before <= after).then_some(Self { before, after, low, high })
    }

    /// Returns the lower bound minus `drift`, and the upper bound plus `drift`.
    const fn widened(&self, drift: i128) -> (i128, i128) {
        (self.low - drift, self.high + drift)
    }

    /// Intersects these bounds with the bounds that follow from another reading. Returns `None` if
    /// the intersection is empty.
    fn narrow(&mut self, other: &Self) -> Option<()> {
        let (low, high) = other.widened(self.drift_to(other));
        (self.low, self.high) = (self.low.max(low), self.high.min(high));
        (self.low <= self.high).then_some(())
    }

    /// Returns bounds on the offset that are valid at all times between two readings. Each of the
    /// two cones must already have been narrowed by the other.
    ///
    /// The upper edges of the two cones cross between the readings, and so do the lower edges.
    fn between(&self, other: &Self) -> (i128, i128) {
        let drift = self.drift_to(other);
        let low = (self.low + other.low - drift).div_euclid(2);
        let high = (self.high + other.high + drift + 1).div_euclid(2);
        (low.min(self.low).min(other.low), high.max(self.high).max(other.high))
    }

    /// Returns the maximum drift in the time from the earliest to the latest instant of the two
    /// readings.
    fn drift_to(&self, other: &Self) -> i128 {
        drift(self.after.max(other.after) - self.before.min(other.before))
    }
}

/// Returns, ordered by time, one cone (bounds of the clock offset over time) for each reading that
/// states its error. Each cone is narrowed by all other cones.
fn narrowed(readings: &[DayReading]) -> Result<Vec<Cone>, DayProblem> {
    let mut cones: Vec<Cone> = readings.iter().filter_map(Cone::new).collect();
    cones.sort_by_key(|cone| cone.before);
    for forward in [true, false] {
        let mut previous: Option<Cone> = None;
        let mut narrow = |cone: &mut Cone| {
            let narrowed = previous.as_ref().map_or(Some(()), |previous| cone.narrow(previous));
            previous = Some(*cone);
            narrowed.ok_or(DayProblem::WasSet)
        };
        if forward {
            cones.iter_mut().try_for_each(&mut narrow)?;
        } else {
            cones.iter_mut().rev().try_for_each(&mut narrow)?;
        }
    }
    Ok(cones)
}

/// Returns the maximum change of the offset, in nanoseconds, within `duration` nanoseconds.
const fn drift(duration: i128) -> i128 {
    if duration <= 0 { 0 } else { (duration * DRIFT_PPM + 999_999) / 1_000_000 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000_000;
    const DAY: i128 = 1_795_384_021_004_113_870;

    /// Simulated host clock: the offset at the beginning, and the drift in each second, in parts
    /// per million.
    #[derive(Clone, Debug)]
    struct Truth {
        offset: i128,
        ppm: Vec<i64>,
    }

    impl Truth {
        /// Returns the true time of day minus the host's clock, at a host time.
        fn offset_at(&self, host_ns: u64) -> i128 {
            let mut offset_millionths = self.offset * 1_000_000;
            let mut left = i128::from(host_ns);
            for &ppm in &self.ppm {
                let part = left.min(SECOND.into());
                offset_millionths += part * i128::from(ppm);
                left -= part;
            }
            offset_millionths.div_euclid(1_000_000)
        }

        /// Returns a reading whose error is `error` thousandths of the stated maximum error
        /// `bound`.
        fn reading(&self, host_ns: u64, wait: (u64, u64), bound: u64, error: i64) -> DayReading {
            let day = i128::from(host_ns) + self.offset_at(host_ns);
            let erring = day + i128::from(bound) * i128::from(error) / 1000;
            DayReading {
                before_ns: host_ns.saturating_sub(wait.0),
                day_ns: u64::try_from(erring).unwrap(),
                after_ns: host_ns + wait.1,
                error_ns: Some(bound),
            }
        }
    }

    fn truth() -> impl Strategy<Value = Truth> {
        (-1_000_000_i128..1_000_000, prop::collection::vec(-499_i64..500, 20..21))
            .prop_map(|(offset, ppm)| Truth { offset: DAY + offset, ppm })
    }

    type Draw = (u64, (u64, u64), u64, i64);

    fn draws() -> impl Strategy<Value = Vec<Draw>> {
        let one =
            (1000..20 * SECOND, (0..1000_u64, 0..1000_u64), 0..3_000_000_u64, -1000..=1000_i64);
        prop::collection::vec(one, 1..8)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn the_true_offset_lies_within_the_bound_at_every_time(
            truth in truth(), draws in draws(), from in 0..20 * SECOND, to in 0..20 * SECOND,
        ) {
            let readings: Vec<_> = draws
                .iter()
                .map(|&(at, wait, bound, error)| truth.reading(at, wait, bound, error))
                .collect();
            let (from, to) = (from.min(to), from.max(to));
            let found = DayOffset::new(&readings, from, to).unwrap();
            for step in 0..=200 {
                let at = from + (to - from) * step / 200;
                let error = truth.offset_at(at) - i128::from(found.offset_ns);
                // The simulated truth is rounded to whole nanoseconds.
                prop_assert!(error.unsigned_abs() <= u128::from(found.error_ns) + 2, "{error}");
            }
        }

        /// The bound from several readings is not wider than the bound from the best single
        /// reading.
        #[test]
        fn more_readings_never_widen_the_bound(truth in truth(), draws in draws()) {
            let readings: Vec<_> = draws
                .iter()
                .map(|&(at, wait, bound, error)| truth.reading(at, wait, bound, error))
                .collect();
            let all = DayOffset::new(&readings, 0, 20 * SECOND).unwrap().error_ns;
            for &one in &readings {
                let alone = DayOffset::new(&[one], 0, 20 * SECOND).unwrap().error_ns;
                // Each reading takes time, and the drift during this time widens the bound at both
                // ends.
                prop_assert!(all <= alone + 2 * readings.len() as u64, "{all} {alone}");
            }
        }
    }

    fn plain(before_ns: u64, day_ns: u64, error_ns: Option<u64>) -> DayReading {
        DayReading { before_ns, day_ns, after_ns: before_ns, error_ns }
    }

    #[test]
    fn a_clock_that_was_set_is_found_out_and_one_that_drifts_is_not() {
        let at = |step| {
            let later = plain(SECOND, 11 * SECOND + step, Some(1000));
            DayOffset::new(&[plain(0, 10 * SECOND, Some(1000)), later], 0, SECOND)
        };
        let offset_ns = 10 * i64::try_from(SECOND).unwrap() + 251_000;
        assert_eq!(at(502_000), Ok(DayOffset { offset_ns, error_ns: 250_000 }));
        assert_eq!(at(502_001), Err(DayProblem::WasSet));
        let before = plain(0, 10 * SECOND + 500_001, Some(1000));
        let after = plain(SECOND, 11 * SECOND + 502_001, Some(1000));
        assert!(DayOffset::new(&[after, before], 0, SECOND).is_ok(), "in any order");
    }

    #[test]
    fn readings_without_a_bound_say_nothing() {
        assert_eq!(DayOffset::new(&[], 0, 1), Err(DayProblem::Unbounded));
        let unkept = plain(5, 100, None);
        assert_eq!(DayOffset::new(&[unkept], 0, 9), Err(DayProblem::Unbounded));
        let backwards = DayReading { before_ns: 9, after_ns: 8, ..plain(9, 100, Some(1)) };
        assert_eq!(DayOffset::new(&[backwards], 0, 9), Err(DayProblem::Unbounded));
        let kept = plain(5, 100, Some(7));
        let expected = Ok(DayOffset { offset_ns: 95, error_ns: 7 });
        assert_eq!(DayOffset::new(&[unkept, kept], 5, 5), expected);
        let far = plain(0, u64::MAX, Some(u64::MAX));
        assert_eq!(DayOffset::new(&[far], 0, u64::MAX), Err(DayProblem::OutOfRange));
    }
}
