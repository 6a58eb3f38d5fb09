//! Tests of `kprof run --noc-debug-dump`: cores wait for a host that reads during the run, and no
//! record is lost.

use crate::program::{kprof, program};
use serde_json::Value;
use std::{fs, path::Path, process::Output};
use tests::sizes::full_or;

const WAIT: &str = "PROFILER-DRAM-STALL";

fn run(folder: &Path, args: &str) -> Output {
    kprof(folder, &args.split_whitespace().collect::<Vec<_>>())
}

fn json(output: &Output) -> Value {
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"))
}

/// Returns the number of zones with this name in a device log, and the total cycles of these zones.
fn zones_of_log(folder: &Path, name: &str) -> (u64, u64) {
    let log = folder.join("generated/kprof/.logs/profile_log_device.csv");
    let log = fs::read_to_string(log).unwrap();
    let (mut count, mut cycles) = (0_u64, 0_u64);
    let rows = log.lines().skip(2).map(|row| row.split(',').map(str::trim).collect());
    for cells in rows.filter(|cells: &Vec<&str>| cells[10] == name && cells[11] != "TS_DATA") {
        let time: u64 = cells[5].parse().unwrap();
        let is_end = cells[11] == "ZONE_END";
        count += u64::from(is_end);
        cycles = if is_end { cycles.wrapping_add(time) } else { cycles.wrapping_sub(time) };
    }
    (count, cycles)
}

#[test]
fn ten_thousand_records_of_each_mover_are_kept_and_the_waits_are_in_every_table() {
    let folder = tempfile::tempdir().unwrap();
    let (grid, cores) = full_or(("8x2", 16), ("2x2", 4));
    let long_kernel = |more: &str| {
        let args =
            format!("run --workload long-kernel --grid {grid} --read-every 2ms --json {more}");
        run(folder.path(), &args)
    };
    let output = long_kernel("--noc-debug-dump");
    let tables = json(&output);
    assert_eq!(output.status.code(), Some(0), "{tables:#}");
    let mover_zones = cores * 2 * 5000;
    assert_eq!(zones_of_log(folder.path(), "NUMBERED"), zones_with(&tables, "NUMBERED"));
    assert_eq!(zones_with(&tables, "NUMBERED").0, mover_zones);
    assert_eq!(tables["kept"]["data"], mover_zones);
    assert_eq!(lost(&tables), 0, "{}", tables["lost"]);
    // Each RISC records at least 40,000 words into a lane of 6,000 words.
    let waits = zones_with(&tables, WAIT);
    assert!(waits.0 >= cores * 2 * 6, "{waits:?}");
    assert_eq!(zones_of_log(folder.path(), WAIT), waits);
    let page = run(folder.path(), "export generated/kprof/.logs -o waits.html");
    assert_eq!(page.status.code(), Some(0), "{page:?}");
    let page = fs::read_to_string(folder.path().join("waits.html")).unwrap();
    assert!(page.contains(WAIT));
    // The same run without waits for the host loses the records that do not fit.
    let plain = json(&long_kernel("--op-support-count 500"));
    assert_eq!(zones_with(&plain, WAIT).0, 0);
    assert!(lost(&plain) > mover_zones, "{}", plain["lost"]);
}

/// Returns the number of zones with this name in the tables, and the total cycles of these zones.
fn zones_with(tables: &Value, name: &str) -> (u64, u64) {
    let zones = tables["zones"].as_array().unwrap().iter();
    let zones: Vec<&Value> = zones.filter(|zone| zone["name"] == name).collect();
    let sum = |key: &str| zones.iter().map(|zone| zone[key].as_u64().unwrap()).sum();
    (sum("count"), sum("total_cycles"))
}

/// Returns the number of lost records, including markers of unknown kind.
fn lost(tables: &Value) -> u64 {
    let counts = ["l1_full", "dram_full", "other"].map(|cause| tables["lost"][cause].as_u64());
    counts.into_iter().map(Option::unwrap).sum()
}

#[test]
fn what_cannot_wait_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let refused = [
        ("--workload pipeline", "does not support workloads that record waits"),
        ("--enable-sum-profiling", "cannot be used with"),
        ("--kernel a.elf", "cannot be used with"),
    ];
    for (option, sentence) in refused {
        let output = run(folder.path(), &format!("run --noc-debug-dump {option}"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{option}: {said}");
        assert!(said.contains(sentence) && said.contains("--noc-debug-dump"), "{option}: {said}");
    }
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is written");
}

#[test]
fn a_variable_asks_for_it_and_options_come_first() {
    for (option, has_waits) in [("", true), ("--enable-sum-profiling", false)] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = program();
        let grid = full_or("8x2", "2x2");
        let args = format!("run --workload long-kernel --grid {grid} --json {option}");
        command.args(args.split_whitespace()).current_dir(folder.path());
        command.env("TT_METAL_DEVICE_PROFILER", "1").env("TT_METAL_NOC_DEBUG_DUMP", "1");
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let tables = json(&output);
        assert_eq!(zones_with(&tables, WAIT).0 > 0, has_waits, "{option}: {said}");
        let note = "TT_METAL_NOC_DEBUG_DUMP has no effect with";
        assert_eq!(said.contains(note), !has_waits, "{said}");
        // TT-Metal's host reads every half second, and waits end after the next read.
        assert_eq!(lost(&tables) == 0, has_waits, "{}", tables["lost"]);
    }
}
