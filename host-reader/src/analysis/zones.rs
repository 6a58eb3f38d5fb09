//! Statistics per zone: how often, how long, and how much of it in zones inside.

use super::{distribution::CycleStatistics, optional_risc_label};
use crate::{
    anomaly::AnomalyLog,
    lane::{Lane, ZoneIndex},
    names::ZoneTable,
    readout::{DeviceReadout, Readout},
    timeline::{LaneTimeline, Timeline, Zones, pair_lane},
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
    let chip_of = |chip_id| {
        let mut chips = readout.devices.iter().map(|device| &device.chip);
        chips.find(|chip| chip.chip_id == chip_id)
    };
    let statistics = timeline.devices.iter().flat_map(|device| {
        let aiclk_mhz = chip_of(device.chip_id).map_or(0, |chip| chip.aiclk_mhz);
        let chip = Chip { chip_id: device.chip_id, aiclk_mhz, names: &readout.zones };
        let risc = |lane: &LaneTimeline| lane.id.risc;
        let enter = |gathered: &mut Gathered, lane: &LaneTimeline| gathered.enter(&lane.zones);
        chip.statistics(&device.lanes, grouping, risc, enter).0
    });
    statistics.collect()
}

/// What [`zone_statistics`] says, for those who need no timeline.
///
/// Each lane is paired, summed up and dropped. With the statistics come the open zones and
/// orphan ends that [`Timeline::of_readout`] would have found.
///
/// ```
/// use host_reader::{
///     analysis::{ZoneGrouping, paired_zone_statistics}, anomaly::AnomalyKind, log::read_device_log,
/// };
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,LoadData,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,LoadData,ZONE_END
/// 0,1,2,BRISC,8,170,0,1024,WaitResult,ZONE_END
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let (zones, anomalies) = paired_zone_statistics(&readout, ZoneGrouping::ByRisc);
/// assert_eq!((zones[0].name.as_str(), zones[0].cycles.total_cycles), ("LoadData", 60));
/// assert_eq!(anomalies.count(AnomalyKind::OrphanEnd), 1);
/// # Ok::<(), host_reader::log::LogError>(())
/// ```
///
/// # Cost
/// Memory as that of [`zone_statistics`], and one lane's timeline for each thread.
#[must_use]
pub fn paired_zone_statistics(
    readout: &Readout,
    grouping: ZoneGrouping,
) -> (Vec<ZoneStatistics>, AnomalyLog) {
    let mut all = Vec::new();
    let mut anomalies = AnomalyLog::default();
    for DeviceReadout { chip, lanes, .. } in &readout.devices {
        let (chip_id, aiclk_mhz) = (chip.chip_id, chip.aiclk_mhz);
        let chip = Chip { chip_id, aiclk_mhz, names: &readout.zones };
        let enter = |gathered: &mut Gathered, lane: &Lane| {
            let paired = pair_lane(lane, &readout.zones, &mut gathered.anomalies);
            gathered.enter(&paired.zones);
        };
        let (statistics, of_chip) = chip.statistics(lanes, grouping, |lane| lane.id.risc, enter);
        all.extend(statistics);
        anomalies.merge(of_chip);
    }
    (all, anomalies)
}

/// What the statistics of a chip's zones need to know of it.
#[derive(Clone, Copy)]
struct Chip<'readout> {
    chip_id: u32,
    aiclk_mhz: u32,
    names: &'readout ZoneTable,
}

impl Chip<'_> {
    /// Statistics over lanes of either kind, group by group.
    fn statistics<Lane: Sync>(
        self,
        lanes: &[Lane],
        grouping: ZoneGrouping,
        risc: impl Fn(&Lane) -> Risc,
        enter: impl Fn(&mut Gathered, &Lane) + Sync,
    ) -> (Vec<ZoneStatistics>, AnomalyLog) {
        let mut groups: BTreeMap<Option<Risc>, Vec<&Lane>> = BTreeMap::new();
        for lane in lanes {
            let risc = (grouping == ZoneGrouping::ByRisc).then(|| risc(lane));
            groups.entry(risc).or_default().push(lane);
        }
        let mut all = Vec::new();
        let mut anomalies = AnomalyLog::default();
        for (risc, lanes) in groups {
            let gathered = gathered(&lanes, &enter);
            all.extend(self.group_statistics(risc, gathered.entries));
            anomalies.merge(gathered.anomalies);
        }
        (all, anomalies)
    }

    fn group_statistics(
        self,
        risc: Option<Risc>,
        entries: Vec<ZoneDurations>,
    ) -> Vec<ZoneStatistics> {
        let entries = entries.into_par_iter();
        let mut statistics: Vec<_> = entries.map(|entry| entry.statistics(self, risc)).collect();
        statistics.sort_by(|one, other| {
            let key = |zone: &ZoneStatistics| {
                (std::cmp::Reverse(zone.cycles.total_cycles), zone.marker_id)
            };
            key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
        });
        statistics
    }
}

/// The durations in these lanes, many lanes at a time.
fn gathered<Lane: Sync>(
    lanes: &[&Lane],
    enter: &(impl Fn(&mut Gathered, &Lane) + Sync),
) -> Gathered {
    let pieces = lanes.par_iter().fold(Gathered::default, |mut gathered, lane| {
        enter(&mut gathered, lane);
        gathered
    });
    pieces.reduce(Gathered::default, Gathered::merged)
}

/// Durations by zone.
#[derive(Default)]
struct Gathered {
    entries: Vec<ZoneDurations>,
    /// Position in `entries` by zone index.
    positions: Vec<u32>,
    /// The latest zone and those around it, outermost first.
    around: Vec<Frame>,
    /// What pairing met, where the lanes were paired for this.
    anomalies: AnomalyLog,
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

    /// Both together.
    fn merged(mut self, other: Self) -> Self {
        if self.entries.is_empty() {
            self.anomalies.merge(other.anomalies);
            return Self { anomalies: self.anomalies, ..other };
        }
        for durations in other.entries {
            let entry = self.entry(durations.zone);
            self.entries[entry].append(durations);
        }
        self.anomalies.merge(other.anomalies);
        self
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
    fn append(&mut self, other: Self) {
        self.durations.short.extend(other.durations.short);
        self.durations.long.extend(other.durations.long);
        self.self_total_cycles = self.self_total_cycles.saturating_add(other.self_total_cycles);
        self.open_zone_count += other.open_zone_count;
    }

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

    fn statistics(mut self, chip: Chip<'_>, risc: Option<Risc>) -> ZoneStatistics {
        let names = chip.names;
        let source = names.sources(self.zone).first();
        ZoneStatistics {
            chip_id: chip.chip_id,
            risc,
            marker_id: names.id(self.zone),
            name: names.label(self.zone).into_owned(),
            source_file: source.map_or_else(String::new, |source| source.file.clone()),
            source_line: source.map_or(0, |source| source.line),
            cycles: self.durations.statistics(chip.aiclk_mhz),
            self_total_cycles: self.self_total_cycles,
            open_zone_count: self.open_zone_count,
        }
    }
}
