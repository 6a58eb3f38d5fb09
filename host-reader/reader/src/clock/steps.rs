//! Detection of frequency steps in a window of samples that no single line fits.
//!
//! # Method
//!
//! A set of brackets is feasible if one line passes through all of them; then each subset is
//! feasible too. The search divides the samples into segments. It begins with the first sample and
//! makes each segment as long as the segment stays feasible. This gives the smallest number of
//! segments and the latest possible boundaries between segments. The same search from the end gives
//! the earliest possible boundaries. In any division into the same number of segments, boundary `j`
//! is between the boundaries `j` of the two searches. This range of time, the step's transition,
//! contains the step. All samples between two neighbouring transitions were certainly taken at one
//! frequency. The corridor of these samples gives the segment's line, and a step is placed at the
//! intersection of two lines.
//!
//! # Calibration
//!
//! The brackets alone prove a step only if it bends the line by more than half a round trip (0.4
//! us). In a window of one second, a step of 5 ppm bends the line by so much if it is in the middle
//! of the window, but not if it is near an end. An undetected step makes the error bounds wrong,
//! while a superfluous step only makes them wider. The search therefore shortens each bracket by a
//! delay that all pings have in common: the duration of the shortest round trip, minus the slack.
//! To find the slack, all round trips are ordered by duration. The slack is the duration at one
//! eighth of this list, minus the duration of the shortest round trip, plus one tick of each clock.
//!
//! The two legs of a ping are its ways to the chip and back. The calibration assumes: the shortest
//! round trip takes at most as long as the fastest way to the chip, the fastest way back and the
//! slack together. The assumption only affects the boundaries between segments. The lines and their
//! bounds come from the full brackets, so an extra boundary makes the bound wider but not wrong. If
//! the assumption fails, for example because the two legs vary in opposite directions, the method
//! finds boundaries everywhere. It then keeps only the boundaries that it finds with the full
//! brackets.
//!
//! # Validity of the bound
//!
//! The bound is valid if the frequency was constant outside the steps' transitions. The bound does
//! not cover steps that remain undetected because they are too small or too near an end of the
//! window.

use super::{
    BoundedLine, Bracket, ClockError, CorridorFit, PiecewiseClock, Resolution, Split,
    corridor::is_feasible,
};
use std::ops::Range;

/// Number of samples for checking a suspect sample: the samples that follow it. The suspect sample
/// is rejected if one line fits these samples and the segment without the suspect sample.
const CONFIRMING_SAMPLES: usize = 8;

/// Minimum number of samples that must follow a suspect sample so that it can be checked. Fewer
/// than [`CONFIRMING_SAMPLES`] samples follow only near the end of all samples.
const FEWEST_CONFIRMING_SAMPLES: usize = 3;

/// Minimum number of samples per segment. A line fits any two samples, so two samples cannot prove
/// that the frequency was constant.
const FEWEST_PER_SEGMENT: usize = 3;

/// Minimum number of samples for calibration. With fewer samples, the shortest eighth is no
/// estimate of the slack.
const FEWEST_FOR_CALIBRATION: usize = 32;

/// Divisor that selects the round trips for computing the slack: the shortest eighth of them.
///
/// Let S be the sum of the minimum delays of both legs. The calibration is wrong only if the
/// shortest round trip exceeds S by an amount e that is larger than the slack. In that case, each
/// of the shortest eighth of all round trips takes between S + e and S + 2 e. If the jitter of both
/// legs is exponential, this occurs in one of 7000 windows of 249 pings. Even then, one line
/// usually passes through all shortened brackets. A quarter instead of an eighth is even safer, but
/// then steps in the outer 3 % of a window are missed.
const SLACK_SHARE: usize = 8;

/// Maximum number of steps in addition to the proved steps. If there are more, the calibration is
/// rejected.
///
/// No clock changes its frequency that often, but legs that vary in opposite directions can look
/// like steps.
const INFERRED_STEPS_MAX: usize = 3;

/// Evidence for a reported step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evidence {
    /// No single line passes through the full (uncalibrated) brackets on both sides of the step.
    Proved,
    /// A line passes through the full (uncalibrated) brackets on both sides of the step, but no
    /// line passes through all shortened (calibrated) brackets.
    Inferred,
}

/// One change of frequency.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrequencyStep {
    /// Assumed cycle of the step, and the range of cycles in which the step may have happened.
    pub split: Split,
    /// New frequency divided by old frequency, minus one, in parts per million.
    pub change_ppm: f64,
    /// Difference between the two fitted lines at the time where one replaces the other, in units
    /// of the bracketing clock. It is zero if the lines meet inside the transition.
    pub gap_units: f64,
    /// Evidence for the step.
    pub evidence: Evidence,
}

/// Result of fitting a clock whose frequency may change in steps.
#[derive(Debug, Clone, PartialEq)]
pub struct SteppedFit {
    /// Piecewise map from cycles to the bracketing clock.
    pub clock: PiecewiseClock,
    /// The corridor fit of each interval of constant frequency.
    pub fits: Vec<CorridorFit>,
    /// The steps, ordered by time.
    pub steps: Vec<FrequencyStep>,
    /// Indices of rejected samples, such as torn reads. A rejected sample ends before it begins, or
    /// it contradicts both the samples before it and the samples after it.
    pub rejected: Vec<usize>,
    /// Number of samples that were not rejected but are in no fit, because their segments were too
    /// short for a fit.
    pub unfitted_count: usize,
    /// True if every segment was fitted to samples outside the transitions only.
    ///
    /// If false, some steps follow each other too closely for the number of samples, and the bound
    /// near these steps is only an estimate.
    pub is_assured: bool,
}

impl SteppedFit {
    /// Fits a clock to samples. The samples must be in the order in which they were taken.
    ///
    /// # Errors
    ///
    /// Returns an error of [`CorridorFit::fit`] if no segment can be fitted.
    ///
    /// # Cost
    ///
    /// About `n log n` for `n` samples, plus one pass per rejected sample.
    pub fn fit<B: Copy + Into<Bracket>>(
        samples: &[B],
        resolution: Resolution,
    ) -> Result<Self, ClockError> {
        let all: Vec<Bracket> = samples.iter().map(|&sample| sample.into()).collect();
        let (kept, rejected) = screened(&all, resolution);
        let transitions = Transitions::find_calibrated(&kept, resolution);
        let segments = transitions.fit_segments(&kept, resolution);
        let is_assured = transitions.is_confirmed
            && segments.len() == transitions.segment_count()
            && segments.iter().all(|s| s.is_core);
        let unfitted_count = transitions.unfitted_count(&segments);
        let steps = transitions.steps(&segments, &kept, resolution);
        let lines: Vec<BoundedLine> = segments.iter().map(|s| s.fit.line().clone()).collect();
        let splits = steps.iter().map(|step| step.split).collect();
        let Some(clock) = PiecewiseClock::new(lines, splits) else {
            // If no segment can be fitted, report why one line does not fit all samples.
            let too_few = ClockError::TooFewSamples { needed: 2, found: kept.len() };
            return Err(CorridorFit::fit(&all, resolution).err().unwrap_or(too_few));
        };
        let fits = segments.into_iter().map(|segment| segment.fit).collect();
        Ok(Self { clock, fits, steps, rejected, unfitted_count, is_assured })
    }
}

/// Returns the accepted samples and the indices of the rejected samples.
///
/// A sample is rejected if it ends before it begins, or if it contradicts both the samples before
/// it and the samples after it.
fn screened(all: &[Bracket], resolution: Resolution) -> (Vec<Bracket>, Vec<usize>) {
    let (mut rejected, mut indices): (Vec<usize>, Vec<usize>) =
        (0..all.len()).partition(|index| all[*index].after < all[*index].before);
    let mut samples: Vec<Bracket> = indices.iter().map(|&index| all[index]).collect();
    let mut start = 0;
    while start < samples.len() {
        let pending = &samples[start..];
        let end = longest_feasible(pending, resolution);
        match wrong_sample(pending, end, resolution) {
            Some(position) => {
                samples.remove(start + position);
                rejected.push(indices.remove(start + position));
            }
            None => start += end,
        }
    }
    rejected.sort_unstable();
    (samples, rejected)
}

/// Returns the index of a sample whose removal lets the segment extend beyond its present end.
///
/// Usually this is the first sample that does not fit the segment. But a line fits any two samples,
/// so if one of the first two samples is wrong, the third sample ends the segment.
fn wrong_sample(pending: &[Bracket], end: usize, resolution: Resolution) -> Option<usize> {
    if end >= pending.len() {
        return None;
    }
    let continues_without = |position: &usize| {
        let next = end + usize::from(*position == end);
        let following = &pending[next..pending.len().min(next + CONFIRMING_SAMPLES)];
        let before = &pending[..end.min(*position)];
        let between = pending.get(position + 1..end).unwrap_or_default();
        following.len() >= FEWEST_CONFIRMING_SAMPLES
            && is_feasible(&[before, between, following].concat(), resolution)
    };
    let candidates = if end <= 2 { 0..=end } else { end..=end };
    candidates.rev().find(continues_without)
}

/// Returns the length of the longest feasible prefix; at least one.
fn longest_feasible(brackets: &[Bracket], resolution: Resolution) -> usize {
    let fits = |length: usize| is_feasible(&brackets[..length], resolution);
    // Usually the frequency is constant and no search is necessary.
    if fits(brackets.len()) {
        return brackets.len();
    }
    let mut good = brackets.len().min(1);
    let mut bad = 2;
    while bad <= brackets.len() && fits(bad) {
        good = bad;
        bad *= 2;
    }
    bad = bad.min(brackets.len() + 1);
    while bad - good > 1 {
        let middle = usize::midpoint(good, bad);
        if fits(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

/// Returns the brackets, each shortened by the delay that all round trips have in common.
fn calibrated(brackets: &[Bracket], resolution: Resolution) -> Vec<Bracket> {
    if brackets.len() < FEWEST_FOR_CALIBRATION {
        return brackets.to_vec();
    }
    let mut trips: Vec<i64> =
        brackets.iter().map(|bracket| bracket.after.saturating_sub(bracket.before)).collect();
    trips.sort_unstable();
    let ticks = i64::from(resolution.host_units) + i64::from(resolution.device_units);
    let slack = trips[trips.len() / SLACK_SHARE].saturating_sub(trips[0]).saturating_add(ticks);
    let excess = trips[0].saturating_sub(slack).max(0);
    brackets.iter().map(|b| Bracket { after: b.after - excess, ..*b }).collect()
}

/// Ranges of samples in which the boundaries between segments must be, one range per boundary.
struct Transitions {
    sample_count: usize,
    /// Element `j` is the earliest possible index of the first sample after boundary `j`.
    earliest: Vec<usize>,
    /// Element `j` is the latest possible index of the first sample after boundary `j`.
    latest: Vec<usize>,
    /// True if the searches from the start and from the end found the same number of boundaries.
    is_confirmed: bool,
}

/// An interval of constant frequency.
struct Segment {
    index: usize,
    fit: CorridorFit,
    is_core: bool,
}

impl Transitions {
    fn find(brackets: &[Bracket], resolution: Resolution) -> Self {
        let count = brackets.len();
        let latest = boundaries(brackets, resolution);
        let mirrored = if latest.is_empty() {
            Vec::new()
        } else {
            let backwards: Vec<Bracket> = brackets.iter().rev().copied().collect();
            boundaries(&backwards, resolution)
        };
        // The counts differ if a sample is too far from the first sample
        // (`ClockError::SpanTooWide`), but near enough to the last sample.
        let is_confirmed = mirrored.len() == latest.len();
        let earliest = match is_confirmed {
            true => mirrored.iter().rev().map(|&boundary| count - boundary).collect(),
            false => latest.clone(),
        };
        Self { sample_count: count, earliest, latest, is_confirmed }
    }

    /// Runs [`Self::find`] with calibrated brackets. If this finds too many steps, returns the
    /// transitions found without calibration.
    fn find_calibrated(brackets: &[Bracket], resolution: Resolution) -> Self {
        let inferred = Self::find(&calibrated(brackets, resolution), resolution);
        if inferred.latest.len() <= INFERRED_STEPS_MAX {
            return inferred;
        }
        let proved = Self::find(brackets, resolution);
        let inferred_only = inferred.latest.len().saturating_sub(proved.latest.len());
        if inferred_only <= INFERRED_STEPS_MAX { inferred } else { proved }
    }

    fn segment_count(&self) -> usize {
        self.latest.len() + 1
    }

    /// Returns the number of samples in segments without a fit.
    fn unfitted_count(&self, segments: &[Segment]) -> usize {
        let missing = (0..self.segment_count())
            .filter(|index| !segments.iter().any(|segment| segment.index == *index));
        missing.map(|index| self.candidates(index)[2].len()).sum()
    }

    fn fit_segments(&self, kept: &[Bracket], resolution: Resolution) -> Vec<Segment> {
        (0..self.segment_count())
            .filter_map(|index| {
                self.candidates(index).into_iter().enumerate().find_map(|(rank, range)| {
                    let samples = kept.get(range)?;
                    let is_evidence = samples.len() >= FEWEST_PER_SEGMENT || self.latest.is_empty();
                    let fit = CorridorFit::fit(is_evidence.then_some(samples)?, resolution).ok()?;
                    Some(Segment { index, fit, is_core: rank == 0 })
                })
            })
            .collect()
    }

    /// Returns three ranges of samples for a segment. All samples of the first range are certainly
    /// in the segment. The other two ranges also include samples that are possibly in the segment.
    fn candidates(&self, segment: usize) -> [Range<usize>; 3] {
        let [(earliest_start, earliest_end), (latest_start, latest_end)] =
            [&self.earliest, &self.latest].map(|boundaries| {
                let start = if segment == 0 { 0 } else { boundaries[segment - 1] };
                (start, *boundaries.get(segment).unwrap_or(&self.sample_count))
            });
        [latest_start..earliest_end, earliest_start..earliest_end, latest_start..latest_end]
    }

    fn steps(
        &self,
        segments: &[Segment],
        kept: &[Bracket],
        resolution: Resolution,
    ) -> Vec<FrequencyStep> {
        segments
            .windows(2)
            .filter_map(|pair| {
                let [old, new] = pair else { return None };
                // If a segment without a fit is between these two segments, the transition of the
                // step includes that segment.
                let earliest = kept.get(self.earliest[old.index].checked_sub(1)?)?;
                let latest = kept.get(self.latest[new.index - 1])?;
                let [both_start, both_end] =
                    [self.candidates(old.index)[1].start, self.candidates(new.index)[2].end];
                let is_proved = !is_feasible(kept.get(both_start..both_end)?, resolution);
                let evidence = if is_proved { Evidence::Proved } else { Evidence::Inferred };
                Some(place_step(&old.fit, &new.fit, earliest.cycles, latest.cycles, evidence))
            })
            .collect()
    }
}

/// Returns the boundaries between segments. Beginning at the first sample, each segment is made as
/// long as possible.
fn boundaries(brackets: &[Bracket], resolution: Resolution) -> Vec<usize> {
    let mut boundaries = Vec::new();
    let mut start = 0;
    while start < brackets.len() {
        start += longest_feasible(&brackets[start..], resolution);
        boundaries.push(start);
    }
    // The last element is the end of the samples, which is not a boundary between segments.
    boundaries.pop();
    boundaries
}

/// Returns a step at the cycle in the transition where the two lines intersect, or else where their
/// distance is smallest.
fn place_step(
    old: &CorridorFit,
    new: &CorridorFit,
    earliest_cycles: u64,
    latest_cycles: u64,
    evidence: Evidence,
) -> FrequencyStep {
    let (old, new) = (old.line().line(), new.line().line());
    let [first, last] = [earliest_cycles, latest_cycles].map(|cycles| new.minus(old, cycles));
    let share = if first * last < 0.0 {
        first.abs() / (first.abs() + last.abs())
    } else if first.abs() <= last.abs() {
        0.0
    } else {
        1.0
    };
    let width = latest_cycles.wrapping_sub(earliest_cycles);
    let cycles = earliest_cycles.wrapping_add(scaled(width, share));
    FrequencyStep {
        split: Split { cycles, earliest_cycles, latest_cycles },
        change_ppm: (old.slope() / new.slope() - 1.0) * 1e6,
        gap_units: new.minus(old, cycles).abs(),
        evidence,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the share is in 0..=1")]
#[expect(clippy::cast_sign_loss, reason = "the share is in 0..=1")]
fn scaled(width: u64, share: f64) -> u64 {
    ((width as f64 * share) as u64).min(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{
        TwoWayPing,
        simulated::{Latency, Schedule, Seeded, TrueClock, pings},
    };
    use proptest::prelude::*;

    const RESOLUTION: Resolution = Resolution::HOST_NANOSECONDS;

    fn stepped(seed: u64, steps: &[(f64, f64)]) -> (TrueClock, Vec<TwoWayPing>) {
        let mut random = Seeded::new(seed);
        let mut clock = TrueClock::random(&mut random);
        for &(at_ns, ppm) in steps {
            clock = clock.with_step(at_ns, ppm);
        }
        let samples = pings(&clock, &Latency::MMIO, Schedule::ONE_SECOND, &mut random);
        (clock, samples)
    }

    fn fit(samples: &[TwoWayPing]) -> SteppedFit {
        SteppedFit::fit(samples, RESOLUTION).unwrap()
    }

    #[test]
    fn two_steps_are_found_where_they_are() {
        for seed in 0..20 {
            let (clock, samples) = stepped(seed, &[(3e8, 20.0), (7e8, -12.0)]);
            let found = fit(&samples);
            let [first, second] = &found.steps[..] else {
                panic!("seed {seed}: {:?}", found.steps)
            };
            for (step, at_ns, ppm) in [(first, 3e8, 20.0), (second, 7e8, -12.0)] {
                assert!((step.change_ppm - ppm).abs() < 0.5, "seed {seed}: {}", step.change_ppm);
                assert!((clock.time_of(step.split.cycles) - at_ns).abs() < 3e6, "seed {seed}");
                assert!(clock.time_of(step.split.earliest_cycles) <= at_ns);
                assert!(clock.time_of(step.split.latest_cycles) >= at_ns);
                assert!(step.gap_units < 1e-3);
                assert_eq!(step.evidence, Evidence::Proved);
            }
            assert!(found.is_assured);
        }
    }

    #[test]
    fn idle_to_busy_is_a_step_like_any_other() {
        // The frequency changes from 800 MHz to 1350 MHz.
        let (_, samples) = stepped(1, &[(4e8, -407_407.4)]);
        let found = fit(&samples);
        let [step] = &found.steps[..] else { panic!("one step") };
        assert!((step.change_ppm + 407_407.4).abs() < 1.0, "{}", step.change_ppm);
    }

    #[test]
    fn small_step_is_inferred_but_not_proved() {
        let (_, samples) = stepped(2, &[(5e8, 2.0)]);
        assert_eq!(fit(&samples).steps[0].evidence, Evidence::Inferred);
        let brackets: Vec<Bracket> = samples.into_iter().map(Bracket::from).collect();
        assert!(Transitions::find(&brackets, RESOLUTION).latest.is_empty());
    }

    #[test]
    fn torn_readings_are_rejected_and_nothing_is_split() {
        for index in [0, 1, 2, 57, 100, 245] {
            for torn in [1i64 << 32, -(1 << 32)] {
                let (_, mut samples) = stepped(3, &[]);
                let clean = fit(&samples);
                let cycles = &mut samples[index].device_cycles;
                *cycles = cycles.wrapping_add_signed(torn);
                let found = fit(&samples);
                assert_eq!(found.rejected, [index]);
                assert!(found.steps.is_empty());
                let slope = |fit: &SteppedFit| fit.fits[0].line().line().slope();
                assert!((slope(&found) / slope(&clean) - 1.0).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn torn_reading_at_the_very_end_is_counted_as_unfitted() {
        for index in [247, 248] {
            let (_, mut samples) = stepped(3, &[]);
            let cycles = &mut samples[index].device_cycles;
            *cycles = cycles.wrapping_sub(1 << 32);
            let found = fit(&samples);
            assert!(found.steps.is_empty() && !found.is_assured);
            assert_eq!(found.unfitted_count, 249 - index);
        }
    }

    #[test]
    fn inverted_samples_are_rejected() {
        let (_, mut samples) = stepped(4, &[]);
        samples[9].host_receive_ns = samples[9].host_send_ns - 1;
        assert_eq!(fit(&samples).rejected, [9]);
    }

    #[test]
    fn legs_that_vary_against_each_other_are_no_steps() {
        let (clock, _) = stepped(5, &[]);
        let samples: Vec<TwoWayPing> = (0..249)
            .map(|index| {
                let sent = index * 4_000_000;
                // The sum of both legs is always 780 ns.
                let forward = 250 + index * 7919 % 280;
                TwoWayPing {
                    host_send_ns: clock.host_origin_ns + sent,
                    device_cycles: clock.reading_at((sent + forward) as f64),
                    host_receive_ns: clock.host_origin_ns + sent + 780,
                }
            })
            .collect();
        assert!(fit(&samples).steps.is_empty());
    }

    #[test]
    fn nothing_to_fit_is_an_error() {
        let none: [TwoWayPing; 0] = [];
        let error = SteppedFit::fit(&none, RESOLUTION).unwrap_err();
        assert_eq!(error, ClockError::TooFewSamples { needed: 2, found: 0 });
    }

    #[test]
    fn samples_within_reach_of_the_last_one_only_are_refused() {
        let samples = [
            bracket(
                -4_282_961_592_478_719_128,
                7_523_650_270_631_256_674,
                -2_870_500_597_229_081_046,
            ),
            bracket(
                -4_004_648_065_040_008_705,
                6_370_728_766_024_409_699,
                -2_851_726_560_433_161_731,
            ),
        ];
        let fit = SteppedFit::fit(&samples, RESOLUTION);
        // The first bracket ends 1.4e18 units after its own start; 2^60 is 1.15e18.
        assert_eq!(fit, Err(ClockError::SpanTooWide { index: 0 }));
    }

    const fn bracket(before: i64, cycles: u64, after: i64) -> Bracket {
        Bracket { before, cycles, after }
    }

    proptest! {
        #[test]
        fn any_words_give_a_fit_or_an_error(
            raw in prop::collection::vec((any::<i64>(), any::<u64>(), any::<i64>()), 0..40),
            is_near in any::<bool>(),
        ) {
            let near = |value: i64| if is_near { value >> 44 } else { value };
            let brackets: Vec<_> = raw
                .into_iter()
                .map(|(before, cycles, after)| {
                    let cycles = if is_near { cycles >> 44 } else { cycles };
                    Bracket { before: near(before), cycles, after: near(after) }
                })
                .collect();
            let _ = Transitions::find(&brackets, RESOLUTION).fit_segments(&brackets, RESOLUTION);
            if let Ok(fit) = SteppedFit::fit(&brackets, RESOLUTION) {
                prop_assert_eq!(fit.fits.len(), fit.steps.len() + 1);
            }
        }
    }
}
