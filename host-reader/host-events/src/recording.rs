//! Recordings of a host's threads.

use super::{HostColor, HostSource};
use crate::OpMetadata;

/// Events that the threads of a host recorded; the result of
/// [`HostRecorder::take`](super::HostRecorder::take).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostRecording {
    /// Process id from the operating system.
    pub process_id: u32,
    /// Names and source locations, to which events refer by index.
    pub sources: Vec<HostSource>,
    /// Threads, ordered by number.
    pub threads: Vec<HostThread>,
    /// The host's metadata of ops.
    pub ops: Vec<OpMetadata>,
    /// Number of ops dropped for lack of space.
    pub dropped_op_count: u64,
    /// Number of events dropped because their threads were terminating.
    pub late_event_count: u64,
}

/// One thread of the host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostThread {
    /// Number of the thread within its process. Threads are numbered from 1, in the order in which
    /// they began to record.
    pub number: u64,
    /// Name of the thread; empty if it has none.
    pub name: String,
    /// Events of the thread, in the order of recording. A zone is recorded when it ends.
    pub events: Vec<HostEvent>,
    /// Number of zones that were still open when the recording was taken.
    pub open_zone_count: u64,
    /// Counts of events and texts dropped for lack of space.
    pub dropped: HostDrops,
}

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct HostEvent {
    /// Index in [`HostRecording::sources`].
    pub source: u32,
    /// Time on the recorder's clock, in nanoseconds. For a zone, this is the start.
    pub time_ns: u64,
    /// Kind of the event.
    pub kind: HostEventKind,
    /// Text of a message or signpost, or text attached to a zone.
    ///
    /// For a point in the plot of a buffer pool, the text is the [address](crate::address_text) of
    /// the buffer that was allocated or freed, if this address is known.
    pub text: Option<Box<str>>,
    /// Colour that the instrumented program set for the event.
    pub color: Option<HostColor>,
}

/// Kind of an event, with its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HostEventKind {
    /// A zone.
    Zone {
        /// End of the zone on the recorder's clock, in nanoseconds.
        end_ns: u64,
        /// Number of enclosing zones of the thread; 0 for an outermost zone.
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
        /// Value of the plot.
        value: f64,
    },
}

/// Counts of events and texts that a thread dropped for lack of space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostDrops {
    /// Number of dropped zones.
    pub zones: u64,
    /// Number of dropped messages, signposts, frame marks and plot points.
    pub others: u64,
    /// Number of events that were kept without their text.
    pub texts: u64,
}

impl HostRecording {
    /// Returns true if nothing was recorded, and nothing was dropped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty() && !self.has_more_than_ops()
    }

    /// Returns true if the recording has threads or drop counts. Captures store threads and drop
    /// counts separately from the ops.
    #[must_use]
    pub fn has_more_than_ops(&self) -> bool {
        !self.threads.is_empty() || (self.dropped_op_count, self.late_event_count) != (0, 0)
    }

    /// Returns the events of all threads, thread by thread.
    pub fn events(&self) -> impl Iterator<Item = &HostEvent> + Clone {
        self.threads.iter().flat_map(|thread| &thread.events)
    }

    /// Returns the number of events of all threads.
    #[must_use]
    pub fn event_count(&self) -> u64 {
        self.threads.iter().map(|thread| thread.events.len() as u64).sum()
    }

    /// Returns the number of dropped events, ops and texts, including events of terminating
    /// threads.
    #[must_use]
    pub fn dropped_count(&self) -> u64 {
        let thread_counts = self.threads.iter().map(|thread| thread.dropped.count());
        let counts = thread_counts.chain([self.dropped_op_count, self.late_event_count]);
        // Counts read from a capture may have any value.
        counts.fold(0, u64::saturating_add)
    }

    /// Returns the name of an event; empty if it has none.
    #[must_use]
    pub fn name(&self, event: &HostEvent) -> &str {
        self.source(event).map_or("", |source| &source.name)
    }

    /// Returns the source location of an event.
    #[must_use]
    pub fn source(&self, event: &HostEvent) -> Option<&HostSource> {
        self.sources.get(event.source as usize)
    }
}

impl HostDrops {
    /// Returns the sum of all counts.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.zones.saturating_add(self.others).saturating_add(self.texts)
    }
}

impl HostEvent {
    /// Returns the end of a zone, or the time of any other event.
    #[must_use]
    pub const fn end_ns(&self) -> u64 {
        match self.kind {
            HostEventKind::Zone { end_ns, .. } => end_ns,
            _ => self.time_ns,
        }
    }
}
