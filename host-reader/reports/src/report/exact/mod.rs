//! Interpretation of device logs as in TT-Metal's Python scripts, for comparison with these
//! scripts.
//!
//! The results reproduce TT-Metal's report, but are not the correct figures. The default report
//! uses [`analysis`].
//!
//! # Compatibility
//! `process_device_log.py` and `process_ops_logs.py` of release 0.81.1.

mod detect;
mod dispatch_cores;
mod durations;
mod series;

use super::{
    device_op::{DeviceOp, DeviceOps},
    dispatch::DispatchOps,
    marks::{Mark, PackedMarks},
    per_core::CoreMarks,
};
use crate::problem::ProblemLog;
use detect::ops_of_chip;
use dispatch_cores::dispatch_of;
use durations::{DurationZones, KERNELS};
use reader::packed_bytes::PackedMemory;
use series::DeviceLog;
use std::collections::BTreeMap;
use wire::PacketKind;

pub(super) use durations::SUMS;
pub(super) use series::{ExactCounters, SubDevices};

/// Results that TT-Metal's scripts compute from a device log.
pub(super) struct ExactLog {
    pub(super) ops: DeviceOps,
    pub(super) sub_devices: SubDevices,
    pub(super) counters: ExactCounters,
    /// Kernel starts and ends of each chip's cores.
    pub(super) marks: Vec<(u64, Vec<CoreMarks>)>,
    pub(super) aiclk_mhz: u32,
    pub(super) is_quasar: bool,
    /// Work of the dispatch cores, by chip.
    pub(super) dispatch: BTreeMap<u64, DispatchOps>,
}

/// Interprets a log as TT-Metal's scripts do; returns `None` if it is not a device log.
pub(super) fn read_exactly(
    text: &[u8],
    file: &str,
    is_device_only: bool,
    problems: &mut ProblemLog,
) -> Option<ExactLog> {
    let mut log = DeviceLog::read(text, file, problems)?;
    let dispatch = dispatch_of(&mut log, text, file);
    let durations = DurationZones::new(&log, is_device_only);
    let mut ops = DeviceOps::new();
    for (&chip_id, cores) in &log.chips {
        let rows = ops_of_chip(&log, chip_id, cores, file, problems);
        let chip_ops: Vec<DeviceOp> =
            rows.iter().filter_map(|rows| durations.op(chip_id, rows)).collect();
        ops.insert(chip_id, chip_ops);
    }
    let marks = marks_of(&log);
    let DeviceLog { sub_devices, counters, aiclk_mhz, is_quasar, .. } = log;
    Some(ExactLog { ops, sub_devices, counters, marks, aiclk_mhz, is_quasar, dispatch })
}

fn marks_of(log: &DeviceLog) -> Vec<(u64, Vec<CoreMarks>)> {
    let memory = PackedMemory::unlimited();
    let chips = log.chips.iter().map(|(&id, cores)| {
        let cores = cores.iter().map(|core| {
            let rows = core.rows.iter();
            let marks = rows.filter_map(|row| mark_of(row, log.names.get(row.name as usize)?));
            let mut packed = PackedMarks::default();
            packed.add(marks.collect(), &memory);
            CoreMarks { core: core.core, marks: packed, holes: Vec::new() }
        });
        (id, cores.collect())
    });
    chips.collect()
}

/// Returns the launch, kernel start or kernel end that a row records; `None` if the row records
/// none of these. `zone` is the name of the row's zone.
fn mark_of(row: &series::Row, zone: &str) -> Option<Mark> {
    let program = u64::from(row.program);
    match (row.kind, zone) {
        (PacketKind::ZoneStart, "BRISC-FW" | "DM0-FW") => Some(Mark::launch(row.time)),
        (PacketKind::ZoneStart, "BRISC-KERNEL" | "NCRISC-KERNEL") => {
            Some(Mark::start(row.time, program))
        }
        (PacketKind::ZoneEnd, zone) if KERNELS.contains(&zone) => {
            Some(Mark::end(row.time, program))
        }
        _ => None,
    }
}
