//! Host times of each op, from the host's Tracy zones.
//!
//! # Compatibility
//! [`OP_TIMES`](recording::host_ops::OP_TIMES): the text of an op's zone is `id:<op id>`. Zones
//! inside an op's zone contain this text in `special_parent_text`.

use super::line_records::LineRecords;
use crate::problem::ProblemLog;
use recording::host_ops::{HostLog, HostTime};
use std::collections::BTreeMap;

const NAME: &str = "name";
const ZONE_TEXT: &str = "zone_text";
const START: &str = "ns_since_start";
const DURATION: &str = "exec_time_ns";
const PARENT: &str = "special_parent_text";

/// Adds the host times of the ops in `log`.
pub(super) fn read_times(bytes: &[u8], file: &str, log: &mut HostLog, problems: &mut ProblemLog) {
    let mut records = LineRecords::new(bytes, file);
    let mut record = csv::ByteRecord::new();
    if records.next(&mut record, problems).is_none() {
        return problems
            .add_to_file(file, "expected titles, found nothing; host times are left out");
    }
    let titles: Vec<_> = record.iter().map(|t| String::from_utf8_lossy(t).into_owned()).collect();
    let position = |title: &str| titles.iter().position(|found| found.trim() == title);
    let needed = [NAME, ZONE_TEXT, START, DURATION].map(|title| (title, position(title)));
    for (title, _) in needed.iter().filter(|(_, position)| position.is_none()) {
        problems.add_to_field(file, 1, *title, "expected this column; host times are left out");
    }
    let [Some(name), Some(zone_text), Some(start), Some(duration)] = needed.map(|(_, at)| at)
    else {
        return;
    };
    let columns = Columns { name, zone_text, start, duration, parent: position(PARENT) };
    let positions = log.positions();
    let mut times =
        TimeReader { file, columns, title_count: titles.len(), positions, log, problems };
    while let Some(line) = records.next(&mut record, times.problems) {
        times.record(&record, line);
    }
}

struct Columns {
    name: usize,
    zone_text: usize,
    start: usize,
    duration: usize,
    parent: Option<usize>,
}

struct TimeReader<'input> {
    file: &'input str,
    columns: Columns,
    title_count: usize,
    /// Index of each op in the log, by id.
    positions: BTreeMap<u64, usize>,
    log: &'input mut HostLog,
    problems: &'input mut ProblemLog,
}

impl TimeReader<'_> {
    fn record(&mut self, record: &csv::ByteRecord, line: u64) {
        let text = |column: usize| String::from_utf8_lossy(record.get(column).unwrap_or(b""));
        let name = text(self.columns.name);
        let is_op = name.contains("TT_DNN") || name.contains("TT_METAL");
        let parent = self.columns.parent.map(text).filter(|parent| parent.contains("id:"));
        if !is_op && parent.is_none() {
            return;
        }
        if record.len() != self.title_count {
            let (expected, found) = (self.title_count, record.len());
            let detail =
                format!("expected {expected} columns, found {found}; the line is left out");
            return self.problems.add_to_line(self.file, line, detail);
        }
        let Some(duration_ns) = self.number(&text(self.columns.duration), DURATION, line) else {
            return;
        };
        if is_op
            && let Some(position) = self.op_of_zone(&text(self.columns.zone_text), line)
            && let Some(start_ns) = self.number(&text(self.columns.start), START, line)
            && let Some(op) = self.log.ops.get_mut(position)
        {
            op.time = Some(HostTime { start_ns, duration_ns });
        }
        let parent = parent.and_then(|parent| self.positions.get(&id_of(&parent)?));
        if let Some(parent) = parent.and_then(|&position| self.log.ops.get_mut(position)) {
            let sum_ns = parent.child_calls_ns.entry(name.into_owned()).or_default();
            *sum_ns = sum_ns.saturating_add(duration_ns);
        }
    }

    /// Returns the index of the op to which the zone with this text belongs.
    fn op_of_zone(&mut self, zone_text: &str, line: u64) -> Option<usize> {
        let id = id_of(zone_text);
        let position = id.and_then(|id| self.positions.get(&id)).copied();
        if position.is_none() {
            let detail = match id {
                None => format!("expected `id:` and an op's id, found `{zone_text}`"),
                Some(id) => {
                    format!("op {id} has a time, and no message describes it; it is left out")
                }
            };
            self.problems.add_to_field(self.file, line, ZONE_TEXT, detail);
        }
        position
    }

    fn number(&mut self, text: &str, title: &str, line: u64) -> Option<u64> {
        let number = text.trim().parse().ok();
        if number.is_none() {
            let detail = format!("expected nanoseconds, found `{text}`; the line is left out");
            self.problems.add_to_field(self.file, line, title, detail);
        }
        number
    }
}

/// Parses the number after the last colon.
fn id_of(text: &str) -> Option<u64> {
    text.rsplit(':').next()?.trim().parse().ok()
}
