//! Sums of counts over cores and launches.

use crate::code_file::CodePlace;
use std::collections::BTreeMap;
use tables::{LineRow, REASONS};

/// Counts of one instruction on one RISC of one core in one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineCounts {
    /// Number of the chip.
    pub chip_id: u32,
    /// NoC-0 coordinates of the core.
    pub core: (u32, u32),
    /// Id of the program.
    pub run_host_id: u32,
    /// Name of the op or program.
    pub op: Option<String>,
    /// Number of the launch on its chip.
    pub launch: u64,
    /// The RISC.
    pub risc: String,
    /// `kernel`, `firmware` or `unknown`.
    pub code: &'static str,
    /// ELF file of the code.
    pub elf: Option<String>,
    /// Address in the ELF file.
    pub address: u32,
    /// The instruction.
    pub instruction: u32,
    /// Functions, file and line of the address.
    pub place: CodePlace,
    /// Object that the RISC waited for.
    pub waits_for: Option<String>,
    /// Number of executions.
    pub instructions: u64,
    /// Cycles by reason.
    pub cycles: [u64; REASONS],
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    chip_id: u32,
    core: Option<(u32, u32)>,
    run_host_id: u32,
    risc: String,
    is_firmware: bool,
    elf: Option<String>,
    address: u32,
    instruction: u32,
    waits_for: Option<String>,
}

#[derive(Clone, Debug, Default)]
struct Sum {
    row: LineRow,
    launches: std::collections::BTreeSet<u64>,
    cores: BTreeMap<(u32, u32), u64>,
}

/// Adds up counts: over all launches of a program and, unless each core has its own rows, over
/// cores.
#[derive(Clone, Debug)]
pub struct Sums {
    has_cores: bool,
    sums: BTreeMap<Key, Sum>,
}

impl Sums {
    /// Creates empty sums; with `has_cores`, each core has its own rows.
    #[must_use]
    pub const fn new(has_cores: bool) -> Self {
        Self { has_cores, sums: BTreeMap::new() }
    }

    /// Adds counts.
    pub fn add(&mut self, counts: LineCounts) {
        let key = Key {
            chip_id: counts.chip_id,
            core: self.has_cores.then_some(counts.core),
            run_host_id: counts.run_host_id,
            risc: counts.risc,
            is_firmware: counts.code == "firmware",
            elf: counts.elf,
            address: counts.address,
            instruction: counts.instruction,
            waits_for: counts.waits_for,
        };
        let sum = self.sums.entry(key).or_default();
        sum.launches.insert(counts.launch);
        let total: u64 = counts.cycles.iter().sum();
        *sum.cores.entry(counts.core).or_default() += total;
        sum.row.instructions += counts.instructions;
        sum.row.cycles.iter_mut().zip(counts.cycles).for_each(|(sum, cycles)| *sum += cycles);
        if sum.row.code.is_empty() {
            let is_profiler = counts.place.is_profiler();
            sum.row.code = if is_profiler { "profiler" } else { counts.code }.to_owned();
            sum.row.op = counts.op;
            sum.row.inlined_into = counts.place.inlined_into();
            if let Some(frame) = counts.place.frames.into_iter().next() {
                (sum.row.function, sum.row.file, sum.row.line) =
                    (frame.function, frame.file, frame.line);
            }
        }
    }

    /// Returns the rows, in order of chip, program, RISC and address.
    #[must_use]
    pub fn finish(self) -> Vec<LineRow> {
        let rows = self.sums.into_iter().map(|(key, sum)| {
            let mut cycles: Vec<u64> = sum.cores.values().copied().collect();
            cycles.sort_unstable();
            let at = |index: usize| cycles.get(index).copied().unwrap_or_default();
            let last = cycles.len().saturating_sub(1);
            LineRow {
                chip_id: key.chip_id,
                core: key.core,
                cores: u32::try_from(cycles.len()).unwrap_or(u32::MAX),
                run_host_id: key.run_host_id,
                launches: sum.launches.len() as u64,
                risc: key.risc,
                elf: key.elf,
                address: key.address,
                instruction: key.instruction,
                waits_for: key.waits_for,
                core_cycles: [at(0), at(last / 2), at(last)],
                ..sum.row
            }
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;

    fn counts(core: (u32, u32), launch: u64, cycles: u64) -> LineCounts {
        let mut by_reason = [0; REASONS];
        (by_reason[0], by_reason[3]) = (1, cycles - 1);
        LineCounts {
            core,
            launch,
            risc: "BRISC".to_owned(),
            code: "kernel",
            address: 16,
            instructions: 1,
            cycles: by_reason,
            ..LineCounts::default()
        }
    }

    #[test]
    fn cores_and_launches_are_summed_or_kept_apart() {
        let all = [((1, 1), 0, 5), ((1, 2), 0, 7), ((1, 3), 0, 100), ((1, 1), 1, 6)];
        let rows = |has_cores| {
            let mut sums = Sums::new(has_cores);
            all.iter().for_each(|&(core, launch, cycles)| sums.add(counts(core, launch, cycles)));
            sums.finish()
        };
        let [row] = &rows(false)[..] else { panic!("one row") };
        assert_eq!((row.core, row.cores, row.launches, row.instructions), (None, 3, 2, 4));
        assert_eq!((row.total_cycles(), row.core_cycles), (118, [7, 11, 100]));
        assert_eq!((row.cycles[0], row.cycles[3]), (4, 114));
        let apart = rows(true);
        let totals: Vec<_> = apart.iter().map(|row| (row.core, row.total_cycles())).collect();
        assert_eq!(totals, [(Some((1, 1)), 11), (Some((1, 2)), 7), (Some((1, 3)), 100)]);
    }

    #[test]
    fn the_profilers_own_code_is_named() {
        let mut own = counts((1, 1), 0, 3);
        let file = Some("/src/kernel-profiler/src/vector.rs".to_owned());
        own.place.frames = vec![Frame { function: Some("put".to_owned()), file, line: Some(3) }];
        let mut sums = Sums::new(false);
        sums.add(own);
        assert_eq!(sums.finish()[0].code, "profiler");
    }
}
