//! Compares the durations of an op before and after a change.

use reports::diff::{Diff, DiffOptions, Measured, MeasuredKind, Measurements};

fn measured(durations_ns: &[f64]) -> Measurements {
    let mut measurements = Measurements::default();
    measurements.add(Measured {
        kind: MeasuredKind::Op,
        place: "device 0".into(),
        name: "Matmul".into(),
        source: String::new(),
        durations_ns: durations_ns.to_vec(),
    });
    measurements
}

fn compare() -> Diff {
    let before = measured(&[100.0, 101.0, 99.0]);
    let after = measured(&[150.0, 152.0, 149.0]);
    Diff::new(&before, &after, DiffOptions::default())
}

fn main() {
    for change in &compare().changes {
        println!("{} is slower by 40 %: {}", change.name, change.is_slower_by(40.0));
    }
}

#[test]
fn half_as_long_again_is_slower_by_40_percent() {
    let diff = compare();
    assert!(diff.changes[0].is_slower_by(40.0) && !diff.changes[0].is_slower_by(60.0));
}
