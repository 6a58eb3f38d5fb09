//! Requests between the tiles of a launch, and reads of DRAM.
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
    host_memory::HostMemory,
    machine::{
        Action, Change, Devices, FIRST_REGISTER, Payload, Request, Stage, TileWatch, carry_out,
        counter,
        message::{Answer, Content, Message},
        read_bytes, write_bytes,
    },
    noc,
    riscv::NocRead,
    tile::Tile,
    truth::{NocOperation, NocRequest, ReleaseTruth},
};
use wire::vector::VECTOR_BYTES;

impl Answer {
    /// Writes the returned bytes into the requesting tile, and updates the counters of its NoC
    /// interface.
    pub(crate) fn receive(
        self,
        bytes: &[u8],
        (tile, devices): (&mut Tile, &mut Devices),
        chip: &ChipFacts,
    ) {
        let Self { cycle, noc, transaction_id, destination, is_atomic } = self;
        write_bytes((tile, devices), (u64::from(destination)..).zip(bytes.iter().copied()), cycle);
        let flits = (bytes.len() as u64).div_ceil(chip.arch.facts().noc_flit_bytes);
        let flits = u32::try_from(flits).unwrap_or(0);
        let received = if is_atomic {
            [(counter::ATOMIC_RESPONSES, 1), (counter::READ_DATA_WORDS, 0)]
        } else {
            [(counter::READ_RESPONSES, 1), (counter::READ_DATA_WORDS, flits)]
        };
        let done = (counter::OUTSTANDING + transaction_id, u32::MAX);
        for (counter, amount) in received.into_iter().chain([done]) {
            devices.noc.expect(noc, Change { cycle, counter, amount });
        }
    }
}

impl Stage {
    /// Sends a request from this tile's hart.
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
        let from = (risc_index, cycle);
        match &request.action {
            Action::Write { source, byte_count, targets, address, acknowledge_to } => {
                let data = (u64::from(*source), *byte_count);
                let tells = targets
                    .iter()
                    .any(|target| matches!(self.chip.endpoint(*target), Some(Endpoint::Core(_))));
                if tells && self.dies_telling_at.is_some_and(|at| at <= cycle) {
                    self.dies_at.get_or_insert(cycle);
                    return;
                }
                for &target in targets {
                    let at = (target, *address);
                    let ack = self.write(devices, from, request.noc, data, at);
                    if request.wants_response {
                        let id = self.acknowledged_id(request, target);
                        self.acknowledge(devices, (request.noc, id), *acknowledge_to, ack);
                    }
                }
            }
            &Action::Inline { target: [target], address, value, byte_mask } => {
                let payload = Payload::Masked { address, value, byte_mask };
                let ack = self.pass(devices, (request.noc, from), target, payload, 4);
                if request.wants_response {
                    let id = (request.noc, request.transaction_id);
                    self.acknowledge(devices, id, self.own(), ack);
                }
            }
            &Action::Read { target: [target], address, destination, byte_count } => {
                let payload = Payload::Read { address, byte_count };
                let destination = Some((destination, false));
                self.ask(devices, (request, from), target, payload, destination, byte_count);
            }
            &Action::Increment { target: [target], address, amount, mask, reply } => {
                let payload = Payload::Increment { address, amount, mask };
                let destination = request.wants_response.then_some((reply, true));
                self.ask(devices, (request, from), target, payload, destination, 4);
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

    /// Sends bytes from this tile's L1 to an address in another tile; returns the cycle at which
    /// the acknowledgement arrives.
    fn write(
        &mut self,
        devices: &mut Devices,
        (risc_index, cycle): (usize, u64),
        noc: usize,
        (source, byte_count): (u64, u32),
        (target, address): (TileCoord, u64),
    ) -> u64 {
        if let Some((bank, address)) = self.chip.bank_at(target, address) {
            let data = (source, byte_count / 4);
            return self.push_at(risc_index, cycle, noc, data, (bank, address));
        }
        if self.chip.endpoint(target) == Some(Endpoint::Host) {
            let data = (source, byte_count / 4);
            return self.push_to_host((risc_index, cycle), noc, data, address);
        }
        let bytes = read_bytes(&self.tile, source, byte_count);
        let payload = Payload::Bytes { address, bytes };
        self.pass(devices, (noc, (risc_index, cycle)), target, payload, u64::from(byte_count))
    }

    /// Sends a write to a core; returns the cycle at which the acknowledgement arrives.
    fn pass(
        &mut self,
        devices: &mut Devices,
        (noc, from): (usize, (usize, u64)),
        target: TileCoord,
        payload: Payload,
        byte_count: u64,
    ) -> u64 {
        let (_, cycle) = from;
        let (arrival, back) = self.travel((noc, cycle), target, byte_count);
        if target == self.own() {
            let chip = std::sync::Arc::clone(&self.chip);
            carry_out(&payload, (&mut self.tile, devices), &chip, arrival);
        } else {
            let by = self.sender(from);
            self.post(arrival, target, by, Content::Request { payload, answer: None });
        }
        arrival + back
    }

    /// Sends a request whose answer, if `destination` is given, is stored in this tile.
    fn ask(
        &mut self,
        devices: &mut Devices,
        (request, from): (&Request, (usize, u64)),
        target: TileCoord,
        payload: Payload,
        destination: Option<(u32, bool)>,
        byte_count: u32,
    ) {
        let (_, cycle) = from;
        let (arrival, back) = self.travel((request.noc, cycle), target, 0);
        let answer = destination.map(|(destination, is_atomic)| Answer {
            cycle: arrival + back + self.flits(byte_count),
            noc: request.noc,
            transaction_id: request.transaction_id,
            destination,
            is_atomic,
        });
        if target != self.own() {
            let by = self.sender(from);
            return self.post(arrival, target, by, Content::Request { payload, answer });
        }
        let chip = std::sync::Arc::clone(&self.chip);
        let bytes = carry_out(&payload, (&mut self.tile, devices), &chip, arrival);
        if let Some(answer) = answer {
            answer.receive(&bytes, (&mut self.tile, devices), &chip);
        }
    }

    fn flits(&self, byte_count: u32) -> u64 {
        u64::from(byte_count).div_ceil(self.chip.arch.facts().noc_flit_bytes)
    }

    /// Returns the cycle at which a request reaches its target, and the further cycles until the
    /// answer.
    fn travel(
        &mut self,
        (noc, cycle): (usize, u64),
        target: TileCoord,
        byte_count: u64,
    ) -> (u64, u64) {
        let way = (self.own(), target);
        let facts = self.chip.arch.facts();
        let random = &mut self.tile.noc_random;
        let latency = noc::write_latency(facts, noc, way, byte_count, random);
        let last = self.last_arrival.entry(target).or_insert(0);
        let arrival = (cycle + latency.landing_cycles).max(*last + 1);
        *last = arrival;
        (arrival, latency.acknowledgement_cycles)
    }

    /// Returns the transaction id under which the acknowledgement of a write is counted.
    ///
    /// # Compatibility
    /// tt-isa-documentation, `WormholeB0/NoC/MemoryMap.md`: the PCIe tile acknowledges every write for
    /// id 0.
    fn acknowledged_id(&self, request: &Request, target: TileCoord) -> usize {
        let is_host = self.chip.endpoint(target) == Some(Endpoint::Host);
        if is_host { 0 } else { request.transaction_id }
    }

    /// Sends a write's acknowledgement to the tile `to`, which the request specifies.
    fn acknowledge(
        &mut self,
        devices: &mut Devices,
        (noc, transaction_id): (usize, usize),
        to: TileCoord,
        cycle: u64,
    ) {
        if to == self.own() {
            count_ack(devices, noc, transaction_id, cycle);
        } else {
            self.post(cycle, to, None, Content::StrayAck { noc, transaction_id });
        }
    }

    fn sender(&self, (risc_index, cycle): (usize, u64)) -> Option<ReleaseTruth> {
        let risc = self.context().place.kind.risc(risc_index)?;
        Some(ReleaseTruth { core: self.own(), risc, sent: self.tile.clock.value(cycle) })
    }

    fn post(
        &mut self,
        arrival: u64,
        target: TileCoord,
        by: Option<ReleaseTruth>,
        content: Content,
    ) {
        let (number, sender) = (self.outgoing.len(), self.own());
        self.outgoing.push(Message { arrival, number, sender, by, target, content });
    }
}

pub(crate) fn count_ack(devices: &mut Devices, noc: usize, transaction_id: usize, cycle: u64) {
    let counts = [(counter::WRITE_ACKS, 1), (counter::OUTSTANDING + transaction_id, u32::MAX)];
    for (counter, amount) in counts {
        devices.noc.expect(noc, Change { cycle, counter, amount });
    }
}

/// Hands the DRAM writes of launches in progress over to DRAM.
pub(crate) fn issue_landings(cores: &mut [Core], dram: &mut Dram) {
    let stages = cores.iter_mut().filter_map(Core::stage_mut);
    for landing in stages.flat_map(|stage| stage.landings.drain(..)) {
        dram.expect(landing);
    }
}

/// Hands the relays' writes to the host's memory over to that memory.
pub(crate) fn issue_host_writes(cores: &mut [Core], memory: &mut HostMemory) {
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

/// Cycles up to which requests are carried out, and at which harts can see the effects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    /// Requests that arrive by this cycle are carried out.
    pub(crate) cycle: u64,
    /// The first cycle at which a hart can see the effects of these requests.
    pub(crate) seen_at: u64,
}

fn deliver_one(cores: &mut [Core], dram: &Dram, chip: &ChipFacts, message: &Message, seen_at: u64) {
    let (arrival, target) = (message.arrival, message.target);
    let (payload, answer) = match &message.content {
        &Content::StrayAck { noc, transaction_id } => {
            if let Some(core) = core_at(cores, target) {
                core.with_devices(chip, |_, devices| {
                    count_ack(devices, noc, transaction_id, arrival);
                });
            }
            return;
        }
        Content::Request { payload, answer } => (payload, *answer),
    };
    let bytes = match chip.endpoint(target) {
        Some(Endpoint::Dram { .. }) => read_dram(dram, chip, message, payload),
        _ => core_at(cores, target).map_or_else(Vec::new, |core| {
            core.with_devices(chip, |tile, devices| {
                if let (Some(watch), Some(address)) = (&mut devices.tile_watch, payload.semaphore())
                {
                    watch.note_arrival(address, arrival.max(seen_at), message.by);
                }
                devices.noc_reads.extend(noc_read(chip, payload, arrival.max(seen_at)));
                carry_out(payload, (tile, devices), chip, arrival)
            })
        }),
    };
    let sender = core_at(cores, message.sender);
    if let (Some(answer), Some(core)) = (answer, sender) {
        core.with_devices(chip, |tile, devices| answer.receive(&bytes, (tile, devices), chip));
    }
}

/// Returns the read of L1 that a request to a core causes there, if any.
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

/// Returns the data of a DRAM read, including all writes that land before the read arrives.
fn read_dram(dram: &Dram, chip: &ChipFacts, message: &Message, payload: &Payload) -> Vec<u8> {
    let &Payload::Read { address, byte_count } = payload else { return Vec::new() };
    let Some((bank, address)) = chip.bank_at(message.target, address) else { return Vec::new() };
    let (first, skipped) = (address & !3, (address & 3) as usize);
    let mut words = vec![0; (skipped + byte_count as usize).div_ceil(4)];
    if !dram.read_at(bank, first, &mut words, message.arrival) {
        return vec![0; byte_count as usize];
    }
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.skip(skipped).take(byte_count as usize).collect()
}

/// Returns the L1 address of the semaphore at an address; `None` if there is no semaphore.
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
