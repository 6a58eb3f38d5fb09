//! What each launch contributes to a report besides its op: analyses, sums, counters, sub-device.

use super::analyses::ProgramAnalyses;
use crate::{
    analysis::{Launch, LaunchRun, TileOrigins},
    lane::{Lane, Record, RecordHead},
    names::ZoneTable,
    readout::Readout,
    report::{
        counters::{COUNTER_ID, OpCounters},
        exact::{SUMS, sub_device_of},
    },
};
use rayon::prelude::*;
use std::collections::{BTreeSet, HashMap};
use wire::PacketKind;

/// First start and last end of an analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::report) struct Bounds {
    first_start: Option<u64>,
    last_end: Option<u64>,
}

impl Bounds {
    fn enter_start(&mut self, time: u64) {
        self.first_start = Some(self.first_start.map_or(time, |first| first.min(time)));
    }

    fn enter_end(&mut self, time: u64) {
        self.last_end = self.last_end.max(Some(time));
    }

    fn join(&mut self, other: Self) {
        other.first_start.into_iter().for_each(|time| self.enter_start(time));
        other.last_end.into_iter().for_each(|time| self.enter_end(time));
    }

    /// Start and end, if an end follows the start.
    pub(in crate::report) fn span(self) -> Option<(u64, u64)> {
        let (start, end) = (self.first_start?, self.last_end?);
        (start <= end).then_some((start, end))
    }
}

/// Figures of one launch, or of one run of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct LaunchFigures {
    /// One for each analysis.
    pub(in crate::report) bounds: Vec<Bounds>,
    /// Cycles of each sum zone that has a column, and the cores that recorded it.
    pub(in crate::report) sums: [(u64, u64); 2],
    /// The sub-device, where the log names it.
    pub(in crate::report) sub_device: Option<String>,
    /// Hardware counters of all cores.
    pub(in crate::report) counters: OpCounters,
    /// Values of hardware counters that the log does not name.
    pub(in crate::report) unnamed_counter_count: u64,
}

impl LaunchFigures {
    /// Adds what another run or launch contributes.
    pub(in crate::report) fn join(&mut self, other: &Self) {
        self.bounds.resize(self.bounds.len().max(other.bounds.len()), Bounds::default());
        for (own, other) in self.bounds.iter_mut().zip(&other.bounds) {
            own.join(*other);
        }
        for (own, other) in self.sums.iter_mut().zip(other.sums) {
            *own = (own.0.saturating_add(other.0), own.1 + other.1);
        }
        if self.sub_device.is_none() {
            self.sub_device.clone_from(&other.sub_device);
        }
        self.counters.join(&other.counters);
        self.unnamed_counter_count += other.unnamed_counter_count;
    }
}

/// Figures of each launch, in the order of `launches`.
pub(in crate::report) fn figures_of(
    readout: &Readout,
    launches: &[Launch],
    origins: &TileOrigins,
    analyses: &ProgramAnalyses,
) -> Vec<LaunchFigures> {
    let lanes: Vec<_> = readout.lanes().collect();
    let of_lanes: HashMap<_, _> = lanes
        .into_par_iter()
        .map(|lane| (lane.id, lane_figures(lane, &readout.zones, origins, analyses)))
        .collect();
    let of_launch = |launch: &Launch| {
        let mut figures = LaunchFigures::default();
        for LaunchRun { lane, run } in &launch.runs {
            if let Some(run) = of_lanes.get(lane).and_then(|runs| runs.get(*run)) {
                figures.join(run);
            }
        }
        figures
    };
    launches.iter().map(of_launch).collect()
}

/// Which analyses a kind of record starts and ends, and which sum it adds to.
#[derive(Clone, Debug, Default)]
struct Meaning {
    starts: Vec<usize>,
    ends: Vec<usize>,
    sum: Option<usize>,
    is_counter: bool,
}

impl Meaning {
    fn new(lane: &Lane, head: RecordHead, zones: &ZoneTable, analyses: &ProgramAnalyses) -> Self {
        let (risc, kind, name) = (lane.id.risc, head.kind(), zones.name(head.zone()));
        let all = || analyses.0.iter().enumerate();
        let sum = SUMS.iter().position(|&(_, of, zone)| (of, zone) == (risc, name));
        Self {
            starts: all()
                .filter(|(_, a)| a.start.matches(risc, kind, name))
                .map(|(i, _)| i)
                .collect(),
            ends: all().filter(|(_, a)| a.end.matches(risc, kind, name)).map(|(i, _)| i).collect(),
            sum: sum.filter(|_| kind == PacketKind::ZoneTotal),
            is_counter: head.data_count() > 0 && zones.id(head.zone()) == u32::from(COUNTER_ID),
        }
    }

    fn is_none(&self) -> bool {
        self.starts.is_empty() && self.ends.is_empty() && self.sum.is_none() && !self.is_counter
    }
}

fn lane_figures(
    lane: &Lane,
    zones: &ZoneTable,
    origins: &TileOrigins,
    analyses: &ProgramAnalyses,
) -> Vec<LaunchFigures> {
    let blank = LaunchFigures {
        bounds: vec![Bounds::default(); analyses.0.len()],
        ..LaunchFigures::default()
    };
    let mut runs = vec![blank; lane.runs.len()];
    let mut meanings: HashMap<RecordHead, Option<Meaning>> = HashMap::new();
    let mut run = 0;
    for (index, record) in lane.records().enumerate() {
        while lane.runs.get(run + 1).is_some_and(|next| next.first_record <= index) {
            run += 1;
        }
        let Some(figures) = runs.get_mut(run) else { break };
        let head = lane.heads[index];
        let meaning = meanings.entry(head).or_insert_with(|| {
            let meaning = Meaning::new(lane, head, zones, analyses);
            (!meaning.is_none()).then_some(meaning)
        });
        if let Some(meaning) = meaning {
            let time = origins.aligned(lane.id.chip_id, lane.id.core, record.time);
            figures.enter(meaning, &record, time);
        }
    }
    enter_sub_devices(lane, &mut runs);
    enter_counters(lane, zones, &mut runs);
    runs
}

impl LaunchFigures {
    fn enter(&mut self, meaning: &Meaning, record: &Record<'_>, time: u64) {
        for &analysis in &meaning.starts {
            self.bounds[analysis].enter_start(time);
        }
        for &analysis in &meaning.ends {
            self.bounds[analysis].enter_end(time);
        }
        if let Some(sum) = meaning.sum {
            let cycles = record.data.first().copied().unwrap_or(0);
            self.sums[sum] = (self.sums[sum].0.saturating_add(cycles), 1);
        }
        self.unnamed_counter_count += u64::from(meaning.is_counter);
    }
}

fn enter_sub_devices(lane: &Lane, runs: &mut [LaunchFigures]) {
    let mut done = BTreeSet::new();
    for (record, text) in &lane.metadata {
        let run = lane.runs.partition_point(|run| run.first_record <= *record);
        let Some(run) = run.checked_sub(1).filter(|run| !done.contains(run)) else { continue };
        if let Some(sub_device) = sub_device_of(text.as_bytes()) {
            runs[run].sub_device = Some(sub_device);
            done.insert(run);
        }
    }
}

fn enter_counters(lane: &Lane, zones: &ZoneTable, runs: &mut [LaunchFigures]) {
    for (record, text) in &lane.metadata {
        let run = lane.runs.partition_point(|run| run.first_record <= *record);
        let figures = run.checked_sub(1).and_then(|run| runs.get_mut(run));
        let (Some(figures), Some(head)) = (figures, lane.heads.get(*record)) else { continue };
        let is_counter = head.data_count() > 0 && zones.id(head.zone()) == u32::from(COUNTER_ID);
        if is_counter && figures.counters.enter(lane.id.core, lane.id.risc, text.as_bytes()) {
            figures.unnamed_counter_count = figures.unnamed_counter_count.saturating_sub(1);
        }
    }
}
