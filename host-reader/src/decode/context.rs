//! What the decoder must be told about a lane, since its words do not say it.

use crate::lane::LaneId;
use wire::{Generation, RunHostId};

/// What the device was built to record.
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
    /// use host_reader::decode::HostIdForm;
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
    /// Whether the runtime writes loss trailers ([`wire::loss`]); upstream's does not.
    pub has_trailers: bool,
    /// What the device was built to record.
    pub mode: CaptureMode,
    /// How launches carried their program ids.
    pub host_ids: HostIdForm,
    /// The tile's wall clock, read after the words were. It tells a wrapped stamp from one that
    /// is left over, however long the core paused.
    pub read_at: Option<u64>,
}
