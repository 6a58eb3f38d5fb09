//! The program as a user of Tracy meets it: a file, and viewers that connect.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Command, Stdio},
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

#[test]
fn an_address_that_is_taken_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = kprof().args(["serve", "--tracy", LOG, "--listen", &address]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains(&format!("cannot listen for Tracy viewers on {address}")), "{stderr}");
}
