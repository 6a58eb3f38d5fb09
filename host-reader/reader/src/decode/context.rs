//! Context of a lane that its words do not contain and the decoder needs.

use crate::lane::LaneId;
use wire::{Generation, RunHostId};

/// Kinds of records that the device was built to capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaptureMode {
    /// Worker kernels, run by run.
    #[default]
    Workers,
    /// Dispatch kernels as well; their run headers carry no trace counter.
    DispatchCores,
    /// One envelope per trace replay. All RISCs of a core share the first lane, and the
    /// program id counts replays.
    TraceOnly,
    /// Worker kernels, several launches of which share a push. What was not pushed at the end waits
    /// in L1.
    Accumulate,
}

impl CaptureMode {
    /// Returns true if records stay in L1 until more of them come, so that the last read has to
    /// look there.
    #[must_use]
    pub const fn keeps_in_l1(self) -> bool {
        matches!(self, Self::TraceOnly | Self::Accumulate)
    }
}

/// How launches carried their program ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostIdForm {
    /// The base id alone; the reader encodes it with the chip. Upstream since 2026.
    #[default]
    Base,
    /// The encoded form, sent by the dispatcher. Upstream until the end of 2025.
    Encoded,
}

impl HostIdForm {
    /// The id that reports print for the id that a launch carried.
    ///
    /// ```
    /// use reader::decode::HostIdForm;
    /// assert_eq!(HostIdForm::Base.run_host_id(3, 1).0, 3 << 10 | 1);
    /// assert_eq!(HostIdForm::Encoded.run_host_id(3 << 10 | 1, 1).0, 3 << 10 | 1);
    /// assert_eq!(HostIdForm::Base.run_host_id(0, 1).0, 0);
    /// ```
    #[must_use]
    pub const fn run_host_id(self, program_id: u32, chip_id: u32) -> RunHostId {
        match self {
            Self::Base => RunHostId::encode(program_id, chip_id),
            Self::Encoded => RunHostId(program_id),
        }
    }
}

/// Whose words are decoded, and how they are to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneContext {
    /// Whose records these are.
    pub lane: LaneId,
    /// Index that run headers must carry.
    pub risc_index: u32,
    /// Core number that run headers must carry; they hold its low 8 bits.
    pub flat_id: u32,
    /// The format, with any override of its header layout already applied.
    pub generation: Generation,
    /// The generation of the core's lanes that runs must carry; `None` where the runtime writes
    /// none, and counts no losses either: upstream's.
    pub lane_generation: Option<u32>,
    /// Kinds of records that the device was built to capture.
    pub mode: CaptureMode,
    /// How launches carried their program ids.
    pub host_ids: HostIdForm,
    /// The tile's wall clock, read after the words were. It distinguishes a wrapped stamp from a
    /// leftover one, however long the core paused.
    pub read_at: Option<u64>,
}
