//! TT-Metal's clock fit: least squares over one-way stamps.
//!
//! Let `h` be the host's nanoseconds since the earliest session's start, `d` the device cycles and
//! `n` the number of stamps of all sessions together. TT-Metal defines
//!
//! ```text
//! frequency = (n sum(hd) - sum(h) sum(d)) / (n sum(hh) - sum(h)^2)
//! delay     = (sum(d) - frequency sum(h)) / n
//! ```
//!
//! If the counter is large, the differences in both numerators lose almost all digits by
//! cancellation. This module therefore centres the sums on the means: `n sum(hd) - sum(h) sum(d)`
//! equals `n sum((h - mean h)(d - mean d))`. The denominator is centred in the same way.
//!
//! This fit exists for compatibility. The line's offset includes the average latency from host to
//! chip and the average of all other delays. The fit has no error bound.

use super::{ClockError, line::is_clock_slope};

/// A reading of a core's wall clock, and the time of the host's write that triggered the reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostStamp {
    /// Wall clock of the core, in cycles.
    pub device_cycles: u64,
    /// Nanoseconds from the start of the earliest synchronisation session to the end of the write.
    pub host_ns: u64,
}

/// The line that TT-Metal fits to clock stamps.
///
/// # Compatibility
///
/// The fit is that of `syncDeviceHost` in `tt_metal/impl/profiler/tt_metal_profiler.cpp`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regression {
    /// Frequency in GHz: cycles per nanosecond.
    pub frequency_ghz: f64,
    /// Device cycles at the start of the earliest session.
    pub delay_cycles: f64,
}

impl Regression {
    /// Fits the stamps from all sessions of one core together.
    ///
    /// # Errors
    ///
    /// [`ClockError::TooFewSamples`] if there are fewer than two stamps, [`ClockError::NoBaseline`]
    /// if all stamps have the same host time, [`ClockError::NotIncreasing`] if the counter does not
    /// increase with host time.
    ///
    /// # Examples
    ///
    /// ```
    /// use reader::clock::{HostStamp, Regression};
    /// // 1.25 cycles per nanosecond.
    /// let stamp = |host_ns| HostStamp { device_cycles: 1000 + host_ns / 4 * 5, host_ns };
    /// let fit = Regression::fit(&[stamp(0), stamp(1000), stamp(2000)])?;
    /// assert!((fit.frequency_ghz - 1.25).abs() < 1e-12);
    /// assert_eq!(fit.delay_cycles, 1000.0);
    /// # Ok::<(), reader::clock::ClockError>(())
    /// ```
    pub fn fit(stamps: &[HostStamp]) -> Result<Self, ClockError> {
        if stamps.len() < 2 {
            return Err(ClockError::TooFewSamples { needed: 2, found: stamps.len() });
        }
        let wide = |stamp: &HostStamp| [stamp.host_ns, stamp.device_cycles].map(i128::from);
        // Means, rounded down: the differences between stamps and rounded means are exact integers.
        let [base_ns, base_cycles] = [0, 1].map(|of| {
            stamps.iter().map(|stamp| wide(stamp)[of]).sum::<i128>() / stamps.len() as i128
        });
        let pairs: Vec<_> = stamps
            .iter()
            .map(wide)
            .map(|[ns, cycles]| ((ns - base_ns) as f64, (cycles - base_cycles) as f64))
            .collect();
        // Differences between the means and the rounded means; each is less than one.
        let mean_ns = pairs.iter().map(|p| p.0).sum::<f64>() / pairs.len() as f64;
        let mean_cycles = pairs.iter().map(|p| p.1).sum::<f64>() / pairs.len() as f64;
        let centred = pairs.iter().map(|p| (p.0 - mean_ns, p.1 - mean_cycles));
        let products: f64 = centred.clone().map(|(ns, cycles)| ns * cycles).sum();
        let squares: f64 = centred.map(|(ns, _)| ns * ns).sum();
        if squares == 0.0 {
            return Err(ClockError::NoBaseline);
        }
        let slope = products / squares;
        let ns_per_cycle = slope.recip();
        if !is_clock_slope(ns_per_cycle) {
            return Err(ClockError::NotIncreasing { slope: ns_per_cycle });
        }
        // The large parts are added first, so the small parts are rounded only at the end.
        let small = mean_cycles - slope * mean_ns;
        let delay_cycles = (base_cycles as f64 - slope * base_ns as f64) + small;
        Ok(Self { frequency_ghz: slope, delay_cycles })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Computes frequency and delay as defined in the module's documentation, with exact integer
    /// sums.
    fn as_defined(stamps: &[HostStamp]) -> (f64, f64) {
        let sum = |term: &dyn Fn(i128, i128) -> i128| {
            let terms = stamps.iter().map(|s| term(s.host_ns.into(), s.device_cycles.into()));
            terms.sum::<i128>()
        };
        let n = stamps.len() as i128;
        let (h, d) = (sum(&|h, _| h), sum(&|_, d| d));
        let above = n * sum(&|h, d| h * d) - h * d;
        let below = n * sum(&|h, _| h * h) - h * h;
        // delay * n * below = d * below - above * h, exactly.
        (above as f64 / below as f64, (d * below - above * h) as f64 / (n * below) as f64)
    }

    proptest! {
        #[test]
        fn centred_sums_equal_the_defined_formula(
            starts in prop::collection::vec(0u64..1 << 33, 1..3),
            noise in prop::collection::vec(0u32..5000, 30),
            high in 0u64..2000,
        ) {
            let begin = *starts.iter().min().unwrap();
            let session = |&start: &u64| {
                let first = (high << 32) + (start - begin) / 5 * 6;
                let stamps = noise.iter().zip(1u32..).map(move |(&noise, index)| HostStamp {
                    device_cycles: first + u64::from(index * 12_000_000 + noise),
                    host_ns: start - begin + u64::from(index * 10_000_000 + noise / 16),
                });
                stamps.collect::<Vec<_>>()
            };
            let stamps: Vec<_> = starts.iter().flat_map(session).collect();
            let (frequency, delay) = as_defined(&stamps);
            let fit = Regression::fit(&stamps).unwrap();
            prop_assert!((fit.frequency_ghz / frequency - 1.0).abs() < 1e-12);
            prop_assert!((fit.delay_cycles - delay).abs() < 0.02);
        }
    }

    const fn stamp(device_cycles: u64, host_ns: u64) -> HostStamp {
        HostStamp { device_cycles, host_ns }
    }

    #[test]
    fn samples_without_a_line_are_refused() {
        let none = Regression::fit(&[]);
        assert_eq!(none, Err(ClockError::TooFewSamples { needed: 2, found: 0 }));
        let still = Regression::fit(&[stamp(0, 5), stamp(9, 5)]);
        assert_eq!(still, Err(ClockError::NoBaseline));
        let stopped = Regression::fit(&[stamp(9, 1), stamp(9, 5)]);
        assert_eq!(stopped, Err(ClockError::NotIncreasing { slope: f64::INFINITY }));
        let falling = Regression::fit(&[stamp(9, 1), stamp(1, 5)]);
        assert_eq!(falling, Err(ClockError::NotIncreasing { slope: -0.5 }));
    }

    proptest! {
        #[test]
        fn any_stamps_give_a_fit_or_an_error(
            numbers in prop::collection::vec(any::<(u64, u64)>(), 0..20),
        ) {
            let stamps: Vec<_> = numbers.iter().map(|&(cycles, ns)| stamp(cycles, ns)).collect();
            let _ = Regression::fit(&stamps);
        }
    }
}
