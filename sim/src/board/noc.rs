//! Requests in flight on the NoCs.

use super::{Board, core::BoardCore};
use crate::{
    arch::{Arch, TileCoord},
    chip::facts::{ChipFacts, Endpoint},
    limits::LiftedLimits,
    machine::{
        Payload, Request,
        message::{Acknowledgement, Content, Message, Step},
    },
    network::{Arrival, Channels, DramAccess, Network},
    noc,
    tile::Tile,
};
use std::{collections::BTreeMap, sync::Arc};

/// Requests, answers and acknowledgements in flight.
#[derive(Debug)]
pub(super) struct Flights {
    /// Messages by the cycle of their next step and, within one cycle, in the order of sending.
    queue: BTreeMap<(u64, u64), Message>,
    count: u64,
    /// For each sender and NoC, the cycle at which the latest request leaves. Requests never
    /// overtake each other on their way out.
    last_departures: BTreeMap<(TileCoord, usize), u64>,
    network: Network<Message>,
}

impl Flights {
    pub(super) fn new(arch: Arch, lifted: LiftedLimits) -> Self {
        let network = Network::new(arch, lifted);
        Self { queue: BTreeMap::new(), count: 0, last_departures: BTreeMap::new(), network }
    }

    /// Returns the cycle of the next step of a message.
    pub(super) fn next_arrival(&self) -> Option<u64> {
        let queued = self.queue.first_key_value().map(|((cycle, _), _)| *cycle);
        queued.into_iter().chain(self.network.next_cycle()).min()
    }

    /// Sends a request from a tile's hart.
    pub(super) fn send(&mut self, tile: &mut Tile, cycle: u64, request: &Request) {
        let &Request { noc, transaction_id, .. } = request;
        let sender = tile.place.coord;
        let payload = request.payload(tile);
        let jitter = tile.noc_random.below(noc::JITTER_CYCLES);
        let last = self.last_departures.entry((sender, noc)).or_insert(0);
        *last = (cycle + jitter).max(*last);
        let departure = *last;
        for (index, &target) in request.targets().iter().enumerate() {
            let acknowledgement = request
                .acknowledge_to(sender)
                .map(|to| (to, Acknowledgement { noc, transaction_id }));
            let content = Content::Request {
                payload: payload.clone(),
                answer: request.answer(),
                acknowledgement,
            };
            self.add(Message {
                cycle: departure,
                step: Step::Departs,
                noc,
                channels: (index == 0 && target != sender)
                    .then_some(Channels::of_request(request.virtual_channel)),
                port: None,
                number: 0,
                sender,
                by: None,
                target,
                content,
            });
        }
    }

    fn add(&mut self, message: Message) {
        self.queue.insert((message.cycle, self.count), message);
        self.count += 1;
    }

    /// Lets packets go on up to a cycle, and returns the next step of a message up to then.
    fn next_step(&mut self, until: u64) -> Option<Message> {
        loop {
            while let Some(Arrival { payload: mut message, cycle, port }) =
                self.network.take_arrived()
            {
                (message.cycle, message.step, message.port) = (cycle, Step::Arrives, port);
                self.add(message);
            }
            let queued = self.queue.first_key_value().map(|((cycle, _), _)| *cycle);
            let moves_at = self.network.next_cycle();
            if moves_at.is_some_and(|cycle| cycle <= until.min(queued.unwrap_or(u64::MAX))) {
                self.network.advance();
                continue;
            }
            queued.filter(|cycle| *cycle <= until)?;
            return self.queue.pop_first().map(|(_, message)| message);
        }
    }

    /// Lets a message leave its sender.
    fn depart(&mut self, chip: &ChipFacts, message: Message) {
        let is_for_dram = dram_access(chip, &message).is_some();
        let (channels, bytes) = (message.channels, message.content.byte_count());
        let way = (message.noc, message.sender, message.target);
        let cycle = message.cycle;
        self.network.send(way, channels, bytes, is_for_dram, (message, cycle));
    }
}

impl Board {
    /// Carries out all steps of messages up to the current cycle.
    pub(super) fn deliver(&mut self) {
        while let Some(message) = self.flights.next_step(self.now) {
            match message.step {
                Step::Departs => self.flights.depart(&self.chip, message),
                Step::Arrives => self.arrive(&message),
            }
        }
    }

    fn arrive(&mut self, message: &Message) {
        let Message { cycle, sender, target, ref content, .. } = *message;
        let chip = Arc::clone(&self.chip);
        let bytes = match (chip.endpoint(target), content) {
            (Some(Endpoint::Core(_)), _) => self
                .core_at(target)
                .map_or_else(Vec::new, |core: &mut BoardCore| core.receive(&chip, content, cycle)),
            (_, Content::Request { payload, .. }) => {
                self.carry_out(target, payload).unwrap_or_else(|reason| {
                    self.failures.push(format!("a request of core {sender}: {reason}"));
                    Vec::new()
                })
            }
            _ => Vec::new(),
        };
        let Content::Request { answer, acknowledgement, .. } = content else { return };
        let leaves = self.leaves(message);
        if let Some(answer) = *answer {
            let content = Content::Answer { answer, bytes };
            self.flights.add(message.back(sender, content, leaves));
        }
        if let Some((to, acknowledgement)) = *acknowledgement {
            let content = Content::Acknowledgement(acknowledgement);
            self.flights.add(message.back(to, content, leaves));
        }
    }

    /// Returns the cycle at which the answer to a request leaves the request's target.
    fn leaves(&mut self, message: &Message) -> u64 {
        match dram_access(&self.chip, message) {
            Some((bank, access, byte_count)) => {
                let arrival = (message.cycle, message.port);
                self.flights.network.serve(bank, access, byte_count, arrival).leaves
            }
            None => message.cycle,
        }
    }

    /// Carries out a request to a tile without RISCs; returns the bytes read.
    fn carry_out(&mut self, target: TileCoord, payload: &Payload) -> Result<Vec<u8>, String> {
        match payload {
            Payload::Bytes { address, bytes } => {
                self.write_tile(target, *address, bytes).map(|()| Vec::new())
            }
            &Payload::Read { address, byte_count } => {
                let mut bytes = vec![0; byte_count as usize];
                self.read_tile(target, address, &mut bytes).map(|()| bytes)
            }
            &Payload::Masked { address, value, byte_mask } => {
                let value = value.to_le_bytes();
                for index in (0..16).filter(|index| byte_mask >> index & 1 != 0) {
                    self.write_tile(target, address + index, &[value[(index & 3) as usize]])?;
                }
                Ok(Vec::new())
            }
            Payload::Increment { .. } => Err(format!("{target} has no atomic operations")),
        }
    }
}

/// Returns the DRAM bank, the kind and the bytes of an access to DRAM; `None` if the message is none.
fn dram_access(chip: &ChipFacts, message: &Message) -> Option<(u32, DramAccess, u64)> {
    let Content::Request { payload, .. } = &message.content else { return None };
    let (access, address, byte_count) = match payload {
        Payload::Bytes { address, bytes } => (DramAccess::Write, *address, bytes.len() as u64),
        &Payload::Read { address, byte_count } => (DramAccess::Read, address, byte_count.into()),
        Payload::Masked { .. } | Payload::Increment { .. } => return None,
    };
    let (bank, _) = chip.bank_at(message.target, address)?;
    Some((bank, access, byte_count))
}
