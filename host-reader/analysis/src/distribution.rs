//! Exact statistics of a set of durations.

#![expect(
    clippy::arithmetic_side_effects,
    reason = "indices and counts are those of lists in memory"
)]

use super::{
    ranks::{Pieces, Values},
    span::cycles_to_ns,
};

/// Count, total, extremes and percentiles of durations, in cycles and nanoseconds.
///
/// Percentiles are exact. The median of an even number of durations is the mean of the two middle
/// durations, rounded down. The 99th percentile is the smallest duration that at least 99 % of the
/// durations do not exceed. Nanoseconds are `None` if the clock's frequency is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CycleStatistics {
    /// Number of durations.
    pub count: u64,
    /// Sum in cycles.
    pub total_cycles: u64,
    /// Minimum in cycles.
    pub min_cycles: u64,
    /// Median in cycles.
    pub median_cycles: u64,
    /// 99th percentile in cycles.
    pub p99_cycles: u64,
    /// Maximum in cycles.
    pub max_cycles: u64,
    /// Sum in nanoseconds.
    pub total_ns: Option<u64>,
    /// Minimum in nanoseconds.
    pub min_ns: Option<u64>,
    /// Median in nanoseconds.
    pub median_ns: Option<u64>,
    /// 99th percentile in nanoseconds.
    pub p99_ns: Option<u64>,
    /// Maximum in nanoseconds.
    pub max_ns: Option<u64>,
}

impl CycleStatistics {
    /// Computes the statistics of `durations`; all zero if there are none.
    ///
    /// # Cost
    /// Linear: nothing is sorted.
    ///
    /// ```
    /// use analysis::CycleStatistics;
    /// let cycles = CycleStatistics::from_durations(&[40, 10, 30, 21], 1000);
    /// assert_eq!((cycles.median_cycles, cycles.p99_cycles, cycles.total_ns), (25, 40, Some(101)));
    /// ```
    #[must_use]
    pub fn from_durations(durations: &[u64], aiclk_mhz: u32) -> Self {
        Self::by_size(&[&Pieces(vec![durations])], aiclk_mhz)
    }

    /// Like [`Self::from_durations`], but for durations in several collections, sorted by size:
    /// every duration of a collection is shorter than all durations of the next collection.
    pub(super) fn by_size(sizes: &[&dyn Values], aiclk_mhz: u32) -> Self {
        let found: Vec<_> = sizes.iter().filter(|values| values.count() > 0).collect();
        let count: usize = found.iter().map(|values| values.count()).sum();
        let total = found.iter().fold(0_u64, |total, values| total.saturating_add(values.total()));
        let min = found.first().map_or(0, |values| values.extremes().0);
        let max = found.last().map_or(0, |values| values.extremes().1);
        let last = count.saturating_sub(1);
        let ranks = [last / 2, count / 2, last - count / 100];
        let [lower, upper, p99] = at_ranks(sizes, ranks);
        let median = u64::midpoint(lower, upper);
        let cycles = Self {
            count: count as u64,
            total_cycles: total,
            min_cycles: min,
            median_cycles: median,
            p99_cycles: p99,
            max_cycles: max,
            ..Self::default()
        };
        cycles.with_ns(aiclk_mhz)
    }

    /// Returns the statistics with nanoseconds computed from the cycles.
    pub(super) fn with_ns(self, aiclk_mhz: u32) -> Self {
        let ns = |cycles| cycles_to_ns(cycles, aiclk_mhz);
        Self {
            // A saturated total is not a valid sum.
            total_ns: Some(self.total_cycles).filter(|&total| total != u64::MAX).and_then(ns),
            min_ns: ns(self.min_cycles),
            median_ns: ns(self.median_cycles),
            p99_ns: ns(self.p99_cycles),
            max_ns: ns(self.max_cycles),
            ..self
        }
    }

    /// Returns the mean in cycles; 0 if there are no durations.
    #[must_use]
    pub fn mean_cycles(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total_cycles as f64 / self.count as f64 }
    }
}

/// Returns the values at ranks of all collections together.
fn at_ranks(sizes: &[&dyn Values], ranks: [usize; 3]) -> [u64; 3] {
    let mut found = [0; 3];
    let mut before = 0;
    for values in sizes {
        let own = before..before + values.count();
        if ranks.iter().any(|rank| own.contains(rank)) {
            let values_here = values.at_ranks(ranks.map(|rank| rank.saturating_sub(before)));
            for ((found, value), rank) in found.iter_mut().zip(values_here).zip(ranks) {
                if own.contains(&rank) {
                    *found = value;
                }
            }
        }
        before = own.end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Strategy, any, prop, prop_assert, prop_assert_eq, proptest};

    #[test]
    fn nothing_has_statistics_of_zero() {
        assert_eq!(CycleStatistics::from_durations(&[], 1000).count, 0);
        assert_eq!(CycleStatistics::from_durations(&[7], 0).max_ns, None);
    }

    #[test]
    fn totals_beyond_64_bits_saturate() {
        let cycles = CycleStatistics::from_durations(&[u64::MAX, u64::MAX], 1000);
        assert_eq!((cycles.total_cycles, cycles.median_cycles), (u64::MAX, u64::MAX));
        assert_eq!((cycles.total_ns, cycles.max_ns), (None, Some(u64::MAX)));
    }

    proptest! {
        #[test]
        fn percentiles_equal_those_of_a_full_sort(
            mut durations in prop::collection::vec(any::<u32>().prop_map(u64::from), 1..300),
        ) {
            let cycles = CycleStatistics::from_durations(&durations, 1000);
            durations.sort_unstable();
            let n = durations.len();
            let middle = (durations[(n - 1) / 2] + durations[n / 2]) / 2;
            prop_assert_eq!(cycles.median_cycles, middle);
            let at_most = durations.iter().filter(|&&d| d <= cycles.p99_cycles).count();
            prop_assert!(at_most * 100 >= n * 99);
            let below = durations.iter().filter(|&&d| d < cycles.p99_cycles).count();
            prop_assert!(below * 100 < n * 99);
        }
    }
}
