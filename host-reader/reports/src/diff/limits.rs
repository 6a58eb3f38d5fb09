//! What limits of a chip cost: a simulated run against the same run with limits lifted.

use super::{Diff, Group};
use reader::simulated_time::SimulatedTime;

/// Cost of the limits that one of two simulated runs of a program has lifted.
///
/// The cost is measured, not modelled from bytes or operations: it is the time that the ops take
/// less without the limits. Costs of several limits do not add up, because ops that no longer wait
/// for one limit may then wait for another.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct LimitCost {
    /// Names of the lifted limits, such as `DRAM`.
    pub limits: Vec<String>,
    /// Time of the compared ops with the limits, in ns.
    pub with_ns: f64,
    /// Time of the same ops without the limits, in ns.
    pub without_ns: f64,
    /// Number of compared launches.
    pub launch_count: usize,
    /// Number of launches that were not compared, because they have no length on at least one side.
    pub untimed_count: usize,
    /// Costs by kind and shapes of ops: A has the limits, and B has not.
    pub groups: Vec<Group>,
}

impl LimitCost {
    /// Returns the cost of the limits that B has lifted and A has not; `None` if there are none, or
    /// if A has lifted limits that B has.
    ///
    /// ```
    /// use reader::simulated_time::SimulatedTime;
    /// use reports::diff::{Diff, LimitCost};
    /// let [with, mut without] = [SimulatedTime::default(), SimulatedTime::default()];
    /// assert_eq!(LimitCost::new((Some(&with), Some(&without)), &Diff::default()), None);
    /// without.lifted.push("DRAM".to_owned());
    /// let cost = LimitCost::new((Some(&with), Some(&without)), &Diff::default()).unwrap();
    /// assert_eq!(cost.limits, ["DRAM"]);
    /// assert_eq!(cost.percent(), None, "no op was compared");
    /// ```
    #[must_use]
    pub fn new(
        (a, b): (Option<&SimulatedTime>, Option<&SimulatedTime>),
        diff: &Diff,
    ) -> Option<Self> {
        let (a, b) = (a?, b?);
        let is_only_more = a.lifted.iter().all(|limit| b.lifted.contains(limit));
        let more = b.lifted.iter().filter(|limit| !a.lifted.contains(limit));
        let limits: Vec<String> = more.cloned().collect();
        let has_same_model = a.unmodelled == b.unmodelled;
        let launch_count = diff.groups.iter().map(|group| group.pair_count).sum();
        let compared_count = diff.a.iteration_count.max(1).saturating_mul(launch_count);
        (has_same_model && is_only_more && !limits.is_empty()).then(|| Self {
            limits,
            untimed_count: diff.a.op_count.saturating_sub(compared_count),
            with_ns: diff.groups.iter().map(|group| group.a_ns).sum(),
            without_ns: diff.groups.iter().map(|group| group.b_ns).sum(),
            launch_count,
            groups: diff.groups.clone(),
        })
    }

    /// Returns the time that the limits cost, in ns.
    #[must_use]
    pub fn cost_ns(&self) -> f64 {
        self.with_ns - self.without_ns
    }

    /// Returns the cost as a share of the time with the limits, in percent; `None` if no op was
    /// compared.
    #[must_use]
    pub fn percent(&self) -> Option<f64> {
        (self.with_ns > 0.0).then(|| 100.0 * self.cost_ns() / self.with_ns)
    }
}
