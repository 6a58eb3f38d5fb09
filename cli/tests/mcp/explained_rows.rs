//! Rows that an answer must have, derived from the output of `kprof explain`.

use super::rows::{array, base};
use serde_json::{Value, json};
use std::path::Path;

/// Classes of time, from docs/explain.md.
pub(super) const CLASSES: [&str; 8] = [
    "compute",
    "data_movement",
    "collective",
    "wait",
    "dispatch",
    "host_late",
    "profiler",
    "unknown",
];

/// Adds the percentages of one time span in `kprof explain --json` to a row.
pub(super) fn shares(row: &mut Value, time: &Value) {
    for share in array(&time["shares"]) {
        let class = share["class"].as_str().unwrap();
        let is_unknown = class == "wait" && time["waits"] == "none" && share["percent"] == 0.0;
        let percent = if is_unknown { Value::Null } else { share["percent"].clone() };
        row[format!("{class}_percent")] = percent;
    }
}

/// Joins the texts or numbers of a list to one text.
pub(super) fn joined_texts(list: &Value, between: &str) -> String {
    let text = |of: &Value| of.as_str().map_or_else(|| of.to_string(), str::to_owned);
    array(list).iter().map(text).collect::<Vec<_>>().join(between)
}

pub(super) fn groups_of(explained: &Value) -> Vec<Value> {
    let row = |group: &Value| {
        let mut row = group.clone();
        let facts: Vec<Value> =
            array(&group["reasons"]).iter().map(|reason| reason["fact"].clone()).collect();
        row.as_object_mut().unwrap().remove("reasons");
        row["why"] = json!(joined_texts(&json!(facts), "; "));
        row["rows"] = json!(joined_texts(&group["rows"], ", "));
        row
    };
    array(&explained["groups"]).iter().map(row).collect()
}

/// Returns value, unit and meaning of a threshold, from the table of docs/explain.md.
fn threshold(name: &str) -> (f64, String, String) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/explain.md");
    let page = std::fs::read_to_string(page).unwrap();
    let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` |"))).unwrap();
    let cells: Vec<&str> = row.split(" | ").collect();
    (cells[1].parse().unwrap(), cells[2].to_owned(), cells[3].to_owned())
}

pub(super) fn findings_of(explained: &Value) -> Vec<Value> {
    let row = |finding: &Value| {
        let at = &finding["place"];
        let mut row = json!({
            "where": finding["where"],
            "chip_id": at["chip_id"],
            "program": base(&at["run_host_id"]),
            "launch": at["launch"],
        });
        row["why"] = json!(joined_texts(&finding["why"], "; "));
        let basis = &finding["rests_on"];
        let what = basis["what"].as_str().unwrap();
        row["rests_on"] = json!(format!("{} of {} {what}", basis["count"], basis["of"]));
        let rows = joined_texts(&finding["rows"], ", ");
        row["rows"] = json!(Some(rows).filter(|rows| !rows.is_empty()));
        let (value, unit, measures) = threshold(finding["threshold"].as_str().unwrap());
        row["figure_unit"] = json!(unit);
        row["figure_means"] = json!(measures);
        row["threshold_value"] = json!(value);
        for key in ["cause", "sentence", "figure", "threshold", "gain_of", "advice"] {
            row[key] = finding[key].clone();
        }
        for key in ["gain_at_most_ns", "gain_at_most_percent", "gain_at_most_percent_of_all"] {
            row[key] = finding[key].clone();
        }
        row
    };
    array(&explained["findings"]).iter().map(row).collect()
}

pub(super) fn devices_of(explained: &Value) -> Vec<Value> {
    let row = |device: &Value| {
        let time = &device["time"];
        let mut row = json!({
            "chip_id": device["chip_id"],
            "op_count": device["op_count"],
            "total_ns": time["total_ns"],
            "overlap_at_least_percent": time["overlap"]["at_least_percent"],
            "overlap_at_most_percent": time["overlap"]["at_most_percent"],
            "busy_ns": null,
            "kernel_sum_ns": null,
        });
        if device["kernel_sum_ns"] != 0 {
            row["busy_ns"] = device["busy_ns"].clone();
            row["kernel_sum_ns"] = device["kernel_sum_ns"].clone();
        }
        shares(&mut row, time);
        row
    };
    array(&explained["devices"]).iter().map(row).collect()
}

pub(super) fn phases_of(explained: &Value) -> Vec<Value> {
    let mut rows = Vec::new();
    for phase in array(&explained["phases"]) {
        let path: Vec<_> =
            array(&phase["path"]).iter().map(|part| part.as_str().unwrap()).collect();
        let mut row = json!({ "path": path.join(" / "), "depth": path.len() });
        for key in ["origin", "count", "host_ns", "op_count", "kernel_sum_over_devices_ns"] {
            row[key] = phase[key].clone();
        }
        for device in array(&phase["devices"]) {
            let mut row = row.clone();
            row["chip_id"] = device["chip_id"].clone();
            row["total_ns"] = device["time"]["total_ns"].clone();
            shares(&mut row, &device["time"]);
            rows.push(row);
        }
        if array(&phase["devices"]).is_empty() {
            row["chip_id"] = Value::Null;
            row["total_ns"] = Value::Null;
            for class in CLASSES {
                row[format!("{class}_percent")] = Value::Null;
            }
            rows.push(row);
        }
    }
    rows
}

pub(super) fn op_times_of(explained: &Value) -> Vec<Value> {
    let row = |op: &Value| {
        let mut row = json!({
            "chip_id": op["chip_id"],
            "program": base(&op["run_host_id"]),
            "launch": op["launch"],
            "name": op["name"],
            "total_ns": op["time"]["total_ns"],
            "gap_ns": op["gap_ns"],
            "last_core_over_mean": op["balance"]["ratio"],
            "pacer": op["pace"]["pacer"],
            "pacer_margin_at_least": op["pace"]["margin_at_least"],
            "pacer_margin_at_most": op["pace"]["margin_at_most"],
        });
        shares(&mut row, &op["time"]);
        row
    };
    array(&explained["ops"]).iter().map(row).collect()
}

pub(super) fn waits_of(explained: &Value) -> Vec<Value> {
    let mut rows = Vec::new();
    for op in array(&explained["ops"]) {
        for wait in array(&op["waits"]) {
            let mut row = json!({
                "chip_id": op["chip_id"],
                "program": base(&op["run_host_id"]),
                "launch": op["launch"],
            });
            for key in
                ["risc", "core_count", "kernel_cycles_sum", "blocked_percent", "barrier_percent"]
            {
                row[key] = wait[key].clone();
            }
            let sums = array(&wait["sums"]);
            let most = sums.iter().max_by_key(|sum| sum["cycles"].as_u64()).unwrap_or(&Value::Null);
            row["most_blocked_by"] = most["kind"].clone();
            row["most_blocked_key"] = most["key"].clone();
            row["most_blocked_cycles"] = most["cycles"].clone();
            rows.push(row);
        }
    }
    rows
}

pub(super) fn shares_of_path(op: &Value) -> Vec<Value> {
    let row = |share: &Value| {
        json!({
            "core_x": share["core"][0],
            "core_y": share["core"][1],
            "risc": share["risc"],
            "kind": share["kind"],
            "cycles": share["cycles"],
            "percent": share["percent"],
        })
    };
    array(&op["critical_path"]["shares"]).iter().map(row).collect()
}
