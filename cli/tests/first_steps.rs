//! Mistakes of new users: each ends with one sentence that names the next step.

use crate::program::kprof;
use std::{
    fs,
    path::{Path, PathBuf},
};

const LOG: &str = "generated/profiler/.logs/profile_log_device.csv";

fn repository_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Returns a folder as tt-metal leaves it, with only a device log.
fn measured() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join(LOG);
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    let real = "tests/captures/mesham-tt-sim/wormhole-noc-256/profile_log_device.csv";
    fs::copy(repository_file(real), log).unwrap();
    folder
}

/// Arguments of a command, and the text that its one sentence must contain.
const WAYS: [(&[&str], &str); 18] = [
    (
        &["report", "nothing.csv"],
        "expected a device log, a capture or a folder with .logs at nothing.csv, found nothing there",
    ),
    (
        &["report", "ops.csv"],
        "found an ops CSV, ops.csv; `kprof perf ops.csv` and `kprof explain ops.csv` read it",
    ),
    (
        &["report", "device_ops.csv"],
        "found a table of the ops on a device, device_ops.csv; `kprof perf device_ops.csv` and",
    ),
    (
        &["report", "run.tracy"],
        "found a recording of Tracy, run.tracy; name the profile_log_device.csv",
    ),
    (
        &["report", "empty"],
        "expected profile_log_device.csv in the folder empty or in its .logs, found none",
    ),
    (
        &["explain", "run.tracy"],
        "expected a device log, a capture, an ops CSV or a folder with .logs, found a recording of Tracy",
    ),
    (
        &["explain", "nothing.csv"],
        "an ops CSV or a folder with .logs at nothing.csv, found nothing",
    ),
    (
        &["memory", "generated/profiler/.logs/profile_log_device.csv"],
        "expected a capture with buffers",
    ),
    (&["export", "ops.csv"], "`kprof perf ops.csv` and `kprof explain ops.csv` read it"),
    (&["serve", "--tracy", "run.tracy"], "found a recording of Tracy, run.tracy"),
    (
        &["perf", "nothing.csv"],
        "expected an ops CSV with op names at nothing.csv, found nothing there",
    ),
    (&["perf", "run.tracy"], "`kprof ops FOLDER` makes the ops CSV"),
    (&["perf", LOG], "found a device log, "),
    (&["perf", "generated/profiler"], "`kprof ops generated/profiler` makes it"),
    (&["ops", "--force-perf-report"], "expected cpp_device_perf_report.csv in a folder of logs"),
    (&["ops", "nothing"], "expected a folder of logs, a device log or a capture at nothing"),
    (
        &["run", "-o", "generated/profiler"],
        "profile_log_device.csv exists and was not written from a simulation or capture",
    ),
    (
        &["capture", "-o", "generated/profiler"],
        "profile_log_device.csv exists and was not written from a simulation",
    ),
];

#[test]
fn every_wrong_turn_ends_with_one_sentence_that_names_the_way() {
    let folder = measured();
    let path = folder.path();
    let clip = "tests/captures/tt-perf-report/bh_64_clip_encoder_1.csv";
    fs::copy(repository_file(clip), path.join("ops.csv")).unwrap();
    let titles = "GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,CORE COUNT\n1024,0,wormhole_b0,1\n";
    fs::write(path.join("device_ops.csv"), titles).unwrap();
    fs::write(path.join("run.tracy"), b"tlZ\x04\x13^\0\0").unwrap();
    fs::create_dir(path.join("empty")).unwrap();
    let before = fs::read(path.join(LOG)).unwrap();
    for (args, expected) in WAYS {
        let output = kprof(path, args);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {errors}");
        assert_eq!(errors.trim_end().lines().count(), 1, "{args:?}: {errors}");
        assert!(errors.contains(expected), "{args:?}: {errors}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
    assert_eq!(fs::read(path.join(LOG)).unwrap(), before);
    assert!(!path.join("generated/profiler/reports").exists(), "nothing was made");
}

#[test]
fn names_that_lead_out_of_the_reports_are_refused_before_anything_is_made() {
    let folder = measured();
    for name in ["../x", "/x", "a/b", "..", ".", ""] {
        let output = kprof(folder.path(), &["ops", "-n", name]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {errors}");
        assert!(
            errors.contains(&format!("expected a name without folders, found `{name}`"))
                || name.is_empty(),
            "{errors}"
        );
    }
    assert!(!folder.path().join("generated/profiler/reports").exists());
}

#[test]
fn a_simulation_in_a_folder_of_measurements_leaves_them_alone() {
    let folder = measured();
    let before = fs::read(folder.path().join(LOG)).unwrap();
    // The first command of a new user may have no subcommand.
    assert_eq!(kprof(folder.path(), &["--ops", "1"]).status.code(), Some(0));
    assert_eq!(fs::read(folder.path().join(LOG)).unwrap(), before);
    assert!(folder.path().join("generated/kprof/.logs/profile_log_device.csv").exists());
}

#[test]
fn a_simulation_replaces_its_own_log_until_somebody_changes_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = |seed: &str| kprof(folder.path(), &["run", "--ops", "1", "--seed", seed, "-o", "o"]);
    let log = folder.path().join("o/.logs/profile_log_device.csv");
    assert_eq!(run("1").status.code(), Some(0));
    let first = fs::read(&log).unwrap();
    assert_eq!(run("2").status.code(), Some(0));
    let second = fs::read_to_string(&log).unwrap();
    assert_ne!(first, second.as_bytes());
    // One character is replaced, so the length does not change.
    let changed = second.replacen("BRISC-FW", "BRISC-FV", 1);
    fs::write(&log, &changed).unwrap();
    assert_eq!(run("3").status.code(), Some(2));
    assert_eq!(fs::read_to_string(&log).unwrap(), changed);
}

#[test]
fn report_and_perf_find_what_tt_metal_and_ops_left_in_the_folder() {
    let folder = measured();
    let by_default = kprof(folder.path(), &["report"]);
    let by_name = kprof(folder.path(), &["report", "generated/profiler"]);
    assert_eq!(by_default.status.code(), Some(0));
    assert_eq!(by_default.stdout, by_name.stdout);
    let reports = folder.path().join("generated/profiler/reports/2026_11_22");
    fs::create_dir_all(&reports).unwrap();
    let clip = repository_file("tests/captures/tt-perf-report/bh_64_clip_encoder_1.csv");
    fs::copy(clip, reports.join("ops_perf_results_2026_11_22.csv")).unwrap();
    let table = kprof(folder.path(), &["perf", "generated/profiler"]);
    assert_eq!(table.status.code(), Some(0));
    let errors = String::from_utf8(table.stderr).unwrap();
    assert_eq!(
        errors,
        "reading generated/profiler/reports/2026_11_22/ops_perf_results_2026_11_22.csv\n"
    );
    assert!(String::from_utf8(table.stdout).unwrap().contains("MinimalMatmulOp"));
}

#[test]
fn a_log_without_records_says_what_to_record() {
    let folder = measured();
    let log = folder.path().join(LOG);
    let titles: String =
        fs::read_to_string(&log).unwrap().lines().take(2).map(|line| format!("{line}\n")).collect();
    fs::write(&log, titles).unwrap();
    let output = kprof(folder.path(), &["report", "generated/profiler"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    let next = "No ops: there are no records; record a program that launches kernels and does not fail before \
                the first, with the profiler on (TT_METAL_DEVICE_PROFILER=1; `kprof record` sets it) and read before the program ends (ttnn.ReadDeviceProfiler, or \
                closing the device)";
    assert!(shown.lines().any(|line| line == next), "{shown}");
}
