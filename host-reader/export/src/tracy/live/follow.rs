//! Sessions with viewers of a running program.

use super::{
    connection::{Connection, FIRST_PLOT},
    error::ServeError,
    feed::{ItemCounts, LiveFeed, Next, Part, PartLane, Subscription},
    items::GpuZone,
    server::{ServedViewer, TracyServer},
};
use crate::{
    ZoneEdge,
    trace::edges_of_depths,
    tracy::{
        TracyNotes, TracyOptions,
        lanes::Grouping,
        messages::{Message, REMARK_RGB, REMARKS_THREAD},
        scene::tracy_ns,
    },
};
use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tracy::protocol::Program;

/// Interval at which a session checks whether its viewer has sent requests.
const QUESTION_PERIOD: Duration = Duration::from_millis(20);

/// Time without data after which a viewer is informed that the program is still running. Tracy's
/// own client does the same.
const KEEP_ALIVE_PERIOD: Duration = Duration::from_secs(5);

/// Maximum number of connections at a time.
const MOST_VISITORS: usize = 16;

/// Largest difference in ns by which a time of a context may be earlier than the previous time.
///
/// If the difference is larger, the origin of the context's counter is sent again, so that the
/// viewer does not assume that the counter has restarted.
const STEP_BACK_NS: i64 = 1 << 30;

/// Id and name of the thread with the remarks for one viewer.
const REMARKS: (u32, &str) = (REMARKS_THREAD, "Remarks on this trace");

impl LiveFeed {
    /// Starts to send the feed to every viewer that connects, while the program runs. Each viewer
    /// has its own thread. `on_end` receives the result of each connection.
    ///
    /// # Errors
    /// If the system cannot accept connections without blocking.
    pub fn serve(
        self: &Arc<Self>,
        server: TracyServer,
        options: TracyOptions,
        viewers: Program,
        on_end: impl Fn(Result<ServedViewer, ServeError>) + Send + Sync + 'static,
    ) -> Result<(), ServeError> {
        server.set_nonblocking()?;
        let feed = Arc::clone(self);
        thread::spawn(move || feed.accept_viewers(server, &options, viewers, &on_end));
        Ok(())
    }

    /// Accepts viewers until the feed ends, and then waits until their sessions end.
    fn accept_viewers(
        self: &Arc<Self>,
        server: TracyServer,
        options: &TracyOptions,
        viewers: Program,
        on_end: &(impl Fn(Result<ServedViewer, ServeError>) + Sync),
    ) {
        let count = &AtomicUsize::new(0);
        thread::scope(|scope| {
            while !self.is_finished() {
                let Ok(visitor) = server.accept() else {
                    thread::sleep(QUESTION_PERIOD);
                    continue;
                };
                if count.fetch_add(1, Ordering::Relaxed) >= MOST_VISITORS {
                    count.fetch_sub(1, Ordering::Relaxed);
                    let (peer, most) = (visitor.peer, MOST_VISITORS);
                    on_end(Err(ServeError::TooManyViewers { peer, most }));
                    continue;
                }
                scope.spawn(move || {
                    // The viewer counts as connected until the end of its connection is reported.
                    let mut subscription = None;
                    let served = visitor.serve_with(options, viewers, |connection, notes| {
                        let limit = 1 << (8 * connection.protocol.context_bytes());
                        let grouping = self.grouping(limit);
                        let subscription = subscription.insert(self.subscribe());
                        Session::new(connection, notes, grouping).run(subscription)
                    });
                    on_end(served);
                    drop(subscription);
                    count.fetch_sub(1, Ordering::Relaxed);
                });
            }
            // No viewer can connect while the last sessions end.
            drop(server);
        });
    }
}

/// A context that was announced to the viewer.
struct KnownContext {
    number: u16,
    last_ns: i64,
}

/// Session with one viewer.
struct Session<'c> {
    connection: &'c mut Connection,
    notes: &'c mut TracyNotes,
    grouping: Grouping,
    contexts: BTreeMap<(u32, u16, u16), KnownContext>,
    plots: BTreeMap<u32, u64>,
    lanes: BTreeSet<u32>,
    query: u16,
}

impl<'c> Session<'c> {
    const fn new(
        connection: &'c mut Connection,
        notes: &'c mut TracyNotes,
        grouping: Grouping,
    ) -> Self {
        Self {
            connection,
            notes,
            grouping,
            contexts: BTreeMap::new(),
            plots: BTreeMap::new(),
            lanes: BTreeSet::new(),
            query: 0,
        }
    }

    /// Sends each part when it is added, until the feed ends. An error means that the viewer left
    /// or received nothing for too long.
    ///
    /// Requests are answered only between two parts. A viewer that asks to end the session
    /// therefore has only complete parts.
    fn run(&mut self, feed: &Subscription) -> io::Result<()> {
        let mut last_sent = Instant::now();
        loop {
            match feed.next(QUESTION_PERIOD) {
                Next::Part(part, missed) => {
                    self.add_missed(missed, &part)?;
                    self.send_part(&part)?;
                    self.connection.send()?;
                    last_sent = Instant::now();
                }
                Next::Nothing if last_sent.elapsed() >= KEEP_ALIVE_PERIOD => {
                    self.connection.items.keep_alive();
                    self.connection.send()?;
                    last_sent = Instant::now();
                }
                Next::Nothing => {}
                Next::End => return self.connection.finish(),
            }
            self.connection.answer_waiting()?;
        }
    }

    /// Informs the viewer of the number of items that it has missed.
    fn add_missed(&mut self, missed: ItemCounts, part: &Part) -> io::Result<()> {
        if missed.is_zero() {
            return Ok(());
        }
        let notes = &mut self.notes;
        notes.missed_zones = notes.missed_zones.saturating_add(missed.zones);
        notes.missed_messages = notes.missed_messages.saturating_add(missed.messages);
        let ItemCounts { zones, messages } = missed;
        let text = format!(
            "{zones} zones and {messages} messages before this time are only in the recording: they \
             are no longer kept for viewers"
        );
        let starts = part.lanes.iter().flat_map(|lane| &lane.zones).map(|zone| zone.start_ns);
        let time_ns = starts.min().unwrap_or(0);
        let thread_id = REMARKS.0;
        self.send_message(&Message { time_ns, thread_id, text, rgb: REMARK_RGB })
    }

    fn send_part(&mut self, part: &Part) -> io::Result<()> {
        self.notes.vague_zones = self.notes.vague_zones.saturating_add(part.vague_zones);
        for lane in &part.lanes {
            self.send_lane(lane)?;
        }
        for (id, name) in &part.threads {
            self.add_thread(*id, name);
        }
        for message in &part.messages {
            self.send_message(message)?;
        }
        self.send_lost(part)
    }

    fn send_lane(&mut self, lane: &PartLane) -> io::Result<()> {
        self.add_thread(lane.thread_id, &lane.name);
        self.lanes.insert(lane.thread_id);
        let number = self.context(lane);
        let Some((number, mut last_ns)) = number else { return Ok(()) };
        for edge in edges_of_depths(lane.zones.iter().map(|zone| zone.depth)) {
            let (index, is_begin) = match edge {
                ZoneEdge::Begin(index) => (index, true),
                ZoneEdge::End(index) => (index, false),
            };
            let Some(found) = lane.zones.get(index) else { continue };
            let time_ns = tracy_ns(if is_begin { found.start_ns } else { found.end_ns });
            let items = &mut self.connection.items;
            if time_ns < last_ns.saturating_sub(STEP_BACK_NS) {
                items.gpu_time_sync(number);
            }
            last_ns = time_ns;
            // No other zone in progress uses this number, because the item with the zone's time
            // follows immediately.
            let zone = GpuZone { context: number, thread_id: lane.thread_id, query: self.query };
            self.query = self.query.wrapping_add(1);
            if is_begin {
                items.gpu_zone_begin(zone, time_ns, &found.place);
            } else {
                items.gpu_zone_end(zone, time_ns);
            }
            self.connection.send_full_frame()?;
        }
        if let Some(context) = self.contexts.get_mut(&self.grouping.key(lane.id)) {
            context.last_ns = last_ns;
        }
        self.notes.zones = self.notes.zones.saturating_add(lane.zones.len() as u64);
        self.notes.lanes = self.lanes.len() as u64;
        Ok(())
    }

    /// Returns the number of the lane's context, and the latest time that was sent for this
    /// context. A new context is announced first.
    fn context(&mut self, lane: &PartLane) -> Option<(u16, i64)> {
        let key = self.grouping.key(lane.id);
        if let Some(known) = self.contexts.get(&key) {
            return Some((known.number, known.last_ns));
        }
        let number = u16::try_from(self.contexts.len()).ok()?;
        self.connection.items.new_context(number, &self.grouping.name(lane.id));
        self.contexts.insert(key, KnownContext { number, last_ns: 0 });
        self.notes.contexts = self.contexts.len() as u64;
        Some((number, 0))
    }

    /// Announces a thread if it is new. The viewer then asks for the thread's name.
    fn add_thread(&mut self, id: u32, name: &Arc<str>) {
        if let Entry::Vacant(unknown) = self.connection.names.threads.entry(id.into()) {
            unknown.insert(Arc::clone(name));
            self.connection.items.thread_exists(id);
        }
    }

    fn send_message(&mut self, message: &Message) -> io::Result<()> {
        let (remarks, name) = REMARKS;
        if message.thread_id == remarks {
            self.add_thread(remarks, &name.into());
        }
        let items = &mut self.connection.items;
        items.thread_context(message.thread_id);
        items.message(tracy_ns(message.time_ns), message.rgb, &message.text);
        self.notes.messages = self.notes.messages.saturating_add(1);
        self.connection.send_full_frame()?;
        Ok(())
    }

    /// Sends the points of the plots of lost records.
    fn send_lost(&mut self, part: &Part) -> io::Result<()> {
        for &(chip_id, time_ns, sum) in &part.lost {
            let key = self.plot(chip_id);
            let (remarks, name) = REMARKS;
            self.add_thread(remarks, &name.into());
            let items = &mut self.connection.items;
            items.thread_context(remarks);
            #[expect(clippy::cast_precision_loss, reason = "a plot is drawn, not counted with")]
            items.plot_value(key, tracy_ns(time_ns), sum as f64);
            self.connection.send_full_frame()?;
        }
        Ok(())
    }

    fn plot(&mut self, chip_id: u32) -> u64 {
        let next = FIRST_PLOT.saturating_add(self.connection.names.plots.len() as u64);
        let key = *self.plots.entry(chip_id).or_insert(next);
        if key == next {
            self.connection.names.plots.push(lost_records_name(chip_id));
            self.connection.items.plot_config(key, true);
        }
        key
    }
}

fn lost_records_name(chip_id: u32) -> String {
    format!("Device {chip_id}: lost records")
}
