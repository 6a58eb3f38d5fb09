//! Buffers for the page: peak use of each memory of a chip, overall and per op.

use crate::Trace;
use reports::report::{BufferPeaks, OpPeaks};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Peaks by memory and by op, column by column.
#[derive(Default, Serialize)]
pub(super) struct BufferFacts<'a> {
    memories: MemoryColumns,
    ops: OpColumns<'a>,
}

#[derive(Default, Serialize)]
struct MemoryColumns {
    chip_id: Vec<u64>,
    kind: Vec<&'static str>,
    peak: Vec<u64>,
    /// Nanoseconds since the trace's origin; `None` if the peak is earlier than the origin.
    peak_ns: Vec<Option<u64>>,
    last: Vec<u64>,
    changes: Vec<u64>,
    /// Index of the memory's plot among the plots of the host.
    plot: Vec<Option<usize>>,
}

/// Peaks while the host enqueued an op.
#[derive(Default, Serialize)]
struct OpColumns<'a> {
    /// Kinds of memory, in the order of `peaks`.
    kinds: Vec<&'static str>,
    chip_id: Vec<u64>,
    /// Index of the op's last launch among the ops of all chips; `None` if no chip recorded it.
    op: Vec<Option<usize>>,
    name: Vec<Option<&'a str>>,
    program: Vec<u32>,
    /// Peak for each kind; `None` for a memory that did not hold a buffer yet.
    peaks: Vec<Vec<Option<u64>>>,
}

impl<'a> BufferFacts<'a> {
    pub(super) fn new(trace: &'a Trace<'_>) -> Self {
        let BufferPeaks { pools, ops } = &trace.buffers;
        let mut facts = Self::default();
        for row in pools {
            let label = row.pool.to_string();
            let memories = &mut facts.memories;
            memories.chip_id.push(row.pool.device_id);
            memories.kind.push(row.pool.kind);
            memories.peak.push(row.peak_bytes);
            memories.peak_ns.push(row.peak_host_ns.checked_sub(trace.host.origin_ns));
            memories.last.push(row.last_bytes);
            memories.changes.push(row.change_count);
            memories.plot.push(trace.host.plots.iter().position(|plot| plot.name == label));
        }
        let numbers = numbers_of_ops(trace);
        let kinds: BTreeSet<_> =
            ops.iter().flat_map(|op| &op.peaks).map(|(pool, _)| pool.kind).collect();
        facts.ops.kinds = kinds.into_iter().collect();
        for op in ops {
            facts.ops.add(op, &numbers);
        }
        facts
    }
}

impl<'a> OpColumns<'a> {
    fn add(&mut self, op: &'a OpPeaks, numbers: &BTreeMap<(u64, u64), usize>) {
        let id = u32::try_from(op.run_host_id).unwrap_or(u32::MAX);
        self.peaks.push(
            self.kinds
                .iter()
                .map(|kind| {
                    let found = op.peaks.iter().find(|(pool, _)| pool.kind == *kind);
                    found.map(|&(_, bytes)| bytes)
                })
                .collect(),
        );
        self.chip_id.push(op.device_id);
        self.op.push(numbers.get(&(op.device_id, op.run_host_id)).copied());
        self.name.push(op.name.as_deref());
        self.program.push(wire::RunHostId(id).base());
    }
}

/// Returns the indices of the page's ops by chip and program.
fn numbers_of_ops(trace: &Trace<'_>) -> BTreeMap<(u64, u64), usize> {
    let ops = trace.devices.iter().flat_map(|device| {
        let chip_id = u64::from(device.chip.chip_id);
        device.ops.iter().map(move |op| (chip_id, u64::from(op.figures.run_host_id)))
    });
    ops.zip(0..).collect()
}
