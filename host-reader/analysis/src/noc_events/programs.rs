//! Programs that recorded NoC events, read one after the other as traces or as traffic.

use crate::noc_events::{
    fabric::{self, Joined},
    lanes::{Evidence, LanePrograms, Marker, NocLane, NocLanes, ProgramKey},
    object::TraceObject,
    payload::Payload,
    size_field::SizeField,
    tile::TileMap,
    trace::{Event, ProgramTrace, Tiles, TraceNotes, TraceOptions},
    traffic::Traffic,
    traffic_sums::Sums,
    transfer::TrafficEvent,
    version::PayloadVersion,
};
use reader::{
    lane::LaneId,
    names::ZoneTable,
    readout::{DeviceReadout, Readout},
};
use std::{cmp::Reverse, collections::BinaryHeap};
use wire::{RunHostId, ZoneId, noc_event::NocEventKind};

/// Programs of a recording that have NoC events. They are read one after the other.
#[derive(Debug)]
pub struct NocPrograms<'a> {
    chips: Vec<Chip<'a>>,
    /// Notes about events that cannot be decoded.
    unreadable: TraceNotes,
    /// True if there are events, of an unknown version.
    is_unknown: bool,
}

impl<'a> NocPrograms<'a> {
    /// Combines the lanes with the names and chips of a readout. The lanes in the readout itself
    /// are not used.
    #[must_use]
    pub fn new(lanes: &'a NocLanes, readout: &'a Readout, options: &TraceOptions) -> Self {
        let mut unreadable = TraceNotes::default();
        let chip_ids = readout.devices.iter().map(|device| device.chip.chip_id);
        let evidence = Evidence::from_lanes(chip_ids.flat_map(|chip_id| lanes.chip_lanes(chip_id)));
        evidence.add_without_value(&mut unreadable);
        // One run of one program records all chips, so all have the same version.
        let version = options.version.or_else(|| evidence.version(&mut unreadable));
        let Some(version) = version else {
            return Self { chips: Vec::new(), unreadable, is_unknown: !evidence.is_empty() };
        };
        let size_field =
            options.size_field.unwrap_or_else(|| evidence.size_field(version, &mut unreadable));
        let mut chips = Vec::new();
        for DeviceReadout { chip, .. } in &readout.devices {
            let chip_lanes = lanes.chip_lanes(chip.chip_id);
            if chip_lanes.iter().all(|lane| !lane.has_events()) {
                continue;
            }
            let tiles = Tiles(TileMap::from_lane_ids(chip, lanes.ids(chip.chip_id)));
            let (chip_id, zones) = (chip.chip_id, &readout.zones);
            let chip = Chip { chip_id, lanes: chip_lanes, zones, version, size_field, tiles };
            if !evidence.agrees_with(version) {
                chip.add_unreadable(&mut unreadable);
            }
            chips.push(chip);
        }
        Self { chips, unreadable, is_unknown: false }
    }

    /// Returns true if there are events of an unknown version. No program has a trace then.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    /// Returns true if no program would have a trace.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chips.iter().all(|chip| ChipPrograms::new(chip).next().is_none())
    }

    /// Returns the trace of each program and replay, sorted by chip and program.
    ///
    /// `op_name` returns the name of a chip's program, if it has one. Notes are added as the
    /// iterator advances.
    pub fn traces<'n>(
        &self,
        op_name: impl Fn(u32, RunHostId) -> Option<&'n str>,
        notes: &mut TraceNotes,
    ) -> impl Iterator<Item = ProgramTrace> {
        notes.merge(&self.unreadable);
        let programs = self.chips.iter().flat_map(|chip| {
            ChipPrograms::new(chip).map(move |(program, markers)| (chip, program, markers))
        });
        programs.map(move |(chip, (program, trace), markers)| {
            let chip_id = chip.chip_id;
            let op_name = op_name(chip_id, program).unwrap_or_default();
            let objects = chip.objects(markers, op_name, program, notes);
            ProgramTrace { chip_id, program, trace, op_name: op_name.to_owned(), objects }
        })
    }

    /// Returns the traffic of all programs, with notes about events that the traffic excludes.
    #[must_use]
    pub fn traffic<'n>(
        &self,
        op_name: impl Fn(u32, RunHostId) -> Option<&'n str>,
    ) -> (Traffic, TraceNotes) {
        let (mut sums, mut notes) = (Sums::default(), self.unreadable.clone());
        for chip in &self.chips {
            for ((program, _), markers) in ChipPrograms::new(chip) {
                let op_name = op_name(chip.chip_id, program).unwrap_or_default();
                chip.add_traffic(program, markers.events, op_name, &mut sums, &mut notes);
            }
        }
        (sums.finish(|chip_id| self.grid(chip_id)), notes)
    }

    /// Returns the columns and rows of a chip's tiles; `None` if the chip has no events or an
    /// unknown architecture.
    #[must_use]
    pub fn grid(&self, chip_id: u32) -> Option<(u16, u16)> {
        let chip = self.chips.iter().find(|chip| chip.chip_id == chip_id)?;
        chip.tiles.0.as_ref().map(TileMap::grid)
    }
}

/// Start or end of a zone, with the lane and time of its record.
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

#[derive(Debug)]
struct Chip<'a> {
    chip_id: u32,
    lanes: &'a [NocLane],
    zones: &'a ZoneTable,
    version: PayloadVersion,
    size_field: SizeField,
    tiles: Tiles,
}

/// Iterator over the programs of a chip, each with its markers.
struct ChipPrograms<'c, 'a> {
    chip: &'c Chip<'a>,
    lanes: Vec<LanePrograms<'a>>,
    /// Next program and index of each lane that has programs left.
    heads: BinaryHeap<Reverse<(ProgramKey, usize)>>,
}

impl<'c, 'a> ChipPrograms<'c, 'a> {
    fn new(chip: &'c Chip<'a>) -> Self {
        let lanes: Vec<_> = chip.lanes.iter().map(NocLane::programs).collect();
        let heads = lanes.iter().enumerate();
        let heads = heads.filter_map(|(at, lane)| Some(Reverse((lane.peek()?, at)))).collect();
        Self { chip, lanes, heads }
    }

    /// Adds the markers of the next program of the lane with index `at`. Undecodable events are
    /// skipped, because [`NocPrograms`] already has notes about them.
    fn take(&mut self, at: usize, markers: &mut Markers<'a>) {
        let Chip { zones, version, size_field, .. } = *self.chip;
        let found = self.chip.lanes.get(at).zip(self.lanes.get_mut(at));
        let Some((NocLane { id: lane, .. }, programs)) = found else { return };
        let lane = *lane;
        programs.take_markers(|time, marker| match marker {
            Marker::Zone { zone, is_start } => {
                let (id, name) = (zones.id(zone), zones.name(zone));
                markers.zones.push(ZoneEnd { lane, time, id, name, is_start });
            }
            Marker::Event { bits, trailer } => {
                if let Ok(payload) = Payload::decode(bits, version, size_field) {
                    markers.events.push(Event { lane, time, payload, trailer });
                }
            }
        });
        self.heads.extend(programs.peek().map(|program| Reverse((program, at))));
    }
}

impl<'a> Iterator for ChipPrograms<'_, 'a> {
    type Item = (ProgramKey, Markers<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let &Reverse((program, _)) = self.heads.peek()?;
            let mut markers = Markers::default();
            while let Some(&Reverse((_, at))) =
                self.heads.peek().filter(|Reverse((next, _))| *next == program)
            {
                self.heads.pop();
                self.take(at, &mut markers);
            }
            if !markers.events.is_empty() || !markers.zones.is_empty() {
                return Some((program, markers));
            }
        }
    }
}

impl Chip<'_> {
    /// Adds notes about events that cannot be decoded.
    fn add_unreadable(&self, notes: &mut TraceNotes) {
        for lane in self.lanes {
            let mut programs = lane.programs();
            while programs.peek().is_some() {
                programs.take_markers(|time, marker| {
                    let Marker::Event { bits, .. } = marker else { return };
                    if let Err(error) = Payload::decode(bits, self.version, self.size_field) {
                        notes.add(error.to_string(), lane.id, time);
                    }
                });
            }
        }
    }

    /// Adds the events of a program to the sums of the traffic.
    fn add_traffic(
        &self,
        program: RunHostId,
        mut events: Vec<Event>,
        op_name: &str,
        sums: &mut Sums,
        notes: &mut TraceNotes,
    ) {
        events.sort_by_key(|event| (event.lane, event.time));
        let joined = fabric::join(events, &self.tiles, notes);
        for lane_items in joined.chunk_by(|one, other| one.place().0 == other.place().0) {
            let Some((LaneId { core, risc, .. }, _)) = lane_items.first().map(Joined::place) else {
                continue;
            };
            let events = lane_items.iter().filter_map(|joined| {
                let event = match joined {
                    Joined::Plain(event) => self.tiles.local_event(event, notes),
                    Joined::Packet(packet) => {
                        let object = TraceObject::default();
                        let object = self.tiles.fabric_object(object, packet, notes)?;
                        let kind = NocEventKind::from_label(object.event_type.as_deref()?)?;
                        let event = TrafficEvent::from_object(kind, &object);
                        Some(TrafficEvent { core, time: packet.local.time, ..event })
                    }
                };
                Some((op_name, event?))
            });
            sums.add_risc((self.chip_id, program), (core, risc.label()), events);
        }
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
