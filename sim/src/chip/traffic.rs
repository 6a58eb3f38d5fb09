//! NoC requests between the tiles of a launch, and reads of DRAM.
//!
//! Each core issues its requests without waiting for other cores. It knows the earliest cycle at
//! which an answer can be back, and runs no further until the answer's time is known. Between windows
//! of time, [`Flights`] takes the requests over, and lets them pass the NoC, one step of their way
//! after the other in order of time, up to the cycle that every core has reached. So packets queue
//! for links and DRAM channels in the order of time, and the result does not depend on the number of
//! threads.

use super::{
    core::Core,
    facts::{ChipFacts, Endpoint},
};
use crate::{
    arch::{Arch, TileCoord},
    dram::{Dram, Landing},
    host_memory::HostHugePage,
    limits::{LiftedLimits, Limit},
    machine::{
        Action, Devices, FIRST_REGISTER, Payload, Request, Stage, TileWatch,
        message::{Acknowledgement, Content, Message, Step},
    },
    network::{Arrival, Channels, DramAccess, Network},
    noc::{self, INTERFACE_CYCLES},
    riscv::NocRead,
    tile::Tile,
    truth::{NocOperation, NocRequest, ReleaseTruth},
};
use std::{collections::BTreeMap, sync::Arc};
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
        for (index, &target) in request.targets().iter().enumerate() {
            let acknowledgement = request.acknowledge_to(self.own()).map(|to| {
                let transaction_id = self.acknowledged_id(request, target);
                (to, Acknowledgement { noc: request.noc, transaction_id })
            });
            let packet = Packet { request, payload: &payload, acknowledgement };
            self.send_to(devices, packet, (index == 0, target), (risc_index, cycle));
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

    /// Returns the earliest cycle at which an outstanding answer or acknowledgement can be here.
    pub(crate) fn answer_due(&self) -> Option<u64> {
        self.awaited.due()
    }

    const fn own(&self) -> TileCoord {
        self.context().place.coord
    }

    /// Sends a request to one of its targets, the first of them if `is_first`.
    fn send_to(
        &mut self,
        devices: &mut Devices,
        packet: Packet<'_>,
        (is_first, target): (bool, TileCoord),
        (risc_index, cycle): (usize, u64),
    ) {
        let Packet { request, payload, acknowledgement } = packet;
        let noc = request.noc;
        let channels = is_first.then_some(Channels::of_request(request.virtual_channel));
        if let Payload::Bytes { address, bytes } = payload {
            let words = || bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes).collect();
            if let Some(place) = self.chip.bank_at(target, *address) {
                let content = self.push_at(risc_index, cycle, words(), place, acknowledgement);
                return self.post((channels, target), None, (noc, cycle), content);
            }
            if self.chip.endpoint(target) == Some(Endpoint::Host) {
                let returned = self.push_to_host((risc_index, cycle), noc, words(), *address);
                return self.acknowledge(devices, acknowledgement, returned);
            }
        }
        if target == self.own() {
            return self.deliver_here(devices, packet, cycle);
        }
        let by = self.sender(risc_index, cycle);
        let (payload, answer) = (payload.clone(), request.answer());
        let content = Content::Request { payload, answer, acknowledgement };
        self.post((channels, target), by, (noc, cycle), content);
    }

    /// Hands a request for another tile to the NoC.
    fn post(
        &mut self,
        (channels, target): (Option<Channels>, TileCoord),
        by: Option<ReleaseTruth>,
        (noc, cycle): (usize, u64),
        content: Content,
    ) {
        let (sender, grid) = (self.own(), self.chip.arch.facts().grid);
        let last = &mut self.last_departure[noc];
        let jitter = self.tile.noc_random.below(noc::JITTER_CYCLES);
        *last = (cycle + jitter).max(*last);
        let departure = *last;
        let round_trip = noc::travel_cycles(grid, noc, sender, target)
            + noc::travel_cycles(grid, noc, target, sender);
        let is_awaited = content.is_awaited_by(sender);
        let number = self.tile.request_count;
        self.tile.request_count += 1;
        self.awaited.add(number, is_awaited.then_some(departure + round_trip));
        self.outgoing.push(Message {
            cycle: departure,
            step: Step::Departs,
            noc,
            channels,
            port: None,
            number,
            sender,
            by,
            target,
            content,
        });
    }

    /// Carries out a request of the tile to itself. It takes effect at once, but the tile's NoC
    /// counters change only when it and its answer would have arrived.
    fn deliver_here(&mut self, devices: &mut Devices, packet: Packet<'_>, cycle: u64) {
        let Packet { request, payload, acknowledgement } = packet;
        let (own, facts) = (self.own(), self.chip.arch.facts());
        let random = &mut self.tile.noc_random;
        let has_rate = !self.chip.modes.lifted.has(Limit::Noc);
        let bytes = if has_rate { request.payload_bytes() } else { 0 };
        let latency = noc::write_latency(facts, request.noc, (own, own), bytes, random);
        let arrival = latency.arrival(cycle, self.last_arrival.entry(own).or_insert(0));
        let returned = arrival + latency.acknowledgement_cycles;
        let chip = Arc::clone(&self.chip);
        let (payload, answer) = (payload.clone(), request.answer());
        let content = Content::Request { payload, answer, acknowledgement: None };
        let bytes = content.arrive((&mut self.tile, devices), &chip, arrival);
        if let Some(answer) = answer {
            let flits = (bytes.len() as u64).div_ceil(facts.noc_flit_bytes);
            let flits = if has_rate { flits } else { 0 };
            let content = Content::Answer { answer, bytes };
            content.arrive((&mut self.tile, devices), &chip, returned + flits);
        }
        self.acknowledge(devices, acknowledgement, returned);
    }

    /// Counts an acknowledgement that arrives at a cycle, on this tile or on the one that gets it.
    fn acknowledge(
        &mut self,
        devices: &mut Devices,
        acknowledgement: Option<(TileCoord, Acknowledgement)>,
        cycle: u64,
    ) {
        let Some((to, acknowledgement)) = acknowledgement else { return };
        let content = Content::Acknowledgement(acknowledgement);
        if to == self.own() {
            let chip = Arc::clone(&self.chip);
            content.arrive((&mut self.tile, devices), &chip, cycle);
        } else {
            self.post((None, to), None, (acknowledgement.noc, cycle), content);
        }
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
}

/// A request on its way to one of its targets.
#[derive(Clone, Copy)]
struct Packet<'a> {
    request: &'a Request,
    payload: &'a Payload,
    acknowledgement: Option<(TileCoord, Acknowledgement)>,
}

/// Moves the writes of relays into the host's memory, `memory`, which applies them when they
/// arrive.
pub(crate) fn issue_host_writes(cores: &mut [Core], memory: &mut HostHugePage) {
    let stages = cores.iter_mut().filter_map(Core::stage_mut);
    memory.expect(stages.flat_map(|stage| stage.host_writes.drain(..)));
}

/// Requests, answers and acknowledgements in flight on a chip, and what they queue for.
#[derive(Debug)]
pub(crate) struct Flights {
    /// Messages by the cycle of their next step and, within one cycle, in the order in which the
    /// NoC took them over.
    queue: BTreeMap<(u64, u64), Message>,
    count: u64,
    network: Network<Message>,
    /// Latest cycle of a step so far.
    latest: u64,
}

/// Cycle up to which messages advance, and the first cycle at which harts can see the effects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reached {
    /// Steps before this cycle are carried out.
    pub(crate) cycle: u64,
    /// The first cycle at which a hart can see their effects.
    pub(crate) seen_at: u64,
}

/// What a step of a message acts on.
struct Place<'a> {
    cores: &'a mut [Core],
    dram: &'a mut Dram,
    chip: &'a ChipFacts,
    seen_at: u64,
}

impl Flights {
    pub(crate) fn new(arch: Arch, lifted: LiftedLimits) -> Self {
        let network = Network::new(arch, lifted);
        Self { queue: BTreeMap::new(), count: 0, network, latest: 0 }
    }

    /// Begins a launch at a cycle. Launches that run side by side on a chip are often simulated one
    /// after the other, so this cycle may lie before the end of the previous one.
    pub(crate) fn begin(&mut self, cycle: u64) {
        if cycle < self.latest {
            self.network.go_back(cycle);
            self.latest = cycle;
        }
    }

    /// Returns true if no message is in flight.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.network.is_empty()
    }

    /// Returns the cycle of the next step of a message.
    pub(crate) fn next_cycle(&self) -> Option<u64> {
        let queued = self.queue.first_key_value().map(|((cycle, _), _)| *cycle);
        queued.into_iter().chain(self.network.next_cycle()).min()
    }

    fn add(&mut self, message: Message) {
        self.queue.insert((message.cycle, self.count), message);
        self.count += 1;
    }

    /// Takes the cores' new requests over, and carries out all steps before a cycle; returns true if
    /// there were any steps.
    pub(crate) fn advance(
        &mut self,
        (cores, dram): (&mut [Core], &mut Dram),
        chip: &ChipFacts,
        reached: Reached,
    ) -> bool {
        for stage in cores.iter_mut().filter_map(Core::stage_mut) {
            stage.outgoing.drain(..).for_each(|message| self.add(message));
        }
        let mut place = Place { cores, dram, chip, seen_at: reached.seen_at };
        let mut has_moved = false;
        loop {
            while let Some(arrival) = self.network.take_arrived() {
                self.pass(&mut place, arrival);
            }
            let Some(cycle) = self.next_cycle().filter(|cycle| *cycle < reached.cycle) else {
                break;
            };
            self.latest = self.latest.max(cycle);
            has_moved = true;
            if self.network.next_cycle() == Some(cycle) {
                self.network.advance();
                continue;
            }
            let Some((_, message)) = self.queue.pop_first() else { break };
            match message.step {
                Step::Departs => self.depart(chip, message),
                Step::Arrives => self.arrive(&mut place, &message),
            }
        }
        let soonest = self.next_cycle().unwrap_or(0).max(reached.cycle) + INTERFACE_CYCLES;
        place.put_off(reached.cycle, soonest) || has_moved
    }

    fn depart(&mut self, chip: &ChipFacts, message: Message) {
        let is_for_dram = match &message.content {
            Content::DramWrite { .. } => true,
            Content::Request { payload: Payload::Read { address, .. }, .. } => {
                matches!(chip.endpoint(message.target), Some(Endpoint::Dram { .. }))
                    && chip.bank_at(message.target, *address).is_some()
            }
            _ => false,
        };
        let (channels, bytes) = (message.channels, message.content.byte_count());
        let way = (message.noc, message.sender, message.target);
        let cycle = message.cycle;
        self.network.send(way, channels, bytes, is_for_dram, (message, cycle));
    }

    /// Notes the cycle at which a message will be in its target tile.
    fn pass(&mut self, place: &mut Place<'_>, arrival: Arrival<Message>) {
        let mut message = arrival.payload;
        (message.cycle, message.port) = (arrival.cycle, arrival.port);
        if matches!(message.content, Content::Answer { .. } | Content::Acknowledgement(_)) {
            // The counters of the tile that waits change at the cycle of arrival, so that it can go
            // on up to then.
            place.finish(&message);
            place.with_core(message.target, |tile, devices, chip| {
                message.content.arrive((tile, devices), chip, message.cycle)
            });
            return;
        }
        message.step = Step::Arrives;
        place.delay(&message, message.cycle);
        self.add(message);
    }

    fn arrive(&mut self, place: &mut Place<'_>, message: &Message) {
        match &message.content {
            Content::DramWrite { bank, byte_count, landing, delay_cycles, acknowledgement } => {
                let arrival = (message.cycle, message.port);
                let served = self.network.serve(*bank, DramAccess::Write, *byte_count, arrival);
                let done = place.land(message, landing.as_ref(), served.done + delay_cycles);
                let leaves = served.leaves.max(done);
                self.answer(place, message, (None, *acknowledgement), leaves);
            }
            Content::Request { payload, answer, acknowledgement } => {
                let (bytes, leaves) = self.carry_out(place, message, payload);
                let answer = answer.map(|answer| Content::Answer { answer, bytes });
                self.answer(place, message, (answer, *acknowledgement), leaves);
            }
            // These have arrived with their departure.
            Content::Answer { .. } | Content::Acknowledgement(_) => {}
        }
    }

    /// Sends what a request returns; without anything to return, the request is done.
    fn answer(
        &mut self,
        place: &mut Place<'_>,
        message: &Message,
        (answer, acknowledgement): (Option<Content>, Option<(TileCoord, Acknowledgement)>),
        leaves: u64,
    ) {
        let answer = answer.map(|answer| (message.sender, answer));
        let acknowledgement =
            acknowledgement.map(|(to, content)| (to, Content::Acknowledgement(content)));
        let Some((to, content)) = answer.or(acknowledgement) else { return place.finish(message) };
        if to == message.sender {
            place.delay(message, leaves);
        } else {
            place.finish(message);
        }
        self.add(message.back(to, content, leaves));
    }

    /// Carries out a request at its target; returns the bytes read, and the cycle at which they can
    /// leave the target.
    fn carry_out(
        &mut self,
        place: &mut Place<'_>,
        message: &Message,
        payload: &Payload,
    ) -> (Vec<u8>, u64) {
        let Message { cycle, target, .. } = *message;
        if let (&Payload::Read { address, byte_count }, Some(Endpoint::Dram { .. })) =
            (payload, place.chip.endpoint(target))
        {
            let Some((bank, address)) = place.chip.bank_at(target, address) else {
                return (vec![0; byte_count as usize], cycle);
            };
            let arrival = (cycle, message.port);
            let served = self.network.serve(bank, DramAccess::Read, byte_count.into(), arrival);
            let bytes = read_dram(place.dram, (bank, address), byte_count, served.done);
            return (bytes, served.leaves);
        }
        let seen_at = place.seen_at;
        let bytes = place.with_core(target, |tile, devices, chip| {
            let seen_at = cycle.max(seen_at);
            if let (Some(watch), Some(address)) = (&mut devices.tile_watch, payload.semaphore()) {
                watch.note_arrival(address, seen_at, message.by);
            }
            devices.noc_reads.extend(noc_read(chip, payload, seen_at));
            message.content.arrive((tile, devices), chip, cycle)
        });
        (bytes, cycle)
    }
}

impl Place<'_> {
    /// Calls a function with the tile and the devices of a core; does nothing if there is no core.
    fn with_core(
        &mut self,
        coord: TileCoord,
        action: impl FnOnce(&mut Tile, &mut Devices, &ChipFacts) -> Vec<u8>,
    ) -> Vec<u8> {
        let chip = self.chip;
        core_at(self.cores, coord).map_or_else(Vec::new, |core| {
            core.with_devices(chip, |tile, devices| action(tile, devices, chip))
        })
    }

    /// Lands a write in its DRAM bank, at a cycle or after the earlier writes of its tile; returns
    /// the cycle.
    fn land(&mut self, message: &Message, landing: Option<&Landing>, cycle: u64) -> u64 {
        let (Some(landing), Some(core)) = (landing, core_at(self.cores, message.sender)) else {
            return cycle;
        };
        let chip_cycle = core.tile_mut().landing_cycle(landing.bank, cycle);
        self.dram.expect(Landing { chip_cycle, ..landing.clone() });
        chip_cycle
    }

    /// Notes that what cores wait for at a cycle is on its way and comes later; returns true if a core
    /// waits.
    fn put_off(&mut self, waits_at: u64, soonest: u64) -> bool {
        let mut has_waited = false;
        for stage in self.cores.iter_mut().filter_map(Core::stage_mut) {
            if stage.awaited.due().is_some_and(|due| due <= waits_at) {
                stage.awaited.put_off_all(soonest);
                has_waited = true;
            }
        }
        has_waited
    }

    /// Notes that a request is at its target, or its answer leaves it, at a cycle.
    fn delay(&mut self, message: &Message, cycle: u64) {
        let grid = self.chip.arch.facts().grid;
        let Message { noc, sender, target, number, .. } = *message;
        if let Some(stage) = core_at(self.cores, sender).and_then(Core::stage_mut) {
            stage.awaited.put_off(number, cycle + noc::travel_cycles(grid, noc, target, sender));
        }
    }

    /// Notes that a request is done, or that the cycle is known at which its answer arrives.
    fn finish(&mut self, message: &Message) {
        let requester = match message.content {
            Content::Answer { .. } | Content::Acknowledgement(_) => message.target,
            Content::Request { .. } | Content::DramWrite { .. } => message.sender,
        };
        if let Some(stage) = core_at(self.cores, requester).and_then(Core::stage_mut) {
            stage.awaited.remove(message.number);
        }
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

/// Returns the data of a DRAM read at a cycle, including all writes that land before it.
fn read_dram(dram: &Dram, (bank, address): (u32, u64), byte_count: u32, cycle: u64) -> Vec<u8> {
    let (first, skipped) = (address & !3, (address & 3) as usize);
    let mut words = vec![0; (skipped + byte_count as usize).div_ceil(4)];
    if !dram.read_at(bank, first, &mut words, cycle) {
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
