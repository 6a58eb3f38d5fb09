//! Source locations in Tracy: name, location and colour of each zone of each RISC.
//!
//! Tracy supports 32,767 source locations. Locations of firmware zones contain the number of their
//! op, as in TT-Metal's traces. When the table is full, further zones get a location without the
//! op's number. If that location is also missing, they get one without remarks such as "drawn
//! shorter than recorded", and finally one without the zone's name.
//!
//! # Compatibility
//! Tracy's `server/TracyWorker.cpp`: the limit. tt-metal's `tt_metal/impl/profiler/profiler.cpp`:
//! the op's number is stored in the field for the function's name.

use super::lanes::{HOST_RGB, OP_RGB, Rgb, zone_rgb};
use crate::{NameId, Trace, TraceDevice, TraceHost, TraceLane, TraceNames, TraceZone};
use host_events::{HostColor, HostSource};
use std::{borrow::Cow, collections::HashMap};
use wire::{Risc, RunHostId};

/// Maximum number of source locations in a viewer.
pub(super) const PLACE_LIMIT: usize = 32_767;

/// One source location.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct SourcePlace<'a> {
    pub(super) name: Cow<'a, str>,
    /// Op number and remarks.
    pub(super) function: Cow<'a, str>,
    pub(super) file: Cow<'a, str>,
    pub(super) line: u32,
    pub(super) rgb: Rgb,
}

/// Position of a source location in the table.
pub(super) type PlaceNumber = u16;

/// Number of the op or id of the replayed trace that is part of a zone's source location.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum OpTag {
    #[default]
    None,
    Op(u32),
    Trace(u64),
}

/// Key of a source location in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    name: NameId,
    risc: Risc,
    op: OpTag,
    has_synthetic_end: bool,
    is_clipped: bool,
}

impl Key {
    const fn plain(name: NameId, risc: Risc) -> Self {
        Self { name, risc, op: OpTag::None, has_synthetic_end: false, is_clipped: false }
    }

    fn function(&self) -> String {
        let op = match self.op {
            OpTag::None => None,
            OpTag::Op(id) => Some(format!("OP ID:{id}")),
            OpTag::Trace(id) => Some(format!("TRACE ID:{id}")),
        };
        let open = self.has_synthetic_end.then(|| "end not recorded".to_owned());
        let clipped = self.is_clipped.then(|| CLIPPED.to_owned());
        [op, open, clipped].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// All source locations of a scene.
pub(super) struct PlaceTable<'a> {
    names: &'a TraceNames<'a>,
    /// Locations, by number.
    pub(super) places: Vec<SourcePlace<'a>>,
    /// Locations that show neither an op nor remarks, by name and RISC.
    plain: Vec<Option<PlaceNumber>>,
    special: HashMap<Key, PlaceNumber>,
    /// Locations of the host's zones. The colour is part of the key, because zones with the same
    /// source may have different colours.
    host: HashMap<(&'a HostSource, Option<HostColor>), PlaceNumber>,
    /// Number of zones that have to share a location with other zones, because the table is full.
    pub(super) vague_zone_count: u64,
}

impl<'a> PlaceTable<'a> {
    /// Creates a table that already contains, for every name, a location that shows neither an op
    /// nor remarks.
    pub(super) fn new(trace: &'a Trace<'a>) -> Self {
        let names = &trace.names;
        let mut table = Self {
            names,
            places: Vec::new(),
            plain: vec![None; names.as_slice().len() * Risc::ALL.len()],
            special: HashMap::new(),
            host: HashMap::new(),
            vague_zone_count: 0,
        };
        table.places.push(SourcePlace::new("op", OP_RGB));
        for risc in trace.risc_kinds() {
            table.places.push(SourcePlace::new(UNNAMED, zone_rgb(risc, "")));
        }
        for lane in trace.lanes() {
            for zone in lane.zones.iter() {
                table.add_plain(zone.name, lane.id.risc);
            }
        }
        table.record_host(&trace.host);
        table
    }

    /// Location shared by all ops that have no location of their own.
    pub(super) const OP: PlaceNumber = 0;

    const fn unnamed(risc: Risc) -> PlaceNumber {
        1 + risc as PlaceNumber
    }

    fn add_plain(&mut self, name: NameId, risc: Risc) {
        let slot = name.index() * Risc::ALL.len() + risc as usize;
        if self.plain.get(slot).is_some_and(Option::is_none) {
            self.plain[slot] = self.push(&Key::plain(name, risc));
        }
    }

    fn push(&mut self, key: &Key) -> Option<PlaceNumber> {
        let name = self.names.get(key.name)?;
        self.push_place(SourcePlace {
            name: Cow::Borrowed(&name.label),
            function: key.function().into(),
            file: Cow::Borrowed(name.file),
            line: name.line,
            rgb: zone_rgb(key.risc, &name.label),
        })
    }

    fn push_place(&mut self, place: SourcePlace<'a>) -> Option<PlaceNumber> {
        if self.places.len() >= PLACE_LIMIT {
            return None;
        }
        self.places.push(place);
        PlaceNumber::try_from(self.places.len() - 1).ok()
    }

    /// Returns the location for ops with the name `name`.
    pub(super) fn op_place(&mut self, name: &'a str) -> PlaceNumber {
        self.push_place(SourcePlace::new(name, OP_RGB)).unwrap_or(Self::OP)
    }

    fn record_host(&mut self, host: &TraceHost<'a>) {
        for thread in &host.threads {
            for (_, event, source) in thread.zone_events() {
                let key = (source, event.color);
                if self.host.contains_key(&key) {
                    continue;
                }
                let place = SourcePlace::from_host(source, event.color);
                let Some(number) = self.push_place(place) else { return };
                self.host.insert(key, number);
            }
        }
    }

    /// Returns the location of a zone of the host.
    pub(super) fn host_place(
        &mut self,
        source: &HostSource,
        color: Option<HostColor>,
    ) -> PlaceNumber {
        match self.host.get(&(source, color)) {
            Some(&number) => number,
            None => self.vague(Self::unnamed(Risc::Brisc)),
        }
    }

    /// Returns the location of each zone of a lane.
    pub(super) fn lane_places(
        &mut self,
        lane: &TraceLane<'_>,
        device: &TraceDevice<'_>,
    ) -> Vec<PlaceNumber> {
        let zones = lane.zones.iter();
        zones.map(|zone| self.zone_place(&self.key(zone, lane, device))).collect()
    }

    fn key(&self, zone: &TraceZone, lane: &TraceLane<'_>, device: &TraceDevice<'_>) -> Key {
        let is_firmware = self.names.get(zone.name).is_some_and(|name| name.is_firmware);
        Key {
            name: zone.name,
            risc: lane.id.risc,
            op: if is_firmware { op_tag(zone, lane, device) } else { OpTag::None },
            has_synthetic_end: zone.has_synthetic_end,
            is_clipped: zone.is_clipped,
        }
    }

    fn zone_place(&mut self, key: &Key) -> PlaceNumber {
        let slot = key.name.index() * Risc::ALL.len() + key.risc as usize;
        let plain = self.plain.get(slot).copied().flatten();
        if *key == Key::plain(key.name, key.risc) {
            return plain.unwrap_or_else(|| self.vague(Self::unnamed(key.risc)));
        }
        if let Some(&known) = self.special.get(key) {
            return known;
        }
        match self.push(key) {
            Some(number) => *self.special.entry(*key).or_insert(number),
            None if key.op != OpTag::None => self.without_op(key),
            None => self.vague(plain.unwrap_or(Self::unnamed(key.risc))),
        }
    }

    /// Returns a location without the op, for use when the table is full. Zones of several ops
    /// share this location.
    fn without_op(&mut self, key: &Key) -> PlaceNumber {
        let vague_before = self.vague_zone_count;
        let number = self.zone_place(&Key { op: OpTag::None, ..*key });
        self.vague_zone_count = vague_before;
        self.vague(number)
    }

    const fn vague(&mut self, number: PlaceNumber) -> PlaceNumber {
        self.vague_zone_count += 1;
        number
    }

    /// Returns the location with this number.
    pub(super) fn place(&self, number: PlaceNumber) -> Option<&SourcePlace<'a>> {
        self.places.get(usize::from(number))
    }
}

/// Remark on zones that are drawn shorter than recorded.
pub(super) const CLIPPED: &str = "drawn shorter than recorded";

/// Name shown for zones if there is no room for names of their own.
const UNNAMED: &str = "(one name too many for Tracy)";

impl<'a> SourcePlace<'a> {
    /// Returns the location with its own copies of the texts.
    pub(super) fn with_own_texts(&self) -> SourcePlace<'static> {
        let [name, function, file] = [&self.name, &self.function, &self.file]
            .map(|text| Cow::Owned(text.clone().into_owned()));
        SourcePlace { name, function, file, line: self.line, rgb: self.rgb }
    }

    /// Returns the shared location that is used for zones if there is no room for locations of
    /// their own.
    pub(super) const fn unnamed(rgb: Rgb) -> Self {
        Self::new(UNNAMED, rgb)
    }

    const fn new(name: &'a str, rgb: Rgb) -> Self {
        Self {
            name: Cow::Borrowed(name),
            function: Cow::Borrowed(""),
            file: Cow::Borrowed(""),
            line: 0,
            rgb,
        }
    }

    fn from_host(source: &'a HostSource, color: Option<HostColor>) -> Self {
        Self {
            name: Cow::Borrowed(&source.name),
            function: Cow::Borrowed(&source.function),
            file: Cow::Borrowed(&source.file),
            line: source.line,
            rgb: color.map_or(HOST_RGB, HostColor::rgb),
        }
    }
}

fn op_tag(zone: &TraceZone, lane: &TraceLane<'_>, device: &TraceDevice<'_>) -> OpTag {
    if lane.id.risc == Risc::TensixAggregate {
        let op = lane.op(zone.run).and_then(|op| device.ops.get(op as usize));
        if let Some(trace) = op.and_then(|op| op.figures.trace_id) {
            return OpTag::Trace(trace);
        }
    }
    match lane.program(zone.run).map_or(0, RunHostId::base) {
        0 => OpTag::None,
        base => OpTag::Op(base),
    }
}
