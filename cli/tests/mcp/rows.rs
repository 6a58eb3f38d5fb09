//! Rows that an answer must have, from what `kprof report`, `kprof diff` and `kprof perf` say.

use super::client::Answer;
use serde_json::{Value, json};

pub(super) fn array(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

pub(super) fn unless_zero(value: &Value) -> Value {
    if *value == 0 { Value::Null } else { value.clone() }
}

pub(super) fn doubt(value: &Value) -> Value {
    let sentence = match value.as_str() {
        None => return Value::Null,
        Some("lost_records") => "records of some RISCs are lost",
        Some("unfinished") => "some kernels did not end",
        Some("clocks_disagree") => "clocks of the cores disagree",
        Some("lost_launches") => "launches before it may be missing",
        Some("unknown_end_before") => "the op before has no known end",
        Some(other) => panic!("{other}"),
    };
    sentence.into()
}

/// Rows by column that must be exactly those of an answer.
#[track_caller]
pub(super) fn assert_rows(answer: &Answer, expected: Vec<Value>, what: &str) {
    assert_eq!(answer.rows.len(), expected.len(), "{what}");
    for (found, expected) in answer.rows.iter().zip(expected) {
        let found = Value::Object(found.clone());
        for (column, value) in expected.as_object().unwrap() {
            assert_eq!(&found[column], value, "{what}: {column} of {found}");
        }
        assert_eq!(
            found.as_object().unwrap().keys().collect::<Vec<_>>(),
            expected.as_object().unwrap().keys().collect::<Vec<_>>(),
            "{what}"
        );
    }
}

/// The ops of `kprof report --json`.
pub(super) fn ops_of(report: &Value) -> Vec<Value> {
    let name = |op: &Value| {
        let of_op = |name: &&Value| {
            (&name["chip_id"], &name["program"]) == (&op["chip_id"], &op["program"])
        };
        array(&report["op_names"]).iter().find(of_op).map_or(Value::Null, |of| of["name"].clone())
    };
    let span = |op: &Value, kind: &str| {
        let span = if op[kind].is_null() { &op[format!("trace_{kind}")] } else { &op[kind] };
        span["duration_ns"].clone()
    };
    let row = |op: &Value| {
        let risc = |risc: &str| op["risc_kernels"][risc]["duration_ns"].clone();
        json!({
            "chip_id": op["chip_id"],
            "program": op["program"],
            "launch": op["launch"],
            "name": name(op),
            "core_count": unless_zero(&op["core_count"]),
            "recorded_core_count": op["recorded_core_count"],
            "kernel_ns": span(op, "kernel"),
            "firmware_ns": span(op, "firmware"),
            "brisc_ns": risc("brisc"),
            "ncrisc_ns": risc("ncrisc"),
            "trisc0_ns": risc("trisc0"),
            "trisc1_ns": risc("trisc1"),
            "trisc2_ns": risc("trisc2"),
            "erisc_ns": risc("erisc"),
            "start_skew_ns": op["kernel_first_to_last_start_ns"],
            "op_to_op_ns": op["op_to_op_latency_ns"],
            "trace_id": op["trace_id"],
            "trace_replay": op["trace_replay"],
            "duration_doubt": doubt(&op["duration_doubt"]),
            "latency_doubt": doubt(&op["latency_doubt"]),
            "stall_ns": op["stall_ns"],
        })
    };
    array(&report["ops"]).iter().map(row).collect()
}

/// The zones or sums of `kprof report --json`.
pub(super) fn zones_of(report: &Value, kind: &str) -> Vec<Value> {
    let row = |zone: &Value| {
        let unless_empty =
            |key: &str| if zone["count"] == 0 { Value::Null } else { zone[key].clone() };
        let mut row = json!({
            "chip_id": zone["chip_id"],
            "risc": zone["risc"],
            "name": zone["name"],
            "marker_id": zone["marker_id"],
            "count": zone["count"],
        });
        for key in ["total_ns", "min_ns", "median_ns", "p99_ns", "max_ns", "total_cycles"] {
            row[key] = unless_empty(key);
        }
        if kind == "zones" {
            row["self_total_cycles"] = unless_empty("self_total_cycles");
            row["open_zone_count"] = zone["open_zone_count"].clone();
            let file = zone["source_file"].as_str().unwrap();
            row["source"] = match zone["source_line"].as_u64().unwrap() {
                _ if file.is_empty() => Value::Null,
                0 => file.into(),
                line => format!("{file}:{line}").into(),
            };
        }
        row
    };
    array(&report[kind]).iter().map(row).collect()
}

/// The waits of `kprof report --json`.
pub(super) fn waits_by_object(report: &Value) -> Vec<Value> {
    let row = |wait: &Value| {
        let (kind, key) = (wait["kind"].as_str().unwrap(), wait["key"].as_u64().unwrap());
        let object = match kind {
            "CB_WAIT" | "CB_RESERVE" => format!("buffer {key}"),
            "SEM_WAIT" => format!("semaphore {key:#x}"),
            _ => format!("NoC {key}"),
        };
        let mut row = json!({ "object": object });
        for key in [
            "chip_id",
            "risc",
            "kind",
            "key",
            "count",
            "core_count",
            "total_ns",
            "median_ns",
            "max_ns",
            "total_cycles",
            "max_cycles",
            "is_lower_bound",
        ] {
            row[key] = wait[key].clone();
        }
        row
    };
    array(&report["waits"]).iter().map(row).collect()
}

/// Zones of the profiler's own, of those of `kprof report --json`.
pub(super) fn profiler_time_of(report: &Value) -> Vec<Value> {
    let kinds = [
        ("PROFILER-DRAM-STALL", "wait for the host"),
        ("PROFILER-DRAM-PUSH", "push of several launches"),
    ];
    let rows = kinds.iter().flat_map(|(name, kind)| {
        let zones = array(&report["zones"]).iter().filter(move |zone| zone["name"] == *name);
        zones.filter(|zone| zone["count"] != 0).map(move |zone| {
            json!({
                "chip_id": zone["chip_id"], "risc": zone["risc"], "kind": kind,
                "count": zone["count"], "total_cycles": zone["total_cycles"],
                "max_cycles": zone["max_cycles"],
            })
        })
    });
    rows.collect()
}

pub(super) fn counts(row: &mut Value, loss: &Value) {
    row["runs"] = unless_zero(&loss["runs"]);
    for key in ["zones", "data", "events", "sums", "unknown_markers", "is_lower_bound"] {
        row[key] = loss[key].clone();
    }
}

/// The ledger of `kprof report --json`.
pub(super) fn lanes_of(report: &Value) -> Vec<Value> {
    let row = |loss: &Value| {
        let mut row = json!({});
        for key in ["cause", "chip_id", "core_x", "core_y", "risc", "run_host_id"] {
            row[key] = loss[key].clone();
        }
        row["first_run_host_id"] = loss["first_run_host_id"].clone();
        row["last_run_host_id"] = loss["last_run_host_id"].clone();
        counts(&mut row, loss);
        row
    };
    array(&report["losses"]).iter().map(row).collect()
}

pub(super) fn changes_of(diff: &Value) -> Vec<Value> {
    let row = |change: &Value| {
        json!({
            "kind": change["kind"],
            "place": change["place"],
            "name": change["name"],
            "source": change["source"],
            "certainty": change["certainty"],
            "ratio": change["ratio"],
            "ratio_low": change["interval"][0],
            "ratio_high": change["interval"][1],
            "p_value": change["adjusted_p_value"],
            "a_mean_ns": change["a_geometric_mean_ns"],
            "b_mean_ns": change["b_geometric_mean_ns"],
            "a_count": change["a_ns"]["count"],
            "b_count": change["b_ns"]["count"],
            "a_median_ns": change["a_ns"]["median"],
            "b_median_ns": change["b_ns"]["median"],
            "slower_percent": (change["ratio"].as_f64().unwrap() - 1.0) * 100.0,
        })
    };
    array(&diff["changes"]).iter().map(row).collect()
}

pub(super) fn rows_of_csv(perf: &Value) -> Vec<Value> {
    let row = |row: &Value| {
        json!({
            "row": row["id"],
            "kind": row["kind"],
            "name": row["raw_op_code"],
            "device": row["device"],
            "device_time_us": row["device_time_us"],
            "op_to_op_gap_us": row["op_to_op_gap_us"],
            "core_count": row["core_count"],
            "total_percent": row["total_percent"],
            "bound": row["bound"],
            "dram_percent": row["dram_percent"],
            "flops_percent": row["flops_percent"],
            "math_fidelity": row["math_fidelity"],
            "call": row["global_call_count"],
        })
    };
    array(&perf["rows"]).iter().map(row).collect()
}

pub(super) fn base(run_host_id: &Value) -> Value {
    // The lowest ten bits are the chip's.
    run_host_id.as_u64().map_or(Value::Null, |id| (id >> 10).into())
}
