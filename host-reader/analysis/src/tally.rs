//! Durations of zones, collected by chip, RISC and zone for statistics.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "indices and counts are those of lists in memory"
)]

use super::{ZoneStatistics, dispatch_names::without_programs, durations::Durations};
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
    /// Stack with the zone that was added last on top. Below it are the zones that contain it, the
    /// outermost zone at the bottom.
    around: Vec<Frame>,
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
    around: &'tally mut Vec<Frame>,
    memory: &'tally Arc<PackedMemory>,
}

/// Zone whose inner zones are being processed.
#[derive(Debug)]
struct Frame {
    number: usize,
    duration_cycles: u64,
    /// Cycles covered by the direct children of the zone.
    covered_cycles: u64,
    is_open: bool,
}

/// Durations of all zones with the same group and name.
#[derive(Debug, Default)]
struct ZoneDurations {
    durations: Durations,
    self_total_cycles: u64,
    open_zone_count: u64,
}

impl Tally {
    /// Returns the part of the tally for a group. Full buffers of durations are moved to `memory`.
    pub(super) fn group<'tally>(
        &'tally mut self,
        key: GroupKey,
        memory: &'tally Arc<PackedMemory>,
    ) -> Group<'tally> {
        let Self { zones, groups, around } = self;
        Group { zones, durations: groups.entry(key).or_default(), around, memory }
    }
}

impl Group<'_> {
    /// Adds the zones of whole runs, in the order of the timeline.
    pub(super) fn add(&mut self, zones: &Zones) {
        let spans = zones.starts.iter().zip(&zones.ends);
        let places = zones.zones.iter().zip(&zones.depths).zip(&zones.flags);
        for ((start, end), ((&zone, &depth), flags)) in spans.zip(places) {
            self.leave(usize::from(depth));
            let duration_cycles = end.saturating_sub(*start);
            if let Some(parent) = self.around.last_mut() {
                parent.covered_cycles = parent.covered_cycles.saturating_add(duration_cycles);
            }
            let (number, is_open) = (self.number(zone), flags.is_open());
            self.around.push(Frame { number, duration_cycles, covered_cycles: 0, is_open });
        }
        self.leave(0);
    }

    /// Adds zones with known durations and self times, in any order.
    pub(super) fn add_whole(&mut self, zones: &[WholeZone]) {
        for zone in zones {
            let number = self.number(zone.zone);
            let entry = &mut self.durations[number];
            entry.durations.push(zone.duration_cycles.into(), self.memory);
            entry.add_self(zone.self_cycles.into());
        }
    }

    /// Removes zones from `around` until `depth` zones are left, and adds the durations of the
    /// removed zones.
    #[inline]
    fn leave(&mut self, depth: usize) {
        while self.around.len() > depth
            && let Some(frame) = self.around.pop()
        {
            self.durations[frame.number].add(&frame, self.memory);
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

impl ZoneDurations {
    #[inline]
    fn add(&mut self, zone: &Frame, memory: &Arc<PackedMemory>) {
        if zone.is_open {
            self.open_zone_count += 1;
            return;
        }
        self.durations.push(zone.duration_cycles, memory);
        self.add_self(zone.duration_cycles.saturating_sub(zone.covered_cycles));
    }

    #[inline]
    const fn add_self(&mut self, cycles: u64) {
        self.self_total_cycles = self.self_total_cycles.saturating_add(cycles);
    }

    const fn is_empty(&self) -> bool {
        self.durations.is_empty() && self.open_zone_count == 0
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
    let durations: Vec<_> = parts.iter().map(|part| &part.durations).collect();
    ZoneStatistics {
        chip_id: chip.chip_id,
        risc,
        marker_id: names.id(zone),
        name: without_programs(names.name(zone)).unwrap_or_else(|| names.label(zone).into_owned()),
        source_file: source.map_or_else(String::new, |source| source.file.clone()),
        source_line: source.map_or(0, |source| source.line),
        cycles: Durations::statistics(&durations, chip.aiclk_mhz),
        self_total_cycles: parts
            .iter()
            .fold(0, |total: u64, part| total.saturating_add(part.self_total_cycles)),
        open_zone_count: parts.iter().map(|part| part.open_zone_count).sum(),
    }
}
