//! Tests of the program as a user runs it: its output, its files and its exit code.

use crate::program::kprof;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Output,
};
use tests::sizes::{full_or, is_full};

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn captures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures/mesham-tt-sim")
}

#[track_caller]
fn assert_refused(output: &Output, sentence: &str) {
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains(sentence), "{errors}");
    assert_eq!(errors.trim_end().lines().count(), 1, "one sentence: {errors}");
    assert!(output.stdout.is_empty());
}

#[test]
fn the_demo_shows_ops_and_zones_and_leaves_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let output = kprof(folder.path(), &[]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    for wanted in ["matmul on wormhole_b0", "BRISC-KERNEL", "LoadData", "Lost: nothing"] {
        assert!(text.contains(wanted), "{wanted} is missing in\n{text}");
    }
    let log = folder.path().join("generated/kprof/.logs/profile_log_device.csv");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.starts_with("ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n"));
}

#[test]
fn the_log_of_a_run_reports_as_the_run_did() {
    let folder = tempfile::tempdir().unwrap();
    let run = kprof(folder.path(), &["run", "-o", "out", "--ops", "2", "--json"]);
    let report = kprof(folder.path(), &["report", "out/.logs/profile_log_device.csv", "--json"]);
    let mut run: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report.stdout).unwrap();
    for op in run["ops"].as_array_mut().unwrap() {
        // A device log contains no op names.
        assert_eq!(op["name"].take(), "matmul");
    }
    for field in ["arch", "devices", "worker_cores", "launches", "kept", "ops", "zones"] {
        assert_eq!(run[field], report[field], "{field}");
    }
}

/// Lanes hold 43 of the 50 launches. Each launch takes a tenth of a millisecond.
#[test]
fn a_run_that_is_read_meanwhile_loses_nothing_in_lanes_that_are_too_small() {
    let folder = tempfile::tempdir().unwrap();
    let (grid, riscs) = full_or(("8x2", 80), ("2x2", 20));
    let run = |ops: &str, extra: &[&str]| {
        let workload =
            ["--grid", grid, "--workload", "cycle-count", "--ops", ops, "--op-support-count", "43"];
        let args = [&["run", "-o", "out"], &workload[..], extra].concat();
        kprof(folder.path(), &args)
    };
    let often: serde_json::Value =
        serde_json::from_slice(&run("50", &["--read-every", "200us", "--json"]).stdout).unwrap();
    // A firmware zone, a kernel zone and a zone inside the kernel, on each RISC.
    assert_eq!(often["kept"]["zones"], 50 * 3 * riscs);
    assert_eq!(often["losses"].as_array().map(Vec::len), Some(0));
    assert_eq!(often["reads"]["pause_ns"], 200_000);
    let count = often["reads"]["count"].as_u64().unwrap();
    // The run takes five milliseconds, and a read of 64 cores takes a part of that time.
    assert!((5..50).contains(&count), "{count} reads");
    let once = stdout(&run("50", &["--fail-on-loss"]));
    assert!(!once.contains("Lost: nothing") && !once.contains("Read "), "{once}");
    // A few launches are enough to see the line about the reads.
    let few = stdout(&run("4", &["--read-every", "100us", "--rows", "1"]));
    assert!(few.contains("Lost: nothing"), "{few}");
    assert!(few.contains(" times, 100,000 ns of simulated time before each read"), "{few}");
}

#[test]
fn kernels_run_on_the_grid_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &str| {
        let args: Vec<_> = args.split_whitespace().collect();
        kprof(folder.path(), &[&["run", "--ops", "2", "-o", "out"], &args[..]].concat())
    };
    let tables: serde_json::Value =
        serde_json::from_slice(&run("--grid 3x2 --json").stdout).unwrap();
    assert_eq!((&tables["worker_cores"], &tables["ops"][1]["core_count"]), (&64.into(), &6.into()));
    // The six cores are those of the first two rows and the first three columns with worker cores.
    // All workers have records in the log of a run without a grid.
    let cores = || {
        let log =
            fs::read_to_string(folder.path().join("out/.logs/profile_log_device.csv")).unwrap();
        let cells = |row: &str| -> (u16, u16) {
            let cells: Vec<_> = row.split(',').map(str::trim).collect();
            (cells[1].parse().unwrap(), cells[2].parse().unwrap())
        };
        log.lines().skip(2).map(cells).collect::<BTreeSet<_>>()
    };
    let on_grid = cores();
    run("");
    let all = cores();
    let columns: BTreeSet<_> = all.iter().map(|core| core.0).collect();
    let rows: BTreeSet<_> = all.iter().map(|core| core.1).collect();
    let corner = (*columns.iter().nth(2).unwrap(), *rows.iter().nth(1).unwrap());
    let expected = all.iter().filter(|core| core.0 <= corner.0 && core.1 <= corner.1);
    assert_eq!((on_grid, all.len()), (expected.copied().collect(), 64));
    assert_refused(&run("--grid 9x1"), "a grid of 8x8 cores that run kernels, and 9x1 were asked");
}

#[test]
fn a_time_between_reads_needs_a_unit() {
    for wrong in ["200", "0us", "1.5ms", "-3us", "us", "99999999999999999999s", "20000000000s"] {
        let output = kprof(Path::new("."), &["run", &format!("--read-every={wrong}")]);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong}: {errors}");
        assert!(
            errors.contains("expected a whole number with the unit ns, us, ms or s"),
            "{errors}"
        );
    }
}

#[test]
fn json_has_the_fields_that_scripts_rely_on() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", "--workload", "full-buffer", "--ops", "1", "--json"];
    let output = kprof(folder.path(), &args);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // Each of 5 RISCs on 64 cores keeps 125 of 150 user zones, the firmware zone and the kernel
    // zone.
    assert_eq!(json["arch"], "wormhole_b0");
    assert_eq!((&json["devices"], &json["worker_cores"]), (&1.into(), &64.into()));
    assert_eq!(json["launches"], 1);
    assert_eq!(json["kept"]["zones"], 64 * 5 * 127);
    for kind in ["data", "events", "sums"] {
        assert_eq!(json["kept"][kind], 0, "{kind}");
    }
    assert_eq!(json["lost"]["l1_full"], 64 * 5 * 25);
    assert_eq!((&json["lost"]["dram_full"], &json["lost"]["other"]), (&0.into(), &0.into()));
    assert_eq!((&json["anomalies"], &json["repairs"]), (&0.into(), &0.into()));
    assert_eq!(json["ops"].as_array().unwrap().len(), 1);
    assert!(!json["zones"].as_array().unwrap().is_empty());
}

#[test]
fn losses_end_with_code_1_only_if_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "--workload", "full-buffer", "--ops", "1"];
    let quiet = kprof(folder.path(), &run);
    assert_eq!(quiet.status.code(), Some(0));
    assert!(stdout(&quiet).contains("Lost: 8,000 zones"), "{}", stdout(&quiet));
    let strict = kprof(folder.path(), &[&run[..], &["--fail-on-loss"]].concat());
    assert_eq!(strict.status.code(), Some(1));
    let clean = kprof(folder.path(), &["run", "--ops", "1", "--fail-on-loss"]);
    assert_eq!(clean.status.code(), Some(0));
}

/// Dispatch cores are a row of worker cores on a Wormhole, a column of worker cores on a Blackhole,
/// or Ethernet cores.
#[test]
fn cores_that_dispatch_are_no_worker_cores() {
    for (arch, kind, cores) in [
        ("wormhole_b0", "worker", "56 worker cores and 8 for dispatch"),
        ("blackhole", "worker", "130 worker cores and 10 for dispatch"),
        ("wormhole_b0", "eth", "64 worker cores"),
    ] {
        let kind = format!("--profile-dispatch-cores={kind}");
        let args = ["run", "--ops", "1", "--arch", arch, &kind];
        let folder = tempfile::tempdir().unwrap();
        let shown = stdout(&kprof(folder.path(), &args));
        let title = shown.lines().next().unwrap();
        let expected = format!("matmul on {arch}: 1 chip of {cores}, 1 launch, ");
        assert!(title.starts_with(&expected), "{title}");
        let log =
            fs::read_to_string(folder.path().join("generated/kprof/.logs/profile_log_device.csv"));
        let count = cores.split(' ').next().unwrap();
        let first = format!("Max Compute Cores: {count}");
        assert!(log.unwrap().lines().next().unwrap().ends_with(&first), "{title}");
    }
}

#[test]
fn a_mesh_of_blackholes_runs_too() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", "--arch", "blackhole", "--cores", "130", "--devices", "2", "--ops", "1"];
    let output = kprof(folder.path(), &[&args[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["devices"], &json["worker_cores"]), (&2.into(), &130.into()));
    let cores: Vec<_> =
        json["ops"].as_array().unwrap().iter().map(|op| &op["core_count"]).collect();
    assert_eq!(cores, [130, 130]);
}

#[test]
fn unknown_names_and_impossible_numbers_are_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for (args, sentence) in [
        (["--workload", "matmull"], "there is no workload `matmull`; choose from matmul, "),
        (["--arch", "grayskull"], "there is no architecture `grayskull`; choose from wormhole_b0"),
        (["--cores", "65"], "wormhole_b0 comes with 64, 72"),
        (["--devices", "0"], "a mesh needs at least one chip"),
        (["--kernel-args", "5"], "--kernel-args are for your own kernels; name one with"),
        (
            ["--pipeline", "reader=1"],
            "--pipeline is for --workload pipeline, found --workload matmul",
        ),
        (["--replays", "2"], "--replays is for --workload trace-replay, found --workload matmul"),
        (["--devices", "4294967295"], "expected at most 1024 chips, the limit of run host ids"),
        (["--op-support-count", "4000000000"], "program support count of 4000000000"),
    ] {
        let output = kprof(folder.path(), &[&["run"][..], &args[..]].concat());
        assert_refused(&output, sentence);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written");
}

#[test]
fn no_number_of_threads_changes_a_result() {
    let folder = tempfile::tempdir().unwrap();
    let run = |threads: &str| {
        let args = ["run", "--ops", "2", "--rows", "0", "--threads", threads];
        let output = kprof(folder.path(), &args);
        assert_eq!(output.status.code(), Some(0));
        let log = folder.path().join("generated/kprof/.logs/profile_log_device.csv");
        (output.stdout, std::fs::read(log).unwrap())
    };
    let one = run("1");
    assert!(run("2") == one && run("3") == one);
}

#[test]
fn launches_of_a_phase_follow_each_other_without_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", "--workload", "op-support-count", "--ops", "200", "--json"];
    let output = kprof(folder.path(), &args);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ops = document["ops"].as_array().unwrap();
    assert!(ops[0]["op_to_op_latency_cycles"].is_null(), "no op ran before the first");
    let latencies = ops[1..].iter().map(|op| op["op_to_op_latency_cycles"].as_u64().unwrap());
    // The dispatcher takes 1200 cycles. A wait for the host would add 1 us.
    let longest = latencies.max().unwrap();
    assert!((1200..2600).contains(&longest), "{longest}");
    assert_eq!(ops.len(), 200);
}

#[test]
fn kernels_that_go_wrong_are_named_behind_what_the_others_left() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["run", "--workload", "broken-kernels", "--json", "--rows", "0"];
    let output = kprof(folder.path(), &args);
    assert_eq!(output.status.code(), Some(2));
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(errors.lines().count(), 6, "{errors}");
    let first = errors.lines().next().unwrap();
    assert!(first.starts_with("kprof: chip 0, core (1,1), TRISC_1, launch 0, cycle "), "{first}");
    assert!(first.contains(" at pc 0x000") && first.contains(" in broken_endless+0x"), "{first}");
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["execution_failures"].as_array().unwrap().len(), 6);
    // 58 sound cores run both launches. Each of the other six cores runs a broken launch, whose
    // kernels on the other RISCs are kept, and the last launch.
    let kernels = document["zones"].as_array().unwrap().iter();
    let brisc = kernels.clone().find(|zone| zone["name"] == "BRISC-KERNEL").unwrap();
    assert_eq!(brisc["count"], 2 * 64);
    assert_eq!(document["lost"]["other"], 0);
    assert_eq!(document["unfinished"]["run_count"], 6 * 5);
}

/// Returns the figures of a zone in a document.
fn zone<'a>(document: &'a serde_json::Value, risc: &str, name: &str) -> &'a serde_json::Value {
    let mut zones = document["zones"].as_array().unwrap().iter();
    zones.find(|zone| zone["risc"] == risc && zone["name"] == name).unwrap()
}

#[test]
fn the_cost_of_probes_is_subtracted_and_stated() {
    let grid: &[&str] = if is_full() { &[] } else { &["--grid", "4x4"] };
    for arch in ["wormhole_b0", "blackhole"] {
        assert_cost_is_subtracted(&[&["--arch", arch], grid].concat());
    }
}

/// Asserts that the cost of probes is subtracted, in a capture of the calibration kernel on two
/// chips.
fn assert_cost_is_subtracted(choice: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let json = |args: &[&str]| -> serde_json::Value {
        let output = kprof(folder.path(), args);
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{choice:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let capture = ["capture", "--workload", "probe-cost", "--devices", "2", "-o", "a.kprof"];
    let recorded = json(&[&capture[..], &["--json"], choice].concat());
    assert_eq!(recorded["probe_cost"], serde_json::Value::Null);
    let report = json(&["report", "a.kprof", "--json", "--subtract-probe-cost"]);
    let costs = report["probe_cost"]["costs"].as_array().unwrap();
    assert_eq!(costs.len(), 2 * 6, "five RISCs and those of Ethernet cores, on two chips");
    let brisc = &costs[0];
    assert_eq!(brisc["risc"], "BRISC");
    let figure = |name: &str| brisc[name].as_u64().unwrap();
    let median = |document, name| zone(document, "BRISC", name)["median_cycles"].as_u64().unwrap();
    // The calibration kernel ran twice: as the workload, and for the calibration.
    let empty = median(&recorded, "PROBE-COST-EMPTY");
    assert_eq!(figure("empty_zone_cycles"), empty);
    let nested = median(&recorded, "PROBE-COST-NESTED");
    assert_eq!(figure("nested_zone_cycles"), nested - empty);
    assert!((8..30).contains(&empty) && (20..60).contains(&(nested - empty)), "{brisc}");
    for name in ["PROBE-COST-EMPTY", "PROBE-COST-NESTED", "PROBE-COST-DATA", "PROBE-COST-EVENT"] {
        assert_eq!(median(&report, name), 0, "{name} {choice:?}");
    }
    assert_eq!(report["ops"], recorded["ops"]);
    let tables = stdout(&kprof(folder.path(), &["report", "a.kprof", "--subtract-probe-cost"]));
    assert!(tables.contains("Cost of probes, subtracted from these zones, in cycles"));
    let has_row = tables.lines().any(|line| {
        let cells: Vec<_> = line.split_whitespace().collect();
        cells.starts_with(&["0", "BRISC", &empty.to_string(), &(nested - empty).to_string()])
    });
    assert!(has_row, "the figures are missing in\n{tables}");
}

#[test]
fn a_run_subtracts_as_the_report_of_its_capture_does() {
    let folder = tempfile::tempdir().unwrap();
    let run = ["run", "--ops", "1", "--json", "--subtract-probe-cost"];
    let run: serde_json::Value =
        serde_json::from_slice(&kprof(folder.path(), &run).stdout).unwrap();
    kprof(folder.path(), &["capture", "--ops", "1", "-o", "b.kprof"]);
    let report = ["report", "b.kprof", "--json", "--subtract-probe-cost"];
    let report = kprof(folder.path(), &report).stdout;
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    for field in ["zones", "probe_cost", "ops", "kept"] {
        assert_eq!(run[field], report[field], "{field}");
    }
    let log = "generated/kprof/.logs/profile_log_device.csv";
    let refused = kprof(folder.path(), &["report", log, "--subtract-probe-cost"]);
    assert_refused(
        &refused,
        "cannot subtract the cost of probes: this run has no measurement of it",
    );
}

#[test]
fn an_output_folder_that_cannot_be_made_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("taken"), "").unwrap();
    let output = kprof(folder.path(), &["run", "-o", "taken"]);
    assert_refused(
        &output,
        "cannot make the folder taken/.logs: expected a folder, found the file taken",
    );
}

#[test]
fn files_that_are_no_device_log_are_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let long_line = "x".repeat(50_000_000);
    for (name, content) in [
        ("empty.csv", ""),
        ("other.csv", "a,b,c\n1,2,3\n"),
        ("long.csv", long_line.as_str()),
        ("columns.csv", "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000\nPCIe slot, core_x\n0,1\n"),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
        let output = kprof(folder.path(), &["report", name]);
        assert_refused(&output, name);
    }
    assert_refused(&kprof(folder.path(), &["report", "absent.csv"]), "absent.csv");
}

#[test]
fn lines_that_cannot_be_read_are_counted_and_the_rest_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let log = std::fs::read_to_string(captures().join("wormhole-noc-256/profile_log_device.csv"));
    let log = log.unwrap();
    let cut = &log[..log.len() - 40];
    std::fs::write(folder.path().join("cut.csv"), format!("{cut}\n0,1,x,BRISC\n")).unwrap();
    let output = kprof(folder.path(), &["report", "cut.csv"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0));
    assert!(text.contains("2 × malformed line"), "{text}");
    assert!(text.contains("BRISC-KERNEL"), "{text}");
}

/// `BLESS=1` rewrites the goldens; read the difference afterwards.
#[test]
fn every_real_capture_reports_as_its_golden_says() {
    let goldens = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut names: Vec<_> =
        std::fs::read_dir(captures()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.join("profile_log_device.csv").exists());
    names.sort();
    assert_eq!(names.len(), 5);
    for capture in names {
        let output = kprof(&capture, &["report", "profile_log_device.csv", "--rows", "0"]);
        assert_eq!(output.status.code(), Some(0));
        let name = capture.file_name().unwrap().to_str().unwrap();
        let golden = goldens.join(format!("report-{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&golden, &output.stdout).unwrap();
        }
        let expected = std::fs::read_to_string(&golden).unwrap();
        assert_eq!(stdout(&output), expected, "{}", golden.display());
        assert!(!expected.contains("Anomalies"), "{name} has none");
    }
}

#[test]
fn help_begins_with_common_options_and_groups_the_others_by_task() {
    let output = kprof(std::path::Path::new("."), &["run", "--help"]);
    let help = String::from_utf8(output.stdout).unwrap();
    let option = |line: &str| {
        let line = line.strip_prefix("      ").or_else(|| line.strip_prefix("  -o, "))?;
        let name = line.strip_prefix("--")?;
        Some(name.split([' ', '[']).next().unwrap().to_owned())
    };
    let (common, rest) =
        help.split_once("\nOptions:\n").unwrap().1.split_once("\n\nChips:\n").unwrap();
    let common: Vec<String> = common.lines().filter_map(option).collect();
    assert_eq!(common, ["workload", "arch", "ops", "output", "json"]);
    for heading in ["Workload:", "Records:", "Own kernels", "Tables:"] {
        assert_eq!(rest.matches(&format!("\n{heading}")).count(), 1, "{heading} in {rest}");
    }
    let longest = rest.split("\n\n").map(|group| group.lines().filter_map(option).count()).max();
    assert!(longest <= Some(12));
}
