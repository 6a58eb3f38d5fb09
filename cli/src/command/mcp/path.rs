//! Critical paths: one row for each op or, for one op, all steps of the path or total times by
//! core, RISC and kind.

use super::{
    arguments::PathArguments,
    table::{Table, table},
};
use crate::failure::{Failure, failure};
use host_reader::causes::{CriticalPath, OpCauses, PathShare};
use wire::RunHostId;

const NO_PATH: &str = "unknown: no single waits were recorded in it; record with sync events \
                       (kprof capture --waits events)";

/// Returns the table of critical paths: one row for each op, or the path of the op that the client
/// asked for.
///
/// # Errors
/// If the op that the client asked for was not launched.
pub(super) fn table<'a>(ops: &'a [OpCauses], asked: &PathArguments) -> Result<Table<'a>, Failure> {
    let Some(program) = asked.program else { return Ok(overview(ops)) };
    let launch = asked.launch.unwrap_or(1);
    let found = ops.iter().find(|op| {
        RunHostId(op.run_host_id).base() == program
            && op.launch == launch
            && asked.chip_id.is_none_or(|chip_id| op.chip_id == chip_id)
    });
    let Some(op) = found else {
        let chip = asked.chip_id.map_or_else(String::new, |chip_id| format!(" on chip {chip_id}"));
        return Err(failure!(
            "expected an op that was launched, found launch {launch} of program {program}{chip}; \
             ops lists them"
        ));
    };
    let table = match &op.critical_path {
        Some(path) if asked.steps => steps(path),
        Some(path) => shares(&path.shares),
        None => shares(&[]).with_note("reason", NO_PATH),
    };
    let cycles = op.critical_path.as_ref().map(|path| path.cycles);
    Ok(table.with_note("chip_id", op.chip_id).with_note("cycles", cycles))
}

fn overview(ops: &[OpCauses]) -> Table<'_> {
    let with: Vec<_> = ops.iter().filter_map(|op| Some((op, op.critical_path.as_ref()?))).collect();
    let without = ops.len().saturating_sub(with.len());
    let table = table!(with, |(op, path)| {
        let largest = path.shares.first();
        "chip_id" => op.chip_id,
        "program" => RunHostId(op.run_host_id).base(),
        "launch" => op.launch,
        "name" or "the host gave none" => op.name,
        "cycles" => path.cycles,
        "joined_waits" => path.joined_count,
        "undecided_waits" => path.unknown_count,
        "undecided_percent" => path.unknown_percent(),
        "largest_share_core" or "no step" => largest.map(|share| share.core),
        "largest_share_risc" or "no step" => largest.map(|share| share.risc.label()),
        "largest_share_kind" or "no step" => largest.map(|share| share.kind),
        "largest_share_percent" or "no step" => largest.map(|share| share.percent),
    });
    let table = table.with_note("ops_without_path", without);
    if without > 0 { table.with_note("reason", NO_PATH) } else { table }
}

fn shares(shares: &[PathShare]) -> Table<'_> {
    table!(shares, |share| {
        let (x, y) = share.core;
        "core_x" => x,
        "core_y" => y,
        "risc" => share.risc.label(),
        "kind" => share.kind,
        "cycles" => share.cycles,
        "percent" => share.percent,
    })
}

fn steps(path: &CriticalPath) -> Table<'_> {
    table!(&path.steps, |step| {
        let (x, y) = step.core;
        "core_x" => x,
        "core_y" => y,
        "risc" => step.risc.label(),
        "kind" => step.kind,
        "start_cycle" => step.start_cycle,
        "end_cycle" => step.end_cycle,
        "wait" or "no wait in this step" => step.wait.map(|(kind, _)| kind),
        "wait_key" or "no wait in this step" => step.wait.map(|(_, key)| key),
    })
}
