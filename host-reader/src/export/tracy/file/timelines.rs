//! Zones: those of lanes inside of contexts, and those of threads.
//!
//! Both are written parent by parent, a zone's children between its start and its end,
//! every time as the distance from the one written before it.

use super::{
    bytes::Bytes,
    strings::{StringIndex, StringTable},
};
use crate::export::{
    TraceZones, ZoneEdge,
    tracy::{
        places::PlaceNumber,
        scene::{Scene, SceneLane, tracy_ns},
    },
};
use std::collections::{BTreeMap, HashMap};

/// How a file numbers a source location that it holds by value.
pub(super) fn place_id(place: PlaceNumber) -> i16 {
    i16::try_from(place).map_or(i16::MIN, |place| -1 - place)
}

/// What the sections before the zones of contexts must know of them.
pub(super) struct GpuTimelines {
    parent_count: u64,
    place_counts: Vec<u64>,
    thread_ids: Vec<u32>,
    thread_numbers: HashMap<u32, u16>,
}

impl GpuTimelines {
    pub(super) fn new(scene: &Scene<'_>) -> Self {
        let lanes = || scene.contexts.iter().flat_map(|context| &context.lanes);
        let mut place_counts = vec![0; scene.places.len()];
        lanes()
            .flat_map(|lane| &lane.places)
            .for_each(|&place| place_counts[usize::from(place)] += 1);
        // Number 0 is no thread. A thread past the last number is drawn, but not named.
        let ids = std::iter::once(0).chain(scene.threads.iter().map(|thread| thread.id));
        let thread_ids: Vec<u32> = ids.take(1 << 16).collect();
        Self {
            parent_count: lanes().map(|lane| parents(lane.zones) as u64).sum(),
            place_counts,
            thread_numbers: thread_ids.iter().copied().zip(0..=u16::MAX).collect(),
            thread_ids,
        }
    }

    /// Zones that have zones inside.
    pub(super) const fn parent_count(&self) -> u64 {
        self.parent_count
    }

    /// Zones of each source location.
    pub(super) fn place_counts(&self) -> &[u64] {
        &self.place_counts
    }

    /// The threads in the order of their numbers.
    pub(super) fn thread_ids(&self) -> &[u32] {
        &self.thread_ids
    }

    /// One lane of a context.
    pub(super) fn put_lane(&self, lane: &SceneLane<'_>, bytes: &mut Bytes) {
        let (outermost, children) = child_counts(lane.zones);
        let thread = self.thread_numbers.get(&lane.thread_id).copied().unwrap_or(0);
        bytes.put_u64(lane.thread_id.into());
        bytes.put_u64(outermost);
        let (starts, ends) = (lane.zones.start_ns(), lane.zones.end_ns());
        let mut before_ns = 0;
        let mut put_time = |bytes: &mut Bytes, time_ns: u64| {
            let time_ns = tracy_ns(time_ns);
            // The host's time and the device's are the same clock here.
            bytes.put_i64(time_ns - before_ns);
            bytes.put_i64(time_ns - before_ns);
            before_ns = time_ns;
        };
        for edge in lane.zones.edges() {
            match edge {
                ZoneEdge::Begin(zone) => {
                    put_time(bytes, starts[zone]);
                    bytes.put_i16(place_id(lane.places[zone]));
                    bytes.put_u24(0); // call stack
                    bytes.put_u16(thread);
                    bytes.put_u64(children[zone]);
                }
                ZoneEdge::End(zone) => put_time(bytes, ends[zone]),
            }
        }
    }
}

/// Zones directly inside of each zone, behind those inside of none.
fn child_counts(zones: &TraceZones) -> (u64, Vec<u64>) {
    let mut outermost = 0;
    let mut children = vec![0; zones.len()];
    let mut around: Vec<usize> = Vec::new();
    for edge in zones.edges() {
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

fn parents(zones: &TraceZones) -> usize {
    let depths = zones.depths();
    depths.windows(2).filter(|pair| pair[1] > pair[0]).count()
}

/// The zones of threads, which have names and texts of their own.
pub(super) struct Spans {
    place_counts: Vec<u64>,
    /// Text and name of every span, in the order of threads and time.
    extras: Vec<[StringIndex; 2]>,
}

impl Spans {
    pub(super) fn new<'a>(scene: &'a Scene<'a>, strings: &mut StringTable<'a>) -> Self {
        let mut place_counts = vec![0; scene.places.len()];
        let spans = scene.threads.iter().flat_map(|thread| &thread.spans);
        let extra = |span: &'a crate::export::tracy::ops::Span| {
            place_counts[usize::from(span.place)] += 1;
            [&span.text, &span.name].map(|text| strings.intern(text))
        };
        let extras = spans.map(extra).collect();
        Self { place_counts, extras }
    }

    /// Spans of each source location.
    pub(super) fn place_counts(&self) -> &[u64] {
        &self.place_counts
    }

    /// Text and name of every span; the first has number 1.
    pub(super) fn extras(&self) -> &[[StringIndex; 2]] {
        &self.extras
    }

    /// Threads with their spans and messages; those that have neither are left out.
    pub(super) fn put(&self, scene: &Scene<'_>, bytes: &mut Bytes) {
        let mut messages: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, message) in scene.messages.iter().enumerate() {
            messages.entry(message.thread_id).or_default().push(index);
        }
        let is_drawn = |thread: &&crate::export::tracy::scene::Thread| {
            !thread.spans.is_empty() || messages.contains_key(&thread.id)
        };
        bytes.put_count(self.extras.len());
        bytes.put_u64(0); // spans have no spans inside
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

fn put_spans(spans: &[crate::export::tracy::ops::Span], extra: &mut u32, bytes: &mut Bytes) {
    bytes.put_u32(u32::try_from(spans.len()).unwrap_or(u32::MAX));
    let mut before_ns = 0;
    for span in spans {
        *extra += 1;
        let (start_ns, end_ns) = (tracy_ns(span.start_ns), tracy_ns(span.end_ns));
        bytes.put_i16(place_id(span.place));
        bytes.put_i64(start_ns - before_ns);
        bytes.put_u32(*extra);
        bytes.put_u32(0); // nothing inside
        bytes.put_i64(end_ns - start_ns);
        before_ns = end_ns;
    }
}
