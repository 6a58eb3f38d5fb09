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
/// Memory: 4 bytes per zone of the chip and RISC at hand, for exact percentiles; 8 for zones of
/// more than 2^32 cycles.
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
    /// The latest zone and those around it, outermost first.
    around: Vec<Frame>,
}

/// A zone whose inside is being gone over.
struct Frame {
    entry: usize,
    duration_cycles: u64,
    /// What its direct children cover.
    covered_cycles: u64,
    is_open: bool,
}

struct ZoneDurations {
    zone: ZoneIndex,
    durations: Durations,
    self_total_cycles: u64,
    open_zone_count: u64,
}

/// Durations of any length; nearly all fit 32 bits.
#[derive(Default)]
struct Durations {
    short: Vec<u32>,
    long: Vec<u64>,
}

const NO_POSITION: u32 = u32::MAX;

impl Gathered {
    fn enter(&mut self, zones: &Zones) {
        let spans = zones.starts.iter().zip(&zones.ends);
        let places = zones.zones.iter().zip(&zones.depths).zip(&zones.flags);
        for ((start, end), ((&zone, &depth), flags)) in spans.zip(places) {
            self.leave(usize::from(depth));
            let duration_cycles = end.saturating_sub(*start);
            if let Some(parent) = self.around.last_mut() {
                parent.covered_cycles = parent.covered_cycles.saturating_add(duration_cycles);
            }
            let (entry, is_open) = (self.entry(zone), flags.is_open());
            self.around.push(Frame { entry, duration_cycles, covered_cycles: 0, is_open });
        }
        self.leave(0);
    }

    /// Enters the zones whose inside has ended, all but so many.
    #[inline]
    fn leave(&mut self, depth: usize) {
        while self.around.len() > depth
            && let Some(frame) = self.around.pop()
        {
            self.entries[frame.entry].add(&frame);
        }
    }

    #[inline]
    fn entry(&mut self, zone: ZoneIndex) -> usize {
        match self.positions.get(zone.0 as usize) {
            Some(&position) if position != NO_POSITION => position as usize,
            _ => self.add(zone),
        }
    }

    #[cold]
    fn add(&mut self, zone: ZoneIndex) -> usize {
        let index = zone.0 as usize;
        let length = self.positions.len().max(index + 1);
        self.positions.resize(length, NO_POSITION);
        self.positions[index] = u32::try_from(self.entries.len()).unwrap_or(NO_POSITION);
        let durations = Durations::default();
        self.entries.push(ZoneDurations {
            zone,
            durations,
            self_total_cycles: 0,
            open_zone_count: 0,
        });
        self.entries.len() - 1
    }
}

impl Durations {
    #[inline]
    fn push(&mut self, cycles: u64) {
        match u32::try_from(cycles) {
            Ok(cycles) => self.short.push(cycles),
            Err(_) => self.long.push(cycles),
        }
    }

    fn statistics(&mut self, aiclk_mhz: u32) -> CycleStatistics {
        if self.long.is_empty() {
            return CycleStatistics::of_any(&mut self.short, aiclk_mhz);
        }
        self.long.extend(self.short.drain(..).map(u64::from));
        CycleStatistics::of_any(&mut self.long, aiclk_mhz)
    }
}

impl ZoneDurations {
    #[inline]
    fn add(&mut self, zone: &Frame) {
        if zone.is_open {
            self.open_zone_count += 1;
            return;
        }
        self.durations.push(zone.duration_cycles);
        let own = zone.duration_cycles.saturating_sub(zone.covered_cycles);
        self.self_total_cycles = self.self_total_cycles.saturating_add(own);
    }

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
            cycles: self.durations.statistics(aiclk_mhz),
            self_total_cycles: self.self_total_cycles,
            open_zone_count: self.open_zone_count,
        }
    }
}
