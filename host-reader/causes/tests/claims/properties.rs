//! Properties of all explanations, over generated files and over the recordings in the repository.

use super::{explain_log, explain_ops};
use crate::generated::{MOST_PERCENT, Truth, assert_text, collect, device_log, ops_csv, seeds};
use captures::{capture_path, log_of_json, log_path};
use causes::{Cause, Explanation, TimeClass, Window};
use recording::device_log::PackedLog;
use reports::perf::{PerfReport, read_ops_csv};
use std::path::Path;

/// Longest gap before an op that counts as its launch.
const LAUNCH_GAP_NS: f64 = 6_500.0;

/// Asserts the properties of an explanation, and of the sentences that a user reads.
fn assert_claims(explanation: &Explanation, truth: &Truth, what: &str) {
    let json = serde_json::to_value(explanation).unwrap();
    let (mut texts, mut percents) = (Vec::new(), Vec::new());
    collect(&json, &mut texts, &mut percents);
    for (key, percent) in percents {
        assert!(
            (-0.01..=MOST_PERCENT).contains(&percent),
            "{what}: {key} {percent}: {explanation:?}"
        );
    }
    let gains = explanation.findings.iter().map(|finding| explanation.gain_text(finding));
    let gains: Vec<String> = gains.collect();
    for text in texts.into_iter().chain(gains.iter().map(String::as_str)) {
        assert_text(text, what);
    }
    for finding in &explanation.findings {
        let basis = finding.rests_on;
        assert!(basis.count > 0 && basis.count <= basis.of, "{what}: {finding:?}");
        let is_of_host = finding.cause == Cause::HostOps;
        assert!(basis.of <= truth.op_count || is_of_host, "{what}: {truth:?}: {finding:?}");
    }
    for untold in explanation.untold.iter().filter(|of| of.question == "how long every op took") {
        let start = format!("{} of {} ", truth.unknown_count, truth.op_count);
        assert!(untold.reason.starts_with(&start), "{what}: {truth:?}: {untold:?}");
    }
    let says_none = explanation
        .no_cause
        .as_ref()
        .is_some_and(|no_cause| no_cause.sentence.starts_with("No op has a known duration"));
    assert!(
        !says_none || truth.unknown_count == truth.op_count,
        "{what}: {truth:?}: {explanation:?}"
    );
    let launches = explanation.devices.iter().flat_map(|device| &device.time.shares);
    let launches = launches.filter(|share| share.class == TimeClass::Dispatch);
    let launches_ns: f64 = launches.filter_map(|share| share.ns).sum();
    let op_count: u64 = explanation.devices.iter().map(|device| device.op_count).sum();
    let dispatcher_gaps: u64 = explanation.devices.iter().map(|of| of.dispatcher_gap_count).sum();
    // Gaps before which the host had called the op are the dispatcher's as wholes.
    let of_dispatcher_ns = if dispatcher_gaps > 0 { f64::INFINITY } else { 0.0 };
    let most_ns = truth.firmware_ns + op_count as f64 * LAUNCH_GAP_NS + of_dispatcher_ns;
    assert!(launches_ns <= most_ns, "{what}: {launches_ns} of {most_ns} ns: {explanation:?}");
    for device in &explanation.devices {
        let Some(span_ns) = device.chip_id.and_then(|chip| truth.spans_ns.get(&chip)) else {
            continue;
        };
        let elapsed = device.time.total_ns.unwrap_or(0) as f64;
        assert!(elapsed <= span_ns + 1.0, "{what}: {elapsed} of {span_ns} ns: {device:?}");
        let shares: f64 = device.time.shares.iter().filter_map(|share| share.ns).sum();
        assert!(shares <= span_ns + 1.0, "{what}: {shares} of {span_ns} ns: {device:?}");
    }
}

fn check_ops(seed: u64) {
    let (text, truth) = ops_csv(seed);
    let found = explain_ops(&text);
    let what = format!("KPROF_CLAIMS_SEED={seed} (ops CSV)");
    assert_claims(&found, &truth, &what);
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
    let json = serde_json::to_value(&report.rows).unwrap();
    let (mut texts, mut percents) = (Vec::new(), Vec::new());
    collect(&json, &mut texts, &mut percents);
    for (key, percent) in percents {
        assert!(percent <= MOST_PERCENT, "{what}: {key} {percent}");
    }
    check_without_gaps(&text, &what);
    // The steady part has lengths, if any iteration has.
    let has_lengths = report.rows.iter().any(|row| row.device_time_us.is_some());
    assert_eq!(!found.groups.is_empty(), has_lengths, "{what}");
}

/// Without latencies and cycles, nothing is said of launches and of waiting for the host.
fn check_without_gaps(text: &str, what: &str) {
    let mut hidden = text.to_owned();
    for title in ["OP TO OP LATENCY [ns]", "DEVICE FW START CYCLE", "DEVICE FW END CYCLE"] {
        hidden = hidden.replace(title, &format!("HIDDEN {}", title.len()));
    }
    let found = explain_ops(&hidden);
    let is_of_waiting = |cause| matches!(cause, Cause::Host | Cause::Dispatch);
    assert!(!found.findings.iter().any(|of| is_of_waiting(of.cause)), "{what}: {found:?}");
    for device in found.devices.iter().filter(|device| device.op_count > 1) {
        for class in [TimeClass::HostLate, TimeClass::Dispatch] {
            assert_eq!(device.time.known_percent(class), None, "{what}: {device:?}");
        }
        assert_eq!(device.time.total_ns, device.kernel_sum_ns, "{what}: {device:?}");
    }
    let sentences = found.window.iter().chain(&found.time_sums);
    for sentence in sentences.filter(|_| found.devices.iter().any(|device| device.op_count > 1)) {
        assert!(!sentence.contains("0 us of launches"), "{what}: {sentence}");
        assert!(!sentence.contains("it waits"), "{what}: {sentence}");
    }
}

fn check_log(seed: u64) {
    let (text, mut truth) = device_log(seed);
    let found = explain_log(&text);
    // Launches of which the cut left nothing are in no record.
    truth.op_count = found.ops.len() as u64;
    truth.unknown_count = found.ops.iter().filter(|op| op.kernel.is_none()).count() as u64;
    assert_claims(&found, &truth, &format!("KPROF_CLAIMS_SEED={seed} (log)"));
    let json = serde_json::to_string(&found).unwrap();
    let says_firmware = json.contains("of firmware") || json.contains("(firmware");
    assert!(text.contains("-FW") || !says_firmware, "seed {seed}: {json}");
}

#[test]
fn generated_recordings_are_explained_without_a_false_claim() {
    for seed in seeds(200) {
        check_ops(seed);
        check_log(seed);
    }
}

/// Returns the files with this name below a folder.
fn files(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, is_wanted));
        } else if is_wanted(path.file_name().unwrap().to_str().unwrap()) {
            found.push(path);
        }
    }
    found
}

fn any_truth(op_count: u64, unknown_count: u64) -> Truth {
    Truth { op_count, unknown_count, firmware_ns: f64::INFINITY, ..Truth::default() }
}

#[test]
fn real_recordings_are_explained_without_a_false_claim() {
    let mut count = 0;
    for path in files(&capture_path(""), &|name| name.ends_with(".csv")) {
        let what = path.display().to_string();
        let file = std::fs::File::open(&path).unwrap();
        if let Ok(csv) = read_ops_csv(file, &what) {
            let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
            let totals = &report.totals;
            for window in [Window::Steady, Window::All] {
                let found = Explanation::from_perf_window(&report, window);
                let unknown = totals.invalid_duration_count;
                let truth = any_truth(totals.device_op_count, unknown);
                assert_claims(&found, &truth, &what);
            }
            count += 1;
        } else if let Ok(log) = PackedLog::open(&path) {
            let (_, found) = Explanation::from_log(log).unwrap();
            let unknown = found.ops.iter().filter(|op| op.kernel.is_none()).count() as u64;
            let truth = any_truth(found.ops.len() as u64, unknown);
            assert_claims(&found, &truth, &what);
            count += 1;
        }
    }
    let logs =
        ["wormhole-noc-256", "wormhole-counters-elw"].map(|log| std::fs::read(log_path(log)));
    for log in logs.into_iter().map(Result::unwrap).chain([log_of_json().into_bytes()]) {
        let log = PackedLog::read(log.as_slice(), "log").unwrap();
        let (_, found) = Explanation::from_log(log).unwrap();
        let unknown = found.ops.iter().filter(|op| op.kernel.is_none()).count() as u64;
        assert_claims(&found, &any_truth(found.ops.len() as u64, unknown), "log");
    }
    for path in files(&capture_path("kprof"), &|name| name.ends_with(".kprof")) {
        for recording in recording::load(&path).unwrap().recordings {
            let found = Explanation::from_recording(&recording);
            let unknown = found.ops.iter().filter(|op| op.kernel.is_none()).count() as u64;
            let truth = any_truth(found.ops.len() as u64, unknown);
            assert_claims(&found, &truth, &path.display().to_string());
            count += 1;
        }
    }
    assert!(count > 10, "{count} recordings");
}
