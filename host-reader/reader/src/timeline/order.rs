//! Ordering of the starts and ends of a run's zones by time.

use crate::lane::Lane;
use std::ops::Range;

/// Zone records of one run, in order of time.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Range of the run's records, if all of them are zone starts or ends and are already in time
    /// order; otherwise an empty range.
    straight: Range<usize>,
    /// Indices of the starts and ends, ordered by time, if `straight` is empty.
    listed: Vec<usize>,
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "`runs_of` gives records of the lane, whose columns are of one length"
)]
impl Order {
    /// Collects the starts and ends among `records`, ordered by time. Records with equal times keep
    /// their order.
    pub(super) fn take(&mut self, lane: &Lane, records: Range<usize>) {
        self.listed.clear();
        let heads = &lane.heads[records.clone()];
        let are_endpoints = heads.iter().fold(true, |all, head| all & head.is_endpoint());
        if are_endpoints && lane.times[records.clone()].is_sorted() {
            self.straight = records;
            return;
        }
        self.straight = 0..0;
        self.listed.extend(records.filter(|&record| lane.heads[record].is_endpoint()));
        if !self.listed.is_sorted_by_key(|&record| lane.times[record]) {
            self.listed.sort_by_key(|&record| lane.times[record]);
        }
    }

    /// Returns the number of records.
    pub(super) fn len(&self) -> usize {
        self.straight.len() + self.listed.len()
    }

    /// Returns the lane index of the record that is at `position` in this order.
    #[inline]
    pub(super) fn record(&self, position: usize) -> usize {
        if self.listed.is_empty() { self.straight.start + position } else { self.listed[position] }
    }
}
