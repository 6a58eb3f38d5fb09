//! The registers of a tile's two NoC interfaces: request initiators, counters and identity.
//!
//! [`super::request`] parses requests; [`crate::chip::traffic`] carries them out on other tiles.
//!
//! # Compatibility
//! tt-isa-documentation, `NoC/MemoryMap.md` and `NoC/Counters.md` of both architectures.

use super::{
    registers::{Effect, Found},
    request::{Action, COMMAND_WORDS, Command, Request},
};
use crate::{
    arch::{Arch, TileCoord, floorplan::CorePlace, translation::NOC_COUNT},
    chip::facts::ChipFacts,
    limits::Limit,
};
use std::collections::BTreeMap;

/// Both NoC interfaces of a tile.
#[derive(Clone, Debug)]
pub(crate) struct NocInterfaces {
    arch: Arch,
    place: CorePlace,
    interfaces: [Interface; NOC_COUNT],
}

#[derive(Clone, Debug)]
struct Interface {
    commands: [Command; INITIATOR_COUNT],
    busy_until: [u64; INITIATOR_COUNT],
    /// First cycle at which the interface can send the flits of another request.
    out_free_from: u64,
    counters: [u32; COUNTER_COUNT],
    /// Future changes of counters, in no particular order.
    changes: Vec<Change>,
    /// Target tiles of the linked transaction that is not complete yet, if any.
    linked: Option<Vec<TileCoord>>,
    configuration: BTreeMap<u32, u32>,
}

/// A change of a counter at a given cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) cycle: u64,
    pub(crate) counter: usize,
    /// Amount added to the counter, modulo 2^32.
    pub(crate) amount: u32,
}

/// Indices of the counters of a NoC interface.
pub(crate) mod counter {
    pub(crate) const ATOMIC_RESPONSES: usize = 0;
    pub(crate) const WRITE_ACKS: usize = 1;
    pub(crate) const READ_RESPONSES: usize = 2;
    pub(crate) const READ_DATA_WORDS: usize = 3;
    pub(crate) const COMMANDS_ACCEPTED: usize = 4;
    pub(crate) const READS_SENT: usize = 5;
    pub(crate) const ATOMICS_SENT: usize = 6;
    pub(crate) const POSTED_ATOMICS_SENT: usize = 7;
    pub(crate) const WRITE_DATA_WORDS_SENT: usize = 8;
    pub(crate) const POSTED_WRITE_DATA_WORDS_SENT: usize = 9;
    pub(crate) const WRITES_SENT: usize = 10;
    pub(crate) const POSTED_WRITES_SENT: usize = 11;
    pub(crate) const WRITES_STARTED: usize = 12;
    pub(crate) const POSTED_WRITES_STARTED: usize = 13;
    pub(crate) const READS_STARTED: usize = 14;
    pub(crate) const ATOMICS_STARTED: usize = 15;
    /// Index of the first of sixteen counters of outstanding requests, one per transaction id.
    pub(crate) const OUTSTANDING: usize = 16;
    /// Index of the first of sixteen counters of requests that are being sent, one per transaction
    /// id.
    pub(crate) const OUTGOING: usize = 32;
    /// Index of the first counter of requests that other tiles sent to this tile.
    pub(crate) const OF_RECEIVER: usize = 48;
}

impl NocInterfaces {
    pub(crate) fn new(chip: &ChipFacts, place: CorePlace) -> Self {
        Self {
            arch: chip.arch,
            place,
            interfaces: std::array::from_fn(|_| Interface::new(chip.arch)),
        }
    }

    /// Returns true if an address belongs to one of the interfaces.
    pub(crate) const fn covers(address: u32) -> bool {
        matches!(address, FIRST..=LAST)
    }

    /// Reads a register; the error is the reason why the read is refused.
    pub(crate) fn load(
        &mut self,
        chip: &ChipFacts,
        found: Found,
        address: u32,
        cycle: u64,
    ) -> Result<u32, String> {
        let RegisterSlot { noc, initiator, offset } = self.register_slot(address);
        let interface = &mut self.interfaces[noc];
        Ok(match found.register.effect {
            Effect::Initiator => interface.commands[initiator].words[offset / 4],
            Effect::Send => u32::from(cycle < interface.busy_until[initiator]),
            Effect::InitiatorsBusy => interface.busy_bits(cycle),
            Effect::NodeId => self.node_id(noc),
            Effect::LogicalId => logical_id(chip, self.place.coord),
            Effect::Counter if found.word as usize >= counter::OF_RECEIVER => {
                return Err("counters of what a tile was asked for are not modelled".to_owned());
            }
            Effect::Counter => interface.counter(found.word as usize, cycle),
            _ => interface.configuration.get(&(offset_of(address))).copied().unwrap_or(0),
        })
    }

    /// Writes a register; returns the request that this write sends, if any.
    pub(crate) fn store(
        &mut self,
        chip: &ChipFacts,
        found: Found,
        address: u32,
        value: u32,
        cycle: u64,
    ) -> Result<Option<Request>, String> {
        let RegisterSlot { noc, initiator, offset } = self.register_slot(address);
        let interface = &mut self.interfaces[noc];
        match found.register.effect {
            Effect::Initiator => {
                interface.expect_idle(initiator, cycle)?;
                interface.commands[initiator].words[offset / 4] = value;
            }
            Effect::Send => {
                interface.expect_idle(initiator, cycle)?;
                if value & 1 != 0 {
                    return self.send(chip, noc, initiator, cycle).map(Some);
                }
            }
            Effect::ClearOutstanding => interface.clear_outstanding(value, cycle),
            _ => {
                interface.configuration.insert(offset_of(address), value);
            }
        }
        Ok(None)
    }

    fn send(
        &mut self,
        chip: &ChipFacts,
        noc: usize,
        initiator: usize,
        cycle: u64,
    ) -> Result<Request, String> {
        let interface = &mut self.interfaces[noc];
        let request = interface.commands[initiator].request(chip, self.place, noc)?;
        interface.follow_link(&request)?;
        let flit_bytes = self.arch.facts().noc_flit_bytes;
        let flits = request.payload_bytes().div_ceil(flit_bytes).max(1);
        // The initiator takes the next command once the flits of this one begin to leave: on cards,
        // a loop of writes takes the longer of its instructions and its transfers, not their sum
        // (rows "64 writes of 4096 bytes" of `silicon.csv`).
        let start = cycle.max(interface.out_free_from);
        interface.busy_until[initiator] = start + 1;
        let sending_cycles = if chip.modes.lifted.has(Limit::Noc) { 0 } else { flits };
        interface.out_free_from = start + sending_cycles;
        interface.count_issue(&request, flits, start + sending_cycles);
        Ok(request)
    }

    /// Returns the value of a counter without the changes since the last call of [`Self::settle`] or
    /// the last read; `None` if the counter is not modelled.
    pub(crate) fn settled_counter(&self, found: Found, address: u32) -> Option<u32> {
        let index = found.word as usize;
        let interface = &self.interfaces[self.register_slot(address).noc];
        (index < counter::OF_RECEIVER).then(|| interface.settled(index))
    }

    /// Schedules a change of a counter.
    pub(crate) fn expect(&mut self, noc: usize, change: Change) {
        self.interfaces[noc].changes.push(change);
    }

    /// Applies the counter changes that are due.
    pub(crate) fn settle(&mut self, cycle: u64) {
        self.interfaces.iter_mut().for_each(|interface| interface.settle(cycle));
    }

    /// Returns the cycle of the next change of a counter.
    pub(crate) fn next_change(&self) -> Option<u64> {
        let changes = self.interfaces.iter().flat_map(|interface| &interface.changes);
        changes.map(|change| change.cycle).min()
    }

    fn register_slot(&self, address: u32) -> RegisterSlot {
        let noc = usize::from(address >= FIRST + NOC_STRIDE);
        let offset = ((address - FIRST) % NOC_STRIDE) as usize;
        let stride = match self.arch {
            Arch::WormholeB0 => 0x400,
            Arch::Blackhole => 0x800,
        };
        RegisterSlot { noc, initiator: offset / stride % INITIATOR_COUNT, offset: offset % stride }
    }

    /// Returns the value of the node id register: the tile's coordinates on this NoC, the NoC's
    /// size, and a bit that is set if packets travel along x first.
    fn node_id(&self, noc: usize) -> u32 {
        let (columns, rows) = self.arch.facts().grid;
        let TileCoord { x, y } = self.place.coord;
        let (x, y) = if noc == 0 { (x, y) } else { (columns - 1 - x, rows - 1 - y) };
        let parts = [(x, 0), (y, 6), (columns, 12), (rows, 19), (u16::from(noc == 0), 28)];
        parts.into_iter().fold(0, |bits, (part, shift)| bits | u32::from(part) << shift)
    }
}

/// Returns the translated coordinates of a tile in the format of the interfaces' registers and of
/// kernels: the column in the low six bits, the row in the bits above.
pub(crate) fn logical_id(chip: &ChipFacts, tile: TileCoord) -> u32 {
    let (x, y) = chip.translation.logical(tile).unwrap_or((tile.x, tile.y));
    u32::from(x) | u32::from(y) << 6
}

/// Location of a register: its NoC, its request initiator, and its offset from the initiator's
/// first register. The latter two apply only to registers of an initiator.
struct RegisterSlot {
    noc: usize,
    initiator: usize,
    offset: usize,
}

fn offset_of(address: u32) -> u32 {
    (address - FIRST) % NOC_STRIDE
}

impl Interface {
    fn new(arch: Arch) -> Self {
        let facts = arch.facts();
        // Values that the chip's firmware sets before any RISC runs.
        let configuration = BTreeMap::from([
            (NIU_CFG_0, TRANSLATION_ENABLED),
            (ROUTER_CFG_1, lines_without(facts.tensix_columns, facts.grid.0)),
            (ROUTER_CFG_3, lines_without(facts.tensix_rows, facts.grid.1)),
        ]);
        Self {
            commands: [Command { words: [0; COMMAND_WORDS] }; INITIATOR_COUNT],
            busy_until: [0; INITIATOR_COUNT],
            out_free_from: 0,
            counters: [0; COUNTER_COUNT],
            changes: Vec::new(),
            linked: None,
            configuration,
        }
    }

    fn expect_idle(&self, initiator: usize, cycle: u64) -> Result<(), String> {
        if cycle < self.busy_until[initiator] {
            return Err(format!("request initiator {initiator} is still busy"));
        }
        Ok(())
    }

    fn busy_bits(&self, cycle: u64) -> u32 {
        let busy = (0..INITIATOR_COUNT).filter(|&initiator| cycle < self.busy_until[initiator]);
        busy.fold(0, |bits, initiator| bits | 1 << initiator)
    }

    /// Checks a request of a linked transaction. After a linked request, all requests must go to
    /// the same tiles, until a request without the link flag ends the transaction.
    ///
    /// On a chip, a request to other tiles before that stops the NoC; here, the function returns an
    /// error.
    fn follow_link(&mut self, request: &Request) -> Result<(), String> {
        let targets = request.targets();
        if let Some(linked) = &self.linked
            && linked != targets
        {
            return Err(format!(
                "a linked transaction to {} is open, a request to {} stops the NoC for ever",
                linked[0], targets[0]
            ));
        }
        self.linked = request.is_linked.then(|| targets.to_vec());
        Ok(())
    }

    fn count_issue(&mut self, request: &Request, flits: u64, sent_at: u64) {
        let flits = u32::try_from(flits).unwrap_or(u32::MAX);
        let id = request.transaction_id;
        self.add(counter::COMMANDS_ACCEPTED, 1);
        if request.wants_response {
            self.add(counter::OUTSTANDING + id, 1);
        }
        match (&request.action, request.wants_response) {
            (Action::Write { .. }, has_ack) => {
                self.count_write(has_ack, flits);
                self.add(counter::OUTGOING + id, 1);
                let change =
                    Change { cycle: sent_at, counter: counter::OUTGOING + id, amount: u32::MAX };
                self.changes.push(change);
            }
            (Action::Inline { .. }, has_ack) => self.count_write(has_ack, 0),
            (Action::Read { .. }, _) => {
                self.add(counter::READS_STARTED, 1);
                self.add(counter::READS_SENT, 1);
            }
            (Action::Increment { .. }, true) => {
                self.add(counter::ATOMICS_STARTED, 1);
                self.add(counter::ATOMICS_SENT, 1);
            }
            (Action::Increment { .. }, false) => self.add(counter::POSTED_ATOMICS_SENT, 1),
        }
    }

    fn count_write(&mut self, has_ack: bool, flits: u32) {
        let counters = if has_ack {
            [counter::WRITES_STARTED, counter::WRITES_SENT, counter::WRITE_DATA_WORDS_SENT]
        } else {
            [
                counter::POSTED_WRITES_STARTED,
                counter::POSTED_WRITES_SENT,
                counter::POSTED_WRITE_DATA_WORDS_SENT,
            ]
        };
        for (counter, amount) in counters.into_iter().zip([1, 1, flits]) {
            self.add(counter, amount);
        }
    }

    fn add(&mut self, counter: usize, amount: u32) {
        self.counters[counter] = self.counters[counter].wrapping_add(amount);
    }

    fn counter(&mut self, index: usize, cycle: u64) -> u32 {
        self.settle(cycle);
        self.settled(index)
    }

    fn settled(&self, index: usize) -> u32 {
        let is_per_id = (counter::OUTSTANDING..counter::OF_RECEIVER).contains(&index);
        self.counters[index] & if is_per_id { 0xFF } else { u32::MAX }
    }

    fn settle(&mut self, cycle: u64) {
        let Self { counters, changes, .. } = self;
        changes.retain(|change| {
            let is_due = change.cycle <= cycle;
            if is_due {
                counters[change.counter] = counters[change.counter].wrapping_add(change.amount);
            }
            !is_due
        });
    }

    fn clear_outstanding(&mut self, ids: u32, cycle: u64) {
        self.settle(cycle);
        for id in (0..16).filter(|id| ids >> id & 1 != 0) {
            self.counters[counter::OUTSTANDING + id] = 0;
        }
    }
}

/// Returns a mask of `count` rows or columns, with a set bit for each one that is not in `lines`.
fn lines_without(lines: &[u16], count: u16) -> u32 {
    (0..count).filter(|line| !lines.contains(line)).fold(0, |mask, line| mask | 1 << line)
}

/// First address of NoC 0's registers.
pub(super) const FIRST: u32 = 0xFFB2_0000;
/// Last address of NoC 1's registers.
const LAST: u32 = 0xFFB3_FFFF;
const NOC_STRIDE: u32 = 0x1_0000;
const INITIATOR_COUNT: usize = 4;
const COUNTER_COUNT: usize = 64;
const NIU_CFG_0: u32 = 0x100;
const ROUTER_CFG_1: u32 = 0x108;
const ROUTER_CFG_3: u32 = 0x110;
const TRANSLATION_ENABLED: u32 = 1 << 14;
