//! Ops reports of packed logs, beside those of the same logs with all lanes in memory.

#![allow(clippy::unwrap_used, reason = "in a test, a panic is the report")]

use reader::packed_bytes::PackedMemory;
use recording::{
    DEVICE_LOG, OpenedLog, PackedRecording, device_log::PackedLog, host_ops::OP_MESSAGES,
};
use reports::report::{OpsOptions, OpsReport};
use std::{fs, path::Path};

const HEADER: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 500, Max Compute Cores: 64\n\
    PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
    run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n";

/// A log of two chips, with programs that traces replay, kernels that do not end, and lines that
/// cannot be read.
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

fn packed(log: &str) -> PackedRecording {
    PackedRecording::new(opened(log)).unwrap()
}

/// Returns what both kinds of report have.
fn shared(report: OpsReport) -> OpsReport {
    OpsReport { per_core_csv: None, device_perf_csv: None, ..report }
}

#[test]
fn rows_of_packed_logs_are_those_of_lanes_in_memory() {
    for log in [log(["BRISC-FW", "BRISC-KERNEL"]), log(["", ""]), HEADER.to_owned()] {
        let whole = opened(&log).into_recording().unwrap();
        let expected = shared(OpsReport::from_recording(&whole, &OpsOptions::default()));
        // 50 launches of two chips each, the second core of one with the same ones.
        assert_eq!(expected.row_count, if log == HEADER { 0 } else { 100 });
        assert_eq!(OpsReport::from_packed(&packed(&log)), expected);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(DEVICE_LOG), &log).unwrap();
        for op_count in [0, 25] {
            let messages: String = (1..=op_count).map(|op| message(op << 10)).collect();
            let messages = format!("MessageName;total_ns\n{messages}");
            fs::write(folder.path().join(OP_MESSAGES), messages).unwrap();
            let expected = OpsReport::from_folder(folder.path(), &OpsOptions::default());
            let report = OpsReport::from_packed_folder(&packed(&log), folder.path());
            assert_eq!(report.host_op_count, op_count);
            assert_eq!(shared(report), shared(expected));
        }
    }
}

#[test]
fn what_needs_all_lanes_is_named() {
    let obstacle = |log: &str| OpsReport::obstacle(&opened(log).log.readout);
    assert_eq!(obstacle(&log(["BRISC-FW", "BRISC-KERNEL"])), None);
    let sums = obstacle(&log(["BRISC-FW", "CB-COMPUTE-WAIT-FRONT"]));
    assert_eq!(sums, Some("sums of waits for circular buffers"));
    let dispatch = obstacle(&log(["BRISC-FW", "CQ-DISPATCH"]));
    assert_eq!(dispatch, Some("the work of dispatch cores"));
    let quasar =
        HEADER.replace("wormhole_b0", "quasar") + "0,1,2,BRISC,7,9,0,1024,,,A,ZONE_START,1,b,\n";
    assert_eq!(obstacle(&quasar), Some("a Quasar's processors"));
}
