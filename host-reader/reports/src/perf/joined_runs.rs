//! Files that hold the rows of several runs, one after the other.

use super::{cell, ops_csv::OpsCsv, row::OpRow};
use crate::problem::Position;
use std::collections::HashMap;

/// Adds a problem for each file that holds more than one run, and returns true if there is any. `rows` are
/// in the order of the files.
pub(super) fn note_joined_runs(rows: &[OpRow], files: &mut [OpsCsv]) -> bool {
    let mut is_any = false;
    for own in rows.chunk_by(|one, other| one.file == other.file) {
        let Some((begin, again)) = second_run(own) else { continue };
        is_any = true;
        let Some(of) = files.get_mut(begin.file) else { continue };
        let place = Position { file: &of.file, line: begin.line, column: "GLOBAL CALL COUNT" };
        of.problems.add_deviation(
            place,
            "one run, in which no call of a device comes twice",
            &format!(
                "a second run from row {} on: call {} of row {} was in a row before, with later cycles",
                begin.id, again.global_call_count, again.id
            ),
            "sums are over all runs, and ops stand in the order of the file",
        );
    }
    is_any
}

/// Returns the row with which the second run of a file begins, and the first row with a call that was
/// there before; `None` if the file has one run.
///
/// The calls of another run are counted from the same start, and the cycles of a device go back. Replays of
/// a trace repeat calls, too, but their cycles do not go back.
fn second_run(rows: &[OpRow]) -> Option<(&OpRow, &OpRow)> {
    // Nearly no file has cycles that go back, and then there is nothing to compare.
    let mut latest: HashMap<Option<u64>, u64> = HashMap::new();
    let is_back = |(row, start): &(&OpRow, u64), latest: &mut HashMap<Option<u64>, u64>| {
        latest.insert(row.device, *start).is_some_and(|before| before > *start)
    };
    let ops = || {
        let ops =
            rows.iter().filter(|row| row.is_device_op() && !cell::is_blank(&row.global_call_count));
        ops.filter_map(|row| Some((row, start_cycle(row)?)))
    };
    if !ops().any(|op| is_back(&op, &mut latest)) {
        return None;
    }
    latest.clear();
    let mut begin = None;
    let mut calls = HashMap::new();
    for op in ops() {
        let (row, start) = op;
        if is_back(&op, &mut latest) {
            begin = Some(row);
        }
        let call = (row.device, row.trace_id, row.trace_session, row.global_call_count.as_str());
        let before = *calls.entry(call).or_insert(start);
        if let Some(begin) = begin.filter(|_| before > start) {
            return Some((begin, row));
        }
    }
    None
}

/// Returns the first cycle of an op on the clock of its device.
fn start_cycle(row: &OpRow) -> Option<u64> {
    row.firmware_start_cycle.or_else(|| row.kernel_cycles.map(|(start, _)| start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::read_ops_csv;
    use proptest::prelude::*;

    /// Op: call, device, start cycle, trace replay.
    fn rows(ops: &[(u64, u64, u64, Option<u64>)]) -> Vec<OpRow> {
        let row =
            |(&(call, device, start, session), id): (&(u64, u64, u64, Option<u64>), u64)| OpRow {
                op_type: "tt_dnn_device".into(),
                global_call_count: call.to_string(),
                device: Some(device),
                firmware_start_cycle: Some(start),
                trace_session: session,
                id,
                line: id,
                ..OpRow::default()
            };
        ops.iter().zip(2..).map(row).collect()
    }

    proptest! {
        /// Calls of a run have rising cycles on each device. A second run is found where it begins, and
        /// one run, with replays of its calls, is none.
        #[test]
        fn a_second_run_is_found_where_it_begins(
            first in 2_u64..12, second in 2_u64..12, devices in 1_u64..4, skipped in 0_u64..2,
            later in 1_u64..1_000_000,
        ) {
            let run = |count: u64, from: u64, first_call: u64, session: Option<u64>| {
                let calls = first_call..first_call + count;
                let of_call = move |call: u64| {
                    (0..devices).map(move |device| (call * 1024, device, from + call * 5000 + device, session))
                };
                calls.flat_map(of_call).collect::<Vec<_>>()
            };
            let one = run(first, later, 1, None);
            let found = |ops: &[(u64, u64, u64, Option<u64>)]| {
                let mut files = [read_ops_csv(&b"OP CODE\n"[..], "a.csv").unwrap()];
                let known = files[0].problems.kept().len();
                let is_joined = note_joined_runs(&rows(ops), &mut files);
                let new = files[0].problems.kept().iter().skip(known);
                (is_joined, new.map(ToString::to_string).collect::<String>())
            };
            prop_assert_eq!(found(&one), (false, String::new()));
            let replays = [run(first, later, 1, Some(1)), run(first, later + 900_000, 1, Some(2))].concat();
            prop_assert_eq!(found(&replays), (false, String::new()));
            let again = [one.clone(), run(first, later + 900_000, 1, None)].concat();
            prop_assert!(!found(&again).0, "cycles do not go back");
            let other = [one.clone(), run(second, 0, first + 1, None)].concat();
            prop_assert!(!found(&other).0, "no call comes twice");
            // Some runs begin with calls that the other does not have.
            let joined = [one.clone(), run(second, 0, 1 + skipped, None)].concat();
            let (is_joined, told) = found(&joined);
            prop_assert!(is_joined);
            let begin = format!("line {0}, column GLOBAL CALL COUNT: expected one run", one.len() + 2);
            prop_assert!(told.contains(&begin), "{}", told);
            prop_assert!(told.contains(&format!("a second run from row {} on", one.len() + 2)), "{}", told);
        }
    }
}
