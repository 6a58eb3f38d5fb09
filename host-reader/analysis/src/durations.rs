//! Durations of one zone, stored in as few bytes as possible.

#![expect(clippy::arithmetic_side_effects, reason = "a capacity is far below half of the numbers")]

use super::{CycleStatistics, ranks::Cycles};

/// Durations in the order in which they were added, separated by size.
#[derive(Debug, Default)]
pub(super) struct Durations {
    /// Durations below 2^16 cycles: most of them.
    short: Chunks<u16>,
    /// Durations below 2^32 cycles: nearly all others.
    medium: Chunks<u32>,
    long: Chunks<u64>,
}

impl Durations {
    #[inline]
    pub(super) fn push(&mut self, cycles: u32) {
        match u16::try_from(cycles) {
            Ok(cycles) => self.short.push(cycles),
            Err(_) => self.medium.push(cycles),
        }
    }

    pub(super) fn push_any(&mut self, cycles: u64) {
        match u32::try_from(cycles) {
            Ok(cycles) => self.push(cycles),
            Err(_) => self.long.push(cycles),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.short.is_empty() && self.medium.is_empty() && self.long.is_empty()
    }

    /// Computes the statistics over several collections.
    pub(super) fn statistics(parts: &[&Self], aiclk_mhz: u32) -> CycleStatistics {
        let shorts: Vec<&[u16]> = parts.iter().flat_map(|part| part.short.pieces()).collect();
        let mediums: Vec<&[u32]> = parts.iter().flat_map(|part| part.medium.pieces()).collect();
        let longs: Vec<&[u64]> = parts.iter().flat_map(|part| part.long.pieces()).collect();
        match (mediums.is_empty(), longs.is_empty()) {
            (true, true) => CycleStatistics::of_pieces(&shorts, aiclk_mhz),
            (false, true) if shorts.is_empty() => CycleStatistics::of_pieces(&mediums, aiclk_mhz),
            (_, true) => {
                let all: Vec<u32> = values(&shorts).chain(values(&mediums)).collect();
                CycleStatistics::of_pieces(&[&all], aiclk_mhz)
            }
            (_, false) => {
                let all: Vec<u64> = values(&shorts).chain(values(&mediums)).collect();
                let all: Vec<u64> = all.into_iter().chain(values(&longs)).collect();
                CycleStatistics::of(&all, aiclk_mhz)
            }
        }
    }
}

fn values<T: Cycles, Wide: From<T>>(pieces: &[&[T]]) -> impl Iterator<Item = Wide> {
    pieces.iter().copied().flatten().copied().map(Wide::from)
}

/// Values in chunks of memory that never move. A growing vector would leave as much unused memory
/// behind as its final size, and allocating memory is the main cost of collecting.
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
