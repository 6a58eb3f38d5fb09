//! Nesting of a lane's zones: sorted by time, each zone inside its parent.
//!
//! Pairing already nests the zones of one run, and the runs of a core follow each other, so usually
//! no change is needed. But logs may contain anything, such as overlapping runs or restarted
//! clocks, and then zones may overlap without being nested. Viewers draw overlapping zones
//! incorrectly, without a warning. This module therefore sorts the zones, and shortens each zone
//! that would end after its parent.

use super::zones::TraceZone;
use std::{cmp::Reverse, ops::Range};

/// Sorts and nests the zones, unless they are already nested. Times in nanoseconds are ignored.
///
/// A group of nested zones is left unchanged if no other zone overlaps or touches the group. A lane
/// that is built in parts therefore has the same zones as a lane that is built at once.
pub(super) fn nest(zones: &mut [TraceZone]) {
    if is_nested(zones) {
        return;
    }
    for stretch in stretches(zones) {
        let zones = &mut zones[stretch];
        if !is_nested(zones) {
            // Among zones with the same start, longer zones come first. Equal zones keep their
            // order.
            zones.sort_by_key(|zone| (zone.start_cycle, Reverse(zone.end_cycle)));
            clip(zones);
        }
    }
}

/// Divides the zones into the shortest ranges such that each range ends before the next one starts.
fn stretches(zones: &[TraceZone]) -> Vec<Range<usize>> {
    let mut first_start = u64::MAX;
    let starts_from = zones.iter().rev().map(|zone| {
        first_start = first_start.min(zone.start_cycle);
        first_start
    });
    let mut starts_from: Vec<u64> = starts_from.collect();
    starts_from.reverse();
    let (mut stretches, mut first, mut last_end) = (Vec::new(), 0, 0);
    for (index, (zone, start)) in zones.iter().zip(starts_from).enumerate() {
        if last_end < start && index > first {
            stretches.push(first..index);
            first = index;
        }
        last_end = last_end.max(zone.end_cycle);
    }
    stretches.push(first..zones.len());
    stretches
}

/// Shortens zones that end later than their parent, and sets the depth of each zone.
fn clip(zones: &mut [TraceZone]) {
    let mut open: Vec<u64> = Vec::new();
    for zone in zones {
        while open.last().is_some_and(|&open_end| open_end <= zone.start_cycle) {
            open.pop();
        }
        if let Some(&limit) = open.last()
            && zone.end_cycle > limit
        {
            zone.is_clipped = true;
            zone.end_cycle = limit;
        }
        zone.depth = u16::try_from(open.len()).unwrap_or(u16::MAX);
        open.push(zone.end_cycle);
    }
}

/// Returns true if the zones are sorted by start and nested: each zone ends no later than its
/// parent, and starts no earlier than the end of the previous zone at the same depth.
fn is_nested(zones: &[TraceZone]) -> bool {
    let mut open: Vec<u64> = Vec::new();
    let (mut latest_end, mut latest_start) = (0, 0);
    zones.iter().all(|zone| {
        let depth = usize::from(zone.depth);
        if open.len() > depth {
            latest_end = open.get(depth).copied().unwrap_or(latest_end);
            open.truncate(depth);
        } else {
            latest_end = 0;
        }
        let fits = open.len() == depth
            && zone.start_cycle >= latest_end
            && open.last().is_none_or(|&around| zone.end_cycle <= around)
            && latest_start <= zone.start_cycle;
        latest_start = zone.start_cycle;
        open.push(zone.end_cycle);
        fits
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NameId, ZoneEdge, trace::zones::TraceZones};
    use proptest::prelude::*;

    fn zones(spans: &[(u64, u64, u16)]) -> Vec<TraceZone> {
        let zone =
            |(number, &(start_cycle, end_cycle, depth)): (u32, &(u64, u64, u16))| TraceZone {
                name: NameId(number),
                start_cycle,
                end_cycle,
                start_ns: 0,
                end_ns: 0,
                duration_cycles: end_cycle - start_cycle,
                own_cycles: 0,
                depth,
                run: None,
                has_synthetic_end: false,
                is_clipped: false,
            };
        (0..).zip(spans).map(zone).collect()
    }

    /// Returns the result of `figure` for each zone.
    fn each<T>(zones: &[TraceZone], figure: impl Fn(&TraceZone) -> T) -> Vec<T> {
        zones.iter().map(figure).collect()
    }

    /// Returns the index and the recorded duration of each clipped zone.
    fn clipped(zones: &[TraceZone]) -> Vec<(usize, u64)> {
        let clipped = zones.iter().enumerate().filter(|(_, zone)| zone.is_clipped);
        clipped.map(|(index, zone)| (index, zone.duration_cycles)).collect()
    }

    #[test]
    fn zones_that_nest_stay_as_they_are() {
        // A zone of zero length at its parent's end is still a child of that parent.
        let nested = zones(&[(0, 10, 0), (2, 4, 1), (4, 9, 1), (10, 10, 1), (10, 20, 0)]);
        let mut after = nested.clone();
        nest(&mut after);
        assert_eq!(after, nested);
    }

    #[test]
    fn a_zone_that_reaches_out_of_its_parent_is_clipped_and_counted() {
        let mut zones = zones(&[(0, 10, 0), (5, 15, 0)]);
        nest(&mut zones);
        assert_eq!((zones[1].end_cycle, zones[1].depth), (10, 1));
        assert_eq!(clipped(&zones), [(1, 10)]);
    }

    #[test]
    fn zones_that_nest_stay_as_they_are_where_zones_elsewhere_do_not() {
        // Sorting would put the zone of zero length after the longer zone that starts at the same
        // cycle.
        let mut zones = zones(&[(20, 30, 0), (25, 35, 0), (40, 40, 0), (40, 50, 0), (60, 70, 0)]);
        nest(&mut zones);
        assert_eq!(each(&zones, |zone| zone.name.0), [0, 1, 2, 3, 4]);
        assert_eq!(each(&zones, |zone| zone.end_cycle), [30, 30, 40, 50, 70]);
        assert_eq!(each(&zones, |zone| zone.depth), [0, 1, 0, 0, 0]);
        assert_eq!(clipped(&zones), [(1, 10)]);
        // If an earlier zone overlaps these two zones, they are sorted.
        zones[1].end_cycle = 45;
        nest(&mut zones);
        assert_eq!(each(&zones, |zone| zone.name.0), [0, 1, 3, 2, 4]);
    }

    #[test]
    fn runs_in_the_wrong_order_are_sorted() {
        let mut zones = zones(&[(50, 60, 0), (51, 52, 1), (0, 10, 0)]);
        nest(&mut zones);
        assert_eq!(each(&zones, |zone| zone.start_cycle), [0, 50, 51]);
        assert_eq!(each(&zones, |zone| zone.name.0), [2, 0, 1]);
        assert_eq!(each(&zones, |zone| zone.depth), [0, 0, 1]);
        assert!(clipped(&zones).is_empty());
    }

    proptest! {
        #[test]
        fn any_zones_come_out_nested(spans in proptest::collection::vec((0_u64..60, 0_u64..30, 0_u16..4), 0..40)) {
            let spans: Vec<_> = spans.into_iter().map(|(start, length, depth)| (start, start + length, depth)).collect();
            let mut zones = zones(&spans);
            nest(&mut zones);
            let zones = TraceZones(zones);
            prop_assert_eq!(zones.len(), spans.len());
            let mut open: Vec<(u64, u64)> = Vec::new();
            let mut time = 0;
            for edge in zones.edges() {
                let at = match edge {
                    ZoneEdge::Begin(index) => zones[index].start_cycle,
                    ZoneEdge::End(index) => zones[index].end_cycle,
                };
                prop_assert!(at >= time, "time runs backwards");
                time = at;
                match edge {
                    ZoneEdge::Begin(index) => {
                        let span = (zones[index].start_cycle, zones[index].end_cycle);
                        prop_assert!(open.last().is_none_or(|around| around.0 <= span.0 && span.1 <= around.1));
                        open.push(span);
                    }
                    ZoneEdge::End(_) => prop_assert!(open.pop().is_some()),
                }
            }
            prop_assert!(open.is_empty());
        }
    }
}
