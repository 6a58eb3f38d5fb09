//! Inputs of the decoder in addition to the words of a lane.

use crate::lane::LaneId;
use wire::{Generation, RunHostId};

/// Kinds of records that the device firmware was built to capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CaptureMode {
    /// Records of worker kernels, with one push (transfer of the records from L1 to DRAM) per
    /// launch.
    #[default]
    Workers,
    /// Records of worker kernels and dispatch kernels. The run headers of dispatch kernels have no
    /// trace counter.
    DispatchCores,
    /// One zone around each trace replay. All RISCs of a core share the lane of the core's first
    /// RISC, and the field for the program id contains the number of the replay.
    TraceOnly,
    /// Records of worker kernels, with several launches per push. Records that have not been pushed
    /// when the last launch ends stay in L1.
    Accumulate,
}

impl CaptureMode {
    /// Returns true if records of finished launches may stay in L1 instead of being pushed. The
    /// last read must then also read L1.
    #[must_use]
    pub const fn keeps_in_l1(self) -> bool {
        matches!(self, Self::TraceOnly | Self::Accumulate)
    }
}

/// Format of the program ids in launch messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostIdForm {
    /// The program's base id, without the chip number. The reader adds the chip number. Used by
    /// TT-Metal since 2026.
    #[default]
    Base,
    /// The id that already includes the chip number. Used by TT-Metal until the end of 2025.
    Encoded,
}

impl HostIdForm {
    /// Converts the id in a launch message to the id as printed in reports.
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

/// Lane to decode, with the format of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneContext {
    /// The lane.
    pub lane: LaneId,
    /// RISC index that run headers must contain.
    pub risc_index: u32,
    /// Core number that run headers must contain, in its low 8 bits.
    pub flat_id: u32,
    /// Format of the lane's words. If the reader's options override the header layout, this field
    /// contains the overriding layout.
    pub generation: Generation,
    /// Number of the lane's generation, which run headers must contain.
    ///
    /// The number is incremented each time the core is prepared for profiling. `None` for
    /// TT-Metal's runtime, which neither writes a generation nor counts losses.
    pub lane_generation: Option<u32>,
    /// Kinds of records that the device firmware was built to capture.
    pub mode: CaptureMode,
    /// Format of the program ids in launch messages.
    pub host_ids: HostIdForm,
    /// Reading of the tile's wall clock, taken after the lane's words were read; `None` if there is
    /// no such reading.
    ///
    /// If a stamp is lower than the previous stamp, either the stamps have wrapped or the word is
    /// left over from an earlier run. With this reading, the decoder can decide which, even if the
    /// core paused for a long time.
    pub read_at: Option<u64>,
}
