//! Starts of one launch on several hosts with related clocks, with the error bounds of the starts.

use super::packed_items::{Packed, push_index, push_wide, take_index, take_wide};
use host_reader::{
    export::CommonTime,
    packed_numbers::{push, take},
};
use std::slice::Iter;

/// Starts of a launch, reduced to the extremes that determine the skew. Each host is identified by
/// its number.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Starts {
    host_count: u64,
    bounds: Option<Bounds>,
}

/// Extremes of all hosts' starts, in nanoseconds of the common clock.
#[derive(Clone, Debug, PartialEq)]
struct Bounds {
    /// Earliest measured start, and the host on which it was measured.
    earliest: (i128, u32),
    latest: (i128, u32),
    /// Minimum, over all hosts, of the earliest possible start.
    least_low: i128,
    greatest_low: i128,
    /// Minimum, over all hosts, of the latest possible start.
    least_high: i128,
    greatest_high: i128,
}

/// Time between the earliest and the latest start of a launch on the hosts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StartSkew {
    pub(super) earliest: u32,
    pub(super) latest: u32,
    pub(super) measured_ns: u64,
    /// Lower bound of the true skew. The measured skew is between this bound and `at_most_ns`.
    pub(super) at_least_ns: u64,
    pub(super) at_most_ns: u64,
}

impl Starts {
    /// Adds the start on a host. `start_ns` counts from the recording's origin, and `bound_ns` is
    /// the error bound of the host's chip clocks.
    pub(super) fn add(&mut self, host: u32, time: CommonTime, start_ns: u64, bound_ns: f64) {
        self.host_count += 1;
        let start = i128::from(time.origin_ns) + i128::from(start_ns);
        #[expect(clippy::cast_possible_truncation, reason = "a cast of floats saturates")]
        let bound = i128::from(bound_ns.max(0.0).ceil() as i64) + i128::from(time.error_ns);
        let (low, high) = (start - bound, start + bound);
        let here = (start, host);
        let bounds = self.bounds.get_or_insert(Bounds {
            earliest: here,
            latest: here,
            least_low: low,
            greatest_low: low,
            least_high: high,
            greatest_high: high,
        });
        if start < bounds.earliest.0 {
            bounds.earliest = here;
        }
        if start > bounds.latest.0 {
            bounds.latest = here;
        }
        bounds.least_low = bounds.least_low.min(low);
        bounds.greatest_low = bounds.greatest_low.max(low);
        bounds.least_high = bounds.least_high.min(high);
        bounds.greatest_high = bounds.greatest_high.max(high);
    }

    /// Returns the skew; `None` with fewer than two hosts.
    pub(super) fn skew(&self) -> Option<StartSkew> {
        let bounds = self.bounds.as_ref().filter(|_| self.host_count > 1)?;
        let ns = |ns: i128| u64::try_from(ns.max(0)).unwrap_or(u64::MAX);
        Some(StartSkew {
            earliest: bounds.earliest.1,
            latest: bounds.latest.1,
            measured_ns: ns(bounds.latest.0 - bounds.earliest.0),
            at_least_ns: ns(bounds.greatest_low - bounds.least_high),
            at_most_ns: ns(bounds.greatest_high - bounds.least_low),
        })
    }

    /// Returns the skew as table cells, which are empty with fewer than two hosts. `hosts` contains
    /// the hosts' names.
    pub(super) fn cells(&self, hosts: &[String]) -> [String; 6] {
        let name = |host: u32| hosts.get(host as usize).cloned().unwrap_or_default();
        let skew = self.skew();
        let cell =
            |cell: &dyn Fn(&StartSkew) -> String| skew.as_ref().map_or_else(String::new, cell);
        [
            self.host_count.to_string(),
            cell(&|skew| name(skew.earliest)),
            cell(&|skew| name(skew.latest)),
            cell(&|skew| skew.measured_ns.to_string()),
            cell(&|skew| skew.at_least_ns.to_string()),
            cell(&|skew| skew.at_most_ns.to_string()),
        ]
    }
}

impl Packed for Starts {
    fn push(&self, bytes: &mut Vec<u8>) {
        push(bytes, self.host_count);
        push(bytes, self.bounds.is_some().into());
        let Some(bounds) = &self.bounds else { return };
        let Bounds { earliest, latest, least_low, greatest_low, least_high, greatest_high } =
            bounds;
        for (start, host) in [earliest, latest] {
            push_wide(bytes, *start);
            push_index(bytes, *host);
        }
        for bound in [least_low, greatest_low, least_high, greatest_high] {
            push_wide(bytes, *bound);
        }
    }

    fn take(bytes: &mut Iter<'_, u8>) -> Self {
        let host_count = take(bytes);
        if take(bytes) == 0 {
            return Self { host_count, bounds: None };
        }
        let bounds = Bounds {
            earliest: (take_wide(bytes), take_index(bytes)),
            latest: (take_wide(bytes), take_index(bytes)),
            least_low: take_wide(bytes),
            greatest_low: take_wide(bytes),
            least_high: take_wide(bytes),
            greatest_high: take_wide(bytes),
        };
        Self { host_count, bounds: Some(bounds) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skew_lies_between_what_the_bounds_of_all_hosts_allow() {
        let mut starts = Starts::default();
        let at = |origin_ns, error_ns| CommonTime { origin_ns, error_ns };
        starts.add(0, at(1000, 10), 50, 4.2);
        assert_eq!(starts.skew(), None);
        // The starts are 1,050 +- 15, 1,100 +- 205 and 1,400 +- 1.
        starts.add(1, at(900, 200), 200, 5.0);
        starts.add(2, at(1400, 0), 0, 0.5);
        let expected = StartSkew {
            earliest: 0,
            latest: 2,
            measured_ns: 350,
            at_least_ns: 1399 - 1065,
            at_most_ns: 1401 - 895,
        };
        assert_eq!(starts.skew(), Some(expected));
    }

    #[test]
    fn a_skew_below_the_bounds_may_be_none_at_all() {
        let mut starts = Starts::default();
        starts.add(0, CommonTime { origin_ns: 100, error_ns: 30 }, 0, 0.0);
        starts.add(1, CommonTime { origin_ns: 140, error_ns: 30 }, 0, 0.0);
        let skew = starts.skew().unwrap();
        assert_eq!((skew.measured_ns, skew.at_least_ns, skew.at_most_ns), (40, 0, 100));
    }

    #[test]
    fn packed_starts_come_back_as_they_were() {
        let mut starts = Starts::default();
        let mut bytes = Vec::new();
        for host in 0..3 {
            Packed::push(&starts, &mut bytes);
            // The lower bounds are negative, and the upper bounds exceed 64 bits.
            let origin_ns = if host == 0 { 5 } else { u64::MAX - 7 };
            let time = CommonTime { origin_ns, error_ns: 1 << 40 };
            starts.add(host, time, u64::from(host) * 100, 0.5);
        }
        Packed::push(&starts, &mut bytes);
        let mut left = bytes.iter();
        let found: Vec<Starts> = (0..4).map(|_| Packed::take(&mut left)).collect();
        assert_eq!(left.len(), 0);
        assert_eq!((found[0].host_count, found[1].host_count), (0, 1));
        assert_eq!(found[3], starts);
        let skew = found[3].skew().unwrap();
        assert_eq!((skew.earliest, skew.latest), (0, 2));
    }
}
