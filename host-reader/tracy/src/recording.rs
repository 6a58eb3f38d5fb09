//! Recordings of a program, received from its Tracy client.

use crate::protocol::ItemKind;
use std::collections::BTreeMap;

/// All data that one process sent. Times are nanoseconds since the start of the process's Tracy
/// client.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracyRecording {
    /// Information about the program.
    pub program: ProgramFacts,
    /// Source locations of zones.
    pub locations: Vec<TracyLocation>,
    /// Threads and fibers, in order of first appearance.
    pub threads: Vec<TracyThread>,
    /// Messages of all threads, in order of arrival.
    pub messages: Vec<TracyMessage>,
    /// Plots, including the load of the processors and the bytes in each memory pool.
    pub plots: Vec<TracyPlot>,
    /// Series of frames.
    pub frames: Vec<FrameSeries>,
    /// Contexts of devices.
    pub devices: Vec<TracyDevice>,
    /// Call stacks. Each stack starts with the innermost function.
    pub callstacks: Vec<Vec<StackFunction>>,
    /// Texts in which the program sent information about itself.
    pub facts: Vec<String>,
    /// The crash that ended the program, if any.
    pub crash: Option<TracyCrash>,
    /// Number of items that were received but not kept, by kind. Examples are locks, and
    /// allocations without a pool.
    pub left_out: BTreeMap<ItemKind, u64>,
    /// Counts of inconsistent and missing data.
    pub damage: Damage,
    /// Reason why the recording ended.
    pub end: RecordingEnd,
}

/// Information about a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramFacts {
    /// Name of the program.
    pub name: String,
    /// Operating system, compiler, user and processor, as lines of text.
    pub host: String,
    /// Process id.
    pub process_id: u64,
    /// Start of the program in seconds since 1970.
    pub started_s: u64,
    /// Protocol version of the program.
    pub protocol: u32,
    /// Releases that implement this version.
    pub releases: &'static str,
}

/// Name and source location of zones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TracyLocation {
    /// Name; empty if zones at this location are named after the function.
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
    /// Thread id of the operating system; for a fiber, a number from 2^32 upwards.
    pub id: u64,
    /// Name; empty if the program sent no name.
    pub name: String,
    /// Zones ordered by start, parents before children.
    pub zones: Vec<TracyZone>,
}

/// One zone.
#[derive(Clone, Debug, PartialEq)]
pub struct TracyZone {
    /// Index of the source location in [`TracyRecording::locations`].
    pub location: u32,
    /// Number of enclosing zones of the thread; 0 for an outermost zone.
    pub depth: u16,
    /// Start time.
    pub start_ns: i64,
    /// End time; `None` if no end was received or the end is before the start.
    pub end_ns: Option<i64>,
    /// Attached text and other rare fields.
    pub extra: Option<Box<ZoneExtra>>,
}

/// Fields of a zone that only few zones have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ZoneExtra {
    /// Lines of attached text and numbers.
    pub text: Option<Box<str>>,
    /// Name that replaces the location's name.
    pub name: Option<Box<str>>,
    /// Colour that replaces the location's colour, as 0xRRGGBB.
    pub color: Option<u32>,
    /// Index of the call stack in [`TracyRecording::callstacks`].
    pub callstack: Option<u32>,
}

/// One message.
#[derive(Clone, Debug, PartialEq)]
pub struct TracyMessage {
    /// Index of the thread in [`TracyRecording::threads`].
    pub thread: usize,
    /// Time in ns since the start of the process's Tracy client.
    pub time_ns: i64,
    /// Text.
    pub text: Box<str>,
    /// Colour as 0xRRGGBB.
    pub color: Option<u32>,
    /// Severity and source, packed into one byte in the format of protocol 77.
    pub metadata: Option<u8>,
    /// Index of the call stack in [`TracyRecording::callstacks`].
    pub callstack: Option<u32>,
}

/// One plot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracyPlot {
    /// Name.
    pub name: Box<str>,
    /// Time in ns, value and thread of each point, in order of arrival. The thread is an index in
    /// [`TracyRecording::threads`].
    pub points: Vec<(i64, f64, usize)>,
    /// Address that was allocated or freed at each point; empty for plots without a pool.
    pub addresses: Vec<Option<u64>>,
}

/// One series of frames.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameSeries {
    /// Name; `Frame` for the program's main frames.
    pub name: Box<str>,
    /// Start and end of each frame, in ns. A frame without an end lasts until the next frame.
    pub frames: Vec<(i64, Option<i64>)>,
}

/// One context of a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracyDevice {
    /// Name.
    pub name: Box<str>,
    /// Zones, in the order in which they began.
    pub zones: Vec<DeviceZone>,
}

/// One zone of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceZone {
    /// Index of the source location in [`TracyRecording::locations`].
    pub location: u32,
    /// Number of the lane; TT-Metal packs chip, core and RISC into this number.
    pub lane: u32,
    /// Start on the host's clock, in ns; `None` if it was not received.
    pub start_ns: Option<i64>,
    /// End on the host's clock, in ns; `None` if it was not received.
    pub end_ns: Option<i64>,
}

/// One function of a call stack.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StackFunction {
    /// Name, or the address in hexadecimal if the program did not know a name.
    pub name: Box<str>,
    /// Source file or library.
    pub file: Box<str>,
    /// Source line; 0 if unknown.
    pub line: u32,
}

/// The crash of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracyCrash {
    /// Index of the thread in [`TracyRecording::threads`].
    pub thread: usize,
    /// Time in ns since the start of the process's Tracy client.
    pub time_ns: i64,
    /// Message.
    pub message: Box<str>,
}

/// Counts of inconsistent and missing data. All counts are 0 for a program that exited by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Number of zone ends without a matching start.
    pub unmatched_ends: u64,
    /// Number of zones without an end.
    pub open_zones: u64,
    /// Number of zones with an end that is earlier than their start.
    pub reversed_zones: u64,
    /// Number of zone attributes (texts, names, colours and values) that arrived while no zone was
    /// open, or while another zone was the innermost open zone.
    pub stray_extras: u64,
    /// Number of items that free an unknown allocation.
    pub unmatched_frees: u64,
    /// Number of device items that could not be assigned to a zone or a context, such as a device
    /// time without a matching zone start or zone end, or an item of an unknown context.
    pub stray_device_items: u64,
    /// Number of device zones without a start time or an end time.
    pub untimed_device_zones: u64,
    /// Number of names and texts that were requested but not received.
    pub missing_texts: u64,
    /// Number of functions of call stacks that were requested but not received.
    pub missing_functions: u64,
    /// Number of events that were not kept because of the recorder's limit.
    pub beyond_limit: u64,
    /// Number of received bytes that could not be interpreted.
    pub unread_bytes: u64,
}

/// Reason why a recording ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecordingEnd {
    /// The program announced its end and answered every request.
    #[default]
    Complete,
    /// The recording was stopped. Data that the program had recorded but not yet sent is missing,
    /// because clients discard such data.
    Stopped,
    /// The connection ended early, because the program was killed or crashed.
    Cut,
    /// The program sent nothing for longer than the recorder's limit.
    Silent,
    /// An item or a frame could not be read.
    Unreadable {
        /// Number of the frame, counted from 0.
        frame: u64,
        /// Description of the content that cannot be read.
        found: String,
    },
}

impl Damage {
    /// Returns the counts, each with its label.
    #[must_use]
    pub const fn counts(&self) -> [(&'static str, u64); size_of::<Self>() / size_of::<u64>()] {
        // All fields are counts, so the size of the type determines the number of fields.
        [
            ("ends of zones that had not begun", self.unmatched_ends),
            ("zones without an end", self.open_zones),
            ("zones that end before they begin", self.reversed_zones),
            ("texts for zones that were not open", self.stray_extras),
            ("ends of allocations that had not begun", self.unmatched_frees),
            ("times of unknown device zones", self.stray_device_items),
            ("device zones without times", self.untimed_device_zones),
            ("names that did not come", self.missing_texts),
            ("functions of call stacks that did not come", self.missing_functions),
            ("events beyond the limit", self.beyond_limit),
            ("bytes that cannot be read", self.unread_bytes),
        ]
    }
}

impl TracyLocation {
    /// Returns the name of zones at this location: the location's name, or else the function's
    /// name.
    #[must_use]
    pub fn zone_name(&self) -> &str {
        if self.name.is_empty() { &self.function } else { &self.name }
    }
}

impl TracyZone {
    /// Returns the zone's duration in ns; `None` if the zone's end is unknown.
    #[must_use]
    pub fn duration_ns(&self) -> Option<u64> {
        u64::try_from(self.end_ns?.saturating_sub(self.start_ns)).ok()
    }

    /// Returns the attached text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.extra.as_ref()?.text.as_deref()
    }
}

impl TracyRecording {
    /// Returns the number of zones of all threads.
    #[must_use]
    pub fn zone_count(&self) -> usize {
        self.threads.iter().map(|thread| thread.zones.len()).fold(0, usize::saturating_add)
    }

    /// Returns the source location with this index.
    #[must_use]
    pub fn location(&self, index: u32) -> Option<&TracyLocation> {
        self.locations.get(usize::try_from(index).ok()?)
    }

    /// Returns true if the recording contains everything that the program sent, except for kinds of
    /// items that are never kept.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.end == RecordingEnd::Complete && self.damage == Damage::default()
    }
}
