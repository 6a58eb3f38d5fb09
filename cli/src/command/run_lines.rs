//! `--lines`: the table `lines` of a simulated run, made from what the simulator counts.

use crate::{
    args::LinesOf,
    failure::{Failure, OrFail, note},
};
use host_reader::lines::{CodeFile, CodePlace, LineCounts, Sums, write_csv};
use sim::lines::{LineCount, LoadedCode, RiscLines};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::File,
    io::BufWriter,
    path::Path,
    rc::Rc,
};
use wire::RunHostId;

/// Collects the counts of a run, and finds the lines of their addresses.
pub(super) struct LineCollector {
    sums: Sums,
    /// Parsed files by their address in memory, which is the same for all RISCs that run a file;
    /// `None` if a file has no code.
    files: BTreeMap<usize, Option<Rc<CodeFile>>>,
    places: BTreeMap<(usize, u32), CodePlace>,
    notes: BTreeSet<String>,
}

impl LineCollector {
    pub(super) fn new(of: LinesOf) -> Self {
        Self {
            sums: Sums::new(of == LinesOf::Cores),
            files: BTreeMap::new(),
            places: BTreeMap::new(),
            notes: BTreeSet::new(),
        }
    }

    /// Adds the counts of launches.
    pub(super) fn add(&mut self, riscs: Vec<RiscLines>) {
        for risc in &riscs {
            for line in &risc.counts {
                let counts = self.counts(risc, line);
                self.sums.add(counts);
            }
        }
    }

    fn counts(&mut self, risc: &RiscLines, line: &LineCount) -> LineCounts {
        let code = risc.code.iter().find(|code| code.loaded.contains(&line.address));
        let address = code.map_or(line.address, |code| {
            line.address.wrapping_sub(code.loaded.start).wrapping_add(code.linked)
        });
        LineCounts {
            chip_id: risc.chip_id,
            core: (risc.core.x.into(), risc.core.y.into()),
            run_host_id: RunHostId::encode(risc.program_id, risc.chip_id).0,
            op: Some(risc.program.clone()),
            launch: risc.launch_index,
            risc: risc.risc.label().to_owned(),
            code: match code {
                Some(code) if code.is_firmware => "firmware",
                Some(_) => "kernel",
                None => "unknown",
            },
            elf: code.map(|code| code.name().to_owned()),
            address,
            instruction: line.instruction,
            place: code.map(|code| self.place(code, address)).unwrap_or_default(),
            waits_for: line.waits_for.as_ref().map(ToString::to_string),
            instructions: line.count.instructions,
            cycles: line.count.cycles,
        }
    }

    /// Returns the functions, file and line of an address in the ELF file of loaded code.
    fn place(&mut self, code: &LoadedCode, address: u32) -> CodePlace {
        let key = code.elf().as_ptr().addr();
        let notes = &mut self.notes;
        let file = self.files.entry(key).or_insert_with(|| parsed(code, notes)).clone();
        let place = self.places.entry((key, address));
        place.or_insert_with(|| file.map(|file| file.place(address)).unwrap_or_default()).clone()
    }

    /// Writes the table, and prints what the code lacks.
    pub(super) fn write(self, path: &Path) -> Result<(), Failure> {
        self.notes.iter().for_each(|sentence| note!("kprof: {sentence}"));
        let out = BufWriter::new(File::create(path).or_fail_at(path)?);
        write_csv(&self.sums.finish(), out).or_fail_at(path)
    }
}

fn parsed(code: &LoadedCode, notes: &mut BTreeSet<String>) -> Option<Rc<CodeFile>> {
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
            Some(Rc::new(file))
        }
        Err(error) => {
            notes.insert(error.to_string());
            None
        }
    }
}
