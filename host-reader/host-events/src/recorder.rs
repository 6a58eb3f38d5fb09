//! The recorder: a log for each thread, and a clock shared by all threads.

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

/// Function that returns the current time of a clock, in nanoseconds.
pub type HostClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Clock and limits of a recorder. The limits apply to the records between two calls of
/// [`HostRecorder::take`].
#[derive(Clone)]
pub struct HostRecorderOptions {
    /// Maximum number of events per thread. An event takes 16 to 32 bytes, plus its text.
    pub events_per_thread: usize,
    /// Maximum total size of texts per thread, in bytes.
    pub text_bytes_per_thread: usize,
    /// Maximum number of ops of all threads together.
    pub op_count: usize,
    /// Clock of the recorder; [`monotonic_ns`] if `None`. For simulated chips, use the simulation's
    /// clock.
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

/// Recorder of the events of a host's threads. All clones of a recorder add to the same recording.
///
/// # Cost
/// A thread writes into its own buffer without a lock, and publishes each record with a plain
/// store. Writing and publishing take a few nanoseconds, in addition to reading the clock. The
/// thread takes a lock for each 32 KiB of records, for each static source location that is not in
/// the thread's cache, and for each event with a source location created at run time
/// ([`zone_of`](Self::zone_of), [`message_of`](Self::message_of), [`plot_of`](Self::plot_of),
/// [`signpost`](Self::signpost)). Each lock is held only for one lookup or one insertion.
#[derive(Clone, Debug)]
pub struct HostRecorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Unique id of the recorder, never reused.
    id: u64,
    options: HostRecorderOptions,
    threads: Mutex<Threads>,
    ops: Mutex<Ops>,
    late_event_count: AtomicU64,
}

/// Logs of all threads that have recorded events.
type Threads = Vec<Arc<ThreadLog>>;

/// Number of thread logs that the process has created, for all recorders together.
static THREAD_COUNT: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Default)]
struct Ops {
    list: Vec<OpMetadata>,
    dropped_count: u64,
}

thread_local! {
    /// Writers of the current thread, as (recorder id, writer): one for each recorder in use.
    static WRITERS: RefCell<Vec<(u64, Writer)>> = const { RefCell::new(Vec::new()) };
}

/// Guard of a zone: the zone ends when the guard is dropped, on the thread where it began.
#[derive(Debug)]
#[must_use = "a zone ends when its guard is dropped"]
pub struct HostZoneGuard {
    open: Option<OpenZone>,
    /// Marker that prevents sending the guard to another thread, because zones of one thread must
    /// nest.
    not_send: PhantomData<*const ()>,
}

struct OpenZone {
    recorder_id: u64,
    source: SourceRef,
    /// Clock of the recorder; [`monotonic_ns`] if `None`.
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

    /// Begins a zone, which ends when the guard is dropped.
    pub fn zone(&self, source: &'static HostSource) -> HostZoneGuard {
        self.begin(SourceRef::Static(source))
    }

    /// Begins a zone whose name is only known at run time.
    pub fn zone_of(&self, source: Arc<HostSource>) -> HostZoneGuard {
        self.begin(SourceRef::Made(source))
    }

    /// Records a message.
    pub fn message(&self, source: &'static HostSource, text: impl AsRef<str>) {
        let attached = Attached { text: Some(text.as_ref()), color: None };
        self.add(SourceRef::Static(source), HostEventKind::Message, attached);
    }

    /// Records a message given as the result of `format_args!`.
    pub fn message_fmt(&self, source: &'static HostSource, text: fmt::Arguments<'_>) {
        match text.as_str() {
            Some(text) => self.message(source, text),
            None => self.message(source, text.to_string()),
        }
    }

    /// Records a message with a source location that is only known at run time.
    pub fn message_of(
        &self,
        source: Arc<HostSource>,
        text: impl AsRef<str>,
        color: Option<HostColor>,
    ) {
        let attached = Attached { text: Some(text.as_ref()), color };
        self.add(SourceRef::Made(source), HostEventKind::Message, attached);
    }

    /// Records a signpost. Reports can use signposts as the limits of time windows.
    pub fn signpost(&self, name: impl Into<String>, text: Option<&str>, color: Option<HostColor>) {
        let source = Arc::new(HostSource::from_name(name.into()));
        self.add(SourceRef::Made(source), HostEventKind::Signpost, Attached { text, color });
    }

    /// Records the end of a frame, such as an iteration.
    pub fn frame_mark(&self, source: &'static HostSource) {
        self.add(SourceRef::Static(source), HostEventKind::FrameMark, Attached::default());
    }

    /// Records a point of a plot.
    pub fn plot(&self, source: &'static HostSource, value: f64) {
        self.add(SourceRef::Static(source), HostEventKind::Plot { value }, Attached::default());
    }

    /// Records a point of a plot whose name is only known at run time.
    pub fn plot_of(&self, source: Arc<HostSource>, value: f64) {
        self.add(SourceRef::Made(source), HostEventKind::Plot { value }, Attached::default());
    }

    /// Adds the host's metadata of an op, such as the op's name.
    pub fn op(&self, op: OpMetadata) {
        let mut ops = lock(&self.shared.ops);
        if ops.list.len() < self.shared.options.op_count {
            ops.list.push(op);
        } else {
            ops.dropped_count += 1;
        }
    }

    /// Removes everything recorded so far and returns it.
    ///
    /// A zone that is still open is not returned; the first call after the zone's end returns the
    /// zone.
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
        // If a thread has already ended, `log.take` below returns all of its remaining records.
        let ended: Vec<_> = logs.iter().filter(|log| log.is_ended()).collect();
        let taken = logs.iter().filter_map(|log| log.take(sources)).collect();
        lock(&self.shared.threads).retain(|log| !ended.iter().any(|ended| Arc::ptr_eq(ended, log)));
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
            // The clock is read last, so that the zone does not include the time for creating the
            // guard.
            start_ns: self.now_ns(),
        });
        HostZoneGuard { open, not_send: PhantomData }
    }

    #[inline]
    fn add(&self, source: SourceRef, kind: HostEventKind, attached: Attached<'_>) {
        let time_ns = self.now_ns();
        self.with_writer(|writer| writer.add(source, time_ns, kind, attached));
    }

    /// Calls `work` with this thread's writer. If the thread is terminating and has no writer, does
    /// not call `work`, and increments the count of events dropped for this reason.
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
        // If only the writer still owns its log, the log's recorder no longer exists.
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
fn read_clock(clock: Option<&HostClock>) -> u64 {
    clock.map_or_else(monotonic_ns, |clock| clock())
}

impl HostZoneGuard {
    /// Sets the zone's text, such as the id of an op; replaces an earlier text.
    pub fn text(&mut self, text: impl Into<Box<str>>) {
        if let Some(open) = &mut self.open {
            open.text = Some(text.into());
        }
    }

    /// Sets the zone's colour; replaces an earlier colour.
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
        // If there is no writer, the thread is terminating, and the zone stays counted as open.
        let _ = WRITERS.try_with(|writers| {
            let mut writers = writers.try_borrow_mut().ok()?;
            let (_, writer) = writers.iter_mut().find(|(id, _)| *id == recorder_id)?;
            let attached = Attached { text: text.as_deref(), color };
            writer.end_zone(source, depth, times, attached);
            Some(())
        });
    }
}
