//! Gaps before ops, from the cycles of their firmware, for files that have no column of gaps.

use super::{
    op::{RowKind, kind_of},
    row::OpRow,
};
use std::collections::BTreeMap;

/// Fills in the times since the previous ops of the devices, if no row of the files has one, as in
/// files until 2024.
///
/// The time before an op stays unknown if the cycles of the op or of the op before it are unknown, or
/// if both overlap.
pub(super) fn fill_latencies(rows: &mut [OpRow], notes: &mut Vec<String>) {
    if rows.iter().any(|row| row.op_to_op_latency_ns.is_some()) {
        return;
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
}
