//! Whole reports of small folders, with expected figures computed by hand.

use reader::packed_bytes::PackedMemory;
use reports::report::{DeviceData, OpsOptions, OpsReport, Problem};
use std::path::Path;

const CHIP: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500, Max Compute Cores: 64\n\
    PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
    run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n";

/// Returns the rows of one launch on a core: firmware and kernel of BRISC.
fn launch(core_x: u32, start: u64, op: u32, trace: &str) -> String {
    let row = |time, name: &str, kind: &str, marker: u32| {
        format!("0,{core_x},2,BRISC,{marker},{time},0,{op},{trace},{name},{kind},1,/b.cc,\n")
    };
    row(start, "BRISC-FW", "ZONE_START", 7)
        + &row(start + 10, "BRISC-KERNEL", "ZONE_START", 8)
        + &row(start + 110, "BRISC-KERNEL", "ZONE_END", 8)
        + &row(start + 120, "BRISC-FW", "ZONE_END", 7)
}

fn message(op: u32, name: &str) -> String {
    format!(
        "`TT_DNN_DEVICE_OP: \"{name}\", {op}, 0, false, {op} ->\n{{\"global_call_count\": {op}, \
         \"op_code\": \"{name}\", \"device_id\": 0, \"op_hash\": {op}, \"input_tensors\": []}}`;{op}\n"
    )
}

const MESSAGES: &str = "MessageName;total_ns\n";
const TIMES: &str = "name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,\
    thread,special_parent_text\n";

fn time(op: u32, start_ns: u64) -> String {
    format!("TT_DNN_DEVICE_OP,/o.hpp,1,,id:{op},{start_ns},40,1,\n")
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn report(files: &[(&str, &str)], options: &OpsOptions) -> OpsReport {
    OpsReport::from_folder(folder(files).path(), options, &PackedMemory::unlimited())
}

/// Returns the cells of a column, row by row.
fn column(csv: &str, title: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    let position = reader.headers().unwrap().iter().position(|found| found == title).unwrap();
    reader.records().map(|row| row.unwrap()[position].to_owned()).collect()
}

/// Returns the problems, without the folder in their file names.
fn problems(report: &OpsReport) -> Vec<String> {
    let name = |file: &str| Path::new(file).file_name().map(|n| n.to_string_lossy().into_owned());
    let text = |problem: &Problem| {
        let file = name(&problem.file).unwrap_or_default();
        Problem { file, ..problem.clone() }.to_string()
    };
    report.problems.kept().iter().map(text).collect()
}

#[test]
fn host_and_device_meet_in_one_row_for_each_launch() {
    let log = [CHIP, &launch(1, 1000, 1024, ","), &launch(1, 2000, 2048, ",")].concat();
    let messages = [MESSAGES, &message(1024, "Add"), &message(2048, "Mul")].concat();
    let times = [TIMES, &time(1024, 5), &time(2048, 9)].concat();
    let report = report(
        &[
            ("profile_log_device.csv", &log),
            ("tracy_ops_data.csv", &messages),
            ("tracy_ops_times.csv", &times),
        ],
        &OpsOptions::default(),
    );
    assert_eq!(problems(&report), Vec::<String>::new());
    let csv = &report.ops_csv;
    assert_eq!(column(csv, "OP CODE"), ["Add", "Mul"]);
    assert_eq!(column(csv, "HOST END TS"), ["45", "49"]);
    assert_eq!(column(csv, "DEVICE KERNEL DURATION [ns]"), ["200", "200"]);
    assert_eq!(column(csv, "DEVICE FW START CYCLE"), ["1000", "2000"]);
    // From cycle 1110 to cycle 2010 at 500 MHz.
    assert_eq!(column(csv, "OP TO OP LATENCY [ns]"), ["0", "1800"]);
    assert_eq!(column(csv, "DEVICE ARCH"), ["wormhole_b0", "wormhole_b0"]);
}

#[test]
fn a_replay_has_its_own_time_and_the_capture_a_row_without_device() {
    let log = [CHIP, &launch(1, 1000, 1024, "4,1"), &launch(1, 9000, 1024, "4,2")].concat();
    let replay = "`TT_METAL_TRACE_REPLAY: 0, 4`;";
    let messages = format!(
        "{MESSAGES}`TT_METAL_TRACE_BEGIN: 0, 4`;1\n{}`TT_METAL_TRACE_END: 0, 4`;3\n\
         {replay}5000\n{replay}6000\n",
        message(1024, "Add")
    );
    let times = [TIMES, &time(1024, 2)].concat();
    let files = [
        ("profile_log_device.csv", &*log),
        ("tracy_ops_data.csv", &messages),
        ("tracy_ops_times.csv", &times),
    ];
    let ours = report(&files, &OpsOptions::default());
    assert_eq!(problems(&ours), Vec::<String>::new());
    assert_eq!(column(&ours.ops_csv, "HOST START TS"), ["2", "5000", "6000"]);
    assert_eq!(column(&ours.ops_csv, "HOST DURATION [ns]"), ["40", "", ""]);
    assert_eq!(column(&ours.ops_csv, "METAL TRACE ID"), ["4", "4", "4"]);
    assert_eq!(column(&ours.ops_csv, "METAL TRACE REPLAY SESSION ID"), ["", "1", "2"]);
    assert_eq!(column(&ours.ops_csv, "DEVICE FW START CYCLE"), ["", "1000", "9000"]);
    let exact = report(&files, &OpsOptions { is_exact: true, ..OpsOptions::default() });
    assert_eq!(column(&exact.ops_csv, "HOST START TS"), ["2", "2", "2"]);
    assert_eq!(column(&exact.ops_csv, "METAL TRACE ID"), ["", "4", "4"]);
}

#[test]
fn what_has_no_partner_is_shown_and_named() {
    let log = [CHIP, &launch(1, 1000, 3072, ",")].concat();
    let messages = [MESSAGES, &message(1024, "Add")].concat();
    let report = report(
        &[("profile_log_device.csv", &log), ("tracy_ops_data.csv", &messages)],
        &OpsOptions::default(),
    );
    assert_eq!(column(&report.ops_csv, "OP CODE"), ["UNKNOWN", "Add"]);
    let found = problems(&report);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].starts_with("tracy_ops_times.csv: cannot be read"), "{found:?}");
    assert!(found[1].contains("ran 1 op that no message of the host describes: 3072"), "{found:?}");
    assert!(found[2].contains("has no data of 1 op that the host ran"), "{found:?}");
}

#[test]
fn broken_lines_are_named_once_with_line_and_column_and_the_rest_reported() {
    let broken = "0,1,2,BRISC,7,soon,0,1024,,,BRISC-FW,ZONE_START,1,/b.cc,\n0,1,2\n";
    let log = [CHIP, broken, &launch(1, 1000, 1024, ",")].concat();
    let messages = [MESSAGES, &message(1024, "Add")].concat();
    let times = [TIMES, "TT_DNN_DEVICE_OP,/o,1\n", &time(1024, 5), &time(9, 5)].concat();
    for is_exact in [false, true] {
        let report = report(
            &[
                ("profile_log_device.csv", &log),
                ("tracy_ops_data.csv", &messages),
                ("tracy_ops_times.csv", &times),
            ],
            &OpsOptions { is_exact, ..OpsOptions::default() },
        );
        assert_eq!(column(&report.ops_csv, "DEVICE KERNEL DURATION [ns]"), ["200"]);
        let found = problems(&report).join("\n");
        assert_eq!(report.problems.count(), 4, "{found}");
        for expected in [
            "tracy_ops_times.csv:2: expected 9 columns, found 3",
            "tracy_ops_times.csv:4: column zone_text: op 9 has a time",
            "profile_log_device.csv:3: column time[cycles since reset]: expected a whole number",
            "profile_log_device.csv:4: expected 15 columns, found 3",
        ] {
            assert!(found.contains(expected), "{found}");
        }
    }
}

#[test]
fn a_device_perf_report_alone_serves_as_device_data() {
    let log = [CHIP, &launch(1, 1000, 1024, ",")].concat();
    let made = report(&[("profile_log_device.csv", &log)], &OpsOptions::default());
    let perf = made.device_perf_csv.unwrap();
    let messages = [MESSAGES, &message(1024, "Add")].concat();
    let times = [TIMES, &time(1024, 5)].concat();
    let files = [
        ("cpp_device_perf_report.csv", &*perf),
        ("tracy_ops_data.csv", &messages),
        ("tracy_ops_times.csv", &times),
    ];
    for device_data in [DeviceData::Best, DeviceData::PerfReport] {
        let report = report(&files, &OpsOptions { device_data, ..OpsOptions::default() });
        assert_eq!(problems(&report), Vec::<String>::new());
        assert_eq!(column(&report.ops_csv, "DEVICE FW DURATION [ns]"), ["240"]);
        assert_eq!(column(&report.ops_csv, "AVAILABLE WORKER CORE COUNT"), ["64"]);
    }
}

#[test]
fn a_core_without_its_last_end_does_not_join_two_ops() {
    let second = launch(2, 1005, 1024, ",");
    let unfinished: Vec<_> = second.lines().take(3).collect();
    let log = [
        CHIP,
        &launch(1, 1000, 1024, ","),
        &unfinished.join("\n"),
        "\n",
        &launch(1, 2000, 1024, ","),
        &launch(2, 2005, 1024, ","),
    ]
    .concat();
    let files = [("profile_log_device.csv", &*log)];
    let ours = report(&files, &OpsOptions::default());
    assert_eq!(column(&ours.ops_csv, "DEVICE FW DURATION [ns]"), ["", "250"]);
    let reason = "durations: the ends of some kernels are not recorded";
    assert_eq!(column(&ours.ops_csv, "EMPTY FIGURES BECAUSE"), [reason, ""]);
    assert_eq!(ours.per_core_csv.unwrap().lines().count(), 2);
}

#[test]
fn halves_of_a_nanosecond_are_rounded_as_python_does() {
    // 17,193 cycles at 1200 MHz are 14,327.5 ns, and Python rounds halves to even numbers.
    let log = [CHIP, &launch(1, 1000, 1024, ",")].concat().replace(": 500,", ": 1200,");
    let log = log.replace("8,1110", "8,18203").replace("7,1120", "7,18213");
    let exact = OpsOptions { is_exact: true, ..OpsOptions::default() };
    let report = report(&[("profile_log_device.csv", &log)], &exact);
    for which in ["MIN", "AVG", "MAX"] {
        let title = format!("DEVICE KERNEL DURATION PER CORE {which} [ns]");
        assert_eq!(column(&report.ops_csv, &title), ["14328"], "{which}");
    }
}

#[test]
fn an_empty_folder_gives_an_empty_report_and_says_why() {
    let report = report(&[], &OpsOptions::default());
    assert_eq!((report.row_count, report.problems.count()), (0, 1));
}

proptest::proptest! {
    /// Inputs with any kind of damage still give a report.
    #[test]
    fn cut_and_overwritten_inputs_are_reported_on(
        which in 0..4_usize, at in 0.0..1.0_f64, byte: u8, is_cut: bool, is_exact: bool
    ) {
        let log = [CHIP, &launch(1, 1000, 1024, ","), &launch(1, 3000, 2048, "4,1")].concat();
        let perf = "GLOBAL CALL COUNT,METAL TRACE ID,METAL TRACE REPLAY SESSION ID,DEVICE ID\n1024,,,0\n";
        let messages = [MESSAGES, &message(1024, "Add"), "`TT_METAL_TRACE_REPLAY: 0, 4`;9\n"].concat();
        let times = [TIMES, &time(1024, 5)].concat();
        let mut files = [
            ("profile_log_device.csv", log.into_bytes()),
            ("tracy_ops_data.csv", messages.into_bytes()),
            ("tracy_ops_times.csv", times.into_bytes()),
            ("cpp_device_perf_report.csv", perf.as_bytes().to_vec()),
        ];
        let bytes = &mut files[which].1;
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss,
            reason = "a position within the file")]
        let position = (at * bytes.len() as f64) as usize;
        if is_cut { bytes.truncate(position) } else { bytes[position] = byte }
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in &files {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        for device_data in [DeviceData::DeviceLog, DeviceData::PerfReport] {
            let options = OpsOptions { is_exact, device_data, ..OpsOptions::default() };
            let report = OpsReport::from_folder(folder.path(), &options, &PackedMemory::unlimited());
            proptest::prop_assert!(!report.ops_csv.is_empty());
        }
    }
}

#[test]
fn shapes_of_tensors_keep_padded_and_logical_sizes() {
    let tensor = |w: &str, z: &str, y: &str, x: &str| {
        format!(
            "{{\"storage_type\": {{\"device_id\": 0, \"memory_config\": {{\"buffer_type\": \"DRAM\", \
             \"memory_layout\": \"INTERLEAVED\"}}}}, \"shape\": {{\"W\": \"{w}\", \"Z\": \"{z}\", \
             \"Y\": \"{y}\", \"X\": \"{x}\"}}, \"layout\": \"TILE\", \"dtype\": \"BFLOAT16\"}}"
        )
    };
    let inputs =
        [tensor("1[1]", "1[1]", "32[1]", "96[65]"), tensor("1[1]", "1[1]", "96[65]", "32[16]")];
    let output = tensor("1[1]", "1[1]", "32[1]", "32[16]");
    let tensors =
        format!("\"input_tensors\": [{}], \"output_tensors\": [{output}]", inputs.join(", "));
    let messages =
        [MESSAGES, &message(1024, "Matmul")].concat().replace("\"input_tensors\": []", &tensors);
    let log = [CHIP, &launch(1, 1000, 1024, ",")].concat();
    let times = [TIMES, &time(1024, 5)].concat();
    let files = [
        ("profile_log_device.csv", &*log),
        ("tracy_ops_data.csv", &messages),
        ("tracy_ops_times.csv", &times),
    ];
    for is_exact in [false, true] {
        let report = report(&files, &OpsOptions { is_exact, ..OpsOptions::default() });
        for (tensor, shape) in [
            ("INPUT_0", ["1[1]", "1[1]", "32[1]", "96[65]"]),
            ("INPUT_1", ["1[1]", "1[1]", "96[65]", "32[16]"]),
            ("OUTPUT_0", ["1[1]", "1[1]", "32[1]", "32[16]"]),
        ] {
            for (dimension, size) in ["W", "Z", "Y", "X"].into_iter().zip(shape) {
                let title = format!("{tensor}_{dimension}_PAD[LOGICAL]");
                assert_eq!(column(&report.ops_csv, &title), [size], "{title}");
            }
            let memory = column(&report.ops_csv, &format!("{tensor}_MEMORY"));
            assert_eq!(memory, ["DEV_0_DRAM_INTERLEAVED"]);
        }
    }
}

#[test]
fn sub_devices_come_from_the_meta_data_of_the_log() {
    let on = |op: u32, start: u64, sub_device: u32| {
        let keys = format!("{{\"sub_device_id\":{sub_device};\"sub_device_manager_id\":7}}");
        launch(1, start, op, ",").replace("/b.cc,\n", &format!("/b.cc,{keys}\n"))
    };
    let log = [CHIP, &on(1024, 1000, 1), &on(2048, 2000, 0), &launch(1, 3000, 3072, ",")].concat();
    let messages =
        [MESSAGES, &message(1024, "Add"), &message(2048, "Mul"), &message(3072, "Sub")].concat();
    let times = [TIMES, &time(1024, 5), &time(2048, 9), &time(3072, 12)].concat();
    let files = [
        ("profile_log_device.csv", &*log),
        ("tracy_ops_data.csv", &messages),
        ("tracy_ops_times.csv", &times),
    ];
    for is_exact in [false, true] {
        for files in [&files[..], &files[..1]] {
            let report = report(files, &OpsOptions { is_exact, ..OpsOptions::default() });
            assert_eq!(column(&report.ops_csv, "SUB DEVICE ID"), ["1", "0", ""]);
            assert!(!report.ops_csv.contains("SUB DEVICE MANAGER ID"));
        }
    }
}

/// The replay (chip 0, op 42, trace 0, replay 1) has a row in the device perf report and a row in
/// the log.
#[test]
fn an_exact_report_takes_a_replay_from_the_device_perf_report() {
    let log = [CHIP, &launch(1, 1000, 42, "0,1"), &launch(1, 9000, 42, "0,2")].concat();
    let perf = "GLOBAL CALL COUNT,METAL TRACE ID,METAL TRACE REPLAY SESSION ID,DEVICE ID,\
        DEVICE FW DURATION [ns],DEVICE KERNEL DURATION [ns]\n42,0,2,0,7002,6002\n42,0,1,0,7001,6001\n";
    let replay = "`TT_METAL_TRACE_REPLAY: 0, 0`;";
    let messages = format!(
        "{MESSAGES}`TT_METAL_TRACE_BEGIN: 0, 0`;1\n{}`TT_METAL_TRACE_END: 0, 0`;3\n\
         {replay}5000\n{replay}6000\n",
        message(42, "Add")
    );
    let times = [TIMES, &time(42, 2)].concat();
    let files = [
        ("profile_log_device.csv", &*log),
        ("cpp_device_perf_report.csv", perf),
        ("tracy_ops_data.csv", &messages),
        ("tracy_ops_times.csv", &times),
    ];
    for (device_data, is_exact, kernels) in [
        // TT-Metal's scripts use the perf report; our report uses the log, which has more data.
        (DeviceData::Best, true, ["", "6001", "6002"]),
        (DeviceData::Best, false, ["", "200", "200"]),
        (DeviceData::PerfReport, false, ["", "6001", "6002"]),
        (DeviceData::DeviceLog, true, ["", "200", "200"]),
    ] {
        let report = report(&files, &OpsOptions { device_data, is_exact, ..OpsOptions::default() });
        let csv = &report.ops_csv;
        let of_capture = if is_exact { "" } else { "0" };
        assert_eq!(column(csv, "METAL TRACE ID"), [of_capture, "0", "0"]);
        assert_eq!(column(csv, "METAL TRACE REPLAY SESSION ID"), ["", "1", "2"]);
        assert_eq!(column(csv, "DEVICE KERNEL DURATION [ns]"), kernels, "{device_data:?}");
    }
}
