//! Part of the kernels' time that iterations have.

use crate::{
    duration::duration,
    finding::percent,
    iteration::{LastIteration, Lengths, Program, SteadyRule, Step, runs_of_last_op},
    middle::median,
    threshold::{OTHER_OPS, STEADY, STEADY_COVER},
};
use recording::problem::counted;
use std::{collections::HashSet, ops::Range};

/// Part of a recording's kernel time that iterations have.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Coverage {
    /// Number of iterations, or of runs of a single op.
    pub(crate) count: usize,
    /// Share of the kernels' time that these iterations or runs have.
    pub(crate) percent: f64,
    /// Share that they would have if each took as long as the steady part. Ops before replays and
    /// signposts count if they are ops of the steady part, as in warm-up.
    pub(crate) steady_percent: f64,
    /// Number of ops without a known length outside of the iterations.
    pub(crate) unknown_count: usize,
    /// First run of a single op; `None` for other iterations, or if its length is unknown.
    pub(crate) first_run: Option<FirstRun>,
}

/// First run of an op that repeats.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FirstRun {
    /// Length in nanoseconds; `None` if the clock is unknown.
    ns: Option<f64>,
    /// Its length divided by the median of the others.
    ratio: f64,
}

impl FirstRun {
    /// Returns a text about the length of the run, to follow its name.
    pub(crate) fn told(&self) -> String {
        let time = self.ns.map_or_else(String::new, |ns| format!(" of {}", duration(ns)));
        match self.ratio >= STEADY.value {
            true => format!("{time}, {:.1} times the median of the others", self.ratio),
            false => time,
        }
    }
}

impl Coverage {
    /// Compares the part `own`, found by `last`, and all iterations `equal` to it with all steps.
    pub(crate) fn new<F: Fn(usize) -> Option<f64>>(
        steps: &[Step<'_>],
        (last, own, equal): (LastIteration, &Range<usize>, &[Range<usize>]),
        lengths: &Lengths<F>,
    ) -> Self {
        let sum = |range: &Range<usize>| range.clone().filter_map(&lengths.of).sum::<f64>();
        let all = sum(&(0..steps.len()));
        let own_time = sum(own);
        let unknown_outside = |is_inside: &dyn Fn(usize) -> bool| {
            let ops = steps.iter().enumerate().filter(|(_, step)| step.op().is_some());
            ops.filter(|(step, _)| !is_inside(*step) && (lengths.of)(*step).is_none()).count()
        };
        if last.rule == SteadyRule::RepeatedOp {
            let runs = runs_of_last_op(steps);
            let known = runs.iter().filter_map(|step| (lengths.of)(*step));
            let others = known.clone().skip(1).collect::<Vec<f64>>();
            let first = runs.first().and_then(|step| (lengths.of)(*step));
            let middle = median(others.clone()).filter(|middle| *middle > 0.0);
            let first_run = first.zip(middle).map(|(length, middle)| FirstRun {
                ns: lengths.are_ns.then_some(length),
                ratio: length / middle,
            });
            let mean = own_time / others.len().max(1) as f64;
            return Self {
                count: runs.len(),
                unknown_count: unknown_outside(&|step| runs.binary_search(&step).is_ok()),
                percent: share(known.clone().sum(), all),
                steady_percent: share(mean * known.count() as f64, all),
                first_run,
            };
        }
        let own_programs: HashSet<Program<'_>> = programs_in(steps, own).collect();
        let is_own = |step: &usize| {
            let op = steps.get(*step).and_then(Step::op);
            op.is_some_and(|op| own_programs.contains(&op.program()))
        };
        let of_own =
            |range: Range<usize>| range.filter(is_own).filter_map(&lengths.of).sum::<f64>();
        let is_equal = |step: usize| {
            let after = equal.partition_point(|range| range.start <= step);
            let range = after.checked_sub(1).and_then(|at| equal.get(at));
            range.is_some_and(|range| range.contains(&step))
        };
        let warm_up = match last.rule {
            SteadyRule::RepeatedOps => 0.0,
            _ => of_own(0..steps.len()) - equal.iter().cloned().map(of_own).sum::<f64>(),
        };
        Self {
            count: equal.len(),
            unknown_count: unknown_outside(&is_equal),
            percent: share(equal.iter().map(sum).sum(), all),
            steady_percent: share(own_time * equal.len() as f64 + warm_up, all),
            first_run: None,
        }
    }

    /// Returns false if the iterations have too little of the kernels' time to stand for the whole.
    pub(crate) fn is_enough(&self, rule: SteadyRule) -> bool {
        let is_of_one_op = rule == SteadyRule::RepeatedOp;
        let is_alone = self.is_alone() && self.unknown_count == 0;
        self.steady_percent >= STEADY_COVER.value && (is_alone || !is_of_one_op)
    }

    /// Returns why the iterations do not stand for the whole, as a part of a sentence.
    pub(crate) fn doubt(&self, rule: SteadyRule) -> String {
        let Self { count, percent, steady_percent, .. } = self;
        let what = Self::noun(rule);
        if let Some(first) = self.first_run.as_ref().filter(|_| self.is_alone()) {
            return format!(
                "the first of {count} runs of one op{} has most of the kernels' time",
                first.told()
            );
        }
        let is_small = *percent < STEADY_COVER.value || rule == SteadyRule::RepeatedOp;
        if is_small {
            let unknown = self.unknown();
            return format!("{count} {what} have {percent:.1} % of the kernels' time{unknown}");
        }
        format!(
            "{count} {what} have {percent:.1} % of the kernels' time, but would have {steady_percent:.1} % \
             if each took as long as the last one"
        )
    }

    fn is_alone(&self) -> bool {
        100.0 - self.percent < OTHER_OPS.value
    }

    const fn noun(rule: SteadyRule) -> &'static str {
        match rule {
            SteadyRule::TraceReplay => "replays of traces",
            SteadyRule::Signpost | SteadyRule::RepeatedOps => "iterations",
            SteadyRule::RepeatedOp => "runs of one op",
        }
    }

    /// Returns a sentence about the kernels' time outside of the iterations; empty if there is next to
    /// none.
    pub(crate) fn sentence(&self, rule: SteadyRule) -> String {
        if self.percent >= 99.95 && self.unknown_count == 0 {
            return String::new();
        }
        let what = Self::noun(rule);
        let Self { count, percent, .. } = self;
        let unknown = self.unknown();
        format!(
            " The {count} {what} have {percent:.1} % of the kernels' time{unknown} (--window all: all)."
        )
    }

    /// Returns a text about other ops without a known length; empty if there are none.
    fn unknown(&self) -> String {
        match self.unknown_count {
            0 => String::new(),
            count => {
                let others = counted(count as u64, "other op has", "other ops have");
                format!(", as far as it is known: {others} no length")
            }
        }
    }
}

/// Returns a share in percent; 100 % if there is no time.
fn share(part: f64, all: f64) -> f64 {
    if all > 0.0 { percent(part, all).min(100.0) } else { 100.0 }
}

fn programs_in<'a>(
    steps: &'a [Step<'a>],
    range: &Range<usize>,
) -> impl Iterator<Item = Program<'a>> {
    let own = steps.get(range.clone()).unwrap_or(&[]);
    own.iter().filter_map(|step| Some(step.op()?.program()))
}
