//! NoC events of lanes, packed into about a dozen bytes each. The lanes themselves need not be
//! kept.

use crate::noc_events::{
    locks::{Locks, is_lock},
    payload::trailer_from_text,
    size_field::{SizeEvidence, SizeField},
    trace::{TraceNotes, is_event, is_traced},
    version::{PayloadVersion, VersionEvidence},
};
use reader::{
    from_lanes::FromLanes,
    lane::{Annotated, Lane, LaneId, TraceReplay, ZoneIndex},
    names::ZoneTable,
    packed_numbers::{fold_sign, push, take, unfold_sign},
    readout::Readout,
};
use std::{collections::BTreeMap, slice};
use wire::{PacketKind, RunHostId, noc_event::NocTrailer};

/// Program, and its trace replay if it was replayed.
pub(super) type ProgramKey = (RunHostId, Option<TraceReplay>);

/// NoC events of a recording's lanes, together with the zones and locks of these lanes.
///
/// # Cost
/// Memory: about 12 bytes for each event, 4 for each start or end of a zone, and 4 for each program
/// of a lane.
///
/// ```
/// use analysis::noc_events::{NocLanes, NocPrograms, TraceOptions};
/// use recording::{OpenedLog, device_log::PackedLog};
/// let log = "ARCH: blackhole, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,12345,100,2270491512279307,1024,,TS_DATA
/// ";
/// let log = OpenedLog::from(PackedLog::read(log.as_bytes(), "my log")?);
/// let (recording, parts) = log.collect::<NocLanes>()?;
/// let noc = NocLanes::from_parts(parts);
/// let programs = NocPrograms::new(&noc, &recording.readout, &TraceOptions::default());
/// let (traffic, notes) = programs.traffic(|_, _| None);
/// assert_eq!((traffic.activities[0].byte_count, notes.count()), (256, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct NocLanes {
    chips: BTreeMap<u32, Vec<NocLane>>,
}

impl NocLanes {
    /// Collects the NoC events of a readout's lanes.
    #[must_use]
    pub fn from_readout(readout: &Readout) -> Self {
        Self::from_parts(Self::parts_of_readout(readout))
    }

    /// Merges several parts and sorts their lanes.
    #[must_use]
    pub fn from_parts(parts: Vec<Self>) -> Self {
        let mut chips: BTreeMap<u32, Vec<NocLane>> = BTreeMap::new();
        for (chip_id, mut lanes) in parts.into_iter().flat_map(|part| part.chips) {
            chips.entry(chip_id).or_default().append(&mut lanes);
        }
        chips.values_mut().for_each(|lanes| lanes.sort_by_key(|lane| lane.id));
        Self { chips }
    }

    /// Returns the ids of a chip's lanes.
    pub fn ids(&self, chip_id: u32) -> impl Iterator<Item = LaneId> {
        self.chip_lanes(chip_id).iter().map(|lane| lane.id)
    }

    /// Removes and returns the locks, in the order of lanes.
    #[must_use]
    pub fn take_locks(&mut self) -> Locks {
        let mut locks = Locks::default();
        let lanes = self.chips.values_mut().flatten();
        for of_lane in lanes.filter_map(|lane| lane.locks.take()) {
            locks.all.extend(of_lane.all);
            locks.notes.merge(&of_lane.notes);
        }
        locks
    }

    pub(super) fn chip_lanes(&self, chip_id: u32) -> &[NocLane] {
        self.chips.get(&chip_id).map_or(&[], Vec::as_slice)
    }
}

impl FromLanes for NocLanes {
    type Context<'readout> = &'readout ZoneTable;

    fn add(&mut self, zones: &&ZoneTable, lane: &Lane) {
        self.chips.entry(lane.id.chip_id).or_default().push(NocLane::new(lane, zones));
    }
}

/// Record of a program in a lane: the start or end of a zone, or a NoC event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Zone { zone: ZoneIndex, is_start: bool },
    Event { bits: u64, trailer: Option<NocTrailer> },
}

/// NoC events, zone starts and zone ends of one lane, sorted by program, then in recorded order.
#[derive(Debug)]
pub(super) struct NocLane {
    pub(super) id: LaneId,
    bytes: Vec<u8>,
    program_count: usize,
    /// Evidence from all events of the lane; `None` if the lane has no events.
    evidence: Option<Box<Evidence>>,
    locks: Option<Box<Locks>>,
}

/// Properties of the events of one or several lanes that show which version of TT-Metal recorded
/// the events.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Lane and time of the first event.
    first: Option<(LaneId, u64)>,
    /// Number of events whose record has no value.
    without_value_count: u64,
    version: VersionEvidence,
    sizes: SizesByVersion,
}

/// Evidence about the width of the size field, for the two versions with a variable width.
#[derive(Debug, Default)]
struct SizesByVersion([SizeEvidence; 2]);

impl SizesByVersion {
    const VERSIONS: [PayloadVersion; 2] = [PayloadVersion::Byte0, PayloadVersion::Byte0Remote];

    fn add(&mut self, bits: u64) {
        for (version, sizes) in Self::VERSIONS.into_iter().zip(&mut self.0) {
            sizes.add(bits, version);
        }
    }

    fn of(&self, version: PayloadVersion) -> Option<SizeEvidence> {
        let at = Self::VERSIONS.into_iter().position(|one| one == version)?;
        self.0.get(at).copied()
    }
}

/// Tags of the packed markers.
struct Tag;

impl Tag {
    const ZONE_START: u64 = 0;
    const ZONE_END: u64 = 1;
    const EVENT: u64 = 2;
    const EVENT_WITH_TRAILER: u64 = 3;
}

impl NocLane {
    fn new(lane: &Lane, zones: &ZoneTable) -> Self {
        let mut programs: BTreeMap<ProgramKey, Vec<(u64, Marker)>> = BTreeMap::new();
        let mut traced: BTreeMap<ZoneIndex, bool> = BTreeMap::new();
        let mut evidence: Option<Box<Evidence>> = None;
        let mut has_locks = false;
        let program_of = |run: Option<usize>| {
            let run = run.and_then(|run| lane.runs.get(run));
            run.map_or((RunHostId(0), None), |run| (run.program, run.trace))
        };
        let mut run_before = None;
        let mut markers = programs.entry(program_of(None)).or_default();
        for Annotated { record, run, text, .. } in lane.annotated_records() {
            if run != run_before {
                markers = programs.entry(program_of(run)).or_default();
                run_before = run;
            }
            match record.kind {
                PacketKind::ZoneStart | PacketKind::ZoneEnd => {
                    let zone = record.zone;
                    let is_traced = traced
                        .entry(zone)
                        .or_insert_with(|| is_traced(zones.name(zone), lane.id.risc));
                    if *is_traced {
                        let is_start = record.kind == PacketKind::ZoneStart;
                        markers.push((record.time, Marker::Zone { zone, is_start }));
                    }
                }
                _ if is_event(&record, zones) => {
                    let bits = record.data.first().copied();
                    evidence.get_or_insert_default().add(lane.id, record.time, bits);
                    let event = bits
                        .map(|bits| Marker::Event { bits, trailer: trailer_of(record.data, text) });
                    markers.extend(event.map(|event| (record.time, event)));
                }
                _ => has_locks |= is_lock(&record, zones),
            }
        }
        programs.retain(|_, markers| !markers.is_empty());
        let program_count = programs.len();
        let locks = has_locks.then(|| Box::new(Locks::from_lane(lane, zones)));
        Self { id: lane.id, bytes: packed(programs), program_count, evidence, locks }
    }

    /// Returns true if the lane has NoC events.
    pub(super) const fn has_events(&self) -> bool {
        self.evidence.is_some()
    }

    pub(super) fn programs(&self) -> LanePrograms<'_> {
        let (bytes, left) = (self.bytes.iter(), self.program_count);
        let mut programs = LanePrograms { bytes, left, program: 0, time: 0, next: None };
        programs.advance();
        programs
    }
}

/// Returns the addresses of an event, from the second value of its record or from the text of a
/// log's line.
fn trailer_of(data: &[u64], text: Option<&str>) -> Option<NocTrailer> {
    match data {
        [_, trailer, ..] => Some(NocTrailer::unpack(*trailer)),
        _ => trailer_from_text(text?),
    }
}

impl Evidence {
    /// Adds an event; `bits` is `None` for a record without a value, which is undecodable.
    fn add(&mut self, lane: LaneId, time: u64, bits: Option<u64>) {
        self.first.get_or_insert((lane, time));
        let Some(bits) = bits else {
            self.without_value_count = self.without_value_count.saturating_add(1);
            return;
        };
        self.version.add(bits);
        self.sizes.add(bits);
    }

    /// Merges the evidence of several lanes.
    pub(super) fn from_lanes<'l>(lanes: impl IntoIterator<Item = &'l NocLane>) -> Self {
        let mut all = Self::default();
        for Self { first, without_value_count, version, sizes } in
            lanes.into_iter().flat_map(|lane| lane.evidence.as_deref())
        {
            all.first = all.first.or(*first);
            all.without_value_count = all.without_value_count.saturating_add(*without_value_count);
            all.version.merge(version);
            for (own, found) in all.sizes.0.iter_mut().zip(sizes.0) {
                own.append(found);
            }
        }
        all
    }

    /// Returns true if there are no events.
    pub(super) const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Returns the version that the events have. If it is unknown, adds a note, because then no
    /// field of the events is known.
    pub(super) fn version(&self, notes: &mut TraceNotes) -> Option<PayloadVersion> {
        let found = self.version.version();
        let is_unknown = found.is_none() && self.version.total() > 0;
        if let Some((lane, time)) = self.first.filter(|_| is_unknown) {
            notes.add_events(self.version.total(), UNKNOWN_VERSION, lane, time);
        }
        found
    }

    /// Returns the width of the size field that fits the events. If both widths fit, adds a note
    /// with the number of events whose meaning depends on the width.
    pub(super) fn size_field(&self, version: PayloadVersion, notes: &mut TraceNotes) -> SizeField {
        let (field, count) = self.sizes.of(version).unwrap_or_default().found();
        if let Some((lane, time)) = self.first.filter(|_| count > 0) {
            let what = format!(
                "log that leaves open whether {count} writes are posted, or of more than 8 KiB by \
                 TT-Metal 0.81.1; taken as posted"
            );
            notes.add(what, lane, time);
        }
        field
    }

    /// Adds a note about records without a value.
    pub(super) fn add_without_value(&self, notes: &mut TraceNotes) {
        let count = self.without_value_count;
        if let Some((lane, time)) = self.first.filter(|_| count > 0) {
            notes.add_events(count, "NoC event without its value", lane, time);
        }
    }

    /// Returns true if every field of every event agrees with the version.
    pub(super) fn agrees_with(&self, version: PayloadVersion) -> bool {
        self.version.explained(version) == self.version.total()
    }
}

/// Note about events of a version that is unknown.
const UNKNOWN_VERSION: &str = "NoC event in a layout of no known version of TT-Metal, or of several; \
                               its kind and its bytes are unknown";

fn packed(programs: BTreeMap<ProgramKey, Vec<(u64, Marker)>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut last_program, mut last_time) = (0_u32, 0_u64);
    for ((program, trace), markers) in programs {
        push(&mut bytes, program.0.wrapping_sub(last_program).into());
        push(&mut bytes, u64::from(trace.is_some()));
        if let Some(TraceReplay { trace_id, counter }) = trace {
            push(&mut bytes, trace_id);
            push(&mut bytes, counter);
        }
        push(&mut bytes, markers.len() as u64);
        last_program = program.0;
        for (time, marker) in markers {
            let step = fold_sign(time.wrapping_sub(last_time).cast_signed());
            push_marker(&mut bytes, step, marker);
            last_time = time;
        }
    }
    bytes.shrink_to_fit();
    bytes
}

fn push_marker(bytes: &mut Vec<u8>, step: u64, marker: Marker) {
    match marker {
        Marker::Zone { zone, is_start } => {
            push(bytes, if is_start { Tag::ZONE_START } else { Tag::ZONE_END });
            push(bytes, step);
            push(bytes, zone.0.into());
        }
        Marker::Event { bits, trailer } => {
            let has_trailer = trailer.is_some();
            push(bytes, if has_trailer { Tag::EVENT_WITH_TRAILER } else { Tag::EVENT });
            push(bytes, step);
            bytes.extend(bits.to_le_bytes());
            if let Some(NocTrailer { local_address, remote_address, noc_counter }) = trailer {
                let numbers = [remote_address, local_address, noc_counter];
                numbers.into_iter().for_each(|number| push(bytes, number.into()));
            }
        }
    }
}

/// Iterator over the programs of a lane.
pub(super) struct LanePrograms<'lane> {
    bytes: slice::Iter<'lane, u8>,
    /// Number of programs after `next`.
    left: usize,
    program: u32,
    time: u64,
    /// Next program, with its number of markers.
    next: Option<(ProgramKey, u64)>,
}

impl LanePrograms<'_> {
    /// Returns the next program without reading its markers.
    pub(super) fn peek(&self) -> Option<ProgramKey> {
        self.next.map(|(program, _)| program)
    }

    /// Calls `take_marker` with the time and content of each marker of the next program.
    pub(super) fn take_markers(&mut self, mut take_marker: impl FnMut(u64, Marker)) {
        let Some((_, count)) = self.next.take() else { return };
        for _ in 0..count {
            let tag = take(&mut self.bytes);
            self.time = self.time.wrapping_add_signed(unfold_sign(take(&mut self.bytes)));
            take_marker(self.time, self.marker(tag));
        }
        self.advance();
    }

    fn marker(&mut self, tag: u64) -> Marker {
        if tag == Tag::ZONE_START || tag == Tag::ZONE_END {
            let zone = ZoneIndex(self.number());
            return Marker::Zone { zone, is_start: tag == Tag::ZONE_START };
        }
        let mut bits = [0; 8];
        bits.iter_mut().zip(self.bytes.by_ref()).for_each(|(to, from)| *to = *from);
        let trailer = (tag == Tag::EVENT_WITH_TRAILER).then(|| NocTrailer {
            remote_address: self.number(),
            local_address: self.number(),
            noc_counter: self.number(),
        });
        Marker::Event { bits: u64::from_le_bytes(bits), trailer }
    }

    fn number(&mut self) -> u32 {
        u32::try_from(take(&mut self.bytes)).unwrap_or(u32::MAX)
    }

    fn advance(&mut self) {
        let Some(left) = self.left.checked_sub(1) else { return };
        self.left = left;
        self.program = self.program.wrapping_add(self.number());
        let has_trace = take(&mut self.bytes) != 0;
        let trace = has_trace.then(|| TraceReplay {
            trace_id: take(&mut self.bytes),
            counter: take(&mut self.bytes),
        });
        self.next = Some(((RunHostId(self.program), trace), take(&mut self.bytes)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};
    use reader::mesh::Noc0Coord;
    use wire::Risc;

    fn any_marker() -> impl Strategy<Value = Marker> {
        let trailer = any::<Option<(u32, u32, u16)>>();
        (any::<Option<bool>>(), any::<u64>(), trailer).prop_map(|(zone, bits, trailer)| {
            let trailer = trailer.map(|(remote_address, local_address, noc_counter)| NocTrailer {
                remote_address,
                local_address,
                noc_counter: noc_counter.into(),
            });
            match zone {
                Some(is_start) => {
                    let zone = ZoneIndex(u32::try_from(bits >> 40).unwrap());
                    Marker::Zone { zone, is_start }
                }
                None => Marker::Event { bits, trailer },
            }
        })
    }

    proptest! {
        #[test]
        fn markers_come_back_by_program_as_they_were(
            markers in prop::collection::vec(
                ((0_u32..4, prop::option::of((0_u64..3, any::<u64>()))), any::<u64>(), any_marker()),
                0..60,
            ),
        ) {
            let mut programs: BTreeMap<ProgramKey, Vec<(u64, Marker)>> = BTreeMap::new();
            for ((program, trace), time, marker) in markers {
                let trace = trace.map(|(trace_id, counter)| TraceReplay { trace_id, counter });
                let program = RunHostId(u32::MAX - program);
                programs.entry((program, trace)).or_default().push((time, marker));
            }
            let id = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
            let lane = NocLane {
                id,
                bytes: packed(programs.clone()),
                program_count: programs.len(),
                evidence: None,
                locks: None,
            };
            let mut left = lane.programs();
            let mut found = BTreeMap::new();
            while let Some(program) = left.peek() {
                let mut markers = Vec::new();
                left.take_markers(|time, marker| markers.push((time, marker)));
                prop_assert_eq!(found.insert(program, markers), None);
            }
            prop_assert_eq!(found, programs);
        }
    }
}
