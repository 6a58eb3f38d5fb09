//! Claims of every output, over generated files and the recordings in the repository: `explain`, `perf`,
//! `report`, `noc`, `diff`, JSON, and the page's data say no impossible share, count what they speak of,
//! and ask for no records that are there.
//!
//! `KPROF_CLAIMS_COUNT` sets the number of generated files, and `KPROF_CLAIMS_SEED` runs a single one.

use crate::{
    generated::{
        MOST_PERCENT, Truth, assert_counted, assert_text, collect, device_log, ops_csv, seeds,
    },
    program::kprof,
};
use captures::{capture_path, log_path};
use serde_json::Value;
use std::{collections::BTreeMap, path::Path};

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
pub(crate) fn assert_json(value: &Value, what: &str) {
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
        // The waits of a device log have no cycles, so a capture says more.
        let is_asked = asks(advice) && !asks("waits have no cycles: a device log has no room");
        assert!(!text.contains(name) || !is_asked, "{what}: asks for {name}: {says}");
    }
    let ops = document["ops"].as_array().unwrap();
    assert!(ops.len() == 1 || !asks("a single launch has"), "{what}: {says}");
}

/// Asserts the claims of all outputs of one file.
fn assert_outputs(folder: &Path, input: &str, truth: &Truth, what: &str) {
    let file = match folder.join(input).is_dir() {
        true => folder.join(input).join(".logs/profile_log_device.csv"),
        false => folder.join(input),
    };
    let text = std::fs::read(file).unwrap();
    // A capture has the names of waits also where none is recorded.
    let text = if input.ends_with(".kprof") { "".into() } else { String::from_utf8_lossy(&text) };
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

/// Asserts the claims of a comparison of two files. A change may exceed 100 %.
fn assert_compared(folder: &Path, [a, b]: [&str; 2], what: &str) {
    let what = format!("{what}: diff {a} {b}");
    let gate = ["--fail-above", "5", "--fail-below", "5"];
    for options in [&[][..], &gate] {
        let args: Vec<&str> = ["diff", a, b].iter().chain(options).copied().collect();
        said(folder, &args, &what).lines().for_each(|line| assert_counted(line, &what));
    }
    let args: Vec<&str> = ["diff", a, b, "--json"].iter().chain(&gate).copied().collect();
    let output = kprof(folder, &args);
    if output.status.code() == Some(2) {
        return;
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let (mut texts, mut percents) = (Vec::new(), Vec::new());
    collect(&document, &mut texts, &mut percents);
    texts.into_iter().for_each(|text| assert_counted(text, &what));
    let mut most_compared = 1.0_f64;
    for side in ["in_a", "in_b"].map(|side| &document[side]) {
        let number = |key: &str| side[key].as_f64().unwrap();
        let parts = number("compared_ns") + number("alone_ns");
        assert!((parts - number("total_ns")).abs() <= 1.0, "{what}: {side}");
        assert!(number("timed_op_count") <= number("op_count"), "{what}: {side}");
        assert!((0.0..=1.0 + 1e-9).contains(&number("compared_share")), "{what}: {side}");
        most_compared = most_compared.min(number("compared_share"));
    }
    // Of recordings in which nothing or little was compared, a gate says so.
    let iterations = document["elapsed"].as_array().unwrap().len();
    let is_little =
        most_compared < 0.5 && iterations == 0 && document["zone_times"] == Value::Array(vec![]);
    assert!(!is_little || output.status.code() == Some(1), "{what}: {document}");
}

fn check_generated(folder: &Path, seed: u64, kinds: &[&str]) {
    for kind in kinds {
        let (name, (text, truth)) = match *kind {
            "ops" => ("ops_perf_results.csv", ops_csv(seed)),
            _ => ("profile_log_device.csv", device_log(seed)),
        };
        let (before, other) = match *kind {
            "ops" => ("before.csv", ops_csv(seed ^ 1).0),
            _ => ("before_log.csv", device_log(seed ^ 1).0),
        };
        std::fs::write(folder.join(name), text).unwrap();
        std::fs::write(folder.join(before), other).unwrap();
        let what = format!("KPROF_CLAIMS_SEED={seed} ({kind})");
        assert_outputs(folder, name, &truth, &what);
        assert_compared(folder, [before, name], &what);
    }
}

/// Returns the nanoseconds from the first to the last record of each chip of a device log.
fn spans_of_log(text: &str) -> BTreeMap<u32, f64> {
    let mut lines = text.lines();
    let head = lines.next().unwrap();
    let (_, mhz) = head.split_once("CHIP_FREQ[MHz]: ").unwrap();
    let mhz: f64 = mhz.split(',').next().unwrap().trim().parse().unwrap();
    let mut spans = BTreeMap::<u32, (u64, u64)>::new();
    for line in lines.skip(1) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let (Ok(chip), Ok(time)) = (cells[0].parse(), cells[5].parse::<u64>()) else { continue };
        let span = spans.entry(chip).or_insert((time, time));
        *span = (span.0.min(time), span.1.max(time));
    }
    let length = |(first, last): (u64, u64)| (last - first) as f64 * 1e3 / mhz;
    spans.into_iter().map(|(chip, span)| (chip, length(span))).collect()
}

/// A capture and a log of one run: chips took no longer than from the log's first record to its last.
#[test]
fn outputs_of_simulated_runs_take_no_longer_than_their_records() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = seeds(4);
    let workloads = ["random", "pipeline", "matmul", "broken-kernels", "full-buffer"];
    for (number, seed) in seeds.iter().enumerate() {
        let at = (number as u64).wrapping_add(*seed) % workloads.len() as u64;
        let workload = workloads[usize::try_from(at).unwrap()];
        let arch = ["wormhole_b0", "blackhole"][number % 2];
        let (out, capture) = (format!("run-{number}"), format!("run-{number}.kprof"));
        let seed = seed.to_string();
        let options = ["--workload", workload, "--arch", arch, "--seed", &seed, "--ops", "12"];
        for (command, output) in [("run", &out), ("capture", &capture)] {
            let args: Vec<&str> =
                [command, "--grid", "2x2", "-o", output].into_iter().chain(options).collect();
            let output = kprof(folder.path(), &args);
            assert!(matches!(output.status.code(), Some(0..=2)), "{output:?}");
        }
        let log = folder.path().join(&out).join(".logs/profile_log_device.csv");
        let truth = Truth {
            spans_ns: spans_of_log(&std::fs::read_to_string(log).unwrap()),
            ..Truth::default()
        };
        assert!(!truth.spans_ns.is_empty());
        for input in [out, capture] {
            let what = format!("{workload} on {arch}, --seed {seed}: {input}");
            assert_outputs(folder.path(), &input, &truth, &what);
        }
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
                let mut truth = Truth::default();
                if name == "profile_log_device.csv" {
                    truth.spans_ns = spans_of_log(&std::fs::read_to_string(&path).unwrap());
                }
                assert_outputs(folder.path(), path.to_str().unwrap(), &truth, &name);
                count += 1;
            }
        }
    }
    assert!(count >= 19, "{count} recordings");
}
