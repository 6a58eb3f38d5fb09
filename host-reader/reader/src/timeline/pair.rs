//! Pairing of the starts and ends of zones in one lane.
//!
//! ```text
//! for each run, its zone records in time order:
//!     start of a zone                 push the zone
//!     end of the top zone             pop the zone
//!     end of a zone below the top     settle the zones above it, then pop the zone
//!     end of a zone not on the stack  count an orphan end
//! at the end of the run, close the remaining zones and flag them as open
//! ```
//!
//! Records with equal times may be in any order, since logs sort them by marker id. The records of
//! *one* zone name keep their order, so an end always closes the innermost zone that has the same
//! name as the end. The zone that is closed may have other zones above it on the stack. For each of
//! these zones, there are four cases. A zone that began at the cycle at which the closed zone ends
//! is assumed to have begun after this end. A zone that began at the same cycle as the closed zone
//! is assumed to enclose the closed zone. If the own end of a zone comes later in the lane but at
//! the same cycle as the end of the closed zone, the zone is closed by its own end. In all other
//! cases, the zone's own end is missing.

#![expect(
    clippy::indexing_slicing,
    reason = "`runs_of` gives records of the lane, and slots are those of zones that have begun"
)]

use super::{
    LaneTimeline, NO_RUN, Zones,
    order::Order,
    stack::{OpenZone, OpenZones},
};
use crate::{
    anomaly::{AnomalyKind, AnomalyLog},
    lane::{Lane, ZoneIndex},
    names::ZoneTable,
    role::ZoneRole,
};
use std::{collections::BTreeMap, ops::Range};
use wire::{PacketKind, Risc};

/// Maximum number of records with equal times that are searched for a matching start or end.
///
/// The limit bounds the work on invalid data; real recordings have only a few such records.
pub(super) const TIES_MAX: usize = 64;

/// Pairs the records of one lane.
///
/// Open zones and orphan ends are added to `anomalies`. The position of such an anomaly is the
/// origin of the run: the index of the run's first word in the lane.
///
/// In a lane of [`Risc::TensixAggregate`], the start and the end of a zone can come from different
/// RISCs. In such a lane, firmware and kernel zones are matched by role, and other zones by name.
///
/// # Cost
/// The time is linear in the number of records if they are in order of time. Otherwise it is `n log
/// n` for a run of `n` records. Memory is not allocated for each zone.
#[must_use]
pub fn pair_lane(lane: &Lane, zones: &ZoneTable, anomalies: &mut AnomalyLog) -> LaneTimeline {
    let mut pairing = Pairing::new(lane, zones, anomalies);
    pairing.timeline.zones.reserve(lane.record_count() / 2);
    for (run, records) in runs_of(lane) {
        pairing.pair_run(run, records);
    }
    pairing.timeline
}

/// Iterates over the runs of a lane, as (run number, range of records). If there are records before
/// the first run, they are the first item, with number [`NO_RUN`].
pub(super) fn runs_of(lane: &Lane) -> impl Iterator<Item = (u32, Range<usize>)> {
    let count = lane.record_count();
    let numbers = std::iter::once(NO_RUN).chain(0..);
    let ends = lane.runs.iter().map(|run| run.first_record).chain([count]);
    let runs = numbers.zip(ends).scan(0, move |begin, (run, end)| {
        let end = end.clamp(*begin, count);
        Some((run, std::mem::replace(begin, end)..end))
    });
    runs.filter(|(_, records)| !records.is_empty())
}

pub(super) struct Pairing<'lane> {
    lane: &'lane Lane,
    names: &'lane ZoneTable,
    anomalies: &'lane mut AnomalyLog,
    /// Map from each zone index of an aggregate lane to the first zone index of the lane with the
    /// same role or name.
    ///
    /// This first index is the key by which starts and ends are matched. Empty for other lanes.
    alike: BTreeMap<ZoneIndex, ZoneIndex>,
    timeline: LaneTimeline,
    open: OpenZones,
    run: u32,
    order: Order,
    /// Positions in `order` of records that were matched before the pass reached them. All these
    /// records have the same time.
    used: Vec<usize>,
}

impl<'lane> Pairing<'lane> {
    pub(super) fn new(
        lane: &'lane Lane,
        names: &'lane ZoneTable,
        anomalies: &'lane mut AnomalyLog,
    ) -> Self {
        let largest = lane.heads.iter().map(|head| head.zone().0).max();
        let zones = Zones::default();
        let timeline = LaneTimeline { id: lane.id, zones, open_zone_count: 0, orphan_end_count: 0 };
        Self {
            lane,
            names,
            anomalies,
            alike: alike_zones(lane, names),
            timeline,
            open: OpenZones::new(largest.map_or(0, |zone| (zone as usize).saturating_add(1))),
            run: NO_RUN,
            order: Order::default(),
            used: Vec::new(),
        }
    }

    /// Pairs the records of one run and returns the zones. Drops the zones of the previous run.
    pub(super) fn zones_of_run(&mut self, run: u32, records: Range<usize>) -> &Zones {
        self.timeline.zones.clear();
        self.pair_run(run, records);
        &self.timeline.zones
    }

    fn pair_run(&mut self, run: u32, records: Range<usize>) {
        self.run = run;
        self.order.take(self.lane, records.clone());
        for position in 0..self.order.len() {
            self.record(position);
        }
        self.used.clear();
        if self.open.depth() > 0 {
            self.close_all(records);
        }
        self.timeline.zones.finish_run(run);
    }

    /// Closes the zones that are open at the end of their run.
    #[cold]
    fn close_all(&mut self, records: Range<usize>) {
        let last_time = self.lane.times[records].iter().copied().max().unwrap_or(0);
        while let Some(zone) = self.open.pop() {
            self.close_open(zone, last_time);
        }
    }

    #[inline]
    fn record(&mut self, position: usize) {
        if !self.used.is_empty() && self.take_used(position) {
            return;
        }
        let record = self.order.record(position);
        let time = self.lane.times[record];
        let key = self.key(record);
        if self.lane.heads[record].kind() == PacketKind::ZoneStart {
            self.begin(record, time, key);
        } else if self.open.top().is_some_and(|top| top.key == key) {
            self.pop(time);
        } else if self.open.is_open(key) {
            self.close_below(position, time, key);
        } else {
            self.add_orphan(position, time, key);
        }
    }

    /// Returns the key by which a zone's start and end are matched.
    #[inline]
    fn key(&self, record: usize) -> u32 {
        let zone = self.lane.heads[record].zone();
        self.alike.get(&zone).copied().unwrap_or(zone).0
    }

    #[inline]
    fn begin(&mut self, record: usize, start: u64, key: u32) {
        let zone = self.lane.heads[record].zone();
        let slot = self.timeline.zones.begin(start, zone, self.open.depth());
        self.open.push(OpenZone { key, start, slot, record });
    }

    #[inline]
    fn pop(&mut self, time: u64) {
        if let Some(zone) = self.open.pop() {
            self.timeline.zones.ends[zone.slot] = time;
        }
    }

    /// Closes the innermost zone with `key`, which is below other zones on the stack.
    #[cold]
    fn close_below(&mut self, position: usize, time: u64, key: u32) {
        let Some((closing, mut above)) = self.open.find(key) else { return };
        let is_tie_possible = above <= TIES_MAX;
        if is_tie_possible && closing.start != time {
            let depth = self.open.depth();
            self.open.put_aside(time, TIES_MAX, &self.timeline.zones);
            above = above.saturating_sub(depth.saturating_sub(self.open.depth()));
        }
        while above > 0 {
            let began_together = self.open.top().is_some_and(|top| top.start == closing.start);
            if is_tie_possible && began_together {
                self.open.swap_with_top(above, &mut self.timeline.zones);
                break;
            }
            self.settle_top(position, time);
            above = above.saturating_sub(1);
        }
        self.pop(time);
        self.open.take_back(&mut self.timeline.zones);
    }

    /// Closes the zone at the top of the stack. Uses the zone's own end if that end follows at the
    /// same time; otherwise flags the zone as open.
    fn settle_top(&mut self, position: usize, time: u64) {
        let Some(top) = self.open.pop() else { return };
        match self.find_tied(position, PacketKind::ZoneEnd, top.key) {
            Some(end) => {
                self.used.push(end);
                self.timeline.zones.ends[top.slot] = time;
            }
            None => self.close_open(top, time),
        }
    }

    #[cold]
    fn add_orphan(&mut self, position: usize, time: u64, key: u32) {
        if let Some(start) = self.find_tied(position, PacketKind::ZoneStart, key) {
            self.used.push(start);
            let zone = self.lane.heads[self.order.record(start)].zone();
            self.timeline.zones.begin(time, zone, self.open.depth());
            return;
        }
        self.timeline.orphan_end_count = self.timeline.orphan_end_count.saturating_add(1);
        let record = self.order.record(position);
        self.add_anomaly(AnomalyKind::OrphanEnd, record);
    }

    fn time_at(&self, position: usize) -> u64 {
        self.lane.times[self.order.record(position)]
    }

    /// Finds an unmatched record with the given kind and key that follows the record at `position`
    /// and has the same time.
    fn find_tied(&self, position: usize, kind: PacketKind, key: u32) -> Option<usize> {
        let time = self.time_at(position);
        let candidates = (position..self.order.len()).skip(1).take(TIES_MAX);
        let mut tied = candidates.take_while(|&other| self.time_at(other) == time);
        tied.find(|other| {
            let record = self.order.record(*other);
            let is_wanted = self.lane.heads[record].kind() == kind && self.key(record) == key;
            is_wanted && !self.used.contains(other)
        })
    }

    fn take_used(&mut self, position: usize) -> bool {
        let found = self.used.iter().position(|&used| used == position);
        found.map(|index| self.used.swap_remove(index)).is_some()
    }

    fn close_open(&mut self, zone: OpenZone, end: u64) {
        self.timeline.zones.ends[zone.slot] = end.max(zone.start);
        self.timeline.zones.mark_open(zone.slot);
        self.timeline.open_zone_count = self.timeline.open_zone_count.saturating_add(1);
        self.add_anomaly(AnomalyKind::OpenZone, zone.record);
    }

    fn add_anomaly(&mut self, kind: AnomalyKind, record: usize) {
        let (lane, names) = (self.lane, self.names);
        let run = lane.runs.get(self.run as usize);
        let position = run.map_or(0, |run| run.origin);
        self.anomalies.record(kind, Some(lane.id), position, || {
            let zone = names.label(lane.heads[record].zone());
            let program = run.map_or(0, |run| run.program.0);
            let time = lane.times[record];
            format!(
                "zone `{zone}` at cycle {time}, program {program}, record {record} of the lane, in the run \
                 that begins at this position"
            )
        });
    }
}

/// Returns a map from each zone of an aggregate lane to the first zone with the same role or name;
/// empty for other lanes.
fn alike_zones(lane: &Lane, names: &ZoneTable) -> BTreeMap<ZoneIndex, ZoneIndex> {
    let mut alike = BTreeMap::new();
    if lane.id.risc != Risc::TensixAggregate {
        return alike;
    }
    let mut first_of_name: BTreeMap<&str, ZoneIndex> = BTreeMap::new();
    for zone in lane.heads.iter().map(|head| head.zone()) {
        let name = names.name(zone);
        let name = match ZoneRole::from_name(name) {
            _ if name.is_empty() => continue,
            role if role.is_firmware() => "-FW",
            role if role.is_kernel() => "-KERNEL",
            _ => name,
        };
        alike.insert(zone, *first_of_name.entry(name).or_insert(zone));
    }
    alike
}
