//! Run host ids: the program numbers in reports.

/// Program id of a run, as reports show it.
///
/// ```text
///  31        30 .. 10      9 .. 0
/// +---------+-------------+------+
/// | on host | base id     | chip |
/// +---------+-------------+------+
/// ```
///
/// # Compatibility
/// `tt_metal_profiler.cpp`. The device records the base id, which is the program's number without
/// the chip; the reader adds the chip. Until the end of 2025, the device recorded both, because the
/// dispatcher sent it the encoded form.
///
/// ```
/// use wire::RunHostId;
/// let id = RunHostId::encode(3, 1);
/// assert_eq!(id, RunHostId(3 << 10 | 1));
/// assert_eq!((id.base(), id.chip()), (3, 1));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunHostId(pub u32);

impl RunHostId {
    /// The largest base id that the encoded form can carry.
    pub const BASE_MAX: u32 = (1 << 21) - 1;

    /// Encodes a base id and a chip id. Base 0 means "no program" and stays 0.
    #[must_use]
    pub const fn encode(base: u32, chip: u32) -> Self {
        if base == 0 {
            return Self(0);
        }
        Self(((base & Self::BASE_MAX) << CHIP_BITS) | (chip & CHIP_MASK))
    }

    /// Returns the program id without the chip, or the whole id if it is too small to hold both, as
    /// in logs of before 2024 and in NoC traces.
    ///
    /// ```
    /// use wire::RunHostId;
    /// assert_eq!(RunHostId::encode(3, 1).base(), 3);
    /// assert_eq!(RunHostId(2).base(), 2);
    /// ```
    #[must_use]
    pub const fn base(self) -> u32 {
        match self.0 >> CHIP_BITS {
            0 => self.0,
            base => base & Self::BASE_MAX,
        }
    }

    /// Returns the chip id.
    #[must_use]
    pub const fn chip(self) -> u32 {
        self.0 & CHIP_MASK
    }
}

impl core::fmt::Display for RunHostId {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Display::fmt(&self.0, f)
    }
}

const CHIP_BITS: u32 = 10;
const CHIP_MASK: u32 = (1 << CHIP_BITS) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert_eq, proptest};

    #[test]
    fn no_program_stays_zero_on_every_chip() {
        assert_eq!(RunHostId::encode(0, 7), RunHostId(0));
    }

    proptest! {
        #[test]
        fn base_and_chip_survive_encoding(base in 1..=RunHostId::BASE_MAX, chip in 0_u32..1024) {
            let id = RunHostId::encode(base, chip);
            prop_assert_eq!((id.base(), id.chip()), (base, chip));
            prop_assert_eq!(id.0 >> 31, 0);
        }
    }
}
