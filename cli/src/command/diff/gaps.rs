//! Time between ops of two recordings, which the totals of a comparison leave out.

use super::verdict::elapsed_sentence;
use crate::numbers::{counted, grouped};
use host_reader::diff::{Diff, Elapsed, Gaps, IterationDoubt};
use std::io::{self, Write};

/// Writes the gaps between ops of both sides, and which ops a trace launched; nothing if no gap is known
/// and no trace was replayed.
pub(super) fn write_gaps(diff: &Diff, out: &mut impl Write) -> io::Result<()> {
    let [a, b] = [&diff.a.gaps, &diff.b.gaps];
    if has_gaps(diff) {
        let change = match (a.median_ns, b.median_ns) {
            (Some(a), Some(b)) if a > 0.0 => format!("; {:+.1} %", (b / a - 1.0) * 100.0),
            _ => String::new(),
        };
        let [of_a, of_b] = [text(a), text(b)];
        writeln!(out, "Between ops, in no total: A {of_a}; B {of_b}{change}")?;
    }
    if a.side_by_side_op_count > 0 || b.side_by_side_op_count > 0 {
        let [of_a, of_b] = [a, b].map(elapsed);
        let change = match (a.elapsed_ns, b.elapsed_ns) {
            (Some(a), Some(b)) if a > 0.0 => format!("; {:+.1} %", (b / a - 1.0) * 100.0),
            _ => String::new(),
        };
        writeln!(
            out,
            "From the first start to the last end, in which ops at the same time count once: A {of_a}; B \
             {of_b}{change}"
        )?;
    }
    let share = |gaps: &Gaps| (gaps.replayed_op_count > 0, gaps.replayed_op_count < gaps.op_count);
    if share(a) != share(b) && (a.replayed_op_count > 0 || b.replayed_op_count > 0) {
        let of = |gaps: &Gaps| {
            format!(
                "{} of {}",
                grouped(gaps.replayed_op_count),
                counted(gaps.op_count, "op", "ops")
            )
        };
        writeln!(out, "Launched by a replayed trace: A {}; B {}", of(a), of(b))?;
    }
    Ok(())
}

/// Writes the time of an iteration with its gaps, and why it is not compared on other devices; nothing if no gap
/// is known.
pub(super) fn write_iterations(diff: &Diff, out: &mut impl Write) -> io::Result<()> {
    let size = |of: &Elapsed| of.ratio.ln().abs();
    if let Some(most) = diff.elapsed.iter().max_by(|one, other| size(one).total_cmp(&size(other))) {
        let others = match diff.elapsed.len() {
            1 => String::new(),
            count => format!(", the largest change of {count} devices"),
        };
        writeln!(
            out,
            "An iteration with its gaps, without the first one{others}: {}",
            elapsed_sentence(most)
        )?;
    }
    let uncompared = &diff.uncompared_iterations;
    if let Some(first) = uncompared.first()
        && has_gaps(diff)
    {
        let all = diff.elapsed.len().saturating_add(uncompared.len());
        let which = match all {
            1 => String::new(),
            _ => format!(
                " on {} of {}",
                grouped(uncompared.len() as u64),
                counted(all as u64, "device", "devices")
            ),
        };
        // Of several parts in one iteration, the times say nothing.
        let is_other_work = matches!(first.doubt, IterationDoubt::OtherWork { .. });
        let times = match (first.a_ns, first.b_ns) {
            (Some(a_ns), Some(b_ns)) if is_other_work => format!(
                "; A takes {}, B {}: {:+.1} %",
                microseconds(a_ns),
                microseconds(b_ns),
                (b_ns / a_ns - 1.0) * 100.0
            ),
            _ => String::new(),
        };
        writeln!(out, "An iteration with its gaps is not compared{which}: {}{times}", first.doubt)?;
    }
    Ok(())
}

/// Returns true if a gap of A or of B is known.
pub(super) const fn has_gaps(diff: &Diff) -> bool {
    diff.a.gaps.known_count > 0 || diff.b.gaps.known_count > 0
}

/// Returns the time from the first start to the last end, and how many ops ran side by side.
fn elapsed(gaps: &Gaps) -> String {
    let time = gaps.elapsed_ns.map_or_else(|| "unknown".to_owned(), microseconds);
    match gaps.side_by_side_op_count {
        0 => time,
        count => {
            let ops = counted(gaps.op_count, "op", "ops");
            format!("{time}, {} of {ops} side by side", grouped(count))
        }
    }
}

/// Returns the median of a side's gaps, and how many are known.
fn text(gaps: &Gaps) -> String {
    let unknown = match gaps.unknown_count {
        0 => String::new(),
        count => format!(", {} unknown", grouped(count)),
    };
    match gaps.median_ns {
        Some(ns) => {
            let known = counted(gaps.known_count, "gap", "gaps");
            format!("{}, median of {known}{unknown}", microseconds(ns))
        }
        None => "unknown".to_owned(),
    }
}

pub(super) fn microseconds(ns: f64) -> String {
    format!("{:.3} us", ns / 1000.0)
}
