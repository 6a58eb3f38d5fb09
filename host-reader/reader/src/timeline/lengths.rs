//! Computes the durations of zones, without their start times, run by run. Statistics are computed
//! from these durations.
//!
//! Nearly all runs contain only properly nested zones. For these runs, one pass over the records
//! computes the duration of each zone when the zone ends, without building [`Zones`]. For other
//! runs, starts and ends are paired by the same code as for a timeline.

use super::{
    Zones,
    pair::{Pairing, runs_of},
};
use crate::{
    anomaly::AnomalyLog,
    lane::{Lane, RecordHead, ZoneIndex},
    names::ZoneTable,
};
use std::ops::Range;
use wire::{PacketKind, Risc};

/// Duration of a zone with a recorded start and end, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WholeZone {
    /// Index of the zone.
    pub zone: ZoneIndex,
    /// Duration of the zone, in cycles.
    pub duration_cycles: u32,
    /// Cycles of the duration that are not covered by inner zones.
    pub self_cycles: u32,
}

impl WholeZone {
    const NONE: Self = Self { zone: ZoneIndex(0), duration_cycles: 0, self_cycles: 0 };
}

/// The zones of a run. The variant depends on whether all zones are complete and nested.
pub enum RunLengths<'a> {
    /// All zones are complete and properly nested.
    Nested(&'a [WholeZone]),
    /// Zones of a run with open or improperly nested zones, paired by the code of the timeline.
    Paired(&'a Zones),
}

/// Buffers for computing zone durations, reused from lane to lane.
#[derive(Debug)]
pub struct LaneLengths {
    around: [Begun; DEPTH_MAX],
    whole: Vec<WholeZone>,
}

impl Default for LaneLengths {
    fn default() -> Self {
        Self { around: [Begun::NONE; DEPTH_MAX], whole: Vec::new() }
    }
}

impl LaneLengths {
    /// Calls `take` with the zones of each run of a lane.
    ///
    /// Open zones and orphan ends are added to `anomalies`, as in [`pair_lane`](super::pair_lane).
    ///
    /// # Cost
    /// The time is linear in the number of records. The memory use is proportional to the number of
    /// zones in the largest run.
    pub fn read_lane(
        &mut self,
        lane: &Lane,
        names: &ZoneTable,
        anomalies: &mut AnomalyLog,
        mut take: impl FnMut(RunLengths<'_>),
    ) {
        // Aggregate lanes match zones by role or name, see `pair_lane`.
        let is_plain = lane.id.risc != Risc::TensixAggregate;
        let mut unused = Some(anomalies);
        let mut pairing = None;
        for (run, records) in runs_of(lane) {
            if is_plain && let Some(zones) = self.nested(lane, records.clone()) {
                take(RunLengths::Nested(zones));
                continue;
            }
            if let Some(anomalies) = unused.take() {
                pairing = Some(Pairing::new(lane, names, anomalies));
            }
            if let Some(pairing) = &mut pairing {
                take(RunLengths::Paired(pairing.zones_of_run(run, records)));
            }
        }
    }

    /// Returns the zones of a run if they are properly nested; otherwise `None`.
    ///
    /// The records must be in order of time, each end must close the zone that began last, all ends
    /// must be present, and durations must fit 32 bits.
    fn nested(&mut self, lane: &Lane, records: Range<usize>) -> Option<&[WholeZone]> {
        self.grow(records.len());
        let nesting = Nesting::new(&mut self.around, &mut self.whole);
        let count = nesting.run(lane, records)?;
        self.whole.get(..count)
    }

    fn grow(&mut self, count: usize) {
        self.whole.resize(self.whole.len().max(count), WholeZone::NONE);
    }
}

/// Maximum nesting depth that [`LaneLengths::nested`] supports.
const DEPTH_MAX: usize = 32;

/// A zone that has begun but not ended.
#[derive(Clone, Copy, Debug)]
struct Begun {
    zone: ZoneIndex,
    start: u64,
    /// Cycles covered by inner zones so far.
    covered_cycles: u64,
}

impl Begun {
    const NONE: Self = Self { zone: ZoneIndex(0), start: 0, covered_cycles: 0 };
}

/// State of one pass over a run's records. The pass writes the run's zones in the order of their
/// ends.
struct Nesting<'a> {
    inner: Begun,
    around: &'a mut [Begun; DEPTH_MAX],
    depth: usize,
    whole: &'a mut [WholeZone],
    count: usize,
}

#[expect(
    clippy::arithmetic_side_effects,
    reason = "times do not step back, and zones that lie within another are not longer than it"
)]
impl<'a> Nesting<'a> {
    fn new(around: &'a mut [Begun; DEPTH_MAX], whole: &'a mut [WholeZone]) -> Self {
        Self { inner: Begun::NONE, around, depth: 0, whole, count: 0 }
    }

    /// Returns the number of zones, if the conditions of [`LaneLengths::nested`] hold.
    fn run(mut self, lane: &Lane, records: Range<usize>) -> Option<usize> {
        let heads = lane.heads.get(records.clone())?;
        let times = lane.times.get(records)?;
        let (mut at, mut last) = (0, 0);
        while let (Some(&head), Some(&time)) = (heads.get(at), times.get(at)) {
            at += 1;
            if !head.is_endpoint() {
                continue;
            }
            if time < last {
                return None;
            }
            last = time;
            if head.kind() == PacketKind::ZoneEnd {
                self.end(head, time)?;
                continue;
            }
            match (heads.get(at), times.get(at)) {
                // Most zones contain no other zone. They are written directly, without an entry in
                // `around`.
                (Some(&next), Some(&end)) if next == head.end_of_start() && end >= time => {
                    self.write(head.zone(), end - time, 0)?;
                    (at, last) = (at + 1, end);
                }
                _ => self.begin(head, time)?,
            }
        }
        (self.depth == 0).then_some(self.count)
    }

    #[inline]
    fn begin(&mut self, head: RecordHead, time: u64) -> Option<()> {
        *self.around.get_mut(self.depth)? = self.inner;
        self.depth += 1;
        self.inner = Begun { zone: head.zone(), start: time, covered_cycles: 0 };
        Some(())
    }

    #[inline]
    fn end(&mut self, head: RecordHead, time: u64) -> Option<()> {
        let ended = self.inner;
        if ended.zone != head.zone() {
            return None;
        }
        self.depth = self.depth.checked_sub(1)?;
        self.inner = *self.around.get(self.depth)?;
        self.write(ended.zone, time - ended.start, ended.covered_cycles)
    }

    #[inline]
    fn write(&mut self, zone: ZoneIndex, cycles: u64, covered_cycles: u64) -> Option<()> {
        let duration_cycles = u32::try_from(cycles).ok()?;
        let self_cycles = u32::try_from(cycles - covered_cycles).ok()?;
        *self.whole.get_mut(self.count)? = WholeZone { zone, duration_cycles, self_cycles };
        self.count += 1;
        self.inner.covered_cycles += cycles;
        Some(())
    }
}
