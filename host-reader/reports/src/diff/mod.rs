//! Comparing two recordings: which ops and zones became slower or faster, and how sure
//! that is.
//!
//! | question | open |
//! |---|---|
//! | what was measured in a recording? | [`Measurements`], [`Measured`] |
//! | what changed? | [`Diff`], [`Change`] |
//! | how sure is it? | [`welch`], [`adjusted_p_values`] |
//!
//! # Method
//! The ratio B / A is that of geometric means. Its interval is Welch's t interval of the
//! difference of mean logarithms, taken back by the exponential: durations are positive
//! and skewed, variances differ between builds, and the interval moves with the ratio
//! when one side is scaled. Repetitions, not cores, are the sample: cores of one launch
//! wait for one another. Many ops are tested at once, so p-values are adjusted for the
//! share of false discoveries (Benjamini and Hochberg). Where one side has a single
//! repetition there is a ratio and no interval.

mod change;
mod matching;
mod measured;
mod ops;
mod statistics;
mod zones;

pub use change::{Certainty, Change, Diff, DiffOptions, Side};
pub use measured::{Measured, MeasuredKind, Measurements};
pub use statistics::{Welch, adjusted_p_values, welch};
