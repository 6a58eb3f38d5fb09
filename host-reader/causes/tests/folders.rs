//! Folders with device records and an ops CSV: both give one recording and one list of findings.

use crate::model::{Form, Recorder, Work, run};
use captures::{
    DescribedOp as Op, described_model as model, device_log_of, ops_csv_of, write_device_log,
    write_ops_csv,
};
use causes::{Cause, Explanation, Finding, GroupBound};
use host_events::OpMetadata;
use recording::{Recording, device_log::PackedLog};
use std::path::Path;
use wire::{PacketKind, Risc, RunHostId};

/// Creates a folder with a log and optionally an ops CSV, at TT-Metal's path.
fn folder(log: &[Op], csv: Option<&[Op]>) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write_device_log(folder.path(), log);
    if let Some(ops) = csv {
        write_ops_csv(folder.path(), ops);
    }
    folder
}

/// Explains a folder, loaded as a whole and lane by lane.
fn explain(folder: &Path) -> Explanation {
    let loaded = recording::load(folder).unwrap();
    let explanation = Explanation::from_recording(&loaded.recordings[0]);
    let recording::Opened::Log(log) = recording::open(folder).unwrap() else { panic!() };
    let (_, by_lanes) = Explanation::from_log(*log).unwrap();
    assert_eq!(explanation, by_lanes);
    explanation
}

fn causes(explanation: &Explanation) -> Vec<Cause> {
    explanation.findings.iter().map(|finding| finding.cause).collect()
}

#[test]
fn shapes_of_the_csv_and_cycles_of_the_log_are_one_list() {
    let ops = model();
    let alone = explain(folder(&ops, None).path());
    assert_eq!((&alone.steady, causes(&alone)), (&None, vec![]), "programs do not repeat");
    let together = explain(folder(&ops, Some(&ops)).path());
    assert_eq!(
        together.described_by.as_deref(),
        Some("ops_perf_results_today.csv describes the ops of 4 of 4 launches.")
    );
    // The rows show that the ops repeat. The log shows the length: 100,020 + 2000 + 20,020 cycles.
    let steady = together.steady.as_ref().unwrap();
    assert_eq!((steady.first_launch, steady.last_launch), (Some(3), Some(4)));
    assert_eq!(steady.total_ns, 122_040.0);
    assert_eq!(causes(&together), [Cause::OpGroup, Cause::OpGroup, Cause::HostOps]);
    let first = &together.findings[0];
    assert_eq!((first.place.op.as_deref(), first.place.row), (Some("Matmul"), Some(4)));
    // 55 us above the limit of the DRAM.
    let gain = first.gain_at_most_percent.unwrap();
    assert!((gain - 55_000.0 / 1220.4).abs() < 0.01, "{gain}");
    // Rows 5 and 6 are the host's op and the addition, 16.7 % of the kernels' time.
    assert_eq!(together.findings[1].place.row, Some(6));
    assert_eq!(together.findings[2].sentence, "1 op runs on the host");
    let names: Vec<_> = together.ops.iter().filter_map(|op| op.name.as_deref()).collect();
    assert_eq!(names, ["Matmul", "BinaryNg", "Matmul", "BinaryNg"]);
    assert_eq!((&together.untold, together.devices[0].chip_id), (&alone.untold, Some(0)));
    let [group, _] = together.groups.as_slice() else { panic!("{:?}", together.groups) };
    assert_eq!((group.op_count, group.duration_ns), (1, 100_000.0));
    assert_eq!((group.bound, group.noc_percent), (Some(GroupBound::Neither), None));
}

/// A report of an earlier run is often next to a new log. Its rows match no launch.
#[test]
fn the_csv_of_another_run_is_not_used() {
    let ops = model();
    let mut alone = explain(folder(&ops, None).path());
    let later = ops.iter().map(|op| Op { start_cycle: op.start_cycle + 1, ..*op });
    let later: Vec<Op> = later.collect();
    let mut together = explain(folder(&ops, Some(&later)).path());
    let untold = together.untold.pop().unwrap();
    // The advice on what to record next also names the file.
    let next = together.no_cause.as_mut().map(|of| std::mem::take(&mut of.record_next)).unwrap();
    let next_alone = alone.no_cause.as_mut().map(|of| std::mem::take(&mut of.record_next)).unwrap();
    assert_eq!(
        next,
        next_alone.replace("kernels.md);", &format!("kernels.md); {};", untold.record_with))
    );
    assert!(together == alone, "the rows are used");
    assert_eq!(
        untold.reason,
        "no op of ops_perf_results_today.csv starts with a launch: it is from another run"
    );
}

#[test]
fn a_csv_without_rows_is_not_said_to_be_of_another_run() {
    let explained = explain(folder(&model(), Some(&[])).path());
    let untold = explained.untold.last().unwrap();
    assert_eq!(untold.reason, "ops_perf_results_today.csv has no rows of ops that ran on a chip");
}

#[test]
fn launches_without_a_row_and_rows_without_a_launch_are_counted() {
    let ops = model();
    let part = explain(folder(&ops, Some(&ops[..2])).path());
    assert_eq!(
        part.described_by.as_deref(),
        Some("ops_perf_results_today.csv describes the ops of 2 of 4 launches.")
    );
    let untold = part.untold.last().unwrap();
    assert_eq!(untold.reason, "2 of 4 launches are not in ops_perf_results_today.csv");
    let names: Vec<_> = part.ops.iter().map(|op| op.name.as_deref()).collect();
    assert_eq!(names, [Some("Matmul"), Some("BinaryNg"), None, None]);
    // If the log begins later, no row is joined to a wrong launch that has the same name.
    let last = explain(folder(&ops[3..], Some(&ops)).path());
    assert_eq!(
        last.described_by.as_deref(),
        Some(
            "ops_perf_results_today.csv describes the ops of 1 of 1 launches; 3 more ops in it have \
             no launch here."
        )
    );
    assert_eq!(last.ops[0].name.as_deref(), Some("BinaryNg"));
}

#[test]
fn a_csv_that_cannot_be_read_is_said() {
    let ops = model();
    let folder = folder(&ops, None);
    let log = PackedLog::read(device_log_of(&ops).as_bytes(), "log").unwrap();
    let recording = Recording {
        ops_csv: Some(folder.path().join("gone.csv")),
        ..Recording::from_readout(log.into_readout().unwrap())
    };
    let untold = Explanation::from_recording(&recording).untold;
    assert!(untold.last().unwrap().reason.starts_with("gone.csv cannot be read ("), "{untold:?}");
}

/// The expected figures were computed by hand from TT-Metal's trace of the same run.
///
/// The trace has 8 reads of 4,096 bytes from tile (0,11) to (1,1) over NoC 0, and as many writes
/// back over NoC 1, in kernels of 10,422 cycles. A link carries 32 bytes per cycle.
#[test]
fn the_use_of_the_noc_in_a_real_log_is_that_of_its_trace() {
    let logs = captures::log_path("wormhole-noc-4096");
    let loaded = recording::load(logs.parent().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ops_perf_results.csv");
    let start_cycle = 19_245_152_864;
    let op = Op { code: "Copy", program: 0, start_cycle, kernel_ns: 10_422, columns: 32 };
    std::fs::write(&path, ops_csv_of(&[op])).unwrap();
    let mut recording = loaded.recordings.into_iter().next().unwrap();
    recording.ops_csv = Some(path);
    let explanation = Explanation::from_recording(&recording);
    let [group] = explanation.groups.as_slice() else { panic!("{explanation:#?}") };
    let percent = group.noc_percent.unwrap();
    assert!((percent - 32_768.0 / (10_422.0 * 32.0) * 100.0).abs() < 1e-9, "{percent}");
    assert!(
        !group.is_noc_lower_bound && explanation.findings.iter().all(|of| of.cause != Cause::Noc)
    );
}

/// Writes TT-Metal's trace of a program that writes `bytes` bytes from core (1,2) to the next tile.
fn write_trace(folder: &Path, program: u32, bytes: u64) {
    let part = |rest: &str| {
        format!(
            r#"{{"proc":"BRISC","src_device_id":0,"run_host_id":{program},"sx":1,"sy":2,{rest}}}"#
        )
    };
    let zone = |phase: &str, time: u64| {
        part(&format!(r#""zone":"BRISC-KERNEL","zone_phase":"{phase}","timestamp":{time}"#))
    };
    let write = part(&format!(
        r#""type":"WRITE_","noc":"NOC_0","dx":2,"dy":2,"num_bytes":{bytes},"timestamp":20"#
    ));
    let text = format!("[{},{write},{}]", zone("ZONE_START", 10), zone("ZONE_END", 90));
    let name = format!(".logs/noc_trace_dev0_Op_ID{program}.json");
    std::fs::write(folder.join(name), text).unwrap();
}

/// The expected figures were computed by hand: a matmul takes 100,000 cycles, in which a link of 32
/// bytes per cycle carries 3,200,000 bytes.
#[test]
fn traces_next_to_a_log_give_the_use_of_the_noc() {
    let ops = model();
    let folder = folder(&ops, Some(&ops));
    // Traces of both iterations of the matmul, and of a program that is not in the log.
    for (program, bytes) in [(1024, 3_000_000), (3072, 2_240_000), (9216, 1)] {
        write_trace(folder.path(), program, bytes);
    }
    let explanation = explain(folder.path());
    assert_eq!(
        explanation.noc_events.as_deref(),
        Some(
            "NoC events: 2 events from 2 noc_trace files next to the device log, which has none \
             itself. noc_trace files: left out 1 event of programs that the recording does not have"
        )
    );
    let [matmul, add] = explanation.groups.as_slice() else { panic!("{explanation:#?}") };
    // The use is that of the last iteration. It is a lower bound, because the omitted event may
    // belong to this iteration.
    assert_eq!((matmul.bound, matmul.is_noc_lower_bound), (Some(GroupBound::Noc), true));
    assert!((matmul.noc_percent.unwrap() - 70.0).abs() < 1e-9, "{matmul:?}");
    assert_eq!((add.bound, add.noc_percent), (None, None));
    assert!(causes(&explanation).contains(&Cause::Noc), "{:#?}", explanation.findings);
    std::fs::remove_file(folder.path().join(".logs/noc_trace_dev0_Op_ID9216.json")).unwrap();
    assert!(!explain(folder.path()).groups[0].is_noc_lower_bound);
}

/// A trace of fewer launches than the log gives a lower bound. With a trace of more launches, the
/// use is unknown.
#[test]
fn traces_of_fewer_launches_are_lower_bounds_and_of_more_launches_no_use() {
    let (ops, folder) = (model(), folder(&model(), Some(&model())));
    let matmul = |folder: &Path| explain(folder).groups[0].clone();
    write_trace(folder.path(), 3072, 2_240_000);
    let path = folder.path().join(".logs/noc_trace_dev0_Op_ID3072.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let twice = text.replace("[", "").replace("]", "");
    std::fs::write(&path, format!("[{twice},{twice}]")).unwrap();
    assert_eq!(matmul(folder.path()).noc_percent, None);
    let same = ops.map(|op| Op { program: if op.code == "Matmul" { 3072 } else { 2048 }, ..op });
    let folder = self::folder(&same, Some(&same));
    write_trace(folder.path(), 3072, 2_240_000);
    let found = matmul(folder.path());
    assert!((found.noc_percent.unwrap() - 35.0).abs() < 1e-9, "{found:?}");
    assert!(found.is_noc_lower_bound);
}

/// Explains a pipeline whose reader sets the pace, with or without a CSV row about the same launch.
fn pipeline(form: Form, csv: bool) -> (Finding, f64) {
    let work = Work { reader: 1620, writer: 700, ..Work::EVEN };
    let mut recorder = Recorder::new();
    let mut end = 0;
    for core in 0..4 {
        let x = u16::try_from(core + 1).unwrap();
        let core = run(&work, 1000, core);
        end = end.max(core.end + 100);
        recorder.core((x, 1), 1, &core, form);
    }
    // Firmware encloses the kernels.
    let firmware = [(900, PacketKind::ZoneStart), (end, PacketKind::ZoneEnd)];
    let firmware = firmware.map(|(time, kind)| (time, kind, "BRISC-FW", vec![]));
    recorder.lane((6, 1), Risc::Brisc, 1, firmware.into());
    let recording = recorder.finish();
    let op = analysis::ops_of(&recording.readout).remove(0);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ops_perf_results.csv");
    let row = Op {
        code: "Matmul",
        program: op.run_host_id.into(),
        start_cycle: op.firmware.unwrap().start_cycle,
        kernel_ns: op.kernel.unwrap().duration_ns.unwrap(),
        columns: 32,
    };
    std::fs::write(&path, ops_csv_of(&[row])).unwrap();
    // The host's name for the op differs from the CSV's.
    let host_name = (OpMetadata::NAME.to_owned(), "Pipeline".to_owned());
    let run_host_id = RunHostId(op.run_host_id);
    let ops = vec![OpMetadata { chip_id: 0, run_host_id, fields: [host_name].into() }];
    let recording = Recording { ops, ops_csv: csv.then_some(path), ..recording };
    let mut findings = Explanation::from_recording(&recording).findings;
    assert_eq!(findings.len(), 1, "{findings:#?}");
    let finding = findings.remove(0);
    let gain = finding.gain_at_most_percent.unwrap();
    (finding, gain)
}

#[test]
fn what_waits_tell_of_an_op_comes_before_what_its_shape_tells() {
    for form in [Form::Sums, Form::SingleAndSignals] {
        let (alone, gain_alone) = pipeline(form, false);
        let (both, gain) = pipeline(form, true);
        assert_eq!((alone.cause, both.cause), (Cause::Reader, Cause::Reader), "{form:?}");
        assert_eq!((gain, alone.why.len()), (gain_alone, 0), "{form:?}");
        assert!(both.why[0].starts_with("Matmul takes 100.0 % of the kernels' time"), "{both:#?}");
        assert_eq!((both.place.op.as_deref(), both.place.row), (Some("Matmul"), Some(2)));
        assert!(both.advice.starts_with(&alone.advice), "{}", both.advice);
        // The CSV has no attributes, so whether the op had a program_config is not known.
        assert!(!both.advice.contains("program_config"), "{}", both.advice);
        assert!(both.advice.len() > alone.advice.len(), "{}", both.advice);
    }
}
