//! Kinds of items, in the order of their codes in every version.

/// Encoding of an item after its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Fields with this number of bytes in total.
    Fixed(usize),
    /// A length of 8 bits, then a text.
    Text8,
    /// A length of 16 bits, then a text.
    ///
    /// Since protocol 80, the encoded length is 256 less than the text's length, because shorter
    /// texts have a separate kind of item.
    Text16,
    /// A key of 8 bytes, a length of 16 bits, then a text or other bytes.
    KeyedText16,
    /// A key of 8 bytes, a length of 32 bits, then bytes.
    KeyedText32,
}

/// Versions and encoding of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule {
    /// First version with the kind.
    since: u32,
    /// True if only the fork has the kind.
    is_of_fork: bool,
    form: Form,
    /// True if the item contains a context number, which is one byte longer in the fork.
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
    ($($(#[$doc:meta])* $kind:ident = $rule:expr,)+) => {
        /// Kind of an item, with Tracy's name for the kind.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum ItemKind {
            $($(#[$doc])* $kind,)+
        }

        impl ItemKind {
            /// All kinds of all versions, in the order of their codes.
            pub const ALL: &'static [Self] = &[$(Self::$kind),+];
        }

        pub(crate) const RULES: [Rule; ItemKind::ALL.len()] = [$($rule),+];
    };
}

kinds! {
    /// Text of the innermost zone.
    ZoneText = Rule::fixed(66, 0),
    /// Name of the innermost zone, replacing the location's name.
    ZoneName = Rule::fixed(66, 0),
    /// Message. The text precedes the item.
    Message = Rule::fixed(66, 8).resized(77, 9),
    /// Message with a colour.
    MessageColor = Rule::fixed(66, 11).resized(77, 12),
    /// Message with a call stack.
    MessageCallstack = Rule::fixed(66, 8).resized(77, 9),
    /// Message with a colour and a call stack.
    MessageColorCallstack = Rule::fixed(66, 11).resized(77, 12),
    /// Information about the program, as a text.
    MessageAppInfo = Rule::fixed(66, 8),
    /// Start of a zone. The zone's location precedes the item.
    ZoneBeginAllocSrcLoc = Rule::fixed(66, 8),
    /// Start of a zone with a call stack. The zone's location precedes the item.
    ZoneBeginAllocSrcLocCallstack = Rule::fixed(66, 8),
    /// Call stack for the next item of the serial queue.
    CallstackSerial = Rule::fixed(66, 0),
    /// Call stack for the next item of the thread.
    Callstack = Rule::fixed(66, 0),
    /// Call stack of an interpreter, for the next item of the thread.
    CallstackAlloc = Rule::fixed(66, 0),
    /// Sample of a thread's call stack.
    CallstackSample = Rule::fixed(66, 12),
    /// Sample of a thread's call stack, with a time of 32 bits.
    CallstackSample32 = Rule::fixed(78, 8),
    /// Sample of a thread's call stack, with a time of 16 bits.
    CallstackSample16 = Rule::fixed(78, 6),
    /// Call stack at a context switch.
    CallstackSampleContextSwitch = Rule::fixed(66, 12),
    /// Call stack at a context switch, with a time of 32 bits.
    CallstackSampleContextSwitch32 = Rule::fixed(78, 8),
    /// Call stack at a context switch, with a time of 16 bits.
    CallstackSampleContextSwitch16 = Rule::fixed(78, 6),
    /// Image of a frame.
    FrameImage = Rule::fixed(66, 9),
    /// Start of a zone.
    ZoneBegin = Rule::fixed(66, 16),
    /// Start of a zone, with a time of 32 bits.
    ZoneBegin32 = Rule::fixed(78, 12),
    /// Start of a zone, with a time of 16 bits.
    ZoneBegin16 = Rule::fixed(78, 10),
    /// Start of a zone with a call stack.
    ZoneBeginCallstack = Rule::fixed(66, 16),
    /// Start of a zone with a call stack and a time of 32 bits.
    ZoneBeginCallstack32 = Rule::fixed(78, 12),
    /// Start of a zone with a call stack and a time of 16 bits.
    ZoneBeginCallstack16 = Rule::fixed(78, 10),
    /// End of the innermost zone.
    ZoneEnd = Rule::fixed(66, 8),
    /// End of the innermost zone, with a time of 32 bits.
    ZoneEnd32 = Rule::fixed(78, 4),
    /// End of the innermost zone, with a time of 16 bits.
    ZoneEnd16 = Rule::fixed(78, 2),
    /// Wait for a lock.
    LockWait = Rule::fixed(66, 16),
    /// Lock taken.
    LockObtain = Rule::fixed(66, 16),
    /// Lock released.
    LockRelease = Rule::fixed(66, 12),
    /// Wait for a shared lock.
    LockSharedWait = Rule::fixed(66, 16),
    /// Shared lock taken.
    LockSharedObtain = Rule::fixed(66, 16),
    /// Shared lock released.
    LockSharedRelease = Rule::fixed(66, 16),
    /// Name of a lock.
    LockName = Rule::fixed(66, 4),
    /// Allocation.
    MemAlloc = Rule::fixed(66, 26),
    /// Allocation in a named pool.
    MemAllocNamed = Rule::fixed(66, 26),
    /// Free.
    MemFree = Rule::fixed(66, 20),
    /// Free in a named pool.
    MemFreeNamed = Rule::fixed(66, 20),
    /// Allocation with a call stack.
    MemAllocCallstack = Rule::fixed(66, 26),
    /// Allocation in a named pool, with a call stack.
    MemAllocCallstackNamed = Rule::fixed(66, 26),
    /// Free with a call stack.
    MemFreeCallstack = Rule::fixed(66, 20),
    /// Free in a named pool, with a call stack.
    MemFreeCallstackNamed = Rule::fixed(66, 20),
    /// Discard of all allocations of a pool.
    MemDiscard = Rule::fixed(72, 20),
    /// Discard of all allocations of a pool, with a call stack.
    MemDiscardCallstack = Rule::fixed(72, 20),
    /// Start of a device's zone.
    GpuZoneBegin = Rule::with_context(66, 23),
    /// Start of a device's zone, with a call stack.
    GpuZoneBeginCallstack = Rule::with_context(66, 23),
    /// Start of a device's zone. The zone's location precedes the item.
    GpuZoneBeginAllocSrcLoc = Rule::with_context(66, 15),
    /// Start of a device's zone with a call stack. The zone's location precedes the item.
    GpuZoneBeginAllocSrcLocCallstack = Rule::with_context(66, 15),
    /// End of a device's zone.
    GpuZoneEnd = Rule::with_context(66, 15),
    /// Start of a device's zone, in the serial queue.
    GpuZoneBeginSerial = Rule::with_context(66, 23),
    /// Start of a device's zone, in the serial queue, with a call stack.
    GpuZoneBeginCallstackSerial = Rule::with_context(66, 23),
    /// Start of a device's zone, in the serial queue. The zone's location precedes the item.
    GpuZoneBeginAllocSrcLocSerial = Rule::with_context(66, 15),
    /// Start of a device's zone with a call stack, in the serial queue. The zone's location
    /// precedes the item.
    GpuZoneBeginAllocSrcLocCallstackSerial = Rule::with_context(66, 15),
    /// End of a device's zone, in the serial queue.
    GpuZoneEndSerial = Rule::with_context(66, 15),
    /// Point of a plot, as an integer.
    PlotDataInt = Rule::fixed(66, 24),
    /// Point of a plot, in single precision.
    PlotDataFloat = Rule::fixed(66, 20),
    /// Point of a plot, in double precision.
    PlotDataDouble = Rule::fixed(66, 24),
    /// Context switch on a processor.
    ContextSwitch = Rule::fixed(66, 19).resized(73, 22),
    /// Thread that became ready.
    ThreadWakeup = Rule::fixed(66, 12).resized(73, 15),
    /// Device time of the zone start or zone end with the same query number.
    GpuTime = Rule::with_context(66, 11),
    /// Name of a device's context; the text precedes the item.
    GpuContextName = Rule::with_context(66, 1),
    /// Name of an annotation of a device's zones.
    GpuAnnotationName = Rule::fixed(75, 9),
    /// Metadata for the next marker; the text precedes the item.
    GpuMarkerMeta = Rule::fork(79, 1),
    /// Marker on a device's lane.
    GpuMarker = Rule::fork(79, 22),
    /// Number of functions at an address of a call stack.
    CallstackFrameSize = Rule::fixed(66, 9),
    /// File and line of a symbol.
    SymbolInformation = Rule::fixed(66, 12),
    /// Unused: never sent to a server.
    ExternalNameMetadata = Rule::fixed(66, 0),
    /// Unused: never sent to a server.
    SymbolCodeMetadata = Rule::fixed(66, 0),
    /// Unused: never sent to a server.
    SourceCodeMetadata = Rule::fixed(66, 0),
    /// Start of a fiber on a thread.
    FiberEnter = Rule::fixed(66, 20).resized(68, 24),
    /// End of a fiber on a thread.
    FiberLeave = Rule::fixed(66, 12),
    /// Start of a section.
    SectionEnter = Rule::fixed(81, 12).resized(82, 14),
    /// End of a section.
    SectionLeave = Rule::fixed(81, 12),
    /// Name of a kind of section.
    SectionSetup = Rule::fixed(82, 2),
    /// End of the program's data.
    Terminate = Rule::fixed(66, 0),
    /// Keep-alive.
    KeepAlive = Rule::fixed(66, 0),
    /// Thread to which the following items belong.
    ThreadContext = Rule::fixed(66, 4),
    /// Pair of device and host time for calibration.
    GpuCalibration = Rule::with_context(66, 25),
    /// New pair of device and host time.
    GpuTimeSync = Rule::with_context(66, 17),
    /// Complete zone of a device, with start and end.
    GpuZone = Rule::fork(79, 29),
    /// End of a program by a crash.
    Crash = Rule::fixed(66, 0),
    /// Message and time of a crash.
    CrashReport = Rule::fixed(66, 16),
    /// Number of the zone to which the next item refers.
    ZoneValidation = Rule::fixed(66, 4),
    /// Colour of the innermost zone.
    ZoneColor = Rule::fixed(66, 3),
    /// Number attached to the innermost zone.
    ZoneValue = Rule::fixed(66, 8),
    /// End of a frame.
    FrameMarkMsg = Rule::fixed(66, 16),
    /// Start of a frame that is not continuous.
    FrameMarkMsgStart = Rule::fixed(66, 16),
    /// End of a frame that is not continuous.
    FrameMarkMsgEnd = Rule::fixed(66, 16),
    /// Vertical synchronisation.
    FrameVsync = Rule::fixed(66, 12),
    /// Source location, as an answer.
    SourceLocation = Rule::fixed(66, 31),
    /// Creation of a lock.
    LockAnnounce = Rule::fixed(66, 21),
    /// Destruction of a lock.
    LockTerminate = Rule::fixed(66, 12),
    /// Source location of a lock's use.
    LockMark = Rule::fixed(66, 16),
    /// Message whose text is constant in the program.
    MessageLiteral = Rule::fixed(66, 16),
    /// Message whose text is constant in the program, with a colour.
    MessageLiteralColor = Rule::fixed(66, 19),
    /// Message whose text is constant in the program, with a call stack.
    MessageLiteralCallstack = Rule::fixed(66, 16),
    /// Message whose text is constant in the program, with a colour and a call stack.
    MessageLiteralColorCallstack = Rule::fixed(66, 19),
    /// Context of a device.
    GpuNewContext = Rule::with_context(66, 27),
    /// One function at an address of a call stack.
    CallstackFrame = Rule::fixed(66, 16),
    /// Load of the processors.
    SysTimeReport = Rule::fixed(66, 12),
    /// Energy used.
    SysPowerReport = Rule::fixed(66, 24),
    /// Process to which a thread belongs.
    TidToPid = Rule::fixed(66, 16),
    /// Sample of a counter: cycles.
    HwSampleCpuCycle = Rule::fixed(66, 16),
    /// Sample of a counter: instructions.
    HwSampleInstructionRetired = Rule::fixed(66, 16),
    /// Sample of a counter: cache references.
    HwSampleCacheReference = Rule::fixed(66, 16),
    /// Sample of a counter: cache misses.
    HwSampleCacheMiss = Rule::fixed(66, 16),
    /// Sample of a counter: branches.
    HwSampleBranchRetired = Rule::fixed(66, 16),
    /// Sample of a counter: branch mispredictions.
    HwSampleBranchMiss = Rule::fixed(66, 16),
    /// Display settings of a plot.
    PlotConfig = Rule::fixed(66, 15),
    /// Parameter that a viewer can set.
    ParamSetup = Rule::fixed(66, 17),
    /// Answer without content.
    AckServerQueryNoop = Rule::fixed(66, 0),
    /// Answer that a source file is missing.
    AckSourceCodeNotAvailable = Rule::fixed(66, 4),
    /// Answer that a symbol's code is missing.
    AckSymbolCodeNotAvailable = Rule::fixed(66, 0),
    /// Position of a processor in the processor topology.
    CpuTopology = Rule::fixed(66, 12).resized(69, 16),
    /// Text for the item that follows.
    SingleStringData = Rule::text(66, Form::Text16),
    /// Second text for the item that follows.
    SecondStringData = Rule::text(66, Form::Text16),
    /// Text of less than 256 bytes for the item that follows.
    SingleStringData8 = Rule::text(80, Form::Text8),
    /// Second text of less than 256 bytes for the item that follows.
    SecondStringData8 = Rule::text(80, Form::Text8),
    /// Pool to which the next allocation belongs.
    MemNamePayload = Rule::fixed(66, 8),
    /// Group to which a thread belongs.
    ThreadGroupHint = Rule::fixed(67, 8),
    /// Number attached to a device's zone.
    GpuZoneAnnotation = Rule::fixed(75, 19).resized(76, 23),
    /// Text, as an answer.
    StringData = Rule::text(66, Form::KeyedText16),
    /// Name of a thread, as an answer.
    ThreadName = Rule::text(66, Form::KeyedText16),
    /// Name of a plot, as an answer.
    PlotName = Rule::text(66, Form::KeyedText16),
    /// Source location for the item that follows.
    SourceLocationPayload = Rule::text(66, Form::KeyedText16),
    /// Addresses of a call stack.
    CallstackPayload = Rule::text(66, Form::KeyedText16),
    /// Functions of an interpreter's call stack.
    CallstackAllocPayload = Rule::text(66, Form::KeyedText16),
    /// Name of a series of frames, as an answer.
    FrameName = Rule::text(66, Form::KeyedText16),
    /// Pixels of a frame's image.
    FrameImageData = Rule::text(66, Form::KeyedText32),
    /// Name of another process, as an answer.
    ExternalName = Rule::text(66, Form::KeyedText16),
    /// Name of another process's thread, as an answer.
    ExternalThreadName = Rule::text(66, Form::KeyedText16),
    /// Machine code of a symbol, as an answer.
    SymbolCode = Rule::text(66, Form::KeyedText32),
    /// Source file, as an answer.
    SourceCode = Rule::text(66, Form::KeyedText32),
    /// Name of a fiber, as an answer.
    FiberName = Rule::text(66, Form::KeyedText16),
}

impl ItemKind {
    #[expect(clippy::indexing_slicing, reason = "the table has a rule for each kind")]
    pub(crate) const fn rule(self) -> &'static Rule {
        &RULES[self as usize]
    }
}
