//! Constants of the timing model, each with its source.
//!
//! "ISA" below is tenstorrent/tt-isa-documentation: `WormholeB0/TensixTile/BabyRISCV/README.md` and
//! `MemoryOrdering.md`, `WormholeB0/TensixTile/L1.md`, and the pages with the same names under
//! `BlackholeA0`. "Silicon" is one Blackhole card as measured in mesham/tt-sim, `docs/bh_arch.md`
//! 1.1-1.8 and `perfbench/card-sessions/2026-08-18-bh-retirebench`. If a document gives a range,
//! the model uses the lowest value.

use super::super::bus::{INSTRUCTION_RAM_BASE, Region};
use super::Division;
use crate::arch::Arch;

/// Maximum number of instructions that have left the integer unit and not retired (ISA:
/// retire-order queue with eight entries, both architectures).
pub(super) const RETIRE_QUEUE_LENGTH: usize = 8;

/// Maximum number of stores that wait for the memory subsystem (ISA Wormhole `MemoryOrdering.md`:
/// store queue with four entries; Blackhole's is undocumented and assumed to be the same).
pub(super) const STORE_QUEUE_LENGTH: usize = 4;

/// Maximum number of loads in flight outside the private RAM (ISA Wormhole load table: 4 in total;
/// Blackhole silicon shows the same limit: 1.742-1.87 cycles per L1 load, where 7 cycles for 4
/// loads would be 1.75).
pub(super) const REMOTE_LOADS_IN_FLIGHT: usize = 4;

/// Cycles for which a write of less than 16 bytes blocks its L1 port (ISA `L1.md`; silicon shows
/// 5.2-5.4 cycles per store).
pub(super) const NARROW_WRITE_CYCLES: u32 = 5;

/// Cycles for which a read, or a write of a whole 16-byte block, blocks its L1 port (ISA `L1.md`;
/// silicon shows 0.999 cycles per store if the stores together write whole blocks).
pub(super) const WIDE_ACCESS_CYCLES: u32 = 1;

/// Cycles for which Blackhole's store queue keeps a block open for further stores to merge with
/// (the store merge timer in CSR cfg0, as TT-Metal sets it).
pub(super) const MERGE_CYCLES: u64 = 16;

/// Maximum distance between the addresses of two stores that merge (ISA Blackhole README).
pub(super) const MERGE_DISTANCE_BYTES: u32 = 4;

/// Returns the number of cycles from a load's issue until its request reaches a register: half of
/// the load latency.
///
/// The documents state only round-trip latencies. How a round trip is divided affects no duration,
/// because every access to a region is divided in the same way.
pub(super) const fn one_way_cycles(latency_cycles: u64) -> u64 {
    (latency_cycles - 1) / 2
}

/// Cycles by which an instruction is fetched before it is executed, unless a mispredicted branch or
/// jump has emptied the queue of fetched instructions. Fitted to one row of a Wormhole's silicon: a
/// loop of 520 bytes, eight more than its RISC's cache has, takes only 1 % longer than if it fitted.
pub(super) const FETCH_AHEAD_CYCLES: u64 = 8;

/// A RISC's instruction cache.
///
/// Caches have two ways: on Blackhole silicon, a loop of 5 KiB misses in a cache of 4 KiB as often as
/// with two ways and replacement of the line used least recently (1.15 cycles per instruction; one way
/// would cause 1.10, four 1.25). A Wormhole's are assumed to be the same.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct InstructionCache {
    /// Number of bytes of code.
    pub(super) byte_count: u32,
    /// Cycles from a read of L1 to the execution of its first instruction, for two reads in flight.
    pub(super) fetch_cycles: u64,
    /// False if all code counts as being in the cache.
    pub(super) has_misses: bool,
    /// First address of code that is executed without the cache, at a fixed time.
    pub(super) uncached_from: u32,
}

impl InstructionCache {
    /// Returns the cache with a number of bytes, a power of two from 64 on.
    ///
    /// The time is fitted to loops that are larger than the cache, in which two reads are always in
    /// flight and four instructions take half of it: 1.40 cycles per instruction on a Wormhole's T1,
    /// whose cache has 512 bytes; 1.15 on its T0 and T2; 1.25 on a Blackhole's T1.
    pub(in super::super) const fn new(arch: Arch, byte_count: u32) -> Self {
        let fetch_cycles = match arch {
            Arch::WormholeB0 if byte_count <= 512 => 11,
            Arch::WormholeB0 => 9,
            Arch::Blackhole => 10,
        };
        Self { byte_count, fetch_cycles, has_misses: true, uncached_from: INSTRUCTION_RAM_BASE }
    }

    /// Returns the same cache, in which all code counts as being there.
    pub(in super::super) const fn without_misses(self) -> Self {
        Self { has_misses: false, ..self }
    }

    /// Returns the same cache, without which code from an address on is executed.
    pub(in super::super) const fn only_below(self, uncached_from: u32) -> Self {
        Self { uncached_from, ..self }
    }

    /// Returns the cache of most RISCs: 2 KiB on a Wormhole (ISA Wormhole `InstructionCache.md`).
    /// Silicon shows 4 KiB on a Blackhole's T1; its other RISCs are assumed to have the same.
    pub(in super::super) const fn usual(arch: Arch) -> Self {
        match arch {
            Arch::WormholeB0 => Self::new(arch, 2048),
            Arch::Blackhole => Self::new(arch, 4096),
        }
    }
}

/// Differences between the two architectures' pipelines.
pub(in super::super) trait Rules {
    /// True if a result can be used before all earlier instructions have left the load/store unit
    /// (ISA: in-order on Wormhole, strong forwarding network on Blackhole).
    const COMPLETES_OUT_OF_ORDER: bool;
    /// Cycles for which a multiply keeps the next instruction from entering the integer unit.
    const MULTIPLY_OCCUPANCY_CYCLES: u64;
    /// Cycles from the entry of a multiply to the entry of an instruction that uses its result
    /// (silicon shows 1.985 on Blackhole).
    const MULTIPLY_LATENCY_CYCLES: u64;
    /// Cycles lost after a mispredicted branch or jump.
    const MISPREDICT_CYCLES: u64;
    /// Number of branches and jumps that the predictor remembers.
    const PREDICTED_COUNT: u32;
    /// Load latency by region, in the order of [`Region`].
    const LOAD_LATENCY_CYCLES: [u64; Region::COUNT];

    /// Returns the cycles from the entry of a load to the entry of an instruction that uses its
    /// value.
    #[inline(always)]
    fn load_latency_cycles(region: Region) -> u64 {
        Self::LOAD_LATENCY_CYCLES[region as usize]
    }
}

/// Rules of Wormhole, from ISA `WormholeB0/TensixTile/BabyRISCV/README.md`.
pub(in super::super) struct Wormhole;

impl Rules for Wormhole {
    const COMPLETES_OUT_OF_ORDER: bool = false;
    const MULTIPLY_OCCUPANCY_CYCLES: u64 = 2;
    const MULTIPLY_LATENCY_CYCLES: u64 = 2;
    const MISPREDICT_CYCLES: u64 = 2;
    /// 28 branches of straight code replace what the predictor has learnt (ISA `InstructionRAM.md`).
    /// Silicon of a Wormhole confirms that 64 do: each of 64 taken branches or jumps in a loop takes
    /// 3.03 cycles, and 64 branches that are never taken add 1.8 cycles to a round of their loop,
    /// whose own branch is then unknown. A loop of up to 16 additions has no such cost.
    const PREDICTED_COUNT: u32 = 28;
    /// Private RAM 2, mailboxes 3, Tensix 4, TDMA and tile control 7, L1 8. Wormhole has no alias
    /// of the private RAM; the last entry is unused.
    const LOAD_LATENCY_CYCLES: [u64; Region::COUNT] = [2, 3, 4, 7, 7, 8, 8];
}

/// Rules of Blackhole, from ISA `BlackholeA0/TensixTile/BabyRISCV/README.md`, with the L0 data
/// cache off as TT-Metal leaves it.
pub(in super::super) struct Blackhole;

impl Rules for Blackhole {
    const COMPLETES_OUT_OF_ORDER: bool = true;
    const MULTIPLY_OCCUPANCY_CYCLES: u64 = 1;
    const MULTIPLY_LATENCY_CYCLES: u64 = 2;
    const MISPREDICT_CYCLES: u64 = 4;
    /// At least 65: silicon shows no cost of 64 taken branches in a loop. The limit is not known.
    const PREDICTED_COUNT: u32 = 512;
    /// As on Wormhole, except that TDMA has 4 cycles. The last entry is the alias of the private
    /// RAM, with 8.
    const LOAD_LATENCY_CYCLES: [u64; Region::COUNT] = [2, 3, 4, 4, 7, 8, 8];
}

/// Cycles of a division, by the number of significant bits of the dividend.
///
/// ISA gives 6 to 33 cycles "dependent upon the magnitude of the dividend"; Blackhole silicon shows
/// 14.0 cycles for 12 bits and 33.0 for 29 bits. One simple rule fits all four numbers: the number
/// of bits, rounded up to a multiple of four, plus two, but at most the documented maximum. Other
/// values follow from the rule.
const DIVIDE_CYCLES: [u64; 33] = {
    let mut table = [6; 33];
    let mut bits = 1;
    while bits < table.len() {
        let cycles = bits.div_ceil(4) as u64 * 4 + 2;
        table[bits] = if cycles > 33 { 33 } else { cycles };
        bits += 1;
    }
    table
};

/// Returns the number of cycles for which a divide or remainder keeps the next instruction from
/// entering the integer unit (ISA READMEs).
#[inline]
pub(super) fn divide_cycles(division: Division) -> u64 {
    let Division { dividend, divisor, is_signed } = division;
    let overflows = is_signed && dividend == 0x8000_0000 && divisor == u32::MAX;
    if divisor <= 1 || overflows {
        return 2;
    }
    let magnitude = if is_signed { dividend.cast_signed().unsigned_abs() } else { dividend };
    DIVIDE_CYCLES[(32 - magnitude.leading_zeros()) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycles(dividend: u32, divisor: u32, is_signed: bool) -> u64 {
        divide_cycles(Division { dividend, divisor, is_signed })
    }

    #[test]
    fn divide_takes_what_document_and_silicon_say() {
        assert_eq!(cycles(0x1234_5678, 3, false), 33);
        assert_eq!(cycles(0xFFF, 3, false), 14);
        assert_eq!(cycles(u32::MAX, 3, false), 33);
        assert_eq!(cycles(5, 3, false), 6);
        assert_eq!(cycles(0, 3, false), 6);
    }

    #[test]
    fn divide_by_zero_or_one_and_overflow_take_two_cycles() {
        assert_eq!(cycles(0x1234_5678, 0, false), 2);
        assert_eq!(cycles(0x1234_5678, 1, true), 2);
        assert_eq!(cycles(0x8000_0000, u32::MAX, true), 2);
        assert_eq!(cycles(0x8000_0000, u32::MAX, false), 33);
    }
}
