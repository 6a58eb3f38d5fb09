//! Buffers for the page: peak use of each memory of a chip, overall and per op.

use crate::{Trace, TraceHost};
use reports::report::{BufferPeaks, OpPeaks, PoolPeak};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use tables::Arrays;

/// Peak memory use of buffers, by memory and by op, column by column.
#[derive(Serialize)]
pub(super) struct BufferFacts<'a> {
    memories: Arrays<(&'a PoolPeak, &'a TraceHost<'a>)>,
    ops: OpColumns<'a>,
}

/// Peak memory use of buffers while the host enqueued an op.
#[derive(Default, Serialize)]
struct OpColumns<'a> {
    /// Kinds of memory, in the order of `peaks`.
    kinds: Vec<&'static str>,
    chip_id: Vec<u64>,
    /// Index of the op's last launch in the page's list of ops; `None` if no chip recorded a
    /// launch.
    op: Vec<Option<usize>>,
    name: Vec<Option<&'a str>>,
    program: Vec<u32>,
    /// Peak of each kind of memory; `None` if the memory has not contained a buffer yet.
    peaks: Vec<Vec<Option<u64>>>,
}

impl<'a> BufferFacts<'a> {
    pub(super) fn new(trace: &'a Trace<'a>) -> Self {
        let BufferPeaks { pools, ops } = &trace.buffers;
        let numbers = numbers_of_ops(trace);
        let kinds: BTreeSet<_> =
            ops.iter().flat_map(|op| &op.peaks).map(|(pool, _)| pool.kind).collect();
        let mut columns = OpColumns { kinds: kinds.into_iter().collect(), ..OpColumns::default() };
        ops.iter().for_each(|op| columns.add(op, &numbers));
        Self { memories: memory_columns(trace, pools), ops: columns }
    }
}

/// Returns the peak use of each memory, column by column.
fn memory_columns<'a>(
    trace: &'a Trace<'a>,
    pools: &'a [PoolPeak],
) -> Arrays<(&'a PoolPeak, &'a TraceHost<'a>)> {
    Arrays::new(
        pools.iter().map(|row| (row, &trace.host)),
        [
            ("chip_id", |(row, _)| row.pool.device_id.into()),
            ("kind", |(row, _)| row.pool.kind.into()),
            ("peak", |(row, _)| row.peak_bytes.into()),
            // Nanoseconds since the trace's origin; null if the peak is earlier than the origin.
            ("peak_ns", |(row, host)| row.peak_host_ns.checked_sub(host.origin_ns).into()),
            ("last", |(row, _)| row.last_bytes.into()),
            ("changes", |(row, _)| row.change_count.into()),
            // Index of the memory's plot among the plots of the host.
            ("plot", |(row, host)| {
                let label = row.pool.to_string();
                host.plots.iter().position(|plot| plot.name == label).into()
            }),
        ],
    )
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

/// Returns the index of each program's last launch among the ops of the page, by chip and program.
fn numbers_of_ops(trace: &Trace<'_>) -> BTreeMap<(u64, u64), usize> {
    let ops = trace.devices.iter().flat_map(|device| {
        let chip_id = u64::from(device.chip.chip_id);
        device.ops.iter().map(move |op| (chip_id, u64::from(op.figures.run_host_id)))
    });
    ops.zip(0..).collect()
}
