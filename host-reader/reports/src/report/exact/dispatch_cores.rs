//! Dispatch cores of a device log, analysed as in TT-Metal's scripts.

use super::series::{DeviceLog, sort_rows};
use crate::report::dispatch::{
    DispatchOps, DispatchRow, is_of_dispatch_core, ops_of_core, record_ops,
};
use reader::mesh::Noc0Coord;
use recording::device_log::walk_device_log;
use std::collections::{BTreeMap, HashMap};
use wire::{PacketKind, Risc};

/// Rows of one core, with their RISC.
type CoreRows = Vec<(Risc, DispatchRow)>;

/// Returns the work of the dispatch cores of each chip. Rows that begin or end a command are
/// renamed after the command, because TT-Metal's scripts pass these rows to all other analyses
/// under this name.
pub(super) fn dispatch_of(
    log: &mut DeviceLog,
    text: &[u8],
    file: &str,
) -> BTreeMap<u64, DispatchOps> {
    let mut ops = BTreeMap::new();
    let mut core_rows = dispatch_cores(log);
    if core_rows.is_empty() {
        return ops;
    }
    // The log has already been read, and its errors were reported then.
    let _ = walk_device_log(
        text,
        file,
        |line| {
            let key = (u64::from(line.lane.chip_id), line.lane.core);
            let Some(rows) = core_rows.get_mut(&key) else { return };
            let is_end = line.kind == PacketKind::ZoneEnd;
            let (name, risc) = (String::from_utf8_lossy(line.place.name), line.lane.risc);
            rows.push((risc, DispatchRow::new(line.time, risc, is_end, &name, line.metadata)));
        },
        |_, _| (),
    );
    let mut core_rows: Vec<_> = core_rows.into_iter().collect();
    core_rows.sort_by_key(|(key, _)| *key);
    for ((chip_id, core), mut rows) in core_rows {
        sort_rows(&mut rows, |(risc, row)| (row.time, *risc));
        let mut rows: Vec<_> = rows.into_iter().map(|(_, row)| row).collect();
        record_ops(ops.entry(chip_id).or_default(), ops_of_core(&mut rows));
        rename(log, (chip_id, core), &rows);
    }
    ops
}

fn dispatch_cores(log: &DeviceLog) -> HashMap<(u64, Noc0Coord), CoreRows> {
    // True for each zone name that identifies a dispatch core, on any RISC except ERISC.
    let is_named: Vec<_> =
        log.names.iter().map(|name| is_of_dispatch_core(Risc::Brisc, name)).collect();
    if !is_named.contains(&true) {
        return HashMap::new();
    }
    let cores = log.chips.iter().flat_map(|(&id, cores)| cores.iter().map(move |core| (id, core)));
    let dispatching = cores.filter(|(_, core)| {
        let mut rows = core.rows.iter().filter(|row| row.risc != Risc::Erisc);
        rows.any(|row| is_named.get(row.name as usize) == Some(&true))
    });
    dispatching.map(|(chip_id, core)| ((chip_id, core.core), Vec::new())).collect()
}

/// Renames the rows of a core in the log. The n-th row gets the name of the n-th row in `rows`.
fn rename(log: &mut DeviceLog, (chip_id, core): (u64, Noc0Coord), rows: &[DispatchRow]) {
    let names: Vec<_> = rows.iter().map(|row| log.number_of(row.name.as_bytes())).collect();
    let cores = log.chips.get_mut(&chip_id).into_iter().flatten();
    for series in cores.filter(|series| series.core == core) {
        for (row, &name) in series.rows.iter_mut().zip(&names) {
            row.name = name;
        }
    }
}
