//! TT-Metal's clock fit: least squares over one-way stamps.
//!
//! Let `h` be the host ticks since the earliest session's start, `d` the device cycles, `r` the
//! nanoseconds per tick and `n` the number of stamps of all sessions together. TT-Metal defines
//!
//! ```text
//! frequency = (n sum(hd) - sum(h) sum(d)) / ((n sum(hh) - sum(h)^2) r)
//! delay     = (sum(d) - frequency r sum(h)) / n
//! ```
//!
//! If the counter is large, both differences lose almost all digits by cancellation. The sums here
//! are therefore centred on the means: `n sum(hd) - sum(h) sum(d)` equals `n sum((h - mean h)(d -
//! mean d))`. The denominator is centred in the same way.
//!
//! This fit exists for compatibility. The line contains the average of the host's forward latency
//! and of all delays, and has no error bound.

use super::{BoundedLine, ClockError, ErrorBound, Line, OneWaySession};

/// The line that TT-Metal fits.
///
/// # Compatibility
///
/// The fit is that of `syncDeviceHost` in `tt_metal/impl/profiler/tt_metal_profiler.cpp`.
#[derive(Debug, Clone, PartialEq)]
pub struct Regression {
    frequency_ghz: f64,
    delay_cycles: f64,
    ns_per_tick: f64,
    host_start_ticks: u64,
    line: Line,
}

impl Regression {
    /// Fits the stamps from all sessions of one core together.
    ///
    /// # Errors
    ///
    /// [`ClockError::TooFewSamples`] with fewer than two stamps, [`ClockError::NoBaseline`] if all
    /// stamps have the same host time, [`ClockError::NotIncreasing`] if the counter does not
    /// increase with host time.
    ///
    /// # Examples
    ///
    /// ```
    /// use reader::clock::{OneWaySession, Regression, Tile};
    /// // The header pair, then (wall clock low, host ticks) at 1.25 cycles a tick.
    /// let words = [7, 1000, 1000, 0, 2250, 1000, 3500, 2000];
    /// let session = OneWaySession::from_words(Tile::new(0, 1, 2), 50, &words, &[0; 3]).unwrap();
    /// let fit = Regression::fit(&[session], 1.0)?;
    /// assert!((fit.frequency_ghz() - 1.25).abs() < 1e-12);
    /// assert_eq!(fit.delay_cycles(), (7u64 << 32) as f64 + 1000.0);
    /// # Ok::<(), reader::clock::ClockError>(())
    /// ```
    pub fn fit(sessions: &[OneWaySession], ns_per_tick: f64) -> Result<Self, ClockError> {
        if !(ns_per_tick.is_finite() && ns_per_tick > 0.0) {
            return Err(ClockError::TickPeriod { ns_per_tick });
        }
        let host_start_ticks = sessions.iter().map(|s| s.host_start_ticks).min().unwrap_or(0);
        let stamps = StampSet::collect(sessions, host_start_ticks)?;
        let slope = stamps.cycles_per_tick()?;
        let not_increasing = ClockError::NotIncreasing { slope };
        Ok(Self {
            frequency_ghz: slope / ns_per_tick,
            delay_cycles: stamps.cycles_at_tick_zero(slope),
            ns_per_tick,
            host_start_ticks,
            line: stamps.host_line(slope, ns_per_tick).ok_or(not_increasing)?,
        })
    }

    /// Returns the frequency in GHz: cycles per nanosecond.
    pub fn frequency_ghz(&self) -> f64 {
        self.frequency_ghz
    }

    /// Returns the device cycles at host tick zero, the start of the earliest session.
    pub fn delay_cycles(&self) -> f64 {
        self.delay_cycles
    }

    /// Returns the nanoseconds per host tick, as given to [`Self::fit`].
    pub fn ns_per_tick(&self) -> f64 {
        self.ns_per_tick
    }

    /// Returns the host clock at the start of the earliest session, in ticks.
    pub fn host_start_ticks(&self) -> u64 {
        self.host_start_ticks
    }

    /// Returns the map from device cycles to nanoseconds since the earliest session's start.
    ///
    /// Least squares has no error bound, so the bound is infinite.
    pub fn line(&self) -> BoundedLine {
        BoundedLine::new(self.line, ErrorBound::unknown())
    }
}

/// All stamps, relative to the means.
struct StampSet {
    /// Rounded means; differences from them are exact integers.
    base_ticks: i128,
    base_cycles: i128,
    /// Differences between the means and the rounded means, at most one half.
    mean_ticks: f64,
    mean_cycles: f64,
    /// (ticks, cycles) relative to the rounded means.
    pairs: Vec<(f64, f64)>,
}

impl StampSet {
    fn collect(sessions: &[OneWaySession], start: u64) -> Result<Self, ClockError> {
        let stamps: Vec<(i128, i128)> = sessions
            .iter()
            .flat_map(|session| {
                let since = i128::from(session.host_start_ticks - start);
                session.unwrapped().map(move |stamp| {
                    (since + i128::from(stamp.host_ticks), i128::from(stamp.device_cycles))
                })
            })
            .collect();
        if stamps.len() < 2 {
            return Err(ClockError::TooFewSamples { needed: 2, found: stamps.len() });
        }
        let count = stamps.len() as i128;
        let base_ticks = stamps.iter().map(|s| s.0).sum::<i128>() / count;
        let base_cycles = stamps.iter().map(|s| s.1).sum::<i128>() / count;
        let pairs: Vec<_> = stamps
            .iter()
            .map(|s| ((s.0 - base_ticks) as f64, (s.1 - base_cycles) as f64))
            .collect();
        let mean_ticks = pairs.iter().map(|p| p.0).sum::<f64>() / pairs.len() as f64;
        let mean_cycles = pairs.iter().map(|p| p.1).sum::<f64>() / pairs.len() as f64;
        Ok(Self { base_ticks, base_cycles, mean_ticks, mean_cycles, pairs })
    }

    fn centred(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.pairs.iter().map(|p| (p.0 - self.mean_ticks, p.1 - self.mean_cycles))
    }

    fn cycles_per_tick(&self) -> Result<f64, ClockError> {
        let products: f64 = self.centred().map(|(ticks, cycles)| ticks * cycles).sum();
        let squares: f64 = self.centred().map(|(ticks, _)| ticks * ticks).sum();
        if squares == 0.0 {
            return Err(ClockError::NoBaseline);
        }
        Ok(products / squares)
    }

    fn cycles_at_tick_zero(&self, slope: f64) -> f64 {
        // The large parts are added first, so the small parts are rounded only at the end.
        let small = self.mean_cycles - slope * self.mean_ticks;
        (self.base_cycles as f64 - slope * self.base_ticks as f64) + small
    }

    /// Returns the inverse line, in nanoseconds, anchored at the means.
    fn host_line(&self, slope: f64, ns_per_tick: f64) -> Option<Line> {
        let mean_ns = self.base_ticks as f64 * ns_per_tick;
        let to_mean = self.mean_ticks - self.mean_cycles / slope;
        let whole_ns = rounded(mean_ns);
        let fraction = (mean_ns - whole_ns as f64) + to_mean * ns_per_tick;
        let anchor = u64::try_from(self.base_cycles).ok()?;
        Line::through(anchor, whole_ns, fraction, ns_per_tick / slope)
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the cast saturates, which is wanted")]
fn rounded(value: f64) -> i64 {
    value.round() as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Tile;
    use proptest::prelude::*;

    /// Evaluates the definition with exact integer sums.
    fn as_defined(pairs: &[(i128, i128)], ns_per_tick: f64) -> (f64, f64) {
        let sum = |term: &dyn Fn(&(i128, i128)) -> i128| pairs.iter().map(term).sum::<i128>();
        let n = pairs.len() as i128;
        let (h, d) = (sum(&|p| p.0), sum(&|p| p.1));
        let above = n * sum(&|p| p.0 * p.1) - h * d;
        let below = n * sum(&|p| p.0 * p.0) - h * h;
        let frequency = above as f64 / (below as f64 * ns_per_tick);
        // delay * n * below = d * below - above * h, exactly.
        (frequency, (d * below - above * h) as f64 / (n * below) as f64)
    }

    proptest! {
        #[test]
        fn centred_sums_equal_the_defined_formula(
            starts in prop::collection::vec(0u64..1 << 33, 1..3),
            noise in prop::collection::vec(0u32..5000, 30),
            high in 0u32..2000, ns_per_tick in 0.3..3.0f64,
        ) {
            let begin = *starts.iter().min().unwrap();
            let mut pairs = Vec::new();
            let sessions: Vec<_> = starts.iter().map(|&start| {
                let first = (u64::from(high) << 32) + (start - begin) / 5 * 6;
                let stamps: Vec<_> = noise.iter().zip(1u32..).map(|(&noise, index)| {
                    let cycles = first + u64::from(index * 12_000_000 + noise);
                    let (host, duration) = (index * 10_000_000, noise / 16);
                    let ticks = start - begin + u64::from(host + duration);
                    pairs.push((i128::from(ticks), i128::from(cycles)));
                    ((cycles & 0xFFFF_FFFF) as u32, host, duration)
                }).collect();
                let mut session = OneWaySession::from_stamps(start, (first >> 32) as u32, &stamps);
                session.device_low_cycles = (first & 0xFFFF_FFFF) as u32;
                session
            }).collect();
            let (frequency, delay) = as_defined(&pairs, ns_per_tick);
            let fit = Regression::fit(&sessions, ns_per_tick).unwrap();
            prop_assert!((fit.frequency_ghz() / frequency - 1.0).abs() < 1e-12);
            prop_assert!((fit.delay_cycles() - delay).abs() < 0.02);
            let cycles = pairs[0].1;
            let (whole, rest) = fit.line().line().at(u64::try_from(cycles).unwrap());
            let expected = (cycles as f64 - delay) / frequency;
            prop_assert!((whole as f64 + rest - expected).abs() < 0.05);
        }
    }

    #[test]
    fn sessions_are_fitted_together_from_the_earliest_start() {
        // The counter has 2 cycles per tick; the second session begins 1000 ticks earlier.
        let late = OneWaySession::from_stamps(6000, 0, &[(2000, 0, 0), (2200, 100, 0)]);
        let early = OneWaySession::from_stamps(5000, 0, &[(0, 0, 0), (200, 90, 10)]);
        let fit = Regression::fit(&[late, early], 0.5).unwrap();
        assert_eq!(fit.host_start_ticks(), 5000);
        assert!((fit.frequency_ghz() - 4.0).abs() < 1e-12);
        assert!(fit.delay_cycles().abs() < 1e-9);
        assert_eq!(fit.line().bound_at(0), f64::INFINITY);
    }

    #[test]
    fn samples_without_a_line_are_refused() {
        let none = Regression::fit(&[], 1.0);
        assert_eq!(none, Err(ClockError::TooFewSamples { needed: 2, found: 0 }));
        let still =
            Regression::fit(&[OneWaySession::from_stamps(0, 0, &[(0, 5, 0), (9, 5, 0)])], 1.0);
        assert_eq!(still, Err(ClockError::NoBaseline));
        let stopped =
            Regression::fit(&[OneWaySession::from_stamps(0, 0, &[(9, 1, 0), (9, 5, 0)])], 1.0);
        assert_eq!(stopped, Err(ClockError::NotIncreasing { slope: 0.0 }));
        for ns_per_tick in [0.0, -1.0, f64::NAN] {
            let period = Regression::fit(
                &[OneWaySession::from_stamps(0, 0, &[(0, 0, 0), (9, 5, 0)])],
                ns_per_tick,
            );
            assert!(matches!(period, Err(ClockError::TickPeriod { .. })));
        }
    }

    proptest! {
        #[test]
        fn any_words_give_a_fit_or_an_error(
            words in prop::collection::vec(any::<u32>(), 0..20), start in any::<u64>(),
            ns_per_tick in any::<f64>(),
        ) {
            let sessions: Vec<_> = [start, 0]
                .into_iter()
                .filter_map(|start| {
                    OneWaySession::from_words(Tile::new(0, 1, 2), start, &words, &words)
                })
                .collect();
            let _ = Regression::fit(&sessions, ns_per_tick);
        }
    }
}
