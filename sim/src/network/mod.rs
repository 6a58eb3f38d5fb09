//! Rates of a chip's NoC links and DRAM channels, for which packets queue.
//!
//! A DRAM channel serves one request after another, in the order of arrival. Callers pass packets and
//! requests in the order of their times.
//!
//! # Compatibility
//! Rates and latencies: see [`Rates`]. A multicast occupies only the links to the first of its
//! targets.

mod links;

pub(crate) use self::links::{Arrival, Channels, KeptPort, Way};

use self::links::Links;
use crate::{
    arch::Arch,
    limits::{LiftedLimits, Limit},
    noc::travel_cycles,
};
use std::collections::VecDeque;

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

/// Links and DRAM channels of a chip. Packets carry a payload.
#[derive(Clone, Debug)]
pub(crate) struct Network<T> {
    grid: (u16, u16),
    rates: Rates,
    lifted: LiftedLimits,
    flit_bytes: u64,
    links: Links<T>,
    channels: Vec<Channel>,
}

/// A DRAM channel.
#[derive(Clone, Debug, Default)]
struct Channel {
    /// First cycle at which it is free.
    free_from: u64,
    /// Cycles at which it begins with its latest requests.
    queue: VecDeque<u64>,
}

/// Requests that wait for a DRAM channel in the network interface of its tile. If there are more, the
/// port of the tile stays occupied, and packets wait on the links before it. Fitted to rows "cores
/// read ... different DRAM channels".
const QUEUE_REQUESTS: usize = 48;

impl<T> Network<T> {
    pub(crate) fn new(arch: Arch, lifted: LiftedLimits) -> Self {
        let facts = arch.facts();
        Self {
            grid: facts.grid,
            rates: match arch {
                Arch::WormholeB0 => WORMHOLE,
                Arch::Blackhole => BLACKHOLE,
            },
            lifted,
            flit_bytes: facts.noc_flit_bytes,
            links: Links::new(facts.grid),
            channels: vec![Channel::default(); facts.bank_count as usize],
        }
    }

    /// Goes back to an earlier cycle: what is occupied later is forgotten.
    pub(crate) fn go_back(&mut self, cycle: u64) {
        self.links.go_back(cycle);
        for channel in &mut self.channels {
            channel.free_from = channel.free_from.min(cycle);
            channel.queue.clear();
        }
    }

    /// Returns true if no packet is under way.
    pub(crate) fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Returns the cycle at which a packet next takes or leaves a link.
    pub(crate) fn next_cycle(&self) -> Option<u64> {
        self.links.next_cycle()
    }

    /// Carries out what happens next.
    pub(crate) fn advance(&mut self) {
        self.links.advance();
    }

    /// Returns a packet that arrives, and the cycle at which its last flit is in the target tile.
    /// That cycle is known before it comes.
    pub(crate) fn take_arrived(&mut self) -> Option<Arrival<T>> {
        self.links.take_arrived()
    }

    /// Sends a packet with `byte_count` bytes of data at a cycle, which must not lie before what has
    /// happened so far. With `channels`, the packet takes the links of its way, and, if it is for
    /// DRAM, keeps the last one until it is served.
    pub(crate) fn send(
        &mut self,
        (noc, from, to): Way,
        channels: Option<Channels>,
        byte_count: u64,
        is_for_dram: bool,
        (payload, cycle): (T, u64),
    ) {
        match channels.filter(|_| !self.lifted.has(Limit::Noc)) {
            Some(channels) => {
                let flits = self.flits(byte_count);
                let keeps_port = is_for_dram && !self.lifted.has(Limit::Dram);
                let size = 1 + flits + flits / self.rates.flits_per_extra_cycle;
                self.links.send(
                    (noc, from, to),
                    channels,
                    (flits, size),
                    keeps_port,
                    (payload, cycle),
                );
            }
            None => {
                let arrives_at = self.pass_alone((noc, from, to), byte_count, cycle);
                self.links.arrive(payload, arrives_at);
            }
        }
    }

    /// Returns the cycle at which a packet that meets no other would be in the target tile.
    fn pass_alone(&self, (noc, from, to): Way, byte_count: u64, cycle: u64) -> u64 {
        cycle + travel_cycles(self.grid, noc, from, to) + self.flits(byte_count)
    }

    /// Returns the cycles that the flits of a packet take one after the other.
    fn flits(&self, byte_count: u64) -> u64 {
        if self.lifted.has(Limit::Noc) { 0 } else { byte_count.div_ceil(self.flit_bytes) }
    }

    /// Serves a request of `byte_count` bytes that arrives at a DRAM bank at a cycle; frees the port
    /// that its packet keeps once there is room for the request.
    pub(crate) fn serve(
        &mut self,
        bank: u32,
        access: DramAccess,
        byte_count: u64,
        (cycle, port): (u64, Option<KeptPort>),
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
        let Channel { free_from, queue } = &mut self.channels[bank as usize];
        let start = cycle.max(*free_from);
        *free_from = start + service;
        queue.push_back(start);
        let before = if queue.len() > QUEUE_REQUESTS { queue.pop_front() } else { None };
        if let Some(port) = port {
            self.links.free_port(port, before.map_or(cycle, |begins_at| begins_at.max(cycle)));
        }
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arch::{TileCoord, translation::NOC_COUNT};

    const A: TileCoord = TileCoord { x: 1, y: 1 };
    const B: TileCoord = TileCoord { x: 4, y: 2 };
    const C: TileCoord = TileCoord { x: 2, y: 1 };
    const D: TileCoord = TileCoord { x: 1, y: 5 };
    const E: TileCoord = TileCoord { x: 4, y: 5 };
    /// The channel that TT-Metal names for requests.
    const REQUESTS: Channels = Channels::of_request(Some(1));

    /// Sends packets, each with its way, channels, bytes and cycle; returns when each arrives.
    fn arrivals(arch: Arch, packets: &[(Way, Channels, u64, u64)]) -> Vec<u64> {
        let mut network = Network::new(arch, LiftedLimits::NONE);
        let mut arrivals = vec![0; packets.len()];
        let mut order: Vec<usize> = (0..packets.len()).collect();
        order.sort_by_key(|index| packets[*index].3);
        for index in order {
            let (way, channels, bytes, cycle) = packets[index];
            while network.next_cycle().is_some_and(|next| next < cycle) {
                network.advance();
            }
            network.send(way, Some(channels), bytes, false, (index, cycle));
        }
        while network.next_cycle().is_some() {
            network.advance();
        }
        while let Some(Arrival { payload: index, cycle, .. }) = network.take_arrived() {
            assert_eq!(std::mem::replace(&mut arrivals[index], cycle), 0, "it arrives once");
        }
        assert!(network.is_empty() && !arrivals.contains(&0));
        arrivals
    }

    fn alone(arch: Arch, way: Way, bytes: u64, cycle: u64) -> u64 {
        Network::<()>::new(arch, LiftedLimits::NONE).pass_alone(way, bytes, cycle)
    }

    #[test]
    fn an_empty_noc_has_the_latency_of_the_way() {
        for arch in Arch::ALL {
            for noc in 0..NOC_COUNT {
                for (from, to) in [(A, B), (B, A), (A, D), (D, C), (A, A)] {
                    for bytes in [0, 4, 512, 8192] {
                        let way = (noc, from, to);
                        let found = arrivals(arch, &[(way, REQUESTS, bytes, 1_000)]);
                        assert_eq!(found, [alone(arch, way, bytes, 1_000)]);
                    }
                }
            }
        }
    }

    #[test]
    fn packets_that_share_a_link_wait_and_others_do_not() {
        let arch = Arch::WormholeB0;
        let packet = |noc, from, to| ((noc, from, to), REQUESTS, 4096, 1_000);
        let found = arrivals(arch, &[packet(0, A, B), packet(0, C, B)]);
        // The packet from C comes to the shared link first.
        assert_eq!(found[1], alone(arch, (0, C, B), 4096, 1_000));
        let waits = found[0] - alone(arch, (0, A, B), 4096, 1_000);
        assert!((100..160).contains(&waits), "{waits}");
        // Another NoC, and another direction on the same NoC.
        for other in [packet(1, C, B), packet(0, A, D)] {
            let found = arrivals(arch, &[other, packet(0, C, B)]);
            assert_eq!(found[0], alone(arch, other.0, 4096, 1_000));
        }
    }

    /// A packet that comes to a link earlier goes first, even if the other one was sent before it.
    #[test]
    fn a_link_serves_in_the_order_of_arrival() {
        let arch = Arch::Blackhole;
        let far = TileCoord { x: 2, y: 3 };
        let found = arrivals(
            arch,
            &[
                ((0, far, E), REQUESTS, 4096, 1_000),
                ((0, TileCoord { x: 4, y: 4 }, E), REQUESTS, 64, 1_020),
            ],
        );
        assert_eq!(found[1], alone(arch, (0, TileCoord { x: 4, y: 4 }, E), 64, 1_020));
    }

    /// Packets of one sender to one target on one channel keep their order, whatever their sizes.
    #[test]
    fn packets_of_one_flow_never_overtake_each_other() {
        for arch in Arch::ALL {
            let mut packets = Vec::new();
            for (index, bytes) in [4096, 4, 64, 8192, 4, 4, 512, 4096, 4].into_iter().enumerate() {
                let cycle = 1_000 + 7 * index as u64;
                packets.push(((0, A, E), REQUESTS, bytes, cycle));
                // Others that cross their way.
                packets.push(((0, C, E), REQUESTS, 8192 - bytes, cycle));
                packets.push(((0, B, E), Channels::ANSWERS, bytes, cycle));
            }
            let found = arrivals(arch, &packets);
            let flow: Vec<u64> = found.iter().copied().step_by(3).collect();
            assert!(flow.is_sorted(), "{flow:?}");
        }
    }

    /// While a packet waits for the column, one behind it that goes straight on waits, too; an answer
    /// has another channel, and passes.
    #[test]
    fn a_packet_that_waits_holds_the_links_behind_it() {
        let arch = Arch::WormholeB0;
        let column = [((0, TileCoord { x: 4, y: 1 }, E), REQUESTS, 8192, 1_000)];
        let waiting = ((0, A, E), REQUESTS, 8192, 1_000);
        let straight = (0, A, TileCoord { x: 6, y: 1 });
        for (channels, is_free) in [(REQUESTS, false), (Channels::ANSWERS, true)] {
            let behind = (straight, channels, 64, 1_010);
            let found = arrivals(arch, &[column[0], waiting, behind]);
            let delay = found[2] - alone(arch, straight, 64, 1_010);
            assert_eq!(delay < 20, is_free, "{delay}");
        }
    }

    #[test]
    fn packets_on_two_channels_share_the_rate_of_a_link() {
        for arch in Arch::ALL {
            let (mut packets, count) = (Vec::new(), 64);
            for index in 0..count {
                packets.push(((0, A, B), REQUESTS, 4096, 1_000 + index));
                packets.push(((0, A, B), Channels::ANSWERS, 4096, 1_000 + index));
            }
            let found = arrivals(arch, &packets);
            let flits = 4096 / arch.facts().noc_flit_bytes;
            let last = found.iter().max().unwrap() - 1_000;
            let expected = 2 * count * flits;
            assert!((expected..expected * 105 / 100 + 100).contains(&last), "{last} {expected}");
        }
    }

    /// Two flows whose packets are small take turns on a channel of a link, and keep it busy.
    #[test]
    fn packets_of_every_size_have_the_rate_of_a_link() {
        for arch in Arch::ALL {
            let flit_bytes = arch.facts().noc_flit_bytes;
            for flits in 1..=24 {
                let (mut packets, count) = (Vec::new(), 256);
                // Each flow alone takes half of the rate.
                for index in 0..count {
                    let cycle = 1_000 + 2 * index * (1 + flits);
                    for from in [A, C] {
                        packets.push(((0, from, E), REQUESTS, flits * flit_bytes, cycle));
                    }
                }
                let found = arrivals(arch, &packets);
                let last = found.iter().max().unwrap() - 1_000;
                let expected = 2 * count * (1 + flits);
                let range = expected..expected * 105 / 100 + 100;
                assert!(range.contains(&last), "{flits} flits: {last}, not {expected}");
            }
        }
    }

    /// A DRAM tile accepts only some requests. What is behind the next one on the same channel waits,
    /// also for another target.
    #[test]
    fn requests_wait_on_links_while_a_dram_channel_has_no_room() {
        let mut network = Network::new(Arch::WormholeB0, LiftedLimits::NONE);
        let beyond = TileCoord { x: 6, y: 1 };
        let count = QUEUE_REQUESTS + 40;
        let mut arrivals = Vec::new();
        let mut run = |network: &mut Network<usize>, until: u64| {
            loop {
                while let Some(Arrival { payload, cycle, port }) = network.take_arrived() {
                    if payload < count {
                        network.serve(2, DramAccess::Read, 2_212, (cycle, port));
                    }
                    arrivals.push((payload, cycle));
                }
                if network.next_cycle().is_none_or(|next| next >= until) {
                    break;
                }
                network.advance();
            }
        };
        for (index, cycle) in (0..count).zip(1_000..) {
            run(&mut network, cycle);
            network.send((0, A, B), Some(REQUESTS), 0, true, (index, cycle));
        }
        run(&mut network, 2_000);
        network.send((0, A, beyond), Some(REQUESTS), 0, false, (count, 2_000));
        run(&mut network, u64::MAX);
        assert!(network.is_empty());
        let (flow, other): (Vec<_>, Vec<_>) =
            arrivals.into_iter().partition(|(payload, _)| *payload < count);
        // They arrive in the order of sending; each takes 100 cycles of the channel.
        assert!(flow.iter().map(|(payload, _)| *payload).eq(0..count));
        assert!(flow[QUEUE_REQUESTS].1 < 1_300);
        let room_at = |index: usize| 1_000 + 100 * (index as u64 - QUEUE_REQUESTS as u64);
        for &(index, at) in &flow[QUEUE_REQUESTS + 2..] {
            assert!((room_at(index) - 100..room_at(index) + 200).contains(&at), "{index} {at}");
        }
        let free = alone(Arch::WormholeB0, (0, A, beyond), 0, 2_000);
        assert!(other[0].1 > free + 1_000, "{other:?} {free}");
    }

    #[test]
    fn ports_that_nobody_frees_are_free_after_going_back() {
        let mut network = Network::new(Arch::Blackhole, LiftedLimits::NONE);
        for index in 0..4 {
            network.send((0, A, B), Some(REQUESTS), 64, true, (index, 5_000));
        }
        for _ in 0..1_000 {
            network.advance();
        }
        let first = network.take_arrived().unwrap();
        assert_eq!((first.payload, network.take_arrived()), (0, None));
        network.go_back(1_000);
        let others: Vec<_> = std::iter::from_fn(|| network.take_arrived()).collect();
        assert!(others.iter().map(|other| other.payload).eq(1..4));
        // The ports are no longer theirs.
        for port in others.iter().chain([&first]).filter_map(|arrival| arrival.port) {
            network.serve(0, DramAccess::Write, 64, (1_000, Some(port)));
        }
        assert!(network.is_empty() && network.next_cycle().is_none());
    }

    #[test]
    fn what_comes_later_does_not_delay_what_was_before() {
        let mut network = Network::new(Arch::WormholeB0, LiftedLimits::NONE);
        let way = (0, A, B);
        network.send(way, Some(REQUESTS), 4096, false, (1, 100_000));
        network.serve(0, DramAccess::Read, 4096, (100_000, None));
        network.go_back(1_000);
        let expected = [(1, 4096, 100_000), (2, 64, 1_000)].map(|(payload, bytes, cycle)| {
            Arrival { payload, cycle: network.pass_alone(way, bytes, cycle), port: None }
        });
        assert_eq!(network.take_arrived(), Some(expected[0].clone()));
        network.send(way, Some(REQUESTS), 64, false, (2, 1_000));
        while network.next_cycle().is_some() {
            network.advance();
        }
        assert_eq!(network.take_arrived(), Some(expected[1].clone()));
        assert!(network.serve(0, DramAccess::Read, 64, (1_000, None)).leaves < 1_200);
    }

    #[test]
    fn a_channel_serves_at_its_rate_and_another_channel_at_once() {
        let mut network = Network::<()>::new(Arch::WormholeB0, LiftedLimits::NONE);
        let last =
            (0..256).map(|_| network.serve(3, DramAccess::Read, 4096, (0, None)).leaves).last();
        let expected = 256 * 4096 * 100 / 2_212;
        assert!(last.unwrap().abs_diff(expected) < 300, "{last:?}, {expected}");
        assert!(network.serve(4, DramAccess::Read, 4096, (0, None)).leaves < 300);
    }

    #[test]
    fn a_read_after_a_write_sees_it() {
        let mut network = Network::<()>::new(Arch::Blackhole, LiftedLimits::NONE);
        let write = network.serve(0, DramAccess::Write, 64, (10, None));
        let read = network.serve(0, DramAccess::Read, 64, (11, None));
        assert!(read.done >= write.done);
    }
}
