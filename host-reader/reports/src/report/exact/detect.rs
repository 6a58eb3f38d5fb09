//! Detection of ops in the rows of a chip, as in TT-Metal's scripts and including their known
//! bugs.
//!
//! # Compatibility
//! `process_device_log.py`: rows are processed program by program. An op is complete when every
//! core of the program has recorded the end of the firmware zone of its master RISC. The rows after
//! that belong to the next op. If an op is still incomplete after the last row of its program, the
//! rows of the next program are added to it. The last op is dropped if it is incomplete.

use super::series::{CoreSeries, DeviceLog, Row, grouped};
use crate::problem::ProblemLog;
use reader::mesh::Noc0Coord;
use std::collections::BTreeMap;
use wire::{PacketKind, Risc};

/// Rows of one op, in the order in which TT-Metal's script reads them.
pub(super) type OpRows = Vec<Row>;

/// Detects the ops of one chip.
pub(super) fn ops_of_chip(
    log: &DeviceLog,
    chip_id: u64,
    cores: &[CoreSeries],
    file: &str,
    problems: &mut ProblemLog,
) -> Vec<OpRows> {
    let mut rows: Vec<Row> = cores.iter().flat_map(|core| core.rows.iter().copied()).collect();
    rows.sort_by_key(|row| row.time);
    let mut detector = Detector { masters: Masters::new(log), ops: vec![Vec::new()] };
    let programs = grouped(&rows, |row| row.program);
    drop(rows);
    for (program, rows) in programs {
        if program == 0 {
            let count = rows.len();
            let detail = format!("device {chip_id}: {count} lines of run host ID 0 are of no op");
            problems.add_to_file(file, detail);
            continue;
        }
        if let Err(row) = detector.add_program(&rows) {
            problems.add_to_file(
                file,
                format!(
                    "op {program} of device {chip_id}: core {} begins its firmware at cycle {} \
                     before all cores of the launch before have ended theirs; upstream gives up \
                     here, this report closes the op",
                    row.core, row.time
                ),
            );
        }
    }
    detector.ops.pop();
    detector.ops
}

/// Zones whose start and end mark the start and end of an op on a core.
struct Masters(Vec<(Risc, u32)>);

impl Masters {
    fn new(log: &DeviceLog) -> Self {
        let named = [
            (Risc::Brisc, "BRISC-FW"),
            (Risc::Erisc, "ERISC-FW"),
            (Risc::TensixAggregate, "TRACE-FW"),
            (Risc::QuasarDm0, "DM0-FW"),
        ];
        let numbered = named.into_iter();
        Self(numbered.filter_map(|(risc, name)| Some((risc, log.name_number(name)?))).collect())
    }

    fn is_boundary(&self, row: &Row, kind: PacketKind) -> bool {
        row.kind == kind && self.0.contains(&(row.risc, row.name))
    }
}

/// State of a core in the current op.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Unseen,
    Begun,
    Ended,
}

struct Detector {
    masters: Masters,
    /// Ops detected so far. The last one is still open.
    ops: Vec<OpRows>,
}

impl Detector {
    /// Processes the rows of a program. If a row starts a zone for which TT-Metal's script would
    /// fail, returns the first such row as the error.
    fn add_program(&mut self, rows: &[Row]) -> Result<(), Row> {
        let is_data = |row: &&Row| row.kind == PacketKind::TimestampedData;
        let boundary_rows = || rows.iter().filter(|row| !is_data(row));
        let mut cores: BTreeMap<Noc0Coord, Progress> =
            boundary_rows().map(|row| (row.core, Progress::Unseen)).collect();
        let first_op = self.ops.len().saturating_sub(1);
        let mut refused = None;
        for row in boundary_rows().filter(|row| row.marker_id != 0) {
            if !self.add_row(*row, &mut cores) {
                refused = refused.or(Some(*row));
            }
        }
        if let Some(op) = self.ops.get_mut(first_op) {
            op.extend(rows.iter().filter(is_data).copied());
        }
        refused.map_or(Ok(()), Err)
    }

    /// Adds a row. Returns `false` if TT-Metal's script would reject the row.
    fn add_row(&mut self, row: Row, cores: &mut BTreeMap<Noc0Coord, Progress>) -> bool {
        let progress = cores.get(&row.core).copied().unwrap_or(Progress::Unseen);
        let is_start = self.masters.is_boundary(&row, PacketKind::ZoneStart);
        let is_end = self.masters.is_boundary(&row, PacketKind::ZoneEnd);
        let is_refused = is_start && progress != Progress::Unseen;
        if is_refused {
            self.close(cores);
        }
        if is_start {
            cores.insert(row.core, Progress::Begun);
        } else if is_end && progress != Progress::Unseen {
            cores.insert(row.core, Progress::Ended);
        }
        self.push(row);
        let is_done = is_end && cores.values().all(|&progress| progress == Progress::Ended);
        if is_done {
            self.close(cores);
        }
        !is_refused
    }

    fn push(&mut self, row: Row) {
        if let Some(op) = self.ops.last_mut() {
            op.push(row);
        }
    }

    fn close(&mut self, cores: &mut BTreeMap<Noc0Coord, Progress>) {
        self.ops.push(Vec::new());
        cores.values_mut().for_each(|progress| *progress = Progress::Unseen);
    }
}
