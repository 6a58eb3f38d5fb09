//! Tests of `kprof memory` on a capture whose buffers and launch messages are known.

use crate::program::kprof;
use host_reader::{
    capture::{CaptureWriter, OpMetadata},
    tables::{Memory, MemoryRow, write_csv},
};
use serde_json::{Value, json};
use std::{
    fs::{self, File},
    path::Path,
};
use wire::RunHostId;

const LAYOUT: &str = r#""layout": {"l1_bytes": 1000, "l1_reserved_bytes": 100, "l1_banks": 4, "dram_bank_bytes": 5000, "dram_banks": 2}"#;

/// Frames of the call that makes the tensor and launches nothing.
const OTHER_CALLS: &str = r#"{"c0": {"frames": [{"file": "a.py", "line": 3, "function": "<module>", "module": null}], "left_out": 0}}"#;
/// Frames of the call of `Add`.
const CALL_FRAMES: &str = r#"{"frames": [{"file": "model.py", "line": 12, "function": "Mlp.__call__", "module": "Model.mlp"}], "left_out": 0}"#;

fn op(base: u32, name: &str, buffers: &str) -> OpMetadata {
    let is_called = name == "Add";
    let fields = [
        ("name", name),
        ("buffers", buffers),
        ("other_calls", if name == "Ones" { OTHER_CALLS } else { "" }),
        ("call", if is_called { "c1" } else { "" }),
        ("call_frames", if is_called { CALL_FRAMES } else { "" }),
    ];
    let fields = fields.iter().filter(|(_, value)| !value.is_empty());
    let fields = fields.map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    OpMetadata { chip_id: 0, run_host_id: RunHostId::encode(base, 0), fields: fields.collect() }
}

fn buffer(number: u32, start: u64, cores: &str, core_count: u32) -> MemoryRow<'static> {
    MemoryRow {
        run_host_id: RunHostId::encode(701, 0).0,
        op: Some("Add".to_owned()),
        layout: Some(0),
        launches: Some(1),
        memory: "L1".to_owned(),
        cores: Some(cores.to_owned()),
        core_count: Some(core_count),
        kind: MemoryRow::CIRCULAR_BUFFER.to_owned(),
        number: Some(number),
        start,
        size_bytes: 64,
        counted_bytes: 64,
        page_count: Some(2),
        page_bytes: Some(32),
        ..MemoryRow::default()
    }
}

/// A range of a kernel on the first two cores.
fn of_kernel(kind: &str, start: u64) -> MemoryRow<'static> {
    let kind = kind.to_owned();
    let content = (kind == MemoryRow::KERNEL).then(|| "TRISC_1".to_owned());
    let of_buffer = buffer(0, start, "1-1:2-1", 2);
    let (number, page_count, page_bytes) = (None, None, None);
    MemoryRow { kind, content, size_bytes: 20, number, page_count, page_bytes, ..of_buffer }
}

/// Makes `out/.logs/device-7.kprof` of a workload's op and three more, with the launch messages of
/// one.
pub(crate) fn record(folder: &Path) {
    let logs = folder.join("out/.logs");
    fs::create_dir_all(&logs).unwrap();
    let output = kprof(
        folder,
        &[
            "capture",
            "--workload",
            "long-kernel",
            "--grid",
            "2x1",
            "-o",
            "out/.logs/device-7.kprof",
        ],
    );
    assert!(output.status.success(), "{output:?}");
    let first = format!(
        r#"{{"mesh": 1, {LAYOUT}, "calls": ["c0"], "events": [{{"a": ["L1", 900, 100, "ttnn.ones"]}}, {{"u": ["L1", 900, "[2, 2] BFLOAT16 TILE"]}}]}}"#
    );
    let second = r#"{"mesh": 1, "calls": ["c1"], "events": [{"a": ["DRAM", 0, 32, "ttnn.add"]}]}"#;
    let mut writer = CaptureWriter::append_to(logs.join("device-7.kprof")).unwrap();
    let ops = vec![op(700, "Ones", &first), op(701, "Add", second), op(702, "Copy", "")];
    writer.append(&ops).unwrap();
    writer.finish().unwrap();
    let rows = [
        buffer(3, 100, "1-1:2-1", 2),
        buffer(4, 164, "1-1:2-1", 2),
        of_kernel(MemoryRow::KERNEL, 40),
        of_kernel(MemoryRow::CONFIGURATION, 20),
        buffer(3, 100, "6-1", 1),
    ];
    write_csv::<Memory>(&rows, File::create(logs.join("device-7.memory.csv")).unwrap()).unwrap();
}

fn text(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = kprof(folder, &[&["memory"], args].concat());
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_peak_and_what_is_unknown_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder);
    let (code, shown, errors) = text(folder, &["out"]);
    assert_eq!((code, errors.as_str()), (0, ""), "{shown}");
    for line in [
        "L1 of chip 0: 328 of 1,000 bytes (32.8 %) on core 1-1 and 1 like it, during Add (701), called at model.py:12, Model.mlp",
        "           128  39.0 %  circular buffers",
        "           100  30.5 %  tensors and other buffers",
        "           100  30.5 %  reserved by tt-metal, with kernels and their configuration",
        "            40  12.2 %  of what is reserved: kernels and their configuration",
        "           672          free, 672 of it in one piece",
        "           100          in 1 tensor that no later op has as a tensor:",
        "           100          [2, 2] BFLOAT16 TILE, made at a.py:3, last of Ones (700)",
        "DRAM of chip 0: 32 of 5,000 bytes (0.6 %) in each bank, during Add (701)",
        "3 of 4 ops have no launch messages: their circular buffers are unknown",
        "2 of 4 ops have no list of buffers: a call that kprof did not see, or a graph of the program's own",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line}\n{shown}");
    }
    let made = |line: &str| -> Vec<String> {
        let own = shown.lines().find(|found| found.contains(line)).unwrap();
        own.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect()
    };
    assert_eq!(
        made("circular buffer  "),
        ["128", "39.0 %", "circular buffer", "2", "Add", "model.py:12, Model.mlp", "0"]
    );
    assert_eq!(made("ttnn.ones"), ["100", "30.5 %", "tensor", "1", "ttnn.ones", "a.py:3", "100"]);
    let (_, other, _) = text(folder, &["out/.logs/device-7.kprof", "--op", "Ones"]);
    let first = "L1 of chip 0: at least 200 of 1,000 bytes (20.0 %) on every worker core, during Ones (700)";
    assert!(other.starts_with(first), "{other}");
    assert!(
        other.contains("       unknown          circular buffers")
            || other.contains("unknown          circular buffers"),
        "{other}"
    );
    let (_, core, _) = text(folder, &["out", "--core", "6-1"]);
    assert!(core.contains("L1 of core 6-1 during Add (701)"), "{core}");
    assert!(!core.contains("circular buffer 4"), "{core}");
}

#[test]
fn json_has_the_peaks_the_counts_and_every_range() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder);
    let (code, shown, _) = text(folder, &["out", "--json", "--op", "701"]);
    assert_eq!(code, 0);
    let found: Value = serde_json::from_str(&shown).unwrap();
    let id = RunHostId::encode(701, 0).0;
    assert_eq!(
        found["peaks"],
        json!([
            {
                "chip_id": 0, "memory": "L1", "run_host_id": id, "op_name": "Add",
                "module": "Model.mlp", "location": "model.py:12",
                "core_ranges": "1-1:2-1", "used_bytes": 328, "is_lower_bound": false,
                "reserved_bytes": 100, "kernel_bytes": 40, "circular_buffer_bytes": 128, "buffer_bytes": 100,
                "outlived_bytes": 100, "capacity_bytes": 1000, "free_bytes": 672,
                "largest_free_bytes": 672
            },
            {
                "chip_id": 0, "memory": "DRAM", "run_host_id": id, "op_name": "Add",
                "module": "Model.mlp", "location": "model.py:12",
                "core_ranges": null, "used_bytes": 32, "is_lower_bound": false,
                "reserved_bytes": null, "kernel_bytes": null, "circular_buffer_bytes": null, "buffer_bytes": 32,
                "outlived_bytes": 0, "capacity_bytes": 5000, "free_bytes": 4968,
                "largest_free_bytes": null
            }
        ])
    );
    assert_eq!(
        found["counts"],
        json!({
            "ops": 4, "ops_without_buffers": 2, "ops_without_launch_messages": 3,
            "ops_with_unreadable_buffers": 0, "buffers_never_seen": 0
        })
    );
    let rows = found["memory"].as_array().unwrap();
    let places: Vec<_> = rows
        .iter()
        .map(|row| {
            json!([
                row["kind"],
                row["number"],
                row["core_ranges"],
                row["start"],
                row["size_bytes"],
                row["owner"]
            ])
        })
        .collect();
    assert_eq!(
        places,
        [
            json!(["reserved", null, null, 0, 100, null]),
            json!(["tensor", null, null, 900, 100, "ttnn.ones"]),
            json!(["circular buffer", 3, "1-1:2-1", 100, 64, null]),
            json!(["circular buffer", 4, "1-1:2-1", 164, 64, null]),
            json!(["kernel", null, "1-1:2-1", 40, 20, null]),
            json!(["configuration", null, "1-1:2-1", 20, 20, null]),
            json!(["circular buffer", 3, "6-1", 100, 64, null]),
            json!(["buffer", null, null, 0, 32, "ttnn.add"]),
        ]
    );
    assert_eq!(rows[1]["last_use_run_host_id"], RunHostId::encode(700, 0).0);
}

#[test]
fn json_has_what_makes_the_peaks_with_its_line_and_module() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder);
    let (_, shown, _) = text(folder, &["out", "--json", "--op", "701"]);
    let found: Value = serde_json::from_str(&shown).unwrap();
    let id = RunHostId::encode(701, 0).0;
    let made = |memory: &str, kind: &str, owner: Option<&str>, ranges: u64, bytes: u64| {
        let is_of_ones = owner == Some("ttnn.ones");
        let is_reserved = kind == "reserved";
        json!({
            "chip_id": 0, "run_host_id": id, "memory": memory, "kind": kind, "owner": owner,
            "module": (!is_of_ones && !is_reserved).then_some("Model.mlp"),
            "location": (!is_reserved).then_some(if is_of_ones { "a.py:3" } else { "model.py:12" }),
            "range_count": ranges, "bytes": bytes,
            "outlived_bytes": if is_of_ones { bytes } else { 0 },
        })
    };
    assert_eq!(
        found["makers"],
        json!([
            made("L1", "circular buffer", Some("Add"), 2, 128),
            made("L1", "tensor", Some("ttnn.ones"), 1, 100),
            made("L1", "reserved", None, 1, 60),
            made("L1", "kernel", Some("Add"), 2, 40),
            made("DRAM", "buffer", Some("ttnn.add"), 1, 32),
        ])
    );
    let rows = found["memory"].as_array().unwrap();
    let calls = |row: &Value| json!([row["owner_module"], row["owner_location"]]);
    assert_eq!(calls(&rows[1]), json!([null, "a.py:3"]));
    assert_eq!(calls(&rows[7]), json!(["Model.mlp", "model.py:12"]));
}

#[test]
fn wrong_inputs_are_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder);
    fs::create_dir(folder.join("nothing")).unwrap();
    let output = kprof(folder, &["capture", "--workload", "long-kernel", "-o", "plain.kprof"]);
    assert!(output.status.success());
    for (args, sentence) in [
        (&["nothing"][..], "expected a capture in nothing, found none"),
        (&["plain.kprof"], "expected what buffers and circular buffers hold during each op"),
        (
            &["out", "--op", "Softmax"],
            "expected an op with `Softmax` in its name, found none among 2 ops",
        ),
        (&["out", "--core", "1"], "expected X-Y, such as 1-2"),
    ] {
        let (code, _, errors) = text(folder, args);
        assert_eq!(code, 2, "{args:?}: {errors}");
        assert!(errors.contains(sentence), "{args:?}: {errors}");
    }
    let path = folder.join("out/.logs/device-7.memory.csv");
    let damaged = fs::read_to_string(&path).unwrap().replacen("6-1", "6", 1);
    fs::write(&path, damaged).unwrap();
    let (code, _, errors) = text(folder, &["out"]);
    assert_eq!(code, 0);
    assert!(errors.contains("1 row skipped, the rest is used; line 6: expected cores"), "{errors}");
    fs::copy(folder.join("plain.kprof"), folder.join("out/.logs/device-8.kprof")).unwrap();
    let (code, _, errors) = text(folder, &["out"]);
    assert_eq!(code, 2);
    assert!(
        errors.contains(
            "expected one capture in out, found 2; name one, such as out/.logs/device-7.kprof"
        ),
        "{errors}"
    );
}

#[test]
fn the_page_has_the_classes_and_numbers_of_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    record(folder);
    let (_, json, _) = text(folder, &["out", "--json"]);
    let told: Value = serde_json::from_str(&json).unwrap();
    let (_, shown, _) = text(folder, &["out"]);
    let facts = |args: &[&str]| -> Value {
        let output = kprof(folder, &[&["export", "out", "-o", "page.html"], args].concat());
        assert!(output.status.success(), "{output:?}");
        let page = fs::read_to_string(folder.join("page.html")).unwrap();
        let (_, facts) = page.split_once(r#"id="facts">"#).unwrap();
        serde_json::from_str(facts.split_once("</script>").unwrap().0).unwrap()
    };
    let memory = &facts(&[])["memory"];
    // Peaks and their makers are the same objects.
    for (peak, expected) in
        memory["peaks"].as_array().unwrap().iter().zip(told["peaks"].as_array().unwrap())
    {
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&peak[key], value, "{key}");
        }
        let makers = told["makers"].as_array().unwrap().iter();
        let own = makers.filter(|made| made["memory"] == peak["memory"]);
        for (maker, made) in peak["makers"].as_array().unwrap().iter().zip(own) {
            for (key, value) in maker.as_object().unwrap() {
                assert_eq!(&made[key], value, "{key}");
            }
        }
    }
    let ops = &memory["ops"];
    assert_eq!(ops["program"], json!([700, 701]));
    assert_eq!(ops["used"], json!([200, 328]));
    assert_eq!(ops["parts"], json!([[null, 100, 100, null], [128, 100, 100, 40]]));
    assert_eq!((&ops["free"], &ops["outlived"]), (&json!([null, 672]), &json!([0, 100])));
    assert_eq!((&ops["dram"], &ops["capacity"]), (&json!([0, 32]), &json!([1000, 1000])));
    assert_eq!(ops["location"], json!([null, "model.py:12"]));
    for label in memory["parts"].as_array().unwrap() {
        assert!(shown.contains(label.as_str().unwrap()), "{label}");
    }
    let unknown = [&memory["ops_without_launch_messages"], &memory["ops_without_buffers"]];
    assert_eq!(unknown, [&json!(3), &json!(2)]);
    let one = &facts(&["--filter", "op=700"])["memory"];
    assert_eq!(one["ops"]["used"], json!([200]));
    assert_eq!(facts(&["--filter", "op=3"])["memory"], Value::Null);
    // Numbers of programs restart with each run, and launch messages are of the whole process.
    let output = kprof(folder, &["capture", "--workload", "long-kernel", "-o", "plain.kprof"]);
    assert!(output.status.success());
    let output = kprof(folder, &["export", "plain.kprof", "-o", "page.html"]);
    assert!(output.status.success());
    assert!(fs::read_to_string(folder.join("page.html")).unwrap().contains(r#""memory":null"#));
}

/// Recording that the tests of the page read, made by [`record`]. `BLESS=1` writes it again.
#[test]
fn the_recording_of_the_browsers_tests_is_this_one() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path());
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures/memory");
    let logs = folder.path().join("out/.logs");
    if std::env::var_os("BLESS").is_some() {
        fs::create_dir_all(&kept).unwrap();
        for ending in ["kprof", "memory.csv"] {
            let from = logs.join("device-7").with_extension(ending);
            fs::copy(from, kept.join("ops").with_extension(ending)).unwrap();
        }
    }
    let json = |path: &Path| text(folder.path(), &[path.to_str().unwrap(), "--json"]);
    assert_eq!(json(&kept.join("ops.kprof")), json(&logs.join("device-7.kprof")));
}
