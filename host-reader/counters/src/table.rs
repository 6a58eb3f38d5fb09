//! The counters of a readout, by launch.

use crate::{
    op::OpCounters,
    sample::{Sample, SampleProblem},
};
use analysis::{Launch, LaunchRun};
use reader::{
    lane::{Lane, LaneId, ZoneIndex},
    names::ZoneTable,
    readout::Readout,
};
use std::collections::{BTreeMap, HashMap};
use wire::{PacketKind, ZoneId};

/// A reading, and where and when it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterSample {
    /// The RISC that read it.
    pub lane: LaneId,
    /// When it was read, in cycles of the tile's clock.
    pub time: u64,
    /// The reading.
    pub sample: Sample,
}

/// How often data under the id of counters was no reading, by reason.
pub type ProblemCounts = BTreeMap<SampleProblem, u64>;

/// The counters of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaunchCounters {
    /// Index of the launch.
    pub launch: usize,
    /// The readings, by core and in the order in which they were taken.
    pub samples: Vec<CounterSample>,
    /// The same, ready for metrics.
    pub counters: OpCounters,
    /// Data that was no reading.
    pub problems: ProblemCounts,
}

type Reading = (u64, Result<Sample, SampleProblem>);

/// The counters of launches that have any, in the order of the launches.
///
/// ```
/// use analysis::launches_of;
/// use counters::counters_of;
/// use device_log::read_device_log;
/// let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
/// PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type,source line,source file,meta data
/// 0,1,2,BRISC,9090,110,0,1024,,TS_DATA,0,,{\"counter type\":\"FPU_COUNTER\";\"ref cnt\":200;\"value\":50}
/// ";
/// let readout = read_device_log(log.as_bytes(), "my log")?;
/// let counters = counters_of(&readout, &launches_of(&readout));
/// let summary = counters[0].counters.summaries(false).next().unwrap();
/// assert_eq!((summary.metric.label(), summary.mean), ("FPU Util", 25.0));
/// # Ok::<(), device_log::LogError>(())
/// ```
#[must_use]
pub fn counters_of(readout: &Readout, launches: &[Launch]) -> Vec<LaunchCounters> {
    let mut of_runs: HashMap<LaunchRun, Vec<Reading>> = HashMap::new();
    for lane in readout.lanes() {
        add_lane(&mut of_runs, lane, &readout.zones);
    }
    if of_runs.is_empty() {
        return Vec::new();
    }
    let counters = |(number, launch): (usize, &Launch)| {
        let mut counters = LaunchCounters { launch: number, ..LaunchCounters::default() };
        let mut runs = launch.runs.clone();
        runs.sort_unstable();
        for run in runs {
            let readings = of_runs.remove(&run).unwrap_or_default();
            readings.into_iter().for_each(|reading| counters.add(run.lane, reading));
        }
        let is_any = !counters.samples.is_empty() || !counters.problems.is_empty();
        is_any.then_some(counters)
    };
    launches.iter().enumerate().filter_map(counters).collect()
}

impl LaunchCounters {
    fn add(&mut self, lane: LaneId, (time, reading): Reading) {
        match reading {
            Ok(sample) => {
                self.counters.add(lane.core, lane.risc, sample.clone());
                self.samples.push(CounterSample { lane, time, sample });
            }
            Err(problem) => *self.problems.entry(problem).or_default() += 1,
        }
    }
}

fn add_lane(of_runs: &mut HashMap<LaunchRun, Vec<Reading>>, lane: &Lane, zones: &ZoneTable) {
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
    let mut texts = lane.metadata.iter().peekable();
    let mut run = 0;
    for (number, record) in lane.records().enumerate() {
        while texts.next_if(|(of, _)| *of < number).is_some() {}
        let text = texts.next_if(|(of, _)| *of == number).map(|(_, text)| &**text);
        while lane.runs.get(run + 1).is_some_and(|next| next.first_record <= number) {
            run += 1;
        }
        if is_counter(record.kind, record.zone) {
            let reading = (record.time, Sample::decode(record.data, text));
            of_runs.entry(LaunchRun { lane: lane.id, run }).or_default().push(reading);
        }
    }
}

/// Returns true if a record of this kind and zone is of a counter.
pub(crate) const fn is_data(kind: PacketKind) -> bool {
    matches!(kind, PacketKind::TimestampedData | PacketKind::TimestampedData16B)
}

/// Returns true if a zone has the id of counters.
pub(crate) fn is_counter_id(zones: &ZoneTable, zone: ZoneIndex) -> bool {
    zones.id(zone) == u32::from(ZoneId::PERF_COUNTER.0)
}
