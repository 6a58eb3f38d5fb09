//! Durations of one zone, packed in as few bytes as possible.

use super::distribution::{CycleStatistics, Numbers, Totals};
use reader::{
    packed_bytes::{PackedBytes, PackedMemory},
    packed_numbers::{push, take},
};
use std::sync::Arc;

/// Durations in cycles. New durations are stored in a buffer. A full buffer is moved to a
/// [`PackedMemory`], which writes to a temporary file once its memory limit is reached.
#[derive(Debug, Default)]
pub(super) struct Durations {
    totals: Totals,
    bytes: Vec<u8>,
    /// Earlier durations, which were moved to the packed memory.
    kept: Vec<PackedBytes>,
}

/// Size in bytes at which the buffer is moved to the packed memory.
const KEPT_BYTES: usize = 1 << 15;

impl Durations {
    /// Adds a duration. If the buffer is full afterwards, moves it to `memory`.
    #[inline]
    pub(super) fn push(&mut self, cycles: u64, memory: &Arc<PackedMemory>) {
        self.totals.add(cycles);
        push(&mut self.bytes, cycles);
        if self.bytes.len() >= KEPT_BYTES {
            self.keep(memory);
        }
    }

    #[cold]
    fn keep(&mut self, memory: &Arc<PackedMemory>) {
        let next = Vec::with_capacity(self.bytes.capacity());
        self.kept.push(memory.keep(std::mem::replace(&mut self.bytes, next)));
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.totals.count == 0
    }

    /// Calls `visit` with each duration of several collections, in any order.
    pub(super) fn for_each(parts: &[&Self], visit: impl FnMut(u64)) {
        parts.for_each(visit);
    }

    /// Computes the statistics of several collections together.
    pub(super) fn statistics(parts: &[&Self], aiclk_mhz: u32) -> CycleStatistics {
        let mut totals = Totals::default();
        parts.iter().for_each(|part| totals.merge(&part.totals));
        CycleStatistics::new(&totals, parts, aiclk_mhz)
    }
}

/// Durations that cannot be read back are skipped, and [`PackedMemory`] keeps the error.
impl Numbers for [&Durations] {
    fn for_each(&self, mut visit: impl FnMut(u64)) {
        let mut visit_part = |part: &[u8]| {
            let mut bytes = part.iter();
            while bytes.len() > 0 {
                visit(take(&mut bytes));
            }
        };
        for part in self {
            part.kept.iter().filter_map(|kept| kept.read().ok()).for_each(|part| visit_part(&part));
            visit_part(&part.bytes);
        }
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
            is_kept in any::<bool>(),
        ) {
            let mut parts = [Durations::default(), Durations::default()];
            let memory = PackedMemory::unlimited();
            for &(is_second, cycles) in &halves {
                parts[usize::from(is_second)].push(cycles, &memory);
            }
            if is_kept {
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
            durations.push(70_000 + number * 7_919 % 1_000_003, &memory);
        }
        assert!(memory.written_bytes() > 2_000_000, "{}", memory.written_bytes());
        let statistics = Durations::statistics(&[&durations], 1000);
        memory.check().unwrap();
        let total = 70_000 * 1_000_003 + 1_000_002 * 1_000_003 / 2;
        assert_eq!((statistics.count, statistics.total_cycles), (1_000_003, total));
        assert_eq!((statistics.min_cycles, statistics.max_cycles), (70_000, 1_070_002));
        assert_eq!((statistics.median_cycles, statistics.p99_cycles), (570_001, 1_060_002));
    }

    #[test]
    fn many_short_durations_take_little_memory_and_have_exact_statistics() {
        let folder = tempfile::tempdir().unwrap();
        let memory = PackedMemory::new(0, folder.path());
        let mut durations = Durations::default();
        for number in 0..1_000_000_u64 {
            durations.push(number % 60_000, &memory);
        }
        assert!(durations.bytes.capacity() <= 2 * KEPT_BYTES);
        let statistics = Durations::statistics(&[&durations], 1000);
        // The values 0 to 59,999 sixteen times, and 0 to 39,999 once more.
        let total = 16 * (59_999 * 60_000 / 2) + 39_999 * 40_000 / 2;
        assert_eq!((statistics.count, statistics.total_cycles), (1_000_000, total));
        assert_eq!((statistics.min_cycles, statistics.max_cycles), (0, 59_999));
        // Values below 40,000 occur 17 times, the others 16 times.
        assert_eq!((statistics.median_cycles, statistics.p99_cycles), (29_411, 59_374));
    }
}
