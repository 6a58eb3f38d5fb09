//! Detection of the last iteration of a sequence of ops that repeats.

use crate::{finding::percent, threshold::OTHER_OPS};
use recording::problem::counted;
use reports::perf::prefix_matches;
use std::ops::Range;

/// Rule by which the last iteration was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyRule {
    /// The last replay of a trace.
    TraceReplay,
    /// The ops after the last of the signposts that mark the starts of iterations.
    Signpost,
    /// A sequence of ops that repeats until the end of the recording. Ops are compared including
    /// their tensors.
    RepeatedOps,
    /// A single op that repeats until the end of the recording. Its first run is left out.
    RepeatedOp,
}

impl SteadyRule {
    /// Returns a text about the rule. It is used as the name of the steady part.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::TraceReplay => "the last replay of a trace",
            Self::Signpost | Self::RepeatedOps => "the last iteration",
            Self::RepeatedOp => "repetitions of one op, without its first run",
        }
    }
}

/// Step of the recorded workload. Lists of steps are in time order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    Op(OpStep<'a>),
    /// Signpost with this name.
    Signpost(&'a str),
    /// Any other step, such as an op on the host.
    Other,
}

/// Op on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpStep<'a> {
    pub(crate) device: Option<u64>,
    pub(crate) name: &'a str,
    /// Text that distinguishes ops with the same name: their tensors. For an op without a name,
    /// this is the id of its program.
    pub(crate) form: &'a str,
    /// Id of the trace and number of its replay, if the op was replayed.
    pub(crate) replay: Option<(u64, u64)>,
    /// Number of cores and math fidelity, if known.
    pub(crate) setup: (Option<u64>, &'a str),
}

impl<'a> Step<'a> {
    const fn op(&self) -> Option<&OpStep<'a>> {
        match self {
            Self::Op(op) => Some(op),
            Self::Signpost(_) | Self::Other => None,
        }
    }
}

/// Start of the last iteration, and the rule that found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LastIteration {
    rule: SteadyRule,
    /// Index of the iteration's first step.
    first: usize,
}

/// Iteration that an explanation covers: the last one in which each op has a known length, or the
/// one with the most known lengths.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KnownIteration {
    pub(crate) rule: SteadyRule,
    /// Steps of the iteration.
    pub(crate) steps: Range<usize>,
    /// Steps of all iterations that equal this one, in time order; empty for repetitions of a
    /// single op.
    pub(crate) equal: Vec<Range<usize>>,
    /// Number of ops in the iteration.
    pub(crate) op_count: usize,
    /// Number of ops in the iteration with a known length.
    pub(crate) known_op_count: usize,
    /// Number of later iterations, which lack lengths of ops.
    pub(crate) later_count: usize,
    /// Numbers of ops without a known length, and of all ops, in the later iterations.
    pub(crate) later_ops: (usize, usize),
    /// Ops outside of all iterations.
    pub(crate) others: OtherOps,
}

/// Ops of a recording outside of its iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct OtherOps {
    /// Number of ops.
    pub(crate) count: usize,
    /// Number of ops without a known length.
    pub(crate) unknown_count: usize,
    /// Their known lengths, in percent of the known lengths of all ops.
    pub(crate) percent: f64,
}

impl OtherOps {
    /// Adds up the ops whose steps are not in `iterations`.
    fn new(
        steps: &[Step<'_>],
        iterations: &[Range<usize>],
        length: &impl Fn(usize) -> Option<f64>,
    ) -> Self {
        let mut own = Self::default();
        let (mut all, mut others) = (0.0, 0.0);
        for (index, _) in steps.iter().enumerate().filter(|(_, step)| step.op().is_some()) {
            let length = length(index);
            all += length.unwrap_or(0.0);
            if iterations.iter().any(|range| range.contains(&index)) {
                continue;
            }
            own.count = own.count.saturating_add(1);
            own.unknown_count = own.unknown_count.saturating_add(usize::from(length.is_none()));
            others += length.unwrap_or(0.0);
        }
        own.percent = percent(others, all);
        own
    }

    /// Returns a sentence; empty if the ops take less than [`OTHER_OPS`] of the time.
    fn sentence(self) -> String {
        if self.percent < OTHER_OPS.value {
            return String::new();
        }
        let ops = counted(self.count as u64, "op", "ops");
        let unknown = match self.unknown_count {
            0 => String::new(),
            count => format!(", {count} of them of unknown length"),
        };
        format!(
            " Outside of it and of parts like it: {ops}{unknown}, {:.0} % of the kernels' time.",
            self.percent
        )
    }
}

impl KnownIteration {
    /// Finds the last iteration with data. `length` returns the length of a step's op, in any
    /// unit, if it is known.
    ///
    /// Returns `None` if nothing repeats, or if no op of any iteration has a known length. Also
    /// returns `None` if a single op repeats that is not nearly the whole recording: the other ops
    /// would be left out.
    pub(crate) fn new(steps: &[Step<'_>], length: impl Fn(usize) -> Option<f64>) -> Option<Self> {
        let last = last_iteration(steps)?;
        let is_known = |index: usize| length(index).is_some();
        let ops = |range: &Range<usize>| {
            let own = steps.get(range.clone()).unwrap_or(&[]).iter().zip(range.clone());
            own.filter(|(step, _)| step.op().is_some()).map(|(_, index)| index)
        };
        let known = |range: &Range<usize>| ops(range).filter(|index| is_known(*index)).count();
        let is_complete = |range: &Range<usize>| ops(range).all(&is_known);
        let equal = equal_iterations(steps, last);
        let own = std::iter::once(last.first..steps.len());
        let all: Vec<Range<usize>> = if equal.is_empty() { own.collect() } else { equal.clone() };
        let others = OtherOps::new(steps, &all, &length);
        if last.rule == SteadyRule::RepeatedOp {
            let runs = first_run(steps, last)?..steps.len();
            let others = OtherOps::new(steps, std::slice::from_ref(&runs), &length);
            if others.percent >= OTHER_OPS.value || others.unknown_count > 0 {
                return None;
            }
        }
        let complete = all.iter().rposition(&is_complete);
        let most = || (0..all.len()).max_by_key(|at| all.get(*at).map_or(0, &known));
        let at = complete.or_else(most)?;
        let (range, later) = all.get(at..)?.split_first()?;
        let known_op_count = known(range);
        let later_op_count = later.iter().map(|range| ops(range).count()).sum();
        let later_known = later.iter().map(known).sum();
        (known_op_count > 0).then(|| Self {
            rule: last.rule,
            steps: range.clone(),
            op_count: ops(range).count(),
            known_op_count,
            later_count: later.len(),
            later_ops: (usize::saturating_sub(later_op_count, later_known), later_op_count),
            equal,
            others,
        })
    }

    /// Returns a text about the iteration and the rule that found it.
    pub(crate) fn label(&self) -> String {
        match (self.rule, self.later_count, self.known_op_count == self.op_count) {
            (rule, 0, _) => rule.label().to_owned(),
            (SteadyRule::TraceReplay, _, true) => {
                "the last replay of a trace with the lengths of all its ops".to_owned()
            }
            (_, _, true) => "the last iteration with the lengths of all its ops".to_owned(),
            (_, _, false) => "the iteration with the most known lengths of ops".to_owned(),
        }
    }

    /// Returns sentences about ops that are left out or have no known length; empty if there are
    /// none.
    pub(crate) fn other_ops(&self) -> String {
        let mut text = String::new();
        let (unknown, all) = self.later_ops;
        if self.later_count > 0 {
            let later =
                counted(self.later_count as u64, "later iteration is", "later iterations are");
            text = format!(" {later} left out: the length of {unknown} of {all} ops is not known.");
        }
        if self.known_op_count < self.op_count {
            let (known, all) = (self.known_op_count, self.op_count);
            text = format!("{text} In the steady part, {known} of {all} ops have a known length.");
        }
        text.push_str(&self.others.sentence());
        text
    }
}

/// Returns the index of the run before the repetitions of a single op.
fn first_run(steps: &[Step<'_>], last: LastIteration) -> Option<usize> {
    steps.get(..last.first)?.iter().rposition(|step| step.op().is_some())
}

/// Returns the steps of all iterations with the same ops as the last one, in time order; empty for
/// repetitions of a single op.
fn equal_iterations(steps: &[Step<'_>], last: LastIteration) -> Vec<Range<usize>> {
    let starts = iteration_starts(steps, last);
    let ends = starts.iter().skip(1).copied().chain([steps.len()]);
    let ranges = starts.iter().zip(ends).map(|(start, end)| *start..end);
    let own = names(steps.get(last.first..).unwrap_or(&[]));
    ranges.filter(|range| steps.get(range.clone()).is_some_and(|of| names(of) == own)).collect()
}

/// Finds the last iteration of the steps; `None` if nothing repeats.
fn last_iteration(steps: &[Step<'_>]) -> Option<LastIteration> {
    let replay = last_replay(steps).map(|first| (SteadyRule::TraceReplay, first));
    let marked = replay.or_else(|| Some((SteadyRule::Signpost, last_signpost(steps)?)));
    marked.map(|(rule, first)| LastIteration { rule, first }).or_else(|| last_repetition(steps))
}

/// Returns the indices of the first steps of all iterations that equal the last one, in time order.
///
/// If the last iteration is a repetition of a single op, the result is empty.
fn iteration_starts(steps: &[Step<'_>], last: LastIteration) -> Vec<usize> {
    match last.rule {
        SteadyRule::TraceReplay => {
            let mut seen = std::collections::BTreeSet::new();
            let replays = steps
                .iter()
                .enumerate()
                .filter_map(|(index, step)| Some((index, step.op()?.replay?)));
            replays.filter(|(_, replay)| seen.insert(*replay)).map(|(index, _)| index).collect()
        }
        SteadyRule::Signpost => {
            let mark = steps.get(last.first);
            let marks = steps.iter().enumerate().filter(|(_, step)| Some(*step) == mark);
            marks.map(|(index, _)| index).collect()
        }
        SteadyRule::RepeatedOps => passes(steps, last.first),
        SteadyRule::RepeatedOp => Vec::new(),
    }
}

/// Returns the indices of the first steps of all equal passes through a sequence of ops, in time
/// order.
///
/// The passes follow each other without gaps. The last pass starts at `first` and ends at the last
/// op.
fn passes(steps: &[Step<'_>], first: usize) -> Vec<usize> {
    let ops = programs(steps);
    let period = ops.iter().filter(|(index, _)| *index >= first).count();
    let mut passes = ops.rchunks(period.max(1));
    let Some(last_pass) = passes.next() else { return Vec::new() };
    let equal = std::iter::once(last_pass).chain(passes.take_while(|pass| {
        pass.iter().map(|(_, program)| program).eq(last_pass.iter().map(|(_, program)| program))
    }));
    let starts = equal.filter_map(|pass| pass.first().map(|(index, _)| *index));
    let mut starts: Vec<usize> = starts.collect();
    starts.reverse();
    starts
}

/// Returns the index of the first step of the last replay, if there are several replays and no
/// other ops follow the last one.
fn last_replay(steps: &[Step<'_>]) -> Option<usize> {
    let last = steps.iter().rev().find_map(Step::op)?.replay?;
    let replays = steps.iter().map(|step| step.op().and_then(|op| op.replay));
    let has_others = replays.clone().flatten().any(|replay| replay != last);
    replays.clone().position(|replay| replay == Some(last)).filter(|_| has_others)
}

/// Returns the index of the last signpost with the same name as the first signpost. Returns `None`
/// unless the ops after it equal the ops after the previous signpost with this name.
fn last_signpost(steps: &[Step<'_>]) -> Option<usize> {
    let mark = steps.iter().find(|step| matches!(step, Step::Signpost(_)))?;
    let last = steps.iter().rposition(|step| step == mark)?;
    let (before, iteration) = steps.split_at_checked(last)?;
    let (_, previous) = before.split_at_checked(before.iter().rposition(|step| step == mark)?)?;
    let ops = names(iteration);
    (!ops.is_empty() && ops == names(previous)).then_some(last)
}

/// Device, name and distinguishing text (`OpStep::form`) of an op. Ops that agree in all three are
/// repetitions of each other.
type Program<'a> = (Option<u64>, &'a str, &'a str);

/// Returns the program of each op, with the index of the op's step. Signposts and other steps are
/// left out.
fn programs<'a>(steps: &[Step<'a>]) -> Vec<(usize, Program<'a>)> {
    let ops = steps.iter().enumerate().filter_map(|(index, step)| Some((index, step.op()?)));
    ops.map(|(index, op)| (index, (op.device, op.name, op.form))).collect()
}

/// Returns the name of each op. Signposts and other steps are left out.
fn names<'a>(steps: &[Step<'a>]) -> Vec<&'a str> {
    steps.iter().filter_map(Step::op).map(|op| op.name).collect()
}

/// Finds the sequence of ops whose repetitions up to the end cover the largest number of steps, and
/// returns its last repetition.
///
/// If the sequence is a single op, the result starts at the op's second run and includes all later
/// runs. At least two runs must remain, because a single run has no gaps.
fn last_repetition(steps: &[Step<'_>]) -> Option<LastIteration> {
    let (indices, programs): (Vec<usize>, Vec<Program<'_>>) =
        programs(steps).into_iter().rev().unzip();
    let period = repeated_prefix(&programs)?;
    let (rule, count) = match period {
        1 => {
            let setup = |index: &usize| steps.get(*index).and_then(Step::op).map(|op| op.setup);
            let runs = indices.iter().zip(&programs).take_while(|(index, of)| {
                Some(*of) == programs.first() && setup(index) == indices.first().and_then(setup)
            });
            let runs = runs.count();
            (SteadyRule::RepeatedOp, runs.checked_sub(1).filter(|count| *count > 1)?)
        }
        _ => (SteadyRule::RepeatedOps, period),
    };
    indices.get(count.checked_sub(1)?).map(|&first| LastIteration { rule, first })
}

/// Returns the period of the repetition that starts at the first item and covers the largest number
/// of items; `None` if no prefix repeats.
///
/// If several periods cover equally many items, the shortest is returned.
fn repeated_prefix<T: PartialEq>(items: &[T]) -> Option<usize> {
    let matches = prefix_matches(items);
    let periods = matches.iter().enumerate().skip(1);
    let repeated = periods.filter(|(period, length)| *length >= period);
    let best = repeated.max_by_key(|(period, length)| {
        (period.saturating_add(**length), std::cmp::Reverse(*period))
    });
    best.map(|(period, _)| period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ops(names: &str) -> Vec<Step<'_>> {
        let step = |at: usize| match &names[at..=at] {
            "|" => Step::Signpost("begin"),
            "." => Step::Other,
            name => {
                Step::Op(OpStep { device: None, name, form: "", replay: None, setup: (None, "") })
            }
        };
        (0..names.len()).map(step).collect()
    }

    #[test]
    fn iterations_begin_with_their_first_op_or_signpost() {
        let found = |names| last_iteration(&ops(names)).map(|of| (of.rule, of.first));
        assert_eq!(found("ab.ab"), Some((SteadyRule::RepeatedOps, 3)));
        assert_eq!(found("|abb|abb"), Some((SteadyRule::Signpost, 4)));
        assert_eq!(found("|abc|abb"), None, "other ops follow, and a run alone has no gaps");
        assert_eq!(found("xaaa"), Some((SteadyRule::RepeatedOp, 2)));
        assert_eq!((found("xaa"), found("abc"), found("")), (None, None, None));
    }

    #[test]
    fn all_iterations_like_the_last_are_found() {
        let starts = |names: &str| {
            let steps = ops(names);
            last_iteration(&steps).map(|of| iteration_starts(&steps, of))
        };
        assert_eq!(starts("xab.abab"), Some(vec![1, 4, 6]), "without the op before them");
        assert_eq!(starts("|abb|abb|abb"), Some(vec![0, 4, 8]));
        assert_eq!(starts("xaaa"), Some(Vec::new()), "single ops");
        let step = |replay: &u64| {
            Step::Op(OpStep {
                device: None,
                name: "a",
                form: "",
                replay: Some((7, *replay)),
                setup: (None, ""),
            })
        };
        let steps: Vec<_> = [1, 1, 2, 2, 3].iter().map(step).collect();
        let last = last_iteration(&steps).unwrap();
        assert_eq!((last.rule, last.first), (SteadyRule::TraceReplay, 4));
        assert_eq!(iteration_starts(&steps, last), [0, 2, 4]);
    }

    #[test]
    fn the_last_replay_counts_if_there_is_another_and_nothing_follows_it() {
        let replayed = |replays: &[Option<(u64, u64)>]| {
            let step = |replay: &Option<(u64, u64)>| {
                Step::Op(OpStep {
                    device: None,
                    name: "a",
                    form: "",
                    replay: *replay,
                    setup: (None, ""),
                })
            };
            let found = last_iteration(&replays.iter().map(step).collect::<Vec<_>>());
            found.filter(|of| of.rule == SteadyRule::TraceReplay).map(|of| of.first)
        };
        let (one, two) = (Some((7, 1)), Some((7, 2)));
        assert_eq!(replayed(&[None, one, one, two, two]), Some(3));
        assert_eq!(replayed(&[one, two, None]), None);
        assert_eq!(replayed(&[None, one, one]), None);
    }

    #[test]
    fn the_longest_repeated_end_wins_over_a_loop_within_it() {
        // Read backwards, these are two passes of `dcbba`, with the inner loop `bb`.
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
