//! Tests of `kprof explain` on folders with records of chips and an ops CSV: both are explained as
//! one recording.

use crate::program::kprof;
use captures::{
    DescribedOp as Op, described_model as model, write_device_log as write_log,
    write_ops_csv as write_csv,
};
use serde_json::Value;
use std::path::Path;
use tests::sizes::full_or;

fn explained(folder: &Path, args: &[&str]) -> Value {
    let output = kprof(folder, &[&["explain", ".", "--json"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn causes(explained: &Value) -> Vec<&str> {
    let findings = explained["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["cause"].as_str().unwrap()).collect()
}

/// Returns the sentences of an explanation in order.
fn sentences(explained: &Value) -> Vec<&str> {
    let findings = explained["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["sentence"].as_str().unwrap()).collect()
}

/// `kprof ops -o` and TT-Metal leave a copy of the log beside the ops CSV: it is the log of the folder, if
/// there is no other, and the ops CSV is not of another run.
#[test]
fn a_log_beside_the_ops_csv_is_that_of_the_folder() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_log(folder, &model());
    write_csv(folder, &model());
    let whole = explained(folder, &[]);
    let logs = ["profile_log_device.csv", ".logs/profile_log_device.csv"];
    let log = logs.map(|log| folder.join(log)).into_iter().find(|log| log.exists()).unwrap();
    let csv = host_reader::recording::newest_ops_csv(folder).unwrap();
    let copied = tempfile::tempdir().unwrap();
    let reports = copied.path().join("reports/today");
    std::fs::create_dir_all(&reports).unwrap();
    std::fs::copy(&log, reports.join("profile_log_device.csv")).unwrap();
    std::fs::copy(&csv, reports.join(csv.file_name().unwrap())).unwrap();
    let from_copy = explained(copied.path(), &[]);
    assert_eq!(from_copy["described_by"], whole["described_by"]);
    assert_eq!(sentences(&from_copy), sentences(&whole));
    let report = kprof(copied.path(), &["report", ".", "--fail-on-loss"]);
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    // A newer ops CSV alone is of another run.
    let newer = copied.path().join("reports/tomorrow");
    std::fs::create_dir_all(&newer).unwrap();
    std::fs::copy(&csv, newer.join("ops_perf_results_tomorrow.csv")).unwrap();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    let file =
        std::fs::File::options().append(true).open(newer.join("ops_perf_results_tomorrow.csv"));
    file.unwrap().set_modified(later).unwrap();
    assert_eq!(explained(copied.path(), &[])["described_by"], Value::Null);
}

#[test]
fn shapes_of_the_csv_and_cycles_of_the_log_are_one_list() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_log(folder, &model());
    let alone = explained(folder, &[]);
    assert_eq!(
        (&alone["steady"], causes(&alone)),
        (&Value::Null, vec![]),
        "programs do not repeat"
    );
    write_csv(folder, &model());
    let together = explained(folder, &[]);
    assert_eq!(
        together["described_by"],
        "ops_perf_results_today.csv describes the ops of 4 of 4 launches."
    );
    // The rows of the CSV show the repetition (launches 3 and 4). The log gives the length of this
    // part: 100,020 + 2000 + 20,020 cycles.
    let steady = &together["steady"];
    assert_eq!((&steady["first_launch"], &steady["last_launch"]), (&3.into(), &4.into()));
    assert_eq!(steady["total_ns"], 122_040.0);
    assert_eq!(causes(&together), ["op_group", "op_group", "host_ops"]);
    let first = &together["findings"][0];
    assert_eq!((&first["place"]["op"], &first["place"]["row"]), (&"Matmul".into(), &4.into()));
    let gain = first["gain_at_most_percent"].as_f64().unwrap();
    assert!((gain - 55_000.0 / 1220.4).abs() < 0.01, "{gain}");
    assert_eq!(sentences(&together)[2], "1 op runs on the host");
    let names: Vec<_> = together["ops"].as_array().unwrap().iter().map(|op| &op["name"]).collect();
    assert_eq!(names, ["Matmul", "BinaryNg", "Matmul", "BinaryNg"]);
    // If a filter removes launches, their rows are not assigned to other launches.
    let last = explained(folder, &["--filter", "op=4..4"]);
    assert_eq!(
        last["described_by"],
        "ops_perf_results_today.csv describes the ops of 1 of 1 launches; 3 more ops in it have no \
         launch here."
    );
    assert_eq!(
        (&last["ops"][0]["name"], &last["groups"][0]["op"]),
        (&"BinaryNg".into(), &"BinaryNg".into())
    );
    // The text and the page contain the same sentences.
    let text = String::from_utf8(kprof(folder, &["explain", "."]).stdout).unwrap();
    let output = kprof(folder, &["export", ".", "-o", "page.html"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    for sentence in sentences(&together) {
        assert!(text.contains(sentence) && page.contains(sentence), "{sentence}: {text}");
    }
    assert!(text.contains("describes the ops of 4 of 4 launches"), "{text}");
}

/// An ops CSV of an earlier run is often next to a new log. Its rows match no launch.
#[test]
fn the_csv_of_another_run_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_log(folder, &model());
    let alone = explained(folder, &[]);
    write_csv(folder, &model().map(|op| Op { start_cycle: op.start_cycle + 1, ..op }));
    let together = explained(folder, &[]);
    for key in ["findings", "steady", "ops", "groups", "devices"] {
        assert_eq!(together[key], alone[key], "{key}");
    }
    let [before, after] = [&alone, &together].map(|of| of["untold"].as_array().unwrap());
    assert_eq!(&after[..before.len()], before);
    assert_eq!(
        after.last().unwrap()["reason"],
        "no op of ops_perf_results_today.csv starts with a launch: it is from another run"
    );
    // If the CSV describes only some launches, the output states that the others are missing.
    write_csv(folder, &model()[..2]);
    let part = explained(folder, &[]);
    assert_eq!(
        part["described_by"],
        "ops_perf_results_today.csv describes the ops of 2 of 4 launches."
    );
    let reason = &part["untold"].as_array().unwrap().last().unwrap()["reason"];
    assert_eq!(reason, "2 of 4 launches are not in ops_perf_results_today.csv");
}

/// Computed by hand from TT-Metal's trace of the same run: 8 reads of 4,096 bytes over one link. A
/// link can carry 32 bytes per cycle in the kernels' 10,422 cycles, so its use is 9.8 %.
#[test]
fn the_use_of_the_noc_is_shown_where_its_events_were_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let op = Op {
        code: "Copy",
        program: 0,
        start_cycle: 19_245_152_864,
        kernel_ns: 10_422,
        columns: 32,
    };
    // Returns the header of the table of groups, and the cells of its only row.
    let shown = || {
        let text = String::from_utf8(kprof(folder, &["explain", "."]).stdout).unwrap();
        let table = text.split_once("and against which limit\n\n").unwrap().1;
        let cells = |line: &str| -> Vec<String> {
            line.split("  ")
                .map(str::trim)
                .filter(|cell| !cell.is_empty())
                .map(str::to_owned)
                .collect()
        };
        let [titles, row] = [0, 1].map(|at| cells(table.lines().nth(at).unwrap()));
        assert_eq!(titles.len(), row.len(), "{text}");
        titles.into_iter().zip(row).collect::<std::collections::BTreeMap<_, _>>()
    };
    write_log(folder, &[op]);
    write_csv(folder, &[op]);
    let without = shown();
    assert_eq!((without.get("NoC %"), without["bound"].as_str()), (None, "-"));
    std::fs::copy(
        captures::log_path("wormhole-noc-4096"),
        folder.join(".logs/profile_log_device.csv"),
    )
    .unwrap();
    let with = shown();
    assert_eq!((with["op"].as_str(), with["NoC %"].as_str()), ("Copy", "9.8"));
    let group = explained(folder, &[])["groups"][0].clone();
    let percent = group["noc_percent"].as_f64().unwrap();
    assert!((percent - 32_768.0 / (10_422.0 * 32.0) * 100.0).abs() < 1e-9, "{percent}");
}

/// Returns the ops in the ops CSV that `kprof ops` writes for a capture.
fn reported(folder: &Path, capture: &str) -> Vec<Op> {
    let output = kprof(folder, &["ops", capture, "-o", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let csv = std::fs::read_to_string(folder.join("out/reports/ops_perf_results.csv")).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let titles = lines.next().unwrap();
    let number = |row: &[&str], title: &str| -> u64 {
        row[titles.iter().position(|of| *of == title).unwrap()].parse().unwrap()
    };
    let op = |row: Vec<&str>| Op {
        code: "Matmul",
        program: number(&row, "GLOBAL CALL COUNT"),
        start_cycle: number(&row, "DEVICE FW START CYCLE"),
        kernel_ns: number(&row, "DEVICE KERNEL DURATION [ns]"),
        columns: 32,
    };
    lines.map(op).collect()
}

#[test]
fn what_waits_tell_of_an_op_comes_before_what_its_shape_tells() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (waits, cause) in [("totals", "latency"), ("off", "op_group")] {
        let _ = std::fs::remove_file(folder.join("device-1.kprof"));
        let fixed =
            ["capture", "--grid", full_or("8x8", "4x2"), "--workload", "pipeline", "--ops", "1"];
        let shape = ["--pipeline", "tiles=200,reader=1620,writer=700", "--waits", waits];
        let output = kprof(folder, &[&fixed[..], &shape, &["-o", "device-1.kprof"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        write_csv(folder, &reported(folder, "device-1.kprof"));
        let explained = explained(folder, &[]);
        assert_eq!(causes(&explained), [cause], "{explained}");
        let first = &explained["findings"][0];
        assert_eq!((&first["place"]["op"], &first["place"]["row"]), (&"Matmul".into(), &2.into()));
        let of_shape = match cause {
            "latency" => &first["why"][0],
            _ => &first["sentence"],
        };
        let of_shape = of_shape.as_str().unwrap();
        assert!(of_shape.starts_with("Matmul takes 100.0 % of the kernels' time"), "{first}");
        let advice = first["advice"].as_str().unwrap();
        // The CSV has no attributes, so whether the op had a program_config is not known.
        assert!(!advice.contains("program_config"), "{advice}");
        assert_eq!(advice.contains("reads before each barrier"), cause == "latency", "{advice}");
    }
}
