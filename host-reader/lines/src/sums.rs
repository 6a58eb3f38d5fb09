//! Sums of counts over cores and launches.

use crate::code_file::CodePlace;
use std::collections::{BTreeMap, BTreeSet};
use tables::{LineRow, REASONS};

/// What counts belong to: one RISC of one core, in launches of one program.
#[derive(Clone, Debug)]
pub struct CountOwner<'a> {
    /// Number of the chip.
    pub chip_id: u32,
    /// NoC-0 coordinates of the core.
    pub core: (u32, u32),
    /// Id of the program, with the chip encoded in it.
    pub run_host_id: u32,
    /// Name of the op or program.
    pub op: Option<&'a str>,
    /// The RISC.
    pub risc: &'static str,
    /// Numbers of the launches on their chip.
    pub launches: &'a [u64],
}

/// Counts of one instruction, for one awaited object or outside of waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionCount<W> {
    /// Address in the ELF file.
    pub address: u32,
    /// The instruction.
    pub instruction: u32,
    /// Object that the RISC waited for.
    pub waits_for: Option<W>,
    /// Number of executions.
    pub instructions: u64,
    /// Cycles by reason.
    pub cycles: [u64; REASONS],
}

/// What is known about the code at an address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodeFacts {
    /// `kernel`, `firmware` or `unknown`.
    pub code: &'static str,
    /// ELF file of the code.
    pub elf: Option<String>,
    /// Functions, file and line of the address.
    pub place: CodePlace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct GroupKey<C> {
    chip_id: u32,
    core: Option<(u32, u32)>,
    run_host_id: u32,
    risc: &'static str,
    code: C,
}

/// Counts of one RISC in the code of one file.
#[derive(Clone, Debug)]
struct Group<W> {
    op: Option<String>,
    launches: BTreeSet<u64>,
    cores: Vec<(u32, u32)>,
    /// Sums in order of address.
    sums: Vec<Sum<W>>,
}

#[derive(Clone, Debug)]
struct Sum<W> {
    count: InstructionCount<W>,
    /// Cycles by index of the core in the group; the last cores may be missing.
    core_cycles: Vec<u64>,
}

/// Adds up counts: over all launches of a program and, unless each core has its own rows, over
/// cores.
///
/// `C` identifies a file with code, and `W` an object that RISCs wait for.
///
/// ```
/// use lines::{CodeFacts, CountOwner, InstructionCount, Sums};
/// let mut sums = Sums::new(false);
/// for (core, cycles) in [((1, 1), 5), ((2, 1), 9)] {
///     let risc = "BRISC";
///     let owner = CountOwner { chip_id: 0, core, run_host_id: 0, op: None, risc, launches: &[0] };
///     let cycles = [1, cycles - 1, 0, 0, 0, 0, 0, 0, 0, 0];
///     let waits_for = None::<&str>;
///     let count = InstructionCount { address: 8, instruction: 0x13, waits_for, instructions: 1, cycles };
///     sums.add(&owner, 0, [count]);
/// }
/// let rows = sums.finish(|_, _| CodeFacts { code: "kernel", ..Default::default() });
/// assert_eq!((rows[0].total_cycles(), rows[0].core_cycles), (14, [5, 5, 9]));
/// ```
#[derive(Clone, Debug)]
pub struct Sums<C, W> {
    has_cores: bool,
    groups: BTreeMap<GroupKey<C>, Group<W>>,
}

impl<C: Copy + Ord, W: PartialEq + ToString> Sums<C, W> {
    /// Creates empty sums; with `has_cores`, each core has its own rows.
    #[must_use]
    pub const fn new(has_cores: bool) -> Self {
        Self { has_cores, groups: BTreeMap::new() }
    }

    /// Adds counts of instructions of one file, in order of address.
    pub fn add(
        &mut self,
        owner: &CountOwner<'_>,
        code: C,
        counts: impl IntoIterator<Item = InstructionCount<W>>,
    ) {
        let mut counts = counts.into_iter().peekable();
        if counts.peek().is_none() {
            return;
        }
        let &CountOwner { chip_id, core, run_host_id, op, risc, launches } = owner;
        let own_core = self.has_cores.then_some(core);
        let key = GroupKey { chip_id, core: own_core, run_host_id, risc, code };
        let group = self.groups.entry(key).or_insert_with(|| Group {
            op: op.map(str::to_owned),
            launches: BTreeSet::new(),
            cores: Vec::new(),
            sums: Vec::new(),
        });
        group.launches.extend(launches);
        let core = match group.cores.iter().position(|&known| known == core) {
            Some(index) => index,
            None => {
                group.cores.push(core);
                group.cores.len() - 1
            }
        };
        group.add(core, counts);
    }

    /// Returns the rows, in order of chip, core, program, RISC and address. `facts` tells what is
    /// known about an address of a file.
    #[must_use]
    pub fn finish(self, mut facts: impl FnMut(C, u32) -> CodeFacts) -> Vec<LineRow> {
        let mut rows = Vec::new();
        for (key, group) in self.groups {
            let launches = group.launches.len() as u64;
            for sum in group.sums {
                let CodeFacts { code, elf, place } = facts(key.code, sum.count.address);
                let mut row = LineRow {
                    chip_id: key.chip_id,
                    core: key.core,
                    run_host_id: key.run_host_id,
                    op: group.op.clone(),
                    launches,
                    risc: key.risc.to_owned(),
                    code: code.to_owned(),
                    elf,
                    ..sum.row()
                };
                place.describe(&mut row);
                rows.push(row);
            }
        }
        rows.sort_by(|a, b| order(a).cmp(&order(b)));
        rows
    }
}

/// Returns the order of a row in the table.
fn order(row: &LineRow) -> impl Ord {
    let place = (row.chip_id, row.core, row.run_host_id, row.risc.as_str());
    let code = (row.code == "firmware", row.elf.as_deref(), row.address, row.instruction);
    (place, code, row.waits_for.as_deref())
}

impl<W: PartialEq> Group<W> {
    fn add(&mut self, core: usize, counts: impl Iterator<Item = InstructionCount<W>>) {
        let known = self.sums.len();
        let mut at = 0;
        for count in counts {
            let is_before = |sum: &Sum<W>| sum.count.address < count.address;
            while at < known && is_before(&self.sums[at]) {
                at += 1;
            }
            if at > 0 && !is_before(&self.sums[at - 1]) {
                at = self.sums[..known].partition_point(is_before);
            }
            let same = self.sums[at..known]
                .iter_mut()
                .take_while(|sum| sum.count.address == count.address)
                .find(|sum| sum.count.is_same(&count));
            match same {
                Some(sum) => sum.add(core, &count),
                None => self.sums.push(Sum::new(core, count)),
            }
        }
        if self.sums.len() > known {
            self.sums.sort_by_key(|sum| sum.count.address);
        }
    }
}

impl<W: PartialEq> InstructionCount<W> {
    /// Returns true if both are counts of the same instruction, for the same object.
    fn is_same(&self, other: &Self) -> bool {
        let key = |one: &Self| (one.address, one.instruction);
        key(self) == key(other) && self.waits_for == other.waits_for
    }
}

impl<W> Sum<W> {
    fn new(core: usize, count: InstructionCount<W>) -> Self {
        let mut core_cycles = vec![0; core + 1];
        core_cycles[core] = count.cycles.iter().sum();
        Self { count, core_cycles }
    }

    fn add(&mut self, core: usize, other: &InstructionCount<W>) {
        self.count.instructions += other.instructions;
        self.count.cycles.iter_mut().zip(other.cycles).for_each(|(sum, cycles)| *sum += cycles);
        if core >= self.core_cycles.len() {
            self.core_cycles.resize(core + 1, 0);
        }
        self.core_cycles[core] += other.cycles.iter().sum::<u64>();
    }
}

impl<W: ToString> Sum<W> {
    /// Returns a row without what all rows of a group have in common.
    fn row(self) -> LineRow {
        let Self { count, mut core_cycles } = self;
        // Every counted instruction has taken a cycle, so the other cores have not executed it.
        core_cycles.retain(|&cycles| cycles > 0);
        core_cycles.sort_unstable();
        let at = |index: usize| core_cycles.get(index).copied().unwrap_or_default();
        let last = core_cycles.len().saturating_sub(1);
        LineRow {
            cores: u32::try_from(core_cycles.len()).unwrap_or(u32::MAX),
            address: count.address,
            instruction: count.instruction,
            waits_for: count.waits_for.as_ref().map(ToString::to_string),
            instructions: count.instructions,
            core_cycles: [at(0), at(last / 2), at(last)],
            cycles: count.cycles,
            ..LineRow::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;

    fn owner(core: (u32, u32), launches: &[u64]) -> CountOwner<'_> {
        CountOwner { chip_id: 0, core, run_host_id: 0, op: Some("op"), risc: "BRISC", launches }
    }

    fn count(address: u32, waits_for: Option<&str>, cycles: u64) -> InstructionCount<&str> {
        let mut by_reason = [0; REASONS];
        (by_reason[0], by_reason[3]) = (1, cycles - 1);
        let (instruction, instructions) = (0x13, 1);
        InstructionCount { address, instruction, waits_for, instructions, cycles: by_reason }
    }

    fn kernel(_: u32, _: u32) -> CodeFacts {
        CodeFacts { code: "kernel", ..CodeFacts::default() }
    }

    #[test]
    fn cores_and_launches_are_summed_or_kept_apart() {
        let all = [((1, 1), 0, 5), ((1, 2), 0, 7), ((1, 3), 0, 100), ((1, 1), 1, 6)];
        let rows = |has_cores| {
            let mut sums = Sums::new(has_cores);
            for (core, launch, cycles) in all {
                sums.add(&owner(core, &[launch]), 0, [count(16, None, cycles)]);
            }
            sums.finish(kernel)
        };
        let [row] = &rows(false)[..] else { panic!("one row") };
        assert_eq!((row.core, row.cores, row.launches, row.instructions), (None, 3, 2, 4));
        assert_eq!((row.total_cycles(), row.core_cycles), (118, [7, 11, 100]));
        assert_eq!((row.cycles[0], row.cycles[3]), (4, 114));
        assert_eq!((row.op.as_deref(), &*row.risc, &*row.code), (Some("op"), "BRISC", "kernel"));
        let apart = rows(true);
        let totals: Vec<_> = apart.iter().map(|row| (row.core, row.total_cycles())).collect();
        assert_eq!(totals, [(Some((1, 1)), 11), (Some((1, 2)), 7), (Some((1, 3)), 100)]);
    }

    /// Addresses that other cores or launches have not executed, and other objects at the same
    /// address, get rows of their own; those in any order are found again.
    #[test]
    fn every_address_and_object_has_its_own_row() {
        let (cb, other) = (Some("CB_WAIT 3"), Some("CB_WAIT 4"));
        let mut sums = Sums::new(false);
        sums.add(&owner((1, 1), &[0]), 0, [count(8, None, 2), count(24, cb, 3)]);
        let second = [count(4, None, 4), count(24, other, 5), count(24, cb, 6), count(8, None, 7)];
        sums.add(&owner((1, 1), &[1]), 0, second);
        sums.add(&owner((1, 1), &[2]), 1, [count(8, None, 1)]);
        let rows = sums.finish(|code, _| CodeFacts {
            code: "kernel",
            elf: Some(format!("{code}.elf")),
            ..CodeFacts::default()
        });
        let found = rows.iter().map(|row| {
            (row.elf.as_deref(), row.address, row.waits_for.as_deref(), row.total_cycles())
        });
        let (first, second) = (Some("0.elf"), Some("1.elf"));
        let expected = [
            (first, 4, None, 4),
            (first, 8, None, 9),
            (first, 24, cb, 9),
            (first, 24, other, 5),
            (second, 8, None, 1),
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_profilers_own_code_is_named() {
        let file = Some("/src/kernel-profiler/src/vector.rs".to_owned());
        let frames = vec![Frame { function: Some("put".to_owned()), file, line: Some(3) }];
        let mut sums = Sums::new(false);
        sums.add(&owner((1, 1), &[0]), 0, [count(16, None, 3)]);
        let place = CodePlace { frames };
        let rows = sums.finish(|_, _| CodeFacts { place: place.clone(), ..kernel(0, 0) });
        assert_eq!((&*rows[0].code, rows[0].line), ("profiler", Some(3)));
    }
}
