//! Rates of a chip's NoC links and DRAM channels, for which packets queue.
//!
//! A packet occupies each link of its way, and the ports of both tiles' network interfaces, for as
//! many cycles as its flits take. A link that is occupied delays the packet; delays add to the
//! latency of the empty NoC. A DRAM channel serves one request after another.
//!
//! Callers pass packets and requests in the order of their times. Everything is then served in the
//! order of arrival, as if no router preferred one input to another.
//!
//! # Compatibility
//! Routes: tt-isa-documentation, `NoC/RoutingPaths.md`: NoC 0 goes right and then down, NoC 1 up and
//! then left. Rates and latencies: see [`Rates`]. Not modelled: virtual channels, and packets that
//! stop on their way and keep the links behind them occupied. A multicast occupies only the links to
//! the first of its targets.

use crate::{
    arch::{Arch, TileCoord, translation::NOC_COUNT},
    limits::{LiftedLimits, Limit},
    noc::{HOP_CYCLES, INTERFACE_CYCLES, travel_cycles},
};

/// Rates and latencies of a chip.
///
/// They are fitted to measurements of one card of each kind, `sim/tests/silicon/silicon.csv`; the
/// names of its rows are given for each figure.
#[derive(Clone, Copy, Debug)]
struct Rates {
    /// For every so many data flits, a packet occupies a link for one cycle more. Rows "64 writes
    /// of 4096 bytes" to "16384 bytes", one flow.
    flits_per_extra_cycle: u64,
    /// Bytes that a DRAM channel reads and writes in 100 cycles. Rows "cores read" and "cores write
    /// ... one DRAM channel", of 1 to 64 and 1 to 120 cores.
    read_bytes_per_100_cycles: u64,
    write_bytes_per_100_cycles: u64,
    /// Cycles from the begin of a read until its data leave the DRAM's tile, beyond those of L1.
    /// Rows "from event of the start of a read barrier ... DRAM bank 0", 256 bytes.
    read_latency_cycles: u64,
    /// The same for a write and its acknowledgement. Rows "start of a write barrier".
    write_latency_cycles: u64,
}

const WORMHOLE: Rates = Rates {
    flits_per_extra_cycle: 64,
    read_bytes_per_100_cycles: 2_212,
    write_bytes_per_100_cycles: 2_130,
    read_latency_cycles: 88,
    write_latency_cycles: 88,
};

const BLACKHOLE: Rates = Rates {
    flits_per_extra_cycle: 32,
    read_bytes_per_100_cycles: 4_650,
    write_bytes_per_100_cycles: 4_690,
    read_latency_cycles: 120,
    write_latency_cycles: 40,
};

/// Kind of an access to DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DramAccess {
    Read,
    Write,
}

/// Times of a request to a DRAM channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    /// Cycle at which the data is read from, or is in, the memory.
    pub(crate) done: u64,
    /// Cycle at which the answer or acknowledgement leaves the DRAM's tile.
    pub(crate) leaves: u64,
}

/// Links and DRAM channels of a chip, each with the first cycle at which it is free.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    grid: (u16, u16),
    rates: Rates,
    lifted: LiftedLimits,
    flit_bytes: u64,
    /// For each NoC and tile: the link to the next column, the link to the next row, and the ports
    /// of the network interface, first out of the tile and then into it.
    links: Vec<[u64; LINKS_OF_TILE]>,
    channels: Vec<u64>,
}

const LINKS_OF_TILE: usize = 4;
const COLUMN: usize = 0;
const ROW: usize = 1;
const OUT: usize = 2;
const IN: usize = 3;

impl Network {
    pub(crate) fn new(arch: Arch, lifted: LiftedLimits) -> Self {
        let facts = arch.facts();
        let (columns, rows) = facts.grid;
        let tiles = usize::from(columns) * usize::from(rows);
        Self {
            grid: facts.grid,
            rates: match arch {
                Arch::WormholeB0 => WORMHOLE,
                Arch::Blackhole => BLACKHOLE,
            },
            lifted,
            flit_bytes: facts.noc_flit_bytes,
            links: vec![[0; LINKS_OF_TILE]; NOC_COUNT * tiles],
            channels: vec![0; facts.bank_count as usize],
        }
    }

    /// Goes back to an earlier cycle: what is occupied later is forgotten.
    pub(crate) fn go_back(&mut self, cycle: u64) {
        let links = self.links.iter_mut().flatten();
        for free_from in links.chain(&mut self.channels) {
            *free_from = (*free_from).min(cycle);
        }
    }

    /// Sends a packet with `byte_count` bytes of data at a cycle; returns the cycle at which its
    /// last flit is in the target tile.
    pub(crate) fn pass(
        &mut self,
        noc: usize,
        (from, to): (TileCoord, TileCoord),
        byte_count: u64,
        cycle: u64,
    ) -> u64 {
        if self.lifted.has(Limit::Noc) {
            return self.pass_alone(noc, (from, to), byte_count, cycle);
        }
        let flits = self.flits(byte_count);
        let occupied = 1 + flits + flits / self.rates.flits_per_extra_cycle;
        let mut head = self.occupy(noc, from, OUT, (cycle, occupied)) + INTERFACE_CYCLES;
        let mut at = from;
        while at != to {
            let link = self.next_link(noc, at, to);
            head = self.occupy(noc, at, link, (head, occupied)) + HOP_CYCLES;
            at = self.beyond(noc, at, link);
        }
        self.occupy(noc, to, IN, (head, occupied)) + INTERFACE_CYCLES + flits
    }

    /// Returns the cycle at which a packet that meets no other would be in the target tile.
    pub(crate) fn pass_alone(
        &self,
        noc: usize,
        (from, to): (TileCoord, TileCoord),
        byte_count: u64,
        cycle: u64,
    ) -> u64 {
        cycle + travel_cycles(self.grid, noc, from, to) + self.flits(byte_count)
    }

    /// Returns the cycles that the flits of a packet take one after the other.
    fn flits(&self, byte_count: u64) -> u64 {
        if self.lifted.has(Limit::Noc) { 0 } else { byte_count.div_ceil(self.flit_bytes) }
    }

    /// Serves a request of `byte_count` bytes that arrives at a DRAM bank at a cycle.
    pub(crate) fn serve(
        &mut self,
        bank: u32,
        access: DramAccess,
        byte_count: u64,
        cycle: u64,
    ) -> Service {
        if self.lifted.has(Limit::Dram) {
            return Service { done: cycle, leaves: cycle };
        }
        let (rate, latency) = match access {
            DramAccess::Read => {
                (self.rates.read_bytes_per_100_cycles, self.rates.read_latency_cycles)
            }
            DramAccess::Write => {
                (self.rates.write_bytes_per_100_cycles, self.rates.write_latency_cycles)
            }
        };
        let service = (100 * byte_count).div_ceil(rate);
        let free_from = &mut self.channels[bank as usize];
        let start = cycle.max(*free_from);
        *free_from = start + service;
        match access {
            // The data leave as they are read, so the end of the packet waits for the memory only if
            // the memory is slower than the link.
            DramAccess::Read => {
                let flits = self.flits(byte_count);
                Service { done: start, leaves: start + latency + service - flits.min(service) }
            }
            DramAccess::Write => {
                Service { done: start + service, leaves: start + service + latency }
            }
        }
    }

    /// Occupies a link from a cycle on, or from when it is free; returns the first cycle.
    fn occupy(
        &mut self,
        noc: usize,
        tile: TileCoord,
        link: usize,
        (cycle, cycles): (u64, u64),
    ) -> u64 {
        let (columns, rows) = self.grid;
        let index = (noc * usize::from(rows) + usize::from(tile.y)) * usize::from(columns);
        let free_from = &mut self.links[index + usize::from(tile.x)][link];
        let start = cycle.max(*free_from);
        *free_from = start + cycles;
        start
    }

    const fn next_link(&self, noc: usize, at: TileCoord, to: TileCoord) -> usize {
        match noc {
            0 if at.x != to.x => COLUMN,
            0 => ROW,
            _ if at.y != to.y => ROW,
            _ => COLUMN,
        }
    }

    fn beyond(&self, noc: usize, at: TileCoord, link: usize) -> TileCoord {
        let (columns, rows) = self.grid;
        let next = |place: u16, size: u16| (place + if noc == 0 { 1 } else { size - 1 }) % size;
        match link {
            COLUMN => TileCoord { x: next(at.x, columns), ..at },
            _ => TileCoord { y: next(at.y, rows), ..at },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TileCoord = TileCoord { x: 1, y: 1 };
    const B: TileCoord = TileCoord { x: 4, y: 2 };
    const C: TileCoord = TileCoord { x: 2, y: 1 };
    const D: TileCoord = TileCoord { x: 1, y: 5 };

    #[test]
    fn an_empty_noc_has_the_latency_of_the_way() {
        for arch in Arch::ALL {
            for noc in 0..NOC_COUNT {
                for way in [(A, B), (B, A), (A, D), (D, C)] {
                    let mut network = Network::new(arch, LiftedLimits::NONE);
                    let alone = network.pass_alone(noc, way, 512, 1_000);
                    assert_eq!(network.pass(noc, way, 512, 1_000), alone);
                }
            }
        }
    }

    #[test]
    fn packets_that_share_a_link_wait_and_others_do_not() {
        let mut network = Network::new(Arch::WormholeB0, LiftedLimits::NONE);
        let first = network.pass(0, (A, B), 4096, 1_000);
        let shared = network.pass(0, (C, B), 4096, 1_000);
        let alone = network.pass_alone(0, (C, B), 4096, 1_000);
        assert!(shared > alone + 100 && shared < alone + 160, "{shared} {alone} {first}");
        // Another NoC, and another direction on the same NoC.
        for (noc, way) in [(1, (C, B)), (0, (A, D))] {
            let mut network = Network::new(Arch::WormholeB0, LiftedLimits::NONE);
            network.pass(0, (C, B), 4096, 1_000);
            let alone = network.pass_alone(noc, way, 4096, 1_000);
            assert_eq!(network.pass(noc, way, 4096, 1_000), alone);
        }
    }

    #[test]
    fn what_comes_later_does_not_delay_what_was_before() {
        let mut network = Network::new(Arch::WormholeB0, LiftedLimits::NONE);
        network.pass(0, (A, B), 4096, 100_000);
        network.serve(0, DramAccess::Read, 4096, 100_000);
        network.go_back(1_000);
        let alone = network.pass_alone(0, (A, B), 64, 1_000);
        assert_eq!(network.pass(0, (A, B), 64, 1_000), alone);
        assert!(network.serve(0, DramAccess::Read, 64, 1_000).leaves < 1_200);
    }

    #[test]
    fn a_channel_serves_at_its_rate_and_another_channel_at_once() {
        let mut network = Network::new(Arch::WormholeB0, LiftedLimits::NONE);
        let last = (0..256).map(|_| network.serve(3, DramAccess::Read, 4096, 0).leaves).last();
        let expected = 256 * 4096 * 100 / 2_212;
        assert!(last.unwrap().abs_diff(expected) < 300, "{last:?}, {expected}");
        assert!(network.serve(4, DramAccess::Read, 4096, 0).leaves < 300);
    }

    #[test]
    fn a_read_after_a_write_sees_it() {
        let mut network = Network::new(Arch::Blackhole, LiftedLimits::NONE);
        let write = network.serve(0, DramAccess::Write, 64, 10);
        let read = network.serve(0, DramAccess::Read, 64, 11);
        assert!(read.done >= write.done);
    }
}
