//! `--device-memory-profiler` with a ttnn from pip: keeps what belongs to ops of the table `memory` that
//! the simulated chip's library has written from launch messages.

use super::chip_table::{ChipTable, NO_PROGRAM};
use crate::{
    command::{
        memory::beside_capture,
        table_file::{read_table, write_table},
    },
    failure::{Failure, note},
    numbers::counted,
};
use host_reader::{
    memory::read_csv,
    tables::{Memory, MemoryRow},
};
use std::{collections::BTreeSet, path::PathBuf};
use wire::RunHostId;

pub(super) const TABLE: ChipTable = ChipTable {
    variable: "KPROF_CHIP_MEMORY",
    ending: "chip-memory.csv",
    expected: "circular buffers are not known: expected launch messages",
    does: "records",
};

/// Completes the tables of the processes that have recorded these captures.
pub(super) fn complete(captures: &[PathBuf]) -> Result<(), Failure> {
    TABLE.complete(captures, |capture, raw| {
        let (rows, left_out_count) = completed(read_table(raw, read_csv)?);
        if left_out_count > 0 {
            let chips = counted(left_out_count, "chip", "chips");
            note!(
                "kprof: memory of launches on {chips} that belong to no op is left out: dispatch \
                 kernels, and the profiler's own"
            );
        }
        write_table::<Memory>(&rows, &beside_capture(capture))
    })
}

/// Returns the rows of programs, and on how many chips there are rows of what is none. The capture has
/// the names of ops.
fn completed(rows: Vec<MemoryRow<'static>>) -> (Vec<MemoryRow<'static>>, u64) {
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
