//! Kinds of sections, by number and name.

/// Kind of a section's payload. Kinds unknown to this library keep their number, are skipped and
/// counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionKind(pub u16);

impl SectionKind {
    /// A chip's [`DeviceDescription`](reader::mesh::DeviceDescription).
    pub const DEVICE: Self = Self(1);
    /// A [`ReadBegin`](super::ReadBegin).
    pub const READ_BEGIN: Self = Self(2);
    /// [`MemoryWords`](super::MemoryWords).
    pub const MEMORY: Self = Self(3);
    /// A [`FailedAccess`](super::FailedAccess).
    pub const FAILED_ACCESS: Self = Self(4);
    /// A [`ReadEnd`](super::ReadEnd).
    pub const READ_END: Self = Self(5);
    /// Zone names, as a [`ZoneTable`](reader::names::ZoneTable).
    pub const ZONE_NAMES: Self = Self(6);
    /// [`ClockSamples`](super::ClockSamples).
    pub const CLOCK: Self = Self(7);
    /// [`OpMetadata`](host_events::OpMetadata).
    pub const OP_METADATA: Self = Self(8);
    /// [`HostEvents`](super::HostEvents); reserved.
    pub const HOST_EVENTS: Self = Self(9);
    /// A [`LossLedger`](reader::ledger::LossLedger).
    pub const LEDGER: Self = Self(10);
    /// [`ProbeCosts`](reader::probe_cost::ProbeCosts).
    pub const PROBE_COST: Self = Self(11);
    /// A [`HostRecording`](host_events::HostRecording).
    pub const HOST_RECORDING: Self = Self(12);
    /// A [`CaptureEnd`](super::CaptureEnd).
    pub const CAPTURE_END: Self = Self(13);
    /// A [`HostClock`](super::HostClock).
    pub const HOST_CLOCK: Self = Self(14);

    /// All kinds known to this library.
    pub const ALL: [Self; 14] = [
        Self::DEVICE,
        Self::READ_BEGIN,
        Self::MEMORY,
        Self::FAILED_ACCESS,
        Self::READ_END,
        Self::ZONE_NAMES,
        Self::CLOCK,
        Self::OP_METADATA,
        Self::HOST_EVENTS,
        Self::LEDGER,
        Self::PROBE_COST,
        Self::HOST_RECORDING,
        Self::CAPTURE_END,
        Self::HOST_CLOCK,
    ];

    /// Returns a short label for tables; `None` for unknown kinds.
    #[must_use]
    pub const fn label(self) -> Option<&'static str> {
        Some(match self {
            Self::DEVICE => "device",
            Self::READ_BEGIN => "read begin",
            Self::MEMORY => "memory words",
            Self::FAILED_ACCESS => "failed access",
            Self::READ_END => "read end",
            Self::ZONE_NAMES => "zone names",
            Self::CLOCK => "clock samples",
            Self::OP_METADATA => "op metadata",
            Self::HOST_EVENTS => "host events",
            Self::LEDGER => "loss ledger",
            Self::PROBE_COST => "probe cost",
            Self::HOST_RECORDING => "host recording",
            Self::CAPTURE_END => "end mark",
            Self::HOST_CLOCK => "host clock",
            _ => return None,
        })
    }
}

impl std::fmt::Display for SectionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.label() {
            Some(label) => f.pad(label),
            None => f.pad(&format!("kind {}", self.0)),
        }
    }
}
