//! What L1 and DRAM hold while ops run.

use super::{
    arguments::{MemoryArguments, MemoryPart},
    loaded::Figures,
    table::{Table, table},
};
use crate::{
    command::memory::{core, is_op, makers},
    failure::Failure,
};
use host_reader::{
    memory::{Lifetime, OpUsage, Usage},
    tables::Memory,
};

const UNKNOWN: &str = "unknown";
const NO_CORES: &str = "all cores, or launch messages are unknown";
const NO_LAUNCH: &str = "launch messages are unknown, or DRAM";
const NO_NAME: &str = "the host gave no name";
const NO_MODULE: &str = "no module of the model called, or calls were not recorded";
const NO_PLACE: &str = "no line of Python called, or calls were not recorded";
const NO_OWNER: &str = "reserved, or no call was seen allocating";
const NO_BUFFERS: &str = "the host recorded no buffers of the op";

/// Returns one part of what is known of a run's memory, with the figures of `kprof memory`.
///
/// # Errors
/// If the column to sort by is unknown, or if the core has no coordinates.
pub(super) fn table<'a>(
    figures: &'a Figures,
    asked: &MemoryArguments,
) -> Result<Table<'a>, Failure> {
    let none = Usage::default();
    let usage = match figures {
        Figures::Run(run) => &run.memory,
        Figures::OpsCsv(_) => &none,
    };
    let is_wanted = |op: &OpUsage| asked.op.as_ref().is_none_or(|wanted| is_op(op, wanted));
    let chosen: Vec<usize> =
        (0..usage.ops.len()).filter(|&index| is_wanted(&usage.ops[index])).collect();
    let table = match asked.part {
        MemoryPart::Peaks => of_peaks(usage, &chosen),
        MemoryPart::Map => {
            let wanted = asked.core.as_deref();
            let core = wanted.map(core).transpose().map_err(Failure::Sentence)?;
            of_map(usage, &chosen, (core, asked.kind.as_deref()))
        }
        MemoryPart::Makers => of_makers(usage, &chosen),
        MemoryPart::Outlived => of_outlived(usage, &chosen),
        MemoryPart::Ops => of_ops(usage, &chosen),
    };
    let table = match (usage.ops.is_empty(), chosen.is_empty()) {
        (true, _) => table.with_note(
            "reason",
            "the recording has no memory; record a ttnn from pip with kprof record \
             --device-memory-profiler",
        ),
        (false, true) => table.with_note("reason", "no op has this text in its name"),
        (false, false) => table,
    };
    table
        .with_note("op_count", usage.op_count)
        .with_note("ops_without_launch_messages", usage.op_without_launch_count)
        .with_note("ops_without_buffers", usage.op_without_buffers_count)
        .sorted(asked.sort.as_deref(), asked.order)
}

fn of_peaks(usage: &Usage, chosen: &[usize]) -> Table<'static> {
    table!(usage.peaks(chosen), |peak| {
        "chip_id" => peak.chip_id,
        "memory" => peak.memory,
        "run_host_id" => peak.run_host_id,
        "op_name" or NO_NAME => peak.op_name,
        "module" or NO_MODULE => peak.module,
        "location" or NO_PLACE => peak.location,
        "core_ranges" or NO_CORES => peak.core_ranges,
        "used_bytes" => peak.used_bytes,
        "is_lower_bound" => peak.is_lower_bound,
        "reserved_bytes" or "unknown, or DRAM" => peak.reserved_bytes,
        "kernel_bytes" or NO_LAUNCH => peak.kernel_bytes,
        "circular_buffer_bytes" or NO_LAUNCH => peak.circular_buffer_bytes,
        "buffer_bytes" or NO_BUFFERS => peak.buffer_bytes,
        "outlived_bytes" => peak.outlived_bytes,
        "capacity_bytes" or UNKNOWN => peak.capacity_bytes,
        "free_bytes" or "used_bytes is a lower bound" => peak.free_bytes,
        "largest_free_bytes" or "used_bytes is a lower bound, or DRAM" => peak.largest_free_bytes,
    })
}

fn of_map(
    usage: &Usage,
    chosen: &[usize],
    (core, kind): (Option<(u32, u32)>, Option<&str>),
) -> Table<'static> {
    let mut rows = usage.l1_peak(chosen).map(|index| usage.rows(index, core)).unwrap_or_default();
    rows.retain(|row| kind.is_none_or(|kind| row.kind == kind));
    Table::from_rows::<Memory>(rows)
}

fn of_makers(usage: &Usage, chosen: &[usize]) -> Table<'static> {
    table!(makers(usage, chosen), |made| {
        let maker = &made.maker;
        "chip_id" => made.chip_id,
        "memory" => maker.memory,
        "run_host_id" => made.run_host_id,
        "kind" => maker.kind,
        "owner" or NO_OWNER => maker.owner,
        "module" or NO_MODULE => maker.place.module,
        "location" or NO_PLACE => maker.place.location,
        "range_count" => maker.range_count,
        "bytes" => maker.bytes,
        "outlived_bytes" => maker.outlived_bytes,
    })
}

/// A tensor that no later op has: the id of the op with the peak, the memory, the tensor, and the last
/// op that had it.
type Outlived = (u32, &'static str, Lifetime, Option<OpUsage>);

fn of_outlived(usage: &Usage, chosen: &[usize]) -> Table<'static> {
    let mut outlived: Vec<Outlived> = Vec::new();
    for peak in usage.peaks(chosen) {
        let is_it = |index: &usize| {
            let op = &usage.ops[*index];
            (op.chip_id, op.run_host_id) == (peak.chip_id, peak.run_host_id)
        };
        let index = chosen.iter().copied().find(is_it);
        let of_peak = index.map(|index| usage.outlived(index, peak.memory)).unwrap_or_default();
        outlived.extend(of_peak.into_iter().map(|one| {
            let last = one.last_use.and_then(|last| usage.ops.get(last));
            (peak.run_host_id, peak.memory, one.clone(), last.cloned())
        }));
    }
    table!(outlived, |(peak_id, memory, one, last)| {
        "chip_id" => one.chip_id,
        "memory" => memory,
        "run_host_id" => peak_id,
        "content" or "unknown" => one.content,
        "size_bytes" => one.size_bytes,
        "start" => one.start,
        "owner" or NO_OWNER => one.owner,
        "module" or NO_MODULE => one.place.module,
        "location" or NO_PLACE => one.place.location,
        "last_use_run_host_id" or "no op had it" => last.as_ref().map(|op| op.run_host_id),
        "last_use_op_name" or NO_NAME => last.as_ref().and_then(|op| op.name.as_deref()),
        "last_use_location" or NO_PLACE => last.as_ref().and_then(|op| op.place.location.as_deref()),
    })
}

fn of_ops(usage: &Usage, chosen: &[usize]) -> Table<'static> {
    let ops: Vec<OpUsage> = chosen.iter().map(|&index| usage.ops[index].clone()).collect();
    table!(ops, |op| {
        "chip_id" => op.chip_id,
        "run_host_id" => op.run_host_id,
        "op_name" or NO_NAME => op.name,
        "module" or NO_MODULE => op.place.module,
        "location" or NO_PLACE => op.place.location,
        "core_ranges" or NO_CORES => (!op.l1.cores.is_empty()).then(|| op.l1.cores.to_string()),
        "used_bytes" => op.l1.known_bytes(),
        "is_lower_bound" => op.l1.is_lower_bound(),
        "circular_buffer_bytes" or NO_LAUNCH => op.l1.circular_buffer_bytes,
        "buffer_bytes" or NO_BUFFERS => op.l1.buffer_bytes,
        "free_bytes" or "used_bytes is a lower bound" => op.l1.free_bytes(),
        "largest_free_bytes" or "used_bytes is a lower bound" => op.l1.largest_free_bytes,
        "dram_bytes" or NO_BUFFERS => op.dram_bytes,
    })
}
