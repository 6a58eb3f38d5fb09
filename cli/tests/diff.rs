//! Tests of `kprof diff` on equal, scaled and truncated recordings.

use crate::program;
use std::{
    path::{Path, PathBuf},
    process::Output,
};

const OPS: &str = "tt-perf-report/bh_64_clip_encoder_1.csv";
const LOG: &str = "mesham-tt-sim/blackhole-noc-4096/profile_log_device.csv";

fn capture(sample: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures").join(sample)
}

fn diff(a: &Path, b: &Path, args: &[&str]) -> Output {
    let mut command = program::program();
    command.arg("diff").arg(a).arg(b).args(args).output().unwrap()
}

fn json(a: &Path, b: &Path, args: &[&str]) -> serde_json::Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    serde_json::from_slice(&diff(a, b, &args).stdout).unwrap()
}

/// Writes an ops CSV in which every duration of one op is multiplied by a factor.
fn scaled(folder: &Path, op_code: &str, factor: f64) -> PathBuf {
    let mut reader = csv::Reader::from_path(capture(OPS)).unwrap();
    let titles = reader.headers().unwrap().clone();
    let at = titles.iter().position(|title| title == "DEVICE KERNEL DURATION [ns]").unwrap();
    let path = folder.join("ops.csv");
    let mut writer = csv::Writer::from_path(&path).unwrap();
    writer.write_record(&titles).unwrap();
    for record in reader.records() {
        let mut cells: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
        if cells[0] == op_code {
            cells[at] = (cells[at].parse::<f64>().unwrap() * factor).to_string();
        }
        writer.write_record(&cells).unwrap();
    }
    writer.flush().unwrap();
    path
}

#[test]
fn a_recording_and_itself_show_nothing() {
    for sample in [OPS, LOG] {
        let path = capture(sample);
        let output = diff(&path, &path, &["--fail-above", "0"]);
        let shown = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{shown}");
        assert!(shown.contains(" 0 changed significantly"), "{shown}");
        assert!(shown.contains("Only in A: 0 of") && shown.contains("Only in B: 0 of"), "{shown}");
        assert!(!shown.contains("verdict"), "{shown}");
    }
}

#[test]
fn a_slower_op_is_found_with_its_ratio_and_fails_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (capture(OPS), scaled(folder.path(), "MinimalMatmulOp", 1.5));
    let report = json(&a, &b, &[]);
    let changes = report["changes"].as_array().unwrap();
    let of_matmul = |change: &&serde_json::Value| change["name"] == "MinimalMatmulOp";
    let matmuls: Vec<_> = changes.iter().filter(of_matmul).collect();
    assert!(!matmuls.is_empty());
    for change in &matmuls {
        assert!((change["ratio"].as_f64().unwrap() - 1.5).abs() < 1e-9, "{change}");
        assert_eq!(change["certainty"], "significant", "{change}");
    }
    // Significant changes come first.
    assert_eq!(changes[0]["name"], "MinimalMatmulOp");
    let others = changes.iter().filter(|change| !of_matmul(change));
    assert!(others.into_iter().all(|change| change["ratio"] == 1.0));
    assert_eq!(diff(&a, &b, &["--fail-above", "40"]).status.code(), Some(1));
    assert_eq!(diff(&a, &b, &["--fail-above", "60"]).status.code(), Some(0));
    assert_eq!(diff(&b, &a, &["--fail-above", "1"]).status.code(), Some(0));
}

#[test]
fn what_only_one_side_has_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(capture(OPS)).unwrap();
    let path = folder.path().join("ops.csv");
    let kept =
        text.split_inclusive('\n').filter(|line| !line.starts_with("SoftmaxDeviceOperation"));
    std::fs::write(&path, kept.collect::<String>()).unwrap();
    let output = diff(&capture(OPS), &path, &[]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("  op SoftmaxDeviceOperation on device 0"), "{shown}");
    assert!(shown.contains("Only in B: 0 of"), "{shown}");
}

#[test]
fn zones_of_two_logs_are_compared_by_name() {
    let other = capture(&LOG.replace("4096", "256"));
    let report = json(&capture(LOG), &other, &["--all"]);
    let changes = report["changes"].as_array().unwrap();
    let of_kernel = |change: &&serde_json::Value| change["name"] == "BRISC-KERNEL";
    let kernels: Vec<_> = changes.iter().filter(of_kernel).collect();
    // From the time stamps of the logs: 16629691080331 to 16629691089783, and 388889936627 to
    // 388889944792, at 1350 MHz.
    let [kernel] = kernels[..] else { panic!("{kernels:?}") };
    let figure = |value: &serde_json::Value| value.as_f64().unwrap();
    assert!((figure(&kernel["ratio"]) - 8165.0 / 9452.0).abs() < 1e-12, "{kernel}");
    assert!((figure(&kernel["a_ns"]["mean"]) - 9452.0 / 1.35).abs() < 1e-9, "{kernel}");
    assert!((figure(&kernel["b_geometric_mean_ns"]) - 8165.0 / 1.35).abs() < 1e-9, "{kernel}");
    assert_eq!(kernel["certainty"], "single_repetition");
}

#[test]
fn captures_of_one_program_differ_in_nothing_and_of_another_in_its_zones() {
    let folder = tempfile::tempdir().unwrap();
    let capture = |name: &str, args: &[&str]| {
        let path = folder.path().join(name);
        let mut command = program::program();
        let output =
            command.args(["capture", "--ops", "3", "-o"]).arg(&path).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        path
    };
    let (a, b) = (capture("a.kprof", &[]), capture("b.kprof", &[]));
    let report = json(&a, &b, &[]);
    let changes = report["changes"].as_array().unwrap();
    assert!(!changes.is_empty());
    assert!(changes.iter().all(|change| change["ratio"] == 1.0), "{report}");
    // The three launches of the same op are repetitions, although they are different programs.
    let ops: Vec<_> = changes.iter().filter(|change| change["kind"] == "op").collect();
    assert_eq!((ops.len(), &ops[0]["a_ns"]["count"]), (1, &3.into()), "{report}");
    let only = |side: &str| report[side]["only_here"].as_array().unwrap().len();
    assert_eq!((only("in_a"), only("in_b")), (0, 0));
    let other = json(&a, &capture("random.kprof", &["--workload", "random"]), &[]);
    let zones: Vec<&str> = other["in_b"]["only_here"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item[0] == "zone")
        .map(|item| item[2].as_str().unwrap())
        .collect();
    assert!(!zones.is_empty(), "{other}");
}

#[test]
fn a_threshold_that_nothing_exceeds_is_refused() {
    let a = capture(OPS);
    for threshold in ["nan", "inf", "-0.1", "ten"] {
        let refused = diff(&a, &a, &[&format!("--fail-above={threshold}")]);
        assert_eq!(refused.status.code(), Some(2), "{threshold}");
        let errors = String::from_utf8(refused.stderr).unwrap();
        assert!(errors.contains("expected a percentage of at least 0, found"), "{errors}");
    }
    assert_eq!(diff(&a, &a, &["--fail-above=0"]).status.code(), Some(0));
}

#[test]
fn recordings_that_cannot_be_read_are_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let torn = folder.path().join("ops.csv");
    std::fs::write(&torn, "nothing that was recorded\n").unwrap();
    for (path, sentence) in [(Path::new("absent"), "absent"), (&torn, "ops.csv")] {
        let output = diff(&capture(LOG), path, &[]);
        assert_eq!(output.status.code(), Some(2));
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(errors.contains(sentence) && errors.trim_end().lines().count() == 1, "{errors}");
    }
}
