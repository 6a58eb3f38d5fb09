//! Comparison of two recordings: ops and zones that became slower or faster, with the certainty of
//! each change.
//!
//! | question | item |
//! |---|---|
//! | what was measured in a recording? | [`Measurements`], [`Measured`] |
//! | what changed? | [`Diff`], [`Change`] |
//! | how certain is a change? | [`welch`], [`adjusted_p_values`] |
//!
//! # Method
//! The ratio B / A is computed from geometric means. Its interval is Welch's t interval for the
//! difference of the mean logarithms, converted back by the exponential function. Logarithms are
//! used because durations are positive and skewed, and because variances differ between builds. If
//! all durations of B are multiplied by a factor, the ratio and its interval are multiplied by the
//! same factor. The samples are repetitions instead of cores, because the cores of one launch wait
//! for one another. Many ops are tested at once, so p-values are adjusted to limit the share of
//! false discoveries (Benjamini and Hochberg). If A or B has only one repetition, there is a ratio
//! but no interval.

mod change;
mod matching;
mod measured;
mod ops;
mod statistics;
mod zones;

pub use change::{Certainty, Change, Diff, DiffOptions, Side};
pub use measured::{Measured, MeasuredKind, Measurements};
pub use statistics::{Welch, adjusted_p_values, welch};
