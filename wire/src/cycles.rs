//! Time stamps: 44 bits of a 64-bit wall clock.
//!
//! This module does not convert cycles to seconds, which requires a frequency.

/// Number of time bits in a marker, in the current generation of the format.
///
/// # Compatibility
/// `kernel_profiler.hpp`: 12 bits of the high word, all 32 of the low word.
pub const TIMESTAMP_BITS: u32 = 44;

/// A count of clock cycles since the tile was reset.
///
/// ```
/// use wire::Cycles;
/// let t = Cycles::from_words(0x1, 0x1000);
/// assert_eq!(t, Cycles(0x1_0000_1000));
/// assert_eq!((t.high_word(), t.low_word()), (0x1, 0x1000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycles(pub u64);

impl Cycles {
    /// Joins the high and the low word of a clock reading or of a marker's time.
    #[must_use]
    pub const fn from_words(high: u32, low: u32) -> Self {
        Self(((high as u64) << 32) | low as u64)
    }

    /// Returns bits 32 to 63.
    #[must_use]
    pub const fn high_word(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns bits 0 to 31.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
    pub const fn low_word(self) -> u32 {
        self.0 as u32
    }

    /// Returns the lowest `bits` bits: the part of the time that a marker with `bits` time bits
    /// keeps.
    ///
    /// ```
    /// use wire::Cycles;
    /// assert_eq!(Cycles(0x1234_5678_9ABC_DEF0).truncated(44), Cycles(0x678_9ABC_DEF0));
    /// ```
    #[must_use]
    pub const fn truncated(self, bits: u32) -> Self {
        if bits >= 64 { self } else { Self(self.0 & ((1 << bits) - 1)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_split_and_join_without_loss() {
        let t = Cycles(0xFEDC_BA98_7654_3210);
        assert_eq!(Cycles::from_words(t.high_word(), t.low_word()), t);
    }

    #[test]
    fn a_clock_of_64_bits_is_kept_whole() {
        assert_eq!(Cycles(u64::MAX).truncated(64), Cycles(u64::MAX));
    }
}
