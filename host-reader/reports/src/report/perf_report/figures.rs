//! Additional figures of each launch: analyses, sums, counters.

use super::analyses::ProgramAnalyses;
use crate::report::{
    counters::{COUNTER_ID, OpCounters},
    exact::SUMS,
    launched::Launched,
};
use analysis::counters::Sample;
use reader::{
    lane::{Annotated, Lane, LaneId, RecordHead},
    names::ZoneTable,
    packed_bytes::PackedError,
};
use std::collections::HashMap;
use wire::{PacketKind, Risc};

/// Time of an analysis's first start marker and of its last end marker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::report) struct Bounds {
    first_start: Option<u64>,
    last_end: Option<u64>,
}

impl Bounds {
    fn add_start(&mut self, time: u64) {
        self.first_start = Some(self.first_start.map_or(time, |first| first.min(time)));
    }

    fn add_end(&mut self, time: u64) {
        self.last_end = self.last_end.max(Some(time));
    }

    fn join(&mut self, other: Self) {
        other.first_start.into_iter().for_each(|time| self.add_start(time));
        other.last_end.into_iter().for_each(|time| self.add_end(time));
    }

    /// Returns the start and the end; `None` if either is missing or the end is before the start.
    pub(in crate::report) fn span(self) -> Option<(u64, u64)> {
        let (start, end) = (self.first_start?, self.last_end?);
        (start <= end).then_some((start, end))
    }
}

/// Figures of one launch.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::report) struct LaunchFigures {
    /// Bounds of each analysis.
    pub(in crate::report) bounds: Vec<Bounds>,
    /// For each sum zone with a column: its cycles, and the number of cores that recorded it.
    pub(in crate::report) sums: [(u128, u64); 2],
    /// Hardware counters of all cores.
    pub(in crate::report) counters: OpCounters,
    /// Number of values of those hardware counters whose name is not in the log.
    pub(in crate::report) unnamed_counter_count: u64,
}

impl LaunchFigures {
    fn new(analyses: &ProgramAnalyses) -> Self {
        Self { bounds: vec![Bounds::default(); analyses.0.len()], ..Self::default() }
    }

    /// Merges the figures of another launch into these.
    pub(in crate::report) fn join(&mut self, other: &Self) {
        self.bounds.resize(self.bounds.len().max(other.bounds.len()), Bounds::default());
        for (own, other) in self.bounds.iter_mut().zip(&other.bounds) {
            own.join(*other);
        }
        for (own, other) in self.sums.iter_mut().zip(other.sums) {
            *own = (own.0.saturating_add(other.0), own.1.saturating_add(other.1));
        }
        self.counters.join(&other.counters);
        raise(&mut self.unnamed_counter_count, other.unnamed_counter_count);
    }

    fn add_time(&mut self, meaning: &Meaning, time: u64) {
        for &analysis in &meaning.starts {
            if let Some(bounds) = self.bounds.get_mut(analysis) {
                bounds.add_start(time);
            }
        }
        for &analysis in &meaning.ends {
            if let Some(bounds) = self.bounds.get_mut(analysis) {
                bounds.add_end(time);
            }
        }
    }

    /// Adds one core's times in sum zones to the sums of the launch.
    fn add_sums(&mut self, sums: [Option<u64>; 2]) {
        for (own, cycles) in self.sums.iter_mut().zip(sums) {
            if let Some(cycles) = cycles {
                *own = (own.0.saturating_add(cycles.into()), own.1.saturating_add(1));
            }
        }
    }
}

/// Returns the figures of each launch, in the order of launches.
///
/// # Cost
/// Each record is read once, and records are not kept in memory. Each thread stores the figures of
/// the launches that it has read.
///
/// # Errors
/// If packed records cannot be read back from the temporary file.
pub(in crate::report) fn figures_of(
    Launched { lanes, launches }: Launched<'_>,
    analyses: &ProgramAnalyses,
) -> Result<Vec<LaunchFigures>, PackedError> {
    let mut first_of_chip = HashMap::new();
    for (place, op) in launches.launches.ops().enumerate() {
        first_of_chip.entry(op.chip_id).or_insert(place);
    }
    let mut all = vec![LaunchFigures::new(analyses); launches.launches.len()];
    let parts = lanes.fold_cores(|part: &mut PartOfFigures, core| {
        for lane in core {
            let first = first_of_chip.get(&lane.id.chip_id).copied().unwrap_or(0);
            let mut places = vec![None; lane.runs.len()];
            let read = launches.numbers.for_each_run(lane.id, |run, launch| {
                if let Some(place) = places.get_mut(run) {
                    *place = Some(first.saturating_add(launch as usize));
                }
            });
            part.error = read.err().or(part.error.take());
            part.add_lane(lane, &places, (&lanes.readout.zones, analyses));
        }
    })?;
    for PartOfFigures { figures, error, .. } in parts {
        error.map_or(Ok(()), Err)?;
        for (place, figures) in figures {
            if let Some(launch_figures) = all.get_mut(place) {
                launch_figures.join(&figures);
            }
        }
    }
    Ok(all)
}

/// Figures computed by one thread from the cores that it has read, by index of the launch.
#[derive(Default)]
struct PartOfFigures {
    figures: HashMap<usize, LaunchFigures>,
    /// For each kind of record that has been read, its effect on the figures.
    meanings: HashMap<(Risc, RecordHead), Meaning>,
    error: Option<PackedError>,
}

impl PartOfFigures {
    /// Adds the records of a lane. `places` contains, for each run of the lane, the index of its
    /// launch.
    fn add_lane(
        &mut self,
        lane: &Lane,
        places: &[Option<usize>],
        (zones, analyses): (&ZoneTable, &ProgramAnalyses),
    ) {
        let LaneId { core, risc, .. } = lane.id;
        let mut records = lane.annotated_records();
        let before_runs = lane.runs.first().map_or(0, |run| run.first_record);
        records.by_ref().take(before_runs).for_each(drop);
        for (run, &place) in places.iter().enumerate() {
            let run_records = records.by_ref().take(lane.run_records(run).len());
            let Some(place) = place else {
                run_records.for_each(drop);
                continue;
            };
            let figures = self.figures.entry(place);
            let figures = figures.or_insert_with(|| LaunchFigures::new(analyses));
            let mut sums = [None; 2];
            let mut unnamed_count = 0_u64;
            let mut named_count = 0;
            for Annotated { record, text, .. } in run_records {
                let head = RecordHead::new(record.kind, record.zone);
                let meaning = self.meanings.entry((risc, head));
                let meaning = meaning.or_insert_with(|| Meaning::new(risc, head, zones, analyses));
                figures.add_time(meaning, record.time);
                if let Some(sum) = meaning.sum.and_then(|sum| sums.get_mut(sum)) {
                    let before: u64 = sum.unwrap_or(0);
                    *sum = Some(before.saturating_add(record.data.first().copied().unwrap_or(0)));
                }
                if !meaning.is_counter {
                    continue;
                }
                // A counter whose values do not identify it may be named in the metadata.
                match Sample::decode(record.data, None) {
                    Ok(sample) => figures.counters.add(core, risc, sample),
                    Err(_) => raise(&mut unnamed_count, 1),
                }
                let text = text.filter(|_| record.kind == PacketKind::TimestampedData);
                if let Some(Ok(sample)) = text.map(|text| Sample::decode(&[], Some(text))) {
                    figures.counters.add(core, risc, sample);
                    raise(&mut named_count, 1);
                }
            }
            figures.add_sums(sums);
            let unnamed_count = unnamed_count.saturating_sub(named_count);
            raise(&mut figures.unnamed_counter_count, unnamed_count);
        }
    }
}

/// Effect of one kind of record on figures: the analyses that it starts and ends, and the sum to
/// which it adds.
#[derive(Clone, Debug, Default)]
struct Meaning {
    starts: Vec<usize>,
    ends: Vec<usize>,
    sum: Option<usize>,
    is_counter: bool,
}

impl Meaning {
    fn new(risc: Risc, head: RecordHead, zones: &ZoneTable, analyses: &ProgramAnalyses) -> Self {
        let (kind, name) = (head.kind(), zones.name(head.zone()));
        let all = analyses.0.iter().enumerate();
        let sum = SUMS.iter().position(|&(_, of, zone)| (of, zone) == (risc, name));
        Self {
            starts: all
                .clone()
                .filter(|(_, a)| a.start.matches(risc, kind, name))
                .map(|(i, _)| i)
                .collect(),
            ends: all.filter(|(_, a)| a.end.matches(risc, kind, name)).map(|(i, _)| i).collect(),
            sum: sum.filter(|_| kind == PacketKind::ZoneTotal),
            is_counter: head.data_count() > 0 && zones.id(head.zone()) == u32::from(COUNTER_ID),
        }
    }
}

const fn raise(count: &mut u64, by: u64) {
    *count = count.saturating_add(by);
}
