//! Durations of one zone, stored in as few bytes as possible.

#![expect(clippy::arithmetic_side_effects, reason = "a capacity is far below half of the numbers")]

use super::{
    CycleStatistics,
    ranks::{Counts, KeptNumbers, Pieces},
};
use reader::packed_bytes::{PackedBytes, PackedMemory};
use std::sync::Arc;

/// Durations in cycles, grouped by the width of the integer that stores them.
#[derive(Debug, Default)]
pub(super) struct Durations {
    /// Durations below 2^16 cycles, which are the most frequent.
    short: Shorts,
    /// Durations from 2^16 up to 2^32 cycles.
    medium: Chunks<u32>,
    /// Earlier medium durations in large packed pieces, in memory or in the temporary file.
    kept: Vec<PackedBytes>,
    long: Chunks<u64>,
}

/// Number of full chunks of medium durations that are packed into one piece.
const KEPT_CHUNKS: usize = 32;

/// Short durations: a list of the values while there are few, later a histogram of the values. The
/// memory of the histogram does not depend on the number of durations.
#[derive(Debug)]
enum Shorts {
    Each(Chunks<u16>),
    Counted(Counts),
}

impl Default for Shorts {
    fn default() -> Self {
        Self::Each(Chunks::default())
    }
}

/// Number of full chunks of short durations that take as much memory as the histogram.
const COUNTED_FROM_CHUNKS: usize = Counts::BYTES / (CHUNK_MAX * size_of::<u16>());

impl Shorts {
    #[inline]
    fn push(&mut self, cycles: u16) {
        match self {
            Self::Each(chunks) => {
                chunks.push(cycles);
                if chunks.full.len() >= COUNTED_FROM_CHUNKS {
                    self.count();
                }
            }
            Self::Counted(counts) => counts.add(cycles),
        }
    }

    #[cold]
    fn count(&mut self) {
        let mut counts = Counts::default();
        self.add_to(&mut counts);
        *self = Self::Counted(counts);
    }

    /// Returns all short durations; `None` if only their histogram is stored.
    fn each(&self) -> Option<Vec<&[u16]>> {
        match self {
            Self::Each(chunks) => Some(chunks.pieces().collect()),
            Self::Counted(_) => None,
        }
    }

    fn add_to(&self, counts: &mut Counts) {
        match self {
            Self::Each(chunks) => {
                chunks.pieces().flatten().for_each(|&cycles| counts.add(cycles));
            }
            Self::Counted(other) => counts.merge(other),
        }
    }

    const fn is_empty(&self) -> bool {
        matches!(self, Self::Each(chunks) if chunks.is_empty())
    }
}

impl Durations {
    /// Adds a duration. Large amounts of durations are moved to `memory`.
    #[inline]
    pub(super) fn push(&mut self, cycles: u32, memory: &Arc<PackedMemory>) {
        match u16::try_from(cycles) {
            Ok(cycles) => self.short.push(cycles),
            Err(_) => {
                self.medium.push(cycles);
                if self.medium.full.len() >= KEPT_CHUNKS {
                    self.keep(memory);
                }
            }
        }
    }

    pub(super) fn push_any(&mut self, cycles: u64, memory: &Arc<PackedMemory>) {
        match u32::try_from(cycles) {
            Ok(cycles) => self.push(cycles, memory),
            Err(_) => self.long.push(cycles),
        }
    }

    #[cold]
    fn keep(&mut self, memory: &Arc<PackedMemory>) {
        let full = std::mem::take(&mut self.medium.full);
        let bytes = full.iter().flatten().flat_map(|cycles| cycles.to_le_bytes()).collect();
        self.kept.push(memory.keep(bytes));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.short.is_empty() && self.medium.is_empty() && self.long.is_empty()
    }

    /// Computes the statistics of several collections together.
    pub(super) fn statistics(parts: &[&Self], aiclk_mhz: u32) -> CycleStatistics {
        let mediums = KeptNumbers {
            pieces: Pieces(parts.iter().flat_map(|part| part.medium.pieces()).collect()),
            kept: parts.iter().flat_map(|part| &part.kept).collect(),
        };
        let longs = Pieces(parts.iter().flat_map(|part| part.long.pieces()).collect());
        let each = parts.iter().map(|part| part.short.each());
        if let Some(shorts) = each.collect::<Option<Vec<_>>>() {
            let shorts = Pieces(shorts.into_iter().flatten().collect());
            return CycleStatistics::by_size(&[&shorts, &mediums, &longs], aiclk_mhz);
        }
        let mut shorts = Counts::default();
        parts.iter().for_each(|part| part.short.add_to(&mut shorts));
        CycleStatistics::by_size(&[&shorts, &mediums, &longs], aiclk_mhz)
    }
}

/// Values in chunks that are never reallocated. A growing vector would free as much memory as its
/// final size, and the largest cost of collecting durations is the allocation of new memory.
#[derive(Debug)]
struct Chunks<T> {
    last: Vec<T>,
    full: Vec<Vec<T>>,
}

const CHUNK_MIN: usize = 32;
const CHUNK_MAX: usize = 2048;

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { last: Vec::new(), full: Vec::new() }
    }
}

impl<T> Chunks<T> {
    #[inline]
    fn push(&mut self, value: T) {
        if self.last.len() == self.last.capacity() {
            self.begin_chunk();
        }
        self.last.push(value);
    }

    #[cold]
    fn begin_chunk(&mut self) {
        let count = (2 * self.last.capacity()).clamp(CHUNK_MIN, CHUNK_MAX);
        let full = std::mem::replace(&mut self.last, Vec::with_capacity(count));
        if !full.is_empty() {
            self.full.push(full);
        }
    }

    const fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    fn pieces(&self) -> impl Iterator<Item = &[T]> {
        self.full.iter().chain([&self.last]).map(Vec::as_slice).filter(|piece| !piece.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

    fn any_cycles() -> impl Strategy<Value = u64> {
        prop_oneof![any::<u16>().prop_map(u64::from), Just(65_535), Just(65_536), any::<u64>()]
    }

    proptest! {
        #[test]
        fn durations_of_all_sizes_have_the_statistics_of_all_together(
            halves in prop::collection::vec((any::<bool>(), any_cycles()), 1..200),
            is_counted in any::<bool>(),
        ) {
            let mut parts = [Durations::default(), Durations::default()];
            let memory = PackedMemory::unlimited();
            for &(is_second, cycles) in &halves {
                parts[usize::from(is_second)].push_any(cycles, &memory);
            }
            if is_counted {
                parts[0].short.count();
                parts[0].medium.begin_chunk();
                parts[0].keep(&memory);
            }
            let all: Vec<u64> = halves.iter().map(|&(_, cycles)| cycles).collect();
            let [one, other] = &parts;
            let expected = CycleStatistics::from_durations(&all, 1000);
            prop_assert_eq!(Durations::statistics(&[one, other], 1000), expected);
        }
    }

    #[test]
    fn many_medium_durations_are_in_the_file_and_have_exact_statistics() {
        let folder = tempfile::tempdir().unwrap();
        let memory = PackedMemory::new(300_000, folder.path());
        let mut durations = Durations::default();
        // The step size is coprime to the prime 1,000,003, so each value occurs once.
        for number in 0..1_000_003_u64 {
            let cycles = 70_000 + number * 7_919 % 1_000_003;
            durations.push(u32::try_from(cycles).unwrap(), &memory);
        }
        assert!(memory.written_bytes() > 3_000_000, "{}", memory.written_bytes());
        let statistics = Durations::statistics(&[&durations], 1000);
        memory.check().unwrap();
        let total = 70_000 * 1_000_003 + 1_000_002 * 1_000_003 / 2;
        assert_eq!((statistics.count, statistics.total_cycles), (1_000_003, total));
        assert_eq!((statistics.min_cycles, statistics.max_cycles), (70_000, 1_070_002));
        assert_eq!((statistics.median_cycles, statistics.p99_cycles), (570_001, 1_060_002));
    }

    #[test]
    fn many_short_durations_take_no_more_memory_than_a_count_of_each() {
        let mut durations = Durations::default();
        let memory = PackedMemory::unlimited();
        for number in 0..1_000_000_u32 {
            durations.push(number % 60_000, &memory);
        }
        assert!(matches!(durations.short, Shorts::Counted(_)));
        let statistics = Durations::statistics(&[&durations], 1000);
        // The values 0 to 59,999 sixteen times, and 0 to 39,999 once more.
        let total = 16 * (59_999 * 60_000 / 2) + 39_999 * 40_000 / 2;
        assert_eq!((statistics.count, statistics.total_cycles), (1_000_000, total));
        assert_eq!((statistics.min_cycles, statistics.max_cycles), (0, 59_999));
        // Values below 40,000 occur 17 times, the others 16 times.
        assert_eq!((statistics.median_cycles, statistics.p99_cycles), (29_411, 59_374));
    }
}
