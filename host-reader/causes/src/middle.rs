//! Median and interquartile range.

/// Returns the median; `None` if there are no values.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let upper = *values.get(count / 2)?;
    let lower = *values.get(count.saturating_sub(1) / 2)?;
    Some((lower + upper) / 2.0)
}

/// Returns the lower and upper limit of the middle half of the values; `None` if there are none.
pub(crate) fn middle_half(mut values: Vec<f64>) -> Option<[f64; 2]> {
    values.sort_by(f64::total_cmp);
    let quarter = values.len().checked_sub(1)? / 4;
    let most = values.len().checked_sub(quarter.saturating_add(1))?;
    Some([*values.get(quarter)?, *values.get(most)?])
}
