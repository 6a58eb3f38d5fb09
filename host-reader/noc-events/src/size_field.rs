//! Width of the field that holds an event's size, which TT-Metal changed.

use crate::kind::{EventKind, Numbering};

/// Width of the size of an event of the tile's own NoC, in units of 32 bytes; the bit behind it
/// says whether a write is posted.
///
/// # Compatibility
/// `event_metadata.hpp` of TT-Metal: 12 bits in 0.81.1, 8 bits in the versions before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SizeField {
    /// Sizes up to 8,160 bytes.
    Bits8,
    /// Sizes up to 131,040 bytes.
    #[default]
    Bits12,
}

/// A field's width, and how sure that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundSizeField {
    /// Width that explains the events.
    pub field: SizeField,
    /// Events that mean something else with the other width. They are taken as posted writes of
    /// older versions, and may be writes of 8 to 16 KiB of newer ones.
    pub undecided_count: u64,
}

impl SizeField {
    /// Greatest size, in units of 32 bytes, which stands for more, too.
    #[must_use]
    pub const fn most_chunks(self) -> u16 {
        match self {
            Self::Bits8 => 0xFF,
            Self::Bits12 => 0xFFF,
        }
    }

    /// Size in units of 32 bytes, and whether a write is posted, from an event's upper two bytes.
    pub(crate) const fn split(self, upper: u16) -> (u16, bool) {
        match self {
            Self::Bits8 => (upper & 0xFF, upper >> 8 & 1 != 0),
            Self::Bits12 => (upper & 0xFFF, upper >> 12 & 1 != 0),
        }
    }

    /// Finds the width that explains these events.
    ///
    /// Older versions used the lowest bit of the upper byte alone. Any other bit there is the
    /// size or the posted bit of a newer version.
    ///
    /// ```
    /// use noc_events::{Numbering, SizeField};
    /// let write = |upper: u64| upper << 48 | 0x11 << 40 | 11;
    /// let found = |uppers: &[u64]| {
    ///     SizeField::of_events(uppers.iter().map(|upper| write(*upper)), Numbering::Newer)
    /// };
    /// assert_eq!(found(&[0x0008]).field, SizeField::Bits12);
    /// assert_eq!(found(&[0x0108, 0x1008]).field, SizeField::Bits12);
    /// assert_eq!((found(&[0x0108]).field, found(&[0x0108]).undecided_count), (SizeField::Bits8, 1));
    /// ```
    #[must_use]
    pub fn of_events(
        events: impl IntoIterator<Item = u64>,
        numbering: Numbering,
    ) -> FoundSizeField {
        let mut undecided_count = 0_u64;
        for bits in events {
            let [number, .., upper] = bits.to_le_bytes();
            let kind = EventKind::from_number(number, numbering);
            if kind.is_none_or(|kind| !kind.is_local()) {
                continue;
            }
            match upper {
                0 => {}
                1 => undecided_count = undecided_count.saturating_add(1),
                _ => return FoundSizeField { field: Self::Bits12, undecided_count: 0 },
            }
        }
        let field = if undecided_count == 0 { Self::Bits12 } else { Self::Bits8 };
        FoundSizeField { field, undecided_count }
    }
}
