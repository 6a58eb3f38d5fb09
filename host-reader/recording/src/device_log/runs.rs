//! Detection of launches in the lines of one lane.
//!
//! A log states the program of each line but not the beginning of a launch. The rules apply to
//! records in time order:
//!
//! 1. A new program, trace replay or run counter begins a run.
//! 2. A run begins with the start of its firmware zone. If the same firmware zone starts again, a
//!    new run begins, because the same program was launched again. If the old run's firmware zone
//!    has already ended, the new run begins with the first record after this end: data may be
//!    recorded before the firmware zone starts, and totals have the same time as its start.
//! 3. Lines of another program *inside* an open firmware zone begin no run. TT-Metal relabels zones
//!    of dispatch cores with the program that the core serves. The end of the firmware zone shows
//!    that all these lines belong to one launch.
//!    Lines of the *same* program of which some name a replay of a trace and others name none are one run,
//!    too: in some versions of TT-Metal, records of a replay lack their trace id. The run is of the replay.
//!    If a kernel begins twice before the firmware zone ends, the firmware's own records between are lost,
//!    and the runs stay apart.
//! 4. Readings of hardware counters behind the end of the firmware zone begin a run without zones.
//!    TT-Metal repeats a workload to read more counters than fit into one run, and writes only the
//!    readings of the repetitions. A counter that is read again, or that no launch of the repetition
//!    has read before, begins the next such run.
//!
//! # Compatibility
//! TT-Metal #33430: records of one run of NCRISC differ in their trace id.

use super::{
    packed::{LaneColumns, Step},
    row::LaunchKey,
};
use reader::lane::Run;
use std::{collections::BTreeSet, ops::Range};
use wire::{PacketKind, RunHostId};

/// The runs of a lane, and the records that rule 3 assigned to the enclosing launch.
pub(super) struct SplitRuns {
    pub(super) runs: Vec<Run>,
    pub(super) repaired: RepairedLabels,
}

/// Numbers of records that belong to another launch than their lines say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RepairedLabels {
    /// Records with the label of another program.
    pub(super) relabelled_count: u64,
    /// Records that lack the trace id of their run.
    pub(super) untraced_count: u64,
}

impl RepairedLabels {
    pub(super) fn is_none(self) -> bool {
        self == Self::default()
    }
}

/// What the source locations of a log are, by number of the source location.
#[derive(Clone, Copy)]
pub(super) struct PlaceRoles<'log> {
    /// True for places of firmware zones.
    pub(super) is_firmware: &'log [bool],
    /// True for places of kernel zones.
    pub(super) is_kernel: &'log [bool],
    /// True for places whose records are readings of hardware counters.
    pub(super) is_reading: &'log [bool],
}

/// Splits a lane into runs.
pub(super) fn split_runs(
    lane: &LaneColumns,
    keys: &[LaunchKey],
    roles: PlaceRoles<'_>,
) -> SplitRuns {
    let mut splitter = Splitter {
        lane,
        keys,
        roles,
        launch: u32::MAX,
        read: BTreeSet::new(),
        repetition: None,
        texts: 0,
        begins: Vec::new(),
        repaired: RepairedLabels::default(),
    };
    let ends = lane.steps().iter().skip(1).map(|step| step.record).chain([lane.lane.heads.len()]);
    for (step, end) in lane.steps().iter().zip(ends) {
        splitter.add_stretch(*step, end);
    }
    let Splitter { begins, repaired, .. } = splitter;
    SplitRuns { runs: begins.iter().map(|begin| run(keys, begin)).collect(), repaired }
}

fn run(keys: &[LaunchKey], begin: &Begin) -> Run {
    let key = keys.get(begin.launch as usize);
    let (first_record, origin) = begin.first;
    Run {
        program: RunHostId(key.map_or(0, |key| key.program)),
        trace_counter: 0,
        trace: key.and_then(|key| key.trace),
        first_record,
        origin,
        is_unfinished: false,
    }
}

/// Index of a record in its lane, and the record's line in the log.
type Position = (usize, u64);

/// First record of a run, and the state of its firmware zone.
#[derive(Clone, Copy)]
struct Begin {
    first: Position,
    launch: u32,
    firmware: Firmware,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Firmware {
    Unseen,
    /// All records so far are readings of hardware counters.
    Readings,
    Open {
        place: u32,
    },
    Closed {
        place: u32,
        end_time: u64,
        next_run: Option<Position>,
    },
}

struct Splitter<'lane> {
    lane: &'lane LaneColumns,
    keys: &'lane [LaunchKey],
    roles: PlaceRoles<'lane>,
    /// Launch of the current records.
    launch: u32,
    /// Counters that the last run has read, if it consists of readings.
    read: BTreeSet<&'lane str>,
    /// Counters that each launch of the current repetition reads; `None` before the first launch
    /// has read all of them.
    repetition: Option<BTreeSet<&'lane str>>,
    /// Number of texts of records before the current one.
    texts: usize,
    begins: Vec<Begin>,
    repaired: RepairedLabels,
}

impl<'lane> Splitter<'lane> {
    /// Adds the records from `step` to `end`, which have the same launch and consecutive lines.
    ///
    /// During this call, the last run is a run of this launch, or of the replay whose trace id the records
    /// lack, because the call only removes runs of other launches.
    fn add_stretch(&mut self, step: Step, end: usize) {
        let Step { record: first, launch, line: first_line } = step;
        self.launch = launch;
        if self.begins.last().is_none_or(|run| run.launch != launch) {
            self.begin((first, first_line));
        }
        let heads = self.lane.lane.heads.get(first..end).unwrap_or(&[]);
        let times = self.lane.lane.times.get(first..end).unwrap_or(&[]);
        let places = (first..).zip(first_line..);
        for ((place, head), &time) in places.zip(heads).zip(times) {
            let zone = head.zone().0;
            let is_firmware = self.roles.is_firmware.get(zone as usize).is_some_and(|&is| is);
            match head.kind() {
                PacketKind::ZoneStart if is_firmware => self.add_start(place, zone),
                PacketKind::ZoneEnd if is_firmware => self.add_end(place.0, time, zone),
                _ if self.roles.is_reading.get(zone as usize).is_some_and(|&is| is) => {
                    self.add_reading(place, time);
                }
                _ => self.add_other(place, time),
            }
        }
    }

    /// Begins a run of the current launch.
    fn begin(&mut self, first: Position) {
        let read = std::mem::take(&mut self.read);
        if self.repetition.is_none() && !read.is_empty() {
            self.repetition = Some(read);
        }
        self.begins.push(Begin { first, launch: self.launch, firmware: Firmware::Unseen });
    }

    fn add_start(&mut self, at: Position, started: u32) {
        let Some(run) = self.begins.last() else { return };
        let relaunch_at = match run.firmware {
            Firmware::Open { place } if place == started => Some(at),
            Firmware::Closed { place, next_run, .. } if place == started => {
                Some(next_run.unwrap_or(at))
            }
            Firmware::Readings => Some(at),
            _ => None,
        };
        let is_first = run.firmware == Firmware::Unseen;
        if let Some(first) = relaunch_at {
            self.begin(first);
        }
        if is_first || relaunch_at.is_some() {
            self.set_firmware(Firmware::Open { place: started });
        }
    }

    fn add_end(&mut self, record: usize, end_time: u64, ended: u32) {
        self.join_detour(record, ended);
        if self.begins.last().is_some_and(|run| run.firmware == Firmware::Open { place: ended }) {
            self.set_firmware(Firmware::Closed { place: ended, end_time, next_run: None });
        }
    }

    /// Applies rule 3 at the end of a launch's firmware zone: removes the runs that began inside
    /// this firmware zone.
    fn join_detour(&mut self, record: usize, ended: u32) {
        let mut candidates = self.begins.iter().enumerate().rev();
        let opener = candidates
            .find(|(_, run)| !matches!(run.firmware, Firmware::Unseen | Firmware::Readings));
        let Some((index, &run)) = opener else { return };
        if run.firmware != (Firmware::Open { place: ended }) {
            return;
        }
        let Some(detour) = self.begins.get(index.saturating_add(1)) else { return };
        let (records, inside) = (run.first.0..record.saturating_add(1), detour.first.0..record);
        let replay = self.replay_of(run.launch, records.clone());
        if run.launch != self.launch
            && (replay.is_none() || self.begins_kernel_twice(records.clone()))
        {
            return;
        }
        if let Some(replay) = replay {
            let untraced = self.records_of(records, |of| self.lacks_trace_of(of, replay));
            let untraced_count = &mut self.repaired.untraced_count;
            *untraced_count = untraced_count.saturating_add(untraced);
        }
        let own = replay.unwrap_or(run.launch);
        let is_other = |of| of != own && !self.lacks_trace_of(of, own) && !self.is_unlabelled(of);
        let others = self.records_of(inside, is_other);
        self.repaired.relabelled_count = self.repaired.relabelled_count.saturating_add(others);
        self.begins.truncate(index.saturating_add(1));
        if let Some(run) = self.begins.last_mut() {
            run.launch = own;
        }
    }

    /// Returns the replay that records of a run name, where others of the same program name none; `None` if
    /// all of them name the same, or if several replays are named.
    fn replay_of(&self, launch: u32, records: Range<usize>) -> Option<u32> {
        let own = self.keys.get(launch as usize)?;
        let is_of_program = |key: &LaunchKey| LaunchKey { trace: own.trace, ..*key } == *own;
        let (mut replay, mut has_untraced) = (None, false);
        for (of, _) in self.stretches(records) {
            match self.keys.get(of as usize).filter(|key| is_of_program(key)) {
                Some(LaunchKey { trace: None, .. }) => has_untraced = true,
                Some(_) if replay.is_some_and(|known| known != of) => return None,
                Some(_) => replay = Some(of),
                None => {}
            }
        }
        replay.filter(|_| has_untraced)
    }

    /// Returns true if records with the label `of` belong to the replay `replay`, except for the missing trace.
    fn lacks_trace_of(&self, of: u32, replay: u32) -> bool {
        let keys = self.keys.get(of as usize).zip(self.keys.get(replay as usize));
        keys.is_some_and(|(key, replay)| {
            replay.trace.is_some() && *key == LaunchKey { trace: None, ..*replay }
        })
    }

    /// Returns true if one kernel begins twice among these records: they are of two launches.
    fn begins_kernel_twice(&self, records: Range<usize>) -> bool {
        let heads = self.lane.lane.heads.get(records).unwrap_or(&[]);
        let starts = heads.iter().filter(|head| head.kind() == PacketKind::ZoneStart);
        let places = starts.map(|head| head.zone().0);
        let is_kernel = |place: u32| self.roles.is_kernel.get(place as usize) == Some(&true);
        let mut begun = BTreeSet::new();
        places.filter(|&place| is_kernel(place)).any(|place| !begun.insert(place))
    }

    /// Returns the number of records in a range whose launch fulfils `is_counted`.
    fn records_of(&self, records: Range<usize>, is_counted: impl Fn(u32) -> bool) -> u64 {
        let counts = self.stretches(records).filter(|(launch, _)| is_counted(*launch));
        counts.map(|(_, count)| count).fold(0, u64::saturating_add)
    }

    /// Returns the launches of the records in a range, each with its number of consecutive records.
    fn stretches(&self, records: Range<usize>) -> impl Iterator<Item = (u32, u64)> {
        let steps = self.lane.steps();
        let first = steps.partition_point(|step| step.record <= records.start).saturating_sub(1);
        let steps = steps.get(first..).unwrap_or(&[]);
        let ends = steps.iter().skip(1).map(|step| step.record).chain([usize::MAX]);
        let stretches =
            steps.iter().zip(ends).take_while(move |(step, _)| step.record < records.end);
        stretches.map(move |(step, end)| {
            let count = end.min(records.end).saturating_sub(step.record.max(records.start));
            (step.launch, count as u64)
        })
    }

    /// Returns true for the launch of lines that name no program, such as data in a log of the
    /// streaming profiler.
    fn is_unlabelled(&self, launch: u32) -> bool {
        self.keys.get(launch as usize).is_some_and(LaunchKey::is_unlabelled)
    }

    /// Stores the position of a record if it is the first one after the end of the last run's
    /// firmware zone.
    ///
    /// If the program is launched again, the new run begins with this record.
    #[inline]
    fn add_other(&mut self, at: Position, time: u64) {
        if let Some(run @ Begin { firmware: Firmware::Readings, .. }) = self.begins.last_mut() {
            run.firmware = Firmware::Unseen;
        }
        if let Some(Begin { firmware: Firmware::Closed { end_time, next_run, .. }, .. }) =
            self.begins.last_mut()
            && next_run.is_none()
            && time > *end_time
        {
            *next_run = Some(at);
        }
    }

    /// Adds a reading of a hardware counter.
    fn add_reading(&mut self, at: Position, time: u64) {
        let counter = self.counter_of(at.0);
        let Some(&Begin { first, firmware, .. }) = self.begins.last() else { return };
        let is_in = |set: &BTreeSet<_>| counter.is_some_and(|name| set.contains(name));
        let is_next_repetition = self.repetition.as_ref().is_some_and(|set| !is_in(set));
        let begins_run = match firmware {
            Firmware::Unseen => false,
            Firmware::Open { .. } => return,
            Firmware::Closed { end_time, next_run, .. } => time > end_time && next_run.is_none(),
            Firmware::Readings => is_next_repetition || is_in(&self.read),
        };
        if begins_run {
            self.begin(at);
        }
        if begins_run || (firmware == Firmware::Unseen && first == at) {
            self.set_firmware(Firmware::Readings);
        } else if firmware != Firmware::Readings {
            return;
        }
        if is_next_repetition {
            self.repetition = None;
        }
        self.read.extend(counter);
    }

    /// Returns the part of a reading's text that names the counter; `None` without a text.
    fn counter_of(&mut self, record: usize) -> Option<&'lane str> {
        let texts = self.lane.lane.metadata.get(self.texts..).unwrap_or(&[]);
        self.texts = self.texts.saturating_add(texts.partition_point(|(of, _)| *of < record));
        let (of, text) = self.lane.lane.metadata.get(self.texts)?;
        let name = text.split(';').find(|field| field.contains("counter type"));
        name.filter(|_| *of == record)
    }

    fn set_firmware(&mut self, firmware: Firmware) {
        if let Some(run) = self.begins.last_mut() {
            run.firmware = firmware;
        }
    }
}
