//! The zones of one lane, ready to be drawn: in time order and properly nested.

use super::NameId;
use std::iter::Peekable;

/// One zone, assembled from the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceZone {
    /// Number of the zone's name in [`super::TraceNames`].
    pub name: NameId,
    /// First cycle, on the chip's reference clock.
    pub start_cycle: u64,
    /// Last cycle as drawn; see [`TraceZone::duration_cycles`].
    pub end_cycle: u64,
    /// Start in nanoseconds since the trace's origin.
    pub start_ns: u64,
    /// End in nanoseconds since the trace's origin.
    pub end_ns: u64,
    /// Recorded duration in cycles; longer than drawn if the zone is clipped.
    pub duration_cycles: u64,
    /// Number of enclosing zones; 0 for an outermost zone.
    pub depth: u16,
    /// Index of the zone's run in [`super::TraceLane::runs`]; `None` before the first run.
    pub run: Option<u32>,
    /// True if the end is synthetic: its record is missing.
    pub has_synthetic_end: bool,
    /// True if the zone is drawn shorter than recorded, because it would extend beyond its parent.
    pub is_clipped: bool,
}

/// The zones of one lane, column by column.
///
/// Zones are ordered by start, parents before their children. A zone ends no later than its parent,
/// and no later than the next zone of the same depth begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceZones {
    pub(super) names: Vec<NameId>,
    pub(super) start_cycles: Vec<u64>,
    pub(super) end_cycles: Vec<u64>,
    pub(super) start_ns: Vec<u64>,
    pub(super) end_ns: Vec<u64>,
    pub(super) depths: Vec<u16>,
    pub(super) runs: Vec<u32>,
    pub(super) synthetic_ends: Vec<bool>,
    /// Recorded durations of clipped zones, ascending by index.
    pub(super) clipped: Vec<(usize, u64)>,
}

/// Begin or end of a zone, with the zone's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneEdge {
    /// The zone begins.
    Begin(usize),
    /// The zone ends.
    End(usize),
}

impl TraceZones {
    /// Returns the number of zones.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns true if there are no zones.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the name of each zone.
    #[must_use]
    pub fn names(&self) -> &[NameId] {
        &self.names
    }

    /// Returns the first cycle of each zone.
    #[must_use]
    pub fn start_cycles(&self) -> &[u64] {
        &self.start_cycles
    }

    /// Returns the last cycle of each zone, as drawn.
    #[must_use]
    pub fn end_cycles(&self) -> &[u64] {
        &self.end_cycles
    }

    /// Returns the start of each zone, in nanoseconds since the trace's origin.
    #[must_use]
    pub fn start_ns(&self) -> &[u64] {
        &self.start_ns
    }

    /// Returns the end of each zone, in nanoseconds since the trace's origin.
    #[must_use]
    pub fn end_ns(&self) -> &[u64] {
        &self.end_ns
    }

    /// Returns the number of enclosing zones for each zone.
    #[must_use]
    pub fn depths(&self) -> &[u16] {
        &self.depths
    }

    /// Returns the maximum number of zones that are open at once.
    pub(crate) fn level_count(&self) -> u16 {
        self.depths.iter().max().map_or(0, |deepest| deepest.saturating_add(1))
    }

    /// Returns the number of zones that are drawn shorter than recorded.
    #[must_use]
    pub const fn clipped_count(&self) -> usize {
        self.clipped.len()
    }

    /// Returns the zone with this index.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<TraceZone> {
        let (start_cycle, end_cycle) =
            (*self.start_cycles.get(index)?, *self.end_cycles.get(index)?);
        let clipped = match self.clipped.is_empty() {
            true => None,
            false => self.clipped.binary_search_by_key(&index, |&(zone, _)| zone).ok(),
        };
        let recorded = clipped.map(|position| self.clipped[position].1);
        Some(TraceZone {
            name: *self.names.get(index)?,
            start_cycle,
            end_cycle,
            start_ns: *self.start_ns.get(index)?,
            end_ns: *self.end_ns.get(index)?,
            duration_cycles: recorded.unwrap_or_else(|| end_cycle.saturating_sub(start_cycle)),
            depth: *self.depths.get(index)?,
            run: self.runs.get(index).copied().filter(|&run| run != reader::timeline::NO_RUN),
            has_synthetic_end: *self.synthetic_ends.get(index)?,
            is_clipped: recorded.is_some(),
        })
    }

    /// Returns all zones in order.
    pub fn iter(&self) -> impl Iterator<Item = TraceZone> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Returns begins and ends in stack order: at equal times, a zone ends before the next zone
    /// begins, unless the next zone is its child.
    pub fn edges(&self) -> impl Iterator<Item = ZoneEdge> + '_ {
        edges_of_depths(self.depths.iter().copied())
    }

    /// Returns the self cycles of each zone: cycles, as drawn, that no nested zone covers.
    ///
    /// The sum over all zones of a lane is the total cycles of the outermost zones.
    #[must_use]
    pub fn self_cycles(&self) -> Vec<u64> {
        let times = self.start_cycles.iter().zip(&self.end_cycles);
        let drawn: Vec<u64> = times.map(|(start, end)| end.saturating_sub(*start)).collect();
        let mut own = drawn.clone();
        let mut around: Vec<usize> = Vec::new();
        for (index, &depth) in self.depths.iter().enumerate() {
            around.truncate(depth.into());
            if let Some(&parent) = around.last() {
                own[parent] = own[parent].saturating_sub(drawn[index]);
            }
            around.push(index);
        }
        own
    }
}

/// Returns begins and ends of zones in stack order; only the zones' depths are needed.
pub(crate) fn edges_of_depths(depths: impl Iterator<Item = u16>) -> impl Iterator<Item = ZoneEdge> {
    Edges { depths: depths.peekable(), next: 0, open: Vec::new() }
}

/// Iterator over the begins and ends of zones, derived from their depths.
struct Edges<I: Iterator<Item = u16>> {
    depths: Peekable<I>,
    next: usize,
    open: Vec<usize>,
}

impl<I: Iterator<Item = u16>> Iterator for Edges<I> {
    type Item = ZoneEdge;

    fn next(&mut self) -> Option<ZoneEdge> {
        let Some(&depth) = self.depths.peek() else {
            return self.open.pop().map(ZoneEdge::End);
        };
        if self.open.len() > usize::from(depth)
            && let Some(ended) = self.open.pop()
        {
            return Some(ZoneEdge::End(ended));
        }
        self.depths.next();
        self.open.push(self.next);
        self.next += 1;
        Some(ZoneEdge::Begin(self.next - 1))
    }
}
