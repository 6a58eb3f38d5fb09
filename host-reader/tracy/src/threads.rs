//! Threads with their open and finished zones.

use crate::{
    protocol::Query,
    queries::Queries,
    recording::{Damage, TracyThread, TracyZone, ZoneExtra},
};
use std::collections::HashMap;

/// First number that identifies a fiber. Numbers of threads have 32 bits.
const FIRST_FIBER: u64 = 1 << 32;

/// A thread or fiber that is being recorded.
#[derive(Debug, Default)]
struct OpenThread {
    thread: TracyThread,
    /// Index and number of each open zone. The client sends the same number before the zone's end.
    ///
    /// The index is `None` if the zone was not kept because of the limit on events. The number is 0
    /// if the client does not number its zones.
    open: Vec<(Option<usize>, u32)>,
    /// Number of the zone to which the next item refers.
    expected: u32,
    /// Index of the fiber that runs on the thread.
    fiber: Option<usize>,
    /// Call stack for the next item.
    callstack: Option<u32>,
}

/// All threads and fibers.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    met: Vec<OpenThread>,
    by_id: HashMap<u64, usize>,
    /// Fibers by the address of their name.
    by_fiber: HashMap<u64, usize>,
    /// Index of the current thread; items refer to this thread.
    current: usize,
    /// Number of zones that were kept.
    count: usize,
}

impl Threads {
    /// Selects the thread to which the following items refer.
    pub(crate) fn set_current(&mut self, id: u32, queries: &mut Queries) {
        self.current = self.thread_of(id.into(), queries);
    }

    /// Returns the index of the thread with this id. A new thread is added, and its name is
    /// requested.
    pub(crate) fn thread_of(&mut self, id: u64, queries: &mut Queries) -> usize {
        let next = self.met.len();
        let index = *self.by_id.entry(id).or_insert_with(|| {
            queries.ask(Query::ThreadName, id);
            next
        });
        if index == next {
            let thread = TracyThread { id, ..TracyThread::default() };
            self.met.push(OpenThread { thread, ..OpenThread::default() });
        }
        index
    }

    /// Returns the index of the current thread, or of the fiber that runs on it.
    pub(crate) fn current(&mut self, queries: &mut Queries) -> usize {
        if self.met.is_empty() {
            self.set_current(0, queries);
        }
        self.met.get(self.current).and_then(|thread| thread.fiber).unwrap_or(self.current)
    }

    fn current_thread(&mut self, queries: &mut Queries) -> Option<&mut OpenThread> {
        let index = self.current(queries);
        self.met.get_mut(index)
    }

    pub(crate) fn name(&mut self, id: u64, name: &str) {
        if let Some(thread) = self.by_id.get(&id).and_then(|index| self.met.get_mut(*index)) {
            name.clone_into(&mut thread.thread.name);
        }
    }

    pub(crate) fn name_fiber(&mut self, key: u64, name: &str) {
        if let Some(fiber) = self.by_fiber.get(&key).and_then(|index| self.met.get_mut(*index)) {
            name.clone_into(&mut fiber.thread.name);
        }
    }

    /// Sets the fiber that runs on a thread. `key` is the address of the fiber's name.
    pub(crate) fn begin_fiber(&mut self, thread: u32, key: u64, queries: &mut Queries) {
        let thread = self.thread_of(thread.into(), queries);
        let next = self.met.len();
        let fiber_count = self.by_fiber.len() as u64;
        let fiber = *self.by_fiber.entry(key).or_insert(next);
        if fiber == next {
            queries.ask(Query::FiberName, key);
            let id = FIRST_FIBER.saturating_add(fiber_count);
            let thread = TracyThread { id, ..TracyThread::default() };
            self.met.push(OpenThread { thread, ..OpenThread::default() });
        }
        if let Some(thread) = self.met.get_mut(thread) {
            thread.fiber = Some(fiber);
        }
    }

    pub(crate) fn leave_fiber(&mut self, thread: u32) {
        let index = self.by_id.get(&thread.into());
        if let Some(thread) = index.and_then(|index| self.met.get_mut(*index)) {
            thread.fiber = None;
        }
    }

    /// Sets the number of the zone to which the next item refers.
    pub(crate) fn expect(&mut self, number: u32, queries: &mut Queries) {
        if let Some(thread) = self.current_thread(queries) {
            thread.expected = number;
        }
    }

    pub(crate) fn set_callstack(&mut self, callstack: Option<u32>, queries: &mut Queries) {
        if let Some(thread) = self.current_thread(queries) {
            thread.callstack = callstack;
        }
    }

    pub(crate) fn take_callstack(&mut self, queries: &mut Queries) -> Option<u32> {
        self.current_thread(queries)?.callstack.take()
    }

    /// Returns the number of zones that were kept.
    pub(crate) const fn zone_count(&self) -> usize {
        self.count
    }

    /// Begins a zone.
    ///
    /// `zone` contains the location, start and call stack of the zone, or is `None` if the zone is
    /// not kept. Zones that are not kept are also added to the open zones, so that each end
    /// that arrives later is applied to the right zone.
    pub(crate) fn begin(&mut self, zone: Option<(u32, i64, Option<u32>)>, queries: &mut Queries) {
        let Some(thread) = self.current_thread(queries) else { return };
        let number = std::mem::take(&mut thread.expected);
        let depth = u16::try_from(thread.open.len()).unwrap_or(u16::MAX);
        thread.open.push((zone.map(|_| thread.thread.zones.len()), number));
        let Some((location, start_ns, callstack)) = zone else { return };
        let extra = callstack
            .map(|index| Box::new(ZoneExtra { callstack: Some(index), ..ZoneExtra::default() }));
        thread.thread.zones.push(TracyZone { location, depth, start_ns, end_ns: None, extra });
        self.count = self.count.saturating_add(1);
    }

    /// Ends the zone with the number that the client sent just before. If the client does not
    /// number its zones, ends the innermost zone.
    pub(crate) fn end(&mut self, end_ns: i64, damage: &mut Damage, queries: &mut Queries) {
        let Some(thread) = self.current_thread(queries) else { return };
        let number = std::mem::take(&mut thread.expected);
        let Some(position) = thread.open.iter().rposition(|open| open.1 == number) else {
            damage.unmatched_ends = damage.unmatched_ends.saturating_add(1);
            return;
        };
        // Zones inside the ended zone did not end. Such zones stay open, and are counted when the
        // recording ends.
        let ended = thread.open.get(position).and_then(|open| open.0);
        thread.open.truncate(position);
        let Some(zone) = ended.and_then(|index| thread.thread.zones.get_mut(index)) else { return };
        if end_ns < zone.start_ns {
            damage.reversed_zones = damage.reversed_zones.saturating_add(1);
        } else {
            zone.end_ns = Some(end_ns);
        }
    }

    /// Calls `change` to change the innermost zone.
    pub(crate) fn change(
        &mut self,
        damage: &mut Damage,
        queries: &mut Queries,
        change: impl FnOnce(&mut ZoneExtra),
    ) {
        let Some(thread) = self.current_thread(queries) else { return };
        let number = std::mem::take(&mut thread.expected);
        let innermost = thread.open.last().filter(|open| open.1 == number);
        let Some(&(index, _)) = innermost else {
            damage.stray_extras = damage.stray_extras.saturating_add(1);
            return;
        };
        if let Some(zone) = index.and_then(|index| thread.thread.zones.get_mut(index)) {
            change(zone.extra.get_or_insert_default());
        }
    }

    /// Returns the threads. Stores in `damage` the number of zones without an end.
    pub(crate) fn finish(self, damage: &mut Damage) -> Vec<TracyThread> {
        let finished = self.met.into_iter().map(|open| open.thread).collect::<Vec<_>>();
        let zones = finished.iter().flat_map(|thread| &thread.zones);
        let endless = zones.filter(|zone| zone.end_ns.is_none()).count() as u64;
        damage.open_zones = endless.saturating_sub(damage.reversed_zones);
        finished
    }
}

/// Appends a line to a zone's text.
pub(crate) fn append_line(extra: &mut ZoneExtra, line: &str) {
    extra.text = Some(match extra.text.take() {
        None => line.into(),
        Some(text) => format!("{text}\n{line}").into(),
    });
}
