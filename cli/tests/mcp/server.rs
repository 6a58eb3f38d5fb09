//! Tests of the running server: kept recordings, refused calls, and damaged lines.

use super::{
    client::{call_all, error_of, is_client_there, joined, repository},
    rows::array,
};
use crate::program;
use host_reader::tables::{LineRow, write_csv};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Lines, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

#[test]
fn recordings_are_listed_and_a_handle_stays_with_its_recording() {
    if !is_client_there() {
        return;
    }
    let csv = repository("tests/captures/tt-perf-report/bh_p100_dlv3.csv");
    let log = repository("tests/captures/mesham-tt-sim/wormhole-noc-256");
    // The second call has the handle h3, because each earlier answer could have needed a handle.
    let mut calls = vec![
        json!(["load", { "path": csv }]),
        json!(["ops", {}]),
        json!(["load", { "path": log }]),
        json!(["more", { "handle": "h2" }]),
        json!(["recordings", {}]),
    ];
    let found = call_all("legacy", &[], &calls);
    let all = joined(&calls[1], &found["answers"][1]);
    let first: Value =
        serde_json::from_str(found["answers"][1]["pages"][0].as_str().unwrap()).unwrap();
    assert_eq!(first["more"], "h2");
    // The handle of the second page returns this page and all later pages.
    let again = &found["answers"][3]["pages"];
    let page: Value = serde_json::from_str(again[0].as_str().unwrap()).unwrap();
    assert_eq!(
        (&page["recording"], &page["from"]),
        (&json!("r1"), &json!(array(&first["rows"]).len()))
    );
    assert_eq!(page["row_count"], all.rows.len());
    let listed = joined(&calls[4], &found["answers"][4]);
    let names: Vec<&Value> = listed.rows.iter().map(|row| &row["recording"]).collect();
    assert_eq!(names, ["r1", "r2"]);
    assert_eq!((&listed.rows[0]["path"], &listed.rows[1]["path"]), (&json!(csv), &json!(log)));
    assert_eq!(listed.rows[0]["lost_records"], Value::Null);

    calls = (0..9).map(|_| json!(["load", { "path": log }])).collect();
    calls.extend([json!(["recordings", {}]), json!(["ops", { "recording": "r1" }])]);
    let found = call_all("legacy", &[], &calls);
    let kept = joined(&calls[9], &found["answers"][9]);
    assert_eq!((kept.rows.len(), &kept.rows[0]["recording"]), (8, &json!("r2")));
    let gone = error_of(&found["answers"][10]);
    assert_eq!(
        gone,
        "expected one of the loaded recordings r2, r3, r4, r5, r6, r7, r8, r9, found `r1`; load a \
         path first"
    );
}

#[test]
fn what_cannot_be_answered_is_one_sentence_and_the_server_lives_on() {
    if !is_client_there() {
        return;
    }
    let csv = repository("tests/captures/tt-perf-report/bh_p100_dlv3.csv");
    let log = repository("tests/captures/mesham-tt-sim/wormhole-noc-256");
    let huge = "\u{1}x".repeat(300_000);
    let wrong = [
        (json!(["ops", {}]), "expected a loaded recording, found none"),
        (json!(["load", {}]), "missing field `path`"),
        (json!(["load", { "path": 7 }]), "invalid type"),
        (json!(["load", { "path": "nowhere.csv" }]), "nowhere.csv, found nothing there"),
        (json!(["load", { "path": "-" }]), "inside / at -, found nothing there"),
        (json!(["load", { "path": "/dev/null" }]), "which is neither"),
        (json!(["load", { "path": "/dev/zero" }]), "which is neither"),
        (json!(["load", { "path": repository("cli/src") }]), "expected profile_log_device.csv"),
        (json!(["load", { "path": repository("README.md") }]), "expected"),
        (json!(["load", { "path": huge }]), "expected"),
        (json!(["load", { "path": "a\u{0}b" }]), "expected"),
        (json!(["load", { "path": log }]), ""),
        (json!(["ops", { "colour": 1 }]), "unknown field `colour`"),
        (json!(["ops", { "recording": "r9" }]), "loaded recordings r1, found `r9`"),
        (json!(["ops", { "recording": huge }]), "loaded recordings r1, found"),
        (json!(["ops", { "run": 0 }]), "found 0; give run from 1 to 1"),
        (json!(["ops", { "run": 2 }]), "found 2; give run from 1 to 1"),
        (json!(["ops", { "run": -1 }]), "invalid value"),
        (json!(["ops", { "run": 1.5 }]), "invalid type"),
        (json!(["ops", { "sort": "size" }]), "one of chip_id, program, trace_id"),
        (json!(["ops", { "order": "sideways" }]), "unknown variant `sideways`"),
        (json!(["ops", { "filter": "size=3" }]), "filter `size=3`: expected"),
        (json!(["ops", { "filter": "zone=a" }]), "terms of device, op, found zone"),
        (json!(["zones", { "filter": "core=1-1" }]), "terms of device, risc, zone, found core"),
        (json!(["ops", { "filter": huge }]), "at most 400 bytes, found 600000"),
        (json!(["ops", { "filter": "\u{1}\"".repeat(200) }]), "expected KEY=VALUE"),
        (json!(["explain", { "part": "all" }]), "unknown variant `all`"),
        (json!(["memory", { "part": "map", "core": "1" }]), "expected X-Y, such as 1-2, found `1`"),
        (json!(["critical_path", { "program": 4_000_000_000_u32 }]), "ops lists them"),
        (json!(["losses", []]), ""),
        (json!(["diff", { "a": "r1" }]), "missing field `b`"),
        (json!(["diff", { "a": "r1", "b": "r2" }]), "found `r2`"),
        (json!(["diff", { "a": "r1", "b": "r1", "confidence": 100 }]), "between 0 and 100"),
        (json!(["more", { "handle": "h18446744073709551616" }]), "expected a handle"),
        (json!(["more", { "handle": huge }]), "expected a handle"),
        (json!(["rows", {}]), "expected one of the tools load, recordings, ops"),
        (json!(["load", { "path": csv }]), ""),
    ];
    // The client itself refuses arguments that are not an object.
    let wrong: Vec<_> = wrong.into_iter().filter(|(call, _)| call[1].is_object()).collect();
    let calls: Vec<Value> = wrong.iter().map(|(call, _)| call.clone()).collect();
    let found = call_all("legacy", &[], &calls);
    for ((call, expected), answer) in wrong.iter().zip(array(&found["answers"])) {
        let call: String = call.to_string().chars().take(200).collect();
        if expected.is_empty() {
            assert_eq!(answer["is_error"], false, "{call}: {answer}");
            continue;
        }
        let sentence = match answer["protocol_error"].as_str() {
            Some(error) => error.to_owned(),
            None => error_of(answer),
        };
        assert!(sentence.contains(expected), "{call}: {sentence}");
        assert!(!sentence.contains('\n') && sentence.contains("expected"), "{call}: {sentence}");
    }
}

#[test]
fn tools_describe_their_arguments_and_only_read() {
    if !is_client_there() {
        return;
    }
    let found = call_all("auto", &[], &[]);
    assert_eq!(found["server"], "kprof");
    let page = std::fs::read_to_string(repository("docs/mcp.md")).unwrap();
    let mut names = Vec::new();
    for tool in array(&found["tools"]) {
        let name = tool["name"].as_str().unwrap();
        names.push(name);
        assert!(page.contains(&format!("## `{name}`")), "{name} is not in docs/mcp.md");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{name}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{name}: {argument}");
            assert!(page.contains(&format!("`{argument}`")), "{argument} is not in docs/mcp.md");
        }
    }
    let expected = [
        "load",
        "recordings",
        "ops",
        "zones",
        "by",
        "noc",
        "counters",
        "lines",
        "memory",
        "programs",
        "explain",
        "critical_path",
        "losses",
        "provenance",
        "diff",
        "more",
    ];
    assert_eq!(names, expected);
}

/// Starts a server in a folder.
fn server(folder: &Path) -> (Child, ChildStdin, Lines<BufReader<ChildStdout>>) {
    let mut server = program::program()
        .arg("mcp")
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let input = server.stdin.take().unwrap();
    let output = BufReader::new(server.stdout.take().unwrap()).lines();
    (server, input, output)
}

/// Sends lines to a server; returns the lines of its answers and its exit code.
fn conversation(lines: &[&str]) -> (Vec<Value>, Option<i32>) {
    let (mut server, mut input, output) = server(Path::new("."));
    for line in lines {
        writeln!(input, "{line}").unwrap();
    }
    let mut answers = Vec::new();
    for line in output {
        let answer: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let is_last = answer["id"] == 99;
        answers.push(answer);
        if is_last {
            break;
        }
    }
    drop(input);
    (answers, server.wait().unwrap().code())
}

/// Returns the answers to requests, which are sent one after the other.
pub(super) fn answers(folder: &Path, requests: &[String]) -> Vec<Value> {
    let (mut server, mut input, mut output) = server(folder);
    writeln!(input, "{HELLO}").unwrap();
    output.next().unwrap().unwrap();
    writeln!(input, "{INITIALIZED}").unwrap();
    let answers = requests.iter().map(|request| {
        writeln!(input, "{request}").unwrap();
        serde_json::from_str(&output.next().unwrap().unwrap()).unwrap()
    });
    let answers = answers.collect();
    drop(input);
    assert_eq!(server.wait().unwrap().code(), Some(0));
    answers
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"0"}}}"#;

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

#[test]
fn damaged_lines_do_not_end_the_server() {
    let (answers, code) = conversation(&[
        HELLO,
        INITIALIZED,
        "not json",
        "{}",
        "[1,2]",
        "\u{0}\u{1}",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ops","arguments":[]}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":4,"method":"nonsense"}"#,
        r#"{"jsonrpc":"2.0","id":99,"method":"tools/list"}"#,
    ]);
    let last = answers.iter().find(|answer| answer["id"] == 99).unwrap();
    assert_eq!(array(&last["result"]["tools"]).len(), 16);
    assert_eq!(code, Some(0));
}

#[test]
fn nobody_on_standard_input_is_one_sentence() {
    let output = program::program().arg("mcp").stdin(Stdio::null()).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{errors}");
    assert!(errors.starts_with("kprof: expected a client of the Model Context Protocol"));
    assert_eq!(errors.lines().count(), 1, "{errors}");
    let refused = program::program().args(["mcp", "nowhere"]).output();
    let refused = refused.unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("at nowhere, found nothing"));
}

/// Returns a call of a tool with an id.
pub(super) fn call(id: usize, tool: &str, arguments: &Value) -> String {
    let call = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call }).to_string()
}

/// Returns a call of `load` with an id.
fn load(id: usize, path: &str) -> String {
    call(id, "load", &json!({ "path": path }))
}

/// Returns a call of `zones` with an id.
fn zones(id: usize) -> String {
    call(id, "zones", &json!({ "filter": "risc=BRISC" }))
}

/// Returns a device log in which a zone's name is the secret.
fn secret_log() -> String {
    let log = std::fs::read_to_string(repository(
        "tests/captures/mesham-tt-sim/wormhole-noc-256/profile_log_device.csv",
    ));
    log.unwrap().replace("BRISC-FW", "CANARY")
}

#[test]
fn tools_read_nothing_outside_their_root() {
    let folder = tempfile::tempdir().unwrap();
    let [root, outside] = ["root", "root-2"].map(|name| folder.path().join(name));
    std::fs::create_dir_all(root.join("runs")).unwrap();
    std::fs::create_dir_all(outside.join(".logs")).unwrap();
    std::fs::write(outside.join("secret.env"), "CANARY=CANARY\n").unwrap();
    for log in ["log.csv", ".logs/profile_log_device.csv"] {
        std::fs::write(outside.join(log), secret_log()).unwrap();
    }
    let log = repository("tests/captures/mesham-tt-sim/wormhole-noc-256/profile_log_device.csv");
    std::fs::copy(log, root.join("runs/log.csv")).unwrap();
    std::fs::create_dir(root.join("run-3")).unwrap();
    for (link, target) in
        [("file", "log.csv"), ("folder", ""), ("env", "secret.env"), ("run-3/.logs", ".logs")]
    {
        std::os::unix::fs::symlink(outside.join(target), root.join(link)).unwrap();
    }
    std::os::unix::fs::symlink("runs/log.csv", root.join("inside")).unwrap();
    let names = ["", "log.csv", "secret.env", "absent", ".logs/profile_log_device.csv"];
    let mut paths: Vec<String> =
        ["file", "env", "folder", "run-3", "..", "runs/../../root-2/log.csv", "/etc/passwd"]
            .map(str::to_owned)
            .into();
    for name in names {
        paths.push(outside.join(name).display().to_string());
        paths.extend((1..200).map(|n| format!("{}../root-2/{name}", "runs/../".repeat(n))));
        paths.push(format!("folder/{name}"));
    }
    assert!(paths.len() >= 1000);
    let mut requests: Vec<String> =
        paths.iter().enumerate().map(|(at, path)| load(at + 1000, path)).collect();
    requests.extend([load(2, "runs/log.csv"), load(3, "inside")]);
    for (request, answer) in requests.iter().zip(answers(&root, &requests)) {
        assert!(!answer.to_string().contains("CANARY"), "{request}: {answer}");
        let is_outside = answer["id"].as_u64().unwrap() >= 1000;
        assert_eq!(answer["result"]["isError"] == true, is_outside, "{request}: {answer}");
    }
}

#[test]
fn lines_are_read_when_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("log.csv"), secret_log()).unwrap();
    let table = folder.join("kprof_lines.csv");
    std::fs::write(&table, "not a table\n1\n").unwrap();
    let call = |id: usize, tool: &str| {
        let call = json!({ "name": tool, "arguments": {} });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call }).to_string()
    };
    // A table that nobody asks for hinders no other tool.
    let (mut server, mut input, mut output) = server(folder);
    writeln!(input, "{HELLO}").unwrap();
    output.next().unwrap().unwrap();
    writeln!(input, "{INITIALIZED}").unwrap();
    let mut answer = |request: String| -> (bool, String) {
        writeln!(input, "{request}").unwrap();
        let answer: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        (answer["result"]["isError"] == true, text)
    };
    assert!(!answer(load(2, "log.csv")).0);
    assert!(!answer(zones(3)).0);
    let (is_error, text) = answer(call(4, "lines"));
    assert!(is_error && text.contains("found no column `chip_id`"), "{text}");
    // Another table may be that of another recording.
    let row = LineRow { risc: "BRISC".to_owned(), code: "kernel".to_owned(), ..LineRow::default() };
    let write = |rows: &[LineRow]| {
        write_csv::<host_reader::tables::Lines>(rows, std::fs::File::create(&table).unwrap())
    };
    write(std::slice::from_ref(&row)).unwrap();
    let (is_error, text) = answer(call(5, "lines"));
    assert!(is_error && text.contains("found another file or none"), "{text}");
    assert!(!answer(load(6, "log.csv")).0);
    let lines = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"lines","arguments":{"recording":"r2"}}}"#;
    let (is_error, text) = answer(lines.to_owned());
    assert!(!is_error && text.contains("\"row_count\":1"), "{text}");
    // Rows that were read once stay those of the recording.
    write(&[row.clone(), row]).unwrap();
    assert!(!answer(lines.to_owned()).0);
    drop(input);
    assert_eq!(server.wait().unwrap().code(), Some(0));
}

#[test]
fn a_link_swapped_meanwhile_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let [root, outside] = ["root", "outside"].map(|name| folder.path().join(name));
    for folder in [&root, &outside] {
        std::fs::create_dir(folder).unwrap();
    }
    std::fs::write(outside.join("log.csv"), secret_log()).unwrap();
    std::fs::write(root.join("log.csv"), secret_log().replace("CANARY", "BRISC-FW")).unwrap();
    let link = root.join("link");
    std::os::unix::fs::symlink("log.csv", &link).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let swapper = std::thread::spawn({
        let (is_over, targets) =
            (Arc::clone(&is_over), [&outside, &root].map(|f| f.join("log.csv")));
        move || {
            let other = link.with_extension("new");
            for target in targets.iter().cycle().take_while(|_| !is_over.load(Ordering::Relaxed)) {
                std::os::unix::fs::symlink(target, &other).unwrap();
                std::fs::rename(&other, &link).unwrap();
            }
        }
    });
    let requests: Vec<String> =
        (2..402).map(|id| if id % 2 == 0 { load(id, "link") } else { zones(id) }).collect();
    let answers = answers(&root, &requests);
    is_over.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    let loaded = answers.iter().filter(|answer| answer["result"]["isError"] != true).count();
    assert!((1..400).contains(&loaded), "{loaded}: both targets were met");
    for answer in answers {
        assert!(!answer.to_string().contains("CANARY"), "{answer}");
    }
}
