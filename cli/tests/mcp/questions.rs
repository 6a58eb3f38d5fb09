//! Questions on six recordings with answers that are known beforehand, asked as
//! `skills/kprof/SKILL.md` says:
//! each is answered by at most two calls of at most 4 kB each.

use super::client::{
    Answer, call_all, capture, is_client_there, joined, repository, write_reports,
};
use crate::{op_memory, programs::write_builds};
use serde_json::{Map, Value, json};

/// A question: what is asked, the call, and whether the answer says what is known.
type Question = (&'static str, Value, fn(&Answer) -> bool);

/// Number of cores of the simulated chip.
const CORES: u64 = 64;
/// Number of tiles that each core of the pipeline moves in a launch.
const TILES: u64 = 40;

fn row<'a>(answer: &'a Answer, key: &str, value: &str) -> &'a Map<String, Value> {
    let mut rows = answer.rows.iter();
    rows.find(|row| row[key] == value).unwrap_or_else(|| panic!("no row with {key} {value}"))
}

fn sum(answer: &Answer, column: &str) -> u64 {
    answer.rows.iter().filter_map(|row| row[column].as_u64()).sum()
}

/// Questions about the two reports `r1` and `r2`.
fn of_reports() -> Vec<Question> {
    vec![
        ("which layer takes longest?", json!(["by", {}]), |answer| {
            row(answer, "name", "Model.layers.0.mlp.gate")["device_time_us"] == 3.0
                && row(answer, "name", "Model.layers.0")["device_time_us"] == 4.0
        }),
        ("which share is the head's?", json!(["by", { "sort": "percent" }]), |answer| {
            let percent = row(answer, "name", "Model.head")["percent"].as_f64().unwrap();
            (percent - 100.0 / 9.0).abs() < 0.01
        }),
        ("which line of code takes longest?", json!(["by", { "column": "LOC" }]), |answer| {
            answer.rows[0]["name"] == "m.py:3" && answer.rows[0]["device_time_us"] == 3.5
        }),
        ("how long did the host take for attention?", json!(["by", {}]), |answer| {
            row(answer, "name", "Model.layers.0.attention")["host_time_us"] == 0.07
        }),
        ("how many ops are there?", json!(["recordings", { "recording": "r1" }]), |answer| {
            answer.rows[0]["ops"] == 4
        }),
        ("which op is the longest?", json!(["ops", { "sort": "device_time_us" }]), |answer| {
            answer.rows[0]["name"] == "Matmul" && answer.rows[0]["device_time_us"] == 3.0
        }),
        ("how long does Copy take?", json!(["ops", { "filter": "op=Copy" }]), |answer| {
            answer.rows.len() == 1
                && answer.rows[0]["device_time_us"].is_null()
                && answer.head["null_means"]["device_time_us"].is_string()
        }),
        ("is anything lost?", json!(["losses", {}]), |answer| {
            answer.head["lost"]["records"].is_null() && answer.head["reason"].is_string()
        }),
        ("which zones are there?", json!(["zones", {}]), |answer| {
            answer.rows.is_empty() && answer.head["reason"].is_string()
        }),
        (
            "which layer became slower?",
            json!(["diff", { "a": "r1", "b": "r2", "part": "by" }]),
            |answer| row(answer, "name", "Model.head")["ratio"] == 1.5,
        ),
        (
            "which layers were added or removed?",
            json!(["diff", { "a": "r1", "b": "r2", "part": "by" }]),
            |answer| {
                row(answer, "name", "Model.layers.0.mlp.gate")["b_ns"].is_null()
                    && row(answer, "name", "Model.layers.0.mlp.up")["a_ns"].is_null()
            },
        ),
        ("how much slower is it in total?", json!(["diff", { "a": "r1", "b": "r2" }]), |answer| {
            answer.head["a_total_ns"] == 4500.0 && answer.head["b_total_ns"] == 4750.0
        }),
        (
            "which kind of op became slower?",
            json!(["diff", { "a": "r1", "b": "r2", "part": "groups" }]),
            |answer| row(answer, "name", "Matmul")["change_ns"] == 250.0,
        ),
    ]
}

/// Questions about a pipeline whose reader takes longest, on 64 cores in two launches.
fn of_pipeline() -> Vec<Question> {
    vec![
        ("how many launches were there?", json!(["ops", {}]), |answer| answer.rows.len() == 2),
        ("on how many cores did it run?", json!(["ops", { "filter": "op=1" }]), |answer| {
            answer.rows[0]["core_count"] == CORES
        }),
        ("which stage sets the pace?", json!(["explain", { "part": "ops" }]), |answer| {
            answer.rows[0]["pacer"] == "reader"
        }),
        ("why is it slow?", json!(["explain", {}]), |answer| {
            let sentence = answer.rows[0]["sentence"].as_str().unwrap();
            sentence.starts_with("The reader sets the pace") && answer.rows[0]["rests_on"] != ""
        }),
        ("what does TRISC 0 wait for?", json!(["zones", { "kind": "waits" }]), |answer| {
            row(answer, "risc", "TRISC_0")["count"] == 2 * CORES * TILES
        }),
        ("who is blocked longest?", json!(["explain", { "part": "waits" }]), |answer| {
            row(answer, "risc", "TRISC_0")["most_blocked_by"] == "CB_WAIT"
        }),
        ("is there a critical path?", json!(["critical_path", {}]), |answer| {
            answer.head["ops_without_path"].as_u64().unwrap() + answer.rows.len() as u64 == 2
        }),
        (
            "how often did kernels run?",
            json!(["zones", { "filter": "zone=*-KERNEL", "sort": "count" }]),
            |answer| answer.rows.len() == 5 && sum(answer, "count") == 2 * 5 * CORES,
        ),
        ("are these times of a chip?", json!(["provenance", {}]), |answer| {
            row(answer, "name", "is_simulated")["value"] == true
                && row(answer, "name", "file_kind")["value"] == "capture"
        }),
        ("which chip is it, and at which clock?", json!(["provenance", {}]), |answer| {
            row(answer, "name", "architecture")["value"] == "wormhole_b0"
                && row(answer, "name", "aiclk_mhz")["value"] == 1000
        }),
        ("what does the first sentence's figure mean?", json!(["explain", {}]), |answer| {
            let found = &answer.rows[0];
            found["figure_unit"] == "%"
                && found["figure_means"].as_str().unwrap().contains("at NoC barriers")
                && found["figure"].as_f64() >= found["threshold_value"].as_f64()
        }),
        ("was anything lost?", json!(["losses", {}]), |answer| {
            sum(answer, "data") > 0 && answer.rows[0]["cause"] == "L1 full"
        }),
        ("what helps against the loss?", json!(["losses", {}]), |answer| {
            answer.head["remedies"].to_string().contains("--stream")
        }),
        ("what moved over the NoCs?", json!(["noc", {}]), |answer| {
            answer.rows.is_empty() && answer.head["reason"].is_string()
        }),
        ("what can this recording not tell?", json!(["explain", { "part": "untold" }]), |answer| {
            !answer.rows.is_empty()
        }),
    ]
}

/// Questions about a real chip's kernel that reads and writes eight blocks of 256 bytes.
fn of_transfers() -> Vec<Question> {
    vec![
        ("how many bytes were read?", json!(["noc", {}]), |answer| {
            row(answer, "kind", "READ")["bytes"] == 8 * 256
        }),
        ("how many transfers were there?", json!(["noc", { "part": "pairs" }]), |answer| {
            sum(answer, "transfers") == 2 * 8 && sum(answer, "bytes") == 2 * 8 * 256
        }),
        (
            "which link carries most?",
            json!(["noc", { "part": "links", "sort": "bytes" }]),
            |answer| answer.rows[0]["bytes"] == 8 * 256,
        ),
        ("how long did it wait for reads?", json!(["noc", {}]), |answer| {
            row(answer, "kind", "READ_BARRIER_START")["wait_cycles"].as_u64().unwrap() > 0
                || row(answer, "kind", "READ_BARRIER_END")["wait_cycles"].as_u64().unwrap() > 0
        }),
        ("was it recorded on a chip?", json!(["provenance", {}]), |answer| {
            row(answer, "name", "is_simulated")["value"].is_null()
                && row(answer, "name", "architecture")["value"] == "blackhole"
        }),
        ("is anything lost?", json!(["losses", {}]), |answer| {
            answer.head["lost"]["records"].is_null()
                && answer.head["lost"]["text"].as_str().unwrap().contains("unknown")
        }),
    ]
}

/// Questions about what memory holds during two ops.
fn of_memory() -> Vec<Question> {
    vec![
        ("which op needs most of L1?", json!(["memory", {}]), |answer| {
            let peak = row(answer, "memory", "L1");
            peak["op_name"] == "Add" && peak["used_bytes"] == 328 && peak["is_lower_bound"] == false
        }),
        ("how much of it are circular buffers?", json!(["memory", {}]), |answer| {
            row(answer, "memory", "L1")["circular_buffer_bytes"] == 128
        }),
        ("how much room is left?", json!(["memory", {}]), |answer| {
            let peak = row(answer, "memory", "L1");
            peak["free_bytes"] == 672 && peak["capacity_bytes"] == 1000
        }),
        ("what is of no use any more?", json!(["memory", { "part": "map" }]), |answer| {
            let tensor = row(answer, "owner", "ttnn.ones");
            let peak = tensor["run_host_id"].as_u64();
            tensor["size_bytes"] == 100 && tensor["last_use_run_host_id"].as_u64() < peak
        }),
        (
            "which circular buffers does core 6-1 have?",
            json!(["memory", { "part": "map", "core": "6-1", "kind": "circular buffer" }]),
            |answer| {
                let found = row(answer, "core_ranges", "6-1");
                answer.rows.len() == 1
                    && found["number"] == 3
                    && found["start"] == 100
                    && found["size_bytes"] == 64
            },
        ),
        ("which line of the model needs most of L1?", json!(["memory", {}]), |answer| {
            let peak = row(answer, "memory", "L1");
            peak["location"] == "model.py:12" && peak["module"] == "Model.mlp"
        }),
        (
            "which line made the largest tensor at the peak?",
            json!(["memory", { "part": "makers" }]),
            |answer| {
                let tensor = row(answer, "kind", "tensor");
                tensor["location"] == "a.py:3" && tensor["bytes"] == 100
            },
        ),
        ("what could be freed at the peak?", json!(["memory", { "part": "outlived" }]), |answer| {
            answer.rows.len() == 1
                && answer.rows[0]["last_use_op_name"] == "Ones"
                && answer.rows[0]["size_bytes"] == 100
        }),
        ("how much do kernels take?", json!(["memory", {}]), |answer| {
            row(answer, "memory", "L1")["kernel_bytes"] == 40
        }),
        ("of how many ops is memory known?", json!(["provenance", {}]), |answer| {
            row(answer, "name", "ops_with_memory_count")["value"] == 2
                && row(answer, "name", "ops_without_launch_messages_count")["value"] == 3
        }),
        (
            "how full is L1 during Ones?",
            json!(["memory", { "part": "ops", "op": "Ones" }]),
            |answer| {
                answer.rows[0]["used_bytes"] == 200
                    && answer.rows[0]["is_lower_bound"] == true
                    && answer.head["null_means"]["circular_buffer_bytes"].is_string()
            },
        ),
    ]
}

/// Questions about which calls built programs.
fn of_programs() -> Vec<Question> {
    vec![
        ("how many programs were built again?", json!(["programs", {}]), |answer| {
            answer.head["rebuilt_count"] == 2 && answer.head["built_count"] == 4
        }),
        ("which line built most?", json!(["programs", {}]), |answer| {
            answer.rows[0]["location"] == "a.py:7" && answer.rows[0]["built_count"] == 3
        }),
        (
            "for which argument was Add built again?",
            json!(["programs", { "part": "rebuilds", "sort": "row_id", "order": "ascending" }]),
            |answer| answer.rows[0]["reason"] == "alpha: 1 -> 2",
        ),
        ("of how many calls is it unknown?", json!(["programs", {}]), |answer| {
            answer.head["unknown_count"] == 1 && answer.head["call_count"] == 6
        }),
    ]
}

#[test]
fn questions_on_six_recordings_have_the_known_answers() {
    if !is_client_there() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_reports(folder);
    op_memory::record(folder);
    write_builds(folder);
    let shape = "tiles=40,reader=1620,writer=700";
    capture(
        folder,
        &[
            &["--waits", "events", "--workload", "pipeline", "--ops", "2", "--pipeline", shape][..],
            &["-o", "p.kprof"],
        ]
        .concat(),
    );
    let path = |name: &str| folder.join(name).display().to_string();
    let noc = repository("tests/captures/mesham-tt-sim/blackhole-noc-256");
    let reports = of_reports().into_iter().map(|(what, mut call, is_right)| {
        // A comparison names its recordings; other questions are about the first report.
        if call[0] != "diff" && call[0] != "recordings" {
            call[1]["recording"] = "r1".into();
        }
        (what, call, is_right)
    });
    let mut count = 0;
    for (first, second, questions) in [
        (path("a.csv"), Some(path("b.csv")), reports.collect::<Vec<_>>()),
        (path("p.kprof"), None, of_pipeline()),
        (noc, None, of_transfers()),
        (path("out/.logs/device-7.kprof"), None, of_memory()),
        (path("builds.csv"), None, of_programs()),
    ] {
        let load = second.map(|path| json!(["load", { "path": path }]));
        let calls = questions.iter().map(|(_, call, _)| call.clone());
        let calls: Vec<Value> = load.clone().into_iter().chain(calls).collect();
        let found = call_all("legacy", &[&first], &calls);
        let answers = found["answers"].as_array().unwrap().iter().skip(load.iter().len());
        for ((what, call, is_right), answer) in questions.iter().zip(answers) {
            let answer = joined(call, answer);
            assert!(is_right(&answer), "{what} {call}: {} {:?}", answer.head, answer.rows);
            // A call for each page: the tools' descriptions lead to an answer at once.
            assert!(answer.page_count <= 2, "{what}: {} pages", answer.page_count);
            count += 1;
        }
    }
    assert_eq!(count, 49);
}
