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
//! 4. Readings of hardware counters behind the end of the firmware zone begin a run without zones.
//!    TT-Metal repeats a workload to read more counters than fit into one run, and writes only the
//!    readings of the repetitions. A counter that is read again, or that no launch of the repetition
//!    has read before, begins the next such run.

use super::{
    packed::{LaneColumns, Step},
    row::LaunchKey,
};
use reader::lane::Run;
use std::{collections::BTreeSet, ops::Range};
use wire::{PacketKind, RunHostId};

/// The runs of a lane, and the number of records that rule 3 assigned to the enclosing launch.
pub(super) struct SplitRuns {
    pub(super) runs: Vec<Run>,
    pub(super) relabelled_count: u64,
}

/// Splits a lane into runs. `is_firmware[n]` is true if source location number `n` belongs to a
/// firmware zone, and `is_reading[n]` if its records are readings of hardware counters.
pub(super) fn split_runs(
    lane: &LaneColumns,
    keys: &[LaunchKey],
    [is_firmware, is_reading]: [&[bool]; 2],
) -> SplitRuns {
    let mut splitter = Splitter {
        lane,
        keys,
        is_firmware,
        is_reading,
        read: BTreeSet::new(),
        repetition: None,
        texts: 0,
        begins: Vec::new(),
        relabelled_count: 0,
    };
    let ends = lane.steps().iter().skip(1).map(|step| step.record).chain([lane.lane.heads.len()]);
    for (step, end) in lane.steps().iter().zip(ends) {
        splitter.add_stretch(*step, end);
    }
    let Splitter { begins, relabelled_count, .. } = splitter;
    SplitRuns { runs: begins.iter().map(|begin| run(keys, begin)).collect(), relabelled_count }
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
    is_firmware: &'lane [bool],
    is_reading: &'lane [bool],
    /// Counters that the last run has read, if it consists of readings.
    read: BTreeSet<&'lane str>,
    /// Counters that each launch of the current repetition reads; `None` before the first launch
    /// has read all of them.
    repetition: Option<BTreeSet<&'lane str>>,
    /// Number of texts of records before the current one.
    texts: usize,
    begins: Vec<Begin>,
    relabelled_count: u64,
}

impl<'lane> Splitter<'lane> {
    /// Adds the records from `step` to `end`, which have the same launch and consecutive lines.
    ///
    /// During this call, the last run is always a run of this launch, because the call only removes
    /// runs of other launches.
    fn add_stretch(&mut self, step: Step, end: usize) {
        let Step { record: first, launch, line: first_line } = step;
        if self.begins.last().is_none_or(|run| run.launch != launch) {
            self.begin((first, first_line), launch);
        }
        let heads = self.lane.lane.heads.get(first..end).unwrap_or(&[]);
        let times = self.lane.lane.times.get(first..end).unwrap_or(&[]);
        let places = (first..).zip(first_line..);
        for ((place, head), &time) in places.zip(heads).zip(times) {
            let zone = head.zone().0;
            let is_firmware = self.is_firmware.get(zone as usize).is_some_and(|&is| is);
            match head.kind() {
                PacketKind::ZoneStart if is_firmware => self.add_start(place, zone),
                PacketKind::ZoneEnd if is_firmware => {
                    self.add_end((place.0, launch), time, zone);
                }
                _ if self.is_reading.get(zone as usize).is_some_and(|&is| is) => {
                    self.add_reading(place, time);
                }
                _ => self.add_other(place, time),
            }
        }
    }

    fn begin(&mut self, first: Position, launch: u32) {
        let read = std::mem::take(&mut self.read);
        if self.repetition.is_none() && !read.is_empty() {
            self.repetition = Some(read);
        }
        self.begins.push(Begin { first, launch, firmware: Firmware::Unseen });
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
            self.begin(first, run.launch);
        }
        if is_first || relaunch_at.is_some() {
            self.set_firmware(Firmware::Open { place: started });
        }
    }

    fn add_end(&mut self, (record, launch): (usize, u32), end_time: u64, ended: u32) {
        self.join_detour((record, launch), ended);
        if self.begins.last().is_some_and(|run| run.firmware == Firmware::Open { place: ended }) {
            self.set_firmware(Firmware::Closed { place: ended, end_time, next_run: None });
        }
    }

    /// Applies rule 3 at the end of a launch's firmware zone: removes the runs that began inside
    /// this firmware zone.
    fn join_detour(&mut self, (record, launch): (usize, u32), ended: u32) {
        let mut candidates = self.begins.iter().enumerate().rev();
        let opener = candidates
            .find(|(_, run)| !matches!(run.firmware, Firmware::Unseen | Firmware::Readings));
        let Some((index, run)) = opener else { return };
        if run.launch != launch || run.firmware != (Firmware::Open { place: ended }) {
            return;
        }
        let Some(detour) = self.begins.get(index.saturating_add(1)) else { return };
        let others = self.others_between(detour.first.0..record, launch);
        self.relabelled_count = self.relabelled_count.saturating_add(others);
        self.begins.truncate(index.saturating_add(1));
    }

    /// Returns the number of records in a range that belong to other launches.
    fn others_between(&self, records: Range<usize>, launch: u32) -> u64 {
        let steps = self.lane.steps();
        let first = steps.partition_point(|step| step.record <= records.start).saturating_sub(1);
        let steps = steps.get(first..).unwrap_or(&[]);
        let ends = steps.iter().skip(1).map(|step| step.record).chain([usize::MAX]);
        let stretches = steps.iter().zip(ends).take_while(|(step, _)| step.record < records.end);
        let is_other = |of: u32| of != launch && !self.is_unlabelled(of);
        let others = stretches.filter(|(step, _)| is_other(step.launch)).map(|(step, end)| {
            end.min(records.end).saturating_sub(step.record.max(records.start)) as u64
        });
        others.fold(0, u64::saturating_add)
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
        let Some(&Begin { first, launch, firmware }) = self.begins.last() else { return };
        let is_in = |set: &BTreeSet<_>| counter.is_some_and(|name| set.contains(name));
        let is_next_repetition = self.repetition.as_ref().is_some_and(|set| !is_in(set));
        let begins_run = match firmware {
            Firmware::Unseen => false,
            Firmware::Open { .. } => return,
            Firmware::Closed { end_time, next_run, .. } => time > end_time && next_run.is_none(),
            Firmware::Readings => is_next_repetition || is_in(&self.read),
        };
        if begins_run {
            self.begin(at, launch);
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
