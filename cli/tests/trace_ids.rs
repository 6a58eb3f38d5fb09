//! A log in which some records of a replay lack their trace id: the report, the explanation and the ops report.

use crate::program::kprof;
use serde_json::{Value, json};
use std::path::Path;

/// Log of two cores that run program 1024 outside of traces and then in replay 1 of trace 7, each for 900 cycles.
/// On the first core, the starts of NCRISC's zones in the replay lack the trace id.
fn log() -> String {
    let mut log = String::from(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
         PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, \
         trace id, trace id counter, zone name, type, source line, source file, meta data\n",
    );
    let zones =
        [("FW", "START", 0), ("KERNEL", "START", 50), ("KERNEL", "END", 950), ("FW", "END", 1_000)];
    for (core, is_faulty) in [("1,2", true), ("2,2", false)] {
        for (risc, id) in [("BRISC", 10), ("NCRISC", 20)] {
            for (begin, trace) in [(1_000, ","), (5_000, "7,1")] {
                for (zone, kind, after) in zones {
                    let lacks = is_faulty && risc == "NCRISC" && kind == "START";
                    let (trace, time) = (if lacks { "," } else { trace }, begin + after);
                    let id = id + u64::from(zone == "KERNEL");
                    log += &format!(
                        "0,{core},{risc},{id},{time},0,1024,{trace},{risc}-{zone},ZONE_{kind},1,/k.cc,\n"
                    );
                }
            }
        }
    }
    log
}

fn said(folder: &Path, args: &[&str]) -> String {
    let output = kprof(folder, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_launch_whose_records_disagree_on_the_trace_id_is_one_launch_in_each_output() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let name = "profile_log_device.csv";
    std::fs::write(folder.join(name), log()).unwrap();
    let report: Value = serde_json::from_str(&said(folder, &["report", name, "--json"])).unwrap();
    let ops = report["ops"].as_array().unwrap().iter().map(|op| {
        json!([op["trace_id"], op["core_count"], op["kernel_ns"], op["ncrisc_kernel_ns"]])
    });
    let expected = [json!([null, 2, 900, 900]), json!([7, 2, 900, 900])];
    assert_eq!(ops.collect::<Vec<_>>(), expected, "{:#}", report["ops"]);
    assert_eq!((&report["anomalies"], &report["repairs"]), (&json!(0), &json!(2)));
    let text = said(folder, &["report", name]);
    assert!(text.contains("Repairs: 2 × record without its trace id"), "{text}");
    let text = said(folder, &["explain", name]);
    assert!(
        text.contains("2 records without the trace id that others of the same run have"),
        "{text}"
    );
    assert!(!text.contains("no end in this recording"), "{text}");
    said(folder, &["ops", name, "-o", "out"]);
    let found = std::fs::read_dir(folder.join("out")).unwrap();
    let mut folders: Vec<_> = found.map(|entry| entry.unwrap().path()).collect();
    let csv = loop {
        let path = folders.pop().unwrap();
        match path.is_dir() {
            true => folders.extend(std::fs::read_dir(path).unwrap().map(|of| of.unwrap().path())),
            false if path.ends_with("ops_perf_results.csv") => break path,
            false => {}
        }
    };
    let csv = std::fs::read_to_string(csv).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let column = rows[0].iter().position(|of| *of == "DEVICE KERNEL DURATION [ns]").unwrap();
    assert_eq!(rows[1..].iter().map(|row| row[column]).collect::<Vec<_>>(), ["900", "900"]);
}
