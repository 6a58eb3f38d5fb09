//! Counters of a real Wormhole from a log of TT-Metal 0.74.

use analysis::{
    counters::{CounterGroup, counters_of},
    launches_of,
};
use captures::{log_path, read_capture};

const CAPTURE: &str = "wormhole-counters-elw";

#[test]
fn every_counter_of_the_log_is_read_with_its_value() {
    let readout = read_capture(CAPTURE);
    let launches = launches_of(&readout);
    let counters = counters_of(&readout, &launches);
    assert_eq!(counters.len(), 1);
    assert!(counters[0].problems.is_empty());
    // Values parsed directly from the lines, without the reader.
    let log = std::fs::read_to_string(log_path(CAPTURE)).unwrap();
    let mut expected = Vec::new();
    for line in log.lines().filter(|line| line.contains(",9090,")) {
        let part = |key: &str| {
            let rest = line.split_once(&format!("\"{key}\":")).unwrap().1;
            rest.split([';', '}']).next().unwrap().trim_matches('"').to_owned()
        };
        let name = part("counter type").replace("FPU_INSTRN", "MATH_INSTRN");
        let name = name.replace("MMIO", "CFG");
        let time: u64 = line.split(',').nth(5).unwrap().parse().unwrap();
        expected.push((name, part("value"), part("ref cnt"), time));
    }
    let found: Vec<_> = counters[0]
        .samples
        .iter()
        .map(|one| {
            let cycles = one.sample.cycles.unwrap().to_string();
            (one.sample.name.to_string(), one.sample.count.to_string(), cycles, one.time)
        })
        .collect();
    assert_eq!(found.len(), 59);
    assert_eq!(found, expected);
    let groups = found.iter().map(|(name, ..)| CounterGroup::from_counter(name));
    assert!(groups.into_iter().all(|group| group == Some(CounterGroup::Instruction)));
}

#[test]
fn metrics_are_the_quotients_of_the_log() {
    let readout = read_capture(CAPTURE);
    let counters = counters_of(&readout, &launches_of(&readout));
    let summaries: Vec<_> = counters[0].counters.summaries(false).collect();
    let value = |label: &str| {
        let found = summaries.iter().find(|one| one.metric.label() == label);
        found.map(|one| one.statistics.unwrap().mean)
    };
    // Counts in 4317 cycles.
    for (label, count) in [
        ("Thread 0 Stall Rate", 367.0),
        ("Any-Thread Stall Rate", 667.0),
        ("MATH Instrn Avail Rate T1", 4071.0),
        ("CFG Idle Wait T0", 6.0),
        ("Semaphore Zero Wait T2", 3561.0),
    ] {
        assert_eq!(value(label), Some(count / 4317.0 * 100.0), "{label}");
    }
    assert_eq!(value("T1 Instrn Per Issue-Ready Cycle"), Some(143.0 / (4317.0 - 36.0)));
    // The metric's group was not read, so the metric has no value; it is not 0.
    assert_eq!(value("FPU Util"), None);
}
