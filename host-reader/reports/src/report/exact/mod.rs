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
use durations::Durations;
use reader::packed_bytes::PackedMemory;
use series::DeviceLog;
use std::collections::BTreeMap;
use wire::PacketKind;

pub(super) use durations::SUMS;
pub(super) use series::{ExactCounters, SubDevices};

/// Results of TT-Metal's scripts for a device log.
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

/// Reads a log like TT-Metal's scripts; `None` if it is not a device log.
pub(super) fn read_exactly(
    text: &[u8],
    file: &str,
    is_device_only: bool,
    problems: &mut ProblemLog,
) -> Option<ExactLog> {
    let mut log = DeviceLog::read(text, file, problems)?;
    let dispatch = dispatch_of(&mut log, text, file);
    let durations = Durations::new(&log, is_device_only);
    let mut ops = DeviceOps::new();
    for (&chip_id, cores) in &log.chips {
        let rows = ops_of_chip(&log, chip_id, cores, file, problems);
        let of_chip: Vec<DeviceOp> =
            rows.iter().filter_map(|rows| durations.op(chip_id, rows)).collect();
        ops.insert(chip_id, of_chip);
    }
    let marks = marks_of(&log);
    let DeviceLog { sub_devices, counters, aiclk_mhz, is_quasar, .. } = log;
    Some(ExactLog { ops, sub_devices, counters, marks, aiclk_mhz, is_quasar, dispatch })
}

fn marks_of(log: &DeviceLog) -> Vec<(u64, Vec<CoreMarks>)> {
    let marks: Vec<_> = log.names.iter().map(|name| NameMarks::new(name)).collect();
    let memory = PackedMemory::unlimited();
    let of_core = |core: &series::CoreSeries| {
        let mut packed = PackedMarks::default();
        let rows = core.rows.iter();
        packed.add(rows.filter_map(|row| mark_of(row, &marks)).collect(), &memory);
        CoreMarks { core: core.core, marks: packed, holes: Vec::new() }
    };
    let chips = log.chips.iter();
    chips.map(|(&id, cores)| (id, cores.iter().map(of_core).collect())).collect()
}

/// Kinds of marks at the start and end of zones with the same name.
#[derive(Clone, Copy)]
struct NameMarks {
    is_firmware: bool,
    is_kernel: bool,
    is_first_kernel: bool,
}

impl NameMarks {
    fn new(name: &str) -> Self {
        let is_first_kernel = matches!(name, "BRISC-KERNEL" | "NCRISC-KERNEL");
        let is_other = matches!(
            name,
            "TRISC-KERNEL" | "ERISC-KERNEL" | "TENSIX_RISC_AGG-KERNEL" | "DM-KERNEL"
        );
        let is_firmware = matches!(name, "BRISC-FW" | "DM0-FW");
        Self { is_firmware, is_kernel: is_first_kernel || is_other, is_first_kernel }
    }
}

fn mark_of(row: &series::Row, names: &[NameMarks]) -> Option<Mark> {
    let name = names.get(row.name as usize)?;
    let program = u64::from(row.program);
    match row.kind {
        PacketKind::ZoneStart if name.is_firmware => Some(Mark::launch(row.time)),
        PacketKind::ZoneStart if name.is_first_kernel => Some(Mark::start(row.time, program)),
        PacketKind::ZoneEnd if name.is_kernel => Some(Mark::end(row.time, program)),
        _ => None,
    }
}
