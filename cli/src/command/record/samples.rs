//! `--sample` of a simulated chip: rows of the table `lines` from the samples that the chip's library
//! has written, with the files of kernels and the names of ops.

use super::chip_table::{ChipTable, NO_PROGRAM, inspector_of};
use crate::{
    command::{
        kernel_cache::{CachedKernel, KernelCache},
        table_file::write_table,
    },
    failure::{Failure, OrFail, failure, note},
    numbers::{counted, grouped},
};
use chip::inspector::OpNames;
use host_reader::{
    lines::{
        CodeFacts, SAMPLES_FILE, SampledChips, SampledPlace, SampledProgram, add_source_text,
        samples_beside_capture,
    },
    tables::{LineRow, Lines},
};
use std::{
    collections::BTreeMap,
    fs::File,
    io::BufReader,
    path::{Path, PathBuf},
};
use wire::RunHostId;

pub(super) const TABLE: ChipTable = ChipTable {
    variable: "KPROF_CHIP_SAMPLES",
    ending: "chip-samples.json",
    expected: "expected samples of program counters",
    does: "writes",
};

/// Variable with the number of cycles from one sample to the next.
pub(super) const EVERY_VARIABLE: &str = "KPROF_CHIP_SAMPLE_EVERY";

/// Writes the tables of the processes that have recorded these captures. `cache` is the folder in which
/// TT-Metal has built the kernels.
pub(super) fn complete(logs: &Path, cache: &Path, captures: &[PathBuf]) -> Result<(), Failure> {
    let mut files = KernelCache::new(vec![cache.to_owned()]);
    TABLE.complete(captures, |capture, raw| {
        let names = OpNames::open(&inspector_of(logs, capture)).unwrap_or_default();
        let file = BufReader::new(File::open(raw).or_fail_at(raw)?);
        let chips: SampledChips = serde_json::from_reader(file).map_err(|error| {
            failure!("expected samples of program counters in {}: {error}", raw.display())
        })?;
        tell(&chips);
        let mut rows = completed(chips.programs, &names, &mut files)?;
        add_source_text(&mut rows);
        write_table::<Lines>(&rows, &samples_beside_capture(capture))?;
        if captures.len() == 1 {
            write_table::<Lines>(&rows, &logs.join(SAMPLES_FILE))?;
        }
        Ok(())
    })?;
    files.notes.iter().for_each(|sentence| note!("kprof: {sentence}"));
    Ok(())
}

/// Prints how many samples were taken, and what was lost.
fn tell(chips: &SampledChips) {
    let instructions = chips.programs.iter().flat_map(|program| &program.instructions);
    let samples = instructions.fold(0_u64, |sum, one| sum.saturating_add(one.count));
    note!(
        "kprof: {} samples, one every {} in {}, of which {} ended with their launches",
        grouped(samples),
        every(chips.every_cycles),
        counted(chips.series, "series", "series"),
        grouped(chips.unfinished_series)
    );
    if chips.busy_launches > 0 {
        note!(
            "kprof: {} on a core were not sampled, because something else used the core's debug \
             daisychain",
            counted(chips.busy_launches, "launch", "launches")
        );
    }
    if chips.damaged_samples > 0 {
        note!(
            "kprof: {} are left out, because something else has written to their memory",
            counted(chips.damaged_samples, "sample", "samples")
        );
    }
    if let Some(reason) = &chips.refusal {
        note!("kprof: a tile was not sampled: {reason}");
    }
}

/// Returns the cycles from one sample to the next.
fn every((fewest, most): (u32, u32)) -> String {
    if fewest == most { format!("{most} cycles") } else { format!("{fewest} to {most} cycles") }
}

/// Returns the rows with names of ops, files, functions and lines. Programs that are no ops are left
/// out.
fn completed(
    programs: Vec<SampledProgram>,
    names: &OpNames,
    files: &mut KernelCache,
) -> Result<Vec<LineRow>, Failure> {
    let mut rows = Vec::new();
    let mut left_out = 0_u64;
    for mut program in programs {
        let name = names.names.get(&program.run_host_id);
        if program.run_host_id == NO_PROGRAM || name.is_none() && program.op.is_some() {
            left_out += program.instructions.iter().map(|one| one.count).sum::<u64>();
            continue;
        }
        program.op = name.map(ToString::to_string).or(program.op);
        program.run_host_id = RunHostId::encode(program.run_host_id, program.chip_id).0;
        rows.extend(resolved(&program, files).map_err(|sentence| failure!("{sentence}"))?);
    }
    if left_out > 0 {
        files.notes.insert(format!(
            "{} that belong to no op are left out: of dispatch kernels, and of the profiler's own",
            counted(left_out, "sample", "samples")
        ));
    }
    Ok(rows)
}

/// Returns the rows of a program with the files of its kernels.
fn resolved(program: &SampledProgram, files: &mut KernelCache) -> Result<Vec<LineRow>, String> {
    let mut kernels: BTreeMap<&str, Vec<(u32, u32)>> = BTreeMap::new();
    for (kernel, offset, word) in &program.kernel_words {
        kernels.entry(kernel).or_default().push((*offset, *word));
    }
    let mut places = BTreeMap::new();
    for (kernel, all) in kernels {
        let Some(CachedKernel { name, first_address, file }) = files.find(&program.risc, &all)
        else {
            continue;
        };
        for (offset, _) in all {
            let address = offset.wrapping_add(first_address);
            let place = file.map(|file| file.place(address)).unwrap_or_default();
            let facts = CodeFacts { code: "kernel", elf: Some(name.clone()), place };
            places.insert((kernel, offset), SampledPlace { facts, address });
        }
    }
    program.rows(|one| {
        let kernel = one.kernel.as_deref().unwrap_or_default();
        let known = places.get(&(kernel, one.address)).cloned();
        let code = match one.code.as_str() {
            "kernel" => "kernel",
            "firmware" => "firmware",
            _ => "unknown",
        };
        let facts = CodeFacts { code, ..CodeFacts::default() };
        known.unwrap_or(SampledPlace { facts, address: one.address })
    })
}
