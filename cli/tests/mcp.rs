//! `kprof mcp` asked by another project's client, and compared with the other commands.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

#[cfg(feature = "mcp")]
mod package;
#[cfg(feature = "mcp")]
mod program;

#[cfg(not(feature = "mcp"))]
#[test]
fn a_build_without_the_protocol_says_how_to_get_it() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_kprof")).arg("mcp").output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("`cargo build -p kprof --features mcp`"), "{errors}");
    assert_eq!((errors.lines().count(), output.stdout.len()), (1, 0));
}

#[cfg(feature = "mcp")]
mod with_the_protocol {
    use super::{package, program::kprof};
    use serde_json::{Map, Value, json};
    use std::{
        collections::BTreeMap,
        io::{BufRead, BufReader, Write},
        path::{Path, PathBuf},
        process::{Command, Stdio},
    };

    /// Bytes of an answer, by docs/mcp.md.
    const LIMIT: usize = 4096;

    /// Classes of time, by docs/explain.md.
    const CLASSES: [&str; 8] = [
        "compute",
        "data_movement",
        "collective",
        "wait",
        "dispatch",
        "host_late",
        "profiler",
        "unknown",
    ];

    /// Answer that a client got, all of its pages together.
    struct Answer {
        /// Fields of the first page besides rows.
        head: Value,
        rows: Vec<Map<String, Value>>,
        page_count: usize,
    }

    fn call_all(mode: &str, args: &[&str], calls: &[Value]) -> Value {
        let mut command = vec![env!("CARGO_BIN_EXE_kprof"), "mcp"];
        command.extend(args);
        let asked = json!({ "command": command, "mode": mode, "calls": calls }).to_string();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/package/mcp_calls.py");
        let mut client = package::python()
            .arg("-B")
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        client.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
        let output = client.wait_with_output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Checks what holds for the pages of every answer, and puts their rows together.
    fn joined(call: &Value, answer: &Value) -> Answer {
        assert_eq!(answer["is_error"], false, "{call}: {answer}");
        let (mut rows, mut head) = (Vec::new(), Value::Null);
        let pages = answer["pages"].as_array().unwrap();
        for text in pages {
            let text = text.as_str().unwrap();
            assert!(text.len() <= LIMIT, "{call}: {} bytes", text.len());
            let page: Value = serde_json::from_str(text).unwrap();
            assert_eq!(page["schema_version"], 1, "{call}");
            assert!(page["lost"].is_object() || page["columns"][9] == "lost", "{call}: {text}");
            assert_eq!((&page["from"], &page["shortened_texts"]), (&rows.len().into(), &0.into()));
            for row in page["rows"].as_array().unwrap() {
                let row = row.as_array().unwrap();
                let columns = page["columns"].as_array().unwrap();
                assert_eq!(row.len(), columns.len(), "{call}");
                let cells = columns.iter().zip(row).map(|(column, cell)| {
                    let column = column.as_str().unwrap();
                    let reason = page["null_means"][column].as_str().unwrap_or("");
                    assert!(!cell.is_null() || !reason.is_empty(), "{call}: null in {column}");
                    (column.to_owned(), cell.clone())
                });
                rows.push(cells.collect());
            }
            if head.is_null() {
                head = page;
            }
        }
        assert_eq!(head["row_count"], rows.len(), "{call}");
        Answer { head, rows, page_count: pages.len() }
    }

    fn error_of(answer: &Value) -> String {
        assert_eq!(answer["is_error"], true, "{answer}");
        let text = answer["pages"][0].as_str().unwrap();
        assert!(text.len() <= LIMIT, "{} bytes", text.len());
        let error: Value = serde_json::from_str(text).unwrap();
        assert_eq!(error["schema_version"], 1);
        error["error"].as_str().unwrap().to_owned()
    }

    fn json_lines(folder: &Path, args: &[&str]) -> Vec<Value> {
        let output = kprof(folder, args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Rows by column that must be exactly those of an answer.
    #[track_caller]
    fn assert_rows(answer: &Answer, expected: Vec<Value>, what: &str) {
        assert_eq!(answer.rows.len(), expected.len(), "{what}");
        for (found, expected) in answer.rows.iter().zip(expected) {
            let found = Value::Object(found.clone());
            for (column, value) in expected.as_object().unwrap() {
                assert_eq!(&found[column], value, "{what}: {column} of {found}");
            }
            assert_eq!(
                found.as_object().unwrap().keys().collect::<Vec<_>>(),
                expected.as_object().unwrap().keys().collect::<Vec<_>>(),
                "{what}"
            );
        }
    }

    fn array(value: &Value) -> &Vec<Value> {
        value.as_array().unwrap()
    }

    fn unless_zero(value: &Value) -> Value {
        if *value == 0 { Value::Null } else { value.clone() }
    }

    fn doubt(value: &Value) -> Value {
        let sentence = match value.as_str() {
            None => return Value::Null,
            Some("lost_records") => "records of some RISCs are lost",
            Some("unfinished") => "some kernels did not end",
            Some("clocks_disagree") => "clocks of the cores disagree",
            Some("lost_launches") => "launches before it may be missing",
            Some("unknown_end_before") => "the op before has no known end",
            Some(other) => panic!("{other}"),
        };
        sentence.into()
    }

    /// The ops of `kprof report --json`.
    fn ops_of(report: &Value) -> Vec<Value> {
        let name = |op: &Value| {
            let of_op = |name: &&Value| {
                (&name["chip_id"], &name["program"]) == (&op["chip_id"], &op["program"])
            };
            array(&report["op_names"])
                .iter()
                .find(of_op)
                .map_or(Value::Null, |of| of["name"].clone())
        };
        let span = |op: &Value, kind: &str| {
            let span = if op[kind].is_null() { &op[format!("trace_{kind}")] } else { &op[kind] };
            span["duration_ns"].clone()
        };
        let row = |op: &Value| {
            let risc = |risc: &str| op["risc_kernels"][risc]["duration_ns"].clone();
            json!({
                "chip_id": op["chip_id"],
                "program": op["program"],
                "launch": op["launch"],
                "name": name(op),
                "core_count": unless_zero(&op["core_count"]),
                "recorded_core_count": op["recorded_core_count"],
                "kernel_ns": span(op, "kernel"),
                "firmware_ns": span(op, "firmware"),
                "brisc_ns": risc("brisc"),
                "ncrisc_ns": risc("ncrisc"),
                "trisc0_ns": risc("trisc0"),
                "trisc1_ns": risc("trisc1"),
                "trisc2_ns": risc("trisc2"),
                "erisc_ns": risc("erisc"),
                "start_skew_ns": op["kernel_first_to_last_start_ns"],
                "op_to_op_ns": op["op_to_op_latency_ns"],
                "trace_id": op["trace_id"],
                "trace_replay": op["trace_replay"],
                "duration_doubt": doubt(&op["duration_doubt"]),
                "latency_doubt": doubt(&op["latency_doubt"]),
            })
        };
        array(&report["ops"]).iter().map(row).collect()
    }

    /// The zones or sums of `kprof report --json`.
    fn zones_of(report: &Value, kind: &str) -> Vec<Value> {
        let row = |zone: &Value| {
            let unless_empty =
                |key: &str| if zone["count"] == 0 { Value::Null } else { zone[key].clone() };
            let mut row = json!({
                "chip_id": zone["chip_id"],
                "risc": zone["risc"],
                "name": zone["name"],
                "marker_id": zone["marker_id"],
                "count": zone["count"],
            });
            for key in ["total_ns", "min_ns", "median_ns", "p99_ns", "max_ns", "total_cycles"] {
                row[key] = unless_empty(key);
            }
            if kind == "zones" {
                row["self_total_cycles"] = unless_empty("self_total_cycles");
                row["open_zone_count"] = zone["open_zone_count"].clone();
                let file = zone["source_file"].as_str().unwrap();
                row["source"] = match zone["source_line"].as_u64().unwrap() {
                    _ if file.is_empty() => Value::Null,
                    0 => file.into(),
                    line => format!("{file}:{line}").into(),
                };
            }
            row
        };
        array(&report[kind]).iter().map(row).collect()
    }

    fn counts(row: &mut Value, loss: &Value) {
        row["runs"] = unless_zero(&loss["runs"]);
        for key in ["zones", "data", "events", "sums", "unknown_markers", "is_lower_bound"] {
            row[key] = loss[key].clone();
        }
    }

    /// The ledger of `kprof report --json`.
    fn lanes_of(report: &Value) -> Vec<Value> {
        let row = |loss: &Value| {
            let mut row = json!({});
            for key in ["cause", "chip_id", "core_x", "core_y", "risc", "run_host_id"] {
                row[key] = loss[key].clone();
            }
            row["first_run_host_id"] = loss["first_run_host_id"].clone();
            row["last_run_host_id"] = loss["last_run_host_id"].clone();
            counts(&mut row, loss);
            row
        };
        array(&report["losses"]).iter().map(row).collect()
    }

    /// The percentages of one stretch of time in `kprof explain --json`.
    fn shares(row: &mut Value, time: &Value) {
        for share in array(&time["shares"]) {
            let class = share["class"].as_str().unwrap();
            let is_unknown = class == "wait" && time["waits"] == "none" && share["percent"] == 0.0;
            let percent = if is_unknown { Value::Null } else { share["percent"].clone() };
            row[format!("{class}_percent")] = percent;
        }
    }

    fn base(run_host_id: &Value) -> Value {
        // The lowest ten bits are the chip's.
        run_host_id.as_u64().map_or(Value::Null, |id| (id >> 10).into())
    }

    fn findings_of(explained: &Value, places: &[Value]) -> Vec<Value> {
        let row = |(finding, place): (&Value, &Value)| {
            let at = &finding["place"];
            let mut row = json!({
                "place": place,
                "chip_id": at["chip_id"],
                "program": base(&at["run_host_id"]),
                "launch": at["launch"],
            });
            for key in ["cause", "sentence", "figure", "threshold", "gain_of", "advice"] {
                row[key] = finding[key].clone();
            }
            for key in ["gain_at_most_ns", "gain_at_most_percent"] {
                row[key] = finding[key].clone();
            }
            row
        };
        array(&explained["findings"]).iter().zip(places).map(row).collect()
    }

    fn devices_of(explained: &Value) -> Vec<Value> {
        let row = |device: &Value| {
            let time = &device["time"];
            let mut row = json!({
                "chip_id": device["chip_id"],
                "op_count": device["op_count"],
                "total_ns": time["total_ns"],
                "overlap_at_least_percent": time["overlap"]["at_least_percent"],
                "overlap_at_most_percent": time["overlap"]["at_most_percent"],
                "busy_ns": null,
                "kernel_sum_ns": null,
            });
            if device["kernel_sum_ns"] != 0 {
                row["busy_ns"] = device["busy_ns"].clone();
                row["kernel_sum_ns"] = device["kernel_sum_ns"].clone();
            }
            shares(&mut row, time);
            row
        };
        array(&explained["devices"]).iter().map(row).collect()
    }

    fn phases_of(explained: &Value) -> Vec<Value> {
        let mut rows = Vec::new();
        for phase in array(&explained["phases"]) {
            let path: Vec<_> =
                array(&phase["path"]).iter().map(|part| part.as_str().unwrap()).collect();
            let mut row = json!({ "path": path.join(" / "), "depth": path.len() });
            for key in ["origin", "count", "host_ns", "op_count", "kernel_sum_over_devices_ns"] {
                row[key] = phase[key].clone();
            }
            for device in array(&phase["devices"]) {
                let mut row = row.clone();
                row["chip_id"] = device["chip_id"].clone();
                row["total_ns"] = device["time"]["total_ns"].clone();
                shares(&mut row, &device["time"]);
                rows.push(row);
            }
            if array(&phase["devices"]).is_empty() {
                row["chip_id"] = Value::Null;
                row["total_ns"] = Value::Null;
                for class in CLASSES {
                    row[format!("{class}_percent")] = Value::Null;
                }
                rows.push(row);
            }
        }
        rows
    }

    fn op_times_of(explained: &Value) -> Vec<Value> {
        let row = |op: &Value| {
            let mut row = json!({
                "chip_id": op["chip_id"],
                "program": base(&op["run_host_id"]),
                "launch": op["launch"],
                "name": op["name"],
                "total_ns": op["time"]["total_ns"],
                "gap_ns": op["gap_ns"],
                "core_max_over_mean": op["balance"]["ratio"],
                "pacer": op["pace"]["pacer"],
                "pacer_margin_at_least": op["pace"]["margin_at_least"],
                "pacer_margin_at_most": op["pace"]["margin_at_most"],
            });
            shares(&mut row, &op["time"]);
            row
        };
        array(&explained["ops"]).iter().map(row).collect()
    }

    fn waits_of(explained: &Value) -> Vec<Value> {
        let mut rows = Vec::new();
        for op in array(&explained["ops"]) {
            for wait in array(&op["waits"]) {
                let mut row = json!({
                    "chip_id": op["chip_id"],
                    "program": base(&op["run_host_id"]),
                    "launch": op["launch"],
                });
                for key in [
                    "risc",
                    "core_count",
                    "kernel_cycles_sum",
                    "blocked_percent",
                    "barrier_percent",
                ] {
                    row[key] = wait[key].clone();
                }
                let sums = array(&wait["sums"]);
                let most =
                    sums.iter().max_by_key(|sum| sum["cycles"].as_u64()).unwrap_or(&Value::Null);
                row["most_blocked_by"] = most["kind"].clone();
                row["most_blocked_key"] = most["key"].clone();
                row["most_blocked_cycles"] = most["cycles"].clone();
                rows.push(row);
            }
        }
        rows
    }

    fn shares_of_path(op: &Value) -> Vec<Value> {
        let row = |share: &Value| {
            json!({
                "core_x": share["core"][0],
                "core_y": share["core"][1],
                "risc": share["risc"],
                "kind": share["kind"],
                "cycles": share["cycles"],
                "percent": share["percent"],
            })
        };
        array(&op["critical_path"]["shares"]).iter().map(row).collect()
    }

    fn changes_of(diff: &Value) -> Vec<Value> {
        let row = |change: &Value| {
            json!({
                "kind": change["kind"],
                "place": change["place"],
                "name": change["name"],
                "source": change["source"],
                "certainty": change["certainty"],
                "ratio": change["ratio"],
                "ratio_low": change["interval"][0],
                "ratio_high": change["interval"][1],
                "p_value": change["adjusted_p_value"],
                "a_mean_ns": change["a_geometric_mean_ns"],
                "b_mean_ns": change["b_geometric_mean_ns"],
                "a_count": change["a_ns"]["count"],
                "b_count": change["b_ns"]["count"],
                "a_median_ns": change["a_ns"]["median"],
                "b_median_ns": change["b_ns"]["median"],
                "slower_percent": (change["ratio"].as_f64().unwrap() - 1.0) * 100.0,
            })
        };
        array(&diff["changes"]).iter().map(row).collect()
    }

    fn rows_of_csv(perf: &Value) -> Vec<Value> {
        let row = |row: &Value| {
            json!({
                "row": row["id"],
                "kind": row["kind"],
                "name": row["raw_op_code"],
                "device": row["device"],
                "device_time_us": row["device_time_us"],
                "op_to_op_gap_us": row["op_to_op_gap_us"],
                "core_count": row["core_count"],
                "total_percent": row["total_percent"],
                "bound": row["bound"],
                "dram_percent": row["dram_percent"],
                "flops_percent": row["flops_percent"],
                "math_fidelity": row["math_fidelity"],
                "call": row["global_call_count"],
            })
        };
        array(&perf["rows"]).iter().map(row).collect()
    }

    fn repository(path: &str) -> String {
        let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
        folder.canonicalize().unwrap().display().to_string()
    }

    /// Every file of a folder with its content.
    fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    }

    /// Calls about one run, with what `kprof report` and `kprof explain` say of it.
    fn compare_run(folder: &Path, path: &str, run: usize) {
        let report = &json_lines(folder, &["report", path, "--json", "--rows", "0"])[run - 1];
        let explained = &json_lines(folder, &["explain", path, "--json"])[run - 1];
        let calls = [
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
        ];
        let found = call_all("legacy", &[path], &calls);
        let answers: Vec<Answer> =
            calls.iter().zip(array(&found["answers"])).map(|(call, of)| joined(call, of)).collect();
        let what = |call: usize| format!("{path} run {run}: {}", calls[call]);
        assert_rows(&answers[0], ops_of(report), &what(0));
        assert_rows(&answers[1], zones_of(report, "zones"), &what(1));
        assert_rows(&answers[2], zones_of(report, "sums"), &what(2));
        // The words for a place are the terminal's own: chip, op and the rest are compared.
        let places: Vec<Value> = answers[3].rows.iter().map(|row| row["place"].clone()).collect();
        assert_rows(&answers[3], findings_of(explained, &places), &what(3));
        assert_rows(&answers[4], array(&explained["untold"]).clone(), &what(4));
        assert_rows(&answers[5], devices_of(explained), &what(5));
        assert_rows(&answers[6], phases_of(explained), &what(6));
        assert_rows(&answers[7], op_times_of(explained), &what(7));
        assert_rows(&answers[8], waits_of(explained), &what(8));
        assert_rows(&answers[9], lanes_of(report), &what(9));
        let kinds = |key: &str, is_repaired: bool| {
            let add = move |kind: &Value| json!({ "kind": kind["kind"], "count": kind["count"], "is_repaired": is_repaired });
            array(&report[key]).iter().map(add).collect::<Vec<_>>()
        };
        let odd = [kinds("anomaly_kinds", false), kinds("repair_kinds", true)].concat();
        assert_rows(&answers[10], odd, &what(10));
        compare_sums(&answers[11], report, &what(11));
        compare_lost(&answers, report);
        let with: Vec<&Value> =
            array(&explained["ops"]).iter().filter(|op| !op["critical_path"].is_null()).collect();
        assert_eq!(answers[12].rows.len(), with.len(), "{}", what(12));
        assert_eq!(
            answers[12].head["ops_without_path"],
            array(&explained["ops"]).len() - with.len(),
            "{}",
            what(12)
        );
    }

    /// Losses by cause have the sums of the lanes.
    fn compare_sums(causes: &Answer, report: &Value, what: &str) {
        for key in ["zones", "data", "events", "sums", "unknown_markers"] {
            let by_cause: u64 = causes.rows.iter().map(|row| row[key].as_u64().unwrap()).sum();
            let by_lane: u64 =
                array(&report["losses"]).iter().map(|loss| loss[key].as_u64().unwrap()).sum();
            assert_eq!(by_cause, by_lane, "{what}: {key}");
        }
    }

    /// Every answer tells what was lost, as `kprof report` does.
    fn compare_lost(answers: &[Answer], report: &Value) {
        let lost = &report["lost"];
        let records: u64 = ["l1_full", "dram_full", "validate_off", "other"]
            .iter()
            .map(|key| lost[key].as_u64().unwrap())
            .sum();
        let is_lower_bound =
            lost["is_lower_bound"] == true || !array(&lost["uncounted"]).is_empty();
        for answer in answers {
            let found = &answer.head["lost"];
            assert_eq!(found["is_lower_bound"], is_lower_bound, "{found}");
            let is_known = records > 0 || !is_lower_bound;
            assert_eq!(found["records"], if is_known { json!(records) } else { Value::Null });
            for reason in array(&lost["uncounted"]) {
                assert!(
                    found["text"].as_str().unwrap().contains(reason.as_str().unwrap()),
                    "{found}"
                );
            }
        }
    }

    fn capture(folder: &Path, args: &[&str]) {
        let fixed = ["capture", "--kernels", "native"];
        let output = kprof(folder, &[&fixed[..], args].concat());
        assert!(output.status.code() < Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn is_client_there() -> bool {
        package::is_installed("mcp", "mcp")
    }

    #[test]
    fn every_value_is_that_of_the_other_commands() {
        if !is_client_there() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let path = |name: &str| folder.join(name).display().to_string();
        capture(
            folder,
            &["--workload", "random", "--ops", "30", "--seed", "7", "-o", "random.kprof"],
        );
        capture(
            folder,
            &["--workload", "multi-op-overflow", "--op-support-count", "50", "-o", "lost.kprof"],
        );
        capture(folder, &["--ops", "2", "--enable-sum-profiling", "-o", "twice.kprof"]);
        capture(folder, &["--ops", "3", "--seed", "2", "-o", "twice.kprof", "--append"]);
        let before = files(folder);
        compare_run(folder, &path("random.kprof"), 1);
        compare_run(folder, &path("lost.kprof"), 1);
        compare_run(folder, &path("twice.kprof"), 1);
        compare_run(folder, &path("twice.kprof"), 2);
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
                let [start, end] =
                    ["start_cycle", "end_cycle"].map(|key| step[key].as_u64().unwrap());
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
        ];
        let found = call_all("legacy", &[&path], &calls);
        let answers: Vec<Answer> =
            calls.iter().zip(array(&found["answers"])).map(|(call, of)| joined(call, of)).collect();
        let rows = rows_of_csv(perf);
        assert!(rows.len() > 300 && answers[0].page_count > 5);
        assert_rows(&answers[0], rows.clone(), "rows");
        assert_rows(&answers[1], findings_of(explained, &[json!("")]), "findings");
        assert_rows(&answers[2], devices_of(explained), "devices");
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
    fn filters_take_the_rows_that_report_takes() {
        if !is_client_there() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        capture(
            folder,
            &["--workload", "random", "--ops", "20", "--devices", "2", "-o", "a.kprof"],
        );
        let whole = &json_lines(folder, &["report", "a.kprof", "--json", "--rows", "0"])[0];
        let path = folder.join("a.kprof").display().to_string();
        let calls = [
            json!(["ops", { "filter": "device=1,op=3..9" }]),
            json!(["zones", { "filter": "device=0,risc=trisc*,zone!=*-FW", "sort": "count" }]),
        ];
        let found = call_all("auto", &[&path], &calls);
        let ops = ops_of(whole)
            .into_iter()
            .filter(|op| op["chip_id"] == 1 && (3..=9).contains(&op["program"].as_u64().unwrap()));
        let ops: Vec<Value> = ops.collect();
        assert!(!ops.is_empty());
        assert_rows(&joined(&calls[0], &found["answers"][0]), ops, "ops");
        let mut zones: Vec<Value> = zones_of(whole, "zones");
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
            let only = array(&apart[key]["only_here"]).iter().map(|item| {
                json!({ "kind": item[0], "place": item[1], "name": item[2], "source": item[3] })
            });
            assert_rows(answer, only.collect(), key);
        }
    }

    #[test]
    fn recordings_are_listed_and_a_handle_stays_with_its_recording() {
        if !is_client_there() {
            return;
        }
        let csv = repository("tests/captures/tt-perf-report/bh_p100_dlv3.csv");
        let log = repository("tests/captures/mesham-tt-sim/wormhole-noc-256");
        // The handle of the second call is h3: each answer could have one.
        let mut calls = vec![
            json!(["load", { "path": csv }]),
            json!(["ops", {}]),
            json!(["load", { "path": log }]),
            json!(["more", { "handle": "h2" }]),
            json!(["recordings", {}]),
        ];
        let found = call_all("legacy", &[], &calls);
        let all = joined(&calls[1], &found["answers"][1]);
        let first: Value =
            serde_json::from_str(found["answers"][1]["pages"][0].as_str().unwrap()).unwrap();
        assert_eq!(first["more"], "h2");
        // From the second page on, with all that follow it.
        let again = &found["answers"][3]["pages"];
        let page: Value = serde_json::from_str(again[0].as_str().unwrap()).unwrap();
        assert_eq!(
            (&page["recording"], &page["from"]),
            (&json!("r1"), &json!(array(&first["rows"]).len()))
        );
        assert_eq!(page["row_count"], all.rows.len());
        let listed = joined(&calls[4], &found["answers"][4]);
        let names: Vec<&Value> = listed.rows.iter().map(|row| &row["recording"]).collect();
        assert_eq!(names, ["r1", "r2"]);
        assert_eq!((&listed.rows[0]["path"], &listed.rows[1]["path"]), (&json!(csv), &json!(log)));
        assert_eq!(listed.rows[0]["lost_records"], Value::Null);

        calls = (0..9).map(|_| json!(["load", { "path": log }])).collect();
        calls.extend([json!(["recordings", {}]), json!(["ops", { "recording": "r1" }])]);
        let found = call_all("legacy", &[], &calls);
        let kept = joined(&calls[9], &found["answers"][9]);
        assert_eq!((kept.rows.len(), &kept.rows[0]["recording"]), (8, &json!("r2")));
        let gone = error_of(&found["answers"][10]);
        assert_eq!(
            gone,
            "expected one of the loaded recordings r2, r3, r4, r5, r6, r7, r8, r9, found `r1`; load a \
             path first"
        );
    }

    #[test]
    fn what_cannot_be_answered_is_one_sentence_and_the_server_lives_on() {
        if !is_client_there() {
            return;
        }
        let csv = repository("tests/captures/tt-perf-report/bh_p100_dlv3.csv");
        let log = repository("tests/captures/mesham-tt-sim/wormhole-noc-256");
        let huge = "\u{1}x".repeat(300_000);
        let wrong = [
            (json!(["ops", {}]), "expected a loaded recording, found none"),
            (json!(["load", {}]), "missing field `path`"),
            (json!(["load", { "path": 7 }]), "invalid type"),
            (json!(["load", { "path": "nowhere.csv" }]), "nowhere.csv, found nothing there"),
            (json!(["load", { "path": "-" }]), "expected the path of a file or folder, found `-`"),
            (json!(["load", { "path": "/dev/stdin" }]), "which is neither"),
            (json!(["load", { "path": "/dev/zero" }]), "which is neither"),
            (json!(["load", { "path": repository("cli/src") }]), "expected profile_log_device.csv"),
            (json!(["load", { "path": repository("README.md") }]), "expected"),
            (json!(["load", { "path": huge }]), "expected"),
            (json!(["load", { "path": "a\u{0}b" }]), "expected"),
            (json!(["load", { "path": log }]), ""),
            (json!(["ops", { "colour": 1 }]), "unknown field `colour`"),
            (json!(["ops", { "recording": "r9" }]), "loaded recordings r1, found `r9`"),
            (json!(["ops", { "recording": huge }]), "loaded recordings r1, found"),
            (json!(["ops", { "run": 0 }]), "found 0; give run from 1 to 1"),
            (json!(["ops", { "run": 2 }]), "found 2; give run from 1 to 1"),
            (json!(["ops", { "run": -1 }]), "invalid value"),
            (json!(["ops", { "run": 1.5 }]), "invalid type"),
            (json!(["ops", { "sort": "size" }]), "one of chip_id, program, launch"),
            (json!(["ops", { "order": "sideways" }]), "unknown variant `sideways`"),
            (json!(["ops", { "filter": "size=3" }]), "filter `size=3`: expected"),
            (json!(["ops", { "filter": "zone=a" }]), "terms of device, op, found zone"),
            (json!(["zones", { "filter": "core=1-1" }]), "terms of device, risc, zone, found core"),
            (json!(["ops", { "filter": huge }]), "at most 400 bytes, found 600000"),
            (json!(["ops", { "filter": "\u{1}\"".repeat(200) }]), "expected KEY=VALUE"),
            (json!(["explain", { "part": "all" }]), "unknown variant `all`"),
            (json!(["critical_path", { "program": 4_000_000_000_u32 }]), "ops lists them"),
            (json!(["losses", []]), ""),
            (json!(["diff", { "a": "r1" }]), "missing field `b`"),
            (json!(["diff", { "a": "r1", "b": "r2" }]), "found `r2`"),
            (json!(["diff", { "a": "r1", "b": "r1", "confidence": 100 }]), "between 0 and 100"),
            (json!(["more", { "handle": "h18446744073709551616" }]), "expected a handle"),
            (json!(["more", { "handle": huge }]), "expected a handle"),
            (json!(["rows", {}]), "expected one of the tools load, recordings, ops"),
            (json!(["load", { "path": csv }]), ""),
        ];
        // The client refuses arguments that are no object by itself.
        let wrong: Vec<_> = wrong.into_iter().filter(|(call, _)| call[1].is_object()).collect();
        let calls: Vec<Value> = wrong.iter().map(|(call, _)| call.clone()).collect();
        let found = call_all("legacy", &[], &calls);
        for ((call, expected), answer) in wrong.iter().zip(array(&found["answers"])) {
            let call: String = call.to_string().chars().take(200).collect();
            if expected.is_empty() {
                assert_eq!(answer["is_error"], false, "{call}: {answer}");
                continue;
            }
            let sentence = match answer["protocol_error"].as_str() {
                Some(error) => error.to_owned(),
                None => error_of(answer),
            };
            assert!(sentence.contains(expected), "{call}: {sentence}");
            assert!(
                !sentence.contains('\n') && sentence.contains("expected"),
                "{call}: {sentence}"
            );
        }
    }

    #[test]
    fn tools_describe_their_arguments_and_only_read() {
        if !is_client_there() {
            return;
        }
        let found = call_all("auto", &[], &[]);
        assert_eq!(found["server"], "kprof");
        let page = std::fs::read_to_string(repository("docs/mcp.md")).unwrap();
        let mut names = Vec::new();
        for tool in array(&found["tools"]) {
            let name = tool["name"].as_str().unwrap();
            names.push(name);
            assert!(page.contains(&format!("## `{name}`")), "{name} is not in docs/mcp.md");
            assert_eq!(tool["annotations"]["readOnlyHint"], true, "{name}");
            assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
            for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
                assert!(schema["description"].is_string(), "{name}: {argument}");
                assert!(
                    page.contains(&format!("`{argument}`")),
                    "{argument} is not in docs/mcp.md"
                );
            }
        }
        let expected = [
            "load",
            "recordings",
            "ops",
            "zones",
            "explain",
            "critical_path",
            "losses",
            "diff",
            "more",
        ];
        assert_eq!(names, expected);
    }

    /// Lines to a server, and the lines that it answers with until it ends.
    fn conversation(lines: &[&str]) -> (Vec<Value>, Option<i32>) {
        let mut server = Command::new(env!("CARGO_BIN_EXE_kprof"))
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = server.stdin.take().unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        for line in lines {
            writeln!(input, "{line}").unwrap();
        }
        let mut answers = Vec::new();
        for line in output.lines() {
            let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let is_last = answer["id"] == 99;
            answers.push(answer);
            if is_last {
                break;
            }
        }
        drop(input);
        (answers, server.wait().unwrap().code())
    }

    #[test]
    fn damaged_lines_do_not_end_the_server() {
        let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}"#;
        let (answers, code) = conversation(&[
            hello,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            "not json",
            "{}",
            "[1,2]",
            "\u{0}\u{1}",
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ops","arguments":[]}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":4,"method":"nonsense"}"#,
            r#"{"jsonrpc":"2.0","id":99,"method":"tools/list"}"#,
        ]);
        let last = answers.iter().find(|answer| answer["id"] == 99).unwrap();
        assert_eq!(array(&last["result"]["tools"]).len(), 9);
        assert_eq!(code, Some(0));
    }

    #[test]
    fn nobody_on_standard_input_is_one_sentence() {
        let output = Command::new(env!("CARGO_BIN_EXE_kprof"))
            .arg("mcp")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{errors}");
        assert!(errors.starts_with("kprof: expected a client of the Model Context Protocol"));
        assert_eq!(errors.lines().count(), 1, "{errors}");
        let refused = Command::new(env!("CARGO_BIN_EXE_kprof")).args(["mcp", "nowhere"]).output();
        let refused = refused.unwrap();
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("at nowhere, found nothing"));
    }
}
