//! Parts of a feed: the records of one read, arranged for viewers.

use super::{
    ItemCounts,
    rows::{RowZone, Rows},
};
use crate::{
    Trace, TraceDevice, TraceLane, counters,
    point_words::PointWords,
    tracy::{
        lanes::{lane_name, lane_number, zone_rgb},
        messages::{self, Message, REMARKS_THREAD},
        places::{CLIPPED, PLACE_LIMIT, PlaceTable, SourcePlace},
    },
};
use reader::lane::LaneId;
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// Records of one read, arranged for viewers.
#[derive(Debug, Default)]
pub(in crate::tracy::live) struct Part {
    pub(in crate::tracy::live) lanes: Vec<PartLane>,
    /// Ids and names of the threads that have messages.
    pub(in crate::tracy::live) threads: Vec<(u32, Arc<str>)>,
    pub(in crate::tracy::live) messages: Vec<Message>,
    /// Points of the plots of lost records. Each point is a chip, a time in nanoseconds since the
    /// start of the feed, and the number of records that the chip has lost so far.
    pub(in crate::tracy::live) lost: Vec<(u32, u64, i64)>,
    pub(in crate::tracy::live) counts: ItemCounts,
    /// Number of zones that share a source location, because viewers support only a limited number
    /// of source locations.
    pub(in crate::tracy::live) vague_zones: u64,
}

/// Zones of one row of a RISC.
#[derive(Debug)]
pub(in crate::tracy::live) struct PartLane {
    pub(in crate::tracy::live) id: LaneId,
    pub(in crate::tracy::live) thread_id: u32,
    pub(in crate::tracy::live) name: Arc<str>,
    /// Zones ordered by start, a zone before its nested zones.
    pub(in crate::tracy::live) zones: Vec<PartZone>,
}

/// A zone, with times in nanoseconds since the start of the feed.
#[derive(Clone, Debug)]
pub(in crate::tracy::live) struct PartZone {
    pub(in crate::tracy::live) start_ns: u64,
    pub(in crate::tracy::live) end_ns: u64,
    pub(in crate::tracy::live) depth: u16,
    pub(in crate::tracy::live) place: Arc<SourcePlace<'static>>,
}

impl Part {
    pub(super) fn is_empty(&self) -> bool {
        self.counts.is_zero() && self.lost.is_empty()
    }
}

/// Rows of a RISC, and the id and name of the thread for each row.
#[derive(Debug, Default)]
struct RiscLanes {
    rows: Rows,
    threads: Vec<(u32, Arc<str>)>,
}

/// State shared by all parts of a feed.
#[derive(Debug)]
pub(super) struct PartBuilder {
    /// Host time at which the feed starts.
    origin_host_ns: i64,
    /// For each chip that is not synchronised with the host, the time of its first record, on the
    /// chip's clock. This time is shown as the start of the feed.
    other_origins_ns: BTreeMap<u32, i64>,
    lanes: BTreeMap<LaneId, RiscLanes>,
    /// Number of threads so far.
    thread_count: u32,
    places: HashMap<SourcePlace<'static>, Arc<SourcePlace<'static>>>,
    lost: BTreeMap<u32, i64>,
    latest_ns: u64,
}

impl PartBuilder {
    pub(super) fn new(origin_host_ns: i64) -> Self {
        Self {
            origin_host_ns,
            other_origins_ns: BTreeMap::new(),
            lanes: BTreeMap::new(),
            thread_count: 1,
            places: HashMap::new(),
            lost: BTreeMap::new(),
            latest_ns: 0,
        }
    }

    /// Converts the records of one read to a part.
    pub(super) fn part(&mut self, trace: &Trace<'_>) -> Part {
        let mut part = Part::default();
        let words = PointWords::new(trace);
        let mut places = PlaceTable::new(trace);
        for device in &trace.devices {
            let origin_ns = self.device_origin_ns(device);
            for lane in &device.lanes {
                let origin_ns = origin_ns.filter(|_| has_records(lane));
                self.add_zones(&mut part, (lane, device), origin_ns, &mut places);
                let found = messages::lane_messages(lane, 0, &trace.names, &words);
                self.add_messages(&mut part, lane.id, origin_ns, found);
            }
            self.add_lost(&mut part, device, origin_ns);
        }
        part.vague_zones = part.vague_zones.saturating_add(places.vague_zone_count);
        let zones = part.lanes.iter().map(|lane| lane.zones.len() as u64).sum();
        part.counts = ItemCounts { zones, messages: part.messages.len() as u64 };
        part
    }

    /// Returns a part with remarks, which are shown at the latest time of the feed.
    pub(super) fn remarks(&self, remarks: Vec<Message>) -> Part {
        let remarks = remarks.into_iter();
        let messages = remarks.map(|message| Message { time_ns: self.latest_ns, ..message });
        let messages: Vec<_> = messages.collect();
        let counts = ItemCounts { zones: 0, messages: messages.len() as u64 };
        Part { messages, counts, ..Part::default() }
    }

    /// Returns how long after the feed's start the trace's origin is, on a chip's clock; `None` if
    /// the trace has no records of the chip.
    fn device_origin_ns(&mut self, device: &TraceDevice<'_>) -> Option<i64> {
        device.lanes.iter().find(|lane| has_records(lane))?;
        let origin_ns = device.clock.origin_ns();
        let begin_ns = if device.clock.is_host_time() {
            self.origin_host_ns
        } else {
            *self.other_origins_ns.entry(device.chip.chip_id).or_insert(origin_ns)
        };
        Some(origin_ns.saturating_sub(begin_ns))
    }

    fn add_zones(
        &mut self,
        part: &mut Part,
        (lane, device): (&TraceLane<'_>, &TraceDevice<'_>),
        origin_ns: Option<i64>,
        places: &mut PlaceTable<'_>,
    ) {
        let Some(origin_ns) = origin_ns.filter(|_| !lane.zones.is_empty()) else { return };
        let numbers = places.lane_places(lane, device);
        let risc_lanes = self.lanes.entry(lane.id).or_default();
        let rows = risc_lanes.rows.assign(&lane.zones, |ns| shifted_ns(origin_ns, ns));
        let first = part.lanes.len();
        for (index, (zone, row)) in lane.zones.iter().zip(rows).enumerate() {
            let number = numbers.get(index).copied().unwrap_or(PlaceTable::OP);
            let is_early = i128::from(origin_ns) + i128::from(zone.start_ns) < 0;
            let place = places.place(number).map(SourcePlace::with_own_texts);
            let mut place = place.unwrap_or(SourcePlace::unnamed(zone_rgb(lane.id.risc, "")));
            if (row.is_cut || is_early) && !place.function.contains(CLIPPED) {
                place.function = match &*place.function {
                    "" => Cow::Borrowed(CLIPPED),
                    function => Cow::Owned(format!("{function}, {CLIPPED}")),
                };
            }
            let RowZone { row, depth, earliest_ns, .. } = row;
            let end_ns = shifted_ns(origin_ns, zone.end_ns).max(earliest_ns);
            let start_ns = shifted_ns(origin_ns, zone.start_ns).clamp(earliest_ns, end_ns);
            self.latest_ns = self.latest_ns.max(end_ns);
            let place = self.shared_place(place, &mut part.vague_zones);
            let zone = PartZone { start_ns, end_ns, depth, place };
            let (thread_id, name) = self.thread(lane.id, row);
            let known = part.lanes.iter_mut().skip(first).find(|lane| lane.thread_id == thread_id);
            match known {
                Some(lane) => lane.zones.push(zone),
                None => {
                    let zones = vec![zone];
                    part.lanes.push(PartLane { id: lane.id, thread_id, name, zones });
                }
            }
        }
    }

    /// Returns the shared copy of a source location. If viewers cannot store another location,
    /// returns a location that several zones share.
    fn shared_place(
        &mut self,
        place: SourcePlace<'static>,
        vague_zones: &mut u64,
    ) -> Arc<SourcePlace<'static>> {
        if let Some(known) = self.places.get(&place) {
            return Arc::clone(known);
        }
        // The last locations are reserved. There is one for each colour, shared by zones that have
        // no location of their own.
        const RESERVED: usize = 64;
        let mut place = place;
        if self.places.len() >= PLACE_LIMIT.saturating_sub(RESERVED) {
            *vague_zones = vague_zones.saturating_add(1);
            place.function = Cow::Borrowed("");
            if let Some(known) = self.places.get(&place) {
                return Arc::clone(known);
            }
            place = SourcePlace::unnamed(place.rgb);
        }
        Arc::clone(self.places.entry(place.clone()).or_insert_with(|| Arc::new(place)))
    }

    /// Returns the id and the name of a row's thread.
    fn thread(&mut self, id: LaneId, row: usize) -> (u32, Arc<str>) {
        let threads = &mut self.lanes.entry(id).or_default().threads;
        while threads.len() <= row {
            let name = match threads.len() {
                0 => lane_name(id),
                number => format!("{}, zones around earlier ones {number}", lane_name(id)),
            };
            threads.push((lane_number(self.thread_count, id.risc), name.into()));
            self.thread_count = self.thread_count.saturating_add(1);
        }
        threads.get(row).cloned().unwrap_or_else(|| (REMARKS_THREAD, "".into()))
    }

    fn add_messages(
        &mut self,
        part: &mut Part,
        id: LaneId,
        origin_ns: Option<i64>,
        found: Vec<Message>,
    ) {
        if found.is_empty() {
            return;
        }
        let (thread_id, name) = self.thread(id, 0);
        part.threads.push((thread_id, name));
        for message in found {
            let time_ns = self.shown_ns(origin_ns, message.time_ns);
            part.messages.push(Message { time_ns, thread_id, ..message });
        }
    }

    /// Adds the points of the plot of lost records.
    fn add_lost(&mut self, part: &mut Part, device: &TraceDevice<'_>, origin_ns: Option<i64>) {
        let chip_id = device.chip.chip_id;
        let before = self.lost.get(&chip_id).copied().unwrap_or(0);
        for (time_ns, sum) in counters::records_lost(device) {
            let sum = before.saturating_add(sum);
            let time_ns = self.shown_ns(origin_ns, time_ns);
            part.lost.push((chip_id, time_ns, sum));
            self.lost.insert(chip_id, sum);
        }
    }

    /// Converts a time of the trace to the feed's time. If `origin_ns` is `None`, returns the
    /// latest time that this function has returned so far.
    fn shown_ns(&mut self, origin_ns: Option<i64>, time_ns: u64) -> u64 {
        let time_ns = origin_ns.map_or(self.latest_ns, |origin_ns| shifted_ns(origin_ns, time_ns));
        self.latest_ns = self.latest_ns.max(time_ns);
        time_ns
    }
}

/// Converts a time of a trace to the feed's time. Times before the feed's start become 0.
fn shifted_ns(origin_ns: i64, time_ns: u64) -> u64 {
    let shifted = i128::from(origin_ns) + i128::from(time_ns);
    u64::try_from(shifted.max(0)).unwrap_or(u64::MAX)
}

fn has_records(lane: &TraceLane<'_>) -> bool {
    !lane.zones.is_empty() || !lane.points.is_empty()
}
