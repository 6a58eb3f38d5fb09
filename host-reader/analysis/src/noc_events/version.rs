//! Versions of the payload of NoC events.

use crate::noc_events::{
    payload::{LocalEvent, Noc, Payload, PayloadError, RawCoord},
    size_field::SizeField,
};
use wire::noc_event::NocEventKind;

/// Version of the payload: the place of its fields, and the numbers of the kinds. Each version is
/// named after the byte that holds the number of the kind.
///
/// A log does not name its version; it follows from the events themselves.
///
/// ```
/// use analysis::noc_events::{NocEventKind, PayloadVersion};
/// assert_eq!(PayloadVersion::Byte0Remote.kind(30), Some(NocEventKind::SemaphoreSetRemote));
/// assert_eq!(PayloadVersion::Byte0.kind(30), Some(NocEventKind::FabricUnicastWrite));
/// assert_eq!(PayloadVersion::Byte6.kind(19), Some(NocEventKind::WriteBarrierStart));
/// ```
///
/// # Compatibility
/// `event_metadata.hpp` of TT-Metal in different states of its history: the first four versions are
/// of 2025.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PayloadVersion {
    /// Column, row, kind, network, virtual channel, and 24 bits with the number of bytes.
    Byte2,
    /// Column, row, last column and row of a rectangle, kind, network with virtual channel, and 16
    /// bits with the number of bytes.
    Byte4,
    /// Like [`Self::Byte4`], with a number for barriers of all transfers.
    Byte4FullBarrier,
    /// Column, row, last column and row, network with virtual channel, units of 32 bytes, kind.
    Byte6,
    /// The kind, then the other fields. The numbers of fabric events begin at 30.
    Byte0,
    /// Like [`Self::Byte0`], with numbers for remote and multicast semaphores from 30 on. The
    /// numbers of fabric events begin at 33.
    #[default]
    Byte0Remote,
}

use NocEventKind as Kind;

/// Kinds of [`PayloadVersion::Byte2`], from the number 1 on.
const KINDS_OF_BYTE_2: [Kind; 21] = [
    Kind::Read,
    Kind::ReadSetState,
    Kind::ReadSetTrid,
    Kind::ReadWithState,
    Kind::ReadWithStateAndTrid,
    Kind::ReadBarrierStart,
    Kind::ReadBarrierEnd,
    Kind::ReadBarrierWithTrid,
    Kind::Write,
    Kind::WriteInline,
    Kind::WriteMulticast,
    Kind::WriteSetState,
    Kind::WriteWithState,
    Kind::WriteBarrierStart,
    Kind::WriteBarrierEnd,
    Kind::WriteBarrierWithTrid,
    Kind::WriteFlush,
    Kind::AtomicBarrier,
    Kind::SemaphoreInc,
    Kind::SemaphoreWait,
    Kind::SemaphoreSet,
];

/// Kinds of [`PayloadVersion::Byte6`] and [`PayloadVersion::Byte4FullBarrier`], from the number 1
/// on.
const KINDS_OF_BYTE_6: [Kind; 27] = [
    Kind::Read,
    Kind::ReadSetState,
    Kind::ReadSetTrid,
    Kind::ReadWithState,
    Kind::ReadWithStateAndTrid,
    Kind::ReadBarrierStart,
    Kind::ReadBarrierEnd,
    Kind::ReadBarrierWithTrid,
    Kind::ReadDramShardedSetState,
    Kind::ReadDramShardedWithState,
    Kind::Write,
    Kind::WriteWithTrid,
    Kind::WriteInline,
    Kind::WriteMulticast,
    Kind::WriteSetState,
    Kind::WriteWithState,
    Kind::WriteWithTridSetState,
    Kind::WriteWithTridWithState,
    Kind::WriteBarrierStart,
    Kind::WriteBarrierEnd,
    Kind::WriteBarrierWithTrid,
    Kind::WriteFlush,
    Kind::FullBarrier,
    Kind::AtomicBarrier,
    Kind::SemaphoreInc,
    Kind::SemaphoreWait,
    Kind::SemaphoreSet,
];

/// Number of [`NocEventKind::FullBarrier`] in the table above. [`PayloadVersion::Byte4`] does not
/// have this kind, so its later numbers are one lower.
const FULL_BARRIER: u8 = 23;
/// Numbers of fabric packets and their routes in [`PayloadVersion::Byte6`].
const FABRIC_OF_BYTE_6: std::ops::RangeInclusive<u8> = 28..=35;
/// First number that stands for different kinds in the two newest versions.
const FIRST_MOVED: u8 = 30;
/// Difference between the numbers of a kind in the two newest versions, from [`FIRST_MOVED`] on.
const MOVED_BY: u8 = 3;

impl PayloadVersion {
    /// All versions, from the oldest to the newest.
    pub const ALL: [Self; 6] = [
        Self::Byte2,
        Self::Byte4,
        Self::Byte4FullBarrier,
        Self::Byte6,
        Self::Byte0,
        Self::Byte0Remote,
    ];

    /// Returns the kind with this number; `None` if the version has no such number, or if it is the
    /// number of a fabric packet in [`Self::Byte6`].
    #[must_use]
    pub fn kind(self, number: u8) -> Option<NocEventKind> {
        let at = usize::from(number.checked_sub(1)?);
        match self {
            Self::Byte2 => KINDS_OF_BYTE_2.get(at).copied(),
            Self::Byte4 if number >= FULL_BARRIER => {
                KINDS_OF_BYTE_6.get(at.checked_add(1)?).copied()
            }
            Self::Byte4 | Self::Byte4FullBarrier | Self::Byte6 => KINDS_OF_BYTE_6.get(at).copied(),
            Self::Byte0 if number >= FIRST_MOVED => {
                NocEventKind::from_number(number.checked_add(MOVED_BY)?)
            }
            Self::Byte0 | Self::Byte0Remote => NocEventKind::from_number(number),
        }
    }

    /// Returns the number of the event's kind.
    #[must_use]
    pub const fn number(self, bits: u64) -> u8 {
        let [b0, _, b2, _, b4, _, b6, _] = bits.to_le_bytes();
        match self {
            Self::Byte2 => b2,
            Self::Byte4 | Self::Byte4FullBarrier => b4,
            Self::Byte6 => b6,
            Self::Byte0 | Self::Byte0Remote => b0,
        }
    }

    /// Returns the kind of the event.
    pub(super) fn kind_of(self, bits: u64) -> Result<NocEventKind, PayloadError> {
        let number = self.number(bits);
        if self == Self::Byte6 && FABRIC_OF_BYTE_6.contains(&number) {
            return Err(PayloadError::FabricWithoutNetwork { number });
        }
        self.kind(number).ok_or(PayloadError::UnknownKind { number })
    }
}

/// Properties of a sequence of events that show which [`PayloadVersion`] they have. Events are
/// added in the order in which a RISC recorded them.
///
/// A version explains an event if the fields agree with the kind: a wait has no target, a transfer
/// has one, only a rectangle has a last corner, the end of a wait follows its start, and a route
/// follows its packet. Another version reads the same bits as contradictions.
#[derive(Clone, Debug, Default)]
pub(super) struct VersionEvidence {
    /// Number of events.
    total: u64,
    /// For each version, the number of events that it explains.
    explained: [u64; PayloadVersion::ALL.len()],
    /// For each version, the highest number of a kind.
    highest: [u8; PayloadVersion::ALL.len()],
    /// For each version, what the events so far have begun.
    begun: [Begun; PayloadVersion::ALL.len()],
}

/// What earlier events of a lane have begun.
#[derive(Clone, Copy, Debug, Default)]
struct Begun {
    read_barrier: bool,
    write_barrier: bool,
    packet: bool,
}

impl VersionEvidence {
    /// Appends an event to the sequence.
    pub(super) fn add(&mut self, bits: u64) {
        self.total = self.total.saturating_add(1);
        let tallies = self.explained.iter_mut().zip(&mut self.highest).zip(&mut self.begun);
        for (version, ((explained, highest), begun)) in PayloadVersion::ALL.into_iter().zip(tallies)
        {
            *highest = (*highest).max(version.number(bits));
            // No check depends on the width of the size field.
            let payload = Payload::decode(bits, version, SizeField::default());
            *explained = explained.saturating_add(begun.explains(payload).into());
        }
    }

    /// Adds the counts of another sequence, such as the events of another RISC.
    pub(super) fn merge(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        for (own, more) in self.explained.iter_mut().zip(other.explained) {
            *own = own.saturating_add(more);
        }
        for (own, more) in self.highest.iter_mut().zip(other.highest) {
            *own = (*own).max(more);
        }
    }

    /// Returns the number of events.
    pub(super) const fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of events that the version explains.
    pub(super) fn explained(&self, version: PayloadVersion) -> u64 {
        self.explained.get(version as usize).copied().unwrap_or(0)
    }

    /// Returns the version that explains most events.
    ///
    /// Returns `None` if no version explains half of the events, or if several versions explain
    /// equally many and read the events differently.
    pub(super) fn version(&self) -> Option<PayloadVersion> {
        let most = self.explained.into_iter().max().filter(|&most| most > 0)?;
        if most < self.total.div_ceil(2) {
            return None;
        }
        let explained = PayloadVersion::ALL.into_iter().zip(self.explained).zip(self.highest);
        let best: Vec<_> = explained.filter(|&((_, count), _)| count == most).collect();
        match best.as_slice() {
            // Newer TT-Metal is more likely where both read the same.
            [((PayloadVersion::Byte0, _), _), ((newer, _), _)] => Some(*newer),
            [((PayloadVersion::Byte4, _), _), ((newer, _), highest)]
                if *newer == PayloadVersion::Byte4FullBarrier && *highest < FULL_BARRIER =>
            {
                Some(*newer)
            }
            [((only, _), _)] => Some(*only),
            _ => None,
        }
    }
}

impl Begun {
    /// Returns true if the event agrees with itself and with the events before it.
    fn explains(&mut self, payload: Result<Payload, PayloadError>) -> bool {
        let after_packet = std::mem::take(&mut self.packet);
        let event = match payload {
            Err(PayloadError::FabricWithoutNetwork { .. }) => return true,
            Err(_) => return false,
            Ok(Payload::Routing(_)) => return after_packet,
            Ok(Payload::Fabric(event)) => {
                self.packet = true;
                return event.noc != Noc::Undefined;
            }
            Ok(Payload::Local(event)) => event,
        };
        let follows = match event.kind {
            Kind::ReadBarrierStart => !std::mem::replace(&mut self.read_barrier, true),
            Kind::ReadBarrierEnd => std::mem::take(&mut self.read_barrier),
            Kind::WriteBarrierStart => !std::mem::replace(&mut self.write_barrier, true),
            Kind::WriteBarrierEnd => std::mem::take(&mut self.write_barrier),
            _ => true,
        };
        follows && is_consistent(&event)
    }
}

/// Returns true if the fields of an event agree with its kind.
fn is_consistent(event: &LocalEvent) -> bool {
    const NO_TARGET: RawCoord = RawCoord { x: -1, y: -1 };
    const NO_CORNERS: [RawCoord; 2] = [NO_TARGET, RawCoord { x: 0, y: 0 }];
    let is_tile = event.target.x >= 0 && event.target.y >= 0;
    let has_corner = !NO_CORNERS.contains(&event.multicast_end);
    let fields_agree = match event.kind {
        Kind::ReadBarrierStart
        | Kind::ReadBarrierEnd
        | Kind::ReadBarrierWithTrid
        | Kind::WriteBarrierStart
        | Kind::WriteBarrierEnd
        | Kind::WriteBarrierWithTrid
        | Kind::WriteFlush
        | Kind::WriteFlushWithTrid
        | Kind::FullBarrier
        | Kind::AtomicBarrier
        | Kind::SemaphoreWait => {
            event.target == NO_TARGET
                && !has_corner
                && event.byte_count == 0
                && event.virtual_channel == -1
        }
        Kind::Read | Kind::Write | Kind::WriteInline | Kind::SemaphoreInc => is_tile && !has_corner,
        Kind::WriteMulticast => is_tile,
        _ => true,
    };
    fields_agree && event.noc != Noc::Undefined
}

#[cfg(test)]
mod tests;
