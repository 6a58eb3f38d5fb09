//! Lengths of zones without their places: what statistics need, run by run.
//!
//! Zones that are properly nested, as nearly all are, need no columns: one pass over a run's
//! records knows each zone's length at its end. Whatever is not so is paired as for a timeline.

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

/// A zone with a start and an end of its own, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WholeZone {
    pub(crate) zone: ZoneIndex,
    pub(crate) duration_cycles: u32,
    /// Of the duration, what no zone inside covers.
    pub(crate) self_cycles: u32,
}

impl WholeZone {
    const NONE: Self = Self { zone: ZoneIndex(0), duration_cycles: 0, self_cycles: 0 };
}

/// The zones of a run, as they were found.
pub(crate) enum RunLengths<'a> {
    /// All of them are whole, and each lies inside of another or outside.
    Nested(&'a [WholeZone]),
    /// As for a timeline.
    Paired(&'a Zones),
}

/// Some runs of a lane.
pub(crate) struct LanePart<'lane> {
    pub(crate) lane: &'lane Lane,
    /// The records of these runs.
    pub(crate) records: Range<usize>,
    /// Records of the same RISC that earlier lanes held.
    pub(crate) records_before: u64,
}

impl<'lane> LanePart<'lane> {
    pub(crate) fn whole(lane: &'lane Lane) -> Self {
        Self { lane, records: 0..lane.record_count(), records_before: 0 }
    }
}

/// Finds the lengths of zones, lane by lane, in the same memory.
#[derive(Debug)]
pub(crate) struct LaneLengths {
    around: [Begun; DEPTH_MAX],
    whole: Vec<WholeZone>,
}

impl Default for LaneLengths {
    fn default() -> Self {
        Self { around: [Begun::NONE; DEPTH_MAX], whole: Vec::new() }
    }
}

impl Begun {
    const NONE: Self = Self { zone: ZoneIndex(0), start: 0, covered_cycles: 0 };
}

impl LaneLengths {
    /// Gives the zones of each of these runs to `take`. Open zones and orphan ends go into
    /// `anomalies`, as [`pair_lane`](super::pair_lane) has it.
    ///
    /// # Cost
    /// Linear in the records. Memory: the zones of the largest run.
    pub(crate) fn of_lane(
        &mut self,
        part: &LanePart<'_>,
        names: &ZoneTable,
        anomalies: &mut AnomalyLog,
        mut take: impl FnMut(RunLengths<'_>),
    ) {
        let lane = part.lane;
        // Others match zones by name, see there.
        let is_plain = lane.id.risc != Risc::TensixAggregate;
        let mut unused = Some(anomalies);
        let mut pairing = None;
        for (run, records) in runs_of(lane) {
            if !part.records.contains(&records.start) {
                continue;
            }
            let (heads, times) = (&lane.heads[records.clone()], &lane.times[records.clone()]);
            if is_plain && let Some(zones) = self.nested(heads, times) {
                take(RunLengths::Nested(zones));
                continue;
            }
            if let Some(anomalies) = unused.take() {
                let records_before = part.records_before;
                pairing = Some(Pairing::new(lane, names, anomalies).counted_from(records_before));
            }
            if let Some(pairing) = &mut pairing {
                take(RunLengths::Paired(pairing.zones_of_run(run, records)));
            }
        }
    }

    /// The zones of a run if they come in order of time, each end closes the zone that began
    /// last, all ends are there, and lengths fit 32 bits.
    fn nested(&mut self, heads: &[RecordHead], times: &[u64]) -> Option<&[WholeZone]> {
        self.whole.resize(self.whole.len().max(heads.len()), WholeZone::NONE);
        let count = nest(heads, times, &mut self.around, &mut self.whole)?;
        self.whole.get(..count)
    }
}

/// How deep zones may be nested here.
const DEPTH_MAX: usize = 32;

/// A zone that has begun.
#[derive(Clone, Copy, Debug)]
struct Begun {
    zone: ZoneIndex,
    start: u64,
    /// What the zones inside cover so far.
    covered_cycles: u64,
}

/// Writes the zones of a nested run, those that end first before others, and says how many.
fn nest(
    heads: &[RecordHead],
    times: &[u64],
    around: &mut [Begun; DEPTH_MAX],
    whole: &mut [WholeZone],
) -> Option<usize> {
    let mut inner = Begun::NONE;
    let (mut at, mut depth, mut count, mut last) = (0, 0, 0, 0);
    while let (Some(&head), Some(&time)) = (heads.get(at), times.get(at)) {
        at += 1;
        if !head.is_endpoint() {
            continue;
        }
        if time < last {
            return None;
        }
        last = time;
        if head.kind() == PacketKind::ZoneStart {
            // Most zones have nothing inside, and need no place among those around others.
            if let (Some(&next), Some(&end)) = (heads.get(at), times.get(at))
                && next == head.end_of_start()
                && end >= time
            {
                let duration_cycles = u32::try_from(end - time).ok()?;
                *whole.get_mut(count)? =
                    WholeZone { zone: head.zone(), duration_cycles, self_cycles: duration_cycles };
                count += 1;
                at += 1;
                last = end;
                inner.covered_cycles += u64::from(duration_cycles);
                continue;
            }
            *around.get_mut(depth)? = inner;
            depth += 1;
            inner = Begun { zone: head.zone(), start: time, covered_cycles: 0 };
            continue;
        }
        if depth == 0 || inner.zone != head.zone() {
            return None;
        }
        let duration_cycles = time - inner.start;
        *whole.get_mut(count)? = WholeZone {
            zone: inner.zone,
            duration_cycles: u32::try_from(duration_cycles).ok()?,
            self_cycles: u32::try_from(duration_cycles - inner.covered_cycles).ok()?,
        };
        count += 1;
        depth -= 1;
        inner = *around.get(depth)?;
        inner.covered_cycles += duration_cycles;
    }
    (depth == 0).then_some(count)
}
