//! Starts of one launch on several hosts that share a clock, with their error bounds.

use host_reader::export::CommonTime;

/// Starts of a launch, reduced to the extremes that determine the skew.
#[derive(Default)]
pub(super) struct Starts {
    host_count: u64,
    bounds: Option<Bounds>,
}

/// Extremes of all hosts' starts, in nanoseconds of the common clock.
struct Bounds {
    /// Earliest measured start, and its host.
    earliest: (i128, String),
    latest: (i128, String),
    /// Minimum over the hosts of the earliest possible start.
    least_low: i128,
    greatest_low: i128,
    /// Minimum over the hosts of the latest possible start.
    least_high: i128,
    greatest_high: i128,
}

/// Time from the first to the last start of a launch on the hosts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StartSkew<'s> {
    pub(super) earliest: &'s str,
    pub(super) latest: &'s str,
    pub(super) measured_ns: u64,
    /// Lower bound of the true skew; the measured skew is between the lower and the upper bound.
    pub(super) at_least_ns: u64,
    pub(super) at_most_ns: u64,
}

impl Starts {
    /// Adds the start on a host, in nanoseconds since the recording's origin, and the bound of
    /// its chips' clocks.
    pub(super) fn add(&mut self, host: &str, time: CommonTime, start_ns: u64, bound_ns: f64) {
        self.host_count += 1;
        let start = i128::from(time.origin_ns) + i128::from(start_ns);
        #[expect(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
        let bound = i128::from(bound_ns.max(0.0).ceil() as i64) + i128::from(time.error_ns);
        let (low, high) = (start - bound, start + bound);
        let here = || (start, host.to_owned());
        let Some(bounds) = &mut self.bounds else {
            self.bounds = Some(Bounds {
                earliest: here(),
                latest: here(),
                least_low: low,
                greatest_low: low,
                least_high: high,
                greatest_high: high,
            });
            return;
        };
        if start < bounds.earliest.0 {
            bounds.earliest = here();
        }
        if start > bounds.latest.0 {
            bounds.latest = here();
        }
        bounds.least_low = bounds.least_low.min(low);
        bounds.greatest_low = bounds.greatest_low.max(low);
        bounds.least_high = bounds.least_high.min(high);
        bounds.greatest_high = bounds.greatest_high.max(high);
    }

    /// Returns the skew; `None` with fewer than two hosts.
    pub(super) fn skew(&self) -> Option<StartSkew<'_>> {
        let bounds = self.bounds.as_ref().filter(|_| self.host_count > 1)?;
        let ns = |ns: i128| u64::try_from(ns.max(0)).unwrap_or(u64::MAX);
        Some(StartSkew {
            earliest: &bounds.earliest.1,
            latest: &bounds.latest.1,
            measured_ns: ns(bounds.latest.0 - bounds.earliest.0),
            at_least_ns: ns(bounds.greatest_low - bounds.least_high),
            at_most_ns: ns(bounds.greatest_high - bounds.least_low),
        })
    }

    /// Returns the skew as table cells; empty with fewer than two hosts.
    pub(super) fn cells(&self) -> [String; 6] {
        let count = self.host_count.to_string();
        let Some(skew) = self.skew() else {
            return [
                count,
                String::new(),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
            ];
        };
        [
            count,
            skew.earliest.to_owned(),
            skew.latest.to_owned(),
            skew.measured_ns.to_string(),
            skew.at_least_ns.to_string(),
            skew.at_most_ns.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skew_lies_between_what_the_bounds_of_all_hosts_allow() {
        let mut starts = Starts::default();
        let at = |origin_ns, error_ns| CommonTime { origin_ns, error_ns };
        starts.add("a", at(1000, 10), 50, 4.2);
        assert_eq!(starts.skew(), None);
        // The starts are 1,050 +- 15, 1,100 +- 205 and 1,400 +- 1.
        starts.add("b", at(900, 200), 200, 5.0);
        starts.add("c", at(1400, 0), 0, 0.5);
        let expected = StartSkew {
            earliest: "a",
            latest: "c",
            measured_ns: 350,
            at_least_ns: 1399 - 1065,
            at_most_ns: 1401 - 895,
        };
        assert_eq!(starts.skew(), Some(expected));
    }

    #[test]
    fn a_skew_below_the_bounds_may_be_none_at_all() {
        let mut starts = Starts::default();
        starts.add("a", CommonTime { origin_ns: 100, error_ns: 30 }, 0, 0.0);
        starts.add("b", CommonTime { origin_ns: 140, error_ns: 30 }, 0, 0.0);
        let skew = starts.skew().unwrap();
        assert_eq!((skew.measured_ns, skew.at_least_ns, skew.at_most_ns), (40, 0, 100));
    }
}
