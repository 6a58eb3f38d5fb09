//! Strict viewer of any version: connects, receives everything, requests names, and checks every
//! item as a viewer of that version would.

use super::{
    cursor::Cursor,
    items::Version,
    reader::{Context, Message, Place, Thread, TracyFile, Zone},
};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
};

/// Maximum bytes that a viewer accepts at once.
const FRAME_BYTES: usize = 256 * 1024;
/// A step back in time that is longer than this is interpreted as a counter restart.
const WRAP_NS: i64 = 1 << 31;

/// Kinds of requests.
const TERMINATE: u8 = 0;
const THREAD_NAME: u8 = 2;
const PLOT_NAME: u8 = 4;
const FRAME_NAME: u8 = 5;
/// Requests for text, frame name, symbol code, source code and program data.
const OTHERS: [u8; 5] = [1, FRAME_NAME, 12, 13, 14];
/// Key for requests. The server does not know this key.
const UNKNOWN: u64 = 99;

/// Connects and receives everything; panics at the first violation of the protocol.
pub(crate) fn capture(address: SocketAddr, version: &Version) -> TracyFile {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"TracyPrf").unwrap();
    stream.write_all(&version.number.to_le_bytes()).unwrap();
    let mut welcome = vec![0; 1 + version.welcome_bytes];
    stream.read_exact(&mut welcome).unwrap();
    let (answer, mut welcome) = (welcome[0], Cursor::new(&welcome[1..]));
    assert_eq!((answer, welcome.f64(), welcome.i64()), (1, 1.0, 0));
    let mut viewer = Viewer::new(stream, version);
    while !viewer.is_terminated || viewer.open_questions > 0 {
        viewer.frame();
    }
    viewer.ask_what_no_device_trace_makes_one_ask();
    viewer.ask(TERMINATE, 0);
    assert_eq!(viewer.stream.read(&mut [0]).unwrap(), 0, "more behind the end");
    viewer.finish()
}

/// Zones of a lane or thread while they are received.
#[derive(Default)]
struct Nest {
    zones: Vec<Zone>,
    open: Vec<usize>,
}

impl Nest {
    fn begin(&mut self, place: Place, start_ns: i64) {
        let (text, name) = (String::new(), String::new());
        let depth = self.open.len();
        self.open.push(self.zones.len());
        self.zones.push(Zone { depth, place, start_ns, end_ns: -1, text, name });
    }

    fn innermost(&mut self) -> &mut Zone {
        &mut self.zones[*self.open.last().unwrap()]
    }

    fn end(&mut self, end_ns: i64) {
        assert!(end_ns >= self.innermost().start_ns, "a zone ends before it begins");
        self.innermost().end_ns = end_ns;
        self.open.pop();
    }

    fn finish(self) -> Vec<Zone> {
        assert!(self.open.is_empty(), "a zone never ends");
        self.zones
    }
}

#[derive(Default)]
struct LiveContext {
    name: String,
    kind: u8,
    last_ns: i64,
    lanes: BTreeMap<u64, Nest>,
}

/// Begin or end of a zone in a context. The time follows in a later item.
struct Edge {
    context: u16,
    lane: u64,
    query: u16,
    /// Source location of a begin; `None` for an end.
    place: Option<Place>,
}

struct Viewer<'a> {
    stream: TcpStream,
    version: &'a Version,
    is_terminated: bool,
    open_questions: usize,
    /// Text, location or edge that the next item must use.
    text: Option<String>,
    place: Option<Place>,
    edge: Option<Edge>,
    contexts: BTreeMap<u16, LiveContext>,
    gpu_host_ns: i64,
    gpu_ns: i64,
    thread_id: u64,
    thread_ns: i64,
    threads: BTreeMap<u64, (Nest, Vec<Message>)>,
    thread_names: BTreeMap<u64, String>,
    plots: BTreeMap<u64, Vec<(i64, f64)>>,
    plot_names: HashMap<u64, String>,
    frames: BTreeMap<u64, Vec<i64>>,
    frame_names: HashMap<u64, String>,
    places: HashSet<Place>,
}

impl<'a> Viewer<'a> {
    fn new(stream: TcpStream, version: &'a Version) -> Self {
        Self {
            stream,
            version,
            is_terminated: false,
            open_questions: 0,
            text: None,
            place: None,
            edge: None,
            contexts: BTreeMap::new(),
            gpu_host_ns: 0,
            gpu_ns: 0,
            thread_id: 0,
            thread_ns: 0,
            threads: BTreeMap::new(),
            thread_names: BTreeMap::new(),
            plots: BTreeMap::new(),
            plot_names: HashMap::new(),
            frames: BTreeMap::new(),
            frame_names: HashMap::new(),
            places: HashSet::new(),
        }
    }

    fn ask(&mut self, kind: u8, key: u64) {
        let mut packet = vec![kind];
        packet.extend(key.to_le_bytes());
        packet.extend([0; 4]);
        self.stream.write_all(&packet).unwrap();
        self.open_questions += usize::from(kind != TERMINATE);
    }

    /// Sends requests that no device trace causes; without answers, a viewer would wait for ever.
    fn ask_what_no_device_trace_makes_one_ask(&mut self) {
        for kind in OTHERS {
            self.ask(kind, UNKNOWN);
        }
        while self.open_questions > 0 {
            self.frame();
        }
    }

    fn frame(&mut self) {
        let mut size = [0; 4];
        self.stream.read_exact(&mut size).unwrap();
        let mut frame = vec![0; u32::from_le_bytes(size) as usize];
        self.stream.read_exact(&mut frame).unwrap();
        let items = lz4_flex::block::decompress(&frame, FRAME_BYTES).unwrap();
        let mut cursor = Cursor::new(&items);
        while !cursor.rest().is_empty() {
            self.item(&mut cursor);
        }
    }

    fn item(&mut self, cursor: &mut Cursor<'_>) {
        let (item, bytes) = self.version.item(cursor.u8());
        let mut fields = Cursor::new(cursor.take(bytes));
        let is_taken_up = [self.text.is_some(), self.place.is_some(), self.edge.is_some()];
        match item {
            "SingleStringData" | "SingleStringData8" => self.single_string(item, cursor),
            "StringData" | "ThreadName" | "PlotName" | "FrameName" => {
                self.answer(item, fields.u64(), cursor);
            }
            "SourceLocationPayload" => {
                fields.u64(); // an address that only the program knew
                self.payload(cursor);
            }
            "AckServerQueryNoop" | "AckSymbolCodeNotAvailable" => self.open_questions -= 1,
            "AckSourceCodeNotAvailable" => {
                assert_eq!(u64::from(fields.u32()), UNKNOWN, "source code that was not asked for");
                self.open_questions -= 1;
            }
            "Terminate" => self.is_terminated = true,
            "KeepAlive" => {}
            _ if item.starts_with("Gpu") => self.gpu_item(item, &mut fields),
            _ => self.thread_item(item, &mut fields),
        }
        let left = [self.text.is_some(), self.place.is_some(), self.edge.is_some()];
        let is_left = is_taken_up.iter().zip(left).any(|(&before, after)| before && after);
        assert!(!is_left, "{item} does not take up what came before it");
        assert!(fields.rest().is_empty(), "{item} has more fields");
    }

    fn single_string(&mut self, item: &str, cursor: &mut Cursor<'_>) {
        let size = match item {
            "SingleStringData8" => usize::from(cursor.u8()),
            _ if self.version.has("SingleStringData8") => 256 + usize::from(cursor.u16()),
            _ => cursor.u16().into(),
        };
        let text = String::from_utf8(cursor.take(size).to_vec()).unwrap();
        assert_eq!(self.text.replace(text), None, "a text that nothing has taken up");
    }

    fn payload(&mut self, cursor: &mut Cursor<'_>) {
        let size = cursor.u16();
        let mut payload = Cursor::new(cursor.take(size.into()));
        let (rgb, line) = (payload.u32(), payload.u32());
        let texts = std::str::from_utf8(payload.rest()).unwrap();
        let [function, file, name] = texts.split('\0').collect::<Vec<_>>()[..] else {
            panic!("{texts:?} is not function, file and name")
        };
        let [function, file, name] = [function, file, name].map(str::to_owned);
        let place = Place { name, function, file, line, rgb };
        if !self.places.contains(&place) {
            self.places.insert(place.clone());
        }
        assert!(self.places.len() <= 32_767, "too many source locations");
        assert_eq!(self.place.replace(place), None, "a location that nothing has taken up");
    }

    fn answer(&mut self, item: &str, key: u64, cursor: &mut Cursor<'_>) {
        let size = cursor.u16();
        let text = String::from_utf8(cursor.take(size.into()).to_vec()).unwrap();
        self.open_questions -= 1;
        match item {
            "ThreadName" => assert_eq!(self.thread_names.insert(key, text), None),
            "PlotName" => assert_eq!(self.plot_names.insert(key, text), None),
            "FrameName" if key != UNKNOWN => {
                assert_eq!(self.frame_names.insert(key, text), None);
            }
            _ => assert_eq!(key, UNKNOWN, "{item} was not asked for"),
        }
    }

    fn context_number(&self, fields: &mut Cursor<'_>) -> u16 {
        if self.version.context_bytes() == 1 { fields.u8().into() } else { fields.u16() }
    }

    fn gpu_item(&mut self, item: &str, fields: &mut Cursor<'_>) {
        match item {
            "GpuNewContext" => self.new_context(fields),
            "GpuContextName" => {
                let number = self.context_number(fields);
                self.contexts.get_mut(&number).unwrap().name = self.text.take().unwrap();
            }
            "GpuZoneBeginAllocSrcLocSerial" => {
                let place = self.place.take().unwrap();
                self.gpu_edge(fields, Some(place));
            }
            "GpuZoneEndSerial" => self.gpu_edge(fields, None),
            "GpuTime" => self.gpu_time(fields),
            "GpuTimeSync" => {
                assert_eq!((fields.i64(), fields.i64()), (0, 0), "times of device and host");
                let number = self.context_number(fields);
                self.contexts.get_mut(&number).unwrap().last_ns = 0;
            }
            _ => panic!("{item} was not expected"),
        }
    }

    fn new_context(&mut self, fields: &mut Cursor<'_>) {
        assert_eq!((fields.i64(), fields.i64()), (0, 0), "times of host and device at the start");
        assert_eq!((fields.u32(), fields.f32()), (0, 1.0), "thread and nanoseconds per tick");
        let number = self.context_number(fields);
        assert_eq!(fields.u8(), 0, "calibrated");
        let kind = fields.u8();
        let context = LiveContext { kind, ..LiveContext::default() };
        assert!(self.contexts.insert(number, context).is_none(), "context {number} twice");
    }

    fn gpu_edge(&mut self, fields: &mut Cursor<'_>, place: Option<Place>) {
        self.gpu_host_ns += fields.i64();
        let (lane, query) = (fields.u32().into(), fields.u16());
        let context = self.context_number(fields);
        let edge = Edge { context, lane, query, place };
        assert!(self.edge.replace(edge).is_none(), "an edge without a time");
    }

    fn gpu_time(&mut self, fields: &mut Cursor<'_>) {
        self.gpu_ns += fields.i64();
        let edge = self.edge.take().unwrap();
        assert_eq!((fields.u16(), self.context_number(fields)), (edge.query, edge.context));
        let time_ns = self.gpu_ns;
        assert!(time_ns >= 0, "before the start");
        assert_eq!(time_ns, self.gpu_host_ns, "host and device have one clock");
        let context = self.contexts.get_mut(&edge.context).unwrap();
        assert!(time_ns > context.last_ns - WRAP_NS, "{time_ns} looks like a new count");
        context.last_ns = time_ns;
        let lane = context.lanes.entry(edge.lane).or_default();
        match edge.place {
            Some(place) => lane.begin(place, time_ns),
            None => lane.end(time_ns),
        }
    }

    /// Returns the current thread; its name is requested when it is first used.
    fn thread(&mut self) -> &mut (Nest, Vec<Message>) {
        let id = self.thread_id;
        if !self.threads.contains_key(&id) {
            self.ask(THREAD_NAME, id);
        }
        self.threads.entry(id).or_default()
    }

    fn since(&mut self, distance_ns: i64) -> i64 {
        self.thread_ns += distance_ns;
        self.thread_ns
    }

    fn thread_item(&mut self, item: &str, fields: &mut Cursor<'_>) {
        match item {
            "ThreadContext" => (self.thread_id, self.thread_ns) = (fields.u32().into(), 0),
            "ZoneValidation" => {
                fields.u32();
                self.thread();
            }
            "ZoneBeginAllocSrcLoc" => {
                let start_ns = self.since(fields.i64());
                let place = self.place.take().unwrap();
                self.thread().0.begin(place, start_ns);
            }
            "ZoneText" => self.thread().0.innermost().text = self.text.take().unwrap(),
            "ZoneName" => self.thread().0.innermost().name = self.text.take().unwrap(),
            "ZoneEnd" | "ZoneEnd32" | "ZoneEnd16" => {
                let distance_ns = self.end_distance(item, fields);
                let end_ns = self.since(distance_ns);
                self.thread().0.end(end_ns);
            }
            "MessageColor" => self.message(fields),
            "PlotConfig" | "PlotDataDouble" => self.plot_item(item, fields),
            "FrameMarkMsg" => self.frame_mark(fields),
            _ => panic!("{item} was not expected"),
        }
    }

    /// Decodes the time difference in a `ZoneEnd` item.
    ///
    /// Items with longer fields omit the differences that fit into shorter fields: 0 in `ZoneEnd32`
    /// means 2^16.
    fn end_distance(&self, item: &str, fields: &mut Cursor<'_>) -> i64 {
        match item {
            "ZoneEnd16" => fields.u16().into(),
            "ZoneEnd32" => i64::from(fields.u32()) + (1 << 16),
            _ => {
                let distance_ns = fields.i64();
                let has_shorter = self.version.has("ZoneEnd16") && distance_ns >= 0;
                distance_ns + if has_shorter { (1 << 16) + (1 << 32) } else { 0 }
            }
        }
    }

    fn message(&mut self, fields: &mut Cursor<'_>) {
        let time_ns = fields.i64();
        let [blue, green, red] = [fields.u8(), fields.u8(), fields.u8()];
        let rgb = u32::from_be_bytes([0, red, green, blue]);
        if let [severity_and_source] = fields.rest() {
            assert_eq!(*severity_and_source, 0x20, "a user's, for information");
            fields.u8();
        }
        let text = self.text.take().unwrap();
        self.thread().1.push(Message { time_ns, text, rgb });
    }

    fn plot_item(&mut self, item: &str, fields: &mut Cursor<'_>) {
        let key = fields.u64();
        if item == "PlotConfig" {
            fields.take(3 + 4);
            assert!(self.plots.insert(key, Vec::new()).is_none(), "plot {key} twice");
            return self.ask(PLOT_NAME, key);
        }
        let point = (self.since(fields.i64()), fields.f64());
        self.plots.get_mut(&key).unwrap().push(point);
    }

    fn frame_mark(&mut self, fields: &mut Cursor<'_>) {
        let (time_ns, key) = (fields.i64(), fields.u64());
        if !self.frames.contains_key(&key) {
            self.ask(FRAME_NAME, key);
        }
        let times_ns = self.frames.entry(key).or_default();
        assert!(times_ns.last().is_none_or(|&last| last <= time_ns), "frames out of order");
        times_ns.push(time_ns);
    }

    fn finish(self) -> TracyFile {
        let contexts =
            self.contexts.into_values().map(|LiveContext { name, kind, lanes, .. }| {
                let lanes = lanes.into_iter().map(|(id, nest)| (id, nest.finish())).collect();
                Context { name, kind, lanes }
            });
        let threads = self.threads.into_iter().map(|(id, (nest, messages))| {
            assert!(messages.is_sorted_by_key(|message| message.time_ns));
            Thread { id, zones: nest.finish(), messages }
        });
        let (mut plot_names, mut frame_names) = (self.plot_names, self.frame_names);
        let frames = self.frames.into_iter();
        let plots = self.plots.into_iter();
        TracyFile {
            contexts: contexts.collect(),
            threads: threads.collect(),
            thread_names: self.thread_names,
            plots: plots.map(|(key, points)| (plot_names.remove(&key).unwrap(), points)).collect(),
            frames: frames
                .map(|(key, times_ns)| (frame_names.remove(&key).unwrap(), times_ns))
                .collect(),
            place_count: self.places.len(),
            ..TracyFile::default()
        }
    }
}
