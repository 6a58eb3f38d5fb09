//! Welch's t test and interval, and the adjustment of p-values for multiple tests.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    reason = "samples are counted, and have two values or more where one is needed"
)]

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Difference of two means, with its confidence interval and p-value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Welch {
    /// Mean of the second sample minus mean of the first.
    pub difference: f64,
    /// Lower and upper bound of the confidence interval.
    pub interval: (f64, f64),
    /// Probability, if the true means are equal, that the sample means differ by at least as much.
    pub p_value: f64,
}

/// Compares the means of two samples whose variances may differ.
///
/// Returns `None` if a sample has fewer than two values, or `confidence` is not between 0 and 1.
/// If the values of each sample are all equal, the interval has zero width.
///
/// ```
/// use reports::diff::welch;
/// // Student's sleep data of 1908, as every textbook has them.
/// let one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
/// let other = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
/// let welch = welch(&one, &other, 0.95).unwrap();
/// assert!((welch.p_value - 0.07939).abs() < 1e-5);
/// assert!((welch.interval.0 + 0.2054832).abs() < 1e-6);
/// assert!((welch.interval.1 - 3.3654832).abs() < 1e-6);
/// ```
#[must_use]
pub fn welch(first: &[f64], second: &[f64], confidence: f64) -> Option<Welch> {
    let is_confidence = confidence > 0.0 && confidence < 1.0;
    if first.len() < 2 || second.len() < 2 || !is_confidence {
        return None;
    }
    let (mean_1, error_1) = mean_and_squared_error(first);
    let (mean_2, error_2) = mean_and_squared_error(second);
    let difference = mean_2 - mean_1;
    let squared_error = error_1 + error_2;
    if squared_error == 0.0 {
        let p_value = if difference == 0.0 { 1.0 } else { 0.0 };
        return Some(Welch { difference, interval: (difference, difference), p_value });
    }
    let freedom = squared_error.powi(2)
        / (error_1.powi(2) / (first.len() - 1) as f64
            + error_2.powi(2) / (second.len() - 1) as f64);
    let distribution = StudentsT::new(0.0, 1.0, freedom).ok()?;
    let error = squared_error.sqrt();
    let reach = distribution.inverse_cdf(f64::midpoint(1.0, confidence)) * error;
    let p_value = 2.0 * distribution.cdf(-(difference / error).abs());
    Some(Welch { difference, interval: (difference - reach, difference + reach), p_value })
}

/// Returns the mean and the squared standard error. The error is 0 if all values are equal.
fn mean_and_squared_error(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    if values.windows(2).all(|pair| pair[0].total_cmp(&pair[1]).is_eq()) {
        return (values[0], 0.0);
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (mean, squares / (count - 1.0) / count)
}

/// Adjusts p-values for the number of tests. If all results with an adjusted p-value below a level
/// are accepted, the expected share of false results among them is at most that level.
///
/// The method is that of Benjamini and Hochberg, 1995.
///
/// ```
/// use reports::diff::adjusted_p_values;
/// assert_eq!(adjusted_p_values(&[0.04, 0.01]), [0.04, 0.02]);
/// ```
#[must_use]
pub fn adjusted_p_values(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|&one, &other| p_values[other].total_cmp(&p_values[one]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 1.0_f64;
    for (&at, rank) in order.iter().zip((1..=p_values.len()).rev()) {
        least = least.min(p_values[at] * p_values.len() as f64 / rank as f64);
        adjusted[at] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-8, "{found} instead of {expected}");
    }

    /// Expected values from scipy 1.16: `ttest_ind(log(b), log(a), equal_var=False)`.
    #[test]
    fn intervals_and_p_values_equal_those_of_scipy() {
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect::<Vec<_>>();
        let a = logs(&[101.0, 99.0, 103.0, 98.0, 100.0]);
        let b = logs(&[120.0, 118.0, 125.0, 121.0]);
        let found = welch(&a, &b, 0.95).unwrap();
        assert_close(found.difference.exp(), 1.207_495_957_320_033_7);
        assert_close(found.interval.0.exp(), 1.163_919_654_014_292_4);
        assert_close(found.interval.1.exp(), 1.252_703_725_652_802);
        assert_close(found.p_value, 2.158_376_584_900_229_8e-5);
        let wide = welch(&a, &b, 0.99).unwrap();
        assert_close(wide.interval.0.exp(), 1.141_488_916_163_040_4);
        assert_close(wide.interval.1.exp(), 1.277_319_881_339_933_8);
    }

    /// Expected values from scipy 1.16: `t.ppf` and `2 * t.sf`.
    #[test]
    fn students_distribution_equals_that_of_scipy() {
        for (freedom, at_975, at_995, p_value) in [
            (1.0, 12.706_204_736_174_694, 63.656_741_162_871_526, 0.198_652_184_398_237_06),
            (2.5, 3.574_654_842_003_681_7, 7.163_728_138_948_783, 0.067_788_378_324_920_31),
            (7.9, 2.311_094_927_866_423, 3.367_766_441_945_566, 0.014_894_156_253_782_934),
            (30.0, 2.042_272_456_301_237_8, 2.749_995_653_567_225_4, 0.004_184_484_860_550_745),
            (1000.0, 1.962_339_080_826_408_3, 2.580_754_698_065_951, 0.001_989_345_531_122_1),
        ] {
            let distribution = StudentsT::new(0.0, 1.0, freedom).unwrap();
            assert_close(distribution.inverse_cdf(0.975), at_975);
            assert_close(distribution.inverse_cdf(0.995), at_995);
            assert_close(2.0 * distribution.cdf(-3.1), p_value);
        }
    }

    /// Expected values from scipy 1.16: `false_discovery_control(p, method="bh")`.
    #[test]
    fn adjusted_p_values_equal_those_of_scipy() {
        let found = adjusted_p_values(&[0.01, 0.04, 0.03, 0.005, 0.2, 0.9]);
        for (found, expected) in found.into_iter().zip([0.03, 0.06, 0.06, 0.03, 0.24, 0.9]) {
            assert_close(found, expected);
        }
    }

    #[test]
    fn what_cannot_be_compared_has_no_interval() {
        assert_eq!(welch(&[1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(welch(&[1.0, 2.0], &[1.0, 2.0], 1.0), None);
        assert!(adjusted_p_values(&[]).is_empty());
    }

    #[test]
    fn samples_without_spread_are_certain() {
        let same = welch(&[0.1; 3], &[0.1; 7], 0.95).unwrap();
        assert_eq!((same.p_value, same.interval), (1.0, (0.0, 0.0)));
        assert!(welch(&[1.0; 3], &[2.0; 3], 0.95).unwrap().p_value == 0.0);
    }
}
