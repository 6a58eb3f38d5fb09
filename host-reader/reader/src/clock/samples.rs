//! Raw clock samples, as measured and as stored in a capture.
//!
//! The samples are kept unreduced, so a better method can repeat a fit later. Field names contain
//! the units. This module estimates nothing.

/// A tile of one chip, in NOC0 coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tile {
    /// Chip id in the host's numbering.
    pub chip: u32,
    /// NOC0 column.
    pub x: u8,
    /// NOC0 row.
    pub y: u8,
}

impl Tile {
    /// Returns the tile at column `x`, row `y` of chip `chip`.
    pub const fn new(chip: u32, x: u8, y: u8) -> Self {
        Self { chip, x, y }
    }
}

/// A device counter read by the host, with the host clock before and after the read.
///
/// The corridor fit relies on one property: the counter had the value `device_cycles` at some
/// instant between the two host times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TwoWayPing {
    /// Host clock just before the read was issued, in nanoseconds.
    pub host_send_ns: i64,
    /// The 64-bit wall clock of the tile, in cycles.
    pub device_cycles: u64,
    /// Host clock just after the read returned, in nanoseconds.
    pub host_receive_ns: i64,
}

/// All pings of one tile in one measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingBurst {
    /// The tile whose wall clock was read.
    pub tile: Tile,
    /// The pings in the order of measurement.
    pub pings: Vec<TwoWayPing>,
}

/// A message over Ethernet from one chip to another, and the echo of the message.
///
/// The four events happen in this order: the message is sent, the message arrives, the echo is
/// sent, the echo arrives. So `sender_start <= f(receiver_start)` and `f(receiver_end) <=
/// sender_end` for the map `f` from receiver to sender cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EthernetPing {
    /// Sender's clock when the message was sent, in sender cycles.
    pub sender_start_cycles: u64,
    /// Receiver's clock when the message arrived, in receiver cycles.
    pub receiver_start_cycles: u64,
    /// Receiver's clock when the echo was sent, in receiver cycles.
    pub receiver_end_cycles: u64,
    /// Sender's clock when the echo arrived, in sender cycles.
    pub sender_end_cycles: u64,
}

/// One sample of the one-way synchronisation: the host writes, the chip takes a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneWayStamp {
    /// Low word of the wall clock when the kernel saw the write, in cycles.
    pub device_low_cycles: u32,
    /// Low word of the host ticks since the session's start, as written to the chip.
    pub host_ticks: u32,
    /// Duration of the register write on the host, in ticks.
    pub write_duration_ticks: u32,
}

/// One run of the synchronisation kernel on one core.
///
/// # Compatibility
///
/// `tt_metal/tools/profiler/sync/sync_kernel.cpp`: the kernel writes 500 words, after the space for
/// the two guaranteed markers. The words are one pair (wall clock high, wall clock low), followed
/// by 249 pairs (wall clock low, host value).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneWaySession {
    /// The core that ran the kernel.
    pub tile: Tile,
    /// Host clock when the session began, in ticks.
    pub host_start_ticks: u64,
    /// High word of the wall clock at the first stamp, 12 bits.
    pub device_high: u32,
    /// Low word of the wall clock, read together with the high word, in cycles.
    pub device_low_cycles: u32,
    /// The stamps in the order of measurement.
    pub stamps: Vec<OneWayStamp>,
}

#[cfg(test)]
impl OneWaySession {
    /// Creates a session; each stamp is (low cycles, host ticks, duration of the write in ticks).
    pub(crate) fn from_stamps(
        host_start_ticks: u64,
        device_high: u32,
        stamps: &[(u32, u32, u32)],
    ) -> Self {
        let stamp = |&(device_low_cycles, host_ticks, write_duration_ticks): &(u32, u32, u32)| {
            OneWayStamp { device_low_cycles, host_ticks, write_duration_ticks }
        };
        Self {
            tile: Tile::new(0, 1, 2),
            host_start_ticks,
            device_high,
            device_low_cycles: 0,
            stamps: stamps.iter().map(stamp).collect(),
        }
    }
}

impl OneWaySession {
    /// Mask of the valid bits of the high word: markers contain 44 bits of the clock.
    pub const DEVICE_HIGH_MASK: u32 = 0xFFF;

    /// Parses the words that the synchronisation kernel left in L1.
    ///
    /// `words` starts at the (high, low) pair. `write_durations_ticks` has one entry per write. The
    /// number of stamps is limited by the shorter input, so words after the last write are not read
    /// as stamps. Returns `None` if the first pair is missing.
    pub fn from_words(
        tile: Tile,
        host_start_ticks: u64,
        words: &[u32],
        write_durations_ticks: &[u32],
    ) -> Option<Self> {
        let (header, pairs) = words.split_first_chunk::<2>()?;
        let stamps = pairs
            .chunks_exact(2)
            .zip(write_durations_ticks)
            .map(|(pair, &write_duration_ticks)| OneWayStamp {
                device_low_cycles: pair[0],
                host_ticks: pair[1],
                write_duration_ticks,
            })
            .collect();
        Some(Self {
            tile,
            host_start_ticks,
            device_high: header[0] & Self::DEVICE_HIGH_MASK,
            device_low_cycles: header[1],
            stamps,
        })
    }

    /// Returns the stamps with their high words restored.
    ///
    /// A low word that is less than its predecessor means that the counter wrapped once. This
    /// applies to the device's counter and to the host's counter.
    pub fn unwrapped(&self) -> impl Iterator<Item = UnwrappedStamp> + '_ {
        let mut device = WrapCounter::new(self.device_high, self.device_low_cycles);
        let mut host = WrapCounter::new(0, 0);
        self.stamps.iter().map(move |stamp| UnwrappedStamp {
            device_cycles: device.extend(stamp.device_low_cycles),
            host_ticks: host.extend(stamp.host_ticks.wrapping_add(stamp.write_duration_ticks)),
            write_duration_ticks: stamp.write_duration_ticks,
        })
    }
}

/// A one-way stamp with full-width clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnwrappedStamp {
    /// Wall clock of the core, in cycles.
    pub device_cycles: u64,
    /// Host ticks between the session's start and the end of the write.
    pub host_ticks: u64,
    /// Duration of the register write on the host, in ticks.
    pub write_duration_ticks: u32,
}

/// Restores the high bits of a truncated counter value.
///
/// Returns the value nearest to `near` among the values that agree with `truncated` in the low
/// `bits` bits. Markers have 44 bits, so any full reading within two hours of a marker is
/// sufficient.
///
/// # Examples
///
/// ```
/// use reader::clock::extend_cycles;
/// let full = (7 << 44) + 5;
/// assert_eq!(extend_cycles(3, 44, full), (7 << 44) + 3);
/// assert_eq!(extend_cycles((1 << 44) - 1, 44, full), (7 << 44) - 1);
/// ```
pub const fn extend_cycles(truncated: u64, bits: u32, near: u64) -> u64 {
    if bits == 0 || bits >= 64 {
        return truncated;
    }
    let shift = 64 - bits;
    // Two shifts, left and then arithmetically right, make the difference modulo 2^bits signed.
    let difference = (truncated.wrapping_sub(near) << shift).cast_signed() >> shift;
    near.wrapping_add_signed(difference)
}

/// Counts wraps of a 32-bit counter whose values arrive in order.
struct WrapCounter {
    high: u64,
    previous_low: u32,
}

impl WrapCounter {
    fn new(high: u32, low: u32) -> Self {
        Self { high: u64::from(high), previous_low: low }
    }

    fn extend(&mut self, low: u32) -> u64 {
        if low < self.previous_low {
            self.high += 1;
        }
        self.previous_low = low;
        (self.high << 32) | u64::from(low)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TILE: Tile = Tile::new(0, 1, 2);

    #[test]
    fn low_words_that_fall_carry_into_the_high_word() {
        let words = [0xABCD_E001, 0xFFFF_FFF0, 0xFFFF_FFF8, 10, 4, 0xFFFF_FFFF, 9, 3];
        let session = OneWaySession::from_words(TILE, 0, &words, &[1, 0, 2]).unwrap();
        let stamps: Vec<_> = session.unwrapped().map(|s| (s.device_cycles, s.host_ticks)).collect();
        assert_eq!(
            stamps,
            [
                (0x0000_0001_FFFF_FFF8, 11),
                (0x0000_0002_0000_0004, 0xFFFF_FFFF),
                (0x0000_0002_0000_0009, 0x1_0000_0005)
            ]
        );
    }

    #[test]
    fn five_hundred_words_hold_249_stamps() {
        let session = OneWaySession::from_words(TILE, 0, &[1; 500], &[0; 249]).unwrap();
        assert_eq!(session.stamps.len(), 249);
    }

    #[test]
    fn too_few_words_are_no_session() {
        assert_eq!(OneWaySession::from_words(TILE, 0, &[1], &[0; 249]), None);
    }

    #[test]
    fn stamps_end_with_the_last_write() {
        let session = OneWaySession::from_words(TILE, 0, &[1; 501], &[0; 7]).unwrap();
        assert_eq!(session.stamps.len(), 7);
    }

    proptest! {
        #[test]
        fn truncation_is_undone_within_half_a_period(
            near in any::<u64>(), bits in 1u32..64, steps in any::<u64>(),
        ) {
            let half = 1u64 << (bits - 1);
            let distance = (steps % (2 * half)).wrapping_sub(half).cast_signed();
            let full = near.wrapping_add_signed(distance);
            prop_assert_eq!(extend_cycles(full & ((1 << bits) - 1), bits, near), full);
        }
    }
}
