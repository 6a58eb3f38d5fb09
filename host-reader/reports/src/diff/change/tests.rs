use super::*;
use crate::diff::Gate;
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
            name: format!("Matmul{at}").into(),
            source: "32x32".into(),
            traits: Default::default(),
            attributes: Default::default(),
            clock_mhz: Some(1000.0),
            durations_ns: durations.iter().map(|duration| duration * factor).collect(),
        });
    }
    measurements
}

fn slower_by(percent: f64) -> Gate {
    Gate { above_percent: Some(percent), ..Gate::default() }
}

proptest! {
    #[test]
    fn a_recording_and_itself_differ_in_nothing(items in recordings()) {
        let one = measurements(&items, 1.0);
        let diff = Diff::new(&one, &one, DiffOptions::default());
        prop_assert_eq!(diff.changes.len(), items.len());
        prop_assert!(!diff.changes.iter().any(Change::is_noteworthy));
        prop_assert!(diff.a.only_here.is_empty() && diff.b.only_here.is_empty());
        prop_assert_eq!(diff.change_ns(), Some(0.0));
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
    assert!(slower_by(199.0).finding(change).is_some());
    assert!(slower_by(201.0).finding(change).is_none());
}

#[test]
fn what_is_on_one_side_only_and_what_is_left_out_is_said() {
    let (mut a, mut b) = (measurements(&[vec![1.0]], 1.0), Measurements::default());
    let other = measurements(&[vec![1.0]], 1.0).items().next().unwrap().clone();
    a.add(Measured { durations_ns: vec![0.0, f64::NAN, 5.0], ..other });
    b.skip("zones without an end", 3);
    let diff = Diff::new(&a, &b, DiffOptions::default());
    let [only] = &diff.a.only_here[..] else { panic!("{:?}", diff.a) };
    assert_eq!((only.count, only.time_ns, diff.b.only_here.len()), (2, 6.0, 0));
    assert_eq!(diff.a.skipped["durations that are not above 0"], 2);
    assert_eq!(diff.b.skipped["zones without an end"], 3);
}
