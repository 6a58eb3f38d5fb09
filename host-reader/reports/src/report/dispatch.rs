//! Work of the dispatch cores for each op: dispatch commands, and the wait before the go signal.
//!
//! # Compatibility
//! `process_device_log.py` and `process_ops_logs.py` of TT-Metal 0.81.1. Cores with a zone of a
//! dispatcher or prefetcher are analysed separately. The metadata of BRISC and NCRISC rows contain
//! the current op and command. The n-th op of BRISC is also the n-th op of NCRISC.

#![expect(
    clippy::indexing_slicing,
    reason = "indices are those of the rows themselves, and ids those of the ops found"
)]

use super::{DISPATCHER, DISPATCHER_WAIT, value::Value};
use reader::{
    lane::{Annotated, Lane, ZoneIndex},
    mesh::Noc0Coord,
    names::ZoneTable,
    packed_bytes::PackedError,
    role::ZoneRole,
};
use recording::Lanes;
use std::collections::{BTreeMap, HashMap};
use wire::{PacketKind, Risc};

/// Columns for the durations in [`DispatchOp`].
pub(super) const COLUMNS: [&str; 2] = [DISPATCHER, DISPATCHER_WAIT];

/// Text in the name of each zone that measures a command of a dispatcher.
const COMMAND: &str = "CQ_DISPATCH_";
const SEND_GO: &str = "CQ_DISPATCH_CMD_SEND_GO_SIGNAL";
/// Command that finishes an op.
const NOTIFY: &str = "CQ_DISPATCH_NOTIFY_SUBORDINATE_GO_SIGNAL";

/// RISCs of a dispatch core. The first one begins each op, and the second one waits until it can
/// send the op's go signal.
pub(super) const RISCS: [Risc; 2] = [Risc::Brisc, Risc::Ncrisc];

/// Returns true if only a dispatch core has a zone with this name on this RISC.
pub(super) fn is_of_dispatch_core(risc: Risc, zone: &str) -> bool {
    risc != Risc::Erisc && ZoneRole::from_name(zone).is_dispatch()
}

/// One record of a dispatch core, as a row of a device log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DispatchRow {
    pub(super) time: u64,
    /// Index in [`RISCS`]; `None` for other RISCs.
    pub(super) risc: Option<usize>,
    pub(super) is_end: bool,
    /// Name of the row's zone. In the first and last row of a command, it is replaced by the
    /// command's name.
    pub(super) name: String,
    /// Id of the op in the row's metadata.
    pub(super) workers_id: Option<u64>,
    command: Option<String>,
}

impl DispatchRow {
    pub(super) fn new(time: u64, risc: Risc, is_end: bool, name: &str, metadata: &[u8]) -> Self {
        let risc = RISCS.iter().position(|&known| known == risc);
        let row = Self { time, risc, is_end, name: name.to_owned(), ..Self::default() };
        if metadata.is_empty() {
            return row;
        }
        let text = String::from_utf8_lossy(metadata).replace(';', ",").replace('\'', "\"");
        let Ok(value) = serde_json::from_str::<Value>(&text) else { return row };
        Self {
            workers_id: value.get("workers_runtime_id").and_then(Value::number),
            command: value.get("dispatch_command_type").map(Value::cell),
            ..row
        }
    }
}

/// First and last cycle of a time span.
type Span = (u64, u64);

/// Work of a dispatch core for one op.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DispatchOp {
    /// Id of the op, as recorded by the dispatcher.
    pub(super) id: u64,
    pub(super) begin: u64,
    /// Spans for the columns in [`COLUMNS`].
    pub(super) spans: [Option<Span>; 2],
}

/// Work of the dispatch cores for the ops of one chip, by op id.
pub(super) type DispatchOps = BTreeMap<u64, DispatchOp>;

/// Adds the ops of a core to the ops of its chip. If two ops have the same id, the later op is
/// kept.
pub(super) fn record_ops(ops: &mut DispatchOps, core_ops: Vec<DispatchOp>) {
    for op in core_ops {
        let known = ops.entry(op.id).or_insert(op);
        if known.begin <= op.begin {
            *known = op;
        }
    }
}

/// Indices of the rows that belong to one op.
type Rows = Vec<usize>;

/// State of a RISC while its rows are read.
#[derive(Default)]
struct Progress {
    /// Indices of the rows since the most recent row that ended a zone.
    open: Rows,
    id: u64,
    command: String,
    is_finished: bool,
    /// Indices of each op's rows, by op id.
    ops: BTreeMap<u64, Rows>,
}

impl Progress {
    fn record(&mut self, at: usize, rows: &mut [DispatchRow]) {
        self.open.push(at);
        let row = &rows[at];
        if let Some(id) = row.workers_id {
            self.is_finished = false;
            // If an op id occurs again, the later rows are not assigned to the op.
            self.id = if self.ops.contains_key(&id) { 0 } else { id };
        }
        if let Some(command) = &row.command {
            self.command.clone_from(command);
            self.is_finished |= command.contains(NOTIFY);
            self.id = self.id.saturating_add(u64::from(command.contains(SEND_GO)));
        }
        if !row.is_end {
            return;
        }
        for end in [self.open.first(), self.open.last()].into_iter().flatten() {
            rows[*end].name.clone_from(&self.command);
        }
        self.ops.entry(self.id).or_default().append(&mut self.open);
        if self.is_finished {
            self.id = 0;
        }
    }

    /// Returns the ids of the ops, sorted by the time of each op's first row.
    fn in_order(&self, rows: &[DispatchRow]) -> Vec<u64> {
        let mut ids: Vec<u64> = self.ops.keys().copied().collect();
        ids.sort_by_key(|id| self.ops[id].first().map(|&row| rows[row].time));
        ids
    }
}

/// Returns the ops of one dispatch core, sorted by start. `rows` are all rows of the core, sorted
/// by time.
pub(super) fn ops_of_core(rows: &mut [DispatchRow]) -> Vec<DispatchOp> {
    let mut riscs = [Progress::default(), Progress::default()];
    for at in 0..rows.len() {
        if let Some(risc) = rows[at].risc {
            riscs[risc].record(at, rows);
        }
    }
    let [master, subordinate] = &riscs;
    let waits = subordinate.in_order(rows);
    let ids = master.in_order(rows).into_iter().enumerate();
    ids.filter_map(|(number, id)| {
        let mut op_rows = master.ops[&id].clone();
        let wait = waits.get(number).and_then(|id| subordinate.ops.get(id));
        op_rows.extend(wait.into_iter().flatten());
        op_rows.sort_by_key(|&row| rows[row].time);
        (id > 0).then(|| dispatch_op(&op_rows, rows))
    })
    .collect()
}

fn dispatch_op(op_rows: &[usize], rows: &[DispatchRow]) -> DispatchOp {
    let rows: Vec<_> = op_rows.iter().map(|&at| &rows[at]).collect();
    let kinds: [fn(&DispatchRow) -> bool; 2] = [
        |row| row.risc == Some(0) && row.name.contains(COMMAND),
        |row| row.risc == Some(1) && row.name == SEND_GO,
    ];
    DispatchOp {
        id: rows.iter().find_map(|row| row.workers_id).unwrap_or(0),
        begin: rows.first().map_or(0, |row| row.time),
        spans: kinds.map(|is_it| {
            let first = rows.iter().position(|row| is_it(row))?;
            let last = rows.iter().rposition(|row| is_it(row)).filter(|&last| last > first)?;
            Some((rows[first].time, rows[last].time))
        }),
    }
}

/// Returns true if any zone has a name that occurs on dispatch cores only.
pub(super) fn has_dispatch(zones: &ZoneTable) -> bool {
    zones.places().any(|(_, zone)| ZoneRole::from_name(&zone.name).is_dispatch())
}

/// Returns the rows of each chip's dispatch cores, core by core and sorted by time.
///
/// # Errors
/// If packed records cannot be read back from the temporary file.
pub(super) fn dispatch_rows(
    lanes: Lanes<'_>,
) -> Result<BTreeMap<u64, Vec<Vec<DispatchRow>>>, PackedError> {
    let zones = &lanes.readout.zones;
    let parts = lanes.fold_cores(|cores: &mut Vec<_>, lanes| {
        if lanes.iter().any(|lane| dispatches(lane, zones)) {
            let rows = lanes.iter().flat_map(|lane| rows_of_lane(lane, zones));
            let mut rows: Vec<DispatchRow> = rows.collect();
            rows.sort_by_key(|row| row.time);
            cores.extend(lanes.first().map(|lane| ((lane.id.chip_id, lane.id.core), rows)));
        }
    })?;
    let sorted: BTreeMap<(u32, Noc0Coord), _> = parts.into_iter().flatten().collect();
    let mut chips: BTreeMap<u64, Vec<_>> = BTreeMap::new();
    for ((chip_id, _), rows) in sorted {
        chips.entry(chip_id.into()).or_default().push(rows);
    }
    Ok(chips)
}

/// Returns true if a lane contains a zone of a dispatcher or prefetcher.
fn dispatches(lane: &Lane, zones: &ZoneTable) -> bool {
    let mut known: HashMap<ZoneIndex, bool> = HashMap::new();
    lane.heads.iter().any(|head| {
        let zone = head.zone();
        *known.entry(zone).or_insert_with(|| is_of_dispatch_core(lane.id.risc, zones.name(zone)))
    })
}

fn rows_of_lane(lane: &Lane, zones: &ZoneTable) -> impl Iterator<Item = DispatchRow> {
    lane.annotated_records().map(|Annotated { record, text, .. }| {
        let is_end = record.kind == PacketKind::ZoneEnd;
        let (name, text) = (zones.name(record.zone), text.unwrap_or("").as_bytes());
        DispatchRow::new(record.time, lane.id.risc, is_end, name, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(time: u64, risc: Risc, is_end: bool, metadata: &str) -> DispatchRow {
        DispatchRow::new(time, risc, is_end, "CQ-DISPATCH", metadata.as_bytes())
    }

    fn command(time: u64, risc: Risc, name: &str) -> [DispatchRow; 3] {
        let metadata = format!(r#"{{"dispatch_command_type":"{name}"}}"#);
        [
            row(time, risc, false, ""),
            row(time + 1, risc, false, &metadata),
            row(time + 10, risc, true, ""),
        ]
    }

    #[test]
    fn an_id_may_be_as_large_as_a_number_can_be() {
        let [b, _] = RISCS;
        let metadata = format!(r#"{{"workers_runtime_id":{}}}"#, u64::MAX);
        let mut rows = vec![row(100, b, false, &metadata)];
        rows.extend(command(110, b, SEND_GO));
        let ids: Vec<_> = ops_of_core(&mut rows).iter().map(|op| op.id).collect();
        assert_eq!(ids, [u64::MAX]);
    }

    #[test]
    fn commands_between_two_ids_are_of_the_first() {
        let [b, n] = RISCS;
        let id =
            |time, risc, id| row(time, risc, false, &format!(r#"{{"workers_runtime_id":{id}}}"#));
        let mut rows = Vec::new();
        for (time, op) in [(100, 7), (300, 8)] {
            rows.push(id(time, b, op));
            rows.extend(command(time + 1, b, "CQ_DISPATCH_CMD_WRITE_PACKED"));
            rows.extend(command(time + 20, b, "CQ_DISPATCH_CMD_WAIT"));
            rows.extend(command(time + 40, b, NOTIFY));
            // Until the signal is sent, the wait has the id of the previous op.
            rows.extend(command(time + 60, n, SEND_GO));
        }
        rows.sort_by_key(|row| row.time);
        let ops = ops_of_core(&mut rows);
        let found: Vec<_> = ops.iter().map(|op| (op.id, op.spans)).collect();
        assert_eq!(
            found,
            [(7, [Some((100, 150)), Some((160, 170))]), (8, [Some((300, 350)), Some((360, 370))]),]
        );
    }

    #[test]
    fn rows_that_say_nothing_are_of_no_op() {
        let mut rows = vec![row(1, Risc::Brisc, false, ""), row(2, Risc::Brisc, true, "broken")];
        assert_eq!(ops_of_core(&mut rows), []);
        assert!(is_of_dispatch_core(Risc::Ncrisc, "CQ-PREFETCH"));
        assert!(!is_of_dispatch_core(Risc::Erisc, "CQ-DISPATCH"));
    }
}
