//! Latencies as upstream's scripts compute them: between rows, in the order of the report.

use super::{
    device_op::{Cells, DeviceOp, LatencySpan, Rate},
    sheet::{DATA_MOVEMENT_LATENCY, LATENCY},
    value::whole_text,
};
use std::collections::BTreeMap;

/// Where each chip's row before ended.
#[derive(Default)]
pub(super) struct RowLatencies {
    kernel_ends: BTreeMap<u64, u64>,
    data_movement_ends: BTreeMap<u64, u64>,
}

impl RowLatencies {
    /// Adds both latencies of the next row, unless the device's data has them already.
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
