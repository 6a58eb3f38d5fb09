//! Tests of output on a terminal: width, colours, untrusted names and signals.

use crate::program;
use std::{
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

fn kprof(folder: &Path, args: &[&str]) -> Command {
    let mut command = program::program();
    command.args(args).current_dir(folder);
    for name in ["COLUMNS", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command
}

#[track_caller]
fn printed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert_eq!(status.code(), Some(0), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Returns a folder with a capture of six ops on one chip, `a.kprof`.
fn captured() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let args = ["capture", "--ops", "6", "-o", "a.kprof"];
    printed(&mut kprof(folder.path(), &args));
    folder
}

fn log(lines: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let head = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\n\
        PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,\
        run host ID,zone name,type\n";
    std::fs::write(folder.path().join("log.csv"), format!("{head}{lines}")).unwrap();
    folder
}

#[test]
fn tables_fit_80_and_120_columns_and_pipes_have_all() {
    let folder = captured();
    for columns in [80, 120] {
        let mut command = kprof(folder.path(), &["report", "a.kprof"]);
        let text = printed(command.env("COLUMNS", columns.to_string()));
        let tables = text.split("\nKept:").next().unwrap();
        for line in tables.lines() {
            assert!(line.chars().count() <= columns, "{line}");
        }
        assert!(tables.contains("without imbalance"), "{tables}");
        assert_eq!(tables.contains("without imbalance, start skew"), columns == 80, "{tables}");
        assert!(tables.contains("matmul") && tables.contains("kernel"), "{tables}");
    }
    let whole = printed(&mut kprof(folder.path(), &["report", "a.kprof"]));
    assert!(whole.contains("TRISC2  start skew  op to op  imbalance"), "{whole}");
    assert!(!whole.contains("ERISC"), "no core has one: {whole}");
}

#[test]
fn ops_have_names_and_are_sorted_by_time_if_asked() {
    let folder = captured();
    let args = ["report", "a.kprof", "--sort", "time"];
    let text = printed(&mut kprof(folder.path(), &args));
    let rows = text.lines().skip_while(|line| !line.contains("program")).skip(1).take(6);
    let kernels: Vec<u64> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(cells[2], "matmul", "{row}");
            cells[6].replace(',', "").parse().unwrap()
        })
        .collect();
    assert!(kernels.is_sorted_by(|one, next| one >= next), "{kernels:?}");
    assert_eq!(kernels.len(), 6);
    let json = printed(&mut kprof(folder.path(), &["report", "a.kprof", "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let op = &json["ops"][1];
    assert_eq!((&op["program"], &op["run_host_id"]), (&2.into(), &(2 << 10).into()));
    assert_eq!((&op["chip_id"], &op["name"]), (&0.into(), &"matmul".into()));
}

#[test]
fn counters_and_transfers_are_a_row_each() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures/mesham-tt-sim");
    for (capture, row) in [
        ("wormhole-counters-elw", "BRISC  59 hardware counters"),
        ("wormhole-noc-256", "transfers on the NoC"),
    ] {
        let log = captures.join(capture).join("profile_log_device.csv");
        let text = printed(&mut kprof(Path::new("."), &["report", log.to_str().unwrap()]));
        assert!(text.contains(row), "{text}");
    }
}

#[test]
fn counters_and_their_metrics_are_tables_and_metrics_say_what_they_miss() {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures/mesham-tt-sim");
    let log = captures.join("wormhole-counters-elw/profile_log_device.csv");
    let log = log.to_str().unwrap();
    let text = printed(&mut kprof(Path::new("."), &["report", log, "--rows", "0"]));
    let row = |name: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.contains(name));
        line.unwrap_or_else(|| panic!("no {name} in {text}")).split_whitespace().collect()
    };
    // The counter has 367 events in 4,317 cycles (8.501 %), on the only core.
    let stalls = row("Thread 0 Stall Rate");
    assert_eq!(stalls[stalls.len() - 7..], ["%", "1", "8.501", "8.501", "8.501", "8.501", "ab"]);
    let counter = row("THREAD_STALLS_0 ");
    assert_eq!(counter[3..], ["THREAD_STALLS_0", "instrn", "1", "367", "367", "4,317"]);
    assert!(text.contains("  b  waits in which a RISC polls"), "{text}");
    assert!(!text.contains("FPU Util"), "its counters were not read: {text}");

    // The log has a counter that the hardware ties to a constant, a counter without a name, and a
    // truncated counter.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("profile_log_device.csv");
    let mut lines = std::fs::read_to_string(log).unwrap();
    let line = lines.lines().find(|line| line.contains(",9090,")).unwrap().to_owned();
    let (front, text_of) = line.split_once('{').unwrap();
    lines.push_str(&line.replace("CFG_INSTRN_AVAILABLE_0", "MATH_FIDELITY_STALL"));
    lines.push_str(&format!("\n{front}\n{front}{{{}\n", &text_of[..20]));
    std::fs::write(&path, lines).unwrap();
    let path = path.to_str().unwrap();
    let text = printed(&mut kprof(Path::new("."), &["report", path, "--rows", "0"]));
    let line = text.lines().find(|line| line.contains("MATH_FIDELITY_STALL")).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    let expected = ["unpack", "1", "not", "observable", "not", "observable", "4,317"];
    assert_eq!(words[words.len() - 7..], expected, "{line}");
    for problem in ["unknown counter", "its text is not JSON"] {
        let line = format!("1 hardware counter could not be read: {problem}");
        assert!(text.contains(&line), "{text}");
    }
    let json = printed(&mut kprof(Path::new("."), &["report", path, "--json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let counters = &json["hardware_counters"][0];
    assert_eq!(counters["counters"].as_array().unwrap().len(), 60);
    assert_eq!(counters["problems"].as_object().unwrap().len(), 2);
    let rows = counters["counters"].as_array().unwrap();
    let tied = rows.iter().find(|row| row["counter"] == "MATH_FIDELITY_STALL").unwrap();
    assert_eq!((&tied["max"], &tied["samples"]), (&serde_json::Value::Null, &1.into()));
}

#[test]
fn colours_are_for_terminals_and_no_color_takes_them_away() {
    let folder = captured();
    let args = ["report", "a.kprof"];
    assert!(!printed(&mut kprof(folder.path(), &args)).contains('\x1b'));
    let forced = printed(kprof(folder.path(), &args).env("CLICOLOR_FORCE", "1"));
    assert!(forced.contains("\x1b[32mLost: nothing\x1b[0m"), "{forced}");
    let mut neither = kprof(folder.path(), &args);
    neither.env("CLICOLOR_FORCE", "1").env("NO_COLOR", "1");
    assert!(!printed(&mut neither).contains('\x1b'));
}

#[test]
fn names_of_others_move_no_cursor_and_fill_no_screen() {
    let long = "x".repeat(10_000);
    let lines = format!(
        "0,1,2,BRISC,7,100,0,1024,evil\x1b[2J,ZONE_START\n\
         0,1,2,BRISC,7,160,0,1024,evil\x1b[2J,ZONE_END\n\
         0,1,2,BRISC,8,200,0,1024,{long},ZONE_START\n\
         0,1,2,BRISC,8,260,0,1024,{long},ZONE_END\n"
    );
    let text = printed(&mut kprof(log(&lines).path(), &["report", "log.csv"]));
    assert!(!text.contains('\x1b') && text.contains("evil\u{fffd}[2J"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 300), "{text}");
    assert!(text.contains("Kept: 2 zones, 0 data, 0 events, 0 sums from 1 RISC of 1 core"));
}

#[test]
fn one_of_a_kind_is_singular() {
    let lines =
        "0,1,2,BRISC,7,100,0,1024,A,ZONE_START\nwhat\n0,1,2,BRISC,7,160,0,1024,A,ZONE_END\n";
    let text = printed(&mut kprof(log(lines).path(), &["report", "log.csv"]));
    assert!(text.contains("Kept: 1 zone, 0 data, 0 events"), "{text}");
    assert!(text.contains("Anomalies: malformed line\n"), "{text}");
}

#[test]
fn what_helps_fits_the_loss() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", "--workload", "timestamped-events"];
    let text = printed(&mut kprof(folder.path(), &args));
    assert!(text.contains("L1 full: ") && text.contains("Reading more often does not help"));
    assert!(!text.contains("read more often"), "{text}");
}

#[test]
fn several_recordings_are_repetitions_and_one_is_told_to_be_few() {
    let folder = captured();
    let args = ["diff", "a.kprof", "a.kprof", "--all"];
    let text = printed(&mut kprof(folder.path(), &args));
    assert!(text.contains("One recording of each side"), "{text}");
    let more = ["--more-a", "a.kprof", "--more-b", "a.kprof", "--more-b", "a.kprof"];
    let text = printed(&mut kprof(folder.path(), &[&args[..], &more].concat()));
    assert!(!text.contains("One recording"), "{text}");
    let row = text.lines().find(|line| line.contains("LoadData")).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    assert!(cells.windows(2).any(|pair| pair == ["2", "3"]), "{row}");
}

#[cfg(unix)]
#[test]
fn a_capture_can_come_through_a_pipe() {
    let folder = captured();
    let of_file = printed(&mut kprof(folder.path(), &["info", "a.kprof"]));
    let file = folder.path().join("a.kprof");
    let mut cat = Command::new("cat").arg(file).stdout(Stdio::piped()).spawn().unwrap();
    let mut info = kprof(folder.path(), &["info", "/dev/stdin"]);
    assert_eq!(printed(info.stdin(cat.stdout.take().unwrap())), of_file);
    cat.wait().unwrap();
    let mut nothing = kprof(folder.path(), &["info", "/dev/stdin"]);
    let mut cat = Command::new("cat").arg("/dev/null").stdout(Stdio::piped()).spawn().unwrap();
    let output = nothing.stdin(cat.stdout.take().unwrap()).output().unwrap();
    cat.wait().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr.contains("found the end after 0 of") && !stderr.contains("delete"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn a_log_that_a_signal_interrupts_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", "--ops", "60", "-o", "out"];
    let mut run = kprof(folder.path(), &args).stdout(Stdio::null()).spawn().unwrap();
    let logs = folder.path().join("out/.logs");
    let is_temporary = |name: &str| name.starts_with(".kprof-");
    let names = || -> Vec<String> {
        let entries = std::fs::read_dir(&logs).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let begun = Instant::now();
    while !names().iter().any(|name| is_temporary(name)) {
        assert!(begun.elapsed() < Duration::from_secs(300), "no log is written");
        assert!(run.try_wait().unwrap().is_none(), "the log was written before it was seen");
        std::thread::sleep(Duration::from_millis(1));
    }
    let kill = Command::new("kill").args(["-TERM", &run.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let status = run.wait().unwrap();
    assert!(names().iter().all(|name| !is_temporary(name)), "{:?}", names());
    assert_eq!(status.code(), Some(130));
}

#[test]
fn a_closed_standard_output_ends_a_command_without_a_message() {
    let folder = captured();
    let commands: [&[&str]; 4] = [
        &["sdk", "scripts"],
        &["report", "a.kprof"],
        &["explain", "a.kprof", "--json"],
        &["run", "--workload", "quick-push", "--ops", "1", "-o", "out"],
    ];
    for args in commands {
        let mut command = kprof(folder.path(), args);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&stderr);
        assert_eq!(status.code(), Some(0), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
}
