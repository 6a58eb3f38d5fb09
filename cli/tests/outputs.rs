//! Compares the tables of one capture in every output: names, nulls and values are the same.
//!
//! `python/tests/test_tables.py` does the same for Arrow in Python.

#![allow(unsafe_code, reason = "the C interface takes pointers")]

use crate::program;
use kprof_c::recording::{
    KPROF_COLUMN_DOUBLE, KPROF_COLUMN_FLAG, KPROF_COLUMN_TEXT, KPROF_COLUMN_UINT32,
    KPROF_COLUMN_UINT64, KprofColumn, KprofRecording, KprofText, kprof_load,
    kprof_recording_column_at, kprof_recording_free,
};
use kprof_c::status::KprofStatus;
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::Field,
};
use serde_json::{Map, Value, json};
use std::{
    ffi::CString,
    fs::File,
    path::{Path, PathBuf},
    process::Command,
    slice,
};
use tests::{
    fuzz::WholeCapture,
    noise::{DAMAGE_BYTES, Dice},
};

/// Rows of a table. A row maps column names to values.
type Rows = Vec<Map<String, Value>>;

fn printed(folder: &Path, args: &[&str]) -> String {
    let output = program::kprof(folder, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn parsed(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_str(&printed(folder, args)).unwrap()
}

fn rows(value: &Value) -> Rows {
    value.as_array().unwrap().iter().map(|row| row.as_object().unwrap().clone()).collect()
}

/// A capture with its report as JSON, and the schema.
struct Captured {
    folder: tempfile::TempDir,
    report: Value,
    schema: Value,
}

impl Captured {
    fn new(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        printed(folder.path(), &[&["capture", "-o", "run.kprof"][..], options].concat());
        Self::in_folder(folder)
    }

    /// Opens the capture `run.kprof` in a folder.
    fn in_folder(folder: tempfile::TempDir) -> Self {
        let report = parsed(folder.path(), &["report", "run.kprof", "--json"]);
        let schema = parsed(folder.path(), &["schema", "--json"]);
        Self { folder, report, schema }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the columns of a table that have these scopes.
    fn columns(&self, table: &str, scopes: &[&str]) -> Vec<&Value> {
        let tables = self.schema.as_array().unwrap();
        let table = tables.iter().find(|found| found["name"] == table).unwrap();
        let columns = table["columns"].as_array().unwrap().iter();
        columns.filter(|column| scopes.contains(&column["scope"].as_str().unwrap())).collect()
    }

    fn names(&self, table: &str, scopes: &[&str]) -> Vec<String> {
        let columns = self.columns(table, scopes).into_iter();
        columns.map(|column| column["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Checks that another output has exactly these columns of the report's rows.
    #[track_caller]
    fn assert_joins(&self, what: &str, key: &str, names: &[String], found: &Rows) {
        let expected = rows(&self.report[key]);
        assert_eq!(found.len(), expected.len(), "{what}");
        let mut differences = Vec::new();
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found.len(), names.len(), "{what}: {:?}", found.keys());
            let others = names.iter().filter(|name| found.get(*name) != expected.get(*name));
            differences.extend(others.map(|name| (name, found.get(name), expected.get(name))));
        }
        assert!(differences.is_empty(), "{what}: {differences:?}");
    }

    fn parquet_rows(&self, table: &str, dataset_only: &[String]) -> Rows {
        let folder = self.path().join("set").join(table);
        if !folder.exists() {
            // A table without rows has no file.
            return Rows::new();
        }
        let file = only_entry(&only_entry(&only_entry(&folder)));
        let reader = SerializedFileReader::new(File::open(file).unwrap());
        let reader = reader.unwrap();
        let row = |row: Result<parquet::record::Row, _>| {
            let row: parquet::record::Row = row.unwrap();
            let cells = row.get_column_iter().map(|(name, field)| (name.clone(), field_of(field)));
            let mut cells: Map<String, Value> = cells.collect();
            dataset_only.iter().for_each(|name| assert!(cells.remove(name).is_some(), "{name}"));
            cells
        };
        reader.get_row_iter(None).unwrap().map(row).collect()
    }
}

/// Returns the only file or folder in a folder.
fn only_entry(folder: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(folder).unwrap();
    let entry = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none(), "{folder:?}");
    entry
}

fn field_of(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => json!(value),
        Field::UInt(value) => json!(value),
        Field::ULong(value) => json!(value),
        Field::Long(value) => json!(value),
        Field::Double(value) => json!(value),
        Field::Str(value) => json!(value),
        other => panic!("{other}"),
    }
}

/// Returns every column of a table, read through the C interface.
fn c_rows(capture: &Path, table: &str) -> Rows {
    let file = CString::new(capture.to_str().unwrap()).unwrap();
    let table = CString::new(table).unwrap();
    let mut recording: *mut KprofRecording = std::ptr::null_mut();
    let mut rows: Rows = Vec::new();
    // SAFETY: `file` ends with a zero byte, and `recording` is memory for a pointer.
    let status = unsafe { kprof_load(file.as_ptr(), 0, &raw mut recording) };
    assert_eq!(status, KprofStatus::Ok);
    for index in 0.. {
        // SAFETY: a column of zeros is valid. It has null pointers and no values.
        let mut column: KprofColumn = unsafe { std::mem::zeroed() };
        column.struct_size = size_of::<KprofColumn>();
        let (name, out) = (table.as_ptr(), &raw mut column);
        // SAFETY: the recording is not freed, `name` ends with a zero byte, and `out` points to a
        // column with its size set.
        let status = unsafe { kprof_recording_column_at(recording, name, index, out) };
        if status == KprofStatus::NotAvailable {
            break;
        }
        assert_eq!(status, KprofStatus::Ok);
        rows.resize(column.row_count, Map::new());
        for (at, row) in rows.iter_mut().enumerate() {
            row.insert(text_of(column.name), value_at(&column, at));
        }
    }
    // SAFETY: nothing reads the recording after this.
    unsafe { kprof_recording_free(recording) };
    rows
}

/// Returns a text of a recording that has not been freed.
fn text_of(text: KprofText) -> String {
    // SAFETY: the recording is not freed, so the bytes are valid.
    let bytes = unsafe { slice::from_raw_parts(text.bytes.cast::<u8>(), text.size) };
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Returns the value of a row of a column. The recording must not have been freed.
fn value_at(column: &KprofColumn, row: usize) -> Value {
    let values = column.values;
    if !column.is_known.is_null() && read(column, column.is_known, row) == 0 {
        return Value::Null;
    }
    match column.kind {
        KPROF_COLUMN_UINT32 => json!(read(column, values.cast::<u32>(), row)),
        KPROF_COLUMN_UINT64 => json!(read(column, values.cast::<u64>(), row)),
        KPROF_COLUMN_DOUBLE => json!(read(column, values.cast::<f64>(), row)),
        KPROF_COLUMN_FLAG => json!(read(column, values.cast::<u8>(), row) == 1),
        KPROF_COLUMN_TEXT => json!(text_of(read(column, values.cast::<KprofText>(), row))),
        other => panic!("{other}"),
    }
}

fn read<T: Copy>(column: &KprofColumn, values: *const T, row: usize) -> T {
    // SAFETY: the recording is not freed, so the column has a value of its kind for each row.
    let values = unsafe { slice::from_raw_parts(values, column.row_count) };
    values[row]
}

/// Returns the ops that the terminal shows, by column name.
///
/// Each title in the schema belongs to one column. If the terminal's ratio is the correctly rounded
/// ratio of the report, the ratio of the report is returned.
fn terminal_rows(captured: &Captured) -> Rows {
    let text = printed(captured.path(), &["report", "run.kprof", "--rows", "0"]);
    let mut lines = text.lines().skip_while(|line| !line.contains("program"));
    let mut header = lines.next().unwrap().trim();
    let mut names = Vec::new();
    for column in captured.columns("ops", &["summary"]) {
        let Some(title) = column["title"].as_str() else { continue };
        if let Some(rest) = header.strip_prefix(title)
            && (rest.is_empty() || rest.starts_with(' '))
        {
            header = rest.trim_start();
            names.push(column["name"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(header, "", "every title is one of the schema");
    let row = |(line, reported): (&str, &Map<String, Value>)| {
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells.len(), names.len(), "{line}");
        let value = |(name, cell): (&String, &str)| {
            let rounded = reported[name].as_f64().map(|ratio| format!("{ratio:.2}"));
            let value = match cell.replace(',', "").parse::<u64>() {
                Ok(number) => json!(number),
                Err(_) if cell == "-" => Value::Null,
                Err(_) if rounded.as_deref() == Some(cell) => reported[name].clone(),
                Err(_) => json!(cell),
            };
            (name.clone(), value)
        };
        names.iter().zip(cells).map(value).collect()
    };
    let lines: Vec<_> = lines.take_while(|line| line.starts_with(' ')).collect();
    let reported = rows(&captured.report["ops"]);
    assert_eq!(lines.len(), reported.len());
    lines.into_iter().zip(&reported).map(row).collect()
}

/// Returns the ops that the page shows.
fn page_rows(captured: &Captured, names: &[String]) -> Rows {
    printed(captured.path(), &["export", "run.kprof", "-o", "run.html"]);
    let page = std::fs::read_to_string(captured.path().join("run.html")).unwrap();
    let facts = page.split_once("id=\"facts\">").unwrap().1.split_once("</script>").unwrap().0;
    let facts: Value = serde_json::from_str(facts).unwrap();
    let count = facts["ops"]["program"].as_array().unwrap().len();
    let row = |at: usize| {
        names.iter().map(|name| (name.clone(), facts["ops"][name][at].clone())).collect()
    };
    (0..count).map(row).collect()
}

/// Returns the rows of an answer of `kprof mcp`, from all pages.
#[cfg(feature = "mcp")]
fn mcp_rows(captured: &Captured, joined: &Joined) -> Rows {
    use std::io::{BufRead, BufReader, Write};
    let mut command: Command = program::program();
    command.args(["mcp", "run.kprof"]).current_dir(captured.path());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut server = command.spawn().unwrap();
    let mut requests = server.stdin.take().unwrap();
    let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
    let about = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
                        "clientInfo": { "name": "test", "version": "1" } });
    let start = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": about });
    writeln!(requests, "{start}").unwrap();
    answers.next().unwrap().unwrap();
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    writeln!(requests, "{ready}").unwrap();
    let arguments: Value = serde_json::from_str(joined.arguments).unwrap();
    let mut call = json!({ "name": joined.tool, "arguments": arguments });
    let mut rows = Rows::new();
    for id in 1.. {
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call });
        writeln!(requests, "{asked}").unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let page: Value = serde_json::from_str(text).unwrap();
        let columns = page["columns"].as_array().unwrap();
        for row in page["rows"].as_array().unwrap() {
            let names = columns.iter().map(|column| column.as_str().unwrap().to_owned());
            let row: Map<String, Value> =
                names.zip(row.as_array().unwrap().iter().cloned()).collect();
            for (name, value) in &row {
                assert!(!value.is_null() || page["null_means"][name].is_string(), "{name}");
            }
            rows.push(row);
        }
        let Some(handle) = page["more"].as_str() else { break };
        call = json!({ "name": "more", "arguments": { "handle": handle } });
    }
    drop(requests);
    assert!(server.wait().unwrap().success());
    rows
}

/// Returns no rows in a build without the protocol.
#[cfg(not(feature = "mcp"))]
fn mcp_rows(captured: &Captured, joined: &Joined) -> Rows {
    let _: (fn() -> Command, [&str; 2]) = (program::program, [joined.tool, joined.arguments]);
    let names = captured.names(joined.table, &["summary"]);
    let mut rows = rows(&captured.report[joined.key]);
    rows.iter_mut().for_each(|row| row.retain(|name, _| names.contains(name)));
    rows
}

const ALL: [&str; 2] = ["summary", "report"];

/// A table, and its location in each output.
struct Joined {
    /// Key of the table in the JSON report.
    key: &'static str,
    table: &'static str,
    /// Tool of `kprof mcp`, and its arguments.
    tool: &'static str,
    arguments: &'static str,
    is_in_dataset: bool,
}

const JOINED: [Joined; 5] = [
    Joined { key: "ops", table: "ops", tool: "ops", arguments: "{}", is_in_dataset: true },
    Joined {
        key: "losses",
        table: "losses",
        tool: "losses",
        arguments: r#"{ "part": "lanes" }"#,
        is_in_dataset: true,
    },
    Joined {
        key: "zones",
        table: "zone_statistics",
        tool: "zones",
        arguments: "{}",
        is_in_dataset: false,
    },
    Joined {
        key: "sums",
        table: "sum_statistics",
        tool: "zones",
        arguments: r#"{ "kind": "sums" }"#,
        is_in_dataset: false,
    },
    Joined {
        key: "waits",
        table: "wait_statistics",
        tool: "zones",
        arguments: r#"{ "kind": "waits" }"#,
        is_in_dataset: false,
    },
];

fn export_dataset(captured: &Captured) {
    let export = ["export", "run.kprof", "--format", "parquet", "--host", "h", "-o", "set"];
    printed(captured.path(), &[&export[..], &["--recording", "c"]].concat());
}

/// Compares every table of a capture in all outputs.
fn assert_outputs_agree(options: &[&str]) -> Captured {
    let captured = Captured::new(options);
    export_dataset(&captured);
    let capture = captured.path().join("run.kprof");
    for joined in &JOINED {
        let Joined { key, table, .. } = *joined;
        let (all, summary) = (captured.names(table, &ALL), captured.names(table, &["summary"]));
        let json = rows(&captured.report[key]);
        captured.assert_joins("JSON", key, &all, &json);
        captured.assert_joins("C", key, &all, &c_rows(&capture, table));
        captured.assert_joins("MCP", key, &summary, &mcp_rows(&captured, joined));
        if joined.is_in_dataset {
            let dataset_only = captured.names(table, &["dataset"]);
            captured.assert_joins(
                "Parquet",
                key,
                &all,
                &captured.parquet_rows(table, &dataset_only),
            );
        }
    }
    let terminal = terminal_rows(&captured);
    let shown: Vec<String> = terminal[0].keys().cloned().collect();
    captured.assert_joins("terminal", "ops", &shown, &terminal);
    let is_of_page = |name: &&String| !name.ends_with("_ns") && !name.ends_with("_start_cycle");
    let of_page: Vec<String> =
        captured.names("ops", &ALL).iter().filter(is_of_page).cloned().collect();
    captured.assert_joins("page", "ops", &of_page, &page_rows(&captured, &of_page));
    captured
}

#[test]
fn replays_of_a_trace_are_the_same_in_every_output() {
    let captured = assert_outputs_agree(&["--workload", "trace-replay", "--device-trace-profiler"]);
    let ops = captured.report["ops"].as_array().unwrap();
    // No op ran before the first op. Every later op has a known latency.
    let latencies: Vec<_> = ops.iter().map(|op| &op["op_to_op_latency_ns"]).collect();
    assert!(latencies[0].is_null() && latencies[1].as_u64() > Some(0), "{latencies:?}");
    assert!(captured.report["losses"].as_array().unwrap().is_empty());
}

#[test]
fn losses_and_doubts_are_the_same_in_every_output() {
    let options = ["--workload", "multi-op-overflow", "--op-support-count", "50"];
    let captured = assert_outputs_agree(&options);
    let ops = captured.report["ops"].as_array().unwrap();
    assert!(ops.iter().any(|op| !op["latency_doubt"].is_null()));
    assert!(!captured.report["losses"].as_array().unwrap().is_empty());
}

#[test]
fn waits_are_the_same_in_every_output() {
    let options = ["--workload", "pipeline", "--pipeline", "tiles=5", "--waits", "totals"];
    let captured = assert_outputs_agree(&options);
    let waits = captured.report["waits"].as_array().unwrap();
    assert!(!waits.is_empty());
    assert!(waits.iter().all(|wait| wait["max_cycles"].is_null()), "sums do not hold the longest");
}

/// Returns a damaged copy of a capture; `None` if the program refuses it.
fn damaged(whole: &WholeCapture, seed: u64) -> Option<Captured> {
    let mut dice = Dice::new(seed);
    let changes = 1 + dice.below(3);
    let bytes = whole.damaged(&dice.bytes(changes * DAMAGE_BYTES));
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("run.kprof"), bytes).unwrap();
    let is_read = program::kprof(folder.path(), &["report", "run.kprof"]).status.success();
    is_read.then(|| Captured::in_folder(folder))
}

/// Returns the line about losses in a text report.
fn lost_line(text: &str) -> &str {
    text.lines().find(|line| line.starts_with("Lost: ")).unwrap()
}

/// `KPROF_OUTPUTS_COUNT` sets the number of damaged captures; `.ci/full` tests hundreds.
#[test]
fn damaged_captures_have_the_same_losses_in_every_output() {
    let count = std::env::var("KPROF_OUTPUTS_COUNT").map_or(8, |count| count.parse().unwrap());
    let first = std::env::var("KPROF_OUTPUTS_SEED").ok().map(|seed| seed.parse().unwrap());
    let first: u64 = first.unwrap_or_else(tests::seed::fresh);
    eprintln!("seeds from {first}");
    let source = tempfile::tempdir().unwrap();
    let options = ["--workload", "multi-op-overflow", "--op-support-count", "43", "--ops", "60"];
    let capture = ["capture", "-o", "run.kprof"];
    printed(source.path(), &[&capture[..], &options].concat());
    let bytes = std::fs::read(source.path().join("run.kprof")).unwrap();
    let whole = WholeCapture::from_bytes(bytes).unwrap();
    let mut read = 0;
    for seed in first..first + count {
        let Some(captured) = damaged(&whole, seed) else { continue };
        read += 1;
        export_dataset(&captured);
        let sorted = |mut rows: Rows| {
            rows.sort_by_key(|row| serde_json::to_string(row).unwrap());
            rows
        };
        let expected = sorted(rows(&captured.report["losses"]));
        let file = captured.path().join("run.kprof");
        assert_eq!(sorted(c_rows(&file, "losses")), expected, "seed {seed}");
        // If no section describes the chip, the dataset has no chip.
        let in_dataset = match captured.report["devices"].as_u64() {
            Some(0) => Rows::new(),
            _ => captured.parquet_rows("losses", &captured.names("losses", &["dataset"])),
        };
        assert_eq!(sorted(in_dataset), expected, "seed {seed}");
        let ops = parsed_whatever_is_lost(captured.path(), &["ops", "run.kprof", "--json"]);
        assert_eq!(ops["lost"], captured.report["lost"], "seed {seed}");
        let report = printed(captured.path(), &["report", "run.kprof"]);
        let ops = program::kprof(captured.path(), &["ops", "run.kprof"]);
        let ops = String::from_utf8(ops.stdout).unwrap();
        assert_eq!(lost_line(&ops), lost_line(&report), "seed {seed}");
        let lost = rows(&captured.report["losses"]);
        let kinds = ["zones", "data", "events", "sums", "unknown_markers"];
        let counts = lost.iter().flat_map(|row| kinds.map(|kind| row[kind].as_u64().unwrap()));
        let causes = ["l1_full", "dram_full", "validate_off", "other"];
        let by_cause = causes.map(|cause| captured.report["lost"][cause].as_u64().unwrap());
        assert_eq!(counts.sum::<u64>(), by_cause.iter().sum::<u64>(), "seed {seed}");
    }
    assert!(read * 2 > count, "{read} of {count} could be read");
}

/// Returns the output of `kprof ops`, which exits with code 1 if data is missing.
fn parsed_whatever_is_lost(folder: &Path, args: &[&str]) -> Value {
    serde_json::from_slice(&program::kprof(folder, args).stdout).unwrap()
}
