//! The 64 bits of a NoC event, as a device packs them.
//!
//! A NoC event is timestamped data under the id
//! [`ZoneId::NOC_TRACING`](crate::ZoneId::NOC_TRACING). The first byte is the kind. It determines
//! the meaning of the other bytes:
//!
//! | bits | event of the tile's own NoC | fabric packet | part of a scatter | route along a line |
//! |---|---|---|---|---|
//! | 0..8 | kind | kind | kind | kind |
//! | 8..16, 16..24 | target x, y | target x, y | target x, y | route word |
//! | 24..32 | multicast's other corner, x | multicast's other corner, x | 0 | route word |
//! | 32..40 | multicast's other corner, y | multicast's other corner, y | bytes, low half | route word |
//! | 40..44, 44..48 | network + 1, virtual channel | network + 1, form of the route | bytes, high half | 0 |
//! | 48..60 | payload in units of 32 bytes | 0 | 48..56: parts, 56..60: network + 1, 60..64: form | 0 |
//! | 60 | posted | 0 | | 0 |
//!
//! A record with 16 bytes of data has a second value after an event of the tile's own NoC: a
//! [`NocTrailer`].
//!
//! # Compatibility
//! `event_metadata.hpp` of tt-metal 0.81. In earlier versions, the payload had eight bits and
//! `posted` was bit 56. Non-posted events below 8,192 bytes are the same in both layouts.

/// Kind of a NoC event, with its number in this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NocEventKind {
    /// Read of a number of bytes.
    Read = 1,
    /// Sets the state for later reads.
    ReadSetState = 2,
    /// Sets the transaction id for later reads.
    ReadSetTrid = 3,
    /// Read that uses the state set earlier.
    ReadWithState = 4,
    /// Read that uses the state set earlier and carries a transaction id.
    ReadWithStateAndTrid = 5,
    /// Beginning of a wait for reads.
    ReadBarrierStart = 6,
    /// End of a wait for reads.
    ReadBarrierEnd = 7,
    /// Wait for the reads with one transaction id.
    ReadBarrierWithTrid = 8,
    /// Sets the state for later reads from a DRAM shard.
    ReadDramShardedSetState = 9,
    /// Read from a DRAM shard.
    ReadDramShardedWithState = 10,
    /// Write of a number of bytes.
    Write = 11,
    /// Sets the transaction id for later writes.
    WriteSetTrid = 12,
    /// Write that carries a transaction id.
    WriteWithTrid = 13,
    /// Write of one word.
    WriteInline = 14,
    /// Write to all tiles of a rectangle.
    WriteMulticast = 15,
    /// Sets the state for later writes.
    WriteSetState = 16,
    /// Write that uses the state set earlier.
    WriteWithState = 17,
    /// Sets the state for later writes that carry a transaction id.
    WriteWithTridSetState = 18,
    /// Write that uses the state set earlier and carries a transaction id.
    WriteWithTridWithState = 19,
    /// Beginning of a wait for writes.
    WriteBarrierStart = 20,
    /// End of a wait for writes.
    WriteBarrierEnd = 21,
    /// Wait for the writes with one transaction id.
    WriteBarrierWithTrid = 22,
    /// Wait until writes have left the tile.
    WriteFlush = 23,
    /// Wait until the writes with one transaction id have left the tile.
    WriteFlushWithTrid = 24,
    /// Wait for all outstanding transfers.
    FullBarrier = 25,
    /// Wait for atomic operations.
    AtomicBarrier = 26,
    /// Increments a semaphore.
    SemaphoreInc = 27,
    /// Wait for a semaphore.
    SemaphoreWait = 28,
    /// Sets a semaphore of the tile itself.
    SemaphoreSet = 29,
    /// Sets a semaphore of another tile.
    SemaphoreSetRemote = 30,
    /// Sets a semaphore of all tiles of a rectangle.
    SemaphoreSetMulticast = 31,
    /// Increments a semaphore of all tiles of a rectangle.
    SemaphoreIncMulticast = 32,
    /// Fabric packet that writes to one chip.
    FabricUnicastWrite = 33,
    /// Fabric packet that writes one word to one chip.
    FabricUnicastInlineWrite = 34,
    /// Fabric packet that increments a semaphore of one chip.
    FabricUnicastAtomicInc = 35,
    /// Fabric packet that writes to one chip and increments a semaphore there.
    FabricFusedUnicastAtomicInc = 36,
    /// Fabric packet that writes to a rectangle of tiles.
    FabricMulticastWrite = 37,
    /// Fabric packet that increments a semaphore of a rectangle of tiles.
    FabricMulticastAtomicInc = 38,
    /// Fabric packet that writes to several destinations on one chip.
    FabricUnicastScatterWrite = 39,
    /// Route of a fabric packet along a line.
    FabricRoutingFields1d = 40,
    /// Reports that the route of a fabric packet on a mesh is not recorded.
    FabricRoutingUnavailable2d = 41,
}

impl NocEventKind {
    /// Returns true for waits and for operations on single words, which are recorded only on
    /// request.
    ///
    /// # Compatibility
    /// `isDebugOnlyEventType`.
    #[must_use]
    pub const fn is_debug_only(self) -> bool {
        matches!(
            self,
            Self::ReadBarrierStart
                | Self::ReadBarrierEnd
                | Self::ReadBarrierWithTrid
                | Self::WriteBarrierStart
                | Self::WriteBarrierEnd
                | Self::WriteBarrierWithTrid
                | Self::WriteFlush
                | Self::WriteFlushWithTrid
                | Self::FullBarrier
                | Self::AtomicBarrier
                | Self::SemaphoreWait
                | Self::SemaphoreSet
                | Self::WriteInline
                | Self::SemaphoreInc
                | Self::SemaphoreIncMulticast
        )
    }

    /// Returns the NoC counter whose value a [`NocTrailer`] holds; `None` if it holds 0 instead.
    ///
    /// # Compatibility
    /// `createNocEventDstTrailer`.
    #[must_use]
    pub const fn counter(self, is_posted: bool) -> Option<NocCounter> {
        match self {
            Self::Write
            | Self::WriteWithTrid
            | Self::WriteWithState
            | Self::WriteWithTridWithState
            | Self::WriteMulticast
            | Self::SemaphoreSetRemote
            | Self::SemaphoreSetMulticast => {
                Some(if is_posted { NocCounter::PostedWritesSent } else { NocCounter::WritesSent })
            }
            Self::Read | Self::ReadWithState | Self::ReadWithStateAndTrid => {
                Some(NocCounter::ReadResponses)
            }
            _ => None,
        }
    }

    /// Returns true for operations on all tiles of a rectangle.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        matches!(
            self,
            Self::WriteMulticast | Self::SemaphoreSetMulticast | Self::SemaphoreIncMulticast
        )
    }
}

/// Target of an event, in coordinates of its NoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NocTarget {
    /// Column and row of the tile, or of a rectangle's first corner.
    pub first: [i8; 2],
    /// Column and row of a rectangle's last corner.
    pub last: [i8; 2],
}

impl NocTarget {
    /// No target.
    pub const NONE: Self = Self { first: [-1, -1], last: [0, 0] };

    /// Returns the tile that a NoC address names.
    ///
    /// ```
    /// use wire::noc_event::NocTarget;
    /// let address = 0x1000 | 18 << 36 | 25 << 42;
    /// assert_eq!(NocTarget::tile(address), NocTarget { first: [18, 25], last: [0, 0] });
    /// ```
    #[must_use]
    pub const fn tile(address: u64) -> Self {
        Self { first: pair(address >> ADDRESS_BITS), last: [0, 0] }
    }

    /// Returns the rectangle that a multicast address names. The address holds the last corner in
    /// its lower bits and the first corner above them.
    #[must_use]
    pub const fn rectangle(address: u64) -> Self {
        let last = address >> ADDRESS_BITS;
        Self { first: pair(last >> (2 * COORDINATE_BITS)), last: pair(last) }
    }

    /// Returns the target of an event of this kind at a NoC address.
    #[must_use]
    pub const fn new(kind: NocEventKind, address: u64) -> Self {
        if kind.is_multicast() { Self::rectangle(address) } else { Self::tile(address) }
    }
}

/// Number of bits of a NoC address below the coordinates.
const ADDRESS_BITS: u32 = 36;
const COORDINATE_BITS: u32 = 6;

const fn pair(coordinates: u64) -> [i8; 2] {
    [(coordinates & 0x3F) as i8, (coordinates >> COORDINATE_BITS & 0x3F) as i8]
}

/// An event of the tile's own NoC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalNocEvent {
    /// Kind; not a kind of fabric packet.
    pub kind: NocEventKind,
    /// Target.
    pub target: NocTarget,
    /// Payload in bytes; recorded in units of 32 bytes, rounded up, at most 131,040.
    pub byte_count: u32,
    /// Virtual channel, -1 for none.
    pub virtual_channel: i8,
    /// True for a posted transfer, which is not acknowledged.
    pub is_posted: bool,
    /// Number of the NoC; every value but 1 counts as 0.
    pub noc: u8,
}

impl LocalNocEvent {
    /// Returns an event with no target and no payload: a wait.
    #[must_use]
    pub const fn without_address(kind: NocEventKind, is_posted: bool, noc: u8) -> Self {
        let target = NocTarget::NONE;
        Self { kind, target, byte_count: 0, virtual_channel: -1, is_posted, noc }
    }

    /// Packs the event.
    ///
    /// ```
    /// use wire::noc_event::{LocalNocEvent, NocEventKind, NocTarget};
    /// let write = LocalNocEvent {
    ///     kind: NocEventKind::Write,
    ///     target: NocTarget { first: [0, 11], last: [0, 0] },
    ///     byte_count: 256,
    ///     virtual_channel: 1,
    ///     is_posted: false,
    ///     noc: 0,
    /// };
    /// assert_eq!(write.pack(), 0x0008_1100_000b_000b);
    /// ```
    #[must_use]
    #[inline(always)]
    pub const fn pack(self) -> u64 {
        let Self { kind, target, byte_count, virtual_channel, is_posted, noc } = self;
        let chunks = if byte_count > CHUNKS_MAX * CHUNK_BYTES {
            CHUNKS_MAX
        } else {
            byte_count.div_ceil(CHUNK_BYTES)
        };
        let channel = ((virtual_channel.cast_unsigned() & 0xF) as u32) << 12;
        let high = target.last[1].cast_unsigned() as u32
            | network(noc) << 8
            | channel
            | chunks << 16
            | (is_posted as u32) << 28;
        words(high, places(kind, target))
    }
}

/// NoC counter, by its index among the counters of a tile's network interface.
///
/// # Compatibility
/// `NIU_MST_*` of `noc_parameters.h`, the same on Wormhole and Blackhole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NocCounter {
    /// Packets received for reads.
    ReadResponses = 2,
    /// Packets sent for non-posted writes, which are acknowledged.
    WritesSent = 10,
    /// Packets sent for posted writes.
    PostedWritesSent = 11,
}

/// Second value of an event with 16 bytes of data: addresses within the tiles, and a NoC counter.
///
/// ```
/// use wire::noc_event::NocTrailer;
/// let trailer = NocTrailer { local_address: 23, remote_address: 33, noc_counter: 0x5123 };
/// assert_eq!(trailer.pack(), 0x123 << 52 | 3 << 48 | 5 << 26 | 1 << 22 | 8);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NocTrailer {
    /// Address in the tile itself; 24 bits are recorded.
    pub local_address: u32,
    /// Address in the other tiles; 24 bits are recorded, so a DRAM address is known modulo 16 MiB.
    pub remote_address: u32,
    /// Value of the kind's counter before the transfer; 12 bits are recorded.
    pub noc_counter: u32,
}

impl NocTrailer {
    /// Packs the value.
    #[must_use]
    #[inline(always)]
    pub const fn pack(self) -> u64 {
        /// Packs an address: 22 bits hold the address divided by 4, the next four bits hold the
        /// remainder.
        const fn address(address: u32) -> u64 {
            (address >> 2 & 0x3F_FFFF | (address & 3) << 22) as u64
        }
        address(self.remote_address)
            | address(self.local_address) << 26
            | ((self.noc_counter & 0xFFF) as u64) << 52
    }
}

/// Encoding of a fabric packet's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FabricRoute {
    /// Hops along a line, in one byte.
    Regular = 0,
    /// Hops along a line, two bits each.
    LowLatency = 1,
    /// Hops on a mesh.
    LowLatencyMesh = 2,
    /// A route that routers choose.
    DynamicMesh = 3,
}

/// Packs a fabric packet's target: the tile of a unicast, the rectangle of a multicast.
///
/// For a unicast, the other corner is (-1, -1).
#[must_use]
#[inline(always)]
pub const fn pack_fabric(
    kind: NocEventKind,
    route: FabricRoute,
    first: [i8; 2],
    last: [i8; 2],
    noc: u8,
) -> u64 {
    let target = NocTarget { first, last };
    let high = last[1].cast_unsigned() as u32 | (network(noc) | (route as u32) << 4) << 8;
    words(high, places(kind, target))
}

/// Packs one target of a fabric packet that writes to several destinations. `byte_count` is 0 for
/// the last target, which receives the remaining bytes.
#[must_use]
#[inline(always)]
pub const fn pack_fabric_scatter(
    route: FabricRoute,
    target: [i8; 2],
    byte_count: u16,
    part_count: u8,
    noc: u8,
) -> u64 {
    let target = NocTarget { first: target, last: [0, 0] };
    let high =
        byte_count as u32 | (part_count as u32) << 16 | (network(noc) | (route as u32) << 4) << 24;
    words(high, places(NocEventKind::FabricUnicastScatterWrite, target))
}

/// Packs the route, along a line, of the preceding fabric packet.
#[must_use]
#[inline(always)]
pub const fn pack_fabric_line(route: u32) -> u64 {
    (NocEventKind::FabricRoutingFields1d as u64) | (route as u64) << 8
}

/// Event that reports that the preceding fabric packet's route is not recorded.
pub const FABRIC_ROUTE_UNAVAILABLE: u64 = NocEventKind::FabricRoutingUnavailable2d as u64;

/// Returns the low word of an event with a target.
const fn places(kind: NocEventKind, target: NocTarget) -> u32 {
    let [x, y] = target.first;
    u32::from_le_bytes([
        kind as u8,
        x.cast_unsigned(),
        y.cast_unsigned(),
        target.last[0].cast_unsigned(),
    ])
}

const fn network(noc: u8) -> u32 {
    if noc == 1 { 2 } else { 1 }
}

const fn words(high: u32, low: u32) -> u64 {
    (high as u64) << 32 | low as u64
}

/// Bytes of one payload unit.
const CHUNK_BYTES: u32 = 32;
/// Maximum number of payload units in an event.
const CHUNKS_MAX: u32 = (1 << 12) - 1;

#[cfg(test)]
mod tests {
    use super::*;

    fn multicast(byte_count: u32) -> u64 {
        let address = (9 | 8 << 6 | 1 << 12 | 2 << 18) << 36;
        LocalNocEvent {
            kind: NocEventKind::WriteMulticast,
            target: NocTarget::new(NocEventKind::WriteMulticast, address),
            byte_count,
            virtual_channel: 4,
            is_posted: true,
            noc: 1,
        }
        .pack()
    }

    #[test]
    fn a_multicast_names_both_corners_and_its_bytes_are_rounded_up() {
        // Packed by hand: kind 15, (1,2) to (9,8), NoC 1 as 2, channel 4, 256 units, posted.
        assert_eq!(multicast(8_161), 0x1100_4208_0902_010F);
        assert_eq!(multicast(0) >> 48, 0x1000);
        assert_eq!(multicast(1) >> 48, 0x1001);
        assert_eq!(multicast(131_040) >> 48, 0x1FFF);
        assert_eq!(multicast(u32::MAX) >> 48, 0x1FFF);
    }

    #[test]
    fn a_wait_has_no_target_and_a_strange_network_is_the_first() {
        let wait = |noc| LocalNocEvent::without_address(NocEventKind::SemaphoreWait, false, noc);
        // From a capture of a Blackhole; upstream passes -1 as the number of the NoC.
        assert_eq!(wait(255).pack(), 264_982_319_071_004);
        assert_eq!(wait(1).pack() - wait(0).pack(), 1 << 40);
    }

    #[test]
    fn a_trailer_holds_no_more_than_its_fields() {
        let trailer = NocTrailer { local_address: !0, remote_address: 0, noc_counter: 0 };
        assert_eq!(trailer.pack(), 0x0003_FFFF_FC00_0000);
        let trailer = NocTrailer { local_address: 0, remote_address: !0, noc_counter: !0 };
        assert_eq!(trailer.pack(), 0xFFF0_0000_00FF_FFFF);
    }

    #[test]
    fn counters_are_those_of_upstreams_trailer() {
        use NocCounter::{PostedWritesSent, ReadResponses, WritesSent};
        // Numbers of kinds as in `noc_event_profiler.hpp`; all other kinds have no counter.
        let (writes, reads) = ([11, 13, 15, 17, 19, 30, 31], [1, 4, 5]);
        use NocEventKind::*;
        let kinds: [&[NocEventKind]; 6] = [
            &[Read, ReadSetState, ReadSetTrid, ReadWithState, ReadWithStateAndTrid],
            &[ReadBarrierStart, ReadDramShardedWithState],
            &[Write, WriteSetTrid, WriteWithTrid, WriteInline, WriteMulticast, WriteSetState],
            &[WriteWithState, WriteWithTridSetState, WriteWithTridWithState, WriteFlush],
            &[FullBarrier, SemaphoreInc, SemaphoreSet, SemaphoreSetRemote],
            &[SemaphoreSetMulticast, SemaphoreIncMulticast, FabricUnicastWrite],
        ];
        for &kind in kinds.into_iter().flatten() {
            let number = kind as u8;
            let expected = |posted| match number {
                number if writes.contains(&number) && posted => Some(PostedWritesSent),
                number if writes.contains(&number) => Some(WritesSent),
                number if reads.contains(&number) => Some(ReadResponses),
                _ => None,
            };
            assert_eq!(
                [false, true].map(|posted| kind.counter(posted)),
                [false, true].map(expected)
            );
        }
    }

    #[test]
    fn packets_of_the_fabric_are_packed_as_their_bytes_say() {
        let unicast = pack_fabric(
            NocEventKind::FabricUnicastWrite,
            FabricRoute::LowLatencyMesh,
            [18, 25],
            [-1, -1],
            0,
        );
        assert_eq!(unicast.to_le_bytes(), [33, 18, 25, 0xFF, 0xFF, 0x21, 0, 0]);
        let part = pack_fabric_scatter(FabricRoute::LowLatency, [1, 2], 1_024, 3, 1);
        assert_eq!(part.to_le_bytes(), [39, 1, 2, 0, 0, 4, 3, 0x12]);
        assert_eq!(
            pack_fabric_line(0xAABB_CCDD).to_le_bytes(),
            [40, 0xDD, 0xCC, 0xBB, 0xAA, 0, 0, 0]
        );
        assert_eq!(FABRIC_ROUTE_UNAVAILABLE, 41);
    }
}
