//! Exact statistics of a set of durations.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices and counts are those of lists in memory"
)]

use super::span::cycles_to_ns;

/// Count, total, extremes and percentiles of durations, in cycles and nanoseconds.
///
/// Percentiles are exact. The median of an even number of durations is the mean of the two middle
/// durations, rounded down. The 99th percentile is the smallest duration for which at least 99 % of
/// the durations are shorter or equal. Nanoseconds are `None` if the clock's frequency is unknown.
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
        let mut totals = Totals::default();
        durations.iter().for_each(|&cycles| totals.add(cycles));
        Self::new(&totals, durations, aiclk_mhz)
    }

    /// Computes the same statistics as [`Self::from_durations`], given the totals of the durations.
    pub(super) fn new(
        totals: &Totals,
        durations: &(impl Numbers + ?Sized),
        aiclk_mhz: u32,
    ) -> Self {
        let Totals { count, total, bounds } = *totals;
        let (min, max) = bounds.unwrap_or_default();
        let last = count.saturating_sub(1);
        let ranks = [last / 2, count / 2, last - count / 100];
        let [lower, upper, p99] = at_ranks(durations, totals, ranks, LISTED_MAX);
        let cycles = Self {
            count,
            total_cycles: total,
            min_cycles: min,
            median_cycles: u64::midpoint(lower, upper),
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

/// Numbers that can be read repeatedly, in any order.
pub(super) trait Numbers {
    /// Calls `visit` with each number.
    fn for_each(&self, visit: impl FnMut(u64));
}

impl Numbers for [u64] {
    fn for_each(&self, visit: impl FnMut(u64)) {
        self.iter().copied().for_each(visit);
    }
}

/// Count, sum and extremes of numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) count: u64,
    /// Sum, saturated at the maximum of 64 bits.
    total: u64,
    /// Minimum and maximum.
    bounds: Option<(u64, u64)>,
}

impl Totals {
    #[inline]
    pub(super) fn add(&mut self, number: u64) {
        self.merge(&Self { count: 1, total: number, bounds: Some((number, number)) });
    }

    #[inline]
    pub(super) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.total = self.total.saturating_add(other.total);
        let Some((least, most)) = other.bounds else { return };
        let (own_least, own_most) = self.bounds.unwrap_or((least, most));
        self.bounds = Some((own_least.min(least), own_most.max(most)));
    }
}

/// Maximum number of values that are copied to a list, which then takes 2 MiB. More values are
/// counted in bins instead, which takes several passes over the values.
const LISTED_MAX: u64 = 1 << 18;

/// Returns the values at the given ranks of the sorted numbers, where rank 0 is the minimum. The
/// value is arbitrary for a rank that is out of range. `listed_max` is [`LISTED_MAX`] except in
/// tests.
fn at_ranks<const N: usize>(
    numbers: &(impl Numbers + ?Sized),
    totals: &Totals,
    ranks: [u64; N],
    listed_max: u64,
) -> [u64; N] {
    if totals.count > listed_max {
        let bounds = totals.bounds.unwrap_or_default();
        let mut latest = None;
        return ranks.map(|rank| match latest {
            Some((of, value)) if of == rank => value,
            _ => latest.insert((rank, at_rank(numbers, bounds, rank))).1,
        });
    }
    let mut all = Vec::with_capacity(usize::try_from(totals.count).unwrap_or(0));
    numbers.for_each(|number| all.push(number));
    ranks.map(|rank| {
        let rank = usize::try_from(rank).unwrap_or(usize::MAX);
        if rank < all.len() { *all.select_nth_unstable(rank).1 } else { 0 }
    })
}

const BIN_BITS: u32 = 11;

/// Returns the number at index `rank` in ascending order. All numbers are between `least` and
/// `most`.
///
/// Divides this range into equal parts and counts the numbers in each part. The part that contains
/// the number at `rank` becomes the new range, until the range is a single value.
fn at_rank(
    numbers: &(impl Numbers + ?Sized),
    (mut least, mut most): (u64, u64),
    mut rank: u64,
) -> u64 {
    while least < most {
        let range_bits = u64::BITS - (most - least).leading_zeros();
        let shift = range_bits.saturating_sub(BIN_BITS);
        let mut counts = [0_u64; 1 << BIN_BITS];
        numbers.for_each(|number| {
            let above = number.checked_sub(least).map(|above| above >> shift);
            let part = above.and_then(|part| usize::try_from(part).ok());
            if let Some(count) = part.and_then(|part| counts.get_mut(part)) {
                *count += 1;
            }
        });
        let mut part = 0;
        while rank >= counts[part] && part + 1 < counts.len() {
            rank -= counts[part];
            part += 1;
        }
        least += (part as u64) << shift;
        most = most.min(least.saturating_add((1 << shift) - 1));
    }
    least
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

    /// Generates values with few and with many bits.
    fn any_values() -> impl Strategy<Value = Vec<u64>> {
        let shift = prop::sample::select(vec![0, 30, 44, 54, 60, 64]);
        (shift, 1..2_500_usize).prop_flat_map(|(shift, count)| {
            let value = any::<u64>().prop_map(move |value| value.checked_shr(shift).unwrap_or(7));
            let outlier = prop::option::weighted(0.01, any::<u64>());
            let value = (value, outlier).prop_map(|(value, outlier)| outlier.unwrap_or(value));
            prop::collection::vec(value, count)
        })
    }

    proptest! {
        #[test]
        fn values_at_ranks_are_those_of_a_full_sort(
            mut values in any_values(),
            listed_max in prop::sample::select(vec![0, 1_000, LISTED_MAX]),
        ) {
            let mut totals = Totals::default();
            values.iter().for_each(|&value| totals.add(value));
            let count = values.len();
            let ranks = [0, count / 2, count * 99 / 100, count - 1];
            let ranks_wide = ranks.map(|rank| rank as u64);
            let found = at_ranks(values.as_slice(), &totals, ranks_wide, listed_max);
            values.sort_unstable();
            prop_assert_eq!(found, ranks.map(|rank| values[rank]));
            prop_assert_eq!(totals.bounds, Some((values[0], values[count - 1])));
        }

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
