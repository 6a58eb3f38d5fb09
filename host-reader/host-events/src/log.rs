//! Log of one thread: the thread writes records, and other threads read them.
//!
//! The writing thread takes a lock in three cases only: it begins a new chunk of words, the source
//! location of a record was created at run time, or the thread's cache does not contain the source
//! location. Every record is published immediately, so a reader sees the record even if the thread
//! never records again.

use super::{
    HostColor, HostDrops, HostEvent, HostEventKind, HostSource, HostThread,
    record::{EventSource, Record, text_words},
    sites::{SiteNumbers, Sources},
    words::Chunk,
};
use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// Limits on the records of a thread between two calls of `take`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) event_count: u64,
    pub(super) text_bytes: u64,
}

/// A source location: static, or created at run time.
#[derive(Clone, Debug)]
pub(super) enum SourceRef {
    Static(&'static HostSource),
    Made(Arc<HostSource>),
}

/// Text and colour of an event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attached<'a> {
    pub(super) text: Option<&'a str>,
    pub(super) color: Option<HostColor>,
}

/// Log of one thread, shared by the thread and the threads that read the log.
#[derive(Debug)]
pub(super) struct ThreadLog {
    number: u64,
    name: String,
    dropped: Dropped,
    /// Number of events that readers have removed from the log. The writer calculates from this
    /// number how much space is free in the log.
    taken_events: AtomicU64,
    taken_text_bytes: AtomicU64,
    is_ended: AtomicBool,
    /// Chunks that the writer has begun and that no reader has fetched yet.
    new_chunks: Mutex<Vec<Arc<Chunk>>>,
    /// Run-time source locations of published records, in the order of the records.
    new_places: Mutex<Vec<Arc<HostSource>>>,
    reader: Mutex<Reader>,
}

/// Counts of dropped items since the last call of `take`.
#[derive(Debug, Default)]
struct Dropped {
    zones: AtomicU64,
    others: AtomicU64,
    texts: AtomicU64,
}

impl Dropped {
    /// Resets the counts and returns them.
    fn take(&self) -> HostDrops {
        let [zones, others, texts] =
            [&self.zones, &self.others, &self.texts].map(|count| count.swap(0, Ordering::Relaxed));
        HostDrops { zones, others, texts }
    }
}

/// State of the readers of a thread's log, such as the read position.
#[derive(Debug, Default)]
struct Reader {
    chunks: VecDeque<Arc<Chunk>>,
    /// Number of words already read from the first chunk.
    position: usize,
    places: VecDeque<Arc<HostSource>>,
    open_zone_count: u64,
}

/// Writer of a thread's log, owned by that thread.
#[derive(Debug)]
pub(super) struct Writer {
    log: Arc<ThreadLog>,
    bounds: Bounds,
    chunk: Arc<Chunk>,
    /// Number of words written to `chunk`.
    position: usize,
    sites: SiteNumbers,
    event_count: u64,
    text_bytes: u64,
    open_zones: u16,
}

impl ThreadLog {
    fn new(number: u64, name: String) -> Self {
        Self {
            number,
            name,
            dropped: Dropped::default(),
            taken_events: AtomicU64::new(0),
            taken_text_bytes: AtomicU64::new(0),
            is_ended: AtomicBool::new(false),
            new_chunks: Mutex::default(),
            new_places: Mutex::default(),
            reader: Mutex::default(),
        }
    }

    /// Returns true if the thread has stopped writing, so that all of its records can be read.
    pub(super) fn is_ended(&self) -> bool {
        self.is_ended.load(Ordering::Acquire)
    }

    /// Removes the published records from the log and returns them. Returns `None` if there are no
    /// records and no open zones, and nothing was dropped.
    pub(super) fn take(&self, sources: &mut Sources) -> Option<HostThread> {
        let mut reader = lock(&self.reader);
        reader.chunks.extend(std::mem::take(&mut *lock(&self.new_chunks)));
        let words = reader.published_words();
        // A source location is stored before its record is published, so the locations of all
        // records in `words` are stored by now.
        reader.places.extend(std::mem::take(&mut *lock(&self.new_places)));
        let mut thread = HostThread::default();
        for words in words {
            let mut rest = words.as_slice();
            while let Some((record, text)) = Record::take(&mut rest) {
                thread.events.push(reader.event(record, text, sources));
            }
        }
        self.record_taken(&thread.events);
        thread.open_zone_count = reader.open_zone_count;
        thread.dropped = self.dropped.take();
        let is_any =
            !thread.events.is_empty() || thread.dropped.count() > 0 || thread.open_zone_count > 0;
        is_any.then(|| HostThread { number: self.number, name: self.name.clone(), ..thread })
    }

    fn record_taken(&self, events: &[HostEvent]) {
        let texts = events.iter().filter_map(|event| event.text.as_deref());
        let text_bytes = texts.map(|text| text.len() as u64).sum();
        self.taken_events.fetch_add(events.len() as u64, Ordering::Relaxed);
        self.taken_text_bytes.fetch_add(text_bytes, Ordering::Relaxed);
    }
}

impl Reader {
    /// Returns the published words that have not been read yet, chunk by chunk. The last chunk is
    /// kept, because the thread still writes to it.
    fn published_words(&mut self) -> Vec<Vec<u64>> {
        let mut words = Vec::with_capacity(self.chunks.len());
        while let Some(chunk) = self.chunks.front() {
            let (chunk_words, open_zone_count) = chunk.read_from(self.position);
            self.open_zone_count = open_zone_count;
            if self.chunks.len() == 1 {
                self.position += chunk_words.len();
                words.push(chunk_words);
                break;
            }
            words.push(chunk_words);
            self.position = 0;
            self.chunks.pop_front();
        }
        words
    }

    fn event(
        &mut self,
        record: Record,
        text: Option<Box<str>>,
        sources: &mut Sources,
    ) -> HostEvent {
        let Record { place, time_ns, kind, color } = record;
        let source = match place {
            EventSource::Site(number) => sources.number_of_site(number),
            EventSource::Made => sources.number(&self.places.pop_front().unwrap_or_default()),
        };
        HostEvent { source, time_ns, kind, text, color }
    }
}

impl Writer {
    /// Creates the log of a thread.
    pub(super) fn new(number: u64, name: String, bounds: Bounds) -> Self {
        let mut writer = Self {
            log: Arc::new(ThreadLog::new(number, name)),
            bounds,
            chunk: Arc::new(Chunk::with_room_for(0)),
            position: 0,
            sites: SiteNumbers::default(),
            event_count: 0,
            text_bytes: 0,
            open_zones: 0,
        };
        writer.begin_chunk(0);
        writer
    }

    /// Returns the log from which other threads read.
    pub(super) const fn log(&self) -> &Arc<ThreadLog> {
        &self.log
    }

    /// Begins a zone and returns its depth. Returns `None` if there is no room for the zone's
    /// record, or if too many zones are open.
    #[inline]
    pub(super) fn begin_zone(&mut self) -> Option<u16> {
        let depth = self.open_zones;
        if !self.has_room() || depth == u16::MAX {
            self.log.dropped.zones.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        self.open_zones += 1;
        self.chunk.publish(self.position, self.open_zones);
        Some(depth)
    }

    /// Ends a zone and writes its record. Space for the record was reserved when the zone began.
    #[inline]
    pub(super) fn end_zone(
        &mut self,
        source: SourceRef,
        depth: u16,
        (time_ns, end_ns): (u64, u64),
        attached: Attached<'_>,
    ) {
        self.open_zones = self.open_zones.saturating_sub(1);
        self.push(source, time_ns, HostEventKind::Zone { end_ns, depth }, attached);
    }

    /// Adds an event without duration, or counts the event as dropped if there is no room.
    #[inline]
    pub(super) fn add(
        &mut self,
        source: SourceRef,
        time_ns: u64,
        kind: HostEventKind,
        attached: Attached<'_>,
    ) {
        if self.has_room() {
            self.push(source, time_ns, kind, attached);
        } else {
            self.log.dropped.others.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns true if there is room for one more event and for the records of all open zones.
    #[inline]
    fn has_room(&self) -> bool {
        let kept = self.event_count - self.log.taken_events.load(Ordering::Relaxed);
        kept + u64::from(self.open_zones) < self.bounds.event_count
    }

    #[inline]
    fn push(
        &mut self,
        source: SourceRef,
        time_ns: u64,
        kind: HostEventKind,
        Attached { text, color }: Attached<'_>,
    ) {
        let text = text.filter(|text| self.admits(text));
        let place = match source {
            SourceRef::Static(site) => EventSource::Site(self.sites.number(site)),
            SourceRef::Made(source) => {
                lock(&self.log.new_places).push(source);
                EventSource::Made
            }
        };
        let record = Record { place, time_ns, kind, color };
        let word_count = record.word_count(text);
        if !self.chunk.has_room(self.position, word_count) {
            self.begin_chunk(word_count);
        }
        let (head, rest) = record.head_words(text.is_some());
        self.position = self.chunk.store(self.position, head);
        self.position = self.chunk.store(self.position, rest.into_iter().flatten());
        if let Some(text) = text {
            self.position = self.chunk.store(self.position, text_words(text));
        }
        self.event_count += 1;
        self.chunk.publish(self.position, self.open_zones);
    }

    fn admits(&mut self, text: &str) -> bool {
        let kept = self.text_bytes - self.log.taken_text_bytes.load(Ordering::Relaxed);
        let length = text.len() as u64;
        let is_room = kept.saturating_add(length) <= self.bounds.text_bytes;
        if is_room {
            self.text_bytes += length;
        } else {
            self.log.dropped.texts.fetch_add(1, Ordering::Relaxed);
        }
        is_room
    }

    #[cold]
    fn begin_chunk(&mut self, word_count: usize) {
        self.chunk = Arc::new(Chunk::with_room_for(word_count));
        self.position = 0;
        self.chunk.publish(0, self.open_zones);
        lock(&self.log.new_chunks).push(Arc::clone(&self.chunk));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.log.is_ended.store(true, Ordering::Release);
    }
}

/// Locks a mutex, even if a thread panicked while it held the lock. The data is consistent even
/// then, because each change is a single operation, such as adding one element.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
