//! A recording in memory, with all figures that tools return, computed once.

use crate::{
    command::{diff::measurements_of, explain, perf},
    failure::{Failure, OrFail, failure},
    input::{describe, open_packed, unpacked},
    losses::lost_line,
    numbers::counted,
    op_names::OpNames,
};
use host_reader::{
    analysis::Report,
    causes::Explanation,
    diff::Measurements,
    ledger::LossLedger,
    packed_bytes::PackedMemory,
    perf::{PerfOptions, PerfReport},
    recording::{Opened, Recording},
};
use serde::Serialize;
use std::path::Path;

/// Everything that was loaded from a path.
pub(super) struct Loaded {
    pub(super) path: String,
    /// Number of damaged parts of a capture, or of unreadable lines in an ops CSV. All other data
    /// is used.
    pub(super) problem_count: u64,
    pub(super) content: Content,
}

/// Content of a path, by kind.
pub(super) enum Content {
    OpsCsv(Box<OpsFigures>),
    /// The runs of a capture or log, and the measured durations of all runs together.
    Runs(Vec<RunFigures>, Measurements),
}

/// Figures of an ops CSV.
pub(super) struct OpsFigures {
    pub(super) title: String,
    pub(super) report: PerfReport,
    pub(super) explanation: Explanation,
}

/// Figures of one run, whose records are not kept.
pub(super) struct RunFigures {
    pub(super) title: String,
    pub(super) report: Report,
    pub(super) names: OpNames,
    pub(super) explanation: Explanation,
    pub(super) losses: LossLedger,
}

/// Part of a recording to which one question refers.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    OpsCsv(&'a OpsFigures),
    Run(&'a RunFigures),
}

/// Summary of losses, part of every answer with figures.
#[derive(Debug, Serialize)]
pub(super) struct Lost {
    /// Number of lost records; `None` if they were not counted.
    pub(super) records: Option<u64>,
    pub(super) is_lower_bound: bool,
    pub(super) text: String,
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
            let figures = OpsFigures::open(&csv)?;
            let report = &figures.report;
            let problem_count =
                report.skipped_line_count.saturating_add(report.problems.len() as u64);
            let content = Content::OpsCsv(Box::new(figures));
            return Ok(Self { path: name, problem_count, content });
        }
        let opened = open_packed(path, &PackedMemory::unlimited())?;
        let problem_count = match &opened {
            Opened::Capture(loaded) => loaded.problem_count,
            Opened::Log(_) => 0,
        };
        let mut measurements = Measurements::default();
        let mut runs = Vec::new();
        for recording in unpacked(opened)?.recordings {
            measurements.append(measurements_of(&recording));
            runs.push(RunFigures::new(recording));
        }
        Ok(Self { path: name, problem_count, content: Content::Runs(runs, measurements) })
    }

    /// Returns the parts that a question can refer to: the runs, or an ops CSV as one part.
    pub(super) fn parts(&self) -> Vec<Part<'_>> {
        match &self.content {
            Content::OpsCsv(figures) => vec![Part::OpsCsv(figures)],
            Content::Runs(runs, _) => runs.iter().map(Part::Run).collect(),
        }
    }

    /// Returns the part with this number, from 1; without a number, the only part.
    pub(super) fn part(&self, number: Option<usize>) -> Result<(usize, Part<'_>), Failure> {
        let parts = self.parts();
        let count = parts.len();
        if number.is_none() && count > 1 {
            return Err(failure!(
                "expected the number of a run, since {} holds {count}, found none; give run from 1 \
                 to {count}",
                self.path
            ));
        }
        let chosen = number.unwrap_or(1);
        let part = chosen.checked_sub(1).and_then(|index| parts.get(index));
        part.map(|part| (chosen, *part)).ok_or_else(|| {
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

impl OpsFigures {
    fn open(csv: &Path) -> Result<Self, Failure> {
        let explanation = Explanation::from_perf_report(&explain::report_csv(csv, &[])?);
        let report =
            PerfReport::new(vec![perf::open(csv)?], &PerfOptions::default()).or_fail_at(csv)?;
        let ops = counted(report.totals.device_op_count, "op", "ops");
        let name = csv.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self { title: format!("{name}, {ops}"), report, explanation })
    }
}

impl RunFigures {
    fn new(recording: Recording) -> Self {
        let explanation = Explanation::from_recording(&recording);
        let report = Report::new(&recording.readout);
        let (title, ..) = describe(&recording.readout);
        let names = OpNames::new(&recording.ops);
        Self { title, report, names, explanation, losses: recording.readout.losses }
    }
}

impl<'a> Part<'a> {
    pub(super) fn title(self) -> &'a str {
        match self {
            Self::OpsCsv(figures) => &figures.title,
            Self::Run(run) => &run.title,
        }
    }

    pub(super) const fn explanation(self) -> &'a Explanation {
        match self {
            Self::OpsCsv(figures) => &figures.explanation,
            Self::Run(run) => &run.explanation,
        }
    }

    pub(super) fn lost(self) -> Lost {
        match self {
            Self::OpsCsv(_) => Lost {
                records: None,
                is_lower_bound: true,
                text: "Lost: unknown; an ops CSV does not tell".to_owned(),
            },
            Self::Run(run) => Lost::from_ledger(&run.losses),
        }
    }
}

impl Lost {
    fn from_ledger(losses: &LossLedger) -> Self {
        let total = losses.total();
        let is_uncounted = losses.uncounted().next().is_some();
        let is_lower_bound = total.is_lower_bound || is_uncounted;
        let records = total.record_count();
        Self {
            records: (records > 0 || !is_lower_bound).then_some(records),
            is_lower_bound,
            text: lost_line(losses),
        }
    }
}
