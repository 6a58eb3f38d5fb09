//! Interprets the items of a session in order.

mod device_zones;
mod finish;
mod plots;
mod zones;

use crate::{
    callstacks::Callstacks,
    client::Welcome,
    devices::Devices,
    fields::Fields,
    item::{BadItem, Candidate, Item, take_item},
    locations::Locations,
    memory::{PoolItem, Pools},
    named::Named,
    protocol::{ItemKind, Program, Query, Topic, TracyProtocol},
    queries::Queries,
    recording::{Damage, FrameSeries, ProgramFacts, RecordingEnd, TracyMessage, TracyPlot},
    texts::{TextRef, Texts},
    threads::Threads,
    times::{ClientClock, Reference},
};
use std::collections::BTreeMap;

/// One session with a client.
#[derive(Debug, Default)]
pub(crate) struct Session {
    /// Versions that can decode all data so far. Several versions may remain, because a version of
    /// Tracy and a version of Tenstorrent's fork can have the same protocol number.
    candidates: Vec<Candidate>,
    program: ProgramFacts,
    clock: ClientClock,
    most_events: usize,
    pub(crate) queries: Queries,
    texts: Texts,
    locations: Locations,
    callstacks: Callstacks,
    threads: Threads,
    devices: Devices,
    /// Messages, each with a reference to its text. The texts may not have arrived yet.
    messages: Vec<(TextRef, TracyMessage)>,
    plots: Named<TracyPlot>,
    frames: Named<FrameSeries>,
    facts: Vec<String>,
    crash: Option<(usize, i64, TextRef)>,
    thread_time: Reference,
    /// Time of the latest item of the serial queue. Events of locks, memory and devices contain
    /// only the difference from the time of the previous item.
    serial_time: Reference,
    pools: Pools,
    first_text: Option<Box<str>>,
    second_text: Option<Box<str>>,
    left_out: BTreeMap<ItemKind, u64>,
    damage: Damage,
    frame_count: u64,
    point_count: usize,
    /// True if the program has announced its end.
    pub(crate) is_over: bool,
}

impl Session {
    /// Creates a session with a client that accepted the version `protocol` and sent `welcome`.
    pub(crate) fn new(
        protocol: &'static TracyProtocol,
        welcome: Welcome,
        expected: Program,
        most_events: usize,
    ) -> Self {
        let same_number =
            TracyProtocol::all().iter().filter(|known| known.number == protocol.number);
        let mut candidates: Vec<_> = same_number.map(Candidate::new).collect();
        candidates.sort_by_key(|known| known.protocol.program != expected);
        let Welcome { clock, name, host, process_id, started_s } = welcome;
        let (protocol, releases) = (protocol.number, protocol.releases);
        let program = ProgramFacts { name, host, process_id, started_s, protocol, releases };
        Self { candidates, program, clock, most_events, ..Self::default() }
    }

    /// Returns true if the program has announced its end and answered all requests.
    pub(crate) fn is_done(&self) -> bool {
        self.is_over && self.queries.is_done()
    }

    /// Processes the items of a frame.
    ///
    /// # Errors
    /// If an item cannot be read. All items before it have been processed.
    pub(crate) fn take_frame(&mut self, frame: &[u8]) -> Result<(), BadItem> {
        self.choose_version(frame);
        self.frame_count = self.frame_count.saturating_add(1);
        let Some(protocol) = self.candidates.first().map(|known| known.protocol) else {
            return Ok(());
        };
        let mut rest = Fields::new(protocol, frame);
        while !rest.is_empty() {
            let left = rest.len();
            let item = take_item(&mut rest).inspect_err(|_| {
                self.damage.unread_bytes = self.damage.unread_bytes.saturating_add(left as u64);
            })?;
            if self.take(item).is_none() {
                self.leave_out(item.kind);
            }
        }
        Ok(())
    }

    /// Removes candidate versions that cannot decode the frame.
    ///
    /// Tracy and Tenstorrent's fork share protocol numbers, but differ in the width of a context
    /// number. A frame contains only complete items. A version that cannot decode a frame is
    /// therefore not the client's version.
    fn choose_version(&mut self, frame: &[u8]) {
        if self.candidates.len() > 1 {
            let explaining = self.candidates.iter_mut().filter_map(|known| {
                let explains = known.explains(frame);
                explains.then_some(*known)
            });
            let left: Vec<_> = explaining.collect();
            if !left.is_empty() {
                self.candidates = left;
            }
        }
    }

    fn leave_out(&mut self, kind: ItemKind) {
        let count = self.left_out.entry(kind).or_default();
        *count = count.saturating_add(1);
    }

    /// Returns true if one more event may be kept. If not, counts the event as beyond the limit.
    fn has_room(&mut self) -> bool {
        let kept = [self.threads.zone_count(), self.devices.zone_count(), self.messages.len()];
        let kept = kept.into_iter().fold(self.point_count, usize::saturating_add);
        let has_room = kept < self.most_events;
        if !has_room {
            self.damage.beyond_limit = self.damage.beyond_limit.saturating_add(1);
        }
        has_room
    }

    /// Processes one item. Returns `None` if items of this kind are not kept, or if the item cannot
    /// be used, such as the answer to an unknown request.
    fn take(&mut self, item: Item<'_>) -> Option<()> {
        match item.kind.topic() {
            Topic::Session => self.is_over |= item.kind == ItemKind::Terminate,
            Topic::FirstText => self.first_text = Some(item.fields.rest_as_text()),
            Topic::SecondText => self.second_text = Some(item.fields.rest_as_text()),
            Topic::Fact => self.facts.extend(self.first_text.take().map(String::from)),
            Topic::Location => return self.locations.take_payload(item.fields),
            Topic::Zone => return self.take_zone_item(item),
            Topic::Message => return self.take_message(item),
            Topic::Crash => return self.take_crash(item.fields),
            Topic::Answer => return self.take_answer(item),
            Topic::Callstack => return self.take_callstack_item(item),
            Topic::Plot => return self.take_plot_item(item),
            Topic::FrameMark => return self.take_frame_mark(item),
            Topic::Device => return self.take_device_item(item),
            Topic::Section => {
                // Sections are not kept. Times are differences, so the section's time must still be
                // added.
                let mut fields = item.fields;
                self.thread_time.advance(fields.i64()?);
                return None;
            }
            Topic::Lock => {
                let mut fields = item.fields;
                let ids_before_time = match item.kind {
                    ItemKind::LockRelease | ItemKind::LockSharedRelease => 1,
                    _ => 2,
                };
                for _ in 0..ids_before_time {
                    fields.u32()?;
                }
                self.serial_time.advance(fields.i64()?);
                return None;
            }
            Topic::Memory => return self.take_memory_item(item),
            Topic::Other => return None,
        }
        Some(())
    }

    /// Processes an item about an allocation. Allocations without a pool are not kept.
    fn take_memory_item(&mut self, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let mut fields = item.fields;
        if item.kind == Kind::MemNamePayload {
            self.pools.set_name(fields.u64()?);
            return Some(());
        }
        let pool_item = PoolItem::take(item.kind, fields)?;
        let time_ns = self.clock.ns(self.serial_time.advance(pool_item.distance));
        if matches!(
            item.kind,
            Kind::MemAlloc | Kind::MemAllocCallstack | Kind::MemFree | Kind::MemFreeCallstack
        ) {
            return None;
        }
        let has_room = self.has_room();
        let thread = self.threads.thread_of(pool_item.thread.into(), &mut self.queries);
        let Self { pools, texts, queries, damage, .. } = self;
        let place = (time_ns, thread, has_room);
        if pools.take(item.kind, pool_item, place, (texts, queries), damage)? {
            self.point_count = self.point_count.saturating_add(1);
        }
        Some(())
    }

    fn take_crash(&mut self, mut fields: Fields<'_>) -> Option<()> {
        let time_ns = self.clock.ns(fields.i64()?);
        let message = self.texts.at(fields.u64()?, &mut self.queries);
        self.crash = Some((self.threads.current(&mut self.queries), time_ns, message));
        Some(())
    }

    fn take_answer(&mut self, item: Item<'_>) -> Option<()> {
        self.queries.answered();
        let answer = || item.fields.rest_as_text();
        match item.kind {
            ItemKind::StringData => self.texts.answer(Query::Text, item.key, answer()),
            ItemKind::ThreadName => self.threads.name(item.key, &answer()),
            ItemKind::FiberName => self.threads.name_fiber(item.key, &answer()),
            ItemKind::PlotName => self.texts.answer(Query::PlotName, item.key, answer()),
            ItemKind::FrameName => self.texts.answer(Query::FrameName, item.key, answer()),
            ItemKind::SourceLocation => {
                return self.locations.answer(item.fields, &mut self.texts, &mut self.queries);
            }
            _ => {}
        }
        Some(())
    }

    fn take_callstack_item(&mut self, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        match item.kind {
            Kind::CallstackPayload => self.callstacks.take_addresses(item.fields),
            Kind::CallstackAllocPayload => return self.callstacks.take_functions(item.fields),
            Kind::Callstack | Kind::CallstackAlloc => {
                let stack = self.callstacks.take_payload(&mut self.queries);
                self.threads.set_callstack(stack, &mut self.queries);
            }
            // Call stacks of items in the serial queue are not kept.
            Kind::CallstackSerial => self.callstacks.drop_payload(),
            Kind::CallstackFrameSize => {
                self.queries.answered();
                self.first_text = None; // the library that contains the address
                return self.callstacks.answer_head(item.fields);
            }
            Kind::CallstackFrame => {
                let [name, file] = [self.first_text.take(), self.second_text.take()];
                return self.callstacks.answer_function(item.fields, name, file);
            }
            _ => {
                self.callstacks.drop_payload();
                return None;
            }
        }
        Some(())
    }

    /// Returns the reason for the end of a recording if the current frame cannot be read. `found`
    /// describes the content that cannot be read.
    pub(crate) fn unreadable(&self, found: String) -> RecordingEnd {
        RecordingEnd::Unreadable { frame: self.frame_count.saturating_sub(1), found }
    }

    /// Adds the size of a frame that cannot be decompressed to the count of unread bytes.
    pub(crate) fn count_unread(&mut self, bytes: usize) {
        self.frame_count = self.frame_count.saturating_add(1);
        self.damage.unread_bytes = self.damage.unread_bytes.saturating_add(bytes as u64);
    }
}
