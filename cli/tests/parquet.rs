//! Tests of datasets of several recordings: DuckDB runs the queries of docs/parquet.md.

use crate::{
    counted,
    package::{is_installed, python},
    program::kprof,
};
use host_reader::{
    capture::CaptureWriter,
    host::{HostColor, HostRecorder, HostRecorderOptions, HostSource},
    recording::{Recording, load},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// Package that runs the queries; `.ci/run` installs it.
const PACKAGE: &str = "duckdb==2.0.0";

const QUERIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/package/duckdb_queries.py");

/// Documentation page about the dataset.
const PAGE: &str = include_str!("../../docs/parquet.md");

fn has_package() -> bool {
    is_installed(PACKAGE, "duckdb")
}

fn log(name: &str) -> PathBuf {
    let path = format!("../tests/captures/mesham-tt-sim/{name}/profile_log_device.csv");
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Adds a recording to `dataset` in a folder; returns the printed object.
fn export(folder: &Path, file: &Path, host: &str, more: &[&str]) -> Value {
    let file = file.to_str().unwrap();
    let args = ["export", file, "--format", "parquet", "--json", "--host", host];
    let output = kprof(folder, &[&args[..], more].concat());
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn ask(folder: &Path, statements: &[impl AsRef<str>]) -> Vec<Value> {
    let statements: Vec<&str> = statements.iter().map(AsRef::as_ref).collect();
    let mut command = python();
    command.arg(QUERIES).current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), &statements).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{statements:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Returns the statements that create a dataset's views, then the page's five queries.
fn statements(folder: &Path) -> Vec<String> {
    let views = kprof(folder, &["schema", "--views", "duckdb"]);
    assert!(views.status.success(), "{}", String::from_utf8_lossy(&views.stderr));
    let views = String::from_utf8(views.stdout).unwrap();
    assert_eq!(views.lines().count(), 16, "{views}");
    let blocks = PAGE.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let questions = blocks.flat_map(|block| block.split(';'));
    let all = views.lines().chain(questions).map(str::trim).filter(|text| !text.is_empty());
    all.map(str::to_owned).collect()
}

/// Returns the zones of a log by RISC and name, with their exclusive cycles. On each RISC, the log
/// has only a zone `KERNEL` in a zone `FW`, so starts and ends are sufficient.
fn zones_of_log(name: &str) -> BTreeMap<(String, String), (u64, i64)> {
    let text = std::fs::read_to_string(log(name)).unwrap();
    let mut found: BTreeMap<(String, String), (u64, i64)> = BTreeMap::new();
    for line in text.lines().skip(2) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let (risc, time, zone) = (cells[3], cells[5].parse::<i64>().unwrap(), cells[10]);
        let sign = match cells[11] {
            "ZONE_START" => -1,
            "ZONE_END" => 1,
            _ => continue,
        };
        let entry = found.entry((risc.to_owned(), zone.to_owned())).or_default();
        *entry = (entry.0 + u64::from(sign > 0), entry.1 + sign * time);
        if let Some(risc_name) = zone.strip_suffix("-KERNEL") {
            let around = (risc.to_owned(), format!("{risc_name}-FW"));
            found.entry(around).or_default().1 -= sign * time;
        }
    }
    found
}

#[test]
fn the_questions_of_the_page_get_the_answers_that_the_logs_give() {
    if !has_package() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    export(folder, &log("wormhole-noc-256"), "node 1/a", &["--recording", "reads"]);
    export(folder, &log("wormhole-noc-4096"), "node 1/a", &["--recording", "long reads"]);
    export(folder, &log("blackhole-noc-256"), "node-2", &[]);
    let statements = statements(folder);
    let answers = ask(folder, &statements);
    let [.., cycles, imbalance, losses, waits, host] = &answers[..] else { panic!("{answers:?}") };

    let mut expected: BTreeMap<(&str, String, String), (u64, i64)> = BTreeMap::new();
    let hosts = [
        ("node 1/a", "wormhole-noc-256"),
        ("node 1/a", "wormhole-noc-4096"),
        ("node-2", "blackhole-noc-256"),
    ];
    for (host, name) in hosts {
        for ((risc, zone), (count, cycles)) in zones_of_log(name) {
            let entry = expected.entry((host, risc, zone)).or_default();
            *entry = (entry.0 + count, entry.1 + cycles);
        }
    }
    let row = |row: &Value| {
        let text = |at: usize| row[at].as_str().unwrap().to_owned();
        let cycles = row[4].as_i64().or_else(|| row[4].as_str()?.parse().ok()).unwrap();
        ((text(0), text(1), text(2)), (row[3].as_u64().unwrap(), cycles))
    };
    let found: BTreeMap<_, _> = cycles.as_array().unwrap().iter().map(row).collect();
    let expected: BTreeMap<_, _> = expected
        .into_iter()
        .map(|((host, risc, zone), sums)| ((host.to_owned(), risc, zone), sums))
        .collect();
    assert_eq!(found, expected);

    // Each launch runs on one core, so the slowest core equals the average.
    let rows = imbalance.as_array().unwrap();
    assert_eq!(rows.len(), 3, "{imbalance}");
    assert!(rows.iter().all(|row| row[5] == 1 && row[6] == 1.0), "{imbalance}");
    // Logs contain data of chips only.
    assert_eq!((losses, waits, host), (&json!([]), &json!([]), &json!([])));
}

/// Returns the log of a host. Each launch runs on two cores, and the second core is slower.
fn log_of_host(host: u64, launches: u64) -> (String, u64, Vec<f64>) {
    let mut text = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
"
    .to_owned();
    let (mut cycles, mut imbalances, mut start) = (0, Vec::new(), 1000);
    for launch in 1..=launches {
        let durations = [100 + host, 100 + host + 10 * launch];
        for (core, duration) in (1..).zip(durations) {
            for (kind, time) in [("ZONE_START", start), ("ZONE_END", start + duration)] {
                let id = launch << 10;
                text += &format!(
                    "0,{core},2,BRISC,8,{time},0,{id},,,BRISC-KERNEL,{kind},1,brisc.cc,\n"
                );
            }
            cycles += duration;
        }
        let mean = (durations[0] + durations[1]) as f64 / 2.0;
        imbalances.push(durations[1] as f64 / mean);
        start += 10_000;
    }
    (text, cycles, imbalances)
}

#[test]
fn the_questions_are_answered_over_32_merged_hosts() {
    if !has_package() {
        return;
    }
    const HOSTS: u64 = 32;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut expected_cycles, mut expected_imbalances) = (Vec::new(), Vec::new());
    for host in 0..HOSTS {
        let logs = folder.join(format!("ttrun/rank{host}/.logs"));
        std::fs::create_dir_all(&logs).unwrap();
        let launches = 1 + host % 3;
        let (log, cycles, imbalances) = log_of_host(host, launches);
        std::fs::write(logs.join("profile_log_device.csv"), log).unwrap();
        let name = format!("rank{host}");
        expected_cycles.push((name.clone(), 2 * launches, cycles));
        expected_imbalances.extend(imbalances.into_iter().map(|ratio| (name.clone(), ratio)));
    }
    // One host has a capture instead, which also contains data of the host.
    assert!(kprof(folder, &["capture", "--ops", "3", "-o", "c.kprof"]).status.success());
    let output = kprof(folder, &["merge", "ttrun", "rank32=c.kprof", "-o", "."]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = ask(folder, &statements(folder));
    let [.., cycles, imbalance, losses, waits, host] = &answers[..] else { panic!("{answers:?}") };
    let text = |row: &Value, at: usize| row[at].as_str().unwrap().to_owned();
    let is_of_log = |row: &&Value| row[0] != "rank32";

    let rows = cycles.as_array().unwrap().iter().filter(is_of_log);
    let mut found: Vec<_> = rows
        .map(|row| {
            let cycles = row[4].as_u64().or_else(|| row[4].as_str()?.parse().ok()).unwrap();
            (text(row, 0), row[3].as_u64().unwrap(), cycles)
        })
        .collect();
    found.sort();
    expected_cycles.sort();
    assert_eq!(found, expected_cycles);

    let rows = imbalance.as_array().unwrap().iter().filter(is_of_log);
    let mut found: Vec<_> = rows
        .map(|row| (text(row, 0), row[5].as_u64().unwrap(), row[6].as_f64().unwrap()))
        .collect();
    found.sort_by(|one, other| (&one.0, one.2).partial_cmp(&(&other.0, other.2)).unwrap());
    expected_imbalances.sort_by(|one, other| one.partial_cmp(other).unwrap());
    assert_eq!(found.len(), expected_imbalances.len());
    for ((host, cores, ratio), (expected_host, expected)) in found.iter().zip(&expected_imbalances)
    {
        assert_eq!((host, *cores), (expected_host, 2));
        assert!((ratio - expected).abs() < 1e-12, "{host}: {ratio} {expected}");
    }
    assert_eq!((losses, waits), (&json!([]), &json!([])));
    let [run] = &host.as_array().unwrap()[..] else { panic!("{host}") };
    assert_eq!((&run[0], &run[2], &run[4]), (&"rank32".into(), &"RunPrograms".into(), &3.into()));
}

#[test]
fn what_the_host_did_is_found_on_the_time_of_the_chips() {
    if !has_package() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert!(kprof(folder, &["capture", "--ops", "3", "-o", "c.kprof"]).status.success());
    let path = folder.join("c.kprof");
    let of_path = path.clone();
    let host = std::thread::Builder::new().name("main".to_owned());
    host.spawn(move || record_host_events(&of_path)).unwrap().join().unwrap();
    let written = export(folder, &path, "node-1", &[]);
    let mut statements = statements(folder);
    statements.push(
        "SELECT thread_name, name, function, file, line, depth, duration_ns, self_ns, text, color \
         FROM host_zones WHERE file = 'src/host.rs' ORDER BY start_ns, depth"
            .to_owned(),
    );
    statements.push(
        "SELECT kind, name, text, value, host_ns - 1000000000, color FROM host_events \
         ORDER BY host_ns, kind, value"
            .to_owned(),
    );
    statements.push("SELECT name, count(*) FROM host_zones GROUP BY name ORDER BY name".to_owned());
    let answers = ask(folder, &statements);
    let [.., of_ops, zones, events, names] = &answers[..] else { panic!("{answers:?}") };
    // `kprof capture` has recorded a host zone `RunPrograms` around the three ops.
    let [run] = &of_ops.as_array().unwrap()[..] else { panic!("{of_ops}") };
    assert_eq!((&run[0], &run[2], &run[4]), (&"node-1".into(), &"RunPrograms".into(), &3.into()));
    let place = |line: u32| json!(["main", "host", "src/host.rs", line]);
    let zone = |name: &str, line: u32, figures: [u64; 3], said: [Value; 2]| {
        let place = place(line);
        json!([
            place[0], name, place[1], place[2], line, figures[0], figures[1], figures[2], said[0],
            said[1]
        ])
    };
    let enqueue = zone("Enqueue", 7, [0, 900, 700], [json!("id:1024"), Value::Null]);
    assert_eq!(
        zones,
        &json!([enqueue, zone("Write", 9, [1, 200, 200], [Value::Null, json!("#00ff80")])])
    );
    assert_eq!(
        events,
        &json!([
            ["signpost", "warm", "3 runs", null, 50, "#000000"],
            ["message", null, "an op has run", null, 400, "#ff0a00"],
            ["plot", "queued", null, 1.5, 500, null],
            ["frame", "token", null, null, 900, null],
        ])
    );
    let of_program =
        [["ReadDeviceProfiler", "1"], ["RunPrograms", "1"], ["SynchroniseClocks", "2"]];
    let mut expected = vec![json!(["Enqueue", 1])];
    expected.extend(of_program.map(|[name, count]| json!([name, count.parse::<u64>().unwrap()])));
    expected.push(json!(["Write", 1]));
    assert_eq!(names, &Value::from(expected));
    assert_eq!((&written["host_zones"], &written["host_events"]), (&6.into(), &4.into()));
}

static ENQUEUE: HostSource = HostSource::new("Enqueue", "host", "src/host.rs", 7);
static WRITE: HostSource = HostSource::new("Write", "host", "src/host.rs", 9);
static QUEUED: HostSource = HostSource::new("queued", "host", "src/host.rs", 11);
static TOKEN: HostSource = HostSource::new("token", "host", "src/host.rs", 12);

/// Adds events of a thread `main` to a capture, starting one second into the host's clock.
fn record_host_events(path: &Path) {
    let now = Arc::new(AtomicU64::new(0));
    let at = |since_ns: u64| now.store(1_000_000_000 + since_ns, Ordering::Relaxed);
    let of_clock = Arc::clone(&now);
    let clock: Arc<dyn Fn() -> u64 + Send + Sync> =
        Arc::new(move || of_clock.load(Ordering::Relaxed));
    let options = HostRecorderOptions { clock: Some(clock), ..HostRecorderOptions::default() };
    let recorder = HostRecorder::new(options);
    let color = |rgb| HostColor::from_rgb(rgb).unwrap();
    at(0);
    let mut enqueue = recorder.zone(&ENQUEUE);
    enqueue.text("id:1024");
    at(50);
    recorder.signpost("warm", Some("3 runs"), Some(color(0)));
    at(100);
    let mut write = recorder.zone(&WRITE);
    write.color(color(0x00_FF80));
    at(300);
    drop(write);
    at(400);
    let note = HostSource::new("", "host", "src/host.rs", 10);
    recorder.message_of(note.into(), "an op has run", Some(color(0xFF_0A00)));
    at(500);
    recorder.plot(&QUEUED, 1.5);
    at(900);
    drop(enqueue);
    recorder.frame_mark(&TOKEN);
    CaptureWriter::append_to(path).unwrap().append_recorder(&recorder).unwrap();
}

#[test]
fn an_overflow_is_found_in_the_losses_and_the_doubts_of_its_recording() {
    if !has_package() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args = ["capture", "--workload", "multi-op-overflow", "-o", "overflow.kprof"];
    assert!(!kprof(folder, &args).stdout.is_empty());
    let written = export(folder, &folder.join("overflow.kprof"), "node-1", &[]);
    let mut statements = statements(folder);
    statements.push("SELECT count(*) FROM zones WHERE name = 'BRISC-KERNEL'".to_owned());
    statements.push("SELECT count(*), max(core_count), min(core_count) FROM ops".to_owned());
    statements.push(
        "SELECT count(*) FROM recordings WHERE doubts LIKE '%\"lost_unknown_markers\":204800%'"
            .to_owned(),
    );
    let answers = ask(folder, &statements);
    let [.., losses, _, _, kernels, ops, doubts] = &answers[..] else { panic!("{answers:?}") };
    // Lanes have room for 1000 of 1400 launches. For each remaining launch, four markers of
    // firmware and kernel are missing on both RISCs of 64 cores.
    let recording = written["recording"].as_str().unwrap();
    assert!(recording.starts_with("overflow-") && recording.len() == "overflow-".len() + 8);
    let runs = 400 * 64 * 2;
    assert_eq!(losses, &json!([["node-1", recording, "DRAM full", runs, 0, 4 * runs, false]]));
    assert_eq!(kernels, &json!([[64 * 1000]]));
    assert_eq!(ops[0][1], 64);
    assert_eq!(doubts, &json!([[1]]), "the recording says so once");
    assert_eq!(written["losses"], 64 * 2, "one row per lane");
}

#[test]
fn waits_for_the_host_are_rows_as_long_as_the_tables_say() {
    if !has_package() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args = ["capture", "--workload", "long-kernel", "-o", "waits.kprof", "--json"];
    let dump = ["--noc-debug-dump", "--read-every", "2ms"];
    let tables: Value =
        serde_json::from_slice(&kprof(folder, &[&args[..], &dump].concat()).stdout).unwrap();
    export(folder, &folder.join("waits.kprof"), "node-1", &[]);
    let mut statements = statements(folder);
    statements.push(
        "SELECT risc, count(*), sum(duration_cycles)::BIGINT FROM zones \
         WHERE name = 'PROFILER-DRAM-STALL' GROUP BY risc ORDER BY risc"
            .to_owned(),
    );
    let answers = ask(folder, &statements);
    let zones = tables["zones"].as_array().unwrap().iter();
    let waits = zones.filter(|zone| zone["name"] == "PROFILER-DRAM-STALL");
    let expected: Vec<Value> =
        waits.map(|zone| json!([zone["risc"], zone["count"], zone["total_cycles"]])).collect();
    assert_eq!(expected.len(), 2, "of both movers");
    assert_eq!(answers.last(), Some(&Value::from(expected)));
}

#[test]
fn every_marker_of_a_log_has_its_value() {
    if !has_package() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "wormhole-counters-elw";
    export(folder.path(), &log(name), "node-1", &[]);
    let text = std::fs::read_to_string(log(name)).unwrap();
    let values = text.lines().filter(|line| line.contains(",TS_DATA"));
    let values: Vec<u64> =
        values.map(|line| line.split(',').nth(6).unwrap().trim().parse().unwrap()).collect();
    let statement = "SELECT kind, count(*), count(DISTINCT value) \
        FROM read_parquet('dataset/markers/*/*/*.parquet') GROUP BY kind";
    let mut distinct = values.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let counters = "SELECT counter, counter_group, value, cycles, problem \
        FROM read_parquet('dataset/counters/*/*/*.parquet') WHERE counter LIKE '%SEM_2' ORDER BY 1";
    let answers = ask(folder.path(), &[statement, counters]);
    assert_eq!(answers[0], json!([["data", values.len(), distinct.len()]]));
    let row = |name: &str, value: u64| json!([name, "instrn", value, 4317, null]);
    let expected = [row("WAITING_FOR_NONFULL_SEM_2", 0), row("WAITING_FOR_NONZERO_SEM_2", 3561)];
    assert_eq!(answers[1], json!(expected));
    assert!(values.len() > 50, "the log has counters");
}

#[test]
fn transfers_of_a_log_are_those_of_the_trace_that_upstream_wrote() {
    if !has_package() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "blackhole-noc-4096";
    export(folder.path(), &log(name), "node-1", &[]);
    let json = std::fs::read(log(name).with_file_name("noc_trace_dev0_ID0.json")).unwrap();
    let objects: Vec<Value> = serde_json::from_slice(&json).unwrap();
    let mut expected: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    for event in objects.iter().filter(|object| object.get("type").is_some()) {
        let text = |key: &str| event[key].as_str().unwrap().to_owned();
        let sums = expected.entry((text("proc"), text("type"))).or_default();
        *sums = (sums.0 + 1, sums.1 + event["num_bytes"].as_u64().unwrap_or(0));
    }
    let statement = "SELECT risc, kind, count(*), sum(coalesce(bytes, 0))::BIGINT \
        FROM read_parquet('dataset/noc_events/*/*/*.parquet') GROUP BY risc, kind ORDER BY 1, 2";
    let answers = ask(folder.path(), &[statement]);
    let rows = expected.into_iter().map(|((risc, kind), (n, bytes))| json!([risc, kind, n, bytes]));
    assert_eq!(answers[0], rows.collect::<Value>());
}

#[test]
fn the_same_recording_again_replaces_its_files_and_a_failure_leaves_none() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = log("wormhole-noc-256");
    let mut first = export(folder, &file, "node-1", &[]);
    let mut again = export(folder, &file, "node-1", &[]);
    assert_eq!(
        (first["replaced_files"].take(), again["replaced_files"].take()),
        (json!(0), first["files"].clone())
    );
    assert_eq!(again, first);
    let runs = folder.join("dataset/zones/date=__HIVE_DEFAULT_PARTITION__");
    assert_eq!(std::fs::read_dir(&runs).unwrap().count(), 1);

    // Another log with the same name is in the dataset.
    let other = export(folder, &log("wormhole-noc-4096"), "node-1", &[]);
    assert_eq!(other["replaced_files"], 0);
    assert_eq!(std::fs::read_dir(&runs).unwrap().count(), 2);

    std::fs::write(folder.join("taken"), "a file").unwrap();
    let file = file.to_str().unwrap();
    let output = kprof(folder, &["export", file, "--format", "parquet", "-o", "taken"]);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("taken") && errors.trim_end().lines().count() == 1, "{errors}");
    assert_eq!(std::fs::read_to_string(folder.join("taken")).unwrap(), "a file");
}

#[test]
fn a_delta_log_is_written_where_it_is_wanted_and_continued_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let files = ["wormhole-noc-256", "wormhole-noc-4096", "blackhole-noc-256"].map(log);
    let commits = |dataset: &str, table: &str| {
        let log = folder.join(dataset).join(table).join("_delta_log");
        let entries = std::fs::read_dir(log).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    };
    let [first, second, third] = [0, 1, 2].map(|version: u64| format!("{version:020}.json"));
    let run = ["--fleet-run", "r"];
    export(folder, &files[0], "node-1", &run);
    assert_eq!(commits("dataset", "zones"), [""; 0]);
    export(folder, &files[1], "node-2", &[&run[..], &["--delta-log"]].concat());
    assert_eq!(commits("dataset", "zones"), [first.as_str()]);
    assert_eq!(commits("dataset", "waits"), [first.as_str()]);
    export(folder, &files[2], "node-3", &run);
    assert_eq!(commits("dataset", "zones"), [first.as_str(), &second]);
    assert!(kprof(folder, &["compact", "dataset"]).status.success());
    assert_eq!(commits("dataset", "zones").last(), Some(&third));
    assert_eq!(commits("dataset", "waits"), [first.as_str()]);

    let inputs = ["a", "b"].map(|name| format!("{name}={}", files[0].display()));
    let merge = ["merge", &inputs[0], &inputs[1], "-o", "both", "--delta-log"];
    assert!(kprof(folder, &merge).status.success());
    assert_eq!(commits("both/dataset", "recordings"), [first.as_str()]);

    export(folder, &files[0], "node-1", &["-o", "plain"]);
    assert!(kprof(folder, &["compact", "plain", "--delta-log"]).status.success());
    assert_eq!(commits("plain", "op_buffers"), [first.as_str()]);

    let other = ["export", files[0].to_str().unwrap(), "-o", "a.html", "--delta-log"];
    let output = kprof(folder, &other);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(errors, "kprof: --delta-log is only for --format parquet\n");
}

#[cfg(not(feature = "object-store"))]
#[test]
fn a_url_needs_a_build_with_object_stores() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let file = log("wormhole-noc-256");
    let file = file.to_str().unwrap();
    let url = "s3://bucket/dataset";
    for args in [
        &["export", file, "--format", "parquet", "-o", url][..],
        &["merge", file, "-o", url],
        &["merge", url],
        &["compact", url],
        &["schema", "--views", "duckdb", "--dataset", url],
    ] {
        let output = kprof(folder, args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            errors,
            "kprof: cannot open s3://bucket/dataset: this kprof was built without object stores; \
             build it with `cargo build -p kprof --features object-store`\n"
        );
    }
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
}

#[test]
fn every_change_of_a_buffer_is_a_row() {
    if !has_package() {
        return;
    }
    const OPS: u64 = 12;
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let args = ["capture", "--device-memory-profiler", "--seed", "9"];
    let args = [&args[..], &["--ops", "12", "-o", "c.kprof"]].concat();
    assert!(kprof(folder, &args).status.success());
    let written = export(folder, &folder.join("c.kprof"), "node-1", &[]);
    let mut statements = statements(folder);
    statements.push(
        "SELECT chip_id, memory, change_bytes, held_bytes FROM buffers ORDER BY host_ns".to_owned(),
    );
    let answers = ask(folder, &statements);
    let mut held = BTreeMap::<&str, i64>::new();
    let changes = (0..OPS).flat_map(|op| sim::workload::buffer_changes(9, op)).map(|change| {
        let memory = match change.memory {
            sim::workload::BufferMemory::Dram => "DRAM",
            sim::workload::BufferMemory::L1 => "L1",
        };
        let bytes = i64::try_from(change.byte_count).unwrap();
        let bytes = if change.is_allocated { bytes } else { -bytes };
        let held = held.entry(memory).or_default();
        *held += bytes;
        json!([0, memory, bytes, *held])
    });
    let changes: Vec<Value> = changes.collect();
    assert_eq!(changes.len(), 24);
    assert_eq!(written["buffers"], 24);
    assert_eq!(answers.last().unwrap(), &Value::from(changes));
}

#[test]
fn every_reading_of_a_hardware_counter_is_a_row_with_its_true_value() {
    if !has_package() {
        return;
    }
    for arch in sim::arch::Arch::ALL {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let counted = counted::run(folder, arch);
        let log = folder.join("out/.logs/profile_log_device.csv");
        let written = export(folder, &log, "node-1", &[]);
        let mut statements = statements(folder);
        statements.push(
            "SELECT program, core_x, core_y, counter, value, counters.cycles, problem \
             FROM counters JOIN ops USING (host, chip_id, recording, op)"
                .to_owned(),
        );
        let answers = ask(folder, &statements);
        let rows = answers.last().unwrap().as_array().unwrap();
        assert_eq!(rows.len(), counted.len() * counted::COUNTERS, "{arch}");
        assert_eq!(written["counters"], rows.len());
        let mut known = 0;
        for row in rows {
            let number = |cell: usize| row[cell].as_u64().unwrap();
            let core = |cell| u16::try_from(number(cell)).unwrap();
            let key = (u32::try_from(number(0)).unwrap(), core(1), core(2));
            let reading = counted[&key].get(row[3].as_str().unwrap());
            known += usize::from(reading.is_some());
            match reading {
                Some((events, cycles)) => {
                    assert_eq!((&row[4], &row[5]), (&json!(events), &json!(cycles)), "{row}");
                }
                // The counter was never started, so its count is unknown.
                None => assert_eq!((&row[4], &row[5]), (&Value::Null, &json!(0)), "{row}"),
            }
            assert_eq!(row[6], Value::Null);
        }
        assert_eq!(known, counted.len() * counted::METRICS.len(), "{arch}");
    }
}

/// Waits of a recording, taken from its records according to `docs/wire-extensions.md`.
#[derive(Default)]
struct Recorded {
    /// Single waits: core, RISC, program, kind, key, start and duration.
    waits: Vec<Value>,
    /// Sums of waits: core, RISC, program, kind, key, number and cycles.
    sums: Vec<Value>,
}

const KINDS: [(&str, &str); 8] = [
    ("CB_WAIT", "circular buffer"),
    ("CB_RESERVE", "circular buffer"),
    ("SEM_WAIT", "semaphore"),
    ("NOC_READ_BARRIER", "NoC"),
    ("NOC_WRITE_BARRIER", "NoC"),
    ("NOC_ATOMIC_BARRIER", "NoC"),
    ("NOC_FULL_BARRIER", "NoC"),
    ("NOC_WRITE_FLUSH", "NoC"),
];

fn recorded_waits(recording: &Recording) -> Recorded {
    let mut found = Recorded::default();
    for lane in recording.readout.lanes() {
        let records: Vec<_> = lane.records().collect();
        for (index, run) in lane.runs.iter().enumerate() {
            for record in &records[lane.run_records(index)] {
                let [first, second] = *record.data else { continue };
                let name = recording.readout.zones.name(record.zone);
                let low = |word: u64| word & u64::from(u32::MAX);
                let (kind, object) = KINDS[usize::try_from(first >> 32).unwrap() - 1];
                let row = |one: u64, other: u64| {
                    let (core, risc) = (lane.id.core, lane.id.risc.label());
                    let key = low(first);
                    json!([core.x, core.y, risc, run.program.0, kind, object, key, one, other])
                };
                match name {
                    "SYNC-WAIT-TOTAL" => found.sums.push(row(second >> 32, low(second))),
                    _ => found.waits.push(row(record.time - low(second), low(second))),
                }
            }
        }
    }
    found
}

/// Returns the figures in each row of `kprof report`: number of waits, cores, cycles, and for
/// single waits the median and the maximum.
fn expected_statistics(rows: &[Value], is_single: bool) -> BTreeMap<String, Value> {
    let mut groups: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for row in rows {
        groups.entry(format!("{} {} {}", row[2], row[4], row[6])).or_default().push(row);
    }
    let statistics = groups.into_iter().map(|(key, rows)| {
        let number = |row: &Value, at: usize| row[at].as_u64().unwrap();
        let cores: std::collections::BTreeSet<_> =
            rows.iter().map(|row| (number(row, 0), number(row, 1))).collect();
        let mut cycles: Vec<u64> = rows.iter().map(|row| number(row, 8)).collect();
        cycles.sort_unstable();
        let total: u64 = cycles.iter().sum();
        let count = match is_single {
            true => rows.len() as u64,
            false => rows.iter().map(|row| number(row, 7)).sum(),
        };
        let (low, high) = (cycles[(cycles.len() - 1) / 2], cycles[cycles.len() / 2]);
        let of_single = |cycles: u64| if is_single { json!(cycles) } else { Value::Null };
        let (median, max) = (of_single(low.midpoint(high)), of_single(cycles[cycles.len() - 1]));
        (key, json!([count, cores.len(), total, median, max, false]))
    });
    statistics.collect()
}

#[test]
fn every_wait_and_every_sum_of_waits_is_a_row() {
    if !has_package() {
        return;
    }
    for (arch, waits) in [("wormhole_b0", "events"), ("blackhole", "totals")] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        // With few tiles, no vector gets full.
        let shape = "tiles=4,ahead=1,group=4,writer=1600";
        let args = ["capture", "--workload", "pipeline", "--pipeline", shape, "--arch", arch];
        let run = kprof(folder, &[&args[..], &["--waits", waits, "-o", "c.kprof"]].concat());
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        let written = export(folder, &folder.join("c.kprof"), "node-1", &[]);
        let recordings = load(&folder.join("c.kprof")).unwrap().recordings;
        let [recording] = &recordings[..] else { panic!("one run") };
        let Recorded { waits: mut singles, mut sums } = recorded_waits(recording);
        let is_single = waits == "events";
        assert_eq!((singles.len() > 1_000, sums.is_empty()), (is_single, false), "{waits}");
        let kinds: std::collections::BTreeSet<_> =
            sums.iter().map(|row| row[4].as_str().unwrap()).collect();
        assert!(kinds.len() >= 4, "{kinds:?}");
        let mut statements = statements(folder);
        statements.push(
        "SELECT core_x, core_y, risc, run_host_id, kind, object, key, start_cycle, \
             duration_cycles FROM waits \
             WHERE has_blocked AND NOT is_lower_bound AND op + 1 = run_host_id >> 10 \
             AND duration_ns - duration_cycles::BIGINT BETWEEN -2 AND 2 AND start_host_ns - start_ns = \
             (SELECT min(start_host_ns - start_ns) FROM zones)"
        .to_owned(),
    );
        statements.push(
            "SELECT core_x, core_y, risc, run_host_id, kind, object, key, waits, total_cycles \
             FROM wait_sums WHERE is_from_kernel AND NOT is_lower_bound \
             AND op + 1 = run_host_id >> 10"
                .to_owned(),
        );
        let answers = ask(folder, &statements);
        let [.., found_waits, found_sums] = &answers[..] else { panic!("{answers:?}") };
        let sorted = |rows: &Value| {
            let mut rows: Vec<String> =
                rows.as_array().unwrap().iter().map(Value::to_string).collect();
            rows.sort();
            rows
        };
        if is_single {
            assert_eq!(sorted(found_waits), sorted(&json!(singles)), "{waits}");
        }
        assert_eq!(sorted(found_sums), sorted(&json!(sums)), "{waits}");
        assert_eq!(
            (&written["waits"], &written["wait_sums"]),
            (&json!(singles.len()), &json!(sums.len()))
        );

        let report = kprof(folder, &["report", "c.kprof", "--json"]);
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let of_row = |row: &Value| {
            let key = format!("{} {} {}", row["risc"], row["kind"], row["key"]);
            let figures = [
                "count",
                "core_count",
                "total_cycles",
                "median_cycles",
                "max_cycles",
                "is_lower_bound",
            ];
            (key, Value::from(figures.map(|name| row[name].clone()).to_vec()))
        };
        let found: BTreeMap<_, _> =
            report["waits"].as_array().unwrap().iter().map(of_row).collect();
        let rows = if is_single { &mut singles } else { &mut sums };
        assert_eq!(found, expected_statistics(rows, is_single), "{waits}");
    }
}

/// Returns the rows of the table `memory` as `kprof memory --json` has them.
fn memory_shown(folder: &Path) -> Vec<Value> {
    let output = kprof(folder, &["memory", "out", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let mut shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let Value::Array(rows) = shown["memory"].take() else { panic!("{shown}") };
    rows
}

#[test]
fn memory_of_a_recording_is_a_table_with_the_rows_of_kprof_memory() {
    if !has_package() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    crate::op_memory::record(folder);
    let capture = folder.join("out/.logs/device-7.kprof");
    let written = export(folder, &capture, "node-1", &["--recording", "rec"]);
    let shown = memory_shown(folder);
    // Two ranges during the first op, and eight during the second.
    assert_eq!((shown.len(), &written["memory"]), (10, &json!(10)));
    let unknown = [("ops_without_buffers", 2), ("ops_without_launch_messages", 3)];
    for (what, count) in unknown {
        assert_eq!(written["doubts"][what], count, "{written}");
    }
    let columns: Vec<&str> = shown[0].as_object().unwrap().keys().map(String::as_str).collect();
    // The merged dataset has the same rows.
    let output = kprof(folder, &["merge", "node-1=out/.logs/device-7.kprof", "-o", "merged"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for dataset in ["dataset", "merged/dataset"] {
        let table = format!("read_parquet('{dataset}/memory/*/*/*.parquet')");
        let recordings = format!("read_parquet('{dataset}/recordings/*/*/*.parquet')");
        let answers = ask(
            folder,
            &[
                format!(
                    "SELECT host, {} FROM {table} ORDER BY file_row_number",
                    columns.join(", ")
                )
                .replace("*.parquet')", "*.parquet', file_row_number = true)"),
                format!("SELECT doubts FROM {recordings}"),
            ],
        );
        let expected: Vec<Value> = shown
            .iter()
            .map(|row| {
                let cells = columns.iter().map(|column| row[column].clone());
                std::iter::once("node-1".into()).chain(cells).collect()
            })
            .collect();
        assert_eq!(answers[0], Value::Array(expected), "{dataset}");
        let doubts: Value = serde_json::from_str(answers[1][0][0].as_str().unwrap()).unwrap();
        for (what, count) in unknown {
            assert_eq!(doubts[what], count, "{doubts}");
        }
    }
    // The tensor of an op that is left out is still there during the next one.
    let of_second = shown.iter().filter(|row| row["op_name"] == "Add").count();
    let filtered = ["--filter", "op=Add", "-o", "filtered"];
    let written = export(folder, &capture, "node-1", &filtered);
    assert_eq!((of_second, &written["memory"]), (8, &json!(8)), "{written}");
}

#[test]
fn launch_messages_of_a_capture_with_several_runs_are_left_out_and_counted() {
    if !has_package() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    crate::op_memory::record(folder);
    let capture = folder.join("out/.logs/device-7.kprof");
    let more = ["capture", "--ops", "1", "-o", "out/.logs/device-7.kprof", "--append"];
    assert!(kprof(folder, &more).status.success());
    let written = export(folder, &capture, "node-1", &["--run", "1", "--recording", "rec"]);
    // What the allocator did is of this run, but circular buffers are unknown.
    assert_eq!(written["memory"], 5, "{written}");
    assert_eq!(written["doubts"]["ops_without_launch_messages"], 4, "{written}");
}
