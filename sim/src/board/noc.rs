//! Requests in flight on the NoCs.

use super::{Board, core::BoardCore};
use crate::{
    arch::TileCoord,
    chip::facts::{ChipFacts, Endpoint},
    machine::{
        Payload, Request,
        message::{Content, Message},
    },
    noc,
    tile::Tile,
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Requests, answers and acknowledgements in flight.
#[derive(Debug, Default)]
pub(super) struct Flights {
    /// Messages by arrival cycle and, within one cycle, by message number.
    queue: BTreeMap<(u64, usize), Message>,
    sent_count: usize,
    /// Arrival cycle of the last request for each sender, target and NoC. Requests on the same path
    /// never overtake each other.
    last_arrivals: HashMap<(TileCoord, TileCoord, usize), u64>,
}

impl Flights {
    /// Returns the cycle of the next arrival.
    pub(super) fn next_arrival(&self) -> Option<u64> {
        self.queue.first_key_value().map(|((arrival, _), _)| *arrival)
    }

    /// Sends a request from a tile's hart.
    pub(super) fn send(
        &mut self,
        chip: &ChipFacts,
        tile: &mut Tile,
        cycle: u64,
        request: &Request,
    ) {
        let &Request { noc, transaction_id, .. } = request;
        let (facts, sender) = (chip.arch.facts(), tile.place.coord);
        let payload = request.payload(tile);
        for &target in request.targets() {
            let (way, byte_count) = ((sender, target), request.payload_bytes());
            let latency = noc::write_latency(facts, noc, way, byte_count, &mut tile.noc_random);
            let last = self.last_arrivals.entry((sender, target, noc)).or_insert(0);
            let arrival = latency.arrival(cycle, last);
            let returned = arrival + latency.acknowledgement_cycles;
            let answer = request.answer(chip, returned);
            let content = Content::Request { payload: payload.clone(), answer };
            self.push(arrival, way, content);
            if let Some(to) = request.acknowledge_to(sender) {
                self.push(returned, (to, to), Content::Acknowledgement { noc, transaction_id });
            }
        }
    }

    fn push(&mut self, arrival: u64, (sender, target): (TileCoord, TileCoord), content: Content) {
        let number = self.sent_count;
        self.sent_count += 1;
        let message = Message { arrival, number, sender, by: None, target, content };
        self.queue.insert((arrival, number), message);
    }
}

impl Board {
    /// Carries out all requests and answers that have arrived by the current cycle.
    pub(super) fn deliver(&mut self) {
        while let Some(entry) = self.flights.queue.first_entry()
            && entry.get().arrival <= self.now
        {
            let message = entry.remove();
            self.deliver_one(message);
        }
    }

    fn deliver_one(&mut self, message: Message) {
        let Message { arrival, sender, target, content, .. } = message;
        let chip = Arc::clone(&self.chip);
        let bytes = match (chip.endpoint(target), &content) {
            (Some(Endpoint::Core(_)), _) => {
                self.core_at(target).map_or_else(Vec::new, |core: &mut BoardCore| {
                    core.receive(&chip, &content, arrival)
                })
            }
            (_, Content::Request { payload, .. }) => {
                self.carry_out(target, payload).unwrap_or_else(|reason| {
                    self.failures.push(format!("a request of core {sender}: {reason}"));
                    Vec::new()
                })
            }
            _ => Vec::new(),
        };
        if let Content::Request { answer: Some(answer), .. } = content {
            self.flights.push(answer.cycle, (target, sender), Content::Answer { answer, bytes });
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
