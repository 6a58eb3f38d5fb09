//! Runs `kprof` with hardware counters, and repeats the run inside the test process. The repetition
//! reports the true counts of the simulated coprocessors.

use crate::program::kprof;
use host_reader::{ProfilerOptions, init_device_profiler};
use sim::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    machine::KernelKind,
    mesh::SimulatedMesh,
    truth::CounterBank,
    workload::{Workload, WorkloadOptions},
};
use std::{collections::BTreeMap, path::Path};

pub(crate) const OPS: u32 = 2;
/// Counter groups of the FPU and of the threads' instructions. One run can count both groups, so no
/// later run is merged.
const GROUPS: u32 = 1 | 1 << 5;
/// Number of counters in these groups.
pub(crate) const COUNTERS: usize = 3 + 59;

/// Number of events and number of counted cycles of each counter that the simulator models, by
/// counter.
pub(crate) type Readings = BTreeMap<&'static str, (u64, u64)>;

/// Readings by program and core.
pub(crate) type Counted = BTreeMap<(u32, u16, u16), Readings>;

/// Runs the program, which writes its logs to `out`, and returns the expected counts.
pub(crate) fn run(folder: &Path, arch: Arch) -> Counted {
    let ops = OPS.to_string();
    let args = ["run", "--workload", "instructions", "--ops", &ops, "--seed", "11", "-o", "out"];
    let chosen = ["--arch", arch.facts().name, "--profiler-capture-perf-counters", "fpu,instrn"];
    let output = kprof(folder, &[&args[..], &chosen].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    truth(arch)
}

fn truth(arch: Arch) -> Counted {
    let workload = Workload::named("instructions").unwrap();
    let config = MeshConfig::new(11)
        .with_chip(ChipConfig::new(arch))
        .with_kernels(KernelKind::Riscv)
        .with_program_support_count(workload.program_support_count)
        .with_counter_groups(GROUPS);
    let mut mesh = SimulatedMesh::new(&config).unwrap();
    let options = WorkloadOptions { ops: Some(OPS), seed: 11, ..WorkloadOptions::default() };
    let plan = workload.plan(&mesh, &options);
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    for phase in &plan.phases {
        mesh.enqueue_phase(phase);
        mesh.run_to_completion();
    }
    let mut counted = Counted::new();
    for ((_, core), truths) in mesh.truth().counters {
        for truth in truths {
            let key = (truth.program_id, core.x, core.y);
            let readings = counted.entry(key).or_default();
            let issued = truth.issued;
            let of_bank = match truth.bank {
                CounterBank::Fpu => vec![
                    ("FPU_COUNTER", issued.fpu),
                    ("SFPU_COUNTER", issued.sfpu),
                    ("MATH_COUNTER", issued.fpu + issued.sfpu),
                ],
                CounterBank::Instructions => vec![
                    ("THREAD_INSTRUCTIONS_0", issued.by_thread[0]),
                    ("THREAD_INSTRUCTIONS_1", issued.by_thread[1]),
                    ("THREAD_INSTRUCTIONS_2", issued.by_thread[2]),
                ],
            };
            let readings_of =
                of_bank.into_iter().map(|(name, events)| (name, (events, truth.cycles)));
            readings.extend(readings_of);
        }
    }
    assert!(counted.values().all(|readings| readings.len() == METRICS.len()));
    // The workload determines what TRISC 1 of each core issues: n times 100, 50 and 10 instructions,
    // after one that gives the matrix unit its data.
    for (&(program, ..), readings) in &counted {
        let n = u64::from(program);
        let [fpu, sfpu, all] = ["FPU_COUNTER", "SFPU_COUNTER", "THREAD_INSTRUCTIONS_1"];
        let found = [fpu, sfpu, all].map(|name| readings[name].0);
        assert_eq!(found, [100 * n, 50 * n, 160 * n + 1]);
    }
    counted
}

/// Metrics that equal the rate of one modelled counter, each with the name of that counter.
pub(crate) const METRICS: [(&str, &str); 6] = [
    ("FPU Util", "FPU_COUNTER"),
    ("SFPU Util", "SFPU_COUNTER"),
    ("MATH Util", "MATH_COUNTER"),
    ("T0 Instrn Issue Rate", "THREAD_INSTRUCTIONS_0"),
    ("T1 Instrn Issue Rate", "THREAD_INSTRUCTIONS_1"),
    ("T2 Instrn Issue Rate", "THREAD_INSTRUCTIONS_2"),
];

/// Metric of the cycles in which FPU and SFPU are both busy. It is 0, because the simulator issues
/// one instruction at a time.
pub(crate) const OVERLAP: &str = "FPU SFPU Overlap";

/// Returns the counter's events in percent of its cycles on each core of a program, in ascending
/// order.
pub(crate) fn rates(counted: &Counted, program: u32, counter: &str) -> Vec<f64> {
    let of_program = counted.iter().filter(|((of, ..), _)| *of == program);
    let mut rates: Vec<f64> = of_program
        .map(|(_, readings)| {
            let (events, cycles) = readings[counter];
            events as f64 * 100.0 / cycles as f64
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    rates
}
