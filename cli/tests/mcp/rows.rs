//! Rows that an answer must have, derived from `kprof report`, `kprof diff` and `kprof perf`.

use super::client::{Answer, json_lines};
use serde_json::{Value, json};
use std::path::Path;

pub(super) fn array(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

/// Asserts that an answer has exactly these rows.
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

/// Returns the columns of a table that an answer shows, from the schema that `kprof schema` prints.
fn summary_columns(table: &str) -> Vec<String> {
    let schema = &json_lines(Path::new("."), &["schema", table, "--json"])[0];
    let columns = array(&schema[0]["columns"]).iter();
    let shown = columns.filter(|column| column["scope"] == "summary");
    shown.map(|column| column["name"].as_str().unwrap().to_owned()).collect()
}

/// Returns the rows of a table of `kprof report --json`, with the columns that an answer shows.
pub(super) fn rows_of(report: &Value, key: &str, table: &str) -> Vec<Value> {
    let columns = summary_columns(table);
    let row = |row: &Value| {
        let cell = |name: &String| (name.clone(), row.as_object().unwrap()[name].clone());
        Value::Object(columns.iter().map(cell).collect())
    };
    array(&report[key]).iter().map(row).collect()
}

/// Returns the zones of `kprof report --json` that belong to the profiler itself.
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

pub(super) fn changes_of(diff: &Value) -> Vec<Value> {
    let row = |change: &Value| {
        json!({
            "kind": change["kind"],
            "place": change["place"],
            "name": change["name"],
            "source": change["source"],
            "distinction": change["distinction"],
            "certainty": change["certainty"],
            "ratio": change["ratio"],
            "ratio_low": change["interval"][0],
            "ratio_high": change["interval"][1],
            "p_value": change["adjusted_p_value"],
            "a_mean_ns": change["a_geometric_mean_ns"],
            "b_mean_ns": change["b_geometric_mean_ns"],
            "a_count": change["a_ns"]["count"],
            "b_count": change["b_ns"]["count"],
            "a_zones_per_run": change["zones_per_run"][0],
            "b_zones_per_run": change["zones_per_run"][1],
            "a_median_ns": change["a_ns"]["median"],
            "b_median_ns": change["b_ns"]["median"],
            "slower_percent": (change["ratio"].as_f64().unwrap() - 1.0) * 100.0,
            "pair_count": change["pair_count"],
            "agreement": change["agreement"],
            "differs": differing(change),
        })
    };
    array(&diff["changes"]).iter().map(row).collect()
}

/// Returns what differs between the two sides of a change, as the terminal lists it.
fn differing(change: &Value) -> String {
    let mut aspects: Vec<_> = array(&change["differences"])
        .iter()
        .map(|difference| difference["aspect"].as_str().unwrap().replace('_', " "))
        .collect();
    aspects.dedup();
    aspects.extend((change["is_moved"] == true).then(|| "order".to_owned()));
    aspects.join(", ")
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
            "is_dram_lower_bound": row["dram_kind"] != "exact",
            "flops_percent": row["flops_percent"],
            "math_fidelity": row["math_fidelity"],
            "call": row["global_call_count"],
        })
    };
    array(&perf["rows"]).iter().map(row).collect()
}

pub(super) fn base(run_host_id: &Value) -> Value {
    // The lowest ten bits are the number of the chip.
    run_host_id.as_u64().map_or(Value::Null, |id| (id >> 10).into())
}

/// Returns the groups of `kprof perf --by` as rows.
pub(super) fn groups_by_column(by: &Value) -> Vec<Value> {
    let row = |group: &Value| {
        let is_timed = group["untimed_count"].as_u64() < group["op_count"].as_u64();
        let timed = |key: &str| if is_timed { group[key].clone() } else { Value::Null };
        json!({
            "name": group["value"],
            "op": group["op"],
            "depth": group["depth"],
            "op_count": group["op_count"],
            "untimed_op_count": group["untimed_count"],
            "device_time_us": timed("device_time_us"),
            "percent": timed("percent"),
            "device_time_per_iteration_us": group["device_time_per_iteration_us"],
            "ops_per_iteration": group["ops_per_iteration"],
            "host_time_us": group["host_time_us"],
            "flops_percent": group["flops_percent"],
            "dram_percent": group["dram_percent"],
            "is_dram_lower_bound": group["is_dram_lower_bound"],
        })
    };
    array(&by["groups"]).iter().map(row).collect()
}

/// Returns the groups of `kprof diff --by` as rows.
pub(super) fn changes_by_column(by: &Value) -> Vec<Value> {
    let row = |change: &Value| {
        let mut row = change.as_object().unwrap().clone();
        let name = row.remove("value").unwrap();
        row.insert("name".to_owned(), name);
        Value::Object(row)
    };
    array(&by["changes"]).iter().map(row).collect()
}
