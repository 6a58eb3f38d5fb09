//! Compares the durations of an op before and after a change.

use reports::diff::{Diff, DiffOptions, Gate, Measured, MeasuredKind, Measurements};

fn measured(durations_ns: &[f64]) -> Measurements {
    let mut measurements = Measurements::default();
    measurements.add(Measured {
        kind: MeasuredKind::Op,
        place: "device 0".into(),
        name: "Matmul".into(),
        source: "1x1x32x32".into(),
        traits: Default::default(),
        attributes: Default::default(),
        clock_mhz: Some(1000.0),
        durations_ns: durations_ns.to_vec(),
        in_runs: None,
    });
    measurements
}

fn compare() -> Diff {
    let before = measured(&[100.0, 101.0, 99.0]);
    let after = measured(&[150.0, 152.0, 149.0]);
    Diff::new(&before, &after, DiffOptions::default())
}

fn slower_by(percent: f64) -> Gate {
    Gate { above_percent: Some(percent), ..Gate::default() }
}

fn main() {
    for change in &compare().changes {
        let finding = slower_by(40.0).finding(change);
        println!("{} is slower by 40 %: {}", change.name, finding.is_some());
    }
}

#[test]
fn half_as_long_again_is_slower_by_40_percent() {
    let diff = compare();
    assert!(slower_by(40.0).finding(&diff.changes[0]).is_some());
    assert!(slower_by(60.0).finding(&diff.changes[0]).is_none());
}
