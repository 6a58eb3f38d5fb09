//! Reader for a device perf report written by TT-Metal's host.

use super::analyses::QUASAR_KINDS;
use crate::problem::ProblemLog;
use crate::report::{
    device_op::{DeviceOp, DeviceOps, Rate},
    line_records::LineRecords,
    sheet::is_device_column,
};
use std::collections::{BTreeMap, HashMap};

const DEVICE: &str = "DEVICE ID";
const OP: &str = "GLOBAL CALL COUNT";
const TRACE: &str = "METAL TRACE ID";
const SESSION: &str = "METAL TRACE REPLAY SESSION ID";

/// Columns that identify a row. They are not copied to the ops report, which has its own values for
/// them.
const KEYS: [&str; 4] = [DEVICE, OP, TRACE, SESSION];

/// Reads all rows by chip, in the order of the file. A row replaces an earlier row with the same
/// ids.
pub(in crate::report) fn read_report(
    bytes: &[u8],
    file: &str,
    problems: &mut ProblemLog,
) -> DeviceOps {
    let mut records = LineRecords::new(bytes, file);
    let mut record = csv::ByteRecord::new();
    if records.next(&mut record, problems).is_none() {
        problems.add_to_file(file, "expected titles, found nothing");
        return DeviceOps::new();
    }
    let titles: Vec<_> = record.iter().map(|t| String::from_utf8_lossy(t).into_owned()).collect();
    for key in KEYS.iter().filter(|key| !titles.iter().any(|title| title == **key)) {
        problems.add_to_field(file, 1, *key, "expected this column");
    }
    let mut reader = RowReader { file, titles, problems, rates: BTreeMap::new() };
    let mut ops = DeviceOps::new();
    let mut positions = HashMap::new();
    while let Some(line) = records.next(&mut record, reader.problems) {
        let Some(op) = reader.op(&record, line) else { continue };
        let device_ops = ops.entry(op.device_id).or_default();
        let key = (op.device_id, op.run_host_id, op.trace_id, op.session_id);
        match positions.get(&key).and_then(|&position| device_ops.get_mut(position)) {
            Some(known) => *known = op,
            None => {
                positions.insert(key, device_ops.len());
                device_ops.push(op);
            }
        }
    }
    ops
}

/// Column with the name of an op, which a report takes only if no host names its ops.
pub(in crate::report) const OP_NAME: &str = "OP NAME";

struct RowReader<'input> {
    file: &'input str,
    titles: Vec<String>,
    problems: &'input mut ProblemLog,
    /// Nanoseconds per cycle of each chip, from the chip's first row with both cycles and
    /// nanoseconds.
    rates: BTreeMap<u64, f64>,
}

impl RowReader<'_> {
    fn op(&mut self, record: &csv::ByteRecord, line: u64) -> Option<DeviceOp> {
        if record.len() != self.titles.len() {
            let (expected, found) = (self.titles.len(), record.len());
            let detail =
                format!("expected {expected} columns, found {found}; the line is left out");
            self.problems.add_to_line(self.file, line, detail);
            return None;
        }
        let mut op = DeviceOp::default();
        for (title, text) in self.titles.iter().zip(record) {
            let text = String::from_utf8_lossy(text);
            let text = text.trim();
            if text.is_empty() {
                continue;
            }
            // Cells of other columns, such as latencies, are copied as they are.
            if !is_number_column(title) {
                op.set(title.clone(), text);
            } else if let Some(number) = whole_number(text) {
                op.set(title.clone(), number.to_string());
            } else {
                let detail = format!("expected a whole number, found `{text}`; the cell is empty");
                self.problems.add_to_field(self.file, line, title, detail);
            }
        }
        (op.trace_id, op.session_id) = (op.number(TRACE), op.number(SESSION));
        let (Some(device_id), Some(run_host_id)) = (op.number(DEVICE), op.number(OP)) else {
            let detail = "expected a device and an op; the line is left out";
            self.problems.add_to_line(self.file, line, detail);
            return None;
        };
        (op.device_id, op.run_host_id) = (device_id, run_host_id);
        self.add_spans(&mut op);
        let is_kept = |title: &str| is_device_column(title) || title == OP_NAME;
        op.cells.retain(|title, _| is_kept(title) && !KEYS.contains(&&**title));
        Some(op)
    }

    fn add_spans(&mut self, op: &mut DeviceOp) {
        let firmware = op.span("DEVICE FW START CYCLE", "DEVICE FW END CYCLE");
        let kernel = op.span("DEVICE KERNEL START CYCLE", "DEVICE KERNEL END CYCLE");
        let data_movement = op.span("DEVICE KERNEL DM START CYCLE", "DEVICE KERNEL DM END CYCLE");
        if let (Some(span), Some(ns)) = (firmware, op.number("DEVICE FW DURATION [ns]"))
            && span.end_cycle > span.start_cycle
            && ns > 0
        {
            let rate = ns as f64 / span.end_cycle.saturating_sub(span.start_cycle) as f64;
            self.rates.entry(op.device_id).or_insert(rate);
        }
        op.begin_cycle = firmware.or(kernel).map_or(0, |span| span.start_cycle);
        op.quasar_kernels = QUASAR_KINDS.map(|kind| {
            let [start, end] = kind.kernel_cycles;
            Some((op.span(start, end)?, op.number(kind.kernel_duration).unwrap_or(0)))
        });
        (op.kernel, op.data_movement) = (kernel, data_movement);
        op.rate =
            self.rates.get(&op.device_id).map_or(Rate::Unknown, |&rate| Rate::NsPerCycle(rate));
    }
}

fn is_number_column(title: &str) -> bool {
    let is_count = matches!(title, OP | TRACE | SESSION | DEVICE | "CORE COUNT");
    let is_duration = title.starts_with("DEVICE ") && !title.starts_with("DEVICE ARCH");
    is_count || is_duration || title == "AVAILABLE WORKER CORE COUNT"
}

/// Parses a whole number, even if it is printed as a float.
fn whole_number(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        crate::report::value::whole_text(number.trunc()).parse().ok()
    })
}
