//! Gaps before ops, from the cycles of ops: for files that have no column of gaps, and against gaps of
//! 0 that are none.

use super::{
    op::{RowKind, kind_of},
    row::OpRow,
    titles::LATENCY,
};
use crate::problem::{Position, ProblemLog};
use std::collections::BTreeMap;

/// Time between two ops, by their cycles, from which on a gap of 0 is no measurement.
const CONTRADICTED_NS: f64 = 1000.0;

/// Removes gaps of 0 before ops that, by their cycles, begin long after the previous op of the device,
/// and adds a problem for each. TT-Metal's tables of the device alone have a 0 where records before
/// the op were dropped.
pub(super) fn remove_contradicted(rows: &mut [OpRow], files: &[String], problems: &mut ProblemLog) {
    let mut ends = BTreeMap::new();
    let ops = rows.iter_mut().filter(|row| kind_of(row, false) == RowKind::Device);
    for row in ops.filter(|row| !row.is_captured()) {
        let firmware = row.firmware_start_cycle.zip(row.firmware_end_cycle);
        let Some((start, end)) = row.kernel_cycles.or(firmware) else {
            ends.remove(&row.device);
            continue;
        };
        let before: Option<u64> = ends.insert(row.device, end);
        let distance = before.and_then(|before| start.checked_sub(before)).zip(row.clock_ghz);
        let distance_ns = distance.map_or(0.0, |(cycles, clock_ghz)| cycles as f64 / clock_ghz);
        if row.op_to_op_latency_ns == Some(0.0) && distance_ns >= CONTRADICTED_NS {
            row.op_to_op_latency_ns = None;
            let file = files.get(row.file).map_or("", String::as_str);
            let place = Position { file, line: row.line, column: LATENCY };
            let expected = format!("the {distance_ns:.0} ns since the row before, by the cycles");
            problems.add_deviation(place, &expected, "0", "the gap is unknown");
        }
    }
}

/// Fills in the times since the previous ops of the devices, if no row of the files has one, as in
/// files until 2024.
///
/// The time before an op stays unknown if the cycles of the op or of the op before it are unknown, or
/// if both overlap.
pub(super) fn fill_latencies(rows: &mut [OpRow], notes: &mut Vec<String>) -> bool {
    if rows.iter().any(|row| row.op_to_op_latency_ns.is_some()) {
        return false;
    }
    let mut ends: BTreeMap<Option<u64>, Option<u64>> = BTreeMap::new();
    let mut is_filled = false;
    let ops = rows.iter_mut().filter(|row| kind_of(row, false) == RowKind::Device);
    for row in ops.filter(|row| !row.is_captured()) {
        let before = ends.insert(row.device, row.firmware_end_cycle).flatten();
        let gap = before.zip(row.firmware_start_cycle).zip(row.clock_ghz);
        let gap_ns = gap
            .and_then(|((end, start), clock_ghz)| Some(start.checked_sub(end)? as f64 / clock_ghz));
        row.op_to_op_latency_ns = gap_ns;
        is_filled |= gap_ns.is_some();
    }
    if is_filled {
        notes.push("Gaps: from the cycles of firmware; the files have no latencies".to_owned());
    }
    is_filled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(device: u64, kernel_cycles: (u64, u64), gap_ns: Option<f64>) -> OpRow {
        OpRow {
            op_type: "tt_dnn_device".into(),
            device: Some(device),
            kernel_cycles: Some(kernel_cycles),
            clock_ghz: Some(2.0),
            op_to_op_latency_ns: gap_ns,
            ..OpRow::default()
        }
    }

    #[test]
    fn a_gap_of_0_that_the_cycles_contradict_is_unknown() {
        let mut rows = [
            op(0, (1000, 2000), Some(0.0)),
            // 1998 cycles of 2 GHz: 999 ns.
            op(0, (3998, 5000), Some(0.0)),
            op(1, (9000, 9500), Some(0.0)),
            op(0, (7000, 8000), Some(0.0)),
            op(0, (90_000, 91_000), Some(12.0)),
            // Before the row above it, as in a file sorted by names.
            op(0, (100, 200), Some(0.0)),
            op(1, (12_000, 12_500), Some(0.0)),
        ];
        let mut problems = ProblemLog::default();
        remove_contradicted(&mut rows, &["a.csv".to_owned()], &mut problems);
        let gaps = rows.map(|row| row.op_to_op_latency_ns);
        let zero = Some(0.0);
        assert_eq!(gaps, [zero, zero, zero, None, Some(12.0), zero, None]);
        let told: Vec<_> = problems.kept().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2);
        assert!(
            told[0].contains("expected the 1000 ns since the row before, by the cycles"),
            "{told:?}"
        );
        assert!(told[1].contains("1250 ns") && told[1].contains("the gap is unknown"), "{told:?}");
    }
}
