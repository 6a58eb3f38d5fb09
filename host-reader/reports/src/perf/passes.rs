//! Iterations by which sums of ops are divided, also if ops before, between and after them belong to none.

#![expect(clippy::indexing_slicing, reason = "indices are those of the ops themselves")]

use super::{
    iterations::{Programs, RepetitionRule, Repetitions},
    op::OpReport,
};
use crate::report::MODULE;
use recording::problem::counted;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Passes of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Passes {
    /// Number of passes.
    pub(super) count: usize,
    /// Row indices of the device ops of all passes.
    pub(super) rows: BTreeSet<usize>,
    /// Number of device ops outside of the passes.
    pub(super) left_out_count: usize,
}

/// Why rows have no passes, if no sequence of their ops repeats.
const NOTHING_REPEATS: &str = "no sequence of ops repeats in these rows";

/// Least part of the ops' device time, and of the kinds of ops, that passes have: with less, they may be
/// a loop within a pass. The kind of an op is its module and op code.
const LEAST_PART: f64 = 0.5;

/// Number of ops at which passes are tried to begin, for each number of launches that ops have.
const TRIED_STARTS: usize = 4;

impl Passes {
    /// Finds the passes among the device ops of `rows`.
    ///
    /// Passes follow each other from the first op to the last, which may be incomplete. If modules of the
    /// ops are known, there may be other ops and incomplete passes anywhere; without modules, layers of
    /// one pass would look like passes.
    ///
    /// # Errors
    /// Why there are none, as a part of a sentence.
    pub(super) fn find(rows: &[OpReport]) -> Result<Self, String> {
        let Repetitions { rule, iteration_count, left_out, ops } = Repetitions::find(rows);
        if rule != RepetitionRule::SameProgram {
            let rows = ops.into_iter().flatten().collect();
            return Ok(Self { count: iteration_count, rows, left_out_count: left_out.len() });
        }
        if !rows.iter().any(|row| row.is_device_op() && row.other(MODULE).is_some()) {
            return Err(NOTHING_REPEATS.to_owned());
        }
        let devices: BTreeSet<Option<u64>> =
            rows.iter().filter(|row| row.is_device_op()).map(|row| row.device).collect();
        let mut found = Self::default();
        for device in devices {
            let of_device = Self::of_device(rows, device)?;
            if !found.rows.is_empty() && found.count != of_device.count {
                let [one, other] = [found.count, of_device.count];
                return Err(format!(
                    "ops of one device repeat {one} times, those of another {other}"
                ));
            }
            found.count = of_device.count;
            found.rows.extend(of_device.rows);
            found.left_out_count = found.left_out_count.saturating_add(of_device.left_out_count);
        }
        Ok(found)
    }

    fn of_device(rows: &[OpReport], device: Option<u64>) -> Result<Self, String> {
        let programs = Programs::new(rows, |row| row.device == device);
        let time_us: Vec<f64> =
            programs.rows.iter().map(|&at| rows[at].device_time_us.unwrap_or(0.0)).collect();
        let all_us: f64 = time_us.iter().sum();
        let found = programs.numbers.iter().filter_map(|numbers| Sequence::find(numbers, &time_us));
        let best = found.max_by(|one, other| one.time_us.total_cmp(&other.time_us));
        let best = best.ok_or(NOTHING_REPEATS)?;
        let kind = |at: &usize| (rows[*at].other(MODULE), &*rows[*at].raw_op_code);
        let all_kinds: BTreeSet<_> = programs.rows.iter().map(kind).collect();
        let unit =
            best.starts.iter().take(1).flat_map(|start| *start..start.saturating_add(best.length));
        let kinds: BTreeSet<_> = unit.map(|op| kind(&programs.rows[op])).collect();
        let is_most = |part: f64, whole: f64| part >= LEAST_PART * whole;
        if !is_most(best.time_us, all_us) || !is_most(kinds.len() as f64, all_kinds.len() as f64) {
            let ops = counted(best.length as u64, "op", "ops");
            let percent = if all_us > 0.0 { best.time_us / all_us * 100.0 } else { 0.0 };
            let (count, kinds, all) = (best.starts.len(), kinds.len(), all_kinds.len());
            return Err(format!(
                "{count} repetitions of {ops} have {percent:.1} % of the device time and {kinds} of {all} \
                 kinds of ops"
            ));
        }
        let in_passes =
            best.starts.iter().flat_map(|start| *start..start.saturating_add(best.length));
        let own: BTreeSet<usize> = in_passes.map(|op| programs.rows[op]).collect();
        let left_out_count = programs.rows.len().saturating_sub(own.len());
        Ok(Self { count: best.starts.len(), rows: own, left_out_count })
    }
}

/// A sequence of programs that is launched several times.
#[derive(Clone, Debug, PartialEq)]
struct Sequence {
    /// Index of the first op of each launch of the whole sequence.
    starts: Vec<usize>,
    /// Number of ops.
    length: usize,
    /// Device time of all launches of the whole sequence.
    time_us: f64,
}

impl Sequence {
    /// Finds the sequence that has the longest device time with all its launches; of those with the same
    /// time, the one that begins last, as the first pass may be cut.
    fn find(programs: &[usize], time_us: &[f64]) -> Option<Self> {
        let mut positions: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (at, program) in programs.iter().enumerate() {
            positions.entry(*program).or_default().push(at);
        }
        let mut starts: Vec<Vec<usize>> =
            positions.into_values().filter(|starts| starts.len() > 1).collect();
        starts.sort();
        let mut tried: HashMap<usize, usize> = HashMap::new();
        starts.retain(|starts| {
            let count = tried.entry(starts.len()).or_insert(0);
            *count = count.saturating_add(1);
            *count <= TRIED_STARTS
        });
        let found = starts.iter().filter_map(|starts| Self::from_starts(programs, starts, time_us));
        found.max_by(|one, other| {
            one.time_us.total_cmp(&other.time_us).then(one.starts.cmp(&other.starts))
        })
    }

    /// Finds the sequence that most launches of one program begin. What fewer go on with, such as a pass that
    /// is cut or ops after it, is not part of the sequence.
    fn from_starts(programs: &[usize], starts: &[usize], time_us: &[f64]) -> Option<Self> {
        let ends = starts.iter().skip(1).copied().chain([programs.len()]);
        let mut parts: Vec<&[usize]> =
            starts.iter().zip(ends).map(|(&start, end)| &programs[start..end]).collect();
        let mut starts = starts.to_vec();
        let mut length = 0_usize;
        loop {
            let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
            for next in parts.iter().filter_map(|part| part.get(length)) {
                let count = counts.entry(*next).or_insert(0);
                *count = count.saturating_add(1);
            }
            let most = counts.into_iter().max_by_key(|(_, count)| *count);
            let Some((next, count)) =
                most.filter(|(_, count)| count.saturating_mul(2) > parts.len())
            else {
                break;
            };
            if count < 2 {
                break;
            }
            let goes_on: Vec<bool> =
                parts.iter().map(|part| part.get(length) == Some(&next)).collect();
            let mut is_kept = goes_on.iter();
            starts.retain(|_| is_kept.next() == Some(&true));
            let mut is_kept = goes_on.iter();
            parts.retain(|_| is_kept.next() == Some(&true));
            length = length.saturating_add(1);
        }
        let own = starts.iter().flat_map(|start| &time_us[*start..start.saturating_add(length)]);
        let time_us = own.sum();
        (length > 0).then_some(Self { starts, length, time_us })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop, prop_assert_eq, proptest};

    fn found(text: &str) -> Option<(Vec<usize>, usize)> {
        let programs: Vec<usize> = text.bytes().map(usize::from).collect();
        let found = Sequence::find(&programs, &vec![1.0; programs.len()])?;
        Some((found.starts, found.length))
    }

    #[test]
    fn passes_are_found_between_cut_ones_and_other_ops() {
        assert_eq!(found("cdabcdabcd"), Some((vec![2, 6], 4)), "the first is cut");
        assert_eq!(found("abcdababcdabcd"), Some((vec![0, 6, 10], 4)), "the second is cut");
        assert_eq!(found("wabcdxabcdyz"), Some((vec![1, 6], 4)), "others around them");
        assert_eq!(found("abbbcabbbcabbbc"), Some((vec![0, 5, 10], 5)), "a loop within");
        assert_eq!(found("abcxabcyabczabcv"), Some((vec![0, 4, 8, 12], 3)), "others after each");
        assert_eq!(
            found("abcdefabcdeabcdef"),
            Some((vec![0, 11], 6)),
            "the second is cut at its end"
        );
        assert_eq!(found("abcdx"), None);
    }

    proptest! {
        /// A pass has each op once. Of the passes, some are cut at their ends.
        #[test]
        fn whole_passes_are_counted(
            length in 3_usize..9,
            passes in prop::collection::vec((prop::bool::weighted(0.3), 1_usize..8, 0_usize..2), 3..12),
        ) {
            let (mut programs, mut expected) = (Vec::new(), Vec::new());
            let is_most = |whole: usize| whole > 1 && whole * 2 > passes.len();
            for (number, (is_cut, cut, other)) in passes.iter().copied().enumerate() {
                let ops = if is_cut { cut.min(length - 1) } else { length };
                if ops == length {
                    expected.push(programs.len());
                }
                programs.extend(0..ops);
                programs.extend(std::iter::repeat_n(100 + number, other));
            }
            let found = Sequence::find(&programs, &vec![1.0; programs.len()]);
            if is_most(expected.len()) {
                let found = found.unwrap();
                prop_assert_eq!(found.starts.len(), expected.len());
                prop_assert_eq!(found.length, length);
            }
        }
    }
}
