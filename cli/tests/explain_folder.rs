//! `kprof explain` on folders that hold records of chips and an ops CSV: one recording, one list.

#![allow(clippy::unwrap_used, reason = "tests")]

mod program;

use program::kprof;
use serde_json::Value;
use std::{fmt::Write, path::Path};

const LOG_TITLES: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
    PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
    run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n";

const CSV_TITLES: &str = "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,CORE COUNT,\
    AVAILABLE WORKER CORE COUNT,DEVICE FW START CYCLE,DEVICE KERNEL DURATION [ns],\
    OP TO OP LATENCY [ns],ATTRIBUTES,MATH FIDELITY";

/// Columns of a tensor.
fn tensor_titles(name: &str) -> String {
    let sides = ["W", "Z", "Y", "X"].map(|side| format!("{name}_{side}_PAD[LOGICAL]"));
    format!("{},{name}_DATATYPE,{name}_MEMORY", sides.join(","))
}

/// Cells of a tensor of 32 rows.
fn tensor(columns: u64, memory: &str) -> String {
    format!("1[1],1[1],32[32],{columns}[{columns}],BFLOAT16,DEV_0_{memory}_INTERLEAVED")
}

/// An op of an ops CSV.
#[derive(Clone, Copy)]
struct Op {
    code: &'static str,
    program: u64,
    start_cycle: u64,
    kernel_ns: u64,
    /// Columns of the second input, which lies in DRAM.
    columns: u64,
}

/// The ops of a model that runs twice: a matmul whose weights take 45 % of the DRAM's 288 GB/s in its
/// 100 us, and an addition.
fn model() -> [Op; 4] {
    let [matmul, add] = [("Matmul", 100_000, 202_500), ("BinaryNg", 20_000, 32)];
    let mut start_cycle = 50_000;
    let ops = [matmul, add, matmul, add].into_iter().zip([1024, 2048, 3072, 4096]);
    let ops = ops.map(|((code, kernel_ns, columns), program)| {
        let op = Op { code, program, start_cycle, kernel_ns, columns };
        start_cycle += kernel_ns + 20 + 2000;
        op
    });
    ops.collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("four ops"))
}

/// The device log of ops, as a folder of logs has it.
fn write_log(folder: &Path, ops: &[Op]) {
    let mut log = LOG_TITLES.to_owned();
    for op in ops {
        let (start, end) = (op.start_cycle, op.start_cycle + op.kernel_ns + 20);
        for (time, zone, kind) in [
            (start, "BRISC-FW", "ZONE_START"),
            (start + 10, "BRISC-KERNEL", "ZONE_START"),
            (end - 10, "BRISC-KERNEL", "ZONE_END"),
            (end, "BRISC-FW", "ZONE_END"),
        ] {
            let id = if zone == "BRISC-FW" { 7 } else { 8 };
            let program = op.program;
            writeln!(log, "0,1,2,BRISC,{id},{time},0,{program},,,{zone},{kind},1,/b.cc,").unwrap();
        }
    }
    std::fs::create_dir_all(folder.join(".logs")).unwrap();
    std::fs::write(folder.join(".logs/profile_log_device.csv"), log).unwrap();
}

/// The ops CSV of ops below the folder's reports, with an op of the host before the last one.
fn write_csv(folder: &Path, ops: &[Op]) {
    let tensors = ["INPUT_0", "INPUT_1", "OUTPUT_0"].map(tensor_titles);
    let mut csv = format!("{CSV_TITLES},{}\n", tensors.join(","));
    let column_count = csv.split(',').count();
    for (number, op) in ops.iter().enumerate() {
        if number + 1 == ops.len() && number > 0 {
            let blanks = ",".repeat(column_count - 2);
            writeln!(csv, "(torch) sum,python_fallback{blanks}").unwrap();
        }
        let Op { code, program, start_cycle, kernel_ns, columns } = op;
        writeln!(
            csv,
            "{code},tt_dnn_device,{program},0,wormhole_b0,64,64,{start_cycle},{kernel_ns},2000,{{}},\
             HiFi2,{},{},{}",
            tensor(32, "L1"),
            tensor(*columns, "DRAM"),
            tensor(*columns, "L1")
        )
        .unwrap();
    }
    let reports = folder.join("reports/today");
    std::fs::create_dir_all(&reports).unwrap();
    std::fs::write(reports.join("ops_perf_results_today.csv"), csv).unwrap();
}

fn explained(folder: &Path, args: &[&str]) -> Value {
    let output = kprof(folder, &[&["explain", ".", "--json"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn causes(explained: &Value) -> Vec<&str> {
    let findings = explained["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["cause"].as_str().unwrap()).collect()
}

/// Sentences of an explanation in order.
fn sentences(explained: &Value) -> Vec<&str> {
    let findings = explained["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["sentence"].as_str().unwrap()).collect()
}

#[test]
fn shapes_of_the_csv_and_cycles_of_the_log_are_one_list() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_log(folder, &model());
    let alone = explained(folder, &[]);
    assert_eq!(
        (&alone["steady"], causes(&alone)),
        (&Value::Null, vec![]),
        "programs do not repeat"
    );
    write_csv(folder, &model());
    let together = explained(folder, &[]);
    assert_eq!(
        together["described_by"],
        "ops_perf_results_today.csv describes the ops of 4 of 4 launches."
    );
    // What repeats is told by the rows, and the length by the log: 100,020 + 2000 + 20,020 cycles.
    let steady = &together["steady"];
    assert_eq!((&steady["first_launch"], &steady["last_launch"]), (&3.into(), &4.into()));
    assert_eq!(steady["total_ns"], 122_040.0);
    assert_eq!(causes(&together), ["op_group", "op_group", "host_ops"]);
    let first = &together["findings"][0];
    assert_eq!((&first["place"]["op"], &first["place"]["row"]), (&"Matmul".into(), &4.into()));
    let gain = first["gain_at_most_percent"].as_f64().unwrap();
    assert!((gain - 55_000.0 / 1220.4).abs() < 0.01, "{gain}");
    assert_eq!(sentences(&together)[2], "1 op runs on the host");
    let names: Vec<_> = together["ops"].as_array().unwrap().iter().map(|op| &op["name"]).collect();
    assert_eq!(names, ["Matmul", "BinaryNg", "Matmul", "BinaryNg"]);
    // A filter takes launches away, and no row is laid to another one.
    let last = explained(folder, &["--filter", "op=4..4"]);
    assert_eq!(
        last["described_by"],
        "ops_perf_results_today.csv describes the ops of 1 of 1 launches; 3 more ops in it have no \
         launch here."
    );
    assert_eq!(
        (&last["ops"][0]["name"], &last["groups"][0]["op"]),
        (&"BinaryNg".into(), &"BinaryNg".into())
    );
    // The text and the page tell the same.
    let text = String::from_utf8(kprof(folder, &["explain", "."]).stdout).unwrap();
    let output = kprof(folder, &["export", ".", "-o", "page.html"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    for sentence in sentences(&together) {
        assert!(text.contains(sentence) && page.contains(sentence), "{sentence}: {text}");
    }
    assert!(text.contains("describes the ops of 4 of 4 launches"), "{text}");
}

/// A report of an earlier run often lies beside a new log: its rows are nobody's.
#[test]
fn the_csv_of_another_run_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_log(folder, &model());
    let alone = explained(folder, &[]);
    write_csv(folder, &model().map(|op| Op { start_cycle: op.start_cycle + 1, ..op }));
    let together = explained(folder, &[]);
    for key in ["findings", "steady", "ops", "groups", "devices"] {
        assert_eq!(together[key], alone[key], "{key}");
    }
    let [before, after] = [&alone, &together].map(|of| of["untold"].as_array().unwrap());
    assert_eq!(&after[..before.len()], before);
    assert_eq!(
        after.last().unwrap()["reason"],
        "no op of ops_perf_results_today.csv begins when a launch does: it is of another run"
    );
    // Of a part of the launches, the rest is said to be missing.
    write_csv(folder, &model()[..2]);
    let part = explained(folder, &[]);
    assert_eq!(
        part["described_by"],
        "ops_perf_results_today.csv describes the ops of 2 of 4 launches."
    );
    let reason = &part["untold"].as_array().unwrap().last().unwrap()["reason"];
    assert_eq!(reason, "2 of 4 launches are not in ops_perf_results_today.csv");
}

/// Cells of an op's row in the ops CSV that `kprof ops` writes.
fn reported(folder: &Path, capture: &str) -> Vec<Op> {
    let output = kprof(folder, &["ops", capture, "-o", "out"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let csv = std::fs::read_to_string(folder.join("out/reports/ops_perf_results.csv")).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let titles = lines.next().unwrap();
    let number = |row: &[&str], title: &str| -> u64 {
        row[titles.iter().position(|of| *of == title).unwrap()].parse().unwrap()
    };
    let op = |row: Vec<&str>| Op {
        code: "Matmul",
        program: number(&row, "GLOBAL CALL COUNT"),
        start_cycle: number(&row, "DEVICE FW START CYCLE"),
        kernel_ns: number(&row, "DEVICE KERNEL DURATION [ns]"),
        columns: 32,
    };
    lines.map(op).collect()
}

#[test]
fn what_waits_tell_of_an_op_comes_before_what_its_shape_tells() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (waits, cause) in [("totals", "latency"), ("off", "op_group")] {
        let _ = std::fs::remove_file(folder.join("device-1.kprof"));
        let fixed = ["capture", "--workload", "pipeline", "--ops", "1"];
        let shape = ["--pipeline", "tiles=200,reader=1620,writer=700", "--waits", waits];
        let output = kprof(folder, &[&fixed[..], &shape, &["-o", "device-1.kprof"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        write_csv(folder, &reported(folder, "device-1.kprof"));
        let explained = explained(folder, &[]);
        assert_eq!(causes(&explained), [cause], "{explained}");
        let first = &explained["findings"][0];
        assert_eq!((&first["place"]["op"], &first["place"]["row"]), (&"Matmul".into(), &2.into()));
        let of_shape = match cause {
            "latency" => &first["why"][0],
            _ => &first["sentence"],
        };
        let of_shape = of_shape.as_str().unwrap();
        assert!(of_shape.starts_with("Matmul takes 100.0 % of the kernels' time"), "{first}");
        let advice = first["advice"].as_str().unwrap();
        assert!(advice.contains("give a program_config"), "{advice}");
        assert_eq!(advice.contains("reads before each barrier"), cause == "latency", "{advice}");
    }
}
