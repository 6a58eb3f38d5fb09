//! `--lines` of a simulated chip: adds the files of kernels and the names of ops to the table
//! `lines` that the chip's library has written.

use crate::{
    command::lines::read_table,
    failure::{Failure, OrFail, note},
    numbers::counted,
};
use chip::inspector::OpNames;
use host_reader::{
    lines::{
        CodeFile, FoundKernel, KernelFiles, LINES_FILE, add_source_text, beside_capture, write_csv,
    },
    recording::DEVICE_CAPTURE_PREFIX,
    tables::LineRow,
};
use sim::board::UNFINISHED;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    process::Command,
};
use wire::RunHostId;

/// The host's id of what is no op.
const NO_PROGRAM: u32 = 0;
/// Ending of the files that the library writes, one for each process.
const RAW_ENDING: &str = "chip-lines.csv";

/// Sets the variables that make the simulated chip count.
pub(super) fn set_environment(base: &Path, logs: &Path, command: &mut Command) {
    let path = logs.join(format!("{DEVICE_CAPTURE_PREFIX}{{pid}}.{RAW_ENDING}"));
    command.env("KPROF_CHIP_LINES", path);
    command.env("KPROF_CHIP_FIRMWARE", base.join("tt_metal/pre-compiled"));
}

/// Completes the tables of the processes that have recorded these captures. `cache` is the folder in
/// which TT-Metal has built the kernels.
pub(super) fn complete(logs: &Path, cache: &Path, captures: &[PathBuf]) -> Result<(), Failure> {
    let mut files = FoundFiles { cache: cache.to_owned(), ..FoundFiles::default() };
    for capture in captures {
        let raw = capture.with_extension(RAW_ENDING);
        if !raw.is_file() {
            note!(
                "kprof: expected counts of lines in {}, found none; only kprof's own simulated chip \
                 counts them, until the program ends",
                raw.display()
            );
            continue;
        }
        let names = OpNames::open(&inspector_of(logs, capture)).unwrap_or_default();
        let mut rows = completed(read_table(&raw)?, &names, &mut files);
        add_source_text(&mut rows);
        let path = beside_capture(capture);
        write(&rows, &path)?;
        if captures.len() == 1 {
            write(&rows, &logs.join(LINES_FILE))?;
        }
        fs::remove_file(&raw).or_fail_at(&raw)?;
    }
    files.notes.iter().for_each(|sentence| note!("kprof: {sentence}"));
    Ok(())
}

/// Returns the folder of the Inspector's log of the process that has recorded a capture.
fn inspector_of(logs: &Path, capture: &Path) -> PathBuf {
    let stem = capture.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let process = stem.strip_prefix(DEVICE_CAPTURE_PREFIX).unwrap_or(stem);
    logs.join(format!("process-{process}")).join("generated/inspector")
}

fn write(rows: &[LineRow], path: &Path) -> Result<(), Failure> {
    let out = BufWriter::new(File::create(path).or_fail_at(path)?);
    write_csv(rows, out).or_fail_at(path)
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
