//! Problems in the inputs of reports. A problem states the file, the position, the expected content
//! and the consequence.

use std::{collections::BTreeMap, fmt};

/// A missing or wrong part of an input. The report still covers the other parts.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Name of the input, as the caller gave it.
    pub file: String,
    /// Line number, counted from 1; `None` if the problem concerns the whole file.
    pub line: Option<u64>,
    /// Title of the column, or position of the character in the line.
    pub column: Option<String>,
    /// Expected content, content found, and the consequence.
    #[serde(flatten)]
    pub detail: Detail,
}

/// Expected content, content found, and the consequence.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(untagged)]
pub enum Detail {
    /// A problem at one position.
    Sentence {
        /// The sentence.
        detail: String,
    },
    /// A problem that several lines may share. The problem's `line` is the first of these lines.
    Deviation {
        /// Description of the expected content.
        expected: String,
        /// Text found on the first line, truncated if long.
        found: String,
        /// Consequence for the report.
        effect: String,
        /// Number of lines with this problem, including the first.
        line_count: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = self.column.as_deref().filter(|column| !column.is_empty());
        f.write_str(&self.file)?;
        match &self.detail {
            Detail::Sentence { detail } => {
                self.line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
                column.map_or(Ok(()), |column| write!(f, ": column {column}"))?;
                write!(f, ": {detail}")
            }
            Detail::Deviation { expected, found, effect, line_count } => {
                self.line.map_or(Ok(()), |line| write!(f, ": line {line}"))?;
                column.map_or(Ok(()), |column| write!(f, ", column {column}"))?;
                write!(f, ": expected {expected}, found {found}; {effect}")?;
                match line_count {
                    0 | 1 => Ok(()),
                    2 => write!(f, " (and one more line like it)"),
                    count => {
                        write!(f, " (and {} more lines like it)", count.saturating_sub(1))
                    }
                }
            }
        }
    }
}

/// Position of a cell, or of a whole line if the column is empty.
#[derive(Clone, Copy, Debug)]
pub struct Position<'a> {
    /// Name of the file, as the caller gave it.
    pub file: &'a str,
    /// Line number, counted from 1.
    pub line: u64,
    /// Title of the column.
    pub column: &'a str,
}

/// Maximum number of problems that are kept. Further problems are only counted.
pub const KEPT_PROBLEMS: usize = 1_000;

/// All distinct problems of a report, in the order in which they were found.
///
/// The memory use is bounded for any input.
///
/// ```
/// use recording::problem::{Detail, Problem, ProblemLog};
/// let detail = Detail::Sentence { detail: "?".into() };
/// let problem = Problem { file: "a.csv".into(), line: Some(3), column: None, detail };
/// let mut problems = ProblemLog::default();
/// problems.add(problem.clone());
/// problems.add(problem);
/// assert_eq!(problems.count(), 1);
/// assert_eq!(problems.kept()[0].to_string(), "a.csv:3: ?");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProblemLog {
    kept: Vec<Problem>,
    /// Indices into `kept`, by key.
    index: BTreeMap<Key, usize>,
    unkept_count: u64,
}

/// File, line, column and texts of a problem. Problems with the same key are one problem.
type Key = (String, Option<u64>, Option<String>, [String; 2]);

fn key_of(problem: &Problem) -> Key {
    // Lines with the same deviation are one problem, regardless of the text of each line.
    let (line, words) = match &problem.detail {
        Detail::Sentence { detail } => (problem.line, [detail.clone(), String::new()]),
        Detail::Deviation { expected, effect, .. } => (None, [expected.clone(), effect.clone()]),
    };
    (problem.file.clone(), line, problem.column.clone(), words)
}

impl ProblemLog {
    /// Adds a problem. If the problem is already known, only adds its number of lines to the known
    /// problem.
    pub fn add(&mut self, problem: Problem) {
        let key = key_of(&problem);
        if let Some(known) = self.index.get(&key).and_then(|&at| self.kept.get_mut(at)) {
            if let (
                Detail::Deviation { line_count, .. },
                Detail::Deviation { line_count: more, .. },
            ) = (&mut known.detail, problem.detail)
            {
                *line_count = line_count.saturating_add(more);
            }
            return;
        }
        if self.kept.len() >= KEPT_PROBLEMS {
            self.unkept_count = self.unkept_count.saturating_add(1);
            return;
        }
        self.index.insert(key, self.kept.len());
        self.kept.push(problem);
    }

    /// Adds a problem at one position of a file: the content differs from the expected content.
    pub fn add_deviation(
        &mut self,
        position: Position<'_>,
        expected: &str,
        found: &str,
        effect: &str,
    ) {
        self.add(Problem {
            file: position.file.to_owned(),
            line: Some(position.line),
            column: Some(position.column.to_owned()),
            detail: Detail::Deviation {
                expected: expected.to_owned(),
                found: found.to_owned(),
                effect: effect.to_owned(),
                line_count: 1,
            },
        });
    }

    /// Adds the problems of another log.
    pub fn append(&mut self, other: Self) {
        other.kept.into_iter().for_each(|problem| self.add(problem));
        self.unkept_count = self.unkept_count.saturating_add(other.unkept_count);
    }

    fn add_sentence(
        &mut self,
        file: &str,
        line: Option<u64>,
        column: Option<String>,
        detail: String,
    ) {
        let detail = Detail::Sentence { detail };
        self.add(Problem { file: file.to_owned(), line, column, detail });
    }

    /// Adds a problem with a whole file.
    pub fn add_to_file(&mut self, file: &str, detail: impl Into<String>) {
        self.add_sentence(file, None, None, detail.into());
    }

    /// Adds a problem with a line.
    pub fn add_to_line(&mut self, file: &str, line: u64, detail: impl Into<String>) {
        self.add_sentence(file, Some(line), None, detail.into());
    }

    /// Adds a problem with a field.
    pub fn add_to_field(
        &mut self,
        file: &str,
        line: u64,
        column: impl Into<String>,
        detail: impl Into<String>,
    ) {
        self.add_sentence(file, Some(line), Some(column.into()), detail.into());
    }

    /// Adds a problem that the reader of a device log reported.
    ///
    /// If only one field is wrong, `found` must begin with the title of this field's column; the
    /// problem then names the column.
    pub fn add_to_log_line(&mut self, file: &str, line: u64, found: &str) {
        let field = found.strip_prefix("column `").and_then(|rest| rest.split_once("`: "));
        match field {
            Some((column, detail)) => self.add_to_field(file, line, column, detail),
            None => self.add_to_line(file, line, found),
        }
    }

    /// Returns the first [`KEPT_PROBLEMS`] problems.
    #[must_use]
    pub fn kept(&self) -> &[Problem] {
        &self.kept
    }

    /// Returns the number of all problems, including those that were not kept.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.kept.len() as u64).saturating_add(self.unkept_count)
    }
}

/// Formats a cell for messages: in back quotes, without control characters, and truncated if long.
#[must_use]
pub fn quoted(text: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = text.chars().filter(|c| !c.is_control()).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

/// Formats a number with a noun in the singular or plural.
///
/// ```
/// use recording::problem::counted;
/// assert_eq!(counted(1, "op", "ops"), "1 op");
/// assert_eq!(counted(0, "op", "ops"), "0 ops");
/// ```
#[must_use]
pub fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deviation(file: &str, line: u64) -> ProblemLog {
        let mut log = ProblemLog::default();
        log.add_deviation(Position { file, line, column: "X" }, "1", "`2`", "left blank");
        log
    }

    fn line_counts(log: &ProblemLog) -> Vec<u64> {
        log.kept()
            .iter()
            .map(|problem| match problem.detail {
                Detail::Deviation { line_count, .. } => line_count,
                Detail::Sentence { .. } => 0,
            })
            .collect()
    }

    #[test]
    fn a_deviation_on_many_lines_is_listed_once_with_the_first_line() {
        let mut log = ProblemLog::default();
        for line in [7, 9, 12] {
            let position = Position { file: "a.csv", line, column: "CORE COUNT" };
            log.add_deviation(position, "a number", &quoted("x"), "left blank");
        }
        assert_eq!(line_counts(&log), [3]);
        assert_eq!(
            log.kept()[0].to_string(),
            "a.csv: line 7, column CORE COUNT: expected a number, found `x`; left blank \
             (and 2 more lines like it)"
        );
    }

    #[test]
    fn logs_that_are_joined_still_list_each_problem_once() {
        let mut log = deviation("a.csv", 2);
        log.append(deviation("a.csv", 5));
        log.append(deviation("b.csv", 2));
        assert_eq!(line_counts(&log), [2, 1]);
    }

    #[test]
    fn sentences_of_other_lines_are_other_problems_and_a_flood_is_only_counted() {
        let mut log = ProblemLog::default();
        for line in 0..1_010 {
            log.add_to_line("a.csv", line, "torn");
            log.add_to_line("a.csv", line, "torn");
        }
        // A problem that is not kept is counted every time, because its key is unknown.
        assert_eq!((log.kept().len(), log.count()), (1_000, 1_020));
    }

    #[test]
    fn json_has_the_keys_of_the_kind() {
        let mut sentence = ProblemLog::default();
        sentence.add_to_file("a.csv", "missing");
        assert_eq!(json_keys(&sentence), ["column", "detail", "file", "line"]);
        let deviating = ["column", "effect", "expected", "file", "found", "line", "line_count"];
        assert_eq!(json_keys(&deviation("a.csv", 2)), deviating);
    }

    fn json_keys(log: &ProblemLog) -> Vec<String> {
        let json = serde_json::to_value(&log.kept()[0]).unwrap();
        json.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    }

    #[test]
    fn long_and_odd_cells_are_shown_short_and_clean() {
        assert_eq!(quoted("a\u{1b}[31mb"), "`a[31mb`");
        assert_eq!(quoted(&"x".repeat(50)).chars().count(), 43);
    }
}
