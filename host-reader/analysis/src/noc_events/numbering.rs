//! Numbers of NoC events in different versions of TT-Metal.

use wire::noc_event::NocEventKind;

/// Version of the event numbers. The newer version inserts three kinds of events at the number 30.
///
/// ```
/// use analysis::noc_events::{NocEventKind, Numbering};
/// assert_eq!(Numbering::Newer.kind(30), Some(NocEventKind::SemaphoreSetRemote));
/// assert_eq!(Numbering::Older.kind(30), Some(NocEventKind::FabricUnicastWrite));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Numbering {
    /// Remote and multicast semaphores have no numbers; the numbers of fabric events begin at 30.
    Older,
    /// Remote and multicast semaphores have the numbers 30 to 32; the numbers of fabric events
    /// begin at 33.
    #[default]
    Newer,
}

/// First number that stands for different kinds of events in the two numberings.
const FIRST_MOVED: u8 = 30;
/// Difference between the newer and the older number of a kind, for older numbers from
/// [`FIRST_MOVED`] on.
const MOVED_BY: u8 = 3;

impl Numbering {
    /// Returns the kind with this number; `None` if the numbering has no such number.
    #[must_use]
    pub fn kind(self, number: u8) -> Option<NocEventKind> {
        let newer = match self {
            Self::Older if number >= FIRST_MOVED => number.checked_add(MOVED_BY)?,
            _ => number,
        };
        NocEventKind::from_number(newer)
    }

    /// Both numberings, each at the index of its discriminant.
    pub(super) const ALL: [Self; 2] = [Self::Older, Self::Newer];

    /// Returns true if, in this numbering, `before` is a packet and `number` is a route.
    fn explains(self, before: Option<u8>, number: u8) -> bool {
        let is_route = matches!(
            self.kind(number),
            Some(NocEventKind::FabricRoutingFields1d | NocEventKind::FabricRoutingFields2d)
        );
        let before = before.and_then(|number| self.kind(number));
        is_route && before.is_some_and(NocEventKind::is_fabric)
    }
}

/// Properties of a sequence of events that show which [`Numbering`] of event types it uses. Events
/// are added in the order in which a RISC recorded them.
///
/// A fabric packet is followed by the event for its route. The two numberings use different numbers
/// for routes, so only the right numbering decodes the second event as a route.
#[derive(Clone, Debug, Default)]
pub(super) struct NumberingEvidence {
    /// For each numbering, the number of routes that directly follow their packet.
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

    /// Returns the numbering in which more route events directly follow a packet event. If the
    /// counts are equal, returns [`Numbering::Newer`]. Returns `None` if the sequence is empty.
    pub(super) fn numbering(&self) -> Option<Numbering> {
        let [older, newer] = self.explained;
        self.ends.map(|_| if older > newer { Numbering::Older } else { Numbering::Newer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Older number, newer number and kind, copied from `event_metadata.hpp` at two commits.
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
            let kind = NocEventKind::from_label(name);
            assert!(kind.is_some(), "{name}");
            assert_eq!(Numbering::Older.kind(older), kind, "{name}");
            assert_eq!(Numbering::Newer.kind(newer), kind, "{name}");
            assert_eq!(kind.map(NocEventKind::label), Some(name));
        }
    }

    #[test]
    fn a_route_behind_its_packet_decides_the_numbering() {
        for (numbers, expected) in [
            ([30, 37, 11], Numbering::Older),
            ([33, 40, 11], Numbering::Newer),
            ([11, 20, 21], Numbering::Newer),
        ] {
            let mut evidence = NumberingEvidence::default();
            numbers.into_iter().for_each(|number| evidence.add(number));
            assert_eq!(evidence.numbering(), Some(expected), "{numbers:?}");
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
            assert_eq!(Numbering::Newer.kind(number), None);
        }
        for number in [0, 39, 253, 255] {
            assert_eq!(Numbering::Older.kind(number), None);
        }
        assert_eq!(NocEventKind::from_label("UNDEF"), None);
    }

    #[test]
    fn one_kind_of_transfer_is_not_another() {
        for kind in NocEventKind::ALL {
            let is_of = [kind.is_read(), kind.is_write(), kind.is_fabric()];
            assert!(is_of.into_iter().filter(|&is_so| is_so).count() <= 1, "{kind:?}");
        }
    }
}
