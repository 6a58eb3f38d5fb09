//! Trials of the clock fits against simulated clocks; `accuracy.md` shows the results.

use super::{
    corridor::is_feasible,
    simulated::{Latency, Schedule, Seeded, TrueClock, pings, session},
    *,
};

const TRIALS: u64 = 1000;

/// Errors of one fit: the values of one row in the table of `accuracy.md`.
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

/// Converts a fit to a line with absolute host times. The fit counts nanoseconds from the session's
/// start.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a counter value")]
fn absolute(fit: &Regression, clock: &TrueClock) -> Line {
    let anchor = fit.delay_cycles.round();
    let fraction = (anchor - fit.delay_cycles) / fit.frequency_ghz;
    Line::through(anchor as u64, clock.host_origin_ns, fraction, fit.frequency_ghz.recip()).unwrap()
}

#[test]
fn corridor_bound_always_holds_and_slope_is_within_a_hundredth_ppm() {
    let mut corridor = Errors::default();
    let mut regression = Errors::default();
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

        let stamps = session(&clock, &Latency::MMIO, Schedule::ONE_SECOND, &mut random);
        let least_squares = Regression::fit(&stamps).unwrap();
        regression.add(&clock, &absolute(&least_squares, &clock));
    }
    assert!(percentile(&mut corridor.slopes_ppm, 95) <= 0.01);
    let table =
        [corridor.row("two-way, corridor"), regression.row("one-way, least squares (upstream)")];
    require_documented(&table.concat());
    let bound = percentile(&mut bounds, 100);
    require_documented(&format!("largest corridor bound in the middle: {bound:.0} ns"));
}

/// Parameters of trials with one frequency step.
struct StepTrials {
    count: u64,
    ppm: f64,
    /// Range of the step's position in the window, as fractions of the window.
    between: (f64, f64),
    latency: (&'static str, Latency),
    /// Minimum percentage of the detectable steps that must be found.
    least_percent: usize,
}

/// Table label and latency model: for a window that begins with the first pings, and for a window
/// after a warm-up burst, as in a sampler.
const COLD: (&str, Latency) = ("no", Latency::MMIO);
const AFTER_BURST: (&str, Latency) = ("yes", Latency { warm_up_samples: 0, ..Latency::MMIO });

/// Results of trials with one frequency step.
#[derive(Default)]
struct Detections {
    detectable: usize,
    found: usize,
    proved: usize,
    misplaced_ms: Vec<f64>,
}

fn fit(samples: &[TwoWayPing]) -> SteppedFit {
    SteppedFit::fit(samples, Resolution::HOST_NANOSECONDS).unwrap()
}

/// Returns true if the fastest legs suffice to detect that the frequency was not constant.
///
/// The duration of a leg is a fixed time plus exponential jitter. If the brackets are shortened by
/// the fixed times, all lines through the shortened brackets are therefore equally likely. If such
/// a line exists, the step is not detectable.
#[expect(clippy::cast_possible_truncation, reason = "legs of whole nanoseconds")]
fn is_detectable(samples: &[TwoWayPing], latency: &Latency) -> bool {
    let [forward, back] = [latency.forward_ns, latency.return_ns].map(|ns| ns as i64);
    let cut = |&ping: &TwoWayPing| {
        let Bracket { before, cycles, after } = ping.into();
        Bracket { before: before + forward, cycles, after: after - back }
    };
    let cut: Vec<Bracket> = samples.iter().map(cut).collect();
    !is_feasible(&cut, Resolution::HOST_NANOSECONDS)
}

impl StepTrials {
    fn run(&self) -> Detections {
        let mut detections = Detections::default();
        (0..self.count).for_each(|seed| self.trial(seed, &mut detections));
        detections
    }

    fn trial(&self, seed: u64, detections: &mut Detections) {
        let mut random = Seeded::new(seed);
        let at_ns = 1e9 * random.between(self.between.0, self.between.1);
        let sign = if random.unit() < 0.5 { -1.0 } else { 1.0 };
        let clock = TrueClock::random(&mut random).with_step(at_ns, sign * self.ppm);
        let samples = pings(&clock, &self.latency.1, Schedule::ONE_SECOND, &mut random);
        detections.detectable += usize::from(is_detectable(&samples, &self.latency.1));
        let fit = fit(&samples);
        for _ in 0..20 {
            let cycles = clock.reading_at(random.between(0.0, 1e9));
            let error = clock.error_ns(cycles, fit.clock.at(cycles));
            let bound = fit.clock.bound_at(cycles);
            assert!(fit.steps.is_empty() || error.abs() <= bound, "seed {seed}: {error} {bound}");
        }
        if let [step] = &fit.steps[..] {
            detections.found += 1;
            detections.proved += usize::from(step.evidence == Evidence::Proved);
            detections.misplaced_ms.push((clock.time_of(step.split.cycles) - at_ns).abs() / 1e6);
        }
    }

    fn row(&self, detections: &mut Detections) -> String {
        let Self { count, ppm, between: (first, last), latency: (is_warm, _), .. } = *self;
        let [detectable, found, proved] =
            [detections.detectable, detections.found, detections.proved]
                .map(|trials| format!("{:.1} %", 100.0 * trials as f64 / count as f64));
        let misplaced = percentile(&mut detections.misplaced_ms, 95);
        format!(
            "| {ppm} | {first} to {last} | {is_warm} | {count} | {detectable} | {found} | {proved} | {misplaced:.1} |\n"
        )
    }
}

#[test]
fn steps_of_5_ppm_are_found_in_99_of_100_trials_wherever_they_can_be_told() {
    let case = |count, ppm, between, latency, least_percent| StepTrials {
        count,
        ppm,
        between,
        latency,
        least_percent,
    };
    let cases = [
        case(TRIALS, 5.0, (0.1, 0.9), COLD, 99),
        case(TRIALS, 5.0, (0.02, 0.98), AFTER_BURST, 99),
        case(500, 5.0, (0.02, 0.05), AFTER_BURST, 95),
        case(500, 5.0, (0.95, 0.98), AFTER_BURST, 95),
        case(500, 5.0, (0.02, 0.1), COLD, 90),
        case(200, 20.0, (0.02, 0.98), COLD, 99),
    ];
    let mut table = String::new();
    for case in cases {
        let mut detections = case.run();
        let row = case.row(&mut detections);
        let Detections { detectable, found, .. } = detections;
        assert!(found * 100 >= detectable * case.least_percent, "{row}");
        table += &row;
    }
    require_documented(&table);
}

#[test]
fn constant_frequency_is_never_split() {
    for (seed, (_, latency)) in (0..TRIALS).flat_map(|seed| [(seed, COLD), (seed, AFTER_BURST)]) {
        let mut random = Seeded::new(seed);
        let clock = TrueClock::random(&mut random);
        let samples = pings(&clock, &latency, Schedule::ONE_SECOND, &mut random);
        let fit = fit(&samples);
        assert!(fit.steps.is_empty() && fit.rejected.is_empty(), "seed {seed}");
    }
}

fn require_documented(lines: &str) {
    let documented = include_str!("../../../src/clock/accuracy.md");
    assert!(documented.contains(lines), "accuracy.md should say\n{lines}");
}
