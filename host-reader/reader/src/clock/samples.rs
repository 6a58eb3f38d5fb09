//! Raw clock samples, as measured and as stored in a capture.
//!
//! All samples are kept, so that a better method can fit them again later. Field names contain the
//! units. This module estimates nothing.

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

/// One reading of a tile's wall clock by the host, and the host's clock before and after the
/// reading.
///
/// The corridor fit relies on one property: the wall clock had the value `device_cycles` at some
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
    /// Low word of the time since the session's start, in ticks of the host's clock. The host wrote
    /// this word to the chip.
    pub host_ticks: u32,
    /// Duration of the register write on the host, in ticks of the host's clock.
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
    /// Host clock when the session began, in ticks of the host's clock.
    pub host_start_ticks: u64,
    /// High word of the wall clock at the first stamp; it has 12 bits.
    pub device_high: u32,
    /// Low word of the wall clock, read together with the high word, in cycles.
    pub device_low_cycles: u32,
    /// The stamps in the order of measurement.
    pub stamps: Vec<OneWayStamp>,
}

/// Restores the high bits of a truncated counter value.
///
/// Returns the value nearest to `near` among the values that agree with `truncated` in the low
/// `bits` bits. Markers have 44 bits, so any 64-bit clock reading within 2^43 cycles of a marker is
/// sufficient (1.8 hours at 1.35 GHz).
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
