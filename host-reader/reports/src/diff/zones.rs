//! Durations of zones, from the records of a readout.

use super::{
    measured::{Measured, MeasuredKind, Measurements},
    ops::clock_mhz,
};
use analysis::{ZoneSum, paired_zones, zone_times};
use reader::{
    anomaly::AnomalyLog,
    from_lanes::FromLanes,
    lane::{Lane, TraceReplay, ZoneIndex},
    names::ZoneTable,
    readout::Readout,
    timeline::{NO_RUN, pair_lane},
};
use std::collections::{BTreeMap, HashMap};
use wire::Risc;

/// One launch: the program, its trace replay, and a number that distinguishes launches with the
/// same program and replay.
type Launch = (u32, Option<TraceReplay>, u64);

/// Sums of the zones of one launch, for each chip, RISC and zone.
#[derive(Debug, Default)]
pub(super) struct LaunchZones(BTreeMap<(u32, Risc, ZoneIndex), BTreeMap<Launch, ZoneSum<()>>>);

impl FromLanes for LaunchZones {
    type Context<'readout> = &'readout ZoneTable;

    fn add(&mut self, names: &&ZoneTable, lane: &Lane) {
        // Open zones are counted in the sums.
        let zones = pair_lane(lane, names, &mut AnomalyLog::default()).zones;
        let launches = launches_of(lane);
        let times = zone_times(paired_zones(&zones));
        for (zone, time) in zones.iter().zip(times) {
            let launch = launch_of(&launches, zone.run);
            let key = (lane.id.chip_id, lane.id.risc, zone.zone);
            self.0.entry(key).or_default().entry(launch).or_default().add(time, ());
        }
    }
}

impl LaunchZones {
    /// Merges the parts collected by all threads.
    pub(super) fn from_parts(parts: Vec<Self>) -> Self {
        let mut all = Self::default();
        for Self(part) in parts {
            for (key, launches) in part {
                let own = all.0.entry(key).or_default();
                for (launch, sum) in launches {
                    own.entry(launch).or_default().merge(sum);
                }
            }
        }
        all
    }
}

impl Measurements {
    /// Adds the zones of a readout. Each launch is a repetition.
    ///
    /// The duration of a zone in a repetition is the mean over all cores of the launch and all
    /// passes through the zone. Zones without an end are left out and counted as skipped.
    pub(super) fn add_zones(&mut self, readout: &Readout, LaunchZones(sums): LaunchZones) {
        let open_count = sums.values().flat_map(BTreeMap::values).map(|sum| sum.open_count).sum();
        self.skip("zones without an end", open_count);
        for ((chip_id, risc, zone), launches) in sums {
            let clock = clock_mhz(readout, chip_id);
            let source = readout.zones.sources(zone).first();
            self.add(Measured {
                kind: MeasuredKind::Zone,
                place: format!("device {chip_id} {}", risc.label()).into(),
                name: readout.zones.label(zone).into(),
                source: source
                    .map_or_else(String::new, |source| format!("{}:{}", source.file, source.line))
                    .into(),
                traits: Default::default(),
                attributes: Default::default(),
                clock_mhz: Some(clock),
                durations_ns: launches
                    .values()
                    .filter(|sum| sum.count > 0)
                    .map(|sum| sum.total_cycles as f64 / sum.count as f64 * 1000.0 / clock)
                    .collect(),
            });
        }
    }
}

/// Returns the launch to which each run of a lane belongs.
fn launches_of(lane: &Lane) -> Vec<Launch> {
    let mut counts: HashMap<(u32, Option<TraceReplay>), u64> = HashMap::new();
    lane.runs
        .iter()
        .map(|run| {
            let count = counts.entry((run.program.0, run.trace)).or_default();
            *count = count.saturating_add(1);
            (run.program.0, run.trace, *count)
        })
        .collect()
}

/// Returns the launch to which a run belongs. Records before the first run do not belong to a
/// program.
fn launch_of(launches: &[Launch], run: u32) -> Launch {
    let index = usize::try_from(run).ok().filter(|_| run != NO_RUN);
    index.and_then(|run| launches.get(run)).copied().unwrap_or((0, None, 0))
}
