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
    // A kernel does not take longer than the firmware around it.
    let start = titles.iter().position(|title| title == "DEVICE FW START CYCLE").unwrap();
    let path = folder.join("ops.csv");
    let mut writer = csv::Writer::from_path(&path).unwrap();
    writer.write_record(&titles).unwrap();
    for record in reader.records() {
        let mut cells: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
        if cells[0] == op_code {
            cells[at] = (cells[at].parse::<f64>().unwrap() * factor).to_string();
            cells[start].clear();
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
    // The rows of the op that was left out, as another reader adds them up.
    let mut reader = csv::Reader::from_path(capture(OPS)).unwrap();
    let titles = reader.headers().unwrap().clone();
    let at = titles.iter().position(|title| title == "DEVICE KERNEL DURATION [ns]").unwrap();
    let rows = reader.records().map(Result::unwrap);
    let softmax = rows.filter(|row| &row[0] == "SoftmaxDeviceOperation");
    let softmax_ns: f64 = softmax.map(|row| row[at].parse::<f64>().unwrap()).sum();
    let alone = json(&capture(OPS), &path, &[])["in_a"].clone();
    let found = alone["alone_ns"].as_f64().unwrap() * alone["iteration_count"].as_f64().unwrap();
    assert!((found / softmax_ns - 1.0).abs() < 1e-9, "{found} instead of {softmax_ns}");
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
        .filter(|item| item["kind"] == "zone")
        .map(|item| item["name"].as_str().unwrap())
        .collect();
    assert!(!zones.is_empty(), "{other}");
}

/// The matmuls of a language model with weights interleaved or sharded over the DRAM banks: a public
/// comparison, made on a Wormhole.
const INTERLEAVED: &str = "tt-mlir/matmuls_falcon3_1b_interleaved.csv";
const SHARDED: &str = "tt-mlir/matmuls_falcon3_1b_dram_sharded.csv";

/// Returns the sum of kernel durations by the width of the second input and the first side of it.
fn sums(sample: &str) -> std::collections::BTreeMap<(String, String), f64> {
    let mut reader = csv::Reader::from_path(capture(sample)).unwrap();
    let titles = reader.headers().unwrap().clone();
    let column = |title: &str| titles.iter().position(|known| known == title).unwrap();
    let [rows, columns] = ["INPUT_1_Y_PAD[LOGICAL]", "INPUT_1_X_PAD[LOGICAL]"].map(&column);
    let duration = column("DEVICE KERNEL DURATION [ns]");
    let mut sums = std::collections::BTreeMap::new();
    for row in reader.records().map(Result::unwrap) {
        let side = |at: usize| row[at].split('[').next().unwrap().to_owned();
        let sum: &mut f64 = sums.entry((side(rows), side(columns))).or_default();
        *sum += row[duration].parse::<f64>().unwrap();
    }
    sums
}

#[test]
fn matmuls_with_other_memory_fidelity_and_config_are_compared_by_shape() {
    let (a, b) = (capture(INTERLEAVED), capture(SHARDED));
    let report = json(&a, &b, &[]);
    let (before, after) = (sums(INTERLEAVED), sums(SHARDED));
    let groups = report["groups"].as_array().unwrap();
    assert_eq!(groups.len(), before.len());
    for ((rows, columns), sum) in &before {
        let shape = format!(" {rows}x{columns} ");
        let is_of = |group: &&serde_json::Value| group["shapes"].as_str().unwrap().contains(&shape);
        let group = groups.iter().find(is_of).unwrap_or_else(|| panic!("{shape} in {report}"));
        let expected = after[&(rows.clone(), columns.clone())] / sum;
        let ratio = group["ratio"].as_f64().unwrap();
        assert!((ratio / expected - 1.0).abs() < 1e-9, "{ratio} instead of {expected}");
    }
    // Published with the figures.
    for (shape, published) in
        [(" 2048x2048 ", 1.120), (" 8192x2048 ", 1.046), (" 2048x4096 ", 0.961)]
    {
        let is_of = |group: &&serde_json::Value| group["shapes"].as_str().unwrap().contains(shape);
        let ratio = groups.iter().find(is_of).unwrap()["ratio"].as_f64().unwrap();
        assert!((ratio - published).abs() < 0.0005, "{shape} {ratio}");
    }
    for side in ["in_a", "in_b"] {
        let side = &report[side];
        assert_eq!(side["compared_ns"], side["total_ns"], "{side}");
        assert_eq!(side["op_count"], 91);
    }
    let aspects = |change: &serde_json::Value| -> Vec<String> {
        let differences = change["differences"].as_array().unwrap().iter();
        let mut aspects: Vec<_> =
            differences.map(|found| found["aspect"].as_str().unwrap().to_owned()).collect();
        aspects.dedup();
        aspects
    };
    let changes = report["changes"].as_array().unwrap();
    let layers = changes.iter().filter(|change| change["pair_count"] != 1);
    assert!(layers.clone().count() == 4);
    for change in layers {
        assert_eq!(aspects(change), ["memory", "fidelity", "program_config"], "{change}");
    }
}

#[test]
fn the_order_of_rows_does_not_hide_ops() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ops.csv");
    let text = std::fs::read_to_string(capture(SHARDED)).unwrap();
    let (titles, rows) = text.split_once('\n').unwrap();
    let mut rows: Vec<&str> = rows.lines().collect();
    rows.reverse();
    std::fs::write(&path, format!("{titles}\n{}\n", rows.join("\n"))).unwrap();
    let report = json(&capture(INTERLEAVED), &path, &[]);
    assert_eq!(report["in_a"]["compared_ns"], report["in_a"]["total_ns"]);
    assert!(report["changes"].as_array().unwrap().iter().any(|change| change["is_moved"] == true));
}

/// First lines of a device log.
const TITLES_OF_LOG: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
    PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, \
    trace id, trace id counter, zone name, type, source line, source file, meta data\n";

/// A device log with a short and a long zone in each of 30 launches.
fn log_of_zones(path: &Path, short_cycles: u64, long_cycles: u64) {
    let mut log = TITLES_OF_LOG.to_owned();
    let mut now = 1_000_000;
    for launch in 1..=30_u64 {
        let mut mark = |id: u64, zone: &str, kind: &str, at: u64| {
            log += &format!(
                "0,1,1,TRISC_1,{id},{at},0,{},,,{zone},{kind},{id},k.cpp,\n",
                launch * 1024
            );
        };
        // A cycle more in every third launch, so that there is a variation.
        let (short, long) = (short_cycles + launch % 3, long_cycles + launch % 3);
        let end = now + 40 + short + long;
        mark(1, "TRISC-FW", "ZONE_START", now);
        mark(2, "TRISC-KERNEL", "ZONE_START", now);
        mark(10, "UNPACK_SHORT", "ZONE_START", now + 10);
        mark(10, "UNPACK_SHORT", "ZONE_END", now + 10 + short);
        mark(11, "MATH_LONG", "ZONE_START", now + 20 + short);
        mark(11, "MATH_LONG", "ZONE_END", now + 20 + short + long);
        mark(2, "TRISC-KERNEL", "ZONE_END", end);
        mark(1, "TRISC-FW", "ZONE_END", end);
        now = end + 1000;
    }
    std::fs::write(path, log).unwrap();
}

#[test]
fn a_gate_of_two_conditions_spares_short_zones_and_a_band_finds_fast_ones() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str, short: u64, long: u64| {
        let path = folder.path().join(name);
        log_of_zones(&path, short, long);
        path
    };
    let a = log("a.csv", 200, 5000);
    let (b, c) = (log("b.csv", 212, 5050), log("c.csv", 200, 4400));
    let code = |other: &Path, args: &[&str]| diff(&a, other, args).status.code().unwrap();
    // 12 of 200 cycles are 6 %, and 50 of 5,000 are 1 %.
    assert_eq!(code(&b, &["--fail-above", "5"]), 1);
    assert_eq!(code(&b, &["--fail-above", "5", "--and-cycles", "30"]), 0);
    assert_eq!(code(&b, &["--fail-above", "5", "--and-cycles", "11"]), 1);
    assert_eq!(code(&b, &["--fail-above", "0.5", "--and-cycles", "30"]), 1);
    // 600 of 5,000 cycles less.
    assert_eq!(code(&c, &["--fail-above", "5"]), 0);
    assert_eq!(code(&c, &["--fail-above", "5", "--fail-below", "5", "--and-cycles", "30"]), 1);
    assert_eq!(code(&c, &["--fail-below", "13"]), 0);
    let refused = diff(&a, &b, &["--and-cycles", "30"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
}

/// A device log with `launches` of a reader: a number of zones of as many cycles each. Without kernel zones, nobody
/// knows how long a launch takes. The last zone of the launch `open` has no end.
fn log_of_reads(path: &Path, (count, cycles): (u64, u64), has_kernels: bool, open: Option<u64>) {
    let mut log = TITLES_OF_LOG.to_owned();
    let mut now = 1_000_000;
    for launch in 1..=4_u64 {
        let mut mark = |id: u64, zone: &str, kind: &str, at: u64| {
            log += &format!(
                "0,1,1,NCRISC,{id},{at},0,{},,,{zone},{kind},{id},r.cpp,\n",
                launch * 1024
            );
        };
        if has_kernels {
            mark(1, "NCRISC-FW", "ZONE_START", now);
            mark(2, "NCRISC-KERNEL", "ZONE_START", now);
        }
        for zone in 1..=count {
            mark(10, "READ", "ZONE_START", now + 10);
            // A cycle more in every other launch, so that there is a variation.
            now += 10 + cycles + launch % 2;
            if open != Some(launch) || zone < count {
                mark(10, "READ", "ZONE_END", now);
            }
        }
        if has_kernels {
            mark(2, "NCRISC-KERNEL", "ZONE_END", now + 10);
            mark(1, "NCRISC-FW", "ZONE_END", now + 20);
        }
        now += 1000;
    }
    std::fs::write(path, log).unwrap();
}

/// By hand: 64 zones of 420 cycles are 26,880 in a run, 8 of 2,400 are 19,200: 0.71 times as many, though a zone takes
/// 5.7 times as long.
#[test]
fn a_zone_that_runs_less_often_is_compared_by_its_sum_in_a_kernel_run() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str, zones: (u64, u64), open: Option<u64>| {
        let path = folder.path().join(name);
        log_of_reads(&path, zones, true, open);
        path
    };
    let (often, rarely) = (log("a", (64, 420), None), log("b", (8, 2400), None));
    let told = |a: &Path, b: &Path| {
        let output = diff(a, b, &["--fail-above", "5"]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let read = |text: &str| {
        let row = text.lines().find(|line| line.contains(" READ ")).unwrap().to_owned();
        row.split_whitespace().map(str::to_owned).collect::<Vec<String>>()
    };
    let (code, text) = told(&often, &rarely);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(read(&text)[6..8], ["64", "8"], "{text}");
    assert!(read(&text)[12].starts_with("0.71"), "{text}");
    assert!(text.contains(
        "With zones A and zones B, their numbers in a kernel run, they are sums over a run"
    ));
    let (code, text) = told(&rarely, &often);
    assert_eq!(code, Some(1), "{text}");
    assert!(read(&text)[12].starts_with("1.40"), "{text}");
    assert!(read(&text).contains(&"slower".to_owned()), "{text}");
    let change = &json(&often, &rarely, &[])["changes"];
    let change = change.as_array().unwrap().iter().find(|change| change["name"] == "READ").unwrap();
    assert_eq!(change["zones_per_run"], serde_json::json!([64.0, 8.0]));
    // As many zones have no such columns.
    let (code, text) = told(&often, &log("c", (64, 460), None));
    assert!(!text.contains("zones A") && code == Some(1), "{text}");
    // The sum over a hole is unknown, so the mean decides.
    let (_, text) = told(&often, &log("d", (8, 2400), Some(3)));
    assert!(!text.contains("zones A") && read(&text).contains(&"slower".to_owned()), "{text}");
}

/// By hand: eight zones of 300 or 330 cycles in each of four launches, and one cycle more in two of them.
#[test]
fn of_logs_without_kernel_zones_the_first_lines_tell_what_zones_take() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str, cycles: u64| {
        let path = folder.path().join(name);
        log_of_reads(&path, (8, cycles), false, None);
        path
    };
    let (a, b) = (log("a", 300), log("b", 330));
    let told = |a: &Path, b: &Path| {
        let output = diff(a, b, &["--fail-above", "5"]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = told(&a, &b);
    let first = "Total: no op has a duration (4 launches in A, 4 launches in B), so zones alone are compared: 1 in \
                 both, 0 only in A, 0 only in B\n\
                 Zones in a kernel run, nested ones once: device 0 NCRISC A 2.404 us, B 2.644 us, +10.0 %\n\
                 Compared: 100.0 % of the time of A's zones, 100.0 % of B's\n";
    assert!(text.starts_with(first), "{text}");
    assert_eq!((code, told(&b, &a).0), (Some(1), Some(0)));
    assert!(told(&a, &a).1.contains("device 0 NCRISC A 2.404 us, B 2.404 us, +0.0 %\n"));
}

#[test]
fn junit_has_a_test_for_each_change_and_for_what_was_compared_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.csv", "b.csv", "gate.xml"].map(|name| folder.path().join(name));
    let [a, b, xml] = &paths;
    log_of_zones(a, 200, 5000);
    log_of_zones(b, 260, 5000);
    let xml_text = xml.to_str().unwrap();
    let output = diff(a, b, &["--fail-above", "5", "--junit", xml_text]);
    assert_eq!(output.status.code(), Some(1));
    let written = std::fs::read_to_string(xml).unwrap();
    let report = json(a, b, &["--fail-above", "5"]);
    let changes = report["changes"].as_array().unwrap();
    assert_eq!(written.matches("<testcase ").count(), changes.len() + 4, "{written}");
    assert_eq!(written.matches("<failure ").count(), 1, "{written}");
    let failed = written.split("<testcase ").find(|test| test.contains("<failure ")).unwrap();
    assert!(failed.contains("name=\"zone UNPACK_SHORT k.cpp:10\""), "{failed}");
    assert!(failed.contains("slower by 29."), "{failed}");
    assert!(written.contains("tests=\"") && written.contains("failures=\"1\""), "{written}");
}

/// Writes an ops CSV with an op in each row: name, attributes and duration.
fn ops_csv(path: &Path, rows: &[(&str, &str, &str)]) {
    let mut text = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,ATTRIBUTES,\
                    DEVICE KERNEL DURATION [ns],INPUT_0_W,INPUT_0_Z,INPUT_0_Y,INPUT_0_X,\
                    INPUT_0_DATATYPE\n"
        .to_owned();
    for (call, (name, attributes, duration)) in rows.iter().enumerate() {
        text +=
            &format!("{name},tt_dnn_device,{call},0,{attributes},{duration},1,1,32,32,BFLOAT16\n");
    }
    std::fs::write(path, text).unwrap();
}

/// A gate of changes alone would pass, though B takes a fifth longer or lacks what A has.
#[test]
fn ops_that_only_one_side_has_fail_a_gate() {
    let folder = tempfile::tempdir().unwrap();
    let [plain, more] = ["plain.csv", "more.csv"].map(|name| folder.path().join(name));
    let rows = [("Matmul", "{}", "90000"), ("Softmax", "{}", "10000")];
    ops_csv(&plain, &rows);
    ops_csv(&more, &[rows[0], ("Reshard", "{}", "20000"), rows[1]]);
    let code = |a: &Path, b: &Path, args: &[&str]| diff(a, b, args).status.code().unwrap();
    assert_eq!(code(&plain, &more, &["--fail-above", "19.9"]), 1);
    assert_eq!(code(&plain, &more, &["--fail-above", "20"]), 0);
    assert_eq!(code(&plain, &more, &["--fail-below", "5"]), 0);
    assert_eq!(code(&more, &plain, &["--fail-above", "5"]), 0);
    // 20 of 120 us.
    assert_eq!(code(&more, &plain, &["--fail-below", "16.6"]), 1);
    assert_eq!(code(&more, &plain, &["--fail-below", "16.7"]), 0);
    let gate = ["--fail-above", "5"];
    let shown = String::from_utf8(diff(&plain, &more, &gate).stdout).unwrap();
    let wanted = "Ops that only A has take 0.000 us, ops that only B has take 20.000 us: they change \
                  A's time by +20.0 %";
    assert!(shown.contains(wanted), "{shown}");
    assert_eq!(json(&plain, &more, &gate)["unpaired_finding"], wanted);
    assert!(json(&plain, &more, &["--fail-above", "20"])["unpaired_finding"].is_null());
}

#[test]
fn ops_without_a_duration_fail_a_gate_and_are_no_change() {
    let folder = tempfile::tempdir().unwrap();
    let [all, one, five] = ["all.csv", "one.csv", "five.csv"].map(|name| folder.path().join(name));
    let write = |path: &Path, timed_count: usize| {
        let rows: Vec<_> = (0..10)
            .map(|at| {
                let duration = if at < timed_count { "4000" } else { "" };
                ("Softmax", "{}", duration)
            })
            .chain([("Matmul", "{}", "90000")])
            .collect();
        ops_csv(path, &rows);
    };
    for (path, timed_count) in [(&all, 10), (&one, 1), (&five, 5)] {
        write(path, timed_count);
    }
    // Nearly all of the time is compared, and most ops are not.
    let output = diff(&all, &one, &["--fail-above", "5"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for wanted in [
        "Total: A 130.000 us in 11 ops; B 94.000 us in 2 of 11 ops; change unknown, as the durations \
         of 9 ops of B are missing; 2 compared ops: +0.000 us (+0.0 %)\n",
        "Compared: 72.3 % of A's known time, that of 11 of 11 ops; 100.0 % of B's, that of 2 of 11 ops\n",
        "Too little was compared: 0 of A's 11 ops and 9 of B's 11 have no duration, and a gate needs \
         one of 50 % of each\n",
    ] {
        assert!(shown.contains(wanted), "{wanted} in\n{shown}");
    }
    assert_eq!(diff(&one, &one, &["--fail-above", "5"]).status.code(), Some(1));
    assert_eq!(diff(&one, &one, &[]).status.code(), Some(0));
    // 5 of 11 ops without a duration are fewer than half.
    assert_eq!(diff(&all, &five, &["--fail-above", "5"]).status.code(), Some(0));
    let xml = folder.path().join("gate.xml");
    diff(&one, &one, &["--fail-above", "5", "--junit", xml.to_str().unwrap()]);
    let written = std::fs::read_to_string(xml).unwrap();
    assert!(
        written.contains("failures=\"1\"") && written.contains("9 of A&apos;s 11 ops"),
        "{written}"
    );
    let report = json(&all, &one, &[]);
    assert!(report["total_change_ns"].is_null() && report["compared_change_ns"] == 0.0, "{report}");
    let launches = serde_json::json!({"launch_count": 11, "untimed_count": 9});
    assert_eq!(report["in_b"]["launches"], launches);
}

#[test]
fn rows_of_one_name_and_source_are_told_apart_and_the_first_iteration_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
    for (path, factor) in paths.iter().zip([1, 2]) {
        let of_iteration = |iteration: u32| {
            let warm_up = if iteration == 0 { 500 } else { 0 };
            [("TopK", 32, 1000), ("Softmax", 1, 2000), ("TopK", 64, 3000)].map(|(name, k, ns)| {
                let ns = (ns + warm_up + iteration) * factor;
                (name, format!("{{'k': '{k}'; 'dim': '-1'}}"), ns.to_string())
            })
        };
        let rows: Vec<_> = (0..4).flat_map(of_iteration).collect();
        let rows: Vec<_> =
            rows.iter().map(|(name, attributes, ns)| (*name, &**attributes, &**ns)).collect();
        ops_csv(path, &rows);
    }
    let [a, b] = &paths;
    let shown = String::from_utf8(diff(a, b, &[]).stdout).unwrap();
    for wanted in ["  k 32  ", "  k 64  ", "A ns and B ns are geometric means of n A and of n B"] {
        assert_eq!(shown.matches(wanted).count(), 1, "{wanted} in\n{shown}");
    }
    // 1500 + 2500 + 3500 ns, and the mean of 6003, 6006 and 6009 ns.
    let first = "its ops take in A 7.500 us, and 6.006 us in the mean of the others; in B 15.000 us, \
                 and 12.012 us in the mean of the others\n";
    assert!(shown.contains(first), "{shown}");
    let by = String::from_utf8(diff(a, b, &["--by", "attributes"]).stdout).unwrap();
    assert!(by.contains("per iteration, arithmetic means of all iterations\n"), "{by}");
}

#[test]
fn a_gate_never_passes_on_what_was_not_compared() {
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("other.csv");
    let text = std::fs::read_to_string(capture(SHARDED)).unwrap();
    let renamed = text.replace("MatmulDeviceOperation", "AnotherDeviceOperation");
    std::fs::write(&other, &renamed).unwrap();
    let output = diff(&capture(INTERLEAVED), &other, &["--fail-above", "5"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("Compared: 100.0 % of A's time"), "by their shapes: {shown}");
    assert!(shown.contains("AnotherDeviceOperation"), "and under which name: {shown}");
    // With one op less, the shapes do not tell that it is the same op.
    let (without_last, _) = renamed.trim_end().rsplit_once('\n').unwrap();
    std::fs::write(&other, without_last).unwrap();
    let output = diff(&capture(INTERLEAVED), &other, &["--fail-above", "5"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("Too little was compared: no op was compared"), "{shown}");
    assert_eq!(diff(&capture(INTERLEAVED), &other, &[]).status.code(), Some(0));
    // A quarter of the matmuls under their own name.
    let part: String = text
        .lines()
        .enumerate()
        .map(|(line, row)| match line % 4 {
            0 => format!("{row}\n"),
            _ => format!("{}\n", row.replace("MatmulDeviceOperation", "AnotherDeviceOperation")),
        })
        .collect();
    std::fs::write(&other, part).unwrap();
    let output = diff(&capture(INTERLEAVED), &other, &["--fail-above", "50"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("Too little was compared: only "), "{shown}");
}

/// A model that marks its end with a signpost, after which one op follows. Its first op became slower.
#[test]
fn a_gate_compares_all_rows_whatever_signposts_a_file_ends_with() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("a.csv", "50000"), ("b.csv", "100000")].map(|(name, first)| {
        let path = folder.path().join(name);
        let text = format!(
            "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n\
             GridSample,tt_dnn_device,0,{first},100\nSoftmax,tt_dnn_device,0,2000,100\n\
             finished,signpost,,,\nCopy,tt_dnn_device,0,1000,100\n"
        );
        std::fs::write(&path, text).unwrap();
        path
    });
    let [a, b] = &files;
    let slower = diff(a, b, &["--fail-above", "5"]);
    let shown = String::from_utf8(slower.stdout).unwrap();
    assert_eq!(slower.status.code(), Some(1), "{shown}");
    assert!(
        shown.contains("A 53.000 us in 3 ops") && shown.contains("B 103.000 us in 3 ops"),
        "{shown}"
    );
    // The part behind the signpost is compared if it is asked for, and the output says so.
    let part = diff(a, b, &["--fail-above", "5", "--start-signpost", "finished"]);
    let said = String::from_utf8(part.stderr).unwrap();
    assert_eq!(part.status.code(), Some(0), "{said}");
    let window =
        "rows after the signpost `finished`: 1 of 3 device ops, 1.9 % of the kernels' time";
    assert!(said.contains(window), "{said}");
    let log = diff(&capture(LOG), &capture(LOG), &["--end-signpost", "finished"]);
    assert_eq!(log.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&log.stderr).contains("are for ops CSVs"));
}

/// Two ops of 100 us, one after the other and side by side on two sub-devices: the sum does not change.
#[test]
fn ops_that_begin_to_run_side_by_side_are_told_by_the_elapsed_time() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("a.csv", 101_700), ("b.csv", 0)].map(|(name, start)| {
        let path = folder.path().join(name);
        let mut text = "OP CODE,OP TYPE,DEVICE ID,SUB DEVICE ID,CORE COUNT,AVAILABLE WORKER CORE COUNT,\
            DEVICE KERNEL DURATION [ns],DEVICE FW DURATION [ns],DEVICE FW START CYCLE,DEVICE FW END CYCLE\n"
            .to_owned();
        for (sub_device, start) in [(0, 0), (1, start)] {
            let [from, to] = [start, start + 100_700].map(|cycle| cycle + 5_000_000);
            text += &format!("Matmul,tt_dnn_device,0,{sub_device},8,32,100000,100700,{from},{to}\n");
        }
        std::fs::write(&path, text).unwrap();
        path
    });
    let [a, b] = &files;
    let shown = String::from_utf8(diff(a, b, &[]).stdout).unwrap();
    assert!(
        shown.contains("A 200.000 us in 2 ops; B 200.000 us in 2 ops; change +0.000 us"),
        "{shown}"
    );
    let elapsed = "count once: A 202.400 us; B 100.700 us, 2 of 2 ops side by side; -50.2 %\n";
    assert!(shown.contains(elapsed), "{shown}");
    let sides = json(a, b, &[]);
    assert_eq!(sides["in_b"]["gaps"]["side_by_side_op_count"], 2);
    assert_eq!(sides["in_a"]["gaps"]["elapsed_ns"], 202_400.0);
    // Nothing of it where no op ran beside another.
    let shown = String::from_utf8(diff(a, a, &[]).stdout).unwrap();
    assert!(!shown.contains("first start"), "{shown}");
    assert_overlap_gate([a, b], "100.700 us, 2 of 2 ops side by side", ["98.5", "98.7"]);
    // Another number of ops: the overlap is compared with nothing, which the gate says.
    let more = folder.path().join("more.csv");
    let row = "Softmax,tt_dnn_device,0,0,8,32,1000,1700,5210000,5211700\n";
    std::fs::write(&more, std::fs::read_to_string(a).unwrap() + row).unwrap();
    let shown = String::from_utf8(diff(b, &more, &["--fail-above", "5"]).stdout).unwrap();
    assert!(shown.contains("The time that ops share is in no limit: A and B have"), "{shown}");
}

/// Asserts that a gate fails where the ops of the second file, which ran side by side, run one after the other, and
/// between which limits it does.
fn assert_overlap_gate([serial, shared]: [&Path; 2], side: &str, [below, above]: [&str; 2]) {
    let code = |a: &Path, b: &Path, args: &[&str]| diff(a, b, args).status.code();
    assert_eq!(code(shared, serial, &["--fail-above", below]), Some(1));
    assert_eq!(code(shared, serial, &["--fail-above", above]), Some(0));
    assert_eq!(code(serial, shared, &["--fail-above", "5"]), Some(0));
    assert_eq!(code(serial, shared, &["--fail-below", "5"]), Some(1));
    for file in [serial, shared] {
        assert_eq!(code(file, file, &["--fail-above", "5", "--fail-below", "5"]), Some(0));
    }
    let gate = ["--fail-above", "5"];
    let shown = String::from_utf8(diff(shared, serial, &gate).stdout).unwrap();
    let wanted = format!(
        "The ops of B are slower. Time in which any op runs: A {side}; B 200.000 us, 0 of 2 ops side by side; "
    );
    assert!(shown.contains(&wanted), "{shown}");
    let finding = json(shared, serial, &gate)["overlap_finding"].as_str().unwrap().to_owned();
    assert!(shown.contains(&finding), "{finding}");
    assert!(json(serial, shared, &gate)["overlap_finding"].is_null());
}

/// The same of device logs: each program on a core of its own.
#[test]
fn programs_of_a_log_that_no_longer_run_side_by_side_fail_a_gate() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("a.csv", 101_700), ("b.csv", 0)].map(|(name, second)| {
        let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
            PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, \
            trace id, trace id counter, zone name, type, source line, source file, meta data\n"
            .to_owned();
        for (core, start) in [(1, 5_000_000), (2, 5_000_000 + second)] {
            let program = core << 10;
            for (cycle, id, zone, kind) in [
                (start, 1, "BRISC-FW", "ZONE_START"),
                (start + 100, 2, "BRISC-KERNEL", "ZONE_START"),
                (start + 100_100, 2, "BRISC-KERNEL", "ZONE_END"),
                (start + 100_200, 1, "BRISC-FW", "ZONE_END"),
            ] {
                log += &format!("0,{core},1,BRISC,{id},{cycle},0,{program},,,{zone},{kind},1,k.cpp,\n");
            }
        }
        let path = folder.path().join(name);
        std::fs::write(&path, log).unwrap();
        path
    });
    let [a, b] = &files;
    assert_overlap_gate([a, b], "100.000 us, 2 of 2 ops side by side", ["99.9", "100.1"]);
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

/// By hand from the files: `rmsnorm` of A has other ops than that of B, and only B has `head`.
#[test]
fn modules_are_compared_whatever_their_ops_are_called() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, rows: &str| {
        let path = folder.path().join(name);
        let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],MODULE";
        std::fs::write(&path, format!("{titles}\n{rows}")).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let a = file("a.csv", "Pow,tt_dnn_device,0,300,M.norm\nMul,tt_dnn_device,0,200,M.norm\n");
    let b = file("b.csv", "RmsNorm,tt_dnn_device,0,250,M.norm\nMm,tt_dnn_device,0,90,M.head\n");
    let output = program::program().args(["diff", &a, &b, "--by", "module", "--json"]).output();
    let document: serde_json::Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let changes: Vec<_> = document["by"]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| {
            let ns = [&change["a_ns"], &change["b_ns"]].map(|ns| ns.as_f64().map(f64::round));
            let ratio = change["ratio"].as_f64().map(|ratio| (ratio * 1e6).round() / 1e6);
            (change["value"].as_str().unwrap().to_owned(), ns, ratio)
        })
        .collect();
    let expected = [
        ("M".to_owned(), [Some(500.0), Some(340.0)], Some(0.68)),
        ("M.norm".to_owned(), [Some(500.0), Some(250.0)], Some(0.5)),
        ("M.head".to_owned(), [None, Some(90.0)], None),
    ];
    assert_eq!(changes, expected);
    let table = program::program().args(["diff", &a, &b, "--by", "MODULE"]).output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("By MODULE, over all ops") && table.contains("-0.250"), "{table}");
    let refused = program::program().args(["diff", &a, &b, "--by", "layer"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

/// By hand: kernels are equal, and gaps are 60 us in A, 1.5 us in B, whose ops come from a trace. The first
/// row of a device has no gap, and one gap of B is missing.
#[test]
fn gaps_and_traces_that_no_total_has_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, rows: &[(&str, &str)]| {
        let titles = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE KERNEL DURATION [ns],\
                      OP TO OP LATENCY [ns],METAL TRACE ID,METAL TRACE REPLAY SESSION ID\n";
        let rows = rows.iter().enumerate();
        let rows = rows.map(|(at, (gap, trace))| {
            format!("Op{at},tt_dnn_device,{},0,1000,{gap},{trace}\n", 1024 * (at + 1))
        });
        let path = folder.path().join(name);
        std::fs::write(&path, titles.to_owned() + &rows.collect::<String>()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let eager = [("5", ","), ("60000", ","), ("60000", ","), ("60000", ",")];
    let a = file("a.csv", &eager);
    let b = file("b.csv", &[("5", "1,0"), ("1500", "1,0"), ("", "1,0"), ("1500", "1,0")]);
    let told = |a: &str, b: &str| {
        let output = program::program().args(["diff", a, b]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let traced = told(&a, &b);
    for line in [
        "Between ops, in no total: A 60.000 us, median of 3 gaps; B 1.500 us, median of 2 gaps, 1 unknown; -97.5 %",
        "Launched by a replayed trace: A 0 of 4 ops; B 4 of 4 ops",
    ] {
        assert!(traced.lines().any(|found| found == line), "{line}\n{traced}");
    }
    let same = told(&a, &a);
    assert!(same.contains("B 60.000 us, median of 3 gaps; +0.0 %\n"), "{same}");
    assert!(!same.contains("replayed trace"), "{same}");
}

/// Writes an ops CSV of one device; each op has a name, the length of its kernel and the gap before it in ns.
fn ops_file(folder: &Path, name: &str, ops: &[(&str, u64, u64)]) -> PathBuf {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n";
    let rows = ops.iter().map(|(op, ns, gap)| format!("{op},tt_dnn_device,0,{ns},{gap}\n"));
    let path = folder.join(name);
    std::fs::write(&path, titles.to_owned() + &rows.collect::<String>()).unwrap();
    path
}

/// By hand: an iteration takes 2 us of kernels, 1 us between them, and a gap before it.
#[test]
fn an_iteration_that_waits_longer_fails_the_build() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, count: usize, gap_ns: u64| {
        let iteration = [("Matmul", 1_000, gap_ns), ("Softmax", 1_000, 1_000)];
        ops_file(folder.path(), name, &iteration.repeat(count))
    };
    let (a, b) = (file("a.csv", 5, 10_000), file("b.csv", 5, 400_000));
    let told = |a: &Path, b: &Path, args: &[&str]| {
        let output = diff(a, b, args);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    // 13 us and 403 us.
    let (code, text) = told(&a, &b, &["--fail-above", "5"]);
    let line = "An iteration with its gaps is slower by more than 5 % on 1 device, most on device 0: A 13.000 \
                us, 11.000 us of it gaps, mean of 4 iterations; B 403.000 us, 401.000 us of it gaps, mean \
                of 4 iterations; +3000.0 %";
    assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    assert_eq!(code, Some(1));
    let (code, text) = told(&b, &a, &["--fail-below", "5"]);
    assert!(text.contains("An iteration with its gaps is faster by more than 5 %"), "{text}");
    assert_eq!((code, told(&b, &a, &["--fail-above", "5"]).0), (Some(1), Some(0)));
    assert_eq!(told(&a, &b, &["--fail-above", "3001"]).0, Some(0));
    assert_eq!(told(&a, &a, &["--fail-above", "0", "--fail-below", "0"]).0, Some(0));
    let (code, text) = told(&a, &b, &["--fail-above", "5", "--ignore-gaps"]);
    let line = "The time between ops is in no limit: --ignore-gaps is set (median gap: A 1.000 us; B 1.000 us)";
    assert!(text.lines().any(|found| found == line), "{text}");
    assert_eq!(code, Some(0));
    // One iteration shows no gap of the loop.
    let (code, text) = told(&file("one.csv", 1, 10_000), &b, &["--fail-above", "5"]);
    let why = "A shows no two iterations";
    assert!(
        text.contains(&format!("An iteration with its gaps is not compared: {why}\n")),
        "{text}"
    );
    assert!(text.contains(&format!("The time between ops is in no limit: {why} (")), "{text}");
    assert_eq!(code, Some(0));
    let document = json(
        &a,
        &b,
        &["--fail-above", "5", "--junit", folder.path().join("j.xml").to_str().unwrap()],
    );
    assert_eq!(
        (&document["failed_elapsed_count"], &document["failed_count"]),
        (&1.into(), &0.into())
    );
    let junit = std::fs::read_to_string(folder.path().join("j.xml")).unwrap();
    assert!(
        junit.contains("failures=\"1\"") && junit.contains("slower: device 0: A 13.000 us"),
        "{junit}"
    );
}

/// By hand: B has an op of 1 us more with a gap of 1 us, and waits 40 us more; or one op less.
#[test]
fn an_iteration_is_within_the_limit_whatever_ops_it_gained_or_lost() {
    let folder = tempfile::tempdir().unwrap();
    let base =
        [("Matmul", 50_000, 10_000), ("LayerNorm", 5_000, 1_000), ("Softmax", 20_000, 1_000)];
    let more = [
        ("Matmul", 50_000, 50_000),
        ("Typecast", 1_000, 1_000),
        ("LayerNorm", 5_000, 1_000),
        ("Softmax", 20_000, 1_000),
    ];
    let less = [("Matmul", 50_000, 50_000), ("Softmax", 20_000, 1_000)];
    let file = |name: &str, before: usize, pass: &[(&'static str, u64, u64)], cut: usize| {
        let weights = [("Tilize", 9_000, 4_000), ("Untilize", 8_000, 3_000)];
        let mut ops = weights[..before].to_vec();
        ops.extend(pass.repeat(4));
        ops.extend(&pass[..cut]);
        ops_file(folder.path(), name, &ops)
    };
    let a = file("a.csv", 0, &base, 0);
    let told = |a: &Path, b: &Path, args: &[&str]| {
        let output = diff(a, b, args);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    for (pass, text, percent) in [
        (&more[..], "129.000 us in 4 ops, 53.000 us of it gaps", "+48.3"),
        (&less[..], "121.000 us in 2 ops, 51.000 us of it gaps", "+39.1"),
    ] {
        // Ops before the loop and a cut iteration change nothing.
        for (before, cut) in [(0, 0), (0, 1), (2, 0), (2, 1)] {
            let b = file("b.csv", before, pass, cut);
            let (code, shown) = told(&a, &b, &["--fail-above", "30"]);
            let sides = format!(
                "A 87.000 us in 3 ops, 12.000 us of it gaps, mean of 3 iterations; B {text}, mean of 3 \
                 iterations; {percent} %"
            );
            let second =
                format!("An iteration with its gaps, without the first one: device 0: {sides}");
            assert_eq!(shown.lines().nth(1), Some(&*second), "{before} {cut}\n{shown}");
            let last = format!(
                "An iteration with its gaps is slower by more than 30 % on 1 device, most on device 0: {sides}"
            );
            assert!(shown.lines().any(|line| line == last), "{shown}");
            assert_eq!(code, Some(1), "{shown}");
            assert_eq!(told(&b, &a, &["--fail-above", "30"]).0, Some(0));
        }
    }
}

/// A pass of three equal layers and a head, and a loop of the layer: nobody knows how many layers are the work
/// of a pass.
#[test]
fn iterations_that_are_not_known_to_do_the_same_work_pass_no_gate() {
    let folder = tempfile::tempdir().unwrap();
    let layer = [("Matmul", 50_000, 1_000), ("LayerNorm", 5_000, 1_000)];
    let mut model = layer.repeat(3);
    model.push(("ArgMax", 2_000, 1_000));
    let a = ops_file(folder.path(), "a.csv", &layer.repeat(9));
    let b = ops_file(folder.path(), "b.csv", &model.repeat(3));
    let why = "an iteration of B (7 ops) has the ops of one of A (2) several times";
    let output = diff(&a, &b, &["--fail-above", "5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let second = format!("An iteration with its gaps is not compared: {why}");
    assert_eq!(text.lines().nth(1), Some(&*second), "{text}");
    let verdict = format!(
        "The gate cannot pass, as iterations on device 0 cannot be compared: {why}; --ignore-gaps leaves them out"
    );
    assert!(text.lines().any(|line| line == verdict), "{text}");
    assert_eq!(output.status.code(), Some(1));
    let output = diff(&a, &b, &["--fail-above", "5", "--ignore-gaps"]);
    assert_eq!(output.status.code(), Some(0));
    let document = json(&a, &b, &[]);
    let found = serde_json::json!([
        {"place": "device 0", "a_ns": 57_000.0, "b_ns": 174_000.0, "reason": "several", "a_op_count": 2, "b_op_count": 7}
    ]);
    assert_eq!(document["uncompared_iterations"], found);
}

/// By hand: Softmax takes twice as long in B, Matmul three times, and the gaps are the same.
#[test]
fn ops_csvs_are_filtered_by_op_and_device() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, matmul_ns: u64, softmax_ns: u64| {
        let iteration = [("Matmul", matmul_ns, 1_000), ("Softmax", softmax_ns, 1_000)];
        ops_file(folder.path(), name, &iteration.repeat(4))
    };
    let (a, b) = (file("a.csv", 9_000, 1_000), file("b.csv", 27_000, 2_000));
    for (filter, names, total_ns) in [
        ("op=Soft*", &["Softmax"][..], 4_000.0),
        ("op!=Soft*", &["Matmul"], 36_000.0),
        ("device=0", &["Matmul", "Softmax"], 40_000.0),
    ] {
        let found = json(&a, &b, &["--filter", filter]);
        let changes = found["changes"].as_array().unwrap();
        let mut own: Vec<&str> = changes.iter().map(|of| of["name"].as_str().unwrap()).collect();
        own.sort_unstable();
        assert_eq!(own, names, "{filter}");
        assert_eq!(found["in_a"]["total_ns"], total_ns, "{filter}");
        // The time between ops that were chosen is that of others.
        let elapsed = found["elapsed"].as_array().unwrap().len();
        let gaps = &found["in_a"]["gaps"]["known_count"];
        let is_whole = names.len() == 2;
        assert_eq!((elapsed, gaps == 7), (usize::from(is_whole), is_whole), "{filter}: {found:#}");
    }
    assert_eq!(
        diff(&a, &b, &["--filter", "op=Soft*", "--fail-above", "150"]).status.code(),
        Some(0)
    );
    assert_eq!(diff(&a, &b, &["--fail-above", "150"]).status.code(), Some(1));
    let refused = diff(&a, &b, &["--filter", "zone=X"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(said.contains("expected --filter with device or op"), "{said}");
}

#[test]
fn the_csv_of_a_folder_without_rows_is_not_said_to_be_of_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let a = profiler_folder(folder.path(), &[("Matmul", 40_000)], 1_000_000);
    let csv = a.join("reports/1/ops_perf_results_1.csv");
    let titles = std::fs::read_to_string(&csv).unwrap().lines().next().unwrap().to_owned();
    std::fs::write(&csv, titles + "\n").unwrap();
    let output = diff(&a, &a, &["--fail-above", "5"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("no rows of ops that ran on a chip; ops have the numbers"), "{said}");
    assert!(!said.contains("another run"), "{said}");
    assert_eq!(output.status.code(), Some(0));
}

/// Gaps of a file go from kernels to kernels, so the firmware between them is in the gaps: an iteration of two
/// ops takes 2 x 8 us of kernels and its gaps, whatever the firmware around the kernels. The cycles say the same:
/// from the start of an iteration to that of the next.
#[test]
fn firmware_around_kernels_is_in_the_gaps_of_an_iteration() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, firmware_ns: u64, gap_ns: u64| {
        let mut text = "OP CODE,OP TYPE,DEVICE ID,DEVICE FW START CYCLE,DEVICE FW END CYCLE,DEVICE FW DURATION [ns],\
                        DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n"
            .to_owned();
        // The kernels begin in the middle of the firmware around them.
        let (before, mut kernel) = ((firmware_ns - 8_000) / 2, 5_000_000);
        for _ in 0..4 {
            for (op, gap_ns) in [("Matmul", gap_ns), ("Softmax", 1_500)] {
                kernel += gap_ns;
                let start = kernel - before;
                let end = start + firmware_ns;
                text +=
                    &format!("{op},tt_dnn_device,0,{start},{end},{firmware_ns},8000,{gap_ns}\n");
                kernel += 8_000;
            }
        }
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (plain, early) = (file("plain.csv", 8_500, 2_500), file("early.csv", 9_000, 2_500));
    let told = |a: &Path, b: &Path| {
        let output = diff(a, b, &["--fail-above", "5", "--fail-below", "5"]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = told(&plain, &early);
    let line = "An iteration with its gaps, without the first one: device 0: A 20.000 us, 4.000 us of it gaps, \
                mean of 3 iterations; B 20.000 us, 4.000 us of it gaps, mean of 3 iterations; +0.0 %";
    assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    assert_eq!(code, Some(0));
    let (code, text) = told(&plain, &file("long.csv", 8_500, 4_500));
    assert!(
        text.contains("B 22.000 us, 6.000 us of it gaps, mean of 3 iterations; +10.0 %\n"),
        "{text}"
    );
    assert_eq!(code, Some(1));
    // Without the column, gaps are those of firmware, and an iteration takes as long.
    let cut = std::fs::read_to_string(&plain).unwrap();
    let cut: Vec<&str> = cut.lines().map(|line| line.rsplit_once(',').unwrap().0).collect();
    let without = folder.path().join("without.csv");
    std::fs::write(&without, cut.join("\n") + "\n").unwrap();
    let (_, text) = told(&plain, &without);
    assert!(
        text.contains("B 20.000 us, 3.000 us of it gaps, mean of 3 iterations; +0.0 %\n"),
        "{text}"
    );
}

/// By hand: the last iteration of B lacks its last op, and its matmul takes 540 us in place of 180.
#[test]
fn ops_of_a_cut_iteration_are_compared_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let iteration = [
        ("Tilize", 17_000, 1_000),
        ("Matmul", 180_000, 1_000),
        ("Softmax", 30_000, 1_000),
        ("Untilize", 9_000, 1_000),
    ];
    let a = ops_file(folder.path(), "a.csv", &iteration.repeat(3));
    let mut cut = iteration.repeat(3);
    cut.pop();
    let lost = ops_file(folder.path(), "lost.csv", &cut);
    let text = String::from_utf8(diff(&a, &lost, &["--fail-above", "5"]).stdout).unwrap();
    assert!(text.contains("Only in A: 1 of 12\n  op Untilize on device 0"), "{text}");
    // 699 of 708 us.
    assert!(text.contains("Compared: 98.7 % of A's time, 100.0 % of B's"), "{text}");
    cut[9].1 = 540_000;
    let slow = ops_file(folder.path(), "slow.csv", &cut);
    let output = diff(&a, &slow, &["--fail-above", "5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("1 op or zone is slower by more than 5 %"), "{text}");
    // Of twice as many iterations, those are compared: 227 of 1,643 us are in none.
    let mut more = iteration.repeat(7);
    more.pop();
    let more = ops_file(folder.path(), "more.csv", &more);
    let text = String::from_utf8(diff(&a, &more, &["--fail-above", "5"]).stdout).unwrap();
    for line in [
        "Compared: 100.0 % of A's time, 86.2 % of B's",
        "Compared with nothing: 3 ops of B in iterations that are cut or differ, 227.000 us",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    // If most of the time is in such iterations, the gate has nothing to rest on.
    let mut most = iteration.repeat(3);
    most.pop();
    most[9].1 = 5_400_000;
    let few = ops_file(folder.path(), "few.csv", &iteration.repeat(9));
    let most = ops_file(folder.path(), "most.csv", &most);
    let output = diff(&few, &most, &["--fail-above", "5"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
}

/// The pairs differ in an attribute, in an address, and in one that only B has.
#[test]
fn attributes_that_differ_within_a_pair_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, attributes: &str| {
        let path = folder.path().join(name);
        let titles = "OP CODE,OP TYPE,DEVICE ID,ATTRIBUTES,DEVICE KERNEL DURATION [ns]\n";
        let row = format!("ReduceScatter,tt_dnn_device,0,{attributes},1000\n");
        std::fs::write(&path, titles.to_owned() + &row).unwrap();
        path
    };
    let a =
        file("a.csv", "{'topology': 'Topology::Linear'; 'address': '123456'; 'num_links': '1'}");
    let b = file(
        "b.csv",
        "{'topology': 'Topology::Ring'; 'address': '654321'; 'num_links': '1'; 'fp32_dest_acc_en': 'true'}",
    );
    let text = String::from_utf8(diff(&a, &b, &[]).stdout).unwrap();
    for line in [
        "  attribute: topology Topology::Linear in A, topology Topology::Ring in B, 1 pair",
        "  attribute: fp32_dest_acc_en not given in A, fp32_dest_acc_en true in B, 1 pair",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("address") && !text.contains("num_links"), "{text}");
}

/// Writes a profiler folder of a run: the log of launches with these kernels, and the ops CSV that names them. The
/// rows of the CSV begin at `first_cycle` of the log, if it is of this run.
fn profiler_folder(folder: &Path, ops: &[(&str, u64)], first_cycle: u64) -> PathBuf {
    let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
        PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, \
        trace id, trace id counter, zone name, type, source line, source file, meta data\n"
        .to_owned();
    let mut csv =
        "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE FW START CYCLE,DEVICE FW END CYCLE,\
        DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n"
            .to_owned();
    let mut start = 1_000_000;
    for (run_host_id, (name, ns)) in (1..).map(|program| program << 10).zip(ops) {
        for (cycle, id, zone, kind) in [
            (start, 1, "BRISC-FW", "ZONE_START"),
            (start + 100, 2, "BRISC-KERNEL", "ZONE_START"),
            (start + 100 + ns, 2, "BRISC-KERNEL", "ZONE_END"),
            (start + 200 + ns, 1, "BRISC-FW", "ZONE_END"),
        ] {
            log += &format!("0,1,1,BRISC,{id},{cycle},0,{run_host_id},,,{zone},{kind},1,k.cpp,\n");
        }
        let begin = first_cycle + (start - 1_000_000);
        let (end, all) = (begin + 200 + ns, ns + 200);
        csv += &format!("{name},tt_dnn_device,{run_host_id},0,{begin},{end},{all},{ns},1000\n");
        start += 1200 + ns;
    }
    for (path, text) in
        [(".logs/profile_log_device.csv", log), ("reports/1/ops_perf_results_1.csv", csv)]
    {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder.to_owned()
}

/// Programs are numbered in the order in which they ran, so an op more at the start gives all others new numbers.
#[test]
fn ops_of_profiler_folders_have_the_names_of_their_csv() {
    let folder = tempfile::tempdir().unwrap();
    let ops = [("Matmul", 40_000), ("Softmax", 12_000), ("LayerNorm", 3000)];
    let more: Vec<_> = std::iter::once(("Typecast", 900)).chain(ops).collect();
    let a = profiler_folder(&folder.path().join("a"), &ops, 1_000_000);
    let b = profiler_folder(&folder.path().join("b"), &more, 1_000_000);
    let found = json(&a, &b, &["--fail-above", "5"]);
    let changes = found["changes"].as_array().unwrap();
    let of_ops: Vec<_> = changes.iter().filter(|change| change["kind"] == "op").collect();
    assert_eq!(of_ops.len(), 3, "{found:#}");
    assert!(of_ops.iter().all(|change| change["ratio"] == 1.0), "{found:#}");
    assert!(
        changes.iter().any(|change| change["name"] == "BRISC-KERNEL"),
        "zones of the log: {found:#}"
    );
    assert_eq!(diff(&a, &b, &["--fail-above", "5"]).status.code(), Some(0));
    // All rows are compared, also those before a signpost, after which `kprof perf` begins.
    let csv = a.join("reports/1/ops_perf_results_1.csv");
    let text = std::fs::read_to_string(&csv).unwrap();
    std::fs::write(&csv, text.replace("LayerNorm,", "start,signpost,,,,,,,\nLayerNorm,")).unwrap();
    assert_eq!(json(&a, &b, &[])["op_pair_count"], 3);
    std::fs::write(&csv, text).unwrap();
    // A CSV of another run names nothing: its first op starts at another cycle.
    let other = profiler_folder(&folder.path().join("c"), &more, 5);
    let told = String::from_utf8(diff(&a, &other, &[]).stderr).unwrap();
    assert!(told.contains("0 of 4 ops start where a launch of the log does"), "{told}");
    // A folder of reports alone is read, too.
    std::fs::remove_dir_all(b.join(".logs")).unwrap();
    std::fs::remove_dir_all(a.join(".logs")).unwrap();
    assert_eq!(json(&a, &b, &[])["op_pair_count"], 3);
}

/// Writes a device log of two launches: the kernel of TRISC_1 has ten zones of 100 cycles, each followed by a pause.
fn log_of_steps(path: &Path, file: &str, pause_cycles: u64) {
    let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
        PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, \
        trace id, trace id counter, zone name, type, source line, source file, meta data\n"
        .to_owned();
    let mut start = 1_000_000;
    for program in [1_024, 2_048] {
        let mut add = |cycle: u64, id: u64, zone: &str, kind: &str, source: &str| {
            log += &format!("0,1,1,TRISC_1,{id},{cycle},0,{program},,,{zone},{kind},{source},\n");
        };
        let step = 100 + pause_cycles;
        add(start, 1, "TRISC-KERNEL", "ZONE_START", "86,trisck.cc");
        for number in 0..10 {
            add(start + number * step, 2, "BINARY_OP", "ZONE_START", &format!("61,{file}"));
            add(start + number * step + 100, 2, "BINARY_OP", "ZONE_END", &format!("61,{file}"));
        }
        add(start + 10 * step, 1, "TRISC-KERNEL", "ZONE_END", "86,trisck.cc");
        start += 20_000;
    }
    std::fs::write(path, log).unwrap();
}

/// A kernel that takes 300 cycles longer between its zones, and whose file has another name.
#[test]
fn a_zone_of_a_renamed_file_is_compared_and_the_time_outside_of_zones_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["a.csv", "b.csv"].map(|name| folder.path().join(name));
    log_of_steps(&a, "eltwise/binary.cpp", 50);
    log_of_steps(&b, "eltwise/binary_ng.cpp", 80);
    let shown = String::from_utf8(diff(&a, &b, &["--all"]).stdout).unwrap();
    let kernel = "TRISC-KERNEL on device 0 TRISC_1: +0.300 us in a kernel run: +0.000 us in the zones within it, \
                  +0.300 us outside of them\n";
    assert!(shown.contains(kernel), "{shown}");
    assert!(shown.contains("source file: binary.cpp in A, binary_ng.cpp in B, 1 pair"), "{shown}");
    assert!(shown.contains("Only in A: 0 of 4") && shown.contains("Only in B: 0 of 4"), "{shown}");
    let document = json(&a, &b, &[]);
    let of = |name: &str| {
        let changes = document["changes"].as_array().unwrap();
        changes.iter().find(|change| change["name"] == name).unwrap().clone()
    };
    let times = |whole: [f64; 2], own: [f64; 2]| serde_json::json!({ "whole": whole, "own": own });
    assert_eq!(of("TRISC-KERNEL")["run_times_ns"], times([1500.0, 1800.0], [500.0, 800.0]));
    assert_eq!(of("BINARY_OP")["run_times_ns"], times([1000.0, 1000.0], [1000.0, 1000.0]));
    // Nothing of it where the kernel did not change.
    let shown = String::from_utf8(diff(&a, &a, &["--all"]).stdout).unwrap();
    assert!(!shown.contains("outside of them"), "{shown}");
}

/// An op that takes a quarter of the time, and an iteration that takes 15 times as long.
#[test]
fn iterations_of_other_ops_have_their_times_told_beside_the_total() {
    let folder = tempfile::tempdir().unwrap();
    let a = ops_file(folder.path(), "a.csv", &[("ArgMax", 4_300_000, 250_000); 6]);
    let b = ops_file(folder.path(), "b.csv", &[("TopK", 1_000_000, 68_000_000); 6]);
    let shown = String::from_utf8(diff(&a, &b, &[]).stdout).unwrap();
    let total = "change -19800.000 us (-76.7 %) of ops that are not the same: less than half of the time has a \
                 counterpart\n";
    assert!(shown.contains(total), "{shown}");
    let iteration = "; A takes 4550.000 us, B 69000.000 us: +1416.5 %\n";
    assert!(shown.contains(iteration), "{shown}");
    let uncompared = &json(&a, &b, &[])["uncompared_iterations"][0];
    assert_eq!((&uncompared["a_ns"], &uncompared["b_ns"]), (&4_550_000.0.into(), &69e6.into()));
}

/// A benchmark that repeats each of two shapes 27 times, and 50 times after a change that makes launches a tenth faster.
#[test]
fn more_repetitions_of_a_benchmark_are_no_further_work() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, count: usize, ns: [u64; 2]| {
        let [first, second] = [("Matmul", ns[0], 1_000), ("Softmax", ns[1], 1_000)];
        let ops: Vec<_> = [vec![first; count], vec![second; count]].concat();
        ops_file(folder.path(), name, &ops)
    };
    let (base, more) =
        (file("base.csv", 27, [10_000, 20_000]), file("more.csv", 50, [9_000, 18_000]));
    let output = diff(&base, &more, &["--fail-above", "5"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        shown.contains("A runs each op 27 times in a row, B 50 times: -10.0 % for a launch\n"),
        "{shown}"
    );
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert_eq!(json(&base, &more, &[])["repetitions"], serde_json::json!({ "a": 27, "b": 50 }));
    // Launches that take longer fail as before, whatever their number.
    let slower = file("slower.csv", 10, [11_000, 22_000]);
    assert_eq!(diff(&base, &slower, &["--fail-above", "5"]).status.code(), Some(1));
    // Another op, or one that runs more often than the others, is further work.
    let ops = [vec![("Matmul", 10_000, 1_000); 27], vec![("Softmax", 20_000, 1_000); 60]].concat();
    let uneven = ops_file(folder.path(), "uneven.csv", &ops);
    assert_eq!(diff(&base, &uneven, &["--fail-above", "5"]).status.code(), Some(1));
    assert!(json(&base, &uneven, &[])["repetitions"].is_null());
}
