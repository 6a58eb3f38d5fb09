//! Wall-clock time of fitting a clock to pings (corridor fit), and of converting cycles to host
//! time.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use host_reader::clock::{CorridorFit, PiecewiseClock, Resolution, SteppedFit, TwoWayPing};
use std::hint::black_box;

/// Returns pings of a clock at 1.25 GHz.
///
/// The two directions take 350 and 430 ns plus jitter. Every tenth ping is delayed by 9 us.
fn pings(count: u64) -> Vec<TwoWayPing> {
    (0..count)
        .map(|index| {
            let sent = 1_000_000_000 * index / count;
            // A multiplicative hash is sufficient jitter for a bench.
            let jitter = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57;
            let late = if index % 10 == 3 { 9000 } else { 0 };
            let read = sent + 350 + jitter;
            TwoWayPing {
                host_send_ns: sent.cast_signed(),
                device_cycles: 4_000_000_000_000 + read * 5 / 4,
                host_receive_ns: (read + 430 + jitter / 2 + late).cast_signed(),
            }
        })
        .collect()
}

fn fits(criterion: &mut Criterion) {
    let samples = pings(249);
    let mut group = criterion.benchmark_group("clock fit of 249 pings");
    group.bench_function("corridor", |bencher| {
        bencher.iter(|| CorridorFit::fit(black_box(&samples), Resolution::HOST_NANOSECONDS));
    });
    group.bench_function("corridor with steps", |bencher| {
        bencher.iter(|| SteppedFit::fit(black_box(&samples), Resolution::HOST_NANOSECONDS));
    });
    group.finish();
}

fn conversions(criterion: &mut Criterion) {
    let fit = CorridorFit::fit(&pings(249), Resolution::HOST_NANOSECONDS).expect("one frequency");
    let clock = PiecewiseClock::constant(fit.line().clone()).expect("a clock rises");
    let cycles: Vec<u64> = (0..1_000_000).map(|index| 4_000_000_000_000 + 613 * index).collect();
    let mut whole = vec![0i64; cycles.len()];

    let mut group = criterion.benchmark_group("clock conversion of 1 M cycles");
    group.throughput(Throughput::Elements(cycles.len() as u64));
    group.bench_function("copy, for comparison", |bencher| {
        let mut copy = vec![0u64; cycles.len()];
        bencher.iter(|| copy.copy_from_slice(black_box(&cycles)));
    });
    group.bench_function("to whole nanoseconds", |bencher| {
        bencher.iter(|| clock.convert(black_box(&cycles), &mut whole));
    });
    group.finish();
}

criterion_group!(benches, fits, conversions);
criterion_main!(benches);
