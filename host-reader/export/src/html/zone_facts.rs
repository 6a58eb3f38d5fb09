//! Statistics of zones, events, values and sums by name, for the page.

use super::named_zones::NamedZones;
use crate::{PointCategory, Trace, TraceLane, TraceName, host_names::HostNames};
use analysis::{CycleStatistics, ZoneDurations};
use rayon::prelude::*;
use reader::packed_bytes::PackedMemory;
use serde::Serialize;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};
use tables::Arrays;
use wire::ZoneId;

/// Number of bars of a distribution.
const BAR_COUNT: usize = 28;

/// All names, column by column, in the order of their numbers: first the names recorded on chips,
/// then the names recorded on the host.
#[derive(Default, Serialize)]
pub(super) struct NameFacts<'a> {
    label: Vec<&'a str>,
    /// Marker id; `None` for names of the host.
    marker_id: Vec<Option<u32>>,
    file: Vec<&'a str>,
    line: Vec<u32>,
    is_ambiguous: Vec<bool>,
    /// True for zones around a kernel and zones of the firmware. The page gives these zones no
    /// colour of their own.
    is_frame: Vec<bool>,
}

impl<'a> NameFacts<'a> {
    pub(super) fn new(trace: &'a Trace<'_>, host_names: &HostNames<'a>) -> Self {
        let mut facts = Self::default();
        for name in trace.names.as_slice() {
            facts.label.push(shared_name(name).unwrap_or(&name.label));
            facts.marker_id.push(Some(name.marker_id));
            facts.file.push(name.file);
            facts.line.push(name.line);
            facts.is_ambiguous.push(name.is_ambiguous);
            facts.is_frame.push(name.is_kernel || name.is_firmware);
        }
        for source in &host_names.sources {
            // Messages have no name.
            let label = if source.name.is_empty() { "message" } else { &source.name };
            facts.label.push(label);
            facts.marker_id.push(None);
            facts.file.push(&source.file);
            facts.line.push(source.line);
            facts.is_ambiguous.push(false);
            facts.is_frame.push(false);
        }
        facts
    }
}

/// Returns the label that all unnamed markers with this id share.
fn shared_name(name: &TraceName<'_>) -> Option<&'static str> {
    let id = u16::try_from(name.marker_id).ok().filter(|_| name.file.is_empty())?;
    match ZoneId(id) {
        ZoneId::NOC_TRACING => Some("NoC event"),
        ZoneId::PERF_COUNTER => Some("hardware counter"),
        _ => None,
    }
}

/// Indices of a zone's chip, of its lane, and of the zone.
type ZonePlace = (usize, usize, usize);

/// Zones with the same name.
#[derive(Debug, Default)]
struct ZoneSet {
    durations: ZoneDurations,
    named: NamedZones<ZonePlace>,
    risc_bits: u32,
}

/// Zones of each name, by the name's number.
type ZoneSets = BTreeMap<usize, ZoneSet>;

/// Returns the statistics of zones by name, column by column, in the order of the names' numbers.
pub(super) fn zone_columns(trace: &Trace<'_>) -> Arrays<(usize, Row)> {
    let lanes: Vec<_> = trace
        .devices
        .iter()
        .enumerate()
        .flat_map(|(d, device)| device.lanes.iter().enumerate().map(move |(l, lane)| (d, l, lane)))
        .collect();
    let memory = PackedMemory::unlimited();
    let sets = lanes.par_iter().fold(ZoneSets::new, |mut sets, &(device, lane, records)| {
        add_zones(&mut sets, (device, lane), records, &memory);
        sets
    });
    let mut by_name: BTreeMap<usize, Vec<ZoneSet>> = BTreeMap::new();
    for (name, set) in sets.collect::<Vec<_>>().into_iter().flatten() {
        by_name.entry(name).or_default().push(set);
    }
    let rows: Vec<_> =
        by_name.into_par_iter().map(|(name, sets)| (name, Row::new(&sets))).collect();
    Arrays::new(
        rows,
        [
            ("name", |(name, _)| (*name).into()),
            // One bit for each RISC that recorded the zone.
            ("risc_bits", |(_, row)| row.risc_bits.into()),
            // Zones with a recorded start and end.
            ("count", |(_, row)| row.named.sum.count.into()),
            // Zones without a recorded end.
            ("open_count", |(_, row)| row.named.sum.open_count.into()),
            // Cycles in which it is unknown whether an open zone was running; null if nothing limits
            // an open zone.
            ("unknown_cycles", |(_, row)| row.named.unknown_cycles.into()),
            // All further figures are of zones with a recorded end, and null if there are none.
            ("total_cycles", |(_, row)| row.figure(row.named.sum.total_cycles)),
            // Cycles in the zone itself, outside nested zones, as recorded.
            ("self_cycles", |(_, row)| row.figure(row.named.sum.self_cycles)),
            ("min_cycles", |(_, row)| row.figure(row.statistics.min_cycles)),
            ("median_cycles", |(_, row)| row.figure(row.statistics.median_cycles)),
            ("p99_cycles", |(_, row)| row.figure(row.statistics.p99_cycles)),
            ("max_cycles", |(_, row)| row.figure(row.statistics.max_cycles)),
            // Number of zones in each bar. The bars divide the range from the shortest duration to
            // the 99th percentile into equal intervals. The last bar also counts all longer zones.
            ("bars", |(_, row)| row.bars.to_vec().into()),
            // Indices of the chip, lane and zone of the longest zone, or of the first open zone if
            // all are open.
            ("longest", |(_, row)| json!(row.named.sum.place())),
        ],
    )
}

/// The zones with one name, and their statistics.
pub(super) struct Row {
    named: NamedZones<ZonePlace>,
    risc_bits: u32,
    statistics: CycleStatistics,
    bars: [u32; BAR_COUNT],
}

impl Row {
    fn new(sets: &[ZoneSet]) -> Self {
        let (mut named, mut risc_bits) = (NamedZones::default(), 0);
        for set in sets {
            named.merge(set.named);
            risc_bits |= set.risc_bits;
        }
        let durations: Vec<_> = sets.iter().map(|set| &set.durations).collect();
        // The frequency 0 means unknown: zones of several chips are counted, and frequencies differ
        // between chips. All statistics are therefore in cycles.
        let statistics = ZoneDurations::statistics(&durations, 0);
        let bars = bars(&durations, statistics.min_cycles, statistics.p99_cycles);
        Self { named, risc_bits, statistics, bars }
    }

    /// Returns a figure of whole zones; null if there are none.
    fn figure(&self, cycles: u64) -> Value {
        (self.named.sum.count > 0).then_some(cycles).into()
    }
}

fn bars(durations: &[&ZoneDurations], first: u64, last: u64) -> [u32; BAR_COUNT] {
    let mut bars = [0_u32; BAR_COUNT];
    let span = u128::from(last - first) + 1;
    ZoneDurations::for_each(durations, |duration| {
        let bar = u128::from(duration - first) * BAR_COUNT as u128 / span;
        let bar = usize::try_from(bar).unwrap_or(BAR_COUNT).min(BAR_COUNT - 1);
        bars[bar] = bars[bar].saturating_add(1);
    });
    bars
}

/// Adds the zones of a lane, given the indices of its chip and of the lane.
fn add_zones(
    sets: &mut ZoneSets,
    (device, lane): (usize, usize),
    records: &TraceLane<'_>,
    memory: &Arc<PackedMemory>,
) {
    let risc_bit = 1_u32 << records.id.risc as usize;
    for (index, zone) in records.zones.iter().enumerate() {
        let set = sets.entry(zone.name.index()).or_default();
        set.named.add(zone, (device, lane, index));
        set.durations.add(zone.time(), memory);
        set.risc_bits |= risc_bit;
    }
}

/// Key of a group of points: the number of their name, and the label of their kind.
pub(super) type PointKey = (usize, &'static str);

/// Number of points, and their total cycles.
pub(super) type PointCount = (u64, u64);

type PointCounts = BTreeMap<PointKey, PointCount>;

/// Returns the numbers of events, values and sums by name and kind, column by column.
pub(super) fn point_columns(trace: &Trace<'_>) -> Arrays<(PointKey, PointCount)> {
    let lanes: Vec<_> = trace.lanes().collect();
    let counts = lanes.par_iter().fold(BTreeMap::new, |mut counts, lane| {
        for point in &lane.points {
            let cycles = point.values.first().copied().unwrap_or(0);
            add(&mut counts, (point.name.index(), kind_label(point.category())), (1, cycles));
        }
        counts
    });
    let counts = counts.reduce(BTreeMap::new, |mut one, other| {
        other.into_iter().for_each(|(key, counts)| add(&mut one, key, counts));
        one
    });
    Arrays::new(
        counts,
        [
            ("name", |((name, _), _)| (*name).into()),
            ("kind", |((_, kind), _)| (*kind).into()),
            ("count", |(_, (count, _))| (*count).into()),
            // Null for events and values.
            ("total_cycles", |((_, kind), (_, cycles))| (*kind == SUM).then_some(*cycles).into()),
        ],
    )
}

const SUM: &str = "sum";

/// Returns the page's label of a category.
const fn kind_label(category: PointCategory) -> &'static str {
    match category {
        PointCategory::Event => "event",
        PointCategory::Data => "value",
        PointCategory::Sum => SUM,
    }
}

fn add(counts: &mut PointCounts, key: PointKey, (count, cycles): PointCount) {
    let entry = counts.entry(key).or_default();
    *entry = (entry.0.saturating_add(count), entry.1.saturating_add(cycles));
}
