//! Durations of zones, collected by chip, RISC and zone for statistics.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices and counts are those of lists in memory"
)]

use super::{
    ZoneStatistics,
    dispatch_names::without_programs,
    zone_time::{ZoneDurations, ZoneTime, ZoneWalk, paired_zones},
};
use rayon::prelude::*;
use reader::{
    lane::ZoneIndex,
    names::ZoneTable,
    packed_bytes::PackedMemory,
    readout::{ChipSummary, Readout},
    role::ZoneRole,
    timeline::{WholeZone, Zones},
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use wire::Risc;

/// Key of a group of zones: index of the chip, and RISC.
pub(super) type GroupKey = (usize, Risc);

/// Accumulator of durations, by group and zone.
#[derive(Debug, Default)]
pub(super) struct Tally {
    zones: ZoneNumbers,
    /// Durations of the zones of each group, indexed by zone number.
    groups: BTreeMap<GroupKey, Vec<ZoneDurations>>,
    walk: ZoneWalk<usize>,
}

/// Numbers for the zones in a tally, from 0 in the order in which the zones first occur.
#[derive(Debug, Default)]
struct ZoneNumbers {
    zones: Vec<ZoneIndex>,
    /// For each [`ZoneIndex`], the number of the zone; [`NO_NUMBER`] if the zone is not in the
    /// tally.
    numbers: Vec<u32>,
}

/// Part of a [`Tally`] for one group.
pub(super) struct Group<'tally> {
    zones: &'tally mut ZoneNumbers,
    durations: &'tally mut Vec<ZoneDurations>,
    walk: &'tally mut ZoneWalk<usize>,
    memory: &'tally Arc<PackedMemory>,
}

impl Tally {
    /// Returns the part of the tally for a group. Full buffers of durations are moved to `memory`.
    pub(super) fn group<'tally>(
        &'tally mut self,
        key: GroupKey,
        memory: &'tally Arc<PackedMemory>,
    ) -> Group<'tally> {
        let Self { zones, groups, walk } = self;
        Group { zones, durations: groups.entry(key).or_default(), walk, memory }
    }
}

impl Group<'_> {
    /// Adds the zones of whole runs, in the order of the timeline.
    pub(super) fn add(&mut self, zones: &Zones) {
        for (&zone, paired) in zones.zones.iter().zip(paired_zones(zones)) {
            let number = self.number(zone);
            self.walk.begin(number, paired, |number, time| {
                self.durations[number].add(time, self.memory);
            });
        }
        self.walk.finish(|number, time| self.durations[number].add(time, self.memory));
    }

    /// Adds zones with known durations and self times, in any order.
    pub(super) fn add_whole(&mut self, zones: &[WholeZone]) {
        for zone in zones {
            let number = self.number(zone.zone);
            let (duration_cycles, self_cycles) =
                (zone.duration_cycles.into(), zone.self_cycles.into());
            let time = ZoneTime::Whole { duration_cycles, self_cycles };
            self.durations[number].add(time, self.memory);
        }
    }

    /// Returns the zone's number, and ensures that `durations` has an element for it.
    #[inline]
    fn number(&mut self, zone: ZoneIndex) -> usize {
        let number = match self.zones.numbers.get(zone.0 as usize) {
            Some(&number) if number != NO_NUMBER => number as usize,
            _ => self.zones.add(zone),
        };
        if self.durations.len() <= number {
            self.durations.resize_with(self.zones.zones.len(), ZoneDurations::default);
        }
        number
    }
}

const NO_NUMBER: u32 = u32::MAX;

impl ZoneNumbers {
    #[cold]
    fn add(&mut self, zone: ZoneIndex) -> usize {
        let (index, number) = (zone.0 as usize, self.zones.len());
        self.numbers.resize(self.numbers.len().max(index + 1), NO_NUMBER);
        self.numbers[index] = u32::try_from(number).unwrap_or(NO_NUMBER);
        self.zones.push(zone);
        number
    }
}

/// Durations of one zone in several tallies.
type Parts<'tally> = Vec<&'tally ZoneDurations>;

/// Computes the statistics of all tallies, grouped by chip and RISC, sorted by descending cycles.
pub(super) fn statistics_of(tallies: &[&Tally], readout: &Readout) -> Vec<ZoneStatistics> {
    let names = &readout.zones;
    let rows: Vec<_> = rows_of(tallies, names).into_iter().collect();
    let mut rows: Vec<_> = rows
        .into_par_iter()
        .map(|((key, zone), parts)| {
            (key, statistics_of_zone((&readout.devices[key.0].chip, key.1), (zone, names), &parts))
        })
        .collect();
    rows.sort_by(|(one_key, one), (other_key, other)| {
        let [one_place, other_place] =
            [one, other].map(|zone| (Reverse(zone.cycles.total_cycles), zone.marker_id));
        let keys = one_key.cmp(other_key).then(one_place.cmp(&other_place));
        keys.then_with(|| one.name.cmp(&other.name))
    });
    rows.into_iter().map(|(_, statistics)| statistics).collect()
}

/// Groups the zones of all tallies into rows of the zone statistics. A dispatcher's zones for the
/// same command are combined over all programs.
fn rows_of<'tally>(
    tallies: &[&'tally Tally],
    names: &ZoneTable,
) -> BTreeMap<(GroupKey, ZoneIndex), Parts<'tally>> {
    let mut first_of_command: HashMap<(u32, String), ZoneIndex> = HashMap::new();
    let mut rows: BTreeMap<_, Parts<'tally>> = BTreeMap::new();
    for tally in tallies {
        let zones = tally.zones.zones.iter().map(|&zone| {
            let command = without_programs(names.name(zone));
            let key = command.map(|command| (names.id(zone), command));
            key.map_or(zone, |key| *first_of_command.entry(key).or_insert(zone))
        });
        let zones: Vec<ZoneIndex> = zones.collect();
        for (&key, entries) in &tally.groups {
            let entries = zones.iter().zip(entries);
            for (&zone, durations) in entries.filter(|(_, durations)| !durations.is_empty()) {
                rows.entry((key, zone)).or_default().push(durations);
            }
        }
    }
    join_envelopes(rows, names)
}

/// On aggregate lanes, combines all firmware zones into one row, and all kernel zones into another.
///
/// On such a lane, each firmware or kernel zone encloses the zones of all RISCs of a core. Any of
/// these RISCs may begin the zone, and the zone's name depends on this RISC.
fn join_envelopes<'tally>(
    rows: BTreeMap<(GroupKey, ZoneIndex), Parts<'tally>>,
    names: &ZoneTable,
) -> BTreeMap<(GroupKey, ZoneIndex), Parts<'tally>> {
    if rows.keys().all(|((_, risc), _)| *risc != Risc::TensixAggregate) {
        return rows;
    }
    let mut first_of_kind: BTreeMap<(GroupKey, &str), ZoneIndex> = BTreeMap::new();
    let mut joined: BTreeMap<_, Parts<'tally>> = BTreeMap::new();
    for ((key, zone), mut parts) in rows {
        let envelope = ZoneRole::from_name(names.name(zone)).envelope_name();
        let zone = match envelope.filter(|_| key.1 == Risc::TensixAggregate) {
            Some(kind) => *first_of_kind.entry((key, kind)).or_insert(zone),
            None => zone,
        };
        joined.entry((key, zone)).or_default().append(&mut parts);
    }
    joined
}

fn statistics_of_zone(
    (chip, risc): (&ChipSummary, Risc),
    (zone, names): (ZoneIndex, &ZoneTable),
    parts: &[&ZoneDurations],
) -> ZoneStatistics {
    let source = names.sources(zone).first();
    ZoneStatistics {
        chip_id: chip.chip_id,
        risc,
        marker_id: names.id(zone),
        name: without_programs(names.name(zone)).unwrap_or_else(|| names.label(zone).into_owned()),
        source_file: source.map_or_else(String::new, |source| source.file.clone()),
        source_line: source.map_or(0, |source| source.line),
        cycles: ZoneDurations::statistics(parts, chip.aiclk_mhz),
        self_total_cycles: parts
            .iter()
            .fold(0, |total: u64, part| total.saturating_add(part.self_total_cycles())),
        open_zone_count: parts.iter().map(|part| part.open_count()).sum(),
    }
}
