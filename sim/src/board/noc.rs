//! Requests in flight on the NoCs.

use super::{Board, core::BoardCore};
use crate::{
    arch::TileCoord,
    chip::facts::{ChipFacts, Endpoint},
    machine::{Action, Answer, Payload, Request, read_bytes},
    noc,
    tile::Tile,
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    sync::Arc,
};

/// Requests, answers and acknowledgements in flight, in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Flights {
    queue: BinaryHeap<Reverse<Flight>>,
    sent_count: u64,
    /// Arrival cycle of the last request for each sender, target and NoC. Requests on the same path
    /// never overtake each other.
    last_arrivals: HashMap<(TileCoord, TileCoord, usize), u64>,
}

#[derive(Debug, PartialEq, Eq)]
struct Flight {
    arrival: u64,
    number: u64,
    sender: TileCoord,
    target: TileCoord,
    load: Load,
}

#[derive(Debug, PartialEq, Eq)]
enum Load {
    Request { payload: Payload, answer: Option<Answer> },
    Answer { answer: Answer, bytes: Vec<u8> },
    Acknowledgement { noc: usize, transaction_id: usize },
}

impl Ord for Flight {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.arrival, self.number).cmp(&(other.arrival, other.number))
    }
}

impl PartialOrd for Flight {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A request that is leaving its tile.
struct Departure<'a> {
    chip: &'a ChipFacts,
    tile: &'a mut Tile,
    cycle: u64,
    noc: usize,
}

impl Flights {
    /// Returns the cycle of the next arrival.
    pub(super) fn next_arrival(&self) -> Option<u64> {
        self.queue.peek().map(|Reverse(flight)| flight.arrival)
    }

    /// Sends a request from a tile's hart.
    pub(super) fn send(
        &mut self,
        chip: &ChipFacts,
        tile: &mut Tile,
        cycle: u64,
        request: &Request,
    ) {
        let mut departure = Departure { chip, tile, cycle, noc: request.noc };
        match &request.action {
            Action::Write { source, byte_count, targets, address, acknowledge_to } => {
                let bytes = read_bytes(departure.tile, u64::from(*source), *byte_count);
                for &target in targets {
                    let payload = Payload::Bytes { address: *address, bytes: bytes.clone() };
                    let acknowledged = self.write(&mut departure, target, payload, *byte_count);
                    if request.wants_response {
                        self.acknowledge(request, *acknowledge_to, acknowledged);
                    }
                }
            }
            &Action::Inline { target: [target], address, value, byte_mask } => {
                let payload = Payload::Masked { address, value, byte_mask };
                let acknowledged = self.write(&mut departure, target, payload, 4);
                if request.wants_response {
                    let own = departure.tile.place.coord;
                    self.acknowledge(request, own, acknowledged);
                }
            }
            &Action::Read { target: [target], address, destination, byte_count } => {
                let payload = Payload::Read { address, byte_count };
                let answer = Some((destination, false));
                self.ask(&mut departure, request, target, payload, answer, byte_count);
            }
            &Action::Increment { target: [target], address, amount, mask, reply } => {
                let payload = Payload::Increment { address, amount, mask };
                let answer = request.wants_response.then_some((reply, true));
                self.ask(&mut departure, request, target, payload, answer, 4);
            }
        }
    }

    /// Sends a write; returns the cycle at which its acknowledgement arrives.
    fn write(
        &mut self,
        departure: &mut Departure<'_>,
        target: TileCoord,
        payload: Payload,
        byte_count: u32,
    ) -> u64 {
        let (arrival, back) = self.travel(departure, target, u64::from(byte_count));
        let sender = departure.tile.place.coord;
        self.push(arrival, sender, target, Load::Request { payload, answer: None });
        arrival + back
    }

    fn ask(
        &mut self,
        departure: &mut Departure<'_>,
        request: &Request,
        target: TileCoord,
        payload: Payload,
        destination: Option<(u32, bool)>,
        byte_count: u32,
    ) {
        let (arrival, back) = self.travel(departure, target, 0);
        let flit_bytes = departure.chip.arch.facts().noc_flit_bytes;
        let answer = destination.map(|(destination, is_atomic)| Answer {
            cycle: arrival + back + u64::from(byte_count).div_ceil(flit_bytes),
            noc: request.noc,
            transaction_id: request.transaction_id,
            destination,
            is_atomic,
        });
        let sender = departure.tile.place.coord;
        self.push(arrival, sender, target, Load::Request { payload, answer });
    }

    fn acknowledge(&mut self, request: &Request, to: TileCoord, cycle: u64) {
        let (noc, transaction_id) = (request.noc, request.transaction_id);
        self.push(cycle, to, to, Load::Acknowledgement { noc, transaction_id });
    }

    fn push(&mut self, arrival: u64, sender: TileCoord, target: TileCoord, load: Load) {
        let number = self.sent_count;
        self.sent_count += 1;
        self.queue.push(Reverse(Flight { arrival, number, sender, target, load }));
    }

    /// Returns the cycle at which a request reaches a tile, and the latency of the answer.
    fn travel(
        &mut self,
        departure: &mut Departure<'_>,
        target: TileCoord,
        byte_count: u64,
    ) -> (u64, u64) {
        let way = (departure.tile.place.coord, target);
        let facts = departure.chip.arch.facts();
        let random = &mut departure.tile.noc_random;
        let latency = noc::write_latency(facts, departure.noc, way, byte_count, random);
        let last = self.last_arrivals.entry((way.0, way.1, departure.noc)).or_insert(0);
        let arrival = (departure.cycle + latency.landing_cycles).max(*last + 1);
        *last = arrival;
        (arrival, latency.acknowledgement_cycles)
    }
}

impl Board {
    /// Carries out all requests and answers that have arrived by the current cycle.
    pub(super) fn deliver(&mut self) {
        while let Some(Reverse(flight)) = self.flights.queue.peek()
            && flight.arrival <= self.now
        {
            if let Some(Reverse(flight)) = self.flights.queue.pop() {
                self.deliver_one(flight);
            }
        }
    }

    fn deliver_one(&mut self, flight: Flight) {
        let Flight { arrival, sender, target, load, .. } = flight;
        let chip = Arc::clone(&self.chip);
        match load {
            Load::Acknowledgement { noc, transaction_id } => {
                if let Some(core) = self.core_at(target) {
                    core.acknowledge(noc, transaction_id, arrival);
                }
            }
            Load::Answer { answer, bytes } => {
                if let Some(core) = self.core_at(target) {
                    core.take_answer(&chip, answer, &bytes);
                }
            }
            Load::Request { payload, answer } => {
                let bytes = match self.carry_out(&chip, target, &payload, arrival) {
                    Ok(bytes) => bytes,
                    Err(reason) => {
                        self.failures.push(format!("a request of core {sender}: {reason}"));
                        Vec::new()
                    }
                };
                if let Some(answer) = answer {
                    let load = Load::Answer { answer, bytes };
                    self.flights.push(answer.cycle, target, sender, load);
                }
            }
        }
    }

    /// Carries out a request at its target; returns the bytes read.
    fn carry_out(
        &mut self,
        chip: &ChipFacts,
        target: TileCoord,
        payload: &Payload,
        cycle: u64,
    ) -> Result<Vec<u8>, String> {
        match chip.endpoint(target) {
            Some(Endpoint::Core(_)) => Ok(self
                .core_at(target)
                .map_or_else(Vec::new, |core: &mut BoardCore| core.receive(chip, payload, cycle))),
            _ => match payload {
                Payload::Bytes { address, bytes } => {
                    self.write((target.x, target.y), *address, bytes).map(|()| Vec::new())
                }
                &Payload::Read { address, byte_count } => {
                    let mut bytes = vec![0; byte_count as usize];
                    self.read((target.x, target.y), address, &mut bytes).map(|()| bytes)
                }
                &Payload::Masked { address, value, byte_mask } => {
                    let value = value.to_le_bytes();
                    for index in (0..16).filter(|index| byte_mask >> index & 1 != 0) {
                        let byte = [value[(index & 3) as usize]];
                        self.write((target.x, target.y), address + index, &byte)?;
                    }
                    Ok(Vec::new())
                }
                Payload::Increment { .. } => Err(format!("{target} has no atomic operations")),
            },
        }
    }
}
