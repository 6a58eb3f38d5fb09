//! Width of an event's size field, which differs between versions of TT-Metal.

use crate::noc_events::{payload::LocalEvent, version::PayloadVersion};
use wire::noc_event::NocEventKind;

/// Width of the size field of a local event. The size is in units of 32 bytes. The bit above the
/// field is set for posted writes.
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

impl SizeField {
    /// Returns the maximum size in units of 32 bytes. An event of this size may have moved more
    /// bytes.
    #[must_use]
    pub const fn most_chunks(self) -> u16 {
        match self {
            Self::Bits8 => 0xFF,
            Self::Bits12 => 0xFFF,
        }
    }

    /// Returns the maximum size in bytes.
    pub(crate) const fn most_bytes(self) -> u64 {
        (self.most_chunks() as u64).saturating_mul(LocalEvent::CHUNK_BYTES as u64)
    }

    /// Splits an event's upper two bytes into the size in units of 32 bytes and the flag for a
    /// posted write.
    pub(crate) const fn split(self, upper: u16) -> (u16, bool) {
        match self {
            Self::Bits8 => (upper & 0xFF, upper >> 8 & 1 != 0),
            Self::Bits12 => (upper & 0xFFF, upper >> 12 & 1 != 0),
        }
    }
}

/// Properties of events that show the width of their size field, in the versions
/// [`PayloadVersion::Byte0`] and [`PayloadVersion::Byte0Remote`].
///
/// Before TT-Metal 0.81.1, only the lowest bit of the upper byte was used, as the flag for posted
/// writes. If any higher bit is set, the event is from version 0.81.1 or later. If only the lowest
/// bit is set, the event is from such a version in two cases: the event is a read, because reads
/// are never posted; or it is a plain write with a low size byte of 0, because a write of 0 bytes
/// was never posted.
#[derive(Clone, Copy, Debug, Default)]
pub struct SizeEvidence {
    /// True if at least one event can only have been recorded with the 12-bit field.
    is_wide: bool,
    undecided_count: u64,
}

impl SizeEvidence {
    /// Adds the evidence of one event.
    pub fn add(&mut self, bits: u64, version: PayloadVersion) {
        let [number, .., size, upper] = bits.to_le_bytes();
        if upper == 0 {
            return;
        }
        let kind = version.kind(number).filter(|kind| kind.is_local());
        let Some(kind) = kind else { return };
        let is_wide = upper > 1 || is_never_posted(kind, size);
        self.append(Self { is_wide, undecided_count: u64::from(!is_wide) });
    }

    /// Adds the evidence of other events.
    pub(super) const fn append(&mut self, other: Self) {
        self.is_wide |= other.is_wide;
        self.undecided_count = self.undecided_count.saturating_add(other.undecided_count);
    }

    /// Returns the width that fits the events, and the number of events that the other width would
    /// decode differently.
    ///
    /// The counted events are decoded as posted writes recorded before TT-Metal 0.81.1. If they
    /// were recorded by a later version, they are writes of 8 to 16 KiB.
    #[must_use]
    pub const fn found(self) -> (SizeField, u64) {
        match self {
            Self { is_wide: false, undecided_count: 1.. } => {
                (SizeField::Bits8, self.undecided_count)
            }
            _ => (SizeField::Bits12, 0),
        }
    }
}

/// Returns true if an event of this kind and 8-bit size is never a posted write in any version.
/// These are reads, and plain writes of 0 bytes.
const fn is_never_posted(kind: NocEventKind, chunk_count: u8) -> bool {
    kind.is_read()
        || chunk_count == 0 && matches!(kind, NocEventKind::Write | NocEventKind::WriteMulticast)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(kind: NocEventKind, chunk_count: u16, is_posted_by_8_bits: bool) -> u64 {
        let number =
            (1..=u8::MAX).find(|&number| PayloadVersion::Byte0Remote.kind(number) == Some(kind));
        let upper = chunk_count | u16::from(is_posted_by_8_bits) << 8;
        u64::from(upper) << 48 | u64::from(number.unwrap())
    }

    fn found(words: &[u64]) -> (SizeField, u64) {
        let mut evidence = SizeEvidence::default();
        words.iter().for_each(|&bits| evidence.add(bits, PayloadVersion::Byte0Remote));
        evidence.found()
    }

    #[test]
    fn sizes_above_8_bits_and_empty_posted_writes_prove_the_wide_field() {
        let found_in = |uppers: &[u64]| {
            let words: Vec<_> = uppers.iter().map(|upper| upper << 48 | 0x11 << 40 | 11).collect();
            found(&words)
        };
        for uppers in [&[0x0008][..], &[0x0108, 0x1008], &[0x0108, 0x0100]] {
            assert_eq!(found_in(uppers), (SizeField::Bits12, 0));
        }
        assert_eq!(found_in(&[0x0108]), (SizeField::Bits8, 1));
    }

    #[test]
    fn what_is_never_posted_is_large() {
        use NocEventKind::{Read, SemaphoreInc, Write, WriteFlush, WriteMulticast};
        let posted_write = word(Write, 3, true);
        for (kind, chunk_count) in [(Read, 0), (Read, 3), (Write, 0), (WriteMulticast, 0)] {
            let decisive = word(kind, chunk_count, true);
            assert_eq!(found(&[posted_write, decisive]), (SizeField::Bits12, 0), "{kind:?}");
        }
        // These events decide nothing: events without bytes that may be posted, and reads that are
        // not posted.
        for undecisive in [word(WriteFlush, 0, true), word(SemaphoreInc, 0, true)] {
            assert_eq!(found(&[posted_write, undecisive]), (SizeField::Bits8, 2));
        }
        assert_eq!(found(&[posted_write, word(Read, 255, false)]), (SizeField::Bits8, 1));
    }
}
