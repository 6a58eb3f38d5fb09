//! Tests of `kprof merge`: rank folders of `tt-run` become one report, one dataset and one skew
//! table.

use crate::program::kprof;
use host_reader::{
    capture::{Capture, CaptureWriter, HostClock},
    clock::DayReading,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

const HEADER: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
";

/// Returns a log with one launch of each program, numbered from 1, with these durations in
/// nanoseconds.
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

/// Writes a rank folder as `tt-run --tracy` leaves it.
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

    // Hosts are sorted by number, and each host has the rows of its own report.
    let merged = rows(&folder.path().join("all/ops_perf_results.csv"));
    let hosts: Vec<&str> = merged.iter().map(|row| row["HOST"].as_str()).collect();
    assert_eq!(hosts, [["rank0"; 3], ["rank2"; 3], ["rank10"; 3]].concat());
    for (rank, durations) in DURATIONS {
        let name = format!("rank{rank}");
        let of_host = merged.iter().filter(|row| row["HOST"] == name);
        let firmware: Vec<u64> =
            of_host.map(|row| row["DEVICE FW DURATION [ns]"].parse().unwrap()).collect();
        assert_eq!(firmware, durations, "{name}");
    }
    // For each table with rows, all hosts share one file.
    for table in ["zones", "ops", "ops_report", "recordings"] {
        let partition = format!("all/dataset/{table}/date=__HIVE_DEFAULT_PARTITION__/run=merged");
        let files = fs::read_dir(folder.path().join(&partition)).unwrap();
        let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(names, ["merged~0.parquet"], "{partition}");
    }
    assert_eq!(fs::read_dir(folder.path().join("all/dataset")).unwrap().count(), 4);
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
    assert!(clocks.iter().all(|row| row["not_related_because"] == UNTOLD));
    let offsets = merged.iter().map(|row| &*row["HOST CLOCK OFFSET [ns]"]);
    assert_eq!(offsets.collect::<BTreeSet<_>>(), BTreeSet::from([""]));
}

const UNTOLD: &str = "its recording does not identify its machine";

#[test]
fn records_in_a_temporary_file_are_merged_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    for (rank, durations) in DURATIONS {
        write_rank(folder.path(), rank, &log(&durations));
    }
    let counters = fs::read_to_string(captures::log_path("wormhole-counters-elw")).unwrap();
    write_rank(folder.path(), 3, &counters);
    let merged = |memory: &str, output: &str| {
        let args = ["merge", "profiler", "-o", output, "--memory", memory];
        kprof(folder.path(), &args)
    };
    let [near, far] = [merged("1G", "near"), merged("0", "far")];
    assert_eq!(near.status.code(), Some(0), "{near:?}");
    // The printed lines differ only in the name of the output folder.
    let of_near = String::from_utf8(near.stdout).unwrap().replace("near:", "far:");
    assert_eq!(of_near, String::from_utf8(far.stdout).unwrap());
    assert_eq!(String::from_utf8(near.stderr).unwrap(), "");
    let said = "kprof: rank3: hardware counters need all records at once, so --memory does not \
                limit them\n";
    assert_eq!(String::from_utf8(far.stderr).unwrap(), said);
    let partition = "date=__HIVE_DEFAULT_PARTITION__/run=merged/merged~0.parquet";
    for file in ["ops_perf_results.csv", "rank_skew.csv", "hosts.csv", "trace.pftrace"] {
        let [near, far] =
            ["near", "far"].map(|merged| fs::read(folder.path().join(merged).join(file)));
        assert!(near.unwrap() == far.unwrap(), "{file}");
    }
    for table in ["zones", "ops", "ops_report", "recordings", "counters", "markers"] {
        let path =
            |merged: &str| folder.path().join(format!("{merged}/dataset/{table}/{partition}"));
        assert!(fs::read(path("near")).unwrap() == fs::read(path("far")).unwrap(), "{table}");
    }
}

/// Offsets for a recording that is merged under four host names. Only the clocks of `x` and `y` are
/// related by these offsets.
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
    assert!(errors.contains("offsets.csv: no host `lost` among the inputs"), "{errors}");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "Clocks of hosts: 2 of 4 recordings related, the widest bound 70 ns",
        "none: clock not related, because no offset is given",
        "past: clock not related, because its offset puts it before the common clock's start",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    // The error bound of the chip's clock, as stated in a Chrome trace of the same capture.
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
        // The recordings are equal, so the offsets cause all of the skew.
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

/// True values of a host: boot id, offset of its time namespace in ns, time of day minus the
/// machine's clock in ns, and the error in ns that the kernel states.
type Truth = (u128, i64, u64, Option<u64>);

const DAY: u64 = 1_795_384_021_004_113_870;

/// Copies a capture and adds readings of the host's clocks at these times after the last read, as a
/// capture made on such a machine would contain them.
fn write_host(from: &Path, to: &Path, truths: &[(Truth, u64)]) {
    fs::copy(from, to).unwrap();
    let reads = Capture::open(from).unwrap().info().reads;
    let end_ns = reads.last().unwrap().host_time_ns;
    let mut writer = CaptureWriter::append_to(to).unwrap();
    for &((boot_id, namespace_ns, day, error_ns), later) in truths {
        let host_ns = end_ns + later;
        let on_machine = host_ns.checked_add_signed(-namespace_ns).unwrap();
        // The time of day is read at the end of an interval of 40 ns, and is wrong by half of its
        // stated error.
        let day_ns = on_machine + day + error_ns.unwrap_or(0) / 2;
        let reading = DayReading { before_ns: host_ns - 40, day_ns, after_ns: host_ns, error_ns };
        let boot_id = Some(boot_id);
        writer.append(&HostClock { boot_id, namespace_ns, readings: vec![reading] }).unwrap();
    }
    writer.finish().unwrap();
}

/// Merges captures of hosts with these true values. Returns the rows of `hosts.csv` by host.
fn merge_hosts(folder: &Path, hosts: &[(&str, &[(Truth, u64)])]) -> BTreeMap<String, [String; 3]> {
    let single = folder.join("c.kprof");
    if !single.exists() {
        assert!(kprof(folder, &["capture", "--ops", "3", "-o", "c.kprof"]).status.success());
    }
    let mut args = vec!["merge".to_owned(), "-o".to_owned(), "all".to_owned()];
    for (name, truths) in hosts {
        write_host(&single, &folder.join(format!("{name}.kprof")), truths);
        args.push(format!("{name}.kprof"));
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let output = kprof(folder, &args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let titles = ["offset_ns", "error_ns", "not_related_because"];
    let row = |row: BTreeMap<String, String>| {
        (row["host"].clone(), titles.map(|title| row[title].clone()))
    };
    rows(&folder.join("all/hosts.csv")).into_iter().map(row).collect()
}

#[test]
fn hosts_of_several_machines_are_related_by_the_day_as_far_as_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let (x, y) = ((0xA, 0, DAY, Some(2000)), (0xB, 5_000_000, DAY + 9_000_000, Some(3000)));
    let (unkept, set) = ((0xC, 0, DAY, None), (0xD, 0, DAY, Some(100)));
    let (lags, back) = ((0xD, 0, DAY - 90_000, Some(100)), (0xE, 0, DAY, Some(100)));
    let clocks = merge_hosts(
        folder.path(),
        &[
            ("x", &[(x, 0), (x, 70_000)]),
            ("y", &[(y, 0)]),
            ("unkept", &[(unkept, 0)]),
            ("set", &[(set, 0), (lags, 10)]),
            ("moved", &[(set, 0), (back, 10)]),
            ("older", &[]),
        ],
    );
    let reason = |host: &str| clocks[host][2].as_str();
    assert_eq!(reason("unkept"), "the clock of its machine has no stated error, as NTP gives one");
    assert_eq!(reason("set"), "the clock of its machine was set while it was recorded");
    assert!(reason("moved").contains("several machines"), "{}", reason("moved"));
    assert_eq!(reason("older"), UNTOLD);
    // The times in a host's capture are on the clock of the host's time namespace.
    let truths = [("x", x, DAY), ("y", y, DAY + 9_000_000 - 5_000_000)];
    for (host, (_, _, _, stated), day) in truths {
        let [offset, error, reason] = &clocks[host];
        let (offset, error) = (offset.parse::<i64>().unwrap(), error.parse::<u64>().unwrap());
        let off = offset.abs_diff(day.try_into().unwrap());
        assert!(off <= error, "{host}: {off} {error} {reason}");
        // The recording takes some milliseconds. In this time, the machine's clock may drift from
        // the time of day by some microseconds.
        let widest = stated.unwrap() + 40 + 20_000;
        assert!((stated.unwrap()..widest).contains(&error), "{host}: {error}");
    }
    let skew = rows(&folder.path().join("all/rank_skew.csv"));
    assert_eq!(skew.len(), 3);
    for launch in skew {
        let number = |title: &str| launch[title].parse::<u64>().unwrap();
        assert_eq!((number("HOSTS ON COMMON CLOCK"), &*launch["LATEST HOST"]), (2, "y"));
        let bounds = number("START SKEW AT LEAST [ns]")..=number("START SKEW AT MOST [ns]");
        assert!(bounds.contains(&4_000_000) && *bounds.start() > 3_900_000, "{bounds:?}");
    }
}

#[test]
fn hosts_of_one_machine_share_its_clock_without_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (p, q) = ((0xA, 0, DAY, None), (0xA, 7000, DAY, None));
    let other = (0xB, 0, DAY, Some(10));
    let hosts: [(&str, &[(Truth, u64)]); 4] =
        [("other", &[(other, 0)]), ("q", &[(q, 0)]), ("older", &[]), ("p", &[(p, 0)])];
    let clocks = merge_hosts(folder.path(), &hosts);
    let cells = |host: &str| clocks[host].each_ref().map(String::as_str);
    assert_eq!(cells("p"), ["0", "0", ""]);
    assert_eq!(cells("q"), ["-7000", "0", ""]);
    assert_eq!(cells("other"), ["", "", "it ran on a different machine than most hosts"]);
    assert_eq!(cells("older"), ["", "", UNTOLD]);
    // The time of day relates more of these hosts than the machines' clocks do. The error is then
    // the error of the time of day.
    let third = (0xC, 0, DAY + 5, Some(10));
    let fourth = (0xA, 0, DAY, Some(10));
    let hosts: [(&str, &[(Truth, u64)]); 4] = [
        ("other", &[(other, 0)]),
        ("q", &[(q, 0)]),
        ("third", &[(third, 0)]),
        ("p", &[(fourth, 0)]),
    ];
    let clocks = merge_hosts(folder.path(), &hosts);
    let offset = |host: &str| clocks[host][0].parse::<i64>().unwrap();
    let error = |host: &str| clocks[host][1].parse::<u64>().unwrap();
    // Both hosts ran on one machine. Their recordings begin at different times of the machine's
    // clock, which may drift by some nanoseconds between these times.
    assert!((offset("p") - offset("q")).abs_diff(7000) <= 10, "{clocks:?}");
    assert!(error("p").abs_diff(error("q")) <= 10, "{clocks:?}");
    assert!(clocks.keys().all(|host| error(host) > 0));
    // An offsets file overrides the clocks in the recordings.
    fs::write(folder.path().join("offsets"), "host,offset_ns,error_ns\np,3,4\n").unwrap();
    let args = ["merge", "p.kprof", "q.kprof", "--offsets", "offsets", "-o", "given"];
    assert_eq!(kprof(folder.path(), &args).status.code(), Some(0));
    let clocks = rows(&folder.path().join("given/hosts.csv"));
    let cells = |row: usize| [&*clocks[row]["host"], &*clocks[row]["offset_ns"]];
    assert_eq!([cells(0), cells(1)], [["p", "3"], ["q", ""]]);
    assert_eq!(clocks[1]["not_related_because"], "no offset is given");
}

/// Each host exports its own dataset. The datasets are merged using only their ops.
#[test]
fn datasets_of_hosts_are_merged_as_their_recordings_are() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (x, y) = ((0xA, 0, DAY, Some(2000)), (0xB, 5_000_000, DAY + 9_000_000, Some(3000)));
    let (unkept, set) = ((0xC, 0, DAY, None), (0xD, 0, DAY, Some(100)));
    let lags = (0xD, 0, DAY - 90_000, Some(100));
    let hosts: [(&str, &[(Truth, u64)]); 5] = [
        ("x", &[(x, 0), (x, 70_000)]),
        ("y", &[(y, 0)]),
        ("unkept", &[(unkept, 0)]),
        ("set", &[(set, 0), (lags, 10)]),
        ("older", &[]),
    ];
    merge_hosts(folder, &hosts);
    // One dataset contains two hosts, and is compacted.
    let datasets = ["sets/a", "sets/b", "sets/c", "sets/d", "sets/a"];
    for ((host, _), dataset) in hosts.iter().zip(datasets) {
        let file = format!("{host}.kprof");
        let args = ["export", &file, "-f", "parquet", "--host", host, "-o", dataset];
        let output = kprof(folder, &[&args[..], &["--fleet-run", "r"]].concat());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }
    assert_eq!(kprof(folder, &["compact", "sets/a"]).status.code(), Some(0));
    let args = ["merge", "sets/a", "sets/b", "sets/c", "sets/d", "-o", "by-ops"];
    let output = kprof(folder, &args);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let sorted = |path: &str| {
        let text = fs::read_to_string(folder.join(path)).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    for file in ["ops_perf_results.csv", "rank_skew.csv", "hosts.csv"] {
        let (found, expected) = (sorted(&format!("by-ops/{file}")), sorted(&format!("all/{file}")));
        assert!(expected.len() > 3, "{file}");
        assert_eq!(found.len(), expected.len(), "{file}");
        found.iter().zip(&expected).for_each(|(found, expected)| assert_eq!(found, expected));
    }
    assert!(fs::metadata(folder.join("by-ops/trace.pftrace")).unwrap().len() > 1000);
    // The rows of the dataset are not copied.
    assert!(!folder.join("by-ops/dataset").exists());

    let none = kprof(folder, &["merge", "sets", "-o", "no"]);
    assert_eq!(none.status.code(), Some(2), "{none:?}");
}

/// Returns the hosts and the number of ops of a merge of all folders below `ranks`.
#[cfg(feature = "parquet")]
fn hosts_of_merge(folder: &Path) -> Vec<(String, usize)> {
    let output = kprof(folder, &["merge", "ranks", "-o", "all"]);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows(&folder.join("all/ops_perf_results.csv")) {
        *counts.entry(row["HOST"].clone()).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// Scripts collect the folders of ranks under other names than `tt-run`, and some keep only the
/// reports.
#[cfg(feature = "parquet")]
#[test]
fn ranks_of_other_names_and_ranks_with_reports_alone_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for (number, name) in ["rank_0", "host-a_rank1", "host-b_rank_2"].into_iter().enumerate() {
        for (of, within) in [(name.to_owned(), ".logs"), (format!("{name}0"), "reports/2026_09_01")]
        {
            let logs = folder.path().join("ranks").join(&of).join(within);
            fs::create_dir_all(&logs).unwrap();
            let durations = vec![100; number + 1];
            fs::write(logs.join("profile_log_device.csv"), log(&durations)).unwrap();
            expected.push((of, number + 1));
        }
    }
    expected.sort();
    assert_eq!(hosts_of_merge(folder.path()), expected);
}
