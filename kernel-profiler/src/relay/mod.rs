//! A relay: gathers the rings of streaming cores over the NoC and pushes frames into DRAM.
//!
//! [`wire::relay`] documents what a relay, its host and its producers tell each other, and
//! [`wire::frame`] the frames. A relay runs alone on a core that no program uses; the firmware of that
//! core has no profiler.
//!
//! # Pipeline
//! A visit takes one producer. Up to four visits are under way, each with a buffer and a transaction id
//! of its own, so that the relay seldom waits for the NoC:
//!
//! | visit | what the relay does |
//! |---|---|
//! | the next one | requests the producer's control vector |
//! | the present one | plans which cells to take, and requests them |
//! | the one before | has its cells: waits for room in the ring, writes the header, pushes the frame |
//! | three before | is in DRAM: counts the frame and tells the producer what was read |
//!
//! Counts of cells that were read before authorise cells that are read later. No producer is told of a
//! cell before it is in DRAM.
//!
//! # Bounds
//! Each wait for the NoC ends after [`NOC_POLLS`] polls, and with it the relay, which says so. A wait
//! for the host ends when the host reads, or tells the relay to end.
//!
//! # Producers that are left to the host
//! Who reads a ring whose oldest cells are overwritten must look again at how many were. A relay leaves
//! cores with such a ring to the host.

mod port;
#[cfg(any(target_arch = "riscv32", doc))]
pub mod tensix;
mod visit;

pub use port::{RelayPort, Request};

use visit::{Visit, bytes};
use wire::{
    control::ext,
    frame::{ALIGN_BYTES, CRC_ENTRIES, FILLER, next_crc_entry},
    relay::{
        BUFFER_BYTES, BUFFER_COUNT, CRC_OFFSET, FILLER_OFFSET, PRODUCERS_MAX, RING_BYTES_MIN,
        State,
        setup::{self, LIST, PRODUCER_WORDS},
        words,
    },
};

/// Maximum polls of a NoC that does not answer: some milliseconds.
pub const NOC_POLLS: u32 = 1 << 16;
/// Cycles of rest when all producers have been found empty. A ring takes 25 times as long to fill with
/// a zone every hundred cycles.
pub const REST_CYCLES: u32 = 1024;

/// Runs a relay until it is told to end, or the NoC is silent.
///
/// `setup` is the L1 address of the words in [`wire::relay::setup`].
pub fn run<P: RelayPort + ?Sized>(port: &mut P, setup: u32) -> State {
    let mut relay = Relay::new(port, setup);
    let state = if relay.is_possible() { relay.gather() } else { State::BadSetup };
    relay.set_word(words::STATE, state.to_word());
    state
}

/// A relay at work.
struct Relay<'a, P: ?Sized> {
    port: &'a mut P,
    setup: u32,
    control: u32,
    producer_control: u32,
    buffers: u32,
    ring_bytes: u32,
    producer_count: u32,
    /// Bytes pushed so far, modulo 2^32.
    pushed: u32,
    /// Bytes of them that the host may read.
    written: u32,
    sequence: u32,
    sweeps: u32,
    heartbeat: u32,
    visits: [Visit; BUFFER_COUNT as usize],
}

impl<'a, P: RelayPort + ?Sized> Relay<'a, P> {
    fn new(port: &'a mut P, setup: u32) -> Self {
        let mut told = |index| port.load(setup.wrapping_add(bytes(index)));
        Self {
            control: told(setup::CONTROL),
            producer_control: told(setup::PRODUCER_CONTROL),
            buffers: told(setup::BUFFERS),
            ring_bytes: told(setup::RING_BYTES),
            producer_count: told(setup::PRODUCERS),
            port,
            setup,
            pushed: 0,
            written: 0,
            sequence: 0,
            sweeps: 0,
            heartbeat: 0,
            visits: [Visit::NONE; BUFFER_COUNT as usize],
        }
    }

    fn word(&mut self, index: usize) -> u32 {
        self.port.load(self.control.wrapping_add(bytes(index)))
    }

    fn set_word(&mut self, index: usize, value: u32) {
        self.port.store(self.control.wrapping_add(bytes(index)), value);
    }

    const fn is_possible(&self) -> bool {
        self.ring_bytes.is_power_of_two()
            && self.ring_bytes >= RING_BYTES_MIN
            && self.producer_count != 0
            && self.producer_count <= PRODUCERS_MAX
            && (self.buffers | self.setup | self.producer_control).is_multiple_of(16)
    }

    /// Tells the host where the frames are. The signature comes last.
    fn announce(&mut self) {
        let list = self.setup.wrapping_add(bytes(LIST));
        for (word, from) in [
            (words::BANK, setup::BANK),
            (words::RING_ADDRESS, setup::RING_ADDRESS),
            (words::RING_BYTES, setup::RING_BYTES),
            (words::PRODUCERS, setup::PRODUCERS),
        ] {
            let value = self.port.load(self.setup.wrapping_add(bytes(from)));
            self.set_word(word, value);
        }
        self.set_word(words::PRODUCER_LIST, list);
        self.set_word(words::STATE, State::Runs.to_word());
        self.set_word(ext::SIGNATURE, words::SIGNATURE_VALUE);
    }

    /// Fills the table of the CRC: firmware leaves no room for constants.
    fn fill_crc_table(&mut self) {
        let table = self.buffers.wrapping_add(CRC_OFFSET);
        for (index, entry) in (0..bytes(CRC_ENTRIES) / 4).zip((table..).step_by(4)) {
            let before = if index < 256 { index } else { self.port.load(entry - 256 * 4) };
            self.port.store(entry, next_crc_entry(before));
        }
    }

    fn gather(&mut self) -> State {
        self.fill_crc_table();
        self.announce();
        let first = Visit::new(self.buffer(0), 0, 0);
        if let Err(state) = self.request_control(&first) {
            return state;
        }
        *self.slot(0) = first;
        let (mut slot, mut idle_visits) = (0, 0);
        loop {
            match self.visit(slot) {
                Ok(true) => idle_visits = 0,
                Ok(false) => idle_visits += 1,
                Err(state) => return state,
            }
            slot = next_slot(slot);
            if idle_visits == self.producer_count {
                self.rest();
                idle_visits = 0;
            }
        }
    }

    /// Makes the visit in a slot, and those before it, go on. Returns true if a frame came of it.
    #[inline(always)]
    fn visit(&mut self, slot: u32) -> Result<bool, State> {
        let (next, before) = (next_slot(slot), next_slot(next_slot(next_slot(slot))));
        self.heartbeat = self.heartbeat.wrapping_add(1);
        self.set_word(words::HEARTBEAT, self.heartbeat);
        self.port.forget_cached();
        self.check_host()?;
        let mut present = *self.slot(slot);
        self.await_quiet(&present)?;
        self.plan(&mut present)?;
        *self.slot(slot) = present;
        self.complete(next)?;
        let following = present.producer.wrapping_add(1);
        let following = if following == self.producer_count { 0 } else { following };
        let upcoming = Visit::new(self.buffer(next), next, following);
        self.request_control(&upcoming)?;
        *self.slot(next) = upcoming;
        self.push(before)?;
        Ok(present.frame_bytes != 0)
    }

    /// Ends the relay if it was told to, or if a host has zeroed its control vector.
    #[inline(always)]
    fn check_host(&mut self) -> Result<(), State> {
        let is_told = self.word(words::STOP) != 0;
        let is_signed = self.word(ext::SIGNATURE) == words::SIGNATURE_VALUE;
        if is_told || !is_signed { Err(State::Stopped) } else { Ok(()) }
    }

    /// The visit in a slot.
    #[inline(always)]
    const fn slot(&mut self, slot: u32) -> &mut Visit {
        &mut self.visits[(slot % BUFFER_COUNT) as usize]
    }

    #[inline(always)]
    const fn buffer(&self, slot: u32) -> u32 {
        self.buffers.wrapping_add(slot.wrapping_mul(BUFFER_BYTES))
    }

    /// Pushes the frame of a visit whose cells were requested, if there is one.
    #[inline(always)]
    fn push(&mut self, slot: u32) -> Result<(), State> {
        let mut visit = *self.slot(slot);
        if visit.frame_bytes == 0 {
            return Ok(());
        }
        self.await_quiet(&visit)?;
        let to_end = self.ring_bytes.wrapping_sub(self.place(self.pushed));
        let filler_bytes = if visit.frame_bytes > to_end { to_end } else { 0 };
        visit.ring_bytes = visit.frame_bytes.wrapping_add(filler_bytes);
        self.await_room(visit.ring_bytes)?;
        if filler_bytes != 0 {
            self.push_filler(&visit, filler_bytes)?;
        }
        self.write_header(&visit);
        self.push_bytes(&visit, visit.frame(), visit.frame_bytes)?;
        *self.slot(slot) = visit;
        Ok(())
    }

    /// Takes the rest of the ring, which is too short for the next frame.
    #[cold]
    #[inline(never)]
    fn push_filler(&mut self, visit: &Visit, filler_bytes: u32) -> Result<(), State> {
        let filler = self.buffers.wrapping_add(FILLER_OFFSET);
        self.seal(filler, filler_bytes, [FILLER, 0, 0, 0]);
        self.push_bytes(visit, filler, ALIGN_BYTES)?;
        self.pushed = self.pushed.wrapping_add(filler_bytes.wrapping_sub(ALIGN_BYTES));
        Ok(())
    }

    /// Pushes bytes to the end of the ring.
    fn push_bytes(&mut self, visit: &Visit, from: u32, byte_count: u32) -> Result<(), State> {
        let place = self.place(self.pushed);
        let (mut done, ring) = (0, self.dram());
        while done < byte_count {
            let part = byte_count.wrapping_sub(done).min(BURST_BYTES);
            let request = Request {
                tile: ring.0,
                remote: ring.1.wrapping_add(place).wrapping_add(done),
                local: from.wrapping_add(done),
                byte_count: part,
                id: visit.id,
            };
            if !self.port.send(&request) {
                return Err(State::NocSilent);
            }
            done = done.wrapping_add(part);
        }
        self.pushed = self.pushed.wrapping_add(byte_count);
        Ok(())
    }

    /// Tile and NoC address of the ring.
    #[inline(always)]
    fn dram(&mut self) -> (u32, u32) {
        let [tile, address] = [setup::DRAM_TILE, setup::DRAM_ADDRESS]
            .map(|word| self.port.load(self.setup.wrapping_add(bytes(word))));
        (tile, address)
    }

    #[inline(always)]
    const fn place(&self, byte: u32) -> u32 {
        byte & self.ring_bytes.wrapping_sub(1)
    }

    /// Waits until the host has read so much that bytes fit into the ring.
    #[inline(always)]
    fn await_room(&mut self, byte_count: u32) -> Result<(), State> {
        if self.has_room(byte_count) { Ok(()) } else { self.await_host(byte_count) }
    }

    #[cold]
    #[inline(never)]
    fn await_host(&mut self, byte_count: u32) -> Result<(), State> {
        let waits = self.word(words::FULL_WAITS);
        self.set_word(words::FULL_WAITS, waits.wrapping_add(1));
        while !self.has_room(byte_count) {
            self.heartbeat = self.heartbeat.wrapping_add(1);
            self.set_word(words::HEARTBEAT, self.heartbeat);
            self.port.forget_cached();
            self.check_host()?;
        }
        Ok(())
    }

    /// A host that claims to have read what is not there has read nothing.
    #[inline(always)]
    fn has_room(&mut self, byte_count: u32) -> bool {
        let read = self.word(words::READ);
        let used = self.pushed.wrapping_sub(read);
        self.written.wrapping_sub(read) <= self.ring_bytes
            && used <= self.ring_bytes
            && byte_count <= self.ring_bytes.wrapping_sub(used)
    }

    /// Counts the frame of a visit that is in DRAM, and tells its producer.
    #[inline(always)]
    fn complete(&mut self, slot: u32) -> Result<(), State> {
        let visit = *self.slot(slot);
        if visit.ring_bytes != 0 {
            self.await_quiet(&visit)?;
            self.written = self.written.wrapping_add(visit.ring_bytes);
            self.set_word(words::WRITTEN, self.written);
            self.tell_producer(&visit)?;
        }
        if visit.producer.wrapping_add(1) == self.producer_count {
            self.sweeps = self.sweeps.wrapping_add(1);
            self.set_word(words::SWEEPS, self.sweeps);
        }
        Ok(())
    }

    /// Waits until every request of a visit is answered.
    #[inline(always)]
    fn await_quiet(&mut self, visit: &Visit) -> Result<(), State> {
        for _ in 0..NOC_POLLS {
            if self.port.is_quiet(visit.id) {
                return Ok(());
            }
        }
        Err(State::NocSilent)
    }

    /// Lets time pass.
    #[cold]
    #[inline(never)]
    fn rest(&mut self) {
        let since = self.port.now_low();
        while self.port.now_low().wrapping_sub(since) < REST_CYCLES {}
    }

    /// L1 address of a producer's words in the list.
    #[inline(always)]
    const fn producer(&self, index: u32) -> u32 {
        let list = self.setup.wrapping_add(bytes(LIST));
        list.wrapping_add(index.wrapping_mul(bytes(PRODUCER_WORDS)))
    }
}

#[inline(always)]
const fn next_slot(slot: u32) -> u32 {
    (slot + 1) % BUFFER_COUNT
}

/// The most bytes that one request may carry on either chip.
const BURST_BYTES: u32 = 8192;
