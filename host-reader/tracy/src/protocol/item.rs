//! Kinds of items, listed in the order of their codes. This order is the same in every version.

/// Encoding of an item after its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Fields with this number of bytes in total.
    Fixed(usize),
    /// A length of 8 bits, then a text.
    Text8,
    /// A length of 16 bits, then a text.
    ///
    /// Since protocol 80, the encoded length is the text's length minus 256, because texts of less
    /// than 256 bytes have a separate kind of item.
    Text16,
    /// A key of 8 bytes, a length of 16 bits, then a text or other bytes.
    KeyedText16,
    /// A key of 8 bytes, a length of 32 bits, then bytes.
    KeyedText32,
}

/// Topic of a kind of item. The topic determines which function of the session processes the item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// Keep-alive and end of the program.
    Session,
    /// Text for the next item.
    FirstText,
    /// Second text for the next item.
    SecondText,
    /// Information about the program.
    Fact,
    /// Source location for the next item.
    Location,
    /// Zones, and the current thread.
    Zone,
    Message,
    Crash,
    /// Answers to requests.
    Answer,
    Callstack,
    Plot,
    FrameMark,
    Section,
    Device,
    /// Locks. Of these items, only the times are used: the time of the next item in the serial
    /// queue is relative to them.
    Lock,
    /// Allocations.
    Memory,
    /// Kinds whose items are discarded, such as processor data and samples.
    Other,
}

/// Versions that have a kind of item, and the encoding of the item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// First version with the kind.
    since: u32,
    /// True if only the fork has the kind.
    is_of_fork: bool,
    form: Form,
    /// True if the item contains a context number, which has 1 byte in Tracy and 2 bytes in the
    /// fork.
    has_context: bool,
    /// Later version that changed the length, and the new length in bytes.
    resized: Option<(u32, usize)>,
}

impl Rule {
    const fn fixed(since: u32, bytes: usize) -> Self {
        let form = Form::Fixed(bytes);
        Self { since, is_of_fork: false, form, has_context: false, resized: None }
    }

    const fn with_context(since: u32, bytes: usize) -> Self {
        Self { has_context: true, ..Self::fixed(since, bytes) }
    }

    const fn fork(since: u32, bytes: usize) -> Self {
        Self { is_of_fork: true, ..Self::with_context(since, bytes) }
    }

    const fn text(since: u32, form: Form) -> Self {
        Self { form, ..Self::fixed(since, 0) }
    }

    const fn resized(self, since: u32, bytes: usize) -> Self {
        Self { resized: Some((since, bytes)), ..self }
    }

    /// Returns true if this version of this program has the kind.
    pub(crate) const fn is_in(&self, number: u32, is_fork: bool) -> bool {
        number >= self.since && (is_fork || !self.is_of_fork)
    }

    pub(crate) const fn form(&self, number: u32, is_fork: bool) -> Form {
        let Form::Fixed(first) = self.form else { return self.form };
        let bytes = match self.resized {
            Some((since, bytes)) if number >= since => bytes,
            _ => first,
        };
        Form::Fixed(if self.has_context && is_fork { bytes.saturating_add(1) } else { bytes })
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $topic:ident = $rule:expr,)+) => {
        /// Kind of an item, with Tracy's name for the kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum ItemKind {
            $($(#[$doc])* $kind,)+
        }

        impl ItemKind {
            /// All kinds of all versions, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];

            /// Returns the topic of the kind.
            pub(crate) const fn topic(self) -> Topic {
                match self {
                    $(Self::$kind => Topic::$topic,)+
                }
            }
        }

        pub(crate) const RULES: [Rule; ItemKind::ALL.len()] = [$($rule),+];
    };
}

kinds! {
    /// Text of the innermost zone.
    ZoneText: Zone = Rule::fixed(66, 0),
    /// Name of the innermost zone, replacing the location's name.
    ZoneName: Zone = Rule::fixed(66, 0),
    /// Message. The text precedes the item.
    Message: Message = Rule::fixed(66, 8).resized(77, 9),
    /// Message with a colour.
    MessageColor: Message = Rule::fixed(66, 11).resized(77, 12),
    /// Message with a call stack.
    MessageCallstack: Message = Rule::fixed(66, 8).resized(77, 9),
    /// Message with a colour and a call stack.
    MessageColorCallstack: Message = Rule::fixed(66, 11).resized(77, 12),
    /// Information about the program, as a text.
    MessageAppInfo: Fact = Rule::fixed(66, 8),
    /// Start of a zone. The zone's location precedes the item.
    ZoneBeginAllocSrcLoc: Zone = Rule::fixed(66, 8),
    /// Start of a zone with a call stack. The zone's location precedes the item.
    ZoneBeginAllocSrcLocCallstack: Zone = Rule::fixed(66, 8),
    /// Call stack for the next item of the serial queue.
    CallstackSerial: Callstack = Rule::fixed(66, 0),
    /// Call stack for the next item of the thread.
    Callstack: Callstack = Rule::fixed(66, 0),
    /// Call stack of an interpreter, for the next item of the thread.
    CallstackAlloc: Callstack = Rule::fixed(66, 0),
    /// Sample of a thread's call stack.
    CallstackSample: Callstack = Rule::fixed(66, 12),
    /// Sample of a thread's call stack, with a time of 32 bits.
    CallstackSample32: Callstack = Rule::fixed(78, 8),
    /// Sample of a thread's call stack, with a time of 16 bits.
    CallstackSample16: Callstack = Rule::fixed(78, 6),
    /// Call stack at a context switch.
    CallstackSampleContextSwitch: Callstack = Rule::fixed(66, 12),
    /// Call stack at a context switch, with a time of 32 bits.
    CallstackSampleContextSwitch32: Callstack = Rule::fixed(78, 8),
    /// Call stack at a context switch, with a time of 16 bits.
    CallstackSampleContextSwitch16: Callstack = Rule::fixed(78, 6),
    /// Image of a frame.
    FrameImage: Other = Rule::fixed(66, 9),
    /// Start of a zone.
    ZoneBegin: Zone = Rule::fixed(66, 16),
    /// Start of a zone, with a time of 32 bits.
    ZoneBegin32: Zone = Rule::fixed(78, 12),
    /// Start of a zone, with a time of 16 bits.
    ZoneBegin16: Zone = Rule::fixed(78, 10),
    /// Start of a zone with a call stack.
    ZoneBeginCallstack: Zone = Rule::fixed(66, 16),
    /// Start of a zone with a call stack and a time of 32 bits.
    ZoneBeginCallstack32: Zone = Rule::fixed(78, 12),
    /// Start of a zone with a call stack and a time of 16 bits.
    ZoneBeginCallstack16: Zone = Rule::fixed(78, 10),
    /// End of the innermost zone.
    ZoneEnd: Zone = Rule::fixed(66, 8),
    /// End of the innermost zone, with a time of 32 bits.
    ZoneEnd32: Zone = Rule::fixed(78, 4),
    /// End of the innermost zone, with a time of 16 bits.
    ZoneEnd16: Zone = Rule::fixed(78, 2),
    /// Wait for a lock.
    LockWait: Lock = Rule::fixed(66, 16),
    /// Lock taken.
    LockObtain: Lock = Rule::fixed(66, 16),
    /// Lock released.
    LockRelease: Lock = Rule::fixed(66, 12),
    /// Wait for a shared lock.
    LockSharedWait: Lock = Rule::fixed(66, 16),
    /// Shared lock taken.
    LockSharedObtain: Lock = Rule::fixed(66, 16),
    /// Shared lock released.
    LockSharedRelease: Lock = Rule::fixed(66, 16),
    /// Name of a lock.
    LockName: Other = Rule::fixed(66, 4),
    /// Allocation.
    MemAlloc: Memory = Rule::fixed(66, 26),
    /// Allocation in a named pool.
    MemAllocNamed: Memory = Rule::fixed(66, 26),
    /// Release of an allocation.
    MemFree: Memory = Rule::fixed(66, 20),
    /// Release of an allocation in a named pool.
    MemFreeNamed: Memory = Rule::fixed(66, 20),
    /// Allocation with a call stack.
    MemAllocCallstack: Memory = Rule::fixed(66, 26),
    /// Allocation in a named pool, with a call stack.
    MemAllocCallstackNamed: Memory = Rule::fixed(66, 26),
    /// Release of an allocation with a call stack.
    MemFreeCallstack: Memory = Rule::fixed(66, 20),
    /// Release of an allocation in a named pool, with a call stack.
    MemFreeCallstackNamed: Memory = Rule::fixed(66, 20),
    /// Discard of all allocations of a pool.
    MemDiscard: Memory = Rule::fixed(72, 20),
    /// Discard of all allocations of a pool, with a call stack.
    MemDiscardCallstack: Memory = Rule::fixed(72, 20),
    /// Start of a device's zone.
    GpuZoneBegin: Device = Rule::with_context(66, 23),
    /// Start of a device's zone, with a call stack.
    GpuZoneBeginCallstack: Device = Rule::with_context(66, 23),
    /// Start of a device's zone. The zone's location precedes the item.
    GpuZoneBeginAllocSrcLoc: Device = Rule::with_context(66, 15),
    /// Start of a device's zone with a call stack. The zone's location precedes the item.
    GpuZoneBeginAllocSrcLocCallstack: Device = Rule::with_context(66, 15),
    /// End of a device's zone.
    GpuZoneEnd: Device = Rule::with_context(66, 15),
    /// Start of a device's zone, in the serial queue.
    GpuZoneBeginSerial: Device = Rule::with_context(66, 23),
    /// Start of a device's zone, in the serial queue, with a call stack.
    GpuZoneBeginCallstackSerial: Device = Rule::with_context(66, 23),
    /// Start of a device's zone, in the serial queue. The zone's location precedes the item.
    GpuZoneBeginAllocSrcLocSerial: Device = Rule::with_context(66, 15),
    /// Start of a device's zone with a call stack, in the serial queue. The zone's location
    /// precedes the item.
    GpuZoneBeginAllocSrcLocCallstackSerial: Device = Rule::with_context(66, 15),
    /// End of a device's zone, in the serial queue.
    GpuZoneEndSerial: Device = Rule::with_context(66, 15),
    /// Point of a plot, as an integer.
    PlotDataInt: Plot = Rule::fixed(66, 24),
    /// Point of a plot, in single precision.
    PlotDataFloat: Plot = Rule::fixed(66, 20),
    /// Point of a plot, in double precision.
    PlotDataDouble: Plot = Rule::fixed(66, 24),
    /// Context switch on a processor.
    ContextSwitch: Other = Rule::fixed(66, 19).resized(73, 22),
    /// Thread that became ready.
    ThreadWakeup: Other = Rule::fixed(66, 12).resized(73, 15),
    /// Device time at which a zone started or ended. The item for that start or end has the same
    /// query number.
    GpuTime: Device = Rule::with_context(66, 11),
    /// Name of a device's context; the text precedes the item.
    GpuContextName: Device = Rule::with_context(66, 1),
    /// Name of an annotation of a device's zones.
    GpuAnnotationName: Other = Rule::fixed(75, 9),
    /// Metadata for the next marker. The text of the metadata is sent before this item.
    GpuMarkerMeta: Other = Rule::fork(79, 1),
    /// Marker on a device's lane.
    GpuMarker: Other = Rule::fork(79, 22),
    /// Number of functions at an address of a call stack.
    CallstackFrameSize: Callstack = Rule::fixed(66, 9),
    /// File and line of a symbol.
    SymbolInformation: Other = Rule::fixed(66, 12),
    /// Unused: never sent to a server.
    ExternalNameMetadata: Other = Rule::fixed(66, 0),
    /// Unused: never sent to a server.
    SymbolCodeMetadata: Other = Rule::fixed(66, 0),
    /// Unused: never sent to a server.
    SourceCodeMetadata: Other = Rule::fixed(66, 0),
    /// Start of a fiber on a thread.
    FiberEnter: Zone = Rule::fixed(66, 20).resized(68, 24),
    /// End of a fiber on a thread.
    FiberLeave: Zone = Rule::fixed(66, 12),
    /// Start of a section.
    SectionEnter: Section = Rule::fixed(81, 12).resized(82, 14),
    /// End of a section.
    SectionLeave: Section = Rule::fixed(81, 12),
    /// Name that all sections of one kind share.
    SectionSetup: Other = Rule::fixed(82, 2),
    /// End of the program's data.
    Terminate: Session = Rule::fixed(66, 0),
    /// Keep-alive.
    KeepAlive: Session = Rule::fixed(66, 0),
    /// Thread to which the following items belong.
    ThreadContext: Zone = Rule::fixed(66, 4),
    /// Pair of device time and host time of a calibrated context.
    GpuCalibration: Device = Rule::with_context(66, 25),
    /// Pair of device time and host time that replaces the previous pair of a context without
    /// calibration.
    GpuTimeSync: Device = Rule::with_context(66, 17),
    /// Complete zone of a device, with start and end.
    GpuZone: Device = Rule::fork(79, 29),
    /// End of a program by a crash.
    Crash: Session = Rule::fixed(66, 0),
    /// Message and time of a crash.
    CrashReport: Crash = Rule::fixed(66, 16),
    /// Number of the zone to which the next item refers.
    ZoneValidation: Zone = Rule::fixed(66, 4),
    /// Colour of the innermost zone.
    ZoneColor: Zone = Rule::fixed(66, 3),
    /// Number attached to the innermost zone.
    ZoneValue: Zone = Rule::fixed(66, 8),
    /// End of a frame.
    FrameMarkMsg: FrameMark = Rule::fixed(66, 16),
    /// Start of a discontinuous frame.
    FrameMarkMsgStart: FrameMark = Rule::fixed(66, 16),
    /// End of a discontinuous frame.
    FrameMarkMsgEnd: FrameMark = Rule::fixed(66, 16),
    /// Vertical synchronisation.
    FrameVsync: Other = Rule::fixed(66, 12),
    /// Answer to a request: source location.
    SourceLocation: Answer = Rule::fixed(66, 31),
    /// Creation of a lock.
    LockAnnounce: Other = Rule::fixed(66, 21),
    /// Destruction of a lock.
    LockTerminate: Other = Rule::fixed(66, 12),
    /// Source location of a lock's use.
    LockMark: Other = Rule::fixed(66, 16),
    /// Message with a text that is constant in the program.
    MessageLiteral: Message = Rule::fixed(66, 16),
    /// Message with a text that is constant in the program, and a colour.
    MessageLiteralColor: Message = Rule::fixed(66, 19),
    /// Message with a text that is constant in the program, and a call stack.
    MessageLiteralCallstack: Message = Rule::fixed(66, 16),
    /// Message with a text that is constant in the program, a colour and a call stack.
    MessageLiteralColorCallstack: Message = Rule::fixed(66, 19),
    /// Context of a device.
    GpuNewContext: Device = Rule::with_context(66, 27),
    /// One function at an address of a call stack.
    CallstackFrame: Callstack = Rule::fixed(66, 16),
    /// Load of the processors.
    SysTimeReport: Plot = Rule::fixed(66, 12),
    /// Energy that the processor used.
    SysPowerReport: Other = Rule::fixed(66, 24),
    /// Process to which a thread belongs.
    TidToPid: Other = Rule::fixed(66, 16),
    /// Sample of a counter: cycles.
    HwSampleCpuCycle: Other = Rule::fixed(66, 16),
    /// Sample of a counter: instructions.
    HwSampleInstructionRetired: Other = Rule::fixed(66, 16),
    /// Sample of a counter: cache references.
    HwSampleCacheReference: Other = Rule::fixed(66, 16),
    /// Sample of a counter: cache misses.
    HwSampleCacheMiss: Other = Rule::fixed(66, 16),
    /// Sample of a counter: branches.
    HwSampleBranchRetired: Other = Rule::fixed(66, 16),
    /// Sample of a counter: branch mispredictions.
    HwSampleBranchMiss: Other = Rule::fixed(66, 16),
    /// Display settings of a plot.
    PlotConfig: Plot = Rule::fixed(66, 15),
    /// Parameter that a viewer can set.
    ParamSetup: Other = Rule::fixed(66, 17),
    /// Answer without content.
    AckServerQueryNoop: Answer = Rule::fixed(66, 0),
    /// Answer that a source file is missing.
    AckSourceCodeNotAvailable: Other = Rule::fixed(66, 4),
    /// Answer that a symbol's code is missing.
    AckSymbolCodeNotAvailable: Other = Rule::fixed(66, 0),
    /// Position of a processor in the processor topology.
    CpuTopology: Other = Rule::fixed(66, 12).resized(69, 16),
    /// Text for the item that follows.
    SingleStringData: FirstText = Rule::text(66, Form::Text16),
    /// Second text for the item that follows.
    SecondStringData: SecondText = Rule::text(66, Form::Text16),
    /// Text of less than 256 bytes for the item that follows.
    SingleStringData8: FirstText = Rule::text(80, Form::Text8),
    /// Second text of less than 256 bytes for the item that follows.
    SecondStringData8: SecondText = Rule::text(80, Form::Text8),
    /// Pool to which the next allocation belongs.
    MemNamePayload: Memory = Rule::fixed(66, 8),
    /// Group to which a thread belongs.
    ThreadGroupHint: Other = Rule::fixed(67, 8),
    /// Number attached to a device's zone.
    GpuZoneAnnotation: Other = Rule::fixed(75, 19).resized(76, 23),
    /// Answer to a request: text.
    StringData: Answer = Rule::text(66, Form::KeyedText16),
    /// Answer to a request: name of a thread.
    ThreadName: Answer = Rule::text(66, Form::KeyedText16),
    /// Answer to a request: name of a plot.
    PlotName: Answer = Rule::text(66, Form::KeyedText16),
    /// Source location for the item that follows.
    SourceLocationPayload: Location = Rule::text(66, Form::KeyedText16),
    /// Addresses of a call stack.
    CallstackPayload: Callstack = Rule::text(66, Form::KeyedText16),
    /// Functions of an interpreter's call stack.
    CallstackAllocPayload: Callstack = Rule::text(66, Form::KeyedText16),
    /// Answer to a request: name of a series of frames.
    FrameName: Answer = Rule::text(66, Form::KeyedText16),
    /// Pixels of a frame's image.
    FrameImageData: Other = Rule::text(66, Form::KeyedText32),
    /// Answer to a request: name of another process.
    ExternalName: Other = Rule::text(66, Form::KeyedText16),
    /// Answer to a request: name of another process's thread.
    ExternalThreadName: Other = Rule::text(66, Form::KeyedText16),
    /// Answer to a request: machine code of a symbol.
    SymbolCode: Other = Rule::text(66, Form::KeyedText32),
    /// Answer to a request: source file.
    SourceCode: Other = Rule::text(66, Form::KeyedText32),
    /// Answer to a request: name of a fiber.
    FiberName: Answer = Rule::text(66, Form::KeyedText16),
}

impl ItemKind {
    #[expect(clippy::indexing_slicing, reason = "the table has a rule for each kind")]
    pub(crate) const fn rule(self) -> &'static Rule {
        &RULES[self as usize]
    }
}
