//! Ops in a Tracy file. Ops that do not overlap share a row, which Tracy shows as a thread.

use super::{
    places::{PlaceNumber, PlaceTable},
    spans::Span,
};
use crate::{TraceDevice, TraceOp};
use std::{collections::BTreeMap, fmt::Write as _};

/// Returns the rows of a chip's ops, each in time order.
pub(super) fn rows<'a>(
    device: &'a TraceDevice<'_>,
    places: &mut PlaceTable<'a>,
) -> Vec<Vec<Span<'a>>> {
    let mut known: BTreeMap<&'a str, PlaceNumber> = BTreeMap::new();
    let mut rows: BTreeMap<u32, Vec<Span<'a>>> = BTreeMap::new();
    for op in &device.ops {
        let name = op.name().unwrap_or("program");
        let place = *known.entry(name).or_insert_with(|| places.op_place(name));
        let span = Span {
            start_ns: op.start_ns,
            end_ns: op.end_ns,
            depth: 0,
            place,
            name: op.label().into(),
            text: text(op).into(),
        };
        rows.entry(op.row).or_default().push(span);
    }
    rows.into_values().collect()
}

fn text(op: &TraceOp<'_>) -> String {
    let mut text = format!("run host ID: {}", op.figures.run_host_id);
    if let Some(cycles) = op.duration_cycles() {
        let _ = write!(text, "\nduration: {cycles} cycles");
    }
    for (key, reason) in op.doubts() {
        let _ = write!(text, "\n{}: {reason}", key.replace('_', " "));
    }
    let _ = write!(text, "\nlanes: {}", op.runs.len());
    for (name, value) in op.metadata.iter().flat_map(|metadata| metadata.fields.iter()) {
        let _ = write!(text, "\n{name}: {value}");
    }
    text
}
