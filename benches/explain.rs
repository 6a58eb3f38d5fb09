//! Wall-clock time of explaining an ops CSV of 100,000 rows, as `kprof explain` reads it.

use captures::capture_path;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use host_reader::{
    causes::Explanation,
    perf::{PerfReport, read_ops_csv},
};
use std::{fmt::Write, hint::black_box};

const ROWS: u64 = 100_000;

/// A real model with 660 ops in two iterations; a row has 1,470 bytes.
const MODEL: &str = "tt-perf-report/bh_64_clip_encoder_1.csv";

/// Repeats the rows of a model, with increasing ids and host times.
fn repeated(model: &str) -> String {
    let mut lines = model.lines();
    let titles = lines.next().expect("a line of titles");
    let column = |title| titles.split(',').position(|of| of == title).expect("a known column");
    let [call, start] = ["GLOBAL CALL COUNT", "HOST START TS"].map(column);
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let mut text = format!("{titles}\n");
    for (number, row) in (1..=ROWS).zip(rows.iter().cycle()) {
        for (at, cell) in row.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let written = if at == call {
                write!(text, "{comma}{}", 1024 * number)
            } else if at == start {
                write!(text, "{comma}{}", 1_000_000 + 1000 * number)
            } else {
                write!(text, "{comma}{cell}")
            };
            written.expect("a string grows");
        }
        text.push('\n');
    }
    text
}

fn explain(text: &str) -> Explanation {
    let csv = read_ops_csv(text.as_bytes(), MODEL).expect("an ops CSV");
    let report = PerfReport::new(vec![csv], &Explanation::report_options()).expect("a known chip");
    Explanation::from_perf_report(&report)
}

fn explanations(criterion: &mut Criterion) {
    let model = std::fs::read_to_string(capture_path(MODEL)).expect("a capture of tests/captures");
    let text = repeated(&model);
    let steady = explain(&text).steady.expect("the model repeats");
    assert_eq!(steady.op_count, 330);
    let mut group = criterion.benchmark_group("explain");
    group.throughput(Throughput::Elements(ROWS)).sample_size(10);
    group.bench_function("ops CSV of 100,000 rows", |bencher| {
        bencher.iter(|| explain(black_box(&text)));
    });
    group.finish();
}

criterion_group!(benches, explanations);
criterion_main!(benches);
