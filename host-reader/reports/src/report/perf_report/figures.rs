//! Additional figures of each launch: analyses, sums, counters.

use super::analyses::ProgramAnalyses;
use crate::report::{
    counters::{COUNTER_ID, OpCounters},
    exact::SUMS,
    launched::Launched,
};
use analysis::counters::Sample;
use reader::{
    lane::{Lane, LaneId, RecordHead},
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
    /// Number of hardware counter values for which the log contains no name.
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
}

/// Returns the figures of each launch, in the order of launches.
///
/// # Cost
/// Each record is read once. Only the figures are stored, once for each thread.
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
        let PartOfFigures { figures, known, error } = part;
        let mut meanings = Meanings { zones: &lanes.readout.zones, analyses, known };
        for lane in core {
            let first = first_of_chip.get(&lane.id.chip_id).copied().unwrap_or(0);
            let runs = LaneRuns::new(lane);
            let read = launches.numbers.for_each_run(lane.id, |run, launch| {
                let place = first.saturating_add(launch as usize);
                let figures = figures.entry(place).or_insert_with(|| LaunchFigures::new(analyses));
                runs.add_run(run, &mut meanings, figures);
            });
            *error = read.err().or(error.take());
        }
    })?;
    for PartOfFigures { figures, error, .. } in parts {
        error.map_or(Ok(()), Err)?;
        for (place, figures) in figures {
            if let Some(of_launch) = all.get_mut(place) {
                of_launch.join(&figures);
            }
        }
    }
    Ok(all)
}

/// Figures computed by one thread from the cores that it has read, by index of the launch.
#[derive(Default)]
struct PartOfFigures {
    figures: HashMap<usize, LaunchFigures>,
    known: KnownMeanings,
    error: Option<PackedError>,
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
        let all = || analyses.0.iter().enumerate();
        let sum = SUMS.iter().position(|&(_, of, zone)| (of, zone) == (risc, name));
        Self {
            starts: all()
                .filter(|(_, a)| a.start.matches(risc, kind, name))
                .map(|(i, _)| i)
                .collect(),
            ends: all().filter(|(_, a)| a.end.matches(risc, kind, name)).map(|(i, _)| i).collect(),
            sum: sum.filter(|_| kind == PacketKind::ZoneTotal),
            is_counter: is_counter(head, zones),
        }
    }
}

/// Effect of each kind of record.
type KnownMeanings = HashMap<(Risc, RecordHead), Meaning>;

/// Lookup of each record's effect. Each kind of record is looked up only once.
struct Meanings<'report> {
    zones: &'report ZoneTable,
    analyses: &'report ProgramAnalyses,
    known: &'report mut KnownMeanings,
}

impl Meanings<'_> {
    fn find(&mut self, risc: Risc, head: RecordHead) -> &Meaning {
        let meaning = || Meaning::new(risc, head, self.zones, self.analyses);
        self.known.entry((risc, head)).or_insert_with(meaning)
    }
}

/// One lane, whose records are read run by run.
struct LaneRuns<'readout> {
    lane: &'readout Lane,
    /// Index of each run's first value; empty if the lane has no values.
    first_values: Vec<usize>,
}

impl<'readout> LaneRuns<'readout> {
    fn new(lane: &'readout Lane) -> Self {
        let value_count = |run| {
            let heads = lane.heads.get(lane.run_records(run)).unwrap_or_default();
            heads.iter().map(|head| head.data_count()).sum::<usize>()
        };
        let run_count = if lane.data.is_empty() { 0 } else { lane.runs.len() };
        let mut next = 0_usize;
        let mut first_of = |run| {
            let first = next;
            next = next.saturating_add(value_count(run));
            first
        };
        Self { lane, first_values: (0..run_count).map(&mut first_of).collect() }
    }

    fn add_run(&self, run: usize, meanings: &mut Meanings<'_>, figures: &mut LaunchFigures) {
        let records = self.lane.run_records(run);
        let heads = self.lane.heads.get(records.clone()).unwrap_or_default();
        let times = self.lane.times.get(records.clone()).unwrap_or_default();
        let mut next_value = self.first_values.get(run).copied().unwrap_or(0);
        let mut sums = [None; 2];
        let mut unnamed_count = 0;
        for (&head, &time) in heads.iter().zip(times) {
            let meaning = meanings.find(self.lane.id.risc, head);
            let values = next_value..next_value.saturating_add(head.data_count());
            next_value = values.end;
            let values = self.lane.data.get(values).unwrap_or_default();
            figures.record(meaning, time);
            if meaning.is_counter && !figures.add_counter(self.lane.id, values) {
                raise(&mut unnamed_count, 1);
            }
            if let Some(sum) = meaning.sum.and_then(|sum| sums.get_mut(sum)) {
                let before: u64 = sum.unwrap_or(0);
                *sum = Some(before.saturating_add(values.first().copied().unwrap_or(0)));
            }
        }
        figures.add_sums(sums);
        let named_count = self.add_metadata(records, meanings.zones, figures);
        raise(&mut figures.unnamed_counter_count, unnamed_count.saturating_sub(named_count));
    }

    /// Adds the counters whose names are in the metadata of the run with these records. Returns
    /// their number.
    fn add_metadata(
        &self,
        records: std::ops::Range<usize>,
        zones: &ZoneTable,
        figures: &mut LaunchFigures,
    ) -> u64 {
        let mut named_count = 0;
        let Lane { id, heads, metadata, .. } = self.lane;
        let first = metadata.partition_point(|(record, _)| *record < records.start);
        let of_run = metadata.iter().skip(first).take_while(|(record, _)| *record < records.end);
        for (record, text) in of_run {
            let text = text.as_bytes();
            let Some(head) = heads.get(*record) else { continue };
            if head.kind() != PacketKind::TimestampedData || !is_counter(*head, zones) {
                continue;
            }
            if let Ok(sample) = Sample::decode(&[], std::str::from_utf8(text).ok()) {
                figures.counters.add(id.core, id.risc, sample);
                raise(&mut named_count, 1);
            }
        }
        named_count
    }
}

const fn raise(count: &mut u64, by: u64) {
    *count = count.saturating_add(by);
}

fn is_counter(head: RecordHead, zones: &ZoneTable) -> bool {
    head.data_count() > 0 && zones.id(head.zone()) == u32::from(COUNTER_ID)
}

impl LaunchFigures {
    fn record(&mut self, meaning: &Meaning, time: u64) {
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

    /// Adds a counter if its values identify it. Otherwise, returns false, because the counter may
    /// be named in metadata instead.
    fn add_counter(&mut self, lane: LaneId, values: &[u64]) -> bool {
        let sample = Sample::decode(values, None);
        sample.map(|sample| self.counters.add(lane.core, lane.risc, sample)).is_ok()
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
