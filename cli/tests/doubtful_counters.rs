//! Hardware counters that cannot be true: the terminal, JSON, the page, Perfetto and the ops report
//! of one log.

use crate::program::kprof;
use serde_json::{Value, json};
use std::path::Path;

/// Log of a core whose math pipe was busy for 110 % of the cycles, and for longer than FPU and SFPU
/// together.
const LOG: &str = r#"ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64
PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data
0,1,2,TRISC_1,1,1000,0,1024,,,TRISC-FW,ZONE_START,10,k.cpp,
0,1,2,TRISC_1,2,1010,0,1024,,,TRISC-KERNEL,ZONE_START,10,k.cpp,
0,1,2,TRISC_1,9090,1500,0,1024,,,,TS_DATA,0,,{"counter type":"FPU_COUNTER";"ref cnt":200;"value":100}
0,1,2,TRISC_1,9090,1501,0,1024,,,,TS_DATA,0,,{"counter type":"SFPU_COUNTER";"ref cnt":200;"value":20}
0,1,2,TRISC_1,9090,1502,0,1024,,,,TS_DATA,0,,{"counter type":"MATH_COUNTER";"ref cnt":200;"value":225}
0,1,2,TRISC_1,2,1900,0,1024,,,TRISC-KERNEL,ZONE_END,10,k.cpp,
0,1,2,TRISC_1,1,1910,0,1024,,,TRISC-FW,ZONE_END,10,k.cpp,
"#;

fn said(folder: &Path, args: &[&str]) -> String {
    let output = kprof(folder, args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_contradictory_counters_would_give_is_unknown_in_each_output() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("profile_log_device.csv"), LOG).unwrap();
    let log = "profile_log_device.csv";
    let report: Value = serde_json::from_str(&said(folder, &["report", log, "--json"])).unwrap();
    let metrics = report["hardware_counters"][0]["metrics"].as_array().unwrap();
    let found = metrics.iter().map(|row| {
        json!([row["metric"], row["cores"], row["min"], row["mean"], row["is_doubtful"]])
    });
    let expected = json!([
        ["FPU Util", 1, 50.0, 50.0, false],
        ["MATH Util", 1, 112.5, 112.5, true],
        ["SFPU Util", 1, 10.0, 10.0, false],
        ["FPU SFPU Overlap", 0, null, null, true],
    ]);
    assert_eq!(json!(found.collect::<Vec<_>>()), expected);
    let text = said(folder, &["report", log]);
    let row = text.lines().find(|line| line.contains("FPU SFPU Overlap")).unwrap();
    assert_eq!(row.split_whitespace().filter(|cell| *cell == "-").count(), 4, "{row}");
    for (name, why) in [("MATH Util", "more than 100 %"), ("FPU SFPU Overlap", "contradict")] {
        let told = text.lines().find(|line| line.starts_with(&format!("In doubt: {name}: ")));
        assert!(told.unwrap().contains(why), "{text}");
    }
    said(folder, &["export", log, "-o", "page.html"]);
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    let facts = page.split_once(r#"id="facts">"#).unwrap().1.split_once("</script>").unwrap().0;
    let facts: Value = serde_json::from_str(facts).unwrap();
    let shown = &facts["counters"]["metrics"];
    assert_eq!(shown["label"], json!(["FPU Util", "MATH Util", "SFPU Util", "FPU SFPU Overlap"]));
    assert_eq!(shown["values"][3], Value::Null);
    let doubts = metrics.iter().map(|row| &row["doubt"]);
    assert_eq!(shown["doubt"], json!(doubts.collect::<Vec<_>>()));
    // The columns of the ops report are those of TT-Metal, which clamps.
    said(folder, &["ops", log, "-o", "out"]);
    let name = "ops_perf_results.csv";
    let csv = walk(&folder.join("out")).into_iter().find(|path| path.ends_with(name)).unwrap();
    let csv = std::fs::read_to_string(csv).unwrap();
    let [titles, row] =
        [0, 1].map(|at| csv.lines().nth(at).unwrap().split(',').collect::<Vec<_>>());
    let cell = |title: &str| row[titles.iter().position(|of| *of == title).unwrap()];
    assert_eq!(cell("FPU SFPU Overlap Avg (%)").parse(), Ok(0.0));
    assert_eq!(cell("MATH Util Max (%)").parse(), Ok(112.5));
}

/// A core whose kernels compute, and one that only moves data, whose counters counted nothing for 261 of 20,000
/// cycles; then a launch of the second alone.
fn log_without_compute() -> String {
    let mut log = LOG.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
    let mut zone = |core: &str, risc: &str, program: u64, (start, end): (u64, u64)| {
        let name = if risc.starts_with("TRISC") { "TRISC" } else { risc };
        let id = if risc == "BRISC" { 2 } else { 3 };
        for (time, kind) in [(start, "START"), (end, "END")] {
            log += &format!(
                "0,{core},{risc},{id},{time},0,{program},,,{name}-KERNEL,ZONE_{kind},1,k.cpp,\n"
            );
        }
    };
    zone("1,2", "BRISC", 1024, (1_000, 21_000));
    zone("1,2", "TRISC_1", 1024, (1_000, 21_000));
    zone("2,2", "BRISC", 1024, (1_000, 21_000));
    zone("2,2", "BRISC", 2048, (51_000, 71_000));
    for (core, program, time, count, cycles) in [
        ("1,2", 1024, 20_500, 5_000, 20_000),
        ("2,2", 1024, 20_500, 0, 19_000),
        ("2,2", 2048, 70_500, 0, 261),
    ] {
        let text =
            format!("{{\"counter type\":\"FPU_COUNTER\";\"ref cnt\":{cycles};\"value\":{count}}}");
        log += &format!("0,{core},BRISC,9090,{time},0,{program},,,,TS_DATA,0,,{text}\n");
    }
    log
}

#[test]
fn a_core_without_a_kernel_that_computes_has_no_use_of_its_engines_in_any_output() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("profile_log_device.csv"), log_without_compute()).unwrap();
    let log = "profile_log_device.csv";
    let report: Value = serde_json::from_str(&said(folder, &["report", log, "--json"])).unwrap();
    let found = report["hardware_counters"].as_array().unwrap().iter().map(|op| {
        let row = &op["metrics"][0];
        json!([op["run_host_id"], row["metric"], row["cores"], row["mean"], row["is_doubtful"]])
    });
    // 5,000 of 20,000 cycles on the one core, and not a mean with the other.
    let expected =
        [json!([1024, "FPU Util", 1, 25.0, true]), json!([2048, "FPU Util", 0, null, true])];
    assert_eq!(found.collect::<Vec<_>>(), expected);
    let text = said(folder, &["report", log]);
    let told: Vec<&str> = text.lines().filter(|line| line.starts_with("In doubt: ")).collect();
    let reason = "no kernel that computes ran on cores that are left out";
    let places = "(launch 1 of program 1 on chip 0, launch 1 of program 2 on chip 0)";
    assert_eq!(told, [format!("In doubt: FPU Util: {reason} {places}")]);
    said(folder, &["export", log, "-o", "page.html"]);
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    let facts = page.split_once(r#"id="facts">"#).unwrap().1.split_once("</script>").unwrap().0;
    let facts: Value = serde_json::from_str(facts).unwrap();
    let shown = &facts["counters"]["metrics"];
    assert_eq!(shown["values"], json!([[25.0, 25.0, 25.0, 25.0], null]));
    assert_eq!(shown["doubt"], json!([reason, reason]));
    said(folder, &["ops", log, "-o", "out"]);
    let name = "ops_perf_results.csv";
    let csv = walk(&folder.join("out")).into_iter().find(|path| path.ends_with(name)).unwrap();
    let csv = std::fs::read_to_string(csv).unwrap();
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    let cell =
        |row: usize, title: &str| rows[row][rows[0].iter().position(|of| *of == title).unwrap()];
    assert_eq!(cell(2, "FPU Util Avg (%)"), "");
    assert!(cell(2, "EMPTY FIGURES BECAUSE").contains(&format!("hardware counters: {reason}")));
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
