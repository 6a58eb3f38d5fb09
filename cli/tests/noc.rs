//! Tests of `kprof noc` on logs with NoC events that TT-Metal wrote.

use crate::program;
use std::{
    path::{Path, PathBuf},
    process::Output,
};

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures")
}

fn noc(arguments: &[&str]) -> Output {
    program::program().arg("noc").args(arguments).output().unwrap()
}

fn log(run: &str) -> String {
    captures().join("mesham-tt-sim").join(run).join("profile_log_device.csv").display().to_string()
}

#[test]
fn the_files_of_a_log_are_those_that_tt_metal_wrote() {
    for run in ["blackhole-noc-256", "blackhole-noc-4096", "wormhole-noc-256", "wormhole-noc-4096"]
    {
        let folder = tempfile::tempdir().unwrap();
        let output = noc(&[&log(run), "-o", &folder.path().display().to_string()]);
        assert!(output.status.success(), "{output:?}");
        let name = "noc_trace_dev0_ID0.json";
        let theirs = std::fs::read(captures().join("mesham-tt-sim").join(run).join(name)).unwrap();
        let ours = std::fs::read(folder.path().join(name)).unwrap();
        assert!(ours == theirs, "{run}");
    }
}

/// If a log has no NoC events, `kprof noc` takes the events of the noc_trace files next to the log.
/// The figures are the same.
#[test]
fn a_log_without_events_has_those_of_the_files_next_to_it() {
    for run in ["blackhole-noc-256", "blackhole-noc-4096", "wormhole-noc-256", "wormhole-noc-4096"]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let name = "noc_trace_dev0_ID0.json";
        let capture = captures().join("mesham-tt-sim").join(run);
        std::fs::copy(capture.join(name), path(name)).unwrap();
        let text = std::fs::read_to_string(log(run)).unwrap();
        let kept: Vec<_> = text.lines().filter(|line| !line.contains(",12345,")).collect();
        std::fs::write(path("profile_log_device.csv"), kept.join("\n")).unwrap();
        let json = |input: &str| {
            let output = noc(&[input, "--json", "--utilization"]);
            assert!(output.status.success(), "{output:?}");
            let mut document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(document["notes"], serde_json::json!([]));
            (document["source"].take(), document)
        };
        let (with, without) = (json(&log(run)), json(&path("")));
        assert_eq!(without.1, with.1, "{run}");
        let same = "NoC events: from the device log; 1 noc_trace file next to it has the same";
        assert_eq!(with.0, serde_json::json!(same), "{run}");
        let source = "NoC events: 50 events from 1 noc_trace file next to the device log, which has \
                      none itself";
        assert_eq!(without.0, serde_json::json!(source), "{run}");
        assert!(noc(&[&path(""), "-o", &path("written")]).status.success());
        let [ours, theirs] = [&path("written"), &capture.display().to_string()]
            .map(|of| std::fs::read(Path::new(of).join(name)).unwrap());
        assert!(ours == theirs, "{run}");
    }
}

/// The coordinates of chips in a cluster are copied from the log's folder. If the folder has none,
/// an existing output file is kept, or null coordinates are written.
#[test]
fn coordinates_in_a_cluster_come_along_and_are_unknown_without() {
    const NAME: &str = "cluster_coordinates.json";
    for run in ["blackhole-noc-256", "wormhole-noc-256"] {
        let capture = captures().join("mesham-tt-sim").join(run);
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("traces").display().to_string();
        let written = || std::fs::read_to_string(Path::new(&target).join(NAME)).unwrap();
        assert!(noc(&[&log(run), "-o", &target]).status.success());
        let known = std::fs::read_to_string(capture.join(NAME)).unwrap();
        assert_eq!(written(), known, "{run}");
        // If the log's folder has no coordinates, an existing output file is unchanged. Otherwise
        // the output has null coordinates, as TT-Metal writes for a p150.
        let alone = folder.path().join("profile_log_device.csv");
        std::fs::copy(log(run), &alone).unwrap();
        assert!(noc(&[&alone.display().to_string(), "-o", &target]).status.success());
        assert_eq!(written(), known, "{run}");
        std::fs::remove_file(Path::new(&target).join(NAME)).unwrap();
        assert!(noc(&[&alone.display().to_string(), "-o", &target]).status.success());
        let of_p150 = captures().join("mesham-tt-sim/blackhole-noc-256").join(NAME);
        assert_eq!(written(), std::fs::read_to_string(of_p150).unwrap(), "{run}");
    }
}

/// The input may be the artifacts folder that contains `.logs`, the folder `.logs`, or the log
/// itself.
#[test]
fn a_cluster_of_a_folder_is_found_where_the_log_is() {
    const NAME: &str = "cluster_coordinates.json";
    let known = "{\"physical_chip_to_eth_coord\":{\"0\":{\"rack\":3,\"shelf\":1,\"x\":2,\"y\":0}}}";
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join(".logs");
    std::fs::create_dir(&logs).unwrap();
    std::fs::copy(log("wormhole-noc-256"), logs.join("profile_log_device.csv")).unwrap();
    std::fs::write(logs.join(NAME), known).unwrap();
    let topology = "{\"cluster_type\": \"P150\"}";
    std::fs::write(logs.join("topology.json"), topology).unwrap();
    let file = logs.join("profile_log_device.csv");
    for (number, input) in [folder.path(), &logs, &file].into_iter().enumerate() {
        let target = folder.path().join(number.to_string()).display().to_string();
        assert!(noc(&[&input.display().to_string(), "-o", &target]).status.success());
        let written = std::fs::read_to_string(Path::new(&target).join(NAME)).unwrap();
        assert_eq!(written, known, "{}", input.display());
        let written = std::fs::read_to_string(Path::new(&target).join("topology.json")).unwrap();
        assert_eq!(written, topology, "{}", input.display());
    }
}

/// A folder with noc_trace files but without a log can be read. Each file is used, also that of a
/// trace replay, and each error message contains the name of the file.
#[test]
fn a_folder_of_traces_alone_is_read() {
    let real = captures().join("mesham-tt-sim/wormhole-noc-256/noc_trace_dev0_ID0.json");
    let text = std::fs::read_to_string(real).unwrap();
    let counted = |folder: &Path| {
        let output = noc(&[&folder.display().to_string(), "--json"]);
        assert!(output.status.success(), "{output:?}");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let of_row = |row: &serde_json::Value| row["events"].as_u64().unwrap();
        let events: u64 = json["events"].as_array().unwrap().iter().map(of_row).sum();
        (events, String::from_utf8(output.stderr).unwrap())
    };
    let folder = tempfile::tempdir().unwrap();
    let first = folder.path().join("noc_trace_dev0_ID0.json");
    // The text follows a byte order mark, as some editors write it.
    std::fs::write(&first, format!("\u{FEFF}{text}")).unwrap();
    let (one, told) = counted(folder.path());
    assert!(one > 0 && told.is_empty(), "{one} events; {told}");
    let replay = "noc_trace_dev1_ID1_traceID4294967298.json";
    let moved = text.replace("\"src_device_id\": 0", "\"src_device_id\": 1");
    let moved = moved.replace("\"run_host_id\": 0", "\"run_host_id\": 1");
    std::fs::write(folder.path().join(replay), &moved).unwrap();
    std::fs::write(folder.path().join("noc_trace_dev2_ID2.json"), &text[..4]).unwrap();
    std::fs::write(folder.path().join("unrelated.json"), "{}").unwrap();
    let (two, told) = counted(folder.path());
    assert_eq!(two, 2 * one);
    assert!(told.contains("noc_trace_dev2_ID2.json: nothing after object"), "{told}");
    assert!(!told.contains("unrelated"), "{told}");
    // Files that are read and written again have the same names and the same bytes, also the file
    // of the replay.
    let target = folder.path().join("again");
    let input = folder.path().display().to_string();
    assert!(noc(&[&input, "-o", &target.display().to_string()]).status.success());
    assert_eq!(std::fs::read_to_string(target.join("noc_trace_dev0_ID0.json")).unwrap(), text);
    assert_eq!(std::fs::read_to_string(target.join(replay)).unwrap(), moved);
}

/// tt-npe publishes traces of several runs of which neither the names nor the objects name a program.
#[test]
fn traces_of_several_runs_of_a_program_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let event = |bytes: u32, time: u32| {
        format!(
            r#"{{"proc":"BRISC","sx":1,"sy":2,"dx":3,"dy":2,"noc":"NOC_0","timestamp":{time},"type":"READ","num_bytes":{bytes}}}"#
        )
    };
    let write = |name: &str, events: &[String]| {
        std::fs::write(folder.path().join(name), format!("[{}]", events.join(","))).unwrap();
    };
    write("one.json", &[event(64, 7)]);
    write("two.json", &[event(128, 7), event(128, 9)]);
    let output = noc(&[folder.path().to_str().unwrap(), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = json["events"].as_array().unwrap().iter();
    let rows: Vec<_> = rows
        .map(|row| [&row["op_name"], &row["events"], &row["bytes"]].map(ToString::to_string))
        .collect();
    assert_eq!(rows, [["\"one\"", "1", "64"], ["\"two\"", "2", "256"]], "{json}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("2 files have events of the same program"), "{told}");
    // Of files that say which program they are of, each is one.
    std::fs::remove_file(folder.path().join("two.json")).unwrap();
    write("noc_trace_dev0_ID1.json", &[event(64, 7)]);
    write("noc_trace_dev0_ID2.json", &[event(64, 7)]);
    let told = noc(&[folder.path().to_str().unwrap()]).stderr;
    assert!(!String::from_utf8(told).unwrap().contains("of the same program"));
}

/// tt-npe publishes the traces of four chips beside one file with all of their events.
#[test]
fn events_of_a_joined_file_beside_its_parts_count_once() {
    const NAME: &str = "noc_trace_dev0_ID0.json";
    let real = captures().join("mesham-tt-sim/wormhole-noc-256").join(NAME);
    let folder = tempfile::tempdir().unwrap();
    let rows = |output: &Output| -> serde_json::Value {
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        json["events"].clone()
    };
    let input = folder.path().to_str().unwrap();
    std::fs::copy(&real, folder.path().join("all.json")).unwrap();
    let alone = noc(&[input, "--json"]);
    std::fs::copy(&real, folder.path().join(NAME)).unwrap();
    let both = noc(&[input, "--json"]);
    assert_eq!(rows(&both), rows(&alone));
    assert_eq!(rows(&both), rows(&noc(&[real.to_str().unwrap(), "--json"])));
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said(&both).contains("all.json: not read, because 1 file with NoC events"),
        "{}",
        said(&both)
    );
    assert!(!said(&alone).contains("not read"), "{}", said(&alone));
}

/// In older traces, zones have no chip number, so the chip number comes from the file name.
#[test]
fn zones_of_older_traces_are_of_the_chip_that_the_name_says() {
    let line = captures().join("tt-npe/line-4");
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().display().to_string();
    assert!(noc(&[&line.display().to_string(), "-o", &target]).status.success());
    let traces = |folder: &Path| {
        let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
        names.retain(|name| name.starts_with("noc_trace_"));
        names.sort();
        names
    };
    assert_eq!(traces(folder.path()), traces(&line));
    assert_eq!(traces(&line).len(), 2);
    for name in traces(&line) {
        let objects = |folder: &Path| {
            let text = std::fs::read_to_string(folder.join(&name)).unwrap();
            let json: serde_json::Value = serde_json::from_str(&text).unwrap();
            json.as_array().unwrap().len()
        };
        assert_eq!(objects(folder.path()), objects(&line), "{name}");
    }
}

#[test]
fn json_holds_every_event_pair_and_link() {
    let output = noc(&[&log("blackhole-noc-4096"), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let pairs: Vec<_> = json["pairs"].as_array().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(pairs.len(), 2);
    for pair in json["pairs"].as_array().unwrap() {
        assert_eq!((pair["transfers"].as_u64(), pair["bytes"].as_u64()), (Some(8), Some(32_768)));
    }
    let events = json["events"].as_array().unwrap().iter();
    assert_eq!(events.map(|event| event["events"].as_u64().unwrap()).sum::<u64>(), 50);
    let bytes =
        json["links"].as_array().unwrap().iter().map(|link| link["bytes"].as_u64().unwrap());
    assert!(bytes.clone().count() > 1 && bytes.is_sorted_by(|one, next| one >= next), "{json:#}");
}

#[test]
fn utilization_is_of_each_program_and_says_what_is_unknown() {
    let text = |options: &[&str]| {
        let output =
            noc(&[&[log("wormhole-noc-4096").as_str(), "--utilization"], options].concat());
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    let json: serde_json::Value = serde_json::from_str(&text(&["--json"])).unwrap();
    let [program] = &json["utilization"].as_array().unwrap()[..] else { panic!("{json}") };
    assert_eq!((&program["chip"], &program["run_host_id"]), (&0.into(), &0.into()));
    // From the trace that TT-Metal wrote: 10,402 cycles (without the last 20 cycles), and 65,536
    // bytes at one of six DRAM controllers. A controller moves 23.6 bytes per cycle.
    let bytes = 65_536.0 / 23.6 / 10_402.0 * 100.0;
    let found = [&program["dram_controller_percent"]["0"], &program["dram_percent"]];
    for (found, expected) in found.into_iter().zip([bytes, bytes / 6.0]) {
        assert!((found.as_f64().unwrap() - expected).abs() < 1e-6, "{program}");
    }
    assert_eq!(program["gaps"], serde_json::json!([]));
    assert!(text(&[]).contains("use of links, DRAM and Ethernet"));
    // noc_trace files do not contain the architecture.
    let trace = captures().join("mesham-tt-sim/wormhole-noc-4096/noc_trace_dev0_ID0.json");
    let output = noc(&[trace.to_str().unwrap(), "--utilization", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let program = &json["utilization"][0];
    assert_eq!(program["noc_percent"], serde_json::Value::Null);
    assert_eq!(program["gaps"][0], "the speeds of the chip's NoCs are unknown");
}

/// The board in the topology file beside noc_trace files names the chip: figures are those of the
/// log of the same program.
#[test]
fn a_board_beside_trace_files_names_their_chip() {
    const NAME: &str = "noc_trace_dev0_ID0.json";
    let document = |input: &str| -> serde_json::Value {
        let output = noc(&[input, "--utilization", "--json"]);
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    for (run, boards) in [
        ("wormhole-noc-4096", ["N150", "N300"]),
        ("blackhole-noc-4096", ["P150", "BLACKHOLE_GALAXY"]),
    ] {
        let of_log = document(&log(run));
        for board in boards {
            let folder = tempfile::tempdir().unwrap();
            let trace = folder.path().join(NAME);
            std::fs::copy(captures().join("mesham-tt-sim").join(run).join(NAME), &trace).unwrap();
            let topology = format!("{{\"cluster_type\": \"{board}\"}}");
            std::fs::write(folder.path().join("topology.json"), topology).unwrap();
            for input in [folder.path(), &trace] {
                let of_files = document(input.to_str().unwrap());
                assert!(!of_log["links"].as_array().unwrap().is_empty());
                assert_eq!(of_files["links"], of_log["links"], "{board}");
                let [one, other] = [&of_files, &of_log].map(|json| &json["utilization"][0]);
                assert_eq!(one["noc_percent"], other["noc_percent"], "{board}");
                assert!(one["noc_percent"].is_number(), "{board}: {one}");
                assert!(one["dram_percent"].is_number(), "{board}: {one}");
            }
            std::fs::write(folder.path().join("topology.json"), "{\"cluster_type\": \"CUSTOM\"}")
                .unwrap();
            let unknown = document(folder.path().to_str().unwrap());
            assert_eq!(unknown["links"], serde_json::json!([]));
            assert_eq!(unknown["utilization"][0]["noc_percent"], serde_json::Value::Null);
        }
    }
}

#[test]
fn a_cut_trace_is_used_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let whole = captures().join("mesham-tt-sim/wormhole-noc-256/noc_trace_dev0_ID0.json");
    let cut = folder.path().join("cut.json");
    let text = std::fs::read_to_string(whole).unwrap();
    let half = &text[..text.len() / 2];
    let whole_count = half.matches("\n  }").count();
    std::fs::write(&cut, half).unwrap();
    let output = noc(&[&cut.display().to_string()]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    let sentence = format!("nothing after object {whole_count} can be read: EOF");
    assert!(told.contains(&sentence), "{told}");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("WRITE_BARRIER_START") && shown.contains("Links: unknown"), "{shown}");
}

/// Each broken file in a folder is reported with its name, and the good file is used.
#[test]
fn a_folder_with_bad_files_keeps_the_good_ones() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let event = |kind: &str, bytes: &str| {
        format!(
            r#"{{"proc":"BRISC","sx":1,"sy":2,"dx":3,"dy":2,"noc":"NOC_0","timestamp":7,"run_host_id":1024,"type":"{kind}","num_bytes":{bytes}}}"#
        )
    };
    let good = [event("READ", "64"), event("WARP", "64"), event("READ", "-5"), event("WARP", "1")];
    std::fs::write(at("noc_trace_dev0_ID1024.json"), format!("[{}]", good.join(","))).unwrap();
    std::fs::write(at("noc_trace_dev0_ID2048.json"), "").unwrap();
    std::fs::write(at("noc_trace_dev0_ID3072.json"), "{}").unwrap();
    std::fs::create_dir(at("noc_trace_dev0_ID4096.json")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/nowhere/at/all", at("noc_trace_dev0_ID5120.json")).unwrap();
    let output = noc(&[&folder.path().display().to_string()]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    let expected = [
        "noc_trace_dev0_ID1024.json: object 2: invalid value: integer `-5`",
        "noc_trace_dev0_ID2048.json: nothing after object 0 can be read: EOF",
        "noc_trace_dev0_ID3072.json: nothing after object 0 can be read: invalid type: map",
        "noc_trace_dev0_ID4096.json: skipped, because it cannot be read: ",
        "noc_trace_dev0_ID5120.json: skipped, because it cannot be read: ",
    ];
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{told}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(expected), "{line}");
    }
    let shown = String::from_utf8_lossy(&output.stdout);
    let first = "2 objects of unknown kinds; first: `WARP`, chip 0 core (1,2) BRISC, cycle 7";
    assert!(shown.lines().any(|line| line == first), "{shown}");
    let of_events = |line: &&str| line.contains("READ");
    let cells: Vec<_> = shown.lines().find(of_events).unwrap().split_whitespace().collect();
    assert_eq!(cells, ["0", "1", "BRISC", "NOC_0", "READ", "1", "1", "64"], "{shown}");
}

/// A log in which one NoC event has a word instead of a number in the data column.
#[test]
fn lines_that_cannot_be_read_are_told_beside_the_events() {
    let text = std::fs::read_to_string(log("wormhole-noc-256")).unwrap();
    let is_event = |line: &str| line.split(',').nth(4).is_some_and(|id| id.trim() == "12345");
    let at = text.lines().position(is_event).unwrap();
    let spoiled = text.lines().enumerate().map(|(index, line)| {
        let mut cells: Vec<&str> = line.split(',').collect();
        if index == at {
            cells[6] = "half";
        }
        cells.join(",") + "\n"
    });
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("profile_log_device.csv");
    std::fs::write(&file, spoiled.collect::<String>()).unwrap();
    let output = noc(&[&file.display().to_string()]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("1 anomaly in the recording, which kprof report lists"), "{told}");
    assert!(!String::from_utf8_lossy(&noc(&[&log("wormhole-noc-256")]).stderr).contains("anomaly"));
}

#[test]
fn a_log_without_noc_events_says_how_to_record_them() {
    let output = noc(&[&log("wormhole-counters-elw")]);
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1"), "{told}");
}

/// Two locks, and a number that is not a lock. The second lock is never released.
const LOCKS: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
0,1,2,NCRISC,23456,100,274911461376,1024,,TS_DATA
0,1,2,NCRISC,23456,150,9,1024,,TS_DATA
0,1,2,NCRISC,23456,180,274911461378,1024,,TS_DATA
0,1,2,NCRISC,23456,1300,274911461377,1024,,TS_DATA
";

#[test]
fn memory_that_kernels_held_is_shown_with_what_is_not_known() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile_log_device.csv");
    std::fs::write(&path, LOCKS).unwrap();
    let path = path.display().to_string();
    let output = noc(&[&path, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("1 x unknown kind of lock: 9; first: "), "{told}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // Computed by hand: 274911461376 is 64 << 32 | 0x20000 << 8, a lock of a circular buffer.
    let held = |kind: &str, begin: u64, end: Option<u64>| {
        serde_json::json!({
            "chip": 0, "run_host_id": 1024, "core_x": 1, "core_y": 2, "risc": "NCRISC",
            "kind": kind, "address": 0x2_0000, "bytes": 64, "begin": begin, "end": end,
        })
    };
    let expected = [held("CB_LOCK", 100, Some(1300)), held("MEM_LOCK", 180, None)];
    assert_eq!(json["held_memory"], serde_json::Value::from(expected.to_vec()));
    let shown = String::from_utf8(noc(&[&path]).stdout).unwrap();
    let row = |kind| shown.lines().find(|line| line.contains(kind)).unwrap().to_owned();
    assert!(row("CB_LOCK").contains("1,200"), "{shown}");
    // Unknown cycles are an empty cell, not 0.
    let words: Vec<_> = row("MEM_LOCK").split_whitespace().map(str::to_owned).collect();
    assert_eq!(words[words.len() - 3..], ["MEM_LOCK", "1", "1"], "{shown}");
    let trace = captures().join("mesham-tt-sim/wormhole-noc-256/noc_trace_dev0_ID0.json");
    let json = noc(&[&trace.display().to_string(), "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["held_memory"], serde_json::Value::Null);
}

fn export(arguments: &[&str]) -> Output {
    program::program().arg("export").args(arguments).output().unwrap()
}

/// Returns the names and the bytes of all files in a folder.
fn files(folder: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    entries.map(|path| (name(&path), std::fs::read(&path).unwrap())).collect()
}

#[test]
fn export_writes_the_traces_that_tt_metal_wrote_as_a_folder_and_alone() {
    const NAME: &str = "noc_trace_dev0_ID0.json";
    for run in ["blackhole-noc-256", "blackhole-noc-4096", "wormhole-noc-256", "wormhole-noc-4096"]
    {
        let theirs = captures().join("mesham-tt-sim").join(run);
        let text = std::fs::read(theirs.join(NAME)).unwrap();
        // If the log's folder has no such file, the output has null coordinates, like the file of a
        // p150.
        let of_p150 = captures().join("mesham-tt-sim/blackhole-noc-256/cluster_coordinates.json");
        let cluster = std::fs::read(theirs.join("cluster_coordinates.json"));
        let cluster = cluster.unwrap_or_else(|_| std::fs::read(of_p150).unwrap());
        let alone = theirs.join(NAME).display().to_string();
        // The input is the log, or the trace itself.
        for input in [&log(run), &alone] {
            let folder = tempfile::tempdir().unwrap();
            let traces = folder.path().join("traces");
            let of_folder = traces.display().to_string();
            let output = export(&[input, "--format", "noc-traces", "-o", &of_folder]);
            assert!(output.status.success(), "{output:?}");
            let expected = [("cluster_coordinates.json", &cluster), (NAME, &text)];
            let expected = expected.map(|(name, bytes)| (name.to_owned(), bytes.clone()));
            assert_eq!(files(&traces), expected.into(), "{run}");
            let of_file = folder.path().join(NAME).display().to_string();
            let output = export(&[input, "-o", &of_file, "--json"]);
            assert!(output.status.success(), "{output:?}");
            assert!(std::fs::read(&of_file).unwrap() == text, "{run}");
            let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let objects: Vec<serde_json::Value> = serde_json::from_slice(&text).unwrap();
            assert_eq!(
                (&told["format"], &told["rows"]),
                (&"noc-traces".into(), &objects.len().into())
            );
        }
    }
}

#[test]
fn traces_of_a_capture_are_those_of_kprof_noc_and_a_filter_takes_a_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let mut capture = program::program();
    let args = ["capture", "--collect-noc-traces", "--ops", "3", "--grid", "4x4"];
    capture.args(args).args(["-o", &path("c.kprof")]);
    assert!(capture.current_dir(folder.path()).output().unwrap().status.success());
    assert!(noc(&[&path("c.kprof"), "-o", &path("noc")]).status.success());
    let (input, of_part) = (path("c.kprof"), path("part"));
    let args = [&input, "--format", "noc-traces", "-o", &path("export")];
    assert!(export(&args).status.success());
    let all = files(&folder.path().join("noc"));
    assert_eq!(all.keys().filter(|name| name.starts_with("noc_trace_")).count(), 3);
    assert_eq!(files(&folder.path().join("export")), all);
    let args = [&input, "--format", "noc-traces", "-o", &of_part, "--filter", "op=2"];
    assert!(export(&args).status.success());
    let part = files(&folder.path().join("part"));
    let of_second = |name: &&String| name.ends_with("_ID2048.json") || name.starts_with("cluster");
    assert_eq!(part.keys().collect::<Vec<_>>(), all.keys().filter(of_second).collect::<Vec<_>>());
    assert!(part.iter().all(|(name, bytes)| all[name] == *bytes));
}

#[test]
fn exports_of_traces_that_cannot_be_are_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let transfers = log("wormhole-noc-256");
    let json = captures().join("mesham-tt-sim/wormhole-noc-256/noc_trace_dev0_ID0.json");
    let copy = path("noc_trace_dev0_ID0.json");
    std::fs::copy(json, &copy).unwrap();
    for (arguments, sentence) in [
        (
            vec![&*transfers, "-o", &path("noc_trace_dev0_ID5.json")],
            "no program has a trace called noc_trace_dev0_ID5.json; choose from \
             noc_trace_dev0_ID0.json, or name a folder for all",
        ),
        (
            vec![&log("wormhole-counters-elw"), "--format", "noc-traces", "-o", &path("none")],
            "expected NoC events, found none; tt-metal records them with \
             TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1",
        ),
        (vec![&transfers, "--format", "noc-traces", "-o", "-"], "found standard output"),
        (vec![&copy, "--filter", "op=1", "-o", &path("noc_trace_dev0_ID1.json")], "omit it"),
        (vec![&copy, "-o", &copy], "noc_trace_dev0_ID0.json"),
        (
            vec![&transfers, "--format", "noc-traces", "--host", "h", "-o", &path("none")],
            "--host is only for --format parquet",
        ),
        (
            vec![&transfers, "--format", "noc-traces", "--compare", &copy, "-o", &path("none")],
            "--compare is only for --format html",
        ),
    ] {
        let output = export(&arguments);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(sentence) && told.trim_end().lines().count() == 1, "{told}");
    }
    assert_eq!(files(folder.path()).len(), 1, "nothing was written");
}

/// Log of a Wormhole with eight unharvested rows. One core has recorded a write of 256 bytes to the
/// tile (18,21), in the fourth unharvested row.
const HARVESTED: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
0,1,1,BRISC,12345,100,2270491512738315,1024,,TS_DATA
";

#[test]
fn harvested_lines_place_a_transfer_that_else_keeps_the_kernels_coordinates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile_log_device.csv");
    std::fs::write(&path, HARVESTED).unwrap();
    let path = path.display().to_string();
    let json = |more: &[&str]| -> serde_json::Value {
        let output = noc(&[&[&*path, "--json"], more].concat());
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let unplaced = json(&[]);
    let expected = serde_json::json!([{
        "chip": 0, "noc": "NOC_0", "core_x": 1, "core_y": 1, "direction": "to",
        "raw_x": 18, "raw_y": 21, "transfers": 1, "bytes": 256, "is_lower_bound": false,
    }]);
    assert_eq!(unplaced["unplaced_pairs"], expected);
    assert!(unplaced["pairs"].as_array().unwrap().is_empty());
    let shown = String::from_utf8(noc(&[&path]).stdout).unwrap();
    assert!(
        shown.contains("(18,21)") && shown.contains("with an unknown tile, in no pair"),
        "{shown}"
    );
    for lines in ["4,11", "0:4,11"] {
        let placed = json(&["--harvesting", lines]);
        let pair = &placed["pairs"][0];
        assert_eq!((&pair["to_x"], &pair["to_y"]), (&1.into(), &5.into()), "{lines}");
        assert!(placed["unplaced_pairs"].as_array().unwrap().is_empty());
    }
    for (lines, told) in [
        ("6", "expected harvested lines among 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, found 6"),
        ("7:4", "expected a chip of the recording, found chip 7"),
        ("4;5", "expected rows or columns as in 3,9, found `4;5`"),
    ] {
        let output = noc(&[&path, "--harvesting", lines]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(told), "{error}");
    }
}

/// Two writes of 512 bytes and a wait of 400 cycles, in the payload of 2025 whose kind is in byte 6.
#[test]
fn events_in_the_layout_of_2025_are_those_that_the_kernel_made() {
    let log = captures().join("written/f1_noc_layout_2025.csv").display().to_string();
    let output = noc(&[&log, "--json"]);
    assert!(output.status.success(), "{output:?}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["notes"], serde_json::json!([]));
    let sums = document["events"].as_array().unwrap().iter().map(|one| {
        let number = |name: &str| one[name].as_u64().unwrap_or(0);
        (one["kind"].as_str().unwrap(), number("events"), number("bytes"), number("wait_cycles"))
    });
    let expected = [
        ("WRITE_", 2, 1_024, 0),
        ("WRITE_BARRIER_START", 1, 0, 400),
        ("WRITE_BARRIER_END", 1, 0, 0),
    ];
    assert_eq!(sums.collect::<Vec<_>>(), expected);
}

#[test]
fn events_in_an_unknown_layout_are_unknown_and_not_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile_log_device.csv");
    let known = std::fs::read_to_string(captures().join("written/f1_noc_layout_2025.csv")).unwrap();
    // No version has a kind with the number 0x63 in any byte.
    let word = u64::from_le_bytes([0x63; 8]).to_string();
    let unknown = ["3113894239272969", "5349063939653631", "5630538916364287"]
        .iter()
        .fold(known, |log, of| log.replace(of, &word));
    std::fs::write(&path, unknown).unwrap();
    let output = noc(&[&path.display().to_string()]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{told}");
    assert!(told.contains("4 x NoC event in a layout of no known version"), "{told}");
    assert!(told.contains("their kinds and bytes are unknown"), "{told}");
    assert!(!told.contains("found none"), "{told}");
    let said = |command: &str| {
        let output = program::kprof(folder.path(), &[command, "profile_log_device.csv"]);
        String::from_utf8(output.stdout).unwrap()
    };
    let report = said("report");
    assert!(report.contains("4 NoC events could not be read: expected a layout"), "{report}");
    let explained = said("explain");
    assert!(explained.contains("4 x NoC event in a layout of no known version"), "{explained}");
    assert!(!explained.contains("no waits were recorded\n"), "{explained}");
}

/// Log of a core whose BRISC writes for 1,000 cycles, 800 of them at barriers, and whose TRISCs run for `compute`
/// cycles.
fn log_at_barriers(compute: u64) -> String {
    let mut log = String::from(
        "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
         PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, \
         trace id, trace id counter, zone name, type, source line, source file, meta data\n",
    );
    let mut zone = |risc: &str, id: u64, name: &str, start: u64, end: u64| {
        for (time, kind) in [(start, "START"), (end, "END")] {
            log += &format!("0,1,2,{risc},{id},{time},0,1024,,,{name},ZONE_{kind},1,/k.cc,\n");
        }
    };
    zone("BRISC", 1, "BRISC-KERNEL", 1_000, 2_000);
    for (id, risc) in (2..).zip(["TRISC_0", "TRISC_1", "TRISC_2"]) {
        zone(risc, id, "TRISC-KERNEL", 1_000, 1_000 + compute);
    }
    // A write of 2,048 bytes to tile (3,2) over NoC 0, and the start and the end of a write barrier: the kinds
    // 11, 20 and 21, then target, last corner, network with virtual channel, units of 32 bytes.
    let words = [
        [11, 3, 2, 0, 0, 0x11, 64, 0],
        [20, 0xFF, 0xFF, 0, 0, 0xF1, 0, 0],
        [21, 0xFF, 0xFF, 0, 0, 0xF1, 0, 0],
    ];
    for block in 0..10 {
        for (word, after) in words.into_iter().zip([5, 10, 90]) {
            let (time, word) = (1_000 + 100 * block + after, u64::from_le_bytes(word));
            log += &format!("0,1,2,BRISC,12345,{time},{word},1024,,,,TS_DATA,0,,\n");
        }
    }
    log
}

#[test]
fn blank_kernels_that_compute_do_not_hide_the_barriers_of_the_writer() {
    let folder = tempfile::tempdir().unwrap();
    let explained = |compute| {
        std::fs::write(folder.path().join("profile_log_device.csv"), log_at_barriers(compute))
            .unwrap();
        let output = program::kprof(folder.path(), &["explain", "profile_log_device.csv"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    // Ten barriers of 80 cycles each are 80 % of 1,000 cycles; kernels of 20 cycles hide at most 2 % of them.
    let told = explained(20);
    assert!(
        told.contains(
            "Program 1 waits at NoC barriers for 80 % of its 1.0 us (write barriers of BRISC): 10 "
        ),
        "{told}"
    );
    assert!(told.contains("why: kernels that compute run for 2.0 % of its time"), "{told}");
    assert!(!told.contains("no waits were recorded"), "{told}");
    assert!(told.contains("of waits, only those at NoC barriers were recorded"), "{told}");
    // Beside kernels that compute all the time, barriers may cost nothing.
    let told = explained(1_000);
    assert!(!told.contains("1. Program 1 waits at NoC barriers"), "{told}");
    assert!(!told.contains("no waits were recorded"), "{told}");
}

/// A trace file of a kernel that reads ten blocks and sends one packet to another chip: each byte is
/// in a pair or is told to be in none.
#[test]
fn bytes_that_leave_the_chip_are_told_beside_the_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let event = |proc: &str, noc: &str, kind: &str, bytes: u64, time: u64| {
        serde_json::json!({
            "run_id": 0, "run_host_id": 1, "op_name": "AllGatherAsync", "proc": proc, "noc": noc,
            "vc": 1, "src_device_id": 0, "dst_device_id": 0, "sx": 1, "sy": 2, "dx": 3, "dy": 4,
            "num_bytes": bytes, "type": kind, "timestamp": time,
        })
    };
    let mut events: Vec<_> =
        (0..10).map(|at| event("NCRISC", "NOC_0", "READ", 2048, 1000 + at * 50)).collect();
    events.push(event("BRISC", "NOC_1", "FABRIC_UNICAST_WRITE", 4096, 2000));
    let path = folder.path().join("noc_trace_dev0_AllGatherAsync_ID1.json");
    std::fs::write(&path, serde_json::to_vec(&events).unwrap()).unwrap();
    let path = path.display().to_string();
    let output = noc(&[&path, "--json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let outside = serde_json::json!([{
        "chip": 0, "noc": "NOC_1", "kind": "FABRIC_UNICAST_WRITE",
        "reason": "sent on to other chips", "events": 1, "bytes": 4096, "is_lower_bound": false,
    }]);
    assert_eq!(document["outside"], outside);
    assert_eq!(document["pairs"][0]["bytes"], 20_480);
    let shown = String::from_utf8(noc(&[&path]).stdout).unwrap();
    let (_, told) = shown.split_once("Bytes in no pair of tiles and on no link").unwrap();
    assert!(told.contains("4,096  sent on to other chips"), "{shown}");
}
