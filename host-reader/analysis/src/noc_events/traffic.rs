//! Traffic: bytes moved between tiles and over links.

use crate::noc_events::{
    payload::{Noc, RawCoord},
    route::Direction,
    trace::ProgramTrace,
    traffic_sums::Sums,
};
use reader::mesh::Noc0Coord;
use std::{collections::BTreeMap, sync::Arc};
use wire::{RunHostId, noc_event::NocEventKind};

/// Events of one kind that one RISC recorded in one program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Number of the chip.
    pub chip_id: u32,
    /// Program.
    pub program: RunHostId,
    /// Name of the op; empty if unknown.
    pub op_name: Arc<str>,
    /// Core.
    pub core: Noc0Coord,
    /// Label of the RISC that recorded the events.
    pub risc: Arc<str>,
    /// Network.
    pub noc: Noc,
    /// Kind of the events.
    pub kind: NocEventKind,
    /// Number of events.
    pub event_count: u64,
    /// Bytes of the events' payloads, each rounded up to 32.
    pub byte_count: u64,
    /// Number of payloads recorded with the maximum size that an event can hold. They may be
    /// larger.
    pub saturated_count: u64,
    /// Total cycles of the waits that these events began; 0 if they do not begin waits.
    pub wait_cycles: u64,
}

impl Activity {
    /// Returns true if more bytes may have been moved than recorded.
    #[must_use]
    pub const fn is_lower_bound(&self) -> bool {
        self.saturated_count > 0
    }
}

/// Transfers between two tiles of a chip over one network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Number of the chip.
    pub chip_id: u32,
    /// Network.
    pub noc: Noc,
    /// Tile that sends the bytes.
    pub from: Noc0Coord,
    /// Tile that receives the bytes.
    pub to: Noc0Coord,
    /// Number of transfers.
    pub transfer_count: u64,
    /// Bytes, with each transfer rounded up to 32.
    pub byte_count: u64,
    /// True if more bytes may have been moved: an event had the maximum size that it can hold.
    pub is_lower_bound: bool,
}

/// Transfers between a core and an unknown tile. The tile is unknown because the chip's harvested
/// lines are unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnplacedPair {
    /// Number of the chip.
    pub chip_id: u32,
    /// Network.
    pub noc: Noc,
    /// Core that recorded the transfers.
    pub core: Noc0Coord,
    /// Coordinates of the unknown tile, as used by the core's kernel.
    pub target: RawCoord,
    /// True if the core reads from the unknown tile, false if the core writes to the unknown tile.
    pub is_read: bool,
    /// Number of transfers.
    pub transfer_count: u64,
    /// Bytes, with each transfer rounded up to 32.
    pub byte_count: u64,
    /// True if more bytes may have been moved: an event had the maximum size that it can hold.
    pub is_lower_bound: bool,
}

/// A link between two neighbouring tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// Number of the chip.
    pub chip_id: u32,
    /// Network.
    pub noc: Noc,
    /// Tile at the start of the link.
    pub tile: Noc0Coord,
    /// Direction in which the link leaves `tile`.
    pub direction: Direction,
}

/// Bytes transferred over one link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLoad {
    /// Link.
    pub link: Link,
    /// Bytes, with each transfer rounded up to 32.
    pub byte_count: u64,
    /// True if more bytes may have been moved: an event had the maximum size that it can hold.
    pub is_lower_bound: bool,
}

reader::labelled! {
    /// Reason why the bytes of an event are in no pair of tiles.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum OutsideReason {
        /// A multicast.
        Multicast = "to several tiles at once",
        /// Neither the event nor an earlier one names a target.
        NoTarget = "to or from a tile that is not known",
        /// A fabric packet.
        OtherChip = "sent on to other chips",
        /// The event moves nothing, such as one that sets the size of later transfers.
        NoTransfer = "a size, of transfers that other events make",
    }
}

/// Bytes of events of one kind that are in no pair of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutsideBytes {
    /// Number of the chip.
    pub chip_id: u32,
    /// Network.
    pub noc: Noc,
    /// Kind of event.
    pub kind: NocEventKind,
    /// Why the bytes are in no pair.
    pub reason: OutsideReason,
    /// Number of events.
    pub event_count: u64,
    /// Bytes, with each transfer rounded up to 32.
    pub byte_count: u64,
    /// True if more bytes may have been moved: an event had the maximum size that it can hold.
    pub is_lower_bound: bool,
}

/// Traffic of one or more programs.
///
/// Each event's bytes are in `pairs`, `unplaced_pairs` or `outside`. A transfer whose size an earlier
/// event has set has this size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Events, summed by program, core, RISC, network and kind.
    pub activities: Vec<Activity>,
    /// Transfers, summed by network and pair of tiles.
    pub pairs: Vec<Pair>,
    /// Bytes transferred over each link, the busiest first.
    pub links: Vec<LinkLoad>,
    /// Number of multicasts. They are not in `pairs` or `links`.
    pub multicast_count: u64,
    /// Transfers with an unknown tile, summed by network, core and target.
    pub unplaced_pairs: Vec<UnplacedPair>,
    /// Number of transfers with an unknown tile. They are not in `pairs` or `links`.
    pub unplaced_count: u64,
    /// Events whose bytes are in no pair, summed by network, kind and reason.
    pub outside: Vec<OutsideBytes>,
    /// Number of waits without an end. Their cycles are unknown.
    pub open_wait_count: u64,
    /// Number of objects of an unknown kind.
    pub unknown_count: u64,
    /// Kind, lane and time of the first object of an unknown kind.
    pub first_unknown: Option<String>,
}

impl Traffic {
    /// Sums the events of traces.
    ///
    /// `grid` returns the columns and rows of a chip's tiles. For a chip without a grid, `links` is
    /// empty.
    #[must_use]
    pub fn from_traces(traces: &[ProgramTrace], grid: impl Fn(u32) -> Option<(u16, u16)>) -> Self {
        let mut sums = Sums::default();
        traces.iter().for_each(|trace| sums.add_trace(trace));
        sums.finish(grid)
    }

    /// Returns the activities of all cores, summed by program, RISC, network and kind.
    ///
    /// Each element contains the number of summed activities, and the sum as an [`Activity`]. The
    /// `core` of the sum is the core of the first activity.
    #[must_use]
    pub fn sums_over_cores(&self) -> Vec<(u64, Activity)> {
        let mut sums: BTreeMap<_, (u64, Activity)> = BTreeMap::new();
        for one in &self.activities {
            let key = (one.chip_id, one.program, &*one.op_name, &*one.risc, one.noc, one.kind);
            let Some((core_count, sum)) = sums.get_mut(&key) else {
                sums.insert(key, (1, one.clone()));
                continue;
            };
            *core_count = core_count.saturating_add(1);
            sum.event_count = sum.event_count.saturating_add(one.event_count);
            sum.byte_count = sum.byte_count.saturating_add(one.byte_count);
            sum.saturated_count = sum.saturated_count.saturating_add(one.saturated_count);
            sum.wait_cycles = sum.wait_cycles.saturating_add(one.wait_cycles);
        }
        sums.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noc_events::TraceObject;

    const GRID: (u16, u16) = (10, 12);

    fn at(x: u16, y: u16) -> Noc0Coord {
        Noc0Coord { x, y }
    }

    fn event(kind: NocEventKind, time: u64, target: Option<(i32, i32)>, bytes: u64) -> TraceObject {
        TraceObject {
            event_type: Some(kind.label().to_owned()),
            noc: Some("NOC_0".to_owned()),
            proc: "BRISC".to_owned(),
            sx: 1,
            sy: 1,
            timestamp: time,
            num_bytes: Some(bytes),
            dx: target.map(|(x, _)| x),
            dy: target.map(|(_, y)| y),
            ..TraceObject::default()
        }
    }

    fn traffic(objects: Vec<TraceObject>) -> Traffic {
        let trace = ProgramTrace {
            chip_id: 0,
            program: RunHostId(1024),
            trace: None,
            op_name: String::new(),
            objects,
        };
        Traffic::from_traces(&[trace], |_| Some(GRID))
    }

    #[test]
    fn sums_over_cores_keep_programs_and_kinds_apart() {
        let mut objects = vec![
            event(NocEventKind::Write, 10, Some((3, 1)), 32),
            event(NocEventKind::Read, 20, Some((0, 1)), 64),
        ];
        let other_core = |object: &TraceObject| TraceObject { sx: 2, ..object.clone() };
        objects.extend(objects.iter().map(other_core).collect::<Vec<_>>());
        objects.push(event(NocEventKind::Write, 30, Some((3, 1)), 96));
        let sums = traffic(objects).sums_over_cores();
        let sums = sums.iter().map(|(core_count, sum)| {
            (sum.kind, *core_count, sum.core, sum.event_count, sum.byte_count)
        });
        let expected =
            [(NocEventKind::Read, 2, at(1, 1), 2, 128), (NocEventKind::Write, 2, at(1, 1), 3, 160)];
        assert_eq!(sums.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_read_comes_from_its_target_and_a_write_goes_there() {
        let traffic = traffic(vec![
            event(NocEventKind::Read, 10, Some((0, 1)), 64),
            event(NocEventKind::Write, 20, Some((3, 1)), 32),
            event(NocEventKind::Write, 30, Some((3, 1)), 8_160),
        ]);
        let pairs: Vec<_> = traffic
            .pairs
            .iter()
            .map(|pair| (pair.from, pair.to, pair.transfer_count, pair.byte_count))
            .collect();
        assert_eq!(pairs, [(at(0, 1), at(1, 1), 1, 64), (at(1, 1), at(3, 1), 2, 8_192)]);
        let write = traffic.activities.iter().find(|one| one.kind == NocEventKind::Write).unwrap();
        assert!(write.is_lower_bound());
        // Only the pair and the links of the write of 8,160 bytes, the most that its field holds.
        let bounds: Vec<_> = traffic.pairs.iter().map(|pair| pair.is_lower_bound).collect();
        assert_eq!(bounds, [false, true]);
        let bounds = traffic.links.iter().map(|load| (load.link.tile.x, load.is_lower_bound));
        assert_eq!(bounds.collect::<Vec<_>>(), [(1, true), (2, true), (0, false)]);
        let loads: Vec<_> =
            traffic.links.iter().map(|load| (load.link.tile.x, load.byte_count)).collect();
        assert_eq!(loads, [(1, 8_192), (2, 8_192), (0, 64)]);
    }

    #[test]
    fn bytes_in_no_pair_are_a_lower_bound_where_a_size_is_cut() {
        let bounds = |sizes: &[u64]| {
            let events = (1_u64..).zip(sizes);
            let events = events
                .map(|(at, size)| event(NocEventKind::WriteMulticast, at, Some((3, 1)), *size));
            let traffic = traffic(events.collect());
            let [outside] = traffic.outside.as_slice() else { panic!("{:?}", traffic.outside) };
            (outside.byte_count, outside.is_lower_bound)
        };
        assert_eq!(bounds(&[2_048, 8_160]), (10_208, true));
        assert_eq!(bounds(&[2_048, 4_096]), (6_144, false));
        // A size above 8,160 shows a field of 12 bits, which holds up to 131,040.
        assert_eq!(bounds(&[8_160, 16_384]), (24_544, false));
        assert_eq!(bounds(&[8_160, 131_040]), (139_200, true));
    }

    #[test]
    fn transfers_with_unknown_tiles_keep_the_kernels_coordinates() {
        let unplaced = |kind, time, x| TraceObject {
            unplaced_target: Some(RawCoord { x, y: 20 }),
            ..event(kind, time, None, 64)
        };
        let traffic = traffic(vec![
            TraceObject { num_bytes: Some(0), ..unplaced(NocEventKind::WriteSetState, 5, 19) },
            event(NocEventKind::WriteWithState, 6, None, 32),
            unplaced(NocEventKind::Write, 10, 19),
            unplaced(NocEventKind::Read, 20, 19),
            unplaced(NocEventKind::Read, 30, 22),
        ]);
        assert_eq!((traffic.pairs.len(), traffic.unplaced_count), (0, 4));
        let pairs = traffic.unplaced_pairs.iter();
        let pairs: Vec<_> = pairs
            .map(|one| (one.core, one.target.x, one.is_read, one.transfer_count, one.byte_count))
            .collect();
        let core = at(1, 1);
        let expected = [(core, 19, false, 2, 96), (core, 19, true, 1, 64), (core, 22, true, 1, 64)];
        assert_eq!(pairs, expected);
    }

    /// Bytes that no pair has are told with the reason: no byte of an event is in no sum.
    #[test]
    fn each_byte_of_an_event_is_in_a_pair_or_outside_of_all() {
        let mut seed = 7_u64;
        let mut below = |limit: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % limit
        };
        let is_of_state = |kind: &NocEventKind| kind.label().contains("_STATE");
        let kinds: Vec<_> = NocEventKind::ALL.into_iter().filter(|of| !is_of_state(of)).collect();
        for _ in 0..200 {
            let objects: Vec<TraceObject> = (0..below(40))
                .map(|time| {
                    let kind = kinds[below(kinds.len())];
                    let bytes = u64::try_from(below(4) * 32).unwrap();
                    let target = [None, Some((3, 1)), Some((0, 1))][below(3)];
                    let unplaced = target.is_none() && below(2) == 0;
                    TraceObject {
                        unplaced_target: unplaced.then_some(RawCoord { x: 19, y: 20 }),
                        ..event(kind, time as u64, target, bytes)
                    }
                })
                .collect();
            let whole: u64 = objects.iter().filter_map(|object| object.num_bytes).sum();
            let fabric = objects.iter().filter(|object| {
                object.event_type.as_deref().is_some_and(|kind| kind.starts_with("FABRIC"))
            });
            let fabric: u64 = fabric.filter_map(|object| object.num_bytes).sum();
            let found = traffic(objects);
            let of = |reason: Option<OutsideReason>| -> u64 {
                let own = found.outside.iter().filter(|of| reason.is_none_or(|is| of.reason == is));
                own.map(|of| of.byte_count).sum()
            };
            let pairs: u64 = found.pairs.iter().map(|pair| pair.byte_count).sum();
            let unplaced: u64 = found.unplaced_pairs.iter().map(|pair| pair.byte_count).sum();
            assert_eq!(pairs + unplaced + of(None), whole);
            let sent_on = of(Some(OutsideReason::OtherChip));
            let sizes = of(Some(OutsideReason::NoTransfer));
            assert!(sent_on <= fabric && sent_on + sizes >= fabric);
            let events: u64 = found.activities.iter().map(|one| one.byte_count).sum();
            assert_eq!(events, whole);
        }
    }

    /// An event that sets a size moves nothing; the transfers of this size do.
    #[test]
    fn a_size_that_an_event_sets_is_outside_of_pairs() {
        let found = traffic(vec![
            event(NocEventKind::WriteSetState, 5, Some((3, 1)), 64),
            event(NocEventKind::WriteWithState, 6, None, 0),
            event(NocEventKind::WriteWithState, 7, None, 0),
        ]);
        let pairs: Vec<_> = found.pairs.iter().map(|pair| pair.byte_count).collect();
        assert_eq!(pairs, [128]);
        let outside = found.outside.iter().map(|of| (of.kind, of.reason, of.byte_count));
        let expected = [(NocEventKind::WriteSetState, OutsideReason::NoTransfer, 64)];
        assert_eq!(outside.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn transfers_with_state_go_where_the_state_says() {
        let traffic = traffic(vec![
            event(NocEventKind::WriteWithState, 5, None, 32),
            event(NocEventKind::WriteSetState, 10, Some((2, 1)), 0),
            event(NocEventKind::WriteWithState, 20, None, 32),
            event(NocEventKind::ReadWithState, 30, None, 32),
        ]);
        assert_eq!((traffic.pairs.len(), traffic.unplaced_count), (1, 2));
        assert_eq!((traffic.pairs[0].to, traffic.pairs[0].byte_count), (at(2, 1), 32));
    }

    #[test]
    fn a_packets_size_is_part_of_the_state() {
        // TT-Metal records the packet size when the state is set, but not for each packet.
        let traffic = traffic(vec![
            event(NocEventKind::ReadSetState, 10, Some((2, 1)), 2_048),
            event(NocEventKind::ReadWithState, 20, None, 0),
            event(NocEventKind::ReadWithState, 30, None, 0),
        ]);
        assert_eq!((traffic.pairs[0].from, traffic.pairs[0].byte_count), (at(2, 1), 4_096));
    }

    #[test]
    fn a_wait_lasts_from_its_beginning_to_its_end() {
        let traffic = traffic(vec![
            event(NocEventKind::ReadBarrierStart, 10, None, 0),
            event(NocEventKind::ReadBarrierEnd, 35, None, 0),
            event(NocEventKind::WriteBarrierStart, 40, None, 0),
            event(NocEventKind::ReadBarrierEnd, 50, None, 0),
        ]);
        let waits: Vec<_> = traffic
            .activities
            .iter()
            .map(|one| (one.kind, one.wait_cycles))
            .filter(|(kind, _)| kind.end_of_wait().is_some())
            .collect();
        let expected = [(NocEventKind::ReadBarrierStart, 25), (NocEventKind::WriteBarrierStart, 0)];
        assert_eq!((waits.as_slice(), traffic.open_wait_count), (expected.as_slice(), 1));
    }
}
