//! Text about a chip that waits for the host: the gaps between the chip's ops, the ops before and
//! after the gaps, and advice.

use super::{IterationScope, Waiting, duration};
use crate::{
    finding::percent,
    middle::median,
    threshold::{LAUNCH_GAP, LONG_GAP, REASON_TIME, TRACED_GAP},
};

/// Gaps in which the host compiled kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Compilation {
    /// Number of gaps that consist mostly of compilation.
    pub(crate) gap_count: usize,
    /// Time of compiling the ops after these gaps, in nanoseconds. For each op, the time is limited
    /// to the length of the gap, because the host may compile while the chip still runs the
    /// previous op.
    pub(crate) compile_ns: f64,
}

impl Compilation {
    /// Sums the gaps that consist mostly of compilation. Each of `gaps` is paired with the time in
    /// which the host compiled the next op's kernels. Returns `None` if this time is unknown for
    /// all gaps.
    pub(crate) fn in_gaps(gaps: impl Iterator<Item = (f64, Option<f64>)>) -> Option<Self> {
        let mut found: Option<Self> = None;
        for (gap_ns, compile_ns) in gaps {
            let Some(compile_ns) = compile_ns else { continue };
            let sum = found.get_or_insert_default();
            if percent(compile_ns, gap_ns) >= REASON_TIME.value {
                sum.gap_count = sum.gap_count.saturating_add(1);
                sum.compile_ns += compile_ns.min(gap_ns);
            }
        }
        found
    }
}

/// Gaps before ops that come from traces.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TracedGaps {
    /// Number of gaps that are longer than a launch.
    count: usize,
    /// Time of these gaps, in percent of the time of all gaps that are longer than a launch.
    percent: f64,
}

impl TracedGaps {
    /// Sums gaps in nanoseconds, each paired with whether the op after it comes from a trace.
    pub(crate) fn new(gaps: impl Iterator<Item = (bool, f64)>) -> Self {
        let (mut count, mut traced, mut whole) = (0_usize, 0.0, 0.0);
        for (is_traced, gap) in gaps.filter(|(_, gap)| *gap > LAUNCH_GAP.value * 1000.0) {
            whole += gap;
            if is_traced {
                count = count.saturating_add(1);
                traced += gap;
            }
        }
        Self { count, percent: percent(traced, whole) }
    }
}

/// Advice if the ops after gaps come from a trace.
const REPLAY: &str = "the ops come from a trace already: replay it without waiting for its end \
    (ttnn.execute_trace with blocking=False), and look at what the host does between replays";

/// Advice if a running model has long gaps.
const LOOK_AT_HOST: &str = "look at what the host does in the longest gaps: its own code, compilation, \
    or upload and readback of tensors (ttnn.from_torch, ttnn.to_torch)";

/// Advice if gaps are short and come only from launching each op separately.
const CAPTURE: &str = "capture the ops in a trace and replay it (ttnn.begin_trace_capture, \
    ttnn.execute_trace)";

impl Waiting {
    fn gaps_ns(&self) -> impl Iterator<Item = f64> {
        self.parts.iter().map(|(gap, _)| *gap)
    }

    fn long_gaps_ns(&self) -> Vec<f64> {
        self.gaps_ns().filter(|gap| *gap > LONG_GAP.value * 1e6).collect()
    }

    /// Returns the time of the long gaps, in percent of the time of all gaps.
    fn long_percent(&self) -> f64 {
        percent(self.long_gaps_ns().iter().sum(), self.gaps_ns().sum())
    }

    /// Returns the sentence about the gaps in which the chip waits for the host.
    pub(super) fn late_host(&self) -> String {
        let long_percent = self.long_percent();
        let long_gaps = match self.long_gaps_ns().len() {
            0 => String::new(),
            1 => format!("; 1 gap over 10 ms is {long_percent:.0} % of that"),
            count => format!("; {count} gaps over 10 ms are {long_percent:.0} % of that"),
        };
        let gaps = match (self.parts.len(), median(self.gaps_ns().collect())) {
            (0, _) | (_, None) => String::new(),
            (1, _) => format!(", in 1 gap without the {} us of a launch", TRACED_GAP.value),
            (count, Some(middle)) => format!(
                ", in {count} gaps, each without the {} us of a launch, median {}",
                TRACED_GAP.value,
                duration(middle)
            ),
        };
        let longest = self.longest().map_or_else(String::new, |(gap, place)| {
            let around = match (&self.between, place.row) {
                (Some([before, after]), _) => format!(", between {before} and {after}"),
                (None, Some(row)) => format!(", before row {row}"),
                (None, None) => String::new(),
            };
            format!(" (longest {}{around})", duration(*gap))
        });
        format!(
            "The host is late: {:.1} % of {} the chip waits for it{gaps}{long_gaps}{longest}",
            self.percent,
            duration(self.total_ns),
        )
    }

    /// Returns the fact about compilation; `None` if compilation was not recorded.
    pub(super) fn compilation_fact(&self) -> Option<String> {
        let Compilation { gap_count, compile_ns } = self.compilation?;
        Some(match gap_count {
            0 => {
                "the host compiled kernels in none of these gaps for most of their time".to_owned()
            }
            count => format!(
                "the host compiled kernels in {count} of {} gaps, for {} in all",
                self.parts.len(),
                duration(compile_ns)
            ),
        })
    }

    /// Returns the advice for a chip that waits for the host.
    pub(super) fn advice_on_host(&self) -> String {
        let long_percent = self.long_percent();
        let is_long = long_percent >= REASON_TIME.value;
        let TracedGaps { count: traced, percent: traced_percent } = self.traced;
        let replay = match traced {
            _ if traced == self.parts.len() && traced > 0 => return REPLAY.to_owned(),
            0 => String::new(),
            traced => format!("; before {traced} of the {} gaps, {REPLAY}", self.parts.len()),
        };
        if traced_percent >= REASON_TIME.value {
            return format!(
                "before {traced} of the {} gaps, {REPLAY}; {CAPTURE}, before the others",
                self.parts.len()
            );
        }
        let first = match self.iterations {
            IterationScope::None if long_percent > 0.0 => {
                "record at least two iterations more (run the model in a loop): kernels are compiled \
                 in the first one; then "
            }
            IterationScope::All if long_percent > 0.0 => {
                "look at a later iteration first (--window last, or --filter): gaps this long usually come from a run \
                 that compiles; then "
            }
            _ => "",
        };
        match is_long {
            true => format!("{first}{LOOK_AT_HOST}{replay}"),
            false if long_percent > 0.0 => format!("{first}{LOOK_AT_HOST}; {CAPTURE}{replay}"),
            false => format!("{CAPTURE}, or send them from fewer, longer calls{replay}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        rules::{gaps::tests::wait, waiting},
        time_class::TimeClass,
    };

    #[test]
    fn long_gaps_are_rather_a_compiler_s_unless_ops_repeat() {
        let advice = |iterations| {
            let late = wait(TimeClass::HostLate, 99.0, &[9e6, 11e6], iterations);
            let finding = waiting(&late).unwrap();
            assert!(finding.sentence.contains("1 gap over 10 ms is 55 % of that"), "{finding:?}");
            finding.advice
        };
        assert!(advice(IterationScope::None).starts_with("record at least two iterations more"));
        assert!(advice(IterationScope::All).starts_with("look at a later iteration first"));
        assert!(advice(IterationScope::Last).starts_with("look at what the host does"));
    }

    #[test]
    fn a_trace_is_advised_for_short_gaps_of_ops_that_are_in_none() {
        let late = |gaps: &[f64]| wait(TimeClass::HostLate, 99.0, gaps, IterationScope::Last);
        let advice = |of: &Waiting| of.advice_on_host();
        assert!(advice(&late(&[1e6, 2e6])).starts_with("capture the ops in a trace"));
        let long = advice(&late(&[1e6, 11e6]));
        assert!(
            long.starts_with("look at what the host does") && !long.contains("trace"),
            "{long}"
        );
        let mixed = advice(&late(&[9e6, 9e6, 11e6]));
        assert!(
            mixed.ends_with(
                "capture the ops in a trace and replay it (ttnn.begin_trace_capture, \
                                 ttnn.execute_trace)"
            ),
            "{mixed}"
        );
        for gaps in [[1e6, 2e6], [1e6, 11e6]] {
            let traced = TracedGaps::new(gaps.map(|gap| (true, gap)).into_iter());
            let replayed = advice(&Waiting { traced, ..late(&gaps) });
            assert!(replayed.starts_with("the ops come from a trace already"), "{replayed}");
            assert!(!replayed.contains("capture"), "{replayed}");
        }
        // Each gap before an op of a trace has its own advice.
        let some = |gaps: [(bool, f64); 3]| {
            let traced = TracedGaps::new(gaps.into_iter());
            advice(&Waiting { traced, ..late(&gaps.map(|(_, gap)| gap)) })
        };
        let less = some([(false, 3e6), (true, 1e6), (true, 1e6)]);
        assert!(less.starts_with("capture the ops in a trace"), "{less}");
        assert!(
            less.contains("; before 2 of the 3 gaps, the ops come from a trace already"),
            "{less}"
        );
        let most = some([(false, 1e6), (true, 1e6), (true, 1e6)]);
        assert!(most.starts_with("before 2 of the 3 gaps, the ops come from a trace"), "{most}");
        assert!(most.ends_with("ttnn.execute_trace), before the others"), "{most}");
    }

    #[test]
    fn compilation_counts_if_it_fills_most_of_a_gap() {
        let found = |gaps: &[(f64, Option<f64>)]| Compilation::in_gaps(gaps.iter().copied());
        assert_eq!(found(&[(1e6, None)]), None, "not recorded");
        let some = found(&[(10e6, Some(5e6)), (10e6, Some(4.9e6)), (1e6, None)]);
        assert_eq!(some, Some(Compilation { gap_count: 1, compile_ns: 5e6 }));
        let begun_before = found(&[(10e6, Some(12e6))]);
        assert_eq!(begun_before, Some(Compilation { gap_count: 1, compile_ns: 10e6 }));
        let mut late = wait(TimeClass::HostLate, 99.0, &[1e6, 2e6, 3e6], IterationScope::Last);
        assert_eq!(late.compilation_fact(), None);
        late.compilation = some;
        let fact = "the host compiled kernels in 1 of 3 gaps, for 5.0 ms in all";
        assert_eq!(waiting(&late).unwrap().why, [fact]);
        late.compilation = found(&[(10e6, Some(1e6))]);
        assert!(late.compilation_fact().unwrap().contains("in none of these gaps"));
    }
}
