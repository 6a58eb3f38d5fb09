//! The starts and ends of a run's zones in time order.

use crate::lane::Lane;
use std::ops::Range;

/// Records of one run, by position in time.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// Records that are in order as they lie in the lane; none if that is not so.
    straight: Range<usize>,
    /// The records otherwise.
    listed: Vec<usize>,
}

#[expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "`runs_of` gives records of the lane, whose columns are of one length"
)]
impl Order {
    /// Takes the starts and ends among `records`, in time order; those of one time as they lie.
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

    /// How many records there are.
    pub(super) fn len(&self) -> usize {
        self.straight.len() + self.listed.len()
    }

    /// Which record has this place.
    #[inline]
    pub(super) fn record(&self, position: usize) -> usize {
        if self.listed.is_empty() { self.straight.start + position } else { self.listed[position] }
    }
}
