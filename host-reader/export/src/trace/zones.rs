//! The zones of one lane, ready to be drawn: in time order and properly nested.

use super::NameId;
use analysis::{PairedZone, ZoneTime, zone_times};
use std::{iter::Peekable, ops::Deref};

/// One zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceZone {
    /// Number of the zone's name in [`super::TraceNames`].
    pub name: NameId,
    /// First cycle, on the chip's reference clock.
    pub start_cycle: u64,
    /// Cycle at which the drawn zone ends. A clipped zone ends earlier than recorded; see
    /// [`TraceZone::duration_cycles`].
    pub end_cycle: u64,
    /// Start in nanoseconds since the trace's origin.
    pub start_ns: u64,
    /// End in nanoseconds since the trace's origin.
    pub end_ns: u64,
    /// Duration in cycles as recorded, longer than drawn if the zone is clipped. Only the drawn
    /// duration if the end is not recorded.
    pub duration_cycles: u64,
    /// Cycles of the recorded duration that no zone inside covers, whether or not a filter hides
    /// the zone inside. For a zone without an end, see [`ZoneTime::Open`].
    pub own_cycles: u64,
    /// Number of enclosing zones; 0 for an outermost zone.
    pub depth: u16,
    /// Index of the zone's run in [`super::TraceLane::runs`]; `None` before the first run.
    pub run: Option<u32>,
    /// True if the end is synthetic, because the record of the zone's end is missing.
    pub has_synthetic_end: bool,
    /// True if the zone is drawn shorter than recorded, because it would extend beyond its parent.
    pub is_clipped: bool,
}

impl TraceZone {
    /// Returns what the zone adds to sums of zones.
    #[must_use]
    pub const fn time(&self) -> ZoneTime {
        if self.has_synthetic_end {
            return ZoneTime::Open { unknown_cycles: self.own_cycles };
        }
        ZoneTime::Whole { duration_cycles: self.duration_cycles, self_cycles: self.own_cycles }
    }
}

/// The zones of one lane.
///
/// Zones are ordered by start, parents before their children. A zone ends no later than its parent
/// ends, and no later than the next zone of the same depth starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceZones(pub(super) Vec<TraceZone>);

impl Deref for TraceZones {
    type Target = [TraceZone];

    fn deref(&self) -> &[TraceZone] {
        &self.0
    }
}

/// Start or end of a zone, with the zone's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneEdge {
    /// The zone begins.
    Begin(usize),
    /// The zone ends.
    End(usize),
}

impl TraceZones {
    /// Returns the maximum number of zones that are open at once.
    pub(crate) fn level_count(&self) -> u16 {
        self.iter().map(|zone| zone.depth.saturating_add(1)).max().unwrap_or(0)
    }

    /// Returns the number of zones that are drawn shorter than recorded.
    #[must_use]
    pub fn clipped_count(&self) -> usize {
        self.iter().filter(|zone| zone.is_clipped).count()
    }

    /// Sets the cycles that no zone inside covers, from the current depths and ends. Zones that a
    /// filter removes later, or that are clipped later, still count as recorded.
    pub(super) fn set_own_cycles(&mut self) {
        let times = zone_times(self.iter().map(|zone| PairedZone {
            depth: zone.depth,
            cycles: zone.end_cycle.saturating_sub(zone.start_cycle),
            is_open: zone.has_synthetic_end,
        }));
        for (zone, time) in self.0.iter_mut().zip(times) {
            zone.own_cycles = match time {
                ZoneTime::Whole { self_cycles, .. } => self_cycles,
                ZoneTime::Open { unknown_cycles } => unknown_cycles,
            };
        }
    }

    /// Sets the times in nanoseconds from the cycles.
    pub(super) fn set_times(&mut self, time_ns: impl Fn(u64) -> u64) {
        for zone in &mut self.0 {
            (zone.start_ns, zone.end_ns) = (time_ns(zone.start_cycle), time_ns(zone.end_cycle));
        }
    }

    /// Removes zones for which `is_wanted` returns false. After this, the depth of a zone is the
    /// number of remaining zones that enclose it. Returns the number of removed zones.
    pub(super) fn retain(&mut self, is_wanted: impl Fn(&TraceZone) -> bool) -> u64 {
        let count = self.len();
        // For each zone that encloses the next zone: how many of this zone and the zones around it
        // are kept.
        let mut around: Vec<u16> = Vec::new();
        self.0.retain_mut(|zone| {
            around.truncate(zone.depth.into());
            let is_kept = is_wanted(zone);
            zone.depth = around.last().copied().unwrap_or(0);
            around.push(zone.depth + u16::from(is_kept));
            is_kept
        });
        (count - self.len()) as u64
    }

    /// Returns the starts and ends of the zones in stack order: at equal times, a zone ends before
    /// the next zone starts, unless the next zone is its child.
    pub fn edges(&self) -> impl Iterator<Item = ZoneEdge> + '_ {
        edges_of_depths(self.iter().map(|zone| zone.depth))
    }

    /// Returns the starts and ends of the zones in stack order, each with its time in nanoseconds.
    pub(crate) fn timed_edges(&self) -> impl Iterator<Item = (u64, ZoneEdge)> + '_ {
        self.edges().map(|edge| match edge {
            ZoneEdge::Begin(index) => (self[index].start_ns, edge),
            ZoneEdge::End(index) => (self[index].end_ns, edge),
        })
    }
}

/// Returns the starts and ends of zones in stack order, calculated from the zones' depths.
pub(crate) fn edges_of_depths(depths: impl Iterator<Item = u16>) -> impl Iterator<Item = ZoneEdge> {
    Edges { depths: depths.peekable(), next: 0, open: Vec::new() }
}

/// Iterator over the starts and ends of zones, calculated from the zones' depths.
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
