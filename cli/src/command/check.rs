//! `kprof check`: lists the unusable parts of a capture.

use crate::{
    args::CheckArgs,
    failure::Failure,
    input::open_capture,
    numbers::{counted, grouped},
    output::print,
};
use host_reader::capture::{Capture, Content, Problem, ProblemKind, SectionKind};
use serde::Serialize;
use std::{io::Write, process::ExitCode};

/// Checks a capture and prints its problems. The exit code is 1 if the capture has problems.
pub(crate) fn run(args: &CheckArgs) -> Result<ExitCode, Failure> {
    let capture = open_capture(&args.file)?;
    let check = capture.check();
    let document = Document {
        is_clean: check.is_clean(),
        file_bytes: check.file_bytes,
        lost_bytes: check.lost_bytes,
        usable_sections: check.usable_count,
        problems: check.problems.iter().map(Line::from_problem).collect(),
        skipped: unknown_sections(&capture).collect(),
    };
    print(args.json.then_some(&document), |out| document.write(out))?;
    Ok(if check.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// An unusable section, or unused bytes between sections.
#[derive(Serialize)]
struct Line {
    offset: u64,
    size_bytes: u64,
    /// Number of the section in the file; `None` if the section has no complete header.
    section: Option<u32>,
    section_kind: Option<String>,
    problem: String,
    expected: String,
    found: String,
}

#[derive(Serialize)]
struct Document {
    is_clean: bool,
    file_bytes: u64,
    lost_bytes: u64,
    usable_sections: u64,
    problems: Vec<Line>,
    skipped: Vec<Line>,
}

impl Document {
    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        self.problems.iter().chain(&self.skipped).try_for_each(|line| line.write(out))?;
        let problems = match self.problems.len() as u64 {
            0 => "no problems".to_owned(),
            count => counted(count, "problem", "problems"),
        };
        writeln!(
            out,
            "{problems}: {} usable, {} of {} bytes lost",
            counted(self.usable_sections, "section", "sections"),
            grouped(self.lost_bytes),
            grouped(self.file_bytes),
        )
    }
}

impl Line {
    fn from_problem(problem: &Problem) -> Self {
        let (label, expected, found) = fault(&problem.kind);
        Self {
            offset: problem.offset,
            size_bytes: problem.size_bytes,
            section: problem.section.map(|section| section.number),
            section_kind: problem.section.map(|section| section.kind.to_string()),
            problem: label.to_owned(),
            expected,
            found,
        }
    }

    fn write(&self, out: &mut impl Write) -> std::io::Result<()> {
        write!(out, "byte {}, {} bytes", self.offset, self.size_bytes)?;
        if let (Some(number), Some(kind)) = (self.section, &self.section_kind) {
            write!(out, ", section {number} ({kind})")?;
        }
        writeln!(out, ": {}: expected {}, found {}", self.problem, self.expected, self.found)
    }
}

/// Returns the name of a problem, a description of the expected content, and a description of the
/// found content.
fn fault(kind: &ProblemKind) -> (&'static str, String, String) {
    match kind {
        ProblemKind::DamagedFileHeader => {
            ("damaged file header", "magic and checksum".into(), "other bytes".into())
        }
        ProblemKind::NoSection => {
            ("no section", "a section's header".into(), "no section header".into())
        }
        ProblemKind::TornSection { expected_bytes, found_bytes } => (
            "torn section",
            counted(*expected_bytes, "byte of payload", "bytes of payload"),
            grouped(*found_bytes),
        ),
        ProblemKind::DamagedPayload { expected, found } => {
            ("damaged payload", format!("checksum {expected:#010x}"), format!("{found:#010x}"))
        }
        ProblemKind::MissingSections { count } => (
            "missing sections",
            counted((*count).into(), "more section", "more sections"),
            "a gap in the section numbers".into(),
        ),
        ProblemKind::RepeatedSection => (
            "repeated section, skipped",
            "a section number above all earlier ones".into(),
            "the number of an earlier section".into(),
        ),
        ProblemKind::MovedSection => (
            "moved section, used in the order of numbers",
            "a section number above the previous one".into(),
            "a lower number".into(),
        ),
        ProblemKind::OtherCapture => {
            ("another capture, skipped", "the end of the file".into(), "a file's header".into())
        }
        ProblemKind::UnknownSectionVersion { found, known } => {
            ("unknown version, skipped", format!("version {}.x", known.major), found.to_string())
        }
        ProblemKind::UnknownFlags { flags } => {
            ("unknown flags, skipped", "no flags".into(), format!("{flags:#010x}"))
        }
        ProblemKind::Malformed(fault) => (
            "malformed payload",
            format!("{} in {} at payload byte {}", fault.expected, fault.field, fault.offset),
            fault.found.clone(),
        ),
        ProblemKind::OpenRead { read_number } => {
            ("read without end", format!("the end of read {read_number}"), "none".into())
        }
        ProblemKind::Unfinished => ("never finished", "an end mark".into(), "none".into()),
        other => ("problem", "a usable section".into(), other.to_string()),
    }
}

/// Returns the undamaged sections of unknown kinds. Readers of captures skip these sections.
fn unknown_sections(capture: &Capture) -> impl Iterator<Item = Line> {
    let unknown =
        capture.sections().filter(|section| matches!(section.content(), Ok(Content::Unknown(_))));
    unknown.map(|section| Line {
        offset: section.offset,
        size_bytes: section.payload.len() as u64,
        section: Some(section.number),
        section_kind: Some(section.kind.to_string()),
        problem: "unknown kind, skipped".to_owned(),
        expected: format!("kinds 1 to {}", SectionKind::ALL.len()),
        found: section.kind.0.to_string(),
    })
}
