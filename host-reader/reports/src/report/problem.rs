//! Problems in a report's inputs: file, position, and expected content.

use std::{collections::BTreeSet, fmt};

/// One thing that is missing or wrong in an input; the rest is reported all the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Problem {
    /// The input, as it was named.
    pub file: String,
    /// Line in it, from 1; `None` if the file as a whole is meant.
    pub line: Option<u64>,
    /// The column's title, or the number of the character in the line.
    pub column: Option<String>,
    /// Expected content, content found, and the consequence.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match &self.column {
            Some(column) => write!(f, ": column {column}: {}", self.detail),
            None => write!(f, ": {}", self.detail),
        }
    }
}

/// Problems kept with their place; more are only counted.
pub const KEPT_PROBLEMS: usize = 1_000;

/// All problems of a report, each once, in the order in which they were met.
///
/// ```
/// use reports::report::{Problem, ProblemLog};
/// let problem = Problem { file: "a.csv".into(), line: Some(3), column: None, detail: "?".into() };
/// let mut problems = ProblemLog::default();
/// problems.enter(problem.clone());
/// problems.enter(problem);
/// assert_eq!(problems.count(), 1);
/// assert_eq!(problems.kept()[0].to_string(), "a.csv:3: ?");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProblemLog {
    kept: Vec<Problem>,
    known: BTreeSet<Problem>,
    unkept_count: u64,
}

impl ProblemLog {
    /// Adds a problem, unless it is known.
    pub fn enter(&mut self, problem: Problem) {
        if self.known.contains(&problem) {
            return;
        }
        if self.kept.len() == KEPT_PROBLEMS {
            self.unkept_count = self.unkept_count.saturating_add(1);
            return;
        }
        self.known.insert(problem.clone());
        self.kept.push(problem);
    }

    /// Adds what is wrong with a file as a whole.
    pub(super) fn of_file(&mut self, file: &str, detail: impl Into<String>) {
        let detail = detail.into();
        self.enter(Problem { file: file.to_owned(), line: None, column: None, detail });
    }

    /// Adds what is wrong with a line.
    pub(super) fn of_line(&mut self, file: &str, line: u64, detail: impl Into<String>) {
        let detail = detail.into();
        self.enter(Problem { file: file.to_owned(), line: Some(line), column: None, detail });
    }

    /// Adds what is wrong with a field.
    pub(super) fn of_field(
        &mut self,
        file: &str,
        line: u64,
        column: impl Into<String>,
        detail: impl Into<String>,
    ) {
        self.enter(Problem {
            file: file.to_owned(),
            line: Some(line),
            column: Some(column.into()),
            detail: detail.into(),
        });
    }

    /// Adds what the reader of a device log says of a line; if one field is wrong, it
    /// begins with that field's title.
    pub(super) fn of_log_line(&mut self, file: &str, line: u64, found: &str) {
        let field = found.strip_prefix("column `").and_then(|rest| rest.split_once("`: "));
        match field {
            Some((column, detail)) => self.of_field(file, line, column, detail),
            None => self.of_line(file, line, found),
        }
    }

    /// The first problems.
    #[must_use]
    pub fn kept(&self) -> &[Problem] {
        &self.kept
    }

    /// All of them.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.unkept_count.saturating_add(self.kept.len() as u64)
    }
}
