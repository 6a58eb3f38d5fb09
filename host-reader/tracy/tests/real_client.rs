//! Tests with Tracy's own client. The client runs in a program that also measures its zones itself,
//! and logs the results.
//!
//! `KPROF_TRACY_LOAD` is the path of the program. `tests/tracy-client` builds the program.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    net::{Ipv4Addr, SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};
use tracy::{RecordOptions, RecordingEnd, TracyClient, TracyError, TracyRecording, TracyThread};

fn program() -> Option<PathBuf> {
    let found = std::env::var_os("KPROF_TRACY_LOAD").map(PathBuf::from);
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "expected KPROF_TRACY_LOAD in the gate");
        println!("skipped: KPROF_TRACY_LOAD names no program with a Tracy client");
    }
    found
}

/// Returns a port that is not in use at the moment.
fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn start(program: &Path, port: u16, arguments: &[&str]) -> Child {
    Command::new(program)
        .args(arguments)
        .env("TRACY_PORT", port.to_string())
        .env("TRACY_NO_EXIT", "1")
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

fn connect(port: u16) -> TracyClient {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let begun = Instant::now();
    loop {
        match TracyClient::connect(address) {
            Ok(client) => return client,
            Err(TracyError::Connection { .. }) if begun.elapsed() < Duration::from_secs(20) => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Name of the main thread. The client sets this name, regardless of the name that the program
/// sets.
const MAIN_THREAD: &str = "Main thread";
/// Mask for the source of a message: 0 is the program, other values are Tracy itself.
const SOURCE: u8 = 0x0F;

/// One zone as measured by the program: once from inside the zone, and once around the zone.
struct Accounted {
    depth: u16,
    inside_ns: u64,
    around_ns: u64,
    text: String,
}

fn account(path: &Path, thread: &str) -> Vec<Accounted> {
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let of_thread = lines.filter(|fields| format!("load {}", fields[0]) == thread);
    of_thread
        .map(|fields| Accounted {
            depth: fields[1].parse().unwrap(),
            inside_ns: fields[2].parse().unwrap(),
            around_ns: fields[3].parse().unwrap(),
            text: fields[4].to_owned(),
        })
        .collect()
}

/// Asserts that each zone lasted as long as the program measured.
///
/// Both clocks have a resolution of some ten nanoseconds. The client calibrates its clock within
/// 200 ms; on a busy machine, the calibration error is some percent.
fn assert_as_accounted(thread: &TracyThread, recording: &TracyRecording, accounted: &[Accounted]) {
    assert_eq!(thread.zones.len(), accounted.len(), "{}", thread.name);
    for (zone, accounted) in thread.zones.iter().zip(accounted) {
        let location = recording.location(zone.location).unwrap();
        let expected = match accounted.depth {
            0 => ("Outer", "main.rs"),
            _ => ("Inner", "tracy-load.rs"),
        };
        let file = location.file.rsplit('/').next().unwrap();
        assert_eq!(
            (location.zone_name(), file, zone.depth),
            (expected.0, expected.1, accounted.depth)
        );
        assert_eq!(zone.text().unwrap_or_default(), accounted.text);
        let duration_ns = zone.duration_ns().unwrap();
        let slack_ns = 100 + accounted.around_ns / 20;
        assert!(
            accounted.inside_ns <= duration_ns + slack_ns
                && duration_ns <= accounted.around_ns + slack_ns,
            "{} <= {duration_ns} <= {}",
            accounted.inside_ns,
            accounted.around_ns
        );
    }
}

#[test]
fn a_million_zones_of_ten_threads_arrive_as_the_program_measured_them() {
    let Some(program) = program() else { return };
    let folder = std::env::temp_dir().join(format!("kprof-tracy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("account");
    let port = free_port();
    let mut child = start(&program, port, &["1000000", "10", path.to_str().unwrap()]);
    let client = connect(port);
    assert_eq!(client.process_id(), u64::from(child.id()));
    assert_eq!(client.protocol().number, 82);
    let recording = client.record(&RecordOptions::default(), &AtomicBool::new(false));
    assert!(child.wait().unwrap().success());
    assert!(recording.is_complete(), "{:?} {:?}", recording.end, recording.damage);
    for number in 0..10 {
        let name = format!("load {number}");
        let thread = recording.threads.iter().find(|thread| thread.name == name).unwrap();
        assert_as_accounted(thread, &recording, &account(&path, &name));
    }
    assert_messages(&recording);
    assert_series(&recording);
    assert_device(&recording);
    assert_stack(&recording);
    assert_colors(&recording);
    std::fs::remove_dir_all(folder).unwrap();
}

/// Asserts that captures keep the client's colours, and that nothing else has a colour.
fn assert_colors(recording: &TracyRecording) {
    let host = recording.to_host_recording(0);
    let events = host.threads.iter().flat_map(|thread| &thread.events);
    let mut colored = Vec::new();
    for event in events {
        let Some(color) = event.color else { continue };
        let text = event.text.as_deref().unwrap_or_default();
        colored.push((host.name(event).to_owned(), text.lines().next().unwrap(), color.rgb()));
    }
    colored.sort();
    let message = (String::new(), "end", 0x00FF_8000);
    let zone = ("WithStack".to_owned(), "77 [0x4d]", 0x0012_3456);
    assert_eq!(colored, [message, zone]);
}

fn assert_messages(recording: &TracyRecording) {
    let of_program = recording.messages.iter().filter(|one| one.metadata.unwrap() & SOURCE == 0);
    let mut found: Vec<String> = of_program.map(|one| one.text.to_string()).collect();
    let mut expected = vec!["begin".to_owned(), "end".to_owned()];
    for number in 0..10 {
        expected.extend((0..50).map(|index| format!("thread {number} at {}", index * 1000)));
    }
    found.sort();
    expected.sort();
    assert!(found == expected, "{} messages", found.len());
    let of_text = |text: &str| recording.messages.iter().find(|one| &*one.text == text).unwrap();
    assert_eq!(of_text("end").color, Some(0x00FF_8000));
    assert_eq!(of_text("begin").color, None);
    let thread = of_text("thread 3 at 2000").thread;
    assert_eq!(recording.threads[thread].name, "load 3");
}

fn assert_series(recording: &TracyRecording) {
    let plot = recording.plots.iter().find(|plot| &*plot.name == "progress").unwrap();
    for number in 0..10 {
        let is_of_thread =
            |thread: usize| recording.threads[thread].name == format!("load {number}");
        let points = plot.points.iter().filter(|point| is_of_thread(point.2));
        let values: Vec<f64> = points.map(|point| point.1).collect();
        assert_eq!(values, (0..50).map(|index| f64::from(index * 1000)).collect::<Vec<_>>());
    }
    let frames = |name: &str| {
        let series = recording.frames.iter().find(|series| &*series.name == name);
        series.map_or(0, |series| series.frames.len())
    };
    assert_eq!([frames("Frame"), frames("iteration")], [3, 3]);
}

fn assert_device(recording: &TracyRecording) {
    let [device] = recording.devices.as_slice() else { panic!("{:?}", recording.devices) };
    assert_eq!((&*device.name, device.zones.len()), ("chip 0", 100));
    let first = device.zones[0].start_ns.unwrap();
    for (index, zone) in (0..).zip(&device.zones) {
        let start_ns = zone.start_ns.unwrap();
        assert_eq!(start_ns - first, index * 50);
        assert_eq!(zone.end_ns.unwrap() - start_ns, 20 + index);
        let location = recording.location(zone.location).unwrap();
        assert_eq!(
            (location.zone_name(), &*location.file, location.line),
            ("kernel", "kernel.cpp", 3)
        );
    }
}

fn assert_stack(recording: &TracyRecording) {
    let main = recording.threads.iter().find(|thread| thread.name == MAIN_THREAD).unwrap();
    let [zone] = main.zones.as_slice() else { panic!("{:?}", main.zones) };
    let extra = zone.extra.as_ref().unwrap();
    assert_eq!((extra.color, extra.text.as_deref()), (Some(0x0012_3456), Some("77 [0x4d]")));
    let stack = &recording.callstacks[extra.callstack.unwrap() as usize];
    let names: Vec<&str> = stack.iter().map(|function| &*function.name).collect();
    assert!(names.iter().any(|name| name.contains("tracy_load::main")), "{names:?}");
}

#[test]
fn a_program_that_is_killed_leaves_what_it_had_sent() {
    let Some(program) = program() else { return };
    let path = std::env::temp_dir().join(format!("kprof-tracy-killed-{}", std::process::id()));
    let port = free_port();
    let mut child = start(&program, port, &["2000", "2", path.to_str().unwrap(), "60"]);
    let client = connect(port);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(1500));
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let recording = client.record(&RecordOptions::default(), &AtomicBool::new(false));
    killer.join().unwrap();
    assert_eq!(recording.end, RecordingEnd::Cut);
    assert_eq!(recording.zone_count(), 2002, "{:?}", recording.damage);
    assert_eq!(recording.damage.open_zones, 1);
    let main = recording.threads.iter().find(|thread| thread.name == MAIN_THREAD).unwrap();
    let open = main.zones.iter().find(|zone| zone.end_ns.is_none()).unwrap();
    assert_eq!(recording.location(open.location).unwrap().zone_name(), "StillOpen");
    let host = recording.to_host_recording(0);
    let of_main = host.threads.iter().find(|thread| thread.name == MAIN_THREAD).unwrap();
    assert_eq!(of_main.open_zone_count, 1);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_recording_that_is_stopped_has_all_until_then() {
    let Some(program) = program() else { return };
    let path = std::env::temp_dir().join(format!("kprof-tracy-stopped-{}", std::process::id()));
    let port = free_port();
    let mut child = start(&program, port, &["2000", "2", path.to_str().unwrap(), "60"]);
    let client = connect(port);
    let stop = AtomicBool::new(false);
    let recording = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(1500));
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        client.record(&RecordOptions::default(), &stop)
    });
    assert_eq!(recording.end, RecordingEnd::Stopped);
    assert_eq!((recording.zone_count(), recording.damage.open_zones), (2002, 1));
    // A second server is refused with a readable error.
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let second = TracyClient::connect(address);
    assert!(matches!(second, Err(TracyError::NotAvailable { .. })), "{second:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(path).unwrap();
}
