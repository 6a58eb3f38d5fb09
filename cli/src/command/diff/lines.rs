//! Lines of source in `kprof diff`: which ones take more or fewer cycles.

use crate::{
    command::lines::{is_sampled, lines_of_recording, short_place, without_arguments},
    failure::Failure,
    layout::write_columns,
    numbers::{counted, grouped},
    terminal::{LONGEST_NAME, printable},
};
use host_reader::{
    lines::{LineChange, LineDiff, LineSide},
    tables::LineRow,
};
use serde::Serialize;
use std::{
    io::{self, Write},
    path::Path,
};

/// Comparison of the tables of lines that belong to A and B.
#[derive(Debug, Serialize)]
pub(crate) struct LinesOfBoth {
    is_per_launch: bool,
    a_cycles: f64,
    b_cycles: f64,
    changes: Vec<Line>,
}

/// A line of A, of B, or of both.
#[derive(Debug, Serialize)]
struct Line {
    risc: String,
    code: String,
    function: String,
    a: Option<Place>,
    b: Option<Place>,
    change_cycles: f64,
}

#[derive(Debug, Serialize)]
struct Place {
    file: Option<String>,
    line: Option<u32>,
    source_text: Option<String>,
    cycles: f64,
}

/// What is known of the lines of A and B.
pub(super) enum Lines {
    /// Neither has a table of lines.
    Neither,
    /// Only this one has a table.
    OnlyIn(&'static str),
    /// At least one has samples, which are no cycles.
    Sampled,
    Both(LinesOfBoth),
}

impl Lines {
    /// Reads the tables that belong to two recordings.
    pub(super) fn of(a: &Path, b: &Path) -> Result<Self, Failure> {
        Ok(match (lines_of_recording(a)?, lines_of_recording(b)?) {
            (None, None) => Self::Neither,
            (Some(_), None) => Self::OnlyIn("A"),
            (None, Some(_)) => Self::OnlyIn("B"),
            (Some(a), Some(b)) if is_sampled(&a) || is_sampled(&b) => Self::Sampled,
            (Some(a), Some(b)) => Self::Both(LinesOfBoth::new(&a, &b)),
        })
    }

    pub(super) const fn both(&self) -> Option<&LinesOfBoth> {
        match self {
            Self::Both(both) => Some(both),
            Self::Neither | Self::OnlyIn(_) | Self::Sampled => None,
        }
    }

    /// Writes the largest changes.
    pub(super) fn write(&self, is_all: bool, rows: usize, out: &mut impl Write) -> io::Result<()> {
        match self {
            Self::Neither => Ok(()),
            Self::Sampled => writeln!(
                out,
                "\nLines of source are not compared: at least one side has samples, which are no cycles; \
                 record both with --lines"
            ),
            Self::OnlyIn(name) => {
                writeln!(
                    out,
                    "\nLines of source are not compared: only {name} was recorded with --lines"
                )
            }
            Self::Both(both) => both.write(is_all, rows, out),
        }
    }
}

impl LinesOfBoth {
    fn new(a: &[LineRow], b: &[LineRow]) -> Self {
        let diff = LineDiff::new(a, b);
        let [a_cycles, b_cycles] = diff.total_cycles;
        let changes = diff.changes.into_iter().map(Line::new).collect();
        Self { is_per_launch: diff.is_per_launch, a_cycles, b_cycles, changes }
    }

    fn write(&self, is_all: bool, rows: usize, out: &mut impl Write) -> io::Result<()> {
        let unit = if self.is_per_launch {
            "each op's mean of its launches, which differ in number"
        } else {
            "all launches"
        };
        writeln!(
            out,
            "\nLines of source, cycles of all cores, {unit}: A {}, B {}{}",
            cycles(self.a_cycles),
            cycles(self.b_cycles),
            percent(self.a_cycles, self.b_cycles)
        )?;
        let (changed, equal): (Vec<&Line>, Vec<&Line>) =
            self.changes.iter().partition(|line| line.change_cycles != 0.0);
        let shown = changed.iter().chain(equal.iter().filter(|_| is_all));
        let shown: Vec<&&Line> = shown.collect();
        if !shown.is_empty() {
            writeln!(out)?;
            write_columns!(shown, rows, out, |line| {
                let of = |side: &Option<Place>| side.as_ref().map(|side| cycles(side.cycles));
                let at = |side: &Option<Place>| side.as_ref().map(Place::short);
                let absent = || "-".to_owned();
                let sign = if line.change_cycles < 0.0 { "-" } else { "+" };
                let side = line.b.as_ref().or(line.a.as_ref());
                let text = side.and_then(|side| side.source_text.as_deref()).unwrap_or("-");
                "change" => format!("{sign}{}", cycles(line.change_cycles.abs())),
                "A" => of(&line.a).unwrap_or_else(absent),
                "B" => of(&line.b).unwrap_or_else(absent),
                "RISC" => line.risc,
                "where A" => at(&line.a).unwrap_or_else(absent),
                "where B" => at(&line.b).unwrap_or_else(absent),
                "function" => printable(without_arguments(&line.function), LONGEST_NAME),
                "source text" => printable(text.trim(), LONGEST_NAME),
            })?;
        }
        if !equal.is_empty() && !is_all {
            writeln!(out, "Without a change: {}", counted(equal.len() as u64, "line", "lines"))?;
        }
        Ok(())
    }
}

impl Line {
    fn new(change: LineChange) -> Self {
        let change_cycles = change.change_cycles();
        let LineChange { risc, code, function, a, b } = change;
        let [a, b] = [a, b].map(|side| side.map(Place::new));
        Self { risc, code, function, a, b, change_cycles }
    }
}

impl Place {
    fn new(side: LineSide) -> Self {
        let LineSide { file, line, source_text, cycles } = side;
        Self { file, line, source_text, cycles }
    }

    fn short(&self) -> String {
        printable(&short_place(self.file.as_deref(), self.line), LONGEST_NAME)
    }
}

/// Returns cycles, which are whole unless they are a mean of launches.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sums of cycles are positive and below 2^53"
)]
fn cycles(cycles: f64) -> String {
    if cycles.fract() == 0.0 { grouped(cycles as u64) } else { format!("{cycles:.1}") }
}

fn percent(a: f64, b: f64) -> String {
    if a > 0.0 { format!(" ({:+.1} %)", (b / a - 1.0) * 100.0) } else { String::new() }
}
