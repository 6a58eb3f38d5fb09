//! Options of a read, and the errors that make it fail as a whole.

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

/// Which generation of the format the device writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GenerationChoice {
    /// Found from the control vectors, chip by chip.
    #[default]
    Auto,
    /// The 64-word control vector of 2026.
    Current,
    /// The 32-word control vector before it.
    Legacy,
}

impl GenerationChoice {
    /// The generation that was chosen, `None` if it is to be found.
    #[must_use]
    pub const fn generation(self) -> Option<Generation> {
        match self {
            Self::Auto => None,
            Self::Current => Some(generation::CURRENT),
            Self::Legacy => Some(generation::LEGACY),
        }
    }
}

/// How a mesh is read.
///
/// ```
/// use reader::ReadOptions;
/// let at_close = ReadOptions { last_read: true, ..ReadOptions::default() };
/// assert_eq!(at_close.program_support_count, 1000);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Programs that a lane holds, where the device does not announce its lane size.
    pub program_support_count: u32,
    /// True if lanes have room for sums, where the device does not announce its lane size.
    pub sums_enabled: bool,
    /// Cores to read.
    pub cores: CoreSelection,
    /// The format that the device writes.
    pub generation: GenerationChoice,
    /// How markers divide id and time, if not as their generation does. 10 to 20 bits of
    /// high time are possible.
    pub header_layout: Option<HeaderLayout>,
    /// True if there will be no further launch. Runs that wait in L1 for the next launch are
    /// then read from there and marked as taken.
    pub last_read: bool,
    /// True if nothing is written to the chips. They are not told what was read: their lanes fill
    /// up, and another reader finds the same words.
    pub read_only: bool,
    /// Form of the program ids that launches carried: plain or encoded.
    pub host_ids: HostIdForm,
    /// Kinds of records that the device was built to capture.
    pub mode: CaptureMode,
    /// Names for the zones of the readout.
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
    /// Refuses options under which nothing can be read.
    pub(super) fn check(&self) -> Result<(), ReadError> {
        match self.header_layout {
            Some(layout) if !TIME_HIGH_BITS.contains(&layout.time_high_bits) => {
                Err(ReadError::HeaderLayout { time_high_bits: layout.time_high_bits })
            }
            _ => Ok(()),
        }
    }
}

/// Ids of up to 18 bits, times of up to 52.
const TIME_HIGH_BITS: std::ops::RangeInclusive<u32> = 10..=20;

/// Why nothing at all could be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The mesh has no chips, or no core was chosen.
    #[error("there is no core to read: the mesh is empty or no core was chosen")]
    NothingToRead,
    /// No core of any chip answered.
    #[error("no core could be read; the first failure was: {first}")]
    NoCoreReadable {
        /// The first of the failures.
        first: AccessError,
    },
    /// No layout exists for a chip and the support count in the options.
    #[error("chip {chip_id}: {source}")]
    Geometry {
        /// The chip.
        chip_id: u32,
        /// The error in the layout.
        source: GeometryError,
    },
    /// The control vectors fit no known generation.
    #[error(
        "chip {chip_id}: no core's control vector is that of a profiler; expected flat id, cores \
         per bank and DRAM address to be {expected}, found {as_current} where the 64-word vector \
         has them and {as_legacy} where the 32-word vector has them; was the profiler initialised, \
         and with this set of cores and banks?"
    )]
    UnknownGeneration {
        /// The chip.
        chip_id: u32,
        /// The values that the chip's description demands.
        expected: String,
        /// The values at the current indices of the first core.
        as_current: String,
        /// The values at the legacy indices of the first core.
        as_legacy: String,
    },
    /// The header layout in the options leaves too few bits for the id or the time.
    #[error("{time_high_bits} bits of high time were asked for; expected 10 to 20")]
    HeaderLayout {
        /// The requested bits.
        time_high_bits: u32,
    },
}
