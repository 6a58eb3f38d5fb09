//! Tests of `kprof run --stream`: records leave the cores while kernels run, and every lost record
//! is counted.

use crate::program::kprof;
use serde_json::Value;
use std::{fs, path::Path, process::Output};
use tests::sizes::full_or;

/// Number of cores that run kernels. Relays run on other cores.
const CORES: u64 = 8;
const GRID: &str = "4x2";

fn run(folder: &Path, grid: &str, options: &str) -> Output {
    let args = format!("run --workload long-kernel --grid {grid} --json {options}");
    kprof(folder, &args.split_whitespace().collect::<Vec<_>>())
}

fn tables(grid: &str, options: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), grid, options);
    let errors = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{options}: {errors}"))
}

/// Returns the number of records of `long-kernel`. Two RISCs of each core record 5,000 zones, 5,000
/// data records, and the zones of firmware and kernel.
const fn emitted(cores: u64) -> u64 {
    cores * 2 * (2 * 5000 + 2)
}

/// Returns the number of zones and data records that were kept, without waits for the host.
fn kept(tables: &Value) -> u64 {
    let of = |kind: &str| tables["kept"][kind].as_u64().unwrap();
    of("zones") + of("data") - count_of(tables, "PROFILER-DRAM-STALL")
}

fn count_of(tables: &Value, name: &str) -> u64 {
    let zones = tables["zones"].as_array().unwrap().iter();
    zones.filter(|zone| zone["name"] == name).map(|zone| zone["count"].as_u64().unwrap()).sum()
}

fn lost(tables: &Value) -> u64 {
    tables["lost"]["other"].as_u64().unwrap()
}

#[test]
fn a_record_is_kept_or_counted_whoever_reads_the_rings() {
    for options in [
        "--stream=drop --read-every 100us",
        "--stream=drop --relays 1",
        "--stream=drop --relays 1 --relay-sink host",
    ] {
        let tables = tables(GRID, options);
        assert_eq!(kept(&tables) + lost(&tables), emitted(CORES), "{options}");
        assert!(lost(&tables) > 0, "{options}: such rings are too small for that host");
        let causes = tables["losses"].as_array().unwrap().iter();
        assert!(causes.into_iter().all(|loss| loss["cause"] == "ring full"), "{options}");
    }
}

#[test]
fn kernels_that_wait_lose_nothing_and_their_waits_are_zones() {
    let (grid, cores) = full_or((GRID, CORES), ("2x1", 2));
    for (options, has_waits) in [
        ("--stream", true),
        ("--stream=block=16777216 --read-every 100us", true),
        // Eight relays read faster than the kernels record.
        ("--stream=block=16777216 --relays 8", false),
        ("--stream=block=16777216 --relays 8 --relay-sink host", false),
    ] {
        let tables = tables(grid, options);
        assert_eq!((kept(&tables), lost(&tables)), (emitted(cores), 0), "{options}");
        assert_eq!(count_of(&tables, "NUMBERED"), cores * 2 * 5000, "{options}");
        assert_eq!(count_of(&tables, "PROFILER-DRAM-STALL") > 0, has_waits, "{options}");
    }
}

#[test]
fn a_capture_has_what_relays_wrote_to_the_hosts_memory() {
    let folder = tempfile::tempdir().unwrap();
    // Without a grid, kernels run on each of the 64 cores but the relays.
    let relays = "--stream=block=16777216 --relays 8 --relay-sink host";
    let (grid, cores) = full_or(("", 64 - 8), ("--grid 1x2", 2));
    let args = format!("capture --workload long-kernel {grid} {relays} -o run.kprof");
    let output = kprof(folder.path(), &args.split_whitespace().collect::<Vec<_>>());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let output = kprof(folder.path(), &["report", "run.kprof", "--json"]);
    let tables: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((kept(&tables), lost(&tables)), (emitted(cores), 0));
    assert_eq!(count_of(&tables, "NUMBERED"), cores * 2 * 5000);

    let args = format!("run --workload matmul --ops 1 {relays} --json");
    let output = kprof(folder.path(), &args.split_whitespace().collect::<Vec<_>>());
    let tables: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&tables["ops"][0]["core_count"], lost(&tables)), (&(64 - 8).into(), 0));
}

#[test]
fn cells_that_a_policy_gives_up_are_counted_as_that() {
    for (policy, cause) in [("overwrite", "overwritten"), ("sample=4", "skipped")] {
        let tables = tables(GRID, &format!("--stream={policy} --read-every 100us"));
        let losses = tables["losses"].as_array().unwrap().iter();
        let cells = losses.filter(|loss| loss["cause"] == cause);
        let cells: u64 = cells.map(|loss| loss["unknown_markers"].as_u64().unwrap()).sum();
        assert!(cells > 0, "{policy}");
        assert!(kept(&tables) > 0 && kept(&tables) < emitted(CORES), "{policy}");
    }
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for (options, sentence) in [
        ("--relays 2", "--stream"),
        ("--stream --relays 0", "0 is not in 1.."),
        ("--stream --relay-sink host", "--relays"),
        ("--stream --relays 64", "64 relays would leave none of them to kernels"),
        ("--stream=never", "expected drop, overwrite, block=CYCLES or sample=N"),
        ("--stream=block=20", "where CYCLES and N are powers of two"),
        ("--stream --noc-debug-dump", "cannot be used with"),
    ] {
        let output = run(folder.path(), GRID, options);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{options}: {said}");
        assert!(said.contains(sentence), "{options}: {said}");
    }
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is written");
}
