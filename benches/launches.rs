//! Number of launches that the simulator runs per second.
//!
//! In the throughput, an element is the work of one RISC in one launch: firmware zone, kernel zone,
//! kernel and push.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use host_reader::{ProfilerOptions, init_device_profiler};
use sim::{
    config::MeshConfig,
    mesh::SimulatedMesh,
    workload::{Workload, WorkloadOptions},
};
use std::hint::black_box;

/// Number of launches. A launch runs five RISCs on each of 64 cores.
const OPS: u32 = 20;
const RISC_LAUNCHES: u64 = 64 * 5 * OPS as u64;

/// Makes a mesh with the profiler on and a workload that is ready to run.
fn prepared(workload: &str) -> SimulatedMesh {
    let config = MeshConfig::wormhole(1);
    let mut mesh = SimulatedMesh::new(&config).expect("a common chip");
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).expect("a region that fits");
    let options = WorkloadOptions { ops: Some(OPS), ..WorkloadOptions::default() };
    let plan = Workload::named(workload).expect("a known workload").plan(&mesh, &options);
    let first = plan.phases.first().expect("one phase");
    first.launches.iter().for_each(|launch| mesh.enqueue_everywhere(launch));
    mesh
}

fn launches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("riscv launches");
    group.throughput(Throughput::Elements(RISC_LAUNCHES)).sample_size(10);
    for workload in ["multi-op", "full-buffer", "matmul"] {
        let mut mesh = prepared(workload);
        mesh.run_to_completion();
        assert_eq!(mesh.truth().kernel_run_count() as u64, RISC_LAUNCHES, "{workload}");
        group.bench_function(workload, |bencher| {
            bencher.iter_batched(
                || prepared(workload),
                |mut mesh| {
                    mesh.run_to_completion();
                    black_box(mesh)
                },
                criterion::BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, launches);
criterion_main!(benches);
