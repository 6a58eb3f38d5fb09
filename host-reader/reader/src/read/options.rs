//! Options of a read, and the errors that make a whole read fail.

use crate::{
    decode::{CaptureMode, HostIdForm},
    mesh::{AccessError, CoreSelection},
    names::ZoneTable,
};
use wire::{
    Generation,
    dram::{DEFAULT_PROGRAM_SUPPORT_COUNT, GeometryError},
    generation,
    marker::HeaderLayout,
};

/// Selection of the format generation that the device writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GenerationChoice {
    /// Detection from the control vectors, chip by chip.
    #[default]
    Auto,
    /// The 64-word control vector of 2026.
    Current,
    /// The older, 32-word control vector.
    Legacy,
}

impl GenerationChoice {
    /// Returns the selected generation; `None` for detection.
    #[must_use]
    pub const fn generation(self) -> Option<Generation> {
        match self {
            Self::Auto => None,
            Self::Current => Some(generation::CURRENT),
            Self::Legacy => Some(generation::LEGACY),
        }
    }
}

/// Options of a read.
///
/// ```
/// use reader::ReadOptions;
/// let at_close = ReadOptions { last_read: true, ..ReadOptions::default() };
/// assert_eq!(at_close.program_support_count, 1000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Number of programs that a lane can hold; used if the device does not report its lane size.
    pub program_support_count: u32,
    /// True if lanes have room for the totals of sum zones; used if the device does not report its
    /// lane size.
    pub sums_enabled: bool,
    /// Cores to read.
    pub cores: CoreSelection,
    /// The format that the device writes.
    pub generation: GenerationChoice,
    /// Layout of marker headers (bits for id and time), if it differs from the layout of the format
    /// generation. The high part of the time can have 10 to 20 bits.
    pub header_layout: Option<HeaderLayout>,
    /// True if there will be no further launch. Runs that wait in L1 to be pushed at the next
    /// launch are then read from L1 and acknowledged. The records of launches that have not ended,
    /// because a kernel hangs or is still running, are read from L1, too; if such a launch ends
    /// after all, a later read of the same [`Reader`](super::Reader) returns only its other
    /// records.
    pub last_read: bool,
    /// True if nothing may be written to the chips. Reads are then not acknowledged: the lanes fill
    /// up, and another reader reads the same words again.
    pub read_only: bool,
    /// Format of the program ids in launch messages: base or encoded.
    pub host_ids: HostIdForm,
    /// Kinds of records that the device firmware was built to capture.
    pub mode: CaptureMode,
    /// Zone names to store in the readout.
    pub zones: ZoneTable,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self {
            program_support_count: DEFAULT_PROGRAM_SUPPORT_COUNT,
            sums_enabled: false,
            cores: CoreSelection::all(),
            generation: GenerationChoice::Auto,
            header_layout: None,
            last_read: false,
            read_only: false,
            host_ids: HostIdForm::Base,
            mode: CaptureMode::Workers,
            zones: ZoneTable::new(),
        }
    }
}

impl ReadOptions {
    /// Checks the options; returns an error if no read is possible with them.
    pub(super) fn check(&self) -> Result<(), ReadError> {
        match self.header_layout {
            Some(layout) if !TIME_HIGH_BITS.contains(&layout.time_high_bits) => {
                Err(ReadError::HeaderLayout { time_high_bits: layout.time_high_bits })
            }
            _ => Ok(()),
        }
    }
}

/// Valid numbers of bits for the high part of the time in a marker header. With these numbers, ids
/// have up to 18 bits and times up to 52 bits.
const TIME_HIGH_BITS: std::ops::RangeInclusive<u32> = 10..=20;

/// Reason why a whole read failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The mesh has no chips, or no core was selected.
    #[error("there is no core to read: the mesh is empty or no core was chosen")]
    NothingToRead,
    /// No core on any chip answered.
    #[error("no core could be read; the first failure was: {first}")]
    NoCoreReadable {
        /// The first failure.
        first: AccessError,
    },
    /// Lanes for the requested number of programs cannot be laid out in the chip's DRAM.
    #[error("chip {chip_id}: {source}")]
    Geometry {
        /// The chip.
        chip_id: u32,
        /// Reason why no layout is possible.
        source: GeometryError,
    },
    /// The control vectors have no known format.
    #[error(
        "chip {chip_id}: no core's control vector is that of a profiler; expected flat id, cores \
         per bank and DRAM address to be {expected}, found {as_current} where the 64-word vector \
         has them and {as_legacy} where the 32-word vector has them; was the profiler initialised, \
         and with this set of cores and banks?"
    )]
    UnknownGeneration {
        /// The chip.
        chip_id: u32,
        /// The values expected from the chip's description.
        expected: String,
        /// The first core's values at the indices of the current generation.
        as_current: String,
        /// The first core's values at the indices of the legacy generation.
        as_legacy: String,
    },
    /// The header layout in the options leaves too few bits for the id or the time.
    #[error("{time_high_bits} bits of high time were asked for; expected 10 to 20")]
    HeaderLayout {
        /// The requested number of bits for the high part of the time.
        time_high_bits: u32,
    },
}
