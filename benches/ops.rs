//! Wall-clock time of an ops report from a folder of logs with 1.87 million lines.
//!
//! One log has few launches with many zones, the other has many launches with few zones.

mod generated_log;
mod peak_memory;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use generated_log::{LogSize, generated_readout, written};
use host_reader::{
    packed_bytes::PackedMemory,
    report::{OpsOptions, OpsReport},
};
use peak_memory::assert_memory_is_bounded;
use std::{fmt::Write, hint::black_box, path::Path};
use wire::RunHostId;

/// Log with as many lines as [`LogSize::FEW_LAUNCHES`], but only zones of kernels and firmware.
const MANY_LAUNCHES: LogSize = LogSize { launches: 1460, zones_per_launch: 0 };

/// Writes a folder of logs with one op of the host for every launch.
fn write_folder(logs: &Path, size: LogSize) {
    let log = written(&generated_readout(size), size);
    std::fs::write(logs.join("profile_log_device.csv"), log).expect("the folder is there");
    let mut messages = String::from("MessageName;total_ns\n");
    let mut times = String::from(
        "name,src_file,src_line,zone_name,zone_text,ns_since_start,exec_time_ns,thread,\
         special_parent_text\n",
    );
    for launch in 1..=size.launches {
        let id = RunHostId::encode(launch, 0).0;
        let (program, at) = (launch % 20, 100_000 * launch);
        let described = if launch <= 20 { describe(id, program) } else { String::new() };
        let name = format!("TT_DNN_DEVICE_OP: \"Op{program}\", {program}, 0");
        let hit = launch > 20;
        writeln!(messages, "`{name}, {hit}, {id}{described}`;{at}").expect("a string grows");
        writeln!(times, "TT_DNN_DEVICE_OP,/op.hpp,1,,id:{id},{},700,1,", at + 9)
            .expect("a string grows");
    }
    std::fs::write(logs.join("tracy_ops_data.csv"), messages).expect("the folder is there");
    std::fs::write(logs.join("tracy_ops_times.csv"), times).expect("the folder is there");
}

fn describe(id: u32, program: u32) -> String {
    let tensor = r#"{"storage_type": "HOST", "shape": {"W": "1[1]", "Z": "1[1]", "Y": "32[32]", "X": "64[64]"}, "layout": "TILE", "dtype": "BFLOAT16"}"#;
    format!(
        " ->\n{{\"global_call_count\": {id}, \"op_code\": \"Op{program}\", \"op_type\": \
         \"tt_dnn_device\", \"device_id\": 0, \"op_hash\": {program}, \"input_tensors\": \
         [{tensor}, {tensor}], \"output_tensors\": [{tensor}]}}"
    )
}

/// Returns the total size of all files that the report writes.
fn written_bytes(report: &OpsReport) -> usize {
    let others = [&report.per_core_csv, &report.device_perf_csv].map(|csv| csv.as_deref());
    report.ops_csv.len() + others.iter().flatten().map(|csv| csv.len()).sum::<usize>()
}

fn ops_reports(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ops report of 1.87 M lines");
    group.sample_size(10);
    for size in [LogSize::FEW_LAUNCHES, MANY_LAUNCHES] {
        let folder = tempfile::tempdir().expect("a place for files");
        write_folder(folder.path(), size);
        group.throughput(Throughput::Elements(size.line_count()));
        for is_exact in [false, true] {
            let options = OpsOptions { is_exact, ..OpsOptions::default() };
            let memory = PackedMemory::unlimited();
            let report = || OpsReport::from_folder(black_box(folder.path()), &options, &memory);
            let made = report();
            assert_eq!(made.problems.kept(), []);
            assert_eq!(
                (made.row_count, made.device_op_count),
                (size.launches.into(), size.launches.into())
            );
            let form = if is_exact { "as upstream's" } else { "our own" };
            let id = BenchmarkId::new(form, format!("{} launches", size.launches));
            group.bench_function(id, |bencher| bencher.iter(|| written_bytes(&report())));
        }
    }
    group.finish();
    assert_memory_is_bounded();
}

criterion_group!(benches, ops_reports);
criterion_main!(benches);
