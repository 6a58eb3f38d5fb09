//! What a trace has to say of itself, in the same words in every format.

use super::{Trace, TraceDevice, TraceLane, TraceLoss};
use crate::ledger::LossTotals;

/// A lane as people call it, such as `1-2 BRISC`.
pub(super) fn lane_label(lane: &TraceLane<'_>) -> String {
    format!("{} {}", core_label(lane), lane.id.risc)
}

/// A core as upstream's tools write it, such as `1-2`.
pub(super) fn core_label(lane: &TraceLane<'_>) -> String {
    format!("{}-{}", lane.id.core.x, lane.id.core.y)
}

/// A chip as people call it.
pub(super) fn device_label(device: &TraceDevice<'_>) -> String {
    format!("device {} {}", device.chip.chip_id, device.chip.arch)
}

/// A loss in words, such as `lost 25 zones, 3 events: L1 full`.
pub(super) fn loss_label(loss: &TraceLoss) -> String {
    format!("lost {}: {}", totals_label(&loss.totals), loss.cause.label())
}

/// How much is missing, in words.
pub(super) fn totals_label(totals: &LossTotals) -> String {
    let parts: Vec<String> = counts(totals)
        .into_iter()
        .filter(|&(_, count)| count > 0)
        .map(|(kind, count)| format!("{count} {}", kind.replace('_', " ")))
        .collect();
    match (parts.is_empty(), totals.is_lower_bound) {
        (true, _) => "an unknown number of records".to_owned(),
        (false, true) => format!("at least {}", parts.join(", ")),
        (false, false) => parts.join(", "),
    }
}

/// The counts of a loss, each with its name.
pub(super) const fn counts(totals: &LossTotals) -> [(&'static str, u64); 5] {
    [
        ("zones", totals.zones),
        ("data", totals.data),
        ("events", totals.events),
        ("sums", totals.sums),
        ("unknown_markers", totals.unknown_markers),
    ]
}

/// What there is to know about a whole trace before trusting it, as keys and counts;
/// everything that is zero is left out.
pub(super) fn doubts(trace: &Trace<'_>) -> Vec<(String, u64)> {
    let lost = trace.lost();
    let mut doubts: Vec<(String, u64)> = Vec::new();
    let mut add = |key: String, count: u64| {
        if count > 0 {
            doubts.push((key, count));
        }
    };
    for (kind, count) in counts(&lost) {
        add(format!("lost_{kind}"), count);
    }
    add("lost_counts_are_lower_bounds".to_owned(), lost.is_lower_bound.into());
    for (kind, count) in trace.anomalies.counts() {
        let what = if kind.is_repair() { "repaired" } else { "anomaly" };
        add(format!("{what}_{}", kind.label().replace(' ', "_")), count);
    }
    add("clipped_zones".to_owned(), trace.clipped_zone_count() as u64);
    let hidden = trace.hidden;
    for (kind, count) in [
        ("lanes", hidden.lanes),
        ("zones", hidden.zones),
        ("points", hidden.points),
        ("ops", hidden.ops),
        ("lost_records", hidden.lost_records),
    ] {
        add(format!("hidden_by_filter_{kind}"), count);
    }
    let pending = trace.devices.iter().map(|device| device.pending_run_count).sum();
    add("pending_runs".to_owned(), pending);
    let discarded = trace.devices.iter().map(|device| device.discarded_launch_count).sum();
    add("discarded_launches".to_owned(), discarded);
    doubts
}
