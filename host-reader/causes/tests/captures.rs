//! Real device logs and ops CSVs: their time adds up, and none has a cause that is not there.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use captures::{capture_path, log_of_json, log_path};
use causes::{Cause, Explanation, SteadyRule, TimeClass};
use recording::device_log::PackedLog;
use reports::perf::{PerfOptions, PerfReport, WindowOptions, read_ops_csv};

fn assert_whole(explanation: &Explanation, what: &str) {
    let devices = explanation.devices.iter().map(|device| &device.time);
    let phases = explanation.phases.iter().flat_map(|phase| &phase.devices).map(|of| &of.time);
    let ops = explanation.ops.iter().map(|op| &op.time);
    let mut count = 0;
    for time in devices.chain(phases).chain(ops) {
        let tenths: f64 = time.shares.iter().map(|share| (share.percent * 10.0).round()).sum();
        assert_eq!((tenths, time.shares.len()), (1000.0, 8), "{what}");
        let cycles: f64 = time.shares.iter().map(|share| share.cycles).sum();
        let total = time.total_cycles as f64;
        assert!((cycles - total).abs() <= 1.0 + total * 1e-9, "{what}: {cycles} of {total}");
        assert!(time.shares.iter().all(|share| share.cycles >= 0.0), "{what}");
        count += 1;
    }
    assert!(count > 0, "{what}");
}

fn explain_log(log: &[u8]) -> Explanation {
    Explanation::of_log(PackedLog::read(log, "log").unwrap()).1
}

const LOGS: [&str; 5] = [
    "blackhole-noc-256",
    "blackhole-noc-4096",
    "wormhole-noc-256",
    "wormhole-noc-4096",
    "wormhole-counters-elw",
];

#[test]
fn the_time_of_real_logs_adds_up_and_they_show_no_false_cause() {
    for log in LOGS {
        let explanation = explain_log(&std::fs::read(log_path(log)).unwrap());
        assert_whole(&explanation, log);
        // One launch on one core, without waits: nothing tells why it takes so long.
        assert_eq!(explanation.findings, [], "{log}");
        assert!(explanation.untold.len() >= 2, "{log}");
    }
    let explanation = explain_log(log_of_json().as_bytes());
    assert_whole(&explanation, "json");
    assert_eq!(explanation.findings, []);
}

#[test]
fn a_kernel_that_only_moves_data_is_movement() {
    // From 10,927,296,811 to 10,927,308,028: firmware around a kernel of 6,206 cycles, in which
    // the TRISCs' kernels begin after those that move data, all by hand from the log.
    let explanation = explain_log(&std::fs::read(log_path("wormhole-counters-elw")).unwrap());
    let time = &explanation.devices[0].time;
    assert_eq!((time.total_cycles, time.total_ns), (11_217, Some(11_217)));
    let cycles = |class| {
        let share = time.shares.iter().find(|share| share.class == class).unwrap();
        share.cycles.round()
    };
    assert_eq!(cycles(TimeClass::Dispatch), 5_011.0);
    assert_eq!(cycles(TimeClass::Compute) + cycles(TimeClass::DataMovement), 6_206.0);
    assert_eq!((cycles(TimeClass::Unknown), cycles(TimeClass::Wait)), (0.0, 0.0));
    let noc = explain_log(&std::fs::read(log_path("wormhole-noc-4096")).unwrap());
    let time = &noc.devices[0].time;
    assert_eq!(time.total_cycles, 11_384);
    // 10,422 of 11,384 cycles, from the durations that another program found in the log.
    assert!((time.percent(TimeClass::DataMovement) - 91.5).abs() < 0.11, "{time:?}");
    assert_eq!(time.percent(TimeClass::Compute), 0.0);
}

fn explain_csv(path: &str) -> Explanation {
    let file = std::fs::File::open(capture_path(path)).unwrap();
    let window = WindowOptions { ignores_signposts: true, ..WindowOptions::default() };
    let options = PerfOptions { merges_devices: false, window, ..PerfOptions::default() };
    let csv = read_ops_csv(file, path).unwrap();
    Explanation::of_perf_report(&PerfReport::new(vec![csv], &options).unwrap())
}

/// Causes of each ops CSV. By a script, `OP TO OP LATENCY` is 98.8 to 100 % of the time of each file;
/// 485 ops of the last file ran on the host. Groups by op code, from tt-perf-report 1.4.1: see
/// `LARGEST_GROUPS`.
const CSVS: [(&str, &[Cause]); 7] = [
    ("tt-forge-fe/ops_perf_results.csv", &[Cause::Host, Cause::OpGroup]),
    ("tt-mlir/ops_perf_results_2024_08_15_17_59_30.csv", &[]),
    ("tt-perf-report/bh20_oft_integral_image_trace.csv", &[Cause::Host, Cause::Layout]),
    (
        "tt-perf-report/bh_64_clip_encoder_1.csv",
        &[Cause::Host, Cause::OpGroup, Cause::Layout, Cause::SmallOps],
    ),
    (
        "tt-perf-report/bh_p100_dlv3.csv",
        &[Cause::Host, Cause::OpGroup, Cause::Layout, Cause::OpGroup],
    ),
    ("tt-perf-report/ops_perf_results_2025_09_18_11_39_20.csv", &[Cause::Host, Cause::Layout]),
    (
        "ttnn-visualizer/ops_perf_results_SEG_ENCODER_2024_10_04_01_36_08.csv",
        &[Cause::Host, Cause::Layout, Cause::HostOps],
    ),
];

/// Sentences with shares that the stacked report of tt-perf-report 1.4.1 shows of the same rows (for
/// the second file those of `--id-range 332-661`).
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
    assert_eq!((clip.first_row, clip.last_row, clip.op_count), (332, 661, 330));
    assert_eq!(clip.rule, SteadyRule::RepeatedOps);
    let image = steady("tt-perf-report/bh20_oft_integral_image_trace.csv").unwrap();
    assert_eq!((image.rule, image.op_count), (SteadyRule::Signpost, 7));
    assert_eq!(steady("tt-perf-report/bh_p100_dlv3.csv"), None, "nothing repeats");
}

#[test]
fn sentences_of_ops_csvs_are_in_order_and_within_the_table_of_classes() {
    for (path, _) in CSVS {
        let explanation = explain_csv(path);
        let gains: Vec<f64> =
            explanation.findings.iter().map(|of| of.gain_at_most_ns.unwrap_or(0.0)).collect();
        assert!(gains.is_sorted_by(|one, other| one >= other), "{path}: {gains:?}");
        let first = explanation.findings.first().and_then(|of| of.gain_at_most_percent);
        assert!(first.is_none_or(|percent| percent >= 1.0), "{path}: {first:?}");
        for device in &explanation.devices {
            for (class, cause) in
                [(TimeClass::HostLate, Cause::Host), (TimeClass::Dispatch, Cause::Dispatch)]
            {
                let percent = device.time.percent(class);
                let found = explanation.findings.iter().find(|of| of.cause == cause);
                assert_eq!(percent >= 20.0, found.is_some(), "{path}: {class:?} {percent}");
                let gain = found.and_then(|of| of.gain_at_most_percent).unwrap_or(0.0);
                assert!(gain <= percent + 0.1, "{path}: {class:?} {percent} {gain}");
            }
        }
    }
}

#[test]
fn ops_csvs_show_the_causes_that_are_in_them_and_no_other() {
    for (path, expected) in CSVS {
        let explanation = explain_csv(path);
        if !explanation.devices.is_empty() {
            assert_whole(&explanation, path);
        }
        let found: Vec<_> = explanation.findings.iter().map(|finding| finding.cause).collect();
        let sentences: Vec<_> =
            explanation.findings.iter().map(|finding| &finding.sentence).collect();
        assert_eq!(found, expected, "{path}: {sentences:#?}");
    }
}

const HEADER: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000
PCIe slot,core_x,core_y,RISC processor type,timer_id,time[cycles since reset],data,run host ID,zone name,type
";

fn log_of(rows: &[(&str, u32, u64, u32, &str)]) -> Explanation {
    let row = |&(place, id, time, program, zone): &(&str, u32, u64, u32, &str)| {
        format!("0,{place},{id},{time},0,{program},{zone}\n")
    };
    explain_log((HEADER.to_owned() + &rows.iter().map(row).collect::<String>()).as_bytes())
}

#[test]
fn kernels_that_dispatch_do_not_stretch_the_time_of_a_chip() {
    let dispatch = [
        ("9,9,NCRISC", 1, 10, 0, "NCRISC-KERNEL,ZONE_START"),
        ("9,9,NCRISC", 2, 20, 0, "CQ-DISPATCH,ZONE_START"),
        ("9,9,NCRISC", 2, 90_020, 0, "CQ-DISPATCH,ZONE_END"),
        ("9,9,NCRISC", 1, 90_030, 0, "NCRISC-KERNEL,ZONE_END"),
    ];
    let op = [
        ("1,2,TRISC_1", 3, 5_000, 1024, "TRISC-KERNEL,ZONE_START"),
        ("1,2,TRISC_1", 3, 6_000, 1024, "TRISC-KERNEL,ZONE_END"),
    ];
    let both = log_of(&[&dispatch[..], &op].concat());
    assert_eq!(both.devices[0].window, (5_000, 6_000));
    assert_eq!(both.devices[0].time.percent(TimeClass::Compute), 100.0);
    assert_eq!(both.devices, log_of(&op).devices);
    // Where nothing else ran, their time is all that there is.
    assert_eq!(log_of(&dispatch).devices[0].window, (10, 90_030));
}

#[test]
fn envelopes_of_replays_are_no_reason_to_build_with_the_profiler() {
    let told = |risc: &str, name: &str| {
        let place = format!("1,2,{risc}");
        let edges = [("FW", "START"), ("KERNEL", "START"), ("KERNEL", "END"), ("FW", "END")];
        let zones = edges.map(|(zone, edge)| format!("{name}-{zone},ZONE_{edge}"));
        let times = [(1, 100), (2, 110), (2, 190), (1, 200)];
        let rows = zones.iter().zip(times);
        let rows: Vec<_> = rows.map(|(zone, (id, time))| (&*place, id, time, 1, &**zone)).collect();
        let untold = log_of(&rows).untold;
        let most = untold.iter().find(|untold| untold.question.contains("most of the time"));
        most.map(|untold| untold.record_with)
    };
    let advice = told("TENSIX_RISC_AGG", "TRACE").unwrap();
    assert!(advice.contains("without trace-only mode"), "{advice}");
    let advice = told("BRISC", "BRISC").unwrap_or_default();
    assert!(!advice.contains("trace-only mode"), "{advice}");
}
