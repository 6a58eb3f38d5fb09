//! Tests of `kprof export` when writing fails midway: no partial file gets the output's name, an
//! existing file stays unchanged, and one sentence states the reason.

use crate::program;
use std::{
    ffi::OsStr,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::LazyLock,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// A file name for each format; the format is inferred from the name.
const OUTPUTS: [&str; 5] = ["t.pftrace", "t.json", "t.tracy", "t.folded", "t.html"];

fn kprof(folder: &Path, args: &[&str]) -> Command {
    let mut command = program::program();
    command.args(args).current_dir(folder);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A small capture. In each format it takes more than 8 KiB.
static CAPTURE: LazyLock<Vec<u8>> =
    LazyLock::new(|| captured(&["capture", "--ops", "2", "-o", "c.kprof"]));

fn captured(args: &[&str]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let captured = kprof(folder.path(), args).output().unwrap();
    assert!(captured.status.success(), "{}", String::from_utf8_lossy(&captured.stderr));
    std::fs::read(folder.path().join("c.kprof")).unwrap()
}

fn folder_with_capture() -> TempDir {
    folder_with(&CAPTURE)
}

fn folder_with(capture: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("c.kprof"), capture).unwrap();
    folder
}

fn entries(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[track_caller]
fn assert_refused(output: &Output, sentence: &str) {
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(sentence), "{errors}");
}

/// Runs `kprof export` with a maximum file size of 8 KiB, which acts like a disk that fills up.
fn export_where_files_end_at_8_kib(folder: &Path, output: &str) -> Output {
    let script = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let kprof = env!("CARGO_BIN_EXE_kprof");
    let mut shell = Command::new("bash");
    shell.args(["-c", script, "bash", kprof, "export", "c.kprof", "-o", output]);
    program::clear_variables(&mut shell);
    shell.current_dir(folder).output().unwrap()
}

#[test]
fn a_disk_that_fills_up_midway_leaves_what_was_there() {
    let folder = folder_with_capture();
    for output in OUTPUTS {
        let path = folder.path().join(output);
        assert_refused(
            &export_where_files_end_at_8_kib(folder.path(), output),
            &format!("cannot write {output}: File too large"),
        );
        assert_eq!(entries(folder.path()), ["c.kprof"]);
        std::fs::write(&path, "old").unwrap();
        assert_refused(&export_where_files_end_at_8_kib(folder.path(), output), "File too large");
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(entries(folder.path()), ["c.kprof", output]);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_folder_that_takes_no_files_is_named() {
    let folder = folder_with_capture();
    // No user can create a file in this folder.
    for path in ["/sys/kernel/t.pftrace", "/sys/kernel/t.tracy"] {
        let output = kprof(folder.path(), &["export", "c.kprof", "-o", path]).output().unwrap();
        assert_refused(&output, &format!("cannot write {path}: "));
        let errors = String::from_utf8(output.stderr).unwrap();
        let is_refusal = ["Permission denied", "Read-only file system", "Operation not permitted"]
            .iter()
            .any(|refusal| errors.contains(refusal));
        assert!(is_refusal, "{errors}");
        assert!(!Path::new(path).exists());
    }
}

#[test]
fn a_file_in_the_place_of_a_folder_is_named() {
    let folder = folder_with_capture();
    for path in ["c.kprof/t.json", "c.kprof/t.tracy"] {
        let output = kprof(folder.path(), &["export", "c.kprof", "-o", path]).output();
        assert_refused(&output.unwrap(), &format!("cannot write {path}: Not a directory"));
    }
}

#[test]
fn an_input_is_never_the_output() {
    let folder = folder_with_capture();
    let path = folder.path();
    let whole = std::fs::read(path.join("c.kprof")).unwrap();
    std::fs::hard_link(path.join("c.kprof"), path.join("linked.kprof")).unwrap();
    std::os::unix::fs::symlink("c.kprof", path.join("t.json")).unwrap();
    for args in [
        &["export", "c.kprof", "-f", "html", "-o", "c.kprof"][..],
        &["export", "c.kprof", "-f", "html", "-o", "./c.kprof"],
        &["export", "c.kprof", "-o", "t.json"],
        &["export", "linked.kprof", "-f", "html", "--compare", "c.kprof", "-o", "c.kprof"],
        &["export", "c.kprof", "-f", "device-log", "-o", "c.kprof"],
    ] {
        assert_refused(
            &kprof(path, args).output().unwrap(),
            "expected an output file that is not the input",
        );
        assert_eq!(std::fs::read(path.join("c.kprof")).unwrap(), whole, "{args:?}");
    }
    // Without -o, `kprof export` does not replace a device log that may be measured.
    let log = path.join("profile_log_device.csv");
    let made = kprof(path, &["export", "c.kprof", "-f", "device-log"]).output().unwrap();
    assert!(made.status.success());
    let first = std::fs::read(&log).unwrap();
    for (args, sentence) in [
        (&["export", "c.kprof", "-f", "device-log"][..], "so it is not replaced"),
        (&["export", "profile_log_device.csv", "-f", "device-log"], "that is not the input"),
        (&["export", ".", "-f", "device-log"], "that is not the input"),
    ] {
        assert_refused(&kprof(path, args).output().unwrap(), sentence);
    }
    assert_eq!(std::fs::read(&log).unwrap(), first);
}

/// A file name that is not UTF-8.
#[test]
fn a_name_of_other_bytes_is_as_good_as_any() {
    use std::os::unix::ffi::OsStrExt;
    let folder = folder_with_capture();
    let [capture, page] = [&b"c\xff.kprof"[..], b"p\xff.html"].map(OsStr::from_bytes);
    std::fs::rename(folder.path().join("c.kprof"), folder.path().join(capture)).unwrap();
    let mut export = kprof(folder.path(), &["export", "-o"]);
    let export = export.arg(page).arg(capture).output().unwrap();
    assert!(export.status.success(), "{}", String::from_utf8_lossy(&export.stderr));
    assert!(std::fs::read(folder.path().join(page)).unwrap().starts_with(b"<!doctype html>"));
    if cfg!(feature = "parquet") {
        let merge = kprof(folder.path(), &["merge", "-o", "m"]).arg(capture).output().unwrap();
        assert!(merge.status.success(), "{}", String::from_utf8_lossy(&merge.stderr));
    }
}

#[test]
fn the_exit_code_is_the_same_where_nothing_takes_the_errors() {
    let folder = folder_with_capture();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for (args, code) in [
        (&["report", "nowhere"][..], 2),
        (&["export", "c.kprof", "-o", "none/t.json"], 2),
        (&["noc", "c.kprof"], 1),
    ] {
        let status = kprof(folder.path(), args).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}

#[test]
fn a_folder_cannot_be_made_where_a_file_is() {
    let folder = folder_with_capture();
    std::fs::write(folder.path().join("file"), "old").unwrap();
    for args in [
        &["ops", "c.kprof", "-o", "file"][..],
        &["man", "file"],
        &["sdk", "file"],
        &["run", "--ops", "1", "-o", "file"],
        &["merge", "c.kprof", "-o", "file"],
    ] {
        if args[0] == "merge" && !cfg!(feature = "parquet") {
            continue;
        }
        let output = kprof(folder.path(), args).output().unwrap();
        assert_refused(&output, "expected a folder, found the file file");
    }
    assert_eq!(std::fs::read(folder.path().join("file")).unwrap(), b"old");
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(kill.success(), "{name}");
}

/// Waits until the program has begun the temporary file of the output, and stops the program.
fn halt_midway(child: &mut Child, folder: &Path) {
    let patience = Instant::now() + Duration::from_secs(60);
    while !entries(folder).iter().any(|name| name.starts_with(".kprof-")) {
        assert!(child.try_wait().unwrap().is_none(), "ended before it began to write");
        assert!(Instant::now() < patience, "does not begin to write");
        std::thread::sleep(Duration::from_micros(200));
    }
    signal(child, "-STOP");
}

#[test]
fn an_interrupt_midway_leaves_what_was_there() {
    // This capture takes a while to export.
    let folder = folder_with(&captured(&["capture", "--ops", "40", "-o", "c.kprof"]));
    for (signal_name, name) in
        [("-INT", "t.json"), ("-TERM", "t.json"), ("-INT", "t.tracy"), ("-TERM", "t.tracy")]
    {
        let path = folder.path().join(name);
        std::fs::write(&path, "old").unwrap();
        let mut child = kprof(folder.path(), &["export", "c.kprof", "-o", name]).spawn().unwrap();
        halt_midway(&mut child, folder.path());
        signal(&child, signal_name);
        signal(&child, "-CONT");
        let output = child.wait_with_output().unwrap();
        assert_refused(&output, &format!("interrupted: {name} is not written"));
        assert_eq!(entries(folder.path()), ["c.kprof", name]);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        std::fs::remove_file(&path).unwrap();
    }
}
