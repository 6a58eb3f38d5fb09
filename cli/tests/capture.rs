//! Tests of captures through the command line: writing, reading and checking them.

use crate::program::kprof;
use host_reader::{
    capture::CaptureWriter,
    lane::LaneId,
    ledger::{LossCause, LossKey, LossLedger, LossTotals},
    mesh::Noc0Coord,
};
use serde_json::Value;
use std::{path::Path, process::Output};
use tests::sizes::full_or;
use wire::Risc;

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[track_caller]
fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error} in {}, errors {}", stdout(output), stderr(output)))
}

#[track_caller]
fn assert_refused(output: &Output, sentence: &str) {
    let errors = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(sentence), "{errors}");
    assert_eq!(errors.trim_end().lines().count(), 1, "one sentence: {errors}");
    assert!(output.stdout.is_empty());
}

/// Writes a small capture of eight cores, `a.kprof`.
#[track_caller]
fn capture(folder: &Path) {
    let output = kprof(folder, &["capture", "--ops", "1", "--grid", "4x2", "-o", "a.kprof"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

/// Returns the offset of the last section of a kind in `a.kprof`.
fn last_section_offset(folder: &Path, kind: u16) -> usize {
    let bytes = std::fs::read(folder.join("a.kprof")).unwrap();
    let is_begin = |offset: &usize| {
        bytes[*offset..].starts_with(b"\xABSECTION")
            && bytes[offset + 8..offset + 10] == kind.to_le_bytes()
    };
    (64..bytes.len() - 32).step_by(8).rfind(is_begin).unwrap()
}

#[test]
fn a_capture_reports_as_the_run_that_made_it() {
    let folder = tempfile::tempdir().unwrap();
    // The scripts of `random` differ from core to core; 14x10 are all cores of a Blackhole.
    let random_grid = full_or("14x10", "4x4");
    for (workload, more) in [
        ("matmul", &["--ops", "3", "--devices", "2", "--grid", "4x4"][..]),
        ("full-buffer", &["--ops", "2", "--grid", "4x4"]),
        ("random", &["--ops", "12", "--seed", "7", "--arch", "blackhole", "--grid", random_grid]),
        ("multi-op-overflow", &["--op-support-count", "50", "--grid", "4x4"]),
        ("two-hour", &["--ops", "4", "--grid", "4x4"]),
    ] {
        let args = ["capture", "-o", "out", "--json", "--workload", workload];
        let run = json(&kprof(folder.path(), &[&args[..], more].concat()));
        let file = format!("out/{workload}.kprof");
        let report = kprof(folder.path(), &["report", &file, "--json"]);
        assert_eq!(stderr(&report), "");
        let report = json(&report);
        let counted = ["kept", "lost", "losses", "anomalies", "anomaly_kinds", "repairs"];
        let figures = ["ops", "zones", "sums", "arch", "devices", "words_read", "pending_runs"];
        for field in counted.into_iter().chain(figures) {
            assert_eq!(run[field], report[field], "{field} of {workload}");
        }
        assert_ne!(run["kept"]["zones"], 0);
    }
}

#[test]
fn a_capture_run_shows_what_a_run_shows_and_says_where_its_files_are() {
    let folder = tempfile::tempdir().unwrap();
    let run = stdout(&kprof(folder.path(), &["run", "--ops", "2", "-o", "out"]));
    let captured = stdout(&kprof(folder.path(), &["capture", "--ops", "2", "-o", "out"]));
    assert_eq!(captured, format!("{run}Capture: out/matmul.kprof\n"));
    assert!(folder.path().join("out/.logs/profile_log_device.csv").exists());
}

#[test]
fn a_capture_with_a_file_name_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_content_and_not_the_name_says_what_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    kprof(folder.path(), &["capture", "--ops", "1", "-o", "out"]);
    std::fs::rename(folder.path().join("out/matmul.kprof"), folder.path().join("a.csv")).unwrap();
    let log = folder.path().join("out/.logs/profile_log_device.csv");
    std::fs::rename(log, folder.path().join("b.kprof")).unwrap();
    let of_capture = json(&kprof(folder.path(), &["report", "a.csv", "--json"]));
    let mut of_log = json(&kprof(folder.path(), &["report", "b.kprof", "--json"]));
    // A log contains no program names.
    assert_eq!(of_log["ops"][0]["name"].take(), Value::Null);
    of_log["ops"][0]["name"] = "matmul".into();
    assert_eq!(of_capture["ops"], of_log["ops"]);
    assert_eq!(of_log["words_read"], 0);
    assert_ne!(of_capture["words_read"], 0);
}

#[test]
fn an_existing_capture_is_refused_unless_it_is_to_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let before = std::fs::read(folder.path().join("a.kprof")).unwrap();
    let args = ["capture", "--ops", "1", "-o", "a.kprof"];
    let refused = kprof(folder.path(), &args);
    assert_refused(&refused, "the capture a.kprof exists; append to it with --append");
    assert_eq!(std::fs::read(folder.path().join("a.kprof")).unwrap(), before);

    let more = ["--append", "--seed", "3", "--json"];
    let appended = json(&kprof(folder.path(), &[&args[..], &more].concat()));
    let after = std::fs::read(folder.path().join("a.kprof")).unwrap();
    assert!(after.starts_with(&before) && after.len() > before.len());
    let report = stdout(&kprof(folder.path(), &["report", "a.kprof", "--json"]));
    let runs: Vec<Value> = report.lines().map(|run| serde_json::from_str(run).unwrap()).collect();
    assert_eq!(runs.len(), 2);
    for field in ["kept", "lost", "anomalies", "ops", "zones", "words_read"] {
        assert_eq!(runs[1][field], appended[field], "{field}");
    }
    assert_ne!(runs[0]["ops"], runs[1]["ops"]);
    let tables = stdout(&kprof(folder.path(), &["report", "a.kprof"]));
    assert!(tables.starts_with("Run 1 of 2: wormhole_b0"), "{tables}");
    assert!(tables.contains("\nRun 2 of 2: wormhole_b0"), "{tables}");
    let info = json(&kprof(folder.path(), &["info", "a.kprof", "--json"]));
    assert_eq!(info["reads"].as_array().unwrap().len(), 2);
}

#[test]
fn appending_to_nothing_begins_a_capture_and_other_chips_may_follow() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["capture", "--ops", "1", "-o", "a.kprof", "--append"];
    assert_eq!(kprof(folder.path(), &args).status.code(), Some(0));
    let other = kprof(folder.path(), &[&args[..], &["--arch", "blackhole"]].concat());
    assert_eq!(other.status.code(), Some(0), "{}", stderr(&other));
    let report = stdout(&kprof(folder.path(), &["report", "a.kprof"]));
    assert!(report.starts_with("Run 1 of 2: wormhole_b0 at "), "{report}");
    assert!(report.contains("\nRun 2 of 2: blackhole at "), "{report}");
}

#[test]
fn info_counts_what_a_run_has_left() {
    let folder = tempfile::tempdir().unwrap();
    let args = "capture --workload multi-op --ops 60 --grid 4x4 -o a.kprof --devices 2 --json";
    let args: Vec<_> = args.split_whitespace().collect();
    let run = json(&kprof(folder.path(), &args));
    let info = json(&kprof(folder.path(), &["info", "a.kprof", "--json"]));
    let size = std::fs::metadata(folder.path().join("a.kprof")).unwrap().len();
    assert_eq!((&info["version"], &info["file_bytes"]), (&"1.5".into(), &size.into()));
    let chips = info["chips"].as_array().unwrap();
    let archs: Vec<_> = chips.iter().map(|chip| &chip["arch"]).collect();
    assert_eq!(archs, ["wormhole_b0", "wormhole_b0"]);
    let reads = info["reads"].as_array().unwrap();
    let words: u64 = reads.iter().map(|read| read["words_read"].as_u64().unwrap()).sum();
    assert_eq!(words, run["words_read"].as_u64().unwrap());
    let ends: Vec<_> = reads.iter().map(|read| &read["is_last"]).collect();
    assert_eq!(ends, [false, true]);
    assert!(info["time_span_ns"].as_u64().unwrap() > 0);
    let kinds = info["sections"].as_array().unwrap();
    let count = |kind: &str| {
        let found = kinds.iter().find(|section| section["kind"] == kind);
        found.map_or(0, |section| section["section_count"].as_u64().unwrap())
    };
    assert_eq!((count("device"), count("read begin"), count("read end")), (2, 2, 2));
    assert_eq!((count("op metadata"), count("failed access")), (1, 0));
    assert!(count("clock samples") > 0 && count("memory words") > 0 && count("zone names") > 0);
    assert_eq!(info["problem_count"], 0);
}

#[test]
fn info_is_a_table_for_people() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let output = kprof(folder.path(), &["info", "a.kprof"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0));
    for wanted in [
        "version 1.5",
        "end mark",
        "options",
        "memory words",
        "clock samples",
        "wormhole_b0",
        "Reads: 1 read",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
    }
}

#[test]
fn a_clean_capture_checks_with_code_0() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let output = kprof(folder.path(), &["check", "a.kprof"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).starts_with("no problems: "), "{}", stdout(&output));
    assert_eq!(stdout(&output).lines().count(), 1);
}

#[test]
fn a_torn_tail_is_named_and_the_rest_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let whole = json(&kprof(folder.path(), &["report", "a.kprof", "--json"]));
    let path = folder.path().join("a.kprof");
    let bytes = std::fs::read(&path).unwrap();
    let offset = last_section_offset(folder.path(), 7);
    // Keep the section's header of 32 bytes, and 5 bytes of its payload.
    std::fs::write(&path, &bytes[..offset + 37]).unwrap();

    let check = kprof(folder.path(), &["check", "a.kprof"]);
    assert_eq!(check.status.code(), Some(1));
    let named = format!("byte {offset}, 37 bytes, section ");
    let torn = stdout(&check);
    assert!(torn.starts_with(&named), "{torn}");
    assert!(torn.contains("(clock samples): torn section: expected "), "{torn}");
    assert!(torn.contains(" bytes of payload, found 5\n"), "{torn}");
    assert!(torn.contains(": never finished: expected an end mark, found none\n2 problems: "));

    let report = kprof(folder.path(), &["report", "a.kprof", "--json"]);
    assert_eq!(json(&report)["kept"], whole["kept"]);
    assert_eq!(
        stderr(&report),
        "kprof: a.kprof: 2 problems, the rest is used; `kprof check a.kprof` lists them\n"
    );
}

#[test]
fn every_output_of_a_capture_that_was_never_finished_says_so() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let path = folder.path().join("a.kprof");
    let bytes = std::fs::read(&path).unwrap();
    let end_mark = last_section_offset(folder.path(), 13);
    std::fs::write(&path, &bytes[..end_mark]).unwrap();
    let run = |args: &[&str]| kprof(folder.path(), args);
    let said = "the capture was never finished";

    let report = run(&["report", "a.kprof", "--fail-on-loss"]);
    assert_eq!(report.status.code(), Some(1));
    assert!(stdout(&report).contains(&format!("Lost: unknown; {said}")), "{}", stdout(&report));
    let report = json(&run(&["report", "a.kprof", "--json"]));
    assert_eq!(report["lost"]["uncounted"], serde_json::json!([said]));
    let check = run(&["check", "a.kprof"]);
    assert_eq!(check.status.code(), Some(1));
    assert!(stdout(&check).contains("never finished"), "{}", stdout(&check));
    assert!(stdout(&run(&["info", "a.kprof"])).contains("Never finished"));
    assert_eq!(json(&run(&["info", "a.kprof", "--json"]))["is_finished"], false);
    let ops = run(&["ops", "a.kprof", "-o", "ops", "--fail-on-problems"]);
    assert_eq!(ops.status.code(), Some(1));
    assert!(stdout(&ops).contains(&format!("Lost: unknown; {said}")), "{}", stdout(&ops));
    assert_eq!(
        json(&run(&["ops", "a.kprof", "-o", "ops", "--json"]))["lost"]["uncounted"][0],
        said
    );

    let key = "losses_unknown_the_capture_was_never_finished";
    for file in ["a.html", "a.perfetto-trace", "a.json", "a.folded"] {
        let exported = run(&["export", "a.kprof", "-o", file, "--json"]);
        assert_eq!(json(&exported)["doubts"][key], 1, "{file}: {}", stderr(&exported));
        let written = std::fs::read(folder.path().join(file)).unwrap();
        let words = key.replace('_', " ");
        let has = |text: &str| written.windows(text.len()).any(|found| found == text.as_bytes());
        // A stack has no room for a sentence.
        let is_stack = file == "a.folded" && has("[losses unknown] 0\n");
        assert!(has(key) || has(&words) || is_stack, "{file}");
    }
    if cfg!(feature = "parquet") {
        let dataset = run(&["export", "a.kprof", "--format", "parquet", "-o", "dataset", "--json"]);
        assert_eq!(json(&dataset)["doubts"][key], 1, "{}", stderr(&dataset));
    }
}

#[test]
fn a_flipped_byte_is_named_and_the_rest_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let path = folder.path().join("a.kprof");
    let mut bytes = std::fs::read(&path).unwrap();
    let offset = last_section_offset(folder.path(), 8);
    bytes[offset + 40] ^= 0x10;
    std::fs::write(&path, bytes).unwrap();

    let check = kprof(folder.path(), &["check", "a.kprof", "--json"]);
    assert_eq!(check.status.code(), Some(1));
    let check = json(&check);
    assert_eq!((&check["is_clean"], &check["skipped"]), (&false.into(), &Value::Array(vec![])));
    let [problem] = &check["problems"].as_array().unwrap()[..] else { panic!("{check}") };
    assert_eq!(problem["offset"], offset);
    assert_eq!(problem["section_kind"], "op metadata");
    assert_eq!(problem["problem"], "damaged payload");
    assert!(problem["expected"].as_str().unwrap().starts_with("checksum 0x"));
    assert_ne!(problem["expected"], problem["found"]);
    let report = kprof(folder.path(), &["report", "a.kprof"]);
    assert_eq!(report.status.code(), Some(0));
    assert!(stdout(&report).contains("BRISC-KERNEL"));
}

#[test]
fn every_byte_of_a_damaged_file_header_leaves_a_capture() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let path = folder.path().join("a.kprof");
    let bytes = std::fs::read(&path).unwrap();
    for index in [0, 7, 20] {
        let mut damaged = bytes.clone();
        damaged[index] ^= 0x10;
        std::fs::write(&path, damaged).unwrap();
        let check = kprof(folder.path(), &["check", "a.kprof"]);
        assert_eq!(check.status.code(), Some(1));
        assert!(stdout(&check).starts_with("byte 0, 64 bytes: damaged file header: "));
        let report = kprof(folder.path(), &["report", "a.kprof", "--json"]);
        assert_ne!(json(&report)["kept"]["zones"], 0);
    }
}

#[test]
fn what_is_no_capture_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("text.kprof"),
        "a text, and longer than a header. ".repeat(9),
    )
    .unwrap();
    std::fs::write(folder.path().join("empty.kprof"), "").unwrap();
    std::fs::create_dir(folder.path().join("folder.kprof")).unwrap();
    for command in ["info", "check", "report"] {
        for file in ["text.kprof", "empty.kprof", "folder.kprof", "absent.kprof"] {
            assert_refused(&kprof(folder.path(), &[command, file]), file);
        }
    }
    let text = kprof(folder.path(), &["check", "text.kprof"]);
    assert_refused(&text, "expected a capture, found other text, text.kprof; name a capture");
}

#[test]
fn a_run_that_is_refused_leaves_no_capture() {
    let folder = tempfile::tempdir().unwrap();
    for args in [["--workload", "matmull"], ["--cores", "65"], ["--op-support-count", "4000000000"]]
    {
        let args = [&["capture", "-o", "new/a.kprof"][..], &args[..]].concat();
        assert_eq!(kprof(folder.path(), &args).status.code(), Some(2));
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Returns the numbers in a text, summed.
fn numbers_in(text: &str) -> u64 {
    let words = text.split_whitespace().map(|word| word.replace(',', ""));
    words.filter_map(|word| word.parse::<u64>().ok()).sum()
}

/// Lost, omitted and unknown are three classes, and every output puts the same records into each.
#[test]
fn lost_and_omitted_records_have_the_same_numbers_in_every_output() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let path = folder.path().join("a.kprof");
    let lane = LaneId { chip_id: 0, core: Noc0Coord { x: 1, y: 1 }, risc: Risc::Brisc };
    let idle = (LossCause::ValidateOff, LossTotals { zones: 2469, ..LossTotals::default() });
    let skipped = (LossCause::Skipped, LossTotals { data: 7, ..LossTotals::default() });
    let full = (LossCause::L1Full, LossTotals { zones: 20, events: 5, ..LossTotals::default() });
    for (losses, [lost, omitted]) in
        [(vec![], [0, 0]), (vec![idle], [0, 2469]), (vec![idle, skipped, full], [25, 2476])]
    {
        let mut ledger = LossLedger::default();
        for (cause, totals) in losses {
            ledger.record(LossKey { lane, cause, program: None }, totals);
        }
        let copy = folder.path().join("b.kprof");
        std::fs::copy(&path, &copy).unwrap();
        let mut writer = CaptureWriter::append_to(&copy).unwrap();
        writer.append(&ledger).unwrap();
        writer.finish().unwrap();
        let run = |args: &[&str]| kprof(folder.path(), args);
        let report = json(&run(&["report", "b.kprof", "--json"]));
        let told = &report["lost"];
        assert_eq!([&told["records"], &told["omitted_records"]], [lost, omitted], "JSON");
        assert_eq!(report["summary"]["lost_record_count"].as_u64().unwrap_or(lost), lost);
        let text = stdout(&run(&["report", "b.kprof"]));
        let line = text.lines().find(|line| line.starts_with("Lost: ")).unwrap();
        let whole_line = line;
        let (line, rest) = line.split_once("; omitted").unwrap_or((line, ""));
        assert_eq!([numbers_in(line), numbers_in(rest)], [lost, omitted], "terminal: {text}");
        assert_eq!(line == "Lost: nothing", lost == 0, "terminal: {line}");
        let exported = json(&run(&["export", "b.kprof", "-o", "b.html", "--json"]));
        let doubts = exported["doubts"].as_object().unwrap().iter();
        let of = |prefix: &str| -> u64 {
            let counts = doubts.clone().filter(|(key, _)| key.starts_with(prefix));
            counts.map(|(_, count)| count.as_u64().unwrap()).sum()
        };
        assert_eq!([of("lost_"), of("left_out_")], [lost, omitted], "warnings of the export");
        let page = std::fs::read_to_string(folder.path().join("b.html")).unwrap();
        let facts = page.split_once("<script type=\"application/json\" id=\"facts\">").unwrap().1;
        let facts: Value = serde_json::from_str(facts.split_once("</script>").unwrap().0).unwrap();
        assert_eq!(facts["shortfall"]["lost"], whole_line, "page");
        let cores = facts["cores"][0]["lost_records"].as_array().unwrap().iter();
        assert_eq!(cores.map(|count| count.as_u64().unwrap()).sum::<u64>(), lost, "page, by core");
        let is_unknown = !told["uncounted"].as_array().unwrap().is_empty();
        assert_eq!(facts["shortfall"]["is_loss_uncounted"], is_unknown, "page, unknown");
    }
}
