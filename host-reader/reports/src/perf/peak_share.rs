//! Shares of peak rates as text.

use super::number::grouped;

/// Returns a percentage of a peak rate with one decimal, and with `unit` behind the number, such as
/// ` %`.
///
/// A model is exact to about 5 %, so a share between 100 and 105 % is that of an op at its peak: it is
/// shown as 100 % with the model's figure behind it. A lower bound begins with `>=`.
///
/// ```
/// use reports::perf::peak_share_text;
/// assert_eq!(peak_share_text(76.34, false, " %"), "76.3 %");
/// assert_eq!(peak_share_text(76.34, true, ""), ">= 76.3");
/// assert_eq!(peak_share_text(100.12, false, " %"), "100.0 % (model: 100.1 %)");
/// ```
#[must_use]
pub fn peak_share_text(percent: f64, is_lower_bound: bool, unit: &str) -> String {
    let shown = grouped(percent, 1);
    // What rounds to 100.0 is not over it.
    if percent > 100.0 && shown != "100.0" {
        return format!("100.0{unit} (model: {shown}{unit})");
    }
    format!("{}{shown}{unit}", at_least(is_lower_bound))
}

/// Returns what begins a lower bound.
pub(super) const fn at_least(is_lower_bound: bool) -> &'static str {
    if is_lower_bound { ">= " } else { "" }
}
