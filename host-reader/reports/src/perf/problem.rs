//! Problems in reading an ops CSV: each kind once, with its first line.

use std::collections::BTreeMap;

/// One problem, at the first place where it was met.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The file, as it was named by the caller.
    pub file: String,
    /// Line of the file, from 1.
    pub line: u64,
    /// Title of the column; empty if the whole line is meant.
    pub column: String,
    /// Description of the expected content.
    pub expected: String,
    /// Text found on this line; long texts are cut.
    pub found: String,
    /// Consequence for the report.
    pub effect: String,
    /// Lines with the same problem, this one included.
    pub line_count: u64,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}: line {}", self.file, self.line)?;
        if !self.column.is_empty() {
            write!(out, ", column {}", self.column)?;
        }
        write!(out, ": expected {}, found {}; {}", self.expected, self.found, self.effect)?;
        match self.line_count {
            0 | 1 => Ok(()),
            2 => write!(out, " (and one more line like it)"),
            count => write!(out, " (and {} more lines like it)", count.saturating_sub(1)),
        }
    }
}

/// Where a problem was met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub(super) file: &'a str,
    pub(super) line: u64,
    pub(super) column: &'a str,
}

/// All problems of a report: each once, every line counted.
///
/// Memory is bounded by files, columns and kinds of problems, not by lines.
#[derive(Clone, Debug, Default)]
pub struct ProblemLog {
    problems: Vec<Problem>,
    /// Place in the list by file, column, what was expected and what became of it.
    index: BTreeMap<[String; 4], usize>,
}

impl ProblemLog {
    pub(super) fn record(&mut self, place: Place<'_>, expected: &str, found: &str, effect: &str) {
        let key = [place.file, place.column, expected, effect].map(str::to_owned);
        if let Some(known) = self.index.get(&key).and_then(|&at| self.problems.get_mut(at)) {
            known.line_count = known.line_count.saturating_add(1);
            return;
        }
        self.index.insert(key, self.problems.len());
        self.problems.push(Problem {
            file: place.file.to_owned(),
            line: place.line,
            column: place.column.to_owned(),
            expected: expected.to_owned(),
            found: found.to_owned(),
            effect: effect.to_owned(),
            line_count: 1,
        });
    }

    /// Takes over the problems of another log.
    pub(super) fn append(&mut self, other: Self) {
        for problem in other.problems {
            let words = [&problem.file, &problem.column, &problem.expected, &problem.effect];
            let key = words.map(Clone::clone);
            match self.index.get(&key).and_then(|&at| self.problems.get_mut(at)) {
                Some(known) => {
                    known.line_count = known.line_count.saturating_add(problem.line_count);
                }
                None => {
                    self.index.insert(key, self.problems.len());
                    self.problems.push(problem);
                }
            }
        }
    }

    /// The problems, in the order in which they were met.
    #[must_use]
    pub fn list(&self) -> &[Problem] {
        &self.problems
    }
}

/// A cell as messages show it: in back quotes, without control characters, cut.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_problem_on_many_lines_is_listed_once_with_the_first_line() {
        let mut log = ProblemLog::default();
        for line in [7, 9, 12] {
            let place = Place { file: "a.csv", line, column: "CORE COUNT" };
            log.record(place, "a number", &quoted("x"), "left blank");
        }
        let [problem] = log.list() else { panic!("{:?}", log.list()) };
        assert_eq!((problem.line, problem.line_count), (7, 3));
        assert_eq!(
            problem.to_string(),
            "a.csv: line 7, column CORE COUNT: expected a number, found `x`; left blank \
             (and 2 more lines like it)"
        );
    }

    #[test]
    fn logs_that_are_joined_still_list_each_problem_once() {
        let mut log = ProblemLog::default();
        log.record(Place { file: "a.csv", line: 2, column: "X" }, "1", "`2`", "left blank");
        let mut other = log.clone();
        other.record(Place { file: "b.csv", line: 2, column: "X" }, "1", "`2`", "left blank");
        log.append(other);
        let counts: Vec<_> = log.list().iter().map(|problem| problem.line_count).collect();
        assert_eq!(counts, [2, 1]);
    }

    #[test]
    fn long_and_odd_cells_are_shown_short_and_clean() {
        assert_eq!(quoted("a\u{1b}[31mb"), "`a[31mb`");
        assert_eq!(quoted(&"x".repeat(50)).chars().count(), 43);
    }
}
