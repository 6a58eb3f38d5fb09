//! Claims of the answers to agents, over generated files: no impossible share, no time beyond a chip's records, and
//! counts of what is spoken of.

use super::server::{answers, call};
use crate::{
    claims::assert_json,
    generated::{Truth, device_log, ops_csv, seeds},
};
use serde_json::{Value, json};
use std::path::Path;

/// Asserts the claims of what an agent is told of a file.
fn assert_answers(folder: &Path, input: &str, truth: &Truth, what: &str) {
    let mut calls = vec![call(2, "load", &json!({ "path": input }))];
    for part in ["findings", "untold", "devices", "phases", "ops", "waits"] {
        calls.push(call(calls.len() + 2, "explain", &json!({ "part": part })));
    }
    for tool in ["ops", "zones", "losses", "noc", "critical_path", "counters"] {
        calls.push(call(calls.len() + 2, tool, &json!({})));
    }
    for (answer, call) in answers(folder, &calls).iter().zip(&calls) {
        let what = format!("{what}: {call}");
        let text = answer["result"]["content"][0]["text"].as_str().expect(&what);
        let answer: Value = serde_json::from_str(text).unwrap();
        if !call.contains("devices") || answer["rows"].is_null() {
            assert_json(&answer, &what);
            continue;
        }
        let columns = answer["columns"].as_array().unwrap();
        let at = |name: &str| columns.iter().position(|column| column == name).unwrap();
        let (chip, total) = (at("chip_id"), at("total_ns"));
        for row in answer["rows"].as_array().unwrap() {
            let chip = row[chip].as_u64().and_then(|chip| u32::try_from(chip).ok());
            let span_ns = chip.and_then(|chip| truth.spans_ns.get(&chip));
            if let (Some(span_ns), Some(total_ns)) = (span_ns, row[total].as_f64()) {
                assert!(total_ns <= span_ns + 1.0, "{what}: {total_ns} of {span_ns} ns");
            }
        }
    }
}

#[test]
fn answers_about_generated_files_claim_only_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    for seed in seeds(12) {
        let [ops, log] = ["ops_perf_results.csv", "profile_log_device.csv"];
        for (name, (text, truth)) in [(ops, ops_csv(seed)), (log, device_log(seed))] {
            std::fs::write(folder.path().join(name), text).unwrap();
            assert_answers(
                folder.path(),
                name,
                &truth,
                &format!("KPROF_CLAIMS_SEED={seed} {name}"),
            );
        }
    }
}
