//! Changes against another recording, as shown on a page.

/// Comparison of a trace with another recording.
///
/// The caller calculates all figures; a page only displays them.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct TraceComparison {
    /// Name of the other recording.
    pub title: String,
    /// Ops and zones that exist in both recordings.
    pub changes: Vec<ComparedItem>,
    /// Names of ops and zones that exist only in this recording.
    pub only_a: Vec<String>,
    /// Names of ops and zones that exist only in the other recording.
    pub only_b: Vec<String>,
}

/// Op or zone that exists in both recordings.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ComparedItem {
    /// `op` or `zone`.
    pub kind: &'static str,
    /// Device on which the op or zone ran; for zones, also the RISC.
    pub place: String,
    /// Name of the op or zone.
    pub name: String,
    /// Source location in this recording.
    pub source: String,
    /// Geometric mean of the durations in this recording, in nanoseconds.
    pub a_ns: f64,
    /// Geometric mean of the durations in the other recording, in nanoseconds.
    pub b_ns: f64,
    /// Duration in the other recording divided by the duration in this one. Above 1, the other one
    /// is slower.
    pub ratio: f64,
    /// Lower and upper end of the ratio's confidence interval; `None` if the change was not tested.
    pub interval: Option<(f64, f64)>,
    /// Key of the result's certainty: `significant`, `single_repetition` or `not_significant`.
    pub certainty: &'static str,
    /// Number of repetitions in this recording and in the other recording.
    pub repetitions: (usize, usize),
}
