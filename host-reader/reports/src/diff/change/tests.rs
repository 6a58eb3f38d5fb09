use super::*;
use crate::diff::{Gate, InRuns};
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
            in_runs: None,
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

/// A zone of some RISC that runs as often as `counts` in the runs of each launch, for `ns` each time.
fn zone(risc: &str, counts: &[u32], ns: f64) -> Measured {
    let counts: Vec<f64> = counts.iter().copied().map(f64::from).collect();
    let sums_ns: Vec<f64> = counts.iter().map(|count| count * ns).collect();
    Measured {
        kind: MeasuredKind::Zone,
        place: format!("device 0 {risc}").into(),
        name: "READ".into(),
        source: "reader.cpp:7".into(),
        traits: Default::default(),
        attributes: Default::default(),
        clock_mhz: Some(1000.0),
        durations_ns: vec![ns; counts.len()],
        in_runs: Some(InRuns { counts, own_ns: sums_ns.clone(), sums_ns }),
    }
}

proptest! {
    /// The sum of a run decides where B does not run the zone as often, else the mean of a zone.
    #[test]
    fn a_zone_is_compared_by_its_sum_if_runs_have_another_number_of_it(
        counts in (1..100_u32, 1..100_u32),
        launches in (2..6_usize, 2..6_usize),
        times_ns in (50.0..5000.0_f64, 50.0..5000.0_f64),
        others in prop::collection::vec(1..100_u32, 0..3),
    ) {
        let side = |(count, launches, ns): (u32, usize, f64)| {
            // Launches of other programs, as often as they like.
            let mut all = vec![count; launches];
            all.extend(others.iter().flat_map(|other| vec![*other; launches]));
            let mut measurements = Measurements::default();
            measurements.add(zone("NCRISC", &all, ns));
            measurements
        };
        let (a, b) = (side((counts.0, launches.0, times_ns.0)), side((counts.1, launches.1, times_ns.1)));
        let diff = Diff::new(&a, &b, DiffOptions::default());
        let [change] = &diff.changes[..] else { panic!("{diff:?}") };
        let kinds = |count: u32| {
            let mut kinds: Vec<u32> = others.iter().copied().chain([count]).collect();
            kinds.sort_unstable();
            kinds.dedup();
            kinds
        };
        let is_as_many = kinds(counts.0) == kinds(counts.1);
        prop_assert_eq!(change.zones_per_run.is_none(), is_as_many);
        let of_mean = times_ns.1 / times_ns.0;
        if is_as_many {
            prop_assert!((change.ratio / of_mean - 1.0).abs() < 1e-9, "{change:?}");
        } else if others.is_empty() {
            let of_sum = of_mean * f64::from(counts.1) / f64::from(counts.0);
            prop_assert!((change.ratio / of_sum - 1.0).abs() < 1e-9, "{change:?}");
            prop_assert_eq!(change.zones_per_run, Some((f64::from(counts.0), f64::from(counts.1))));
            let gate = Gate { above_percent: Some(5.0), below_percent: Some(5.0), ..Gate::default() };
            prop_assert_eq!(gate.finding(change).is_some(), change.percent().abs() > 5.0);
        }
    }

    #[test]
    fn the_time_of_a_riscs_zones_is_the_sum_of_their_own_times(
        zones in prop::collection::vec((1..50_u32, 10.0..900.0_f64, 10.0..900.0_f64), 1..5),
        (only_a, only_b) in (prop::option::of(10.0..900.0_f64), prop::option::of(10.0..900.0_f64)),
        is_unknown in prop::bool::ANY,
    ) {
        let side = |is_b: bool| {
            let mut measurements = Measurements::default();
            for (at, (count, a_ns, b_ns)) in zones.iter().enumerate() {
                let one = zone("TRISC_1", &[*count, *count], if is_b { *b_ns } else { *a_ns });
                measurements.add(Measured { name: format!("Z{at}").into(), ..one });
            }
            // Zones of one side alone.
            if let Some(ns) = if is_b { only_b } else { only_a } {
                let name = if is_b { "IN_B" } else { "IN_A" };
                measurements.add(Measured { name: name.into(), ..zone("TRISC_1", &[1, 1], ns) });
            }
            let unknown = zone("BRISC", &[3], 7.0);
            measurements.add(Measured { in_runs: unknown.in_runs.clone().filter(|_| !is_unknown), ..unknown });
            measurements
        };
        let diff = Diff::new(&side(false), &side(true), DiffOptions::default());
        let find = |place: &str| diff.zone_times.iter().find(|of| &*of.place == place).unwrap();
        let sum = |is_b: bool| -> f64 {
            let zones: f64 = zones
                .iter()
                .map(|(count, a_ns, b_ns)| f64::from(*count) * if is_b { *b_ns } else { *a_ns })
                .sum();
            zones + if is_b { only_b } else { only_a }.unwrap_or(0.0)
        };
        let found = find("device 0 TRISC_1");
        prop_assert_eq!(found.zone_count, zones.len());
        let percent = (sum(true) / sum(false) - 1.0) * 100.0;
        prop_assert!((found.percent().unwrap() - percent).abs() < 1e-6, "{found:?} {percent}");
        let other = find("device 0 BRISC");
        prop_assert_eq!(other.percent().is_none(), is_unknown, "{:?}", other);
        let last = diff.zone_times.last().unwrap();
        prop_assert!(!is_unknown || &*last.place == "device 0 BRISC");
    }
}

#[test]
fn zones_whose_number_in_runs_is_unknown_are_compared_by_their_mean() {
    let side = |count: u32, ns: f64, is_known: bool| {
        let one = zone("BRISC", &[count, count], ns);
        let mut measurements = Measurements::default();
        measurements.add(Measured { in_runs: one.in_runs.clone().filter(|_| is_known), ..one });
        measurements
    };
    for (of_a, of_b, ratio) in [(true, true, 0.5), (true, false, 2.0), (false, true, 2.0)] {
        let diff = Diff::new(&side(8, 100.0, of_a), &side(2, 200.0, of_b), DiffOptions::default());
        assert!((diff.changes[0].ratio - ratio).abs() < 1e-9, "{of_a} {of_b}: {diff:?}");
    }
    // Recordings of a side keep their sums and counts.
    let both = |count, ns| {
        Measurements::from_recordings([side(count, ns, true), side(count, ns * 1.1, true)])
    };
    let diff = Diff::new(&both(8, 100.0), &both(2, 200.0), DiffOptions::default());
    assert!((diff.changes[0].ratio - 0.5).abs() < 1e-9, "{diff:?}");
    assert_eq!((diff.changes[0].a_ns.count, diff.changes[0].zones_per_run), (2, Some((8.0, 2.0))));
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
