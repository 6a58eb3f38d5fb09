//! NoC traces: what every program did on the networks, as TT-Metal's files have it.

use crate::noc_events::{
    fabric::Packet,
    kind::{EventKind, Numbering},
    lanes::NocLanes,
    object::{Destination, FabricMux, FabricSend, TraceObject},
    payload::{FabricPacket, LocalEvent, Noc, Payload, RawCoord, Routing, Trailer},
    programs::NocPrograms,
    size_field::SizeField,
    tile::TileMap,
    transfer::{Target, TrafficEvent},
};
use reader::{
    lane::{LaneId, Record, TraceReplay},
    mesh::Noc0Coord,
    names::ZoneTable,
    readout::Readout,
};
use std::collections::BTreeMap;
use wire::{PacketKind, Risc, RunHostId, ZoneId};

/// Choices for making traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Numbers of the events; `None` finds them by the packets of the fabric.
    pub numbering: Option<Numbering>,
    /// Width of the events' sizes; `None` finds it by sizes and posted writes.
    pub size_field: Option<SizeField>,
}

/// Trace of one program, or of one replay of it, on one chip.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramTrace {
    /// The chip.
    pub chip_id: u32,
    /// The program, encoded with its chip.
    pub program: RunHostId,
    /// The replay, if it was one.
    pub trace: Option<TraceReplay>,
    /// Name of the op; empty if it is not known.
    pub op_name: String,
    /// Ends of zones and events, by core, RISC and time.
    pub objects: Vec<TraceObject>,
}

impl ProgramTrace {
    /// Returns the name that TT-Metal gives the file.
    ///
    /// A character of the op's name that ends a folder's name becomes `_`.
    ///
    /// ```
    /// use analysis::noc_events::ProgramTrace;
    /// use reader::lane::TraceReplay;
    /// use wire::RunHostId;
    /// let replay = TraceReplay { trace_id: 2, counter: 3 };
    /// let trace = ProgramTrace {
    ///     chip_id: 1,
    ///     program: RunHostId(1025),
    ///     trace: Some(replay),
    ///     op_name: "Matmul".into(),
    ///     objects: Vec::new(),
    /// };
    /// assert_eq!(trace.file_name(), "noc_trace_dev1_Matmul_ID1025_traceID8589934595.json");
    /// ```
    #[must_use]
    pub fn file_name(&self) -> String {
        let op = self.op_name.replace(['/', '\\', '\0'], "_");
        let op = if op.is_empty() { op } else { format!("_{op}") };
        let trace = self.trace.map_or_else(String::new, |replay| {
            format!("_traceID{}", replay.trace_id.wrapping_shl(32) | replay.counter)
        });
        format!("noc_trace_dev{}{op}_ID{}{trace}.json", self.chip_id, self.program.0)
    }

    /// Sorts the objects of a file into traces. Objects say which chip and program they are of, the
    /// file's name where they do not (zones of releases before 2026), and which replay.
    ///
    /// ```
    /// use analysis::noc_events::{ProgramTrace, read_json};
    /// let text = br#"[{"proc": "BRISC", "sx": 1, "sy": 2, "timestamp": 7, "type": "WRITE_"}]"#;
    /// let objects = read_json(text).objects;
    /// let name = "noc_trace_dev0_ID0_traceID8589934595.json";
    /// let traces = ProgramTrace::of_objects(objects, name);
    /// assert_eq!(traces[0].trace.map(|replay| (replay.trace_id, replay.counter)), Some((2, 3)));
    /// assert_eq!(traces[0].file_name(), name);
    /// ```
    #[must_use]
    pub fn of_objects(objects: Vec<TraceObject>, file_name: &str) -> Vec<Self> {
        let mut traces: BTreeMap<_, Self> = BTreeMap::new();
        let [chip_of_name, program_of_name] =
            ["_dev", "_ID"].map(|key| number_of_name(file_name, key));
        for object in objects {
            let chip_id = object.src_device_id.or(chip_of_name).unwrap_or(0);
            let program = RunHostId(object.run_host_id.or(program_of_name).unwrap_or(0));
            let trace = traces.entry((chip_id, program)).or_insert_with(|| Self {
                chip_id,
                program,
                trace: replay_of_name(file_name),
                op_name: object.op_name.clone().unwrap_or_default(),
                objects: Vec::new(),
            });
            trace.objects.push(object);
        }
        traces.into_values().collect()
    }

    /// Returns true if a file's name is one that TT-Metal gives to traces.
    #[must_use]
    pub fn is_file_name(name: &str) -> bool {
        name.starts_with("noc_trace_") && name.ends_with(".json")
    }
}

/// The last number in a file's name with this word in front of it.
fn number_of_name(name: &str, word: &str) -> Option<u32> {
    let (_, rest) = name.rsplit_once(word)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// The replay that the name of a file ends with.
fn replay_of_name(name: &str) -> Option<TraceReplay> {
    let (_, number) = name.strip_suffix(".json")?.rsplit_once("_traceID")?;
    let number: u64 = number.parse().ok()?;
    Some(TraceReplay { trace_id: number >> 32, counter: number & u64::from(u32::MAX) })
}

/// Events that could not be taken as they were, by kind, with where each was found first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceNotes {
    notes: BTreeMap<String, (u64, LaneId, u64)>,
}

impl TraceNotes {
    pub(crate) fn add(&mut self, what: impl Into<String>, lane: LaneId, time: u64) {
        let (count, ..) = self.notes.entry(what.into()).or_insert((0, lane, time));
        *count = count.saturating_add(1);
    }

    /// Adds notes that come after these.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (what, &(more, lane, time)) in &other.notes {
            let (count, ..) = self.notes.entry(what.clone()).or_insert((0, lane, time));
            *count = count.saturating_add(more);
        }
    }

    /// Returns how often something could not be taken as it was.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.notes.values().map(|(count, ..)| count).sum()
    }

    /// Sentences, one for each kind: what, how often, and where first.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.notes.iter().map(|(what, (count, lane, time))| {
            format!("{count} x {what}; first: {lane}, cycle {time}")
        })
    }
}

/// Traces of all programs of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NocTraces {
    /// One for each program or replay of a chip that recorded any NoC event, by chip and program.
    pub programs: Vec<ProgramTrace>,
    /// Notes about what was left out, and why.
    pub notes: TraceNotes,
}

impl NocTraces {
    /// Name of the file beside the traces that says where in a cluster each chip is.
    pub const CLUSTER_FILE: &'static str = "cluster_coordinates.json";
    /// How the chips of a mesh are connected, of which TT-Metal's runtime knows and its profiler's
    /// records do not: read by tools beside the traces.
    pub const TOPOLOGY_FILE: &'static str = "topology.json";
    /// Text of that file where the chips' coordinates are unknown: no recording holds them.
    ///
    /// # Compatibility
    /// TT-Metal writes the same for a board without such coordinates, as a Blackhole p150 is.
    pub const UNKNOWN_CLUSTER: &'static str = "{\n  \"physical_chip_to_eth_coord\": null\n}";

    /// Gathers the NoC events of a readout, program by program.
    ///
    /// `op_name` gives the name of a chip's program, if it has one. A chip without NoC events has
    /// no traces; of any other chip each program has one, as TT-Metal writes them.
    #[must_use]
    pub fn of_readout<'a>(
        readout: &Readout,
        op_name: impl Fn(u32, RunHostId) -> Option<&'a str>,
        options: &TraceOptions,
    ) -> Self {
        let lanes = NocLanes::of_readout(readout);
        let programs = NocPrograms::new(&lanes, readout, options);
        let mut notes = TraceNotes::default();
        let traces = programs.traces(op_name, &mut notes).collect();
        Self { programs: traces, notes }
    }
}

/// Returns true if the record is a NoC event.
pub(crate) fn is_event(record: &Record<'_>, zones: &ZoneTable) -> bool {
    let is_data =
        matches!(record.kind, PacketKind::TimestampedData | PacketKind::TimestampedData16B);
    is_data && zones.id(record.zone) == u32::from(ZoneId::NOC_TRACING.0)
}

/// An event and where it was recorded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) lane: LaneId,
    pub(crate) time: u64,
    pub(crate) payload: Payload,
    pub(crate) trailer: Option<Trailer>,
}

impl Event {
    /// The event, if it is one of the tile's own NoC.
    pub(crate) const fn local(&self) -> Option<&LocalEvent> {
        match &self.payload {
            Payload::Local(event) => Some(event),
            _ => None,
        }
    }
}

/// Returns true if ends of the zone are in a trace.
pub(super) fn is_traced(name: &str, risc: Risc) -> bool {
    const LEFT_OUT: [&str; 3] =
        ["SYNC-ZONE-SENDER", "SYNC-ZONE-RECEIVER", "PROFILER-NOC-QUICK-SEND"];
    let moves_data = matches!(risc, Risc::Brisc | Risc::Ncrisc);
    !LEFT_OUT.contains(&name)
        && !name.ends_with("-FW")
        && (!name.ends_with("-KERNEL") || moves_data)
}

/// Note about an event that only a packet of the fabric can have.
const ROUTE_ALONE: &str = "route of a fabric packet without its packet";

/// Where an event goes to: the coordinates of the kernel and the tiles that they mean.
struct Place {
    target: RawCoord,
    first: Option<Noc0Coord>,
    /// The other corner of a rectangle.
    last: Option<Noc0Coord>,
}

/// A chip's tiles, if its architecture is known.
#[derive(Debug)]
pub(crate) struct Tiles(Option<TileMap>);

impl Tiles {
    pub(super) const fn new(map: Option<TileMap>) -> Self {
        Self(map)
    }

    /// Columns and rows of the chip's tiles.
    pub(super) fn grid(&self) -> Option<(u16, u16)> {
        self.0.as_ref().map(TileMap::grid)
    }

    /// The tile that the coordinates mean.
    pub(crate) fn tile(&self, coord: RawCoord, noc: Noc) -> Option<Noc0Coord> {
        self.0.as_ref()?.noc0(coord, noc)
    }

    pub(crate) fn is_tensix(&self, tile: Noc0Coord) -> bool {
        self.0.as_ref().is_some_and(|map| map.is_tensix(tile))
    }

    pub(crate) fn ethernet_channel(&self, tile: Noc0Coord) -> Option<u16> {
        self.0.as_ref()?.ethernet_channel(tile)
    }

    /// The tile that the coordinates mean, or a note that it is not known.
    fn noted_tile(
        &self,
        coord: RawCoord,
        noc: Noc,
        event: &Event,
        notes: &mut TraceNotes,
    ) -> Option<Noc0Coord> {
        let tile = self.tile(coord, noc);
        if tile.is_none() {
            let RawCoord { x, y } = coord;
            let what = format!("target ({x},{y}) on {} is no known tile", noc.name());
            notes.add(what, event.lane, event.time);
        }
        tile
    }

    /// Where an event goes to, if it says so itself.
    fn place(&self, local: &LocalEvent, event: &Event, notes: &mut TraceNotes) -> Option<Place> {
        let target = local.own_target()?;
        let first = self.noted_tile(target, local.noc, event, notes);
        let last = match local.kind {
            EventKind::WriteMulticast => {
                self.noted_tile(local.multicast_end, local.noc, event, notes)
            }
            _ => None,
        };
        Some(Place { target, first, last })
    }

    /// An event of the tile's own NoC as sums of traffic need it.
    pub(super) fn local_event(
        &self,
        event: &Event,
        notes: &mut TraceNotes,
    ) -> Option<TrafficEvent> {
        let Some(local) = event.local() else {
            notes.add(ROUTE_ALONE, event.lane, event.time);
            return None;
        };
        let &LocalEvent { kind, noc, .. } = local;
        let target = match self.place(local, event, notes) {
            None => Target::Unknown,
            Some(Place { first, last, .. }) if kind.is_multicast() => {
                Target::rectangle(first, last)
            }
            Some(Place { target, first, .. }) => {
                first.map_or(Target::Unplaced(target), Target::Tile)
            }
        };
        let byte_count = local.byte_count().into();
        Some(TrafficEvent {
            kind,
            noc,
            core: event.lane.core,
            target,
            byte_count,
            time: event.time,
        })
    }

    pub(super) fn local_object(
        &self,
        base: TraceObject,
        event: &Event,
        notes: &mut TraceNotes,
    ) -> Option<TraceObject> {
        let Some(local) = event.local() else {
            notes.add(ROUTE_ALONE, event.lane, event.time);
            return None;
        };
        let mut object = with_transfer(base, local, local.kind);
        if let Some(Place { target, first, last }) = self.place(local, event, notes) {
            object.unplaced_target = first.is_none().then_some(target);
            if local.kind == EventKind::WriteMulticast {
                object.mcast_start_x = first.map(|tile| tile.x.into());
                object.mcast_start_y = first.map(|tile| tile.y.into());
                object.mcast_end_x = last.map(|tile| tile.x.into());
                object.mcast_end_y = last.map(|tile| tile.y.into());
            } else {
                object.dx = first.map(|tile| tile.x.into());
                object.dy = first.map(|tile| tile.y.into());
            }
        }
        if let Some(trailer) = event.trailer {
            object.dst_addr = Some(trailer.target_address);
            object.src_addr = Some(trailer.source_address);
            object.noc_status_counter = Some(trailer.noc_counter);
            object.posted = Some(serde_json::Value::Null);
        }
        Some(object)
    }

    pub(super) fn fabric_object(
        &self,
        base: TraceObject,
        packet: &Packet,
        notes: &mut TraceNotes,
    ) -> Option<TraceObject> {
        let local = packet.local.local()?;
        let (kind, form) = packet.kind_and_form()?;
        let first = packet.writes.first()?;
        let Some(mut send) = send_of(form, packet.routing) else {
            let what = "fabric packet whose route has another form than it says";
            notes.add(what, first.lane, first.time);
            return None;
        };
        let router = match &packet.mux {
            None => self.tile(local.target, local.noc),
            Some(mux) => {
                let write = mux.local()?;
                let tile = self.tile(local.target, local.noc)?;
                let noc = write.noc.name().to_owned();
                send.fabric_mux = Some(FabricMux { noc, x: tile.x, y: tile.y });
                self.tile(write.target, write.noc)
            }
        };
        send.eth_chan = router.and_then(|tile| self.ethernet_channel(tile));
        if send.eth_chan.is_none() {
            notes.add("fabric packet whose router is no Ethernet tile", first.lane, first.time);
            return None;
        }
        let mut object = with_transfer(base, local, kind);
        object.fabric_send = Some(send);
        object.dst = Some(self.destinations(packet, local, notes)?);
        Some(object)
    }

    /// Targets of a packet and the bytes for each; the last part of several takes the rest.
    fn destinations(
        &self,
        packet: &Packet,
        local: &LocalEvent,
        notes: &mut TraceNotes,
    ) -> Option<Vec<Destination>> {
        let whole = i64::from(local.byte_count());
        let mut rest = whole;
        let mut targets = Vec::new();
        for event in &packet.writes {
            let (target, noc, num_bytes) = match &event.payload {
                Payload::Fabric(write) if write.kind.is_fabric_unicast() => {
                    (write.target, write.noc, whole)
                }
                Payload::Scatter(part) => (part.target, part.noc, i64::from(part.chunk_bytes)),
                _ => {
                    notes.add("multicast of the fabric", event.lane, event.time);
                    return None;
                }
            };
            let tile = self.noted_tile(target, noc, event, notes)?;
            rest = rest.saturating_sub(num_bytes);
            let noc = noc.name().to_owned();
            targets.push(Destination { dx: tile.x, dy: tile.y, noc, num_bytes });
        }
        let is_scatter = matches!(packet.writes.first()?.payload, Payload::Scatter(_));
        if let Some(last) = targets.last_mut().filter(|_| is_scatter) {
            last.num_bytes = rest;
        }
        Some(targets)
    }
}

fn with_transfer(base: TraceObject, local: &LocalEvent, kind: EventKind) -> TraceObject {
    TraceObject {
        event_type: Some(kind.name().to_owned()),
        noc: Some(local.noc.name().to_owned()),
        num_bytes: Some(local.byte_count().into()),
        vc: Some(local.virtual_channel),
        ..base
    }
}

/// The route of a packet; `None` if its word has another form than the packet says.
fn send_of(form: FabricPacket, routing: Routing) -> Option<FabricSend> {
    let line = |(start_distance, range)| FabricSend {
        start_distance: Some(start_distance),
        range: Some(range),
        ..FabricSend::default()
    };
    match (form, routing) {
        (FabricPacket::Regular, Routing::Line { value }) => {
            Some(line((value >> 4 & 0xF, value & 0xF)))
        }
        (FabricPacket::LowLatency, Routing::Line { value }) => Some(line(low_latency_hops(value))),
        (
            FabricPacket::LowLatencyMesh,
            Routing::Mesh { north_south_hops, east_hops, west_hops, is_multicast },
        ) => Some(FabricSend {
            ns_hops: Some(north_south_hops),
            e_hops: Some(east_hops),
            w_hops: Some(west_hops),
            is_mcast: Some(is_multicast),
            ..FabricSend::default()
        }),
        (FabricPacket::LowLatencyMesh | FabricPacket::DynamicMesh, Routing::Unrecorded) => {
            Some(FabricSend::default())
        }
        _ => None,
    }
}

/// Distance to the first chip that takes the packet, and how many take it, of two bits per hop.
#[expect(clippy::arithmetic_side_effects, reason = "a word has sixteen fields of two bits")]
fn low_latency_hops(value: u32) -> (u32, u32) {
    /// The packet is passed on and not taken.
    const FORWARD: u32 = 2;
    let fields = (0..16).map(|hop| value >> (2 * hop) & 3);
    let passed = fields.clone().take_while(|&field| field == FORWARD).count();
    let taking = fields.skip(passed).take_while(|field| field & 1 != 0).count();
    let hops = |count| u32::try_from(count).unwrap_or(0);
    (hops(passed) + 1, hops(taking))
}
