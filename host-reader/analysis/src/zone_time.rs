//! Time of zones: what a zone adds to sums, and the sums.
//!
//! Every output that adds up zones uses this module, so that all outputs agree. A zone without a
//! recorded end has no duration: it is counted as open and adds no cycles. The cycles from its
//! start to the end of the zone around it belong neither to that zone nor to the open one: nobody
//! knows which of the two was running.

use super::{CycleStatistics, durations::Durations};
use reader::{packed_bytes::PackedMemory, timeline::Zones};
use std::sync::Arc;

/// Time that one zone adds to sums, in the unit of the zone's duration: cycles on chips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneTime {
    /// Zone with a recorded start and end.
    Whole {
        /// Cycles from start to end.
        duration_cycles: u64,
        /// Cycles that no zone inside covers and that do not follow the start of an open zone
        /// inside.
        self_cycles: u64,
    },
    /// Zone without a recorded end.
    Open {
        /// Cycles from the start to the end of the innermost whole zone around it, except those in
        /// zones inside. It is unknown which zone they belong to. 0 if no whole zone is around.
        unknown_cycles: u64,
    },
}

/// Sum of the times of zones. `P` is the position of a zone.
///
/// ```
/// use analysis::{ZoneSum, ZoneTime};
/// let mut sum = ZoneSum::default();
/// sum.add(ZoneTime::Whole { duration_cycles: 10, self_cycles: 7 }, "first");
/// sum.add(ZoneTime::Open { unknown_cycles: 5 }, "second");
/// assert_eq!((sum.count, sum.total_cycles, sum.self_cycles, sum.open_count), (1, 10, 7, 1));
/// assert_eq!(sum.longest, Some((10, "first")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneSum<P> {
    /// Number of whole zones.
    pub count: u64,
    /// Sum of the durations of whole zones.
    pub total_cycles: u64,
    /// Sum of the cycles of whole zones that no zone inside covers.
    pub self_cycles: u64,
    /// Number of zones without an end.
    pub open_count: u64,
    /// Duration and position of the longest whole zone, the first of several; `None` if there is no
    /// whole zone.
    pub longest: Option<(u64, P)>,
    /// Position of the first zone without an end.
    pub open: Option<P>,
}

impl<P> Default for ZoneSum<P> {
    fn default() -> Self {
        let (count, total_cycles, self_cycles, open_count) = (0, 0, 0, 0);
        Self { count, total_cycles, self_cycles, open_count, longest: None, open: None }
    }
}

impl<P: Copy> ZoneSum<P> {
    /// Adds a zone.
    pub fn add(&mut self, time: ZoneTime, place: P) {
        let mut one = Self::default();
        match time {
            ZoneTime::Whole { duration_cycles, self_cycles } => {
                (one.count, one.total_cycles, one.self_cycles) = (1, duration_cycles, self_cycles);
                one.longest = Some((duration_cycles, place));
            }
            ZoneTime::Open { .. } => (one.open_count, one.open) = (1, Some(place)),
        }
        self.merge(one);
    }

    /// Adds the zones of another sum, which come after those of this sum.
    pub fn merge(&mut self, later: Self) {
        self.count = self.count.saturating_add(later.count);
        self.total_cycles = self.total_cycles.saturating_add(later.total_cycles);
        self.self_cycles = self.self_cycles.saturating_add(later.self_cycles);
        self.open_count = self.open_count.saturating_add(later.open_count);
        if later.longest.map(|(cycles, _)| cycles) > self.longest.map(|(cycles, _)| cycles) {
            self.longest = later.longest;
        }
        self.open = self.open.or(later.open);
    }

    /// Returns the position of the longest whole zone, or of the first open zone if no zone is
    /// whole.
    #[must_use]
    pub fn place(&self) -> Option<P> {
        self.longest.map(|(_, place)| place).or(self.open)
    }
}

/// Durations of zones, for exact percentiles, with their sums.
#[derive(Debug, Default)]
pub struct ZoneDurations {
    durations: Durations,
    self_total_cycles: u64,
    open_count: u64,
}

impl ZoneDurations {
    /// Adds a zone. Full buffers of durations are moved to `memory`.
    #[inline]
    pub fn add(&mut self, time: ZoneTime, memory: &Arc<PackedMemory>) {
        match time {
            ZoneTime::Whole { duration_cycles, self_cycles } => {
                self.durations.push(duration_cycles, memory);
                self.self_total_cycles = self.self_total_cycles.saturating_add(self_cycles);
            }
            ZoneTime::Open { .. } => self.open_count = self.open_count.saturating_add(1),
        }
    }

    /// Returns the statistics of the durations in several collections together.
    #[must_use]
    pub fn statistics(parts: &[&Self], aiclk_mhz: u32) -> CycleStatistics {
        let durations: Vec<_> = parts.iter().map(|part| &part.durations).collect();
        Durations::statistics(&durations, aiclk_mhz)
    }

    /// Calls `visit` with each duration of several collections, in any order.
    pub fn for_each(parts: &[&Self], visit: impl FnMut(u64)) {
        let durations: Vec<_> = parts.iter().map(|part| &part.durations).collect();
        Durations::for_each(&durations, visit);
    }

    /// Returns the cycles of whole zones that no zone inside covers.
    #[must_use]
    pub const fn self_total_cycles(&self) -> u64 {
        self.self_total_cycles
    }

    /// Returns the number of zones without an end.
    #[must_use]
    pub const fn open_count(&self) -> u64 {
        self.open_count
    }

    /// Returns true if there is neither a whole nor an open zone.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.durations.is_empty() && self.open_count == 0
    }
}

/// Zone as the pairing found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedZone {
    /// Number of zones around it.
    pub depth: u16,
    /// Cycles from the start to the end; for an open zone, to the end of the zone or run around it.
    pub cycles: u64,
    /// True if the end is not recorded.
    pub is_open: bool,
}

/// Walk over zones in the order of their starts, parents before children, which finds the time of
/// each zone. `T` identifies a zone.
#[derive(Debug)]
pub struct ZoneWalk<T> {
    /// Stack with the zone that began last on top. Below it are the zones around it.
    around: Vec<Frame<T>>,
}

#[derive(Debug)]
struct Frame<T> {
    zone: T,
    paired: PairedZone,
    /// Cycles covered by the direct children of the zone.
    covered_cycles: u64,
    /// True if any zone around it is whole.
    is_in_whole: bool,
}

impl<T> Default for ZoneWalk<T> {
    fn default() -> Self {
        Self { around: Vec::new() }
    }
}

impl<T> ZoneWalk<T> {
    /// Begins a zone. Calls `take` with each earlier zone that does not contain it.
    pub fn begin(&mut self, zone: T, paired: PairedZone, take: impl FnMut(T, ZoneTime)) {
        self.leave(paired.depth.into(), take);
        let is_in_whole = self.around.last_mut().is_some_and(|parent| {
            parent.covered_cycles = parent.covered_cycles.saturating_add(paired.cycles);
            parent.is_in_whole || !parent.paired.is_open
        });
        self.around.push(Frame { zone, paired, covered_cycles: 0, is_in_whole });
    }

    /// Ends the walk. Calls `take` with each zone that is left.
    pub fn finish(&mut self, take: impl FnMut(T, ZoneTime)) {
        self.leave(0, take);
    }

    #[inline]
    fn leave(&mut self, depth: usize, mut take: impl FnMut(T, ZoneTime)) {
        while self.around.len() > depth
            && let Some(frame) = self.around.pop()
        {
            let time = frame.time();
            take(frame.zone, time);
        }
    }
}

impl<T> Frame<T> {
    fn time(&self) -> ZoneTime {
        let PairedZone { cycles, is_open, .. } = self.paired;
        // Times that step back within a run can make children longer than their parent.
        let own = cycles.saturating_sub(self.covered_cycles);
        if is_open {
            return ZoneTime::Open { unknown_cycles: if self.is_in_whole { own } else { 0 } };
        }
        ZoneTime::Whole { duration_cycles: cycles, self_cycles: own }
    }
}

/// Returns the time of each zone, in the order of the zones.
///
/// ```
/// use analysis::{PairedZone, ZoneTime, zone_times};
/// let zone = |depth, cycles, is_open| PairedZone { depth, cycles, is_open };
/// let times = zone_times([zone(0, 100, false), zone(1, 30, false), zone(1, 50, true)]);
/// assert_eq!(times[0], ZoneTime::Whole { duration_cycles: 100, self_cycles: 20 });
/// assert_eq!(times[2], ZoneTime::Open { unknown_cycles: 50 });
/// ```
#[must_use]
pub fn zone_times(zones: impl IntoIterator<Item = PairedZone>) -> Vec<ZoneTime> {
    let mut times = Vec::new();
    let mut walk = ZoneWalk::default();
    for paired in zones {
        let index = times.len();
        times.push(ZoneTime::Open { unknown_cycles: 0 });
        walk.begin(index, paired, |index: usize, time| set(&mut times, index, time));
    }
    walk.finish(|index, time| set(&mut times, index, time));
    times
}

fn set(times: &mut [ZoneTime], index: usize, time: ZoneTime) {
    if let Some(entry) = times.get_mut(index) {
        *entry = time;
    }
}

/// Returns the zones of a lane's timeline as the pairing found them.
pub fn paired_zones(zones: &Zones) -> impl Iterator<Item = PairedZone> + '_ {
    zones.iter().map(|zone| PairedZone {
        depth: zone.depth,
        cycles: zone.duration_cycles(),
        is_open: zone.flags.is_open(),
    })
}
