//! Zones of device lanes, grouped by context, and zones of threads.
//!
//! All zones are written as trees: the children of a zone are written after its start and before
//! its end. Each time is stored as the difference from the previous time.

use super::{
    bytes::Bytes,
    strings::{StringIndex, StringTable},
};
use crate::{
    ZoneEdge,
    tracy::{
        places::PlaceNumber,
        scene::{Scene, SceneLane, Thread, tracy_ns},
        spans::{self, Span},
    },
};
use std::collections::{BTreeMap, HashMap};

/// Returns the id of a source location that is stored in the file. Such ids are negative.
pub(super) fn place_id(place: PlaceNumber) -> i16 {
    i16::try_from(place).map_or(i16::MIN, |place| -1 - place)
}

/// Data about the zones of contexts, needed by earlier sections of the file.
pub(super) struct GpuTimelines {
    /// Number of zones that contain nested zones.
    pub(super) parent_count: u64,
    /// Number of zones for each source location.
    pub(super) place_counts: Vec<u64>,
    /// Ids of threads, in the order of the numbers by which zones refer to threads.
    pub(super) thread_ids: Vec<u32>,
    thread_numbers: HashMap<u32, u16>,
}

impl GpuTimelines {
    pub(super) fn new(scene: &Scene<'_>) -> Self {
        let lanes = scene.contexts.iter().flat_map(|context| &context.lanes);
        let mut place_counts = vec![0; scene.places.len()];
        lanes
            .clone()
            .flat_map(|lane| &lane.places)
            .for_each(|&place| place_counts[usize::from(place)] += 1);
        // Number 0 means no thread. Threads beyond the maximum number are drawn without a name.
        let ids = std::iter::once(0).chain(scene.threads.iter().map(|thread| thread.id));
        let thread_ids: Vec<u32> = ids.take(1 << 16).collect();
        Self {
            parent_count: lanes.map(|lane| parents(lane.zones.iter().map(|zone| zone.depth))).sum(),
            place_counts,
            thread_numbers: thread_ids.iter().copied().zip(0..=u16::MAX).collect(),
            thread_ids,
        }
    }

    /// Appends one lane of a context.
    pub(super) fn put_lane(&self, lane: &SceneLane<'_>, bytes: &mut Bytes) {
        let (outermost, children) = child_counts(lane.zones.edges(), lane.zones.len());
        let thread = self.thread_numbers.get(&lane.thread_id).copied().unwrap_or(0);
        bytes.put_u64(lane.thread_id.into());
        bytes.put_u64(outermost);
        let mut before_ns = 0;
        let mut put_time = |bytes: &mut Bytes, time_ns: u64| {
            let time_ns = tracy_ns(time_ns);
            // In this file, host time and device time use the same clock.
            bytes.put_i64(time_ns - before_ns);
            bytes.put_i64(time_ns - before_ns);
            before_ns = time_ns;
        };
        for edge in lane.zones.edges() {
            match edge {
                ZoneEdge::Begin(zone) => {
                    put_time(bytes, lane.zones[zone].start_ns);
                    bytes.put_i16(place_id(lane.places[zone]));
                    bytes.put_u24(0); // call stack
                    bytes.put_u16(thread);
                    bytes.put_u64(children[zone]);
                }
                ZoneEdge::End(zone) => put_time(bytes, lane.zones[zone].end_ns),
            }
        }
    }
}

/// Returns the number of outermost zones, and the number of direct children of each zone.
fn child_counts(edges: impl Iterator<Item = ZoneEdge>, zone_count: usize) -> (u64, Vec<u64>) {
    let mut outermost = 0;
    let mut children = vec![0; zone_count];
    let mut around: Vec<usize> = Vec::new();
    for edge in edges {
        match edge {
            ZoneEdge::Begin(zone) => {
                *around.last().map_or(&mut outermost, |&parent| &mut children[parent]) += 1;
                around.push(zone);
            }
            ZoneEdge::End(_) => {
                around.pop();
            }
        }
    }
    (outermost, children)
}

/// Returns the number of zones that contain nested zones, given the depths of all zones.
fn parents(depths: impl Iterator<Item = u16>) -> u64 {
    let mut before = u16::MAX;
    depths.filter(|&depth| depth > std::mem::replace(&mut before, depth)).count() as u64
}

/// Zones of threads, with the zones' own names and texts.
pub(super) struct Spans {
    count: usize,
    parent_count: u64,
    /// Number of spans for each source location.
    pub(super) place_counts: Vec<u64>,
    /// Text and name of each span that has its own text or name, sorted by thread and time. A span
    /// refers to its entry by the entry's index plus 1.
    pub(super) extras: Vec<[Option<StringIndex>; 2]>,
}

impl Spans {
    pub(super) fn new<'a>(scene: &'a Scene<'a>, strings: &mut StringTable<'a>) -> Self {
        let mut place_counts = vec![0; scene.places.len()];
        let spans = scene.threads.iter().flat_map(|thread| &thread.spans);
        spans.clone().for_each(|span| place_counts[usize::from(span.place)] += 1);
        let parent_count =
            |thread: &Thread<'_>| parents(thread.spans.iter().map(|span| span.depth));
        Self {
            count: spans.clone().count(),
            parent_count: scene.threads.iter().map(parent_count).sum(),
            extras: spans
                .filter(|span| span.has_extra())
                .map(|span| {
                    [&span.text, &span.name]
                        .map(|text| (!text.is_empty()).then(|| strings.intern(text)))
                })
                .collect(),
            place_counts,
        }
    }

    /// Appends the threads with their spans and messages. Threads without spans and messages are
    /// left out.
    pub(super) fn put(&self, scene: &Scene<'_>, bytes: &mut Bytes) {
        let mut messages: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, message) in scene.messages.iter().enumerate() {
            messages.entry(message.thread_id).or_default().push(index);
        }
        let is_drawn =
            |thread: &&Thread<'_>| !thread.spans.is_empty() || messages.contains_key(&thread.id);
        bytes.put_count(self.count);
        bytes.put_u64(self.parent_count);
        bytes.put_count(scene.threads.iter().filter(is_drawn).count());
        let mut extra = 0_u32;
        for thread in scene.threads.iter().filter(is_drawn) {
            bytes.put_u64(thread.id.into());
            bytes.put_count(thread.spans.len());
            bytes.put_u64(0); // samples of the kernel
            bytes.put_u8(0); // no fiber
            put_spans(&thread.spans, &mut extra, bytes);
            let messages = messages.get(&thread.id).map_or(&[][..], Vec::as_slice);
            bytes.put_count(messages.len());
            messages.iter().for_each(|&index| bytes.put_u64(super::strings::pointer(index)));
            bytes.put(&[0; 16]); // samples
        }
    }
}

fn put_spans(spans: &[Span<'_>], extra: &mut u32, bytes: &mut Bytes) {
    let (outermost, children) = child_counts(spans::edges(spans), spans.len());
    let put_count =
        |bytes: &mut Bytes, count: u64| bytes.put_u32(u32::try_from(count).unwrap_or(u32::MAX));
    put_count(bytes, outermost);
    let mut before_ns = 0;
    let mut since_last = |time_ns: u64| {
        let time_ns = tracy_ns(time_ns);
        time_ns - std::mem::replace(&mut before_ns, time_ns)
    };
    for edge in spans::edges(spans) {
        match edge {
            ZoneEdge::Begin(index) => {
                let span = &spans[index];
                bytes.put_i16(place_id(span.place));
                bytes.put_i64(since_last(span.start_ns));
                *extra += u32::from(span.has_extra());
                bytes.put_u32(if span.has_extra() { *extra } else { 0 });
                put_count(bytes, children[index]);
            }
            ZoneEdge::End(index) => bytes.put_i64(since_last(spans[index].end_ns)),
        }
    }
}
