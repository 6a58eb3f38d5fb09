//! Wall-clock time of exports for trace viewers: their common model, then each format.
//!
//! Each measurement starts from the text of a log of 1.87 million lines and ends with the last byte
//! of the export.

mod generated_log;
mod peak_memory;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use generated_log::{LogSize, generated_readout, written};
use host_reader::{
    export::{ExportFormat, Recording, Trace, TraceFilter},
    log::read_device_log,
};
use peak_memory::assert_memory_is_bounded;
use std::{hint::black_box, io::Write};

const SIZE: LogSize = LogSize::FEW_LAUNCHES;

fn with_trace<T>(recording: &Recording, with: impl FnOnce(&Trace<'_>) -> T) -> T {
    with(&Trace::new(recording, &TraceFilter::default()))
}

fn read_recording(log: &[u8]) -> Recording {
    Recording::from_readout(read_device_log(log, "generated").expect("a log of our own"))
}

/// Counts the bytes written.
struct Counter(u64);

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn written_bytes(trace: &Trace<'_>, format: ExportFormat) -> u64 {
    let mut out = Counter(0);
    format.write(trace, &mut out, &mut |_| {}).expect("a counter takes all bytes");
    out.0
}

/// Writes a dataset to a temporary folder; returns the number of rows.
#[cfg(feature = "parquet")]
fn written_rows(trace: &Trace<'_>) -> u64 {
    use host_reader::{
        export::{AddedRecording, CancelFlag, DatasetLabels, ParquetDataset},
        tables::RecordingKey,
    };
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let [run, file] = ["run", "generated"].map(str::to_owned);
    let labels = DatasetLabels { date: None, run, file, has_one_recording: true };
    let dataset = ParquetDataset::new(&folder.path().into(), labels, &CancelFlag::default());
    let mut dataset = dataset.expect("names");
    let key = RecordingKey { host: "host", recording: "generated" };
    let recording = AddedRecording { key, machine: None, trace, ops_csv: None, memory: None };
    let written = dataset.add(&recording).and_then(|()| dataset.finish());
    written.expect("a folder takes files").zones
}

fn exports(criterion: &mut Criterion) {
    let readout = generated_readout(SIZE);
    let text = written(&readout, SIZE);
    let recording = Recording::from_readout(readout);
    let counts = |trace: &Trace<'_>| (trace.zone_count() as u64, trace.doubts().len());
    assert_eq!(with_trace(&recording, counts), (SIZE.line_count() / 2, 0));
    let mut group = criterion.benchmark_group("export of 1.87 M lines");
    group.sample_size(10).throughput(Throughput::Elements(SIZE.line_count()));
    group.bench_function("model", |bencher| {
        bencher.iter(|| with_trace(black_box(&recording), |trace| trace.zone_count()));
    });
    for format in ExportFormat::ALL.iter().copied() {
        group.bench_function(format!("log to {format}"), |bencher| {
            bencher.iter(|| {
                let recording = read_recording(&text);
                with_trace(&recording, |trace| written_bytes(trace, format))
            });
        });
    }
    #[cfg(feature = "parquet")]
    group.bench_function("log to parquet", |bencher| {
        bencher.iter(|| {
            let recording = read_recording(&text);
            assert_eq!(with_trace(&recording, written_rows), SIZE.line_count() / 2);
        });
    });
    group.finish();
    assert_memory_is_bounded();
}

criterion_group!(benches, exports);
criterion_main!(benches);
