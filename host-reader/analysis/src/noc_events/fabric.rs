//! Fabric packets, each joined from the events that a kernel records for it.
//!
//! A kernel first records the packet, as several events if the packet writes to several addresses.
//! Then the kernel records the route. Finally, the kernel records the write with which it sends the
//! packet to the router, or to a core that forwards packets.

use crate::noc_events::{
    payload::{Payload, Routing},
    trace::{Event, Tiles, TraceNotes},
};
use reader::{lane::LaneId, mesh::Noc0Coord};
use std::collections::{BTreeMap, VecDeque};
use wire::noc_event::NocEventKind;

/// Maximum cycles from a packet's first event to the write with which the kernel sends the packet.
///
/// # Compatibility
/// Limit in `profiler.cpp`.
const PACKET_CYCLES_MAX: u64 = 1_000;

/// Fabric packet.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    /// Events of the packet itself; several if the packet writes to several addresses.
    pub(crate) writes: Vec<Event>,
    pub(crate) routing: Routing,
    /// Event of a write to the router, or to a core that forwards packets.
    pub(crate) local: Event,
    /// Write of the forwarding core to the router.
    pub(crate) mux: Option<Event>,
}

/// Either a single event or a fabric packet.
#[derive(Clone, Debug)]
pub(crate) enum Joined {
    Plain(Event),
    Packet(Box<Packet>),
}

impl Joined {
    /// Returns the lane and time of the event, or of the write with which the kernel sent the
    /// packet.
    pub(crate) const fn place(&self) -> (LaneId, u64) {
        let event = match self {
            Self::Plain(event) => event,
            Self::Packet(packet) => &packet.local,
        };
        (event.lane, event.time)
    }
}

/// Joins events into packets. `events` must be the events of one program, sorted by RISC and time.
///
/// Events of a core that forwards packets become part of the packets and are not returned
/// separately.
pub(crate) fn join(events: Vec<Event>, tiles: &Tiles, notes: &mut TraceNotes) -> Vec<Joined> {
    if events.iter().all(|event| part_count(event).is_none()) {
        return events.into_iter().map(Joined::Plain).collect();
    }
    // For each core that forwards packets, the writes that no packet has used yet.
    let mut muxes: BTreeMap<Noc0Coord, VecDeque<Event>> = BTreeMap::new();
    let mut joined = Vec::new();
    let mut index = 0;
    while let Some(first) = events.get(index) {
        let Some(part_count) = part_count(first) else {
            joined.push(Joined::Plain(first.clone()));
            index = index.saturating_add(1);
            continue;
        };
        match packet(events.get(index..).unwrap_or_default(), part_count) {
            Err(what) => {
                notes.add(what, first.lane, first.time);
                index = index.saturating_add(1);
            }
            Ok(packet) => {
                match with_mux(packet, &events, tiles, &mut muxes) {
                    Err(what) => notes.add(what, first.lane, first.time),
                    Ok(packet) => joined.push(Joined::Packet(Box::new(packet))),
                }
                index = index.saturating_add(part_count).saturating_add(2);
            }
        }
    }
    joined.retain(|joined| match joined {
        Joined::Plain(event) => !muxes.contains_key(&event.lane.core),
        Joined::Packet(_) => true,
    });
    joined
}

/// Returns the number of write events in the packet that begins with `event`; `None` if no packet
/// begins with it.
fn part_count(event: &Event) -> Option<usize> {
    let part_count = event.fabric()?.part.map(|part| usize::try_from(part.chunk_count));
    Some(part_count.and_then(Result::ok).unwrap_or(0).max(1))
}

/// Returns the packet at the start of `events`.
fn packet(events: &[Event], part_count: usize) -> Result<Packet, &'static str> {
    const INCOMPLETE: &str = "fabric packet without its route or its write";
    let (writes, rest) = events.split_at_checked(part_count).ok_or(INCOMPLETE)?;
    let [route, local, ..] = rest else { return Err(INCOMPLETE) };
    let first = writes.first().ok_or(INCOMPLETE)?;
    let is_of_lane = |event: &Event| event.lane == first.lane;
    let is_part = |event: &Event| event.fabric().is_some_and(|write| write.part.is_some());
    let is_whole =
        writes.iter().all(|event| (part_count == 1 || is_part(event)) && is_of_lane(event))
            && is_of_lane(route)
            && is_of_lane(local)
            && local.local().is_some_and(|write| write.kind == NocEventKind::Write);
    let Payload::Routing(routing) = route.payload else { return Err(INCOMPLETE) };
    if !is_whole {
        return Err(INCOMPLETE);
    }
    if local.time.saturating_sub(first.time) > PACKET_CYCLES_MAX {
        return Err("fabric packet whose events are too far apart");
    }
    Ok(Packet { writes: writes.to_vec(), routing, local: local.clone(), mux: None })
}

/// Adds the write of the forwarding core, if the packet was sent to such a core instead of a
/// router.
fn with_mux(
    packet: Packet,
    events: &[Event],
    tiles: &Tiles,
    muxes: &mut BTreeMap<Noc0Coord, VecDeque<Event>>,
) -> Result<Packet, &'static str> {
    const NO_CORE: &str = "fabric packet that goes neither to a worker core nor to a router";
    let write = packet.local.local().ok_or(NO_CORE)?;
    let map = tiles.0.as_ref().ok_or(NO_CORE)?;
    let tile = map.noc0(write.target, write.noc).ok_or(NO_CORE)?;
    if map.ethernet_channel(tile).is_some() {
        return Ok(packet);
    }
    if !map.is_tensix(tile) {
        return Err(NO_CORE);
    }
    let writes = muxes.entry(tile).or_insert_with(|| writes_of(events, tile));
    let mux = writes.pop_front();
    let mux = mux.ok_or("fabric packet that the core which it goes to does not pass on")?;
    Ok(Packet { mux: Some(mux), ..packet })
}

/// Returns the writes that a core recorded.
fn writes_of(events: &[Event], core: Noc0Coord) -> VecDeque<Event> {
    let own = events.iter().filter(|event| event.lane.core == core);
    let writes = own.filter(|of| of.local().is_some_and(|event| event.kind == NocEventKind::Write));
    writes.cloned().collect()
}

#[cfg(test)]
mod tests {
    use crate::noc_events::{
        Destination, FabricMux, FabricSend, NocTraces, TraceObject, TraceOptions,
    };
    use reader::{
        lane::{Lane, LaneId, RecordHead, ZoneIndex},
        mesh::Noc0Coord,
        readout::{ChipSummary, DeviceReadout, Readout},
    };
    use wire::{PacketKind, Risc, RunHostId, ZoneId};

    /// Write of 64 bytes over NoC 0 to the first Ethernet tile, in translated coordinates.
    const TO_ROUTER: [u8; 8] = [11, 25, 16, 0, 0, 0x11, 2, 0];
    /// Write of 64 bytes over NoC 0 to the worker core (2,1), in translated coordinates.
    const TO_WORKER: [u8; 8] = [11, 19, 18, 0, 0, 0x11, 2, 0];
    /// Fabric write to DRAM of the receiving chip. The route is encoded with two bits per hop.
    const UNICAST: [u8; 8] = [33, 0, 11, 0, 0, 0x11, 0, 0];
    /// Route with two forwarding hops, followed by two chips that receive the packet.
    const TWO_HOPS: [u8; 8] = [40, 0b0111_1010, 0, 0, 0, 0, 0, 0];

    /// Time and bytes of an event.
    type Stamped = (u64, [u8; 8]);

    /// Builds the trace of several BRISCs in one row of a Wormhole without harvested rows. `cores`
    /// contains the column and the events of each BRISC.
    fn trace(cores: &[(u16, &[Stamped])]) -> (Vec<TraceObject>, Vec<String>) {
        let chip = ChipSummary {
            chip_id: 0,
            arch: "wormhole_b0".to_owned(),
            aiclk_mhz: 1_000,
            max_compute_cores: Some(80),
            known_lines: [].into(),
        };
        let lanes = cores
            .iter()
            .map(|(x, events)| {
                let core = Noc0Coord { x: *x, y: 1 };
                let mut lane = Lane::new(LaneId { chip_id: 0, core, risc: Risc::Brisc });
                lane.begin_run(RunHostId(1024));
                for &(time, bytes) in *events {
                    let zone = ZoneIndex(ZoneId::NOC_TRACING.0.into());
                    let head = RecordHead::new(PacketKind::TimestampedData, zone);
                    lane.push(head, time, &[u64::from_le_bytes(bytes)]);
                }
                lane
            })
            .collect();
        let device = DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 };
        let readout = Readout { devices: vec![device], ..Readout::default() };
        let traces = NocTraces::from_readout(&readout, |_, _| None, &TraceOptions::default());
        let objects = traces.programs.into_iter().flat_map(|trace| trace.objects).collect();
        (objects, traces.notes.sentences().collect())
    }

    fn line(range: u32, start_distance: u32, eth_chan: u16) -> FabricSend {
        FabricSend {
            range: Some(range),
            start_distance: Some(start_distance),
            eth_chan: Some(eth_chan),
            ..FabricSend::default()
        }
    }

    #[test]
    fn a_packet_its_route_and_its_write_are_one_object() {
        let (objects, notes) = trace(&[(1, &[(10, UNICAST), (12, TWO_HOPS), (20, TO_ROUTER)])]);
        let [packet] = objects.as_slice() else { panic!("{objects:?}") };
        assert_eq!(packet.event_type.as_deref(), Some("FABRIC_UNICAST_WRITE"));
        assert_eq!((packet.timestamp, packet.num_bytes, packet.dx), (20, Some(64), None));
        assert_eq!(packet.fabric_send, Some(line(2, 3, 0)));
        let target = Destination { dx: 0, dy: 11, noc: "NOC_0".to_owned(), num_bytes: 64 };
        assert_eq!(packet.dst.as_deref(), Some([target].as_slice()));
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn the_core_that_passes_a_packet_on_is_part_of_it() {
        let sender: &[_] = &[(10, UNICAST), (12, TWO_HOPS), (20, TO_WORKER)];
        let (objects, notes) = trace(&[(1, sender), (2, &[(50, TO_ROUTER)])]);
        let [packet] = objects.as_slice() else { panic!("{objects:?}") };
        let mux = FabricMux { noc: "NOC_0".to_owned(), x: 2, y: 1 };
        assert_eq!(packet.fabric_send, Some(FabricSend { fabric_mux: Some(mux), ..line(2, 3, 0) }));
        assert!(notes.is_empty(), "{notes:?}");
        let (objects, notes) = trace(&[(1, sender)]);
        assert!(objects.is_empty() && notes[0].contains("does not pass on"), "{notes:?}");
    }

    #[test]
    fn the_last_part_of_a_scatter_takes_what_is_left() {
        let events = [(10, part(0, 48)), (11, part(5, 0)), (12, TWO_HOPS), (20, TO_ROUTER)];
        let (objects, _) = trace(&[(1, &events)]);
        let sizes = objects[0].dst.as_ref().unwrap().iter().map(|to| (to.dx, to.num_bytes));
        assert_eq!(sizes.collect::<Vec<_>>(), [(0, 48), (5, 16)]);
    }

    const fn part(x: u8, size: u8) -> [u8; 8] {
        [39, x, 11, 0, size, 0, 2, 0x11]
    }

    #[test]
    fn packets_with_something_missing_are_noted_and_the_rest_kept() {
        for (events, note, kept) in [
            (vec![(10, UNICAST), (12, TWO_HOPS)], "without its route or its write", 0),
            (vec![(10, UNICAST), (20, TO_ROUTER)], "without its route or its write", 1),
            (vec![(10, UNICAST), (12, TWO_HOPS), (1_011, TO_ROUTER)], "too far apart", 1),
            (vec![(10, TO_ROUTER), (20, [99; 8])], "unknown kind of NoC event: 99", 1),
        ] {
            let (objects, notes) = trace(&[(1, &events)]);
            assert_eq!(objects.len(), kept, "{note}: {objects:?}");
            assert!(notes.iter().any(|found| found.contains(note)), "{notes:?}");
        }
    }
}
