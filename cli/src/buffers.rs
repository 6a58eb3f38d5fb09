//! Tables of buffer use: peak bytes in each memory of the chips, in total and by op.

use crate::{
    layout::{table, write_columns, write_table},
    numbers::{counted, grouped, optional},
    tables::program_label,
    terminal::{LONGEST_NAME, Style, printable, styled},
};
use host_reader::{
    report::{BufferPeaks, PoolPeak},
    tables::Objects,
};
use serde::Serialize;
use std::{collections::BTreeSet, io::Write};

/// Peak buffer use, as part of a JSON document.
#[derive(Serialize)]
pub(crate) struct BufferDocument<'a> {
    memories: Objects<&'a PoolPeak>,
    ops: Vec<OpRow<'a>>,
}

/// Peak buffer use while the host enqueued an op.
#[derive(Serialize)]
struct OpRow<'a> {
    chip_id: u64,
    run_host_id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    peak_bytes: serde_json::Map<String, serde_json::Value>,
}

/// Converts the peaks of buffer use to JSON; `None` if the host reported no buffers.
pub(crate) fn document(peaks: &BufferPeaks) -> Option<BufferDocument<'_>> {
    let memories = Objects::new(
        &peaks.pools,
        [
            ("chip_id", |row| row.pool.device_id.into()),
            ("memory", |row| row.pool.kind.into()),
            ("peak_bytes", |row| row.peak_bytes.into()),
            ("peak_host_ns", |row| row.peak_host_ns.into()),
            ("last_bytes", |row| row.last_bytes.into()),
            ("changes", |row| row.change_count.into()),
        ],
    );
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
    (!peaks.pools.is_empty()).then(|| BufferDocument { memories, ops: ops.collect() })
}

/// Writes a table of the total peak use of each memory, then a table of the peak use for each op.
/// The ops are in the order in which the host enqueued them.
pub(crate) fn write(peaks: &BufferPeaks, rows: usize, out: &mut impl Write) -> std::io::Result<()> {
    if peaks.pools.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{}\n", styled("Buffers, bytes", Style::Bold))?;
    write_columns!(&peaks.pools, rows, out, |row| {
        "chip" => row.pool.device_id,
        "memory" => row.pool.kind,
        "peak" => grouped(row.peak_bytes),
        "in the end" => grouped(row.last_bytes),
        "changes" => grouped(row.change_count),
    })?;
    if peaks.ops.is_empty() {
        let changes: u64 = peaks.pools.iter().map(|row| row.change_count).sum();
        let changes = counted(changes, "change of buffers", "changes of buffers");
        return writeln!(out, "{changes} without an op: the host recorded no enqueued ops");
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
            cells.push(optional(peak.map(|&(_, bytes)| bytes)));
        }
        ops.add_row(cells);
    }
    write_table(&mut ops, peaks.ops.len(), rows, out)
}
