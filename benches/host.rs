//! Wall-clock time of recording events of a program on the host.
//!
//! With a recorder, an event takes some tens of nanoseconds, two thirds of which are the reading of
//! the clock. Without a recorder, an event takes almost no time.

use criterion::{Criterion, criterion_group, criterion_main};
use host_reader::{
    host::{HostLayer, HostRecorder, HostSource, monotonic_ns},
    host_zone_scoped,
};
use std::hint::black_box;
use tracing_subscriber::layer::SubscriberExt;

static WORK: HostSource = HostSource::new("Work", "benches", "host.rs", 1);

/// Records `event` repeatedly; the recorder is emptied before it becomes too large.
fn record(criterion: &mut Criterion, name: &str, event: impl Fn(&HostRecorder)) {
    record_into(criterion, name, &HostRecorder::default(), event);
}

fn record_into(
    criterion: &mut Criterion,
    name: &str,
    recorder: &HostRecorder,
    event: impl Fn(&HostRecorder),
) {
    criterion.bench_function(&format!("host: {name}"), |bencher| {
        bencher.iter_batched(
            || {
                let recording = recorder.take();
                assert_eq!(recording.dropped_count(), 0);
            },
            |()| (0..1000).for_each(|_| event(black_box(recorder))),
            criterion::BatchSize::PerIteration,
        );
    });
}

/// Measures spans of `tracing` that become zones; `tracing` itself takes most of the time.
fn tracing_spans(criterion: &mut Criterion) {
    let recorder = HostRecorder::default();
    let subscriber = tracing_subscriber::registry().with(HostLayer::new(recorder.clone()));
    tracing::subscriber::with_default(subscriber, || {
        record_into(criterion, "tracing span, 1000 times", &recorder, |_| {
            drop(tracing::info_span!("work").entered());
        });
    });
}

fn events(criterion: &mut Criterion) {
    criterion.bench_function("host: clock, 1000 times", |bencher| {
        bencher.iter(|| (0..1000).map(|_| monotonic_ns()).max());
    });
    record(criterion, "zone, 1000 times", |recorder| drop(recorder.zone(&WORK)));
    record(criterion, "plot, 1000 times", |recorder| recorder.plot(&WORK, 1.0));
    record(criterion, "frame mark, 1000 times", |recorder| recorder.frame_mark(&WORK));
    record(criterion, "message of 16 bytes, 1000 times", |recorder| {
        recorder.message(&WORK, "sixteen bytes ..");
    });
    tracing_spans(criterion);
    criterion.bench_function("host: zone without a recorder, 1000 times", |bencher| {
        bencher.iter(|| {
            for _ in 0..1000 {
                host_zone_scoped!("Work");
                black_box(());
            }
        });
    });
}

criterion_group!(benches, events);
criterion_main!(benches);
