//! Comparison of two recordings.

use super::{
    arguments::{DiffArguments, DiffPart},
    by, lines,
    loaded::Loaded,
    table::{Table, table},
};
use crate::{
    command::diff::{differing, parse_confidence},
    failure::{Failure, failure},
};
use host_reader::diff::{Change, Diff, DiffOptions, Side};

/// Compares two recordings, each with all of its runs.
///
/// # Errors
/// If the confidence is not a percentage.
pub(super) fn compare(a: &Loaded, b: &Loaded, confidence: Option<f64>) -> Result<Diff, Failure> {
    const CONFIDENCE: f64 = 95.0;
    let percent = match confidence {
        None => CONFIDENCE,
        Some(percent) => parse_confidence(&percent.to_string())
            .map_err(|error| failure!("{error}; omit confidence for {CONFIDENCE}"))?,
    };
    let options = DiffOptions { confidence: percent / 100.0 };
    Ok(Diff::new(&a.measurements, &b.measurements, options))
}

/// Returns the table of one part of the comparison of two recordings.
///
/// # Errors
/// If the ops of a recording do not have the column by which they are to be compared, or its lines
/// cannot be read.
pub(super) fn table<'a>(
    diff: &'a Diff,
    arguments: &DiffArguments,
    [a, b]: [&Loaded; 2],
) -> Result<Table<'a>, Failure> {
    let table = match arguments.part {
        DiffPart::By => by::changes(a, b, arguments.column.as_deref())?,
        DiffPart::Changes => changes(diff, Change::is_noteworthy),
        DiffPart::All => changes(diff, |_| true),
        DiffPart::Groups => groups(diff),
        DiffPart::Lines => lines::changes(a, b)?,
        DiffPart::OnlyInA => only(&diff.a),
        DiffPart::OnlyInB => only(&diff.b),
        DiffPart::Skipped => skipped(diff),
    };
    Ok(table
        .with_note("a_total_ns", diff.a.total_ns)
        .with_note("b_total_ns", diff.b.total_ns)
        .with_note("a_compared_ns", diff.a.compared_ns)
        .with_note("b_compared_ns", diff.b.compared_ns)
        .with_note("a_median_gap_ns", diff.a.gaps.median_ns)
        .with_note("b_median_gap_ns", diff.b.gaps.median_ns)
        .with_note("a_replayed_op_count", diff.a.gaps.replayed_op_count)
        .with_note("b_replayed_op_count", diff.b.gaps.replayed_op_count)
        .with_note("in_both", diff.changes.len())
        .with_note("only_in_a", diff.a.only_here.len())
        .with_note("only_in_b", diff.b.only_here.len()))
}

fn changes(diff: &Diff, is_wanted: impl Fn(&Change) -> bool) -> Table<'_> {
    let rows: Vec<_> = diff.changes.iter().filter(|change| is_wanted(change)).collect();
    table!(rows, |change| {
        "kind" => change.kind,
        "place" => change.place,
        "name" => change.name,
        "source" => change.source,
        "distinction" => change.distinction,
        "certainty" => change.certainty,
        "ratio" => change.ratio,
        "ratio_low" or "too few repetitions" => change.interval.map(|(low, _)| low),
        "ratio_high" or "too few repetitions" => change.interval.map(|(_, high)| high),
        "p_value" or "too few repetitions" => change.adjusted_p_value,
        "a_mean_ns" => change.a_geometric_mean_ns,
        "b_mean_ns" => change.b_geometric_mean_ns,
        "a_count" => change.a_ns.count,
        "b_count" => change.b_ns.count,
        "a_zones_per_run" or "times are not sums over a kernel run" => change.zones_per_run.map(|(a, _)| a),
        "b_zones_per_run" or "times are not sums over a kernel run" => change.zones_per_run.map(|(_, b)| b),
        "a_median_ns" => change.a_ns.median,
        "b_median_ns" => change.b_ns.median,
        "slower_percent" => change.percent(),
        "pair_count" => change.pair_count,
        "agreement" => change.agreement,
        "differs" => differing(change),
    })
}

fn groups(diff: &Diff) -> Table<'_> {
    table!(&diff.groups, |group| {
        "name" => group.name,
        "shapes" => group.shapes,
        "pair_count" => group.pair_count,
        "a_ns" => group.a_ns,
        "b_ns" => group.b_ns,
        "change_ns" => group.change_ns,
        "ratio" => group.ratio,
    })
}

fn only(side: &Side) -> Table<'_> {
    table!(&side.only_here, |item| {
        "kind" => item.kind,
        "place" => item.place,
        "name" => item.name,
        "source" => item.source,
        "count" => item.count,
        "time_ns" => item.time_ns,
        "reason" => item.reason,
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
    table!(rows, |(side, reason, count)| {
        "side" => side,
        "reason" => reason,
        "count" => count,
    })
}
