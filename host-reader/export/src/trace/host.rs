//! Zones, messages, signposts, frame marks and plots of the host, thread by thread, on the trace's
//! time axis.

use super::{HiddenCounts, NameId, TraceZone, TraceZones, nesting};
use host_events::{HostEvent, HostEventKind, HostRecording, HostSource};
use recording::{Recording, TraceFilter, clocks_of};
use std::collections::{BTreeMap, BTreeSet};

/// All records of the host's threads.
#[derive(Clone, Debug, Default)]
pub struct TraceHost<'a> {
    /// Threads, sorted by process and thread number.
    pub threads: Vec<TraceHostThread<'a>>,
    /// Plots, sorted by name.
    pub plots: Vec<TraceHostPlot<'a>>,
    /// True if times are comparable with the chips' times. Comparable times require clock samples.
    /// Without clock samples, the first event is at 0.
    pub is_on_clock_of_chips: bool,
    /// Trace's origin in nanoseconds of the host's clock.
    pub origin_ns: u64,
    /// Number of events, ops and texts that recorders dropped for lack of space.
    pub dropped_count: u64,
    /// Number of zones that were still open when records were collected for the last time.
    pub open_zone_count: u64,
}

/// One thread of the host.
#[derive(Clone, Debug, Default)]
pub struct TraceHostThread<'a> {
    /// Number of the thread's process.
    pub process_id: u32,
    /// Number of the thread within the process.
    pub number: u64,
    /// Name of the thread; empty if it has none.
    pub name: &'a str,
    /// Zones of the thread. The cycles of these zones are nanoseconds of the host's clock.
    /// [`TraceHostThread::zone_event`] returns the name of a zone.
    pub zones: TraceZones,
    /// Messages, signposts and frame marks of the thread, sorted by time.
    pub marks: Vec<TraceHostMark<'a>>,
    events: Vec<PlacedEvent<'a>>,
}

/// Message, signpost or frame mark.
#[derive(Clone, Copy, Debug)]
pub struct TraceHostMark<'a> {
    /// The event.
    pub event: &'a HostEvent,
    /// Name and source location of the event.
    pub source: &'a HostSource,
    /// Time in nanoseconds since the trace's origin.
    pub time_ns: u64,
}

/// Plot of the host.
#[derive(Clone, Debug)]
pub struct TraceHostPlot<'a> {
    /// Name of the plot.
    pub name: &'a str,
    /// Points, sorted by time.
    pub points: Vec<TracePlotPoint<'a>>,
}

/// Point of a plot.
#[derive(Clone, Copy, Debug)]
pub struct TracePlotPoint<'a> {
    /// Time in nanoseconds since the trace's origin.
    pub time_ns: u64,
    /// Value.
    pub value: f64,
    /// Text, if any; for buffers, the address.
    pub text: Option<&'a str>,
}

/// Event with its name and source location.
type PlacedEvent<'a> = (&'a HostEvent, &'a HostSource);

/// Source of events whose name is missing from the recording.
static UNKNOWN: HostSource = HostSource::new("", "", "", 0);

impl<'a> TraceHost<'a> {
    /// Sorts the events of a recording by thread and plot, and places them on the time axis of the
    /// recording's trace.
    #[must_use]
    pub fn from_recording(recorded: &'a Recording) -> Self {
        let (_, origin_host_ns) = clocks_of(recorded);
        Self::new(recorded, origin_host_ns)
    }

    /// Sorts the events by thread and plot. `origin_ns` is the trace's origin on the host's clock;
    /// `None` if the chips' times cannot be converted to this clock.
    pub(super) fn new(recorded: &'a Recording, origin_ns: Option<i64>) -> Self {
        let recordings = &recorded.host;
        let origin = origin_ns.and_then(|origin| u64::try_from(origin).ok());
        let start = origin.or_else(|| recorded.first_host_event_ns()).unwrap_or(0);
        let mut host = Self {
            is_on_clock_of_chips: origin.is_some(),
            origin_ns: start,
            dropped_count: recordings
                .iter()
                .map(HostRecording::dropped_count)
                .fold(0, u64::saturating_add),
            ..Self::default()
        };
        let mut threads: BTreeMap<(u32, u64), TraceHostThread<'a>> = BTreeMap::new();
        let mut plots: BTreeMap<&str, Vec<TracePlotPoint<'a>>> = BTreeMap::new();
        let mut open_zones: BTreeMap<(u32, u64), u64> = BTreeMap::new();
        for recording in recordings {
            for recorded in &recording.threads {
                let id = (recording.process_id, recorded.number);
                open_zones.insert(id, recorded.open_zone_count);
                let thread = threads.entry(id).or_default();
                (thread.process_id, thread.number) = id;
                thread.name = &recorded.name;
                for event in &recorded.events {
                    let source = recording.source(event).unwrap_or(&UNKNOWN);
                    let time_ns = event.time_ns.saturating_sub(start);
                    match event.kind {
                        HostEventKind::Zone { .. } => thread.events.push((event, source)),
                        HostEventKind::Plot { value } => {
                            let text = event.text.as_deref();
                            let point = TracePlotPoint { time_ns, value, text };
                            plots.entry(&source.name).or_default().push(point);
                        }
                        _ => thread.marks.push(TraceHostMark { event, source, time_ns }),
                    }
                }
            }
        }
        host.open_zone_count = open_zones.values().sum();
        host.threads = threads.into_values().map(|thread| thread.in_order(start)).collect();
        let plots = plots.into_iter().map(|(name, mut points)| {
            points.sort_by_key(|point| point.time_ns);
            TraceHostPlot { name, points }
        });
        host.plots = plots.collect();
        host
    }

    /// Returns the number of zones of all threads.
    #[must_use]
    pub fn zone_count(&self) -> usize {
        self.threads.iter().map(|thread| thread.zones.len()).sum()
    }

    /// Returns the names and source locations of the host's zones, messages, signposts and frame
    /// marks, sorted and without duplicates.
    #[must_use]
    pub fn sources(&self) -> BTreeSet<&'a HostSource> {
        self.threads
            .iter()
            .flat_map(|thread| {
                let marks = thread.marks.iter().map(|mark| mark.source);
                thread
                    .zone_events()
                    .map(|(.., source)| source)
                    .chain(marks)
                    .collect::<BTreeSet<_>>()
            })
            .collect()
    }

    /// Returns the end of the host's latest zone or the time of its latest other event, whichever
    /// is later, in nanoseconds since the trace's origin.
    #[must_use]
    pub fn end_ns(&self) -> Option<u64> {
        let thread_ends = self.threads.iter().filter_map(|thread| thread.end_ns());
        let last_points = self.plots.iter().filter_map(|plot| plot.points.last());
        thread_ends.chain(last_points.map(|point| point.time_ns)).max()
    }

    /// Returns the number of messages, signposts, frame marks and plot points.
    #[must_use]
    pub fn point_count(&self) -> usize {
        let mark_count: usize = self.threads.iter().map(|thread| thread.marks.len()).sum();
        mark_count + self.plots.iter().map(|plot| plot.points.len()).sum::<usize>()
    }

    /// Returns the signposts, sorted by time; empty if the host and the chips do not share a clock.
    pub(super) fn signposts(&self) -> Vec<(u64, &'a str)> {
        let marks = self.threads.iter().flat_map(|thread| &thread.marks);
        let signposts = marks
            .filter(|mark| self.is_on_clock_of_chips && mark.event.kind == HostEventKind::Signpost);
        let mut signposts: Vec<_> =
            signposts.map(|mark| (mark.time_ns, mark.source.name.as_ref())).collect();
        signposts.sort_unstable();
        signposts
    }

    /// Returns true if there is nothing to show.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.threads.is_empty() && self.plots.is_empty()
    }

    /// Removes everything that the filter does not select, and counts what it removes. Filters by
    /// chip, core, RISC and op do not apply to the host.
    pub(super) fn retain(&mut self, filter: &TraceFilter) -> HiddenCounts {
        let mut hidden = HiddenCounts::default();
        for thread in &mut self.threads {
            let count = thread.marks.len();
            thread.marks.retain(|mark| {
                filter.selects_zone(&mark.source.name)
                    && filter.selects_time(mark.time_ns, mark.time_ns)
            });
            hidden.points += (count - thread.marks.len()) as u64;
            hidden.zones += thread.retain_zones(filter);
        }
        for plot in &mut self.plots {
            let count = plot.points.len();
            let is_wanted = filter.selects_zone(plot.name);
            plot.points.retain(|&TracePlotPoint { time_ns, .. }| {
                is_wanted && filter.selects_time(time_ns, time_ns)
            });
            hidden.points += (count - plot.points.len()) as u64;
        }
        self.plots.retain(|plot| !plot.points.is_empty());
        hidden
    }
}

impl<'a> TraceHostThread<'a> {
    /// Returns the event of a zone of the thread, with its name and source location.
    #[must_use]
    pub fn zone_event(&self, zone: &TraceZone) -> Option<(&'a HostEvent, &'a HostSource)> {
        self.events.get(zone.name.index()).copied()
    }

    /// Returns the zones, each with its event, name and source location.
    pub fn zone_events(
        &self,
    ) -> impl Iterator<Item = (&TraceZone, &'a HostEvent, &'a HostSource)> + Clone {
        self.zones.iter().filter_map(|zone| {
            let (event, source) = self.zone_event(zone)?;
            Some((zone, event, source))
        })
    }

    /// Returns the end of the thread's latest zone or the time of its latest other event, whichever
    /// is later, in nanoseconds since the trace's origin.
    pub(super) fn end_ns(&self) -> Option<u64> {
        let zones_end_ns = self.zones.iter().map(|zone| zone.end_ns).max();
        zones_end_ns.max(self.marks.last().map(|mark| mark.time_ns))
    }

    fn in_order(mut self, start_ns: u64) -> Self {
        self.marks.sort_by_key(|mark| mark.time_ns);
        // Events are recorded when zones end. If zones have equal times, the outer zone comes
        // first.
        self.events.sort_by_key(|(event, _)| {
            (event.time_ns, std::cmp::Reverse(event.end_ns()), zone_depth(event))
        });
        let zones = (0..).zip(&self.events).map(|(name, (event, _))| {
            let end_cycle = event.end_ns().max(event.time_ns);
            TraceZone {
                name: NameId(name),
                start_cycle: event.time_ns,
                end_cycle,
                start_ns: 0,
                end_ns: 0,
                duration_cycles: end_cycle - event.time_ns,
                own_cycles: 0,
                depth: zone_depth(event),
                run: None,
                has_synthetic_end: false,
                is_clipped: false,
            }
        });
        let mut zones = TraceZones(zones.collect());
        // The depths of events are not reliable where events were dropped.
        nesting::nest(&mut zones.0);
        zones.set_own_cycles();
        zones.set_times(|host_ns| host_ns.saturating_sub(start_ns));
        self.zones = zones;
        self
    }

    fn retain_zones(&mut self, filter: &TraceFilter) -> u64 {
        let Self { zones, events, .. } = self;
        zones.retain(|zone| {
            let name = events.get(zone.name.index()).map_or("", |(_, source)| &source.name);
            filter.selects_zone(name) && filter.selects_time(zone.start_ns, zone.end_ns)
        })
    }
}

/// Returns the depth of a zone, or 0 for other events.
const fn zone_depth(event: &HostEvent) -> u16 {
    match event.kind {
        HostEventKind::Zone { depth, .. } => depth,
        _ => 0,
    }
}
