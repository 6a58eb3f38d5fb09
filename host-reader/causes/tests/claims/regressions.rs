//! Small files after public reports of users, each with the right answer worked out by hand.

use super::{explain_log, explain_ops};
use causes::SteadyRule;

/// Three ops in four iterations; the last iteration has no times of the chip.
#[test]
fn the_steady_part_is_the_last_iteration_with_lengths() {
    let found = explain_ops(include_str!("inputs/last_iteration_missing.csv"));
    let steady = found.steady.clone().unwrap();
    assert_eq!(steady.rule, SteadyRule::RepeatedOps);
    assert_eq!((steady.first_row, steady.last_row, steady.op_count), (Some(8), Some(10), 3));
    let window = found.window.as_deref().unwrap();
    for part in [
        "the last iteration with the lengths of all its ops: rows 8 to 10",
        "1 later iteration is left out: the length of 3 of 3 ops is not known",
        "The 3 complete ones of 4 iterations",
    ] {
        assert!(window.contains(part), "{part}: {window}");
    }
    let lengths = found.untold.iter().find(|of| of.question == "how long every op took").unwrap();
    assert_eq!(lengths.reason, "3 of 12 ops have no usable duration");
    // 3 kernels of 50 us in each iteration.
    let kernels: f64 = found.groups.iter().map(|group| group.duration_ns).sum();
    assert!((kernels - 150_000.0).abs() < 1e-6, "{kernels}");
    if let Some(no_cause) = found.no_cause {
        assert!(no_cause.sentence.starts_with("No cause stands out"), "{}", no_cause.sentence);
    }
}

/// Four replays of three programs; the log ends within the last replay.
#[test]
fn a_log_that_is_cut_is_explained_up_to_the_cut() {
    let found = explain_log(include_str!("inputs/log_cut.csv"));
    let steady = found.steady.clone().unwrap();
    assert_eq!(steady.rule, SteadyRule::TraceReplay);
    assert_eq!((steady.first_launch, steady.last_launch, steady.op_count), (Some(7), Some(9), 3));
    let window = found.window.as_deref().unwrap();
    assert!(window.contains("the length of 3 of 3 ops is not known"), "{window}");
    let lengths = found.untold.iter().find(|of| of.question == "how long every op took").unwrap();
    assert_eq!(lengths.reason, "3 of 12 launches have no length");
    // Kernels of 50,000 cycles at 1000 MHz in each of the three launches.
    assert_eq!(found.devices[0].kernel_sum_ns, Some(150_000));
    assert!(!found.time_sums.is_empty(), "{found:?}");
}
