//! Requests in flight on the NoCs.

use super::{Board, core::BoardCore};
use crate::{
    arch::{Arch, TileCoord},
    chip::facts::Endpoint,
    limits::LiftedLimits,
    machine::{
        Payload, Request,
        message::{Acknowledgement, Content, Message, Step},
    },
    network::{DramAccess, Network},
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
    network: Network,
}

impl Flights {
    pub(super) fn new(arch: Arch, lifted: LiftedLimits) -> Self {
        let network = Network::new(arch, lifted);
        Self { queue: BTreeMap::new(), count: 0, last_departures: BTreeMap::new(), network }
    }

    /// Returns the cycle of the next step of a message.
    pub(super) fn next_arrival(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((cycle, _), _)| *cycle)
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
                occupies_links: index == 0 && target != sender,
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

    /// Lets a message leave its sender.
    fn depart(&mut self, mut message: Message) {
        let (way, bytes) = ((message.sender, message.target), message.content.byte_count());
        message.cycle = if message.occupies_links {
            self.network.pass(message.noc, way, bytes, message.cycle)
        } else {
            self.network.pass_alone(message.noc, way, bytes, message.cycle)
        };
        message.step = Step::Arrives;
        self.add(message);
    }
}

impl Board {
    /// Carries out all steps of messages up to the current cycle.
    pub(super) fn deliver(&mut self) {
        while let Some(entry) = self.flights.queue.first_entry()
            && entry.get().cycle <= self.now
        {
            let message = entry.remove();
            match message.step {
                Step::Departs => self.flights.depart(message),
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
        let Content::Request { payload, answer, acknowledgement } = content else { return };
        let leaves = self.leaves(message, payload);
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
    fn leaves(&mut self, message: &Message, payload: &Payload) -> u64 {
        let (access, address, byte_count) = match payload {
            Payload::Bytes { address, bytes } => (DramAccess::Write, *address, bytes.len() as u64),
            &Payload::Read { address, byte_count } => {
                (DramAccess::Read, address, byte_count.into())
            }
            Payload::Masked { .. } | Payload::Increment { .. } => return message.cycle,
        };
        match self.chip.bank_at(message.target, address) {
            Some((bank, _)) => {
                self.flights.network.serve(bank, access, byte_count, message.cycle).leaves
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
