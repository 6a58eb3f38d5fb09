//! Wall-clock time of a device log: reading, pairing, reporting, writing.

mod generated_log;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use generated_log::{LogSize, generated_readout, written};
use host_reader::{
    analysis::Report,
    log::{PackedLog, read_device_log},
    readout::Readout,
    recording::report_of_log,
    timeline::Timeline,
};
use std::hint::black_box;

const SIZE: LogSize = LogSize::FEW_LAUNCHES;

fn read(text: &[u8]) -> Readout {
    read_device_log(text, "generated").expect("the log was written by the same crate")
}

fn report(readout: &Readout) -> Report {
    Report::new(readout)
}

/// Reads a log and computes its figures as `kprof report` does.
fn report_of_text(text: &[u8]) -> Report {
    let log = PackedLog::read(text, "generated").expect("a log of the same crate");
    report_of_log(log).expect("memory without a limit").1
}

/// Asserts the figures of the generated log.
fn check(report: &Report) {
    assert_eq!(report.summary.kept.zones, SIZE.line_count() / 2);
    assert!(report.summary.is_clean());
    assert_eq!(report.ops.len(), 23);
    assert!(report.ops.ops().all(|op| op.core_count == 64));
    assert_eq!(report.zones.len(), 35);
}

fn logs(criterion: &mut Criterion) {
    let readout = generated_readout(SIZE);
    let text = written(&readout, SIZE);
    check(&report(&read(&text)));
    check(&report_of_text(&text));
    let mut group = criterion.benchmark_group("device log of 1.87 M lines");
    group.sample_size(10).throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("read", |bencher| bencher.iter(|| read(black_box(&text))));
    group.bench_function("pair", |bencher| {
        bencher.iter(|| Timeline::from_readout(black_box(&readout)));
    });
    group.bench_function("pair and report", |bencher| bencher.iter(|| report(black_box(&readout))));
    group.bench_function("read, pair and report", |bencher| {
        bencher.iter(|| report_of_text(black_box(&text)));
    });
    group.bench_function("write", |bencher| bencher.iter(|| written(black_box(&readout), SIZE)));
    group.finish();
}

criterion_group!(benches, logs);
criterion_main!(benches);
