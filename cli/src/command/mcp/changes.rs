//! Comparison of two recordings.

use super::{
    arguments::DiffPart,
    loaded::{Content, Loaded},
    table::{Column, Table, cells},
};
use crate::{
    command::diff::{has_no_iterations, parse_confidence},
    failure::Failure,
};
use host_reader::diff::{Change, Diff, DiffOptions, Measurements, Side};
use std::borrow::Cow;

const CHANGES: [Column; 16] = [
    Column::new("kind"),
    Column::new("place"),
    Column::new("name"),
    Column::new("source"),
    Column::new("certainty"),
    Column::new("ratio"),
    Column::or_null("ratio_low", "too few repetitions"),
    Column::or_null("ratio_high", "too few repetitions"),
    Column::or_null("p_value", "too few repetitions"),
    Column::new("a_mean_ns"),
    Column::new("b_mean_ns"),
    Column::new("a_count"),
    Column::new("b_count"),
    Column::new("a_median_ns"),
    Column::new("b_median_ns"),
    Column::new("slower_percent"),
];

const ONLY: [Column; 4] =
    [Column::new("kind"), Column::new("place"), Column::new("name"), Column::new("source")];

const SKIPPED: [Column; 3] = [Column::new("side"), Column::new("reason"), Column::new("count")];

/// Compares two recordings, each with all of its runs.
///
/// # Errors
/// If the confidence is not a percentage.
pub(super) fn compare(a: &Loaded, b: &Loaded, confidence: Option<f64>) -> Result<Diff, Failure> {
    const CONFIDENCE: f64 = 95.0;
    let percent = match confidence {
        None => CONFIDENCE,
        Some(percent) => parse_confidence(&percent.to_string()).map_err(|error| {
            Failure::Sentence(format!("{error}; leave confidence out for {CONFIDENCE}"))
        })?,
    };
    let pools = [a, b].iter().any(
        |side| matches!(&side.content, Content::OpsCsv(figures) if has_no_iterations(&figures.report)),
    );
    let [a, b] = [a, b].map(|side| match &side.content {
        Content::OpsCsv(figures) => Cow::Owned(Measurements::from_report(&figures.report, pools)),
        Content::Runs(_, measurements) => Cow::Borrowed(measurements),
    });
    Ok(Diff::new(&a, &b, DiffOptions { confidence: percent / 100.0 }))
}

/// Returns the table of one part.
pub(super) fn table(diff: &Diff, part: DiffPart) -> Table<'_> {
    match part {
        DiffPart::Changes => changes(diff, Change::is_noteworthy),
        DiffPart::All => changes(diff, |_| true),
        DiffPart::OnlyInA => only(&diff.a),
        DiffPart::OnlyInB => only(&diff.b),
        DiffPart::Skipped => skipped(diff),
    }
    .with_note("in_both", diff.changes.len())
    .with_note("only_in_a", diff.a.only_here.len())
    .with_note("only_in_b", diff.b.only_here.len())
}

fn changes(diff: &Diff, is_wanted: impl Fn(&Change) -> bool) -> Table<'_> {
    let rows: Vec<_> = diff.changes.iter().filter(|change| is_wanted(change)).collect();
    Table::new(&CHANGES, rows, |change| {
        cells![
            change.kind,
            change.place,
            change.name,
            change.source,
            change.certainty,
            change.ratio,
            change.interval.map(|(low, _)| low),
            change.interval.map(|(_, high)| high),
            change.adjusted_p_value,
            change.a_geometric_mean_ns,
            change.b_geometric_mean_ns,
            change.a_ns.count,
            change.b_ns.count,
            change.a_ns.median,
            change.b_ns.median,
            change.percent(),
        ]
    })
}

fn only(side: &Side) -> Table<'_> {
    Table::new(&ONLY, &side.only_here, |(kind, place, name, source)| {
        cells![kind, place, name, source]
    })
}

fn skipped(diff: &Diff) -> Table<'_> {
    let sides = [("a", &diff.a), ("b", &diff.b)];
    let rows: Vec<_> = sides
        .into_iter()
        .flat_map(|(name, side)| {
            side.skipped.iter().map(move |(reason, count)| (name, reason, *count))
        })
        .collect();
    Table::new(&SKIPPED, rows, |(side, reason, count)| cells![side, reason, count])
}
