//! Detection of the last iteration of a sequence of ops that repeats.

use crate::{
    coverage::{Coverage, FirstRun},
    signpost_name::{are_parts, series},
};
use recording::problem::counted;
use reports::perf::{OpReport, repeated_end, signpost_half};
use std::{collections::HashMap, ops::Range};

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
    /// A single op that repeats until the end of the recording, with next to no other ops. Its first
    /// run is left out.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpStep<'a> {
    pub(crate) device: Option<u64>,
    pub(crate) name: &'a str,
    /// Text that distinguishes ops with the same name: their tensors. For an op without a name,
    /// this is the id of its program.
    pub(crate) form: &'a str,
    pub(crate) setting: Setting<'a>,
    /// Id of the trace and number of its replay, if the op was replayed.
    pub(crate) replay: Option<(u64, u64)>,
}

/// Configuration of an op. Ops of different settings are no repetitions of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Setting<'a> {
    pub(crate) core_count: Option<u64>,
    pub(crate) fidelity: Option<&'a str>,
    pub(crate) program_config: Option<&'a str>,
    /// Layouts of the first two inputs and of the output.
    pub(crate) layouts: [Option<&'a str>; 3],
    /// Attributes as text. Only runs of a single op are compared by them: attributes of a model's ops
    /// may differ between iterations, such as the position of a token.
    pub(crate) attributes: &'a str,
}

impl<'a> Setting<'a> {
    /// Returns the setting of the op that a row describes.
    pub(crate) fn from_row(row: &'a OpReport) -> Self {
        let recorded = &row.recorded;
        Self {
            core_count: recorded.core_count,
            fidelity: recorded.fidelity.as_deref(),
            program_config: recorded.program_config.as_deref(),
            layouts: recorded.tensors.each_ref().map(|tensor| tensor.layout.as_deref()),
            attributes: &recorded.attributes,
        }
    }
}

impl<'a> Step<'a> {
    pub(crate) const fn op(&self) -> Option<&OpStep<'a>> {
        match self {
            Self::Op(op) => Some(op),
            Self::Signpost(_) | Self::Other => None,
        }
    }
}

/// Start of the last iteration, and the rule that found it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastIteration {
    pub(crate) rule: SteadyRule,
    /// Index of the iteration's first step.
    pub(crate) first: usize,
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
    /// Part of the kernels' time that the iterations have.
    pub(crate) coverage: Coverage,
}

/// Lengths of the kernels of steps.
pub(crate) struct Lengths<F> {
    /// Returns the length of a step's kernels; `None` if it is unknown, or if the step is no op.
    pub(crate) of: F,
    /// True if lengths are in nanoseconds, false if they are in cycles of an unknown clock.
    pub(crate) are_ns: bool,
}

/// Why steps that repeat are not taken for the steady part.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Doubt {
    /// The iterations have only a small part of the kernels' time.
    Small(KnownIteration),
    /// Signposts of different names mark the repetitions as parts of one iteration.
    Parts(KnownIteration, [String; 2]),
}

impl Doubt {
    pub(crate) fn into_iteration(self) -> KnownIteration {
        match self {
            Self::Small(iteration) | Self::Parts(iteration, _) => iteration,
        }
    }
}

impl KnownIteration {
    /// Finds the last iteration with data, if the iterations have most of the kernels' time.
    ///
    /// # Errors
    /// If nothing repeats or no op of any iteration has a known length, `None`; otherwise why the
    /// first iterations that were found are not used.
    pub(crate) fn new<F: Fn(usize) -> Option<f64>>(
        steps: &[Step<'_>],
        lengths: &Lengths<F>,
    ) -> Result<Self, Option<Box<Doubt>>> {
        let mut doubt = None;
        for last in last_iterations(steps) {
            let Some(known) = Self::of_last(steps, last, lengths) else { continue };
            let found = match parts_of(steps, &known) {
                Some(names) => Doubt::Parts(known, names),
                None if known.coverage.is_enough(last.rule) => return Ok(known),
                None => Doubt::Small(known),
            };
            doubt = doubt.or_else(|| Some(Box::new(found)));
        }
        Err(doubt)
    }

    /// Finds the last iteration with data among those that equal the last one.
    fn of_last<F: Fn(usize) -> Option<f64>>(
        steps: &[Step<'_>],
        last: LastIteration,
        lengths: &Lengths<F>,
    ) -> Option<Self> {
        let is_known = |step: usize| (lengths.of)(step).is_some();
        let ops = |range: &Range<usize>| {
            let own = steps.get(range.clone()).unwrap_or(&[]).iter().zip(range.clone());
            own.filter(|(step, _)| step.op().is_some()).map(|(_, index)| index)
        };
        let known = |range: &Range<usize>| ops(range).filter(|index| is_known(*index)).count();
        let is_complete = |range: &Range<usize>| ops(range).all(is_known);
        let equal = equal_iterations(steps, last);
        let own = std::iter::once(last.first..steps.len());
        let all: Vec<Range<usize>> = if equal.is_empty() { own.collect() } else { equal.clone() };
        let complete = all.iter().rposition(&is_complete);
        let most = || (0..all.len()).max_by_key(|at| all.get(*at).map_or(0, &known));
        let at = complete.or_else(most)?;
        let (range, later) = all.get(at..)?.split_first()?;
        let known_op_count = known(range);
        let later_op_count = later.iter().map(|range| ops(range).count()).sum();
        let later_known = later.iter().map(known).sum();
        let coverage = Coverage::new(steps, (last, range, &equal), lengths);
        (known_op_count > 0).then(|| Self {
            rule: last.rule,
            steps: range.clone(),
            op_count: ops(range).count(),
            known_op_count,
            later_count: later.len(),
            later_ops: (usize::saturating_sub(later_op_count, later_known), later_op_count),
            equal,
            coverage,
        })
    }

    /// Returns a text about the iteration and the rule that found it.
    pub(crate) fn label(&self) -> String {
        match (self.rule, self.later_count, self.known_op_count == self.op_count) {
            (SteadyRule::RepeatedOp, ..) => {
                let first = self.coverage.first_run.as_ref().map(FirstRun::told);
                format!("{}{}", self.rule.label(), first.unwrap_or_default())
            }
            (rule, 0, _) => rule.label().to_owned(),
            (SteadyRule::TraceReplay, _, true) => {
                "the last replay of a trace with the lengths of all its ops".to_owned()
            }
            (_, _, true) => "the last iteration with the lengths of all its ops".to_owned(),
            (_, _, false) => "the iteration with the most known lengths of ops".to_owned(),
        }
    }

    /// Returns sentences about ops without a known length; empty if there are none.
    pub(crate) fn unknown_ops(&self) -> String {
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
        text
    }
}

/// Returns the steps of all iterations with the same ops as the last one, in time order; empty for
/// repetitions of a single op.
fn equal_iterations(steps: &[Step<'_>], last: LastIteration) -> Vec<Range<usize>> {
    let starts = iteration_starts(steps, last);
    let ranges = match last.rule {
        SteadyRule::Signpost => marked_iterations(steps),
        _ => ranges_from(&starts, steps.len()),
    };
    let names_in = |range: &Range<usize>| names(steps.get(range.clone()).unwrap_or(&[]));
    let Some(own) = ranges.last().map(names_in) else { return Vec::new() };
    ranges.into_iter().filter(|range| names_in(range) == own).collect()
}

/// Returns the ranges that begin at these indices; the last one ends at `end`.
fn ranges_from(starts: &[usize], end: usize) -> Vec<Range<usize>> {
    let ends = starts.iter().skip(1).copied().chain([end]);
    starts.iter().zip(ends).map(|(start, end)| *start..end).collect()
}

/// Returns the iterations that signposts mark, in time order.
///
/// Iterations begin at the signposts of the first series in which names count repetitions, such as
/// `iter_0_start` and `iter_1_start`, else at those with the name of the first signpost. An iteration
/// ends at the signpost that ends it by name, such as `iter_0_end`, if there is one before the next begins.
fn marked_iterations(steps: &[Step<'_>]) -> Vec<Range<usize>> {
    let signposts = steps.iter().enumerate().filter_map(|(index, step)| match step {
        Step::Signpost(name) => Some((index, *name)),
        Step::Op(_) | Step::Other => None,
    });
    let signposts: Vec<(usize, &str, Option<String>)> =
        signposts.map(|(index, name)| (index, name, series(name))).collect();
    let mut first_names: HashMap<&str, (&str, bool)> = HashMap::new();
    for (_, name, of) in &signposts {
        let Some(of) = of.as_deref() else { continue };
        let (first, is_counted) = first_names.entry(of).or_insert((name, false));
        *is_counted |= first != name;
    }
    let is_counted = |of: &str| first_names.get(of).is_some_and(|(_, is_counted)| *is_counted);
    let counted = signposts.iter().find_map(|(.., of)| of.as_deref().filter(|of| is_counted(of)));
    let first = signposts.first().map(|(_, name, _)| *name);
    let is_mark = |name: &str, of: Option<&str>| match counted {
        Some(_) => of == counted,
        None => Some(name) == first,
    };
    let starts: Vec<usize> = signposts
        .iter()
        .filter(|(_, name, of)| is_mark(name, of.as_deref()))
        .map(|(index, ..)| *index)
        .collect();
    let name_at = |index: usize| match steps.get(index) {
        Some(Step::Signpost(name)) => signpost_half(name),
        _ => None,
    };
    let closed = |range: Range<usize>| match name_at(range.start) {
        Some((stem, true)) => {
            let end = range.clone().find(|index| name_at(*index) == Some((stem.clone(), false)));
            range.start..end.unwrap_or(range.end)
        }
        _ => range,
    };
    ranges_from(&starts, steps.len()).into_iter().map(closed).collect()
}

/// Returns the last iteration that each rule finds, in the order of preference.
fn last_iterations(steps: &[Step<'_>]) -> impl Iterator<Item = LastIteration> {
    let replay = last_replay(steps).map(|first| (SteadyRule::TraceReplay, first));
    let marked = last_signpost(steps).map(|first| (SteadyRule::Signpost, first));
    let marked = replay.into_iter().chain(marked);
    marked.map(|(rule, first)| LastIteration { rule, first }).chain(last_repetition(steps))
}

/// Returns the names of two signposts at the same place of two passes, if they name different parts
/// of a program. Replays and signposts that mark iterations have no such doubt.
fn parts_of(steps: &[Step<'_>], known: &KnownIteration) -> Option<[String; 2]> {
    if known.rule != SteadyRule::RepeatedOps {
        return None;
    }
    // Signposts before each op, the nearest first: a mark that ends a part comes before its op, too.
    let mut marks_of_ops: Vec<Vec<&str>> = Vec::new();
    let mut marks = Vec::new();
    let first = known.equal.first()?.start;
    for (index, step) in steps.iter().enumerate() {
        match step {
            Step::Signpost(name) => marks.insert(0, *name),
            Step::Op(_) if index < first => marks.clear(),
            Step::Op(_) => marks_of_ops.push(std::mem::take(&mut marks)),
            Step::Other => {}
        }
    }
    let later = marks_of_ops.iter().skip(known.op_count);
    let pairs = marks_of_ops.iter().zip(later);
    let parts = pairs
        .flat_map(|(one, other)| one.iter().zip(other))
        .find(|(one, other)| are_parts(one, other))?;
    Some([parts.0, parts.1].map(|name| (*name).to_owned()))
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
            marked_iterations(steps).into_iter().map(|range| range.start).collect()
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

/// Returns the index of the signpost that begins the last of the iterations that signposts mark. Returns
/// `None` unless its ops equal the ops of the iteration before.
fn last_signpost(steps: &[Step<'_>]) -> Option<usize> {
    let iterations = marked_iterations(steps);
    let [.., previous, last] = iterations.as_slice() else { return None };
    let ops = names(steps.get(last.clone())?);
    (!ops.is_empty() && ops == names(steps.get(previous.clone())?)).then_some(last.start)
}

/// What makes an op a repetition of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Program<'a> {
    device: Option<u64>,
    name: &'a str,
    form: &'a str,
    /// Without attributes.
    setting: Setting<'a>,
}

impl<'a> OpStep<'a> {
    pub(crate) const fn program(&self) -> Program<'a> {
        let setting = Setting { attributes: "", ..self.setting };
        Program { device: self.device, name: self.name, form: self.form, setting }
    }

    pub(crate) fn without_core_count(&self) -> Program<'a> {
        let setting = Setting { core_count: None, ..self.setting };
        Self { setting, ..*self }.program()
    }
}

/// Returns the program of each op, with the index of the op's step. Signposts and other steps are
/// left out.
fn programs<'a>(steps: &[Step<'a>]) -> Vec<(usize, Program<'a>)> {
    let ops = steps.iter().enumerate().filter_map(|(index, step)| Some((index, step.op()?)));
    ops.map(|(index, op)| (index, op.program())).collect()
}

/// Returns the name of each op. Signposts and other steps are left out.
fn names<'a>(steps: &[Step<'a>]) -> Vec<&'a str> {
    steps.iter().filter_map(Step::op).map(|op| op.name).collect()
}

/// Finds the sequence of ops whose repetitions up to the end cover the largest number of steps, and
/// returns its last repetition.
///
/// If the sequence is a single op, the result starts at the op's second run and includes all later
/// runs, with equal attributes. At least two runs must remain, because a single run has no gaps.
fn last_repetition(steps: &[Step<'_>]) -> Option<LastIteration> {
    let (indices, programs): (Vec<usize>, Vec<Program<'_>>) = programs(steps).into_iter().unzip();
    let (period, _) = repeated_end(&programs)?;
    let (rule, count) = match period {
        1 => {
            let runs = runs_of_last_op(steps).len();
            (SteadyRule::RepeatedOp, runs.checked_sub(1).filter(|count| *count > 1)?)
        }
        _ => (SteadyRule::RepeatedOps, period),
    };
    indices.get(indices.len().checked_sub(count)?).map(|&first| LastIteration { rule, first })
}

/// Returns the steps of the runs of the last op at the end of the recording, in time order. Their
/// attributes are equal, too.
pub(crate) fn runs_of_last_op(steps: &[Step<'_>]) -> Vec<usize> {
    let ops = steps.iter().enumerate().filter_map(|(index, step)| Some((index, step.op()?)));
    let mut ops = ops.map(|(index, op)| (index, (op.program(), op.setting))).rev().peekable();
    let last = ops.peek().map(|(_, of)| *of);
    let mut runs: Vec<usize> =
        ops.take_while(|(_, of)| Some(*of) == last).map(|(index, _)| index).collect();
    runs.reverse();
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ops(names: &str) -> Vec<Step<'_>> {
        let step = |at: usize| match &names[at..=at] {
            "|" => Step::Signpost("begin"),
            "." => Step::Other,
            name => Step::Op(OpStep { name, ..OpStep::default() }),
        };
        (0..names.len()).map(step).collect()
    }

    fn last_iteration(steps: &[Step<'_>]) -> Option<LastIteration> {
        last_iterations(steps).next()
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
            Step::Op(OpStep { name: "a", replay: Some((7, *replay)), ..OpStep::default() })
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
                Step::Op(OpStep { name: "a", replay: *replay, ..OpStep::default() })
            };
            let found = last_iteration(&replays.iter().map(step).collect::<Vec<_>>());
            found.filter(|of| of.rule == SteadyRule::TraceReplay).map(|of| of.first)
        };
        let (one, two) = (Some((7, 1)), Some((7, 2)));
        assert_eq!(replayed(&[None, one, one, two, two]), Some(3));
        assert_eq!(replayed(&[one, two, None]), None);
        assert_eq!(replayed(&[None, one, one]), None);
    }
}
