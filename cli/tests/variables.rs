//! Tests of TT-Metal's variables in `kprof run` and in the commands that read folders.

use crate::program::{self, program};
use host_reader::environment::VARIABLES;
use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path};
use tests::sizes::{full_or, is_full};

/// Results of a run: exit code, tables, lines of standard error, and files by path.
#[derive(PartialEq, Debug)]
struct Left {
    code: Option<i32>,
    tables: Value,
    said: Vec<String>,
    files: BTreeMap<String, Vec<u8>>,
}

/// Name of a capture. Captures are compared by their tables instead of their bytes.
const CAPTURE: &str = "a.kprof";
const ON: &str = "TT_METAL_DEVICE_PROFILER=1";

/// Runs a command with variables in a new folder; `FOLDER` in the variables stands for this folder.
fn run(variables: &str, args: &str) -> Left {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    command.args(args.split_whitespace()).current_dir(folder.path());
    for pair in variables.split_whitespace() {
        let (name, value) = pair.split_once('=').unwrap();
        command.env(name, value.replace("FOLDER", folder.path().to_str().unwrap()));
    }
    let output = command.output().unwrap();
    let mut files = BTreeMap::new();
    gather(folder.path(), folder.path(), &mut files);
    if let Some(capture) = files.get_mut(CAPTURE) {
        *capture = program::kprof(folder.path(), &["report", CAPTURE, "--json"]).stdout;
    }
    Left {
        code: output.status.code(),
        tables: serde_json::from_slice(&output.stdout).unwrap_or_default(),
        said: String::from_utf8(output.stderr).unwrap().lines().map(str::to_owned).collect(),
        files,
    }
}

fn gather(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            gather(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.insert(name, fs::read(path).unwrap());
        }
    }
}

impl Left {
    /// Returns the content of a file in the folder of simulated logs.
    fn log(&self, name: &str) -> Option<&str> {
        let file = self.files.get(&format!("generated/kprof/.logs/{name}"))?;
        Some(std::str::from_utf8(file).unwrap())
    }

    fn noc_traces(&self, folder: &str) -> usize {
        let beginning = format!("{folder}/noc_trace_dev0_");
        self.files.keys().filter(|name| name.starts_with(&beginning)).count()
    }
}

const MATMUL: &str = "run --grid 4x4 --workload matmul --ops 2 --json";
const DEVICE_LOG: &str = "profile_log_device.csv";

/// Variables, the run, and the options with the same effect.
const SAME_AS_OPTIONS: [(&str, &str, &str); 10] = [
    ("TT_METAL_PROFILER_SUM=1", MATMUL, "--enable-sum-profiling"),
    ("TT_METAL_DEVICE_PROFILER_DISPATCH=1", MATMUL, "--profile-dispatch-cores"),
    ("TT_METAL_PROFILER_ACCUMULATE=1", MATMUL, "--enable-accumulate-profiling"),
    ("TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1", MATMUL, "--collect-noc-traces"),
    (
        "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=43",
        "run --grid 2x2 --workload multi-op --ops 60 --json",
        "--op-support-count 43",
    ),
    (
        "TT_METAL_TRACE_PROFILER=1",
        "run --grid 4x4 --workload trace-replay --ops 4 --replays 2 --json",
        "--device-trace-profiler",
    ),
    (
        "TT_METAL_PROFILER_MID_RUN_DUMP=1",
        "run --grid 2x2 --workload cycle-count --ops 5 --json",
        "--read-every 200us",
    ),
    (
        "TT_METAL_NOC_DEBUG_DUMP=1 TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS=1",
        "run --grid 4x4 --workload matmul --ops 2 --json",
        "--noc-debug-dump --read-every 1ms",
    ),
    (
        "TT_METAL_DEVICE_DEBUG_DUMP_ENABLED=1",
        "run --grid 4x4 --workload matmul --ops 2 --json",
        "--collect-noc-traces --noc-debug-dump --op-support-count 500 --read-every 500ms",
    ),
    (
        "TT_METAL_MEM_PROFILER=1",
        "capture -o a.kprof --grid 4x4 --workload matmul --ops 2 --json",
        "--device-memory-profiler",
    ),
];

/// Variables for another option, or no variables, lead to different tables or a different log.
#[test]
fn each_switch_does_what_its_option_does() {
    let mut plain_runs = BTreeMap::new();
    for (variables, args, options) in SAME_AS_OPTIONS {
        let plain = plain_runs.entry(args).or_insert_with(|| run("", args));
        let by_variables = run(&format!("{ON} {variables}"), args);
        let by_options = run("", &format!("{args} {options}"));
        let of = |left: &Left| (left.code, left.tables.clone(), left.files.clone());
        assert_eq!(plain.code, Some(0), "{:?}", plain.said);
        assert!(of(&by_variables) == of(&by_options), "{variables}: {:?}", by_variables.said);
        assert!(of(&by_variables) != of(plain), "{variables} has no effect");
        assert_eq!(by_variables.said, by_options.said, "{variables}");
    }
}

/// Checks the effects with numbers that do not come from the options.
#[test]
fn sums_losses_dispatch_cores_and_reads_are_seen_in_the_tables() {
    let sums = run(&format!("{ON} TT_METAL_PROFILER_SUM=1"), MATMUL).tables;
    // Two launches on 16 cores. Each core records one sum on each of three RISCs, and two sums on
    // TRISC 1.
    assert_eq!(sums["kept"]["sums"], 2 * 16 * 5);
    let multi_op = "run --grid 2x2 --workload multi-op --ops 60 --json";
    let cut = run("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=43", multi_op).tables;
    assert!(cut["lost"]["dram_full"].as_u64().unwrap() > 0, "{}", cut["lost"]);
    assert_eq!(run("", multi_op).tables["lost"]["dram_full"], 0);
    let dispatch = run(&format!("{ON} TT_METAL_DEVICE_PROFILER_DISPATCH=1"), MATMUL);
    assert!(dispatch.log(DEVICE_LOG).unwrap().contains("CQ-"), "zones of dispatch kernels");
    let cycle_count = "run --grid 2x2 --workload cycle-count --ops 5 --json";
    let meanwhile = run(&format!("{ON} TT_METAL_PROFILER_MID_RUN_DUMP=1"), cycle_count).tables;
    assert!(meanwhile["reads"]["count"].as_u64().unwrap() > 1, "{}", meanwhile["reads"]);
}

#[test]
fn what_needs_the_profiler_has_no_effect_without_it_and_a_line_says_so() {
    let plain = run("", MATMUL);
    let needing = VARIABLES.iter().filter(|variable| variable.needs_profiler);
    let names: Vec<_> = needing.map(|variable| variable.name).collect();
    let left = run(&format!("{}=1", names.join("=1 ")), MATMUL);
    let line =
        |name: &&str| format!("kprof: {name} has no effect: TT_METAL_DEVICE_PROFILER=1 is not set");
    assert_eq!(left.said, names.iter().map(line).collect::<Vec<_>>());
    assert!(left.tables == plain.tables && left.files == plain.files);
}

#[test]
fn files_are_written_where_and_when_a_variable_asks_for_them() {
    let plain = run("", MATMUL);
    assert_eq!(plain.files.len(), 2, "the log and its note: {:?}", plain.files.keys());
    let sync = run(&format!("{ON} TT_METAL_PROFILER_SYNC=1"), MATMUL);
    let samples = sync.log("sync_device_info.csv").unwrap();
    assert!(samples.starts_with("device id,core_x, core_y,device,host_tracy,"), "{samples}");
    // The file has clock samples of the only chip.
    let rows = samples.lines().skip(1).filter(|row| row.starts_with("    0,"));
    assert!(rows.count() > 50, "{samples}");
    assert_eq!(sync.files.len(), 4, "{:?}", sync.files.keys());
    let perf = run(&format!("{ON} TT_METAL_PROFILER_CPP_POST_PROCESS=1"), MATMUL);
    let report = perf.log("cpp_device_perf_report.csv").unwrap();
    assert!(report.starts_with("GLOBAL CALL COUNT,"), "{report}");
    assert_eq!((report.lines().count(), perf.files.len()), (1 + 2, 4));
    let noc = run("TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1", MATMUL);
    assert_eq!(noc.noc_traces("generated/kprof/.logs"), 2);
    let elsewhere = run(
        "TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1 \
         TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH=FOLDER/noc",
        MATMUL,
    );
    assert_eq!(elsewhere.noc_traces("noc"), 2);
    assert_eq!(elsewhere.noc_traces("generated/kprof/.logs"), 0);
    let without = run(
        &format!(
            "{ON} TT_METAL_PROFILER_DISABLE_DUMP_TO_FILES=1 TT_METAL_PROFILER_CPP_POST_PROCESS=1 \
             TT_METAL_DEVICE_PROFILER_NOC_EVENTS=1"
        ),
        MATMUL,
    );
    let names: Vec<_> = without.files.keys().collect();
    let kept = "generated/kprof/.logs/cpp_device_perf_report.csv";
    assert_eq!(names, [kept, &format!("{kept}.derived")]);
    let named = run("TT_METAL_PROFILER_DIR=FOLDER/mine TT_METAL_HOME=FOLDER/tt", MATMUL);
    assert!(named.files.contains_key("mine/.logs/profile_log_device.csv"));
    assert_eq!(named.files.len(), 2);
    let home = run("TT_METAL_HOME=FOLDER/tt", MATMUL);
    assert!(home.files == plain.files, "a simulation is no measurement");
}

/// As in `test_profiler_host_device_sync`: the last row of each device has the chip's frequency,
/// with an error of at most a tenth, and a frequency ratio near 1.
#[test]
fn clock_samples_of_every_chip_end_with_its_frequency() {
    let sync = run(&format!("{ON} TT_METAL_PROFILER_SYNC=1"), &format!("{MATMUL} --devices 2"));
    let samples = sync.log("sync_device_info.csv").unwrap();
    let titles: Vec<&str> = samples.lines().next().unwrap().split(',').map(str::trim).collect();
    let column = |title: &str| titles.iter().position(|&found| found == title).unwrap();
    let columns = ["device id", "frequency", "device_frequency_ratio"].map(column);
    let mut last = BTreeMap::new();
    for row in samples.lines().skip(1) {
        let cells: Vec<&str> = row.split(',').map(str::trim).collect();
        let [device, ghz, ratio] = columns.map(|column| cells[column].parse::<f64>().unwrap());
        last.insert(device.to_string(), (ghz, ratio));
    }
    assert_eq!(last.keys().collect::<Vec<_>>(), ["0", "1"]);
    for (ghz, ratio) in last.into_values() {
        assert!((0.9..1.1).contains(&ghz) && (0.9..1.1).contains(&ratio), "{ghz} {ratio}");
    }
}

#[test]
fn a_variable_asks_for_hardware_counters_as_an_option_does() {
    let args = "run --grid 4x4 --workload instructions --ops 1 --json";
    let by_variable = run("TT_METAL_PROFILE_PERF_COUNTERS=1", args);
    let by_option = run("", &format!("{args} --profiler-capture-perf-counters fpu"));
    assert_eq!(by_variable.code, Some(0), "{:?}", by_variable.said);
    assert!(by_variable.tables == by_option.tables && by_variable.files == by_option.files);
    assert!(by_variable.tables != run("", args).tables);
}

#[test]
fn mistakes_are_a_line_each_and_what_cannot_be_ends_the_run_with_one() {
    let audit = "TT_METAL_DEVICE_PROFILR=1 TT_METAL_DEVICE_PROFILER=1 TT_METAL_DPRINT_CORES=all";
    let left = run(audit, MATMUL);
    assert_eq!(left.code, Some(0));
    assert_eq!(
        left.said,
        [
            "kprof: TT_METAL_DPRINT_CORES and the profiler exclude each other, since both use the \
             same L1; TT-Metal stops, so unset TT_METAL_DPRINT_CORES",
            "kprof: TT_METAL_DEVICE_PROFILR is not known; did you mean TT_METAL_DEVICE_PROFILER?",
        ]
    );
    let gone = run("TT_METAL_TRACY_MID_RUN_PUSH=1", MATMUL);
    assert!(gone.said.len() == 1 && gone.said[0].contains("has no effect"), "{:?}", gone.said);
    for (variables, reason) in [
        ("TT_METAL_STREAMING_PROFILER=1", "use --stream"),
        (
            "TT_METAL_DEVICE_PROFILER=1 TT_METAL_PROFILER_MID_RUN_DUMP=1 TT_METAL_TRACE_PROFILER=1",
            "an envelope is whole only when its trace has run",
        ),
        ("TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=many", "expected a number"),
    ] {
        let left = run(variables, MATMUL);
        assert_eq!((left.code, left.said.len()), (Some(2), 1), "{:?}", left.said);
        assert!(left.said[0].contains(reason), "{:?}", left.said);
        assert_eq!(left.files.len(), 0, "{variables}");
    }
}

/// Variables of a part of TT-Metal's debug dump that a simulation lacks: they change no run, and
/// invalid values are reported.
#[test]
fn times_of_the_noc_checker_change_no_run_and_their_mistakes_are_said() {
    let dump = "TT_METAL_NOC_DEBUG_DUMP=1 TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS=1";
    let plain = run(dump, MATMUL);
    let with = |times: &str| run(&format!("{dump} {times}"), MATMUL);
    let good = with(
        "TT_METAL_NOC_DEBUG_FULL_READ_INTERVAL_MS=900 TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS=2",
    );
    assert!(good == plain, "{:?}", good.said);
    let small = with("TT_METAL_NOC_DEBUG_WATERMARK_MARGIN_MS=1");
    assert!(small.said.iter().any(|line| line.contains("expected more than the 1 of")));
    assert!((small.code, small.tables, small.files) == (Some(0), plain.tables, plain.files));
}

#[test]
fn an_option_wins_over_its_variable() {
    let multi_op = "run --grid 2x2 --workload multi-op --ops 60 --json";
    let won = run(
        "TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=43",
        &format!("{multi_op} --op-support-count 1200"),
    );
    assert!(won.tables == run("", multi_op).tables && won.said.is_empty());
    let beside = run(
        &format!("{ON} TT_METAL_PROFILER_ACCUMULATE=1"),
        &format!("{MATMUL} --enable-sum-profiling"),
    );
    assert_eq!(
        beside.said,
        ["kprof: TT_METAL_PROFILER_ACCUMULATE has no effect with --enable-sum-profiling"]
    );
    assert!(beside.tables == run("", &format!("{MATMUL} --enable-sum-profiling")).tables);
}

/// An option, a variable that the option excludes, and the run.
const EXCLUDED: [(&str, &str, &str); 8] = [
    ("--device-trace-profiler", "TT_METAL_PROFILER_ACCUMULATE", TRACES),
    ("--device-trace-profiler", "TT_METAL_DEVICE_PROFILER_DISPATCH", TRACES),
    ("--profile-dispatch-cores", "TT_METAL_TRACE_PROFILER", MATMUL),
    ("--profile-dispatch-cores", "TT_METAL_PROFILER_ACCUMULATE", MATMUL),
    ("--enable-accumulate-profiling", "TT_METAL_TRACE_PROFILER", MATMUL),
    ("--enable-accumulate-profiling", "TT_METAL_DEVICE_PROFILER_DISPATCH", MATMUL),
    ("--enable-accumulate-profiling", "TT_METAL_PROFILER_SUM", MATMUL),
    ("--enable-sum-profiling", "TT_METAL_PROFILER_ACCUMULATE", MATMUL),
];
const TRACES: &str = "run --grid 4x4 --workload trace-replay --ops 2 --replays 2 --json";

#[test]
fn a_mode_by_option_switches_modes_by_variables_off_and_says_so() {
    for (option, variable, args) in EXCLUDED {
        let alone = run("", &format!("{args} {option}"));
        assert_eq!(alone.code, Some(0), "{option}: {:?}", alone.said);
        let both = run(&format!("{ON} {variable}=1"), &format!("{args} {option}"));
        let line = format!("kprof: {variable} has no effect with {option}");
        assert!(both.said.contains(&line), "{line}: {:?}", both.said);
        assert!((both.code, both.tables, both.files) == (alone.code, alone.tables, alone.files));
    }
}

#[test]
fn times_and_groups_of_options_win_over_those_of_variables() {
    let args = "run --grid 2x2 --workload cycle-count --ops 5 --json --read-every 300us";
    let alone = run("", args);
    let dump = "TT_METAL_NOC_DEBUG_DUMP=1 TT_METAL_PROFILER_PROGRAM_SUPPORT_COUNT=1000";
    for variable in [format!("{ON} TT_METAL_PROFILER_MID_RUN_DUMP=1"), dump.to_owned()] {
        let both = run(&variable, args);
        assert_eq!(both.tables["reads"], alone.tables["reads"], "{variable}");
    }
    let fast = "TT_METAL_NOC_DEBUG_DUMP=1 TT_METAL_NOC_DEBUG_POLL_INTERVAL_MS";
    let [none, one] = [0, 1].map(|ms| run(&format!("{fast}={ms}"), MATMUL));
    assert!((none.code, none.tables) == (Some(0), one.tables), "no time is the least there is");
    let folder = run(
        "TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH=FOLDER/noc",
        &format!("{MATMUL} --collect-noc-traces"),
    );
    assert_eq!((folder.noc_traces("noc"), folder.said.len()), (2, 0), "{:?}", folder.said);
    let args = "run --grid 4x4 --workload instructions --ops 1 --json \
                --profiler-capture-perf-counters fpu";
    let [alone, both] = ["", "TT_METAL_PROFILE_PERF_COUNTERS=32"].map(|set| run(set, args));
    assert!(both.tables == alone.tables && both.files == alone.files, "{:?}", both.said);
}

/// Variables of the host's own part, which a simulation does not have.
#[test]
fn variables_of_tracy_and_ttnn_change_no_run() {
    let plain = run("", MATMUL);
    let names = [
        "TT_METAL_DEVICE_PROFILER",
        "TT_METAL_PROFILER_DISABLE_PUSH_TO_TRACY",
        "TT_METAL_PROFILER_TRACE_TRACKING",
        "TTNN_OP_PROFILER",
        "TT_METAL_PROFILER_NO_CACHE_OP_INFO",
    ];
    let left = run(&format!("{}=1", names.join("=1 ")), MATMUL);
    assert!(left == plain, "{:?}", left.said);
}

#[test]
fn commands_look_where_tt_metal_writes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |variable: &str, value: &str, args: &[&str]| {
        let place = folder.path().join("elsewhere");
        fs::create_dir_all(&place).unwrap();
        program().args(args).current_dir(place).env(variable, value).output().unwrap()
    };
    let home = folder.path().join("tt");
    let artifacts = home.join("generated/profiler");
    let args = [MATMUL, " --collect-noc-traces -o ", artifacts.to_str().unwrap()].concat();
    let args: Vec<&str> = args.split_whitespace().collect();
    assert_eq!(program().args(args).output().unwrap().status.code(), Some(0));
    for command in ["report", "noc", "ops", "explain"] {
        let here = artifacts.to_str().unwrap();
        let named = program().args([command, here, "--json"]).output().unwrap();
        assert_eq!(named.status.code(), Some(0), "{command}: {named:?}");
        for (name, value) in
            [("TT_METAL_HOME", home.to_str().unwrap()), ("TT_METAL_PROFILER_DIR", here)]
        {
            let found = at(name, value, &[command, "--json"]);
            assert_eq!(found.status.code(), Some(0), "{command} with {name}: {found:?}");
            assert!(found.stdout == named.stdout, "{command} with {name}");
        }
        let lost = at("TT_METAL_HOME", "/nowhere", &[command, "--json"]);
        assert_eq!(lost.status.code(), Some(2), "{command}");
    }
    let print = ["record", "--", "sh", "-c", "printenv TT_METAL_PROFILER_DIR > ../dir"];
    let recorded = at("TT_METAL_HOME", home.to_str().unwrap(), &print);
    assert!(recorded.status.success(), "{recorded:?}");
    let found = fs::read_to_string(folder.path().join("dir")).unwrap();
    assert_eq!(Path::new(found.trim()), artifacts);
}

/// Input tiles of the first four shapes on one core: blocks times tiles per block.
const TILES_IN: u64 = 8 * 8 + 4 * 16 + 12 * 8 + 2 * 4;
const TILES_OUT: u64 = 16 + 16 + 4 + 4;

#[test]
fn kernels_that_read_and_write_tiles_leave_their_transfers() {
    let pipeline = "pipeline --pipeline tiles=5,reader=200,compute=200,writer=200,barrier=0";
    let cases = [
        ("matmul --ops 4", TILES_IN, TILES_OUT, ["BRISC", "NCRISC"]),
        (pipeline, 4 * 5, 4 * 5, ["NCRISC", "BRISC"]),
    ];
    for (workload, tiles_in, tiles_out, [reader, writer]) in cases {
        for (arch, all_cores) in [("wormhole_b0", 64), ("blackhole", 120)] {
            let cores = full_or(all_cores, 16);
            let grid = if is_full() { "" } else { "--grid 4x4" };
            let what = format!("--workload {workload} --arch {arch} --cores {all_cores} {grid}");
            let folder = tempfile::tempdir().unwrap();
            let args = format!("run {what} --collect-noc-traces -o . --fail-on-loss --json");
            let mut ran = program();
            let ran = ran.args(args.split_whitespace()).current_dir(folder.path());
            let ran = ran.output().unwrap();
            let said = String::from_utf8_lossy(&ran.stderr);
            assert_eq!(ran.status.code(), Some(0), "{what}: {said}");
            let noc = program::kprof(folder.path(), &["noc", ".", "--json"]);
            let noc: Value = serde_json::from_slice(&noc.stdout).unwrap();
            let moved = |kind: &str, risc: &str, network: &str| {
                let events = noc["events"].as_array().unwrap().iter();
                let events = events.filter(|row| {
                    (row["kind"].as_str(), row["risc"].as_str(), row["noc"].as_str())
                        == (Some(kind), Some(risc), Some(network))
                });
                events.fold((0, 0, 0), |(cores, count, bytes), row| {
                    let [more, size] = ["events", "bytes"].map(|name| row[name].as_u64().unwrap());
                    (cores + 1, count + more, bytes + size)
                })
            };
            let network = |risc: &str| if risc == "BRISC" { "NOC_0" } else { "NOC_1" };
            for (kind, risc, tiles) in [("READ", reader, tiles_in), ("WRITE_", writer, tiles_out)] {
                let tiles = tiles * cores;
                // There is a row for each core and op.
                let expected = (4 * cores, tiles, tiles * 2048);
                assert_eq!(moved(kind, risc, network(risc)), expected, "{what} {kind}");
            }
        }
    }
}

#[test]
fn a_workload_without_transfers_says_so() {
    let left = run("", "run --workload multi-op --ops 1 --json --collect-noc-traces");
    assert_eq!(left.code, Some(0));
    assert!(left.said.len() == 1 && left.said[0].contains("no NoC events"), "{:?}", left.said);
}

#[test]
fn traces_of_a_chip_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let trace = folder.path().join("noc_trace_dev0_ID1024.json");
    fs::write(&trace, "[]").unwrap();
    let mut command = program();
    command.args(MATMUL.split_whitespace()).arg("--collect-noc-traces").current_dir(folder.path());
    let refused =
        command.env("TT_METAL_DEVICE_PROFILER_NOC_EVENTS_RPT_PATH", ".").output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(fs::read_to_string(&trace).unwrap(), "[]");
    // A second run replaces the file of the first run.
    fs::remove_file(&trace).unwrap();
    for _ in 0..2 {
        assert_eq!(command.output().unwrap().status.code(), Some(0));
    }
}

/// Every variable is in docs/variables.md and in these tests.
#[test]
fn every_variable_is_in_the_page_and_in_these_tests() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/variables.md");
    let page = fs::read_to_string(page).unwrap();
    let tests =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/variables.rs"));
    let tests = tests.unwrap();
    for variable in VARIABLES {
        assert!(page.contains(&format!("| `{}` |", variable.name)), "{}", variable.name);
        let is_tried = |after: &str| tests.contains(&format!("{}{after}", variable.name));
        assert!(["=", "\""].into_iter().any(is_tried), "{}", variable.name);
    }
}
