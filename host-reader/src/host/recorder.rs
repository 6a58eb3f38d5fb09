//! The recorder: a buffer for each thread, and the clock that all share.

use super::{
    HostEventKind, HostRecording, HostSource, HostThread,
    buffer::{Bounds, Buffer, SourceRef, Sources},
    monotonic_ns,
};
use crate::capture::{CaptureError, CaptureWriter, OpMetadata};
use std::{
    cell::RefCell,
    fmt,
    marker::PhantomData,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// How much a recorder keeps between two calls of [`HostRecorder::take`], and its clock.
#[derive(Clone)]
pub struct HostRecorderOptions {
    /// Events of each thread; some 50 bytes each.
    pub events_per_thread: usize,
    /// Bytes of texts of each thread.
    pub text_bytes_per_thread: usize,
    /// Ops of all threads.
    pub op_count: usize,
    /// The clock in nanoseconds; [`monotonic_ns`] if `None`. A host whose chips are
    /// simulated gives the clock of the simulation.
    pub clock: Option<Arc<dyn Fn() -> u64 + Send + Sync>>,
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
/// A thread writes into a buffer of its own, behind a lock that nobody else asks for except
/// to take the records: some tens of nanoseconds, most of them for reading the clock.
#[derive(Clone, Debug)]
pub struct HostRecorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Tells recorders apart, those that are gone included.
    id: u64,
    options: HostRecorderOptions,
    threads: Mutex<Threads>,
    ops: Mutex<Ops>,
    late_event_count: AtomicU64,
}

/// The buffers of all threads that recorded something.
type Threads = Vec<Arc<Mutex<Buffer>>>;

/// Threads that have begun to record, of all recorders of the process.
static THREAD_COUNT: AtomicU64 = AtomicU64::new(0);

#[derive(Debug, Default)]
struct Ops {
    list: Vec<OpMetadata>,
    dropped_count: u64,
}

thread_local! {
    /// The thread's buffers, one for each recorder that it has recorded into.
    static BUFFERS: RefCell<Vec<(u64, Arc<Mutex<Buffer>>)>> = const { RefCell::new(Vec::new()) };
}

/// A zone that ends when this is dropped, on the thread where it began.
#[derive(Debug)]
#[must_use = "a zone ends when its guard is dropped"]
pub struct HostZoneGuard {
    open: Option<OpenZone>,
    /// Zones of one thread nest; so a guard stays on its own.
    not_send: PhantomData<*const ()>,
}

#[derive(Debug)]
struct OpenZone {
    recorder: HostRecorder,
    buffer: Arc<Mutex<Buffer>>,
    source: SourceRef,
    start_ns: u64,
    depth: u16,
    text: Option<Box<str>>,
}

impl Default for HostRecorder {
    fn default() -> Self {
        Self::new(HostRecorderOptions::default())
    }
}

impl HostRecorder {
    /// A recorder that nobody records into yet.
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

    /// What time it is on the recorder's clock.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.shared.options.clock.as_ref().map_or_else(monotonic_ns, |clock| clock())
    }

    /// Begins a zone; it ends when the guard is dropped.
    pub fn zone(&self, source: &'static HostSource) -> HostZoneGuard {
        self.begin(SourceRef::Static(source))
    }

    /// Begins a zone whose name is known only while the program runs.
    pub fn zone_of(&self, source: Arc<HostSource>) -> HostZoneGuard {
        self.begin(SourceRef::Shared(source))
    }

    /// Records a message.
    pub fn message(&self, source: &'static HostSource, text: impl Into<Box<str>>) {
        self.add(SourceRef::Static(source), HostEventKind::Message, Some(text.into()));
    }

    /// Records a message of a place that is known only while the program runs.
    pub fn message_of(&self, source: Arc<HostSource>, text: impl Into<Box<str>>) {
        self.add(SourceRef::Shared(source), HostEventKind::Message, Some(text.into()));
    }

    /// Records a signpost, which reports cut their windows by.
    pub fn signpost(&self, name: impl Into<String>, text: Option<&str>) {
        let source = Arc::new(HostSource::of_name(name.into()));
        self.add(SourceRef::Shared(source), HostEventKind::Signpost, text.map(Into::into));
    }

    /// Records the end of a frame, such as an iteration.
    pub fn frame_mark(&self, source: &'static HostSource) {
        self.add(SourceRef::Static(source), HostEventKind::FrameMark, None);
    }

    /// Records a point of a plot.
    pub fn plot(&self, source: &'static HostSource, value: f64) {
        self.add(SourceRef::Static(source), HostEventKind::Plot { value }, None);
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

    /// Takes out everything that was recorded and appends it to a capture; what it was.
    ///
    /// Ops become sections of their own, beside those that others have written.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn take_into(&self, capture: &mut CaptureWriter) -> Result<HostRecording, CaptureError> {
        let recording = self.take();
        if !recording.ops.is_empty() {
            capture.append(&recording.ops)?;
        }
        if recording.has_more_than_ops() {
            capture.append(&recording)?;
        }
        Ok(recording)
    }

    fn take_threads(&self, sources: &mut Sources) -> Vec<HostThread> {
        let mut threads = lock(&self.shared.threads);
        let taken = threads.iter().filter_map(|buffer| lock(buffer).take(sources)).collect();
        // Of a thread that has ended nobody else holds the buffer.
        threads.retain(|buffer| Arc::strong_count(buffer) > 1);
        taken
    }

    fn begin(&self, source: SourceRef) -> HostZoneGuard {
        let open = self.buffer().and_then(|buffer| {
            let depth = lock(&buffer).begin_zone()?;
            let recorder = self.clone();
            // The clock comes last, so that the zone has no part of its own cost.
            let start_ns = self.now_ns();
            Some(OpenZone { recorder, buffer, source, start_ns, depth, text: None })
        });
        HostZoneGuard { open, not_send: PhantomData }
    }

    fn add(&self, source: SourceRef, kind: HostEventKind, text: Option<Box<str>>) {
        let time_ns = self.now_ns();
        if let Some(buffer) = self.buffer() {
            lock(&buffer).add(source, time_ns, kind, text);
        }
    }

    /// The buffer of this thread; none while the thread is ending.
    fn buffer(&self) -> Option<Arc<Mutex<Buffer>>> {
        let id = self.shared.id;
        let found = BUFFERS.try_with(|buffers| {
            let mut buffers = buffers.borrow_mut();
            if let Some((_, buffer)) = buffers.iter().find(|(recorder, _)| *recorder == id) {
                return Arc::clone(buffer);
            }
            // Buffers that nobody else holds are of recorders that are gone.
            buffers.retain(|(_, buffer)| Arc::strong_count(buffer) > 1);
            let buffer = self.new_buffer();
            buffers.push((id, Arc::clone(&buffer)));
            buffer
        });
        if found.is_err() {
            self.shared.late_event_count.fetch_add(1, Ordering::Relaxed);
        }
        found.ok()
    }

    fn new_buffer(&self) -> Arc<Mutex<Buffer>> {
        let options = &self.shared.options;
        let bounds = Bounds {
            event_count: options.events_per_thread,
            text_bytes: options.text_bytes_per_thread,
        };
        let name = std::thread::current().name().unwrap_or("").to_owned();
        let number = THREAD_COUNT.fetch_add(1, Ordering::Relaxed) + 1;
        let buffer = Arc::new(Mutex::new(Buffer::new(number, name, bounds)));
        lock(&self.shared.threads).push(Arc::clone(&buffer));
        buffer
    }
}

impl HostZoneGuard {
    /// Says something of the zone, such as the id of an op; the last text counts.
    pub fn text(&mut self, text: impl Into<Box<str>>) {
        if let Some(open) = &mut self.open {
            open.text = Some(text.into());
        }
    }

    /// A zone that nobody records.
    pub const fn unrecorded() -> Self {
        Self { open: None, not_send: PhantomData }
    }
}

impl Drop for HostZoneGuard {
    fn drop(&mut self) {
        if let Some(OpenZone { recorder, buffer, source, start_ns, depth, text }) = self.open.take()
        {
            let end_ns = recorder.now_ns();
            lock(&buffer).end_zone(source, depth, (start_ns, end_ns), text);
        }
    }
}

/// A thread that panicked with a lock left its records whole: each is added in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
