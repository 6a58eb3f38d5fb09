//! `kprof merge`: rank folders of `tt-run` as one report, one dataset and one table of skew.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod program;

use program::kprof;
use std::{collections::BTreeMap, fs, path::Path};

const HEADER: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
";

/// A log of one launch of each of programs 1, 2 and so on, with these durations in nanoseconds.
fn log(durations: &[u64]) -> String {
    let mut text = HEADER.to_owned();
    let mut time = 1000;
    for (id, duration) in (1..).zip(durations) {
        let host_id = id << 10;
        for (zone, begin, end) in
            [("BRISC-FW", time, time + duration), ("BRISC-KERNEL", time + 10, time + duration - 10)]
        {
            for (kind, time) in [("ZONE_START", begin), ("ZONE_END", end)] {
                text += &format!(
                    "0,1,2,BRISC,{},{time},0,{host_id},,,{zone},{kind},1,brisc.cc,\n",
                    zone.len()
                );
            }
        }
        time += duration + 500;
    }
    text
}

/// Rank folders as `tt-run --tracy` leaves them.
fn write_rank(folder: &Path, rank: u32, text: &str) {
    let logs = folder.join(format!("profiler/ttrun/rank{rank}/.logs"));
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("profile_log_device.csv"), text).unwrap();
}

fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

const DURATIONS: [(u32, [u64; 3]); 3] =
    [(2, [100, 200, 300]), (0, [150, 200, 290]), (10, [120, 900, 310])];

#[test]
fn ranks_become_one_report_one_dataset_and_a_table_of_skew() {
    let folder = tempfile::tempdir().unwrap();
    for (rank, durations) in DURATIONS {
        write_rank(folder.path(), rank, &log(&durations));
    }
    let output = kprof(folder.path(), &["merge", "profiler", "-o", "all"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("program 2: 900 ns on rank10, 200 ns on rank0, 3 hosts\n"), "{text}");
    assert!(text.contains("all: 9 ops of 3 hosts, 18 zones"), "{text}");
    assert!(text.contains("Clocks of hosts: not related"), "{text}");

    // Hosts come in the order of their numbers, and each has the rows of its own report.
    let merged = rows(&folder.path().join("all/ops_perf_results.csv"));
    let hosts: Vec<&str> = merged.iter().map(|row| row["HOST"].as_str()).collect();
    assert_eq!(hosts, [["rank0"; 3], ["rank2"; 3], ["rank10"; 3]].concat());
    for (rank, durations) in DURATIONS {
        let name = format!("rank{rank}");
        let of_host = merged.iter().filter(|row| row["HOST"] == name);
        let firmware: Vec<u64> =
            of_host.map(|row| row["DEVICE FW DURATION [ns]"].parse().unwrap()).collect();
        assert_eq!(firmware, durations, "{name}");
        for table in ["zones", "ops", "losses"] {
            let part = folder.path().join(format!("all/dataset/{table}/host={name}/device=0"));
            assert_eq!(fs::read_dir(&part).unwrap().count(), 1, "{part:?}");
        }
    }
    let leftovers = fs::read_dir(folder.path().join("all")).unwrap();
    assert_eq!(leftovers.count(), 3, "parts are removed");

    let skew = rows(&folder.path().join("all/rank_skew.csv"));
    let column = |name: &str| skew.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("PROGRAM"), ["1", "2", "3"]);
    assert_eq!(column("MIN [ns]"), ["100", "200", "290"]);
    assert_eq!(column("MAX [ns]"), ["150", "900", "310"]);
    assert_eq!(column("FASTEST HOST"), ["rank2", "rank0", "rank0"]);
    assert_eq!(column("SLOWEST HOST"), ["rank0", "rank10", "rank10"]);
    assert_eq!(column("MEAN [ns]"), ["123", "433", "300"]);
    assert_eq!(column("SKEW [ns]"), ["50", "700", "20"]);
}

#[test]
fn a_host_that_cannot_be_read_is_named_and_takes_nothing_from_the_others() {
    let folder = tempfile::tempdir().unwrap();
    write_rank(folder.path(), 0, &log(&[100]));
    write_rank(folder.path(), 1, "no log at all");
    let output = kprof(folder.path(), &["merge", "profiler/ttrun"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.starts_with("kprof: rank1 is left out: "), "{errors}");
    let merged = rows(&folder.path().join("merged/ops_perf_results.csv"));
    assert_eq!(merged.len(), 1);
    let skew = rows(&folder.path().join("merged/rank_skew.csv"));
    assert_eq!((&*skew[0]["HOSTS"], &*skew[0]["SKEW [ns]"]), ("1", ""), "one host has no skew");
}

#[test]
fn hosts_are_named_by_their_file_unless_a_name_is_given() {
    let folder = tempfile::tempdir().unwrap();
    for (name, duration) in [("a.csv", 100), ("b.csv", 110)] {
        fs::write(folder.path().join(name), log(&[duration])).unwrap();
    }
    let output = kprof(folder.path(), &["merge", "a.csv", "node-7=b.csv"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let merged = rows(&folder.path().join("merged/ops_perf_results.csv"));
    let hosts: Vec<&str> = merged.iter().map(|row| row["HOST"].as_str()).collect();
    assert_eq!(hosts, ["a", "node-7"]);
    let output = kprof(folder.path(), &["merge", "a.csv", "a=b.csv"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(errors.contains("found `a` twice") && errors.lines().count() == 1, "{errors}");
    let output = kprof(folder.path(), &["merge", "nowhere"]);
    assert_eq!(output.status.code(), Some(2));
}
