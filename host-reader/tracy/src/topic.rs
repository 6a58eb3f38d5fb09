//! Topics of items. Each part of a session processes the items of certain topics.

use crate::protocol::ItemKind;

/// Topic of an item.
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
    /// Locks. Only their times are used, to advance the time of the serial queue.
    Lock,
    /// Allocations.
    Memory,
    /// Kinds that are not kept: processor data and samples.
    Other,
}

impl Topic {
    #[expect(clippy::too_many_lines, reason = "a table of kinds")]
    pub(crate) const fn from_kind(kind: ItemKind) -> Self {
        use ItemKind as Kind;
        match kind {
            Kind::KeepAlive | Kind::Crash | Kind::Terminate => Self::Session,
            Kind::SingleStringData | Kind::SingleStringData8 => Self::FirstText,
            Kind::SecondStringData | Kind::SecondStringData8 => Self::SecondText,
            Kind::MessageAppInfo => Self::Fact,
            Kind::SourceLocationPayload => Self::Location,
            Kind::ThreadContext
            | Kind::ZoneBegin
            | Kind::ZoneBegin32
            | Kind::ZoneBegin16
            | Kind::ZoneBeginCallstack
            | Kind::ZoneBeginCallstack32
            | Kind::ZoneBeginCallstack16
            | Kind::ZoneBeginAllocSrcLoc
            | Kind::ZoneBeginAllocSrcLocCallstack
            | Kind::ZoneEnd
            | Kind::ZoneEnd32
            | Kind::ZoneEnd16
            | Kind::ZoneValidation
            | Kind::ZoneText
            | Kind::ZoneName
            | Kind::ZoneColor
            | Kind::ZoneValue
            | Kind::FiberEnter
            | Kind::FiberLeave => Self::Zone,
            Kind::Message
            | Kind::MessageColor
            | Kind::MessageCallstack
            | Kind::MessageColorCallstack
            | Kind::MessageLiteral
            | Kind::MessageLiteralColor
            | Kind::MessageLiteralCallstack
            | Kind::MessageLiteralColorCallstack => Self::Message,
            Kind::CrashReport => Self::Crash,
            Kind::StringData
            | Kind::ThreadName
            | Kind::FiberName
            | Kind::PlotName
            | Kind::FrameName
            | Kind::SourceLocation
            | Kind::AckServerQueryNoop => Self::Answer,
            Kind::CallstackPayload
            | Kind::CallstackAllocPayload
            | Kind::Callstack
            | Kind::CallstackAlloc
            | Kind::CallstackSerial
            | Kind::CallstackFrameSize
            | Kind::CallstackFrame
            | Kind::CallstackSample
            | Kind::CallstackSample32
            | Kind::CallstackSample16
            | Kind::CallstackSampleContextSwitch
            | Kind::CallstackSampleContextSwitch32
            | Kind::CallstackSampleContextSwitch16 => Self::Callstack,
            Kind::PlotDataInt
            | Kind::PlotDataFloat
            | Kind::PlotDataDouble
            | Kind::PlotConfig
            | Kind::SysTimeReport => Self::Plot,
            Kind::FrameMarkMsg | Kind::FrameMarkMsgStart | Kind::FrameMarkMsgEnd => Self::FrameMark,
            Kind::SectionEnter | Kind::SectionLeave => Self::Section,
            Kind::GpuZoneBegin
            | Kind::GpuZoneBeginCallstack
            | Kind::GpuZoneBeginAllocSrcLoc
            | Kind::GpuZoneBeginAllocSrcLocCallstack
            | Kind::GpuZoneEnd
            | Kind::GpuZoneBeginSerial
            | Kind::GpuZoneBeginCallstackSerial
            | Kind::GpuZoneBeginAllocSrcLocSerial
            | Kind::GpuZoneBeginAllocSrcLocCallstackSerial
            | Kind::GpuZoneEndSerial
            | Kind::GpuZone
            | Kind::GpuTime
            | Kind::GpuContextName
            | Kind::GpuNewContext
            | Kind::GpuCalibration
            | Kind::GpuTimeSync => Self::Device,
            Kind::LockWait
            | Kind::LockObtain
            | Kind::LockRelease
            | Kind::LockSharedWait
            | Kind::LockSharedObtain
            | Kind::LockSharedRelease => Self::Lock,
            Kind::MemNamePayload
            | Kind::MemAlloc
            | Kind::MemAllocNamed
            | Kind::MemAllocCallstack
            | Kind::MemAllocCallstackNamed
            | Kind::MemFree
            | Kind::MemFreeNamed
            | Kind::MemFreeCallstack
            | Kind::MemFreeCallstackNamed
            | Kind::MemDiscard
            | Kind::MemDiscardCallstack => Self::Memory,
            _ => Self::Other,
        }
    }
}
