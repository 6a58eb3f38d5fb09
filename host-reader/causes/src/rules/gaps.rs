//! Rules about the time between ops, short ops, and ops on the host.

use super::{Gain, Reached, duration};
use crate::{
    finding::{Cause, Finding, GainOf, Place, share},
    middle::median,
    threshold::{
        GAP_COUNT, HOST_OPS, IDLE, LAUNCH_GAP, LONG_GAP, SMALL_COUNT, SMALL_OP, SMALL_OPS,
        SMALL_TIME, Threshold, WAITING,
    },
    time_class::TimeClass,
};

/// Lengths of ops and of the gaps before them, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(crate) struct GapFacts {
    /// Gaps, each with the length of the op behind it.
    pub(crate) gaps_ns: Vec<(f64, f64)>,
    /// Lengths of all ops.
    pub(crate) durations_ns: Vec<f64>,
    /// From the first record to the last.
    pub(crate) wall_ns: f64,
    /// Chips that the ops ran on.
    pub(crate) chip_count: usize,
    /// Ops on the host, with their lengths where known.
    pub(crate) host_ops: Vec<Option<f64>>,
}

impl GapFacts {
    /// Median share of idle time before an op, and the median gap.
    fn idle(&self) -> Option<(f64, f64)> {
        if !reaches(self.gaps_ns.len(), GAP_COUNT) {
            return None;
        }
        let shares = self.gaps_ns.iter().map(|(gap, op)| share(*gap, gap + op)).collect();
        let gaps = self.gaps_ns.iter().map(|(gap, _)| *gap).collect();
        median(shares).zip(median(gaps))
    }

    /// Gaps together, of one chip.
    #[expect(clippy::cast_precision_loss, reason = "a few chips")]
    fn gap_sum_ns(&self, beyond_ns: f64) -> f64 {
        let gaps = self.gaps_ns.iter().map(|(gap, _)| (gap - beyond_ns).max(0.0));
        gaps.sum::<f64>() / self.chip_count.max(1) as f64
    }

    fn finding(
        &self,
        cause: Cause,
        (threshold, figure): (Threshold, f64),
        sentence: String,
        gain_ns: f64,
        advice: &str,
    ) -> Finding {
        let gain = Gain { at_most_ns: gain_ns, whole_ns: self.wall_ns, of: GainOf::Recording };
        let reached = Reached::new(cause, threshold, figure);
        reached.finding(sentence, Place::default(), gain, advice)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of ops")]
fn reaches(count: usize, threshold: Threshold) -> bool {
    count as f64 >= threshold.value
}

/// Gaps that are rather a compiler's than those of a program that runs.
const FIRST_RUN_NS: f64 = 1e6;

/// The host sends ops too late: the chip is idle for longer than a launch takes.
pub(crate) fn host(facts: &GapFacts) -> Option<Finding> {
    let (idle, gap) = facts.idle()?;
    if idle < IDLE.value || gap <= LAUNCH_GAP.value * 1000.0 {
        return None;
    }
    let sentence = format!(
        "The host is late: idle between ops, median {idle:.0} % ({} before an op)",
        duration(gap)
    );
    let advice = if gap >= FIRST_RUN_NS {
        "look at a later iteration first: gaps this long are those of a run that compiles; then \
         capture the ops in a trace and replay it"
    } else {
        "capture the ops in a trace and replay it, or send them from fewer, longer calls"
    };
    let gain = facts.gap_sum_ns(0.0);
    Some(facts.finding(Cause::Host, (IDLE, idle), sentence, gain, advice))
}

/// Ops are short against the gap that every launch leaves.
pub(crate) fn dispatch(facts: &GapFacts) -> Option<Finding> {
    let (idle, gap) = facts.idle()?;
    if idle < IDLE.value || gap > LAUNCH_GAP.value * 1000.0 {
        return None;
    }
    let sentence = format!(
        "Launches take longer than the ops: idle between ops, median {idle:.0} % ({} before an op)",
        duration(gap)
    );
    let advice = "give each op more work, or fuse neighbours";
    let gain = facts.gap_sum_ns(0.0);
    Some(facts.finding(Cause::Dispatch, (IDLE, idle), sentence, gain, advice))
}

/// Time that a chip waits between ops, by what for.
pub(crate) struct Waiting {
    pub(crate) class: TimeClass,
    pub(crate) percent: f64,
    pub(crate) total_ns: f64,
    /// Gaps of the chip, each with the row that follows it.
    pub(crate) gaps_ns: Vec<(f64, u64)>,
    /// The chip, where there are several.
    pub(crate) chip_id: Option<u32>,
    /// True if the time is that of one of several iterations.
    pub(crate) is_steady: bool,
}

/// A class of waiting takes a good part of the time.
pub(crate) fn waiting(of: &Waiting) -> Option<Finding> {
    if of.percent < WAITING.value {
        return None;
    }
    let total = duration(of.total_ns);
    let (longest, row) = of.gaps_ns.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let whole: f64 = of.gaps_ns.iter().map(|(gap, _)| gap).sum();
    let long: Vec<f64> =
        of.gaps_ns.iter().map(|(gap, _)| *gap).filter(|gap| *gap > LONG_GAP.value * 1e6).collect();
    let (cause, sentence, advice, row) = if of.class == TimeClass::HostLate {
        let of_long = match long.len() {
            0 => String::new(),
            1 => format!("; 1 gap over 10 ms is {:.0} % of that", share(long.iter().sum(), whole)),
            count => format!(
                "; {count} gaps over 10 ms are {:.0} % of that",
                share(long.iter().sum(), whole)
            ),
        };
        let sentence = format!(
            "The host is late: {:.1} % of {total} the chip waits for it{of_long} (longest {})",
            of.percent,
            duration(*longest)
        );
        let advice = if long.is_empty() || of.is_steady {
            "capture the ops in a trace and replay it, or send them from fewer, longer calls"
        } else {
            "record at least two iterations more: nothing repeats here, so compilation cannot be \
             told from the model; then capture the ops in a trace and replay it"
        };
        (Cause::Host, sentence, advice, Some(*row))
    } else {
        let gaps = of.gaps_ns.iter().map(|(gap, _)| *gap).collect();
        let sentence = format!(
            "Launches take {:.1} % of {total}: {} gaps, median {}",
            of.percent,
            of.gaps_ns.len(),
            duration(median(gaps)?)
        );
        (Cause::Dispatch, sentence, "give each op more work, or fuse neighbours", None)
    };
    let gain = Gain {
        at_most_ns: of.total_ns * of.percent / 100.0,
        whole_ns: of.total_ns,
        of: if of.is_steady { GainOf::Steady } else { GainOf::Recording },
    };
    let place = Place { chip_id: of.chip_id, row, ..Place::default() };
    Some(Reached::new(cause, WAITING, of.percent).finding(sentence, place, gain, advice))
}

/// Many ops are very short and take a good part of the time.
pub(crate) fn small_ops(facts: &GapFacts) -> Option<Finding> {
    let all = &facts.durations_ns;
    let small: Vec<f64> = all.iter().copied().filter(|ns| *ns < SMALL_OP.value * 1000.0).collect();
    #[expect(clippy::cast_precision_loss, reason = "counts of ops")]
    let of_ops = share(small.len() as f64, all.len() as f64);
    let of_time = share(small.iter().sum(), all.iter().sum());
    let fires = reaches(small.len(), SMALL_COUNT)
        && of_ops >= SMALL_OPS.value
        && of_time >= SMALL_TIME.value;
    #[expect(clippy::cast_precision_loss, reason = "a few chips")]
    let gain = small.iter().sum::<f64>() / facts.chip_count.max(1) as f64;
    fires.then(|| {
        let sentence = format!(
            "{} of {} ops are shorter than {:.0} us and take {of_time:.0} % of the kernels' time",
            small.len(),
            all.len(),
            SMALL_OP.value
        );
        let advice = "fuse neighbours; ops of few tiles cannot use the grid";
        facts.finding(Cause::SmallOps, (SMALL_TIME, of_time), sentence, gain, advice)
    })
}

/// Ops ran on the host instead of the chip.
pub(crate) fn host_ops(facts: &GapFacts) -> Option<Finding> {
    let count = facts.host_ops.len();
    let ns: f64 = facts.host_ops.iter().flatten().sum();
    reaches(count, HOST_OPS).then(|| {
        let time =
            if ns > 0.0 { format!(" and take {} there", duration(ns)) } else { String::new() };
        let ops = if count == 1 { "op runs" } else { "ops run" };
        let sentence = format!("{count} {ops} on the host{time}");
        let advice =
            "find an op of the device for each; every one also moves its tensors over PCIe";
        #[expect(clippy::cast_precision_loss, reason = "counts of ops")]
        let figure = count as f64;
        let mut finding = facts.finding(Cause::HostOps, (HOST_OPS, figure), sentence, ns, advice);
        if ns <= 0.0 {
            (finding.gain_at_most_ns, finding.gain_at_most_percent) = (None, None);
        }
        finding
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(gaps_ns: &[(f64, f64)]) -> GapFacts {
        let durations_ns = gaps_ns.iter().map(|(_, op)| *op).collect();
        let wall_ns = gaps_ns.iter().map(|(gap, op)| gap + op).sum();
        GapFacts {
            gaps_ns: gaps_ns.to_vec(),
            durations_ns,
            wall_ns,
            chip_count: 1,
            ..GapFacts::default()
        }
    }

    #[test]
    fn a_host_that_leaves_the_chip_idle_is_told() {
        let late = facts(&[(240_000.0, 10_000.0); 10]);
        let finding = host(&late).unwrap();
        assert_eq!(
            finding.sentence,
            "The host is late: idle between ops, median 96 % (240 us before an op)"
        );
        assert_eq!(
            (finding.gain_at_most_ns, finding.gain_at_most_percent),
            (Some(2.4e6), Some(96.0))
        );
        assert_eq!(dispatch(&late), None);
    }

    #[test]
    fn one_long_pause_is_no_late_host() {
        let mut gaps = vec![(1_000.0, 10_000.0); 10];
        gaps.push((1e9, 10_000.0));
        assert_eq!((host(&facts(&gaps)), dispatch(&facts(&gaps))), (None, None));
        assert_eq!(host(&facts(&[(240_000.0, 1.0); 2])), None, "two gaps have no median");
    }

    #[test]
    fn short_ops_with_short_gaps_are_no_late_host() {
        let short = facts(&[(1_700.0, 700.0); 5]);
        assert_eq!(host(&short), None);
        assert_eq!(dispatch(&short).unwrap().cause, Cause::Dispatch);
    }

    #[test]
    fn thresholds_are_where_the_table_has_them() {
        assert!(host(&facts(&[(10_000.0, 10_000.0); 3])).is_some());
        assert!(host(&facts(&[(9_900.0, 10_000.0); 3])).is_none());
        assert!(host(&facts(&[(6_500.0, 100.0); 3])).is_none());
        assert!(dispatch(&facts(&[(6_500.0, 100.0); 3])).is_some());
        assert!(host(&facts(&[(6_501.0, 100.0); 3])).is_some());
    }

    #[test]
    fn small_ops_count_by_number_and_by_time() {
        let ops = |small: usize, large: usize, large_ns: f64| GapFacts {
            durations_ns: [vec![4_000.0; small], vec![large_ns; large]].concat(),
            wall_ns: 1e6,
            chip_count: 1,
            ..GapFacts::default()
        };
        let finding = small_ops(&ops(20, 20, 30_000.0)).unwrap();
        assert_eq!(
            finding.sentence,
            "20 of 40 ops are shorter than 5 us and take 12 % of the kernels' time"
        );
        assert_eq!(finding.gain_at_most_percent, Some(8.0));
        assert_eq!(small_ops(&ops(15, 1, 30_000.0)), None, "too few");
        assert_eq!(small_ops(&ops(20, 100, 5_000.0)), None, "too small a part of the ops");
        assert_eq!(small_ops(&ops(20, 20, 300_000.0)), None, "too small a part of the time");
    }

    #[test]
    fn ops_on_the_host_are_told_with_and_without_their_time() {
        let mut facts = facts(&[]);
        assert_eq!(host_ops(&facts), None);
        facts.host_ops = vec![Some(2e6), Some(1e6), None];
        facts.wall_ns = 30e6;
        let finding = host_ops(&facts).unwrap();
        assert_eq!(finding.sentence, "3 ops run on the host and take 3.0 ms there");
        assert_eq!(finding.gain_at_most_percent, Some(10.0));
        facts.host_ops = vec![None];
        let finding = host_ops(&facts).unwrap();
        assert_eq!(
            (finding.sentence.as_str(), finding.gain_at_most_ns),
            ("1 op runs on the host", None)
        );
    }
}
