//! Claims of every output, over generated files and the recordings in the repository: `explain`, `perf`,
//! `report`, `noc`, `diff`, JSON and the page's data say no impossible share, count what they speak of,
//! and ask for no records that are there.
//!
//! `KPROF_CLAIMS_COUNT` sets the number of generated files, and `KPROF_CLAIMS_SEED` runs a single one.

use crate::{
    generated::{MOST_PERCENT, Truth, assert_text, collect, device_log, ops_csv, seeds},
    program::kprof,
};
use captures::{capture_path, log_path};
use serde_json::Value;
use std::path::Path;

/// Runs a command on a file, and returns what it prints. A refusal is one sentence.
fn said(folder: &Path, args: &[&str], what: &str) -> String {
    let output = kprof(folder, args);
    let code = output.status.code();
    assert!(matches!(code, Some(0..=2)), "{what}: {args:?}: {output:?}");
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(code != Some(2) || errors.trim_end().lines().count() == 1, "{what}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Asserts the claims of texts and percentages in a JSON value.
fn assert_json(value: &Value, what: &str) {
    let (mut texts, mut percents) = (Vec::new(), Vec::new());
    collect(value, &mut texts, &mut percents);
    for (key, percent) in percents {
        let is_share = !key.contains("change") && !key.contains("late_percent");
        assert!(percent <= MOST_PERCENT || !is_share, "{what}: {key} {percent}");
    }
    texts.into_iter().for_each(|text| assert_text(text, what));
}

/// Asserts the claims of the JSON documents that a command prints.
fn assert_documents(folder: &Path, args: &[&str], what: &str) -> Vec<Value> {
    let what = format!("{what}: {args:?}");
    let text = said(folder, args, &what);
    let documents: Vec<Value> =
        serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect();
    documents.iter().for_each(|document| assert_json(document, &what));
    documents
}

/// Asserts that an explanation's findings say on how many of how many they rest, that its chips took
/// no longer than their records, and that it asks for nothing that the file has.
fn assert_explained(document: &Value, truth: &Truth, text: &str, what: &str) {
    for finding in document["findings"].as_array().unwrap() {
        let [count, of] = ["count", "of"].map(|key| finding["rests_on"][key].as_u64().unwrap());
        assert!(count > 0 && count <= of, "{what}: {finding}");
    }
    for device in document["devices"].as_array().unwrap() {
        let chip = device["chip_id"].as_u64().and_then(|chip| u32::try_from(chip).ok());
        let span_ns = chip.and_then(|chip| truth.spans_ns.get(&chip));
        if let (Some(span_ns), Some(total_ns)) = (span_ns, device["time"]["total_ns"].as_f64()) {
            assert!(total_ns <= span_ns + 1.0, "{what}: {total_ns} of {span_ns} ns");
        }
    }
    let says = document.to_string();
    let asks = |of: &str| says.contains(of);
    for (name, advice) in [
        ("NOC-TRACING", "NoC events (TT_METAL"),
        ("9090,", "TT_METAL_PROFILE_PERF_COUNTERS)"),
        ("SYNC-", "a capture of kernels that record waits"),
    ] {
        assert!(!text.contains(name) || !asks(advice), "{what}: asks for {name}: {says}");
    }
    let ops = document["ops"].as_array().unwrap();
    assert!(ops.len() == 1 || !asks("a single launch has"), "{what}: {says}");
}

/// Asserts the claims of all outputs of one file.
fn assert_outputs(folder: &Path, input: &str, truth: &Truth, what: &str) {
    let text = std::fs::read(folder.join(input)).unwrap();
    let text = String::from_utf8_lossy(&text);
    let is_ops = text.starts_with("OP CODE");
    let mut commands: Vec<&[&str]> = vec![&["explain"], &["explain", "--window", "all"]];
    if is_ops {
        commands.extend([&["perf"][..], &["perf", "--by", "LOC"]]);
    } else {
        commands.extend([&["report"][..], &["noc", "--utilization"]]);
    }
    for command in commands {
        let args: Vec<&str> = command.iter().copied().chain([input]).collect();
        let said = said(folder, &args, what);
        said.lines().for_each(|line| assert_text(line, &format!("{what}: {args:?}")));
        let is_total = |line: &&str| line.contains("100.0 %") && line.contains(" 0 device ops");
        assert!(!said.lines().any(|line| is_total(&line)), "{what}: {said}");
        let with_json: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
        for document in assert_documents(folder, &with_json, what) {
            if command[0] == "explain" {
                assert_explained(&document, truth, &text, what);
            }
        }
    }
    said(folder, &["diff", input, input], what)
        .lines()
        .for_each(|line| assert_text(line, &format!("{what}: diff")));
    assert_documents(folder, &["diff", input, input, "--json"], what);
    said(folder, &["export", input, "-o", "page.html"], what);
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    let (_, facts) = page.split_once(r#"id="facts">"#).unwrap();
    let facts = facts.split_once("</script>").unwrap().0;
    assert_json(&serde_json::from_str(facts).unwrap(), &format!("{what}: page"));
}

fn check_generated(folder: &Path, seed: u64, kinds: &[&str]) {
    for kind in kinds {
        let (name, (text, truth)) = match *kind {
            "ops" => ("ops_perf_results.csv", ops_csv(seed)),
            _ => ("profile_log_device.csv", device_log(seed)),
        };
        std::fs::write(folder.join(name), text).unwrap();
        assert_outputs(folder, name, &truth, &format!("KPROF_CLAIMS_SEED={seed} ({kind})"));
    }
}

#[test]
fn outputs_of_generated_files_claim_only_what_is_known() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let seeds = seeds(30);
    std::thread::scope(|scope| {
        for (kind, folder) in ["ops", "log"].into_iter().zip(&folders) {
            let seeds = &seeds;
            scope.spawn(move || {
                seeds.iter().for_each(|&seed| check_generated(folder.path(), seed, &[kind]));
            });
        }
    });
}

/// Divides the times since the first record of a device log, so that what was moved exceeds what links
/// and DRAM can move.
fn squeezed(log: &str, by: u64) -> String {
    let mut lines = log.lines();
    let mut out: Vec<String> = lines.by_ref().take(2).map(str::to_owned).collect();
    let mut first = None;
    for line in lines {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        let time: u64 = cells[5].trim().parse().unwrap();
        let first = *first.get_or_insert(time);
        cells[5] = (first + time.saturating_sub(first) / by).to_string();
        out.push(cells.join(","));
    }
    out.join("\n") + "\n"
}

#[test]
fn outputs_of_impossible_traffic_say_that_the_model_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let name = "profile_log_device.csv";
    for log in ["wormhole-noc-4096", "blackhole-noc-4096", "wormhole-counters-elw"] {
        let text = std::fs::read_to_string(log_path(log)).unwrap();
        std::fs::write(folder.path().join(name), squeezed(&text, 40)).unwrap();
        assert_outputs(folder.path(), name, &Truth::default(), &format!("{log}, squeezed"));
        if log.contains("noc") {
            let explained = said(folder.path(), &["explain", name], log);
            let sentence = "The use of NoC links is unknown for 1 of 1 program: more bytes than a \
                            link carries in the time of the kernels";
            assert!(explained.contains(sentence), "{explained}");
            let modelled = said(folder.path(), &["noc", name, "--utilization"], log);
            let reason = "more bytes than a DRAM controller moves in the time of the kernels";
            assert!(modelled.contains(reason), "{modelled}");
        }
    }
}

#[test]
fn outputs_of_the_recordings_in_the_repository_claim_only_what_is_known() {
    let folder = tempfile::tempdir().unwrap();
    let mut count = 0;
    let mut folders = vec![capture_path("")];
    while let Some(of) = folders.pop() {
        for entry in std::fs::read_dir(of).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            let is_ops =
                name.starts_with("ops_perf") || name.starts_with("bh") || name.contains("matmuls");
            if path.is_dir() {
                folders.push(path);
            } else if name == "profile_log_device.csv"
                || name.ends_with(".kprof")
                || name.starts_with("f5_")
                || name.starts_with("f9_")
                || is_ops
            {
                assert_outputs(folder.path(), path.to_str().unwrap(), &Truth::default(), &name);
                count += 1;
            }
        }
    }
    assert!(count >= 19, "{count} recordings");
}
