//! Comparison of two recordings: ops and zones that became slower or faster, with the certainty of
//! each change.
//!
//! | question | item |
//! |---|---|
//! | what was measured in a recording? | [`Measurements`], [`Measured`] |
//! | which kind is an op, whatever its version calls it? | [`kind_of`], [`OpTraits`] |
//! | what changed, in time and otherwise? | [`Diff`], [`Change`], [`Group`], [`Difference`] |
//! | how long does an iteration take with the gaps between its ops? | [`Elapsed`] |
//! | why is the time of an iteration not compared? | [`UncomparedIterations`], [`IterationDoubt`] |
//! | how long do the ops of a module take in both? | [`ColumnDiff`] |
//! | what could not be compared? | [`Side`], [`Unmatched`] |
//! | what do limits of a chip cost, by two simulations? | [`LimitCost`] |
//! | which changes fail a build? | [`Gate`], [`Finding`], [`Shortfall`] |
//! | how certain is a change? | [`welch`], [`adjusted_p_values`] |
//!
//! # Matching
//! The sequences of ops of two devices are aligned as texts are in a comparison of files, so moving a
//! tensor, another version, an inserted or a deleted op leaves the rest comparable: ops that are
//! equal in everything first, then ops of the same kind and shapes, then ops of the same kind. Each
//! pair says what else differs. If one recording repeats its ops and the other does not, or not as
//! often, one iteration is compared.
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

mod align;
mod between;
mod by_column;
mod change;
mod distinction;
mod elapsed;
mod gate;
mod groups;
mod kind;
mod limits;
mod matching;
mod measured;
mod ops;
mod pairing;
#[cfg(test)]
mod properties;
mod repetitions;
mod same_work;
mod statistics;
mod traits;
mod unmatched;
mod zones;

pub use between::Gaps;
pub use by_column::{ColumnChange, ColumnDiff};
pub use change::{Agreement, Certainty, Change, Diff, DiffOptions, RunTimes, Side, ZoneTimes};
pub use elapsed::Elapsed;
pub use gate::{Finding, Gate, LEAST_COMPARED_SHARE, Shortfall};
pub use groups::Group;
pub use kind::kind_of;
pub use limits::LimitCost;
pub use measured::{FirstIteration, InRuns, LaunchCounts, Measured, MeasuredKind, Measurements};
pub use repetitions::RepetitionCounts;
pub use same_work::{IterationDoubt, UncomparedIterations};
pub use statistics::{Welch, adjusted_p_values, welch};
pub use traits::{Aspect, Difference, OpTraits};
pub use unmatched::{Unmatched, UnmatchedReason};
