//! Selection of values by rank from many numbers, without sorting.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices and counts are those of lists in memory"
)]

use reader::packed_bytes::PackedBytes;
use std::collections::BTreeMap;

/// Numbers of 16, 32 or 64 bits.
pub(super) trait Cycles: Copy + Ord + Into<u64> {
    /// Returns the sum, saturated at the maximum of 64 bits.
    fn total(values: &[Self]) -> u64;
}

impl Cycles for u16 {
    fn total(values: &[Self]) -> u64 {
        // The sum of a chunk fits 32 bits, and 32-bit additions are faster.
        let sums =
            values.chunks(1 << 16).map(|few| few.iter().copied().map(u32::from).sum::<u32>());
        sums.map(u64::from).fold(0, u64::saturating_add)
    }
}

impl Cycles for u32 {
    fn total(values: &[Self]) -> u64 {
        // The sum of a chunk cannot overflow, so only the total needs a check.
        let sums = values.chunks(1 << 16).map(|few| few.iter().copied().map(u64::from).sum());
        sums.fold(0, u64::saturating_add)
    }
}

impl Cycles for u64 {
    fn total(values: &[Self]) -> u64 {
        values.iter().copied().fold(0, Self::saturating_add)
    }
}

/// Collection of numbers from which values at certain ranks are selected.
pub(super) trait Values {
    /// Returns the number of values.
    fn count(&self) -> usize;
    /// Returns the sum, saturated at the maximum of 64 bits.
    fn total(&self) -> u64;
    /// Returns the minimum and maximum; zeros if there are no values.
    fn extremes(&self) -> (u64, u64);
    /// Returns the values at these ranks (from 0) of the sorted values. A rank out of range gives
    /// an arbitrary value.
    fn at_ranks(&self, ranks: [usize; 3]) -> [u64; 3];
}

/// Numbers in several slices.
pub(super) struct Pieces<'a, T>(pub(super) Vec<&'a [T]>);

impl<T: Cycles> Values for Pieces<'_, T> {
    fn count(&self) -> usize {
        self.0.iter().map(|piece| piece.len()).sum()
    }

    fn total(&self) -> u64 {
        self.0.iter().fold(0, |total: u64, piece| total.saturating_add(T::total(piece)))
    }

    fn extremes(&self) -> (u64, u64) {
        extremes(&self.0)
    }

    fn at_ranks(&self, ranks: [usize; 3]) -> [u64; 3] {
        values_at(&self.0, self.extremes(), ranks)
    }
}

/// 32-bit numbers, most of them packed.
pub(super) struct KeptNumbers<'a> {
    pub(super) pieces: Pieces<'a, u32>,
    /// Packed numbers of four bytes each.
    pub(super) kept: Vec<&'a PackedBytes>,
}

/// Number of bytes of a packed number.
const KEPT_BYTES: usize = 4;

impl KeptNumbers<'_> {
    /// Visits all numbers. Numbers that cannot be read are left out, and `PackedMemory` keeps the
    /// error.
    fn for_each(&self, mut visit: impl FnMut(u32)) {
        self.pieces.0.iter().copied().flatten().for_each(|&number| visit(number));
        for bytes in self.kept.iter().filter_map(|kept| kept.read().ok()) {
            let (numbers, _) = bytes.as_chunks::<KEPT_BYTES>();
            numbers.iter().for_each(|number| visit(u32::from_le_bytes(*number)));
        }
    }
}

/// Splits a number into its upper and its lower half.
const fn halves(number: u32) -> (u16, u16) {
    let [a, b, c, d] = number.to_le_bytes();
    (u16::from_le_bytes([c, d]), u16::from_le_bytes([a, b]))
}

impl Values for KeptNumbers<'_> {
    fn count(&self) -> usize {
        let kept: usize = self.kept.iter().map(|kept| kept.byte_count() / KEPT_BYTES).sum();
        self.pieces.count() + kept
    }

    fn total(&self) -> u64 {
        let mut total = 0_u64;
        self.for_each(|number| total = total.saturating_add(number.into()));
        total
    }

    fn extremes(&self) -> (u64, u64) {
        let (mut least, mut most) = (u32::MAX, 0);
        self.for_each(|number| (least, most) = (least.min(number), most.max(number)));
        if self.count() == 0 { (0, 0) } else { (least.into(), most.into()) }
    }

    /// Reads the numbers twice: counts the upper halves of all numbers, then the lower halves of
    /// those numbers whose upper half is the upper half at one of the ranks.
    fn at_ranks(&self, ranks: [usize; 3]) -> [u64; 3] {
        if self.kept.is_empty() {
            return self.pieces.at_ranks(ranks);
        }
        let mut uppers = Counts::default();
        self.for_each(|number| uppers.add(halves(number).0));
        let places = ranks.map(|rank| uppers.find_rank(rank));
        let mut lowers: BTreeMap<u64, Counts> =
            places.iter().map(|&(upper, _)| (upper, Counts::default())).collect();
        self.for_each(|number| {
            let (upper, lower) = halves(number);
            if let Some(counts) = lowers.get_mut(&upper.into()) {
                counts.add(lower);
            }
        });
        places.map(|(upper, left)| {
            let lower = lowers.get(&upper).map_or(0, |counts| counts.find_rank(left).0);
            (upper << u16::BITS) + lower
        })
    }
}

/// Histogram of 16-bit numbers.
#[derive(Debug)]
pub(super) struct Counts(Box<[u64]>);

impl Default for Counts {
    fn default() -> Self {
        Self(vec![0; Self::COUNT].into_boxed_slice())
    }
}

impl Counts {
    const COUNT: usize = 1 << u16::BITS;
    /// Memory of the histogram in bytes.
    pub(super) const BYTES: usize = Self::COUNT * size_of::<u64>();

    #[inline]
    pub(super) fn add(&mut self, value: u16) {
        self.0[usize::from(value)] += 1;
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(count, more)| *count += more);
    }

    /// Returns the value at this rank, and the rank among the occurrences of that value.
    fn find_rank(&self, rank: usize) -> (u64, usize) {
        let mut left = rank as u64;
        let mut at_rank = 0;
        for (value, count) in self.found() {
            at_rank = value;
            let Some(rest) = left.checked_sub(count) else { break };
            left = rest;
        }
        (at_rank, usize::try_from(left).unwrap_or(usize::MAX))
    }

    /// Returns each value that occurs, with its number of occurrences.
    fn found(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> {
        let counts = self.0.iter().enumerate();
        counts.filter(|(_, count)| **count > 0).map(|(value, &count)| (value as u64, count))
    }
}

impl Values for Counts {
    fn count(&self) -> usize {
        let count = self.0.iter().fold(0_u64, |all, &count| all.saturating_add(count));
        usize::try_from(count).unwrap_or(usize::MAX)
    }

    fn total(&self) -> u64 {
        self.found()
            .fold(0, |total: u64, (value, count)| total.saturating_add(value.saturating_mul(count)))
    }

    fn extremes(&self) -> (u64, u64) {
        let mut found = self.found().map(|(value, _)| value);
        let least = found.next().unwrap_or(0);
        (least, found.next_back().unwrap_or(least))
    }

    fn at_ranks(&self, ranks: [usize; 3]) -> [u64; 3] {
        ranks.map(|rank| self.find_rank(rank).0)
    }
}

/// Returns the minimum and maximum; zeros if there are no values.
fn extremes<T: Cycles>(pieces: &[&[T]]) -> (u64, u64) {
    let least = pieces.iter().filter_map(|piece| piece.iter().copied().min()).min();
    let most = pieces.iter().filter_map(|piece| piece.iter().copied().max()).max();
    (least.map_or(0, T::into), most.map_or(0, T::into))
}

const BIN_BITS: u32 = 11;
const BIN_COUNT: usize = 1 << BIN_BITS;
/// Number of values up to which they are selected directly, without bins.
const FEW: usize = BIN_COUNT / 4;

/// Returns the values at these ranks (from 0) in the sorted sequence of all pieces. `least` and
/// `most` are the extremes of all values.
///
/// # Cost
/// Linear: all values are counted into bins by their leading bits, and only the values in the bins
/// of these ranks are read again.
pub(super) fn values_at<T: Cycles, const N: usize>(
    pieces: &[&[T]],
    (least, most): (u64, u64),
    ranks: [usize; N],
) -> [u64; N] {
    let count: usize = pieces.iter().map(|piece| piece.len()).sum();
    if count <= FEW {
        let mut all = pieces.concat();
        return ranks.map(|rank| selected(&mut all, rank));
    }
    let bins = Bins::new(pieces, least, most);
    let mut taken = (usize::MAX, Vec::new());
    ranks.map(|rank| {
        let (bin, before) = bins.find_rank(rank);
        if bins.shift == 0 {
            return least + bin as u64;
        }
        if taken.0 != bin {
            taken = (bin, bins.values_in(bin, pieces));
        }
        selected(&mut taken.1, rank - before)
    })
}

fn selected<T: Cycles>(values: &mut [T], rank: usize) -> u64 {
    if rank < values.len() { (*values.select_nth_unstable(rank).1).into() } else { 0 }
}

/// Number of values in each of many equal parts of their range.
struct Bins {
    counts: Box<[usize; BIN_COUNT]>,
    least: u64,
    /// Number of low bits of a value that do not affect its bin.
    shift: u32,
}

impl Bins {
    fn new<T: Cycles>(pieces: &[&[T]], least: u64, most: u64) -> Self {
        let range_bits = u64::BITS - (most - least).leading_zeros();
        let shift = range_bits.saturating_sub(BIN_BITS);
        let mut bins = Self { counts: Box::new([0; BIN_COUNT]), least, shift };
        for &value in pieces.iter().copied().flatten() {
            let bin = bins.bin(value.into());
            bins.counts[bin] += 1;
        }
        bins
    }

    #[inline]
    const fn bin(&self, value: u64) -> usize {
        // The remainder changes no value in the range. It only proves to the compiler that the
        // index is in bounds.
        #[expect(clippy::cast_possible_truncation, reason = "a remainder of bits that fit")]
        let bin = ((value.wrapping_sub(self.least) >> self.shift) % BIN_COUNT as u64) as usize;
        bin
    }

    /// Returns the bin that contains the value at this rank, and the number of values in earlier
    /// bins.
    fn find_rank(&self, rank: usize) -> (usize, usize) {
        let mut before = 0;
        for (bin, &count) in self.counts.iter().enumerate() {
            if rank < before + count {
                return (bin, before);
            }
            before += count;
        }
        (BIN_COUNT - 1, before)
    }

    fn values_in<T: Cycles>(&self, bin: usize, pieces: &[&[T]]) -> Vec<T> {
        let mut values = Vec::with_capacity(self.counts[bin]);
        let all = pieces.iter().copied().flatten().copied();
        values.extend(all.filter(|&value| self.bin(value.into()) == bin));
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};

    /// Generates values with few and with many bits, and value counts below and above `FEW`.
    fn any_values() -> impl Strategy<Value = Vec<u64>> {
        let shift = prop::sample::select(vec![0, 30, 44, 54, 60, 64]);
        (shift, 1..5 * FEW).prop_flat_map(|(shift, count)| {
            let value = any::<u64>().prop_map(move |value| value.checked_shr(shift).unwrap_or(7));
            let outlier = prop::option::weighted(0.01, any::<u64>());
            let value = (value, outlier).prop_map(|(value, outlier)| outlier.unwrap_or(value));
            prop::collection::vec(value, count)
        })
    }

    fn check<T: Cycles>(
        values: &[T],
        cut: usize,
    ) -> Result<(), proptest::test_runner::TestCaseError> {
        let (front, back) = values.split_at(cut % values.len());
        let pieces = [front, &[], back];
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let ranks = [0, sorted.len() / 2, sorted.len() * 99 / 100, sorted.len() - 1];
        let expected = ranks.map(|rank| sorted[rank].into());
        prop_assert_eq!(extremes(&pieces), (expected[0], expected[3]));
        prop_assert_eq!(values_at(&pieces, extremes(&pieces), ranks), expected);
        Ok(())
    }

    proptest! {
        #[test]
        fn values_at_ranks_are_those_of_a_full_sort(values in any_values(), cut in any::<usize>()) {
            check(&values, cut)?;
            let short: Vec<_> = values.iter().filter_map(|&v| u32::try_from(v).ok()).collect();
            if !short.is_empty() {
                check(&short, cut)?;
            }
        }
    }
}
