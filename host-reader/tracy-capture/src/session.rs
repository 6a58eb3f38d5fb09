//! Meaning of the items of a session, one after the other.

use crate::{
    callstacks::Callstacks,
    client::Welcome,
    devices::Devices,
    fields::{Fields, text},
    item::{BadItem, Candidate, Item, take_item},
    locations::Locations,
    memory::{PoolItem, Pools},
    queries::Queries,
    recording::{
        Damage, FrameSeries, PlotFormat, ProgramFacts, RecordingEnd, TracyCrash, TracyMessage,
        TracyPlot, TracyRecording, ZoneExtra,
    },
    texts::{TextRef, Texts},
    threads::{PendingMessage, Threads, append_line},
    times::{ClientClock, Reference, far_distance, near_distance},
    topic::Topic,
};
use std::collections::{BTreeMap, HashMap};
use tracy_protocol::{ItemKind, Program, Query, TracyProtocol};

/// Name of the plot that a client makes of the processors' load.
const PROCESSOR_LOAD: &str = "CPU usage";
/// Name of the program's main frames, which have no other.
const MAIN_FRAMES: &str = "Frame";

/// A plot or a series of frames while its name may be on its way.
#[derive(Debug, Default)]
struct Named<T> {
    items: Vec<(u64, T)>,
    by_key: HashMap<u64, usize>,
}

impl<T: Default> Named<T> {
    /// The item with this key, whose name is asked for once.
    fn with_key(&mut self, key: u64, query: Query, queries: &mut Queries) -> Option<&mut T> {
        let next = self.items.len();
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            if key != 0 {
                queries.ask(query, key);
            }
            self.items.push((key, T::default()));
        }
        self.items.get_mut(index).map(|(_, item)| item)
    }
}

/// One session with a client.
#[derive(Debug)]
pub(crate) struct Session {
    /// The versions that explain everything so far: the client's number may have two.
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
    messages: Vec<PendingMessage>,
    plots: Named<TracyPlot>,
    plot_names: HashMap<u64, Box<str>>,
    frames: Named<FrameSeries>,
    frame_names: HashMap<u64, Box<str>>,
    facts: Vec<String>,
    crash: Option<(usize, i64, TextRef)>,
    thread_time: Reference,
    /// Time of the serial queue, which locks, memory and devices share.
    serial_time: Reference,
    pools: Pools,
    first_text: Option<Box<str>>,
    second_text: Option<Box<str>>,
    left_out: BTreeMap<ItemKind, u64>,
    damage: Damage,
    frame_count: u64,
    point_count: usize,
    /// The program has said that it has no more.
    pub(crate) is_over: bool,
}

impl Session {
    /// A session with a client that gave this welcome to a server of this version.
    pub(crate) fn new(
        protocol: &'static TracyProtocol,
        welcome: Welcome,
        expected: Program,
        most_events: usize,
    ) -> Self {
        let of_number = TracyProtocol::all().iter().filter(|known| known.number == protocol.number);
        let mut candidates: Vec<_> = of_number.map(Candidate::new).collect();
        candidates.sort_by_key(|known| known.protocol.program != expected);
        let Welcome { clock, name, host, process_id, started_s } = welcome;
        let (protocol, releases) = (protocol.number, protocol.releases);
        let program = ProgramFacts { name, host, process_id, started_s, protocol, releases };
        Self {
            candidates,
            program,
            clock,
            most_events,
            queries: Queries::default(),
            texts: Texts::default(),
            locations: Locations::default(),
            callstacks: Callstacks::default(),
            threads: Threads::default(),
            devices: Devices::default(),
            messages: Vec::new(),
            plots: Named::default(),
            plot_names: HashMap::new(),
            frames: Named::default(),
            frame_names: HashMap::new(),
            facts: Vec::new(),
            crash: None,
            thread_time: Reference::default(),
            serial_time: Reference::default(),
            pools: Pools::default(),
            first_text: None,
            second_text: None,
            left_out: BTreeMap::new(),
            damage: Damage::default(),
            frame_count: 0,
            point_count: 0,
            is_over: false,
        }
    }

    /// Returns true if the program has sent all and answered all.
    pub(crate) fn is_done(&self) -> bool {
        self.is_over && self.queries.is_done()
    }

    /// Takes the items of a frame.
    ///
    /// # Errors
    /// If an item cannot be read. Items before it have been taken.
    pub(crate) fn take_frame(&mut self, frame: &[u8]) -> Result<(), BadItem> {
        self.choose_version(frame);
        self.frame_count = self.frame_count.saturating_add(1);
        let Some(protocol) = self.candidates.first().map(|known| known.protocol) else {
            return Ok(());
        };
        let mut rest = Fields::new(frame);
        while !rest.is_empty() {
            let left = rest.len();
            let item = take_item(protocol, &mut rest).inspect_err(|_| {
                self.damage.unread_bytes = self.damage.unread_bytes.saturating_add(left as u64);
            })?;
            if self.take(protocol, item).is_none() {
                self.leave_out(item.kind);
            }
        }
        Ok(())
    }

    /// Tracy and the fork share numbers and differ in the width of a context's number. A frame
    /// holds whole items: a version that cannot explain one is not the client's.
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

    /// Returns true if one more event may be kept; counts it if not.
    fn has_room(&mut self) -> bool {
        let kept = [self.threads.zone_count(), self.devices.zone_count(), self.messages.len()];
        let kept = kept.into_iter().fold(self.point_count, usize::saturating_add);
        let has_room = kept < self.most_events;
        if !has_room {
            self.damage.beyond_limit = self.damage.beyond_limit.saturating_add(1);
        }
        has_room
    }

    /// Takes one item; `None` if it is of a kind that is not kept, or refers to nothing known.
    fn take(&mut self, protocol: &TracyProtocol, item: Item<'_>) -> Option<()> {
        match Topic::of(item.kind) {
            Topic::Session => self.is_over |= item.kind == ItemKind::Terminate,
            Topic::FirstText => self.first_text = Some(item.fields.rest_as_text()),
            Topic::SecondText => self.second_text = Some(item.fields.rest_as_text()),
            Topic::Fact => self.facts.extend(self.first_text.take().map(String::from)),
            Topic::Location => return self.locations.take_payload(item.fields),
            Topic::Zone => return self.take_zone_item(protocol, item),
            Topic::Message => return self.take_message(protocol, item),
            Topic::Crash => return self.take_crash(item.fields),
            Topic::Answer => return self.take_answer(item),
            Topic::Callstack => return self.take_callstack_item(item),
            Topic::Plot => return self.take_plot_item(item),
            Topic::FrameMark => return self.take_frame_mark(item),
            Topic::Device => return self.take_device_item(protocol, item),
            Topic::Section => {
                // Kept for no report, but the distance of the next time begins here.
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

    /// Takes an item about an allocation; those of no pool are not kept.
    fn take_memory_item(&mut self, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let mut fields = item.fields;
        if item.kind == Kind::MemNamePayload {
            self.pools.set_name(fields.u64()?);
            return Some(());
        }
        let of_pool = PoolItem::take(item.kind, fields)?;
        let time_ns = self.clock.ns(self.serial_time.advance(of_pool.distance));
        if matches!(
            item.kind,
            Kind::MemAlloc | Kind::MemAllocCallstack | Kind::MemFree | Kind::MemFreeCallstack
        ) {
            return None;
        }
        let has_room = self.has_room();
        let thread = self.threads.thread_of(of_pool.thread.into(), &mut self.queries);
        let Self { pools, texts, queries, damage, .. } = self;
        let place = (time_ns, thread, has_room);
        if pools.take(item.kind, of_pool, place, (texts, queries), damage)? {
            self.point_count = self.point_count.saturating_add(1);
        }
        Some(())
    }

    fn take_zone_item(&mut self, protocol: &TracyProtocol, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let mut fields = item.fields;
        match item.kind {
            Kind::ThreadContext => {
                self.thread_time.reset();
                self.threads.set_current(fields.u32()?, &mut self.queries);
            }
            Kind::ZoneBegin | Kind::ZoneBeginCallstack => {
                let distance = far_distance(protocol, fields.i64()?);
                return self.begin_zone(item.kind, distance, Some(fields.u64()?));
            }
            Kind::ZoneBegin32 | Kind::ZoneBeginCallstack32 => {
                let distance = near_distance(fields.u32()?);
                return self.begin_zone(item.kind, distance, Some(fields.u64()?));
            }
            Kind::ZoneBegin16 | Kind::ZoneBeginCallstack16 => {
                let distance = fields.u16()?.into();
                return self.begin_zone(item.kind, distance, Some(fields.u64()?));
            }
            Kind::ZoneBeginAllocSrcLoc | Kind::ZoneBeginAllocSrcLocCallstack => {
                return self.begin_zone(item.kind, fields.i64()?, None);
            }
            Kind::ZoneEnd => self.end_zone(far_distance(protocol, fields.i64()?)),
            Kind::ZoneEnd32 => self.end_zone(near_distance(fields.u32()?)),
            Kind::ZoneEnd16 => self.end_zone(fields.u16()?.into()),
            Kind::ZoneValidation => self.threads.expect(fields.u32()?, &mut self.queries),
            Kind::ZoneText => {
                let line = self.first_text.take()?;
                self.change_zone(|extra| append_line(extra, &line));
            }
            Kind::ZoneName => {
                let name = self.first_text.take()?;
                self.change_zone(|extra| extra.name = Some(name));
            }
            Kind::ZoneColor => {
                let color = fields.color()?;
                self.change_zone(|extra| extra.color = Some(color));
            }
            Kind::ZoneValue => {
                let value = fields.u64()?;
                self.change_zone(|extra| append_line(extra, &format!("{value} [{value:#x}]")));
            }
            Kind::FiberEnter => {
                self.thread_time.advance(fields.i64()?);
                let key = fields.u64()?;
                self.threads.begin_fiber(fields.u32()?, key, &mut self.queries);
            }
            _ => {
                self.thread_time.advance(fields.i64()?);
                self.threads.leave_fiber(fields.u32()?);
            }
        }
        Some(())
    }

    fn begin_zone(&mut self, kind: ItemKind, distance: i64, address: Option<u64>) -> Option<()> {
        use ItemKind as Kind;
        let start_ns = self.clock.ns(self.thread_time.advance(distance));
        let has_callstack = matches!(
            kind,
            Kind::ZoneBeginCallstack
                | Kind::ZoneBeginCallstack32
                | Kind::ZoneBeginCallstack16
                | Kind::ZoneBeginAllocSrcLocCallstack
        );
        let callstack = has_callstack.then(|| self.threads.take_callstack(&mut self.queries));
        let location = match address {
            Some(address) => self.locations.at(address, &mut self.queries)?,
            None => self.locations.take_next()?,
        };
        if self.has_room() {
            self.threads.begin(location, start_ns, callstack.flatten(), &mut self.queries);
        } else {
            self.threads.begin_unkept(&mut self.queries);
        }
        Some(())
    }

    fn end_zone(&mut self, distance: i64) {
        let end_ns = self.clock.ns(self.thread_time.advance(distance));
        self.threads.end(end_ns, &mut self.damage, &mut self.queries);
    }

    fn change_zone(&mut self, change: impl FnOnce(&mut ZoneExtra)) {
        self.threads.change(&mut self.damage, &mut self.queries, change);
    }

    fn take_message(&mut self, protocol: &TracyProtocol, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let mut fields = item.fields;
        let time_ns = self.clock.ns(fields.i64()?);
        let has_color = matches!(
            item.kind,
            Kind::MessageColor
                | Kind::MessageColorCallstack
                | Kind::MessageLiteralColor
                | Kind::MessageLiteralColorCallstack
        );
        let color = if has_color { Some(fields.color()?) } else { None };
        let is_literal = matches!(
            item.kind,
            Kind::MessageLiteral
                | Kind::MessageLiteralColor
                | Kind::MessageLiteralCallstack
                | Kind::MessageLiteralColorCallstack
        );
        let (text, metadata) = if is_literal {
            let (address, metadata) = protocol.untagged(fields.u64()?);
            (self.texts.at(address, &mut self.queries), metadata)
        } else {
            let metadata = if protocol.message_has_severity() { fields.u8() } else { None };
            (TextRef::Here(self.first_text.take()?), metadata)
        };
        let has_callstack = matches!(
            item.kind,
            Kind::MessageCallstack
                | Kind::MessageColorCallstack
                | Kind::MessageLiteralCallstack
                | Kind::MessageLiteralColorCallstack
        );
        let callstack = has_callstack.then(|| self.threads.take_callstack(&mut self.queries));
        let thread = self.threads.current(&mut self.queries);
        if self.has_room() {
            let callstack = callstack.flatten();
            let message = PendingMessage { thread, time_ns, text, color, metadata, callstack };
            self.messages.push(message);
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
            ItemKind::StringData => self.texts.answer(item.key, answer()),
            ItemKind::ThreadName => self.threads.name(item.key, &answer()),
            ItemKind::FiberName => self.threads.name_fiber(item.key, &answer()),
            ItemKind::PlotName => {
                self.plot_names.insert(item.key, answer());
            }
            ItemKind::FrameName => {
                self.frame_names.insert(item.key, answer());
            }
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
            // Items of the serial queue that have a stack keep none here.
            Kind::CallstackSerial => self.callstacks.drop_payload(),
            Kind::CallstackFrameSize => {
                self.queries.answered();
                self.first_text = None; // the library that the address lies in
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

    fn take_plot_item(&mut self, item: Item<'_>) -> Option<()> {
        let mut fields = item.fields;
        if item.kind == ItemKind::SysTimeReport {
            let time_ns = self.clock.ns(fields.i64()?);
            let percent = fields.f32()?.into();
            let has_room = self.has_room();
            let plot = self.plots.with_key(0, Query::PlotName, &mut self.queries)?;
            plot.format = PlotFormat::Percentage;
            if has_room {
                plot.points.push((time_ns, percent, 0));
                self.point_count = self.point_count.saturating_add(1);
            }
            return Some(());
        }
        let key = fields.u64()?;
        if item.kind == ItemKind::PlotConfig {
            let plot = self.plots.with_key(key, Query::PlotName, &mut self.queries)?;
            plot.format = match fields.u8()? {
                0 => PlotFormat::Number,
                1 => PlotFormat::Memory,
                _ => PlotFormat::Percentage,
            };
            return Some(());
        }
        let time_ns = self.clock.ns(self.thread_time.advance(fields.i64()?));
        #[expect(clippy::cast_precision_loss, reason = "plots are of floats, as Tracy's are")]
        let value = match item.kind {
            ItemKind::PlotDataInt => fields.i64()? as f64,
            ItemKind::PlotDataFloat => fields.f32()?.into(),
            _ => fields.f64()?,
        };
        let has_room = self.has_room();
        let thread = self.threads.current(&mut self.queries);
        let plot = self.plots.with_key(key, Query::PlotName, &mut self.queries)?;
        if has_room {
            plot.points.push((time_ns, value, thread));
            self.point_count = self.point_count.saturating_add(1);
        }
        Some(())
    }

    fn take_frame_mark(&mut self, item: Item<'_>) -> Option<()> {
        let mut fields = item.fields;
        let time_ns = self.clock.ns(fields.i64()?);
        let key = fields.u64()?;
        let has_room = self.has_room();
        let series = self.frames.with_key(key, Query::FrameName, &mut self.queries)?;
        match item.kind {
            ItemKind::FrameMarkMsgEnd => {
                series.frames.last_mut().filter(|frame| frame.1.is_none())?.1 = Some(time_ns);
            }
            _ if has_room => {
                series.frames.push((time_ns, None));
                self.point_count = self.point_count.saturating_add(1);
            }
            _ => {}
        }
        Some(())
    }

    fn take_device_item(&mut self, protocol: &TracyProtocol, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let fields = item.fields;
        let found = match item.kind {
            Kind::GpuNewContext => self.devices.announce(protocol, fields, self.clock),
            Kind::GpuContextName => {
                let name = self.first_text.take().unwrap_or_default();
                self.devices.name(protocol, fields, name)
            }
            Kind::GpuTime => self.devices.time(protocol, fields),
            Kind::GpuCalibration => self.devices.calibrate(protocol, fields, self.clock),
            Kind::GpuTimeSync => self.devices.synchronise(protocol, fields, self.clock),
            Kind::GpuZoneEndSerial => {
                self.advance_serial_time(fields)?;
                self.devices.end(protocol, fields)
            }
            Kind::GpuZoneEnd => {
                self.advance_thread_time(fields)?;
                self.devices.end(protocol, fields)
            }
            Kind::GpuZoneBegin
            | Kind::GpuZoneBeginCallstack
            | Kind::GpuZoneBeginAllocSrcLoc
            | Kind::GpuZoneBeginAllocSrcLocCallstack => {
                self.advance_thread_time(fields)?;
                self.begin_device_zone(protocol, item)
            }
            Kind::GpuZoneBeginSerial
            | Kind::GpuZoneBeginCallstackSerial
            | Kind::GpuZoneBeginAllocSrcLocSerial
            | Kind::GpuZoneBeginAllocSrcLocCallstackSerial => {
                self.advance_serial_time(fields)?;
                self.begin_device_zone(protocol, item)
            }
            Kind::GpuZone => {
                let is_kept = self.has_room();
                let Self { devices, locations, queries, .. } = self;
                let location = |address| locations.at(address, queries);
                devices.whole_zone(protocol, fields, is_kept, location)
            }
            _ => return None,
        };
        if found.is_none() {
            let stray = &mut self.damage.stray_device_items;
            *stray = stray.saturating_add(1);
        }
        Some(())
    }

    /// The host's time of a device zone that a thread recorded, and not the serial queue.
    fn advance_thread_time(&mut self, mut fields: Fields<'_>) -> Option<()> {
        self.thread_time.advance(fields.i64()?);
        Some(())
    }

    /// The same of a device zone of the serial queue.
    fn advance_serial_time(&mut self, mut fields: Fields<'_>) -> Option<()> {
        self.serial_time.advance(fields.i64()?);
        Some(())
    }

    fn begin_device_zone(&mut self, protocol: &TracyProtocol, item: Item<'_>) -> Option<()> {
        use ItemKind as Kind;
        let is_payload = matches!(
            item.kind,
            Kind::GpuZoneBeginAllocSrcLoc
                | Kind::GpuZoneBeginAllocSrcLocCallstack
                | Kind::GpuZoneBeginAllocSrcLocSerial
                | Kind::GpuZoneBeginAllocSrcLocCallstackSerial
        );
        let next = self.locations.take_next();
        let has_room = self.has_room();
        let Self { devices, locations, queries, .. } = self;
        devices.begin(protocol, item.fields, has_room, |fields| {
            if is_payload { next } else { locations.at(fields.u64()?, queries) }
        })
    }

    /// The recording, with everything that came until now.
    pub(crate) fn finish(self, end: RecordingEnd) -> TracyRecording {
        let mut damage = self.damage;
        let locations = self.locations.resolve(&self.texts, &mut damage.missing_texts);
        let callstacks = self.callstacks.resolve(&mut damage.missing_functions);
        let threads = self.threads.finish(&mut damage);
        let devices = self.devices.finish(&mut damage);
        let texts = self.texts;
        let mut missing = damage.missing_texts;
        let mut resolved = |text| {
            texts.resolve(text).unwrap_or_else(|| {
                missing = missing.saturating_add(1);
                text_of_missing()
            })
        };
        let messages = self.messages.into_iter().map(|message| {
            let PendingMessage { thread, time_ns, text, color, metadata, callstack } = message;
            TracyMessage { thread, time_ns, text: resolved(text), color, metadata, callstack }
        });
        let messages = messages.collect();
        let pools = self.pools.finish(&mut resolved);
        let crash = self.crash.map(|(thread, time_ns, message)| TracyCrash {
            thread,
            time_ns,
            message: resolved(message),
        });
        let mut name_of = |names: &HashMap<u64, Box<str>>, key: u64, main: &str| {
            let name =
                if key == 0 { Some(text(main.as_bytes())) } else { names.get(&key).cloned() };
            name.unwrap_or_else(|| {
                missing = missing.saturating_add(1);
                text_of_missing()
            })
        };
        let plots = self.plots.items.into_iter().map(|(key, plot)| TracyPlot {
            name: name_of(&self.plot_names, key, PROCESSOR_LOAD),
            ..plot
        });
        let plots = plots.chain(pools).collect();
        let frames = self.frames.items.into_iter().map(|(key, series)| FrameSeries {
            name: name_of(&self.frame_names, key, MAIN_FRAMES),
            ..series
        });
        let frames = frames.collect();
        damage.missing_texts = missing;
        let mut program = self.program;
        if let [known] = self.candidates.as_slice() {
            program.releases = known.protocol.releases;
        }
        TracyRecording {
            program,
            locations,
            threads,
            messages,
            plots,
            frames,
            devices,
            callstacks,
            facts: self.facts,
            crash,
            left_out: self.left_out,
            damage,
            end,
        }
    }

    /// The end at a frame that cannot be read.
    pub(crate) fn unreadable(&self, found: String) -> RecordingEnd {
        RecordingEnd::Unreadable { frame: self.frame_count.saturating_sub(1), found }
    }

    /// Counts bytes of a frame that cannot be decompressed.
    pub(crate) fn count_unread(&mut self, bytes: usize) {
        self.frame_count = self.frame_count.saturating_add(1);
        self.damage.unread_bytes = self.damage.unread_bytes.saturating_add(bytes as u64);
    }
}

/// The name of what the program did not name any more.
fn text_of_missing() -> Box<str> {
    text(b"(name not sent)")
}
