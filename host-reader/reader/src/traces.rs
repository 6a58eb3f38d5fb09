//! Assignment of runs to replays of traces.
//!
//! A core counts the replays that it is notified of. It has one count for all traces, and writes
//! this count into its run headers. The host knows the trace of each replay and the programs of
//! each trace. The core's count and the host's list together identify the replay to which a run
//! belongs.
//!
//! # Compatibility
//! The method is that of `getTraceIdAndCount` in tt-metal's `profiler.cpp`. Every run header
//! contains the number of replays so far, even if the run's program was not launched by a replay.

use crate::{
    anomaly::AnomalyKind,
    lane::{Lane, TraceReplay},
    readout::Readout,
};
use std::collections::{BTreeMap, BTreeSet};
use wire::RunHostId;

/// The host's list of traces, with their programs and replays, by chip.
///
/// ```
/// use reader::{lane::TraceReplay, traces::TraceBook};
/// use wire::RunHostId;
/// let mut book = TraceBook::default();
/// book.add_program(0, 7, 3);
/// book.add_replay(0, 7);
/// book.add_replay(0, 7);
/// let program = RunHostId::encode(3, 0);
/// let second = TraceReplay { trace_id: 7, counter: 2 };
/// assert_eq!(book.replay_of(0, 2, program), Some(second));
/// assert_eq!(book.replay_of(0, 2, RunHostId::encode(4, 0)), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceBook {
    chips: BTreeMap<u32, ChipTraces>,
}

/// Traces of one chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ChipTraces {
    /// Base ids of the programs in each trace, by trace id.
    programs: BTreeMap<u64, BTreeSet<u32>>,
    /// Replays, in the order in which they began.
    replays: Vec<TraceReplay>,
    replay_counts: BTreeMap<u64, u64>,
}

/// Result of assigning runs to replays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedRuns {
    /// Number of runs whose replay is now known.
    pub named: u64,
    /// Number of runs whose replay is missing from the host's list.
    pub unknown: u64,
}

/// Number of replays after which a core's count wraps.
const COUNTS: u64 = 1 << 16;

impl TraceBook {
    /// Adds a program, given by its base id, to a trace.
    pub fn add_program(&mut self, chip_id: u32, trace_id: u64, base_id: u32) {
        let programs = &mut self.chips.entry(chip_id).or_default().programs;
        programs.entry(trace_id).or_default().insert(base_id);
    }

    /// Adds a replay, which must have begun after all replays that were added before.
    pub fn add_replay(&mut self, chip_id: u32, trace_id: u64) {
        let chip = self.chips.entry(chip_id).or_default();
        let count = chip.replay_counts.entry(trace_id).or_default();
        *count = count.saturating_add(1);
        chip.replays.push(TraceReplay { trace_id, counter: *count });
    }

    /// Returns true if there are no replays.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chips.values().all(|chip| chip.replays.is_empty())
    }

    /// Returns the number of replays of a chip.
    #[must_use]
    pub fn replay_count(&self, chip_id: u32) -> usize {
        self.chips.get(&chip_id).map_or(0, |chip| chip.replays.len())
    }

    /// Returns the replay to which a run of `program` belongs.
    ///
    /// `count` is the number of replays that had begun before the run. Returns `None` if there are
    /// fewer than `count` replays, or if the trace of replay number `count` does not contain the
    /// run's program.
    #[must_use]
    pub fn replay_of(&self, chip_id: u32, count: u64, program: RunHostId) -> Option<TraceReplay> {
        let chip = self.chips.get(&chip_id)?;
        let replay = *chip.replays.get(usize::try_from(count.checked_sub(1)?).ok()?)?;
        chip.programs.get(&replay.trace_id)?.contains(&program.base()).then_some(replay)
    }

    /// Assigns a replay to each run that a replay launched and that has no replay yet.
    ///
    /// The readout must contain a whole session, from the first replay on. A core's count has 16
    /// bits, and wraps around; this method counts the wraps.
    ///
    /// A run whose replay is missing from the host's list counts as an anomaly.
    pub fn name_runs(&self, readout: &mut Readout) -> NamedRuns {
        let mut totals = NamedRuns::default();
        for device in &mut readout.devices {
            let chip_id = device.chip.chip_id;
            for lane in &mut device.lanes {
                let (named, first) = self.name_lane(chip_id, lane);
                totals.named = totals.named.saturating_add(named.named);
                totals.unknown = totals.unknown.saturating_add(named.unknown);
                let Some(first) = first else { continue };
                let (kind, id) = (AnomalyKind::UnknownReplay, Some(lane.id));
                let known = self.replay_count(chip_id);
                readout.anomalies.record(kind, id, first.position, || {
                    format!("run of replay {}, the host reported {known}", first.replay)
                });
                readout.anomalies.count_more(kind, id, named.unknown.saturating_sub(1));
            }
        }
        totals
    }

    fn name_lane(&self, chip_id: u32, lane: &mut Lane) -> (NamedRuns, Option<UnknownReplay>) {
        let (mut totals, mut first) = (NamedRuns::default(), None);
        let known = self.replay_count(chip_id) as u64;
        let (mut rounds, mut before) = (0_u64, 0);
        // A run of a log may have a replay but no count. Such runs are skipped, because a count of
        // 0 would look like a wrap.
        for run in lane.runs.iter_mut().filter(|run| run.trace_counter != 0 || run.trace.is_none())
        {
            if run.trace_counter < before {
                rounds = rounds.saturating_add(1);
            }
            before = run.trace_counter;
            let count = rounds.saturating_mul(COUNTS).saturating_add(run.trace_counter.into());
            if count > known {
                totals.unknown = totals.unknown.saturating_add(1);
                let position = run.origin;
                first.get_or_insert(UnknownReplay { position, replay: count });
            } else if run.trace.is_none() {
                run.trace = self.replay_of(chip_id, count, run.program);
                totals.named = totals.named.saturating_add(u64::from(run.trace.is_some()));
            }
        }
        (totals, first)
    }
}

/// The first run in a lane that belongs to a replay that the host did not report.
struct UnknownReplay {
    /// Index of the word in the lane at which the run begins.
    position: u64,
    /// Number of replays that had begun before the run.
    replay: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        lane::LaneId,
        mesh::Noc0Coord,
        readout::{ChipSummary, DeviceReadout},
    };
    use wire::Risc;

    fn readout(runs: &[(u32, u32)]) -> Readout {
        let core = Noc0Coord { x: 1, y: 1 };
        let mut lane = Lane::new(LaneId { chip_id: 2, core, risc: Risc::Brisc });
        for &(base, trace_counter) in runs {
            lane.begin_run(RunHostId::encode(base, 2));
            lane.runs.last_mut().unwrap().trace_counter = trace_counter;
        }
        let chip = ChipSummary {
            chip_id: 2,
            arch: "x".into(),
            aiclk_mhz: 1,
            max_compute_cores: None,
            known_lines: [].into(),
        };
        let lanes = vec![lane];
        let device = DeviceReadout { chip, lanes, pending_runs: 0, discarded_launches: 0 };
        Readout { devices: vec![device], ..Readout::default() }
    }

    fn named(book: &TraceBook, runs: &[(u32, u32)]) -> (Vec<Option<(u64, u64)>>, NamedRuns) {
        let mut readout = readout(runs);
        let totals = book.name_runs(&mut readout);
        let runs = readout.devices[0].lanes[0].runs.iter();
        (runs.map(|run| run.trace.map(|trace| (trace.trace_id, trace.counter))).collect(), totals)
    }

    /// Returns a list of two traces: trace 5 with programs 3 and 4, and trace 9 with program 8.
    /// Trace 5 is replayed first, then trace 9, then trace 5 again.
    fn book() -> TraceBook {
        let mut book = TraceBook::default();
        for (trace_id, base_id) in [(5, 3), (5, 4), (9, 8)] {
            book.add_program(2, trace_id, base_id);
        }
        for trace_id in [5, 9, 5] {
            book.add_replay(2, trace_id);
        }
        book
    }

    #[test]
    fn each_replay_has_its_trace_and_its_own_number() {
        let runs = [(3, 0), (3, 1), (4, 1), (8, 2), (1, 2), (3, 3), (4, 3)];
        let expected = [
            None,
            Some((5, 1)),
            Some((5, 1)),
            Some((9, 1)),
            // The program is in no trace; it was launched after the second replay.
            None,
            Some((5, 2)),
            Some((5, 2)),
        ];
        assert_eq!(named(&book(), &runs), (expected.to_vec(), NamedRuns { named: 5, unknown: 0 }));
    }

    #[test]
    fn replays_that_the_host_does_not_know_are_counted() {
        let found = named(&book(), &[(3, 4), (3, 1)]);
        // The count fell from 4 to 1, so it wrapped and the second run is replay 65537.
        assert_eq!(found, (vec![None, None], NamedRuns { named: 0, unknown: 2 }));
        assert_eq!(named(&TraceBook::default(), &[(3, 0)]).1, NamedRuns::default());
        let mut readout = readout(&[(3, 1), (3, 4), (3, 9)]);
        readout.devices[0].lanes[0].runs[1].origin = 48;
        book().name_runs(&mut readout);
        let kind = AnomalyKind::UnknownReplay;
        assert_eq!((readout.anomalies.count(kind), readout.anomalies.anomaly_count()), (2, 2));
        let [first] = readout.anomalies.kept() else { panic!("{:?}", readout.anomalies) };
        assert_eq!((first.kind, first.position), (kind, 48));
        assert_eq!(first.detail, "run of replay 4, the host reported 3");
    }

    #[test]
    fn a_count_of_16_bits_is_followed_beyond_its_end() {
        let mut book = TraceBook::default();
        book.add_program(2, 1, 3);
        (0..65_540).for_each(|_| book.add_replay(2, 1));
        let runs = [(3, 1), (3, 65_535), (3, 0), (3, 4)];
        let counters = [1, 65_535, 65_536, 65_540].map(|counter| Some((1, counter)));
        assert_eq!(named(&book, &runs).0, counters);
    }
}
