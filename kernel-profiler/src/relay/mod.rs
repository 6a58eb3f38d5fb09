//! A relay's gatherer: reads the rings of streaming cores over a NoC, and pushes frames into its
//! own ring in DRAM or in the host's memory.
//!
//! [`wire::relay`] documents the protocol between a relay, its host and its producers, and
//! [`wire::frame`] documents the frames. A relay runs on a core that no program uses and whose
//! firmware has no profiler. Two of the core's RISCs can be gatherers, each with its own NoC, ring
//! and producers.
//!
//! # Pipeline
//! In a visit, the gatherer reads one producer. Up to four visits are in progress, each with its
//! own buffer and transaction id, so that the gatherer seldom waits for the NoC. If there are fewer
//! than four producers, empty visits take the place of the missing producers, so that no producer
//! has two visits in progress.
//!
//! | visit | what the relay does |
//! |---|---|
//! | the next | requests the producer's control vector |
//! | the current | selects the cells to take, and requests them |
//! | the previous | its cells have arrived: waits for room in the ring, writes the header, pushes the frame |
//! | three before | its frame is in the ring: counts the frame and reports to the producer what was read |
//!
//! A gatherer first reads how many cells a producer has written, and then requests only these
//! cells. The gatherer reports a producer's cell as read only once the cell is in the gatherer's
//! ring.
//!
//! All writes to the host's memory have the transaction id [`HOST_ID`], because the hardware counts
//! their acknowledgements under this id, whatever id the writes have. The writes of different
//! visits are thus counted together. A frame in the host's memory is known to be complete only when
//! the writes of later visits are acknowledged, too; there is at most one such visit.
//!
//! # Bounds
//! Each wait for the NoC ends after [`NOC_POLLS`] polls; the relay then stops and reports why. A
//! wait for the host ends when the host has read enough, or when it asks the relay to stop.
//!
//! # Producers that are left to the host
//! If a ring overwrites its oldest cells, its reader must check after a read how many cells were
//! overwritten meanwhile. A relay leaves cores with such rings to the host.

mod port;
#[cfg(any(target_arch = "riscv32", doc))]
pub mod tensix;
mod visit;

pub use port::{Outlet, RelayPort, Request};

use visit::{Visit, bytes};
use wire::{
    control::ext,
    frame::{ALIGN_BYTES, CRC_ENTRIES, FILLER, FRAME_BYTES_MAX, MAGIC, header, next_crc_entry},
    relay::{
        BUFFER_BYTES, BUFFER_COUNT, CRC_OFFSET, FILLER_OFFSET, GATHERERS_MAX, PRODUCERS_MAX,
        RING_BYTES_MIN, State,
        setup::{self, LIST, PRODUCER_WORDS},
        words,
    },
};

/// Maximum number of polls of a NoC that does not answer; these polls take some milliseconds.
pub const NOC_POLLS: u32 = 1 << 16;
/// Number of cycles that a gatherer rests after it has found nothing to read in any producer.
///
/// A kernel that records a zone every hundred cycles needs 25 times this number of cycles to fill
/// its ring.
pub const REST_CYCLES: u32 = 1024;

/// Runs a gatherer until the host stops its relay or the NoC no longer answers.
///
/// `setup` is the L1 address of the words that [`wire::relay::setup`] describes.
pub fn run<P: RelayPort + ?Sized>(port: &mut P, setup: u32) -> State {
    let mut gatherer = Gatherer::new(port, setup);
    let state = if gatherer.is_possible() { gatherer.gather() } else { State::BadSetup };
    gatherer.set_word(words::STATE, state.to_word());
    state
}

/// State of a running gatherer, which reads the rings of streaming cores and writes frames.
struct Gatherer<'a, P: ?Sized> {
    port: &'a mut P,
    setup: u32,
    control: u32,
    producer_control: u32,
    buffers: u32,
    gatherer: usize,
    /// Coordinates of the tile that gives access to the ring, and the ring's address in that tile.
    sink: (u32, u32),
    /// True if the ring is in the host's memory.
    has_host_sink: bool,
    ring_bytes: u32,
    producer_count: u32,
    /// L1 address of the list of producers.
    list: u32,
    /// L1 address of the end of the list of producers.
    list_end: u32,
    /// L1 address at which the visits continue with the first producer. Visits to entries between
    /// `list_end` and this address are empty.
    visits_end: u32,
    /// Number of bytes pushed to the ring so far, modulo 2^32.
    pushed: u32,
    /// Number of bytes that the host may read, counted from the start, modulo 2^32. `read` is the
    /// number of bytes that the host has read, counted in the same way.
    written: u32,
    read: u32,
    sequence: u32,
    sweeps: u32,
    heartbeat: u32,
    visits: [Visit; BUFFER_COUNT as usize],
}

impl<'a, P: RelayPort + ?Sized> Gatherer<'a, P> {
    fn new(port: &'a mut P, setup: u32) -> Self {
        let mut told = |index| port.load(setup.wrapping_add(bytes(index)));
        let (buffers, producer_count) = (told(setup::BUFFERS), told(setup::PRODUCERS));
        let list = setup.wrapping_add(bytes(LIST));
        let behind = |count: u32| list.wrapping_add(count.wrapping_mul(PRODUCER_BYTES));
        let mut visits = [Visit::NONE; BUFFER_COUNT as usize];
        for (slot, visit) in (0..).zip(&mut visits) {
            visit.frame = buffers.wrapping_add(BUFFER_BYTES.wrapping_mul(slot));
        }
        Self {
            control: told(setup::CONTROL),
            producer_control: told(setup::PRODUCER_CONTROL),
            buffers,
            gatherer: (told(setup::GATHERER) as usize) % GATHERERS_MAX,
            sink: (told(setup::SINK_TILE), told(setup::SINK_ADDRESS)),
            has_host_sink: told(setup::BANK) == words::HOST_MEMORY,
            ring_bytes: told(setup::RING_BYTES),
            producer_count,
            list,
            list_end: behind(producer_count),
            visits_end: behind(producer_count.max(BUFFER_COUNT)),
            port,
            setup,
            pushed: 0,
            written: 0,
            read: 0,
            sequence: 0,
            sweeps: 0,
            heartbeat: 0,
            visits,
        }
    }

    /// Reads a control word of this gatherer; `word` is the index that the word has for gatherer 0.
    #[inline(always)]
    fn word(&mut self, word: usize) -> u32 {
        let index = words::of(self.gatherer, word);
        self.port.load(self.control.wrapping_add(bytes(index)))
    }

    /// Writes a control word of this gatherer; `word` is the index that the word has for gatherer
    /// 0.
    #[inline(always)]
    fn set_word(&mut self, word: usize, value: u32) {
        let index = words::of(self.gatherer, word);
        self.port.store(self.control.wrapping_add(bytes(index)), value);
    }

    const fn is_possible(&self) -> bool {
        self.ring_bytes.is_power_of_two()
            && self.ring_bytes >= RING_BYTES_MIN
            && self.producer_count != 0
            && self.producer_count <= PRODUCERS_MAX
            && (self.buffers | self.setup | self.producer_control).is_multiple_of(16)
    }

    /// Tells the host where the gatherer's frames are. The signature is written last.
    fn announce(&mut self) {
        for (word, from) in [
            (words::BANK, setup::BANK),
            (words::RING_ADDRESS, setup::RING_ADDRESS),
            (words::RING_BYTES, setup::RING_BYTES),
            (words::PRODUCERS, setup::PRODUCERS),
        ] {
            let value = self.port.load(self.setup.wrapping_add(bytes(from)));
            self.set_word(word, value);
        }
        self.set_word(words::PRODUCER_LIST, self.list);
        self.set_word(words::STATE, State::Runs.to_word());
        let term = self.port.load(self.setup.wrapping_add(bytes(setup::TERM)));
        for (word, value) in [(words::TERM, term), (ext::SIGNATURE, words::SIGNATURE_VALUE)] {
            self.port.store(self.control.wrapping_add(bytes(word)), value);
        }
    }

    /// Computes the CRC table at run time, because firmware has no room for constants.
    fn fill_crc_table(&mut self) {
        let table = self.buffers.wrapping_add(CRC_OFFSET);
        for (index, entry) in (0..bytes(CRC_ENTRIES) / 4).zip((table..).step_by(4)) {
            let before = if index < 256 { index } else { self.port.load(entry - 256 * 4) };
            self.port.store(entry, next_crc_entry(before));
        }
    }

    fn gather(&mut self) -> State {
        self.fill_crc_table();
        for slot in 0..BUFFER_COUNT {
            let magic = self.slot(slot).frame.wrapping_add(bytes(header::MAGIC));
            self.port.store(magic, MAGIC);
        }
        self.announce();
        if let Err(state) = self.request_control(0, self.list) {
            return state;
        }
        let (mut slot, mut idle_visits) = (0, 0);
        loop {
            match self.visit(slot) {
                Ok(true) => idle_visits = 0,
                Ok(false) => idle_visits += 1,
                Err(state) => return state,
            }
            slot = (slot + 1) % BUFFER_COUNT;
            if idle_visits > self.producer_count {
                self.rest();
                idle_visits = 0;
            }
        }
    }

    /// Advances all visits by one step: requests the cells of the visit in slot `slot`, completes
    /// the oldest visit, begins the next visit, and pushes the frame of the previous visit.
    ///
    /// Returns true if the visit in slot `slot` has a frame.
    #[inline(always)]
    fn visit(&mut self, slot: u32) -> Result<bool, State> {
        let (next, before) = ((slot + 1) % BUFFER_COUNT, (slot + BUFFER_COUNT - 1) % BUFFER_COUNT);
        self.heartbeat = self.heartbeat.wrapping_add(1);
        self.set_word(words::HEARTBEAT, self.heartbeat);
        self.port.forget_cached();
        self.await_quiet(slot)?;
        self.plan(slot)?;
        self.complete(next)?;
        let after = self.slot(slot).producer.wrapping_add(PRODUCER_BYTES);
        let after = if after == self.visits_end { self.list } else { after };
        self.request_control(next, after)?;
        self.push(before)?;
        Ok(self.slot(slot).frame_bytes != 0)
    }

    /// Reads the host's read position and stop word. Returns an error if the host requests a stop
    /// or has zeroed the relay's control vector.
    #[inline(always)]
    fn check_host(&mut self) -> Result<(), State> {
        let read = self.word(words::READ);
        let [stop, signature] = [words::STOP, ext::SIGNATURE]
            .map(|word| self.port.load(self.control.wrapping_add(bytes(word))));
        self.read = read;
        let goes_on = stop == 0 && signature == words::SIGNATURE_VALUE;
        if goes_on { Ok(()) } else { Err(State::Stopped) }
    }

    /// Returns the visit in a slot.
    #[inline(always)]
    const fn slot(&mut self, slot: u32) -> &mut Visit {
        &mut self.visits[(slot % BUFFER_COUNT) as usize]
    }

    /// Pushes the frame of the visit in slot `slot`, if the visit has a frame. The cells of the
    /// frame have already been requested.
    #[inline(always)]
    fn push(&mut self, slot: u32) -> Result<(), State> {
        let Visit { frame, frame_bytes, .. } = *self.slot(slot);
        if frame_bytes == 0 {
            return Ok(());
        }
        let to_end = self.ring_bytes.wrapping_sub(self.place(self.pushed));
        let filler_bytes = if frame_bytes > to_end { to_end } else { 0 };
        let ring_bytes = frame_bytes.wrapping_add(filler_bytes);
        self.await_room(ring_bytes)?;
        if filler_bytes != 0 {
            self.push_filler(slot, filler_bytes)?;
        }
        self.slot(slot).ring_bytes = ring_bytes;
        self.await_quiet(slot)?;
        self.write_header(slot);
        let remote = self.next_place(frame_bytes);
        self.send(Outlet::Frame, slot, (frame, remote, frame_bytes.min(BURST_BYTES)))?;
        if frame_bytes > BURST_BYTES {
            let [frame, remote] = [frame, remote].map(|first| first.wrapping_add(BURST_BYTES));
            self.send(Outlet::FrameRest, slot, (frame, remote, frame_bytes - BURST_BYTES))?;
        }
        Ok(())
    }

    /// Fills the end of the ring with a filler frame, if the next frame does not fit there.
    #[cold]
    #[inline(never)]
    fn push_filler(&mut self, slot: u32, filler_bytes: u32) -> Result<(), State> {
        let filler = self.buffers.wrapping_add(FILLER_OFFSET);
        for (word, value) in [
            (header::MAGIC, MAGIC),
            (header::PRODUCER, FILLER),
            (header::TIME_LOW, 0),
            (header::TIME_HIGH, 0),
        ] {
            self.port.store(filler.wrapping_add(bytes(word)), value);
        }
        self.seal(filler, filler_bytes, FILLER);
        let remote = self.next_place(filler_bytes);
        self.send(Outlet::FrameRest, slot, (filler, remote, ALIGN_BYTES))?;
        Ok(())
    }

    /// Reserves `byte_count` bytes at the write position of the ring; returns their address in the
    /// ring's tile.
    #[inline(always)]
    const fn next_place(&mut self, byte_count: u32) -> u32 {
        let place = self.place(self.pushed);
        self.pushed = self.pushed.wrapping_add(byte_count);
        self.sink.1.wrapping_add(place)
    }

    /// Sends bytes from a local address to a remote address in the ring.
    #[inline(always)]
    fn send(
        &mut self,
        outlet: Outlet,
        slot: u32,
        (local, remote, byte_count): (u32, u32, u32),
    ) -> Result<(), State> {
        let id = if self.has_host_sink { HOST_ID } else { id_of(slot) };
        let request = Request { tile: self.sink.0, remote, local, byte_count, id };
        if self.port.send(outlet, &request) { Ok(()) } else { Err(State::NocSilent) }
    }

    #[inline(always)]
    const fn place(&self, byte: u32) -> u32 {
        byte & self.ring_bytes.wrapping_sub(1)
    }

    /// Waits until the host has read enough for the bytes to fit into the ring.
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

    /// Returns true if `byte_count` bytes fit into the ring. Returns false also if the host's read
    /// position is beyond the bytes that were written.
    #[inline(always)]
    const fn has_room(&self, byte_count: u32) -> bool {
        let read = self.read;
        let used = self.pushed.wrapping_sub(read);
        self.written.wrapping_sub(read) <= self.ring_bytes
            && used <= self.ring_bytes
            && byte_count <= self.ring_bytes.wrapping_sub(used)
    }

    /// Counts the frame of a visit, if any, once it is in the ring, and reports to the producer
    /// what was read. If the host has stopped the relay, only returns an error.
    #[inline(always)]
    fn complete(&mut self, slot: u32) -> Result<(), State> {
        let Visit { producer, ring_bytes, .. } = *self.slot(slot);
        self.await_quiet(slot)?;
        if self.has_host_sink && ring_bytes != 0 {
            self.await_answers(HOST_ID)?;
        }
        self.check_host()?;
        if ring_bytes != 0 {
            self.written = self.written.wrapping_add(ring_bytes);
            self.set_word(words::WRITTEN, self.written);
            self.tell_producer(slot, producer)?;
        }
        if producer.wrapping_add(PRODUCER_BYTES) == self.list_end {
            self.sweeps = self.sweeps.wrapping_add(1);
            self.set_word(words::SWEEPS, self.sweeps);
        }
        Ok(())
    }

    /// Waits until every request of the visit in a slot is answered, except writes to the host's
    /// memory.
    #[inline(always)]
    fn await_quiet(&mut self, slot: u32) -> Result<(), State> {
        self.await_answers(id_of(slot))
    }

    /// Waits until every request with a transaction id has been answered.
    #[inline(always)]
    fn await_answers(&mut self, id: u32) -> Result<(), State> {
        let mut left = NOC_POLLS;
        while !self.port.is_quiet(id) {
            left = left.wrapping_sub(1);
            if left == 0 {
                return Err(State::NocSilent);
            }
        }
        Ok(())
    }

    /// Waits for [`REST_CYCLES`] cycles.
    #[cold]
    #[inline(never)]
    fn rest(&mut self) {
        let since = self.port.now_low();
        while self.port.now_low().wrapping_sub(since) < REST_CYCLES {}
    }
}

/// Returns the transaction id of the requests of the visit in a slot.
#[inline(always)]
const fn id_of(slot: u32) -> u32 {
    slot + 1
}

/// Transaction id under which writes to the host's memory are counted.
///
/// # Compatibility
/// tt-isa-documentation, `WormholeB0/NoC/MemoryMap.md`: the acknowledgement of a write to the PCIe
/// tile is counted for id 0, whatever the id of the write.
pub const HOST_ID: u32 = 0;

/// Size in bytes of a producer's entry in the list.
const PRODUCER_BYTES: u32 = bytes(PRODUCER_WORDS);
/// Maximum size in bytes of one request, on both chips.
const BURST_BYTES: u32 = 8192;

const _: () = assert!(FRAME_BYTES_MAX <= 2 * BURST_BYTES);
