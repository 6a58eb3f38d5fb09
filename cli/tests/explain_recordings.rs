//! Tests of `kprof explain` on all recordings in the repository and on random ones: rules that hold
//! for every explanation, and equal content in each output.
//!
//! Random pipelines have new seeds in each run of the gate. This command repeats a pipeline that
//! failed:
//!
//! ```text
//! KPROF_EXPLAINED_SEED=7 cargo test -p kprof --test commands random_pipelines
//! ```

use crate::{honest::assert_honest, program::kprof};
use captures::{
    DescribedOp, capture_path, described_model, log_of_json, write_device_log, write_ops_csv,
};
use host_reader::{
    causes::{Explanation, Finding},
    perf::{PerfReport, read_ops_csv},
    recording,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use tests::sizes::is_full;
use wire::RunHostId;

/// Content of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OpsCsv,
    /// Records of chips: a log, a capture, or a folder with them.
    Recording,
}

/// Returns the kind of a file in the folder of captures; `None` if `kprof explain` does not read
/// it.
fn kind_of(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_str()?;
    let head =
        || String::from_utf8_lossy(&std::fs::read(path).unwrap()).lines().next().map(str::to_owned);
    match name.rsplit_once('.')?.1 {
        "kprof" => Some(Kind::Recording),
        "csv" if name == "profile_log_device.csv" => Some(Kind::Recording),
        "csv" if head()?.split(',').any(|title| title == "OP CODE") => Some(Kind::OpsCsv),
        _ => None,
    }
}

/// Returns all recordings in the folder of captures.
fn recordings_there_are() -> Vec<(PathBuf, Kind)> {
    let mut folders = vec![capture_path("")];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(kind) = kind_of(&path) {
                found.push((path, kind));
            }
        }
    }
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

/// Returns the explanations of the runs of an input, computed without the program.
fn explanations(path: &Path, kind: Kind) -> Vec<Explanation> {
    if kind == Kind::OpsCsv {
        let csv = read_ops_csv(std::fs::File::open(path).unwrap(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
        return vec![Explanation::from_perf_report(&report)];
    }
    let loaded = recording::load(path).unwrap();
    loaded.recordings.iter().map(Explanation::from_recording).collect()
}

fn said(folder: &Path, args: &[&str]) -> String {
    let output = kprof(folder, args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Asserts that an explanation follows the rules, and that each output contains it.
fn assert_explained(path: &Path, kind: Kind) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (what, input) = (path.display().to_string(), path.to_str().unwrap());
    let explanations = explanations(path, kind);
    let json = said(folder, &["explain", input, "--json"]);
    let lines: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), explanations.len(), "{what}");
    let text = said(folder, &["explain", input, "--rows", "0"]);
    let mut rest = text.as_str();
    for ((number, explanation), mut line) in (1..).zip(&explanations).zip(lines) {
        let what = format!("{what}, run {number}");
        assert_honest(explanation, &what);
        for key in ["input", "run", "title"] {
            assert!(line.as_object_mut().unwrap().remove(key).is_some(), "{what}: {key}");
        }
        assert_eq!(line, serde_json::to_value(explanation).unwrap(), "{what}");
        rest = assert_written(explanation, rest, &what);
        let run = number.to_string();
        let of_run: &[&str] = if kind == Kind::Recording { &["--run", &run] } else { &[] };
        said(folder, &[&["export", input, "-o", "page.html"], of_run].concat());
        let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
        assert_on_page(explanation, kind, &facts_of(&page), &what);
        std::fs::remove_file(folder.join("page.html")).unwrap();
    }
}

/// Asserts that a text contains an explanation in order; returns the rest of the text.
fn assert_written<'a>(explanation: &Explanation, text: &'a str, what: &str) -> &'a str {
    let mut rest = text;
    let mut expect = |line: &str| {
        // The program truncates long lines.
        let cut: String = line.chars().take(390).collect();
        let (_, after) =
            rest.split_once(&cut).unwrap_or_else(|| panic!("{what}: expected `{cut}` in {text}"));
        rest = after;
    };
    explanation
        .window
        .iter()
        .chain(&explanation.time_sums)
        .chain(&explanation.described_by)
        .for_each(|line| expect(line));
    if let Some(no_cause) = &explanation.no_cause {
        expect(&no_cause.sentence);
        no_cause.measured.iter().for_each(|fact| expect(&format!("   measured: {fact}")));
        expect(&format!("   where: {}", no_cause.location));
        expect(&format!("   record next: {}", no_cause.record_next));
    }
    for (number, finding) in (1..).zip(&explanation.findings) {
        expect(&format!("{number}. {}", finding.sentence));
        finding.why.iter().for_each(|fact| expect(&format!("   why: {fact}")));
        expect(&format!("   where: {}", finding.location));
        expect(&format!("   to gain: {}", explanation.gain_text(finding)));
        expect(&format!("   try: {}", finding.advice));
    }
    explanation.untold.iter().for_each(|of| expect(&format!("   {}: {}", of.question, of.reason)));
    rest
}

fn facts_of(page: &str) -> Value {
    let (_, facts) = page.split_once(r#"id="facts">"#).unwrap();
    serde_json::from_str(facts.split_once("</script>").unwrap().0).unwrap()
}

fn assert_on_page(explanation: &Explanation, kind: Kind, facts: &Value, what: &str) {
    let causes = &facts["causes"];
    assert_eq!(causes["window"], serde_json::json!(explanation.window), "{what}");
    assert_eq!(causes["time_sums"], serde_json::json!(explanation.time_sums), "{what}");
    assert_eq!(causes["described_by"], serde_json::json!(explanation.described_by), "{what}");
    assert_eq!(facts["groups"], serde_json::json!(explanation.groups), "{what}");
    assert_eq!(causes["no_cause"], serde_json::json!(explanation.no_cause), "{what}");
    let shown = causes["findings"].as_array().unwrap();
    assert_eq!(shown.len(), explanation.findings.len(), "{what}");
    for (shown, finding) in shown.iter().zip(&explanation.findings) {
        let what = format!("{what}: {finding:?} {shown}");
        assert_eq!(shown["sentence"], finding.sentence, "{what}");
        assert_eq!(shown["cause"], finding.cause.label(), "{what}");
        assert_eq!(shown["why"], serde_json::json!(finding.why), "{what}");
        assert_eq!(shown["advice"], finding.advice, "{what}");
        assert_eq!(shown["gain_ns"], serde_json::json!(finding.gain_at_most_ns), "{what}");
        let percent = finding.gain_at_most_percent.map(|percent| (percent * 10.0).round() / 10.0);
        assert_eq!(shown["gain_percent"], serde_json::json!(percent), "{what}");
        assert_eq!(shown["gain"], explanation.gain_text(finding), "{what}");
        assert_eq!(shown["core"], serde_json::json!(finding.place.core), "{what}");
        assert_eq!(shown["risc"], serde_json::json!(finding.place.risc), "{what}");
        assert_eq!(shown["zone"], serde_json::json!(finding.place.zone), "{what}");
        assert_leads_to(finding, kind, &facts["ops"], &shown["op"], &what);
    }
}

/// Asserts that a finding on the page links to its op.
fn assert_leads_to(finding: &Finding, kind: Kind, ops: &Value, op: &Value, what: &str) {
    let place = &finding.place;
    let named = match kind {
        Kind::OpsCsv => place.row.is_some(),
        Kind::Recording => place.op.is_some() || place.run_host_id.is_some(),
    };
    assert_eq!(op.is_u64(), named, "{what}");
    let Some(op) = op.as_u64() else { return };
    let cell = |column: &str| ops[column][usize::try_from(op).unwrap()].clone();
    if kind == Kind::OpsCsv {
        assert_eq!(cell("id"), place.row.unwrap(), "{what}");
        return;
    }
    if let Some(id) = place.run_host_id {
        assert_eq!(cell("program"), RunHostId(id).base(), "{what}");
    }
    if let Some(launch) = place.launch {
        assert_eq!(cell("launch"), launch, "{what}");
    }
}

#[test]
fn every_recording_there_is_is_explained_alike_in_each_output() {
    let recordings = recordings_there_are();
    let count = |kind| recordings.iter().filter(|(_, of)| *of == kind).count();
    assert!(count(Kind::OpsCsv) >= 7 && count(Kind::Recording) >= 9, "{recordings:#?}");
    for (path, kind) in recordings {
        assert_explained(&path, kind);
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.csv");
    std::fs::write(&log, log_of_json()).unwrap();
    assert_explained(&log, Kind::Recording);
}

/// Tests a log next to three ops CSVs: a CSV of another run, one with all ops, and one with some
/// ops.
#[test]
fn folders_are_explained_alike_in_each_output() {
    let model = described_model();
    let later = model.map(|op| DescribedOp { start_cycle: op.start_cycle + 1, ..op });
    for csv in [&[][..], &later, &model, &model[..2], &model[3..]] {
        let folder = tempfile::tempdir().unwrap();
        write_device_log(folder.path(), &model);
        if !csv.is_empty() {
            write_ops_csv(folder.path(), csv);
        }
        assert_explained(folder.path(), Kind::Recording);
    }
}

/// Explains a random pipeline of the simulator, alone and next to the ops CSV of its capture.
fn check_pipeline(seed: u64) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut draw = |low: u64, high: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (state >> 33) % (high - low + 1)
    };
    let shape = format!(
        "tiles={},reader={},compute={},writer={},input={},output={},straggler={}",
        draw(20, 60),
        draw(1, 2500),
        draw(1, 2500),
        draw(1, 2500),
        draw(1, 3),
        draw(1, 3),
        draw(0, 20),
    );
    let waits = ["totals", "events", "off"][usize::try_from(draw(0, 2)).unwrap()];
    let ops = draw(1, 4).to_string();
    println!("KPROF_EXPLAINED_SEED={seed} {shape} {waits} {ops}");
    let folder = tempfile::tempdir().unwrap();
    let fixed = ["capture", "--grid", "8x2", "--workload", "pipeline", "-o", "device-1.kprof"];
    let drawn = ["--ops", &ops, "--pipeline", &shape, "--waits", waits];
    said(folder.path(), &[&fixed[..], &drawn].concat());
    assert_explained(&folder.path().join("device-1.kprof"), Kind::Recording);
    said(folder.path(), &["ops", "device-1.kprof", "-o", "out"]);
    let csv = folder.path().join("out/reports/ops_perf_results.csv");
    assert_explained(&csv, Kind::OpsCsv);
    std::fs::copy(&csv, folder.path().join("ops_perf_results.csv")).unwrap();
    std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    assert_explained(folder.path(), Kind::Recording);
}

#[test]
fn random_pipelines_are_explained_alike_in_each_output() {
    if let Some(seed) = std::env::var_os("KPROF_EXPLAINED_SEED") {
        return check_pipeline(seed.to_str().unwrap().parse().unwrap());
    }
    if !is_full() {
        // Among these three are single waits, sums and no waits.
        return (1..=3).for_each(check_pipeline);
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let fresh = u64::from(now.subsec_nanos());
    (0..3).chain(fresh..fresh + 3).for_each(check_pipeline);
}

/// `kprof run` writes to its own folder, so that it never replaces measurements.
#[test]
fn explain_without_a_file_looks_where_run_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let log = |folder: &std::path::Path, program: u32| {
        let logs = folder.join(".logs");
        std::fs::create_dir_all(&logs).unwrap();
        let lines = ["BRISC-FW,ZONE_START", "BRISC-FW,ZONE_END"].into_iter().enumerate();
        let lines = lines.map(|(at, zone)| {
            format!("0,1,2,BRISC,1,{},0,{program},,,{zone},1,k.cc,\n", 1_000 + at * 500)
        });
        let header = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot,core_x,core_y,RISC \
            processor type,timer_id,time[cycles since reset],data,run host ID,trace id,\
            trace id counter,zone name,type,source line,source file,meta data\n";
        let text = header.to_owned() + &lines.collect::<String>();
        std::fs::write(logs.join("profile_log_device.csv"), text).unwrap();
    };
    let program = || {
        let output = crate::program::kprof(folder.path(), &["explain", "--json"]);
        assert!(output.status.success(), "{output:?}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        document["ops"][0]["run_host_id"].as_u64()
    };
    // `explain` comes last, since `ops` writes reports.
    let are_told = |is_simulation: bool| {
        for command in ["report", "noc", "ops", "explain"] {
            let output = crate::program::kprof(folder.path(), &[command]);
            let told = String::from_utf8(output.stderr).unwrap();
            let is_told = told.contains("kprof: reading generated/kprof\n");
            assert_eq!(is_told, is_simulation, "{command}: {told}");
            assert!(!told.contains("found nothing there"), "{command}: {told}");
        }
    };
    log(&folder.path().join("generated/kprof"), 1024);
    assert_eq!(program(), Some(1024));
    are_told(true);
    // The newer recording is explained.
    std::thread::sleep(std::time::Duration::from_millis(30));
    log(&folder.path().join("generated/profiler"), 2048);
    assert_eq!(program(), Some(2048));
    are_told(false);
}

/// A file of two parts, with signposts around the second one.
#[test]
fn the_rows_between_two_signposts_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let text = "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n\
        Softmax,tt_dnn_device,0,900000,100\nbegin,signpost,,,\nGridSample,tt_dnn_device,0,50000,100\n\
        Copy,tt_dnn_device,0,2000,100\nend,signpost,,,\nSoftmax,tt_dnn_device,0,900000,100\n";
    std::fs::write(folder.path().join("ops.csv"), text).unwrap();
    let explained = |file: &str, options: &[&str]| {
        let output =
            crate::program::kprof(folder.path(), &[&["explain", file][..], options].concat());
        let [out, told] = [output.stdout, output.stderr].map(|of| String::from_utf8(of).unwrap());
        (output.status.code(), out, told)
    };
    let (begin, end) = (["--start-signpost", "begin"], ["--end-signpost", "end"]);
    let (code, out, told) = explained("ops.csv", &[begin, end].concat());
    assert_eq!(code, Some(0));
    assert!(out.starts_with("ops.csv, 2 ops\n"), "{out}");
    assert!(
        out.contains("GridSample takes 96.2 % of the kernels' time") && !out.contains("Softmax"),
        "{out}"
    );
    assert!(told.contains("2 of 4 device ops"), "{told}");
    assert!(explained("ops.csv", &begin).1.starts_with("ops.csv, 3 ops\n"));
    let (code, out, told) =
        explained("ops.csv", &["--start-signpost", "end", "--end-signpost", "begin"]);
    assert_eq!((code, &*out), (Some(2), ""), "{told}");
    let expected =
        "ops.csv: expected ops after the signpost end and before the signpost begin, found none";
    assert!(told.contains(expected), "{told}");
    let log = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot, core_x, core_y, RISC processor type, timer_id, \
        time[cycles since reset], stat value, run ID, zone name, zone phase, source line, source file\n";
    std::fs::write(folder.path().join("log.csv"), log).unwrap();
    let (code, _, told) = explained("log.csv", &begin);
    assert!(code == Some(2) && told.contains("are for ops CSVs"), "{told}");
}
