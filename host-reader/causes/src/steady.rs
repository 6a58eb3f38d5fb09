//! The steady part of an ops CSV: its last iteration, apart from warm-up and compilation.

use crate::{finding::share, rules::duration, threshold::LONG_GAP};
use reports::perf::{OpReport, RowKind};

/// Rows that an explanation is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// The last iteration where ops repeat, else all rows.
    #[default]
    Steady,
    /// All rows.
    All,
}

/// How the last iteration was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyRule {
    /// The last replay of a trace.
    TraceReplay,
    /// The ops since the last signpost of a name that begins each iteration.
    Signpost,
    /// A sequence of ops, with their tensors, that repeats up to the end.
    RepeatedOps,
    /// One op that repeats up to the end: all but its first run.
    RepeatedOp,
}

impl SteadyRule {
    const fn label(self) -> &'static str {
        match self {
            Self::TraceReplay => "the last replay of a trace",
            Self::Signpost | Self::RepeatedOps => "the last iteration",
            Self::RepeatedOp => "one op again and again, without its first run",
        }
    }
}

/// The steady part of a recording: its last iteration.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SteadyPart {
    /// How it was found.
    pub rule: SteadyRule,
    /// First row, as a spreadsheet counts.
    pub first_row: u64,
    /// Last row.
    pub last_row: u64,
    /// Device ops in it.
    pub op_count: u64,
    /// Time of its kernels and gaps, of the chip with most of it, in nanoseconds.
    pub total_ns: f64,
}

/// The last iteration as a rule and the index of its first row; `None` if nothing repeats.
pub(crate) fn last_iteration(rows: &[OpReport]) -> Option<(SteadyRule, usize)> {
    let replay = last_replay(rows).map(|at| (SteadyRule::TraceReplay, at));
    let signpost = || last_signpost(rows).map(|at| (SteadyRule::Signpost, at));
    let repeated = || last_repetition(rows);
    replay.or_else(signpost).or_else(repeated)
}

/// First row of the last of several replays, if no other ops follow it.
fn last_replay(rows: &[OpReport]) -> Option<usize> {
    let is_device = |row: &&OpReport| row.kind == RowKind::Device;
    let last = rows.iter().rfind(is_device)?.trace_session?;
    let others = rows.iter().filter_map(|row| row.trace_session).any(|session| session != last);
    let first = rows.iter().position(|row| row.trace_session == Some(last))?;
    others.then_some(first)
}

/// The last signpost named as the first one, if the same ops follow both of the last two.
fn last_signpost(rows: &[OpReport]) -> Option<usize> {
    let is_signpost = |row: &OpReport| row.kind == RowKind::Signpost;
    let name = &rows.iter().find(|row| is_signpost(row))?.raw_op_code;
    let is_mark = |row: &OpReport| is_signpost(row) && row.raw_op_code == *name;
    let last = rows.iter().rposition(is_mark)?;
    let (before, iteration) = rows.split_at_checked(last)?;
    let (_, previous) = before.split_at_checked(before.iter().rposition(is_mark)?)?;
    let names = |rows: &[OpReport]| -> Vec<String> {
        let ops = rows.iter().filter(|row| row.kind == RowKind::Device);
        ops.map(|row| row.raw_op_code.clone()).collect()
    };
    let ops = names(iteration);
    (!ops.is_empty() && ops == names(previous)).then_some(last)
}

/// First row of the last pass of the sequence of ops that repeats over the longest end of the rows. Of one
/// op that repeats, all runs but the first are taken: a single run has no gaps.
fn last_repetition(rows: &[OpReport]) -> Option<(SteadyRule, usize)> {
    let ops: Vec<_> =
        rows.iter().enumerate().rev().filter(|(_, row)| row.kind == RowKind::Device).collect();
    let programs: Vec<_> =
        ops.iter().map(|(_, row)| (row.device, &row.raw_op_code, &row.source)).collect();
    let period = repeated_prefix(&programs)?;
    let (rule, count) = match period {
        1 => {
            let runs = programs.iter().take_while(|of| Some(*of) == programs.first()).count();
            (SteadyRule::RepeatedOp, runs.checked_sub(1)?)
        }
        _ => (SteadyRule::RepeatedOps, period),
    };
    ops.get(count.checked_sub(1)?).map(|(at, _)| (rule, *at))
}

/// Period of the repetition that covers most of the items from the first one on, the shortest of
/// those that cover as much; `None` if no prefix follows itself.
fn repeated_prefix<T: PartialEq>(items: &[T]) -> Option<usize> {
    let matches = prefix_matches(items);
    let periods = matches.iter().enumerate().skip(1);
    let repeated = periods.filter(|(period, length)| *length >= period);
    let best = repeated.max_by_key(|(period, length)| {
        (period.saturating_add(**length), std::cmp::Reverse(*period))
    });
    best.map(|(period, _)| period)
}

/// For each index, how many items from there on are those of the beginning (the Z function).
fn prefix_matches<T: PartialEq>(items: &[T]) -> Vec<usize> {
    let mut matches = vec![0_usize; items.len()];
    // The match found so far that ends last.
    let (mut start, mut end) = (0_usize, 0_usize);
    for at in 1..items.len() {
        let known = matches.get(at.saturating_sub(start)).copied().unwrap_or(0);
        let mut length = known.min(end.saturating_sub(at));
        while let Some(item) = items.get(at.saturating_add(length))
            && items.get(length) == Some(item)
        {
            length = length.saturating_add(1);
        }
        if at.saturating_add(length) > end {
            (start, end) = (at, at.saturating_add(length));
        }
        if let Some(of) = matches.get_mut(at) {
            *of = length;
        }
    }
    matches
}

/// Time of rows on the chip with most of it, and what of it chips wait for the host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct HostWait {
    pub(crate) total_ns: f64,
    pub(crate) late_percent: f64,
}

impl SteadyPart {
    /// The part of `rows` from `first` on, with the waits of all rows and of the part, and the sentence
    /// that sets it apart from the whole recording.
    pub(crate) fn new(
        rows: &[OpReport],
        (rule, first): (SteadyRule, usize),
        [all, own]: [HostWait; 2],
    ) -> Option<(Self, String)> {
        let part = rows.get(first..)?;
        let is_device = |row: &&OpReport| row.kind == RowKind::Device;
        // The gap before the first op of the iteration is not part of it.
        let begin = first.saturating_add(part.iter().position(|row| is_device(&row))?);
        let before = rows.get(..=begin)?;
        let first_row = part.iter().find(is_device)?.id;
        let last_row = part.iter().rfind(is_device)?.id;
        let long = |rows: &[OpReport]| -> (usize, f64) {
            let gaps = rows.iter().filter_map(|row| row.op_to_op_gap_us.map(|us| us * 1e3));
            let long: Vec<f64> = gaps.filter(|gap| *gap > LONG_GAP.value * 1e6).collect();
            (long.len(), long.iter().sum())
        };
        let (count, long_ns) = long(before);
        let gaps = rows.iter().filter_map(|row| row.op_to_op_gap_us);
        let gap_ns = gaps.fold(0.0, |sum, us| sum + us.max(0.0) * 1e3);
        let of_gaps = match count {
            0 => String::new(),
            1 => format!(
                "; 1 gap over 10 ms before the steady part is {:.0} % of that",
                share(long_ns, gap_ns)
            ),
            _ => format!(
                "; {count} gaps over 10 ms before the steady part are {:.0} % of that",
                share(long_ns, gap_ns)
            ),
        };
        let sentence = format!(
            "{:.1} % of {} the chip waited for the host{of_gaps}. In the steady part ({}: rows {first_row} \
             to {last_row}, {}) it waits {:.1} %; all below is about that part.",
            all.late_percent,
            duration(all.total_ns),
            rule.label(),
            duration(own.total_ns),
            own.late_percent,
        );
        let part = Self {
            rule,
            first_row,
            last_row,
            op_count: part.iter().filter(is_device).count() as u64,
            total_ns: own.total_ns,
        };
        Some((part, sentence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_repeated_end_wins_over_a_loop_within_it() {
        // From the end: two passes of `dcbba`, whose inner loop is `bb`.
        assert_eq!(repeated_prefix(b"dcbbadcbba"), Some(5));
        assert_eq!(repeated_prefix(b"dcbbadcbbaxyz"), Some(5), "warm-up differs");
        assert_eq!(repeated_prefix(b"aaaa"), Some(1));
        assert_eq!(repeated_prefix(b"abc"), None);
        assert_eq!(repeated_prefix(b"xabab"), None, "the end does not repeat");
        assert_eq!(repeated_prefix::<u8>(&[]), None);
    }

    #[test]
    fn matches_are_those_of_the_definition() {
        for number in 0..4096_u32 {
            let items: Vec<u32> = (0..12).map(|bit| number >> bit & 1).collect();
            let slow = (1..12).map(|at| {
                items.iter().zip(&items[at..]).take_while(|(one, other)| one == other).count()
            });
            assert_eq!(prefix_matches(&items)[1..], slow.collect::<Vec<_>>(), "{items:?}");
        }
    }
}
