//! Statistics per zone: number, durations, and the time not covered by inner zones.

use super::{
    distribution::CycleStatistics,
    tally::{GroupKey, Tally, statistics_of},
};
use rayon::prelude::*;
use reader::{
    anomaly::AnomalyLog,
    lane::{Lane, LaneId},
    names::ZoneTable,
    packed_bytes::PackedMemory,
    readout::Readout,
    timeline::{LaneLengths, RunLengths, Timeline},
};
use std::sync::Arc;
use wire::Risc;

/// Statistics of one zone over all cores of a chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneStatistics {
    /// Number of the chip.
    pub chip_id: u32,
    /// RISC.
    pub risc: Risc,
    /// Marker id of the zone.
    pub marker_id: u32,
    /// Readable name of the zone. If the name is unknown, this is the zone's id; if several names
    /// are possible, this is all of them.
    pub name: String,
    /// Source file; empty if unknown.
    pub source_file: String,
    /// Source line; 0 if unknown.
    pub source_line: u32,
    /// Durations of the zones that have a start and an end.
    pub cycles: CycleStatistics,
    /// Cycles of the complete zones, minus the cycles that their inner zones cover.
    pub self_total_cycles: u64,
    /// Number of zones without an end. All other figures exclude these zones, because their
    /// durations are unknown.
    pub open_zone_count: u64,
}

/// Computes the statistics of all zones, grouped by chip and RISC, sorted by descending cycles.
///
/// The timeline must be built from `readout`.
///
/// # Cost
/// Linear time. Memory for exact percentiles: 1 byte for each zone below 128 cycles, 2 below 2^14
/// cycles, 3 below 2^21 cycles, and so on.
#[must_use]
pub fn zone_statistics(readout: &Readout, timeline: &Timeline) -> Vec<ZoneStatistics> {
    let devices = timeline.devices.par_iter().enumerate();
    let lanes = devices.flat_map(|(chip, device)| {
        device.lanes.par_iter().map(move |lane| ((chip, lane.id.risc), lane))
    });
    let memory = PackedMemory::unlimited();
    let tallies = lanes.fold(Tally::default, |mut tally, (group, lane)| {
        tally.group(group, &memory).add(&lane.zones);
        tally
    });
    let tallies: Vec<_> = tallies.collect();
    statistics_of(&tallies.iter().collect::<Vec<_>>(), readout)
}

/// Computes the same statistics as [`zone_statistics`], without building a timeline.
///
/// For each lane, the starts and ends of zones are paired and added to the statistics. The lane's
/// timeline is then dropped. The anomalies in the result include the open zones and orphan ends
/// that [`Timeline::from_readout`] would report.
///
/// ```
/// use analysis::paired_zone_statistics;
/// use recording::device_log::read_device_log;
/// use reader::anomaly::AnomalyKind;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
/// 0,1,2,BRISC,7,100,0,1024,LoadData,ZONE_START
/// 0,1,2,BRISC,7,160,0,1024,LoadData,ZONE_END
/// 0,1,2,BRISC,8,170,0,1024,WaitResult,ZONE_END
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let (zones, anomalies) = paired_zone_statistics(&readout);
/// assert_eq!((zones[0].name.as_str(), zones[0].cycles.total_cycles), ("LoadData", 60));
/// assert_eq!(anomalies.count(AnomalyKind::OrphanEnd), 1);
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
///
/// # Cost
/// Memory as for [`zone_statistics`], plus the timeline of one lane per thread.
#[must_use]
pub fn paired_zone_statistics(readout: &Readout) -> (Vec<ZoneStatistics>, AnomalyLog) {
    let devices = readout.devices.par_iter().enumerate();
    let lanes = devices.flat_map(|(chip, device)| {
        device.lanes.par_iter().map(move |lane| ((chip, lane.id.risc), lane))
    });
    let memory = PackedMemory::unlimited();
    let pairers = lanes.fold(Pairer::default, |mut pairer, (group, lane)| {
        pairer.add(group, lane, (&readout.zones, &memory));
        pairer
    });
    Pairer::finish(pairers.collect(), readout)
}

/// Pairs the starts and ends of zones, lane by lane, and collects the durations of the zones.
#[derive(Debug, Default)]
pub(super) struct Pairer {
    tally: Tally,
    lengths: LaneLengths,
    /// Anomalies of each lane that has anomalies.
    met: Vec<(LaneId, AnomalyLog)>,
}

impl Pairer {
    /// Adds the zones of a lane to a group. Full buffers of durations are moved to `memory`.
    pub(super) fn add(
        &mut self,
        group: GroupKey,
        lane: &Lane,
        (names, memory): (&ZoneTable, &Arc<PackedMemory>),
    ) {
        let mut anomalies = AnomalyLog::default();
        let mut group = self.tally.group(group, memory);
        self.lengths.read_lane(lane, names, &mut anomalies, |run| match run {
            RunLengths::Nested(zones) => group.add_whole(zones),
            RunLengths::Paired(zones) => group.add(zones),
        });
        if !anomalies.is_empty() {
            self.met.push((lane.id, anomalies));
        }
    }

    /// Returns the statistics of all pairers, and the anomalies in the order of lanes.
    pub(super) fn finish(
        pairers: Vec<Self>,
        readout: &Readout,
    ) -> (Vec<ZoneStatistics>, AnomalyLog) {
        let tallies: Vec<_> = pairers.iter().map(|pairer| &pairer.tally).collect();
        let statistics = statistics_of(&tallies, readout);
        let mut met: Vec<_> = pairers.into_iter().flat_map(|pairer| pairer.met).collect();
        met.sort_by_key(|&(lane, _)| lane);
        let mut anomalies = AnomalyLog::default();
        met.into_iter().for_each(|(_, lane_anomalies)| anomalies.merge(lane_anomalies));
        (statistics, anomalies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernel zones around all RISCs of two cores were begun by different RISCs. Two more zones
    /// are called `Load` and have different ids.
    #[test]
    fn envelopes_of_aggregate_lanes_are_one_row_whichever_risc_began_them() {
        let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC \
                       processor type,timer_id,time[cycles since reset],data,run host ID,zone name,\
                       type\n"
            .to_owned();
        for (core, risc, id, start, zone) in [
            ("1,1", "TENSIX_RISC_AGG", 3, 100, "BRISC-KERNEL"),
            ("1,2", "TENSIX_RISC_AGG", 4, 200, "TRISC-KERNEL"),
            ("1,2", "TENSIX_RISC_AGG", 5, 400, "Load"),
            ("1,3", "TENSIX_RISC_AGG", 6, 600, "Load"),
            ("1,4", "BRISC", 3, 100, "BRISC-KERNEL"),
            ("1,4", "BRISC", 4, 200, "TRISC-KERNEL"),
        ] {
            for (time, edge) in [(start, "START"), (start + 50, "END")] {
                log += &format!("0,{core},{risc},{id},{time},0,1,{zone},ZONE_{edge}\n");
            }
        }
        let readout = recording::device_log::read_device_log(log.as_bytes(), "test").unwrap();
        let (zones, _) = paired_zone_statistics(&readout);
        let mut rows: Vec<_> = zones
            .iter()
            .map(|zone| (zone.risc.label(), zone.marker_id, zone.cycles.count))
            .collect();
        rows.sort_unstable();
        let aggregate = "TENSIX_RISC_AGG";
        // Zones of kernels share a row only if they have the same id.
        let expected = [("BRISC", 3, 1), ("BRISC", 4, 1), (aggregate, 3, 2), (aggregate, 5, 1)];
        assert_eq!(rows, [&expected[..], &[(aggregate, 6, 1)]].concat());
    }
}
