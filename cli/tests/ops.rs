//! Tests of `kprof ops` as a user runs it: folders and names, listed problems and refused
//! arguments.

use crate::program::kprof;
use std::{
    path::{Path, PathBuf},
    process::Output,
};
use tests::sizes::{full_or, is_full};

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn stdout(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", errors(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn capture_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures").join(name)
}

/// Returns all files under a folder, by relative path.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

const LOG: &str = "\
ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
0,1,2,BRISC,7,1000,0,1024,,,BRISC-FW,ZONE_START,1,/b.cc,
0,1,2,BRISC,8,1010,0,1024,,,BRISC-KERNEL,ZONE_START,1,/b.cc,
0,1,2,BRISC,8,1260,0,1024,,,BRISC-KERNEL,ZONE_END,1,/b.cc,
0,1,2,BRISC,7,1300,0,1024,,,BRISC-FW,ZONE_END,1,/b.cc,
";
const MESSAGES: &str = "\
MessageName;total_ns
`TT_SIGNPOST: warm up`;1
`TT_DNN_DEVICE_OP: \"Add\", 77, 0, false, 1024 ->
{\"global_call_count\": 1024, \"op_code\": \"Add\", \"device_id\": 0, \"op_hash\": 77}`;5
";
const TIMES: &str = "\
name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,special_parent_text
TT_DNN_DEVICE_OP,/o.hpp,1,,id:1024,9,40,1,
";

/// Creates an artifacts folder as tt-metal leaves it.
fn artifacts(log: &str, messages: &str, times: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join(".logs");
    std::fs::create_dir(&logs).unwrap();
    for (name, text) in [
        ("profile_log_device.csv", log),
        ("tracy_ops_data.csv", messages),
        ("tracy_ops_times.csv", times),
    ] {
        std::fs::write(logs.join(name), text).unwrap();
    }
    folder
}

#[test]
fn reports_stand_where_tt_metal_puts_them_and_earlier_ones_stay() {
    let folder = artifacts(LOG, MESSAGES, TIMES);
    let told = stdout(&kprof(folder.path(), &["ops", ".", "-n", "first"]));
    assert!(told.starts_with("2 rows of 1 host op"), "{told}");
    stdout(&kprof(folder.path(), &["ops", "."]));
    let csv = folder.path().join("reports/first/ops_perf_results_first.csv");
    let csv = std::fs::read_to_string(csv).unwrap();
    let rows: Vec<_> = csv.lines().collect();
    assert!(rows[1].starts_with("warm up,signpost,"), "{csv}");
    assert!(rows[2].starts_with("Add,,1024,0,wormhole_b0,"), "{csv}");
    assert!(rows[2].contains(",1000,1300,0,0,300,250,250,"), "{csv}");
    let mut expected = vec![
        ".logs/profile_log_device.csv",
        ".logs/tracy_ops_data.csv",
        ".logs/tracy_ops_times.csv",
        "reports/first/ops_perf_results_first.csv",
        "reports/first/profile_log_device.csv",
        "reports/ops_perf_results.csv",
        "reports/profile_log_device.csv",
    ];
    expected.sort_unstable();
    assert_eq!(files(folder.path()), expected);
    let dated = stdout(&kprof(folder.path(), &["ops", ".", "-n", "a", "--date", "--no-copies"]));
    let path = dated.lines().nth(1).unwrap();
    // reports/a/2026_01_31_23_59_59/ops_perf_results_a_2026_01_31_23_59_59.csv
    let (date, file) = path.split_once("reports/a/").unwrap().1.split_once('/').unwrap();
    assert_eq!(date.len(), 19, "{path}");
    assert_eq!(file, format!("ops_perf_results_a_{date}.csv"));
}

#[test]
fn a_capture_gives_the_logs_that_tt_metal_would_have_left() {
    let folder = tempfile::tempdir().unwrap();
    let capture = capture_of("kprof/v1.0.kprof");
    let args = ["ops", capture.to_str().unwrap(), "-o", "out", "--json"];
    let told: serde_json::Value =
        serde_json::from_str(&stdout(&kprof(folder.path(), &args))).unwrap();
    // The capture was made on a mesh on which one core could not be read.
    assert_eq!(told["problem_count"], 1, "{told}");
    assert!(told["problems"][0].to_string().contains("unreadable core"), "{told}");
    let found = files(&folder.path().join("out"));
    for file in [
        ".logs/cpp_device_perf_report.csv",
        ".logs/profile_log_device.csv",
        ".logs/zone_src_locations.log",
        "reports/ops_perf_results.csv",
        "reports/profile_log_device.csv",
    ] {
        assert!(found.iter().any(|found| found == file), "{file} of {found:?}");
    }
    let again = stdout(&kprof(folder.path(), &["ops", "out", "-n", "again", "--json"]));
    let again: serde_json::Value = serde_json::from_str(&again).unwrap();
    assert_eq!((&again["device_ops"], &again["rows"]), (&told["device_ops"], &told["rows"]));
}

#[test]
fn logs_of_a_chip_are_not_replaced_by_those_of_a_capture() {
    let folder = artifacts(LOG, MESSAGES, TIMES);
    let logs = folder.path().join(".logs");
    let before = files(folder.path());
    for name in ["v1.0", "v1.5"] {
        let capture = capture_of(&format!("kprof/{name}.kprof"));
        std::fs::copy(capture, logs.join(format!("{name}.kprof"))).unwrap();
    }
    let refused = kprof(folder.path(), &["ops", ".logs/v1.0.kprof"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = errors(&refused);
    assert!(said.contains(
        "profile_log_device.csv exists and was not written from a simulation or capture"
    ));
    assert!(said.contains("choose another folder with -o"), "{said}");
    let log = logs.join("profile_log_device.csv");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), LOG);
    assert_eq!(files(folder.path()).len(), before.len() + 2, "nothing else was written");
    // A folder with only zone names also counts as measured on a chip.
    std::fs::create_dir_all(folder.path().join("named/.logs")).unwrap();
    let names = folder.path().join("named/.logs/zone_src_locations.log");
    std::fs::write(&names, "names").unwrap();
    let refused = kprof(folder.path(), &["ops", ".logs/v1.0.kprof", "-o", "named"]);
    assert!(errors(&refused).contains("zone_src_locations.log exists"), "{}", errors(&refused));
    assert_eq!(std::fs::read_to_string(&names).unwrap(), "names");
    // Files made from a capture may be replaced by files from the same or another capture.
    for name in ["v1.0", "v1.0", "v1.5"] {
        let capture = format!(".logs/{name}.kprof");
        stdout(&kprof(folder.path(), &["ops", &capture, "-o", "out"]));
    }
    // Replacing is refused after the user has put another log there.
    std::fs::copy(&log, folder.path().join("out/.logs/profile_log_device.csv")).unwrap();
    let refused = kprof(folder.path(), &["ops", ".logs/v1.0.kprof", "-o", "out"]);
    assert_eq!(refused.status.code(), Some(2), "{}", errors(&refused));
}

#[test]
fn an_input_without_ops_is_refused_and_nothing_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::write(path.join("empty"), "").unwrap();
    std::fs::write(path.join("text.txt"), "hello\n").unwrap();
    std::fs::create_dir(path.join("folder")).unwrap();
    for (input, expected) in [
        (
            "empty",
            "a folder with .logs, found an empty file, empty; name the profile_log_device.csv",
        ),
        (
            "text.txt",
            "a folder with .logs, found other text, text.txt; name the profile_log_device",
        ),
        (
            "folder",
            "in the folder folder, found none: folder/profile_log_device.csv: cannot be read, \
             there is no such file",
        ),
    ] {
        for more in [&[][..], &["--upstream-exact"]] {
            let refused = kprof(path, &[&["ops", input, "-o", "out"], more].concat());
            assert_eq!(refused.status.code(), Some(2), "{input}");
            let said = errors(&refused);
            assert!(!more.is_empty() || said.contains(expected), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
    }
    assert!(!path.join("out").exists());
}

#[test]
fn losses_are_unknown_where_the_device_log_cannot_be_read() {
    let folder = artifacts("no log", MESSAGES, TIMES);
    let told = stdout(&kprof(folder.path(), &["ops", "."]));
    assert!(told.starts_with("2 rows of 1 host op and 0 launches"), "{told}");
    assert!(told.contains("Lost: unknown"), "{told}");
}

#[test]
fn ops_of_programs_without_an_id_are_shown_too() {
    let folder = tempfile::tempdir().unwrap();
    let log = capture_of("mesham-tt-sim/wormhole-noc-256/profile_log_device.csv");
    let args = ["ops", log.to_str().unwrap(), "-o", "out", "-n", "n", "--no-copies"];
    let told = stdout(&kprof(folder.path(), &args));
    assert!(told.starts_with("1 row of 0 host ops and 1 launch on the device"), "{told}");
    let exact = kprof(folder.path(), &[&args[..], &["--upstream-exact"]].concat());
    assert!(stdout(&exact).starts_with("0 rows"), "{}", errors(&exact));
    assert!(errors(&exact).contains("lines of run host ID 0 are of no op"), "{}", errors(&exact));
}

#[test]
fn every_problem_is_listed_once_with_line_and_column_and_the_rest_written() {
    let log = LOG.to_owned() + "0,1,2,BRISC,7,then,0,1024,,,BRISC-FW,ZONE_END,1,/b.cc,\n0,1,2,BRI";
    let broken = "`TT_DNN_DEVICE_OP: \"Mul\", 9, 0, false, 2048 ->\n{\"global_call_count\": }`;7\n";
    let messages = MESSAGES.to_owned() + broken + "`TT_METAL_TRACE_END: 0, 3`;8\n";
    let times = TIMES.to_owned()
        + "TT_DNN_DEVICE_OP,\"/o.hpp,1,,id:1024,9,40,1,\n"
        + "TT_DNN_DEVICE_OP,/o.hpp,1,,id:1024,soon,40,1,\n";
    let folder = artifacts(&log, &messages, &times);
    let output = kprof(folder.path(), &["ops", "."]);
    let told = stdout(&output);
    assert!(told.starts_with("3 rows of 2 host ops and 1 launch"), "{told}");
    let listed = errors(&output);
    let expected = [
        "profile_log_device.csv:7: column time[cycles since reset]: expected a whole number, found `then`",
        "profile_log_device.csv:8: expected 15 columns, found 4",
        "tracy_ops_data.csv:6: column 23: the op's JSON is broken: expected value",
        "tracy_ops_data.csv:7: trace 3 of device 0 ends, but none was begun",
        "tracy_ops_times.csv:3: expected a quote to be closed in its line",
        "tracy_ops_times.csv:4: column ns_since_start: expected nanoseconds, found `soon`",
        "op 2048 has no host time",
        "device 0 has no data of 1 op that the host ran",
    ];
    for sentence in expected {
        assert_eq!(listed.matches(sentence).count(), 1, "{sentence} in\n{listed}");
    }
    assert_eq!(listed.lines().count(), expected.len(), "{listed}");
    let failed = kprof(folder.path(), &["ops", ".", "--fail-on-problems"]);
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn missing_files_and_mixed_chips_leave_a_report() {
    let other_chip = LOG.lines().skip(2).map(|line| line.replacen('0', "5", 1) + "\n");
    let log = LOG.to_owned() + &other_chip.collect::<String>().replace(",1024,", ",1029,");
    let folder = artifacts(&log, MESSAGES, TIMES);
    std::fs::remove_file(folder.path().join(".logs/tracy_ops_times.csv")).unwrap();
    let output = kprof(folder.path(), &["ops", "."]);
    assert!(stdout(&output).starts_with("3 rows of 1 host op and 2 launches"), "{output:?}");
    let listed = errors(&output);
    assert!(listed.contains("tracy_ops_times.csv: cannot be read"), "{listed}");
    assert!(listed.contains("device 5: the host announced none of its 1 ops"), "{listed}");
    std::fs::remove_file(folder.path().join(".logs/profile_log_device.csv")).unwrap();
    let output = kprof(folder.path(), &["ops", "."]);
    assert!(stdout(&output).starts_with("2 rows of 1 host op and 0 launches"), "{output:?}");
    assert!(errors(&output).contains("profile_log_device.csv"), "{output:?}");
}

#[test]
fn what_is_not_there_or_cannot_be_written_is_refused_in_a_sentence() {
    let folder = artifacts(LOG, MESSAGES, TIMES);
    std::fs::write(folder.path().join("reports"), "a file").unwrap();
    std::fs::write(folder.path().join("analyses.json"), "[{\"type\": \"OTHER\"}]").unwrap();
    for (args, sentence) in [
        (
            &["ops", "nowhere"][..],
            "expected a folder of logs, a device log or a capture at nowhere",
        ),
        (&["ops", "."], "reports"),
        (&["ops", ".", "--analyses", "analyses.json"], "analysis 1: expected type"),
        (&["ops", ".", "--analyses", "none.json"], "none.json"),
    ] {
        let output = kprof(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", errors(&output));
        assert!(errors(&output).contains(sentence), "{args:?}: {}", errors(&output));
        assert_eq!(errors(&output).trim_end().lines().count(), 1, "{}", errors(&output));
    }
}

/// Counts the rows of a CSV by the values of some columns.
fn counted(path: &Path, columns: &[&str]) -> std::collections::BTreeMap<String, usize> {
    let mut csv = csv::Reader::from_path(path).unwrap();
    let titles = csv.headers().unwrap().clone();
    let position = |column: &&str| titles.iter().position(|title| title == *column);
    let positions: Vec<Option<usize>> = columns.iter().map(position).collect();
    let mut counts = std::collections::BTreeMap::new();
    for row in csv.records().map(Result::unwrap) {
        let cell = |at: &Option<usize>| at.map_or("-", |at| &row[at]);
        let key: Vec<&str> = positions.iter().map(cell).collect();
        *counts.entry(key.join("/")).or_default() += 1;
    }
    counts
}

/// Runs a workload, and makes one report from the log and one from a capture. Returns the path of
/// each report's ops CSV.
fn reported(folder: &Path, options: &str) -> [PathBuf; 2] {
    let run = |command: &str, output: &str| {
        let mut args = vec![command, "--cores", "64", "-o", output];
        args.extend(options.split_whitespace());
        let output = kprof(folder, &args);
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
    };
    run("run", "from-log");
    run("capture", "x.kprof");
    stdout(&kprof(folder, &["ops", "from-log"]));
    stdout(&kprof(folder, &["ops", "x.kprof", "-o", "from-capture"]));
    ["from-log", "from-capture"].map(|name| folder.join(name).join("reports/ops_perf_results.csv"))
}

/// Columns that tt-metal fills from tt-npe.
const NOC_COLUMNS: [&str; 6] = [
    "NOC UTIL (%)",
    "MULTICAST NOC UTIL (%)",
    "DRAM BW UTIL (%)",
    "DRAM BW UTIL PER CTRL (%)",
    "ETH BW UTIL (%)",
    "NPE CONG IMPACT (%)",
];

/// Columns that were not requested are empty, not 0.
#[test]
fn figures_of_the_nocs_have_values_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let reports = reported(folder.path(), "--workload matmul --ops 2 --collect-noc-traces");
    // A report from the device log alone has fewer columns.
    for (csv, cell) in reports.iter().zip(["-", ""]) {
        let expected = [([cell; 6].join("/"), 2)];
        assert_eq!(counted(csv, &NOC_COLUMNS), expected.into(), "{}", csv.display());
    }
    let help = stdout(&kprof(folder.path(), &["ops", "--help"]));
    assert!(help.contains("MULTICAST NOC UTIL") && help.contains("have no values"), "{help}");

    let option = "--analyze-noc-traces";
    let told = stdout(&kprof(folder.path(), &["ops", "from-log", option]));
    let files = "NoC columns: from 2 noc_trace files next to the log, for 2 of 2 launches\n";
    assert!(told.contains(files), "{told}");
    let of_capture = ["ops", "x.kprof", "-o", "from-capture", option];
    let told = stdout(&kprof(folder.path(), &of_capture));
    let records = "NoC columns: from the recorded NoC events, for 2 of 2 launches\n";
    assert!(told.contains(records), "{told}");
    let told = stdout(&kprof(folder.path(), &["ops", "from-log"]));
    assert!(!told.contains("NoC columns"), "nobody asked for them: {told}");
    let json = stdout(&kprof(folder.path(), &[&of_capture[..], &["--json"]].concat()));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["noc_events"], records.trim_end());
    stdout(&kprof(folder.path(), &["ops", "from-log", option]));
    for csv in &reports {
        let mut csv = csv::Reader::from_path(csv).unwrap();
        let titles = csv.headers().unwrap().clone();
        let rows: Vec<_> = csv.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 2);
        for row in rows {
            let cell = |title: &str| &row[titles.iter().position(|found| found == title).unwrap()];
            let percent = |title: &str| cell(title).parse::<f64>().unwrap();
            // No core multicasts.
            assert!((0.1..100.0).contains(&percent("NOC UTIL (%)")), "{row:?}");
            assert!(percent("NPE CONG IMPACT (%)") >= 0.0, "{row:?}");
            assert_eq!([cell("MULTICAST NOC UTIL (%)"), cell("ETH BW UTIL (%)")], ["0.0", "-"]);
            // The first launch finds its matrices in DRAM faster than a controller can move them,
            // because the simulator does not model this speed.
            let columns = ["DRAM BW UTIL (%)", "DRAM BW UTIL PER CTRL (%)"];
            let because = cell("EMPTY FIGURES BECAUSE");
            if &row[titles.iter().position(|title| title.starts_with("GLOBAL")).unwrap()] == "1024"
            {
                assert_eq!(columns.map(cell), ["", ""], "{row:?}");
                let reason = "NoC figures: more bytes than a DRAM controller moves in the time of \
                              the kernels";
                assert!(because.contains(reason), "{row:?}");
            } else {
                assert!((0.1..=105.0).contains(&percent(columns[0])), "{row:?}");
                assert!(cell(columns[1]).starts_with('c') && because.is_empty(), "{row:?}");
            }
        }
    }
}

#[test]
fn replays_of_a_trace_are_sessions_of_the_ops_csv() {
    let folder = tempfile::tempdir().unwrap();
    let reports = reported(folder.path(), "--workload trace-replay --ops 7 --replays 3 --grid 4x4");
    // The host names the ops of its trace. They have their own rows, in addition to the rows of
    // their replays.
    for (csv, captured) in reports.into_iter().zip([None, Some(("1/", 7))]) {
        let columns = ["METAL TRACE ID", "METAL TRACE REPLAY SESSION ID"];
        let expected = [("/", 1), ("1/1", 7), ("1/2", 7), ("1/3", 7)];
        let expected = expected.into_iter().chain(captured);
        let expected = expected.map(|(key, count)| (key.to_owned(), count)).collect();
        assert_eq!(counted(&csv, &columns), expected, "{}", csv.display());
    }
}

#[test]
fn trace_only_mode_has_a_row_for_each_replay() {
    let folder = tempfile::tempdir().unwrap();
    let options = "--workload trace-replay --ops 20 --replays 5 --grid 4x4 --device-trace-profiler";
    for csv in reported(folder.path(), options) {
        // Replay numbers, encoded with chip 0.
        let expected = (1..=5).map(|replay| ((replay << 10).to_string(), 1));
        assert_eq!(counted(&csv, &["GLOBAL CALL COUNT"]), expected.collect(), "{}", csv.display());
    }
    // Log and capture use TT-Metal's name for the envelopes.
    for file in ["from-log", "x.kprof"] {
        let report = stdout(&kprof(folder.path(), &["report", file, "--json"]));
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let zones = report["zones"].as_array().unwrap().iter();
        let mut names: Vec<_> = zones.map(|zone| zone["name"].as_str().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(names, ["TRACE-FW", "TRACE-KERNEL"], "{file}");
    }
}

#[test]
fn trace_only_mode_says_so_where_no_trace_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let noted = |workload: &[&str]| {
        let args = ["run", "--device-trace-profiler", "--ops", "1"];
        let output = kprof(folder.path(), &[&args[..], workload].concat());
        assert!(output.status.success(), "{output:?}");
        errors(&output).contains("this workload has none")
    };
    assert!(noted(&["--workload", "matmul"]));
    assert!(!noted(&["--workload", "trace-replay", "--replays", "1"]));
}

/// Returns the counters of a device log by program and name: events, and the cycles over which they
/// were counted.
fn counters_of_log(path: &Path) -> std::collections::BTreeMap<(u32, String), Vec<(u64, u64)>> {
    let log = std::fs::read_to_string(path).unwrap();
    let mut counters = std::collections::BTreeMap::<_, Vec<_>>::new();
    for row in log.lines().skip(2) {
        let cells: Vec<&str> = row.split(',').collect();
        if cells[4] != "9090" {
            continue;
        }
        let text: serde_json::Value =
            serde_json::from_str(&cells.last().unwrap().replace(';', ",")).unwrap();
        let key = (cells[7].parse().unwrap(), text["counter type"].as_str().unwrap().to_owned());
        let [events, cycles] = ["value", "ref cnt"].map(|name| text[name].as_u64().unwrap());
        counters.entry(key).or_default().push((events, cycles));
    }
    counters
}

/// Captures the run with the options `args`, and compares the capture with the log of the same run.
fn assert_capture_of_all_counters(folder: &Path, args: &[&str]) {
    let mut args = args.to_vec();
    args[0] = "capture";
    *args.iter_mut().find(|arg| **arg == "out").unwrap() = "all.kprof";
    stdout(&kprof(folder, &args));
    std::fs::create_dir(folder.join("again")).unwrap();
    stdout(&kprof(folder, &["export", "all.kprof", "-o", "again/profile_log_device.csv"]));
    let logs = ["out/.logs", "again"].map(|logs| folder.join(logs).join("profile_log_device.csv"));
    let [of_run, of_capture] = logs.map(|log| std::fs::read_to_string(log).unwrap());
    assert!(of_run == of_capture, "the log of the run and that of its capture differ");
}

#[test]
fn hardware_counters_of_a_run_are_columns_of_its_ops() {
    // A Wormhole needs two runs, so one log has two kinds of records.
    for (arch, all_cores, counter_count) in [("wormhole_b0", 64, 126), ("blackhole", 140, 169)] {
        let cores = full_or(all_cores, 16);
        let folder = tempfile::tempdir().unwrap();
        let mut args = vec!["run", "--workload", "instructions", "--ops", "3", "-o", "out"];
        args.extend(["--arch", arch, "--profiler-capture-perf-counters", "all"]);
        if !is_full() {
            args.extend(["--grid", "4x4"]);
        }
        stdout(&kprof(folder.path(), &args));
        stdout(&kprof(folder.path(), &["ops", "out"]));
        assert_capture_of_all_counters(folder.path(), &args);
        let counters = counters_of_log(&folder.path().join("out/.logs/profile_log_device.csv"));
        assert_eq!(counters.len(), 3 * counter_count, "{arch}");
        assert!(counters.values().all(|of_cores| of_cores.len() == cores));
        let csv = folder.path().join("out/reports/ops_perf_results.csv");
        let mut csv = csv::Reader::from_path(csv).unwrap();
        let titles = csv.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 3);
        for row in &rows {
            let cell = |title: &str| {
                let at = titles.iter().position(|found| found == title);
                &row[at.unwrap_or_else(|| panic!("no column `{title}`"))]
            };
            let program: u32 = cell("GLOBAL CALL COUNT").parse().unwrap();
            let n = u64::from(program >> 10);
            // Instructions that TRISC 1 was configured to issue, and the one before them that gives
            // the matrix unit its data.
            for (name, label, events) in [
                ("FPU_COUNTER", "FPU Util", 100 * n),
                ("SFPU_COUNTER", "SFPU Util", 50 * n),
                ("MATH_COUNTER", "MATH Util", 150 * n),
                ("THREAD_INSTRUCTIONS_1", "T1 Instrn Issue Rate", 160 * n + 1),
            ] {
                let of_cores = &counters[&(program, name.to_owned())];
                assert!(of_cores.iter().all(|(found, _)| *found == events), "{arch} {name}");
                let rates = || {
                    of_cores.iter().map(|(events, cycles)| *events as f64 * 100.0 / *cycles as f64)
                };
                let mean = rates().sum::<f64>() / of_cores.len() as f64;
                let least = rates().fold(f64::INFINITY, f64::min);
                for (statistic, expected) in [("Avg", mean), ("Min", least)] {
                    let found: f64 = cell(&format!("{label} {statistic} (%)")).parse().unwrap();
                    assert!((found - expected).abs() < 1e-3, "{arch} {label}: {found} {expected}");
                }
            }
            // Counters that are not modelled count over 0 cycles, so their cells are empty instead
            // of 0.
            for label in ["Packer Utilization", "Thread 0 Stall Rate", "L1 Unpacker Port Util"] {
                let title = format!("{label} Avg (%)");
                let at = titles.iter().position(|found| found == title);
                assert!(at.is_none_or(|at| row[at].is_empty()), "{arch} {label}");
            }
        }
    }
}

#[test]
fn hardware_counters_that_a_run_cannot_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let run = |options: &str| {
        let args: Vec<&str> = options.split_whitespace().collect();
        let output = kprof(folder.path(), &args);
        assert_eq!(output.status.code(), Some(2), "{options}");
        errors(&output)
    };
    for (options, sentence) in [
        ("run --profiler-capture-perf-counters l1_3", "has no group of bits 0x80; it has fpu,"),
        ("run --profiler-capture-perf-counters 65536", "has no group of bits 0x10000"),
        ("run --profiler-capture-perf-counters l2", "expected all, fpu, pack,"),
        (
            "run --profiler-capture-perf-counters fpu --enable-sum-profiling",
            "hardware counters together with sum zones",
        ),
    ] {
        let errors = run(options);
        let is_without_code = errors.contains("cannot run kernels");
        assert!(errors.contains(sentence) || is_without_code, "{options}: {errors}");
    }
}

#[test]
fn ops_of_sub_devices_name_them() {
    let folder = tempfile::tempdir().unwrap();
    // A log names the sub-device but not its cores. The chip's 64 cores are not used as the core
    // count.
    let reports = reported(folder.path(), "--workload sub-devices --ops 6");
    for (csv, available) in reports.into_iter().zip(["-", "32"]) {
        let columns =
            ["SUB DEVICE ID", "GLOBAL CALL COUNT", "CORE COUNT", "AVAILABLE WORKER CORE COUNT"];
        let expected = [(1, 1), (2, 0), (3, 0), (4, 1), (5, 0), (6, 0)];
        let expected = expected
            .map(|(id, sub_device)| (format!("{sub_device}/{}/32/{available}", id << 10), 1));
        assert_eq!(counted(&csv, &columns), expected.into(), "{}", csv.display());
    }
    let log = folder.path().join("from-log/.logs/profile_log_device.csv");
    let log = std::fs::read_to_string(log).unwrap();
    let rows = || log.lines().skip(2);
    let of_sub_device = |id| format!("{{\"sub_device_id\":{id};\"sub_device_manager_id\":1}}");
    let [first, second] = [of_sub_device(0), of_sub_device(1)];
    assert!(rows().count() > 1000);
    assert!(rows().all(|row| row.ends_with(&first) || row.ends_with(&second)));
}

/// Returns the peak bytes in DRAM and in L1 while the host enqueued each op, from the simulator's
/// own records.
fn true_peaks(seed: u64, op_count: u64) -> Vec<[u64; 2]> {
    use sim::workload::{BufferMemory, buffer_changes};
    let mut live = std::collections::BTreeMap::new();
    let held = |live: &std::collections::BTreeMap<u64, (BufferMemory, u64)>, memory| {
        live.values().filter(|(of, _)| *of == memory).map(|(_, bytes)| bytes).sum::<u64>()
    };
    let both = [BufferMemory::Dram, BufferMemory::L1];
    let peaks = (0..op_count).map(|op| {
        let mut peak = both.map(|memory| held(&live, memory));
        for change in buffer_changes(seed, op) {
            if change.is_allocated {
                live.insert(change.buffer, (change.memory, change.byte_count));
            } else {
                live.remove(&change.buffer).unwrap();
            }
            for (peak, memory) in peak.iter_mut().zip(both) {
                *peak = (*peak).max(held(&live, memory));
            }
        }
        peak
    });
    peaks.collect()
}

#[test]
fn ops_have_the_peaks_of_the_buffers_that_their_host_held() {
    for seed in [3, 4, 5] {
        let folder = tempfile::tempdir().unwrap();
        let seed_text = seed.to_string();
        let args = ["capture", "--device-memory-profiler", "--seed"];
        let args =
            [&args[..], &[&seed_text, "--grid", "4x2", "--ops", "6", "-o", "x.kprof"]].concat();
        assert_eq!(kprof(folder.path(), &args).status.code(), Some(0));
        stdout(&kprof(folder.path(), &["ops", "x.kprof", "-o", "out"]));
        let csv = folder.path().join("out/reports/ops_perf_results.csv");
        let columns =
            ["GLOBAL CALL COUNT", "DEVICE DRAM BUFFER PEAK [B]", "DEVICE L1 BUFFER PEAK [B]"];
        let expected = (1_u64..).zip(true_peaks(seed, 6)).map(|(id, [dram, l1])| {
            // The cell is empty until the first buffer is allocated.
            let l1 = if l1 == 0 { String::new() } else { l1.to_string() };
            (format!("{}/{dram}/{l1}", id << 10), 1)
        });
        let found = counted(&csv, &columns);
        let says_nothing_or_zero = |key: &String| key.ends_with("/0");
        let found: std::collections::BTreeMap<_, _> = found
            .into_iter()
            .map(|(key, count)| match says_nothing_or_zero(&key) {
                true => (key.trim_end_matches('0').to_owned(), count),
                false => (key, count),
            })
            .collect();
        assert_eq!(found, expected.collect(), "seed {seed}");
    }
}

#[test]
fn a_report_shows_the_peaks_of_buffers_by_memory_and_by_op() {
    for seed in [6_u64, 7] {
        let folder = tempfile::tempdir().unwrap();
        let seed_text = seed.to_string();
        let args = ["capture", "--device-memory-profiler", "--seed"];
        let args =
            [&args[..], &[&seed_text, "--grid", "4x2", "--ops", "9", "-o", "x.kprof"]].concat();
        assert_eq!(kprof(folder.path(), &args).status.code(), Some(0));
        let shown = stdout(&kprof(folder.path(), &["report", "x.kprof", "--json"]));
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        // `kprof run` itself also shows the peaks.
        let args = ["run", "--device-memory-profiler", "--seed"];
        let args = [&args[..], &[&seed_text, "--grid", "4x2", "--ops", "9", "--json"]].concat();
        let ran: serde_json::Value =
            serde_json::from_str(&stdout(&kprof(folder.path(), &args))).unwrap();
        assert_eq!(ran["buffers"], shown["buffers"]);
        let peaks = true_peaks(seed, 9);
        let ops = shown["buffers"]["ops"].as_array().unwrap();
        assert_eq!(ops.len(), peaks.len(), "seed {seed}");
        for (id, (op, [dram, l1])) in (1_u64..).zip(ops.iter().zip(&peaks)) {
            assert_eq!((&op["chip_id"], &op["run_host_id"]), (&0.into(), &(id << 10).into()));
            assert_eq!(op["peak_bytes"]["DRAM"], *dram, "seed {seed} op {id}");
            // The value is null until the first buffer is allocated.
            assert_eq!(op["peak_bytes"]["L1"].as_u64().unwrap_or(0), *l1, "seed {seed} op {id}");
        }
        let memories = shown["buffers"]["memories"].as_array().unwrap();
        let most = |which: usize| peaks.iter().map(|peaks| peaks[which]).max().unwrap();
        for (memory, which) in [("DRAM", 0), ("L1", 1)] {
            let row = memories.iter().find(|row| row["memory"] == memory);
            let peak = row.map_or(0, |row| row["peak_bytes"].as_u64().unwrap());
            assert_eq!(peak, most(which), "seed {seed} {memory}");
        }
        let text = stdout(&kprof(folder.path(), &["report", "x.kprof", "--rows", "3"]));
        assert!(text.contains("Buffers, bytes") && text.contains("... 6 more rows"), "{text}");
        let grouped = most(0).to_string();
        let digits = |line: &str| line.replace(',', "").contains(&grouped);
        assert!(text.lines().any(digits), "{grouped} is not in\n{text}");
        let one =
            stdout(&kprof(folder.path(), &["report", "x.kprof", "--filter", "op=4", "--json"]));
        let one: serde_json::Value = serde_json::from_str(&one).unwrap();
        let [op] = &one["buffers"]["ops"].as_array().unwrap()[..] else { panic!("{one}") };
        assert_eq!(op["run_host_id"], 4 << 10);
    }
    // Without buffers, the output has no peaks.
    let folder = tempfile::tempdir().unwrap();
    let args = ["capture", "--ops", "2", "-o", "x.kprof"];
    assert_eq!(kprof(folder.path(), &args).status.code(), Some(0));
    let shown = stdout(&kprof(folder.path(), &["report", "x.kprof", "--json"]));
    assert!(!shown.contains("buffers"), "{shown}");
}

#[test]
fn accumulated_launches_are_ops_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let options = "--workload multi-op --ops 60 --grid 4x4 --enable-accumulate-profiling";
    for csv in reported(folder.path(), options) {
        let found = counted(&csv, &["GLOBAL CALL COUNT"]);
        // Two runs of 60 ops.
        let expected = (1..=120).map(|id| ((id << 10).to_string(), 1));
        assert_eq!(found, expected.collect(), "{}", csv.display());
    }
    let log = folder.path().join("from-log/.logs/profile_log_device.csv");
    let shown = kprof(folder.path(), &["report", log.to_str().unwrap()]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("Pushes of several launches: "), "{shown}");
    // In BRISC's lane, a push zone of 12 words precedes up to 32 runs of 12 words each. The average
    // launch therefore takes little more than 12 words.
    let options: Vec<&str> = options.split(' ').collect();
    let told = [&["run", "--json", "--op-support-count", "200"][..], &options].concat();
    let told: serde_json::Value =
        serde_json::from_str(&stdout(&kprof(folder.path(), &told))).unwrap();
    let fullest = &told["fullest_lane"];
    let words = fullest["words_per_launch"].as_u64().unwrap();
    assert!((12..=14).contains(&words), "{fullest}");
    let free = fullest["lane_words"].as_u64().unwrap() - fullest["used_words"].as_u64().unwrap();
    // The estimate keeps space for one vector (512 words), and for the records in another vector
    // that are not pushed yet.
    let left = fullest["launches_left"].as_u64().unwrap();
    assert!(left > 0 && left >= free.saturating_sub(1024) / words, "{fullest}");
    assert!(left <= free.saturating_sub(512) / words, "{fullest}");
    let refused =
        kprof(folder.path(), &["run", "--enable-accumulate-profiling", "--enable-sum-profiling"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn ops_have_the_names_of_a_folders_messages_wherever_they_are_shown() {
    let folder = artifacts(LOG, &MESSAGES.replace("\"Add\"", "\"AddOfHost\""), TIMES);
    for args in [
        &["report", "."][..],
        &["report", ".", "--json"],
        &["report", ".", "--filter", "op=AddOf*"],
        &["explain", ".", "--json"],
    ] {
        let told = stdout(&kprof(folder.path(), args));
        assert!(told.contains("AddOfHost"), "{args:?}: {told}");
    }
    let hidden = stdout(&kprof(folder.path(), &["report", ".", "--filter", "op=Mul"]));
    assert!(hidden.contains("Filtered out: 1 launch"), "{hidden}");
    for file in ["out.pftrace", "out.trace.json", "out.html", "out.tracy"] {
        stdout(&kprof(folder.path(), &["export", ".", "-o", file]));
        assert!(holds_name(&folder.path().join(file)), "{file}");
    }
    if cfg!(feature = "parquet") {
        stdout(&kprof(folder.path(), &["export", ".", "--format", "parquet", "-o", "tables"]));
        let tables = folder.path().join("tables");
        let of_ops = files(&tables).into_iter().filter(|file| file.starts_with("ops/"));
        assert_eq!(of_ops.filter(|file| holds_name(&tables.join(file))).count(), 1);
    }
}

fn holds_name(file: &Path) -> bool {
    std::fs::read(file).unwrap().windows(9).any(|bytes| bytes == b"AddOfHost")
}

/// Checks the commands of the simulator's dispatch cores, read from the words of a capture.
#[test]
fn commands_of_dispatch_cores_reach_the_ops_and_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let options = "capture --workload op-support-count --ops 12";
    let mut options: Vec<&str> = options.split(' ').collect();
    options.extend(["--profile-dispatch-cores", "-o", "d.kprof"]);
    stdout(&kprof(folder.path(), &options));
    stdout(&kprof(folder.path(), &["ops", "d.kprof", "-o", "out", "-n", "x"]));
    let csv = files(folder.path()).into_iter().find(|file| file.ends_with("results_x.csv"));
    let csv = std::fs::read_to_string(folder.path().join(csv.unwrap())).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 1 + 12, "the kernels that dispatch are no ops");
    for title in ["DISPATCH TOTAL CQ CMD OP TIME [ns]", "DISPATCH GO SEND WAIT TIME [ns]"] {
        let column = rows[0].iter().position(|&found| found == title).unwrap();
        for row in &rows[1..] {
            let ns: u64 = row[column].parse().unwrap();
            assert!((500..1_000_000).contains(&ns), "{title}: {ns}");
        }
    }
    for name in ["d.pftrace", "d.html", "d.json", "d.folded", "profile_log_device.csv"] {
        stdout(&kprof(folder.path(), &["export", "d.kprof", "-o", name]));
        let bytes = std::fs::read(folder.path().join(name)).unwrap();
        let wanted = b"CQ-DISPATCH:0:CQ_DISPATCH_CMD_WAIT";
        assert!(bytes.windows(wanted.len()).any(|part| part == wanted), "{name}");
    }
    let refused =
        kprof(folder.path(), &["run", "--profile-dispatch-cores", "--device-trace-profiler"]);
    assert_eq!(refused.status.code(), Some(2));
}
