//! Ops that the host announced in files next to a device log, as part of the recording.

use reader::anomaly::{AnomalyKind, AnomalyLog};
use recording::{Opened, Recording, load, open, report_of_log};
use std::{fmt::Write, path::Path};
use wire::RunHostId;

const CHIP: &str = "ARCH: wormhole_b0, CHIP_FREQ[MHz]: 1000, Max Compute Cores: 64\n\
    PCIe slot, core_x, core_y, RISC processor type, timer_id, time[cycles since reset], data, \
    run host ID, trace id, trace id counter, zone name, type, source line, source file, meta data\n";

/// Returns a log with one launch on BRISC and NCRISC for each pair of a program and its trace and
/// replay.
fn log(launches: &[(u32, &str)]) -> String {
    let mut text = CHIP.to_owned();
    for ((program, replay), start) in launches.iter().zip((1000..).step_by(1000)) {
        for risc in ["BRISC", "NCRISC"] {
            for (time, kind) in [(start, "ZONE_START"), (start + 100, "ZONE_END")] {
                let head = format!("0,1,2,{risc},7,{time},0,{program},{replay}");
                writeln!(text, "{head},{risc}-FW,{kind},1,/b.cc,").unwrap();
            }
        }
    }
    text
}

fn message(device: u32, op: u32, name: &str) -> String {
    format!(
        "`TT_DNN_DEVICE_OP: \"{name}\", {op}, {device}, false, {op} ->\n{{\"global_call_count\": \
         {op}, \"op_code\": \"{name}\", \"device_id\": {device}, \"op_hash\": {op}}}`;{op}\n"
    )
}

fn folder(log: &str, messages: &[String]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let logs = folder.path().join(".logs");
    std::fs::create_dir(&logs).unwrap();
    std::fs::write(logs.join("profile_log_device.csv"), log).unwrap();
    let messages = format!("MessageName;total_ns\n{}", messages.concat());
    std::fs::write(logs.join("tracy_ops_data.csv"), messages).unwrap();
    folder
}

fn loaded(path: &Path) -> Recording {
    load(path).unwrap().recordings.remove(0)
}

/// Returns the anomalies of ops that were kept: kinds and texts.
fn said(anomalies: &AnomalyLog) -> Vec<(AnomalyKind, &str)> {
    anomalies.kept().iter().map(|found| (found.kind, found.detail.as_str())).collect()
}

#[test]
fn launches_have_the_names_of_the_messages_and_what_does_not_fit_is_said() {
    use AnomalyKind::{MalformedLine, RepeatedOp, UnjoinedOp};
    let launches =
        [(1024, ","), (2048, "4,1"), (2048, "4,2"), (1024, ","), (5120, ","), (6144, ",")];
    let cached = "`TT_DNN_DEVICE_OP: \"Add\", 1024, 0, true, 5120`;60\n".to_owned();
    let unknown = "`TT_DNN_DEVICE_OP: \"Add\", 9, 0, true, 8192`;70\n".to_owned();
    let messages = [
        message(0, 1024, "Add"),
        "`TT_METAL_TRACE_BEGIN: 0, 4`;1\n".into(),
        message(0, 2048, "Mul"),
        "`TT_METAL_TRACE_END: 0, 4`;3\n`TT_METAL_TRACE_BEGIN: 0, 9`;3\n".into(),
        // This op was captured but never replayed.
        message(0, 3072, "Sub"),
        "`TT_METAL_TRACE_END: 0, 9`;4\n`TT_METAL_TRACE_REPLAY: 0, 4`;5\n".into(),
        cached,
        unknown,
        // This op ran on a chip without a log.
        message(1, 1025, "Exp"),
    ];
    let folder = folder(&log(&launches), &messages);
    let recording = loaded(folder.path());
    let names: Vec<_> = recording.op_names().into_iter().collect();
    let expected = [
        ((0, RunHostId(1024)), "Add"),
        ((0, RunHostId(2048)), "Mul"),
        ((0, RunHostId(3072)), "Sub"),
        ((0, RunHostId(5120)), "Add"),
        ((1, RunHostId(1025)), "Exp"),
    ];
    assert_eq!(names, expected);
    let expected = [
        (
            MalformedLine,
            "tracy_ops_data.csv:14: the op refers to program 9 of device 0, which no earlier \
             message describes; the op is left out",
        ),
        (RepeatedOp, "chip 0: op 1024 of the host, Add, has 2 launches outside of traces"),
        (UnjoinedOp, "chip 1: op 1025 of the host, Exp, has no launch on the chip"),
        (UnjoinedOp, "chip 0: no message of the host describes op 6144"),
    ];
    assert_eq!(said(&recording.readout.anomalies), expected);

    let Opened::Log(packed) = open(&folder.path().join(".logs")).unwrap() else { panic!("a log") };
    let (lean, report) = report_of_log(*packed).unwrap();
    assert_eq!(lean.ops, recording.ops);
    assert_eq!(lean.readout.anomalies, recording.readout.anomalies);
    assert_eq!(report.summary.anomaly_count, 4);
    let by_itself = loaded(&folder.path().join(".logs/profile_log_device.csv"));
    assert_eq!((by_itself.ops, said(&by_itself.readout.anomalies)), (vec![], vec![]));
}

#[test]
fn a_flood_of_ops_without_launches_is_counted_in_full() {
    let messages: Vec<_> = (1..=500).map(|op| message(0, op << 10, "Add")).collect();
    let folder = folder(&log(&[(1024, ",")]), &messages);
    let anomalies = loaded(folder.path()).readout.anomalies;
    assert_eq!(anomalies.count(AnomalyKind::UnjoinedOp), 499);
    assert_eq!(anomalies.kept().len(), 8);
}

#[test]
fn messages_that_cannot_be_read_leave_the_log_as_it_is() {
    let folder = folder(&log(&[(1024, ",")]), &[]);
    let messages = folder.path().join(".logs/tracy_ops_data.csv");
    std::fs::remove_file(&messages).unwrap();
    assert_eq!(said(&loaded(folder.path()).readout.anomalies), []);
    std::fs::create_dir(&messages).unwrap();
    let recording = loaded(folder.path());
    assert_eq!((recording.ops, recording.readout.record_count()), (vec![], 4));
    let [(kind, detail)] = said(&recording.readout.anomalies)[..] else { panic!("one anomaly") };
    assert_eq!(kind, AnomalyKind::MalformedLine);
    assert!(detail.starts_with("tracy_ops_data.csv cannot be read ("), "{detail}");
}
