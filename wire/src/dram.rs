//! Layout of the markers of one chip in DRAM.
//!
//! The sizes depend on the program support count: the number of programs whose markers a lane must
//! hold. A lane is the part of DRAM that belongs to one RISC.
//!
//! A chip's cores are numbered (flat id) and assigned to DRAM banks in blocks. A core owns one lane
//! per RISC in its bank:
//!
//! ```text
//! bank b:  | core b*C+0                    | core b*C+1 | ...        C = cores per bank
//!          | RISC 0 | RISC 1 | ... | RISC 4| RISC 0 ...
//!          |<------>| lane
//! ```
//!
//! # Compatibility
//! `profiler_state_manager.cpp` (sizes) and `kernel_profiler.hpp` (addresses).

use crate::{risc::RISCS_PER_CORE, vector};

/// Default of the program support count: the number of programs whose markers a lane must hold.
pub const DEFAULT_PROGRAM_SUPPORT_COUNT: u32 = 1000;

/// Maximum number of sum zones (zones recorded only as a total time) per RISC and launch.
pub const SUM_COUNT: usize = 2;

/// Returns the bytes of DRAM that a program without optional markers takes per RISC.
///
/// ```
/// use wire::dram::bytes_per_program;
/// assert_eq!(bytes_per_program(false), 48);
/// assert_eq!(bytes_per_program(true), 64);
/// ```
#[must_use]
pub const fn bytes_per_program(sums_enabled: bool) -> u32 {
    let sums = if sums_enabled { SUMS } else { 0 };
    RUN_BYTES + sums * MARKER_BYTES
}

/// Returns the program support count that TT-Metal uses for a requested `count`.
///
/// A lane must hold at least one full L1 vector, so small counts are raised.
///
/// ```
/// use wire::dram::effective_support_count;
/// assert_eq!(effective_support_count(10, false), 43);
/// assert_eq!(effective_support_count(43, false), 43);
/// assert_eq!(effective_support_count(1000, false), 1000);
/// ```
#[must_use]
pub const fn effective_support_count(count: u32, sums_enabled: bool) -> u32 {
    let per_program = bytes_per_program(sums_enabled);
    if count <= VECTOR_BYTES / per_program { VECTOR_BYTES.div_ceil(per_program) } else { count }
}

/// Sizes and locations of all lanes of one chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DramGeometry {
    lane_words: u32,
    cores_per_bank: u32,
    bank_count: u32,
}

/// Reason why a geometry cannot be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryError {
    /// The chip has no cores or no DRAM banks.
    NothingToPlace,
    /// A bank would need more bytes than 32 bits can address.
    TooLarge {
        /// The requested program support count.
        program_support_count: u32,
    },
}

impl core::fmt::Display for GeometryError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NothingToPlace => {
                f.write_str("a chip needs at least one core and one DRAM bank to be profiled")
            }
            Self::TooLarge { program_support_count } => write!(
                f,
                "a program support count of {program_support_count} needs more than 4 GiB per DRAM \
                 bank; choose a smaller one and read more often"
            ),
        }
    }
}

impl core::error::Error for GeometryError {}

impl DramGeometry {
    /// Computes the layout for `core_count` cores over `bank_count` banks.
    ///
    /// # Errors
    /// If there are no cores or banks, or a bank would exceed 4 GiB.
    ///
    /// ```
    /// use wire::dram::DramGeometry;
    /// // TT-Metal's default on a Blackhole with 140 worker and 14 Ethernet cores.
    /// let geometry = DramGeometry::new(1000, false, 154, 8)?;
    /// assert_eq!(geometry.lane_bytes(), 48_000);
    /// assert_eq!(geometry.cores_per_bank(), 20);
    /// assert_eq!(geometry.bank_bytes(), 4_800_000);
    /// # Ok::<(), wire::dram::GeometryError>(())
    /// ```
    pub const fn new(
        program_support_count: u32,
        sums_enabled: bool,
        core_count: u32,
        bank_count: u32,
    ) -> Result<Self, GeometryError> {
        if core_count == 0 || bank_count == 0 {
            return Err(GeometryError::NothingToPlace);
        }
        let too_large = Err(GeometryError::TooLarge { program_support_count });
        let count = effective_support_count(program_support_count, sums_enabled);
        let Some(lane_bytes) = count.checked_mul(bytes_per_program(sums_enabled)) else {
            return too_large;
        };
        let cores_per_bank = core_count.div_ceil(bank_count);
        let lanes_per_bank = cores_per_bank as u64 * LANES_PER_CORE as u64;
        if lane_bytes as u64 * lanes_per_bank > u32::MAX as u64 {
            return too_large;
        }
        Ok(Self { lane_words: lane_bytes / 4, cores_per_bank, bank_count })
    }

    /// Returns the size of a RISC's lane in words.
    #[must_use]
    pub const fn lane_words(&self) -> u32 {
        self.lane_words
    }

    /// Returns the size of a RISC's lane in bytes.
    #[must_use]
    pub const fn lane_bytes(&self) -> u32 {
        self.lane_words * 4
    }

    /// Returns the number of cores whose lanes share a bank.
    #[must_use]
    pub const fn cores_per_bank(&self) -> u32 {
        self.cores_per_bank
    }

    /// Returns the number of banks among which the cores are distributed.
    #[must_use]
    pub const fn bank_count(&self) -> u32 {
        self.bank_count
    }

    /// Returns the size of the profiler region of one bank, in bytes.
    #[must_use]
    pub const fn bank_bytes(&self) -> u32 {
        self.lane_bytes() * LANES_PER_CORE * self.cores_per_bank
    }

    /// Returns the bank of a core's lanes and the offset of a RISC's lane in the bank's region.
    #[must_use]
    pub const fn lane(&self, flat_id: u32, risc_index: u32) -> LanePlace {
        let core_in_bank = flat_id % self.cores_per_bank;
        let lane_in_bank = core_in_bank * LANES_PER_CORE + risc_index;
        LanePlace {
            bank: flat_id / self.cores_per_bank,
            offset_bytes: lane_in_bank * self.lane_bytes(),
        }
    }
}

/// Start of a lane in DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LanePlace {
    /// Index of the DRAM bank.
    pub bank: u32,
    /// Offset from the start of the bank's profiler region, in bytes.
    pub offset_bytes: u32,
}

const MARKER_BYTES: u32 = 8;
const RUN_BYTES: u32 = 48;
const VECTOR_BYTES: u32 = 2048;
const SUMS: u32 = 2;
const LANES_PER_CORE: u32 = 5;

const _: () = assert!(RUN_BYTES as usize == vector::FIRST_OPTIONAL * 4);
const _: () = assert!(VECTOR_BYTES as usize == vector::VECTOR_BYTES);
const _: () = assert!(SUMS as usize == SUM_COUNT && LANES_PER_CORE as usize == RISCS_PER_CORE);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert, proptest};

    #[test]
    fn small_counts_are_raised_as_upstream_raises_them() {
        for (asked, with_sums, used) in
            [(1, false, 43), (42, false, 43), (44, false, 44), (32, true, 32), (33, true, 33)]
        {
            assert_eq!(effective_support_count(asked, with_sums), used, "{asked}");
        }
    }

    #[test]
    fn wormhole_default_fits_the_size_that_upstream_reports() {
        let geometry = DramGeometry::new(1000, false, 96, 12).unwrap();
        assert_eq!(geometry.bank_bytes(), 1_920_000);
    }

    #[test]
    fn the_worked_example_lands_at_its_offset() {
        let geometry = DramGeometry::new(1000, false, 154, 8).unwrap();
        assert_eq!(geometry.lane(7, 0), LanePlace { bank: 0, offset_bytes: 1_680_000 });
        assert_eq!(geometry.lane(21, 2), LanePlace { bank: 1, offset_bytes: 7 * 48_000 });
    }

    #[test]
    fn counts_that_no_bank_can_hold_are_refused() {
        let error = DramGeometry::new(u32::MAX, true, 80, 12).unwrap_err();
        assert_eq!(error, GeometryError::TooLarge { program_support_count: u32::MAX });
        assert_eq!(DramGeometry::new(1, false, 0, 8), Err(GeometryError::NothingToPlace));
        assert_eq!(DramGeometry::new(1, false, 8, 0), Err(GeometryError::NothingToPlace));
    }

    proptest! {
        #[test]
        fn lanes_never_overlap_and_stay_in_their_bank(
            count in 0_u32..20_000, sums: bool, cores in 1_u32..256, banks in 1_u32..16,
        ) {
            let geometry = DramGeometry::new(count, sums, cores, banks).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for flat_id in 0..cores {
                for risc in 0..5 {
                    let place = geometry.lane(flat_id, risc);
                    prop_assert!(place.bank < banks);
                    prop_assert!(place.offset_bytes + geometry.lane_bytes() <= geometry.bank_bytes());
                    prop_assert!(place.offset_bytes.is_multiple_of(geometry.lane_bytes()));
                    prop_assert!(seen.insert(place));
                }
            }
        }
    }

    extern crate std;
}
