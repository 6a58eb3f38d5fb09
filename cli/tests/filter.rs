//! Tests of filters in every command that reads a recording.

use crate::program;
use host_reader::{
    analysis::ops_of,
    capture::{Capture, CaptureWriter},
    host::{HostRecorder, HostRecorderOptions},
};
use serde_json::Value;
use std::{
    collections::BTreeSet,
    io::Write,
    path::Path,
    process::{Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

fn kprof(folder: &Path, args: &[&str]) -> Output {
    program::kprof(folder, args)
}

#[track_caller]
fn json(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[track_caller]
fn assert_refused(output: &Output, sentence: &str) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(sentence), "{errors}");
}

/// Writes a capture of eight ops on eight cores of each of two chips, `a.kprof`.
fn capture(folder: &Path) {
    let args = ["capture", "--ops", "8", "--devices", "2", "--grid", "4x2", "-o", "a.kprof"];
    assert_eq!(kprof(folder, &args).status.code(), Some(0));
}

/// Sets a signpost before the second op of the first chip, and another before the fifth op.
fn set_signposts(path: &Path) {
    let capture = Capture::open(path).unwrap();
    let mut run = capture.runs().unwrap().remove(0);
    let clock = run.samples.fit();
    clock.tile_origins(&run.readout).align(&mut run.readout);
    let chip = clock.reference_clock(0).unwrap();
    let now = Arc::new(AtomicU64::new(0));
    let of_recorder = Arc::clone(&now);
    let recorder = HostRecorder::new(HostRecorderOptions {
        clock: Some(Arc::new(move || of_recorder.load(Ordering::Relaxed))),
        ..HostRecorderOptions::default()
    });
    let ops = ops_of(&run.readout);
    let begin = |id| ops.iter().find(|op| (op.chip_id, op.run_host_id >> 10) == (0, id)).unwrap();
    for (name, op) in [("start", 2), ("stop", 5)] {
        let cycle = begin(op).firmware.unwrap().start_cycle;
        now.store(u64::try_from(chip.to_host_ns(cycle).ns).unwrap() - 300, Ordering::Relaxed);
        recorder.signpost(name, None, None);
    }
    CaptureWriter::append_to(path).unwrap().append_recorder(&recorder).unwrap();
}

/// Returns the chip and the program number of each op in a report.
fn ops(report: &Value) -> BTreeSet<(u64, u64)> {
    let number = |op: &Value, field: &str| op[field].as_u64().unwrap();
    let ops = report["ops"].as_array().unwrap().iter();
    ops.map(|op| (number(op, "chip_id"), number(op, "run_host_id") >> 10)).collect()
}

#[test]
fn reports_show_the_launches_lanes_and_zones_that_are_wanted() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let report = |filter: &[&str]| {
        let filters = filter.iter().flat_map(|terms| ["--filter", terms]);
        let args: Vec<_> = ["report", "a.kprof", "--json"].into_iter().chain(filters).collect();
        json(&kprof(folder.path(), &args))
    };
    let whole = report(&[]);
    assert_eq!((ops(&whole).len(), &whole["filtered_out"]), (16, &Value::Null));
    let part = report(&["op=3..5,device=1", "risc=brisc,zone!=*-FW"]);
    assert_eq!(ops(&part), (3..=5).map(|op| (1, op)).collect());
    for zone in part["zones"].as_array().unwrap() {
        assert_eq!((&zone["risc"], &zone["chip_id"]), (&"BRISC".into(), &1.into()));
        assert_ne!(zone["name"], "BRISC-FW");
    }
    assert_eq!(part["filtered_out"]["launch_count"], 13);
    // Shown and hidden records add up to all records.
    let kept = part["kept"]["zones"].as_u64().unwrap();
    let hidden = part["filtered_out"]["record_count"].as_u64().unwrap();
    let total = whole["kept"]["zones"].as_u64().unwrap();
    assert_eq!(kept * 2 + others(&part) + hidden, total * 2 + others(&whole));
    let tables = kprof(folder.path(), &["report", "a.kprof", "--filter", "op=3"]);
    let tables = String::from_utf8(tables.stdout).unwrap();
    assert!(tables.contains("Filtered out: 14 launches, 0 lanes, "), "{tables}");
}

/// Returns the number of records that do not belong to a zone.
fn others(report: &Value) -> u64 {
    ["data", "events", "sums"].iter().map(|kind| report["kept"][kind].as_u64().unwrap()).sum()
}

#[test]
fn a_range_of_signposts_takes_the_launches_between() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let args = ["report", "a.kprof", "--json", "--filter", "signpost=start..stop,device=0"];
    let refused = kprof(folder.path(), &args);
    assert_refused(&refused, "expected a signpost `start` that the host recorded, found none");
    set_signposts(&folder.path().join("a.kprof"));
    let found = ops(&json(&kprof(folder.path(), &args)));
    // The first op may still be running when the first signpost is set.
    assert!(found.is_superset(&(2..=4).map(|op| (0, op)).collect()), "{found:?}");
    assert!(found.iter().all(|&(_, op)| op <= 4), "{found:?}");
    let args = ["ops", "a.kprof", "-o", "out", "--json", "--filter", "device=0"];
    let told = json(&kprof(folder.path(), &args));
    assert_eq!((&told["rows"], &told["problem_count"]), (&10.into(), &0.into()), "{told}");
    let csv = std::fs::read_to_string(folder.path().join("out/reports/ops_perf_results.csv"));
    let codes: Vec<_> =
        csv.unwrap().lines().map(|line| line.split(',').next().unwrap().to_owned()).collect();
    let signposts: Vec<_> = codes
        .iter()
        .enumerate()
        .filter(|(_, code)| ["start", "stop"].contains(&&***code))
        .collect();
    assert_eq!(signposts, [(2, &"start".to_owned()), (6, &"stop".to_owned())], "{codes:?}");
}

#[test]
fn ops_and_differences_of_a_part_are_of_that_part() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let args = ["ops", "a.kprof", "-o", "out", "--json", "--filter", "op=3..4,device=1"];
    let told = json(&kprof(folder.path(), &args));
    assert_eq!((&told["rows"], &told["host_ops"]), (&2.into(), &2.into()), "{told}");
    assert_eq!(told["filtered_out"]["launch_count"], 14);
    // A filter that selects nothing gives a report without rows.
    let none = ["ops", "a.kprof", "-o", "none", "--json", "--filter", "op=99"];
    assert_eq!(json(&kprof(folder.path(), &none))["rows"], 0);
    let csv = std::fs::read_to_string(folder.path().join("none/reports/ops_perf_results.csv"));
    assert!(csv.unwrap().starts_with("OP CODE,OP TYPE,"));
    // The filter does not affect the logs.
    let again = ["ops", "out/.logs/profile_log_device.csv", "-o", "log", "--json"];
    let whole = json(&kprof(folder.path(), &again));
    assert_eq!(whole["device_ops"], 16);
    let part =
        json(&kprof(folder.path(), &[&again[..], &["--filter", "op=3..4,device=1"]].concat()));
    assert_eq!((&part["device_ops"], &part["problem_count"]), (&2.into(), &0.into()), "{part}");
    let exact = [&again[..], &["--filter", "op=3", "--upstream-exact"]].concat();
    assert_eq!(kprof(folder.path(), &exact).status.code(), Some(2));
    let args = ["diff", "a.kprof", "a.kprof", "--json", "--filter", "risc=ncrisc,zone=Load*,op=3"];
    let diff = json(&kprof(folder.path(), &args));
    for change in diff["changes"].as_array().unwrap().iter().filter(|c| c["kind"] == "zone") {
        assert!(change["name"].as_str().unwrap().starts_with("Load"), "{change}");
    }
}

#[test]
fn a_log_may_come_from_standard_input() {
    let folder = tempfile::tempdir().unwrap();
    let log = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/captures/mesham-tt-sim/wormhole-noc-256/profile_log_device.csv");
    let mut child = program::program()
        .args(["report", "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(&log).unwrap()).unwrap();
    let piped = json(&child.wait_with_output().unwrap());
    let named = json(&kprof(folder.path(), &["report", log.to_str().unwrap(), "--json"]));
    assert_eq!(piped, named);
}
