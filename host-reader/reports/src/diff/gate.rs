//! Gates: which changes fail a build, and when too little was compared for a verdict.

use super::{
    change::{Certainty, Change, Diff},
    elapsed::Elapsed,
    measured::{LaunchCounts, MeasuredKind},
    same_work::UncomparedIterations,
};
use std::fmt;

/// Smallest share of each recording's time that must be compared for a gate to pass, and of its ops
/// that must have a duration.
pub const LEAST_COMPARED_SHARE: f64 = 0.5;

/// Limits of changes, and the least change in cycles.
///
/// # Compatibility
/// A relative limit fails short ops for a few cycles of noise, an absolute one fails long ops. The
/// gates of TT-Metal's kernels therefore ask for both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gate {
    /// An op or zone that is slower by more than this percentage is a finding.
    pub above_percent: Option<f64>,
    /// An op or zone that is faster by more than this percentage is a finding: the baseline is out
    /// of date.
    pub below_percent: Option<f64>,
    /// A finding must also differ by more than this number of cycles. If the clock of an op is
    /// unknown, the percentage alone decides.
    pub cycles: Option<f64>,
    /// True if the time between ops does not count: an iteration that takes longer is then no finding,
    /// unless an op of it does.
    pub ignores_gaps: bool,
}

reader::labelled! {
    /// Direction of a change that a gate does not allow.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Finding {
        /// B is slower.
        Slower = "slower",
        /// B is faster.
        Faster = "faster",
    }
}

impl Gate {
    /// Returns true if any limit is set.
    #[must_use]
    pub const fn is_set(&self) -> bool {
        self.above_percent.is_some() || self.below_percent.is_some()
    }

    /// Returns the direction of a change that exceeds the limits; `None` if it does not.
    ///
    /// A change within the variation between repetitions is no finding. If A or B has only one
    /// repetition, the variation is unknown, and the size of the change decides.
    #[must_use]
    pub fn finding(&self, change: &Change) -> Option<Finding> {
        if change.certainty == Certainty::NotSignificant {
            return None;
        }
        let cycles = change.a_cycles.zip(change.b_cycles).map(|(a, b)| (b - a).abs());
        self.finding_of(change.percent(), cycles)
    }

    /// Returns the direction in which ops that only one of the recordings has change the time of A by
    /// more than the limits; `None` if they do not.
    ///
    /// An op that was added is slower than no op, and the changes of pairs do not show it. Where an
    /// op without a duration may turn the direction, no finding is returned.
    #[must_use]
    pub fn finding_of_unpaired(&self, diff: &Diff) -> Option<Finding> {
        let change_ns = diff.unpaired_change_ns();
        let untimed = if change_ns > 0.0 { &diff.a } else { &diff.b };
        let is_no_work = diff.repetitions.is_some();
        if is_no_work || diff.op_pair_count == 0 || untimed.launches.untimed_count > 0 {
            return None;
        }
        let mut cycles_per_ns =
            diff.changes.iter().filter_map(|of| Some(of.b_cycles? / of.b_geometric_mean_ns));
        let cycles = cycles_per_ns.next().map(|cycles_per_ns| change_ns.abs() * cycles_per_ns);
        self.finding_of(diff.unpaired_percent(), cycles)
    }

    /// Returns the direction in which the time of an iteration with its gaps exceeds the limits; `None` if
    /// it does not, or if the gate [leaves gaps out](Self::ignores_gaps).
    #[must_use]
    pub fn finding_of_elapsed(&self, elapsed: &Elapsed) -> Option<Finding> {
        if self.ignores_gaps || elapsed.certainty == Certainty::NotSignificant {
            return None;
        }
        let change_ns = (elapsed.b_ns.mean - elapsed.a_ns.mean).abs();
        let cycles = elapsed.clock_mhz.map(|mhz| change_ns * mhz / 1000.0);
        self.finding_of(elapsed.percent(), cycles)
    }

    /// Returns the direction in which the time that ops share exceeds the limits: ops of one recording that run
    /// one after the other, and in the other one side by side, take the same time each. `None` if the limits
    /// hold, if no ops ran side by side, or if the time is [not comparable](Diff::busy_ns).
    #[must_use]
    pub fn finding_of_overlap(&self, diff: &Diff) -> Option<Finding> {
        let (a_ns, b_ns) = diff.busy_ns()?;
        let cycles_per_ns =
            diff.changes.iter().find_map(|of| Some(of.b_cycles? / of.b_geometric_mean_ns));
        let cycles = cycles_per_ns.map(|per_ns| (b_ns - a_ns).abs() * per_ns);
        self.finding_of((b_ns / a_ns - 1.0) * 100.0, cycles)
    }

    /// Returns the first device on which both recordings show iterations that are not known to do the same work, so
    /// that a gate cannot pass; `None` if there is none, or if the gate [leaves gaps out](Self::ignores_gaps).
    #[must_use]
    pub fn uncomparable<'a>(&self, diff: &'a Diff) -> Option<&'a UncomparedIterations> {
        let is_wanted = self.is_set() && !self.ignores_gaps;
        let mut found = diff.uncompared_iterations.iter();
        found.find(|of| is_wanted && of.doubt.is_of_work())
    }

    /// Returns what was compared too little for the gate to pass; `None` if it can rest on the comparison.
    ///
    /// Where ops without a counterpart take most of the time, as after a change that fuses or replaces them,
    /// iterations that are compared as wholes hold it, unless the gate [leaves gaps out](Self::ignores_gaps).
    #[must_use]
    pub fn shortfall(&self, diff: &Diff) -> Option<Shortfall> {
        diff.shortfall().filter(|found| !self.is_held_by_iterations(diff, found))
    }

    /// Returns what has no counterpart in the other recording, though the gate passes if its limits hold, as the
    /// iterations are compared; `None` if most of the time has a counterpart, or if the gate cannot pass.
    #[must_use]
    pub fn held_by_iterations(&self, diff: &Diff) -> Option<Shortfall> {
        diff.shortfall().filter(|found| self.is_held_by_iterations(diff, found))
    }

    fn is_held_by_iterations(&self, diff: &Diff, found: &Shortfall) -> bool {
        let are_whole = diff.iterations_share.iter().all(|share| *share >= LEAST_COMPARED_SHARE);
        let is_of_ops = found.kind == MeasuredKind::Op && !found.is_of_durations();
        if is_of_ops && diff.repetitions.is_some() {
            return true;
        }
        !self.ignores_gaps && are_whole && is_of_ops
    }

    fn finding_of(&self, percent: f64, cycles: Option<f64>) -> Option<Finding> {
        let is_small = cycles.zip(self.cycles).is_some_and(|(found, least)| found <= least);
        let is_above = |limit: Option<f64>, found: f64| limit.is_some_and(|limit| found > limit);
        if is_small {
            None
        } else if is_above(self.above_percent, percent) {
            Some(Finding::Slower)
        } else if is_above(self.below_percent, -percent) {
            Some(Finding::Faster)
        } else {
            None
        }
    }
}

/// Too little was compared for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Shortfall {
    /// What was not compared: ops or zones.
    pub kind: MeasuredKind,
    /// Share of A's time that was compared, from 0 to 1.
    pub a_share: f64,
    /// Share of B's time that was compared, from 0 to 1.
    pub b_share: f64,
    /// Launches of ops in A.
    pub a_launches: LaunchCounts,
    /// Launches of ops in B.
    pub b_launches: LaunchCounts,
}

impl Shortfall {
    /// Returns true if too small a part of a recording's time was compared.
    fn is_of_time(&self) -> bool {
        self.a_share < LEAST_COMPARED_SHARE || self.b_share < LEAST_COMPARED_SHARE
    }

    /// Returns true if too few ops of a recording have a duration.
    fn is_of_durations(&self) -> bool {
        let is_short = |of: LaunchCounts| {
            of.untimed_count as f64 > of.launch_count as f64 * (1.0 - LEAST_COMPARED_SHARE)
        };
        self.kind == MeasuredKind::Op && (is_short(self.a_launches) || is_short(self.b_launches))
    }
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.label();
        let Self { a_share, b_share, .. } = self;
        let least = LEAST_COMPARED_SHARE * 100.0;
        if *a_share == 0.0 || *b_share == 0.0 {
            return write!(f, "no {kind} was compared, so the gate cannot pass");
        }
        if !self.is_of_time() {
            let (a, b) = (self.a_launches, self.b_launches);
            return write!(
                f,
                "{} of A's {} {kind}s and {} of B's {} have no duration, and a gate needs one of \
                 {least} % of each",
                a.untimed_count, a.launch_count, b.untimed_count, b.launch_count
            );
        }
        write!(
            f,
            "only {:.1} % of A's and {:.1} % of B's time of {kind}s was compared, and a gate needs \
             {least} % of each",
            a_share * 100.0,
            b_share * 100.0
        )
    }
}

impl Diff {
    /// Returns by how many ns ops that only one of the recordings has change the time from A to B.
    /// Ops without a duration are not in it.
    #[must_use]
    pub fn unpaired_change_ns(&self) -> f64 {
        self.b.alone_ns - self.a.alone_ns
    }

    /// Returns true if cycles show that ops of A or of B ran side by side, so that no sum over ops is the time
    /// that they take.
    #[must_use]
    pub const fn has_overlap(&self) -> bool {
        self.a.gaps.side_by_side_op_count > 0 || self.b.gaps.side_by_side_op_count > 0
    }

    /// Returns the time in ns in which at least one op of A and of B runs, on the device that takes longest: of an
    /// iteration, if both recordings consist of whole iterations, or else of all ops.
    ///
    /// `None` if no ops ran side by side, if the cycles of an op are unknown, or if A and B have different
    /// numbers of ops.
    #[must_use]
    pub fn busy_ns(&self) -> Option<(f64, f64)> {
        if !self.has_overlap() {
            return None;
        }
        let [a, b] = [&self.a, &self.b].map(|side| {
            let iterations = side.iteration_count.max(1);
            let count = side.launches.launch_count;
            let is_whole = side.left_out_count == 0 && count.checked_rem(iterations) == Some(0);
            let parts = if is_whole { iterations } else { 1 };
            let busy_ns = side.gaps.busy_ns.filter(|ns| *ns > 0.0);
            (count.checked_div(parts), busy_ns.map(|ns| ns / parts as f64))
        });
        a.1.zip(b.1).filter(|_| a.0 == b.0)
    }

    /// Returns [`unpaired_change_ns`](Self::unpaired_change_ns) in percent of A's time.
    #[must_use]
    pub fn unpaired_percent(&self) -> f64 {
        self.unpaired_change_ns() / self.a.total_ns * 100.0
    }

    /// Returns what was compared too little: less than [`LEAST_COMPARED_SHARE`] of either
    /// recording's time, or of the ops of one with a duration; `None` if a gate can rest on the
    /// comparison.
    #[must_use]
    pub fn shortfall(&self) -> Option<Shortfall> {
        let shares = |kind: MeasuredKind| {
            let [a, b] = [&self.a, &self.b].map(|side| match kind {
                MeasuredKind::Op => (side.compared_share, side.total_ns),
                MeasuredKind::Zone if side.zones_ns > 0.0 => {
                    (side.compared_zones_ns / side.zones_ns, side.zones_ns)
                }
                MeasuredKind::Zone => (0.0, 0.0),
            });
            let found = Shortfall {
                kind,
                a_share: a.0,
                b_share: b.0,
                a_launches: self.a.launches,
                b_launches: self.b.launches,
            };
            (a.1 > 0.0 || b.1 > 0.0, found)
        };
        let is_short = |found: &Shortfall| found.is_of_time() || found.is_of_durations();
        let (has_ops, ops) = shares(MeasuredKind::Op);
        let (has_zones, zones) = shares(MeasuredKind::Zone);
        // An ops CSV has no zones, so zones of a log are then nothing that was to be compared.
        let of_zones = (self.has_zones && has_zones).then_some(zones);
        let of_ops = (has_ops || of_zones.is_none()).then_some(ops);
        [of_ops, of_zones].into_iter().flatten().find(is_short)
    }
}
