//! Width of an event's size field, which differs between versions of TT-Metal.

use crate::noc_events::kind::{EventKind, Numbering};

/// Width of the size field of an event of the tile's own NoC, in units of 32 bytes. The next bit is
/// set if a write is posted.
///
/// # Compatibility
/// `event_metadata.hpp` of TT-Metal: 12 bits in 0.81.1, 8 bits in earlier versions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SizeField {
    /// Sizes up to 8,160 bytes.
    Bits8,
    /// Sizes up to 131,040 bytes.
    #[default]
    Bits12,
}

/// Detected width of the size field, and its certainty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundSizeField {
    /// Width that explains the events.
    pub field: SizeField,
    /// Number of events with another meaning in the other width. They are taken as posted writes of
    /// older versions, and may be writes of 8 to 16 KiB of newer versions.
    pub undecided_count: u64,
}

impl SizeField {
    /// Returns the maximum size in units of 32 bytes, which may mean a larger size.
    #[must_use]
    pub const fn most_chunks(self) -> u16 {
        match self {
            Self::Bits8 => 0xFF,
            Self::Bits12 => 0xFFF,
        }
    }

    /// Splits an event's upper two bytes into the size in units of 32 bytes and true for a posted
    /// write.
    pub(crate) const fn split(self, upper: u16) -> (u16, bool) {
        match self {
            Self::Bits8 => (upper & 0xFF, upper >> 8 & 1 != 0),
            Self::Bits12 => (upper & 0xFFF, upper >> 12 & 1 != 0),
        }
    }

    /// Finds the width that explains these events.
    ///
    /// In the upper byte, older versions only used the lowest bit, for posted writes. Any other bit
    /// there is part of the size or the posted bit of a newer version. So is the lowest bit in two
    /// cases: in a read, which is never posted, and in a plain write whose other size bits are 0,
    /// which means 8 KiB.
    ///
    /// ```
    /// use analysis::noc_events::{Numbering, SizeField};
    /// let write = |upper: u64| upper << 48 | 0x11 << 40 | 11;
    /// let found = |uppers: &[u64]| {
    ///     SizeField::from_events(uppers.iter().map(|upper| write(*upper)), Numbering::Newer)
    /// };
    /// assert_eq!(found(&[0x0008]).field, SizeField::Bits12);
    /// assert_eq!(found(&[0x0108, 0x1008]).field, SizeField::Bits12);
    /// assert_eq!(found(&[0x0108, 0x0100]).field, SizeField::Bits12);
    /// assert_eq!((found(&[0x0108]).field, found(&[0x0108]).undecided_count), (SizeField::Bits8, 1));
    /// ```
    #[must_use]
    pub fn from_events(
        events: impl IntoIterator<Item = u64>,
        numbering: Numbering,
    ) -> FoundSizeField {
        let mut evidence = SizeEvidence::default();
        events.into_iter().for_each(|bits| evidence.add(bits, numbering));
        evidence.found()
    }
}

/// What events tell of the width.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SizeEvidence {
    /// True if an event is of the wide field for sure.
    is_wide: bool,
    undecided_count: u64,
}

impl SizeEvidence {
    /// Adds an event.
    pub(super) fn add(&mut self, bits: u64, numbering: Numbering) {
        let [number, .., size, upper] = bits.to_le_bytes();
        if upper == 0 {
            return;
        }
        let kind = EventKind::from_number(number, numbering).filter(|kind| kind.is_local());
        let Some(kind) = kind else { return };
        let is_wide = upper > 1 || is_never_posted(kind, size);
        self.append(Self { is_wide, undecided_count: u64::from(!is_wide) });
    }

    /// Adds other events.
    pub(super) const fn append(&mut self, other: Self) {
        self.is_wide |= other.is_wide;
        self.undecided_count = self.undecided_count.saturating_add(other.undecided_count);
    }

    /// The width that explains the events.
    pub(super) const fn found(self) -> FoundSizeField {
        match self {
            Self { is_wide: false, undecided_count: undecided_count @ 1.. } => {
                FoundSizeField { field: SizeField::Bits8, undecided_count }
            }
            _ => FoundSizeField { field: SizeField::Bits12, undecided_count: 0 },
        }
    }
}

/// Returns true if no version records a posted event of this kind with this size in 8 bits: a read,
/// or a write of 0 bytes.
const fn is_never_posted(kind: EventKind, chunk_count: u8) -> bool {
    kind.is_read()
        || chunk_count == 0 && matches!(kind, EventKind::Write | EventKind::WriteMulticast)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(kind: EventKind, chunk_count: u16, is_posted_by_8_bits: bool) -> u64 {
        let number = (1..=u8::MAX)
            .find(|&number| EventKind::from_number(number, Numbering::Newer) == Some(kind));
        let upper = chunk_count | u16::from(is_posted_by_8_bits) << 8;
        u64::from(upper) << 48 | u64::from(number.unwrap())
    }

    fn found(words: &[u64]) -> (SizeField, u64) {
        let found = SizeField::from_events(words.iter().copied(), Numbering::Newer);
        (found.field, found.undecided_count)
    }

    #[test]
    fn what_is_never_posted_is_large() {
        use EventKind::{Read, SemaphoreInc, Write, WriteFlush, WriteMulticast};
        let posted_write = word(Write, 3, true);
        for (kind, chunk_count) in [(Read, 0), (Read, 3), (Write, 0), (WriteMulticast, 0)] {
            let decisive = word(kind, chunk_count, true);
            assert_eq!(found(&[posted_write, decisive]), (SizeField::Bits12, 0), "{kind:?}");
        }
        // Events without bytes that may be posted, and reads that are not posted, decide nothing.
        for undecisive in [word(WriteFlush, 0, true), word(SemaphoreInc, 0, true)] {
            assert_eq!(found(&[posted_write, undecisive]), (SizeField::Bits8, 2));
        }
        assert_eq!(found(&[posted_write, word(Read, 255, false)]), (SizeField::Bits8, 1));
    }
}
