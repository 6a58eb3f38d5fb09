//! Architecture of the chip on which the rows of an ops CSV were measured, and its number of cores.

use super::{
    arch::{ArchLimits, ArchTable},
    ops_csv::OpsCsv,
    titles::OpsCsvFormat,
};
use crate::problem::{Position, quoted};
use std::collections::BTreeSet;

/// Clock in GHz above which the chip is a Blackhole. Blackhole runs at 1.35 GHz, Wormhole at 1.0
/// GHz.
const BLACKHOLE_CLOCK_GHZ: f64 = 1.2;

/// Assumptions of a report about its chip.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct ChipFacts {
    /// Limits of the architecture. `None` if the architecture is unknown; then no row contains a
    /// percentage of a limit.
    pub arch: Option<ArchLimits>,
    /// Number of cores available to an op if the op's row does not contain the number.
    pub worker_core_count: Option<u64>,
    /// Name of the architecture and how it was guessed, such as "wormhole, since the file does not
    /// tell"; `None` if the files or the user name it, or if the files contradict each guess.
    pub guess: Option<String>,
    /// Sentence about the clock of the files, if it is not that of the architecture.
    pub clock: Option<String>,
    /// Why no architecture could be guessed, such as "88 cores are more than a wormhole has".
    pub contradiction: Option<String>,
}

/// Largest number of Tensix cores on a chip of each architecture that is guessed.
///
/// # Compatibility
/// Wormhole has 8 x 10 Tensix tiles, Blackhole 14 x 10; products use fewer of them.
const LARGEST_GRIDS: [(&str, u64); 2] = [("wormhole", 80), ("blackhole", 140)];

/// Error for an unknown architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no architecture `{name}`; choose from {known}")]
pub struct UnknownArch {
    /// Name that was requested.
    pub name: String,
    /// Names of the architectures in the table, as text.
    pub known: String,
}

/// Determines the architecture from the first known source of three: the user's option, the name in
/// the files, and the chip's clock in the files.
///
/// # Compatibility
/// tt-perf-report 1.4.1 treats every file without an architecture as Wormhole. If
/// `is_upstream_exact` is true, this function does the same.
pub(super) fn chip_facts(
    files: &mut [OpsCsv],
    asked: Option<&str>,
    table: &ArchTable,
    is_upstream_exact: bool,
    notes: &mut Vec<String>,
) -> Result<ChipFacts, UnknownArch> {
    let named = name_of_files(files, notes);
    let (mut guess, mut contradiction) = (None, None);
    let arch = match (asked, named) {
        (Some(name), _) => Some(find(name, table)?),
        (None, Some(name)) => {
            let found = table.find(&name).cloned();
            if found.is_none() {
                note_unknown(files, &name, table);
            }
            notes.push(format!("Architecture: {name}, as the file says"));
            found
        }
        (None, None) => match guess_of(files, is_upstream_exact) {
            Ok((name, why)) => {
                let text = format!("{name}, {why}");
                notes.push(format!("Architecture: {text}; choose with --arch"));
                guess = Some(text);
                Some(find(name, table)?)
            }
            Err(why) => {
                notes.push(format!("Architecture: unknown, since {why}; choose with --arch"));
                contradiction = Some(why);
                None
            }
        },
    };
    let rows = files.iter().flat_map(|file| &file.rows);
    let counts = rows.clone().filter_map(|row| row.available_cores);
    // A chip of the table may be of another size than the one that was measured.
    let used = rows.filter_map(|row| row.core_count).max();
    let is_possible = |count: &u64| is_upstream_exact || used.is_none_or(|used| used <= *count);
    let table_core_count = arch.as_ref().map(|arch| arch.worker_cores).filter(is_possible);
    let worker_core_count = counts.max().or(table_core_count);
    let (mut arch, mut clock) = (arch, None);
    if let Some(limits) = arch.as_mut().filter(|_| !is_upstream_exact) {
        clock = measured_clock(files, limits, asked.is_some());
        notes.extend(clock.clone());
    }
    Ok(ChipFacts { worker_core_count, arch, guess, clock, contradiction })
}

/// Part by which a clock may differ from that of the architecture: durations are rounded.
const CLOCK_ROUNDING: f64 = 0.02;

/// Length in ns from which on an op's cycles and duration give its clock.
const CLOCK_LEAST_NS: f64 = 1000.0;

/// Compares the clock of the ops with that of the architecture. If it is another one, sets the speeds of the
/// cores to those at this clock, unless the user has named the architecture, and returns a sentence about it.
fn measured_clock(files: &[OpsCsv], arch: &mut ArchLimits, is_named: bool) -> Option<String> {
    let nominal_ghz = arch.clock_ghz?;
    let rows = files.iter().flat_map(|file| &file.rows);
    let is_long = |ns: Option<f64>| ns.is_some_and(|ns| ns >= CLOCK_LEAST_NS);
    let long =
        rows.filter(|row| is_long(row.firmware_duration_ns) || is_long(row.kernel_duration_ns));
    let mut clocks: Vec<f64> = long.filter_map(|row| row.clock_ghz).collect();
    clocks.sort_by(f64::total_cmp);
    let last = clocks.len().saturating_sub(1);
    let at = |tenths: usize| clocks.get(last.saturating_mul(tenths) / 10).copied();
    let (least, middle, most) = (at(1)?, at(5)?, at(9)?);
    let is_near = |one: f64, other: f64| (one / other - 1.0).abs() <= CLOCK_ROUNDING;
    if is_near(least, nominal_ghz) && is_near(middle, nominal_ghz) && is_near(most, nominal_ghz) {
        return None;
    }
    let nominal_mhz = nominal_ghz * 1e3;
    if !is_near(least, middle) || !is_near(most, middle) {
        return Some(format!(
            "Clock: {:.0} to {:.0} MHz by the cycles and durations of the ops, where {} has {nominal_mhz:.0}; \
             peak FLOPs are those at {nominal_mhz:.0} MHz",
            least * 1e3,
            most * 1e3,
            arch.name
        ));
    }
    if is_named {
        return Some(format!(
            "Clock: {:.0} MHz by the cycles and durations of the ops, where {} has {nominal_mhz:.0}; peak FLOPs \
             are those of the named architecture",
            middle * 1e3,
            arch.name
        ));
    }
    let scale = middle / nominal_ghz;
    arch.tflops_per_core = arch.tflops_per_core.map(|speed| speed * scale);
    arch.clock_ghz = Some(middle);
    Some(format!(
        "Clock: {:.0} MHz by the cycles and durations of the ops, where {} has {nominal_mhz:.0}; peak FLOPs \
         are those at this clock",
        middle * 1e3,
        arch.name
    ))
}

fn find(name: &str, table: &ArchTable) -> Result<ArchLimits, UnknownArch> {
    table
        .find(name)
        .cloned()
        .ok_or_else(|| UnknownArch { name: name.to_owned(), known: table.names().join(", ") })
}

/// Returns the first architecture name in the files. Adds a note for each later name that differs.
fn name_of_files(files: &[OpsCsv], notes: &mut Vec<String>) -> Option<String> {
    let rows = files
        .iter()
        .filter(|file| matches!(file.format, OpsCsvFormat::Device | OpsCsvFormat::V2_1))
        .flat_map(|file| &file.rows)
        .filter_map(|row| row.arch.as_deref());
    let names: Vec<&str> = rows.collect();
    let first = (*names.first()?).to_owned();
    let others: BTreeSet<&str> = names.into_iter().filter(|&name| name != first).collect();
    if !others.is_empty() {
        let others: Vec<_> = others.into_iter().collect();
        notes.push(format!(
            "Warning: rows of {} are scored as {first}; choose with --arch",
            others.join(", ")
        ));
    }
    Some(first)
}

fn note_unknown(files: &mut [OpsCsv], name: &str, table: &ArchTable) {
    let expected = format!("one of {}", table.names().join(", "));
    for file in files {
        for row in file.rows.iter().filter(|row| row.arch.as_deref() == Some(name)) {
            let place = Position { file: &file.file, line: row.line, column: "DEVICE ARCH" };
            let effect = "ops have no percentages; see --arch and --arch-table";
            file.problems.add_deviation(place, &expected, &quoted(name), effect);
        }
    }
}

/// Guesses the architecture from the chip's clock, and says how. If no row contains the clock,
/// returns the first architecture, from Wormhole on, that has as many cores as the ops use.
///
/// # Errors
/// Returns why, if the ops use more cores than the chip of this clock can have.
fn guess_of(files: &[OpsCsv], is_upstream_exact: bool) -> Result<(&'static str, String), String> {
    let rows = files.iter().flat_map(|file| &file.rows);
    let counts = rows.clone().flat_map(|row| [row.core_count, row.available_cores]).flatten();
    let most = counts.max().filter(|_| !is_upstream_exact);
    let is_too_small = |name: &str| {
        let grid = LARGEST_GRIDS.iter().find(|(of, _)| *of == name);
        grid.zip(most).is_some_and(|((_, grid), most)| *grid < most)
    };
    let mut clocks: Vec<f64> = rows.filter_map(|row| row.clock_ghz).collect();
    clocks.sort_by(f64::total_cmp);
    let median = clocks.get(clocks.len() / 2).filter(|_| !is_upstream_exact);
    let name = match median {
        Some(&clock) if clock > BLACKHOLE_CLOCK_GHZ => "blackhole",
        _ => "wormhole",
    };
    let why = match median {
        Some(clock) => format!("by its clock of {clock:.2} GHz"),
        None => "since the file does not tell".to_owned(),
    };
    let Some(most) = most.filter(|_| is_too_small(name)) else { return Ok((name, why)) };
    let too_many = format!("{most} cores are more than a {name} has");
    match median {
        Some(clock) => Err(format!("{too_many}, which its clock of {clock:.2} GHz suggests")),
        None => {
            let others = LARGEST_GRIDS.iter().map(|(name, _)| *name);
            let fits = others.into_iter().find(|name| !is_too_small(name));
            fits.map(|name| (name, format!("since {too_many}"))).ok_or(too_many)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(text: &str, asked: Option<&str>) -> (Option<String>, Vec<String>, Vec<OpsCsv>) {
        let mut files = vec![super::super::read_ops_csv(text.as_bytes(), "a.csv").unwrap()];
        let mut notes = Vec::new();
        let table = ArchTable::default();
        let facts = chip_facts(&mut files, asked, &table, false, &mut notes).unwrap();
        (facts.arch.map(|arch| arch.name), notes, files)
    }

    #[test]
    fn a_clock_tells_the_architecture_where_no_name_does() {
        assert_eq!(facts(&one_op_log(1350), None).0.as_deref(), Some("blackhole"));
        assert_eq!(facts(&one_op_log(1000), None).0.as_deref(), Some("wormhole"));
        assert_eq!(facts(&one_op_log(1350), Some("p100")).0.as_deref(), Some("blackhole_p100"));
    }

    fn one_op_log(cycles: u32) -> String {
        format!(
            "OP CODE,DEVICE FW START CYCLE,DEVICE FW END CYCLE,DEVICE FW DURATION [ns]\n\
                     A,1000,{},1000\n",
            1000 + cycles
        )
    }

    #[test]
    fn peaks_are_those_of_the_clock_that_the_file_has() {
        let log = |clocks: &[f64]| {
            let mut text = "OP CODE,DEVICE ARCH,DEVICE FW START CYCLE,DEVICE FW END CYCLE,DEVICE FW DURATION [ns]\n"
                .to_owned();
            for clock in clocks {
                text += &format!("A,blackhole,0,{},2000\n", clock * 2000.0);
            }
            text
        };
        let told = |clocks: &[f64]| {
            let mut files =
                vec![super::super::read_ops_csv(log(clocks).as_bytes(), "a.csv").unwrap()];
            let mut notes = Vec::new();
            let table = ArchTable::default();
            let facts = chip_facts(&mut files, None, &table, false, &mut notes).unwrap();
            assert_eq!(
                facts.clock.iter().collect::<Vec<_>>(),
                notes.iter().skip(1).collect::<Vec<_>>()
            );
            (facts.arch.unwrap().tflops_per_core[3], facts.clock)
        };
        // Pull request 20202 and tt-firmware issue 26: 4096 operations a cycle.
        let (lofi, clock) = told(&[0.8, 0.8, 0.801]);
        assert!((lofi - 4096.0 * 0.8 / 1000.0).abs() < 1e-9, "{lofi}");
        let expected = "Clock: 800 MHz by the cycles and durations of the ops, where blackhole has 1350; peak \
                        FLOPs are those at this clock";
        assert_eq!(clock.as_deref(), Some(expected));
        assert_eq!(told(&[1.35, 1.349, 1.351]), (4096.0 * 1.35 / 1000.0, None));
        let mixed: Vec<f64> = [[0.8; 5], [1.35; 5]].concat();
        let (lofi, clock) = told(&mixed);
        assert_eq!(lofi, 4096.0 * 1.35 / 1000.0);
        assert!(clock.unwrap().starts_with("Clock: 800 to 1350 MHz"));
    }

    #[test]
    fn an_unknown_name_costs_the_percentages_and_is_named_once() {
        let text = "OP CODE,DEVICE ARCH\nA,quasar\nB,quasar\n";
        let (arch, _, files) = facts(text, None);
        assert_eq!(arch, None);
        let mut problems = files[0].problems.kept().iter();
        let problem = problems.find(|problem| problem.column.as_deref() == Some("DEVICE ARCH"));
        let text = problem.unwrap().to_string();
        assert!(text.contains("line 2, column DEVICE ARCH"), "{text}");
        assert!(text.contains("found `quasar`; "), "{text}");
        assert!(text.ends_with("(and one more line like it)"), "{text}");
    }

    #[test]
    fn an_unknown_name_that_was_asked_for_is_refused() {
        let error = find("quasar", &ArchTable::default()).unwrap_err().to_string();
        assert!(error.contains("choose from wormhole, blackhole"), "{error}");
    }
}
