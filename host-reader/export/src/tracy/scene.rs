//! Model of the viewer's display: contexts, lanes, threads, messages, plots. The modules `file` and
//! `live` encode this model.

use super::{
    TracyNotes, TracyOptions,
    host::{self, FrameSet},
    lanes::{Grouping, lane_name, lane_number},
    messages::{self, Message, remark},
    ops,
    places::{PLACE_LIMIT, PlaceNumber, PlaceTable, SourcePlace},
    plots::{self, Plot},
    spans::Span,
};
use crate::{Trace, TraceLane, TraceZones, point_words::PointWords, words::thread_label};
use rayon::prelude::*;
use reader::lane::LaneId;

/// Last nanosecond that Tracy can represent: times have 48 bits including the sign.
///
/// # Compatibility
/// Tracy's `server/TracyEvent.hpp`.
const LAST_NS: u64 = (1 << 47) - 1;

/// Converts a time to Tracy's time type. Times after Tracy's last nanosecond become that
/// nanosecond.
pub(super) fn tracy_ns(time_ns: u64) -> i64 {
    i64::try_from(time_ns.min(LAST_NS)).unwrap_or(i64::MAX)
}

/// One GPU context.
pub(super) struct Context<'a> {
    pub(super) name: String,
    /// Lanes in the order of their thread ids; every lane has zones.
    pub(super) lanes: Vec<SceneLane<'a>>,
}

/// One RISC with zones.
pub(super) struct SceneLane<'a> {
    pub(super) thread_id: u32,
    pub(super) zones: &'a TraceZones,
    /// Source location of each zone.
    pub(super) places: Vec<PlaceNumber>,
}

/// One thread: the name and messages of a lane, a row of ops, or a thread of the host.
pub(super) struct Thread<'a> {
    pub(super) id: u32,
    pub(super) name: String,
    /// Spans ordered by time, a zone before its nested zones.
    pub(super) spans: Vec<Span<'a>>,
}

/// Everything that a viewer shows.
pub(super) struct Scene<'a> {
    pub(super) options: &'a TracyOptions,
    pub(super) contexts: Vec<Context<'a>>,
    /// Threads with unique, ascending ids.
    pub(super) threads: Vec<Thread<'a>>,
    pub(super) places: Vec<SourcePlace<'a>>,
    /// Messages ordered by time.
    pub(super) messages: Vec<Message>,
    pub(super) plots: Vec<Plot>,
    /// Frame sets of the host. The unnamed first frame set of every Tracy trace is not included.
    pub(super) frames: Vec<FrameSet<'a>>,
    /// End of the latest item.
    pub(super) end_ns: i64,
    pub(super) notes: TracyNotes,
}

impl<'a> Scene<'a> {
    /// Arranges a trace for a viewer with a limited number of contexts.
    pub(super) fn new(
        trace: &'a Trace<'a>,
        options: &'a TracyOptions,
        context_limit: usize,
    ) -> Self {
        let mut builder = Builder {
            trace,
            words: PointWords::new(trace),
            places: PlaceTable::new(trace),
            contexts: Vec::new(),
            threads: Vec::new(),
            messages: Vec::new(),
        };
        builder.add_lanes(context_limit);
        builder.add_ops();
        builder.add_host();
        builder.finish(options)
    }

    /// Returns the key of the first frame set's name; keys of plots begin at 1.
    pub(super) fn first_frame_key(&self) -> u64 {
        1 + self.plots.len() as u64
    }
}

struct Builder<'a> {
    trace: &'a Trace<'a>,
    words: PointWords<'a>,
    places: PlaceTable<'a>,
    contexts: Vec<Context<'a>>,
    threads: Vec<Thread<'a>>,
    messages: Vec<Message>,
}

impl<'a> Builder<'a> {
    fn add_lanes(&mut self, context_limit: usize) {
        let drawn = self.trace.lanes().filter(|lane| !lane.zones.is_empty());
        let drawn: Vec<LaneId> = drawn.map(|lane| lane.id).collect();
        let grouping = Grouping::new(&drawn, context_limit);
        let mut context_key = None;
        let mut core_number = 0;
        for device in &self.trace.devices {
            for core in device.cores() {
                for lane in core {
                    let thread_id = lane_number(core_number, lane.id.risc);
                    self.add_thread(thread_id, lane);
                    if lane.zones.is_empty() {
                        continue;
                    }
                    let key = Some(grouping.key(lane.id));
                    if std::mem::replace(&mut context_key, key) != key {
                        let name = grouping.name(lane.id);
                        self.contexts.push(Context { name, lanes: Vec::new() });
                    }
                    let places = self.places.lane_places(lane, device);
                    let lane = SceneLane { thread_id, zones: &lane.zones, places };
                    self.contexts.last_mut().map(|context| context.lanes.push(lane)).unwrap_or(());
                }
                core_number += 1;
            }
        }
    }

    fn add_thread(&mut self, id: u32, lane: &TraceLane<'_>) {
        self.threads.push(Thread { id, name: lane_name(lane.id), spans: Vec::new() });
        self.messages.extend(messages::lane_messages(lane, id, &self.trace.names, &self.words));
    }

    fn next_thread_id(&self) -> u32 {
        // The low three bits are 0, a known RISC: the viewer never sees an unknown RISC.
        (self.threads.last().map_or(0, |thread| thread.id) & !7) + 8
    }

    fn add_ops(&mut self) {
        for device in &self.trace.devices {
            let rows = ops::rows(device, &mut self.places);
            for (row, spans) in rows.into_iter().enumerate() {
                let chip = device.chip.chip_id;
                let name = match row {
                    0 => format!("Device {chip}: ops"),
                    _ => format!("Device {chip}: ops that overlap, row {}", row + 1),
                };
                self.threads.push(Thread { id: self.next_thread_id(), name, spans });
            }
        }
    }

    fn add_host(&mut self) {
        for thread in &self.trace.host.threads {
            let id = self.next_thread_id();
            let spans = host::spans(thread, &mut self.places);
            self.messages.extend(host::messages(thread, id));
            self.threads.push(Thread { id, name: thread_label(thread), spans });
        }
    }

    /// Counts the contents except messages, which are not complete yet.
    fn notes(&self) -> TracyNotes {
        let lanes = self.contexts.iter().flat_map(|context| &context.lanes);
        let late =
            |zones: &TraceZones| zones.iter().filter(|zone| zone.end_ns > LAST_NS).count() as u64;
        let lane_zones = lanes.clone().map(|lane| lane.zones);
        let host_zones = self.trace.host.threads.iter().map(|thread| &thread.zones);
        TracyNotes {
            zones: lanes.clone().map(|lane| lane.zones.len() as u64).sum(),
            lanes: lanes.count() as u64,
            contexts: self.contexts.len() as u64,
            host_zones: self.trace.host.zone_count() as u64,
            messages: 0,
            vague_zones: self.places.vague_zone_count,
            late_zones: lane_zones.chain(host_zones).map(late).sum(),
            undrawn_plot_points: host::undrawn_point_count(&self.trace.host),
            missed_zones: 0,
            missed_messages: 0,
        }
    }

    fn finish(mut self, options: &'a TracyOptions) -> Scene<'a> {
        let remarks_id = self.next_thread_id();
        let mut notes = self.notes();
        let mut messages = remarks(self.trace, &notes, remarks_id);
        if !messages.is_empty() {
            let name = "Remarks on this trace".to_owned();
            self.threads.push(Thread { id: remarks_id, name, spans: Vec::new() });
        }
        messages.append(&mut self.messages);
        messages.par_sort_by_key(|message| message.time_ns);
        notes.messages = messages.len() as u64;
        let devices = self.trace.devices.iter();
        let plots = devices.flat_map(|device| plots::device_plots(device, &self.trace.names));
        Scene {
            options,
            contexts: self.contexts,
            threads: self.threads,
            places: self.places.places,
            messages,
            plots: plots.chain(host::plots(&self.trace.host)).collect(),
            frames: host::frames(&self.trace.host),
            end_ns: tracy_ns(self.trace.end_ns()),
            notes,
        }
    }
}

fn remarks(trace: &Trace<'_>, notes: &TracyNotes, thread_id: u32) -> Vec<Message> {
    let mut messages = messages::trace_messages(trace, thread_id);
    let TracyNotes { vague_zones, late_zones, undrawn_plot_points, .. } = notes;
    let changes = [
        (vague_zones, format!("zones share a source location: Tracy knows only {PLACE_LIMIT}")),
        (late_zones, "zones are cut at 39 hours, where Tracy's time ends".to_owned()),
        (
            undrawn_plot_points,
            "points of plots are not drawn: they are no finite numbers".to_owned(),
        ),
    ];
    let changes = changes.into_iter().filter(|&(&count, _)| count > 0);
    messages.extend(changes.map(|(count, text)| remark(format!("{count} {text}"), thread_id)));
    messages
}
