//! NoC traces next to a device log without NoC events.
#![expect(clippy::unwrap_used, reason = "a panic is a test's report")]

use analysis::noc_events::ProgramTrace;
use export::{Trace, TraceFilter};
use std::{fs, path::Path};

const RUNS: [&str; 4] =
    ["blackhole-noc-256", "blackhole-noc-4096", "wormhole-noc-256", "wormhole-noc-4096"];
const NAME: &str = "noc_trace_dev0_ID0.json";

/// Writes the log of a real chip without its NoC events. Also writes TT-Metal's trace of the same
/// run, with shifted times.
fn write_folder(run: &str, folder: &Path, shift: i64) {
    let log = fs::read_to_string(captures::log_path(run)).unwrap();
    let kept: Vec<&str> = log.lines().filter(|line| !line.contains(",12345,")).collect();
    assert!(kept.len() < log.lines().count(), "{run}");
    fs::write(folder.join("profile_log_device.csv"), kept.join("\n")).unwrap();
    let trace = fs::read_to_string(captures::log_path(run).with_file_name(NAME)).unwrap();
    let mut objects: Vec<serde_json::Value> = serde_json::from_str(&trace).unwrap();
    for object in &mut objects {
        let time = object["timestamp"].as_i64().unwrap();
        object["timestamp"] = (time + shift).into();
    }
    fs::write(folder.join(NAME), serde_json::to_string(&objects).unwrap()).unwrap();
}

fn noc_of(path: &Path) -> (Vec<ProgramTrace>, Vec<String>) {
    let loaded = recording::load(path).unwrap();
    let trace = Trace::new(&loaded.recordings[0], &TraceFilter::default());
    (trace.noc.programs, trace.noc.notes)
}

#[test]
fn the_events_of_traces_are_those_that_the_log_would_have() {
    for run in RUNS {
        let logs = captures::log_path(run);
        let (expected, notes) = noc_of(logs.parent().unwrap());
        let source = "NoC events: from the device log; 1 noc_trace file next to it has the same";
        assert_eq!(notes, [source], "{run}");
        for shift in [0, 1_000_000, -1_000_000] {
            let folder = tempfile::tempdir().unwrap();
            write_folder(run, folder.path(), shift);
            let (programs, notes) = noc_of(folder.path());
            assert_eq!(programs, expected, "{run} {shift}");
            let source = "NoC events: 50 events from 1 noc_trace file next to the device log, which \
                          has none itself";
            assert_eq!(notes, [source], "{run} {shift}");
        }
    }
}

#[test]
fn events_of_other_programs_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    write_folder(RUNS[3], folder.path(), 0);
    let own = fs::read_to_string(folder.path().join(NAME)).unwrap();
    let other = own.replace("\"run_host_id\":0", "\"run_host_id\":1024");
    fs::write(folder.path().join("noc_trace_dev0_ID1024.json"), other).unwrap();
    let (programs, notes) = noc_of(folder.path());
    assert_eq!(programs.len(), 1);
    let expected =
        "noc_trace files: left out 50 events of programs that the recording does not have";
    assert_eq!(notes[1..], [expected]);
}
