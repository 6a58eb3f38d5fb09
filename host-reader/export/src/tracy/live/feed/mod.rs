//! Feed: the zones, messages and losses of a running program, for all connected viewers.
//!
//! | question | file |
//! |---|---|
//! | how do the records of one read become lanes for a viewer? | `part` |
//! | in which lane is a zone sent if its nested zones were sent earlier? | `rows` |
//! | which parts are kept, and what has a viewer missed? | `history` |
//!
//! The program adds a part after each read, and never waits for a viewer. A viewer that connects
//! late or receives too slowly gets only the parts that the feed still keeps. Such a viewer also
//! gets the numbers of zones and messages that it has missed.

mod history;
mod part;
mod rows;

pub(super) use history::{ItemCounts, Next, Subscription};
pub(super) use part::{Part, PartLane};

use crate::{
    Trace,
    tracy::{lanes::Grouping, messages},
};
use history::History;
use part::PartBuilder;
use reader::lane::LaneId;
use std::{
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Default number of zones and messages that a feed keeps for viewers.
const KEPT_ITEMS: u64 = 1 << 20;

/// State of the connections to all viewers of a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedPressure {
    /// Number of connected viewers.
    pub viewer_count: usize,
    /// Number of zones that are waiting for the slowest viewer.
    pub waiting_zones: u64,
    /// Number of zones that viewers have missed so far because the feed had already discarded
    /// these zones, summed over all viewers.
    pub missed_zones: u64,
}

/// Records of a running program for Tracy viewers, which may connect and leave at any time.
///
/// ```
/// use export::{Trace, TraceFilter, tracy::LiveFeed};
/// use recording::Recording;
/// let feed = LiveFeed::new(0, &[]);
/// // After each read, with the records of that read:
/// let recording = Recording::default();
/// feed.add(&Trace::new(&recording, &TraceFilter::default()));
/// assert_eq!(feed.pressure().waiting_zones, 0);
/// feed.finish(&Trace::new(&recording, &TraceFilter::default()), 0);
/// ```
#[derive(Debug)]
pub struct LiveFeed {
    builder: Mutex<PartBuilder>,
    history: Mutex<History>,
    changed: Condvar,
    lanes: Vec<LaneId>,
}

impl LiveFeed {
    /// Creates a feed. Time 0 of the feed is `origin_host_ns` on the host's clock.
    ///
    /// `lanes` are all lanes that the program may have. From these lanes, the feed determines how
    /// to group lanes for viewers that support only few contexts.
    #[must_use]
    pub fn new(origin_host_ns: i64, lanes: &[LaneId]) -> Self {
        let mut lanes = lanes.to_vec();
        lanes.sort_unstable();
        lanes.dedup();
        Self {
            builder: Mutex::new(PartBuilder::new(origin_host_ns)),
            history: Mutex::new(History::new(KEPT_ITEMS)),
            changed: Condvar::new(),
            lanes,
        }
    }

    /// Sets the maximum number of zones and messages that are kept for viewers. The part of the
    /// last read is always kept, even if it alone exceeds the maximum.
    #[must_use]
    pub fn keeping(self, count: u64) -> Self {
        Self { history: Mutex::new(History::new(count)), ..self }
    }

    /// Adds the records of one read. Never waits for a viewer.
    pub fn add(&self, trace: &Trace<'_>) {
        let part = lock(&self.builder).part(trace);
        if !part.is_empty() {
            lock(&self.history).push(part);
            self.changed.notify_all();
        }
    }

    /// Ends the feed with remarks about the whole recording. `other_record_count` is the number of
    /// records of lanes that are not streamed.
    ///
    /// For a viewer, the feed ends when the viewer has received all parts that are still kept.
    pub fn finish(&self, trace: &Trace<'_>, other_record_count: u64) {
        let builder = lock(&self.builder);
        let mut remarks = messages::trace_messages(trace, messages::REMARKS_THREAD);
        if other_record_count > 0 {
            let text = format!(
                "{other_record_count} records of lanes that do not stream are only in the recording"
            );
            remarks.push(messages::remark(text, messages::REMARKS_THREAD));
        }
        let part = builder.remarks(remarks);
        let mut history = lock(&self.history);
        history.push(part);
        history.is_finished = true;
        self.changed.notify_all();
    }

    /// Returns true after [`LiveFeed::finish`].
    #[must_use]
    pub fn is_finished(&self) -> bool {
        lock(&self.history).is_finished
    }

    /// Returns the state of the connections.
    #[must_use]
    pub fn pressure(&self) -> FeedPressure {
        lock(&self.history).pressure()
    }

    /// Waits at most `limit` until a viewer is connected. Returns true if a viewer is connected.
    #[must_use]
    pub fn wait_for_viewer(&self, limit: Duration) -> bool {
        self.wait_until(limit, |history| history.has_viewers())
    }

    /// Waits at most `limit` until no viewer of the finished feed is connected and the result of
    /// each connection is reported. A viewer disconnects when it has received everything. Returns
    /// false if a viewer is still connected.
    #[must_use]
    pub fn wait_for_viewers(&self, limit: Duration) -> bool {
        self.wait_until(limit, |history| !history.has_viewers())
    }

    fn wait_until(&self, limit: Duration, is_met: impl Fn(&History) -> bool) -> bool {
        let history = lock(&self.history);
        let waited = self.changed.wait_timeout_while(history, limit, |history| !is_met(history));
        is_met(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Returns the grouping of the lanes for a viewer with at most `limit` contexts.
    pub(super) fn grouping(&self, limit: usize) -> Grouping {
        Grouping::new(&self.lanes, limit)
    }

    /// Connects a viewer. The viewer starts with the oldest part that is kept.
    pub(super) fn subscribe(self: &Arc<Self>) -> Subscription {
        let number = lock(&self.history).add_viewer();
        self.changed.notify_all();
        Subscription::new(Arc::clone(self), number)
    }

    fn unsubscribe(&self, number: u64) {
        lock(&self.history).remove_viewer(number);
        self.changed.notify_all();
    }

    /// Returns the next part for a viewer, after waiting for it at most `limit`.
    fn next(&self, number: u64, limit: Duration) -> Next {
        let deadline = Instant::now().checked_add(limit);
        let mut history = lock(&self.history);
        loop {
            let next = history.next(number);
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let left = left.filter(|left| !left.is_zero());
            let (Next::Nothing, Some(left)) = (&next, left) else { return next };
            let waited = self.changed.wait_timeout(history, left);
            history = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
