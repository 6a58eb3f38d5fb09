//! Hardware counters, from the registers to the host: every value that is read equals the activity
//! of the simulated coprocessor.
//!
//! Counters are read in one run or over several runs, and started by the firmware or by the kernel.

use crate::support::{Outcome, outcome};
use host_reader::{
    ProfilerOptions,
    analysis::launches_of,
    counters::{
        CounterArch, CounterGroup, CounterSample, LaunchCounters, PassPlan, counters_of,
        merge_passes,
    },
    init_device_profiler, read_device_profiler,
};
use sim::{
    arch::{Arch, TileCoord},
    config::{ChipConfig, MeshConfig, WaitRecords},
    kernel::ObjectKernel,
    machine::{KernelKind, cpp_compiler_version},
    mesh::SimulatedMesh,
    program::{CoreSelection, Emission, Kernel, Launch, Program},
    random::Stream,
    truth::{CounterBank, CounterTruth},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use wire::{CoreKind, Risc};

const CORES: usize = 3;

fn counter_arch(arch: Arch) -> CounterArch {
    match arch {
        Arch::WormholeB0 => CounterArch::Wormhole,
        Arch::Blackhole => CounterArch::Blackhole,
    }
}

/// Returns the expected value and cycles of a counter. The list of modelled counters here is
/// separate from the simulator's list.
fn expected(name: &str, truths: &[&CounterTruth]) -> Option<(u64, u64)> {
    let of = |bank, count: fn(&CounterTruth) -> u64| {
        let truth = truths.iter().find(|truth| truth.bank == bank)?;
        Some((count(truth), truth.cycles))
    };
    match name {
        "THREAD_INSTRUCTIONS_0" => of(CounterBank::Instructions, |t| t.issued.by_thread[0]),
        "THREAD_INSTRUCTIONS_1" => of(CounterBank::Instructions, |t| t.issued.by_thread[1]),
        "THREAD_INSTRUCTIONS_2" => of(CounterBank::Instructions, |t| t.issued.by_thread[2]),
        "FPU_COUNTER" => of(CounterBank::Fpu, |t| t.issued.fpu),
        "SFPU_COUNTER" => of(CounterBank::Fpu, |t| t.issued.sfpu),
        "MATH_COUNTER" => of(CounterBank::Fpu, |t| t.issued.fpu + t.issued.sfpu),
        _ => None,
    }
}

/// Asserts that each sample equals the truth of its launch and core, and that counters outside of
/// the simulator's model have no value; returns the number of values.
fn compare(samples: &[CounterSample], truths: &BTreeMap<TileCoord, Vec<&CounterTruth>>) -> usize {
    let mut known = 0;
    for CounterSample { lane, sample, .. } in samples {
        let core = TileCoord { x: lane.core.x, y: lane.core.y };
        let expected = expected(&sample.name, truths.get(&core).map_or(&[], Vec::as_slice));
        let found = sample.is_observable().then(|| (sample.count, sample.cycles.unwrap()));
        assert_eq!(found, expected, "{} on {core:?}", sample.name);
        known += usize::from(expected.is_some());
    }
    known
}

/// Returns the true counter values of one launch, by core.
fn truths_of(outcome: &Outcome, program_id: u32) -> BTreeMap<TileCoord, Vec<&CounterTruth>> {
    let all = outcome.truth.counters.iter();
    all.map(|((_, core), truths)| {
        (*core, truths.iter().filter(|truth| truth.program_id == program_id).collect())
    })
    .collect()
}

/// Returns launches with the given numbers of instructions on three TRISCs; one launch has no
/// kernel on TRISC 1.
fn launches(random: &mut Stream, cores: &[TileCoord]) -> Vec<Launch> {
    let kernel: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("instructions").unwrap());
    let idle: Arc<dyn Kernel> = Arc::new(ObjectKernel::named("empty").unwrap());
    let mut program = Program::new("instructions").with_kernel_on_all(&kernel);
    program = program.with_kernel(Risc::Brisc, Arc::clone(&idle));
    let whole = Arc::new(program.with_kernel(Risc::Ncrisc, idle));
    let without = Program::new("without compute").with_kernel(Risc::Trisc0, kernel);
    let without = Arc::new(without);
    (1..6)
        .map(|id| {
            let program = if id == 4 { &without } else { &whole };
            let args: Vec<u32> =
                (0..3).map(|_| u32::try_from(random.below(200)).unwrap()).collect();
            Launch::new(program, id).on(CoreSelection::At(cores.to_vec())).with_args(&args)
        })
        .collect()
}

fn run(config: &MeshConfig, launches: &[Launch]) -> Outcome {
    let mut mesh = SimulatedMesh::new(config).unwrap();
    init_device_profiler(&mut mesh, &ProfilerOptions::default()).unwrap();
    for launch in launches {
        mesh.enqueue(0, launch.clone()).unwrap();
    }
    mesh.run_to_completion();
    let readout = read_device_profiler(&mut mesh).unwrap();
    let outcome = outcome(readout, &mesh);
    assert!(outcome.failures.is_empty(), "{:?}", outcome.failures);
    assert!(outcome.readout.losses.is_empty(), "{:?}", outcome.readout.losses);
    outcome
}

fn workers(config: &MeshConfig) -> Vec<TileCoord> {
    let mesh = SimulatedMesh::new(config).unwrap();
    let cores = mesh.chip(0).unwrap().plan().cores().iter();
    let workers = cores.filter(|core| core.kind == CoreKind::Tensix).map(|core| core.coord);
    workers.take(CORES).collect()
}

/// Returns the names of the counters of each core, which must be the same on all cores.
fn names_per_core(counters: &LaunchCounters) -> BTreeSet<String> {
    let mut of_cores: BTreeMap<_, Vec<String>> = BTreeMap::new();
    for sample in &counters.samples {
        of_cores.entry(sample.lane.core).or_default().push(sample.sample.name.to_string());
    }
    assert_eq!(of_cores.len(), CORES);
    let sets: BTreeSet<BTreeSet<String>> = of_cores
        .into_values()
        .map(|names| {
            let set: BTreeSet<String> = names.iter().cloned().collect();
            assert_eq!(set.len(), names.len(), "each counter once");
            set
        })
        .collect();
    assert_eq!(sets.len(), 1);
    sets.into_iter().next().unwrap()
}

#[test]
fn counters_of_all_passes_are_what_the_coprocessor_did() {
    for (arch, record_count) in [(Arch::WormholeB0, 126), (Arch::Blackhole, 169)] {
        let groups = CounterGroup::all(counter_arch(arch));
        let plan = PassPlan::new(&groups);
        let chip = ChipConfig::new(arch);
        let config = MeshConfig::new(3).with_chip(chip);
        let launches = launches(&mut Stream::new(7, &[]), &workers(&config));
        let mut outcomes: Vec<Outcome> = plan
            .masks()
            .into_iter()
            .map(|mask| run(&config.clone().with_counter_groups(mask), &launches))
            .collect();
        for (outcome, groups) in outcomes.iter().zip(&plan.passes) {
            assert_eq!(outcome.readout.anomalies.anomaly_count(), 0);
            let counters = counters_of(&outcome.readout, &launches_of(&outcome.readout));
            let programs: Vec<usize> = counters.iter().map(|counters| counters.launch).collect();
            assert_eq!(programs, [0, 1, 2, 4], "a launch without TRISC 1 counts nothing");
            for (counters, id) in counters.iter().zip([1, 2, 3, 5]) {
                assert_eq!(counters.problems.len(), 0);
                let known = compare(&counters.samples, &truths_of(outcome, id));
                let modelled = [CounterGroup::Fpu, CounterGroup::Instruction];
                let banks = modelled.iter().filter(|bank| groups.contains(bank)).count();
                assert_eq!(known, CORES * 3 * banks);
                let names = names_per_core(counters);
                let of_groups: BTreeSet<_> =
                    names.iter().map(|name| CounterGroup::from_counter(name).unwrap()).collect();
                assert_eq!(of_groups, groups.iter().copied().collect());
            }
        }
        // One table covers all passes, with each counter's value from its own run.
        let later: Vec<_> = outcomes.split_off(1);
        let first = outcomes.remove(0);
        let mut readout = first.readout.clone();
        let others: Vec<_> = later.iter().map(|outcome| outcome.readout.clone()).collect();
        let merge = merge_passes(&mut readout, &others);
        assert_eq!(merge.without_anchor, 0);
        let counters = counters_of(&readout, &launches_of(&readout));
        for (counters, id) in counters.iter().zip([1, 2, 3, 5]) {
            assert_eq!(names_per_core(counters).len(), record_count);
            let mut truths = truths_of(&first, id);
            for outcome in &later {
                for (core, of_pass) in truths_of(outcome, id) {
                    truths.entry(core).or_default().extend(of_pass);
                }
            }
            // A bank counts in only one pass.
            assert_eq!(compare(&counters.samples, &truths), CORES * 6);
        }
    }
}

/// Returns a kernel that starts and stops the counters itself. The firmware does not operate the
/// counters.
fn counted_kernel() -> ObjectKernel {
    let emission = Emission { data: 62, ..Emission::NONE };
    ObjectKernel::new("counted_instructions").with_emission(emission)
}

/// FPU and instruction counters, as compiled into the C++ kernel.
const GROUPS: u32 = 1 | 1 << 5;

#[test]
fn a_kernel_counts_itself_in_rust_and_in_cpp() {
    let mut kinds = vec![KernelKind::Riscv];
    kinds.extend(cpp_compiler_version().map(|_| KernelKind::Cpp));
    let program =
        Arc::new(Program::new("counted").with_kernel(Risc::Trisc1, Arc::new(counted_kernel())));
    for arch in Arch::ALL {
        let mut read = Vec::new();
        for &kind in &kinds {
            let config = MeshConfig::new(4).with_chip(ChipConfig::new(arch)).with_kernels(kind);
            let cores = workers(&config);
            let launch = |(id, args): (u32, [u32; 3])| {
                let args = [args[0], args[1], args[2], GROUPS];
                Launch::new(&program, id).on(CoreSelection::At(cores.clone())).with_args(&args)
            };
            let amounts = [(1, [25, 3, 0]), (2, [0, 40, 9]), (3, [0, 0, 0])];
            let launches: Vec<Launch> = amounts.into_iter().map(launch).collect();
            let outcome = run(&config, &launches);
            assert_eq!(outcome.readout.anomalies.anomaly_count(), 0);
            let counters = counters_of(&outcome.readout, &launches_of(&outcome.readout));
            assert_eq!(counters.len(), 3);
            for (counters, (id, [fpu, sfpu, other])) in counters.iter().zip(amounts) {
                let truths = truths_of(&outcome, id);
                assert_eq!(compare(&counters.samples, &truths), CORES * 6, "{arch} {kind:?}");
                // The truth must equal the kernel's instructions.
                for truth in truths.values().flatten() {
                    let issued = truth.issued;
                    let told = (u64::from(fpu), u64::from(sfpu), u64::from(fpu + sfpu + other));
                    assert_eq!((issued.fpu, issued.sfpu, issued.by_thread[1]), told);
                    assert_eq!((issued.by_thread[0], issued.by_thread[2]), (0, 0));
                }
                assert!(counters.samples.iter().all(|sample| sample.lane.risc == Risc::Trisc1));
                assert_eq!(names_per_core(counters).len(), 3 + 59);
            }
            let names = |one: &LaunchCounters| {
                one.samples.iter().map(|sample| sample.sample.name.to_string()).collect::<Vec<_>>()
            };
            read.push(counters.iter().map(names).collect::<Vec<_>>());
        }
        assert!(read.windows(2).all(|pair| pair[0] == pair[1]), "in the same order");
    }
}

#[test]
fn modes_that_no_code_is_built_for_are_refused() {
    let config = || MeshConfig::wormhole(1).with_counter_groups(GROUPS);
    let error = |config: MeshConfig| SimulatedMesh::new(&config).unwrap_err().to_string();
    let totals = WaitRecords::Totals;
    for (config, first, second) in [
        (config().with_sums(true), "hardware counters", "sum zones"),
        (config().with_trace_only(), "trace-only mode", "hardware counters"),
        (config().with_wait_records(totals), "hardware counters", "records of waits"),
        (config().with_kernels(KernelKind::Cpp), "kernels in C++", "hardware counters"),
    ] {
        let sentence = format!(
            "no code is built for {first} together with {second}; choose one of them, in a run of \
             its own"
        );
        assert_eq!(error(config), sentence);
    }
}
