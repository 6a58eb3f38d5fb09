//! NoC traces: the NoC events of every program, in the form of TT-Metal's files.

use crate::noc_events::{
    fabric::{self, Joined, Packet},
    kind::{EventKind, Numbering},
    object::{Destination, FabricMux, FabricSend, TraceObject},
    payload::{FabricPacket, LocalEvent, Noc, Payload, PayloadError, RawCoord, Routing, Trailer},
    size_field::SizeField,
    tile::TileMap,
};
use reader::{
    lane::{Lane, LaneId, Record, TraceReplay},
    mesh::Noc0Coord,
    names::ZoneTable,
    readout::{DeviceReadout, Readout},
};
use std::collections::BTreeMap;
use wire::{PacketKind, Risc, RunHostId, ZoneId};

/// Options for building traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Numbering of the events; `None` to detect it from fabric packets.
    pub numbering: Option<Numbering>,
    /// Width of the events' size field; `None` to detect it from sizes and posted writes.
    pub size_field: Option<SizeField>,
}

/// Trace of one program or one replay of it on one chip.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramTrace {
    /// Number of the chip.
    pub chip_id: u32,
    /// Program, encoded with its chip.
    pub program: RunHostId,
    /// Trace replay, if the program was replayed.
    pub trace: Option<TraceReplay>,
    /// Name of the op; empty if unknown.
    pub op_name: String,
    /// Zone ends and events, sorted by core, RISC and time.
    pub objects: Vec<TraceObject>,
}

impl ProgramTrace {
    /// Returns TT-Metal's name for the file.
    ///
    /// Path separators in the op's name become `_`.
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

    /// Sorts the objects of a file into traces.
    ///
    /// Objects contain their chip and program. If they do not (zones of releases before 2026), the
    /// file's name gives them. The file's name also gives the replay.
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

    /// Returns true if the file's name has TT-Metal's form for traces.
    #[must_use]
    pub fn is_file_name(name: &str) -> bool {
        name.starts_with("noc_trace_") && name.ends_with(".json")
    }
}

/// Returns the last number in a file's name that follows this text.
fn number_of_name(name: &str, word: &str) -> Option<u32> {
    let (_, rest) = name.rsplit_once(word)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// Returns the replay at the end of a file's name.
fn replay_of_name(name: &str) -> Option<TraceReplay> {
    let (_, number) = name.strip_suffix(".json")?.rsplit_once("_traceID")?;
    let number: u64 = number.parse().ok()?;
    Some(TraceReplay { trace_id: number >> 32, counter: number & u64::from(u32::MAX) })
}

/// Notes about unusable events, by kind, each with the first lane and time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceNotes {
    notes: BTreeMap<String, (u64, LaneId, u64)>,
}

impl TraceNotes {
    pub(crate) fn add(&mut self, what: impl Into<String>, lane: LaneId, time: u64) {
        let (count, ..) = self.notes.entry(what.into()).or_insert((0, lane, time));
        *count = count.saturating_add(1);
    }

    /// Returns the number of unusable events.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.notes.values().map(|(count, ..)| count).sum()
    }

    /// Returns one sentence for each kind: problem, number, and first occurrence.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.notes.iter().map(|(what, (count, lane, time))| {
            format!("{count} x {what}; first: {lane}, cycle {time}")
        })
    }
}

/// Traces of all programs of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NocTraces {
    /// Traces of each program or replay of a chip with any NoC event, sorted by chip and program.
    pub programs: Vec<ProgramTrace>,
    /// Notes about events that were left out, with the reasons.
    pub notes: TraceNotes,
}

impl NocTraces {
    /// Name of the file next to the traces with each chip's coordinates in a cluster.
    pub const CLUSTER_FILE: &'static str = "cluster_coordinates.json";
    /// Name of the file next to the traces with the connections between the chips of a mesh.
    /// Other tools read it. TT-Metal's runtime knows the connections; its profiler does not record
    /// them.
    pub const TOPOLOGY_FILE: &'static str = "topology.json";
    /// Text of `CLUSTER_FILE` if the chips' coordinates are unknown. No recording contains them.
    ///
    /// # Compatibility
    /// TT-Metal writes the same text for a board without such coordinates, such as a Blackhole
    /// p150.
    pub const UNKNOWN_CLUSTER: &'static str = "{\n  \"physical_chip_to_eth_coord\": null\n}";

    /// Collects the NoC events of a readout by program.
    ///
    /// `op_name` returns the name of a chip's program, if it has one. A chip without NoC events has
    /// no traces. On other chips every program has a trace, as in TT-Metal's files.
    #[must_use]
    pub fn of_readout<'a>(
        readout: &Readout,
        op_name: impl Fn(u32, RunHostId) -> Option<&'a str>,
        options: &TraceOptions,
    ) -> Self {
        let mut traces = Self::default();
        for device in &readout.devices {
            let numbering = options.numbering.or_else(|| numbering_of(device, &readout.zones));
            let Some(numbering) = numbering else { continue };
            let size_field = options.size_field.unwrap_or_else(|| {
                size_field_of(device, &readout.zones, numbering, &mut traces.notes)
            });
            let tiles = Tiles(TileMap::of_device(device));
            let chip = Chip { device, zones: &readout.zones, numbering, size_field, tiles };
            for ((program, trace), markers) in chip.markers(&mut traces.notes) {
                let op_name = op_name(device.chip.chip_id, program).unwrap_or_default();
                let objects = chip.objects(markers, op_name, program, &mut traces.notes);
                let (chip_id, op_name) = (device.chip.chip_id, op_name.to_owned());
                traces.programs.push(ProgramTrace { chip_id, program, trace, op_name, objects });
            }
        }
        traces
    }
}

/// Returns true if the record is a NoC event.
pub(crate) fn is_event(record: &Record<'_>, zones: &ZoneTable) -> bool {
    let is_data =
        matches!(record.kind, PacketKind::TimestampedData | PacketKind::TimestampedData16B);
    is_data && zones.id(record.zone) == u32::from(ZoneId::NOC_TRACING.0)
}

/// Detects the numbering of a chip's events; `None` if it has no events.
fn numbering_of(device: &DeviceReadout, zones: &ZoneTable) -> Option<Numbering> {
    let events = device.lanes.iter().flat_map(Lane::records);
    let events = events.filter(|record| is_event(record, zones));
    let mut numbers =
        events.filter_map(|record| record.data.first().copied().map(Payload::number)).peekable();
    numbers.peek()?;
    Some(Numbering::of_numbers(numbers))
}

/// Detects the width of the size field of a chip's events. Undecided events are noted.
fn size_field_of(
    device: &DeviceReadout,
    zones: &ZoneTable,
    numbering: Numbering,
    notes: &mut TraceNotes,
) -> SizeField {
    let events = || {
        let records = device.lanes.iter().flat_map(|lane| lane.records().map(|one| (lane.id, one)));
        records.filter(|(_, record)| is_event(record, zones))
    };
    let words = events().filter_map(|(_, record)| record.data.first().copied());
    let found = SizeField::of_events(words, numbering);
    if let Some((lane, record)) = events().next().filter(|_| found.undecided_count > 0) {
        let count = found.undecided_count;
        let what = format!(
            "log that leaves open whether {count} writes are posted, or of more than 8 KiB by \
             TT-Metal 0.81.1; taken as posted"
        );
        notes.add(what, lane, record.time);
    }
    found.field
}

/// Event with its lane and time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) lane: LaneId,
    pub(crate) time: u64,
    pub(crate) payload: Payload,
    pub(crate) trailer: Option<Trailer>,
}

impl Event {
    /// Returns the event if it is one of the tile's own NoC.
    pub(crate) const fn local(&self) -> Option<&LocalEvent> {
        match &self.payload {
            Payload::Local(event) => Some(event),
            _ => None,
        }
    }
}

/// Zone end with its lane and time.
#[derive(Clone, Debug)]
struct ZoneEnd<'a> {
    lane: LaneId,
    time: u64,
    id: u32,
    name: &'a str,
    is_start: bool,
}

#[derive(Default)]
struct Markers<'a> {
    events: Vec<Event>,
    zones: Vec<ZoneEnd<'a>>,
}

struct Chip<'a> {
    device: &'a DeviceReadout,
    zones: &'a ZoneTable,
    numbering: Numbering,
    size_field: SizeField,
    tiles: Tiles,
}

type ProgramKey = (RunHostId, Option<TraceReplay>);

impl<'a> Chip<'a> {
    /// Returns the markers of each program or replay that belong in a trace.
    fn markers(&self, notes: &mut TraceNotes) -> BTreeMap<ProgramKey, Markers<'a>> {
        let mut programs: BTreeMap<ProgramKey, Markers<'a>> = BTreeMap::new();
        for lane in &self.device.lanes {
            let mut runs = lane.runs.iter().peekable();
            let mut texts = lane.metadata.iter().peekable();
            let mut program = (RunHostId(0), None);
            for (index, record) in lane.records().enumerate() {
                while texts.next_if(|(of, _)| *of < index).is_some() {}
                let text = texts.next_if(|(of, _)| *of == index).map(|(_, text)| &**text);
                while let Some(run) = runs.next_if(|run| run.first_record <= index) {
                    program = (run.program, run.trace);
                }
                match record.kind {
                    PacketKind::ZoneStart | PacketKind::ZoneEnd => {
                        let name = self.zones.name(record.zone);
                        if is_traced(name, lane.id.risc) {
                            let is_start = record.kind == PacketKind::ZoneStart;
                            let (id, time) = (self.zones.id(record.zone), record.time);
                            let end = ZoneEnd { lane: lane.id, time, id, name, is_start };
                            programs.entry(program).or_default().zones.push(end);
                        }
                    }
                    _ if is_event(&record, self.zones) => {
                        match self.event(lane.id, &record, text) {
                            Ok(event) => programs.entry(program).or_default().events.push(event),
                            Err(error) => notes.add(error.to_string(), lane.id, record.time),
                        }
                    }
                    _ => {}
                }
            }
        }
        programs
    }

    /// Decodes an event. In a line of a log, the addresses are in the attached text.
    fn event(
        &self,
        lane: LaneId,
        record: &Record<'_>,
        text: Option<&str>,
    ) -> Result<Event, PayloadError> {
        let [bits, rest @ ..] = record.data else {
            return Err(PayloadError::UnknownKind { number: 0 });
        };
        let payload = Payload::decode(*bits, self.numbering, self.size_field)?;
        let trailer = rest.first().map(|&bits| Trailer::decode(bits));
        let trailer = trailer.or_else(|| Trailer::of_text(text?));
        Ok(Event { lane, time: record.time, payload, trailer })
    }

    fn objects(
        &self,
        Markers { mut events, zones }: Markers<'_>,
        op_name: &str,
        program: RunHostId,
        notes: &mut TraceNotes,
    ) -> Vec<TraceObject> {
        events.sort_by_key(|event| (event.lane, event.time));
        let tiles = &self.tiles;
        let joined = fabric::join(events, tiles, notes);
        let mut objects: Vec<((LaneId, u64, u32), TraceObject)> = Vec::new();
        let base = |lane: LaneId, time| TraceObject {
            op_name: Some(op_name.to_owned()),
            proc: lane.risc.label().to_owned(),
            run_host_id: Some(program.0),
            src_device_id: Some(lane.chip_id),
            sx: lane.core.x,
            sy: lane.core.y,
            timestamp: time,
            ..TraceObject::default()
        };
        for ZoneEnd { lane, time, id, name, is_start } in zones {
            let phase = if is_start { "ZONE_START" } else { "ZONE_END" };
            let (zone, zone_phase) = (Some(name.to_owned()), Some(phase.to_owned()));
            let object = TraceObject { zone, zone_phase, ..base(lane, time) };
            objects.push(((lane, time, id), object));
        }
        for joined in joined {
            let (lane, time) = joined.place();
            let object = match joined {
                Joined::Plain(event) => tiles.local_object(base(lane, time), &event, notes),
                Joined::Packet(packet) => tiles.fabric_object(base(lane, time), &packet, notes),
            };
            let key = (lane, time, u32::from(ZoneId::NOC_TRACING.0));
            objects.extend(object.map(|object| (key, object)));
        }
        objects.sort_by_key(|&(key, _)| key);
        objects.into_iter().map(|(_, object)| object).collect()
    }
}

/// Returns true if ends of the zone belong in a trace.
fn is_traced(name: &str, risc: Risc) -> bool {
    const LEFT_OUT: [&str; 3] =
        ["SYNC-ZONE-SENDER", "SYNC-ZONE-RECEIVER", "PROFILER-NOC-QUICK-SEND"];
    let moves_data = matches!(risc, Risc::Brisc | Risc::Ncrisc);
    !LEFT_OUT.contains(&name)
        && !name.ends_with("-FW")
        && (!name.ends_with("-KERNEL") || moves_data)
}

/// Tiles of a chip, if its architecture is known.
pub(crate) struct Tiles(Option<TileMap>);

impl Tiles {
    /// Returns the tile of the coordinates.
    pub(crate) fn tile(&self, coord: RawCoord, noc: Noc) -> Option<Noc0Coord> {
        self.0.as_ref()?.noc0(coord, noc)
    }

    pub(crate) fn is_tensix(&self, tile: Noc0Coord) -> bool {
        self.0.as_ref().is_some_and(|map| map.is_tensix(tile))
    }

    pub(crate) fn ethernet_channel(&self, tile: Noc0Coord) -> Option<u16> {
        self.0.as_ref()?.ethernet_channel(tile)
    }

    /// Returns the tile of the coordinates, or notes that it is unknown.
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

    fn local_object(
        &self,
        base: TraceObject,
        event: &Event,
        notes: &mut TraceNotes,
    ) -> Option<TraceObject> {
        let Some(local) = event.local() else {
            notes.add("route of a fabric packet without its packet", event.lane, event.time);
            return None;
        };
        let mut object = with_transfer(base, local, local.kind);
        if let Some(target) = local.own_target() {
            let first = self.noted_tile(target, local.noc, event, notes);
            object.unplaced_target = first.is_none().then_some(target);
            if local.kind == EventKind::WriteMulticast {
                let last = self.noted_tile(local.multicast_end, local.noc, event, notes);
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

    fn fabric_object(
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

    /// Returns the targets of a packet with the bytes for each. The last of several targets gets
    /// the rest.
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

/// Decodes the route of a packet; `None` if its word does not match the packet's encoding.
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

/// Decodes two bits per hop: the distance to the first receiving chip, and the number of receiving
/// chips.
#[expect(clippy::arithmetic_side_effects, reason = "a word has sixteen fields of two bits")]
fn low_latency_hops(value: u32) -> (u32, u32) {
    /// The chip forwards the packet without receiving it.
    const FORWARD: u32 = 2;
    let fields = (0..16).map(|hop| value >> (2 * hop) & 3);
    let passed = fields.clone().take_while(|&field| field == FORWARD).count();
    let taking = fields.skip(passed).take_while(|field| field & 1 != 0).count();
    let hops = |count| u32::try_from(count).unwrap_or(0);
    (hops(passed) + 1, hops(taking))
}
