//! NoC traces: the NoC events of every program, in the format of TT-Metal's files.

use crate::{
    counters::is_data,
    noc_events::{
        fabric::Packet,
        lanes::NocLanes,
        object::{Destination, FabricMux, FabricSend, TraceObject},
        payload::{FabricEvent, LocalEvent, Noc, Payload, RawCoord, Routing},
        programs::NocPrograms,
        size_field::SizeField,
        tile::TileMap,
        transfer::{Target, TrafficEvent},
        version::PayloadVersion,
    },
};
use reader::{
    lane::{LaneId, Record, TraceReplay},
    mesh::Noc0Coord,
    names::ZoneTable,
    readout::Readout,
};
use std::collections::BTreeMap;
use wire::{
    Risc, RunHostId, ZoneId,
    noc_event::{FabricRoute, NocEventKind, NocTrailer},
};

/// Options for building traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceOptions {
    /// Version of the events; `None` to detect it from their fields.
    pub version: Option<PayloadVersion>,
    /// Width of the size field of events; `None` to detect it from sizes and posted writes.
    pub size_field: Option<SizeField>,
}

/// Trace of one program, or of one of its replays, on one chip.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramTrace {
    /// Number of the chip.
    pub chip_id: u32,
    /// Id of the program. The chip is part of the id.
    pub program: RunHostId,
    /// Trace replay, if the program was replayed.
    pub trace: Option<TraceReplay>,
    /// Name of the op; empty if unknown.
    pub op_name: String,
    /// Starts and ends of zones, and events, sorted by core, RISC and time.
    pub objects: Vec<TraceObject>,
}

impl ProgramTrace {
    /// Returns the file name that TT-Metal uses.
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

    /// Groups the objects of a file into traces.
    ///
    /// The chip and program are fields of each object. Zones in files of releases before 2026 lack
    /// these fields, so the file name supplies them. The replay always comes from the file name.
    ///
    /// ```
    /// use analysis::noc_events::{ProgramTrace, read_json};
    /// let text = br#"[{"proc": "BRISC", "sx": 1, "sy": 2, "timestamp": 7, "type": "WRITE_"}]"#;
    /// let objects = read_json(text).objects;
    /// let name = "noc_trace_dev0_ID0_traceID8589934595.json";
    /// let traces = ProgramTrace::from_objects(objects, name);
    /// assert_eq!(traces[0].trace.map(|replay| (replay.trace_id, replay.counter)), Some((2, 3)));
    /// assert_eq!(traces[0].file_name(), name);
    /// ```
    #[must_use]
    pub fn from_objects(objects: Vec<TraceObject>, file_name: &str) -> Vec<Self> {
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

    /// Returns the number of objects that are events, not starts or ends of zones.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        self.objects.iter().filter(|object| object.zone.is_none()).count() as u64
    }

    /// Returns the number of launches: the maximum number of kernel starts on one RISC.
    #[must_use]
    pub fn kernel_count(&self) -> u64 {
        let mut counts: BTreeMap<_, u64> = BTreeMap::new();
        for object in self.objects.iter().filter(|object| object.is_kernel_start()) {
            let count = counts.entry((object.sx, object.sy, &object.proc)).or_default();
            *count = count.saturating_add(1);
        }
        counts.into_values().max().unwrap_or(0)
    }

    /// Returns the chip, program and replay in a file name; `None` for each missing part.
    pub(super) fn key_of_file_name(name: &str) -> (Option<u32>, Option<u32>, Option<TraceReplay>) {
        (number_of_name(name, "_dev"), number_of_name(name, "_ID"), replay_of_name(name))
    }

    /// Returns true if `name` looks like the name of a trace file of TT-Metal.
    #[must_use]
    pub fn is_file_name(name: &str) -> bool {
        name.starts_with("noc_trace_") && name.ends_with(".json")
    }
}

/// Returns the number after the last occurrence of `word` in a file name.
fn number_of_name(name: &str, word: &str) -> Option<u32> {
    let (_, rest) = name.rsplit_once(word)?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// Returns the replay at the end of a file name.
fn replay_of_name(name: &str) -> Option<TraceReplay> {
    let (_, number) = name.strip_suffix(".json")?.rsplit_once("_traceID")?;
    let number: u64 = number.parse().ok()?;
    Some(TraceReplay { trace_id: number >> 32, counter: number & u64::from(u32::MAX) })
}

/// Notes about unusable events, grouped by problem. Each note has the lane and time of the first
/// event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceNotes {
    notes: BTreeMap<String, (u64, LaneId, u64)>,
}

impl TraceNotes {
    pub(crate) fn add(&mut self, what: impl Into<String>, lane: LaneId, time: u64) {
        self.add_events(1, what, lane, time);
    }

    /// Adds a problem of several events.
    pub(super) fn add_events(
        &mut self,
        more: u64,
        what: impl Into<String>,
        lane: LaneId,
        time: u64,
    ) {
        let (count, ..) = self.notes.entry(what.into()).or_insert((0, lane, time));
        *count = count.saturating_add(more);
    }

    /// Adds the notes of `other`. If both have a note on the same problem, the lane and time of the
    /// note in `self` are kept.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (what, &(more, lane, time)) in &other.notes {
            let (count, ..) = self.notes.entry(what.clone()).or_insert((0, lane, time));
            *count = count.saturating_add(more);
        }
    }

    /// Returns the total number of problems.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.notes.values().map(|(count, ..)| count).sum()
    }

    /// Returns one sentence for each problem, with its count and first occurrence.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.notes.iter().map(|(what, (count, lane, time))| {
            format!("{count} x {what}; first: {lane}, cycle {time}")
        })
    }
}

/// Traces of all programs of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NocTraces {
    /// Traces of each chip with NoC events, one per program or replay, sorted by chip and program.
    pub programs: Vec<ProgramTrace>,
    /// Notes about events that were left out, with the reasons.
    pub notes: TraceNotes,
}

impl NocTraces {
    /// Name of the file with the coordinates of each chip in a cluster. The file is next to the
    /// traces.
    pub const CLUSTER_FILE: &'static str = "cluster_coordinates.json";
    /// Name of the file with the connections between the chips of a mesh. The file is next to the
    /// traces.
    ///
    /// TT-Metal's runtime knows these connections, but its profiler does not record them. Other
    /// tools read the file.
    pub const TOPOLOGY_FILE: &'static str = "topology.json";
    /// Content of `CLUSTER_FILE` if the chips' coordinates are unknown. No recording contains them.
    ///
    /// # Compatibility
    /// TT-Metal writes the same text for a board without such coordinates, such as a Blackhole
    /// p150.
    pub const UNKNOWN_CLUSTER: &'static str = "{\n  \"physical_chip_to_eth_coord\": null\n}";

    /// Collects the NoC events of a readout by program.
    ///
    /// `op_name` returns the name of a program on a chip, if the program has a name. A chip without
    /// NoC events has no traces. On a chip with NoC events, every program has a trace, as in
    /// TT-Metal's files.
    #[must_use]
    pub fn from_readout<'a>(
        readout: &Readout,
        op_name: impl Fn(u32, RunHostId) -> Option<&'a str>,
        options: &TraceOptions,
    ) -> Self {
        let lanes = NocLanes::from_readout(readout);
        let programs = NocPrograms::new(&lanes, readout, options);
        let mut notes = TraceNotes::default();
        let traces = programs.traces(op_name, &mut notes).collect();
        Self { programs: traces, notes }
    }
}

/// Returns true if the record is a NoC event.
pub(crate) fn is_event(record: &Record<'_>, zones: &ZoneTable) -> bool {
    is_data(record.kind) && zones.id(record.zone) == u32::from(ZoneId::NOC_TRACING.0)
}

/// Decoded event, with the lane and time of its record.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) lane: LaneId,
    pub(crate) time: u64,
    pub(crate) payload: Payload,
    pub(crate) trailer: Option<NocTrailer>,
}

impl Event {
    /// Returns the event if it took place on the chip's own NoC.
    pub(crate) const fn local(&self) -> Option<&LocalEvent> {
        match &self.payload {
            Payload::Local(event) => Some(event),
            _ => None,
        }
    }

    /// Returns the event if it is a fabric packet or part of one.
    pub(crate) const fn fabric(&self) -> Option<&FabricEvent> {
        match &self.payload {
            Payload::Fabric(event) => Some(event),
            _ => None,
        }
    }
}

/// Returns true if traces include zones with this name on this RISC.
pub(super) fn is_traced(name: &str, risc: Risc) -> bool {
    const LEFT_OUT: [&str; 3] =
        ["SYNC-ZONE-SENDER", "SYNC-ZONE-RECEIVER", "PROFILER-NOC-QUICK-SEND"];
    let moves_data = matches!(risc, Risc::Brisc | Risc::Ncrisc);
    !LEFT_OUT.contains(&name)
        && !name.ends_with("-FW")
        && (!name.ends_with("-KERNEL") || moves_data)
}

/// Note about a route event whose previous event is not a fabric packet.
const ROUTE_ALONE: &str = "route of a fabric packet without its packet";

/// Target of an event: the kernel's coordinates and the corresponding tiles.
struct EventTarget {
    target: RawCoord,
    first: Option<Noc0Coord>,
    /// Tile of the corner at which the rectangle of a multicast ends.
    last: Option<Noc0Coord>,
}

/// Tiles of a chip, if its architecture is known.
#[derive(Debug)]
pub(crate) struct Tiles(pub(super) Option<TileMap>);

impl Tiles {
    /// Returns the tile for a kernel's coordinates on a NoC.
    pub(crate) fn tile(&self, coord: RawCoord, noc: Noc) -> Option<Noc0Coord> {
        self.0.as_ref()?.noc0(coord, noc)
    }

    /// Returns the tile for the coordinates. If the tile is unknown, adds a note.
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
            let what = format!("target ({x},{y}) on {} is no known tile", noc.label());
            notes.add(what, event.lane, event.time);
        }
        tile
    }

    /// Returns the target of an event; `None` if the event itself contains no target.
    fn place(
        &self,
        local: &LocalEvent,
        event: &Event,
        notes: &mut TraceNotes,
    ) -> Option<EventTarget> {
        let target = local.own_target()?;
        let first = self.noted_tile(target, local.noc, event, notes);
        let last = match local.kind {
            NocEventKind::WriteMulticast => {
                self.noted_tile(local.multicast_end, local.noc, event, notes)
            }
            _ => None,
        };
        Some(EventTarget { target, first, last })
    }

    /// Converts a local event to the form that the traffic sums use.
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
            Some(EventTarget { first, last, .. }) if kind.is_multicast() => {
                Target::rectangle(first, last)
            }
            Some(EventTarget { target, first, .. }) => {
                first.map_or(Target::Unplaced(target), Target::Tile)
            }
        };
        let byte_count = local.byte_count.into();
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
        if let Some(EventTarget { target, first, last }) = self.place(local, event, notes) {
            object.unplaced_target = first.is_none().then_some(target);
            if local.kind == NocEventKind::WriteMulticast {
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
            object.dst_addr = Some(trailer.remote_address);
            object.src_addr = Some(trailer.local_address);
            object.noc_status_counter = u16::try_from(trailer.noc_counter).ok();
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
        let first = packet.writes.first()?;
        let write = first.fabric()?;
        let Some(mut send) = send_of(write.packet, packet.routing) else {
            let what = "fabric packet whose route has another form than it says";
            notes.add(what, first.lane, first.time);
            return None;
        };
        let router = match &packet.mux {
            None => self.tile(local.target, local.noc),
            Some(mux) => {
                let onward = mux.local()?;
                let tile = self.tile(local.target, local.noc)?;
                let noc = onward.noc.label().to_owned();
                send.fabric_mux = Some(FabricMux { noc, x: tile.x, y: tile.y });
                self.tile(onward.target, onward.noc)
            }
        };
        send.eth_chan = router.and_then(|tile| self.0.as_ref()?.ethernet_channel(tile));
        if send.eth_chan.is_none() {
            notes.add("fabric packet whose router is no Ethernet tile", first.lane, first.time);
            return None;
        }
        let mut object = with_transfer(base, local, write.kind);
        object.fabric_send = Some(send);
        object.dst = Some(self.destinations(packet, local, notes)?);
        Some(object)
    }

    /// Returns the targets of a packet with the bytes for each target. The last of several targets
    /// gets the remaining bytes.
    fn destinations(
        &self,
        packet: &Packet,
        local: &LocalEvent,
        notes: &mut TraceNotes,
    ) -> Option<Vec<Destination>> {
        let whole = i64::from(local.byte_count);
        let mut rest = whole;
        let mut targets = Vec::new();
        for event in &packet.writes {
            let write = event.fabric()?;
            let num_bytes = match write.part {
                Some(part) => i64::from(part.chunk_bytes),
                None if write.kind.is_fabric_unicast() => whole,
                None => {
                    notes.add("multicast of the fabric", event.lane, event.time);
                    return None;
                }
            };
            let tile = self.noted_tile(write.target, write.noc, event, notes)?;
            rest = rest.saturating_sub(num_bytes);
            let noc = write.noc.label().to_owned();
            targets.push(Destination { dx: tile.x, dy: tile.y, noc, num_bytes });
        }
        let is_scatter = packet.writes.first()?.fabric()?.part.is_some();
        if let Some(last) = targets.last_mut().filter(|_| is_scatter) {
            last.num_bytes = rest;
        }
        Some(targets)
    }
}

fn with_transfer(base: TraceObject, local: &LocalEvent, kind: NocEventKind) -> TraceObject {
    TraceObject {
        event_type: Some(kind.label().to_owned()),
        noc: Some(local.noc.label().to_owned()),
        num_bytes: Some(local.byte_count.into()),
        vc: Some(local.virtual_channel),
        ..base
    }
}

/// Decodes the route of a packet; `None` if the recorded route does not match the encoding that the
/// packet names.
fn send_of(form: FabricRoute, routing: Routing) -> Option<FabricSend> {
    match (form, routing) {
        (FabricRoute::Regular, Routing::Line { value }) => {
            Some(line_send(value >> 4 & 0xF, value & 0xF))
        }
        (FabricRoute::LowLatency, Routing::Line { value }) => {
            let (start_distance, range) = low_latency_hops(value);
            Some(line_send(start_distance, range))
        }
        (
            FabricRoute::LowLatencyMesh,
            Routing::Mesh { north_south_hops, east_hops, west_hops, is_multicast },
        ) => Some(FabricSend {
            ns_hops: Some(north_south_hops),
            e_hops: Some(east_hops),
            w_hops: Some(west_hops),
            is_mcast: Some(is_multicast),
            ..FabricSend::default()
        }),
        (FabricRoute::LowLatencyMesh | FabricRoute::DynamicMesh, Routing::Unrecorded) => {
            Some(FabricSend::default())
        }
        _ => None,
    }
}

fn line_send(start_distance: u32, range: u32) -> FabricSend {
    FabricSend { start_distance: Some(start_distance), range: Some(range), ..FabricSend::default() }
}

/// Decodes a route with two bits per hop. Returns the distance to the first chip that receives the
/// packet, and the number of chips that receive it.
#[expect(clippy::arithmetic_side_effects, reason = "a word has sixteen fields of two bits")]
fn low_latency_hops(value: u32) -> (u32, u32) {
    /// The chip forwards the packet without receiving it.
    const FORWARD: u32 = 2;
    let fields = (0..16).map(|hop| value >> (2 * hop) & 3);
    let passed = fields.clone().take_while(|&field| field == FORWARD).count();
    let taking = fields.skip(passed).take_while(|field| field & 1 != 0).count();
    let [passed, taking] = [passed, taking].map(|count| u32::try_from(count).unwrap_or(0));
    (passed + 1, taking)
}
