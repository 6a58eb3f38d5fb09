//! Zones of a context, merged in time order.
//!
//! If a time is much earlier than the previous time, a viewer assumes that the counter has
//! restarted. So the lanes of a context must be sent as a single sequence in time order.

use crate::{TraceZones, ZoneEdge, tracy::scene::SceneLane};
use std::{
    cmp::Reverse,
    collections::{BinaryHeap, binary_heap::PeekMut},
};

/// Iterator over the starts and ends of zones in all lanes of a context, in time order.
pub(super) struct InOrder<'a, I> {
    lanes: &'a [SceneLane<'a>],
    edges: Vec<I>,
    next: BinaryHeap<Reverse<(u64, usize, NextEdge)>>,
}

/// A [`ZoneEdge`] that can be sorted. Edges of the same lane are never compared, because only the
/// next edge of each lane is queued.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct NextEdge {
    is_end: bool,
    zone: usize,
}

impl NextEdge {
    const fn from_edge(edge: ZoneEdge) -> Self {
        match edge {
            ZoneEdge::Begin(zone) => Self { is_end: false, zone },
            ZoneEdge::End(zone) => Self { is_end: true, zone },
        }
    }

    fn time_ns(self, zones: &TraceZones) -> u64 {
        let times = if self.is_end { zones.end_ns() } else { zones.start_ns() };
        times.get(self.zone).copied().unwrap_or(0)
    }
}

/// Start or end of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) time_ns: u64,
    /// Index of the lane in its context.
    pub(super) lane: usize,
    pub(super) edge: ZoneEdge,
}

/// Merges the lanes of a context by time.
pub(super) fn in_order<'a>(
    lanes: &'a [SceneLane<'a>],
) -> InOrder<'a, impl Iterator<Item = ZoneEdge> + 'a> {
    let mut edges: Vec<_> = lanes.iter().map(|lane| lane.zones.edges()).collect();
    let first = edges.iter_mut().zip(lanes).enumerate().filter_map(|(index, (edges, lane))| {
        let edge = NextEdge::from_edge(edges.next()?);
        Some(Reverse((edge.time_ns(lane.zones), index, edge)))
    });
    let next = first.collect();
    InOrder { lanes, edges, next }
}

impl<I: Iterator<Item = ZoneEdge>> Iterator for InOrder<'_, I> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let mut top = self.next.peek_mut()?;
        let Reverse((time_ns, lane, edge)) = *top;
        match self.edges[lane].next().map(NextEdge::from_edge) {
            Some(following) => {
                *top = Reverse((following.time_ns(self.lanes[lane].zones), lane, following));
            }
            None => {
                PeekMut::pop(top);
            }
        }
        let NextEdge { is_end, zone } = edge;
        let edge = if is_end { ZoneEdge::End(zone) } else { ZoneEdge::Begin(zone) };
        Some(Step { time_ns, lane, edge })
    }
}
