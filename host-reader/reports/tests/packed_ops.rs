//! Compares ops reports of packed logs with those of the same logs with all lanes in memory.

use reader::packed_bytes::PackedMemory;
use recording::{
    DEVICE_LOG, OpenedLog, PackedRecording, device_log::PackedLog, host_ops::OP_MESSAGES,
};
use reports::report::{OpsOptions, OpsReport, ProblemLog, ReportFiles};
use std::{fs, path::Path};

const HEADER: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500, Max Compute Cores: 64\n\
    PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
    run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n";

/// Returns a log of two chips, with programs replayed by traces, kernels without ends, and
/// unreadable lines.
fn log(zones: [&str; 2]) -> String {
    let mut text = HEADER.to_owned();
    for (chip, core_x, lag) in [(1, 1, 0), (0, 1, 3), (0, 2, 40)] {
        for number in 0..50_u64 {
            let start = 1_000 + number * 800 + lag;
            let program = (1 + number % 30) << 10 | chip;
            let replay = if number % 4 == 3 { format!("2,{number}") } else { ",".to_owned() };
            let [firmware, kernel] = zones;
            for (id, time, zone, kind) in [
                (7, start, firmware, "ZONE_START"),
                (8, start + 10, kernel, "ZONE_START"),
                (8, start + 110 + number, kernel, "ZONE_END"),
                (7, start + 400, firmware, "ZONE_END"),
            ] {
                if (number, kind, id) == (17, "ZONE_END", 8) {
                    text += "this is no line\n";
                    continue;
                }
                text += &format!(
                    "{chip},{core_x},2,BRISC,{id},{time},0,{program},{replay},{zone},{kind},1,/b.cc,\n"
                );
            }
        }
    }
    text
}

fn message(op: u64) -> String {
    format!(
        "`TT_DNN_DEVICE_OP: \"Add\", {op}, 0, false, {op} ->\n{{\"global_call_count\": {op}, \
         \"op_code\": \"Add\", \"device_id\": 0, \"op_hash\": {op}, \"input_tensors\": []}}`;{op}\n"
    )
}

fn opened(log: &str) -> OpenedLog {
    let memory = PackedMemory::new(100, Path::new("/var/tmp"));
    PackedLog::read_within(log.as_bytes(), "test", &memory).unwrap().into()
}

/// Logs in which launches have figures that only their records contain: sums, counters, dispatch.
fn logs() -> Vec<String> {
    let of_zones = |firmware, kernel| log([firmware, kernel]);
    let plain = of_zones("BRISC-FW", "BRISC-KERNEL");
    let counter = |chip: u32, number: u32| {
        let program = (1 + number) << 10 | chip;
        let time = 1_050 + number * 800;
        format!(
            "{chip},1,2,BRISC,9090,{time},0,{program},,,,TS_DATA,0,,\
             {{\"counter type\":\"FPU_COUNTER\";\"ref cnt\":100;\"value\":{number}}}\n"
        )
    };
    let counters: String =
        (0..20).flat_map(|number| [counter(0, number), counter(1, number)]).collect();
    let sum = |core_x: u32, number: u32| {
        let (program, time) = ((1 + number) << 10 | 1, 1_060 + number * 800);
        format!(
            "1,{core_x},2,TRISC_0,77,{time},{},{program},,,CB-COMPUTE-WAIT-FRONT,ZONE_TOTAL,9,/c.cc,\n",
            100 + number
        )
    };
    let sums: String = (0..9).flat_map(|number| [sum(1, number), sum(5, number)]).collect();
    let quasar = plain.replace("wormhole_b0", "quasar");
    vec![
        plain.clone() + &counters,
        plain.clone() + &sums,
        of_zones("BRISC-FW", "CQ-DISPATCH") + &sums,
        quasar,
        of_zones("", ""),
        HEADER.to_owned(),
        plain,
    ]
}

#[test]
fn reports_of_packed_logs_are_those_of_lanes_in_memory() {
    for log in logs() {
        let whole = opened(&log).into_recording().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(DEVICE_LOG);
        fs::write(&path, &log).unwrap();
        for analyzes_noc in [false, true] {
            let options = OpsOptions { analyzes_noc, ..OpsOptions::default() };
            let expected = OpsReport::from_recording(&whole, &options);
            let memory = PackedMemory::new(100, Path::new("/var/tmp"));
            let report = OpsReport::from_device_log(&path, &options, &memory);
            memory.check().unwrap();
            assert!(memory.written_bytes() > 0 || log == HEADER);
            // The problems name another file.
            let named = |report: OpsReport| OpsReport { problems: ProblemLog::default(), ..report };
            assert_eq!(report.problems.count(), expected.problems.count());
            assert_eq!(named(report), named(expected));
        }
        let options = OpsOptions { files: ReportFiles::Ops, ..OpsOptions::default() };
        let expected = OpsReport::from_recording(&whole, &options);
        assert_eq!((&expected.per_core_csv, &expected.device_perf_csv), (&None, &None));
        let packed = PackedRecording::new(opened(&log)).unwrap();
        assert_eq!(OpsReport::from_packed(&packed).unwrap(), expected);
        for op_count in [0, 25] {
            let messages: String = (1..=op_count).map(|op| message(op << 10)).collect();
            let messages = format!("MessageName;total_ns\n{messages}");
            fs::write(folder.path().join(OP_MESSAGES), messages).unwrap();
            let options = OpsOptions::default();
            let expected =
                OpsReport::from_folder(folder.path(), &options, &PackedMemory::unlimited());
            let memory = PackedMemory::new(0, Path::new("/var/tmp"));
            let report = OpsReport::from_folder(folder.path(), &options, &memory);
            assert_eq!(report.host_op_count, op_count);
            assert_eq!(report, expected);
        }
    }
}

/// Each of the two chips has 50 launches. The second core of chip 0 took part in the launches of
/// the first core, so it adds no rows.
#[test]
fn each_launch_has_a_row_with_its_figures() {
    let rows: Vec<_> = logs().iter().map(|log| packed_report(log).row_count).collect();
    assert_eq!(rows, [100, 100, 9, 100, 100, 0, 100]);
    let csv = packed_report(&logs()[1]).ops_csv;
    let titles: Vec<_> = csv.lines().next().unwrap().split(',').collect();
    let column = |title| titles.iter().position(|one| *one == title).unwrap();
    let cell = |row: &str, title| row.split(',').nth(column(title)).unwrap().to_owned();
    let first = csv.lines().find(|row| cell(row, "GLOBAL CALL COUNT") == "1025").unwrap();
    // Two cores each waited for 100 cycles of 2 ns.
    assert_eq!(cell(first, "DEVICE COMPUTE CB WAIT FRONT [ns]"), "400");
}

fn packed_report(log: &str) -> OpsReport {
    OpsReport::from_packed(&PackedRecording::new(opened(log)).unwrap()).unwrap()
}
