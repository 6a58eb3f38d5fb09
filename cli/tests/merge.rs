//! `kprof merge`: rank folders of `tt-run` as one report, one dataset and one table of skew.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

mod program;

use program::kprof;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

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
    let names: BTreeSet<_> = leftovers.map(|entry| entry.unwrap().file_name()).collect();
    let files = ["dataset", "hosts.csv", "ops_perf_results.csv", "rank_skew.csv", "trace.pftrace"];
    assert_eq!(names, files.iter().map(Into::into).collect(), "parts are removed");
    let starts = ["EARLIEST HOST", "START SKEW [ns]", "START SKEW AT MOST [ns]"];

    let skew = rows(&folder.path().join("all/rank_skew.csv"));
    let column = |name: &str| skew.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("PROGRAM"), ["1", "2", "3"]);
    assert_eq!(column("MIN [ns]"), ["100", "200", "290"]);
    assert_eq!(column("MAX [ns]"), ["150", "900", "310"]);
    assert_eq!(column("FASTEST HOST"), ["rank2", "rank0", "rank0"]);
    assert_eq!(column("SLOWEST HOST"), ["rank0", "rank10", "rank10"]);
    assert_eq!(column("MEAN [ns]"), ["123", "433", "300"]);
    assert_eq!(column("SKEW [ns]"), ["50", "700", "20"]);
    for title in starts {
        assert_eq!(column(title), [""; 3], "{title}");
    }
    assert_eq!(column("HOSTS ON COMMON CLOCK"), ["0"; 3]);
    let clocks = rows(&folder.path().join("all/hosts.csv"));
    assert!(clocks.iter().all(|row| row["not_related_because"] == "no offset is given"));
    let offsets = merged.iter().map(|row| &*row["HOST CLOCK OFFSET [ns]"]);
    assert_eq!(offsets.collect::<BTreeSet<_>>(), BTreeSet::from([""]));
}

/// One recording as that of four hosts, of which two are related.
const OFFSETS: &str =
    "host,offset_ns,error_ns\nx,1000,50\ny,5000,70\npast,-9000000000000000000,1\nlost,1,1\n";

#[test]
fn starts_are_compared_on_hosts_that_offsets_relate() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert!(kprof(folder, &["capture", "--ops", "3", "-o", "c.kprof"]).status.success());
    fs::write(folder.join("offsets.csv"), OFFSETS).unwrap();
    let inputs = ["none=c.kprof", "x=c.kprof", "y=c.kprof", "past=c.kprof"];
    let args = [&["merge", "--offsets", "offsets.csv", "-o", "all"][..], &inputs].concat();
    let output = kprof(folder, &args);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert!(errors.contains("offsets.csv: no host `lost` is merged"), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "Clocks of hosts: 2 of 4 recordings related, the widest bound 70 ns",
        "none: clock not related, since no offset is given",
        "past: clock not related, since its offset puts it before the common clock's start",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    // The bound of the chip's own clock, as another export says it.
    assert!(kprof(folder, &["export", "c.kprof", "-o", "c.trace.json"]).status.success());
    let single: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("c.trace.json")).unwrap()).unwrap();
    let bound = single["otherData"]["clocks"][0]["bound_ns"].as_f64().unwrap().ceil();
    let skew = rows(&folder.join("all/rank_skew.csv"));
    assert_eq!(skew.len(), 3);
    for launch in skew {
        let number = |title: &str| launch[title].parse::<f64>().unwrap();
        let of_hosts = (launch["EARLIEST HOST"].as_str(), launch["LATEST HOST"].as_str());
        assert_eq!(of_hosts, ("x", "y"));
        assert_eq!((number("HOSTS"), number("HOSTS ON COMMON CLOCK")), (4.0, 2.0));
        // The recordings are the same, so that all of the skew is that of the offsets.
        assert_eq!(number("START SKEW [ns]"), 4000.0);
        let error = 50.0 + 70.0 + 2.0 * bound;
        assert_eq!(number("START SKEW AT LEAST [ns]"), 4000.0 - error);
        assert_eq!(number("START SKEW AT MOST [ns]"), 4000.0 + error);
    }
    let merged = rows(&folder.join("all/ops_perf_results.csv"));
    let clocks: BTreeMap<&str, (&str, &str)> = merged
        .iter()
        .map(|row| {
            let cell = |title: &str| row[title].as_str();
            (cell("HOST"), (cell("HOST CLOCK OFFSET [ns]"), cell("HOST CLOCK ERROR [ns]")))
        })
        .collect();
    let expected =
        [("none", ("", "")), ("past", ("", "")), ("x", ("1000", "50")), ("y", ("5000", "70"))];
    assert_eq!(clocks, BTreeMap::from(expected));
}

#[test]
fn a_host_without_a_synchronised_chip_is_not_related_by_an_offset() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), log(&[100])).unwrap();
    fs::write(folder.path().join("offsets"), "host,offset_ns,error_ns\na,1,1\n").unwrap();
    let output = kprof(folder.path(), &["merge", "a.csv", "--offsets", "offsets"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Clocks of hosts: not related"), "{text}");
    let clocks = rows(&folder.path().join("merged/hosts.csv"));
    assert_eq!(clocks[0]["not_related_because"], "its chips were not synchronised with the host");
    fs::write(folder.path().join("offsets"), "host,offset\na,1\n").unwrap();
    let output = kprof(folder.path(), &["merge", "a.csv", "--offsets", "offsets", "-o", "no"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!folder.path().join("no").exists(), "nothing is written");
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
