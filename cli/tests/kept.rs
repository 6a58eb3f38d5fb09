//! Kept records: each is in a table of the report, by name and number, in the terminal and JSON. The expected numbers are counts of the log's lines.

use crate::program::kprof;
use captures::capture_path;
use serde_json::{Value, json};
use std::{collections::BTreeMap, path::Path};

const TITLES: &str = "ARCH: blackhole, CHIP_FREQ[MHz]: 1350, Max Compute Cores: 140
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
";

/// Returns a log in which each RISC of two cores records values, events and sums: names of their
/// own, numbers of their own, and values up to the largest.
fn log_of_all_kinds() -> String {
    let mut log = TITLES.to_owned();
    for (x, risc, times) in [(1, "BRISC", 3), (2, "BRISC", 1), (2, "NCRISC", 5)] {
        let mut line = |id: u32, time: u64, value: u64, name: &str, kind: &str| {
            log.push_str(&format!(
                "0,{x},2,{risc},{id},{time},{value},1024,,,{name},{kind},10,k.cpp,\n"
            ));
        };
        line(1, 10_000, 0, "FW", "ZONE_START");
        line(2, 10_060, 0, "KERNEL", "ZONE_START");
        let mut values = [7, u64::MAX, 1 << 32].into_iter().cycle();
        for at in 0..times {
            line(50, 11_000 + at, values.next().unwrap(), "TILE_ID", "TS_DATA");
            line(51, 12_000 + at, 0, "SYNC", "TS_EVENT");
            line(51, 13_000 + at, 0, "SYNC", "TS_EVENT");
            line(52, 14_000 + at, 0, "ROW-DONE", "TS_EVENT");
        }
        line(60, 0, 900, "SUM", "ZONE_TOTAL");
        line(2, 19_060, 0, "KERNEL", "ZONE_END");
        line(1, 19_150, 0, "FW", "ZONE_END");
    }
    log
}

/// Counts of the lines of a log by RISC, name and kind, and the values of the lines with data.
#[derive(Default)]
struct Lines {
    counts: BTreeMap<(String, String, String), u64>,
    values: BTreeMap<(String, String), Vec<u64>>,
}

fn lines_of(log: &str) -> Lines {
    let mut lines = Lines::default();
    for line in log.lines().skip(2) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let [risc, name, kind] = [3, 10, 11].map(|at| cells[at].to_owned());
        if kind == "TS_DATA" {
            let values = lines.values.entry((risc.clone(), name.clone())).or_default();
            values.push(cells[6].parse().unwrap());
        }
        *lines.counts.entry((risc, name, kind)).or_default() += 1;
    }
    lines
}

impl Lines {
    /// Returns the rows (RISC, name, count) of a kind.
    fn of(&self, kind: &str) -> Vec<(String, String, u64)> {
        let rows = self.counts.iter().filter(|((_, _, of), _)| of == kind);
        rows.map(|((risc, name, _), &count)| (risc.clone(), name.clone(), count)).collect()
    }
}

fn said(folder: &Path, args: &[&str]) -> String {
    let output = kprof(folder, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the rows (RISC, name, count) of a list in JSON, sorted.
fn rows_of(list: &Value) -> Vec<(String, String, u64)> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    let rows = list.as_array().unwrap().iter();
    let rows =
        rows.map(|row| (text(row, "risc"), text(row, "name"), row["count"].as_u64().unwrap()));
    let mut rows: Vec<_> = rows.collect();
    rows.sort();
    rows
}

/// Returns the rows below a title of the terminal: their cells.
fn section(report: &str, title: &str) -> Vec<Vec<String>> {
    let mut lines = report.lines().skip_while(|line| *line != title).skip(3);
    let rows = lines.by_ref().take_while(|line| line.starts_with(' '));
    rows.map(|line| line.split_whitespace().map(str::to_owned).collect()).collect()
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev();
    groups.map(|group| std::str::from_utf8(group).unwrap()).collect::<Vec<_>>().join(",")
}

#[test]
fn values_and_events_are_in_tables_with_their_names_numbers_and_ranges() {
    let folder = tempfile::tempdir().unwrap();
    let log = log_of_all_kinds();
    std::fs::write(folder.path().join("log.csv"), &log).unwrap();
    let lines = lines_of(&log);
    let document: Value =
        serde_json::from_str(&said(folder.path(), &["report", "log.csv", "--json"])).unwrap();
    for (list, kind) in [("data", "TS_DATA"), ("events", "TS_EVENT"), ("sums", "ZONE_TOTAL")] {
        assert_eq!(rows_of(&document[list]), lines.of(kind), "{list}");
    }
    for row in document["data"].as_array().unwrap() {
        let values = &lines.values[&(row["risc"].as_str().unwrap().to_owned(), "TILE_ID".into())];
        let range = [values.iter().min().unwrap(), values.iter().max().unwrap()];
        assert_eq!(json!([row["min_value"], row["max_value"]]), json!(range), "{row}");
    }
    let events = document["events"].as_array().unwrap();
    let cores = events.iter().map(|row| row["core_count"].as_u64().unwrap());
    assert_eq!(cores.collect::<Vec<_>>(), [2, 2, 1, 1]);
    let text = said(folder.path(), &["report", "log.csv"]);
    let shown = |title: &str| -> Vec<(String, String, String)> {
        let mut rows: Vec<_> = section(&text, title)
            .into_iter()
            .map(|cells| (cells[1].clone(), cells[2].clone(), cells[3].clone()))
            .collect();
        rows.sort();
        rows
    };
    for (title, kind) in [("Data", "TS_DATA"), ("Events", "TS_EVENT")] {
        let expected = lines.of(kind).into_iter();
        let expected: Vec<_> =
            expected.map(|(risc, name, count)| (risc, name, grouped(count))).collect();
        assert_eq!(shown(title), expected, "{text}");
    }
    let ranges: Vec<_> =
        section(&text, "Data").into_iter().map(|cells| cells[5..].to_vec()).collect();
    assert_eq!(ranges, [["7", &grouped(u64::MAX)], ["7", &grouped(u64::MAX)]]);
    assert!(text.contains("Each value and event with its time: kprof export --format chrome"));
    // The place that the sentence names has all of them.
    said(folder.path(), &["export", "log.csv", "-f", "chrome", "-o", "trace.json"]);
    let trace = std::fs::read_to_string(folder.path().join("trace.json")).unwrap();
    for (risc_count, name) in [(9, "TILE_ID"), (18, "SYNC"), (9, "ROW-DONE")] {
        let marks = trace.matches(&format!(r#""name":"{name}","cat""#)).count();
        assert_eq!(marks, risc_count, "{name}");
    }
}

#[test]
fn the_tables_of_each_recording_sum_to_what_was_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = capture_path("mesham-tt-sim");
    let mut logs = vec![path];
    let mut count = 0;
    while let Some(path) = logs.pop() {
        if path.is_dir() {
            logs.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.file_name().is_some_and(|name| name == "profile_log_device.csv") {
            assert_sums(folder.path(), path.to_str().unwrap());
            count += 1;
        }
    }
    assert!(count > 0);
    for (input, workload) in
        [("random.kprof", "random --ops 8"), ("events.kprof", "timestamped-events")]
    {
        let args = format!("capture -o {input} --grid 2x1 --workload {workload}");
        said(folder.path(), &args.split(' ').collect::<Vec<_>>());
        assert_sums(folder.path(), input);
    }
}

fn assert_sums(folder: &Path, input: &str) {
    for line in said(folder, &["report", input, "--json"]).lines() {
        let report: Value = serde_json::from_str(line).unwrap();
        let sum = |list: &str, key: &str| -> u64 {
            let rows = report[list].as_array().unwrap().iter();
            rows.map(|row| row[key].as_u64().unwrap()).sum()
        };
        let kept = |kind: &str| report["kept"][kind].as_u64().unwrap();
        assert_eq!(
            sum("zones", "count") + sum("zones", "open_zone_count"),
            kept("zones"),
            "{input}"
        );
        assert_eq!(sum("data", "count"), kept("data"), "{input}");
        assert_eq!(sum("events", "count"), kept("events"), "{input}");
    }
}

#[test]
fn zones_without_a_name_are_counted_with_where_names_are_in_the_terminal_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let mut log = TITLES.to_owned();
    for (id, name) in [(402, ""), (402, ""), (77, ""), (9, "NAMED")] {
        for kind in ["ZONE_START", "ZONE_END"] {
            let time = 10_000 + log.len();
            log.push_str(&format!("0,1,2,BRISC,{id},{time},0,1024,,,{name},{kind},10,k.cpp,\n"));
        }
    }
    std::fs::write(folder.path().join("log.csv"), log).unwrap();
    let text = said(folder.path(), &["report", "log.csv"]);
    let line = text.lines().find(|line| line.contains("no name")).unwrap();
    assert!(line.starts_with("2 zones have no name: "), "{line}");
    assert!(
        line.ends_with("--names of kprof run --firmware, read and attach takes them"),
        "{line}"
    );
    let document: Value =
        serde_json::from_str(&said(folder.path(), &["report", "log.csv", "--json"])).unwrap();
    assert_eq!(document["nameless_zones"], line);
    let named = log_of_all_kinds();
    std::fs::write(folder.path().join("named.csv"), named).unwrap();
    let document: Value =
        serde_json::from_str(&said(folder.path(), &["report", "named.csv", "--json"])).unwrap();
    assert_eq!(document.get("nameless_zones"), None);
}
