//! Recordings of a host's threads.

use super::{HostColor, HostSource};
use crate::OpMetadata;

/// Events recorded by the threads of a host, up to one call of
/// [`HostRecorder::take`](super::HostRecorder::take).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRecording {
    /// Number of the process, as its system gave it.
    pub process_id: u32,
    /// Names and source locations of events.
    pub sources: Vec<HostSource>,
    /// Threads, in the order of their numbers.
    pub threads: Vec<HostThread>,
    /// The host's metadata of ops.
    pub ops: Vec<OpMetadata>,
    /// Ops dropped for lack of room.
    pub dropped_op_count: u64,
    /// Events of threads that were ending already.
    pub late_event_count: u64,
}

/// One thread of the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostThread {
    /// Number of the thread within its process, from 1 in the order in which threads began
    /// to record.
    pub number: u64,
    /// Its name; empty if it has none.
    pub name: String,
    /// Its events; zones are ordered by their ends.
    pub events: Vec<HostEvent>,
    /// Zones that had begun and not ended.
    pub open_zone_count: u64,
    /// Counts of events and texts dropped for lack of room.
    pub dropped: HostDrops,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct HostEvent {
    /// Index in [`HostRecording::sources`].
    pub source: u32,
    /// Time in nanoseconds of the recorder's clock; the start of a zone.
    pub time_ns: u64,
    /// Kind of the event.
    pub kind: HostEventKind,
    /// Text of a message or signpost, or attached to a zone; of a point of a pool of buffers the
    /// [address](crate::address_text) of the buffer, if known.
    pub text: Option<Box<str>>,
    /// Colour that the program gave to it.
    pub color: Option<HostColor>,
}

/// Kind of an event, with its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostEventKind {
    /// A zone.
    Zone {
        /// Its end.
        end_ns: u64,
        /// Zones of the thread around it; 0 is outermost.
        depth: u16,
    },
    /// A message.
    Message,
    /// A signpost.
    Signpost,
    /// The end of a frame, such as an iteration.
    FrameMark,
    /// One point of a plot.
    Plot {
        /// The value.
        value: f64,
    },
}

/// Counts of events and texts that a thread dropped for lack of room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostDrops {
    /// Zones.
    pub zones: u64,
    /// Messages, signposts, frame marks and points of plots.
    pub others: u64,
    /// Texts of events that were kept.
    pub texts: u64,
}

impl HostRecording {
    /// Returns true if nothing was recorded, and nothing was dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty() && !self.has_more_than_ops()
    }

    /// Returns true if there is anything besides ops, which captures store separately.
    #[must_use]
    pub fn has_more_than_ops(&self) -> bool {
        !self.threads.is_empty() || (self.dropped_op_count, self.late_event_count) != (0, 0)
    }

    /// Events of all threads.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        self.threads.iter().map(|thread| thread.events.len() as u64).sum()
    }

    /// Events, ops and texts that there was no room for.
    #[must_use]
    pub fn dropped_count(&self) -> u64 {
        let of_threads = self.threads.iter().map(|thread| thread.dropped.count());
        let of_all = of_threads.chain([self.dropped_op_count, self.late_event_count]);
        // Counts of captures may be anything.
        of_all.fold(0, u64::saturating_add)
    }

    /// The name of an event; empty if it has none.
    #[must_use]
    pub fn name(&self, event: &HostEvent) -> &str {
        self.source(event).map_or("", |source| &source.name)
    }

    /// Source location of an event.
    #[must_use]
    pub fn source(&self, event: &HostEvent) -> Option<&HostSource> {
        self.sources.get(event.source as usize)
    }
}

impl HostDrops {
    /// All of them.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.zones.saturating_add(self.others).saturating_add(self.texts)
    }
}

impl HostEvent {
    /// When it ended; of all but zones, when it was.
    #[must_use]
    pub const fn end_ns(&self) -> u64 {
        match self.kind {
            HostEventKind::Zone { end_ns, .. } => end_ns,
            _ => self.time_ns,
        }
    }
}
