//! Ops CSVs of real models: the first findings, and properties of every available recording.

use crate::{honest::assert_honest, whole::assert_whole};
use captures::{capture_path, log_of_json, log_path};
use causes::{Cause, Explanation, SteadyRule, TimeClass, Window};
use recording::device_log::PackedLog;
use reports::perf::{PerfReport, read_ops_csv};
use std::{fmt::Write, path::PathBuf};

const CSVS: [&str; 7] = [
    "tt-forge-fe/ops_perf_results.csv",
    "tt-mlir/ops_perf_results_2024_08_15_17_59_30.csv",
    "tt-perf-report/bh20_oft_integral_image_trace.csv",
    "tt-perf-report/bh_64_clip_encoder_1.csv",
    "tt-perf-report/bh_p100_dlv3.csv",
    "tt-perf-report/ops_perf_results_2025_09_18_11_39_20.csv",
    "ttnn-visualizer/ops_perf_results_SEG_ENCODER_2024_10_04_01_36_08.csv",
];

fn explain_window(path: &str, window: Window) -> Explanation {
    let file = std::fs::File::open(capture_path(path)).unwrap();
    let csv = read_ops_csv(file, path).unwrap();
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
    Explanation::from_perf_window(&report, window)
}

fn explain_csv(path: &str) -> Explanation {
    explain_window(path, Window::Steady)
}

/// Sentences whose percentages match the stacked report of tt-perf-report 1.4.1 for the same rows.
/// For the second file, these rows are selected by `--id-range 332-661`.
const LARGEST_GROUPS: [(&str, &str); 5] = [
    ("tt-perf-report/bh20_oft_integral_image_trace.csv", "PermuteDeviceOperation 80.7 %"),
    (
        "tt-perf-report/bh_64_clip_encoder_1.csv",
        "MinimalMatmulOp takes 44.5 % of the kernels' time (72 ops, 1.6 ms) at 4 %",
    ),
    ("tt-perf-report/bh_p100_dlv3.csv", "Conv2dDeviceOperation takes 29.6 %"),
    (
        "tt-perf-report/ops_perf_results_2025_09_18_11_39_20.csv",
        "ReshapeDeviceOperation 46.8 %, TilizeWithValPadding 12.3 %",
    ),
    (
        "ttnn-visualizer/ops_perf_results_SEG_ENCODER_2024_10_04_01_36_08.csv",
        "TilizeWithValPadding 82.0 %",
    ),
];

#[test]
fn the_largest_groups_are_those_of_tt_perf_report() {
    for (path, words) in LARGEST_GROUPS {
        let findings = explain_csv(path).findings;
        assert!(findings.iter().any(|of| of.sentence.contains(words)), "{path}: {findings:#?}");
    }
}

#[test]
fn the_last_iteration_is_told_apart_from_the_run_that_compiles() {
    let steady = |path: &str| explain_csv(path).steady;
    let clip = steady("tt-perf-report/bh_64_clip_encoder_1.csv").unwrap();
    // Rows 2 to 331 and 332 to 661 run the same ops on the same shapes.
    assert_eq!((clip.first_row, clip.last_row, clip.op_count), (Some(332), Some(661), 330));
    assert_eq!(clip.rule, SteadyRule::RepeatedOps);
    let image = steady("tt-perf-report/bh20_oft_integral_image_trace.csv").unwrap();
    assert_eq!((image.rule, image.op_count), (SteadyRule::Signpost, 7));
    assert_eq!(steady("tt-perf-report/bh_p100_dlv3.csv"), None, "nothing repeats");
}

#[test]
fn all_rows_are_explained_if_asked_for() {
    let clip = "tt-perf-report/bh_64_clip_encoder_1.csv";
    let all = explain_window(clip, Window::All);
    assert_eq!((all.steady, all.devices[0].op_count), (None, 660));
    assert!(all.window.unwrap().starts_with("All rows"));
    // 9.44 s of gaps and 7.3 ms of kernels, computed by a script.
    assert!(all.devices[0].time.percent(TimeClass::HostLate) > 99.8);
    let steady = explain_csv(clip).window.unwrap();
    assert!(steady.contains("rows 332 to 661"), "{steady}");
    let none = explain_csv("tt-perf-report/bh_p100_dlv3.csv").window.unwrap();
    assert!(none.starts_with("No second iteration"), "{none}");
}

#[test]
fn conversions_that_are_undone_at_once_are_found_in_a_real_model() {
    // A script over the file found 31 such pairs of neighbouring ops, with 90.4 % of the kernels'
    // time: 26 of layouts, 2 of shards, and 3 transpositions of the same sides.
    let path = "ttnn-visualizer/ops_perf_results_SEG_ENCODER_2024_10_04_01_36_08.csv";
    let findings = explain_csv(path).findings;
    let trip = findings.iter().find(|of| of.cause == Cause::RoundTrip).unwrap();
    assert!(trip.sentence.contains("90.4 % of the kernels' time (31 pairs"), "{}", trip.sentence);
}

#[test]
fn every_recording_there_is_is_explained_in_order_and_within_its_classes() {
    for path in CSVS {
        for window in [Window::Steady, Window::All] {
            let explanation = explain_window(path, window);
            assert_honest(&explanation, path);
            if !explanation.devices.is_empty() {
                assert_whole(&explanation, path);
            }
        }
    }
    for log in std::fs::read_dir(capture_path("mesham-tt-sim")).unwrap() {
        let log: PathBuf = log.unwrap().path().join("profile_log_device.csv");
        if log.exists() {
            let (_, explanation) = Explanation::from_log(PackedLog::open(&log).unwrap()).unwrap();
            assert_honest(&explanation, &log.display().to_string());
        }
    }
    let json = PackedLog::read(log_of_json().as_bytes(), "json").unwrap();
    assert_honest(&Explanation::from_log(json).unwrap().1, "json");
    for capture in ["v1.0", "v1.1", "v1.2", "v1.3", "v1.4", "v1.5"] {
        let path = capture_path(&format!("kprof/{capture}.kprof"));
        for recording in recording::load(&path).unwrap().recordings {
            assert_honest(&Explanation::from_recording(&recording), capture);
        }
    }
}

fn told(explanation: &Explanation) -> String {
    let mut text = String::new();
    let window = explanation.window.as_deref().unwrap_or("");
    writeln!(text, "{window}").unwrap();
    explanation.time_sums.iter().for_each(|sum| writeln!(text, "{sum}").unwrap());
    if let Some(no_cause) = &explanation.no_cause {
        writeln!(text, "{}", no_cause.sentence).unwrap();
        no_cause.measured.iter().for_each(|fact| writeln!(text, "   measured: {fact}").unwrap());
        writeln!(text, "   where: {}", no_cause.location).unwrap();
        writeln!(text, "   record next: {}", no_cause.record_next).unwrap();
    }
    for (number, finding) in (1..).zip(explanation.findings.iter().take(3)) {
        writeln!(text, "{number}. {}", finding.sentence).unwrap();
        finding.why.iter().for_each(|fact| writeln!(text, "   why: {fact}").unwrap());
        writeln!(text, "   where: {}", finding.location).unwrap();
        writeln!(text, "   to gain: {}", explanation.gain_text(finding)).unwrap();
        writeln!(text, "   try: {}", finding.advice).unwrap();
    }
    text
}

/// Checks the first findings of each real recording, with their evidence. Each figure was compared
/// with tt-perf-report 1.4.1 or with a script over the file when it was written here.
#[test]
fn the_first_three_sentences_of_each_real_recording_are_those_written_down() {
    let mut found = String::new();
    for path in CSVS {
        writeln!(found, "# {path}\n{}", told(&explain_csv(path))).unwrap();
    }
    for log in ["wormhole-counters-elw", "wormhole-noc-4096", "blackhole-noc-256"] {
        let (_, explanation) =
            Explanation::from_log(PackedLog::open(log_path(log)).unwrap()).unwrap();
        writeln!(found, "# {log}\n{}", told(&explanation)).unwrap();
    }
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/first_sentences.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(golden, &found).unwrap();
    }
    let expected = std::fs::read_to_string(golden).unwrap();
    assert_eq!(found, expected, "BLESS=1 writes the sentences down");
}

/// Every finding names its first row, except findings about gaps before launches, which concern all
/// rows.
#[test]
fn each_sentence_says_where() {
    for path in CSVS {
        for finding in explain_csv(path).findings {
            let has_rows = finding.place.row.is_some()
                && (finding.rows.is_empty() || finding.place.row == finding.rows.first().copied());
            assert!(has_rows || finding.cause == Cause::Dispatch, "{path}: {finding:#?}");
        }
    }
    let host = explain_csv(CSVS[6]).findings.into_iter().find(|of| of.cause == Cause::HostOps);
    // The first three rows of the file with the type `python_fallback`.
    assert_eq!(host.unwrap().rows, host_rows(CSVS[6])[..3]);
}

/// Returns the rows of a file's ops on the host, as a spreadsheet counts them.
fn host_rows(path: &str) -> Vec<u64> {
    let text = std::fs::read_to_string(capture_path(path)).unwrap();
    let rows = (1..).zip(text.lines());
    rows.filter(|(_, row)| row.contains(",python_fallback,")).map(|(row, _)| row).collect()
}

/// Explains ops of 10 us, 20 us apart, on these chips.
fn explain_chips(title: &str, chips: &[&str]) -> Explanation {
    let mut text =
        format!("OP CODE,OP TYPE,{title},DEVICE KERNEL DURATION [ns],OP TO OP LATENCY [ns]\n");
    for (number, chip) in chips.iter().enumerate() {
        writeln!(text, "Op{number},tt_dnn_device,{chip},10000,20000").unwrap();
    }
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
    Explanation::from_perf_window(&report, Window::All)
}

/// The chip of rows without a device number is unknown, and is not chip 0.
#[test]
fn a_chip_without_a_number_is_unknown() {
    let chips = |explanation: &Explanation| -> Vec<_> {
        explanation.devices.iter().map(|of| (of.chip_id, of.op_count)).collect()
    };
    let question = |explanation: &Explanation| {
        let untold = explanation.untold.iter().find(|of| of.question == "which chip ran an op");
        untold.map(|of| of.reason.clone())
    };
    let numbered = explain_chips("DEVICE ID", &["0", "0", "0"]);
    assert_eq!((chips(&numbered), question(&numbered)), (vec![(Some(0), 3)], None));
    let unnumbered = explain_chips("X", &["", "", ""]);
    let reason = Some("3 of 3 ops have no device number".to_owned());
    assert_eq!((chips(&unnumbered), question(&unnumbered)), (vec![(None, 3)], reason));
    assert_eq!(unnumbered.findings[0].sentence, numbered.findings[0].sentence);
    assert!(unnumbered.findings.iter().all(|of| of.place.chip_id.is_none()));
    let mixed = explain_chips("DEVICE ID", &["0", "0", "", "1"]);
    let expected = vec![(None, 1), (Some(0), 2), (Some(1), 1)];
    let reason = Some("1 of 4 ops have no device number".to_owned());
    assert_eq!((chips(&mixed), question(&mixed)), (expected, reason));
}

fn without_lengths(text: &str) -> causes::NoCause {
    let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
    Explanation::from_perf_report(&report).no_cause.unwrap()
}

/// Files of TT-Metal without a device log have the host's columns only.
#[test]
fn a_csv_without_lengths_names_the_column_and_what_the_host_did() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,HOST DURATION [ns],DEVICE KERNEL DURATION [ns]";
    let rows = "\nMatmul,tt_dnn_device,0,3000,\nSoftmax,tt_dnn_device,0,1000,\n";
    let empty = without_lengths(&format!("{titles}{rows}"));
    assert_eq!(
        empty.sentence,
        "No op has a known duration: DEVICE KERNEL DURATION [ns] has no usable value in 2 of 2 rows of ops"
    );
    assert_eq!(
        empty.measured,
        [
            "DEVICE FW DURATION [ns], DEVICE FW START CYCLE and the kernels' times of RISCs and cores are empty, too",
            "the host took 4.0 us for 2 calls of ops: Matmul 75.0 %, Softmax 25.0 %",
        ]
    );
    assert_eq!(empty.location, "op Matmul, row 2");
    assert!(empty.record_next.contains("TT_METAL_DEVICE_PROFILER=1"), "{}", empty.record_next);
    assert!(!empty.record_next.contains("twice"), "nothing is known of compilation");
    let titles = "OP CODE,OP TYPE,DEVICE ID,HOST DURATION [ns],CompileProgram_TT_HOST_FUNC [ns],\
                  DEVICE FW START CYCLE";
    let missing = without_lengths(&format!("{titles}\nMatmul,tt_dnn_device,0,4000,1000,77\n"));
    assert!(missing.sentence.ends_with("the file has no column DEVICE KERNEL DURATION [ns]"));
    assert_eq!(
        missing.measured,
        [
            "DEVICE FW START CYCLE has 1 of 1 values",
            "the host took 4.0 us for 1 call of ops: Matmul 100.0 %",
            "25.0 % of that is the compilation of kernels, as in a first run",
        ]
    );
    assert!(missing.record_next.contains("use the file with this column"));
    let titles = titles.replace(",DEVICE FW START CYCLE", "");
    let missing = without_lengths(&format!("{titles}\nMatmul,tt_dnn_device,0,4000,1000\n"));
    assert!(missing.record_next.ends_with("only the first run compiles"));
    let nothing = without_lengths("OP CODE,OP TYPE\nstart,signpost\n");
    assert!(nothing.sentence.starts_with("This file has no op of a chip"), "{nothing:?}");
}

/// A share of ops of which some have no duration is one of the known time.
#[test]
fn shares_beside_missing_durations_are_of_the_known_time() {
    let told = |last: &str| {
        let text = format!(
            "OP CODE,OP TYPE,DEVICE ID,DEVICE KERNEL DURATION [ns]\nTopK,tt_dnn_device,0,9000\n\
             Softmax,tt_dnn_device,0,1000\nSoftmax,tt_dnn_device,0,{last}\n"
        );
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
        Explanation::from_perf_report(&report).findings[0].sentence.clone()
    };
    assert!(told("").starts_with("TopK takes 90.0 % of the known kernels' time (1 op, "));
    assert!(told("0").starts_with("TopK takes 90.0 % of the kernels' time (1 op, "));
}

/// Of 1x48x160x256 and 160x48x1x256 in tiles, the latter is padded to 160x48x32x256: 64.9 M elements, of which
/// 3.9 M are the program's. Where the short side is not among the last two, nothing is padded.
#[test]
fn moved_padding_is_told_with_its_share() {
    let titles = "OP CODE,OP TYPE,DEVICE ID,DEVICE ARCH,CORE COUNT,DEVICE KERNEL DURATION [ns]";
    let sides = |name: &str| {
        ["W", "Z", "Y", "X"].map(|side| format!(",{name}_{side}_PAD[LOGICAL]")).concat()
            + &format!(",{name}_LAYOUT,{name}_DATATYPE,{name}_MEMORY")
    };
    let why = |op: &str, output: &str, layout: &str| {
        let kind = format!("{layout},BFLOAT16,DEV_0_DRAM_INTERLEAVED");
        let text = format!(
            "{titles}{}{}\n{op},tt_dnn_device,0,wormhole_b0,64,900000,1[1],48[48],160[160],256[256],{kind},\
             {output},{kind}\n",
            sides("INPUT_0"),
            sides("OUTPUT_0"),
        );
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
        let found = Explanation::from_perf_report(&report);
        let told = found.findings.into_iter().flat_map(|of| of.why);
        told.filter(|fact| fact.contains("padding")).collect::<Vec<_>>()
    };
    let padded = "160[160],48[48],32[1],256[256]";
    let told = why("PermuteDeviceOperation", padded, "TILE");
    let [fact] = told.as_slice() else { panic!("{told:?}") };
    assert!(fact.contains("94 % of the elements of its tiles are padding"), "{fact}");
    assert!(why("PermuteDeviceOperation", padded, "ROW_MAJOR").is_empty());
    assert!(why("PermuteDeviceOperation", "48[48],1[1],160[160],256[256]", "TILE").is_empty());
    assert!(why("PermuteDeviceOperation", "160,48,32,256", "TILE").is_empty(), "unknown");
    assert!(why("SoftmaxDeviceOperation", padded, "TILE").is_empty(), "it computes");
}

/// By hand: three iterations of 202 us, and 50 ms between the first two, of which the gap says nothing: the rows of
/// this time are not in the file.
#[test]
fn rows_that_are_missing_before_the_last_iteration_are_told() {
    let explained = |missing_cycles: u64| {
        let mut text =
            "OP CODE,OP TYPE,GLOBAL CALL COUNT,DEVICE ID,DEVICE ARCH,DEVICE FW START CYCLE,\
                        DEVICE FW END CYCLE,DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns],\
                        OP TO OP LATENCY [ns]\n"
                .to_owned();
        let mut start = 1_000_000;
        for call in 0..6 {
            let name = ["MatmulDeviceOperation", "SoftmaxDeviceOperation"][call % 2];
            // 1 GHz.
            let end = start + 100_000;
            text += &format!(
                "{name},tt_dnn_device,{call},0,wormhole_b0,{start},{end},100000,99000,1000\n"
            );
            start = end + 1000 + if call == 1 { missing_cycles } else { 0 };
        }
        let csv = read_ops_csv(text.as_bytes(), "ops.csv").unwrap();
        let report = PerfReport::new(vec![csv], &Explanation::report_options()).unwrap();
        Explanation::from_perf_report(&report)
    };
    let told = |of: &Explanation| {
        of.not_used.iter().any(|note| note.contains("rows between them are missing"))
    };
    let (whole, cut) = (explained(0), explained(50_000_000));
    assert!(whole.steady.is_some() && cut.steady.is_some());
    assert!(!told(&whole), "{:?}", whole.not_used);
    assert!(told(&cut), "{:?}", cut.not_used);
    let span = "span 50.6 ms by their cycles";
    assert!(cut.not_used.iter().any(|note| note.contains(span)), "{:?}", cut.not_used);
}
