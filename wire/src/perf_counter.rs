//! Hardware counters: enable bits of counter groups, and the data of a record.
//!
//! # Compatibility
//! `PROFILE_PERF_COUNTERS_*` and `union PerfCounter` of TT-Metal's `perf_counters.hpp`.

/// Enable bit of the counters of the FPU and SFPU (the matrix and vector units).
pub const FPU: u32 = 1;
/// Enable bit of the counters of the packers.
pub const PACK: u32 = 1 << 1;
/// Enable bit of the counters of the unpackers.
pub const UNPACK: u32 = 1 << 2;
/// Enable bit of the counters of each thread's instructions and stalls.
pub const INSTRUCTIONS: u32 = 1 << 5;
/// Enable bits of the counters of L1 ports; each bit enables one bank of counters. A Wormhole has
/// two banks, a Blackhole six.
pub const L1: [u32; 6] = [1 << 3, 1 << 4, 1 << 6, 1 << 7, 1 << 8, 1 << 9];

/// All bits of [`L1`].
const ALL_OF_L1: u32 = L1[0] | L1[1] | L1[2] | L1[3] | L1[4] | L1[5];

/// Returns the groups of a request that can be counted at the same time: if several L1 banks are
/// requested, only the lowest is kept.
///
/// ```
/// use wire::perf_counter::{FPU, L1, countable};
/// assert_eq!(countable(FPU | L1[1] | L1[4]), FPU | L1[1]);
/// ```
#[must_use]
#[inline]
pub const fn countable(groups: u32) -> u32 {
    let banks = groups & ALL_OF_L1;
    groups & !ALL_OF_L1 | banks & banks.wrapping_neg()
}

/// Packs a counter record: number of events, cycles over which they were counted, counter number.
///
/// ```
/// assert_eq!(wire::perf_counter::pack(16, 4317, 21), [4317 << 32 | 16, 21]);
/// ```
#[must_use]
#[inline]
pub const fn pack(events: u32, cycles: u32, number: u32) -> [u64; 2] {
    [(cycles as u64) << 32 | events as u64, number as u64]
}
