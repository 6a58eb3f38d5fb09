//! Strict reader of `.tracy` files: it checks every count, index and order.
//!
//! It supports versions 0.10.0 and 0.11.2, and the sections that device traces use.

use super::{container, cursor::Cursor};
use std::collections::{BTreeMap, HashMap};

/// Contents of a file.
#[derive(Debug, Default)]
pub(crate) struct TracyFile {
    pub(crate) version: [u8; 3],
    pub(crate) program: String,
    pub(crate) last_ns: i64,
    pub(crate) contexts: Vec<Context>,
    pub(crate) threads: Vec<Thread>,
    pub(crate) thread_names: BTreeMap<u64, String>,
    pub(crate) plots: Vec<(String, Vec<(i64, f64)>)>,
    /// Named frame sets, each with the times of its frames.
    pub(crate) frames: Vec<(String, Vec<i64>)>,
    pub(crate) place_count: usize,
    /// Bytes after the plots.
    pub(crate) rest: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Context {
    pub(crate) name: String,
    pub(crate) kind: u8,
    pub(crate) lanes: BTreeMap<u64, Vec<Zone>>,
}

#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) id: u64,
    pub(crate) zones: Vec<Zone>,
    pub(crate) messages: Vec<Message>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) time_ns: i64,
    pub(crate) text: String,
    /// Colour as 0xRRGGBB.
    pub(crate) rgb: u32,
}

/// A zone; it comes after the zones that enclose it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Zone {
    pub(crate) depth: usize,
    pub(crate) place: Place,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Own text and name of a thread's zone.
    pub(crate) text: String,
    pub(crate) name: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub(crate) name: String,
    pub(crate) function: String,
    pub(crate) file: String,
    pub(crate) line: u32,
    pub(crate) rgb: u32,
}

/// Reads a file; panics at the first violation of the format.
pub(crate) fn read(file: &[u8]) -> TracyFile {
    let content = container::open(file);
    let mut reader = Reader::new(&content);
    reader.header();
    reader.frames();
    reader.strings();
    reader.places();
    reader.messages();
    reader.zone_extras();
    reader.threads();
    reader.contexts();
    reader.plots();
    reader.file.rest = reader.cursor.rest().to_vec();
    reader.file
}

struct Reader<'a> {
    cursor: Cursor<'a>,
    file: TracyFile,
    texts: Vec<String>,
    by_pointer: HashMap<u64, usize>,
    by_key: HashMap<u64, usize>,
    thread_ids: Vec<u64>,
    /// Frames with the key of their name.
    frames: Vec<(u64, Vec<i64>)>,
    /// Source locations by the id that zones use.
    place_of: HashMap<i16, Place>,
    /// Announced number of zones for each location: in threads, and in contexts.
    place_counts: [BTreeMap<i16, u64>; 2],
    messages: HashMap<u64, Message>,
    extras: Vec<[u32; 2]>,
}

impl<'a> Reader<'a> {
    fn new(content: &'a [u8]) -> Self {
        Self {
            cursor: Cursor::new(content),
            file: TracyFile::default(),
            texts: Vec::new(),
            by_pointer: HashMap::new(),
            by_key: HashMap::new(),
            thread_ids: Vec::new(),
            frames: Vec::new(),
            place_of: HashMap::new(),
            place_counts: [BTreeMap::new(), BTreeMap::new()],
            messages: HashMap::new(),
            extras: Vec::new(),
        }
    }

    fn header(&mut self) {
        let cursor = &mut self.cursor;
        assert_eq!(cursor.take(5), b"tracy");
        self.file.version = cursor.take(3).try_into().unwrap();
        assert!(matches!(self.file.version, [0, 10, 0] | [0, 11, 2]), "{:?}", self.file.version);
        cursor.take(8 + 8); // delay, resolution
        assert!(cursor.f64() > 0.0);
        self.file.last_ns = cursor.i64();
        cursor.take(8 + 8 + 8 + 1 + 4 + 12 + 1);
        cursor.text();
        self.file.program = cursor.text();
        cursor.take(8 + 8);
        cursor.text();
        self.processors();
        self.cursor.take(28);
    }

    fn processors(&mut self) {
        let has_dies = self.file.version >= [0, 11, 2];
        let cursor = &mut self.cursor;
        for _ in 0..cursor.count(12) {
            cursor.u32();
            for _ in 0..cursor.count(12) {
                cursor.u32();
                let core_count = if has_dies { cursor.count(12) } else { 1 };
                for _ in 0..core_count {
                    if has_dies {
                        cursor.u32();
                    }
                    let thread_count = cursor.count(4);
                    cursor.take(thread_count * 4);
                }
            }
        }
    }

    fn is_ours(&self) -> bool {
        self.file.program == "kprof"
    }

    fn frames(&mut self) {
        let cursor = &mut self.cursor;
        let set_count = cursor.count(17);
        assert!(set_count >= 1, "no frame set");
        for set in 0..set_count {
            let key = cursor.u64();
            assert_eq!(key == 0, set == 0, "the first frame set, and no other, has no name");
            let is_continuous = cursor.u8() == 1;
            let (mut time_ns, mut times_ns) = (0, Vec::new());
            for _ in 0..cursor.count(if is_continuous { 12 } else { 20 }) {
                time_ns += cursor.i64();
                times_ns.push(time_ns);
                time_ns += if is_continuous { 0 } else { cursor.i64() };
                cursor.u32(); // image
            }
            assert!(times_ns.is_sorted(), "frames out of order");
            self.frames.extend((key > 0).then_some((key, times_ns)));
        }
    }

    fn strings(&mut self) {
        for index in 0..self.cursor.count(16) {
            let pointer = self.cursor.u64();
            assert_eq!(self.by_pointer.insert(pointer, index), None, "pointer {pointer} twice");
            let text = self.cursor.text();
            self.texts.push(text);
        }
        for _ in 0..self.cursor.count(16) {
            let (key, text) = (self.cursor.u64(), self.pointed());
            assert_eq!(self.by_key.insert(key, text), None, "key {key} twice");
        }
        for (key, times_ns) in std::mem::take(&mut self.frames) {
            let name = self.texts[self.by_key[&key]].clone();
            self.file.frames.push((name, times_ns));
        }
        for _ in 0..self.cursor.count(16) {
            let (thread, text) = (self.cursor.u64(), self.pointed());
            self.file.thread_names.insert(thread, self.texts[text].clone());
        }
        let external = self.cursor.count(24);
        self.cursor.take(external * 24);
        let known = self.cursor.count(8);
        assert!(known <= 1 << 16, "{known} threads");
        self.thread_ids = (0..known).map(|_| self.cursor.u64()).collect();
        let external = self.cursor.count(8);
        self.cursor.take(external * 8);
    }

    fn pointed(&mut self) -> usize {
        self.by_pointer[&self.cursor.u64()]
    }

    /// Reads a text by index or by key; empty if there is none.
    fn string_ref(&mut self) -> String {
        let (value, kind) = (self.cursor.u64(), self.cursor.u8());
        match kind {
            0b11 => self.texts[usize::try_from(value).unwrap()].clone(),
            0b10 => self.texts[self.by_key[&value]].clone(),
            0 => String::new(),
            _ => panic!("a reference of kind {kind}"),
        }
    }

    fn place(&mut self) -> Place {
        let [name, function, file] = [(); 3].map(|()| self.string_ref());
        let line = self.cursor.u32();
        let [red, green, blue, _] = self.cursor.u32().to_le_bytes();
        Place { name, function, file, line, rgb: u32::from_be_bytes([0, red, green, blue]) }
    }

    fn places(&mut self) {
        let mut fixed = HashMap::new();
        for _ in 0..self.cursor.count(43) {
            let pointer = self.cursor.u64();
            fixed.insert(pointer, self.place());
        }
        for id in 0..i16::try_from(self.cursor.count(8)).unwrap() {
            let pointer = self.cursor.u64();
            self.place_of.insert(id, fixed.get(&pointer).cloned().unwrap_or_default());
        }
        let count = i16::try_from(self.cursor.count(35)).unwrap();
        for number in 0..count {
            let place = self.place();
            self.place_of.insert(-1 - number, place);
        }
        self.file.place_count = usize::try_from(count).unwrap();
        for counts in &mut self.place_counts {
            for _ in 0..self.cursor.count(10) {
                let (id, zones) = (self.cursor.i16(), self.cursor.u64());
                assert_eq!(counts.insert(id, zones), None, "location {id} twice");
                assert!(self.place_of.contains_key(&id), "location {id} is not there");
            }
        }
        assert_eq!(self.cursor.u64(), 0, "locks");
    }

    fn messages(&mut self) {
        let mut time_ns = 0;
        for _ in 0..self.cursor.count(32) {
            let pointer = self.cursor.u64();
            let since_last_ns = self.cursor.i64();
            assert!(since_last_ns >= 0, "messages out of order");
            time_ns += since_last_ns;
            let text = self.string_ref();
            // The lowest byte is red, the next ones are green and blue.
            let [red, green, blue, _] = self.cursor.u32().to_le_bytes();
            let rgb = u32::from_be_bytes([0, red, green, blue]);
            assert_eq!(self.cursor.u24(), 0, "a call stack");
            let before = self.messages.insert(pointer, Message { time_ns, text, rgb });
            assert_eq!(before, None, "message {pointer} twice");
        }
    }

    fn zone_extras(&mut self) {
        let count = self.cursor.count(12);
        assert!(count >= 1, "no entry for zones without extras");
        for _ in 0..count {
            self.cursor.u24();
            self.extras.push([self.cursor.u24(), self.cursor.u24()]);
            self.cursor.u24();
        }
    }

    fn text_of(&self, plus_one: u32) -> String {
        let index = plus_one.checked_sub(1).map(|index| index as usize);
        index.map_or_else(String::new, |index| self.texts[index].clone())
    }

    fn threads(&mut self) {
        let has_hint = self.file.version >= [0, 11, 1];
        let (zone_count, parent_count) = (self.cursor.u64(), self.cursor.u64());
        let mut found = Found::default();
        for _ in 0..self.cursor.count(29) {
            let (id, own_count) = (self.cursor.u64(), self.cursor.u64());
            self.cursor.take(8 + 1 + if has_hint { 4 } else { 0 });
            let mut thread = Thread { id, zones: Vec::new(), messages: Vec::new() };
            let count = self.cursor.u32();
            self.thread_zones(count, 0, &mut 0, &mut thread.zones, &mut found);
            assert_eq!(thread.zones.len() as u64, own_count, "zones of thread {id}");
            for _ in 0..self.cursor.count(8) {
                let message = self.messages.remove(&self.cursor.u64()).unwrap();
                thread.messages.push(message);
            }
            assert!(thread.messages.is_sorted_by_key(|message| message.time_ns));
            for _ in 0..2 {
                let count = self.cursor.count(11);
                self.cursor.take(count * 11);
            }
            self.file.threads.push(thread);
        }
        assert!(self.messages.is_empty(), "messages of no thread");
        found.check(zone_count, parent_count, &self.place_counts[0], self.is_ours());
    }

    fn thread_zones(
        &mut self,
        count: u32,
        depth: usize,
        time_ns: &mut i64,
        zones: &mut Vec<Zone>,
        found: &mut Found,
    ) {
        let mut earliest_ns = *time_ns;
        for _ in 0..count {
            let id = self.cursor.i16();
            *time_ns += self.cursor.i64();
            assert!(*time_ns >= earliest_ns, "zones of one depth overlap");
            let [text, name] = self.extras[self.cursor.u32() as usize];
            let index = zones.len();
            zones.push(Zone {
                depth,
                place: self.place_of[&id].clone(),
                start_ns: *time_ns,
                end_ns: 0,
                text: self.text_of(text),
                name: self.text_of(name),
            });
            let children = self.cursor.u32();
            found.enter(id, children.into());
            self.thread_zones(children, depth + 1, time_ns, zones, found);
            *time_ns += self.cursor.i64();
            assert!(*time_ns >= zones[index].start_ns, "a zone ends before it begins");
            zones[index].end_ns = *time_ns;
            earliest_ns = *time_ns;
        }
    }

    fn contexts(&mut self) {
        let (zone_count, parent_count) = (self.cursor.u64(), self.cursor.u64());
        let mut found = Found::default();
        for _ in 0..self.cursor.count(41) {
            assert_eq!(self.cursor.u64(), 0, "a context of one thread has one lane");
            self.cursor.u8();
            let own_count = self.cursor.u64();
            assert_eq!(self.cursor.f32(), 1.0);
            let kind = self.cursor.u8();
            let name = self.cursor.u24();
            assert_eq!(self.cursor.u64(), 0, "overflow");
            let mut lanes = BTreeMap::new();
            for _ in 0..self.cursor.count(16) {
                let (thread, count) = (self.cursor.u64(), self.cursor.u64());
                assert!(count > 0, "an empty lane");
                let mut zones = Vec::new();
                self.lane(thread, count, 0, &mut [0, 0], &mut zones, &mut found);
                assert!(lanes.insert(thread, zones).is_none(), "lane {thread} twice");
            }
            let zones: usize = lanes.values().map(Vec::len).sum();
            assert_eq!(zones as u64, own_count, "zones of a context");
            self.file.contexts.push(Context { name: self.text_of(name), kind, lanes });
        }
        found.check(zone_count, parent_count, &self.place_counts[1], self.is_ours());
    }

    fn lane(
        &mut self,
        thread: u64,
        count: u64,
        depth: usize,
        last_ns: &mut [i64; 2],
        zones: &mut Vec<Zone>,
        found: &mut Found,
    ) {
        let mut earliest_ns = 0;
        for _ in 0..count {
            let start_ns = self.gpu_time(last_ns);
            assert!(start_ns >= earliest_ns, "zones of one depth overlap");
            let id = self.cursor.i16();
            assert_eq!(self.cursor.u24(), 0, "a call stack");
            let number = self.cursor.u16();
            assert_eq!(self.thread_ids[usize::from(number)], thread, "a zone of another thread");
            let index = zones.len();
            let place = self.place_of[&id].clone();
            let (text, name) = (String::new(), String::new());
            zones.push(Zone { depth, place, start_ns, end_ns: 0, text, name });
            let children = self.cursor.u64();
            found.enter(id, children);
            self.lane(thread, children, depth + 1, last_ns, zones, found);
            let end_ns = self.gpu_time(last_ns);
            assert!(end_ns >= start_ns, "a zone ends before it begins");
            zones[index].end_ns = end_ns;
            earliest_ns = end_ns;
        }
    }

    /// Reads a time of host and device, each as the difference from the previous time.
    fn gpu_time(&mut self, last_ns: &mut [i64; 2]) -> i64 {
        last_ns.iter_mut().for_each(|last_ns| *last_ns += self.cursor.i64());
        last_ns[1]
    }

    fn plots(&mut self) {
        for _ in 0..self.cursor.count(48) {
            self.cursor.take(4 + 4);
            let key = self.cursor.u64();
            let name = self.by_key.get(&key).map(|&text| self.texts[text].clone());
            self.cursor.take(3 * 8);
            let mut time_ns = 0;
            let mut points = Vec::new();
            for _ in 0..self.cursor.count(16) {
                time_ns += self.cursor.i64();
                points.push((time_ns, self.cursor.f64()));
            }
            assert!(points.is_sorted_by_key(|&(time_ns, _)| time_ns), "a plot goes back in time");
            self.file.plots.push((name.unwrap_or_default(), points));
        }
    }
}

/// Zones found, for comparison with the announced counts.
#[derive(Default)]
struct Found {
    zone_count: u64,
    parent_count: u64,
    place_counts: BTreeMap<i16, u64>,
}

impl Found {
    fn enter(&mut self, place: i16, child_count: u64) {
        self.zone_count += 1;
        self.parent_count += u64::from(child_count > 0);
        *self.place_counts.entry(place).or_default() += 1;
    }

    /// Compares the found counts with the announced counts.
    ///
    /// Capture tools announce too few zones per location: they omit zones without duration, or all
    /// zones. `is_exact` is false for files of capture tools.
    fn check(
        &self,
        zone_count: u64,
        parent_count: u64,
        place_counts: &BTreeMap<i16, u64>,
        is_exact: bool,
    ) {
        assert_eq!(self.zone_count, zone_count, "zones");
        assert_eq!(self.parent_count, parent_count, "zones with zones inside");
        if is_exact {
            assert_eq!(&self.place_counts, place_counts, "zones of each location");
        }
        for (place, announced) in place_counts {
            let found = self.place_counts.get(place).copied().unwrap_or(0);
            assert!(*announced <= found, "{announced} zones of location {place}, found {found}");
        }
    }
}
