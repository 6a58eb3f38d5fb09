//! Changes against another recording, as a page shows them.

/// The comparison of a trace with another recording.
///
/// Figures come from whoever compares; a page shows them and computes none.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct TraceComparison {
    /// Name of the other recording.
    pub title: String,
    /// Ops and zones of both.
    pub changes: Vec<ComparedItem>,
    /// Names of ops and zones that only this recording has.
    pub only_a: Vec<String>,
    /// Names of ops and zones that only the other recording has.
    pub only_b: Vec<String>,
}

/// An op or zone of both recordings.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct ComparedItem {
    /// `op` or `zone`.
    pub kind: &'static str,
    /// Device and RISC on which it ran.
    pub place: String,
    /// Its name.
    pub name: String,
    /// Its source, as in this recording.
    pub source: String,
    /// Geometric mean of its durations in this recording, in nanoseconds.
    pub a_ns: f64,
    /// Geometric mean of its durations in the other one.
    pub b_ns: f64,
    /// The other one over this one; above 1 is slower there.
    pub ratio: f64,
    /// Lower and upper end of the ratio's interval.
    pub interval: Option<(f64, f64)>,
    /// Key of how sure it is: `significant`, `single_repetition` or `not_significant`.
    pub certainty: &'static str,
    /// Numbers of repetitions in this recording and in the other one.
    pub repetitions: (usize, usize),
}
