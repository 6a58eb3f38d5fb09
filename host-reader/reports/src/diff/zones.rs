//! Durations of zones, from the records of a readout.

use super::{
    measured::{InRuns, Measured, MeasuredKind, Measurements},
    ops::clock_mhz,
};
use analysis::{FullBuffers, ZoneSum, paired_zones, zone_times};
use reader::{
    anomaly::AnomalyLog,
    from_lanes::FromLanes,
    lane::{Lane, TraceReplay, ZoneIndex},
    names::ZoneTable,
    readout::Readout,
    role::RoleTable,
    timeline::{NO_RUN, pair_lane},
};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use wire::Risc;

/// One launch: the program, its trace replay, and a number that distinguishes launches with the
/// same program and replay.
type Launch = (u32, Option<TraceReplay>, u64);

/// Zones of one launch: their sum, and the kernel runs that have them.
#[derive(Debug, Default)]
struct OfLaunch {
    sum: ZoneSum<()>,
    run_count: u64,
    /// True if a run does not tell how many zones it had: it dispatches what other launches do, or is none.
    is_without_run: bool,
}

/// Sums of the zones of one launch, for each chip, RISC and zone.
#[derive(Debug, Default)]
pub(super) struct LaunchZones {
    sums: BTreeMap<(u32, Risc, ZoneIndex), BTreeMap<Launch, OfLaunch>>,
    full_buffers: FullBuffers,
}

impl FromLanes for LaunchZones {
    type Context<'readout> = (&'readout ZoneTable, RoleTable);

    fn add(&mut self, (names, roles): &Self::Context<'_>, lane: &Lane) {
        self.full_buffers.add_lane(lane, roles);
        // Open zones are counted in the sums.
        let zones = pair_lane(lane, names, &mut AnomalyLog::default()).zones;
        let launches = launches_of(lane);
        let is_dispatch = |zone: ZoneIndex| roles.role(zone).is_dispatch();
        let dispatching: BTreeSet<u32> =
            zones.iter().filter(|zone| is_dispatch(zone.zone)).map(|zone| zone.run).collect();
        let times = zone_times(paired_zones(&zones));
        let mut seen = BTreeSet::new();
        for (zone, time) in zones.iter().zip(times) {
            let launch = launch_of(&launches, zone.run);
            let key = (lane.id.chip_id, lane.id.risc, zone.zone);
            let own = self.sums.entry(key).or_default().entry(launch).or_default();
            own.sum.add(time, ());
            let is_new_run = seen.insert((zone.zone, zone.run));
            own.run_count = own.run_count.saturating_add(is_new_run.into());
            own.is_without_run |= zone.run == NO_RUN || dispatching.contains(&zone.run);
        }
    }
}

impl LaunchZones {
    /// Merges the parts collected by all threads.
    pub(super) fn from_parts(parts: Vec<Self>) -> Self {
        let mut all = Self::default();
        for Self { sums, full_buffers } in parts {
            all.full_buffers.merge(full_buffers);
            for (key, launches) in sums {
                let own = all.sums.entry(key).or_default();
                for (launch, of) in launches {
                    let own = own.entry(launch).or_default();
                    own.sum.merge(of.sum);
                    own.run_count = own.run_count.saturating_add(of.run_count);
                    own.is_without_run |= of.is_without_run;
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
    pub(super) fn add_zones(&mut self, readout: &Readout, zones: LaunchZones) {
        let LaunchZones { sums, full_buffers } = zones;
        self.full_buffers = full_buffers.found(&readout.losses);
        let all = sums.values().flat_map(BTreeMap::values);
        self.skip("zones without an end", all.map(|of| of.sum.open_count).sum());
        let lossy: BTreeSet<(u32, Risc)> =
            readout.losses.entries().map(|(key, _)| (key.lane.chip_id, key.lane.risc)).collect();
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
                    .filter(|of| of.sum.count > 0)
                    .map(|of| of.sum.total_cycles as f64 / of.sum.count as f64 * 1000.0 / clock)
                    .collect(),
                // Kernels of Ethernet cores may run as long as the program.
                in_runs: (risc != Risc::Erisc && !lossy.contains(&(chip_id, risc)))
                    .then(|| in_runs(&launches, clock))
                    .flatten(),
            });
        }
    }
}

/// Returns what a zone takes in a kernel run of each launch; `None` if any of it is unknown.
fn in_runs(launches: &BTreeMap<Launch, OfLaunch>, clock_mhz: f64) -> Option<InRuns> {
    let mut found = InRuns::default();
    for OfLaunch { sum, run_count, is_without_run } in launches.values() {
        if sum.open_count > 0 || sum.total_cycles == 0 || *is_without_run || *run_count == 0 {
            return None;
        }
        let in_run = |count: u64| count as f64 / *run_count as f64;
        found.counts.push(in_run(sum.count));
        found.sums_ns.push(in_run(sum.total_cycles) * 1000.0 / clock_mhz);
        found.own_ns.push(in_run(sum.self_cycles) * 1000.0 / clock_mhz);
    }
    Some(found)
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
