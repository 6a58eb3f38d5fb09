//! Live tests with the capture tool of the PyPI package `iree-base-runtime`, and with greetings
//! made by hand.

use super::{reader, recorded::Recorded};
use host_reader::export::tracy::{Program, ServeError, TracyOptions, TracyServer};
use std::{
    io::{Read, Write},
    net::TcpStream,
    path::PathBuf,
    process::Command,
};

/// Returns the capture tool: the path in `KPROF_TRACY_CAPTURE`, which must exist, else the tool on
/// the search path.
pub(crate) fn capture_tool() -> Option<PathBuf> {
    let named = std::env::var_os("KPROF_TRACY_CAPTURE").map(PathBuf::from);
    let must_be_there = named.is_some() || std::env::var("CI").is_ok_and(|ci| ci == "true");
    let tool = named.unwrap_or_else(|| PathBuf::from("iree-tracy-capture"));
    if Command::new(&tool).arg("-h").output().is_ok() {
        return Some(tool);
    }
    let line = "no iree-tracy-capture: pip install iree-base-runtime numpy, or name it by \
                KPROF_TRACY_CAPTURE";
    assert!(!must_be_there, "{line}");
    println!("{line}");
    None
}

fn server() -> TracyServer {
    TracyServer::bind("127.0.0.1:0").unwrap()
}

/// Captures the recording with the tool, and reads the resulting file.
pub(crate) fn captured(recorded: &Recorded, tool: &PathBuf) -> reader::TracyFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.tracy");
    let server = server();
    let port = server.local_address().unwrap().port().to_string();
    let mut tool = Command::new(tool);
    tool.args(["-f", "-a", "127.0.0.1", "-p", &port, "-o"]).arg(&path);
    let mut tool = tool.stdout(std::process::Stdio::null()).spawn().unwrap();
    let options = TracyOptions { title: "test".to_owned(), recorded_at_s: 1_700_000_000 };
    let served = recorded.with_trace(|trace| {
        server.accept().unwrap().serve(trace, &options, Program::Stock).unwrap()
    });
    assert!(tool.wait().unwrap().success());
    assert!(served.is_whole && served.sent_bytes > 0);
    let file = reader::read(&std::fs::read(&path).unwrap());
    let zones: usize =
        file.contexts.iter().flat_map(|context| context.lanes.values()).map(Vec::len).sum();
    assert_eq!(served.notes.zones, zones as u64);
    let messages: usize = file.threads.iter().map(|thread| thread.messages.len()).sum();
    assert_eq!(served.notes.messages, messages as u64);
    file
}

#[test]
fn a_capture_tool_takes_every_zone_of_every_lane_however_many_cores_there_are() {
    let Some(tool) = capture_tool() else { return };
    for (core_count, context_count) in [(1, 1), (64, 64), (140, 140), (400, 3)] {
        let mut recorded = Recorded::cores(core_count, 3, 20);
        recorded.lose();
        let file = captured(&recorded, &tool);
        recorded.assert_shown_by(&file);
        // A stock viewer has 256 contexts; beyond this limit, each context contains a whole chip.
        assert_eq!(file.contexts.len(), context_count);
    }
}

#[test]
fn a_capture_tool_sees_names_ops_messages_and_plots() {
    let Some(tool) = capture_tool() else { return };
    let mut recorded = Recorded::cores(2, 2, 1);
    recorded.lose();
    let file = captured(&recorded, &tool);
    assert_eq!(file.contexts[0].name, "Device: 0, Core (0,0)");
    let first = &file.contexts[0].lanes.values().next().unwrap()[0];
    assert_eq!((first.place.function.as_str(), first.place.rgb), ("OP ID:1", 0xEE9A00));
    let ops = file.threads.iter().find(|thread| file.thread_names[&thread.id] == "Device 0: ops");
    let names: Vec<&str> = ops.unwrap().zones.iter().map(|zone| zone.name.as_str()).collect();
    assert_eq!(names, ["program 1", "program 2"]);
    let texts = || file.threads.iter().flat_map(|thread| &thread.messages);
    assert!(texts().any(|message| message.text == "lost 25 zones: L1 full"));
    let plots: Vec<&str> = file.plots.iter().map(|(name, _)| name.as_str()).collect();
    assert!(plots.contains(&"Device 0: kernels running"), "{plots:?}");
}

#[test]
fn backward_time_and_too_many_source_locations_break_no_capture() {
    let Some(tool) = capture_tool() else { return };
    let recorded = Recorded::cores(1, 8_000, 0);
    let file = captured(&recorded, &tool);
    recorded.assert_shown_by(&file);
    assert!(file.place_count <= 32_767);
}

/// Sends bytes to a server like a viewer. Returns the server's answer and the server's error.
fn answer_to(said: &[u8]) -> (Vec<u8>, ServeError) {
    let server = server();
    let mut viewer = TcpStream::connect(server.local_address().unwrap()).unwrap();
    viewer.write_all(said).unwrap();
    viewer.shutdown(std::net::Shutdown::Write).unwrap();
    let error = Recorded::empty().with_trace(|trace| {
        server.accept().unwrap().serve(trace, &TracyOptions::default(), Program::Stock).unwrap_err()
    });
    let mut answer = Vec::new();
    let _ = viewer.read_to_end(&mut answer);
    (answer, error)
}

#[test]
fn a_viewer_of_an_unknown_version_is_told_so_and_so_is_the_user() {
    let (answer, error) = answer_to(b"TracyPrf\x40\0\0\0");
    assert_eq!(answer, [2]);
    let error = error.to_string();
    assert!(error.contains("speaks protocol 64; expected one of 66 (Tracy 0.11.0)"), "{error}");
}

#[test]
fn who_greets_otherwise_is_no_viewer() {
    for said in [&b"GET / HTTP/1.1\r\n"[..], b"", b"TracyPrf"] {
        let (answer, error) = answer_to(said);
        assert_eq!(answer, b"");
        assert!(matches!(error, ServeError::NotAViewer { .. }), "{error}");
    }
}

#[test]
fn a_viewer_that_leaves_is_no_error_and_the_next_one_is_served() {
    let recorded = Recorded::cores(4, 20, 50);
    let server = server();
    for _ in 0..2 {
        let mut viewer = TcpStream::connect(server.local_address().unwrap()).unwrap();
        viewer.write_all(b"TracyPrf\x52\0\0\0").unwrap();
        drop(viewer);
        let served = recorded.with_trace(|trace| {
            server.accept().unwrap().serve(trace, &TracyOptions::default(), Program::Stock).unwrap()
        });
        assert!(!served.is_whole);
    }
}
