//! `--lines` of a simulated chip: adds the files of kernels and the names of ops to the table
//! `lines` that the chip's library has written.

use super::chip_table::{ChipTable, NO_PROGRAM};
use crate::{
    command::table_file::{read_table, write_table},
    failure::{Failure, note},
    numbers::counted,
};
use chip::inspector::OpNames;
use host_reader::{
    lines::{
        CodeFile, FoundKernel, KernelFiles, LINES_FILE, add_source_text, beside_capture, read_csv,
    },
    recording::DEVICE_CAPTURE_PREFIX,
    tables::{LineRow, Lines},
};
use sim::board::UNFINISHED;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};
use wire::RunHostId;

pub(super) const TABLE: ChipTable = ChipTable {
    variable: "KPROF_CHIP_LINES",
    ending: "chip-lines.csv",
    expected: "expected counts of lines",
    does: "counts",
};

/// Completes the tables of the processes that have recorded these captures. `cache` is the folder in
/// which TT-Metal has built the kernels.
pub(super) fn complete(logs: &Path, cache: &Path, captures: &[PathBuf]) -> Result<(), Failure> {
    let mut files = FoundFiles { cache: cache.to_owned(), ..FoundFiles::default() };
    TABLE.complete(captures, |capture, raw| {
        let names = OpNames::open(&inspector_of(logs, capture)).unwrap_or_default();
        let mut rows = completed(read_table(raw, read_csv)?, &names, &mut files);
        add_source_text(&mut rows);
        write_table::<Lines>(&rows, &beside_capture(capture))?;
        if captures.len() == 1 {
            write_table::<Lines>(&rows, &logs.join(LINES_FILE))?;
        }
        Ok(())
    })?;
    files.notes.iter().for_each(|sentence| note!("kprof: {sentence}"));
    Ok(())
}

/// Returns the folder of the Inspector's log of the process that has recorded a capture.
fn inspector_of(logs: &Path, capture: &Path) -> PathBuf {
    let stem = capture.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let process = stem.strip_prefix(DEVICE_CAPTURE_PREFIX).unwrap_or(stem);
    logs.join(format!("process-{process}")).join("generated/inspector")
}

/// Returns the rows with names of ops, files, functions and lines. Rows of kernels that belong to no
/// op are left out: of dispatch kernels, and of the profiler's own.
fn completed(rows: Vec<LineRow>, names: &OpNames, files: &mut FoundFiles) -> Vec<LineRow> {
    let mut left_out = BTreeSet::new();
    let mut kernels: BTreeMap<(String, String), Vec<LineRow>> = BTreeMap::new();
    let mut done = Vec::new();
    for mut row in rows {
        let name = names.names.get(&row.run_host_id);
        let is_unfinished = row.op.as_deref() == Some(UNFINISHED);
        if row.run_host_id == NO_PROGRAM || name.is_none() && is_unfinished {
            left_out.insert((row.risc, row.elf));
            continue;
        }
        row.run_host_id = RunHostId::encode(row.run_host_id, row.chip_id).0;
        row.op = name.map(ToString::to_string).or(row.op);
        match (&row.elf, row.code.as_str()) {
            (Some(id), "kernel") => {
                kernels.entry((row.risc.clone(), id.clone())).or_default().push(row);
            }
            _ => done.push(row),
        }
    }
    for ((risc, _), mut rows) in kernels {
        files.resolve(&risc, &mut rows);
        done.append(&mut rows);
    }
    if !left_out.is_empty() {
        let count = counted(left_out.len() as u64, "kernel", "kernels");
        files.notes.insert(format!(
            "lines of {count} that belong to no op are left out: dispatch kernels, and the profiler's \
             own"
        ));
    }
    done.sort_by_cached_key(|row| {
        let code = (row.code == "firmware", row.elf.clone(), row.address);
        (row.run_host_id, row.risc.clone(), code, row.waits_for.clone())
    });
    done
}

/// The kernels in TT-Metal's cache, and what they lack.
#[derive(Default)]
struct FoundFiles {
    cache: PathBuf,
    by_risc: BTreeMap<String, KernelFiles>,
    parsed: BTreeMap<PathBuf, Option<CodeFile>>,
    notes: BTreeSet<String>,
}

impl FoundFiles {
    /// Adds the file, the function and the line to the rows of one kernel.
    fn resolve(&mut self, risc: &str, rows: &mut [LineRow]) {
        let executed: BTreeSet<_> = rows.iter().map(|row| (row.address, row.instruction)).collect();
        let executed: Vec<_> = executed.into_iter().collect();
        let (cache, processor) = (&self.cache, risc.to_lowercase().replace('_', ""));
        let kernels = self.by_risc.entry(processor);
        let kernels = kernels.or_insert_with_key(|name| KernelFiles::below(cache, name));
        let Some(FoundKernel { path, first_address }) = kernels.find(&executed) else {
            self.notes.insert(format!(
                "no file below {} has the code of some kernels; their addresses are offsets",
                cache.display()
            ));
            rows.iter_mut().for_each(|row| row.elf = None);
            return;
        };
        let notes = &mut self.notes;
        let name = path.display().to_string();
        let file = self.parsed.entry(path).or_insert_with_key(|path| {
            let file = CodeFile::parse(&name, &fs::read(path).ok()?);
            let lack = match &file {
                Ok(file) => file.lack(),
                Err(error) => Some(error.to_string()),
            };
            notes.extend(lack);
            file.ok()
        });
        for row in rows {
            row.address = row.address.wrapping_add(first_address);
            row.elf = Some(name.clone());
            let Some(file) = file else { continue };
            file.place(row.address).describe(row);
        }
    }
}
