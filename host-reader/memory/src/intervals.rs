//! Sets of addresses.

use std::ops::Range;

/// Ranges of addresses that do not touch, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Intervals(Vec<Range<u64>>);

impl Intervals {
    /// Adds a range, and returns how many of its addresses are new.
    pub(crate) fn add(&mut self, range: Range<u64>) -> u64 {
        if range.is_empty() {
            return 0;
        }
        let first = self.0.partition_point(|own| own.end < range.start);
        let end = self.0.partition_point(|own| own.start <= range.end);
        let mut whole = range.clone();
        let mut known = 0;
        for own in &self.0[first..end] {
            let (start, stop) = (own.start.max(range.start), own.end.min(range.end));
            known += stop.saturating_sub(start);
            whole = whole.start.min(own.start)..whole.end.max(own.end);
        }
        self.0.splice(first..end, [whole]);
        range.end - range.start - known
    }

    /// Returns the number of addresses.
    pub(crate) fn size(&self) -> u64 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }

    /// Returns the size of the largest range below `end` that has no address of the set.
    pub(crate) fn largest_gap(&self, end: u64) -> u64 {
        let mut largest = 0;
        let mut from = 0;
        for range in &self.0 {
            largest = largest.max(range.start.min(end).saturating_sub(from));
            from = range.end;
        }
        largest.max(end.saturating_sub(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_counts_once() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            usize::try_from(state >> 33).unwrap()
        };
        for _ in 0..300 {
            let mut is_used = [false; 64];
            let mut intervals = Intervals::default();
            for _ in 0..12 {
                let (start, size) = (random() % 64, random() % 12);
                let end = (start + size).min(64);
                let fresh = (start..end).filter(|&at| !is_used[at]).count() as u64;
                (start..end).for_each(|at| is_used[at] = true);
                assert_eq!(intervals.add(start as u64..end as u64), fresh);
                assert_eq!(intervals.size(), is_used.iter().filter(|used| **used).count() as u64);
                let gaps = is_used.split(|used| *used).map(<[bool]>::len);
                assert_eq!(intervals.largest_gap(64), gaps.max().unwrap_or(0) as u64);
            }
        }
    }
}
