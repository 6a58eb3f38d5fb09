//! Trials against simulated truth; `accuracy.md` shows their figures.

use super::simulated::{Latency, Schedule, Seeded, TrueClock, pings, session};
use super::*;
use std::fmt::Write;

const TRIALS: u64 = 1000;

/// What the table shows of one estimator.
#[derive(Default)]
struct Errors {
    slopes_ppm: Vec<f64>,
    offsets_ns: Vec<f64>,
    ahead_ns: Vec<f64>,
}

impl Errors {
    fn add(&mut self, clock: &TrueClock, line: &Line) {
        let middle = clock.reading_at(5e8);
        let ahead = clock.reading_at(2e9);
        self.slopes_ppm.push((line.slope() / clock.slope() - 1.0).abs() * 1e6);
        self.offsets_ns.push(clock.error_ns(middle, line.at(middle)).abs());
        self.ahead_ns.push(clock.error_ns(ahead, line.at(ahead)).abs());
    }

    fn row(&mut self, name: &str) -> String {
        let slope = percentile(&mut self.slopes_ppm, 95);
        let largest = percentile(&mut self.slopes_ppm, 100);
        let offset = percentile(&mut self.offsets_ns, 95);
        let ahead = percentile(&mut self.ahead_ns, 95);
        format!("| {name} | {slope:.4} | {largest:.4} | {offset:.0} | {ahead:.0} |\n")
    }
}

fn percentile(values: &mut [f64], percent: usize) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[((values.len() * percent).div_ceil(100)).max(1) - 1]
}

/// The line of a fit whose nanoseconds count from the session's start.
fn absolute(line: &Line, clock: &TrueClock) -> Line {
    let (whole, fraction) = line.at(line.anchor_cycles());
    let whole = whole + clock.host_origin_ns;
    Line::through(line.anchor_cycles(), whole, fraction, line.slope()).unwrap()
}

#[test]
fn corridor_bound_always_holds_and_slope_is_within_a_hundredth_ppm() {
    let mut corridor = Errors::default();
    let mut regression = Errors::default();
    let mut envelope = Errors::default();
    let mut bounds = Vec::new();
    for seed in 0..TRIALS {
        let mut random = Seeded::new(seed);
        let clock = TrueClock::random(&mut random);
        let samples = pings(&clock, &Latency::MMIO, Schedule::ONE_SECOND, &mut random);
        let fit = CorridorFit::fit(&samples, Resolution::HOST_NANOSECONDS).unwrap();
        for _ in 0..100 {
            let cycles = clock.reading_at(random.between(-1e9, 5e9));
            let error = clock.error_ns(cycles, fit.line().line().at(cycles));
            assert!(error.abs() <= fit.line().bound_at(cycles), "seed {seed}, cycle {cycles}");
        }
        corridor.add(&clock, fit.line().line());
        bounds.push(fit.line().bound_at(clock.reading_at(5e8)));

        let stamps = [session(&clock, &Latency::MMIO, Schedule::ONE_SECOND, &mut random)];
        let least_squares = Regression::fit(&stamps, 1.0).unwrap();
        regression.add(&clock, &absolute(least_squares.line().line(), &clock));
        let lowest = EnvelopeFit::fit(&stamps).unwrap();
        envelope.add(&clock, &absolute(lowest.line().line(), &clock));
    }
    assert!(percentile(&mut corridor.slopes_ppm, 95) <= 0.01);
    let table = [
        corridor.row("two-way, corridor"),
        envelope.row("one-way, envelope"),
        regression.row("one-way, least squares (upstream)"),
    ];
    require_documented(&table.concat());
    let bound = percentile(&mut bounds, 100);
    require_documented(&format!("largest corridor bound in the middle: {bound:.0} ns"));
}

/// Counts over trials with one step.
#[derive(Default)]
struct Detections {
    found: usize,
    proved: usize,
    misplaced_ms: Vec<f64>,
}

fn stepped(clock: &TrueClock, random: &mut Seeded, sensitivity: Sensitivity) -> SteppedFit {
    let samples = pings(clock, &Latency::MMIO, Schedule::ONE_SECOND, random);
    SteppedFit::fit(&samples, Resolution::HOST_NANOSECONDS, sensitivity).unwrap()
}

fn detect(trials: u64, ppm: f64, (first_share, last_share): (f64, f64)) -> Detections {
    let mut detections = Detections::default();
    for seed in 0..trials {
        let mut random = Seeded::new(seed);
        let at_ns = 1e9 * random.between(first_share, last_share);
        let sign = if random.unit() < 0.5 { -1.0 } else { 1.0 };
        let clock = TrueClock::random(&mut random).with_step(at_ns, sign * ppm);
        let fit = stepped(&clock, &mut random, Sensitivity::FloorCalibrated);
        for _ in 0..20 {
            let cycles = clock.reading_at(random.between(0.0, 1e9));
            let error = clock.error_ns(cycles, fit.clock().at(cycles));
            let bound = fit.clock().bound_at(cycles);
            assert!(fit.steps().is_empty() || error.abs() <= bound, "seed {seed}: {error} {bound}");
        }
        if let [step] = fit.steps() {
            detections.found += 1;
            detections.proved += usize::from(step.evidence == Evidence::Proved);
            detections.misplaced_ms.push((clock.time_of(step.split.cycles) - at_ns).abs() / 1e6);
        }
    }
    detections
}

#[test]
fn steps_of_5_ppm_are_found_in_99_of_100_trials() {
    let mut table = String::new();
    let cases = [(TRIALS, 5.0, (0.1, 0.9)), (200, 5.0, (0.02, 0.1)), (200, 20.0, (0.02, 0.98))];
    for (trials, ppm, (first, last)) in cases {
        let mut detections = detect(trials, ppm, (first, last));
        let percent = |count: usize| 100.0 * count as f64 / trials as f64;
        let (found, proved) = (percent(detections.found), percent(detections.proved));
        assert!(first < 0.1 || found >= 99.0);
        let misplaced = percentile(&mut detections.misplaced_ms, 95);
        writeln!(
            table,
            "| {ppm} | {first} to {last} | {trials} | {found:.1} % | {proved:.1} % | {misplaced:.1} |"
        )
        .unwrap();
    }
    require_documented(&table);
}

#[test]
fn constant_frequency_is_never_split() {
    for seed in 0..TRIALS {
        let mut random = Seeded::new(seed);
        let clock = TrueClock::random(&mut random);
        let fit = stepped(&clock, &mut random, Sensitivity::FloorCalibrated);
        assert!(fit.steps().is_empty() && fit.rejected().is_empty(), "seed {seed}");
    }
}

fn require_documented(lines: &str) {
    let documented = include_str!("accuracy.md");
    assert!(documented.contains(lines), "accuracy.md should say\n{lines}");
}
