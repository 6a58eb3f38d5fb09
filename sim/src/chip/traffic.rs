//! NoC requests between the tiles of a launch, and reads of DRAM.
//!
//! Each core issues its requests without waiting for other cores, because the times of arrival and
//! answer are known when a request is issued. Between windows of time, requests are carried out one
//! by one in order of arrival. The result therefore does not depend on the number of threads.

use super::{
    core::Core,
    facts::{ChipFacts, Endpoint},
};
use crate::{
    arch::TileCoord,
    dram::Dram,
    host_memory::HostHugePage,
    machine::{
        Action, Devices, FIRST_REGISTER, Payload, Request, Stage, TileWatch,
        message::{Content, Message},
    },
    noc,
    riscv::NocRead,
    truth::{NocOperation, NocRequest, ReleaseTruth},
};
use std::sync::Arc;
use wire::vector::VECTOR_BYTES;

impl Stage {
    /// Sends a NoC request of a hart of this tile.
    pub(crate) fn issue(
        &mut self,
        devices: &mut Devices,
        risc_index: usize,
        cycle: u64,
        request: &Request,
    ) {
        self.note_request(risc_index, cycle, request);
        if let (Some(watch), Some(_)) = (&mut devices.tile_watch, request.semaphore()) {
            watch.note_signal(risc_index);
        }
        let is_core = |target| matches!(self.chip.endpoint(target), Some(Endpoint::Core(_)));
        if matches!(request.action, Action::Write { .. })
            && self.dies_telling_at.is_some_and(|at| at <= cycle)
            && request.targets().iter().copied().any(is_core)
        {
            self.dies_at.get_or_insert(cycle);
            return;
        }
        let payload = request.payload(&self.tile);
        for &target in request.targets() {
            let returned = self.send_to(devices, (request, &payload), target, (risc_index, cycle));
            if let Some(to) = request.acknowledge_to(self.own()) {
                let transaction_id = self.acknowledged_id(request, target);
                let content = Content::Acknowledgement { noc: request.noc, transaction_id };
                self.deliver_or_post(devices, (returned, to), None, content);
            }
        }
    }

    /// Adds a request to the ground truth, unless it transfers the profiler's own data.
    fn note_request(&mut self, risc_index: usize, cycle: u64, request: &Request) {
        if !self.chip.modes.has_noc_truth {
            return;
        }
        let kind = self.context().place.kind;
        let (control, vectors) = self.chip.profiler_addresses(kind);
        let profilers = control..vectors + (kind.risc_count() * VECTOR_BYTES) as u64;
        let (operation, address, local_address, byte_count) = match request.action {
            Action::Write { source, byte_count, address, .. } => {
                if profilers.contains(&u64::from(source)) {
                    return;
                }
                let operation = if request.is_multicast {
                    NocOperation::Multicast
                } else {
                    NocOperation::Write
                };
                (operation, address, Some(source), byte_count)
            }
            Action::Inline { address, byte_mask, .. } => {
                (NocOperation::InlineWrite, address, None, byte_mask.count_ones())
            }
            Action::Read { address, destination, byte_count, .. } => {
                (NocOperation::Read, address, Some(destination), byte_count)
            }
            Action::Increment { address, reply, .. } => {
                let reply = request.wants_response.then_some(reply);
                (NocOperation::Increment, address, reply, 4)
            }
        };
        let number = |index: usize| u8::try_from(index).unwrap_or(u8::MAX);
        let noted = NocRequest {
            launch_index: self.context().launch_index,
            sent: self.tile.clock.value(cycle),
            noc: number(request.noc),
            operation,
            coordinates: request.coordinates[0],
            first_corner: request.is_multicast.then_some(request.coordinates[1]),
            targets: request.targets().to_vec(),
            address,
            local_address,
            byte_count,
            virtual_channel: request.virtual_channel,
            is_posted: !request.wants_response,
            is_linked: request.is_linked,
            transaction_id: number(request.transaction_id),
        };
        self.noc_requests.push((risc_index, noted));
    }

    /// Returns the cycle at which the next outstanding answer arrives.
    pub(crate) fn answer_due(&self) -> Option<u64> {
        let answers = self.outgoing.iter().filter_map(|message| match &message.content {
            Content::Request { answer: Some(answer), .. } => Some(answer.cycle),
            _ => None,
        });
        answers.min()
    }

    const fn own(&self) -> TileCoord {
        self.context().place.coord
    }

    /// Sends a request to one of its targets; returns the cycle at which the write's
    /// acknowledgement or the first flit of the answer arrives.
    fn send_to(
        &mut self,
        devices: &mut Devices,
        (request, payload): (&Request, &Payload),
        target: TileCoord,
        (risc_index, cycle): (usize, u64),
    ) -> u64 {
        let noc = request.noc;
        if let Payload::Bytes { address, bytes } = payload {
            let words = || bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
            if let Some(bank_address) = self.chip.bank_at(target, *address) {
                return self.push_at(risc_index, cycle, noc, words(), bank_address);
            }
            if self.chip.endpoint(target) == Some(Endpoint::Host) {
                return self.push_to_host((risc_index, cycle), noc, words(), *address);
            }
        }
        let (way, byte_count) = ((self.own(), target), request.payload_bytes());
        let facts = self.chip.arch.facts();
        let latency = noc::write_latency(facts, noc, way, byte_count, &mut self.tile.noc_random);
        let arrival = latency.arrival(cycle, self.last_arrival.entry(target).or_insert(0));
        let returned = arrival + latency.acknowledgement_cycles;
        let answer = request.answer(&self.chip, returned);
        let content = Content::Request { payload: payload.clone(), answer };
        let by = self.sender(risc_index, cycle);
        self.deliver_or_post(devices, (arrival, target), by, content);
        returned
    }

    /// Returns the transaction id under which the acknowledgement of a write is counted.
    ///
    /// # Compatibility
    /// tt-isa-documentation, `WormholeB0/NoC/MemoryMap.md`: the PCIe tile acknowledges every write
    /// under id 0.
    fn acknowledged_id(&self, request: &Request, target: TileCoord) -> usize {
        let is_host = self.chip.endpoint(target) == Some(Endpoint::Host);
        if is_host { 0 } else { request.transaction_id }
    }

    fn sender(&self, risc_index: usize, cycle: u64) -> Option<ReleaseTruth> {
        let risc = self.context().place.kind.risc(risc_index)?;
        Some(ReleaseTruth { core: self.own(), risc, sent: self.tile.clock.value(cycle) })
    }

    /// Sends a message. A message from the tile to itself takes effect at once, but the tile's NoC
    /// counters change only at the message's arrival time.
    fn deliver_or_post(
        &mut self,
        devices: &mut Devices,
        (arrival, target): (u64, TileCoord),
        by: Option<ReleaseTruth>,
        content: Content,
    ) {
        let (number, sender) = (self.outgoing.len(), self.own());
        if target != sender {
            self.outgoing.push(Message { arrival, number, sender, by, target, content });
            return;
        }
        let chip = Arc::clone(&self.chip);
        let bytes = content.arrive((&mut self.tile, devices), &chip, arrival);
        if let Content::Request { answer: Some(answer), .. } = content {
            Content::Answer { answer, bytes }.arrive((&mut self.tile, devices), &chip, arrival);
        }
    }
}

/// Moves the DRAM writes of launches in progress to `dram`, which applies them when they arrive.
pub(crate) fn issue_landings(cores: &mut [Core], dram: &mut Dram) {
    let stages = cores.iter_mut().filter_map(Core::stage_mut);
    for landing in stages.flat_map(|stage| stage.landings.drain(..)) {
        dram.expect(landing);
    }
}

/// Moves the writes of relays into the host's memory, `memory`, which applies them when they
/// arrive.
pub(crate) fn issue_host_writes(cores: &mut [Core], memory: &mut HostHugePage) {
    let stages = cores.iter_mut().filter_map(Core::stage_mut);
    memory.expect(stages.flat_map(|stage| stage.host_writes.drain(..)));
}

/// Carries out all requests that have arrived by the cycle `by.cycle`; returns true if any requests
/// were in flight.
///
/// Harts see the effects no earlier than the cycle `by.seen_at`.
pub(crate) fn deliver(cores: &mut [Core], dram: &mut Dram, chip: &ChipFacts, by: Arrived) -> bool {
    let mut messages = Vec::new();
    let mut has_reads = false;
    for core in cores.iter_mut() {
        if let Some(stage) = core.stage_mut() {
            messages.append(&mut stage.outgoing);
        }
    }
    let is_on_its_way = !messages.is_empty();
    messages.sort_by_key(|message| (message.arrival, message.sender, message.number));
    let later = messages.split_off(messages.partition_point(|of| of.arrival <= by.cycle));
    for message in later {
        if let Some(stage) = core_at(cores, message.sender).and_then(Core::stage_mut) {
            stage.outgoing.push(message);
        }
    }
    for message in &messages {
        has_reads |= matches!(chip.endpoint(message.target), Some(Endpoint::Dram { .. }));
    }
    if has_reads {
        issue_landings(cores, dram);
    }
    for message in &messages {
        deliver_one(cores, dram, chip, message, by.seen_at);
    }
    is_on_its_way
}

/// Cycle up to which requests are carried out, and the first cycle at which harts can see the
/// effects of these requests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// Requests that arrive by this cycle are carried out.
    pub(crate) cycle: u64,
    /// The first cycle at which a hart can see the effects of these requests.
    pub(crate) seen_at: u64,
}

fn deliver_one(cores: &mut [Core], dram: &Dram, chip: &ChipFacts, message: &Message, seen_at: u64) {
    let Message { arrival, target, ref content, .. } = *message;
    let bytes = match (chip.endpoint(target), content) {
        (Some(Endpoint::Dram { .. }), Content::Request { payload, .. }) => {
            read_dram(dram, chip, message, payload)
        }
        _ => core_at(cores, target).map_or_else(Vec::new, |core| {
            core.with_devices(chip, |tile, devices| {
                if let Content::Request { payload, .. } = content {
                    let seen_at = arrival.max(seen_at);
                    if let (Some(watch), Some(address)) =
                        (&mut devices.tile_watch, payload.semaphore())
                    {
                        watch.note_arrival(address, seen_at, message.by);
                    }
                    devices.noc_reads.extend(noc_read(chip, payload, seen_at));
                }
                content.arrive((tile, devices), chip, arrival)
            })
        }),
    };
    if let &Content::Request { answer: Some(answer), .. } = content
        && let Some(core) = core_at(cores, message.sender)
    {
        let answer = Content::Answer { answer, bytes };
        core.with_devices(chip, |tile, devices| answer.arrive((tile, devices), chip, arrival));
    }
}

/// Returns the L1 read that a request causes at the target core; `None` if the request reads no L1.
fn noc_read(chip: &ChipFacts, payload: &Payload, cycle: u64) -> Option<NocRead> {
    let &Payload::Read { address, byte_count } = payload else { return None };
    let address =
        u32::try_from(address).ok().filter(|address| u64::from(*address) < FIRST_REGISTER)?;
    let cycle_bytes = u32::try_from(chip.arch.facts().noc_flit_bytes).ok()?;
    Some(NocRead { cycle, address, byte_count, cycle_bytes, step_cycles: 1 })
}

fn core_at(cores: &mut [Core], coord: TileCoord) -> Option<&mut Core> {
    let index = cores.binary_search_by_key(&coord, Core::coord).ok()?;
    Some(&mut cores[index])
}

/// Returns the data of a DRAM read, including all writes that arrive before the read.
fn read_dram(dram: &Dram, chip: &ChipFacts, message: &Message, payload: &Payload) -> Vec<u8> {
    let &Payload::Read { address, byte_count } = payload else { return Vec::new() };
    let Some((bank, address)) = chip.bank_at(message.target, address) else { return Vec::new() };
    let (first, skipped) = (address & !3, (address & 3) as usize);
    let mut words = vec![0; (skipped + byte_count as usize).div_ceil(4)];
    if !dram.read_at(bank, first, &mut words, message.arrival) {
        return vec![0; byte_count as usize];
    }
    let mut bytes = Vec::with_capacity(4 * words.len());
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    bytes.drain(..skipped);
    bytes.truncate(byte_count as usize);
    bytes
}

/// Returns the L1 address of a semaphore from a NoC address; `None` if there is no semaphore at the
/// address.
fn semaphore_at(address: u64) -> Option<u32> {
    u32::try_from(address).ok().filter(|&address| TileWatch::is_semaphore(address))
}

impl Request {
    /// Returns the address of the semaphore that a write or increment in this request changes, if
    /// any.
    fn semaphore(&self) -> Option<u32> {
        match self.action {
            Action::Write { address, .. } | Action::Increment { address, .. } => {
                semaphore_at(address)
            }
            Action::Inline { .. } | Action::Read { .. } => None,
        }
    }
}

impl Payload {
    /// Returns the address of the semaphore that the payload changes, if any.
    fn semaphore(&self) -> Option<u32> {
        match *self {
            Self::Bytes { address, .. } | Self::Increment { address, .. } => semaphore_at(address),
            Self::Masked { .. } | Self::Read { .. } => None,
        }
    }
}
