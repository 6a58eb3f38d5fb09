//! Calls of `kprof mcp` through another project's client, and checks of the answers.

use crate::package;
use crate::program::kprof;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    process::Stdio,
};

/// Maximum number of bytes in an answer, from docs/mcp.md.
pub(super) const LIMIT: usize = 4096;

/// An answer as received by a client, with the rows of all pages.
pub(super) struct Answer {
    /// Fields of the first page except the rows.
    pub(super) head: Value,
    pub(super) rows: Vec<Map<String, Value>>,
    pub(super) page_count: usize,
}

pub(super) fn call_all(mode: &str, args: &[&str], calls: &[Value]) -> Value {
    let mut command = vec![env!("CARGO_BIN_EXE_kprof"), "mcp", "--root", "/"];
    command.extend(args);
    let asked = json!({ "command": command, "mode": mode, "calls": calls }).to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/package/mcp_calls.py");
    let mut client = package::python()
        .arg("-B")
        .arg(script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(asked.as_bytes()).unwrap();
    let output = client.wait_with_output().unwrap();
    assert!(output.status.success());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Checks the rules for the pages of every answer, and joins their rows.
pub(super) fn joined(call: &Value, answer: &Value) -> Answer {
    assert_eq!(answer["is_error"], false, "{call}: {answer}");
    let (mut rows, mut head) = (Vec::new(), Value::Null);
    let pages = answer["pages"].as_array().unwrap();
    for text in pages {
        let text = text.as_str().unwrap();
        assert!(text.len() <= LIMIT, "{call}: {} bytes", text.len());
        let page: Value = serde_json::from_str(text).unwrap();
        assert_eq!(page["schema_version"], 1, "{call}");
        assert!(page["lost"].is_object() || page["columns"][9] == "lost", "{call}: {text}");
        assert_eq!((&page["from"], &page["shortened_texts"]), (&rows.len().into(), &0.into()));
        for row in page["rows"].as_array().unwrap() {
            let row = row.as_array().unwrap();
            let columns = page["columns"].as_array().unwrap();
            assert_eq!(row.len(), columns.len(), "{call}");
            let cells = columns.iter().zip(row).map(|(column, cell)| {
                let column = column.as_str().unwrap();
                let reason = page["null_means"][column].as_str().unwrap_or("");
                assert!(!cell.is_null() || !reason.is_empty(), "{call}: null in {column}");
                (column.to_owned(), cell.clone())
            });
            rows.push(cells.collect());
        }
        if head.is_null() {
            head = page;
        }
    }
    assert_eq!(head["row_count"], rows.len(), "{call}");
    Answer { head, rows, page_count: pages.len() }
}

pub(super) fn error_of(answer: &Value) -> String {
    assert_eq!(answer["is_error"], true, "{answer}");
    let text = answer["pages"][0].as_str().unwrap();
    assert!(text.len() <= LIMIT, "{} bytes", text.len());
    let error: Value = serde_json::from_str(text).unwrap();
    assert_eq!(error["schema_version"], 1);
    error["error"].as_str().unwrap().to_owned()
}

pub(super) fn is_client_there() -> bool {
    package::is_installed("mcp", "mcp")
}

pub(super) fn repository(path: &str) -> String {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    folder.canonicalize().unwrap().display().to_string()
}

pub(super) fn capture(folder: &Path, args: &[&str]) {
    let fixed = ["capture"];
    let output = kprof(folder, &[&fixed[..], args].concat());
    assert!(output.status.code() < Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

pub(super) fn json_lines(folder: &Path, args: &[&str]) -> Vec<Value> {
    let output = kprof(folder, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns every file in a folder with its content.
pub(super) fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

/// Writes two reports on four ops, `a.csv` and `b.csv`. In the second one, the last layer is slower, and another layer has
/// another name.
pub(super) fn write_reports(folder: &Path) {
    for (name, head_ns, gate) in [("a.csv", 500, "gate"), ("b.csv", 750, "up")] {
        let text = format!(
            "OP CODE,OP TYPE,DEVICE ID,HOST DURATION [ns],DEVICE KERNEL DURATION [ns],MODULE,LOC\n\
             Matmul,tt_dnn_device,0,80,3000,Model.layers.0.mlp.{gate},m.py:3\n\
             Softmax,tt_dnn_device,0,70,1000,Model.layers.0.attention,m.py:9\n\
             Matmul,tt_dnn_device,0,,{head_ns},Model.head,m.py:3\n\
             Copy,tt_dnn_device,0,60,,,\n"
        );
        std::fs::write(folder.join(name), text).unwrap();
    }
}
