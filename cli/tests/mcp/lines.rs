//! Lines of source for agents: the figures of `kprof lines` and `kprof diff`.

use super::client::{call_all, is_client_there, joined};
use crate::{
    lines::{DIVIDE, compile, folder, run},
    program::kprof,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

fn json_of(folder: &std::path::Path, args: &[&str]) -> Value {
    let output = kprof(folder, args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn lines_and_their_changes_are_those_of_the_commands() {
    if !is_client_there() {
        return;
    }
    let folder = folder("agents");
    let faster = DIVIDE.replace("/ by; // slow", "^ by; // quick");
    for (name, source) in [("a", DIVIDE), ("b", faster.as_str())] {
        if compile(&folder, "wormhole_b0", source, true).is_none() {
            return;
        }
        run(&folder, "wormhole_b0");
        fs::rename(folder.join("out"), folder.join(name)).unwrap();
    }
    let path = |name: &str| folder.join(name).display().to_string();
    let calls = [
        json!(["load", { "path": path("b") }]),
        json!(["lines", { "recording": "r1" }]),
        json!(["lines", { "recording": "r1", "part": "functions", "risc": "BRISC" }]),
        json!(["lines", { "recording": "r1", "risc": "NCRISC" }]),
        json!(["diff", { "a": "r1", "b": "r2", "part": "lines" }]),
    ];
    let found = call_all("legacy", &[&path("a")], &calls);
    let answers = found["answers"].as_array().unwrap();
    let [_, lines, functions, none, changes] = &answers[..] else { panic!("{answers:?}") };

    let rows = json_of(&folder, &["lines", "a", "--json"]);
    let rows = rows["lines"].as_array().unwrap();
    let total: u64 = rows.iter().map(|row| row["total_cycles"].as_u64().unwrap()).sum();
    let mut sums: BTreeMap<(String, String), [u64; 2]> = BTreeMap::new();
    for row in rows {
        let key = (row["code"].as_str().unwrap().to_owned(), row["line"].to_string());
        let sum = sums.entry(key).or_default();
        sum[0] += row["total_cycles"].as_u64().unwrap();
        sum[1] += row["instructions"].as_u64().unwrap();
    }
    let lines = joined(&calls[1], lines);
    assert_eq!(lines.head["total_cycles"], total);
    let first = &lines.rows[0];
    assert_eq!((&first["line"], &first["function"]), (&3.into(), &"divide".into()));
    assert_eq!(first["source_text"], "    return words[0] / by; // slow");
    assert_eq!(first["main_reason"], "arithmetic");
    for row in lines.rows.iter().filter(|row| !row["line"].is_null()) {
        let key = (row["code"].as_str().unwrap().to_owned(), row["line"].to_string());
        let sum = [&row["total_cycles"], &row["instructions"]].map(|cell| cell.as_u64().unwrap());
        assert_eq!(sum, sums[&key], "{row:?}");
        let percent = row["percent"].as_f64().unwrap();
        assert!((percent - sum[0] as f64 * 100.0 / total as f64).abs() < 1e-9, "{row:?}");
    }
    let functions = joined(&calls[2], functions);
    assert!(functions.rows.iter().all(|row| row["line"].is_null()));
    let all: u64 = functions.rows.iter().map(|row| row["total_cycles"].as_u64().unwrap()).sum();
    assert_eq!(all, total);
    let none = joined(&calls[3], none);
    assert_eq!((none.rows.len(), &none.head["reason"]), (0, &"no row has this op and RISC".into()));

    let diff = json_of(&folder, &["diff", "a", "b", "--json"]);
    let expected = diff["lines"]["changes"].as_array().unwrap();
    let changes = joined(&calls[4], changes);
    assert_eq!(changes.head["a_line_cycles"], diff["lines"]["a_cycles"]);
    assert_eq!(changes.head["b_line_cycles"], diff["lines"]["b_cycles"]);
    assert_eq!(changes.rows.len(), expected.len());
    for (row, expected) in changes.rows.iter().zip(expected) {
        let cells = ["change_cycles", "risc", "code", "function"].map(|key| (key, key));
        for (key, of) in cells {
            assert_eq!(row[key], expected[of], "{row:?}");
        }
        for side in ["a", "b"] {
            for key in ["cycles", "file", "line"] {
                let expected = expected[side].get(key).cloned().unwrap_or_default();
                assert_eq!(row[&format!("{side}_{key}")], expected, "{row:?}");
            }
        }
    }
}
