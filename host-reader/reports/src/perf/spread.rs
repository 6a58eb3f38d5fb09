//! Statistics of repeated measurements.

/// Summary of measurements of one quantity; all 0 if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Spread {
    /// Number of measurements.
    pub count: usize,
    /// Mean of the measurements.
    pub mean: f64,
    /// Sample standard deviation; `None` for a single measurement.
    pub std: Option<f64>,
    /// Smallest measurement.
    pub min: f64,
    /// Median of the measurements.
    pub median: f64,
    /// Largest measurement.
    pub max: f64,
}

/// Sums values. The sum of no values is 0. [`Iterator::sum`] would return -0, and reports would
/// show the minus sign.
pub(super) fn sum_of(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |sum, value| sum + value)
}

impl Spread {
    /// Summarises measurements.
    ///
    /// ```
    /// use reports::perf::Spread;
    /// let spread = Spread::from_values(vec![4.0, 1.0, 3.0, 2.0]);
    /// assert_eq!((spread.mean, spread.median, spread.max), (2.5, 2.5, 4.0));
    /// ```
    #[must_use]
    pub fn from_values(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (values.first(), values.last()) else {
            return Self::default();
        };
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let last = values.len().saturating_sub(1);
        let [low, high] =
            [last / 2, values.len() / 2].map(|at| values.get(at).copied().unwrap_or(max));
        Self {
            count: values.len(),
            mean,
            std: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
            min,
            median: f64::midpoint(low, high),
            max,
        }
    }

    /// Returns the standard deviation as a percentage of the mean.
    #[must_use]
    pub fn std_percent(&self) -> Option<f64> {
        self.std.filter(|_| self.mean > 0.0).map(|std| std / self.mean * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_nothing_has_no_sign() {
        assert_eq!(format!("{:.0}", sum_of(std::iter::empty())), "0");
        assert_eq!(sum_of([0.1, 0.2, 0.3].into_iter()), [0.1, 0.2, 0.3].into_iter().sum::<f64>());
    }
}
