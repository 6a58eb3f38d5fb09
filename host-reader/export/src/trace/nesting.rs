//! Nesting of a lane's zones: sorted by time, each zone inside its parent.
//!
//! Pairing already nests the zones of one run, and the runs of a core follow each other, so usually
//! no change is needed. But logs may contain anything, such as overlapping runs or restarted
//! clocks. Viewers draw such zones wrong without a warning. So zones are sorted here, clipped at
//! the end of their parent, and counted.

use super::zones::TraceZones;
use std::ops::Range;

/// Sorts and nests the zones, unless they are already nested. Times in nanoseconds are ignored.
///
/// Zones that are nested, and that no other zones touch, stay as they are: a lane then has the same
/// zones if it is built in parts.
pub(super) fn nest(zones: &mut TraceZones) {
    if is_nested(zones, 0..zones.len()) {
        return;
    }
    for stretch in stretches(zones) {
        if !is_nested(zones, stretch.clone()) {
            sort(zones, stretch.clone());
            clip(zones, stretch);
        }
    }
}

/// Returns the shortest ranges of zones of which each ends before the next one starts.
fn stretches(zones: &TraceZones) -> Vec<Range<usize>> {
    let mut first_start = u64::MAX;
    let starts_from = zones.start_cycles.iter().rev().map(|&start| {
        first_start = first_start.min(start);
        first_start
    });
    let mut starts_from: Vec<u64> = starts_from.collect();
    starts_from.reverse();
    let (mut stretches, mut first, mut last_end) = (Vec::new(), 0, 0);
    for (index, (&end, start)) in zones.end_cycles.iter().zip(starts_from).enumerate() {
        if last_end < start && index > first {
            stretches.push(first..index);
            first = index;
        }
        last_end = last_end.max(end);
    }
    stretches.push(first..zones.len());
    stretches
}

/// Ends zones where the zones around them end.
fn clip(zones: &mut TraceZones, stretch: Range<usize>) {
    let mut open: Vec<u64> = Vec::new();
    for index in stretch {
        let (start, end) = (zones.start_cycles[index], zones.end_cycles[index]);
        while open.last().is_some_and(|&open_end| open_end <= start) {
            open.pop();
        }
        if let Some(&limit) = open.last()
            && end > limit
        {
            zones.clipped.push((index, end - start));
            zones.end_cycles[index] = limit;
        }
        zones.depths[index] = u16::try_from(open.len()).unwrap_or(u16::MAX);
        open.push(zones.end_cycles[index]);
    }
}

/// Returns true if every zone is inside the zone that its depth indicates, after the zones before
/// it.
fn is_nested(zones: &TraceZones, mut stretch: Range<usize>) -> bool {
    let mut open: Vec<u64> = Vec::new();
    let mut latest_end = 0;
    let first = stretch.start;
    stretch.all(|index| {
        let (start, end) = (zones.start_cycles[index], zones.end_cycles[index]);
        let depth = usize::from(zones.depths[index]);
        if open.len() > depth {
            latest_end = open.get(depth).copied().unwrap_or(latest_end);
            open.truncate(depth);
        } else {
            latest_end = 0;
        }
        let fits = open.len() == depth
            && start >= latest_end
            && open.last().is_none_or(|&around| end <= around)
            && (index == first || zones.start_cycles[index - 1] <= start);
        open.push(end);
        fits
    })
}

/// Sorts zones by start, longer zones first. Equal zones keep their order.
fn sort(zones: &mut TraceZones, stretch: Range<usize>) {
    let mut order: Vec<usize> = stretch.clone().collect();
    order.sort_by_key(|&index| {
        (zones.start_cycles[index], std::cmp::Reverse(zones.end_cycles[index]))
    });
    reorder_stretch(&mut zones.names, &stretch, &order);
    reorder_stretch(&mut zones.start_cycles, &stretch, &order);
    reorder_stretch(&mut zones.end_cycles, &stretch, &order);
    reorder_stretch(&mut zones.depths, &stretch, &order);
    reorder_stretch(&mut zones.runs, &stretch, &order);
    reorder_stretch(&mut zones.synthetic_ends, &stretch, &order);
}

/// Permutes a part of a column by the indices in `order`.
fn reorder_stretch<T: Copy>(column: &mut [T], stretch: &Range<usize>, order: &[usize]) {
    let sorted: Vec<T> = order.iter().filter_map(|&index| column.get(index).copied()).collect();
    let part = column.get_mut(stretch.clone()).into_iter().flatten();
    part.zip(sorted).for_each(|(cell, value)| *cell = value);
}

/// Permutes a column by the indices in `order`.
pub(super) fn reorder<T: Copy>(column: &mut Vec<T>, order: &[usize]) {
    *column = order.iter().filter_map(|&index| column.get(index).copied()).collect();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NameId, ZoneEdge};
    use proptest::prelude::*;

    fn zones(spans: &[(u64, u64, u16)]) -> TraceZones {
        let mut zones = TraceZones::default();
        for (number, &(start, end, depth)) in (0..).zip(spans) {
            zones.names.push(NameId(number));
            zones.start_cycles.push(start);
            zones.end_cycles.push(end);
            zones.depths.push(depth);
            zones.runs.push(0);
            zones.synthetic_ends.push(false);
        }
        zones
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
        assert_eq!((zones.end_cycles[1], zones.depths[1]), (10, 1));
        assert_eq!(zones.clipped, [(1, 10)]);
    }

    #[test]
    fn zones_that_nest_stay_as_they_are_where_zones_elsewhere_do_not() {
        // A zone of zero length before a longer one that starts with it would be sorted after it.
        let mut zones = zones(&[(20, 30, 0), (25, 35, 0), (40, 40, 0), (40, 50, 0), (60, 70, 0)]);
        nest(&mut zones);
        assert_eq!(zones.names, [0, 1, 2, 3, 4].map(NameId));
        assert_eq!(zones.end_cycles, [30, 30, 40, 50, 70]);
        assert_eq!(zones.depths, [0, 1, 0, 0, 0]);
        assert_eq!(zones.clipped, [(1, 10)]);
        // Not so if the zones before reach it.
        zones.end_cycles[1] = 45;
        nest(&mut zones);
        assert_eq!(zones.names, [0, 1, 3, 2, 4].map(NameId));
    }

    #[test]
    fn runs_in_the_wrong_order_are_sorted() {
        let mut zones = zones(&[(50, 60, 0), (51, 52, 1), (0, 10, 0)]);
        nest(&mut zones);
        assert_eq!(zones.start_cycles, [0, 50, 51]);
        assert_eq!(zones.names, [NameId(2), NameId(0), NameId(1)]);
        assert_eq!(zones.depths, [0, 0, 1]);
        assert!(zones.clipped.is_empty());
    }

    proptest! {
        #[test]
        fn any_zones_come_out_nested(spans in proptest::collection::vec((0_u64..60, 0_u64..30, 0_u16..4), 0..40)) {
            let spans: Vec<_> = spans.into_iter().map(|(start, length, depth)| (start, start + length, depth)).collect();
            let mut zones = zones(&spans);
            nest(&mut zones);
            prop_assert_eq!(zones.len(), spans.len());
            let mut open: Vec<(u64, u64)> = Vec::new();
            let mut time = 0;
            for edge in zones.edges() {
                let at = match edge {
                    ZoneEdge::Begin(index) => zones.start_cycles[index],
                    ZoneEdge::End(index) => zones.end_cycles[index],
                };
                prop_assert!(at >= time, "time runs backwards");
                time = at;
                match edge {
                    ZoneEdge::Begin(index) => {
                        let span = (zones.start_cycles[index], zones.end_cycles[index]);
                        prop_assert!(open.last().is_none_or(|around| around.0 <= span.0 && span.1 <= around.1));
                        open.push(span);
                    }
                    ZoneEdge::End(_) => prop_assert!(open.pop().is_some()),
                }
            }
            prop_assert!(open.is_empty());
            let outermost: u64 = (0..zones.len())
                .filter(|&index| zones.depths[index] == 0)
                .map(|index| zones.end_cycles[index] - zones.start_cycles[index])
                .sum();
            prop_assert_eq!(zones.self_cycles().iter().sum::<u64>(), outermost);
        }
    }
}
