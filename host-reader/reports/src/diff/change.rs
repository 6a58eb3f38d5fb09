//! Changes between two recordings, with their statistical certainty.

use super::{
    matching::pairs_of,
    measured::{Measured, MeasuredKind, Measurements},
    statistics::{adjusted_p_values, welch},
};
use crate::perf::Spread;
use std::collections::{BTreeMap, HashSet};

/// Options for comparing two recordings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiffOptions {
    /// Confidence level of the intervals, between 0 and 1.
    pub confidence: f64,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self { confidence: 0.95 }
    }
}

/// Certainty of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// The change is larger than the variation between repetitions.
    Significant,
    /// The change was not tested for significance, because one of the recordings has only one
    /// repetition.
    SingleRepetition,
    /// The change is within the variation between repetitions.
    NotSignificant,
}

/// Durations of one op or zone that exists in both recordings.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Change {
    /// Kind of the item: op or zone.
    pub kind: MeasuredKind,
    /// Device that ran the item; for zones, also the RISC.
    pub place: String,
    /// Name of the op or zone.
    pub name: String,
    /// Source in A: the shapes of an op, or the file and line of a zone.
    pub source: String,
    /// Durations in A, in ns.
    pub a_ns: Spread,
    /// Durations in B, in ns.
    pub b_ns: Spread,
    /// Geometric mean of the durations in A, in ns.
    pub a_geometric_mean_ns: f64,
    /// Geometric mean of the durations in B, in ns.
    pub b_geometric_mean_ns: f64,
    /// Geometric mean of B divided by the geometric mean of A. Above 1, B is slower.
    pub ratio: f64,
    /// Lower and upper bound of the ratio's confidence interval; `None` if the change was not
    /// tested.
    pub interval: Option<(f64, f64)>,
    /// Probability of a ratio at least this far from 1 if nothing has changed, adjusted for the
    /// number of tests.
    pub adjusted_p_value: Option<f64>,
    /// Certainty of the change.
    pub certainty: Certainty,
}

impl Change {
    /// Returns by how many percent B is slower than A; negative if B is faster.
    #[must_use]
    pub fn percent(&self) -> f64 {
        (self.ratio - 1.0) * 100.0
    }

    /// Returns true if B is slower than A by more than `percent` percent, and the change is not
    /// within the variation between repetitions.
    ///
    /// If A or B has only one repetition, the variation is unknown. Then a difference of more than
    /// `percent` percent is enough.
    #[must_use]
    pub fn is_slower_by(&self, percent: f64) -> bool {
        self.certainty != Certainty::NotSignificant && self.percent() > percent
    }

    /// Returns true if the change should be reported: it is significant, or there is a difference
    /// but too few repetitions for a test.
    #[must_use]
    pub fn is_noteworthy(&self) -> bool {
        match self.certainty {
            Certainty::Significant => true,
            Certainty::SingleRepetition => self.ratio != 1.0,
            Certainty::NotSignificant => false,
        }
    }
}

/// One recording of a comparison: the number of its items, and the items that could not be
/// compared.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Side {
    /// Number of ops and zones in this recording.
    pub item_count: usize,
    /// Ops and zones that do not exist in the other recording, each as a tuple (kind, place, name,
    /// source). The place is the device and, for zones, the RISC.
    pub only_here: Vec<(MeasuredKind, String, String, String)>,
    /// Number of items that could not be measured, by reason.
    pub skipped: BTreeMap<String, u64>,
}

/// Comparison of two recordings.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Diff {
    /// Changes of the ops and zones that both recordings contain. Significant changes come first,
    /// then changes with a single repetition. Within each group, larger changes come first.
    pub changes: Vec<Change>,
    /// Recording A: its number of items, and the items that could not be compared.
    pub a: Side,
    /// Recording B: its number of items, and the items that could not be compared.
    pub b: Side,
}

impl Diff {
    /// Compares recording B with recording A.
    ///
    /// ```
    /// use reports::diff::{Diff, DiffOptions, Measured, MeasuredKind, Measurements};
    /// let recording = |durations_ns: &[f64]| {
    ///     let mut measurements = Measurements::default();
    ///     measurements.add(Measured {
    ///         kind: MeasuredKind::Op,
    ///         place: "device 0".into(),
    ///         name: "Matmul".into(),
    ///         source: String::new(),
    ///         durations_ns: durations_ns.to_vec(),
    ///     });
    ///     measurements
    /// };
    /// let a = recording(&[100.0, 101.0, 99.0]);
    /// let b = recording(&[150.0, 152.0, 149.0]);
    /// let diff = Diff::new(&a, &b, DiffOptions::default());
    /// assert!(diff.changes[0].is_slower_by(40.0));
    /// ```
    #[must_use]
    pub fn new(a: &Measurements, b: &Measurements, options: DiffOptions) -> Self {
        let pairs = pairs_of(a.items(), b.items());
        let mut changes: Vec<Change> = pairs
            .iter()
            .filter_map(|&(in_a, in_b)| {
                Some(compared(a.items().get(in_a)?, b.items().get(in_b)?, options.confidence))
            })
            .collect();
        judge(&mut changes, options.confidence);
        changes.sort_by(|one, other| {
            let [one_size, other_size] = [one, other].map(|change| change.ratio.ln().abs());
            one.certainty.cmp(&other.certainty).then(other_size.total_cmp(&one_size))
        });
        let (in_a, in_b): (HashSet<_>, HashSet<_>) = pairs.into_iter().unzip();
        Self { changes, a: side(a, &in_a), b: side(b, &in_b) }
    }
}

fn side(measurements: &Measurements, matched: &HashSet<usize>) -> Side {
    let items = measurements.items();
    let only = items.iter().enumerate().filter(|(at, _)| !matched.contains(at));
    let only = only.map(|(_, item)| item);
    Side {
        item_count: items.len(),
        only_here: only
            .map(|item| (item.kind, item.place.clone(), item.name.clone(), item.source.clone()))
            .collect(),
        skipped: measurements.skipped().clone(),
    }
}

/// Compares one op or zone in both recordings. The p-value is not adjusted yet.
fn compared(a: &Measured, b: &Measured, confidence: f64) -> Change {
    let [logs_a, logs_b] = [a, b].map(|item| -> Vec<f64> {
        item.durations_ns.iter().map(|duration| duration.ln()).collect()
    });
    let found = welch(&logs_a, &logs_b, confidence);
    let difference = found.map_or_else(|| mean(&logs_b) - mean(&logs_a), |welch| welch.difference);
    Change {
        kind: a.kind,
        place: a.place.clone(),
        name: a.name.clone(),
        source: a.source.clone(),
        a_ns: Spread::from_values(a.durations_ns.clone()),
        b_ns: Spread::from_values(b.durations_ns.clone()),
        a_geometric_mean_ns: mean(&logs_a).exp(),
        b_geometric_mean_ns: mean(&logs_b).exp(),
        ratio: difference.exp(),
        interval: found.map(|welch| (welch.interval.0.exp(), welch.interval.1.exp())),
        adjusted_p_value: found.map(|welch| welch.p_value),
        certainty: Certainty::SingleRepetition,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Adjusts the p-values for the number of tests, and sets the certainty of each change.
fn judge(changes: &mut [Change], confidence: f64) {
    let p_values: Vec<f64> = changes.iter().filter_map(|change| change.adjusted_p_value).collect();
    let tested = changes.iter_mut().filter(|change| change.adjusted_p_value.is_some());
    for (change, adjusted) in tested.zip(adjusted_p_values(&p_values)) {
        let is_significant = adjusted < 1.0 - confidence;
        change.adjusted_p_value = Some(adjusted);
        change.certainty =
            if is_significant { Certainty::Significant } else { Certainty::NotSignificant };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, proptest};

    fn recordings() -> impl Strategy<Value = Vec<Vec<f64>>> {
        prop::collection::vec(prop::collection::vec(1.0..1e6_f64, 1..8), 1..6)
    }

    fn measurements(items: &[Vec<f64>], factor: f64) -> Measurements {
        let mut measurements = Measurements::default();
        for (at, durations) in items.iter().enumerate() {
            measurements.add(Measured {
                kind: MeasuredKind::Op,
                place: "device 0".into(),
                name: format!("op {}", at / 2),
                source: String::new(),
                durations_ns: durations.iter().map(|duration| duration * factor).collect(),
            });
        }
        measurements
    }

    proptest! {
        #[test]
        fn a_recording_and_itself_differ_in_nothing(items in recordings()) {
            let one = measurements(&items, 1.0);
            let diff = Diff::new(&one, &one, DiffOptions::default());
            prop_assert_eq!(diff.changes.len(), items.len());
            prop_assert!(!diff.changes.iter().any(Change::is_noteworthy));
            prop_assert!(diff.a.only_here.is_empty() && diff.b.only_here.is_empty());
        }

        #[test]
        fn scaling_a_recording_scales_every_ratio(items in recordings(), factor in 0.1..10.0_f64) {
            let (a, b) = (measurements(&items, 1.0), measurements(&items, factor));
            for change in Diff::new(&a, &b, DiffOptions::default()).changes {
                prop_assert!((change.ratio / factor - 1.0).abs() < 1e-9);
                if let Some((low, high)) = change.interval {
                    prop_assert!(low <= change.ratio && change.ratio <= high);
                }
            }
        }

        #[test]
        fn exchanging_the_sides_inverts_every_ratio(items in recordings(), other in recordings()) {
            let (a, b) = (measurements(&items, 1.0), measurements(&other, 1.0));
            let options = DiffOptions::default();
            let (there, back) = (Diff::new(&a, &b, options), Diff::new(&b, &a, options));
            prop_assert_eq!(there.changes.len(), back.changes.len());
            prop_assert_eq!(&there.a.only_here, &back.b.only_here);
            let product = |diff: &Diff| diff.changes.iter().map(|c| c.ratio.ln()).sum::<f64>();
            prop_assert!((product(&there) + product(&back)).abs() < 1e-6);
        }
    }

    #[test]
    fn a_single_repetition_has_a_ratio_and_no_interval() {
        let (a, b) = (measurements(&[vec![10.0]], 1.0), measurements(&[vec![10.0]], 3.0));
        let diff = Diff::new(&a, &b, DiffOptions::default());
        let change = &diff.changes[0];
        assert_eq!((change.interval, change.certainty), (None, Certainty::SingleRepetition));
        assert!(change.is_slower_by(199.0) && !change.is_slower_by(201.0));
    }

    #[test]
    fn what_is_on_one_side_only_and_what_is_left_out_is_said() {
        let (mut a, mut b) = (measurements(&[vec![1.0]], 1.0), Measurements::default());
        a.add(Measured { durations_ns: vec![0.0, f64::NAN, 5.0], ..a.items()[0].clone() });
        b.skip("zones without an end", 3);
        let diff = Diff::new(&a, &b, DiffOptions::default());
        assert_eq!((diff.a.only_here.len(), diff.b.only_here.len()), (2, 0));
        assert_eq!(diff.a.skipped["durations that are not above 0"], 2);
        assert_eq!(diff.b.skipped["zones without an end"], 3);
    }
}
