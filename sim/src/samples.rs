//! Sampled program counters: what a tile writes about one of its RISCs every few cycles, without an
//! instruction of any RISC.
//!
//! With [`Board::sample`](crate::board::Board::sample), the host side of the simulator uses the debug
//! daisychain of the worker tiles as a host does: it writes the tile's registers when a launch begins,
//! reads the samples from L1 when they are complete, and begins again with another RISC. The chip only
//! has the documented daisychain; [`limits`](SamplingPlan) are those of the hardware.

use crate::{arch::TileCoord, lines::LoadedCode, riscv::is_code};
use std::collections::BTreeMap;
use wire::Risc;

/// How a host samples a tile.
///
/// ```
/// use sim::samples::SamplingPlan;
/// assert!(SamplingPlan::new(256, 0x8000..0x8400).is_ok());
/// let error = SamplingPlan::new(257, 0x8000..0x8400).unwrap_err();
/// assert_eq!(error, "expected 2 to 256 cycles from one sample to the next, found 257");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SamplingPlan {
    pub(crate) interval_cycles: u32,
    /// Address of the first sample.
    pub(crate) first: u32,
    /// Number of samples of a series.
    pub(crate) count: u32,
}

/// Number of bytes of a sample.
pub(crate) const SAMPLE_BYTES: u32 = 16;
/// Samples can only be written below this address.
const LIMIT_BYTES: u32 = 1 << 20;

impl SamplingPlan {
    /// Creates a plan: a sample every `interval_cycles` cycles, in a range of L1 that nothing else
    /// uses.
    ///
    /// # Errors
    /// If the hardware cannot do it; the error is a sentence.
    pub fn new(interval_cycles: u32, buffer: std::ops::Range<u32>) -> Result<Self, String> {
        if !(2..=256).contains(&interval_cycles) {
            return Err(format!(
                "expected 2 to 256 cycles from one sample to the next, found {interval_cycles}"
            ));
        }
        let first = buffer.start.next_multiple_of(SAMPLE_BYTES);
        let count = buffer.end.min(LIMIT_BYTES).saturating_sub(first) / SAMPLE_BYTES;
        if count == 0 {
            return Err(format!(
                "expected room for samples of {SAMPLE_BYTES} bytes in the first MiB of L1, found \
                 {:#x} to {:#x}",
                buffer.start, buffer.end
            ));
        }
        Ok(Self { interval_cycles, first, count })
    }
}

/// Returns the shortest interval of a series, if `longest` is the longest one. Each series has an
/// interval of its own between these.
///
/// ```
/// use sim::samples::shortest_interval_cycles;
/// assert_eq!([256, 16, 8, 2].map(shortest_interval_cycles), [224, 14, 7, 2]);
/// ```
#[must_use]
pub const fn shortest_interval_cycles(longest: u32) -> u32 {
    match longest {
        0..=2 => longest,
        3..8 => longest - 1,
        _ => longest - longest / 8,
    }
}

/// One sample of a RISC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sample {
    /// Address of the instruction in the decode stage; of some recent one if there is none.
    pub address: u32,
    /// What the instruction does.
    pub state: SampleState,
}

/// What the instruction in the decode stage of a RISC does in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SampleState {
    /// It enters the integer unit.
    Enters,
    /// It waits for its operands, or for the integer unit.
    Waits,
    /// There is none: the RISC fetches.
    Empty,
}

impl Sample {
    /// Reads 128 bits of group B; `None` if they are none of the group's values. What reserved bits are
    /// is not documented, and they are ignored.
    pub(crate) fn from_group_b([_, pc, _, flags]: [u32; 4]) -> Option<Self> {
        let (can_enter, is_decoded) = (pc >> 31 != 0, flags >> 7 & 1 != 0);
        let state = match (is_decoded, can_enter) {
            (true, true) => SampleState::Enters,
            (true, false) => SampleState::Waits,
            (false, false) => SampleState::Empty,
            (false, true) => return None,
        };
        let low = pc & 0x3FFF_FFFF;
        // The upper two bits are not shown. Code is in L1 or in instruction RAM.
        let address = if low >= 0x2000_0000 { low | 0xC000_0000 } else { low };
        (is_code(address) && address.is_multiple_of(4)).then_some(Self { address, state })
    }
}

/// Samples of one RISC, from launches of one program on one core.
#[derive(Clone, Debug)]
pub struct RiscSamples {
    /// Number of the chip.
    pub chip_id: u32,
    /// The core.
    pub core: TileCoord,
    /// The RISC.
    pub risc: Risc,
    /// The program's id.
    pub program_id: u32,
    /// Name of the program.
    pub program: String,
    /// Numbers of the sampled launches of the program on this core.
    pub launches: Vec<u64>,
    /// Code that the RISC may have executed.
    pub code: Vec<LoadedCode>,
    /// Consecutive samples of each series.
    pub series: Vec<Vec<Sample>>,
    /// The instructions at the sampled addresses, up to eight before and one behind each, and those to
    /// which branches and jumps among them lead.
    pub words: BTreeMap<u32, u32>,
}

/// What became of the attempts to sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingCounts {
    /// Series that were begun.
    pub series: u64,
    /// Series that had not ended when their launch ended; their samples are used.
    pub unfinished_series: u64,
    /// Launches on a core whose daisychain something else used; they were not sampled.
    pub busy_launches: u64,
    /// Samples that are none of the signal's values: something else has written to their memory.
    pub damaged_samples: u64,
}

impl SamplingCounts {
    /// Adds the counts of another core or chip.
    pub fn add(&mut self, other: &Self) {
        self.series += other.series;
        self.unfinished_series += other.unfinished_series;
        self.busy_launches += other.busy_launches;
        self.damaged_samples += other.damaged_samples;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_damaged_unless_it_has_a_state_and_an_address_of_code() {
        let read = |pc: u32, is_decoded: u32| Sample::from_group_b([0, pc, 0, is_decoded << 7]);
        let found = |address: u32, state: SampleState| Some(Sample { address, state });
        assert_eq!(read(0x1000, 1), found(0x1000, SampleState::Waits));
        assert_eq!(read(0x8000_1000, 1), found(0x1000, SampleState::Enters));
        assert_eq!(read(0x3FC0_0000, 0), found(0xFFC0_0000, SampleState::Empty));
        assert_eq!(read(0x8000_1000, 0), None, "nothing enters if nothing is decoded");
        // Neither L1 nor NCRISC's instruction RAM; no address of an instruction.
        for pc in [0x20_0000, 0x1FFF_FFFC, 0x3FB0_0000, 0x3FFF_FFFC, 0x1002] {
            assert_eq!(read(pc, 1), None, "{pc:#x}");
        }
    }
}
