//! Tables of buffers: peak use of the chips' memories, in total and by op.

use crate::{
    layout::{table, write_table},
    numbers::{counted, grouped},
    tables::program_label,
    terminal::{LONGEST_NAME, Style, printable, styled},
};
use host_reader::report::BufferPeaks;
use serde::Serialize;
use std::{collections::BTreeSet, io::Write};

/// Peaks of one kind of a chip's memory.
#[derive(Serialize)]
struct PoolRow {
    chip_id: u64,
    memory: &'static str,
    peak_bytes: u64,
    peak_host_ns: u64,
    last_bytes: u64,
    changes: u64,
}

/// Peak use while the host worked on an op.
#[derive(Serialize)]
struct OpRow<'a> {
    chip_id: u64,
    run_host_id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    peak_bytes: serde_json::Map<String, serde_json::Value>,
}

/// Peak use of buffers, as part of a JSON document.
#[derive(Serialize)]
pub(crate) struct BufferDocument<'a> {
    memories: Vec<PoolRow>,
    ops: Vec<OpRow<'a>>,
}

/// Converts peaks into JSON; `None` if no buffers were reported.
pub(crate) fn document(peaks: &BufferPeaks) -> Option<BufferDocument<'_>> {
    let memories = peaks.pools.iter().map(|row| PoolRow {
        chip_id: row.pool.device_id,
        memory: row.pool.kind,
        peak_bytes: row.peak_bytes,
        peak_host_ns: row.peak_host_ns,
        last_bytes: row.last_bytes,
        changes: row.change_count,
    });
    let ops = peaks.ops.iter().map(|op| OpRow {
        chip_id: op.device_id,
        run_host_id: op.run_host_id,
        name: op.name.as_deref(),
        peak_bytes: op
            .peaks
            .iter()
            .map(|&(pool, bytes)| (pool.kind.to_owned(), bytes.into()))
            .collect(),
    });
    let document = BufferDocument { memories: memories.collect(), ops: ops.collect() };
    (!document.memories.is_empty()).then_some(document)
}

/// Writes the peak use of each memory, and by op in the host's order.
pub(crate) fn write(peaks: &BufferPeaks, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if peaks.pools.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}\n", styled("Buffers, bytes", Style::Bold))?;
    let mut memories = table(&["chip", "memory", "peak", "in the end", "changes"]);
    for row in peaks.pools.iter().take(rows) {
        memories.add_row([
            row.pool.device_id.to_string(),
            row.pool.kind.to_owned(),
            grouped(row.peak_bytes),
            grouped(row.last_bytes),
            grouped(row.change_count),
        ]);
    }
    write_table(&mut memories, peaks.pools.len(), rows, out)?;
    if peaks.ops.is_empty() {
        let changes: u64 = peaks.pools.iter().map(|row| row.change_count).sum();
        let changes = counted(changes, "change of buffers", "changes of buffers");
        return writeln!(out, "{changes} of no op: the host did not say when it enqueued ops");
    }
    let kinds: BTreeSet<&str> =
        peaks.ops.iter().flat_map(|op| &op.peaks).map(|(pool, _)| pool.kind).collect();
    writeln!(
        out,
        "\n{}\n",
        styled("Peaks of buffers while an op was enqueued, bytes", Style::Bold)
    )?;
    let mut ops = table(
        &[&["chip", "program", "name"], &*kinds.iter().copied().collect::<Vec<_>>()].concat(),
    );
    for op in peaks.ops.iter().take(rows) {
        let id = u32::try_from(op.run_host_id).unwrap_or(u32::MAX);
        let name = printable(op.name.as_deref().unwrap_or_default(), LONGEST_NAME);
        let mut cells = vec![op.device_id.to_string(), program_label(id, None), name];
        for kind in &kinds {
            let peak = op.peaks.iter().find(|(pool, _)| pool.kind == *kind);
            cells.push(peak.map_or_else(|| "-".to_owned(), |&(_, bytes)| grouped(bytes)));
        }
        ops.add_row(cells);
    }
    write_table(&mut ops, peaks.ops.len(), rows, out)
}
