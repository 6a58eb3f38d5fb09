//! Tests of `kprof record` with programs that contain Tracy's own client, built in
//! `tests/tracy-client`, and with programs that do not.

use crate::program;
use serde_json::Value;
use std::{
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::Output,
};
use tempfile::TempDir;

/// Returns the program with a Tracy client, if it can be built.
fn load() -> Option<PathBuf> {
    let found = std::env::var_os("KPROF_TRACY_LOAD").map(PathBuf::from);
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "expected KPROF_TRACY_LOAD in the gate");
        println!("skipped: KPROF_TRACY_LOAD names no program with a Tracy client");
    }
    found
}

fn kprof(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = program::program();
    command.args(arguments).current_dir(folder).env_remove("TRACY_PORT").output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// Returns the object that `--json` prints after the program's own output.
fn summary(output: &Output) -> Value {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    serde_json::from_str(text.lines().last().unwrap()).unwrap()
}

fn rows(path: &Path) -> Vec<csv::StringRecord> {
    csv::Reader::from_path(path).unwrap().records().map(Result::unwrap).collect()
}

#[test]
fn zones_of_the_program_are_in_every_file() {
    let Some(load) = load() else { return };
    let folder = TempDir::new().unwrap();
    let load = load.to_str().unwrap();
    let arguments = ["record", "--json", "-o", "out", "--", load, "3000", "3", "account"];
    let output = kprof(folder.path(), &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    let summary = summary(&output);
    let [process] = summary["processes"].as_array().unwrap().as_slice() else {
        panic!("{summary}")
    };
    assert_eq!((&process["zones"], &process["end"]), (&3001.into(), &Value::Null));
    assert_eq!(process["damage"], Value::Object(serde_json::Map::new()));
    let logs = folder.path().join("out/.logs");
    let account = std::fs::read_to_string(folder.path().join("account")).unwrap();
    let times = rows(&logs.join("tracy_ops_times.csv"));
    // Zones without a duration are missing in this file, as in files of Tracy's csvexport.
    assert!(times.len() <= 3001 && times.len() > 2500, "{}", times.len());
    let texts =
        |name: &str| times.iter().filter(|row| &row[0] == name && !row[4].is_empty()).count();
    let accounted = account.lines().filter(|line| line.contains("at depth 0")).count();
    assert_eq!(texts("Outer"), accounted);
    let capture = logs.join("tracy_profile_log_host.kprof");
    let trace = folder.path().join("trace.json");
    let arguments = ["export", capture.to_str().unwrap(), "-o", trace.to_str().unwrap()];
    assert!(kprof(folder.path(), &arguments).status.success());
    let trace: Value = serde_json::from_slice(&std::fs::read(trace).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let count = |name: &str| events.iter().filter(|event| event["name"] == name).count();
    let begins = |name: &str| {
        let begins = events.iter().filter(|event| event["name"] == name);
        begins.filter(|event| event["ph"] == "B" || event["ph"] == "X").count()
    };
    assert_eq!([begins("Outer"), begins("Inner")], [1500, 1500], "{}", count("Outer"));
    // Zones of the program's device are in a thread with the device's name.
    assert_eq!(begins("kernel"), 100);
    let names = events.iter().filter(|event| event["name"] == "thread_name");
    let mut names = names.map(|event| event["args"]["name"].as_str().unwrap());
    assert!(names.any(|name| name.starts_with("chip 0 ")));
    assert!(logs.join("tracy_profile_log_host.tracy").metadata().unwrap().len() > 1000);
}

#[test]
fn ops_of_the_host_name_those_of_the_chips() {
    let Some(load) = load() else { return };
    let folder = TempDir::new().unwrap();
    let run = ["run", "--workload", "matmul", "--ops", "3", "-o", "sim"];
    assert!(kprof(folder.path(), &run).status.success());
    // The script copies the log that tt-metal would write.
    let script = format!(
        "cp sim/.logs/profile_log_device.csv $TT_METAL_PROFILER_DIR/.logs/ && \
         TRACY_LOAD_OPS=1024,2048,3072 {} 100 1 account",
        load.display()
    );
    let output =
        kprof(folder.path(), &["record", "-r", "-n", "x", "-o", "out", "--", "sh", "-c", &script]);
    assert!(output.status.success(), "{}", stderr(&output));
    let report = folder.path().join("out/reports/x/ops_perf_results_x.csv");
    let mut reader = csv::Reader::from_path(report).unwrap();
    let titles = reader.headers().unwrap().clone();
    let column = |title: &str| titles.iter().position(|found| found == title).unwrap();
    let (code, duration, host) =
        (column("OP CODE"), column("DEVICE FW DURATION [ns]"), column("HOST DURATION [ns]"));
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    let codes: Vec<&str> = rows.iter().map(|row| &row[code]).collect();
    assert_eq!(codes, ["Op1024", "Op2048", "Op3072"]);
    for row in &rows {
        assert!(row[duration].parse::<u64>().unwrap() > 0 && row[host].parse::<u64>().unwrap() > 0);
    }
}

#[test]
fn each_process_is_recorded_and_the_exit_code_is_the_programs() {
    let Some(load) = load() else { return };
    let folder = TempDir::new().unwrap();
    let load = load.display();
    let script = format!("{load} 2000 2 one & {load} 1000 1 two; wait; exit 7");
    let output =
        kprof(folder.path(), &["record", "--json", "-o", "out", "--", "sh", "-c", &script]);
    assert_eq!(output.status.code(), Some(7), "{}", stderr(&output));
    let summary = summary(&output);
    let processes = summary["processes"].as_array().unwrap();
    let mut zones: Vec<u64> = processes.iter().map(|one| one["zones"].as_u64().unwrap()).collect();
    zones.sort_unstable();
    assert_eq!(zones, [1001, 2001]);
    for file in summary["files"].as_array().unwrap() {
        assert!(Path::new(file.as_str().unwrap()).is_file(), "{file}");
    }
}

#[test]
fn a_killed_program_leaves_what_it_had_sent() {
    let Some(load) = load() else { return };
    let folder = TempDir::new().unwrap();
    let script = format!("{} 2000 2 account 60 & sleep 2; kill -9 $!; wait", load.display());
    let output = kprof(folder.path(), &["record", "-o", "out", "--", "sh", "-c", &script]);
    let lines = stderr(&output);
    assert!(lines.contains("2,002 zones of "), "{lines}");
    assert!(lines.contains("an unknown part is missing"), "{lines}");
    assert!(lines.contains("zones without an end: 1"), "{lines}");
    assert!(folder.path().join("out/.logs/tracy_ops_times.csv").is_file());
}

#[test]
fn a_port_that_is_taken_is_named() {
    let taken = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let folder = TempDir::new().unwrap();
    let output = kprof(folder.path(), &["record", "--port", &port, "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    let line = stderr(&output);
    assert!(
        line.contains(&format!("expected a free port for --port, found {port} taken")),
        "{line}"
    );
    assert!(!folder.path().join("generated").exists());
}

/// A client of a version that does not exist; it accepts only one version of the greeting.
const CLIENT_OF_99: &str = "
import socket, struct
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
for port in range(8086, 8106):
    try:
        listener.bind(('127.0.0.1', port))
        break
    except OSError:
        pass
listener.listen(8)
while True:
    stream, _ = listener.accept()
    greeting = b''
    while len(greeting) < 12:
        greeting += stream.recv(12 - len(greeting))
    known = struct.unpack('<I', greeting[8:])[0] == 99
    stream.sendall(b'\\x01' if known else b'\\x02')
    stream.close()
    if known:
        break
";

#[test]
fn a_client_of_an_unknown_version_is_named_and_the_program_goes_on() {
    let folder = TempDir::new().unwrap();
    let arguments = ["record", "-o", "out", "--", "python3", "-c", CLIENT_OF_99];
    let output = kprof(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines = stderr(&output);
    assert!(lines.contains("speaks a protocol from 66 to 83, found 99"), "{lines}");
}

#[test]
fn programs_without_a_client_run_as_they_would_alone() {
    let folder = TempDir::new().unwrap();
    let code = |arguments: &[&str]| kprof(folder.path(), arguments).status.code();
    assert_eq!(code(&["record", "--", "sh", "-c", "exit 5"]), Some(5));
    assert_eq!(code(&["record", "--check-exit-code", "--", "sh", "-c", "exit 5"]), Some(4));
    assert_eq!(code(&["record", "--", "sh", "-c", "kill -9 $$"]), Some(137));
    let output = kprof(folder.path(), &["record", "--", "echo", "-r", "words"]);
    assert_eq!(output.stdout, b"-r words\n");
    assert!(stderr(&output).contains("no process of the program had a Tracy client"));
    let output = kprof(folder.path(), &["record", "--", "./missing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("cannot start the program `./missing`"));
}

/// An empty report does not change the program's exit code, and does not state that nothing was
/// lost.
#[test]
fn a_report_without_ops_leaves_the_exit_code_alone() {
    let folder = TempDir::new().unwrap();
    let report = folder.path().join("out/reports/none/ops_perf_results_none.csv");
    let record = |script: &str| {
        let arguments = ["record", "-r", "-n", "none", "-o", "out", "--", "sh", "-c", script];
        kprof(folder.path(), &arguments)
    };
    // A program that failed before anything was recorded has no report.
    let failed = record("exit 5");
    assert_eq!(failed.status.code(), Some(5), "{}", stderr(&failed));
    assert!(stderr(&failed).contains("so there is no report"), "{}", stderr(&failed));
    assert!(!report.exists());
    let output = record("exit 0");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(rows(&report).len(), 0);
    let said = String::from_utf8(output.stdout.clone()).unwrap() + &stderr(&output);
    assert!(!said.contains("Lost: nothing"), "{said}");
}

/// Collected NoC events fill columns of the report, as with tt-metal's own program.
#[test]
fn collected_noc_events_fill_the_columns_of_the_report() {
    let captures = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/captures/mesham-tt-sim");
    // The script copies the log and the trace that tt-metal would write.
    let script = format!("cp {captures}/wormhole-noc-4096/* $TT_METAL_PROFILER_DIR/.logs/");
    let noc_use = |options: &[&str]| {
        let folder = TempDir::new().unwrap();
        let record = ["record", "-r", "-n", "x", "-o", "out"];
        let arguments = [&record[..], options, &["--", "sh", "-c", &script]].concat();
        let output = kprof(folder.path(), &arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        let report = folder.path().join("out/reports/x/ops_perf_results_x.csv");
        let mut reader = csv::Reader::from_path(report).unwrap();
        let column = reader.headers().unwrap().iter().position(|title| title == "NOC UTIL (%)");
        let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), 1);
        column.map_or_else(String::new, |column| rows[0][column].to_owned())
    };
    assert!(noc_use(&["--collect-noc-traces"]).parse::<f64>().unwrap() > 0.0);
    assert_eq!(noc_use(&[]), "");
}

#[test]
fn logs_of_the_run_before_are_moved_and_not_mixed_in() {
    let folder = TempDir::new().unwrap();
    let logs = folder.path().join("out/.logs");
    std::fs::create_dir_all(&logs).unwrap();
    std::fs::write(logs.join("profile_log_device.csv"), "old").unwrap();
    assert!(kprof(folder.path(), &["record", "-o", "out", "--", "true"]).status.success());
    assert_eq!(std::fs::read_dir(&logs).unwrap().count(), 0);
    let moved = folder.path().join("out/.logs.previous/profile_log_device.csv");
    assert_eq!(std::fs::read_to_string(moved).unwrap(), "old");
}

#[test]
fn signals_reach_the_program() {
    let folder = TempDir::new().unwrap();
    let script = "trap 'exit 9' TERM; touch ready; while :; do sleep 0.05; done";
    let mut child = program::program()
        .args(["record", "--", "sh", "-c", script])
        .current_dir(folder.path())
        .spawn()
        .unwrap();
    while !folder.path().join("ready").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

/// Tests a variable of each kind: a variable that is always set, a number, a folder, and a variable
/// that an option removes. The unit tests of `kprof record` contain the table of all options.
#[test]
fn the_program_has_the_variables_of_the_options() {
    let folder = TempDir::new().unwrap();
    let out = folder.path().join("out").display().to_string();
    let noc_folder = format!("{out}/.logs");
    let has = |options: &str, name: &str| {
        let mut arguments = vec!["record", "-o", "out"];
        arguments.extend(options.split_whitespace());
        let print = format!("printenv {name} > found || true");
        arguments.extend(["--", "sh", "-c", &print]);
        let output = kprof(folder.path(), &arguments);
        assert!(output.status.success(), "{}", stderr(&output));
        std::fs::read_to_string(folder.path().join("found")).unwrap().trim().to_owned()
    };
    for (options, name, value) in [
        ("", "TT_METAL_DEVICE_PROFILER", "1"),
        ("", "TT_METAL_PROFILER_DIR", &out),
        ("", "TT_METAL_PROFILER_CPP_POST_PROCESS", "1"),
        ("--no-device", "TT_METAL_DEVICE_PROFILER", ""),
        ("--op-support-count 5000", "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT", "5000"),
        ("--enable-sum-profiling", "TT_METAL_PROFILER_CPP_POST_PROCESS", ""),
        ("--collect-noc-traces", "TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH", &noc_folder),
    ] {
        assert_eq!(has(options, name), value, "{options} {name}");
    }
}

#[test]
fn variables_of_the_user_reach_the_program_and_their_problems_are_named() {
    let folder = TempDir::new().unwrap();
    let output = program::program()
        .args(["record", "-o", "out", "--", "sh", "-c", "printenv TT_METAL_PROFILER_SUM > found"])
        .current_dir(folder.path())
        .env("TT_METAL_PROFILER_SUM", "1")
        .env("TT_METAL_PROFILER_MIDRUN_DUMP", "1")
        .env("TT_METAL_DPRINT_CORES", "all")
        .output()
        .unwrap();
    assert!(output.status.success());
    assert_eq!(std::fs::read_to_string(folder.path().join("found")).unwrap(), "1\n");
    let said = stderr(&output);
    for line in [
        "kprof: TT_METAL_DPRINT_CORES and the profiler exclude each other, since both use the same \
         L1; TT-Metal stops, so unset TT_METAL_DPRINT_CORES\n",
        "kprof: TT_METAL_PROFILER_MIDRUN_DUMP is not known; did you mean \
         TT_METAL_PROFILER_MID_RUN_DUMP?\n",
    ] {
        assert!(said.contains(line), "{said}");
    }
}

#[test]
fn lines_of_kernels_are_refused_where_nothing_counts_them() {
    let folder = TempDir::new().unwrap();
    let program = ["sh", "-c", "touch ran"];
    for options in [&["record", "-l"][..], &["record", "--lines", "--"]] {
        let output = program::program()
            .args([options, &program].concat())
            .current_dir(folder.path())
            .env_remove("TT_METAL_SIMULATOR")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        let told = stderr(&output);
        assert!(told.starts_with("kprof: expected --simulate with --lines, because"), "{told}");
        assert!(!folder.path().join("ran").exists());
    }
}

/// A misspelt option was taken for the program, and the message spoke of a program.
#[test]
fn a_misspelt_option_is_named_and_no_program_runs() {
    let folder = TempDir::new().unwrap();
    for (options, said) in [
        (&["--sync-host-devcie"][..], "did you mean --sync-host-device?"),
        (&["-r", "--perf-counter-multipas"], "did you mean --perf-counter-multipass?"),
        (&["--no-such-thing-at-all"], "`kprof record --help` lists the options"),
        (&["-x"], "`kprof record --help` lists the options"),
    ] {
        let program = ["sh", "-c", "touch ran"];
        let output = kprof(folder.path(), &[&["record"], options, &program].concat());
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        let word = options.last().unwrap();
        assert!(told.contains(&format!("found {word}; ")) && told.contains(said), "{told}");
        assert!(!folder.path().join("ran").exists());
    }
}

#[test]
fn counters_of_several_l1_banks_are_refused_with_the_runs_that_read_them() {
    let folder = TempDir::new().unwrap();
    let refused = |groups: &str| {
        let options =
            ["record", "--perf-counter-multipass", "--profiler-capture-perf-counters", groups];
        let output = kprof(folder.path(), &[&options[..], &["--no-device", "--", "true"]].concat());
        let told = stderr(&output);
        assert!(output.status.success() || told.contains("run it once for each bank"), "{told}");
        !output.status.success()
    };
    let found = ["fpu,pack,l1_1", "l1_0,l1_2", "all", "l1_client=9"].map(refused);
    assert_eq!(found, [false, true, true, false]);
}
