//! Compares every value of an answer with the output of the other commands.

use super::{
    client::{
        Answer, call_all, capture, error_of, files, is_client_there, joined, json_lines,
        repository, write_reports,
    },
    explained_rows::{
        devices_of, findings_of, groups_of, joined_texts, op_times_of, phases_of, shares_of_path,
        waits_of,
    },
    rows::{
        array, assert_rows, base, changes_by_column, changes_of, groups_by_column,
        profiler_time_of, rows_of, rows_of_csv,
    },
};
use crate::{op_memory, program::kprof, programs::write_builds};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, path::Path};

/// Returns the calls about one run whose answers are compared.
fn calls_about(run: usize) -> Vec<Value> {
    vec![
        json!(["ops", { "run": run }]),
        json!(["zones", { "run": run }]),
        json!(["zones", { "run": run, "kind": "sums" }]),
        json!(["explain", { "run": run }]),
        json!(["explain", { "run": run, "part": "untold" }]),
        json!(["explain", { "run": run, "part": "devices" }]),
        json!(["explain", { "run": run, "part": "phases" }]),
        json!(["explain", { "run": run, "part": "ops" }]),
        json!(["explain", { "run": run, "part": "waits" }]),
        json!(["losses", { "run": run, "part": "lanes" }]),
        json!(["losses", { "run": run, "part": "anomalies" }]),
        json!(["losses", { "run": run }]),
        json!(["critical_path", { "run": run }]),
        json!(["zones", { "run": run, "kind": "waits" }]),
        json!(["zones", { "run": run, "kind": "profiler_time" }]),
        json!(["noc", { "run": run }]),
        json!(["noc", { "run": run, "part": "pairs" }]),
        json!(["noc", { "run": run, "part": "links" }]),
        json!(["counters", { "run": run }]),
        json!(["counters", { "run": run, "part": "counters" }]),
        json!(["zones", { "run": run, "kind": "data" }]),
        json!(["zones", { "run": run, "kind": "events" }]),
        json!(["noc", { "run": run, "part": "outside" }]),
    ]
}

/// Compares calls about one run with the output of `kprof report` and `kprof explain`.
fn compare_run(folder: &Path, path: &str, run: usize) {
    let report = &json_lines(folder, &["report", path, "--json", "--rows", "0"])[run - 1];
    let explained = &json_lines(folder, &["explain", path, "--json"])[run - 1];
    let calls = calls_about(run);
    let found = call_all("legacy", &[path], &calls);
    let answers: Vec<Answer> =
        calls.iter().zip(array(&found["answers"])).map(|(call, of)| joined(call, of)).collect();
    let what = |call: usize| format!("{path} run {run}: {}", calls[call]);
    assert_rows(&answers[0], rows_of(report, "ops", "ops"), &what(0));
    assert_rows(&answers[1], rows_of(report, "zones", "zone_statistics"), &what(1));
    assert_rows(&answers[2], rows_of(report, "sums", "sum_statistics"), &what(2));
    assert_rows(&answers[3], findings_of(explained), &what(3));
    assert_no_cause(&answers[3], explained, &what(3));
    assert_rows(&answers[4], array(&explained["untold"]).clone(), &what(4));
    assert_rows(&answers[5], devices_of(explained), &what(5));
    assert_rows(&answers[6], phases_of(explained), &what(6));
    assert_rows(&answers[7], op_times_of(explained), &what(7));
    assert_rows(&answers[8], waits_of(explained), &what(8));
    assert_rows(&answers[9], rows_of(report, "losses", "losses"), &what(9));
    let kinds = |key: &str, is_repaired: bool| {
        let add = move |kind: &Value| json!({ "kind": kind["kind"], "count": kind["count"], "is_repaired": is_repaired });
        array(&report[key]).iter().map(add).collect::<Vec<_>>()
    };
    let odd = [kinds("anomaly_kinds", false), kinds("repair_kinds", true)].concat();
    assert_rows(&answers[10], odd, &what(10));
    compare_sums(&answers[11], report, &what(11));
    for (call, rows) in [
        (13, rows_of(report, "waits", "wait_statistics")),
        (14, profiler_time_of(report)),
        (20, array(&report["data"]).clone()),
        (21, array(&report["events"]).clone()),
    ] {
        assert_rows(&answers[call], rows, &what(call));
    }
    compare_lost(&answers, report);
    compare_traffic(&answers[15..18], folder, (path, run));
    compare_outside(&answers[22], folder, (path, run));
    let known: Vec<u64> = ["metrics", "counters"]
        .iter()
        .zip(&answers[18..])
        .map(|(part, answer)| {
            let rows = counters_of(report, part);
            assert_eq!(!answer.head["reason"].is_null(), rows.is_empty(), "{path}");
            assert_rows(answer, rows.clone(), part);
            rows.len() as u64
        })
        .collect();
    assert_eq!(known.contains(&0), array(&report["hardware_counters"]).is_empty(), "{path}");
    assert_path_count(&answers[12], explained, &what(12));
}

fn assert_path_count(answer: &Answer, explained: &Value, what: &str) {
    let with: Vec<&Value> =
        array(&explained["ops"]).iter().filter(|op| !op["critical_path"].is_null()).collect();
    assert_eq!(answer.rows.len(), with.len(), "{what}");
    let without = array(&explained["ops"]).len() - with.len();
    assert_eq!(answer.head["ops_without_path"], without, "{what}");
}

/// Returns the metrics or the counters of all launches in the JSON of `kprof report`, with the
/// columns of the tool.
fn counters_of(report: &Value, part: &str) -> Vec<Value> {
    let launches = array(&report["hardware_counters"]);
    let rows = launches.iter().flat_map(|launch| {
        let rows = array(&launch[part]).iter();
        let is_it =
            |op: &&Value| ["chip_id", "run_host_id"].iter().all(|key| op[*key] == launch[*key]);
        let op = array(&report["ops"]).iter().find(is_it);
        rows.map(move |row| {
            let mut found = serde_json::Map::new();
            for key in ["chip_id", "run_host_id"] {
                found.insert(key.to_owned(), launch[key].clone());
            }
            found.insert("op_name".to_owned(), op.map_or(Value::Null, |op| op["op_name"].clone()));
            found.insert("launch".to_owned(), launch["launch"].clone());
            for (key, value) in row.as_object().unwrap() {
                let (key, value) = match key.as_str() {
                    "cores" => ("core_count", value.clone()),
                    "samples" => ("sample_count", value.clone()),
                    "usable_samples" => ("usable_sample_count", value.clone()),
                    "cannot_see" => {
                        let limits = array(value).iter().map(|text| text.as_str().unwrap());
                        let limits = limits.collect::<Vec<_>>().join("; ");
                        ("cannot_see", if limits.is_empty() { Value::Null } else { json!(limits) })
                    }
                    key => (key, value.clone()),
                };
                found.insert(key.to_owned(), value);
            }
            Value::Object(found)
        })
    });
    rows.collect()
}

/// Compares the traffic of the NoCs with the output of `kprof noc`, which has none if there are no
/// events.
fn compare_traffic(answers: &[Answer], folder: &Path, (path, run): (&str, usize)) {
    let run = run.to_string();
    let output = kprof(folder, &["noc", path, "--json", "--run", &run]);
    if output.status.code() == Some(1) {
        let said = String::from_utf8(output.stderr).unwrap();
        for answer in answers {
            assert!(answer.rows.is_empty());
            assert!(said.contains(answer.head["reason"].as_str().unwrap()), "{said}");
        }
        return;
    }
    let noc: Value = serde_json::from_slice(&output.stdout).unwrap();
    for (answer, part) in answers.iter().zip(["events", "pairs", "links"]) {
        assert!(!array(&noc[part]).is_empty(), "{path}: {part}");
        assert_rows(answer, array(&noc[part]).clone(), part);
        for count in ["unknown_count", "unplaced_count", "open_wait_count"] {
            assert_eq!(answer.head[count], noc[count], "{path}: {count}");
        }
    }
}

/// Compares the bytes that are in no pair with those of `kprof noc`.
fn compare_outside(answer: &Answer, folder: &Path, (path, run): (&str, usize)) {
    let output = kprof(folder, &["noc", path, "--json", "--run", &run.to_string()]);
    let rows = match output.status.code() {
        Some(1) => Vec::new(),
        _ => {
            let noc: Value = serde_json::from_slice(&output.stdout).unwrap();
            array(&noc["outside"]).clone()
        }
    };
    assert_rows(answer, rows, path);
}

/// Asserts that losses by cause are the sums over the lanes.
fn compare_sums(causes: &Answer, report: &Value, what: &str) {
    for key in ["zones", "data", "events", "sums", "unknown_markers"] {
        let by_cause: u64 = causes.rows.iter().map(|row| row[key].as_u64().unwrap()).sum();
        let by_lane: u64 =
            array(&report["losses"]).iter().map(|loss| loss[key].as_u64().unwrap()).sum();
        assert_eq!(by_cause, by_lane, "{what}: {key}");
    }
}

/// Asserts that an answer about findings states that there is no cause, like an explanation without
/// findings.
fn assert_no_cause(answer: &Answer, explained: &Value, what: &str) {
    let no_cause = &explained["no_cause"];
    let head = |key: &str| answer.head.get(key).cloned().unwrap_or(Value::Null);
    assert_eq!(head("reason"), no_cause["sentence"], "{what}");
    assert_eq!(head("record_next"), no_cause["record_next"], "{what}");
    if !no_cause.is_null() {
        assert_eq!(head("where"), no_cause["where"], "{what}");
        assert_eq!(head("measured"), joined_texts(&no_cause["measured"], "; "), "{what}");
    }
}

fn compare_lost(answers: &[Answer], report: &Value) {
    let lost = &report["lost"];
    assert!(array(&lost["uncounted"]).is_empty() || lost["is_lower_bound"] == true, "{lost}");
    for answer in answers {
        let found = &answer.head["lost"];
        assert_eq!(found["is_lower_bound"], lost["is_lower_bound"], "{found}");
        assert_eq!(found["records"], lost["records"]);
        assert_eq!(found["omitted_records"], lost["omitted_records"]);
        let running = &report["unfinished"]["run_count"];
        assert_eq!(found["unfinished_runs"].as_u64(), Some(running.as_u64().unwrap_or(0)));
        for reason in array(&lost["uncounted"]) {
            assert!(found["text"].as_str().unwrap().contains(reason.as_str().unwrap()), "{found}");
        }
    }
}

#[test]
fn every_value_is_that_of_the_other_commands() {
    if !is_client_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let path = |name: &str| folder.join(name).display().to_string();
    capture(folder, &["--workload", "random", "--ops", "30", "--seed", "7", "-o", "random.kprof"]);
    capture(
        folder,
        &["--workload", "multi-op-overflow", "--op-support-count", "50", "-o", "lost.kprof"],
    );
    capture(folder, &["--ops", "2", "--enable-sum-profiling", "-o", "twice.kprof"]);
    capture(folder, &["--ops", "3", "--seed", "2", "-o", "twice.kprof", "--append"]);
    capture(folder, &["--ops", "40", "--enable-accumulate-profiling", "-o", "shared.kprof"]);
    let before = files(folder);
    compare_run(folder, &path("random.kprof"), 1);
    compare_run(folder, &path("lost.kprof"), 1);
    compare_run(folder, &path("twice.kprof"), 1);
    compare_run(folder, &path("twice.kprof"), 2);
    compare_run(folder, &path("shared.kprof"), 1);
    let shared = &json_lines(folder, &["report", "shared.kprof", "--json", "--rows", "0"])[0];
    assert!(!profiler_time_of(shared).is_empty(), "pushes of several launches show");
    for real in [
        "tests/captures/kprof/v1.1.kprof",
        "tests/captures/mesham-tt-sim/wormhole-counters-elw/profile_log_device.csv",
        "tests/captures/mesham-tt-sim/blackhole-noc-256",
    ] {
        compare_run(folder, &repository(real), 1);
    }
    assert!(files(folder) == before, "a file was written");
}

#[test]
fn paths_of_single_waits_are_those_of_explain_and_their_steps_join() {
    if !is_client_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let shape = "tiles=40,reader=1620,writer=700";
    capture(
        folder,
        &[
            "--waits",
            "events",
            "--workload",
            "pipeline",
            "--ops",
            "2",
            "--pipeline",
            shape,
            "-o",
            "a.kprof",
        ],
    );
    let explained = &json_lines(folder, &["explain", "a.kprof", "--json"])[0];
    let path = folder.join("a.kprof").display().to_string();
    compare_run(folder, &path, 1);
    let mut path_count = 0;
    for op in array(&explained["ops"]) {
        let mut asked = json!({
            "program": base(&op["run_host_id"]), "launch": op["launch"], "chip_id": op["chip_id"],
        });
        let shares = json!(["critical_path", asked]);
        asked["steps"] = true.into();
        let steps = json!(["critical_path", asked]);
        let found = call_all("auto", &[&path], &[shares.clone(), steps.clone()]);
        let answer = joined(&shares, &found["answers"][0]);
        assert_rows(&answer, shares_of_path(op), "shares");
        assert_eq!(answer.head["cycles"], op["critical_path"]["cycles"]);
        let steps = joined(&steps, &found["answers"][1]);
        let mut cycles: BTreeMap<String, u64> = BTreeMap::new();
        for pair in steps.rows.windows(2) {
            assert_eq!(pair[0]["end_cycle"], pair[1]["start_cycle"]);
        }
        let key = |row: &Map<String, Value>| {
            ["core_x", "core_y", "risc", "kind"].map(|key| row[key].to_string()).join(" ")
        };
        for step in &steps.rows {
            let [start, end] = ["start_cycle", "end_cycle"].map(|key| step[key].as_u64().unwrap());
            *cycles.entry(key(step)).or_default() += end - start;
        }
        let expected: BTreeMap<String, u64> =
            answer.rows.iter().map(|row| (key(row), row["cycles"].as_u64().unwrap())).collect();
        assert_eq!(cycles, expected);
        path_count += 1;
    }
    assert_eq!(path_count, 2);
}

#[test]
fn an_ops_csv_is_told_as_perf_and_explain_tell_it() {
    if !is_client_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = repository("tests/captures/tt-perf-report/bh_p100_dlv3.csv");
    let perf = &json_lines(folder.path(), &["perf", &path, "--json"])[0];
    let explained = &json_lines(folder.path(), &["explain", &path, "--json"])[0];
    let calls = [
        json!(["ops", {}]),
        json!(["explain", {}]),
        json!(["explain", { "part": "devices" }]),
        json!(["zones", {}]),
        json!(["losses", {}]),
        json!(["ops", { "filter": "op=Conv*", "sort": "device_time_us" }]),
        json!(["ops", { "filter": "op!=Conv*", "sort": "device_time_us", "order": "ascending" }]),
        json!(["explain", { "part": "groups" }]),
    ];
    let found = call_all("legacy", &[&path], &calls);
    let answers: Vec<Answer> =
        calls.iter().zip(array(&found["answers"])).map(|(call, of)| joined(call, of)).collect();
    let rows = rows_of_csv(perf);
    assert!(rows.len() > 300 && answers[0].page_count > 5);
    assert_rows(&answers[0], rows.clone(), "rows");
    assert_rows(&answers[1], findings_of(explained), "findings");
    assert_no_cause(&answers[1], explained, "findings");
    assert_eq!(answers[1].head["window"], explained["window"]);
    assert_rows(&answers[2], devices_of(explained), "devices");
    assert!(answers[7].rows.len() > 20, "op codes");
    assert_rows(&answers[7], groups_of(explained), "groups");
    for answer in &answers[3..5] {
        assert!(answer.rows.is_empty() && answer.head["reason"].is_string());
    }
    for answer in &answers {
        assert_eq!(answer.head["lost"]["records"], Value::Null);
    }
    let is_conv = |row: &&Value| row["name"].as_str().unwrap().starts_with("Conv");
    let time = |row: &Value| row["device_time_us"].as_f64();
    let mut convs: Vec<Value> = rows.iter().filter(is_conv).cloned().collect();
    convs.sort_by(|one, other| time(other).partial_cmp(&time(one)).unwrap());
    assert_rows(&answers[5], convs, "longest first");
    let mut others: Vec<Value> = rows.iter().filter(|row| !is_conv(row)).cloned().collect();
    let key = |row: &Value| time(row).unwrap_or(f64::INFINITY);
    others.sort_by(|one, other| key(one).total_cmp(&key(other)));
    assert_rows(&answers[6], others, "shortest first, unknown last");
}

#[test]
fn groups_of_ops_are_those_of_perf_and_diff() {
    if !is_client_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_reports(folder);
    let path = |name: &str| folder.join(name).display().to_string();
    let calls = [
        json!(["load", { "path": path("b.csv") }]),
        json!(["by", { "recording": "r1" }]),
        json!(["by", { "recording": "r1", "column": "loc" }]),
        json!(["diff", { "a": "r1", "b": "r2", "part": "by" }]),
        json!(["by", { "column": "layer" }]),
    ];
    let found = call_all("legacy", &[&path("a.csv")], &calls);
    let answers = array(&found["answers"]);
    for (call, column) in [(1, "module"), (2, "loc")] {
        let perf = &json_lines(folder, &["perf", "a.csv", "--json", "--by", column])[0]["by"];
        let answer = joined(&calls[call], &answers[call]);
        assert_eq!(answer.head["column"], perf["column"]);
        assert_eq!(answer.head["op_count"], perf["total"]["op_count"]);
        assert_eq!(answer.head["device_time_us"], 4.5);
        assert_rows(&answer, groups_by_column(perf), column);
        assert!(answer.rows.len() >= 3);
    }
    let diff = &json_lines(folder, &["diff", "a.csv", "b.csv", "--json", "--by", "module"])[0];
    let answer = joined(&calls[3], &answers[3]);
    assert_eq!(answer.head["column"], "MODULE");
    let head = answer.rows.iter().find(|row| row["name"] == "Model.head").unwrap();
    assert_eq!((&head["a_ns"], &head["b_ns"]), (&json!(500.0), &json!(750.0)));
    assert_rows(&answer, changes_by_column(&diff["by"]), "changes");
    let said = error_of(&answers[4]);
    assert!(said.contains("to group by, found layer; its columns are MODULE, LOC"), "{said}");
}

#[test]
fn programs_are_those_of_the_command() {
    if !is_client_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_builds(folder);
    let path = folder.join("builds.csv").display().to_string();
    let calls = [
        json!(["programs", {}]),
        json!(["programs", { "part": "rebuilds", "sort": "row_id", "order": "ascending" }]),
    ];
    let found = call_all("legacy", &[&path], &calls);
    let shown = &json_lines(folder, &["programs", "builds.csv", "--json"])[0];
    let [places, rebuilds] = [0, 1].map(|at| joined(&calls[at], &found["answers"][at]));
    for key in ["call_count", "built_count", "rebuilt_count", "unplaced_count", "unknown_count"] {
        assert_eq!(places.head[key], shown["all"][key], "{key}");
    }
    let sites = array(&shown["sites"]);
    let built = sites.iter().filter(|site| site["built_count"] != 0);
    let built = built.map(|site| {
        let mut site = site.clone();
        site.as_object_mut().unwrap().remove("rebuilds");
        site
    });
    assert_rows(&places, built.collect(), "places");
    let expected = [
        ("Add", 3, 2, "alpha: 1 -> 2"),
        ("Add", 5, 2, "no recorded argument differs; what differs was not recorded"),
    ];
    let told = rebuilds.rows.iter().map(|row| {
        let number = |key: &str| row[key].as_u64().unwrap();
        let text = |key: &str| row[key].as_str().unwrap().to_owned();
        (text("op_code"), number("row_id"), number("compared_row_id"), text("reason"))
    });
    let expected =
        expected.map(|(op, row, other, why)| (op.to_owned(), row, other, why.to_owned()));
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[test]
fn filters_take_the_rows_that_report_takes() {
    if !is_client_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    capture(folder, &["--workload", "random", "--ops", "20", "--devices", "2", "-o", "a.kprof"]);
    let whole = &json_lines(folder, &["report", "a.kprof", "--json", "--rows", "0"])[0];
    let path = folder.join("a.kprof").display().to_string();
    let calls = [
        json!(["ops", { "filter": "device=1,op=3..9" }]),
        json!(["zones", { "filter": "device=0,risc=trisc*,zone!=*-FW", "sort": "count" }]),
    ];
    let found = call_all("auto", &[&path], &calls);
    let ops = rows_of(whole, "ops", "ops")
        .into_iter()
        .filter(|op| op["chip_id"] == 1 && (3..=9).contains(&op["program"].as_u64().unwrap()));
    let ops: Vec<Value> = ops.collect();
    assert!(!ops.is_empty());
    assert_rows(&joined(&calls[0], &found["answers"][0]), ops, "ops");
    let mut zones: Vec<Value> = rows_of(whole, "zones", "zone_statistics");
    zones.retain(|zone| {
        let [name, risc] = ["name", "risc"].map(|key| zone[key].as_str().unwrap());
        zone["chip_id"] == 0 && risc.starts_with("TRISC") && !name.ends_with("-FW")
    });
    assert!(!zones.is_empty());
    zones.sort_by_key(|zone| std::cmp::Reverse(zone["count"].as_u64()));
    assert_rows(&joined(&calls[1], &found["answers"][1]), zones, "zones");
}

#[test]
fn a_comparison_is_that_of_diff() {
    if !is_client_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, seed, shape) in
        [("a", "1", "tiles=20,reader=900"), ("b", "2", "tiles=20,reader=1500")]
    {
        let output = format!("{name}.kprof");
        capture(
            folder,
            &[
                "--workload",
                "pipeline",
                "--ops",
                "6",
                "--seed",
                seed,
                "--pipeline",
                shape,
                "-o",
                &output,
            ],
        );
    }
    let csv = repository("tests/captures/tt-perf-report/bh_p100_dlv3.csv");
    let path = |name: &str| folder.join(name).display().to_string();
    let calls = [
        json!(["load", { "path": path("b.kprof") }]),
        json!(["load", { "path": csv }]),
        json!(["diff", { "a": "r1", "b": "r2", "part": "all" }]),
        json!(["diff", { "a": "r1", "b": "r2" }]),
        json!(["diff", { "a": "r1", "b": "r2", "part": "skipped" }]),
        json!(["diff", { "a": "r3", "b": "r3", "part": "all", "confidence": 99 }]),
        json!(["diff", { "a": "r1", "b": "r3", "part": "only_in_a" }]),
        json!(["diff", { "a": "r1", "b": "r3", "part": "only_in_b" }]),
    ];
    let found = call_all("legacy", &[&path("a.kprof")], &calls);
    let answers: Vec<Answer> =
        calls.iter().zip(array(&found["answers"])).map(|(call, of)| joined(call, of)).collect();
    let diff = &json_lines(folder, &["diff", "a.kprof", "b.kprof", "--json", "--all"])[0];
    let rows = changes_of(diff);
    assert_rows(&answers[2], rows.clone(), "all");
    let noteworthy: Vec<Value> = rows
        .into_iter()
        .filter(|row| match row["certainty"].as_str().unwrap() {
            "significant" => true,
            "single_repetition" => row["ratio"] != 1.0,
            _ => false,
        })
        .collect();
    assert!(!noteworthy.is_empty());
    assert_rows(&answers[3], noteworthy, "noteworthy");
    let mut skipped = Vec::new();
    for (side, key) in [("a", "in_a"), ("b", "in_b")] {
        for (reason, count) in diff[key]["skipped"].as_object().unwrap() {
            skipped.push(json!({ "side": side, "reason": reason, "count": count }));
        }
    }
    assert_rows(&answers[4], skipped, "skipped");
    let same =
        &json_lines(folder, &["diff", &csv, &csv, "--json", "--all", "--confidence", "99"])[0];
    assert_rows(&answers[5], changes_of(same), "99 %");
    let apart = &json_lines(folder, &["diff", "a.kprof", &csv, "--json"])[0];
    for (answer, key) in [(&answers[6], "in_a"), (&answers[7], "in_b")] {
        let only = array(&apart[key]["only_here"]).clone();
        assert!(!only.is_empty());
        assert_rows(answer, only, key);
    }
}

#[test]
fn memory_is_that_of_kprof_memory() {
    if !is_client_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    op_memory::record(folder.path());
    let path = folder.path().join("out/.logs/device-7.kprof").display().to_string();
    let shown =
        |args: &[&str]| json_lines(folder.path(), &[&["memory", &path, "--json"], args].concat());
    let (all, add) = (&shown(&[])[0], &shown(&["--op", "Add"])[0]);
    let calls = [
        json!(["memory", {}]),
        json!(["memory", { "part": "map" }]),
        json!(["memory", { "part": "ops", "op": "Ones" }]),
        json!(["memory", { "op": "Softmax" }]),
        json!(["memory", { "part": "makers" }]),
        json!(["memory", { "part": "outlived" }]),
    ];
    let found = call_all("legacy", &[&path], &calls);
    let answers: Vec<Answer> =
        calls.iter().zip(array(&found["answers"])).map(|(call, of)| joined(call, of)).collect();
    assert_rows(&answers[0], array(&all["peaks"]).clone(), "peaks");
    assert_rows(&answers[1], rows_of(add, "memory", "memory"), "map");
    let ones = &answers[2].rows;
    assert_eq!(ones.len(), 1);
    assert_eq!((&ones[0]["used_bytes"], &ones[0]["is_lower_bound"]), (&json!(200), &json!(true)));
    assert_eq!(
        (&ones[0]["circular_buffer_bytes"], &ones[0]["dram_bytes"]),
        (&Value::Null, &json!(0))
    );
    assert!(answers[3].rows.is_empty());
    assert_eq!(answers[3].head["reason"], "no op has this text in its name");
    assert_rows(&answers[4], array(&all["makers"]).clone(), "makers");
    let outlived = &answers[5].rows;
    assert_eq!(outlived.len(), 1);
    let map = rows_of(add, "memory", "memory");
    let tensor = map.iter().find(|row| row["kind"] == "tensor").unwrap();
    for (key, of_map) in [
        ("size_bytes", "size_bytes"),
        ("start", "start"),
        ("content", "content"),
        ("owner", "owner"),
        ("module", "owner_module"),
        ("location", "owner_location"),
        ("last_use_run_host_id", "last_use_run_host_id"),
    ] {
        assert_eq!(outlived[0][key], tensor[of_map], "{key}");
    }
    assert_eq!(outlived[0]["last_use_op_name"], "Ones");
    for answer in &answers {
        assert_eq!(answer.head["op_count"], all["counts"]["ops"]);
        let counts = &all["counts"];
        assert_eq!(
            answer.head["ops_without_launch_messages"],
            counts["ops_without_launch_messages"]
        );
        assert_eq!(answer.head["ops_without_buffers"], counts["ops_without_buffers"]);
    }
}
