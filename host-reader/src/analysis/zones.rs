//! Statistics per zone: how often, how long, and how much of it in zones inside.

use super::{distribution::CycleStatistics, optional_risc_label};
use crate::{
    lane::ZoneIndex,
    names::ZoneTable,
    readout::Readout,
    timeline::{DeviceTimeline, LaneTimeline, Timeline, Zones},
};
use rayon::prelude::*;
use std::collections::BTreeMap;
use wire::Risc;

/// Over which RISCs durations of one zone are put together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZoneGrouping {
    /// Each RISC apart.
    #[default]
    ByRisc,
    /// All RISCs of a chip together.
    AllRiscs,
}

/// Durations of one zone over all cores of a chip.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ZoneStatistics {
    /// Number of the chip.
    pub chip_id: u32,
    /// The RISC; `None` if all are put together.
    #[serde(serialize_with = "optional_risc_label")]
    pub risc: Option<Risc>,
    /// The zone's marker id.
    pub marker_id: u32,
    /// Its name for people: the id if unknown, all names if ambiguous.
    pub name: String,
    /// Source file; empty if unknown.
    pub source_file: String,
    /// Source line; 0 if unknown.
    pub source_line: u32,
    /// Durations of whole zones.
    #[serde(flatten)]
    pub cycles: CycleStatistics,
    /// Cycles of whole zones that no zone inside of them covers.
    pub self_total_cycles: u64,
    /// Zones whose end is missing; they have no part in the durations.
    pub open_zone_count: u64,
}

/// Statistics of all zones, by chip and RISC, those with the most cycles first.
///
/// Memory: 8 bytes per zone of the chip and RISC at hand, for exact percentiles.
#[must_use]
pub fn zone_statistics(
    readout: &Readout,
    timeline: &Timeline,
    grouping: ZoneGrouping,
) -> Vec<ZoneStatistics> {
    let mut all = Vec::new();
    for device in &timeline.devices {
        let chips = readout.devices.iter().map(|device| &device.chip);
        let chip = chips.into_iter().find(|chip| chip.chip_id == device.chip_id);
        let aiclk_mhz = chip.map_or(0, |chip| chip.aiclk_mhz);
        let groups: Vec<_> = lane_groups(device, grouping).into_iter().collect();
        let statistics = groups.into_par_iter().flat_map_iter(|(risc, lanes)| {
            group_statistics(&lanes, &readout.zones, aiclk_mhz)
                .into_iter()
                .map(move |zone| ZoneStatistics { chip_id: device.chip_id, risc, ..zone })
        });
        all.par_extend(statistics);
    }
    all
}

type LaneGroups<'timeline> = BTreeMap<Option<Risc>, Vec<&'timeline LaneTimeline>>;

fn lane_groups(device: &DeviceTimeline, grouping: ZoneGrouping) -> LaneGroups<'_> {
    let mut groups = LaneGroups::new();
    for lane in &device.lanes {
        let risc = (grouping == ZoneGrouping::ByRisc).then_some(lane.id.risc);
        groups.entry(risc).or_default().push(lane);
    }
    groups
}

fn group_statistics(
    lanes: &[&LaneTimeline],
    names: &ZoneTable,
    aiclk_mhz: u32,
) -> Vec<ZoneStatistics> {
    let mut gathered = Gathered::default();
    for lane in lanes {
        gathered.enter(&lane.zones);
    }
    let entries = gathered.entries.into_iter();
    let mut statistics: Vec<_> = entries.map(|entry| entry.statistics(names, aiclk_mhz)).collect();
    statistics.sort_by(|one, other| {
        let key =
            |zone: &ZoneStatistics| (std::cmp::Reverse(zone.cycles.total_cycles), zone.marker_id);
        key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
    });
    statistics
}

/// Durations by zone.
#[derive(Default)]
struct Gathered {
    entries: Vec<ZoneDurations>,
    /// Position in `entries` by zone index.
    positions: Vec<u32>,
    /// Cycles of the current lane's zones that zones inside of them cover.
    covered: Vec<u64>,
    /// The latest zone at each depth.
    around: Vec<usize>,
}

struct ZoneDurations {
    zone: ZoneIndex,
    durations: Vec<u64>,
    self_total_cycles: u64,
    open_zone_count: u64,
}

const NO_POSITION: u32 = u32::MAX;

impl Gathered {
    fn enter(&mut self, zones: &Zones) {
        self.cover(zones);
        for index in 0..zones.len() {
            let duration = zones.ends[index].saturating_sub(zones.starts[index]);
            let covered = self.covered[index];
            let entry = self.entry(zones.zones[index]);
            if zones.flags[index].is_open() {
                entry.open_zone_count += 1;
            } else {
                entry.durations.push(duration);
                let own = duration.saturating_sub(covered);
                entry.self_total_cycles = entry.self_total_cycles.saturating_add(own);
            }
        }
    }

    /// Adds up what each zone's direct children cover.
    fn cover(&mut self, zones: &Zones) {
        self.covered.clear();
        self.covered.resize(zones.len(), 0);
        self.around.clear();
        for (index, &depth) in zones.depths.iter().enumerate() {
            self.around.truncate(usize::from(depth));
            if let Some(&parent) = self.around.last() {
                let duration = zones.ends[index].saturating_sub(zones.starts[index]);
                self.covered[parent] = self.covered[parent].saturating_add(duration);
            }
            self.around.push(index);
        }
    }

    #[inline]
    fn entry(&mut self, zone: ZoneIndex) -> &mut ZoneDurations {
        let index = zone.0 as usize;
        if self.positions.get(index).is_none_or(|&position| position == NO_POSITION) {
            self.add(zone);
        }
        &mut self.entries[self.positions[index] as usize]
    }

    #[cold]
    fn add(&mut self, zone: ZoneIndex) {
        let index = zone.0 as usize;
        let length = self.positions.len().max(index + 1);
        self.positions.resize(length, NO_POSITION);
        self.positions[index] = u32::try_from(self.entries.len()).unwrap_or(NO_POSITION);
        let durations = Vec::new();
        self.entries.push(ZoneDurations {
            zone,
            durations,
            self_total_cycles: 0,
            open_zone_count: 0,
        });
    }
}

impl ZoneDurations {
    /// The figures, with chip and RISC left open.
    fn statistics(mut self, names: &ZoneTable, aiclk_mhz: u32) -> ZoneStatistics {
        let source = names.sources(self.zone).first();
        ZoneStatistics {
            chip_id: 0,
            risc: None,
            marker_id: names.id(self.zone),
            name: names.label(self.zone).into_owned(),
            source_file: source.map_or_else(String::new, |source| source.file.clone()),
            source_line: source.map_or(0, |source| source.line),
            cycles: CycleStatistics::of(&mut self.durations, aiclk_mhz),
            self_total_cycles: self.self_total_cycles,
            open_zone_count: self.open_zone_count,
        }
    }
}
