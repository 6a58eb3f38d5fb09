//! Latencies between rows, computed in the order of the report as in TT-Metal's scripts.

use super::{
    device_op::{Cells, DeviceOp, LatencySpan, Rate},
    perf_report::QUASAR_KINDS,
    sheet::{DATA_MOVEMENT_LATENCY, LATENCY},
    value::whole_text,
};
use std::collections::BTreeMap;

/// For each chip, the ends of the kernel spans of the chip's previous row.
#[derive(Default)]
pub(super) struct RowLatencies {
    kernel_ends: BTreeMap<u64, u64>,
    data_movement_ends: BTreeMap<u64, u64>,
    quasar_ends: [BTreeMap<u64, u64>; 2],
}

impl RowLatencies {
    /// Adds the next row's op-to-op, data-movement and Quasar latencies. The first two are only
    /// added if the device data does not contain them.
    pub(super) fn record(&mut self, cells: &mut Cells, device: &DeviceOp) {
        for (column, span, ends) in [
            (LATENCY, device.kernel, &mut self.kernel_ends),
            (DATA_MOVEMENT_LATENCY, device.data_movement, &mut self.data_movement_ends),
        ] {
            let is_known = cells.get(column).is_some_and(|cell| !cell.is_empty());
            if !is_known && let Some(text) = latency(device, span, ends) {
                cells.insert(column.into(), text);
            }
            if let Some(span) = span {
                ends.insert(device.device_id, span.end_cycle);
            }
        }
        self.record_quasar(cells, device);
    }

    fn record_quasar(&mut self, cells: &mut Cells, device: &DeviceOp) {
        let kinds = QUASAR_KINDS.iter().zip(&device.quasar_kernels).zip(&mut self.quasar_ends);
        for ((kind, kernel), ends) in kinds {
            let &Some((span, duration_ns)) = kernel else { continue };
            let before = ends.insert(device.device_id, span.end_cycle);
            let rate = match span.end_cycle.saturating_sub(span.start_cycle) {
                cycles if cycles > 0 && duration_ns > 0 => {
                    Rate::NsPerCycle(duration_ns as f64 / cycles as f64)
                }
                _ => Rate::Unknown,
            };
            let ns = before.map_or(0.0, |end| rate.latency_ns(end, span.start_cycle));
            cells.insert(kind.latency.into(), whole_text(ns));
        }
    }
}

fn latency(
    device: &DeviceOp,
    span: Option<LatencySpan>,
    ends: &BTreeMap<u64, u64>,
) -> Option<String> {
    let is_report = !matches!(device.rate, Rate::CyclesPerNs(_) | Rate::Megahertz(_));
    let Some(span) = span else { return is_report.then(|| "0".to_owned()) };
    let before = ends.get(&device.device_id);
    let ns = before.map_or(0.0, |&end| device.rate.latency_ns(end, span.start_cycle));
    Some(whole_text(ns))
}
