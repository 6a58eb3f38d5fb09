//! Packet types: what a marker means and how many words it takes.

/// The three-bit packet type of a marker, known or not.
///
/// ```
/// use wire::{PacketKind, PacketType};
/// assert_eq!(PacketType(3).kind(), Some(PacketKind::TimestampedData));
/// assert_eq!(PacketType(6).kind(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketType(pub u8);

impl PacketType {
    /// Returns the packet kind of this type; `None` if no known producer writes this type.
    #[must_use]
    pub const fn kind(self) -> Option<PacketKind> {
        match self.0 {
            0..=5 => Some(PacketKind::numbered(self.0 as u64)),
            _ => None,
        }
    }
}

crate::labelled! {
    /// The packet types that TT-Metal's producers write, in the order of their numbers. Labels are
    /// the names in the `type` column of a device log.
    ///
    /// Data of 64 bits and data of 128 bits have the same label: a log line holds at most 64 bits,
    /// so a log omits the second half of the longer data.
    ///
    /// # Compatibility
    /// `profiler_common.h`, enum of packet types.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum PacketKind {
        /// Start of a zone.
        ZoneStart = "ZONE_START",
        /// End of a zone.
        ZoneEnd = "ZONE_END",
        /// Total cycles of a sum zone in one launch; this record carries no time.
        ZoneTotal = "ZONE_TOTAL",
        /// A time stamp with 64 bits of data.
        TimestampedData = "TS_DATA",
        /// A time stamp whose id identifies an event.
        TimestampedEvent = "TS_EVENT",
        /// A time stamp with 128 bits of data.
        TimestampedData16B = "TS_DATA",
    }
}

impl PacketKind {
    /// Returns the kind with this number, or the last kind if no kind has the number.
    ///
    /// ```
    /// assert_eq!(wire::PacketKind::numbered(4), wire::PacketKind::TimestampedEvent);
    /// ```
    #[must_use]
    #[inline]
    pub const fn numbered(number: u64) -> Self {
        match number {
            0 => Self::ZoneStart,
            1 => Self::ZoneEnd,
            2 => Self::ZoneTotal,
            3 => Self::TimestampedData,
            4 => Self::TimestampedEvent,
            _ => Self::TimestampedData16B,
        }
    }

    /// Returns the number in a marker's header.
    #[must_use]
    pub const fn packet_type(self) -> PacketType {
        PacketType(self as u8)
    }

    /// Returns the number of payload words after the marker's two words. In each 64-bit value, the
    /// high word comes first.
    #[must_use]
    pub const fn payload_words(self) -> usize {
        match self {
            Self::ZoneStart | Self::ZoneEnd | Self::ZoneTotal | Self::TimestampedEvent => 0,
            Self::TimestampedData => 2,
            Self::TimestampedData16B => 4,
        }
    }

    /// Returns the size of the whole record in words.
    #[must_use]
    pub const fn record_words(self) -> usize {
        crate::marker::MARKER_WORDS + self.payload_words()
    }

    /// Returns the kind that a device log calls `label`.
    ///
    /// ```
    /// use wire::PacketKind;
    /// assert_eq!(PacketKind::from_label("ZONE_TOTAL"), Some(PacketKind::ZoneTotal));
    /// assert_eq!(PacketKind::from_label("TS_DATA_16B"), Some(PacketKind::TimestampedData16B));
    /// assert_eq!(PacketKind::from_label("begin"), None);
    /// ```
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        match label {
            "TS_DATA_16B" => Some(Self::TimestampedData16B),
            _ => Self::ALL.into_iter().find(|kind| kind.label() == label),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_lengths_are_those_of_the_device_header() {
        let words: [usize; 6] = PacketKind::ALL.map(PacketKind::record_words);
        assert_eq!(words, [2, 2, 2, 4, 2, 6]);
    }

    #[test]
    fn numbers_beyond_the_known_ones_have_no_kind() {
        for number in 0..=u8::MAX {
            let known = PacketType(number).kind();
            assert_eq!(known.is_some(), number < 6);
            assert_eq!(known.map_or(number, |kind| kind.packet_type().0), number);
        }
    }
}
