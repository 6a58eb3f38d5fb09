//! TT-Metal's NoC traces from the folder of a recording, read one file at a time.

use crate::noc_events::{counted, json::read_json, trace::ProgramTrace};
use reader::{
    lane::{LaneId, TraceReplay},
    mesh::Noc0Coord,
    readout::Readout,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};
use wire::{Risc, RunHostId};

/// Programs of a recording, each with the lanes that ran it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramLanes {
    programs: BTreeMap<(u32, RunHostId), LanesOfProgram>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LanesOfProgram {
    replays: BTreeSet<Option<TraceReplay>>,
    lanes: BTreeSet<(Noc0Coord, Risc)>,
}

impl ProgramLanes {
    /// Collects the programs of a readout's lanes.
    #[must_use]
    pub fn from_readout(readout: &Readout) -> Self {
        let mut programs = Self::default();
        for lane in readout.lanes() {
            lane.runs.iter().for_each(|run| programs.add(lane.id, run.program, run.trace));
        }
        programs
    }

    /// Adds a lane's run of a program.
    pub fn add(&mut self, lane: LaneId, program: RunHostId, replay: Option<TraceReplay>) {
        let program_lanes = self.programs.entry((lane.chip_id, program)).or_default();
        program_lanes.replays.insert(replay);
        program_lanes.lanes.insert((lane.core, lane.risc));
    }

    /// Returns the lanes that ran the program of a trace, or the reason why there are none.
    fn lanes_of(&self, trace: &ProgramTrace) -> Result<&LanesOfProgram, LeftOut> {
        let Some(found) = self.programs.get(&(trace.chip_id, trace.program)) else {
            let is_known = self.programs.keys().any(|(chip_id, _)| *chip_id == trace.chip_id);
            return Err(if is_known { LeftOut::Program } else { LeftOut::Chip });
        };
        // Early versions of trace files and of logs do not contain replays.
        let is_unnamed = trace.trace.is_none() || found.replays.iter().all(Option::is_none);
        match is_unnamed || found.replays.contains(&trace.trace) {
            true => Ok(found),
            false => Err(LeftOut::Replay),
        }
    }
}

reader::labelled! {
    /// Reason why an event cannot be attributed to a program of the recording.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum LeftOut {
        Chip = "of chips that the recording does not have",
        Program = "of programs that the recording does not have",
        Replay = "of trace replays that the recording does not have",
        Lane = "of RISCs that did not run the program in the recording",
        Time = "of RISCs without a kernel that gives the time",
    }
}

/// Counts of the events used from trace files, and of everything left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFileCounts {
    /// Number of files with events that were used.
    pub file_count: u64,
    /// Number of events that were used.
    pub event_count: u64,
    left_out: BTreeMap<LeftOut, u64>,
    /// Sentences about unreadable files and unreadable parts of files, at most [`MOST_PROBLEMS`].
    problems: Vec<String>,
    problem_count: u64,
}

/// Maximum number of problems that get a sentence. Further problems are only counted.
const MOST_PROBLEMS: usize = 10;

impl TraceFileCounts {
    /// Returns the number of events and of unreadable parts that were left out.
    #[must_use]
    pub fn left_out_count(&self) -> u64 {
        self.left_out.values().fold(self.problem_count, |sum, count| sum.saturating_add(*count))
    }

    /// Moves `count` events from the used ones to those left out, because their times could not be
    /// aligned.
    pub fn leave_out_without_time(&mut self, count: u64) {
        self.event_count = self.event_count.saturating_sub(count);
        self.leave_out(LeftOut::Time, count);
    }

    /// Returns sentences about the source of the events and about everything left out.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        [self.source_sentence()].into_iter().chain(self.left_out_sentences())
    }

    /// Returns the sentence about the source of the events.
    #[must_use]
    pub fn source_sentence(&self) -> String {
        format!(
            "NoC events: {} from {} next to the device log, which has none itself",
            counted(self.event_count, "event", "events"),
            counted(self.file_count, "noc_trace file", "noc_trace files"),
        )
    }

    /// Returns sentences about everything left out.
    pub fn left_out_sentences(&self) -> impl Iterator<Item = String> {
        let left_out = self.left_out.iter().map(|(reason, count)| {
            let events = counted(*count, "event", "events");
            format!("noc_trace files: left out {events} {}", reason.label())
        });
        let more = self.problem_count.saturating_sub(self.problems.len() as u64);
        let more = (more > 0).then(|| {
            format!("noc_trace files: {}", counted(more, "more problem", "more problems"))
        });
        left_out.chain(self.problems.iter().cloned()).chain(more)
    }

    fn leave_out(&mut self, reason: LeftOut, count: u64) {
        if count > 0 {
            let sum = self.left_out.entry(reason).or_default();
            *sum = sum.saturating_add(count);
        }
    }

    fn add_problem(&mut self, file: &str, problem: &str) {
        self.problem_count = self.problem_count.saturating_add(1);
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(format!("{file}: {problem}"));
        }
    }
}

/// TT-Metal's NoC traces next to a recording. Their events are attributed to the recording's
/// programs.
///
/// # Cost
/// Memory: the events of one file at a time.
#[derive(Clone, Debug)]
pub struct TraceFiles<'a> {
    paths: Vec<&'a Path>,
    programs: &'a ProgramLanes,
}

/// Maximum size in bytes of a file that is read.
const MOST_BYTES: u64 = 1 << 30;

impl<'a> TraceFiles<'a> {
    /// Prepares to read the files, sorted by the chips and programs in their names. An event is
    /// used only if its RISC ran the event's program according to `programs`.
    #[must_use]
    pub fn new(paths: &'a [PathBuf], programs: &'a ProgramLanes) -> Self {
        let mut paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        paths.sort_by_cached_key(|path| (ProgramTrace::key_of_file_name(&name_of(path)), *path));
        Self { paths, programs }
    }

    /// Reads the files one after the other. `counts` is complete once the iterator has ended.
    ///
    /// ```
    /// use analysis::noc_events::{ProgramLanes, TraceFileCounts, TraceFiles};
    /// use reader::{lane::LaneId, mesh::Noc0Coord};
    /// use wire::{Risc, RunHostId};
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("noc_trace_dev0_ID1024.json");
    /// let event = r#"{"proc": "BRISC", "sx": 1, "sy": 2, "timestamp": 7, "type": "READ"}"#;
    /// std::fs::write(&path, format!("[{event}, {}]", event.replace("BRISC", "NCRISC")))?;
    /// let mut programs = ProgramLanes::default();
    /// let core = Noc0Coord { x: 1, y: 2 };
    /// programs.add(LaneId { chip_id: 0, core, risc: Risc::Brisc }, RunHostId(1024), None);
    /// let mut counts = TraceFileCounts::default();
    /// let paths = [path];
    /// let files = TraceFiles::new(&paths, &programs);
    /// assert_eq!(files.traces(&mut counts).count(), 1);
    /// assert_eq!((counts.event_count, counts.left_out_count()), (1, 1));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn traces(&self, counts: &mut TraceFileCounts) -> impl Iterator<Item = ProgramTrace> {
        self.paths.iter().flat_map(|path| self.traces_of(path, counts))
    }

    fn traces_of(&self, path: &Path, counts: &mut TraceFileCounts) -> Vec<ProgramTrace> {
        let name = name_of(path);
        let read = match read_file(path) {
            Ok(text) => read_json(&text),
            Err(problem) => {
                counts.add_problem(&name, &problem);
                return Vec::new();
            }
        };
        for problem in &read.problems {
            counts.add_problem(&name, &problem.to_string());
        }
        let traces = ProgramTrace::from_objects(read.objects, &name);
        let taken = traces.into_iter().filter_map(|trace| self.attributed(trace, counts));
        let taken: Vec<_> = taken.collect();
        counts.file_count = counts.file_count.saturating_add(u64::from(!taken.is_empty()));
        taken
    }

    /// Returns the trace, reduced to the lanes that ran its program; `None` if no event remains.
    fn attributed(
        &self,
        mut trace: ProgramTrace,
        counts: &mut TraceFileCounts,
    ) -> Option<ProgramTrace> {
        let program_lanes = match self.programs.lanes_of(&trace) {
            Ok(program_lanes) => program_lanes,
            Err(reason) => {
                counts.leave_out(reason, trace.event_count());
                return None;
            }
        };
        let before = trace.event_count();
        trace.objects.retain(|object| {
            let core = Noc0Coord { x: object.sx, y: object.sy };
            let risc = Risc::from_label(&object.proc);
            risc.is_some_and(|risc| program_lanes.lanes.contains(&(core, risc)))
        });
        let count = trace.event_count();
        counts.leave_out(LeftOut::Lane, before.saturating_sub(count));
        counts.event_count = counts.event_count.saturating_add(count);
        (count > 0).then_some(trace)
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Reads a file of limited size. The error text completes a sentence that begins with the file's
/// name.
fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let file = File::open(path).map_err(|error| format!("left out, cannot be read: {error}"))?;
    let mut text = Vec::new();
    let read = file.take(MOST_BYTES.saturating_add(1)).read_to_end(&mut text);
    read.map_err(|error| format!("left out, cannot be read: {error}"))?;
    match text.len() as u64 > MOST_BYTES {
        true => Err("left out, expected at most 1 GiB".to_owned()),
        false => Ok(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: TraceReplay = TraceReplay { trace_id: 1, counter: 2 };

    fn lane(chip_id: u32, x: u16, risc: Risc) -> LaneId {
        LaneId { chip_id, core: Noc0Coord { x, y: 2 }, risc }
    }

    /// Builds a file with a zone end and these events, given as pairs of column and RISC.
    fn text(events: &[(u16, &str)]) -> String {
        let zone = r#"{"proc":"BRISC","sx":1,"sy":2,"timestamp":7,"zone":"BRISC-KERNEL"}"#;
        let events = events.iter().map(|(x, risc)| {
            format!(r#"{{"proc":"{risc}","sx":{x},"sy":2,"timestamp":7,"type":"READ"}}"#)
        });
        format!("[{}]", [zone.to_owned()].into_iter().chain(events).collect::<Vec<_>>().join(","))
    }

    fn taken(
        files: &[(&str, &str)],
        programs: &ProgramLanes,
    ) -> (Vec<(String, u64)>, TraceFileCounts) {
        let folder = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = files
            .iter()
            .map(|(name, text)| {
                let path = folder.path().join(name);
                std::fs::write(&path, text).unwrap();
                path
            })
            .collect();
        let mut counts = TraceFileCounts::default();
        let files = TraceFiles::new(&paths, programs);
        let traces = files.traces(&mut counts);
        let traces = traces.map(|trace| (trace.file_name(), trace.event_count())).collect();
        (traces, counts)
    }

    #[test]
    fn events_belong_to_the_lanes_that_ran_their_program() {
        let mut programs = ProgramLanes::default();
        programs.add(lane(0, 1, Risc::Brisc), RunHostId(1024), None);
        programs.add(lane(0, 1, Risc::Brisc), RunHostId(2048), Some(TWO));
        let one = text(&[(1, "BRISC"), (1, "BRISC"), (1, "NCRISC"), (3, "BRISC"), (1, "?")]);
        let files = [
            ("noc_trace_dev0_ID2048_traceID4294967298.json", text(&[(1, "BRISC")])),
            ("noc_trace_dev0_ID2048_traceID4294967299.json", text(&[(1, "BRISC"); 7])),
            ("noc_trace_dev0_ID1024.json", one),
            ("noc_trace_dev0_ID3072.json", text(&[(1, "BRISC"); 11])),
            ("noc_trace_dev5_ID1024.json", text(&[(1, "BRISC"); 13])),
            ("noc_trace_dev0_ID4096.json", "nonsense".to_owned()),
        ];
        let files: Vec<_> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let (traces, counts) = taken(&files, &programs);
        // The traces are sorted by program number, not by file name.
        let expected = [(files[2].0.to_owned(), 2), (files[0].0.to_owned(), 1)];
        assert_eq!(traces, expected);
        assert_eq!((counts.file_count, counts.event_count, counts.left_out_count()), (2, 3, 35));
        let told: Vec<_> = counts.sentences().collect();
        assert_eq!(
            told[..5],
            [
                "NoC events: 3 events from 2 noc_trace files next to the device log, which has none \
                 itself",
                "noc_trace files: left out 13 events of chips that the recording does not have",
                "noc_trace files: left out 11 events of programs that the recording does not have",
                "noc_trace files: left out 7 events of trace replays that the recording does not \
                 have",
                "noc_trace files: left out 3 events of RISCs that did not run the program in the \
                 recording",
            ]
        );
        assert!(
            told[5].starts_with("noc_trace_dev0_ID4096.json: nothing after object"),
            "{told:?}"
        );
        assert_eq!(told.len(), 6);
    }

    #[test]
    fn a_replay_needs_a_name_in_both_to_be_another_one() {
        let mut programs = ProgramLanes::default();
        programs.add(lane(0, 1, Risc::Brisc), RunHostId(1024), Some(TWO));
        programs.add(lane(0, 1, Risc::Brisc), RunHostId(2048), None);
        let text = text(&[(1, "BRISC")]);
        let (traces, counts) = taken(
            &[
                ("noc_trace_dev0_ID1024.json", &text),
                ("noc_trace_dev0_ID2048_traceID4294967299.json", &text),
            ],
            &programs,
        );
        assert_eq!((traces.len(), counts.left_out_count()), (2, 0));
    }

    #[test]
    fn problems_are_described_up_to_a_number_and_then_counted() {
        let text = format!("[{}]", vec!["3"; 25].join(","));
        let (traces, counts) =
            taken(&[("noc_trace_dev0_ID0.json", &text)], &ProgramLanes::default());
        assert_eq!((traces.len(), counts.left_out_count()), (0, 25));
        assert_eq!(counts.sentences().count(), 12);
        assert_eq!(counts.sentences().last().unwrap(), "noc_trace files: 15 more problems");
    }
}
