//! Gap before an iteration: it is part of the loop if other iterations have one, too.

use crate::{
    duration::duration,
    threshold::{LAUNCH_GAP, LOOP_GAP},
};
use recording::problem::counted;

/// Gap before the first op of an iteration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GapBefore {
    own_ns: f64,
    /// Number of other iterations whose gap is known, without the first iteration.
    other_count: usize,
    /// Median of their gaps, the lower one of two; `None` if there are none.
    other_ns: Option<f64>,
}

impl GapBefore {
    /// Compares the gap before iteration `at` with the gaps before the others, in time order. The gap
    /// before the first iteration is not part of the loop. Returns `None` if the iteration's own gap is
    /// unknown.
    pub(crate) fn new(gaps_ns: &[Option<f64>], at: usize) -> Option<Self> {
        let own_ns = gaps_ns.get(at).copied().flatten()?;
        let others = gaps_ns.iter().enumerate().skip(1).filter(|(other, _)| *other != at && at > 0);
        let mut others: Vec<f64> = others.filter_map(|(_, gap)| *gap).collect();
        others.sort_by(f64::total_cmp);
        let middle = others.len().saturating_sub(1) / 2;
        Some(Self { own_ns, other_count: others.len(), other_ns: others.get(middle).copied() })
    }

    /// Returns the part of the gap that belongs to the loop; `None` if there is no other gap to show it.
    ///
    /// Of a gap that is far longer than the others, the loop has as much as of the others.
    pub(crate) fn of_loop_ns(&self) -> Option<f64> {
        let other_ns = self.other_ns?;
        Some(if self.own_ns > other_ns * LOOP_GAP.value { other_ns } else { self.own_ns })
    }

    /// Returns a text about a gap that is longer than a launch; empty for others.
    pub(crate) fn told(&self) -> String {
        let is_long = |ns: f64| ns > LAUNCH_GAP.value * 1e3;
        if !is_long(self.own_ns) {
            return String::new();
        }
        let own = duration(self.own_ns);
        let others = || counted(self.other_count as u64, "other", "others");
        match (self.of_loop_ns(), self.other_ns) {
            (Some(part_ns), Some(other_ns)) if part_ns < self.own_ns => format!(
                ", with {} of the {own} before it, the median before {}",
                duration(other_ns),
                others()
            ),
            (Some(_), Some(other_ns)) => format!(
                ", with the gap of {own} before it, as before {} (median {})",
                others(),
                duration(other_ns)
            ),
            _ => format!(
                ", without the gap of {own} before it, as no other shows whether each iteration has one"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_that_other_iterations_have_is_of_the_loop() {
        let part = |gaps: &[f64], at| {
            let gaps: Vec<Option<f64>> = gaps.iter().copied().map(Some).collect();
            GapBefore::new(&gaps, at).unwrap().of_loop_ns()
        };
        assert_eq!(part(&[9e9, 4e7, 5e7, 4.2e7], 3), Some(4.2e7));
        assert_eq!(part(&[9e9, 4e7, 5e7, 9e8], 3), Some(4e7), "an outlier counts as the others");
        assert_eq!(part(&[9e9, 8e9, 5e3, 5e3], 3), Some(5e3), "before the second, it compiled");
        assert_eq!(part(&[9e9, 5e3, 9e9], 1), Some(5e3));
        // The first gap is none of the loop, and the only other one shows nothing.
        assert_eq!(
            (part(&[4e7, 4e7], 1), part(&[4e7, 4e7, 4e7], 0), part(&[4e7], 0)),
            (None, None, None)
        );
        assert_eq!(GapBefore::new(&[Some(1.0), None, Some(1.0)], 1), None);
    }
}
