//! A relay on a scripted NoC. Producers write while the relay reads, the host reads now and then,
//! and the relay may die at any time. Every cell is in a frame or still in its ring.

use crate::{
    port::{Clock, ClockWords},
    relay::{self, Outlet, RelayPort, Request},
};
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, prop_oneof, proptest};
use std::{collections::VecDeque, vec, vec::Vec};
use wire::relay::State;

const CONTROL: u32 = 0x100;
const SETUP: u32 = 0x400;
const BUFFERS: u32 = 0x4000;
const OWN_BYTES: usize = 0x10000;
const PRODUCER_CONTROL: u32 = 0xB00;
const TILE_BYTES: usize = 0x3400;
const DRAM: u32 = 0xABC;
const DRAM_ADDRESS: u32 = 0x1_0000;

type Words = [u32; 2];

/// A core that streams.
struct Producer {
    l1: Vec<u32>,
    emitted: [Vec<Words>; 5],
}

impl Producer {
    fn new(first: u32, policy: u32) -> Self {
        let mut producer =
            Self { l1: vec![0; TILE_BYTES / 4], emitted: std::array::from_fn(|_| Vec::new()) };
        producer.set(5, 0x4B53_1000);
        for risc in 0..5 {
            producer.set(9 + risc, policy);
            producer.set(24 + risc, first);
            producer.set(59 + risc, first);
        }
        producer
    }

    fn word(&self, index: usize) -> u32 {
        self.l1[PRODUCER_CONTROL as usize / 4 + index]
    }

    fn set(&mut self, index: usize, value: u32) {
        self.l1[PRODUCER_CONTROL as usize / 4 + index] = value;
    }

    /// Begins a launch, writes at most `count` cells into the free room of the ring, and then adds
    /// their number to the control word that counts written cells.
    fn emit(&mut self, risc: usize, count: u32, content: u32) {
        self.set(51, self.word(51).wrapping_add(1));
        let (written, read) = (self.word(24 + risc), self.word(59 + risc));
        // A relay may report too much until it notices that a host has zeroed the vector.
        let room = 256_u32.saturating_sub(written.wrapping_sub(read));
        for number in 0..count.min(room) {
            let cell = [content.wrapping_add(number), written.wrapping_add(number)];
            self.emitted[risc].push(cell);
            let place = written.wrapping_add(number) as usize % 256;
            let ring = PRODUCER_CONTROL as usize / 4 + 64 + 512 * risc + 2 * place;
            self.l1[ring..ring + 2].copy_from_slice(&cell);
        }
        self.set(24 + risc, written.wrapping_add(count.min(room)));
    }

    fn ring(&self, risc: usize, number: u32) -> Words {
        let ring = PRODUCER_CONTROL as usize / 4 + 64 + 512 * risc + 2 * (number as usize % 256);
        [self.l1[ring], self.l1[ring + 1]]
    }
}

/// What the host has read: per producer and RISC, the cells and the next cell's number.
type Found = Vec<[(Vec<Words>, u32); 5]>;

struct World {
    l1: Vec<u32>,
    /// Stores that have not reached L1 yet.
    stores: VecDeque<(u32, u32)>,
    producers: Vec<Producer>,
    /// The ring, in DRAM or in the host's memory.
    ring: Vec<u32>,
    /// True if the ring is in the host's memory, where writes may arrive in another order than they
    /// were sent.
    has_host_sink: bool,
    pending: Vec<(Request, Option<Vec<u32>>)>,
    random: u64,
    clock: u64,
    steps: u32,
    ends_at: u32,
    /// True if the relay dies without ending properly.
    dies: bool,
    /// Mean number of steps between two reads of the host; 0 if the host never reads.
    host_period: u32,
    /// Step at which the host zeroes the control vector of the relay; 0 for never.
    zeroes_own_at: u32,
    /// Step at which a host resets the first producer, including its control vector; 0 for never.
    zeroes_producer_at: u32,
    found: Found,
    frames: u32,
    fillers: u32,
}

impl World {
    fn new(seed: u64, producer_count: usize, ring_bytes: u32, first: u32, policy: u32) -> Self {
        let producers: Vec<_> = (0..producer_count).map(|_| Producer::new(first, policy)).collect();
        let mut l1 = vec![0; OWN_BYTES / 4];
        let setup = [
            CONTROL,
            PRODUCER_CONTROL,
            BUFFERS,
            DRAM,
            DRAM_ADDRESS,
            3,
            0x40,
            ring_bytes,
            producer_count as u32,
            0,
            0,
            7,
            0,
        ];
        let at = SETUP as usize / 4;
        l1[at..at + setup.len()].copy_from_slice(&setup);
        for index in 0..producer_count {
            let at = at + 16 + 8 * index;
            (l1[at], l1[at + 1]) = (index as u32 + 1, 0x1_0000 * index as u32 + 7);
        }
        Self {
            found: producers.iter().map(|_| std::array::from_fn(|_| (Vec::new(), first))).collect(),
            ring: vec![0; ring_bytes as usize / 4],
            has_host_sink: false,
            l1,
            stores: VecDeque::new(),
            producers,
            pending: Vec::new(),
            random: seed,
            clock: 0x12_FFFF_0000,
            steps: 0,
            ends_at: 20_000,
            dies: false,
            host_period: 50,
            zeroes_own_at: 0,
            zeroes_producer_at: 0,
            frames: 0,
            fillers: 0,
        }
    }

    fn draw(&mut self, bound: u32) -> u32 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        ((self.random >> 33) as u32) % bound
    }

    fn own(&self, index: usize) -> u32 {
        self.l1[CONTROL as usize / 4 + index]
    }

    fn step(&mut self) {
        self.steps += 1;
        self.clock += 7;
        if self.draw(3) == 0 {
            self.flush_one();
        }
        if self.draw(4) == 0 && self.steps < self.ends_at {
            let index = self.draw(self.producers.len() as u32) as usize;
            let (risc, count, content) = (self.draw(5), self.draw(40), self.draw(1 << 30));
            self.producers[index].emit(risc as usize, count, content);
        }
        if self.draw(3) == 0 && !self.pending.is_empty() {
            let index = self.draw(self.pending.len() as u32) as usize;
            self.answer(index);
        }
        if self.host_period != 0 && self.draw(self.host_period) == 0 {
            self.host_reads();
        }
        if self.steps == self.zeroes_own_at {
            // Without these stores, the host could miss a frame that has just been counted.
            while !self.stores.is_empty() {
                self.flush_one();
            }
            self.host_reads();
            self.l1[CONTROL as usize / 4..][..64].fill(0);
            self.host_period = 0;
        }
        if self.steps == self.zeroes_producer_at {
            self.producers[0] = Producer::new(0, 0);
        }
        if self.steps == self.ends_at && !self.dies {
            self.l1[CONTROL as usize / 4 + 61] = 1;
        }
    }

    fn flush_one(&mut self) {
        if let Some((address, value)) = self.stores.pop_front() {
            self.l1[address as usize / 4] = value;
        }
    }

    /// Puts the ring into the host's memory.
    fn with_host_sink(mut self) -> Self {
        self.has_host_sink = true;
        self.l1[SETUP as usize / 4 + 5] = u32::MAX;
        self
    }

    /// Answers a request. Writes to one tile arrive in order, except those to the host's memory.
    fn answer(&mut self, index: usize) {
        let (request, sent) = self.pending[index].clone();
        let is_ordered = request.tile != DRAM || !self.has_host_sink;
        let is_later = |(other, data): &(Request, Option<Vec<u32>>)| {
            data.is_some() && sent.is_some() && other.tile == request.tile
        };
        if is_ordered && self.pending[..index].iter().any(is_later) {
            return;
        }
        self.pending.remove(index);
        let (local, remote) = (request.local as usize / 4, request.remote as usize / 4);
        let count = request.byte_count as usize / 4;
        match sent {
            None => {
                let tile = &self.producers[request.tile as usize - 1].l1;
                self.l1[local..local + count].copy_from_slice(&tile[remote..remote + count]);
            }
            Some(words) if request.tile == DRAM => {
                let at = remote - DRAM_ADDRESS as usize / 4;
                self.ring[at..at + count].copy_from_slice(&words);
            }
            Some(words) => {
                let tile = &mut self.producers[request.tile as usize - 1].l1;
                tile[remote..remote + count].copy_from_slice(&words);
            }
        }
    }

    /// Reads every frame that the relay has counted.
    fn host_reads(&mut self) {
        let (written, mut read) = (self.own(19), self.own(59));
        while read != written {
            let at = read as usize % (self.ring.len() * 4) / 4;
            let bytes = self.read_frame(at);
            assert!(bytes > 0 && bytes.is_multiple_of(64));
            read = read.wrapping_add(bytes);
        }
        self.l1[CONTROL as usize / 4 + 59] = read;
    }

    fn read_frame(&mut self, at: usize) -> u32 {
        let frame = &self.ring[at..];
        let bytes = frame[2];
        let mut crc = u32::MAX;
        for bit in [frame[1], frame[2], frame[6]]
            .iter()
            .flat_map(|word| (0..32).map(move |bit| word >> bit & 1))
        {
            crc = crc >> 1 ^ if (crc ^ bit) & 1 != 0 { 0xEDB8_8320 } else { 0 };
        }
        self.frames += 1;
        assert_eq!((frame[0], frame[1], frame[7]), (0x4B46_1000, self.frames, !crc));
        if frame[3] == u32::MAX {
            self.fillers += 1;
            assert_eq!(at * 4 + bytes as usize, self.ring.len() * 4);
            return bytes;
        }
        let time = u64::from(frame[5]) << 32 | u64::from(frame[4]);
        assert!(time >= 0x12_FFFF_0000 && time <= self.clock, "{time:x} {:x}", self.clock);
        let producer = (frame[3] / 0x1_0000) as usize;
        assert_eq!(frame[3] % 0x1_0000, 7);
        let control = &frame[8..72];
        let used = control[14..46].iter().chain(&control[51..52]).chain(&control[59..64]);
        let used = used.chain(&frame[3..6]);
        assert_eq!(frame[6], used.fold(0_u32, |sum, &word| sum.wrapping_add(word)));
        assert_eq!(frame[bytes as usize / 4 - 1], self.frames);
        let mut place = 72;
        for risc in 0..5 {
            let (first, end) = (control[59 + risc], control[24 + risc]);
            if first == end {
                continue;
            }
            let (cells, next) = &mut self.found[producer][risc];
            let is_zeroed = producer == 0 && self.zeroes_producer_at != 0;
            if is_zeroed && first < *next {
                cells.clear();
                *next = first;
            }
            assert_eq!(*next, first, "cells are read once, in their order");
            *next = end;
            let (slot, count) = (first % 256, end.wrapping_sub(first));
            let in_front = slot % 2;
            let is_whole_ring = slot + count > 256 && in_front + count > 128;
            for index in 0..count {
                let slot = if is_whole_ring { (slot + index) % 256 } else { in_front + index };
                let at = place + 2 * slot as usize;
                cells.push([frame[at], frame[at + 1]]);
            }
            place += 2 * if is_whole_ring { 256 } else { (in_front + count + 1) as usize / 2 * 2 };
        }
        bytes
    }

    /// Reads from the rings the cells that are in no frame, as a host does once the relay has
    /// ended.
    fn take_over(&mut self) {
        for (producer, found) in self.producers.iter().zip(&mut self.found) {
            for (risc, (cells, next)) in found.iter_mut().enumerate() {
                let (written, told) = (producer.word(24 + risc), producer.word(59 + risc));
                let ahead = next.wrapping_sub(told);
                assert!(ahead <= 256, "{ahead}: a producer was told of cells that no frame has");
                while *next != written {
                    cells.push(producer.ring(risc, *next));
                    *next = next.wrapping_add(1);
                }
            }
        }
    }
}

impl Clock for World {
    fn now(&mut self) -> ClockWords {
        self.step();
        ClockWords { low: self.clock as u32, high: (self.clock >> 32) as u32 }
    }
}

impl RelayPort for World {
    fn load(&mut self, address: u32) -> u32 {
        let buffered = self.stores.iter().rev().find(|(at, _)| *at == address);
        buffered.map_or(self.l1[address as usize / 4], |(_, value)| *value)
    }

    fn store(&mut self, address: u32, value: u32) {
        self.stores.push_back((address, value));
        if self.stores.len() > 12 {
            self.flush_one();
        }
    }

    fn fetch(&mut self, request: &Request) -> bool {
        assert_eq!(request.remote % 16, request.local % 16);
        assert!(request.byte_count.is_multiple_of(16) && (1..=8192).contains(&request.byte_count));
        self.pending.push((*request, None));
        self.step();
        true
    }

    fn send(&mut self, _: Outlet, request: &Request) -> bool {
        assert_eq!(request.remote % 16, request.local % 16);
        assert!((1..=8192).contains(&request.byte_count));
        let is_to_host = request.tile == DRAM && self.has_host_sink;
        assert_eq!(request.id == 0, is_to_host, "acknowledgements of the host count for id 0");
        let local = request.local as usize / 4;
        let words = self.l1[local..local + request.byte_count as usize / 4].to_vec();
        self.pending.push((*request, Some(words)));
        self.step();
        true
    }

    fn is_quiet(&mut self, id: u32) -> bool {
        self.step();
        let is_dead = self.dies && self.steps >= self.ends_at;
        !is_dead && self.pending.iter().all(|(request, _)| request.id != id)
    }

    fn settle(&mut self, address: u32) {
        assert_eq!(self.stores.back().map(|(at, _)| *at), Some(address));
        while !self.stores.is_empty() {
            self.flush_one();
        }
    }

    fn forget_cached(&mut self) {
        // While a relay waits for the host, time passes only here.
        self.step();
    }
}

fn run(mut world: World) -> (World, State) {
    let state = relay::run(&mut world, SETUP);
    while !world.stores.is_empty() {
        world.flush_one();
    }
    (world, state)
}

fn assert_whole(world: &World) {
    for (index, (producer, found)) in world.producers.iter().zip(&world.found).enumerate() {
        for (risc, (cells, _)) in found.iter().enumerate() {
            assert_eq!(cells, &producer.emitted[risc], "producer {index}, RISC {risc}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_cell_is_in_a_frame_or_in_its_ring_when_the_relay_ends(
        seed: u64,
        producer_count in 1_usize..9,
        first in prop_oneof![0_u32..600, u32::MAX - 300..=u32::MAX],
        ends_at in 1_u32..30_000,
        dies: bool,
        has_host_sink: bool,
        host_period in prop_oneof![1_u32..400, 5_000_u32..20_000],
    ) {
        let mut world = World::new(seed, producer_count, 1 << 16, first, 0);
        if has_host_sink {
            world = world.with_host_sink();
        }
        (world.ends_at, world.dies, world.host_period) = (ends_at, dies, host_period);
        let (mut world, state) = run(world);
        prop_assert_eq!(state, if dies { State::NocSilent } else { State::Stopped });
        prop_assert_eq!(world.own(15), state.to_word());
        world.host_reads();
        world.take_over();
        assert_whole(&world);
    }

    #[test]
    fn a_host_that_never_reads_makes_the_relay_wait_and_nobody_else(seed: u64) {
        let mut world = World::new(seed, 3, 1 << 16, 0, 0);
        (world.ends_at, world.host_period) = (40_000, 0);
        let (mut world, state) = run(world);
        prop_assert_eq!(state, State::Stopped);
        prop_assert_eq!(world.own(21), 1, "the ring was full once");
        // Frames have at most 10,560 bytes, and three are in progress.
        prop_assert!(world.own(19) > (1 << 16) - 5 * 10_560 && world.own(19) <= 1 << 16);
        world.host_reads();
        world.take_over();
        assert_whole(&world);
    }
}

#[test]
fn rings_are_gone_around_many_times_and_sweeps_are_counted() {
    let mut world = World::new(7, 4, 1 << 16, 0, 0);
    world.ends_at = 120_000;
    let (mut world, _) = run(world);
    world.host_reads();
    assert!(world.fillers > 3 && world.frames > 100, "{} {}", world.fillers, world.frames);
    let visits = world.own(20) * 4;
    assert!(visits > 200 && visits + world.fillers >= world.frames - 4, "{visits}");
    assert_eq!(
        [5, 16, 17, 18, 22, 23, 34].map(|word| world.own(word)),
        [0x4B52_1000, 3, 0x40, 1 << 16, 4, SETUP + 64, 7]
    );
    world.take_over();
    assert_whole(&world);
}

#[test]
fn cores_that_do_not_stream_or_overwrite_are_left_alone() {
    for (policy, signature) in [(1, 0x4B53_1000), (0, 0x4B50_4000), (0, 0)] {
        let mut world = World::new(3, 2, 1 << 16, 0, policy);
        for producer in &mut world.producers {
            producer.set(5, signature);
        }
        let (world, state) = run(world);
        assert_eq!((state, world.own(19)), (State::Stopped, 0));
        assert!(
            world.producers.iter().all(|producer| (59..64).all(|word| producer.word(word) == 0))
        );
        assert!(world.own(20) > 10);
    }
}

#[test]
fn a_host_that_zeroes_the_control_vector_ends_the_relay() {
    let mut world = World::new(3, 2, 1 << 16, 0, 0);
    (world.ends_at, world.zeroes_own_at) = (20_000, 5_000);
    let (mut world, state) = run(world);
    assert_eq!((state, world.own(15)), (State::Stopped, 2));
    assert!(world.steps < 5_200, "{}", world.steps);
    world.take_over();
    assert_whole(&world);
}

#[test]
fn a_producer_whose_control_vector_is_zeroed_is_read_on() {
    for seed in 0..200 {
        let mut world = World::new(seed, 2, 1 << 16, 700, 0);
        (world.ends_at, world.zeroes_producer_at, world.host_period) = (20_000, 5_000, 10);
        let (mut world, _) = run(world);
        world.host_reads();
        world.take_over();
        for risc in 0..5 {
            assert_eq!(world.found[1][risc].0, world.producers[1].emitted[risc]);
            let (cells, emitted) = (&world.found[0][risc].0, &world.producers[0].emitted[risc]);
            // Cells that were already written when the relay noticed the zeroing may be missing.
            assert!(emitted.ends_with(cells) && cells.len() + 256 >= emitted.len());
            assert!(cells.len() > 300, "{}", cells.len());
        }
    }
}

#[test]
fn a_setup_that_is_none_is_refused() {
    for (word, value) in [(7, 1 << 15), (7, 3 << 16), (8, 0), (8, 257), (2, BUFFERS + 4), (1, 4)] {
        let mut world = World::new(3, 2, 1 << 16, 0, 0);
        world.l1[SETUP as usize / 4 + word] = value;
        let (world, state) = run(world);
        assert_eq!((state, world.own(15), world.own(5)), (State::BadSetup, 4, 0));
    }
}
