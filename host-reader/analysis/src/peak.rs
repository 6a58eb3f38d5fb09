//! Limit of what a model of a chip can explain.

/// Percentage of a peak rate above which a model is wrong: its bytes, its time or its peak.
///
/// Up to this percentage, the peak rate, the clock and the duration may be inexact. A larger figure is
/// not shown; the reason for it is.
pub const MOST_PERCENT: f64 = 105.0;
