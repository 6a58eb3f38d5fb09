//! Lines and functions in order of their cycles.

use crate::frame::frames;
use std::collections::BTreeMap;
use tables::{LineRow, REASONS};

/// Sum of rows with the same place: a line of source, or a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The RISC.
    pub risc: String,
    /// What the code belongs to: `kernel`, `firmware`, `profiler` or `unknown`.
    pub code: String,
    /// Function; its file, or the address where no function is known.
    pub function: String,
    /// Source file, if known.
    pub file: Option<String>,
    /// Line, if known; `None` for functions.
    pub line: Option<u32>,
    /// Text of the line, if known; `None` for functions.
    pub source_text: Option<String>,
    /// Number of executed instructions.
    pub instructions: u64,
    /// Cycles by reason.
    pub cycles: [u64; REASONS],
    /// Cycles by awaited object; cycles outside of waits are in none.
    pub waits: BTreeMap<String, u64>,
}

impl Ranked {
    /// Returns the cycles of all reasons.
    #[must_use]
    pub fn total_cycles(&self) -> u64 {
        self.cycles.iter().sum()
    }

    /// Returns the object that took the most cycles, with these cycles; `None` if it took less than
    /// half of all.
    #[must_use]
    pub fn main_wait(&self) -> Option<(&str, u64)> {
        let most = self.waits.iter().max_by_key(|(_, cycles)| **cycles)?;
        (most.1.saturating_mul(2) >= self.total_cycles()).then_some((most.0, *most.1))
    }
}

/// Sums rows by source line; lines with the most cycles come first.
///
/// ```
/// use tables::LineRow;
/// let row = |line, cycles| LineRow {
///     line: Some(line), file: Some("a.cpp".into()), cycles: [cycles, 0, 0, 0, 0, 0, 0, 0, 0, 0],
///     ..LineRow::default()
/// };
/// let ranked = lines::by_line(&[row(1, 5), row(2, 9), row(1, 1)]);
/// let found: Vec<_> = ranked.iter().map(|line| (line.line, line.total_cycles())).collect();
/// assert_eq!(found, [(Some(2), 9), (Some(1), 6)]);
/// ```
#[must_use]
pub fn by_line(rows: &[LineRow]) -> Vec<Ranked> {
    ranked(rows, |row| (row.file.clone(), row.line))
}

/// Sums rows by function, not counting functions that it calls; functions with the most cycles come
/// first.
#[must_use]
pub fn by_function(rows: &[LineRow]) -> Vec<Ranked> {
    ranked(rows, |row| (row.file.clone(), None))
}

/// Line that takes most of the cycles that one RISC spends in the kernels of one op.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusiestLine {
    /// Name of the op or program; `program` and its number if it has no name.
    pub op: String,
    /// Cycles of all lines of these kernels, over all cores and launches.
    pub kernel_cycles: u64,
    /// Maximum number of launches that a row counts.
    pub launches: u64,
    /// Maximum number of cores that a row counts; 1 if each core has rows of its own.
    pub cores: u32,
    /// The line.
    pub line: Ranked,
}

/// Returns the busiest line of each op and RISC, without firmware; kernels with the most cycles come
/// first.
///
/// ```
/// use tables::LineRow;
/// let row = |risc: &str, line, cycles| LineRow {
///     risc: risc.into(), line: Some(line), file: Some("a.cpp".into()), code: "kernel".into(),
///     op: Some("add".into()), cycles: [cycles, 0, 0, 0, 0, 0, 0, 0, 0, 0], ..LineRow::default()
/// };
/// let rows = [row("BRISC", 1, 5), row("NCRISC", 1, 4), row("NCRISC", 2, 5)];
/// let found = lines::busiest_lines(&rows);
/// let told: Vec<_> = found.iter().map(|one| (&*one.line.risc, one.line.line, one.kernel_cycles)).collect();
/// assert_eq!(told, [("NCRISC", Some(2), 9), ("BRISC", Some(1), 5)]);
/// ```
#[must_use]
pub fn busiest_lines(rows: &[LineRow]) -> Vec<BusiestLine> {
    let mut kernels: BTreeMap<(String, &str), Vec<LineRow>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.code != "firmware") {
        let op = row.op.clone().unwrap_or_else(|| format!("program {}", row.program()));
        kernels.entry((op, &row.risc)).or_default().push(row.clone());
    }
    let busiest = kernels.into_iter().filter_map(|((op, _), rows)| {
        Some(BusiestLine {
            op,
            kernel_cycles: rows.iter().fold(0, |sum, row| sum.saturating_add(row.total_cycles())),
            launches: rows.iter().map(|row| row.launches).max()?,
            cores: rows.iter().map(|row| row.cores).max()?,
            line: by_line(&rows).into_iter().next()?,
        })
    });
    let mut busiest: Vec<_> = busiest.collect();
    busiest.sort_by_key(|one| std::cmp::Reverse(one.kernel_cycles));
    busiest
}

fn ranked(
    rows: &[LineRow],
    place: impl Fn(&LineRow) -> (Option<String>, Option<u32>),
) -> Vec<Ranked> {
    let mut sums: BTreeMap<_, Ranked> = BTreeMap::new();
    for row in rows {
        let function = frames(row).into_iter().find_map(|frame| frame.function);
        let function = function.unwrap_or_else(|| format!("{:#x}", row.address));
        let (file, line) = place(row);
        let key = (row.risc.clone(), row.code.clone(), function.clone(), file.clone(), line);
        let sum = sums.entry(key).or_insert_with(|| Ranked {
            risc: row.risc.clone(),
            code: row.code.clone(),
            function,
            file,
            line,
            source_text: row.source_text.clone().filter(|_| line.is_some()),
            instructions: 0,
            cycles: [0; REASONS],
            waits: BTreeMap::new(),
        });
        sum.instructions = sum.instructions.saturating_add(row.instructions);
        let all = sum.cycles.iter_mut().zip(row.cycles);
        all.for_each(|(sum, cycles)| *sum = sum.saturating_add(cycles));
        if let Some(object) = &row.waits_for {
            *sum.waits.entry(object.clone()).or_default() += row.total_cycles();
        }
    }
    let mut ranked: Vec<_> = sums.into_values().collect();
    ranked.sort_by_key(|one| std::cmp::Reverse(one.total_cycles()));
    ranked
}
