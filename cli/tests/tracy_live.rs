//! Tests of Tracy viewers while kernels run.

use host_reader::{
    ProfilerOptions, ReadOptions,
    capture::{MeshRecorder, RecordError},
    export::{
        Trace, TraceFilter,
        tracy::{LiveFeed, Program, TracyOptions, TracyServer},
    },
    init_device_profiler,
    lane::ZoneIndex,
    names::ZoneTable,
    recording::Recording,
    tracy::{RecordOptions, TracyClient, TracyRecording},
};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    mesh::SimulatedMesh,
    workload::{Workload, WorkloadOptions},
};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use wire::{PacketKind, stream::Policy};

/// Maximum time of any wait in a test.
const LIMIT: Duration = Duration::from_secs(120);

/// Name, end and duration of each zone in a lane, sorted by end.
type Zones = Vec<(String, i64, i64)>;

fn record(address: SocketAddr, stop: &AtomicBool) -> TracyRecording {
    let client = TracyClient::connect_with(address, &[82]).unwrap();
    client.record(&RecordOptions::default(), stop)
}

/// Returns the zones that a viewer has received, by RISC; a RISC may have several rows.
fn received(recording: &TracyRecording) -> BTreeMap<String, Zones> {
    let threads = recording.threads.iter();
    let names: BTreeMap<_, _> = threads.map(|thread| (thread.id, thread.name.as_str())).collect();
    let mut lanes: BTreeMap<String, Zones> = BTreeMap::new();
    for zone in recording.devices.iter().flat_map(|device| &device.zones) {
        let lane = names[&u64::from(zone.lane)].split_inclusive(')').next().unwrap().to_owned();
        let (start, end) = (zone.start_ns.unwrap(), zone.end_ns.unwrap());
        let name = recording.location(zone.location).unwrap().name.to_string();
        lanes.entry(lane).or_default().push((name, end, end - start));
    }
    lanes.values_mut().for_each(|zones| zones.sort_by_key(|zone| (zone.1, zone.2)));
    lanes
}

/// Returns the zones that each RISC has written, from its cells as `docs/streaming.md` describes
/// them. Ends are modulo 2^32.
fn written(mesh: &mut SimulatedMesh) -> BTreeMap<String, Zones> {
    let names = ZoneTable::from_texts(mesh.zone_texts()).unwrap();
    let name = |id: u32| names.label(ZoneIndex(id)).into_owned();
    let streamed = mesh.take_cells();
    let lanes = streamed.iter().map(|(key, cells)| {
        let mut zones = Zones::new();
        let mut at = 0;
        while let Some(&[head, value]) = cells.get(at) {
            at += match head >> 16 {
                0xFFF0 => {
                    zones.push((name(head & 0xFFFF), value.into(), cells[at + 1][0].into()));
                    2
                }
                0xFFF1 | 0xFFF5 => 2,
                0xFFF2 => 3,
                0xFFF3 | 0xFFF4 | 0xFFF6 | 0xFFF7 => 1,
                0xFFFF => 8 - at % 8,
                id => {
                    zones.push((name(id), value.into(), (head & 0xFFFF).into()));
                    1
                }
            };
        }
        (format!("{} (device {}", key.risc, key.chip_id), key.core, zones)
    });
    let lanes = lanes.filter(|(_, _, zones)| !zones.is_empty());
    lanes
        .map(|(lane, core, zones)| (format!("{lane}, core {}-{})", core.x, core.y), zones))
        .collect()
}

/// Asserts that the zones received in a lane are the first zones that its RISC wrote. Tile clocks
/// run at 1 GHz, with an error of some parts per million, and start at arbitrary values.
fn assert_first(lane: &str, received: &Zones, written: &Zones) {
    assert!(received.len() <= written.len(), "{lane}");
    let [first_received, first_written] = [received[0].1, written[0].1];
    for (index, (found, truth)) in received.iter().zip(written).enumerate() {
        assert_eq!(found.0, truth.0, "{lane}, zone {index}");
        let distances = [found.1 - first_received, truth.1 - first_written];
        for [found, truth] in [[found.2, truth.2], distances] {
            let error = (found - truth).abs();
            assert!(error <= 2 + truth / 10_000, "{lane}, zone {index}: {found}, {truth}");
        }
    }
}

/// Numbers of zones and of other records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    zones: usize,
    points: usize,
}

impl Counts {
    fn add(&mut self, recording: &Recording) {
        let heads = recording.readout.lanes().flat_map(|lane| &lane.heads);
        for head in heads {
            match head.kind() {
                PacketKind::ZoneStart => {}
                PacketKind::ZoneEnd => self.zones += 1,
                _ => self.points += 1,
            }
        }
    }
}

/// Ends the feed when dropped, so that a failed assertion leaves no viewer waiting.
struct EndOnDrop(Arc<LiveFeed>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        if thread::panicking() {
            let empty = Recording::default();
            self.0.finish(&Trace::new(&empty, &TraceFilter::default()), 0);
        }
    }
}

#[test]
fn a_viewer_sees_the_zones_of_a_running_kernel_as_the_kernel_wrote_them() {
    let config = MeshConfig::new(5).with_chip(ChipConfig::new(Arch::WormholeB0)).with_streaming();
    let Ok(mut mesh) = SimulatedMesh::new(&config.with_cell_truth()) else { return };
    let stream_policy = Policy::Block { cycles_log2: 24 };
    let options = ProfilerOptions { stream_policy, ..ProfilerOptions::default() };
    init_device_profiler(&mut mesh, &options).unwrap();
    let options = WorkloadOptions { ops: Some(1), ..WorkloadOptions::default() };
    let plan = Workload::named("long-kernel").unwrap().plan(&mesh, &options);
    let zones = ZoneTable::from_texts(mesh.zone_texts()).unwrap();
    let read_options = ReadOptions { zones, ..ReadOptions::default() };
    let mut recorder = MeshRecorder::new(read_options, None);
    recorder.open_clocks(&mut mesh);
    let origin_ns = i64::try_from(mesh.now_ps() / 1000).unwrap();
    let feed = Arc::new(LiveFeed::new(origin_ns, &[]));
    let server = TracyServer::bind("127.0.0.1:0").unwrap();
    let address = server.local_address().unwrap();
    feed.serve(server, TracyOptions::default(), Program::Stock, drop).unwrap();
    let [stop, never] = [AtomicBool::new(false), AtomicBool::new(false)];
    thread::scope(|scope| {
        let _end = EndOnDrop(Arc::clone(&feed));
        let early = scope.spawn(|| record(address, &stop));
        let whole = scope.spawn(|| record(address, &never));
        let wait_for = |is_met: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while !is_met() {
                assert!(begun.elapsed() < LIMIT, "{:?}", feed.pressure());
                thread::sleep(Duration::from_millis(1));
            }
        };
        wait_for(&|| feed.pressure().viewer_count == 2);
        plan.phases.iter().flat_map(|phase| &phase.launches).for_each(|launch| {
            mesh.enqueue_everywhere(launch);
        });
        let mut counts = Counts::default();
        let mut read = |mesh: &mut SimulatedMesh| {
            recorder.read_live(mesh, |part| {
                let recording = Recording::from_captured_run(part.run);
                counts.add(&recording);
                feed.add(&Trace::new(&recording, &TraceFilter::default()));
            })?;
            Ok::<_, RecordError>(counts)
        };
        let mut read_until = |mesh: &mut SimulatedMesh, zones: usize| loop {
            mesh.wait_ns(20_000);
            let counts = read(mesh).unwrap();
            assert!(mesh.has_launches_to_run(), "the kernel must still run");
            if counts.zones > zones {
                wait_for(&|| feed.pressure().waiting_zones == 0);
                return counts;
            }
        };
        // One viewer stops in the middle of the kernel. The feed, and so the other viewer, ends
        // later, but also before the kernel's end.
        let early_counts = read_until(&mut mesh, 5_000);
        stop.store(true, Ordering::Relaxed);
        // A viewer that is slow to leave would also receive zones that are read later.
        let early = early.join().unwrap();
        let counts = read_until(&mut mesh, 50_000);
        feed.finish(&Trace::new(&Recording::default(), &TraceFilter::default()), 0);
        assert!(feed.wait_for_viewers(LIMIT));
        // The simulator reports the cells of a launch when the launch has ended.
        mesh.run_to_completion();
        let truth = written(&mut mesh);
        let whole = whole.join().unwrap();
        for (recording, sent) in [(early, early_counts), (whole, counts)] {
            let lanes = received(&recording);
            let zones = lanes.values().map(Vec::len).sum();
            let found = Counts { zones, points: recording.messages.len() };
            assert_eq!(found, sent);
            assert_eq!(lanes.len(), 128, "two RISCs of 64 cores");
            lanes.iter().for_each(|(lane, zones)| assert_first(lane, zones, &truth[lane]));
        }
    });
}

/// Starts a streaming run that waits for a viewer; returns the run and its address.
fn run(
    folder: &std::path::Path,
) -> (std::process::Child, BufReader<std::process::ChildStderr>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kprof"));
    command.args(["run", "--workload", "full-buffer", "--ops", "2", "--json", "--read-every"]);
    command.args(["50us", "--stream=block=1048576", "--tracy=127.0.0.1:0", "--tracy-wait", "-o"]);
    command.args([folder.to_str().unwrap(), "--tracy-drop-after", "2"]);
    let mut program = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(program.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("kprof: waiting for Tracy viewers on 127.0.0.1:"), "{line}");
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    (program, lines, address)
}

/// Returns the number of zones in the log of a run.
fn logged(folder: &std::path::Path) -> usize {
    let log = std::fs::read_to_string(folder.join(".logs/profile_log_device.csv")).unwrap();
    log.lines().filter(|line| line.contains(",ZONE_END")).count()
}

#[test]
fn kprof_run_serves_a_viewer_and_the_log_has_the_same_number_of_zones() {
    let folder = tempfile::tempdir().unwrap();
    let (program, mut lines, address) = run(folder.path());
    let recording = record(address.parse().unwrap(), &AtomicBool::new(false));
    let mut stderr = String::new();
    lines.read_to_string(&mut stderr).unwrap();
    assert!(program.wait_with_output().unwrap().status.success(), "{stderr}");
    assert!(recording.is_complete(), "{:?}", recording.end);
    let zones: usize = recording.devices.iter().map(|device| device.zones.len()).sum();
    assert_eq!(zones, logged(folder.path()));
    assert!(zones > 90_000, "{zones}");
    assert!(stderr.contains("(Tracy 0.14): "), "{stderr}");
}

#[test]
fn a_viewer_that_stalls_loses_nothing_of_the_recording() {
    let folder = tempfile::tempdir().unwrap();
    let (program, mut lines, address) = run(folder.path());
    let mut viewer = TcpStream::connect(address).unwrap();
    viewer.write_all(b"TracyPrf\x52\0\0\0").unwrap();
    let mut stderr = String::new();
    lines.read_to_string(&mut stderr).unwrap();
    assert!(program.wait_with_output().unwrap().status.success(), "{stderr}");
    let is_told = stderr.contains("received no data for too long and was disconnected")
        || stderr.contains("1 Tracy viewer has not received everything");
    assert!(is_told, "{stderr}");
    assert!(logged(folder.path()) > 90_000);
}
