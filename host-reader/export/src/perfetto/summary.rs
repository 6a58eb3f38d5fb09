//! Ops of a dataset's recording in a merged trace, with one track for each chip.

use super::{
    DEVICE_TRACKS, Placement,
    device::{child, describe},
    message::{SLICE_BEGIN, TracePacket},
    sequence::{Sequence, named_number},
};
use crate::{RecordingSummary, SummaryOp, trace::FreeRows, words};
use std::collections::BTreeMap;

/// Encodes the ops of one recording, in a trace of several hosts.
pub(super) fn packets(summary: &RecordingSummary, placement: &Placement) -> Vec<u8> {
    let Placement { base_ns, first_device, first_sequence, .. } = *placement;
    let Some(process) = &placement.process else { return Vec::new() };
    let mut chips: BTreeMap<u32, Vec<&SummaryOp>> = BTreeMap::new();
    summary.ops.iter().for_each(|op| chips.entry(op.chip_id).or_default().push(op));
    let id = first_sequence.saturating_add(1);
    let mut sequence = Sequence::begin(id, TracePacket::default(), 1 << 12);
    for (place, (chip_id, ops)) in chips.into_iter().enumerate() {
        let device = (first_device as u64 + place as u64 + 1) * DEVICE_TRACKS;
        let name = process.named(format!("chip {chip_id}"));
        describe(&mut sequence, child(process.track, device, name, place));
        draw(&mut sequence, device, base_ns, ops);
    }
    sequence.into_bytes()
}

/// Draws the ops of a chip. Ops that overlap are drawn in separate rows.
fn draw(sequence: &mut Sequence, device: u64, base_ns: u64, mut ops: Vec<&SummaryOp>) {
    ops.sort_by_key(|op| op.start_ns);
    let mut rows = FreeRows::default();
    for op in ops {
        let end_ns = op.start_ns.saturating_add(op.duration_ns.unwrap_or(0));
        let row_count = rows.count();
        let row = rows.assign(op.start_ns, end_ns);
        let track = device + 1 + u64::from(row);
        if row == row_count {
            describe(sequence, child(device, track, words::row_label(row), row as usize));
        }
        sequence.event(base_ns.saturating_add(op.start_ns), SLICE_BEGIN, |event| {
            event.begin(track, op.label(), "op").push(named_number("launch", op.launch));
            if op.duration_ns.is_none() {
                // Drawn with zero length, because records of the op may be missing.
                event.categories.push("unknown duration".to_owned());
            }
        });
        sequence.end(base_ns.saturating_add(end_ns), track);
    }
}
