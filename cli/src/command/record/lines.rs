//! `--lines` of a simulated chip: adds the files of kernels and the names of ops to the table
//! `lines` that the chip's library has written.

use super::chip_table::{ChipTable, NO_PROGRAM, inspector_of};
use crate::{
    command::{
        kernel_cache::{CachedKernel, KernelCache},
        table_file::{read_table, write_table},
    },
    failure::{Failure, note},
    numbers::counted,
};
use chip::inspector::OpNames;
use host_reader::{
    lines::{LINES_FILE, add_source_text, beside_capture, read_csv},
    tables::{LineRow, Lines},
};
use sim::board::UNFINISHED;
use std::{
    collections::{BTreeMap, BTreeSet},
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
    let mut files = KernelCache::new(vec![cache.to_owned()]);
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

/// Returns the rows with names of ops, files, functions and lines. Rows of kernels that belong to no
/// op are left out: of dispatch kernels, and of the profiler's own.
fn completed(rows: Vec<LineRow>, names: &OpNames, files: &mut KernelCache) -> Vec<LineRow> {
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
        resolve(files, &risc, &mut rows);
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

/// Adds the file, the function and the line to the rows of one kernel.
fn resolve(files: &mut KernelCache, risc: &str, rows: &mut [LineRow]) {
    let executed: BTreeSet<_> = rows.iter().map(|row| (row.address, row.instruction)).collect();
    let executed: Vec<_> = executed.into_iter().collect();
    let Some(CachedKernel { name, first_address, file }) = files.find(risc, &executed) else {
        rows.iter_mut().for_each(|row| row.elf = None);
        return;
    };
    for row in rows {
        row.address = row.address.wrapping_add(first_address);
        row.elf = Some(name.clone());
        let Some(file) = file else { continue };
        file.place(row.address).describe(row);
    }
}
