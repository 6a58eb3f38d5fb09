//! The recorder: a log for each thread, and the clock that all share.

use super::{
    HostColor, HostEventKind, HostRecording, HostSource, HostThread,
    log::{Attached, Bounds, SourceRef, ThreadLog, Writer, lock},
    monotonic_ns,
    sites::Sources,
};
use crate::OpMetadata;
use std::{
    cell::RefCell,
    fmt,
    marker::PhantomData,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

/// A clock in nanoseconds.
pub type HostClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// How much a recorder keeps between two calls of [`HostRecorder::take`], and its clock.
#[derive(Clone)]
pub struct HostRecorderOptions {
    /// Events of each thread; 16 or 24 bytes each, besides texts.
    pub events_per_thread: usize,
    /// Bytes of texts of each thread.
    pub text_bytes_per_thread: usize,
    /// Ops of all threads.
    pub op_count: usize,
    /// The clock in nanoseconds; [`monotonic_ns`] if `None`. A host whose chips are
    /// simulated gives the clock of the simulation.
    pub clock: Option<HostClock>,
}

impl Default for HostRecorderOptions {
    fn default() -> Self {
        Self {
            events_per_thread: 1 << 20,
            text_bytes_per_thread: 16 << 20,
            op_count: 1 << 20,
            clock: None,
        }
    }
}

impl fmt::Debug for HostRecorderOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostRecorderOptions")
            .field("events_per_thread", &self.events_per_thread)
            .field("text_bytes_per_thread", &self.text_bytes_per_thread)
            .field("op_count", &self.op_count)
            .field("clock", &self.clock.as_ref().map(|_| "own"))
            .finish()
    }
}

/// Records what the threads of a host do. Clones record into the same recorder.
///
/// # Cost
/// A thread writes into words of its own without taking a lock, and publishes them by a
/// plain store: some nanoseconds, besides those for reading the clock. It takes a lock for
/// each 32 KiB of records, and for each place that was made while the program ran
/// ([`zone_of`](Self::zone_of), [`message_of`](Self::message_of),
/// [`signpost`](Self::signpost)); nobody holds these locks for longer than an addition.
#[derive(Clone, Debug)]
pub struct HostRecorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Distinguishes recorders, those that are gone included.
    id: u64,
    options: HostRecorderOptions,
    threads: Mutex<Threads>,
    ops: Mutex<Ops>,
    late_event_count: AtomicU64,
}

/// The logs of all threads that recorded something.
type Threads = Vec<Arc<ThreadLog>>;

/// Threads that have begun to record, of all recorders of the process.
static THREAD_COUNT: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Default)]
struct Ops {
    list: Vec<OpMetadata>,
    dropped_count: u64,
}

thread_local! {
    /// The thread's writers, one for each recorder that it has recorded into.
    static WRITERS: RefCell<Vec<(u64, Writer)>> = const { RefCell::new(Vec::new()) };
}

/// A zone that ends when this is dropped, on the thread where it began.
#[derive(Debug)]
#[must_use = "a zone ends when its guard is dropped"]
pub struct HostZoneGuard {
    open: Option<OpenZone>,
    /// Zones of one thread nest; so a guard stays on its own.
    not_send: PhantomData<*const ()>,
}

struct OpenZone {
    recorder_id: u64,
    source: SourceRef,
    /// The recorder's own clock.
    clock: Option<HostClock>,
    start_ns: u64,
    depth: u16,
    text: Option<Box<str>>,
    color: Option<HostColor>,
}

impl fmt::Debug for OpenZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { source, start_ns, depth, text, color, .. } = self;
        f.debug_struct("OpenZone")
            .field("source", source)
            .field("start_ns", start_ns)
            .field("depth", depth)
            .field("text", text)
            .field("color", color)
            .finish_non_exhaustive()
    }
}

impl Default for HostRecorder {
    fn default() -> Self {
        Self::new(HostRecorderOptions::default())
    }
}

impl HostRecorder {
    /// Returns a recorder without any events.
    #[must_use]
    pub fn new(options: HostRecorderOptions) -> Self {
        static LAST_ID: AtomicU64 = AtomicU64::new(0);
        let shared = Shared {
            id: LAST_ID.fetch_add(1, Ordering::Relaxed),
            options,
            threads: Mutex::default(),
            ops: Mutex::default(),
            late_event_count: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Returns the current time on the recorder's clock.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        read_clock(self.shared.options.clock.as_ref())
    }

    /// Begins a zone; it ends when the guard is dropped.
    pub fn zone(&self, source: &'static HostSource) -> HostZoneGuard {
        self.begin(SourceRef::Static(source))
    }

    /// Begins a zone whose name is known only while the program runs.
    pub fn zone_of(&self, source: Arc<HostSource>) -> HostZoneGuard {
        self.begin(SourceRef::Made(source))
    }

    /// Records a message.
    pub fn message(&self, source: &'static HostSource, text: impl AsRef<str>) {
        self.add(SourceRef::Static(source), HostEventKind::Message, said(text.as_ref()));
    }

    /// Records a message, with the arguments of `format_args!`.
    pub fn message_fmt(&self, source: &'static HostSource, text: fmt::Arguments<'_>) {
        match text.as_str() {
            Some(text) => self.message(source, text),
            None => self.message(source, text.to_string()),
        }
    }

    /// Records a message of a place that is known only while the program runs.
    pub fn message_of(&self, source: Arc<HostSource>, text: impl AsRef<str>) {
        self.add(SourceRef::Made(source), HostEventKind::Message, said(text.as_ref()));
    }

    /// Records a message in a colour, of a place that is known only while the program runs.
    pub fn colored_message_of(
        &self,
        source: Arc<HostSource>,
        text: impl AsRef<str>,
        color: HostColor,
    ) {
        let attached = Attached { text: Some(text.as_ref()), color: Some(color) };
        self.add(SourceRef::Made(source), HostEventKind::Message, attached);
    }

    /// Records a signpost, which reports cut their windows by.
    pub fn signpost(&self, name: impl Into<String>, text: Option<&str>) {
        self.signpost_with(name.into(), Attached { text, color: None });
    }

    /// Records a signpost in a colour.
    pub fn colored_signpost(&self, name: impl Into<String>, text: Option<&str>, color: HostColor) {
        self.signpost_with(name.into(), Attached { text, color: Some(color) });
    }

    fn signpost_with(&self, name: String, attached: Attached<'_>) {
        let source = Arc::new(HostSource::of_name(name));
        self.add(SourceRef::Made(source), HostEventKind::Signpost, attached);
    }

    /// Records the end of a frame, such as an iteration.
    pub fn frame_mark(&self, source: &'static HostSource) {
        self.add(SourceRef::Static(source), HostEventKind::FrameMark, Attached::default());
    }

    /// Records a point of a plot.
    pub fn plot(&self, source: &'static HostSource, value: f64) {
        self.add(SourceRef::Static(source), HostEventKind::Plot { value }, Attached::default());
    }

    /// Records a point of a plot whose name is made while the program runs.
    pub fn plot_of(&self, source: Arc<HostSource>, value: f64) {
        self.add(SourceRef::Made(source), HostEventKind::Plot { value }, Attached::default());
    }

    /// Records what the host knows of an op: its name and whatever else.
    pub fn op(&self, op: OpMetadata) {
        let mut ops = lock(&self.shared.ops);
        if ops.list.len() < self.shared.options.op_count {
            ops.list.push(op);
        } else {
            ops.dropped_count += 1;
        }
    }

    /// Takes out everything that was recorded. Zones that have not ended come with the next.
    #[must_use]
    pub fn take(&self) -> HostRecording {
        let mut sources = Sources::default();
        let threads = self.take_threads(&mut sources);
        let ops = std::mem::take(&mut *lock(&self.shared.ops));
        HostRecording {
            process_id: std::process::id(),
            sources: sources.into_list(),
            threads,
            ops: ops.list,
            dropped_op_count: ops.dropped_count,
            late_event_count: self.shared.late_event_count.swap(0, Ordering::Relaxed),
        }
    }

    fn take_threads(&self, sources: &mut Sources) -> Vec<HostThread> {
        let logs = lock(&self.shared.threads).clone();
        // Of a thread that had ended before everything is read now.
        let ended: Vec<_> = logs.iter().filter(|log| log.is_ended()).collect();
        let taken = logs.iter().filter_map(|log| log.take(sources)).collect();
        let is_done = |log: &Arc<_>| ended.iter().any(|ended| Arc::ptr_eq(ended, log));
        lock(&self.shared.threads).retain(|log| !is_done(log));
        taken
    }

    #[inline]
    fn begin(&self, source: SourceRef) -> HostZoneGuard {
        let depth = self.with_writer(Writer::begin_zone).flatten();
        let open = depth.map(|depth| OpenZone {
            recorder_id: self.shared.id,
            source,
            clock: self.shared.options.clock.clone(),
            depth,
            text: None,
            color: None,
            // The clock comes last, so that the zone has no part of its own cost.
            start_ns: self.now_ns(),
        });
        HostZoneGuard { open, not_send: PhantomData }
    }

    #[inline]
    fn add(&self, source: SourceRef, kind: HostEventKind, attached: Attached<'_>) {
        let time_ns = self.now_ns();
        self.with_writer(|writer| writer.add(source, time_ns, kind, attached));
    }

    /// Does something with this thread's writer; nothing while the thread is ending.
    #[inline]
    fn with_writer<T>(&self, work: impl FnOnce(&mut Writer) -> T) -> Option<T> {
        let id = self.shared.id;
        let done = WRITERS.try_with(|writers| {
            let mut writers = writers.try_borrow_mut().ok()?;
            let found = writers.iter().position(|(recorder, _)| *recorder == id);
            let position = found.unwrap_or_else(|| self.add_writer(&mut writers));
            writers.get_mut(position).map(|(_, writer)| work(writer))
        });
        let done = done.ok().flatten();
        if done.is_none() {
            self.shared.late_event_count.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    #[cold]
    fn add_writer(&self, writers: &mut Vec<(u64, Writer)>) -> usize {
        // Logs that nobody else holds are of recorders that are gone.
        writers.retain(|(_, writer)| Arc::strong_count(writer.log()) > 1);
        let options = &self.shared.options;
        let bounds = Bounds {
            event_count: options.events_per_thread as u64,
            text_bytes: options.text_bytes_per_thread as u64,
        };
        let name = std::thread::current().name().unwrap_or("").to_owned();
        let number = THREAD_COUNT.fetch_add(1, Ordering::Relaxed) + 1;
        let writer = Writer::new(number, name, bounds);
        lock(&self.shared.threads).push(Arc::clone(writer.log()));
        writers.push((self.shared.id, writer));
        writers.len() - 1
    }
}

#[inline]
const fn said(text: &str) -> Attached<'_> {
    Attached { text: Some(text), color: None }
}

#[inline]
fn read_clock(clock: Option<&HostClock>) -> u64 {
    clock.map_or_else(monotonic_ns, |clock| clock())
}

impl HostZoneGuard {
    /// Says something of the zone, such as the id of an op; the last text counts.
    pub fn text(&mut self, text: impl Into<Box<str>>) {
        if let Some(open) = &mut self.open {
            open.text = Some(text.into());
        }
    }

    /// Gives the zone a colour; the last one counts.
    pub const fn color(&mut self, color: HostColor) {
        if let Some(open) = &mut self.open {
            open.color = Some(color);
        }
    }

    /// Returns a guard that records no zone.
    pub const fn unrecorded() -> Self {
        Self { open: None, not_send: PhantomData }
    }
}

impl Drop for HostZoneGuard {
    #[inline]
    fn drop(&mut self) {
        let Some(zone) = self.open.take() else { return };
        let OpenZone { recorder_id, source, clock, start_ns, depth, text, color } = zone;
        let times = (start_ns, read_clock(clock.as_ref()));
        // Without a writer the thread is ending; the zone stays among those that did not end.
        let _ = WRITERS.try_with(|writers| {
            let mut writers = writers.try_borrow_mut().ok()?;
            let (_, writer) = writers.iter_mut().find(|(id, _)| *id == recorder_id)?;
            let attached = Attached { text: text.as_deref(), color };
            writer.end_zone(source, depth, times, attached);
            Some(())
        });
    }
}
