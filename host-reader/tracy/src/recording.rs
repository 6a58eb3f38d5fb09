//! Recordings of a program by its Tracy client.

use crate::protocol::ItemKind;
use std::collections::BTreeMap;

/// Everything that one process sent. Times are nanoseconds since its Tracy client's start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracyRecording {
    /// Facts about the program.
    pub program: ProgramFacts,
    /// Source locations of zones.
    pub locations: Vec<TracyLocation>,
    /// Threads and fibers, in the order in which they were first heard of.
    pub threads: Vec<TracyThread>,
    /// Messages of all threads, in the order in which they came.
    pub messages: Vec<TracyMessage>,
    /// Plots, among them the load of the processors and the bytes in each pool of memory.
    pub plots: Vec<TracyPlot>,
    /// Series of frames.
    pub frames: Vec<FrameSeries>,
    /// Contexts of devices.
    pub devices: Vec<TracyDevice>,
    /// Call stacks, each innermost function first.
    pub callstacks: Vec<Vec<StackFunction>>,
    /// Texts that the program gave about itself.
    pub facts: Vec<String>,
    /// The crash that ended it.
    pub crash: Option<TracyCrash>,
    /// Counts of items that came and are not kept, such as locks and memory without a pool, by kind.
    pub left_out: BTreeMap<ItemKind, u64>,
    /// Counts of what did not fit together.
    pub damage: Damage,
    /// Reason why the recording ended.
    pub end: RecordingEnd,
}

/// Facts about a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramFacts {
    /// Name of the program.
    pub name: String,
    /// Operating system, compiler, user and processor, as lines.
    pub host: String,
    /// Number of the process.
    pub process_id: u64,
    /// Start in seconds since 1970.
    pub started_s: u64,
    /// Version of the protocol that it spoke.
    pub protocol: u32,
    /// Releases that speak this version.
    pub releases: &'static str,
}

/// Name and source location of zones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TracyLocation {
    /// Name; empty if only the function names the zone.
    pub name: Box<str>,
    /// Function.
    pub function: Box<str>,
    /// Source file.
    pub file: Box<str>,
    /// Source line.
    pub line: u32,
    /// Colour as 0xRRGGBB; 0 if there is none.
    pub color: u32,
}

/// One thread or fiber.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracyThread {
    /// Number that the system gave to it; of a fiber a number above 2^32.
    pub id: u64,
    /// Name; empty if the program did not say.
    pub name: String,
    /// True of a fiber.
    pub is_fiber: bool,
    /// Zones by their starts, outer ones before inner ones.
    pub zones: Vec<TracyZone>,
}

/// One zone.
#[derive(Clone, Debug, PartialEq)]
pub struct TracyZone {
    /// Index in [`TracyRecording::locations`].
    pub location: u32,
    /// Zones of the thread around it; 0 is outermost.
    pub depth: u16,
    /// Start.
    pub start_ns: i64,
    /// End; `None` if it did not come, or lies before the start.
    pub end_ns: Option<i64>,
    /// Attached text and the like.
    pub extra: Option<Box<ZoneExtra>>,
}

/// Fields that few zones have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneExtra {
    /// Lines of attached text and numbers.
    pub text: Option<Box<str>>,
    /// Name in place of the location's.
    pub name: Option<Box<str>>,
    /// Colour in place of the location's, as 0xRRGGBB.
    pub color: Option<u32>,
    /// Index in [`TracyRecording::callstacks`].
    pub callstack: Option<u32>,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct TracyMessage {
    /// Index in [`TracyRecording::threads`].
    pub thread: usize,
    /// Time.
    pub time_ns: i64,
    /// Text.
    pub text: Box<str>,
    /// Colour as 0xRRGGBB.
    pub color: Option<u32>,
    /// Severity and source, as protocol 77 and newer pack them into a byte.
    pub metadata: Option<u8>,
    /// Index in [`TracyRecording::callstacks`].
    pub callstack: Option<u32>,
}

/// Unit of a plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlotFormat {
    /// Plain numbers.
    #[default]
    Number,
    /// Bytes.
    Memory,
    /// Percent.
    Percentage,
}

/// One plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracyPlot {
    /// Name.
    pub name: Box<str>,
    /// Unit.
    pub format: PlotFormat,
    /// Times and values, in the order in which they came, and the thread of each as an index in
    /// [`TracyRecording::threads`].
    pub points: Vec<(i64, f64, usize)>,
    /// Addresses of the allocations that the points tell of; empty of plots that are of no pool.
    pub addresses: Vec<Option<u64>>,
}

/// One series of frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameSeries {
    /// Name; `Frame` is that of the program's main frames.
    pub name: Box<str>,
    /// Starts, and ends where the program gave them; else a frame lasts to the next one.
    pub frames: Vec<(i64, Option<i64>)>,
}

/// One context of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracyDevice {
    /// Name.
    pub name: Box<str>,
    /// Type, as the protocol numbers it.
    pub kind: u8,
    /// Zones in the order of their begins.
    pub zones: Vec<DeviceZone>,
}

/// One zone of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceZone {
    /// Index in [`TracyRecording::locations`].
    pub location: u32,
    /// Number of the lane; TT-Metal packs chip, core and RISC into it.
    pub lane: u32,
    /// Start on the host's clock; `None` if its time never came.
    pub start_ns: Option<i64>,
    /// End on the host's clock; `None` if its time never came.
    pub end_ns: Option<i64>,
}

/// One function of a call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackFunction {
    /// Name; an address in hexadecimal where the program knew none.
    pub name: Box<str>,
    /// Source file or library.
    pub file: Box<str>,
    /// Source line; 0 if unknown.
    pub line: u32,
}

/// The crash of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracyCrash {
    /// Index in [`TracyRecording::threads`].
    pub thread: usize,
    /// Time.
    pub time_ns: i64,
    /// Message.
    pub message: Box<str>,
}

/// Counts of what did not fit together. All are 0 for a program that ended by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Ends of zones that had not begun.
    pub unmatched_ends: u64,
    /// Zones whose end did not come.
    pub open_zones: u64,
    /// Zones whose end lies before their start.
    pub reversed_zones: u64,
    /// Texts, names, colours and numbers for a zone that was not open.
    pub stray_extras: u64,
    /// Ends of allocations that had not begun.
    pub unmatched_frees: u64,
    /// Times of device zones that no begin or end waited for, and items of unknown contexts.
    pub stray_device_items: u64,
    /// Device zones without one of their times.
    pub untimed_device_zones: u64,
    /// Names and texts that the program did not give any more.
    pub missing_texts: u64,
    /// Functions of call stacks that the program did not give any more.
    pub missing_functions: u64,
    /// Events beyond the limit that the recorder was given.
    pub beyond_limit: u64,
    /// Bytes that came and could not be read.
    pub unread_bytes: u64,
}

/// Reason why a recording ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordingEnd {
    /// The program said that it had sent everything, and answered every question.
    #[default]
    Complete,
    /// The recorder was told to stop. What the program had recorded and not sent by then is
    /// missing; clients drop it.
    Stopped,
    /// The connection ended before that: the program was killed, or it crashed.
    Cut,
    /// The program said nothing more for as long as the recorder was told to wait.
    Silent,
    /// An item or a frame cannot be read.
    Unreadable {
        /// Number of the frame, from 0.
        frame: u64,
        /// Content found there.
        found: String,
    },
}

impl Damage {
    /// Sum of all counts.
    #[must_use]
    pub fn count(&self) -> u64 {
        // Every field is one count, so that the size of the type says how many there are.
        let counts: [u64; size_of::<Self>() / size_of::<u64>()] = [
            self.unmatched_ends,
            self.open_zones,
            self.reversed_zones,
            self.stray_extras,
            self.unmatched_frees,
            self.stray_device_items,
            self.untimed_device_zones,
            self.missing_texts,
            self.missing_functions,
            self.beyond_limit,
            self.unread_bytes,
        ];
        counts.into_iter().fold(0, u64::saturating_add)
    }
}

impl TracyLocation {
    /// Name of zones here: the function's where no other was given.
    #[must_use]
    pub fn zone_name(&self) -> &str {
        if self.name.is_empty() { &self.function } else { &self.name }
    }
}

impl TracyZone {
    /// How long it lasted; `None` if its end is unknown.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        u64::try_from(self.end_ns?.saturating_sub(self.start_ns)).ok()
    }

    /// Attached text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.extra.as_ref()?.text.as_deref()
    }
}

impl TracyRecording {
    /// Zones of all threads.
    #[must_use]
    pub fn zone_count(&self) -> usize {
        self.threads.iter().map(|thread| thread.zones.len()).fold(0, usize::saturating_add)
    }

    /// Source location of a zone.
    #[must_use]
    pub fn location(&self, index: u32) -> Option<&TracyLocation> {
        self.locations.get(usize::try_from(index).ok()?)
    }

    /// Returns true if everything that the program sent is here, but for what is left out by
    /// kind.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == RecordingEnd::Complete && self.damage.count() == 0
    }
}
