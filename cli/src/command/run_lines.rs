//! `--lines`: the table `lines` of a simulated run, made from what the simulator counts.

use crate::{
    args::LinesOf,
    command::table_file::write_table,
    failure::{Failure, note},
};
use host_reader::{
    lines::{CodeFacts, CodeFile, CountOwner, InstructionCount, Sums, add_source_text},
    tables::Lines,
};
use sim::lines::{Awaited, LineCount, LoadedCode, RiscLines};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};
use wire::RunHostId;

/// Collects the counts of a run, and finds the lines of their addresses.
pub(super) struct LineCollector {
    /// Sums by index of the code in `codes`; `None` for addresses that belong to no file.
    sums: Sums<Option<usize>, Awaited>,
    codes: Vec<LoadedCode>,
    /// Indices in `codes` by the address of the ELF file in memory, which is the same for all RISCs
    /// that run a file.
    places: BTreeMap<usize, usize>,
}

impl LineCollector {
    pub(super) fn new(of: LinesOf) -> Self {
        let sums = Sums::new(of == LinesOf::Cores);
        Self { sums, codes: Vec::new(), places: BTreeMap::new() }
    }

    /// Adds the counts of launches.
    pub(super) fn add(&mut self, riscs: Vec<RiscLines>) {
        for risc in &riscs {
            let launches: Vec<u64> = risc.launches.iter().map(|one| one.launch_index).collect();
            let owner = CountOwner {
                chip_id: risc.chip_id,
                core: (risc.core.x.into(), risc.core.y.into()),
                run_host_id: RunHostId::encode(risc.program_id, risc.chip_id).0,
                op: Some(&risc.program),
                risc: risc.risc.label(),
                launches: &launches,
            };
            let lines_of = |owner: Option<usize>| {
                risc.counts.iter().filter(move |line| owner_of(risc, line) == owner)
            };
            for (place, code) in risc.code.iter().enumerate() {
                let mut own = lines_of(Some(place)).peekable();
                // Code that was not executed need not be parsed.
                if own.peek().is_none() {
                    continue;
                }
                let linked = own.map(|line| {
                    let offset = line.address - code.loaded.start;
                    counted(line, code.linked.wrapping_add(offset))
                });
                let index = self.index_of(code);
                self.sums.add(&owner, Some(index), linked);
            }
            let unknown = lines_of(None).map(|line| counted(line, line.address));
            self.sums.add(&owner, None, unknown);
        }
    }

    fn index_of(&mut self, code: &LoadedCode) -> usize {
        let codes = &mut self.codes;
        *self.places.entry(code.elf().as_ptr().addr()).or_insert_with(|| {
            codes.push(code.clone());
            codes.len() - 1
        })
    }

    /// Writes the table, and prints what the code lacks.
    pub(super) fn write(self, path: &Path) -> Result<(), Failure> {
        let mut notes = BTreeSet::new();
        let files: Vec<_> = self.codes.iter().map(|code| parsed(code, &mut notes)).collect();
        notes.iter().for_each(|sentence| note!("kprof: {sentence}"));
        let mut rows = self.sums.finish(|index, address| {
            let Some(index) = index else {
                return CodeFacts { code: "unknown", ..CodeFacts::default() };
            };
            let code = &self.codes[index];
            CodeFacts {
                code: if code.is_firmware { "firmware" } else { "kernel" },
                elf: Some(code.name().to_owned()),
                place: files[index].as_ref().map(|file| file.place(address)).unwrap_or_default(),
            }
        });
        add_source_text(&mut rows);
        write_table::<Lines>(&rows, path)
    }
}

/// Returns the index of the code to which an address belongs.
fn owner_of(risc: &RiscLines, line: &LineCount) -> Option<usize> {
    risc.code.iter().position(|code| code.loaded.contains(&line.address))
}

/// Returns the counts of an instruction with its address in its ELF file.
fn counted(line: &LineCount, address: u32) -> InstructionCount<Awaited> {
    InstructionCount {
        address,
        instruction: line.instruction,
        waits_for: line.waits_for.clone(),
        instructions: line.count.instructions,
        cycles: line.count.cycles,
    }
}

fn parsed(code: &LoadedCode, notes: &mut BTreeSet<String>) -> Option<CodeFile> {
    match CodeFile::parse(code.name(), code.elf()) {
        Ok(file) => {
            // Firmware is told apart, and hardly anyone looks for its lines.
            let lack = file.lack().filter(|_| !code.is_firmware);
            notes.extend(lack.map(|lack| {
                match code.is_embedded() {
                    true => "kprof's own kernels have no debug information, so their lines are \
                         unknown; run your own kernel with --kernel"
                        .to_owned(),
                    false => lack,
                }
            }));
            Some(file)
        }
        Err(error) => {
            notes.insert(error.to_string());
            None
        }
    }
}
