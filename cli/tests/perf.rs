//! Tests of `kprof perf`: comparison with the package that it replaces, and damaged files.

use crate::{
    package::{is_installed, python},
    program,
};
use std::{
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

/// Package and version for the comparison; `.ci/run` installs it.
const PACKAGE: &str = "tt-perf-report==1.4.1";

const SAMPLES: [&str; 7] = [
    "tt-perf-report/bh20_oft_integral_image_trace.csv",
    "tt-perf-report/bh_64_clip_encoder_1.csv",
    "tt-perf-report/bh_p100_dlv3.csv",
    "tt-perf-report/ops_perf_results_2025_09_18_11_39_20.csv",
    "tt-forge-fe/ops_perf_results.csv",
    "tt-mlir/ops_perf_results_2024_08_15_17_59_30.csv",
    "ttnn-visualizer/ops_perf_results_SEG_ENCODER_2024_10_04_01_36_08.csv",
];

type Rows = Vec<Vec<String>>;

fn capture(sample: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/captures").join(sample)
}

fn kprof(args: &[&str]) -> Output {
    program::program().arg("perf").args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Script that runs tt-perf-report once for each list of arguments, and prints each run's output.
const RUNS_OF_PACKAGE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/package/tt_perf_report_runs.py");

fn has_package() -> bool {
    is_installed(PACKAGE, "tt_perf_report")
}

/// A requested report: its files and its options.
#[derive(Clone)]
struct Question {
    paths: Vec<PathBuf>,
    options: Vec<String>,
}

impl Question {
    fn new(paths: &[PathBuf], options: &[&str]) -> Self {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        Self { paths: paths.to_vec(), options }
    }

    /// Returns the arguments of two runs: one that writes files, and one that prints the table.
    fn arguments(&self, ops: &Path) -> [Vec<String>; 2] {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut all: Vec<String> = self.paths.iter().map(|path| text(path)).collect();
        all.extend(self.options.clone());
        let with = |more: &[String]| [&all[..], more].concat();
        [with(&["--csv".to_owned(), text(ops)]), with(&["--no-color".to_owned()])]
    }
}

/// Output of a program: table, ops and summary.
struct Answer {
    table: String,
    ops: Rows,
    summary: Option<Rows>,
}

impl Answer {
    fn new(table: String, ops: &Path) -> Self {
        let summary = ops.with_file_name("ops_stacked.csv");
        let summary = summary.exists().then(|| read_csv(&summary));
        Self { table, ops: read_csv(ops), summary }
    }
}

fn ask_package(questions: &[Question]) -> Vec<Answer> {
    let folders: Vec<_> = questions.iter().map(|_| tempfile::tempdir().unwrap()).collect();
    let ops: Vec<_> = folders.iter().map(|folder| folder.path().join("ops.csv")).collect();
    let arguments: Vec<_> =
        questions.iter().zip(&ops).flat_map(|(question, ops)| question.arguments(ops)).collect();
    let mut command = python();
    command.arg(RUNS_OF_PACKAGE).env("MPLBACKEND", "Agg");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    serde_json::to_writer(child.stdin.take().unwrap(), &arguments).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{PACKAGE} failed");
    let printed: Vec<String> = serde_json::from_slice(&output.stdout).unwrap();
    let tables = printed.into_iter().skip(1).step_by(2);
    tables.zip(&ops).map(|(table, ops)| Answer::new(table, ops)).collect()
}

fn ask_kprof(question: &Question) -> Answer {
    let folder = tempfile::tempdir().unwrap();
    let ops = folder.path().join("ops.csv");
    let [for_files, for_table] = question.arguments(&ops);
    let run = |arguments: &[String]| {
        let output = kprof(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(output.status.success(), "{arguments:?} {}", text(&output.stderr));
        text(&output.stdout)
    };
    run(&for_files);
    Answer::new(run(&for_table), &ops)
}

fn read_csv(path: &Path) -> Rows {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).from_path(path).unwrap();
    let cells = |record: csv::StringRecord| record.iter().map(str::to_owned).collect();
    reader.records().map(|record| cells(record.unwrap())).collect()
}

/// Returns the rows of the tables in a text, split into cells, without rules and sums.
fn table_rows(text: &str) -> Rows {
    let mut is_table = false;
    let mut rows = Vec::new();
    for line in text.lines().map(str::trim) {
        is_table = !line.is_empty()
            && (is_table || line.starts_with("ID  ") || line.starts_with("Total %"));
        // The row with the sums has no percentage if no op has a time, unlike the package's.
        let has_sums = line.starts_with("100.0 %    ") || line.contains(" device ops, ");
        if is_table && !line.starts_with("---") && !has_sums {
            rows.push(
                line.split("  ")
                    .map(str::trim)
                    .filter(|cell| !cell.is_empty())
                    .map(str::to_owned)
                    .collect(),
            );
        }
    }
    rows
}

#[track_caller]
fn assert_same(context: &str, expected: &Rows, found: &Rows) {
    assert_eq!(expected.len(), found.len(), "{context}: rows");
    for (expected, found) in expected.iter().zip(found) {
        assert_eq!(expected, found, "{context}");
    }
}

#[test]
fn with_its_mistakes_every_figure_of_the_package_is_met_to_the_last_digit() {
    let variants: [&[&str]; 4] = [
        &[],
        &["--ignore-signposts", "--group-by", "op", "--raw-op-codes"],
        &["--id-range", "10-200", "--group-by", "category", "--no-host-ops"],
        &["--tracing-mode", "--print-signposts", "--arch", "p100"],
    ];
    let of_sample =
        |sample: &str| variants.map(|options| Question::new(&[capture(sample)], options));
    compare(&SAMPLES.map(of_sample).concat());
}

#[test]
fn windows_between_signposts_are_those_of_the_package() {
    let window = |(start, end)| {
        let options = ["--start-signpost", start, "--end-signpost", end, "--print-signposts"];
        Question::new(&[capture(SAMPLES[3])], &options)
    };
    let windows = [
        ("OftNet module started", "OftNet finished"),
        ("OFT block started", "OFT block started"),
        ("Head started", "nowhere"),
    ];
    compare(&windows.map(window));
}

#[test]
fn devices_and_hosts_are_merged_as_by_the_package() {
    let folder = tempfile::tempdir().unwrap();
    let hosts: Vec<PathBuf> = (0..2).map(|host| mesh_of_two(folder.path(), host)).collect();
    compare(&[
        Question::new(&hosts, &["--ignore-signposts"]),
        Question::new(&hosts, &["--ignore-signposts", "--no-merge-devices"]),
    ]);
}

/// Asserts that both programs give the same answers if kprof reproduces the package's bugs.
fn compare(questions: &[Question]) {
    if !has_package() {
        return;
    }
    let quiet = |question: &Question| {
        let mut question = question.clone();
        question.options.push("--no-advice".to_owned());
        question
    };
    let questions: Vec<_> = questions.iter().map(quiet).collect();
    for (question, theirs) in questions.iter().zip(ask_package(&questions)) {
        let mut exact = question.clone();
        exact.options.push("--upstream-exact".to_owned());
        let ours = ask_kprof(&exact);
        let context = format!("{:?} {:?}", question.paths, question.options);
        assert_same(&context, &theirs.ops, &ours.ops);
        let Some(mut summary) = theirs.summary else {
            // For an empty report the package writes no summary, but kprof writes the header.
            assert_eq!(ours.summary.map(|rows| rows.len()), Some(1), "{context}");
            continue;
        };
        if theirs.ops[1..].iter().all(|row| row[5].is_empty()) {
            // If no row has a time, the package prints the sums as integers, such as 0 instead of
            // 0.00.
            for row in &mut summary[1..] {
                [0, 2].into_iter().for_each(|at| row[at] += ".00");
            }
        }
        assert_same(&context, &summary, &ours.summary.unwrap());
        let (mut theirs, mut ours) = (table_rows(&theirs.table), table_rows(&ours.table));
        if question.options.iter().any(|option| option == "--no-merge-devices") {
            // For each device, the package sorts its summary by the text of the percentages, so 9 %
            // precedes 76 %.
            theirs.sort();
            ours.sort();
        }
        assert_same(&context, &theirs, &ours);
    }
}

/// Writes the ops of a host with two devices. Each op of a sample ran on both devices, but every
/// 50th row of the second device is missing.
///
/// No two rows begin at the same time, and hardly two have the same duration, because the package
/// does not define the order of equal rows.
fn mesh_of_two(folder: &Path, host: usize) -> PathBuf {
    let mut reader = csv::Reader::from_path(capture(SAMPLES[0])).unwrap();
    let titles = reader.headers().unwrap().clone();
    let at = |wanted: &str| titles.iter().position(|title| title == wanted).unwrap();
    let [device, duration] = ["DEVICE ID", "DEVICE KERNEL DURATION [ns]"].map(at);
    let [op_code, op_type, start] = ["OP CODE", "OP TYPE", "HOST START TS"].map(at);
    let path = folder.join(format!("host{host}.csv"));
    let mut writer = csv::Writer::from_path(&path).unwrap();
    writer.write_record(&titles).unwrap();
    for (index, record) in reader.records().enumerate() {
        let row: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
        let is_op = row[op_type] == "tt_dnn_device";
        for number in 0..if is_op && index % 50 != 9 { 2 } else { 1 } {
            let mut cells = row.clone();
            let place = 2 * host + number;
            cells[start] = (cells[start].parse::<usize>().unwrap() + place).to_string();
            if is_op {
                let percent = 90 + (index * 13 + place * 5) % 21;
                let nanoseconds = cells[duration].parse::<usize>().unwrap() * percent / 100;
                cells[duration] = (nanoseconds + 37 * place).to_string();
                cells[device] = number.to_string();
            }
            if is_op && index % 7 == 3 {
                cells[op_code] = "AllGatherAsync".to_owned();
            }
            writer.write_record(&cells).unwrap();
        }
    }
    writer.flush().unwrap();
    path
}

/// Subjects of advice, each with the wording of the package and of kprof.
const SUBJECTS: [(&str, &str, &str); 5] = [
    ("memory", "If possible place input 0 in L1", "Place input 0 in L1"),
    ("program config", "No program_config specified", "Give a program_config"),
    ("blocks", "look good", "Blocks look good"),
    ("grid", "Increase grid size", "Use more cores"),
    ("fidelity", "is recommended for accuracy", "to keep all bits of the inputs"),
];

#[test]
fn matmuls_get_advice_on_the_subjects_on_which_the_package_gives_it() {
    if !has_package() {
        return;
    }
    let questions = [SAMPLES[2], SAMPLES[3]].map(|sample| {
        Question::new(&[capture(sample)], &["--arch", "wormhole", "--ignore-signposts"])
    });
    let mut counts = [0; SUBJECTS.len()];
    for (question, theirs) in questions.iter().zip(ask_package(&questions)) {
        let mut exact = question.clone();
        exact.options.push("--upstream-exact".to_owned());
        let ours = ask_kprof(&exact);
        assert_eq!(theirs.ops.len(), ours.ops.len());
        for (theirs, ours) in theirs.ops[1..].iter().zip(&ours.ops[1..]) {
            for ((subject, their_words, our_words), count) in SUBJECTS.iter().zip(&mut counts) {
                let is_given = theirs[26].contains(their_words);
                let is_ours = ours[26].contains(our_words);
                // The package advises a larger grid only in some of the cases with few cores.
                let is_more = *subject == "grid" && is_ours;
                assert!(is_given == is_ours || is_more, "{subject}: {theirs:?} {ours:?}");
                *count += usize::from(is_given);
            }
        }
    }
    // The samples have advice on each subject.
    assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
}

/// Returns true for columns in which kprof's figures of an op differ by default, with a known
/// reason.
fn explained((title, cell): (&str, &str), row: &[String]) -> bool {
    let has_block_floats = row.iter().any(|cell| cell.contains("BFP8") || cell.contains("BFP4"));
    match title {
        // Exponents of block floats use DRAM bandwidth, so an op may be bound by DRAM. kprof knows the
        // bytes of more kinds of ops than the package.
        "Bound" | "DRAM" | "DRAM %" => has_block_floats || cell.is_empty(),
        // The first op of a chip follows none, also after ops of the host. Its gap in the file is 0.
        "Op-to-Op Gap" => cell == "0.0",
        // kprof leaves missing values blank, and prints call counts as integers.
        "Output Datatype" | "Input 0 Datatype" | "Input 1 Datatype" | "Global Call Count" => true,
        // Files of 2024 spell two attributes differently, and those of 2026 lack flags of convolutions
        // that the package takes for set.
        "OP Code" => row[3].contains("[ABH=") || row[3].contains(" p=x "),
        // The programs word their advice differently; another test compares the subjects.
        "Advice" => true,
        _ => false,
    }
}

#[test]
fn by_default_figures_differ_only_where_the_package_is_wrong() {
    if !has_package() {
        return;
    }
    let question = |sample: &&str| {
        // The architecture is given because the package treats an unnamed architecture as Wormhole.
        // The window is given because a closing signpost empties the package's report.
        let arch = if sample.contains("bh_") { "blackhole" } else { "wormhole" };
        Question::new(&[capture(sample)], &["--ignore-signposts", "--arch", arch])
    };
    let questions: Vec<_> = SAMPLES[1..].iter().map(question).collect();
    for (question, theirs) in questions.iter().zip(ask_package(&questions)) {
        let ours = ask_kprof(question);
        let titles = &theirs.ops[0];
        // Behind the package's columns, kprof keeps those of other tools, which tt-mlir has added.
        let (own, others) = ours.ops[0].split_at(titles.len());
        assert_eq!((theirs.ops.len(), &titles[..]), (ours.ops.len(), own));
        assert!(others.iter().all(|title| title == "LOC"), "{others:?}");
        for (theirs, ours) in theirs.ops[1..].iter().zip(&ours.ops[1..]) {
            for (at, title) in titles.iter().enumerate() {
                let is_same = theirs[at] == ours[at];
                assert!(
                    is_same || explained((title, &theirs[at]), theirs),
                    "{title} {theirs:?} {ours:?}"
                );
            }
        }
    }
}

#[test]
fn an_architecture_that_is_not_named_is_found_by_its_clock() {
    let path = capture(SAMPLES[3]);
    let output = kprof(&[path.to_str().unwrap(), "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["chip"]["arch"]["name"], "blackhole");
    // The closing signpost does not hide the ops: 671 rows, of which 50 are signposts.
    assert_eq!(report["totals"]["device_op_count"], 621);
    assert_eq!(report["problems"].as_array().unwrap().len(), 0);
}

#[test]
fn exponents_of_block_floats_count_as_bytes() {
    // A row with three BFLOAT8_B tensors, one of which is in DRAM.
    let path = capture(SAMPLES[6]);
    let speed = |args: &[&str]| {
        let args: Vec<&str> =
            [path.to_str().unwrap(), "--json"].iter().chain(args).copied().collect();
        let report: serde_json::Value = serde_json::from_slice(&kprof(&args).stdout).unwrap();
        let rows = report["rows"].as_array().unwrap();
        rows.iter().find(|row| row["id"] == 492).unwrap()["dram_gb_per_s"].as_f64().unwrap()
    };
    let ratio = speed(&[]) / speed(&["--upstream-exact"]);
    assert!((ratio - 1088.0 / 1024.0).abs() < 1e-12, "{ratio}");
}

#[test]
fn damaged_files_are_reported_with_each_problem_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ops.csv");
    let sample = std::fs::read_to_string(capture(SAMPLES[4])).unwrap();
    let mut lines: Vec<String> = sample.lines().map(str::to_owned).collect();
    lines[2] = lines[2].replacen("tt_dnn_device", "tt_dnn_device,extra", 1);
    let half = lines[4].len() / 2;
    lines[4].truncate(half);
    lines[6] = lines[6].replacen(",64,", ",many,", 1);
    std::fs::write(&path, lines.join("\r\n")).unwrap();
    let output = kprof(&[path.to_str().unwrap(), "--no-color"]);
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    for wanted in ["line 3:", "line 5:", "line 7, column CORE COUNT", "Lines left out: 1"] {
        assert_eq!(shown.matches(wanted).count(), 1, "{wanted} in\n{shown}");
    }
    // Five of six ops remain.
    assert!(shown.contains("5 device ops"), "{shown}");
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    let path = capture(SAMPLES[4]);
    let path = path.to_str().unwrap();
    let is_coloured = |args: &[&str]| {
        let args: Vec<&str> = [path].iter().chain(args).copied().collect();
        kprof(&args).stdout.contains(&0x1b)
    };
    assert!(!is_coloured(&[]));
    assert!(is_coloured(&["--color"]));
    assert!(!is_coloured(&["--color", "--no-color"]));
}

#[test]
fn wrong_files_and_words_are_refused_in_a_sentence() {
    let log = capture("mesham-tt-sim/blackhole-noc-256/profile_log_device.csv");
    let path = capture(SAMPLES[4]);
    let sample = path.to_str().unwrap();
    for (args, sentence) in [
        (vec![log.to_str().unwrap()], "found a device log, "),
        (vec!["absent.csv"], "at absent.csv, found nothing there"),
        (vec![sample, "--arch", "quasar"], "choose from wormhole"),
        (vec![sample, "--id-range", "x"], "expected 5-10, 31- or -12"),
    ] {
        let output = kprof(&args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains(sentence), "{}", text(&output.stderr));
    }
}

#[test]
fn the_older_name_of_the_option_for_the_first_signpost_means_the_same() {
    let of_option = |option: &str| {
        let sample = capture(SAMPLES[3]);
        let output = kprof(&[sample.to_str().unwrap(), option, "OftNet module started"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        output.stdout
    };
    let found = of_option("--signpost");
    assert!(!found.is_empty());
    assert_eq!(found, of_option("--start-signpost"));
}

/// In place of the PNG of tt-perf-report, kprof writes an SVG with the same parts.
#[test]
fn the_summary_is_written_as_a_picture_too() {
    let sample = capture("ttnn-visualizer/ops_perf_results_SEG_ENCODER_2024_10_04_01_36_08.csv");
    let sample = sample.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let picture = |name: &str, options: &[&str]| {
        let output = kprof(&[&[sample], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        std::fs::read_to_string(path(name)).unwrap()
    };
    let of_csv = picture("ops_stacked.svg", &["--csv", &path("ops.csv")]);
    let summary = picture("sum.svg", &["--summary-file", &path("sum")]);
    assert_eq!(of_csv, summary);
    // tt-perf-report 1.4.1 gives the share as 80.47 %.
    assert!(summary.contains("TilizeWithValPadding (in0:dram_interleaved) 80.5 %"), "{summary}");
    let classic = picture("old.svg", &["--stacked-csv", &path("old"), "--classic-colors"]);
    assert_ne!(classic, summary);
    let none = kprof(&[sample, "--summary-file", &path("none"), "--no-summary"]);
    assert!(none.status.success() && !folder.path().join("none.svg").exists());
}

/// tt-perf-report 1.4.1 accepts the option and ignores it.
#[test]
fn the_exact_summary_is_stacked_by_memory_whatever_is_asked() {
    let sample = capture("ttnn-visualizer/ops_perf_results_SEG_ENCODER_2024_10_04_01_36_08.csv");
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("sum");
    let arguments = [sample.to_str().unwrap(), "--no-stack-by-in0", "--summary-file"];
    let summary = |more: &[&str]| {
        let arguments = [&arguments[..], &[base.to_str().unwrap()], more].concat();
        assert!(kprof(&arguments).status.success());
        std::fs::read_to_string(base.with_extension("csv")).unwrap()
    };
    assert!(summary(&["--upstream-exact"]).contains("(in0:dram_interleaved)"));
    assert!(!summary(&[]).contains("(in0:dram_interleaved)"));
}

/// Returns a folder in which TT-Metal left only its report on the device.
fn device_report_alone() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join(".logs");
    std::fs::create_dir(&logs).unwrap();
    let report = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/captures/written/f6_cpp_device_perf_report.csv");
    std::fs::copy(report, logs.join("cpp_device_perf_report.csv")).unwrap();
    folder
}

#[test]
fn the_report_on_the_device_alone_is_read_by_perf_explain_and_ops() {
    let folder = device_report_alone();
    let path = folder.path().display().to_string();
    // Name, kernel time and gap of each row, copied from the file.
    let expected = [
        ("MatmulDeviceOperation", 23.222, 0.0),
        ("LayerNormDeviceOperation", 27.875, 171.438),
        ("SoftmaxDeviceOperation", 5.164, 19.788),
    ];
    let rows_of = |input: &str| {
        let output = program::kprof(folder.path(), &["perf", input, "--json"]);
        assert!(output.status.success(), "{output:?}");
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = document["rows"].as_array().unwrap().iter().map(|row| {
            let number = |name: &str| row[name].as_f64().unwrap_or(0.0);
            let name = row["raw_op_code"].as_str().unwrap().to_owned();
            (name, number("device_time_us"), number("op_to_op_gap_us"))
        });
        rows.collect::<Vec<_>>()
    };
    let expected: Vec<_> = expected.map(|(name, time, gap)| (name.to_owned(), time, gap)).into();
    assert_eq!(rows_of(&path), expected);
    let output = program::kprof(folder.path(), &["explain", &path]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && told.contains("LayerNormDeviceOperation takes"), "{told}");
    assert!(!told.contains("program_config"), "{told}");
    let output = program::kprof(folder.path(), &["ops", &path, "-o", "made"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(rows_of("made/reports/ops_perf_results.csv"), expected);
    // What has only zones can be shown from a device log alone.
    let output = program::kprof(folder.path(), &["report", &path]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("`kprof perf ") && told.contains("`kprof explain "), "{told}");
}

/// Names, numbers of ops and device times in us, by hand from the file: times of one location are
/// those of its rows, and the column is not TT-Metal's.
#[test]
fn columns_of_other_tools_are_shown_and_group_ops() {
    let path = capture("tt-forge-fe/ops_perf_results.csv");
    let path = path.to_str().unwrap();
    let json = |args: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&kprof(args).stdout).unwrap()
    };
    let document = json(&[path, "--by", "loc", "--json"]);
    assert_eq!(document["by"]["column"], "LOC");
    let groups: Vec<_> = document["by"]["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| {
            let place = group["value"].as_str().unwrap().rsplit_once("mlir\":").unwrap().1;
            (place, group["op_count"].as_u64().unwrap(), group["device_time_us"].as_f64().unwrap())
        })
        .collect();
    let expected = [
        ("15:14)", 1, 20.924),
        ("20:14)", 1, 4.777),
        ("24:14)", 1, 4.195),
        ("18:14)", 1, 3.088),
        ("16:14)", 1, 2.567),
        ("22:14)", 1, 2.383),
    ];
    assert_eq!(groups, expected);
    let total = document["by"]["total"]["device_time_us"].as_f64().unwrap();
    assert!((total - document["totals"]["device_time_us"].as_f64().unwrap()).abs() < 1e-6);
    assert_eq!(document["rows"][0]["others"]["LOC"], r#"loc("mnist_linear_out.mlir":15:14)"#);
    let table = text(&kprof(&[path]).stdout);
    assert!(
        table.contains("Math Fidelity") && table.contains(r#"loc("mnist_linear_out.mlir":15:14)"#)
    );
    // tt-perf-report shows no such column.
    assert!(!text(&kprof(&[path, "--upstream-exact"]).stdout).contains("LOC"));
    // Any column groups ops, also one that the report reads.
    let by_name = json(&[path, "--by", "op_code", "--json"]);
    assert_eq!(by_name["by"]["groups"][0]["value"], "Matmul");
    assert_eq!(by_name["by"]["groups"][0]["op_count"], 2);
    let refused = kprof(&[path, "--by", "layer"]);
    assert_eq!(refused.status.code(), Some(2));
    let said = text(&refused.stderr);
    assert!(said.contains("to group by, found layer; its columns are OP CODE, OP TYPE"), "{said}");
}

/// tt-mlir writes a second report, without the ops of constants, beside the first. Another tool's
/// documentation names the report on the device in the folder of a date.
#[test]
fn reports_of_a_folder_that_are_not_read_are_said_and_those_of_a_date_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let sample = std::fs::read(captures::capture_path("tt-forge-fe/ops_perf_results.csv")).unwrap();
    let names = ["ops_perf_results.csv", "ops_perf_results_minus_const_eval.csv"];
    std::fs::write(folder.path().join(names[0]), &sample).unwrap();
    let errors = |command: &str| {
        let output = program::kprof(folder.path(), &[command, "."]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(!errors("explain").contains("not read"));
    std::fs::write(folder.path().join(names[1]), &sample).unwrap();
    for command in ["explain", "perf"] {
        let said = errors(command);
        assert!(said.contains("1 other ops CSV in . not read; name a file to read it"), "{said}");
    }
    let device = captures::capture_path("written/f6_cpp_device_perf_report.csv");
    let date = folder.path().join("run/reports/2026_01_01");
    std::fs::create_dir_all(&date).unwrap();
    std::fs::copy(device, date.join("cpp_device_perf_report.csv")).unwrap();
    let output = program::kprof(folder.path(), &["explain", "run"]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("cpp_device_perf_report.csv, 3 ops"), "{said}");
}
