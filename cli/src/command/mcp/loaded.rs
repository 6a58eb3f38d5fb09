//! A recording in memory. The figures that tools return are computed once, when the recording is
//! loaded.

use super::provenance::{self, Fact};
use crate::{
    command::{diff, explain, lines::LazyLines, memory, noc::Events, perf},
    counter_tables::CounterFindings,
    failure::{Failure, OrFail, failure},
    input::{describe, open_packed, unpacked},
    numbers::counted,
    op_names::OpNames,
    unfinished::unfinished_lines,
};
use host_reader::{
    analysis::{FullBuffer, LOST_OF_OPS_CSV, Report, Unfinished, launches_of, lost_line},
    causes::Explanation,
    diff::Measurements,
    export::TraceFilter,
    ledger::LossLedger,
    memory::Usage,
    noc_events::Traffic,
    op_memory::usage_of,
    packed_bytes::PackedMemory,
    perf::{PerfOptions, PerfReport, WindowOptions},
    recording::{Opened, Recording},
};
use serde::Serialize;
use std::path::Path;

/// A loaded recording: all runs of a capture or log, or an ops CSV.
pub(super) struct Loaded {
    pub(super) path: String,
    /// Number of damaged parts of a capture, or of unreadable lines in an ops CSV. All other data
    /// is loaded.
    pub(super) problem_count: u64,
    /// Parts of the input: one for each run of a capture or log; an ops CSV is a single part.
    pub(super) parts: Vec<Part>,
    /// Measured durations of all runs together, or of the ops of each device in an ops CSV.
    pub(super) measurements: Measurements,
    /// Lines of source of all runs, which are read when they are asked for.
    pub(super) lines: LazyLines,
    /// Facts about the file.
    pub(super) facts: Vec<Fact>,
}

/// Part of a recording: one run, or a whole ops CSV. Each call of a tool returns data of one part.
pub(super) struct Part {
    pub(super) title: String,
    pub(super) explanation: Explanation,
    pub(super) figures: Figures,
    /// Report on the ops that the host of a run described, by device; `None` for an ops CSV, and if
    /// the host described none.
    pub(super) described: Option<Box<PerfReport>>,
    /// Facts about the run that its figures do not have.
    pub(super) facts: Vec<Fact>,
}

/// Figures of a part, by kind.
pub(super) enum Figures {
    OpsCsv(Box<PerfReport>),
    Run(Box<RunFigures>),
}

/// Figures of one run. The records of the run are not kept.
pub(super) struct RunFigures {
    pub(super) report: Report,
    pub(super) names: OpNames,
    pub(super) losses: LossLedger,
    pub(super) unfinished: Unfinished,
    pub(super) traffic: NocTraffic,
    pub(super) memory: Usage,
    pub(super) counters: CounterFindings,
}

/// Traffic of the NoCs of one run.
pub(super) struct NocTraffic {
    pub(super) traffic: Traffic,
    /// Sentences about the source of the events, and about events that cannot be used.
    pub(super) notes: Vec<String>,
    /// Reason why there is no traffic; `None` if there is traffic.
    pub(super) why_empty: Option<String>,
}

/// Summary of losses. Every answer with figures contains it.
#[derive(Debug, Serialize)]
pub(super) struct Lost {
    /// Number of lost records; `None` if they were not counted. Records that were omitted on
    /// purpose are not lost.
    pub(super) records: Option<u64>,
    /// Number of records that were omitted on purpose; `None` if unknown.
    pub(super) omitted_records: Option<u64>,
    pub(super) is_lower_bound: bool,
    pub(super) text: String,
    /// Number of runs that had not ended when they were read, counted on each RISC; `None` if
    /// unknown.
    pub(super) unfinished_runs: Option<u64>,
}

impl Loaded {
    /// Reads a recording and computes its figures.
    ///
    /// # Errors
    /// If the path is not a file or folder, or contains no recording.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        require_file(path)?;
        let name = path.display().to_string();
        if let Some(csv) = explain::ops_csv(path) {
            let (part, problem_count) = Part::from_ops_csv(&csv)?;
            let by_device = diff::by_device(
                vec![perf::open(&csv, None)?],
                &WindowOptions::all_rows(),
                TraceFilter::default(),
            );
            let by_device = by_device.or_fail_at(&csv)?;
            let measurements = Measurements::from_report(&by_device);
            let lines = LazyLines::of_recording(path);
            let (parts, facts) = (vec![part], provenance::of_file(&csv, true));
            return Ok(Self { path: name, problem_count, parts, measurements, lines, facts });
        }
        let opened = open_packed(path, &PackedMemory::unlimited())?;
        let problem_count = match &opened {
            Opened::Capture(loaded) => loaded.problem_count,
            Opened::Log(_) => 0,
        };
        let mut measurements = Measurements::default();
        let mut parts = Vec::new();
        let recordings = unpacked(opened)?.recordings;
        // Launch messages do not tell the runs of a capture apart.
        let mut launches =
            if recordings.len() == 1 { memory::launches_of(path)? } else { Vec::new() };
        for recording in recordings {
            measurements.append(Measurements::from_recording(&recording));
            let usage = usage_of(&recording, std::mem::take(&mut launches));
            parts.push(Part::from_run(recording, usage, path));
        }
        let (lines, facts) = (LazyLines::of_recording(path), provenance::of_file(path, false));
        Ok(Self { path: name, problem_count, parts, measurements, lines, facts })
    }

    /// Returns the part with this number, and the number. The first part has number 1. Without a
    /// number, returns the only part.
    pub(super) fn part(&self, number: Option<usize>) -> Result<(usize, &Part), Failure> {
        let count = self.parts.len();
        if number.is_none() && count > 1 {
            return Err(failure!(
                "expected the number of a run, since {} holds {count}, found none; give run from 1 \
                 to {count}",
                self.path
            ));
        }
        let chosen = number.unwrap_or(1);
        let part = chosen.checked_sub(1).and_then(|index| self.parts.get(index));
        part.map(|part| (chosen, part)).ok_or_else(|| {
            let runs = counted(count as u64, "run", "runs");
            failure!(
                "expected a run of {}, which holds {runs}, found {chosen}; give run from 1 to \
                 {count}",
                self.path
            )
        })
    }
}

/// Refuses devices and pipes: standard input belongs to the client, and a read from a pipe may
/// never end.
fn require_file(path: &Path) -> Result<(), Failure> {
    let is_readable =
        std::fs::metadata(path).map_or(true, |metadata| metadata.is_file() || metadata.is_dir());
    if is_readable && path != Path::new("-") {
        return Ok(());
    }
    Err(failure!(
        "expected the path of a file or folder, found `{}`, which is neither; give the device log, \
         capture, folder or ops CSV itself",
        path.display()
    ))
}

impl Part {
    /// Reads an ops CSV. Also returns the number of problems found in the file.
    fn from_ops_csv(csv: &Path) -> Result<(Self, u64), Failure> {
        let explanation = Explanation::from_perf_report(&explain::report_csv(csv, &[])?);
        let options = PerfOptions { window: WindowOptions::all_rows(), ..PerfOptions::default() };
        let report = PerfReport::new(vec![perf::open(csv, None)?], &options).or_fail_at(csv)?;
        let ops = counted(report.totals.device_op_count, "op", "ops");
        let name = csv.file_name().unwrap_or_default().to_string_lossy();
        let problem_count = report.skipped_line_count.saturating_add(report.problems.len() as u64);
        let (title, figures) = (format!("{name}, {ops}"), Figures::OpsCsv(Box::new(report)));
        let facts = Vec::new();
        Ok((Self { title, explanation, figures, described: None, facts }, problem_count))
    }

    fn from_run(recording: Recording, memory: Usage, path: &Path) -> Self {
        let mut explanation = Explanation::from_recording(&recording);
        explanation.add_memory(&memory);
        let facts = provenance::of_run(&recording);
        let report = Report::new(&recording.readout);
        let title = describe(&recording.readout);
        let names = OpNames::new(&recording.ops);
        let unfinished = Unfinished::from_readout(&recording.readout);
        let options = Explanation::report_options();
        let described = PerfReport::from_recording(&recording, None, &options).map(Box::new);
        let losses = recording.readout.losses.clone();
        let counters = CounterFindings::new(&recording.readout, &launches_of(&recording.readout));
        let traffic = NocTraffic::from_run(recording, path);
        let run = RunFigures { report, names, losses, unfinished, traffic, memory, counters };
        Self { title, explanation, figures: Figures::Run(Box::new(run)), described, facts }
    }

    pub(super) fn lost(&self) -> Lost {
        match &self.figures {
            Figures::OpsCsv(_) => Lost {
                records: None,
                omitted_records: None,
                is_lower_bound: true,
                text: LOST_OF_OPS_CSV.to_owned(),
                unfinished_runs: None,
            },
            Figures::Run(run) => Lost::from_run(run),
        }
    }
}

impl NocTraffic {
    fn from_run(run: Recording, path: &Path) -> Self {
        let events = Events::from_run(run, path);
        let (traffic, mut notes) = events.traffic();
        notes.splice(..0, events.source_sentence.clone());
        let why_empty = events.is_empty().then(|| events.why_empty(path));
        Self { traffic, notes, why_empty }
    }
}

impl Lost {
    fn from_run(run: &RunFigures) -> Self {
        let RunFigures { losses, unfinished, report, .. } = run;
        let (records, is_lower_bound) = losses.known_losses();
        Self {
            records,
            omitted_records: Some(losses.intended_total().record_count()),
            is_lower_bound,
            text: std::iter::once(lost_line(losses))
                .chain(report.summary.full_buffers.iter().map(FullBuffer::sentence))
                .chain(unfinished_lines(unfinished))
                .collect::<Vec<_>>()
                .join("; "),
            unfinished_runs: Some(unfinished.running_count()),
        }
    }
}
