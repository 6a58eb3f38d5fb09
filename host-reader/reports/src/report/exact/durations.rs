//! Figures of one op, computed from the op's rows as in TT-Metal's scripts.
//!
//! # Compatibility
//! `device_post_proc_config.py`, `default_setup`: each duration lasts from the first to the last
//! row whose zone has one of several names. Such a row may be the start or the end of a zone.

use super::{
    detect::OpRows,
    series::{DeviceLog, Row, grouped},
};
use crate::report::{
    device_op::{DeviceOp, LatencySpan, Rate},
    value::whole_text,
};
use std::collections::BTreeSet;
use wire::{PacketKind, Risc};

/// Names of the zones of kernels.
pub(super) const KERNELS: [&str; 6] = [
    "BRISC-KERNEL",
    "NCRISC-KERNEL",
    "TRISC-KERNEL",
    "ERISC-KERNEL",
    "TENSIX_RISC_AGG-KERNEL",
    "DM-KERNEL",
];
const FIRMWARE: [&str; 6] =
    ["BRISC-FW", "NCRISC-FW", "TRISC-FW", "ERISC-FW", "TENSIX_RISC_AGG-FW", "DM-FW"];
const DATA_MOVEMENT: [&str; 3] = ["BRISC-KERNEL", "NCRISC-KERNEL", "ERISC-KERNEL"];

/// Columns for single RISCs: the header, and the RISC and zone whose duration the column shows.
const OF_RISCS: [(&str, Risc, &str); 6] = [
    ("DEVICE BRISC KERNEL DURATION [ns]", Risc::Brisc, "BRISC-KERNEL"),
    ("DEVICE NCRISC KERNEL DURATION [ns]", Risc::Ncrisc, "NCRISC-KERNEL"),
    ("DEVICE TRISC0 KERNEL DURATION [ns]", Risc::Trisc0, "TRISC-KERNEL"),
    ("DEVICE TRISC1 KERNEL DURATION [ns]", Risc::Trisc1, "TRISC-KERNEL"),
    ("DEVICE TRISC2 KERNEL DURATION [ns]", Risc::Trisc2, "TRISC-KERNEL"),
    ("DEVICE ERISC KERNEL DURATION [ns]", Risc::Erisc, "ERISC-KERNEL"),
];

/// Columns for sum zones: the header, and the RISC and sum zone whose total the column shows.
pub(in crate::report) const SUMS: [(&str, Risc, &str); 2] = [
    ("DEVICE COMPUTE CB WAIT FRONT [ns]", Risc::Trisc0, "CB-COMPUTE-WAIT-FRONT"),
    ("DEVICE COMPUTE CB RESERVE BACK [ns]", Risc::Trisc2, "CB-COMPUTE-RESERVE-BACK"),
];

/// Indices, in one log, of the zone names from which figures are computed.
pub(super) struct DurationZones {
    aiclk_mhz: f64,
    is_device_only: bool,
    kernels: Vec<u32>,
    firmware: Vec<u32>,
    data_movement: Vec<u32>,
    risc_zones: Vec<(&'static str, Risc, u32)>,
    sums: Vec<(&'static str, Risc, u32)>,
    /// By index of the zone name: true if the zone counts as firmware of a core.
    has_fw: Vec<bool>,
}

impl DurationZones {
    /// Looks up the zone names in a log. Reports without data from the host use a different
    /// floating-point formula for nanoseconds than other reports.
    pub(super) fn new(log: &DeviceLog, is_device_only: bool) -> Self {
        let numbers = |names: &[&str]| names.iter().filter_map(|n| log.name_number(n)).collect();
        let numbered = |&(column, risc, name): &(&'static str, Risc, &str)| {
            Some((column, risc, log.name_number(name)?))
        };
        Self {
            aiclk_mhz: f64::from(log.aiclk_mhz),
            is_device_only,
            kernels: numbers(&KERNELS),
            firmware: numbers(&FIRMWARE),
            data_movement: numbers(&DATA_MOVEMENT),
            risc_zones: OF_RISCS.iter().filter_map(numbered).collect(),
            sums: SUMS.iter().filter_map(numbered).collect(),
            has_fw: log.names.iter().map(|name| name.contains("FW")).collect(),
        }
    }

    /// Computes all cells of an op; returns `None` if the op has no rows.
    pub(super) fn op(&self, device_id: u64, rows: &OpRows) -> Option<DeviceOp> {
        let (first, last) = (rows.first()?, rows.last()?);
        let mut op = DeviceOp {
            device_id,
            run_host_id: last.program.into(),
            begin_cycle: first.time,
            ..DeviceOp::default()
        };
        op.set("CORE COUNT", self.core_count(rows).to_string());
        let is_firmware = |row: &Row| self.firmware.contains(&row.name);
        let column = "DEVICE FW DURATION [ns]";
        if let Some(span) = self.record(&mut op, column, rows, is_firmware, is_firmware) {
            op.set("DEVICE FW START CYCLE", span.start_cycle.to_string());
            op.set("DEVICE FW END CYCLE", span.end_cycle.to_string());
        }
        let is_kernel = |row: &Row| self.kernels.contains(&row.name);
        let is_start = |row: &Row| row.kind == PacketKind::ZoneStart && is_kernel(row);
        let column = "DEVICE KERNEL FIRST TO LAST START [ns]";
        self.record(&mut op, column, rows, is_start, is_start);
        op.kernel = self.record(&mut op, "DEVICE KERNEL DURATION [ns]", rows, is_kernel, is_kernel);
        op.rate = op.kernel.map_or(Rate::Unknown, |kernel| self.rate(kernel));
        let moves_data = |row: &Row| self.data_movement.contains(&row.name);
        let column = "DEVICE KERNEL DURATION DM START [ns]";
        op.data_movement = self.record(&mut op, column, rows, moves_data, is_kernel);
        for &(column, risc, name) in &self.risc_zones {
            let is_it = |row: &Row| (row.risc, row.name) == (risc, name);
            self.record(&mut op, column, rows, is_it, is_it);
        }
        self.add_cores(&mut op, rows);
        self.add_sums(&mut op, rows);
        Some(op)
    }

    fn core_count(&self, rows: &OpRows) -> usize {
        let with_fw = rows.iter().filter(|row| self.has_fw.get(row.name as usize) == Some(&true));
        with_fw.map(|row| row.core).collect::<BTreeSet<_>>().len()
    }

    /// Sets `column` to the time from the first start row to the last end row after it, and returns
    /// this span; returns `None` if there is no start row or no later end row.
    fn record(
        &self,
        op: &mut DeviceOp,
        column: &'static str,
        rows: &[Row],
        is_start: impl Fn(&Row) -> bool,
        is_end: impl Fn(&Row) -> bool,
    ) -> Option<LatencySpan> {
        let (start_cycle, end_cycle) = first_to_last(rows, is_start, is_end)?;
        let cycles = end_cycle.saturating_sub(start_cycle) as f64;
        op.set(column, whole_text(cycles * 1000.0 / self.aiclk_mhz));
        Some(LatencySpan { start_cycle, end_cycle })
    }

    /// Returns the formula that converts latencies to nanoseconds. Except in reports without a
    /// host, TT-Metal's script derives the clock from a duration that is given in both cycles and
    /// nanoseconds.
    fn rate(&self, span: LatencySpan) -> Rate {
        if self.is_device_only {
            return Rate::Megahertz(self.aiclk_mhz);
        }
        let cycles = span.end_cycle.saturating_sub(span.start_cycle) as f64;
        Rate::CyclesPerNs(cycles / (cycles * 1000.0 / self.aiclk_mhz))
    }

    fn add_cores(&self, op: &mut DeviceOp, rows: &OpRows) {
        let cores = grouped(rows, |row| row.core);
        let is_kernel = |row: &Row| self.kernels.contains(&row.name);
        let spans = cores.iter().filter_map(|(_, rows)| first_to_last(rows, is_kernel, is_kernel));
        let cycles: Vec<_> = spans.map(|(start, end)| end.saturating_sub(start)).collect();
        let (Some(&min), Some(&max)) = (cycles.iter().min(), cycles.iter().max()) else { return };
        let Some(&first) = cycles.first() else { return };
        let per_ns = first as f64 / (first as f64 * 1000.0 / self.aiclk_mhz);
        let ns = |cycles: f64| match self.is_device_only {
            true => cycles * 1000.0 / self.aiclk_mhz,
            false => cycles / per_ns,
        };
        let sum: u128 = cycles.iter().map(|&cycles| u128::from(cycles)).sum();
        let mean = sum as f64 / cycles.len() as f64;
        for (which, cycles) in [("MIN", min as f64), ("MAX", max as f64), ("AVG", mean)] {
            let column = format!("DEVICE KERNEL DURATION PER CORE {which} [ns]");
            op.set(column, whole_text(ns(cycles)));
        }
    }

    fn add_sums(&self, op: &mut DeviceOp, rows: &OpRows) {
        for &(column, risc, name) in &self.sums {
            let zone_rows = rows.iter().filter(|row| (row.risc, row.name) == (risc, name));
            let total: u128 = zone_rows.map(|row| u128::from(row.value)).sum();
            if total > 0 {
                op.set(column, whole_text(total as f64 * 1000.0 / self.aiclk_mhz));
            }
        }
    }
}

/// Returns the time of the first start row, and the time of the last end row.
///
/// Returns `None` unless the last end row follows the first start row.
fn first_to_last(
    rows: &[Row],
    is_start: impl Fn(&Row) -> bool,
    is_end: impl Fn(&Row) -> bool,
) -> Option<(u64, u64)> {
    let start = rows.iter().position(is_start)?;
    let end = rows.iter().rposition(is_end).filter(|&end| end > start)?;
    // Counter rows come after all other rows, whatever their time.
    let (start, end) = (rows.get(start)?.time, rows.get(end)?.time);
    (start <= end).then_some((start, end))
}
