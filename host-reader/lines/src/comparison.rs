//! Comparison of the lines of two recordings, for example of two builds of a kernel.

use crate::{
    code_file::file_name,
    ranking::{Ranked, by_line},
};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::{BTreeMap, BTreeSet};
use tables::LineRow;

/// Cycles of the lines of two recordings, without those of firmware.
#[derive(Clone, Debug, PartialEq)]
pub struct LineDiff {
    /// True if cycles are means of the launches of each op, because A and B have not launched the
    /// same ops as often; else they are sums over all launches.
    pub is_per_launch: bool,
    /// Cycles of all lines of A and of B.
    pub total_cycles: [f64; 2],
    /// Lines, largest change first.
    pub changes: Vec<LineChange>,
}

/// A line of A, of B, or of both.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChange {
    /// The RISC.
    pub risc: String,
    /// `kernel`, `profiler` or `unknown`.
    pub code: String,
    /// Function of the line in B; in A, if B has no such line.
    pub function: String,
    /// The line in A.
    pub a: Option<LineSide>,
    /// The line in B.
    pub b: Option<LineSide>,
}

/// A line in one of two recordings.
#[derive(Clone, Debug, PartialEq)]
pub struct LineSide {
    /// Source file, if known.
    pub file: Option<String>,
    /// Line, if known.
    pub line: Option<u32>,
    /// Text of the line, if known.
    pub source_text: Option<String>,
    /// Cycles of all cores.
    pub cycles: f64,
}

impl LineChange {
    /// Returns the cycles of B minus those of A; a line that one side lacks has taken none there.
    #[must_use]
    pub fn change_cycles(&self) -> f64 {
        let cycles = |side: &Option<LineSide>| side.as_ref().map_or(0.0, |side| side.cycles);
        cycles(&self.b) - cycles(&self.a)
    }
}

impl LineDiff {
    /// Compares the rows of two tables.
    ///
    /// Functions are paired by RISC, name and the name of their file, then by what is left of their
    /// names without arguments and template arguments, if this is one function on each side. Lines of
    /// paired functions are aligned by their text, so a line that has moved keeps its partner;
    /// if the text of one of them is unknown, by their numbers.
    ///
    /// ```
    /// use tables::LineRow;
    /// let row = |line, text: &str, cycles| LineRow {
    ///     risc: "BRISC".into(), code: "kernel".into(), function: Some("main".into()), line: Some(line),
    ///     file: Some("a.cpp".into()), source_text: Some(text.into()), op: Some("add".into()), launches: 1,
    ///     instructions: cycles, cycles: [cycles, 0, 0, 0, 0, 0, 0, 0, 0, 0], ..LineRow::default()
    /// };
    /// let (a, b) = ([row(4, "x /= y;", 90), row(5, "wait();", 10)], [row(6, "wait();", 30)]);
    /// let diff = lines::LineDiff::new(&a, &b);
    /// let changes = diff.changes.iter().map(|change| {
    ///     let line = |side: &Option<lines::LineSide>| side.as_ref().and_then(|side| side.line);
    ///     (line(&change.a), line(&change.b), change.change_cycles())
    /// });
    /// assert_eq!(changes.collect::<Vec<_>>(), [(Some(4), None, -90.0), (Some(5), Some(6), 20.0)]);
    /// ```
    #[must_use]
    pub fn new(a: &[LineRow], b: &[LineRow]) -> Self {
        let [a_rows, b_rows] = [a, b].map(|rows| {
            rows.iter().filter(|row| row.code != "firmware").cloned().collect::<Vec<_>>()
        });
        let [a_launches, b_launches] = [&a_rows, &b_rows].map(|rows| launches_of(rows));
        let is_per_launch = a_launches != b_launches;
        let [mut a, mut b] =
            [(a_rows, a_launches), (b_rows, b_launches)].map(|(rows, launches)| {
                let divisor = |op| if is_per_launch { launches[&op] as f64 } else { 1.0 };
                functions_of(rows, divisor)
            });
        let total_cycles =
            [&a, &b].map(|functions| functions.values().flatten().map(|line| line.cycles).sum());
        let mut changes = Vec::new();
        for (key, partner) in paired(&a, &b) {
            let lines = [a.remove(&key), b.remove(&partner)].map(Option::unwrap_or_default);
            align(&partner, lines, &mut changes);
        }
        for (key, lines) in a {
            changes.extend(lines.into_iter().map(|line| key.change(Some(line), None)));
        }
        for (key, lines) in b {
            changes.extend(lines.into_iter().map(|line| key.change(None, Some(line))));
        }
        let size = |change: &LineChange| change.change_cycles().abs();
        changes.sort_by(|a, b| size(b).total_cmp(&size(a)));
        Self { is_per_launch, total_cycles, changes }
    }
}

/// Chip, RISC and name of an op, whose launches are counted together.
type OpKey = (u32, String, Option<String>);

fn op_of(row: &LineRow) -> OpKey {
    (row.chip_id, row.risc.clone(), row.op.clone())
}

/// Returns the number of launches of each op. Several programs can have the name of one op.
fn launches_of(rows: &[LineRow]) -> BTreeMap<OpKey, u64> {
    let mut programs: BTreeMap<(OpKey, u32), u64> = BTreeMap::new();
    for row in rows {
        let known = programs.entry((op_of(row), row.run_host_id)).or_default();
        *known = (*known).max(row.launches);
    }
    let mut launches = BTreeMap::new();
    for ((op, _), count) in programs {
        *launches.entry(op).or_default() += count.max(1);
    }
    launches
}

/// Function of a kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FunctionKey {
    risc: String,
    code: String,
    function: String,
    file_name: Option<String>,
}

impl FunctionKey {
    /// Returns what a function is called without arguments and template arguments.
    fn short(&self) -> (&str, &str, &str) {
        let name = self.function.split(['(', '<']).next().unwrap_or_default();
        (&self.risc, &self.code, name)
    }

    fn change(&self, a: Option<LineSide>, b: Option<LineSide>) -> LineChange {
        let Self { risc, code, function, .. } = self.clone();
        LineChange { risc, code, function, a, b }
    }
}

/// Functions with their lines, in order of their numbers.
type Functions = BTreeMap<FunctionKey, Vec<LineSide>>;

/// Number and file of a line.
type LineKey = (Option<u32>, Option<String>);

/// Sums rows by line, with the cycles of each op divided by a number of its own.
fn functions_of(rows: Vec<LineRow>, divisor: impl Fn(OpKey) -> f64) -> Functions {
    let mut ops: BTreeMap<OpKey, Vec<LineRow>> = BTreeMap::new();
    for row in rows {
        ops.entry(op_of(&row)).or_default().push(row);
    }
    let mut functions: BTreeMap<FunctionKey, BTreeMap<LineKey, LineSide>> = BTreeMap::new();
    for (op, rows) in ops {
        let divisor = divisor(op);
        for line in by_line(&rows) {
            let cycles = line.total_cycles() as f64 / divisor;
            let Ranked { risc, code, function, file, line, source_text, .. } = line;
            let file_name = file.as_deref().map(|file| file_name(file).to_owned());
            let key = FunctionKey { risc, code, function, file_name };
            let lines = functions.entry(key).or_default();
            let side = lines.entry((line, file.clone())).or_insert(LineSide {
                file,
                line,
                source_text,
                cycles: 0.0,
            });
            side.cycles += cycles;
        }
    }
    functions.into_iter().map(|(key, lines)| (key, lines.into_values().collect())).collect()
}

/// Returns the functions of A with their partners in B.
fn paired(a: &Functions, b: &Functions) -> Vec<(FunctionKey, FunctionKey)> {
    let mut pairs: Vec<_> =
        a.keys().filter(|key| b.contains_key(key)).map(|key| (key.clone(), key.clone())).collect();
    let [a, b] = [(a, b), (b, a)].map(|(own, other)| {
        let mut alone: BTreeMap<_, Vec<&FunctionKey>> = BTreeMap::new();
        for key in own.keys().filter(|key| !other.contains_key(key)) {
            alone.entry(key.short()).or_default().push(key);
        }
        alone.retain(|_, keys| keys.len() == 1);
        alone
    });
    let short = a
        .into_iter()
        .filter_map(|(short, keys)| keys.first().copied().zip(b.get(&short)?.first().copied()));
    pairs.extend(short.map(|(a, b)| (a.clone(), b.clone())));
    pairs
}

/// Pairs the lines of a function.
fn align(key: &FunctionKey, [a, b]: [Vec<LineSide>; 2], changes: &mut Vec<LineChange>) {
    let has_text = a.iter().chain(&b).all(|line| line.source_text.is_some());
    let token = |line: &LineSide| match &line.source_text {
        Some(text) if has_text => text.split_whitespace().collect::<Vec<_>>().join(" "),
        _ => line.line.map_or_else(String::new, |line| line.to_string()),
    };
    let [tokens_a, tokens_b] = [&a, &b].map(|lines| lines.iter().map(token).collect::<Vec<_>>());
    let mut in_a = BTreeSet::new();
    let mut partners = BTreeMap::new();
    for part in capture_diff_slices(Algorithm::Myers, &tokens_a, &tokens_b) {
        let (from, to, length) = match part {
            DiffOp::Equal { old_index, new_index, len } => (old_index, new_index, len),
            // A single line that was written anew.
            DiffOp::Replace { old_index, old_len: 1, new_index, new_len: 1 } => {
                (old_index, new_index, 1)
            }
            _ => continue,
        };
        in_a.extend(from..from + length);
        partners.extend((0..length).map(|at| (to + at, from + at)));
    }
    let mut a: Vec<_> = a.into_iter().map(Some).collect();
    for (at, line) in b.into_iter().enumerate() {
        let partner = partners.get(&at).and_then(|&partner| a[partner].take());
        changes.push(key.change(partner, Some(line)));
    }
    changes.extend(a.into_iter().flatten().map(|line| key.change(Some(line), None)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use tables::REASONS;

    struct Line<'a> {
        op: &'a str,
        launches: u64,
        function: &'a str,
        file: &'a str,
        line: u32,
        text: Option<&'a str>,
        cycles: u64,
    }

    const LINE: Line<'_> = Line {
        op: "add",
        launches: 1,
        function: "main",
        file: "/x/a.cpp",
        line: 1,
        text: None,
        cycles: 0,
    };

    fn row(line: Line<'_>) -> LineRow {
        let mut cycles = [0; REASONS];
        cycles[0] = line.cycles;
        LineRow {
            risc: "BRISC".to_owned(),
            code: "kernel".to_owned(),
            op: Some(line.op.to_owned()),
            launches: line.launches,
            function: Some(line.function.to_owned()),
            file: Some(line.file.to_owned()),
            line: Some(line.line),
            source_text: line.text.map(str::to_owned),
            instructions: line.cycles,
            cycles,
            ..LineRow::default()
        }
    }

    fn found(diff: &LineDiff) -> Vec<(Option<u32>, Option<u32>, f64)> {
        let line = |side: &Option<LineSide>| side.as_ref().and_then(|side| side.line);
        let changes = diff.changes.iter();
        changes.map(|one| (line(&one.a), line(&one.b), one.change_cycles())).collect()
    }

    /// A line put in at the top moves all others; one line is written anew, one is taken away.
    #[test]
    fn lines_keep_their_partner_when_they_move() {
        let text = |line, text, cycles| row(Line { line, text: Some(text), cycles, ..LINE });
        let a =
            [text(3, "a();", 10), text(4, "  b();", 20), text(5, "c();", 5), text(7, "d();", 1)];
        let b =
            [text(3, "new();", 7), text(4, "a();", 12), text(5, "b();", 20), text(6, "e();", 9)];
        let b = [b.as_slice(), &[text(8, "d();", 1)]].concat();
        let diff = LineDiff::new(&a, &b);
        assert_eq!((diff.is_per_launch, diff.total_cycles), (false, [36.0, 49.0]));
        let expected = [
            (None, Some(3), 7.0),
            (Some(5), Some(6), 4.0),
            (Some(3), Some(4), 2.0),
            (Some(4), Some(5), 0.0),
            (Some(7), Some(8), 0.0),
        ];
        assert_eq!(found(&diff), expected);
    }

    #[test]
    fn lines_without_text_are_paired_by_number() {
        let line = |line, text, cycles| row(Line { line, text, cycles, ..LINE });
        let a = [line(3, None, 10), line(4, Some("b();"), 20)];
        let b = [line(3, Some("a();"), 15), line(5, Some("b();"), 20)];
        let expected = [(Some(3), Some(3), 5.0), (Some(4), Some(5), 0.0)];
        // 4 and 5 are single lines between the same neighbours.
        assert_eq!(found(&LineDiff::new(&a, &b)), expected);
    }

    #[test]
    fn renamed_functions_have_a_partner_if_only_one_can_be_meant() {
        let line = |function, file, cycles| row(Line { function, file, cycles, ..LINE });
        let a = [line("f<8>(int)", "/x/a.cpp", 8), line("g(int)", "/x/a.cpp", 3)];
        let b = [
            line("f<16>(int)", "/y/a.cpp", 9),
            line("g<1>()", "/y/a.cpp", 1),
            line("g<2>()", "/y/a.cpp", 2),
        ];
        let expected = [
            (Some(1), None, -3.0),
            (None, Some(1), 2.0),
            (Some(1), Some(1), 1.0),
            (None, Some(1), 1.0),
        ];
        assert_eq!(found(&LineDiff::new(&a, &b)), expected);
    }

    #[test]
    fn other_numbers_of_launches_are_compared_by_launch() {
        let line = |op, launches, cycles| row(Line { op, launches, cycles, ..LINE });
        let a = [line("add", 2, 20), line("mul", 1, 7)];
        let b = [line("add", 3, 33), line("mul", 1, 7)];
        let diff = LineDiff::new(&a, &b);
        assert_eq!((diff.is_per_launch, diff.total_cycles), (true, [17.0, 18.0]));
        assert_eq!(found(&diff), [(Some(1), Some(1), 1.0)]);
    }

    #[test]
    fn firmware_is_not_compared() {
        let mut firmware = row(Line { cycles: 9, ..LINE });
        firmware.code = "firmware".to_owned();
        let diff = LineDiff::new(&[firmware], &[]);
        assert_eq!((diff.total_cycles, diff.changes.len()), ([0.0, 0.0], 0));
    }
}
