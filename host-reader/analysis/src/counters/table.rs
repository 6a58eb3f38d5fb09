//! Counters of a readout, by launch.

use crate::{
    Launch, LaunchRun,
    counters::{
        group::CounterGroup,
        op::OpCounters,
        sample::{Sample, SampleProblem},
    },
};
use reader::{
    lane::{Annotated, Lane, LaneId, RecordHead, ZoneIndex},
    mesh::Noc0Coord,
    names::ZoneTable,
    readout::Readout,
    role::{RoleTable, ZoneRole},
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
};
use wire::{PacketKind, Risc, ZoneId};

/// Reading of a counter, with lane and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterSample {
    /// Lane of the RISC that read the counter.
    pub lane: LaneId,
    /// Time of the reading, in cycles of the tile's clock.
    pub time: u64,
    /// Reading.
    pub sample: Sample,
}

/// For each reason, the number of data records that have the id of a counter reading but are not
/// valid readings.
pub type ProblemCounts = BTreeMap<SampleProblem, u64>;

/// Counters of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchCounters {
    /// Index of the launch.
    pub launch: usize,
    /// Readings sorted by lane and run, and within a run in the order in which they were taken.
    pub samples: Vec<CounterSample>,
    /// The readings in `samples`, prepared for computing metrics.
    pub counters: OpCounters,
    /// For each reason, the number of data records that are not valid readings.
    pub problems: ProblemCounts,
}

type Reading = (u64, Result<Sample, SampleProblem>);

/// Returns the counters of each launch that has counters, in the order of the launches.
///
/// ```
/// use analysis::launches_of;
/// use analysis::counters::counters_of;
/// use recording::device_log::read_device_log;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type,source line,source file,meta data
/// 0,1,2,BRISC,9090,110,0,1024,,TS_DATA,0,,{\"counter type\":\"FPU_COUNTER\";\"ref cnt\":200;\"value\":50}
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let counters = counters_of(&readout, &launches_of(&readout));
/// let summary = counters[0].counters.summaries(false).next().unwrap();
/// assert_eq!((summary.metric.label(), summary.statistics.unwrap().mean), ("FPU Util", 25.0));
/// # Ok::<(), recording::device_log::LogError>(())
/// ```
#[must_use]
pub fn counters_of(readout: &Readout, launches: &[Launch]) -> Vec<LaunchCounters> {
    let mut run_readings: HashMap<LaunchRun, Vec<Reading>> = HashMap::new();
    for lane in readout.lanes() {
        add_lane(&mut run_readings, lane, &readout.zones);
    }
    if run_readings.is_empty() {
        return Vec::new();
    }
    let kernels = KernelLanes::new(readout);
    launches
        .iter()
        .enumerate()
        .filter_map(|(number, launch)| {
            let mut counters = LaunchCounters { launch: number, ..LaunchCounters::default() };
            let mut runs = launch.runs.clone();
            runs.sort_unstable();
            for run in runs {
                let readings = run_readings.remove(&run).unwrap_or_default();
                readings
                    .into_iter()
                    .for_each(|(time, reading)| counters.add(run.lane, time, reading));
            }
            let kernel_cycles = launch.op.kernel.map(|kernel| kernel.duration_cycles);
            counters.counters.set_kernel_cycles(kernel_cycles);
            for core in counters.cores() {
                if kernels.has_no_compute(launch, core) {
                    counters.counters.note_no_compute(core);
                }
            }
            let is_any = !counters.samples.is_empty() || !counters.problems.is_empty();
            is_any.then_some(counters)
        })
        .collect()
}

/// Lanes of a readout that show on which cores kernels computed.
struct KernelLanes<'a> {
    lanes: HashMap<LaneId, &'a Lane>,
    roles: RoleTable,
    /// True if kernels that compute were recorded at all. A recording without any may have left them out.
    has_compute: bool,
}

impl<'a> KernelLanes<'a> {
    fn new(readout: &'a Readout) -> Self {
        let roles = RoleTable::from_names(&readout.zones);
        let mut of_compute = readout.lanes().filter(|lane| lane.id.risc.computes());
        let has_compute = of_compute.any(|lane| has_kernel(&lane.heads, &roles));
        Self { lanes: readout.lanes().map(|lane| (lane.id, lane)).collect(), roles, has_compute }
    }

    /// Returns true if kernels of the launch ran on a core, and none of them computes.
    fn has_no_compute(&self, launch: &Launch, core: Noc0Coord) -> bool {
        let has_kernel_on = |is_asked: fn(Risc) -> bool| {
            let mut runs =
                launch.runs.iter().filter(|run| run.lane.core == core && is_asked(run.lane.risc));
            runs.any(|run| {
                let lane = self.lanes.get(&run.lane);
                let heads = lane.and_then(|lane| lane.heads.get(lane.run_records(run.run)));
                heads.is_some_and(|heads| has_kernel(heads, &self.roles))
            })
        };
        self.has_compute && !has_kernel_on(Risc::computes) && has_kernel_on(Risc::moves_data)
    }
}

fn has_kernel(heads: &[RecordHead], roles: &RoleTable) -> bool {
    let starts = heads.iter().filter(|head| head.kind() == PacketKind::ZoneStart);
    starts.map(|head| roles.role(head.zone())).any(ZoneRole::is_kernel)
}

/// Totals of one counter over those cores of a launch that read the counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterTotal {
    /// Name of the counter.
    pub name: Cow<'static, str>,
    /// Group of the counter; `None` if it belongs to no group.
    pub group: Option<CounterGroup>,
    /// Number of readings.
    pub sample_count: u64,
    /// Number of readings that are meaningful. Only these are in `counts`.
    pub usable_sample_count: u64,
    /// Events per core and in total; `None` if no reading is meaningful, because the hardware ties
    /// the counter to a constant or the counter counted over 0 cycles.
    pub counts: Option<CounterCounts>,
    /// Minimum and maximum of the cycles per core, among cores whose cycles are known.
    pub cycles: Option<(u64, u64)>,
}

/// Events that one counter counted, per core and in total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterCounts {
    /// Minimum per core.
    pub min: u64,
    /// Maximum per core.
    pub max: u64,
    /// Total over all cores.
    pub total: u64,
}

impl CounterTotal {
    fn new(sample: &Sample) -> Self {
        Self {
            name: sample.name.clone(),
            group: CounterGroup::from_counter(&sample.name),
            sample_count: 0,
            usable_sample_count: 0,
            counts: None,
            cycles: None,
        }
    }

    fn add(&mut self, sample: &Sample) {
        self.sample_count = self.sample_count.saturating_add(1);
        if sample.is_observable() {
            self.usable_sample_count = self.usable_sample_count.saturating_add(1);
            let none = CounterCounts { min: u64::MAX, max: 0, total: 0 };
            let counts = self.counts.get_or_insert(none);
            counts.min = counts.min.min(sample.count);
            counts.max = counts.max.max(sample.count);
            counts.total = counts.total.saturating_add(sample.count);
        }
        // A counter that was never started has 0 cycles.
        if let Some(cycles) = sample.cycles.filter(|&cycles| cycles > 0) {
            let (min, max) = self.cycles.unwrap_or((cycles, cycles));
            self.cycles = Some((min.min(cycles), max.max(cycles)));
        }
    }
}

impl LaunchCounters {
    /// Returns the totals of each counter over all cores, in the order in which the counters were
    /// first read.
    #[must_use]
    pub fn totals(&self) -> Vec<CounterTotal> {
        let mut totals: Vec<CounterTotal> = Vec::new();
        let mut positions: HashMap<&str, usize> = HashMap::new();
        for CounterSample { sample, .. } in &self.samples {
            let position = *positions.entry(&sample.name).or_insert_with(|| {
                totals.push(CounterTotal::new(sample));
                totals.len().saturating_sub(1)
            });
            if let Some(total) = totals.get_mut(position) {
                total.add(sample);
            }
        }
        totals
    }

    /// Returns the cores whose counters were read.
    fn cores(&self) -> BTreeSet<Noc0Coord> {
        self.samples.iter().map(|sample| sample.lane.core).collect()
    }

    /// Adds a RISC's reading, or the reason why a record is not a reading.
    pub fn add(&mut self, lane: LaneId, time: u64, reading: Result<Sample, SampleProblem>) {
        match reading {
            Ok(sample) => {
                self.counters.add(lane.core, lane.risc, sample.clone());
                self.samples.push(CounterSample { lane, time, sample });
            }
            Err(problem) => {
                let count = self.problems.entry(problem).or_default();
                *count = count.saturating_add(1);
            }
        }
    }
}

fn add_lane(run_readings: &mut HashMap<LaunchRun, Vec<Reading>>, lane: &Lane, zones: &ZoneTable) {
    let mut known: Option<(ZoneIndex, bool)> = None;
    let mut is_counter = |kind, zone| {
        if !is_data(kind) {
            return false;
        }
        if known.is_none_or(|(of, _)| of != zone) {
            known = Some((zone, is_counter_id(zones, zone)));
        }
        known.is_some_and(|(_, is_counter)| is_counter)
    };
    if !lane.heads.iter().any(|head| is_counter(head.kind(), head.zone())) {
        return;
    }
    for Annotated { record, run, text, .. } in lane.annotated_records() {
        if is_counter(record.kind, record.zone) {
            let reading = (record.time, Sample::decode(record.data, text));
            let run = LaunchRun { lane: lane.id, run: run.unwrap_or(0) };
            run_readings.entry(run).or_default().push(reading);
        }
    }
}

/// Returns true if records of this kind can contain a reading of a counter.
pub(crate) const fn is_data(kind: PacketKind) -> bool {
    matches!(kind, PacketKind::TimestampedData | PacketKind::TimestampedData16B)
}

/// Returns true if the id of this zone marks a reading of a counter.
pub(crate) fn is_counter_id(zones: &ZoneTable, zone: ZoneIndex) -> bool {
    zones.id(zone) == u32::from(ZoneId::PERF_COUNTER.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_over_cores_and_constants_have_none() {
        let mut launch = LaunchCounters::default();
        for (x, count, cycles) in [(1, 30, Some(100)), (2, 10, Some(90)), (3, 20, None)] {
            let lane = LaneId { chip_id: 0, core: Noc0Coord { x, y: 2 }, risc: Risc::Brisc };
            for name in ["PACKER_BUSY", "MATH_FIDELITY_STALL"] {
                let sample = Sample { name: name.into(), neo: None, count, cycles };
                launch.add(lane, 5, Ok(sample));
            }
            // A counter that was never started.
            let sample =
                Sample { name: "FPU_COUNTER".into(), neo: None, count: 0, cycles: Some(0) };
            launch.add(lane, 5, Ok(sample));
            launch.add(lane, 6, Err(SampleProblem::Unnamed));
        }
        let totals = launch.totals();
        assert_eq!(totals.len(), 3);
        assert_eq!((totals[2].counts, totals[2].cycles, totals[2].sample_count), (None, None, 3));
        let mut labels = launch.counters.summaries(false).map(|summary| summary.metric.label());
        assert!(labels.all(|label| label != "FPU Util"));
        let counts = CounterCounts { min: 10, max: 30, total: 60 };
        assert_eq!((totals[0].counts, totals[0].cycles), (Some(counts), Some((90, 100))));
        assert_eq!((totals[1].counts, totals[1].sample_count), (None, 3));
        assert_eq!(launch.problems, ProblemCounts::from([(SampleProblem::Unnamed, 3)]));
    }
}
