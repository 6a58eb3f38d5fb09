//! Changes against another recording.

use crate::TraceComparison;
use reports::diff::{Change, Elapsed, Side};
use serde::Serialize;
use serde_json::json;
use tables::Objects;

#[derive(Serialize)]
pub(super) struct ComparisonFacts<'a> {
    title: &'a str,
    /// Changes of the ops and zones that exist in both recordings.
    changes: Objects<&'a Change>,
    /// Time of an iteration with the gaps between its ops, by device.
    elapsed: Objects<&'a Elapsed>,
    /// Labels of ops and zones that exist only in this recording.
    only_a: Vec<String>,
    /// Labels of ops and zones that exist only in the other recording.
    only_b: Vec<String>,
}

impl<'a> ComparisonFacts<'a> {
    pub(super) fn new(TraceComparison { title, diff }: &'a TraceComparison) -> Self {
        let changes = Objects::new(
            &diff.changes,
            [
                ("kind", |change| change.kind.label().into()),
                ("place", |change| (*change.place).into()),
                ("name", |change| (*change.name).into()),
                ("source", |change| (*change.source).into()),
                ("a_ns", |change| change.a_geometric_mean_ns.into()),
                ("b_ns", |change| change.b_geometric_mean_ns.into()),
                ("ratio", |change| change.ratio.into()),
                ("interval", |change| json!(change.interval)),
                ("certainty", |change| json!(change.certainty)),
                ("zones_per_run", |change| json!(change.zones_per_run)),
                ("repetitions", |change| json!([change.a_ns.count, change.b_ns.count])),
            ],
        );
        let elapsed = Objects::new(
            &diff.elapsed,
            [
                ("place", |of| (*of.place).into()),
                ("a_ns", |of| of.a_ns.mean.into()),
                ("b_ns", |of| of.b_ns.mean.into()),
                ("ratio", |of| of.ratio.into()),
            ],
        );
        Self { title, changes, elapsed, only_a: labels_of(&diff.a), only_b: labels_of(&diff.b) }
    }
}

/// Returns labels of the ops and zones that exist only on this side of the comparison.
fn labels_of(side: &Side) -> Vec<String> {
    let only_here = side.only_here.iter();
    only_here.map(|item| format!("{} {}, {}", item.kind.label(), item.name, item.place)).collect()
}
