//! Hundreds of random runs with faults: the read records equal the pushed records, and kept and
//! lost records add up to the emitted records.
//!
//! One seed determines everything in a run. To repeat a single failing run:
//!
//! ```text
//! KPROF_TRUTH_SEED=10063 cargo test -p tests --test system truth
//! ```
//!
//! `KPROF_TRUTH_COUNT` sets the number of fresh seeds, and `KPROF_TRUTH_FIXED` the number of fixed
//! seeds. `.ci/run` uses more fresh seeds than `cargo test` alone, and `.ci/full` uses thousands.

mod compare;
mod mutants;
mod scenario;

use compare::check;
use scenario::{FaultKind, Scenario};
use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
};

/// Number of fixed seeds, enough for every fault to happen with and without repeated reads.
const FIXED_SEED_COUNT: u64 = 40;
const FRESH_SEED_COUNT: u64 = 8;

#[test]
fn what_is_read_is_what_was_pushed_in_fixed_runs() {
    if !runs_one_seed() {
        let count = number("KPROF_TRUTH_FIXED").unwrap_or(FIXED_SEED_COUNT);
        let seen = run_all(0..count);
        for fault in FaultKind::ALL {
            let rereads = [false, true].map(|rereads| seen.runs.get(&(fault, rereads)).copied());
            assert!(rereads.iter().all(Option::is_some), "{fault:?} never happened: {seen:?}");
        }
        assert_eq!(seen.archs.len(), 2, "{seen:?}");
    }
}

#[test]
fn what_is_read_is_what_was_pushed_in_fresh_runs() {
    if runs_one_seed() {
        return;
    }
    let count = number("KPROF_TRUTH_COUNT").unwrap_or(FRESH_SEED_COUNT);
    let first = number("KPROF_TRUTH_FIRST").unwrap_or_else(tests::seed::fresh);
    eprintln!("{count} fresh seeds from {first} on");
    run_all(first..first + count);
}

/// Runs the seed in the environment variable; returns true if the variable is set.
fn runs_one_seed() -> bool {
    let Some(seed) = number("KPROF_TRUTH_SEED") else { return false };
    let scenario = Scenario::from_seed(seed);
    eprintln!("{scenario}");
    if let Err(what) = run(&scenario) {
        panic!("{scenario}: {what}");
    }
    true
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Summary of a number of runs.
#[derive(Debug, Default)]
struct Seen {
    runs: BTreeMap<(FaultKind, bool), usize>,
    archs: BTreeMap<String, usize>,
}

/// Runs every seed, then reports all failures by seed.
fn run_all(seeds: impl Iterator<Item = u64>) -> Seen {
    let (mut seen, mut failures) = (Seen::default(), Vec::new());
    for seed in seeds {
        let scenario = Scenario::from_seed(seed);
        for &fault in scenario.faults() {
            *seen.runs.entry((fault, scenario.rereads())).or_default() += 1;
        }
        *seen.archs.entry(format!("{:?}", scenario.arch())).or_default() += 1;
        if let Err(what) = run(&scenario) {
            eprintln!("FAILED {scenario}: {what}");
            failures.push(seed);
        }
    }
    assert!(failures.is_empty(), "{} seeds failed: {failures:?}", failures.len());
    seen
}

/// Executes and checks a run; a panic is an error as well.
fn run(scenario: &Scenario) -> Result<(), String> {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let (outcome, pushed) = scenario.run();
        check(scenario, &outcome, &pushed)
    }));
    result.unwrap_or_else(|_| Err("it panicked".to_owned()))
}
