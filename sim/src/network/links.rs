//! Packets on the links of a chip's NoCs.
//!
//! A packet takes the links of its way one after the other: at each router, its head waits until
//! the virtual channel of the next link is free, and keeps it until the last flit has gone over the
//! link. A router has room for few flits, so a packet that waits keeps the links behind it, too, and
//! packets that enter the same buffer later wait behind it even if their own way is free. Packets
//! on different virtual channels of a link share its rate.
//!
//! Callers send packets in the order of time. Links are taken in the order in which heads arrive;
//! each input of a router has one head at a time, so the inputs take turns.
//!
//! # Compatibility
//! tt-isa-documentation, `NoC/README.md` ("Virtual channels") and `NoC/RoutingPaths.md` ("Congestion",
//! "Cut-through"). NoC 0 goes right and then down, NoC 1 up and then left. The size of a buffer is
//! not documented; see [`BUFFER_FLITS`].

use crate::{
    arch::{TileCoord, translation::NOC_COUNT},
    noc::{HOP_CYCLES, INTERFACE_CYCLES},
};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

/// Flits of one virtual channel for which a router has room: as many as keep a link busy while they
/// go to the next router. With more room, rows "cores write ... different DRAM channels" are further
/// off.
const BUFFER_FLITS: u64 = HOP_CYCLES;

/// Bit of a virtual channel that is set beyond the edge of the grid. So no packets on the ring of a
/// row or column can wait for each other in a circle.
const DATELINE: u8 = 8;
const CHANNEL_COUNT: usize = 16;

/// Virtual channels that a packet may take, without the dateline bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Channels([u8; 2]);

impl Channels {
    /// Channels of answers and acknowledgements.
    pub(crate) const ANSWERS: Self = Self([6, 7]);

    /// Returns the channels of a request, which may name one of them.
    pub(crate) const fn of_request(named: Option<u8>) -> Self {
        match named {
            Some(channel) => Self([channel & 7, channel & 7]),
            None => Self([0, 1]),
        }
    }
}

/// Way of a packet: the NoC, the sender and the target.
pub(crate) type Way = (usize, TileCoord, TileCoord);

/// Links of a chip, and the packets on them. Packets carry a payload.
#[derive(Clone, Debug)]
pub(super) struct Links<T> {
    grid: (u16, u16),
    /// For each NoC and tile: the link to the next column, the link to the next row, and the ports
    /// of the network interface, first out of the tile and then into it.
    links: Vec<Link>,
    packets: Vec<Packet<T>>,
    /// Places in `packets` that are free.
    free: Vec<u32>,
    events: Events,
    arrived: VecDeque<Arrival<T>>,
    /// Number of ports that have been kept so far.
    kept_count: u64,
}

/// A packet that arrives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arrival<T> {
    pub(crate) payload: T,
    /// Cycle at which the last flit is in the target tile.
    pub(crate) cycle: u64,
    /// The port of the target tile, which is kept until [`Links::free_port`].
    pub(crate) port: Option<KeptPort>,
}

/// A port into a tile that a packet keeps after its arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeptPort {
    packet: u32,
    number: u64,
}

const LINKS_OF_TILE: usize = 4;
const COLUMN: usize = 0;
const ROW: usize = 1;
const OUT: usize = 2;
const IN: usize = 3;

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The head arrives at the router behind the link that it has taken last.
    Arrives,
    /// The last flit has gone over the link of this step.
    Leaves(usize),
}

/// Events in the order of time and, within one cycle, in the order in which they were added.
#[derive(Clone, Debug, Default)]
struct Events {
    queue: BinaryHeap<Reverse<(u64, u64, u32, Event)>>,
    count: u64,
}

impl Events {
    fn add(&mut self, cycle: u64, packet: u32, event: Event) {
        self.queue.push(Reverse((cycle, self.count, packet, event)));
        self.count += 1;
    }
}

#[derive(Clone, Debug)]
struct Link {
    /// Cycle at which the flits of all packets so far have gone over the link, if none waits.
    free_from: u64,
    /// Number of channels that packets hold.
    held_count: u64,
    waiting: Queue,
    channels: [Channel; CHANNEL_COUNT],
}

/// A virtual channel of a link, and the buffer at its end.
#[derive(Clone, Copy, Debug)]
struct Channel {
    holder: u32,
    /// Flits of the short packets in the buffer, and on the way to it.
    occupied_flits: u64,
    /// Packet whose flits leave the buffer next.
    front: u32,
    /// Packets whose heads wait behind it.
    heads: Queue,
}

/// First and last packet of a queue; each packet knows the one behind it.
#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

const NONE: u32 = u32::MAX;
const EMPTY: Queue = Queue { first: NONE, last: NONE };

#[derive(Clone, Debug)]
struct Packet<T> {
    payload: Option<T>,
    channels: Channels,
    /// Cycles for which the flits of the packet occupy a link.
    size: u64,
    flit_count: u64,
    /// The same cycles on the slowest link so far: other packets may share it.
    duration: u64,
    steps: Vec<Step>,
    /// Step that the head takes next.
    next: usize,
    /// First step for which it is not known yet when the last flit has taken it.
    open: usize,
    /// True if the packet keeps the port of its target after its arrival.
    keeps_port: bool,
    /// Number of the port that it keeps.
    kept: Option<u64>,
    behind: u32,
}

/// A link of a packet's way.
#[derive(Clone, Copy, Debug)]
struct Step {
    link: u32,
    /// The channel, once it is taken; before, only its dateline bit.
    channel: u8,
    leaves_at: u64,
}

impl<T> Links<T> {
    pub(super) fn new(grid: (u16, u16)) -> Self {
        let (columns, rows) = grid;
        let count = NOC_COUNT * usize::from(columns) * usize::from(rows) * LINKS_OF_TILE;
        let channel = Channel { holder: NONE, occupied_flits: 0, front: NONE, heads: EMPTY };
        let channels = [channel; CHANNEL_COUNT];
        let link = Link { free_from: 0, held_count: 0, waiting: EMPTY, channels };
        Self {
            grid,
            links: vec![link; count],
            packets: Vec::new(),
            free: Vec::new(),
            events: Events::default(),
            arrived: VecDeque::new(),
            kept_count: 0,
        }
    }

    /// Returns true if no packet is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.events.queue.is_empty() && self.arrived.is_empty()
    }

    /// Returns the cycle of the next event.
    pub(super) fn next_cycle(&self) -> Option<u64> {
        self.events.queue.peek().map(|Reverse((cycle, ..))| *cycle)
    }

    /// Returns a packet that arrives, and the cycle at which its last flit is in the target tile.
    /// This may lie ahead of the events so far.
    pub(super) fn take_arrived(&mut self) -> Option<Arrival<T>> {
        self.arrived.pop_front()
    }

    /// Notes the arrival of a packet that takes no links.
    pub(super) fn arrive(&mut self, payload: T, cycle: u64) {
        self.arrived.push_back(Arrival { payload, cycle, port: None });
    }

    /// Goes back to an earlier cycle: packets that are under way no longer delay others.
    pub(super) fn go_back(&mut self, cycle: u64) {
        for packet in &mut self.packets {
            packet.keeps_port = false;
        }
        let kept = self.packets.iter_mut().zip(0..).filter_map(|(packet, index)| {
            Some((packet.kept.take()?, index, packet.steps.len() - 1))
        });
        for (_, index, step) in kept {
            self.events.add(cycle, index, Event::Leaves(step));
        }
        while self.advance() {}
        for link in &mut self.links {
            link.free_from = link.free_from.min(cycle);
        }
    }

    /// Sends a packet of `flit_count` flits with data, which occupies a link for `size` cycles.
    pub(super) fn send(
        &mut self,
        way: Way,
        channels: Channels,
        (flit_count, size): (u64, u64),
        keeps_port: bool,
        (payload, cycle): (T, u64),
    ) {
        let mut packet = Packet {
            payload: Some(payload),
            channels,
            size,
            flit_count,
            duration: size,
            steps: Vec::new(),
            next: 0,
            open: 0,
            keeps_port,
            kept: None,
            behind: NONE,
        };
        let index = self.free.pop().unwrap_or_else(|| {
            u32::try_from(self.packets.len()).expect("packets have 32-bit numbers")
        });
        match self.packets.get_mut(index as usize) {
            Some(place) => {
                packet.steps = std::mem::take(&mut place.steps);
                *place = packet;
            }
            None => self.packets.push(packet),
        }
        let mut steps = std::mem::take(&mut self.packets[index as usize].steps);
        self.route(way, &mut steps);
        self.packets[index as usize].steps = steps;
        self.request(index, cycle);
    }

    /// Frees a port at a cycle.
    pub(super) fn free_port(&mut self, port: KeptPort, cycle: u64) {
        let packet = &mut self.packets[port.packet as usize];
        if packet.kept.take_if(|kept| *kept == port.number).is_some() {
            let step = packet.steps.len() - 1;
            self.events.add(cycle, port.packet, Event::Leaves(step));
        }
    }

    /// Carries out the next event; returns false if there is none.
    pub(super) fn advance(&mut self) -> bool {
        let Some(Reverse((cycle, _, index, event))) = self.events.queue.pop() else {
            return false;
        };
        match event {
            Event::Arrives => self.enter(index, cycle),
            Event::Leaves(step) => self.leave(index, step, cycle),
        }
        true
    }

    /// Lets a head enter the buffer behind the link that it has taken last.
    fn enter(&mut self, index: u32, cycle: u64) {
        let packet = &self.packets[index as usize];
        let Step { link, channel, .. } = packet.steps[packet.next - 1];
        let channel = &mut self.links[link as usize].channels[usize::from(channel)];
        if channel.front == NONE {
            channel.front = index;
            self.request(index, cycle);
        } else {
            channel.heads.push(&mut self.packets, index);
        }
    }

    /// Takes the next link of a packet, or waits for it.
    fn request(&mut self, index: u32, cycle: u64) {
        let packet = &self.packets[index as usize];
        let Step { link, channel: dateline, .. } = packet.steps[packet.next];
        let Link { channels, waiting, .. } = &mut self.links[link as usize];
        let wanted = packet.channels.0.map(|channel| channel | dateline);
        let is_free = |channel: &u8| {
            let has_room = channels[usize::from(*channel)].has_room();
            // Packets on one channel keep their order.
            has_room && waiting.find(&self.packets, |packet| packet.wants(*channel)).is_none()
        };
        match wanted.into_iter().find(is_free) {
            Some(channel) => self.take(index, channel, cycle),
            None => waiting.push(&mut self.packets, index),
        }
    }

    /// Takes a channel of the next link of a packet.
    fn take(&mut self, index: u32, channel: u8, cycle: u64) {
        let Self { packets, links, events, arrived, kept_count, .. } = self;
        let packet = &mut packets[index as usize];
        let at = packet.next;
        let link = &mut links[packet.steps[at].link as usize];
        // Packets that share the link with others are slower by the flits of the others.
        let backlog = link.free_from.saturating_sub(cycle);
        let shared = backlog.min(packet.size * link.held_count.max(1));
        packet.duration = packet.duration.max(packet.size + shared);
        link.free_from = link.free_from.max(cycle) + packet.size;
        link.held_count += 1;
        packet.steps[at].channel = channel;
        packet.next += 1;
        let is_last = packet.next == packet.steps.len();
        let channel = &mut link.channels[usize::from(channel)];
        channel.holder = index;
        if !is_last {
            channel.occupied_flits += short_flits(packet.size);
        }
        // Its flits make room at the rate at which those of the next packet come.
        let before = at.checked_sub(1).map(|before| packet.steps[before]);
        if let Some(Step { link, channel, .. }) = before {
            links[link as usize].channels[usize::from(channel)].occupied_flits -=
                short_flits(packet.size);
        }
        for step in packet.open..=at {
            let room = (at - step) as u64 * BUFFER_FLITS;
            let leaves_at = &mut packet.steps[step].leaves_at;
            *leaves_at = (*leaves_at).max(cycle + packet.duration.saturating_sub(room));
            let is_kept = step == at && packet.keeps_port;
            if is_last && !is_kept || !is_last && room + BUFFER_FLITS >= packet.size {
                events.add(*leaves_at, index, Event::Leaves(step));
                packet.open = step + 1;
            }
        }
        if is_last {
            let shared = packet.duration - packet.size;
            let arrives_at = cycle + INTERFACE_CYCLES + packet.flit_count + shared;
            let payload = packet.payload.take().expect("a packet arrives once");
            if packet.keeps_port {
                packet.kept = Some(*kept_count);
                *kept_count += 1;
            }
            let port = packet.kept.map(|number| KeptPort { packet: index, number });
            arrived.push_back(Arrival { payload, cycle: arrives_at, port });
        } else {
            let latency = if at == 0 { INTERFACE_CYCLES } else { HOP_CYCLES };
            events.add(cycle + latency, index, Event::Arrives);
        }
        if let Some(Step { link, channel, .. }) = before {
            self.wake(link, channel, cycle);
        }
    }

    /// Frees the link of a step, and the buffer before it, after the last flit of a packet.
    fn leave(&mut self, index: u32, at: usize, cycle: u64) {
        let packet = &mut self.packets[index as usize];
        let Step { link, channel, .. } = packet.steps[at];
        let before = at.checked_sub(1).map(|before| packet.steps[before]);
        if at + 1 == packet.steps.len() {
            self.free.push(index);
        }
        let left = &mut self.links[link as usize];
        left.channels[usize::from(channel)].holder = NONE;
        left.held_count -= 1;
        self.wake(link, channel, cycle);
        if let Some(before) = before {
            let buffer =
                &mut self.links[before.link as usize].channels[usize::from(before.channel)];
            buffer.front = NONE;
            if let Some((before, next)) = buffer.heads.find(&self.packets, |_| true) {
                buffer.heads.remove(&mut self.packets, (before, next));
                buffer.front = next;
                self.request(next, cycle);
            }
        }
    }

    /// Lets the first packet that waits for a channel take it, if the channel is free.
    fn wake(&mut self, link: u32, channel: u8, cycle: u64) {
        let Link { waiting, channels, .. } = &mut self.links[link as usize];
        let Some((before, next)) = waiting.find(&self.packets, |packet| packet.wants(channel))
        else {
            return;
        };
        if channels[usize::from(channel)].has_room() {
            waiting.remove(&mut self.packets, (before, next));
            self.take(next, channel, cycle);
        }
    }

    /// Finds the links of a way.
    fn route(&self, (noc, from, to): Way, steps: &mut Vec<Step>) {
        let step = |tile: TileCoord, link: usize, channel: u8| {
            let (columns, rows) = self.grid;
            let row = noc * usize::from(rows) + usize::from(tile.y);
            let tile = row * usize::from(columns) + usize::from(tile.x);
            let link = u32::try_from(tile * LINKS_OF_TILE + link).expect("a chip has few links");
            Step { link, channel, leaves_at: 0 }
        };
        steps.clear();
        steps.push(step(from, OUT, 0));
        let (mut at, mut dateline) = (from, 0);
        while at != to {
            let link = next_link(noc, at, to);
            steps.push(step(at, link, dateline));
            let next = self.beyond(noc, at, link);
            let is_over_edge = (next.x < at.x || next.y < at.y) == (noc == 0);
            let turns = next != to && next_link(noc, next, to) != link;
            dateline = match () {
                () if turns => 0,
                () if is_over_edge => DATELINE,
                () => dateline,
            };
            at = next;
        }
        steps.push(step(to, IN, dateline));
    }

    fn beyond(&self, noc: usize, at: TileCoord, link: usize) -> TileCoord {
        let (columns, rows) = self.grid;
        let next = |place: u16, size: u16| (place + if noc == 0 { 1 } else { size - 1 }) % size;
        match link {
            COLUMN => TileCoord { x: next(at.x, columns), ..at },
            _ => TileCoord { y: next(at.y, rows), ..at },
        }
    }
}

const fn next_link(noc: usize, at: TileCoord, to: TileCoord) -> usize {
    match noc {
        0 if at.x != to.x => COLUMN,
        0 => ROW,
        _ if at.y != to.y => ROW,
        _ => COLUMN,
    }
}

impl<T> Packet<T> {
    /// Returns true if the packet, which waits for a link, can take this channel of it.
    fn wants(&self, channel: u8) -> bool {
        let dateline = self.steps[self.next].channel;
        self.channels.0.iter().any(|one| one | dateline == channel)
    }
}

/// Returns the flits for which a packet needs room if it fits into an empty buffer as a whole.
fn short_flits(size: u64) -> u64 {
    if size <= BUFFER_FLITS { size } else { 0 }
}

impl Channel {
    /// Returns true if a packet can take the channel: there is room for its head. Its other flits follow
    /// as those before them leave, so packets of every size have the documented flit a cycle.
    fn has_room(&self) -> bool {
        self.holder == NONE && self.occupied_flits < BUFFER_FLITS
    }
}

impl Queue {
    fn push<T>(&mut self, packets: &mut [Packet<T>], index: u32) {
        packets[index as usize].behind = NONE;
        match self.last {
            NONE => self.first = index,
            last => packets[last as usize].behind = index,
        }
        self.last = index;
    }

    /// Returns the first packet for which a condition holds, after the packet before it.
    fn find<T>(
        &self,
        packets: &[Packet<T>],
        condition: impl Fn(&Packet<T>) -> bool,
    ) -> Option<(u32, u32)> {
        let (mut before, mut at) = (NONE, self.first);
        while at != NONE {
            let packet = &packets[at as usize];
            if condition(packet) {
                return Some((before, at));
            }
            (before, at) = (at, packet.behind);
        }
        None
    }

    /// Removes a packet, which stands behind another one.
    fn remove<T>(&mut self, packets: &mut [Packet<T>], (before, packet): (u32, u32)) {
        let behind = packets[packet as usize].behind;
        match before {
            NONE => self.first = behind,
            before => packets[before as usize].behind = behind,
        }
        if behind == NONE {
            self.last = before;
        }
    }
}
