//! Assertions about the findings of any explanation.

use causes::{Cause, Explanation, Finding, TimeClass};

/// Causes that make other RISCs, cores or chips wait.
const WAITED_FOR: [Cause; 12] = [
    Cause::Straggler,
    Cause::UnevenWork,
    Cause::SlowChip,
    Cause::Reader,
    Cause::Latency,
    Cause::Semaphore,
    Cause::Compute,
    Cause::Unpack,
    Cause::Pack,
    Cause::Writer,
    Cause::Turns,
    Cause::Balanced,
];

/// Asserts that findings are sorted, large enough, and consistent with the table of classes.
pub(crate) fn assert_honest(explanation: &Explanation, what: &str) {
    let findings = &explanation.findings;
    let gains: Vec<f64> = findings.iter().map(|of| of.gain_at_most_ns.unwrap_or(0.0)).collect();
    assert!(gains.is_sorted_by(|one, other| one >= other), "{what}: {gains:?}");
    for finding in findings {
        let percent = finding.gain_at_most_percent;
        let is_answer = finding.cause == Cause::Balanced;
        assert!(is_answer || percent.is_none_or(|of| of >= 1.0), "{what}: {finding:?}");
        assert!(percent.is_none_or(|of| of <= 100.0), "{what}: {finding:?}");
        assert!(!finding.advice.is_empty() && !finding.sentence.is_empty(), "{what}: {finding:?}");
        assert!(!finding.location.is_empty(), "{what}: nowhere: {finding:?}");
        assert_within_class(explanation, finding, what);
        assert_within_group(explanation, finding, what);
    }
    assert_eq!(explanation.no_cause.is_some(), findings.is_empty(), "{what}");
    if let Some(no_cause) = &explanation.no_cause {
        let ran = explanation.devices.iter().any(|device| device.op_count > 0);
        assert!(!no_cause.sentence.is_empty() && !no_cause.record_next.is_empty(), "{what}");
        assert!(!ran || !(no_cause.measured.is_empty() || no_cause.location.is_empty()), "{what}");
    }
    for group in explanation.groups.iter().filter(|_| findings.is_empty()) {
        let far = group.limit_ns.is_some_and(|limit_ns| group.duration_ns >= 2.0 * limit_ns);
        assert!(group.percent < 20.0 || !far, "{what}: nothing stands out, and yet {group:?}");
    }
    for device in &explanation.devices {
        let has = |causes: &[Cause]| findings.iter().any(|of| causes.contains(&of.cause));
        let waits: Vec<Cause> = WAITED_FOR.into_iter().chain([Cause::Wait]).collect();
        for (class, causes) in [
            (TimeClass::HostLate, &[Cause::Host][..]),
            (TimeClass::Dispatch, &[Cause::Dispatch]),
            (TimeClass::Collective, &[Cause::Collective]),
            (TimeClass::Wait, &waits),
            (TimeClass::Profiler, &[Cause::Profiler]),
        ] {
            let percent = device.time.percent(class);
            assert!(percent < 20.0 || has(causes), "{what}: {class:?} {percent}: {findings:#?}");
        }
    }
}

/// Asserts that the gain from a group of ops is at most the group's time.
fn assert_within_group(explanation: &Explanation, finding: &Finding, what: &str) {
    let op = finding.place.op.as_deref().filter(|_| finding.cause == Cause::OpGroup);
    let Some(op) = op else { return };
    let group = explanation.groups.iter().find(|group| group.op == op);
    let group = group.unwrap_or_else(|| panic!("{what}: no group {op}: {finding:?}"));
    let gain = finding.gain_at_most_ns.unwrap_or(0.0);
    assert!(gain <= group.duration_ns + 1.0, "{what}: {gain} of {group:?}");
}

/// Asserts that the gain is at most the time in the cause's classes, on the chip where this time is
/// longest.
fn assert_within_class(explanation: &Explanation, finding: &Finding, what: &str) {
    use TimeClass::{
        Collective, Compute, DataMovement, Dispatch, HostLate, Profiler, Unknown, Wait,
    };
    let classes: &[TimeClass] = match finding.cause {
        Cause::Host => &[HostLate],
        Cause::Dispatch => &[Dispatch],
        Cause::Collective | Cause::CollectiveSkew => &[Collective],
        Cause::Wait => &[Wait],
        Cause::Profiler => &[Profiler],
        Cause::Layout | Cause::RoundTrip => &[DataMovement],
        _ => &[Compute, DataMovement, Collective, Wait, Unknown],
    };
    let of_chip = |device: &causes::DeviceTime| {
        let percent: f64 = classes.iter().map(|class| device.time.percent(*class)).sum();
        // Shares have one decimal.
        (percent + 0.1) / 100.0 * device.time.total_ns.unwrap_or(0) as f64
    };
    let most: f64 = explanation.devices.iter().map(of_chip).fold(0.0, f64::max);
    let gain = finding.gain_at_most_ns.unwrap_or(0.0);
    // Only parallel launches can have more kernel time than total time, and the launches of these
    // recordings run one after the other.
    assert!(gain <= most + 1.0, "{what}: {gain} of {most} ns: {finding:?}");
}
