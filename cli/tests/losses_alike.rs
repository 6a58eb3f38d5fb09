//! Losses of each recording in the repository, and of kernels that were stopped: the terminal, JSON
//! and the page say the same classes and numbers.

use crate::program::kprof;
use captures::capture_path;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Returns the captures and device logs in the repository.
fn recordings() -> Vec<PathBuf> {
    let (mut folders, mut found) = (vec![capture_path("")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".kprof")
                || name == "profile_log_device.csv"
                || name.starts_with("f9_")
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

fn said(folder: &Path, args: &[&str]) -> String {
    let output = kprof(folder, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the sum of the numbers in `12,345 zones, 6 data`.
fn sum_of(text: &str) -> u64 {
    let numbers = text.split(", ").map(|part| part.split(' ').next().unwrap().replace(',', ""));
    numbers.map(|number| number.parse::<u64>().unwrap()).sum()
}

/// Asserts that each output of a recording has the same losses.
pub(crate) fn assert_alike(folder: &Path, input: &str) {
    let text = said(folder, &["report", input, "--rows", "0"]);
    let documents = said(folder, &["report", input, "--json"]);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Lost: ")).collect();
    let documents: Vec<Value> =
        documents.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), documents.len(), "{input}");
    for ((number, line), document) in (1..).zip(lines).zip(&documents) {
        let what = format!("{input}, run {number}: {line}");
        let run = number.to_string();
        said(folder, &["export", input, "-o", "page.html", "--run", &run]);
        let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
        let (_, facts) = page.split_once(r#"id="facts">"#).unwrap();
        let facts: Value = serde_json::from_str(facts.split_once("</script>").unwrap().0).unwrap();
        let lost = &document["lost"];
        // The page has the sentences of the terminal; that it shows them, browsers tell.
        let shortfall = &facts["shortfall"];
        assert_eq!(shortfall["lost"], line, "{what}");
        let reasons = lost["uncounted"].as_array().unwrap();
        assert_eq!(shortfall["is_loss_uncounted"], !reasons.is_empty(), "{what}");
        let sentences = ["unfinished", "doubts"].into_iter().flat_map(|key| {
            let sentences = shortfall[key].as_array().unwrap().iter();
            sentences.map(|sentence| sentence.as_str().unwrap())
        });
        let odd = ["anomalies", "repairs"].into_iter().filter_map(|key| shortfall[key].as_str());
        for sentence in sentences.chain(odd) {
            assert!(text.lines().any(|line| line.trim() == sentence), "{what}: {sentence}");
        }
        // The terminal: classes in one line.
        let is_nothing = lost["records"] == 0 && lost["is_lower_bound"] == false;
        assert_eq!(line.starts_with("Lost: nothing"), is_nothing, "{what}");
        let is_unknown = line.starts_with("Lost: unknown");
        assert!(!is_unknown || lost["records"].is_null() && !reasons.is_empty(), "{what}");
        assert!(reasons.is_empty() || lost["is_lower_bound"] == true, "{what}");
        for reason in reasons {
            assert!(line.contains(reason.as_str().unwrap()), "{what}");
        }
        let omitted: u64 = line
            .split("; omitted, ")
            .skip(1)
            .map(|part| sum_of(part.split(": ").nth(1).unwrap()))
            .sum();
        assert_eq!(omitted, lost["omitted_records"].as_u64().unwrap(), "{what}");
        let unfinished = document.get("unfinished").is_some_and(|of| of["run_count"] != 0);
        assert_eq!(text.contains("Unfinished: "), unfinished, "{what}");
        assert_eq!(!shortfall["unfinished"].as_array().unwrap().is_empty(), unfinished, "{what}");
    }
}

#[test]
fn every_recording_has_the_same_losses_in_terminal_json_and_page() {
    let folder = tempfile::tempdir().unwrap();
    let recordings = recordings();
    assert!(recordings.len() >= 8, "{recordings:?}");
    for path in recordings {
        assert_alike(folder.path(), path.to_str().unwrap());
    }
    for (name, options) in [
        ("full.kprof", "--workload full-buffer --ops 3"),
        ("broken.kprof", "--workload broken-kernels"),
        ("random.kprof", "--workload random --ops 20"),
        ("drop.kprof", "--workload long-kernel --stream=drop --grid 2x1"),
    ] {
        let args: Vec<&str> =
            ["capture", "-o", name].into_iter().chain(options.split(' ')).collect();
        let output = kprof(folder.path(), &args);
        assert!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
        assert_alike(folder.path(), name);
    }
}

/// The log of a simulation has the losses that the run itself shows, until the log changes.
#[test]
fn the_log_of_a_simulation_keeps_the_losses_of_its_run() {
    let folder = tempfile::tempdir().unwrap();
    for (workload, is_lossy) in [("full-buffer", true), ("cycle-count", false)] {
        let out = format!("out-{workload}");
        let args = ["run", "--workload", workload, "--grid", "1x1", "-o", &out, "--json"];
        let run: Value = serde_json::from_str(&said(folder.path(), &args)).unwrap();
        let reported = |input: &str| -> Value {
            serde_json::from_str(&said(folder.path(), &["report", input, "--json"])).unwrap()
        };
        assert_eq!(run["lost"]["records"].as_u64().unwrap() > 0, is_lossy, "{}", run["lost"]);
        let log = format!("{out}/.logs/profile_log_device.csv");
        for input in [&out, &log] {
            let report = reported(input);
            assert_eq!((&report["lost"], &report["losses"]), (&run["lost"], &run["losses"]));
            assert_alike(folder.path(), input);
        }
        // The report on ops, of the folder.
        let ops: Value =
            serde_json::from_str(&said(folder.path(), &["ops", &out, "--json"])).unwrap();
        assert_eq!(ops["lost"], run["lost"]);
        // What Python, C and other libraries load.
        for input in [&out, &log] {
            let loaded = host_reader::recording::load(&folder.path().join(input)).unwrap();
            let losses = &loaded.recordings[0].readout.losses;
            assert_eq!(losses.uncounted().count(), 0);
            let lost = losses.unintended_total().record_count();
            assert_eq!(run["lost"]["records"].as_u64(), Some(lost), "{input}");
        }
        let path = folder.path().join(&log);
        let text = std::fs::read_to_string(&path).unwrap();
        let (without_last, _) = text.trim_end().rsplit_once('\n').unwrap();
        std::fs::write(&path, without_last).unwrap();
        let ops = kprof(folder.path(), &["ops", &out, "--json"]);
        let ops: Value = serde_json::from_slice(&ops.stdout).unwrap();
        assert_eq!(ops["lost"]["uncounted"][0], "TT-Metal's logs do not record losses");
        let changed = kprof(folder.path(), &["report", &log]);
        let [shown, note] =
            [changed.stdout, changed.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(shown.contains("Lost: unknown; TT-Metal's logs do not record losses"), "{shown}");
        assert!(note.contains("has changed since a simulation wrote it"), "{note}");
    }
}

/// A log of TT-Metal, in which a RISC has as many zones in a run as a buffer holds: each output says so, and a gate on
/// losses fails. A log with one zone less, or one more, which shows that full buffers are sent on, says nothing.
#[test]
fn a_log_whose_zones_fill_a_buffer_says_so_in_each_output() {
    let folder = tempfile::tempdir().unwrap();
    let name = "profile_log_device.csv";
    for zone_count in [124_u64, 125, 126] {
        let mut log =
            "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC processor \
            type,timer_id,time[cycles since reset],data,run host ID,zone name,type\n"
                .to_owned();
        let mut add = |time: u64, id: u64, zone: &str, edge: &str| {
            log += &format!("0,1,1,NCRISC,{id},{time},0,1024,{zone},{edge}\n");
        };
        add(1_000, 1, "NCRISC-KERNEL", "ZONE_START");
        for zone in 0..zone_count {
            add(1_010 + zone * 10, 2, "READ", "ZONE_START");
            add(1_018 + zone * 10, 2, "READ", "ZONE_END");
        }
        add(5_000, 1, "NCRISC-KERNEL", "ZONE_END");
        std::fs::write(folder.path().join(name), log).unwrap();
        let sentence = "NCRISC has 125 zones in 1 of 1 run, as many as a buffer of TT-Metal's profiler holds: \
                        if there were zones after them, they are not in the log";
        let is_full = zone_count == 125;
        assert_eq!(said(folder.path(), &["report", name]).contains(sentence), is_full);
        assert_eq!(said(folder.path(), &["explain", name]).contains(sentence), is_full);
        let json = said(folder.path(), &["report", name, "--json"]);
        let json: Value = serde_json::from_str(&json).unwrap();
        let expected = serde_json::json!([
            { "risc": "NCRISC", "zone_count": 125, "full_run_count": 1, "run_count": 1 }
        ]);
        let found = &json["lost"]["full_buffers"];
        assert_eq!(found, if is_full { &expected } else { &Value::Null });
        assert_alike(folder.path(), name);
        said(folder.path(), &["export", name, "-o", "page.html"]);
        let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert_eq!(page.contains(sentence), is_full, "{zone_count}");
        for command in ["report", "explain"] {
            let gate = kprof(folder.path(), &[command, name, "--fail-on-loss"]);
            assert_eq!(gate.status.code(), Some(is_full.into()), "{command}: {gate:?}");
        }
    }
}
