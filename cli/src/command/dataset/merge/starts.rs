//! Starts of one launch on several hosts with related clocks, with the error bounds of the starts.

use host_reader::export::CommonTime;

/// Starts of a launch, in the order in which hosts were merged.
#[derive(Clone, Debug, Default)]
pub(super) struct Starts<'a>(Vec<Start<'a>>);

/// Start on one host, in nanoseconds of the common clock.
#[derive(Clone, Debug)]
struct Start<'a> {
    host: &'a str,
    measured: i128,
    /// Earliest possible start; `high` is the latest possible start.
    low: i128,
    high: i128,
}

/// Time between the earliest and the latest start of a launch on the hosts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StartSkew<'a> {
    pub(super) earliest: &'a str,
    pub(super) latest: &'a str,
    pub(super) measured_ns: u64,
    /// Lower bound of the true skew. The measured skew is between this bound and `at_most_ns`.
    pub(super) at_least_ns: u64,
    pub(super) at_most_ns: u64,
}

impl<'a> Starts<'a> {
    /// Adds the start on a host. `start_ns` counts from the recording's origin, and `bound_ns` is
    /// the error bound of the host's chip clocks.
    pub(super) fn add(&mut self, host: &'a str, time: CommonTime, start_ns: u64, bound_ns: f64) {
        let measured = i128::from(time.origin_ns) + i128::from(start_ns);
        #[expect(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
        let bound = i128::from(bound_ns.max(0.0).ceil() as i64) + i128::from(time.error_ns);
        let (low, high) = (measured - bound, measured + bound);
        self.0.push(Start { host, measured, low, high });
    }

    /// Returns the skew; `None` if there are fewer than two hosts. If several hosts have the same
    /// start, the first of them is reported.
    pub(super) fn skew(&self) -> Option<StartSkew<'a>> {
        if self.0.len() < 2 {
            return None;
        }
        let starts = self.0.iter();
        let earliest = starts.clone().min_by_key(|start| start.measured)?;
        let latest = starts.clone().rev().max_by_key(|start| start.measured)?;
        let lows = starts.clone().map(|start| start.low);
        let highs = starts.map(|start| start.high);
        let ns = |ns: i128| u64::try_from(ns.max(0)).unwrap_or(u64::MAX);
        Some(StartSkew {
            earliest: earliest.host,
            latest: latest.host,
            measured_ns: ns(latest.measured - earliest.measured),
            at_least_ns: ns(lows.clone().max()? - highs.clone().min()?),
            at_most_ns: ns(highs.max()? - lows.min()?),
        })
    }

    /// Returns the number of hosts and the skew as table cells. With fewer than two hosts, the
    /// cells of the skew are empty.
    pub(super) fn cells(&self) -> [String; 6] {
        let host_count = self.0.len().to_string();
        let Some(skew) = self.skew() else {
            return std::array::from_fn(
                |at| if at == 0 { host_count.clone() } else { String::new() },
            );
        };
        let StartSkew { earliest, latest, measured_ns, at_least_ns, at_most_ns } = skew;
        let [measured, least, most] =
            [measured_ns, at_least_ns, at_most_ns].map(|ns| ns.to_string());
        [host_count, earliest.to_owned(), latest.to_owned(), measured, least, most]
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
