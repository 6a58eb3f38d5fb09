//! Latencies of writes to another tile or to DRAM and of the writes' acknowledgements, on both
//! NoCs.
//!
//! These are the latencies of an empty NoC; the module `network` adds the time for which
//! packets wait for each other.

use crate::{
    arch::{ArchFacts, TileCoord},
    random::Stream,
};

/// Cycles from one router to the next.
///
/// # Compatibility
/// tt-isa-documentation, `NoC/README.md`.
pub const HOP_CYCLES: u64 = 9;
/// Cycles between a tile's network interface and its router.
pub const INTERFACE_CYCLES: u64 = 5;
/// Upper limit of the cycles by which a packet's time varies at random: cards repeat a measurement
/// within this many cycles (mesham/tt-sim, `perfbench/card-sessions`).
pub const JITTER_CYCLES: u64 = 8;

/// Latency of a write: the time until the data is at the target, and then the time until the
/// acknowledgement is at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteLatency {
    /// Cycles from the issue until the last word is at the target.
    pub landing_cycles: u64,
    /// Cycles from then until the acknowledgement reaches the sender.
    pub acknowledgement_cycles: u64,
}

impl WriteLatency {
    /// Returns the cycle at which a write that is sent at `issued_at` arrives.
    ///
    /// At the call, `last` must be the arrival cycle of the previous write on the same path; the
    /// function sets it to the returned cycle. Writes on one path never overtake each other.
    pub(crate) fn arrival(self, issued_at: u64, last: &mut u64) -> u64 {
        *last = (issued_at + self.landing_cycles).max(*last + 1);
        *last
    }
}

/// Returns the number of hops between two tiles on NoC 0. There, packets travel only right and
/// down, and wrap around at the edges.
///
/// ```
/// use sim::{arch::{Arch, TileCoord}, noc::hop_count};
/// let facts = Arch::WormholeB0.facts();
/// let (a, b) = (TileCoord { x: 1, y: 1 }, TileCoord { x: 0, y: 3 });
/// assert_eq!(hop_count(facts, a, b), 9 + 2);
/// assert_eq!(hop_count(facts, b, a), 1 + 10);
/// ```
#[must_use]
pub fn hop_count(facts: &ArchFacts, from: TileCoord, to: TileCoord) -> u64 {
    hops_on(facts.grid, from, to)
}

fn hops_on((columns, rows): (u16, u16), from: TileCoord, to: TileCoord) -> u64 {
    u64::from(hops_around(from.x, to.x, columns) + hops_around(from.y, to.y, rows))
}

/// Returns the number of hops from row or column `from` to `to` on a ring of `size` rows or
/// columns.
const fn hops_around(from: u16, to: u16, size: u16) -> u16 {
    (to + size - from) % size
}

/// Returns the latency of a write of `byte_count` bytes on one of the NoCs.
pub fn write_latency(
    facts: &ArchFacts,
    noc: usize,
    (from, to): (TileCoord, TileCoord),
    byte_count: u64,
    random: &mut Stream,
) -> WriteLatency {
    let flits = byte_count.div_ceil(facts.noc_flit_bytes);
    WriteLatency {
        landing_cycles: travel_cycles(facts.grid, noc, from, to)
            + flits
            + random.below(JITTER_CYCLES),
        acknowledgement_cycles: travel_cycles(facts.grid, noc, to, from),
    }
}

/// Returns the number of cycles that a flit takes between tiles. On NoC 1, flits go only left and
/// up.
pub(crate) fn travel_cycles(grid: (u16, u16), noc: usize, from: TileCoord, to: TileCoord) -> u64 {
    let (from, to) = if noc == 0 { (from, to) } else { (to, from) };
    2 * INTERFACE_CYCLES + HOP_CYCLES * hops_on(grid, from, to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::Arch;

    #[test]
    fn a_round_trip_goes_once_around_the_torus() {
        for arch in Arch::ALL {
            let facts = arch.facts();
            let (columns, rows) = facts.grid;
            let (a, b) = (TileCoord { x: 2, y: 3 }, TileCoord { x: 9, y: 11 });
            let hops = hop_count(facts, a, b) + hop_count(facts, b, a);
            assert_eq!(hops, u64::from(columns + rows));
            assert_eq!(hop_count(facts, a, a), 0);
        }
    }

    #[test]
    fn long_writes_take_longer_by_their_flits() {
        let facts = Arch::WormholeB0.facts();
        let (a, b) = (TileCoord { x: 1, y: 1 }, TileCoord { x: 5, y: 1 });
        let latency =
            |words: u64| write_latency(facts, 0, (a, b), 4 * words, &mut Stream::new(1, &[]));
        let (short, long) = (latency(12), latency(512));
        assert_eq!(long.landing_cycles - short.landing_cycles, 64 - 2);
        assert_eq!(short.acknowledgement_cycles, 10 + 9 * 6);
        let other = write_latency(facts, 1, (a, b), 48, &mut Stream::new(1, &[]));
        assert_eq!(other.acknowledgement_cycles, 10 + 9 * 4);
    }
}
