//! Lines and functions in order of their cycles.

use crate::{frame::frames, samples::EFFECTIVE_MAX};
use std::collections::BTreeMap;
use tables::{LineRow, REASONS, SampleShare};

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
    /// Samples of a sampled table, whose instructions and cycles are unknown; `None` if those are
    /// counted exactly.
    pub samples: Option<RankedSamples>,
    /// Number of executed instructions.
    pub instructions: u64,
    /// Cycles by reason.
    pub cycles: [u64; REASONS],
    /// Cycles by awaited object; cycles outside of waits are in none.
    pub waits: BTreeMap<String, u64>,
}

/// Samples of a line or function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankedSamples {
    /// Number of samples.
    pub count: u64,
    /// Those in which the instruction waited.
    pub waiting: u64,
    /// Those in which the RISC had no instruction to decode.
    pub empty: u64,
    /// Samples of the RISC in the programs that have samples here.
    pub of_risc: u64,
    /// Number of independent samples that these are worth.
    pub effective: u64,
}

impl RankedSamples {
    /// Returns the share of the RISC's samples, with its 95 % interval.
    #[must_use]
    pub fn share(&self) -> Option<SampleShare> {
        SampleShare::new(self.count, self.of_risc, self.effective)
    }
}

impl Ranked {
    /// Returns the samples of a sampled table, else the cycles: the number by which lines are ranked.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.samples.map_or_else(|| self.total_cycles(), |samples| samples.count)
    }

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
    /// Cycles of all lines of these kernels, over all cores and launches; samples in a sampled table.
    pub kernel_weight: u64,
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
/// let told: Vec<_> = found.iter().map(|one| (&*one.line.risc, one.line.line, one.kernel_weight)).collect();
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
            kernel_weight: rows.iter().fold(0, |sum, row| sum.saturating_add(row.weight())),
            launches: rows.iter().map(|row| row.launches).max()?,
            cores: rows.iter().map(|row| row.cores).max()?,
            line: by_line(&rows).into_iter().next()?,
        })
    });
    let mut busiest: Vec<_> = busiest.collect();
    busiest.sort_by_key(|one| std::cmp::Reverse(one.kernel_weight));
    busiest
}

/// By chip and program: samples of the RISC, and the independent ones of the least certain row.
type SamplesByProgram = BTreeMap<(u32, u32), (u64, u64)>;

fn ranked(
    rows: &[LineRow],
    place: impl Fn(&LineRow) -> (Option<String>, Option<u32>),
) -> Vec<Ranked> {
    let mut sums: BTreeMap<_, Ranked> = BTreeMap::new();
    let mut programs: BTreeMap<_, SamplesByProgram> = BTreeMap::new();
    for row in rows {
        let function = frames(row).into_iter().find_map(|frame| frame.function);
        let function = function.unwrap_or_else(|| format!("{:#x}", row.address));
        let (file, line) = place(row);
        let key = (row.risc.clone(), row.code.clone(), function.clone(), file.clone(), line);
        if let Some(samples) = &row.samples {
            let of_program = programs.entry(key.clone()).or_default();
            let known = of_program
                .entry((row.chip_id, row.run_host_id))
                .or_insert((samples.of_risc, samples.effective));
            known.1 = known.1.min(samples.effective);
        }
        let sum = sums.entry(key).or_insert_with(|| Ranked {
            risc: row.risc.clone(),
            code: row.code.clone(),
            function,
            file,
            line,
            source_text: row.source_text.clone().filter(|_| line.is_some()),
            samples: row.samples.map(|_| RankedSamples::default()),
            instructions: 0,
            cycles: [0; REASONS],
            waits: BTreeMap::new(),
        });
        if let (Some(sum), Some(samples)) = (&mut sum.samples, &row.samples) {
            sum.count = sum.count.saturating_add(samples.count);
            sum.waiting = sum.waiting.saturating_add(samples.waiting);
            sum.empty = sum.empty.saturating_add(samples.empty);
        }
        sum.instructions = sum.instructions.saturating_add(row.instructions);
        let all = sum.cycles.iter_mut().zip(row.cycles);
        all.for_each(|(sum, cycles)| *sum = sum.saturating_add(cycles));
        if let Some(object) = &row.waits_for {
            *sum.waits.entry(object.clone()).or_default() += row.total_cycles();
        }
    }
    for (key, programs) in programs {
        let Some(samples) = sums.get_mut(&key).and_then(|sum| sum.samples.as_mut()) else {
            continue;
        };
        for (of_risc, effective) in programs.into_values() {
            samples.of_risc = samples.of_risc.saturating_add(of_risc);
            // What a sample shows has the same error in each program.
            samples.effective = samples.effective.saturating_add(effective).min(EFFECTIVE_MAX);
        }
    }
    let mut ranked: Vec<_> = sums.into_values().collect();
    ranked.sort_by_key(|one| std::cmp::Reverse(one.weight()));
    ranked
}
