//! Table of losses and anomalies.

use super::{
    arguments::LossesPart,
    loaded::{Figures, RunFigures},
    table::{Table, table},
};
use host_reader::{
    analysis::{loss_groups, loss_remedies},
    tables::{LossGroups, LossRow, Losses},
};
use serde_json::Value;
use std::collections::BTreeMap;

/// Returns a table of lost records or of anomalies. The table is empty for an ops CSV, because an
/// ops CSV does not count losses.
pub(super) fn table(figures: &Figures, asked: LossesPart) -> Table<'_> {
    match (figures, asked) {
        (Figures::OpsCsv(_), _) => Table::from_rows::<LossGroups>(Vec::new())
            .with_note("reason", "an ops CSV has no losses; load the device log or capture"),
        (Figures::Run(run), LossesPart::Causes) => causes(run),
        (Figures::Run(run), LossesPart::Lanes) => {
            Table::from_rows::<Losses>(LossRow::from_ledger(&run.losses))
        }
        (Figures::Run(run), LossesPart::Anomalies) => anomalies(run),
    }
}

fn causes(run: &RunFigures) -> Table<'_> {
    let groups = loss_groups(run.losses.entries().map(|(key, totals)| (*key, *totals)));
    let mut remedies_by_cause: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (cause, remedy) in loss_remedies(&groups) {
        remedies_by_cause.entry(cause.label()).or_default().push(remedy);
    }
    let remedies: serde_json::Map<String, Value> = remedies_by_cause
        .into_iter()
        .map(|(cause, remedies)| (cause.to_owned(), remedies.join("; ").into()))
        .collect();
    Table::from_rows::<LossGroups>(groups).with_note("remedies", remedies)
}

fn anomalies(run: &RunFigures) -> Table<'_> {
    let summary = &run.report.summary;
    let odd = summary.anomalies.iter().map(|kind| (kind, false));
    let repaired = summary.repairs.iter().map(|kind| (kind, true));
    table!(odd.chain(repaired), |(kind, is_repaired)| {
        "kind" => kind.kind,
        "count" => kind.count,
        "is_repaired" => is_repaired,
    })
}
