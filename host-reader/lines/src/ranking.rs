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
///     line: Some(line), file: Some("a.cpp".into()), cycles: [cycles, 0, 0, 0, 0, 0, 0, 0, 0],
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
