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

fn op(base: u32, name: &str, buffers: &str) -> OpMetadata {
    let fields = [("name", name), ("buffers", buffers)];
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

/// Makes `out/.logs/device-7.kprof` of a workload's op and three more, with the launch messages of
/// one.
pub(crate) fn record(folder: &Path) {
    let logs = folder.join("out/.logs");
    fs::create_dir_all(&logs).unwrap();
    let output =
        kprof(folder, &["capture", "--workload", "long-kernel", "-o", "out/.logs/device-7.kprof"]);
    assert!(output.status.success(), "{output:?}");
    let first = format!(
        r#"{{"mesh": 1, {LAYOUT}, "events": [{{"a": ["L1", 900, 100, "ttnn.ones"]}}, {{"u": ["L1", 900, "[2, 2] BFLOAT16 TILE"]}}]}}"#
    );
    let second = r#"{"mesh": 1, "events": [{"a": ["DRAM", 0, 32, "ttnn.add"]}]}"#;
    let mut writer = CaptureWriter::append_to(logs.join("device-7.kprof")).unwrap();
    let ops = vec![op(700, "Ones", &first), op(701, "Add", second), op(702, "Copy", "")];
    writer.append(&ops).unwrap();
    writer.finish().unwrap();
    let rows =
        [buffer(3, 100, "1-1:2-1", 2), buffer(4, 164, "1-1:2-1", 2), buffer(3, 100, "6-1", 1)];
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
        "L1 of chip 0: 328 of 1,000 bytes (32.8 %) on core 1-1 and 1 like it, during Add (701)",
        "           128  39.0 %  circular buffers",
        "           100  30.5 %  tensors and other buffers",
        "           100  30.5 %  reserved by tt-metal, with kernels and their configuration",
        "           672          free, 672 of it in one piece",
        "           100          in 1 tensor that no later op has as a tensor:",
        "           100          [2, 2] BFLOAT16 TILE, last of Ones (700)",
        "DRAM of chip 0: 32 of 5,000 bytes (0.6 %) in each bank, during Add (701)",
        "3 of 4 ops have no launch messages: their circular buffers are unknown",
        "2 of 4 ops have no list of buffers: a call that kprof did not see, or a graph of the program's own",
    ] {
        assert!(shown.lines().any(|found| found == line), "{line}\n{shown}");
    }
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
                "core_ranges": "1-1:2-1", "used_bytes": 328, "is_lower_bound": false,
                "reserved_bytes": 100, "circular_buffer_bytes": 128, "buffer_bytes": 100,
                "outlived_bytes": 100, "capacity_bytes": 1000, "free_bytes": 672,
                "largest_free_bytes": 672
            },
            {
                "chip_id": 0, "memory": "DRAM", "run_host_id": id, "op_name": "Add",
                "core_ranges": null, "used_bytes": 32, "is_lower_bound": false,
                "reserved_bytes": null, "circular_buffer_bytes": null, "buffer_bytes": 32,
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
            json!(["circular buffer", 3, "6-1", 100, 64, null]),
            json!(["buffer", null, null, 0, 32, "ttnn.add"]),
        ]
    );
    assert_eq!(rows[1]["last_use_run_host_id"], RunHostId::encode(700, 0).0);
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
    assert!(errors.contains("1 row skipped, the rest is used; line 4: expected cores"), "{errors}");
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
