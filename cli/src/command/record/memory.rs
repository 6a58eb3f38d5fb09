//! `--device-memory-profiler` with a ttnn from pip: keeps what belongs to ops of the table `memory` that
//! the simulated chip's library has written from launch messages.

use crate::{
    command::memory::{beside_capture, read_table},
    failure::{Failure, OrFail, note},
    numbers::counted,
};
use host_reader::{memory::write_csv, recording::DEVICE_CAPTURE_PREFIX, tables::MemoryRow};
use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
    process::Command,
};
use wire::RunHostId;

/// The host's id of what is no op.
const NO_PROGRAM: u32 = 0;
/// Ending of the files that the library writes, one for each process.
const RAW_ENDING: &str = "chip-memory.csv";

/// Sets the variables that make the simulated chip record launch messages.
pub(super) fn set_environment(base: &Path, logs: &Path, command: &mut Command) {
    let path = logs.join(format!("{DEVICE_CAPTURE_PREFIX}{{pid}}.{RAW_ENDING}"));
    command.env("KPROF_CHIP_MEMORY", path);
    command.env("KPROF_CHIP_FIRMWARE", base.join("tt_metal/pre-compiled"));
}

/// Completes the tables of the processes that have recorded these captures.
pub(super) fn complete(captures: &[PathBuf]) -> Result<(), Failure> {
    for capture in captures {
        let raw = capture.with_extension(RAW_ENDING);
        if !raw.is_file() {
            note!(
                "kprof: circular buffers are not known: expected launch messages in {}, found none; \
                 only kprof's own simulated chip records them, until the program ends",
                raw.display()
            );
            continue;
        }
        let (rows, left_out_count) = completed(read_table(&raw)?);
        if left_out_count > 0 {
            let chips = counted(left_out_count, "chip", "chips");
            note!(
                "kprof: memory of launches on {chips} that belong to no op is left out: dispatch \
                 kernels, and the profiler's own"
            );
        }
        let path = beside_capture(capture);
        let out = BufWriter::new(File::create(&path).or_fail_at(&path)?);
        write_csv(&rows, out).or_fail_at(&path)?;
        fs::remove_file(&raw).or_fail_at(&raw)?;
    }
    Ok(())
}

/// Returns the rows of programs, and on how many chips there are rows of what is none. The capture has
/// the names of ops.
fn completed(rows: Vec<MemoryRow>) -> (Vec<MemoryRow>, u64) {
    let mut left_out = BTreeSet::new();
    let mut done = Vec::new();
    for mut row in rows {
        if row.run_host_id == NO_PROGRAM {
            left_out.insert(row.chip_id);
            continue;
        }
        row.run_host_id = RunHostId::encode(row.run_host_id, row.chip_id).0;
        done.push(row);
    }
    (done, left_out.len() as u64)
}
