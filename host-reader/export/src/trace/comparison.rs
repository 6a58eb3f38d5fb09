//! Changes against another recording, as shown on a page.

use reports::diff::Diff;

/// Comparison of a trace with another recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceComparison {
    /// Name of the other recording.
    pub title: String,
    /// Differences. In the comparison, A is the recording of the trace and B is the other one.
    pub diff: Diff,
}
