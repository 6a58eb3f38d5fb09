//! Kinds of sections, by number and name.

/// Kind of a section's payload, as the number in the capture. Sections of kinds that this library
/// does not know are skipped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionKind(pub u16);

/// Defines the kinds known to this library, with their labels.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal, $label:literal;)*) => {
        impl SectionKind {
            $($(#[$doc])* pub const $kind: Self = Self($number);)*

            /// All kinds known to this library.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$kind),*];

            /// Returns a short label for tables; `None` for unknown kinds.
            #[must_use]
            pub const fn label(self) -> Option<&'static str> {
                match self {
                    $(Self::$kind => Some($label),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// A chip's [`DeviceDescription`](reader::mesh::DeviceDescription).
    DEVICE = 1, "device";
    /// A [`ReadBegin`](super::ReadBegin).
    READ_BEGIN = 2, "read begin";
    /// [`MemoryWords`](super::MemoryWords).
    MEMORY = 3, "memory words";
    /// A [`FailedAccess`](super::FailedAccess).
    FAILED_ACCESS = 4, "failed access";
    /// A [`ReadEnd`](super::ReadEnd).
    READ_END = 5, "read end";
    /// Zone names, as a [`ZoneTable`](reader::names::ZoneTable).
    ZONE_NAMES = 6, "zone names";
    /// [`ClockSamples`](super::ClockSamples).
    CLOCK = 7, "clock samples";
    /// [`OpMetadata`](host_events::OpMetadata).
    OP_METADATA = 8, "op metadata";
    /// [`HostEvents`](super::HostEvents); reserved.
    HOST_EVENTS = 9, "host events";
    /// A [`LossLedger`](reader::ledger::LossLedger).
    LEDGER = 10, "loss ledger";
    /// [`ProbeCosts`](reader::probe_cost::ProbeCosts).
    PROBE_COST = 11, "probe cost";
    /// A [`HostRecording`](host_events::HostRecording).
    HOST_RECORDING = 12, "host recording";
    /// A [`CaptureEnd`](super::CaptureEnd).
    CAPTURE_END = 13, "end mark";
    /// A [`HostClock`](super::HostClock).
    HOST_CLOCK = 14, "host clock";
}

impl std::fmt::Display for SectionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.label() {
            Some(label) => f.pad(label),
            None => f.pad(&format!("kind {}", self.0)),
        }
    }
}
