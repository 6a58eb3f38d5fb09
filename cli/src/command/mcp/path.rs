//! Critical paths: a summary of every op, or the shares or steps of one op.

use super::{
    arguments::PathArguments,
    loaded::Part,
    table::{Column, Table, cells},
};
use crate::failure::Failure;
use host_reader::causes::{CriticalPath, OpCauses};
use wire::RunHostId;

const OPS: [Column; 12] = [
    Column::new("chip_id"),
    Column::new("program"),
    Column::new("launch"),
    Column::or_null("name", "the host gave none"),
    Column::new("cycles"),
    Column::new("joined_waits"),
    Column::new("undecided_waits"),
    Column::new("undecided_percent"),
    Column::or_null("largest_share_core", "no step"),
    Column::or_null("largest_share_risc", "no step"),
    Column::or_null("largest_share_kind", "no step"),
    Column::or_null("largest_share_percent", "no step"),
];

const SHARES: [Column; 6] = [
    Column::new("core_x"),
    Column::new("core_y"),
    Column::new("risc"),
    Column::new("kind"),
    Column::new("cycles"),
    Column::new("percent"),
];

const STEPS: [Column; 8] = [
    Column::new("core_x"),
    Column::new("core_y"),
    Column::new("risc"),
    Column::new("kind"),
    Column::new("start_cycle"),
    Column::new("end_cycle"),
    Column::or_null("wait", "no wait in this step"),
    Column::or_null("wait_key", "no wait in this step"),
];

const NO_PATH: &str = "unknown: no single waits were recorded in it; record with sync events \
                       (kprof capture --waits events)";

/// Returns the table of all ops, or of one named op.
///
/// # Errors
/// If the named op was not launched.
pub(super) fn table<'a>(part: Part<'a>, asked: &PathArguments) -> Result<Table<'a>, Failure> {
    let ops = &part.explanation().ops;
    let Some(program) = asked.program else { return Ok(overview(ops)) };
    let launch = asked.launch.unwrap_or(1);
    let found = ops.iter().find(|op| {
        RunHostId(op.run_host_id).base() == program
            && op.launch == launch
            && asked.chip_id.is_none_or(|chip_id| op.chip_id == chip_id)
    });
    let Some(op) = found else {
        let chip = asked.chip_id.map_or_else(String::new, |chip_id| format!(" on chip {chip_id}"));
        return Err(Failure::Sentence(format!(
            "expected an op that was launched, found launch {launch} of program {program}{chip}; \
             ops lists them"
        )));
    };
    let table = match &op.critical_path {
        Some(path) if asked.steps => steps(path),
        Some(path) => shares(path),
        None => Table::new(&SHARES, [], |(): &()| Vec::new()).with_note("reason", NO_PATH),
    };
    let cycles = op.critical_path.as_ref().map(|path| path.cycles);
    Ok(table.with_note("chip_id", op.chip_id).with_note("cycles", cycles))
}

fn overview(ops: &[OpCauses]) -> Table<'_> {
    let with: Vec<_> = ops.iter().filter_map(|op| Some((op, op.critical_path.as_ref()?))).collect();
    let without = ops.len().saturating_sub(with.len());
    let table = Table::new(&OPS, with, |(op, path)| {
        let largest = path.shares.first();
        cells![
            op.chip_id,
            RunHostId(op.run_host_id).base(),
            op.launch,
            op.name,
            path.cycles,
            path.joined_count,
            path.unknown_count,
            path.unknown_percent(),
            largest.map(|share| share.core),
            largest.map(|share| share.risc.label()),
            largest.map(|share| share.kind),
            largest.map(|share| share.percent),
        ]
    });
    let table = table.with_note("ops_without_path", without);
    if without > 0 { table.with_note("reason", NO_PATH) } else { table }
}

fn shares(path: &CriticalPath) -> Table<'_> {
    Table::new(&SHARES, &path.shares, |share| {
        let (x, y) = share.core;
        cells![x, y, share.risc.label(), share.kind, share.cycles, share.percent]
    })
}

fn steps(path: &CriticalPath) -> Table<'_> {
    Table::new(&STEPS, &path.steps, |step| {
        let (x, y) = step.core;
        cells![
            x,
            y,
            step.risc.label(),
            step.kind,
            step.start_cycle,
            step.end_cycle,
            step.wait.map(|(kind, _)| kind),
            step.wait.map(|(_, key)| key),
        ]
    })
}
