//! The 64 bits of a NoC event, as a device packs them.
//!
//! A NoC event is timestamped data under the id
//! [`ZoneId::NOC_TRACING`](crate::ZoneId::NOC_TRACING). The first byte is the kind. The kind
//! determines the meaning of the other bytes:
//!
//! | bits | event within the chip | fabric packet | part of a scatter | route along a line |
//! |---|---|---|---|---|
//! | 0..8 | kind | kind | kind | kind |
//! | 8..16, 16..24 | target x, y | target x, y | target x, y | route word |
//! | 24..32 | multicast's other corner, x | multicast's other corner, x | 0 | route word |
//! | 32..40 | multicast's other corner, y | multicast's other corner, y | number of bytes, low half | route word |
//! | 40..44 | NoC number + 1 | NoC number + 1 | number of bytes, high half | 0 |
//! | 44..48 | virtual channel | form of the route | number of bytes, high half | 0 |
//! | 48..56 | payload in units of 32 bytes, low 8 bits | 0 | number of parts | 0 |
//! | 56..60 | payload in units of 32 bytes, high 4 bits | 0 | NoC number + 1 | 0 |
//! | 60..64 | 1 if posted, otherwise 0 | 0 | form of the route | 0 |
//!
//! In a record with 16 bytes of data, an event within the chip is followed by a second value, a
//! [`NocTrailer`].
//!
//! # Compatibility
//! `event_metadata.hpp` of tt-metal 0.81. In earlier versions, the payload field had eight bits,
//! and bit 56 was the posted flag. Non-posted events below 8,192 bytes are the same in both
//! layouts.

crate::labelled! {
    /// Kind of a NoC event, in the order of the numbers. Labels are the names that TT-Metal writes.
    ///
    /// ```
    /// use wire::noc_event::NocEventKind;
    /// assert_eq!(NocEventKind::from_label("WRITE_"), Some(NocEventKind::Write));
    /// assert_eq!(NocEventKind::from_number(11), Some(NocEventKind::Write));
    /// assert_eq!(NocEventKind::Write.number(), 11);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum NocEventKind {
        /// Read; the event states the number of bytes.
        Read = "READ",
        /// Sets NoC registers that later reads reuse.
        ReadSetState = "READ_SET_STATE",
        /// Sets the transaction id for later reads.
        ReadSetTrid = "READ_SET_TRID",
        /// Read that reuses NoC registers set earlier.
        ReadWithState = "READ_WITH_STATE",
        /// Read that reuses NoC registers set earlier and carries a transaction id.
        ReadWithStateAndTrid = "READ_WITH_STATE_AND_TRID",
        /// Beginning of a wait for reads.
        ReadBarrierStart = "READ_BARRIER_START",
        /// End of a wait for reads.
        ReadBarrierEnd = "READ_BARRIER_END",
        /// Wait for the reads with one transaction id.
        ReadBarrierWithTrid = "READ_BARRIER_WITH_TRID",
        /// Sets NoC registers for later reads from a DRAM shard.
        ReadDramShardedSetState = "READ_DRAM_SHARDED_SET_STATE",
        /// Read from a DRAM shard, with NoC registers that were set earlier.
        ReadDramShardedWithState = "READ_DRAM_SHARDED_WITH_STATE",
        /// Write; the event states the number of bytes.
        Write = "WRITE_",
        /// Sets the transaction id for later writes.
        WriteSetTrid = "WRITE_SET_TRID",
        /// Write that carries a transaction id.
        WriteWithTrid = "WRITE_WITH_TRID",
        /// Write of one word.
        WriteInline = "WRITE_INLINE",
        /// Write to all tiles of a rectangle.
        WriteMulticast = "WRITE_MULTICAST",
        /// Sets NoC registers that later writes reuse.
        WriteSetState = "WRITE_SET_STATE",
        /// Write that reuses NoC registers set earlier.
        WriteWithState = "WRITE_WITH_STATE",
        /// Sets NoC registers that later writes with a transaction id reuse.
        WriteWithTridSetState = "WRITE_WITH_TRID_SET_STATE",
        /// Write that reuses NoC registers set earlier and carries a transaction id.
        WriteWithTridWithState = "WRITE_WITH_TRID_WITH_STATE",
        /// Beginning of a wait for writes.
        WriteBarrierStart = "WRITE_BARRIER_START",
        /// End of a wait for writes.
        WriteBarrierEnd = "WRITE_BARRIER_END",
        /// Wait for the writes with one transaction id.
        WriteBarrierWithTrid = "WRITE_BARRIER_WITH_TRID",
        /// Wait until writes have left the tile.
        WriteFlush = "WRITE_FLUSH",
        /// Wait until the writes with one transaction id have left the tile.
        WriteFlushWithTrid = "WRITE_FLUSH_WITH_TRID",
        /// Wait for all outstanding transfers.
        FullBarrier = "FULL_BARRIER",
        /// Wait for atomic operations.
        AtomicBarrier = "ATOMIC_BARRIER",
        /// Increments a semaphore.
        SemaphoreInc = "SEMAPHORE_INC",
        /// Wait for a semaphore.
        SemaphoreWait = "SEMAPHORE_WAIT",
        /// Sets a semaphore of the tile itself.
        SemaphoreSet = "SEMAPHORE_SET",
        /// Sets a semaphore of another tile.
        SemaphoreSetRemote = "SEMAPHORE_SET_REMOTE",
        /// Sets a semaphore of all tiles of a rectangle.
        SemaphoreSetMulticast = "SEMAPHORE_SET_MULTICAST",
        /// Increments a semaphore of all tiles of a rectangle.
        SemaphoreIncMulticast = "SEMAPHORE_INC_MULTICAST",
        /// Fabric packet that writes to one chip.
        FabricUnicastWrite = "FABRIC_UNICAST_WRITE",
        /// Fabric packet that writes one word to one chip.
        FabricUnicastInlineWrite = "FABRIC_UNICAST_INLINE_WRITE",
        /// Fabric packet that increments a semaphore of one chip.
        FabricUnicastAtomicInc = "FABRIC_UNICAST_ATOMIC_INC",
        /// Fabric packet that writes to one chip and increments a semaphore there.
        FabricFusedUnicastAtomicInc = "FABRIC_FUSED_UNICAST_ATOMIC_INC",
        /// Fabric packet that writes to a rectangle of tiles.
        FabricMulticastWrite = "FABRIC_MULTICAST_WRITE",
        /// Fabric packet that increments a semaphore of a rectangle of tiles.
        FabricMulticastAtomicInc = "FABRIC_MULTICAST_ATOMIC_INC",
        /// Fabric packet that writes to several destinations on one chip.
        FabricUnicastScatterWrite = "FABRIC_UNICAST_SCATTER_WRITE",
        /// Route of a fabric packet along a line.
        FabricRoutingFields1d = "FABRIC_ROUTING_FIELDS_1D",
        /// Route of a fabric packet on a mesh. Since TT-Metal 0.81.1, the route is not recorded.
        FabricRoutingFields2d = "FABRIC_ROUTING_FIELDS_2D",
    }
}

impl NocEventKind {
    /// Returns the number in this format. Numbers begin at 1.
    #[must_use]
    #[inline(always)]
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// Returns the kind with this number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        if number == 0 || number as usize > Self::ALL.len() {
            return None;
        }
        Some(Self::ALL[number as usize - 1])
    }

    /// Returns the kind that TT-Metal calls `label`.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.label() == label)
    }

    /// Returns true if the event moves bytes from another tile to this one.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(
            self,
            Self::Read
                | Self::ReadWithState
                | Self::ReadWithStateAndTrid
                | Self::ReadDramShardedWithState
        )
    }

    /// Returns true if the event moves bytes from this tile to others.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(
            self,
            Self::Write
                | Self::WriteWithTrid
                | Self::WriteInline
                | Self::WriteMulticast
                | Self::WriteWithState
                | Self::WriteWithTridWithState
        )
    }

    /// Returns true if the event is a fabric packet.
    #[must_use]
    pub const fn is_fabric(self) -> bool {
        self.is_fabric_unicast()
            || matches!(
                self,
                Self::FabricMulticastWrite
                    | Self::FabricMulticastAtomicInc
                    | Self::FabricUnicastScatterWrite
            )
    }

    /// Returns true if the event is a fabric packet to one address.
    #[must_use]
    pub const fn is_fabric_unicast(self) -> bool {
        matches!(
            self,
            Self::FabricUnicastWrite
                | Self::FabricUnicastInlineWrite
                | Self::FabricUnicastAtomicInc
                | Self::FabricFusedUnicastAtomicInc
        )
    }

    /// Returns true for an event within the chip: neither a fabric packet nor a packet's route.
    #[must_use]
    pub const fn is_local(self) -> bool {
        let is_route = matches!(self, Self::FabricRoutingFields1d | Self::FabricRoutingFields2d);
        !self.is_fabric() && !is_route
    }

    /// Returns the event kind that ends a wait begun by this event.
    #[must_use]
    pub const fn end_of_wait(self) -> Option<Self> {
        match self {
            Self::ReadBarrierStart => Some(Self::ReadBarrierEnd),
            Self::WriteBarrierStart => Some(Self::WriteBarrierEnd),
            _ => None,
        }
    }

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

    /// Returns the NoC counter whose value is in the event's [`NocTrailer`]; `None` if the trailer
    /// has 0 in place of a counter.
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

/// Target tile or rectangle of an event, in coordinates of the NoC that the event uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NocTarget {
    /// Column and row of the tile, or of the first corner of a rectangle.
    pub first: [i8; 2],
    /// Column and row of the last corner of a rectangle; zeros for a single tile.
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

/// A NoC event within the chip, such as a transfer, a wait or a semaphore operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalNocEvent {
    /// Kind of the event; never a kind of fabric packet.
    pub kind: NocEventKind,
    /// Target tile or rectangle.
    pub target: NocTarget,
    /// Payload in bytes; recorded in units of 32 bytes, rounded up, at most 131,040.
    pub byte_count: u32,
    /// Virtual channel, -1 for none.
    pub virtual_channel: i8,
    /// True for a posted transfer, which is not acknowledged.
    pub is_posted: bool,
    /// Number of the NoC, 0 or 1; every value except 1 is treated as 0.
    pub noc: u8,
}

impl LocalNocEvent {
    /// Returns an event with no target and no payload, such as a wait.
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

/// Second value of an event with 16 bytes of data: two L1 or DRAM addresses and a NoC counter.
///
/// ```
/// use wire::noc_event::NocTrailer;
/// let trailer = NocTrailer { local_address: 23, remote_address: 33, noc_counter: 0x5123 };
/// assert_eq!(trailer.pack(), 0x123 << 52 | 3 << 48 | 5 << 26 | 1 << 22 | 8);
/// assert_eq!(NocTrailer::unpack(trailer.pack()), NocTrailer { noc_counter: 0x123, ..trailer });
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NocTrailer {
    /// Address in the memory of the recording tile; the lower 24 bits are recorded.
    pub local_address: u32,
    /// Address in the memory of the target tile or tiles. The lower 24 bits are recorded, so a DRAM
    /// address is known modulo 16 MiB.
    pub remote_address: u32,
    /// Value, before the transfer, of the counter that [`NocEventKind::counter`] returns; only the
    /// lower 12 bits are recorded.
    pub noc_counter: u32,
}

impl NocTrailer {
    /// Packs the trailer into 64 bits.
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

    /// Unpacks a trailer from 64 bits.
    #[must_use]
    pub const fn unpack(bits: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "24 bits are left")]
        const fn address(bits: u64) -> u32 {
            ((bits & 0x3F_FFFF) << 2 | (bits >> 22 & 3)) as u32
        }
        Self {
            remote_address: address(bits),
            local_address: address(bits >> 26),
            noc_counter: (bits >> 52) as u32,
        }
    }
}

/// Encoding of a fabric packet's route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FabricRoute {
    /// Route along a line, as two numbers in one byte: bits 4 to 7 hold the distance to the first
    /// chip that receives the packet, and bits 0 to 3 hold the number of chips that receive it.
    Regular = 0,
    /// Route along a line, with two bits for each hop.
    LowLatency = 1,
    /// Numbers of hops on a mesh, by direction.
    LowLatencyMesh = 2,
    /// A route that the routers of the mesh choose.
    DynamicMesh = 3,
}

impl FabricRoute {
    /// Returns the encoding with this number.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::Regular),
            1 => Some(Self::LowLatency),
            2 => Some(Self::LowLatencyMesh),
            3 => Some(Self::DynamicMesh),
            _ => None,
        }
    }
}

/// Packs a fabric packet's target: the tile of a unicast, the rectangle of a multicast.
///
/// For a unicast, the fields of the second corner are (-1, -1).
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

/// Packs the event that records the line route of the preceding fabric packet.
#[must_use]
#[inline(always)]
pub const fn pack_fabric_line(route: u32) -> u64 {
    (NocEventKind::FabricRoutingFields1d.number() as u64) | (route as u64) << 8
}

/// Event that reports that the preceding fabric packet's route is not recorded.
pub const FABRIC_ROUTE_UNAVAILABLE: u64 = NocEventKind::FabricRoutingFields2d.number() as u64;

/// Returns bits 0 to 31 of an event with a target.
const fn places(kind: NocEventKind, target: NocTarget) -> u32 {
    let [x, y] = target.first;
    u32::from_le_bytes([
        kind.number(),
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
        // Packed by hand: kind 15, (1,2) to (9,8), NoC 1 (packed as 2), channel 4, 256 units,
        // posted.
        assert_eq!(multicast(8_161), 0x1100_4208_0902_010F);
        assert_eq!(multicast(0) >> 48, 0x1000);
        assert_eq!(multicast(1) >> 48, 0x1001);
        assert_eq!(multicast(131_040) >> 48, 0x1FFF);
        assert_eq!(multicast(u32::MAX) >> 48, 0x1FFF);
    }

    #[test]
    fn a_wait_has_no_target_and_a_strange_network_is_the_first() {
        let wait = |noc| LocalNocEvent::without_address(NocEventKind::SemaphoreWait, false, noc);
        // From a capture of a Blackhole; TT-Metal passes -1 as the number of the NoC.
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
        // Numbers of the kinds that `noc_event_profiler.hpp` gives a counter; no other kind has
        // one.
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
            let number = kind.number();
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
