//! Tests of exports for Tracy: a file, and viewers that connect.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

const LOG: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../tests/captures/mesham-tt-sim/blackhole-noc-256/profile_log_device.csv"
);

fn kprof() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kprof"))
}

#[test]
fn a_name_that_ends_in_tracy_asks_for_tracys_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.tracy");
    let output = kprof().args(["export", LOG, "-o"]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(std::fs::read(&path).unwrap().starts_with(b"tlZ\x04"));
}

#[test]
fn a_viewer_of_an_unknown_version_ends_serve_once_with_a_sentence() {
    let mut serve = kprof();
    serve.args(["serve", "--tracy", LOG, "--once", "--listen", "127.0.0.1:0"]);
    let mut serve = serve.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(serve.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap();
    let mut viewer = TcpStream::connect(address).unwrap();
    viewer.write_all(b"TracyPrf\x01\0\0\0").unwrap();
    let mut answer = Vec::new();
    viewer.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, [2]);
    let output = serve.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("speaks protocol 1; expected one of 66"), "{stderr}");
}

/// A running `kprof serve`, with the address on which it listens.
struct Served {
    program: Child,
    lines: BufReader<ChildStdout>,
    address: String,
}

fn serve(args: &[&str]) -> Served {
    let mut command = kprof();
    command.args(["serve", "--tracy", LOG, "--listen", "127.0.0.1:0"]).args(args);
    let mut program = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap().to_owned();
    Served { program, lines, address }
}

impl Served {
    /// Sends the greeting of a Tracy 0.14 viewer and nothing else.
    fn greet(&self) -> TcpStream {
        let mut viewer = TcpStream::connect(&self.address).unwrap();
        viewer.write_all(b"TracyPrf\x52\0\0\0").unwrap();
        viewer
    }

    /// Receives everything like a viewer, and acknowledges it.
    fn take_all(&self) {
        let mut viewer = self.greet();
        let mut answer = [0];
        viewer.read_exact(&mut answer).unwrap();
        assert_eq!(answer, [1]);
        viewer.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
        let mut bytes = Vec::new();
        // The whole trace is sent at once, so this reads until no more data arrives.
        let _ = viewer.read_to_end(&mut bytes);
        assert!(bytes.len() > 1_000, "{}", bytes.len());
        viewer.write_all(&[0; 13]).unwrap();
        viewer.set_read_timeout(None).unwrap();
        viewer.read_to_end(&mut bytes).unwrap();
    }

    fn next_line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn a_viewer_that_takes_its_time_keeps_nobody_waiting() {
    let mut served = serve(&["--once"]);
    let slow = served.greet();
    let silent = TcpStream::connect(&served.address).unwrap();
    served.take_all();
    let line = served.next_line();
    assert!(line.contains("4 zones on 2 lanes"), "{line}");
    assert!(served.program.wait().unwrap().success(), "both others are still connected");
    drop((slow, silent));
}

#[test]
fn serve_once_outlives_those_who_look_for_open_ports() {
    let mut served = serve(&["--once"]);
    drop(TcpStream::connect(&served.address).unwrap());
    let mut curious = TcpStream::connect(&served.address).unwrap();
    curious.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let _ = curious.read_to_end(&mut Vec::new());
    served.take_all();
    let line = served.next_line();
    assert!(line.contains("zones on"), "{line}");
    let output = served.program.wait_with_output().unwrap();
    assert!(output.status.success());
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("found the end of the connection after 0 bytes"), "{stderr}");
    assert!(stderr.contains("found \"GET / HTTP/1\""), "{stderr}");
}

#[test]
fn a_viewer_that_takes_nothing_is_dropped() {
    let mut served = serve(&["--drop-after", "1"]);
    let viewer = served.greet();
    let line = served.next_line();
    assert!(line.contains("received no data for too long and was disconnected"), "{line}");
    served.take_all();
    assert!(served.next_line().contains("zones on"), "the others are served all the same");
    served.program.kill().unwrap();
    served.program.wait().unwrap();
    drop(viewer);
}

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = kprof().args(["serve", "--tracy", LOG, "--listen", &address]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains(&format!("cannot listen for Tracy viewers on {address}")), "{stderr}");
}
