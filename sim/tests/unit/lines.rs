//! Counts by address of code on a mesh: their sums, their waits, and that counting changes nothing.

use super::{Awaited, RiscLines};
use crate::{
    arch::Arch,
    config::{ChipConfig, MeshConfig},
    dram::Dram,
    limits::{LiftedLimits, Limit},
    prepared::Bench,
    program::CoreSelection,
    riscv::{AddressCount, Reason},
    truth::Truth,
    workload::WorkloadOptions,
};
use kernel_profiler::port::WaitRecords;
use std::collections::BTreeMap;
use wire::wait::WaitKind;

fn config(arch: Arch) -> MeshConfig {
    MeshConfig::new(11)
        .with_chip(ChipConfig::new(arch))
        .with_wait_records(WaitRecords::Events)
        .with_program_support_count(200)
}

/// Runs one op of a workload.
fn run(config: &MeshConfig, workload: &str) -> (Dram, Truth, Vec<RiscLines>) {
    let mut bench = Bench::new(config);
    let options = WorkloadOptions { ops: Some(1), ..WorkloadOptions::default() };
    let plan = bench.plan(workload, options);
    let cores: Vec<_> = (0..8).map(|index| bench.worker(index).coord).collect();
    for phase in &plan.phases {
        for launch in &phase.launches {
            bench.mesh.enqueue_everywhere(&launch.clone().on(CoreSelection::At(cores.clone())));
        }
    }
    bench.mesh.run_to_completion();
    let lines = bench.mesh.take_lines();
    (bench.mesh.chip(0).unwrap().dram().clone(), bench.mesh.truth(), lines)
}

#[test]
fn counts_add_up_on_every_risc_and_change_nothing() {
    for arch in Arch::ALL {
        for workload in ["matmul", "pipeline"] {
            let (dram, truth, lines) = run(&config(arch).with_lines(), workload);
            let (plain_dram, plain_truth, none) = run(&config(arch), workload);
            assert!(none.is_empty());
            assert!(dram == plain_dram && truth == plain_truth, "{workload} on {arch}");
            let riscs: usize = truth.launches.values().map(Vec::len).sum();
            assert_eq!(lines.len(), riscs, "{workload} on {arch}");
            for risc in &lines {
                let total: u64 = risc.counts.iter().map(|line| line.count.total_cycles()).sum();
                let counted = risc.launches.iter().map(|one| one.end_cycle - one.begin_cycle);
                assert_eq!(total, counted.sum::<u64>(), "{risc:?}");
            }
        }
    }
}

/// Fetches and unknown branches cost cycles unless the limit is lifted; the kernels do the same.
#[test]
fn warm_code_is_neither_fetched_nor_unknown() {
    let lifted = LiftedLimits::NONE.and(Limit::Caches);
    for arch in Arch::ALL {
        let config = config(arch).with_lines();
        let of_kernels = |lines: &[RiscLines], reason: Reason| -> u64 {
            let counts = lines.iter().flat_map(|risc| &risc.counts);
            counts.map(|line| line.count.cycles[reason as usize]).sum()
        };
        let (_, _, cold) = run(&config, "matmul");
        let (_, _, warm) = run(&config.with_lifted_limits(lifted), "matmul");
        assert!(of_kernels(&cold, Reason::Fetch) > 0, "{arch}");
        assert_eq!(of_kernels(&warm, Reason::Fetch), 0, "{arch}");
        assert!(of_kernels(&cold, Reason::Branch) > of_kernels(&warm, Reason::Branch), "{arch}");
    }
}

/// Compares the waiting time of each RISC for each object with the waits that are observed on the
/// bus: the time from the first load of a word to the store that ended the wait.
#[test]
fn waits_are_for_the_object_that_the_bus_shows() {
    for arch in Arch::ALL {
        let (_, truth, lines) = run(&config(arch).with_lines(), "pipeline");
        let (mut expected, mut same) = (0, 0);
        for risc in &lines {
            let mut found: BTreeMap<(WaitKind, u32), u64> = BTreeMap::new();
            for line in &risc.counts {
                if let Some(Awaited::Object { kind, key }) = line.waits_for {
                    *found.entry((kind, key)).or_default() += line.count.total_cycles();
                }
            }
            let mut waits: BTreeMap<(WaitKind, u32), u64> = BTreeMap::new();
            let own = truth
                .waits
                .iter()
                .filter(|(key, _)| (key.core, key.risc) == (risc.core, risc.risc));
            for wait in own.flat_map(|(_, waits)| waits) {
                *waits.entry((wait.kind, wait.key)).or_default() += wait.cycles;
            }
            for (object, cycles) in &waits {
                expected += cycles;
                same += found.get(object).copied().unwrap_or(0).min(*cycles);
            }
        }
        assert!(expected > 10_000, "{arch}: {expected}");
        assert!(same * 100 >= expected * 95, "{arch}: {same} of {expected} cycles");
    }
}

#[test]
fn code_is_known_for_every_address() {
    for arch in Arch::ALL {
        let (_, _, lines) = run(&config(arch).with_lines(), "matmul");
        for risc in &lines {
            for line in &risc.counts {
                let owners = risc.code.iter().filter(|code| code.loaded.contains(&line.address));
                assert_eq!(owners.count(), 1, "{:#x} of {:?}", line.address, risc.code);
                assert_ne!(line.instruction, 0);
            }
        }
    }
}

#[test]
fn a_count_adds_its_reasons() {
    let count = AddressCount { instructions: 2, cycles: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10] };
    assert_eq!(count.total_cycles(), 55);
}
