//! Markers: two words that hold an event and its time.
//!
//! ```text
//! header  31   30 .. 28      27 .. 12    11 .. 0
//!        +---+-------------+-----------+--------------+
//!        | 1 | packet type | zone id   | time 43 .. 32|
//!        +---+-------------+-----------+--------------+
//! low     31 ............................... 0
//!        +-------------------------------------+
//!        | time 31 .. 0 (a total's cycles)     |
//!        +-------------------------------------+
//! ```
//!
//! [`HeaderLayout`] describes the split between id and time, because an announced successor of the
//! format has 18-bit ids. Payload words follow their marker and hold raw data, in which bit 31 may
//! be 0 or 1. The packet type determines the number of payload words. A reader must skip this
//! number of words without testing their bit 31.

use crate::{Cycles, PacketKind, PacketType, ZoneId, cycles::TIMESTAMP_BITS};

/// Size of a marker without payload, in words.
pub const MARKER_WORDS: usize = 2;

/// The header of an empty marker: a guaranteed slot not yet used, or padding.
///
/// # Compatibility
/// TT-Metal's reader ignores a pair whose header is this word, whatever the low word is.
pub const EMPTY_HEADER: u32 = 0x8000_0000;

/// Division of a header word into id and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeaderLayout {
    /// Number of the header's low bits that hold the high part of the time.
    pub time_high_bits: u32,
}

impl HeaderLayout {
    /// Layout that every released producer writes: 16 bits of id and 12 bits of the time's high
    /// part.
    pub const ID16_TIME12: Self = Self { time_high_bits: 12 };
    /// Layout that is proposed for TT-Metal but not released: 18 bits of id and 10 bits of the
    /// time's high part.
    pub const ID18_TIME10: Self = Self { time_high_bits: 10 };

    /// Returns the number of bits of a whole time stamp.
    #[must_use]
    pub const fn timestamp_bits(self) -> u32 {
        32 + self.time_high_bits
    }

    /// Returns the id in a header, up to 18 bits wide.
    #[must_use]
    pub const fn id(self, header: u32) -> u32 {
        (header & 0x0FFF_FFFF) >> self.time_high_bits
    }

    /// Returns the high part of the time in a header.
    #[must_use]
    pub const fn time_high(self, header: u32) -> u32 {
        header & ((1 << self.time_high_bits) - 1)
    }

    /// Returns the time of a marker.
    #[must_use]
    pub const fn time(self, header: u32, low: u32) -> Cycles {
        Cycles::from_words(self.time_high(header), low)
    }
}

const _: () = assert!(HeaderLayout::ID16_TIME12.timestamp_bits() == TIMESTAMP_BITS);

/// The first word of a marker in the current layout.
///
/// ```
/// use wire::{Cycles, Header, PacketKind, ZoneId};
/// let header = Header::new(PacketKind::ZoneStart, ZoneId(0xFC0D), Cycles(0x1_0000_1000));
/// assert_eq!(header.0, 0x8FC0_D001);
/// assert_eq!(header.kind(), Some(PacketKind::ZoneStart));
/// assert_eq!(header.id(), ZoneId(0xFC0D));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header(pub u32);

impl Header {
    /// Builds the header of a marker.
    #[must_use]
    pub const fn new(kind: PacketKind, id: ZoneId, time: Cycles) -> Self {
        Self(Self::prefix(kind, id) | (time.high_word() & TIME_HIGH_MASK))
    }

    /// Returns the header without its time: a constant that a probe combines with the clock.
    ///
    /// The low twelve bits are zero, so one `lui` instruction loads the value.
    #[must_use]
    pub const fn prefix(kind: PacketKind, id: ZoneId) -> u32 {
        VALID_BIT | ((kind as u32) << TYPE_SHIFT) | ((id.0 as u32) << ID_SHIFT)
    }

    /// Returns true if bit 31 is set: the word begins a marker.
    #[must_use]
    pub const fn is_marker(self) -> bool {
        self.0 & VALID_BIT != 0
    }

    /// Returns true for the header of an unused slot or of padding.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == EMPTY_HEADER
    }

    /// Returns the packet type, known or not.
    #[must_use]
    pub const fn packet_type(self) -> PacketType {
        PacketType(((self.0 >> TYPE_SHIFT) & 0x7) as u8)
    }

    /// Returns the packet kind; `None` if the type is unknown.
    #[must_use]
    pub const fn kind(self) -> Option<PacketKind> {
        self.packet_type().kind()
    }

    /// Returns the zone or event id.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "sixteen bits")]
    pub const fn id(self) -> ZoneId {
        ZoneId((self.0 >> ID_SHIFT) as u16)
    }

    /// Returns the time of the marker whose second word is `low`.
    #[must_use]
    pub const fn time(self, low: u32) -> Cycles {
        HeaderLayout::ID16_TIME12.time(self.0, low)
    }
}

const VALID_BIT: u32 = 1 << 31;
const TYPE_SHIFT: u32 = 28;
const ID_SHIFT: u32 = HeaderLayout::ID16_TIME12.time_high_bits;

/// Mask for the part of the clock's high word that a header keeps.
pub const TIME_HIGH_MASK: u32 = (1 << ID_SHIFT) - 1;

const _: () = assert!(Header::prefix(PacketKind::ZoneStart, ZoneId(0)) == EMPTY_HEADER);
const _: () = assert!(Header::prefix(PacketKind::TimestampedData16B, ZoneId(0xFFFF)) & 0xFFF == 0);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn the_worked_example_encodes_to_its_words() {
        let clock = |low| Cycles::from_words(1, low);
        for (kind, id, low, word) in [
            (PacketKind::ZoneEnd, 0xFC0D, 0x1700, 0x9FC0_D001),
            (PacketKind::ZoneStart, 0xE427, 0x1100, 0x8E42_7001),
            (PacketKind::TimestampedData, 0x988E, 0x1380, 0xB988_E001),
            (PacketKind::ZoneEnd, 0xB765, 0x1500, 0x9B76_5001),
        ] {
            assert_eq!(Header::new(kind, ZoneId(id), clock(low)).0, word);
        }
    }

    #[test]
    fn prefixes_of_the_fixed_ids_are_upstreams() {
        use PacketKind::{TimestampedData, TimestampedData16B};
        assert_eq!(Header::prefix(TimestampedData, ZoneId::NOC_TRACING), 0xB303_9000);
        assert_eq!(Header::prefix(TimestampedData16B, ZoneId::NOC_TRACING), 0xD303_9000);
        assert_eq!(Header::prefix(TimestampedData, ZoneId::NOC_DEBUGGING), 0xB5BA_0000);
        assert_eq!(Header::prefix(TimestampedData16B, ZoneId::PERF_COUNTER), 0xD238_2000);
    }

    #[test]
    fn the_wide_id_layout_moves_two_bits_from_time_to_id() {
        let layout = HeaderLayout::ID18_TIME10;
        let header = 0x8000_0000 | (0x3_FFFF << 10) | 0x3FF;
        assert_eq!((layout.id(header), layout.time_high(header)), (0x3_FFFF, 0x3FF));
        assert_eq!(layout.timestamp_bits(), 42);
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(kind in 0_usize..6, id: u16, time in 0_u64..(1 << 44)) {
            let kind = PacketKind::ALL[kind];
            let header = Header::new(kind, ZoneId(id), Cycles(time));
            prop_assert_eq!(header.kind(), Some(kind));
            prop_assert_eq!(header.id(), ZoneId(id));
            prop_assert_eq!(header.time(Cycles(time).low_word()), Cycles(time));
        }

        #[test]
        fn encoding_undoes_decoding(word in any::<u32>(), low: u32) {
            let header = Header(word | 0x8000_0000);
            if let Some(kind) = header.kind() {
                prop_assert_eq!(Header::new(kind, header.id(), header.time(low)), header);
            }
        }
    }
}
