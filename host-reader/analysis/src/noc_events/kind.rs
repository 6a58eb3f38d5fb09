//! Kinds of NoC events, and their numbers in different versions of TT-Metal.

/// Kind of a NoC event.
///
/// ```
/// use analysis::noc_events::{EventKind, Numbering};
/// let kind = EventKind::from_number(30, Numbering::Newer).unwrap();
/// assert_eq!(kind, EventKind::SemaphoreSetRemote);
/// assert_eq!(EventKind::from_number(30, Numbering::Older), Some(EventKind::FabricUnicastWrite));
/// assert_eq!(EventKind::from_name("WRITE_"), Some(EventKind::Write));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventKind {
    /// Read of bytes.
    Read,
    /// Read that sets the state for later reads.
    ReadSetState,
    /// Sets the transaction id for later reads.
    ReadSetTrid,
    /// Read from the target set by an earlier event.
    ReadWithState,
    /// Read from the target set by an earlier event, with a transaction id.
    ReadWithStateAndTrid,
    /// Start of a wait for reads.
    ReadBarrierStart,
    /// End of a wait for reads.
    ReadBarrierEnd,
    /// Wait for the reads with one transaction id.
    ReadBarrierWithTrid,
    /// Sets the state for later reads from a DRAM shard.
    ReadDramShardedSetState,
    /// Read from a DRAM shard.
    ReadDramShardedWithState,
    /// Write of bytes.
    Write,
    /// Sets the transaction id for later writes.
    WriteSetTrid,
    /// Write with a transaction id.
    WriteWithTrid,
    /// Write of one word.
    WriteInline,
    /// Write to all tiles of a rectangle.
    WriteMulticast,
    /// Sets the state for later writes.
    WriteSetState,
    /// Write to the target set by an earlier event.
    WriteWithState,
    /// Sets the state for later writes that carry a transaction id.
    WriteWithTridSetState,
    /// Write to the target set by an earlier event, with a transaction id.
    WriteWithTridWithState,
    /// Start of a wait for writes.
    WriteBarrierStart,
    /// End of a wait for writes.
    WriteBarrierEnd,
    /// Wait for the writes with one transaction id.
    WriteBarrierWithTrid,
    /// Wait until writes have left the tile.
    WriteFlush,
    /// Wait until the writes with one transaction id have left the tile.
    WriteFlushWithTrid,
    /// Wait for all transfers and atomic operations.
    FullBarrier,
    /// Wait for atomic operations.
    AtomicBarrier,
    /// Increment of a semaphore.
    SemaphoreInc,
    /// Wait for a semaphore.
    SemaphoreWait,
    /// Sets a semaphore of the own tile.
    SemaphoreSet,
    /// Sets another tile's semaphore.
    SemaphoreSetRemote,
    /// Sets a semaphore in all tiles of a rectangle.
    SemaphoreSetMulticast,
    /// Increment of a semaphore in all tiles of a rectangle.
    SemaphoreIncMulticast,
    /// Fabric packet that writes to one chip.
    FabricUnicastWrite,
    /// Fabric packet that writes one word to one chip.
    FabricUnicastInlineWrite,
    /// Fabric packet that increments a semaphore on one chip.
    FabricUnicastAtomicInc,
    /// Fabric packet that writes to one chip and increments a semaphore there.
    FabricFusedUnicastAtomicInc,
    /// Fabric packet that writes to several chips.
    FabricMulticastWrite,
    /// Fabric packet that increments a semaphore on several chips.
    FabricMulticastAtomicInc,
    /// Fabric packet that writes to several addresses on one chip.
    FabricUnicastScatterWrite,
    /// Route of a fabric packet along a line.
    FabricRoutingFields1d,
    /// Route of a fabric packet on a mesh.
    FabricRoutingFields2d,
}

/// Version of the event numbers. The newer version inserts three numbers at 30.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Numbering {
    /// Remote and multicast semaphores have no numbers; fabric events begin at 30.
    Older,
    /// Remote and multicast semaphores are 30 to 32; fabric events begin at 33.
    #[default]
    Newer,
}

use EventKind::*;

/// All kinds with their names, in the order of the newer numbers, which begin at 1.
const KINDS: [(EventKind, &str); 41] = [
    (Read, "READ"),
    (ReadSetState, "READ_SET_STATE"),
    (ReadSetTrid, "READ_SET_TRID"),
    (ReadWithState, "READ_WITH_STATE"),
    (ReadWithStateAndTrid, "READ_WITH_STATE_AND_TRID"),
    (ReadBarrierStart, "READ_BARRIER_START"),
    (ReadBarrierEnd, "READ_BARRIER_END"),
    (ReadBarrierWithTrid, "READ_BARRIER_WITH_TRID"),
    (ReadDramShardedSetState, "READ_DRAM_SHARDED_SET_STATE"),
    (ReadDramShardedWithState, "READ_DRAM_SHARDED_WITH_STATE"),
    (Write, "WRITE_"),
    (WriteSetTrid, "WRITE_SET_TRID"),
    (WriteWithTrid, "WRITE_WITH_TRID"),
    (WriteInline, "WRITE_INLINE"),
    (WriteMulticast, "WRITE_MULTICAST"),
    (WriteSetState, "WRITE_SET_STATE"),
    (WriteWithState, "WRITE_WITH_STATE"),
    (WriteWithTridSetState, "WRITE_WITH_TRID_SET_STATE"),
    (WriteWithTridWithState, "WRITE_WITH_TRID_WITH_STATE"),
    (WriteBarrierStart, "WRITE_BARRIER_START"),
    (WriteBarrierEnd, "WRITE_BARRIER_END"),
    (WriteBarrierWithTrid, "WRITE_BARRIER_WITH_TRID"),
    (WriteFlush, "WRITE_FLUSH"),
    (WriteFlushWithTrid, "WRITE_FLUSH_WITH_TRID"),
    (FullBarrier, "FULL_BARRIER"),
    (AtomicBarrier, "ATOMIC_BARRIER"),
    (SemaphoreInc, "SEMAPHORE_INC"),
    (SemaphoreWait, "SEMAPHORE_WAIT"),
    (SemaphoreSet, "SEMAPHORE_SET"),
    (SemaphoreSetRemote, "SEMAPHORE_SET_REMOTE"),
    (SemaphoreSetMulticast, "SEMAPHORE_SET_MULTICAST"),
    (SemaphoreIncMulticast, "SEMAPHORE_INC_MULTICAST"),
    (FabricUnicastWrite, "FABRIC_UNICAST_WRITE"),
    (FabricUnicastInlineWrite, "FABRIC_UNICAST_INLINE_WRITE"),
    (FabricUnicastAtomicInc, "FABRIC_UNICAST_ATOMIC_INC"),
    (FabricFusedUnicastAtomicInc, "FABRIC_FUSED_UNICAST_ATOMIC_INC"),
    (FabricMulticastWrite, "FABRIC_MULTICAST_WRITE"),
    (FabricMulticastAtomicInc, "FABRIC_MULTICAST_ATOMIC_INC"),
    (FabricUnicastScatterWrite, "FABRIC_UNICAST_SCATTER_WRITE"),
    (FabricRoutingFields1d, "FABRIC_ROUTING_FIELDS_1D"),
    (FabricRoutingFields2d, "FABRIC_ROUTING_FIELDS_2D"),
];

/// First number with different meanings in the two versions.
const FIRST_MOVED: u8 = 30;
/// Offset of the newer numbers from [`FIRST_MOVED`] on.
const MOVED_BY: u8 = 3;

impl EventKind {
    /// Returns all kinds, in the order of the newer numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        KINDS.iter().map(|&(kind, _)| kind)
    }

    /// Returns the kind with this number; `None` if the numbering has no such number.
    #[must_use]
    pub fn from_number(number: u8, numbering: Numbering) -> Option<Self> {
        let newer = match numbering {
            Numbering::Older if number >= FIRST_MOVED => number.checked_add(MOVED_BY)?,
            _ => number,
        };
        KINDS.get(usize::from(newer.checked_sub(1)?)).map(|&(kind, _)| kind)
    }

    /// Returns the kind that TT-Metal calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        KINDS.iter().find(|&&(_, known)| known == name).map(|&(kind, _)| kind)
    }

    /// Returns the name that TT-Metal writes, such as `WRITE_`.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|&&(kind, _)| kind == self).map_or("", |&(_, name)| name)
    }

    /// Returns true if the event moves bytes from another tile to this one.
    #[must_use]
    pub const fn is_read(self) -> bool {
        matches!(self, Read | ReadWithState | ReadWithStateAndTrid | ReadDramShardedWithState)
    }

    /// Returns true if the event moves bytes from this tile to others.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(
            self,
            Write
                | WriteWithTrid
                | WriteInline
                | WriteMulticast
                | WriteWithState
                | WriteWithTridWithState
        )
    }

    /// Returns true if the event's target is a rectangle of tiles.
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        matches!(self, WriteMulticast | SemaphoreSetMulticast | SemaphoreIncMulticast)
    }

    /// Returns true if the event is a fabric packet.
    #[must_use]
    pub const fn is_fabric(self) -> bool {
        self.is_fabric_unicast()
            || matches!(
                self,
                FabricMulticastWrite | FabricMulticastAtomicInc | FabricUnicastScatterWrite
            )
    }

    /// Returns true if the event takes place on the chip's own NoC.
    #[must_use]
    pub const fn is_local(self) -> bool {
        !self.is_fabric() && !matches!(self, FabricRoutingFields1d | FabricRoutingFields2d)
    }

    /// Returns true if the event is a fabric packet to one address.
    #[must_use]
    pub const fn is_fabric_unicast(self) -> bool {
        matches!(
            self,
            FabricUnicastWrite
                | FabricUnicastInlineWrite
                | FabricUnicastAtomicInc
                | FabricFusedUnicastAtomicInc
        )
    }

    /// Returns the event kind that ends a wait begun by this event.
    #[must_use]
    pub const fn end_of_wait(self) -> Option<Self> {
        match self {
            ReadBarrierStart => Some(ReadBarrierEnd),
            WriteBarrierStart => Some(WriteBarrierEnd),
            _ => None,
        }
    }
}

impl Numbering {
    /// Returns the numbering that explains these event numbers, which must be in the order recorded
    /// by their RISC.
    ///
    /// A fabric packet is followed by its route. The number of that event means a route in only one
    /// of the numberings. Without fabric events, the newer numbering is returned.
    ///
    /// ```
    /// use analysis::noc_events::Numbering;
    /// assert_eq!(Numbering::from_numbers([30, 37, 11]), Numbering::Older);
    /// assert_eq!(Numbering::from_numbers([33, 40, 11]), Numbering::Newer);
    /// assert_eq!(Numbering::from_numbers([11, 20, 21]), Numbering::Newer);
    /// ```
    #[must_use]
    pub fn from_numbers(numbers: impl IntoIterator<Item = u8>) -> Self {
        let mut evidence = NumberingEvidence::default();
        numbers.into_iter().for_each(|number| evidence.add(number));
        evidence.numbering().unwrap_or_default()
    }

    /// Both numberings, each at the index of its discriminant.
    pub(super) const ALL: [Self; 2] = [Self::Older, Self::Newer];

    /// Returns true if `before` is a packet and `number` is its route.
    fn explains(self, before: Option<u8>, number: u8) -> bool {
        let is_route = matches!(
            EventKind::from_number(number, self),
            Some(FabricRoutingFields1d | FabricRoutingFields2d)
        );
        let before = before.and_then(|number| EventKind::from_number(number, self));
        is_route && before.is_some_and(EventKind::is_fabric)
    }
}

/// Evidence for the numbering that a sequence of event numbers uses.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberingEvidence {
    /// Number of routes that directly follow their packet, by numbering.
    explained: [u64; 2],
    /// First and last number of the sequence.
    ends: Option<(u8, u8)>,
}

impl NumberingEvidence {
    /// Appends a number to the sequence.
    pub(super) fn add(&mut self, number: u8) {
        self.append(&Self { explained: [0; 2], ends: Some((number, number)) });
    }

    /// Appends another sequence.
    pub(super) fn append(&mut self, other: &Self) {
        let Some((other_first, other_last)) = other.ends else { return };
        let last = self.ends.map(|(_, last)| last);
        for (numbering, (own, more)) in
            Numbering::ALL.into_iter().zip(self.explained.iter_mut().zip(other.explained))
        {
            let between = u64::from(numbering.explains(last, other_first));
            *own = own.saturating_add(more).saturating_add(between);
        }
        let first = self.ends.map_or(other_first, |(first, _)| first);
        self.ends = Some((first, other_last));
    }

    /// Returns the numbering that explains most routes; `None` without numbers.
    pub(super) fn numbering(&self) -> Option<Numbering> {
        let [older, newer] = self.explained;
        self.ends.map(|_| if older > newer { Numbering::Older } else { Numbering::Newer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers copied from `event_metadata.hpp` at two commits.
    const NUMBERS: [(u8, u8, &str); 10] = [
        (1, 1, "READ"),
        (11, 11, "WRITE_"),
        (15, 15, "WRITE_MULTICAST"),
        (26, 26, "ATOMIC_BARRIER"),
        (29, 29, "SEMAPHORE_SET"),
        (30, 33, "FABRIC_UNICAST_WRITE"),
        (33, 36, "FABRIC_FUSED_UNICAST_ATOMIC_INC"),
        (36, 39, "FABRIC_UNICAST_SCATTER_WRITE"),
        (37, 40, "FABRIC_ROUTING_FIELDS_1D"),
        (38, 41, "FABRIC_ROUTING_FIELDS_2D"),
    ];

    #[test]
    fn numbers_are_those_of_both_versions() {
        for (older, newer, name) in NUMBERS {
            let kind = EventKind::from_name(name);
            assert!(kind.is_some(), "{name}");
            assert_eq!(EventKind::from_number(older, Numbering::Older), kind, "{name}");
            assert_eq!(EventKind::from_number(newer, Numbering::Newer), kind, "{name}");
            assert_eq!(kind.map(EventKind::name), Some(name));
        }
    }

    #[test]
    fn a_route_in_the_next_lane_explains_the_packet_before() {
        let mut all = NumberingEvidence::default();
        assert_eq!(all.numbering(), None);
        for lane in [&[11, 30][..], &[], &[37, 11]] {
            let mut lane_evidence = NumberingEvidence::default();
            lane.iter().for_each(|&number| lane_evidence.add(number));
            all.append(&lane_evidence);
        }
        assert_eq!((all.explained, all.ends), ([1, 0], Some((11, 11))));
        assert_eq!(all.numbering(), Some(Numbering::Older));
    }

    #[test]
    fn numbers_beyond_the_table_have_no_kind() {
        for number in [0, 42, 255] {
            assert_eq!(EventKind::from_number(number, Numbering::Newer), None);
        }
        for number in [0, 39, 253, 255] {
            assert_eq!(EventKind::from_number(number, Numbering::Older), None);
        }
        assert_eq!(EventKind::from_name("UNDEF"), None);
    }

    #[test]
    fn one_kind_of_transfer_is_not_another() {
        for kind in EventKind::all() {
            let is_of = [kind.is_read(), kind.is_write(), kind.is_fabric()];
            assert!(is_of.into_iter().filter(|&is_so| is_so).count() <= 1, "{kind:?}");
        }
    }
}
